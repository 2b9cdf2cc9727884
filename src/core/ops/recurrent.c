// SPDX-License-Identifier: MIT
// Sizes of recurrences whose result holds outputs and then new states.
#include "core/ops/recurrent_int.h"

#include <inttypes.h>

#include "base/error.h"
#include "core/rule.h"
#include "core/shape.h"

bool tn_recurrent_product(int64_t a, int64_t b, int64_t c, int64_t d, int64_t * out) {
    const int64_t ne[GGML_MAX_DIMS] = { a, b, c, d };
    *out = 0;
    return tn_shape_count(ne, out);
}

bool tn_recurrent_result(struct ggml_tensor * node, int state) {
    const int64_t * ne = node->src[0]->ne;
    const int64_t sequences = node->src[state]->ne[1], given = ggml_nelements(node->src[state]);
    int64_t wanted, width, rows;
    if (!tn_rule_one(node, 0, 3)) return false;
    if (sequences < 1 || ne[2] % sequences) {
        return tn_refuse("the tokens must spread evenly over the sequences, ne1 of src%d: there are %" PRId64
                         " and %" PRId64,
                         state, ne[2], sequences);
    }
    if (!tn_recurrent_product(ne[0], ne[0], ne[1], sequences, &wanted)) return false;
    if (given != wanted) {
        return tn_refuse("src%d must hold S*S*H numbers for each sequence, %" PRId64 ", it has %" PRId64,
                         state, wanted, given);
    }
    if (!tn_recurrent_product(ne[0], ne[1], 1, 1, &width) ||
        !tn_recurrent_product(ne[0], sequences, 1, 1, &rows))
        return false;
    if (!tn_i64_add(rows, ne[2], &rows)) return tn_refuse("the rows of outputs and states are 2^63 or more");
    tn_rule_result(node, GGML_TYPE_F32, width, rows, 1, 1);
    return true;
}
