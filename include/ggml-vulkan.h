// SPDX-License-Identifier: MIT
//
// The Vulkan back end: graphics processors of any maker, through their Vulkan driver.
//
// Programs reach devices through the registry of ggml-backend.h; the functions here are for those that want
// this family in particular. Without a loader or a driver the family has no devices and every call refuses
// (NULL, 0, false). Devices are counted from 0, at most GGML_VK_MAX_DEVICES; the environment variable
// GGML_VK_VISIBLE_DEVICES chooses among the physical ones.
//
// Work is asynchronous: see ggml_backend_synchronize(). Memory sizes are in bytes.
#pragma once

#include "ggml.h"
#include "ggml-backend.h"

// clang-format off: declarations are aligned by hand

#define GGML_VK_NAME        "Vulkan"
#define GGML_VK_MAX_DEVICES 16

#ifdef __cplusplus
extern "C" {
#endif

// A new back end on a device; the caller frees it. NULL for a device that is not there.
GGML_BACKEND_API ggml_backend_t     ggml_backend_vk_init(size_t dev_num);
GGML_BACKEND_API bool               ggml_backend_is_vk  (ggml_backend_t backend);
GGML_BACKEND_API ggml_backend_reg_t ggml_backend_vk_reg (void);

// The memory of a device; and host memory that the driver can read directly, which transfers fastest.
GGML_BACKEND_API ggml_backend_buffer_type_t ggml_backend_vk_buffer_type     (size_t dev_num);
GGML_BACKEND_API ggml_backend_buffer_type_t ggml_backend_vk_host_buffer_type(void);

// description: the product's name, cut to description_size bytes with its terminator.
// memory:      free and total of the device; free equals total where the driver does not tell. 0
//              and 0 for a device that is not there.
GGML_BACKEND_API int  ggml_backend_vk_get_device_count      (void);
GGML_BACKEND_API void ggml_backend_vk_get_device_description(int device, char * description,
                                                             size_t description_size);
GGML_BACKEND_API void ggml_backend_vk_get_device_memory     (int device, size_t * free, size_t * total);

#ifdef __cplusplus
}
#endif
