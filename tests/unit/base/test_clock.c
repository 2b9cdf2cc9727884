// SPDX-License-Identifier: MIT
// base/clock.c: time goes forward, units fit each other.
#include "harness.h"

#include "base/clock.h"
#include "ggml.h"

static void time_goes_forward(void ** state) {
    (void) state;
    ggml_time_init();
    const int64_t start = tn_clock_us(), ms = ggml_time_ms();
    nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
    const int64_t us = ggml_time_us();
    assert_true(us - start >= 3000);
    assert_true(us - start < 60 * 1000000);
    assert_true(ggml_time_ms() - ms >= 2);
    assert_true(ms >= start / 1000 && ms <= us / 1000);
}

static void cycles_are_processor_time(void ** state) {
    (void) state;
    const int64_t start = ggml_cycles();
    assert_true(ggml_cycles_per_ms() > 0);
    int64_t rounds = 0;
    while (ggml_cycles() - start < 2 * ggml_cycles_per_ms())
        rounds++;
    assert_true(rounds > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_goes_forward),
        cmocka_unit_test(cycles_are_processor_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
