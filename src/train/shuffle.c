// SPDX-License-Identifier: MIT
// Random orders: the generator of Matsumoto and Nishimura (Mersenne Twister, ACM TOMACS 8, 1998), numbers
// below a bound by Lemire's method (arXiv:1805.10941), and the exchanges of Fisher and Yates, of which two
// share a draw as long as the product of their bounds fits. Drawn and exchanged so, items come into the order
// into which std::shuffle with std::mt19937 of libstdc++ brings them: runs repeat across implementations.
#include "train/shuffle_int.h"

enum { SHIFT = 397, SEED = 5489 };

void tn_shuffle_init(struct tn_shuffle * s) {
    s->words[0] = SEED;
    for (uint32_t i = 1; i < TN_SHUFFLE_WORDS; i++)
        s->words[i] = 1812433253u * (s->words[i - 1] ^ s->words[i - 1] >> 30) + i;
    s->next = TN_SHUFFLE_WORDS;
}

static void renew(struct tn_shuffle * s) {
    uint32_t * w = s->words;
    for (int i = 0; i < TN_SHUFFLE_WORDS; i++) {
        const uint32_t y = (w[i] & 0x80000000u) | (w[(i + 1) % TN_SHUFFLE_WORDS] & 0x7fffffffu);
        w[i] = w[(i + SHIFT) % TN_SHUFFLE_WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    s->next = 0;
}

static uint32_t draw(struct tn_shuffle * s) {
    if (s->next == TN_SHUFFLE_WORDS) renew(s);
    uint32_t y = s->words[s->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

// 0 .. bound - 1, for bounds below 2^32.
static uint32_t below(struct tn_shuffle * s, uint32_t bound) {
    uint64_t product = (uint64_t) draw(s) * bound;
    if ((uint32_t) product < bound) {
        const uint32_t unfair = (0u - bound) % bound;
        while ((uint32_t) product < unfair)
            product = (uint64_t) draw(s) * bound;
    }
    return (uint32_t) (product >> 32);
}

// For any bound: the remainder of 64 bits, whose bias is too small to show.
static int64_t below_any(struct tn_shuffle * s, int64_t bound) {
    if (bound < UINT32_MAX) return below(s, (uint32_t) bound);
    const uint64_t high = draw(s);
    return (int64_t) ((high << 32 | draw(s)) % (uint64_t) bound);
}

static void exchange(int64_t * items, int64_t i, int64_t j) {
    const int64_t t = items[i];
    items[i] = items[j];
    items[j] = t;
}

// Item i and the one behind it, with one draw.
static void exchange_two(struct tn_shuffle * s, int64_t * items, int64_t i) {
    const uint32_t bound = (uint32_t) i + 2;
    const uint32_t both = below(s, (bound - 1) * bound);
    exchange(items, i, both / bound);
    exchange(items, i + 1, both % bound);
}

void tn_shuffle_items(struct tn_shuffle * s, int64_t * items, int64_t n) {
    int64_t i = 1;
    if (n > 1 && n <= UINT32_MAX / n) {
        if (n % 2 == 0) exchange(items, i++, below(s, 2));
        for (; i < n; i += 2)
            exchange_two(s, items, i);
        return;
    }
    for (; i < n; i++)
        exchange(items, i, below_any(s, i + 1));
}
