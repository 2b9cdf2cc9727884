// SPDX-License-Identifier: MIT
// Bytes in kernel bodies, what is the same at every level: sixteen at a time, by the compiler's own vectors,
// whose operators work element by element. Codes of quantised types come in groups of sixteen.
#ifndef TN_CPU_SIMD_BYTES_H
#define TN_CPU_SIMD_BYTES_H

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

typedef uint8_t tn_h TN_VECTOR(16);
typedef uint8_t tn_w TN_VECTOR(32); // within functions only: not every level can pass one
typedef uint64_t tn_h64 TN_VECTOR(16);

TN_INLINE tn_h tn_h_load(const void * p) {
    tn_h v;
    memcpy(&v, p, sizeof(v));
    return v;
}

TN_INLINE void tn_h_store(void * p, tn_h v) {
    memcpy(p, &v, sizeof(v));
}

TN_INLINE tn_h tn_h_zero(void) {
    return (tn_h){ 0 };
}

// Bytes 0..7 from the lower word, 8..15 from the upper one.
TN_INLINE tn_h tn_h_words(uint64_t lower, uint64_t upper) {
    return (tn_h) (tn_h64){ lower, upper };
}

// Byte i is all ones if bit i is set, else zero.
TN_INLINE tn_h tn_h_bits(unsigned bits) {
    const tn_h own = tn_h_words(UINT64_C(0x8040201008040201), UINT64_C(0x8040201008040201));
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const tn_h spread = tn_h_words((bits & 255u) * ones, (bits >> 8 & 255u) * ones);
    return (tn_h) ((spread & own) != tn_h_zero());
}

// Where the mask has ones, the negative.
TN_INLINE tn_h tn_h_negate(tn_h v, tn_h mask) {
    return (v ^ mask) - mask;
}

#endif
