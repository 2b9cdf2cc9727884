// SPDX-License-Identifier: MIT
// alloc/pack.c beside the same two orders written down plainly: the peak is theirs, and no spans overlap.
#include "harness.h"

#include "alloc/pack.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

enum { MAX_SPANS = 200, MAX_TIMES = 200 };

struct scene {
    struct tn_pack_span spans[MAX_SPANS];
    size_t n;
    size_t sums[MAX_TIMES]; // bytes needed at each time
    bool placed[MAX_SPANS];
    size_t offsets[MAX_SPANS];
};

static void draw(struct scene * s, struct test_rng * rng) {
    const int64_t life = 1 + test_rng_below(rng, 20), sizes = 1 + test_rng_below(rng, 30);
    s->n = (size_t) test_rng_below(rng, MAX_SPANS);
    int32_t time = 0;
    for (size_t i = 0; i < s->n; i++) {
        time += (int32_t) test_rng_below(rng, 2);
        int32_t end = time + (int32_t) test_rng_below(rng, life);
        if (end >= MAX_TIMES) end = MAX_TIMES - 1;
        if (test_rng_below(rng, 15) == 0) end = INT32_MAX;
        s->spans[i] = (struct tn_pack_span){ (size_t) (1 + test_rng_below(rng, sizes)) * 32, 0, time, end };
    }
    for (int32_t t = 0; t < MAX_TIMES; t++) {
        s->sums[t] = 0;
        for (size_t i = 0; i < s->n; i++)
            s->sums[t] += s->spans[i].begin <= t && t <= s->spans[i].end ? s->spans[i].size : 0;
    }
}

static bool share_a_time(const struct tn_pack_span * a, const struct tn_pack_span * b) {
    return a->begin <= b->end && b->begin <= a->end;
}

// ---- the orders, plainly ---------------------------------------------------------------------------------

// Is there room for `size` bytes at `offset`, and how much up to the next one above?
static bool is_gap(const struct scene * s, size_t span, size_t offset, size_t * gap) {
    *gap = SIZE_MAX;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->placed[i] || !share_a_time(&s->spans[i], &s->spans[span])) continue;
        if (s->offsets[i] + s->spans[i].size <= offset) continue;
        if (s->offsets[i] < offset + s->spans[span].size) return false;
        if (s->offsets[i] - offset < *gap) *gap = s->offsets[i] - offset;
    }
    return true;
}

// Gaps begin at 0 or where something ends.
static size_t place_plainly(struct scene * s, size_t span) {
    size_t least = 0, best = SIZE_MAX, gap;
    for (size_t i = 0; i <= s->n; i++) {
        if (i < s->n && (!s->placed[i] || !share_a_time(&s->spans[i], &s->spans[span]))) continue;
        const size_t offset = i < s->n ? s->offsets[i] + s->spans[i].size : 0;
        if (!is_gap(s, span, offset, &gap)) continue;
        if (best != SIZE_MAX && (gap > least || (gap == least && offset > best))) continue;
        best = offset;
        least = gap;
    }
    s->placed[span] = true;
    s->offsets[span] = best;
    return best + s->spans[span].size;
}

// The largest one that is not placed and lives at the time, -1 for any; SIZE_MAX: none.
static size_t largest(const struct scene * s, int32_t time) {
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < s->n; i++) {
        if (s->placed[i] || (time >= 0 && (s->spans[i].begin > time || s->spans[i].end < time))) continue;
        if (found == SIZE_MAX || s->spans[i].size > s->spans[found].size) found = i;
    }
    return found;
}

static size_t peak_by_size(struct scene * s) {
    size_t peak = 0;
    memset(s->placed, 0, sizeof(s->placed));
    for (size_t i = 0; i < s->n; i++) {
        const size_t end = place_plainly(s, largest(s, -1));
        if (end > peak) peak = end;
    }
    return peak;
}

static bool begins_something(const struct scene * s, int32_t time) {
    for (size_t i = 0; i < s->n; i++) {
        if (s->spans[i].begin == time) return true;
    }
    return false;
}

static size_t peak_by_breadth(struct scene * s) {
    bool done[MAX_TIMES] = { false };
    size_t peak = 0;
    memset(s->placed, 0, sizeof(s->placed));
    for (int32_t k = 0; k < MAX_TIMES; k++) {
        int32_t widest = -1;
        for (int32_t t = 0; t < MAX_TIMES; t++) {
            if (done[t] || !begins_something(s, t)) continue;
            if (widest < 0 || s->sums[t] > s->sums[widest]) widest = t;
        }
        if (widest < 0) break;
        done[widest] = true;
        for (size_t i; (i = largest(s, widest)) != SIZE_MAX;) {
            const size_t end = place_plainly(s, i);
            if (end > peak) peak = end;
        }
    }
    return peak;
}

// ---- the tests -------------------------------------------------------------------------------------------

static void check(const struct scene * s, const struct tn_pack_result * r) {
    size_t bound = 0, peak = 0;
    for (int32_t t = 0; t < MAX_TIMES; t++)
        bound = s->sums[t] > bound ? s->sums[t] : bound;
    assert_int_equal(r->bound, bound);
    for (size_t i = 0; i < s->n; i++) {
        const struct tn_pack_span * a = &s->spans[i];
        if (a->offset + a->size > peak) peak = a->offset + a->size;
        for (size_t j = 0; j < i; j++) {
            const struct tn_pack_span * b = &s->spans[j];
            if (share_a_time(a, b) && a->offset < b->offset + b->size && b->offset < a->offset + a->size)
                fail_msg("spans %d and %d overlap", (int) j, (int) i);
        }
    }
    assert_int_equal(r->peak, peak);
}

static void the_better_of_both_orders(void ** state) {
    (void) state;
    static struct scene s;
    struct test_rng rng = { test_seed() };
    int64_t at_bound = 0, by_size_won = 0, by_breadth_won = 0;
    for (int64_t i = 0; i < test_rounds(3000); i++) {
        struct tn_pack_result r;
        draw(&s, &rng);
        assert_true(tn_pack_spans(s.spans, s.n, &r));
        check(&s, &r);
        const size_t by_size = peak_by_size(&s), by_breadth = peak_by_breadth(&s);
        assert_int_equal(r.peak, by_size < by_breadth ? by_size : by_breadth);
        at_bound += r.peak == r.bound;
        by_size_won += by_size < by_breadth;
        by_breadth_won += by_breadth < by_size;
    }
    assert_true(at_bound > 0 && by_size_won > 0 && by_breadth_won > 0); // the test meets what it is for
}

static void one_and_none(void ** state) {
    (void) state;
    struct tn_pack_result r;
    assert_true(tn_pack_spans(NULL, 0, &r));
    assert_true(r.peak == 0 && r.bound == 0);
    struct tn_pack_span one = { .size = 7, .offset = 99, .begin = 3, .end = 3 };
    assert_true(tn_pack_spans(&one, 1, &r));
    assert_true(r.peak == 7 && r.bound == 7 && one.offset == 0);
}

static void sizes_that_overflow_are_not_placed(void ** state) {
    (void) state;
    struct tn_pack_span spans[3];
    for (int i = 0; i < 3; i++)
        spans[i] = (struct tn_pack_span){ .size = SIZE_MAX / 2 + 1, .begin = 0, .end = 1 };
    struct tn_pack_result r;
    assert_true(tn_pack_spans(spans, 3, &r));
    assert_true(r.peak == SIZE_MAX);
}

// Each lives as long as half of the others: the work would be quadratic.
static void what_is_too_dense_is_left(void ** state) {
    (void) state;
    const int32_t n = 200000;
    struct tn_pack_span * spans = calloc((size_t) n, sizeof(*spans));
    for (int32_t i = 0; i < n; i++) {
        spans[i] = (struct tn_pack_span){ (size_t) (1 + i % 77) * 32, 0, i, i < n / 2 ? n - i : i };
    }
    struct tn_pack_result r;
    const int64_t start = tn_clock_us();
    assert_true(tn_pack_spans(spans, (size_t) n, &r));
    const int64_t took = tn_clock_us() - start;
    printf("giving up on %d spans: %.1f ms\n", n, (double) took / 1000);
    assert_true(r.peak == SIZE_MAX);
    assert_true(took < 5000000);
    free(spans);
}

// A long one among many short ones shares a time with all of them.
static void long_graphs_are_placed(void ** state) {
    (void) state;
    const int32_t n = 200000;
    struct tn_pack_span * spans = calloc((size_t) n, sizeof(*spans));
    for (int32_t i = 0; i < n; i++) {
        spans[i] = (struct tn_pack_span){ (size_t) (1 + i % 7) * 32, 0, i, i < 8 ? INT32_MAX : i + 3 };
    }
    struct tn_pack_result r;
    const int64_t start = tn_clock_us();
    assert_true(tn_pack_spans(spans, (size_t) n, &r));
    const int64_t took = tn_clock_us() - start;
    printf("placing %d spans: %.1f ms\n", n, (double) took / 1000);
    assert_true(r.peak >= r.bound && r.peak < 2 * r.bound);
    assert_true(took < 5000000);
    free(spans);
}

static void no_memory_is_reported_and_nothing_leaks(void ** state) {
    (void) state;
    static struct scene s;
    struct test_rng rng = { 7 };
    struct tn_mem_stats before, after;
    tn_mem_stats_get(TN_MEM_GRAPH, &before);
    do
        draw(&s, &rng);
    while (s.n < 100);
    int failures = 0;
    for (bool done = false; !done; failures += !done) {
        struct tn_pack_result r;
        tn_mem_fail_nth(failures + 1);
        done = tn_pack_spans(s.spans, s.n, &r);
        assert_true(done == !tn_mem_fail_nth(0));
        if (!done) assert_contains(tn_error_text(), "out of memory");
        if (done) check(&s, &r);
        tn_mem_stats_get(TN_MEM_GRAPH, &after);
        assert_int_equal(after.live_bytes, before.live_bytes);
    }
    assert_true(failures >= 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_better_of_both_orders),
        cmocka_unit_test(one_and_none),
        cmocka_unit_test(sizes_that_overflow_are_not_placed),
        cmocka_unit_test(what_is_too_dense_is_left),
        cmocka_unit_test(long_graphs_are_placed),
        cmocka_unit_test(no_memory_is_reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
