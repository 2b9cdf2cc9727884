// SPDX-License-Identifier: MIT
//
// Memory for tensors: one after the other in a buffer, a whole context at once, or a graph
// whose intermediate results share memory.
//
// Tensors are given memory here, never created. A context whose tensors are to be placed in buffers is made
// with no_alloc = true (struct ggml_init_params). Sizes, offsets and alignments are in bytes.
//
// Errors: a call that cannot do its work says so by its result (a status, false, 0 or NULL), changes nothing
// that it does not have to, and leaves the reason in ggml_ext_last_error() (ggml-ext.h). Graphs and tensors
// that were refused by a builder are refused here as well.
// Threads: an allocator, and the tensors it places, are used by one thread at a time. Different
// allocators are independent of each other.
#pragma once

#include "ggml.h"

// clang-format off: declarations are aligned by hand

#ifdef __cplusplus
extern "C" {
#endif

// Handles of ggml-backend.h, where their functions are.
typedef struct ggml_backend_buffer_type * ggml_backend_buffer_type_t; // a kind of memory
typedef struct ggml_backend_buffer      * ggml_backend_buffer_t;      // a piece of such memory
typedef struct ggml_backend             * ggml_backend_t;             // something that computes

// -----------------------------------------------------------------------------------------------------------
// Linear allocator: tensors in one buffer, in the order in which they come
// -----------------------------------------------------------------------------------------------------------

// A cursor into a buffer. It is a plain value that borrows the buffer; there is nothing to free.
struct ggml_tallocr {
    ggml_backend_buffer_t buffer;
    void                * base;      // address at which the buffer starts
    size_t                alignment; // of every tensor; the buffer's own
    size_t                offset;    // from base to the next free byte
};

// A cursor at the first aligned address of `buffer`. For NULL the cursor has no
// buffer and refuses every tensor.
GGML_API struct ggml_tallocr ggml_tallocr_new(ggml_backend_buffer_t buffer);

// Places `tensor`, which has neither data nor buffer and is no view, at the cursor, and moves the cursor
// behind it by the size that the buffer's type states for it, rounded up to the alignment.
// GGML_STATUS_ALLOC_FAILED when the rest of the buffer is too small (the cursor stays); otherwise the
// status of ggml_backend_tensor_alloc().
GGML_API enum ggml_status ggml_tallocr_alloc(struct ggml_tallocr * talloc, struct ggml_tensor * tensor);

// -----------------------------------------------------------------------------------------------------------
// Graph allocator: results whose lifetimes do not meet share memory
// -----------------------------------------------------------------------------------------------------------
//
// Planning walks the graph in its order and gives every tensor that has no memory yet an offset in a buffer:
//
// - A tensor with data or a buffer of its own (weights, a cache) is left where it
//   is. A view lies in its base.
// - The memory of a result is handed on when no later node needs it, not even through a view.
//   Some operators write over a source that dies with them (ggml_add, ggml_scale,
//   ggml_rms_norm and others): they cost nothing.
// - Leafs, and tensors flagged by ggml_set_input(), are placed first and do not overlap
//   anything that is computed before their last use. After it their memory is reused too:
//   set inputs again before every compute.
// - Tensors flagged by ggml_set_output() keep their memory to the end; so do results that no node reads.
//
// Typical use: reserve once with the largest graph, then allocate each graph before it is computed.
//
//     ggml_gallocr_t galloc = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
//     if (!ggml_gallocr_reserve(galloc, largest)) { ... }
//     if (!ggml_gallocr_alloc_graph(galloc, graph)) { ... }
//     ggml_backend_tensor_set(input, values, 0, ggml_nbytes(input));
//     ggml_backend_graph_compute(backend, graph);

typedef struct ggml_gallocr * ggml_gallocr_t;

// An allocator for one kind of memory, or for `n_bufs` kinds that nodes choose from by index ("buffer id").
// Ids of the same type share their memory. The array is copied; the types live as long as their back ends.
// NULL for a NULL type, for n_bufs < 1, or without memory.
// Freeing releases the buffers; the tensors in them keep addresses that must not be
// used any more. NULL is fine.
GGML_API ggml_gallocr_t ggml_gallocr_new  (ggml_backend_buffer_type_t buft);
GGML_API ggml_gallocr_t ggml_gallocr_new_n(ggml_backend_buffer_type_t * bufts, int n_bufs);
GGML_API void           ggml_gallocr_free (ggml_gallocr_t galloc);

// Plans `graph` and makes the buffers large enough for it; buffers grow and never shrink. The graph is
// measured only: its tensors stay without memory. False when a buffer cannot be had.
//
// reserve_n: `node_buffer_ids[i]` and `leaf_buffer_ids[i]` state the buffer id of the i-th node and leaf;
// NULL stands for id 0 everywhere. A source that is neither takes the id of its user.
// reserve_n_size: plans only, and fills `sizes[id]` for every id with what its memory would take. Ids that
// share a type state the same full size each. All are SIZE_MAX when the graph cannot be planned.
GGML_API bool ggml_gallocr_reserve       (ggml_gallocr_t galloc, struct ggml_cgraph * graph);
GGML_API bool ggml_gallocr_reserve_n     (ggml_gallocr_t galloc, struct ggml_cgraph * graph,
                                          const int * node_buffer_ids, const int * leaf_buffer_ids);
GGML_API void ggml_gallocr_reserve_n_size(ggml_gallocr_t galloc, struct ggml_cgraph * graph,
                                          const int * node_buffer_ids, const int * leaf_buffer_ids,
                                          size_t * sizes);

// Gives every tensor of `graph` its memory. Addresses given to an earlier graph are used again, so the
// contents of that graph are lost. A graph that does not fit the present plan is planned anew when the
// allocator has one buffer id; with several, the answer is false and ggml_gallocr_reserve_n() has to come
// first. A graph is allocated once: afterwards its tensors count as having memory of their own.
GGML_API bool ggml_gallocr_alloc_graph(ggml_gallocr_t galloc, struct ggml_cgraph * graph);

// Bytes held for a buffer id; 0 before the first reserve, for an id whose memory belongs to a lower id of the
// same type, and for an id that does not exist.
GGML_API size_t ggml_gallocr_get_buffer_size(ggml_gallocr_t galloc, int buffer_id);

// Leaves `n` tensors of the next allocation, and of the reserve inside it, without memory: results that a
// fused step never writes. They keep shape, type and sources; their data and buffer are not touched. The set
// is copied, replaces the one before, and is forgotten after that allocation. A set that differs from the one
// a plan was made with makes the plan stale. (Not part of ggml.)
GGML_API void ggml_gallocr_set_skipped_tensors(ggml_gallocr_t galloc, struct ggml_tensor ** tensors, int n);

// -----------------------------------------------------------------------------------------------------------
// All tensors of a context at once: weights, caches
// -----------------------------------------------------------------------------------------------------------

// Places every tensor of `ctx` (made with no_alloc) that has no memory yet, in order of creation, in new
// buffers of the given type, or of the back end's default type; views follow their base. One buffer if the
// type's largest size allows, otherwise one object that stands for several.
// Returns the buffer, owned by the caller: free it after the last use of the tensors. NULL when a buffer
// cannot be had (all of this call are released again) and also when there is nothing to place.
// The usage stays "any"; for weights call ggml_backend_buffer_set_usage() next.
GGML_API struct ggml_backend_buffer * ggml_backend_alloc_ctx_tensors_from_buft(
    struct ggml_context * ctx, ggml_backend_buffer_type_t buft);
GGML_API struct ggml_backend_buffer * ggml_backend_alloc_ctx_tensors(
    struct ggml_context * ctx, ggml_backend_t backend);

// The bytes that ggml_backend_alloc_ctx_tensors_from_buft() would allocate; nothing is
// done. SIZE_MAX if the sum overflows.
GGML_API size_t ggml_backend_alloc_ctx_tensors_from_buft_size(
    struct ggml_context * ctx, ggml_backend_buffer_type_t buft);

#ifdef __cplusplus
}
#endif
