// SPDX-License-Identifier: MIT
// The scheduler when memory runs out, in any call: a text, nothing that stays, the graph as it was, and
// afterwards the same scheduler runs it.
#include "oom/sweep.h"
#include "unit/sched/stage.h"

static struct stage stage; // its scheduler is made by each scenario
static bool parallel;
static struct chain chain;

static void stand(int n, stage_setup setup) {
    stage = stage_begin(n, false, setup);
    ggml_backend_sched_free(stage.sched);
    stage.sched = NULL;
}

// What the devices themselves cannot do for want of memory, they call a fault of their world.
static bool spared(void) {
    if (fake_world_faults(stage.world) == 0) return true;
    assert_contains(fake_world_fault(stage.world), "could not compute");
    fake_world_forget(stage.world);
    return tn_refuse("out of memory on a device");
}

static bool make_scheduler(void) {
    stage.sched = ggml_backend_sched_new(stage.backends, NULL, stage.n + 1, STAGE_GRAPH, parallel, true);
    return stage.sched;
}

static void make_scheduler_again(void) {
    if (!stage.sched) assert_true(make_scheduler());
    ggml_backend_sched_synchronize(stage.sched);
    ggml_backend_sched_reset(stage.sched);
}

static void free_scheduler(void) {
    ggml_backend_sched_free(stage.sched);
    stage.sched = NULL;
    stage_check(&stage);
}

// Refused: no source of a node is a copy (their names tell), and nothing has memory of the scheduler.
static bool refused(const struct ggml_cgraph * graph) {
    for (int i = 0; i < graph->n_nodes; i++) {
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            const struct ggml_tensor * source = graph->nodes[i]->src[k];
            if (source && strchr(source->name, '#')) fail_msg("%s is still there", source->name);
        }
        if (!graph->nodes[i]->view_src) assert_null(graph->nodes[i]->data);
    }
    for (int i = 0; i < graph->n_leafs; i++)
        assert_true(!graph->leafs[i]->buffer ||
                    graph->leafs[i]->buffer->usage != GGML_BACKEND_BUFFER_USAGE_COMPUTE);
    return false;
}

static bool runs(struct ggml_cgraph * graph) {
    return ggml_backend_sched_graph_compute(stage.sched, graph) == GGML_STATUS_SUCCESS && spared();
}

// ---- every call, one after the other ---------------------------------------------------------------------

static void build_chain(void) {
    chain = chain_build();
}

static bool measured(void) {
    size_t sizes[STAGE_DEVICES + 1];
    ggml_backend_sched_reserve_size(stage.sched, chain.graph, sizes);
    return sizes[0] != SIZE_MAX || refused(chain.graph);
}

static bool reserved(void) {
    chain_place(&stage, &chain, 0, 1, 2);
    if (!ggml_backend_sched_reserve(stage.sched, chain.graph)) return refused(chain.graph);
    for (int i = 0; i < 3; i++)
        assert_true(ggml_backend_sched_get_buffer_size(stage.sched, stage.backends[i]) > 0);
    return true;
}

static bool allocated(void) {
    chain_place(&stage, &chain, 0, 1, 2);
    if (!ggml_backend_sched_alloc_graph(stage.sched, chain.graph)) return refused(chain.graph);
    assert_int_equal(stage_where(&stage, chain.twice), 0);
    assert_int_equal(stage_where(&stage, chain.sum), 1);
    assert_int_equal(stage_where(&stage, chain.out), 2);
    return true;
}

static bool computed(float value) {
    chain_set(&chain, value);
    if (!runs(chain.graph)) return false;
    chain_expect(&chain, value);
    return true;
}

static bool all_calls(void) {
    return make_scheduler() && measured() && reserved() && allocated() && computed(1) && computed(2);
}

static void chain_runs_after_all(void) {
    make_scheduler_again();
    assert_true(measured() && reserved() && allocated() && computed(5));
    free_scheduler();
    ggml_free(chain.ctx);
}

static void calls_without_memory(void ** state) {
    (void) state;
    for (int i = 0; i < 2; i++) {
        parallel = i;
        stand(2, NULL);
        const int n = sweep_with(&(struct sweep){ build_chain, all_calls, chain_runs_after_all });
        assert_true(n >= 60);
        stage.sched = ggml_backend_sched_new(stage.backends, NULL, 3, 64, false, false);
        stage_end(&stage);
    }
}

// ---- all that a graph can ask for ------------------------------------------------------------------------

enum { EXPERTS = 8, ROWS = 4, USED = 2 };

// Experts that are offloaded, a cache that is written, views, memory that a back end wants to be kept.
static struct {
    struct ggml_context *owner, *ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor *experts, *cache, *x, *scores, *out;
    ggml_backend_buffer_t memory[2];
} rich;

static void keep_the_first(ggml_backend_t backend, struct ggml_cgraph * graph,
                           struct ggml_backend_graph_optimize_params * params) {
    (void) backend;
    for (int i = 1; i < graph->n_nodes; i++)
        params->add_alloc_dep(params->user_data, graph->nodes[0], graph->nodes[i]);
}

static void offloads(int i, struct fake_options * o) {
    o->offloads = i == 0;
}

static void build_rich(void) {
    rich.owner = stage_context();
    rich.ctx = stage_context();
    struct ggml_context * ctx = rich.ctx;
    rich.experts = ggml_new_tensor_3d(rich.owner, GGML_TYPE_F32, N, ROWS, EXPERTS);
    rich.cache = ggml_new_tensor_2d(rich.owner, GGML_TYPE_F32, ROWS, USED);
    rich.memory[0] = stage_own(&stage, 2, rich.experts, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    rich.memory[1] = stage_own(&stage, 1, rich.cache, GGML_BACKEND_BUFFER_USAGE_ANY);
    float ones[N * ROWS * EXPERTS];
    for (int i = 0; i < N * ROWS * EXPERTS; i++)
        ones[i] = (float) (1 + i / (N * ROWS));
    ggml_backend_tensor_set(rich.experts, ones, 0, sizeof(ones));
    rich.x = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, N, 1, 1);
    rich.scores = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, EXPERTS, 1);
    ggml_set_input(rich.x);
    ggml_set_input(rich.scores);
    struct ggml_tensor * ids = ggml_argsort_top_k(ctx, ggml_scale(ctx, rich.scores, 1), USED);
    struct ggml_tensor * product = ggml_mul_mat_id(ctx, rich.experts, rich.x, ids);
    struct ggml_tensor * stored = ggml_cpy(ctx, product, rich.cache);
    rich.out = ggml_cont(ctx, ggml_transpose(ctx, ggml_scale(ctx, stored, 2)));
    ggml_set_output(rich.out);
    rich.graph = stage_graph(ctx);
    ggml_build_forward_expand(rich.graph, rich.out);
}

static bool rich_computed(int first) {
    const float x[N] = { 1 };
    float scores[EXPERTS], got[ROWS * USED];
    for (int i = 0; i < EXPERTS; i++)
        scores[i] = -(float) ((i - first + EXPERTS) % EXPERTS);
    if (!ggml_backend_sched_alloc_graph(stage.sched, rich.graph)) return refused(rich.graph);
    assert_ptr_equal(ggml_backend_sched_get_tensor_backend(stage.sched, rich.graph->nodes[3]),
                     stage.backends[0]);
    ggml_backend_tensor_set(rich.x, x, 0, sizeof(x));
    ggml_backend_tensor_set(rich.scores, scores, 0, sizeof(scores));
    if (!runs(rich.graph)) return false;
    ggml_backend_tensor_get(rich.out, got, 0, sizeof(got));
    for (int i = 0; i < ROWS * USED; i++)
        assert_true(got[i] == (float) (2 * (1 + first + i % USED)));
    return true;
}

static bool a_rich_graph(void) {
    return make_scheduler() && rich_computed(3);
}

static void rich_runs_after_all(void) {
    make_scheduler_again();
    assert_true(rich_computed(5));
    free_scheduler();
    ggml_backend_buffer_free(rich.memory[0]);
    ggml_backend_buffer_free(rich.memory[1]);
    ggml_free(rich.ctx);
    ggml_free(rich.owner);
}

static void rich_graphs_without_memory(void ** state) {
    (void) state;
    for (int i = 0; i < 2; i++) {
        parallel = i;
        stand(2, offloads);
        stage.backends[0]->iface.graph_optimize = keep_the_first;
        assert_true(sweep_with(&(struct sweep){ build_rich, a_rich_graph, rich_runs_after_all }) >= 40);
        stage.sched = ggml_backend_sched_new(stage.backends, NULL, 3, 64, false, false);
        stage_end(&stage);
    }
}

// ---- memory that a back end wants to be kept -------------------------------------------------------------

static struct {
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor * nodes[4];
} kept;

static void keep_to_the_end(ggml_backend_t backend, struct ggml_cgraph * graph,
                            struct ggml_backend_graph_optimize_params * params) {
    (void) backend;
    params->add_alloc_dep(params->user_data, graph->nodes[0], graph->nodes[graph->n_nodes - 1]);
}

static void build_kept(void) {
    kept.ctx = stage_context();
    struct ggml_tensor * y = ggml_new_tensor_2d(kept.ctx, GGML_TYPE_F32, 8, 8);
    ggml_set_input(y);
    for (int i = 0; i < 4; i++)
        y = kept.nodes[i] = ggml_mul_mat(kept.ctx, y, y);
    kept.graph = stage_graph(kept.ctx);
    ggml_build_forward_expand(kept.graph, y);
}

static bool is_kept(void) {
    for (int i = 0; i < 4; i++)
        stage_place(&stage, kept.nodes[i], 0);
    if (!ggml_backend_sched_alloc_graph(stage.sched, kept.graph)) return refused(kept.graph);
    assert_ptr_not_equal(kept.nodes[2]->data, kept.nodes[0]->data);
    assert_ptr_not_equal(kept.nodes[3]->data, kept.nodes[0]->data);
    return true;
}

static bool a_kept_graph(void) {
    return make_scheduler() && is_kept();
}

static void kept_is_kept_after_all(void) {
    make_scheduler_again();
    assert_true(is_kept());
    free_scheduler();
    ggml_free(kept.ctx);
}

static void what_is_asked_to_be_kept_is_kept_without_memory(void ** state) {
    (void) state;
    stand(1, NULL);
    stage.backends[0]->iface.graph_optimize = keep_to_the_end;
    assert_true(sweep_with(&(struct sweep){ build_kept, a_kept_graph, kept_is_kept_after_all }) >= 30);
    stage.sched = ggml_backend_sched_new(stage.backends, NULL, 2, 64, false, false);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_without_memory),
        cmocka_unit_test(rich_graphs_without_memory),
        cmocka_unit_test(what_is_asked_to_be_kept_is_kept_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
