// SPDX-License-Identifier: MIT
// Back ends: names, graphs, plans and questions, as calls through their tables.
#include "backend/iface.h"
#include "backend/use.h"
#include "base/error.h"
#include "core/graph.h"

static bool check_backend(const char * function, ggml_backend_t backend) {
    return backend || tn_iface_refuse(function, "the back end is NULL");
}

ggml_guid_t ggml_backend_guid(ggml_backend_t backend) {
    return backend ? backend->guid : NULL;
}

const char * ggml_backend_name(ggml_backend_t backend) {
    return backend ? backend->iface.get_name(backend) : "NULL";
}

ggml_backend_dev_t ggml_backend_get_device(ggml_backend_t backend) {
    return backend ? backend->device : NULL;
}

void ggml_backend_free(ggml_backend_t backend) {
    if (!backend) return;
    tn_use_end(backend); // first: afterwards its address may be that of another
    backend->iface.free(backend);
}

// ---- memory of its device -------------------------------------------------------------------------------

ggml_backend_buffer_type_t ggml_backend_get_default_buffer_type(ggml_backend_t backend) {
    return check_backend(__func__, backend) ? ggml_backend_dev_buffer_type(backend->device) : NULL;
}

ggml_backend_buffer_t ggml_backend_alloc_buffer(ggml_backend_t backend, size_t size) {
    if (!check_backend(__func__, backend)) return NULL;
    return ggml_backend_buft_alloc_buffer(ggml_backend_get_default_buffer_type(backend), size);
}

size_t ggml_backend_get_alignment(ggml_backend_t backend) {
    return ggml_backend_buft_get_alignment(ggml_backend_get_default_buffer_type(backend));
}

size_t ggml_backend_get_max_size(ggml_backend_t backend) {
    return ggml_backend_buft_get_max_size(ggml_backend_get_default_buffer_type(backend));
}

// ---- graphs ---------------------------------------------------------------------------------------------

void ggml_backend_synchronize(ggml_backend_t backend) {
    if (check_backend(__func__, backend) && backend->iface.synchronize) backend->iface.synchronize(backend);
}

static bool check_graph(const char * function, ggml_backend_t backend, const struct ggml_cgraph * graph) {
    if (!check_backend(function, backend)) return false;
    return tn_graph_usable(graph) || tn_iface_refuse(function, "%s", tn_error_text());
}

enum ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend, struct ggml_cgraph * cgraph) {
    if (!check_graph(__func__, backend, cgraph)) return GGML_STATUS_FAILED;
    return backend->iface.graph_compute(backend, cgraph);
}

enum ggml_status ggml_backend_graph_compute(ggml_backend_t backend, struct ggml_cgraph * cgraph) {
    if (!check_graph(__func__, backend, cgraph)) return GGML_STATUS_FAILED;
    const enum ggml_status status = backend->iface.graph_compute(backend, cgraph);
    ggml_backend_synchronize(backend);
    return status;
}

ggml_backend_graph_plan_t ggml_backend_graph_plan_create(ggml_backend_t backend,
                                                         struct ggml_cgraph * cgraph) {
    if (!check_graph(__func__, backend, cgraph)) return NULL;
    if (backend->iface.graph_plan_create) return backend->iface.graph_plan_create(backend, cgraph);
    tn_iface_refuse(__func__, "back end %s prepares no graphs", ggml_backend_name(backend));
    return NULL;
}

enum ggml_status ggml_backend_graph_plan_compute(ggml_backend_t backend, ggml_backend_graph_plan_t plan) {
    if (!check_backend(__func__, backend)) return GGML_STATUS_FAILED;
    if (plan && backend->iface.graph_plan_compute) return backend->iface.graph_plan_compute(backend, plan);
    tn_iface_refuse(__func__, plan ? "back end %s prepares no graphs" : "back end %s was given no plan",
                    ggml_backend_name(backend));
    return GGML_STATUS_FAILED;
}

void ggml_backend_graph_plan_free(ggml_backend_t backend, ggml_backend_graph_plan_t plan) {
    if (!plan || !check_backend(__func__, backend)) return;
    if (backend->iface.graph_plan_free) backend->iface.graph_plan_free(backend, plan);
}

// ---- questions that its device answers ------------------------------------------------------------------

bool ggml_backend_supports_op(ggml_backend_t backend, const struct ggml_tensor * op) {
    return check_backend(__func__, backend) && ggml_backend_dev_supports_op(backend->device, op);
}

bool ggml_backend_supports_buft(ggml_backend_t backend, ggml_backend_buffer_type_t buft) {
    return check_backend(__func__, backend) && ggml_backend_dev_supports_buft(backend->device, buft);
}

bool ggml_backend_offload_op(ggml_backend_t backend, const struct ggml_tensor * op) {
    return check_backend(__func__, backend) && ggml_backend_dev_offload_op(backend->device, op);
}
