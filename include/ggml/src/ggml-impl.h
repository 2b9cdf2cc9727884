// SPDX-License-Identifier: MIT
//
// The three private layouts that one known client names. Nothing else belongs here.
#pragma once

#include "ggml.h"

typedef uint32_t ggml_bitset_t;

// Open-addressing set of tensors. A slot i is occupied where bit i of `used` is set (32 slots a word).
struct ggml_hash_set {
    size_t                size;
    ggml_bitset_t *       used;
    struct ggml_tensor ** keys;
};

enum ggml_cgraph_eval_order {
    GGML_CGRAPH_EVAL_ORDER_LEFT_TO_RIGHT = 0,
    GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT = 1,
    GGML_CGRAPH_EVAL_ORDER_COUNT         = 2,
};

// Order and number of the fields are fixed: clients initialise this struct by position.
struct ggml_cgraph {
    int                         size;
    int                         n_nodes;
    int                         n_leafs;
    struct ggml_tensor **       nodes;
    struct ggml_tensor **       grads;
    struct ggml_tensor **       grad_accs;
    struct ggml_tensor **       leafs;
    int32_t *                   use_counts;
    struct ggml_hash_set        visited_hash_set;
    enum ggml_cgraph_eval_order order;
    uint64_t                    uid;
};
