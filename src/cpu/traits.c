// SPDX-License-Identifier: MIT
// Kernels by type for programs: encoders, dot products of rows, conversions of plain types.
#include <string.h>

#include "base/thread.h"
#include "cpu/kernels.h"
#include "cpu/kernels/convert/convert.h"
#include "cpu/row_dot.h"
#include "ggml-cpu.h"
#include "quant/type.h"

#define TN_ROW(id, partner, function)                                                                        \
    static void dot_of_##id(int n, float * restrict s, size_t bs, const void * restrict x, size_t bx,        \
                            const void * restrict y, size_t by, int nrc) {                                   \
        (void) bs, (void) bx, (void) by, (void) nrc;                                                         \
        *s = (float) tn_row_dot_find(GGML_TYPE_##id, GGML_TYPE_##partner)->run(n, x, y);                     \
    }
#include "cpu/traits.def"
#undef TN_ROW

static void copy_f32(const float * restrict x, void * restrict y, int64_t n) {
    memcpy(y, x, (size_t) n * sizeof(float));
}

static void to_i32(const float * restrict x, void * restrict y, int64_t n) {
    tn_convert_f32_i32(n, y, x);
}

// Searches that take their time, or need weights, are for ggml_quantize_chunk. No operator makes f64.
static bool encodes(enum ggml_type type) {
    switch (type) {
    case GGML_TYPE_F64:
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
    traits[GGML_TYPE_Q8_1].nrows = 1; // of which there is no product
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
