// SPDX-License-Identifier: MIT
// What is in use of the families that came from a library, which therefore cannot be unloaded yet.
#ifndef TN_BACKEND_USE_H
#define TN_BACKEND_USE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "ggml-backend.h"

enum tn_use {
#define TN_ROW(name, word) TN_USE_##name,
#include "backend/uses.def"
#undef TN_ROW
    TN_USE_COUNT
};

// From now on objects of the family are counted; those of others cost nothing. false: no memory.
TN_API bool tn_use_watch(ggml_backend_reg_t reg);
TN_API void tn_use_forget(ggml_backend_reg_t reg);

// The object exists, and does no longer. An object that was not entered may be taken out. false: no memory to
// note it.
TN_API bool tn_use_begin(ggml_backend_reg_t reg, enum tn_use kind, const void * object);
TN_API void tn_use_end(const void * object);

// Is anything in use? Then the text says what: "2 buffers, 1 event".
TN_API bool tn_use_tell(ggml_backend_reg_t reg, char * text, size_t size);

#endif
