// SPDX-License-Identifier: MIT
// What the processor and the ABI are, as macros that are always defined to 0 or 1.
#ifndef TN_BASE_ARCH_H
#define TN_BASE_ARCH_H

#include <stdint.h>

#if defined(__x86_64__) || defined(_M_X64)
#define TN_ARCH_X86 1
#else
#define TN_ARCH_X86 0
#endif

#if defined(__aarch64__) || defined(_M_ARM64)
#define TN_ARCH_ARM 1
#else
#define TN_ARCH_ARM 0
#endif

// Files of rows (GGUF, quantised blocks) are little-endian; the decoders read them in place.
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "big-endian machines are not supported: quantised blocks are read in place"
#endif

_Static_assert(sizeof(void *) == 8, "a 64-bit machine is required");

#endif
