// SPDX-License-Identifier: MIT
// Allocation failures in contexts, graphs, gradients and their output.
#include "sweep.h"

#include "core/graph.h"
#include "ggml-ext.h"

static struct ggml_context * context(void) {
    return ggml_init((struct ggml_init_params){ .mem_size = 1 << 20 });
}

static bool making_a_context(void) {
    struct ggml_context * ctx = context();
    const bool ok = ctx && ggml_ext_tensor_valid(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1000));
    ggml_free(ctx);
    return ok;
}

// Builders and graphs live in the context's pool: no allocation of their own.
static struct ggml_cgraph * chain(struct ggml_context * ctx) {
    struct ggml_tensor * w = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    ggml_set_param(w);
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    for (int i = 0; i < 100; i++)
        t = ggml_mul(ctx, ggml_add(ctx, t, w), w);
    ggml_set_loss(t);
    struct ggml_cgraph * g = ggml_new_graph_custom(ctx, 1024, true);
    ggml_build_forward_expand(g, t);
    return g;
}

static bool building_a_graph(void) {
    struct ggml_context * ctx = context();
    if (!ctx) return false;
    struct ggml_cgraph * g = chain(ctx);
    const bool ok = ggml_ext_graph_valid(g) && ggml_ext_graph_valid(ggml_graph_dup(ctx, g, true));
    ggml_free(ctx);
    return ok;
}

static bool building_gradients(void) {
    struct ggml_context * ctx = context();
    if (!ctx) return false;
    struct ggml_cgraph * g = chain(ctx);
    ggml_build_backward_expand(ctx, g, NULL);
    const bool ok = ggml_ext_graph_valid(g);
    if (ok) ggml_graph_reset(g);
    ggml_free(ctx);
    return ok;
}

static bool checking_a_graph(void) {
    struct ggml_context * ctx = context();
    if (!ctx) return false;
    const bool ok = tn_graph_check(chain(ctx));
    ggml_free(ctx);
    return ok;
}

static bool writing_a_graph(void) {
    struct ggml_context * ctx = context();
    if (!ctx) return false;
    struct ggml_cgraph * g = chain(ctx);
    g->grads[tn_graph_find(g, g->nodes[5])] = g->nodes[6];
    tn_error_clear();
    ggml_graph_dump_dot(g, NULL, "/dev/null");
    const bool ok = ggml_ext_last_error()[0] == '\0';
    ggml_free(ctx);
    return ok;
}

static void contexts(void ** state) {
    (void) state;
    assert_int_equal(sweep(making_a_context), 2);
    assert_int_equal(sweep(building_a_graph), 2);
}

static void graphs(void ** state) {
    (void) state;
    assert_int_equal(sweep(building_gradients), 3);
    assert_true(sweep(checking_a_graph) > 2);
    assert_true(sweep(writing_a_graph) > 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts),
        cmocka_unit_test(graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
