// SPDX-License-Identifier: MIT
// Memory for a graph that was split. What the allocator sees is a graph of its own: in the order in which the
// splits run, each with its copies before its nodes. A copy names its source, so that the source lives until
// it is copied.
//
// With several instances of inputs there is a second allocator for them: they outlive graphs that are in
// flight, share their memory with nothing, and which of them is in use changes nothing in the plan of the
// rest. For the main allocator they have memory of their own, which is pretended while it is only measured.
#include "base/bits.h"
#include "base/error.h"
#include "sched/sched_int.h"

// ---- lists -----------------------------------------------------------------------------------------------

static bool append(struct tn_sched_list * list, struct ggml_tensor * t, int backend) {
    if (!TN_ARRAY_RESERVE(&list->tensors, 1, TN_MEM_GRAPH) ||
        !TN_ARRAY_RESERVE(&list->ids, 1, TN_MEM_GRAPH)) {
        return false;
    }
    list->tensors.items[list->tensors.count++] = t;
    list->ids.items[list->ids.count++] = backend;
    return true;
}

// Everything that is not computed has to be there from the start.
static bool list_leafs(struct ggml_backend_sched * s) {
    for (int32_t id = 0; id < (int32_t) s->tensors.count; id++) {
        const struct tn_sched_tensor * t = tn_sched_at(s, id);
        const bool computed = t->is_node && t->is_work;
        if (computed || t->root != id || t->memory >= 0) continue;
        if (!append(&s->plan_leafs, t->tensor, t->backend)) return false;
    }
    return true;
}

// A node of no size that only uses a tensor: it stands where the tensor may go at the earliest.
static bool list_keep(struct ggml_backend_sched * s, const struct tn_sched_keep * keep, int backend) {
    if (tn_index_find(s, keep->tensor) < 0) {
        return tn_refuse("back end %s asks to keep '%s', which is not in its graph",
                         tn_sched_name(s, backend), keep->tensor->name);
    }
    struct ggml_tensor * t = tn_copies_tensor(s);
    if (!t) return false;
    t->data = t; // it needs none
    t->src[0] = keep->tensor;
    return append(&s->plan_nodes, t, backend);
}

static bool list_keeps(struct ggml_backend_sched * s, const struct ggml_tensor * node, int backend,
                       size_t * met) {
    const int64_t * first = s->keeps.count > 0 ? tn_ptrset_find(&s->keeps_until, node) : NULL;
    for (int32_t k = first ? (int32_t) *first : -1; k >= 0; k = s->keeps.items[k].next) {
        if (!list_keep(s, &s->keeps.items[k], backend)) return false;
        ++*met;
    }
    return true;
}

static bool list_split(struct ggml_backend_sched * s, const struct tn_sched_split * split, size_t * met) {
    for (int32_t c = split->first_copy; c < split->end_copy; c++) {
        const struct tn_sched_copy * copy = &s->copies.items[c];
        struct ggml_tensor * t = copy->tensors[copy->instanced ? s->cur : 0];
        t->src[0] = tn_sched_at(s, copy->source)->tensor;
        if (!append(&s->plan_nodes, t, split->backend)) return false;
    }
    for (int32_t i = split->first; i < split->end; i++) {
        struct ggml_tensor * t = s->order.items[i];
        const int backend = tn_sched_at(s, s->order_ids.items[i])->backend;
        if (!append(&s->plan_nodes, t, backend) || !list_keeps(s, t, split->backend, met)) return false;
    }
    return true;
}

static bool list_nodes(struct ggml_backend_sched * s) {
    size_t met = 0;
    for (size_t i = 0; i < s->splits.count; i++) {
        if (!list_split(s, &s->splits.items[i], &met)) return false;
    }
    return met == s->keeps.count ||
           tn_refuse("a back end asks to keep a tensor until a node that is not in its graph");
}

static bool list_instances(struct ggml_backend_sched * s) {
    for (int32_t id = 0; id < (int32_t) s->tensors.count; id++) {
        const int backend = tn_sched_at(s, id)->backend;
        struct ggml_tensor * t = tn_sched_at(s, id)->tensor;
        if (!tn_sched_at(s, id)->instanced) continue;
        s->input_types |= tn_queue_bit(s->type_of[backend]);
        for (int i = 0; i < s->n_copies; i++) {
            struct ggml_tensor * instance = i == s->cur ? t : tn_copies_like(s, t, backend, i);
            if (!instance || !append(&s->plan_inputs, instance, backend)) return false;
        }
    }
    for (size_t c = 0; c < s->copies.count; c++) {
        const struct tn_sched_copy * copy = &s->copies.items[c];
        for (int i = 0; copy->instanced && i < s->n_copies; i++) {
            if (!append(&s->plan_inputs, copy->tensors[i], copy->backend)) return false;
        }
    }
    return true;
}

bool tn_memory_list(struct ggml_backend_sched * s) {
    struct tn_sched_list * lists[] = { &s->plan_nodes, &s->plan_leafs, &s->plan_inputs };
    for (int i = 0; i < 3; i++)
        lists[i]->tensors.count = lists[i]->ids.count = 0;
    s->input_types = 0;
    return list_leafs(s) && list_nodes(s) && (!s->inputs || list_instances(s));
}

// ---- the two allocators ----------------------------------------------------------------------------------

static struct ggml_cgraph main_graph(struct ggml_backend_sched * s) {
    return (struct ggml_cgraph){
        .n_nodes = (int) s->plan_nodes.tensors.count,
        .n_leafs = (int) s->plan_leafs.tensors.count,
        .nodes = s->plan_nodes.tensors.items,
        .leafs = s->plan_leafs.tensors.items,
    };
}

static struct ggml_cgraph inputs_graph(struct ggml_backend_sched * s) {
    return (struct ggml_cgraph){
        .n_leafs = (int) s->plan_inputs.tensors.count,
        .leafs = s->plan_inputs.tensors.items,
    };
}

// Once memory is planned a copy has no source any more: it is filled, not computed.
static void unlink_copies(struct ggml_backend_sched * s) {
    for (size_t c = 0; c < s->copies.count; c++) {
        const struct tn_sched_copy * copy = &s->copies.items[c];
        copy->tensors[copy->instanced ? s->cur : 0]->src[0] = NULL;
    }
}

static void pretend_memory(struct ggml_backend_sched * s, bool there) {
    for (size_t i = 0; i < s->plan_inputs.tensors.count; i++) {
        struct ggml_tensor * t = s->plan_inputs.tensors.items[i];
        t->data = there ? t : NULL;
    }
}

static void take_inputs_back(struct ggml_backend_sched * s) {
    for (size_t i = 0; i < s->plan_inputs.tensors.count; i++) {
        s->plan_inputs.tensors.items[i]->data = NULL;
        s->plan_inputs.tensors.items[i]->buffer = NULL;
    }
}

static void stop_everything(void * context) {
    tn_queue_finish_all(context);
}

static bool alloc(struct ggml_backend_sched * s, ggml_gallocr_t galloc, struct ggml_cgraph graph,
                  const struct tn_sched_list * leafs) {
    const struct tn_galloc_request request = {
        .graph = &graph,
        .node_ids = s->plan_nodes.ids.items,
        .leaf_ids = leafs->ids.items,
        .before_change = stop_everything,
        .context = s,
    };
    return tn_galloc_alloc(galloc, &request);
}

bool tn_memory_alloc(struct ggml_backend_sched * s) {
    if (s->inputs && !alloc(s, s->inputs, inputs_graph(s), &s->plan_inputs)) return false;
    const bool done = alloc(s, s->main, main_graph(s), &s->plan_leafs);
    unlink_copies(s);
    if (!done) take_inputs_back(s);
    return done;
}

bool tn_memory_reserve(struct ggml_backend_sched * s) {
    struct ggml_cgraph inputs = inputs_graph(s), graph = main_graph(s);
    bool done = !s->inputs || ggml_gallocr_reserve_n(s->inputs, &inputs, NULL, s->plan_inputs.ids.items);
    pretend_memory(s, true);
    done = done && ggml_gallocr_reserve_n(s->main, &graph, s->plan_nodes.ids.items, s->plan_leafs.ids.items);
    pretend_memory(s, false);
    return done;
}

bool tn_memory_measure(struct ggml_backend_sched * s, size_t * sizes) {
    size_t more[TN_SCHED_BACKENDS] = { 0 };
    struct ggml_cgraph inputs = inputs_graph(s), graph = main_graph(s);
    if (s->inputs) ggml_gallocr_reserve_n_size(s->inputs, &inputs, NULL, s->plan_inputs.ids.items, more);
    pretend_memory(s, true);
    ggml_gallocr_reserve_n_size(s->main, &graph, s->plan_nodes.ids.items, s->plan_leafs.ids.items, sizes);
    pretend_memory(s, false);
    for (int b = 0; b < s->n_backends; b++) {
        if (sizes[b] == SIZE_MAX || more[b] == SIZE_MAX) return false;
        if (!tn_size_add(sizes[b], more[b], &sizes[b])) return tn_refuse("the sum of the sizes overflows");
    }
    return true;
}
