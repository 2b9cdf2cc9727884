// SPDX-License-Identifier: MIT
// The arithmetic of sliding windows, shared by convolution, unfolding and pooling.
#ifndef TN_CORE_OPS_CONV_INT_H
#define TN_CORE_OPS_CONV_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "ggml.h"

// One dimension of data under a window.
struct tn_conv_axis {
    int64_t in;     // size of the data
    int64_t kernel; // size of the window
    int32_t stride;
    int32_t pad;
    int32_t dilation;
};

// *out = (in + 2*pad - dilation*(kernel - 1) - 1)/stride + 1: every window lies within the padded data. false
// with a text, that calls the dimension number d: there is no room for one window, or a number makes no
// sense.
bool tn_conv_size(const struct tn_conv_axis * axis, int d, int64_t * out);

// The same, with the strides of n dimensions from op_params word 0 on, then their paddings, then their
// dilations.
bool tn_conv_out(const struct ggml_tensor * node, int n, int d, int64_t in, int64_t kernel, int64_t * out);

// The inverse: *out = (in - 1)*stride + kernel - 2*pad, where a window is laid down for each element. false
// with a text.
bool tn_conv_transposed_size(const struct tn_conv_axis * axis, int d, int64_t * out);

#endif
