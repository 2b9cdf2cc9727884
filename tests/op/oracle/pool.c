// SPDX-License-Identifier: MIT
// pool_1d pool_2d pool_2d_back.
#include "op/oracle/oracle.h"

// A window: sizes, strides, paddings of two dimensions.
struct window {
    int k0, k1, s0, s1, p0, p1;
};

static struct window window_of(const struct ggml_tensor * node) {
    const int32_t * p = node->op_params;
    if (node->op == GGML_OP_POOL_1D) return (struct window){ p[1], 1, p[2], 1, p[3], 0 };
    return (struct window){ p[1], p[2], p[3], p[4], p[5], p[6] };
}

static bool is_average(const struct ggml_tensor * node) {
    return node->op_params[0] == GGML_OP_POOL_AVG;
}

// One window's result; the largest position into *at, if there is one inside.
static double pooled(const struct ggml_tensor * node, const struct ggml_tensor * x, const int64_t * i,
                     int64_t * at) {
    const struct window w = window_of(node);
    double sum = 0.0, max = -INFINITY;
    int64_t count = 0;
    at[0] = at[1] = -1;
    for (int64_t ky = 0; ky < w.k1; ky++) {
        for (int64_t kx = 0; kx < w.k0; kx++) {
            const int64_t ix = i[0] * w.s0 + kx - w.p0, iy = i[1] * w.s1 + ky - w.p1;
            if (ix < 0 || iy < 0 || ix >= x->ne[0] || iy >= x->ne[1]) continue;
            const double v = cpu_get(x, ix, iy, i[2], i[3]);
            if (v > max || at[0] < 0) {
                at[0] = ix;
                at[1] = iy;
            }
            max = v > max ? v : max;
            sum += v;
            count++;
        }
    }
    if (!is_average(node)) return max;
    if (node->op == GGML_OP_POOL_1D) return count ? sum / (double) count : 0.0;
    return sum / (double) (w.k0 * w.k1);
}

double oracle_pool(const struct ggml_tensor * node, const int64_t * i) {
    int64_t at[2];
    return pooled(node, node->src[0], i, at);
}

// What all windows that hold position i give it.
double oracle_pool_back(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * g = node->src[0];
    const struct window w = window_of(node);
    double sum = 0.0;
    for (int64_t oy = 0; oy < g->ne[1]; oy++) {
        for (int64_t ox = 0; ox < g->ne[0]; ox++) {
            const int64_t o[] = { ox, oy, i[2], i[3] };
            const int64_t kx = i[0] + w.p0 - ox * w.s0, ky = i[1] + w.p1 - oy * w.s1;
            if (kx < 0 || kx >= w.k0 || ky < 0 || ky >= w.k1) continue;
            const double v = cpu_get(g, ox, oy, i[2], i[3]);
            int64_t at[2];
            pooled(node, node->src[1], o, at);
            if (is_average(node)) sum += oracle_term(v / (double) (w.k0 * w.k1));
            if (!is_average(node) && at[0] == i[0] && at[1] == i[1]) sum += oracle_term(v);
        }
    }
    return sum;
}
