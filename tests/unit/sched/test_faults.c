// SPDX-License-Identifier: MIT
// Kinds of faults that schedulers are known for, each as a whole kind: plans, memory, numbers without end.
// Those of order are in test_order.c.
#include "unit/sched/stage.h"

#include "base/mem.h"

// ---- a plan of one graph used for another ----------------------------------------------------------------

// Four results of one size each; `kind` says who reads whom, and which sums are in place or kept.
struct knot {
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor *x, *a, *b, *c, *d;
};

static struct knot knot_build(int kind) {
    struct knot k = { .ctx = stage_context() };
    k.graph = stage_graph(k.ctx);
    k.x = stage_input(k.ctx, "x");
    k.a = ggml_add(k.ctx, k.x, k.x);                                     // 2x
    k.b = ggml_add(k.ctx, k.a, k.x);                                     // 3x
    k.c = ggml_add(k.ctx, k.b, kind == 0 ? k.b : kind == 1 ? k.a : k.x); // 6x, 5x, 4x
    k.d = ggml_add(k.ctx, k.c, kind == 2 ? k.a : k.x);                   // 7x, 6x, 6x
    if (kind == 3) ggml_set_output(k.a);
    ggml_set_output(k.d);
    ggml_build_forward_expand(k.graph, k.d);
    return k;
}

static void equal_counts_are_not_equal_graphs(void ** state) {
    (void) state;
    static const float factors[] = { 7, 6, 6, 5 };
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(2, parallel, NULL);
        for (int i = 0; i < 64; i++) {
            const int kind = i / 2 % 4;
            struct knot k = knot_build(kind);
            ggml_backend_sched_reset(s.sched);
            stage_place(&s, k.a, i % 2);
            stage_place(&s, k.b, i / 8 % 2);
            stage_place(&s, k.d, i % 3);
            stage_alloc(&s, k.graph);
            stage_fill(k.x, 1, 1);
            stage_compute(&s, k.graph);
            stage_expect(k.d, factors[kind], factors[kind]);
            if (kind == 3) stage_expect(k.a, 2, 2);
            ggml_free(k.ctx);
        }
        stage_end(&s);
    }
}

// ---- allocations that fail -------------------------------------------------------------------------------

// In whatever it was about to do: afterwards it does it.
static void a_device_without_memory_is_survived(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        for (int call = 0; call < 3; call++) {
            struct stage s = stage_begin(2, parallel, NULL);
            struct chain c = chain_build();
            chain_place(&s, &c, 0, 1, 0);
            s.devices[1]->orders.alloc = 1;
            if (call == 0) assert_false(ggml_backend_sched_reserve(s.sched, c.graph));
            if (call == 1) assert_false(ggml_backend_sched_alloc_graph(s.sched, c.graph));
            if (call == 2) {
                assert_int_equal(ggml_backend_sched_graph_compute(s.sched, c.graph),
                                 GGML_STATUS_ALLOC_FAILED);
            }
            assert_contains(ggml_ext_last_error(), "Fake1 memory cannot be had");
            assert_null(c.x->data);
            assert_null(c.out->buffer);
            assert_ptr_equal(c.sum->src[0], c.twice); // the graph is what it was
            ggml_backend_sched_reset(s.sched);
            chain_place(&s, &c, 0, 1, 0);
            stage_alloc(&s, c.graph);
            chain_run(&s, &c, 8);
            ggml_free(c.ctx);
            stage_end(&s);
        }
    }
}

// The graph that ran before had smaller buffers; they are freed before the larger ones are asked for.
static void growth_that_fails_is_survived(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    struct chain c = chain_build();
    chain_place(&s, &c, 0, 0, 0);
    stage_alloc(&s, c.graph);
    chain_run(&s, &c, 1);
    struct ggml_context * ctx = stage_context();
    struct ggml_cgraph * graph = stage_graph(ctx);
    struct ggml_tensor * big = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 64 * N);
    ggml_set_input(big);
    struct ggml_tensor * node = ggml_add(ctx, big, big);
    ggml_build_forward_expand(graph, node);
    ggml_backend_sched_reset(s.sched);
    stage_place(&s, node, 0);
    s.devices[0]->orders.alloc = 1;
    assert_false(ggml_backend_sched_alloc_graph(s.sched, graph));
    ggml_free(ctx);
    struct chain again = chain_build();
    ggml_backend_sched_reset(s.sched);
    chain_place(&s, &again, 0, 0, 0);
    stage_alloc(&s, again.graph);
    chain_run(&s, &again, 2);
    ggml_free(again.ctx);
    ggml_free(c.ctx);
    stage_end(&s);
}

// ---- inputs and splits without end -----------------------------------------------------------------------

static void a_split_has_any_number_of_inputs(void ** state) {
    (void) state;
    enum { MANY = 500 };
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(1, parallel, NULL);
        struct ggml_context * ctx = stage_context();
        struct ggml_cgraph * graph = stage_graph(ctx);
        struct ggml_tensor *inputs[MANY], *sum = NULL;
        for (int i = 0; i < MANY; i++) {
            inputs[i] = stage_input(ctx, "input");
            sum = sum ? ggml_add(ctx, sum, inputs[i]) : ggml_scale(ctx, inputs[i], 1);
            stage_place(&s, sum, 0);
        }
        ggml_set_output(sum);
        ggml_build_forward_expand(graph, sum);
        stage_alloc(&s, graph);
        assert_int_equal(ggml_backend_sched_get_n_splits(s.sched), 1);
        for (int i = 0; i < MANY; i++)
            stage_fill(inputs[i], (float) i, 1);
        stage_compute(&s, graph);
        stage_expect(sum, MANY * (MANY - 1) / 2, MANY);
        ggml_free(ctx);
        stage_end(&s);
    }
}

static void a_graph_has_any_number_of_splits(void ** state) {
    (void) state;
    enum { MANY = 600 };
    struct stage s = stage_begin(3, false, NULL);
    struct ggml_context * ctx = stage_context();
    struct ggml_cgraph * graph = stage_graph(ctx);
    struct ggml_tensor *x = stage_input(ctx, "x"), *sum = x;
    for (int i = 0; i < MANY; i++) {
        sum = ggml_add(ctx, sum, x);
        stage_place(&s, sum, i % 3);
    }
    ggml_set_output(sum);
    ggml_build_forward_expand(graph, sum);
    stage_alloc(&s, graph);
    assert_int_equal(ggml_backend_sched_get_n_splits(s.sched), MANY);
    stage_fill(x, 1, 1);
    stage_compute(&s, graph);
    stage_expect(sum, MANY + 1, MANY + 1);
    ggml_free(ctx);
    stage_end(&s);
}

// ---- placements while reserving --------------------------------------------------------------------------

static void placements_count_while_reserving(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(2, parallel, NULL);
        struct chain c = chain_build();
        chain_place(&s, &c, 1, 1, 1);
        assert_true(ggml_backend_sched_reserve(s.sched, c.graph));
        assert_true(ggml_backend_sched_get_buffer_size(s.sched, s.backends[1]) > 0);
        assert_int_equal(ggml_backend_sched_get_buffer_size(s.sched, s.backends[0]), 0);
        ggml_free(c.ctx);
        c = chain_build();
        const int before = s.devices[1]->counts.buffers;
        chain_place(&s, &c, 1, 1, 1);
        stage_alloc(&s, c.graph);
        assert_int_equal(s.devices[1]->counts.buffers, before); // it was reserved for
        chain_run(&s, &c, 3);
        ggml_free(c.ctx);
        stage_end(&s);
    }
}

// ---- growth ----------------------------------------------------------------------------------------------

static int64_t live_bytes(void) {
    int64_t bytes = 0;
    for (int tag = 0; tag < TN_MEM_TAGS; tag++) {
        struct tn_mem_stats stats;
        tn_mem_stats_get((enum tn_mem_tag) tag, &stats);
        bytes += stats.live_bytes;
    }
    return bytes;
}

static void setup_without_scale(int i, struct fake_options * o) {
    if (i == 0) o->ops[GGML_OP_SCALE / 64] &= ~(UINT64_C(1) << (GGML_OP_SCALE % 64));
}

// Sums of x and of w, which has memory of a type that no earlier graph had; some on devices that refuse them.
static void run_one_of_many(struct stage * s, int i, ggml_backend_buffer_type_t type) {
    struct ggml_context * ctx = stage_context();
    struct ggml_cgraph * graph = stage_graph(ctx);
    struct ggml_tensor *x = stage_input(ctx, "x"), *w = stage_row(ctx, "w"), *sum = x;
    *type = *ggml_backend_cpu_buffer_type();
    ggml_backend_buffer_t memory = ggml_backend_buft_alloc_buffer(type, N * sizeof(float));
    ggml_backend_tensor_alloc(memory, w, ggml_backend_buffer_get_base(memory));
    for (int k = 0; k <= i * 7 % 60; k++) {
        sum = ggml_add(ctx, k % 5 == i % 5 ? w : sum, sum);
        if (k * i % 3 != 1) stage_place(s, sum, k * (i % 17) % 3);
        if (k * i % 7 == 2) sum = ggml_scale(ctx, sum, 0.5f);
    }
    ggml_build_forward_expand(graph, sum);
    stage_alloc(s, graph);
    stage_fill(x, 1, 1);
    stage_fill(w, 1, 1);
    stage_compute(s, graph);
    ggml_backend_sched_reset(s->sched);
    ggml_backend_buffer_free(memory);
    ggml_free(ctx);
}

// A hundred graphs in turn: once all have been there nothing grows.
static void hundreds_of_graphs_take_no_more_memory(void ** state) {
    (void) state;
    enum { MANY = 400, SETTLED = 200 };
    static struct ggml_backend_buffer_type types[MANY];
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(2, parallel, setup_without_scale);
        int64_t settled = 0;
        size_t device = 0;
        for (int i = 0; i < MANY; i++) {
            run_one_of_many(&s, i % 100, &types[i]);
            if (i == SETTLED) settled = live_bytes();
            if (i == SETTLED) device = s.devices[0]->counts.bytes + s.devices[1]->counts.bytes;
        }
        assert_int_equal(live_bytes(), settled);
        assert_int_equal(s.devices[0]->counts.bytes + s.devices[1]->counts.bytes, device);
        stage_end(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_counts_are_not_equal_graphs),
        cmocka_unit_test(a_device_without_memory_is_survived),
        cmocka_unit_test(growth_that_fails_is_survived),
        cmocka_unit_test(a_split_has_any_number_of_inputs),
        cmocka_unit_test(a_graph_has_any_number_of_splits),
        cmocka_unit_test(placements_count_while_reserving),
        cmocka_unit_test(hundreds_of_graphs_take_no_more_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
