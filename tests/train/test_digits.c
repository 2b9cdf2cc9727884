// SPDX-License-Identifier: MIT
// A small convolutional network learns to read digits: at least 97 of 100 that it has not seen, with an
// optimiser step for each batch and with gradients added up over two. With sanitizers it gets a part of the
// data and of the time, and a lower aim. The same training gives the same bits for every number of threads,
// and again from where it started.
#include "train/digits.h"
#include "train/learn.h"

struct net {
    struct ggml_tensor *inputs, *outputs;
};

static struct ggml_tensor * dense(struct learner * l, struct ggml_tensor * x, int64_t n) {
    struct ggml_tensor * w = learner_param(l, "w", x->ne[0], n, 1, 1);
    struct ggml_tensor * b = learner_param(l, "b", n, 1, 1, 1);
    return ggml_add(l->ctx_compute, ggml_mul_mat(l->ctx_compute, w, x), b);
}

enum { KERNEL = 7, CHANNELS = 16, PATCHES = 32, HALF = DIGITS_SIDE / 2, QUARTER = DIGITS_SIDE / 4 };

// 16 kernels of 7 x 7 in steps of 2, 32 of 2 x 2 in steps of 2, a layer of classes.
static struct net digits_net(struct learner * l, int64_t batch) {
    struct ggml_context * c = l->ctx_compute;
    struct net n = { .inputs = ggml_new_tensor_2d(l->ctx, GGML_TYPE_F32, DIGITS_PIXELS, batch) };
    struct ggml_tensor * shape = ggml_new_tensor_4d(c, GGML_TYPE_F32, KERNEL, KERNEL, 1, 1);
    struct ggml_tensor * x = ggml_reshape_4d(c, n.inputs, DIGITS_SIDE, DIGITS_SIDE, 1, batch);
    x = ggml_im2col(c, shape, x, 2, 2, KERNEL / 2, KERNEL / 2, 1, 1, true, GGML_TYPE_F32);
    x = ggml_reshape_2d(c, x, KERNEL * KERNEL, HALF * HALF * batch);
    x = ggml_relu(c, dense(l, x, CHANNELS));
    x = ggml_reshape_4d(c, x, 2 * CHANNELS, QUARTER, 2, QUARTER * batch); // pairs of columns, pairs of rows
    x = ggml_cont(c, ggml_permute(c, x, 0, 2, 1, 3));
    x = ggml_reshape_2d(c, x, 4 * CHANNELS, QUARTER * QUARTER * batch);
    x = ggml_relu(c, dense(l, x, PATCHES));
    n.outputs = dense(l, ggml_reshape_2d(c, x, PATCHES * QUARTER * QUARTER, batch), DIGITS_CLASSES);
    return n;
}

static struct ggml_opt_optimizer_params falling(void * userdata) {
    struct ggml_opt_optimizer_params p = ggml_opt_get_default_optimizer_params(NULL);
    const int64_t epoch = *(const int64_t *) userdata;
    p.adamw.alpha = 8e-3f * powf(0.6f, (float) (epoch - 1));
    p.adamw.wd = 1e-2f;
    return p;
}

static void fit(struct learner * l, const struct net * n, ggml_opt_dataset_t ds, int64_t n_epochs,
                int64_t logical) {
    tn_error_clear();
    ggml_opt_fit(l->sched, l->ctx_compute, n->inputs, n->outputs, ds, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY,
                 GGML_OPT_OPTIMIZER_TYPE_ADAMW, falling, n_epochs, logical, 0.0f, true);
    assert_string_equal(ggml_ext_last_error(), "");
}

// Share of the data set that is read right.
static double accuracy_on(struct learner * l, const struct net * n, ggml_opt_dataset_t ds) {
    struct ggml_opt_params p = learner_params(l, n->inputs, n->outputs, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY);
    double accuracy, unc;
    p.build_type = GGML_OPT_BUILD_TYPE_FORWARD;
    ggml_opt_context_t opt = learner_opt(&p);
    ggml_opt_result_t result = ggml_opt_result_init();
    ggml_opt_epoch(opt, ds, NULL, result, 0, NULL, NULL);
    ggml_opt_result_accuracy(result, &accuracy, &unc);
    printf("accuracy on digits not seen: %.1f +- %.1f %%\n", 100.0 * accuracy, 100.0 * unc);
    ggml_opt_result_free(result);
    ggml_opt_free(opt);
    return accuracy;
}

// Batches of `batch`, a step for every 50 datapoints.
static void learn(int64_t batch) {
    const bool small = learner_slow();
    ggml_opt_dataset_t train = digits_load("train", small ? 1000 : 9000);
    ggml_opt_dataset_t test = digits_load("test", small ? 300 : 1000);
    struct learner l = learner_new(1, 1);
    const struct net n = digits_net(&l, batch);
    learner_start(&l);
    fit(&l, &n, train, small ? 2 : 5, 50);
    const double accuracy = accuracy_on(&l, &n, test), aim = small ? 0.8 : 0.97;
    if (accuracy < aim) fail_msg("%.1f %% are less than %.1f %%", 100.0 * accuracy, 100.0 * aim);
    learner_free(&l);
    ggml_opt_dataset_free(test);
    ggml_opt_dataset_free(train);
}

static void digits_are_learnt(void ** state) {
    (void) state;
    learn(50);
}

static void digits_are_learnt_from_added_gradients(void ** state) {
    (void) state;
    learn(25);
}

// ---- the same bits --------------------------------------------------------------------------------------

// All bytes of parameters after a short training; the caller frees them.
static char * trained(struct learner * l, const struct net * n, size_t * size) {
    ggml_opt_dataset_t ds = digits_load("train", learner_slow() ? 100 : 300);
    fit(l, n, ds, 1, 50);
    *size = ggml_backend_buffer_get_size(l->buffer);
    char * bytes = malloc(*size);
    memcpy(bytes, ggml_backend_buffer_get_base(l->buffer), *size);
    ggml_opt_dataset_free(ds);
    return bytes;
}

static void for_every_number_of_threads(void ** state) {
    (void) state;
    const int threads[] = { 1, 2, 5 };
    char * bytes[3];
    size_t size;
    for (int i = 0; i < 3; i++) {
        struct learner l = learner_new(threads[i], 1);
        const struct net n = digits_net(&l, 25);
        learner_start(&l);
        bytes[i] = trained(&l, &n, &size);
        learner_free(&l);
    }
    assert_memory_equal(bytes[0], bytes[1], size);
    assert_memory_equal(bytes[0], bytes[2], size);
    for (int i = 0; i < 3; i++)
        free(bytes[i]);
}

static void again_from_the_start(void ** state) {
    (void) state;
    struct learner l = learner_new(2, 1);
    const struct net n = digits_net(&l, 25);
    size_t size;
    learner_start(&l);
    void * base = ggml_backend_buffer_get_base(l.buffer);
    char * start = malloc(ggml_backend_buffer_get_size(l.buffer));
    memcpy(start, base, ggml_backend_buffer_get_size(l.buffer));
    char * once = trained(&l, &n, &size);
    assert_memory_not_equal(once, start, size);
    memcpy(base, start, size);
    char * again = trained(&l, &n, &size);
    assert_memory_equal(once, again, size);
    free(again);
    free(once);
    free(start);
    learner_free(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_are_learnt),
        cmocka_unit_test(digits_are_learnt_from_added_gradients),
        cmocka_unit_test(for_every_number_of_threads),
        cmocka_unit_test(again_from_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
