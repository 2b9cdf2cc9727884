// SPDX-License-Identifier: MIT
// The memory that graphs of models are planned into, and what planning costs.
//
//   bench-alloc [--vs PREFIX]
//
// Peak: beside the best of three published greedy orders (greedy.h), which are given the same lifetimes and
// the same results in place, and beside the bound that none gets below. Time: to allocate a graph with a new
// allocator ("first") and with one that has seen an equal graph ("again").
// With --vs the same is done by PREFIX/lib/libggml-base.so, another library of this interface, run by run in
// turn. Exit status 1 if a peak is more than 5 % above the best order, or if the other library is
// faster over all models.
#include <string.h>

#include "greedy.h"
#include "measure.h"
#include "models.h"

enum { N_RUNS = 31, ALIGNMENT = 64 };

static const double ABOVE_THE_BEST = 1.05;

static void fail(const char * what) {
    fprintf(stderr, "bench alloc: %s\n", what);
    exit(2);
}

// ---- memory that nobody looks at -------------------------------------------------------------------------

static const char * type_name(ggml_backend_buffer_type_t type) {
    (void) type;
    return "Nowhere";
}

static size_t type_alignment(ggml_backend_buffer_type_t type) {
    (void) type;
    return ALIGNMENT;
}

static void buffer_free(ggml_backend_buffer_t buffer) {
    (void) buffer;
}

static void * buffer_base(ggml_backend_buffer_t buffer) {
    (void) buffer;
    return (void *) 4096;
}

static ggml_backend_buffer_t type_alloc(ggml_backend_buffer_type_t type, size_t size) {
    const struct ggml_backend_buffer_i iface = { .free_buffer = buffer_free, .get_base = buffer_base };
    return lib->ggml_backend_buffer_init(type, iface, NULL, size);
}

static struct ggml_backend_buffer_type nowhere = {
    .iface = { .get_name = type_name, .alloc_buffer = type_alloc, .get_alignment = type_alignment },
};

// ---- lifetimes -------------------------------------------------------------------------------------------

struct item {
    const struct ggml_tensor * tensor;
    int begin, end;
    int group; // results in place share the interval of their first one
};

struct items {
    struct item all[MODEL_TENSORS];
    int n;
    struct greedy_interval intervals[MODEL_TENSORS];
    size_t n_intervals;
    int n_times;
};

static const struct ggml_tensor * root_of(const struct ggml_tensor * t) {
    while (t->view_src)
        t = t->view_src;
    return t;
}

static struct item * find(struct items * s, const struct ggml_tensor * t) {
    for (int i = s->n; i-- > 0;) {
        if (s->all[i].tensor == t) return &s->all[i];
    }
    return NULL;
}

// Of a tensor, or of what it is a view of; NULL for weights, which the allocator left alone.
static struct item * item_at(struct items * s, const struct ggml_tensor * t, int time) {
    t = root_of(t);
    if (!t->buffer) return NULL;
    struct item * found = find(s, t);
    if (found) return found;
    const bool early = t->op == GGML_OP_NONE || (t->flags & GGML_TENSOR_FLAG_INPUT);
    s->all[s->n] = (struct item){ .tensor = t, .begin = early ? 0 : time, .end = -1, .group = s->n };
    return &s->all[s->n++];
}

static void find_lifetimes(struct items * s, struct ggml_cgraph * graph) {
    const int n = lib->ggml_graph_n_nodes(graph);
    s->n = 0;
    s->n_times = n + 2;
    for (int i = 0; i < n; i++) {
        const struct ggml_tensor * node = lib->ggml_graph_node(graph, i);
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            struct item * source = node->src[k] ? item_at(s, node->src[k], i + 1) : NULL;
            if (source) source->end = i + 1;
        }
        item_at(s, node, i + 1);
    }
    for (int i = 0; i < s->n; i++) {
        struct item * v = &s->all[i];
        if (v->end < 0 || (v->tensor->flags & GGML_TENSOR_FLAG_OUTPUT)) v->end = s->n_times - 1;
    }
}

// Where the allocator put a result on a source that ends there; no other bytes are shared at one time.
static void find_results_in_place(struct items * s, struct ggml_cgraph * graph) {
    for (int i = 0; i < lib->ggml_graph_n_nodes(graph); i++) {
        const struct ggml_tensor * node = lib->ggml_graph_node(graph, i);
        struct item * own = node->view_src ? NULL : find(s, node);
        for (int k = 0; own && k < GGML_MAX_SRC; k++) {
            const struct ggml_tensor * root = node->src[k] ? root_of(node->src[k]) : NULL;
            if (!root || !root->buffer || root->data != node->data) continue;
            const struct item * source = find(s, root);
            if (source->end == own->begin) own->group = source->group;
        }
    }
}

static size_t size_of(const struct ggml_tensor * t) {
    return (t->nb[3] * (size_t) t->ne[3] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void make_intervals(struct items * s) {
    int at[MODEL_TENSORS];
    s->n_intervals = 0;
    for (int i = 0; i < s->n; i++) {
        const struct item * v = &s->all[i];
        if (v->group == i) {
            at[i] = (int) s->n_intervals++;
            s->intervals[at[i]] = (struct greedy_interval){ .begin = v->begin, .end = v->end };
        }
        struct greedy_interval * whole = &s->intervals[at[v->group]];
        if (whole->end < v->end) whole->end = v->end;
        if (whole->size < size_of(v->tensor)) whole->size = size_of(v->tensor);
    }
}

// ---- peaks -----------------------------------------------------------------------------------------------

static const struct shape {
    const char * name;
    struct model (*build)(void);
} shapes[] = {
    { "llama, prompt", llama_prompt }, { "llama, prompt, flash", llama_prompt_flash },
    { "llama, token", llama_token },   { "unet", unet_graph },
    { "whisper", whisper_graph },
};

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

static ggml_gallocr_t allocate(ggml_gallocr_t galloc, const struct model * m) {
    if (!galloc) galloc = lib->ggml_gallocr_new(&nowhere);
    if (!galloc || !lib->ggml_gallocr_alloc_graph(galloc, m->graph)) fail("a graph was not allocated");
    return galloc;
}

static size_t peak_of(const struct model_calls * library, const struct shape * shape, struct items * items) {
    lib = library;
    struct model m = shape->build();
    ggml_gallocr_t galloc = allocate(NULL, &m);
    const size_t peak = lib->ggml_gallocr_get_buffer_size(galloc, 0);
    if (items) {
        find_lifetimes(items, m.graph);
        find_results_in_place(items, m.graph);
        make_intervals(items);
    }
    lib->ggml_gallocr_free(galloc);
    lib->ggml_free(m.ctx);
    return peak;
}

static bool compare_peaks(const struct shape * shape, bool beside) {
    static struct items items;
    const size_t peak = peak_of(&model_ours, shape, &items), n = items.n_intervals;
    const size_t bound = greedy_measure(items.intervals, n, items.n_times);
    const size_t by_size = greedy_peak(items.intervals, n, greedy_by_size);
    const size_t by_breadth = greedy_peak(items.intervals, n, greedy_by_breadth);
    const size_t by_first_use = greedy_peak(items.intervals, n, greedy_by_first_use);
    const size_t best = min_size(by_size, min_size(by_breadth, by_first_use));
    const bool met = (double) peak <= ABOVE_THE_BEST * (double) best;
    printf("{\"bench\": \"alloc_peak\", \"model\": \"%s\", \"intervals\": %zu, \"bytes\": %zu, "
           "\"by_size\": %zu, \"by_breadth\": %zu, \"by_first_use\": %zu, \"bound\": %zu, ",
           shape->name, n, peak, by_size, by_breadth, by_first_use, bound);
    if (beside) printf("\"other\": %zu, ", peak_of(&model_other, shape, NULL));
    printf("\"of_the_best\": %.4f, \"met\": %s}\n", (double) peak / (double) best, met ? "true" : "false");
    return met;
}

// ---- times -----------------------------------------------------------------------------------------------

enum { FIRST, AGAIN, TURNS };
static const char * const turns[TURNS] = { "first", "again" };

struct times {
    double seconds[TURNS][N_RUNS];
    int n_nodes;
};

static void run_once(const struct model_calls * library, const struct shape * shape, struct times * t,
                     int i) {
    ggml_gallocr_t galloc = NULL;
    lib = library;
    for (int turn = 0; turn < TURNS; turn++) {
        struct model m = shape->build();
        t->n_nodes = lib->ggml_graph_n_nodes(m.graph);
        const double start = bench_seconds();
        galloc = allocate(galloc, &m);
        t->seconds[turn][i] = bench_seconds() - start;
        lib->ggml_free(m.ctx);
    }
    lib->ggml_gallocr_free(galloc);
}

static double median(double * seconds) {
    qsort(seconds, N_RUNS, sizeof(*seconds), bench_by_value);
    return seconds[N_RUNS / 2];
}

struct sums {
    double ours[TURNS], theirs[TURNS];
};

static void compare_times(const struct shape * shape, bool beside, struct sums * sums) {
    static struct times own, others;
    for (int i = -1; i < N_RUNS; i++) { // the first run does not count
        run_once(&model_ours, shape, &own, i < 0 ? 0 : i);
        if (beside) run_once(&model_other, shape, &others, i < 0 ? 0 : i);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        const double ours = median(own.seconds[turn]);
        printf("{\"bench\": \"alloc_time\", \"model\": \"%s\", \"nodes\": %d, \"turn\": \"%s\", "
               "\"median_ms\": %.3f",
               shape->name, own.n_nodes, turns[turn], ours * 1e3);
        sums->ours[turn] += ours;
        if (beside) {
            const double theirs = median(others.seconds[turn]);
            printf(", \"other_ms\": %.3f, \"of_the_other\": %.2f", theirs * 1e3, ours / theirs);
            sums->theirs[turn] += theirs;
        }
        printf("}\n");
    }
}

static bool compare_sums(const struct sums * s) {
    bool all_met = true;
    for (int turn = 0; turn < TURNS; turn++) {
        const bool met = s->ours[turn] <= s->theirs[turn];
        printf("{\"bench\": \"alloc_time\", \"model\": \"all\", \"turn\": \"%s\", \"of_the_other\": %.2f, "
               "\"met\": %s}\n",
               turns[turn], s->ours[turn] / s->theirs[turn], met ? "true" : "false");
        all_met = all_met && met;
    }
    return all_met;
}

int main(int argc, char ** argv) {
    const bool beside = argc == 3 && strcmp(argv[1], "--vs") == 0;
    if (argc > 1 && !beside) fail("usage: bench-alloc [--vs PREFIX]");
    if (beside) model_open_other(argv[2]);
    struct sums sums = { { 0 }, { 0 } };
    bool met = true;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        met = compare_peaks(&shapes[i], beside) && met;
        compare_times(&shapes[i], beside, &sums);
    }
    if (beside) met = compare_sums(&sums) && met;
    return met ? 0 : 1;
}
