// SPDX-License-Identifier: MIT
// Which back end runs which node. A sequence of passes; each assigns what its rule can decide and leaves the
// rest to the next, so that the strongest reasons come first:
//
//     the caller > memory > weights > neighbours > priority > sources
//
// Invariants, when all passes are through:
//
// - Every tensor has a back end. That of a node that computes supports it.
// - A node that writes into the memory of another tensor runs where that memory can be used. So a value has
//   one place, and only reading crosses from back end to back end: by copies (split.c).
// - A view is where its memory is, unless the caller placed it: it computes nothing.
// - What the caller placed stays there. Only where it would have to write memory that cannot be used there,
//   it moves to where all that write that memory can run.
//
// A back end with a lower index is preferred. The last one is the processor: it gets a node by the caller,
// memory or weights, or where no neighbour's back end supports the node; not because it computed the node
// before.
//
// Answers of supports_op are kept: passes may ask as often as they like, a back end is asked once a node.
#include "base/error.h"
#include "base/str.h"
#include "sched/sched_int.h"

static int last(const struct ggml_backend_sched * s) {
    return s->n_backends - 1;
}

static void put(struct ggml_backend_sched * s, int32_t id, int backend, enum tn_sched_cause cause) {
    tn_sched_at(s, id)->backend = (int8_t) backend;
    tn_sched_at(s, id)->cause = (uint8_t) cause;
}

static bool is_work(struct ggml_backend_sched * s, int32_t id) {
    return tn_sched_at(s, id)->is_work;
}

// ---- questions -------------------------------------------------------------------------------------------

// What computes nothing can be anywhere.
static bool supports(struct ggml_backend_sched * s, int backend, int32_t id) {
    struct tn_sched_tensor * t = tn_sched_at(s, id);
    const uint16_t bit = (uint16_t) (1u << backend);
    if (!t->is_work) return true;
    if (!(t->asked & bit)) {
        tn_error_clear();
        const bool yes = ggml_backend_supports_op(s->queues[backend].backend, t->tensor);
        t->asked |= bit;
        if (yes) t->able |= bit;
        if (!yes) tn_trace_refusal(s, id, backend, tn_error_text());
    }
    return t->able & bit;
}

// The same, and it can use the memory that the node writes, as far as that is known.
static bool can_run(struct ggml_backend_sched * s, int backend, int32_t id) {
    if (!supports(s, backend, id)) return false;
    const struct tn_sched_targets targets = tn_sched_targets_of(s, id);
    for (int i = 0; i < targets.n; i++) {
        const int32_t root = targets.roots[i];
        // Moments that have no memory yet may still move (pass 4).
        const int type = i == 0 ? tn_sched_type_of(s, root) : tn_sched_at(s, root)->memory;
        if (root != id && type >= 0 && !(s->types.items[type].readers >> backend & 1)) return false;
    }
    return true;
}

// The first of a set of back ends that can run it, -1: none.
static int first_able(struct ggml_backend_sched * s, uint16_t set, int32_t id) {
    for (int b = 0; b < s->n_backends; b++) {
        if ((set >> b & 1) && can_run(s, b, id)) return b;
    }
    return -1;
}

// ---- refusals --------------------------------------------------------------------------------------------

static const char * why_not(struct ggml_backend_sched * s, int backend, const struct ggml_tensor * node) {
    tn_error_clear();
    ggml_backend_supports_op(s->queues[backend].backend, node);
    return tn_error_text()[0] ? tn_error_text() : "it does not say why";
}

static bool refuse_placed(struct ggml_backend_sched * s, int32_t id, int backend) {
    const struct ggml_tensor * t = tn_sched_at(s, id)->tensor;
    return tn_refuse("'%s' (%s) was placed on %s, which does not support it: %s", t->name, ggml_op_desc(t),
                     tn_sched_name(s, backend), why_not(s, backend, t));
}

static bool refuse_homeless(struct ggml_backend_sched * s, int32_t id) {
    const struct ggml_tensor * t = tn_sched_at(s, id)->tensor;
    char text[TN_ERROR_MAX], reason[256];
    struct tn_str out = tn_str_on(text, sizeof(text));
    tn_str_add(&out, "no back end runs '%s' (%s)", t->name, ggml_op_desc(t));
    for (int b = 0; b < s->n_backends; b++) {
        const bool able = supports(s, b, id);
        tn_str_copy(reason, sizeof(reason), able ? "cannot use the memory it writes" : why_not(s, b, t));
        tn_str_add(&out, "; %s: %s", tn_sched_name(s, b), reason);
    }
    return tn_refuse("%s", text);
}

static bool refuse_memory(struct ggml_backend_sched * s, int32_t id) {
    const struct tn_sched_tensor * t = tn_sched_at(s, id);
    ggml_backend_buffer_type_t buft = s->types.items[tn_sched_type_of(s, id)].buft;
    char text[TN_ERROR_MAX];
    struct tn_str out = tn_str_on(text, sizeof(text));
    tn_str_add(&out, "'%s' (%s) lies in %s memory, which no back end can use%s:", t->tensor->name,
               ggml_op_desc(t->tensor), ggml_backend_buft_name(buft), is_work(s, id) ? " and run it" : "");
    for (int b = 0; b < s->n_backends; b++)
        tn_str_add(&out, " %s", tn_sched_name(s, b));
    return tn_refuse("%s", text);
}

// ---- the caller ------------------------------------------------------------------------------------------

// 0. What the caller placed has to be supported there.
static bool check_placements(struct ggml_backend_sched * s) {
    for (int32_t id = 0; s->placed.count > 0 && id < (int32_t) s->tensors.count; id++) {
        const int backend = tn_sched_at(s, id)->backend;
        if (backend >= 0 && !supports(s, backend, id)) return refuse_placed(s, id, backend);
    }
    return true;
}

// ---- location --------------------------------------------------------------------------------------------

// The device that wants the node although its weights are in host memory, -1: none.
static int find_offload(struct ggml_backend_sched * s, int32_t id, const struct ggml_tensor * weight) {
    if (!s->op_offload || !ggml_backend_buffer_is_host(tn_iface_buffer_of(weight))) return -1;
    for (int b = 0; b < last(s); b++) {
        if (can_run(s, b, id) && ggml_backend_offload_op(s->queues[b].backend, tn_sched_at(s, id)->tensor)) {
            return b;
        }
    }
    return -1;
}

// The first weight decides, -1: none. Frequency factors and sinks are small and do not.
static int32_t find_weight(struct ggml_backend_sched * s, const struct tn_sched_node * node) {
    for (int32_t e = node->first_edge; e < node[1].first_edge; e++) {
        const int32_t source = s->edges.items[e].id;
        if (!tn_sched_at(s, tn_sched_at(s, source)->root)->is_weight) continue;
        const enum ggml_op op = tn_sched_at(s, node->id)->tensor->op;
        return op == GGML_OP_ROPE || op == GGML_OP_FLASH_ATTN_EXT ? -1 : source;
    }
    return -1;
}

static void place_by_weights(struct ggml_backend_sched * s, const struct tn_sched_node * node) {
    const int32_t weight = find_weight(s, node);
    if (weight < 0) return;
    const int b = first_able(s, s->types.items[tn_sched_type_of(s, weight)].readers, node->id);
    const int wants = b == last(s) ? find_offload(s, node->id, tn_sched_at(s, weight)->tensor) : -1;
    if (b >= 0) put(s, node->id, wants >= 0 ? wants : b, wants >= 0 ? TN_CAUSE_OFFLOAD : TN_CAUSE_WEIGHTS);
}

// 1. What has memory belongs to the first back end that can use it and runs the node. An input that has none
//    belongs to the last back end: the host fills it. A node with weights runs where they are.
static bool place_by_location(struct ggml_backend_sched * s) {
    for (int32_t id = 0; id < (int32_t) s->tensors.count; id++) {
        const struct tn_sched_tensor * t = tn_sched_at(s, id);
        const int16_t memory = tn_sched_at(s, t->root)->memory;
        if (t->backend >= 0) continue;
        if (memory >= 0) {
            const int b = first_able(s, s->types.items[memory].readers, id);
            if (b < 0) return refuse_memory(s, id);
            put(s, id, b, TN_CAUSE_MEMORY);
        } else if (t->is_input && !t->is_work && tn_sched_at(s, t->root)->backend < 0) {
            put(s, t->root, last(s), TN_CAUSE_INPUT);
            put(s, id, last(s), TN_CAUSE_INPUT);
        }
    }
    for (size_t i = 0; i < s->nodes.count; i++) {
        const int32_t id = s->nodes.items[i].id;
        if (tn_sched_at(s, id)->backend < 0 && is_work(s, id)) place_by_weights(s, &s->nodes.items[i]);
    }
    return true;
}

// ---- expansion -------------------------------------------------------------------------------------------

// An assigned node makes its back end the current one; an unassigned one takes the current one if that can
// run it. Where the last back end is not to expand, meeting it leaves none current.
static void expand(struct ggml_backend_sched * s, bool down, bool with_last) {
    const size_t n = s->nodes.count;
    int current = -1;
    for (size_t k = 0; k < n; k++) {
        const int32_t id = s->nodes.items[down ? k : n - 1 - k].id;
        const int b = tn_sched_at(s, id)->backend;
        if (!is_work(s, id)) continue;
        if (b >= 0) {
            current = b == last(s) && !with_last ? -1 : b;
        } else if (current >= 0 && can_run(s, current, id)) {
            put(s, id, current, TN_CAUSE_NEIGHBOUR);
        }
    }
}

// 2. Devices take the nodes around theirs, downwards and upwards; then the last back end does.
static void expand_all(struct ggml_backend_sched * s) {
    expand(s, true, false);
    expand(s, false, false);
    expand(s, true, true);
    expand(s, false, true);
}

// ---- priority and sources --------------------------------------------------------------------------------

static bool reads_all(struct ggml_backend_sched * s, int backend, const struct tn_sched_node * node) {
    for (int32_t e = node->first_edge; e < node[1].first_edge; e++) {
        const int32_t source = s->edges.items[e].id;
        if (tn_sched_type_of(s, source) >= 0 && !tn_sched_reaches(s, backend, source)) return false;
    }
    return true;
}

static void upgrade(struct ggml_backend_sched * s, const struct tn_sched_node * node) {
    const struct tn_sched_tensor * t = tn_sched_at(s, node->id);
    if (t->cause == TN_CAUSE_CALLER) return;
    for (int b = 0; b < t->backend; b++) {
        if (s->type_of[b] == s->type_of[t->backend] && can_run(s, b, node->id) && reads_all(s, b, node)) {
            put(s, node->id, b, TN_CAUSE_UPGRADE);
            return;
        }
    }
}

static int count_readable(struct ggml_backend_sched * s, int backend, const struct tn_sched_node * node) {
    int n = 0;
    for (int32_t e = node->first_edge; e < node[1].first_edge; e++)
        n += tn_sched_reaches(s, backend, s->edges.items[e].id);
    return n;
}

static void place_by_sources(struct ggml_backend_sched * s, const struct tn_sched_node * node) {
    int best = -1, most = -1;
    for (int b = 0; b < s->n_backends; b++) {
        if (!can_run(s, b, node->id)) continue;
        const int n = count_readable(s, b, node);
        if (n > most) {
            most = n;
            best = b;
        }
    }
    if (best >= 0) put(s, node->id, best, TN_CAUSE_SOURCES);
}

// Nobody who runs it can use the memory that it writes. If that is not there yet it may still move (pass 4).
static void place_by_ability(struct ggml_backend_sched * s, int32_t id) {
    if (tn_sched_at(s, tn_sched_at(s, id)->root)->memory >= 0) return;
    for (int b = 0; b < s->n_backends; b++) {
        if (!supports(s, b, id)) continue;
        put(s, id, b, TN_CAUSE_SOURCES);
        return;
    }
}

// 3. Of two back ends with the same memory the one of higher priority runs a node, if it can. What has no
//    back end yet goes where most of its sources can be read.
static bool settle_nodes(struct ggml_backend_sched * s) {
    for (size_t i = 0; i < s->nodes.count; i++) {
        const struct tn_sched_node * node = &s->nodes.items[i];
        if (!is_work(s, node->id)) continue;
        if (tn_sched_at(s, node->id)->backend >= 0) {
            upgrade(s, node);
        } else {
            place_by_sources(s, node);
        }
        if (tn_sched_at(s, node->id)->backend < 0) place_by_ability(s, node->id);
        if (tn_sched_at(s, node->id)->backend < 0) return refuse_homeless(s, node->id);
    }
    return true;
}

// ---- memory that several nodes write ---------------------------------------------------------------------

// All who could use the memory of a root, if it is there.
static uint16_t users_of(struct ggml_backend_sched * s, const struct tn_sched_tensor * root) {
    return root->memory >= 0 ? s->types.items[root->memory].readers : (uint16_t) ((1u << s->n_backends) - 1);
}

// What is written before it has a place gets that of the first who writes. true: a writer cannot use the
// place that is chosen.
static bool find_conflicts(struct ggml_backend_sched * s) {
    bool any = false;
    for (size_t i = 0; i < s->nodes.count; i++) {
        const struct tn_sched_tensor * t = tn_sched_at(s, s->nodes.items[i].id);
        const struct tn_sched_targets targets = tn_sched_targets_of(s, s->nodes.items[i].id);
        for (int k = 0; k < targets.n; k++) {
            const int32_t id = targets.roots[k];
            struct tn_sched_tensor * root = tn_sched_at(s, id);
            if (tn_sched_type_of(s, id) < 0) put(s, id, t->backend, TN_CAUSE_WRITES);
            if (tn_sched_reaches(s, t->backend, id)) continue;
            root->group = users_of(s, root);
            any = true;
        }
    }
    return any;
}

// Those who can run a node and use all that it writes, if a part of that is in a group; 0: none is.
static uint16_t group_of(struct ggml_backend_sched * s, int32_t id, const struct tn_sched_targets * targets) {
    uint16_t set = 0xffff;
    bool is_in = false;
    for (int k = 0; k < targets->n; k++) {
        const struct tn_sched_tensor * root = tn_sched_at(s, targets->roots[k]);
        is_in = is_in || root->group;
        set &= root->group ? root->group : users_of(s, root);
    }
    for (int b = 0; is_in && b < s->n_backends; b++) {
        if ((set >> b & 1) && !supports(s, b, id)) set &= (uint16_t) ~(1u << b);
    }
    return is_in ? set : 0;
}

static bool is_in_group(struct ggml_backend_sched * s, const struct tn_sched_targets * targets) {
    for (int k = 0; k < targets->n; k++) {
        if (tn_sched_at(s, targets->roots[k])->group) return true;
    }
    return false;
}

static bool set_group(struct ggml_backend_sched * s, const struct tn_sched_targets * targets, uint16_t set) {
    bool changed = false;
    for (int k = 0; k < targets->n; k++) {
        struct tn_sched_tensor * root = tn_sched_at(s, targets->roots[k]);
        changed = changed || root->group != set;
        root->group = set;
    }
    return changed;
}

// Leaves in the groups only who can run all the nodes; a node that writes several memories makes one group of
// them. Ends, since sets only shrink. false: nobody is left for a node.
static bool narrow(struct ggml_backend_sched * s) {
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < s->nodes.count; i++) {
            const int32_t id = s->nodes.items[i].id;
            const struct tn_sched_targets targets = tn_sched_targets_of(s, id);
            if (!is_in_group(s, &targets)) continue;
            const uint16_t set = group_of(s, id, &targets);
            if (!set) return refuse_homeless(s, id);
            changed |= set_group(s, &targets, set);
        }
    }
    return true;
}

// Of a group those where the caller wants a tensor, if that is possible.
static bool favour(struct ggml_backend_sched * s, int32_t id, const struct tn_sched_targets * targets) {
    const struct tn_sched_tensor * t = tn_sched_at(s, id);
    const uint16_t group = tn_sched_at(s, targets->roots[0])->group;
    const uint16_t wanted = t->cause == TN_CAUSE_CALLER ? (uint16_t) (group & 1u << t->backend) : 0;
    return !wanted || !set_group(s, targets, wanted) || narrow(s);
}

static bool favour_placed(struct ggml_backend_sched * s) {
    for (size_t i = 0; i < s->nodes.count; i++) {
        const int32_t id = s->nodes.items[i].id;
        const struct tn_sched_targets targets = tn_sched_targets_of(s, id);
        if (!is_in_group(s, &targets)) continue;
        for (int k = 0; k < targets.n; k++) {
            if (!favour(s, targets.roots[k], &targets)) return false;
        }
        if (!favour(s, id, &targets)) return false;
    }
    return true;
}

static void move(struct ggml_backend_sched * s, int32_t id, int backend) {
    if (tn_sched_at(s, id)->backend != backend) put(s, id, backend, TN_CAUSE_WRITES);
}

static void join(struct ggml_backend_sched * s, int32_t id) {
    const struct tn_sched_targets targets = tn_sched_targets_of(s, id);
    if (!is_in_group(s, &targets)) return;
    int b = 0;
    while (!(tn_sched_at(s, targets.roots[0])->group >> b & 1))
        b++;
    move(s, id, b);
    for (int k = 0; k < targets.n; k++)
        move(s, targets.roots[k], b);
}

// 4. All who write one memory have to be able to use it: where that is not so, they and the memory move to
//    the first back end that can run them all.
static bool join_writers(struct ggml_backend_sched * s) {
    if (!find_conflicts(s)) return true;
    if (!narrow(s) || !favour_placed(s)) return false;
    for (size_t i = 0; i < s->nodes.count; i++)
        join(s, s->nodes.items[i].id);
    return true;
}

// ---- the rest --------------------------------------------------------------------------------------------

// 5. Memory goes to its first user, views to their memory; what nobody uses to the last back end.
static void settle_rest(struct ggml_backend_sched * s) {
    for (size_t i = 0; i < s->nodes.count; i++) {
        const struct tn_sched_node * node = &s->nodes.items[i];
        if (!is_work(s, node->id)) continue;
        for (int32_t e = node->first_edge; e < node[1].first_edge; e++) {
            const int32_t root = tn_sched_at(s, s->edges.items[e].id)->root;
            if (tn_sched_at(s, root)->backend < 0) {
                put(s, root, tn_sched_at(s, node->id)->backend, TN_CAUSE_USER);
            }
        }
    }
    for (int32_t id = 0; id < (int32_t) s->tensors.count; id++) {
        const int32_t root = tn_sched_at(s, id)->root;
        if (tn_sched_at(s, root)->backend < 0) put(s, root, last(s), TN_CAUSE_REST);
        if (tn_sched_at(s, id)->backend < 0) put(s, id, tn_sched_at(s, root)->backend, TN_CAUSE_WRITES);
    }
}

bool tn_assign_graph(struct ggml_backend_sched * s) {
    if (!check_placements(s) || !place_by_location(s)) return false;
    expand_all(s);
    if (!settle_nodes(s) || !join_writers(s)) return false;
    settle_rest(s);
    return true;
}
