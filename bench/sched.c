// SPDX-License-Identifier: MIT
// What planning costs: splitting a graph over three devices, allocating what was split, and allocating it for
// one device alone; with a new scheduler or allocator ("first"), and with one that has seen such a graph
// ("again"). The graph is that of a transformer, whose layers lie one third on each device ("thirds":
// four splits) or in turn ("turns": a split a layer). Devices compute nothing and have no memory.
//
//   bench-sched [--vs PREFIX]
//
// With --vs the same is measured with PREFIX/lib/libggml-base.so, another library of this interface, run by
// run in turn. Exit status 1 if a budget is missed, if the time of a node grows with the graph, or if the
// other library is faster.
#include <string.h>

#include "beside.h"
#include "ggml-alloc.h"
#include "ggml-backend-impl.h"
#include "ggml-backend.h"
#include "ggml.h"
#include "measure.h"

enum { N_DEVICES = 3, N_RUNS = 15, NODES_MIN = 5000, NODES_MAX = 100000 };

// Of the time of a node. A graph of 100,000 nodes is larger than the caches, what is quadratic would be 20.
static const double GROWTH = 5;

static void fail(const char * what) {
    fprintf(stderr, "bench sched: %s\n", what);
    exit(2);
}

// ---- the libraries ---------------------------------------------------------------------------------------

#define CALLS(X)                                                                                             \
    X(ggml_init)                                                                                             \
    X(ggml_free)                                                                                             \
    X(ggml_version)                                                                                          \
    X(ggml_tensor_overhead)                                                                                  \
    X(ggml_graph_overhead_custom)                                                                            \
    X(ggml_new_graph_custom)                                                                                 \
    X(ggml_build_forward_expand)                                                                             \
    X(ggml_graph_n_nodes)                                                                                    \
    X(ggml_new_tensor_2d)                                                                                    \
    X(ggml_set_input)                                                                                        \
    X(ggml_set_output)                                                                                       \
    X(ggml_add)                                                                                              \
    X(ggml_mul)                                                                                              \
    X(ggml_mul_mat)                                                                                          \
    X(ggml_rms_norm)                                                                                         \
    X(ggml_silu)                                                                                             \
    X(ggml_soft_max)                                                                                         \
    X(ggml_cont)                                                                                             \
    X(ggml_permute)                                                                                          \
    X(ggml_reshape_2d)                                                                                       \
    X(ggml_reshape_3d)                                                                                       \
    X(ggml_backend_buffer_init)                                                                              \
    X(ggml_backend_buffer_free)                                                                              \
    X(ggml_backend_buffer_set_usage)                                                                         \
    X(ggml_backend_sched_new)                                                                                \
    X(ggml_backend_sched_free)                                                                               \
    X(ggml_backend_sched_reset)                                                                              \
    X(ggml_backend_sched_split_graph)                                                                        \
    X(ggml_backend_sched_alloc_graph)                                                                        \
    X(ggml_backend_sched_get_n_splits)                                                                       \
    X(ggml_gallocr_new)                                                                                      \
    X(ggml_gallocr_free)                                                                                     \
    X(ggml_gallocr_alloc_graph)

#define MEMBER(call) __typeof__(&call) call;
struct library {
    const char * name;
    CALLS(MEMBER)
};

#define OURS(call) .call = call,
static const struct library ours = { .name = "tenon", CALLS(OURS) };
static struct library other; // name NULL: none

static void open_other(const char * prefix) {
    void * handle = bench_open_beside(prefix);
#define FOUND(call) *(void **) &other.call = bench_symbol_beside(handle, #call);
    CALLS(FOUND)
    other.name = other.ggml_version();
}

// ---- devices ---------------------------------------------------------------------------------------------

struct device {
    char name[16];
    struct ggml_backend_device device;
    struct ggml_backend_buffer_type type;
    struct ggml_backend backend;
};

static struct device devices[N_DEVICES + 1]; // the last one calls itself a processor
static const struct library * lib;           // whose turn it is

static const char * device_name(ggml_backend_dev_t dev) {
    return ((struct device *) dev->context)->name;
}

static void device_memory(ggml_backend_dev_t dev, size_t * free_bytes, size_t * total) {
    (void) dev;
    *free_bytes = *total = (size_t) 1 << 40;
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t dev) {
    return dev->context == &devices[N_DEVICES] ? GGML_BACKEND_DEVICE_TYPE_CPU : GGML_BACKEND_DEVICE_TYPE_GPU;
}

static void device_props(ggml_backend_dev_t dev, struct ggml_backend_dev_props * props) {
    props->name = props->description = device_name(dev);
    props->type = device_type(dev);
}

static ggml_backend_t device_start(ggml_backend_dev_t dev, const char * params) {
    (void) params;
    return &((struct device *) dev->context)->backend;
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t dev) {
    return &((struct device *) dev->context)->type;
}

static bool device_supports_op(ggml_backend_dev_t dev, const struct ggml_tensor * op) {
    (void) dev, (void) op;
    return true;
}

static bool device_supports_type(ggml_backend_dev_t dev, ggml_backend_buffer_type_t type) {
    return type == device_buffer_type(dev);
}

static const char * type_name(ggml_backend_buffer_type_t type) {
    return device_name(type->device);
}

static size_t type_alignment(ggml_backend_buffer_type_t type) {
    (void) type;
    return 256;
}

static void buffer_free(ggml_backend_buffer_t buffer) {
    (void) buffer;
}

static void * buffer_base(ggml_backend_buffer_t buffer) {
    (void) buffer;
    return (void *) 4096; // nobody looks
}

static ggml_backend_buffer_t type_alloc(ggml_backend_buffer_type_t type, size_t size) {
    const struct ggml_backend_buffer_i iface = { .free_buffer = buffer_free, .get_base = buffer_base };
    return lib->ggml_backend_buffer_init(type, iface, type->context, size);
}

static const char * backend_name(ggml_backend_t backend) {
    return device_name(backend->device);
}

static void backend_free(ggml_backend_t backend) {
    (void) backend;
}

static enum ggml_status backend_compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    (void) backend, (void) graph;
    return GGML_STATUS_SUCCESS;
}

static void make_device(int i) {
    static ggml_guid guid = { 1, 2, 3 };
    struct device * d = &devices[i];
    snprintf(d->name, sizeof(d->name), "D%d", i);
    d->device = (struct ggml_backend_device){
        .iface = { .get_name = device_name,
                   .get_description = device_name,
                   .get_memory = device_memory,
                   .get_type = device_type,
                   .get_props = device_props,
                   .init_backend = device_start,
                   .get_buffer_type = device_buffer_type,
                   .supports_op = device_supports_op,
                   .supports_buft = device_supports_type },
        .context = d,
    };
    d->type = (struct ggml_backend_buffer_type){
        .iface = { .get_name = type_name, .alloc_buffer = type_alloc, .get_alignment = type_alignment },
        .device = &d->device,
        .context = d,
    };
    d->backend = (struct ggml_backend){
        .guid = &guid,
        .iface = { .get_name = backend_name, .free = backend_free, .graph_compute = backend_compute },
        .device = &d->device,
        .context = d,
    };
}

// ---- the graph -------------------------------------------------------------------------------------------

enum { DIM = 64, HEADS = 4, TOKENS = 16, HIDDEN = 128, LAYER_TENSORS = 48 };

struct model {
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor * mask;
    ggml_backend_buffer_t weights[N_DEVICES];
    ggml_backend_buffer_t here; // where the weights of the present layer are
};

static struct ggml_tensor * weight(const struct model * m, int64_t ne0, int64_t ne1) {
    struct ggml_tensor * t = lib->ggml_new_tensor_2d(m->ctx, GGML_TYPE_F32, ne0, ne1);
    t->buffer = m->here;
    t->data = (void *) 4096;
    return t;
}

static struct ggml_tensor * norm(const struct model * m, struct ggml_tensor * x) {
    return lib->ggml_mul(m->ctx, lib->ggml_rms_norm(m->ctx, x, 1e-5f), weight(m, DIM, 1));
}

static struct ggml_tensor * heads(const struct model * m, struct ggml_tensor * x) {
    struct ggml_tensor * y = lib->ggml_mul_mat(m->ctx, weight(m, DIM, DIM), x);
    y = lib->ggml_reshape_3d(m->ctx, y, DIM / HEADS, HEADS, TOKENS);
    return lib->ggml_permute(m->ctx, y, 0, 2, 1, 3);
}

static struct ggml_tensor * attention(const struct model * m, struct ggml_tensor * x) {
    struct ggml_context * ctx = m->ctx;
    struct ggml_tensor *q = heads(m, x), *k = heads(m, x), *v = heads(m, x);
    struct ggml_tensor * scores = lib->ggml_add(ctx, lib->ggml_mul_mat(ctx, k, q), m->mask);
    v = lib->ggml_cont(ctx, lib->ggml_permute(ctx, v, 1, 0, 2, 3));
    struct ggml_tensor * mixed = lib->ggml_mul_mat(ctx, v, lib->ggml_soft_max(ctx, scores));
    mixed = lib->ggml_cont(ctx, lib->ggml_permute(ctx, mixed, 0, 2, 1, 3));
    return lib->ggml_mul_mat(ctx, weight(m, DIM, DIM), lib->ggml_reshape_2d(ctx, mixed, DIM, TOKENS));
}

static struct ggml_tensor * layer(const struct model * m, struct ggml_tensor * x) {
    struct ggml_context * ctx = m->ctx;
    x = lib->ggml_add(ctx, x, attention(m, norm(m, x)));
    struct ggml_tensor * u = norm(m, x);
    struct ggml_tensor * gate = lib->ggml_silu(ctx, lib->ggml_mul_mat(ctx, weight(m, DIM, HIDDEN), u));
    u = lib->ggml_mul(ctx, gate, lib->ggml_mul_mat(ctx, weight(m, DIM, HIDDEN), u));
    return lib->ggml_add(ctx, x, lib->ggml_mul_mat(ctx, weight(m, HIDDEN, DIM), u));
}

enum { LAYER_NODES = 31 }; // without weights

struct shape {
    const char * name;
    bool in_turn;
};

static struct model build(int n_nodes, const struct shape * shape) {
    const int n_layers = n_nodes / LAYER_NODES;
    const size_t n_tensors = (size_t) (n_layers + 1) * LAYER_TENSORS;
    struct model m = { .ctx = lib->ggml_init((struct ggml_init_params){
                           .mem_size = n_tensors * lib->ggml_tensor_overhead() +
                                       lib->ggml_graph_overhead_custom(n_tensors, false),
                           .no_alloc = true }) };
    if (!m.ctx) fail("no memory");
    for (int i = 0; i < N_DEVICES; i++) {
        m.weights[i] = type_alloc(&devices[i].type, (size_t) 1 << 30);
        lib->ggml_backend_buffer_set_usage(m.weights[i], GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }
    struct ggml_tensor * x = lib->ggml_new_tensor_2d(m.ctx, GGML_TYPE_F32, DIM, TOKENS);
    m.mask = lib->ggml_new_tensor_2d(m.ctx, GGML_TYPE_F32, TOKENS, TOKENS);
    lib->ggml_set_input(x);
    lib->ggml_set_input(m.mask);
    for (int i = 0; i < n_layers; i++) {
        m.here = m.weights[shape->in_turn ? i % N_DEVICES : i * N_DEVICES / n_layers];
        x = layer(&m, x);
    }
    lib->ggml_set_output(x);
    m.graph = lib->ggml_new_graph_custom(m.ctx, n_tensors, false);
    lib->ggml_build_forward_expand(m.graph, x);
    return m;
}

static void drop(struct model * m) {
    for (int i = 0; i < N_DEVICES; i++)
        lib->ggml_backend_buffer_free(m->weights[i]);
    lib->ggml_free(m->ctx);
}

// ---- measuring -------------------------------------------------------------------------------------------

static ggml_backend_sched_t new_scheduler(const struct model * m) {
    ggml_backend_t backends[N_DEVICES + 1];
    for (int i = 0; i <= N_DEVICES; i++)
        backends[i] = &devices[i].backend;
    const size_t size = 2 * (size_t) lib->ggml_graph_n_nodes(m->graph);
    ggml_backend_sched_t sched =
        lib->ggml_backend_sched_new(backends, NULL, N_DEVICES + 1, size, false, false);
    if (!sched) fail("no scheduler");
    return sched;
}

// The planner of a work, NULL: one is made. What is done with a graph that it has not seen.
struct planner {
    ggml_backend_sched_t sched;
    ggml_gallocr_t galloc;
};

static void split(struct planner * p, const struct model * m) {
    if (!p->sched) p->sched = new_scheduler(m);
    lib->ggml_backend_sched_reset(p->sched);
    lib->ggml_backend_sched_split_graph(p->sched, m->graph);
}

static void split_and_allocate(struct planner * p, const struct model * m) {
    if (!p->sched) p->sched = new_scheduler(m);
    lib->ggml_backend_sched_reset(p->sched);
    if (!lib->ggml_backend_sched_alloc_graph(p->sched, m->graph)) fail("a graph was not allocated");
}

static void allocate(struct planner * p, const struct model * m) {
    if (!p->galloc) p->galloc = lib->ggml_gallocr_new(&devices[0].type);
    if (!p->galloc || !lib->ggml_gallocr_alloc_graph(p->galloc, m->graph)) fail("a graph was not allocated");
}

static const struct work {
    const char * name;
    double budget_ms; // for NODES_MIN
    void (*plan)(struct planner * p, const struct model * m);
} works[] = {
    { "split", 20, split },
    { "split and allocate", 30, split_and_allocate },
    { "allocate", 10, allocate },
};

enum { FIRST, AGAIN, TURNS };
static const char * const turns[TURNS] = { "first", "again" };

struct figures {
    int n_nodes, n_splits;
    double times[TURNS][N_RUNS];
    double median[TURNS];
};

static double time_of(const struct work * work, struct planner * p, const struct model * m) {
    const double start = bench_seconds();
    work->plan(p, m);
    return bench_seconds() - start;
}

static void run_once(const struct library * library, const struct work * work, int n_nodes,
                     const struct shape * shape, struct figures * f, int i) {
    lib = library;
    struct planner planner = { NULL, NULL };
    for (int turn = 0; turn < TURNS; turn++) {
        struct model m = build(n_nodes, shape);
        f->n_nodes = lib->ggml_graph_n_nodes(m.graph);
        f->times[turn][i] = time_of(work, &planner, &m);
        f->n_splits = planner.sched ? lib->ggml_backend_sched_get_n_splits(planner.sched) : 1;
        drop(&m);
    }
    lib->ggml_backend_sched_free(planner.sched);
    lib->ggml_gallocr_free(planner.galloc);
}

static void find_medians(struct figures * f) {
    for (int turn = 0; turn < TURNS; turn++) {
        qsort(f->times[turn], N_RUNS, sizeof(f->times[turn][0]), bench_by_value);
        f->median[turn] = f->times[turn][N_RUNS / 2];
    }
}

static void print(const struct library * library, const struct work * work, const struct shape * shape,
                  const struct figures * f, int turn) {
    printf("{\"bench\": \"sched\", \"library\": \"%s\", \"work\": \"%s\", \"turn\": \"%s\", "
           "\"layers\": \"%s\", \"nodes\": %d, \"splits\": %d, \"median_ms\": %.3f, \"us_a_node\": %.3f",
           library->name, work->name, turns[turn], shape->name, f->n_nodes, f->n_splits,
           f->median[turn] * 1e3, f->median[turn] * 1e6 / f->n_nodes);
}

static bool tell(const char * what, double limit, bool met) {
    printf(", \"%s\": %.3g, \"met\": %s", what, limit, met ? "true" : "false");
    return met;
}

// a_node: the time of a node at the smallest size, 0: this is it.
static bool judge(const struct work * work, const struct figures * own, const struct figures * others,
                  int turn, double * a_node) {
    const double seconds = own->median[turn], node = seconds / own->n_nodes;
    bool met = true;
    if (*a_node == 0) {
        *a_node = node;
        met = tell("budget_ms", work->budget_ms, seconds * 1e3 <= work->budget_ms);
    } else {
        met = tell("growth_at_most", GROWTH, node <= GROWTH * *a_node);
    }
    if (!other.name) return met;
    const double beside = others->median[turn];
    return tell("of_the_other", seconds / beside, seconds <= beside) && met;
}

static bool measure(const struct work * work, const struct shape * shape, int n_nodes, double * a_node) {
    static struct figures own, others;
    for (int i = -1; i < N_RUNS; i++) { // the first run does not count
        run_once(&ours, work, n_nodes, shape, &own, i < 0 ? 0 : i);
        if (other.name) run_once(&other, work, n_nodes, shape, &others, i < 0 ? 0 : i);
    }
    find_medians(&own);
    find_medians(&others);
    bool met = true;
    for (int turn = 0; turn < TURNS; turn++) {
        print(&ours, work, shape, &own, turn);
        met = judge(work, &own, &others, turn, &a_node[turn]) && met;
        printf("}\n");
        if (!other.name) continue;
        print(&other, work, shape, &others, turn);
        printf("}\n");
    }
    return met;
}

int main(int argc, char ** argv) {
    static const struct shape shapes[] = { { "thirds", false }, { "turns", true } };
    static const int sizes[] = { NODES_MIN, 20000, NODES_MAX };
    if (argc == 3 && strcmp(argv[1], "--vs") == 0) {
        open_other(argv[2]);
    } else if (argc > 1) {
        fail("usage: bench-sched [--vs PREFIX]");
    }
    for (int i = 0; i <= N_DEVICES; i++)
        make_device(i);
    bool met = true;
    for (size_t w = 0; w < sizeof(works) / sizeof(works[0]); w++) {
        for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
            double a_node[TURNS] = { 0 };
            for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
                met = measure(&works[w], &shapes[s], sizes[k], a_node) && met;
        }
    }
    return met ? 0 : 1;
}
