// SPDX-License-Identifier: MIT
// A random graph: nodes of any operator (contract/), linked to each other, with what the CPU makes of it. All
// follows from a number; the same number gives the same graph, as often as it is wanted.
#ifndef TN_TESTS_SCHED_GRAPH_H
#define TN_TESTS_SCHED_GRAPH_H

#include "contract/combination.h"

#include "ggml-backend.h"

enum { GRAPH_DRAWS = 16, GRAPH_NODES = 256, GRAPH_LEAFS = 128 };

// A tensor without an operator, as the scheduler is to get it: it is nowhere yet.
struct graph_leaf {
    struct ggml_tensor * tensor;
    char * values; // owns; `size` bytes
    char * last;   // owns; what is there when the graph has run
    char * memory; // of the graph, `size` bytes with the values: where it may be
    size_t size;
    bool is_written; // by a node
};

// A node that computes.
struct graph_node {
    struct ggml_tensor * tensor;
    char * then; // owns; its bytes when it had run
    char * last; // owns; and when the graph had
    size_t size;
    int64_t n_written; // elements; operators may leave the last ones as they are
};

struct graph {
    uint64_t number;
    struct ggml_context * ctx;
    struct ggml_cgraph * cgraph;
    struct draw draws[GRAPH_DRAWS];
    struct graph_leaf leafs[GRAPH_LEAFS];
    struct graph_node nodes[GRAPH_NODES];
    int n_draws, n_leafs, n_nodes;
};

// `cpu` computes what is expected.
struct graph * graph_new(const struct combinations * all, ggml_backend_t cpu, uint64_t number);
void graph_free(struct graph * g);

// Does the node write into the memory of t, which is no view?
bool graph_writes(const struct ggml_tensor * node, const struct ggml_tensor * t);

// The first of n elements (or the block it is in) of a tensor whose bits in `bytes` are not those in
// `expected`, -1: none. What lies between elements does not matter.
int64_t graph_difference(const struct ggml_tensor * t, int64_t n, const char * bytes, const char * expected);

// A line for each node: what it is, of what.
void graph_print(const struct graph * g);

#endif
