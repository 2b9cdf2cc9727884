// SPDX-License-Identifier: MIT
// Data under a window that slides over up to three dimensions, as convolution and unfolding see it. Missing
// dimensions have size 1.
//
// A column holds what one place of the window covers, in the order of a kernel's memory: element
// ((c*KD + kd)*KH + kh)*KW + kw. Its lines are the KW elements of one (c, kd, kh); what lies outside of the
// data is zero.
#ifndef TN_CPU_UNFOLD_H
#define TN_CPU_UNFOLD_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "ggml.h"

struct tn_unfold {
    int64_t in[3], kernel[3];
    int64_t stride[3], pad[3], dilation[3];
    int64_t channels, batch;
    const char * data;
    size_t nb[3], nb_channel, nb_batch;
};

// Where a window lies: of the kernel's elements those from lo to hi - 1 are inside, in each dimension.
struct tn_unfold_place {
    int64_t lo[3], hi[3];
    size_t corner; // offset of what is under the kernel's first element, modulo 2^64: it may be outside
};

// A line of a column, by its three indices.
struct tn_unfold_line {
    int64_t c, kd, kh;
};

// Of a node with a kernel, data, and in op_params strides, paddings and dilations for `words` dimensions, of
// which the first `dims` count. Channels are the next dimension of the data, batches the one after; with
// three dimensions both are in the last, and op_params word 9 says how many are channels.
struct tn_unfold tn_unfold_of(const struct ggml_tensor * node, int words, int dims);

// Elements of a column.
int64_t tn_unfold_size(const struct tn_unfold * u);

// The window that gives this element of the output.
struct tn_unfold_place tn_unfold_at(const struct tn_unfold * u, const int64_t out[3], int64_t batch);

TN_INLINE struct tn_unfold_line tn_unfold_line_of(const struct tn_unfold * u, int64_t line) {
    const int64_t plane = line / u->kernel[1];
    return (struct tn_unfold_line){ plane / u->kernel[2], plane % u->kernel[2], line % u->kernel[1] };
}

TN_INLINE void tn_unfold_next(const struct tn_unfold * u, struct tn_unfold_line * line) {
    if (++line->kh < u->kernel[1]) return;
    line->kh = 0;
    if (++line->kd < u->kernel[2]) return;
    line->kd = 0;
    line->c++;
}

// What is under the line's element lo[0]; the next ones, up to hi[0] - 1, follow dilation[0]*nb[0] bytes
// apart. NULL: the whole line is outside.
TN_INLINE const char * tn_unfold_data(const struct tn_unfold * u, const struct tn_unfold_place * p,
                                      const struct tn_unfold_line * line) {
    if (line->kd < p->lo[2] || line->kd >= p->hi[2] || line->kh < p->lo[1] || line->kh >= p->hi[1])
        return NULL;
    if (p->lo[0] >= p->hi[0]) return NULL;
    return u->data +
           (p->corner + (size_t) line->c * u->nb_channel + (size_t) (line->kd * u->dilation[2]) * u->nb[2] +
            (size_t) (line->kh * u->dilation[1]) * u->nb[1] +
            (size_t) (p->lo[0] * u->dilation[0]) * u->nb[0]);
}

#endif
