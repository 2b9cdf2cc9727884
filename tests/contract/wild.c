// SPDX-License-Identifier: MIT
// Nodes that may be wrong.
#include "contract/wild.h"

static enum ggml_type any_type(struct draw * d) {
    for (;;) {
        const enum ggml_type type = (enum ggml_type) draw_below(d, GGML_TYPE_COUNT);
        if (ggml_blck_size(type) > 0) return type;
    }
}

void wild_types(struct draw * d, int n_src) {
    if (draw_chance(d, 2)) return;
    const int which = (int) draw_below(d, n_src + 1);
    *(which < n_src ? &d->types[which] : &d->result) = any_type(d);
}

static struct ggml_tensor * any_source(struct draw * d, struct ggml_tensor * node) {
    struct ggml_tensor * sources[GGML_MAX_SRC];
    int n = 0;
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (node->src[i] && node->src[i] != node) sources[n++] = node->src[i];
    }
    return n ? sources[draw_below(d, n)] : NULL;
}

// Rows of the result with gaps, as a planner may lay it out.
static void spread(struct ggml_tensor * node) {
    if (node->view_src) return;
    node->nb[1] += 2 * node->nb[0];
    for (int i = 2; i < GGML_MAX_DIMS; i++)
        node->nb[i] = node->nb[i - 1] * (size_t) node->ne[i - 1];
}

// With less to choose from, an index may be out of range, which only compute can tell.
static bool takes_indices(enum ggml_op op) {
    return op == GGML_OP_GET_ROWS || op == GGML_OP_GET_ROWS_BACK || op == GGML_OP_SET_ROWS ||
           op == GGML_OP_ADD_ID || op == GGML_OP_MUL_MAT_ID || op == GGML_OP_SSM_SCAN;
}

// Negative integers would be NaN where a parameter is a float, and NaN may give anything.
static int32_t any_word(struct draw * d, enum ggml_op op) {
    static const enum ggml_op floats[] = {
        GGML_OP_NORM,         GGML_OP_RMS_NORM,      GGML_OP_RMS_NORM_BACK,
        GGML_OP_L2_NORM,      GGML_OP_GROUP_NORM,    GGML_OP_SCALE,
        GGML_OP_SOFT_MAX,     GGML_OP_SOFT_MAX_BACK, GGML_OP_ROPE,
        GGML_OP_CLAMP,        GGML_OP_ROPE_BACK,     GGML_OP_ARANGE,
        GGML_OP_FILL,         GGML_OP_LEAKY_RELU,    GGML_OP_FLASH_ATTN_EXT,
        GGML_OP_GLU,          GGML_OP_UNARY,         GGML_OP_GATED_LINEAR_ATTN,
        GGML_OP_DSV4_HC_COMB, GGML_OP_DSV4_HC_PRE
    };
    for (size_t i = 0; i < sizeof(floats) / sizeof(floats[0]); i++) {
        if (op == floats[i]) return (int32_t) draw_below(d, 5);
    }
    return (int32_t) draw_below(d, 7) - 2;
}

// With a base near 0 angles of rope are so large that nobody knows their cosine.
static void change_word(struct draw * d, struct ggml_tensor * node) {
    const int64_t word = draw_below(d, 12);
    const bool is_rope = node->op == GGML_OP_ROPE || node->op == GGML_OP_ROPE_BACK;
    if (!is_rope || word != 5) node->op_params[word] = any_word(d, node->op);
}

void wild_change(struct draw * d, struct ggml_tensor * node) {
    struct ggml_tensor * x = any_source(d, node);
    // What a view shows, and what a custom function makes of its operands, is no operator's matter.
    if (node->op >= GGML_OP_RESHAPE && node->op <= GGML_OP_TRANSPOSE) return;
    if (node->op >= GGML_OP_MAP_CUSTOM1 && node->op <= GGML_OP_CUSTOM) return;
    const int64_t dim = draw_below(d, 4);
    switch (draw_below(d, 12)) {
    case 0: node->ne[dim] += node->view_src ? -1 : 1; break;
    case 1:
        if (node->op != GGML_OP_GET_ROWS_BACK) node->ne[dim] = 1; // has as many rows as it likes
        break;
    case 2:
        if (!node->view_src) node->type = any_type(d);
        break;
    case 3: spread(node); break;
    case 4: node->src[draw_below(d, 3)] = NULL; break;
    case 5: change_word(d, node); break;
    case 6:
        if (x && x->ne[dim] > 0 && !takes_indices(node->op)) x->ne[dim]--;
        break;
    case 8: // a size that is 1 everywhere, and may be looked at nowhere
        if (x && x->ne[dim] == 1 && !takes_indices(node->op)) x->ne[dim] = 0;
        break;
    case 7:
        if (x && ggml_type_size(x->type) % 2 == 0) x->nb[dim] += 1;
        break;
    default: break; // as it was built
    }
}
