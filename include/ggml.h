// SPDX-License-Identifier: MIT
//
// Contexts, tensors, operators, graphs and tensor types.
//
// A program makes a context (ggml_init), creates tensors in it, builds results from them with the operators
// below, collects what it wants computed in a graph (ggml_new_graph, ggml_build_forward_expand) and gives
// the graph to a back end (ggml-backend.h, ggml-cpu.h). Builders only describe: nothing is computed before
// that.
//
// Conventions of this file
//   shapes     [ne0, ne1, ne2, ne3], ne0 varying fastest; sizes that are left out are 1. a[i0, i1, ..] is the
//              element with these indices, a.ne0 the size of a tensor, "row" a run along dimension 0.
//   units      sizes, strides and offsets are bytes, lengths and indices are elements.
//   ownership  a context owns what is created in it; strings and pointers that are returned are borrowed.
//   threads    a context, its tensors and its graphs are used by one thread at a time; different contexts
//              need no care. Functions with const pointers only may run side by side. What differs says so.
//   errors     no call but ggml_abort ends the process (strict mode of ggml-ext.h apart). A call that cannot
//              be fulfilled is refused: it keeps why for ggml_ext_last_error (ggml-ext.h), and returns the
//              value that is stated with it. Most log it as well; what only meets an earlier refusal, and
//              what answers with a status (planning and computing a graph), need not.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// clang-format off  (declarations are aligned by hand)

// =========================================================================================================
// Compilers
// =========================================================================================================

// Prefix of every function here. Define GGML_SHARED when the library is a shared one; GGML_BUILD (Windows
// only) while it is being built.
#if !defined(GGML_SHARED)
#    define GGML_API extern
#elif !defined(_WIN32) || defined(__MINGW32__)
#    define GGML_API __attribute__((visibility("default"))) extern
#elif defined(GGML_BUILD)
#    define GGML_API __declspec(dllexport) extern
#else
#    define GGML_API __declspec(dllimport) extern
#endif

// The declaration func, marked as deprecated; hint says what to use instead.
#if defined(__GNUC__)
#    define GGML_DEPRECATED(func, hint) func __attribute__((deprecated(hint)))
#elif defined(_MSC_VER)
#    define GGML_DEPRECATED(func, hint) __declspec(deprecated(hint)) func
#else
#    define GGML_DEPRECATED(func, hint) func
#endif

// (index of the format, index of the first argument): lets the compiler check printf-like arguments.
#if defined(__MINGW32__) && !defined(__clang__)
#    define GGML_ATTRIBUTE_FORMAT(...) __attribute__((format(gnu_printf, __VA_ARGS__)))
#elif defined(__GNUC__)
#    define GGML_ATTRIBUTE_FORMAT(...) __attribute__((format(printf, __VA_ARGS__)))
#else
#    define GGML_ATTRIBUTE_FORMAT(...)
#endif

#if defined(__cplusplus)
#    define GGML_NORETURN [[noreturn]]
#elif defined(_MSC_VER)
#    define GGML_NORETURN __declspec(noreturn)
#else
#    define GGML_NORETURN _Noreturn
#endif

#if !defined(__cplusplus)
#    define GGML_RESTRICT restrict
#elif defined(__GNUC__)
#    define GGML_RESTRICT __restrict__
#else
#    define GGML_RESTRICT __restrict
#endif

// =========================================================================================================
// Constants
// =========================================================================================================

// The single-file model format that preceded GGUF. Its ftype field holds version of the quantisation *
// GGML_QNT_VERSION_FACTOR + enum ggml_ftype.
#define GGML_FILE_MAGIC         0x67676d6c // "lmgg" on disk, little-endian
#define GGML_FILE_VERSION       2
#define GGML_QNT_VERSION        2          // version of the block layouts in enum ggml_type
#define GGML_QNT_VERSION_FACTOR 1000

#define GGML_MAX_DIMS           4          // dimensions of a tensor
#define GGML_MAX_PARAMS         2048       // for programs that size tables by it; no limit here
#define GGML_MAX_SRC            10         // sources of a tensor
#define GGML_MAX_N_THREADS      512        // threads of a pool
#define GGML_MAX_OP_PARAMS      64         // bytes of operator parameters in a tensor

// Bytes of a tensor's name, terminator included. It is part of the layout of struct ggml_tensor, so a
// library and its clients need the same value; the CMake targets of an installed library carry the one it
// was built with.
#ifndef GGML_MAX_NAME
#    define GGML_MAX_NAME       64
#endif

#define GGML_DEFAULT_N_THREADS  4          // threads of a CPU back end that was told nothing else
#define GGML_DEFAULT_GRAPH_SIZE 2048       // nodes that ggml_new_graph has room for

// Alignment, in bytes, of everything that is placed in a context.
#if UINTPTR_MAX <= 0xFFFFFFFFu
#    define GGML_MEM_ALIGN 4
#elif defined(__EMSCRIPTEN__)
#    define GGML_MEM_ALIGN 8
#else
#    define GGML_MEM_ALIGN 16
#endif

// Exit codes that example programs use.
#define GGML_EXIT_SUCCESS 0
#define GGML_EXIT_ABORTED 1

// The mode of the rotary embeddings (ggml_rope and its family): which channels form a pair, and how many
// positions a token has.
#define GGML_ROPE_TYPE_NORMAL 0  // channels 2m and 2m + 1
#define GGML_ROPE_TYPE_NEOX   2  // channels m and m + n_dims/2
#define GGML_ROPE_TYPE_MROPE  8  // pairs as NEOX, four positions a token, consecutive sections
#define GGML_ROPE_TYPE_VISION 24 // channels m and m + n_dims, the whole row; each section restarts its angles
#define GGML_ROPE_TYPE_IMROPE 40 // as MROPE with interleaved sections
#define GGML_MROPE_SECTIONS   4  // time, height, width, extra

// Number of tasks of a custom operator: as many as there are threads.
#define GGML_N_TASKS_MAX (-1)

// =========================================================================================================
// Helper macros
// =========================================================================================================

#define GGML_UNUSED(x) (void) (x)

// Marks all its arguments as used and evaluates none.
#ifdef __cplusplus
template <typename... Args> int ggml_unused_vars(const Args &... args);
#    define GGML_UNUSED_VARS(...) (void) sizeof(ggml_unused_vars(__VA_ARGS__))
#else
int ggml_unused_vars(int first, ...);
#    define GGML_UNUSED_VARS(...) (void) sizeof(ggml_unused_vars(0, __VA_ARGS__))
#endif

// x rounded up to a multiple of n, which is a power of two.
#define GGML_PAD(x, n) (((x) + (n) - 1) & ~((n) - 1))

// Assertions of programs that use this interface. They are active in every build and end the process by
// ggml_abort; the library itself uses none of them.
#define GGML_ABORT(...) ggml_abort(__FILE__, __LINE__, __VA_ARGS__)
#define GGML_ASSERT(x)                                \
    do {                                              \
        if (!(x)) {                                   \
            GGML_ABORT("GGML_ASSERT(%s) failed", #x); \
        }                                             \
    } while (0)

// A point that is never reached: aborts in debug builds, tells the compiler so in others.
#if !defined(NDEBUG)
#    define GGML_UNREACHABLE() GGML_ABORT("a point was reached that should not be")
#elif defined(__GNUC__)
#    define GGML_UNREACHABLE() __builtin_unreachable()
#elif defined(_MSC_VER)
#    define GGML_UNREACHABLE() __assume(0)
#else
#    define GGML_UNREACHABLE() ((void) 0)
#endif

// Constants prefix0, prefix1, .. with the first entries of pointer->array; 0 where pointer is NULL.
#define GGML_TENSOR_LOCALS_1(type, prefix, pointer, array)             \
    const type prefix##0 = (pointer) ? (type) (pointer)->array[0] : 0; \
    GGML_UNUSED(prefix##0);
#define GGML_TENSOR_LOCALS_2(type, prefix, pointer, array)             \
    GGML_TENSOR_LOCALS_1(type, prefix, pointer, array)                 \
    const type prefix##1 = (pointer) ? (type) (pointer)->array[1] : 0; \
    GGML_UNUSED(prefix##1);
#define GGML_TENSOR_LOCALS_3(type, prefix, pointer, array)             \
    GGML_TENSOR_LOCALS_2(type, prefix, pointer, array)                 \
    const type prefix##2 = (pointer) ? (type) (pointer)->array[2] : 0; \
    GGML_UNUSED(prefix##2);
#define GGML_TENSOR_LOCALS(type, prefix, pointer, array)               \
    GGML_TENSOR_LOCALS_3(type, prefix, pointer, array)                 \
    const type prefix##3 = (pointer) ? (type) (pointer)->array[3] : 0; \
    GGML_UNUSED(prefix##3);

// Sizes and strides of the tensors src0, src1, src2 and dst that are in scope: ne00.. and nb00.. of src0,
// ne10.. of src1, ne20.. of src2, ne0.. and nb0.. of dst. BINARY_OP_LOCALS01 leaves dst out.
#define GGML_TENSOR_BINARY_OP_LOCALS01         \
    GGML_TENSOR_LOCALS(int64_t, ne0, src0, ne) \
    GGML_TENSOR_LOCALS(size_t,  nb0, src0, nb) \
    GGML_TENSOR_LOCALS(int64_t, ne1, src1, ne) \
    GGML_TENSOR_LOCALS(size_t,  nb1, src1, nb)
#define GGML_TENSOR_UNARY_OP_LOCALS            \
    GGML_TENSOR_LOCALS(int64_t, ne0, src0, ne) \
    GGML_TENSOR_LOCALS(size_t,  nb0, src0, nb) \
    GGML_TENSOR_LOCALS(int64_t, ne,  dst,  ne) \
    GGML_TENSOR_LOCALS(size_t,  nb,  dst,  nb)
#define GGML_TENSOR_BINARY_OP_LOCALS           \
    GGML_TENSOR_UNARY_OP_LOCALS                \
    GGML_TENSOR_LOCALS(int64_t, ne1, src1, ne) \
    GGML_TENSOR_LOCALS(size_t,  nb1, src1, nb)
#define GGML_TENSOR_TERNARY_OP_LOCALS          \
    GGML_TENSOR_BINARY_OP_LOCALS               \
    GGML_TENSOR_LOCALS(int64_t, ne2, src2, ne) \
    GGML_TENSOR_LOCALS(size_t,  nb2, src2, nb)

#ifdef __cplusplus
extern "C" {
#endif

// =========================================================================================================
// Types of this interface
// =========================================================================================================

struct ggml_object;         // header of one thing in a context: a tensor, a graph or a buffer
struct ggml_context;        // memory in which tensors and graphs are created
struct ggml_cgraph;         // nodes in the order in which they are computed
struct ggml_backend_buffer; // memory of a device, see ggml-backend.h
struct ggml_threadpool;     // threads of a CPU back end, see ggml-cpu.h

typedef struct ggml_threadpool * ggml_threadpool_t;

typedef uint16_t ggml_fp16_t;                     // IEEE 754 binary16, as bits
typedef struct { uint16_t bits; } ggml_bf16_t;    // the upper half of a binary32

typedef uint8_t     ggml_guid[16];
typedef ggml_guid * ggml_guid_t;

// Outcome of an allocation or computation. Only SUCCESS leaves valid results behind; after ABORTED (an
// abort callback said so) those of the nodes up to that point are valid.
enum ggml_status {
    GGML_STATUS_ALLOC_FAILED = -2, // memory was not to be had; the same call may work later
    GGML_STATUS_FAILED       = -1, // the graph, an index in it or the device is at fault
    GGML_STATUS_SUCCESS      = 0,
    GGML_STATUS_ABORTED      = 1,
};

// Types of tensor elements. Quantised types hold rows of whole blocks: ggml_blck_size elements in
// ggml_type_size bytes. Ids 4, 5, 31, 32, 33, 36, 37 and 38 belonged to types that are gone and are refused
// everywhere.
//   Qn_0  scale          Qn_1  scale and minimum          Qn_K  blocks of 256, scaled in sub-blocks
//   IQn   code books     TQn   ternary                    MXFP4, NVFP4  4-bit floats with shared scales
enum ggml_type {
    GGML_TYPE_F32     = 0,
    GGML_TYPE_F16     = 1,
    GGML_TYPE_Q4_0    = 2,  //  32 elements in  18 bytes, 4.5    bits each
    GGML_TYPE_Q4_1    = 3,  //  32 elements in  20 bytes, 5
    GGML_TYPE_Q5_0    = 6,  //  32 elements in  22 bytes, 5.5
    GGML_TYPE_Q5_1    = 7,  //  32 elements in  24 bytes, 6
    GGML_TYPE_Q8_0    = 8,  //  32 elements in  34 bytes, 8.5
    GGML_TYPE_Q8_1    = 9,  //  32 elements in  36 bytes, 9; operand of dot products, not a type of files
    GGML_TYPE_Q2_K    = 10, // 256 elements in  84 bytes, 2.625
    GGML_TYPE_Q3_K    = 11, // 256 elements in 110 bytes, 3.4375
    GGML_TYPE_Q4_K    = 12, // 256 elements in 144 bytes, 4.5
    GGML_TYPE_Q5_K    = 13, // 256 elements in 176 bytes, 5.5
    GGML_TYPE_Q6_K    = 14, // 256 elements in 210 bytes, 6.5625
    GGML_TYPE_Q8_K    = 15, // 256 elements in 292 bytes, 9.125; operand of dot products, not a type of files
    GGML_TYPE_IQ2_XXS = 16, // 256 elements in  66 bytes, 2.0625
    GGML_TYPE_IQ2_XS  = 17, // 256 elements in  74 bytes, 2.3125
    GGML_TYPE_IQ3_XXS = 18, // 256 elements in  98 bytes, 3.0625
    GGML_TYPE_IQ1_S   = 19, // 256 elements in  50 bytes, 1.5625
    GGML_TYPE_IQ4_NL  = 20, //  32 elements in  18 bytes, 4.5
    GGML_TYPE_IQ3_S   = 21, // 256 elements in 110 bytes, 3.4375
    GGML_TYPE_IQ2_S   = 22, // 256 elements in  82 bytes, 2.5625
    GGML_TYPE_IQ4_XS  = 23, // 256 elements in 136 bytes, 4.25
    GGML_TYPE_I8      = 24,
    GGML_TYPE_I16     = 25,
    GGML_TYPE_I32     = 26,
    GGML_TYPE_I64     = 27,
    GGML_TYPE_F64     = 28,
    GGML_TYPE_IQ1_M   = 29, // 256 elements in  56 bytes, 1.75
    GGML_TYPE_BF16    = 30,
    GGML_TYPE_TQ1_0   = 34, // 256 elements in  54 bytes, 1.6875
    GGML_TYPE_TQ2_0   = 35, // 256 elements in  66 bytes, 2.0625
    GGML_TYPE_MXFP4   = 39, //  32 elements in  17 bytes, 4.25 (OCP Microscaling Formats 1.0)
    GGML_TYPE_NVFP4   = 40, //  64 elements in  36 bytes, 4.5
    GGML_TYPE_Q1_0    = 41, // 128 elements in  18 bytes, 1.125
    GGML_TYPE_Q2_0    = 42, //  64 elements in  18 bytes, 2.25
    GGML_TYPE_COUNT   = 43,
};

// The least precision that an operator may use, see ggml_prec_set_acc. More is always right.
enum ggml_prec {
    GGML_PREC_UNDEFINED = 0,  // the back end chooses
    GGML_PREC_DEFAULT   = 0,
    GGML_PREC_F32       = 10,
    GGML_PREC_BF16      = 15,
    GGML_PREC_F16       = 20,
    GGML_PREC_Q8        = 30, // blocks of 8-bit values
    GGML_PREC_Q4        = 40, // blocks of 4-bit values
};

// What a matrix product may take for granted, see ggml_mul_mat_set_hint.
enum ggml_op_hint {
    GGML_HINT_NONE             = 0,
    GGML_HINT_SRC0_IS_HADAMARD = 1,
};

// The type that most tensors of a model file have (key general.file_type); those that suffer from few bits
// keep more.
enum ggml_ftype {
    GGML_FTYPE_UNKNOWN              = -1,
    GGML_FTYPE_ALL_F32              = 0,
    GGML_FTYPE_MOSTLY_F16           = 1,
    GGML_FTYPE_MOSTLY_Q4_0          = 2,
    GGML_FTYPE_MOSTLY_Q4_1          = 3,
    GGML_FTYPE_MOSTLY_Q4_1_SOME_F16 = 4,
    GGML_FTYPE_MOSTLY_Q8_0          = 7,
    GGML_FTYPE_MOSTLY_Q5_0          = 8,
    GGML_FTYPE_MOSTLY_Q5_1          = 9,
    GGML_FTYPE_MOSTLY_Q2_K          = 10,
    GGML_FTYPE_MOSTLY_Q3_K          = 11,
    GGML_FTYPE_MOSTLY_Q4_K          = 12,
    GGML_FTYPE_MOSTLY_Q5_K          = 13,
    GGML_FTYPE_MOSTLY_Q6_K          = 14,
    GGML_FTYPE_MOSTLY_IQ2_XXS       = 15,
    GGML_FTYPE_MOSTLY_IQ2_XS        = 16,
    GGML_FTYPE_MOSTLY_IQ3_XXS       = 17,
    GGML_FTYPE_MOSTLY_IQ1_S         = 18,
    GGML_FTYPE_MOSTLY_IQ4_NL        = 19,
    GGML_FTYPE_MOSTLY_IQ3_S         = 20,
    GGML_FTYPE_MOSTLY_IQ2_S         = 21,
    GGML_FTYPE_MOSTLY_IQ4_XS        = 22,
    GGML_FTYPE_MOSTLY_IQ1_M         = 23,
    GGML_FTYPE_MOSTLY_BF16          = 24,
    GGML_FTYPE_MOSTLY_MXFP4         = 25,
    GGML_FTYPE_MOSTLY_NVFP4         = 26,
    GGML_FTYPE_MOSTLY_Q1_0          = 27,
    GGML_FTYPE_MOSTLY_Q2_0          = 28,
};

// How the elements of a tensor come about. NONE is a leaf, whose data somebody provides; the others are
// explained at their builders. Maps of single elements are all UNARY, gated units all GLU, with the
// function in op_params. Operators of an application (ggml-ext.h) travel as CUSTOM.
enum ggml_op {
    GGML_OP_NONE                    = 0,
    GGML_OP_DUP                     = 1,
    GGML_OP_ADD                     = 2,
    GGML_OP_ADD_ID                  = 3,
    GGML_OP_ADD1                    = 4,
    GGML_OP_ACC                     = 5,
    GGML_OP_SUB                     = 6,
    GGML_OP_MUL                     = 7,
    GGML_OP_DIV                     = 8,
    GGML_OP_SQR                     = 9,
    GGML_OP_SQRT                    = 10,
    GGML_OP_LOG                     = 11,
    GGML_OP_SIN                     = 12,
    GGML_OP_COS                     = 13,
    GGML_OP_SUM                     = 14,
    GGML_OP_SUM_ROWS                = 15,
    GGML_OP_CUMSUM                  = 16,
    GGML_OP_MEAN                    = 17,
    GGML_OP_ARGMAX                  = 18,
    GGML_OP_COUNT_EQUAL             = 19,
    GGML_OP_REPEAT                  = 20,
    GGML_OP_REPEAT_BACK             = 21,
    GGML_OP_CONCAT                  = 22,
    GGML_OP_SILU_BACK               = 23,
    GGML_OP_NORM                    = 24,
    GGML_OP_RMS_NORM                = 25,
    GGML_OP_RMS_NORM_BACK           = 26,
    GGML_OP_GROUP_NORM              = 27,
    GGML_OP_L2_NORM                 = 28,
    GGML_OP_MUL_MAT                 = 29,
    GGML_OP_MUL_MAT_ID              = 30,
    GGML_OP_OUT_PROD                = 31,
    GGML_OP_SCALE                   = 32,
    GGML_OP_SET                     = 33,
    GGML_OP_CPY                     = 34,
    GGML_OP_CONT                    = 35,
    GGML_OP_RESHAPE                 = 36,
    GGML_OP_VIEW                    = 37,
    GGML_OP_PERMUTE                 = 38,
    GGML_OP_TRANSPOSE               = 39,
    GGML_OP_GET_ROWS                = 40,
    GGML_OP_GET_ROWS_BACK           = 41,
    GGML_OP_SET_ROWS                = 42,
    GGML_OP_DIAG                    = 43,
    GGML_OP_DIAG_MASK_INF           = 44,
    GGML_OP_DIAG_MASK_ZERO          = 45,
    GGML_OP_SOFT_MAX                = 46,
    GGML_OP_SOFT_MAX_BACK           = 47,
    GGML_OP_ROPE                    = 48,
    GGML_OP_ROPE_BACK               = 49,
    GGML_OP_CLAMP                   = 50,
    GGML_OP_CONV_TRANSPOSE_1D       = 51,
    GGML_OP_IM2COL                  = 52,
    GGML_OP_IM2COL_BACK             = 53,
    GGML_OP_IM2COL_3D               = 54,
    GGML_OP_COL2IM_1D               = 55,
    GGML_OP_CONV_2D                 = 56,
    GGML_OP_CONV_3D                 = 57,
    GGML_OP_CONV_2D_DW              = 58,
    GGML_OP_CONV_TRANSPOSE_2D       = 59,
    GGML_OP_POOL_1D                 = 60,
    GGML_OP_POOL_2D                 = 61,
    GGML_OP_POOL_2D_BACK            = 62,
    GGML_OP_UPSCALE                 = 63,
    GGML_OP_PAD                     = 64,
    GGML_OP_PAD_REFLECT_1D          = 65,
    GGML_OP_ROLL                    = 66,
    GGML_OP_ARANGE                  = 67,
    GGML_OP_TIMESTEP_EMBEDDING      = 68,
    GGML_OP_ARGSORT                 = 69,
    GGML_OP_TOP_K                   = 70,
    GGML_OP_LEAKY_RELU              = 71,
    GGML_OP_TRI                     = 72,
    GGML_OP_FILL                    = 73,
    GGML_OP_FLASH_ATTN_EXT          = 74,
    GGML_OP_FLASH_ATTN_BACK         = 75,
    GGML_OP_SSM_CONV                = 76,
    GGML_OP_SSM_SCAN                = 77,
    GGML_OP_WIN_PART                = 78,
    GGML_OP_WIN_UNPART              = 79,
    GGML_OP_GET_REL_POS             = 80,
    GGML_OP_ADD_REL_POS             = 81,
    GGML_OP_RWKV_WKV6               = 82,
    GGML_OP_GATED_LINEAR_ATTN       = 83,
    GGML_OP_RWKV_WKV7               = 84,
    GGML_OP_SOLVE_TRI               = 85,
    GGML_OP_GATED_DELTA_NET         = 86,
    GGML_OP_LIGHTNING_INDEXER       = 87,
    GGML_OP_DSV4_HC_COMB            = 88,
    GGML_OP_DSV4_HC_PRE             = 89,
    GGML_OP_DSV4_HC_POST            = 90,
    GGML_OP_UNARY                   = 91,
    GGML_OP_MAP_CUSTOM1             = 92,
    GGML_OP_MAP_CUSTOM2             = 93,
    GGML_OP_MAP_CUSTOM3             = 94,
    GGML_OP_CUSTOM                  = 95,
    GGML_OP_CROSS_ENTROPY_LOSS      = 96,
    GGML_OP_CROSS_ENTROPY_LOSS_BACK = 97,
    GGML_OP_OPT_STEP_ADAMW          = 98,
    GGML_OP_OPT_STEP_SGD            = 99,
    GGML_OP_GLU                     = 100,
    GGML_OP_COUNT                   = 101,
};

// The function of a UNARY tensor; the formulas are at ggml_unary.
enum ggml_unary_op {
    GGML_UNARY_OP_ABS         = 0,
    GGML_UNARY_OP_SGN         = 1,
    GGML_UNARY_OP_NEG         = 2,
    GGML_UNARY_OP_STEP        = 3,
    GGML_UNARY_OP_TANH        = 4,
    GGML_UNARY_OP_ELU         = 5,
    GGML_UNARY_OP_RELU        = 6,
    GGML_UNARY_OP_SIGMOID     = 7,
    GGML_UNARY_OP_GELU        = 8,
    GGML_UNARY_OP_GELU_QUICK  = 9,
    GGML_UNARY_OP_SILU        = 10,
    GGML_UNARY_OP_HARDSWISH   = 11,
    GGML_UNARY_OP_HARDSIGMOID = 12,
    GGML_UNARY_OP_EXP         = 13,
    GGML_UNARY_OP_EXPM1       = 14,
    GGML_UNARY_OP_SOFTPLUS    = 15,
    GGML_UNARY_OP_GELU_ERF    = 16,
    GGML_UNARY_OP_XIELU       = 17,
    GGML_UNARY_OP_FLOOR       = 18,
    GGML_UNARY_OP_CEIL        = 19,
    GGML_UNARY_OP_ROUND       = 20,
    GGML_UNARY_OP_TRUNC       = 21,
    GGML_UNARY_OP_COUNT       = 22,
};

// The function of a GLU tensor; the formulas are at ggml_glu.
enum ggml_glu_op {
    GGML_GLU_OP_REGLU        = 0,
    GGML_GLU_OP_GEGLU        = 1,
    GGML_GLU_OP_SWIGLU       = 2,
    GGML_GLU_OP_SWIGLU_OAI   = 3,
    GGML_GLU_OP_GEGLU_ERF    = 4,
    GGML_GLU_OP_GEGLU_QUICK  = 5,
    GGML_GLU_OP_SWIGLU_CLAMP = 6,
    GGML_GLU_OP_COUNT        = 7,
};

enum ggml_object_type {
    GGML_OBJECT_TYPE_TENSOR      = 0,
    GGML_OBJECT_TYPE_GRAPH       = 1,
    GGML_OBJECT_TYPE_WORK_BUFFER = 2,
};

enum ggml_log_level {
    GGML_LOG_LEVEL_NONE  = 0,
    GGML_LOG_LEVEL_DEBUG = 1,
    GGML_LOG_LEVEL_INFO  = 2,
    GGML_LOG_LEVEL_WARN  = 3,
    GGML_LOG_LEVEL_ERROR = 4,
    GGML_LOG_LEVEL_CONT  = 5, // continues the message before
};

// Bits of ggml_tensor.flags.
enum ggml_tensor_flag {
    GGML_TENSOR_FLAG_INPUT   = 1,  // filled before the graph runs: no node overwrites it before its last use
    GGML_TENSOR_FLAG_OUTPUT  = 2,  // read after the graph has run: no node overwrites it at all
    GGML_TENSOR_FLAG_PARAM   = 4,  // to be trained
    GGML_TENSOR_FLAG_LOSS    = 8,  // to be minimised
    GGML_TENSOR_FLAG_COMPUTE = 16, // wanted by ggml_build_forward_expand; nodes without it are skipped
};

// The part of a square matrix that ggml_tri keeps: upper is i0 >= i1; without DIAG the diagonal goes too.
enum ggml_tri_type {
    GGML_TRI_TYPE_UPPER_DIAG = 0, // i0 >= i1
    GGML_TRI_TYPE_UPPER      = 1, // i0 >  i1
    GGML_TRI_TYPE_LOWER_DIAG = 2, // i0 <= i1
    GGML_TRI_TYPE_LOWER      = 3, // i0 <  i1
};

enum ggml_op_pool {
    GGML_OP_POOL_MAX   = 0,
    GGML_OP_POOL_AVG   = 1,
    GGML_OP_POOL_COUNT = 2,
};

// Interpolation of ggml_interpolate, which takes one mode and any flags, or-ed.
enum ggml_scale_mode {
    GGML_SCALE_MODE_NEAREST  = 0,
    GGML_SCALE_MODE_BILINEAR = 1,
    GGML_SCALE_MODE_BICUBIC  = 2,
    GGML_SCALE_MODE_COUNT    = 3,
};

enum ggml_scale_flag {
    GGML_SCALE_FLAG_ALIGN_CORNERS = 1 << 8, // corner elements of source and result coincide
    GGML_SCALE_FLAG_ANTIALIAS     = 1 << 9, // widened filter when shrinking; BILINEAR only
};

enum ggml_sort_order {
    GGML_SORT_ORDER_ASC  = 0,
    GGML_SORT_ORDER_DESC = 1,
};

// Scheduling class of the threads of a pool; what is above NORMAL may need rights that a process has not.
enum ggml_sched_priority {
    GGML_SCHED_PRIO_LOW      = -1,
    GGML_SCHED_PRIO_NORMAL   = 0, // as inherited
    GGML_SCHED_PRIO_MEDIUM   = 1,
    GGML_SCHED_PRIO_HIGH     = 2,
    GGML_SCHED_PRIO_REALTIME = 3,
};

// An array of up to four dimensions, or the description of one that is yet to be computed. Programs read
// all fields; they write data and buffer through the functions of the allocators, the others through the
// setters below.
struct ggml_tensor {
    enum ggml_type               type;
    struct ggml_backend_buffer * buffer;            // where data lies, borrowed; NULL: context or nowhere

    int64_t                      ne[GGML_MAX_DIMS]; // elements in each dimension; 1 beyond the last one used
    size_t                       nb[GGML_MAX_DIMS]; // stride of each dimension in bytes. When contiguous:
                                                    //   nb[0] = ggml_type_size(type), that of a block
                                                    //   nb[1] = nb[0] * (ne[0] / ggml_blck_size(type))
                                                    //   nb[i] = nb[i - 1] * ne[i - 1]

    enum ggml_op                 op;                // NONE: a leaf
    int32_t                      op_params[GGML_MAX_OP_PARAMS / sizeof(int32_t)];
    int32_t                      flags;             // enum ggml_tensor_flag

    struct ggml_tensor *         src[GGML_MAX_SRC]; // sources; NULL where an optional one is absent

    struct ggml_tensor *         view_src;          // the owner of the memory, itself no view; NULL: no view
    size_t                       view_offs;         // bytes from the owner's data

    void *                       data;              // NULL until placed; the host cannot always read it
    char                         name[GGML_MAX_NAME];
    void *                       extra;             // of the back end that owns buffer
    char                         padding[8];
};

static const size_t GGML_TENSOR_SIZE = sizeof(struct ggml_tensor);

// =========================================================================================================
// Errors and log
// =========================================================================================================

// Called with the message when the process is about to end by ggml_abort. It may not return normally into
// the library: if it does, the process ends all the same.
typedef void (*ggml_abort_callback_t)(const char * error_message);

// Replaces the callback (NULL: message and backtrace on stderr, the default) and returns the one before.
GGML_API ggml_abort_callback_t ggml_set_abort_callback(ggml_abort_callback_t callback);

// Flushes stdout, forms "file:line: message" (cut at 2047 bytes), hands it to the abort callback or prints
// it with a backtrace (unless the environment has GGML_NO_BACKTRACE), and calls abort(). For the assertions
// of programs.
GGML_NORETURN GGML_API void ggml_abort(const char * file, int line, const char * fmt, ...)
        GGML_ATTRIBUTE_FORMAT(3, 4);

// A static text for logs, for unknown values too.
GGML_API const char * ggml_status_to_string(enum ggml_status status);

// Receives every log message, from any thread, perhaps from several at once. text ends in a newline, except
// where a message of level CONT follows it; it is valid during the call only.
typedef void (*ggml_log_callback)(enum ggml_log_level level, const char * text, void * user_data);

// ggml_log_set(NULL, NULL) restores the default, which writes to stderr. user_data is borrowed.
GGML_API void ggml_log_get(ggml_log_callback * log_callback, void ** user_data);
GGML_API void ggml_log_set(ggml_log_callback log_callback, void * user_data);

// Asked while something is computed; true ends it (GGML_STATUS_ABORTED). See ggml-cpu.h.
typedef bool (*ggml_abort_callback)(void * data);

// =========================================================================================================
// Version, time, files
// =========================================================================================================

// Version and source revision of the library; static strings.
GGML_API const char * ggml_version(void);
GGML_API const char * ggml_commit (void);

// ggml_time_init is needed once before the others on Windows, harmless elsewhere. ggml_time_ms and _us are
// monotonic with an arbitrary origin; ggml_cycles is processor time of this process in ticks,
// ggml_cycles_per_ms of them a millisecond. Safe from every thread.
GGML_API void    ggml_time_init    (void);
GGML_API int64_t ggml_time_ms      (void);
GGML_API int64_t ggml_time_us      (void);
GGML_API int64_t ggml_cycles       (void);
GGML_API int64_t ggml_cycles_per_ms(void);

// fopen, with a UTF-8 name on every system. The caller closes the file. NULL with errno set on failure.
GGML_API FILE * ggml_fopen(const char * fname, const char * mode);

// True if all 16 bytes are equal.
GGML_API bool ggml_guid_matches(ggml_guid_t guid_a, ggml_guid_t guid_b);

// =========================================================================================================
// Half floats
// =========================================================================================================

// To half: rounded to nearest, ties to even; what is too large becomes an infinity, NaN stays NaN. To
// binary32: exact. ggml_fp32_to_bf16_row may flush subnormal values to 0 where an instruction does so, the
// _ref form never does. The rows have n elements and do not overlap.
GGML_API float       ggml_fp16_to_fp32(ggml_fp16_t x);
GGML_API ggml_fp16_t ggml_fp32_to_fp16(float x);
GGML_API float       ggml_bf16_to_fp32(ggml_bf16_t x);
GGML_API ggml_bf16_t ggml_fp32_to_bf16(float x);
GGML_API void ggml_fp16_to_fp32_row    (const ggml_fp16_t * x, float * y, int64_t n);
GGML_API void ggml_fp32_to_fp16_row    (const float * x, ggml_fp16_t * y, int64_t n);
GGML_API void ggml_bf16_to_fp32_row    (const ggml_bf16_t * x, float * y, int64_t n);
GGML_API void ggml_fp32_to_bf16_row    (const float * x, ggml_bf16_t * y, int64_t n);
GGML_API void ggml_fp32_to_bf16_row_ref(const float * x, ggml_bf16_t * y, int64_t n);

// =========================================================================================================
// Properties of types and names
// =========================================================================================================

// Elements in a block (1 for plain types), bytes of a block, and bytes of a row of ne elements. 0 for a type
// that does not exist, and for a row that is no whole number of blocks or too long.
GGML_API int64_t ggml_blck_size(enum ggml_type type);
GGML_API size_t  ggml_type_size(enum ggml_type type);
GGML_API size_t  ggml_row_size (enum ggml_type type, int64_t ne);

// Bytes of an element, perhaps a fraction.
GGML_DEPRECATED(GGML_API double ggml_type_sizef(enum ggml_type type), "use ggml_row_size");

// Whether elements are packed in blocks. I8, F16 and the like are not quantised.
GGML_API bool ggml_is_quantized(enum ggml_type type);

// Static texts, for values out of range too: "q4_K", "MUL_MAT", "x+y", "SILU", "SWIGLU". ggml_op_desc names
// the function where the operator is UNARY or GLU, else the operator.
GGML_API const char * ggml_type_name    (enum ggml_type type);
GGML_API const char * ggml_op_name      (enum ggml_op op);
GGML_API const char * ggml_op_symbol    (enum ggml_op op);
GGML_API const char * ggml_unary_op_name(enum ggml_unary_op op);
GGML_API const char * ggml_glu_op_name  (enum ggml_glu_op op);
GGML_API const char * ggml_op_desc      (const struct ggml_tensor * t);

// The type meant by "mostly"; GGML_TYPE_COUNT for UNKNOWN, MOSTLY_Q4_1_SOME_F16 and values out of range.
GGML_API enum ggml_type ggml_ftype_to_ggml_type(enum ggml_ftype ftype);

// Conversion of one row of k elements, whole blocks; x and y do not overlap. Safe from every thread.
typedef void (*ggml_to_float_t)  (const void  * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k);
typedef void (*ggml_from_float_t)(const float * GGML_RESTRICT x, void  * GGML_RESTRICT y, int64_t k);

struct ggml_type_traits {
    const char *      type_name;
    int64_t           blck_size;
    int64_t           blck_size_interleave; // always 0
    size_t            type_size;            // bytes of a block
    bool              is_quantized;
    ggml_to_float_t   to_float;             // decoder; NULL: none, as for F32, integers, Q8_1 and Q8_K
    ggml_from_float_t from_float_ref;       // portable encoder; NULL: none, or not without weights
};

// A static description, never NULL; all zero for a type that does not exist.
GGML_API const struct ggml_type_traits * ggml_get_type_traits(enum ggml_type type);

// =========================================================================================================
// Shapes
// =========================================================================================================

// Number of elements; of rows (all dimensions but the first multiplied); bytes from the first to behind the
// last element, gaps between them included (0 if a size is 0); the same rounded up to GGML_MEM_ALIGN.
GGML_API int64_t ggml_nelements (const struct ggml_tensor * tensor);
GGML_API int64_t ggml_nrows     (const struct ggml_tensor * tensor);
GGML_API size_t  ggml_nbytes    (const struct ggml_tensor * tensor);
GGML_API size_t  ggml_nbytes_pad(const struct ggml_tensor * tensor);

// Bytes of a block: ggml_type_size of its type.
GGML_API size_t ggml_element_size(const struct ggml_tensor * tensor);

// 1 + the index of the last dimension larger than 1, at least 1.
GGML_API int ggml_n_dims(const struct ggml_tensor * tensor);

// empty: some size is 0. view: it lies in another tensor's memory. scalar, vector, matrix, 3d: sizes
// other than 1 occur in no dimension, the first, the first two, the first three only.
GGML_API bool ggml_is_empty (const struct ggml_tensor * tensor);
GGML_API bool ggml_is_view  (const struct ggml_tensor * tensor);
GGML_API bool ggml_is_scalar(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_vector(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_matrix(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_3d    (const struct ggml_tensor * tensor);

// transposed: nb0 > nb1. permuted: strides are not ascending.
GGML_API bool ggml_is_transposed(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_permuted  (const struct ggml_tensor * tensor);

// Without gaps, in order, from dimension 0 on; the strides of dimensions of size 1 do not matter.
//   contiguous, _0         everywhere
//   _1, _2                 the strides of dimensions 1, or 1 and 2, are free; those above follow from them
//   _to_1, _to_2, _to_3    only the dimensions below 1, 2, 3 are looked at
GGML_API bool ggml_is_contiguous     (const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_0   (const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_1   (const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_2   (const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_to_1(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_to_2(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_to_3(const struct ggml_tensor * tensor);

// allocated: no gaps, in whatever order (a permuted contiguous tensor passes). channels: nb2 is the
// smallest stride, then nb0, then nb1: the channels of an image lie together. rows: each row is without
// gaps.
GGML_API bool ggml_is_contiguously_allocated(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_channels   (const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_rows       (const struct ggml_tensor * tensor);

// can_repeat: every size of t1 is a multiple of that of t0; an empty t0 repeats only to an empty t1.
GGML_API bool ggml_are_same_shape (const struct ggml_tensor * t0, const struct ggml_tensor * t1);
GGML_API bool ggml_are_same_stride(const struct ggml_tensor * t0, const struct ggml_tensor * t1);
GGML_API bool ggml_can_repeat     (const struct ggml_tensor * t0, const struct ggml_tensor * t1);

// The indices of element i in the order of ne0, ne1, .. Pointers may be NULL.
GGML_API void ggml_unravel_index(const struct ggml_tensor * tensor, int64_t i, int64_t * i0, int64_t * i1,
        int64_t * i2, int64_t * i3);

// =========================================================================================================
// Contexts
// =========================================================================================================

struct ggml_init_params {
    size_t mem_size;   // bytes of the pool; 0 is legal
    void * mem_buffer; // the pool, borrowed, aligned to GGML_MEM_ALIGN; NULL: the context owns one
    bool   no_alloc;   // true: the pool holds descriptions only, data comes from a back end
};

// A context hands out its pool piece by piece and takes nothing back before ggml_reset (forgets everything
// created in it) or ggml_free. Both take NULL. What a context needs: ggml_tensor_overhead bytes a tensor,
// ggml_graph_overhead a graph, and ggml_nbytes_pad of each tensor unless no_alloc. When it is full,
// builders refuse (see below). NULL if memory is not to be had.
GGML_API struct ggml_context * ggml_init (struct ggml_init_params params);
GGML_API void                  ggml_reset(struct ggml_context * ctx);
GGML_API void                  ggml_free (struct ggml_context * ctx);

// Upper bound of what one tensor takes of a pool, without its data.
GGML_API size_t ggml_tensor_overhead(void);

// used_mem: bytes of the pool that are taken. set_no_alloc is for the tensors created from then on.
// get_max_tensor_size: the largest ggml_nbytes in the context.
GGML_API size_t ggml_used_mem           (const struct ggml_context * ctx);
GGML_API void * ggml_get_mem_buffer     (const struct ggml_context * ctx);
GGML_API size_t ggml_get_mem_size       (const struct ggml_context * ctx);
GGML_API size_t ggml_get_max_tensor_size(const struct ggml_context * ctx);
GGML_API bool   ggml_get_no_alloc       (struct ggml_context * ctx);
GGML_API void   ggml_set_no_alloc       (struct ggml_context * ctx, bool no_alloc);

// n bytes of the pool, aligned to GGML_MEM_ALIGN, that belong to no tensor. NULL if they are not there.
GGML_API void * ggml_new_buffer(struct ggml_context * ctx, size_t nbytes);

// Describes the contents of a context by the log, level INFO.
GGML_API void ggml_print_object (const struct ggml_object * obj);
GGML_API void ggml_print_objects(const struct ggml_context * ctx);

// =========================================================================================================
// Tensors
// =========================================================================================================

// A contiguous leaf of the given sizes, unnamed, its data uninitialised (none if the context is no_alloc).
// Sizes of 0 are legal; a negative one, a row that is no whole number of blocks, n_dims outside 1..4 and a
// number of elements or bytes beyond 2^63 are refused like a full context: with a poisoned tensor, see
// "Operators".
GGML_API struct ggml_tensor * ggml_new_tensor(struct ggml_context * ctx, enum ggml_type type, int n_dims,
        const int64_t * ne);
GGML_API struct ggml_tensor * ggml_new_tensor_1d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0);
GGML_API struct ggml_tensor * ggml_new_tensor_2d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
        int64_t ne1);
GGML_API struct ggml_tensor * ggml_new_tensor_3d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
        int64_t ne1, int64_t ne2);
GGML_API struct ggml_tensor * ggml_new_tensor_4d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
        int64_t ne1, int64_t ne2, int64_t ne3);

// dup_tensor: a new leaf of the type and shape of src, contiguous, data not copied. view_tensor: a leaf in
// the memory of src with its strides, named "<name of src> (view)".
GGML_API struct ggml_tensor * ggml_dup_tensor (struct ggml_context * ctx, const struct ggml_tensor * src);
GGML_API struct ggml_tensor * ggml_view_tensor(struct ggml_context * ctx, struct ggml_tensor * src);

// The tensors of a context in the order of creation; NULL at the end. get_tensor: the first one of that
// name, or NULL.
GGML_API struct ggml_tensor * ggml_get_first_tensor(const struct ggml_context * ctx);
GGML_API struct ggml_tensor * ggml_get_next_tensor(const struct ggml_context * ctx,
        struct ggml_tensor * tensor);
GGML_API struct ggml_tensor * ggml_get_tensor(struct ggml_context * ctx, const char * name);

// Names are cut to GGML_MAX_NAME - 1 bytes. Both setters return tensor.
GGML_API const char *         ggml_get_name   (const struct ggml_tensor * tensor);
GGML_API struct ggml_tensor * ggml_set_name   (struct ggml_tensor * tensor, const char * name);
GGML_API struct ggml_tensor * ggml_format_name(struct ggml_tensor * tensor, const char * fmt, ...)
        GGML_ATTRIBUTE_FORMAT(2, 3);

// Marks what a tensor is for (enum ggml_tensor_flag).
//   input   filled before a graph runs; a leaf (operator NONE)
//   output  kept until read; marks the base of a view too
//   param   to be trained, a leaf
//   loss    to be minimised, one F32 value; several losses add up
// A tensor that may not be marked stays as it is, and the call is logged.
GGML_API void ggml_set_input (struct ggml_tensor * tensor);
GGML_API void ggml_set_output(struct ggml_tensor * tensor);
GGML_API void ggml_set_param (struct ggml_tensor * tensor);
GGML_API void ggml_set_loss  (struct ggml_tensor * tensor);

// The field data. ggml_get_data_f32: NULL if the type is not F32.
GGML_API void *  ggml_get_data    (const struct ggml_tensor * tensor);
GGML_API float * ggml_get_data_f32(const struct ggml_tensor * tensor);

// The function of a UNARY or GLU tensor; the _COUNT of the enumeration for any other.
GGML_API enum ggml_unary_op ggml_get_unary_op(const struct ggml_tensor * tensor);
GGML_API enum ggml_glu_op   ggml_get_glu_op  (const struct ggml_tensor * tensor);

// All ggml_nbytes become 0, through the buffer if there is one. Returns tensor.
GGML_API struct ggml_tensor * ggml_set_zero(struct ggml_tensor * tensor);

// =========================================================================================================
// Operators
// =========================================================================================================
//
// A builder makes a tensor that describes one operation; its data comes when a graph with it is computed.
// Sources are borrowed and have to live as long as the graph. Unless stated otherwise a result is a new
// contiguous tensor with the type and shape of a, unnamed; with "_inplace" it is a view of a that
// overwrites a's memory. Which types an operator takes depends on the back end (ggml_backend_supports_op);
// those named below work on the CPU.
//
// Refusals. A builder never returns NULL. If shapes, types or parameters do not fit, a source is poisoned,
// or the context is full, it keeps a text that names the operator, the tensors and the rule for the thread
// (ggml_ext_last_error) and, if it is the first, in the context (ggml_ext_context_error), logs it unless the
// reason is a poisoned source, and returns a *poisoned* tensor: four positive sizes, ordinary strides, no
// data. Whatever is built from it is poisoned as well, and a graph that contains one is refused by
// allocation and compute with a status and the context's first text. A graph that could not be made itself
// is refused with its own text. So a program may build a whole graph and test once; ggml_ext_tensor_valid tells for one tensor, and strict
// mode (ggml_ext_set_strict, TENON_STRICT=1) stops at the first refusal. All of these are in ggml-ext.h.
//
// "b repeats into a": every size of a is a multiple of that of b, and b is read modulo its sizes
// (ggml_can_repeat). A gradient exists for the operators that ggml_build_backward_expand lists.

// ---------------------------------------------------------------------------------------------------------
// Copies and conversions
// ---------------------------------------------------------------------------------------------------------

// A copy of a. The result is contiguous.
GGML_API struct ggml_tensor * ggml_dup        (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_dup_inplace(struct ggml_context * ctx, struct ggml_tensor * a);

// Writes a into b, converting the type; both have the same number of elements, which are taken in row-major
// order of each. The result is a view of b, named "<b> (copy of <a>)". From F32, F16 and BF16 to each other,
// to I32 and to quantised types; from quantised types and I32 to F32; within any one type.
GGML_API struct ggml_tensor * ggml_cpy(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);

// a converted to type, named "<a> (copy)".
GGML_API struct ggml_tensor * ggml_cast(struct ggml_context * ctx, struct ggml_tensor * a,
        enum ggml_type type);

// A contiguous copy of a, of the same or of the given sizes (as many elements, in row-major order), named
// "<a> (cont)".
GGML_API struct ggml_tensor * ggml_cont(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_cont_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0);
GGML_API struct ggml_tensor * ggml_cont_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
        int64_t ne1);
GGML_API struct ggml_tensor * ggml_cont_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
        int64_t ne1, int64_t ne2);
GGML_API struct ggml_tensor * ggml_cont_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
        int64_t ne1, int64_t ne2, int64_t ne3);

// A copy of a in which a view is replaced by b. The view has the shape of b, and the byte strides and byte
// offset given (element stride: that of a); _1d takes all strides from a, _2d those not given. nelements(b)
// <= nelements(a); F32 or I32; offset is below 2^30.
GGML_API struct ggml_tensor * ggml_set(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, size_t nb1, size_t nb2, size_t nb3, size_t offset);
GGML_API struct ggml_tensor * ggml_set_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, size_t nb1, size_t nb2, size_t nb3, size_t offset);
GGML_API struct ggml_tensor * ggml_set_1d(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, size_t offset);
GGML_API struct ggml_tensor * ggml_set_1d_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, size_t offset);
GGML_API struct ggml_tensor * ggml_set_2d(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, size_t nb1, size_t offset);
GGML_API struct ggml_tensor * ggml_set_2d_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, size_t nb1, size_t offset);

// As ggml_set, but b is added to the view. F32, a contiguous.
GGML_API struct ggml_tensor * ggml_acc(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, size_t nb1, size_t nb2, size_t nb3, size_t offset);
GGML_API struct ggml_tensor * ggml_acc_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, size_t nb1, size_t nb2, size_t nb3, size_t offset);

// ---------------------------------------------------------------------------------------------------------
// Views: another shape for the same memory; nothing is computed
// ---------------------------------------------------------------------------------------------------------
// view_src of the result is the tensor that owns the memory, however long the chain of views.

// a, which is contiguous, with another shape of as many elements (of ggml_reshape's b only the shape is
// used). Named "<a> (reshaped)".
GGML_API struct ggml_tensor * ggml_reshape(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_reshape_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0);
GGML_API struct ggml_tensor * ggml_reshape_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
        int64_t ne1);
GGML_API struct ggml_tensor * ggml_reshape_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
        int64_t ne1, int64_t ne2);
GGML_API struct ggml_tensor * ggml_reshape_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
        int64_t ne1, int64_t ne2, int64_t ne3);

// The given sizes and byte strides, from byte offset in a on; it has to lie within the memory of a's base.
// Strides not given continue those given: nb2 = nb1*ne1, nb3 = nb2*ne2. Named "<a> (view)".
GGML_API struct ggml_tensor * ggml_view_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
        size_t offset);
GGML_API struct ggml_tensor * ggml_view_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
        int64_t ne1, size_t nb1, size_t offset);
GGML_API struct ggml_tensor * ggml_view_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
        int64_t ne1, int64_t ne2, size_t nb1, size_t nb2, size_t offset);
GGML_API struct ggml_tensor * ggml_view_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
        int64_t ne1, int64_t ne2, int64_t ne3, size_t nb1, size_t nb2, size_t nb3, size_t offset);

// Dimension i of a becomes dimension axis_i of the result; the four axes are 0..3 in some order. To
// reverse, pass the inverse permutation. Named "<a> (permuted)".
GGML_API struct ggml_tensor * ggml_permute(struct ggml_context * ctx, struct ggml_tensor * a, int axis0,
        int axis1, int axis2, int axis3);

// The first two dimensions exchanged: ggml_permute(ctx, a, 1, 0, 2, 3). Named "<a> (transposed)".
GGML_API struct ggml_tensor * ggml_transpose(struct ggml_context * ctx, struct ggml_tensor * a);

// ---------------------------------------------------------------------------------------------------------
// Arithmetic
// ---------------------------------------------------------------------------------------------------------

// Element by element, b repeats into a. F32, F16, BF16, or F32 b with F16 or BF16 a; add also takes
// quantised a with F32 b of the same shape.
GGML_API struct ggml_tensor * ggml_add(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_add_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_sub(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_sub_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_mul(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_mul_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_div(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_div_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);

// a + b with a result of the given type. a is quantised, F16 or BF16, and b.ne0 = a.ne0.
GGML_API struct ggml_tensor * ggml_add_cast(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, enum ggml_type type);

// result[i0, i1, i2] = a[i0, i1, i2] + b[i0, ids[i1, i2]]: a bias per expert. a [n, k, t], b [n, n_expert],
// ids [k, t] I32. An index outside b fails the computation.
GGML_API struct ggml_tensor * ggml_add_id(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, struct ggml_tensor * ids);

// a + the one value of b.
GGML_DEPRECATED(GGML_API struct ggml_tensor * ggml_add1(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b),
        "use ggml_add");
GGML_DEPRECATED(GGML_API struct ggml_tensor * ggml_add1_inplace(struct ggml_context * ctx,
        struct ggml_tensor * a, struct ggml_tensor * b),
        "use ggml_add_inplace");

// s*a and s*a + b; a contiguous. F32, BF16 (computed in F32).
GGML_API struct ggml_tensor * ggml_scale(struct ggml_context * ctx, struct ggml_tensor * a, float s);
GGML_API struct ggml_tensor * ggml_scale_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float s);
GGML_API struct ggml_tensor * ggml_scale_bias(struct ggml_context * ctx, struct ggml_tensor * a, float s,
        float b);
GGML_API struct ggml_tensor * ggml_scale_bias_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        float s, float b);

// max(min(x, max), min). F32, F16.
GGML_API struct ggml_tensor * ggml_clamp(struct ggml_context * ctx, struct ggml_tensor * a, float min,
        float max);
GGML_API struct ggml_tensor * ggml_clamp_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float min,
        float max);

// ---------------------------------------------------------------------------------------------------------
// Maps of single elements
// ---------------------------------------------------------------------------------------------------------
// F32, F16 and BF16, computed in F32; rows of a contiguous.

// x^2, square root, natural logarithm, sine, cosine (radians).
GGML_API struct ggml_tensor * ggml_sqr         (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sqr_inplace (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sqrt        (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sqrt_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_log         (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_log_inplace (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sin         (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sin_inplace (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_cos         (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_cos_inplace (struct ggml_context * ctx, struct ggml_tensor * a);

// The function op of enum ggml_unary_op; each has a builder of its own below.
//   abs, neg        |x|, -x                      floor, ceil, trunc   towards -inf, +inf, 0
//   sgn             -1, 0, 1                     round                to nearest, halves away from 0
//   step            x > 0 ? 1 : 0                exp, expm1           e^x, e^x - 1
//   tanh, sigmoid   tanh x, 1/(1 + e^-x)         softplus             ln(1 + e^x); x itself above 20
//   relu            max(x, 0)                    elu                  x > 0 ? x : e^x - 1 (Clevert 2015)
//   gelu            0.5*x*(1 + tanh(sqrt(2/pi)*x*(1 + 0.044715*x^2))) (Hendrycks, Gimpel 2016)
//   gelu_erf        0.5*x*(1 + erf(x/sqrt(2)))
//   gelu_quick      x/(1 + e^(-1.702*x))
//   silu            x/(1 + e^-x) (Elfwing et al. 2017)
//   hardsigmoid     clamp((x + 3)/6, 0, 1)
//   hardswish       x*clamp((x + 3)/6, 0, 1) (Howard et al. 2019)
GGML_API struct ggml_tensor * ggml_unary(struct ggml_context * ctx, struct ggml_tensor * a,
        enum ggml_unary_op op);
GGML_API struct ggml_tensor * ggml_unary_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        enum ggml_unary_op op);

GGML_API struct ggml_tensor * ggml_abs               (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_abs_inplace       (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sgn               (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sgn_inplace       (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_neg               (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_neg_inplace       (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_step              (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_step_inplace      (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_tanh              (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_tanh_inplace      (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_elu               (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_elu_inplace       (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_relu              (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_relu_inplace      (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sigmoid           (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sigmoid_inplace   (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu              (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_inplace      (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_erf          (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_erf_inplace  (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_quick        (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_quick_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_silu              (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_silu_inplace      (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_hardswish         (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_hardsigmoid       (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_exp               (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_exp_inplace       (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_expm1             (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_expm1_inplace     (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_softplus          (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_softplus_inplace  (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_floor             (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_floor_inplace     (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_ceil              (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_ceil_inplace      (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_round             (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_round_inplace     (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_trunc             (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_trunc_inplace     (struct ggml_context * ctx, struct ggml_tensor * a);

// x > 0 ? p*x^2 + beta*x : n*(expm1(min(x, eps)) - x) + beta*x with p = softplus(alpha_p) and
// n = beta + softplus(alpha_n) (Huang, Schlag 2024).
GGML_API struct ggml_tensor * ggml_xielu(struct ggml_context * ctx, struct ggml_tensor * a, float alpha_n,
        float alpha_p, float beta, float eps);

// x > 0 ? x : negative_slope*x. F32, F16.
GGML_API struct ggml_tensor * ggml_leaky_relu(struct ggml_context * ctx, struct ggml_tensor * a,
        float negative_slope, bool inplace);

// Gradient of silu: a*s*(1 + b*(1 - s)), s = 1/(1 + e^-b); a is the gradient of the result, b the input.
// F32, F16.
GGML_API struct ggml_tensor * ggml_silu_back(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);

// Every element becomes c; a contiguous, only its shape and type matter. F32, F16.
GGML_API struct ggml_tensor * ggml_fill        (struct ggml_context * ctx, struct ggml_tensor * a, float c);
GGML_API struct ggml_tensor * ggml_fill_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float c);

// ---------------------------------------------------------------------------------------------------------
// Gated units (Shazeer 2020)
// ---------------------------------------------------------------------------------------------------------
// The result is f(x)*y. With one tensor [2n, ..], x is the first half of each row and y the second, the
// other way round when swapped, and the result is [n, ..]. The _split forms take x = a and y = b of the
// same shape and type. Rows contiguous; F32, F16, BF16.
//   reglu  relu      geglu  gelu      geglu_erf  gelu_erf      geglu_quick  gelu_quick      swiglu  silu
GGML_API struct ggml_tensor * ggml_glu(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_glu_op op,
        bool swapped);
GGML_API struct ggml_tensor * ggml_glu_split(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, enum ggml_glu_op op);

GGML_API struct ggml_tensor * ggml_reglu              (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_reglu_swapped      (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu              (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_swapped      (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_erf          (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_erf_swapped  (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_quick        (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_quick_swapped(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_swiglu             (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_swiglu_swapped     (struct ggml_context * ctx, struct ggml_tensor * a);

GGML_API struct ggml_tensor * ggml_reglu_split(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_geglu_split(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_geglu_erf_split(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_geglu_quick_split(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_swiglu_split(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);

// Both clamp first: x to at most limit, y to -limit..limit. b may be NULL; x and y are then the halves of a.
//   swiglu_oai     x/(1 + e^(-alpha*x)) * (y + 1)     F32
//   swiglu_clamp   x/(1 + e^-x) * y                   F32, F16; limit >= 0
GGML_API struct ggml_tensor * ggml_swiglu_oai(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, float alpha, float limit);
GGML_API struct ggml_tensor * ggml_swiglu_clamp(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, float limit);

// ---------------------------------------------------------------------------------------------------------
// Reductions, counting, sorting
// ---------------------------------------------------------------------------------------------------------

// Sum of all elements: [1], of a's type. F32, F16, BF16.
GGML_API struct ggml_tensor * ggml_sum(struct ggml_context * ctx, struct ggml_tensor * a);

// Over dimension 0: sum and mean [1, ne1, ne2, ne3]; running sum, of a's shape. F32.
GGML_API struct ggml_tensor * ggml_sum_rows(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_mean    (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_cumsum  (struct ggml_context * ctx, struct ggml_tensor * a);

// Index of the largest element of each row, the last of several: [ne1], I32. a is an F32 matrix.
GGML_API struct ggml_tensor * ggml_argmax(struct ggml_context * ctx, struct ggml_tensor * a);

// Number of positions at which a and b, of the same shape, are equal: [1], I64. I32.
GGML_API struct ggml_tensor * ggml_count_equal(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);

// Indices that sort each row, I32, of a's shape; equal values come in any order. F32.
GGML_API struct ggml_tensor * ggml_argsort(struct ggml_context * ctx, struct ggml_tensor * a,
        enum ggml_sort_order order);

// Indices of the k largest of each row, [k, ne1, ne2, ne3], I32. argsort_top_k: in descending order, a view
// of an argsort; top_k: in no particular order. k <= ne0. F32.
GGML_API struct ggml_tensor * ggml_argsort_top_k(struct ggml_context * ctx, struct ggml_tensor * a, int k);
GGML_API struct ggml_tensor * ggml_top_k        (struct ggml_context * ctx, struct ggml_tensor * a, int k);

// ---------------------------------------------------------------------------------------------------------
// Rows and arrangement
// ---------------------------------------------------------------------------------------------------------

// a again and again until the result has the shape of b (whose data is not used) or the given sizes, which
// are multiples of a's. F32, F16, BF16, I32, I16.
GGML_API struct ggml_tensor * ggml_repeat(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_repeat_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
        int64_t ne1, int64_t ne2, int64_t ne3);

// The reverse: a summed over its repeats of b's shape. F32.
GGML_API struct ggml_tensor * ggml_repeat_back(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);

// a, then b, along dimension dim. Same type, all other sizes equal.
GGML_API struct ggml_tensor * ggml_concat(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int dim);

// Rows of a by index: result[:, i, j, k] = a[:, b[i, j, k], j, k], decoded to F32 (I32 stays I32).
//   a [n, m, p, q], b [r, p, q] I32; result [n, r, p, q]
// An index outside 0..m-1 fails the computation.
GGML_API struct ggml_tensor * ggml_get_rows(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);

// Its gradient: zeros of c's shape [n, m], with row b[i] increased by row i of a [n, r]. F32, F16; b I32;
// of c only the shape is used.
GGML_API struct ggml_tensor * ggml_get_rows_back(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, struct ggml_tensor * c);

// Writes rows of b into a by index: a[:, c[i, j mod c.ne1, k mod c.ne2], j, k] = b[:, i, j, k], converted to
// the type of a. The result is a view of a.
//   a [n, m, p, q], any type with an encoder; b [n, r, p, q] F32 or F16; rows of both contiguous
//   c [r, ..] I32 or I64, its dimensions 1 and 2 divide p and q
// An index outside 0..m-1 fails the computation. Of several rows for one place any may win.
GGML_API struct ggml_tensor * ggml_set_rows(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, struct ggml_tensor * c);

// A matrix [n, n, ..] with row a [n, 1, ..] on its diagonal, 0 elsewhere. F32.
GGML_API struct ggml_tensor * ggml_diag(struct ggml_context * ctx, struct ggml_tensor * a);

// Elements with i0 > n_past + i1 become -infinity, or 0. F32.
GGML_API struct ggml_tensor * ggml_diag_mask_inf(struct ggml_context * ctx, struct ggml_tensor * a,
        int n_past);
GGML_API struct ggml_tensor * ggml_diag_mask_inf_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        int n_past);
GGML_API struct ggml_tensor * ggml_diag_mask_zero(struct ggml_context * ctx, struct ggml_tensor * a,
        int n_past);
GGML_API struct ggml_tensor * ggml_diag_mask_zero_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        int n_past);

// The part of each square matrix that type names; 0 elsewhere. F32, contiguous.
GGML_API struct ggml_tensor * ggml_tri(struct ggml_context * ctx, struct ggml_tensor * a,
        enum ggml_tri_type type);

// Adds elements around a: in dimension i, pad adds p_i on the right, pad_ext lp_i on the left and rp_i on the
// right. They are zeros; in the circular forms a goes on there from its other end. F32.
GGML_API struct ggml_tensor * ggml_pad(struct ggml_context * ctx, struct ggml_tensor * a, int p0, int p1,
        int p2, int p3);
GGML_API struct ggml_tensor * ggml_pad_circular(struct ggml_context * ctx, struct ggml_tensor * a, int p0,
        int p1, int p2, int p3);
GGML_API struct ggml_tensor * ggml_pad_ext(struct ggml_context * ctx, struct ggml_tensor * a, int lp0,
        int rp0, int lp1, int rp1, int lp2, int rp2, int lp3, int rp3);
GGML_API struct ggml_tensor * ggml_pad_ext_circular(struct ggml_context * ctx, struct ggml_tensor * a,
        int lp0, int rp0, int lp1, int rp1, int lp2, int rp2, int lp3, int rp3);

// Dimension 0 mirrored at its ends, the edge itself not repeated; p0 elements on the left, p1 on the right,
// both below ne0. F32, contiguous.
GGML_API struct ggml_tensor * ggml_pad_reflect_1d(struct ggml_context * ctx, struct ggml_tensor * a, int p0,
        int p1);

// result[i] = a[(i - shift) mod ne] in each dimension; |shift_i| < ne_i. F32.
GGML_API struct ggml_tensor * ggml_roll(struct ggml_context * ctx, struct ggml_tensor * a, int shift0,
        int shift1, int shift2, int shift3);

// Resizes a: to [ne0*scale_factor, ne1*scale_factor, ..], scale_factor > 1, or to the given sizes. mode: enum
// ggml_scale_mode, for interpolate or-ed with enum ggml_scale_flag. Elements are areas whose centres lie at
// i + 0.5; with ALIGN_CORNERS they are points, and first and last coincide. Dimensions 2 and 3 take the
// nearest element. Bicubic is the convolution of Keys (1981) with a = -0.75; edges are repeated. ANTIALIAS
// widens the triangle filter by the factor of reduction. F32.
GGML_API struct ggml_tensor * ggml_upscale(struct ggml_context * ctx, struct ggml_tensor * a,
        int scale_factor, enum ggml_scale_mode mode);
GGML_API struct ggml_tensor * ggml_interpolate(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
        int64_t ne1, int64_t ne2, int64_t ne3, uint32_t mode);
GGML_DEPRECATED(GGML_API struct ggml_tensor * ggml_upscale_ext(struct ggml_context * ctx,
        struct ggml_tensor * a, int ne0, int ne1, int ne2, int ne3, enum ggml_scale_mode mode),
        "use ggml_interpolate");

// start, start + step, .., all below stop (stop > start): [ceil((stop - start)/step)], F32.
GGML_API struct ggml_tensor * ggml_arange(struct ggml_context * ctx, float start, float stop, float step);

// Sinusoids of each timestep t (Vaswani et al. 2017): [dim, timesteps.ne0], F32. With h = dim/2 and
// w = max_period^(-j/h), element j is cos(t*w), element j + h is sin(t*w), and the last of an odd dim is 0.
GGML_API struct ggml_tensor * ggml_timestep_embedding(struct ggml_context * ctx,
        struct ggml_tensor * timesteps, int dim, int max_period);

// ---------------------------------------------------------------------------------------------------------
// Normalisation (F32)
// ---------------------------------------------------------------------------------------------------------
// Each row by itself, eps >= 0, no learned weights (multiply afterwards).
//   norm        (x - mean)/sqrt(variance + eps), variance over n (Ba et al. 2016)
//   rms_norm    x/sqrt(mean(x^2) + eps) (Zhang, Sennrich 2019)
//   l2_norm     x/max(sqrt(sum(x^2)), eps)
//   group_norm  as norm, over ne0, ne1 and groups of ceil(ne2/n_groups) channels (Wu, He 2018)
GGML_API struct ggml_tensor * ggml_norm(struct ggml_context * ctx, struct ggml_tensor * a, float eps);
GGML_API struct ggml_tensor * ggml_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float eps);
GGML_API struct ggml_tensor * ggml_rms_norm(struct ggml_context * ctx, struct ggml_tensor * a, float eps);
GGML_API struct ggml_tensor * ggml_rms_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        float eps);
GGML_API struct ggml_tensor * ggml_l2_norm(struct ggml_context * ctx, struct ggml_tensor * a, float eps);
GGML_API struct ggml_tensor * ggml_l2_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        float eps);
GGML_API struct ggml_tensor * ggml_group_norm(struct ggml_context * ctx, struct ggml_tensor * a, int n_groups,
        float eps);
GGML_API struct ggml_tensor * ggml_group_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        int n_groups, float eps);

// Gradient of rms_norm: a is the gradient of the result, b the input.
GGML_API struct ggml_tensor * ggml_rms_norm_back(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, float eps);

// ---------------------------------------------------------------------------------------------------------
// Matrix products
// ---------------------------------------------------------------------------------------------------------

// result[i, j] = sum over c of a[c, i]*b[c, j]: rows of a times rows of b, that is b a^T.
//   a [k, n, p, q]   any type; not transposed
//   b [k, m, P, Q]   p divides P and q divides Q: matrix (x, y) of b meets matrix (x/(P/p), y/(Q/q)) of a;
//                    F32, or the type that a's dot product takes (F16 with F16, ..)
//   result [n, m, P, Q], F32
GGML_API struct ggml_tensor * ggml_mul_mat(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);

// Products with one of several matrices (experts): result[:, j, t] is the product of as[:, :, ids[j, t]] and
// b[:, j mod b.ne1, t].
//   as [k, n, n_expert], b [k, u or a divisor of it, t], ids [u, t] I32; result [n, u, t], F32
// An index outside 0..n_expert-1 fails the computation.
GGML_API struct ggml_tensor * ggml_mul_mat_id(struct ggml_context * ctx, struct ggml_tensor * as,
        struct ggml_tensor * b, struct ggml_tensor * ids);

// result[i, j] = sum over c of a[i, c]*b[j, c]: columns by columns. a [n, k, p, q], b [m, k, P, Q],
// broadcast as in mul_mat; result [n, m, P, Q], F32.
GGML_API struct ggml_tensor * ggml_out_prod(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);

// The least precision of a product, set on its result; more is always right, and 0 leaves it open.
//   acc   of the sum: mul_mat, mul_mat_id, flash_attn_ext
//   src   to which source idx may be converted on the way: mul_mat and mul_mat_id with idx 1
// False, and nothing changed, for any other operator or idx.
GGML_API bool ggml_prec_set_acc(struct ggml_tensor * a, enum ggml_prec prec);
GGML_API bool ggml_prec_set_src(struct ggml_tensor * a, enum ggml_prec prec, int idx);
GGML_DEPRECATED(GGML_API void ggml_mul_mat_set_prec(struct ggml_tensor * a, enum ggml_prec prec),
        "use ggml_prec_set_acc");

// GGML_HINT_SRC0_IS_HADAMARD promises that a is the Hadamard matrix scaled by 1/sqrt(k), k a power of two,
// so that a fast transform may take the place of the product.
GGML_API void ggml_mul_mat_set_hint(struct ggml_tensor * a, enum ggml_op_hint hint);

// X with a X = b for lower triangular a [n, n, ..] and b [k, n, ..], by forward substitution: [k, n, ..].
// F32, contiguous; only left = lower = true, uni = false.
GGML_API struct ggml_tensor * ggml_solve_tri(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, bool left, bool lower, bool uni);

// ---------------------------------------------------------------------------------------------------------
// Attention
// ---------------------------------------------------------------------------------------------------------

// Softmax of scale*a + slope*mask over dimension 0. a [n, m, h, s] F32 contiguous; mask [n, m or more, ..]
// F16 or F32, its dimensions 2 and 3 read modulo their sizes, or NULL. slope is 1 for max_bias = 0; else
// (ALiBi, Press et al. 2021), with p = 2^floor(log2(h)), it is 2^(-max_bias*(i + 1)/p) for head i < p and
// 2^(-max_bias/2*(2*(i - p) + 1)/p) for the others; max_bias > 0 needs a mask. A row that is masked
// altogether gives zeros. ggml_soft_max: scale 1, no mask.
GGML_API struct ggml_tensor * ggml_soft_max        (struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_soft_max_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_soft_max_ext(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * mask, float scale, float max_bias);
GGML_API struct ggml_tensor * ggml_soft_max_ext_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * mask, float scale, float max_bias);

// Gives head i2 an extra logit sinks[i2] that takes part in maximum and denominator but has no result (Xiao
// et al. 2023). a is a result of soft_max or flash_attn_ext, sinks [heads] F32, or NULL to take them away.
GGML_API void ggml_soft_max_add_sinks      (struct ggml_tensor * a, struct ggml_tensor * sinks);
GGML_API void ggml_flash_attn_ext_add_sinks(struct ggml_tensor * a, struct ggml_tensor * sinks);

// Gradient of soft_max: scale*b*(a - sum over the row of a*b), a the gradient of the result, b the result.
// F32, max_bias 0.
GGML_API struct ggml_tensor * ggml_soft_max_ext_back(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, float scale, float max_bias);
GGML_API struct ggml_tensor * ggml_soft_max_ext_back_inplace(struct ggml_context * ctx,
        struct ggml_tensor * a, struct ggml_tensor * b, float scale, float max_bias);

// softmax(scale*q.k + slope*mask) v per head and query, without a matrix of scores (Dao et al. 2022).
//   q    [d, n, h, s]     F32
//   k    [d, m, h_k, s]   h_k divides h: head i reads head i/(h/h_k)
//   v    [d_v, m, h_v, s] h_v divides h
//   mask [m, n or more, h_m, s_m] F16, dimensions 2 and 3 read modulo their sizes, or NULL
//   result [d_v, h, n, s], F32: heads and queries in the other order
// With logit_softcap c other than 0 the score is c*tanh(scale/c * q.k) before the mask is added. slope and
// max_bias are as in soft_max. A query that sees no key gives zeros.
GGML_API struct ggml_tensor * ggml_flash_attn_ext(struct ggml_context * ctx, struct ggml_tensor * q,
        struct ggml_tensor * k, struct ggml_tensor * v, struct ggml_tensor * mask, float scale,
        float max_bias, float logit_softcap);

// Promises that no row of the mask has more than n_kv_max finite entries (0: nothing promised). A back end
// may then gather only those; a promise that is not kept may lose keys. The CPU needs no promise.
GGML_API void ggml_flash_attn_ext_set_n_kv_max(struct ggml_tensor * a, int32_t n_kv_max);

// The precision of the sums; to set it: ggml_prec_set_acc.
GGML_API enum ggml_prec ggml_flash_attn_ext_get_prec(const struct ggml_tensor * a);
GGML_DEPRECATED(GGML_API void ggml_flash_attn_ext_set_prec(struct ggml_tensor * a, enum ggml_prec prec),
        "use ggml_prec_set_acc");

// Reserved: always refused.
GGML_API struct ggml_tensor * ggml_flash_attn_back(struct ggml_context * ctx, struct ggml_tensor * q,
        struct ggml_tensor * k, struct ggml_tensor * v, struct ggml_tensor * d, bool masked);

// Rotary position embedding (Su et al. 2021): pairs of channels of a [n, heads, tokens, s] are rotated by
// position * freq_base^(-2m/n_dims) / c[m] for pair m, times freq_scale.
//   b            positions [tokens] I32; for the modes with sections 4*tokens: time, height, width, extra
//   c            frequency factors, at least n_dims/2, F32; NULL: 1
//   n_dims       channels that are rotated, even; the others are copied
//   mode         GGML_ROPE_TYPE_*
//   sections     how many pairs take their position from time, height, width, extra (Wang et al. 2024)
//   freq_scale   interpolation of positions; 1 without extension of the context
//   ext_factor   weight of YaRN (Peng et al. 2023): fast pairs keep the angle without freq_scale, slow ones
//                take it with; the change lies between the pairs that make beta_fast and beta_slow turns in
//                n_ctx_orig positions (ggml_rope_yarn_corr_dims). 0 turns it off
//   attn_factor  magnitude of the result; with ext_factor also multiplied by 1 + 0.1*ln(1/freq_scale)
// ggml_rope: freq_base 10000, freq_scale 1, ext_factor 0, attn_factor 1. F32, F16.
GGML_API struct ggml_tensor * ggml_rope(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int n_dims, int mode);
GGML_API struct ggml_tensor * ggml_rope_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int n_dims, int mode);
GGML_API struct ggml_tensor * ggml_rope_ext(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, struct ggml_tensor * c, int n_dims, int mode, int n_ctx_orig, float freq_base,
        float freq_scale, float ext_factor, float attn_factor, float beta_fast, float beta_slow);
GGML_API struct ggml_tensor * ggml_rope_ext_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, struct ggml_tensor * c, int n_dims, int mode, int n_ctx_orig, float freq_base,
        float freq_scale, float ext_factor, float attn_factor, float beta_fast, float beta_slow);
GGML_API struct ggml_tensor * ggml_rope_multi(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, struct ggml_tensor * c, int n_dims, int sections[GGML_MROPE_SECTIONS],
        int mode, int n_ctx_orig, float freq_base, float freq_scale, float ext_factor, float attn_factor,
        float beta_fast, float beta_slow);
GGML_API struct ggml_tensor * ggml_rope_multi_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, struct ggml_tensor * c, int n_dims, int sections[GGML_MROPE_SECTIONS],
        int mode, int n_ctx_orig, float freq_base, float freq_scale, float ext_factor, float attn_factor,
        float beta_fast, float beta_slow);
GGML_DEPRECATED(GGML_API struct ggml_tensor * ggml_rope_custom(struct ggml_context * ctx,
        struct ggml_tensor * a, struct ggml_tensor * b, int n_dims, int mode, int n_ctx_orig, float freq_base,
        float freq_scale, float ext_factor, float attn_factor, float beta_fast, float beta_slow),
        "use ggml_rope_ext");
GGML_DEPRECATED(GGML_API struct ggml_tensor * ggml_rope_custom_inplace(struct ggml_context * ctx,
        struct ggml_tensor * a, struct ggml_tensor * b, int n_dims, int mode, int n_ctx_orig, float freq_base,
        float freq_scale, float ext_factor, float attn_factor, float beta_fast, float beta_slow),
        "use ggml_rope_ext_inplace");

// Gradients: the rotation the other way, a being the gradient of the result.
GGML_API struct ggml_tensor * ggml_rope_ext_back(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, struct ggml_tensor * c, int n_dims, int mode, int n_ctx_orig, float freq_base,
        float freq_scale, float ext_factor, float attn_factor, float beta_fast, float beta_slow);
GGML_API struct ggml_tensor * ggml_rope_multi_back(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, struct ggml_tensor * c, int n_dims, int sections[GGML_MROPE_SECTIONS],
        int mode, int n_ctx_orig, float freq_base, float freq_scale, float ext_factor, float attn_factor,
        float beta_fast, float beta_slow);

// Lets the rotated channels start at n_offs, even, n_offs + n_dims <= n (0 for VISION). a is a result of
// the rope family; returns a.
GGML_API struct ggml_tensor * ggml_rope_set_offset(struct ggml_tensor * a, int n_offs);

// The first and last pair, dims[0] and dims[1], between which YaRN mixes. Plain arithmetic.
GGML_API void ggml_rope_yarn_corr_dims(int n_dims, int n_ctx_orig, float freq_base, float beta_fast,
        float beta_slow, float dims[2]);

// The scores by which a sparse attention picks its keys (DeepSeek-AI 2025): the sum over heads h of
// weights[h, t]*max(0, q.k), plus the mask, whose dimension 3 is read modulo its size.
//   q [d, heads, tokens, s] F32, k [d, 1, m, s], weights [heads, tokens, 1, s] F32,
//   mask [m, tokens, 1, s_m] F16; result [m, tokens, 1, s], F32
GGML_API struct ggml_tensor * ggml_lightning_indexer(struct ggml_context * ctx, struct ggml_tensor * q,
        struct ggml_tensor * k, struct ggml_tensor * weights, struct ggml_tensor * mask);

// ---------------------------------------------------------------------------------------------------------
// Convolution
// ---------------------------------------------------------------------------------------------------------
// Cross-correlations: kernels are not flipped. s, p, d are stride, padding (zeros on both sides) and
// dilation of dimensions 0, 1, 2 (width, height, depth); a size becomes (in + 2p - d*(k - 1) - 1)/s + 1,
// rounded down. K, KW, KH, KD: kernel sizes; L, W, H, D: those of the data; OL, OW, OH, OD: those of the
// result; IC and OC: channels in and out; N: batch. a is the kernel, b the data, F32 unless stated.

// Unfolds data into columns, of dst_type (F32, F16). Of the kernel a only the shape is used.
//   is_2D: a [KW, KH, IC, ..], b [W, H, IC, N] -> [IC*KH*KW, OW, OH, N]
//   else:  a [K, IC, ..],      b [L, IC, N]    -> [IC*K, OL, N]
//   3D:    a [KW, KH, KD, ..], b [W, H, D, IC*N] -> [IC*KD*KH*KW, OW, OH, OD*N]
GGML_API struct ggml_tensor * ggml_im2col(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int s0, int s1, int p0, int p1, int d0, int d1, bool is_2D,
        enum ggml_type dst_type);
GGML_API struct ggml_tensor * ggml_im2col_3d(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int64_t IC, int s0, int s1, int s2, int p0, int p1, int p2, int d0, int d1,
        int d2, enum ggml_type dst_type);

// Folds back, adding up: im2col_back is the gradient of im2col (a the gradient of the columns, b the
// kernel, ne the four sizes of the data). col2im_1d: a [K*oc, T] -> [(T - 1)*s0 + K - 2*p0, oc], the second
// half of a transposed convolution, where result[t, o] sums a[o*K + k, i] over i*s0 + k = t + p0; F32, F16,
// BF16.
GGML_API struct ggml_tensor * ggml_im2col_back(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int64_t ne[GGML_MAX_DIMS], int s0, int s1, int p0, int p1, int d0, int d1,
        bool is_2D);
GGML_API struct ggml_tensor * ggml_col2im_1d(struct ggml_context * ctx, struct ggml_tensor * a, int s0,
        int oc, int p0);

// By unfolding and a matrix product; the columns are F16, or F32 with a BF16 kernel (2d_dw: with any kernel
// but F16).
//   1d      a [K, IC, OC],      b [L, IC, N]    -> [OL, OC, N]         _ph: padding K/2
//   1d_dw   a [K, 1, C],        b [L, C]        -> [OL, C, 1]          each channel with its own kernel
//   2d      a [KW, KH, IC, OC], b [W, H, IC, N] -> [OW, OH, OC, N]     _sk_p0: stride = kernel, padding 0;
//                                                                      _s1_ph: stride 1, padding kernel/2
//   2d_dw   a [KW, KH, 1, C],   b [W, H, C, N]  -> [OW, OH, C, N]
//   3d      a [KW, KH, KD, IC*OC], b [W, H, D, IC*N] -> [OW, OH, OD, OC*N]
GGML_API struct ggml_tensor * ggml_conv_1d(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int s0, int p0, int d0);
GGML_API struct ggml_tensor * ggml_conv_1d_ph(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int s, int d);
GGML_API struct ggml_tensor * ggml_conv_1d_dw(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int s0, int p0, int d0);
GGML_API struct ggml_tensor * ggml_conv_1d_dw_ph(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int s0, int d0);
GGML_API struct ggml_tensor * ggml_conv_2d(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int s0, int s1, int p0, int p1, int d0, int d1);
GGML_API struct ggml_tensor * ggml_conv_2d_sk_p0(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_conv_2d_s1_ph(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_conv_2d_dw(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int s0, int s1, int p0, int p1, int d0, int d1);
GGML_API struct ggml_tensor * ggml_conv_3d(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int64_t IC, int s0, int s1, int s2, int p0, int p1, int p2, int d0, int d1,
        int d2);

// The same in one step, without columns in memory. Kernel F32 or F16; with F16 the data is rounded to F16.
// 2d_dw_direct keeps the memory order of b (width first, or channels first).
GGML_API struct ggml_tensor * ggml_conv_2d_direct(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int s0, int s1, int p0, int p1, int d0, int d1);
GGML_API struct ggml_tensor * ggml_conv_2d_dw_direct(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int stride0, int stride1, int pad0, int pad1, int dilation0, int dilation1);
GGML_API struct ggml_tensor * ggml_conv_3d_direct(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int s0, int s1, int s2, int p0, int p1, int p2, int d0, int d1, int d2,
        int n_channels, int n_batch, int n_channels_out);

// Transposed convolution: every element of the data adds a scaled kernel to the result.
//   1d      a [K, OC, IC],      b [L, IC]       -> [(L - 1)*s0 + K, OC]; only p0 = 0, d0 = 1
//   2d_p0   a [KW, KH, OC, IC], b [W, H, IC, N] -> [(W - 1)*stride + KW, (H - 1)*stride + KH, OC, N]
GGML_API struct ggml_tensor * ggml_conv_transpose_1d(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int s0, int p0, int d0);
GGML_API struct ggml_tensor * ggml_conv_transpose_2d_p0(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, int stride);

// Maximum or average over windows of k elements, stride s, padding p, F32 results. Positions outside do not
// count for the maximum, nor as values of an average; pool_1d divides by the positions inside, pool_2d
// always by k0*k1. The paddings of pool_2d are floats: (ne + 2p - k)/s + 1 is computed with them and then
// rounded down. F32, F16.
GGML_API struct ggml_tensor * ggml_pool_1d(struct ggml_context * ctx, struct ggml_tensor * a,
        enum ggml_op_pool op, int k0, int s0, int p0);
GGML_API struct ggml_tensor * ggml_pool_2d(struct ggml_context * ctx, struct ggml_tensor * a,
        enum ggml_op_pool op, int k0, int k1, int s0, int s1, float p0, float p1);

// Gradient of pool_2d: a the gradient of the result, af the input. Of equal maxima the first gets it all.
GGML_API struct ggml_tensor * ggml_pool_2d_back(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * af, enum ggml_op_pool op, int k0, int k1, int s0, int s1, float p0, float p1);

// ---------------------------------------------------------------------------------------------------------
// Windows and relative positions, for image encoders (Kirillov et al. 2023)
// ---------------------------------------------------------------------------------------------------------

// win_part cuts a [c, W, H] into windows of w x w, padded with zeros: [c, w, w, ceil(W/w)*ceil(H/w)];
// window (x, y) is number y*ceil(W/w) + x. win_unpart puts them together to [c, w0, h0]. F32.
GGML_API struct ggml_tensor * ggml_win_part(struct ggml_context * ctx, struct ggml_tensor * a, int w);
GGML_API struct ggml_tensor * ggml_win_unpart(struct ggml_context * ctx, struct ggml_tensor * a, int w0,
        int h0, int w);

// result[:, k, q] = a[:, q + kh - 1 - k]: a [c, 2*qh - 1] F16, qh = kh; [c, kh, qh], F16.
GGML_API struct ggml_tensor * ggml_get_rel_pos(struct ggml_context * ctx, struct ggml_tensor * a, int qh,
        int kh);

// a[kh*n + kw, r, b] + ph[kh, r, b] + pw[kw, r, b]. a [n*n, w*h, b], pw and ph [n, w, h, b], all F32
// contiguous.
GGML_API struct ggml_tensor * ggml_add_rel_pos(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * pw, struct ggml_tensor * ph);
GGML_API struct ggml_tensor * ggml_add_rel_pos_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * pw, struct ggml_tensor * ph);

// ---------------------------------------------------------------------------------------------------------
// Recurrent layers (F32)
// ---------------------------------------------------------------------------------------------------------
// The results hold outputs and then new states, in one tensor; take views of it. S sequences, H heads of N
// channels. T is the number of tokens: of each sequence, but in rwkv_* and gated_linear_attn of all together.

// result[c, t, s] = sum over k of sx[t + k, c, s]*c[k, c]: sx [K - 1 + T, C, S], c [K, C]; [C, T, S].
GGML_API struct ggml_tensor * ggml_ssm_conv(struct ggml_context * ctx, struct ggml_tensor * sx,
        struct ggml_tensor * c);

// Selective state space (Dao, Gu 2024). Per token: z = softplus(dt), state = state*exp(z*A) + B*x*z, then
// y = sum of state*C over N.
//   s [N, P, H, slots], x [P, H, T, S], dt [H, T, S], A [1 or N, H], B and C [N, G, T, S] (G groups of
//   heads), ids [S] I32: the slot from which each sequence starts
//   result: one dimension; y [P, H, T, S], then K states [N, P, H, S], the r-th that of r tokens before the
//   end (written where T > r). K >= 1; K = 1 for A [N, H].
GGML_API struct ggml_tensor * ggml_ssm_scan(struct ggml_context * ctx, struct ggml_tensor * s,
        struct ggml_tensor * x, struct ggml_tensor * dt, struct ggml_tensor * A, struct ggml_tensor * B,
        struct ggml_tensor * C, struct ggml_tensor * ids, int64_t K);

// RWKV-6 (Peng et al. 2024). With kv = k_i*v_j: y_j = sum over i of r_i*(tf_i*kv + state_ij), then
// state_ij = td_i*state_ij + kv.
//   k, v, r, td [N, H, T]; tf [N, H]; state [N*N*H, S]; result [N*H, T + N*S]: T rows of outputs, then states
GGML_API struct ggml_tensor * ggml_rwkv_wkv6(struct ggml_context * ctx, struct ggml_tensor * k,
        struct ggml_tensor * v, struct ggml_tensor * r, struct ggml_tensor * tf, struct ggml_tensor * td,
        struct ggml_tensor * state);

// Gated linear attention (Yang et al. 2023): state_ij = g_i*state_ij + k_i*v_j, then
// y_j = scale * sum over i of q_i*state_ij. Shapes as rwkv_wkv6.
GGML_API struct ggml_tensor * ggml_gated_linear_attn(struct ggml_context * ctx, struct ggml_tensor * k,
        struct ggml_tensor * v, struct ggml_tensor * q, struct ggml_tensor * g, struct ggml_tensor * state,
        float scale);

// RWKV-7 (Peng et al. 2025). With u_i = sum over j of a_j*state_ij:
// state_ij = w_j*state_ij + v_i*k_j + u_i*b_j, then y_i = sum over j of r_j*state_ij. Shapes as rwkv_wkv6.
GGML_API struct ggml_tensor * ggml_rwkv_wkv7(struct ggml_context * ctx, struct ggml_tensor * r,
        struct ggml_tensor * w, struct ggml_tensor * k, struct ggml_tensor * v, struct ggml_tensor * a,
        struct ggml_tensor * b, struct ggml_tensor * state);

// Gated delta rule (Yang et al. 2024). Per token, M being a head's state: M = M*exp(g); e = beta*(v - M k);
// M = M + e k^T; y = M q / sqrt(N).
//   q [N, H_q, T, S_q], k [N, H_k, T, S_k], v [N, H, T, S], g [1 or N, H, T, S], beta [1, H, T, S],
//   state [N, N, H, S] (ne0 pairs with k and q, ne1 with v)
//   head h reads q head h mod H_q and k head h mod H_k, sequence s reads s/(S/S_q) and s/(S/S_k)
//   result [N*H, T*S + K*N*S]: outputs [N, H, T, S], then K states [N, N, H, S], the r-th that after token
//   T - 1 - r (written where T > r)
// K >= 1.
GGML_API struct ggml_tensor * ggml_gated_delta_net(struct ggml_context * ctx, struct ggml_tensor * q,
        struct ggml_tensor * k, struct ggml_tensor * v, struct ggml_tensor * g, struct ggml_tensor * beta,
        struct ggml_tensor * state, int64_t K);

// ---------------------------------------------------------------------------------------------------------
// Hyper-connections (F32): hc residual streams of D channels, T tokens
// ---------------------------------------------------------------------------------------------------------

// Mixing matrices c[d, s, t], [hc, hc, T], made doubly stochastic (Sinkhorn, Knopp 1967): the softmax over d
// of mixes[2hc + d + hc*s, t]*scale[2] + base[2hc + d + hc*s], plus eps, divided by eps + its sums over s;
// then n_iter - 1 times by those over d and again over s. n_iter > 0.
//   mixes [(2 + hc)*hc, T], scale [3 or more], base [(2 + hc)*hc]; hc = 4
GGML_API struct ggml_tensor * ggml_dsv4_hc_comb(struct ggml_context * ctx, struct ggml_tensor * mixes,
        struct ggml_tensor * scale, struct ggml_tensor * base, float eps, int32_t n_iter);

// The input of a layer: the sum over streams h of x[:, h, t]*weights[h, t]; gated: scale times the sum of
// x/(1 + e^-gate).
//   x and gate [D, hc, T], weights [hc, T]; result [D, T]
GGML_API struct ggml_tensor * ggml_dsv4_hc_pre(struct ggml_context * ctx, struct ggml_tensor * x,
        struct ggml_tensor * weights);
GGML_API struct ggml_tensor * ggml_dsv4_hc_pre_gated(struct ggml_context * ctx, struct ggml_tensor * x,
        struct ggml_tensor * gate, float scale);

// The streams behind it: x[:, t]*post[d, t] + sum over s of residual[:, s, t]*comb[d, s, t] for stream d.
//   x [D, T], residual [D, hc, T], post [hc, T], comb [hc, hc, T] or NULL (the identity); result [D, hc, T]
GGML_API struct ggml_tensor * ggml_dsv4_hc_post(struct ggml_context * ctx, struct ggml_tensor * x,
        struct ggml_tensor * residual, struct ggml_tensor * post, struct ggml_tensor * comb);

// ---------------------------------------------------------------------------------------------------------
// Operators of the caller
// ---------------------------------------------------------------------------------------------------------
// Run on the CPU only; operators for several devices are registered with ggml-ext.h. fun is called by nth
// threads at once, with ith = 0..nth-1 and no barrier between them, and divides the work by nth, whatever
// n_tasks was; it writes dst and reads the sources, whose data is complete. n_tasks > 0, or
// GGML_N_TASKS_MAX, says how many threads are worth it. fun and userdata stay with the caller and live as
// long as the graph.

typedef void (*ggml_custom1_op_t)(struct ggml_tensor * dst, const struct ggml_tensor * a,
        int ith, int nth, void * userdata);
typedef void (*ggml_custom2_op_t)(struct ggml_tensor * dst, const struct ggml_tensor * a,
        const struct ggml_tensor * b, int ith, int nth, void * userdata);
typedef void (*ggml_custom3_op_t)(struct ggml_tensor * dst, const struct ggml_tensor * a,
        const struct ggml_tensor * b, const struct ggml_tensor * c, int ith, int nth, void * userdata);
typedef void (*ggml_custom_op_t)(struct ggml_tensor * dst, int ith, int nth, void * userdata);

// Of a's type and shape.
GGML_API struct ggml_tensor * ggml_map_custom1(struct ggml_context * ctx, struct ggml_tensor * a,
        ggml_custom1_op_t fun, int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom1_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        ggml_custom1_op_t fun, int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom2(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, ggml_custom2_op_t fun, int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom2_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, ggml_custom2_op_t fun, int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom3(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, struct ggml_tensor * c, ggml_custom3_op_t fun, int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom3_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, struct ggml_tensor * c, ggml_custom3_op_t fun, int n_tasks, void * userdata);

// Of the given type and sizes, or a view of a, with n_args < GGML_MAX_SRC sources (inplace: one less, since
// a is the first); fun finds them in dst->src. The array args is copied.
GGML_API struct ggml_tensor * ggml_custom_4d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
        int64_t ne1, int64_t ne2, int64_t ne3, struct ggml_tensor ** args, int n_args, ggml_custom_op_t fun,
        int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_custom_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor ** args, int n_args, ggml_custom_op_t fun, int n_tasks, void * userdata);

// ---------------------------------------------------------------------------------------------------------
// Losses and optimiser steps (F32)
// ---------------------------------------------------------------------------------------------------------

// -(1/rows) * sum of b*log_softmax(a) over all rows: [1]; a logits, b probabilities of the same shape.
GGML_API struct ggml_tensor * ggml_cross_entropy_loss(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b);

// Its gradient (softmax(b) - c)*a/rows: a the gradient of the loss (one value), b the logits, c the labels.
GGML_API struct ggml_tensor * ggml_cross_entropy_loss_back(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * b, struct ggml_tensor * c);

// One step, in place; the result is a view of a, which has the flag PARAM. All tensors but the last have
// a's shape.
//   adamw  (Loshchilov, Hutter 2017) m = beta1*m + (1 - beta1)*g, v = beta2*v + (1 - beta2)*g^2,
//          a = a*(1 - alpha*wd) - alpha*m*beta1h/(sqrt(v*beta2h) + eps)
//          adamw_params [7]: alpha, beta1, beta2, eps, wd, beta1h = 1/(1 - beta1^t), beta2h = 1/(1 - beta2^t)
//   sgd    a = a*(1 - alpha*wd) - alpha*g; sgd_params [2]: alpha, wd
GGML_API struct ggml_tensor * ggml_opt_step_adamw(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * grad, struct ggml_tensor * m, struct ggml_tensor * v,
        struct ggml_tensor * adamw_params);
GGML_API struct ggml_tensor * ggml_opt_step_sgd(struct ggml_context * ctx, struct ggml_tensor * a,
        struct ggml_tensor * grad, struct ggml_tensor * sgd_params);

// =========================================================================================================
// Graphs
// =========================================================================================================
// A graph lists nodes (what is computed, in this order) and leafs (tensors without operator that nodes
// read), both up to its size. It belongs to a context; its tensors may live in others. In a full context
// ggml_new_graph* and ggml_graph_dup return an invalid graph, to which nothing can be added, rather than
// NULL, and adding to a graph that is full marks it invalid: ggml_ext_graph_valid tells, allocation and
// compute refuse it.

// size: room for nodes, and for as many leafs. grads: room for gradients. ggml_new_graph:
// GGML_DEFAULT_GRAPH_SIZE, none.
GGML_API struct ggml_cgraph * ggml_new_graph       (struct ggml_context * ctx);
GGML_API struct ggml_cgraph * ggml_new_graph_custom(struct ggml_context * ctx, size_t size, bool grads);

// Upper bound of what such a graph takes of a context's pool, in bytes.
GGML_API size_t ggml_graph_overhead       (void);
GGML_API size_t ggml_graph_overhead_custom(size_t size, bool grads);

// Adds tensor and all that it depends on and that is not there yet: sources first, the first source's
// branch first; so tensor is the last node. A tensor without operator and without the flag PARAM becomes a
// leaf, all others nodes; the unnamed are called leaf_<n> and node_<n>. All nodes that tensor needs get the
// flag COMPUTE.
GGML_API void ggml_build_forward_expand(struct ggml_cgraph * cgraph, struct ggml_tensor * tensor);

// The same without the flag COMPUTE: fixes the order, not what is wanted.
GGML_API void ggml_build_forward_order(struct ggml_cgraph * cgraph, struct ggml_tensor * tensor);

// Adds all n_tensors tensors, of the same shape each, but only tensors[idx], which is returned, and what it
// needs are wanted. Graphs that differ in idx alone have the same nodes, so one allocation fits them all.
GGML_API struct ggml_tensor * ggml_build_forward_select(struct ggml_cgraph * cgraph,
        struct ggml_tensor ** tensors, int n_tensors, int idx);

// Appends a node as it is, with neither its sources nor the flag COMPUTE.
GGML_API void ggml_graph_add_node(struct ggml_cgraph * cgraph, struct ggml_tensor * tensor);

// Adds what computes the gradients of all losses with respect to all that depends on a PARAM; cgraph has
// been expanded with the losses, has room for gradients and at least one of each. ctx owns the new tensors,
// named "grad for <name>". grad_accs: NULL, or for each node NULL or the tensor into which its gradient is
// added instead. Refused: a source on the way that is neither F32 nor F16 (I32 is passed over), in-place
// nodes other than views, and operators without a gradient. Those with one:
//   dup add add1 acc sub mul div sqr sqrt log sin cos scale set cpy cont reshape view permute transpose
//   sum sum_rows mean repeat repeat_back rms_norm mul_mat get_rows diag_mask_inf diag_mask_zero soft_max
//   rope im2col pool_2d cross_entropy_loss abs sgn neg step relu silu exp expm1 softplus swiglu_split
// Of add1's b the gradient is the mean, not the sum, of that of the result.
GGML_API void ggml_build_backward_expand(struct ggml_context * ctx, struct ggml_cgraph * cgraph,
        struct ggml_tensor ** grad_accs);

// The gradient of a node, or the tensor in which it accumulates; NULL if there is none or the node is not
// in the graph.
GGML_API struct ggml_tensor * ggml_graph_get_grad(const struct ggml_cgraph * cgraph,
        const struct ggml_tensor * node);
GGML_API struct ggml_tensor * ggml_graph_get_grad_acc(const struct ggml_cgraph * cgraph,
        const struct ggml_tensor * node);

// dup: a copy in ctx, with room for gradients if cgraph has it or force_grads. cpy: the same into an
// existing graph, which has room for all. Tensors are shared, not copied.
GGML_API struct ggml_cgraph * ggml_graph_dup(struct ggml_context * ctx, struct ggml_cgraph * cgraph,
        bool force_grads);
GGML_API void                 ggml_graph_cpy(struct ggml_cgraph * src, struct ggml_cgraph * dst);

// reset: gradient accumulators and moments of the optimisers become 0, those of the losses 1; needs
// gradients and data. clear: no nodes, no leafs.
GGML_API void ggml_graph_reset(struct ggml_cgraph * cgraph);
GGML_API void ggml_graph_clear(struct ggml_cgraph * cgraph);

// size: nodes there is room for. n_nodes: nodes there are. nodes: the array, of the graph. node: the i-th,
// a negative i counts from the end; beyond, NULL, or the poisoned tensor that made the graph invalid.
// get_tensor: the first leaf or else node of that name, or NULL.
GGML_API int                   ggml_graph_size      (struct ggml_cgraph * cgraph);
GGML_API int                   ggml_graph_n_nodes   (struct ggml_cgraph * cgraph);
GGML_API struct ggml_tensor ** ggml_graph_nodes     (struct ggml_cgraph * cgraph);
GGML_API struct ggml_tensor *  ggml_graph_node      (struct ggml_cgraph * cgraph, int i);
GGML_API struct ggml_tensor *  ggml_graph_get_tensor(const struct ggml_cgraph * cgraph, const char * name);

// Lists nodes and leafs by the log, level INFO.
GGML_API void ggml_graph_print(const struct ggml_cgraph * cgraph);

// Writes a Graphviz file: a box for each node of gb (parameters yellow, nodes with a gradient green if in
// cgraph, else light blue) and leaf (pink). cgraph may be NULL. A file that cannot be written is a logged
// refusal.
GGML_API void ggml_graph_dump_dot(const struct ggml_cgraph * gb, const struct ggml_cgraph * cgraph,
        const char * filename);

// =========================================================================================================
// Quantisation
// =========================================================================================================

// Encodes nrows rows of n_per_row values, from element start on, which is the beginning of a row; src and
// dst are the beginnings of the whole arrays, so that threads may share one job by rows. imatrix: NULL, or
// one weight >= 0 for each column, telling how much its error matters (F32, F16, BF16, Q1_0, Q2_0, Q8_0,
// MXFP4, NVFP4, TQ1_0 and TQ2_0 ignore it). Returns the bytes written, nrows*ggml_row_size(type,
// n_per_row); 0 if it refuses: a type without encoder, start or rows that are no whole blocks, weights
// missing where they are required, a NaN or infinity among the values.
GGML_API size_t ggml_quantize_chunk(enum ggml_type type, const float * src, void * dst, int64_t start,
        int64_t nrows, int64_t n_per_row, const float * imatrix);

// True for IQ2_XXS, IQ2_XS and IQ1_S.
GGML_API bool ggml_quantize_requires_imatrix(enum ggml_type type);

// init builds the search tables of the IQ1, IQ2 and IQ3 types (ggml_quantize_chunk does so by itself); free
// releases those of all types, when nothing is being quantised. They may be called from any thread.
GGML_API void ggml_quantize_init(enum ggml_type type);
GGML_API void ggml_quantize_free(void);

// Whether nbytes bytes are well-formed blocks: whole ones, and every float value or scale finite. Integers
// always are. If not, the reason is logged.
GGML_API bool ggml_validate_row_data(enum ggml_type type, const void * data, size_t nbytes);

// =========================================================================================================
// Thread pools
// =========================================================================================================

// What a pool is made of, see ggml_threadpool_new in ggml-cpu.h.
struct ggml_threadpool_params {
    bool                     cpumask[GGML_MAX_N_THREADS]; // processors to run on; all false: any
    int                      n_threads;                   // the caller's thread included
    enum ggml_sched_priority prio;
    uint32_t                 poll;                        // 0..100: how long to spin for work before sleeping
    bool                     strict_cpu;                  // one processor of cpumask for each thread, in turn
    bool                     paused;                      // start asleep
};

// Defaults: priority NORMAL, poll 50, any processor, not strict, not paused.
GGML_API struct ggml_threadpool_params ggml_threadpool_params_default(int n_threads);
GGML_API void                          ggml_threadpool_params_init(struct ggml_threadpool_params * p,
        int n_threads);

// Whether all but paused are equal.
GGML_API bool ggml_threadpool_params_match(const struct ggml_threadpool_params * p0,
        const struct ggml_threadpool_params * p1);

#ifdef __cplusplus
}
#endif
