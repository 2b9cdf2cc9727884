// SPDX-License-Identifier: MIT
// What a known client does with private layouts: it makes graphs on the stack, by position, that are windows
// onto another graph, runs these one after the other, and adds leafs of its own. Compiled as C and as C++.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "ggml/src/ggml-impl.h"

enum { N = 5, N_NODES = 4 };

static int failures = 0;

static void check(bool ok, const char * what) {
    if (!ok) printf("FAIL %s\n", what);
    failures += !ok;
}

// y = sqrt((x*x + x) * 3), one operator a node
static struct ggml_tensor * build(struct ggml_context * ctx, struct ggml_tensor * x) {
    return ggml_sqrt(ctx, ggml_scale(ctx, ggml_add(ctx, ggml_sqr(ctx, x), x), 3.0f));
}

static bool is_right(const struct ggml_tensor * y, const float * x) {
    float out[N];
    ggml_backend_tensor_get(y, out, 0, sizeof(out));
    for (int i = 0; i < N; i++) {
        const float want = sqrtf((x[i] * x[i] + x[i]) * 3.0f);
        if (!(fabsf(out[i] - want) <= 1e-6f * want)) return false;
    }
    return true;
}

// Nodes i0 .. i0 + n - 1 as a graph of their own: size 0, no leafs, the use counts and hash set of the whole.
static enum ggml_status compute_window(ggml_backend_t backend, struct ggml_cgraph * whole, int i0, int n) {
    struct ggml_cgraph window = { 0,
                                  n,
                                  0,
                                  whole->nodes + i0,
                                  NULL,
                                  NULL,
                                  NULL,
                                  whole->use_counts,
                                  whole->visited_hash_set,
                                  whole->order,
                                  0 };
    const enum ggml_status status = ggml_backend_graph_compute_async(backend, &window);
    ggml_backend_synchronize(backend);
    check(window.size == 0 && window.n_nodes == n && window.leafs == NULL, "computing changes the window");
    return status;
}

static void compute_in_windows(ggml_backend_t backend, struct ggml_cgraph * graph, struct ggml_tensor * y,
                               const float * x) {
    for (int width = 1; width <= N_NODES; width++) {
        ggml_backend_tensor_memset(y, 0, 0, ggml_nbytes(y));
        for (int i0 = 0; i0 < N_NODES; i0 += width) {
            const int n = width < N_NODES - i0 ? width : N_NODES - i0;
            check(compute_window(backend, graph, i0, n) == GGML_STATUS_SUCCESS, "status of a window");
        }
        check(is_right(y, x), "result of the windows");
    }
}

static void add_leaf(struct ggml_cgraph * graph, struct ggml_tensor * leaf) {
    const int before = graph->n_leafs;
    check(before < graph->size, "room for a leaf");
    graph->leafs[graph->n_leafs++] = leaf;
    check(graph->n_leafs == before + 1 && ggml_graph_n_nodes(graph) == N_NODES, "number of nodes");
    check(ggml_graph_get_tensor(graph, ggml_get_name(leaf)) == leaf, "the leaf is found");
}

int main(void) {
    const float values[N] = { 0.5f, 1.0f, 2.0f, 3.0f, 10.0f };
    struct ggml_init_params params = { 1 << 20, NULL, true };
    struct ggml_context * ctx = ggml_init(params);
    ggml_backend_t backend = ggml_backend_cpu_init();
    struct ggml_tensor * x = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, N);
    struct ggml_tensor * other = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, N);
    struct ggml_tensor * y = build(ctx, x);
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_set_name(other, "a leaf of the client");
    ggml_build_forward_expand(graph, y);
    check(graph->n_nodes == N_NODES && graph->n_leafs == 1 && graph->leafs[0] == x, "fields of a graph");
    check(graph->nodes[N_NODES - 1] == y && graph->size == (int) GGML_DEFAULT_GRAPH_SIZE, "nodes and size");

    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, backend);
    ggml_backend_tensor_set(x, values, 0, sizeof(values));
    add_leaf(graph, other);
    compute_in_windows(backend, graph, y, values);

    ggml_backend_buffer_free(buffer);
    ggml_backend_free(backend);
    ggml_free(ctx);
    printf("%d failures\n", failures);
    return failures != 0;
}
