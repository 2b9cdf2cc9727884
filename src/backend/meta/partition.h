// SPDX-License-Identifier: MIT
// How a tensor is divided among n devices: the public split state in a form that can be computed with.
//
// Along its axis the tensor is a sequence of runs, each of one device: for each segment s, nr[s] times, for
// each device j, ne[s * n + j] elements. A device holds its runs in that order without gaps.
#ifndef TN_BACKEND_META_PARTITION_H
#define TN_BACKEND_META_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ggml-backend.h"

enum { TN_PARTITION_SEGMENTS = 16, TN_PARTITION_TEXT = 96 };

struct tn_partition {
    enum ggml_backend_meta_split_axis axis;
    uint32_t n_segments;
    uint32_t nr[TN_PARTITION_SEGMENTS];
    int64_t ne[TN_PARTITION_SEGMENTS * GGML_BACKEND_META_MAX_DEVICES]; // the first n_segments * n count
};

// Bytes that count: a copy in memory may be cut behind them.
size_t tn_partition_bytes(const struct tn_partition * p, int n);
void tn_partition_copy(struct tn_partition * to, const struct tn_partition * from, int n);

// MIRRORED, or PARTIAL with all devices.
void tn_partition_whole(struct tn_partition * p, enum ggml_backend_meta_split_axis axis, int n);

static inline bool tn_partition_is_split(const struct tn_partition * p) {
    return p->axis <= GGML_BACKEND_SPLIT_AXIS_3;
}
static inline bool tn_partition_is_mirrored(const struct tn_partition * p) {
    return p->axis == GGML_BACKEND_SPLIT_AXIS_MIRRORED;
}
static inline bool tn_partition_is_partial(const struct tn_partition * p) {
    return p->axis == GGML_BACKEND_SPLIT_AXIS_PARTIAL;
}

// What a program said about a tensor. false with a text: it does not fit.
bool tn_partition_read(struct tn_partition * p, const struct ggml_backend_meta_split_state * state,
                       const struct ggml_tensor * t, int n);

// Does it divide this tensor: all of its axis, rows in whole blocks? false with a text.
bool tn_partition_check(const struct tn_partition * p, const struct ggml_tensor * t, int n);

// Elements of device j along the axis; of them before place `at`; all of them together.
int64_t tn_partition_length(const struct tn_partition * p, int n, int j);
int64_t tn_partition_before(const struct tn_partition * p, int n, int j, int64_t at);
int64_t tn_partition_total(const struct tn_partition * p, int n);

// The device that has all of it, -1 if there is no such one.
int tn_partition_owner(const struct tn_partition * p, int n);

// The same owner for every element (axes are not compared)?
bool tn_partition_same(const struct tn_partition * a, const struct tn_partition * b, int n);

// Every run times mul, by div. false with a text: a run is no multiple.
bool tn_partition_scale(struct tn_partition * p, int n, int64_t mul, int64_t div);

// Elements begin .. begin + count - 1. false with a text: that takes too many segments.
bool tn_partition_range(const struct tn_partition * p, int n, int64_t begin, int64_t count,
                        struct tn_partition * out);

// The whole sequence `times` in a row. false with a text: that takes too many segments.
bool tn_partition_repeat(struct tn_partition * p, int n, int64_t times);

// "axis 1: 3 5", "MIRRORED", into a buffer of the caller; returns the buffer.
const char * tn_partition_text(char text[TN_PARTITION_TEXT], const struct tn_partition * p, int n);

#endif
