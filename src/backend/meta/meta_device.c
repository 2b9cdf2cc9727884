// SPDX-License-Identifier: MIT
// The meta device and its buffer type: what several devices have in common.
#include <string.h>

#include "backend/meta/derive.h"
#include "backend/meta/meta_int.h"
#include "base/bits.h"
#include "base/str.h"
#include "base/thread.h"

const char * ggml_backend_meta_split_axis_name(enum ggml_backend_meta_split_axis split_axis) {
    switch (split_axis) {
    case GGML_BACKEND_SPLIT_AXIS_0: return "0";
    case GGML_BACKEND_SPLIT_AXIS_1: return "1";
    case GGML_BACKEND_SPLIT_AXIS_2: return "2";
    case GGML_BACKEND_SPLIT_AXIS_3: return "3";
    case GGML_BACKEND_SPLIT_AXIS_MIRRORED: return "MIRRORED";
    case GGML_BACKEND_SPLIT_AXIS_PARTIAL: return "PARTIAL";
    case GGML_BACKEND_SPLIT_AXIS_NONE: return "NONE";
    case GGML_BACKEND_SPLIT_AXIS_UNKNOWN: break;
    }
    return "UNKNOWN";
}

// ---- buffer type ------------------------------------------------------------------------------------------

static ggml_backend_buffer_type_t type_of(const struct tn_meta_device * m, int j) {
    return ggml_backend_dev_buffer_type(m->devices[j]);
}

static const char * type_name(ggml_backend_buffer_type_t buft) {
    return ((struct tn_meta_device *) buft->context)->name;
}

static size_t type_alignment(ggml_backend_buffer_type_t buft) {
    const struct tn_meta_device * m = buft->context;
    size_t alignment = 1;
    for (int j = 0; j < m->n; j++)
        alignment = tn_max_size(alignment, ggml_backend_buft_get_alignment(type_of(m, j)));
    return alignment;
}

static size_t type_max_size(ggml_backend_buffer_type_t buft) {
    const struct tn_meta_device * m = buft->context;
    size_t size = SIZE_MAX;
    for (int j = 0; j < m->n; j++)
        size = tn_min_size(size, ggml_backend_buft_get_max_size(type_of(m, j)));
    return size;
}

static size_t type_alloc_size(ggml_backend_buffer_type_t buft, const struct ggml_tensor * t) {
    const struct tn_meta_device * m = buft->context;
    size_t size = 0;
    for (int j = 0; j < m->n; j++)
        size = tn_max_size(size, ggml_backend_buft_get_alloc_size(type_of(m, j), t));
    return size;
}

// is_host is absent, though all devices may use host memory: the addresses are nobody's.
static const struct ggml_backend_buffer_type_i type_iface = {
    .get_name = type_name,
    .alloc_buffer = tn_meta_buffer_alloc,
    .get_alignment = type_alignment,
    .get_max_size = type_max_size,
    .get_alloc_size = type_alloc_size,
};

bool ggml_backend_buft_is_meta(ggml_backend_buffer_type_t buft) {
    return buft && buft->iface.get_name == type_name;
}

bool tn_meta_device_shares(const struct tn_meta_device * meta, ggml_backend_buffer_type_t buft) {
    if (!ggml_backend_buft_is_meta(buft)) return false;
    const struct tn_meta_device * other = buft->context;
    return meta == other || (meta->n == other->n && memcmp(meta->devices, other->devices,
                                                           (size_t) meta->n * sizeof(meta->devices[0])) == 0);
}

// ---- device -----------------------------------------------------------------------------------------------

static struct tn_meta_device * of(ggml_backend_dev_t dev) {
    return dev->context;
}

static const char * device_name(ggml_backend_dev_t dev) {
    return of(dev)->name;
}

static void device_memory(ggml_backend_dev_t dev, size_t * free_bytes, size_t * total) {
    *free_bytes = *total = 0;
    for (int j = 0; j < of(dev)->n; j++) {
        size_t free_there, total_there;
        ggml_backend_dev_memory(of(dev)->devices[j], &free_there, &total_there);
        if (!tn_size_add(*free_bytes, free_there, free_bytes)) *free_bytes = SIZE_MAX;
        if (!tn_size_add(*total, total_there, total)) *total = SIZE_MAX;
    }
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t dev) {
    (void) dev;
    return GGML_BACKEND_DEVICE_TYPE_META;
}

static void device_props(ggml_backend_dev_t dev, struct ggml_backend_dev_props * props) {
    props->name = props->description = of(dev)->name;
    props->type = device_type(dev);
    device_memory(dev, &props->memory_free, &props->memory_total);
    props->caps.async = props->caps.mmap_support = true;
    for (int j = 0; j < of(dev)->n; j++) {
        struct ggml_backend_dev_props simple;
        ggml_backend_dev_get_props(of(dev)->devices[j], &simple);
        props->caps.async = props->caps.async && simple.caps.async;
        props->caps.mmap_support = props->caps.mmap_support && simple.caps.mmap_support;
    }
}

static ggml_backend_t device_init(ggml_backend_dev_t dev, const char * params) {
    return tn_meta_backend_new(of(dev), params);
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t dev) {
    return &of(dev)->type;
}

static ggml_backend_buffer_type_t device_host_type(ggml_backend_dev_t dev) {
    ggml_backend_buffer_type_t shared = ggml_backend_dev_host_buffer_type(of(dev)->devices[0]);
    for (int j = 1; j < of(dev)->n; j++) {
        if (ggml_backend_dev_host_buffer_type(of(dev)->devices[j]) != shared) return NULL;
    }
    return shared;
}

// What is known of the sources already: weights, caches.
static bool may_be_split(const struct tn_meta_device * m, const struct ggml_tensor * op) {
    struct tn_derive d = { .node = op, .n = m->n };
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        const struct ggml_tensor * t = op->src[i];
        ggml_backend_buffer_t buffer = t ? tn_iface_buffer_of(t) : NULL;
        if (!buffer || buffer->usage == GGML_BACKEND_BUFFER_USAGE_COMPUTE) continue;
        if (!tn_meta_buffer_of(buffer) || !tn_meta_device_shares(m, buffer->buft)) continue;
        const struct tn_slices * s = tn_slices_find(m, t);
        if (s && s->made) d.src[i] = s->partition;
    }
    return tn_derive_may(&d);
}

static bool device_supports_op(ggml_backend_dev_t dev, const struct ggml_tensor * op) {
    for (int j = 0; j < of(dev)->n; j++) {
        if (!ggml_backend_dev_supports_op(of(dev)->devices[j], op)) return false;
    }
    return may_be_split(of(dev), op);
}

static bool device_supports_buft(ggml_backend_dev_t dev, ggml_backend_buffer_type_t buft) {
    return tn_meta_device_shares(of(dev), buft);
}

static const struct ggml_backend_device_i device_iface = {
    .get_name = device_name,
    .get_description = device_name,
    .get_memory = device_memory,
    .get_type = device_type,
    .get_props = device_props,
    .init_backend = device_init,
    .get_buffer_type = device_buffer_type,
    .get_host_buffer_type = device_host_type,
    .supports_op = device_supports_op,
    .supports_buft = device_supports_buft,
};

// ---- those that exist -------------------------------------------------------------------------------------

static struct tn_mutex list_mutex = TN_MUTEX_INIT;
static struct tn_meta_device * list; // for ever

// Written once only: others may be reading it. Devices of a program may come and go under one address.
static void take_name(struct tn_meta_device * m) {
    char name[TN_META_NAME];
    struct tn_str s = tn_str_on(name, sizeof(name));
    for (int j = 0; j < m->n; j++)
        tn_str_add(&s, "%s%s", j == 0 ? "Meta(" : ",", ggml_backend_dev_name(m->devices[j]));
    tn_str_add(&s, ")");
    if (strcmp(name, m->name) != 0) memcpy(m->name, name, sizeof(name));
}

static struct tn_meta_device * find(ggml_backend_dev_t * devs, int n,
                                    ggml_backend_meta_get_split_state_t get_split, void * data) {
    for (struct tn_meta_device * m = list; m; m = m->next) {
        if (m->n == n && m->get_split == get_split && m->get_split_data == data &&
            memcmp(m->devices, devs, (size_t) n * sizeof(devs[0])) == 0) {
            return m;
        }
    }
    return NULL;
}

static struct tn_meta_device * add(ggml_backend_dev_t * devs, int n,
                                   ggml_backend_meta_get_split_state_t get_split, void * data) {
    struct tn_meta_device * m = tn_mem_calloc(1, sizeof(*m), TN_MEM_OBJECT);
    if (!m) return NULL;
    m->device = (struct ggml_backend_device){ device_iface, NULL, m };
    m->type = (struct ggml_backend_buffer_type){ type_iface, &m->device, m };
    m->n = n;
    memcpy(m->devices, devs, (size_t) n * sizeof(devs[0]));
    m->get_split = get_split;
    m->get_split_data = data;
    m->next = list;
    list = m;
    return m;
}

static bool check_devices(const char * function, ggml_backend_dev_t * devs, size_t n) {
    if (!devs || n == 0 || n > GGML_BACKEND_META_MAX_DEVICES) {
        return tn_iface_refuse(function, "%zu devices, 1 to %d can be", devs ? n : 0,
                               GGML_BACKEND_META_MAX_DEVICES);
    }
    for (size_t i = 0; i < n; i++) {
        if (!devs[i]) return tn_iface_refuse(function, "device %zu is NULL", i);
        if (ggml_backend_dev_type(devs[i]) == GGML_BACKEND_DEVICE_TYPE_META)
            return tn_iface_refuse(function, "device %zu consists of several itself", i);
    }
    return true;
}

ggml_backend_dev_t ggml_backend_meta_device(ggml_backend_dev_t * devs, size_t n_devs,
                                            ggml_backend_meta_get_split_state_t get_split_state,
                                            void * get_split_state_ud) {
    if (!check_devices(__func__, devs, n_devs)) return NULL;
    if (!get_split_state) {
        tn_iface_refuse(__func__, "nobody says how tensors are split");
        return NULL;
    }
    tn_mutex_lock(&list_mutex);
    struct tn_meta_device * m = find(devs, (int) n_devs, get_split_state, get_split_state_ud);
    if (!m) m = add(devs, (int) n_devs, get_split_state, get_split_state_ud);
    if (m) take_name(m);
    tn_mutex_unlock(&list_mutex);
    return m ? &m->device : NULL;
}
