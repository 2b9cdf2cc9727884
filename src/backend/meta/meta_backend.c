// SPDX-License-Identifier: MIT
// The back end object of a meta device: one simple back end for each of its devices.
#include <string.h>

#include "backend/meta/meta_int.h"
#include "base/error.h"

static ggml_guid guid = { 0x74, 0x65, 0x6e, 0x6f, 0x6e, 0x2d, 0x6d, 0x65,
                          0x74, 0x61, 0x2d, 0x64, 0x65, 0x76, 0x5c, 0x13 };

static struct tn_meta_backend * of(ggml_backend_t backend) {
    return backend->context;
}

static const char * meta_name(ggml_backend_t backend) {
    return of(backend)->meta->name;
}

static void release(struct tn_meta_backend * b) {
    if (!b) return;
    tn_pieces_free(b->pieces);
    tn_allreduce_free(b->allreduce);
    for (int j = b->n - 1; j >= 0; j--)
        ggml_backend_free(b->backends[j]);
    tn_mem_free(b);
}

static void meta_free(ggml_backend_t backend) {
    release(of(backend));
    tn_mem_free(backend);
}

static void meta_synchronize(ggml_backend_t backend) {
    for (int j = 0; j < of(backend)->n; j++)
        ggml_backend_synchronize(of(backend)->backends[j]);
}

static void meta_set_async(ggml_backend_t backend, struct ggml_tensor * t, const void * data, size_t offset,
                           size_t size) {
    struct tn_meta_backend * b = of(backend);
    const struct tn_slices * s = tn_slices_find(b->meta, t);
    if (!s || !tn_scatter_set(s, b->n, b->backends, data, offset, size))
        tn_iface_refuse("set_tensor_async", "%s", tn_error_text());
}

static void meta_get_async(ggml_backend_t backend, const struct ggml_tensor * t, void * data, size_t offset,
                           size_t size) {
    struct tn_meta_backend * b = of(backend);
    const struct tn_slices * s = tn_slices_find(b->meta, t);
    if (!s || !tn_scatter_get(s, b->n, b->backends, data, offset, size))
        tn_iface_refuse("get_tensor_async", "%s", tn_error_text());
}

static enum ggml_status meta_compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    const enum ggml_status status = tn_pieces_compute(of(backend), graph);
    if (status != GGML_STATUS_SUCCESS) tn_iface_refuse(meta_name(backend), "%s", tn_error_text());
    return status;
}

static const struct ggml_backend_i meta_iface = {
    .get_name = meta_name,
    .free = meta_free,
    .set_tensor_async = meta_set_async,
    .get_tensor_async = meta_get_async,
    .synchronize = meta_synchronize,
    .graph_compute = meta_compute,
};

static bool start(struct tn_meta_backend * b, const char * params) {
    for (; b->n < b->meta->n; b->n++) {
        b->backends[b->n] = ggml_backend_dev_init(b->meta->devices[b->n], params);
        if (!b->backends[b->n]) return false;
    }
    b->pieces = tn_pieces_new();
    b->allreduce = b->pieces ? tn_allreduce_new(b) : NULL;
    return b->allreduce;
}

ggml_backend_t tn_meta_backend_new(struct tn_meta_device * meta, const char * params) {
    struct tn_meta_backend * b = tn_mem_calloc(1, sizeof(*b), TN_MEM_OBJECT);
    ggml_backend_t backend = b ? tn_mem_calloc(1, sizeof(*backend), TN_MEM_OBJECT) : NULL;
    if (b) b->meta = meta;
    if (!backend || !start(b, params)) {
        release(b);
        tn_mem_free(backend);
        return NULL;
    }
    *backend = (struct ggml_backend){ &guid, meta_iface, &meta->device, b };
    return backend;
}

// ---- questions --------------------------------------------------------------------------------------------

bool ggml_backend_is_meta(ggml_backend_t backend) {
    return backend && ggml_guid_matches(backend->guid, &guid);
}

static bool check(const char * function, ggml_backend_t backend) {
    return ggml_backend_is_meta(backend) ||
           tn_iface_refuse(function, "back end %s does not consist of several", ggml_backend_name(backend));
}

size_t ggml_backend_meta_n_backends(ggml_backend_t meta_backend) {
    return check(__func__, meta_backend) ? (size_t) of(meta_backend)->n : 0;
}

ggml_backend_t ggml_backend_meta_simple_backend(ggml_backend_t meta_backend, size_t index) {
    if (!check(__func__, meta_backend)) return NULL;
    const size_t n = (size_t) of(meta_backend)->n;
    if (index < n) return of(meta_backend)->backends[index];
    tn_iface_refuse(__func__, "there is no back end %zu of %zu in %s", index, n, meta_name(meta_backend));
    return NULL;
}
