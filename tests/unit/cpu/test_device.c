// SPDX-License-Identifier: MIT
// Registry entry, device and back end: descriptions, settings, prepared graphs, host memory only.
#include "harness.h"

#include "ggml-alloc.h"
#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"

static void descriptions(void ** state) {
    (void) state;
    ggml_backend_reg_t reg = ggml_backend_cpu_reg();
    assert_string_equal(ggml_backend_reg_name(reg), "CPU");
    assert_int_equal(ggml_backend_reg_dev_count(reg), 1);
    ggml_backend_dev_t dev = ggml_backend_reg_dev_get(reg, 0);
    assert_ptr_equal(ggml_backend_dev_backend_reg(dev), reg);
    struct ggml_backend_dev_props props;
    ggml_backend_dev_get_props(dev, &props);
    assert_string_equal(props.name, "CPU");
    assert_true(strlen(props.description) > 0);
    assert_int_equal(props.type, GGML_BACKEND_DEVICE_TYPE_CPU);
    assert_true(props.memory_total > 0 && props.memory_free == props.memory_total);
    assert_true(props.caps.buffer_from_host_ptr && props.caps.mmap_support);
    assert_false(props.caps.async || props.caps.events || props.caps.host_buffer);
    assert_true(ggml_backend_dev_supports_buft(dev, ggml_backend_cpu_buffer_type()));
}

static void functions_by_name(void ** state) {
    (void) state;
    ggml_backend_reg_t reg = ggml_backend_cpu_reg();
    assert_ptr_equal(ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads"),
                     ggml_backend_cpu_set_n_threads);
    static const struct {
        const char * name;
        void * function;
    } others[] = {
        { "ggml_threadpool_new", (void *) ggml_threadpool_new },
        { "ggml_threadpool_free", (void *) ggml_threadpool_free },
        { "ggml_backend_cpu_set_threadpool", (void *) ggml_backend_cpu_set_threadpool },
        { "ggml_backend_set_abort_callback", (void *) ggml_backend_cpu_set_abort_callback },
        { "ggml_backend_cpu_set_use_ref", (void *) ggml_backend_cpu_set_use_ref },
        { "ggml_backend_cpu_numa_init", (void *) ggml_numa_init },
        { "ggml_backend_cpu_is_numa", (void *) ggml_is_numa },
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_ptr_equal(ggml_backend_reg_get_proc_address(reg, others[i].name), others[i].function);
    assert_null(ggml_backend_reg_get_proc_address(reg, "ggml_backend_comm_init"));
    ggml_backend_get_features_t features =
        (ggml_backend_get_features_t) ggml_backend_reg_get_proc_address(reg, "ggml_backend_get_features");
    for (const struct ggml_backend_feature * f = features(reg); f->name; f++)
        assert_string_equal(f->value, "1");
    ggml_backend_dev_get_extra_bufts_t bufts =
        (ggml_backend_dev_get_extra_bufts_t) ggml_backend_reg_get_proc_address(
            reg, "ggml_backend_dev_get_extra_bufts");
    assert_null(*bufts(ggml_backend_reg_dev_get(reg, 0)));
}

struct program {
    ggml_backend_t backend;
    struct ggml_context * ctx;
    struct ggml_tensor * a;
    struct ggml_tensor * y;
    struct ggml_cgraph * g;
};

static struct program new_program(void) {
    struct program p = { .backend = ggml_backend_dev_init(ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0),
                                                          NULL) };
    p.ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 20 });
    p.a = ggml_set_f32(ggml_new_tensor_2d(p.ctx, GGML_TYPE_F32, 16, 16), 0.5f);
    p.y = ggml_mul_mat(p.ctx, p.a, p.a);
    p.g = ggml_new_graph(p.ctx);
    ggml_build_forward_expand(p.g, p.y);
    return p;
}

static void free_program(struct program * p) {
    ggml_backend_free(p->backend);
    ggml_free(p->ctx);
}

static void ignore(enum ggml_log_level level, const char * text, void * data) {
    (void) level, (void) text, (void) data;
}

static bool stop(void * data) {
    return *(const bool *) data;
}

static void settings(void ** state) {
    (void) state;
    struct program p = new_program();
    assert_true(ggml_backend_is_cpu(p.backend));
    assert_false(ggml_backend_is_cpu(NULL));
    for (int n = 1; n <= 6; n++) {
        ggml_backend_cpu_set_n_threads(p.backend, n);
        assert_int_equal(ggml_backend_graph_compute(p.backend, p.g), GGML_STATUS_SUCCESS);
        assert_true(ggml_get_f32_1d(p.y, 200) == 4.0f);
    }
    ggml_backend_cpu_set_n_threads(p.backend, 0);
    assert_contains(ggml_ext_last_error(), "0 threads");
    bool stopped = true;
    ggml_backend_cpu_set_abort_callback(p.backend, stop, &stopped);
    assert_int_equal(ggml_backend_graph_compute(p.backend, p.g), GGML_STATUS_ABORTED);
    stopped = false;
    assert_int_equal(ggml_backend_graph_compute(p.backend, p.g), GGML_STATUS_SUCCESS);
    ggml_backend_cpu_set_abort_callback(p.backend, NULL, NULL);
    ggml_backend_cpu_set_use_ref(p.backend, true);
    assert_int_equal(ggml_backend_graph_compute(p.backend, p.g), GGML_STATUS_SUCCESS);
    free_program(&p);
}

static void a_pool_of_the_application(void ** state) {
    (void) state;
    struct program p = new_program(), q = new_program();
    struct ggml_threadpool_params params = ggml_threadpool_params_default(2);
    struct ggml_threadpool * pool = ggml_threadpool_new(&params);
    ggml_backend_cpu_set_threadpool(p.backend, pool);
    ggml_backend_cpu_set_threadpool(q.backend, pool);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(ggml_backend_graph_compute(p.backend, p.g), GGML_STATUS_SUCCESS);
        assert_int_equal(ggml_backend_graph_compute(q.backend, q.g), GGML_STATUS_SUCCESS);
    }
    ggml_backend_cpu_set_threadpool(p.backend, NULL);
    assert_int_equal(ggml_backend_graph_compute(p.backend, p.g), GGML_STATUS_SUCCESS);
    ggml_backend_cpu_set_threadpool(q.backend, NULL);
    ggml_threadpool_free(pool);
    free_program(&p);
    free_program(&q);
}

static void prepared_graphs(void ** state) {
    (void) state;
    struct program p = new_program();
    ggml_backend_graph_plan_t plan = ggml_backend_graph_plan_create(p.backend, p.g);
    assert_non_null(plan);
    for (int i = 1; i <= 3; i++) {
        ggml_set_f32(p.a, (float) i);
        assert_int_equal(ggml_backend_graph_plan_compute(p.backend, plan), GGML_STATUS_SUCCESS);
        assert_true(ggml_get_f32_1d(p.y, 7) == 16.0f * (float) (i * i));
    }
    ggml_backend_graph_plan_free(p.backend, plan);
    free_program(&p);
}

// A plan keeps the settings that it was made with.
static void settings_act_from_the_next_plan_on(void ** state) {
    (void) state;
    struct program p = new_program();
    bool stopped = true;
    ggml_backend_graph_plan_t before = ggml_backend_graph_plan_create(p.backend, p.g);
    ggml_backend_cpu_set_abort_callback(p.backend, stop, &stopped);
    ggml_backend_cpu_set_n_threads(p.backend, 2);
    ggml_backend_graph_plan_t after = ggml_backend_graph_plan_create(p.backend, p.g);
    ggml_backend_cpu_set_abort_callback(p.backend, NULL, NULL);
    assert_int_equal(ggml_backend_graph_plan_compute(p.backend, before), GGML_STATUS_SUCCESS);
    assert_int_equal(ggml_backend_graph_plan_compute(p.backend, after), GGML_STATUS_ABORTED);
    assert_int_equal(ggml_backend_graph_compute(p.backend, p.g), GGML_STATUS_SUCCESS);
    stopped = false;
    assert_int_equal(ggml_backend_graph_plan_compute(p.backend, after), GGML_STATUS_SUCCESS);
    ggml_backend_graph_plan_free(p.backend, before);
    ggml_backend_graph_plan_free(p.backend, after);
    free_program(&p);
}

static const char * other_name(ggml_backend_t backend) {
    (void) backend;
    return "other";
}

static void settings_of_other_back_ends_are_refused(void ** state) {
    (void) state;
    static uint8_t guid[16] = { 1 };
    struct ggml_backend other = { .guid = &guid, .iface = { .get_name = other_name } };
    struct ggml_threadpool_params params = ggml_threadpool_params_default(1);
    struct ggml_threadpool * pool = ggml_threadpool_new(&params);
    ggml_backend_t none[] = { &other, NULL };
    ggml_log_set(ignore, NULL);
    for (int i = 0; i < 2; i++) {
        assert_false(ggml_backend_is_cpu(none[i]));
        ggml_backend_cpu_set_n_threads(none[i], 2);
        assert_contains(ggml_ext_last_error(), "ggml_backend_cpu_set_n_threads");
        ggml_backend_cpu_set_threadpool(none[i], pool);
        assert_contains(ggml_ext_last_error(), "ggml_backend_cpu_set_threadpool");
        ggml_backend_cpu_set_abort_callback(none[i], stop, NULL);
        assert_contains(ggml_ext_last_error(), "ggml_backend_cpu_set_abort_callback");
        ggml_backend_cpu_set_use_ref(none[i], true);
        assert_contains(ggml_ext_last_error(), "ggml_backend_cpu_set_use_ref");
        assert_contains(ggml_ext_last_error(), "not a CPU back end");
    }
    ggml_log_set(NULL, NULL);
    ggml_threadpool_free(pool);
}

static void what_is_not_supported_is_named(void ** state) {
    (void) state;
    struct program p = new_program();
    assert_true(ggml_backend_supports_op(p.backend, p.y));
    assert_true(ggml_backend_supports_op(p.backend, ggml_reshape_1d(p.ctx, p.a, 256)));
    struct ggml_tensor reserved = *p.y; // an operator that no builder makes
    reserved.op = GGML_OP_FLASH_ATTN_BACK;
    assert_false(ggml_backend_supports_op(p.backend, &reserved));
    assert_contains(ggml_ext_last_error(), "is not in this release's CPU back end");
    struct ggml_tensor odd = *p.y; // made by hand, against the operator's rule
    odd.ne[0] = 15;
    assert_false(ggml_backend_supports_op(p.backend, &odd));
    odd = *p.y;
    odd.src[1] = NULL;
    assert_false(ggml_backend_supports_op(p.backend, &odd));
    assert_contains(ggml_ext_last_error(), "source 1");
    free_program(&p);
}

// Descriptions alone can be of any size: no question about them may overflow.
static void sizes_beyond_any_memory(void ** state) {
    (void) state;
    struct program p = new_program();
    ggml_set_no_alloc(p.ctx, true);
    struct ggml_tensor * row = ggml_new_tensor_1d(p.ctx, GGML_TYPE_F16, (int64_t) 1 << 60);
    struct ggml_tensor * many = ggml_new_tensor_2d(p.ctx, GGML_TYPE_F16, 1, (int64_t) 1 << 60);
    struct ggml_tensor * nodes[] = { ggml_mul_mat(p.ctx, row, row), ggml_sqr(p.ctx, row),
                                     ggml_sum(p.ctx, many) };
    for (int i = 0; i < 3; i++) {
        if (!ggml_ext_tensor_valid(nodes[i])) continue;
        assert_false(ggml_backend_supports_op(p.backend, nodes[i]));
        assert_contains(ggml_ext_last_error(), "address space");
        struct ggml_cgraph * g = ggml_new_graph(p.ctx);
        ggml_build_forward_expand(g, nodes[i]);
        assert_int_equal(ggml_graph_plan(g, 4, NULL).n_threads, 0);
    }
    assert_true(ggml_ext_tensor_valid(nodes[1]));
    free_program(&p);
}

// Memory of the program, a mapped file for one, becomes a buffer in which tensors are computed with.
static void memory_of_the_program(void ** state) {
    (void) state;
    static _Alignas(64) float memory[256 + 1];
    ggml_backend_dev_t dev = ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0);
    for (int i = 0; i < 256; i++)
        memory[i] = 0.25f;
    ggml_backend_buffer_t b = ggml_backend_dev_buffer_from_host_ptr(dev, memory, 1024, 8); // 8: ignored
    assert_ptr_equal(ggml_backend_buffer_get_base(b), memory);
    assert_int_equal(ggml_backend_buffer_get_size(b), 1024);
    assert_string_equal(ggml_backend_buffer_name(b), "CPU_Mapped");
    assert_true(ggml_backend_dev_supports_buft(dev, ggml_backend_buffer_get_type(b)));
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ 1 << 20, NULL, true });
    struct ggml_tensor * a = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 16, 16);
    assert_int_equal(ggml_backend_tensor_alloc(b, a, memory), GGML_STATUS_SUCCESS);
    struct ggml_tensor * y = ggml_mul_mat(ctx, a, a);
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    ggml_build_forward_expand(g, y);
    ggml_backend_t backend = ggml_backend_dev_init(dev, NULL);
    ggml_backend_buffer_t results = ggml_backend_alloc_ctx_tensors(ctx, backend);
    assert_int_equal(ggml_backend_graph_compute(backend, g), GGML_STATUS_SUCCESS);
    float out[256];
    ggml_backend_tensor_get(y, out, 0, sizeof(out));
    for (int i = 0; i < 256; i++)
        assert_true(out[i] == 1.0f);
    assert_null(ggml_backend_dev_buffer_from_host_ptr(dev, memory + 1, 64, 0)); // not aligned
    assert_contains(ggml_ext_last_error(), "device CPU makes no buffer of the 64 bytes");
    assert_null(ggml_backend_dev_buffer_from_host_ptr(dev, NULL, 64, 0));
    ggml_backend_buffer_free(results);
    ggml_backend_buffer_free(b);
    assert_true(memory[255] == 0.25f);
    ggml_backend_free(backend);
    ggml_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions),
        cmocka_unit_test(functions_by_name),
        cmocka_unit_test(memory_of_the_program),
        cmocka_unit_test(settings),
        cmocka_unit_test(a_pool_of_the_application),
        cmocka_unit_test(prepared_graphs),
        cmocka_unit_test(settings_act_from_the_next_plan_on),
        cmocka_unit_test(settings_of_other_back_ends_are_refused),
        cmocka_unit_test(what_is_not_supported_is_named),
        cmocka_unit_test(sizes_beyond_any_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
