// SPDX-License-Identifier: MIT
// Kinds of faults that schedulers are known for, each as a whole kind: what is read, written and copied in
// which order, on devices that do nothing before they have to.
#include "unit/sched/stage.h"

// ---- memory that somebody may still read -----------------------------------------------------------------

static void setup_pulling(int i, struct fake_options * o) {
    (void) i;
    o->copying = FAKE_BY_DESTINATION; // copies are made by the reader, whenever it gets there
}

static void setup_without_events(int i, struct fake_options * o) {
    setup_pulling(i, o);
    o->events = false;
}

// Each reads the other's memory where it is: nothing is copied, and no split has inputs.
static void setup_sharing(int i, struct fake_options * o) {
    (void) i;
    o->host_memory = o->reads_host = true;
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
    overwrite_what_is_read_late(false, setup_sharing);
    overwrite_what_is_read_late(true, setup_sharing);
}

static void setup_blocking(int i, struct fake_options * o) {
    (void) i;
    o->async_copies = false;
}

// What the program has queued on one device between graphs comes before what a graph reads on another.
static void read_what_the_program_queues(bool parallel, stage_setup setup) {
    struct stage s = stage_begin(2, parallel, setup);
    struct ggml_context *owner = stage_context(), *ctx = stage_context();
    struct ggml_tensor * cache = stage_row(owner, "cache");
    ggml_backend_buffer_t memory = stage_own(&s, 0, cache, GGML_BACKEND_BUFFER_USAGE_ANY);
    struct ggml_cgraph * graph = stage_graph(ctx);
    struct ggml_tensor * out = ggml_scale(ctx, cache, 2);
    ggml_set_output(out);
    ggml_build_forward_expand(graph, out);
    stage_place(&s, out, 1);
    stage_alloc(&s, graph);
    for (int i = 1; i < 5; i++) {
        float values[N];
        for (int k = 0; k < N; k++)
            values[k] = (float) (i + k);
        ggml_backend_tensor_set_async(s.backends[0], cache, values, 0, sizeof(values));
        stage_compute(&s, graph);
        stage_check(&s);
        stage_expect(out, 2 * (float) i, 2);
    }
    ggml_free(ctx);
    ggml_backend_buffer_free(memory);
    ggml_free(owner);
    stage_end(&s);
}

static void transfers_of_the_program_come_first(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        read_what_the_program_queues(parallel, NULL);
        read_what_the_program_queues(parallel, setup_blocking);
        read_what_the_program_queues(parallel, setup_sharing);
    }
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

// With instances the next graph is fed while the earlier ones run; nobody waits for them, but for the one
// whose instance it gets.
static void fly(stage_setup setup) {
    enum { FLIGHT = 12 };
    struct stage s = stage_begin(3, true, setup);
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

static void several_graphs_are_in_flight(void ** state) {
    (void) state;
    fly(NULL);
    fly(setup_sharing); // inputs are read where the caller sets them
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_split_without_inputs_waits_for_late_readers),
        cmocka_unit_test(transfers_of_the_program_come_first),
        cmocka_unit_test(leafs_of_others_serve_many_graphs),
        cmocka_unit_test(data_of_the_program_is_read),
        cmocka_unit_test(copies_follow_what_is_written),
        cmocka_unit_test(graphs_are_computed_again_and_again),
        cmocka_unit_test(inputs_may_be_set_while_a_graph_runs),
        cmocka_unit_test(several_graphs_are_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
