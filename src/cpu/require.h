// SPDX-License-Identifier: MIT
// What many operators ask of their sources and result. Answers true, or false with a text.
#ifndef TN_CPU_REQUIRE_H
#define TN_CPU_REQUIRE_H

#include <stdbool.h>

#include "ggml.h"

// Sources first .. last, those that are given, are of this type.
bool tn_require_type(const struct ggml_tensor * node, int first, int last, enum ggml_type type);

// The result is contiguous f32.
bool tn_require_f32_result(const struct ggml_tensor * node);

#endif
