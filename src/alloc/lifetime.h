// SPDX-License-Identifier: MIT
// A graph reduced to what placing its tensors depends on, and from that the intervals in which memory is
// needed. No tensor is changed and no memory of tensors touched.
#ifndef TN_ALLOC_LIFETIME_H
#define TN_ALLOC_LIFETIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc/place.h"
#include "base/array.h"
#include "base/ptrset.h"
#include "ggml-backend-impl.h"

// Which buffer ids there are: ids of the same buffer type share a pool.
struct tn_lifetime_ids {
    int n_ids;
    const int * pool_of_id;
    const ggml_backend_buffer_type_t * type_of_pool;
};

struct tn_lifetime_request {
    const struct ggml_cgraph * graph;
    const int * node_ids; // by position in the graph; NULL: id 0 everywhere
    const int * leaf_ids;
    struct tn_lifetime_ids ids;
    const struct tn_ptrset * skipped; // tensors that get no memory; NULL: none
};

enum {
    TN_LIFETIME_EXTERNAL = 1 << 0,   // has memory of its own
    TN_LIFETIME_EARLY = 1 << 1,      // leaf or input: needs memory before the first node runs
    TN_LIFETIME_KEPT = 1 << 2,       // never handed on: outputs, and nodes in an order that is none
    TN_LIFETIME_SKIPPED = 1 << 3,    // computed inside a fused step: read there, never written
    TN_LIFETIME_HOLDS_BASE = 1 << 4, // a view that keeps its base alive as long as it is used itself
    TN_LIFETIME_NODE = 1 << 5,
    TN_LIFETIME_DEFINED = 1 << 6, // a node, once the walk over the nodes has come past it
    TN_LIFETIME_INPUT = 1 << 7,   // as the tensor itself says, so that another's can be compared
    TN_LIFETIME_OUTPUT = 1 << 8,
    TN_LIFETIME_ORDERS = 1 << 9, // operator NONE
    TN_LIFETIME_SPOKEN = TN_LIFETIME_INPUT | TN_LIFETIME_OUTPUT | TN_LIFETIME_ORDERS,
};

// One tensor that the graph reaches.
struct tn_lifetime_item {
    size_t size;  // in its pool, aligned; 0: none (empty, or no pool)
    int32_t pool; // -1: external, view or skipped
    int32_t base; // of a view: the item in whose memory it lies, else -1
    uint32_t traits;
};

// A source of a node, without those that name the node itself.
struct tn_lifetime_edge {
    int32_t item;
    int32_t may_take; // the operator may write over it and the layouts are the same: 1, else 0
};

struct tn_lifetime_node {
    int32_t item;
    int32_t first_edge; // up to that of the next node
};

// The description has no addresses in it. Two graphs with the same description have the same intervals.
struct tn_lifetime {
    TN_ARRAY(struct tn_lifetime_item) items; // leafs, nodes and their bases, then other sources
    TN_ARRAY(struct tn_lifetime_node) nodes; // one more than the graph has, to end the last one's edges
    TN_ARRAY(struct tn_lifetime_edge) edges;
    TN_ARRAY(int32_t) leafs; // their items

    TN_ARRAY(struct ggml_tensor *) tensors; // of the items; borrowed, as long as the graph
    struct tn_ptrset index;                 // item of a tensor

    // Time 0 is before the first node, node i runs at time i + 1.
    TN_ARRAY(struct tn_place_interval) intervals;
    TN_ARRAY(int32_t) interval_of; // of each item, -1: none
};

void tn_lifetime_fini(struct tn_lifetime * life);

// Fills the description; what was in it before is replaced, its memory used again. false with a text: a graph
// that was refused, a buffer id that does not exist, a size that a back end does not know, no memory.
bool tn_lifetime_describe(struct tn_lifetime * life, const struct tn_lifetime_request * request);

// Fills the intervals from the description. false with a text: no memory.
bool tn_lifetime_plan(struct tn_lifetime * life);

// Are places made for `plan` right for `other` as well? The same links, flags and in-place chances; no tensor
// larger, none in need of memory that had its own. Smaller ones, and such that got memory of their own
// meanwhile, fit.
bool tn_lifetime_covers(const struct tn_lifetime * plan, const struct tn_lifetime * other);

// Describes a graph along the description of another, without its links: only `items` and `tensors` of `life`
// are filled. true: `plan` covers it. false, without a text: it does not, or that has to be found out with a
// description of its own, because there are tensors to be skipped or views with memory of bases without.
// Marks tensors that need memory meanwhile; they are as they were afterwards.
bool tn_lifetime_follow(struct tn_lifetime * life, const struct tn_lifetime * plan,
                        const struct tn_lifetime_request * request);

#endif
