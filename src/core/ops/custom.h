// SPDX-License-Identifier: MIT
// What MAP_CUSTOM1..3 and CUSTOM carry in op_params.
#ifndef TN_CORE_OPS_CUSTOM_H
#define TN_CORE_OPS_CUSTOM_H

#include <stddef.h>

#include "base/compiler.h"
#include "ggml.h"

struct tn_custom {
    union {
        ggml_custom1_op_t map1;
        ggml_custom2_op_t map2;
        ggml_custom3_op_t map3;
        ggml_custom_op_t any;
    } fun;
    int n_tasks; // above 0, or GGML_N_TASKS_MAX
    void * userdata;
};
_Static_assert(offsetof(struct tn_custom, n_tasks) == 8 && offsetof(struct tn_custom, userdata) == 16,
               "other programs read op_params too");
_Static_assert(sizeof(struct tn_custom) <= GGML_MAX_OP_PARAMS, "it must fit into op_params");

// Of a node of one of these operators.
TN_API struct tn_custom tn_custom_get(const struct ggml_tensor * node);

#endif
