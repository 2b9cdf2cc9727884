// SPDX-License-Identifier: MIT
// The lists of families and devices, as the loader of libraries changes them.
#ifndef TN_BACKEND_REGISTRY_H
#define TN_BACKEND_REGISTRY_H

#include <stdbool.h>

#include "ggml-backend.h"

// Enters a family with its devices; one that is there already stays as it is. false with a text: its
// version or its table is not right, or no memory.
bool tn_registry_add(ggml_backend_reg_t reg);
// Takes out a family and all devices that belong to it. false: there is no such family.
bool tn_registry_remove(ggml_backend_reg_t reg);

#endif
