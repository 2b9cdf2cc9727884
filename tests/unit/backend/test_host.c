// SPDX-License-Identifier: MIT
// backend/host.c: host memory, owned and borrowed.
#include "harness.h"

#include "backend/host.h"
#include "base/mem.h"
#include "ggml-backend.h"
#include "ggml-ext.h"

static void the_type_is_host_memory(void ** state) {
    (void) state;
    ggml_backend_buffer_type_t type = ggml_backend_cpu_buffer_type();
    assert_ptr_equal(type, tn_host_buffer_type());
    assert_string_equal(ggml_backend_buft_name(type), "CPU");
    assert_true(ggml_backend_buft_is_host(type));
    assert_int_equal(ggml_backend_buft_get_alignment(type), 32);
    assert_true(ggml_backend_buft_get_max_size(type) == SIZE_MAX);
    assert_null(ggml_backend_buft_get_device(type));
}

static void an_owned_buffer_frees_its_memory(void ** state) {
    (void) state;
    struct tn_mem_stats before, after;
    tn_mem_stats_get(TN_MEM_BUFFER, &before);
    ggml_backend_buffer_t b = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 1000);
    assert_int_equal((uintptr_t) ggml_backend_buffer_get_base(b) % 64, 0);
    ggml_backend_buffer_clear(b, 3);
    assert_int_equal(((char *) ggml_backend_buffer_get_base(b))[999], 3);
    ggml_backend_buffer_free(b);
    tn_mem_stats_get(TN_MEM_BUFFER, &after);
    assert_int_equal(after.live_bytes, before.live_bytes);
}

static void no_memory_is_null(void ** state) {
    (void) state;
    for (int n = 1; n <= 2; n++) {
        tn_mem_fail_nth(n);
        assert_null(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 1000));
        assert_int_equal(tn_mem_fail_nth(0), 1);
    }
    assert_null(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), SIZE_MAX - 10));
}

static void borrowed_memory_stays(void ** state) {
    (void) state;
    char * memory = aligned_alloc(64, 256);
    memset(memory, 1, 256);
    assert_null(ggml_backend_cpu_buffer_from_ptr(memory + 8, 100));
    assert_contains(ggml_ext_last_error(), "32");
    assert_null(ggml_backend_cpu_buffer_from_ptr(NULL, 100));
    ggml_backend_buffer_t b = ggml_backend_cpu_buffer_from_ptr(memory + 32, 128);
    assert_string_equal(ggml_backend_buffer_name(b), "CPU_Mapped");
    assert_true(ggml_backend_buffer_is_host(b));
    assert_ptr_equal(ggml_backend_buffer_get_base(b), memory + 32);
    assert_int_equal(ggml_backend_buffer_get_size(b), 128);
    ggml_backend_buffer_free(b);
    assert_int_equal(memory[255], 1);
    free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_type_is_host_memory),
        cmocka_unit_test(an_owned_buffer_frees_its_memory),
        cmocka_unit_test(no_memory_is_null),
        cmocka_unit_test(borrowed_memory_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
