// SPDX-License-Identifier: MIT
// How the rows of kernel families are read. A row says which version of a function there is:
//
//     TN_X86(avx512, softmax_exp)     tn_softmax_exp_x86_avx512, in softmax_x86_avx512.c
//     TN_ARM(neon, softmax_exp)       tn_softmax_exp_arm_neon
//     TN_SCALAR(softmax_exp)          tn_softmax_exp_scalar, which every function has
//
// Best first, scalar last. Who includes a table defines TN_ROW(isa, function), which the rows of the
// architecture become, and TN_SCALAR.
//
// A family's header declares each function once, by TN_FUNCTION, or TN_PROCEDURE if it returns nothing:
//
//     TN_FUNCTION(float, dot_float, (int64_t n, const float * x, const float * y), (n, x, y))
//
// Callers call tn_dot_float, an ordinary function: the version that cpu/kernels.h has chosen, or the scalar
// one in a thread that computes for a graph with use_ref.
#ifndef TN_CPU_KERNELS_ROWS_H
#define TN_CPU_KERNELS_ROWS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/arch.h"
#include "base/compiler.h"

// This thread takes scalar versions; set by tn_kernels_plain (cpu/kernels.h).
extern TN_THREAD_FLAG bool tn_kernels_are_plain;

// Said in full: GCC reads an atomic pointer that is called as if it were none. The versions need no order.
#define TN_CHOSEN(function) atomic_load_explicit(&tn_##function##_chosen, memory_order_relaxed)

#define TN_FUNCTION(result, function, params, args)                                                          \
    result tn_##function##_scalar params;                                                                    \
    extern result(*_Atomic tn_##function##_chosen) params;                                                   \
    TN_INLINE result tn_##function params {                                                                  \
        return tn_kernels_are_plain ? tn_##function##_scalar args : TN_CHOSEN(function) args;                \
    }
#define TN_PROCEDURE(function, params, args)                                                                 \
    void tn_##function##_scalar params;                                                                      \
    extern void(*_Atomic tn_##function##_chosen) params;                                                     \
    TN_INLINE void tn_##function params {                                                                    \
        if (tn_kernels_are_plain) {                                                                          \
            tn_##function##_scalar args;                                                                     \
        } else {                                                                                             \
            TN_CHOSEN(function) args;                                                                        \
        }                                                                                                    \
    }

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

// The declaration of a version: the type is that of tn_<function>.
#define TN_KERNEL(isa, function) TN_TYPE_OF(*tn_##function) tn_##function##_##isa;

#endif
