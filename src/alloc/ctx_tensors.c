// SPDX-License-Identifier: MIT
// All tensors of a context into buffers of one type: in order of creation, as many to a buffer as its largest
// size allows.
#include <string.h>

#include "backend/iface.h"
#include "base/array.h"
#include "base/bits.h"
#include "base/error.h"
#include "core/shape.h"

// Tensors from `first` to before `end` that share a buffer of `size` bytes. Only the first span of a context
// can be empty (size 0): a later one starts with the tensor that did not fit any more.
struct span {
    struct ggml_tensor * first;
    struct ggml_tensor * end;
    size_t size;
};

static bool needs_memory(const struct ggml_tensor * t) {
    return !t->data && !t->view_src;
}

static bool measure(ggml_backend_buffer_type_t buft, const struct ggml_tensor * t, size_t * size) {
    *size = 0;
    if (!needs_memory(t)) return true;
    const size_t bytes = ggml_backend_buft_get_alloc_size(buft, t);
    if (bytes == SIZE_MAX) return false;
    if (tn_size_align(bytes, ggml_backend_buft_get_alignment(buft), size)) return true;
    return tn_refuse("'%s' of %zu bytes is too large", t->name, bytes);
}

static bool next_span(struct ggml_context * ctx, ggml_backend_buffer_type_t buft, struct span * span) {
    const size_t max_size = ggml_backend_buft_get_max_size(buft);
    span->size = 0;
    for (span->end = span->first; span->end; span->end = ggml_get_next_tensor(ctx, span->end)) {
        size_t size, sum;
        if (!measure(buft, span->end, &size)) return false;
        if (!tn_size_add(span->size, size, &sum)) return tn_refuse("the sum of the sizes overflows");
        if (span->size > 0 && size > 0 && sum > max_size) break;
        span->size = sum;
    }
    return true;
}

static bool check(const char * function, struct ggml_context * ctx, ggml_backend_buffer_type_t buft) {
    if (!ctx) return tn_iface_refuse(function, "the context is NULL");
    if (!buft) return tn_iface_refuse(function, "the buffer type is NULL");
    return ggml_get_no_alloc(ctx) || tn_iface_refuse(function, "the context was not made with no_alloc");
}

size_t ggml_backend_alloc_ctx_tensors_from_buft_size(struct ggml_context * ctx,
                                                     ggml_backend_buffer_type_t buft) {
    if (!check(__func__, ctx, buft)) return SIZE_MAX;
    size_t total = 0;
    struct span span = { .end = ggml_get_first_tensor(ctx) };
    while ((span.first = span.end)) {
        if (next_span(ctx, buft, &span) && tn_size_add(total, span.size, &total)) continue;
        tn_iface_refuse(__func__, "%s", tn_error_text());
        return SIZE_MAX;
    }
    return total;
}

// ---- allocation ------------------------------------------------------------------------------------------

struct job {
    struct ggml_context * ctx;
    ggml_backend_buffer_type_t buft;
    TN_ARRAY(ggml_backend_buffer_t) buffers;
};

static enum ggml_status place_tensor(struct ggml_tallocr * talloc, struct ggml_tensor * t) {
    if (needs_memory(t)) return ggml_tallocr_alloc(talloc, t);
    // A view whose base has memory that is in no buffer shares it already.
    const bool settled = !t->view_src || t->buffer || (t->data && !t->view_src->buffer);
    return settled ? GGML_STATUS_SUCCESS : ggml_backend_view_init(t);
}

static bool fill_span(struct job * job, const struct span * span) {
    if (!TN_ARRAY_RESERVE(&job->buffers, 1, TN_MEM_OBJECT)) return false;
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(job->buft, span->size);
    if (!buffer) {
        char text[TN_SHAPE_TENSOR_TEXT];
        return tn_refuse("%s; the first tensor there is %s", tn_error_text(),
                         tn_shape_tensor_text(text, span->first));
    }
    job->buffers.items[job->buffers.count++] = buffer;
    struct ggml_tallocr talloc = ggml_tallocr_new(buffer);
    for (struct ggml_tensor * t = span->first; t != span->end; t = ggml_get_next_tensor(job->ctx, t)) {
        if (place_tensor(&talloc, t) != GGML_STATUS_SUCCESS) return false;
    }
    return true;
}

// false also when there is nothing to allocate; then nothing was done.
static bool fill_all(struct job * job) {
    struct span span = { .end = ggml_get_first_tensor(job->ctx) };
    while ((span.first = span.end)) {
        if (!next_span(job->ctx, job->buft, &span)) return false;
        if (span.size > 0 && !fill_span(job, &span)) return false;
    }
    return job->buffers.count > 0;
}

static bool is_ours(const struct job * job, ggml_backend_buffer_t buffer) {
    for (size_t i = 0; i < job->buffers.count; i++) {
        if (job->buffers.items[i] == buffer) return true;
    }
    return false;
}

static void take_back(struct job * job) {
    for (struct ggml_tensor * t = ggml_get_first_tensor(job->ctx); t; t = ggml_get_next_tensor(job->ctx, t)) {
        if (!t->buffer || !is_ours(job, t->buffer)) continue;
        t->buffer = NULL;
        t->data = NULL;
    }
    for (size_t i = 0; i < job->buffers.count; i++)
        ggml_backend_buffer_free(job->buffers.items[i]);
}

static ggml_backend_buffer_t as_one(struct job * job) {
    if (job->buffers.count == 1) return job->buffers.items[0];
    return ggml_backend_multi_buffer_alloc_buffer(job->buffers.items, job->buffers.count);
}

struct ggml_backend_buffer * ggml_backend_alloc_ctx_tensors_from_buft(struct ggml_context * ctx,
                                                                      ggml_backend_buffer_type_t buft) {
    if (ggml_backend_buft_is_meta(buft)) return ggml_backend_meta_alloc_ctx_tensors_from_buft(ctx, buft);
    const size_t total = ggml_backend_alloc_ctx_tensors_from_buft_size(ctx, buft);
    if (total == 0 || total == SIZE_MAX) return NULL;
    struct job job = { .ctx = ctx, .buft = buft };
    ggml_backend_buffer_t buffer = fill_all(&job) ? as_one(&job) : NULL;
    if (!buffer) {
        take_back(&job);
        tn_iface_refuse(__func__, "%s", tn_error_text());
    }
    TN_ARRAY_FREE(&job.buffers);
    return buffer;
}

struct ggml_backend_buffer * ggml_backend_alloc_ctx_tensors(struct ggml_context * ctx,
                                                            ggml_backend_t backend) {
    if (backend)
        return ggml_backend_alloc_ctx_tensors_from_buft(ctx, ggml_backend_get_default_buffer_type(backend));
    tn_iface_refuse(__func__, "the back end is NULL");
    return NULL;
}
