// SPDX-License-Identifier: MIT
// Buffers, the allocators, transfers and copies of graphs when memory runs out.
#include "oom/sweep.h"

#include "ggml-alloc.h"
#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "ggml/src/ggml-impl.h"

static bool buffers(void) {
    static _Alignas(64) char memory[64];
    ggml_backend_buffer_t parts[] = {
        ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 100),
        ggml_backend_cpu_buffer_from_ptr(memory, sizeof(memory)),
        ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 0),
    };
    const bool made = parts[0] && parts[1] && parts[2];
    ggml_backend_buffer_t all = made ? ggml_backend_multi_buffer_alloc_buffer(parts, 3) : NULL;
    for (int i = 0; i < 3 && !all; i++)
        ggml_backend_buffer_free(parts[i]);
    ggml_backend_buffer_free(all);
    return all;
}

static struct ggml_context * context(void) {
    return ggml_init(
        (struct ggml_init_params){ 32 * ggml_tensor_overhead() + ggml_graph_overhead(), NULL, true });
}

static bool tensors_of_a_context(void) {
    struct ggml_context * ctx = context();
    if (!ctx) return false;
    for (int i = 0; i < 10; i++)
        ggml_view_tensor(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 100));
    ggml_backend_buffer_t buffer =
        ggml_backend_alloc_ctx_tensors_from_buft(ctx, ggml_backend_cpu_buffer_type());
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
    return buffer;
}

static bool allocate(struct ggml_context * ctx, ggml_gallocr_t galloc) {
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    struct ggml_tensor * x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 8);
    ggml_build_forward_expand(graph, ggml_add(ctx, ggml_mul_mat(ctx, x, x), x));
    const int nodes[] = { 0, 1 };
    size_t sizes[2];
    ggml_gallocr_reserve_n_size(galloc, graph, nodes, NULL, sizes);
    if (sizes[0] == SIZE_MAX || !ggml_gallocr_reserve_n(galloc, graph, nodes, NULL)) return false;
    struct ggml_tensor * skipped = graph->nodes[0];
    ggml_gallocr_set_skipped_tensors(galloc, &skipped, 1);
    ggml_gallocr_set_skipped_tensors(galloc, NULL, 0);
    return ggml_gallocr_alloc_graph(galloc, graph);
}

static bool graphs(void) {
    struct ggml_context * ctx = context();
    ggml_backend_buffer_type_t types[] = { ggml_backend_cpu_buffer_type(), ggml_backend_cpu_buffer_type() };
    ggml_gallocr_t galloc = ctx ? ggml_gallocr_new_n(types, 2) : NULL;
    const bool done = galloc && allocate(ctx, galloc);
    ggml_gallocr_free(galloc);
    ggml_free(ctx);
    return done;
}

static bool an_empty_graph(void) {
    struct ggml_context * ctx = context();
    ggml_gallocr_t galloc = ctx ? ggml_gallocr_new(ggml_backend_cpu_buffer_type()) : NULL;
    const bool done = galloc && ggml_gallocr_alloc_graph(galloc, ggml_new_graph(ctx));
    ggml_gallocr_free(galloc);
    ggml_free(ctx);
    return done;
}

static bool count_nodes(int index, struct ggml_tensor * x, struct ggml_tensor * y, void * n) {
    (void) index, (void) x, (void) y;
    ++*(int *) n;
    return true;
}

static bool comparison(void) {
    static ggml_backend_t cpu; // what it keeps for graphs is made once
    if (!cpu) cpu = ggml_backend_cpu_init();
    struct ggml_context * ctx = context();
    if (!ctx) return false;
    struct ggml_tensor * x = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, ggml_neg(ctx, ggml_view_1d(ctx, ggml_neg(ctx, x), 4, 16)));
    ggml_backend_buffer_t buffer =
        ggml_backend_alloc_ctx_tensors_from_buft(ctx, ggml_backend_cpu_buffer_type());
    int n = 0;
    const bool done =
        buffer && ggml_backend_compare_graph_backend(cpu, cpu, graph, count_nodes, &n, NULL, 0) && n == 2;
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
    return done;
}

static void buffers_without_memory(void ** state) {
    (void) state;
    assert_true(sweep(buffers) >= 5);
}

static void contexts_without_memory(void ** state) {
    (void) state;
    assert_true(sweep(tensors_of_a_context) >= 4);
}

static void graphs_without_memory(void ** state) {
    (void) state;
    assert_true(sweep(graphs) >= 15);
    assert_true(sweep(an_empty_graph) >= 8);
}

static void comparisons_without_memory(void ** state) {
    (void) state;
    assert_true(sweep(comparison) >= 15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_without_memory),
        cmocka_unit_test(contexts_without_memory),
        cmocka_unit_test(graphs_without_memory),
        cmocka_unit_test(comparisons_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
