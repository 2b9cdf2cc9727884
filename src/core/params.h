// SPDX-License-Identifier: MIT
// Typed reading and writing of operator parameters: 32-bit words in op_params.
#ifndef TN_CORE_PARAMS_H
#define TN_CORE_PARAMS_H

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "ggml.h"

TN_INLINE int32_t tn_param_i32(const struct ggml_tensor * t, int word) {
    return t->op_params[word];
}

TN_INLINE float tn_param_f32(const struct ggml_tensor * t, int word) {
    float f;
    memcpy(&f, &t->op_params[word], sizeof(f));
    return f;
}

TN_INLINE void tn_param_set_i32(struct ggml_tensor * t, int word, int32_t value) {
    t->op_params[word] = value;
}

TN_INLINE void tn_param_set_f32(struct ggml_tensor * t, int word, float value) {
    memcpy(&t->op_params[word], &value, sizeof(value));
}

TN_INLINE size_t tn_param_size(const struct ggml_tensor * t) {
    size_t n;
    memcpy(&n, t->op_params, sizeof(n));
    return n;
}

TN_INLINE void tn_param_set_size(struct ggml_tensor * t, size_t value) {
    memcpy(t->op_params, &value, sizeof(value));
}

#endif
