// SPDX-License-Identifier: MIT
// The peak of the graph allocator on graphs shaped like models, beside the best of three greedy orders: by
// size (largest tensor first), by breadth (the operators with most bytes alive first) and by first use. The
// orders are implemented here, on lifetimes that are found here: a result takes the place of a source that
// ends with it where the operator works element by element. And the time of planning 5,000 nodes.
//
//   bench-alloc
//
// Exit status 1 if a peak is above 1.05 of the best, or the time above 10 ms.
#include <stdint.h>
#include <string.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"
#include "measure.h"

enum { MAX = 8192, ORDERS = 3 };
static const double WITHIN = 1.05;

static struct ggml_context * ctx;

static struct ggml_tensor * weight(int64_t a, int64_t b, int64_t c, int64_t d) {
    static char memory[16];
    struct ggml_tensor * t = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, a, b, c, d);
    t->data = memory; // outside: nobody computes
    return t;
}

static struct ggml_tensor * input(int64_t a, int64_t b, int64_t c) {
    struct ggml_tensor * t = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, a, b, c);
    ggml_set_input(t);
    return t;
}

static struct ggml_tensor * linear(struct ggml_tensor * x, int64_t n) {
    return ggml_mul_mat(ctx, weight(x->ne[0], n, 1, 1), x);
}

static struct ggml_tensor * norm(struct ggml_tensor * x) {
    return ggml_mul(ctx, ggml_rms_norm(ctx, x, 1e-5f), weight(x->ne[0], 1, 1, 1));
}

static struct ggml_tensor * heads(struct ggml_tensor * x, int64_t n_heads) {
    x = ggml_reshape_3d(ctx, x, x->ne[0] / n_heads, n_heads, x->ne[1]);
    return ggml_permute(ctx, x, 0, 2, 1, 3);
}

static struct ggml_tensor * attention(struct ggml_tensor * x, struct ggml_tensor * from) {
    const int64_t dim = x->ne[0], n_heads = dim / 64;
    struct ggml_tensor *q = heads(linear(x, dim), n_heads), *k = heads(linear(from, dim), n_heads);
    struct ggml_tensor * v = heads(linear(from, dim), n_heads);
    struct ggml_tensor * scores = ggml_soft_max(ctx, ggml_mul_mat(ctx, k, q));
    v = ggml_cont(ctx, ggml_permute(ctx, v, 1, 0, 2, 3));
    struct ggml_tensor * y = ggml_permute(ctx, ggml_mul_mat(ctx, v, scores), 0, 2, 1, 3);
    return linear(ggml_cont_2d(ctx, y, dim, x->ne[1]), dim);
}

static struct ggml_tensor * gated(struct ggml_tensor * x) {
    struct ggml_tensor * gate = ggml_silu(ctx, linear(x, 3 * x->ne[0]));
    return linear(ggml_mul(ctx, gate, linear(x, 3 * x->ne[0])), x->ne[0]);
}

static struct ggml_tensor * llama(int layers) {
    struct ggml_tensor * x = input(512, 128, 1);
    for (int i = 0; i < layers; i++) {
        struct ggml_tensor * u = norm(x);
        x = ggml_add(ctx, x, attention(u, u));
        x = ggml_add(ctx, x, gated(norm(x)));
    }
    return linear(norm(x), 8192);
}

static struct ggml_tensor * encode(struct ggml_tensor * x, struct ggml_tensor * beside) {
    struct ggml_tensor * u = norm(x);
    x = ggml_add(ctx, x, attention(u, u));
    if (beside) x = ggml_add(ctx, x, attention(norm(x), beside));
    return ggml_add(ctx, x, linear(ggml_gelu(ctx, linear(norm(x), 4 * x->ne[0])), x->ne[0]));
}

static struct ggml_tensor * whisper(int layers) {
    struct ggml_tensor *x = input(384, 750, 1), *y = input(384, 64, 1);
    for (int i = 0; i < layers; i++)
        x = encode(x, NULL);
    for (int i = 0; i < layers; i++)
        y = encode(y, x);
    return linear(norm(y), 8192);
}

static struct ggml_tensor * conv(struct ggml_tensor * x, int64_t n, int stride) {
    return ggml_conv_2d(ctx, weight(3, 3, x->ne[2], n), x, stride, stride, 1, 1, 1, 1);
}

static struct ggml_tensor * residual(struct ggml_tensor * x, int64_t n) {
    struct ggml_tensor * u = conv(ggml_silu(ctx, ggml_group_norm(ctx, x, 8, 1e-5f)), n, 1);
    u = conv(ggml_silu(ctx, ggml_group_norm(ctx, u, 8, 1e-5f)), n, 1);
    return ggml_add(ctx, u, x->ne[2] == n ? x : conv(x, n, 1));
}

static struct ggml_tensor * unet(int levels) {
    struct ggml_tensor *x = conv(input(64, 64, 4), 32, 1), *kept[8];
    for (int i = 0; i < levels; i++) {
        kept[i] = x = residual(x, 32 << i);
        x = conv(x, 32 << i, 2);
    }
    x = residual(x, x->ne[2]);
    for (int i = levels; i-- > 0;) {
        x = ggml_upscale(ctx, x, 2, GGML_SCALE_MODE_NEAREST);
        x = residual(ggml_concat(ctx, x, kept[i], 2), 32 << i);
    }
    return conv(x, 4, 1);
}

// ---- lifetimes -------------------------------------------------------------------------------------------

struct life {
    const struct ggml_tensor * tensor;
    size_t size, offset, breadth;
    int begin, end, into; // into: the life whose place it takes, -1: none
};

static struct life lives[MAX];
static int n_lives;

static int life_of(const struct ggml_tensor * t) {
    while (t->view_src) t = t->view_src;
    for (int i = n_lives; i-- > 0;) {
        if (lives[i].tensor == t) return i;
    }
    return -1;
}

static int place_of(int i) {
    while (lives[i].into >= 0) i = lives[i].into;
    return i;
}

static void live(const struct ggml_tensor * t, int begin) {
    if (t->view_src || t->data || life_of(t) >= 0) return;
    const size_t align = ggml_backend_buft_get_alignment(ggml_backend_cpu_buffer_type());
    const size_t size = (ggml_nbytes(t) + align - 1) / align * align;
    if (n_lives == MAX) exit(2);
    lives[n_lives++] = (struct life){ .tensor = t, .size = size, .begin = begin, .end = begin, .into = -1 };
}

static bool element_by_element(enum ggml_op op) {
    return op == GGML_OP_ADD || op == GGML_OP_MUL || op == GGML_OP_UNARY || op == GGML_OP_RMS_NORM ||
           op == GGML_OP_SOFT_MAX || op == GGML_OP_GROUP_NORM;
}

static void take_place(struct ggml_tensor * node, int time) {
    const int self = life_of(node);
    if (self < 0 || node->view_src || !element_by_element(node->op)) return;
    for (int s = 0; s < 2 && node->src[s]; s++) {
        const int from = life_of(node->src[s]);
        if (from < 0 || lives[from].end != time || !ggml_are_same_shape(node, node->src[s])) continue;
        lives[self].into = from;
        return;
    }
}

static void find_lives(struct ggml_cgraph * graph) {
    const int n = ggml_graph_n_nodes(graph);
    n_lives = 0;
    for (int i = 0; i < n; i++) {
        struct ggml_tensor * node = ggml_graph_node(graph, i);
        for (int s = 0; s < GGML_MAX_SRC; s++) {
            if (!node->src[s]) continue;
            live(node->src[s], 0);
            const int used = life_of(node->src[s]);
            if (used >= 0) lives[used].end = i + 1;
        }
        live(node, i + 1);
    }
    for (int i = 0; i < n; i++)
        take_place(ggml_graph_node(graph, i), i + 1);
    for (int i = 0; i < n_lives; i++) { // a place lives as long as the last one in it
        const int place = place_of(i);
        if (lives[place].end < lives[i].end) lives[place].end = lives[i].end;
    }
}

static void find_breadths(int n) {
    for (int time = 0; time <= n; time++) {
        size_t sum = 0;
        for (int i = 0; i < n_lives; i++)
            sum += lives[i].into < 0 && lives[i].begin <= time && time <= lives[i].end ? lives[i].size : 0;
        for (int i = 0; i < n_lives; i++) {
            const bool alive = lives[i].begin <= time && time <= lives[i].end;
            if (alive && lives[i].breadth < sum) lives[i].breadth = sum;
        }
    }
}

// ---- the orders ------------------------------------------------------------------------------------------

static int order; // 0: by size, 1: by breadth, then size, 2: by first use

static int by_order(const void * a, const void * b) {
    const struct life *x = &lives[*(const int *) a], *y = &lives[*(const int *) b];
    if (order == 1 && x->breadth != y->breadth) return x->breadth < y->breadth ? 1 : -1;
    if (order == 2 && x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->size < y->size) - (x->size > y->size);
}

// The lowest offset where nothing placed before, and alive at one time with it, is in the way.
static size_t lowest_place(const int * ids, int n, const struct life * l) {
    size_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int k = 0; k < n; k++) {
            const struct life * o = &lives[ids[k]];
            if (o->end < l->begin || l->end < o->begin) continue;
            if (o->offset >= at + l->size || at >= o->offset + o->size) continue;
            at = o->offset + o->size;
            moved = true;
        }
    }
    return at;
}

static size_t greedy_peak(void) {
    static int ids[MAX];
    int n = 0;
    size_t peak = 0;
    for (int i = 0; i < n_lives; i++)
        if (lives[i].into < 0) ids[n++] = i;
    qsort(ids, (size_t) n, sizeof(ids[0]), by_order);
    for (int k = 0; k < n; k++) {
        struct life * l = &lives[ids[k]];
        l->offset = lowest_place(ids, k, l);
        if (peak < l->offset + l->size) peak = l->offset + l->size;
    }
    return peak;
}

// ---- measuring -------------------------------------------------------------------------------------------

static struct ggml_cgraph * build(struct ggml_tensor * (*model)(int), int size) {
    ctx = ggml_init((struct ggml_init_params){ .mem_size = 16 << 20, .no_alloc = true });
    struct ggml_cgraph * graph = ctx ? ggml_new_graph_custom(ctx, 16384, false) : NULL;
    if (!graph) exit(2);
    ggml_build_forward_expand(graph, model(size));
    return graph;
}

static bool compare(const char * name, struct ggml_tensor * (*model)(int), int size) {
    struct ggml_cgraph * graph = build(model, size);
    ggml_gallocr_t galloc = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
    size_t own = 0, best = SIZE_MAX;
    ggml_gallocr_reserve_n_size(galloc, graph, NULL, NULL, &own);
    find_lives(graph);
    find_breadths(ggml_graph_n_nodes(graph));
    for (order = 0; order < ORDERS; order++) {
        const size_t peak = greedy_peak();
        if (best > peak) best = peak;
    }
    const double ratio = (double) own / (double) best;
    printf("{\"bench\": \"alloc\", \"graph\": \"%s\", \"nodes\": %d, \"bytes\": %zu, \"best_greedy\": %zu, "
           "\"ratio\": %.4f, \"met\": %s}\n",
           name, ggml_graph_n_nodes(graph), own, best, ratio, ratio <= WITHIN ? "true" : "false");
    ggml_gallocr_free(galloc);
    ggml_free(ctx);
    return ratio <= WITHIN;
}

static void plan(void * graph) {
    size_t size;
    ggml_gallocr_t galloc = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
    ggml_gallocr_reserve_n_size(galloc, graph, NULL, NULL, &size);
    ggml_gallocr_free(galloc);
}

int main(void) {
    bool met = compare("llama", llama, 12);
    met = compare("whisper", whisper, 6) && met;
    met = compare("unet", unet, 4) && met;
    struct ggml_cgraph * graph = build(llama, 185);
    printf("{\"bench\": \"alloc\", \"graph\": \"llama\", \"nodes\": %d, ", ggml_graph_n_nodes(graph));
    met = bench_print_times(bench_run(plan, graph, 15), 10) && met;
    ggml_free(ctx);
    return met ? 0 : 1;
}
