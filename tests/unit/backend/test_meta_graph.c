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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_the_processor),
        cmocka_unit_test(test_on_lazy_devices),
        cmocka_unit_test(test_on_devices_that_work_at_once),
        cmocka_unit_test(test_without_events),
        cmocka_unit_test(test_in_the_background),
        cmocka_unit_test(test_on_different_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
