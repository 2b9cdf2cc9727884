// SPDX-License-Identifier: MIT
// Cuts, and back ends that have a say in the order of their splits.
#include "unit/sched/stage.h"

// ---- cuts -------------------------------------------------------------------------------------------------

static void views_start_no_split(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, NULL);
    struct ggml_context * ctx = stage_context();
    struct ggml_cgraph * graph = stage_graph(ctx);
    struct ggml_tensor * x = stage_input(ctx, "x");
    struct ggml_tensor * square = ggml_reshape_2d(ctx, x, N / 2, 2);
    struct ggml_tensor * a = ggml_neg(ctx, square);
    struct ggml_tensor * view = ggml_view_1d(ctx, a, N / 2, 0);
    struct ggml_tensor * b = ggml_neg(ctx, view);
    ggml_set_output(b);
    ggml_build_forward_expand(graph, b);
    stage_place(&s, square, 1);
    stage_place(&s, a, 0);
    stage_place(&s, view, 1);
    stage_place(&s, b, 0);
    stage_alloc(&s, graph);
    assert_int_equal(ggml_backend_sched_get_n_splits(s.sched), 1);
    assert_ptr_equal(b->src[0], view); // where the view lies counts, not where it was placed
    stage_fill(x, 1, 1);
    stage_compute(&s, graph);
    float got[N / 2];
    ggml_backend_tensor_get(b, got, 0, sizeof(got));
    for (int i = 0; i < N / 2; i++)
        assert_true(got[i] == (float) (1 + i));
    ggml_free(ctx);
    stage_end(&s);
}

// One copy serves all splits of a back end; each back end has its own.
static void a_copy_is_made_once(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, NULL);
    struct ggml_context * ctx = stage_context();
    struct ggml_cgraph * graph = stage_graph(ctx);
    struct ggml_tensor *x = stage_input(ctx, "x"), *y = x, *nodes[9];
    for (int i = 0; i < 9; i++) {
        y = nodes[i] = ggml_add(ctx, y, x);
        stage_place(&s, y, i % 3);
    }
    ggml_set_output(y);
    ggml_build_forward_expand(graph, y);
    stage_alloc(&s, graph);
    for (int i = 3; i < 9; i++) {
        assert_ptr_equal(nodes[i]->src[1], nodes[i - 3]->src[1]);
        assert_ptr_not_equal(nodes[i]->src[1], nodes[i - 1]->src[1]);
    }
    stage_fill(x, 1, 1);
    stage_compute(&s, graph);
    stage_expect(y, 10, 10);
    ggml_free(ctx);
    stage_end(&s);
}

// ---- order ------------------------------------------------------------------------------------------------

static void reorders(int i, struct fake_options * o) {
    (void) i;
    o->reorders = true;
}

static void back_ends_may_reorder(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(2, parallel, reorders);
        struct ggml_context * ctx = stage_context();
        struct ggml_cgraph * graph = stage_graph(ctx);
        struct ggml_tensor *x = stage_input(ctx, "x"), *sums[4];
        for (int i = 0; i < 4; i++) {
            sums[i] = ggml_add(ctx, ggml_scale(ctx, x, (float) i), ggml_neg(ctx, x));
            if (i > 0) sums[i] = ggml_add(ctx, sums[i], sums[i - 1]);
            stage_place(&s, sums[i], i % 2);
        }
        ggml_set_output(sums[3]);
        ggml_build_forward_expand(graph, sums[3]);
        stage_alloc(&s, graph);
        assert_true(s.devices[0]->counts.optimizes > 0);
        for (int i = 0; i < 4; i++) {
            stage_fill(x, 1, 1);
            stage_compute(&s, graph);
            stage_expect(sums[3], 2, 2);
        }
        ggml_free(ctx);
        stage_end(&s);
    }
}

// A back end that does to its graph what the test wants.
static void (*meddle)(struct ggml_cgraph * graph, struct ggml_backend_graph_optimize_params * params);

static void optimise(ggml_backend_t backend, struct ggml_cgraph * graph,
                     struct ggml_backend_graph_optimize_params * params) {
    (void) backend;
    meddle(graph, params);
}

static void lose_a_node(struct ggml_cgraph * graph, struct ggml_backend_graph_optimize_params * params) {
    (void) params;
    graph->n_nodes--;
}

static void take_a_node_twice(struct ggml_cgraph * graph,
                              struct ggml_backend_graph_optimize_params * params) {
    (void) params;
    graph->nodes[0] = graph->nodes[graph->n_nodes - 1];
}

static struct ggml_tensor foreign = { .name = "foreign" };

static void take_a_foreign_node(struct ggml_cgraph * graph,
                                struct ggml_backend_graph_optimize_params * params) {
    (void) params;
    graph->nodes[0] = &foreign;
}

static void keep_for_a_foreign_node(struct ggml_cgraph * graph,
                                    struct ggml_backend_graph_optimize_params * params) {
    params->add_alloc_dep(params->user_data, graph->nodes[0], &foreign);
}

static void keep_a_foreign_tensor(struct ggml_cgraph * graph,
                                  struct ggml_backend_graph_optimize_params * params) {
    params->add_alloc_dep(params->user_data, &foreign, graph->nodes[0]);
}

static void keep_nothing(struct ggml_cgraph * graph, struct ggml_backend_graph_optimize_params * params) {
    params->add_alloc_dep(params->user_data, NULL, graph->nodes[0]);
}

static void back_ends_that_spoil_their_graph_are_named(void ** state) {
    (void) state;
    static const struct {
        void (*meddle)(struct ggml_cgraph *, struct ggml_backend_graph_optimize_params *);
        const char * text;
    } cases[] = {
        { lose_a_node, "Fake0 changed the nodes of a graph that it was to order, around 'twice'" },
        { take_a_node_twice, "Fake0 changed the nodes" },
        { take_a_foreign_node, "Fake0 changed the nodes" },
        { keep_for_a_foreign_node, "until a node that is not in its graph" },
        { keep_a_foreign_tensor, "Fake0 asks to keep 'foreign', which is not in its graph" },
        { keep_nothing, "could not be noted" },
    };
    struct stage s = stage_begin(1, false, NULL);
    s.backends[0]->iface.graph_optimize = optimise;
    struct chain c = chain_build();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        meddle = cases[i].meddle;
        ggml_backend_sched_reset(s.sched);
        chain_place(&s, &c, 0, 0, 1);
        assert_false(ggml_backend_sched_alloc_graph(s.sched, c.graph));
        assert_contains(ggml_ext_last_error(), cases[i].text);
        assert_ptr_equal(c.twice->src[0], c.x);
    }
    s.backends[0]->iface.graph_optimize = NULL;
    ggml_backend_sched_reset(s.sched);
    chain_place(&s, &c, 0, 0, 1);
    stage_alloc(&s, c.graph);
    chain_run(&s, &c, 3);
    ggml_free(c.ctx);
    stage_end(&s);
}

// Asks several times: the latest node counts.
static void keep_the_first(struct ggml_cgraph * graph, struct ggml_backend_graph_optimize_params * params) {
    for (int i = 1; i < 3 && i < graph->n_nodes; i++)
        params->add_alloc_dep(params->user_data, graph->nodes[0], graph->nodes[i]);
}

// Where the fourth node of a chain is put: over the first one, unless that has to be kept.
static void memory_is_kept_for_who_asks(void ** state) {
    (void) state;
    for (int keeps = 0; keeps < 2; keeps++) {
        struct stage s = stage_begin(1, false, NULL);
        meddle = keep_the_first;
        if (keeps) s.backends[0]->iface.graph_optimize = optimise;
        struct ggml_context * ctx = stage_context();
        struct ggml_cgraph * graph = stage_graph(ctx);
        struct ggml_tensor * x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 8);
        ggml_set_input(x);
        struct ggml_tensor *nodes[4], *y = x;
        for (int i = 0; i < 4; i++) { // products take no place over what they read
            y = nodes[i] = ggml_mul_mat(ctx, y, y);
            stage_place(&s, y, 0);
        }
        ggml_build_forward_expand(graph, y);
        stage_alloc(&s, graph);
        assert_true((nodes[2]->data == nodes[0]->data) == !keeps);
        assert_true(nodes[3]->data != nodes[0]->data || keeps);
        ggml_free(ctx);
        stage_end(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_start_no_split),
        cmocka_unit_test(a_copy_is_made_once),
        cmocka_unit_test(back_ends_may_reorder),
        cmocka_unit_test(back_ends_that_spoil_their_graph_are_named),
        cmocka_unit_test(memory_is_kept_for_who_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
