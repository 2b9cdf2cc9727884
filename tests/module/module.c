// SPDX-License-Identifier: MIT
// A back end in a library, right or wrong in one way: which one, the build says (CMakeLists.txt). It
// calls nothing of the library that loads it.
//
//     SCORE=n      it rates itself; otherwise it has no score
//     VERSION=n    the version that it says it was built for
//     FAULT=FAULT_x  what is wrong with its tables
//     NO_ENTRY     it has no function to begin with
#include <stdlib.h>
#include <string.h>

#define GGML_BACKEND_DL
#include "ggml-backend-impl.h"

enum { FAULT_NONE, FAULT_NULL, FAULT_HOLE, FAULT_NO_NAME, FAULT_NULL_DEVICE };

#ifndef VERSION
#define VERSION GGML_BACKEND_API_VERSION
#endif
#ifndef FAULT
#define FAULT FAULT_NONE
#endif

// ---- a back end that has memory and computes nothing -----------------------------------------------------

static struct ggml_backend_device device;
static struct ggml_backend_reg reg;

static const char * backend_name(ggml_backend_t backend) {
    (void) backend;
    return "Module";
}

static void backend_free(ggml_backend_t backend) {
    free(backend);
}

static enum ggml_status compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    (void) backend;
    (void) graph;
    return GGML_STATUS_FAILED;
}

static ggml_backend_t start(ggml_backend_dev_t dev, const char * params) {
    (void) params;
    ggml_backend_t backend = calloc(1, sizeof(*backend));
    if (!backend) return NULL;
    backend->iface.get_name = backend_name;
    backend->iface.free = backend_free;
    backend->iface.graph_compute = compute;
    backend->device = dev;
    return backend;
}

static const char * type_name(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return "Module";
}

static size_t alignment(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return 32;
}

static ggml_backend_buffer_t no_memory(ggml_backend_buffer_type_t buft, size_t size) {
    (void) buft;
    (void) size;
    return NULL;
}

static struct ggml_backend_buffer_type type = {
    .iface = { .get_name = type_name, .alloc_buffer = no_memory, .get_alignment = alignment },
    .device = &device,
};

static const char * device_name(ggml_backend_dev_t dev) {
    (void) dev;
    return FAULT == FAULT_NO_NAME ? NULL : "Module0";
}

static void device_memory(ggml_backend_dev_t dev, size_t * free_bytes, size_t * total) {
    (void) dev;
    *free_bytes = *total = 0;
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t dev) {
    (void) dev;
    return GGML_BACKEND_DEVICE_TYPE_GPU;
}

static void device_props(ggml_backend_dev_t dev, struct ggml_backend_dev_props * props) {
    props->name = device_name(dev);
    props->type = device_type(dev);
}

static ggml_backend_buffer_type_t device_type_of_memory(ggml_backend_dev_t dev) {
    (void) dev;
    return &type;
}

static bool supports_op(ggml_backend_dev_t dev, const struct ggml_tensor * op) {
    (void) dev;
    (void) op;
    return false;
}

static bool supports_buft(ggml_backend_dev_t dev, ggml_backend_buffer_type_t buft) {
    (void) dev;
    return buft == &type;
}

static ggml_backend_event_t event_new(ggml_backend_dev_t dev) {
    ggml_backend_event_t event = calloc(1, sizeof(*event));
    if (event) event->device = dev;
    return event;
}

static void event_free(ggml_backend_dev_t dev, ggml_backend_event_t event) {
    (void) dev;
    free(event);
}

static struct ggml_backend_device device = {
    .iface = {
        .get_name = device_name,
        .get_description = device_name,
        .get_memory = device_memory,
        .get_type = device_type,
        .get_props = device_props,
        .init_backend = start,
        .get_buffer_type = device_type_of_memory,
        .supports_op = supports_op,
        .supports_buft = supports_buft,
        .event_new = event_new,
        .event_free = event_free,
    },
    .reg = &reg,
};

// ---- its family ------------------------------------------------------------------------------------------

static const char * reg_name(ggml_backend_reg_t r) {
    (void) r;
    return FAULT == FAULT_NO_NAME ? NULL : "Module";
}

static size_t device_count(ggml_backend_reg_t r) {
    (void) r;
    return 1;
}

static ggml_backend_dev_t get_device(ggml_backend_reg_t r, size_t index) {
    (void) r;
    return index == 0 && FAULT != FAULT_NULL_DEVICE ? &device : NULL;
}

#ifdef SCORE
static int score(void) {
    return SCORE;
}
GGML_BACKEND_DL_SCORE_IMPL(score)
#endif

static void * address(ggml_backend_reg_t r, const char * name) {
    (void) r;
#ifdef SCORE
    if (strcmp(name, "score") == 0) return (void *) score;
#endif
    (void) name;
    return NULL;
}

static struct ggml_backend_reg reg = {
    .api_version = VERSION,
    .iface = {
        .get_name = reg_name,
        .get_device_count = device_count,
        .get_device = FAULT == FAULT_HOLE ? NULL : get_device,
        .get_proc_address = address,
    },
};

ggml_backend_reg_t tenon_test_module_reg(void);
ggml_backend_reg_t tenon_test_module_reg(void) {
    return FAULT == FAULT_NULL ? NULL : &reg;
}

#ifndef NO_ENTRY
GGML_BACKEND_DL_IMPL(tenon_test_module_reg)
#endif
