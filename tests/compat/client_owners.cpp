// SPDX-License-Identifier: MIT
// The owners of ggml-cpp.h: each frees what it holds, once, in any order that its documentation allows.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "ggml-alloc.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "gguf.h"

static int failures = 0;

static void check(bool ok, const char * what) {
    if (!ok) std::printf("FAIL %s\n", what);
    failures += !ok;
}

static ggml_context_ptr make_context() {
    ggml_init_params params = { 1 << 20, nullptr, true };
    return ggml_context_ptr(ggml_init(params));
}

static void compute() {
    ggml_context_ptr ctx = make_context();
    ggml_backend_ptr backend(ggml_backend_cpu_init());
    ggml_tensor * a = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 3, 2);
    ggml_tensor * b = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 3, 1);
    ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(ctx.get(), backend.get()));
    check(buffer != nullptr, "buffer of the inputs");

    ggml_context_ptr graph_ctx = make_context();
    ggml_cgraph * graph = ggml_new_graph(graph_ctx.get());
    ggml_tensor * y = ggml_mul_mat(graph_ctx.get(), a, b);
    ggml_build_forward_expand(graph, y);
    ggml_gallocr_ptr galloc(ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend.get())));
    check(ggml_gallocr_alloc_graph(galloc.get(), graph), "allocation of the graph");

    const std::vector<float> a_data = { 1, 2, 3, 4, 5, 6 }, b_data = { 1, 10, 100 };
    ggml_backend_tensor_set(a, a_data.data(), 0, ggml_nbytes(a));
    ggml_backend_tensor_set(b, b_data.data(), 0, ggml_nbytes(b));
    check(ggml_backend_graph_compute(backend.get(), graph) == GGML_STATUS_SUCCESS, "status");
    float out[2];
    ggml_backend_tensor_get(y, out, 0, sizeof(out));
    check(out[0] == 321.0f && out[1] == 654.0f, "product");
}

static void move() {
    ggml_context_ptr first = make_context();
    ggml_context * raw = first.get();
    ggml_context_ptr second = std::move(first);
    check(first == nullptr && second.get() == raw, "moved context");
    second.reset();
    gguf_context_ptr gguf(gguf_init_empty());
    gguf_set_val_str(gguf.get(), "key", "value");
    check(gguf_find_key(gguf.get(), "key") == 0, "key of a model file");
    check(std::string(gguf_get_val_str(gguf.get(), 0)) == "value", "value of a model file");
}

int main() {
    compute();
    move();
    std::printf("%d failures\n", failures);
    return failures != 0;
}
