// SPDX-License-Identifier: MIT
// Cases without a graph: one call of a type conversion over all rows of a source.
//
//     quantize_chunk TYPE sN sM|null   ggml_quantize_chunk, importance weights in sM
//     from_float_ref TYPE sN           from_float_ref of the type's traits
//     to_float sN                      to_float of the traits of the source's type
//     row_convert FUNCTION sN          ggml_FUNCTION
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vectors.h"

#define WIDEN(ctype)                                                                                         \
    for (int64_t i = 0; i < n; i++)                                                                          \
    f[i] = (float) ((const ctype *) data)[i]

float * vec_to_f32(enum ggml_type type, const void * data, int64_t n) {
    float * f = calloc((size_t) n + 1, sizeof(float));
    const ggml_to_float_t decode = ggml_get_type_traits(type)->to_float;
    switch (type) {
    case GGML_TYPE_F32: WIDEN(float); break;
    case GGML_TYPE_F64: WIDEN(double); break;
    case GGML_TYPE_I8: WIDEN(int8_t); break;
    case GGML_TYPE_I16: WIDEN(int16_t); break;
    case GGML_TYPE_I32: WIDEN(int32_t); break;
    case GGML_TYPE_I64: WIDEN(int64_t); break;
    default:
        if (decode) decode(data, f, n);
    }
    return f;
}

static bool row_convert(const char * function, const void * from, void * to, int64_t n) {
    if (strcmp(function, "fp32_to_fp16_row") == 0) return ggml_fp32_to_fp16_row(from, to, n), true;
    if (strcmp(function, "fp16_to_fp32_row") == 0) return ggml_fp16_to_fp32_row(from, to, n), true;
    if (strcmp(function, "fp32_to_bf16_row") == 0) return ggml_fp32_to_bf16_row(from, to, n), true;
    if (strcmp(function, "bf16_to_fp32_row") == 0) return ggml_bf16_to_fp32_row(from, to, n), true;
    if (strcmp(function, "fp32_to_bf16_row_ref") == 0) return ggml_fp32_to_bf16_row_ref(from, to, n), true;
    return false;
}

static bool convert(const struct vec_case * c, const struct vec_call * call, const struct vec_src * s,
                    struct vec_out * out) {
    const char * f = call->arg[0].str;
    const int64_t n = s->ne[0] * s->ne[1] * s->ne[2] * s->ne[3];
    if (strcmp(f, "quantize_chunk") == 0) {
        const char * ref = call->arg[3].str;
        const float * weights = strcmp(ref, "null") == 0 ? NULL : c->src[atoi(ref + 1)].data;
        return ggml_quantize_chunk(out->type, s->data, out->data, 0, n / s->ne[0], s->ne[0], weights) ==
               out->size;
    }
    if (strcmp(f, "from_float_ref") == 0) {
        const ggml_from_float_t encode = ggml_get_type_traits(out->type)->from_float_ref;
        ggml_quantize_init(out->type);
        return encode ? encode(s->data, out->data, n), true : false;
    }
    if (strcmp(f, "to_float") == 0) {
        const ggml_to_float_t decode = ggml_get_type_traits(s->type)->to_float;
        return decode ? decode(s->data, out->data, n), true : false;
    }
    return row_convert(call->arg[1].str, s->data, out->data, n);
}

void vec_convert(const struct vec_case * c, const struct vec_prog * prog, struct vec_result * r) {
    const struct vec_call * call = &prog->call[0];
    const bool to_float = strcmp(call->arg[0].str, "to_float") == 0;
    const struct vec_src * s = &c->src[atoi(call->arg[to_float ? 1 : 2].str + 1)];
    struct vec_out * out = &r->got[0];
    *out = c->out[0];
    out->size = ggml_row_size(out->type, s->ne[0] * s->ne[1] * s->ne[2] * s->ne[3]);
    out->data = calloc(1, out->size + 1);
    r->status = convert(c, call, s, out) ? VEC_OK : VEC_ERROR;
    snprintf(r->msg, sizeof(r->msg), "the conversion fails or is missing");
}
