// SPDX-License-Identifier: MIT
// A device with an address space of its own: its addresses cannot be dereferenced. It can be told what it
// lacks and what fails, and counts its calls. Its memory is the calling program's, so tests can look behind
// the tables.
#ifndef TN_TESTS_FAKE_DEVICE_H
#define TN_TESTS_FAKE_DEVICE_H

#include "harness.h"

#include "ggml-backend-impl.h"

struct fake {
    // what it is like
    size_t alignment, max_size, scratch; // scratch: bytes behind each result of MUL_MAT
    bool host;                           // real addresses
    int fail_alloc, fail_init;           // the n-th from now fails; 0: none
    bool lie_about_size;                 // gives one byte less than asked for
    bool copies;                         // cpy_tensor answers true
    // what happened
    int n_alloc, n_free, n_init, n_reset, n_set, n_get, n_set_2d, n_get_2d, n_copy, n_sync, n_compute;
    int n_set_async, n_get_async, n_set_2d_async, n_get_2d_async, n_copy_async;
    int n_event_new, n_event_free, n_event_record, n_event_wait, n_event_sync;
    enum ggml_status compute_status;
    // its objects
    struct ggml_backend_reg reg;
    struct ggml_backend_device device;
    struct ggml_backend_buffer_type type;
};

#define FAKE_BASE ((uintptr_t) 0x700000000000)

struct fake_memory {
    struct fake * fake;
    uintptr_t base;
    char * bytes;
};

static inline char * fake_at(ggml_backend_buffer_t buffer, const struct ggml_tensor * t, size_t offset) {
    struct fake_memory * m = buffer->context;
    const uintptr_t at = (uintptr_t) t->data - m->base + offset;
    assert_true(at <= buffer->size);
    return m->bytes + at;
}

static inline void fake_free(ggml_backend_buffer_t buffer) {
    struct fake_memory * m = buffer->context;
    m->fake->n_free++;
    free(m->bytes);
    free(m);
}

static inline void * fake_base(ggml_backend_buffer_t buffer) {
    struct fake_memory * m = buffer->context;
    return (void *) m->base;
}

static inline enum ggml_status fake_init_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor * t) {
    struct fake * f = ((struct fake_memory *) buffer->context)->fake;
    f->n_init++;
    assert_ptr_equal(t->buffer, buffer);
    if (f->fail_init > 0 && --f->fail_init == 0) return GGML_STATUS_ALLOC_FAILED;
    return GGML_STATUS_SUCCESS;
}

static inline void fake_memset(ggml_backend_buffer_t b, struct ggml_tensor * t, uint8_t v, size_t off,
                               size_t size) {
    memset(fake_at(b, t, off), v, size);
}

static inline void fake_set(ggml_backend_buffer_t b, struct ggml_tensor * t, const void * from, size_t off,
                            size_t size) {
    ((struct fake_memory *) b->context)->fake->n_set++;
    memcpy(fake_at(b, t, off), from, size);
}

static inline void fake_get(ggml_backend_buffer_t b, const struct ggml_tensor * t, void * to, size_t off,
                            size_t size) {
    ((struct fake_memory *) b->context)->fake->n_get++;
    memcpy(to, fake_at(b, t, off), size);
}

static inline void fake_set_2d(ggml_backend_buffer_t b, struct ggml_tensor * t, const void * from, size_t off,
                               size_t size, size_t n, size_t st, size_t sd) {
    ((struct fake_memory *) b->context)->fake->n_set_2d++;
    for (size_t i = 0; i < n; i++)
        memcpy(fake_at(b, t, off + i * st), (const char *) from + i * sd, size);
}

static inline void fake_get_2d(ggml_backend_buffer_t b, const struct ggml_tensor * t, void * to, size_t off,
                               size_t size, size_t n, size_t st, size_t sd) {
    ((struct fake_memory *) b->context)->fake->n_get_2d++;
    for (size_t i = 0; i < n; i++)
        memcpy((char *) to + i * sd, fake_at(b, t, off + i * st), size);
}

static inline bool fake_cpy(ggml_backend_buffer_t b, const struct ggml_tensor * src,
                            struct ggml_tensor * dst) {
    struct fake * f = ((struct fake_memory *) b->context)->fake;
    f->n_copy++;
    if (f->copies) memcpy(fake_at(b, dst, 0), fake_at(src->buffer, src, 0), ggml_nbytes(src));
    return f->copies;
}

static inline void fake_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    memset(((struct fake_memory *) buffer->context)->bytes, value, buffer->size);
}

static inline void fake_reset(ggml_backend_buffer_t buffer) {
    ((struct fake_memory *) buffer->context)->fake->n_reset++;
}

static inline ggml_backend_buffer_t fake_alloc(ggml_backend_buffer_type_t type, size_t size) {
    static uintptr_t next = FAKE_BASE;
    struct fake * f = type->context;
    if (f->fail_alloc > 0 && --f->fail_alloc == 0) return NULL;
    if (size > (size_t) 1 << 32) return NULL;
    f->n_alloc++;
    struct fake_memory * m = malloc(sizeof(*m));
    *m = (struct fake_memory){ f, next, aligned_alloc(4096, (size + 4095) / 4096 * 4096) };
    if (f->host) m->base = (uintptr_t) m->bytes;
    next += (size / 4096 + 2) * 4096;
    static const struct ggml_backend_buffer_i iface = {
        fake_free,   fake_base,   fake_init_tensor, fake_memset, fake_set,   fake_get,
        fake_set_2d, fake_get_2d, fake_cpy,         fake_clear,  fake_reset,
    };
    ggml_backend_buffer_t buffer =
        ggml_backend_buffer_init(type, iface, m, f->lie_about_size ? size - 1 : size);
    if (buffer) return buffer;
    f->n_free++;
    free(m->bytes);
    free(m);
    return NULL;
}

static inline const char * fake_type_name(ggml_backend_buffer_type_t type) {
    (void) type;
    return "Fake";
}

static inline size_t fake_alignment(ggml_backend_buffer_type_t type) {
    return ((struct fake *) type->context)->alignment;
}
static inline size_t fake_max_size(ggml_backend_buffer_type_t type) {
    return ((struct fake *) type->context)->max_size;
}
static inline bool fake_is_host(ggml_backend_buffer_type_t type) {
    return ((struct fake *) type->context)->host;
}

static inline size_t fake_alloc_size(ggml_backend_buffer_type_t type, const struct ggml_tensor * t) {
    struct fake * f = type->context;
    return ggml_nbytes(t) + (t->op == GGML_OP_MUL_MAT ? f->scratch : 0);
}

// ---- its back end
// ------------------------------------------------------------------------------------------

static inline struct fake * fake_of(ggml_backend_t backend) {
    return backend->context;
}

static inline const char * fake_backend_name(ggml_backend_t backend) {
    (void) backend;
    return "Fake";
}

static inline void fake_backend_free(ggml_backend_t backend) {
    free(backend);
}
static inline void fake_synchronize(ggml_backend_t backend) {
    fake_of(backend)->n_sync++;
}

static inline void fake_set_async(ggml_backend_t b, struct ggml_tensor * t, const void * from, size_t off,
                                  size_t size) {
    fake_of(b)->n_set_async++;
    memcpy(fake_at(t->buffer, t, off), from, size);
}

static inline void fake_get_async(ggml_backend_t b, const struct ggml_tensor * t, void * to, size_t off,
                                  size_t size) {
    fake_of(b)->n_get_async++;
    memcpy(to, fake_at(t->buffer, t, off), size);
}

static inline void fake_set_2d_async(ggml_backend_t b, struct ggml_tensor * t, const void * from, size_t off,
                                     size_t size, size_t n, size_t st, size_t sd) {
    fake_of(b)->n_set_2d_async++;
    for (size_t i = 0; i < n; i++)
        memcpy(fake_at(t->buffer, t, off + i * st), (const char *) from + i * sd, size);
}

static inline void fake_get_2d_async(ggml_backend_t b, const struct ggml_tensor * t, void * to, size_t off,
                                     size_t size, size_t n, size_t st, size_t sd) {
    fake_of(b)->n_get_2d_async++;
    for (size_t i = 0; i < n; i++)
        memcpy((char *) to + i * sd, fake_at(t->buffer, t, off + i * st), size);
}

static inline bool fake_cpy_async(ggml_backend_t src_backend, ggml_backend_t dst_backend,
                                  const struct ggml_tensor * src, struct ggml_tensor * dst) {
    (void) src_backend;
    fake_of(dst_backend)->n_copy_async++;
    if (fake_of(dst_backend)->copies)
        memcpy(fake_at(dst->buffer, dst, 0), fake_at(src->buffer, src, 0), ggml_nbytes(src));
    return fake_of(dst_backend)->copies;
}

static inline enum ggml_status fake_compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    (void) graph;
    fake_of(backend)->n_compute++;
    return fake_of(backend)->compute_status;
}

static inline void fake_event_record(ggml_backend_t backend, ggml_backend_event_t event) {
    (void) event;
    fake_of(backend)->n_event_record++;
}

static inline void fake_event_wait(ggml_backend_t backend, ggml_backend_event_t event) {
    (void) event;
    fake_of(backend)->n_event_wait++;
}

// ---- its device
// --------------------------------------------------------------------------------------------

static inline const char * fake_name(ggml_backend_dev_t dev) {
    (void) dev;
    return "Fake0";
}

static inline const char * fake_description(ggml_backend_dev_t dev) {
    (void) dev;
    return "a device that does not exist";
}

static inline void fake_get_memory(ggml_backend_dev_t dev, size_t * free_bytes, size_t * total) {
    (void) dev;
    *free_bytes = 100;
    *total = 200;
}

static inline enum ggml_backend_dev_type fake_get_type(ggml_backend_dev_t dev) {
    (void) dev;
    return GGML_BACKEND_DEVICE_TYPE_ACCEL;
}

static inline void fake_get_props(ggml_backend_dev_t dev, struct ggml_backend_dev_props * props) {
    props->name = fake_name(dev);
    props->memory_total = 200;
    props->caps.events = true;
}

static inline ggml_backend_t fake_start(ggml_backend_dev_t dev, const char * params) {
    static uint8_t guid[16] = { 1, 2, 3 };
    if (params && strcmp(params, "fail") == 0) return NULL;
    ggml_backend_t backend = malloc(sizeof(*backend));
    *backend = (struct ggml_backend) {
        .guid = &guid,
        .iface = {
            .get_name = fake_backend_name,
            .free = fake_backend_free,
            .set_tensor_async = fake_set_async,
            .get_tensor_async = fake_get_async,
            .set_tensor_2d_async = fake_set_2d_async,
            .get_tensor_2d_async = fake_get_2d_async,
            .cpy_tensor_async = fake_cpy_async,
            .synchronize = fake_synchronize,
            .graph_compute = fake_compute,
            .event_record = fake_event_record,
            .event_wait = fake_event_wait,
        },
        .device = dev,
        .context = dev->context,
    };
    return backend;
}

static inline ggml_backend_buffer_type_t fake_buffer_type(ggml_backend_dev_t dev) {
    return &((struct fake *) dev->context)->type;
}

static inline bool fake_supports_op(ggml_backend_dev_t dev, const struct ggml_tensor * op) {
    (void) dev;
    return op->op == GGML_OP_ADD;
}

static inline bool fake_supports_buft(ggml_backend_dev_t dev, ggml_backend_buffer_type_t buft) {
    return buft == fake_buffer_type(dev);
}

static inline ggml_backend_event_t fake_event_new(ggml_backend_dev_t dev) {
    ((struct fake *) dev->context)->n_event_new++;
    ggml_backend_event_t event = malloc(sizeof(*event));
    *event = (struct ggml_backend_event){ .device = dev };
    return event;
}

static inline void fake_event_free(ggml_backend_dev_t dev, ggml_backend_event_t event) {
    ((struct fake *) dev->context)->n_event_free++;
    free(event);
}

static inline void fake_event_synchronize(ggml_backend_dev_t dev, ggml_backend_event_t event) {
    (void) event;
    ((struct fake *) dev->context)->n_event_sync++;
}

static inline const char * fake_reg_name(ggml_backend_reg_t reg) {
    (void) reg;
    return "Fakes";
}

static inline size_t fake_device_count(ggml_backend_reg_t reg) {
    (void) reg;
    return 1;
}

static inline ggml_backend_dev_t fake_get_device(ggml_backend_reg_t reg, size_t index) {
    (void) index;
    return &((struct fake *) reg->context)->device;
}

static inline void * fake_proc_address(ggml_backend_reg_t reg, const char * name) {
    return strcmp(name, "fake") == 0 ? reg->context : NULL;
}

// An ordinary device with all abilities: alignment 64, no largest size.
static inline void fake_init(struct fake * f) {
    *f = (struct fake) {
        .alignment = 64,
        .max_size = SIZE_MAX,
        .copies = true,
        .compute_status = GGML_STATUS_SUCCESS,
        .reg = {
            .api_version = GGML_BACKEND_API_VERSION,
            .iface = { fake_reg_name, fake_device_count, fake_get_device, fake_proc_address },
            .context = f,
        },
        .device = {
            .iface = {
                .get_name = fake_name,
                .get_description = fake_description,
                .get_memory = fake_get_memory,
                .get_type = fake_get_type,
                .get_props = fake_get_props,
                .init_backend = fake_start,
                .get_buffer_type = fake_buffer_type,
                .supports_op = fake_supports_op,
                .supports_buft = fake_supports_buft,
                .event_new = fake_event_new,
                .event_free = fake_event_free,
                .event_synchronize = fake_event_synchronize,
            },
            .context = f,
        },
        .type = {
            .iface = {
                .get_name = fake_type_name,
                .alloc_buffer = fake_alloc,
                .get_alignment = fake_alignment,
                .get_max_size = fake_max_size,
                .get_alloc_size = fake_alloc_size,
                .is_host = fake_is_host,
            },
            .context = f,
        },
    };
    f->device.reg = &f->reg;
    f->type.device = &f->device;
}

#endif
