// SPDX-License-Identifier: MIT
// Random windows of convolutions and unfoldings.
#ifndef TN_TESTS_DRAW_WINDOW_H
#define TN_TESTS_DRAW_WINDOW_H

#include "op/oracle/oracle.h"

// Such that the kernel fits into the data at least once.
static inline struct oracle_window draw_window(struct test_rng * rng, const int64_t * kernel,
                                               const int64_t * in) {
    struct oracle_window w;
    for (int i = 0; i < 3; i++) {
        w.s[i] = 1 + (int) test_rng_below(rng, 3);
        w.d[i] = 1 + (int) test_rng_below(rng, 3);
        w.p[i] = (int) test_rng_below(rng, 3);
        const int64_t span = (kernel[i] - 1) * w.d[i] + 1;
        if (span > in[i] + 2 * w.p[i]) w.p[i] = (int) (span - in[i] + 1) / 2;
    }
    return w;
}

#endif
