// SPDX-License-Identifier: MIT
// add sub mul div add1 silu_back: the second operand is repeated to the shape of the first; computed in f32.
#include "base/bits.h"
#include "base/error.h"
#include "cpu/kernels/map2/map2.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct binary {
    struct tn_operand y, a, b;
    void (*map)(int64_t n, float * y, const float * a, const float * b, const float * p);
};

static const float * load_value(const struct tn_operand * b, const char * row, int64_t n, float * buf) {
    const float v = *tn_operand_load(b, row, 0, 1, buf);
    for (int64_t i = 0; i < n; i++)
        buf[i] = v;
    return buf;
}

static const float * load_repeated(const struct tn_operand * b, const struct tn_tile * t, float * buf) {
    const char * row = tn_operand_row_at(b, t);
    int64_t from = t->i0 % b->ne[0];
    if (from + t->n <= b->ne[0]) return tn_operand_load(b, row, from, t->n, buf);
    if (b->ne[0] == 1) return load_value(b, row, t->n, buf);
    for (int64_t done = 0; done < t->n; from = 0) {
        const int64_t n = tn_min_i64(t->n - done, b->ne[0] - from);
        const float * x = tn_operand_load(b, row, from, n, buf + done);
        for (int64_t i = 0; x != buf + done && i < n; i++)
            buf[done + i] = x[i];
        done += n;
    }
    return buf;
}

static void run_tile(const void * arg, const struct tn_tile * t) {
    const struct binary * s = arg;
    float buf_a[TN_TILE], buf_b[TN_TILE], buf_y[TN_TILE];
    char * row = tn_operand_row(&s->y, t->i1, t->i2, t->i3);
    const float * a = tn_operand_load(&s->a, tn_operand_row_at(&s->a, t), t->i0, t->n, buf_a);
    const float * b = load_repeated(&s->b, t, buf_b);
    float * y = tn_operand_target(&s->y, row, t->i0, buf_y);
    s->map(t->n, y, a, b, NULL);
    tn_operand_store(&s->y, row, t->i0, t->n, y);
}

static enum ggml_status run_binary(struct tn_cpu_run * run, struct ggml_tensor * node, int64_t cost,
                                   void (*map)(int64_t, float *, const float *, const float *,
                                               const float *)) {
    struct binary s = { tn_operand_of(node), tn_operand_of(node->src[0]), tn_operand_of(node->src[1]), map };
    tn_operand_flatten((struct tn_operand *[]){ &s.y, &s.a, &s.b }, 3);
    tn_operand_tiles(run, &s.y, cost, (struct tn_tile_work){ run_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static bool floats(const struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    if (tn_operand_is_float(a->type) && tn_operand_is_float(b->type) && tn_operand_is_float(node->type))
        return true;
    return tn_refuse("types %s, %s and result %s: only f32, f16 and bf16 are computed with",
                     ggml_type_name(a->type), ggml_type_name(b->type), ggml_type_name(node->type));
}

// Also quantised + f32, into any type that has an encoder.
static bool add_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    if (!ggml_is_quantized(a->type)) return floats(node);
    if (!tn_operand_can_load(a->type) || !tn_operand_can_store(node->type)) {
        return tn_refuse("type %s with result %s: no decoder or no encoder", ggml_type_name(a->type),
                         ggml_type_name(node->type));
    }
    if (node->src[1]->type != GGML_TYPE_F32) return tn_refuse("to a quantised tensor only f32 is added");
    if (!tn_operand_is_dense(a) || !tn_operand_is_dense(node))
        return tn_refuse("quantised rows must be contiguous");
    return true;
}

static enum ggml_status add_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_binary(run, node, 1, tn_map2_add);
}

static enum ggml_status sub_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_binary(run, node, 1, tn_map2_sub);
}

static enum ggml_status mul_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_binary(run, node, 1, tn_map2_mul);
}

static enum ggml_status div_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_binary(run, node, 1, tn_map2_div);
}

static enum ggml_status silu_back_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_binary(run, node, 10, tn_map2_silu_back);
}

const struct tn_cpu_op tn_cpu_op_add = { .supports = add_supports, .run = add_run };
const struct tn_cpu_op tn_cpu_op_sub = { .supports = floats, .run = sub_run };
const struct tn_cpu_op tn_cpu_op_mul = { .supports = floats, .run = mul_run };
const struct tn_cpu_op tn_cpu_op_div = { .supports = floats, .run = div_run };
const struct tn_cpu_op tn_cpu_op_add1 = { .supports = add_supports, .run = add_run };
const struct tn_cpu_op tn_cpu_op_silu_back = { .supports = floats, .run = silu_back_run };
