// SPDX-License-Identifier: MIT
// Sorting by digits of 8 bits: from the lowest for the whole order, from the highest for a threshold.
#include "cpu/kernels/sort/sort.h"

#include "base/half.h"

enum { FEW = 48 }; // below this, insertion is faster than counting

static uint32_t key_of(float x, uint32_t flip) {
    if (x != x) return UINT32_MAX;
    const uint32_t bits = tn_f32_to_bits(x + 0.0f); // -0 becomes 0
    const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return ascending ^ flip;
}

void tn_sort_keys(int64_t n, uint32_t * restrict keys, const float * restrict x, bool descending) {
    const uint32_t flip = descending ? UINT32_MAX : 0;
    for (int64_t i = 0; i < n; i++)
        keys[i] = key_of(x[i], flip);
}

static void insert_all(int64_t n, uint64_t * a) {
    for (int64_t i = 1; i < n; i++) {
        const uint64_t pair = a[i];
        int64_t at = i;
        for (; at > 0 && a[at - 1] >> 32 > pair >> 32; at--)
            a[at] = a[at - 1];
        a[at] = pair;
    }
}

// Counts become places.
static void add_up(int64_t * counts) {
    int64_t sum = 0;
    for (int i = 0; i < 256; i++) {
        const int64_t count = counts[i];
        counts[i] = sum;
        sum += count;
    }
}

const uint64_t * tn_sort_pairs(int64_t n, uint64_t * a, uint64_t * b) {
    if (n < FEW) {
        insert_all(n, a);
        return a;
    }
    int64_t counts[4][256] = { { 0 } };
    for (int64_t i = 0; i < n; i++) {
        for (int d = 0; d < 4; d++)
            counts[d][a[i] >> (32 + 8 * d) & 0xff]++;
    }
    for (int d = 0; d < 4; d++) {
        if (counts[d][a[0] >> (32 + 8 * d) & 0xff] == n) continue; // one digit for all
        add_up(counts[d]);
        for (int64_t i = 0; i < n; i++)
            b[counts[d][a[i] >> (32 + 8 * d) & 0xff]++] = a[i];
        uint64_t * sorted = b;
        b = a;
        a = sorted;
    }
    return a;
}

struct tn_sort_bound tn_sort_select(int64_t n, const uint32_t * keys, int64_t k) {
    struct tn_sort_bound bound = { 0, k };
    for (int shift = 24; shift >= 0; shift -= 8) {
        int64_t counts[256] = { 0 };
        for (int64_t i = 0; i < n; i++) {
            if ((uint64_t) (keys[i] ^ bound.key) >> (shift + 8) == 0) counts[keys[i] >> shift & 0xff]++;
        }
        uint32_t digit = 0;
        for (; counts[digit] < bound.n_equal; digit++)
            bound.n_equal -= counts[digit];
        bound.key |= digit << shift;
    }
    return bound;
}
