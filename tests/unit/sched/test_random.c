// SPDX-License-Identifier: MIT
// Random graphs on random devices give the bits that the processor alone gives. Graphs are full of what makes
// trouble: views, nodes that write over their sources, copies into memory that others read, inputs, weights
// and caches on every device, outputs, placements by the caller.
#include "unit/sched/sim.h"

enum { MAX_TENSORS = 200, MAX_LEAFS = 8, N_GRAPHS = 400, N_RUNS = 3 };

enum leaf_kind { LEAF_INPUT, LEAF_PLAIN, LEAF_WEIGHT, LEAF_CACHE, LEAF_KINDS };

struct world {
    struct test_rng rng;
    ggml_backend_t backends[SIM_DEVICES + 1];
    int n_backends;
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor * made[MAX_TENSORS];
    int n_made, n_leafs;
    enum leaf_kind kinds[MAX_LEAFS];
    ggml_backend_buffer_t buffers[MAX_LEAFS];
};

static int below(struct world * w, int n) {
    return (int) test_rng_below(&w->rng, n);
}

static const int64_t sizes[][2] = { { 8, 8 }, { 32, 4 }, { 16, 16 }, { 64, 1 }, { 3, 5 } };

static bool is_plain(const struct ggml_tensor * t) {
    return ggml_is_contiguous(t) && t->nb[0] <= t->nb[1] && t->nb[2] == t->nb[1] * (size_t) t->ne[1];
}

static struct ggml_tensor * any(struct world * w) {
    return w->made[below(w, w->n_made)];
}

// Nobody writes over weights.
static bool is_writable(struct world * w, const struct ggml_tensor * t) {
    const struct ggml_tensor * root = t->view_src ? t->view_src : t;
    for (int i = 0; i < w->n_leafs; i++) {
        if (w->made[i] == root) return w->kinds[i] != LEAF_WEIGHT;
    }
    return true;
}

static struct ggml_tensor * same_shape(struct world * w, struct ggml_tensor * a) {
    for (int tries = 0; tries < 10; tries++) {
        struct ggml_tensor * b = any(w);
        if (ggml_are_same_shape(a, b) && is_plain(b)) return b;
    }
    return a;
}

static struct ggml_tensor * new_view(struct world * w, struct ggml_tensor * t) {
    const int64_t n = ggml_nelements(t);
    switch (below(w, n < 4 ? 1 : 3)) {
    case 0: return ggml_reshape_1d(w->ctx, t, n);
    case 1: return ggml_view_1d(w->ctx, t, 1 + below(w, (int) n / 2), (size_t) below(w, (int) n / 2) * 4);
    default: return ggml_transpose(w->ctx, t);
    }
}

static struct ggml_tensor * new_writer(struct world * w, struct ggml_tensor * a) {
    struct ggml_tensor * b = same_shape(w, a);
    if (!is_writable(w, a)) return ggml_neg(w->ctx, a);
    switch (below(w, 3)) {
    case 0: return ggml_add_inplace(w->ctx, a, b);
    case 1: return ggml_scale_inplace(w->ctx, a, 0.5f);
    default: return a != b ? ggml_cpy(w->ctx, b, a) : ggml_dup(w->ctx, a);
    }
}

static struct ggml_tensor * new_node(struct world * w) {
    struct ggml_tensor * a = any(w);
    if (!is_plain(a)) return below(w, 2) ? ggml_cont(w->ctx, a) : ggml_transpose(w->ctx, a);
    switch (below(w, 10)) {
    case 0:
    case 1: return new_view(w, a);
    case 2: return ggml_scale(w->ctx, a, 1.5f);
    case 3: return ggml_sigmoid(w->ctx, a);
    case 4: return ggml_rms_norm(w->ctx, a, 1e-5f);
    case 5: return a->ne[1] <= 64 ? ggml_mul_mat(w->ctx, a, a) : ggml_cont(w->ctx, a);
    case 6: return new_writer(w, a);
    case 7: return ggml_mul(w->ctx, a, same_shape(w, a));
    case 8: return ggml_sub(w->ctx, a, same_shape(w, a));
    default: return ggml_add(w->ctx, a, same_shape(w, a));
    }
}

// What is written there has to be computed there.
static bool can_write(int device) {
    const bool * refuses = sims.devices[device].refuses;
    return !refuses[GGML_OP_ADD] && !refuses[GGML_OP_SCALE] && !refuses[GGML_OP_CPY];
}

static void give_memory(struct world * w, int i, bool alone) {
    struct ggml_tensor * t = w->made[i];
    int backend = below(w, w->n_backends);
    if (backend < sims.n && w->kinds[i] == LEAF_CACHE && !can_write(backend)) backend = sims.n;
    w->buffers[i] = NULL;
    if (alone || w->kinds[i] == LEAF_INPUT || w->kinds[i] == LEAF_PLAIN) return;
    w->buffers[i] = ggml_backend_alloc_buffer(w->backends[backend], ggml_nbytes(t));
    ggml_backend_tensor_alloc(w->buffers[i], t, ggml_backend_buffer_get_base(w->buffers[i]));
    if (w->kinds[i] == LEAF_WEIGHT) {
        ggml_backend_buffer_set_usage(w->buffers[i], GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }
}

// The same numbers give the same graph. Alone: every tensor has memory of its own, for the processor.
static void build(struct world * w, uint64_t seed, bool alone) {
    w->rng.state = seed;
    const size_t size =
        MAX_TENSORS * (ggml_tensor_overhead() + 16384 + 64) + ggml_graph_overhead_custom(MAX_TENSORS, false);
    w->ctx = ggml_init((struct ggml_init_params){ size, NULL, !alone });
    w->graph = ggml_new_graph_custom(w->ctx, MAX_TENSORS, false);
    w->n_leafs = 1 + below(w, MAX_LEAFS);
    w->n_made = 0;
    for (int i = 0; i < w->n_leafs; i++) {
        const int64_t * ne = sizes[below(w, 5)];
        w->made[w->n_made++] = ggml_new_tensor_2d(w->ctx, GGML_TYPE_F32, ne[0], ne[1]);
        w->kinds[i] = (enum leaf_kind) below(w, LEAF_KINDS);
        if (w->kinds[i] == LEAF_INPUT) ggml_set_input(w->made[i]);
        give_memory(w, i, alone);
    }
    for (int n = 1 + below(w, 60); n > 0; n--) {
        struct ggml_tensor * t = new_node(w);
        if (!ggml_ext_tensor_valid(t)) fail_msg("%s", ggml_ext_last_error());
        if (below(w, 6) == 0) ggml_set_output(t);
        w->made[w->n_made++] = t;
    }
    for (int i = 0; i < w->n_made; i++) { // in the order in which they were made: writers too
        if (i + 3 > w->n_made || w->made[i]->flags & GGML_TENSOR_FLAG_OUTPUT || below(w, 4) == 0) {
            ggml_build_forward_expand(w->graph, w->made[i]);
        }
    }
    assert_true(ggml_ext_graph_valid(w->graph));
}

static void drop(struct world * w) {
    for (int i = 0; i < w->n_leafs; i++)
        ggml_backend_buffer_free(w->buffers[i]);
    ggml_free(w->ctx);
}

static void set_leafs(struct world * w, bool alone, int run) {
    float values[256];
    for (int i = 0; i < w->n_leafs; i++) {
        struct ggml_tensor * t = w->made[i];
        struct test_rng rng = { (uint64_t) (i + 10 * run) };
        for (int64_t k = 0; k < ggml_nelements(t); k++)
            values[k] = test_rng_float(&rng, -2, 2);
        if (alone) {
            memcpy(t->data, values, ggml_nbytes(t));
        } else if (t->buffer) { // one that no node reads has none
            ggml_backend_tensor_set(t, values, 0, ggml_nbytes(t));
        }
    }
}

// ---- the devices -----------------------------------------------------------------------------------------

static void make_devices(struct world * w, uint64_t seed) {
    const int n = (int) (seed % SIM_DEVICES) + (seed % 7 > 0);
    sim_begin(n, seed, w->backends);
    w->rng.state = seed;
    w->n_backends = n + 1;
    for (int i = 0; i < n; i++) {
        struct sim * d = &sims.devices[i];
        d->eager = below(w, 4) == 0;
        d->events = below(w, 3) > 0;
        d->async_copies = below(w, 3) > 0;
        d->host = below(w, 6) == 0;
        d->shares = i > 0 && below(w, 4) == 0;
        d->wants = below(w, 2);
        if (below(w, 8) == 0) d->max_size = 4096;
        for (int op = 0; op < GGML_OP_COUNT; op++)
            d->refuses[op] = below(w, 4) == 0;
    }
}

static void place_some(struct world * w, ggml_backend_sched_t sched) {
    for (int i = 0; i < w->graph->n_nodes; i++) {
        ggml_backend_t b = w->backends[below(w, w->n_backends)];
        struct ggml_tensor * t = w->graph->nodes[i];
        if (below(w, 5) == 0 && ggml_backend_supports_op(b, t))
            ggml_backend_sched_set_tensor_backend(sched, t, b);
    }
}

static void check_outputs(struct world * w, struct world * reference, uint64_t seed) {
    static char got[65536];
    for (int i = 0; i < w->n_made; i++) {
        struct ggml_tensor *t = w->made[i], *expected = reference->made[i];
        const struct ggml_tensor * root = t->view_src ? t->view_src : t;
        if (!(t->flags & root->flags & GGML_TENSOR_FLAG_OUTPUT) || !t->buffer || !ggml_is_contiguous(t))
            continue;
        assert_true(ggml_nbytes(t) <= sizeof(got));
        ggml_backend_tensor_get(t, got, 0, ggml_nbytes(t));
        if (memcmp(got, expected->data, ggml_nbytes(t)) != 0) {
            fail_msg("graph %llu: tensor %d '%s' (%s) differs", (unsigned long long) seed, i, t->name,
                     ggml_op_desc(t));
        }
    }
}

static void run_once(struct world * w, struct world * reference, ggml_backend_sched_t sched, uint64_t seed,
                     int run) {
    set_leafs(reference, true, run);
    assert_int_equal(ggml_backend_graph_compute(sims.cpu, reference->graph), GGML_STATUS_SUCCESS);
    set_leafs(w, false, run);
    assert_int_equal(ggml_backend_sched_graph_compute_async(sched, w->graph), GGML_STATUS_SUCCESS);
    ggml_backend_sched_synchronize(sched);
    check_outputs(w, reference, seed);
}

static void check_graph(struct world * w, ggml_backend_sched_t sched, uint64_t seed) {
    struct world reference = { .n_backends = w->n_backends };
    build(&reference, seed, true);
    build(w, seed, false);
    ggml_backend_sched_reset(sched);
    place_some(w, sched);
    if (!ggml_backend_sched_alloc_graph(sched, w->graph)) {
        for (int i = 0; i < w->n_leafs; i++)
            printf("leaf %d kind %d in %s\n", i, w->kinds[i],
                   w->made[i]->buffer ? ggml_backend_buffer_name(w->made[i]->buffer) : "-");
        fail_msg("graph %llu: %s", (unsigned long long) seed, ggml_ext_last_error());
    }
    for (int run = 0; run < N_RUNS; run++)
        run_once(w, &reference, sched, seed, run);
    drop(&reference);
    drop(w);
}

static void graphs_give_the_processors_bits(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (uint64_t i = 0; i < N_GRAPHS / 8; i++) {
        struct world w = { 0 };
        make_devices(&w, seed + i);
        ggml_backend_sched_t sched = ggml_backend_sched_new(w.backends, NULL, w.n_backends, 4 * MAX_TENSORS,
                                                            below(&w, 2), below(&w, 2));
        assert_non_null(sched);
        for (uint64_t k = 0; k < 8; k++)
            check_graph(&w, sched, seed + i + k * 1000003);
        ggml_backend_sched_free(sched);
        sim_end();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(graphs_give_the_processors_bits) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
