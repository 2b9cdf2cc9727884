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

// Only `run` meets failures: `before` it makes what it needs; `after` it everything works again, and goes.
struct sweep {
    void (*before)(void); // NULL: nothing
    bool (*run)(void);    // true if it did what it should
    void (*after)(void);
};

// The n-th allocation fails, 0: none. Returns what `run` does.
static inline bool sweep_one(const struct sweep * s, int n, bool * struck) {
    if (s->before) s->before();
    tn_error_clear();
    tn_mem_fail_nth(n);
    const bool done = s->run();
    *struck = tn_mem_fail_nth(0);
    if (!done) assert_contains(tn_error_text(), "out of memory");
    if (s->after) s->after();
    return done;
}

// Returns how many allocations `run` makes.
static inline int sweep_with(const struct sweep * s) {
    bool struck;
    const bool warm = sweep_one(s, 0, &struck); // what is allocated once for the whole process
    assert_true(warm);
    const int64_t live = sweep_live();
    for (int n = 1; n < 100000; n++) {
        const bool done = sweep_one(s, n, &struck);
        if (sweep_live() != live)
            fail_msg("with allocation %d failing %d blocks stay", n, (int) (sweep_live() - live));
        if (struck) continue;
        assert_true(done);
        return n - 1;
    }
    fail_msg("no end of allocations");
    return 0;
}

static inline int sweep(bool (*run)(void)) {
    return sweep_with(&(struct sweep){ .run = run });
}

#endif
