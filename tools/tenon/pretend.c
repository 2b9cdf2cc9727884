// SPDX-License-Identifier: MIT
// Devices that do not exist. Nothing is ever computed or moved: graphs are planned, not run.
#include "pretend.h"

#include <stdio.h>
#include <string.h>

#include "ggml-backend-impl.h"
#include "ggml-ext.h"
#include "tenon.h"

static struct pretended {
    char name[16];
    const char * without;
    struct ggml_backend_device device;
    struct ggml_backend_buffer_type type;
    struct ggml_backend backend;
} pretended[PRETEND_MAX];

static struct pretended * of(ggml_backend_dev_t dev) {
    return dev->context;
}

// ---- device ----------------------------------------------------------------------------------------------

static const char * device_name(ggml_backend_dev_t dev) {
    return of(dev)->name;
}

static const char * device_description(ggml_backend_dev_t dev) {
    (void) dev;
    return "a device that does not exist";
}

static void device_memory(ggml_backend_dev_t dev, size_t * free_bytes, size_t * total) {
    (void) dev;
    *free_bytes = *total = SIZE_MAX / 2;
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t dev) {
    (void) dev;
    return GGML_BACKEND_DEVICE_TYPE_GPU;
}

static void device_props(ggml_backend_dev_t dev, struct ggml_backend_dev_props * props) {
    props->name = device_name(dev);
    props->description = device_description(dev);
    props->type = device_type(dev);
    device_memory(dev, &props->memory_free, &props->memory_total);
}

static ggml_backend_t device_start(ggml_backend_dev_t dev, const char * params) {
    (void) params;
    return &of(dev)->backend;
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t dev) {
    return &of(dev)->type;
}

// The first name of a list, without blanks around it. The list goes behind the comma, NULL when it ends.
static struct name {
    const char * at;
    size_t n;
} take_name(const char ** list) {
    const char * at = *list + strspn(*list, " \t");
    size_t n = strcspn(at, ",");
    *list = at[n] == ',' ? at + n + 1 : NULL;
    while (n > 0 && (at[n - 1] == ' ' || at[n - 1] == '\t'))
        n--;
    return (struct name){ at, n };
}

static bool is_called(struct name a, const char * name) {
    return strlen(name) == a.n && memcmp(a.at, name, a.n) == 0;
}

static bool is_listed(const char * list, const char * name) {
    while (list) {
        if (is_called(take_name(&list), name)) return true;
    }
    return false;
}

static bool is_operator(struct name a) {
    for (int i = GGML_OP_NONE + 1; i < GGML_OP_COUNT; i++) {
        if (is_called(a, ggml_op_name(i))) return true;
    }
    for (int i = 0; i < GGML_UNARY_OP_COUNT; i++) {
        if (is_called(a, ggml_unary_op_name(i))) return true;
    }
    for (int i = 0; i < GGML_GLU_OP_COUNT; i++) {
        if (is_called(a, ggml_glu_op_name(i))) return true;
    }
    return false;
}

int pretend_check_list(const char * without) {
    while (without) {
        const struct name a = take_name(&without);
        if (a.n > 0 && is_operator(a)) continue;
        return usage("there is no operator '%.*s': operators are called SOFT_MAX, ROPE, SILU, ...",
                     (int) (a.n < 60 ? a.n : 60), a.at);
    }
    return EXIT_OK;
}

static bool device_supports_op(ggml_backend_dev_t dev, const struct ggml_tensor * op) {
    const char * name = ggml_op_desc(op);
    if (!is_listed(of(dev)->without, name) && !is_listed(of(dev)->without, ggml_op_name(op->op))) return true;
    ggml_ext_refuse("it is to be without %s", name);
    return false;
}

static bool device_supports_type(ggml_backend_dev_t dev, ggml_backend_buffer_type_t type) {
    return type == &of(dev)->type;
}

// ---- memory ----------------------------------------------------------------------------------------------

static const char * type_name(ggml_backend_buffer_type_t type) {
    return device_name(type->device);
}

static size_t type_alignment(ggml_backend_buffer_type_t type) {
    (void) type;
    return 256;
}

static void buffer_free(ggml_backend_buffer_t buffer) {
    (void) buffer;
}

static void * buffer_base(ggml_backend_buffer_t buffer) {
    (void) buffer;
    return (void *) 4096; // nobody looks there
}

static ggml_backend_buffer_t type_alloc(ggml_backend_buffer_type_t type, size_t size) {
    const struct ggml_backend_buffer_i iface = { .free_buffer = buffer_free, .get_base = buffer_base };
    return ggml_backend_buffer_init(type, iface, NULL, size);
}

// ---- back end --------------------------------------------------------------------------------------------

static const char * backend_name(ggml_backend_t backend) {
    return device_name(backend->device);
}

static void backend_free(ggml_backend_t backend) {
    (void) backend;
}

static enum ggml_status backend_compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    (void) backend, (void) graph;
    return GGML_STATUS_FAILED;
}

ggml_backend_dev_t pretend_device(int i, const char * without) {
    static ggml_guid guid = "tenon-pretended";
    struct pretended * p = &pretended[i];
    snprintf(p->name, sizeof(p->name), "Pretended%d", i);
    p->without = without;
    p->device = (struct ggml_backend_device){
        .iface = { .get_name = device_name,
                   .get_description = device_description,
                   .get_memory = device_memory,
                   .get_type = device_type,
                   .get_props = device_props,
                   .init_backend = device_start,
                   .get_buffer_type = device_buffer_type,
                   .supports_op = device_supports_op,
                   .supports_buft = device_supports_type },
        .context = p,
    };
    p->type = (struct ggml_backend_buffer_type){
        .iface = { .get_name = type_name, .alloc_buffer = type_alloc, .get_alignment = type_alignment },
        .device = &p->device,
    };
    p->backend = (struct ggml_backend){
        .guid = &guid,
        .iface = { .get_name = backend_name, .free = backend_free, .graph_compute = backend_compute },
        .device = &p->device,
    };
    return &p->device;
}
