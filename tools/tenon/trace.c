// SPDX-License-Identifier: MIT
// `tenon trace`: which device runs what of a step of a model, or of a case of test vectors; who refused and
// why, what is copied where.
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "dit.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "pretend.h"
#include "tenon.h"

enum { MOST_BACKENDS = 16 };

struct options {
    const char * model;   // NULL: the one that ships
    const char * vectors; // NULL: a model
    int64_t number;       // of the case, -1: none is given
    const char * without; // operators that pretended devices refuse
    int64_t pretended, threads;
    bool json;
};

struct trace {
    // what is traced
    struct dit m;
    struct vec_file * file;
    struct vec_case c; // borrows from file
    struct vec_env e;
    const char * path;
    ggml_backend_t cpu;         // of the model, or for the case
    struct ggml_context * made; // inputs are in it
    struct ggml_cgraph * graph;
    bool is_backward;
    // where
    ggml_backend_t backends[MOST_BACKENDS]; // cpu is the last
    ggml_backend_buffer_t memory[PRETEND_MAX], sources;
    int n;
    ggml_backend_sched_t sched;
};

static void print_help(void) {
    puts("usage: tenon trace [OPTION...]\n\n"
         "Spreads a step of drawing over the devices of this machine, runs it, and tells who ran what and "
         "why,\n"
         "who refused it, and what was copied.\n\n"
         "  -m, --model FILE      model file (default models/emoji-dit.gguf)\n"
         "  -v, --vectors FILE    instead of a model: a file of test vectors, of which\n"
         "  -c, --case N          case N is traced\n"
         "  -j, --json            for programs\n"
         "  -p, --pretend N       as if there were N devices that hold the blocks of the model, 1 to 8, "
         "instead of\n"
         "                        those that there are; nothing is run\n"
         "  -w, --without OP,...  operators that these devices refuse: SOFT_MAX, ROPE, SILU, ...\n"
         "  -t, --threads N       1 to 512 (default 1)");
}

static int take_option(struct options * o, int c, const char * value) {
    switch (c) {
    case 'm': o->model = value; return EXIT_OK;
    case 'v': o->vectors = value; return EXIT_OK;
    case 'c': return take_int("--case", value, 0, INT_MAX, &o->number);
    case 'j': o->json = true; return EXIT_OK;
    case 'p': return take_int("--pretend", value, 1, PRETEND_MAX, &o->pretended);
    case 'w': o->without = value; return pretend_check_list(value);
    case 't': return take_int("--threads", value, 1, GGML_MAX_N_THREADS, &o->threads);
    default: return EXIT_USAGE;
    }
}

static int parse(struct options * o, int argc, char ** argv) {
    static const struct option names[] = {
        { "vectors", required_argument, NULL, 'v' }, { "case", required_argument, NULL, 'c' },
        { "model", required_argument, NULL, 'm' },   { "json", no_argument, NULL, 'j' },
        { "pretend", required_argument, NULL, 'p' }, { "without", required_argument, NULL, 'w' },
        { "threads", required_argument, NULL, 't' }, { NULL, 0, NULL, 0 },
    };
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":m:v:c:jp:w:t:", names, NULL)) != -1;) {
        if (c == ':') return usage("the option '%s' needs a value", argv[optind - 1]);
        if (c == '?') return usage("there is no option '%s'", bad_option(argv));
        const int status = take_option(o, c, optarg);
        if (status != EXIT_OK) return status;
    }
    if (optind < argc) return usage("nothing is wanted but options, '%.60s' is none", argv[optind]);
    if (!o->vectors != (o->number < 0)) return usage("--vectors and --case belong together");
    if (o->vectors && o->model) return usage("a model or a case of vectors, not both");
    if (o->without && o->pretended == 0) return usage("--without is for the devices of --pretend");
    return EXIT_OK;
}

// ---- devices ---------------------------------------------------------------------------------------------

static void find_devices(struct trace * t, const struct options * o) {
    for (int i = 0; i < o->pretended; i++)
        t->backends[t->n++] = ggml_backend_dev_init(pretend_device(i, o->without), NULL);
    for (size_t i = 0; o->pretended == 0 && i < ggml_backend_dev_count() && t->n < MOST_BACKENDS - 1; i++) {
        ggml_backend_dev_t dev = ggml_backend_dev_get(i);
        if (ggml_backend_dev_type(dev) == GGML_BACKEND_DEVICE_TYPE_CPU) continue;
        ggml_backend_t backend = ggml_backend_dev_init(dev, NULL);
        if (backend) t->backends[t->n++] = backend;
    }
    t->backends[t->n++] = t->cpu;
}

static void free_devices(struct trace * t) {
    for (int i = 0; i < t->n - 1; i++)
        ggml_backend_free(t->backends[i]);
}

static bool put(struct trace * t, int i, struct ggml_tensor * w, size_t * used) {
    w->buffer = NULL;
    w->data = NULL;
    char * at = (char *) ggml_backend_buffer_get_base(t->memory[i]) + used[i];
    used[i] += GGML_PAD(ggml_nbytes(w), 256);
    return ggml_backend_tensor_alloc(t->memory[i], w, at) == GGML_STATUS_SUCCESS;
}

// Blocks of a model lie on the pretended devices, as many on each, and the rest with the processor; sources
// of a case in turn.
static bool spread(struct trace * t, int n_devices) {
    struct ggml_context * from = t->m.ctx ? t->m.ctx : t->e.ctx_base;
    size_t used[PRETEND_MAX] = { 0 };
    int number = 0;
    for (int i = 0; i < n_devices; i++) {
        t->memory[i] = ggml_backend_alloc_buffer(t->backends[i], SIZE_MAX / 2);
        if (!t->memory[i]) return false;
        ggml_backend_buffer_set_usage(t->memory[i], GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }
    for (struct ggml_tensor * w = ggml_get_first_tensor(from); w; w = ggml_get_next_tensor(from, w)) {
        int block = -1;
        const bool is_block = sscanf(w->name, "blocks.%d.", &block) == 1 && block >= 0 && block < t->m.depth;
        if (t->m.ctx && !is_block) continue;
        const int i = t->m.ctx ? block * n_devices / t->m.depth : number++ % n_devices;
        if (!put(t, i, w, used)) return false;
    }
    return true;
}

// ---- what is traced --------------------------------------------------------------------------------------

static bool load_model(struct trace * t, const struct options * o) {
    if (!dit_load_unplanned(&t->m, t->path, (int) o->threads)) return false;
    ggml_backend_buffer_set_usage(t->m.buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    t->cpu = t->m.backend;
    t->made = t->m.step_ctx;
    t->graph = t->m.step_graph;
    return true;
}

static bool load_case(struct trace * t, const struct options * o) {
    static struct vec_prog prog;
    char msg[VEC_MSG];
    t->file = vec_open(t->path, msg);
    bool ok = t->file && vec_read(t->file, (int) o->number, &t->c, msg);
    if (ok && !vec_parse(t->c.args, &prog)) ok = (snprintf(msg, VEC_MSG, "the program is broken"), false);
    if (ok && vec_is_conversion(&prog))
        ok = (snprintf(msg, VEC_MSG, "case %d is a conversion: it has no graph", (int) o->number), false);
    if (!ok || !vec_build(&t->c, &prog, &t->e, msg)) return complain("%s: %s", t->path, msg), false;
    t->is_backward = vec_is_backward(&prog);
    t->cpu = ggml_backend_cpu_init();
    if (t->cpu) ggml_backend_cpu_set_n_threads(t->cpu, (int) o->threads);
    t->made = t->e.ctx;
    t->graph = t->e.graph;
    return t->cpu || (complain("no back end: %s", ggml_ext_last_error()), false);
}

static bool fill_sources(struct trace * t) {
    t->sources = ggml_backend_alloc_ctx_tensors(t->e.ctx_base, t->cpu);
    for (int i = 0; t->sources && i < t->c.n_src; i++) {
        struct ggml_tensor * base = t->e.base[i];
        if (t->c.src[i].data) ggml_backend_tensor_set(base, t->c.src[i].data, 0, ggml_nbytes(base));
    }
    return t->sources;
}

// The inputs' values say nothing about who runs what.
static bool run(struct trace * t) {
    for (struct ggml_tensor * x = ggml_get_first_tensor(t->made); x; x = ggml_get_next_tensor(t->made, x)) {
        if (x->flags & GGML_TENSOR_FLAG_INPUT) ggml_backend_tensor_memset(x, 0, 0, ggml_nbytes(x));
    }
    if (t->is_backward) ggml_graph_reset(t->graph);
    return ggml_backend_sched_graph_compute(t->sched, t->graph) == GGML_STATUS_SUCCESS;
}

static bool schedule(struct trace * t, const struct options * o) {
    find_devices(t, o);
    if (o->pretended > 0 ? !spread(t, (int) o->pretended) : o->vectors && !fill_sources(t)) return false;
    const size_t size = 2 * (size_t) ggml_graph_size(t->graph);
    t->sched = ggml_backend_sched_new(t->backends, NULL, t->n, size, false, true);
    if (!t->sched || !ggml_backend_sched_alloc_graph(t->sched, t->graph)) return false;
    return o->pretended > 0 || run(t);
}

static int tell(const struct trace * t, const struct options * o) {
    const enum ggml_ext_format format = o->json ? GGML_EXT_JSON : GGML_EXT_TEXT;
    const size_t n = ggml_ext_explain(t->sched, format, NULL, 0);
    char * text = malloc(n + 1);
    if (!text) return complain("out of memory");
    ggml_ext_explain(t->sched, format, text, n + 1);
    fwrite(text, 1, n, stdout); // main looks whether it arrived
    free(text);
    return EXIT_OK;
}

static void free_all(struct trace * t) {
    ggml_backend_sched_free(t->sched);
    free_devices(t);
    for (int i = 0; i < PRETEND_MAX; i++)
        ggml_backend_buffer_free(t->memory[i]);
    ggml_backend_buffer_free(t->sources);
    if (t->cpu != t->m.backend) ggml_backend_free(t->cpu);
    vec_free(&t->e);
    if (t->file) vec_close(t->file);
    dit_free(&t->m);
}

int tenon_trace(int argc, char ** argv) {
    static struct trace t;
    struct options o = { .threads = 1, .number = -1 };
    char path[PATH_MAX + 64];
    if (wants_help(argc, argv)) return print_help(), EXIT_OK;
    int status = parse(&o, argc, argv);
    if (status != EXIT_OK) return status;
    t.path = o.vectors ? o.vectors : o.model ? o.model : find_model(path, sizeof(path));
    if (o.vectors ? !load_case(&t, &o) : !load_model(&t, &o)) {
        status = EXIT_FAILED;
    } else if (!schedule(&t, &o)) {
        status = complain("%s: %s", t.path, ggml_ext_last_error());
    } else {
        status = tell(&t, &o);
    }
    free_all(&t);
    return status;
}
