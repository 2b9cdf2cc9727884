// SPDX-License-Identifier: MIT
// What is copied: layouts, weights, experts.
#include "unit/sched/stage.h"

// ---- layouts ---------------------------------------------------------------------------------------------

// A view with gaps keeps its strides on the other side.
static void views_are_copied_with_their_strides(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    struct ggml_context * ctx = stage_context();
    struct ggml_cgraph * graph = stage_graph(ctx);
    struct ggml_tensor * x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 8);
    ggml_set_input(x);
    struct ggml_tensor * columns = ggml_view_2d(ctx, x, 3, 8, x->nb[1], 2 * sizeof(float));
    struct ggml_tensor * out = ggml_cont(ctx, ggml_transpose(ctx, columns));
    ggml_set_output(out);
    ggml_build_forward_expand(graph, out);
    stage_place(&s, out, 0);
    stage_alloc(&s, graph);
    assert_int_equal(out->src[0]->nb[0], 32);
    assert_int_equal(out->src[0]->nb[1], 4);
    stage_fill(x, 0, 1);
    stage_compute(&s, graph);
    float got[24];
    ggml_backend_tensor_get(out, got, 0, sizeof(got));
    for (int i = 0; i < 24; i++)
        assert_true(got[i] == (float) (i % 8 * 8 + 2 + i / 8));
    ggml_free(ctx);
    stage_end(&s);
}

static void tensors_without_elements_pass(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    struct ggml_context * ctx = stage_context();
    struct ggml_cgraph * graph = stage_graph(ctx);
    struct ggml_tensor * x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 0, 5);
    ggml_set_input(x);
    struct ggml_tensor * out = ggml_scale(ctx, x, 2);
    ggml_build_forward_expand(graph, out);
    stage_place(&s, out, 0);
    stage_alloc(&s, graph);
    stage_compute(&s, graph);
    ggml_free(ctx);
    stage_end(&s);
}

static void no_way_to_copy_but_through_the_host(int i, struct fake_options * o) {
    (void) i;
    o->async_copies = o->copies = o->async_transfers = false;
}

static void devices_that_cannot_copy_are_copied_for(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(2, parallel, no_way_to_copy_but_through_the_host);
        struct chain c = chain_build();
        chain_place(&s, &c, 0, 1, 0);
        stage_alloc(&s, c.graph);
        for (int i = 0; i < 5; i++)
            chain_run(&s, &c, (float) i);
        assert_true(s.devices[0]->counts.gets > 0 && s.devices[1]->counts.sets > 0);
        ggml_free(c.ctx);
        stage_end(&s);
    }
}

// A copy that a device refuses at the last moment is made in another way.
static void a_copy_that_fails_is_made_again(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, NULL);
    struct chain c = chain_build();
    chain_place(&s, &c, 0, 1, 0);
    stage_alloc(&s, c.graph);
    for (int i = 1; i < 8; i++) {
        s.devices[i % 2]->orders.copy = 1 + i / 4;
        chain_run(&s, &c, (float) i);
    }
    ggml_free(c.ctx);
    stage_end(&s);
}

// ---- weights ---------------------------------------------------------------------------------------------

// Layers whose weights are with the host, on a device that wants them: one after the other in the same
// memory.
static void copied_weights_share_their_memory(void ** state) {
    (void) state;
    enum { LAYERS = 8 };
    for (int parallel = 0; parallel < 2; parallel++) {
        struct stage s = stage_begin(1, parallel, NULL);
        s.devices[0]->options.offloads = true;
        struct ggml_context *owner = stage_context(), *ctx = stage_context();
        struct ggml_tensor *w[LAYERS], *x = stage_input(ctx, "x"), *h = x;
        ggml_backend_buffer_t memory[LAYERS];
        for (int i = 0; i < LAYERS; i++) {
            w[i] = stage_row(owner, "w");
            memory[i] = stage_own(&s, 1, w[i], GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
            stage_fill(w[i], (float) i, 0);
            h = ggml_add(ctx, h, w[i]);
        }
        ggml_set_output(h);
        struct ggml_cgraph * graph = stage_graph(ctx);
        ggml_build_forward_expand(graph, h);
        stage_alloc(&s, graph);
        assert_int_equal(stage_where(&s, h), 0);
        assert_int_equal(ggml_backend_sched_get_n_splits(s.sched), LAYERS);
        const size_t row = N * sizeof(float);
        assert_true(ggml_backend_sched_get_buffer_size(s.sched, s.backends[0]) <= (parallel ? 7 : 4) * row);
        for (int i = 0; i < 3; i++) {
            stage_fill(x, 1, 1);
            stage_compute(&s, graph);
            stage_expect(h, 1 + LAYERS * (LAYERS - 1) / 2, 1);
        }
        for (int i = 0; i < LAYERS; i++)
            ggml_backend_buffer_free(memory[i]);
        ggml_free(ctx);
        ggml_free(owner);
        stage_end(&s);
    }
}

// ---- experts ---------------------------------------------------------------------------------------------

enum { EXPERTS = 16, ROWS = 8, TOKENS = 3, USED = 2 };

struct experts {
    struct ggml_context *owner, *ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor *weights, *x, *scores, *out, *again;
    ggml_backend_buffer_t memory;
};

static float weight_at(int expert, int row, int column) {
    return (float) (expert * 7 + row * 3 - column);
}

static void fill_experts(struct ggml_tensor * w) {
    float * values = malloc(ggml_nbytes(w));
    for (int i = 0; i < EXPERTS * ROWS * N; i++)
        values[i] = weight_at(i / (ROWS * N), i / N % ROWS, i % N);
    ggml_backend_tensor_set(w, values, 0, ggml_nbytes(w));
    free(values);
}

// The indices are computed from scores: on the device itself, or wherever the caller says.
static struct experts experts_build(struct stage * s, bool twice) {
    struct experts e = { .owner = stage_context(), .ctx = stage_context() };
    e.weights = ggml_set_name(ggml_new_tensor_3d(e.owner, GGML_TYPE_F32, N, ROWS, EXPERTS), "experts");
    e.memory = stage_own(s, s->n, e.weights, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    fill_experts(e.weights);
    e.x = ggml_new_tensor_3d(e.ctx, GGML_TYPE_F32, N, 1, TOKENS);
    e.scores = ggml_new_tensor_2d(e.ctx, GGML_TYPE_F32, EXPERTS, TOKENS);
    ggml_set_input(e.x);
    ggml_set_input(e.scores);
    struct ggml_tensor * ids = ggml_argsort_top_k(e.ctx, ggml_scale(e.ctx, e.scores, 2), USED);
    e.out = ggml_mul_mat_id(e.ctx, e.weights, e.x, ids);
    ggml_set_output(e.out);
    e.graph = stage_graph(e.ctx);
    ggml_build_forward_expand(e.graph, e.out);
    if (!twice) return e;
    struct ggml_tensor * others = ggml_argsort_top_k(e.ctx, ggml_neg(e.ctx, e.scores), USED);
    e.again = ggml_mul_mat_id(e.ctx, e.weights, e.x, others);
    ggml_set_output(e.again);
    ggml_build_forward_expand(e.graph, e.again);
    return e;
}

static void experts_free(struct experts * e) {
    ggml_backend_buffer_free(e->memory);
    ggml_free(e->ctx);
    ggml_free(e->owner);
}

// Token t wants experts first + t (best) and first + t + 1, and least of all the ones after.
static void set_experts(struct experts * e, int first) {
    float x[N * TOKENS], scores[EXPERTS * TOKENS];
    for (int i = 0; i < N * TOKENS; i++)
        x[i] = (float) (i % 5);
    for (int i = 0; i < EXPERTS * TOKENS; i++)
        scores[i] = -(float) ((i % EXPERTS - first - i / EXPERTS + 2 * EXPERTS) % EXPERTS);
    ggml_backend_tensor_set(e->x, x, 0, sizeof(x));
    ggml_backend_tensor_set(e->scores, scores, 0, sizeof(scores));
}

static void expect_experts(const struct ggml_tensor * out, int first) {
    float got[ROWS * USED * TOKENS];
    ggml_backend_tensor_get(out, got, 0, sizeof(got));
    for (int i = 0; i < ROWS * USED * TOKENS; i++) {
        const int token = i / (ROWS * USED), row = i % ROWS;
        const int expert = (first + token + i / ROWS % USED + EXPERTS) % EXPERTS;
        float sum = 0;
        for (int k = 0; k < N; k++)
            sum += weight_at(expert, row, k) * (float) ((token * N + k) % 5);
        assert_true(got[i] == sum);
    }
}

static size_t told_copied(struct stage * s, const char * tensor) {
    char text[20000], key[64];
    assert_true(ggml_ext_explain(s->sched, GGML_EXT_TEXT, text, sizeof(text)) < sizeof(text));
    snprintf(key, sizeof(key), "input '%s' of ", tensor);
    const char * line = strstr(text, key);
    assert_non_null(line);
    const char * end = strchr(line, '\n');
    const char * experts = strstr(line, ": experts, ");
    return experts && experts < end ? (size_t) atol(experts + 11) : 0;
}

// Who computes the scores decides where the indices come from: the device's own queue, another one, the host.
static void only_named_experts_are_copied(void ** state) {
    (void) state;
    for (int parallel = 0; parallel < 2; parallel++) {
        for (int where = 0; where < 3; where++) {
            struct stage s = stage_begin(2, parallel, NULL);
            s.devices[0]->options.offloads = true;
            struct experts e = experts_build(&s, false);
            for (int i = 0; i < e.graph->n_nodes - 1; i++)
                stage_place(&s, e.graph->nodes[i], where);
            stage_alloc(&s, e.graph);
            assert_int_equal(stage_where(&s, e.out), 0);
            for (int first = 0; first < EXPERTS; first += 5) {
                set_experts(&e, first);
                stage_compute(&s, e.graph);
                expect_experts(e.out, first);
                // TOKENS + 1 experts in a row, or in two runs around the end
                const size_t copied = told_copied(&s, "experts"), four = (TOKENS + 1) * e.weights->nb[2];
                assert_true(copied >= four && copied <= four + 2 * 512);
            }
            experts_free(&e);
            stage_end(&s);
        }
    }
}

// Weights that two nodes read, by other indices, are copied as a whole.
static void experts_of_two_readers_are_copied_whole(void ** state) {
    (void) state;
    struct stage s = stage_begin(1, false, NULL);
    s.devices[0]->options.offloads = true;
    struct experts e = experts_build(&s, true);
    for (int i = 0; i < e.graph->n_nodes; i++)
        stage_place(&s, e.graph->nodes[i], 0);
    stage_alloc(&s, e.graph);
    set_experts(&e, 2);
    stage_compute(&s, e.graph);
    expect_experts(e.out, 2);
    assert_int_equal(told_copied(&s, "experts"), 0); // not as experts
    experts_free(&e);
    stage_end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_are_copied_with_their_strides),
        cmocka_unit_test(tensors_without_elements_pass),
        cmocka_unit_test(devices_that_cannot_copy_are_copied_for),
        cmocka_unit_test(a_copy_that_fails_is_made_again),
        cmocka_unit_test(copied_weights_share_their_memory),
        cmocka_unit_test(only_named_experts_are_copied),
        cmocka_unit_test(experts_of_two_readers_are_copied_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
