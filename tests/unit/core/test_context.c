// SPDX-License-Identifier: MIT
// core/context.c: sizes that clients count on, pools, the walk over tensors, what a full context hands out.
#include "harness.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "core/context.h"
#include "ggml-ext.h"

static struct ggml_context * init(size_t size, void * buffer, bool no_alloc) {
    return ggml_init(
        (struct ggml_init_params){ .mem_size = size, .mem_buffer = buffer, .no_alloc = no_alloc });
}

static void sizes_that_clients_count_on(void ** state) {
    (void) state;
    assert_int_equal(sizeof(struct ggml_object), 32);
    assert_int_equal(sizeof(struct ggml_tensor), 336 - 64 + GGML_MAX_NAME);
    assert_int_equal(ggml_tensor_overhead(), 32 + sizeof(struct ggml_tensor));
    struct ggml_context * ctx = init(1 << 16, NULL, false);
    assert_int_equal(ggml_used_mem(ctx), 0);
    ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1); // 4 bytes of data count as 16
    assert_int_equal(ggml_used_mem(ctx), ggml_tensor_overhead() + 16);
    ggml_set_no_alloc(ctx, true);
    ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1000);
    assert_int_equal(ggml_used_mem(ctx), 2 * ggml_tensor_overhead() + 16);
    ggml_new_buffer(ctx, 17);
    assert_int_equal(ggml_used_mem(ctx), 2 * ggml_tensor_overhead() + 16 + 32 + 32);
    ggml_free(ctx);
}

static void the_pool_is_rounded_up_and_owned(void ** state) {
    (void) state;
    struct ggml_context * ctx = init(1001, NULL, true);
    assert_int_equal(ggml_get_mem_size(ctx), 1008);
    assert_non_null(ggml_get_mem_buffer(ctx));
    assert_true(ggml_get_no_alloc(ctx));
    ggml_set_no_alloc(ctx, false);
    assert_false(ggml_get_no_alloc(ctx));
    ggml_free(ctx);
    ctx = init(0, NULL, false);
    assert_non_null(ctx);
    assert_int_equal(ggml_get_mem_size(ctx), GGML_MEM_ALIGN);
    assert_false(ggml_ext_tensor_valid(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1)));
    ggml_free(ctx);
}

static void a_pool_of_the_caller_is_used_in_place(void ** state) {
    (void) state;
    char * pool = malloc(4096);
    for (int skew = 0; skew < 16; skew += 5) { // not aligned either
        memset(pool, 0x55, 4096);
        struct ggml_context * ctx = init(2000, pool + skew, false);
        assert_int_equal(ggml_get_mem_size(ctx), 2000);
        assert_ptr_equal(ggml_get_mem_buffer(ctx), pool + skew);
        int n = 0;
        for (; n < 100; n++) {
            struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
            if (!ggml_ext_tensor_valid(t)) break;
            assert_int_equal((uintptr_t) t % GGML_MEM_ALIGN, 0);
            assert_int_equal((uintptr_t) t->data % GGML_MEM_ALIGN, 0);
            memset(t->data, 0, 32);
        }
        assert_int_equal(n, (2000 - (skew ? 16 - skew : 0)) / (ggml_tensor_overhead() + 32));
        for (int i = 2000 + skew; i < 4096; i++)
            assert_int_equal(pool[i], 0x55);
        ggml_free(ctx);
    }
    free(pool);
}

static void what_is_made_is_walked_in_order(void ** state) {
    (void) state;
    struct ggml_context * ctx = init(1 << 16, NULL, false);
    assert_null(ggml_get_first_tensor(ctx));
    ggml_new_buffer(ctx, 100);
    struct ggml_tensor * a = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3), "x");
    ggml_new_graph_custom(ctx, 4, false);
    struct ggml_tensor * b = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F16, 30), "y");
    struct ggml_tensor * c = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 2), "x");
    assert_ptr_equal(ggml_get_first_tensor(ctx), a);
    assert_ptr_equal(ggml_get_next_tensor(ctx, a), b);
    assert_ptr_equal(ggml_get_next_tensor(ctx, b), c);
    assert_null(ggml_get_next_tensor(ctx, c));
    assert_ptr_equal(ggml_get_tensor(ctx, "x"), a);
    assert_ptr_equal(ggml_get_tensor(ctx, "y"), b);
    assert_null(ggml_get_tensor(ctx, "z"));
    assert_int_equal(ggml_get_max_tensor_size(ctx), 60);
    ggml_reset(ctx);
    assert_null(ggml_get_first_tensor(ctx));
    assert_int_equal(ggml_used_mem(ctx), 0);
    ggml_free(ctx);
}

static void a_full_context_refuses_and_says_so(void ** state) {
    (void) state;
    struct ggml_context * ctx = init(2 * ggml_tensor_overhead(), NULL, true);
    assert_null(ggml_ext_context_error(ctx));
    struct ggml_tensor * a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    struct ggml_tensor * b = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    struct ggml_tensor * t = ggml_add(ctx, a, b);
    assert_non_null(t);
    assert_false(ggml_ext_tensor_valid(t));
    char text[128];
    const size_t full = 2 * ggml_tensor_overhead();
    snprintf(text, sizeof(text), "ggml_add: the context is full: %zu bytes wanted, %zu of %zu used",
             sizeof(struct ggml_tensor), full, full);
    assert_contains(ggml_ext_context_error(ctx), text);
    assert_contains(ggml_ext_context_error(ctx), "src0 '' f32 [1, 1, 1, 1], src1");
    assert_string_equal(ggml_ext_context_error(ctx), ggml_ext_last_error());
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        assert_true(t->ne[i] > 0);
        assert_int_equal(t->nb[i], sizeof(float));
    }
    assert_null(t->data);
    struct ggml_tensor * u = ggml_mul(ctx, t, a); // another reason, the first one is kept
    assert_false(ggml_ext_tensor_valid(u));
    assert_contains(ggml_ext_last_error(),
                    "ggml_mul: source 0 was refused before: ggml_add: the context is full");
    assert_contains(ggml_ext_context_error(ctx), "ggml_add: ");
    assert_null(ggml_new_buffer(ctx, 1));
    assert_contains(ggml_ext_last_error(), "ggml_new_buffer: the context is full");
    assert_null(ggml_new_buffer(ctx, SIZE_MAX));
    assert_null(ggml_get_next_tensor(ctx, t));
    ggml_reset(ctx);
    assert_null(ggml_ext_context_error(ctx));
    assert_true(ggml_ext_tensor_valid(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1)));
    ggml_free(ctx);
}

static void null_is_answered(void ** state) {
    (void) state;
    ggml_free(NULL);
    ggml_reset(NULL);
    ggml_set_no_alloc(NULL, true);
    ggml_print_object(NULL);
    ggml_print_objects(NULL);
    assert_int_equal(ggml_used_mem(NULL), 0);
    assert_int_equal(ggml_get_mem_size(NULL), 0);
    assert_null(ggml_get_mem_buffer(NULL));
    assert_false(ggml_get_no_alloc(NULL));
    assert_null(ggml_get_first_tensor(NULL));
    assert_null(ggml_get_next_tensor(NULL, NULL));
    assert_null(ggml_get_tensor(NULL, "x"));
    assert_int_equal(ggml_get_max_tensor_size(NULL), 0);
    assert_null(ggml_new_buffer(NULL, 1));
    assert_contains(ggml_ext_last_error(), "ggml_new_buffer: the context is NULL");
    assert_null(ggml_ext_context_error(NULL));
    assert_false(ggml_ext_tensor_valid(NULL));
    struct ggml_tensor * t = ggml_new_tensor_1d(NULL, GGML_TYPE_F32, 1);
    assert_non_null(t);
    assert_false(ggml_ext_tensor_valid(t));
    assert_contains(ggml_ext_last_error(), "ggml_new_tensor: the context is NULL");
}

static void memory_that_is_not_there(void ** state) {
    (void) state;
    assert_null(init(SIZE_MAX, NULL, false));
    assert_contains(tn_error_text(), "ggml_init: mem_size 18446744073709551615 is too large");
    assert_null(init(SIZE_MAX / 2, NULL, false));
    assert_contains(tn_error_text(), "ggml_init: out of memory");
    struct tn_mem_stats before, after;
    tn_mem_stats_get(TN_MEM_CONTEXT, &before);
    for (int n = 1; n <= 2; n++) {
        tn_mem_fail_nth(n);
        assert_null(init(100, NULL, false));
    }
    assert_int_equal(tn_mem_fail_nth(0), 1);
    tn_mem_stats_get(TN_MEM_CONTEXT, &after);
    assert_int_equal(before.live_blocks, after.live_blocks);
}

static int log_lines;

static void count_lines(enum ggml_log_level level, const char * text, void * user_data) {
    (void) text;
    (void) user_data;
    log_lines += level == GGML_LOG_LEVEL_ERROR || level == GGML_LOG_LEVEL_INFO;
}

// What follows from a refusal is not reported again: a graph of a thousand nodes gives one line.
static void one_line_in_the_log_for_one_reason(void ** state) {
    (void) state;
    struct ggml_context * ctx = init(1 << 16, NULL, true);
    ggml_log_set(count_lines, NULL);
    log_lines = 0;
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, -1);
    for (int i = 0; i < 10; i++)
        t = ggml_add(ctx, t, t);
    assert_int_equal(log_lines, 1);
    ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    ggml_new_graph_custom(ctx, 1, false);
    log_lines = 0;
    ggml_print_objects(ctx);
    assert_int_equal(log_lines, 3);
    ggml_log_set(NULL, NULL);
    ggml_free(ctx);
}

// In another process: strict mode ends it.
static int status_of_child(void (*run)(void)) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(3);
        run();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void refuse_something(void) {
    struct ggml_context * ctx = init(0, NULL, true);
    ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
}

static void refuse_strictly(void) {
    ggml_ext_set_strict(true);
    refuse_something();
}

static void refuse_by_environment(void) {
    setenv("TENON_STRICT", "1", 1);
    refuse_something();
}

static void refuse_against_environment(void) {
    setenv("TENON_STRICT", "1", 1);
    ggml_ext_set_strict(false);
    refuse_something();
}

static void strict_mode_ends_the_process(void ** state) {
    (void) state;
    assert_int_equal(status_of_child(refuse_something), 0);
    assert_int_equal(status_of_child(refuse_strictly), -SIGABRT);
    assert_int_equal(status_of_child(refuse_by_environment), -SIGABRT);
    assert_int_equal(status_of_child(refuse_against_environment), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_mode_ends_the_process), // first: the environment is read once
        cmocka_unit_test(sizes_that_clients_count_on),
        cmocka_unit_test(the_pool_is_rounded_up_and_owned),
        cmocka_unit_test(a_pool_of_the_caller_is_used_in_place),
        cmocka_unit_test(what_is_made_is_walked_in_order),
        cmocka_unit_test(a_full_context_refuses_and_says_so),
        cmocka_unit_test(null_is_answered),
        cmocka_unit_test(memory_that_is_not_there),
        cmocka_unit_test(one_line_in_the_log_for_one_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
