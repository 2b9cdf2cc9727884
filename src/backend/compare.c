// SPDX-License-Identifier: MIT
// The same graph on two back ends: copies of graphs, and their comparison node by node.
//
// A copy has a tensor for each one that the nodes reach through sources and bases. They are made in an order
// in which bases and sources come first, so that one pass links them. Each tensor that is no view gets memory
// of its own: what overlapped in the allocated original no longer does.
#include <string.h>

#include "backend/iface.h"
#include "backend/transfer.h"
#include "base/array.h"
#include "base/error.h"
#include "base/ptrset.h"
#include "core/context.h"
#include "core/graph.h"
#include "core/op.h"

static const char function_copy[] = "ggml_backend_graph_copy";
static const char function_compare[] = "ggml_backend_compare_graph_backend";

// A tensor whose base and sources are being collected; child 0 is the base.
struct visit {
    struct ggml_tensor * tensor;
    int next_child;
};

struct copier {
    ggml_backend_t backend;
    const struct ggml_cgraph * graph;
    TN_ARRAY(struct visit) stack;
    TN_ARRAY(struct ggml_tensor *) order; // bases and sources first
    TN_ARRAY(struct ggml_tensor *) made;  // the copies, in the same order
    struct tn_ptrset place;               // tensor -> place in both
    struct ggml_backend_graph_copy copy;
};

// ---- which tensors --------------------------------------------------------------------------------------

static bool has_memory(const struct ggml_tensor * t) {
    const bool settled = tn_iface_buffer_of(t) && (t->data || ggml_nbytes(t) == 0);
    return settled || tn_refuse("'%s' is in no buffer: the graph was not allocated", t->name);
}

static bool enter(struct copier * c, struct ggml_tensor * t) {
    bool is_new;
    if (!tn_iface_check_tensor(function_copy, t) || !has_memory(t)) return false;
    if (!tn_ptrset_put(&c->place, t, &is_new)) return false;
    if (!is_new) return true;
    if (!TN_ARRAY_RESERVE(&c->stack, 1, TN_MEM_GRAPH)) return false;
    c->stack.items[c->stack.count++] = (struct visit){ t, 0 };
    return true;
}

// The next base or source; NULL after the last.
static struct ggml_tensor * next_child(struct visit * v) {
    while (v->next_child <= GGML_MAX_SRC) {
        const int i = v->next_child++;
        struct ggml_tensor * t = i == 0 ? v->tensor->view_src : v->tensor->src[i - 1];
        if (t) return t;
    }
    return NULL;
}

static bool leave(struct copier * c) {
    if (!TN_ARRAY_RESERVE(&c->order, 1, TN_MEM_GRAPH)) return false;
    struct ggml_tensor * done = c->stack.items[--c->stack.count].tensor;
    *tn_ptrset_find(&c->place, done) = (int64_t) c->order.count;
    c->order.items[c->order.count++] = done;
    return true;
}

static bool collect(struct copier * c) {
    for (int i = 0; i < c->graph->n_nodes; i++) {
        if (!enter(c, c->graph->nodes[i])) return false;
        while (c->stack.count > 0) {
            struct ggml_tensor * next = next_child(&c->stack.items[c->stack.count - 1]);
            if (!(next ? enter(c, next) : leave(c))) return false;
        }
    }
    return true;
}

// ---- the copies -----------------------------------------------------------------------------------------

static struct ggml_tensor * copy_of(const struct copier * c, const struct ggml_tensor * t) {
    return t ? c->made.items[*tn_ptrset_find(&c->place, t)] : NULL;
}

static bool make_contexts(struct copier * c) {
    size_t n_views = 0;
    for (size_t i = 0; i < c->order.count; i++)
        n_views += c->order.items[i]->view_src != NULL;
    const size_t one = ggml_tensor_overhead(), n_nodes = (size_t) c->graph->n_nodes;
    const struct ggml_init_params with_memory = {
        .mem_size = (c->order.count - n_views + 1) * one,
        .no_alloc = true,
    };
    const struct ggml_init_params views = {
        .mem_size = (n_views + 1) * one + ggml_graph_overhead_custom(n_nodes, false),
        .no_alloc = true,
    };
    c->copy.ctx_allocated = ggml_init(with_memory);
    c->copy.ctx_unallocated = ggml_init(views);
    return c->copy.ctx_allocated && c->copy.ctx_unallocated &&
           TN_ARRAY_RESERVE(&c->made, c->order.count, TN_MEM_GRAPH);
}

// All but the memory; `extra` belongs to the original's buffer.
static bool make_tensor(struct copier * c, const struct ggml_tensor * t) {
    struct ggml_context * ctx = t->view_src ? c->copy.ctx_unallocated : c->copy.ctx_allocated;
    struct ggml_tensor * made = ggml_new_tensor(ctx, t->type, GGML_MAX_DIMS, t->ne);
    c->made.items[c->made.count++] = made;
    if (tn_tensor_is_poisoned(made)) return tn_refuse("%s", tn_context_poison_text(made));
    memcpy(made->nb, t->nb, sizeof(t->nb));
    memcpy(made->op_params, t->op_params, sizeof(t->op_params));
    memcpy(made->name, t->name, sizeof(t->name));
    made->op = t->op;
    made->flags = t->flags;
    for (int i = 0; i < GGML_MAX_SRC; i++)
        made->src[i] = copy_of(c, t->src[i]);
    made->view_src = copy_of(c, t->view_src);
    made->view_offs = t->view_offs;
    return true;
}

static bool make_tensors(struct copier * c) {
    for (size_t i = 0; i < c->order.count; i++) {
        if (!make_tensor(c, c->order.items[i])) return false;
    }
    return true;
}

// Where nothing has bytes there is nothing to allocate, but a buffer without memory stands for it.
static bool make_empty_buffer(struct copier * c) {
    struct ggml_context * ctx = c->copy.ctx_allocated;
    c->copy.buffer = ggml_backend_alloc_buffer(c->backend, 0);
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t))
        t->buffer = c->copy.buffer;
    return c->copy.buffer;
}

static bool make_memory(struct copier * c) {
    ggml_backend_buffer_type_t type = ggml_backend_get_default_buffer_type(c->backend);
    const size_t size = ggml_backend_alloc_ctx_tensors_from_buft_size(c->copy.ctx_allocated, type);
    if (size == 0) return make_empty_buffer(c);
    c->copy.buffer = ggml_backend_alloc_ctx_tensors_from_buft(c->copy.ctx_allocated, type);
    return c->copy.buffer;
}

static bool fill_tensors(struct copier * c) {
    for (size_t i = 0; i < c->order.count; i++) {
        struct ggml_tensor * made = c->made.items[i];
        if (made->view_src) {
            if (ggml_backend_view_init(made) != GGML_STATUS_SUCCESS) return false;
        } else if (!tn_transfer_copy(function_copy, c->order.items[i], made)) {
            return false;
        }
    }
    return true;
}

static bool make_graph(struct copier * c) {
    c->copy.graph = ggml_new_graph_custom(c->copy.ctx_unallocated, (size_t) c->graph->n_nodes, false);
    if (!tn_graph_usable(c->copy.graph)) return false;
    for (int i = 0; i < c->graph->n_nodes; i++)
        c->copy.graph->nodes[i] = copy_of(c, c->graph->nodes[i]);
    c->copy.graph->n_nodes = c->graph->n_nodes;
    return true;
}

static bool make_copy(struct copier * c) {
    if (!c->backend) return tn_refuse("the back end is NULL");
    return tn_graph_usable(c->graph) && collect(c) && make_contexts(c) && make_tensors(c) && make_memory(c) &&
           fill_tensors(c) && make_graph(c);
}

struct ggml_backend_graph_copy ggml_backend_graph_copy(ggml_backend_t backend, struct ggml_cgraph * graph) {
    struct copier c = { .backend = backend, .graph = graph };
    if (!make_copy(&c)) {
        tn_iface_refuse(function_copy, "%s", tn_error_text());
        ggml_backend_graph_copy_free(c.copy);
        c.copy = (struct ggml_backend_graph_copy){ 0 };
    }
    tn_ptrset_free(&c.place);
    TN_ARRAY_FREE(&c.made);
    TN_ARRAY_FREE(&c.order);
    TN_ARRAY_FREE(&c.stack);
    return c.copy;
}

void ggml_backend_graph_copy_free(struct ggml_backend_graph_copy copy) {
    ggml_backend_buffer_free(copy.buffer);
    ggml_free(copy.ctx_allocated);
    ggml_free(copy.ctx_unallocated);
}

// ---- comparison -----------------------------------------------------------------------------------------

struct comparison {
    ggml_backend_t backends[2];
    struct ggml_cgraph * graphs[2];
    ggml_backend_eval_callback callback;
    void * user_data;
};

static bool show(const struct comparison * c, int i) {
    return c->callback(i, c->graphs[0]->nodes[i], c->graphs[1]->nodes[i], c->user_data);
}

static void compare_nodes(const struct comparison * c) {
    for (int i = 0; i < c->graphs[0]->n_nodes; i++) {
        for (int side = 0; side < 2; side++) {
            struct ggml_cgraph node = tn_graph_view(c->graphs[side], i, i + 1);
            ggml_backend_graph_compute(c->backends[side], &node);
        }
        if (!tn_op_is_view(c->graphs[0]->nodes[i]->op) && !show(c, i)) return;
    }
}

static bool is_among(const struct ggml_tensor * t, const struct ggml_tensor * const * list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (list[i] == t) return true;
    }
    return false;
}

static bool compare_whole(const struct comparison * c, const struct ggml_tensor * const * list, size_t n) {
    int n_shown = 0;
    for (int side = 0; side < 2; side++)
        ggml_backend_graph_compute(c->backends[side], c->graphs[side]);
    for (int i = 0; i < c->graphs[0]->n_nodes; i++) {
        if (!is_among(c->graphs[0]->nodes[i], list, n)) continue;
        show(c, i);
        n_shown++;
    }
    return n_shown > 0 || tn_iface_refuse(function_compare, "none of the %zu test nodes is in the graph", n);
}

bool ggml_backend_compare_graph_backend(ggml_backend_t backend1, ggml_backend_t backend2,
                                        struct ggml_cgraph * graph, ggml_backend_eval_callback callback,
                                        void * user_data, const struct ggml_tensor * const * test_nodes,
                                        size_t num_test_nodes) {
    if (!backend1) return tn_iface_refuse(__func__, "the first back end is NULL");
    if (!callback) return tn_iface_refuse(__func__, "the callback is NULL");
    if (num_test_nodes > 0 && !test_nodes) return tn_iface_refuse(__func__, "the list of test nodes is NULL");
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(backend2, graph);
    if (!copy.graph) return false;
    const struct comparison c = { { backend1, backend2 }, { graph, copy.graph }, callback, user_data };
    bool done = true;
    if (num_test_nodes == 0) {
        compare_nodes(&c);
    } else {
        done = compare_whole(&c, test_nodes, num_test_nodes);
    }
    ggml_backend_graph_copy_free(copy);
    return done;
}
