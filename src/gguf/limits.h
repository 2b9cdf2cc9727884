// SPDX-License-Identifier: MIT
// Every bound of the model file format, with its reason.
#ifndef TN_GGUF_LIMITS_H
#define TN_GGUF_LIMITS_H

#include <stdint.h>

// Strings and arrays: what fits in a 32-bit count with room to spare; real vocabularies stay below 2^20.
#define TN_GGUF_MAX_LENGTH (INT64_C(1) << 30)

// The fewest bytes that an entry takes in a file: what a count is compared with before anything is allocated.
#define TN_GGUF_MIN_KV_BYTES     13 // length, type, one byte of value
#define TN_GGUF_MIN_TENSOR_BYTES 24 // length, n_dims, type, offset

// Data arrives in steps of this size where the source cannot tell its own size, so that a false length costs
// no more memory than the bytes that really follow.
#define TN_GGUF_READ_STEP (INT64_C(1) << 16)

// Descriptions are read a few bytes at a time: a file is asked for this much at once.
#define TN_GGUF_WINDOW 8192

// Alignments beyond a huge page have no use, and padding of that size would be a file of zeros.
#define TN_GGUF_MAX_ALIGNMENT (UINT64_C(1) << 30)

#endif
