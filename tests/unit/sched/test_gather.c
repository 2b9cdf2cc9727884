// SPDX-License-Identifier: MIT
// Graphs that cannot be scheduled: each is refused with a text, stays as it was, and harms no later one.
#include "unit/sched/stage.h"

#include "backend/iface.h"

static void refused(struct stage * s, struct ggml_cgraph * graph, const char * why) {
    size_t sizes[STAGE_DEVICES + 1] = { 0 };
    ggml_backend_sched_reset(s->sched);
    assert_false(ggml_backend_sched_alloc_graph(s->sched, graph));
    assert_contains(ggml_ext_last_error(), why);
    assert_false(ggml_backend_sched_reserve(s->sched, graph));
    assert_contains(ggml_ext_last_error(), why);
    assert_int_equal(ggml_backend_sched_graph_compute(s->sched, graph), GGML_STATUS_ALLOC_FAILED);
    assert_contains(ggml_ext_last_error(), why);
    ggml_backend_sched_reserve_size(s->sched, graph, sizes);
    for (int i = 0; i <= s->n; i++)
        assert_int_equal(sizes[i], SIZE_MAX);
    ggml_backend_sched_split_graph(s->sched, graph);
    assert_contains(ggml_ext_last_error(), why);
    struct chain c = chain_build();
    ggml_backend_sched_reset(s->sched);
    chain_place(s, &c, 0, s->n, 0);
    stage_alloc(s, c.graph);
    chain_run(s, &c, 4);
    ggml_backend_sched_reset(s->sched);
    ggml_free(c.ctx);
}

static void no_graph_is_refused(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    refused(&s, NULL, "the graph is NULL");
    stage_end(&s);
}

static void what_builders_refused_is_refused(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    struct ggml_context * ctx = stage_context();
    struct ggml_tensor * a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3);
    struct ggml_tensor * wrong = ggml_mul_mat(ctx, a, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4));
    struct ggml_cgraph * graph = stage_graph(ctx);
    ggml_build_forward_expand(graph, wrong);
    refused(&s, graph, "ggml_mul_mat");
    // Slipped in behind the builders' back.
    struct ggml_cgraph * other = stage_graph(ctx);
    struct ggml_tensor * b = ggml_scale(ctx, a, 2);
    ggml_build_forward_expand(other, b);
    b->src[0] = wrong;
    refused(&s, other, "ggml_mul_mat");
    ggml_free(ctx);
    stage_end(&s);
}

static void too_many_tensors_are_refused(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    ggml_backend_sched_free(s.sched);
    s.sched = ggml_backend_sched_new(s.backends, NULL, 2, 20, false, false); // up to 32
    struct ggml_context * ctx = stage_context();
    struct ggml_tensor *x = stage_input(ctx, "x"), *y = x;
    struct ggml_cgraph * graph = stage_graph(ctx);
    for (int i = 0; i < 32; i++)
        y = ggml_scale(ctx, y, 2);
    ggml_build_forward_expand(graph, y);
    refused(&s, graph, "the graph has 33 nodes and leafs, the scheduler was made for 32");
    struct ggml_cgraph * less = stage_graph(ctx);
    ggml_build_forward_expand(less, y->src[0]);
    stage_alloc(&s, less);
    ggml_free(ctx);
    stage_end(&s);
}

static void an_empty_graph_is_none_to_refuse(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(1, parallel, NULL);
        struct ggml_context * ctx = stage_context();
        struct ggml_cgraph * graph = stage_graph(ctx);
        stage_alloc(&s, graph);
        stage_compute(&s, graph);
        ggml_backend_sched_reset(s.sched);
        struct ggml_cgraph * only_views = stage_graph(ctx);
        ggml_build_forward_expand(only_views, ggml_reshape_2d(ctx, stage_input(ctx, "x"), N / 2, 2));
        stage_alloc(&s, only_views);
        stage_compute(&s, only_views);
        ggml_free(ctx);
        stage_end(&s);
    }
}

// ---- memory that is not there, or not to be used ---------------------------------------------------------

static void a_freed_buffer_is_noticed(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    struct ggml_context *owner = stage_context(), *ctx = stage_context();
    struct ggml_tensor * w = stage_row(owner, "weights");
    ggml_backend_buffer_t memory = stage_own(&s, 0, w, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    assert_true(tn_buffer_is_live(memory));
    ggml_backend_buffer_free(memory);
    assert_false(tn_buffer_is_live(memory));
    struct ggml_cgraph * graph = stage_graph(ctx);
    ggml_build_forward_expand(graph, ggml_scale(ctx, w, 2));
    refused(&s, graph, "'weights' lies in a buffer that was freed");
    ggml_free(ctx);
    ggml_free(owner);
    stage_end(&s);
}

static void memory_that_no_back_end_knows_is_refused(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    struct fake_device * stranger = fake_device_new(s.world, fake_options_default());
    struct ggml_context *owner = stage_context(), *ctx = stage_context();
    struct ggml_tensor * w = stage_row(owner, "weights");
    ggml_backend_buffer_t memory = ggml_backend_buft_alloc_buffer(&stranger->type, ggml_nbytes(w));
    ggml_backend_tensor_alloc(memory, w, ggml_backend_buffer_get_base(memory));
    struct ggml_cgraph * graph = stage_graph(ctx);
    ggml_build_forward_expand(graph, ggml_scale(ctx, w, 2));
    refused(&s, graph, "'weights' (NONE) lies in Fake1 memory, which no back end can use: Fake0 CPU");
    ggml_backend_buffer_free(memory);
    ggml_free(ctx);
    ggml_free(owner);
    stage_end(&s);
}

// A graph that another scheduler split has that one's copies for sources.
static void graphs_of_other_schedulers_are_refused(void ** state) {
    (void) state;
    for (int alive = 0; alive < 2; alive++) {
        struct stage s = stage_begin(2, false, NULL);
        ggml_backend_sched_t other = ggml_backend_sched_new(s.backends, NULL, 3, 64, false, false);
        struct chain c = chain_build();
        ggml_backend_sched_set_tensor_backend(other, c.sum, s.backends[1]);
        assert_true(ggml_backend_sched_alloc_graph(other, c.graph));
        if (!alive) ggml_backend_sched_free(other);
        refused(&s, c.graph, "was split before, by another scheduler");
        if (alive) ggml_backend_sched_free(other);
        ggml_free(c.ctx);
        stage_end(&s);
    }
}

static void a_graph_is_not_split_again_after_others(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, NULL);
    struct chain first = chain_build(), second = chain_build();
    chain_place(&s, &first, 0, 1, 0);
    stage_alloc(&s, first.graph);
    ggml_backend_sched_reset(s.sched);
    chain_place(&s, &second, 0, 1, 0);
    stage_alloc(&s, second.graph);
    refused(&s, first.graph, "before another graph");
    ggml_free(first.ctx);
    ggml_free(second.ctx);
    stage_end(&s);
}

// What an earlier graph computed in memory that is handed out again.
static void results_of_earlier_graphs_are_gone(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    struct chain c = chain_build();
    stage_alloc(&s, c.graph);
    chain_run(&s, &c, 1);
    ggml_backend_sched_reset(s.sched);
    struct ggml_context * ctx = stage_context();
    struct ggml_cgraph * graph = stage_graph(ctx);
    ggml_graph_add_node(graph, ggml_scale(ctx, c.out, 2));
    refused(&s, graph, "'out' was computed by an earlier graph of this scheduler");
    ggml_free(ctx);
    ggml_free(c.ctx);
    stage_end(&s);
}

// What a scheduler computed goes with it.
static void results_of_freed_schedulers_are_gone(void ** state) {
    (void) state;
    for (int view = 0; view < 2; view++) {
        struct stage s = stage_begin(1, false, NULL);
        ggml_backend_sched_t other = ggml_backend_sched_new(s.backends, NULL, 2, 64, false, false);
        struct chain c = chain_build();
        assert_true(ggml_backend_sched_alloc_graph(other, c.graph));
        ggml_backend_sched_free(other);
        struct ggml_context * ctx = stage_context();
        struct ggml_cgraph * graph = stage_graph(ctx);
        struct ggml_tensor * source = view ? ggml_view_1d(ctx, c.out, 4, 0) : c.out;
        ggml_graph_add_node(graph, ggml_scale(ctx, source, 2));
        ggml_backend_sched_reset(s.sched);
        assert_false(ggml_backend_sched_alloc_graph(s.sched, graph));
        assert_contains(ggml_ext_last_error(), "lies in a buffer that was freed");
        ggml_free(ctx);
        ggml_free(c.ctx);
        stage_end(&s);
    }
}

// ... but another scheduler's stay, and may be read.
static void results_of_other_schedulers_are_read(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, NULL);
    ggml_backend_sched_t other = ggml_backend_sched_new(s.backends, NULL, 3, 64, false, false);
    struct chain c = chain_build();
    ggml_backend_sched_set_tensor_backend(other, c.out, s.backends[1]);
    assert_true(ggml_backend_sched_alloc_graph(other, c.graph));
    chain_set(&c, 2);
    assert_int_equal(ggml_backend_sched_graph_compute(other, c.graph), GGML_STATUS_SUCCESS);
    struct ggml_context * ctx = stage_context();
    struct ggml_cgraph * graph = stage_graph(ctx);
    struct ggml_tensor * twice = ggml_scale(ctx, c.out, 2);
    ggml_set_output(twice);
    ggml_graph_add_node(graph, twice);
    twice->flags |= GGML_TENSOR_FLAG_COMPUTE;
    stage_place(&s, twice, 0);
    stage_alloc(&s, graph);
    stage_compute(&s, graph);
    stage_expect(twice, 212, 2);
    ggml_backend_sched_free(other);
    ggml_free(ctx);
    ggml_free(c.ctx);
    stage_end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_graph_is_refused),
        cmocka_unit_test(what_builders_refused_is_refused),
        cmocka_unit_test(too_many_tensors_are_refused),
        cmocka_unit_test(an_empty_graph_is_none_to_refuse),
        cmocka_unit_test(a_freed_buffer_is_noticed),
        cmocka_unit_test(memory_that_no_back_end_knows_is_refused),
        cmocka_unit_test(graphs_of_other_schedulers_are_refused),
        cmocka_unit_test(a_graph_is_not_split_again_after_others),
        cmocka_unit_test(results_of_earlier_graphs_are_gone),
        cmocka_unit_test(results_of_freed_schedulers_are_gone),
        cmocka_unit_test(results_of_other_schedulers_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
