// SPDX-License-Identifier: MIT
// One copy of the library, as a table of its functions. Who fills it decides which copy it is: a program or a
// plug-in by its own linking, or a look-up in a library that was loaded.
#ifndef TN_TESTS_COPIES_COPY_H
#define TN_TESTS_COPIES_COPY_H

#include "ggml-alloc.h"
#include "ggml-backend-impl.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml.h"
#include "gguf.h"

// Of all three libraries.
#define COPY_FUNCTIONS(F)                 \
    F(ggml_init)                          \
    F(ggml_free)                          \
    F(ggml_new_tensor_2d)                 \
    F(ggml_mul_mat)                       \
    F(ggml_add)                           \
    F(ggml_soft_max)                      \
    F(ggml_map_custom1)                   \
    F(ggml_new_graph)                     \
    F(ggml_build_forward_expand)          \
    F(ggml_graph_compute_with_ctx)        \
    F(ggml_nbytes)                        \
    F(ggml_set_name)                      \
    F(ggml_log_set)                       \
    F(ggml_log_get)                       \
    F(ggml_ext_last_error)                \
    F(ggml_quantize_chunk)                \
    F(ggml_backend_alloc_ctx_tensors)     \
    F(ggml_backend_buffer_free)           \
    F(ggml_backend_tensor_set)            \
    F(ggml_backend_tensor_get)            \
    F(ggml_backend_free)                  \
    F(ggml_backend_get_device)            \
    F(ggml_backend_get_default_buffer_type) \
    F(ggml_backend_graph_compute)         \
    F(ggml_backend_cpu_buffer_type)       \
    F(ggml_backend_cpu_init)              \
    F(ggml_backend_cpu_set_n_threads)     \
    F(ggml_backend_cpu_set_threadpool)    \
    F(ggml_backend_cpu_set_abort_callback) \
    F(ggml_backend_is_cpu)                \
    F(ggml_backend_init_by_type)          \
    F(ggml_backend_register)              \
    F(ggml_backend_reg_count)             \
    F(ggml_backend_dev_by_type)           \
    F(ggml_threadpool_params_default)     \
    F(ggml_threadpool_new)                \
    F(ggml_threadpool_free)               \
    F(gguf_init_empty)                    \
    F(gguf_init_from_file)                \
    F(gguf_set_val_u32)                   \
    F(gguf_get_val_u32)                   \
    F(gguf_find_key)                      \
    F(gguf_add_tensor)                    \
    F(gguf_get_n_tensors)                 \
    F(gguf_write_to_file)                 \
    F(gguf_free)

struct copy {
#define F(name) __typeof__(name) * name;
    COPY_FUNCTIONS(F)
#undef F
};

typedef const struct copy * copy_of_plugin(void);

#endif
