// SPDX-License-Identifier: MIT
// quant/quantize.c: what is refused and with which words, where rows land, threads, memory that runs out.
#include "harness.h"

#include <math.h>

#include "base/mem.h"
#include "base/thread.h"
#include "ggml-ext.h"
#include "quant/type.h"

enum { LEN = 256, ROWS = 8 };

static float x[ROWS * LEN], weights[LEN];
static uint8_t y[ROWS * LEN * 4], z[ROWS * LEN * 4];

static int set_up(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (int i = 0; i < ROWS * LEN; i++) {
        x[i] = test_rng_float(&rng, -1, 1);
    }
    for (int i = 0; i < LEN; i++) {
        weights[i] = test_rng_float(&rng, 0.1f, 1);
    }
    return 0;
}

static bool has_chunk(enum ggml_type type) {
    const struct tn_type * t = tn_type_get(type);
    return t && !t->no_chunk && (t->encode || t->encode_ref);
}

// One call that must be refused with these words.
static void refused(size_t got, const char * words) {
    assert_int_equal(got, 0);
    assert_contains(ggml_ext_last_error(), "ggml_quantize_chunk");
    assert_contains(ggml_ext_last_error(), words);
}

static void wrong_calls(void ** state) {
    (void) state;
    const enum ggml_type q = GGML_TYPE_Q4_0;
    memset(y, 0x5a, sizeof(y));
    refused(ggml_quantize_chunk(q, x, y, 0, 1, 33, NULL), "33 elements");
    refused(ggml_quantize_chunk(q, x, y, 0, 1, 0, NULL), "0 elements");
    refused(ggml_quantize_chunk(q, x, y, 0, 1, -32, NULL), "-32 elements");
    refused(ggml_quantize_chunk(q, x, y, 32, 1, 64, NULL), "start 32");
    refused(ggml_quantize_chunk(q, x, y, -64, 1, 64, NULL), "start -64");
    refused(ggml_quantize_chunk(q, x, y, 0, -1, 64, NULL), "-1 rows");
    refused(ggml_quantize_chunk(q, x, y, 0, INT64_MAX / 32, 64, NULL), "rows of 64");
    refused(ggml_quantize_chunk(q, x, y, INT64_MAX / 64 * 64, 1, 64, NULL), "rows of 64");
    refused(ggml_quantize_chunk(q, NULL, y, 0, 1, 64, NULL), "no source");
    refused(ggml_quantize_chunk(q, x, NULL, 0, 1, 64, NULL), "no destination");
    refused(ggml_quantize_chunk(GGML_TYPE_I8, x, y, 0, 1, 64, NULL), "i8");
    refused(ggml_quantize_chunk(GGML_TYPE_Q8_1, x, y, 0, 1, 64, NULL), "q8_1");
    refused(ggml_quantize_chunk((enum ggml_type) 4, x, y, 0, 1, 64, NULL), "type 4");
    for (size_t i = 0; i < sizeof(y); i++) {
        assert_int_equal(y[i], 0x5a);
    }
    assert_int_equal(ggml_quantize_chunk(q, x, y, 0, 0, 64, NULL), 0);
}

// Rows land where they belong, and nothing else is written.
static void rows_land_in_place(void ** state) {
    (void) state;
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        const enum ggml_type type = (enum ggml_type) i;
        if (!has_chunk(type)) continue;
        const size_t row = ggml_row_size(type, LEN);
        assert_int_equal(ggml_quantize_chunk(type, x, z, 0, ROWS, LEN, weights), ROWS * row);
        memset(y, 0x5a, sizeof(y));
        assert_int_equal(ggml_quantize_chunk(type, x, y, 3 * LEN, 2, LEN, weights), 2 * row);
        assert_memory_equal(y + 3 * row, z + 3 * row, 2 * row);
        for (size_t k = 0; k < sizeof(y); k++) {
            if ((k < 3 * row || k >= 5 * row) && y[k] != 0x5a)
                fail_msg("%s: byte %zu written", ggml_type_name(type), k);
        }
    }
}

struct job {
    enum ggml_type type;
    int64_t first;
    size_t done;
};

static void * run_job(void * arg) {
    struct job * job = arg;
    ggml_quantize_init(job->type);
    job->done = ggml_quantize_chunk(job->type, x, y, job->first * LEN, ROWS / 4, LEN, weights);
    return NULL;
}

static void threads_share_a_destination(void ** state) {
    (void) state;
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        const enum ggml_type type = (enum ggml_type) i;
        if (!has_chunk(type)) continue;
        const size_t row = ggml_row_size(type, LEN);
        assert_int_equal(ggml_quantize_chunk(type, x, z, 0, ROWS, LEN, weights), ROWS * row);
        ggml_quantize_free(); // so that the threads meet in preparing as well
        struct tn_thread threads[4];
        struct job jobs[4];
        for (int k = 0; k < 4; k++) {
            jobs[k] = (struct job){ .type = type, .first = k * ROWS / 4 };
            assert_true(tn_thread_start(&threads[k], run_job, &jobs[k]));
        }
        for (int k = 0; k < 4; k++) {
            tn_thread_join(&threads[k]);
            assert_int_equal(jobs[k].done, ROWS / 4 * row);
        }
        assert_memory_equal(y, z, ROWS * row);
    }
}

// Whichever allocation fails: a refusal with a text, or the same bytes; and all is well afterwards.
static void memory_runs_out(void ** state) {
    (void) state;
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        const enum ggml_type type = (enum ggml_type) i;
        if (!has_chunk(type)) continue;
        const size_t size = ggml_row_size(type, LEN);
        assert_int_equal(ggml_quantize_chunk(type, x, z, 0, 1, LEN, weights), size);
        for (int n = 1, struck = 1; struck; n++) {
            ggml_quantize_free();
            tn_mem_fail_nth(n);
            const size_t got = ggml_quantize_chunk(type, x, y, 0, 1, LEN, weights);
            struck = tn_mem_fail_nth(0);
            if (got == 0) {
                assert_true(struck);
                assert_contains(ggml_ext_last_error(), "memory");
            } else {
                assert_memory_equal(y, z, size);
            }
            assert_true(n < 100);
        }
    }
}

static void freeing_frees(void ** state) {
    (void) state;
    ggml_quantize_free();
    int64_t before = 0, after = 0;
    for (int tag = 0; tag < TN_MEM_TAGS; tag++) {
        struct tn_mem_stats stats;
        tn_mem_stats_get((enum tn_mem_tag) tag, &stats);
        before += stats.live_bytes;
    }
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        ggml_quantize_init((enum ggml_type) i);
        ggml_quantize_init((enum ggml_type) i);
    }
    ggml_quantize_free();
    ggml_quantize_free();
    for (int tag = 0; tag < TN_MEM_TAGS; tag++) {
        struct tn_mem_stats stats;
        tn_mem_stats_get((enum tn_mem_tag) tag, &stats);
        after += stats.live_bytes;
    }
    assert_int_equal(after, before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_calls),
        cmocka_unit_test(rows_land_in_place),
        cmocka_unit_test(threads_share_a_destination),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(freeing_frees),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
