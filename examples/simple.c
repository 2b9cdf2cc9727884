// SPDX-License-Identifier: MIT
// Multiplies two matrices on the CPU: y = a^T b, each column of a with each column of b.
#include <stdio.h>
#include "ggml.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"

static int fail(struct ggml_context * ctx, enum ggml_status status) {
    fprintf(stderr, "%s: %s\n", ggml_status_to_string(status), ggml_ext_last_error());
    ggml_free(ctx);
    return 1;
}

int main(void) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params) { .mem_size = 1 << 20 });
    struct ggml_tensor * a = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 3); // 3 columns of 2
    struct ggml_tensor * b = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 1);
    struct ggml_tensor * y = ggml_mul_mat(ctx, a, b); // [3, 1]
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, y);
    if (!ggml_ext_graph_valid(graph)) return fail(ctx, GGML_STATUS_FAILED); // what was refused has no data
    for (int i = 0; i < 6; i++) ggml_get_data_f32(a)[i] = (float) i;
    for (int i = 0; i < 2; i++) ggml_get_data_f32(b)[i] = 10.0f;
    const enum ggml_status status = ggml_graph_compute_with_ctx(ctx, graph, 2);
    if (status != GGML_STATUS_SUCCESS) return fail(ctx, status);
    for (int i = 0; i < 3; i++) printf("%g ", (double) ggml_get_data_f32(y)[i]); // 10 50 90
    puts(ggml_status_to_string(status));
    ggml_free(ctx);
    return 0;
}
