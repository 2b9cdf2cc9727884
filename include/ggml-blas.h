// SPDX-License-Identifier: MIT
//
// The BLAS back end: large matrix products by a BLAS library, everything else left to others.
//
// Its device is of type ACCEL and computes in host memory. It is used beside the CPU back end under a
// scheduler, at a higher priority, and supports matrix and outer products only, of sizes that gain by it.
#pragma once

#include "ggml.h"
#include "ggml-backend.h"

// clang-format off: declarations are aligned by hand

#ifdef __cplusplus
extern "C" {
#endif

// A new back end; the caller frees it. NULL without memory.
GGML_BACKEND_API ggml_backend_t     ggml_backend_blas_init(void);
GGML_BACKEND_API bool               ggml_backend_is_blas  (ggml_backend_t backend);
GGML_BACKEND_API ggml_backend_reg_t ggml_backend_blas_reg (void);

// Threads of the library (where it can be told) and of converting weights, from the next graph on. A back end
// of another kind, and a number below 1, are refused.
GGML_BACKEND_API void ggml_backend_blas_set_n_threads(ggml_backend_t backend_blas, int n_threads);

#ifdef __cplusplus
}
#endif
