// SPDX-License-Identifier: MIT
// Kinds of faults that schedulers are known for, each as a whole kind.
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

// ---- memory that somebody may still read -----------------------------------------------------------------

static void setup_pulling(int i, struct fake_options * o) {
    (void) i;
    o->pulls = true; // copies are made by the reader, whenever it gets there
}

static void setup_without_events(int i, struct fake_options * o) {
    setup_pulling(i, o);
    o->events = false;
}

// a (0) is read by b (1), perhaps late. What comes then on 0 has inputs from nowhere, and takes a's place.
static void overwrite_what_is_read_late(bool parallel, stage_setup setup) {
    struct stage s = stage_begin(2, parallel, setup);
    struct ggml_context * ctx = stage_context();
    struct ggml_cgraph * graph = stage_graph(ctx);
    struct ggml_tensor * w = stage_row(ctx, "w");
    ggml_backend_buffer_t memory = stage_own(&s, 0, w, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    stage_fill(w, 1, 1);
    struct ggml_tensor * a = ggml_set_name(ggml_scale(ctx, w, 2), "a");
    struct ggml_tensor * b = ggml_set_name(ggml_scale(ctx, a, 3), "b");
    struct ggml_tensor * c = ggml_set_name(ggml_scale(ctx, w, 5), "c");
    struct ggml_tensor * d = ggml_set_name(ggml_add(ctx, b, c), "d");
    ggml_set_output(d);
    ggml_build_forward_expand(graph, b);
    ggml_build_forward_expand(graph, d);
    stage_place(&s, b, 1);
    stage_place(&s, d, 1);
    stage_alloc(&s, graph);
    assert_int_equal(ggml_backend_sched_get_n_splits(s.sched), 4);
    assert_ptr_equal(a->data, c->data);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ggml_backend_sched_graph_compute_async(s.sched, graph), GGML_STATUS_SUCCESS);
        if (i != 1) ggml_backend_sched_synchronize(s.sched);
        stage_check(&s);
    }
    stage_expect(d, 11, 11);
    ggml_free(ctx);
    ggml_backend_buffer_free(memory);
    stage_end(&s);
}

static void a_split_without_inputs_waits_for_late_readers(void ** state) {
    (void) state;
    overwrite_what_is_read_late(false, NULL);
    overwrite_what_is_read_late(true, NULL);
    overwrite_what_is_read_late(false, setup_pulling);
    overwrite_what_is_read_late(true, setup_pulling);
    overwrite_what_is_read_late(false, setup_without_events);
    overwrite_what_is_read_late(true, setup_without_events);
}

// ---- leafs in memory of others ---------------------------------------------------------------------------

// The caches of a model, on a device and in the program: graph after graph reads and writes them.
static void leafs_of_others_serve_many_graphs(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, NULL);
    struct ggml_context * owner = stage_context();
    struct ggml_tensor *there = stage_row(owner, "there"), *here = stage_row(owner, "here");
    ggml_backend_buffer_t memories[] = { stage_own(&s, 1, there, GGML_BACKEND_BUFFER_USAGE_ANY),
                                         stage_own(&s, 2, here, GGML_BACKEND_BUFFER_USAGE_ANY) };
    stage_fill(there, 0, 0);
    stage_fill(here, 0, 0);
    for (int i = 0; i < 20; i++) {
        struct ggml_context * ctx = stage_context();
        struct ggml_cgraph * graph = stage_graph(ctx);
        struct ggml_tensor * x = stage_input(ctx, "x");
        ggml_build_forward_expand(graph, ggml_cpy(ctx, ggml_add(ctx, there, x), there));
        ggml_build_forward_expand(graph, ggml_cpy(ctx, ggml_add(ctx, here, there), here));
        ggml_backend_sched_reset(s.sched);
        stage_place(&s, graph->nodes[0], i % 3);
        stage_place(&s, graph->nodes[2], (i + 1) % 3);
        stage_alloc(&s, graph);
        stage_fill(x, 1, 2);
        stage_compute(&s, graph);
        ggml_free(ctx);
    }
    stage_expect(there, 20, 40);
    stage_expect(here, 210, 420);
    ggml_backend_buffer_free(memories[0]);
    ggml_backend_buffer_free(memories[1]);
    ggml_free(owner);
    stage_end(&s);
}

// Data that the program itself owns, in no buffer.
static void data_of_the_program_is_read(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(1, parallel, NULL);
        struct ggml_context * owner = ggml_init((struct ggml_init_params){ 4096, NULL, false });
        struct ggml_tensor * w = stage_row(owner, "w");
        for (int i = 0; i < N; i++)
            ((float *) w->data)[i] = (float) (i + 1);
        struct ggml_context * ctx = stage_context();
        struct ggml_cgraph * graph = stage_graph(ctx);
        struct ggml_tensor *a = ggml_scale(ctx, w, 2), *b = ggml_add(ctx, a, w);
        ggml_set_output(b);
        ggml_build_forward_expand(graph, b);
        stage_place(&s, a, 0);
        stage_place(&s, b, 0);
        stage_alloc(&s, graph);
        stage_compute(&s, graph);
        stage_expect(b, 3, 3);
        ggml_free(ctx);
        ggml_free(owner);
        stage_end(&s);
    }
}

// ---- values that change while they are read elsewhere ----------------------------------------------------

// Who reads before a write gets the old value, who reads behind it the new one, on every back end.
static void copies_follow_what_is_written(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(2, parallel, NULL);
        struct ggml_context * ctx = stage_context();
        struct ggml_cgraph * graph = stage_graph(ctx);
        struct ggml_tensor * x = stage_input(ctx, "x");
        struct ggml_tensor * a = ggml_scale(ctx, x, 2);           // on 0
        struct ggml_tensor * before = ggml_scale(ctx, a, 1);      // on 1
        struct ggml_tensor * more = ggml_add_inplace(ctx, a, x);  // on 0: a is 3x from now on
        struct ggml_tensor * after = ggml_scale(ctx, a, 1);       // on 1
        struct ggml_tensor * through = ggml_scale(ctx, more, 10); // on 1
        struct ggml_tensor * list[] = { before, more, after, through };
        for (int i = 0; i < 4; i++) {
            ggml_set_output(list[i]);
            ggml_build_forward_expand(graph, list[i]);
            stage_place(&s, list[i], list[i] == more ? 0 : 1);
        }
        stage_place(&s, a, 0);
        stage_alloc(&s, graph);
        stage_fill(x, 1, 1);
        stage_compute(&s, graph);
        stage_expect(before, 2, 2);
        stage_expect(after, 3, 3);
        stage_expect(through, 30, 30);
        ggml_free(ctx);
        stage_end(&s);
    }
}

// ---- the same graph again and again ----------------------------------------------------------------------

static void graphs_are_computed_again_and_again(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(2, parallel, NULL);
        struct chain c = chain_build();
        chain_place(&s, &c, 0, 1, 0);
        stage_alloc(&s, c.graph);
        for (int i = 0; i < 100; i++)
            chain_run(&s, &c, (float) i);
        ggml_free(c.ctx);
        stage_end(&s);
    }
}

// Inputs are the caller's as soon as the call returns, finished or not.
static void inputs_may_be_set_while_a_graph_runs(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(2, parallel, NULL);
        struct chain c = chain_build();
        chain_place(&s, &c, 0, 1, 0);
        stage_alloc(&s, c.graph);
        float got[10][N];
        for (int i = 0; i < 10; i++) {
            chain_set(&c, (float) i);
            assert_int_equal(ggml_backend_sched_graph_compute_async(s.sched, c.graph), GGML_STATUS_SUCCESS);
            ggml_backend_tensor_get_async(s.backends[0], c.out, got[i], 0, sizeof(got[i]));
        }
        ggml_backend_sched_synchronize(s.sched);
        for (int i = 0; i < 10; i++)
            assert_true(got[i][5] == 3 * (float) i + 105);
        ggml_free(c.ctx);
        stage_end(&s);
    }
}

// With instances the next graph is fed while the earlier ones run; nobody waits for them.
static void several_graphs_are_in_flight(void ** state) {
    (void) state;
    enum { FLIGHT = 12 };
    struct stage s = stage_begin(3, true, NULL);
    struct chain c[FLIGHT];
    float got[FLIGHT][N];
    for (int i = 0; i < FLIGHT; i++) {
        c[i] = chain_build();
        ggml_backend_sched_reset(s.sched);
        chain_place(&s, &c[i], 0, 1, 2);
        stage_alloc(&s, c[i].graph);
        const int before = s.devices[0]->counts.synchronizes;
        chain_set(&c[i], (float) i);
        assert_int_equal(ggml_backend_sched_graph_compute_async(s.sched, c[i].graph), GGML_STATUS_SUCCESS);
        ggml_backend_tensor_get_async(s.backends[2], c[i].out, got[i], 0, sizeof(got[i]));
        if (i > 0) assert_int_equal(s.devices[0]->counts.synchronizes, before);
    }
    ggml_backend_sched_synchronize(s.sched);
    for (int i = 0; i < FLIGHT; i++) {
        for (int k = 0; k < N; k++)
            assert_true(got[i][k] == 3 * (float) i + 100 + (float) k);
        ggml_free(c[i].ctx);
    }
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

// Different graphs in turn, each no larger than the first: once all have been there nothing grows.
static void hundreds_of_graphs_take_no_more_memory(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(2, parallel, NULL);
        int64_t settled = 0;
        size_t device = 0;
        for (int i = 0; i < 400; i++) {
            struct ggml_context * ctx = stage_context();
            struct ggml_cgraph * graph = stage_graph(ctx);
            struct ggml_tensor *x = stage_input(ctx, "x"), *sum = x;
            const int n = i % 100 == 0 ? 60 : 1 + i * 7 % 60;
            for (int k = 0; k < n; k++) {
                sum = ggml_add(ctx, k % 5 == i % 5 ? x : sum, sum);
                if (k * i % 3 != 1) stage_place(&s, sum, k * (i % 17) % 3);
            }
            ggml_build_forward_expand(graph, sum);
            stage_alloc(&s, graph);
            stage_fill(x, 1, 1);
            stage_compute(&s, graph);
            ggml_backend_sched_reset(s.sched);
            ggml_free(ctx);
            if (i == 299) settled = live_bytes();
            if (i == 299) device = s.devices[0]->counts.bytes + s.devices[1]->counts.bytes;
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
        cmocka_unit_test(a_split_without_inputs_waits_for_late_readers),
        cmocka_unit_test(leafs_of_others_serve_many_graphs),
        cmocka_unit_test(data_of_the_program_is_read),
        cmocka_unit_test(copies_follow_what_is_written),
        cmocka_unit_test(graphs_are_computed_again_and_again),
        cmocka_unit_test(inputs_may_be_set_while_a_graph_runs),
        cmocka_unit_test(several_graphs_are_in_flight),
        cmocka_unit_test(placements_count_while_reserving),
        cmocka_unit_test(hundreds_of_graphs_take_no_more_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
