// SPDX-License-Identifier: MIT
// Lower-case words of ASCII letters and digits; each word `<w>` counts in the bucket of its whole and of
// every three consecutive bytes (FNV-1a, 32 bit).
#include "prompt.h"

#include <stdlib.h>
#include <string.h>

#include "tenon.h"

static bool check(const char * text) {
    const size_t n = strlen(text);
    if (n > PROMPT_MAX_BYTES) {
        complain("the prompt has %zu bytes, at most %d are taken", n, PROMPT_MAX_BYTES);
        return false;
    }
    if (is_utf8(text)) return true;
    complain("the prompt is not UTF-8");
    return false;
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
