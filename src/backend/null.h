// SPDX-License-Identifier: MIT
// Devices that accept everything and compute nothing: to measure and test planning alone, for models of any
// size.
#ifndef TN_BACKEND_NULL_H
#define TN_BACKEND_NULL_H

#include "base/compiler.h"
#include "ggml-backend.h"

enum { TN_NULL_DEVICES = 16 };

// Each with its own kind of memory, which costs none: writes are forgotten and reads give zeros. Events and
// transfers do nothing either. They are in no registry. NULL for another index.
TN_API ggml_backend_dev_t tn_null_device(int index);

#endif
