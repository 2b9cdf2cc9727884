// SPDX-License-Identifier: MIT
// Typed values and arrays of values.
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "gguf/gguf_int.h"
#include "gguf/limits.h"

static const struct {
    const char * name;
    size_t size;
} types[GGUF_TYPE_COUNT] = {
    [GGUF_TYPE_UINT8] = { "u8", 1 },    [GGUF_TYPE_INT8] = { "i8", 1 },    [GGUF_TYPE_UINT16] = { "u16", 2 },
    [GGUF_TYPE_INT16] = { "i16", 2 },   [GGUF_TYPE_UINT32] = { "u32", 4 }, [GGUF_TYPE_INT32] = { "i32", 4 },
    [GGUF_TYPE_FLOAT32] = { "f32", 4 }, [GGUF_TYPE_BOOL] = { "bool", 1 },  [GGUF_TYPE_STRING] = { "str", 0 },
    [GGUF_TYPE_ARRAY] = { "arr", 0 },   [GGUF_TYPE_UINT64] = { "u64", 8 }, [GGUF_TYPE_INT64] = { "i64", 8 },
    [GGUF_TYPE_FLOAT64] = { "f64", 8 },
};

const char * gguf_type_name(enum gguf_type type) {
    return (unsigned) type < GGUF_TYPE_COUNT ? types[type].name : NULL;
}

size_t tn_value_type_size(enum gguf_type type) {
    return (unsigned) type < GGUF_TYPE_COUNT ? types[type].size : 0;
}

void tn_value_free(struct tn_gguf_value * v) {
    tn_mem_free(v->data);
    tn_mem_free(v->ends);
    *v = (struct tn_gguf_value){ 0 };
}

bool tn_value_set(struct tn_gguf_value * v, enum gguf_type type, bool is_array, const void * data, size_t n) {
    const size_t each = tn_value_type_size(type);
    size_t size;
    if (each == 0)
        return tn_refuse("a value of type %d (%s) cannot be set this way", (int) type, gguf_type_name(type));
    if (!data && n > 0) return tn_refuse("%zu elements are at NULL", n);
    if (n > (size_t) TN_GGUF_MAX_LENGTH || !tn_size_mul(each, n, &size)) {
        return tn_refuse("an array of %zu elements is too long", n);
    }
    char * copy = tn_mem_alloc(size, TN_MEM_GGUF);
    if (!copy) return false;
    if (size) memcpy(copy, data, size);
    *v = (struct tn_gguf_value){ .type = type, .is_array = is_array, .n = n, .data = copy, .size = size };
    return true;
}

static bool measure(const char * const * texts, size_t n, size_t * total) {
    *total = 0;
    for (size_t i = 0; i < n; i++) {
        if (!texts[i]) return tn_refuse("string %zu is NULL", i);
        if (!tn_size_add(*total, strlen(texts[i]) + 1, total))
            return tn_refuse("%zu strings are too long", n);
    }
    return true;
}

bool tn_value_set_strings(struct tn_gguf_value * v, bool is_array, const char * const * texts, size_t n) {
    size_t total;
    if (!texts && n > 0) return tn_refuse("%zu strings are at NULL", n);
    if (n > (size_t) TN_GGUF_MAX_LENGTH) return tn_refuse("an array of %zu strings is too long", n);
    if (!measure(texts, n, &total)) return false;
    struct tn_gguf_value r = { .type = GGUF_TYPE_STRING, .is_array = is_array, .n = n, .size = total };
    r.data = tn_mem_alloc(total, TN_MEM_GGUF);
    r.ends = tn_mem_calloc(n + 1, sizeof(r.ends[0]), TN_MEM_GGUF);
    if (!r.data || !r.ends) {
        tn_value_free(&r);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t size = strlen(texts[i]) + 1;
        memcpy(r.data + r.ends[i], texts[i], size);
        r.ends[i + 1] = r.ends[i] + size;
    }
    *v = r;
    return true;
}

bool tn_value_copy(struct tn_gguf_value * to, const struct tn_gguf_value * from) {
    struct tn_gguf_value r = *from;
    r.data = tn_mem_alloc(from->size, TN_MEM_GGUF);
    r.ends = from->ends ? tn_mem_alloc((from->n + 1) * sizeof(r.ends[0]), TN_MEM_GGUF) : NULL;
    if (!r.data || (from->ends && !r.ends)) {
        tn_value_free(&r);
        return false;
    }
    memcpy(r.data, from->data, from->size);
    if (r.ends) memcpy(r.ends, from->ends, (from->n + 1) * sizeof(r.ends[0]));
    *to = r;
    return true;
}

const char * tn_value_string(const struct tn_gguf_value * v, size_t i, size_t * len) {
    *len = v->ends[i + 1] - v->ends[i] - 1;
    return v->data + v->ends[i];
}
