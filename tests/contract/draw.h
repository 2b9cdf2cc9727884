// SPDX-License-Identifier: MIT
// Drawing one random node: sizes, parameters, sources of given types in random layouts, each in a heap block
// of its own. All follows from the node's number.
#ifndef TN_TESTS_CONTRACT_DRAW_H
#define TN_TESTS_CONTRACT_DRAW_H

#include "harness.h"

#include <math.h>

#include "ggml.h"
#include "op/element.h"

enum layout {
    LAYOUT_DENSE,
    LAYOUT_SPACED,   // rows with gaps, evenly spaced through all dimensions
    LAYOUT_PADDED,   // part of a larger tensor in every dimension
    LAYOUT_SHARED,   // the indices of a dimension see the same memory
    LAYOUT_PERMUTED, // dimensions 1 to 3 in another order
    LAYOUT_TURNED,   // dimension 0 as well: elements of a row far apart
    LAYOUT_SPARSE,   // gaps between the elements of a row
    LAYOUT_COUNT,
};

struct block {
    char * start; // owned, with `guard` bytes on both sides of the data
    char * data;
    size_t size;
};

enum { MAX_BLOCKS = 48 };

struct draw {
    struct ggml_context * ctx; // borrowed, no_alloc
    struct test_rng rng;
    enum ggml_op op;
    int which;                          // function of UNARY, unit of GLU
    enum ggml_type types[GGML_MAX_SRC]; // of the sources
    enum ggml_type result;              // of the result
    const char * layouts;               // one letter a source, see operators.def
    bool wild;                          // sources may also look as the table does not promise
    bool is_shared;                     // a source with LAYOUT_SHARED was drawn: nothing may be written to it
    bool may_be_empty;                  // one dimension of this node will be 0
    struct block blocks[MAX_BLOCKS];
    int n_blocks;
};

void draw_free(struct draw * d);

// 0 .. n - 1; lo .. hi; yes in one of n cases.
int64_t draw_below(struct draw * d, int64_t n);
float draw_float(struct draw * d, float lo, float hi);
bool draw_chance(struct draw * d, int64_t n);

// A size 1 .. max, often 1; 0 where a node is to be empty.
int64_t draw_size(struct draw * d, int64_t max);
// Length of a row that a tensor of each of the first n types, and the result if `result`, may have.
int64_t draw_row(struct draw * d, int n, bool result);
// ne[0] as draw_row(1 source, result), and three small sizes.
void draw_shape(struct draw * d, int n, bool result, int64_t * ne);

// A size that divides n, often n itself or 1.
int64_t draw_divisor(struct draw * d, int64_t n);

// A source of the type and the layouts of source i, with values lo .. hi (-2 .. 2); types with blocks keep
// values of about 2.
struct ggml_tensor * draw_source(struct draw * d, int i, const int64_t * ne);
struct ggml_tensor * draw_ranged(struct draw * d, int i, const int64_t * ne, float lo, float hi);
// A source of integers 0 .. below - 1.
struct ggml_tensor * draw_indices(struct draw * d, int i, const int64_t * ne, int64_t below);
// A source that will be written to: no two elements share memory.
struct ggml_tensor * draw_target(struct draw * d, int i, const int64_t * ne);
// The same of a type of its own, with any strides that the type allows.
struct ggml_tensor * draw_destination(struct draw * d, enum ggml_type type, const int64_t * ne);

// May the builder's in-place variant be taken? In every third case, if nothing is shared.
bool draw_in_place(struct draw * d);

// A finished node that is to give another type: what no builder asks for, but nodes made by hand may.
struct ggml_tensor * draw_retyped(struct draw * d, struct ggml_tensor * node);

// Gives memory to every tensor that has none, filled with a pattern, and places to views.
void draw_allocate(struct draw * d);
// The bytes before and behind each block are as they were.
bool draw_guards_intact(const struct draw * d);

#endif
