// SPDX-License-Identifier: MIT
// backend/compare.c: copies of graphs, and what a comparison of two back ends shows.
#include "unit/fake_device.h"

#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml/src/ggml-impl.h"

struct fixture {
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor *a, *b, *product, *turned, *sum, *root;
    ggml_backend_buffer_t buffer;
    ggml_backend_t cpu, other;
};

static void fill(struct ggml_tensor * t, float first) {
    float values[64];
    const size_t n = (size_t) ggml_nelements(t);
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++)
        values[i] = first + 0.5f * (float) i;
    ggml_backend_tensor_set(t, values, 0, n * sizeof(float));
}

// root = sqrt((a * b)^T + (a * b)^T)
static int setup(void ** state) {
    static struct fixture f;
    f = (struct fixture){ 0 };
    f.ctx = ggml_init(
        (struct ggml_init_params){ 64 * ggml_tensor_overhead() + ggml_graph_overhead(), NULL, true });
    f.a = ggml_set_name(ggml_new_tensor_2d(f.ctx, GGML_TYPE_F32, 4, 3), "a");
    f.b = ggml_set_name(ggml_new_tensor_2d(f.ctx, GGML_TYPE_F32, 4, 3), "b");
    f.product = ggml_mul(f.ctx, f.a, f.b);
    f.turned = ggml_transpose(f.ctx, f.product);
    f.sum = ggml_add(f.ctx, ggml_cont(f.ctx, f.turned), ggml_cont(f.ctx, f.turned));
    f.root = ggml_set_name(ggml_sqrt(f.ctx, f.sum), "root");
    f.graph = ggml_new_graph(f.ctx);
    ggml_build_forward_expand(f.graph, f.root);
    f.cpu = ggml_backend_cpu_init();
    f.other = ggml_backend_cpu_init();
    f.buffer = ggml_backend_alloc_ctx_tensors(f.ctx, f.cpu);
    fill(f.a, 1);
    fill(f.b, 2);
    *state = &f;
    return 0;
}

static int teardown(void ** state) {
    struct fixture * f = *state;
    ggml_backend_buffer_free(f->buffer);
    ggml_backend_free(f->cpu);
    ggml_backend_free(f->other);
    ggml_free(f->ctx);
    return 0;
}

// ---- copies ---------------------------------------------------------------------------------------------

static struct ggml_tensor * named(struct ggml_context * ctx, const char * name) {
    struct ggml_tensor * t = ggml_get_tensor(ctx, name);
    assert_non_null(t);
    return t;
}

static void assert_same_bytes(const struct ggml_tensor * x, const struct ggml_tensor * y) {
    char bx[256], by[256];
    assert_int_equal(ggml_nbytes(x), ggml_nbytes(y));
    assert_true(ggml_nbytes(x) <= sizeof(bx));
    ggml_backend_tensor_get(x, bx, 0, ggml_nbytes(x));
    ggml_backend_tensor_get(y, by, 0, ggml_nbytes(y));
    assert_memory_equal(bx, by, ggml_nbytes(x));
}

static void a_copy_computes_the_same(void ** state) {
    struct fixture * f = *state;
    f->b->flags |= GGML_TENSOR_FLAG_PARAM;
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(f->other, f->graph);
    assert_non_null(copy.graph);
    assert_int_equal(copy.graph->n_nodes, f->graph->n_nodes);
    assert_int_equal(copy.graph->n_leafs, 0);
    struct ggml_tensor * b = named(copy.ctx_allocated, "b");
    assert_ptr_not_equal(b->data, f->b->data);
    assert_true(b->flags & GGML_TENSOR_FLAG_PARAM);
    assert_same_bytes(b, f->b);
    // The copy has a life of its own: other values here do not change it.
    assert_int_equal(ggml_backend_graph_compute(f->cpu, f->graph), GGML_STATUS_SUCCESS);
    fill(f->a, 100);
    assert_int_equal(ggml_backend_graph_compute(f->other, copy.graph), GGML_STATUS_SUCCESS);
    for (int i = 0; i < f->graph->n_nodes; i++) {
        const struct ggml_tensor *x = f->graph->nodes[i], *y = copy.graph->nodes[i];
        assert_int_equal(x->op, y->op);
        assert_string_equal(x->name, y->name);
        assert_memory_equal(x->nb, y->nb, sizeof(x->nb));
        assert_same_bytes(x, y);
    }
    ggml_backend_graph_copy_free(copy);
}

static void a_view_is_made_again(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * part = ggml_view_2d(f->ctx, f->a, 2, 2, f->a->nb[1], 20);
    struct ggml_tensor * inner = ggml_view_1d(f->ctx, part, 2, 8);
    struct ggml_cgraph * graph = ggml_new_graph_custom(f->ctx, 8, false);
    struct ggml_tensor * out = ggml_neg(f->ctx, inner);
    ggml_build_forward_expand(graph, out);
    ggml_backend_view_init(part);
    ggml_backend_view_init(inner);
    ggml_backend_buffer_t memory = ggml_backend_alloc_ctx_tensors(f->ctx, f->cpu);
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(f->other, graph);
    assert_non_null(copy.graph);
    const struct ggml_tensor * view = copy.graph->nodes[copy.graph->n_nodes - 1]->src[0];
    const struct ggml_tensor * a = named(copy.ctx_allocated, "a");
    assert_ptr_equal(view->view_src, a);
    assert_ptr_equal(view->data, (char *) a->data + 28);
    assert_ptr_equal(view->buffer, copy.buffer);
    assert_same_bytes(view, inner);
    ggml_backend_graph_copy_free(copy);
    ggml_backend_buffer_free(memory);
}

// A window's sources lie before it: they are copied with their results.
static void a_window_is_copied_with_what_it_reads(void ** state) {
    struct fixture * f = *state;
    assert_int_equal(ggml_backend_graph_compute(f->cpu, f->graph), GGML_STATUS_SUCCESS);
    struct ggml_cgraph last = *f->graph;
    last.size = last.n_leafs = 0;
    last.nodes += last.n_nodes - 1;
    last.n_nodes = 1;
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(f->other, &last);
    assert_int_equal(copy.graph->n_nodes, 1);
    assert_int_equal(ggml_backend_graph_compute(f->other, copy.graph), GGML_STATUS_SUCCESS);
    assert_same_bytes(copy.graph->nodes[0], f->root);
    ggml_backend_graph_copy_free(copy);
}

static void rows_with_gaps_keep_them(void ** state) {
    struct fixture * f = *state;
    struct ggml_context * ctx = ggml_init(
        (struct ggml_init_params){ 8 * ggml_tensor_overhead() + ggml_graph_overhead(), NULL, true });
    struct ggml_tensor * t = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 3), "gaps");
    t->nb[1] = 16, t->nb[2] = t->nb[3] = 48;
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, ggml_cont(ctx, t));
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, f->cpu);
    const float rows[10] = { 1, 2, 0, 0, 3, 4, 0, 0, 5, 6 }, packed[6] = { 1, 2, 3, 4, 5, 6 };
    ggml_backend_tensor_set(t, rows, 0, sizeof(rows));
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(f->other, graph);
    assert_int_equal(named(copy.ctx_allocated, "gaps")->nb[1], 16);
    assert_int_equal(ggml_backend_graph_compute(f->other, copy.graph), GGML_STATUS_SUCCESS);
    float out[6];
    ggml_backend_tensor_get(copy.graph->nodes[0], out, 0, sizeof(out));
    assert_memory_equal(out, packed, sizeof(out));
    ggml_backend_graph_copy_free(copy);
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
}

static void nothing_to_copy(void ** state) {
    struct fixture * f = *state;
    struct ggml_cgraph * none = ggml_new_graph_custom(f->ctx, 4, false);
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(f->other, none);
    assert_non_null(copy.graph);
    assert_int_equal(copy.graph->n_nodes, 0);
    ggml_backend_graph_copy_free(copy);
    struct ggml_context * ctx = ggml_init(
        (struct ggml_init_params){ 8 * ggml_tensor_overhead() + ggml_graph_overhead(), NULL, true });
    struct ggml_tensor * empty = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 0);
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, ggml_neg(ctx, ggml_view_tensor(ctx, empty)));
    ggml_backend_buffer_t buffer = ggml_backend_alloc_buffer(f->cpu, 0);
    empty->buffer = graph->nodes[0]->buffer = graph->nodes[graph->n_nodes - 1]->buffer = buffer;
    copy = ggml_backend_graph_copy(f->other, graph);
    assert_non_null(copy.graph);
    assert_int_equal(ggml_backend_graph_compute(f->other, copy.graph), GGML_STATUS_SUCCESS);
    ggml_backend_graph_copy_free(copy);
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
    ggml_backend_graph_copy_free((struct ggml_backend_graph_copy){ 0 });
}

static void long_chains_take_no_stack(void ** state) {
    enum { N = 200000 };
    struct fixture * f = *state;
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){
        (N + 2) * ggml_tensor_overhead() + ggml_graph_overhead_custom(1, false), NULL, true });
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    for (int i = 0; i < N; i++)
        t = ggml_neg(ctx, t);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, f->cpu);
    struct ggml_cgraph * graph = ggml_new_graph_custom(ctx, 1, false);
    graph->nodes[graph->n_nodes++] = t;
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(f->other, graph);
    assert_non_null(copy.graph);
    int n = 0;
    for (const struct ggml_tensor * x = copy.graph->nodes[0]; x->src[0]; x = x->src[0])
        n++;
    assert_int_equal(n, N);
    ggml_backend_graph_copy_free(copy);
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
}

static void assert_no_copy(struct ggml_backend_graph_copy copy, const char * text) {
    assert_true(!copy.buffer && !copy.ctx_allocated && !copy.ctx_unallocated && !copy.graph);
    assert_contains(ggml_ext_last_error(), text);
    assert_contains(ggml_ext_last_error(), "ggml_backend_graph_copy");
}

static void what_cannot_be_copied(void ** state) {
    struct fixture * f = *state;
    assert_no_copy(ggml_backend_graph_copy(NULL, f->graph), "the back end is NULL");
    assert_no_copy(ggml_backend_graph_copy(f->cpu, NULL), "the graph is NULL");
    struct ggml_tensor * late = ggml_set_name(ggml_neg(f->ctx, f->root), "late");
    struct ggml_cgraph * graph = ggml_new_graph_custom(f->ctx, 16, false);
    ggml_build_forward_expand(graph, late);
    assert_no_copy(ggml_backend_graph_copy(f->cpu, graph), "'late' is in no buffer");
    ggml_build_forward_expand(graph, ggml_add(f->ctx, late, ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 5)));
    assert_no_copy(ggml_backend_graph_copy(f->cpu, graph), "ggml_add");
}

static void a_device_without_memory(void ** state) {
    struct fixture * f = *state;
    struct fake fake;
    fake_init(&fake);
    ggml_backend_t backend = ggml_backend_dev_init(&fake.device, NULL);
    fake.max_size = 64;
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(backend, f->graph);
    assert_non_null(copy.graph);
    assert_true(ggml_backend_buffer_is_multi_buffer(copy.buffer));
    assert_same_bytes(named(copy.ctx_allocated, "b"), f->b);
    ggml_backend_graph_copy_free(copy);
    fake.fail_alloc = 2;
    assert_no_copy(ggml_backend_graph_copy(backend, f->graph), "memory cannot be had");
    fake.fail_init = 3;
    assert_no_copy(ggml_backend_graph_copy(backend, f->graph), "memory does not take");
    assert_int_equal(fake.n_alloc, fake.n_free);
    ggml_backend_free(backend);
}

// ---- comparison -----------------------------------------------------------------------------------------

struct seen {
    int n, last, stop_at;
    uint64_t differ; // bit i: node i
};

static bool look(int i, struct ggml_tensor * x, struct ggml_tensor * y, void * user_data) {
    struct seen * s = user_data;
    char bx[256], by[256];
    ggml_backend_tensor_get(x, bx, 0, ggml_nbytes(x));
    ggml_backend_tensor_get(y, by, 0, ggml_nbytes(y));
    assert_string_equal(x->name, y->name);
    assert_true(s->n == 0 || i > s->last);
    if (memcmp(bx, by, ggml_nbytes(x)) != 0) s->differ |= (uint64_t) 1 << i;
    s->last = i;
    return ++s->n != s->stop_at;
}

static enum ggml_status (*right_compute)(ggml_backend_t backend, struct ggml_cgraph * graph);

// Right but for the first element of a sum.
static enum ggml_status wrong_compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    for (int i = 0; i < graph->n_nodes; i++) {
        struct ggml_cgraph node = *graph;
        node.nodes += i;
        node.n_nodes = 1;
        const enum ggml_status status = right_compute(backend, &node);
        if (status != GGML_STATUS_SUCCESS) return status;
        if (graph->nodes[i]->op == GGML_OP_ADD) ((float *) graph->nodes[i]->data)[0] += 1;
    }
    return GGML_STATUS_SUCCESS;
}

static void spoil(struct fixture * f) {
    right_compute = f->other->iface.graph_compute;
    f->other->iface.graph_compute = wrong_compute;
}

static int index_of(const struct fixture * f, const struct ggml_tensor * t) {
    for (int i = 0; i < f->graph->n_nodes; i++) {
        if (f->graph->nodes[i] == t) return i;
    }
    fail_msg("'%s' is no node", t->name);
    return -1;
}

static void equal_back_ends(void ** state) {
    struct fixture * f = *state;
    struct seen seen = { 0 };
    assert_true(ggml_backend_compare_graph_backend(f->cpu, f->other, f->graph, look, &seen, NULL, 0));
    assert_int_equal(f->graph->n_nodes, 6); // one of them the transpose, which is not shown
    assert_int_equal(seen.n, 5);
    assert_int_equal(seen.differ, 0);
    float root;
    ggml_backend_tensor_get(f->root, &root, 0, sizeof(root));
    assert_true(root == 2.0f); // sqrt(1 * 2 + 1 * 2): the first side is the graph itself
}

static void a_wrong_node_is_seen_where_it_is(void ** state) {
    struct fixture * f = *state;
    struct seen seen = { 0 };
    spoil(f);
    assert_true(ggml_backend_compare_graph_backend(f->cpu, f->other, f->graph, look, &seen, NULL, 0));
    const uint64_t at_sum = (uint64_t) 1 << index_of(f, f->sum);
    assert_int_equal(seen.differ, at_sum | (uint64_t) 1 << index_of(f, f->root));
    seen = (struct seen){ .stop_at = 2 };
    assert_true(ggml_backend_compare_graph_backend(f->cpu, f->other, f->graph, look, &seen, NULL, 0));
    assert_int_equal(seen.n, 2);
}

static void chosen_nodes(void ** state) {
    struct fixture * f = *state;
    struct seen seen = { .stop_at = 1 }; // its false does not end it
    const struct ggml_tensor * chosen[] = { f->root, f->product };
    spoil(f);
    assert_true(ggml_backend_compare_graph_backend(f->cpu, f->other, f->graph, look, &seen, chosen, 2));
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.last, index_of(f, f->root));
    assert_int_equal(seen.differ, (uint64_t) 1 << index_of(f, f->root));
    const struct ggml_tensor * other[] = { f->a };
    assert_false(ggml_backend_compare_graph_backend(f->cpu, f->other, f->graph, look, &seen, other, 1));
    assert_contains(ggml_ext_last_error(), "none of the 1 test nodes");
}

static void comparisons_that_cannot_be(void ** state) {
    struct fixture * f = *state;
    struct seen seen = { 0 };
    assert_false(ggml_backend_compare_graph_backend(NULL, f->cpu, f->graph, look, &seen, NULL, 0));
    assert_false(ggml_backend_compare_graph_backend(f->cpu, NULL, f->graph, look, &seen, NULL, 0));
    assert_false(ggml_backend_compare_graph_backend(f->cpu, f->other, NULL, look, &seen, NULL, 0));
    assert_false(ggml_backend_compare_graph_backend(f->cpu, f->other, f->graph, NULL, &seen, NULL, 0));
    assert_contains(ggml_ext_last_error(), "the callback is NULL");
    assert_false(ggml_backend_compare_graph_backend(f->cpu, f->other, f->graph, look, &seen, NULL, 3));
    assert_contains(ggml_ext_last_error(), "test nodes");
    assert_int_equal(seen.n, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_copy_computes_the_same),
        TEST(a_view_is_made_again),
        TEST(a_window_is_copied_with_what_it_reads),
        TEST(rows_with_gaps_keep_them),
        TEST(nothing_to_copy),
        TEST(long_chains_take_no_stack),
        TEST(what_cannot_be_copied),
        TEST(a_device_without_memory),
        TEST(equal_back_ends),
        TEST(a_wrong_node_is_seen_where_it_is),
        TEST(chosen_nodes),
        TEST(comparisons_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
