// SPDX-License-Identifier: MIT
// Replays stored test vectors through the public interface and compares the results.
//
// `check-vectors --help` explains the options.
//
// Prints one line an op, one a type whose encoder searches, and last "N passed, N failed, N skipped". Exit
// status 0 if none failed, none was skipped (but see -s) and some passed; 2 for a file that is no file of
// vectors.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vectors.h"

static struct {
    const char * backend;
    const char * load;
    const char * op;
    int threads, only;
    enum vec_alloc alloc;
    bool params, skips, verbose;
} opt = { .threads = 1, .only = -1 };

struct stats {
    char op[48];
    int pass, fail, skip;
    double worst, bound; // largest NMSE among those that passed, and its bound
};

static struct stats ops[256];
static int n_ops;

// What searches found, by type: squared errors relative to those of the stored encodings.
static struct {
    int n;
    double sum, worst; // of the ratios
} searches[GGML_TYPE_COUNT];

static void load_backends(const char * path) {
    const size_t len = strlen(path);
    if (len > 3 && strcmp(path + len - 3, ".so") == 0) {
        ggml_backend_load(path);
    } else {
        ggml_backend_load_all_from_path(path);
    }
}

static ggml_backend_t make_backend(void) {
    if (opt.load) load_backends(opt.load);
    ggml_backend_t b = opt.backend ? ggml_backend_init_by_name(opt.backend, NULL)
                                   : ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    if (!b) {
        fprintf(stderr, "no such back end\n");
        exit(2);
    }
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_get_device(b));
    ggml_backend_set_n_threads_t set_n_threads =
        (ggml_backend_set_n_threads_t) ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads");
    if (set_n_threads) set_n_threads(b, opt.threads);
    return b;
}

// Made by the first case that needs one.
static ggml_backend_t backend;

static void run_case(const struct vec_case * c, struct vec_result * r) {
    static struct vec_prog prog;
    memset(r, 0, sizeof(*r));
    r->status = VEC_ERROR;
    if (!vec_parse(c->args, &prog)) {
        snprintf(r->msg, sizeof(r->msg), "the program cannot be parsed");
    } else if (vec_is_conversion(&prog)) {
        vec_convert(c, &prog, r);
    } else {
        if (!backend) backend = make_backend();
        vec_run(c, &prog, backend, opt.alloc, r);
    }
    if (r->status == VEC_OK) vec_compare(c, r);
    if (r->pass && opt.params && memcmp(r->params, c->params, sizeof(r->params)) != 0) {
        r->pass = false;
        snprintf(r->msg, sizeof(r->msg), "op_params differ");
    }
    for (int i = 0; i < c->n_out; i++)
        free(r->got[i].data);
}

static struct stats * stats_of(const char * op) {
    int k = 0;
    while (k < n_ops && strcmp(ops[k].op, op) != 0)
        k++;
    if (k == n_ops) snprintf(ops[n_ops++].op, sizeof(ops[0].op), "%s", op);
    return &ops[k];
}

static void count_search(const struct vec_case * c, const struct vec_result * r) {
    const enum ggml_type type = c->out[0].type;
    if (!vec_is_search(c, type)) return;
    const double ratio = r->stored > 0 ? r->ours / r->stored : 1;
    searches[type].n++;
    searches[type].sum += ratio;
    if (ratio > searches[type].worst) searches[type].worst = ratio;
}

static void count(const char * path, int i, const struct vec_case * c, const struct vec_result * r) {
    struct stats * s = stats_of(c->op);
    const bool skip = r->status == VEC_UNSUPPORTED, pass = r->status == VEC_OK && r->pass;
    s->skip += skip;
    s->pass += pass;
    s->fail += !skip && !pass;
    if (r->status == VEC_OK) count_search(c, r);
    if (pass && c->cmp == VEC_CMP_NMSE && r->err > s->worst) {
        s->worst = r->err;
        s->bound = (double) c->nmse;
    }
    if (pass && opt.verbose) printf("ok   %s case %d: %s: %s (%.2g)\n", path, i, c->op, c->name, r->err);
    if (!pass && (opt.verbose || !skip || !opt.skips)) {
        printf("%s %s case %d: %s: %s: %s\n", skip ? "skip" : "FAIL", path, i, c->op, c->name, r->msg);
    }
}

static void broken(const char * path, const char * what) {
    fprintf(stderr, "%s: %s\n", path, what);
    exit(2);
}

static void run_file(const char * path) {
    static struct vec_case c;
    static struct vec_result r;
    char msg[VEC_MSG];
    struct vec_file * f = vec_open(path, msg);
    if (!f) broken(path, msg);
    for (int i = 0; i < vec_count(f); i++) {
        if (opt.only >= 0 && i != opt.only) continue;
        if (!vec_read(f, i, &c, msg)) broken(path, msg);
        if (opt.op && strcmp(opt.op, c.op) != 0) continue;
        run_case(&c, &r);
        count(path, i, &c, &r);
    }
    vec_close(f);
}

static void print_searches(void) {
    for (int t = 0; t < GGML_TYPE_COUNT; t++) {
        if (searches[t].n == 0) continue;
        printf("encoder %-8s %2d cases, squared error %.4f of that stored on average, %.4f at worst\n",
               ggml_type_name((enum ggml_type) t), searches[t].n, searches[t].sum / searches[t].n,
               searches[t].worst);
    }
}

static int print_stats(void) {
    int pass = 0, fail = 0, skip = 0;
    printf("%-24s %6s %6s %7s   %s\n", "op", "passed", "failed", "skipped",
           "worst NMSE of those passed (bound)");
    for (int k = 0; k < n_ops; k++) {
        printf("%-24s %6d %6d %7d", ops[k].op, ops[k].pass, ops[k].fail, ops[k].skip);
        if (ops[k].worst > 0) printf("   %.2g (%.2g)", ops[k].worst, ops[k].bound);
        printf("\n");
        pass += ops[k].pass;
        fail += ops[k].fail;
        skip += ops[k].skip;
    }
    print_searches();
    printf("%d passed, %d failed, %d skipped\n", pass, fail, skip);
    return fail == 0 && pass > 0 && (skip == 0 || opt.skips) ? 0 : 1;
}

static bool parse_options(int argc, char ** argv) {
    for (int o; (o = getopt(argc, argv, "b:l:t:a:o:c:psv")) != -1;) {
        switch (o) {
        case 'b': opt.backend = optarg; break;
        case 'l': opt.load = optarg; break;
        case 't': opt.threads = atoi(optarg); break;
        case 'o': opt.op = optarg; break;
        case 'c': opt.only = atoi(optarg); break;
        case 'p': opt.params = true; break;
        case 's': opt.skips = true; break;
        case 'v': opt.verbose = true; break;
        case 'a': opt.alloc = optarg[0] == 'g' ? VEC_ALLOC_GRAPH : VEC_ALLOC_CTX; break;
        default: return false;
        }
    }
    return optind < argc;
}

static void print_help(FILE * out) {
    fputs("usage: check-vectors [OPTION...] FILE.gguf ...\n\n"
          "  -b NAME     back end, by its name in the registry (default: a CPU device)\n"
          "  -l PATH     loads back ends first: of that folder, or that library\n"
          "  -t N        number of threads (default: 1)\n"
          "  -a MODE     memory: ctx or graph (ggml_gallocr) (default: ctx)\n"
          "  -o OP       only this op, as in the table that is printed\n"
          "  -c I        only case number I of each file\n"
          "  -p          also compare the op_params of the node that was built\n"
          "  -s          a case that the back end does not support is no failure\n"
          "  -v          print every case, not only those that fail\n"
          "  -h, --help  this text\n",
          out);
}

static bool wants_help(int argc, char ** argv) {
    return argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0);
}

int main(int argc, char ** argv) {
    if (wants_help(argc, argv)) return print_help(stdout), 0;
    if (!parse_options(argc, argv)) return print_help(stderr), 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = optind; i < argc; i++)
        run_file(argv[i]);
    if (backend) ggml_backend_free(backend);
    ggml_quantize_free();
    return print_stats();
}
