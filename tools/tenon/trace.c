// SPDX-License-Identifier: MIT
// `tenon trace`: which device runs what of a step of a model, who refused and why, what is copied where.
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "dit.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "pretend.h"
#include "tenon.h"

enum { MOST_BACKENDS = 16 };

struct options {
    const char * model;   // NULL: the one that ships
    const char * without; // operators that pretended devices refuse
    int64_t pretended, threads;
    bool json;
};

struct trace {
    struct dit m;
    ggml_backend_t backends[MOST_BACKENDS]; // the model's, which is the processor, is the last
    ggml_backend_buffer_t memory[PRETEND_MAX];
    int n;
    ggml_backend_sched_t sched;
};

static void print_help(void) {
    puts("usage: tenon trace [OPTION...]\n\n"
         "Spreads a step of drawing over the devices of this machine, runs it, and tells who ran what and "
         "why,\n"
         "who refused it, and what was copied.\n\n"
         "  -m, --model FILE      model file (default models/emoji-dit.gguf)\n"
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
    case 'j': o->json = true; return EXIT_OK;
    case 'p': return take_int("--pretend", value, 1, PRETEND_MAX, &o->pretended);
    case 'w': o->without = value; return EXIT_OK;
    case 't': return take_int("--threads", value, 1, GGML_MAX_N_THREADS, &o->threads);
    default: return EXIT_USAGE;
    }
}

static int parse(struct options * o, int argc, char ** argv) {
    static const struct option names[] = {
        { "model", required_argument, NULL, 'm' },   { "json", no_argument, NULL, 'j' },
        { "pretend", required_argument, NULL, 'p' }, { "without", required_argument, NULL, 'w' },
        { "threads", required_argument, NULL, 't' }, { NULL, 0, NULL, 0 },
    };
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":m:jp:w:t:", names, NULL)) != -1;) {
        if (c == ':') return usage("the option '%s' needs a value", argv[optind - 1]);
        if (c == '?') return usage("there is no option '%s'", bad_option(argv));
        const int status = take_option(o, c, optarg);
        if (status != EXIT_OK) return status;
    }
    if (optind < argc) return usage("nothing is wanted but options, '%.60s' is none", argv[optind]);
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
    t->backends[t->n++] = t->m.backend;
}

static void free_devices(struct trace * t) {
    for (int i = 0; i < t->n - 1; i++)
        ggml_backend_free(t->backends[i]);
}

// Blocks lie on the pretended devices, as many on each; what is outside of blocks stays with the processor.
static bool spread_weights(struct trace * t, int n_devices) {
    size_t used[PRETEND_MAX] = { 0 };
    for (int i = 0; i < n_devices; i++) {
        t->memory[i] = ggml_backend_alloc_buffer(t->backends[i], SIZE_MAX / 2);
        if (!t->memory[i]) return false;
        ggml_backend_buffer_set_usage(t->memory[i], GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }
    for (struct ggml_tensor * w = ggml_get_first_tensor(t->m.ctx); w; w = ggml_get_next_tensor(t->m.ctx, w)) {
        int block;
        if (sscanf(w->name, "blocks.%d.", &block) != 1 || block < 0 || block >= t->m.depth) continue;
        const int i = block * n_devices / t->m.depth;
        w->buffer = NULL;
        w->data = NULL;
        char * at = (char *) ggml_backend_buffer_get_base(t->memory[i]) + used[i];
        if (ggml_backend_tensor_alloc(t->memory[i], w, at) != GGML_STATUS_SUCCESS) return false;
        used[i] += GGML_PAD(ggml_nbytes(w), 256);
    }
    return true;
}

// ---- the graph -------------------------------------------------------------------------------------------

// The inputs' values say nothing about who runs what.
static bool run(struct trace * t) {
    struct ggml_context * ctx = t->m.step_ctx;
    for (struct ggml_tensor * x = ggml_get_first_tensor(ctx); x; x = ggml_get_next_tensor(ctx, x)) {
        if (x->flags & GGML_TENSOR_FLAG_INPUT) ggml_backend_tensor_memset(x, 0, 0, ggml_nbytes(x));
    }
    return ggml_backend_sched_graph_compute(t->sched, t->m.step_graph) == GGML_STATUS_SUCCESS;
}

static bool schedule(struct trace * t, const struct options * o) {
    find_devices(t, o);
    ggml_backend_buffer_set_usage(t->m.buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    if (o->pretended > 0 && !spread_weights(t, (int) o->pretended)) return false;
    const size_t size = 2 * (size_t) ggml_graph_size(t->m.step_graph);
    t->sched = ggml_backend_sched_new(t->backends, NULL, t->n, size, false, true);
    if (!t->sched || !ggml_backend_sched_alloc_graph(t->sched, t->m.step_graph)) return false;
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

int tenon_trace(int argc, char ** argv) {
    struct options o = { .threads = 1 };
    struct trace t = { .n = 0 };
    char path[PATH_MAX + 64];
    if (wants_help(argc, argv)) return print_help(), EXIT_OK;
    int status = parse(&o, argc, argv);
    if (status != EXIT_OK) return status;
    if (!o.model) o.model = find_model(path, sizeof(path));
    if (!dit_load_unplanned(&t.m, o.model, (int) o.threads)) {
        status = EXIT_FAILED;
    } else if (!schedule(&t, &o)) {
        status = complain("%s: %s", o.model, ggml_ext_last_error());
    } else {
        status = tell(&t, &o);
    }
    ggml_backend_sched_free(t.sched);
    free_devices(&t);
    for (int i = 0; i < PRETEND_MAX; i++)
        ggml_backend_buffer_free(t.memory[i]);
    dit_free(&t.m);
    return status;
}
