// SPDX-License-Identifier: MIT
// What a tensor type is: one descriptor a type, at the end of the type's own file, named by its row in
// types.def.
//
// The name stands in the row alone; ggml_type_name gives it.
#ifndef TN_QUANT_TYPE_H
#define TN_QUANT_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "ggml.h"

struct tn_type {
    int32_t block_size; // elements
    int32_t type_size;  // bytes of a block
    bool is_quantized;
    bool needs_weights; // encode refuses to work without importance weights

    // Exceptions, false for most types.
    bool no_chunk;      // ggml_quantize_chunk refuses it: integers, operands of dot products
    bool hidden_decode; // ggml_get_type_traits shows no to_float
    bool hidden_encode; // ggml_get_type_traits shows no from_float_ref

    // Rows of whole blocks. n: a multiple of block_size. NULL where the type has none.
    // Decoding never fails. Encoding here takes finite or any input and must not crash on NaN or infinity.
    ggml_to_float_t
        decode; // public to_float; also set for f32 (a copy), so that callers need no special case
    ggml_from_float_t encode_ref; // public from_float_ref: the encoder without weights

    // The encoder behind ggml_quantize_chunk: one row of n elements with n weights, or NULL for none.
    // NULL member: encode_ref serves and weights are ignored. false: no memory or weights missing, text set.
    bool (*encode)(const float * x, void * y, int64_t n, const float * weights);

    // The f16 values of a block that must be finite: n_halves in a row from byte half_offset on.
    int16_t half_offset;
    int16_t n_halves;
    // What that cannot say: false at the first block that is not well formed, its index in *bad. May be NULL.
    // y may lie at any address.
    bool (*validate)(const void * y, int64_t n_blocks, int64_t * bad);

    // Builds search tables; thread-safe, may be NULL. false: no memory.
    bool (*prepare)(void);
    void (*release)(void);
};

#define TN_TYPE(id, name, module) extern const struct tn_type tn_type_##module;
#include "quant/types.def"
#undef TN_TYPE

// NULL for an id that is out of range or retired.
TN_API const struct tn_type * tn_type_get(enum ggml_type type);

// Bytes of a row of ne elements. false with a text: unknown type, no whole number of blocks, overflow.
TN_API bool tn_type_row_size(enum ggml_type type, int64_t ne, size_t * out);

#endif
