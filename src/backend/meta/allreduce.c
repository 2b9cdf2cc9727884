// SPDX-License-Identifier: MIT
// The sum of the slices of one tensor, for all devices: by what their back ends offer for that, else in
// rounds of exchanges between pairs, else in host memory.
//
// With P the largest power of two of devices, those from P on first give their addend to device j - P; then
// device j and device j ^ distance exchange and add, for distances P/2 .. 1; then the devices from P on get
// the result. Both of a pair add the same two numbers, so all devices have the same bits in the end.
#include <string.h>

#include "backend/meta/meta_int.h"
#include "base/error.h"
#include "core/graph.h"

struct tn_allreduce {
    struct tn_meta_backend * b;
    void * comm; // of the back ends; NULL: they offer nothing
    ggml_backend_comm_free_t comm_free;
    ggml_backend_comm_allreduce_tensor_t comm_run;
    ggml_backend_event_t events[GGML_BACKEND_META_MAX_DEVICES]; // NULL: wait on the host instead
    ggml_backend_buffer_t rooms[GGML_BACKEND_META_MAX_DEVICES]; // for the other one's addend
    size_t room_size;
    // Back ends take what they need of these when they are given them.
    struct ggml_tensor other[GGML_BACKEND_META_MAX_DEVICES];
    struct ggml_tensor sum[GGML_BACKEND_META_MAX_DEVICES];
    bool on_devices; // all of them can add
};

// ---- life -------------------------------------------------------------------------------------------------

static void find_comm(struct tn_allreduce * r) {
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(r->b->meta->devices[0]);
    ggml_backend_comm_init_t init =
        (ggml_backend_comm_init_t) ggml_backend_reg_get_proc_address(reg, "ggml_backend_comm_init");
    r->comm_free =
        (ggml_backend_comm_free_t) ggml_backend_reg_get_proc_address(reg, "ggml_backend_comm_free");
    r->comm_run = (ggml_backend_comm_allreduce_tensor_t) ggml_backend_reg_get_proc_address(
        reg, "ggml_backend_comm_allreduce_tensor");
    if (init && r->comm_free && r->comm_run && r->b->n > 1) r->comm = init(r->b->backends, (size_t) r->b->n);
}

static bool can_add(ggml_backend_t backend) {
    struct ggml_tensor a = { .type = GGML_TYPE_F32, .ne = { 1, 1, 1, 1 }, .nb = { 4, 4, 4, 4 } };
    struct ggml_tensor sum = a;
    sum.op = GGML_OP_ADD;
    sum.src[0] = sum.src[1] = &a;
    return ggml_backend_supports_op(backend, &sum);
}

struct tn_allreduce * tn_allreduce_new(struct tn_meta_backend * b) {
    struct tn_allreduce * r = tn_mem_calloc(1, sizeof(*r), TN_MEM_OBJECT);
    if (!r) return NULL;
    r->b = b;
    r->on_devices = true;
    find_comm(r);
    for (int j = 0; j < b->n; j++) {
        const struct ggml_backend_i * iface = &b->backends[j]->iface;
        r->on_devices = r->on_devices && can_add(b->backends[j]);
        if (iface->event_record && iface->event_wait)
            r->events[j] = ggml_backend_event_new(b->meta->devices[j]);
    }
    return r;
}

static void free_rooms(struct tn_allreduce * r) {
    for (int j = 0; j < r->b->n; j++) {
        ggml_backend_buffer_free(r->rooms[j]);
        r->rooms[j] = NULL;
    }
    r->room_size = 0;
}

void tn_allreduce_free(struct tn_allreduce * r) {
    if (!r) return;
    for (int j = 0; j < r->b->n; j++)
        ggml_backend_synchronize(r->b->backends[j]);
    free_rooms(r);
    for (int j = 0; j < r->b->n; j++)
        ggml_backend_event_free(r->events[j]);
    if (r->comm) r->comm_free(r->comm);
    tn_mem_free(r);
}

bool tn_allreduce_reserve(struct tn_allreduce * r, size_t bytes) {
    if (bytes <= r->room_size || r->b->n == 1 || !r->on_devices) return true;
    for (int j = 0; j < r->b->n; j++) // earlier work may still use what is freed
        ggml_backend_synchronize(r->b->backends[j]);
    free_rooms(r);
    for (int j = 0; j < r->b->n; j++) {
        r->rooms[j] = ggml_backend_alloc_buffer(r->b->backends[j], bytes);
        if (r->rooms[j]) continue;
        free_rooms(r);
        tn_error_prefix("device %s, room for sums", ggml_backend_dev_name(r->b->meta->devices[j]));
        return false;
    }
    r->room_size = bytes;
    return true;
}

// ---- order ------------------------------------------------------------------------------------------------

// Later work of device j comes after all of device k's so far.
static void follow(struct tn_allreduce * r, int j, int k) {
    ggml_backend_t after = r->b->backends[j], before = r->b->backends[k];
    const bool alike = after->iface.event_wait == before->iface.event_wait; // of the same making
    if (!r->events[k] || !alike) {
        ggml_backend_synchronize(before);
        return;
    }
    ggml_backend_event_record(r->events[k], before);
    ggml_backend_event_wait(after, r->events[k]);
}

static void meet(struct tn_allreduce * r, int j, int k) {
    follow(r, j, k);
    follow(r, k, j);
}

// ---- exchange ---------------------------------------------------------------------------------------------

static bool make_room(struct tn_allreduce * r, const struct ggml_tensor * slice, int j) {
    struct ggml_tensor * other = &r->other[j];
    *other = (struct ggml_tensor){ .type = slice->type, .flags = 0 };
    memcpy(other->ne, slice->ne, sizeof(other->ne));
    memcpy(other->nb, slice->nb, sizeof(other->nb));
    memcpy(other->name, slice->name, sizeof(other->name));
    char * base = ggml_backend_buffer_get_base(r->rooms[j]);
    return ggml_backend_tensor_alloc(r->rooms[j], other, base) == GGML_STATUS_SUCCESS;
}

// The slice of device j into the room of device k.
static bool send(struct tn_allreduce * r, const struct tn_slices * s, int j, int k) {
    if (!make_room(r, s->of[k], k)) return false;
    ggml_backend_tensor_copy_async(r->b->backends[j], r->b->backends[k], s->of[j], &r->other[k]);
    return true;
}

static enum ggml_status add(struct tn_allreduce * r, const struct tn_slices * s, int j) {
    struct ggml_tensor *sum = &r->sum[j], *slice = s->of[j];
    *sum = *slice;
    sum->op = GGML_OP_ADD;
    sum->flags = GGML_TENSOR_FLAG_COMPUTE;
    memset(sum->op_params, 0, sizeof(sum->op_params));
    memset(sum->src, 0, sizeof(sum->src));
    sum->src[0] = slice;
    sum->src[1] = &r->other[j];
    sum->view_src = slice->view_src ? slice->view_src : slice;
    struct ggml_cgraph graph = { .n_nodes = 1, .nodes = &sum };
    return ggml_backend_graph_compute_async(r->b->backends[j], &graph);
}

// Device k gets the addend of device j too; with `both`, also the other way round.
static enum ggml_status round_of(struct tn_allreduce * r, const struct tn_slices * s, int j, int k,
                                 bool both) {
    meet(r, j, k);
    if (!send(r, s, j, k) || (both && !send(r, s, k, j))) return GGML_STATUS_ALLOC_FAILED;
    meet(r, j, k);
    TN_TRY(add(r, s, k));
    return both ? add(r, s, j) : GGML_STATUS_SUCCESS;
}

static void give_back(struct tn_allreduce * r, const struct tn_slices * s, int j, int k) {
    meet(r, j, k);
    ggml_backend_tensor_copy_async(r->b->backends[j], r->b->backends[k], s->of[j], s->of[k]);
    meet(r, j, k);
}

static enum ggml_status exchange(struct tn_allreduce * r, const struct tn_slices * s) {
    int p = 1;
    while (2 * p <= r->b->n)
        p *= 2;
    for (int j = p; j < r->b->n; j++)
        TN_TRY(round_of(r, s, j, j - p, false));
    for (int distance = p / 2; distance > 0; distance /= 2) {
        for (int j = 0; j < p; j++) {
            if ((j & distance) == 0) TN_TRY(round_of(r, s, j, j ^ distance, true));
        }
    }
    for (int j = p; j < r->b->n; j++)
        give_back(r, s, j - p, j);
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status sum_on_host(struct tn_allreduce * r, struct tn_slices * s) {
    const size_t size = ggml_nbytes(s->tensor);
    float * sum = tn_mem_alloc(size, TN_MEM_WORK);
    if (!sum) return GGML_STATUS_ALLOC_FAILED;
    struct tn_partition axis;
    tn_partition_whole(&axis, GGML_BACKEND_SPLIT_AXIS_PARTIAL, r->b->n);
    tn_partition_copy(s->partition, &axis, r->b->n);
    const bool good = tn_scatter_get(s, r->b->n, r->b->backends, sum, 0, size);
    s->partition->axis = GGML_BACKEND_SPLIT_AXIS_MIRRORED;
    if (good) tn_scatter_set(s, r->b->n, NULL, sum, 0, size);
    tn_mem_free(sum);
    return good ? GGML_STATUS_SUCCESS : GGML_STATUS_ALLOC_FAILED;
}

enum ggml_status tn_allreduce_run(struct tn_allreduce * r, struct tn_slices * s) {
    if (r->b->n == 1 || ggml_is_empty(s->tensor)) return GGML_STATUS_SUCCESS;
    if (r->comm && r->comm_run(r->comm, s->of)) return GGML_STATUS_SUCCESS;
    return r->on_devices ? exchange(r, s) : sum_on_host(r, s);
}
