// SPDX-License-Identifier: MIT
// The memory of the devices of sim.h, of which this is a part.
#ifndef TN_TESTS_SIM_MEMORY_H
#define TN_TESTS_SIM_MEMORY_H

#include "unit/sched/sim.h"

static inline void sim_free(ggml_backend_buffer_t buffer) {
    struct sim * d = buffer->buft->context;
    d->live -= buffer->size;
    memset(buffer->context, 0xff, buffer->size);
    free(buffer->context);
}

static inline void * sim_base(ggml_backend_buffer_t buffer) {
    return ((struct sim *) buffer->buft->context)->no_base ? NULL : buffer->context;
}

static inline void sim_memset(ggml_backend_buffer_t b, struct ggml_tensor * t, uint8_t v, size_t off,
                              size_t n) {
    (void) b;
    memset((char *) t->data + off, v, n);
}

static inline void sim_set(ggml_backend_buffer_t b, struct ggml_tensor * t, const void * from, size_t off,
                           size_t n) {
    ((struct sim *) b->buft->context)->n_blocking++;
    memcpy((char *) t->data + off, from, n);
}

static inline void sim_get(ggml_backend_buffer_t b, const struct ggml_tensor * t, void * to, size_t off,
                           size_t n) {
    ((struct sim *) b->buft->context)->n_blocking++;
    memcpy(to, (const char *) t->data + off, n);
}

static inline void sim_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    memset(buffer->context, value, buffer->size);
}

static inline ggml_backend_buffer_t sim_alloc(ggml_backend_buffer_type_t type, size_t size) {
    struct sim * d = type->context;
    static const struct ggml_backend_buffer_i iface = { .free_buffer = sim_free,
                                                        .get_base = sim_base,
                                                        .memset_tensor = sim_memset,
                                                        .set_tensor = sim_set,
                                                        .get_tensor = sim_get,
                                                        .clear = sim_clear };
    if (d->fail_alloc > 0 && --d->fail_alloc == 0) return NULL;
    char * memory = aligned_alloc(64, (size + 63) / 64 * 64);
    memset(memory, 0xff, size); // all numbers are NaN
    ggml_backend_buffer_t buffer = ggml_backend_buffer_init(type, iface, memory, size);
    if (!buffer) {
        free(memory);
        return NULL;
    }
    d->live += size;
    d->allocated += size;
    if (d->live > d->peak_live) d->peak_live = d->live;
    return buffer;
}

static inline const char * sim_type_name(ggml_backend_buffer_type_t type) {
    return ((struct sim *) type->context)->name;
}
static inline size_t sim_alignment(ggml_backend_buffer_type_t type) {
    (void) type;
    return 64;
}
static inline size_t sim_max_size(ggml_backend_buffer_type_t type) {
    return ((struct sim *) type->context)->max_size;
}
static inline bool sim_is_host(ggml_backend_buffer_type_t type) {
    return ((struct sim *) type->context)->host;
}

#endif
