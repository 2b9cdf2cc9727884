// SPDX-License-Identifier: MIT
// Random graphs. Operators come with sources of their own, drawn to suit them. To make a graph of them, a
// source is multiplied by a factor near 1 that depends on an earlier node: it keeps its sign and size, so
// that the operator still gets what it can take, but has other bits if the earlier node has.
//
//     earlier -> sum -> tanh -> 0.25 x + 1 -> mul -> the views that the operator sees -> operator
//                                          ^
//                                     own source
//
// Operators that write into their sources write over such products as well, which later nodes may read:
// before and after, as the order of the graph says.
#include "sched/graph.h"

#include <math.h>

#include "ggml-ext.h"
#include "ggml/src/ggml-impl.h"

enum { CONTEXT_SIZE = 4 << 20 };

static struct ggml_tensor * pick(struct test_rng * rng, struct ggml_tensor ** list, int n) {
    return n > 0 ? list[test_rng_below(rng, n)] : NULL;
}

static bool is_supported(const struct ggml_tensor * node) {
    return ggml_backend_dev_supports_op(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), node);
}

static bool is_work(const struct ggml_tensor * t) {
    return t->op != GGML_OP_NONE && (t->op < GGML_OP_RESHAPE || t->op > GGML_OP_TRANSPOSE);
}

// Operators with states give the last K of them; those from before the first token are not written. They are
// at the end.
static int64_t defined_elements(const struct ggml_tensor * t) {
    const bool is_scan = t->op == GGML_OP_SSM_SCAN;
    if (!is_scan && t->op != GGML_OP_GATED_DELTA_NET) return ggml_nelements(t);
    const struct ggml_tensor * tokens = t->src[is_scan ? 1 : 2];
    const int64_t k = t->op_params[0], n_tokens = tokens->ne[2], outputs = ggml_nelements(tokens);
    return n_tokens < k ? outputs + (ggml_nelements(t) - outputs) / k * n_tokens : ggml_nelements(t);
}

// ---- links ----------------------------------------------------------------------------------------------

// The earlier node as one float; NULL if that cannot be.
static struct ggml_tensor * digest(struct graph * g, struct ggml_tensor * t) {
    if (defined_elements(t) < ggml_nelements(t)) return NULL;
    if (t->type != GGML_TYPE_F32 && t->type != GGML_TYPE_F16 && t->type != GGML_TYPE_BF16) {
        if (ggml_blck_size(t->type) == 1 && t->type != GGML_TYPE_I32) return NULL;
        t = ggml_cast(g->ctx, t, GGML_TYPE_F32);
        if (!is_supported(t)) return NULL;
    }
    struct ggml_tensor * sum = ggml_sum(g->ctx, t);
    if (!is_supported(sum)) return NULL;
    return sum->type == GGML_TYPE_F32 ? sum : ggml_cast(g->ctx, sum, GGML_TYPE_F32);
}

static void replace(struct ggml_tensor * first, struct ggml_tensor * last, struct ggml_tensor * old,
                    struct ggml_tensor * by, struct ggml_context * ctx) {
    for (struct ggml_tensor * t = first; t && t != last; t = ggml_get_next_tensor(ctx, t)) {
        if (t->view_src == old) t->view_src = by;
        for (int i = 0; i < GGML_MAX_SRC; i++) {
            if (t->src[i] == old) t->src[i] = by;
        }
    }
}

static void link_source(struct graph * g, struct test_rng * rng, struct ggml_tensor * first,
                        struct ggml_tensor * source) {
    struct ggml_tensor * earlier = pick(rng, g->cgraph->nodes, g->cgraph->n_nodes);
    struct ggml_tensor * own = ggml_new_tensor(g->ctx, source->type, 4, source->ne);
    struct ggml_tensor * one = earlier && !ggml_is_empty(earlier) ? digest(g, earlier) : NULL;
    if (!one) return;
    own->data = source->data; // the leaf itself is what the operator sees of it
    struct ggml_tensor * factor = ggml_scale_bias(g->ctx, ggml_tanh(g->ctx, one), 0.25f, 1.0f);
    replace(first, own, source, ggml_mul(g->ctx, own, factor), g->ctx);
}

// Sources of the operator that may be linked: floats as a builder lays them out.
static bool may_link(const struct ggml_tensor * t) {
    const bool is_leaf =
        t->op == GGML_OP_NONE && t->data && !t->view_src && !(t->flags & GGML_TENSOR_FLAG_PARAM);
    return is_leaf && t->type == GGML_TYPE_F32 && !ggml_is_empty(t) && ggml_is_contiguous(t);
}

static void link_sources(struct graph * g, struct test_rng * rng, struct ggml_tensor * first) {
    struct ggml_tensor * sources[64];
    int n = 0;
    for (struct ggml_tensor * t = first; t; t = ggml_get_next_tensor(g->ctx, t)) {
        if (may_link(t) && n < 64) sources[n++] = t;
    }
    for (int i = 0; i < n && g->cgraph->n_nodes > 0; i++) {
        if (test_rng_below(rng, 3) > 0) link_source(g, rng, first, sources[i]);
    }
}

// ---- nodes ----------------------------------------------------------------------------------------------

static struct ggml_tensor * last_tensor(struct graph * g) {
    struct ggml_tensor * last = ggml_get_first_tensor(g->ctx);
    for (struct ggml_tensor * t = last; t; t = ggml_get_next_tensor(g->ctx, t))
        last = t;
    return last;
}

// Every operator as often as any other, whatever the number of its types.
static const struct combination * draw_combination(const struct combinations * all, struct test_rng * rng) {
    int n_operators, first = 0;
    const struct operator* operators = combination_operators(&n_operators);
    const struct operator* wanted = & operators[test_rng_below(rng, n_operators)];
    while (all->at[first].owner != wanted)
        first++;
    int n = 0;
    while (first + n < all->n && all->at[first + n].owner == wanted)
        n++;
    return &all->at[first + test_rng_below(rng, n)];
}

// A parameter that was drawn as a view without an operator (it has to be a leaf) has memory of its own here,
// and what is written over it is a view of that.
static void part_from_base(struct ggml_context * ctx, struct ggml_tensor * t) {
    for (struct ggml_tensor * user = t; user; user = ggml_get_next_tensor(ctx, user)) {
        if (user->src[0] != t || user->view_src != t->view_src) continue;
        user->view_src = t;
        user->view_offs -= t->view_offs;
    }
    t->view_src = t->src[0] = NULL;
    t->view_offs = 0;
}

static void part_leafs(struct ggml_context * ctx, struct ggml_tensor * first) {
    for (struct ggml_tensor * t = first; t; t = ggml_get_next_tensor(ctx, t)) {
        if (t->op == GGML_OP_NONE && t->view_src) part_from_base(ctx, t);
    }
}

static void add_node(struct graph * g, const struct combinations * all, struct test_rng * rng) {
    const struct combination * c = draw_combination(all, rng);
    struct draw * d = &g->draws[g->n_draws++];
    *d = (struct draw){ .ctx = g->ctx, .rng = { test_rng_u64(rng) }, .op = c->owner->op };
    d->which = c->owner->which;
    d->layouts = c->owner->layouts;
    d->result = c->result;
    d->may_be_empty = draw_chance(d, 40);
    memcpy(d->types, c->types, sizeof(d->types));
    struct ggml_tensor * before = last_tensor(g);
    struct ggml_tensor * node = c->owner->make(d);
    struct ggml_tensor * first =
        before ? ggml_get_next_tensor(g->ctx, before) : ggml_get_first_tensor(g->ctx);
    if (!ggml_ext_tensor_valid(node) || node->op == GGML_OP_NONE || (is_work(node) && !is_supported(node)))
        return;
    part_leafs(g->ctx, first);
    link_sources(g, rng, first);
    ggml_build_forward_expand(g->cgraph, node);
}

// ---- what is expected -----------------------------------------------------------------------------------

static char * bytes_of(const char * data, size_t size) {
    char * copy = malloc(size + (size == 0));
    assert_non_null(copy);
    if (size > 0) memcpy(copy, data, size);
    return copy;
}

static void * memory_of(struct ggml_tensor * t) {
    void * memory = malloc(ggml_nbytes(t) + 64);
    assert_non_null(memory);
    memset(memory, 0x5a, ggml_nbytes(t) + 64);
    return memory;
}

static void place(struct ggml_tensor * t) {
    if (t->view_src)
        t->data = (char *) t->view_src->data + t->view_offs;
    else if (!t->data)
        t->data = memory_of(t);
}

static void note_leaf(struct graph * g, struct ggml_tensor * t) {
    assert_true(g->n_leafs < GRAPH_LEAFS);
    assert_true(t->data || ggml_is_empty(t));
    g->leafs[g->n_leafs++] = (struct graph_leaf){
        .tensor = t,
        .memory = t->data,
        .values = bytes_of(t->data, ggml_nbytes(t)),
        .size = ggml_nbytes(t),
    };
}

// Parameters are among the nodes.
static void note_leafs(struct graph * g) {
    for (int i = 0; i < g->cgraph->n_leafs; i++)
        note_leaf(g, g->cgraph->leafs[i]);
    for (int i = 0; i < g->cgraph->n_nodes; i++) {
        if (g->cgraph->nodes[i]->op == GGML_OP_NONE) note_leaf(g, g->cgraph->nodes[i]);
    }
}

bool graph_writes(const struct ggml_tensor * node, const struct ggml_tensor * t) {
    if (node->view_src == t) return true;
    // Both moments change where they lie.
    if (node->op != GGML_OP_OPT_STEP_ADAMW) return false;
    for (int i = 2; i < 4; i++) {
        if (node->src[i] == t || node->src[i]->view_src == t) return true;
    }
    return false;
}

static void note_written(struct graph * g, struct ggml_tensor * node) {
    for (int i = 0; i < g->n_leafs; i++)
        g->leafs[i].is_written |= graph_writes(node, g->leafs[i].tensor);
}

// Node by node, each with memory of its own, so that nothing is overwritten but what nodes overwrite.
static void compute(struct graph * g, ggml_backend_t cpu) {
    for (int i = 0; i < g->cgraph->n_nodes; i++)
        place(g->cgraph->nodes[i]);
    for (int i = 0; i < g->cgraph->n_nodes; i++) {
        struct ggml_tensor * t = g->cgraph->nodes[i];
        struct ggml_cgraph one = *g->cgraph;
        if (!is_work(t)) continue;
        one.nodes += i;
        one.n_nodes = 1;
        one.n_leafs = 0;
        if (ggml_backend_graph_compute(cpu, &one) != GGML_STATUS_SUCCESS)
            fail_msg("graph %llu: %s", (unsigned long long) g->number, ggml_ext_last_error());
        assert_true(g->n_nodes < GRAPH_NODES);
        g->nodes[g->n_nodes++] = (struct graph_node){ .tensor = t,
                                                      .size = ggml_nbytes(t),
                                                      .n_written = defined_elements(t),
                                                      .then = bytes_of(t->data, ggml_nbytes(t)) };
        note_written(g, t);
    }
}

static void expect(struct graph * g, ggml_backend_t cpu) {
    note_leafs(g);
    compute(g, cpu);
    for (int i = 0; i < g->n_nodes; i++)
        g->nodes[i].last = bytes_of(g->nodes[i].tensor->data, g->nodes[i].size);
    for (int i = 0; i < g->n_leafs; i++) {
        struct graph_leaf * leaf = &g->leafs[i];
        leaf->last = bytes_of(leaf->memory, leaf->size);
        if (leaf->size > 0) memcpy(leaf->memory, leaf->values, leaf->size);
    }
}

// Nothing is anywhere any more.
static void forget_memory(struct graph * g) {
    for (int i = 0; i < g->cgraph->n_nodes; i++) {
        struct ggml_tensor * t = g->cgraph->nodes[i];
        if (!t->view_src && t->op != GGML_OP_NONE) free(t->data);
    }
    for (struct ggml_tensor * t = ggml_get_first_tensor(g->ctx); t; t = ggml_get_next_tensor(g->ctx, t))
        t->data = NULL;
}

struct graph * graph_new(const struct combinations * all, ggml_backend_t cpu, uint64_t number) {
    struct graph * g = calloc(1, sizeof(*g));
    assert_non_null(g);
    struct test_rng rng = { number };
    g->number = number;
    g->ctx = ggml_init((struct ggml_init_params){ .mem_size = CONTEXT_SIZE, .no_alloc = true });
    g->cgraph = ggml_new_graph_custom(g->ctx, GRAPH_NODES, false);
    const int n = 1 + (int) test_rng_below(&rng, GRAPH_DRAWS);
    for (int i = 0; i < n; i++)
        add_node(g, all, &rng);
    expect(g, cpu);
    forget_memory(g);
    return g;
}

void graph_free(struct graph * g) {
    for (int i = 0; i < g->n_nodes; i++) {
        free(g->nodes[i].then);
        free(g->nodes[i].last);
    }
    for (int i = 0; i < g->n_leafs; i++) {
        free(g->leafs[i].values);
        free(g->leafs[i].last);
    }
    for (int i = 0; i < g->n_draws; i++)
        draw_free(&g->draws[i]);
    ggml_free(g->ctx);
    free(g);
}

int64_t graph_difference(const struct ggml_tensor * t, int64_t n, const char * bytes, const char * expected) {
    const size_t unit = ggml_type_size(t->type);
    const int64_t in_row = t->ne[0] / ggml_blck_size(t->type);
    for (int64_t k = 0; k < n / ggml_blck_size(t->type); k++) {
        const int64_t row = k / in_row;
        const size_t at = (size_t) (k % in_row) * t->nb[0] + (size_t) (row % t->ne[1]) * t->nb[1] +
                          (size_t) (row / t->ne[1] % t->ne[2]) * t->nb[2] +
                          (size_t) (row / t->ne[1] / t->ne[2]) * t->nb[3];
        if (memcmp(bytes + at, expected + at, unit) != 0) return k;
    }
    return -1;
}

static void print_tensor(const char * what, const struct ggml_tensor * t) {
    printf("%s%s '%s' %s [%d, %d, %d, %d]", what, t->view_src ? "view" : "", t->name, ggml_type_name(t->type),
           (int) t->ne[0], (int) t->ne[1], (int) t->ne[2], (int) t->ne[3]);
    if (t->view_src) printf(" of '%s' at %zu", t->view_src->name, t->view_offs);
}

void graph_print(const struct graph * g) {
    for (int i = 0; i < g->cgraph->n_nodes; i++) {
        const struct ggml_tensor * t = g->cgraph->nodes[i];
        printf("    %3d %-18s", i, ggml_op_desc(t));
        print_tensor(" ", t);
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            if (t->src[k]) printf("%s'%s'", k ? ", " : " <- ", t->src[k]->name);
        }
        printf("\n");
    }
}
