// SPDX-License-Identifier: MIT
// Who runs what, pass by pass.
#include "unit/sched/stage.h"

static void forbid(struct fake_options * o, enum ggml_op op) {
    o->ops[op / 64] &= ~(UINT64_C(1) << (op % 64));
}

// Fake0 multiplies only, Fake1 does everything but that.
static void two_trades(int i, struct fake_options * o) {
    if (i == 0) {
        o->ops[0] = o->ops[1] = 0;
        o->ops[GGML_OP_MUL / 64] |= UINT64_C(1) << (GGML_OP_MUL % 64);
    } else {
        forbid(o, GGML_OP_MUL);
    }
}

// ---- memory, inputs, weights -----------------------------------------------------------------------------

static void inputs_go_to_the_processor_and_caches_stay(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, NULL);
    struct ggml_context *owner = stage_context(), *ctx = stage_context();
    struct ggml_tensor * cache = stage_row(owner, "cache");
    ggml_backend_buffer_t memory = stage_own(&s, 1, cache, GGML_BACKEND_BUFFER_USAGE_ANY);
    struct ggml_tensor * x = stage_input(ctx, "x");
    struct ggml_tensor * stored = ggml_cpy(ctx, x, cache);
    struct ggml_cgraph * graph = stage_graph(ctx);
    ggml_build_forward_expand(graph, stored);
    stage_alloc(&s, graph);
    assert_int_equal(stage_where(&s, x), 2);
    assert_int_equal(stage_where(&s, cache), 1);
    assert_int_equal(stage_where(&s, stored), 1);
    stage_fill(x, 3, 1);
    stage_compute(&s, graph);
    stage_expect(cache, 3, 1);
    ggml_backend_buffer_free(memory);
    ggml_free(ctx);
    ggml_free(owner);
    stage_end(&s);
}

// x * w, then on: with weights on device 1, or with the host and devices that want or do not want them.
static void check_weights(int place, bool wants, int expected) {
    struct stage s = stage_begin(2, false, NULL);
    s.devices[0]->options.offloads = wants;
    struct ggml_context *owner = stage_context(), *ctx = stage_context();
    struct ggml_tensor *w = stage_row(owner, "w"), *x = stage_input(ctx, "x");
    ggml_backend_buffer_t memory = stage_own(&s, place, w, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    stage_fill(w, 2, 0);
    struct ggml_tensor * first = ggml_neg(ctx, x);
    struct ggml_tensor * product = ggml_mul(ctx, first, w);
    struct ggml_tensor * last = ggml_neg(ctx, product);
    ggml_set_output(last);
    struct ggml_cgraph * graph = stage_graph(ctx);
    ggml_build_forward_expand(graph, last);
    stage_alloc(&s, graph);
    assert_int_equal(stage_where(&s, product), expected);
    assert_int_equal(stage_where(&s, first), expected); // neighbours follow
    assert_int_equal(stage_where(&s, last), expected);
    stage_fill(x, 1, 1);
    stage_compute(&s, graph);
    stage_expect(last, 2, 2);
    ggml_backend_buffer_free(memory);
    ggml_free(ctx);
    ggml_free(owner);
    stage_end(&s);
}

static void nodes_run_where_their_weights_are(void ** state) {
    (void) state;
    check_weights(0, false, 0);
    check_weights(1, true, 1);
    check_weights(2, false, 2);
    check_weights(2, true, 0); // offload
}

// ---- neighbours ------------------------------------------------------------------------------------------

static void neighbours_are_taken_as_far_as_they_are_supported(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, two_trades);
    struct ggml_context * ctx = stage_context();
    struct ggml_tensor * x = stage_input(ctx, "x");
    struct ggml_tensor * nodes[6];
    nodes[0] = ggml_mul(ctx, x, x);
    nodes[1] = ggml_mul(ctx, nodes[0], x); // placed on 0
    nodes[2] = ggml_mul(ctx, nodes[1], x);
    nodes[3] = ggml_add(ctx, nodes[2], x); // nobody before it can
    nodes[4] = ggml_add(ctx, nodes[3], x); // placed on 1
    nodes[5] = ggml_mul(ctx, nodes[4], x); // nor can who is before it: 0 from further above
    static const int expected[] = { 0, 0, 0, 1, 1, 2 };
    struct ggml_cgraph * graph = stage_graph(ctx);
    ggml_build_forward_expand(graph, nodes[5]);
    stage_place(&s, nodes[1], 0);
    stage_place(&s, nodes[4], 1);
    stage_alloc(&s, graph);
    for (int i = 0; i < 6; i++)
        assert_int_equal(stage_where(&s, nodes[i]), expected[i]);
    ggml_free(ctx);
    stage_end(&s);
}

// Each device is asked about a node at most once, and none without need.
static int n_asked;
static bool (*supports_really)(ggml_backend_dev_t dev, const struct ggml_tensor * op);

static bool count_questions(ggml_backend_dev_t dev, const struct ggml_tensor * op) {
    n_asked++;
    return supports_really(dev, op);
}

static void a_device_is_asked_once_a_node(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, two_trades);
    supports_really = s.devices[0]->device.iface.supports_op;
    s.devices[0]->device.iface.supports_op = count_questions;
    struct ggml_context * ctx = stage_context();
    struct ggml_tensor * x = stage_input(ctx, "x");
    struct ggml_tensor * y = ggml_mul(ctx, x, x);
    stage_place(&s, y, 0);
    for (int i = 0; i < 50; i++)
        y = i % 2 ? ggml_mul(ctx, y, x) : ggml_neg(ctx, y);
    struct ggml_cgraph * graph = stage_graph(ctx);
    ggml_build_forward_expand(graph, y);
    n_asked = 0;
    ggml_backend_sched_split_graph(s.sched, graph);
    assert_true(n_asked > 0 && n_asked <= graph->n_nodes);
    ggml_free(ctx);
    stage_end(&s);
}

// ---- priority --------------------------------------------------------------------------------------------

static void with_the_hosts_memory(int i, struct fake_options * o) {
    (void) i;
    o->host_memory = true;
}

// Of back ends with the same memory the first runs what it can; but what the caller placed stays.
static void the_same_memory_goes_to_the_higher_priority(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, with_the_hosts_memory);
    ggml_backend_sched_free(s.sched);
    ggml_backend_buffer_type_t type = &s.devices[1]->type;
    ggml_backend_buffer_type_t types[] = { type, type, ggml_backend_cpu_buffer_type() };
    s.sched = ggml_backend_sched_new(s.backends, types, 3, 64, false, false);
    assert_non_null(s.sched);
    struct ggml_context *owner = stage_context(), *ctx = stage_context();
    struct ggml_tensor * x = stage_input(ctx, "x");
    struct ggml_tensor * first = ggml_neg(ctx, x);
    struct ggml_tensor * placed = ggml_neg(ctx, first);
    struct ggml_tensor * last = ggml_neg(ctx, placed);
    ggml_set_output(last);
    struct ggml_cgraph * graph = stage_graph(ctx);
    ggml_build_forward_expand(graph, last);
    stage_place(&s, placed, 1);
    stage_alloc(&s, graph);
    assert_int_equal(stage_where(&s, first), 0);
    assert_int_equal(stage_where(&s, placed), 1);
    assert_int_equal(stage_where(&s, last), 0);
    assert_int_equal(ggml_backend_sched_get_n_splits(s.sched), 3);
    assert_ptr_equal(placed->src[0], first); // read in place
    for (int i = 0; i < 4; i++) {
        stage_fill(x, 1, (float) i);
        stage_compute(&s, graph);
        stage_expect(last, -1, -(float) i);
    }
    ggml_free(ctx);
    ggml_free(owner);
    stage_end(&s);
}

// ---- nodes that write the memory of others ---------------------------------------------------------------

static void cannot_scale(int i, struct fake_options * o) {
    if (i == 0) forbid(o, GGML_OP_SCALE);
}

// a is computed on 0, which cannot scale; who scales it in place cannot reach it: both move.
static void writers_join_the_memory_they_write(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, cannot_scale);
    struct ggml_context * ctx = stage_context();
    struct ggml_tensor * x = stage_input(ctx, "x");
    struct ggml_tensor * a = ggml_neg(ctx, x);
    struct ggml_tensor * scaled = ggml_scale_inplace(ctx, a, 3);
    struct ggml_tensor * more = ggml_add_inplace(ctx, scaled, x);
    ggml_set_output(more);
    struct ggml_cgraph * graph = stage_graph(ctx);
    ggml_build_forward_expand(graph, more);
    stage_place(&s, a, 0);
    stage_place(&s, more, 1);
    stage_alloc(&s, graph);
    assert_int_equal(stage_where(&s, a), 1);
    assert_int_equal(stage_where(&s, scaled), 1);
    assert_int_equal(stage_where(&s, more), 1);
    stage_fill(x, 1, 1);
    stage_compute(&s, graph);
    stage_expect(more, -2, -2);
    ggml_free(ctx);
    stage_end(&s);
}

// ---- nowhere to run --------------------------------------------------------------------------------------

static void unsupported(struct stage * s, struct ggml_tensor * node, const char * why, const char * who) {
    struct ggml_context * ctx = stage_context();
    struct ggml_cgraph * graph = stage_graph(ctx);
    ggml_build_forward_expand(graph, node);
    assert_int_equal(ggml_backend_sched_graph_compute(s->sched, graph), GGML_STATUS_ALLOC_FAILED);
    assert_contains(ggml_ext_last_error(), why);
    assert_contains(ggml_ext_last_error(), who);
    ggml_free(ctx);
}

static bool refuse_everything(ggml_backend_dev_t dev, const struct ggml_tensor * op) {
    (void) dev, (void) op;
    return false;
}

// The processor of this test refuses too.
static void a_node_without_a_back_end_is_named(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, two_trades);
    struct ggml_context * ctx = stage_context();
    struct ggml_tensor * node = ggml_set_name(ggml_neg(ctx, stage_input(ctx, "x")), "lonely");
    struct ggml_backend_device * cpu = s.cpu->device;
    const struct ggml_backend_device_i iface = cpu->iface;
    cpu->iface.supports_op = refuse_everything;
    unsupported(&s, node, "no back end runs 'lonely' (NEG)", "Fake0: it does not say why; CPU: ");
    cpu->iface = iface;
    ggml_free(ctx);
    stage_end(&s);
}

static void a_placement_that_cannot_be_is_refused(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, two_trades);
    struct ggml_context * ctx = stage_context();
    struct ggml_tensor * node = ggml_set_name(ggml_neg(ctx, stage_input(ctx, "x")), "minus");
    stage_place(&s, node, 0);
    unsupported(&s, node, "'minus' (NEG) was placed on Fake0, which does not support it", "Fake0");
    ggml_free(ctx);
    stage_end(&s);
}

// A cache where nobody can compute what is to be written there.
static void memory_where_nobody_computes_is_named(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, cannot_scale);
    struct ggml_context *owner = stage_context(), *ctx = stage_context();
    struct ggml_tensor * cache = stage_row(owner, "cache");
    ggml_backend_buffer_t memory = stage_own(&s, 0, cache, GGML_BACKEND_BUFFER_USAGE_ANY);
    struct ggml_tensor * node = ggml_set_name(ggml_scale_inplace(ctx, cache, 2), "scaled");
    unsupported(&s, node, "'scaled' (SCALE) lies in Fake0 memory",
                "no back end can use and run it: Fake0 CPU");
    ggml_backend_buffer_free(memory);
    ggml_free(ctx);
    ggml_free(owner);
    stage_end(&s);
}

// A step of AdamW writes its moments as well: it goes where they are, or they to where it can run.
static void moments_are_written_where_they_are(void ** state) {
    (void) state;
    for (int place = 0; place < 3; place++) {
        struct stage s = stage_begin(2, false, NULL);
        struct ggml_context *owner = stage_context(), *ctx = stage_context();
        struct ggml_tensor *m = stage_row(owner, "m"), *v = stage_row(owner, "v");
        ggml_backend_buffer_t memory[] = { stage_own(&s, place, m, GGML_BACKEND_BUFFER_USAGE_ANY),
                                           stage_own(&s, place, v, GGML_BACKEND_BUFFER_USAGE_ANY) };
        struct ggml_tensor *w = stage_input(ctx, "w"), *grad = stage_input(ctx, "grad");
        struct ggml_tensor * params = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 7);
        ggml_set_input(params);
        ggml_set_param(w);
        struct ggml_tensor * step = ggml_opt_step_adamw(ctx, w, grad, m, v, params);
        struct ggml_cgraph * graph = stage_graph(ctx);
        ggml_build_forward_expand(graph, step);
        stage_alloc(&s, graph);
        assert_int_equal(stage_where(&s, step), place);
        stage_fill(m, 2, 1);
        stage_fill(v, 4, 0);
        stage_fill(w, 0, 0);
        stage_fill(grad, 0, 0);
        ggml_backend_tensor_set(params, (const float[]){ 0.5f, 0.5f, 0.25f, 1, 0, 1, 1 }, 0,
                                7 * sizeof(float));
        stage_compute(&s, graph);
        stage_expect(m, 1, 0.5f);
        stage_expect(v, 1, 0);
        ggml_backend_buffer_free(memory[0]);
        ggml_backend_buffer_free(memory[1]);
        ggml_free(ctx);
        ggml_free(owner);
        stage_end(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_go_to_the_processor_and_caches_stay),
        cmocka_unit_test(nodes_run_where_their_weights_are),
        cmocka_unit_test(neighbours_are_taken_as_far_as_they_are_supported),
        cmocka_unit_test(a_device_is_asked_once_a_node),
        cmocka_unit_test(the_same_memory_goes_to_the_higher_priority),
        cmocka_unit_test(writers_join_the_memory_they_write),
        cmocka_unit_test(moments_are_written_where_they_are),
        cmocka_unit_test(a_node_without_a_back_end_is_named),
        cmocka_unit_test(a_placement_that_cannot_be_is_refused),
        cmocka_unit_test(memory_where_nobody_computes_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
