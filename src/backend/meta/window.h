// SPDX-License-Identifier: MIT
// Views of split tensors: which of the view's dimensions is split then, how, and where on each device its
// part begins.
//
// Everything follows from addresses. The owner of an element of the source depends on its address alone: on
// the number of steps along the split axis, which is found below one period, the next larger stride. The
// view's own strides say which of its dimensions takes those steps. So reshape, permute, transpose and views
// of any kind are one case.
#ifndef TN_BACKEND_META_WINDOW_H
#define TN_BACKEND_META_WINDOW_H

#include "backend/meta/partition.h"

struct tn_window {
    struct tn_partition partition; // of the view
    // where it begins, for tn_window_place()
    struct tn_partition steps; // of the source, in steps of `step` bytes
    size_t step, rest;         // rest: bytes into a step
    int64_t first;             // step of a period
    int period_dim;            // of the source, -1: everything is one period
    size_t period, outer;      // bytes; periods before the view
};

// `view` looks at `source`, which is divided as `partition` says, from byte `offset` of it on. false with a
// text: the view has no part that a device could have alone.
bool tn_window_find(const struct ggml_tensor * view, const struct ggml_tensor * source,
                    const struct tn_partition * partition, size_t offset, int n, struct tn_window * w);

// Sizes, strides and view_offs (from its part of the source on) of device j's part of the view.
void tn_window_place(const struct tn_window * w, const struct ggml_tensor * view,
                     const struct ggml_tensor * source_part, int n, int j, struct ggml_tensor * part);

#endif
