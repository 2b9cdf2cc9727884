// SPDX-License-Identifier: MIT
// Monotonic time and the public clock functions.
#include "base/clock.h"

#include <time.h>

#include "ggml.h"

int64_t tn_clock_us(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t) ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

// POSIX clocks need no set-up.
void ggml_time_init(void) {}

int64_t ggml_time_us(void) {
    return tn_clock_us();
}

int64_t ggml_time_ms(void) {
    return tn_clock_us() / 1000;
}

int64_t ggml_cycles(void) {
    return clock();
}

int64_t ggml_cycles_per_ms(void) {
    return CLOCKS_PER_SEC / 1000;
}
