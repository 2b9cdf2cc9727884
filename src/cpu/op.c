// SPDX-License-Identifier: MIT
// The table of operators, and what is asked of every node before its own descriptor is.
#include "cpu/op.h"

#include "base/error.h"
#include "core/context.h"
#include "core/op.h"
#include "core/shape.h"

#define TN_ROW(id, module) extern const struct tn_cpu_op tn_cpu_op_##module;
#include "cpu/ops.def"
#undef TN_ROW

static const struct tn_cpu_op * const rows[GGML_OP_COUNT] = {
#define TN_ROW(id, module) [GGML_OP_##id] = &tn_cpu_op_##module,
#include "cpu/ops.def"
#undef TN_ROW
};

const struct tn_cpu_op * tn_cpu_op_get(enum ggml_op op) {
    return (unsigned) op < GGML_OP_COUNT ? rows[op] : NULL;
}

// Shapes that a builder would have refused are refused here as well: nodes can be made by hand.
static bool follows_rule(const struct ggml_tensor * node) {
    const struct tn_op * op = tn_op_get(node->op);
    if (!op) return tn_refuse("there is no operator %d", (int) node->op);
    for (int i = 0; i < op->n_src; i++) {
        if (!node->src[i]) return tn_refuse("source %d is missing", i);
    }
    struct ggml_tensor copy = *node;
    if (op->rule && !op->rule(&copy)) return false;
    if (copy.type != node->type || !tn_shape_same(&copy, node)) {
        char is[TN_SHAPE_TENSOR_TEXT], should[TN_SHAPE_TENSOR_TEXT];
        return tn_refuse("the result %s should be %s", tn_shape_tensor_text(is, node),
                         tn_shape_tensor_text(should, &copy));
    }
    return true;
}

// Bytes that strides are multiples of: an element, of blocks what their parts may need.
static size_t unit_of(enum ggml_type type) {
    const size_t size = ggml_type_size(type), lowest_bit = size & (~size + 1);
    return ggml_blck_size(type) == 1 ? size : lowest_bit < 4 ? lowest_bit : 4;
}

// What operators rely on: elements lie at multiples of their size, so that they can be read as what they are,
// and there are no more than an address space has bytes, so that scratch memory and costs do not overflow.
static bool can_be_walked(const struct ggml_tensor * t) {
    const int64_t most = (int64_t) 1 << 47;
    int64_t count;
    if (!tn_shape_count(t->ne, &count)) return false;
    if (count > most) return tn_refuse("'%s' has more elements than an address space has bytes", t->name);
    if (t->ne[0] % ggml_blck_size(t->type) != 0)
        return tn_refuse("rows of '%s' are no whole blocks of %s", t->name, ggml_type_name(t->type));
    const size_t unit = unit_of(t->type);
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (t->nb[i] % unit == 0) continue;
        return tn_refuse("the stride of %zu bytes in '%s' of %s is no multiple of %zu", t->nb[i], t->name,
                         ggml_type_name(t->type), unit);
    }
    return true;
}

static bool all_can_be_walked(const struct ggml_tensor * node) {
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (node->src[i] && !can_be_walked(node->src[i])) return false;
    }
    return can_be_walked(node);
}

// Threads write parts of the result each: no two elements may share memory. Dimension by dimension, the
// smallest stride first, each must step over what those before it take.
static bool is_apart(const struct ggml_tensor * node) {
    if (tn_shape_empty(node)) return true;
    bool done[GGML_MAX_DIMS] = { false };
    size_t extent = ggml_type_size(node->type);
    for (int k = 0; k < GGML_MAX_DIMS; k++) {
        int next = -1;
        for (int i = 0; i < GGML_MAX_DIMS; i++) {
            if (!done[i] && (next < 0 || node->nb[i] < node->nb[next])) next = i;
        }
        done[next] = true;
        const int64_t n = next == 0 ? node->ne[0] / ggml_blck_size(node->type) : node->ne[next];
        if (n == 1) continue;
        if (node->nb[next] < extent) return tn_refuse("elements of the result share memory");
        extent = node->nb[next] * (size_t) n;
    }
    return true;
}

static bool supports(const struct ggml_tensor * node) {
    if (tn_tensor_is_poisoned(node)) return tn_refuse("the node was refused by its builder");
    if (tn_op_is_view(node->op)) return true;
    const struct tn_cpu_op * op = tn_cpu_op_get(node->op);
    if (!op) return tn_refuse("operator %s is not in this release's CPU back end", ggml_op_desc(node));
    return follows_rule(node) && all_can_be_walked(node) && is_apart(node) && op->supports(node);
}

bool tn_cpu_op_supports(const struct ggml_tensor * node) {
    if (supports(node)) return true;
    tn_error_prefix("CPU, %s '%s'", ggml_op_desc(node), node->name);
    return false;
}
