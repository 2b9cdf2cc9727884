// SPDX-License-Identifier: MIT
// Reads the cases of a file of vectors.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "ggml-ext.h"
#include "gguf.h"

struct vec_file {
    struct gguf_context * gguf;
    struct ggml_context * data;
};

static bool is_kind(const struct gguf_context * gguf, int64_t id, enum gguf_type type) {
    return id >= 0 && gguf_get_kv_type(gguf, id) == type;
}

// The library's reason, without function and file: who asked knows both.
static void say_why(const char * path, char msg[VEC_MSG]) {
    const char * text = ggml_ext_last_error();
    const char * at = strstr(text, path);
    const size_t n = strlen(path);
    snprintf(msg, VEC_MSG, "%s", at && strncmp(at + n, ": ", 2) == 0 ? at + n + 2 : text);
}

struct vec_file * vec_open(const char * path, char msg[VEC_MSG]) {
    struct vec_file * f = calloc(1, sizeof(*f));
    if (f) f->gguf = gguf_init_from_file(path, (struct gguf_init_params){ .ctx = &f->data });
    const int64_t version = f && f->gguf ? gguf_find_key(f->gguf, "vectors.version") : -1;
    const int64_t count = version >= 0 ? gguf_find_key(f->gguf, "vectors.count") : -1;
    if (version >= 0 && is_kind(f->gguf, version, GGUF_TYPE_INT32) &&
        is_kind(f->gguf, count, GGUF_TYPE_INT32) && gguf_get_val_i32(f->gguf, version) == VEC_VERSION) {
        return f;
    }
    snprintf(msg, VEC_MSG, "no file of vectors of version %d", VEC_VERSION);
    if (f && !f->gguf) say_why(path, msg);
    if (f) vec_close(f);
    return NULL;
}

void vec_close(struct vec_file * f) {
    ggml_free(f->data);
    gguf_free(f->gguf);
    free(f);
}

int vec_count(const struct vec_file * f) {
    return gguf_get_val_i32(f->gguf, gguf_find_key(f->gguf, "vectors.count"));
}

// ---- keys ------------------------------------------------------------------------------------------------

// A case that is being read.
struct reading {
    const struct vec_file * f;
    int i;
    char key[128]; // the last one asked for
    char * msg;
    bool ok; // the first fault is in msg when false
};

static void fault(struct reading * r, const char * what) {
    if (r->ok) snprintf(r->msg, VEC_MSG, "case %d: '%s' %s", r->i, r->key, what);
    r->ok = false;
}

// Id of the key "case.<i>.<fmt>", -1 if there is none.
static int64_t find(struct reading * r, const char * fmt, ...) __attribute__((format(printf, 2, 3)));

static int64_t find(struct reading * r, const char * fmt, ...) {
    const int n = snprintf(r->key, sizeof(r->key), "case.%d.", r->i);
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->key + n, sizeof(r->key) - (size_t) n, fmt, args);
    va_end(args);
    return gguf_find_key(r->f->gguf, r->key);
}

static bool needs(struct reading * r, int64_t id, enum gguf_type type) {
    if (is_kind(r->f->gguf, id, type)) return true;
    fault(r, id < 0 ? "is missing" : "is of a wrong type");
    return false;
}

static const char * text(struct reading * r, int64_t id) {
    return needs(r, id, GGUF_TYPE_STRING) ? gguf_get_val_str(r->f->gguf, id) : "";
}

// Copies n elements of an array.
static void numbers(struct reading * r, int64_t id, enum gguf_type type, size_t n, void * to, size_t size) {
    const bool is_array = needs(r, id, GGUF_TYPE_ARRAY) && gguf_get_arr_type(r->f->gguf, id) == type &&
                          gguf_get_arr_n(r->f->gguf, id) == n;
    if (is_array) {
        memcpy(to, gguf_get_arr_data(r->f->gguf, id), n * size);
    } else {
        fault(r, "is no array of the right kind");
    }
}

static void sizes(struct reading * r, int64_t id, int64_t ne[4]) {
    numbers(r, id, GGUF_TYPE_INT64, 4, ne, sizeof(ne[0]));
}

static void strides(struct reading * r, int64_t id, size_t nb[4]) {
    int64_t values[4] = { 0 };
    sizes(r, id, values);
    for (int d = 0; d < 4; d++)
        nb[d] = (size_t) values[d];
}

static const struct ggml_tensor * stored(struct reading * r, const char * name) {
    const struct ggml_tensor * t = name[0] ? ggml_get_tensor(r->f->data, name) : NULL;
    if (name[0] && !t) fault(r, "names a tensor that is not stored");
    return t;
}

// ---- cases -----------------------------------------------------------------------------------------------

static enum ggml_type type_of(struct reading * r, int64_t id) {
    const enum ggml_type type = vec_type_by_name(text(r, id));
    if (type == GGML_TYPE_COUNT) fault(r, "is no type");
    return type;
}

static void read_src(struct reading * r, int j, struct vec_src * s) {
    snprintf(s->tensor, sizeof(s->tensor), "%s", text(r, find(r, "src.%d.tensor", j)));
    const struct ggml_tensor * t = stored(r, s->tensor);
    s->type = type_of(r, find(r, "src.%d.type", j));
    sizes(r, find(r, "src.%d.ne", j), s->ne);
    memcpy(s->base_ne, t ? t->ne : s->ne, sizeof(s->base_ne));
    strides(r, find(r, "src.%d.nb", j), s->nb);
    const int64_t offset = find(r, "src.%d.offset", j);
    if (needs(r, offset, GGUF_TYPE_INT64)) s->offset = (size_t) gguf_get_val_i64(r->f->gguf, offset);
    if (t && t->type != s->type) fault(r, "is of a tensor of another type");
    if (t) s->data = t->data;
}

static void read_out(struct reading * r, const char * prefix, struct vec_out * o) {
    snprintf(o->ref, sizeof(o->ref), "%s", text(r, find(r, "%s.ref", prefix)));
    o->type = type_of(r, find(r, "%s.type", prefix));
    sizes(r, find(r, "%s.ne", prefix), o->ne);
    strides(r, find(r, "%s.nb", prefix), o->nb);
    const struct ggml_tensor * t = stored(r, text(r, find(r, "%s.tensor", prefix)));
    if (!t) return;
    o->data = t->data;
    o->size = ggml_nbytes(t);
}

static void read_head(struct reading * r, struct vec_case * c) {
    c->op = text(r, find(r, "op"));
    c->name = text(r, find(r, "name"));
    c->args = text(r, find(r, "args"));
    numbers(r, find(r, "params"), GGUF_TYPE_INT32, VEC_N_PARAMS, c->params, sizeof(c->params[0]));
    const int64_t nmse = find(r, "nmse");
    if (needs(r, nmse, GGUF_TYPE_FLOAT32)) c->nmse = gguf_get_val_f32(r->f->gguf, nmse);
    const char * cmp = text(r, find(r, "cmp"));
    c->cmp = strcmp(cmp, "bits") == 0 ? VEC_CMP_BITS : strcmp(cmp, "set") == 0 ? VEC_CMP_SET : VEC_CMP_NMSE;
}

bool vec_read(const struct vec_file * f, int i, struct vec_case * c, char msg[VEC_MSG]) {
    struct reading r = { .f = f, .i = i, .msg = msg, .ok = true };
    memset(c, 0, sizeof(*c));
    if (i < 0 || i >= vec_count(f)) {
        snprintf(msg, VEC_MSG, "there is no case %d, there are %d", i, vec_count(f));
        return false;
    }
    read_head(&r, c);
    for (int j = 0; r.ok && j < VEC_MAX_SRC && find(&r, "src.%d.type", j) >= 0; j++)
        read_src(&r, j, &c->src[c->n_src++]);
    char prefix[16] = "dst";
    for (int j = 0; r.ok && j < VEC_MAX_OUT && find(&r, "%s.type", prefix) >= 0; j++) {
        read_out(&r, prefix, &c->out[c->n_out++]);
        snprintf(prefix, sizeof(prefix), "dst%d", j + 1);
    }
    return r.ok;
}
