// SPDX-License-Identifier: MIT
// `tenon draw TEXT -o FILE`: a picture from a text.
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dit.h"
#include "ggml.h"
#include "png_file.h"
#include "sampler.h"
#include "tenon.h"

struct options {
    const char * prompt;
    const char * out;
    const char * model;                         // NULL: the one that ships
    int64_t seed, steps, scale, threads, count; // steps, threads 0: default
    double guidance;                            // NaN: the model's
    bool steps_given;
};

static void print_help(void) {
    puts("usage: tenon draw TEXT [OPTION...]\n\n"
         "  -o, --output FILE     the picture's name (default picture.png)\n"
         "  -m, --model FILE      model file (default models/emoji-dit.gguf)\n"
         "  -s, --seed N          which picture of the text (default 0)\n"
         "  -n, --steps N         1 to 1000 (default: the model's, 20)\n"
         "  -g, --guidance X      how closely the text is followed, 0 to 100 (default: the model's, 3)\n"
         "  -z, --size N          each pixel becomes N x N, 1 to 64 (default 8)\n"
         "  -t, --threads N       1 to 512 (default: the processors, at most 8)\n"
         "  -c, --count N         1 to 1000 pictures, of the seed and those after it (default 1);\n"
         "                        of several, FILE gets -1, -2, ... before its ending");
}

static int take_guidance(const char * text, double * out) {
    if (!parse_float(text, out)) return usage("--guidance is '%.60s', not a number", text);
    return *out < 0 || *out > 100 ? out_of_range("--guidance", text, "0 to 100") : EXIT_OK;
}

static int take_option(struct options * o, int c, const char * value) {
    switch (c) {
    case 'o': o->out = value; return EXIT_OK;
    case 'm': o->model = value; return EXIT_OK;
    case 's': return take_int("--seed", value, 0, INT64_MAX, &o->seed);
    case 'n': return take_int("--steps", value, 1, 1000, &o->steps);
    case 'g': return take_guidance(value, &o->guidance);
    case 'z': return take_int("--size", value, 1, 64, &o->scale);
    case 't': return take_int("--threads", value, 1, GGML_MAX_N_THREADS, &o->threads);
    case 'c': return take_int("--count", value, 1, 1000, &o->count);
    default: return EXIT_USAGE;
    }
}

static int parse(struct options * o, int argc, char ** argv) {
    static const struct option names[] = {
        { "output", required_argument, NULL, 'o' },
        { "model", required_argument, NULL, 'm' },
        { "seed", required_argument, NULL, 's' },
        { "steps", required_argument, NULL, 'n' },
        { "guidance", required_argument, NULL, 'g' },
        { "size", required_argument, NULL, 'z' },
        { "threads", required_argument, NULL, 't' },
        { "count", required_argument, NULL, 'c' },
        { NULL, 0, NULL, 0 },
    };
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":o:m:s:n:g:z:t:c:", names, NULL)) != -1;) {
        if (c == ':') return usage("the option '%s' needs a value", argv[optind - 1]);
        if (c == '?') return usage("there is no option '%s'", bad_option(argv));
        const int status = take_option(o, c, optarg);
        if (status != EXIT_OK) return status;
    }
    if (optind == argc) return usage("the text is missing");
    if (optind + 1 < argc) return usage("one text is wanted, '%.60s' is another: quote it", argv[optind + 1]);
    o->prompt = argv[optind];
    return EXIT_OK;
}

// FILE, or FILE with -1, -2, ... before its ending when there are several.
static bool name_of(char * path, size_t size, const struct options * o, int64_t i) {
    const char * slash = strrchr(o->out, '/');
    const char * dot = strrchr(o->out, '.');
    if (!dot || (slash && dot < slash)) dot = o->out + strlen(o->out);
    const int n = o->count == 1 ? snprintf(path, size, "%s", o->out)
                                : snprintf(path, size, "%.*s-%lld%s", (int) (dot - o->out), o->out,
                                           (long long) i + 1, dot);
    return n >= 0 && (size_t) n < size;
}

static void show_step(void * data, int done) {
    progress_step(data, done);
}

static bool write_picture(struct output * out, const struct dit * m, const float * x, int scale) {
    struct picture p = { .width = m->image, .height = m->image, .rgb = malloc((size_t) dit_size(m)) };
    if (p.rgb) to_pixels(x, m->image, p.rgb);
    errno = 0;
    const bool ok = p.rgb && png_write(out->file, &p, scale);
    if (!ok) complain("%s: cannot be written: %s", out->path, errno ? strerror(errno) : "PNG error");
    free(p.rgb);
    return ok;
}

static int draw_one(struct dit * m, const struct options * o, int64_t i, float * x) {
    struct output out;
    char path[4096];
    if (!name_of(path, sizeof(path), o, i)) return complain("%s: the name is too long", o->out);
    if (is_same_file(path, o->model)) return complain("%s: is the model", path);
    // Opened before the work: a path that cannot be written is said at once.
    if (!output_open(&out, path)) return EXIT_FAILED;
    noise_fill(x, dit_size(m), (uint64_t) (o->seed + i));
    struct progress p = progress_start(path, (int) o->steps);
    const struct sampling s = { (int) o->steps, (float) o->guidance, show_step, &p };
    const bool drawn = sample(m, x, &s);
    progress_end(&p);
    if (!drawn || !write_picture(&out, m, x, (int) o->scale)) {
        output_discard(&out);
        return EXIT_FAILED;
    }
    if (!output_commit(&out)) return EXIT_FAILED;
    struct rusage usage_now;
    getrusage(RUSAGE_SELF, &usage_now);
    const long long side = m->image * o->scale;
    printf("%s: %lld x %lld, seed %lld, %lld steps, %.2f s, %.1f MB\n", path, side, side,
           (long long) (o->seed + i), (long long) o->steps, seconds_now() - p.start,
           (double) usage_now.ru_maxrss / 1024.0);
    return EXIT_OK;
}

static int draw_all(struct dit * m, struct options * o) {
    struct bag bag;
    if (!bag_from_text(&bag, o->prompt, m->buckets)) return EXIT_FAILED;
    const bool ready = dit_set_prompt(m, &bag);
    bag_free(&bag);
    if (!ready) return EXIT_FAILED;
    if (o->steps == 0) o->steps = m->default_steps;
    if (isnan(o->guidance)) o->guidance = m->default_guidance;
    float * x = malloc((size_t) dit_size(m) * sizeof(float));
    if (!x) return complain("out of memory");
    int status = EXIT_OK;
    for (int64_t i = 0; status == EXIT_OK && i < o->count; i++)
        status = draw_one(m, o, i, x);
    free(x);
    return status;
}

int tenon_draw(int argc, char ** argv) {
    struct options o = { .out = "picture.png", .scale = 8, .count = 1, .guidance = NAN };
    char path[PATH_MAX + 64];
    struct dit m;
    if (wants_help(argc, argv)) return print_help(), EXIT_OK;
    const int parsed = parse(&o, argc, argv);
    if (parsed != EXIT_OK) return parsed;
    if (o.seed > INT64_MAX - o.count)
        return complain("--seed is %lld, too large for %lld pictures", (long long) o.seed,
                        (long long) o.count);
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (o.threads == 0) o.threads = processors < 1 ? 1 : processors > 8 ? 8 : processors;
    if (!o.model) o.model = find_model(path, sizeof(path));
    const int status = dit_load(&m, o.model, (int) o.threads) ? draw_all(&m, &o) : EXIT_FAILED;
    dit_free(&m);
    return status;
}
