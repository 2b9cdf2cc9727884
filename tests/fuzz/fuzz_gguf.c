// SPDX-License-Identifier: MIT
// The GGUF reader from memory on any bytes: it refuses or reads, what it reads is written again alike, and it
// never allocates more than 64 KiB and a small multiple of the input.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ggml.h"
#include "gguf.h"

// 336 bytes of struct ggml_tensor for at least 24 bytes of input, and the description beside it.
enum { MULTIPLE = 32, FREE = 65536 };

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size);

static void fail(const char * what) {
    fprintf(stderr, "fuzz-gguf: %s\n", what);
    abort();
}

static void no_log(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) text, (void) user_data;
}

static volatile size_t sum; // what is read has to be read

// Values and tensors again, read by every accessor that fits.
static void walk(const struct gguf_context * g) {
    for (int64_t i = 0; i < gguf_get_n_kv(g); i++) {
        if (gguf_find_key(g, gguf_get_key(g, i)) != i) fail("a key is not found under its name");
        const size_t n = gguf_get_arr_n(g, i);
        if (gguf_get_kv_type(g, i) == GGUF_TYPE_STRING) sum += strlen(gguf_get_val_str(g, i));
        if (gguf_get_kv_type(g, i) != GGUF_TYPE_ARRAY) continue;
        for (size_t j = 0; gguf_get_arr_type(g, i) == GGUF_TYPE_STRING && j < n; j++)
            sum += strlen(gguf_get_arr_str(g, i, j));
    }
    for (int64_t i = 0; i < gguf_get_n_tensors(g); i++) {
        if (gguf_find_tensor(g, gguf_get_tensor_name(g, i)) != i)
            fail("a tensor is not found under its name");
    }
}

static void write_again(const struct gguf_context * g) {
    const size_t size = gguf_get_meta_size(g);
    if (size > (1 << 22)) return; // a large alignment makes a large padding
    char *bytes = malloc(size), *again = malloc(size);
    gguf_get_meta_data(g, bytes);
    struct gguf_context * r =
        gguf_init_from_buffer(bytes, size, (struct gguf_init_params){ .no_alloc = true });
    if (!r) fail("what was written cannot be read");
    if (gguf_get_meta_size(r) != size) fail("another size the second time");
    gguf_get_meta_data(r, again);
    if (memcmp(bytes, again, size) != 0) fail("other bytes the second time");
    gguf_free(r);
    free(bytes);
    free(again);
}

static int64_t live(void) {
    struct tn_mem_stats a, b;
    tn_mem_stats_get(TN_MEM_GGUF, &a);
    tn_mem_stats_get(TN_MEM_CONTEXT, &b);
    return a.live_bytes + b.live_bytes;
}

static void check_peak(size_t size) {
    struct tn_mem_stats a, b;
    tn_mem_stats_get(TN_MEM_GGUF, &a);
    tn_mem_stats_get(TN_MEM_CONTEXT, &b);
    static int64_t largest_input;
    if ((int64_t) size > largest_input) largest_input = (int64_t) size;
    if (a.peak_bytes + b.peak_bytes > FREE + MULTIPLE * largest_input) fail("too much memory for this input");
}

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    ggml_log_set(no_log, NULL);
    struct ggml_context * ctx = NULL;
    const bool no_alloc = size > 0 && (data[size - 1] & 1);
    struct gguf_context * g =
        gguf_init_from_buffer(data, size, (struct gguf_init_params){ .no_alloc = no_alloc, .ctx = &ctx });
    check_peak(size);
    if (!g && ctx) fail("a context was left although the file was refused");
    if (g) {
        walk(g);
        write_again(g);
    }
    gguf_free(g);
    ggml_free(ctx);
    if (live() != 0) fail("a leak");
    return 0;
}
