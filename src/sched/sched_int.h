// SPDX-License-Identifier: MIT
// The scheduler's state, for the files of this folder. One graph at a time is in it, as numbers: tensors have
// ids, nodes and their sources refer to them. The way of a graph:
//
//     gather.c  graph -> ids (index.c), what has memory, what the caller placed
//     assign.c  ids -> back ends
//     split.c   back ends -> splits and copies; sources of nodes become copies
//     memory.c  splits -> addresses
//     run.c     addresses -> results, in an order that queue.c keeps safe
//     trace.c   tells all of it
#ifndef TN_SCHED_INT_H
#define TN_SCHED_INT_H

#include "alloc/galloc.h"
#include "backend/iface.h"
#include "base/array.h"
#include "base/ptrset.h"
#include "core/op.h"
#include "ggml-alloc.h"
#include "ggml/src/ggml-impl.h"

enum {
    TN_SCHED_BACKENDS = 16, // back ends are bits of uint16_t
    TN_SCHED_INSTANCES = 4, // of an input, with `parallel`
    TN_SCHED_TYPES = 32,    // buffer types whose use is told apart; further ones count as the last
};

// Why a tensor is where it is.
enum tn_sched_cause {
    TN_CAUSE_NONE,
    TN_CAUSE_CALLER,    // ggml_backend_sched_set_tensor_backend
    TN_CAUSE_MEMORY,    // it has memory already
    TN_CAUSE_INPUT,     // inputs are set by the host
    TN_CAUSE_WEIGHTS,   // its weights are there
    TN_CAUSE_OFFLOAD,   // its weights are in host memory, and the device wants it nevertheless
    TN_CAUSE_NEIGHBOUR, // a node before or behind it is there
    TN_CAUSE_UPGRADE,   // the same memory, but a back end of higher priority
    TN_CAUSE_SOURCES,   // most of its sources can be read there
    TN_CAUSE_WRITES,    // it shares memory with what is there
    TN_CAUSE_USER,      // its first user is there
    TN_CAUSE_REST,      // nobody needs it: the last back end
    TN_CAUSES
};

// Memory is divided into classes: for each buffer type what the scheduler plans for one graph, what others
// own, and the instances of inputs.
enum {
    TN_MEMORY_MAIN,
    TN_MEMORY_OUTSIDE,
    TN_MEMORY_INSTANCE, // and the next ones
    TN_MEMORY_KINDS = TN_MEMORY_INSTANCE + TN_SCHED_INSTANCES
};

// Which classes a piece of work reads and writes: bit t of [k] is kind k of type t.
struct tn_touch {
    uint32_t reads[TN_MEMORY_KINDS];
    uint32_t writes[TN_MEMORY_KINDS];
};

// What the scheduler knows of the order of a back end's work, which it numbers (queue.c).
struct tn_queue {
    ggml_backend_t backend;            // borrowed
    bool immediate;                    // nothing is ever queued: a call that returns has done its work
    uint64_t now;                      // number of the last work
    uint64_t done;                     // the host has seen the end of this one
    uint64_t after[TN_SCHED_BACKENDS]; // later work here comes after work of this number there
    uint64_t reads[TN_MEMORY_KINDS][TN_SCHED_TYPES]; // last work that touches the class
    uint64_t writes[TN_MEMORY_KINDS][TN_SCHED_TYPES];
    // Marks: events, and the number of the work behind which they stand. One for copies, one an instance.
    ggml_backend_event_t events[1 + TN_SCHED_INSTANCES]; // owned, NULL: none
    uint64_t marks[1 + TN_SCHED_INSTANCES];
};

struct tn_sched_type {
    ggml_backend_buffer_type_t buft;
    uint16_t readers; // back ends that can use it
};

struct tn_sched_tensor {
    struct ggml_tensor * tensor;
    int32_t root;    // in whose memory it lies: itself, or the base of a view
    int32_t version; // of a root: how many nodes have written over its memory so far
    int32_t copies;  // the newest of its copies, -1: none
    int32_t mark;    // of a node: how often it is met in the split that is being looked at
    int16_t memory;  // type of the memory that a root has already, -1: none
    uint16_t asked;  // which back ends were asked whether they support it
    uint16_t able;   // and which do
    uint16_t group;  // of a root: back ends that could run all nodes writing to it; 0: no conflict
    int8_t backend;  // -1: not assigned
    uint8_t cause;   // enum tn_sched_cause
    bool is_node;
    bool instanced; // an input of which there are several instances
    // What passes ask again and again, so that they need not look at the tensor:
    bool is_work;    // something to compute
    bool is_input;   // flagged
    bool has_memory; // or had it when the graph came
    bool is_weight;  // of a root
};

struct tn_sched_node {
    int32_t id;
    int32_t first_edge; // up to that of the next node
};

struct tn_sched_edge {
    int32_t id;
    int32_t slot;
};

// A tensor as another back end sees it. Valid for readers until the original is written over.
struct tn_sched_copy {
    int32_t source;
    int32_t version; // of the source's root when it was made
    int32_t next;    // of the same source, another back end; -1: none
    int32_t n_uses;
    int32_t backend; // where the copy is
    bool instanced;
    struct ggml_tensor * tensors[TN_SCHED_INSTANCES]; // in the scheduler's pool; one, or n_copies
    // told by the last computation
    uint8_t method; // enum tn_copy_method
    size_t moved;   // bytes
};

enum tn_copy_method { TN_COPY_NOT_YET, TN_COPY_QUEUED, TN_COPY_BLOCKING, TN_COPY_EXPERTS };

struct tn_sched_split {
    int32_t backend;
    int32_t first, end;           // nodes
    int32_t first_copy, end_copy; // its inputs
    struct tn_touch touch;
    uint64_t uid;
};

// A source of a node that was replaced.
struct tn_sched_wire {
    struct ggml_tensor * node;
    struct ggml_tensor * original;
    struct ggml_tensor * copy;
    int32_t slot;
};

// A back end asked for memory to be kept until a node has run.
struct tn_sched_keep {
    struct ggml_tensor * tensor;
    struct ggml_tensor * until;
    int32_t next; // for the same node, -1: none
};

// Tensors of the scheduler, in blocks so that they stay where they are.
struct tn_sched_pool {
    TN_ARRAY(struct ggml_tensor *) blocks;
    size_t used;
};

// A list for the allocator: tensors, and the back end whose memory each gets.
struct tn_sched_list {
    TN_ARRAY(struct ggml_tensor *) tensors;
    TN_ARRAY(int) ids;
};

// Which experts a tensor of indices names, as a bit set; kept for the next weights with the same indices.
struct tn_sched_experts {
    int32_t ids; // -1: none kept
    TN_ARRAY(uint32_t) used;
};

// Tensor to id (index.c).
struct tn_sched_index {
    int32_t * slots; // owns
    size_t n_slots;  // a power of two
};

struct tn_sched_story; // trace.c

enum tn_sched_state { TN_SCHED_RESET, TN_SCHED_SPLIT, TN_SCHED_ALLOCATED };

struct ggml_backend_sched {
    int n_backends, n_copies;
    bool op_offload;
    int debug;
    size_t max_tensors; // nodes and leafs of a graph
    struct tn_queue queues[TN_SCHED_BACKENDS];
    ggml_backend_buffer_type_t bufts[TN_SCHED_BACKENDS];
    int16_t type_of[TN_SCHED_BACKENDS]; // of bufts, in `types`
    int n_types;                        // of bufts; further ones belong to the graph
    TN_ARRAY(struct tn_sched_type) types;
    ggml_gallocr_t main;   // owns
    ggml_gallocr_t inputs; // owns; instances, NULL without
    ggml_backend_sched_eval_callback callback;
    void * callback_data;

    enum tn_sched_state state;
    struct tn_ptrset placed; // by the caller: tensor to back end
    bool placement_lost;     // there was no memory to note one
    int cur, next;           // instance of the present graph, and of the one after it

    // the graph
    struct ggml_cgraph graph; // its arrays are borrowed
    struct tn_sched_index index;
    TN_ARRAY(struct tn_sched_tensor) tensors;
    TN_ARRAY(struct tn_sched_node) nodes; // one more than the graph has
    TN_ARRAY(struct tn_sched_edge) edges;
    TN_ARRAY(struct ggml_tensor *) order; // the nodes as they are run
    TN_ARRAY(int32_t) order_ids;
    TN_ARRAY(struct tn_sched_split) splits;
    TN_ARRAY(struct tn_sched_copy) copies;
    TN_ARRAY(struct tn_sched_wire) wires;
    TN_ARRAY(struct tn_sched_keep) keeps;
    struct tn_ptrset keeps_until; // node to keep
    bool keeps_lost;              // there was no memory to note one
    struct tn_sched_pool pool;
    struct tn_sched_list plan_nodes, plan_leafs, plan_inputs;
    struct tn_sched_experts experts;
    uint32_t input_types; // types of memory in which there are instanced inputs of the caller's

    struct tn_sched_story * story; // owns
};

TN_INLINE struct tn_sched_tensor * tn_sched_at(struct ggml_backend_sched * s, int32_t id) {
    return &s->tensors.items[id];
}

// The device's name: back ends of one kind may all be called the same.
TN_INLINE const char * tn_sched_name(const struct ggml_backend_sched * s, int backend) {
    return ggml_backend_dev_name(s->queues[backend].backend->device);
}

// Something to compute? Views and parameters are none.
TN_INLINE bool tn_sched_is_work(const struct ggml_tensor * t) {
    return !tn_op_is_view(t->op);
}

// Type of the memory in which a tensor is or will be, -1: not known yet.
TN_INLINE int tn_sched_type_of(struct ggml_backend_sched * s, int32_t id) {
    const struct tn_sched_tensor * root = tn_sched_at(s, tn_sched_at(s, id)->root);
    if (root->memory >= 0) return root->memory;
    return root->backend >= 0 ? s->type_of[root->backend] : -1;
}

// Can the back end use the memory in which a tensor is or will be? false if that is not known yet.
TN_INLINE bool tn_sched_reaches(struct ggml_backend_sched * s, int backend, int32_t id) {
    const int type = tn_sched_type_of(s, id);
    return type >= 0 && (s->types.items[type].readers >> backend & 1);
}

// ---- index.c

// The id of a tensor, -1: none.
int32_t tn_index_find(const struct ggml_backend_sched * s, const struct ggml_tensor * t);

// Where the id plus one of a tensor is, or, if that is 0, has to be written. NULL: no memory.
int32_t * tn_index_put(struct ggml_backend_sched * s, const struct ggml_tensor * t);

// In whose memory a node writes: its own root first, then, for a step of AdamW, those of its moments.
struct tn_sched_targets {
    int32_t roots[3];
    int n;
};

TN_INLINE struct tn_sched_targets tn_sched_targets_of(struct ggml_backend_sched * s, int32_t id) {
    const struct tn_sched_tensor * t = tn_sched_at(s, id);
    struct tn_sched_targets targets = { .roots = { t->root }, .n = t->is_work };
    if (t->tensor->op != GGML_OP_OPT_STEP_ADAMW) return targets;
    for (int slot = 2; slot <= 3; slot++) {
        const int32_t source = t->tensor->src[slot] ? tn_index_find(s, t->tensor->src[slot]) : -1;
        if (source >= 0) targets.roots[targets.n++] = tn_sched_at(s, source)->root;
    }
    return targets;
}

void tn_index_clear(struct ggml_backend_sched * s);
void tn_index_free(struct ggml_backend_sched * s);

// ---- gather.c

// Fills types, index, tensors, nodes and edges. false with a text: the graph cannot be scheduled.
bool tn_gather_graph(struct ggml_backend_sched * s, struct ggml_cgraph * g);

// ---- assign.c

// Gives every tensor a back end. false with a text that names node and back ends.
bool tn_assign_graph(struct ggml_backend_sched * s);

// ---- split.c

// Fills order, splits, copies, wires and keeps, and changes sources of nodes. false with a text.
bool tn_split_graph(struct ggml_backend_sched * s);

// Gives the nodes their own sources back.
void tn_split_undo(struct ggml_backend_sched * s);

// Nodes first .. end - 1 of the order.
struct ggml_cgraph tn_split_graph_of(struct ggml_backend_sched * s, int32_t first, int32_t end);

// Adds to one of the sets of a touch where a tensor is, or a copy.
void tn_split_touch_source(struct ggml_backend_sched * s, int32_t id, uint32_t * set);
void tn_split_touch_copy(struct ggml_backend_sched * s, const struct tn_sched_copy * copy, uint32_t * set);

// ---- copies.c

// A zeroed tensor of the pool, NULL: no memory.
struct ggml_tensor * tn_copies_tensor(struct ggml_backend_sched * s);
void tn_copies_free(struct tn_sched_pool * pool);

// Instance i of a copy of t for a back end: the same layout, without memory. NULL: no memory.
struct ggml_tensor * tn_copies_like(struct ggml_backend_sched * s, const struct ggml_tensor * t, int backend,
                                    int i);

// The copy of a source for a back end, made if there is none that is still valid. -1: no memory.
int32_t tn_copies_get(struct ggml_backend_sched * s, int32_t source, int backend);

// The same without making one: -1 if there is none.
int32_t tn_copies_find(struct ggml_backend_sched * s, int32_t source, int backend);

// Brings the values of one copy, in an order that is safe. A status with a text.
enum ggml_status tn_copies_fill(struct ggml_backend_sched * s, const struct tn_sched_split * split,
                                struct tn_sched_copy * copy);

// ---- memory.c

// Lists of what is to be allocated. false: no memory, or a back end that asked for the impossible.
bool tn_memory_list(struct ggml_backend_sched * s);

// Addresses for the listed; false with a text: then nothing of the graph has any.
bool tn_memory_alloc(struct ggml_backend_sched * s);

// Buffers that are large enough; the tensors stay as they are.
bool tn_memory_reserve(struct ggml_backend_sched * s);

// What that would take for each back end.
bool tn_memory_measure(struct ggml_backend_sched * s, size_t * sizes);

// ---- queue.c

// The bit of a buffer type in a touch.
uint32_t tn_queue_bit(int type);

// Makes the marks. Without memory for them the host waits instead.
void tn_queue_init(struct ggml_backend_sched * s, int backend);
void tn_queue_fini(struct ggml_backend_sched * s, int backend);

// Work was queued that touches these classes.
void tn_queue_push(struct ggml_backend_sched * s, int backend, const struct tn_touch * touch);

// Later work of `backend` comes after all work of the others that conflicts with `touch`.
void tn_queue_order(struct ggml_backend_sched * s, int backend, const struct tn_touch * touch);

// The host waits for all work that conflicts with `touch`.
void tn_queue_settle(struct ggml_backend_sched * s, const struct tn_touch * touch);

// Places mark `which` behind the last work.
void tn_queue_mark(struct ggml_backend_sched * s, int backend, int which);

void tn_queue_finish(struct ggml_backend_sched * s, int backend); // the host waits for all its work
void tn_queue_finish_all(struct ggml_backend_sched * s);

// The caller may have queued work of its own.
void tn_queue_expect_callers(struct ggml_backend_sched * s);

// ---- run.c

enum ggml_status tn_run_splits(struct ggml_backend_sched * s);

// ---- trace.c

struct tn_sched_story * tn_trace_new(void);
void tn_trace_free(struct tn_sched_story * story);
// Forgets the last graph.
void tn_trace_begin(struct ggml_backend_sched * s);
// A back end refused; `why` may be empty. Not noted without memory.
void tn_trace_refusal(struct ggml_backend_sched * s, int32_t id, int backend, const char * why);
// Notes what does not outlive the graph. false: no memory.
bool tn_trace_record(struct ggml_backend_sched * s);
// For GGML_SCHED_DEBUG: splits, from level 2 on nodes as well.
void tn_trace_log(struct ggml_backend_sched * s);

#endif
