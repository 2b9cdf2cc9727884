// SPDX-License-Identifier: MIT
// Gradients of whole networks, for every kind of loss, against differences of the loss itself: each element
// of each parameter is moved a little to both sides.
#include "train/learn.h"

enum { BATCH = 3, WIDTH = 6, CLASSES = 4 };

struct net {
    struct ggml_tensor *inputs, *outputs;
};

static struct ggml_tensor * dense(struct learner * l, struct ggml_tensor * x, int64_t n) {
    struct ggml_tensor * w = learner_param(l, "w", x->ne[0], n, 1, 1);
    struct ggml_tensor * b = learner_param(l, "b", n, 1, 1, 1);
    return ggml_add(l->ctx_compute, ggml_mul_mat(l->ctx_compute, w, x), b);
}

static struct net perceptron(struct learner * l) {
    struct ggml_context * c = l->ctx_compute;
    struct net n = { .inputs = ggml_new_tensor_2d(l->ctx, GGML_TYPE_F32, WIDTH, BATCH) };
    struct ggml_tensor * x = ggml_silu(c, dense(l, n.inputs, 5));
    n.outputs = dense(l, ggml_silu(c, dense(l, x, 5)), CLASSES);
    return n;
}

// A normed, gated block with a residual path.
static struct net gated(struct learner * l) {
    struct ggml_context * c = l->ctx_compute;
    struct net n = { .inputs = ggml_new_tensor_2d(l->ctx, GGML_TYPE_F32, WIDTH, BATCH) };
    struct ggml_tensor * x = dense(l, n.inputs, CLASSES);
    struct ggml_tensor * scale = learner_param(l, "scale", CLASSES, 1, 1, 1);
    struct ggml_tensor * y = ggml_mul(c, ggml_rms_norm(c, x, 1e-3f), scale);
    y = ggml_mul(c, ggml_silu(c, dense(l, y, 8)), dense(l, y, 8));
    n.outputs = ggml_add(c, x, dense(l, y, CLASSES));
    return n;
}

// One head over three tokens a datapoint: products of activations, softmax, views.
static struct net attention(struct learner * l) {
    struct ggml_context * c = l->ctx_compute;
    struct net n = { .inputs = ggml_new_tensor_2d(l->ctx, GGML_TYPE_F32, WIDTH, BATCH) };
    struct ggml_tensor * x = ggml_reshape_3d(c, n.inputs, WIDTH / 3, 3, BATCH);
    struct ggml_tensor * q = dense(l, x, 4);
    struct ggml_tensor * k = dense(l, x, 4);
    struct ggml_tensor * v = dense(l, x, 4);
    struct ggml_tensor * scores = ggml_soft_max(c, ggml_scale(c, ggml_mul_mat(c, k, q), 0.5f));
    struct ggml_tensor * y = ggml_mul_mat(c, ggml_cont(c, ggml_transpose(c, v)), scores);
    n.outputs = dense(l, ggml_reshape_2d(c, y, 12, BATCH), CLASSES);
    return n;
}

static struct net convolution(struct learner * l) {
    struct ggml_context * c = l->ctx_compute;
    struct net n = { .inputs = ggml_new_tensor_2d(l->ctx, GGML_TYPE_F32, 36, BATCH) };
    struct ggml_tensor * x = ggml_reshape_4d(c, n.inputs, 6, 6, 1, BATCH);
    for (int i = 0; i < 2; i++) {
        struct ggml_tensor * k = learner_param(l, "kernel", 3, 3, x->ne[2], 3);
        struct ggml_tensor * columns = ggml_im2col(c, k, x, 2, 2, 1, 1, 1, 1, true, GGML_TYPE_F32);
        const int64_t positions = columns->ne[1] * columns->ne[2] * BATCH;
        struct ggml_tensor * flat = ggml_reshape_2d(c, k, columns->ne[0], 3);
        struct ggml_tensor * y =
            ggml_mul_mat(c, ggml_reshape_2d(c, columns, columns->ne[0], positions), flat);
        y = ggml_reshape_4d(c, y, columns->ne[1], columns->ne[2], BATCH, 3);
        x = ggml_silu(c, ggml_cont(c, ggml_permute(c, y, 0, 1, 3, 2)));
    }
    n.outputs = dense(l, ggml_reshape_2d(c, x, x->ne[0] * x->ne[1] * 3, BATCH), CLASSES);
    return n;
}

struct training {
    struct learner l;
    struct net net;
    ggml_opt_context_t opt;
    float inputs[64 * BATCH];
    float labels[CLASSES * BATCH];
};

static double evaluate(struct training * t, bool backward) {
    ggml_opt_alloc(t->opt, backward);
    ggml_backend_tensor_set(t->net.inputs, t->inputs, 0, ggml_nbytes(t->net.inputs));
    if (ggml_opt_labels(t->opt))
        ggml_backend_tensor_set(ggml_opt_labels(t->opt), t->labels, 0, sizeof(t->labels));
    tn_error_clear();
    ggml_opt_eval(t->opt, NULL);
    assert_string_equal(ggml_ext_last_error(), "");
    return (double) learner_f32(ggml_opt_loss(t->opt), 0);
}

static double moved(struct training * t, struct ggml_tensor * param, int64_t i, float by) {
    const float old = learner_f32(param, i), now = old + by;
    ggml_backend_tensor_set(param, &now, (size_t) i * sizeof(now), sizeof(now));
    const double loss = evaluate(t, false);
    ggml_backend_tensor_set(param, &old, (size_t) i * sizeof(old), sizeof(old));
    return loss;
}

// Richardson's combination of two steps: an error of the fourth order.
static double slope(struct training * t, struct ggml_tensor * param, int64_t i) {
    const float h = 0x1p-4f;
    const double near = (moved(t, param, i, h) - moved(t, param, i, -h)) / (2.0 * (double) h);
    const double far = (moved(t, param, i, 2.0f * h) - moved(t, param, i, -2.0f * h)) / (4.0 * (double) h);
    return (4.0 * near - far) / 3.0;
}

static void check_param(struct training * t, struct ggml_tensor * param, int64_t step) {
    for (int64_t i = 0; i < ggml_nelements(param); i += step) {
        const double want = slope(t, param, i);
        const double got = (double) learner_f32(ggml_opt_grad_acc(t->opt, param), i);
        if (!(fabs(got - want) <= 2e-3 * (0.2 + fabs(want))))
            fail_msg("gradient of %s[%d] is %.6g, differences give %.6g", param->name, (int) i, got, want);
    }
}

static void fill_data(struct training * t) {
    for (size_t i = 0; i < sizeof(t->inputs) / sizeof(float); i++)
        t->inputs[i] = test_rng_float(&t->l.rng, -1.0f, 1.0f);
    for (int64_t i = 0; i < BATCH; i++) {
        for (int64_t k = 0; k < CLASSES; k++)
            t->labels[i * CLASSES + k] = k == i % CLASSES ? 0.7f : 0.1f;
    }
}

static void check_net(struct net (*make)(struct learner *), enum ggml_opt_loss_type loss, uint64_t seed) {
    struct training t = { .l = learner_new(2, seed) };
    t.net = make(&t.l);
    learner_start(&t.l);
    fill_data(&t);
    struct ggml_opt_params p = learner_params(&t.l, t.net.inputs, t.net.outputs, loss);
    p.build_type = GGML_OPT_BUILD_TYPE_GRAD;
    t.opt = learner_opt(&p);
    evaluate(&t, true);
    const int64_t step = learner_slow() ? 7 : 1;
    struct ggml_tensor * x = ggml_get_first_tensor(t.l.ctx);
    for (; x; x = ggml_get_next_tensor(t.l.ctx, x)) {
        if (x->flags & GGML_TENSOR_FLAG_PARAM) check_param(&t, x, step);
    }
    ggml_opt_free(t.opt);
    learner_free(&t.l);
}

static void check_losses(struct net (*make)(struct learner *)) {
    const uint64_t seed = test_seed();
    check_net(make, GGML_OPT_LOSS_TYPE_MEAN, seed);
    check_net(make, GGML_OPT_LOSS_TYPE_SUM, seed);
    check_net(make, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY, seed);
    check_net(make, GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR, seed);
}

static void of_perceptrons(void ** state) {
    (void) state;
    check_losses(perceptron);
}

static void of_gated_blocks(void ** state) {
    (void) state;
    check_losses(gated);
}

static void of_attention(void ** state) {
    (void) state;
    check_losses(attention);
}

static void of_convolutions(void ** state) {
    (void) state;
    check_losses(convolution);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_perceptrons),
        cmocka_unit_test(of_gated_blocks),
        cmocka_unit_test(of_attention),
        cmocka_unit_test(of_convolutions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
