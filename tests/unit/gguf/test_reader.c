// SPDX-License-Identifier: MIT
// gguf/reader.c and source.c: what a reader refuses, byte by byte, and the four sources.
#include "harness.h"

#include "base/error.h"
#include "base/mem.h"
#include "ggml.h"
#include "gguf.h"

static void no_log(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) text, (void) user_data;
}

// A file under construction.
struct bytes {
    uint8_t data[4096];
    size_t n;
};

static void put(struct bytes * b, const void * data, size_t n) {
    memcpy(b->data + b->n, data, n);
    b->n += n;
}

static void put_u32(struct bytes * b, uint32_t v) {
    put(b, &v, sizeof(v));
}
static void put_u64(struct bytes * b, uint64_t v) {
    put(b, &v, sizeof(v));
}

static void put_str(struct bytes * b, const char * text) {
    put_u64(b, strlen(text));
    put(b, text, strlen(text));
}

static void put_header(struct bytes * b, uint32_t version, uint64_t n_tensors, uint64_t n_kv) {
    put(b, "GGUF", 4);
    put_u32(b, version);
    put_u64(b, n_tensors);
    put_u64(b, n_kv);
}

static void put_kv_u32(struct bytes * b, const char * key, uint32_t v) {
    put_str(b, key);
    put_u32(b, GGUF_TYPE_UINT32);
    put_u32(b, v);
}

static void put_tensor(struct bytes * b, const char * name, uint32_t n_dims, const uint64_t * ne,
                       uint32_t type, uint64_t offset) {
    put_str(b, name);
    put_u32(b, n_dims);
    for (uint32_t i = 0; i < n_dims; i++)
        put_u64(b, ne[i]);
    put_u32(b, type);
    put_u64(b, offset);
}

static void pad(struct bytes * b, size_t alignment, size_t more) {
    while (b->n % alignment)
        b->data[b->n++] = 0;
    memset(b->data + b->n, 0, more);
    b->n += more;
}

static struct gguf_context * read_all(const struct bytes * b, struct ggml_context ** ctx) {
    // Exactly as long as the data, so that a sanitizer sees a byte read too much.
    uint8_t * copy = malloc(b->n ? b->n : 1);
    memcpy(copy, b->data, b->n);
    struct gguf_context * g = gguf_init_from_buffer(copy, b->n, (struct gguf_init_params){ .ctx = ctx });
    free(copy);
    return g;
}

static void refused(const struct bytes * b, const char * text) {
    struct ggml_context * ctx = NULL;
    struct gguf_context * g = read_all(b, &ctx);
    if (g) fail_msg("read although '%s' is expected", text);
    assert_null(ctx);
    assert_contains(tn_error_text(), text);
}

static struct bytes good_file(void) {
    struct bytes b = { .n = 0 };
    const uint64_t ne[2] = { 4, 3 };
    put_header(&b, 3, 2, 2);
    put_kv_u32(&b, "a.number", 42);
    put_str(&b, "words");
    put_u32(&b, GGUF_TYPE_ARRAY);
    put_u32(&b, GGUF_TYPE_STRING);
    put_u64(&b, 2);
    put_str(&b, "x");
    put_str(&b, "yz");
    put_tensor(&b, "t0", 2, ne, GGML_TYPE_F32, 0);
    put_tensor(&b, "t1", 1, ne, GGML_TYPE_I8, 64);
    pad(&b, 32, 64 + 32);
    return b;
}

static void a_good_file_is_read(void ** state) {
    (void) state;
    struct bytes b = good_file();
    struct ggml_context * ctx = NULL;
    struct gguf_context * g = read_all(&b, &ctx);
    assert_non_null(g);
    assert_int_equal(gguf_get_val_u32(g, 0), 42);
    assert_string_equal(gguf_get_arr_str(g, 1, 1), "yz");
    assert_int_equal(ggml_get_tensor(ctx, "t0")->ne[1], 3);
    gguf_free(g);
    ggml_free(ctx);
}

static void every_truncation_is_refused(void ** state) {
    (void) state;
    struct bytes b = good_file();
    const size_t whole = b.n - 28; // t1 has 4 bytes; its padding may be missing at the end of a file
    for (size_t n = 0; n < b.n; n++) {
        struct bytes cut = b;
        struct ggml_context * ctx = NULL;
        cut.n = n;
        struct gguf_context * g = read_all(&cut, &ctx);
        if (n < whole) assert_null(g);
        if (!g) assert_null(ctx);
        gguf_free(g);
        ggml_free(ctx);
    }
}

static void headers_are_checked(void ** state) {
    (void) state;
    struct bytes b = good_file();
    b.data[0] = 'g';
    refused(&b, "not a GGUF file");
    const struct {
        uint32_t version;
        const char * text;
    } versions[] = {
        { 0, "version 0" }, { 1, "version 1" }, { 4, "version 4" }, { 0x03000000, "byte-swapped" }
    };
    for (size_t i = 0; i < 4; i++) {
        b = (struct bytes){ .n = 0 };
        put_header(&b, versions[i].version, 0, 0);
        refused(&b, versions[i].text);
    }
    b = (struct bytes){ .n = 0 };
    put_header(&b, 3, UINT64_MAX, 0);
    refused(&b, "-1 tensors");
    b = (struct bytes){ .n = 0 };
    put_header(&b, 3, 0, 1000000);
    refused(&b, "1000000 keys cannot be");
    b = (struct bytes){ .n = 0 };
    put_header(&b, 2, 0, 0);
    struct ggml_context * ctx = NULL;
    struct gguf_context * g = read_all(&b, &ctx);
    assert_int_equal(gguf_get_version(g), 2);
    gguf_free(g);
    ggml_free(ctx);
}

static void keys_and_values_are_checked(void ** state) {
    (void) state;
    struct bytes b = { .n = 0 };
    put_header(&b, 3, 0, 2);
    put_kv_u32(&b, "same", 1);
    put_kv_u32(&b, "same", 1);
    refused(&b, "key 'same' is there twice");
    b = (struct bytes){ .n = 0 };
    put_header(&b, 3, 0, 1);
    put_kv_u32(&b, "", 1);
    refused(&b, "a key is empty");
    b = (struct bytes){ .n = 0 };
    put_header(&b, 3, 0, 1);
    put_u64(&b, 3);
    put(&b, "a\0b", 3);
    put_u32(&b, GGUF_TYPE_UINT32);
    put_u32(&b, 1);
    refused(&b, "zero byte");
    b = (struct bytes){ .n = 0 };
    put_header(&b, 3, 0, 1);
    put_str(&b, "odd");
    put_u32(&b, 13);
    put_u32(&b, 1);
    refused(&b, "value type 13 is unknown");
    b = (struct bytes){ .n = 0 };
    put_header(&b, 3, 0, 1);
    put_str(&b, "nest");
    put_u32(&b, GGUF_TYPE_ARRAY);
    put_u32(&b, GGUF_TYPE_ARRAY);
    put_u64(&b, 0);
    refused(&b, "array of arrays");
}

static void lengths_are_compared_with_what_is_left(void ** state) {
    (void) state;
    const uint64_t lengths[] = { 9, 1000, UINT64_C(1) << 30, UINT64_C(1) << 40, UINT64_MAX };
    for (size_t i = 0; i < 5; i++) {
        struct bytes b = { .n = 0 };
        put_header(&b, 3, 0, 1);
        put_u64(&b, lengths[i]);
        put_u64(&b, 0);
        refused(&b, "a key of");
        b = (struct bytes){ .n = 0 };
        put_header(&b, 3, 0, 1);
        put_str(&b, "k");
        put_u32(&b, GGUF_TYPE_ARRAY);
        put_u32(&b, GGUF_TYPE_UINT64);
        put_u64(&b, lengths[i]);
        put_u64(&b, 0);
        refused(&b, "longer than the rest of the file");
    }
}

static void the_alignment_is_checked(void ** state) {
    (void) state;
    const uint32_t wrong[] = { 0, 3, 48, 0xffffffff };
    for (size_t i = 0; i < 4; i++) {
        struct bytes b = { .n = 0 };
        put_header(&b, 3, 0, 1);
        put_kv_u32(&b, "general.alignment", wrong[i]);
        refused(&b, "power of two");
    }
    struct bytes b = { .n = 0 };
    put_header(&b, 3, 0, 1);
    put_str(&b, "general.alignment");
    put_u32(&b, GGUF_TYPE_STRING);
    put_str(&b, "32");
    refused(&b, "must be u32");
}

static void tensors_are_checked(void ** state) {
    (void) state;
    const uint64_t big = UINT64_C(1) << 62;
    const struct {
        const char * name;
        uint32_t n_dims;
        uint64_t ne[4];
        uint32_t type;
        uint64_t offset;
        const char * text;
    } cases[] = {
        { "", 1, { 4 }, GGML_TYPE_F32, 0, "a tensor name is empty" },
        { "t", 5, { 1, 1, 1, 1 }, GGML_TYPE_F32, 0, "5 dimensions" },
        { "t", 1, { UINT64_MAX }, GGML_TYPE_F32, 0, "negative" },
        { "t", 2, { big, 4 }, GGML_TYPE_I8, 0, "2^63" },
        { "t", 3, { big, big, 0 }, GGML_TYPE_I8, 0, "2^63" },
        { "t", 1, { big }, GGML_TYPE_F32, 0, "too many" },
        { "t", 1, { 4 }, 4, 0, "type" },
        { "t", 1, { 4 }, 1000, 0, "type" },
        { "t", 1, { 33 }, GGML_TYPE_Q8_0, 0, "block" },
        { "t", 1, { 4 }, GGML_TYPE_F32, 32, "the offset is 32, expected is 0" },
        { "a name of more than sixty-three bytes, which does not fit in a tensor's name",
          1,
          { 4 },
          0,
          0,
          "the name has" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bytes b = { .n = 0 };
        if (strlen(cases[i].name) >= 64 && GGML_MAX_NAME > 64) continue;
        put_header(&b, 3, 1, 0);
        // Five dimensions need five sizes in the file; four are enough for the reader to refuse.
        put_tensor(&b, cases[i].name, cases[i].n_dims > 4 ? 4 : cases[i].n_dims, cases[i].ne, cases[i].type,
                   cases[i].offset);
        if (cases[i].n_dims > 4) memcpy(b.data + 24 + 8 + strlen(cases[i].name), &cases[i].n_dims, 4);
        pad(&b, 32, 64);
        refused(&b, cases[i].text);
    }
    struct bytes b = { .n = 0 };
    const uint64_t ne[1] = { 4 };
    put_header(&b, 3, 2, 0);
    put_tensor(&b, "t", 1, ne, GGML_TYPE_F32, 0);
    put_tensor(&b, "t", 1, ne, GGML_TYPE_F32, 32);
    pad(&b, 32, 64);
    refused(&b, "the name is there twice");
}

static void an_empty_tensor_is_legal(void ** state) {
    (void) state;
    struct bytes b = { .n = 0 };
    const uint64_t ne[2] = { 0, 5 };
    struct ggml_context * ctx = NULL;
    put_header(&b, 3, 1, 0);
    put_tensor(&b, "t", 2, ne, GGML_TYPE_F32, 0);
    pad(&b, 32, 0);
    struct gguf_context * g = read_all(&b, &ctx);
    assert_non_null(g);
    assert_int_equal(ggml_get_tensor(ctx, "t")->ne[1], 5);
    gguf_free(g);
    ggml_free(ctx);
}

static void strings_keep_zero_bytes(void ** state) {
    (void) state;
    struct bytes b = { .n = 0 };
    put_header(&b, 3, 0, 1);
    put_str(&b, "k");
    put_u32(&b, GGUF_TYPE_STRING);
    put_u64(&b, 3);
    put(&b, "a\0b", 3);
    pad(&b, 32, 0);
    struct gguf_context * g = gguf_init_from_buffer(b.data, b.n, (struct gguf_init_params){ 0 });
    assert_non_null(g);
    assert_int_equal(gguf_get_meta_size(g), b.n);
    uint8_t again[4096];
    gguf_get_meta_data(g, again);
    assert_memory_equal(again, b.data, b.n);
    gguf_free(g);
}

// ---- the other sources

static void a_file_may_start_anywhere(void ** state) {
    (void) state;
    struct bytes b = good_file();
    FILE * file = tmpfile();
    struct ggml_context * ctx = NULL;
    fwrite("12345", 1, 5, file);
    fwrite(b.data, 1, b.n, file);
    fseek(file, 5, SEEK_SET);
    struct gguf_context * g = gguf_init_from_file_ptr(file, (struct gguf_init_params){ .ctx = &ctx });
    assert_non_null(g);
    assert_int_equal(gguf_get_data_offset(g) % 32, 5);
    assert_int_equal(gguf_get_data_offset(g), 5 + b.n - 96);
    gguf_free(g);
    ggml_free(ctx);
    fclose(file);
    assert_null(gguf_init_from_file_ptr(NULL, (struct gguf_init_params){ 0 }));
    assert_null(gguf_init_from_file("/nonexistent.gguf", (struct gguf_init_params){ 0 }));
    assert_string_equal(tn_error_text(), "/nonexistent.gguf: No such file or directory");
    assert_null(gguf_init_from_file(NULL, (struct gguf_init_params){ 0 }));
    assert_null(gguf_init_from_file("/", (struct gguf_init_params){ 0 }));
    assert_null(gguf_init_from_buffer(NULL, 5, (struct gguf_init_params){ 0 }));
    assert_null(gguf_init_from_buffer("", 0, (struct gguf_init_params){ 0 }));
}

struct feed {
    const struct bytes * bytes;
    size_t largest;
    size_t calls;
};

static size_t feed_read(void * userdata, void * output, uint64_t offset, size_t len) {
    struct feed * f = userdata;
    if (len > f->largest) f->largest = len;
    f->calls++;
    if (offset >= f->bytes->n) return 0;
    const size_t n = len < f->bytes->n - offset ? len : f->bytes->n - offset;
    memcpy(output, f->bytes->data + offset, n);
    return n;
}

static void a_callback_is_asked_in_chunks(void ** state) {
    (void) state;
    struct bytes b = good_file();
    const uint64_t windows[2] = { 0, UINT64_MAX };
    for (int i = 0; i < 2; i++) {
        struct ggml_context * ctx = NULL;
        struct feed f = { .bytes = &b };
        struct gguf_context * g = gguf_init_from_callback(feed_read, &f, 7, i ? windows[1] : b.n,
                                                          (struct gguf_init_params){ .ctx = &ctx });
        assert_non_null(g);
        assert_true(f.largest <= 7 && f.calls > 20);
        assert_int_equal(ggml_get_tensor(ctx, "t1")->ne[0], 4);
        gguf_free(g);
        ggml_free(ctx);
    }
    struct feed f = { .bytes = &b };
    assert_null(gguf_init_from_callback(feed_read, &f, 0, b.n - 200, (struct gguf_init_params){ 0 }));
    assert_null(gguf_init_from_callback(NULL, NULL, 0, 100, (struct gguf_init_params){ 0 }));
}

// A source of unknown size that claims a gigabyte must not cost one.
static void false_lengths_cost_little_memory(void ** state) {
    (void) state;
    struct bytes b = { .n = 0 };
    put_header(&b, 3, 0, 1);
    put_str(&b, "k");
    put_u32(&b, GGUF_TYPE_ARRAY);
    put_u32(&b, GGUF_TYPE_UINT8);
    put_u64(&b, UINT64_C(1) << 30);
    pad(&b, 32, 100);
    struct tn_mem_stats before, after;
    tn_mem_stats_get(TN_MEM_GGUF, &before);
    struct feed f = { .bytes = &b };
    assert_null(gguf_init_from_callback(feed_read, &f, 0, UINT64_MAX, (struct gguf_init_params){ 0 }));
    tn_mem_stats_get(TN_MEM_GGUF, &after);
    assert_int_equal(after.live_bytes, before.live_bytes);
    assert_true(after.peak_bytes - before.live_bytes < (1 << 17) + 16 * (int64_t) b.n);
}

int main(void) {
    ggml_log_set(no_log, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(false_lengths_cost_little_memory),
        cmocka_unit_test(a_good_file_is_read),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(keys_and_values_are_checked),
        cmocka_unit_test(lengths_are_compared_with_what_is_left),
        cmocka_unit_test(the_alignment_is_checked),
        cmocka_unit_test(tensors_are_checked),
        cmocka_unit_test(an_empty_tensor_is_legal),
        cmocka_unit_test(strings_keep_zero_bytes),
        cmocka_unit_test(a_file_may_start_anywhere),
        cmocka_unit_test(a_callback_is_asked_in_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
