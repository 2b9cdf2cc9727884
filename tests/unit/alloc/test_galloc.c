// SPDX-License-Identifier: MIT
// alloc/galloc.c: reserving and allocating graphs, plans used again, failures, costs, and one graph computed
// for real.
#include "unit/fake_device.h"

#include "base/clock.h"
#include "base/mem.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml/src/ggml-impl.h"

struct fixture {
    struct fake fake, other;
    ggml_gallocr_t galloc;
    struct ggml_context * ctx;
};

static struct ggml_context * new_context(void) {
    return ggml_init(
        (struct ggml_init_params){ 100 * ggml_tensor_overhead() + 12 * ggml_graph_overhead(), NULL, true });
}

static int setup(void ** state) {
    static struct fixture f;
    fake_init(&f.fake);
    fake_init(&f.other);
    f.galloc = ggml_gallocr_new(&f.fake.type);
    f.ctx = new_context();
    *state = &f;
    return 0;
}

static int teardown(void ** state) {
    struct fixture * f = *state;
    ggml_gallocr_free(f->galloc);
    ggml_free(f->ctx);
    assert_int_equal(f->fake.n_alloc, f->fake.n_free);
    assert_int_equal(f->other.n_alloc, f->other.n_free);
    return 0;
}

// x [n, n] -> x*x -> + x -> squared
static struct ggml_cgraph * small_graph(struct fixture * f, int64_t n) {
    struct ggml_cgraph * graph = ggml_new_graph(f->ctx);
    struct ggml_tensor * x = ggml_new_tensor_2d(f->ctx, GGML_TYPE_F32, n, n);
    ggml_set_input(x);
    struct ggml_tensor * sum = ggml_add(f->ctx, ggml_mul_mat(f->ctx, x, x), x);
    ggml_build_forward_expand(graph, ggml_sqr(f->ctx, sum));
    return graph;
}

static void making_and_freeing(void ** state) {
    struct fixture * f = *state;
    ggml_gallocr_free(NULL);
    assert_null(ggml_gallocr_new(NULL));
    assert_contains(ggml_ext_last_error(), "buffer type 0 is NULL");
    assert_null(ggml_gallocr_new_n(NULL, 1));
    ggml_backend_buffer_type_t types[] = { &f->fake.type, NULL };
    assert_null(ggml_gallocr_new_n(types, 0));
    assert_null(ggml_gallocr_new_n(types, 2));
    assert_contains(ggml_ext_last_error(), "buffer type 1 is NULL");
    int failures = 0;
    for (ggml_gallocr_t g = NULL; !g; failures++) {
        tn_mem_fail_nth(failures + 1);
        g = ggml_gallocr_new(&f->fake.type);
        assert_true(!g == !!tn_mem_fail_nth(0));
        ggml_gallocr_free(g);
        if (g) break;
    }
    assert_true(failures >= 4);
}

static void reserving_measures_only(void ** state) {
    struct fixture * f = *state;
    struct ggml_cgraph * graph = small_graph(f, 8);
    assert_int_equal(ggml_gallocr_get_buffer_size(f->galloc, 0), 0);
    size_t size = 0;
    ggml_gallocr_reserve_n_size(f->galloc, graph, NULL, NULL, &size);
    assert_int_equal(size, 512); // x and the product; the rest is computed in place
    assert_int_equal(f->fake.n_alloc, 0);
    assert_true(ggml_gallocr_reserve(f->galloc, graph));
    assert_int_equal(ggml_gallocr_get_buffer_size(f->galloc, 0), 512);
    for (int i = 0; i < graph->n_nodes; i++)
        assert_true(!graph->nodes[i]->data && !graph->nodes[i]->buffer);
    assert_true(ggml_gallocr_alloc_graph(f->galloc, graph));
    assert_int_equal(f->fake.n_alloc, 1);
    assert_int_equal(f->fake.n_reset, 1);
    assert_ptr_equal(graph->nodes[0]->data, graph->nodes[2]->data);
    assert_int_equal(graph->nodes[0]->buffer->usage, GGML_BACKEND_BUFFER_USAGE_COMPUTE);
}

static void buffers_grow_and_never_shrink(void ** state) {
    struct fixture * f = *state;
    assert_true(ggml_gallocr_alloc_graph(f->galloc, small_graph(f, 16)));
    const size_t large = ggml_gallocr_get_buffer_size(f->galloc, 0);
    assert_true(ggml_gallocr_alloc_graph(f->galloc, small_graph(f, 4)));
    assert_int_equal(ggml_gallocr_get_buffer_size(f->galloc, 0), large);
    assert_int_equal(f->fake.n_alloc, 1);
    assert_true(ggml_gallocr_alloc_graph(f->galloc, small_graph(f, 32)));
    assert_true(ggml_gallocr_get_buffer_size(f->galloc, 0) > large);
    assert_int_equal(f->fake.n_alloc, 2);
    assert_int_equal(f->fake.n_free, 1);
}

static void a_graph_is_allocated_once(void ** state) {
    struct fixture * f = *state;
    struct ggml_cgraph * graph = small_graph(f, 8);
    assert_true(ggml_gallocr_alloc_graph(f->galloc, graph));
    void * data = graph->nodes[1]->data;
    assert_true(ggml_gallocr_alloc_graph(f->galloc, graph));
    assert_ptr_equal(graph->nodes[1]->data, data);
    assert_int_equal(f->fake.n_init, 4);
}

// Equal counts and sizes, other links: with the first graph's places the last sum would read what was
// overwritten.
static void other_links_are_another_plan(void ** state) {
    struct fixture * f = *state;
    for (int k = 0; k < 2; k++) {
        struct ggml_cgraph * graph = ggml_new_graph(f->ctx);
        struct ggml_tensor * x = ggml_new_tensor_2d(f->ctx, GGML_TYPE_F32, 8, 8);
        struct ggml_tensor * a = ggml_mul_mat(f->ctx, x, x);
        struct ggml_tensor * b = ggml_mul_mat(f->ctx, a, a);
        struct ggml_tensor * c = ggml_mul_mat(f->ctx, b, b);
        struct ggml_tensor * d = ggml_mul_mat(f->ctx, c, k == 0 ? c : a);
        ggml_build_forward_expand(graph, d);
        if (k == 0) assert_true(ggml_gallocr_reserve(f->galloc, graph));
        assert_true(ggml_gallocr_alloc_graph(f->galloc, graph));
        assert_int_equal(a->data == c->data, k == 0);
    }
}

static void empty_graphs_and_tensors(void ** state) {
    struct fixture * f = *state;
    struct ggml_cgraph * graph = ggml_new_graph(f->ctx);
    assert_true(ggml_gallocr_alloc_graph(f->galloc, graph));
    struct ggml_tensor * x = ggml_new_tensor_2d(f->ctx, GGML_TYPE_F32, 8, 0);
    struct ggml_tensor * v = ggml_reshape_1d(f->ctx, ggml_sqr(f->ctx, x), 0);
    ggml_build_forward_expand(graph, v);
    assert_true(ggml_gallocr_alloc_graph(f->galloc, graph));
    assert_non_null(x->buffer);
    assert_non_null(v->buffer);
    assert_null(x->data); // nothing in the pool
    assert_int_equal(f->fake.n_alloc, 0);
    struct ggml_cgraph * mixed = ggml_new_graph(f->ctx);
    struct ggml_tensor * y = ggml_new_tensor_2d(f->ctx, GGML_TYPE_F32, 8, 0);
    ggml_build_forward_expand(mixed, y);
    ggml_build_forward_expand(mixed, ggml_sqr(f->ctx, ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 4)));
    assert_true(ggml_gallocr_alloc_graph(f->galloc, mixed));
    assert_non_null(y->data);
}

static void a_graph_of_one_leaf(void ** state) {
    struct fixture * f = *state;
    struct ggml_cgraph * graph = ggml_new_graph(f->ctx);
    struct ggml_tensor * x = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 4);
    ggml_build_forward_expand(graph, x);
    assert_true(ggml_gallocr_alloc_graph(f->galloc, graph));
    assert_non_null(x->data);
}

static void views_of_tensors_outside(void ** state) {
    struct fixture * f = *state;
    struct ggml_context * outside = new_context();
    struct ggml_tensor * cache = ggml_new_tensor_1d(outside, GGML_TYPE_F32, 64);
    struct ggml_tensor * early = ggml_view_1d(f->ctx, cache, 16, 64); // before the cache has memory
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(outside, &f->other.type);
    struct ggml_tensor * late = ggml_view_1d(f->ctx, cache, 16, 128);
    struct ggml_cgraph * graph = ggml_new_graph(f->ctx);
    struct ggml_tensor * sum = ggml_add(f->ctx, early, late);
    ggml_build_forward_expand(graph, ggml_cpy(f->ctx, sum, ggml_view_1d(f->ctx, cache, 16, 0)));
    assert_true(ggml_gallocr_alloc_graph(f->galloc, graph));
    assert_ptr_equal(early->data, (char *) cache->data + 64);
    assert_ptr_equal(early->buffer, buffer);
    assert_ptr_equal(late->buffer, buffer);
    assert_ptr_equal(sum->buffer->buft, &f->fake.type);
    assert_int_equal(ggml_gallocr_get_buffer_size(f->galloc, 0), 64);
    ggml_backend_buffer_free(buffer);
    ggml_free(outside);
}

static void chunks_below_the_largest_size(void ** state) {
    struct fixture * f = *state;
    f->fake.max_size = 600;
    struct ggml_cgraph * graph = ggml_new_graph(f->ctx);
    struct ggml_tensor * x = NULL;
    for (int i = 0; i < 6; i++) {
        struct ggml_tensor * y = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 64);
        x = x ? ggml_add(f->ctx, x, y) : y;
    }
    ggml_build_forward_expand(graph, x);
    assert_true(ggml_gallocr_alloc_graph(f->galloc, graph));
    assert_int_equal(f->fake.n_alloc, 3);
    assert_int_equal(ggml_gallocr_get_buffer_size(f->galloc, 0), 6 * 256);
    for (int i = 0; i < graph->n_leafs; i++)
        assert_true(graph->leafs[i]->buffer->size <= 600);
}

static void several_ids(void ** state) {
    struct fixture * f = *state;
    ggml_backend_buffer_type_t types[] = { &f->fake.type, &f->other.type, &f->fake.type };
    ggml_gallocr_t galloc = ggml_gallocr_new_n(types, 3);
    struct ggml_cgraph * graph = small_graph(f, 8);
    const int nodes[] = { 0, 1, 2 }, leafs[] = { 2 };
    assert_false(ggml_gallocr_alloc_graph(galloc, graph)); // not without a plan
    assert_contains(ggml_ext_last_error(), "ggml_gallocr_reserve_n");
    size_t sizes[3];
    ggml_gallocr_reserve_n_size(galloc, graph, nodes, leafs, sizes);
    assert_int_equal(sizes[0], sizes[2]); // one pool
    assert_int_equal(sizes[1], 256);
    assert_true(ggml_gallocr_reserve_n(galloc, graph, nodes, leafs));
    assert_int_equal(ggml_gallocr_get_buffer_size(galloc, 0), sizes[0]);
    assert_int_equal(ggml_gallocr_get_buffer_size(galloc, 1), 256);
    assert_int_equal(ggml_gallocr_get_buffer_size(galloc, 2), 0); // belongs to id 0
    assert_int_equal(ggml_gallocr_get_buffer_size(galloc, 3), 0);
    assert_int_equal(ggml_gallocr_get_buffer_size(galloc, -1), 0);
    assert_true(ggml_gallocr_alloc_graph(galloc, graph));
    assert_ptr_equal(graph->leafs[0]->buffer->buft, &f->fake.type);
    assert_ptr_equal(graph->nodes[1]->buffer->buft, &f->other.type);
    assert_true(ggml_gallocr_alloc_graph(galloc, small_graph(f, 7))); // smaller, the same otherwise
    assert_false(ggml_gallocr_alloc_graph(galloc, small_graph(f, 9)));
    struct ggml_cgraph * longer = small_graph(f, 8);
    ggml_build_forward_expand(longer, ggml_sqr(f->ctx, longer->nodes[2]));
    assert_false(ggml_gallocr_alloc_graph(galloc, longer));
    assert_contains(ggml_ext_last_error(), "4 nodes and 1 leafs");
    const int bad[] = { 0, 3, 0 };
    assert_false(ggml_gallocr_reserve_n(galloc, small_graph(f, 8), bad, NULL));
    assert_contains(ggml_ext_last_error(), "buffer id 3");
    assert_true(ggml_gallocr_alloc_graph(galloc, small_graph(f, 8))); // the plan is still there
    ggml_gallocr_free(galloc);
}

static void graphs_that_are_refused(void ** state) {
    struct fixture * f = *state;
    assert_false(ggml_gallocr_alloc_graph(NULL, small_graph(f, 4)));
    assert_false(ggml_gallocr_reserve(NULL, small_graph(f, 4)));
    assert_false(ggml_gallocr_alloc_graph(f->galloc, NULL));
    assert_contains(ggml_ext_last_error(), "ggml_gallocr_alloc_graph: the graph is NULL");
    struct ggml_cgraph * graph = small_graph(f, 4);
    ggml_build_forward_expand(
        graph, ggml_add(f->ctx, graph->nodes[0], ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 3)));
    assert_false(ggml_gallocr_alloc_graph(f->galloc, graph));
    assert_contains(ggml_ext_last_error(), "ggml_add");
    assert_false(ggml_gallocr_reserve(f->galloc, graph));
    size_t size = 0;
    ggml_gallocr_reserve_n_size(f->galloc, graph, NULL, NULL, &size);
    assert_true(size == SIZE_MAX);
    ggml_gallocr_reserve_n_size(f->galloc, graph, NULL, NULL, NULL);
    ggml_gallocr_reserve_n_size(NULL, graph, NULL, NULL, &size);
    assert_int_equal(f->fake.n_alloc, 0);
}

static void memory_that_cannot_be_had(void ** state) {
    struct fixture * f = *state;
    struct ggml_cgraph * graph = small_graph(f, 8);
    ggml_set_name(graph->leafs[0], "big");
    f->fake.fail_alloc = 1;
    assert_false(ggml_gallocr_alloc_graph(f->galloc, graph));
    assert_contains(ggml_ext_last_error(), "512 bytes of Fake memory");
    assert_contains(ggml_ext_last_error(), "'big' f32 [8, 8, 1, 1] of 256 bytes");
    assert_null(graph->nodes[0]->data);
    assert_true(ggml_gallocr_alloc_graph(f->galloc, graph)); // usable afterwards
    f->fake.fail_alloc = 1;
    assert_false(ggml_gallocr_reserve(f->galloc, small_graph(f, 16)));
    assert_int_equal(ggml_gallocr_get_buffer_size(f->galloc, 0), 0); // the old one was freed first
    assert_true(ggml_gallocr_alloc_graph(f->galloc, small_graph(f, 8)));
}

static void a_tensor_that_is_refused_takes_all_back(void ** state) {
    struct fixture * f = *state;
    for (int nth = 1; nth <= 4; nth++) {
        struct ggml_cgraph * graph = small_graph(f, 8);
        f->fake.fail_init = nth;
        assert_false(ggml_gallocr_alloc_graph(f->galloc, graph));
        assert_contains(ggml_ext_last_error(), "does not take");
        for (int i = 0; i < graph->n_nodes; i++)
            assert_true(!graph->nodes[i]->data && !graph->nodes[i]->buffer);
        assert_true(!graph->leafs[0]->data && !graph->leafs[0]->buffer);
        assert_true(ggml_gallocr_alloc_graph(f->galloc, graph));
    }
}

static void every_allocation_may_fail(void ** state) {
    struct fixture * f = *state;
    struct tn_mem_stats before, after;
    tn_mem_stats_get(TN_MEM_GRAPH, &before);
    int failures = 0;
    for (bool done = false; !done; failures++) {
        ggml_gallocr_t galloc = ggml_gallocr_new(&f->fake.type);
        struct ggml_cgraph * graph = ggml_new_graph_custom(f->ctx, 8, false);
        struct ggml_tensor * x = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 8);
        ggml_build_forward_expand(graph, ggml_sqr(f->ctx, x));
        tn_mem_fail_nth(failures + 1);
        done = ggml_gallocr_alloc_graph(galloc, graph);
        assert_true(done == !tn_mem_fail_nth(0));
        if (!done) {
            assert_true(!x->data && !x->buffer);
            assert_contains(ggml_ext_last_error(), "ggml_gallocr_alloc_graph");
            assert_true(ggml_gallocr_alloc_graph(galloc, graph)); // the next try succeeds
        }
        ggml_gallocr_free(galloc);
        ggml_reset(f->ctx);
    }
    tn_mem_stats_get(TN_MEM_GRAPH, &after);
    assert_int_equal(after.live_bytes, before.live_bytes);
    assert_true(failures > 10);
}

static void give_back(struct ggml_cgraph * graph) {
    for (int i = 0; i < graph->n_leafs; i++)
        graph->leafs[i]->data = NULL, graph->leafs[i]->buffer = NULL;
    for (int i = 0; i < graph->n_nodes; i++)
        graph->nodes[i]->data = NULL, graph->nodes[i]->buffer = NULL;
}

// The n-th allocation fails while a larger graph is reserved or allocated: the tensors are as they were, and
// the allocator serves the old graph and the new one.
static void growing_without_memory(void ** state) {
    struct fixture * f = *state;
    for (int reserves = 0; reserves < 2; reserves++) {
        int failures = 0;
        for (bool done = false; !done; failures += !done) {
            ggml_gallocr_t galloc = ggml_gallocr_new(&f->fake.type);
            struct ggml_cgraph *old = small_graph(f, 8), *larger = small_graph(f, 16);
            ggml_build_forward_expand(larger, ggml_mul_mat(f->ctx, larger->nodes[2], larger->nodes[0]));
            assert_true(ggml_gallocr_alloc_graph(galloc, old));
            tn_mem_fail_nth(failures + 1);
            done = reserves ? ggml_gallocr_reserve(galloc, larger) : ggml_gallocr_alloc_graph(galloc, larger);
            assert_true(done == !tn_mem_fail_nth(0));
            for (int i = 0; i < larger->n_nodes && !done; i++)
                assert_true(!larger->nodes[i]->data && !larger->nodes[i]->buffer);
            give_back(old);
            assert_true(ggml_gallocr_alloc_graph(galloc, old));
            if (done && !reserves) give_back(larger);
            assert_true(ggml_gallocr_alloc_graph(galloc, larger));
            ggml_gallocr_free(galloc);
            ggml_reset(f->ctx);
        }
        assert_true(failures > 5);
    }
}

static void skipped_tensors_get_no_memory(void ** state) {
    struct fixture * f = *state;
    for (int k = 0; k < 3; k++) {
        struct ggml_cgraph * graph = small_graph(f, 8);
        struct ggml_tensor * sum = graph->nodes[1];
        if (k == 1) ggml_gallocr_set_skipped_tensors(f->galloc, &sum, 1);
        assert_true(ggml_gallocr_alloc_graph(f->galloc, graph));
        assert_int_equal(sum->data == NULL, k == 1); // the set serves one allocation
        assert_int_equal(sum->buffer == NULL, k == 1);
        assert_ptr_equal(sum->src[0], graph->nodes[0]);
        if (k == 1) assert_ptr_not_equal(graph->nodes[2]->data, graph->nodes[0]->data);
    }
    ggml_gallocr_set_skipped_tensors(f->galloc, NULL, 1);
    assert_contains(ggml_ext_last_error(), "NULL");
    ggml_gallocr_set_skipped_tensors(NULL, NULL, 0);
    ggml_gallocr_set_skipped_tensors(f->galloc, NULL, 0);
}

// ---- for real --------------------------------------------------------------------------------------------

static void a_graph_is_computed(void ** state) {
    struct fixture * f = *state;
    ggml_backend_t cpu = ggml_backend_cpu_init();
    ggml_gallocr_t galloc = ggml_gallocr_new(ggml_backend_get_default_buffer_type(cpu));
    struct ggml_cgraph * graph = small_graph(f, 2);
    assert_true(ggml_gallocr_alloc_graph(galloc, graph));
    const float x[4] = { 1, 2, 3, 4 };
    float y[4];
    ggml_backend_tensor_set(graph->leafs[0], x, 0, sizeof(x));
    assert_int_equal(ggml_backend_graph_compute(cpu, graph), GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get(ggml_graph_node(graph, -1), y, 0, sizeof(y));
    // rows (1 2) and (3 4): products 5 11, 11 25; plus x, squared
    assert_true(y[0] == 36.0f && y[1] == 169.0f && y[2] == 196.0f && y[3] == 841.0f);
    ggml_gallocr_free(galloc);
    ggml_backend_free(cpu);
}

// Layers with long lives (residual sums) and short ones.
static struct ggml_cgraph * long_graph(struct ggml_context * ctx, int n_nodes) {
    struct ggml_cgraph * graph = ggml_new_graph_custom(ctx, (size_t) n_nodes + 100, false);
    struct ggml_tensor * x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 64, 64);
    struct ggml_tensor * skips[64] = { NULL };
    for (int i = 0; i < n_nodes / 5; i++) {
        struct ggml_tensor * h = ggml_rms_norm(ctx, x, 1e-5f);
        h = ggml_mul_mat(ctx, ggml_reshape_2d(ctx, h, 64, 64), h);
        if (skips[i % 64]) h = ggml_add(ctx, h, skips[i % 64]);
        x = ggml_add(ctx, x, h);
        skips[i % 64] = h;
    }
    ggml_build_forward_expand(graph, x);
    return graph;
}

static double ms_to_allocate(struct fixture * f, int n_nodes) {
    const size_t size = (size_t) (n_nodes + 1000) * ggml_tensor_overhead() +
                        ggml_graph_overhead_custom((size_t) n_nodes + 100, false);
    double best = 1e9;
    for (int k = 0; k < 3; k++) {
        struct ggml_context * ctx = ggml_init((struct ggml_init_params){ size, NULL, true });
        struct ggml_cgraph * graph = long_graph(ctx, n_nodes);
        ggml_gallocr_t galloc = ggml_gallocr_new(&f->fake.type);
        const int64_t start = tn_clock_us();
        assert_true(ggml_gallocr_alloc_graph(galloc, graph));
        const double ms = (double) (tn_clock_us() - start) / 1000;
        if (ms < best) best = ms;
        ggml_gallocr_free(galloc);
        ggml_free(ctx);
    }
    return best;
}

// The bound is ten times what is aimed at, and more where everything is slow: it catches a search that is
// quadratic, not a busy machine.
static void large_graphs_cost_little(void ** state) {
    struct fixture * f = *state;
    const char * env = getenv("TENON_SLOW");
    const double slow = env && env[0] == '1' ? 5 : 1;
    const double small = ms_to_allocate(f, 5000), large = ms_to_allocate(f, 100000);
    printf("allocating 5,000 nodes: %.2f ms, 100,000 nodes: %.2f ms\n", small, large);
    assert_true(small < 100 * slow);
    assert_true(large < 2000 * slow);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(making_and_freeing),
        TEST(reserving_measures_only),
        TEST(buffers_grow_and_never_shrink),
        TEST(a_graph_is_allocated_once),
        TEST(other_links_are_another_plan),
        TEST(empty_graphs_and_tensors),
        TEST(a_graph_of_one_leaf),
        TEST(views_of_tensors_outside),
        TEST(chunks_below_the_largest_size),
        TEST(several_ids),
        TEST(graphs_that_are_refused),
        TEST(memory_that_cannot_be_had),
        TEST(a_tensor_that_is_refused_takes_all_back),
        TEST(every_allocation_may_fail),
        TEST(growing_without_memory),
        TEST(skipped_tensors_get_no_memory),
        TEST(a_graph_is_computed),
        TEST(large_graphs_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
