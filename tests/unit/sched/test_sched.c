// SPDX-License-Identifier: MIT
// The scheduler's life, states and public calls.
#include "unit/sched/stage.h"

#include "base/env.h"

// ---- life ------------------------------------------------------------------------------------------------

static void bad_lists_are_refused(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, NULL);
    ggml_backend_t * backends = s.backends;
    assert_null(ggml_backend_sched_new(NULL, NULL, 1, 16, false, false));
    assert_null(ggml_backend_sched_new(backends, NULL, 0, 16, false, false));
    assert_null(ggml_backend_sched_new(backends, NULL, 17, 16, false, false));
    assert_contains(ggml_ext_last_error(), "17 back ends");
    assert_null(ggml_backend_sched_new(backends, NULL, 2, 16, false, false));
    assert_contains(ggml_ext_last_error(), "the last back end is Fake1, which is not the processor");
    ggml_backend_t with_null[] = { NULL, s.cpu };
    assert_null(ggml_backend_sched_new(with_null, NULL, 2, 16, false, false));
    assert_contains(ggml_ext_last_error(), "back end 0 is NULL");
    ggml_backend_buffer_type_t foreign[] = { &s.devices[1]->type, &s.devices[1]->type, NULL };
    assert_null(ggml_backend_sched_new(backends, foreign, 3, 16, false, false));
    assert_contains(ggml_ext_last_error(), "back end 0 (Fake0) cannot use Fake1 memory");
    foreign[0] = &s.devices[0]->type;
    assert_null(ggml_backend_sched_new(backends, foreign, 3, 16, false, false));
    assert_contains(ggml_ext_last_error(), "back end 2 (CPU) has no buffer type");
    ggml_backend_sched_free(NULL);
    stage_end(&s);
}

static void events_that_cannot_be_made_are_done_without(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, true, NULL);
    ggml_backend_sched_free(s.sched);
    s.devices[0]->orders.event = 2;
    s.sched = ggml_backend_sched_new(s.backends, NULL, 3, 64, true, false);
    for (int i = 0; i < 8; i++) {
        struct chain c = chain_build();
        ggml_backend_sched_reset(s.sched);
        chain_place(&s, &c, 0, 1, 0);
        stage_alloc(&s, c.graph);
        chain_run(&s, &c, (float) i);
        ggml_free(c.ctx);
    }
    stage_end(&s);
}

static void questions_are_answered(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, true, NULL);
    assert_int_equal(ggml_backend_sched_get_n_backends(s.sched), 3);
    assert_int_equal(ggml_backend_sched_get_n_copies(s.sched), 4);
    assert_ptr_equal(ggml_backend_sched_get_backend(s.sched, 1), s.backends[1]);
    assert_null(ggml_backend_sched_get_backend(s.sched, 3));
    assert_null(ggml_backend_sched_get_backend(s.sched, -1));
    assert_ptr_equal(ggml_backend_sched_get_buffer_type(s.sched, s.backends[1]), &s.devices[1]->type);
    assert_int_equal(ggml_backend_sched_get_buffer_size(s.sched, s.backends[1]), 0);
    assert_int_equal(ggml_backend_sched_get_n_splits(s.sched), 0);
    assert_null(ggml_backend_sched_get_buffer_type(s.sched, NULL));
    assert_contains(ggml_ext_last_error(), "not one of the scheduler's");
    ggml_backend_sched_set_tensor_backend(s.sched, NULL, s.backends[0]);
    assert_null(ggml_backend_sched_get_tensor_backend(s.sched, NULL));
    stage_end(&s);
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
    assert_contains(ggml_ext_last_error(), "the scheduler is NULL");
}

// ---- states ----------------------------------------------------------------------------------------------

static void one_back_end_runs_all(void ** state) {
    (void) state;
    struct stage s = stage_begin(0, false, NULL);
    struct chain c = chain_build();
    stage_alloc(&s, c.graph);
    assert_int_equal(ggml_backend_sched_get_n_splits(s.sched), 1);
    chain_run(&s, &c, 3);
    ggml_free(c.ctx);
    stage_end(&s);
}

static void placements_make_splits(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(2, parallel, NULL);
        struct chain c = chain_build();
        chain_place(&s, &c, 0, 1, 2);
        assert_int_equal(stage_where(&s, c.sum), 1);
        stage_alloc(&s, c.graph);
        assert_int_equal(ggml_backend_sched_get_n_splits(s.sched), 3);
        assert_int_equal(stage_where(&s, c.sum), 1);
        assert_int_equal(stage_where(&s, c.x), 2);
        assert_string_equal(c.sum->src[0]->name, "Fake1#twice#0");
        chain_run(&s, &c, 5);
        ggml_backend_sched_reset(s.sched);
        assert_int_equal(stage_where(&s, c.sum), -1);
        ggml_free(c.ctx);
        stage_end(&s);
    }
}

static void a_computation_allocates_by_itself(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    struct chain c = chain_build();
    assert_int_equal(ggml_backend_sched_graph_compute(s.sched, c.graph), GGML_STATUS_SUCCESS);
    chain_run(&s, &c, 2);
    assert_false(ggml_backend_sched_alloc_graph(s.sched, c.graph));
    assert_contains(ggml_ext_last_error(), "reset");
    chain_run(&s, &c, 3); // the refusal changed nothing
    ggml_free(c.ctx);
    stage_end(&s);
}

// Placements are for one graph: a split without an allocation uses them up.
static void a_split_graph_is_allocated_anew(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    struct chain c = chain_build();
    stage_place(&s, c.sum, 0);
    ggml_backend_sched_split_graph(s.sched, c.graph);
    assert_int_equal(ggml_backend_sched_get_n_splits(s.sched), 1);
    assert_int_equal(stage_where(&s, c.twice), 0);
    assert_int_equal(ggml_backend_sched_graph_compute(s.sched, c.graph), GGML_STATUS_SUCCESS);
    assert_int_equal(stage_where(&s, c.twice), 1);
    chain_run(&s, &c, 4);
    ggml_free(c.ctx);
    stage_end(&s);
}

// Measuring leaves a graph as it was, and the same graph may come again.
static void what_was_measured_stays_usable(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, true, NULL);
    struct chain c = chain_build();
    size_t sizes[3];
    ggml_backend_sched_reserve_size(s.sched, c.graph, sizes);
    stage_place(&s, c.sum, 1);
    assert_true(ggml_backend_sched_reserve(s.sched, c.graph));
    ggml_backend_sched_split_graph(s.sched, c.graph);
    stage_alloc(&s, c.graph);
    chain_run(&s, &c, 4);
    for (int i = 0; i < 6; i++) {
        ggml_backend_sched_reset(s.sched);
        chain_place(&s, &c, i % 3, (i + 1) % 3, i % 2);
        stage_alloc(&s, c.graph);
        chain_run(&s, &c, (float) i);
    }
    ggml_free(c.ctx);
    stage_end(&s);
}

// Four inputs and their copies for as many graphs in flight, then again from the first.
static void instances_take_turns(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, true, NULL);
    const void * places[6];
    for (int i = 0; i < 6; i++) {
        struct chain c = chain_build();
        ggml_backend_sched_reset(s.sched);
        chain_place(&s, &c, 0, 0, 1);
        stage_alloc(&s, c.graph);
        places[i] = c.x->data;
        chain_run(&s, &c, (float) i);
        ggml_free(c.ctx);
    }
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(places[i], places[k]);
    }
    assert_ptr_equal(places[4], places[0]);
    assert_ptr_equal(places[5], places[1]);
    ggml_backend_sched_reset(s.sched);
    ggml_backend_sched_synchronize(s.sched); // nothing is in flight: from the first again
    struct chain c = chain_build();
    chain_place(&s, &c, 0, 0, 1);
    stage_alloc(&s, c.graph);
    assert_ptr_equal(c.x->data, places[0]);
    ggml_free(c.ctx);
    stage_end(&s);
}

// ---- the log ---------------------------------------------------------------------------------------------

static char logged[20000];

static void catch_log(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) user_data;
    strncat(logged, text, sizeof(logged) - strlen(logged) - 1);
}

static void log_one(const char * level) {
    logged[0] = '\0';
    if (level) setenv("GGML_SCHED_DEBUG", level, 1);
    struct stage s = stage_begin(1, false, NULL);
    struct chain c = chain_build();
    stage_place(&s, c.sum, 0);
    ggml_log_set(catch_log, NULL);
    stage_alloc(&s, c.graph);
    ggml_log_set(NULL, NULL);
    ggml_free(c.ctx);
    stage_end(&s);
    unsetenv("GGML_SCHED_DEBUG");
}

static void the_log_tells_what_is_asked_for(void ** state) {
    (void) state;
    assert_null(tn_env_get(TN_ENV_GGML_SCHED_DEBUG));
    log_one(NULL);
    assert_string_equal(logged, "");
    log_one("0");
    assert_string_equal(logged, "");
    log_one("1");
    assert_contains(logged, "split 0 on Fake0: 3 nodes, 2 inputs\n    input 'x' of 256 bytes from CPU\n");
    assert_null(strstr(logged, "'sum'"));
    log_one("2");
    assert_contains(logged, "node 1 'sum' ADD: on Fake0, the caller placed it\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_lists_are_refused),
        cmocka_unit_test(events_that_cannot_be_made_are_done_without),
        cmocka_unit_test(questions_are_answered),
        cmocka_unit_test(a_null_scheduler_is_refused),
        cmocka_unit_test(one_back_end_runs_all),
        cmocka_unit_test(placements_make_splits),
        cmocka_unit_test(a_computation_allocates_by_itself),
        cmocka_unit_test(a_split_graph_is_allocated_anew),
        cmocka_unit_test(what_was_measured_stays_usable),
        cmocka_unit_test(instances_take_turns),
        cmocka_unit_test(the_log_tells_what_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
