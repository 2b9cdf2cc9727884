// SPDX-License-Identifier: MIT
// All tensors of a context at once: each device's slices one behind the other, so that memory is divided too.
#include <string.h>

#include "backend/meta/meta_int.h"
#include "base/error.h"

static bool needs_memory(const struct ggml_tensor * t) {
    return !t->data && !t->view_src;
}

static bool make_contexts(struct tn_meta_buffer * b, struct ggml_context * ctx) {
    size_t count = 0;
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t))
        count += needs_memory(t);
    for (int j = 0; j < b->meta->n; j++) {
        const struct ggml_init_params params = { count * ggml_tensor_overhead() + 1, NULL, true };
        b->contexts[j] = ggml_init(params);
        if (!b->contexts[j]) return false;
    }
    return true;
}

static bool slice_tensor(struct tn_meta_buffer * b, struct ggml_tensor * t) {
    struct tn_partition p;
    const int n = b->meta->n;
    struct tn_slices * s = tn_slices_enter(b, t);
    if (!s || !tn_slices_ask(b->meta, t, &p)) return false;
    s->declared = true;
    s->partition = tn_mem_alloc(tn_partition_bytes(&p, n), TN_MEM_OBJECT);
    if (!s->partition) return false;
    tn_partition_copy(s->partition, &p, n);
    for (int j = 0; j < n; j++) {
        struct ggml_tensor shape;
        if (!tn_slices_shape(&p, t, n, j, &shape)) return false;
        s->of[j] = ggml_set_name(ggml_new_tensor(b->contexts[j], t->type, GGML_MAX_DIMS, shape.ne), t->name);
        if (ggml_nelements(s->of[j]) != ggml_nelements(&shape)) {
            return tn_refuse("'%s' has no slices", t->name);
        }
        memcpy(s->of[j]->nb, shape.nb, sizeof(shape.nb));
    }
    return true;
}

// Slices without bytes only, and the device needs none.
static bool is_empty(struct ggml_context * ctx, ggml_backend_buffer_type_t buft) {
    return ggml_backend_alloc_ctx_tensors_from_buft_size(ctx, buft) == 0;
}

// Slices without bytes lie there too: views of them ask where.
static void settle_empty(struct ggml_context * ctx, ggml_backend_buffer_t part) {
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        if (!t->buffer) t->buffer = part;
    }
}

static bool fill_device(struct tn_meta_buffer * b, int j) {
    ggml_backend_buffer_type_t buft = ggml_backend_dev_buffer_type(b->meta->devices[j]);
    b->parts[j] = is_empty(b->contexts[j], buft)
                      ? ggml_backend_buft_alloc_buffer(buft, 0)
                      : ggml_backend_alloc_ctx_tensors_from_buft(b->contexts[j], buft);
    if (b->parts[j])
        settle_empty(b->contexts[j], b->parts[j]);
    else
        tn_error_prefix("device %s", ggml_backend_dev_name(b->meta->devices[j]));
    return b->parts[j];
}

bool tn_pack_tensors(struct tn_meta_buffer * b, struct ggml_context * ctx) {
    if (!make_contexts(b, ctx)) return false;
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        if (needs_memory(t) && !slice_tensor(b, t)) return false;
    }
    b->n_packed = b->list.count;
    for (int j = 0; j < b->meta->n; j++) {
        if (!fill_device(b, j)) return false;
    }
    return true;
}
