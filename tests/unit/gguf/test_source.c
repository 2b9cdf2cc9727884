// SPDX-License-Identifier: MIT
// Where bytes come from: strings and values of all lengths around the window through which a file is read.
#include "harness.h"

#include "ggml.h"
#include "gguf.h"
#include "gguf/limits.h"

enum { N_STRINGS = 3000, LONGEST = 3 * TN_GGUF_WINDOW };

// Most are short, some as long as the window or longer.
static size_t length_of(int i) {
    static const size_t lengths[] = { TN_GGUF_WINDOW - 9, TN_GGUF_WINDOW - 8, TN_GGUF_WINDOW - 1,
                                      TN_GGUF_WINDOW,     TN_GGUF_WINDOW + 1, LONGEST };
    return i % 401 == 400 ? lengths[i / 401 % 6] : (size_t) (i * 7 % 41);
}

static struct gguf_context * make_file(void) {
    char * text = malloc(LONGEST + 1);
    char ** strings = calloc(N_STRINGS, sizeof(*strings));
    for (int i = 0; i < N_STRINGS; i++) {
        const size_t n = length_of(i);
        memset(text, 'a' + i % 26, n);
        text[n] = '\0';
        strings[i] = strdup(text);
    }
    struct gguf_context * g = gguf_init_empty();
    gguf_set_arr_str(g, "strings", (const char **) strings, N_STRINGS);
    gguf_set_val_u8(g, "one byte", 7);
    gguf_set_arr_data(g, "bytes", GGUF_TYPE_UINT8, text, TN_GGUF_WINDOW);
    gguf_set_val_f64(g, "last", 0.5);
    for (int i = 0; i < N_STRINGS; i++)
        free(strings[i]);
    free(strings);
    free(text);
    return g;
}

static void check_file(const struct gguf_context * g) {
    assert_non_null(g);
    assert_int_equal(gguf_get_n_kv(g), 4);
    assert_int_equal(gguf_get_arr_n(g, 0), N_STRINGS);
    for (int i = 0; i < N_STRINGS; i++) {
        const char * text = gguf_get_arr_str(g, 0, (size_t) i);
        assert_int_equal(strlen(text), length_of(i));
        assert_int_equal(strspn(text, (char[]){ (char) ('a' + i % 26), '\0' }), length_of(i));
    }
    assert_int_equal(gguf_get_val_u8(g, 1), 7);
    assert_int_equal(gguf_get_arr_n(g, 2), TN_GGUF_WINDOW);
    assert_true(gguf_get_val_f64(g, 3) == 0.5);
}

// Wherever the file begins, other strings fall on the edges of the window.
static void a_file_is_read_through_a_window(void ** state) {
    (void) state;
    struct gguf_context * made = make_file();
    for (int before = 0; before < 40; before += 13) {
        FILE * file = tmpfile();
        for (int i = 0; i < before; i++)
            fputc('#', file);
        assert_true(gguf_write_to_file_ptr(made, file, false));
        fseek(file, before, SEEK_SET);
        struct gguf_context * g = gguf_init_from_file_ptr(file, (struct gguf_init_params){ 0 });
        check_file(g);
        gguf_free(g);
        fclose(file);
    }
    gguf_free(made);
}

// The data of tensors is read at once, behind what the window already holds.
static void data_may_follow_in_the_window(void ** state) {
    (void) state;
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 20 });
    struct gguf_context * made = gguf_init_empty();
    static const int64_t sizes[] = { 3, TN_GGUF_WINDOW / 4, 3 * TN_GGUF_WINDOW };
    for (int k = 0; k < 3; k++) {
        struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, sizes[k]);
        ggml_format_name(t, "t%d", k);
        for (int64_t i = 0; i < sizes[k]; i++)
            ((float *) t->data)[i] = (float) (i + k);
        gguf_add_tensor(made, t);
    }
    FILE * file = tmpfile();
    assert_true(gguf_write_to_file_ptr(made, file, false));
    rewind(file);
    struct ggml_context * read = NULL;
    struct gguf_context * g = gguf_init_from_file_ptr(file, (struct gguf_init_params){ .ctx = &read });
    assert_non_null(g);
    for (int k = 0; k < 3; k++) {
        const char * name = gguf_get_tensor_name(g, k);
        const struct ggml_tensor * t = ggml_get_tensor(read, name), * want = ggml_get_tensor(ctx, name);
        assert_memory_equal(t->data, want->data, ggml_nbytes(want));
    }
    gguf_free(g);
    ggml_free(read);
    fclose(file);
    gguf_free(made);
    ggml_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_through_a_window),
        cmocka_unit_test(data_may_follow_in_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
