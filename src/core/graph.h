// SPDX-License-Identifier: MIT
// Graphs: arrays of nodes and leafs with a hash of all tensors, in the layout that clients know
// (ggml-impl.h).
#ifndef TN_CORE_GRAPH_H
#define TN_CORE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/ptrset.h"
#include "ggml.h"
#include "ggml/src/ggml-impl.h"

// `order` of a graph to which something could not be added. It travels with copies and views of the struct,
// also with those that clients make by hand.
#define TN_GRAPH_INVALID ((enum ggml_cgraph_eval_order) 0x7ead)

#define TN_GRAPH_ABSENT SIZE_MAX

// Slot of the tensor in the graph's hash, TN_GRAPH_ABSENT if it is not there.
TN_API size_t tn_graph_find(const struct ggml_cgraph * g, const struct ggml_tensor * t);

// The same, added if absent (*is_new tells). TN_GRAPH_ABSENT: the hash is full.
size_t tn_graph_insert(struct ggml_cgraph * g, struct ggml_tensor * t, bool * is_new);

// How many sources of nodes are this tensor; 0 if it is not in the graph.
TN_API int32_t tn_graph_use_count(const struct ggml_cgraph * g, const struct ggml_tensor * t);

// Nodes i0 .. i1-1: no leafs, no gradients, shares everything else.
TN_API struct ggml_cgraph tn_graph_view(struct ggml_cgraph * g, int i0, int i1);

void tn_graph_set_invalid(struct ggml_cgraph * g);

// Can it be allocated and computed? false with a text: the first refusal of a poisoned tensor in it, or that
// it was too small. For every entry point that takes a graph.
TN_API bool tn_graph_usable(const struct ggml_cgraph * g);

// The first poisoned tensor of an invalid graph, NULL if it is invalid for another reason.
struct ggml_tensor * tn_graph_poisoned(const struct ggml_cgraph * g);

// Every node against its operator's rule (graph_check.c). false with a text that names the node.
TN_API bool tn_graph_check(const struct ggml_cgraph * g);

#endif
