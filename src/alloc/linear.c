// SPDX-License-Identifier: MIT
// Consecutive placement in one buffer.
#include "backend/iface.h"
#include "base/bits.h"
#include "base/error.h"
#include "core/shape.h"

struct ggml_tallocr ggml_tallocr_new(ggml_backend_buffer_t buffer) {
    if (!buffer) {
        tn_iface_refuse(__func__, "the buffer is NULL");
        return (struct ggml_tallocr){ .alignment = 1 };
    }
    const size_t alignment = ggml_backend_buffer_get_alignment(buffer);
    void * base = ggml_backend_buffer_get_base(buffer);
    return (struct ggml_tallocr){
        .buffer = buffer,
        .base = base,
        .alignment = alignment,
        .offset = tn_align_up((uintptr_t) base, alignment) - (uintptr_t) base,
    };
}

// What the tensor takes, rounded up to the alignment. false with a text: there is not so much left.
static bool fits(const struct ggml_tallocr * talloc, const struct ggml_tensor * t, size_t * size) {
    const size_t room = ggml_backend_buffer_get_size(talloc->buffer);
    const size_t left = room > talloc->offset ? room - talloc->offset : 0;
    const size_t bytes = ggml_backend_buffer_get_alloc_size(talloc->buffer, t);
    if (bytes == SIZE_MAX) return false;
    // A tensor that ends with the buffer needs no padding behind it.
    if (tn_size_align(bytes, talloc->alignment, size) && bytes <= left) return true;
    char text[TN_SHAPE_TENSOR_TEXT];
    return tn_refuse("%s of %zu bytes does not fit into the %zu bytes left of %zu of %s memory",
                     tn_shape_tensor_text(text, t), bytes, left, room,
                     ggml_backend_buffer_name(talloc->buffer));
}

enum ggml_status ggml_tallocr_alloc(struct ggml_tallocr * talloc, struct ggml_tensor * tensor) {
    size_t size;
    if (!tn_iface_check_tensor(__func__, tensor)) return GGML_STATUS_FAILED;
    if (!talloc || !talloc->buffer) {
        tn_iface_refuse(__func__, "there is no buffer for '%s'", tensor->name);
        return GGML_STATUS_FAILED;
    }
    if (!fits(talloc, tensor, &size)) {
        tn_iface_refuse(__func__, "%s", tn_error_text());
        return GGML_STATUS_ALLOC_FAILED;
    }
    void * at = talloc->base ? (char *) talloc->base + talloc->offset : NULL;
    TN_TRY(ggml_backend_tensor_alloc(talloc->buffer, tensor, at));
    talloc->offset += size;
    return GGML_STATUS_SUCCESS;
}
