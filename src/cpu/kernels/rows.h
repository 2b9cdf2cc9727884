// SPDX-License-Identifier: MIT
// How the rows of kernel families are read. A row says which version of a function there is:
//
//     TN_X86(avx512, softmax_exp)     tn_softmax_exp_x86_avx512, in softmax_x86_avx512.c
//     TN_ARM(neon, softmax_exp)       tn_softmax_exp_arm_neon
//     TN_SCALAR(softmax_exp)          tn_softmax_exp_scalar, which every function has
//
// Best first, scalar last. Who includes a table defines TN_ROW(isa, function), which the rows of the
// architecture become, and TN_SCALAR.
#ifndef TN_CPU_KERNELS_ROWS_H
#define TN_CPU_KERNELS_ROWS_H

#include "base/arch.h"
#include "base/compiler.h"

#if TN_ARCH_X86
#define TN_X86(level, function) TN_ROW(x86_##level, function)
#else
#define TN_X86(level, function)
#endif

#if TN_ARCH_ARM
#define TN_ARM(level, function) TN_ROW(arm_##level, function)
#else
#define TN_ARM(level, function)
#endif

// The declaration of a version: the type is that of the pointer tn_<function>.
#define TN_KERNEL(isa, function) TN_TYPE_OF(*tn_##function) tn_##function##_##isa;

#endif
