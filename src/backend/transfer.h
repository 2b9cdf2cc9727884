// SPDX-License-Identifier: MIT
// Transfers whose outcome the caller wants to know; the public ones only leave a text.
#ifndef TN_BACKEND_TRANSFER_H
#define TN_BACKEND_TRANSFER_H

#include <stdbool.h>

#include "base/compiler.h"
#include "ggml.h"

// As ggml_backend_tensor_copy(). false with a text that starts with `function`: nothing or not all was
// copied. A device that fails without a word cannot be noticed here.
TN_API bool tn_transfer_copy(const char * function, const struct ggml_tensor * src, struct ggml_tensor * dst);

#endif
