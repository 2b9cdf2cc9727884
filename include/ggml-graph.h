// SPDX-License-Identifier: MIT
//
// Looking into graphs and cutting them up, for programs that schedule parts of a
// graph themselves. Not part of ggml.
//
// A graph has leafs (inputs, weights, constants) and nodes (what is computed), each in
// order. Graphs and tensors are lent; nothing here allocates but ggml_graph_segment(), which
// takes memory from the context given.
//
// Errors: as in ggml-ext.h: a refused call returns NULL, 0, false or a status, changes nothing, and leaves
// its reason in ggml_ext_last_error().
// Threads: a graph is changed by one thread at a time, and may be read by several while nobody changes it.
#pragma once

#include "ggml.h"
#include "ggml-backend.h"

// clang-format off: declarations are aligned by hand

#ifdef __cplusplus
extern "C" {
#endif

// -----------------------------------------------------------------------------------------------------------
// Nodes and leafs
// -----------------------------------------------------------------------------------------------------------

// The counterparts of ggml_graph_n_nodes() and ggml_graph_node() for graphs that are const, and the same for
// leafs. An index out of range gives NULL; negative ones do not count from the end.
GGML_API int                  ggml_graph_node_count(const struct ggml_cgraph * graph);
GGML_API struct ggml_tensor * ggml_graph_node_at   (const struct ggml_cgraph * graph, int i);
GGML_API int                  ggml_graph_n_leafs   (const struct ggml_cgraph * graph);
GGML_API struct ggml_tensor * ggml_graph_leaf      (const struct ggml_cgraph * graph, int i);

// Appends a leaf. False when it is in the graph already, or the graph is full.
GGML_API bool ggml_graph_add_leaf(struct ggml_cgraph * graph, struct ggml_tensor * leaf);

// How many source slots of the graph's nodes name `tensor`, as recorded when the graph was built: 2 for the
// source of mul(a, a); 0 for a tensor that is not in the graph.
GGML_API int ggml_graph_use_count(const struct ggml_cgraph * graph, const struct ggml_tensor * tensor);

// -----------------------------------------------------------------------------------------------------------
// Copies and parts
// -----------------------------------------------------------------------------------------------------------

// Fills the empty graph `dst` with the images of all nodes and leafs of `src`, in order, use counts included.
// map(tensor, user_data) names the image, which the caller made; NULL means there is none.
// False, with `dst` as it was, when `dst` is not empty or too small, when an image is missing,
// or when two tensors have the same one.
GGML_API bool ggml_graph_copy_mapped(
    const struct ggml_cgraph * src, struct ggml_cgraph * dst,
    struct ggml_tensor * (*map)(struct ggml_tensor * tensor, void * user_data), void * user_data);

// Records in `segment`, whose tensors are all in `src`, the use counts of `src`: so that a part of a graph
// knows of users outside of it. False if a tensor is missing in `src`.
GGML_API bool ggml_graph_copy_use_counts(const struct ggml_cgraph * src, struct ggml_cgraph * segment);

// A view, in `ctx`, of nodes first .. end - 1 with the use counts of the whole graph. It must not outlive
// `graph`. NULL for a bad range or when `ctx` is full.
GGML_API struct ggml_cgraph * ggml_graph_segment(struct ggml_context * ctx, const struct ggml_cgraph * graph,
                                                 int first, int end);

// Computes nodes first .. end - 1 of an allocated graph, and waits. Nothing is
// fused with nodes outside the range.
GGML_API enum ggml_status ggml_backend_graph_compute_range(ggml_backend_t backend, struct ggml_cgraph * graph,
                                                           int first, int end);

#ifdef __cplusplus
}
#endif
