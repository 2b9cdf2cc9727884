// SPDX-License-Identifier: MIT
// dsv4_hc_comb dsv4_hc_pre dsv4_hc_post: hyper-connections, hc residual streams instead of one.
#include <math.h>

#include "base/error.h"
#include "core/params.h"
#include "cpu/kernels/gemm_float/gemm_float.h"
#include "cpu/op.h"
#include "cpu/operand.h"
#include "cpu/require.h"

static float element(const struct tn_operand * x, int64_t i0, int64_t i1, int64_t i2) {
    return *(const float *) (tn_operand_row(x, i1, i2, 0) + (size_t) i0 * x->nb[0]);
}

// --- dsv4_hc_comb: for each token a matrix c[d, s] whose rows and columns add up to 1, nearly

enum { HC = 4 };

struct comb {
    struct tn_operand y, mixes, scale, base;
    float eps;
    int32_t n_iter;
};

// Softmax over d, for each s; zeros where nothing but -infinity is given.
static void start_comb(const struct comb * a, int64_t t, float c[HC][HC]) {
    const float scale = element(&a->scale, 2, 0, 0);
    for (int s = 0; s < HC; s++) {
        float max = -INFINITY, sum = 0.0f;
        for (int d = 0; d < HC; d++) {
            const int64_t i = 2 * HC + d + HC * s;
            c[s][d] = element(&a->mixes, i, t, 0) * scale + element(&a->base, i, 0, 0);
            max = c[s][d] > max ? c[s][d] : max;
        }
        for (int d = 0; d < HC; d++) {
            c[s][d] = c[s][d] == -INFINITY ? 0.0f : expf(c[s][d] - max);
            sum += c[s][d];
        }
        for (int d = 0; d < HC; d++)
            c[s][d] = (sum != 0.0f ? c[s][d] / sum : 0.0f) + a->eps;
    }
}

static void divide_over_s(float c[HC][HC], float eps) {
    for (int d = 0; d < HC; d++) {
        const float sum = eps + c[0][d] + c[1][d] + c[2][d] + c[3][d];
        for (int s = 0; s < HC; s++)
            c[s][d] /= sum;
    }
}

static void divide_over_d(float c[HC][HC], float eps) {
    for (int s = 0; s < HC; s++) {
        const float sum = eps + c[s][0] + c[s][1] + c[s][2] + c[s][3];
        for (int d = 0; d < HC; d++)
            c[s][d] /= sum;
    }
}

static void comb_part(const void * arg, const struct tn_cpu_part * part) {
    const struct comb * a = arg;
    for (int64_t t = part->begin; t < part->end; t++) {
        float c[HC][HC];
        start_comb(a, t, c);
        divide_over_s(c, a->eps);
        for (int32_t i = 1; i < a->n_iter; i++) {
            divide_over_d(c, a->eps);
            divide_over_s(c, a->eps);
        }
        for (int s = 0; s < HC; s++) {
            float * y = (float *) tn_operand_row(&a->y, s, t, 0);
            for (int d = 0; d < HC; d++)
                y[d] = c[s][d];
        }
    }
}

static enum ggml_status comb_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct comb a = {
        .y = tn_operand_of(node),
        .mixes = tn_operand_of(node->src[0]),
        .scale = tn_operand_of(node->src[1]),
        .base = tn_operand_of(node->src[2]),
        .eps = tn_param_f32(node, 0),
        .n_iter = tn_param_i32(node, 1),
    };
    const int64_t cost = 300 + 2 * HC * HC * (int64_t) a.n_iter;
    tn_cpu_run_parts(run, a.y.ne[2], cost, (struct tn_cpu_work){ comb_part, &a });
    return GGML_STATUS_SUCCESS;
}

// --- dsv4_hc_pre: y[i, t] = sum over h of x[i, h, t]*weights[h, t], or scale * sum of x*sigmoid(gate)

struct pre {
    struct tn_operand y, x, weights;
    float scale;
};

static void pre_tile(const void * arg, const struct tn_tile * t) {
    const struct pre * a = arg;
    float buf[TN_TILE];
    float * y = (float *) tn_operand_row(&a->y, t->i1, 0, 0) + t->i0;
    for (int64_t i = 0; i < t->n; i++)
        y[i] = 0.0f;
    for (int64_t h = 0; h < a->x.ne[1]; h++) {
        const float * x = tn_operand_load(&a->x, tn_operand_row(&a->x, h, t->i1, 0), t->i0, t->n, buf);
        tn_gemm_float_axpy(t->n, y, x, element(&a->weights, h, t->i1, 0));
    }
}

static void pre_gated_tile(const void * arg, const struct tn_tile * t) {
    const struct pre * a = arg;
    float x_buf[TN_TILE], gate_buf[TN_TILE];
    float * y = (float *) tn_operand_row(&a->y, t->i1, 0, 0) + t->i0;
    for (int64_t i = 0; i < t->n; i++)
        y[i] = 0.0f;
    for (int64_t h = 0; h < a->x.ne[1]; h++) {
        const float * x = tn_operand_load(&a->x, tn_operand_row(&a->x, h, t->i1, 0), t->i0, t->n, x_buf);
        const float * gate =
            tn_operand_load(&a->weights, tn_operand_row(&a->weights, h, t->i1, 0), t->i0, t->n, gate_buf);
        for (int64_t i = 0; i < t->n; i++)
            y[i] += x[i] / (1.0f + expf(-gate[i]));
    }
    for (int64_t i = 0; i < t->n; i++)
        y[i] *= a->scale;
}

static enum ggml_status pre_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct pre a = {
        .y = tn_operand_of(node),
        .x = tn_operand_of(node->src[0]),
        .weights = tn_operand_of(node->src[1]),
        .scale = tn_param_f32(node, 0),
    };
    const bool gated = tn_param_i32(node, 1) != 0;
    const struct tn_tile_work work = { gated ? pre_gated_tile : pre_tile, &a };
    tn_operand_tiles(run, &a.y, (gated ? 12 : 1) * a.x.ne[1] + 1, work);
    return GGML_STATUS_SUCCESS;
}

// --- dsv4_hc_post: y[i, d, t] = x[i, t]*post[d, t] + sum over s of residual[i, s, t]*comb[d, s, t]

struct post {
    struct tn_operand y, x, residual, post, comb; // comb without data: the identity
};

static void post_tile(const void * arg, const struct tn_tile * t) {
    const struct post * a = arg;
    const int64_t d = t->i1;
    float buf[TN_TILE];
    float * y = (float *) tn_operand_row(&a->y, d, t->i2, 0) + t->i0;
    const float factor = element(&a->post, d, t->i2, 0);
    const float * x = tn_operand_load(&a->x, tn_operand_row(&a->x, t->i2, 0, 0), t->i0, t->n, buf);
    for (int64_t i = 0; i < t->n; i++)
        y[i] = x[i] * factor;
    for (int64_t s = 0; s < a->residual.ne[1]; s++) {
        if (!a->comb.data && s != d) continue;
        const char * row = tn_operand_row(&a->residual, s, t->i2, 0);
        const float * r = tn_operand_load(&a->residual, row, t->i0, t->n, buf);
        tn_gemm_float_axpy(t->n, y, r, a->comb.data ? element(&a->comb, d, s, t->i2) : 1.0f);
    }
}

static enum ggml_status post_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct post a = {
        .y = tn_operand_of(node),
        .x = tn_operand_of(node->src[0]),
        .residual = tn_operand_of(node->src[1]),
        .post = tn_operand_of(node->src[2]),
    };
    if (node->src[3]) a.comb = tn_operand_of(node->src[3]);
    tn_operand_tiles(run, &a.y, a.residual.ne[1] + 1, (struct tn_tile_work){ post_tile, &a });
    return GGML_STATUS_SUCCESS;
}

// Types and shapes are the rule's matter (core); any strides will do.
static bool hyper_supports(const struct ggml_tensor * node) {
    return tn_require_f32_result(node);
}

const struct tn_cpu_op tn_cpu_op_dsv4_hc_comb = { .supports = hyper_supports, .run = comb_run };
const struct tn_cpu_op tn_cpu_op_dsv4_hc_pre = { .supports = hyper_supports, .run = pre_run };
const struct tn_cpu_op tn_cpu_op_dsv4_hc_post = { .supports = hyper_supports, .run = post_run };
