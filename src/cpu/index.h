// SPDX-License-Identifier: MIT
// Indices of rows, or of matrices, that a tensor holds. Operators look at all of them before they write.
#ifndef TN_CPU_INDEX_H
#define TN_CPU_INDEX_H

#include "cpu/operand.h"

// Element [i, j, k] of an i32 or i64 tensor.
TN_INLINE int64_t tn_index_get(const struct tn_operand * index, int64_t i, int64_t j, int64_t k) {
    const char * p = tn_operand_row(index, j, k, 0) + (size_t) i * index->nb[0];
    return index->type == GGML_TYPE_I64 ? *(const int64_t *) p : *(const int32_t *) p;
}

// Are all of them in 0 .. n - 1? If not, the text names position, value, n and what is counted
// ("the source has 5 rows").
enum ggml_status tn_index_check(const struct tn_operand * index, int64_t n, const char * owner,
                                const char * things);

#endif
