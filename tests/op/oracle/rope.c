// SPDX-License-Identifier: MIT
// rope rope_back.
#include "op/oracle/oracle.h"

// Which of the four positions pair m follows, and at which pair its section starts.
static int section_of(const int32_t * p, int64_t m, int64_t * start) {
    const int32_t * s = p + 11;
    const int64_t q = m % (s[0] + s[1] + s[2] + s[3]);
    *start = 0;
    if (p[2] == GGML_ROPE_TYPE_IMROPE) {
        if (q % 3 == 1 && q < 3 * s[1]) return 1;
        if (q % 3 == 2 && q < 3 * s[2]) return 2;
        return q % 3 == 0 && q < 3 * s[0] ? 0 : 3;
    }
    if (q < s[0]) return 0;
    *start = s[0];
    if (q < s[0] + s[1]) return 1;
    *start = s[0] + s[1];
    if (q < s[0] + s[1] + s[2]) return 2;
    *start = s[0] + s[1] + s[2];
    return 3;
}

static double dim_of(const struct ggml_tensor * node, double turns) {
    const double base = oracle_param(node, 5);
    return node->op_params[1] * log(node->op_params[4] / (turns * 2.0 * M_PI)) / (2.0 * log(base));
}

static double angle_of(const struct ggml_tensor * node, int64_t m, int64_t i2) {
    const int32_t * p = node->op_params;
    int64_t start = 0;
    const int section = p[2] & 8 ? section_of(p, m, &start) : 0;
    const double position = cpu_get(node->src[1], i2 + section * node->ne[2], 0, 0, 0);
    const int64_t cycle = p[11] + p[12] + p[13] + p[14];
    const double exponent = p[2] == GGML_ROPE_TYPE_VISION ? (double) (m % cycle - start) : (double) m;
    double angle = position * pow(oracle_param(node, 5), -2.0 * exponent / p[1]);
    if (node->src[2]) angle /= cpu_get(node->src[2], m, 0, 0, 0);
    const double interpolated = oracle_param(node, 6) * angle;
    if (oracle_param(node, 7) == 0.0) return interpolated;
    const double lo = fmax(0.0, floor(dim_of(node, oracle_param(node, 9))));
    const double hi = fmin(p[1] - 1, ceil(dim_of(node, oracle_param(node, 10))));
    const double ramp = fmin(1.0, fmax(0.0, ((double) m - lo) / fmax(0.001, hi - lo)));
    const double mix = oracle_param(node, 7) * (1.0 - ramp);
    return interpolated * (1.0 - mix) + angle * mix;
}

double oracle_rope(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * x = node->src[0];
    const int32_t * p = node->op_params;
    const int64_t first = p[15], c = i[0] - first;
    const int64_t half = p[2] == GGML_ROPE_TYPE_VISION ? p[1] : p[1] / 2;
    if (c < 0 || c >= 2 * half) return cpu_get(x, i[0], i[1], i[2], i[3]);
    const bool adjacent = p[2] == GGML_ROPE_TYPE_NORMAL;
    const int64_t m = adjacent ? c / 2 : c % half;
    const bool is_second = adjacent ? c % 2 == 1 : c >= half;
    const double a = cpu_get(x, first + (adjacent ? 2 * m : m), i[1], i[2], i[3]);
    const double b = cpu_get(x, first + (adjacent ? 2 * m + 1 : m + half), i[1], i[2], i[3]);
    double magnitude = oracle_param(node, 8);
    if (oracle_param(node, 7) != 0.0) magnitude *= 1.0 + 0.1 * log(1.0 / oracle_param(node, 6));
    const double angle = angle_of(node, m, i[2]);
    const double cosine = magnitude * cos(angle);
    const double sine = magnitude * sin(angle) * (node->op == GGML_OP_ROPE_BACK ? -1.0 : 1.0);
    return is_second ? a * sine + b * cosine : a * cosine - b * sine;
}
