// SPDX-License-Identifier: MIT
// A context: a pool in which objects (tensors, graphs, buffers) are placed one behind the other, and the
// poisoned tensor and graph that its refusals hand out.
#ifndef TN_CORE_CONTEXT_H
#define TN_CORE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "ggml.h"
#include "ggml/src/ggml-impl.h"

enum tn_object_kind { TN_OBJECT_TENSOR, TN_OBJECT_GRAPH, TN_OBJECT_BUFFER };

// Its size is part of ggml_tensor_overhead(), by which clients size their pools.
struct ggml_object {
    size_t offset; // of the payload, from the start of the pool
    size_t size;
    struct ggml_object * next;
    enum tn_object_kind kind;
};
_Static_assert(sizeof(struct ggml_object) == 32, "known to clients through ggml_tensor_overhead");

// In flags of a tensor: it was refused. What is built from it is refused too.
#define TN_TENSOR_POISONED (1 << 30)

// Besides: it had been made before, and a later setting was refused.
#define TN_TENSOR_SPOILED (1 << 29)

// In flags of a node: its sources are copies that belong to a scheduler (sched/split.c).
#define TN_TENSOR_REWIRED (1 << 28)

enum { TN_POISON_TEXT = 768 };

struct tn_poison {
    struct ggml_tensor tensor;
    char text[TN_POISON_TEXT]; // the first refusal, "" if there was none
};

struct ggml_context {
    size_t mem_size;
    char * mem_buffer;
    bool mem_owned;
    bool no_alloc;
    struct ggml_object * first;
    struct ggml_object * last;
    struct tn_poison poison;
    struct ggml_cgraph poison_graph; // handed out for one that could not be made; its only leaf says why
    struct tn_poison graph_poison;
    struct ggml_tensor * poison_leaf;
};

// `size` bytes from the pool, aligned to GGML_MEM_ALIGN. NULL: full, with a text that has sizes.
void * tn_context_add(struct ggml_context * ctx, enum tn_object_kind kind, size_t size);

// Records this thread's error text as the context's first error, logs it, and returns the poisoned tensor.
// ctx may be NULL (then the tensor belongs to the thread). Ends the process in strict mode.
struct ggml_tensor * tn_context_poison(struct ggml_context * ctx);

// The same for what follows from an earlier refusal, without another line in the log.
struct ggml_tensor * tn_context_poison_again(struct ggml_context * ctx);

// The same for a tensor that is made already: t itself becomes poisoned and keeps its place in the pool.
// NULL: as tn_context_poison(NULL).
struct ggml_tensor * tn_context_spoil(struct ggml_tensor * t);

// The graph for one that could not be made: this thread's error text is recorded and logged as above, and is
// the graph's own too, whatever was refused before. ctx may be NULL. Ends the process in strict mode.
struct ggml_cgraph * tn_context_poison_graph(struct ggml_context * ctx);

// Of a poisoned tensor: the text of the first refusal of its context; of a poisoned graph's leaf: that one's.
const char * tn_context_poison_text(const struct ggml_tensor * poisoned);

TN_API bool tn_tensor_is_poisoned(const struct ggml_tensor * t);

void tn_context_set_strict(bool on);

#endif
