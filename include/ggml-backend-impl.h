// SPDX-License-Identifier: MIT
//
// What a back end consists of: tables of functions, and the objects that carry them. For those
// who write back ends; programs use ggml-backend.h, whose functions check their arguments
// before they call through these tables.
//
// A back end defines one registry entry and, below it, devices, buffer types, buffers, back ends and
// events. Each object starts with its table (`iface`) and ends with `context`, which is the
// implementation's own. Registry entries, devices and buffer types are static or live for ever; buffers,
// back ends and events are freed through their tables.
//
// Members marked "may be NULL" need not be implemented; the text says what happens then. Layouts are fixed: a
// back end compiled against this version works with every library of the same interface version.
// Errors: a function that fails returns NULL, false or a status, never ends the process, and leaves
// everything usable or at least freeable.
// Threads: the tables of registry entries, devices and buffer types may be called from several threads at
// once; those of one buffer, back end or event are not.
#pragma once

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"

// clang-format off: declarations are aligned by hand

// Version of these layouts; a library with another one is not loaded.
#define GGML_BACKEND_API_VERSION 2

#ifdef __cplusplus
extern "C" {
#endif

// -----------------------------------------------------------------------------------------------------------
// Buffer types
// -----------------------------------------------------------------------------------------------------------

struct ggml_backend_buffer_type_i {
    const char *          (*get_name)      (ggml_backend_buffer_type_t buft);
    // A new buffer of at least `size` bytes (above 0), NULL if it cannot be had.
    ggml_backend_buffer_t (*alloc_buffer)  (ggml_backend_buffer_type_t buft, size_t size);
    // Of tensors in such a buffer, a power of two.
    size_t                (*get_alignment) (ggml_backend_buffer_type_t buft);
    // Largest buffer. May be NULL: SIZE_MAX.
    size_t                (*get_max_size)  (ggml_backend_buffer_type_t buft);
    // What the tensor occupies. May be NULL: ggml_nbytes(). More than that is allowed only for quantised
    // types, for tensors without an operator of their own (NONE, RESHAPE, VIEW, PERMUTE, TRANSPOSE), and for
    // the operators of ggml_op_alloc_size_may_expand(); anything else counts as an error of the back end.
    size_t                (*get_alloc_size)(ggml_backend_buffer_type_t buft,
                                            const struct ggml_tensor * tensor);
    // Plain host memory with rows in the usual layout? May be NULL: false.
    bool                  (*is_host)       (ggml_backend_buffer_type_t buft);
};

struct ggml_backend_buffer_type {
    struct ggml_backend_buffer_type_i iface;
    ggml_backend_dev_t                device; // NULL for plain host memory
    void                            * context;
};

// True for FLASH_ATTN_EXT, MUL_MAT, MUL_MAT_ID, CUMSUM, ARGSORT and
// TOP_K: results of these may be given scratch memory behind their data.
GGML_API bool ggml_op_alloc_size_may_expand(enum ggml_op op);

// -----------------------------------------------------------------------------------------------------------
// Buffers
// -----------------------------------------------------------------------------------------------------------
//
// Offsets and sizes were checked against the tensor before; `data` is host memory.

struct ggml_backend_buffer_i {
    // Releases what belongs to the context; the object itself is released by the
    // caller. May be NULL: nothing to do.
    void             (*free_buffer)  (ggml_backend_buffer_t buffer);
    void *           (*get_base)     (ggml_backend_buffer_t buffer);
    // A tensor was placed in the buffer: set up tensor->extra, for instance. May be NULL.
    enum ggml_status (*init_tensor)  (ggml_backend_buffer_t buffer, struct ggml_tensor * tensor);
    // Contents; all three block.
    void             (*memset_tensor)(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor,
                                      uint8_t value, size_t offset, size_t size);
    void             (*set_tensor)   (ggml_backend_buffer_t buffer, struct ggml_tensor * tensor,
                                      const void * data, size_t offset, size_t size);
    void             (*get_tensor)   (ggml_backend_buffer_t buffer, const struct ggml_tensor * tensor,
                                      void * data, size_t offset, size_t size);
    // n_copies pieces at equal distances. May be NULL: one call for each piece.
    void             (*set_tensor_2d)(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor,
                                      const void * data, size_t offset, size_t size, size_t n_copies,
                                      size_t stride_tensor, size_t stride_data);
    void             (*get_tensor_2d)(ggml_backend_buffer_t buffer, const struct ggml_tensor * tensor,
                                      void * data, size_t offset, size_t size, size_t n_copies,
                                      size_t stride_tensor, size_t stride_data);
    // Copies from another buffer to `dst`, which is in this one; false if it cannot. May be NULL: false.
    bool             (*cpy_tensor)   (ggml_backend_buffer_t buffer, const struct ggml_tensor * src,
                                      struct ggml_tensor * dst);
    void             (*clear)        (ggml_backend_buffer_t buffer, uint8_t value);
    // Drops what init_tensor() set up. May be NULL.
    void             (*reset)        (ggml_backend_buffer_t buffer);
};

struct ggml_backend_buffer {
    struct ggml_backend_buffer_i   iface;
    ggml_backend_buffer_type_t     buft;
    void                         * context;
    size_t                         size;
    enum ggml_backend_buffer_usage usage;
};

// A new buffer object with these members and usage "any"; what alloc_buffer() returns. It takes over
// `context` (free_buffer releases it), unless it fails: NULL without memory.
GGML_API ggml_backend_buffer_t ggml_backend_buffer_init(ggml_backend_buffer_type_t buft,
                                                        struct ggml_backend_buffer_i iface, void * context,
                                                        size_t size);

// Lets the buffer of `dst` copy by its cpy_tensor(); false if it has none or could not.
GGML_API bool ggml_backend_buffer_copy_tensor(const struct ggml_tensor * src, struct ggml_tensor * dst);

// One object that stands for several buffers and owns them from then on. Its size is their sum, its type that
// of the first; tensors lie in the parts. The array is copied.
GGML_API ggml_backend_buffer_t ggml_backend_multi_buffer_alloc_buffer(ggml_backend_buffer_t * buffers,
                                                                      size_t n_buffers);
GGML_API bool                  ggml_backend_buffer_is_multi_buffer   (ggml_backend_buffer_t buffer);
GGML_API void                  ggml_backend_multi_buffer_set_usage   (ggml_backend_buffer_t buffer,
                                                                      enum ggml_backend_buffer_usage usage);

// -----------------------------------------------------------------------------------------------------------
// Back ends
// -----------------------------------------------------------------------------------------------------------

// Given to graph_optimize(). `add_alloc_dep(user_data, tensor, until)` keeps the memory of `tensor` from
// others until node `until` has been computed: for back ends that run parts of a graph at the same time. Of
// several calls for one tensor the latest `until` counts. `until` has to be a node of the graph as optimised.
struct ggml_backend_graph_optimize_params {
    void (*add_alloc_dep)(void * user_data, struct ggml_tensor * tensor, struct ggml_tensor * until);
    void * user_data;
};

struct ggml_backend_i {
    const char * (*get_name)(ggml_backend_t backend);
    // Releases the object as well.
    void         (*free)    (ggml_backend_t backend);

    // Queued in order with the graphs. Each may be NULL: the caller synchronises and blocks.
    void (*set_tensor_async)   (ggml_backend_t backend, struct ggml_tensor * tensor, const void * data,
                                size_t offset, size_t size);
    void (*get_tensor_async)   (ggml_backend_t backend, const struct ggml_tensor * tensor, void * data,
                                size_t offset, size_t size);
    void (*set_tensor_2d_async)(ggml_backend_t backend, struct ggml_tensor * tensor, const void * data,
                                size_t offset, size_t size, size_t n_copies, size_t stride_tensor,
                                size_t stride_data);
    void (*get_tensor_2d_async)(ggml_backend_t backend, const struct ggml_tensor * tensor, void * data,
                                size_t offset, size_t size, size_t n_copies, size_t stride_tensor,
                                size_t stride_data);
    // Asked of the destination's back end: after all work of backend_src, before later
    // work of backend_dst. False if it cannot.
    bool (*cpy_tensor_async)   (ggml_backend_t backend_src, ggml_backend_t backend_dst,
                                const struct ggml_tensor * src, struct ggml_tensor * dst);
    // Waits for everything queued. May be NULL if nothing is ever queued.
    void (*synchronize)        (ggml_backend_t backend);

    // Prepared graphs. May be NULL, all of them; update is never called by the library.
    ggml_backend_graph_plan_t (*graph_plan_create) (ggml_backend_t backend,
                                                    const struct ggml_cgraph * cgraph);
    void                      (*graph_plan_free)   (ggml_backend_t backend, ggml_backend_graph_plan_t plan);
    void                      (*graph_plan_update) (ggml_backend_t backend, ggml_backend_graph_plan_t plan,
                                                    const struct ggml_cgraph * cgraph);
    enum ggml_status          (*graph_plan_compute)(ggml_backend_t backend, ggml_backend_graph_plan_t plan);

    // Computes the nodes in order; may return before they are done. Nodes without the COMPUTE flag, with the
    // operators NONE, RESHAPE, VIEW, PERMUTE and TRANSPOSE, and empty ones are passed over.
    enum ggml_status (*graph_compute)(ggml_backend_t backend, struct ggml_cgraph * cgraph);

    // Marks, and waiting for them on this back end's side. May be NULL: the device has no events.
    void (*event_record)(ggml_backend_t backend, ggml_backend_event_t event);
    void (*event_wait)  (ggml_backend_t backend, ggml_backend_event_t event);

    // May reorder the nodes of a split before memory is planned; called once for each
    // split, `params` not NULL. May be NULL.
    void (*graph_optimize)(ggml_backend_t backend, struct ggml_cgraph * cgraph,
                           struct ggml_backend_graph_optimize_params * params);
};

struct ggml_backend {
    ggml_guid_t           guid; // of the implementation
    struct ggml_backend_i iface;
    ggml_backend_dev_t    device;
    void                * context;
};

struct ggml_backend_event {
    struct ggml_backend_device * device;
    void                       * context;
};

// -----------------------------------------------------------------------------------------------------------
// Devices
// -----------------------------------------------------------------------------------------------------------

struct ggml_backend_device_i {
    const char *               (*get_name)       (ggml_backend_dev_t dev);
    const char *               (*get_description)(ggml_backend_dev_t dev);
    // Bytes; 0 and 0 when unknown.
    void                       (*get_memory)     (ggml_backend_dev_t dev, size_t * free, size_t * total);
    enum ggml_backend_dev_type (*get_type)       (ggml_backend_dev_t dev);
    // `props` is zeroed before.
    void                       (*get_props)      (ggml_backend_dev_t dev,
                                                  struct ggml_backend_dev_props * props);

    ggml_backend_t             (*init_backend)        (ggml_backend_dev_t dev, const char * params);
    ggml_backend_buffer_type_t (*get_buffer_type)     (ggml_backend_dev_t dev);
    // Pinned host memory. May be NULL: none.
    ggml_backend_buffer_type_t (*get_host_buffer_type)(ggml_backend_dev_t dev);
    // May be NULL: the device cannot.
    ggml_backend_buffer_t      (*buffer_from_host_ptr)(ggml_backend_dev_t dev, void * ptr, size_t size,
                                                       size_t max_tensor_size);

    // Answers from descriptions alone: tensors may have no memory. True is a
    // promise to compute the node right.
    bool (*supports_op)  (ggml_backend_dev_t dev, const struct ggml_tensor * op);
    bool (*supports_buft)(ggml_backend_dev_t dev, ggml_backend_buffer_type_t buft);
    // Does the device want the node although its weights lie in memory that it cannot use? May be NULL: no.
    bool (*offload_op)   (ggml_backend_dev_t dev, const struct ggml_tensor * op);

    // May be NULL, all three: no events. free releases the object as well.
    ggml_backend_event_t (*event_new)        (ggml_backend_dev_t dev);
    void                 (*event_free)       (ggml_backend_dev_t dev, ggml_backend_event_t event);
    void                 (*event_synchronize)(ggml_backend_dev_t dev, ggml_backend_event_t event);
};

struct ggml_backend_device {
    struct ggml_backend_device_i iface;
    ggml_backend_reg_t           reg;
    void                       * context;
};

// -----------------------------------------------------------------------------------------------------------
// Registry entries, and back ends in shared libraries
// -----------------------------------------------------------------------------------------------------------

struct ggml_backend_reg_i {
    const char *       (*get_name)        (ggml_backend_reg_t reg);
    size_t             (*get_device_count)(ggml_backend_reg_t reg);
    ggml_backend_dev_t (*get_device)      (ggml_backend_reg_t reg, size_t index);
    // Functions handed out by name; NULL for unknown names. May be NULL: none.
    void *             (*get_proc_address)(ggml_backend_reg_t reg, const char * name);
};

struct ggml_backend_reg {
    int                       api_version; // GGML_BACKEND_API_VERSION
    struct ggml_backend_reg_i iface;
    void                    * context;
};

// A library that can be loaded exports `ggml_backend_init`, which returns its registry entry or NULL, and may
// export `ggml_backend_score`: how well it suits this machine. 0 means not at all; of several libraries for
// one family the one with the highest score is loaded.
typedef ggml_backend_reg_t (*ggml_backend_init_t)(void);
typedef int                (*ggml_backend_score_t)(void);

// -----------------------------------------------------------------------------------------------------------
// Meta device (see ggml-backend.h)
// -----------------------------------------------------------------------------------------------------------

GGML_API bool           ggml_backend_is_meta            (ggml_backend_t backend);
GGML_API bool           ggml_backend_buffer_is_meta     (ggml_backend_buffer_t buf);
GGML_API bool           ggml_backend_buft_is_meta       (ggml_backend_buffer_type_t buft);
GGML_API size_t         ggml_backend_meta_n_backends    (ggml_backend_t meta_backend);
GGML_API ggml_backend_t ggml_backend_meta_simple_backend(ggml_backend_t meta_backend, size_t index);

// As ggml_backend_alloc_ctx_tensors_from_buft() for a meta type: every device gets its slices, packed.
GGML_API struct ggml_backend_buffer * ggml_backend_meta_alloc_ctx_tensors_from_buft(
    struct ggml_context * ctx, ggml_backend_buffer_type_t buft);

// Passes the usage on to the parts; ggml_backend_buffer_set_usage() does so.
GGML_API void ggml_backend_meta_buffer_set_usage(ggml_backend_buffer_t buffer,
                                                 enum ggml_backend_buffer_usage usage);

#ifdef __cplusplus
}
#endif

// One line in a source file makes the exports of a loadable library; with GGML_BACKEND_DL undefined, where
// the back end is linked in, they expand to nothing.
//
//     GGML_BACKEND_DL_IMPL(ggml_backend_cpu_reg)
//     GGML_BACKEND_DL_SCORE_IMPL(my_score)
#ifdef GGML_BACKEND_DL
#    ifdef __cplusplus
#        define GGML_BACKEND_DL_LINKAGE extern "C"
#    else
#        define GGML_BACKEND_DL_LINKAGE extern
#    endif
#    ifdef _WIN32
#        define GGML_BACKEND_DL_EXPORT GGML_BACKEND_DL_LINKAGE __declspec(dllexport)
#    else
#        define GGML_BACKEND_DL_EXPORT GGML_BACKEND_DL_LINKAGE __attribute__((visibility("default")))
#    endif
#    define GGML_BACKEND_DL_IMPL(reg_fn)                                    \
        GGML_BACKEND_DL_EXPORT ggml_backend_reg_t ggml_backend_init(void);  \
        ggml_backend_reg_t ggml_backend_init(void) {                        \
            return reg_fn();                                                \
        }
#    define GGML_BACKEND_DL_SCORE_IMPL(score_fn)                            \
        GGML_BACKEND_DL_EXPORT int ggml_backend_score(void);                \
        int ggml_backend_score(void) {                                      \
            return score_fn();                                              \
        }
#else
#    define GGML_BACKEND_DL_IMPL(reg_fn)
#    define GGML_BACKEND_DL_SCORE_IMPL(score_fn)
#endif
