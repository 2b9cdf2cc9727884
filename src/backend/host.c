// SPDX-License-Identifier: MIT
// Plain host memory: tensors can be read and written through their data pointer.
#include "backend/host.h"

#include <string.h>

#include "backend/iface.h"
#include "base/mem.h"

enum { BUFFER_ALIGNMENT = 64 }; // a cache line

// The context of a buffer is its memory.
static void host_free(ggml_backend_buffer_t buffer) {
    tn_mem_free(buffer->context);
}

static void * host_base(ggml_backend_buffer_t buffer) {
    return buffer->context;
}

static void host_memset(ggml_backend_buffer_t buffer, struct ggml_tensor * t, uint8_t value, size_t offset,
                        size_t size) {
    (void) buffer;
    memset((char *) t->data + offset, value, size);
}

// memmove: nothing keeps a caller from handing over a piece of the tensor itself.
static void host_set(ggml_backend_buffer_t buffer, struct ggml_tensor * t, const void * data, size_t offset,
                     size_t size) {
    (void) buffer;
    memmove((char *) t->data + offset, data, size);
}

static void host_get(ggml_backend_buffer_t buffer, const struct ggml_tensor * t, void * data, size_t offset,
                     size_t size) {
    (void) buffer;
    memmove(data, (const char *) t->data + offset, size);
}

static bool host_copy(ggml_backend_buffer_t buffer, const struct ggml_tensor * src,
                      struct ggml_tensor * dst) {
    (void) buffer;
    if (!ggml_backend_buffer_is_host(tn_iface_buffer_of(src))) return false;
    memmove(dst->data, src->data, ggml_nbytes(src));
    return true;
}

static void host_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    memset(buffer->context, value, buffer->size);
}

static const struct ggml_backend_buffer_i owned_iface = {
    .free_buffer = host_free,
    .get_base = host_base,
    .memset_tensor = host_memset,
    .set_tensor = host_set,
    .get_tensor = host_get,
    .cpy_tensor = host_copy,
    .clear = host_clear,
};

static const struct ggml_backend_buffer_i borrowed_iface = {
    .get_base = host_base,
    .memset_tensor = host_memset,
    .set_tensor = host_set,
    .get_tensor = host_get,
    .cpy_tensor = host_copy,
    .clear = host_clear,
};

static const char * host_name(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return "CPU";
}

static const char * mapped_name(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return "CPU_Mapped";
}

static ggml_backend_buffer_t host_alloc(ggml_backend_buffer_type_t buft, size_t size) {
    void * memory = tn_mem_alloc_aligned(size, BUFFER_ALIGNMENT, TN_MEM_BUFFER);
    if (!memory) return NULL;
    ggml_backend_buffer_t buffer = ggml_backend_buffer_init(buft, owned_iface, memory, size);
    if (!buffer) tn_mem_free(memory);
    return buffer;
}

static size_t host_alignment(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return TN_HOST_ALIGNMENT;
}

static bool host_is_host(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return true;
}

static struct ggml_backend_buffer_type host_type = {
    .iface = {
        .get_name = host_name,
        .alloc_buffer = host_alloc,
        .get_alignment = host_alignment,
        .is_host = host_is_host,
    },
};

// Of buffers from a pointer. New ones of this type are ordinary memory.
static struct ggml_backend_buffer_type mapped_type = {
    .iface = {
        .get_name = mapped_name,
        .alloc_buffer = host_alloc,
        .get_alignment = host_alignment,
        .is_host = host_is_host,
    },
};

ggml_backend_buffer_type_t tn_host_buffer_type(void) {
    return &host_type;
}

ggml_backend_buffer_type_t ggml_backend_cpu_buffer_type(void) {
    return &host_type;
}

ggml_backend_buffer_t ggml_backend_cpu_buffer_from_ptr(void * ptr, size_t size) {
    if (!ptr || (uintptr_t) ptr % TN_HOST_ALIGNMENT != 0) {
        tn_iface_refuse(__func__, "the address %p is not aligned to %d", ptr, TN_HOST_ALIGNMENT);
        return NULL;
    }
    return ggml_backend_buffer_init(&mapped_type, borrowed_iface, ptr, size);
}
