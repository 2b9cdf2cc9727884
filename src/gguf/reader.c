// SPDX-License-Identifier: MIT
// Bounds-checked parsing. Nothing in a file is believed before it is compared with the bytes that remain, and
// what is allocated grows with the bytes that were really read.
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "core/context.h"
#include "gguf/gguf_int.h"
#include "gguf/limits.h"

struct block {
    char * data;
    size_t used;
    size_t capacity;
};

// Exactly what is needed the first time: most strings and arrays are read in one step.
static bool grow(struct block * b, size_t wanted) {
    if (wanted <= b->capacity) return true;
    if (b->capacity) wanted = tn_max_size(wanted, b->capacity + b->capacity / 2);
    char * grown = tn_mem_realloc(b->data, wanted, TN_MEM_GGUF);
    if (!grown) return false;
    b->data = grown;
    b->capacity = wanted;
    return true;
}

// Appends n bytes to a growing block, in steps that the source has to back with data. One byte more is
// allocated, so that a terminator fits.
static bool read_block(struct tn_gguf_source * s, struct block * b, size_t n, const char * what) {
    if (n > tn_source_left(s)) return tn_source_read(s, NULL, n, what);
    size_t done = 0;
    do {
        const size_t part = tn_min_size(n - done, tn_max_size((size_t) TN_GGUF_READ_STEP, b->used));
        if (!grow(b, b->used + part + 1) || !tn_source_read(s, b->data + b->used, part, what)) return false;
        b->used += part;
        done += part;
    } while (done < n);
    return true;
}

static bool read_length(struct tn_gguf_source * s, uint64_t * n, const char * what) {
    const uint64_t at = s->pos;
    if (!tn_source_read(s, n, sizeof(*n), what)) return false;
    if (*n <= (uint64_t) TN_GGUF_MAX_LENGTH && *n <= tn_source_left(s)) return true;
    return tn_refuse("byte %" PRIu64 ": %s of %" PRIu64 " is longer than the rest of the file, or than 2^30",
                     at, what, *n);
}

// A key or a name: terminated, not empty, without a zero byte. The caller frees *out, also after a failure.
static bool read_name(struct tn_gguf_source * s, char ** out, const char * what) {
    uint64_t n;
    struct block b = { 0 };
    const uint64_t at = s->pos;
    bool ok = read_length(s, &n, what) && read_block(s, &b, n, what);
    *out = b.data;
    if (!ok) return false;
    b.data[n] = '\0';
    if (n == 0) return tn_refuse("byte %" PRIu64 ": %s is empty", at, what);
    if (strlen(b.data) != n) return tn_refuse("byte %" PRIu64 ": %s has a zero byte", at, what);
    return true;
}

static bool read_strings(struct tn_gguf_source * s, struct tn_gguf_value * v) {
    struct block texts = { 0 };
    TN_ARRAY(uint64_t) ends = { 0 };
    bool ok = TN_ARRAY_RESERVE(&ends, 1, TN_MEM_GGUF) && grow(&texts, 1);
    if (ok) ends.items[ends.count++] = 0;
    for (size_t i = 0; ok && i < v->n; i++) {
        uint64_t n;
        ok = read_length(s, &n, "a string") && read_block(s, &texts, n, "a string") &&
             TN_ARRAY_RESERVE(&ends, 1, TN_MEM_GGUF);
        if (!ok) break;
        texts.data[texts.used++] = '\0';
        ends.items[ends.count++] = texts.used;
    }
    v->data = texts.data;
    v->size = texts.used;
    v->ends = ends.items;
    return ok;
}

// A bool other than 0 and 1 is read as true.
static void normalise_bools(struct tn_gguf_value * v, const char * key) {
    bool odd = false;
    for (size_t i = 0; i < v->n; i++) {
        odd |= (unsigned char) v->data[i] > 1;
        v->data[i] = v->data[i] != 0;
    }
    if (odd) TN_LOG_WARN("gguf: key '%s': a bool other than 0 and 1 counts as true\n", key);
}

static bool read_elements(struct tn_gguf_source * s, struct tn_gguf_value * v, const char * key) {
    const size_t each = tn_value_type_size(v->type);
    struct block b = { 0 };
    if (v->type == GGUF_TYPE_STRING) return read_strings(s, v);
    if (v->n > tn_source_left(s) / each) {
        return tn_refuse("byte %" PRIu64 ": an array of %zu elements is longer than the rest of the file",
                         s->pos, v->n);
    }
    const bool ok = read_block(s, &b, v->n * each, "a value");
    v->data = b.data;
    v->size = b.used;
    if (ok && v->type == GGUF_TYPE_BOOL) normalise_bools(v, key);
    return ok;
}

static bool read_value(struct tn_gguf_source * s, struct tn_gguf_value * v, const char * key) {
    const uint64_t at = s->pos;
    int32_t type;
    uint64_t n = 1;
    if (!tn_source_read(s, &type, sizeof(type), "a value type")) return false;
    if (type == GGUF_TYPE_ARRAY) {
        v->is_array = true;
        if (!tn_source_read(s, &type, sizeof(type), "an element type")) return false;
        if (type == GGUF_TYPE_ARRAY) return tn_refuse("byte %" PRIu64 ": an array of arrays", at);
        if (!read_length(s, &n, "an array")) return false;
    }
    if (tn_value_type_size(type) == 0 && type != GGUF_TYPE_STRING) {
        return tn_refuse("byte %" PRIu64 ": value type %" PRId32 " is unknown", at, type);
    }
    v->type = type;
    v->n = n;
    return read_elements(s, v, key);
}

static bool read_kv(struct tn_gguf_source * s, struct gguf_context * ctx) {
    const uint64_t at = s->pos;
    struct tn_gguf_value v = { 0 };
    char * key;
    bool ok = read_name(s, &key, "a key");
    if (ok && tn_names_find(&ctx->key_names, ctx, tn_gguf_key_name, key) >= 0) {
        ok = tn_refuse("byte %" PRIu64 ": key '%s' is there twice", at, key);
    }
    if (ok && !read_value(s, &v, key)) {
        tn_error_prefix("key '%.200s'", key);
        ok = false;
    }
    if (ok && !tn_gguf_append(ctx, key, &v)) {
        tn_error_prefix("byte %" PRIu64, at);
        ok = false;
    }
    if (!ok) {
        tn_mem_free(key);
        tn_value_free(&v);
    }
    return ok;
}

static bool read_shape(struct tn_gguf_source * s, struct tn_gguf_tensor * t) {
    uint32_t n_dims;
    const uint64_t at = s->pos;
    if (!tn_source_read(s, &n_dims, sizeof(n_dims), "a number of dimensions")) return false;
    if (n_dims > GGML_MAX_DIMS)
        return tn_refuse("byte %" PRIu64 ": %" PRIu32 " dimensions, at most 4 are known", at, n_dims);
    for (uint32_t i = 0; i < GGML_MAX_DIMS; i++)
        t->ne[i] = 1;
    return tn_source_read(s, t->ne, n_dims * sizeof(t->ne[0]), "the sizes");
}

static bool read_tensor(struct tn_gguf_source * s, struct gguf_context * ctx) {
    struct tn_gguf_tensor t = { 0 };
    const uint64_t at = s->pos;
    int32_t type;
    bool ok = read_name(s, &t.name, "a tensor name");
    if (ok && strlen(t.name) >= GGML_MAX_NAME) {
        ok = tn_refuse("the name has %zu bytes, at most %d are possible", strlen(t.name), GGML_MAX_NAME - 1);
    }
    ok = ok && read_shape(s, &t) && tn_source_read(s, &type, sizeof(type), "a tensor type") &&
         tn_source_read(s, &t.offset, sizeof(t.offset), "an offset");
    if (ok) t.type = type;
    ok = ok && tn_tensor_info_measure(&t);
    if (ok && t.offset != ctx->data_size) {
        ok = tn_refuse("the offset is %" PRIu64 ", expected is %" PRIu64 ", the end of the tensor before",
                       t.offset, ctx->data_size);
    }
    ok = ok && tn_tensor_info_add(ctx, &t);
    if (!ok) {
        tn_error_prefix("byte %" PRIu64 ": tensor '%.200s'", at, t.name ? t.name : "");
        tn_mem_free(t.name);
    }
    return ok;
}

static bool check_count(const struct tn_gguf_source * s, int64_t n, uint64_t each, const char * what) {
    if (n >= 0 && (uint64_t) n <= tn_source_left(s) / each) return true;
    return tn_refuse("byte 8: %" PRId64 " %s cannot be in a file with %" PRIu64 " bytes left", n, what,
                     tn_source_left(s));
}

static bool read_header(struct tn_gguf_source * s, struct gguf_context * ctx, int64_t * n_tensors,
                        int64_t * n_kv) {
    char magic[4];
    if (!tn_source_read(s, magic, sizeof(magic), "the magic")) return false;
    if (memcmp(magic, GGUF_MAGIC, sizeof(magic)) != 0) {
        return tn_refuse("byte 0: not a GGUF file: the magic is %02x %02x %02x %02x",
                         (unsigned char) magic[0], (unsigned char) magic[1], (unsigned char) magic[2],
                         (unsigned char) magic[3]);
    }
    if (!tn_source_read(s, &ctx->version, sizeof(ctx->version), "the version")) return false;
    if (ctx->version != 0 && (ctx->version & 0xffff) == 0) {
        return tn_refuse("byte 4: version %08" PRIx32 " looks byte-swapped: a file for big-endian machines",
                         ctx->version);
    }
    if (ctx->version < 2 || ctx->version > GGUF_VERSION) {
        return tn_refuse("byte 4: version %" PRIu32 " is not 2 or 3", ctx->version);
    }
    return tn_source_read(s, n_tensors, sizeof(*n_tensors), "the number of tensors") &&
           tn_source_read(s, n_kv, sizeof(*n_kv), "the number of keys") &&
           check_count(s, *n_tensors, TN_GGUF_MIN_TENSOR_BYTES, "tensors") &&
           check_count(s, *n_kv, TN_GGUF_MIN_KV_BYTES, "keys");
}

static bool read_description(struct tn_gguf_source * s, struct gguf_context * ctx) {
    int64_t n_tensors, n_kv;
    if (!read_header(s, ctx, &n_tensors, &n_kv)) return false;
    for (int64_t i = 0; i < n_kv; i++) {
        if (!read_kv(s, ctx)) return false;
    }
    for (int64_t i = 0; i < n_tensors; i++) {
        if (!read_tensor(s, ctx)) return false;
    }
    uint64_t offset = s->pos;
    if (n_tensors > 0) {
        // Padding counts from the magic, the offset from the start of what the caller gave.
        size_t padded;
        if (!tn_size_align(s->pos - s->start, ctx->alignment, &padded))
            return tn_refuse("the data section overflows");
        offset = s->start + padded;
    }
    ctx->data_offset = offset;
    return true;
}

// All tensors of the file in a context of the caller; with data they point into one blob.
static bool add_tensors(struct ggml_context * out, const struct gguf_context * ctx, char * blob) {
    for (size_t i = 0; i < ctx->tensors.count; i++) {
        const struct tn_gguf_tensor * info = &ctx->tensors.items[i];
        struct ggml_tensor * t = ggml_new_tensor(out, info->type, GGML_MAX_DIMS, info->ne);
        if (tn_tensor_is_poisoned(t)) return false;
        ggml_set_name(t, info->name);
        if (blob) t->data = blob + info->offset;
    }
    return true;
}

static bool read_data(struct tn_gguf_source * s, const struct gguf_context * ctx, struct ggml_context * out) {
    struct ggml_tensor * blob = ggml_new_tensor_1d(out, GGML_TYPE_I8, (int64_t) ctx->data_size);
    if (tn_tensor_is_poisoned(blob)) return false;
    ggml_set_name(blob, "GGUF tensor data binary blob");
    s->pos = ctx->data_offset;
    if (!tn_source_read(s, blob->data, ctx->data_size, "the data of the tensors")) return false;
    ggml_set_no_alloc(out, true);
    return add_tensors(out, ctx, blob->data);
}

static bool make_tensors(struct tn_gguf_source * s, const struct gguf_context * ctx, bool no_alloc,
                         struct ggml_context ** result) {
    const uint64_t left = s->end > ctx->data_offset ? s->end - ctx->data_offset : 0;
    size_t size = (ctx->tensors.count + (no_alloc ? 0 : 1)) * ggml_tensor_overhead();
    if (!no_alloc && ctx->data_size > left) {
        return tn_refuse("byte %zu: the data section has %" PRIu64 " bytes, %" PRIu64
                         " are needed: the file is truncated",
                         ctx->data_offset, left, ctx->data_size);
    }
    if (!no_alloc && !tn_size_add(size, ctx->data_size, &size))
        return tn_refuse("the data of the tensors are too large");
    struct ggml_context * out =
        ggml_init((struct ggml_init_params){ .mem_size = size, .no_alloc = no_alloc });
    if (!out) return false;
    const bool ok = no_alloc ? add_tensors(out, ctx, NULL) : read_data(s, ctx, out);
    if (ok) {
        ggml_set_no_alloc(out, no_alloc);
        *result = out;
    } else {
        ggml_free(out);
    }
    return ok;
}

struct gguf_context * tn_reader_run(struct tn_gguf_source * s, struct gguf_init_params params) {
    struct gguf_context * ctx = gguf_init_empty();
    if (!ctx) return NULL;
    struct ggml_context * tensors = NULL;
    if (read_description(s, ctx) && (!params.ctx || make_tensors(s, ctx, params.no_alloc, &tensors))) {
        if (params.ctx) *params.ctx = tensors;
        return ctx;
    }
    gguf_free(ctx);
    tn_error_prefix("gguf");
    TN_LOG_ERROR("%s\n", tn_error_text());
    return NULL;
}

struct gguf_context * gguf_init_from_buffer(const void * data, size_t size, struct gguf_init_params params) {
    if (!data || size == 0) {
        tn_error_set("gguf: the buffer is %s", data ? "empty" : "NULL");
        return NULL;
    }
    struct tn_gguf_source s = tn_source_from_memory(data, size);
    return tn_reader_run(&s, params);
}

struct gguf_context * gguf_init_from_file_ptr(FILE * file, struct gguf_init_params params) {
    struct tn_gguf_source s;
    char window[TN_GGUF_WINDOW];
    if (!file) tn_error_set("gguf: the file is NULL");
    return file && tn_source_from_file(&s, file, window) ? tn_reader_run(&s, params) : NULL;
}

struct gguf_context * gguf_init_from_file(const char * fname, struct gguf_init_params params) {
    FILE * file = fname ? tn_file_open(fname, "rb") : NULL;
    if (!fname) tn_error_set("gguf: the file's name is NULL");
    struct gguf_context * ctx = file ? gguf_init_from_file_ptr(file, params) : NULL;
    if (file) fclose(file);
    if (file && !ctx) tn_error_prefix("%s", fname); // one that could not be opened has it in its text
    if (!ctx) TN_LOG_ERROR("%s\n", tn_error_text());
    return ctx;
}
