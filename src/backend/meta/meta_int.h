// SPDX-License-Identifier: MIT
// The meta device: what its parts share.
//
// A device, its buffer type, buffers and back ends consist of simple ones in the same order. A tensor in a
// meta buffer has an address that nobody may use; what exists are its slices, one a device, ordinary tensors
// in ordinary buffers.
#ifndef TN_BACKEND_META_INT_H
#define TN_BACKEND_META_INT_H

#include "backend/iface.h"
#include "backend/meta/partition.h"
#include "base/array.h"
#include "base/ptrset.h"

// ---- device (meta_device.c) -------------------------------------------------------------------------------

enum { TN_META_NAME = 512 };

struct tn_meta_device {
    struct ggml_backend_device device;
    struct ggml_backend_buffer_type type;
    struct tn_meta_device * next;
    int n;
    ggml_backend_dev_t devices[GGML_BACKEND_META_MAX_DEVICES];
    ggml_backend_meta_get_split_state_t get_split;
    void * get_split_data;
    char name[TN_META_NAME];
};

// Types made of equal devices in equal order: their tensors have slices on the same devices.
bool tn_meta_device_shares(const struct tn_meta_device * meta, ggml_backend_buffer_type_t buft);

// ---- slices (slices.c) ------------------------------------------------------------------------------------

struct tn_slices {
    struct ggml_tensor * tensor;
    struct tn_partition * partition; // owned; NULL: not known before it is computed
    bool declared;                   // the program said so
    bool made;                       // slices have memory
    struct ggml_tensor * of[GGML_BACKEND_META_MAX_DEVICES];
    struct ggml_tensor own[]; // of[] points here, unless a context has them
};

struct tn_meta_buffer {
    struct tn_meta_device * meta;
    ggml_backend_buffer_t parts[GGML_BACKEND_META_MAX_DEVICES];    // owned
    bool packed;                                                   // made for the tensors of one context
    struct ggml_context * contexts[GGML_BACKEND_META_MAX_DEVICES]; // of packed slices, owned
    struct tn_ptrset index;                                        // tensor -> place in `list`, plus 1
    TN_ARRAY(struct tn_slices *) list;
    size_t n_packed; // the first of `list`; what follows are views
};

// Those of a tensor in a meta buffer over `meta`'s devices. NULL with a text: it is in another buffer, or was
// not placed.
struct tn_slices * tn_slices_find(const struct tn_meta_device * meta, const struct ggml_tensor * t);

// A new entry, in place of an old one. NULL: no memory.
struct tn_slices * tn_slices_enter(struct tn_meta_buffer * b, struct ggml_tensor * t);

// A tensor was placed in the buffer: what is known of it, and where its slices are, if that is known. false
// with a text.
bool tn_slices_add(struct tn_meta_buffer * b, ggml_backend_buffer_t buffer, struct ggml_tensor * t);

// How it is divided becomes known (or is something else now): `p` is copied, slices are made anew if they
// have to be. false with a text.
bool tn_slices_divide(struct tn_meta_buffer * b, struct tn_slices * s, const struct tn_partition * p);

// What the program says about a tensor with memory of its own. false with a text.
bool tn_slices_ask(const struct tn_meta_device * meta, const struct ggml_tensor * t, struct tn_partition * p);

// Sizes and strides of a part that has memory of its own.
bool tn_slices_shape(const struct tn_partition * p, const struct ggml_tensor * t, int n, int j,
                     struct ggml_tensor * part);

// Of which source the node is a view, with the byte offset in it; NULL: of none that is known.
const struct ggml_tensor * tn_slices_base(const struct ggml_tensor * node, size_t * offset);

void tn_slices_clear(struct tn_meta_buffer * b);

// Graphs look at weights and caches through views that come and go unseen. When there are many they are
// forgotten; those that are still there are found anew. Not while a graph is prepared.
void tn_slices_forget_views(struct tn_meta_buffer * b);

// ---- buffers (meta_buffer.c) ------------------------------------------------------------------------------

struct tn_meta_buffer * tn_meta_buffer_of(ggml_backend_buffer_t buffer); // NULL: it is another kind
ggml_backend_buffer_t tn_meta_buffer_alloc(ggml_backend_buffer_type_t buft, size_t size);

// ---- contents (scatter.c) ---------------------------------------------------------------------------------

// Bytes of a tensor to or from its slices. `backends` NULL: blocking; else queued there. false with a text.
bool tn_scatter_set(const struct tn_slices * s, int n, ggml_backend_t * backends, const void * data,
                    size_t offset, size_t size);
bool tn_scatter_get(const struct tn_slices * s, int n, ggml_backend_t * backends, void * data, size_t offset,
                    size_t size);
bool tn_scatter_fill(const struct tn_slices * s, int n, uint8_t value, size_t offset, size_t size);

// All tensors of a context that have no memory, in order of creation.
bool tn_pack_tensors(struct tn_meta_buffer * b, struct ggml_context * ctx);

// ---- back end (meta_backend.c) ----------------------------------------------------------------------------

ggml_backend_t tn_meta_backend_new(struct tn_meta_device * meta, const char * params);

struct tn_meta_backend {
    struct tn_meta_device * meta;
    int n;
    ggml_backend_t backends[GGML_BACKEND_META_MAX_DEVICES]; // owned
    struct tn_allreduce * allreduce;                        // owned
    struct tn_pieces * pieces;                              // owned
};

// ---- sums over devices (allreduce.c) ----------------------------------------------------------------------

struct tn_allreduce * tn_allreduce_new(struct tn_meta_backend * b);
void tn_allreduce_free(struct tn_allreduce * r);

// Room for sums of `bytes`. false with a text: a device has none.
bool tn_allreduce_reserve(struct tn_allreduce * r, size_t bytes);

// Queues the sum of the slices; each of them becomes it.
enum ggml_status tn_allreduce_run(struct tn_allreduce * r, struct tn_slices * s);

// ---- graphs (pieces.c) ------------------------------------------------------------------------------------

struct tn_pieces * tn_pieces_new(void);
void tn_pieces_free(struct tn_pieces * p);
enum ggml_status tn_pieces_compute(struct tn_meta_backend * b, const struct ggml_cgraph * graph);

#endif
