// SPDX-License-Identifier: MIT
// get_rows get_rows_back set_rows add_id.
#include "contract/make/makers.h"

struct ggml_tensor * make_get_rows(struct draw * d) {
    const int64_t ne[] = { draw_row(d, 1, false), 1 + draw_below(d, 7), draw_size(d, 3), draw_size(d, 2) };
    struct ggml_tensor * a = draw_source(d, 0, ne);
    return ggml_get_rows(d->ctx, a,
                         draw_indices(d, 1, (const int64_t[]){ draw_size(d, 6), ne[2], ne[3], 1 }, ne[1]));
}

struct ggml_tensor * make_get_rows_back(struct draw * d) {
    const int64_t width = draw_row(d, 1, false), n = draw_size(d, 12), rows = 1 + draw_below(d, 9);
    struct ggml_tensor * a = draw_source(d, 0, (const int64_t[]){ width, n, 1, 1 });
    struct ggml_tensor * index = draw_indices(d, 1, (const int64_t[]){ n, 1, 1, 1 }, rows);
    return ggml_get_rows_back(d->ctx, a, index, ggml_new_tensor_2d(d->ctx, GGML_TYPE_F32, width, rows));
}

struct ggml_tensor * make_set_rows(struct draw * d) {
    const int64_t n = draw_size(d, 4), matrices = draw_size(d, 4), batches = draw_size(d, 4);
    const int64_t ne[] = { draw_row(d, 1, true), n + 1 + draw_below(d, 3), matrices, batches };
    const int64_t ne_index[] = { n, draw_divisor(d, matrices), draw_divisor(d, batches), 1 };
    struct ggml_tensor * rows = draw_source(d, 0, (const int64_t[]){ ne[0], n, matrices, batches });
    struct ggml_tensor * index = draw_indices(d, 1, ne_index, ne[1]);
    return ggml_set_rows(d->ctx, draw_destination(d, d->result, ne), rows, index);
}

struct ggml_tensor * make_add_id(struct draw * d) {
    const int64_t ne[] = { draw_row(d, 2, false), draw_size(d, 5), draw_size(d, 4), 1 };
    const int64_t rows = 1 + draw_below(d, 6);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    struct ggml_tensor * b = draw_source(d, 1, (const int64_t[]){ ne[0], rows, 1, 1 });
    return ggml_add_id(d->ctx, a, b, draw_indices(d, 2, (const int64_t[]){ ne[1], ne[2], 1, 1 }, rows));
}
