// SPDX-License-Identifier: MIT
// Data sets: shards, orders, batches, and what is refused.
#include "harness.h"

#include "base/error.h"
#include "ggml-alloc.h"
#include "ggml-ext.h"
#include "ggml-opt.h"
#include "train/opt_int.h"

enum { WIDTH = 3, LABELS = 2 };

// Element k of datapoint i is 10 i + k; of its label, -(10 i + k).
static void number(ggml_opt_dataset_t ds) {
    const int64_t n = ggml_opt_dataset_ndata(ds);
    float * data = ggml_get_data_f32(ggml_opt_dataset_data(ds));
    for (int64_t i = 0; i < n * WIDTH; i++)
        data[i] = (float) (10 * (i / WIDTH) + i % WIDTH);
    if (!ggml_opt_dataset_labels(ds)) return;
    float * labels = ggml_get_data_f32(ggml_opt_dataset_labels(ds));
    for (int64_t i = 0; i < n * LABELS; i++)
        labels[i] = -(float) (10 * (i / LABELS) + i % LABELS);
}

static ggml_opt_dataset_t numbered(int64_t n, int64_t shard, bool labels) {
    ggml_opt_dataset_t ds =
        ggml_opt_dataset_init(GGML_TYPE_F32, GGML_TYPE_F32, WIDTH, labels ? LABELS : 0, n, shard);
    assert_non_null(ds);
    number(ds);
    return ds;
}

// Batches in a buffer.
struct batch {
    struct ggml_context * ctx;
    ggml_backend_buffer_t buffer;
    struct ggml_tensor * data;
    struct ggml_tensor * labels;
};

static struct batch batch_of(int64_t n) {
    struct batch b = { 0 };
    b.ctx = ggml_init((struct ggml_init_params){ 4 * ggml_tensor_overhead(), NULL, true });
    b.data = ggml_new_tensor_2d(b.ctx, GGML_TYPE_F32, WIDTH, n);
    b.labels = ggml_new_tensor_2d(b.ctx, GGML_TYPE_F32, LABELS, n);
    b.buffer = ggml_backend_alloc_ctx_tensors_from_buft(b.ctx, ggml_backend_cpu_buffer_type());
    assert_non_null(b.buffer);
    ggml_backend_buffer_clear(b.buffer, 0);
    return b;
}

static void batch_free(struct batch * b) {
    ggml_backend_buffer_free(b->buffer);
    ggml_free(b->ctx);
}

// Which datapoint row i is; checks the row and its label.
static int64_t datapoint(const float * data, const float * labels, int64_t i) {
    const int64_t at = (int64_t) data[i * WIDTH] / 10;
    for (int64_t k = 0; k < WIDTH; k++)
        assert_true(data[i * WIDTH + k] == (float) (10 * at + k));
    for (int64_t k = 0; labels && k < LABELS; k++)
        assert_true(labels[i * LABELS + k] == -(float) (10 * at + k));
    return at;
}

static void contents(void ** state) {
    (void) state;
    ggml_opt_dataset_t ds = ggml_opt_dataset_init(GGML_TYPE_F16, GGML_TYPE_I32, 7, 1, 5, 2);
    assert_int_equal(ggml_opt_dataset_ndata(ds), 5);
    const struct ggml_tensor * data = ggml_opt_dataset_data(ds);
    const struct ggml_tensor * labels = ggml_opt_dataset_labels(ds);
    assert_int_equal(data->type, GGML_TYPE_F16);
    assert_int_equal(data->ne[0], 7);
    assert_int_equal(data->ne[1], 5);
    assert_int_equal(labels->type, GGML_TYPE_I32);
    assert_int_equal(labels->ne[0], 1);
    assert_int_equal(labels->ne[1], 5);
    assert_true(ggml_backend_buffer_is_host(data->buffer) && ggml_backend_buffer_is_host(labels->buffer));
    ggml_opt_dataset_free(ds);
    ds = numbered(4, 1, false);
    assert_null(ggml_opt_dataset_labels(ds));
    ggml_opt_dataset_free(ds);
    ggml_opt_dataset_free(NULL);
}

static void batches_in_order(void ** state) {
    (void) state;
    ggml_opt_dataset_t ds = numbered(11, 2, true); // the eleventh fills no shard
    struct batch b = batch_of(4);
    for (int64_t i = 0; i < 2; i++) {
        ggml_opt_dataset_get_batch(ds, b.data, b.labels, i);
        for (int64_t k = 0; k < 4; k++)
            assert_int_equal(datapoint(b.data->data, b.labels->data, k), 4 * i + k);
    }
    tn_error_clear();
    ggml_opt_dataset_get_batch(ds, b.data, b.labels, 2); // two of its datapoints are left
    assert_contains(ggml_ext_last_error(), "batch 2 of 2 shards: the data set has 5");
    assert_int_equal(datapoint(b.data->data, b.labels->data, 0), 4);
    float data[2 * WIDTH], labels[2 * LABELS];
    ggml_opt_dataset_get_batch_host(ds, data, sizeof(data), labels, 4);
    assert_int_equal(datapoint(data, labels, 0), 8);
    assert_int_equal(datapoint(data, labels, 1), 9);
    batch_free(&b);
    ggml_opt_dataset_free(ds);
}

// Every shard once; those behind the first n where they were.
static void check_order(ggml_opt_dataset_t ds, int64_t shard, int64_t n, bool * moved) {
    const int64_t n_shards = ggml_opt_dataset_ndata(ds) / shard;
    bool * seen = calloc((size_t) n_shards, sizeof(*seen));
    float * data = malloc((size_t) shard * WIDTH * sizeof(float));
    float * labels = malloc((size_t) shard * LABELS * sizeof(float));
    *moved = false;
    for (int64_t i = 0; i < n_shards; i++) {
        ggml_opt_dataset_get_batch_host(ds, data, (size_t) shard * WIDTH * sizeof(float), labels, i);
        const int64_t first = datapoint(data, labels, 0);
        assert_int_equal(first % shard, 0);
        for (int64_t k = 1; k < shard; k++)
            assert_int_equal(datapoint(data, labels, k), first + k);
        if (i * shard >= n) assert_int_equal(first, i * shard);
        *moved |= first != i * shard;
        assert_false(seen[first / shard]);
        seen[first / shard] = true;
    }
    free(labels);
    free(data);
    free(seen);
}

static void shuffled(void ** state) {
    (void) state;
    struct ggml_opt_context opt = { 0 };
    bool moved;
    tn_shuffle_init(&opt.shuffle);
    for (int64_t shard = 1; shard <= 7; shard++) {
        ggml_opt_dataset_t ds = numbered(20 * shard + shard - 1, shard, true);
        ggml_opt_dataset_shuffle(&opt, ds, 0);
        check_order(ds, shard, 0, &moved);
        assert_false(moved);
        ggml_opt_dataset_shuffle(&opt, ds, 12 * shard);
        check_order(ds, shard, 12 * shard, &moved);
        assert_true(moved);
        ggml_opt_dataset_shuffle(&opt, ds, -1);
        check_order(ds, shard, 20 * shard, &moved);
        assert_true(moved);
        ggml_opt_dataset_free(ds);
    }
}

static void repeats(void ** state) {
    (void) state;
    int64_t first[2][50];
    for (int run = 0; run < 2; run++) {
        struct ggml_opt_context opt = { 0 };
        tn_shuffle_init(&opt.shuffle);
        ggml_opt_dataset_t ds = numbered(50, 1, false);
        ggml_opt_dataset_shuffle(&opt, ds, -1);
        ggml_opt_dataset_shuffle(&opt, ds, -1);
        float data[WIDTH];
        for (int64_t i = 0; i < 50; i++) {
            ggml_opt_dataset_get_batch_host(ds, data, sizeof(data), NULL, i);
            first[run][i] = datapoint(data, NULL, 0);
        }
        ggml_opt_dataset_free(ds);
    }
    assert_memory_equal(first[0], first[1], sizeof(first[0]));
}

#define REFUSED(call, words)                                                                                 \
    do {                                                                                                     \
        tn_error_clear();                                                                                    \
        call;                                                                                                \
        assert_contains(ggml_ext_last_error(), words);                                                       \
    } while (0)

static void bad_sets(void ** state) {
    (void) state;
    const enum ggml_type f32 = GGML_TYPE_F32;
    REFUSED(assert_null(ggml_opt_dataset_init(f32, f32, 0, 1, 5, 1)), "a datapoint has 0 elements");
    REFUSED(assert_null(ggml_opt_dataset_init(f32, f32, 1, -1, 5, 1)), "a label has -1 elements");
    REFUSED(assert_null(ggml_opt_dataset_init(f32, f32, 1, 1, 0, 1)), "0 datapoints");
    REFUSED(assert_null(ggml_opt_dataset_init(f32, f32, 1, 1, 5, 0)), "a shard of 0 datapoints");
    REFUSED(assert_null(ggml_opt_dataset_init(f32, f32, INT64_MAX, 1, INT64_MAX, 1)), "2^63");
    REFUSED(assert_null(ggml_opt_dataset_init(GGML_TYPE_Q4_0, f32, 33, 1, 5, 1)), "33");
    REFUSED(assert_null(ggml_opt_dataset_init((enum ggml_type) 1000, f32, 1, 1, 5, 1)), "type");
    REFUSED(assert_null(ggml_opt_dataset_init(f32, (enum ggml_type) 999, 1, 1, 5, 1)), "type");
    assert_int_equal(ggml_opt_dataset_ndata(NULL), 0);
    assert_null(ggml_opt_dataset_data(NULL));
    assert_null(ggml_opt_dataset_labels(NULL));
}

static void bad_batches(void ** state) {
    (void) state;
    ggml_opt_dataset_t ds = numbered(9, 3, true), bare = numbered(9, 3, false);
    ggml_opt_dataset_t tiny = numbered(2, INT64_MAX, false);
    struct batch b = batch_of(3), odd = batch_of(4);
    struct ggml_tensor ints = *b.data, turned = *b.data, nowhere = *b.data;
    ints.type = GGML_TYPE_I32;
    turned.nb[0] = b.data->nb[1];
    turned.nb[1] = b.data->nb[0];
    nowhere.buffer = NULL;
    REFUSED(ggml_opt_dataset_get_batch(NULL, b.data, b.labels, 0), "the data set is NULL");
    REFUSED(ggml_opt_dataset_get_batch(ds, NULL, b.labels, 0), "the batch is NULL");
    REFUSED(ggml_opt_dataset_get_batch(ds, b.data, NULL, 0), "no room for labels");
    REFUSED(ggml_opt_dataset_get_batch(bare, b.data, b.labels, 0), "has no labels");
    REFUSED(ggml_opt_dataset_get_batch(ds, b.data, b.labels, 3), "batch 3 of 1 shards: the data set has 3");
    REFUSED(ggml_opt_dataset_get_batch(ds, b.data, b.labels, -1), "batch -1");
    REFUSED(ggml_opt_dataset_get_batch(ds, b.data, b.labels, INT64_MAX), "batch 9223372036854775807");
    REFUSED(ggml_opt_dataset_get_batch(ds, odd.data, odd.labels, 0), "no whole number of shards of 36 bytes");
    REFUSED(ggml_opt_dataset_get_batch(ds, b.data, odd.labels, 0), "32 bytes of labels for 1 shards of 24");
    REFUSED(ggml_opt_dataset_get_batch(ds, &ints, b.labels, 0), "must be f32");
    REFUSED(ggml_opt_dataset_get_batch(ds, &turned, b.labels, 0), "must be contiguous");
    REFUSED(ggml_opt_dataset_get_batch(ds, &nowhere, b.labels, 0), "has no memory");
    REFUSED(ggml_opt_dataset_get_batch(tiny, b.data, NULL, 0), "2 datapoints fill no shard");
    char bytes[36];
    REFUSED(ggml_opt_dataset_get_batch_host(NULL, bytes, 36, NULL, 0), "the data set is NULL");
    REFUSED(ggml_opt_dataset_get_batch_host(bare, NULL, 36, NULL, 0), "the batch is NULL");
    REFUSED(ggml_opt_dataset_get_batch_host(bare, bytes, 35, NULL, 0), "no whole number of shards");
    REFUSED(ggml_opt_dataset_get_batch_host(bare, bytes, 0, NULL, 0), "no whole number of shards");
    REFUSED(ggml_opt_dataset_get_batch_host(bare, bytes, 36, bytes, 0), "has no labels");
    batch_free(&odd);
    batch_free(&b);
    ggml_opt_dataset_free(tiny);
    ggml_opt_dataset_free(bare);
    ggml_opt_dataset_free(ds);
}

static void bad_shuffles(void ** state) {
    (void) state;
    struct ggml_opt_context opt = { 0 };
    tn_shuffle_init(&opt.shuffle);
    ggml_opt_dataset_t ds = numbered(9, 3, false);
    REFUSED(ggml_opt_dataset_shuffle(NULL, ds, -1), "the context is NULL");
    REFUSED(ggml_opt_dataset_shuffle(&opt, NULL, -1), "the data set is NULL");
    REFUSED(ggml_opt_dataset_shuffle(&opt, ds, 4), "4 datapoints are no multiple of a shard of 3");
    REFUSED(ggml_opt_dataset_shuffle(&opt, ds, 12), "12 of 9 datapoints");
    ggml_opt_dataset_free(ds);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents),     cmocka_unit_test(batches_in_order), cmocka_unit_test(shuffled),
        cmocka_unit_test(repeats),      cmocka_unit_test(bad_sets),         cmocka_unit_test(bad_batches),
        cmocka_unit_test(bad_shuffles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
