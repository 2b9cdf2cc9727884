// SPDX-License-Identifier: MIT
// Devices that accept everything and compute nothing. A device is its name, its buffer type and its table.
#include "backend/null.h"

#include <stdio.h>
#include <string.h>

#include "backend/iface.h"
#include "base/mem.h"
#include "base/thread.h"

enum { ALIGNMENT = 256 };

struct null_device {
    char name[16];
    struct ggml_backend_buffer_type type;
    struct ggml_backend_device device;
};

// ---- memory ---------------------------------------------------------------------------------------------

static const char * type_name(ggml_backend_buffer_type_t buft) {
    return ((const struct null_device *) buft->context)->name;
}

static size_t type_alignment(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return ALIGNMENT;
}

// All buffers start at the same address: nobody looks there.
static void * buffer_base(ggml_backend_buffer_t buffer) {
    (void) buffer;
    return (void *) (uintptr_t) ALIGNMENT;
}

static void buffer_memset(ggml_backend_buffer_t buffer, struct ggml_tensor * t, uint8_t value, size_t offset,
                          size_t size) {
    (void) buffer, (void) t, (void) value, (void) offset, (void) size;
}

static void buffer_set(ggml_backend_buffer_t buffer, struct ggml_tensor * t, const void * data, size_t offset,
                       size_t size) {
    (void) buffer, (void) t, (void) data, (void) offset, (void) size;
}

static void buffer_get(ggml_backend_buffer_t buffer, const struct ggml_tensor * t, void * data, size_t offset,
                       size_t size) {
    (void) buffer, (void) t, (void) offset;
    memset(data, 0, size);
}

static void buffer_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    (void) buffer, (void) value;
}

static ggml_backend_buffer_t type_alloc(ggml_backend_buffer_type_t buft, size_t size) {
    static const struct ggml_backend_buffer_i iface = {
        .get_base = buffer_base,
        .memset_tensor = buffer_memset,
        .set_tensor = buffer_set,
        .get_tensor = buffer_get,
        .clear = buffer_clear,
    };
    return ggml_backend_buffer_init(buft, iface, NULL, size);
}

// ---- back end -------------------------------------------------------------------------------------------

static const char * backend_name(ggml_backend_t backend) {
    return ((const struct null_device *) backend->context)->name;
}

static void backend_free(ggml_backend_t backend) {
    tn_mem_free(backend);
}

// Nothing arrives, and in no order.
static bool backend_copy(ggml_backend_t backend_src, ggml_backend_t backend_dst,
                         const struct ggml_tensor * src, struct ggml_tensor * dst) {
    (void) backend_src, (void) backend_dst, (void) src, (void) dst;
    return true;
}

static enum ggml_status backend_compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    (void) backend, (void) graph;
    return GGML_STATUS_SUCCESS;
}

static void backend_event(ggml_backend_t backend, ggml_backend_event_t event) {
    (void) backend, (void) event;
}

static ggml_backend_t device_init(ggml_backend_dev_t dev, const char * params) {
    static ggml_guid guid = { 0x74, 0x65, 0x6e, 0x6f, 0x6e, 0x2d, 0x6e, 0x75,
                              0x6c, 0x6c, 0x2d, 0x64, 0x65, 0x76, 0x0a, 0x5d };
    (void) params;
    ggml_backend_t backend = tn_mem_alloc(sizeof(*backend), TN_MEM_OBJECT);
    if (!backend) return NULL;
    *backend = (struct ggml_backend){
        .guid = &guid,
        .iface = {
            .get_name = backend_name,
            .free = backend_free,
            .cpy_tensor_async = backend_copy,
            .graph_compute = backend_compute,
            .event_record = backend_event,
            .event_wait = backend_event,
        },
        .device = dev,
        .context = dev->context,
    };
    return backend;
}

// ---- device ---------------------------------------------------------------------------------------------

static const char * device_name(ggml_backend_dev_t dev) {
    return ((const struct null_device *) dev->context)->name;
}

static const char * device_description(ggml_backend_dev_t dev) {
    (void) dev;
    return "accepts everything, computes nothing";
}

static void device_memory(ggml_backend_dev_t dev, size_t * free, size_t * total) {
    (void) dev;
    *free = *total = 0;
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t dev) {
    (void) dev;
    return GGML_BACKEND_DEVICE_TYPE_GPU;
}

static void device_props(ggml_backend_dev_t dev, struct ggml_backend_dev_props * props) {
    props->name = device_name(dev);
    props->description = device_description(dev);
    props->type = device_type(dev);
    props->caps.async = true;
    props->caps.events = true;
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t dev) {
    return &((struct null_device *) dev->context)->type;
}

static bool device_supports_op(ggml_backend_dev_t dev, const struct ggml_tensor * op) {
    (void) dev, (void) op;
    return true;
}

static bool device_supports_buft(ggml_backend_dev_t dev, ggml_backend_buffer_type_t buft) {
    return buft == device_buffer_type(dev);
}

static ggml_backend_event_t event_new(ggml_backend_dev_t dev) {
    ggml_backend_event_t event = tn_mem_calloc(1, sizeof(*event), TN_MEM_OBJECT);
    if (event) event->device = dev;
    return event;
}

static void event_free(ggml_backend_dev_t dev, ggml_backend_event_t event) {
    (void) dev;
    tn_mem_free(event);
}

static void event_synchronize(ggml_backend_dev_t dev, ggml_backend_event_t event) {
    (void) dev, (void) event;
}

static const struct ggml_backend_device_i device_iface = {
    .get_name = device_name,
    .get_description = device_description,
    .get_memory = device_memory,
    .get_type = device_type,
    .get_props = device_props,
    .init_backend = device_init,
    .get_buffer_type = device_buffer_type,
    .supports_op = device_supports_op,
    .supports_buft = device_supports_buft,
    .event_new = event_new,
    .event_free = event_free,
    .event_synchronize = event_synchronize,
};

static const struct ggml_backend_buffer_type_i type_iface = {
    .get_name = type_name,
    .alloc_buffer = type_alloc,
    .get_alignment = type_alignment,
};

static struct null_device devices[TN_NULL_DEVICES];
static struct tn_once devices_once = TN_ONCE_INIT;

static void make_devices(void) {
    for (int i = 0; i < TN_NULL_DEVICES; i++) {
        struct null_device * d = &devices[i];
        snprintf(d->name, sizeof(d->name), "Null%d", i);
        d->type = (struct ggml_backend_buffer_type){ type_iface, &d->device, d };
        d->device = (struct ggml_backend_device){ device_iface, NULL, d };
    }
}

ggml_backend_dev_t tn_null_device(int index) {
    if (index < 0 || index >= TN_NULL_DEVICES) return NULL;
    tn_once(&devices_once, make_devices);
    return &devices[index].device;
}
