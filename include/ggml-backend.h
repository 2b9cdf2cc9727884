// SPDX-License-Identifier: MIT
//
// Buffers, back ends, devices, the registry, and the scheduler that runs one graph on several back ends.
//
//     registry entry (ggml_backend_reg_t)       a family, as "CPU" or "CUDA"
//       device (ggml_backend_dev_t)             a processor of that family
//         buffer type (.._buffer_type_t)        a kind of memory that the device can use
//           buffer (.._buffer_t)                a piece of it; tensors lie in buffers
//         back end (ggml_backend_t)             a queue of work on the device: graphs, copies
//           event (ggml_backend_event_t)        a mark in that queue
//
// Registry entries, devices and buffer types are never freed; the functions that return them lend them.
// Buffers, back ends, events, plans, schedulers and graph copies belong to whom made them and are freed by
// their `_free`. A buffer does not need the back end that it was made with, only its device.
//
// Errors: nothing here ends the process. A call that cannot do its work does nothing and returns a status
// other than GGML_STATUS_SUCCESS, false, NULL or 0; one without a result just returns. The reason is in
// ggml_ext_last_error() (ggml-ext.h) of the calling thread, and in the log. NULL handles are refused like any
// other bad argument, and freeing NULL does nothing.
// Threads: the registry and the questions about devices and buffer types can be used from any thread. A back
// end, a buffer, a scheduler and the tensors in them are used by one thread at a time; different ones are
// independent. Sizes, offsets and strides are in bytes.
#pragma once

#include "ggml.h"
#include "ggml-alloc.h"

// clang-format off: declarations are aligned by hand

// Linkage of what the libraries of single back ends export (ggml-cpu.h and its like).
#ifdef GGML_BACKEND_SHARED
#    if defined(_WIN32) && !defined(__MINGW32__)
#        ifdef GGML_BACKEND_BUILD
#            define GGML_BACKEND_API __declspec(dllexport) extern
#        else
#            define GGML_BACKEND_API __declspec(dllimport) extern
#        endif
#    else
#        define GGML_BACKEND_API __attribute__((visibility("default"))) extern
#    endif
#else
#    define GGML_BACKEND_API extern
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ggml_backend_event  * ggml_backend_event_t;
typedef void                       * ggml_backend_graph_plan_t;
typedef struct ggml_backend_reg    * ggml_backend_reg_t;
typedef struct ggml_backend_device * ggml_backend_dev_t;

// -----------------------------------------------------------------------------------------------------------
// Buffer types
// -----------------------------------------------------------------------------------------------------------

// Name for people, as "CPU" or "CUDA0".
GGML_API const char * ggml_backend_buft_name(ggml_backend_buffer_type_t buft);

// A new buffer of `size` bytes with undefined contents, owned by the caller. Size 0 gives a buffer without
// memory, whose base is NULL. NULL when the memory cannot be had.
GGML_API ggml_backend_buffer_t ggml_backend_buft_alloc_buffer(ggml_backend_buffer_type_t buft, size_t size);

// alignment:  of every tensor in such a buffer, a power of two.
// max_size:   of one buffer; SIZE_MAX when there is no limit.
// alloc_size: what a tensor occupies, at least ggml_nbytes(tensor). Some back ends put scratch memory or
//             padding behind a tensor: use this one wherever memory is laid out. SIZE_MAX, with which
//             no allocation succeeds, for a refused tensor or when the back end's answer breaks its rule.
// is_host:    true when the memory can be read and written through tensor->data and
//             rows have the usual layout.
// device:     to which the type belongs; NULL for plain host memory.
GGML_API size_t             ggml_backend_buft_get_alignment (ggml_backend_buffer_type_t buft);
GGML_API size_t             ggml_backend_buft_get_max_size  (ggml_backend_buffer_type_t buft);
GGML_API size_t             ggml_backend_buft_get_alloc_size(ggml_backend_buffer_type_t buft,
                                                             const struct ggml_tensor * tensor);
GGML_API bool               ggml_backend_buft_is_host       (ggml_backend_buffer_type_t buft);
GGML_API ggml_backend_dev_t ggml_backend_buft_get_device    (ggml_backend_buffer_type_t buft);

// Plain host memory, which every back end of type CPU computes in.
GGML_API ggml_backend_buffer_type_t ggml_backend_cpu_buffer_type(void);

// -----------------------------------------------------------------------------------------------------------
// Buffers
// -----------------------------------------------------------------------------------------------------------

// What a buffer holds. It steers the scheduler and lets a back end repack what is read often.
enum ggml_backend_buffer_usage {
    GGML_BACKEND_BUFFER_USAGE_ANY     = 0, // unknown: every new buffer
    GGML_BACKEND_BUFFER_USAGE_WEIGHTS = 1, // written once, read often: a node runs where its weights are
    GGML_BACKEND_BUFFER_USAGE_COMPUTE = 2, // intermediate results: set by the graph allocator
};

// Makes a host buffer of memory that the caller keeps: `ptr`, aligned to 32, must outlive the buffer and is
// not freed with it. NULL for a misaligned or NULL pointer.
GGML_API ggml_backend_buffer_t ggml_backend_cpu_buffer_from_ptr(void * ptr, size_t size);

// Releases the memory. Tensors in it keep addresses that must not be used any more.
GGML_API void ggml_backend_buffer_free(ggml_backend_buffer_t buffer);

// base: address of the first byte; for a device it may be no address at all, but is what offsets are counted
//       from. NULL for size 0 and for a buffer that stands for several.
// type: as ggml_backend_buft_*; alignment, max_size, alloc_size and is_host are those of the type.
GGML_API const char               * ggml_backend_buffer_name          (ggml_backend_buffer_t buffer);
GGML_API void                     * ggml_backend_buffer_get_base      (ggml_backend_buffer_t buffer);
GGML_API size_t                     ggml_backend_buffer_get_size      (ggml_backend_buffer_t buffer);
GGML_API ggml_backend_buffer_type_t ggml_backend_buffer_get_type      (ggml_backend_buffer_t buffer);
GGML_API size_t                     ggml_backend_buffer_get_alignment (ggml_backend_buffer_t buffer);
GGML_API size_t                     ggml_backend_buffer_get_max_size  (ggml_backend_buffer_t buffer);
GGML_API size_t                     ggml_backend_buffer_get_alloc_size(ggml_backend_buffer_t buffer,
                                                                       const struct ggml_tensor * tensor);
GGML_API bool                       ggml_backend_buffer_is_host       (ggml_backend_buffer_t buffer);

// The usage is a note only, and may be changed at any time; parts of a buffer that stands for several follow.
GGML_API void                           ggml_backend_buffer_set_usage(ggml_backend_buffer_t buffer,
                                                                      enum ggml_backend_buffer_usage usage);
GGML_API enum ggml_backend_buffer_usage ggml_backend_buffer_get_usage(ggml_backend_buffer_t buffer);

// Sets every byte of the buffer to `value`.
GGML_API void ggml_backend_buffer_clear(ggml_backend_buffer_t buffer, uint8_t value);

// Lets the buffer drop what it keeps for single tensors (tensor->extra), before its
// memory is given to others.
GGML_API void ggml_backend_buffer_reset(ggml_backend_buffer_t buffer);

// Tells the buffer that `tensor` lies in it now.
// ggml_backend_tensor_alloc() and ggml_backend_view_init() do so.
GGML_API enum ggml_status ggml_backend_buffer_init_tensor(ggml_backend_buffer_t buffer,
                                                          struct ggml_tensor * tensor);

// -----------------------------------------------------------------------------------------------------------
// Placing tensors
// -----------------------------------------------------------------------------------------------------------

// Puts `tensor`, which has no data, no buffer and no base, at the address `addr` of `buffer`. Refused
// unless it fits there with its alloc size.
GGML_API enum ggml_status ggml_backend_tensor_alloc(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor,
                                                    void * addr);

// Puts a view without buffer where its base, which has one, says.
GGML_API enum ggml_status ggml_backend_view_init(struct ggml_tensor * tensor);

// -----------------------------------------------------------------------------------------------------------
// Contents of tensors
// -----------------------------------------------------------------------------------------------------------
//
// `offset` counts from the start of the tensor; offset + size must not exceed
// ggml_nbytes(tensor). A tensor without memory is refused, and size 0 does nothing. Bytes are
// those of the tensor's type in its layout: no conversion.
// `data` stays the caller's.

// Blocking reads and writes, back end or not. Work that is still queued on a back end is not waited for:
// call ggml_backend_synchronize() before.
GGML_API void ggml_backend_tensor_set   (struct ggml_tensor * tensor, const void * data, size_t offset,
                                         size_t size);
GGML_API void ggml_backend_tensor_get   (const struct ggml_tensor * tensor, void * data, size_t offset,
                                         size_t size);
GGML_API void ggml_backend_tensor_memset(struct ggml_tensor * tensor, uint8_t value, size_t offset,
                                         size_t size);

// The same for `n_copies` pieces of `size` bytes: piece i is at offset + i * stride_tensor of the
// tensor and at data + i * stride_data.
GGML_API void ggml_backend_tensor_set_2d(struct ggml_tensor * tensor, const void * data, size_t offset,
                                         size_t size, size_t n_copies, size_t stride_tensor,
                                         size_t stride_data);
GGML_API void ggml_backend_tensor_get_2d(const struct ggml_tensor * tensor, void * data, size_t offset,
                                         size_t size, size_t n_copies, size_t stride_tensor,
                                         size_t stride_data);

// The same, queued on `backend` in order with its graphs. `data` has to stay valid until the back end is
// synchronised. A back end that cannot do this synchronises and then blocks.
GGML_API void ggml_backend_tensor_set_async   (ggml_backend_t backend, struct ggml_tensor * tensor,
                                               const void * data, size_t offset, size_t size);
GGML_API void ggml_backend_tensor_get_async   (ggml_backend_t backend, const struct ggml_tensor * tensor,
                                               void * data, size_t offset, size_t size);
GGML_API void ggml_backend_tensor_set_2d_async(ggml_backend_t backend, struct ggml_tensor * tensor,
                                               const void * data, size_t offset, size_t size,
                                               size_t n_copies, size_t stride_tensor, size_t stride_data);
GGML_API void ggml_backend_tensor_get_2d_async(ggml_backend_t backend, const struct ggml_tensor * tensor,
                                               void * data, size_t offset, size_t size,
                                               size_t n_copies, size_t stride_tensor, size_t stride_data);

// Copies `src` to `dst`, which has the same type, shape and strides, wherever both are; through host memory
// if there is no shorter way. Blocking. To itself: nothing.
GGML_API void ggml_backend_tensor_copy(const struct ggml_tensor * src, struct ggml_tensor * dst);

// The same after everything queued on `backend_src` so far, and before anything queued on `backend_dst`
// later. Without support on either side both are synchronised and the copy blocks.
GGML_API void ggml_backend_tensor_copy_async(ggml_backend_t backend_src, ggml_backend_t backend_dst,
                                             const struct ggml_tensor * src, struct ggml_tensor * dst);

// -----------------------------------------------------------------------------------------------------------
// Back ends
// -----------------------------------------------------------------------------------------------------------

// Identifies the implementation, not the instance. NULL for NULL.
GGML_API ggml_guid_t        ggml_backend_guid      (ggml_backend_t backend);
GGML_API const char       * ggml_backend_name      (ggml_backend_t backend); // "NULL" for NULL
GGML_API ggml_backend_dev_t ggml_backend_get_device(ggml_backend_t backend);
GGML_API void               ggml_backend_free      (ggml_backend_t backend);

// The device's default buffer type, and what ggml_backend_buft_* say of it.
GGML_API ggml_backend_buffer_type_t ggml_backend_get_default_buffer_type(ggml_backend_t backend);
GGML_API ggml_backend_buffer_t      ggml_backend_alloc_buffer           (ggml_backend_t backend, size_t size);
GGML_API size_t                     ggml_backend_get_alignment          (ggml_backend_t backend);
GGML_API size_t                     ggml_backend_get_max_size           (ggml_backend_t backend);

// Waits until all work queued on the back end is done.
GGML_API void ggml_backend_synchronize(ggml_backend_t backend);

// Computes the nodes of an allocated graph in order. The async form may return before the work is done; the
// tensors must then stay until the back end is synchronised. GGML_STATUS_ABORTED when an abort callback
// stopped it; the nodes before are valid.
GGML_API enum ggml_status ggml_backend_graph_compute      (ggml_backend_t backend,
                                                           struct ggml_cgraph * cgraph);
GGML_API enum ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend,
                                                           struct ggml_cgraph * cgraph);

// A graph prepared once and computed often. Its tensors must stay where they are; the graph
// object itself is copied. Settings of the back end (threads) are those at the time of
// creation. NULL from a back end without plans.
GGML_API ggml_backend_graph_plan_t ggml_backend_graph_plan_create (ggml_backend_t backend,
                                                                   struct ggml_cgraph * cgraph);
GGML_API enum ggml_status          ggml_backend_graph_plan_compute(ggml_backend_t backend,
                                                                   ggml_backend_graph_plan_t plan);
GGML_API void                      ggml_backend_graph_plan_free   (ggml_backend_t backend,
                                                                   ggml_backend_graph_plan_t plan);

// As ggml_backend_dev_supports_op() and the two beside it, for the back end's device.
GGML_API bool ggml_backend_supports_op  (ggml_backend_t backend, const struct ggml_tensor * op);
GGML_API bool ggml_backend_supports_buft(ggml_backend_t backend, ggml_backend_buffer_type_t buft);
GGML_API bool ggml_backend_offload_op   (ggml_backend_t backend, const struct ggml_tensor * op);

// -----------------------------------------------------------------------------------------------------------
// Events
// -----------------------------------------------------------------------------------------------------------

// A mark that can be waited for; it may be recorded again, and the last record counts. A device without
// events (see its capabilities) gives NULL, and its back ends refuse to record and to wait.
//
// record:      marks the end of the work queued on `backend` so far.
// synchronize: the calling thread waits for the mark.
// wait:        work queued on `backend` from now on starts after the mark; the calling thread does not wait.
GGML_API ggml_backend_event_t ggml_backend_event_new (ggml_backend_dev_t device);
GGML_API void                 ggml_backend_event_free(ggml_backend_event_t event);

GGML_API void ggml_backend_event_record     (ggml_backend_event_t event, ggml_backend_t backend);
GGML_API void ggml_backend_event_synchronize(ggml_backend_event_t event);
GGML_API void ggml_backend_event_wait       (ggml_backend_t backend, ggml_backend_event_t event);

// -----------------------------------------------------------------------------------------------------------
// Devices
// -----------------------------------------------------------------------------------------------------------

enum ggml_backend_dev_type {
    GGML_BACKEND_DEVICE_TYPE_CPU   = 0, // the processor, with the host's memory
    GGML_BACKEND_DEVICE_TYPE_GPU   = 1, // a graphics processor with memory of its own
    GGML_BACKEND_DEVICE_TYPE_IGPU  = 2, // one that shares the host's memory
    GGML_BACKEND_DEVICE_TYPE_ACCEL = 3, // a helper of the processor that computes some operators (BLAS)
    GGML_BACKEND_DEVICE_TYPE_META  = 4, // several devices seen as one
};

struct ggml_backend_dev_caps {
    bool async;                // graphs and copies queued asynchronously really overlap with the host's work
    bool host_buffer;          // there is a host buffer type whose memory is pinned for fast transfers
    bool buffer_from_host_ptr; // existing host memory can become a buffer
    bool events;               // ggml_backend_event_* work
    bool mmap_support;         // weights may be loaded from a mapped file
};

struct ggml_backend_dev_props {
    const char *                 name;
    const char *                 description;
    size_t                       memory_free;
    size_t                       memory_total;
    enum ggml_backend_dev_type   type;
    const char *                 device_id; // PCI address in lower case, "0000:01:00.0"; NULL if unknown
    struct ggml_backend_dev_caps caps;
};

// name:        as "CPU" or "CUDA0"; compared without case.
// description: as the product's name.
// memory:      in bytes; 0 and 0 when unknown.
// get_props:   all of it at once, filled for the caller; the texts are lent.
GGML_API const char               * ggml_backend_dev_name       (ggml_backend_dev_t device);
GGML_API const char               * ggml_backend_dev_description(ggml_backend_dev_t device);
GGML_API void                       ggml_backend_dev_memory     (ggml_backend_dev_t device, size_t * free,
                                                                 size_t * total);
GGML_API enum ggml_backend_dev_type ggml_backend_dev_type       (ggml_backend_dev_t device);
GGML_API void                       ggml_backend_dev_get_props  (ggml_backend_dev_t device,
                                                                 struct ggml_backend_dev_props * props);
GGML_API ggml_backend_reg_t         ggml_backend_dev_backend_reg(ggml_backend_dev_t device);

// A new back end on the device, owned by the caller. `params` is free text for the back end, usually NULL.
GGML_API ggml_backend_t ggml_backend_dev_init(ggml_backend_dev_t device, const char * params);

// The device's own memory; and pinned host memory, NULL if there is none.
GGML_API ggml_backend_buffer_type_t ggml_backend_dev_buffer_type     (ggml_backend_dev_t device);
GGML_API ggml_backend_buffer_type_t ggml_backend_dev_host_buffer_type(ggml_backend_dev_t device);

// Makes a buffer of existing host memory, typically a mapped file, which must outlive it. `max_tensor_size`
// is the size of the largest tensor in it, for devices whose buffers are limited and must overlap. NULL when
// the device cannot (see the capability) or will not.
GGML_API ggml_backend_buffer_t ggml_backend_dev_buffer_from_host_ptr(ggml_backend_dev_t device, void * ptr,
                                                                     size_t size, size_t max_tensor_size);

// supports_op:   the device computes this node right, for its types, shapes and strides. Only the
//                descriptions of the node and its sources are looked at, so they need no memory.
// supports_buft: the device can read tensors in buffers of this type.
// offload_op:    the device wants the node although the node's weights are in host memory: it is
//                large enough for the copy to pay off.
GGML_API bool ggml_backend_dev_supports_op  (ggml_backend_dev_t device, const struct ggml_tensor * op);
GGML_API bool ggml_backend_dev_supports_buft(ggml_backend_dev_t device, ggml_backend_buffer_type_t buft);
GGML_API bool ggml_backend_dev_offload_op   (ggml_backend_dev_t device, const struct ggml_tensor * op);

// -----------------------------------------------------------------------------------------------------------
// Registry entries
// -----------------------------------------------------------------------------------------------------------

GGML_API const char       * ggml_backend_reg_name     (ggml_backend_reg_t reg);
GGML_API size_t             ggml_backend_reg_dev_count(ggml_backend_reg_t reg);
GGML_API ggml_backend_dev_t ggml_backend_reg_dev_get  (ggml_backend_reg_t reg, size_t index); // NULL: no such

// A function that a family hands out by name; NULL if it has none of that name, so test before you call. The
// types below are for these names; others are declared in the header of their back end.
//
//     "ggml_backend_set_n_threads"         ggml_backend_set_n_threads_t
//     "ggml_backend_set_abort_callback"    ggml_backend_set_abort_callback_t
//     "ggml_backend_get_features"          ggml_backend_get_features_t
//     "ggml_backend_dev_get_extra_bufts"   ggml_backend_dev_get_extra_bufts_t
//     "ggml_backend_split_buffer_type"     ggml_backend_split_buffer_type_t
//     "ggml_backend_comm_init"             ggml_backend_comm_init_t
//     "ggml_backend_comm_free"             ggml_backend_comm_free_t
//     "ggml_backend_comm_allreduce_tensor" ggml_backend_comm_allreduce_tensor_t
GGML_API void * ggml_backend_reg_get_proc_address(ggml_backend_reg_t reg, const char * name);

// Threads of a back end that computes on the processor, from the next graph on.
typedef void (*ggml_backend_set_n_threads_t)(ggml_backend_t backend, int n_threads);

// The callback is asked after every node; true ends the graph with GGML_STATUS_ABORTED. NULL removes it.
typedef void (*ggml_backend_set_abort_callback_t)(ggml_backend_t backend, ggml_abort_callback abort_callback,
                                                  void * abort_callback_data);

// What was compiled in and is used, as {"AVX2", "1"}; a NULL name ends the list.
struct ggml_backend_feature {
    const char * name;
    const char * value;
};
typedef struct ggml_backend_feature * (*ggml_backend_get_features_t)(ggml_backend_reg_t reg);

// Further buffer types for weights, in layouts that the device computes faster with; best first,
// ended by NULL. A type is right for a weight if the device supports the operator with the
// weight placed in a buffer of the type.
typedef ggml_backend_buffer_type_t * (*ggml_backend_dev_get_extra_bufts_t)(ggml_backend_dev_t device);

// A buffer type that splits matrices by rows over the devices of a family: device i takes the share
// tensor_split[i] of the sum; NULL: by free memory. Results arrive on `main_device`.
typedef ggml_backend_buffer_type_t (*ggml_backend_split_buffer_type_t)(int main_device,
                                                                       const float * tensor_split);

// Sums over devices.
// init:             a context for one back end per device; NULL if the family cannot.
// allreduce_tensor: sums tensors[i] of the i-th back end in place, queued; false: not done, find another way.
typedef void * (*ggml_backend_comm_init_t)(ggml_backend_t * backends, size_t n_backends);
typedef void   (*ggml_backend_comm_free_t)(void * comm_ctx);
typedef bool   (*ggml_backend_comm_allreduce_tensor_t)(void * comm_ctx, struct ggml_tensor ** tensors);

// -----------------------------------------------------------------------------------------------------------
// The registry
// -----------------------------------------------------------------------------------------------------------
//
// Holds what was built in, from the first call on, and what is loaded or registered later. Devices are listed
// in the order of their families, the processor last. Names are compared without case.

// Adds a family with its devices, or a single device. Both are borrowed and stay until ggml_backend_unload(); a
// second time does nothing.
GGML_API void ggml_backend_register       (ggml_backend_reg_t reg);
GGML_API void ggml_backend_device_register(ggml_backend_dev_t device);

// An index out of range, an unknown name or a type that no device has: NULL. by_type: the first one.
GGML_API size_t             ggml_backend_reg_count  (void);
GGML_API ggml_backend_reg_t ggml_backend_reg_get    (size_t index);
GGML_API ggml_backend_reg_t ggml_backend_reg_by_name(const char * name);
GGML_API size_t             ggml_backend_dev_count  (void);
GGML_API ggml_backend_dev_t ggml_backend_dev_get    (size_t index);
GGML_API ggml_backend_dev_t ggml_backend_dev_by_name(const char * name);
GGML_API ggml_backend_dev_t ggml_backend_dev_by_type(enum ggml_backend_dev_type type);

// ggml_backend_dev_init() of the device found so; NULL if there is none. best: the first GPU, otherwise the
// first that shares the host's memory, otherwise the processor.
GGML_API ggml_backend_t ggml_backend_init_by_name(const char * name, const char * params);
GGML_API ggml_backend_t ggml_backend_init_by_type(enum ggml_backend_dev_type type, const char * params);
GGML_API ggml_backend_t ggml_backend_init_best   (void);

// Loads a back end from a shared library and registers it; a second time gives the same. NULL if the file cannot be
// loaded, is no back end, rates itself unusable here (its score is 0), or was built for another version of the
// interface: the reason is in the log and ggml_ext_last_error(). A path without a folder is looked for where the
// system keeps libraries. Unloading takes a family out of the lists and closes its library. It is refused while back
// ends, buffers, events or thread pools of a loaded family exist; pointers to its devices and buffer types, and what
// other threads do with them, are the caller's to end.
GGML_API ggml_backend_reg_t ggml_backend_load  (const char * path);
GGML_API void               ggml_backend_unload(ggml_backend_reg_t reg);

// Loads, for every known family, the best of the libraries libggml-<name>-*.so by their scores, or else the first
// libggml-<name>.so that loads; from the folder of installed back ends (a build may have one), the folder of the
// program and the working folder, or only from `dir_path` (NULL: as load_all); finally the library named by the
// environment variable GGML_BACKEND_PATH. What is missing is passed over, what is broken as well, with a warning.
GGML_API void ggml_backend_load_all          (void);
GGML_API void ggml_backend_load_all_from_path(const char * dir_path);

// -----------------------------------------------------------------------------------------------------------
// Scheduler: one graph on several back ends
// -----------------------------------------------------------------------------------------------------------
//
// The scheduler decides for every node where it runs, cuts the graph where that changes ("splits"), copies
// what crosses a cut, allocates all of it and runs the splits in order.
//
// Where a node runs, by descending strength: the caller said so (set_tensor_backend); its result or base
// has memory that a back end can use; its weights lie where only one can read them; a neighbour runs
// there. Among equals the back end with the lower index wins, which runs what it supports; the last one
// is the processor and takes the rest.
//
// The object is in one of three states: reset (no assignment), split, allocated.
//
//     sched = ggml_backend_sched_new(backends, NULL, n, GGML_DEFAULT_GRAPH_SIZE, false, true);
//     ggml_backend_sched_reserve(sched, build(largest));   // optional: sizes the buffers once
//     for (each graph) {
//         ggml_backend_sched_reset(sched);
//         ggml_backend_sched_alloc_graph(sched, graph);
//         ggml_backend_tensor_set(input, ...);
//         ggml_backend_sched_graph_compute(sched, graph);
//     }

typedef struct ggml_backend_sched * ggml_backend_sched_t;

// Called for nodes while a graph runs. ask = true: does the caller want to see this node? ask = false: it has
// been computed and its data may be read; false ends the graph.
typedef bool (*ggml_backend_sched_eval_callback)(struct ggml_tensor * t, bool ask, void * user_data);

// A scheduler over up to 16 back ends, which it borrows; index = priority, 0 first,
// and the last is of type CPU.
// bufts:      the buffer type of each back end; NULL for their default types.
// graph_size: bounds nodes + leafs of every graph.
// parallel:   keep four copies of each input, so that the next graph may be fed while one runs.
// op_offload: run large operators on a device though their weights are in host memory.
// NULL for a bad list, or without memory.
GGML_API ggml_backend_sched_t ggml_backend_sched_new (ggml_backend_t * backends,
                                                      ggml_backend_buffer_type_t * bufts, int n_backends,
                                                      size_t graph_size, bool parallel, bool op_offload);
GGML_API void                 ggml_backend_sched_free(ggml_backend_sched_t sched);

// Makes the buffers large enough for `measure_graph`, or only states per back end what that takes (`sizes`
// has one entry a back end, all SIZE_MAX if it cannot be planned). The graph is used up: build it anew to
// compute it. reserve ends in the reset state and is false when a buffer cannot be had; reserve_size forgets
// assignments that were made before, and has to be followed by a reset.
GGML_API bool ggml_backend_sched_reserve     (ggml_backend_sched_t sched, struct ggml_cgraph * measure_graph);
GGML_API void ggml_backend_sched_reserve_size(ggml_backend_sched_t sched, struct ggml_cgraph * measure_graph,
                                              size_t * sizes);

GGML_API int            ggml_backend_sched_get_n_backends(ggml_backend_sched_t sched);
GGML_API ggml_backend_t ggml_backend_sched_get_backend   (ggml_backend_sched_t sched, int i);

// Splits of the last graph, and copies of each input (4 when parallel, otherwise 1).
GGML_API int ggml_backend_sched_get_n_splits(ggml_backend_sched_t sched);
GGML_API int ggml_backend_sched_get_n_copies(ggml_backend_sched_t sched);

// The buffer type given for a back end, and the bytes held for it; 0 before the first reserve or allocation.
GGML_API ggml_backend_buffer_type_t ggml_backend_sched_get_buffer_type(ggml_backend_sched_t sched,
                                                                       ggml_backend_t backend);
GGML_API size_t                     ggml_backend_sched_get_buffer_size(ggml_backend_sched_t sched,
                                                                       ggml_backend_t backend);

// Places a node of the next graph, after a reset and before its allocation; or tells, after a split, where a
// node is (NULL: nowhere). An assignment is forgotten with the next reset.
GGML_API void           ggml_backend_sched_set_tensor_backend(ggml_backend_sched_t sched,
                                                              struct ggml_tensor * node,
                                                              ggml_backend_t backend);
GGML_API ggml_backend_t ggml_backend_sched_get_tensor_backend(ggml_backend_sched_t sched,
                                                              struct ggml_tensor * node);

// Assigns and cuts without allocating. Sources of nodes are changed to the copies that cross the
// cuts, so a graph can be split once only.
GGML_API void ggml_backend_sched_split_graph(ggml_backend_sched_t sched, struct ggml_cgraph * graph);

// Splits and allocates. Inputs can be set afterwards. False when a buffer cannot be had,
// or while another graph is allocated.
GGML_API bool ggml_backend_sched_alloc_graph(ggml_backend_sched_t sched, struct ggml_cgraph * graph);

// Computes the allocated graph; as often as wanted, with inputs copied anew each time. A graph that was not
// allocated before is allocated first, after a reset. The async form may return early: synchronise before you
// read results. The status of the first failing split ends the graph and is returned.
GGML_API enum ggml_status ggml_backend_sched_graph_compute      (ggml_backend_sched_t sched,
                                                                 struct ggml_cgraph * graph);
GGML_API enum ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t sched,
                                                                 struct ggml_cgraph * graph);
GGML_API void             ggml_backend_sched_synchronize        (ggml_backend_sched_t sched);

// Back to the reset state; needed before another graph. Buffers are kept, assignments forgotten.
GGML_API void ggml_backend_sched_reset(ggml_backend_sched_t sched);

// Lets `callback` watch the nodes of later computes; NULL removes it. Every node is asked about in order;
// those from one that is wanted to the next are computed as a piece, so watching costs speed, and fused
// rules of an application are not used.
GGML_API void ggml_backend_sched_set_eval_callback(ggml_backend_sched_t sched,
                                                   ggml_backend_sched_eval_callback callback,
                                                   void * user_data);

// -----------------------------------------------------------------------------------------------------------
// Meta device: several devices as one, each with a part of the weights (tensor parallelism)
// -----------------------------------------------------------------------------------------------------------
//
// The caller states how weights and caches are divided; how results are, follows from the operators. Sums
// over devices are formed where a result is only partial.

#define GGML_BACKEND_META_MAX_DEVICES 16

enum ggml_backend_meta_split_axis {
    GGML_BACKEND_SPLIT_AXIS_0        = 0,  // every device holds a part of this dimension
    GGML_BACKEND_SPLIT_AXIS_1        = 1,
    GGML_BACKEND_SPLIT_AXIS_2        = 2,
    GGML_BACKEND_SPLIT_AXIS_3        = 3,
    GGML_BACKEND_SPLIT_AXIS_MIRRORED = 10, // every device holds the whole
    GGML_BACKEND_SPLIT_AXIS_PARTIAL  = 11, // the value is the sum of what the devices hold
    GGML_BACKEND_SPLIT_AXIS_NONE     = 98, // used inside only, like the next
    GGML_BACKEND_SPLIT_AXIS_UNKNOWN  = 99,
};

// How one tensor is divided among n devices. The split dimension consists of `n_segments` segments;
// segment s stands nr[s] times in a row and gives ne[s * n + j] of its elements to device j. All
// parts together are the dimension; on axis 0 each is a multiple of the type's block; 0 is allowed.
// Mirrored and partial: one segment with nr = 1; for partial ne[j] != 0 names the devices that
// contribute, and all zero means all of them.
struct ggml_backend_meta_split_state {
    enum ggml_backend_meta_split_axis axis;
    int64_t                           ne[16 * GGML_BACKEND_META_MAX_DEVICES];
    uint32_t                          nr[16];
    uint32_t                          n_segments; // 1 to 16
};

// Asked for every tensor in a buffer that is not for intermediate results, possibly more than once and before
// the tensor has data; the answer must always be the same.
typedef struct ggml_backend_meta_split_state (*ggml_backend_meta_get_split_state_t)(
    const struct ggml_tensor * tensor, void * userdata);

// "0" to "3", "MIRRORED", "PARTIAL", "NONE" or "UNKNOWN".
GGML_API const char * ggml_backend_meta_split_axis_name(enum ggml_backend_meta_split_axis split_axis);

// The device that stands for `n_devs` devices (at most GGML_BACKEND_META_MAX_DEVICES). It lives for ever and
// is in no registry; the same arguments give the same device. NULL for a bad list.
GGML_API ggml_backend_dev_t ggml_backend_meta_device(ggml_backend_dev_t * devs, size_t n_devs,
                                                     ggml_backend_meta_get_split_state_t get_split_state,
                                                     void * get_split_state_ud);

// -----------------------------------------------------------------------------------------------------------
// The same graph on two back ends
// -----------------------------------------------------------------------------------------------------------

// A copy of an allocated graph on another back end. All four members are NULL when it could not be made.
struct ggml_backend_graph_copy {
    ggml_backend_buffer_t buffer;          // memory of all copied tensors
    struct ggml_context * ctx_allocated;   // descriptions of those in the buffer
    struct ggml_context * ctx_unallocated; // descriptions of views
    struct ggml_cgraph  * graph;           // nodes only
};

// Copies `graph` with all tensors it reaches, their contents included, to
// `backend`. The caller frees the copy.
GGML_API struct ggml_backend_graph_copy ggml_backend_graph_copy     (ggml_backend_t backend,
                                                                     struct ggml_cgraph * graph);
GGML_API void                           ggml_backend_graph_copy_free(struct ggml_backend_graph_copy copy);

// t1 and t2 are the results of node `node_index` on the two back ends; read them
// with ggml_backend_tensor_get().
typedef bool (*ggml_backend_eval_callback)(int node_index, struct ggml_tensor * t1, struct ggml_tensor * t2,
                                           void * user_data);

// Computes `graph` on backend1 and a copy of it on backend2 and shows both results to `callback`. Without
// test nodes it goes node by node, each computed from the results of its own side and shown unless it is a
// view, until the callback is false. With test nodes both graphs are computed whole, and then those nodes are
// shown; the answers do not matter. False only if the copy cannot be made or no test node is in the graph.
GGML_API bool ggml_backend_compare_graph_backend(ggml_backend_t backend1, ggml_backend_t backend2,
                                                 struct ggml_cgraph * graph,
                                                 ggml_backend_eval_callback callback, void * user_data,
                                                 const struct ggml_tensor * const * test_nodes,
                                                 size_t num_test_nodes);

#ifdef __cplusplus
}
#endif
