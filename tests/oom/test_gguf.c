// SPDX-License-Identifier: MIT
// Allocation failures while model files are made, written and read.
#include "sweep.h"

#include "gguf.h"

static char bytes[1 << 16];
static size_t n_bytes;

static void fill(struct gguf_context * gguf, const struct ggml_tensor * t) {
    const char * words[] = { "a", "bc", "def" };
    const int32_t numbers[] = { 1, 2, 3, 4 };
    gguf_set_val_str(gguf, "general.architecture", "test");
    gguf_set_val_u32(gguf, "some.number", 42);
    gguf_set_arr_str(gguf, "some.words", words, 3);
    gguf_set_arr_data(gguf, "some.numbers", GGUF_TYPE_INT32, numbers, 4);
    gguf_add_tensor(gguf, t);
}

static bool is_complete(const struct gguf_context * gguf) {
    return gguf_get_n_kv(gguf) == 4 && gguf_get_n_tensors(gguf) == 1;
}

static bool making_and_writing(void) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = 4096 });
    struct gguf_context * gguf = gguf_init_empty();
    FILE * file = fmemopen(bytes, sizeof(bytes), "wb");
    bool ok = ctx && gguf;
    if (ok) {
        struct ggml_tensor * t = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 100), "t");
        ggml_set_zero(t);
        fill(gguf, t);
        ok = is_complete(gguf) && gguf_write_to_file_ptr(gguf, file, false);
        n_bytes = ok ? (size_t) ftell(file) : 0;
    }
    fclose(file);
    gguf_free(gguf);
    ggml_free(ctx);
    return ok;
}

static bool reading(void) {
    struct ggml_context * ctx = NULL;
    struct gguf_context * gguf =
        gguf_init_from_buffer(bytes, n_bytes, (struct gguf_init_params){ false, &ctx });
    if (!gguf) {
        assert_null(ctx);
        return false;
    }
    const bool ok = is_complete(gguf) && ggml_get_tensor(ctx, "t");
    assert_true(ok);
    gguf_free(gguf);
    ggml_free(ctx);
    return ok;
}

static void model_files(void ** state) {
    (void) state;
    assert_true(sweep(making_and_writing) > 5);
    assert_true(sweep(reading) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(model_files) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
