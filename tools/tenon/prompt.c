// SPDX-License-Identifier: MIT
// Lower-case words of ASCII letters and digits; each word `<w>` counts in the bucket of its whole and of
// every three consecutive bytes (FNV-1a, 32 bit).
#include "prompt.h"

#include <stdlib.h>
#include <string.h>

#include "tenon.h"

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

static bool check(const char * text) {
    const size_t n = strlen(text);
    if (n > PROMPT_MAX_BYTES) {
        complain("the prompt has %zu bytes, at most %d are taken", n, PROMPT_MAX_BYTES);
        return false;
    }
    for (size_t i = 0; i < n;) {
        const size_t length = utf8_length((const unsigned char *) text + i);
        if (length == 0) {
            complain("the prompt is not UTF-8: byte %zu is 0x%02x", i, (unsigned char) text[i]);
            return false;
        }
        i += length;
    }
    return true;
}

static uint32_t fnv1a(const char * bytes, size_t n) {
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char) bytes[i]) * 16777619u;
    return h;
}

// word: "<w>" with its brackets. Returns how much was counted.
static int64_t count_word(const char * word, size_t n, int32_t * counts, uint32_t n_buckets) {
    counts[fnv1a(word, n) % n_buckets]++;
    for (size_t i = 0; i + 3 <= n; i++)
        counts[fnv1a(word + i, 3) % n_buckets]++;
    return 1 + (int64_t) n - 2;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static int64_t count_text(const char * text, int32_t * counts, uint32_t n_buckets) {
    char word[PROMPT_MAX_BYTES + 3];
    int64_t total = 0;
    while (*text) {
        size_t n = 0;
        word[n++] = '<';
        for (; is_word(*text); text++)
            word[n++] = *text >= 'A' && *text <= 'Z' ? (char) (*text - 'A' + 'a') : *text;
        word[n++] = '>';
        if (n > 2) total += count_word(word, n, counts, n_buckets);
        if (*text) text++;
    }
    return total;
}

bool bag_from_text(struct bag * bag, const char * text, int n_buckets) {
    *bag = (struct bag){ .n = 0 };
    if (!check(text)) return false;
    int32_t * counts = calloc((size_t) n_buckets, sizeof(*counts));
    bag->ids = malloc((size_t) n_buckets * sizeof(*bag->ids));
    bag->weights = malloc((size_t) n_buckets * sizeof(*bag->weights));
    const bool ok = counts && bag->ids && bag->weights;
    const int64_t total = ok ? count_text(text, counts, (uint32_t) n_buckets) : 0;
    for (int i = 0; ok && i < n_buckets; i++) {
        if (counts[i] == 0) continue;
        bag->ids[bag->n] = i;
        bag->weights[bag->n++] = (float) counts[i] / (float) total;
    }
    free(counts);
    if (ok) return true;
    bag_free(bag);
    complain("out of memory");
    return false;
}

void bag_free(struct bag * bag) {
    free(bag->ids);
    free(bag->weights);
    *bag = (struct bag){ .n = 0 };
}
