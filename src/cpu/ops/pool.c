// SPDX-License-Identifier: MIT
// pool_1d pool_2d pool_2d_back: maximum or average of windows. Positions outside of the data are skipped, and
// so is NaN in a maximum; sums are kept in double.
#include <math.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct pool {
    struct tn_operand y, x, g; // g: gradient of the windows, POOL_2D_BACK
    int64_t kernel[2], stride[2], pad[2];
    bool average;
    bool count_inside; // what an average is divided by: positions inside, or all
};

// A window, cut to the data: x0 .. x1 - 1, y0 .. y1 - 1.
struct window {
    int64_t x0, x1, y0, y1;
};

static struct window window_at(const struct pool * s, int64_t ox, int64_t oy) {
    const int64_t x = ox * s->stride[0] - s->pad[0], y = oy * s->stride[1] - s->pad[1];
    return (struct window){
        .x0 = tn_max_i64(x, 0),
        .x1 = tn_min_i64(x + s->kernel[0], s->x.ne[0]),
        .y0 = tn_max_i64(y, 0),
        .y1 = tn_min_i64(y + s->kernel[1], s->x.ne[1]),
    };
}

// --- pool_1d, which is pool_2d with windows of one row, pool_2d

static float max_of(const struct pool * s, const struct window * w, int64_t i2, int64_t i3) {
    float buf[TN_TILE];
    float max = -INFINITY;
    for (int64_t y = w->y0; y < w->y1; y++) {
        const char * row = tn_operand_row(&s->x, y, i2, i3);
        for (int64_t i = w->x0; i < w->x1; i += TN_TILE) {
            const int64_t n = tn_min_i64(TN_TILE, w->x1 - i);
            const float * x = tn_operand_load(&s->x, row, i, n, buf);
            for (int64_t k = 0; k < n; k++)
                max = x[k] > max ? x[k] : max;
        }
    }
    return max;
}

static float average_of(const struct pool * s, const struct window * w, int64_t i2, int64_t i3) {
    float buf[TN_TILE];
    double sum = 0.0;
    for (int64_t y = w->y0; y < w->y1; y++) {
        const char * row = tn_operand_row(&s->x, y, i2, i3);
        for (int64_t i = w->x0; i < w->x1; i += TN_TILE) {
            const int64_t n = tn_min_i64(TN_TILE, w->x1 - i);
            const float * x = tn_operand_load(&s->x, row, i, n, buf);
            for (int64_t k = 0; k < n; k++)
                sum += (double) x[k];
        }
    }
    const int64_t inside = tn_max_i64(w->x1 - w->x0, 1) * tn_max_i64(w->y1 - w->y0, 1);
    return (float) (sum / (double) (s->count_inside ? inside : s->kernel[0] * s->kernel[1]));
}

static void pool_tile(const void * arg, const struct tn_tile * t) {
    const struct pool * s = arg;
    float buf[TN_TILE];
    for (int64_t i = 0; i < t->n; i++) {
        const struct window w = window_at(s, t->i0 + i, t->i1);
        buf[i] = s->average ? average_of(s, &w, t->i2, t->i3) : max_of(s, &w, t->i2, t->i3);
    }
    tn_operand_store(&s->y, tn_operand_row(&s->y, t->i1, t->i2, t->i3), t->i0, t->n, buf);
}

// Positions of a window, at most a number that costs may be multiplied by.
static int64_t window_cost(const struct pool * s) {
    const int64_t x = tn_min_i64(s->kernel[0], s->x.ne[0]), y = tn_min_i64(s->kernel[1], s->x.ne[1]);
    return 4 + tn_min_i64(x * y, 1 << 20);
}

static enum ggml_status run_pool(struct tn_cpu_run * run, const struct pool * s) {
    tn_operand_tiles(run, &s->y, window_cost(s), (struct tn_tile_work){ pool_tile, s });
    return GGML_STATUS_SUCCESS;
}

// op_params: kind, size, stride, padding
static enum ggml_status pool_1d_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct pool s = {
        .y = tn_operand_of(node),
        .x = tn_operand_of(node->src[0]),
        .kernel = { tn_param_i32(node, 1), 1 },
        .stride = { tn_param_i32(node, 2), 1 },
        .pad = { tn_param_i32(node, 3), 0 },
        .average = tn_param_i32(node, 0) == GGML_OP_POOL_AVG,
        .count_inside = true,
    };
    return run_pool(run, &s);
}

// op_params: kind, two sizes, strides, paddings. x: what the windows are laid over.
static struct pool pool_2d_of(const struct ggml_tensor * node, const struct ggml_tensor * x) {
    struct pool s = { .y = tn_operand_of(node), .x = tn_operand_of(x) };
    s.average = tn_param_i32(node, 0) == GGML_OP_POOL_AVG;
    for (int d = 0; d < 2; d++) {
        s.kernel[d] = tn_param_i32(node, 1 + d);
        s.stride[d] = tn_param_i32(node, 3 + d);
        s.pad[d] = tn_param_i32(node, 5 + d);
    }
    return s;
}

static enum ggml_status pool_2d_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct pool s = pool_2d_of(node, node->src[0]);
    return run_pool(run, &s);
}

static bool floats(const struct ggml_tensor * node) {
    for (int i = 0; i < 2 && node->src[i]; i++) {
        if (!tn_operand_is_float(node->src[i]->type)) {
            return tn_refuse("src%d: type %s: only f32, f16 and bf16 are pooled", i,
                             ggml_type_name(node->src[i]->type));
        }
    }
    return true;
}

// --- pool_2d_back: each window's gradient goes to its largest position, or to all in equal parts. Windows
// overlap, so a plane is one thread's, and its windows come in order.

// A plane of the result, with those of input and gradient.
struct plane {
    int64_t i2, i3;
};

static void add_to(const struct pool * s, struct plane p, int64_t x, int64_t y, float g) {
    float * to = (float *) (tn_operand_row(&s->y, y, p.i2, p.i3) + (size_t) x * s->y.nb[0]);
    *to += g;
}

static float element(const struct tn_operand * x, struct plane p, int64_t i0, int64_t i1) {
    float buf[1];
    return *tn_operand_load(x, tn_operand_row(x, i1, p.i2, p.i3), i0, 1, buf);
}

// To the first of the largest.
static void add_to_max(const struct pool * s, struct plane p, const struct window * w, float g) {
    int64_t at_x = w->x0, at_y = w->y0;
    float max = -INFINITY;
    for (int64_t y = w->y0; y < w->y1; y++) {
        for (int64_t x = w->x0; x < w->x1; x++) {
            const float v = element(&s->x, p, x, y);
            if (!(v > max)) continue;
            max = v;
            at_x = x;
            at_y = y;
        }
    }
    add_to(s, p, at_x, at_y, g);
}

static void add_to_all(const struct pool * s, struct plane p, const struct window * w, float g) {
    for (int64_t y = w->y0; y < w->y1; y++) {
        for (int64_t x = w->x0; x < w->x1; x++)
            add_to(s, p, x, y, g);
    }
}

static void clear_plane(const struct pool * s, struct plane p) {
    for (int64_t y = 0; y < s->y.ne[1]; y++) {
        for (int64_t x = 0; x < s->y.ne[0]; x++)
            *(float *) (tn_operand_row(&s->y, y, p.i2, p.i3) + (size_t) x * s->y.nb[0]) = 0.0f;
    }
}

static void back_plane(const struct pool * s, struct plane p) {
    const double size = (double) (s->kernel[0] * s->kernel[1]);
    clear_plane(s, p);
    for (int64_t oy = 0; oy < s->g.ne[1]; oy++) {
        for (int64_t ox = 0; ox < s->g.ne[0]; ox++) {
            const struct window w = window_at(s, ox, oy);
            const float g = element(&s->g, p, ox, oy);
            if (w.x0 >= w.x1 || w.y0 >= w.y1) continue;
            if (s->average) {
                add_to_all(s, p, &w, (float) ((double) g / size));
            } else {
                add_to_max(s, p, &w, g);
            }
        }
    }
}

static void back_part(const void * arg, const struct tn_cpu_part * part) {
    const struct pool * s = arg;
    for (int64_t i = part->begin; i < part->end; i++)
        back_plane(s, (struct plane){ i % s->y.ne[2], i / s->y.ne[2] });
}

static enum ggml_status pool_2d_back_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct pool s = pool_2d_of(node, node->src[1]);
    s.g = tn_operand_of(node->src[0]);
    const int64_t windows = tn_min_i64(s.g.ne[0] * s.g.ne[1], 1 << 20);
    const int64_t cost = s.y.ne[0] * s.y.ne[1] + 4 * window_cost(&s) * windows;
    tn_cpu_run_parts(run, s.y.ne[2] * s.y.ne[3], cost, (struct tn_cpu_work){ back_part, &s });
    return GGML_STATUS_SUCCESS;
}

const struct tn_cpu_op tn_cpu_op_pool_1d = { .supports = floats, .run = pool_1d_run };
const struct tn_cpu_op tn_cpu_op_pool_2d = { .supports = floats, .run = pool_2d_run };
const struct tn_cpu_op tn_cpu_op_pool_2d_back = { .supports = floats, .run = pool_2d_back_run };
