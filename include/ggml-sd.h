// SPDX-License-Identifier: MIT
//
// The diffusion pack: operators that image and video models use, made with the extension interface of
// ggml-ext.h and living in a library of their own, libggml-sd. Not part of ggml.
//
//     sd_ggml_register_extensions();      once, before the first graph
//     ggml_ext_modulate(ctx, ...)         and so on, like built-in builders
//
// Shapes are written [ne0, ne1, ne2, ne3], the contiguous dimension first; names of sizes are explained where
// they appear. Results are new, contiguous tensors. In formulas every operation is rounded to F32 by itself,
// in the order written, and the same bits come out on every device, unless a bound is stated.
//
// Errors: a constructor that refuses returns NULL, also when a source is poisoned or the pack is not
// registered, and leaves its reason in ggml_ext_last_error().
// C++ programs may leave out the last arguments that have a default; C programs pass all.
#pragma once

#include "ggml.h"
#include "ggml-backend.h"

// clang-format off: declarations are aligned by hand

#ifdef _WIN32
#    ifdef GGML_SD_BUILD
#        define GGML_SD_API __declspec(dllexport) extern
#    elif defined(GGML_SD_SHARED)
#        define GGML_SD_API __declspec(dllimport) extern
#    else
#        define GGML_SD_API extern
#    endif
#else
#    define GGML_SD_API __attribute__((visibility("default"))) extern
#endif

#ifdef __cplusplus
#    define GGML_SD_DEFAULT(value) = value
#else
#    define GGML_SD_DEFAULT(value)
#endif

#ifdef __cplusplus
extern "C" {
#endif

// -----------------------------------------------------------------------------------------------------------
// The pack
// -----------------------------------------------------------------------------------------------------------

// Registers all operators, kernels and rules of the pack on all devices. True when they are registered, also
// when that was so before. From any thread.
GGML_SD_API bool sd_ggml_register_extensions(void);

// Names the device that the graphs built by this thread will run on, so that ggml_ext_modulate() can choose
// the form that it knows. NULL, as at the start: no restriction.
GGML_SD_API void sd_ggml_set_runner_device(ggml_backend_dev_t device);

// -----------------------------------------------------------------------------------------------------------
// Modulation and rotation
// -----------------------------------------------------------------------------------------------------------

// (x + x * scale) + shift, with `scale` and `shift` repeated to the shape of x in every dimension;
// without shift (NULL): x + x * scale. Any strides. F32 tensors make one node, "sd.modulate.v1".
// For other types, before registration, and for a runner device without such a kernel, the same is
// built from ggml_mul() and ggml_add().
GGML_SD_API struct ggml_tensor * ggml_ext_modulate(struct ggml_context * ctx, struct ggml_tensor * x,
                                                   struct ggml_tensor * shift, struct ggml_tensor * scale);

// Rotary position embedding from a table of matrices: node "sd.rope_apply.v1".
//
// a:           F32 [D, H, T, B]: D channels, H heads, T tokens, B batches; channels
//              contiguous, other strides free.
// pe:          F32 [2, 2, P, T]: for each of P pairs and each token the matrix (cos, -sin; sin, cos), row by
//              row; any strides. It serves all heads and batches. Channels from 2 * P <= D on are copied.
// interleaved: true: pair j is the channels (2j, 2j + 1), and all four entries are used. False: it is the
//              channels (j, j + P), the first column (cos, sin) is used, and D is even.
//
// The result is [D, T, H * B]. Su and others, arXiv:2104.09864.
GGML_SD_API struct ggml_tensor * ggml_ext_rope_apply(struct ggml_context * ctx, struct ggml_tensor * a,
                                                     struct ggml_tensor * pe, bool interleaved);

// -----------------------------------------------------------------------------------------------------------
// Linear layers in 8 and 4 bits
// -----------------------------------------------------------------------------------------------------------
//
// ConvRot (Huang and others, arXiv:2512.03673) spreads outliers before a row is quantised: every group of G
// neighbouring features is multiplied by a symmetric orthogonal matrix, the Kronecker power of
//
//     1/2 * ( 1  1  1 -1;  1  1 -1  1;  1 -1  1  1; -1  1  1  1 )
//
// G is 1 (no rotation), 4, 16, 64 or 256 and divides K, the number of features; weights were rotated alike
// when they were made. GPUs take 256 only.

// Rotates and quantises the R rows of `a`, F32 [K, ...] and contiguous: node "sd.quantize_i8_convrot.v1".
//
// For each row s = max|v| / 127, codes are v * (1 / s) rounded to nearest even; a row that is all zero, or
// tiny, has s = 0 and codes of 0. The result is I8 [K, Rp + S], with Rp = R rounded up to 4 and S = 4 * R / K
// rounded up: R rows of codes, rows of 0, then from byte K * Rp on the R scales as F32, then 0. It is read by
// the functions below, which look its rows up from the node, so give it to them directly.
GGML_SD_API struct ggml_tensor * ggml_quantize_i8_convrot(struct ggml_context * ctx, struct ggml_tensor * a,
                                                          int convrot_group_size);

// Product with I8 weights: node "sd.linear_i8.v1". With acc, the exact sum over k
// of weight[k, n] * input[k, r]:
//
//     y[n, r] = (float(acc) * input_scale[r]) * weight_scale[n] + bias[n]
//
// where each factor, and the bias, is left out if there is none.
//
// weight:             I8 [K, N], contiguous.
// input:              F32 [K, n1, n2, n3], which is rotated and quantised first; or the
//                     result of ggml_quantize_i8_convrot() with the same group; or
//                     codes of your own, I8 [K, n1, n2, n3].
// weight_scale:       F32 [N], NULL for none.
// bias:               F32 [N], NULL for none.
// convrot_group_size: 0 means 1 for an F32 input.
// input_scale:        F32, one value a row, for codes of your own only; NULL for none.
//
// The result is F32 [N, n1, n2, n3].
GGML_SD_API struct ggml_tensor * ggml_mul_mat_i8_tensorwise(
    struct ggml_context * ctx, struct ggml_tensor * weight, struct ggml_tensor * input,
    struct ggml_tensor * weight_scale, struct ggml_tensor * bias, int convrot_group_size,
    struct ggml_tensor * input_scale GGML_SD_DEFAULT(NULL));

// The same as a layer of a model: for a scale other than 1 the input is multiplied by it before
// and the product by 1 / scale after, ahead of the bias, which keeps large activations in
// range; many small batches are flattened.
GGML_SD_API struct ggml_tensor * ggml_ext_linear_i8_tensorwise(
    struct ggml_context * ctx, struct ggml_tensor * x, struct ggml_tensor * w,
    struct ggml_tensor * weight_scale, struct ggml_tensor * b, int convrot_group_size,
    float scale GGML_SD_DEFAULT(1.0f));

enum ggml_w4_convrot_kind {
    GGML_W4_CONVROT_W4A4 = 1, // codes -8 to 7, one scale for each output
    GGML_W4_CONVROT_W4A8 = 2, // codes of 16 levels, scales for each output and for each 16 features
};

// Product with 4-bit weights: node "sd.linear_w4_convrot.v1".
//
// weight:             I8 [K / 2, N]: byte j of a row holds feature 2j in its low and 2j + 1 in its high half.
// input:              as above, without codes of your own; activations have 8 bits for both kinds.
// weight_scales:      W4A4: F32 [N]. W4A8: the levels, F32 [16].
// s_channel:          W4A8: F32 [N]. W4A4: NULL.
// s_rel:              W4A8: E4M3 bytes as I8 [K / 16, N]. W4A4: NULL.
// bias:               F32 [N], NULL for none.
// kind:               enum ggml_w4_convrot_kind.
// convrot_group_size: 64 or 256.
//
// The result is F32 [N, n1, n2, n3]. W4A8 rounds the levels to 8 bits, multiplies 16 features at a time
// as integers and adds these sums up in F32 in ascending order; within 1.5e-2 (relative L2) of
// computing with the levels as they are.
GGML_SD_API struct ggml_tensor * ggml_mul_mat_w4_convrot(
    struct ggml_context * ctx, struct ggml_tensor * weight, struct ggml_tensor * input,
    struct ggml_tensor * weight_scales, struct ggml_tensor * s_channel, struct ggml_tensor * s_rel,
    struct ggml_tensor * bias, int kind, int convrot_group_size);

// -----------------------------------------------------------------------------------------------------------
// Attention
// -----------------------------------------------------------------------------------------------------------

enum ggml_sage_attn_mode {
    GGML_SAGE_ATTN_AUTO        = 0, // the best that the device can
    GGML_SAGE_ATTN_2           = 1, // 8-bit floats for the second product
    GGML_SAGE_ATTN_2_PLUS_PLUS = 2, // and 16-bit partial sums in it
};

// Attention with 8-bit scores, without a mask: node "sd.sage_attn.v1".
//
// q:     F32 [D, Lq, Hq, B]; all three contiguous; D is 64 or 128.
// k:     F32 [D, Lk, Hk, B]; Hk divides Hq.
// v:     F16 [D, Lk, Hk, B].
// scale: of the scores, usually 1 / sqrt(D).
// mode:  refused by a device that cannot.
//
// The result is F32 [D, Hq, Lq, B], within 2e-2 (relative L2) of exact attention, 5e-2 in modes 2 and 2++.
// Zhang and others, arXiv:2410.02367, 2411.10958, 2505.21136.
GGML_SD_API struct ggml_tensor * ggml_sage_attn(struct ggml_context * ctx, struct ggml_tensor * q,
                                                struct ggml_tensor * k, struct ggml_tensor * v, float scale,
                                                enum ggml_sage_attn_mode mode);

// Sparse attention for long sequences, without a mask: node "sd.sol_attn.v1". Blocks of 64 keys that matter
// little to a block of 64 queries are summarised by their mean key and the sum of their values.
//
// q, k, v: F32 [128, T, H, B], contiguous.
// scale:   of the scores, above 0.
// tau:     how much a block has to stand out, in standard deviations; about 1. The lower, the more blocks are
//          computed exactly; the neighbours of a block always are.
//
// The result is F32 [128, H, T, B], in the precision of BF16. How near it is to exact attention
// depends on the data. arXiv:2607.24027.
GGML_SD_API struct ggml_tensor * ggml_sol_attn(struct ggml_context * ctx, struct ggml_tensor * q,
                                               struct ggml_tensor * k, struct ggml_tensor * v, float scale,
                                               float tau);

#ifdef __cplusplus
}
#endif
