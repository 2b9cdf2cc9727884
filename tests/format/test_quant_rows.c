// SPDX-License-Identifier: MIT
// Golden bytes: what a block of each type decodes to, and what a row encodes to where the bytes are
// prescribed. These never change: files hold such blocks.
#include "harness.h"

#include "ggml.h"

// Bytes that differ, with 0.1 and -19.2 where halves are.
static void make_block(uint8_t * block, int size, int first_half, int second_half) {
    for (int i = 0; i < size; i++) {
        block[i] = (uint8_t) (i * 73 + 41);
    }
    if (first_half >= 0) memcpy(block + first_half, "\x66\x2e", 2);
    if (second_half >= 0) memcpy(block + second_half, "\xcd\xb4", 2);
}

// FNV-1a over the bytes of floats, -0 as 0.
static uint64_t hash(const float * y, int64_t n) {
    uint64_t h = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < n; i++) {
        uint32_t u;
        const float v = y[i] + 0.0f;
        memcpy(&u, &v, sizeof(u));
        for (int k = 0; k < 32; k += 8) {
            h = (h ^ (u >> k & 255)) * 0x100000001b3u;
        }
    }
    return h;
}

static void check_decode(enum ggml_type type, int first_half, int second_half, uint64_t want) {
    uint8_t block[512];
    float y[256];
    make_block(block, (int) ggml_type_size(type), first_half, second_half);
    ggml_get_type_traits(type)->to_float(block, y, ggml_blck_size(type));
    const uint64_t got = hash(y, ggml_blck_size(type));
    if (got != want) fail_msg("%s decodes to %016llx", ggml_type_name(type), (unsigned long long) got);
}

static void check_encode(enum ggml_type type, int n, const char * want) {
    float x[256];
    uint8_t block[512];
    char hex[1024];
    for (int i = 0; i < n; i++) {
        x[i] = (float) ((i * 37 + 11) % 101 - 50) / 16;
    }
    const size_t size = ggml_quantize_chunk(type, x, block, 0, 1, n, NULL);
    assert_int_equal(size, ggml_row_size(type, n));
    for (size_t i = 0; i < size; i++) {
        snprintf(hex + 2 * i, 3, "%02x", block[i]);
    }
    if (strcmp(hex, want) != 0) fail_msg("%s encodes to %s", ggml_type_name(type), hex);
}

#define GOLDEN_DECODE(type, first, second, want)                                                             \
    static void decode_##type(void ** state) {                                                               \
        (void) state;                                                                                        \
        check_decode(GGML_TYPE_##type, first, second, want);                                                 \
    }
#define GOLDEN_ENCODE(type, n, want)                                                                         \
    static void encode_##type(void ** state) {                                                               \
        (void) state;                                                                                        \
        check_encode(GGML_TYPE_##type, n, want);                                                             \
    }
#include "format/quant_rows.def"
#undef GOLDEN_DECODE
#undef GOLDEN_ENCODE

int main(void) {
    const struct CMUnitTest tests[] = {
#define GOLDEN_DECODE(type, ...) cmocka_unit_test(decode_##type),
#define GOLDEN_ENCODE(type, ...) cmocka_unit_test(encode_##type),
#include "format/quant_rows.def"
#undef GOLDEN_DECODE
#undef GOLDEN_ENCODE
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
