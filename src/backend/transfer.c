// SPDX-License-Identifier: MIT
// Contents of tensors: reading, writing and copying, blocking and queued, whole pieces and rows of pieces.
//
// Everything is checked here, once, so that a back end's functions see only ranges inside a tensor with
// memory. A single piece is a row of one: the four blocking and the four queued functions share the same
// check.
#include "backend/transfer.h"

#include "backend/iface.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "core/shape.h"

// n pieces of `size` bytes, `stride` apart in the tensor.
struct pieces {
    size_t offset;
    size_t size;
    size_t n;
    size_t stride;
};

static bool nothing_to_do(struct pieces p) {
    return p.size == 0 || p.n == 0;
}

static bool inside(const struct ggml_tensor * t, struct pieces p) {
    size_t end;
    const bool fits = tn_size_mul(p.n - 1, p.stride, &end) && tn_size_add(end, p.offset, &end) &&
                      tn_size_add(end, p.size, &end) && end <= ggml_nbytes(t);
    if (fits) return true;
    char text[TN_SHAPE_TENSOR_TEXT];
    return tn_refuse("%zu x %zu bytes at offset %zu, %zu apart, end beyond %s of %zu bytes", p.n, p.size,
                     p.offset, p.stride, tn_shape_tensor_text(text, t), ggml_nbytes(t));
}

static bool in_memory(const struct ggml_tensor * t) {
    if (!tn_iface_buffer_of(t)) return tn_refuse("'%s' is in no buffer", t->name);
    return t->data || ggml_nbytes(t) == 0 || tn_refuse("'%s' has no memory", t->name);
}

// Some memory takes data and does not give it back, repacked weights for one; empty buffers have no
// functions.
static bool writable(const struct ggml_tensor * t) {
    ggml_backend_buffer_t buffer = tn_iface_buffer_of(t);
    return buffer->iface.set_tensor ||
           tn_refuse("'%s': %s memory cannot be written", t->name, ggml_backend_buffer_name(buffer));
}

static bool readable(const struct ggml_tensor * t) {
    ggml_backend_buffer_t buffer = tn_iface_buffer_of(t);
    return buffer->iface.get_tensor ||
           tn_refuse("'%s': %s memory cannot be read back", t->name, ggml_backend_buffer_name(buffer));
}

static bool allow(const char * function, bool ok) {
    return ok || tn_iface_refuse(function, "%s", tn_error_text());
}

// false also where there is nothing to do. `data` is the caller's memory, a non-NULL one where it has none.
static bool check(const char * function, const struct ggml_tensor * t, const void * data, struct pieces p) {
    if (nothing_to_do(p) || !tn_iface_check_tensor(function, t)) return false;
    if (!data) return tn_iface_refuse(function, "the memory for '%s' is NULL", t->name);
    return allow(function, in_memory(t) && inside(t, p));
}

// ---- blocking -------------------------------------------------------------------------------------------

void ggml_backend_tensor_set_2d(struct ggml_tensor * tensor, const void * data, size_t offset, size_t size,
                                size_t n_copies, size_t stride_tensor, size_t stride_data) {
    const struct pieces p = { offset, size, n_copies, stride_tensor };
    if (!check(__func__, tensor, data, p) || !allow(__func__, writable(tensor))) return;
    ggml_backend_buffer_t buffer = tn_iface_buffer_of(tensor);
    if (n_copies > 1 && buffer->iface.set_tensor_2d) {
        buffer->iface.set_tensor_2d(buffer, tensor, data, offset, size, n_copies, stride_tensor, stride_data);
        return;
    }
    for (size_t i = 0; i < n_copies; i++) {
        const char * from = (const char *) data + i * stride_data;
        buffer->iface.set_tensor(buffer, tensor, from, offset + i * stride_tensor, size);
    }
}

void ggml_backend_tensor_get_2d(const struct ggml_tensor * tensor, void * data, size_t offset, size_t size,
                                size_t n_copies, size_t stride_tensor, size_t stride_data) {
    const struct pieces p = { offset, size, n_copies, stride_tensor };
    if (!check(__func__, tensor, data, p) || !allow(__func__, readable(tensor))) return;
    ggml_backend_buffer_t buffer = tn_iface_buffer_of(tensor);
    if (n_copies > 1 && buffer->iface.get_tensor_2d) {
        buffer->iface.get_tensor_2d(buffer, tensor, data, offset, size, n_copies, stride_tensor, stride_data);
        return;
    }
    for (size_t i = 0; i < n_copies; i++) {
        char * to = (char *) data + i * stride_data;
        buffer->iface.get_tensor(buffer, tensor, to, offset + i * stride_tensor, size);
    }
}

void ggml_backend_tensor_set(struct ggml_tensor * tensor, const void * data, size_t offset, size_t size) {
    const struct pieces p = { offset, size, 1, 0 };
    if (!check(__func__, tensor, data, p) || !allow(__func__, writable(tensor))) return;
    ggml_backend_buffer_t buffer = tn_iface_buffer_of(tensor);
    buffer->iface.set_tensor(buffer, tensor, data, offset, size);
}

void ggml_backend_tensor_get(const struct ggml_tensor * tensor, void * data, size_t offset, size_t size) {
    const struct pieces p = { offset, size, 1, 0 };
    if (!check(__func__, tensor, data, p) || !allow(__func__, readable(tensor))) return;
    ggml_backend_buffer_t buffer = tn_iface_buffer_of(tensor);
    buffer->iface.get_tensor(buffer, tensor, data, offset, size);
}

void ggml_backend_tensor_memset(struct ggml_tensor * tensor, uint8_t value, size_t offset, size_t size) {
    const struct pieces p = { offset, size, 1, 0 };
    if (!check(__func__, tensor, "", p)) return;
    ggml_backend_buffer_t buffer = tn_iface_buffer_of(tensor);
    if (buffer->iface.memset_tensor) {
        buffer->iface.memset_tensor(buffer, tensor, value, offset, size);
    } else {
        tn_iface_refuse(__func__, "%s memory cannot be filled", ggml_backend_buffer_name(buffer));
    }
}

// ---- queued ---------------------------------------------------------------------------------------------

// A back end is asked only for memory that it can reach; all other transfers wait for it and block.
static bool reaches(ggml_backend_t backend, const struct ggml_tensor * t) {
    return ggml_backend_supports_buft(backend, ggml_backend_buffer_get_type(tn_iface_buffer_of(t)));
}

static bool check_queued(const char * function, ggml_backend_t backend, const struct ggml_tensor * t,
                         const void * data, struct pieces p) {
    if (!backend) return tn_iface_refuse(function, "the back end is NULL");
    return check(function, t, data, p);
}

void ggml_backend_tensor_set_async(ggml_backend_t backend, struct ggml_tensor * tensor, const void * data,
                                   size_t offset, size_t size) {
    const struct pieces p = { offset, size, 1, 0 };
    if (!check_queued(__func__, backend, tensor, data, p)) return;
    if (backend->iface.set_tensor_async && reaches(backend, tensor)) {
        backend->iface.set_tensor_async(backend, tensor, data, offset, size);
        return;
    }
    ggml_backend_synchronize(backend);
    ggml_backend_tensor_set(tensor, data, offset, size);
}

void ggml_backend_tensor_get_async(ggml_backend_t backend, const struct ggml_tensor * tensor, void * data,
                                   size_t offset, size_t size) {
    const struct pieces p = { offset, size, 1, 0 };
    if (!check_queued(__func__, backend, tensor, data, p)) return;
    if (backend->iface.get_tensor_async && reaches(backend, tensor)) {
        backend->iface.get_tensor_async(backend, tensor, data, offset, size);
        return;
    }
    ggml_backend_synchronize(backend);
    ggml_backend_tensor_get(tensor, data, offset, size);
}

void ggml_backend_tensor_set_2d_async(ggml_backend_t backend, struct ggml_tensor * tensor, const void * data,
                                      size_t offset, size_t size, size_t n_copies, size_t stride_tensor,
                                      size_t stride_data) {
    const struct pieces p = { offset, size, n_copies, stride_tensor };
    if (!check_queued(__func__, backend, tensor, data, p)) return;
    if (backend->iface.set_tensor_2d_async && reaches(backend, tensor)) {
        backend->iface.set_tensor_2d_async(backend, tensor, data, offset, size, n_copies, stride_tensor,
                                           stride_data);
        return;
    }
    ggml_backend_synchronize(backend);
    ggml_backend_tensor_set_2d(tensor, data, offset, size, n_copies, stride_tensor, stride_data);
}

void ggml_backend_tensor_get_2d_async(ggml_backend_t backend, const struct ggml_tensor * tensor, void * data,
                                      size_t offset, size_t size, size_t n_copies, size_t stride_tensor,
                                      size_t stride_data) {
    const struct pieces p = { offset, size, n_copies, stride_tensor };
    if (!check_queued(__func__, backend, tensor, data, p)) return;
    if (backend->iface.get_tensor_2d_async && reaches(backend, tensor)) {
        backend->iface.get_tensor_2d_async(backend, tensor, data, offset, size, n_copies, stride_tensor,
                                           stride_data);
        return;
    }
    ggml_backend_synchronize(backend);
    ggml_backend_tensor_get_2d(tensor, data, offset, size, n_copies, stride_tensor, stride_data);
}

// ---- from tensor to tensor ------------------------------------------------------------------------------

// Through host memory, in pieces: two devices that do not know each other.
enum { BOUNCE_SIZE = 4 << 20 };

static bool copy_through_host(const struct ggml_tensor * src, struct ggml_tensor * dst) {
    if (!readable(src) || !writable(dst)) return false;
    const size_t bytes = ggml_nbytes(src), piece = tn_min_size(bytes, BOUNCE_SIZE);
    void * bounce = tn_mem_alloc(piece, TN_MEM_WORK);
    if (!bounce) return false;
    for (size_t at = 0; at < bytes; at += piece) {
        const size_t n = tn_min_size(piece, bytes - at);
        ggml_backend_tensor_get(src, bounce, at, n);
        ggml_backend_tensor_set(dst, bounce, at, n);
    }
    tn_mem_free(bounce);
    return true;
}

bool ggml_backend_buffer_copy_tensor(const struct ggml_tensor * src, struct ggml_tensor * dst) {
    if (!tn_iface_check_tensor(__func__, src) || !tn_iface_check_tensor(__func__, dst)) return false;
    ggml_backend_buffer_t buffer = tn_iface_buffer_of(dst);
    return buffer && buffer->iface.cpy_tensor && buffer->iface.cpy_tensor(buffer, src, dst);
}

static bool same_layout(const struct ggml_tensor * a, const struct ggml_tensor * b) {
    if (a->type == b->type && tn_shape_same(a, b) && tn_shape_same_strides(a, b)) return true;
    char text_a[TN_SHAPE_TENSOR_TEXT], text_b[TN_SHAPE_TENSOR_TEXT];
    return tn_refuse("%s and %s differ in type, shape or strides", tn_shape_tensor_text(text_a, a),
                     tn_shape_tensor_text(text_b, b));
}

static bool check_copy(const char * function, const struct ggml_tensor * src,
                       const struct ggml_tensor * dst) {
    if (!tn_iface_check_tensor(function, src) || !tn_iface_check_tensor(function, dst)) return false;
    return allow(function, same_layout(src, dst) && in_memory(src) && in_memory(dst));
}

static bool nothing_to_copy(const struct ggml_tensor * src, const struct ggml_tensor * dst) {
    return src == dst || ggml_nbytes(src) == 0;
}

bool tn_transfer_copy(const char * function, const struct ggml_tensor * src, struct ggml_tensor * dst) {
    if (!check_copy(function, src, dst)) return false;
    if (nothing_to_copy(src, dst)) return true;
    if (ggml_backend_buffer_is_host(tn_iface_buffer_of(src))) {
        if (!allow(function, writable(dst))) return false;
        ggml_backend_tensor_set(dst, src->data, 0, ggml_nbytes(src));
    } else if (ggml_backend_buffer_is_host(tn_iface_buffer_of(dst))) {
        if (!allow(function, readable(src))) return false;
        ggml_backend_tensor_get(src, dst->data, 0, ggml_nbytes(src));
    } else if (!ggml_backend_buffer_copy_tensor(src, dst) && !copy_through_host(src, dst)) {
        return tn_iface_refuse(function, "'%s' is not copied: %s", src->name, tn_error_text());
    }
    return true;
}

void ggml_backend_tensor_copy(const struct ggml_tensor * src, struct ggml_tensor * dst) {
    tn_transfer_copy(__func__, src, dst);
}

void ggml_backend_tensor_copy_async(ggml_backend_t backend_src, ggml_backend_t backend_dst,
                                    const struct ggml_tensor * src, struct ggml_tensor * dst) {
    if (!backend_src || !backend_dst) {
        tn_iface_refuse(__func__, "a back end is NULL");
        return;
    }
    if (!check_copy(__func__, src, dst) || nothing_to_copy(src, dst)) return;
    if (backend_dst->iface.cpy_tensor_async &&
        backend_dst->iface.cpy_tensor_async(backend_src, backend_dst, src, dst)) {
        return;
    }
    ggml_backend_synchronize(backend_src);
    ggml_backend_synchronize(backend_dst);
    ggml_backend_tensor_copy(src, dst);
}
