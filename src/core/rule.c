// SPDX-License-Identifier: MIT
// Checks that the rules of operators share, each with its text.
#include "core/rule.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/str.h"
#include "core/shape.h"

bool tn_rule_type(const struct ggml_tensor * node, int i, enum ggml_type type) {
    const enum ggml_type given = node->src[i]->type;
    if (given == type) return true;
    return tn_refuse("src%d must be %s, it is %s", i, ggml_type_name(type), ggml_type_name(given));
}

bool tn_rule_types(const struct ggml_tensor * node, int first, int last, enum ggml_type type) {
    for (int i = first; i <= last; i++) {
        if (!tn_rule_type(node, i, type)) return false;
    }
    return true;
}

// "[3, any, 1, 1]"
static const char * wanted_text(char * buffer, const int64_t * ne) {
    struct tn_str s = tn_str_on(buffer, TN_SHAPE_TEXT);
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        tn_str_add(&s, d ? ", " : "[");
        if (ne[d] == TN_RULE_ANY) {
            tn_str_add(&s, "any");
        } else {
            tn_str_add(&s, "%" PRId64, ne[d]);
        }
    }
    tn_str_add(&s, "]");
    return buffer;
}

bool tn_rule_shape(const struct ggml_tensor * node, int i, int64_t ne0, int64_t ne1, int64_t ne2,
                   int64_t ne3) {
    const int64_t * given = node->src[i]->ne;
    const int64_t wanted[GGML_MAX_DIMS] = { ne0, ne1, ne2, ne3 };
    bool fits = true;
    for (int d = 0; d < GGML_MAX_DIMS; d++)
        fits = fits && (wanted[d] == TN_RULE_ANY || wanted[d] == given[d]);
    if (fits) return true;
    char a[TN_SHAPE_TEXT], b[TN_SHAPE_TEXT];
    return tn_refuse("src%d must be %s, it is %s", i, wanted_text(a, wanted), tn_shape_text(b, given));
}

static bool refuse_strides(const struct ggml_tensor * node, int i, const char * what) {
    const size_t * nb = node->src[i]->nb;
    return tn_refuse("src%d %s: its strides are [%zu, %zu, %zu, %zu] bytes", i, what, nb[0], nb[1], nb[2],
                     nb[3]);
}

bool tn_rule_contiguous(const struct ggml_tensor * node, int i) {
    return ggml_is_contiguous(node->src[i]) || refuse_strides(node, i, "must be contiguous");
}

bool tn_rule_all_contiguous(const struct ggml_tensor * node, int first, int last) {
    for (int i = first; i <= last; i++) {
        if (!tn_rule_contiguous(node, i)) return false;
    }
    return true;
}

bool tn_rule_contiguous_rows(const struct ggml_tensor * node, int i) {
    return ggml_is_contiguous_rows(node->src[i]) || refuse_strides(node, i, "must have contiguous rows");
}

bool tn_rule_even_rows(const struct ggml_tensor * node, int i) {
    const struct ggml_tensor * t = node->src[i];
    const bool even = t->nb[0] == ggml_type_size(t->type) && t->nb[2] == t->nb[1] * (size_t) t->ne[1] &&
                      t->nb[3] == t->nb[2] * (size_t) t->ne[2];
    return even || refuse_strides(node, i, "must have contiguous rows at one distance");
}

bool tn_rule_not_transposed(const struct ggml_tensor * node, int i) {
    return !ggml_is_transposed(node->src[i]) || refuse_strides(node, i, "must not be transposed");
}

bool tn_rule_one(const struct ggml_tensor * node, int i, int d) {
    const int64_t ne = node->src[i]->ne[d];
    return ne == 1 || tn_refuse("src%d ne[%d] must be 1, it is %" PRId64, i, d, ne);
}

bool tn_rule_some(const struct ggml_tensor * node, int i) {
    char text[TN_SHAPE_TEXT];
    return !tn_shape_empty(node->src[i]) || tn_shape_empty(node->src[0]) ||
           tn_refuse("src%d %s has no elements", i, tn_shape_text(text, node->src[i]->ne));
}

bool tn_rule_vector(const struct ggml_tensor * node, int i) {
    return tn_rule_one(node, i, 1) && tn_rule_matrix(node, i);
}

bool tn_rule_matrix(const struct ggml_tensor * node, int i) {
    return tn_rule_one(node, i, 2) && tn_rule_one(node, i, 3);
}

bool tn_rule_equal(const struct ggml_tensor * node, int i, int d, int j, int e) {
    const int64_t a = node->src[i]->ne[d], b = node->src[j]->ne[e];
    if (a == b) return true;
    return tn_refuse("src%d ne[%d] = %" PRId64 " must equal src%d ne[%d] = %" PRId64, i, d, a, j, e, b);
}

bool tn_rule_divides(const struct ggml_tensor * node, int i, int d, int j, int e) {
    const int64_t a = node->src[i]->ne[d], b = node->src[j]->ne[e];
    if (tn_shape_divides(a, b)) return true;
    return tn_refuse("src%d ne[%d] = %" PRId64 " must divide src%d ne[%d] = %" PRId64, i, d, a, j, e, b);
}

bool tn_rule_same_shape(const struct ggml_tensor * node, int i, int j) {
    return tn_shape_same(node->src[i], node->src[j]) || tn_refuse("src%d must have the shape of src%d", i, j);
}

bool tn_rule_repeats(const struct ggml_tensor * node, int i, int j) {
    return ggml_can_repeat(node->src[i], node->src[j]) ||
           tn_refuse("src%d must repeat to the shape of src%d: every size must divide", i, j);
}

bool tn_rule_same_count(const struct ggml_tensor * node, int i) {
    char a[TN_SHAPE_TEXT], b[TN_SHAPE_TEXT];
    int64_t given, wanted;
    if (!tn_shape_count(node->src[i]->ne, &given) || !tn_shape_count(node->ne, &wanted)) return false;
    if (given == wanted) return true;
    return tn_refuse("src%d %s and the result %s must have the same number of elements: %" PRId64
                     " and %" PRId64,
                     i, tn_shape_text(a, node->src[i]->ne), tn_shape_text(b, node->ne), given, wanted);
}

void tn_rule_like(struct ggml_tensor * node, int i) {
    node->type = node->src[i]->type;
    tn_shape_copy(node->ne, node->src[i]->ne);
}

void tn_rule_like_or_wider(struct ggml_tensor * node, int i) {
    const enum ggml_type type = node->src[i]->type;
    const bool wider = node->type == GGML_TYPE_F32 && (type == GGML_TYPE_F16 || type == GGML_TYPE_BF16);
    tn_rule_like(node, i);
    if (wider) node->type = GGML_TYPE_F32;
}

void tn_rule_result(struct ggml_tensor * node, enum ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2,
                    int64_t ne3) {
    node->type = type;
    tn_shape_set(node->ne, ne0, ne1, ne2, ne3);
}
