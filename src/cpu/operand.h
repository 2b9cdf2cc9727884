// SPDX-License-Identifier: MIT
// Tensors as operators walk over them: tiles of at most 512 elements of a row, seen as f32 whatever their
// type and stride. Kernels need only know dense f32.
#ifndef TN_CPU_OPERAND_H
#define TN_CPU_OPERAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "cpu/run.h"
#include "ggml.h"

enum { TN_TILE = 512 }; // a multiple of the block of every type

struct tn_operand {
    enum ggml_type type;
    char * data;
    int64_t ne[4];
    size_t nb[4];
};

// Where a tile lies in the result.
struct tn_tile {
    int64_t i0, i1, i2, i3;
    int64_t n;      // elements from i0 on
    char * scratch; // of the thread; NULL if the operator has asked for none
};

struct tn_operand tn_operand_of(const struct ggml_tensor * t);

// All dense and of the same sizes: makes one row of each.
void tn_operand_flatten(struct tn_operand * const * operands, int count);

// Types that load, and that store, as f32: with a decoder, and with an encoder that needs neither weights nor
// memory.
bool tn_operand_can_load(enum ggml_type type);
bool tn_operand_can_store(enum ggml_type type);
// f32, f16 and bf16: also with a stride between elements.
bool tn_operand_is_float(enum ggml_type type);
// Elements (blocks) of a row lie one behind the other.
bool tn_operand_is_dense(const struct ggml_tensor * t);

// The row of these indices.
TN_INLINE char * tn_operand_row(const struct tn_operand * x, int64_t i1, int64_t i2, int64_t i3) {
    return x->data + (size_t) i1 * x->nb[1] + (size_t) i2 * x->nb[2] + (size_t) i3 * x->nb[3];
}

// The row that belongs to a tile of a result to which x is repeated.
TN_INLINE char * tn_operand_row_at(const struct tn_operand * x, const struct tn_tile * t) {
    return tn_operand_row(x, t->i1 % x->ne[1], t->i2 % x->ne[2], t->i3 % x->ne[3]);
}

// Elements i0 .. i0 + n - 1 of a row: the row itself if it is dense f32, else converted into buf. For types
// with blocks i0 is a multiple of the block, and so is n.
const float * tn_operand_load(const struct tn_operand * x, const char * row, int64_t i0, int64_t n,
                              float * buf);

// A place for n elements to be computed into: in the row itself if it is dense f32, else buf.
float * tn_operand_target(const struct tn_operand * y, char * row, int64_t i0, float * buf);

// Converts what was computed into the target's place; nothing to do for dense f32.
void tn_operand_store(const struct tn_operand * y, char * row, int64_t i0, int64_t n, const float * values);

// Calls run for every tile of y, in parts. cost: of one element.
struct tn_tile_work {
    void (*run)(const void * arg, const struct tn_tile * tile);
    const void * arg;
};
void tn_operand_tiles(struct tn_cpu_run * run, const struct tn_operand * y, int64_t cost,
                      struct tn_tile_work work);

#endif
