// SPDX-License-Identifier: MIT
// Meta buffers: one buffer a device, and what lies in them.
#include <string.h>

#include "backend/meta/meta_int.h"
#include "base/bits.h"
#include "base/error.h"

// Nobody looks there: no program has memory at such an address.
static void * const fake_base = (void *) ((uintptr_t) 1 << 5 * sizeof(void *));

static void meta_free(ggml_backend_buffer_t buffer);

struct tn_meta_buffer * tn_meta_buffer_of(ggml_backend_buffer_t buffer) {
    return buffer && buffer->iface.free_buffer == meta_free ? buffer->context : NULL;
}

static void release(struct tn_meta_buffer * b) {
    tn_slices_clear(b);
    tn_ptrset_free(&b->index);
    TN_ARRAY_FREE(&b->list);
    for (int j = 0; j < b->meta->n; j++) {
        ggml_backend_buffer_free(b->parts[j]);
        ggml_free(b->contexts[j]);
    }
    tn_mem_free(b);
}

static void meta_free(ggml_backend_buffer_t buffer) {
    release(buffer->context);
}

static void * meta_base(ggml_backend_buffer_t buffer) {
    (void) buffer;
    return fake_base;
}

static enum ggml_status meta_init_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor * t) {
    tn_slices_forget_views(buffer->context);
    return tn_slices_add(buffer->context, buffer, t) ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
}

// ---- contents ---------------------------------------------------------------------------------------------

static struct tn_slices * slices_of(ggml_backend_buffer_t buffer, const struct ggml_tensor * t) {
    struct tn_meta_buffer * b = buffer->context;
    return tn_slices_find(b->meta, t);
}

static int count_of(ggml_backend_buffer_t buffer) {
    return ((struct tn_meta_buffer *) buffer->context)->meta->n;
}

static void meta_memset(ggml_backend_buffer_t buffer, struct ggml_tensor * t, uint8_t value, size_t offset,
                        size_t size) {
    const struct tn_slices * s = slices_of(buffer, t);
    if (!s || !tn_scatter_fill(s, count_of(buffer), value, offset, size))
        tn_iface_refuse("memset_tensor", "%s", tn_error_text());
}

static void meta_set(ggml_backend_buffer_t buffer, struct ggml_tensor * t, const void * data, size_t offset,
                     size_t size) {
    const struct tn_slices * s = slices_of(buffer, t);
    if (!s || !tn_scatter_set(s, count_of(buffer), NULL, data, offset, size))
        tn_iface_refuse("set_tensor", "%s", tn_error_text());
}

static void meta_get(ggml_backend_buffer_t buffer, const struct ggml_tensor * t, void * data, size_t offset,
                     size_t size) {
    const struct tn_slices * s = slices_of(buffer, t);
    if (!s || !tn_scatter_get(s, count_of(buffer), NULL, data, offset, size))
        tn_iface_refuse("get_tensor", "%s", tn_error_text());
}

static void meta_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    struct tn_meta_buffer * b = buffer->context;
    for (int j = 0; j < b->meta->n; j++)
        ggml_backend_buffer_clear(b->parts[j], value);
}

static void meta_reset(ggml_backend_buffer_t buffer) {
    struct tn_meta_buffer * b = buffer->context;
    if (b->packed) return; // its tensors stay where they are
    tn_slices_clear(b);
    for (int j = 0; j < b->meta->n; j++)
        ggml_backend_buffer_reset(b->parts[j]);
}

static const struct ggml_backend_buffer_i meta_iface = {
    .free_buffer = meta_free,
    .get_base = meta_base,
    .init_tensor = meta_init_tensor,
    .memset_tensor = meta_memset,
    .set_tensor = meta_set,
    .get_tensor = meta_get,
    .clear = meta_clear,
    .reset = meta_reset,
};

// ---- allocation -------------------------------------------------------------------------------------------

static struct tn_meta_buffer * new_buffer(ggml_backend_buffer_type_t buft) {
    struct tn_meta_buffer * b = tn_mem_calloc(1, sizeof(*b), TN_MEM_OBJECT);
    if (b) b->meta = buft->context;
    return b;
}

// Its size is that of the largest part. Takes over b.
static ggml_backend_buffer_t as_buffer(ggml_backend_buffer_type_t buft, struct tn_meta_buffer * b) {
    size_t size = 0;
    for (int j = 0; j < b->meta->n; j++)
        size = tn_max_size(size, ggml_backend_buffer_get_size(b->parts[j]));
    ggml_backend_buffer_t buffer = ggml_backend_buffer_init(buft, meta_iface, b, size);
    if (!buffer) release(b);
    return buffer;
}

// Every device gets the full size: slices are where the whole tensor would be.
ggml_backend_buffer_t tn_meta_buffer_alloc(ggml_backend_buffer_type_t buft, size_t size) {
    struct tn_meta_buffer * b = new_buffer(buft);
    for (int j = 0; b && j < b->meta->n; j++) {
        b->parts[j] = ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(b->meta->devices[j]), size);
        if (b->parts[j]) continue;
        release(b);
        return NULL;
    }
    return b ? as_buffer(buft, b) : NULL;
}

// The tensors of the context now lie in the buffer; views of theirs too.
static bool settle(ggml_backend_buffer_t buffer, struct ggml_context * ctx) {
    struct tn_meta_buffer * b = buffer->context;
    for (size_t i = 0; i < b->list.count; i++) {
        struct tn_slices * s = b->list.items[i];
        s->made = true;
        s->tensor->buffer = buffer;
        s->tensor->data = fake_base;
    }
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        const bool is_view = t->view_src && !t->buffer && t->view_src->buffer;
        if (is_view && ggml_backend_view_init(t) != GGML_STATUS_SUCCESS) return false;
    }
    return true;
}

static void unsettle(ggml_backend_buffer_t buffer, struct ggml_context * ctx) {
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        if (t->buffer != buffer) continue;
        t->buffer = NULL;
        t->data = NULL;
    }
    ggml_backend_buffer_free(buffer);
}

static ggml_backend_buffer_t pack(struct ggml_context * ctx, ggml_backend_buffer_type_t buft) {
    struct tn_meta_buffer * b = new_buffer(buft);
    if (!b) return NULL;
    b->packed = true;
    if (!tn_pack_tensors(b, ctx)) {
        release(b);
        return NULL;
    }
    ggml_backend_buffer_t buffer = as_buffer(buft, b);
    if (!buffer || settle(buffer, ctx)) return buffer;
    unsettle(buffer, ctx);
    return NULL;
}

struct ggml_backend_buffer * ggml_backend_meta_alloc_ctx_tensors_from_buft(struct ggml_context * ctx,
                                                                           ggml_backend_buffer_type_t buft) {
    if (!ggml_backend_buft_is_meta(buft)) {
        tn_iface_refuse(__func__, "%s memory is not that of a meta device", ggml_backend_buft_name(buft));
        return NULL;
    }
    const size_t total = ggml_backend_alloc_ctx_tensors_from_buft_size(ctx, buft);
    if (total == 0 || total == SIZE_MAX) return NULL;
    ggml_backend_buffer_t buffer = pack(ctx, buft);
    if (!buffer) tn_iface_refuse(__func__, "%s", tn_error_text());
    return buffer;
}

// ---- questions --------------------------------------------------------------------------------------------

bool ggml_backend_buffer_is_meta(ggml_backend_buffer_t buf) {
    return tn_meta_buffer_of(buf);
}

void ggml_backend_meta_buffer_set_usage(ggml_backend_buffer_t buffer, enum ggml_backend_buffer_usage usage) {
    struct tn_meta_buffer * b = tn_meta_buffer_of(buffer);
    if (!b) {
        tn_iface_refuse(__func__, "the buffer is not that of a meta device");
        return;
    }
    for (int j = 0; j < b->meta->n; j++)
        ggml_backend_buffer_set_usage(b->parts[j], usage);
}
