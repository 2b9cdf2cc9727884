// SPDX-License-Identifier: MIT
// The CPU back end when it is not linked but loaded: which variant is taken, what each computes, that its
// functions are found by name and do what their names promise, and that it goes when nothing of it is in
// use. Public headers only.
#include "../../harness.h"

#include <dlfcn.h>

#include "ggml-alloc.h"
#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"

static const char * const levels[] = {
    "scalar",          "x86_avx2", "x86_avx512",  "x86_avx512_vnni",
    "x86_avx512_bf16", "arm_neon", "arm_dotprod", "arm_i8mm",
};
enum { N_LEVELS = sizeof(levels) / sizeof(levels[0]), N = 64 };

static const char * path_of(const char * level) {
    static char path[TEST_PATH];
    snprintf(path, sizeof(path), MODULES "variants/libggml-cpu-%s.so", level);
    return path;
}

// What the variant says of itself; -1: it is not built for this architecture.
static int score_of(const char * level) {
    void * library = dlopen(path_of(level), RTLD_NOW | RTLD_LOCAL);
    if (!library) return -1;
    void * symbol = dlsym(library, "ggml_backend_score");
    ggml_backend_score_t score;
    memcpy(&score, &symbol, sizeof(score));
    assert_non_null(score);
    const int points = score();
    dlclose(library);
    return points;
}

// Object pointers and function pointers are the same here (POSIX).
static void find(ggml_backend_reg_t reg, const char * name, void * function) {
    void * address = ggml_backend_reg_get_proc_address(reg, name);
    if (!address) fail_msg("there is no %s", name);
    memcpy(function, &address, sizeof(address));
}

static bool has_feature(ggml_backend_reg_t reg, const char * name) {
    ggml_backend_get_features_t get;
    find(reg, "ggml_backend_get_features", &get);
    for (const struct ggml_backend_feature * f = get(reg); f->name; f++) {
        if (strcmp(f->name, name) == 0) return strcmp(f->value, "1") == 0;
    }
    return false;
}

// ---- a graph ---------------------------------------------------------------------------------------------

struct problem {
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor *a, *b, *out;
    ggml_backend_buffer_t buffer;
};

static void build(struct problem * p, ggml_backend_t backend) {
    p->ctx = ggml_init((struct ggml_init_params){ 1 << 20, NULL, true });
    p->a = ggml_new_tensor_2d(p->ctx, GGML_TYPE_F32, N, 8);
    p->b = ggml_new_tensor_2d(p->ctx, GGML_TYPE_F32, N, 3);
    p->out = ggml_scale(p->ctx, ggml_mul_mat(p->ctx, p->a, p->b), 0.5f);
    p->graph = ggml_new_graph(p->ctx);
    ggml_build_forward_expand(p->graph, p->out);
    p->buffer = ggml_backend_alloc_ctx_tensors(p->ctx, backend);
    assert_non_null(p->buffer);
    float row[8 * N];
    for (int i = 0; i < 8 * N; i++)
        row[i] = (float) (i % 23 - 11) / 8;
    ggml_backend_tensor_set(p->a, row, 0, ggml_nbytes(p->a));
    ggml_backend_tensor_set(p->b, row, 0, ggml_nbytes(p->b));
}

// Small multiples of 1/64: exact in every order of summation.
static void check_result(const struct problem * p) {
    float out[24];
    ggml_backend_tensor_get(p->out, out, 0, sizeof(out));
    for (int i = 0; i < 24; i++) {
        double want = 0;
        for (int k = 0; k < N; k++)
            want += (double) ((i % 8 * N + k) % 23 - 11) / 8 * ((i / 8 * N + k) % 23 - 11) / 8;
        assert_true((double) out[i] == want / 2);
    }
}

static void release(struct problem * p) {
    ggml_backend_buffer_free(p->buffer);
    ggml_free(p->ctx);
}

static void compute_on(ggml_backend_t backend) {
    struct problem p;
    build(&p, backend);
    assert_int_equal(ggml_backend_graph_compute(backend, p.graph), GGML_STATUS_SUCCESS);
    check_result(&p);
    release(&p);
}

// ---- tests -----------------------------------------------------------------------------------------------

static void there_is_nothing_before_it_is_loaded(void ** state) {
    (void) state;
    assert_int_equal(ggml_backend_reg_count(), 0);
    assert_int_equal(ggml_backend_dev_count(), 0);
    assert_null(ggml_backend_init_best());
    assert_null(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL));
    assert_contains(ggml_ext_last_error(), "there is no device of type");
    ggml_backend_load_all_from_path(MODULES "foreign");
    assert_int_equal(ggml_backend_reg_count(), 0);
}

static void each_variant_computes_or_refuses(void ** state) {
    (void) state;
    int n_built = 0, n_ran = 0;
    for (int i = 0; i < N_LEVELS; i++) {
        const int score = score_of(levels[i]);
        ggml_backend_reg_t reg = ggml_backend_load(path_of(levels[i]));
        n_built += score >= 0;
        if (score <= 0) {
            assert_null(reg);
            assert_contains(ggml_ext_last_error(), score == 0 ? "unusable on this machine" : "No such file");
            continue;
        }
        n_ran++;
        assert_non_null(reg);
        assert_int_equal(has_feature(reg, "AVX2"), strncmp(levels[i], "x86_", 4) == 0);
        assert_int_equal(has_feature(reg, "AVX512"), strncmp(levels[i], "x86_avx512", 10) == 0);
        ggml_backend_t backend = ggml_backend_init_best();
        compute_on(backend);
        ggml_backend_unload(reg);
        assert_contains(ggml_ext_last_error(), "CPU is in use: 1 back end");
        ggml_backend_free(backend);
        ggml_backend_unload(reg);
        assert_int_equal(ggml_backend_reg_count(), 0);
    }
    printf("%d of %d variants run here\n", n_ran, n_built);
    assert_true(n_built > 0 && n_ran > 0);
}

static void the_highest_that_runs_is_taken(void ** state) {
    (void) state;
    int best = 0;
    for (int i = 0; i < N_LEVELS; i++)
        best = score_of(levels[i]) > score_of(levels[best]) ? i : best;
    for (int round = 0; round < 2; round++) { // the second changes nothing
        ggml_backend_load_all_from_path(MODULES "variants");
        assert_int_equal(ggml_backend_reg_count(), 1);
    }
    ggml_backend_reg_t reg = ggml_backend_reg_by_name("CPU");
    assert_non_null(reg);
    assert_ptr_equal(ggml_backend_load(path_of(levels[best])), reg);
    ggml_backend_t backend = ggml_backend_init_by_name("CPU", NULL);
    compute_on(backend);
    ggml_backend_free(backend);
    ggml_backend_unload(reg);
    assert_int_equal(ggml_backend_dev_count(), 0);
}

static void one_library_serves_all_levels(void ** state) {
    (void) state;
    int n_higher = 0;
    for (int i = 1; i < N_LEVELS; i++)
        n_higher += score_of(levels[i]) > 0;
    ggml_backend_load_all_from_path(MODULES "plain");
    ggml_backend_reg_t reg = ggml_backend_reg_by_name("CPU");
    assert_non_null(reg);
    ggml_backend_get_features_t get;
    find(reg, "ggml_backend_get_features", &get);
    if (n_higher > 0) assert_non_null(get(reg)[0].name);
    ggml_backend_t backend = ggml_backend_init_best();
    compute_on(backend);
    ggml_backend_free(backend);
    ggml_backend_unload(reg);
}

// The folder that was named when the library was built comes before those of the program and of work.
static void installed_libraries_come_first(void ** state) {
    (void) state;
    ggml_backend_load_all();
    ggml_backend_reg_t reg = ggml_backend_reg_by_name("CPU");
    assert_int_equal(ggml_backend_reg_count(), 1);
    Dl_info info;
    assert_true(dladdr((const void *) reg, &info) != 0);
    assert_contains(info.dli_fname, MODULES "plain/libggml-cpu.so");
    ggml_backend_unload(reg);
}

static void another_release_is_refused(void ** state) {
    (void) state;
    assert_null(ggml_backend_load(MODULES "foreign/libggml-cpu.so"));
    assert_contains(ggml_ext_last_error(),
                    "foreign/libggml-cpu.so: it belongs to release 0.0.1, and this is ");
}

#ifdef HAS_WIDE
static void other_layouts_are_refused(void ** state) {
    (void) state;
    assert_null(ggml_backend_load(MODULES "wide/libggml-cpu.so"));
    assert_contains(ggml_ext_last_error(), "built for names of 160 bytes, and here they have 64");
}
#endif

static void variants_do_not_disturb_each_other(void ** state) {
    (void) state;
    ggml_backend_reg_t regs[N_LEVELS];
    ggml_backend_t backends[N_LEVELS];
    int n = 0;
    for (int i = 0; i < N_LEVELS; i++) {
        if (score_of(levels[i]) > 0) regs[n++] = ggml_backend_load(path_of(levels[i]));
    }
    assert_int_equal(ggml_backend_dev_count(), n);
    for (int i = 0; i < n; i++)
        backends[i] = ggml_backend_dev_init(ggml_backend_reg_dev_get(regs[i], 0), NULL);
    for (int i = 0; i < n; i++) {
        assert_int_equal(has_feature(regs[i], "AVX2") || has_feature(regs[i], "NEON"), i > 0);
        compute_on(backends[i]);
        ggml_backend_free(backends[i]);
        ggml_backend_unload(regs[i]);
    }
    assert_int_equal(ggml_backend_reg_count(), 0);
}

// ---- functions by name -----------------------------------------------------------------------------------

struct watcher {
    int asked, stop_at;
};

static bool watch(void * data) {
    struct watcher * w = data;
    return ++w->asked == w->stop_at;
}

static void an_abort_callback_stops_the_graph(ggml_backend_reg_t reg, ggml_backend_t backend) {
    ggml_backend_set_abort_callback_t set;
    find(reg, "ggml_backend_set_abort_callback", &set);
    struct problem p;
    build(&p, backend);
    struct watcher w = { .stop_at = 1 };
    set(backend, watch, &w);
    assert_int_equal(ggml_backend_graph_compute(backend, p.graph), GGML_STATUS_ABORTED);
    assert_int_equal(w.asked, 1);
    set(backend, NULL, NULL);
    assert_int_equal(ggml_backend_graph_compute(backend, p.graph), GGML_STATUS_SUCCESS);
    assert_int_equal(w.asked, 1);
    check_result(&p);
    release(&p);
}

static void threads_are_set(ggml_backend_reg_t reg, ggml_backend_t backend) {
    ggml_backend_set_n_threads_t set;
    find(reg, "ggml_backend_set_n_threads", &set);
    for (int n = 1; n <= 3; n++) {
        set(backend, n);
        compute_on(backend);
    }
    set(backend, 0);
    assert_contains(ggml_ext_last_error(), "0 threads");
}

static void a_pool_is_made_and_lent(ggml_backend_reg_t reg, ggml_backend_t backend) {
    struct ggml_threadpool * (*new_pool)(struct ggml_threadpool_params *);
    void (*free_pool)(struct ggml_threadpool *);
    void (*set_pool)(ggml_backend_t, ggml_threadpool_t);
    find(reg, "ggml_threadpool_new", &new_pool);
    find(reg, "ggml_threadpool_free", &free_pool);
    find(reg, "ggml_backend_cpu_set_threadpool", &set_pool);
    struct ggml_threadpool_params params = ggml_threadpool_params_default(2);
    struct ggml_threadpool * pool = new_pool(&params);
    assert_non_null(pool);
    set_pool(backend, pool);
    compute_on(backend);
    ggml_backend_unload(reg);
    assert_contains(ggml_ext_last_error(), "thread pool");
    set_pool(backend, NULL);
    compute_on(backend);
    free_pool(pool);
}

static void plain_kernels_are_used_on_demand(ggml_backend_reg_t reg, ggml_backend_t backend) {
    void (*set_use_ref)(ggml_backend_t, bool);
    find(reg, "ggml_backend_cpu_set_use_ref", &set_use_ref);
    set_use_ref(backend, true);
    compute_on(backend);
    set_use_ref(backend, false);
    compute_on(backend);
}

static void functions_are_found_by_name(void ** state) {
    (void) state;
    ggml_backend_reg_t reg = ggml_backend_load(MODULES "plain/libggml-cpu.so");
    ggml_backend_t backend = ggml_backend_init_best();
    threads_are_set(reg, backend);
    an_abort_callback_stops_the_graph(reg, backend);
    a_pool_is_made_and_lent(reg, backend);
    plain_kernels_are_used_on_demand(reg, backend);

    ggml_backend_dev_get_extra_bufts_t extra;
    find(reg, "ggml_backend_dev_get_extra_bufts", &extra);
    ggml_backend_dev_t device = ggml_backend_reg_dev_get(reg, 0);
    for (ggml_backend_buffer_type_t * t = extra(device); *t; t++)
        assert_false(ggml_backend_buft_is_host(*t));

    void (*numa_init)(enum ggml_numa_strategy);
    bool (*is_numa)(void);
    find(reg, "ggml_backend_cpu_numa_init", &numa_init);
    find(reg, "ggml_backend_cpu_is_numa", &is_numa);
    assert_false(is_numa()); // before it is asked to look
    numa_init(GGML_NUMA_STRATEGY_DISABLED);
    compute_on(backend);

    static const char * const others[] = { "ggml_backend_comm_init",      "ggml_backend_split_buffer_type",
                                           "ggml_backend_rpc_add_server", "ggml_backend_fusion_get",
                                           "ggml_backend_nonesuch",       "" };
    for (int i = 0; i < 6; i++)
        assert_null(ggml_backend_reg_get_proc_address(reg, others[i]));
    assert_null(ggml_backend_reg_get_proc_address(reg, NULL));
    assert_null(ggml_backend_reg_get_proc_address(NULL, "ggml_backend_set_n_threads"));
    ggml_backend_free(backend);
    ggml_backend_unload(reg);
    assert_int_equal(ggml_backend_reg_count(), 0);
}

int main(void) {
    unsetenv("TENON_ISA");
    unsetenv("GGML_BACKEND_PATH");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_nothing_before_it_is_loaded), // first
        cmocka_unit_test(each_variant_computes_or_refuses),
        cmocka_unit_test(the_highest_that_runs_is_taken),
        cmocka_unit_test(one_library_serves_all_levels),
        cmocka_unit_test(installed_libraries_come_first),
        cmocka_unit_test(another_release_is_refused),
#ifdef HAS_WIDE
        cmocka_unit_test(other_layouts_are_refused),
#endif
        cmocka_unit_test(variants_do_not_disturb_each_other),
        cmocka_unit_test(functions_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
