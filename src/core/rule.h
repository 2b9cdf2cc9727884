// SPDX-License-Identifier: MIT
// What the rules of operators (core/op.h) share. Checks answer true, or false with a text that says which
// source breaks which rule and with what numbers; the builder adds function and tensors.
#ifndef TN_CORE_RULE_H
#define TN_CORE_RULE_H

#include <stdbool.h>

#include "ggml.h"

bool tn_rule_type(const struct ggml_tensor * node, int i, enum ggml_type type);

// Sources first .. last.
bool tn_rule_types(const struct ggml_tensor * node, int first, int last, enum ggml_type type);

// These sizes; TN_RULE_ANY leaves one free.
enum { TN_RULE_ANY = -1 };
bool tn_rule_shape(const struct ggml_tensor * node, int i, int64_t ne0, int64_t ne1, int64_t ne2,
                   int64_t ne3);

// Dense, in the order of the dimensions.
bool tn_rule_contiguous(const struct ggml_tensor * node, int i);

// Sources first .. last.
bool tn_rule_all_contiguous(const struct ggml_tensor * node, int first, int last);

// The elements of a row lie side by side (ggml_is_contiguous_rows).
bool tn_rule_contiguous_rows(const struct ggml_tensor * node, int i);

// The same, and all rows lie at one distance: row j at j*nb1, counted over all dimensions.
bool tn_rule_even_rows(const struct ggml_tensor * node, int i);

// Not with the larger stride first (ggml_is_transposed).
bool tn_rule_not_transposed(const struct ggml_tensor * node, int i);

// Size d of source i is 1.
bool tn_rule_one(const struct ggml_tensor * node, int i, int d);

// Where src0 has elements, so has source i: for those of which only one size is asked for.
bool tn_rule_some(const struct ggml_tensor * node, int i);

// At most one, two dimensions.
bool tn_rule_vector(const struct ggml_tensor * node, int i);
bool tn_rule_matrix(const struct ggml_tensor * node, int i);

// Size d of source i equals size e of source j, or divides it.
bool tn_rule_equal(const struct ggml_tensor * node, int i, int d, int j, int e);
bool tn_rule_divides(const struct ggml_tensor * node, int i, int d, int j, int e);

bool tn_rule_same_shape(const struct ggml_tensor * node, int i, int j);

// Source i repeats to the shape of source j: every size divides.
bool tn_rule_repeats(const struct ggml_tensor * node, int i, int j);

// As many elements in source i as in the node.
bool tn_rule_same_count(const struct ggml_tensor * node, int i);

// Gives the node type and shape of source i.
void tn_rule_like(struct ggml_tensor * node, int i);

// The same for maps: an f32 result that is asked for stays f32 where the source is f16 or bf16. No builder
// asks for it; nodes made by hand may.
void tn_rule_like_or_wider(struct ggml_tensor * node, int i);

// Gives the node this type and these sizes.
void tn_rule_result(struct ggml_tensor * node, enum ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2,
                    int64_t ne3);

#endif
