// SPDX-License-Identifier: MIT
// Tiles of tensors as f32.
#include "cpu/operand.h"

#include <string.h>

#include "base/bits.h"
#include "cpu/kernels/convert/convert.h"
#include "quant/type.h"

struct tn_operand tn_operand_of(const struct ggml_tensor * t) {
    struct tn_operand x = { .type = t->type, .data = t->data };
    memcpy(x.ne, t->ne, sizeof(x.ne));
    memcpy(x.nb, t->nb, sizeof(x.nb));
    return x;
}

enum { OVERHEAD = 16 }; // of a tile, in element operations

static bool is_contiguous(const struct tn_operand * x) {
    size_t expected = ggml_type_size(x->type);
    for (int i = 0; i < 4; i++) {
        if (x->ne[i] != 1 && x->nb[i] != expected) return false;
        expected *= (size_t) (i == 0 ? x->ne[0] / ggml_blck_size(x->type) : x->ne[i]);
    }
    return true;
}

void tn_operand_flatten(struct tn_operand * const * operands, int count) {
    for (int k = 0; k < count; k++) {
        if (memcmp(operands[k]->ne, operands[0]->ne, sizeof(operands[0]->ne)) != 0) return;
        if (!is_contiguous(operands[k])) return;
    }
    for (int k = 0; k < count; k++) {
        struct tn_operand * x = operands[k];
        x->nb[0] = ggml_type_size(x->type);
        for (int i = 1; i < 4; i++) {
            x->ne[0] *= x->ne[i];
            x->ne[i] = 1;
        }
    }
}

bool tn_operand_can_load(enum ggml_type type) {
    const struct tn_type * t = tn_type_get(type);
    return t && (t->decode || type == GGML_TYPE_F32 || type == GGML_TYPE_I32);
}

bool tn_operand_can_store(enum ggml_type type) {
    const struct tn_type * t = tn_type_get(type);
    return t && (t->encode_ref || type == GGML_TYPE_F32 || type == GGML_TYPE_I32);
}

bool tn_operand_is_float(enum ggml_type type) {
    return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
}

bool tn_operand_is_dense(const struct ggml_tensor * t) {
    return t->nb[0] == ggml_type_size(t->type) || t->ne[0] == ggml_blck_size(t->type);
}

static bool is_in_place(const struct tn_operand * x) {
    return x->type == GGML_TYPE_F32 && x->nb[0] == sizeof(float);
}

// n dense elements at `from` into f32.
static void widen(enum ggml_type type, const void * from, int64_t n, float * to) {
    switch (type) {
    case GGML_TYPE_F32: memcpy(to, from, (size_t) n * sizeof(float)); return;
    case GGML_TYPE_F16: tn_convert_f16_f32(n, to, from); return;
    case GGML_TYPE_BF16: tn_convert_bf16_f32(n, to, from); return;
    case GGML_TYPE_I32: tn_convert_i32_f32(n, to, from); return;
    default: tn_type_get(type)->decode(from, to, n); return;
    }
}

static void narrow(enum ggml_type type, const float * from, int64_t n, void * to) {
    switch (type) {
    case GGML_TYPE_F32: memcpy(to, from, (size_t) n * sizeof(float)); return;
    case GGML_TYPE_F16: tn_convert_f32_f16(n, to, from); return;
    case GGML_TYPE_BF16: tn_convert_f32_bf16(n, to, from); return;
    case GGML_TYPE_I32: tn_convert_f32_i32(n, to, from); return;
    default: tn_type_get(type)->encode_ref(from, to, n); return;
    }
}

static char * at(const struct tn_operand * x, const char * row, int64_t i0) {
    return (char *) row + (size_t) (i0 / ggml_blck_size(x->type)) * x->nb[0];
}

const float * tn_operand_load(const struct tn_operand * x, const char * row, int64_t i0, int64_t n,
                              float * buf) {
    const char * from = at(x, row, i0);
    if (is_in_place(x)) return (const float *) from;
    const size_t size = ggml_type_size(x->type);
    if (x->nb[0] == size || n <= ggml_blck_size(x->type)) {
        widen(x->type, from, n, buf);
        return buf;
    }
    double dense[TN_TILE]; // the largest element
    tn_convert_move(n, size, dense, size, from, x->nb[0]);
    widen(x->type, dense, n, buf);
    return buf;
}

float * tn_operand_target(const struct tn_operand * y, char * row, int64_t i0, float * buf) {
    return is_in_place(y) ? (float *) at(y, row, i0) : buf;
}

void tn_operand_store(const struct tn_operand * y, char * row, int64_t i0, int64_t n, const float * values) {
    char * to = at(y, row, i0);
    if ((const char *) values == to) return;
    const size_t size = ggml_type_size(y->type);
    if (y->nb[0] == size || n <= ggml_blck_size(y->type)) {
        narrow(y->type, values, n, to);
        return;
    }
    double dense[TN_TILE]; // the largest element
    narrow(y->type, values, n, dense);
    tn_convert_move(n, size, to, y->nb[0], dense, size);
}

struct tiles {
    struct tn_tile_work work;
    int64_t ne[4];
    int64_t per_row;
};

static void run_tiles(const void * arg, const struct tn_cpu_part * part) {
    const struct tiles * s = arg;
    for (int64_t i = part->begin; i < part->end; i++) {
        const int64_t row = i / s->per_row;
        struct tn_tile t = { .i0 = i % s->per_row * TN_TILE, .scratch = part->scratch };
        t.i1 = row % s->ne[1];
        t.i2 = row / s->ne[1] % s->ne[2];
        t.i3 = row / s->ne[1] / s->ne[2];
        t.n = tn_min_i64(TN_TILE, s->ne[0] - t.i0);
        s->work.run(s->work.arg, &t);
    }
}

void tn_operand_tiles(struct tn_cpu_run * run, const struct tn_operand * y, int64_t cost,
                      struct tn_tile_work work) {
    struct tiles s = { .work = work, .per_row = tn_ceil_div(y->ne[0], TN_TILE) };
    memcpy(s.ne, y->ne, sizeof(s.ne));
    const int64_t n = s.per_row * y->ne[1] * y->ne[2] * y->ne[3];
    const int64_t tile_cost = cost * tn_min_i64(y->ne[0], TN_TILE) + OVERHEAD;
    tn_cpu_run_parts(run, n, tile_cost, (struct tn_cpu_work){ run_tiles, &s });
}
