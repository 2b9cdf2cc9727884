// SPDX-License-Identifier: MIT
// Fails the first allocation of a scenario, then the second, and so on until it gets through. A scenario that
// cannot go on must say so, with a text, and leave nothing behind.
#ifndef TN_TESTS_OOM_SWEEP_H
#define TN_TESTS_OOM_SWEEP_H

#include "harness.h"

#include "base/error.h"
#include "base/mem.h"

static inline int64_t sweep_live(void) {
    int64_t blocks = 0;
    for (int tag = 0; tag < TN_MEM_TAGS; tag++) {
        struct tn_mem_stats stats;
        tn_mem_stats_get((enum tn_mem_tag) tag, &stats);
        blocks += stats.live_blocks;
    }
    return blocks;
}

// run: true if it did what it should. Returns how many allocations it makes.
static inline int sweep(bool (*run)(void)) {
    const bool warm = run(); // what is allocated once for the whole process
    assert_true(warm);
    const int64_t live = sweep_live();
    for (int n = 1; n < 100000; n++) {
        tn_error_clear();
        tn_mem_fail_nth(n);
        const bool done = run();
        const bool struck = tn_mem_fail_nth(0);
        if (sweep_live() != live)
            fail_msg("with allocation %d failing %d blocks stay", n, (int) (sweep_live() - live));
        if (!struck) {
            assert_true(done);
            return n - 1;
        }
        if (!done) assert_contains(tn_error_text(), "out of memory");
    }
    fail_msg("no end of allocations");
    return 0;
}

#endif
