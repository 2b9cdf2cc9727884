// SPDX-License-Identifier: MIT
// `tenon import IN.safetensors -o OUT.gguf`: weights and their card as a GGUF file, types chosen per tensor
// by rule.
#include <cjson/cJSON.h>
#include <errno.h>
#include <float.h>
#include <fnmatch.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ggml-ext.h"
#include "ggml.h"
#include "gguf.h"
#include "safetensors.h"
#include "tenon.h"

enum { MAX_RULES = 64 };

struct rule {
    char pattern[128];
    enum ggml_type type;
};

struct import {
    const char *in, *out, *card, *name;
    struct rule rules[MAX_RULES]; // the last that matches decides
    int n_rules;
    struct safetensors file;
    struct gguf_context * gguf;
    struct ggml_context * ctx; // descriptions of the tensors to be written, in the file's order
};

static void print_help(void) {
    puts("usage: tenon import IN.safetensors -o OUT.gguf [OPTION...]\n\n"
         "  -o, --output FILE        the GGUF file\n"
         "  -t, --type TYPE          type of the matrices (*.weight with two dimensions): f32, f16 "
         "(default), bf16,\n"
         "                           q8_0, q4_K, ...; everything else becomes f32\n"
         "  -r, --rule PATTERN=TYPE  type of the tensors whose name matches, may be given often, the last "
         "one counts\n"
         "  -c, --card FILE          the card that is needed: JSON with sizes and names (default: card.json "
         "beside IN)\n"
         "  -a, --architecture NAME  prefix of the card's keys (default: the name of IN without its "
         "ending)\n\n"
         "A row that is no whole number of a type's blocks is kept in f16, and said so.");
}

static bool type_from_text(const char * text, enum ggml_type * type) {
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        if (ggml_blck_size(i) == 0 || strcasecmp(ggml_type_name(i), text) != 0) continue;
        *type = i;
        return true;
    }
    return false;
}

static int add_rule(struct import * im, const char * pattern, size_t n, const char * type) {
    struct rule * r = &im->rules[im->n_rules];
    if (im->n_rules == MAX_RULES) return usage("there are more than %d rules", MAX_RULES);
    if (n == 0 || n >= sizeof(r->pattern)) return usage("a rule's pattern has %zu bytes", n);
    if (!type_from_text(type, &r->type)) return usage("there is no tensor type '%.40s'", type);
    memcpy(r->pattern, pattern, n);
    r->pattern[n] = '\0';
    im->n_rules++;
    return EXIT_OK;
}

static int take_option(struct import * im, int c, const char * value) {
    const char * equals;
    switch (c) {
    case 'o': im->out = value; return EXIT_OK;
    case 'c': im->card = value; return EXIT_OK;
    case 'a': im->name = value; return EXIT_OK;
    case 't': return add_rule(im, "*.weight", strlen("*.weight"), value);
    case 'r':
        equals = strrchr(value, '=');
        if (!equals) return usage("the rule '%.60s' has no '='", value);
        return add_rule(im, value, (size_t) (equals - value), equals + 1);
    default: return EXIT_USAGE;
    }
}

static int parse(struct import * im, int argc, char ** argv) {
    static const struct option names[] = {
        { "output", required_argument, NULL, 'o' },       { "type", required_argument, NULL, 't' },
        { "rule", required_argument, NULL, 'r' },         { "card", required_argument, NULL, 'c' },
        { "architecture", required_argument, NULL, 'a' }, { NULL, 0, NULL, 0 },
    };
    add_rule(im, "*", 1, "f32");
    add_rule(im, "*.weight", strlen("*.weight"), "f16");
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":o:t:r:c:a:", names, NULL)) != -1;) {
        if (c == ':') return usage("the option '%s' needs a value", argv[optind - 1]);
        if (c == '?') return usage("there is no option '%s'", bad_option(argv));
        const int status = take_option(im, c, optarg);
        if (status != EXIT_OK) return status;
    }
    if (optind + 1 != argc) return usage("one file to import is wanted");
    im->in = argv[optind];
    return im->out ? EXIT_OK : usage("--output is missing");
}

// ---- the card

// JSON does not tell 3 from 3.0, but a reader of the file wants one type: these keys always have a point.
static bool is_whole(const char * name, double value) {
    static const char * const reals[] = { "guidance", "rope_theta", "eps" };
    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
        if (strcmp(reals[i], name) == 0) return false;
    }
    return value == floor(value) && value >= 0 && value <= UINT32_MAX;
}

static bool set_number(struct gguf_context * g, const char * key, const cJSON * item) {
    const double value = item->valuedouble;
    if (is_whole(item->string, value)) {
        gguf_set_val_u32(g, key, (uint32_t) value);
    } else if (fabs(value) <= FLT_MAX) {
        gguf_set_val_f32(g, key, (float) value);
    } else {
        return false;
    }
    return true;
}

static bool set_texts(struct gguf_context * g, const char * key, const cJSON * list) {
    const size_t n = (size_t) cJSON_GetArraySize(list);
    const char ** texts = malloc((n + 1) * sizeof(*texts));
    size_t i = 0;
    const cJSON * item;
    cJSON_ArrayForEach(item, list) {
        if (texts && cJSON_IsString(item)) texts[i++] = item->valuestring;
    }
    if (texts && i == n) gguf_set_arr_str(g, key, texts, n);
    free(texts);
    return texts && i == n;
}

// Numbers, texts, truth values and lists of texts have a form in the file; nothing is dropped in silence.
static bool set_key(struct gguf_context * g, const char * key, const cJSON * item) {
    if (cJSON_IsArray(item)) return set_texts(g, key, item);
    if (cJSON_IsNumber(item)) return set_number(g, key, item);
    if (cJSON_IsString(item)) return gguf_set_val_str(g, key, item->valuestring), true;
    if (cJSON_IsBool(item)) return gguf_set_val_bool(g, key, cJSON_IsTrue(item)), true;
    return false;
}

static bool set_card(struct import * im, const cJSON * card, const char * path) {
    const cJSON * item;
    cJSON_ArrayForEach(item, card) {
        char key[256];
        const bool licence = strcmp(item->string, "licence") == 0;
        const int n = licence ? snprintf(key, sizeof(key), "general.license")
                              : snprintf(key, sizeof(key), "%s.%s", im->name, item->string);
        const char * why = NULL;
        if (!item->string[0] || !is_utf8(item->string) || n >= (int) sizeof(key)) {
            why = "is no name that a key can have";
        } else if (gguf_find_key(im->gguf, key) >= 0) {
            why = "is there twice";
        } else if (!set_key(im->gguf, key, item)) {
            why = "is no number within f32, text, truth value or list of texts";
        } else if (gguf_find_key(im->gguf, key) < 0) {
            why = "cannot be stored";
        }
        if (why) return complain("%s: the key '%.100s' %s", path, item->string, why), false;
    }
    return true;
}

// Without --card the one beside IN.
static bool find_card(struct import * im, char * beside, size_t size) {
    if (im->card) return true;
    const char * slash = strrchr(im->in, '/');
    const int n = snprintf(beside, size, "%.*scard.json", slash ? (int) (slash - im->in + 1) : 0, im->in);
    if (n < 0 || (size_t) n >= size) return complain("%s: the path is too long", im->in), false;
    im->card = beside;
    if (access(beside, F_OK) == 0) return true;
    return complain("%s: %s: weights need a card, --card gives another", beside, strerror(errno)), false;
}

static bool read_card(struct import * im) {
    cJSON * card = json_from_file(im->card);
    if (!card) return false;
    const bool ok = cJSON_IsObject(card) ? set_card(im, card, im->card)
                                         : (complain("%s: the card is no object", im->card), false);
    cJSON_Delete(card);
    return ok;
}

// ---- tensors

static enum ggml_type choose_type(const struct import * im, const struct safetensor * t) {
    enum ggml_type type = t->type;
    for (int i = 0; i < im->n_rules; i++) {
        if (fnmatch(im->rules[i].pattern, t->name, 0) == 0) type = im->rules[i].type;
    }
    if (t->ne[0] % ggml_blck_size(type) != 0) {
        fprintf(stderr, "%s: rows of %lld are no whole blocks of %s: kept in f16\n", t->name,
                (long long) t->ne[0], ggml_type_name(type));
        type = GGML_TYPE_F16;
    }
    return type;
}

static bool describe_tensors(struct import * im) {
    im->ctx = ggml_init((struct ggml_init_params){
        .mem_size = (size_t) im->file.n * ggml_tensor_overhead(),
        .no_alloc = true,
    });
    if (!im->ctx) return complain("out of memory"), false;
    for (int i = 0; i < im->file.n; i++) {
        const struct safetensor * t = &im->file.tensors[i];
        if (!is_utf8(t->name)) return complain("%s: the name of tensor %d is not UTF-8", im->in, i), false;
        if (strlen(t->name) >= GGML_MAX_NAME) {
            return complain("tensor '%.100s': its name has %zu bytes, at most %d fit", t->name,
                            strlen(t->name), GGML_MAX_NAME - 1),
                   false;
        }
        struct ggml_tensor * d = ggml_new_tensor(im->ctx, choose_type(im, t), GGML_MAX_DIMS, t->ne);
        if (!ggml_ext_tensor_valid(d))
            return complain("tensor '%s': %s", t->name, ggml_ext_last_error()), false;
        ggml_set_name(d, t->name);
        gguf_add_tensor(im->gguf, d);
    }
    if (gguf_get_n_tensors(im->gguf) == im->file.n) return true;
    return complain("%s: %s", im->in, ggml_ext_last_error()), false;
}

// to f32, then to the wanted type. false: what is wrong is in *why.
static bool convert(const struct safetensor * t, const void * data, float * values,
                    const struct ggml_tensor * d, void * out, const char ** why) {
    const int64_t n = ggml_nelements(d), rows = d->ne[0] ? n / d->ne[0] : 0;
    const struct ggml_type_traits * from = ggml_get_type_traits(t->type);
    if (t->type == GGML_TYPE_F32) {
        memcpy(values, data, (size_t) n * sizeof(float));
    } else if (t->type == GGML_TYPE_F16 || t->type == GGML_TYPE_BF16) {
        from->to_float(data, values, n);
    } else {
        *why = "only F32, F16 and BF16 can be converted to another type";
        return false;
    }
    if (ggml_quantize_requires_imatrix(d->type)) {
        *why = "the type needs importance weights";
        return false;
    }
    if (n == 0 || ggml_quantize_chunk(d->type, values, out, 0, rows, d->ne[0], NULL) == ggml_nbytes(d))
        return true;
    *why = ggml_ext_last_error();
    return false;
}

static bool write_data(FILE * out, const void * data, size_t n, size_t alignment) {
    static const char zeros[64];
    size_t padding = (alignment - n % alignment) % alignment;
    if (fwrite(data, 1, n, out) != n) return false;
    for (; padding > 0; padding -= padding < sizeof(zeros) ? padding : sizeof(zeros)) {
        const size_t part = padding < sizeof(zeros) ? padding : sizeof(zeros);
        if (fwrite(zeros, 1, part, out) != part) return false;
    }
    return true;
}

// One tensor at a time is in memory.
static bool write_tensor(struct import * im, const struct safetensor * t, FILE * out) {
    const struct ggml_tensor * d = ggml_get_tensor(im->ctx, t->name);
    const size_t alignment = gguf_get_alignment(im->gguf), n = (size_t) ggml_nelements(d);
    void * data = malloc(t->size + 1);
    float * values = malloc(n * sizeof(float) + 1);
    void * converted = malloc(ggml_nbytes(d) + 1);
    const char * why = data && values && converted ? NULL : "out of memory";
    if (!why && !safetensors_read(&im->file, t, data)) why = "its data cannot be read";
    bool ok = !why;
    if (ok && !ggml_validate_row_data(t->type, data, t->size)) {
        why = "it has a NaN or an infinity";
        ok = false;
    }
    if (ok && t->type != d->type) ok = convert(t, data, values, d, converted, &why);
    if (!ok) complain("%s: tensor '%s': %s", im->in, t->name, why);
    if (ok && !write_data(out, t->type == d->type ? data : converted, ggml_nbytes(d), alignment)) {
        complain("%s: %s", im->out, strerror(errno));
        ok = false;
    }
    free(data);
    free(values);
    free(converted);
    return ok;
}

static bool write_file(struct import * im) {
    struct output out;
    if (!output_open(&out, im->out)) return false;
    struct progress p = progress_start(im->out, im->file.n);
    bool ok = gguf_write_to_file_ptr(im->gguf, out.file, true);
    if (!ok) complain("%s: %s", im->out, ggml_ext_last_error());
    for (int i = 0; ok && i < im->file.n; i++) {
        ok = write_tensor(im, &im->file.tensors[i], out.file);
        if (ok && p.terminal) progress_step(&p, i + 1);
    }
    progress_end(&p);
    if (ok) return output_commit(&out);
    output_discard(&out);
    return false;
}

static void name_after_file(struct import * im, char * name, size_t size) {
    const char * slash = strrchr(im->in, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : im->in);
    char * dot = strrchr(name, '.');
    if (dot && dot != name) *dot = '\0';
    im->name = name;
}

static int run(struct import * im) {
    char name[128], card[4096];
    if (is_same_file(im->out, im->in)) return complain("%s: is what is imported", im->out);
    if (!im->name) name_after_file(im, name, sizeof(name));
    if (!safetensors_open(&im->file, im->in)) return EXIT_FAILED;
    if (!im->name[0] || strlen(im->name) > 100 || !is_utf8(im->name)) {
        return complain("the architecture '%.100s' is empty, too long or not UTF-8: give --architecture",
                        im->name);
    }
    if (!find_card(im, card, sizeof(card))) return EXIT_FAILED;
    if (is_same_file(im->out, im->card)) return complain("%s: is the card", im->out);
    im->gguf = gguf_init_empty();
    if (!im->gguf) return complain("out of memory");
    gguf_set_val_str(im->gguf, "general.architecture", im->name);
    gguf_set_val_str(im->gguf, "general.name", im->name);
    gguf_set_val_u32(im->gguf, "general.quantization_version", GGML_QNT_VERSION);
    if (!read_card(im) || !describe_tensors(im) || !write_file(im)) return EXIT_FAILED;
    printf("%s: %d tensors, %zu keys\n", im->out, im->file.n, (size_t) gguf_get_n_kv(im->gguf));
    return EXIT_OK;
}

int tenon_import(int argc, char ** argv) {
    struct import im = { .n_rules = 0 };
    if (wants_help(argc, argv)) return print_help(), EXIT_OK;
    int status = parse(&im, argc, argv);
    if (status == EXIT_OK) status = run(&im);
    gguf_free(im.gguf);
    ggml_free(im.ctx);
    safetensors_close(&im.file);
    return status;
}
