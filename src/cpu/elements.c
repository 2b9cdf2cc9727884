// SPDX-License-Identifier: MIT
// ggml_get_*, ggml_set_*, ggml_new_*: single elements of tensors in host memory. A row a type says how an
// element becomes a number and back; values travel as double, which holds every i32 and f32.
#include <inttypes.h>

#include "base/error.h"
#include "base/half.h"
#include "base/log.h"
#include "core/build.h"
#include "core/context.h"
#include "core/shape.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"

// Towards zero, saturating; NaN: 0.
static int32_t to_i32(double v) {
    return v >= 0x1p31 ? INT32_MAX : v > -0x1p31 ? (int32_t) v : v == v ? INT32_MIN : 0;
}

#define INTEGER(name, type)                                                                                  \
    static double get_##name(const void * p) {                                                               \
        return *(const type *) p;                                                                            \
    }                                                                                                        \
    static void set_##name(void * p, double v) {                                                             \
        *(type *) p = (type) to_i32(v);                                                                      \
    }
INTEGER(i8, int8_t)
INTEGER(i16, int16_t)
INTEGER(i32, int32_t)
#undef INTEGER

static double get_f16(const void * p) {
    return (double) tn_f16_to_f32(*(const uint16_t *) p);
}

static void set_f16(void * p, double v) {
    *(uint16_t *) p = tn_f16_from_f32((float) v);
}

static double get_bf16(const void * p) {
    return (double) tn_bf16_to_f32(*(const uint16_t *) p);
}

static void set_bf16(void * p, double v) {
    *(uint16_t *) p = tn_bf16_from_f32((float) v);
}

static double get_f32(const void * p) {
    return (double) *(const float *) p;
}

static void set_f32(void * p, double v) {
    *(float *) p = (float) v;
}

struct access {
    double (*get)(const void * p);
    void (*set)(void * p, double v);
};

#define ACCESS(id, name) [GGML_TYPE_##id] = { get_##name, set_##name }
static const struct access accesses[GGML_TYPE_COUNT] = {
    ACCESS(I8, i8),   ACCESS(I16, i16),   ACCESS(I32, i32),
    ACCESS(F16, f16), ACCESS(BF16, bf16), ACCESS(F32, f32),
};
#undef ACCESS

static bool in_host_memory(const struct ggml_tensor * t) {
    const struct ggml_tensor * base = t->view_src ? t->view_src : t;
    if (base->buffer && !ggml_backend_buffer_is_host(base->buffer)) {
        return tn_refuse("the data is in a buffer of %s, not in host memory",
                         ggml_backend_buffer_name(base->buffer));
    }
    return t->data || tn_shape_empty(t) || tn_refuse("there is no data: the tensor was not allocated");
}

static bool has_elements(const struct ggml_tensor * t) {
    if (!t) return tn_refuse("the tensor is NULL");
    if (tn_tensor_is_poisoned(t)) return tn_refuse("the tensor was refused by its builder");
    if ((unsigned) t->type >= GGML_TYPE_COUNT || !accesses[t->type].get)
        return tn_refuse("elements of type %s have no access of their own", ggml_type_name(t->type));
    return in_host_memory(t);
}

static bool is_inside(const struct ggml_tensor * t, const int64_t * i) {
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        if (i[d] >= 0 && i[d] < t->ne[d]) continue;
        return tn_refuse("index %" PRId64 " of dimension %d, which has %" PRId64 " elements", i[d], d,
                         t->ne[d]);
    }
    return true;
}

static void complain(const char * function, const struct ggml_tensor * t) {
    tn_error_prefix("%s, tensor '%s'", function, t ? t->name : "");
    TN_LOG_ERROR("%s\n", tn_error_text());
}

static void * address(const struct ggml_tensor * t, const int64_t * i) {
    return (char *) t->data + (size_t) i[0] * t->nb[0] + (size_t) i[1] * t->nb[1] + (size_t) i[2] * t->nb[2] +
           (size_t) i[3] * t->nb[3];
}

// The element at four indices; NULL: refused.
static void * find(const char * function, const struct ggml_tensor * t, const int64_t * i) {
    if (has_elements(t) && is_inside(t, i)) return address(t, i);
    complain(function, t);
    return NULL;
}

static bool is_element(const struct ggml_tensor * t, int i) {
    const int64_t n = ggml_nelements(t);
    return (i >= 0 && i < n) || tn_refuse("index %d of %" PRId64 " elements", i, n);
}

// The element i, counted with the first dimension fastest.
static void * find_flat(const char * function, const struct ggml_tensor * t, int i) {
    int64_t at[GGML_MAX_DIMS] = { i, 0, 0, 0 };
    if (!has_elements(t) || !is_element(t, i)) {
        complain(function, t);
        return NULL;
    }
    for (int d = 0; d < GGML_MAX_DIMS - 1; d++) {
        at[d + 1] = at[d] / t->ne[d];
        at[d] %= t->ne[d];
    }
    return address(t, at);
}

static double get(const char * function, const struct ggml_tensor * t, const int64_t * i) {
    const void * p = find(function, t, i);
    return p ? accesses[t->type].get(p) : 0.0;
}

static double get_flat(const char * function, const struct ggml_tensor * t, int i) {
    const void * p = find_flat(function, t, i);
    return p ? accesses[t->type].get(p) : 0.0;
}

static void set(const char * function, const struct ggml_tensor * t, const int64_t * i, double v) {
    void * p = find(function, t, i);
    if (p) accesses[t->type].set(p, v);
}

static void set_flat(const char * function, const struct ggml_tensor * t, int i, double v) {
    void * p = find_flat(function, t, i);
    if (p) accesses[t->type].set(p, v);
}

static struct ggml_tensor * set_all(const char * function, struct ggml_tensor * t, double v) {
    if (!has_elements(t)) {
        complain(function, t);
        return t;
    }
    const int64_t n_rows = tn_shape_empty(t) ? 0 : ggml_nrows(t);
    for (int64_t r = 0; r < n_rows; r++) {
        const int64_t i1 = r % t->ne[1], i2 = r / t->ne[1] % t->ne[2], i3 = r / t->ne[1] / t->ne[2];
        char * row =
            (char *) t->data + (size_t) i1 * t->nb[1] + (size_t) i2 * t->nb[2] + (size_t) i3 * t->nb[3];
        for (int64_t i = 0; i < t->ne[0]; i++)
            accesses[t->type].set(row + (size_t) i * t->nb[0], v);
    }
    return t;
}

static struct ggml_tensor * new_scalar(const char * function, struct ggml_context * ctx, enum ggml_type type,
                                       double v) {
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, type, 1);
    if (tn_tensor_is_poisoned(t)) return t;
    if (t->data) return set_all(function, t, v);
    tn_error_set("the context was made with no_alloc: there is no memory for the value");
    return tn_build_poison(ctx, function);
}

struct ggml_tensor * ggml_new_i32(struct ggml_context * ctx, int32_t value) {
    return new_scalar(__func__, ctx, GGML_TYPE_I32, value);
}

struct ggml_tensor * ggml_new_f32(struct ggml_context * ctx, float value) {
    return new_scalar(__func__, ctx, GGML_TYPE_F32, (double) value);
}

struct ggml_tensor * ggml_set_i32(struct ggml_tensor * t, int32_t value) {
    return set_all(__func__, t, value);
}

struct ggml_tensor * ggml_set_f32(struct ggml_tensor * t, float value) {
    return set_all(__func__, t, (double) value);
}

int32_t ggml_get_i32_1d(const struct ggml_tensor * t, int i) {
    return to_i32(get_flat(__func__, t, i));
}

void ggml_set_i32_1d(const struct ggml_tensor * t, int i, int32_t value) {
    set_flat(__func__, t, i, value);
}

float ggml_get_f32_1d(const struct ggml_tensor * t, int i) {
    return (float) get_flat(__func__, t, i);
}

void ggml_set_f32_1d(const struct ggml_tensor * t, int i, float value) {
    set_flat(__func__, t, i, (double) value);
}

int32_t ggml_get_i32_nd(const struct ggml_tensor * t, int i0, int i1, int i2, int i3) {
    return to_i32(get(__func__, t, (const int64_t[]){ i0, i1, i2, i3 }));
}

void ggml_set_i32_nd(const struct ggml_tensor * t, int i0, int i1, int i2, int i3, int32_t value) {
    set(__func__, t, (const int64_t[]){ i0, i1, i2, i3 }, value);
}

float ggml_get_f32_nd(const struct ggml_tensor * t, int i0, int i1, int i2, int i3) {
    return (float) get(__func__, t, (const int64_t[]){ i0, i1, i2, i3 });
}

void ggml_set_f32_nd(const struct ggml_tensor * t, int i0, int i1, int i2, int i3, float value) {
    set(__func__, t, (const int64_t[]){ i0, i1, i2, i3 }, (double) value);
}
