// SPDX-License-Identifier: MIT
// Writing: one walk over the description with a sink that counts, fills memory or goes to a file.
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "ggml-backend.h"
#include "gguf/gguf_int.h"

struct sink {
    bool (*put)(struct sink * s, const void * data, size_t n);
    size_t written; // since the magic
    char * memory;
    FILE * file;
};

static bool put_nowhere(struct sink * s, const void * data, size_t n) {
    (void) s, (void) data, (void) n;
    return true;
}

static bool put_in_memory(struct sink * s, const void * data, size_t n) {
    memcpy(s->memory + s->written, data, n);
    return true;
}

static bool put_in_file(struct sink * s, const void * data, size_t n) {
    if (fwrite(data, 1, n, s->file) == n) return true;
    return tn_refuse("byte %zu: cannot write %zu bytes: %s", s->written, n, strerror(errno));
}

static bool put(struct sink * s, const void * data, size_t n) {
    if (n > 0 && !s->put(s, data, n)) return false;
    s->written += n;
    return true;
}

static bool put_padding(struct sink * s, size_t alignment) {
    static const char zeros[4096];
    size_t n = tn_align_up(s->written, alignment) - s->written;
    for (; n > 0; n -= tn_min_size(n, sizeof(zeros))) {
        if (!put(s, zeros, tn_min_size(n, sizeof(zeros)))) return false;
    }
    return true;
}

static bool put_text(struct sink * s, const char * text, size_t len) {
    const uint64_t n = len;
    return put(s, &n, sizeof(n)) && put(s, text, len);
}

static bool put_value(struct sink * s, const struct tn_gguf_value * v) {
    const int32_t type = v->type, array = GGUF_TYPE_ARRAY;
    const uint64_t n = v->n;
    if (v->is_array && !put(s, &array, sizeof(array))) return false;
    if (!put(s, &type, sizeof(type))) return false;
    if (v->is_array && !put(s, &n, sizeof(n))) return false;
    if (v->type != GGUF_TYPE_STRING) return put(s, v->data, v->size);
    for (size_t i = 0; i < v->n; i++) {
        size_t len;
        const char * text = tn_value_string(v, i, &len);
        if (!put_text(s, text, len)) return false;
    }
    return true;
}

// As many dimensions as it takes; at least one.
static uint32_t count_dims(const int64_t * ne) {
    uint32_t n = GGML_MAX_DIMS;
    while (n > 1 && ne[n - 1] == 1)
        n--;
    return n;
}

static bool put_tensor(struct sink * s, const struct tn_gguf_tensor * t) {
    const uint32_t n_dims = count_dims(t->ne);
    const int32_t type = t->type;
    return put_text(s, t->name, strlen(t->name)) && put(s, &n_dims, sizeof(n_dims)) &&
           put(s, t->ne, n_dims * sizeof(t->ne[0])) && put(s, &type, sizeof(type)) &&
           put(s, &t->offset, sizeof(t->offset));
}

static bool put_description(struct sink * s, const struct gguf_context * ctx) {
    const int64_t n_tensors = (int64_t) ctx->tensors.count, n_kv = (int64_t) ctx->kv.count;
    bool ok = put(s, GGUF_MAGIC, 4) && put(s, &ctx->version, sizeof(ctx->version)) &&
              put(s, &n_tensors, sizeof(n_tensors)) && put(s, &n_kv, sizeof(n_kv));
    for (int64_t i = 0; ok && i < n_kv; i++) {
        const struct tn_gguf_kv * kv = &ctx->kv.items[i];
        ok = put_text(s, kv->key, strlen(kv->key)) && put_value(s, &kv->value);
    }
    for (int64_t i = 0; ok && i < n_tensors; i++)
        ok = put_tensor(s, &ctx->tensors.items[i]);
    return ok && put_padding(s, ctx->alignment);
}

// Data that lie in a device's buffer come through a small block of host memory.
static bool put_through_buffer(struct sink * s, const struct tn_gguf_tensor * t) {
    enum { STEP = 1 << 20 };
    char * block = tn_mem_alloc(STEP, TN_MEM_GGUF);
    bool ok = block != NULL;
    for (size_t at = 0; ok && at < t->size; at += STEP) {
        const size_t n = tn_min_size(STEP, t->size - at);
        ggml_backend_tensor_get(t->source, block, at, n);
        ok = put(s, block, n);
    }
    tn_mem_free(block);
    return ok;
}

static bool put_data(struct sink * s, const struct gguf_context * ctx) {
    for (size_t i = 0; i < ctx->tensors.count; i++) {
        const struct tn_gguf_tensor * t = &ctx->tensors.items[i];
        if (!t->data && t->size > 0) return tn_refuse("tensor '%s' has no data", t->name);
        if (!(t->buffer ? put_through_buffer(s, t) : put(s, t->data, t->size))) return false;
        if (!put_padding(s, ctx->alignment)) return false;
    }
    return true;
}

size_t gguf_get_meta_size(const struct gguf_context * ctx) {
    struct sink s = { .put = put_nowhere };
    if (ctx) put_description(&s, ctx);
    return s.written;
}

void gguf_get_meta_data(const struct gguf_context * ctx, void * data) {
    struct sink s = { .put = put_in_memory, .memory = data };
    if (ctx && data) put_description(&s, ctx);
}

bool gguf_write_to_file_ptr(const struct gguf_context * ctx, FILE * file, bool only_meta) {
    struct sink s = { .put = put_in_file, .file = file };
    bool ok = ctx && file;
    if (!ok) tn_error_set("context or file is NULL");
    ok = ok && put_description(&s, ctx) && (only_meta || put_data(&s, ctx));
    // A full disk often shows only now.
    if (ok && fflush(file) != 0) ok = tn_refuse("byte %zu: cannot write: %s", s.written, strerror(errno));
    if (ok) return true;
    tn_error_prefix("gguf_write_to_file");
    TN_LOG_ERROR("%s\n", tn_error_text());
    return false;
}

bool gguf_write_to_file(const struct gguf_context * ctx, const char * fname, bool only_meta) {
    FILE * file = fname ? tn_file_open(fname, "wb") : NULL;
    if (!file) {
        if (!fname) tn_error_set("the file's name is NULL");
        tn_error_prefix("gguf_write_to_file");
        TN_LOG_ERROR("%s\n", tn_error_text());
        return false;
    }
    const bool ok = gguf_write_to_file_ptr(ctx, file, only_meta);
    if (fclose(file) == 0 && ok) return true;
    if (ok) tn_error_set("gguf_write_to_file: %s: cannot close: %s", fname, strerror(errno));
    return false;
}
