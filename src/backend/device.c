// SPDX-License-Identifier: MIT
// Devices with their properties and events, and single registry entries: calls through their tables.
#include <string.h>

#include "backend/iface.h"
#include "backend/use.h"
#include "base/error.h"
#include "base/str.h"

// ---- devices --------------------------------------------------------------------------------------------

static bool check_device(const char * function, ggml_backend_dev_t device) {
    return device || tn_iface_refuse(function, "the device is NULL");
}

const char * ggml_backend_dev_name(ggml_backend_dev_t device) {
    return device ? device->iface.get_name(device) : "NULL";
}

const char * ggml_backend_dev_description(ggml_backend_dev_t device) {
    return device ? device->iface.get_description(device) : "NULL";
}

void ggml_backend_dev_memory(ggml_backend_dev_t device, size_t * free, size_t * total) {
    size_t free_bytes = 0, total_bytes = 0;
    if (check_device(__func__, device)) device->iface.get_memory(device, &free_bytes, &total_bytes);
    if (free) *free = free_bytes;
    if (total) *total = total_bytes;
}

enum ggml_backend_dev_type ggml_backend_dev_type(ggml_backend_dev_t device) {
    return check_device(__func__, device) ? device->iface.get_type(device) : GGML_BACKEND_DEVICE_TYPE_CPU;
}

void ggml_backend_dev_get_props(ggml_backend_dev_t device, struct ggml_backend_dev_props * props) {
    if (!props) {
        tn_iface_refuse(__func__, "there is no place for the properties");
        return;
    }
    memset(props, 0, sizeof(*props));
    if (check_device(__func__, device)) device->iface.get_props(device, props);
}

ggml_backend_reg_t ggml_backend_dev_backend_reg(ggml_backend_dev_t device) {
    return device ? device->reg : NULL;
}

// What every call relies on.
static bool is_complete(ggml_backend_t backend) {
    return backend->iface.get_name && backend->iface.free && backend->iface.graph_compute && backend->device;
}

ggml_backend_t ggml_backend_dev_init(ggml_backend_dev_t device, const char * params) {
    if (!check_device(__func__, device)) return NULL;
    const char * name = ggml_backend_dev_name(device);
    char before[TN_ERROR_MAX];
    tn_str_copy(before, sizeof(before), tn_error_text());
    tn_error_clear();
    ggml_backend_t backend = device->iface.init_backend(device, params);
    if (!backend) {
        const char * reason = tn_error_text(); // the device's own, if it gives one
        tn_iface_refuse(__func__, "device %s cannot be started%s%s", name, *reason ? ": " : "", reason);
        return NULL;
    }
    tn_error_set("%s", before); // nothing has failed
    const bool complete = is_complete(backend);
    if (complete && tn_use_begin(device->reg, TN_USE_BACKEND, backend)) return backend;
    if (backend->iface.free) backend->iface.free(backend);
    tn_iface_refuse(__func__,
                    complete ? "no memory to note the back end of device %s"
                             : "device %s: its back end has no device, or its table lacks a function",
                    name);
    return NULL;
}

ggml_backend_buffer_type_t ggml_backend_dev_buffer_type(ggml_backend_dev_t device) {
    return check_device(__func__, device) ? device->iface.get_buffer_type(device) : NULL;
}

ggml_backend_buffer_type_t ggml_backend_dev_host_buffer_type(ggml_backend_dev_t device) {
    return device && device->iface.get_host_buffer_type ? device->iface.get_host_buffer_type(device) : NULL;
}

ggml_backend_buffer_t ggml_backend_dev_buffer_from_host_ptr(ggml_backend_dev_t device, void * ptr,
                                                            size_t size, size_t max_tensor_size) {
    if (!check_device(__func__, device)) return NULL;
    const char * name = ggml_backend_dev_name(device);
    if (!device->iface.buffer_from_host_ptr) {
        tn_iface_refuse(__func__, "device %s makes no buffers of host memory", name);
        return NULL;
    }
    ggml_backend_buffer_t buffer = device->iface.buffer_from_host_ptr(device, ptr, size, max_tensor_size);
    if (!buffer)
        tn_iface_refuse(__func__, "device %s makes no buffer of the %zu bytes at %p", name, size, ptr);
    return buffer;
}

bool ggml_backend_dev_supports_op(ggml_backend_dev_t device, const struct ggml_tensor * op) {
    return check_device(__func__, device) && tn_iface_check_tensor(__func__, op) &&
           device->iface.supports_op(device, op);
}

bool ggml_backend_dev_supports_buft(ggml_backend_dev_t device, ggml_backend_buffer_type_t buft) {
    return device && buft && device->iface.supports_buft(device, buft);
}

bool ggml_backend_dev_offload_op(ggml_backend_dev_t device, const struct ggml_tensor * op) {
    return device && op && device->iface.offload_op && device->iface.offload_op(device, op);
}

// ---- events ---------------------------------------------------------------------------------------------

ggml_backend_event_t ggml_backend_event_new(ggml_backend_dev_t device) {
    const bool has_events = device && device->iface.event_new && device->iface.event_free;
    ggml_backend_event_t event = has_events ? device->iface.event_new(device) : NULL;
    if (!event || tn_use_begin(device->reg, TN_USE_EVENT, event)) return event;
    ggml_backend_event_free(event);
    return NULL;
}

void ggml_backend_event_free(ggml_backend_event_t event) {
    if (!event || !event->device || !event->device->iface.event_free) return;
    tn_use_end(event);
    event->device->iface.event_free(event->device, event);
}

void ggml_backend_event_synchronize(ggml_backend_event_t event) {
    if (event && event->device && event->device->iface.event_synchronize) {
        event->device->iface.event_synchronize(event->device, event);
    } else {
        tn_iface_refuse(__func__, event ? "the device cannot wait for events" : "the event is NULL");
    }
}

static bool check_event(const char * function, ggml_backend_event_t event, ggml_backend_t backend) {
    if (!backend) return tn_iface_refuse(function, "the back end is NULL");
    return event || tn_iface_refuse(function, "the event is NULL");
}

void ggml_backend_event_record(ggml_backend_event_t event, ggml_backend_t backend) {
    if (!check_event(__func__, event, backend)) return;
    if (backend->iface.event_record) {
        backend->iface.event_record(backend, event);
    } else {
        tn_iface_refuse(__func__, "back end %s has no events", ggml_backend_name(backend));
    }
}

void ggml_backend_event_wait(ggml_backend_t backend, ggml_backend_event_t event) {
    if (!check_event(__func__, event, backend)) return;
    if (backend->iface.event_wait) {
        backend->iface.event_wait(backend, event);
    } else {
        tn_iface_refuse(__func__, "back end %s has no events", ggml_backend_name(backend));
    }
}

// ---- registry entries -----------------------------------------------------------------------------------

const char * ggml_backend_reg_name(ggml_backend_reg_t reg) {
    return reg ? reg->iface.get_name(reg) : "NULL";
}

size_t ggml_backend_reg_dev_count(ggml_backend_reg_t reg) {
    return reg ? reg->iface.get_device_count(reg) : 0;
}

ggml_backend_dev_t ggml_backend_reg_dev_get(ggml_backend_reg_t reg, size_t index) {
    const size_t count = ggml_backend_reg_dev_count(reg);
    if (index < count) return reg->iface.get_device(reg, index);
    tn_iface_refuse(__func__, "there is no device %zu of %zu in %s", index, count,
                    ggml_backend_reg_name(reg));
    return NULL;
}

void * ggml_backend_reg_get_proc_address(ggml_backend_reg_t reg, const char * name) {
    return reg && name && reg->iface.get_proc_address ? reg->iface.get_proc_address(reg, name) : NULL;
}
