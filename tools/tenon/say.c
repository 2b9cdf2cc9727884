// SPDX-License-Identifier: MIT
// One-line complaints, and the reading of numbers.
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "ggml.h"
#include "tenon.h"

static void print_line(const char * fmt, va_list args) {
    fputs("tenon: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
}

int complain(const char * fmt, ...) {
    va_list args;
    va_start(args, fmt);
    print_line(fmt, args);
    va_end(args);
    return EXIT_FAILED;
}

int usage(const char * fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    complain("%s (see --help)", text);
    return EXIT_USAGE;
}

bool parse_int(const char * text, int64_t * out) {
    char * end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0) return false;
    *out = value;
    return true;
}

bool parse_float(const char * text, double * out) {
    char * end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value)) return false;
    *out = value;
    return true;
}

double seconds_now(void) {
    return (double) ggml_time_us() * 1e-6;
}
