// SPDX-License-Identifier: MIT
// Reads the cases of a file of vectors.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf.h"
#include "vectors.h"

struct vec_file {
    const char * path;
    struct gguf_context * gguf;
    struct ggml_context * data;
};

static void broken(const char * path, const char * what) {
    fprintf(stderr, "%s: %s\n", path, what);
    exit(2);
}

struct vec_file * vec_open(const char * path) {
    struct vec_file * f = calloc(1, sizeof(*f));
    f->path = path;
    f->gguf = gguf_init_from_file(path, (struct gguf_init_params){ .ctx = &f->data });
    const int64_t version = f->gguf ? gguf_find_key(f->gguf, "vectors.version") : -1;
    if (version < 0 || gguf_get_val_i32(f->gguf, version) != VEC_VERSION)
        broken(path, "no file of vectors of version 1");
    return f;
}

void vec_close(struct vec_file * f) {
    ggml_free(f->data);
    gguf_free(f->gguf);
    free(f);
}

int vec_count(const struct vec_file * f) {
    const int64_t id = gguf_find_key(f->gguf, "vectors.count");
    if (id < 0) broken(f->path, "vectors.count is missing");
    return gguf_get_val_i32(f->gguf, id);
}

// Id of the key "case.<i>.<fmt>", -1 if there is none.
static int64_t find(const struct vec_file * f, int i, const char * fmt, ...) {
    char key[128];
    const int n = snprintf(key, sizeof(key), "case.%d.", i);
    va_list args;
    va_start(args, fmt);
    vsnprintf(key + n, sizeof(key) - (size_t) n, fmt, args);
    va_end(args);
    return gguf_find_key(f->gguf, key);
}

static int64_t need(const struct vec_file * f, int64_t id) {
    if (id < 0) broken(f->path, "a case lacks a key");
    return id;
}

#define KEY(...) need(f, find(f, i, __VA_ARGS__))
#define STR(...) gguf_get_val_str(f->gguf, KEY(__VA_ARGS__))
#define ARR(...) gguf_get_arr_data(f->gguf, KEY(__VA_ARGS__))

static const struct ggml_tensor * stored(const struct vec_file * f, const char * name) {
    const struct ggml_tensor * t = name[0] ? ggml_get_tensor(f->data, name) : NULL;
    if (name[0] && !t) broken(f->path, "a case names a tensor that is not stored");
    return t;
}

static void get_strides(size_t * nb, const int64_t * from) {
    for (int d = 0; d < 4; d++)
        nb[d] = (size_t) from[d];
}

static void read_src(const struct vec_file * f, int i, int j, struct vec_src * s) {
    snprintf(s->tensor, sizeof(s->tensor), "%s", STR("src.%d.tensor", j));
    s->type = vec_type_by_name(STR("src.%d.type", j));
    memcpy(s->ne, ARR("src.%d.ne", j), sizeof(s->ne));
    memcpy(s->base_ne, s->ne, sizeof(s->ne));
    get_strides(s->nb, ARR("src.%d.nb", j));
    s->offset = (size_t) gguf_get_val_i64(f->gguf, KEY("src.%d.offset", j));
    const struct ggml_tensor * t = stored(f, s->tensor);
    if (t) {
        memcpy(s->base_ne, t->ne, sizeof(s->base_ne));
        s->data = t->data;
    }
}

static void read_out(const struct vec_file * f, int i, const char * prefix, struct vec_out * o) {
    snprintf(o->ref, sizeof(o->ref), "%s", STR("%s.ref", prefix));
    o->type = vec_type_by_name(STR("%s.type", prefix));
    memcpy(o->ne, ARR("%s.ne", prefix), sizeof(o->ne));
    get_strides(o->nb, ARR("%s.nb", prefix));
    const struct ggml_tensor * t = stored(f, STR("%s.tensor", prefix));
    if (t) {
        o->data = t->data;
        o->size = ggml_nbytes(t);
    }
}

void vec_read(const struct vec_file * f, int i, struct vec_case * c) {
    memset(c, 0, sizeof(*c));
    c->op = STR("op");
    c->name = STR("name");
    c->args = STR("args");
    c->params = ARR("params");
    c->nmse = gguf_get_val_f32(f->gguf, KEY("nmse"));
    const char * cmp = STR("cmp");
    c->cmp = strcmp(cmp, "bits") == 0 ? VEC_CMP_BITS : strcmp(cmp, "set") == 0 ? VEC_CMP_SET : VEC_CMP_NMSE;

    for (int j = 0; j < VEC_MAX_SRC && find(f, i, "src.%d.type", j) >= 0; j++) {
        read_src(f, i, j, &c->src[c->n_src++]);
    }
    char prefix[16] = "dst";
    for (int j = 0; j < VEC_MAX_OUT && find(f, i, "%s.type", prefix) >= 0; j++) {
        read_out(f, i, prefix, &c->out[c->n_out++]);
        snprintf(prefix, sizeof(prefix), "dst%d", j + 1);
    }
}
