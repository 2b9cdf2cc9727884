// SPDX-License-Identifier: MIT
// Graphs on meta devices against the same graphs on one device: bit by bit where nothing is summed over
// devices, within the rounding of such sums elsewhere.
#include "unit/backend/meta_model.h"

static const struct model_shape shapes[] = {
    { 32, 4, 2, 96, 3, false, false, GGML_TYPE_F32, 0 },
    { 32, 4, 4, 128, 1, true, false, GGML_TYPE_F32, 0 },
    { 32, 8, 4, 96, 5, true, true, GGML_TYPE_Q8_0, 0 },
    { 32, 8, 8, 160, 4, false, true, GGML_TYPE_F16, 3 },
    { 32, 6, 3, 192, 2, true, true, GGML_TYPE_F32, 11 },
    { 32, 6, 6, 64, 7, false, false, GGML_TYPE_Q8_0, 23 },
    { 32, 2, 1, 32, 2, true, false, GGML_TYPE_F32, 5 }, // some devices have nothing
};

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

struct results {
    float *query, *out;
};

static struct results run(ggml_backend_t backend, struct model_shape shape) {
    struct model m = model_build(shape, ggml_backend_get_default_buffer_type(backend));
    if (!m.buffer) fail_msg("%s", ggml_ext_last_error());
    ggml_gallocr_t alloc = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
    if (!ggml_gallocr_alloc_graph(alloc, m.graph)) fail_msg("%s", ggml_ext_last_error());
    model_fill(&m);
    struct results r = { 0 };
    for (int again = 0; again < 2; again++) {
        free(r.query);
        free(r.out);
        model_set_inputs(&m);
        if (ggml_backend_graph_compute(backend, m.graph) != GGML_STATUS_SUCCESS)
            fail_msg("%s", ggml_ext_last_error());
        r = (struct results){ model_read(m.query), model_read(m.out) };
    }
    ggml_gallocr_free(alloc);
    model_free(&m);
    return r;
}

static void compare(const struct results * a, const struct results * b, struct model_shape shape) {
    const int64_t n_query = model_width(&shape) * shape.tokens, n_out = MODEL_VOCAB * shape.tokens;
    assert_memory_equal(a->query, b->query, (size_t) n_query * sizeof(float));
    double error = 0, norm = 0;
    for (int64_t i = 0; i < n_out; i++) {
        error += pow((double) a->out[i] - (double) b->out[i], 2);
        norm += pow((double) b->out[i], 2);
    }
    if (!(error <= 1e-8 * norm)) fail_msg("the results differ by %g", sqrt(error / norm));
    assert_true(norm > 1);
}

static void models_on(meta_setup setup) {
    for (int n = 1; n <= 5; n++) {
        for (int i = 0; i < SHAPES; i++) {
            struct meta_stage s = meta_begin(n, setup);
            model_rules(&shapes[i], n);
            struct results whole = run(s.cpu, shapes[i]), parts = run(s.backend, shapes[i]);
            meta_check(&s);
            compare(&parts, &whole, shapes[i]);
            free(whole.query), free(whole.out), free(parts.query), free(parts.out);
            meta_end(&s);
        }
    }
}

static void test_on_the_processor(void ** state) {
    (void) state;
    models_on(NULL);
}

static void test_on_lazy_devices(void ** state) {
    (void) state;
    models_on(meta_default);
}

static void test_on_devices_that_work_at_once(void ** state) {
    (void) state;
    models_on(meta_at_once);
}

static void test_without_events(void ** state) {
    (void) state;
    models_on(meta_no_events);
}

static void test_in_the_background(void ** state) {
    (void) state;
    models_on(meta_background);
}

static void test_on_different_devices(void ** state) {
    (void) state;
    models_on(meta_mixed);
}

// ---- below a scheduler ------------------------------------------------------------------------------------

// Inputs and what has no weights may run on the processor; all that crosses over is copied.
static struct results run_scheduled(struct meta_stage * s, struct model_shape shape, bool parallel) {
    ggml_backend_t backends[] = { s->backend, s->cpu };
    ggml_backend_sched_t sched = ggml_backend_sched_new(backends, NULL, 2, 2048, parallel, true);
    assert_non_null(sched);
    struct model m = model_build(shape, ggml_backend_get_default_buffer_type(s->backend));
    if (!m.buffer) fail_msg("%s", ggml_ext_last_error());
    model_fill(&m);
    ggml_backend_sched_set_tensor_backend(sched, m.query, s->cpu); // in the middle
    if (!ggml_backend_sched_alloc_graph(sched, m.graph)) fail_msg("%s", ggml_ext_last_error());
    for (int again = 0; again < 3; again++) {
        model_set_inputs(&m);
        if (ggml_backend_sched_graph_compute(sched, m.graph) != GGML_STATUS_SUCCESS)
            fail_msg("%s", ggml_ext_last_error());
    }
    assert_true(ggml_backend_sched_get_n_splits(sched) > 1);
    struct results r = { model_read(m.query), model_read(m.out) };
    ggml_backend_sched_free(sched);
    model_free(&m);
    return r;
}

static void test_below_a_scheduler(void ** state) {
    (void) state;
    static const meta_setup setups[] = { NULL, meta_default, meta_mixed, meta_background };
    for (int i = 0; i < 4 * SHAPES; i++) {
        const struct model_shape shape = shapes[i / 4];
        struct meta_stage s = meta_begin(2 + i % 3, setups[i % 4]);
        model_rules(&shape, s.n);
        struct results whole = run(s.cpu, shape), parts = run_scheduled(&s, shape, i % 5 == 0);
        meta_check(&s);
        compare(&parts, &whole, shape);
        free(whole.query), free(whole.out), free(parts.query), free(parts.out);
        meta_end(&s);
    }
}

// ---- sums over devices ------------------------------------------------------------------------------------

// One matrix by rows of its columns: launches and copies say when sums were formed.
struct sums {
    struct ggml_context * ctx;
    struct ggml_tensor *w, *w2, *x, *bias, *out;
    struct ggml_cgraph * graph;
    ggml_backend_buffer_t buffer;
};

enum { WIDE = 64, HIGH = 32 };

static struct ggml_tensor * sums_leaf(struct sums * t, const char * name, int64_t ne0, int64_t ne1) {
    return ggml_set_name(ggml_new_tensor_2d(t->ctx, GGML_TYPE_F32, ne0, ne1), name);
}

static struct sums sums_begin(struct meta_stage * s) {
    struct sums t = { .ctx = meta_context() };
    for (int i = 0; i < 3; i++)
        meta_split_by((const char *[]){ "w", "w2", "x" }[i], 0, s->n, WIDE, 1, 9);
    meta_segment(meta_rule("bias", GGML_BACKEND_SPLIT_AXIS_PARTIAL), s->n, (int64_t[5]){ 0 }, 1);
    t.w = sums_leaf(&t, "w", WIDE, HIGH);
    t.w2 = sums_leaf(&t, "w2", WIDE, HIGH);
    t.x = sums_leaf(&t, "x", WIDE, 3);
    t.bias = sums_leaf(&t, "bias", HIGH, 1);
    t.buffer = ggml_backend_alloc_ctx_tensors(t.ctx, s->backend);
    assert_non_null(t.buffer);
    t.graph = ggml_new_graph(t.ctx);
    for (struct ggml_tensor * leaf = t.w;; leaf = ggml_get_next_tensor(t.ctx, leaf)) {
        model_fill_one(leaf);
        if (leaf == t.bias) break;
    }
    return t;
}

// The result of `out` on the meta device, and what it must be.
static void sums_check(struct meta_stage * s, struct sums * t, struct ggml_tensor * out, float factor) {
    ggml_set_output(out);
    ggml_build_forward_expand(t->graph, out);
    ggml_gallocr_t alloc = ggml_gallocr_new(ggml_backend_get_default_buffer_type(s->backend));
    assert_true(ggml_gallocr_alloc_graph(alloc, t->graph));
    for (int j = 0; j < s->n; j++)
        s->fakes[j]->counts.launches = 0;
    if (ggml_backend_graph_compute(s->backend, t->graph) != GGML_STATUS_SUCCESS)
        fail_msg("%s", ggml_ext_last_error());
    float *is = model_read(out), *w = model_read(t->w), *w2 = model_read(t->w2), *x = model_read(t->x),
          *bias = model_read(t->bias);
    for (int64_t k = 0; k < HIGH * 3; k++) {
        double sum = (double) bias[k % HIGH];
        for (int64_t i = 0; i < WIDE; i++)
            sum +=
                (double) (w[k % HIGH * WIDE + i] + w2[k % HIGH * WIDE + i]) * (double) x[k / HIGH * WIDE + i];
        if (fabs(sum * (double) factor - (double) is[k]) > 1e-4) fail_msg("%g, not %g", (double) is[k], sum);
    }
    free(is), free(w), free(w2), free(x), free(bias);
    ggml_gallocr_free(alloc);
}

// Branches, a bias that is such a sum itself, and factors: one sum over the devices at the end is enough.
static void test_sums_are_formed_once(void ** state) {
    (void) state;
    for (int n = 2; n <= 5; n++) {
        struct meta_stage s = meta_begin(n, meta_default);
        struct sums t = sums_begin(&s);
        struct ggml_tensor * both =
            ggml_add(t.ctx, ggml_mul_mat(t.ctx, t.w, t.x), ggml_mul_mat(t.ctx, t.w2, t.x));
        sums_check(&s, &t, ggml_scale(t.ctx, ggml_add(t.ctx, both, t.bias), 3.0f), 3.0f);
        int launches = 0, copies = 0;
        for (int j = 0; j < n; j++) {
            launches += s.fakes[j]->counts.launches;
            copies += s.fakes[j]->counts.copies_async;
        }
        const int exchanges[] = { 0, 0, 2, 4, 8, 10 };
        assert_int_equal(copies, exchanges[n]);
        assert_true(launches <= 3 * n + 8);
        ggml_backend_buffer_free(t.buffer);
        ggml_free(t.ctx);
        meta_end(&s);
    }
}

// A device that cannot add leaves the sum to the host; one that refuses a copy is gone around.
static void test_sums_without_help(void ** state) {
    (void) state;
    for (int way = 0; way < 2; way++) {
        struct meta_stage s = meta_begin(3, meta_default);
        if (way == 0) s.fakes[1]->options.ops[0] &= ~((uint64_t) 1 << GGML_OP_ADD);
        ggml_backend_free(s.backend);
        s.backend = ggml_backend_dev_init(s.meta, NULL);
        struct sums t = sums_begin(&s);
        if (way == 1) s.fakes[2]->orders.copy = 1;
        float zero[HIGH] = { 0 };
        ggml_backend_tensor_set(t.bias, zero, 0, sizeof(zero));
        ggml_backend_tensor_set(t.w2, (float[WIDE * HIGH]){ 0 }, 0, WIDE * HIGH * sizeof(float));
        sums_check(&s, &t, ggml_mul_mat(t.ctx, t.w, t.x), 1.0f);
        ggml_backend_buffer_free(t.buffer);
        ggml_free(t.ctx);
        meta_end(&s);
    }
}

// ---- what fails -------------------------------------------------------------------------------------------

static void test_no_rule_names_node_and_split(void ** state) {
    (void) state;
    struct meta_stage s = meta_begin(2, meta_default);
    struct sums t = sums_begin(&s);
    struct ggml_tensor * norm = ggml_set_name(ggml_rms_norm(t.ctx, ggml_sqr(t.ctx, t.x), 1e-5f), "cut_rows");
    ggml_build_forward_expand(t.graph, norm);
    assert_false(ggml_backend_supports_op(s.backend, ggml_rms_norm(t.ctx, t.x, 1e-5f)));
    ggml_gallocr_t alloc = ggml_gallocr_new(ggml_backend_get_default_buffer_type(s.backend));
    assert_true(ggml_gallocr_alloc_graph(alloc, t.graph));
    assert_int_equal(ggml_backend_graph_compute(s.backend, t.graph), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "Meta(Fake0,Fake1): RMS_NORM 'cut_rows' cannot be computed");
    assert_contains(ggml_ext_last_error(), "axis 0");
    ggml_gallocr_free(alloc);
    ggml_backend_buffer_free(t.buffer);
    ggml_free(t.ctx);
    meta_end(&s);
}

// A launch fails, or the device is gone from then on; what was made can be freed, and after a failure that
// was only one the same graph gives the right result.
static void fail_at(int device, int launch, bool lost) {
    struct meta_stage s = meta_begin(3, meta_default);
    model_rules(&shapes[0], 3);
    struct model m = model_build(shapes[0], ggml_backend_get_default_buffer_type(s.backend));
    ggml_gallocr_t alloc = ggml_gallocr_new(ggml_backend_get_default_buffer_type(s.backend));
    assert_true(ggml_gallocr_alloc_graph(alloc, m.graph));
    model_fill(&m);
    model_set_inputs(&m);
    if (lost)
        s.fakes[device]->orders.lose_at = launch;
    else
        s.fakes[device]->orders.launch = launch;
    assert_int_not_equal(ggml_backend_graph_compute(s.backend, m.graph), GGML_STATUS_SUCCESS);
    assert_contains(ggml_ext_last_error(), "Meta(Fake0,Fake1,Fake2)");
    if (!lost) {
        struct results whole = run(s.cpu, shapes[0]);
        model_fill(&m);
        model_set_inputs(&m);
        assert_int_equal(ggml_backend_graph_compute(s.backend, m.graph), GGML_STATUS_SUCCESS);
        struct results parts = { model_read(m.query), model_read(m.out) };
        compare(&parts, &whole, shapes[0]);
        free(whole.query), free(whole.out), free(parts.query), free(parts.out);
    }
    ggml_gallocr_free(alloc);
    model_free(&m);
    meta_end(&s);
}

static void test_devices_that_fail(void ** state) {
    (void) state;
    for (int device = 0; device < 3; device++) {
        for (int launch = 1; launch <= 6; launch++) {
            fail_at(device, launch, false);
            fail_at(device, launch, true);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_the_processor),
        cmocka_unit_test(test_on_lazy_devices),
        cmocka_unit_test(test_on_devices_that_work_at_once),
        cmocka_unit_test(test_without_events),
        cmocka_unit_test(test_in_the_background),
        cmocka_unit_test(test_on_different_devices),
        cmocka_unit_test(test_below_a_scheduler),
        cmocka_unit_test(test_sums_are_formed_once),
        cmocka_unit_test(test_sums_without_help),
        cmocka_unit_test(test_no_rule_names_node_and_split),
        cmocka_unit_test(test_devices_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
