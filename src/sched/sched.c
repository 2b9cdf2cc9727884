// SPDX-License-Identifier: MIT
// The scheduler object: its life, its states, and the public calls.
#include <stdlib.h>

#include "base/env.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "sched/sched_int.h"

// ---- life ------------------------------------------------------------------------------------------------

static bool check_backends(ggml_backend_t * backends, ggml_backend_buffer_type_t * bufts, int n) {
    if (!backends || n < 1 || n > TN_SCHED_BACKENDS) {
        return tn_refuse("%d back ends: 1 to %d can be", backends ? n : 0, TN_SCHED_BACKENDS);
    }
    for (int i = 0; i < n; i++) {
        if (!backends[i]) return tn_refuse("back end %d is NULL", i);
        ggml_backend_buffer_type_t buft =
            bufts ? bufts[i] : ggml_backend_get_default_buffer_type(backends[i]);
        if (!buft) return tn_refuse("back end %d (%s) has no buffer type", i, ggml_backend_name(backends[i]));
        if (!ggml_backend_supports_buft(backends[i], buft)) {
            return tn_refuse("back end %d (%s) cannot use %s memory", i, ggml_backend_name(backends[i]),
                             ggml_backend_buft_name(buft));
        }
    }
    if (ggml_backend_dev_type(backends[n - 1]->device) == GGML_BACKEND_DEVICE_TYPE_CPU) return true;
    return tn_refuse("the last back end is %s, which is not the processor",
                     ggml_backend_name(backends[n - 1]));
}

// The types of all back ends, each with those that can use it.
static bool find_types(struct ggml_backend_sched * s) {
    for (int i = 0; i < s->n_backends; i++) {
        int t = 0;
        while (t < s->n_types && s->types.items[t].buft != s->bufts[i])
            t++;
        s->type_of[i] = (int16_t) t;
        if (t < s->n_types) continue;
        if (!TN_ARRAY_RESERVE(&s->types, 1, TN_MEM_OBJECT)) return false;
        struct tn_sched_type * type = &s->types.items[s->types.count++];
        *type = (struct tn_sched_type){ .buft = s->bufts[i] };
        s->n_types++;
        for (int b = 0; b < s->n_backends; b++) {
            const bool can = ggml_backend_supports_buft(s->queues[b].backend, type->buft);
            if (can) type->readers |= (uint16_t) (1u << b);
        }
    }
    return true;
}

static int debug_level(void) {
    const char * text = tn_env_get(TN_ENV_GGML_SCHED_DEBUG);
    return text ? atoi(text) : 0;
}

// Clients count on what the hash of this size that was once behind it takes: the next power of two.
static size_t room_for(size_t graph_size) {
    size_t room = 1;
    while (room < graph_size && room <= SIZE_MAX / 2)
        room *= 2;
    return room;
}

static bool init(struct ggml_backend_sched * s, ggml_backend_t * backends,
                 ggml_backend_buffer_type_t * bufts) {
    for (int i = 0; i < s->n_backends; i++) {
        s->queues[i].backend = backends[i];
        s->bufts[i] = bufts ? bufts[i] : ggml_backend_get_default_buffer_type(backends[i]);
    }
    if (!find_types(s)) return false;
    s->main = ggml_gallocr_new_n(s->bufts, s->n_backends);
    s->inputs = s->n_copies > 1 ? ggml_gallocr_new_n(s->bufts, s->n_backends) : NULL;
    s->story = tn_trace_new();
    if (!s->main || (s->n_copies > 1 && !s->inputs) || !s->story) return false;
    for (int i = 0; i < s->n_backends; i++)
        tn_queue_init(s, i);
    return true;
}

ggml_backend_sched_t ggml_backend_sched_new(ggml_backend_t * backends, ggml_backend_buffer_type_t * bufts,
                                            int n_backends, size_t graph_size, bool parallel,
                                            bool op_offload) {
    if (!check_backends(backends, bufts, n_backends)) {
        tn_iface_refuse(__func__, "%s", tn_error_text());
        return NULL;
    }
    struct ggml_backend_sched * s = tn_mem_calloc(1, sizeof(*s), TN_MEM_OBJECT);
    if (!s) return NULL;
    s->n_backends = n_backends;
    s->n_copies = parallel ? TN_SCHED_INSTANCES : 1;
    s->op_offload = op_offload;
    s->debug = debug_level();
    s->max_tensors = room_for(graph_size);
    if (init(s, backends, bufts)) return s;
    tn_iface_refuse(__func__, "%s", tn_error_text());
    ggml_backend_sched_free(s);
    return NULL;
}

static void free_list(struct tn_sched_list * list) {
    TN_ARRAY_FREE(&list->ids);
    TN_ARRAY_FREE(&list->tensors);
}

static void free_graph(struct ggml_backend_sched * s) {
    TN_ARRAY_FREE(&s->experts.used);
    free_list(&s->plan_inputs);
    free_list(&s->plan_leafs);
    free_list(&s->plan_nodes);
    tn_copies_free(&s->pool);
    tn_ptrset_free(&s->keeps_until);
    TN_ARRAY_FREE(&s->keeps);
    TN_ARRAY_FREE(&s->wires);
    TN_ARRAY_FREE(&s->copies);
    TN_ARRAY_FREE(&s->splits);
    TN_ARRAY_FREE(&s->order_ids);
    TN_ARRAY_FREE(&s->order);
    TN_ARRAY_FREE(&s->edges);
    TN_ARRAY_FREE(&s->nodes);
    TN_ARRAY_FREE(&s->tensors);
    tn_index_free(s);
    tn_ptrset_free(&s->placed);
}

void ggml_backend_sched_free(ggml_backend_sched_t sched) {
    if (!sched) return;
    for (int i = 0; i < sched->n_backends; i++)
        tn_queue_fini(sched, i);
    free_graph(sched);
    tn_trace_free(sched->story);
    ggml_gallocr_free(sched->inputs);
    ggml_gallocr_free(sched->main);
    TN_ARRAY_FREE(&sched->types);
    tn_mem_free(sched);
}

// ---- states ----------------------------------------------------------------------------------------------

static bool check(const char * function, ggml_backend_sched_t sched) {
    return sched || tn_iface_refuse(function, "the scheduler is NULL");
}

static void reset(struct ggml_backend_sched * s) {
    tn_ptrset_clear(&s->placed);
    s->placement_lost = false;
    s->state = TN_SCHED_RESET;
}

// Back ends are asked a lot: their answers are not failures of the caller's.
static bool split_graph(struct ggml_backend_sched * s, struct ggml_cgraph * graph) {
    char before[TN_ERROR_MAX];
    tn_str_copy(before, sizeof(before), tn_error_text());
    s->state = TN_SCHED_RESET;
    if (s->placement_lost) return tn_refuse("out of memory: a placement by the caller could not be noted");
    if (!tn_gather_graph(s, graph)) return false;
    tn_trace_begin(s);
    if (!tn_assign_graph(s) || !tn_split_graph(s)) return false;
    if (!tn_memory_list(s) || !tn_trace_record(s)) {
        tn_split_undo(s);
        return false;
    }
    if (s->debug > 0) tn_trace_log(s);
    s->state = TN_SCHED_SPLIT;
    tn_error_set("%s", before);
    return true;
}

void ggml_backend_sched_reset(ggml_backend_sched_t sched) {
    if (check(__func__, sched)) reset(sched);
}

void ggml_backend_sched_synchronize(ggml_backend_sched_t sched) {
    if (!check(__func__, sched)) return;
    tn_queue_finish_all(sched);
    if (sched->state != TN_SCHED_ALLOCATED) sched->next = 0;
}

void ggml_backend_sched_split_graph(ggml_backend_sched_t sched, struct ggml_cgraph * graph) {
    if (!check(__func__, sched)) return;
    if (!split_graph(sched, graph)) tn_iface_refuse(__func__, "%s", tn_error_text());
}

bool ggml_backend_sched_reserve(ggml_backend_sched_t sched, struct ggml_cgraph * measure_graph) {
    if (!check(__func__, sched)) return false;
    tn_queue_finish_all(sched);
    bool done = split_graph(sched, measure_graph);
    if (done) {
        done = tn_memory_reserve(sched);
        tn_split_undo(sched);
    }
    reset(sched);
    return done || tn_iface_refuse(__func__, "%s", tn_error_text());
}

void ggml_backend_sched_reserve_size(ggml_backend_sched_t sched, struct ggml_cgraph * measure_graph,
                                     size_t * sizes) {
    if (!check(__func__, sched)) return;
    if (!sizes) {
        tn_iface_refuse(__func__, "there is no place for the sizes");
        return;
    }
    reset(sched);
    tn_queue_finish_all(sched);
    bool done = split_graph(sched, measure_graph);
    if (done) {
        done = tn_memory_measure(sched, sizes);
        tn_split_undo(sched);
    }
    if (done) return;
    for (int i = 0; i < sched->n_backends; i++)
        sizes[i] = SIZE_MAX;
    tn_iface_refuse(__func__, "%s", tn_error_text());
}

// The instance may still be in use by the graph that had it last. Without instances nothing is in flight.
static void wait_for_instance(struct ggml_backend_sched * s) {
    struct tn_touch touch = { 0 };
    touch.writes[TN_MEMORY_INSTANCE + s->cur] = UINT32_MAX;
    if (s->n_copies > 1) {
        tn_queue_settle(s, &touch);
    } else {
        tn_queue_finish_all(s);
    }
}

static bool alloc_graph(struct ggml_backend_sched * s, struct ggml_cgraph * graph) {
    s->cur = s->next;
    s->next = (s->next + 1) % s->n_copies;
    wait_for_instance(s);
    if (!split_graph(s, graph)) return false;
    if (tn_memory_alloc(s)) {
        s->state = TN_SCHED_ALLOCATED;
        return true;
    }
    tn_split_undo(s);
    s->state = TN_SCHED_RESET;
    return false;
}

bool ggml_backend_sched_alloc_graph(ggml_backend_sched_t sched, struct ggml_cgraph * graph) {
    if (!check(__func__, sched)) return false;
    if (sched->state == TN_SCHED_ALLOCATED) {
        return tn_iface_refuse(__func__, "a graph is allocated: ggml_backend_sched_reset() first");
    }
    return alloc_graph(sched, graph) || tn_iface_refuse(__func__, "%s", tn_error_text());
}

static enum ggml_status compute_async(const char * function, struct ggml_backend_sched * s,
                                      struct ggml_cgraph * graph) {
    if (s->state != TN_SCHED_ALLOCATED) {
        if (s->state == TN_SCHED_SPLIT) reset(s);
        if (!alloc_graph(s, graph)) {
            tn_iface_refuse(function, "%s", tn_error_text());
            return GGML_STATUS_ALLOC_FAILED;
        }
    }
    char before[TN_ERROR_MAX];
    tn_str_copy(before, sizeof(before), tn_error_text());
    const enum ggml_status status = tn_run_splits(s);
    if (status == GGML_STATUS_SUCCESS) {
        tn_error_set("%s", before);
    } else {
        tn_iface_refuse(function, "%s", tn_error_text());
    }
    return status;
}

enum ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t sched,
                                                        struct ggml_cgraph * graph) {
    return check(__func__, sched) ? compute_async(__func__, sched, graph) : GGML_STATUS_FAILED;
}

enum ggml_status ggml_backend_sched_graph_compute(ggml_backend_sched_t sched, struct ggml_cgraph * graph) {
    if (!check(__func__, sched)) return GGML_STATUS_FAILED;
    const enum ggml_status status = compute_async(__func__, sched, graph);
    ggml_backend_sched_synchronize(sched);
    return status;
}

void ggml_backend_sched_set_eval_callback(ggml_backend_sched_t sched,
                                          ggml_backend_sched_eval_callback callback, void * user_data) {
    if (!check(__func__, sched)) return;
    sched->callback = callback;
    sched->callback_data = user_data;
}

// ---- questions and placements ----------------------------------------------------------------------------

int ggml_backend_sched_get_n_backends(ggml_backend_sched_t sched) {
    return sched ? sched->n_backends : 0;
}

ggml_backend_t ggml_backend_sched_get_backend(ggml_backend_sched_t sched, int i) {
    return sched && i >= 0 && i < sched->n_backends ? sched->queues[i].backend : NULL;
}

int ggml_backend_sched_get_n_splits(ggml_backend_sched_t sched) {
    return sched ? (int) sched->splits.count : 0;
}

int ggml_backend_sched_get_n_copies(ggml_backend_sched_t sched) {
    return sched ? sched->n_copies : 0;
}

// -1 with a refusal.
static int index_of(const char * function, ggml_backend_sched_t sched, ggml_backend_t backend) {
    for (int i = 0; sched && i < sched->n_backends; i++) {
        if (sched->queues[i].backend == backend) return i;
    }
    if (check(function, sched)) {
        tn_iface_refuse(function, "back end %s is not one of the scheduler's", ggml_backend_name(backend));
    }
    return -1;
}

ggml_backend_buffer_type_t ggml_backend_sched_get_buffer_type(ggml_backend_sched_t sched,
                                                              ggml_backend_t backend) {
    const int i = index_of(__func__, sched, backend);
    return i >= 0 ? sched->bufts[i] : NULL;
}

size_t ggml_backend_sched_get_buffer_size(ggml_backend_sched_t sched, ggml_backend_t backend) {
    const int i = index_of(__func__, sched, backend);
    if (i < 0) return 0;
    return ggml_gallocr_get_buffer_size(sched->main, i) + ggml_gallocr_get_buffer_size(sched->inputs, i);
}

void ggml_backend_sched_set_tensor_backend(ggml_backend_sched_t sched, struct ggml_tensor * node,
                                           ggml_backend_t backend) {
    const int i = index_of(__func__, sched, backend);
    if (i < 0 || !tn_iface_check_tensor(__func__, node)) return;
    int64_t * place = tn_ptrset_put(&sched->placed, node, NULL);
    if (place) {
        *place = i;
    } else {
        sched->placement_lost = true;
        tn_iface_refuse(__func__, "%s", tn_error_text());
    }
}

ggml_backend_t ggml_backend_sched_get_tensor_backend(ggml_backend_sched_t sched, struct ggml_tensor * node) {
    if (!check(__func__, sched) || !node) return NULL;
    const bool known = sched->state != TN_SCHED_RESET;
    const int32_t id = known ? tn_index_find(sched, node) : -1;
    if (id >= 0) return ggml_backend_sched_get_backend(sched, tn_sched_at(sched, id)->backend);
    const int64_t * placed = tn_ptrset_find(&sched->placed, node);
    return placed ? ggml_backend_sched_get_backend(sched, (int) *placed) : NULL;
}
