// SPDX-License-Identifier: MIT
// A world of fake devices: its registry entry, its faults, and the devices' own tables.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake/fake_int.h"
#include "ggml-cpu.h"

static const char * reg_name(ggml_backend_reg_t reg) {
    (void) reg;
    return "Fake";
}

static size_t reg_device_count(ggml_backend_reg_t reg) {
    return (size_t) ((struct fake_world *) reg->context)->n_devices;
}

static ggml_backend_dev_t reg_device(ggml_backend_reg_t reg, size_t index) {
    struct fake_world * world = reg->context;
    return index < (size_t) world->n_devices ? &world->devices[index]->device : NULL;
}

static void * reg_function(ggml_backend_reg_t reg, const char * name) {
    return strcmp(name, "fake_world") == 0 ? reg->context : NULL;
}

struct fake_world * fake_world_new(uint64_t seed) {
    struct fake_world * world = calloc(1, sizeof(*world));
    if (!world) return NULL;
    pthread_mutex_init(&world->mutex, NULL);
    pthread_cond_init(&world->moved, NULL);
    world->rng = seed;
    world->reg = (struct ggml_backend_reg){
        .api_version = GGML_BACKEND_API_VERSION,
        .iface = { reg_name, reg_device_count, reg_device, reg_function },
        .context = world,
    };
    return world;
}

int fake_world_free(struct fake_world * world) {
    const int live = world->live;
    for (int i = 0; i < FAKE_QUEUES; i++) {
        if (world->queues[i]) fake_queue_free(world->queues[i]);
    }
    for (int i = 0; i < world->n_devices; i++)
        free(world->devices[i]);
    fake_history_free(&world->outside);
    pthread_cond_destroy(&world->moved);
    pthread_mutex_destroy(&world->mutex);
    free(world);
    return live;
}

int fake_world_faults(struct fake_world * world) {
    pthread_mutex_lock(&world->mutex);
    const int n = world->n_faults;
    pthread_mutex_unlock(&world->mutex);
    return n;
}

const char * fake_world_fault(const struct fake_world * world) {
    return world->fault;
}

void fake_world_forget(struct fake_world * world) {
    world->n_faults = 0;
    world->fault[0] = '\0';
}

ggml_backend_reg_t fake_world_reg(struct fake_world * world) {
    return &world->reg;
}

void fake_fault(struct fake_world * world, const char * fmt, ...) {
    va_list args;
    va_start(args, fmt);
    pthread_mutex_lock(&world->mutex);
    if (world->n_faults++ == 0) vsnprintf(world->fault, sizeof(world->fault), fmt, args);
    pthread_mutex_unlock(&world->mutex);
    va_end(args);
}

struct fake_stamp fake_host_stamp(struct fake_world * world, const char * fmt, ...) {
    struct fake_stamp s = { .queue = FAKE_HOST,
                            .number = ++world->numbers[FAKE_HOST],
                            .before = world->host };
    va_list args;
    va_start(args, fmt);
    vsnprintf(s.what, sizeof(s.what), fmt, args);
    va_end(args);
    world->host.at[FAKE_HOST] = s.number;
    return s;
}

bool fake_turn(int * n) {
    return *n > 0 && --*n == 0;
}

// ---- devices --------------------------------------------------------------------------------------------

static struct fake_device * device_of(ggml_backend_dev_t dev) {
    return dev->context;
}

static const char * device_name(ggml_backend_dev_t dev) {
    return device_of(dev)->name;
}

static const char * device_description(ggml_backend_dev_t dev) {
    (void) dev;
    return "a device that does not exist";
}

static void device_memory(ggml_backend_dev_t dev, size_t * free, size_t * total) {
    *total = (size_t) 1 << 32;
    *free = *total - device_of(dev)->counts.bytes;
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t dev) {
    return device_of(dev)->options.type;
}

static void device_props(ggml_backend_dev_t dev, struct ggml_backend_dev_props * props) {
    const struct fake_options * o = &device_of(dev)->options;
    props->name = device_name(dev);
    props->description = device_description(dev);
    props->type = o->type;
    device_memory(dev, &props->memory_free, &props->memory_total);
    props->caps.async = o->mode != FAKE_AT_ONCE;
    props->caps.host_buffer = o->host_buffers;
    props->caps.buffer_from_host_ptr = o->from_host_ptr;
    props->caps.events = o->events;
}

static ggml_backend_t device_init(ggml_backend_dev_t dev, const char * params) {
    (void) params;
    struct fake_device * d = device_of(dev);
    return fake_turn(&d->orders.start) || d->orders.lost ? NULL : fake_backend_new(d);
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t dev) {
    return &device_of(dev)->type;
}

static ggml_backend_buffer_type_t device_host_type(ggml_backend_dev_t dev) {
    return device_of(dev)->options.host_buffers ? &device_of(dev)->host_type : NULL;
}

static ggml_backend_buffer_t device_from_host_ptr(ggml_backend_dev_t dev, void * ptr, size_t size,
                                                  size_t max_tensor_size) {
    (void) max_tensor_size;
    struct fake_device * d = device_of(dev);
    return d->options.from_host_ptr && ptr && !d->orders.lost ? fake_memory_wrap(d, ptr, size) : NULL;
}

static bool has_type(const struct fake_device * d, const struct ggml_tensor * t) {
    return (d->options.types >> t->type & 1) != 0;
}

static bool is_able(const struct fake_device * d, const struct ggml_tensor * node) {
    if (node->op != GGML_OP_NONE && node->op == d->orders.lies_about) return true;
    if ((d->options.ops[node->op / 64] >> (node->op % 64) & 1) == 0 || !has_type(d, node)) return false;
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (node->src[i] && !has_type(d, node->src[i])) return false;
    }
    return true;
}

// What the CPU cannot compute this device cannot either.
static bool device_supports_op(ggml_backend_dev_t dev, const struct ggml_tensor * node) {
    return is_able(device_of(dev), node) &&
           ggml_backend_dev_supports_op(ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0), node);
}

static bool device_supports_buft(ggml_backend_dev_t dev, ggml_backend_buffer_type_t buft) {
    struct fake_device * d = device_of(dev);
    if (buft == &d->type || buft == &d->mapped_type) return true;
    return ggml_backend_buft_is_host(buft) && (d->options.host_memory || d->options.reads_host);
}

static bool device_offload_op(ggml_backend_dev_t dev, const struct ggml_tensor * node) {
    (void) node;
    return device_of(dev)->options.offloads;
}

static const struct ggml_backend_device_i device_iface = {
    .get_name = device_name,
    .get_description = device_description,
    .get_memory = device_memory,
    .get_type = device_type,
    .get_props = device_props,
    .init_backend = device_init,
    .get_buffer_type = device_buffer_type,
    .get_host_buffer_type = device_host_type,
    .buffer_from_host_ptr = device_from_host_ptr,
    .supports_op = device_supports_op,
    .supports_buft = device_supports_buft,
    .offload_op = device_offload_op,
    .event_new = fake_event_new,
    .event_free = fake_event_free,
    .event_synchronize = fake_event_synchronize,
};

struct fake_options fake_options_default(void) {
    return (struct fake_options){
        .type = GGML_BACKEND_DEVICE_TYPE_GPU,
        .mode = FAKE_LAZY,
        .host_buffers = true,
        .from_host_ptr = true,
        .alignment = 64,
        .max_size = SIZE_MAX,
        .async_transfers = true,
        .async_copies = true,
        .copies = true,
        .transfers_2d = true,
        .events = true,
        .ops = { UINT64_MAX, UINT64_MAX },
        .types = UINT64_MAX,
    };
}

struct fake_device * fake_device_new(struct fake_world * world, struct fake_options options) {
    struct fake_device * d = world->n_devices < FAKE_DEVICES ? calloc(1, sizeof(*d)) : NULL;
    if (!d) return NULL;
    const char * name = options.name ? options.name : "";
    if (name[0])
        snprintf(d->name, sizeof(d->name), "%s", name);
    else
        snprintf(d->name, sizeof(d->name), "Fake%d", world->n_devices);
    d->options = options;
    d->options.name = d->name;
    d->world = world;
    d->device = (struct ggml_backend_device){ device_iface, &world->reg, d };
    if (!options.events || options.mode == FAKE_AT_ONCE) {
        d->options.events = false;
        d->device.iface.event_new = NULL;
        d->device.iface.event_free = NULL;
        d->device.iface.event_synchronize = NULL;
    }
    if (!options.from_host_ptr) d->device.iface.buffer_from_host_ptr = NULL;
    if (!options.host_buffers) d->device.iface.get_host_buffer_type = NULL;
    fake_memory_init_types(d);
    world->devices[world->n_devices++] = d;
    return d;
}

ggml_backend_t fake_device_start(struct fake_device * device) {
    return ggml_backend_dev_init(&device->device, NULL);
}
