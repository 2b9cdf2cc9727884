// SPDX-License-Identifier: MIT
// The scheduler's states and public calls.
#include "unit/sched/sim.h"

#include "base/env.h"

static ggml_backend_t backends[SIM_DEVICES + 1];
static ggml_backend_sched_t sched;

static void begin(int n, bool parallel) {
    sim_begin(n, 7, backends);
    sched = ggml_backend_sched_new(backends, NULL, n + 1, 256, parallel, true);
    assert_non_null(sched);
}

static void end(void) {
    ggml_backend_sched_free(sched);
    sim_end();
}

// ---- a graph of two inputs whose parts can be placed -----------------------------------------------------

enum { N = 64 };

struct small {
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor *x, *y, *sum, *square, *out;
};

// (x + y)^2 * x
static struct small build(void) {
    struct small g = { 0 };
    const size_t size = 32 * ggml_tensor_overhead() + ggml_graph_overhead();
    g.ctx = ggml_init((struct ggml_init_params){ size, NULL, true });
    g.graph = ggml_new_graph(g.ctx);
    g.x = ggml_set_name(ggml_new_tensor_1d(g.ctx, GGML_TYPE_F32, N), "x");
    g.y = ggml_set_name(ggml_new_tensor_1d(g.ctx, GGML_TYPE_F32, N), "y");
    ggml_set_input(g.x);
    ggml_set_input(g.y);
    g.sum = ggml_set_name(ggml_add(g.ctx, g.x, g.y), "sum");
    g.square = ggml_set_name(ggml_sqr(g.ctx, g.sum), "square");
    g.out = ggml_set_name(ggml_mul(g.ctx, g.square, g.x), "out");
    ggml_set_output(g.out);
    ggml_build_forward_expand(g.graph, g.out);
    return g;
}

static void set_inputs(const struct small * g, float seed) {
    float x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = seed + (float) i;
        y[i] = 2 * seed - (float) i;
    }
    ggml_backend_tensor_set(g->x, x, 0, sizeof(x));
    ggml_backend_tensor_set(g->y, y, 0, sizeof(y));
}

static void check_result(const struct small * g, float seed) {
    float out[N];
    ggml_backend_tensor_get(g->out, out, 0, sizeof(out));
    for (int i = 0; i < N; i++) {
        const float x = seed + (float) i, y = 2 * seed - (float) i, sum = x + y;
        assert_true(out[i] == sum * sum * x);
    }
}

// ---- life ------------------------------------------------------------------------------------------------

static void bad_lists_are_refused(void ** state) {
    (void) state;
    sim_begin(2, 1, backends);
    assert_null(ggml_backend_sched_new(NULL, NULL, 1, 16, false, false));
    assert_null(ggml_backend_sched_new(backends, NULL, 0, 16, false, false));
    assert_null(ggml_backend_sched_new(backends, NULL, 17, 16, false, false));
    assert_contains(ggml_ext_last_error(), "17 back ends");
    assert_null(ggml_backend_sched_new(backends, NULL, 2, 16, false, false)); // without the processor
    assert_contains(ggml_ext_last_error(), "not the processor");
    ggml_backend_t with_null[] = { NULL, sims.cpu };
    assert_null(ggml_backend_sched_new(with_null, NULL, 2, 16, false, false));
    ggml_backend_buffer_type_t foreign[] = { &sims.devices[1].type, NULL, ggml_backend_cpu_buffer_type() };
    assert_null(ggml_backend_sched_new(backends, foreign, 3, 16, false, false));
    assert_contains(ggml_ext_last_error(), "Sim0");
    ggml_backend_sched_free(NULL);
    sim_end();
}

static void questions_are_answered(void ** state) {
    (void) state;
    begin(2, true);
    assert_int_equal(ggml_backend_sched_get_n_backends(sched), 3);
    assert_int_equal(ggml_backend_sched_get_n_copies(sched), 4);
    assert_ptr_equal(ggml_backend_sched_get_backend(sched, 1), backends[1]);
    assert_null(ggml_backend_sched_get_backend(sched, 3));
    assert_null(ggml_backend_sched_get_backend(sched, -1));
    assert_ptr_equal(ggml_backend_sched_get_buffer_type(sched, backends[1]), &sims.devices[1].type);
    assert_int_equal(ggml_backend_sched_get_buffer_size(sched, backends[1]), 0);
    assert_int_equal(ggml_backend_sched_get_n_splits(sched), 0);
    assert_null(ggml_backend_sched_get_buffer_type(sched, NULL));
    ggml_backend_sched_set_tensor_backend(sched, NULL, backends[0]);
    assert_null(ggml_backend_sched_get_tensor_backend(sched, NULL));
    end();
}

static void a_null_scheduler_is_refused(void ** state) {
    (void) state;
    size_t size = 0;
    assert_false(ggml_backend_sched_reserve(NULL, NULL));
    ggml_backend_sched_reserve_size(NULL, NULL, &size);
    ggml_backend_sched_split_graph(NULL, NULL);
    assert_false(ggml_backend_sched_alloc_graph(NULL, NULL));
    assert_int_equal(ggml_backend_sched_graph_compute(NULL, NULL), GGML_STATUS_FAILED);
    assert_int_equal(ggml_backend_sched_graph_compute_async(NULL, NULL), GGML_STATUS_FAILED);
    ggml_backend_sched_synchronize(NULL);
    ggml_backend_sched_reset(NULL);
    ggml_backend_sched_set_eval_callback(NULL, NULL, NULL);
    assert_int_equal(ggml_backend_sched_get_n_backends(NULL), 0);
    assert_int_equal(ggml_backend_sched_get_n_splits(NULL), 0);
    assert_int_equal(ggml_backend_sched_get_n_copies(NULL), 0);
    assert_null(ggml_backend_sched_get_backend(NULL, 0));
    assert_int_equal(ggml_backend_sched_get_buffer_size(NULL, NULL), 0);
    assert_null(ggml_backend_sched_get_tensor_backend(NULL, NULL));
    assert_int_equal(ggml_ext_explain(NULL, GGML_EXT_TEXT, NULL, 0), 0);
    assert_contains(ggml_ext_last_error(), "the scheduler is NULL");
}

// ---- graphs ----------------------------------------------------------------------------------------------

static void one_back_end_runs_all(void ** state) {
    (void) state;
    begin(0, false);
    struct small g = build();
    assert_true(ggml_backend_sched_alloc_graph(sched, g.graph));
    assert_int_equal(ggml_backend_sched_get_n_splits(sched), 1);
    set_inputs(&g, 3);
    assert_int_equal(ggml_backend_sched_graph_compute(sched, g.graph), GGML_STATUS_SUCCESS);
    check_result(&g, 3);
    ggml_free(g.ctx);
    end();
}

static void placements_make_splits(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        begin(2, parallel);
        struct small g = build();
        ggml_backend_sched_set_tensor_backend(sched, g.sum, backends[0]);
        ggml_backend_sched_set_tensor_backend(sched, g.square, backends[1]);
        ggml_backend_sched_set_tensor_backend(sched, g.out, backends[2]);
        assert_true(ggml_backend_sched_alloc_graph(sched, g.graph));
        assert_int_equal(ggml_backend_sched_get_n_splits(sched), 3);
        assert_ptr_equal(ggml_backend_sched_get_tensor_backend(sched, g.square), backends[1]);
        assert_ptr_equal(ggml_backend_sched_get_tensor_backend(sched, g.x), backends[2]);
        assert_string_equal(g.square->src[0]->name, "Sim1#sum#0");
        set_inputs(&g, 5);
        assert_int_equal(ggml_backend_sched_graph_compute(sched, g.graph), GGML_STATUS_SUCCESS);
        check_result(&g, 5);
        ggml_free(g.ctx);
        end();
    }
}

static void a_graph_is_computed_a_hundred_times(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        begin(2, parallel);
        struct small g = build();
        ggml_backend_sched_set_tensor_backend(sched, g.sum, backends[0]);
        ggml_backend_sched_set_tensor_backend(sched, g.square, backends[1]);
        assert_true(ggml_backend_sched_alloc_graph(sched, g.graph));
        for (int i = 0; i < 100; i++) {
            set_inputs(&g, (float) i);
            assert_int_equal(ggml_backend_sched_graph_compute(sched, g.graph), GGML_STATUS_SUCCESS);
            check_result(&g, (float) i);
        }
        ggml_free(g.ctx);
        end();
    }
}

static void many_graphs_may_be_in_flight(void ** state) {
    (void) state;
    begin(3, true);
    struct small g[20];
    for (int i = 0; i < 20; i++) {
        g[i] = build();
        ggml_backend_sched_reset(sched);
        ggml_backend_sched_set_tensor_backend(sched, g[i].sum, backends[i % 3]);
        ggml_backend_sched_set_tensor_backend(sched, g[i].square, backends[1]);
        ggml_backend_sched_set_tensor_backend(sched, g[i].out, backends[3]);
        assert_true(ggml_backend_sched_alloc_graph(sched, g[i].graph));
        set_inputs(&g[i], (float) i);
        assert_int_equal(ggml_backend_sched_graph_compute_async(sched, g[i].graph), GGML_STATUS_SUCCESS);
        ggml_backend_sched_synchronize(sched);
        check_result(&g[i], (float) i);
    }
    for (int i = 0; i < 20; i++)
        ggml_free(g[i].ctx);
    end();
}

static void a_computation_allocates_by_itself(void ** state) {
    (void) state;
    begin(1, false);
    struct small g = build();
    assert_int_equal(ggml_backend_sched_graph_compute(sched, g.graph), GGML_STATUS_SUCCESS);
    set_inputs(&g, 2);
    assert_int_equal(ggml_backend_sched_graph_compute(sched, g.graph), GGML_STATUS_SUCCESS);
    check_result(&g, 2);
    assert_false(ggml_backend_sched_alloc_graph(sched, g.graph));
    assert_contains(ggml_ext_last_error(), "reset");
    ggml_free(g.ctx);
    end();
}

// Gives a leaf memory of its own, as a weight.
static ggml_backend_buffer_t put_on_device(struct ggml_tensor * t, int device) {
    ggml_backend_buffer_t buffer = ggml_backend_alloc_buffer(backends[device], ggml_nbytes(t));
    assert_int_equal(ggml_backend_tensor_alloc(buffer, t, ggml_backend_buffer_get_base(buffer)),
                     GGML_STATUS_SUCCESS);
    ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    return buffer;
}

static void sizes_are_told_before(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        begin(2, parallel);
        size_t sizes[3], after[3];
        for (int pass = 0; pass < 3; pass++) {
            struct small g = build();
            ggml_backend_buffer_t weight = put_on_device(g.y, 0);
            if (pass == 0) {
                ggml_backend_sched_reserve_size(sched, g.graph, sizes);
                assert_int_equal(sims.devices[0].live, weight->size);
                ggml_backend_sched_reset(sched);
            } else if (pass == 1) {
                assert_true(ggml_backend_sched_reserve(sched, g.graph));
            } else {
                assert_true(ggml_backend_sched_alloc_graph(sched, g.graph));
            }
            for (int b = 0; b < 3; b++)
                after[b] = ggml_backend_sched_get_buffer_size(sched, backends[b]);
            for (int b = 0; b < 3 && pass > 0; b++)
                assert_int_equal(after[b], sizes[b]);
            ggml_free(g.ctx);
            ggml_backend_buffer_free(weight);
        }
        for (int d = 0; d < 2; d++)
            assert_int_equal(sims.devices[d].live, sizes[d]);
        assert_true(sizes[0] > 0 && sizes[1] == 0 && sizes[2] > 0);
        end();
    }
}

static void what_is_measured_stays_usable(void ** state) {
    (void) state;
    begin(2, true);
    struct small g = build();
    size_t sizes[3];
    ggml_backend_sched_reserve_size(sched, g.graph, sizes);
    ggml_backend_sched_set_tensor_backend(sched, g.sum, backends[1]);
    assert_true(ggml_backend_sched_reserve(sched, g.graph));
    ggml_backend_sched_split_graph(sched, g.graph);
    assert_true(ggml_backend_sched_alloc_graph(sched, g.graph));
    set_inputs(&g, 4);
    assert_int_equal(ggml_backend_sched_graph_compute(sched, g.graph), GGML_STATUS_SUCCESS);
    check_result(&g, 4);
    for (int i = 0; i < 6; i++) { // the same graph again, on other back ends
        ggml_backend_sched_reset(sched);
        ggml_backend_sched_set_tensor_backend(sched, g.square, backends[i % 3]);
        assert_true(ggml_backend_sched_alloc_graph(sched, g.graph));
        set_inputs(&g, (float) i);
        assert_int_equal(ggml_backend_sched_graph_compute(sched, g.graph), GGML_STATUS_SUCCESS);
        check_result(&g, (float) i);
    }
    ggml_free(g.ctx);
    end();
}

static char logged[20000];

static void catch_log(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) user_data;
    strncat(logged, text, sizeof(logged) - strlen(logged) - 1);
}

static void the_log_tells_what_is_done(void ** state) {
    (void) state;
    setenv("GGML_SCHED_DEBUG", "2", 1);
    assert_string_equal(tn_env_get(TN_ENV_GGML_SCHED_DEBUG), "2");
    ggml_log_set(catch_log, NULL);
    begin(1, false);
    struct small g = build();
    ggml_backend_sched_set_tensor_backend(sched, g.sum, backends[0]);
    assert_true(ggml_backend_sched_alloc_graph(sched, g.graph));
    ggml_log_set(NULL, NULL);
    assert_contains(logged, "split 0 on Sim0: 3 nodes, 2 inputs\n");
    assert_contains(logged, "input 'x' of 256 bytes from CPU");
    assert_contains(logged, "node 1 'square' SQR: on Sim0");
    ggml_free(g.ctx);
    end();
    unsetenv("GGML_SCHED_DEBUG");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_lists_are_refused),        cmocka_unit_test(questions_are_answered),
        cmocka_unit_test(a_null_scheduler_is_refused),  cmocka_unit_test(one_back_end_runs_all),
        cmocka_unit_test(placements_make_splits),       cmocka_unit_test(a_graph_is_computed_a_hundred_times),
        cmocka_unit_test(many_graphs_may_be_in_flight), cmocka_unit_test(a_computation_allocates_by_itself),
        cmocka_unit_test(sizes_are_told_before),        cmocka_unit_test(what_is_measured_stays_usable),
        cmocka_unit_test(the_log_tells_what_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
