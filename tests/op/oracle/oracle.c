// SPDX-License-Identifier: MIT
// The table of oracles.
#include "op/oracle/oracle.h"

int oracle_checks;
struct oracle_sum oracle_terms;
const struct ggml_tensor * oracle_original;

static const struct oracle rows[GGML_OP_COUNT] = {
#define TN_VALUE(id, function, r, a) [GGML_OP_##id] = { .value = (function), .rel = (r), .abs = (a) },
#define TN_FILL(id, function, r, a)  [GGML_OP_##id] = { .fill = (function), .rel = (r), .abs = (a) },
#define TN_ACCEPTS(id, function)     [GGML_OP_##id] = { .accepts = (function) },
#include "op/oracle/oracle.def"
#undef TN_VALUE
#undef TN_FILL
#undef TN_ACCEPTS
};

const struct oracle * oracle_of(enum ggml_op op) {
    if ((unsigned) op >= GGML_OP_COUNT) return NULL;
    const struct oracle * o = &rows[op];
    return o->value || o->fill || o->accepts ? o : NULL;
}
