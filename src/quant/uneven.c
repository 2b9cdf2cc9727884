// SPDX-License-Identifier: MIT
// Nearest of 16 uneven values by a table: the borders between two of them are multiples of a half.
#include "quant/uneven.h"

#include "base/thread.h"
#include "quant/code.h"
#include "quant/codebook_tables.h"

enum { CELLS = 512, CENTRE = 256 }; // cell k covers (k - CENTRE) / 2 and the half above it

static uint8_t cell_code[CELLS];
static float cell_value[CELLS];
static struct tn_once once = TN_ONCE_INIT;

static void build(void) {
    int code = 0;
    for (int k = 0; k < CELLS; k++) {
        while (code < 15 && k - CENTRE >= tn_codebook_iq4nl[code] + tn_codebook_iq4nl[code + 1]) {
            code++;
        }
        cell_code[k] = (uint8_t) code;
        cell_value[k] = tn_codebook_iq4nl[code];
    }
}

bool tn_uneven_prepare(void) {
    tn_once(&once, build);
    return true;
}

// twice: 2 / scale.
static int cell_of(float x, float twice) {
    return (int) tn_code_clamp(x * twice + (float) CENTRE, 0.0f, (float) (CELLS - 1));
}

static float twice_inverse(float scale) {
    return 2.0f * tn_code_inverse(scale);
}

struct tn_block_scale_fit tn_uneven_fit(const float * x, const float * w, float scale) {
    const float twice = twice_inverse(scale);
    struct tn_block_scale_fit sum = { 0.0f, 0.0f };
    for (int i = 0; i < TN_UNEVEN_LEN; i++) {
        const float wv = w[i] * cell_value[cell_of(x[i], twice)];
        sum.p += wv * x[i];
        sum.q += wv * cell_value[cell_of(x[i], twice)];
    }
    return sum;
}

void tn_uneven_codes(const float * x, float scale, uint8_t codes[16]) {
    const float twice = twice_inverse(scale);
    for (int i = 0; i < 16; i++) {
        codes[i] = (uint8_t) (cell_code[cell_of(x[i], twice)] | cell_code[cell_of(x[i + 16], twice)] << 4);
    }
}
