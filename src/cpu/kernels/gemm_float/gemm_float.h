// SPDX-License-Identifier: MIT
// Products of f32: rows of weights against columns of activations.
//
// Activations are packed in panels of 16 columns: panel[k*16 + c] is element k of column c, so that columns
// lie in the lanes of vectors; columns that do not exist are zeros. A weight row is read in its own order,
// one element for all lanes. That way a weight row needs no rearrangement, whatever it was decoded from.
//
//     k ->            panel        16 columns
//     a[0] ........   k  xxxxxxxxxxxxxxxx
//     a[1] ........   |  xxxxxxxxxxxxxxxx    out[r*16 + c] = sum over k of a[r][k] * panel[k*16 + c]
//     ...             |  xxxxxxxxxxxxxxxx
//     a[7] ........   v  xxxxxxxxxxxxxxxx
//
// Each sum runs over k in ascending order in one f32 accumulator, multiplied and added in one rounding
// where the level can; callers cut long rows into blocks and add the sums of blocks. Only the first n_rows
// rows and n_cols columns of out are wanted: versions may leave out what lies behind, or compute it. All
// eight rows can be read. Any alignment of 4; out overlaps nothing.
#ifndef TN_CPU_KERNELS_GEMM_FLOAT_H
#define TN_CPU_KERNELS_GEMM_FLOAT_H

#include <stdint.h>

#include "cpu/kernels/rows.h"

enum { TN_GEMM_ROWS = 8, TN_GEMM_COLS = 16 };

struct tn_gemm_size {
    int n_rows, n_cols;
};

TN_PROCEDURE(gemm_float_tile,
             (int64_t n, const struct tn_gemm_size * size, const float * const a[TN_GEMM_ROWS],
              const float * panel, float out[TN_GEMM_ROWS * TN_GEMM_COLS]),
             (n, size, a, panel, out))

// y[i] += factor * x[i]
TN_PROCEDURE(gemm_float_axpy, (int64_t n, float * y, const float * x, float factor), (n, y, x, factor))

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/gemm_float/gemm_float.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
