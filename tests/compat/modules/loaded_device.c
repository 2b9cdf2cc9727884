// SPDX-License-Identifier: MIT
// A program that loads a device from a library and spreads a graph over it and the processor. Public
// headers only.
#include "../../harness.h"

#include <dlfcn.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"

enum { N = 32, ROUNDS = 3 };

struct net {
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor *w, *x, *y;
};

// y = relu(w x) w, where the product in the middle may go elsewhere
static void build(struct net * net) {
    net->ctx = ggml_init((struct ggml_init_params){ 1 << 20, NULL, true });
    net->w = ggml_new_tensor_2d(net->ctx, GGML_TYPE_F32, N, N);
    net->x = ggml_new_tensor_2d(net->ctx, GGML_TYPE_F32, N, 4);
    ggml_set_input(net->w);
    ggml_set_input(net->x);
    struct ggml_tensor * h = ggml_relu(net->ctx, ggml_mul_mat(net->ctx, net->w, net->x));
    net->y = ggml_mul_mat(net->ctx, net->w, h);
    ggml_set_output(net->y);
    net->graph = ggml_new_graph(net->ctx);
    ggml_build_forward_expand(net->graph, net->y);
}

static void compute(ggml_backend_sched_t sched, ggml_backend_t preferred, int round, float * out) {
    struct net net;
    float values[N * N];
    for (int i = 0; i < N * N; i++)
        values[i] = (float) ((i * 7 + round) % 31 - 15) / 16;
    build(&net);
    ggml_backend_sched_reset(sched);
    ggml_backend_sched_set_tensor_backend(sched, net.y->src[1]->src[0], preferred);
    assert_true(ggml_backend_sched_alloc_graph(sched, net.graph));
    assert_ptr_equal(ggml_backend_sched_get_tensor_backend(sched, net.y->src[1]->src[0]), preferred);
    ggml_backend_tensor_set(net.w, values, 0, sizeof(values));
    ggml_backend_tensor_set(net.x, values, 0, ggml_nbytes(net.x));
    assert_int_equal(ggml_backend_sched_graph_compute(sched, net.graph), GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get(net.y, out, 0, ggml_nbytes(net.y));
    ggml_free(net.ctx);
}

static void a_graph_runs_on_a_device_that_was_loaded(void ** state) {
    (void) state;
    ggml_backend_reg_t reg = ggml_backend_load(FAKE_MODULE);
    if (!reg) fail_msg("%s", ggml_ext_last_error());
    ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU);
    assert_ptr_equal(ggml_backend_dev_backend_reg(device), reg);
    ggml_backend_t backends[2] = { ggml_backend_init_best(),
                                   ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL) };
    assert_ptr_equal(ggml_backend_get_device(backends[0]), device);
    ggml_backend_sched_t sched = ggml_backend_sched_new(backends, NULL, 2, 64, false, false);
    assert_non_null(sched);
    for (int round = 0; round < ROUNDS; round++) {
        float on_device[4 * N], on_cpu[4 * N];
        compute(sched, backends[0], round, on_device);
        compute(sched, backends[1], round, on_cpu);
        assert_memory_equal(on_device, on_cpu, sizeof(on_cpu));
        assert_true(on_cpu[0] != on_cpu[1]);
    }
    ggml_backend_unload(reg);
    assert_contains(ggml_ext_last_error(), "is in use: 1 back end, ");
    assert_contains(ggml_ext_last_error(), "buffer");
    ggml_backend_sched_free(sched);
    for (int i = 0; i < 2; i++)
        ggml_backend_free(backends[i]);

    void * library = dlopen(FAKE_MODULE, RTLD_NOW | RTLD_NOLOAD);
    void * symbol = dlsym(library, "fake_module_faults");
    int (*faults)(void);
    memcpy(&faults, &symbol, sizeof(faults));
    assert_non_null(faults);
    assert_int_equal(faults(), 0);
    dlclose(library);

    ggml_backend_unload(reg);
    assert_null(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU));
    assert_null(dlopen(FAKE_MODULE, RTLD_NOW | RTLD_NOLOAD)); // it is really gone
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_runs_on_a_device_that_was_loaded),
        cmocka_unit_test(a_graph_runs_on_a_device_that_was_loaded), // again, after it was gone
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
