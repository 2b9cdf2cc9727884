// SPDX-License-Identifier: MIT
// The sizes that the scheduler tells are those it allocates, to the byte: random graphs on random devices,
// all of which count, the processor too.
#include "unit/sched/stage.h"

enum { MOST_DEVICES = 5, MOST_LEAFS = 6, MOST_NODES = 80, WIDTH = 120, HEIGHT = 12 };

struct scene {
    struct test_rng rng;
    struct fake_world * world;
    struct fake_device * devices[MOST_DEVICES]; // the last one is a processor
    ggml_backend_t backends[MOST_DEVICES];
    int n;
    ggml_backend_sched_t sched;
    // the graph
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor * made[MOST_LEAFS + MOST_NODES];
    int n_made;
    ggml_backend_buffer_t buffers[MOST_LEAFS];
    int places[MOST_NODES]; // -1: not placed
    int n_limited;
};

static int below(struct scene * s, int n) {
    return (int) test_rng_below(&s->rng, n);
}

// ---- devices ---------------------------------------------------------------------------------------------

static struct fake_options draw_options(struct scene * s, bool is_processor) {
    struct fake_options o = fake_options_default();
    if (is_processor) o.type = GGML_BACKEND_DEVICE_TYPE_CPU;
    o.mode = is_processor ? FAKE_AT_ONCE : FAKE_LAZY;
    o.host_memory = o.reads_host = is_processor || below(s, 4) == 0;
    o.alignment = (size_t) 16 << below(s, 5);
    if (below(s, 2)) o.scratch = (size_t) below(s, 300);
    if (below(s, 3) == 0) o.max_size = 60000;
    for (int i = 0; i < 2 && !is_processor; i++)
        o.ops[i] &= test_rng_u64(&s->rng) | test_rng_u64(&s->rng) | test_rng_u64(&s->rng);
    return o;
}

static void make_devices(struct scene * s) {
    s->world = fake_world_new(1);
    s->n = 1 + below(s, MOST_DEVICES);
    for (int i = 0; i < s->n; i++) {
        s->devices[i] = fake_device_new(s->world, draw_options(s, i == s->n - 1));
        s->backends[i] = fake_device_start(s->devices[i]);
    }
}

static void make_scheduler(struct scene * s, bool parallel) {
    s->sched = ggml_backend_sched_new(s->backends, NULL, s->n, 256, parallel, true);
    assert_non_null(s->sched);
}

// ---- graphs ----------------------------------------------------------------------------------------------

static struct ggml_tensor * any(struct scene * s) {
    return s->made[below(s, s->n_made)];
}

static struct ggml_tensor * like(struct scene * s, struct ggml_tensor * a) {
    for (int tries = 0; tries < 10; tries++) {
        struct ggml_tensor * b = any(s);
        if (ggml_are_same_shape(a, b)) return b;
    }
    return a;
}

static struct ggml_tensor * new_node(struct scene * s) {
    struct ggml_tensor * a = any(s);
    switch (below(s, 9)) {
    case 0: return ggml_scale(s->ctx, a, 0.5f);
    case 1: return a->ne[1] <= WIDTH ? ggml_mul_mat(s->ctx, a, like(s, a)) : ggml_neg(s->ctx, a);
    case 2: return ggml_cont(s->ctx, ggml_transpose(s->ctx, a));
    case 3: return ggml_soft_max(s->ctx, a);
    case 4: return ggml_cont(s->ctx, ggml_view_1d(s->ctx, a, 1 + ggml_nelements(a) / 2, 0));
    case 5: return ggml_mul(s->ctx, a, like(s, a));
    case 6: return ggml_rms_norm(s->ctx, a, 1e-5f);
    case 7: return ggml_sum_rows(s->ctx, a);
    default: return ggml_add(s->ctx, a, like(s, a));
    }
}

static void make_leaf(struct scene * s, int i) {
    struct ggml_tensor * t =
        ggml_new_tensor_2d(s->ctx, GGML_TYPE_F32, 1 + below(s, WIDTH), 1 + below(s, HEIGHT));
    const int kind = below(s, 5);
    s->buffers[i] = NULL;
    if (kind < 2) ggml_set_input(t);
    if (kind > 2) {
        s->buffers[i] = ggml_backend_alloc_buffer(s->backends[below(s, s->n)], ggml_nbytes(t));
        ggml_backend_tensor_alloc(s->buffers[i], t, ggml_backend_buffer_get_base(s->buffers[i]));
        ggml_backend_buffer_set_usage(s->buffers[i], GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }
    s->made[s->n_made++] = t;
}

// All from a number: the same one gives the same graph.
static void build(struct scene * s, uint64_t number) {
    s->rng.state = number;
    const size_t size = 4 * MOST_NODES * ggml_tensor_overhead() + ggml_graph_overhead_custom(256, false);
    s->ctx = ggml_init((struct ggml_init_params){ size, NULL, true });
    s->graph = ggml_new_graph_custom(s->ctx, 256, false);
    s->n_made = 0;
    const int n_leafs = 1 + below(s, MOST_LEAFS), n_nodes = 1 + below(s, MOST_NODES);
    for (int i = 0; i < MOST_LEAFS; i++)
        s->buffers[i] = NULL;
    for (int i = 0; i < n_leafs; i++)
        make_leaf(s, i);
    for (int i = 0; i < n_nodes; i++) {
        struct ggml_tensor * t = new_node(s);
        if (!ggml_ext_tensor_valid(t)) fail_msg("%s", ggml_ext_last_error());
        if (below(s, 8) == 0) ggml_set_output(t);
        if (i + 1 == n_nodes || t->flags & GGML_TENSOR_FLAG_OUTPUT) ggml_build_forward_expand(s->graph, t);
        s->places[i] = below(s, 5) == 0 ? below(s, s->n) : -1;
        s->made[s->n_made++] = t;
    }
}

static void drop(struct scene * s) {
    for (int i = 0; i < MOST_LEAFS; i++)
        ggml_backend_buffer_free(s->buffers[i]);
    ggml_free(s->ctx);
}

// Where that is possible.
static void place(struct scene * s) {
    for (int i = 0; i < s->graph->n_nodes && i < MOST_NODES; i++) {
        struct ggml_tensor * t = s->graph->nodes[i];
        if (s->places[i] < 0 || !ggml_backend_supports_op(s->backends[s->places[i]], t)) continue;
        ggml_backend_sched_set_tensor_backend(s->sched, t, s->backends[s->places[i]]);
    }
}

// ---- what is told, and what is there ---------------------------------------------------------------------

static void note_bytes(struct scene * s, size_t * bytes) {
    for (int i = 0; i < s->n; i++)
        bytes[i] = s->devices[i]->counts.bytes;
}

static void expect_bytes(struct scene * s, const size_t * before, const size_t * sizes, const char * when) {
    for (int i = 0; i < s->n; i++) {
        const size_t there = s->devices[i]->counts.bytes - before[i];
        const size_t told = ggml_backend_sched_get_buffer_size(s->sched, s->backends[i]);
        if (told != there || (sizes && sizes[i] != there)) {
            fail_msg("%s: device %d of %d has %zu bytes, is told to have %zu, measured %zu", when, i, s->n,
                     there, told, sizes ? sizes[i] : 0);
        }
    }
}

static void run(struct scene * s) {
    static float ones[WIDTH * HEIGHT];
    for (size_t i = 0; i < WIDTH * HEIGHT; i++)
        ones[i] = 1;
    for (int i = 0; i < s->n_made; i++) {
        struct ggml_tensor * t = s->made[i];
        if (t->op == GGML_OP_NONE && t->buffer) ggml_backend_tensor_set(t, ones, 0, ggml_nbytes(t));
    }
    if (ggml_backend_sched_graph_compute(s->sched, s->graph) != GGML_STATUS_SUCCESS)
        fail_msg("%s", ggml_ext_last_error());
    if (fake_world_faults(s->world) > 0) fail_msg("%s", fake_world_fault(s->world));
}

static int count_buffers(struct scene * s) {
    int n = 0;
    for (int i = 0; i < s->n; i++)
        n += s->devices[i]->counts.buffers;
    return n;
}

// Memory comes in at most 16 buffers; the last may be larger than a device gives: then there is none.
static bool fits(struct scene * s, bool done) {
    bool limited = false;
    for (int i = 0; i < s->n; i++)
        limited |= s->devices[i]->options.max_size < SIZE_MAX;
    if (!done && !limited) fail_msg("%s", ggml_ext_last_error());
    if (!done) assert_contains(ggml_ext_last_error(), "cannot be had");
    s->n_limited += !done;
    return done;
}

static void check_computed(struct scene * s, const size_t * before, const size_t * sizes) {
    const int n_buffers = count_buffers(s);
    if (!sizes) place(s);
    if (!ggml_backend_sched_alloc_graph(s->sched, s->graph)) fail_msg("%s", ggml_ext_last_error());
    assert_int_equal(count_buffers(s), n_buffers);
    run(s);
    expect_bytes(s, before, sizes, "computed");
}

// Measured, then reserved, then allocated: the same each time, and the last without another buffer.
static void check_graph(struct scene * s, uint64_t number, bool placed, bool parallel) {
    size_t before[MOST_DEVICES], sizes[MOST_DEVICES];
    build(s, number);
    make_scheduler(s, parallel);
    note_bytes(s, before);
    if (!placed) {
        ggml_backend_sched_reserve_size(s->sched, s->graph, sizes);
        expect_bytes(s, before, (size_t[MOST_DEVICES]){ 0 }, "measured");
    }
    if (placed) place(s);
    if (fits(s, ggml_backend_sched_reserve(s->sched, s->graph))) {
        expect_bytes(s, before, placed ? NULL : sizes, "reserved");
        check_computed(s, before, placed ? NULL : sizes);
    }
    ggml_backend_sched_free(s->sched);
    drop(s);
}

// A graph after another on one scheduler: what is there is what is told, however it grew.
static void check_growth(struct scene * s, uint64_t number, bool parallel) {
    size_t before[MOST_DEVICES];
    note_bytes(s, before);
    make_scheduler(s, parallel);
    for (uint64_t i = 0; i < 4; i++) {
        build(s, number + i * 1000003);
        size_t of_leafs[MOST_DEVICES] = { 0 };
        for (int k = 0; k < s->n; k++)
            of_leafs[k] =
                s->devices[k]->counts.bytes - ggml_backend_sched_get_buffer_size(s->sched, s->backends[k]);
        ggml_backend_sched_reset(s->sched);
        place(s);
        if (fits(s, ggml_backend_sched_alloc_graph(s->sched, s->graph))) run(s);
        expect_bytes(s, of_leafs, NULL, "grown");
        drop(s);
    }
    ggml_backend_sched_free(s->sched);
    for (int k = 0; k < s->n; k++)
        assert_int_equal(s->devices[k]->counts.bytes, before[k]);
}

static void sizes_are_exact(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    const int64_t n = test_rounds(1000);
    int n_limited = 0;
    for (int64_t i = 0; i < n; i++) {
        struct scene s = { .rng = { seed + (uint64_t) i } };
        make_devices(&s);
        check_graph(&s, seed + (uint64_t) i, i % 2, i / 2 % 2);
        if (i % 10 == 0) check_growth(&s, seed + (uint64_t) i, i % 3);
        for (int k = 0; k < s.n; k++)
            ggml_backend_free(s.backends[k]);
        assert_int_equal(fake_world_free(s.world), 0);
        n_limited += s.n_limited;
    }
    assert_true(n_limited <= 5 + n / 10);
}

// Back ends with one type share its memory, which is there once. Each is measured with all of it; once it is
// there it counts as the first one's, so that sums are right.
static void shared_memory_is_there_once(void ** state) {
    (void) state;
    struct stage s = stage_begin(2, false, NULL);
    ggml_backend_sched_free(s.sched);
    s.devices[0]->options.host_memory = s.devices[1]->options.host_memory = true;
    ggml_backend_buffer_type_t type = &s.devices[1]->type;
    ggml_backend_buffer_type_t types[] = { type, type, ggml_backend_cpu_buffer_type() };
    s.sched = ggml_backend_sched_new(s.backends, types, 3, 64, false, false);
    struct chain c = chain_build();
    size_t sizes[3];
    ggml_backend_sched_reserve_size(s.sched, c.graph, sizes);
    assert_true(sizes[0] > 0);
    assert_int_equal(sizes[1], sizes[0]);
    stage_place(&s, c.out, 1);
    stage_alloc(&s, c.graph);
    const size_t size = s.devices[1]->counts.bytes;
    assert_true(size > 0);
    assert_int_equal(ggml_backend_sched_get_buffer_size(s.sched, s.backends[0]), size);
    assert_int_equal(ggml_backend_sched_get_buffer_size(s.sched, s.backends[1]), 0);
    assert_int_equal(s.devices[0]->counts.bytes, 0);
    ggml_free(c.ctx);
    stage_end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_exact),
        cmocka_unit_test(shared_memory_is_there_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
