// SPDX-License-Identifier: MIT
// Dynamic libraries where there are none: in programs that are linked statically, C library and all.
#include <string.h>

#include "base/dl.h"
#include "base/error.h"

void * tn_dl_open(const char * path) {
    tn_error_set("%s: this program is linked statically and loads no libraries", path);
    return NULL;
}

void tn_dl_close(void * library) {
    (void) library;
}

bool tn_dl_find(void * library, const char * name, void * function_at) {
    void * symbol = NULL;
    (void) library;
    (void) name;
    memcpy(function_at, &symbol, sizeof(symbol));
    return false;
}
