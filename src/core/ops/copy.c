// SPDX-License-Identifier: MIT
// dup cpy cast cont set: copies and conversions.
#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/context.h"
#include "core/op.h"
#include "core/region.h"
#include "core/rule.h"

// --- dup

// The builder gives the type of a; a node made by hand may ask for another one.
static bool dup_rule(struct ggml_tensor * node) {
    tn_shape_copy(node->ne, node->src[0]->ne);
    return true;
}

struct ggml_tensor * ggml_dup(struct ggml_context * ctx, struct ggml_tensor * a) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_DUP, 1, a);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_dup_inplace(struct ggml_context * ctx, struct ggml_tensor * a) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_DUP, 1, a);
    tn_build_in_place(&b, a);
    return tn_build_finish(&b);
}

static bool dup_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    tn_autodiff_add(ad, node->src[0], tn_autodiff_of(ad, node));
    return true;
}

// --- cpy and cast: src[1] says what the result is; for a cast it is the result itself

static bool cpy_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 1);
    return tn_rule_same_count(node, 0);
}

struct ggml_tensor * ggml_cpy(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_CPY, 2, a, b);
    tn_build_in_place(&n, b);
    if (n.refused) return tn_build_finish(&n);
    if (b->name[0]) {
        tn_build_name(&n, "%s (copy of %s)", b->name, a->name);
    } else {
        tn_build_name(&n, "%s (copy)", a->name);
    }
    return tn_build_finish(&n);
}

struct ggml_tensor * ggml_cast(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_type type) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_CPY, 1, a);
    n.node.type = type;
    if (!n.refused) tn_build_name(&n, "%s (copy)", a->name);
    const struct ggml_tensor result = n.node;
    n.node.src[1] = (struct ggml_tensor *) &result; // stands in until the result has an address
    struct ggml_tensor * t = tn_build_finish(&n);
    if (!tn_tensor_is_poisoned(t)) t->src[1] = t;
    return t;
}

// The elements in the order of the node's source: the gradient of a copy.
static bool copy_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    if (!ggml_is_contiguous(g)) g = ggml_cont(ctx, g);
    if (!tn_shape_same(g, node->src[0])) g = ggml_reshape(ctx, g, node->src[0]);
    tn_autodiff_add(ad, node->src[0], g);
    return true;
}

// --- cont

static bool cont_rule(struct ggml_tensor * node) {
    node->type = node->src[0]->type;
    return tn_rule_same_count(node, 0);
}

// ne NULL: the sizes of a.
static struct ggml_tensor * cont(struct ggml_context * ctx, const char * function, struct ggml_tensor * a,
                                 const int64_t * ne) {
    struct tn_build b = tn_build_start(ctx, function, GGML_OP_CONT, 1, a);
    if (ne) tn_shape_copy(b.node.ne, ne);
    if (!b.refused) tn_build_name(&b, "%s (cont)", a->name);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_cont(struct ggml_context * ctx, struct ggml_tensor * a) {
    return cont(ctx, __func__, a, NULL);
}

struct ggml_tensor * ggml_cont_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0) {
    return cont(ctx, __func__, a, (const int64_t[4]){ ne0, 1, 1, 1 });
}

struct ggml_tensor * ggml_cont_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                  int64_t ne1) {
    return cont(ctx, __func__, a, (const int64_t[4]){ ne0, ne1, 1, 1 });
}

struct ggml_tensor * ggml_cont_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                  int64_t ne2) {
    return cont(ctx, __func__, a, (const int64_t[4]){ ne0, ne1, ne2, 1 });
}

struct ggml_tensor * ggml_cont_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                  int64_t ne2, int64_t ne3) {
    return cont(ctx, __func__, a, (const int64_t[4]){ ne0, ne1, ne2, ne3 });
}

// --- set: a region of a is replaced by b

static bool set_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    if (tn_param_i32(node, 3) >= 1 << 30)
        return tn_refuse("the offset of %d bytes must be below 2^30", tn_param_i32(node, 3));
    return tn_region_rule(node);
}

static struct ggml_tensor * set(struct tn_build * n, const struct tn_region * r, bool in_place) {
    tn_region_write(n, r, in_place);
    return tn_build_finish(n);
}

struct ggml_tensor * ggml_set(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                              size_t nb1, size_t nb2, size_t nb3, size_t offset) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_SET, 2, a, b);
    return set(&n, &(struct tn_region){ { nb1, nb2, nb3 }, offset }, false);
}

struct ggml_tensor * ggml_set_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * b, size_t nb1, size_t nb2, size_t nb3,
                                      size_t offset) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_SET, 2, a, b);
    return set(&n, &(struct tn_region){ { nb1, nb2, nb3 }, offset }, true);
}

// The strides of a, the first of them replaced unless nb1 is NULL.
static struct tn_region region_like(const struct tn_build * n, const size_t * nb1, size_t offset) {
    struct tn_region r = { .offset = offset };
    if (n->refused) return r;
    memcpy(r.nb, n->node.src[0]->nb + 1, sizeof(r.nb));
    if (nb1) r.nb[0] = *nb1;
    return r;
}

struct ggml_tensor * ggml_set_1d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                 size_t offset) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_SET, 2, a, b);
    const struct tn_region r = region_like(&n, NULL, offset);
    return set(&n, &r, false);
}

struct ggml_tensor * ggml_set_1d_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                         struct ggml_tensor * b, size_t offset) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_SET, 2, a, b);
    const struct tn_region r = region_like(&n, NULL, offset);
    return set(&n, &r, true);
}

struct ggml_tensor * ggml_set_2d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                 size_t nb1, size_t offset) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_SET, 2, a, b);
    const struct tn_region r = region_like(&n, &nb1, offset);
    return set(&n, &r, false);
}

struct ggml_tensor * ggml_set_2d_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                         struct ggml_tensor * b, size_t nb1, size_t offset) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_SET, 2, a, b);
    const struct tn_region r = region_like(&n, &nb1, offset);
    return set(&n, &r, true);
}

// a: g but for the region, which does not depend on it; b: the region of g.
static bool set_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    if (!ggml_is_contiguous(g)) g = ggml_cont(ctx, g);
    struct ggml_tensor * region = ggml_cont(ctx, tn_region_of(ctx, node, g));
    if (tn_autodiff_wants(ad, node->src[0])) {
        const int32_t * p = node->op_params;
        tn_autodiff_add(ad, node->src[0],
                        ggml_acc(ctx, g, ggml_neg(ctx, region), (size_t) p[0], (size_t) p[1], (size_t) p[2],
                                 (size_t) p[3]));
    }
    tn_autodiff_add(ad, node->src[1], region);
    return true;
}

const struct tn_op tn_op_dup = { .rule = dup_rule, .backward = dup_backward, .n_src = 1 };
const struct tn_op tn_op_cpy = { .rule = cpy_rule, .backward = copy_backward, .n_src = 2 };
const struct tn_op tn_op_cont = { .rule = cont_rule, .backward = copy_backward, .n_src = 1 };
const struct tn_op tn_op_set = { .rule = set_rule, .backward = set_backward, .n_src = 2 };
