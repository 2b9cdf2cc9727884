// SPDX-License-Identifier: MIT
// Single elements of tensors in host memory, for small programs and tests.
#include <inttypes.h>

#include "base/error.h"
#include "base/half.h"
#include "base/log.h"
#include "core/context.h"
#include "core/shape.h"
#include "cpu/kernels/convert/convert.h"
#include "ggml-cpu.h"

// Integers travel as int32_t, the others as float, so that neither loses digits on the way.
static float get(enum ggml_type type, const void * p) {
    switch (type) {
    case GGML_TYPE_I8: return *(const int8_t *) p;
    case GGML_TYPE_I16: return *(const int16_t *) p;
    case GGML_TYPE_I32: return (float) *(const int32_t *) p;
    case GGML_TYPE_F16: return tn_f16_to_f32(*(const uint16_t *) p);
    case GGML_TYPE_BF16: return tn_bf16_to_f32(*(const uint16_t *) p);
    default: return *(const float *) p;
    }
}

static void set(enum ggml_type type, void * p, float value) {
    int32_t i;
    tn_convert_f32_i32(1, &i, &value);
    switch (type) {
    case GGML_TYPE_I8: *(int8_t *) p = (int8_t) i; return;
    case GGML_TYPE_I16: *(int16_t *) p = (int16_t) i; return;
    case GGML_TYPE_I32: *(int32_t *) p = i; return;
    case GGML_TYPE_F16: *(uint16_t *) p = tn_f16_from_f32(value); return;
    case GGML_TYPE_BF16: *(uint16_t *) p = tn_bf16_from_f32(value); return;
    default: *(float *) p = value; return;
    }
}

static int32_t get_i32(enum ggml_type type, const void * p) {
    if (type == GGML_TYPE_I32) return *(const int32_t *) p;
    const float value = get(type, p);
    int32_t i;
    tn_convert_f32_i32(1, &i, &value);
    return i;
}

static void set_i32(enum ggml_type type, void * p, int32_t value) {
    switch (type) {
    case GGML_TYPE_I8: *(int8_t *) p = (int8_t) value; return;
    case GGML_TYPE_I16: *(int16_t *) p = (int16_t) value; return;
    case GGML_TYPE_I32: *(int32_t *) p = value; return;
    default: set(type, p, (float) value); return;
    }
}

static bool refuse(const char * function, const char * what) {
    tn_error_set("%s: %s", function, what);
    TN_LOG_ERROR("%s\n", tn_error_text());
    return false;
}

static bool check(const char * function, const struct ggml_tensor * t) {
    if (!t || tn_tensor_is_poisoned(t)) return refuse(function, "no tensor");
    if (!t->data && !tn_shape_empty(t)) return refuse(function, "the tensor has no data");
    switch (t->type) {
    case GGML_TYPE_I8:
    case GGML_TYPE_I16:
    case GGML_TYPE_I32:
    case GGML_TYPE_F16:
    case GGML_TYPE_BF16:
    case GGML_TYPE_F32: return true;
    default: return refuse(function, "only types i8, i16, i32, f16, bf16 and f32 have single elements");
    }
}

// The element at these indices; NULL, and refused, if there is none.
static void * find(const char * function, const struct ggml_tensor * t, const int64_t * i) {
    if (!check(function, t)) return NULL;
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        if (i[d] < 0 || i[d] >= t->ne[d]) {
            refuse(function, "the index is outside of the tensor");
            return NULL;
        }
    }
    return (char *) t->data + (size_t) i[0] * t->nb[0] + (size_t) i[1] * t->nb[1] + (size_t) i[2] * t->nb[2] +
           (size_t) i[3] * t->nb[3];
}

static void * find_linear(const char * function, const struct ggml_tensor * t, int64_t i) {
    if (!check(function, t)) return NULL;
    if (i < 0 || i >= ggml_nelements(t)) {
        refuse(function, "the index is outside of the tensor");
        return NULL;
    }
    int64_t at[GGML_MAX_DIMS];
    ggml_unravel_index(t, i, &at[0], &at[1], &at[2], &at[3]);
    return find(function, t, at);
}

int32_t ggml_get_i32_1d(const struct ggml_tensor * t, int i) {
    const void * p = find_linear(__func__, t, i);
    return p ? get_i32(t->type, p) : 0;
}

void ggml_set_i32_1d(const struct ggml_tensor * t, int i, int32_t value) {
    void * p = find_linear(__func__, t, i);
    if (p) set_i32(t->type, p, value);
}

float ggml_get_f32_1d(const struct ggml_tensor * t, int i) {
    const void * p = find_linear(__func__, t, i);
    return p ? get(t->type, p) : 0.0f;
}

void ggml_set_f32_1d(const struct ggml_tensor * t, int i, float value) {
    void * p = find_linear(__func__, t, i);
    if (p) set(t->type, p, value);
}

int32_t ggml_get_i32_nd(const struct ggml_tensor * t, int i0, int i1, int i2, int i3) {
    const void * p = find(__func__, t, (const int64_t[]){ i0, i1, i2, i3 });
    return p ? get_i32(t->type, p) : 0;
}

void ggml_set_i32_nd(const struct ggml_tensor * t, int i0, int i1, int i2, int i3, int32_t value) {
    void * p = find(__func__, t, (const int64_t[]){ i0, i1, i2, i3 });
    if (p) set_i32(t->type, p, value);
}

float ggml_get_f32_nd(const struct ggml_tensor * t, int i0, int i1, int i2, int i3) {
    const void * p = find(__func__, t, (const int64_t[]){ i0, i1, i2, i3 });
    return p ? get(t->type, p) : 0.0f;
}

void ggml_set_f32_nd(const struct ggml_tensor * t, int i0, int i1, int i2, int i3, float value) {
    void * p = find(__func__, t, (const int64_t[]){ i0, i1, i2, i3 });
    if (p) set(t->type, p, value);
}

struct ggml_tensor * ggml_set_i32(struct ggml_tensor * t, int32_t value) {
    if (!check(__func__, t)) return t;
    for (int64_t i = 0; i < ggml_nelements(t); i++)
        set_i32(t->type, find_linear(__func__, t, i), value);
    return t;
}

struct ggml_tensor * ggml_set_f32(struct ggml_tensor * t, float value) {
    if (!check(__func__, t)) return t;
    for (int64_t i = 0; i < ggml_nelements(t); i++)
        set(t->type, find_linear(__func__, t, i), value);
    return t;
}

struct ggml_tensor * ggml_new_i32(struct ggml_context * ctx, int32_t value) {
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 1);
    return ggml_set_i32(t, value);
}

struct ggml_tensor * ggml_new_f32(struct ggml_context * ctx, float value) {
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    return ggml_set_f32(t, value);
}
