// SPDX-License-Identifier: MIT
// Geometry of sliding windows.
#include "cpu/unfold.h"

#include "base/bits.h"
#include "core/params.h"

enum { CHANNELS_3D = 9 };

struct tn_unfold tn_unfold_of(const struct ggml_tensor * node, int words, int dims) {
    const struct ggml_tensor * kernel = node->src[0];
    const struct ggml_tensor * data = node->src[1];
    struct tn_unfold u = { .data = data->data };
    for (int d = 0; d < 3; d++) {
        const bool counts = d < dims;
        u.in[d] = counts ? data->ne[d] : 1;
        u.kernel[d] = counts ? kernel->ne[d] : 1;
        u.stride[d] = counts ? tn_param_i32(node, d) : 1;
        u.pad[d] = counts ? tn_param_i32(node, words + d) : 0;
        u.dilation[d] = counts ? tn_param_i32(node, 2 * words + d) : 1;
        u.nb[d] = counts ? data->nb[d] : 0;
    }
    u.channels = dims < 3 ? data->ne[dims] : tn_param_i32(node, CHANNELS_3D);
    u.nb_channel = data->nb[dims];
    u.batch = dims < 3 ? data->ne[dims + 1] : data->ne[3] / tn_max_i64(u.channels, 1);
    u.nb_batch = dims < 3 ? data->nb[dims + 1] : data->nb[3] * (size_t) u.channels;
    return u;
}

int64_t tn_unfold_size(const struct tn_unfold * u) {
    return u->kernel[0] * u->kernel[1] * u->kernel[2] * u->channels;
}

struct tn_unfold_place tn_unfold_at(const struct tn_unfold * u, const int64_t out[3], int64_t batch) {
    struct tn_unfold_place p = { .corner = (size_t) batch * u->nb_batch };
    for (int d = 0; d < 3; d++) {
        const int64_t first = out[d] * u->stride[d] - u->pad[d];
        const int64_t room = u->in[d] - first; // up to the end of the data
        p.lo[d] = first < 0 ? tn_min_i64(tn_ceil_div(-first, u->dilation[d]), u->kernel[d]) : 0;
        p.hi[d] = room > 0 ? tn_min_i64(tn_ceil_div(room, u->dilation[d]), u->kernel[d]) : 0;
        p.corner += (size_t) first * u->nb[d];
    }
    return p;
}
