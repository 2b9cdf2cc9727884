// SPDX-License-Identifier: MIT
// Dynamic libraries.
#ifndef TN_BASE_DL_H
#define TN_BASE_DL_H

#include <stdbool.h>

#include "base/compiler.h"

#if defined(_WIN32)
#define TN_DL_PREFIX ""
#define TN_DL_SUFFIX ".dll"
#else
#define TN_DL_PREFIX "lib"
#define TN_DL_SUFFIX ".so"
#endif

// Opens a library with all that it needs; its names stay its own. A path without a folder is looked for
// where the system keeps libraries. NULL with a text that has path and reason: a file that is no library
// or ends too early is refused before the system's loader, which trusts what files say of themselves,
// touches it.
TN_API void * tn_dl_open(const char * path);
// Of a library that was opened twice the first call undoes one only.
TN_API void tn_dl_close(void * library);

// Puts the address of a function into the pointer at function_at; false: there is none, the pointer is NULL.
TN_API bool tn_dl_find(void * library, const char * name, void * function_at);

#endif
