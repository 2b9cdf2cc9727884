// SPDX-License-Identifier: MIT
// Tables are built by whoever comes first: many threads at once, each with another first question, and none
// of them has called ggml_cpu_init before.
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>

#include "ggml-backend.h"
#include "ggml-cpu.h"

enum { THREADS = 12 };

static pthread_barrier_t start;
static _Atomic int wrong;

static bool computes(void) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 20 });
    struct ggml_tensor * a = ggml_set_f32(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 32, 32), 0.5f);
    struct ggml_tensor * y = ggml_mul_mat(ctx, a, a);
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    ggml_build_forward_expand(g, y);
    const bool ok =
        ggml_graph_compute_with_ctx(ctx, g, 2) == GGML_STATUS_SUCCESS && ggml_get_f32_1d(y, 999) == 8;
    ggml_free(ctx);
    return ok;
}

static bool has_a_back_end(void) {
    ggml_backend_t backend = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    const bool ok = ggml_backend_is_cpu(backend);
    ggml_backend_free(backend);
    return ok;
}

static bool converts(void) {
    const float x[3] = { 1.0f, 2.0f, -0.5f };
    ggml_fp16_t h[3];
    ggml_cpu_fp32_to_fp16(x, h, 3);
    return h[0] == 0x3c00 && h[1] == 0x4000 && h[2] == 0xb800;
}

static bool multiplies(void) {
    const float x[4] = { 1, 2, 3, 4 };
    float s = 0;
    ggml_get_type_traits_cpu(GGML_TYPE_F32)->vec_dot(4, &s, 0, x, 0, x, 0, 1);
    return s == 30;
}

static bool knows_features(void) {
    const int before = ggml_cpu_has_avx2() + ggml_cpu_has_neon();
    ggml_cpu_init();
    return before <= ggml_cpu_has_avx2() + ggml_cpu_has_neon();
}

static bool lists_features(void) {
    ggml_backend_get_features_t get = (ggml_backend_get_features_t) ggml_backend_reg_get_proc_address(
        ggml_backend_cpu_reg(), "ggml_backend_get_features");
    return get && get(ggml_backend_cpu_reg()) != NULL;
}

static bool (*const questions[])(void) = { computes,   has_a_back_end, converts,
                                           multiplies, knows_features, lists_features };

static void * ask(void * arg) {
    const size_t at = *(const size_t *) arg;
    pthread_barrier_wait(&start);
    for (size_t i = 0; i < 6; i++)
        if (!questions[(at + i) % 6]()) atomic_fetch_add(&wrong, 1);
    return NULL;
}

static void all_at_once(void ** state) {
    (void) state;
    pthread_t threads[THREADS];
    size_t at[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        at[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &at[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    assert_int_equal(atomic_load(&wrong), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_at_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
