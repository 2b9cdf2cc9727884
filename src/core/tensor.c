// SPDX-License-Identifier: MIT
// Tensors: creation, predicates, names, flags.
#include "core/tensor.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "base/str.h"
#include "core/build.h"
#include "core/context.h"
#include "ggml-backend.h"
#include "quant/type.h"

// A view must end inside its base; both extents are taken with their own strides.
static bool check_view(const struct ggml_tensor * base, size_t offset, size_t bytes) {
    size_t end;
    if (bytes == 0 || (tn_size_add(offset, bytes, &end) && end <= ggml_nbytes(base))) return true;
    char text[TN_SHAPE_TENSOR_TEXT];
    return tn_refuse("a view of %zu bytes at offset %zu ends beyond %s of %zu bytes", bytes, offset,
                     tn_shape_tensor_text(text, base), ggml_nbytes(base));
}

static bool resolve_base(struct ggml_tensor ** base, size_t * offset) {
    if (!*base || !(*base)->view_src) return true;
    if (!tn_size_add(*offset, (*base)->view_offs, offset))
        return tn_refuse("a view's offset of %zu bytes overflows", *offset);
    *base = (*base)->view_src;
    return true;
}

struct ggml_tensor * tn_tensor_new(struct ggml_context * ctx, enum ggml_type type, const int64_t * ne,
                                   const size_t * nb, struct ggml_tensor * base, size_t offset) {
    size_t strides[GGML_MAX_DIMS], bytes, size = sizeof(struct ggml_tensor);
    if (!tn_shape_strides(type, ne, strides, &bytes) || !resolve_base(&base, &offset)) return NULL;
    if (nb) memcpy(strides, nb, sizeof(strides));
    if (nb && !tn_shape_extent(type, ne, nb, &bytes)) return NULL;
    if (base && !check_view(base, offset, bytes)) return NULL;
    const bool owns = !base && !ctx->no_alloc;
    if (owns && !tn_size_add(size, bytes, &size)) {
        tn_error_set("a tensor of %zu bytes does not fit", bytes);
        return NULL;
    }
    struct ggml_tensor * t = tn_context_add(ctx, TN_OBJECT_TENSOR, size);
    if (!t) return NULL;
    *t = (struct ggml_tensor){ .type = type, .view_src = base, .view_offs = offset };
    tn_shape_copy(t->ne, ne);
    memcpy(t->nb, strides, sizeof(strides));
    if (owns) t->data = t + 1;
    // As a number: the offset of an empty view may lie anywhere.
    if (base && base->data) t->data = (void *) ((uintptr_t) base->data + offset);
    return t;
}

struct ggml_tensor * ggml_new_tensor(struct ggml_context * ctx, enum ggml_type type, int n_dims,
                                     const int64_t * ne) {
    struct tn_build b = tn_build_start(ctx, "ggml_new_tensor", GGML_OP_NONE, 0);
    b.node.type = type;
    if (n_dims < 1 || n_dims > GGML_MAX_DIMS || !ne) {
        tn_build_refuse(&b, "n_dims is %d: must be 1 to 4, with sizes", n_dims);
    } else {
        memcpy(b.node.ne, ne, (size_t) n_dims * sizeof(*ne));
    }
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_new_tensor_1d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0) {
    return ggml_new_tensor(ctx, type, 1, &ne0);
}

struct ggml_tensor * ggml_new_tensor_2d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
                                        int64_t ne1) {
    const int64_t ne[2] = { ne0, ne1 };
    return ggml_new_tensor(ctx, type, 2, ne);
}

struct ggml_tensor * ggml_new_tensor_3d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
                                        int64_t ne1, int64_t ne2) {
    const int64_t ne[3] = { ne0, ne1, ne2 };
    return ggml_new_tensor(ctx, type, 3, ne);
}

struct ggml_tensor * ggml_new_tensor_4d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
                                        int64_t ne1, int64_t ne2, int64_t ne3) {
    const int64_t ne[4] = { ne0, ne1, ne2, ne3 };
    return ggml_new_tensor(ctx, type, 4, ne);
}

struct ggml_tensor * ggml_dup_tensor(struct ggml_context * ctx, const struct ggml_tensor * src) {
    struct tn_build b = tn_build_start(ctx, "ggml_dup_tensor", GGML_OP_NONE, 0);
    if (tn_build_like(&b, src)) {
        b.node.type = src->type;
        tn_shape_copy(b.node.ne, src->ne);
    }
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_view_tensor(struct ggml_context * ctx, struct ggml_tensor * src) {
    struct tn_build b = tn_build_start(ctx, "ggml_view_tensor", GGML_OP_NONE, 0);
    if (tn_build_like(&b, src)) {
        b.node.type = src->type;
        tn_shape_copy(b.node.ne, src->ne);
        tn_build_in_place(&b, src);
    }
    return tn_build_finish(&b);
}

size_t ggml_tensor_overhead(void) {
    return sizeof(struct ggml_object) + sizeof(struct ggml_tensor);
}

// The poisoned tensor is shared by all that was refused: it keeps no names and no flags.
static bool can_mark(const struct ggml_tensor * t) {
    return t && !tn_tensor_is_poisoned(t);
}

const char * ggml_get_name(const struct ggml_tensor * t) {
    return t ? t->name : "";
}

struct ggml_tensor * ggml_set_name(struct ggml_tensor * t, const char * name) {
    if (can_mark(t)) tn_str_copy(t->name, sizeof(t->name), name ? name : "");
    return t;
}

struct ggml_tensor * ggml_format_name(struct ggml_tensor * t, const char * fmt, ...) {
    char name[GGML_MAX_NAME]; // formatted aside: an argument may be the present name
    va_list args;
    va_start(args, fmt);
    vsnprintf(name, sizeof(name), fmt, args);
    va_end(args);
    return ggml_set_name(t, name);
}

static void mark(struct ggml_tensor * t, int32_t flag, const char * function, const char * missing) {
    if (!can_mark(t)) return;
    if (!missing) {
        t->flags |= flag;
        return;
    }
    char text[TN_SHAPE_TENSOR_TEXT];
    tn_error_set("%s: %s of operator %s: %s", function, tn_shape_tensor_text(text, t), ggml_op_name(t->op),
                 missing);
    TN_LOG_ERROR("%s\n", tn_error_text());
}

static const char * must_be_leaf(const struct ggml_tensor * t) {
    return t && t->op != GGML_OP_NONE ? "a tensor without operator is required" : NULL;
}

static const char * must_be_number(const struct ggml_tensor * t) {
    return t && (t->type != GGML_TYPE_F32 || !ggml_is_scalar(t)) ? "one value of type f32 is required" : NULL;
}

void ggml_set_input(struct ggml_tensor * t) {
    mark(t, GGML_TENSOR_FLAG_INPUT, __func__, must_be_leaf(t));
}

void ggml_set_output(struct ggml_tensor * t) {
    mark(t, GGML_TENSOR_FLAG_OUTPUT, __func__, NULL);
    if (t && t->view_src) t->view_src->flags |= GGML_TENSOR_FLAG_OUTPUT;
}

void ggml_set_param(struct ggml_tensor * t) {
    mark(t, GGML_TENSOR_FLAG_PARAM, __func__, must_be_leaf(t));
}

void ggml_set_loss(struct ggml_tensor * t) {
    mark(t, GGML_TENSOR_FLAG_LOSS, __func__, must_be_number(t));
}

void * ggml_get_data(const struct ggml_tensor * t) {
    return t ? t->data : NULL;
}

float * ggml_get_data_f32(const struct ggml_tensor * t) {
    return t && t->type == GGML_TYPE_F32 ? t->data : NULL;
}

struct ggml_tensor * ggml_set_zero(struct ggml_tensor * t) {
    const size_t size = ggml_nbytes(t);
    if (!can_mark(t) || size == 0) return t;
    if (t->buffer || (t->view_src && t->view_src->buffer)) {
        ggml_backend_tensor_memset(t, 0, 0, size);
    } else if (t->data) {
        memset(t->data, 0, size);
    } else {
        char text[TN_SHAPE_TENSOR_TEXT];
        tn_error_set("%s: %s has no data", __func__, tn_shape_tensor_text(text, t));
        TN_LOG_ERROR("%s\n", tn_error_text());
    }
    return t;
}
