// SPDX-License-Identifier: MIT
// The backward graph. The nodes present are looked at in order to see which need a gradient: parameters,
// losses and what depends on them. Then each of them, from the last to the first, is asked through its
// operator's descriptor to add its contribution to the gradients of its sources. Gradients are ordinary
// tensors behind the forward nodes.
#include "core/autodiff.h"

#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/context.h"
#include "core/graph.h"
#include "core/op.h"
#include "core/shape.h"
#include "ggml-backend.h"

struct tn_autodiff {
    struct ggml_context * ctx;
    struct ggml_cgraph * g;
    bool * wants; // by slot of the graph's hash, which never moves
    bool refused; // the text is in this thread's error
};

struct ggml_context * tn_autodiff_ctx(struct tn_autodiff * ad) {
    return ad->ctx;
}

struct ggml_tensor * tn_autodiff_of(struct tn_autodiff * ad, const struct ggml_tensor * node) {
    return ggml_graph_get_grad(ad->g, node);
}

bool tn_autodiff_wants(struct tn_autodiff * ad, const struct ggml_tensor * t) {
    const size_t slot = t ? tn_graph_find(ad->g, t) : TN_GRAPH_ABSENT;
    return slot != TN_GRAPH_ABSENT && ad->wants[slot];
}

static bool refuse(struct tn_autodiff * ad) {
    ad->refused = true;
    return false;
}

static bool check_gradient(struct tn_autodiff * ad, const struct ggml_tensor * t,
                           const struct ggml_tensor * grad) {
    char ours[TN_SHAPE_TENSOR_TEXT], given[TN_SHAPE_TEXT];
    if (tn_tensor_is_poisoned(grad)) {
        tn_error_set("%s", tn_context_poison_text(grad));
        return refuse(ad);
    }
    if (tn_shape_same(t, grad)) return true;
    tn_error_set("a gradient of sizes %s for %s", tn_shape_text(given, grad->ne),
                 tn_shape_tensor_text(ours, t));
    return refuse(ad);
}

// From now on the gradient of t is this. An accumulator (no operator) keeps its name: it is the caller's.
static void set_gradient(struct tn_autodiff * ad, struct ggml_tensor * t, struct ggml_tensor * grad) {
    if (ad->refused || !check_gradient(ad, t, grad)) return;
    if (grad->op != GGML_OP_NONE) ggml_format_name(grad, "grad for %s", t->name);
    ad->g->grads[tn_graph_find(ad->g, t)] = grad;
    ggml_build_forward_expand(ad->g, grad);
    if (!tn_graph_usable(ad->g)) refuse(ad);
}

void tn_autodiff_add(struct tn_autodiff * ad, struct ggml_tensor * t, struct ggml_tensor * g) {
    if (!tn_autodiff_wants(ad, t)) return;
    struct ggml_tensor * old = tn_autodiff_of(ad, t);
    if (!old) {
        set_gradient(ad, t, g);
    } else if (ggml_graph_get_grad_acc(ad->g, t)) {
        set_gradient(ad, t, ggml_add_inplace(ad->ctx, old, g));
    } else {
        set_gradient(ad, t, ggml_add(ad->ctx, old, g));
    }
}

void tn_autodiff_sub(struct tn_autodiff * ad, struct ggml_tensor * t, struct ggml_tensor * g) {
    if (!tn_autodiff_wants(ad, t)) return;
    struct ggml_tensor * old = tn_autodiff_of(ad, t);
    if (!old) {
        set_gradient(ad, t, ggml_neg(ad->ctx, g));
    } else if (ggml_graph_get_grad_acc(ad->g, t)) {
        set_gradient(ad, t, ggml_sub_inplace(ad->ctx, old, g));
    } else {
        set_gradient(ad, t, ggml_sub(ad->ctx, old, g));
    }
}

void tn_autodiff_add1(struct tn_autodiff * ad, struct ggml_tensor * t, struct ggml_tensor * g) {
    if (!tn_autodiff_wants(ad, t)) return;
    // A sum repeats its second operand by itself.
    tn_autodiff_add(ad, t, tn_autodiff_of(ad, t) ? g : ggml_repeat(ad->ctx, g, t));
}

// Of the shape of t, in the type and order that sums into views want.
static struct ggml_tensor * zeros(struct ggml_context * ctx, struct ggml_tensor * t) {
    struct ggml_tensor * like = t;
    if (t->type != GGML_TYPE_F32) {
        like = ggml_cast(ctx, t, GGML_TYPE_F32);
    } else if (!ggml_is_contiguous(t)) {
        like = ggml_cont(ctx, t);
    }
    return ggml_fill(ctx, like, 0.0f);
}

void tn_autodiff_acc(struct tn_autodiff * ad, struct ggml_tensor * t, struct ggml_tensor * g,
                     const size_t nb[3], size_t offset) {
    if (!tn_autodiff_wants(ad, t)) return;
    struct ggml_context * ctx = ad->ctx;
    struct ggml_tensor * old = tn_autodiff_of(ad, t);
    if (ggml_graph_get_grad_acc(ad->g, t)) {
        set_gradient(ad, t, ggml_acc_inplace(ctx, old, g, nb[0], nb[1], nb[2], offset));
        return;
    }
    if (!old) old = zeros(ctx, t);
    set_gradient(ad, t, ggml_acc(ctx, old, g, nb[0], nb[1], nb[2], offset));
}

struct ggml_tensor * tn_autodiff_reduce(struct tn_autodiff * ad, struct ggml_tensor * g,
                                        const struct ggml_tensor * t) {
    // The builder takes a plain pointer but only reads the sizes.
    return tn_shape_same(g, t) ? g : ggml_repeat_back(ad->ctx, g, (struct ggml_tensor *) t);
}

// Does a source ask for a gradient? false with a text: one whose type has none.
static bool check_sources(struct tn_autodiff * ad, const struct ggml_tensor * node, bool * any) {
    *any = false;
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        const struct ggml_tensor * s = node->src[i];
        if (s == node || !tn_autodiff_wants(ad, s)) continue;
        if (s->type != GGML_TYPE_F32 && s->type != GGML_TYPE_F16) {
            return tn_refuse("source %d is %s: only f32 and f16 have gradients", i, ggml_type_name(s->type));
        }
        *any = true;
    }
    return true;
}

// An operator other than a view that overwrites its first source destroys what gradients are computed from.
static bool is_in_place(const struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    return a && node->view_src && !tn_op_is_view(node->op) &&
           node->view_src == (a->view_src ? a->view_src : a);
}

// The caller's accumulator, or for a loss one of our own.
static bool set_accumulator(struct tn_autodiff * ad, struct ggml_tensor * node, struct ggml_tensor * acc) {
    const size_t slot = tn_graph_find(ad->g, node);
    if (!acc && node->flags & GGML_TENSOR_FLAG_LOSS) {
        acc = ggml_new_tensor(ad->ctx, GGML_TYPE_F32, GGML_MAX_DIMS, node->ne);
        ggml_format_name(acc, "grad for %s", node->name);
    }
    if (!acc) return true;
    if (node->flags & GGML_TENSOR_FLAG_LOSS && acc->type != GGML_TYPE_F32) {
        return tn_refuse("the accumulator of a loss must be f32, not %s", ggml_type_name(acc->type));
    }
    ad->g->grad_accs[slot] = acc;
    set_gradient(ad, node, acc);
    return !ad->refused;
}

static bool prepare(struct tn_autodiff * ad, struct ggml_tensor * node, struct ggml_tensor * acc) {
    const size_t slot = tn_graph_find(ad->g, node);
    bool depends;
    if (slot == TN_GRAPH_ABSENT || node->type == GGML_TYPE_I32) return true;
    if (!check_sources(ad, node, &depends)) return false;
    if (!depends && !(node->flags & (GGML_TENSOR_FLAG_PARAM | GGML_TENSOR_FLAG_LOSS))) return true;
    if (is_in_place(node)) return tn_refuse("in-place operators have no gradient");
    ad->wants[slot] = true;
    return set_accumulator(ad, node, acc);
}

static bool propagate(struct tn_autodiff * ad, struct ggml_tensor * node) {
    bool any;
    if (!tn_autodiff_wants(ad, node) || !tn_autodiff_of(ad, node)) return true; // no loss depends on it
    if (!check_sources(ad, node, &any)) return false;
    if (!any) return true;
    const struct tn_op * op = tn_op_get(node->op);
    if (!op || !op->backward) return tn_refuse("the operator has no gradient");
    return op->backward(ad, node) && !ad->refused;
}

static bool name_node(const struct ggml_tensor * node) {
    char text[TN_SHAPE_TENSOR_TEXT];
    tn_error_prefix("%s %s", ggml_op_desc(node), tn_shape_tensor_text(text, node));
    return false;
}

static bool has_flag(const struct ggml_cgraph * g, int32_t flag) {
    for (int i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i]->flags & flag) return true;
    }
    return false;
}

static bool check_graph(const struct ggml_context * ctx, const struct ggml_cgraph * g) {
    if (!ctx) return tn_refuse("the context is NULL");
    if (!tn_graph_usable(g)) return false;
    if (!g->grads) return tn_refuse("the graph was made without room for gradients");
    if (!has_flag(g, GGML_TENSOR_FLAG_PARAM)) return tn_refuse("the graph has no parameter (ggml_set_param)");
    if (!has_flag(g, GGML_TENSOR_FLAG_LOSS)) return tn_refuse("the graph has no loss (ggml_set_loss)");
    return true;
}

static bool build(struct tn_autodiff * ad, struct ggml_tensor ** accs) {
    struct ggml_cgraph * g = ad->g;
    const size_t slots = g->visited_hash_set.size;
    const int n = g->n_nodes;
    ad->wants = tn_mem_calloc(slots, sizeof(*ad->wants), TN_MEM_GRAPH);
    if (!ad->wants) return false;
    memset(g->grads, 0, slots * sizeof(*g->grads));
    memset(g->grad_accs, 0, slots * sizeof(*g->grad_accs));
    for (int i = 0; i < n; i++) {
        if (!prepare(ad, g->nodes[i], accs ? accs[i] : NULL)) return name_node(g->nodes[i]);
    }
    for (int i = n - 1; i >= 0; i--) {
        if (!propagate(ad, g->nodes[i])) return name_node(g->nodes[i]);
    }
    return true;
}

void ggml_build_backward_expand(struct ggml_context * ctx, struct ggml_cgraph * g,
                                struct ggml_tensor ** accs) {
    struct tn_autodiff ad = { .ctx = ctx, .g = g };
    const bool done = check_graph(ctx, g) && build(&ad, accs);
    tn_mem_free(ad.wants);
    if (done) return;
    tn_error_prefix("%s", __func__);
    TN_LOG_ERROR("%s\n", tn_error_text());
    if (g) tn_graph_set_invalid(g);
}

// The gradient of a loss with respect to itself; one value of type f32 (set_accumulator).
static void set_one(struct ggml_tensor * acc) {
    const float one = 1.0f;
    if (acc->data && !acc->buffer && !(acc->view_src && acc->view_src->buffer)) {
        memcpy(acc->data, &one, sizeof(one));
    } else {
        ggml_backend_tensor_set(acc, &one, 0, sizeof(one));
    }
}

static void reset_node(const struct ggml_cgraph * g, const struct ggml_tensor * node) {
    const struct tn_op * op = tn_op_get(node->op);
    for (int i = 0; op && i < GGML_MAX_SRC; i++) {
        if (op->state >> i & 1) ggml_set_zero(node->src[i]);
    }
    struct ggml_tensor * acc = ggml_graph_get_grad_acc(g, node);
    if (!acc) return;
    if (node->flags & GGML_TENSOR_FLAG_LOSS) {
        set_one(acc);
    } else {
        ggml_set_zero(acc);
    }
}

void ggml_graph_reset(struct ggml_cgraph * g) {
    if (tn_graph_usable(g) && g->grads) {
        for (int i = 0; i < g->n_nodes; i++)
            reset_node(g, g->nodes[i]);
        return;
    }
    if (tn_graph_usable(g)) tn_error_set("the graph was made without room for gradients");
    tn_error_prefix("%s", __func__);
    TN_LOG_ERROR("%s\n", tn_error_text());
}
