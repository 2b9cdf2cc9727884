// SPDX-License-Identifier: MIT
// Kernels by type for programs: encoders, dot products of rows, conversions of plain types.
#include <string.h>

#include "base/bits.h"
#include "base/thread.h"
#include "cpu/kernels.h"
#include "cpu/kernels/convert/convert.h"
#include "cpu/kernels/dot_float/dot_float.h"
#include "cpu/kernels/dot_fp4/dot_fp4.h"
#include "cpu/kernels/dot_iq/dot_iq.h"
#include "cpu/kernels/dot_k/dot_k.h"
#include "cpu/kernels/dot_legacy/dot_legacy.h"
#include "cpu/operand.h"
#include "ggml-cpu.h"
#include "quant/type.h"

// Products of 512 elements are summed in f32, and those sums in double.
#define DOT(name, T, dot)                                                                                    \
    static float name(int64_t n, const void * x, const void * y) {                                           \
        const T *a = x, *b = y;                                                                              \
        double sum = 0.0;                                                                                    \
        for (int64_t i = 0; i < n; i += TN_TILE)                                                             \
            sum += (double) dot(tn_min_i64(TN_TILE, n - i), a + i, b + i);                                   \
        return (float) sum;                                                                                  \
    }
DOT(dot_f32, float, tn_dot_float)
DOT(dot_f16, uint16_t, tn_dot_float_f16_f16)
DOT(dot_bf16, uint16_t, tn_dot_float_bf16_bf16)

#define TN_ROW(id, partner, function)                                                                        \
    static void dot_of_##id(int n, float * restrict s, size_t bs, const void * restrict x, size_t bx,        \
                            const void * restrict y, size_t by, int nrc) {                                   \
        (void) bs, (void) bx, (void) by, (void) nrc;                                                         \
        *s = function(n, x, y);                                                                              \
    }
#include "cpu/traits.def"
#undef TN_ROW

static void copy_f32(const float * restrict x, void * restrict y, int64_t n) {
    memcpy(y, x, (size_t) n * sizeof(float));
}

static void to_i32(const float * restrict x, void * restrict y, int64_t n) {
    tn_convert_f32_i32(n, y, x);
}

// Searches that take their time, or need weights, are for ggml_quantize_chunk.
static bool encodes(enum ggml_type type) {
    switch (type) {
    case GGML_TYPE_IQ2_XXS:
    case GGML_TYPE_IQ2_XS:
    case GGML_TYPE_IQ2_S:
    case GGML_TYPE_IQ3_XXS:
    case GGML_TYPE_IQ3_S:
    case GGML_TYPE_IQ1_S:
    case GGML_TYPE_IQ1_M: return false;
    default: return true;
    }
}

static ggml_from_float_t encoder_of(enum ggml_type type) {
    if (type == GGML_TYPE_F32) return copy_f32;
    if (type == GGML_TYPE_I32) return to_i32;
    const struct tn_type * t = tn_type_get(type);
    return t && encodes(type) ? t->encode_ref : NULL;
}

static struct ggml_type_traits_cpu traits[GGML_TYPE_COUNT + 1]; // the last: no type at all
static struct tn_once traits_once = TN_ONCE_INIT;

static void fill_traits(void) {
    tn_kernels_init();
    for (int i = 0; i < GGML_TYPE_COUNT; i++)
        traits[i].from_float = encoder_of((enum ggml_type) i);
#define TN_ROW(id, partner, function)                                                                        \
    traits[GGML_TYPE_##id].vec_dot = dot_of_##id;                                                            \
    traits[GGML_TYPE_##id].vec_dot_type = GGML_TYPE_##partner;                                               \
    traits[GGML_TYPE_##id].nrows = 1;
#include "cpu/traits.def"
#undef TN_ROW
}

const struct ggml_type_traits_cpu * ggml_get_type_traits_cpu(enum ggml_type type) {
    tn_once(&traits_once, fill_traits);
    return &traits[(unsigned) type < GGML_TYPE_COUNT ? type : GGML_TYPE_COUNT];
}

void ggml_cpu_fp32_to_fp32(const float * x, float * y, int64_t n) {
    if (n > 0) copy_f32(x, y, n);
}

void ggml_cpu_fp32_to_i32(const float * x, int32_t * y, int64_t n) {
    tn_convert_f32_i32(n, y, x);
}

void ggml_cpu_fp32_to_fp16(const float * x, ggml_fp16_t * y, int64_t n) {
    tn_convert_f32_f16(n, y, x);
}

void ggml_cpu_fp16_to_fp32(const ggml_fp16_t * x, float * y, int64_t n) {
    tn_convert_f16_f32(n, y, x);
}

void ggml_cpu_fp32_to_bf16(const float * x, ggml_bf16_t * y, int64_t n) {
    tn_convert_f32_bf16(n, (uint16_t *) y, x);
}

void ggml_cpu_bf16_to_fp32(const ggml_bf16_t * x, float * y, int64_t n) {
    tn_convert_bf16_f32(n, y, (const uint16_t *) x);
}
