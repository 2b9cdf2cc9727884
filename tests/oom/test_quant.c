// SPDX-License-Identifier: MIT
// Allocation failures of the encoders: size 0, with a text.
#include "sweep.h"

#include "ggml.h"

static enum ggml_type type;

static bool encoding(void) {
    enum { N = 512 };
    static float values[N], weights[N];
    static char out[N * 8];
    for (int i = 0; i < N; i++) {
        values[i] = (float) (i * 37 % 101) - 50.0f;
        weights[i] = 1.0f + (float) (i % 3);
    }
    const size_t size = ggml_quantize_chunk(type, values, out, 0, 2, N / 2, weights);
    ggml_quantize_free(); // search tables are built anew each time
    return size == 2 * ggml_row_size(type, N / 2);
}

static bool has_encoder(void) {
    tn_error_clear();
    return encoding();
}

static void every_type_with_an_encoder(void ** state) {
    (void) state;
    int swept = 0;
    for (int t = 0; t < GGML_TYPE_COUNT; t++) {
        type = (enum ggml_type) t;
        if (ggml_type_size(type) == 0 || !has_encoder()) continue;
        sweep(encoding);
        swept++;
    }
    assert_true(swept >= 10);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_type_with_an_encoder) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
