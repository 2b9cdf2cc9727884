// SPDX-License-Identifier: MIT
// Running: statuses of devices that fail, and callers who watch.
#include "unit/sched/stage.h"

// ---- devices that fail ------------------------------------------------------------------------------------

static void a_launch_that_fails_is_told(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(2, parallel, NULL);
        struct chain c = chain_build();
        chain_place(&s, &c, 0, 1, 0);
        stage_alloc(&s, c.graph);
        chain_set(&c, 1);
        s.devices[1]->orders.launch = 1;
        assert_int_equal(ggml_backend_sched_graph_compute(s.sched, c.graph), GGML_STATUS_FAILED);
        assert_contains(ggml_ext_last_error(), "Fake1 did not compute 'sum' to 'sum': failed");
        assert_int_equal(s.devices[0]->counts.launches, 1); // the rest was not begun
        for (int i = 0; i < 5; i++)
            chain_run(&s, &c, (float) i);
        ggml_free(c.ctx);
        stage_end(&s);
    }
}

static void a_device_that_lies_is_named(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    s.devices[0]->orders.lies_about = GGML_OP_ADD;
    struct chain c = chain_build();
    chain_place(&s, &c, 0, 1, 1);
    stage_alloc(&s, c.graph);
    chain_set(&c, 1);
    assert_int_equal(ggml_backend_sched_graph_compute(s.sched, c.graph), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "Fake0 did not compute 'twice'");
    s.devices[0]->orders.lies_about = GGML_OP_NONE;
    chain_run(&s, &c, 2);
    ggml_free(c.ctx);
    stage_end(&s);
}

// Everything can be freed after a device was lost in the middle, and others go on.
static void a_lost_device_is_survived(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(2, parallel, NULL);
        struct chain c = chain_build();
        chain_place(&s, &c, 0, 1, 0);
        stage_alloc(&s, c.graph);
        chain_run(&s, &c, 1);
        s.devices[1]->orders.lose_at = 1;
        chain_set(&c, 2);
        assert_int_equal(ggml_backend_sched_graph_compute_async(s.sched, c.graph), GGML_STATUS_FAILED);
        assert_contains(ggml_ext_last_error(), "Fake1");
        ggml_backend_sched_synchronize(s.sched);
        assert_int_equal(ggml_backend_sched_graph_compute(s.sched, c.graph), GGML_STATUS_FAILED);
        ggml_backend_sched_reset(s.sched);
        struct chain other = chain_build();
        chain_place(&s, &other, 0, 2, 0);
        stage_alloc(&s, other.graph);
        chain_run(&s, &other, 3);
        ggml_free(other.ctx);
        ggml_free(c.ctx);
        stage_end(&s);
    }
}

// Lost before it is asked for memory, before it is given a graph, or between two graphs.
static void a_device_is_lost_at_any_time(void ** state) {
    (void) state;
    for (int when = 0; when < 6; when++) {
        struct stage s = stage_begin(2, when % 2, NULL);
        struct chain c = chain_build();
        bool * lost = &s.devices[1]->orders.lost;
        *lost = when / 2 == 0;
        chain_place(&s, &c, 0, 1, 0);
        assert_true(ggml_backend_sched_reserve(s.sched, c.graph) == !*lost);
        if (*lost) assert_contains(ggml_ext_last_error(), "Fake1 memory cannot be had");
        *lost = when / 2 <= 1;
        chain_place(&s, &c, 0, 1, 0);
        if (!ggml_backend_sched_alloc_graph(s.sched, c.graph)) {
            assert_int_equal(when / 2, 0);
            assert_contains(ggml_ext_last_error(), "Fake1 memory cannot be had");
        }
        if (!*lost) chain_run(&s, &c, 1);
        *lost = true;
        chain_place(&s, &c, 0, 1, 0); // for the case that nothing is allocated
        assert_int_not_equal(ggml_backend_sched_graph_compute(s.sched, c.graph), GGML_STATUS_SUCCESS);
        assert_contains(ggml_ext_last_error(), "Fake1");
        ggml_free(c.ctx);
        stage_end(&s);
    }
}

static void buffers_that_are_too_small_are_refused(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, true, NULL);
    struct chain c = chain_build();
    s.devices[0]->orders.lies_about_size = true;
    stage_place(&s, c.sum, 0);
    assert_false(ggml_backend_sched_alloc_graph(s.sched, c.graph));
    assert_contains(ggml_ext_last_error(), "Fake0");
    s.devices[0]->orders.lies_about_size = false;
    ggml_backend_sched_reset(s.sched);
    stage_place(&s, c.sum, 0);
    s.devices[0]->orders.init_tensor = 2;
    assert_false(ggml_backend_sched_alloc_graph(s.sched, c.graph));
    assert_contains(ggml_ext_last_error(), "Fake0 memory does not take");
    ggml_backend_sched_reset(s.sched);
    stage_place(&s, c.sum, 0);
    stage_alloc(&s, c.graph);
    chain_run(&s, &c, 6);
    ggml_free(c.ctx);
    stage_end(&s);
}

static void * no_base(ggml_backend_buffer_t buffer) {
    (void) buffer;
    return NULL;
}

static ggml_backend_buffer_t (*alloc_really)(ggml_backend_buffer_type_t buft, size_t size);

static ggml_backend_buffer_t alloc_nowhere(ggml_backend_buffer_type_t buft, size_t size) {
    ggml_backend_buffer_t buffer = alloc_really(buft, size);
    if (buffer) buffer->iface.get_base = no_base;
    return buffer;
}

static void buffers_without_an_address_are_refused(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    struct chain c = chain_build();
    alloc_really = s.devices[0]->type.iface.alloc_buffer;
    s.devices[0]->type.iface.alloc_buffer = alloc_nowhere;
    for (int i = 0; i < 2; i++) {
        ggml_backend_sched_reset(s.sched);
        stage_place(&s, c.sum, 0);
        assert_false(ggml_backend_sched_alloc_graph(s.sched, c.graph));
        // its neighbours follow the node: two copies and a sum
        assert_contains(ggml_ext_last_error(), "Fake0 memory gave 768 bytes without an address");
    }
    s.devices[0]->type.iface.alloc_buffer = alloc_really;
    ggml_backend_sched_reset(s.sched);
    stage_place(&s, c.sum, 0);
    stage_alloc(&s, c.graph);
    chain_run(&s, &c, 6);
    ggml_free(c.ctx);
    stage_end(&s);
}

// An abort callback of the processor: its status reaches the caller unchanged.
static bool say_yes(void * data) {
    (void) data;
    return true;
}

static void an_aborted_split_ends_the_graph(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    struct chain c = chain_build();
    chain_place(&s, &c, 0, 1, 0);
    stage_alloc(&s, c.graph);
    chain_set(&c, 1);
    ggml_backend_cpu_set_abort_callback(s.cpu, say_yes, NULL);
    assert_int_equal(ggml_backend_sched_graph_compute(s.sched, c.graph), GGML_STATUS_ABORTED);
    ggml_backend_cpu_set_abort_callback(s.cpu, NULL, NULL);
    chain_run(&s, &c, 2);
    ggml_free(c.ctx);
    stage_end(&s);
}

// An earlier refusal is still the last one after graphs that ran well.
static void success_leaves_the_last_error_alone(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, NULL);
    struct chain c = chain_build();
    assert_null(ggml_backend_sched_get_buffer_type(s.sched, NULL));
    chain_place(&s, &c, 0, 1, 0);
    stage_alloc(&s, c.graph);
    chain_run(&s, &c, 2);
    assert_contains(ggml_ext_last_error(), "ggml_backend_sched_get_buffer_type");
    ggml_free(c.ctx);
    stage_end(&s);
}

// ---- callers who watch ------------------------------------------------------------------------------------

struct watch {
    const char * wanted; // NULL: nothing
    const char * last;   // after it the graph ends
    char asked[200], seen[200];
    float value; // of the last one seen
};

static bool watch_node(struct ggml_tensor * t, bool ask, void * user_data) {
    struct watch * w = user_data;
    char * list = ask ? w->asked : w->seen;
    snprintf(list + strlen(list), 200 - strlen(list), "%s ", t->name);
    if (ask) return w->wanted && strstr(w->wanted, t->name);
    ggml_backend_tensor_get(t, &w->value, 0, sizeof(w->value));
    return !w->last || strcmp(w->last, t->name) != 0;
}

static void watched(struct stage * s, const struct chain * c, struct watch * w) {
    ggml_backend_sched_set_eval_callback(s->sched, watch_node, w);
    chain_set(c, 4);
    stage_compute(s, c->graph);
    ggml_backend_sched_set_eval_callback(s->sched, NULL, NULL);
}

static void nodes_are_shown_when_they_are_computed(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        for (int spread = 0; spread < 2; spread++) {
            struct stage s = stage_begin(2, parallel, NULL);
            struct chain c = chain_build();
            chain_place(&s, &c, 0, spread, 0);
            stage_alloc(&s, c.graph);
            struct watch none = { 0 }, one = { .wanted = "sum" }, all = { .wanted = "twice sum out" };
            watched(&s, &c, &none);
            assert_string_equal(none.asked, "twice sum out ");
            assert_string_equal(none.seen, "");
            chain_expect(&c, 4);
            watched(&s, &c, &one);
            assert_string_equal(one.asked, "twice sum out ");
            assert_string_equal(one.seen, "sum ");
            assert_true(one.value == 108);
            chain_expect(&c, 4);
            watched(&s, &c, &all);
            assert_string_equal(all.seen, "twice sum out ");
            assert_true(all.value == 112);
            chain_expect(&c, 4);
            chain_run(&s, &c, 9); // not watched any more
            ggml_free(c.ctx);
            stage_end(&s);
        }
    }
}

// Nothing of the graph is computed or asked about after the caller has had enough, in no split.
static void who_has_seen_enough_ends_the_graph(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, NULL);
    struct chain c = chain_build();
    chain_place(&s, &c, 0, 1, 0);
    stage_alloc(&s, c.graph);
    struct watch w = { .wanted = "twice sum out", .last = "sum" };
    watched(&s, &c, &w);
    assert_string_equal(w.asked, "twice sum ");
    assert_string_equal(w.seen, "twice sum ");
    assert_int_equal(s.devices[0]->counts.launches, 1);
    chain_run(&s, &c, 2);
    ggml_free(c.ctx);
    stage_end(&s);
}

static void a_piece_that_fails_ends_the_graph(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    struct chain c = chain_build();
    chain_place(&s, &c, 0, 0, 0);
    stage_alloc(&s, c.graph);
    struct watch w = { .wanted = "twice sum out" };
    ggml_backend_sched_set_eval_callback(s.sched, watch_node, &w);
    s.devices[0]->orders.launch = 2;
    chain_set(&c, 1);
    assert_int_equal(ggml_backend_sched_graph_compute(s.sched, c.graph), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "'sum' to 'sum'");
    assert_string_equal(w.seen, "twice ");
    ggml_free(c.ctx);
    stage_end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_that_fails_is_told),
        cmocka_unit_test(a_device_that_lies_is_named),
        cmocka_unit_test(a_lost_device_is_survived),
        cmocka_unit_test(a_device_is_lost_at_any_time),
        cmocka_unit_test(buffers_that_are_too_small_are_refused),
        cmocka_unit_test(buffers_without_an_address_are_refused),
        cmocka_unit_test(an_aborted_split_ends_the_graph),
        cmocka_unit_test(success_leaves_the_last_error_alone),
        cmocka_unit_test(nodes_are_shown_when_they_are_computed),
        cmocka_unit_test(who_has_seen_enough_ends_the_graph),
        cmocka_unit_test(a_piece_that_fails_ends_the_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
