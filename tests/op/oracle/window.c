// SPDX-License-Identifier: MIT
// win_part win_unpart get_rel_pos add_rel_pos.
#include "op/oracle/oracle.h"

// Windows are numbered in rows; what lies right of or below the image is zero.
double oracle_win_part(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * x = node->src[0];
    const int64_t w = node->ne[1], n_x = (x->ne[1] + w - 1) / w;
    const int64_t column = i[3] % n_x * w + i[1], row = i[3] / n_x * w + i[2];
    return column < x->ne[1] && row < x->ne[2] ? cpu_get(x, i[0], column, row, 0) : 0.0;
}

double oracle_win_unpart(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * x = node->src[0];
    const int64_t w = x->ne[1], n_x = (node->ne[1] + w - 1) / w;
    return cpu_get(x, i[0], i[1] % w, i[2] % w, i[2] / w * n_x + i[1] / w);
}

double oracle_get_rel_pos(const struct ggml_tensor * node, const int64_t * i) {
    return cpu_get(node->src[0], i[0], node->ne[1] - 1 - i[1] + i[2], 0, 0);
}

double oracle_add_rel_pos(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * w = node->src[1];
    const int64_t n = w->ne[0], x = i[1] % w->ne[1], y = i[1] / w->ne[1];
    return cpu_get(node->src[0], i[0], i[1], i[2], 0) + cpu_get(node->src[2], i[0] / n, x, y, i[2]) +
           cpu_get(w, i[0] % n, x, y, i[2]);
}
