// SPDX-License-Identifier: MIT
// Verifies a graph: every node has its sources, its operator's rule gives exactly its type and sizes, views
// end inside their base, and what a node reads is computed before it. For debug builds and tests.
#include <string.h>

#include "base/error.h"
#include "core/context.h"
#include "core/graph.h"
#include "core/op.h"
#include "core/shape.h"

static bool check_sources(const struct tn_op * op, const struct ggml_tensor * node) {
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        const struct ggml_tensor * s = node->src[i];
        if (!s && i < op->n_src) return tn_refuse("source %d is missing", i);
        if (s && tn_tensor_is_poisoned(s))
            return tn_refuse("source %d was refused: %s", i, tn_context_poison_text(s));
    }
    return true;
}

// Running the rule once more must change nothing.
static bool check_rule(const struct tn_op * op, const struct ggml_tensor * node) {
    struct ggml_tensor again = *node;
    char text[TN_SHAPE_TENSOR_TEXT];
    if (!op->rule) return true;
    if (!op->rule(&again)) return false;
    if (again.type == node->type && tn_shape_same(&again, node)) return true;
    return tn_refuse("the operator's rule gives %s", tn_shape_tensor_text(text, &again));
}

static bool check_memory(const struct ggml_tensor * node) {
    size_t bytes, end;
    if (!tn_shape_extent(node->type, node->ne, node->nb, &bytes)) return false;
    if (!node->view_src || bytes == 0) return true;
    if (node->view_src->view_src) return tn_refuse("it is a view of a view");
    if (tn_size_add(node->view_offs, bytes, &end) && end <= ggml_nbytes(node->view_src)) return true;
    return tn_refuse("the view ends beyond its base: %zu bytes at offset %zu of %zu", bytes, node->view_offs,
                     ggml_nbytes(node->view_src));
}

static bool check_node(const struct ggml_tensor * node) {
    const struct tn_op * op = tn_op_get(node->op);
    if (tn_tensor_is_poisoned(node)) return tn_refuse("it was refused: %s", tn_context_poison_text(node));
    if (node->op != GGML_OP_NONE && !op) return tn_refuse("operator %d is unknown", (int) node->op);
    if (op && (!check_sources(op, node) || !check_rule(op, node))) return false;
    return check_memory(node);
}

// Nodes at and behind i must not be sources of node i. Positions are kept by slot of the hash.
static bool check_order(const struct ggml_cgraph * g, const struct tn_ptrset * done, int i) {
    const struct ggml_tensor * node = g->nodes[i];
    for (int s = 0; s < GGML_MAX_SRC; s++) {
        // A cast is its own source: it says what the result is.
        const bool reads = node->src[s] && node->src[s] != node;
        const int64_t * at = reads ? tn_ptrset_find(done, node->src[s]) : NULL;
        if (at && *at >= i) return tn_refuse("source %d is computed later, as node %d", s, (int) *at);
    }
    return true;
}

static bool note_positions(const struct ggml_cgraph * g, struct tn_ptrset * set) {
    for (int i = 0; i < g->n_nodes; i++) {
        bool is_new;
        int64_t * at = tn_ptrset_put(set, g->nodes[i], &is_new);
        if (!at) return false;
        if (!is_new) return tn_refuse("nodes %d and %d are the same tensor", (int) *at, i);
        *at = i;
    }
    return true;
}

bool tn_graph_check(const struct ggml_cgraph * g) {
    struct tn_ptrset set = { 0 };
    char text[TN_SHAPE_TENSOR_TEXT];
    if (!tn_graph_usable(g)) return false;
    bool ok = note_positions(g, &set);
    for (int i = 0; ok && i < g->n_nodes; i++) {
        const struct ggml_tensor * node = g->nodes[i];
        ok = check_node(node) && check_order(g, &set, i);
        if (!ok) tn_error_prefix("node %d, %s %s", i, ggml_op_desc(node), tn_shape_tensor_text(text, node));
    }
    tn_ptrset_free(&set);
    return ok;
}
