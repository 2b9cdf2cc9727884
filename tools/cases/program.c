// SPDX-License-Identifier: MIT
// Programs: [["builder", arg, ...], ...] with numbers, strings and null. Nothing else of JSON occurs.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

// One argument; returns what follows it, NULL when it is none.
static const char * parse_arg(const char * s, struct vec_arg * arg) {
    if (*s == '"') {
        const char * end = strchr(s + 1, '"');
        const size_t n = end ? (size_t) (end - s - 1) : 0;
        if (!end || n >= sizeof(arg->str)) return NULL;
        memcpy(arg->str, s + 1, n);
        return end + 1;
    }
    if (strncmp(s, "null", 4) == 0) {
        strcpy(arg->str, "null");
        return s + 4;
    }
    char * end;
    arg->num = strtod(s, &end);
    return end == s ? NULL : end;
}

bool vec_parse(const char * s, struct vec_prog * prog) {
    memset(prog, 0, sizeof(*prog));
    struct vec_call * call = NULL;
    int depth = 0;
    while (s && *s) {
        if (isspace((unsigned char) *s) || *s == ',') {
            s++;
        } else if (*s == '[') {
            if (++depth > 2 || (depth == 2 && prog->n == VEC_MAX_CALL)) return false;
            if (depth == 2) call = &prog->call[prog->n++];
            s++;
        } else if (*s == ']') {
            depth--;
            s++;
        } else if (depth != 2 || call->n == VEC_MAX_ARG) {
            return false;
        } else {
            s = parse_arg(s, &call->arg[call->n++]);
        }
    }
    return s && depth == 0 && prog->n > 0;
}

bool vec_is_backward(const struct vec_prog * prog) {
    for (int i = 0; i < prog->n; i++) {
        if (strcmp(prog->call[i].arg[0].str, "backward") == 0) return true;
    }
    return false;
}

bool vec_is_conversion(const struct vec_prog * prog) {
    static const char * const names[] = { "quantize_chunk", "from_float_ref", "to_float", "row_convert" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(prog->call[0].arg[0].str, names[i]) == 0) return true;
    }
    return false;
}

enum ggml_type vec_type_by_name(const char * name) {
    for (int t = 0; t < GGML_TYPE_COUNT; t++) {
        const char * known = ggml_type_name((enum ggml_type) t);
        if (known && ggml_blck_size((enum ggml_type) t) > 0 && strcmp(known, name) == 0)
            return (enum ggml_type) t;
    }
    return GGML_TYPE_COUNT;
}
