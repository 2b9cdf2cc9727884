// SPDX-License-Identifier: MIT
// Public accessors and setters of model files. A wrong id or type gives 0, NULL or "", with a text.
#include "gguf.h"

#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/log.h"
#include "core/context.h"
#include "core/shape.h"
#include "gguf/gguf_int.h"
#include "gguf/limits.h"
#include "quant/type.h"

struct gguf_context * gguf_init_empty(void) {
    struct gguf_context * ctx = tn_mem_calloc(1, sizeof(*ctx), TN_MEM_GGUF);
    if (!ctx) return NULL;
    ctx->version = GGUF_VERSION;
    ctx->alignment = GGUF_DEFAULT_ALIGNMENT;
    return ctx;
}

void gguf_free(struct gguf_context * ctx) {
    if (!ctx) return;
    for (size_t i = 0; i < ctx->kv.count; i++) {
        tn_mem_free(ctx->kv.items[i].key);
        tn_value_free(&ctx->kv.items[i].value);
    }
    for (size_t i = 0; i < ctx->tensors.count; i++)
        tn_mem_free(ctx->tensors.items[i].name);
    TN_ARRAY_FREE(&ctx->kv);
    TN_ARRAY_FREE(&ctx->tensors);
    tn_names_free(&ctx->key_names);
    tn_names_free(&ctx->tensor_names);
    tn_mem_free(ctx);
}

uint32_t gguf_get_version(const struct gguf_context * ctx) {
    return ctx ? ctx->version : 0;
}

size_t gguf_get_alignment(const struct gguf_context * ctx) {
    return ctx ? ctx->alignment : 0;
}

size_t gguf_get_data_offset(const struct gguf_context * ctx) {
    return ctx ? ctx->data_offset : 0;
}

// ---- keys and values

// What the scalar types are called in C and in the names of functions.
#define TN_GGUF_SCALARS(X)                                                                                   \
    X(uint8_t, u8, GGUF_TYPE_UINT8)                                                                          \
    X(int8_t, i8, GGUF_TYPE_INT8)                                                                            \
    X(uint16_t, u16, GGUF_TYPE_UINT16)                                                                       \
    X(int16_t, i16, GGUF_TYPE_INT16)                                                                         \
    X(uint32_t, u32, GGUF_TYPE_UINT32)                                                                       \
    X(int32_t, i32, GGUF_TYPE_INT32)                                                                         \
    X(float, f32, GGUF_TYPE_FLOAT32)                                                                         \
    X(uint64_t, u64, GGUF_TYPE_UINT64)                                                                       \
    X(int64_t, i64, GGUF_TYPE_INT64)                                                                         \
    X(double, f64, GGUF_TYPE_FLOAT64)                                                                        \
    X(bool, bool, GGUF_TYPE_BOOL)

int64_t gguf_get_n_kv(const struct gguf_context * ctx) {
    return ctx ? (int64_t) ctx->kv.count : 0;
}

const char * tn_gguf_key_name(const struct gguf_context * ctx, int64_t id) {
    return ctx->kv.items[id].key;
}

int64_t gguf_find_key(const struct gguf_context * ctx, const char * key) {
    return ctx && key ? tn_names_find(&ctx->key_names, ctx, tn_gguf_key_name, key) : -1;
}

static const struct tn_gguf_kv * kv_at(const struct gguf_context * ctx, int64_t id) {
    if (ctx && id >= 0 && id < (int64_t) ctx->kv.count) return &ctx->kv.items[id];
    tn_error_set("gguf: there is no key with id %" PRId64 ", the file has %" PRId64, id, gguf_get_n_kv(ctx));
    return NULL;
}

const char * gguf_get_key(const struct gguf_context * ctx, int64_t key_id) {
    const struct tn_gguf_kv * kv = kv_at(ctx, key_id);
    return kv ? kv->key : "";
}

enum gguf_type gguf_get_kv_type(const struct gguf_context * ctx, int64_t key_id) {
    const struct tn_gguf_kv * kv = kv_at(ctx, key_id);
    if (!kv) return GGUF_TYPE_COUNT;
    return kv->value.is_array ? GGUF_TYPE_ARRAY : kv->value.type;
}

enum gguf_type gguf_get_arr_type(const struct gguf_context * ctx, int64_t key_id) {
    const struct tn_gguf_kv * kv = kv_at(ctx, key_id);
    if (!kv) return GGUF_TYPE_COUNT;
    if (!kv->value.is_array) tn_error_set("gguf: key '%s' is no array", kv->key);
    return kv->value.is_array ? kv->value.type : GGUF_TYPE_COUNT;
}

// The scalar of this type, NULL with a text otherwise.
static const void * scalar_at(const struct gguf_context * ctx, int64_t id, enum gguf_type type) {
    const struct tn_gguf_kv * kv = kv_at(ctx, id);
    if (!kv) return NULL;
    if (!kv->value.is_array && kv->value.type == type) return kv->value.data;
    tn_error_set("gguf: key '%s' is %s%s, not %s", kv->key, kv->value.is_array ? "an array of " : "",
                 gguf_type_name(kv->value.type), gguf_type_name(type));
    return NULL;
}

#define TN_GGUF_GET(T, suffix, type)                                                                         \
    T gguf_get_val_##suffix(const struct gguf_context * ctx, int64_t key_id) {                               \
        T value = 0;                                                                                         \
        const void * at = scalar_at(ctx, key_id, type);                                                      \
        if (at) memcpy(&value, at, sizeof(value));                                                           \
        return value;                                                                                        \
    }
TN_GGUF_SCALARS(TN_GGUF_GET)

const char * gguf_get_val_str(const struct gguf_context * ctx, int64_t key_id) {
    const char * text = scalar_at(ctx, key_id, GGUF_TYPE_STRING);
    return text ? text : "";
}

const void * gguf_get_val_data(const struct gguf_context * ctx, int64_t key_id) {
    const struct tn_gguf_kv * kv = kv_at(ctx, key_id);
    if (!kv) return NULL;
    if (!kv->value.is_array && kv->value.type != GGUF_TYPE_STRING) return kv->value.data;
    tn_error_set("gguf: key '%s' is a string or an array", kv->key);
    return NULL;
}

size_t gguf_get_arr_n(const struct gguf_context * ctx, int64_t key_id) {
    const struct tn_gguf_kv * kv = kv_at(ctx, key_id);
    return kv ? kv->value.n : 0;
}

const void * gguf_get_arr_data(const struct gguf_context * ctx, int64_t key_id) {
    const struct tn_gguf_kv * kv = kv_at(ctx, key_id);
    if (!kv) return NULL;
    if (kv->value.is_array && kv->value.type != GGUF_TYPE_STRING) return kv->value.data;
    tn_error_set("gguf: key '%s' is no array, or one of strings", kv->key);
    return NULL;
}

const char * gguf_get_arr_str(const struct gguf_context * ctx, int64_t key_id, size_t i) {
    const struct tn_gguf_kv * kv = kv_at(ctx, key_id);
    size_t len;
    if (!kv) return "";
    if (kv->value.type == GGUF_TYPE_STRING && i < kv->value.n) return tn_value_string(&kv->value, i, &len);
    tn_error_set("gguf: key '%s' has no string %zu", kv->key, i);
    return "";
}

bool tn_gguf_check_alignment(const struct tn_gguf_value * value) {
    uint32_t n;
    if (value->type != GGUF_TYPE_UINT32 || value->is_array) {
        return tn_refuse("general.alignment is %s%s, must be u32", value->is_array ? "an array of " : "",
                         gguf_type_name(value->type));
    }
    memcpy(&n, value->data, sizeof(n));
    if (tn_is_pow2(n) && n <= TN_GGUF_MAX_ALIGNMENT) return true;
    return tn_refuse("general.alignment is %" PRIu32 ", must be a power of two up to 2^30", n);
}

static bool is_alignment(const char * key) {
    return strcmp(key, GGUF_KEY_GENERAL_ALIGNMENT) == 0;
}

// Follows a new alignment: offsets of tensors change with it.
static bool follow_alignment(struct gguf_context * ctx, size_t alignment) {
    const size_t before = ctx->alignment;
    ctx->alignment = alignment;
    if (tn_tensor_info_layout(ctx)) return true;
    ctx->alignment = before;
    return false;
}

static bool accept_alignment(struct gguf_context * ctx, const struct tn_gguf_value * value) {
    uint32_t n;
    if (!tn_gguf_check_alignment(value)) return false;
    memcpy(&n, value->data, sizeof(n));
    return follow_alignment(ctx, n);
}

bool tn_gguf_append(struct gguf_context * ctx, char * key, const struct tn_gguf_value * value) {
    if (!TN_ARRAY_RESERVE(&ctx->kv, 1, TN_MEM_GGUF)) return false;
    if (is_alignment(key) && !accept_alignment(ctx, value)) return false;
    ctx->kv.items[ctx->kv.count] = (struct tn_gguf_kv){ .key = key, .value = *value };
    if (!tn_names_add(&ctx->key_names, ctx, tn_gguf_key_name, (int64_t) ctx->kv.count)) return false;
    ctx->kv.count++;
    return true;
}

int64_t gguf_remove_key(struct gguf_context * ctx, const char * key) {
    const int64_t id = gguf_find_key(ctx, key);
    if (id < 0) return -1;
    struct tn_gguf_kv * kv = &ctx->kv.items[id];
    if (is_alignment(kv->key)) follow_alignment(ctx, GGUF_DEFAULT_ALIGNMENT);
    tn_mem_free(kv->key);
    tn_value_free(&kv->value);
    memmove(kv, kv + 1, (ctx->kv.count - (size_t) id - 1) * sizeof(*kv));
    ctx->kv.count--;
    tn_names_rebuild(&ctx->key_names, ctx, tn_gguf_key_name, (int64_t) ctx->kv.count);
    return id;
}

static void report(const char * key) {
    tn_error_prefix("gguf: key '%.200s' was not set", key ? key : "(NULL)");
    TN_LOG_ERROR("%s\n", tn_error_text());
}

// Replaces the key, which then moves to the end. Takes over the value.
static void replace(struct gguf_context * ctx, const char * key, struct tn_gguf_value * value) {
    char * copy = tn_mem_strdup(key, TN_MEM_GGUF);
    bool ok = copy && (!is_alignment(key) || accept_alignment(ctx, value));
    // The new entry goes into the room of the old one, so that a replacement cannot fail half-way.
    if (ok && gguf_find_key(ctx, key) >= 0) gguf_remove_key(ctx, key);
    ok = ok && tn_gguf_append(ctx, copy, value);
    if (ok) return;
    tn_mem_free(copy);
    tn_value_free(value);
    report(key);
}

static bool check_key(const struct gguf_context * ctx, const char * key) {
    if (!ctx) return tn_refuse("the context is NULL");
    if (!key || !key[0]) return tn_refuse("the key is empty");
    return true;
}

static void set_data(struct gguf_context * ctx, const char * key, enum gguf_type type, bool is_array,
                     const void * data, size_t n) {
    struct tn_gguf_value value;
    if (check_key(ctx, key) && tn_value_set(&value, type, is_array, data, n)) {
        replace(ctx, key, &value);
    } else {
        report(key);
    }
}

static void set_strings(struct gguf_context * ctx, const char * key, bool is_array,
                        const char * const * texts, size_t n) {
    struct tn_gguf_value value;
    if (check_key(ctx, key) && tn_value_set_strings(&value, is_array, texts, n)) {
        replace(ctx, key, &value);
    } else {
        report(key);
    }
}

#define TN_GGUF_SET(T, suffix, type)                                                                         \
    void gguf_set_val_##suffix(struct gguf_context * ctx, const char * key, T val) {                         \
        set_data(ctx, key, type, false, &val, 1);                                                            \
    }
TN_GGUF_SCALARS(TN_GGUF_SET)

void gguf_set_val_str(struct gguf_context * ctx, const char * key, const char * val) {
    set_strings(ctx, key, false, &val, 1);
}

void gguf_set_arr_data(struct gguf_context * ctx, const char * key, enum gguf_type type, const void * data,
                       size_t n) {
    set_data(ctx, key, type, true, data, n);
}

void gguf_set_arr_str(struct gguf_context * ctx, const char * key, const char ** data, size_t n) {
    set_strings(ctx, key, true, (const char * const *) data, n);
}

void gguf_set_kv(struct gguf_context * ctx, const struct gguf_context * src) {
    if (!ctx || !src || ctx == src) return;
    for (size_t i = 0; i < src->kv.count; i++) {
        struct tn_gguf_value value;
        if (tn_value_copy(&value, &src->kv.items[i].value)) {
            replace(ctx, src->kv.items[i].key, &value);
        } else {
            report(src->kv.items[i].key);
        }
    }
}

// ---- tensors

int64_t gguf_get_n_tensors(const struct gguf_context * ctx) {
    return ctx ? (int64_t) ctx->tensors.count : 0;
}

int64_t gguf_find_tensor(const struct gguf_context * ctx, const char * name) {
    return ctx && name ? tn_names_find(&ctx->tensor_names, ctx, tn_tensor_info_name, name) : -1;
}

static const struct tn_gguf_tensor * tensor_at(const struct gguf_context * ctx, int64_t id) {
    if (ctx && id >= 0 && id < (int64_t) ctx->tensors.count) return &ctx->tensors.items[id];
    tn_error_set("gguf: there is no tensor with id %" PRId64 ", the file has %" PRId64, id,
                 gguf_get_n_tensors(ctx));
    return NULL;
}

size_t gguf_get_tensor_offset(const struct gguf_context * ctx, int64_t tensor_id) {
    const struct tn_gguf_tensor * t = tensor_at(ctx, tensor_id);
    return t ? t->offset : 0;
}

const char * gguf_get_tensor_name(const struct gguf_context * ctx, int64_t tensor_id) {
    const struct tn_gguf_tensor * t = tensor_at(ctx, tensor_id);
    return t ? t->name : "";
}

const int64_t * gguf_get_tensor_ne(const struct gguf_context * ctx, int64_t tensor_id) {
    static const int64_t none[GGML_MAX_DIMS];
    const struct tn_gguf_tensor * t = tensor_at(ctx, tensor_id);
    return t ? t->ne : none;
}

enum ggml_type gguf_get_tensor_type(const struct gguf_context * ctx, int64_t tensor_id) {
    const struct tn_gguf_tensor * t = tensor_at(ctx, tensor_id);
    return t ? t->type : GGML_TYPE_COUNT;
}

size_t gguf_get_tensor_size(const struct gguf_context * ctx, int64_t tensor_id) {
    const struct tn_gguf_tensor * t = tensor_at(ctx, tensor_id);
    return t ? t->size : 0;
}

static bool add(struct gguf_context * ctx, const struct ggml_tensor * tensor) {
    if (!ctx || !tensor) return tn_refuse("context or tensor is NULL");
    if (tn_tensor_is_poisoned(tensor))
        return tn_refuse("the tensor was refused: %s", tn_context_poison_text(tensor));
    if (!tensor->name[0]) return tn_refuse("the tensor has no name");
    if (!ggml_is_contiguous(tensor)) return tn_refuse("tensor '%s' is not contiguous", tensor->name);
    struct tn_gguf_tensor t = {
        .type = tensor->type, .data = tensor->data, .buffer = tensor->buffer, .source = tensor
    };
    tn_shape_copy(t.ne, tensor->ne);
    t.name = tn_mem_strdup(tensor->name, TN_MEM_GGUF);
    if (t.name && tn_tensor_info_measure(&t) && tn_tensor_info_add(ctx, &t)) return true;
    tn_error_prefix("tensor '%s'", tensor->name);
    tn_mem_free(t.name);
    return false;
}

static void report_tensor(const char * what) {
    tn_error_prefix("%s", what);
    TN_LOG_ERROR("%s\n", tn_error_text());
}

void gguf_add_tensor(struct gguf_context * ctx, const struct ggml_tensor * tensor) {
    if (!add(ctx, tensor)) report_tensor("gguf_add_tensor");
}

static struct tn_gguf_tensor * tensor_named(struct gguf_context * ctx, const char * name) {
    const int64_t id = gguf_find_tensor(ctx, name);
    if (id >= 0) return &ctx->tensors.items[id];
    tn_error_set("there is no tensor '%.200s'", name ? name : "(NULL)");
    return NULL;
}

void gguf_set_tensor_type(struct gguf_context * ctx, const char * name, enum ggml_type type) {
    struct tn_gguf_tensor * t = tensor_named(ctx, name);
    bool ok = t != NULL;
    if (ok) {
        const struct tn_gguf_tensor before = *t;
        t->type = type;
        ok = tn_tensor_info_measure(t) && tn_tensor_info_layout(ctx);
        if (!ok) *t = before;
        if (!ok) tn_error_prefix("tensor '%.200s'", name);
    }
    if (!ok) report_tensor("gguf_set_tensor_type");
}

void gguf_set_tensor_data(struct gguf_context * ctx, const char * name, const void * data) {
    struct tn_gguf_tensor * t = tensor_named(ctx, name);
    if (!t) {
        report_tensor("gguf_set_tensor_data");
        return;
    }
    t->data = data;
    t->buffer = NULL;
}
