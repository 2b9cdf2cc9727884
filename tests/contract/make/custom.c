// SPDX-License-Identifier: MIT
// map_custom1 map_custom2 map_custom3 custom, with functions that add 1 and each source times its number.
#include "contract/make/makers.h"

// A row of types with blocks is encoded as a whole; one with NaN, which some of them refuse, is zero.
static void put_row(struct ggml_tensor * y, const int64_t * i, const float * values) {
    const struct tn_type * type = tn_type_get(y->type);
    char * to = cpu_at(y, 0, i[1], i[2], i[3]);
    if (type->block_size == 1) {
        for (int64_t k = 0; k < y->ne[0]; k++)
            cpu_put(y, (const int64_t[]){ k, i[1], i[2], i[3] }, (double) values[k]);
    } else if (type->encode_ref) {
        type->encode_ref(values, to, y->ne[0]);
    } else {
        float weights[2048];
        for (int64_t k = 0; k < y->ne[0]; k++)
            weights[k] = 1.0f;
        if (ggml_quantize_chunk(y->type, values, to, 0, 1, y->ne[0], weights) == 0)
            memset(to, 0, ggml_row_size(y->type, y->ne[0]));
    }
}

static void add_rows(struct ggml_tensor * y, const struct ggml_tensor * const * src, int n_src, int ith,
                     int nth) {
    for (int64_t r = ith; y->ne[0] > 0 && r < ggml_nrows(y); r += nth) {
        const int64_t i[] = { 0, r % y->ne[1], r / y->ne[1] % y->ne[2], r / y->ne[1] / y->ne[2] };
        float values[2048];
        for (int64_t k = 0; k < y->ne[0]; k++) {
            double sum = 1.0;
            for (int s = 0; s < n_src; s++)
                sum += (s + 1) * cpu_get(src[s], k, i[1], i[2], i[3]);
            values[k] = (float) sum;
        }
        put_row(y, i, values);
    }
}

static void custom1(struct ggml_tensor * y, const struct ggml_tensor * a, int ith, int nth, void * data) {
    (void) data;
    add_rows(y, (const struct ggml_tensor *[]){ a }, 1, ith, nth);
}

static void custom2(struct ggml_tensor * y, const struct ggml_tensor * a, const struct ggml_tensor * b,
                    int ith, int nth, void * data) {
    (void) data;
    add_rows(y, (const struct ggml_tensor *[]){ a, b }, 2, ith, nth);
}

static void custom3(struct ggml_tensor * y, const struct ggml_tensor * a, const struct ggml_tensor * b,
                    const struct ggml_tensor * c, int ith, int nth, void * data) {
    (void) data;
    add_rows(y, (const struct ggml_tensor *[]){ a, b, c }, 3, ith, nth);
}

static void custom(struct ggml_tensor * y, int ith, int nth, void * data) {
    (void) data;
    add_rows(y, (const struct ggml_tensor * const *) y->src, 4, ith, nth);
}

struct ggml_tensor * make_custom(struct draw * d) {
    const int n_src = d->op == GGML_OP_CUSTOM ? 4 : 1 + (int) (d->op - GGML_OP_MAP_CUSTOM1);
    const int n_tasks = draw_chance(d, 2) ? GGML_N_TASKS_MAX : 1 + (int) draw_below(d, 4);
    struct ggml_tensor * x[4];
    int64_t ne[4];
    d->wild = false; // these functions take what the table promises
    draw_shape(d, n_src, true, ne);
    for (int i = 0; i < n_src; i++)
        x[i] = draw_source(d, i, ne);
    const bool in_place = draw_in_place(d);
    switch (d->op) {
    case GGML_OP_MAP_CUSTOM1:
        return (in_place ? ggml_map_custom1_inplace : ggml_map_custom1)(d->ctx, x[0], custom1, n_tasks, NULL);
    case GGML_OP_MAP_CUSTOM2:
        return (in_place ? ggml_map_custom2_inplace : ggml_map_custom2)(d->ctx, x[0], x[1], custom2, n_tasks,
                                                                        NULL);
    case GGML_OP_MAP_CUSTOM3:
        return (in_place ? ggml_map_custom3_inplace : ggml_map_custom3)(d->ctx, x[0], x[1], x[2], custom3,
                                                                        n_tasks, NULL);
    default:
        if (in_place && d->result == d->types[0])
            return ggml_custom_inplace(d->ctx, x[0], x + 1, 3, custom, n_tasks, NULL);
        return ggml_custom_4d(d->ctx, d->result, ne[0], ne[1], ne[2], ne[3], x, 4, custom, n_tasks, NULL);
    }
}
