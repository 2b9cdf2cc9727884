// SPDX-License-Identifier: MIT
// Dot products of whole rows by the types of both: what products of matrices and programs ask for.
#ifndef TN_CPU_ROW_DOT_H
#define TN_CPU_ROW_DOT_H

#include <stdint.h>

#include "ggml.h"

struct tn_row_dot {
    enum ggml_type x, y;
    // n: a multiple of both blocks. Products of floats are summed in f32, 512 at a time, and those sums in
    // double; of blocks see kernels/codes.h.
    double (*run)(int64_t n, const void * x, const void * y);
};

// Two rows with two: sums[2 * r + j] is x[r] with y[j], the bits of four calls of run.
struct tn_row_dot_2x2 {
    void (*run)(int64_t n, const void * const x[2], const void * const y[2], double sums[4]);
};

// NULL: rows of these types are not multiplied as they are.
const struct tn_row_dot * tn_row_dot_find(enum ggml_type x, enum ggml_type y);

// The type that rows are multiplied with for which traits.def has a row; GGML_TYPE_COUNT: none.
enum ggml_type tn_row_dot_partner(enum ggml_type x);

// NULL: there is none for this product.
const struct tn_row_dot_2x2 * tn_row_dot_find_2x2(const struct tn_row_dot * dot);

#endif
