// SPDX-License-Identifier: MIT
// Plain host memory as a buffer type: "CPU", and "CPU_Mapped" for memory that somebody else owns.
#ifndef TN_BACKEND_HOST_H
#define TN_BACKEND_HOST_H

#include "base/compiler.h"
#include "ggml-backend-impl.h"

// Of tensors, in bytes; buffers themselves are aligned to more.
enum { TN_HOST_ALIGNMENT = 32 };

// What ggml_backend_cpu_buffer_type() returns. Belongs to no device; static, never freed.
TN_API ggml_backend_buffer_type_t tn_host_buffer_type(void);

#endif
