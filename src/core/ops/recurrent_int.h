// SPDX-License-Identifier: MIT
// Sizes of recurrences, shared by rwkv.c, linear_attn.c and ssm.c.
#ifndef TN_CORE_OPS_RECURRENT_INT_H
#define TN_CORE_OPS_RECURRENT_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "ggml.h"

// Of a node whose src0 is [S, H, T] and whose source `state` has S*S*H numbers for each of its ne1 sequences,
// over which the tokens spread evenly: the result is f32 [S*H, T + S*sequences]. false with a text if they do
// not fit.
bool tn_recurrent_result(struct ggml_tensor * node, int state);

// *out = a*b*c*d. false with a text: 2^63 or more.
bool tn_recurrent_product(int64_t a, int64_t b, int64_t c, int64_t d, int64_t * out);

#endif
