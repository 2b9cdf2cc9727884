// SPDX-License-Identifier: MIT
// Bounded string building.
#include "base/str.h"

#include <stdio.h>
#include <string.h>

struct tn_str tn_str_on(char * buffer, size_t size) {
    buffer[0] = '\0';
    return (struct tn_str) { .text = buffer, .size = size };
}

void tn_str_addv(struct tn_str * s, const char * fmt, va_list args) {
    const size_t room = s->size - s->len;
    const int n = vsnprintf(s->text + s->len, room, fmt, args);
    if (n < 0) return;
    s->cut |= (size_t) n >= room;
    s->len += (size_t) n < room ? (size_t) n : room - 1;
}

void tn_str_add(struct tn_str * s, const char * fmt, ...) {
    va_list args;
    va_start(args, fmt);
    tn_str_addv(s, fmt, args);
    va_end(args);
}

bool tn_str_copy(char * to, size_t size, const char * from) {
    const size_t len = strnlen(from, size);
    const size_t kept = len < size ? len : size - 1;
    memmove(to, from, kept);
    to[kept] = '\0';
    return len < size;
}

static int lower(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

bool tn_str_same_nocase(const char * a, const char * b) {
    while (*a && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return lower(*a) == lower(*b);
}
