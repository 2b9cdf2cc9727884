// SPDX-License-Identifier: MIT
// conv_1d conv_1d_dw conv_2d conv_2d_dw conv_3d: convolution as a matrix product of unfolded columns and a
// kernel.
#include <inttypes.h>

#include "base/error.h"
#include "core/build.h"
#include "core/context.h"
#include "core/op.h"
#include "core/rule.h"

// Several operators make one builder. What it is given is checked first, under the builder's own name, and
// columns that are refused are returned at once: later parts would replace the reason by one of their own.
struct conv {
    struct ggml_context * ctx;
    const char * function;
    struct ggml_tensor * kernel;
    struct ggml_tensor * data;
};

// NULL, or the refusal. fits: what a form asks of kernel and data, src0 and src1, besides what unfolding
// asks; false with a text.
static struct ggml_tensor * refusal(const struct conv * c, bool (*fits)(const struct ggml_tensor * node)) {
    struct tn_build b = tn_build_start(c->ctx, c->function, GGML_OP_IM2COL, 2, c->kernel, c->data);
    b.refused = b.refused || !fits(&b.node);
    return b.refused ? tn_build_finish(&b) : NULL;
}

static enum ggml_type column_type(const struct ggml_tensor * kernel) {
    return kernel->type == GGML_TYPE_BF16 ? GGML_TYPE_F32 : GGML_TYPE_F16;
}

static struct ggml_tensor * columns(const struct conv * c, enum ggml_op op, const int32_t * words,
                                    int n_words, enum ggml_type type) {
    struct tn_build b = tn_build_start(c->ctx, c->function, op, 2, c->kernel, c->data);
    for (int i = 0; i < n_words; i++)
        tn_param_set_i32(&b.node, i, words[i]);
    b.node.type = type;
    return tn_build_finish(&b);
}

// A size of a reshaped tensor. What would overflow becomes -1, which no tensor has.
static int64_t product(int64_t a, int64_t b, int64_t c) {
    int64_t n = 0;
    return tn_i64_mul(a, b, &n) && tn_i64_mul(n, c, &n) ? n : -1;
}

// A size of the kernel as a stride or padding: -1, which is refused, where it does not fit.
static int32_t as_i32(int64_t size) {
    return size >= 0 && size <= INT32_MAX ? (int32_t) size : -1;
}

// Columns times kernel, both as matrices: [outputs, OC].
static struct ggml_tensor * multiply(const struct conv * c, struct ggml_tensor * cols, int64_t oc) {
    struct ggml_tensor * m =
        ggml_reshape_2d(c->ctx, cols, cols->ne[0], product(cols->ne[1], cols->ne[2], cols->ne[3]));
    return ggml_mul_mat(c->ctx, m, ggml_reshape_2d(c->ctx, c->kernel, cols->ne[0], oc));
}

// --- one dimension: strides, paddings and dilations of the second are 0

static struct ggml_tensor * columns_1d(const struct conv * c, int s0, int p0, int d0) {
    const int32_t words[] = { s0, 0, p0, 0, d0, 0, 0 };
    return columns(c, GGML_OP_IM2COL, words, 7, column_type(c->kernel));
}

// kernel [K, IC, OC], data [L, IC, N] -> [OL, OC, N]. For several N the outputs come in the order [OL, N,
// OC], which the interface has always called [OL, OC, N].
static bool fits_1d(const struct ggml_tensor * node) {
    return tn_rule_contiguous(node, 0) && tn_rule_one(node, 0, 3);
}

static struct ggml_tensor * conv_1d(const struct conv * c, int s0, int p0, int d0) {
    struct ggml_tensor * bad = refusal(c, fits_1d);
    if (bad) return bad;
    struct ggml_tensor * cols = columns_1d(c, s0, p0, d0);
    if (tn_tensor_is_poisoned(cols)) return cols;
    struct ggml_tensor * out = multiply(c, cols, c->kernel->ne[2]);
    return ggml_reshape_3d(c->ctx, out, cols->ne[1], c->kernel->ne[2], cols->ne[2]);
}

struct ggml_tensor * ggml_conv_1d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                  int s0, int p0, int d0) {
    return conv_1d(&(struct conv){ ctx, __func__, a, b }, s0, p0, d0);
}

struct ggml_tensor * ggml_conv_1d_ph(struct ggml_context * ctx, struct ggml_tensor * a,
                                     struct ggml_tensor * b, int s, int d) {
    return conv_1d(&(struct conv){ ctx, __func__, a, b }, s, a ? as_i32(a->ne[0] / 2) : 0, d);
}

// kernel [K, 1, C], data [L, C] -> [OL, C, 1]: a channel is a batch of its own.
static bool fits_1d_dw(const struct ggml_tensor * node) {
    return tn_rule_contiguous(node, 1) && tn_rule_shape(node, 0, TN_RULE_ANY, 1, node->src[1]->ne[1], 1) &&
           tn_rule_matrix(node, 1);
}

static struct ggml_tensor * conv_1d_dw(const struct conv * c, int s0, int p0, int d0) {
    struct ggml_tensor * bad = refusal(c, fits_1d_dw);
    if (bad) return bad;
    const int64_t * data = c->data->ne;
    struct conv each = *c;
    each.data = ggml_reshape_4d(c->ctx, c->data, data[0], 1, data[1], data[2]);
    struct ggml_tensor * cols = columns_1d(&each, s0, p0, d0);
    if (tn_tensor_is_poisoned(cols)) return cols;
    struct ggml_tensor * out = ggml_mul_mat(c->ctx, cols, c->kernel);
    return ggml_reshape_3d(c->ctx, out, out->ne[0], out->ne[2], 1);
}

struct ggml_tensor * ggml_conv_1d_dw(struct ggml_context * ctx, struct ggml_tensor * a,
                                     struct ggml_tensor * b, int s0, int p0, int d0) {
    return conv_1d_dw(&(struct conv){ ctx, __func__, a, b }, s0, p0, d0);
}

struct ggml_tensor * ggml_conv_1d_dw_ph(struct ggml_context * ctx, struct ggml_tensor * a,
                                        struct ggml_tensor * b, int s0, int d0) {
    return conv_1d_dw(&(struct conv){ ctx, __func__, a, b }, s0, a ? as_i32(a->ne[0] / 2) : 0, d0);
}

// --- two dimensions

enum { WORDS_2D = 7 }; // s0, s1, p0, p1, d0, d1, is_2D

// kernel [KW, KH, IC, OC], data [W, H, IC, N] -> [OW, OH, OC, N]
static bool fits_contiguous(const struct ggml_tensor * node) {
    return tn_rule_contiguous(node, 0);
}

static struct ggml_tensor * conv_2d(const struct conv * c, const int32_t * words) {
    struct ggml_tensor * bad = refusal(c, fits_contiguous);
    if (bad) return bad;
    struct ggml_tensor * cols = columns(c, GGML_OP_IM2COL, words, WORDS_2D, column_type(c->kernel));
    if (tn_tensor_is_poisoned(cols)) return cols;
    struct ggml_tensor * out = multiply(c, cols, c->kernel->ne[3]);
    out = ggml_reshape_4d(c->ctx, out, cols->ne[1], cols->ne[2], cols->ne[3], c->kernel->ne[3]);
    return ggml_cont(c->ctx, ggml_permute(c->ctx, out, 0, 1, 3, 2));
}

struct ggml_tensor * ggml_conv_2d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                  int s0, int s1, int p0, int p1, int d0, int d1) {
    return conv_2d(&(struct conv){ ctx, __func__, a, b }, (const int32_t[]){ s0, s1, p0, p1, d0, d1, 1 });
}

struct ggml_tensor * ggml_conv_2d_sk_p0(struct ggml_context * ctx, struct ggml_tensor * a,
                                        struct ggml_tensor * b) {
    const int32_t k0 = a ? as_i32(a->ne[0]) : 1, k1 = a ? as_i32(a->ne[1]) : 1;
    return conv_2d(&(struct conv){ ctx, __func__, a, b }, (const int32_t[]){ k0, k1, 0, 0, 1, 1, 1 });
}

struct ggml_tensor * ggml_conv_2d_s1_ph(struct ggml_context * ctx, struct ggml_tensor * a,
                                        struct ggml_tensor * b) {
    const int32_t p0 = a ? as_i32(a->ne[0] / 2) : 0, p1 = a ? as_i32(a->ne[1] / 2) : 0;
    return conv_2d(&(struct conv){ ctx, __func__, a, b }, (const int32_t[]){ 1, 1, p0, p1, 1, 1, 1 });
}

// kernel [KW, KH, 1, C], data [W, H, C, N] -> [OW, OH, C, N]. The kernel is the first factor, whose type the
// columns must suit.
static bool fits_2d_dw(const struct ggml_tensor * node) {
    const int64_t * k = node->src[0]->ne;
    const int64_t channels = node->src[1]->ne[2], slices = product(k[2], k[3], 1);
    if (!tn_rule_contiguous(node, 0) || !tn_rule_contiguous(node, 1)) return false;
    return slices == channels ||
           tn_refuse("the kernel must have a slice for each channel of the data: %" PRId64 " slices, %" PRId64
                     " channels",
                     slices, channels);
}

static struct ggml_tensor * conv_2d_dw(const struct conv * c, const int32_t * words) {
    struct ggml_tensor * bad = refusal(c, fits_2d_dw);
    if (bad) return bad;
    const int64_t * k = c->kernel->ne;
    const int64_t * data = c->data->ne;
    const int64_t channels = product(k[2], k[3], 1);
    struct conv each = *c;
    each.kernel = ggml_reshape_4d(c->ctx, c->kernel, k[0], k[1], 1, channels);
    each.data = ggml_reshape_4d(c->ctx, c->data, data[0], data[1], 1, product(data[2], data[3], 1));
    const enum ggml_type type = c->kernel->type == GGML_TYPE_F16 ? GGML_TYPE_F16 : GGML_TYPE_F32;
    struct ggml_tensor * cols = columns(&each, GGML_OP_IM2COL, words, WORDS_2D, type);
    if (tn_tensor_is_poisoned(cols)) return cols;
    const int64_t ow = cols->ne[1], oh = cols->ne[2];
    struct ggml_tensor * rows =
        ggml_reshape_4d(c->ctx, cols, cols->ne[0], product(ow, oh, 1), data[2], data[3]);
    struct ggml_tensor * weights =
        ggml_reshape_4d(c->ctx, each.kernel, product(k[0], k[1], 1), 1, channels, 1);
    return ggml_reshape_4d(c->ctx, ggml_mul_mat(c->ctx, weights, rows), ow, oh, data[2], data[3]);
}

struct ggml_tensor * ggml_conv_2d_dw(struct ggml_context * ctx, struct ggml_tensor * a,
                                     struct ggml_tensor * b, int s0, int s1, int p0, int p1, int d0, int d1) {
    return conv_2d_dw(&(struct conv){ ctx, __func__, a, b }, (const int32_t[]){ s0, s1, p0, p1, d0, d1, 1 });
}

// --- three dimensions: kernel [KW, KH, KD, IC*OC], data [W, H, D, IC*N] -> [OW, OH, OD, OC*N]

static struct ggml_tensor * conv_3d(const struct conv * c, const int32_t * words) {
    struct ggml_tensor * bad = refusal(c, fits_contiguous);
    if (bad) return bad;
    const int64_t ic = words[9];
    struct ggml_tensor * cols = columns(c, GGML_OP_IM2COL_3D, words, 10, column_type(c->kernel));
    if (tn_tensor_is_poisoned(cols)) return cols;
    const int64_t n = c->data->ne[3] / ic,
                  oc = c->kernel->ne[3] / ic; // the rule of the columns has seen that they divide
    const int64_t ow = cols->ne[1], oh = cols->ne[2], od = n ? cols->ne[3] / n : 0;
    struct ggml_tensor * out = ggml_reshape_4d(c->ctx, multiply(c, cols, oc), product(ow, oh, 1), od, n, oc);
    out = ggml_cont(c->ctx, ggml_permute(c->ctx, out, 0, 1, 3, 2));
    return ggml_reshape_4d(c->ctx, out, ow, oh, od, product(oc, n, 1));
}

struct ggml_tensor * ggml_conv_3d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                  int64_t IC, int s0, int s1, int s2, int p0, int p1, int p2, int d0, int d1,
                                  int d2) {
    const int32_t words[] = { s0, s1, s2, p0, p1, p2, d0, d1, d2, as_i32(IC) };
    return conv_3d(&(struct conv){ ctx, __func__, a, b }, words);
}
