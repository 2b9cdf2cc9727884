// SPDX-License-Identifier: MIT
// Regions that ACC and SET write into.
#include "core/region.h"

#include <inttypes.h>

#include "base/error.h"

// A stride over a dimension of size 1 is never taken: one that does not fit is stored as the largest that
// does.
static void write_word(struct tn_build * b, int word, size_t value, bool taken) {
    if (value <= INT32_MAX) {
        tn_param_set_i32(&b->node, word, (int32_t) value);
    } else if (!taken) {
        tn_param_set_i32(&b->node, word, INT32_MAX);
    } else {
        static const char * const names[] = { "nb1", "nb2", "nb3", "the offset" };
        tn_build_refuse(b, "%s of %zu bytes must be below 2^31", names[word], value);
    }
}

void tn_region_write(struct tn_build * b, const struct tn_region * r, bool in_place) {
    if (b->refused) return;
    for (int i = 0; i < 3; i++)
        write_word(b, i, r->nb[i], b->node.src[1]->ne[i + 1] > 1);
    write_word(b, 3, r->offset, true);
    tn_param_set_i32(&b->node, 4, in_place);
    if (in_place) tn_build_in_place(b, b->node.src[0]);
}

static struct tn_region read(const struct ggml_tensor * node) {
    struct tn_region r = { .offset = (size_t) tn_param_i32(node, 3) };
    for (int i = 0; i < 3; i++)
        r.nb[i] = (size_t) tn_param_i32(node, i);
    return r;
}

// Bytes of the node: with the strides of src[0] in place, else dense.
static bool room(const struct ggml_tensor * node, size_t * bytes) {
    size_t nb[GGML_MAX_DIMS];
    if (!tn_param_i32(node, 4)) return tn_shape_strides(node->type, node->ne, nb, bytes);
    *bytes = ggml_nbytes(node->src[0]);
    return true;
}

bool tn_region_rule(const struct ggml_tensor * node) {
    const struct ggml_tensor * b = node->src[1];
    const int64_t n = ggml_nelements(node->src[0]), n_b = ggml_nelements(b);
    if (n_b > n)
        return tn_refuse("src1 has %" PRId64 " elements, it must not have more than src0, %" PRId64, n_b, n);
    const struct tn_region r = read(node);
    const size_t nb[GGML_MAX_DIMS] = { ggml_type_size(node->type), r.nb[0], r.nb[1], r.nb[2] };
    size_t extent, end, bytes;
    if (!tn_shape_extent(node->type, b->ne, nb, &extent) || !room(node, &bytes)) return false;
    if (extent == 0 || (tn_size_add(r.offset, extent, &end) && end <= bytes)) return true;
    return tn_refuse("the region of %zu bytes at offset %zu must lie inside the result of %zu bytes", extent,
                     r.offset, bytes);
}

struct ggml_tensor * tn_region_of(struct ggml_context * ctx, const struct ggml_tensor * node,
                                  struct ggml_tensor * t) {
    const struct tn_region r = read(node);
    const int64_t * ne = node->src[1]->ne;
    return ggml_view_4d(ctx, t, ne[0], ne[1], ne[2], ne[3], r.nb[0], r.nb[1], r.nb[2], r.offset);
}
