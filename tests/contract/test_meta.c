// SPDX-License-Identifier: MIT
// Random nodes of all operators, with sources split at random over several devices: a meta device refuses
// with a reason, or computes what one device computes, bit by bit unless addends of devices are summed.
//
// Each operator is tried until it was computed with a split source, if derive.def says that there can be one.
#include "contract/combination.h"
#include "unit/backend/meta_stage.h"

static const char * const axes_of[GGML_OP_COUNT] = {
#define TN_ROW(op, rule, axes, partial) [GGML_OP_##op] = axes,
#include "backend/meta/derive.def"
#undef TN_ROW
};

enum { TRIES = 4000, LEAST = 40 };

struct run {
    struct meta_stage stage;
    struct ggml_context * drawn;
    struct combinations all;
    struct test_rng rng;
    int n_computed, n_split, n_refused;
};

static void quiet(enum ggml_log_level level, const char * text, void * data) {
    (void) level, (void) text, (void) data;
}

// ---- one node on one back end -----------------------------------------------------------------------------

struct copy {
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor *node, *src[GGML_MAX_SRC];
    ggml_backend_buffer_t buffer;
    ggml_gallocr_t alloc;
};

static void copy_free(struct copy * c) {
    ggml_gallocr_free(c->alloc);
    ggml_backend_buffer_free(c->buffer);
    ggml_free(c->ctx);
}

// What the node says, of the copies of its sources; in place where it was.
static void copy_node(struct copy * c, const struct ggml_tensor * from) {
    struct ggml_tensor * node = ggml_new_tensor(c->ctx, from->type, 4, from->ne);
    memcpy(node->nb, from->nb, sizeof(node->nb));
    memcpy(node->op_params, from->op_params, sizeof(node->op_params));
    node->op = from->op;
    node->flags = from->flags;
    node->view_offs = from->view_offs;
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        node->src[i] = from->src[i] == from ? node : c->src[i];
        if (from->view_src && from->view_src == from->src[i]) node->view_src = c->src[i];
    }
    if (node->view_src && node->view_src->data) node->data = (char *) node->view_src->data + node->view_offs;
    c->node = ggml_set_name(node, "node");
}

// Sources in memory of their own first, then the node in memory of an allocator. false: refused.
static bool compute(struct copy * c, ggml_backend_t backend, const struct ggml_tensor * from) {
    ggml_backend_buffer_type_t buft = ggml_backend_get_default_buffer_type(backend);
    *c = (struct copy){ .ctx = meta_context(), .alloc = ggml_gallocr_new(buft) };
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        const struct ggml_tensor * source = from->src[i];
        if (!source || source == from) continue;
        c->src[i] = ggml_format_name(ggml_new_tensor(c->ctx, source->type, 4, source->ne), "s%d", i);
        c->src[i]->flags = source->flags;
    }
    c->buffer = ggml_backend_alloc_ctx_tensors_from_buft(c->ctx, buft);
    copy_node(c, from);
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (c->src[i] && !c->src[i]->data) fail_msg("%s", ggml_ext_last_error());
        if (c->src[i]) ggml_backend_tensor_set(c->src[i], from->src[i]->data, 0, ggml_nbytes(c->src[i]));
    }
    c->graph = ggml_new_graph_custom(c->ctx, 64, false);
    ggml_build_forward_expand(c->graph, c->node);
    if (!ggml_backend_supports_op(backend, c->node) || !ggml_gallocr_alloc_graph(c->alloc, c->graph))
        return false;
    return ggml_backend_graph_compute(backend, c->graph) == GGML_STATUS_SUCCESS;
}

static bool is_plain(const struct ggml_tensor * node) {
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (node->src[i] && (!ggml_is_contiguous(node->src[i]) || node->src[i]->view_src)) return false;
        for (int k = 0; k < i; k++) {
            if (node->src[i] && node->src[i] == node->src[k]) return false;
        }
    }
    return !ggml_is_empty(node);
}

// ---- splits -----------------------------------------------------------------------------------------------

// One division of one length; sources that have the length are split there, or are everywhere.
static bool draw_rules(struct run * run, const struct ggml_tensor * node) {
    const int n = run->stage.n, axis = (int) test_rng_below(&run->rng, 4);
    const int which = (int) test_rng_below(&run->rng, 4) == 0 ? 1 : 0;
    const struct ggml_tensor * first = node->src[which] && node->src[which] != node ? node->src[which] : NULL;
    n_meta_rules = 0;
    if (!first) return false;
    const int64_t block = axis == 0 ? ggml_blck_size(first->type) : 1;
    int64_t ne[FAKE_DEVICES];
    meta_shares(ne, n, first->ne[axis] / block, block, &run->rng);
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        const struct ggml_tensor * t = node->src[i];
        if (!t || t == node || (i != which && test_rng_below(&run->rng, 2))) continue;
        const int there =
            i == which || test_rng_below(&run->rng, 3) ? axis : (int) test_rng_below(&run->rng, 4);
        bool fits = t->ne[there] == first->ne[axis];
        for (int j = 0; fits && there == 0 && j < n; j++)
            fits = ne[j] % ggml_blck_size(t->type) == 0;
        char name[16];
        snprintf(name, sizeof(name), "s%d", i);
        if (fits) meta_segment(meta_rule(name, there), n, ne, 1);
    }
    return n_meta_rules > 0;
}

// Is more than one device at work?
static bool is_shared_work(const struct run * run) {
    int with_parts = 0;
    for (int j = 0; j < run->stage.n; j++)
        with_parts += meta_rules[0].state.ne[j] > 0;
    return with_parts > 1;
}

// Products of matrices may be summed over devices, and in another order for another number of columns.
static bool is_rounded(const struct ggml_tensor * node) {
    return node->op == GGML_OP_MUL_MAT || node->op == GGML_OP_MUL_MAT_ID;
}

static bool is_same(const struct ggml_tensor * node, const char * x, const char * y, size_t size) {
    if (memcmp(x, y, size) == 0) return true;
    if (!is_rounded(node)) return false;
    float f, g;
    memcpy(&f, x, sizeof(f));
    memcpy(&g, y, sizeof(g));
    const float rounding = ggml_is_quantized(node->src[0]->type) ? 0.6f : 1e-4f; // of columns to blocks too
    return fabsf(f - g) <= rounding * (1 + fabsf(g));
}

// Element by element: what is in gaps is nobody's business.
static bool is_equal(const struct ggml_tensor * t, const char * x, const char * y) {
    const int64_t n0 = t->ne[0] / ggml_blck_size(t->type);
    for (int64_t k = 0; k < n0 * t->ne[1] * t->ne[2] * t->ne[3]; k++) {
        const size_t at = (size_t) (k % n0) * t->nb[0] + (size_t) (k / n0 % t->ne[1]) * t->nb[1] +
                          (size_t) (k / n0 / t->ne[1] % t->ne[2]) * t->nb[2] +
                          (size_t) (k / n0 / t->ne[1] / t->ne[2]) * t->nb[3];
        if (!is_same(t, x + at, y + at, ggml_type_size(t->type))) return false;
    }
    return true;
}

static void compare(const struct copy * a, const struct copy * b) {
    const size_t size = ggml_nbytes(a->node) + sizeof(float);
    char *x = malloc(size), *y = malloc(size);
    memset(x, 1, size), memset(y, 2, size);
    ggml_backend_tensor_get(a->node, x, 0, ggml_nbytes(a->node));
    ggml_backend_tensor_get(b->node, y, 0, ggml_nbytes(b->node));
    if (!is_equal(a->node, x, y)) {
        for (int i = 0; i < n_meta_rules; i++)
            print_error("%s on axis %d: %d %d\n", meta_rules[i].name, (int) meta_rules[i].state.axis,
                        (int) meta_rules[i].state.ne[0], (int) meta_rules[i].state.ne[1]);
        fail_msg("%s of %s differs from what one device computes", ggml_op_desc(a->node),
                 ggml_type_name(a->src[0]->type));
    }
    free(x);
    free(y);
}

static bool try_node(struct run * run, const struct ggml_tensor * node) {
    if (!is_plain(node) || !draw_rules(run, node)) return false;
    struct copy whole, parts;
    const bool can = compute(&whole, run->stage.cpu, node);
    const bool done = can && compute(&parts, run->stage.backend, node);
    if (done) compare(&parts, &whole);
    if (can && !done) assert_true(strlen(ggml_ext_last_error()) > 0);
    run->n_computed += done;
    run->n_refused += can && !done;
    if (can) copy_free(&parts);
    copy_free(&whole);
    meta_check(&run->stage);
    return done && is_shared_work(run);
}

static bool draw_and_try(struct run * run, const struct combination * c) {
    struct draw d = { .ctx = run->drawn, .rng = { test_rng_u64(&run->rng) }, .op = c->owner->op };
    d.which = c->owner->which;
    d.layouts = "cccccccccc";
    d.result = c->result;
    memcpy(d.types, c->types, sizeof(d.types));
    struct ggml_tensor * node = c->owner->make(&d);
    const bool split = ggml_ext_tensor_valid(node) && try_node(run, node);
    draw_free(&d);
    ggml_reset(run->drawn);
    return split;
}

static const struct combination * draw_combination(struct run * run, enum ggml_op op) {
    int n = 0;
    const struct combination * chosen = NULL;
    for (int i = 0; i < run->all.n; i++) {
        if (run->all.at[i].owner->op == op && test_rng_below(&run->rng, ++n) == 0) chosen = &run->all.at[i];
    }
    return chosen;
}

static void try_operator(struct run * run, enum ggml_op op) {
    const bool may_split = axes_of[op][0] != '\0';
    int split = 0;
    for (int i = 0; i < TRIES && (i < LEAST || (may_split && split == 0)); i++) {
        const struct combination * c = draw_combination(run, op);
        if (!c) return; // no random nodes of it
        split += draw_and_try(run, c);
    }
    run->n_split += split;
    if (may_split && split == 0) fail_msg("%s was never computed in parts", ggml_op_name(op));
}

static void every_operator(int n, meta_setup setup) {
    struct run run = { .all = combinations_new(), .rng = { test_seed() } };
    run.stage = meta_begin(n, setup);
    run.drawn = ggml_init((struct ggml_init_params){ .mem_size = 256 << 10, .no_alloc = true });
    for (int op = 1; op < GGML_OP_COUNT; op++) {
        assert_non_null(axes_of[op]);
        try_operator(&run, (enum ggml_op) op);
    }
    printf("%d computed, %d of them in parts, %d refused\n", run.n_computed, run.n_split, run.n_refused);
    assert_true(run.n_split > 200 && run.n_refused > 200);
    ggml_free(run.drawn);
    combinations_free(&run.all);
    meta_end(&run.stage);
}

static void test_on_two_devices(void ** state) {
    (void) state;
    every_operator(2, NULL);
}

static void test_on_three_lazy_devices(void ** state) {
    (void) state;
    every_operator(3, meta_default);
}

static void test_on_five_different_devices(void ** state) {
    (void) state;
    every_operator(5, meta_mixed);
}

static int hush(void ** state) {
    (void) state;
    ggml_log_set(quiet, NULL);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_two_devices),
        cmocka_unit_test(test_on_three_lazy_devices),
        cmocka_unit_test(test_on_five_different_devices),
    };
    return cmocka_run_group_tests(tests, hush, NULL);
}
