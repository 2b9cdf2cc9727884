// SPDX-License-Identifier: MIT
//
// The CUDA back end, which also stands for HIP and MUSA: names differ, functions do not.
//
// Programs reach devices through the registry of ggml-backend.h; the functions here are for those that want
// this family in particular. Without a driver or a device the family has no devices and every call refuses
// (NULL, 0, false). Devices are counted from 0 in the order of the registry, at most GGML_CUDA_MAX_DEVICES.
//
// Work is asynchronous: see ggml_backend_synchronize(). Memory sizes are in bytes.
#pragma once

#include "ggml.h"
#include "ggml-backend.h"

// clang-format off: declarations are aligned by hand

#if defined(GGML_USE_HIP)
#    define GGML_CUDA_NAME   "ROCm"
#    define GGML_CUBLAS_NAME "hipBLAS"
#elif defined(GGML_USE_MUSA)
#    define GGML_CUDA_NAME   "MUSA"
#    define GGML_CUBLAS_NAME "muBLAS"
#else
#    define GGML_CUDA_NAME   "CUDA"
#    define GGML_CUBLAS_NAME "cuBLAS"
#endif

#define GGML_CUDA_MAX_DEVICES 16

#ifdef __cplusplus
extern "C" {
#endif

// A new back end on a device, with a stream of its own; the caller frees it. NULL
// for a device that is not there.
GGML_BACKEND_API ggml_backend_t     ggml_backend_cuda_init(int device);
GGML_BACKEND_API bool               ggml_backend_is_cuda  (ggml_backend_t backend);
GGML_BACKEND_API ggml_backend_reg_t ggml_backend_cuda_reg (void);

// The memory of a device; and pinned host memory, which transfers fastest.
GGML_BACKEND_API ggml_backend_buffer_type_t ggml_backend_cuda_buffer_type     (int device);
GGML_BACKEND_API ggml_backend_buffer_type_t ggml_backend_cuda_host_buffer_type(void);

// description: the product's name, cut to description_size bytes with its terminator.
// memory:      free and total of the device at this moment; 0 and 0 for a device that is not there.
GGML_BACKEND_API int  ggml_backend_cuda_get_device_count      (void);
GGML_BACKEND_API void ggml_backend_cuda_get_device_description(int device, char * description,
                                                               size_t description_size);
GGML_BACKEND_API void ggml_backend_cuda_get_device_memory     (int device, size_t * free, size_t * total);

// Pins existing host memory, so that transfers from it are fast and asynchronous, and releases it again; the
// memory stays the caller's and has to be unpinned before it is freed. False unless pinning on request is
// switched on (environment variable GGML_CUDA_REGISTER_HOST) and the driver agrees.
GGML_BACKEND_API bool ggml_backend_cuda_register_host_buffer  (void * buffer, size_t size);
GGML_BACKEND_API void ggml_backend_cuda_unregister_host_buffer(void * buffer);

// Sums tensors[i], which lies on the device of backends[i], over all of them in place; queued on their
// streams. The tensors have one shape and type and are contiguous. False: nothing was done, sum another way.
GGML_BACKEND_API bool ggml_backend_cuda_allreduce_tensor(ggml_backend_t * backends,
                                                         struct ggml_tensor ** tensors, size_t n_backends);

#ifdef __cplusplus
}
#endif
