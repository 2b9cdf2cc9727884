// SPDX-License-Identifier: MIT
// Rows of activations as the dot products of a type of weights take them, for products with few of them:
//
//     weights      activations           taken as
//     f32          any                   f32
//     f16, bf16    of the same type      they are
//                  others                f32: nothing is rounded
//     blocks       of the type's partner they are (cpu/traits.def)
//                  floats                blocks of eight bits, where the node's precision allows that
//
// Before it becomes blocks a row is scaled by a power of two so that its largest magnitude is in 512 .. 1024,
// and products are scaled back in double. So neither the scales of blocks nor the sums that q8_1 keeps leave
// the range of a half, whatever finite numbers come in, and small numbers keep all their bits. A row with an
// infinity or a NaN stays f32.
#ifndef TN_CPU_COLUMNS_H
#define TN_CPU_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/operand.h"
#include "cpu/row_dot.h"
#include "ggml.h"

struct tn_columns {
    int64_t n;                             // elements of one
    const struct tn_row_dot * dot;         // NULL: weights have to become f32 first
    const struct tn_row_dot_2x2 * dot_2x2; // the same for two rows of both; NULL: one by one
    bool in_place;                         // nothing to pack: rows are taken where they lie
    bool rounds;                           // to blocks of eight bits
    bool is_ref;                           // but this time they stay f32 (use_ref)
    size_t size;                           // bytes of a packed one, a multiple of 64
};

// For a node whose src1 is multiplied with rows of src0.
struct tn_columns tn_columns_of(const struct ggml_tensor * node);
// As f32 for weights that become f32, without dot products.
struct tn_columns tn_columns_of_f32(const struct ggml_tensor * node);

// Packs a row of b. `to` is aligned to 64.
void tn_columns_pack(const struct tn_columns * c, const struct tn_operand * b, const char * row, char * to);

// A column, packed or in place: can weights be multiplied with it as they are? If not, as f32 with its f32.
bool tn_columns_has_dot(const struct tn_columns * c, const char * column);
double tn_columns_dot(const struct tn_columns * c, const char * weights, const char * column);
// Where there is dot_2x2: sums[2 * r + j] is weights r with column j, the bits of four single ones.
void tn_columns_dot_2x2(const struct tn_columns * c, const char * const weights[2],
                        const char * const columns[2], double sums[4]);
const float * tn_columns_f32(const struct tn_columns * c, const char * column);

#endif
