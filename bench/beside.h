// SPDX-License-Identifier: MIT
// Another library of the same interface in this process, to measure beside ours.
#ifndef TN_BENCH_BESIDE_H
#define TN_BENCH_BESIDE_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

// Opens PREFIX/lib/libggml-base.so in a space of its own: its calls of itself must not reach ours. Ends the
// program with the reason if that fails.
static inline void * bench_open_beside(const char * prefix) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/lib/libggml-base.so", prefix);
    void * handle = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
    if (handle) return handle;
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
}

static inline void * bench_symbol_beside(void * handle, const char * name) {
    void * found = dlsym(handle, name);
    if (found) return found;
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
}

#endif
