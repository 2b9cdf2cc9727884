// SPDX-License-Identifier: MIT
// Buffer types and buffers. Memory of a device has addresses of its own, which are reserved but may not be
// touched, while its bytes are elsewhere. Pinned host memory has ordinary addresses, and so has memory of the
// program that a device was given.
//
// What works on buffers blocks and is the program's own operation: it does not wait for queued work.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake/fake_int.h"

static struct fake_device * owner_of(ggml_backend_buffer_type_t buft) {
    return buft->context;
}

static uintptr_t offset_in(const struct fake_memory * m, const struct ggml_tensor * t, size_t offset) {
    return (uintptr_t) t->data + offset - m->base;
}

// ---- life -----------------------------------------------------------------------------------------------

// Addresses with a page behind them, so that no two buffers touch.
static size_t reserved_size(size_t size) {
    const size_t page = (size_t) sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page + page;
}

static void release(struct fake_memory * m) {
    if (m->base != (uintptr_t) m->bytes) munmap((void *) m->base, reserved_size(m->size));
    if (!m->borrowed) free(m->bytes);
    fake_history_free(&m->history);
    free(m);
}

static void unlink_memory(struct fake_memory * m) {
    struct fake_memory ** at = &m->owner->world->memories;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
}

static void buffer_free(ggml_backend_buffer_t buffer) {
    struct fake_memory * m = buffer->context;
    struct fake_device * d = m->owner;
    const int faults = fake_world_faults(d->world);
    const struct fake_stamp stamp = fake_host_stamp(d->world, "freeing a buffer of %s", d->name);
    fake_touch(d->world, &stamp, m->base, m->size, true);
    if (fake_world_faults(d->world) > faults) fake_queue_finish(d->world); // it is in use: let that end first
    d->counts.buffers_freed++;
    d->counts.bytes -= m->size;
    d->world->live--;
    unlink_memory(m);
    release(m);
}

static struct fake_memory * memory_new(size_t size, bool has_addresses) {
    struct fake_memory * m = calloc(1, sizeof(*m));
    void *bytes = NULL, *base = MAP_FAILED;
    if (!m || posix_memalign(&bytes, 4096, size) != 0) {
        free(m);
        return NULL;
    }
    if (has_addresses)
        base = mmap(NULL, reserved_size(size), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (has_addresses && base == MAP_FAILED) {
        free(bytes);
        free(m);
        return NULL;
    }
    memset(bytes, 0xa5, size);
    m->size = size;
    m->bytes = bytes;
    m->base = has_addresses ? (uintptr_t) base : (uintptr_t) bytes;
    return m;
}

static void * buffer_base(ggml_backend_buffer_t buffer) {
    return (void *) ((struct fake_memory *) buffer->context)->base;
}

static enum ggml_status buffer_init_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor * t) {
    struct fake_device * d = ((struct fake_memory *) buffer->context)->owner;
    (void) t;
    d->counts.tensors++;
    return fake_turn(&d->orders.init_tensor) ? GGML_STATUS_ALLOC_FAILED : GGML_STATUS_SUCCESS;
}

static void buffer_reset(ggml_backend_buffer_t buffer) {
    ((struct fake_memory *) buffer->context)->owner->counts.resets++;
}

// ---- contents -------------------------------------------------------------------------------------------

static void buffer_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    struct fake_memory * m = buffer->context;
    const struct fake_stamp stamp =
        fake_host_stamp(m->owner->world, "clearing a buffer of %s", m->owner->name);
    m->owner->counts.clears++;
    fake_touch(m->owner->world, &stamp, m->base, m->size, true);
    if (!m->owner->orders.lost) memset(m->bytes, value, m->size);
}

static void buffer_memset(ggml_backend_buffer_t buffer, struct ggml_tensor * t, uint8_t value, size_t offset,
                          size_t size) {
    struct fake_memory * m = buffer->context;
    const struct fake_stamp stamp = fake_host_stamp(m->owner->world, "memset of '%s'", t->name);
    m->owner->counts.memsets++;
    fake_touch(m->owner->world, &stamp, (uintptr_t) t->data + offset, size, true);
    if (!m->owner->orders.lost) memset(m->bytes + offset_in(m, t, offset), value, size);
}

static void buffer_set_2d(ggml_backend_buffer_t buffer, struct ggml_tensor * t, const void * data,
                          size_t offset, size_t size, size_t n, size_t stride_tensor, size_t stride_data) {
    struct fake_memory * m = buffer->context;
    const struct fake_stamp stamp = fake_host_stamp(m->owner->world, "setting '%s'", t->name);
    m->owner->counts.sets++;
    for (size_t i = 0; i < n; i++) {
        const size_t at = offset + i * stride_tensor;
        const char * from = (const char *) data + i * stride_data;
        fake_touch(m->owner->world, &stamp, (uintptr_t) from, size, false);
        fake_touch(m->owner->world, &stamp, (uintptr_t) t->data + at, size, true);
        if (!m->owner->orders.lost) memmove(m->bytes + offset_in(m, t, at), from, size);
    }
}

static void buffer_get_2d(ggml_backend_buffer_t buffer, const struct ggml_tensor * t, void * data,
                          size_t offset, size_t size, size_t n, size_t stride_tensor, size_t stride_data) {
    struct fake_memory * m = buffer->context;
    const struct fake_stamp stamp = fake_host_stamp(m->owner->world, "getting '%s'", t->name);
    m->owner->counts.gets++;
    for (size_t i = 0; i < n; i++) {
        const size_t at = offset + i * stride_tensor;
        char * to = (char *) data + i * stride_data;
        fake_touch(m->owner->world, &stamp, (uintptr_t) t->data + at, size, false);
        fake_touch(m->owner->world, &stamp, (uintptr_t) to, size, true);
        if (!m->owner->orders.lost) memmove(to, m->bytes + offset_in(m, t, at), size);
    }
}

static void buffer_set(ggml_backend_buffer_t buffer, struct ggml_tensor * t, const void * data, size_t offset,
                       size_t size) {
    buffer_set_2d(buffer, t, data, offset, size, 1, 0, 0);
}

static void buffer_get(ggml_backend_buffer_t buffer, const struct ggml_tensor * t, void * data, size_t offset,
                       size_t size) {
    buffer_get_2d(buffer, t, data, offset, size, 1, 0, 0);
}

static bool buffer_copy(ggml_backend_buffer_t buffer, const struct ggml_tensor * src,
                        struct ggml_tensor * dst) {
    struct fake_memory * m = buffer->context;
    struct fake_device * d = m->owner;
    if (!d->options.copies || d->orders.lost || fake_turn(&d->orders.copy)) return false;
    if (!fake_memory_of(src) && !fake_is_host(src)) return false;
    const struct fake_stamp stamp = fake_host_stamp(d->world, "copying '%s' to '%s'", src->name, dst->name);
    d->counts.copies++;
    fake_touch(d->world, &stamp, (uintptr_t) src->data, ggml_nbytes(src), false);
    fake_touch(d->world, &stamp, (uintptr_t) dst->data, ggml_nbytes(dst), true);
    memmove(fake_bytes(dst), fake_bytes(src), ggml_nbytes(src));
    return true;
}

struct fake_memory * fake_memory_of(const struct ggml_tensor * tensor) {
    ggml_backend_buffer_t buffer = tensor->view_src ? tensor->view_src->buffer : tensor->buffer;
    return buffer && buffer->iface.free_buffer == buffer_free ? buffer->context : NULL;
}

bool fake_is_host(const struct ggml_tensor * tensor) {
    return ggml_backend_buffer_is_host(tensor->view_src ? tensor->view_src->buffer : tensor->buffer);
}

void * fake_bytes(const struct ggml_tensor * tensor) {
    const struct fake_memory * m = fake_memory_of(tensor);
    return m ? m->bytes + offset_in(m, tensor, 0) : tensor->data;
}

// ---- types ----------------------------------------------------------------------------------------------

static ggml_backend_buffer_t add_buffer(struct fake_device * d, ggml_backend_buffer_type_t buft,
                                        struct fake_memory * m, size_t size) {
    const struct ggml_backend_buffer_i iface = {
        .free_buffer = buffer_free,
        .get_base = buffer_base,
        .init_tensor = buffer_init_tensor,
        .memset_tensor = buffer_memset,
        .set_tensor = buffer_set,
        .get_tensor = buffer_get,
        .set_tensor_2d = d->options.transfers_2d ? buffer_set_2d : NULL,
        .get_tensor_2d = d->options.transfers_2d ? buffer_get_2d : NULL,
        .cpy_tensor = d->options.copies ? buffer_copy : NULL,
        .clear = buffer_clear,
        .reset = buffer_reset,
    };
    ggml_backend_buffer_t buffer = m ? ggml_backend_buffer_init(buft, iface, m, size) : NULL;
    if (!buffer) {
        if (m) release(m);
        return NULL;
    }
    m->owner = d;
    m->next = d->world->memories;
    d->world->memories = m;
    d->world->live++;
    d->counts.buffers++;
    d->counts.bytes += m->size;
    if (d->counts.bytes > d->counts.peak_bytes) d->counts.peak_bytes = d->counts.bytes;
    return buffer;
}

static ggml_backend_buffer_t type_alloc(ggml_backend_buffer_type_t buft, size_t size) {
    struct fake_device * d = owner_of(buft);
    if (fake_turn(&d->orders.alloc) || d->orders.always_alloc || d->orders.lost) return NULL;
    if (size > d->options.max_size || size > (size_t) 1 << 31) return NULL;
    const bool has_addresses = buft == &d->type && !d->options.host_memory;
    return add_buffer(d, buft, memory_new(size, has_addresses), size - d->orders.lies_about_size);
}

ggml_backend_buffer_t fake_memory_wrap(struct fake_device * device, void * ptr, size_t size) {
    struct fake_memory * m = calloc(1, sizeof(*m));
    if (!m) return NULL;
    m->base = (uintptr_t) ptr;
    m->bytes = ptr;
    m->size = size;
    m->borrowed = true;
    return add_buffer(device, &device->mapped_type, m, size);
}

static const char * type_name(ggml_backend_buffer_type_t buft) {
    return owner_of(buft)->name;
}

static const char * host_type_name(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return "Fake_Host";
}

static const char * mapped_type_name(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return "Fake_Mapped";
}

static size_t type_alignment(ggml_backend_buffer_type_t buft) {
    return owner_of(buft)->options.alignment;
}

static size_t type_max_size(ggml_backend_buffer_type_t buft) {
    return owner_of(buft)->options.max_size;
}

static size_t type_alloc_size(ggml_backend_buffer_type_t buft, const struct ggml_tensor * t) {
    const bool expands = ggml_op_alloc_size_may_expand(t->op);
    return ggml_nbytes(t) + (expands ? owner_of(buft)->options.scratch : 0);
}

static bool type_is_host(ggml_backend_buffer_type_t buft) {
    const struct fake_device * d = owner_of(buft);
    return buft == &d->host_type || (buft == &d->type && d->options.host_memory);
}

void fake_memory_init_types(struct fake_device * device) {
    const struct ggml_backend_buffer_type_i iface = {
        .get_name = type_name,
        .alloc_buffer = type_alloc,
        .get_alignment = type_alignment,
        .get_max_size = type_max_size,
        .get_alloc_size = type_alloc_size,
        .is_host = type_is_host,
    };
    device->type = (struct ggml_backend_buffer_type){ iface, &device->device, device };
    device->host_type = device->mapped_type = device->type;
    device->host_type.iface.get_name = host_type_name;
    device->mapped_type.iface.get_name = mapped_type_name;
}
