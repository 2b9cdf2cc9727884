// SPDX-License-Identifier: MIT
// One-line complaints, the reading of options, and the model that they leave open.
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ggml.h"
#include "tenon.h"

// One line, whatever bytes came from outside: control characters become '?'.
static void print_line(const char * fmt, va_list args) {
    char text[2048];
    vsnprintf(text, sizeof(text), fmt, args);
    for (char * c = text; *c; c++) {
        if ((unsigned char) *c < 0x20 || *c == 0x7f) *c = '?';
    }
    fprintf(stderr, "tenon: %s\n", text);
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
    if (end == text || *end != '\0') errno = EINVAL;
    if (errno != 0) return false;
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

bool wants_help(int argc, char ** argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    }
    return false;
}

const char * bad_option(char ** argv) {
    static char name[3] = "-?";
    name[1] = (char) optopt;
    return optopt > 0 && optopt < 128 && argv[optind - 1][1] != '-' ? name : argv[optind - 1];
}

// Length of the UTF-8 sequence at s, 0 if there is none: overlong forms, surrogates and what is above
// U+10FFFF are none.
static size_t utf8_length(const unsigned char * s) {
    static const struct {
        unsigned char first, last, second_min, second_max;
        size_t length;
    } forms[] = {
        { 0x01, 0x7f, 0x80, 0xbf, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
        if (s[0] < forms[f].first || s[0] > forms[f].last) continue;
        for (size_t i = 1; i < forms[f].length; i++) {
            const unsigned char lo = i == 1 ? forms[f].second_min : 0x80,
                                hi = i == 1 ? forms[f].second_max : 0xbf;
            if (s[i] < lo || s[i] > hi) return 0;
        }
        return forms[f].length;
    }
    return 0;
}

bool is_utf8(const char * text) {
    while (*text) {
        const size_t length = utf8_length((const unsigned char *) text);
        if (length == 0) return false;
        text += length;
    }
    return true;
}

int out_of_range(const char * what, const char * given, const char * range) {
    return complain("%s is %s, must be %s", what, given, range);
}

int take_int(const char * what, const char * text, int64_t lowest, int64_t highest, int64_t * out) {
    char range[64];
    const bool is_int = parse_int(text, out);
    if (!is_int && errno != ERANGE) return usage("%s is '%.60s', not a whole number", what, text);
    snprintf(range, sizeof(range), "%lld to %lld", (long long) lowest, (long long) highest);
    return !is_int || *out < lowest || *out > highest ? out_of_range(what, text, range) : EXIT_OK;
}

const char * find_model(char * path, size_t size) {
    char self[PATH_MAX];
    if (access("models/emoji-dit.gguf", R_OK) == 0) return "models/emoji-dit.gguf";
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n > 0) {
        self[n] = '\0';
        char * slash = strrchr(self, '/');
        if (slash) *slash = '\0';
        snprintf(path, size, "%s/../share/tenon/models/emoji-dit.gguf", self);
        if (access(path, R_OK) == 0) return path;
    }
    return TENON_MODEL_DIR "/emoji-dit.gguf";
}
