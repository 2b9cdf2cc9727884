// SPDX-License-Identifier: MIT
// use_ref: the scalar kernels for one computation, whatever others use at the same time.
#include "numbers/every_op.h"

#include "base/thread.h"
#include "cpu/isa.h"
#include "cpu/kernels.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"

enum { ROUNDS = 40, HEADS = 4, LENGTH = 64, TOKENS = 48, SIZE = HEADS * LENGTH * TOKENS };

// A graph in a context of its own: products, a softmax, a norm, maps. The same numbers each time.
struct net {
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor * result;
};

static struct ggml_tensor * source(struct ggml_context * ctx, enum ggml_type type, uint64_t seed,
                                   const int64_t * ne) {
    struct ggml_tensor * x = ggml_new_tensor(ctx, type, 3, ne);
    struct test_rng rng = { seed };
    for (int64_t i = 0; i < ggml_nelements(x); i++)
        ggml_set_f32_1d(x, (int) i, test_rng_float(&rng, -2.0f, 2.0f));
    return x;
}

static struct net net_new(void) {
    struct net n = { .ctx = ggml_init((struct ggml_init_params){ .mem_size = 16 << 20 }) };
    const int64_t q_ne[] = { LENGTH, TOKENS, HEADS }, w_ne[] = { LENGTH, LENGTH, 1 };
    struct ggml_tensor * q = source(n.ctx, GGML_TYPE_F32, 1, q_ne);
    struct ggml_tensor * k = source(n.ctx, GGML_TYPE_F16, 2, q_ne);
    struct ggml_tensor * w = source(n.ctx, GGML_TYPE_F16, 3, w_ne);
    struct ggml_tensor * y = ggml_flash_attn_ext(n.ctx, q, k, k, NULL, 0.125f, 0.0f, 0.0f);
    y = ggml_gelu(n.ctx, ggml_rms_norm(n.ctx, ggml_mul_mat(n.ctx, w, y), 1e-6f));
    n.result = ggml_soft_max(n.ctx, ggml_silu(n.ctx, y));
    n.graph = ggml_new_graph(n.ctx);
    ggml_build_forward_expand(n.graph, n.result);
    assert_int_equal(ggml_nelements(n.result), SIZE);
    return n;
}

static void compute(struct net * n, ggml_backend_t backend, float * out) {
    memset(n->result->data, 0xff, ggml_nbytes(n->result));
    assert_int_equal(ggml_backend_graph_compute(backend, n->graph), GGML_STATUS_SUCCESS);
    memcpy(out, n->result->data, ggml_nbytes(n->result));
}

// What the net gives with these levels for the whole process.
static void expect(uint64_t levels, float * out) {
    struct net n = net_new();
    ggml_backend_t backend = ggml_backend_cpu_init();
    tn_kernels_select(levels);
    compute(&n, backend, out);
    tn_kernels_select(UINT64_MAX);
    ggml_backend_free(backend);
    ggml_free(n.ctx);
}

static float scalar[SIZE], best[SIZE];

static int expect_both(void ** state) {
    (void) state;
    expect(0, scalar);
    expect(UINT64_MAX, best);
    // Or there would be nothing to see.
    return tn_isa_machine() > 1 && memcmp(scalar, best, sizeof(scalar)) == 0;
}

// Through the back end, then switched off again.
static void a_back_end_obeys(void ** state) {
    static float out[SIZE];
    struct net n = net_new();
    ggml_backend_t backend = ggml_backend_cpu_init();
    (void) state;
    ggml_backend_cpu_set_use_ref(backend, true);
    compute(&n, backend, out);
    assert_memory_equal(out, scalar, sizeof(out));
    ggml_backend_graph_plan_t plan = ggml_backend_graph_plan_create(backend, n.graph);
    assert_non_null(plan);
    ggml_backend_cpu_set_use_ref(backend, false); // the plan keeps what it was made with
    compute(&n, backend, out);
    assert_memory_equal(out, best, sizeof(out));
    assert_int_equal(ggml_backend_graph_plan_compute(backend, plan), GGML_STATUS_SUCCESS);
    assert_memory_equal(n.result->data, scalar, sizeof(out));
    ggml_backend_graph_plan_free(backend, plan);
    ggml_backend_free(backend);
    ggml_free(n.ctx);
}

// Through a plan, with any number of threads.
static void a_plan_obeys(void ** state) {
    struct net n = net_new();
    (void) state;
    for (int threads = 1; threads <= 3; threads++) {
        for (int use_ref = 1; use_ref >= 0; use_ref--) {
            struct ggml_cplan plan = ggml_graph_plan(n.graph, threads, NULL);
            plan.work_data = malloc(plan.work_size + 1);
            plan.use_ref = use_ref;
            assert_int_equal(ggml_graph_compute(n.graph, &plan), GGML_STATUS_SUCCESS);
            assert_memory_equal(n.result->data, use_ref ? scalar : best, sizeof(scalar));
            free(plan.work_data);
        }
    }
    ggml_free(n.ctx);
}

struct side {
    bool use_ref;
    int wrong;
};

static void * compute_again_and_again(void * arg) {
    struct side * s = arg;
    float * out = malloc(sizeof(scalar));
    struct net n = net_new();
    ggml_backend_t backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(backend, 2);
    ggml_backend_cpu_set_use_ref(backend, s->use_ref);
    for (int i = 0; i < ROUNDS; i++) {
        compute(&n, backend, out);
        s->wrong += memcmp(out, s->use_ref ? scalar : best, sizeof(scalar)) != 0;
    }
    ggml_backend_free(backend);
    ggml_free(n.ctx);
    free(out);
    return NULL;
}

static void contexts_do_not_see_each_other(void ** state) {
    struct side sides[] = { { true, 0 }, { false, 0 }, { true, 0 } };
    struct tn_thread threads[3];
    (void) state;
    for (int i = 0; i < 3; i++)
        assert_true(tn_thread_start(&threads[i], compute_again_and_again, &sides[i]));
    for (int i = 0; i < 3; i++) {
        tn_thread_join(&threads[i]);
        assert_int_equal(sides[i].wrong, 0);
    }
}

// A function of the caller that computes a graph of its own, without use_ref, inside of one that has it.
static void compute_inside(struct ggml_tensor * y, const struct ggml_tensor * x, int ith, int nth,
                           void * data) {
    (void) ith, (void) nth;
    float * out = malloc(sizeof(scalar));
    struct net n = net_new();
    ggml_backend_t backend = ggml_backend_cpu_init();
    compute(&n, backend, out);
    *(bool *) data = memcmp(out, best, sizeof(scalar)) == 0;
    memcpy(y->data, x->data, ggml_nbytes(y));
    ggml_backend_free(backend);
    ggml_free(n.ctx);
    free(out);
}

static void graphs_inside_of_graphs_keep_their_own(void ** state) {
    struct net n = net_new();
    bool inner_is_right = false;
    (void) state;
    struct ggml_tensor * x = ggml_map_custom1(n.ctx, n.result, compute_inside, 1, &inner_is_right);
    struct ggml_tensor * y = ggml_gelu(n.ctx, x);
    struct ggml_cgraph * g = ggml_new_graph(n.ctx);
    ggml_build_forward_expand(g, y);
    struct ggml_cplan plan = ggml_graph_plan(g, 1, NULL);
    plan.work_data = malloc(plan.work_size + 1);
    plan.use_ref = true;
    assert_int_equal(ggml_graph_compute(g, &plan), GGML_STATUS_SUCCESS);
    assert_true(inner_is_right);
    float * first = malloc(ggml_nbytes(y));
    memcpy(first, y->data, ggml_nbytes(y));
    tn_kernels_select(0);
    plan.use_ref = false;
    assert_int_equal(ggml_graph_compute(g, &plan), GGML_STATUS_SUCCESS);
    tn_kernels_select(UINT64_MAX);
    assert_memory_equal(y->data, first, ggml_nbytes(y));
    free(first);
    free(plan.work_data);
    ggml_free(n.ctx);
}

// --- every operator: the same bits as with nothing but scalar kernels in the process

static void compute_ref(struct ggml_tensor * node, bool use_ref) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = ggml_graph_overhead() });
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    ggml_build_forward_expand(g, node);
    struct ggml_cplan plan = ggml_graph_plan(g, 2, NULL);
    plan.work_data = malloc(plan.work_size + 1);
    plan.use_ref = use_ref;
    if (ggml_graph_compute(g, &plan) != GGML_STATUS_SUCCESS) fail_msg("%s", ggml_ext_last_error());
    free(plan.work_data);
    ggml_free(ctx);
}

// Products with weights in blocks: use_ref leaves activations as they are, which a level alone does not.
static bool may_round(const struct ggml_tensor * node) {
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (node->src[i] && ggml_is_quantized(node->src[i]->type)) return true;
    }
    return false;
}

static void check_node(struct cpu_test * t, struct ggml_tensor * node, void * n_checked) {
    struct every_memory before = every_save(t);
    compute_ref(node, true);
    struct every_memory got = every_save(t);
    every_restore(t, &before);
    tn_kernels_select(0);
    compute_ref(node, may_round(node));
    tn_kernels_select(UINT64_MAX);
    struct every_memory want = every_save(t);
    if (memcmp(got.bytes, want.bytes, got.size) != 0)
        fail_msg("%s: other bits with use_ref", ggml_op_desc(node));
    free(before.bytes);
    free(got.bytes);
    free(want.bytes);
    ++*(int *) n_checked;
}

static void every_operator_obeys(void ** state) {
    int n_checked = 0;
    (void) state;
    every_node(check_node, &n_checked);
    assert_true(n_checked > EVERY_COUNT(every_ops));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_back_end_obeys),
        cmocka_unit_test(a_plan_obeys),
        cmocka_unit_test(contexts_do_not_see_each_other),
        cmocka_unit_test(graphs_inside_of_graphs_keep_their_own),
        cmocka_unit_test(every_operator_obeys),
    };
    return cmocka_run_group_tests(tests, expect_both, NULL);
}
