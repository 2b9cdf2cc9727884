// SPDX-License-Identifier: MIT
// Random devices, and what is done on them.
#include "sched/scene.h"

#include "ggml-ext.h"
#include "ggml/src/ggml-impl.h"

static bool chance(struct scene * s, int percent) {
    return test_rng_below(&s->rng, 100) < percent;
}

static int below(struct scene * s, int n) {
    return (int) test_rng_below(&s->rng, n);
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
wrong(struct scene * s, const char * fmt, ...) {
    va_list args;
    if (s->text[0]) return false;
    va_start(args, fmt);
    vsnprintf(s->text, sizeof(s->text), fmt, args);
    va_end(args);
    const size_t n = strlen(s->text);
    if (fake_world_faults(s->world) > 0 && strcmp(s->text, fake_world_fault(s->world)) != 0)
        snprintf(s->text + n, sizeof(s->text) - n, " (%s)", fake_world_fault(s->world));
    return false;
}

// ---- devices --------------------------------------------------------------------------------------------

static uint64_t some_bits(struct scene * s, int percent) {
    uint64_t bits = 0;
    for (int i = 0; i < 64; i++)
        bits |= (uint64_t) chance(s, percent) << i;
    return bits;
}

static void draw_abilities(struct scene * s, struct fake_options * o) {
    static const int parts[] = { 100, 100, 95, 80, 50, 20 };
    const int part = parts[below(s, 6)];
    o->ops[0] = some_bits(s, part);
    o->ops[1] = some_bits(s, part);
    o->types = some_bits(s, chance(s, 70) ? 100 : 70) | 1u << GGML_TYPE_F32;
}

static struct fake_options draw_device(struct scene * s) {
    struct fake_options o = fake_options_default();
    const int mode = below(s, 10);
    o.mode = mode < 6 ? FAKE_LAZY : mode < 8 ? FAKE_BACKGROUND : FAKE_AT_ONCE;
    o.type = chance(s, 80) ? GGML_BACKEND_DEVICE_TYPE_GPU : GGML_BACKEND_DEVICE_TYPE_ACCEL;
    o.host_memory = chance(s, 10);
    o.reads_host = chance(s, 25);
    o.host_buffers = chance(s, 50);
    o.from_host_ptr = chance(s, 50);
    o.alignment = (size_t) 16 << below(s, 6);
    o.scratch = chance(s, 50) ? (size_t) below(s, 500) : 0;
    o.async_transfers = chance(s, 80);
    o.async_copies = chance(s, 80);
    o.copying = (enum fake_copying) below(s, 3);
    o.copies = chance(s, 60);
    o.transfers_2d = chance(s, 50);
    o.events = chance(s, 70);
    o.offloads = chance(s, 30);
    o.reorders = chance(s, 25);
    draw_abilities(s, &o);
    return o;
}

static struct fake_options processor(void) {
    struct fake_options o = fake_options_default();
    o.name = "Processor";
    o.type = GGML_BACKEND_DEVICE_TYPE_CPU;
    o.mode = FAKE_AT_ONCE;
    o.host_memory = true;
    o.host_buffers = false;
    return o;
}

static void add_device(struct scene * s, struct fake_options options) {
    const int i = s->n_devices++;
    s->devices[i] = fake_device_new(s->world, options);
    assert_non_null(s->devices[i]);
}

// Its own memory, or pinned host memory that it can use.
static ggml_backend_buffer_type_t draw_type(struct scene * s, struct fake_device * d) {
    struct fake_device * other = s->devices[below(s, s->n_devices)];
    const bool can = (d->options.host_memory || d->options.reads_host) && other->options.host_buffers;
    return can && chance(s, 25) ? &other->host_type : &d->type;
}

static void add_backend(struct scene * s, struct fake_device * d) {
    const int i = s->n_backends++;
    s->device_of[i] = d;
    s->backends[i] = fake_device_start(d);
    assert_non_null(s->backends[i]);
    s->bufts[i] = draw_type(s, d);
}

struct scene * scene_new(const struct combinations * all, ggml_backend_t cpu, uint64_t number) {
    struct scene * s = calloc(1, sizeof(*s));
    assert_non_null(s);
    *s = (struct scene){ .rng = { number }, .all = all, .cpu = cpu, .world = fake_world_new(number) };
    const int n = below(s, SCENE_BACKENDS);
    for (int i = 0; i < n; i++)
        add_device(s, draw_device(s));
    add_device(s, processor());
    for (int i = 0; i < n; i++)
        add_backend(s, s->devices[chance(s, 15) ? below(s, n) : i]); // at times a device has several queues
    add_backend(s, s->devices[n]);
    s->parallel = chance(s, 50);
    s->sched = ggml_backend_sched_new(s->backends, s->bufts, s->n_backends, GRAPH_NODES + GRAPH_LEAFS,
                                      s->parallel, chance(s, 50));
    assert_non_null(s->sched);
    return s;
}

// ---- where leafs are ------------------------------------------------------------------------------------

// Can the back end run the node with all else that it writes, where that is by now?
static bool can_write_rest(const struct graph * g, ggml_backend_t backend, const struct ggml_tensor * node) {
    if (!ggml_backend_supports_op(backend, node)) return false;
    for (int i = 0; i < g->n_leafs; i++) {
        const struct ggml_tensor * t = g->leafs[i].tensor;
        if (!graph_writes(node, t) || (!t->buffer && !t->data)) continue;
        ggml_backend_buffer_type_t type =
            t->buffer ? ggml_backend_buffer_get_type(t->buffer) : ggml_backend_cpu_buffer_type();
        if (!ggml_backend_supports_buft(backend, type)) return false;
    }
    for (int i = 0; i < g->n_nodes; i++) {
        const struct ggml_tensor * t = g->nodes[i].tensor;
        if (graph_writes(node, t) && !ggml_backend_supports_op(backend, t)) return false;
    }
    return true;
}

// Is there a back end for every node that writes this leaf, if it is in memory of the type?
static bool can_be_in(struct scene * s, const struct graph * g, const struct ggml_tensor * leaf,
                      ggml_backend_buffer_type_t type) {
    for (int i = 0; i < g->n_nodes; i++) {
        bool can = !graph_writes(g->nodes[i].tensor, leaf);
        for (int b = 0; b < s->n_backends && !can; b++) {
            can = ggml_backend_supports_buft(s->backends[b], type) &&
                  can_write_rest(g, s->backends[b], g->nodes[i].tensor);
        }
        if (!can) return false;
    }
    return true;
}

static ggml_backend_buffer_t mapped(struct scene * s, const struct graph_leaf * leaf) {
    struct fake_device * d = s->device_of[below(s, s->n_backends)];
    if (!d->options.from_host_ptr) return NULL;
    return ggml_backend_dev_buffer_from_host_ptr(&d->device, leaf->memory, leaf->size, leaf->size);
}

static ggml_backend_buffer_t allocated(struct scene * s, const struct graph_leaf * leaf) {
    struct fake_device * d = s->device_of[below(s, s->n_backends)];
    ggml_backend_buffer_type_t type = d->options.host_buffers && chance(s, 30) ? &d->host_type : &d->type;
    return ggml_backend_buft_alloc_buffer(type, ggml_backend_buft_get_alloc_size(type, leaf->tensor));
}

// A buffer of its own for a leaf, with its values. Of several tries one that all its writers can use.
static ggml_backend_buffer_t give_memory(struct scene * s, const struct graph * g,
                                         const struct graph_leaf * leaf) {
    for (int tries = 0; tries < 4; tries++) {
        const bool maps = chance(s, 20);
        ggml_backend_buffer_t buffer = maps ? mapped(s, leaf) : allocated(s, leaf);
        if (!buffer) continue;
        if (can_be_in(s, g, leaf->tensor, ggml_backend_buffer_get_type(buffer))) {
            void * base = ggml_backend_buffer_get_base(buffer);
            if (ggml_backend_tensor_alloc(buffer, leaf->tensor, base) != GGML_STATUS_SUCCESS)
                fail_msg("'%s' is not placed: %s", leaf->tensor->name, ggml_ext_last_error());
            ggml_backend_tensor_set(leaf->tensor, leaf->values, 0, leaf->size);
            return buffer;
        }
        ggml_backend_buffer_free(buffer);
    }
    return NULL;
}

// The program's own memory; views of it have addresses from the start.
static void use_memory(struct graph * g, struct graph_leaf * leaf) {
    leaf->tensor->data = leaf->memory;
    for (int i = 0; i < g->cgraph->n_nodes; i++) {
        struct ggml_tensor * t = g->cgraph->nodes[i];
        if (t->view_src == leaf->tensor) t->data = leaf->memory + t->view_offs;
    }
}

static void place_leaf(struct scene * s, struct flight * f, int i) {
    struct graph_leaf * leaf = &f->graph->leafs[i];
    const int kind = below(s, 10);
    if (leaf->size > 0 && kind < 6) {
        f->buffers[i] = give_memory(s, f->graph, leaf);
        if (!f->buffers[i]) return place_leaf(s, f, i);
        if (!leaf->is_written && chance(s, 60))
            ggml_backend_buffer_set_usage(f->buffers[i], GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    } else if (kind == 6 && can_be_in(s, f->graph, leaf->tensor, ggml_backend_cpu_buffer_type())) {
        use_memory(f->graph, leaf);
    } else {
        f->is_set[i] = true;
        // What several graphs in flight are given has to be an input.
        if (s->parallel || chance(s, 70)) ggml_set_input(leaf->tensor);
    }
}

// ---- a graph on the scheduler ---------------------------------------------------------------------------

static struct flight * add_flight(struct scene * s, uint64_t number) {
    struct flight * f = &s->flights[s->n_flights++];
    f->graph = graph_new(s->all, s->cpu, number);
    for (int i = 0; i < f->graph->n_leafs; i++)
        place_leaf(s, f, i);
    const int part = chance(s, 30) ? 100 : 20;
    for (int i = 0; i < f->graph->n_nodes; i++) {
        struct ggml_tensor * t = f->graph->nodes[i].tensor;
        if (!t->view_src && chance(s, part)) ggml_set_output(t);
    }
    return f;
}

static void end_flights(struct scene * s) {
    while (s->n_flights > 0) {
        struct flight * f = &s->flights[--s->n_flights];
        for (int i = 0; i < f->graph->n_leafs; i++)
            ggml_backend_buffer_free(f->buffers[i]);
        for (int i = 0; i < f->graph->n_nodes; i++)
            free(f->got[i]);
        graph_free(f->graph);
        *f = (struct flight){ 0 };
    }
}

static void place_nodes(struct scene * s, struct flight * f) {
    static const int parts[] = { 0, 0, 10, 50, 100 };
    const int part = parts[below(s, 5)];
    for (int i = 0; i < f->graph->cgraph->n_nodes; i++) {
        struct ggml_tensor * t = f->graph->cgraph->nodes[i];
        ggml_backend_t backend = s->backends[below(s, s->n_backends)];
        if (chance(s, part) && ggml_backend_supports_op(backend, t))
            ggml_backend_sched_set_tensor_backend(s->sched, t, backend);
    }
}

static void set_leafs(struct flight * f) {
    for (int i = 0; i < f->graph->n_leafs; i++) {
        struct graph_leaf * leaf = &f->graph->leafs[i];
        const bool again = f->is_set[i] || leaf->is_written;
        if (again && leaf->tensor->buffer)
            ggml_backend_tensor_set(leaf->tensor, leaf->values, 0, leaf->size);
        else if (again && leaf->size > 0)
            memcpy(leaf->memory, leaf->values, leaf->size);
    }
}

static bool equal(struct scene * s, const struct ggml_tensor * t, int64_t n, const char * bytes,
                  const char * expected, const char * when) {
    const int64_t k = graph_difference(t, n, bytes, expected);
    s->n_compared++;
    return k < 0 || wrong(s, "element %lld of %s '%s' has other bits %s", (long long) k, ggml_op_desc(t),
                          t->name, when);
}

static bool is_output(const struct ggml_tensor * t) {
    return (t->flags & GGML_TENSOR_FLAG_OUTPUT) && !ggml_is_empty(t);
}

static struct ggml_tensor * last_writer(const struct graph * g, struct ggml_tensor * t) {
    struct ggml_tensor * last = t;
    for (int i = 0; i < g->n_nodes; i++) {
        if (graph_writes(g->nodes[i].tensor, t)) last = g->nodes[i].tensor;
    }
    return last;
}

// Reading is queued behind the work that computes the output, or writes over it.
static void get_outputs(struct scene * s, struct flight * f) {
    for (int i = 0; i < f->graph->n_nodes; i++) {
        struct ggml_tensor * t = f->graph->nodes[i].tensor;
        if (!is_output(t)) continue;
        if (!f->got[i]) f->got[i] = malloc(f->graph->nodes[i].size);
        memset(f->got[i], 0, f->graph->nodes[i].size);
        ggml_backend_t backend = ggml_backend_sched_get_tensor_backend(s->sched, last_writer(f->graph, t));
        assert_non_null(backend);
        ggml_backend_tensor_get_async(backend, t, f->got[i], 0, f->graph->nodes[i].size);
    }
}

static bool check_outputs(struct scene * s, struct flight * f) {
    for (int i = 0; i < f->graph->n_nodes; i++) {
        const struct graph_node * n = &f->graph->nodes[i];
        if (!is_output(n->tensor)) continue;
        if (!equal(s, n->tensor, n->n_written, f->got[i], n->last, "at the end")) return false;
    }
    return true;
}

// What nodes wrote into memory that the program owns.
static bool check_leafs(struct scene * s, struct flight * f) {
    for (int i = 0; i < f->graph->n_leafs; i++) {
        const struct graph_leaf * leaf = &f->graph->leafs[i];
        const int64_t n = ggml_nelements(leaf->tensor);
        if (leaf->tensor->data == leaf->memory &&
            !equal(s, leaf->tensor, n, leaf->memory, leaf->last, "in the program's memory"))
            return false;
        if (!f->buffers[i]) continue;
        char * bytes = malloc(leaf->size);
        assert_non_null(bytes);
        ggml_backend_tensor_get(leaf->tensor, bytes, 0, leaf->size);
        const bool same = equal(s, leaf->tensor, n, bytes, leaf->last, "at the end");
        free(bytes);
        if (!same) return false;
    }
    return true;
}

static bool check_order(struct scene * s) {
    return fake_world_faults(s->world) == 0 || wrong(s, "%s", fake_world_fault(s->world));
}

static bool alloc(struct scene * s, struct flight * f) {
    ggml_backend_sched_reset(s->sched);
    place_nodes(s, f);
    if (!ggml_backend_sched_alloc_graph(s->sched, f->graph->cgraph))
        return wrong(s, "not allocated: %s", ggml_ext_last_error());
    s->n_nodes += f->graph->n_nodes;
    s->n_splits += ggml_backend_sched_get_n_splits(s->sched);
    return true;
}

static bool start(struct scene * s, struct flight * f) {
    set_leafs(f);
    const enum ggml_status status = ggml_backend_sched_graph_compute_async(s->sched, f->graph->cgraph);
    if (status != GGML_STATUS_SUCCESS) return wrong(s, "not computed: %s", ggml_ext_last_error());
    get_outputs(s, f);
    return true;
}

static bool finish(struct scene * s, struct flight * f) {
    ggml_backend_sched_synchronize(s->sched);
    return check_outputs(s, f) && check_leafs(s, f) && check_order(s);
}

// ---- ways to use a scheduler ----------------------------------------------------------------------------

// The same graph several times, at times a hundred.
static bool run_again(struct scene * s) {
    struct flight * f = add_flight(s, test_rng_u64(&s->rng));
    if (!alloc(s, f)) return false;
    for (int n = chance(s, 3) ? 100 : 1 + below(s, 3); n > 0; n--) {
        if (!start(s, f) || !finish(s, f)) return false;
    }
    return true;
}

// One graph after the other, new ones or the same; nobody waits before all are under way.
static bool run_many(struct scene * s) {
    const uint64_t number = test_rng_u64(&s->rng);
    const bool same = chance(s, 50);
    const int n = 2 + below(s, SCENE_FLIGHT - 1);
    for (int i = 0; i < n; i++) {
        struct flight * f = add_flight(s, same ? number : number + (uint64_t) i);
        if (!alloc(s, f) || !start(s, f)) return false;
    }
    for (int i = 0; i < n; i++) {
        if (!finish(s, &s->flights[i])) return false;
    }
    return true;
}

// A scheduler that has no memory yet has what it said then, to the byte; types that several back ends use are
// told for each and held by the first.
static bool check_sizes(struct scene * s, const size_t * told) {
    for (int b = 0; b < s->n_backends; b++) {
        bool is_shared = false;
        for (int k = 0; k < b; k++)
            is_shared |= s->bufts[k] == s->bufts[b];
        const size_t held = ggml_backend_sched_get_buffer_size(s->sched, s->backends[b]);
        if (held != (is_shared ? 0 : told[b]))
            return wrong(s, "back end %d has %zu bytes and said %zu", b, held, told[b]);
    }
    return true;
}

// Room for a graph first; then it takes no more.
static bool run_reserved(struct scene * s) {
    const uint64_t number = test_rng_u64(&s->rng);
    const bool is_new = s->n_splits == 0;
    size_t told[SCENE_BACKENDS] = { 0 };
    struct test_rng same = s->rng;
    struct flight * f = add_flight(s, number);
    ggml_backend_sched_reserve_size(s->sched, f->graph->cgraph, told);
    ggml_backend_sched_reset(s->sched);
    if (!ggml_backend_sched_reserve(s->sched, f->graph->cgraph))
        return wrong(s, "not reserved: %s", ggml_ext_last_error());
    if (is_new && !check_sizes(s, told)) return false;
    end_flights(s);
    s->rng = same;
    f = add_flight(s, number);
    return alloc(s, f) && start(s, f) && finish(s, f);
}

struct watch {
    struct scene * scene;
    struct flight * flight;
    int part;
};

static bool look(struct ggml_tensor * t, bool ask, void * user_data) {
    struct watch * w = user_data;
    if (ask) return chance(w->scene, w->part);
    for (int i = 0; i < w->flight->graph->n_nodes; i++) {
        const struct graph_node * n = &w->flight->graph->nodes[i];
        if (n->tensor != t || n->size == 0) continue;
        char * bytes = malloc(n->size);
        assert_non_null(bytes);
        const bool is_programs = !t->buffer && t->view_src && !t->view_src->buffer;
        if (is_programs) memcpy(bytes, t->data, n->size);
        else ggml_backend_tensor_get(t, bytes, 0, n->size);
        const bool same = equal(w->scene, t, n->n_written, bytes, n->then, "when it has run");
        free(bytes);
        if (!same) return false;
    }
    return true;
}

// Node by node, looking at what there is.
static bool run_watched(struct scene * s) {
    struct flight * f = add_flight(s, test_rng_u64(&s->rng));
    struct watch watch = { s, f, chance(s, 50) ? 100 : 30 };
    ggml_backend_sched_set_eval_callback(s->sched, look, &watch);
    const bool done = alloc(s, f) && start(s, f) && finish(s, f);
    ggml_backend_sched_set_eval_callback(s->sched, NULL, NULL);
    return done && s->text[0] == '\0';
}

// ---- what fails on the way ------------------------------------------------------------------------------

#define NO_TEXT "nothing was refused yet"

static void draw_orders(struct scene * s) {
    struct fake_orders * orders = &s->device_of[below(s, s->n_backends)]->orders;
    const int n = 1 + below(s, 4);
    switch (below(s, 6)) {
    case 0: orders->alloc = n; break;
    case 1: orders->init_tensor = 1 + below(s, 30); break;
    case 2: orders->copy = n; break;
    case 3: orders->launch = n; break;
    case 4: orders->always_alloc = 1; break;
    default: orders->lose_at = n;
    }
}

// Takes the orders back. false: a device is gone for good.
static bool end_orders(struct scene * s) {
    bool all_there = true;
    for (int i = 0; i < s->n_devices; i++) {
        struct fake_orders * orders = &s->devices[i]->orders;
        all_there = all_there && !orders->lost;
        *orders = (struct fake_orders){ .lost = orders->lost };
    }
    return all_there;
}

static bool refused(struct scene * s, const char * what) {
    s->n_refused++;
    ggml_backend_sched_synchronize(s->sched);
    if (strstr(ggml_ext_last_error(), NO_TEXT)) return wrong(s, "no text for the %s that failed", what);
    return check_order(s);
}

// It fails with a text, or has the right results.
static bool run_with_orders(struct scene * s, struct flight * f) {
    ggml_backend_sched_reset(s->sched);
    place_nodes(s, f);
    if (chance(s, 30) && !ggml_backend_sched_reserve(s->sched, f->graph->cgraph) && !refused(s, "reserve"))
        return false;
    if (!ggml_backend_sched_alloc_graph(s->sched, f->graph->cgraph)) return refused(s, "allocation");
    set_leafs(f);
    if (ggml_backend_sched_graph_compute_async(s->sched, f->graph->cgraph) != GGML_STATUS_SUCCESS)
        return refused(s, "computation");
    get_outputs(s, f);
    return finish(s, f);
}

// And once more, without.
static bool run_badly(struct scene * s) {
    struct flight * f = add_flight(s, test_rng_u64(&s->rng));
    if (chance(s, 50) && !(alloc(s, f) && start(s, f) && finish(s, f))) return false;
    ggml_ext_refuse(NO_TEXT);
    draw_orders(s);
    if (!run_with_orders(s, f)) return false;
    if (end_orders(s)) return alloc(s, f) && start(s, f) && finish(s, f);
    s->is_over = true;
    return true;
}

bool scene_run(struct scene * s) {
    for (int rounds = 1 + below(s, 2); rounds > 0 && !s->is_over; rounds--) {
        const int way = below(s, 5);
        const bool done = way == 0   ? run_again(s)
                          : way == 1 ? run_many(s)
                          : way == 2 ? run_reserved(s)
                          : way == 3 ? run_watched(s)
                                     : run_badly(s);
        if (!done) return false;
        ggml_backend_sched_synchronize(s->sched);
        end_flights(s);
        if (!check_order(s)) return false;
    }
    return true;
}

// ---- end ------------------------------------------------------------------------------------------------

bool scene_free(struct scene * s, char * text, size_t size) {
    ggml_backend_sched_free(s->sched);
    end_flights(s);
    for (int i = 0; i < s->n_backends; i++)
        ggml_backend_free(s->backends[i]);
    check_order(s);
    const int left = fake_world_free(s->world);
    if (left > 0) wrong(s, "%d objects were not freed", left);
    snprintf(text, size, "%s", s->text);
    free(s);
    return text[0] == '\0';
}

static void print_device(const struct scene * s, int i) {
    static const char * const modes[] = { "at once", "lazy", "background" };
    const struct fake_options * o = &s->device_of[i]->options;
    printf(
        "  back end %d: %s, %s, memory %s, ops %016llx %016llx types %016llx, alignment %zu, scratch %zu,\n"
        "    host_memory %d reads_host %d async_transfers %d async_copies %d copying %d copies %d events %d "
        "offloads %d reorders %d\n",
        i, s->device_of[i]->name, modes[o->mode], ggml_backend_buft_name(s->bufts[i]),
        (unsigned long long) o->ops[0], (unsigned long long) o->ops[1], (unsigned long long) o->types,
        o->alignment, o->scratch, o->host_memory, o->reads_host, o->async_transfers, o->async_copies,
        o->copying, o->copies, o->events, o->offloads, o->reorders);
}

void scene_print(const struct scene * s) {
    printf("  parallel %d\n", s->parallel);
    for (int i = 0; i < s->n_backends; i++)
        print_device(s, i);
    for (int k = 0; k < s->n_flights; k++) {
        const struct flight * f = &s->flights[k];
        printf("  graph %d\n", k);
        for (int i = 0; i < f->graph->n_leafs; i++) {
            const struct ggml_tensor * t = f->graph->leafs[i].tensor;
            printf("    leaf '%s' %s in %s%s%s%s\n", t->name, ggml_type_name(t->type),
                   f->buffers[i]  ? ggml_backend_buffer_name(f->buffers[i])
                   : f->is_set[i] ? "the scheduler's"
                                  : "nothing",
                   f->buffers[i] && ggml_backend_buffer_get_usage(f->buffers[i]) ? ", weights" : "",
                   t->flags & GGML_TENSOR_FLAG_INPUT ? ", input" : "",
                   f->graph->leafs[i].is_written ? ", written" : "");
        }
        for (int i = 0; i < f->graph->cgraph->n_nodes; i++) {
            ggml_backend_t b = ggml_backend_sched_get_tensor_backend(s->sched, f->graph->cgraph->nodes[i]);
            printf("    %-12s %s%s\n", f->graph->cgraph->nodes[i]->name, ggml_backend_name(b),
                   f->graph->cgraph->nodes[i]->flags & GGML_TENSOR_FLAG_OUTPUT ? ", output" : "");
        }
        graph_print(f->graph);
    }
}
