// SPDX-License-Identifier: MIT
// Depth-first order of a graph's tensors, use counts, and which nodes are wanted.
//
// The walk needs a stack as deep as the longest chain. It lies in the unused end of the node array and grows
// downwards: what is on it becomes a node itself, so that a graph with room for its nodes has room for the
// stack.
//
//     nodes:  [ finished ... | free ... | parent's parent, parent, top ]
//
// A tensor enters the hash when it is pushed. The next source to visit is the first one that is not in the
// hash yet, so no position has to be kept.
#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "core/context.h"
#include "core/graph.h"

struct walk {
    struct ggml_cgraph * g;
    const char * function; // for refusals
    bool compute;          // set the flag COMPUTE
    bool reflag;           // a tensor that was there before has just become wanted: so have its sources
    int depth;             // of the stack
};

static bool refuse(struct ggml_cgraph * g, const char * function) {
    tn_error_prefix("%s", function);
    TN_LOG_ERROR("%s\n", tn_error_text());
    tn_graph_set_invalid(g);
    return false;
}

static bool refuse_full(const struct walk * w, const char * what) {
    tn_error_set("the graph is full: it has room for %d %s", w->g->size, what);
    return refuse(w->g, w->function);
}

static bool is_leaf(const struct ggml_tensor * t) {
    return t->op == GGML_OP_NONE && !(t->flags & GGML_TENSOR_FLAG_PARAM);
}

// Sets the flag; true if it was not set before.
static bool want(struct ggml_tensor * t) {
    if (t->op == GGML_OP_NONE || t->flags & GGML_TENSOR_FLAG_COMPUTE) return false;
    t->flags |= GGML_TENSOR_FLAG_COMPUTE;
    return true;
}

static void count_uses(struct ggml_cgraph * g, const struct ggml_tensor * t) {
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        const size_t slot = t->src[i] ? tn_graph_find(g, t->src[i]) : TN_GRAPH_ABSENT;
        if (slot != TN_GRAPH_ABSENT && g->use_counts) g->use_counts[slot]++;
    }
}

static bool has_room(const struct walk * w, const struct ggml_tensor * t) {
    const struct ggml_cgraph * g = w->g;
    return is_leaf(t) ? g->n_leafs < g->size : g->n_nodes + w->depth < g->size;
}

static void append(struct ggml_cgraph * g, struct ggml_tensor * t) {
    const bool leaf = is_leaf(t);
    const int index = leaf ? g->n_leafs++ : g->n_nodes++;
    if (!t->name[0]) snprintf(t->name, sizeof(t->name), "%s_%d", leaf ? "leaf" : "node", index);
    if (leaf) {
        g->leafs[index] = t;
    } else {
        g->nodes[index] = t;
        count_uses(g, t);
    }
}

// Refused before: a leaf that says why, in a graph that is not to be used.
static bool append_poisoned(const struct walk * w, struct ggml_tensor * t) {
    struct ggml_cgraph * g = w->g;
    if (g->n_leafs < g->size) g->leafs[g->n_leafs++] = t;
    tn_graph_set_invalid(g);
    return tn_refuse("%s: %s", w->function, tn_context_poison_text(t));
}

// A tensor that the walk meets: nothing to do if it is known, a leaf is finished, a node goes onto the stack.
static bool visit(struct walk * w, struct ggml_tensor * t) {
    struct ggml_cgraph * g = w->g;
    if (tn_tensor_is_poisoned(t)) return append_poisoned(w, t);
    if (!has_room(w, t) && tn_graph_find(g, t) == TN_GRAPH_ABSENT)
        return refuse_full(w, is_leaf(t) ? "leafs" : "nodes");
    bool is_new;
    if (tn_graph_insert(g, t, &is_new) == TN_GRAPH_ABSENT) return refuse_full(w, "nodes in its hash");
    if (w->compute && want(t) && !is_new) w->reflag = true;
    if (!is_new) return true;
    if (is_leaf(t)) {
        append(g, t);
    } else {
        g->nodes[g->size - ++w->depth] = t;
    }
    return true;
}

static struct ggml_tensor * next_source(struct walk * w, const struct ggml_tensor * t) {
    const bool backwards = w->g->order == GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT;
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        struct ggml_tensor * s = t->src[backwards ? GGML_MAX_SRC - 1 - i : i];
        if (!s) continue;
        if (tn_graph_find(w->g, s) == TN_GRAPH_ABSENT) return s;
        if (w->compute && want(s)) w->reflag = true;
    }
    return NULL;
}

// What becomes wanted although it was there before wants its sources; nodes come behind their sources.
static void flag_sources(struct ggml_cgraph * g) {
    for (int n = g->n_nodes - 1; n >= 0; n--) {
        if (!(g->nodes[n]->flags & GGML_TENSOR_FLAG_COMPUTE)) continue;
        for (int i = 0; i < GGML_MAX_SRC; i++) {
            if (g->nodes[n]->src[i]) want(g->nodes[n]->src[i]);
        }
    }
}

static bool can_add(const struct walk * w, const struct ggml_tensor * t) {
    if (!tn_graph_usable(w->g)) {
        tn_error_prefix("%s", w->function);
        return false;
    }
    if (t) return true;
    tn_error_set("the tensor is NULL");
    return refuse(w->g, w->function);
}

static bool expand(struct walk * w, struct ggml_tensor * t) {
    struct ggml_cgraph * g = w->g;
    if (!can_add(w, t) || !visit(w, t)) return false;
    while (w->depth > 0) {
        struct ggml_tensor * top = g->nodes[g->size - w->depth];
        struct ggml_tensor * source = next_source(w, top);
        if (source) {
            if (!visit(w, source)) return false;
            continue;
        }
        w->depth--;
        append(g, top);
    }
    if (w->reflag) flag_sources(g);
    g->uid = 0; // no longer the graph that a back end may have captured
    return true;
}

void ggml_build_forward_expand(struct ggml_cgraph * g, struct ggml_tensor * t) {
    struct walk w = { .g = g, .function = __func__, .compute = true };
    expand(&w, t);
}

void ggml_build_forward_order(struct ggml_cgraph * g, struct ggml_tensor * t) {
    struct walk w = { .g = g, .function = __func__ };
    expand(&w, t);
}

struct ggml_tensor * ggml_build_forward_select(struct ggml_cgraph * g, struct ggml_tensor ** tensors, int n,
                                               int idx) {
    if (!tensors || idx < 0 || idx >= n || !tensors[idx]) {
        tn_error_set("%s: index %d of %d tensors", __func__, idx, tensors ? n : 0);
        if (g) tn_graph_set_invalid(g);
        return tn_context_poison(NULL);
    }
    for (int i = 0; i < n; i++) {
        struct walk w = { .g = g, .function = __func__ };
        expand(&w, tensors[i]);
    }
    struct walk w = { .g = g, .function = __func__, .compute = true };
    expand(&w, tensors[idx]);
    return tensors[idx];
}

void ggml_graph_add_node(struct ggml_cgraph * g, struct ggml_tensor * t) {
    const struct walk w = { .g = g, .function = __func__ };
    if (!can_add(&w, t)) return;
    if (tn_tensor_is_poisoned(t)) {
        append_poisoned(&w, t);
    } else if (g->n_nodes >= g->size) {
        refuse_full(&w, "nodes");
    } else {
        g->nodes[g->n_nodes++] = t;
        g->uid = 0;
    }
}
