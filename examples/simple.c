// SPDX-License-Identifier: MIT
// Multiplies two matrices on the CPU: y = a^T b, each column of a with each column of b.
#include <stdio.h>
#include "ggml.h"
#include "ggml-cpu.h"

int main(void) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params) { .mem_size = 1 << 20 });
    struct ggml_tensor * a = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 3); // 3 columns of 2
    struct ggml_tensor * b = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 1);
    struct ggml_tensor * y = ggml_mul_mat(ctx, a, b); // [3, 1]
    for (int i = 0; i < 6; i++) ggml_get_data_f32(a)[i] = (float) i;
    for (int i = 0; i < 2; i++) ggml_get_data_f32(b)[i] = 10.0f;
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, y);
    const enum ggml_status status = ggml_graph_compute_with_ctx(ctx, graph, 2);
    for (int i = 0; i < 3; i++) printf("%g ", (double) ggml_get_data_f32(y)[i]); // 10 50 90
    puts(ggml_status_to_string(status));
    ggml_free(ctx);
    return status == GGML_STATUS_SUCCESS ? 0 : 1;
}
