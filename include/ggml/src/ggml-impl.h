// SPDX-License-Identifier: MIT
//
// Three private layouts, public only because one known client includes this file by this name, reads a
// graph's fields and makes graphs of its own. Programs that start afresh use ggml-graph.h or the accessors
// of ggml.h. Nothing else belongs here.
#pragma once

#include "ggml.h"

typedef uint32_t ggml_bitset_t; // 32 bits of a bit set, the lowest first

// A set of tensors by address: open addressing with linear probing. Slot i is taken if bit i of used is
// set; the keys of other slots mean nothing. A slot is also an index into the use counts and gradients of
// the graph.
struct ggml_hash_set {
    size_t                size; // slots
    ggml_bitset_t *       used; // borrowed, one bit a slot
    struct ggml_tensor ** keys; // borrowed, one pointer a slot
};

// In which order the sources of a node are visited when a graph is expanded.
enum ggml_cgraph_eval_order {
    GGML_CGRAPH_EVAL_ORDER_LEFT_TO_RIGHT = 0,
    GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT = 1,
    GGML_CGRAPH_EVAL_ORDER_COUNT         = 2,
};

// A graph. Number and order of the fields are fixed: clients initialise it by position. A back end has to
// accept one that is a window onto another graph: size 0, no leafs, no gradients, the nodes, use counts and
// hash set of the other one. All arrays are borrowed; those of a graph made by ggml_new_graph lie in its
// context.
struct ggml_cgraph {
    int                         size;             // room for nodes, and for leafs; 0: nothing can be added
    int                         n_nodes;
    int                         n_leafs;
    struct ggml_tensor **       nodes;            // in the order of computation
    struct ggml_tensor **       grads;            // by slot of the hash set; NULL: no room for gradients
    struct ggml_tensor **       grad_accs;        // likewise
    struct ggml_tensor **       leafs;
    int32_t *                   use_counts;       // by slot of the hash set: how many nodes read a tensor
    struct ggml_hash_set        visited_hash_set;
    enum ggml_cgraph_eval_order order;
    uint64_t                    uid;              // 0: unknown; equal others promise an unchanged graph
};
