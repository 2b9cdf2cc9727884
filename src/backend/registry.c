// SPDX-License-Identifier: MIT
// The process-wide lists of families and devices. Entries are borrowed; built-in families are entered at the
// first question.
#include "backend/registry.h"

#include <stdatomic.h>

#include "backend/iface.h"
#include "base/array.h"
#include "base/str.h"
#include "base/thread.h"

#define TN_ROW(name) ggml_backend_reg_t ggml_backend_##name##_reg(void);
#include "backend/backends.def"
#undef TN_ROW

static struct {
    struct tn_mutex mutex;
    struct tn_mutex building; // while the built-in families are entered
    _Atomic bool built;
    TN_ARRAY(ggml_backend_reg_t) regs;
    TN_ARRAY(ggml_backend_dev_t) devices;
} registry = { .mutex = TN_MUTEX_INIT, .building = TN_MUTEX_INIT };

// Whoever still asks afterwards finds empty lists.
static TN_AT_UNLOAD void forget_all(void) {
    tn_mutex_lock(&registry.mutex);
    TN_ARRAY_FREE(&registry.regs);
    TN_ARRAY_FREE(&registry.devices);
    tn_mutex_unlock(&registry.mutex);
}

// ---- adding and taking out ------------------------------------------------------------------------------

static bool has_reg(ggml_backend_reg_t reg) {
    for (size_t i = 0; i < registry.regs.count; i++) {
        if (registry.regs.items[i] == reg) return true;
    }
    return false;
}

static bool has_device(ggml_backend_dev_t device) {
    for (size_t i = 0; i < registry.devices.count; i++) {
        if (registry.devices.items[i] == device) return true;
    }
    return false;
}

// Each at its time: with the mutex free, so that a family may ask the registry itself. *is_new: it was not
// there.
static bool enter_reg(ggml_backend_reg_t reg, bool * is_new) {
    tn_mutex_lock(&registry.mutex);
    *is_new = !has_reg(reg);
    const bool room = !*is_new || TN_ARRAY_RESERVE(&registry.regs, 1, TN_MEM_OBJECT);
    if (*is_new && room) registry.regs.items[registry.regs.count++] = reg;
    tn_mutex_unlock(&registry.mutex);
    return room || tn_iface_refuse("ggml_backend_register", "no memory to list a family");
}

static bool enter_device(ggml_backend_dev_t device) {
    tn_mutex_lock(&registry.mutex);
    const bool known = has_device(device);
    const bool room = known || TN_ARRAY_RESERVE(&registry.devices, 1, TN_MEM_OBJECT);
    if (!known && room) registry.devices.items[registry.devices.count++] = device;
    tn_mutex_unlock(&registry.mutex);
    return room || tn_iface_refuse("ggml_backend_device_register", "no memory to list a device");
}

// The order of those that stay is kept.
static bool take_out(ggml_backend_reg_t reg) {
    tn_mutex_lock(&registry.mutex);
    size_t n_regs = 0, n_devices = 0;
    for (size_t i = 0; i < registry.regs.count; i++) {
        if (registry.regs.items[i] != reg) registry.regs.items[n_regs++] = registry.regs.items[i];
    }
    const bool found = n_regs < registry.regs.count;
    for (size_t i = 0; i < registry.devices.count; i++) {
        ggml_backend_dev_t device = registry.devices.items[i];
        if (!found || device->reg != reg) registry.devices.items[n_devices++] = device;
    }
    registry.regs.count = n_regs;
    registry.devices.count = n_devices;
    tn_mutex_unlock(&registry.mutex);
    return found;
}

// ---- tables that are complete ---------------------------------------------------------------------------

static bool check_device(ggml_backend_dev_t d) {
    const struct ggml_backend_device_i * i = d ? &d->iface : NULL;
    if (i && i->get_name && i->get_description && i->get_memory && i->get_type && i->get_props &&
        i->init_backend && i->get_buffer_type && i->supports_op && i->supports_buft) {
        return i->get_name(d) || tn_iface_refuse("ggml_backend_device_register", "a device has no name");
    }
    return tn_iface_refuse("ggml_backend_device_register", "a device is NULL, or its table lacks a function");
}

static bool check_reg(ggml_backend_reg_t reg) {
    const char * function = "ggml_backend_register";
    if (!reg) return tn_iface_refuse(function, "the family is NULL");
    if (reg->api_version != GGML_BACKEND_API_VERSION) {
        return tn_iface_refuse(function,
                               "the family was built for version %d of the interface, here it is %d",
                               reg->api_version, GGML_BACKEND_API_VERSION);
    }
    if (!reg->iface.get_name || !reg->iface.get_device_count || !reg->iface.get_device)
        return tn_iface_refuse(function, "the family's table lacks a function");
    return reg->iface.get_name(reg) || tn_iface_refuse(function, "the family has no name");
}

// All of it or, without memory, nothing. A device that is not right is passed over.
static bool enter_family(ggml_backend_reg_t reg) {
    bool is_new;
    if (!check_reg(reg) || !enter_reg(reg, &is_new)) return false;
    const size_t n = is_new ? ggml_backend_reg_dev_count(reg) : 0;
    for (size_t i = 0; i < n; i++) {
        ggml_backend_dev_t device = ggml_backend_reg_dev_get(reg, i);
        if (!check_device(device) || enter_device(device)) continue;
        take_out(reg);
        return false;
    }
    return true;
}

// At the first question; again at the next one if there was no memory.
static void enter_built_in(void) {
    if (registry.built) return;
    tn_mutex_lock(&registry.building);
    bool all = true;
    if (!registry.built) {
#define TN_ROW(name) all = enter_family(ggml_backend_##name##_reg()) && all;
#include "backend/backends.def"
#undef TN_ROW
    }
    registry.built = all;
    tn_mutex_unlock(&registry.building);
}

bool tn_registry_add(ggml_backend_reg_t reg) {
    enter_built_in();
    return enter_family(reg);
}

bool tn_registry_remove(ggml_backend_reg_t reg) {
    enter_built_in();
    return take_out(reg);
}

void ggml_backend_register(ggml_backend_reg_t reg) {
    tn_registry_add(reg);
}

void ggml_backend_device_register(ggml_backend_dev_t device) {
    enter_built_in();
    if (check_device(device)) enter_device(device);
}

// ---- asking ---------------------------------------------------------------------------------------------

size_t ggml_backend_reg_count(void) {
    enter_built_in();
    tn_mutex_lock(&registry.mutex);
    const size_t count = registry.regs.count;
    tn_mutex_unlock(&registry.mutex);
    return count;
}

ggml_backend_reg_t ggml_backend_reg_get(size_t index) {
    enter_built_in();
    tn_mutex_lock(&registry.mutex);
    ggml_backend_reg_t reg = index < registry.regs.count ? registry.regs.items[index] : NULL;
    tn_mutex_unlock(&registry.mutex);
    return reg;
}

size_t ggml_backend_dev_count(void) {
    enter_built_in();
    tn_mutex_lock(&registry.mutex);
    const size_t count = registry.devices.count;
    tn_mutex_unlock(&registry.mutex);
    return count;
}

ggml_backend_dev_t ggml_backend_dev_get(size_t index) {
    enter_built_in();
    tn_mutex_lock(&registry.mutex);
    ggml_backend_dev_t device = index < registry.devices.count ? registry.devices.items[index] : NULL;
    tn_mutex_unlock(&registry.mutex);
    return device;
}

ggml_backend_reg_t ggml_backend_reg_by_name(const char * name) {
    const size_t n = name ? ggml_backend_reg_count() : 0;
    for (size_t i = 0; i < n; i++) {
        ggml_backend_reg_t reg = ggml_backend_reg_get(i);
        if (reg && tn_str_same_nocase(ggml_backend_reg_name(reg), name)) return reg;
    }
    return NULL;
}

ggml_backend_dev_t ggml_backend_dev_by_name(const char * name) {
    const size_t n = name ? ggml_backend_dev_count() : 0;
    for (size_t i = 0; i < n; i++) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        if (device && tn_str_same_nocase(ggml_backend_dev_name(device), name)) return device;
    }
    return NULL;
}

ggml_backend_dev_t ggml_backend_dev_by_type(enum ggml_backend_dev_type type) {
    const size_t n = ggml_backend_dev_count();
    for (size_t i = 0; i < n; i++) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        if (device && ggml_backend_dev_type(device) == type) return device;
    }
    return NULL;
}

// ---- starting -------------------------------------------------------------------------------------------

ggml_backend_t ggml_backend_init_by_name(const char * name, const char * params) {
    ggml_backend_dev_t device = ggml_backend_dev_by_name(name);
    if (device) return ggml_backend_dev_init(device, params);
    tn_iface_refuse(__func__, "there is no device called '%s'", name ? name : "NULL");
    return NULL;
}

ggml_backend_t ggml_backend_init_by_type(enum ggml_backend_dev_type type, const char * params) {
    ggml_backend_dev_t device = ggml_backend_dev_by_type(type);
    if (device) return ggml_backend_dev_init(device, params);
    tn_iface_refuse(__func__, "there is no device of type %d", (int) type);
    return NULL;
}

ggml_backend_t ggml_backend_init_best(void) {
    static const enum ggml_backend_dev_type order[] = {
        GGML_BACKEND_DEVICE_TYPE_GPU,
        GGML_BACKEND_DEVICE_TYPE_IGPU,
        GGML_BACKEND_DEVICE_TYPE_CPU,
    };
    for (size_t i = 0; i < TN_COUNT(order); i++) {
        ggml_backend_dev_t device = ggml_backend_dev_by_type(order[i]);
        if (device) return ggml_backend_dev_init(device, NULL);
    }
    tn_iface_refuse(__func__, "there is no GPU and no CPU device");
    return NULL;
}
