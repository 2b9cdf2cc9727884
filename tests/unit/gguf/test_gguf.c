// SPDX-License-Identifier: MIT
// gguf/gguf.c, value.c, names.c, tensor_info.c, writer.c: building, reading back, setting and removing.
#include "harness.h"

#include "base/error.h"
#include "base/mem.h"
#include "ggml.h"
#include "gguf.h"

static void no_log(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) text, (void) user_data;
}

static struct ggml_context * new_context(size_t size) {
    return ggml_init((struct ggml_init_params){ .mem_size = size });
}

// One key of every type, arrays of numbers and of strings.
static void set_everything(struct gguf_context * g) {
    const int16_t numbers[3] = { -1, 0, 32767 };
    const char * words[4] = { "one", "", "three", "vier" };
    gguf_set_val_u8(g, "u8", 255);
    gguf_set_val_i8(g, "i8", -128);
    gguf_set_val_u16(g, "u16", 65535);
    gguf_set_val_i16(g, "i16", -32768);
    gguf_set_val_u32(g, "u32", 4294967295u);
    gguf_set_val_i32(g, "i32", -2147483647);
    gguf_set_val_f32(g, "f32", 1.5f);
    gguf_set_val_u64(g, "u64", UINT64_MAX);
    gguf_set_val_i64(g, "i64", INT64_MIN);
    gguf_set_val_f64(g, "f64", -2.25);
    gguf_set_val_bool(g, "bool", true);
    gguf_set_val_str(g, "str", "text");
    gguf_set_arr_data(g, "numbers", GGUF_TYPE_INT16, numbers, 3);
    gguf_set_arr_data(g, "nothing", GGUF_TYPE_FLOAT64, NULL, 0);
    gguf_set_arr_str(g, "words", words, 4);
    gguf_set_arr_str(g, "no words", NULL, 0);
}

static void check_everything(const struct gguf_context * g) {
    assert_int_equal(gguf_get_n_kv(g), 16);
    assert_int_equal(gguf_get_val_u8(g, gguf_find_key(g, "u8")), 255);
    assert_int_equal(gguf_get_val_i8(g, gguf_find_key(g, "i8")), -128);
    assert_int_equal(gguf_get_val_u16(g, gguf_find_key(g, "u16")), 65535);
    assert_int_equal(gguf_get_val_i16(g, gguf_find_key(g, "i16")), -32768);
    assert_int_equal(gguf_get_val_u32(g, gguf_find_key(g, "u32")), 4294967295u);
    assert_int_equal(gguf_get_val_i32(g, gguf_find_key(g, "i32")), -2147483647);
    assert_true(gguf_get_val_f32(g, gguf_find_key(g, "f32")) == 1.5f);
    assert_true(gguf_get_val_u64(g, gguf_find_key(g, "u64")) == UINT64_MAX);
    assert_true(gguf_get_val_i64(g, gguf_find_key(g, "i64")) == INT64_MIN);
    assert_true(gguf_get_val_f64(g, gguf_find_key(g, "f64")) == -2.25);
    assert_true(gguf_get_val_bool(g, gguf_find_key(g, "bool")));
    assert_string_equal(gguf_get_val_str(g, gguf_find_key(g, "str")), "text");
    const int64_t numbers = gguf_find_key(g, "numbers"), words = gguf_find_key(g, "words");
    assert_int_equal(gguf_get_kv_type(g, numbers), GGUF_TYPE_ARRAY);
    assert_int_equal(gguf_get_arr_type(g, numbers), GGUF_TYPE_INT16);
    assert_int_equal(gguf_get_arr_n(g, numbers), 3);
    assert_int_equal(((const int16_t *) gguf_get_arr_data(g, numbers))[2], 32767);
    assert_int_equal(gguf_get_arr_n(g, gguf_find_key(g, "nothing")), 0);
    assert_int_equal(gguf_get_arr_n(g, words), 4);
    assert_string_equal(gguf_get_arr_str(g, words, 0), "one");
    assert_string_equal(gguf_get_arr_str(g, words, 1), "");
    assert_string_equal(gguf_get_arr_str(g, words, 3), "vier");
    assert_int_equal(gguf_get_arr_n(g, gguf_find_key(g, "no words")), 0);
}

// The file in memory, as written.
static char * written(const struct gguf_context * g, size_t * size) {
    FILE * file = tmpfile();
    assert_true(gguf_write_to_file_ptr(g, file, false));
    *size = (size_t) ftell(file);
    rewind(file);
    char * bytes = malloc(*size);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static struct gguf_context * with_tensors(struct ggml_context * ctx) {
    struct gguf_context * g = gguf_init_empty();
    set_everything(g);
    struct ggml_tensor * a = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 3, 5), "a");
    struct ggml_tensor * b = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_Q8_0, 64), "b");
    struct ggml_tensor * c = ggml_set_name(ggml_new_tensor_4d(ctx, GGML_TYPE_I16, 2, 1, 1, 3), "c");
    for (size_t i = 0; i < ggml_nbytes(a); i++)
        ((uint8_t *) a->data)[i] = (uint8_t) i;
    for (size_t i = 0; i < ggml_nbytes(b); i++)
        ((uint8_t *) b->data)[i] = (uint8_t) (i * 3);
    for (size_t i = 0; i < ggml_nbytes(c); i++)
        ((uint8_t *) c->data)[i] = (uint8_t) (i * 7);
    gguf_add_tensor(g, a);
    gguf_add_tensor(g, b);
    gguf_add_tensor(g, c);
    return g;
}

static void a_round_trip_keeps_every_byte(void ** state) {
    (void) state;
    size_t size, again_size;
    struct ggml_context *ctx = new_context(1 << 16), *read = NULL;
    struct gguf_context * g = with_tensors(ctx);
    char * bytes = written(g, &size);
    struct gguf_context * r = gguf_init_from_buffer(bytes, size, (struct gguf_init_params){ .ctx = &read });
    assert_non_null(r);
    check_everything(r);
    assert_int_equal(gguf_get_n_tensors(r), 3);
    assert_int_equal(gguf_find_tensor(r, "c"), 2);
    assert_int_equal(gguf_get_tensor_ne(r, 2)[3], 3);
    assert_int_equal(gguf_get_tensor_type(r, 1), GGML_TYPE_Q8_0);
    assert_int_equal(gguf_get_tensor_size(r, 1), 68);
    assert_int_equal(gguf_get_tensor_offset(r, 1), 64);
    for (int i = 0; i < 3; i++) {
        const char * name = gguf_get_tensor_name(r, i);
        struct ggml_tensor *was = ggml_get_tensor(ctx, name), *is = ggml_get_tensor(read, name);
        assert_non_null(is);
        assert_memory_equal(was->data, is->data, ggml_nbytes(was));
        assert_int_equal((const char *) is->data - bytes > 0,
                         (const char *) is->data > bytes); // copied, not shared
    }
    // Written again from what was read.
    for (int i = 0; i < 3; i++) {
        gguf_set_tensor_data(r, gguf_get_tensor_name(r, i),
                             ggml_get_tensor(read, gguf_get_tensor_name(r, i))->data);
    }
    char * again = written(r, &again_size);
    assert_int_equal(size, again_size);
    assert_memory_equal(bytes, again, size);
    free(again);
    free(bytes);
    gguf_free(g);
    gguf_free(r);
    ggml_free(ctx);
    ggml_free(read);
}

static void metadata_is_the_start_of_the_file(void ** state) {
    (void) state;
    size_t size;
    struct ggml_context * ctx = new_context(1 << 16);
    struct gguf_context * g = with_tensors(ctx);
    char * bytes = written(g, &size);
    const size_t meta = gguf_get_meta_size(g);
    char * data = malloc(meta);
    gguf_get_meta_data(g, data);
    assert_true(meta < size);
    assert_memory_equal(bytes, data, meta);
    struct gguf_context * r =
        gguf_init_from_buffer(data, meta, (struct gguf_init_params){ .no_alloc = true });
    assert_non_null(r);
    assert_int_equal(gguf_get_data_offset(r), meta);
    gguf_free(r);
    // With the data wanted, the same bytes are a truncated file.
    struct ggml_context * read = NULL;
    assert_null(gguf_init_from_buffer(data, meta, (struct gguf_init_params){ .ctx = &read }));
    assert_null(read);
    assert_contains(tn_error_text(), "truncated");
    free(data);
    free(bytes);
    gguf_free(g);
    ggml_free(ctx);
}

static void no_alloc_gives_tensors_without_data(void ** state) {
    (void) state;
    size_t size;
    struct ggml_context *ctx = new_context(1 << 16), *read = NULL;
    struct gguf_context * g = with_tensors(ctx);
    char * bytes = written(g, &size);
    struct gguf_context * r =
        gguf_init_from_buffer(bytes, size, (struct gguf_init_params){ .no_alloc = true, .ctx = &read });
    assert_non_null(ggml_get_tensor(read, "a"));
    assert_null(ggml_get_tensor(read, "a")->data);
    assert_null(ggml_get_tensor(read, "GGUF tensor data binary blob"));
    assert_true(ggml_get_no_alloc(read));
    ggml_free(read);
    ggml_free(ctx);
    gguf_free(r);
    gguf_free(g);
    free(bytes);
}

static void a_replaced_key_moves_to_the_end(void ** state) {
    (void) state;
    struct gguf_context * g = gguf_init_empty();
    gguf_set_val_u32(g, "a", 1);
    gguf_set_val_u32(g, "b", 2);
    gguf_set_val_str(g, "a", "x");
    assert_int_equal(gguf_get_n_kv(g), 2);
    assert_int_equal(gguf_find_key(g, "a"), 1);
    assert_int_equal(gguf_get_kv_type(g, 1), GGUF_TYPE_STRING);
    assert_int_equal(gguf_remove_key(g, "b"), 0);
    assert_int_equal(gguf_remove_key(g, "b"), -1);
    assert_int_equal(gguf_find_key(g, "a"), 0);
    assert_string_equal(gguf_get_key(g, 0), "a");
    gguf_free(g);
}

static void the_alignment_is_followed(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context(1 << 16);
    struct gguf_context * g = with_tensors(ctx);
    gguf_set_val_u32(g, GGUF_KEY_GENERAL_ALIGNMENT, 256);
    assert_int_equal(gguf_get_alignment(g), 256);
    assert_int_equal(gguf_get_tensor_offset(g, 1), 256);
    gguf_set_val_u32(g, GGUF_KEY_GENERAL_ALIGNMENT, 48);
    assert_contains(tn_error_text(), "power of two");
    gguf_set_val_u64(g, GGUF_KEY_GENERAL_ALIGNMENT, 64);
    assert_contains(tn_error_text(), "must be u32");
    assert_int_equal(gguf_get_alignment(g), 256);
    size_t size;
    char * bytes = written(g, &size);
    assert_int_equal(size % 256, 0);
    struct gguf_context * r = gguf_init_from_buffer(bytes, size, (struct gguf_init_params){ 0 });
    assert_int_equal(gguf_get_alignment(r), 256);
    gguf_remove_key(g, GGUF_KEY_GENERAL_ALIGNMENT);
    assert_int_equal(gguf_get_tensor_offset(g, 1), 64);
    free(bytes);
    gguf_free(r);
    gguf_free(g);
    ggml_free(ctx);
}

static void types_and_data_of_tensors_change(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context(1 << 16);
    struct gguf_context * g = with_tensors(ctx);
    gguf_set_tensor_type(g, "b", GGML_TYPE_F32);
    assert_int_equal(gguf_get_tensor_size(g, 1), 256);
    assert_int_equal(gguf_get_tensor_offset(g, 2), 64 + 256);
    gguf_set_tensor_type(g, "a", GGML_TYPE_Q8_0); // rows of 3 are no whole blocks
    assert_contains(tn_error_text(), "'a'");
    assert_int_equal(gguf_get_tensor_type(g, 0), GGML_TYPE_F32);
    gguf_set_tensor_type(g, "nobody", GGML_TYPE_F32);
    assert_contains(tn_error_text(), "nobody");
    gguf_free(g);
    ggml_free(ctx);
}

static void wrong_ids_and_types_are_answered(void ** state) {
    (void) state;
    struct gguf_context * g = gguf_init_empty();
    gguf_set_val_u32(g, "u", 7);
    assert_int_equal(gguf_get_val_i32(g, 0), 0);
    assert_contains(tn_error_text(), "'u' is u32, not i32");
    assert_string_equal(gguf_get_val_str(g, 0), "");
    assert_int_equal(gguf_get_val_u32(g, 5), 0);
    assert_int_equal(gguf_get_val_u32(g, -1), 0);
    assert_null(gguf_get_arr_data(g, 0));
    assert_string_equal(gguf_get_arr_str(g, 0, 0), "");
    assert_int_equal(gguf_get_kv_type(g, 99), GGUF_TYPE_COUNT);
    assert_int_equal(gguf_get_arr_type(g, 0), GGUF_TYPE_COUNT);
    assert_string_equal(gguf_get_tensor_name(g, 0), "");
    assert_int_equal(gguf_get_tensor_ne(g, 3)[0], 0);
    assert_int_equal(gguf_find_key(NULL, "u"), -1);
    assert_int_equal(gguf_find_key(g, NULL), -1);
    assert_null(gguf_type_name(GGUF_TYPE_COUNT));
    assert_string_equal(gguf_type_name(GGUF_TYPE_BOOL), "bool");
    gguf_set_val_u32(g, "", 1);
    gguf_set_val_u32(g, NULL, 1);
    gguf_set_val_str(g, "s", NULL);
    gguf_set_arr_data(g, "s", GGUF_TYPE_STRING, "x", 1);
    gguf_set_arr_data(g, "s", GGUF_TYPE_ARRAY, "x", 1);
    gguf_set_arr_data(g, "s", GGUF_TYPE_INT8, NULL, 1);
    assert_int_equal(gguf_get_n_kv(g), 1);
    gguf_free(g);
    gguf_free(NULL);
}

static void wrong_tensors_are_refused(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context(1 << 16);
    struct gguf_context * g = gguf_init_empty();
    struct ggml_tensor * a = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 3, 5), "a");
    gguf_add_tensor(g, a);
    gguf_add_tensor(g, a);
    assert_contains(tn_error_text(), "twice");
    gguf_add_tensor(g, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1));
    assert_contains(tn_error_text(), "no name");
    gguf_add_tensor(g, NULL);
    assert_int_equal(gguf_get_n_tensors(g), 1);
    gguf_set_tensor_data(g, "a", NULL);
    FILE * file = tmpfile();
    assert_false(gguf_write_to_file_ptr(g, file, false));
    assert_contains(tn_error_text(), "has no data");
    assert_true(gguf_write_to_file_ptr(g, file, true));
    fclose(file);
    gguf_free(g);
    ggml_free(ctx);
}

static void failed_writes_say_why(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context(1 << 16);
    struct gguf_context * g = with_tensors(ctx);
    assert_false(gguf_write_to_file(g, "/nonexistent/x.gguf", false));
    assert_contains(tn_error_text(), "/nonexistent/x.gguf");
    assert_false(gguf_write_to_file(g, NULL, false));
    assert_false(gguf_write_to_file_ptr(g, NULL, false));
    FILE * full = fopen("/dev/full", "wb");
    if (full) {
        assert_false(gguf_write_to_file_ptr(g, full, false));
        assert_contains(tn_error_text(), "No space left");
        fclose(full);
    }
    gguf_free(g);
    ggml_free(ctx);
}

static void keys_are_copied_between_files(void ** state) {
    (void) state;
    struct gguf_context *a = gguf_init_empty(), *b = gguf_init_empty();
    set_everything(a);
    gguf_set_val_u32(b, "str", 3);
    gguf_set_kv(b, a);
    check_everything(b);
    gguf_free(a);
    check_everything(b);
    gguf_free(b);
}

// Every allocation of building, writing and reading fails once: nothing crashes, nothing leaks, and what is
// not refused is right.
static void every_allocation_may_fail(void ** state) {
    (void) state;
    struct tn_mem_stats before, after;
    tn_mem_stats_get(TN_MEM_GGUF, &before);
    size_t size;
    struct ggml_context *ctx = new_context(1 << 16), *read = NULL;
    struct gguf_context * g = with_tensors(ctx);
    char * bytes = written(g, &size);
    int refusals = 0;
    for (int n = 1;; n++) {
        read = NULL;
        tn_mem_fail_nth(n);
        struct gguf_context * r =
            gguf_init_from_buffer(bytes, size, (struct gguf_init_params){ .ctx = &read });
        const int struck = tn_mem_fail_nth(0);
        if (r) check_everything(r);
        if (!r) assert_null(read);
        assert_true(!struck || !r);
        refusals += !r;
        gguf_free(r);
        ggml_free(read);
        if (!struck) break;
    }
    assert_true(refusals > 20);
    gguf_free(g);
    for (int n = 1, struck = 1; struck; n++) {
        tn_mem_fail_nth(n);
        g = with_tensors(ctx);
        struck = tn_mem_fail_nth(0);
        assert_true(!g || gguf_get_n_kv(g) <= 16);
        gguf_free(g);
        ggml_reset(ctx);
    }
    free(bytes);
    ggml_free(ctx);
    tn_mem_stats_get(TN_MEM_GGUF, &after);
    assert_int_equal(before.live_blocks, after.live_blocks);
}

int main(void) {
    ggml_log_set(no_log, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_trip_keeps_every_byte),
        cmocka_unit_test(metadata_is_the_start_of_the_file),
        cmocka_unit_test(no_alloc_gives_tensors_without_data),
        cmocka_unit_test(a_replaced_key_moves_to_the_end),
        cmocka_unit_test(the_alignment_is_followed),
        cmocka_unit_test(types_and_data_of_tensors_change),
        cmocka_unit_test(wrong_ids_and_types_are_answered),
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(failed_writes_say_why),
        cmocka_unit_test(keys_are_copied_between_files),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
