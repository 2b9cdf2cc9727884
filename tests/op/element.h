// SPDX-License-Identifier: MIT
// Elements of tensors of any type and stride as doubles, for tests and their oracles.
#ifndef TN_TESTS_ELEMENT_H
#define TN_TESTS_ELEMENT_H

#include "harness.h"

#include "ggml.h"
#include "quant/type.h"

static inline char * cpu_at(const struct ggml_tensor * x, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return (char *) x->data + (size_t) i0 * x->nb[0] + (size_t) i1 * x->nb[1] + (size_t) i2 * x->nb[2] +
           (size_t) i3 * x->nb[3];
}

// A block as f32 values. The last one is kept, with its bytes: oracles ask for all elements of a block in
// turn. By the internal decoder: q8_1 and q8_K have no public one.
static inline const float * cpu_decoded(enum ggml_type type, const char * block) {
    static _Thread_local enum ggml_type last = GGML_TYPE_COUNT;
    static _Thread_local char bytes[512];
    static _Thread_local float values[256];
    if (type == last && memcmp(bytes, block, ggml_type_size(type)) == 0) return values;
    last = type;
    memcpy(bytes, block, ggml_type_size(type));
    tn_type_get(type)->decode(block, values, ggml_blck_size(type));
    return values;
}

// Element as double; independent of the library but for the decoders of types with blocks.
static inline double cpu_get(const struct ggml_tensor * x, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    const int64_t block = ggml_blck_size(x->type);
    const char * p = cpu_at(x, i0 / block, i1, i2, i3);
    switch (x->type) {
    case GGML_TYPE_F32: return (double) *(const float *) p;
    case GGML_TYPE_F64: return *(const double *) p;
    case GGML_TYPE_F16: return (double) ggml_fp16_to_fp32(*(const ggml_fp16_t *) p);
    case GGML_TYPE_BF16: return (double) ggml_bf16_to_fp32(*(const ggml_bf16_t *) p);
    case GGML_TYPE_I8: return *(const int8_t *) p;
    case GGML_TYPE_I16: return *(const int16_t *) p;
    case GGML_TYPE_I32: return *(const int32_t *) p;
    case GGML_TYPE_I64: return (double) *(const int64_t *) p;
    default: return (double) cpu_decoded(x->type, p)[i0 % block];
    }
}

static inline void cpu_put(struct ggml_tensor * x, const int64_t * i, double v) {
    char * p = cpu_at(x, i[0], i[1], i[2], i[3]);
    switch (x->type) {
    case GGML_TYPE_F32: *(float *) p = (float) v; return;
    case GGML_TYPE_F64: *(double *) p = v; return;
    case GGML_TYPE_F16: *(ggml_fp16_t *) p = ggml_fp32_to_fp16((float) v); return;
    case GGML_TYPE_BF16: *(ggml_bf16_t *) p = ggml_fp32_to_bf16((float) v); return;
    case GGML_TYPE_I8: *(int8_t *) p = (int8_t) v; return;
    case GGML_TYPE_I16: *(int16_t *) p = (int16_t) v; return;
    case GGML_TYPE_I32: *(int32_t *) p = (int32_t) v; return;
    case GGML_TYPE_I64: *(int64_t *) p = (int64_t) v; return;
    default: fail_msg("no element of %s", ggml_type_name(x->type));
    }
}

// Steps through all indices; false behind the last.
static inline bool cpu_next(const struct ggml_tensor * x, int64_t * i) {
    for (int d = 0; d < 4; d++) {
        if (++i[d] < x->ne[d]) return true;
        i[d] = 0;
    }
    return false;
}

#endif
