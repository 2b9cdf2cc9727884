// SPDX-License-Identifier: MIT
// Nodes of operators by element, by row and over all elements; included by every_op.h.
#ifndef TN_TESTS_EVERY_MAP_H
#define TN_TESTS_EVERY_MAP_H

// Elements that make ten parts for the cheapest of maps.
static inline struct ggml_tensor * every_big(struct cpu_test * t, int i) {
    return i < 3 ? every_source(t, every_floats[i], 521, 97, 2, 2) : NULL;
}

#define EVERY_MAP(name, expression)                                                                          \
    static inline struct ggml_tensor * every_##name(struct cpu_test * t, int i) {                            \
        struct ggml_tensor * x = every_big(t, i);                                                            \
        return x ? expression : NULL;                                                                        \
    }

EVERY_MAP(sqr, ggml_sqr(t->ctx, x))
EVERY_MAP(sqrt, ggml_sqrt(t->ctx, x))
EVERY_MAP(log, ggml_log(t->ctx, x))
EVERY_MAP(sin, ggml_sin(t->ctx, x))
EVERY_MAP(cos, ggml_cos(t->ctx, x))
EVERY_MAP(scale, ggml_scale_bias(t->ctx, x, 0.7f, -0.1f))
EVERY_MAP(clamp, ggml_clamp(t->ctx, x, -0.5f, 0.8f))
EVERY_MAP(leaky_relu, ggml_leaky_relu(t->ctx, x, 0.1f, false))

static inline struct ggml_tensor * every_fill(struct cpu_test * t, int i) {
    struct ggml_tensor * x = i < 2 ? every_big(t, i) : NULL;
    return x ? ggml_fill(t->ctx, x, 0.3f) : NULL;
}

static inline struct ggml_tensor * every_unary(struct cpu_test * t, int i) {
    if (i >= GGML_UNARY_OP_COUNT * 2) return NULL;
    struct ggml_tensor * x = every_big(t, i / GGML_UNARY_OP_COUNT);
    const enum ggml_unary_op op = (enum ggml_unary_op)(i % GGML_UNARY_OP_COUNT);
    if (op == GGML_UNARY_OP_XIELU) return ggml_xielu(t->ctx, x, 0.8f, 0.6f, 0.5f, -1e-6f);
    return ggml_unary(t->ctx, x, op);
}

static inline struct ggml_tensor * every_glu(struct cpu_test * t, int i) {
    if (i >= GGML_GLU_OP_COUNT * 2) return NULL;
    const enum ggml_glu_op op = (enum ggml_glu_op)(i % GGML_GLU_OP_COUNT);
    struct ggml_tensor * a = every_f32(t, 522, 97, 1, 1);
    struct ggml_tensor * b = i < GGML_GLU_OP_COUNT ? every_f32(t, 522, 97, 1, 1) : NULL;
    if (op == GGML_GLU_OP_SWIGLU_OAI)
        return ggml_swiglu_oai(t->ctx, a, every_f32(t, 522, 97, 1, 1), 1.7f, 1.5f);
    if (op == GGML_GLU_OP_SWIGLU_CLAMP) return ggml_swiglu_clamp(t->ctx, a, b, 1.5f);
    return b ? ggml_glu_split(t->ctx, a, b, op) : ggml_glu(t->ctx, a, op, true);
}

// The second operand: of the same shape, a row, one element a row; in other types as well.
static inline struct ggml_tensor * every_second(struct cpu_test * t, int i) {
    switch (i) {
    case 0: return every_f32(t, 521, 97, 2, 2);
    case 1: return every_f32(t, 521, 1, 1, 2);
    case 2: return every_f32(t, 1, 97, 2, 1);
    default: return NULL;
    }
}

#define EVERY_BINARY(name)                                                                                   \
    static inline struct ggml_tensor * every_##name(struct cpu_test * t, int i) {                            \
        struct ggml_tensor * b = every_second(t, i);                                                         \
        return b ? ggml_##name(t->ctx, every_big(t, i), b) : NULL;                                           \
    }

EVERY_BINARY(sub)
EVERY_BINARY(mul)
EVERY_BINARY(div)

static inline struct ggml_tensor * every_add(struct cpu_test * t, int i) {
    if (i == 3) {
        struct ggml_tensor * x = every_source(t, GGML_TYPE_Q8_0, 512, 97, 2, 2);
        return ggml_add(t->ctx, x, every_f32(t, 512, 97, 2, 2));
    }
    struct ggml_tensor * b = every_second(t, i);
    return b ? ggml_add(t->ctx, every_big(t, i), b) : NULL;
}

static inline struct ggml_tensor * every_add1(struct cpu_test * t, int i) {
    struct ggml_tensor * one = ggml_new_tensor_1d(t->ctx, GGML_TYPE_F32, 1);
    cpu_allocate(t);
    *(float *) one->data = 0.37f;
    struct ggml_tensor * x = every_big(t, i);
    if (!x) return NULL;
    struct ggml_tensor * y = ggml_add(t->ctx, x, one);
    y->op = GGML_OP_ADD1; // what the deprecated builder makes
    return y;
}

static inline struct ggml_tensor * every_silu_back(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_silu_back(t->ctx, every_f32(t, 521, 97, 1, 1), every_f32(t, 521, 97, 1, 1));
}

static inline struct ggml_tensor * every_add_id(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_add_id(t->ctx, every_f32(t, 521, 11, 40, 1), every_f32(t, 521, 7, 1, 1),
                       every_index(t, 11, 40, 1, 7));
}

// --- sums

static inline struct ggml_tensor * every_sum(struct cpu_test * t, int i) {
    struct ggml_tensor * x = every_big(t, i);
    return x ? ggml_sum(t->ctx, x) : NULL;
}

static inline struct ggml_tensor * every_sum_rows(struct cpu_test * t, int i) {
    return i < 1 ? ggml_sum_rows(t->ctx, every_f32(t, 1031, 207, 1, 1)) : NULL;
}

static inline struct ggml_tensor * every_mean(struct cpu_test * t, int i) {
    return i < 1 ? ggml_mean(t->ctx, every_f32(t, 1031, 207, 1, 1)) : NULL;
}

static inline struct ggml_tensor * every_cumsum(struct cpu_test * t, int i) {
    return i < 1 ? ggml_cumsum(t->ctx, every_f32(t, 1031, 207, 1, 1)) : NULL;
}

static inline struct ggml_tensor * every_argmax(struct cpu_test * t, int i) {
    return i < 1 ? ggml_argmax(t->ctx, every_f32(t, 1031, 207, 1, 1)) : NULL;
}

static inline struct ggml_tensor * every_count_equal(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_count_equal(t->ctx, every_index(t, 521, 401, 1, 3), every_index(t, 521, 401, 1, 3));
}

static inline struct ggml_tensor * every_repeat_back(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_repeat_back(t->ctx, every_f32(t, 521 * 3, 98, 2, 1), every_f32(t, 521, 14, 2, 1));
}

// --- rows brought to size

static inline struct ggml_tensor * every_norm(struct cpu_test * t, int i) {
    return i < 1 ? ggml_norm(t->ctx, every_f32(t, 1031, 97, 1, 1), 1e-5f) : NULL;
}

static inline struct ggml_tensor * every_rms_norm(struct cpu_test * t, int i) {
    return i < 1 ? ggml_rms_norm(t->ctx, every_f32(t, 1031, 97, 1, 1), 1e-5f) : NULL;
}

static inline struct ggml_tensor * every_rms_norm_back(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_rms_norm_back(t->ctx, every_f32(t, 1031, 97, 1, 1), every_f32(t, 1031, 97, 1, 1), 1e-5f);
}

static inline struct ggml_tensor * every_l2_norm(struct cpu_test * t, int i) {
    return i < 1 ? ggml_l2_norm(t->ctx, every_f32(t, 1031, 97, 1, 1), 1e-5f) : NULL;
}

static inline struct ggml_tensor * every_group_norm(struct cpu_test * t, int i) {
    return i < 1 ? ggml_group_norm(t->ctx, every_f32(t, 61, 37, 26, 2), 6, 1e-5f) : NULL;
}

// Plain, with a mask and slopes, with sinks too.
static inline struct ggml_tensor * every_softmax(struct cpu_test * t, int i) {
    struct ggml_tensor * x = every_f32(t, 301, 23, 6, 2);
    if (i == 0) return ggml_soft_max(t->ctx, x);
    struct ggml_tensor * mask = every_source(t, i % 2 ? GGML_TYPE_F16 : GGML_TYPE_F32, 301, 23, 2, 1);
    struct ggml_tensor * y = ggml_soft_max_ext(t->ctx, x, mask, 0.6f, 4.0f);
    if (i == 2) ggml_soft_max_add_sinks(y, every_f32(t, 6, 1, 1, 1));
    return i < 3 ? y : NULL;
}

static inline struct ggml_tensor * every_softmax_back(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_soft_max_ext_back(t->ctx, every_f32(t, 301, 207, 1, 1), every_f32(t, 301, 207, 1, 1), 0.6f,
                                  0);
}

static inline struct ggml_tensor * every_cross_entropy_loss(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_cross_entropy_loss(t->ctx, every_f32(t, 301, 207, 1, 1), every_f32(t, 301, 207, 1, 1));
}

static inline struct ggml_tensor * every_cross_entropy_loss_back(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_cross_entropy_loss_back(t->ctx, every_f32(t, 1, 1, 1, 1), every_f32(t, 301, 207, 1, 1),
                                        every_f32(t, 301, 207, 1, 1));
}

// Parameters between 0 and 1, moments above 0.
static inline struct ggml_tensor * every_positive(struct cpu_test * t, int64_t ne0, int64_t ne1) {
    const int64_t ne[] = { ne0, ne1, 1, 1 };
    return cpu_source(t, GGML_TYPE_F32, ne, CPU_DENSE, 0.01f, 0.99f);
}

static inline struct ggml_tensor * every_opt_step_adamw(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    struct ggml_tensor * w = every_f32(t, 521, 97, 1, 1);
    ggml_set_param(w);
    return ggml_opt_step_adamw(t->ctx, w, every_f32(t, 521, 97, 1, 1), every_f32(t, 521, 97, 1, 1),
                               every_positive(t, 521, 97), every_positive(t, 7, 1));
}

static inline struct ggml_tensor * every_opt_step_sgd(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    struct ggml_tensor * w = every_f32(t, 521, 207, 1, 1);
    ggml_set_param(w);
    return ggml_opt_step_sgd(t->ctx, w, every_f32(t, 521, 207, 1, 1), every_positive(t, 2, 1));
}

// --- functions of the caller: element-wise, each task its share

static inline void every_share(struct ggml_tensor * y, const struct ggml_tensor * x, int ith, int nth) {
    const int64_t n = ggml_nelements(y);
    for (int64_t k = n * ith / nth; k < n * (ith + 1) / nth; k++)
        ((float *) y->data)[k] = 2.0f * ((const float *) x->data)[k] + 1.0f;
}

static inline void every_share_custom(struct ggml_tensor * y, int ith, int nth, void * data) {
    (void) data;
    every_share(y, y->src[0], ith, nth);
}

static inline void every_share_custom1(struct ggml_tensor * y, const struct ggml_tensor * a, int ith, int nth,
                                       void * data) {
    (void) data;
    every_share(y, a, ith, nth);
}

static inline void every_share_custom2(struct ggml_tensor * y, const struct ggml_tensor * a,
                                       const struct ggml_tensor * b, int ith, int nth, void * data) {
    (void) data, (void) a;
    every_share(y, b, ith, nth);
}

static inline void every_share_custom3(struct ggml_tensor * y, const struct ggml_tensor * a,
                                       const struct ggml_tensor * b, const struct ggml_tensor * c, int ith,
                                       int nth, void * data) {
    (void) data, (void) a, (void) b;
    every_share(y, c, ith, nth);
}

static inline struct ggml_tensor * every_map_custom1(struct cpu_test * t, int i) {
    return i < 1 ? ggml_map_custom1(t->ctx, every_big(t, 0), every_share_custom1, GGML_N_TASKS_MAX, NULL)
                 : NULL;
}

static inline struct ggml_tensor * every_map_custom2(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_map_custom2(t->ctx, every_big(t, 0), every_big(t, 0), every_share_custom2, 3, NULL);
}

static inline struct ggml_tensor * every_map_custom3(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_map_custom3(t->ctx, every_big(t, 0), every_big(t, 0), every_big(t, 0), every_share_custom3,
                            GGML_N_TASKS_MAX, NULL);
}

static inline struct ggml_tensor * every_custom(struct cpu_test * t, int i) {
    struct ggml_tensor * args[] = { every_big(t, 0) };
    if (i > 0) return NULL;
    return ggml_custom_4d(t->ctx, GGML_TYPE_F32, 521, 97, 2, 2, args, 1, every_share_custom, GGML_N_TASKS_MAX,
                          NULL);
}

#endif
