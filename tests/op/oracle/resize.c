// SPDX-License-Identifier: MIT
// upscale.
#include "op/oracle/oracle.h"

enum { ALIGN = GGML_SCALE_FLAG_ALIGN_CORNERS, SMOOTH = GGML_SCALE_FLAG_ANTIALIAS };

static bool is_aligned(const struct ggml_tensor * node, int d) {
    return (node->op_params[0] & ALIGN) && d < 2 && node->ne[d] > 1 && node->src[0]->ne[d] > 1;
}

// Result sizes over source sizes, or the distances between the first and last pixels.
static double scale_of(const struct ggml_tensor * node, int d) {
    const double out = (double) node->ne[d], in = (double) node->src[0]->ne[d];
    return is_aligned(node, d) ? (out - 1) / (in - 1) : out / in;
}

// The pixel below which pixel i of the result lies, by counting.
static int64_t nearest(const struct ggml_tensor * node, int d, int64_t i) {
    const int64_t less = is_aligned(node, d);
    const int64_t out = node->ne[d] - less, in = node->src[0]->ne[d] - less;
    int64_t j = 0;
    while ((j + 1) * out <= i * in)
        j++;
    return j;
}

static double cubic(double x) {
    const double a = -0.75;
    x = fabs(x);
    if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
    return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0.0;
}

// Weight that pixel j, inside or not, has in pixel i of the result.
static double weight(const struct ggml_tensor * node, int d, int64_t i, int64_t j) {
    const double scale = scale_of(node, d), offset = node->op_params[0] & ALIGN ? 0.0 : 0.5;
    const double u = ((double) i + offset) / scale - offset;
    const int mode = node->op_params[0] & 0xff;
    if (mode == GGML_SCALE_MODE_NEAREST) return j == nearest(node, d, i);
    if (mode == GGML_SCALE_MODE_BICUBIC) return cubic((double) j - u);
    if (node->op_params[0] & SMOOTH) {
        const double support = fmax(1.0, 1.0 / scale);
        const bool inside = j >= 0 && j < node->src[0]->ne[d];
        return inside ? fmax(0.0, 1.0 - fabs((double) j - u) / support) : 0.0;
    }
    return fmax(0.0, 1.0 - fabs((double) j - u));
}

static int64_t clamped(int64_t j, int64_t n) {
    return j < 0 ? 0 : j < n ? j : n - 1;
}

// Pixels up to two beyond the edges count as the edge.
double oracle_upscale(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * x = node->src[0];
    const int64_t i2 = nearest(node, 2, i[2]), i3 = nearest(node, 3, i[3]);
    double sum = 0.0, weights = 0.0;
    for (int64_t j1 = -2; j1 < x->ne[1] + 2; j1++) {
        const double w1 = weight(node, 1, i[1], j1);
        for (int64_t j0 = -2; j0 < x->ne[0] + 2 && w1 != 0.0; j0++) {
            const double w = w1 * weight(node, 0, i[0], j0);
            if (w == 0.0) continue;
            sum += w * cpu_get(x, clamped(j0, x->ne[0]), clamped(j1, x->ne[1]), i2, i3);
            weights += w;
        }
    }
    return sum / weights;
}
