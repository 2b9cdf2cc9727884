// SPDX-License-Identifier: MIT
// Every operator's gradient: the graph that arises is sound, and gradients have the shapes of what they
// belong to. Operators without one are refused by name.
#include "harness.h"

#include "base/error.h"
#include "core/graph.h"
#include "ggml-ext.h"

enum { SIZE = 1 << 20 };

// The two parameters of all cases, and what needs no gradient.
struct made {
    struct ggml_context * ctx;
    struct ggml_tensor *w, *v;  // f32 [8, 6, 2, 1], f32 [8, 1, 1, 1]
    struct ggml_tensor *x, *y;  // f32 of the shapes of w and v
    struct ggml_tensor * index; // i32 [3]
};

static struct made make(void) {
    struct made m = { .ctx = ggml_init((struct ggml_init_params){ .mem_size = SIZE, .no_alloc = true }) };
    m.w = ggml_set_name(ggml_new_tensor_3d(m.ctx, GGML_TYPE_F32, 8, 6, 2), "w");
    m.v = ggml_set_name(ggml_new_tensor_1d(m.ctx, GGML_TYPE_F32, 8), "v");
    m.x = ggml_dup_tensor(m.ctx, m.w);
    m.y = ggml_dup_tensor(m.ctx, m.v);
    m.index = ggml_new_tensor_1d(m.ctx, GGML_TYPE_I32, 3);
    ggml_set_param(m.w);
    ggml_set_param(m.v);
    return m;
}

static struct ggml_tensor * matrix(struct made * m, struct ggml_tensor * t) {
    return ggml_reshape_2d(m->ctx, t, 8, ggml_nelements(t) / 8);
}

enum { W = 1, V = 2, ZERO = 4 }; // who gets a gradient; ZERO: none arrives, it is zero everywhere

#define CASE(name, expression)                                                                               \
    static struct ggml_tensor * make_##name(struct made * m) {                                               \
        return expression;                                                                                   \
    }
#define WITH_GRADIENT                                                                                        \
    ROW(dup, W, ggml_dup(m->ctx, m->w))                                                                      \
    ROW(add, W | V, ggml_add(m->ctx, m->w, m->v))                                                            \
    ROW(add_twice, W, ggml_add(m->ctx, m->w, m->w))                                                          \
    ROW(scale_bias, W, ggml_scale_bias(m->ctx, m->w, 1.0f, 1.0f))                                            \
    ROW(acc, W | V, ggml_acc(m->ctx, m->w, m->v, m->w->nb[1], m->w->nb[2], m->w->nb[3], m->w->nb[1]))        \
    ROW(sub, W | V, ggml_sub(m->ctx, m->w, ggml_repeat(m->ctx, m->v, m->w)))                                 \
    ROW(sub_broadcast, W | V, ggml_sub(m->ctx, m->w, m->v))                                                  \
    ROW(mul, W | V, ggml_mul(m->ctx, m->w, m->v))                                                            \
    ROW(div, W | V, ggml_div(m->ctx, m->w, m->v))                                                            \
    ROW(sqr, W, ggml_sqr(m->ctx, m->w))                                                                      \
    ROW(sqrt, W, ggml_sqrt(m->ctx, m->w))                                                                    \
    ROW(log, W, ggml_log(m->ctx, m->w))                                                                      \
    ROW(sin, W, ggml_sin(m->ctx, m->w))                                                                      \
    ROW(cos, W, ggml_cos(m->ctx, m->w))                                                                      \
    ROW(scale, W, ggml_scale(m->ctx, m->w, 3.0f))                                                            \
    ROW(set, W | V, ggml_set_1d(m->ctx, m->w, m->v, m->w->nb[2]))                                            \
    ROW(cpy, W, ggml_cpy(m->ctx, m->w, m->x))                                                                \
    ROW(cast, W, ggml_cast(m->ctx, m->w, GGML_TYPE_F16))                                                     \
    ROW(cont, W, ggml_cont(m->ctx, ggml_permute(m->ctx, m->w, 2, 0, 1, 3)))                                  \
    ROW(reshape, W, ggml_reshape_1d(m->ctx, m->w, 96))                                                       \
    ROW(view, W, ggml_view_2d(m->ctx, m->w, 4, 3, m->w->nb[1], 16))                                          \
    ROW(two_views, W, ggml_mul(m->ctx, ggml_view_1d(m->ctx, m->w, 8, 0), ggml_view_1d(m->ctx, m->w, 8, 64))) \
    ROW(permute, W, ggml_permute(m->ctx, m->w, 1, 2, 0, 3))                                                  \
    ROW(transpose, W, ggml_transpose(m->ctx, m->w))                                                          \
    ROW(sum, W, ggml_sum(m->ctx, m->w))                                                                      \
    ROW(sum_rows, W, ggml_sum_rows(m->ctx, m->w))                                                            \
    ROW(mean, W, ggml_mean(m->ctx, m->w))                                                                    \
    ROW(repeat, V, ggml_repeat(m->ctx, m->v, m->w))                                                          \
    ROW(repeat_back, W, ggml_repeat_back(m->ctx, m->w, m->v))                                                \
    ROW(rms_norm, W, ggml_rms_norm(m->ctx, m->w, 1e-5f))                                                     \
    ROW(mul_mat, W | V, ggml_mul_mat(m->ctx, matrix(m, m->w), m->v))                                         \
    ROW(mul_mat_broadcast, W | V, ggml_mul_mat(m->ctx, m->v, m->w))                                          \
    ROW(get_rows, W, ggml_get_rows(m->ctx, matrix(m, m->w), m->index))                                       \
    ROW(diag_mask_inf, W, ggml_diag_mask_inf(m->ctx, m->w, 1))                                               \
    ROW(diag_mask_zero, W, ggml_diag_mask_zero(m->ctx, m->w, 1))                                             \
    ROW(soft_max, W, ggml_soft_max(m->ctx, m->w))                                                            \
    ROW(soft_max_ext, W, ggml_soft_max_ext(m->ctx, m->w, m->x, 0.5f, 0.0f))                                  \
    ROW(rope, W,                                                                                             \
        ggml_rope(m->ctx, ggml_reshape_3d(m->ctx, m->w, 8, 4, 3), m->index, 8, GGML_ROPE_TYPE_NEOX))         \
    ROW(im2col, W,                                                                                           \
        ggml_im2col(m->ctx, ggml_new_tensor_4d(m->ctx, GGML_TYPE_F32, 3, 3, 2, 5), m->w, 1, 1, 1, 1, 1, 1,   \
                    true, GGML_TYPE_F32))                                                                    \
    ROW(pool_2d, W, ggml_pool_2d(m->ctx, m->w, GGML_OP_POOL_AVG, 2, 2, 2, 2, 0, 0))                          \
    ROW(cross_entropy_loss, W, ggml_cross_entropy_loss(m->ctx, m->w, m->x))                                  \
    ROW(abs, W, ggml_abs(m->ctx, m->w))                                                                      \
    ROW(sgn, W | ZERO, ggml_sgn(m->ctx, m->w))                                                               \
    ROW(neg, W, ggml_neg(m->ctx, m->w))                                                                      \
    ROW(step, W | ZERO, ggml_step(m->ctx, m->w))                                                             \
    ROW(relu, W, ggml_relu(m->ctx, m->w))                                                                    \
    ROW(silu, W, ggml_silu(m->ctx, m->w))                                                                    \
    ROW(exp, W, ggml_exp(m->ctx, m->w))                                                                      \
    ROW(expm1, W, ggml_expm1(m->ctx, m->w))                                                                  \
    ROW(softplus, W, ggml_softplus(m->ctx, m->w))                                                            \
    ROW(swiglu_split, W | V, ggml_swiglu_split(m->ctx, m->w, ggml_repeat(m->ctx, m->v, m->w)))

#define WITHOUT_GRADIENT                                                                                     \
    ROW(tanh, "TANH", ggml_tanh(m->ctx, m->w))                                                               \
    ROW(gelu, "GELU", ggml_gelu(m->ctx, m->w))                                                               \
    ROW(sigmoid, "SIGMOID", ggml_sigmoid(m->ctx, m->w))                                                      \
    ROW(swiglu, "SWIGLU", ggml_swiglu(m->ctx, m->w))                                                         \
    ROW(geglu_split, "GEGLU", ggml_geglu_split(m->ctx, m->w, m->x))                                          \
    ROW(norm, "NORM", ggml_norm(m->ctx, m->w, 1e-5f))                                                        \
    ROW(group_norm, "GROUP_NORM", ggml_group_norm(m->ctx, m->w, 2, 1e-5f))                                   \
    ROW(l2_norm, "L2_NORM", ggml_l2_norm(m->ctx, m->w, 1e-5f))                                               \
    ROW(concat, "CONCAT", ggml_concat(m->ctx, m->w, m->x, 0))                                                \
    ROW(clamp, "CLAMP", ggml_clamp(m->ctx, m->w, 0.0f, 1.0f))                                                \
    ROW(cumsum, "CUMSUM", ggml_cumsum(m->ctx, m->w))                                                         \
    ROW(out_prod, "OUT_PROD", ggml_out_prod(m->ctx, m->w, m->x))                                             \
    ROW(pad, "PAD", ggml_pad(m->ctx, m->w, 1, 1, 0, 0))                                                      \
    ROW(upscale, "UPSCALE", ggml_upscale(m->ctx, m->w, 2, GGML_SCALE_MODE_NEAREST))                          \
    ROW(leaky_relu, "LEAKY_RELU", ggml_leaky_relu(m->ctx, m->w, 0.1f, false))                                \
    ROW(pool_1d, "POOL_1D", ggml_pool_1d(m->ctx, m->w, GGML_OP_POOL_AVG, 2, 2, 0))                           \
    ROW(roll, "ROLL", ggml_roll(m->ctx, m->w, 1, 0, 0, 0))                                                   \
    ROW(tri, "TRI", ggml_tri(m->ctx, ggml_cont_3d(m->ctx, m->w, 4, 4, 6), GGML_TRI_TYPE_LOWER))              \
    ROW(labels, "CROSS_ENTROPY_LOSS", ggml_cross_entropy_loss(m->ctx, m->x, m->w))                           \
    ROW(mask, "SOFT_MAX", ggml_soft_max_ext(m->ctx, m->x, m->w, 1.0f, 0.0f))                                 \
    ROW(in_place, "SQR", ggml_sqr_inplace(m->ctx, m->w))

#define ROW(name, expected, expression) CASE(name, expression)
WITH_GRADIENT
WITHOUT_GRADIENT
#undef ROW

// y as a loss: its sum where it is no single value. Sums want f32.
static struct ggml_cgraph * differentiate(struct made * m, struct ggml_tensor * y) {
    struct ggml_tensor * t = y;
    if (t->type != GGML_TYPE_F32) t = ggml_cast(m->ctx, t, GGML_TYPE_F32);
    if (!ggml_is_contiguous_rows(t)) t = ggml_cont(m->ctx, t);
    if (!ggml_is_scalar(t)) t = ggml_sum(m->ctx, t);
    ggml_set_loss(t);
    struct ggml_cgraph * g = ggml_new_graph_custom(m->ctx, 256, true);
    ggml_build_forward_expand(g, t);
    ggml_build_backward_expand(m->ctx, g, NULL);
    return g;
}

static void check_gradient(const char * name, const struct ggml_cgraph * g, const struct ggml_tensor * t,
                           bool wanted) {
    const struct ggml_tensor * grad = ggml_graph_get_grad(g, t);
    if ((grad != NULL) != wanted)
        fail_msg("%s: gradient of %s is %s", name, t->name, grad ? "there" : "missing");
    if (!grad) return;
    if (!ggml_are_same_shape(grad, t)) fail_msg("%s: another shape than %s", name, t->name);
    assert_int_equal(grad->type, GGML_TYPE_F32);
    assert_true(tn_graph_find(g, grad) != TN_GRAPH_ABSENT);
    assert_true(grad->op == GGML_OP_NONE || strncmp(grad->name, "grad for ", 9) == 0);
}

static void check(const char * name, int expected, struct ggml_tensor * (*build)(struct made * m)) {
    struct made m = make();
    struct ggml_tensor * y = build(&m);
    if (!ggml_ext_tensor_valid(y)) fail_msg("%s: %s", name, ggml_ext_last_error());
    const struct ggml_cgraph * g = differentiate(&m, y);
    if (!ggml_ext_graph_valid(g)) fail_msg("%s: %s", name, ggml_ext_last_error());
    if (!tn_graph_check(g)) fail_msg("%s: %s", name, ggml_ext_last_error());
    check_gradient(name, g, m.w, (expected & (W | ZERO)) == W);
    check_gradient(name, g, m.v, (expected & V) != 0);
    assert_null(ggml_graph_get_grad(g, m.x));
    ggml_free(m.ctx);
}

static void every_gradient(void ** state) {
    (void) state;
#define ROW(name, expected, expression) check(#name, expected, make_##name);
    WITH_GRADIENT
#undef ROW
}

static void check_refused(const char * name, const char * op,
                          struct ggml_tensor * (*build)(struct made * m)) {
    struct made m = make();
    struct ggml_tensor * y = build(&m);
    if (!ggml_ext_tensor_valid(y)) fail_msg("%s: %s", name, ggml_ext_last_error());
    const struct ggml_cgraph * g = differentiate(&m, y);
    if (ggml_ext_graph_valid(g)) fail_msg("%s was not refused", name);
    assert_contains(ggml_ext_last_error(), op);
    assert_contains(ggml_ext_last_error(), "gradient");
    ggml_free(m.ctx);
}

static void refusals_name_the_operator(void ** state) {
    (void) state;
#define ROW(name, expected, expression)                                                                      \
    check_refused(#name, "ggml_build_backward_expand: " expected, make_##name);
    WITHOUT_GRADIENT
#undef ROW
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gradient),
        cmocka_unit_test(refusals_name_the_operator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
