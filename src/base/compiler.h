// SPDX-License-Identifier: MIT
// The only file that names compilers: attributes and builtins under our own names.
#ifndef TN_BASE_COMPILER_H
#define TN_BASE_COMPILER_H

#include <stdint.h> // names the C library, if it is glibc

#include <stdint.h> // says which C library there is

#if !defined(__GNUC__)
#error "GCC or Clang is required"
#endif

// Functions used by a sibling library (libggml-cpu, libggml) although they are not public.
// They live under their own version node, see cmake/symbols.map.in. In archives nothing is exported.
#ifdef GGML_SHARED
#define TN_API              __attribute__((visibility("default")))
#else
#define TN_API
#endif
#define TN_INLINE           static inline __attribute__((always_inline))
#define TN_NOINLINE         __attribute__((noinline))
#define TN_NORETURN         _Noreturn
#define TN_PRINTF(fmt, va)  __attribute__((format(printf, fmt, va)))
#define TN_NODISCARD        __attribute__((warn_unused_result))
// A function to run when the library is unloaded, or the process ends.
#define TN_AT_UNLOAD        __attribute__((destructor))
#define TN_ALIGNED(n)       __attribute__((aligned(n)))
#define TN_PACKED           __attribute__((packed))
// A vector of `bytes` bytes with element-wise arithmetic; lowered to what the target has.
#define TN_VECTOR(bytes)    __attribute__((vector_size(bytes)))
#define TN_LIKELY(x)        __builtin_expect(!!(x), 1)
#define TN_UNLIKELY(x)      __builtin_expect(!!(x), 0)
#define TN_TYPE_OF(x)       __typeof__(x)
// A variable of each thread that costs no call to reach, also from a shared library. It takes room that the C
// library keeps for those that are loaded later, of which there is little: for a flag. In an archive it could
// come to lie in a plug-in beside all others that each thread has, and these together do not find room.
#if defined(__GLIBC__) && defined(GGML_SHARED)
#define TN_THREAD_FLAG      _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define TN_THREAD_FLAG      _Thread_local
#endif
// The loop that follows has few rounds, known to the compiler: no loop remains.
#define TN_UNROLL           _Pragma("GCC unroll 16")
#define TN_UNREACHABLE()    __builtin_unreachable()

#define TN_ADD_OVERFLOWS(a, b, out) __builtin_add_overflow(a, b, out)
#define TN_SUB_OVERFLOWS(a, b, out) __builtin_sub_overflow(a, b, out)
#define TN_MUL_OVERFLOWS(a, b, out) __builtin_mul_overflow(a, b, out)
#define TN_POPCOUNT64(x)            __builtin_popcountll(x)
#define TN_CTZ64(x)                 __builtin_ctzll(x)
#define TN_PREFETCH(address)        __builtin_prefetch(address)

#define TN_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#if defined(__SANITIZE_ADDRESS__)
#define TN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TN_ASAN 1
#endif
#endif
#ifndef TN_ASAN
#define TN_ASAN 0
#endif

#endif
