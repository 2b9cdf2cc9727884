// SPDX-License-Identifier: MIT
// im2col im2col_3d im2col_back col2im_1d.
#include "op/oracle/oracle.h"

static int dims_of(const struct ggml_tensor * node) {
    return node->op == GGML_OP_IM2COL_3D ? 3 : node->op_params[6] ? 2 : 1;
}

// Data element under element `index` of the column of output o; batch is the last index. 0 outside.
static double under(const struct ggml_tensor * x, const struct oracle_window * w, const int64_t * kernel,
                    int dims, const int64_t * column) {
    int64_t at[4] = { 0 }, index = column[0];
    for (int i = 0; i < dims; i++) {
        at[i] = column[1 + i] * w->s[i] + index % kernel[i] * w->d[i] - w->p[i];
        if (at[i] < 0 || at[i] >= x->ne[i]) return 0.0;
        index /= kernel[i];
    }
    return dims == 3   ? cpu_get(x, at[0], at[1], at[2], column[4] + index)
           : dims == 2 ? cpu_get(x, at[0], at[1], index, column[3])
                       : cpu_get(x, at[0], index, column[2], 0);
}

double oracle_im2col(const struct ggml_tensor * node, const int64_t * i) {
    const int dims = dims_of(node);
    const struct oracle_window w = oracle_window_of(node, dims == 3 ? 3 : 2, dims);
    int64_t column[5] = { i[0], i[1], i[2], i[3] };
    if (dims == 3) { // the last dimension holds depth and batch
        const int64_t channels = node->op_params[9], depth = node->ne[3] / (node->src[1]->ne[3] / channels);
        column[3] = i[3] % depth;
        column[4] = i[3] / depth * channels;
    }
    return under(node->src[1], &w, node->src[0]->ne, dims, column);
}

// Sum over all column entries whose place is this element.
double oracle_im2col_back(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * g = node->src[0];
    const int dims = dims_of(node);
    const struct oracle_window w = oracle_window_of(node, 2, dims);
    const int64_t * kernel = node->src[1]->ne;
    const int64_t k1 = dims == 2 ? kernel[1] : 1, y = dims == 2 ? i[1] : 0;
    const int64_t channel = dims == 2 ? i[2] : i[1], rows = dims == 2 ? g->ne[2] : 1;
    double sum = 0.0;
    for (int64_t oy = 0; oy < rows; oy++) {
        for (int64_t ox = 0; ox < g->ne[1]; ox++) {
            const int64_t x_left = i[0] + w.p[0] - ox * w.s[0], y_left = y + w.p[1] - oy * w.s[1];
            if (x_left < 0 || x_left % w.d[0] || x_left / w.d[0] >= kernel[0]) continue;
            if (y_left < 0 || y_left % w.d[1] || y_left / w.d[1] >= k1) continue;
            const int64_t index = (channel * k1 + y_left / w.d[1]) * kernel[0] + x_left / w.d[0];
            sum += oracle_term(dims == 2 ? cpu_get(g, index, ox, oy, i[3]) : cpu_get(g, index, ox, i[2], 0));
        }
    }
    return sum;
}

double oracle_col2im(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * a = node->src[0];
    const int64_t stride = node->op_params[0], pad = node->op_params[2], n = a->ne[0] / node->ne[1];
    double sum = 0.0;
    for (int64_t column = 0; column < a->ne[1]; column++) {
        const int64_t k = i[0] + pad - column * stride;
        if (k >= 0 && k < n) sum += oracle_term(cpu_get(a, i[1] * n + k, column, 0, 0));
    }
    return sum;
}
