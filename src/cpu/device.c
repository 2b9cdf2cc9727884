// SPDX-License-Identifier: MIT
// Registry entry and device: what this machine is called, how much memory it has, what can be computed on it.
#include "cpu/device.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "cpu/features.h"
#include "cpu/op.h"
#include "ggml-cpu.h"

static char description[128] = "CPU";
static struct tn_once description_once = TN_ONCE_INIT;

// The value of the first "model name : value" (x86) or "Hardware : value" (some Arm) line that Linux gives.
static void find_description(void) {
    FILE * file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[512];
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "model name", 10) != 0 && strncmp(line, "Hardware", 8) != 0) continue;
        const char * value = strchr(line, ':');
        if (!value) continue;
        value += 1 + strspn(value + 1, " \t");
        line[strcspn(line, "\n")] = '\0';
        if (*value) tn_str_copy(description, sizeof(description), value);
        break;
    }
    fclose(file);
}

static const char * device_name(ggml_backend_dev_t dev) {
    (void) dev;
    return "CPU";
}

static const char * device_description(ggml_backend_dev_t dev) {
    (void) dev;
    tn_once(&description_once, find_description);
    return description;
}

// All physical memory counts as free: the system decides what it gives.
static void device_memory(ggml_backend_dev_t dev, size_t * free, size_t * total) {
    (void) dev;
    *total = tn_mem_physical();
    *free = *total;
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t dev) {
    (void) dev;
    return GGML_BACKEND_DEVICE_TYPE_CPU;
}

static void device_props(ggml_backend_dev_t dev, struct ggml_backend_dev_props * props) {
    props->name = device_name(dev);
    props->description = device_description(dev);
    props->type = device_type(dev);
    device_memory(dev, &props->memory_free, &props->memory_total);
    props->caps.buffer_from_host_ptr = true;
    props->caps.mmap_support = true;
}

static ggml_backend_t device_init(ggml_backend_dev_t dev, const char * params) {
    (void) dev;
    (void) params;
    return ggml_backend_cpu_init();
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t dev) {
    (void) dev;
    return ggml_backend_cpu_buffer_type();
}

static ggml_backend_buffer_t device_buffer_from_ptr(ggml_backend_dev_t dev, void * ptr, size_t size,
                                                    size_t max_tensor_size) {
    (void) dev;
    (void) max_tensor_size;
    return ggml_backend_cpu_buffer_from_ptr(ptr, size);
}

static bool device_supports_op(ggml_backend_dev_t dev, const struct ggml_tensor * node) {
    (void) dev;
    return tn_cpu_op_supports(node);
}

static bool device_supports_buft(ggml_backend_dev_t dev, ggml_backend_buffer_type_t buft) {
    (void) dev;
    return ggml_backend_buft_is_host(buft);
}

static struct ggml_backend_reg cpu_reg; // below

static struct ggml_backend_device cpu_device = {
    .reg = &cpu_reg,
    .iface = {
        .get_name = device_name,
        .get_description = device_description,
        .get_memory = device_memory,
        .get_type = device_type,
        .get_props = device_props,
        .init_backend = device_init,
        .get_buffer_type = device_buffer_type,
        .buffer_from_host_ptr = device_buffer_from_ptr,
        .supports_op = device_supports_op,
        .supports_buft = device_supports_buft,
    },
};

static const char * reg_name(ggml_backend_reg_t reg) {
    (void) reg;
    return "CPU";
}

static size_t reg_device_count(ggml_backend_reg_t reg) {
    (void) reg;
    return 1;
}

static ggml_backend_dev_t reg_device(ggml_backend_reg_t reg, size_t index) {
    (void) reg;
    return index == 0 ? tn_device_get() : NULL;
}

static struct ggml_backend_feature * get_features(ggml_backend_reg_t reg) {
    (void) reg;
    return tn_features_list();
}

static ggml_backend_buffer_type_t * get_extra_bufts(ggml_backend_dev_t dev) {
    static ggml_backend_buffer_type_t none[] = { NULL };
    (void) dev;
    return none;
}

static void * reg_proc_address(ggml_backend_reg_t reg, const char * name) {
    static const struct {
        const char * name;
        void * function;
    } rows[] = {
        { "ggml_backend_set_n_threads", (void *) ggml_backend_cpu_set_n_threads },
        { "ggml_backend_dev_get_extra_bufts", (void *) get_extra_bufts },
        { "ggml_backend_get_features", (void *) get_features },
        { "ggml_backend_set_abort_callback", (void *) ggml_backend_cpu_set_abort_callback },
        { "ggml_backend_cpu_numa_init", (void *) ggml_numa_init },
        { "ggml_backend_cpu_is_numa", (void *) ggml_is_numa },
        { "ggml_backend_cpu_set_use_ref", (void *) ggml_backend_cpu_set_use_ref },
        { "ggml_threadpool_new", (void *) ggml_threadpool_new },
        { "ggml_threadpool_free", (void *) ggml_threadpool_free },
        { "ggml_backend_cpu_set_threadpool", (void *) ggml_backend_cpu_set_threadpool },
    };
    (void) reg;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        if (strcmp(rows[i].name, name) == 0) return rows[i].function;
    }
    return NULL;
}

static struct ggml_backend_reg cpu_reg = {
    .api_version = GGML_BACKEND_API_VERSION,
    .iface = {
        .get_name = reg_name,
        .get_device_count = reg_device_count,
        .get_device = reg_device,
        .get_proc_address = reg_proc_address,
    },
};

ggml_backend_dev_t tn_device_get(void) {
    return &cpu_device;
}

ggml_backend_reg_t ggml_backend_cpu_reg(void) {
    return &cpu_reg;
}
