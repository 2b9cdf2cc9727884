// SPDX-License-Identifier: MIT
// The check of indices.
#include "cpu/index.h"

#include <inttypes.h>

#include "base/error.h"

enum ggml_status tn_index_check(const struct tn_operand * index, int64_t n, const char * owner,
                                const char * things) {
    const int64_t count = index->ne[0] * index->ne[1] * index->ne[2];
    for (int64_t r = 0; r < count; r++) {
        const int64_t row = r / index->ne[0];
        const int64_t i = r % index->ne[0], j = row % index->ne[1], k = row / index->ne[1];
        const int64_t v = tn_index_get(index, i, j, k);
        if (v >= 0 && v < n) continue;
        TN_FAIL(GGML_STATUS_FAILED,
                "index %" PRId64 " at position [%" PRId64 ", %" PRId64 ", %" PRId64 "], but %s has %" PRId64
                " %s",
                v, i, j, k, owner, n, things);
    }
    return GGML_STATUS_SUCCESS;
}
