// SPDX-License-Identifier: MIT
//
// Errors that can be asked for; and operators, kernels and fusion rules that belong to an application. Not
// part of ggml: this is what Tenon adds.
//
// An application can
//
// - define an operator: a name, attributes, and a function that infers the result's type and shape;
// - give a device a kernel for it, or a better kernel for a built-in operator;
// - give a device a fusion rule: one kernel for several neighbouring nodes.
//
// All of it is called from graphs like what is built in: the scheduler asks the application's code
// whether it supports a node, allocates its scratch memory, runs it in order with everything else,
// and tells why it was or was not taken.
//
//     register operators and kernels      once, before the first question about a device
//     build graphs, ggml_ext_op_create()  like with the built-in builders
//     schedule and compute                as ever
//
// Registrations are for the life of the process and this process only; they are no file format. Names and
// descriptors are copied. Callbacks and their `user_data` stay the application's and have to outlive
// every graph, plan and back end that may use them. A registration made after a scheduler has allocated
// takes effect with its next allocation.
//
// Errors: a refused call returns false, NULL, 0 or a status, changes nothing, and leaves
// its reason in ggml_ext_last_error().
// Threads: registration, lookup, the error functions and the switches may be used from any thread. Callbacks
// are called by the thread that asks, allocates or computes.
// Structs that start with `struct_size` grow by appending: set it to sizeof the struct that you
// compile with. A size below the first version's, or above the one this library knows, is refused;
// members that are missing count as 0.
#pragma once

#include "ggml.h"
#include "ggml-backend.h"

// clang-format off: declarations are aligned by hand

// Version of this interface; also tells this header from others of the same name.
#define GGML_EXT_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

// -----------------------------------------------------------------------------------------------------------
// Errors
// -----------------------------------------------------------------------------------------------------------
//
// A builder (ggml_add and so on) that refuses logs the reason, notes it in the context if it is the first,
// and returns a poisoned tensor: harmless, without data, and poisoning whatever is built from it, which is
// not logged again. A graph that contains one is refused by every allocation and computation, with the
// context's first reason; one that could not be made itself, with its own. So it is enough to check once,
// after building.

// False for NULL and for a poisoned tensor.
GGML_API bool ggml_ext_tensor_valid(const struct ggml_tensor * tensor);

// False for NULL, for a graph that could not be made (its context was full), and for one to which
// something did not fit or was poisoned.
GGML_API bool ggml_ext_graph_valid(const struct ggml_cgraph * graph);

// The reason of the first refusal in this context, NULL if there was none. Lent
// until the context is reset or freed.
GGML_API const char * ggml_ext_context_error(const struct ggml_context * ctx);

// The reason of the calling thread's last failed call: builder, allocation, computation, file. Never NULL; ""
// if nothing failed yet. A call that succeeds leaves it. Lent until this thread's next failure.
GGML_API const char * ggml_ext_last_error(void);

// For those who debug a graph: with true, a builder that refuses aborts the process at once, with a
// backtrace. Off at the start unless the environment variable TENON_STRICT is 1. For the whole process.
GGML_API void ggml_ext_set_strict(bool on);

// -----------------------------------------------------------------------------------------------------------
// Operators
// -----------------------------------------------------------------------------------------------------------

// Most bytes of attributes that an operator can have.
#define GGML_EXT_ATTR_MAX 40

// What an inference function answers. It is called with type GGML_TYPE_COUNT and sizes of 1.
typedef struct ggml_ext_output {
    enum ggml_type type;
    int64_t        ne[GGML_MAX_DIMS];
} ggml_ext_output;

// States the result of an operator for these attributes (aligned to 8) and sources, some of which may be
// NULL. False refuses them; say why with ggml_ext_refuse(). The result will be contiguous and own its memory.
// A size of 0 makes an empty node, for which no kernel is called.
typedef bool (*ggml_ext_infer_fn)(const void * attrs, struct ggml_tensor * const * src, int n_src,
                                  ggml_ext_output * out, void * user_data);

typedef struct ggml_ext_op_desc {
    uint32_t          struct_size;
    const char      * name;        // unique in the process, with a version: "acme.gate.v1"
    size_t            attr_size;   // 0 to GGML_EXT_ATTR_MAX
    ggml_ext_infer_fn infer;
    void            * user_data;   // for infer
} ggml_ext_op_desc;

// False for a bad descriptor or a name that is taken; the first registration stays.
GGML_API bool ggml_ext_register_op(const ggml_ext_op_desc * desc);

// A node of a registered operator in `ctx`: op GGML_OP_CUSTOM, the sources in order, and a copy of the
// attributes behind the bytes that GGML_OP_CUSTOM itself uses in op_params. `attr_size` is the registered
// one; n_src is 0 to GGML_MAX_SRC, and sources that the operator does not need may be NULL.
// NULL, unlike the built-in builders, when refused: unknown name, other attribute size, a poisoned source,
// sources that the inference refuses, or a result that cannot exist.
GGML_API struct ggml_tensor * ggml_ext_op_create(struct ggml_context * ctx, const char * name,
                                                 const void * attrs, size_t attr_size,
                                                 struct ggml_tensor * const * src, int n_src);

// The name of a node's operator; NULL for everything that is not an extension node,
// plain custom nodes included.
GGML_API const char * ggml_ext_op_name(const struct ggml_tensor * node);

// Copies the attributes out; `size` is exactly the registered one.
GGML_API bool ggml_ext_op_attrs(const struct ggml_tensor * node, void * dst, size_t size);

// -----------------------------------------------------------------------------------------------------------
// Kernels and fusion rules
// -----------------------------------------------------------------------------------------------------------
//
// A descriptor serves single nodes by `supports`, ranges of nodes by `match`, or both. For every split
// of a scheduled graph the library makes a plan, in this order: optimise callbacks; match; the check
// whether the range may be fused; memory, in which the intermediate results of a fused range get none;
// prepare; and then, at every computation, execute. A plan is used until the scheduler allocates anew;
// each successful prepare has one destroy.
//
// Who runs a node: at each index the application's candidates are asked by priority, then the longer match,
// then the earlier registration; after them the built-in rules. A single-node kernel is taken where it
// supports the node, and prefers it or the device has nothing of its own. In-place and view nodes of built-in
// operators stay with the device. Without a plan (ggml_backend_graph_compute) an application serves single
// nodes only; nor are its rules used under an evaluation callback or with several copies of the inputs.
//
// A range is fused only if nobody sees its intermediate results: each node is marked for computation,
// has no user, view or output flag outside, and is of a built-in operator whose result owns its memory
// or of a registered one. The last may be a copy (GGML_OP_CPY) into existing memory, or a full write
// back to memory that the range itself made.

enum ggml_ext_step_flags {
    GGML_EXT_STEP_FRESH_OUTPUT = 1u << 0, // the output owns its memory, and no source of the step overlaps it
};

// What is to be computed: one node, or a range.
typedef struct ggml_ext_step {
    uint32_t                     struct_size;
    const struct ggml_cgraph   * graph;
    int                          first;  // index of the first node in `graph`
    int                          count;
    struct ggml_tensor * const * nodes;  // `count` nodes
    struct ggml_tensor         * output; // the last of them, the only one that has to be written
    uint32_t                     flags;  // enum ggml_ext_step_flags; none while memory is only measured
} ggml_ext_step;

// How close a kernel is to the native form of what it computes.
enum ggml_ext_contract {
    GGML_EXT_CONTRACT_TOLERANCE = 0, // within `tolerance`
    GGML_EXT_CONTRACT_EXACT     = 1, // the same bits
};

typedef struct ggml_ext_kernel_desc {
    uint32_t     struct_size;
    const char * name;     // unique for the device
    enum ggml_op op;       // of the node, or of the first node of a range
    const char * op_name;  // a registered operator, for GGML_OP_CUSTOM; otherwise NULL
    int          priority; // higher ones are asked first

    // Is the kernel right for this node? Only descriptions count: nothing has memory yet. NULL: ranges only.
    bool (*supports)(ggml_backend_dev_t dev, const struct ggml_tensor * node, void * user_data);

    // Is it worth it, where the device could compute the node itself? NULL: always.
    bool (*preferred)(ggml_backend_dev_t dev, const struct ggml_tensor * node, void * user_data);

    // How many nodes from `first` on does the rule replace? 0, or 2 and more. NULL: single nodes only.
    int (*match)(ggml_backend_dev_t dev, const struct ggml_cgraph * graph, int first, void * user_data);

    // May move nodes with ggml_ext_graph_delay() so that rules match; once for each
    // split and plan. May be NULL.
    void (*optimize)(ggml_backend_dev_t dev, struct ggml_cgraph * graph, void * user_data);

    // States how many bytes of scratch memory the step needs (0 at the start), and may make a state for it.
    // Runs while memory is measured too: tensors may have no addresses. No work on the device. May be NULL.
    enum ggml_status (*prepare)(ggml_backend_dev_t dev, const ggml_ext_step * step, size_t * workspace,
                                void ** state, void * user_data);

    // Computes the step. `workspace` has at least the bytes that were asked for, with undefined contents, and
    // is shared with other steps; it may be NULL when none were. A status other than success ends the
    // computation and reaches its caller; nothing else is tried in its place. Required.
    enum ggml_status (*execute)(ggml_backend_t backend, ggml_backend_buffer_t workspace,
                                const ggml_ext_step * step, void * state, void * user_data);

    // Once for every prepare that succeeded, even if the state is NULL. May be NULL.
    void (*destroy)(void * state, void * user_data);

    void * user_data;

    enum ggml_ext_contract contract;
    // Relative L2 distance; 0 stands for 1e-5 (F32 results), 1e-3 (F16), 8e-3 (BF16) or 2e-2 (quantised).
    float                  tolerance;
} ggml_ext_kernel_desc;

// Promises that a device which records its work (CUDA graphs) may rely on.
enum ggml_ext_kernel_flags {
    GGML_EXT_KERNEL_CAPTURE_SAFE    = 1u << 0, // execute may be recorded, and replayed instead of called
    GGML_EXT_KERNEL_REPLAY_REUSABLE = 1u << 1, // a recording serves equal plans too; needs the flag above
};

// Binds a kernel to a device; _ex with flags, of which unknown ones are refused. False for a bad descriptor
// (neither supports nor match, no execute, an unknown operator) or a name that the device has already.
GGML_API bool ggml_ext_register_kernel   (ggml_backend_dev_t device, const ggml_ext_kernel_desc * desc);
GGML_API bool ggml_ext_register_kernel_ex(ggml_backend_dev_t device, const ggml_ext_kernel_desc * desc,
                                          uint32_t flags);

// Whether the device computes the node by itself. ggml_backend_dev_supports_op() is true also where only a
// registered kernel can. May be called in callbacks.
GGML_API bool ggml_ext_dev_supports_native_op(ggml_backend_dev_t device, const struct ggml_tensor * node);

// Moves nodes first .. first + count - 1 to just before the node that is now at index `before`, which
// lies behind them. False, with the graph as it was, when a node in between reads what is moved, when
// either side writes what the other reads or writes, or when a node has unknown side effects. before =
// first + count moves nothing and is true.
GGML_API bool ggml_ext_graph_delay(struct ggml_cgraph * graph, int first, int count, int before);

// -----------------------------------------------------------------------------------------------------------
// Reasons, switches and checks
// -----------------------------------------------------------------------------------------------------------

// Says, in supports, match, prepare or an inference function that is about to refuse, why; so may a back end
// in its supports_op. Kept for ggml_ext_explain() and ggml_ext_last_error(). printf-style.
GGML_API void ggml_ext_refuse(const char * fmt, ...) GGML_ATTRIBUTE_FORMAT(1, 2);

// Switches the kernels of a name off or on, on all devices, from the next plan on. False if there are none.
GGML_API bool ggml_ext_set_enabled(const char * kernel, bool on);

// From the next plan on this scheduler takes only kernels and rules whose contract
// is GGML_EXT_CONTRACT_EXACT.
GGML_API void ggml_ext_sched_require_exact(ggml_backend_sched_t sched, bool on);

// Receives one comparison. It names the kernel, the last node of the step, the relative L2 distance from the
// native form, and the index of the first element that is out of tolerance (-1 for none).
typedef void (*ggml_ext_shadow_fn)(const char * kernel, const struct ggml_tensor * node, double rel_l2,
                                   int64_t first_bad, void * user_data);

// Runs every `every`-th step of a kernel ("*": of all) a second time in its native form and compares; 0
// switches it off. With `disable_on_mismatch` a kernel that breaks its contract is switched off. `report` may
// be NULL: the log tells of mismatches. False if there is no such kernel.
GGML_API bool ggml_ext_set_shadow(const char * kernel_or_star, int every, bool disable_on_mismatch,
                                  ggml_ext_shadow_fn report, void * user_data);

enum ggml_ext_format {
    GGML_EXT_TEXT = 0, // for people
    GGML_EXT_JSON = 1,
};

// Describes the last graph that the scheduler split or allocated, which may be gone by now: for every node its
// device and the reason, for every candidate whether it was taken or which check refused it; for every split
// its inputs: of how many bytes, from which device, and how many the last computation copied in which way.
// Writes at most `size` bytes with the terminator, and returns the full length without it, like snprintf;
// `buf` may be NULL with size 0. 0 with a refusal for a NULL scheduler or another format. Not while another
// thread uses the scheduler.
GGML_API size_t ggml_ext_explain(ggml_backend_sched_t sched, enum ggml_ext_format format, char * buf,
                                 size_t size);

// -----------------------------------------------------------------------------------------------------------
// Plug-ins: extensions in a shared library
// -----------------------------------------------------------------------------------------------------------

// A library that holds extensions exports a function of this name and type; what it returns is lent for ever.
//
//     const struct ggml_ext_plugin * ggml_ext_plugin_v1(void);
struct ggml_ext_plugin {
    uint32_t     struct_size;
    uint32_t     abi_version; // GGML_EXT_VERSION
    const char * name;
    const char * version;
    // Registers the kernels for a device; called once for each one.
    bool       (*register_device)(ggml_backend_dev_t device);
};
typedef const struct ggml_ext_plugin * (*ggml_ext_plugin_v1_t)(void);

// Loads such a library; it stays for the life of the process.
GGML_API bool ggml_ext_load_plugin(const char * path);

// -----------------------------------------------------------------------------------------------------------
// Services of back ends
// -----------------------------------------------------------------------------------------------------------
//
// Found by name with ggml_backend_reg_get_proc_address(), NULL where a family has none; the type of
// "ggml_ext_x_v1" is ggml_ext_x_v1_t. Services lend what the back end uses itself: streams and handles stay
// the back end's, and are left in the state in which they were found. For Vulkan see ggml-ext-vulkan.h.

// Threads of the CPU back end, given to each task.
typedef struct ggml_ext_cpu_task {
    int    ith;                // this task, 0 to nth - 1
    int    nth;                // tasks that run at once
    bool (*aborted)(void *);   // should the work end? aborted(abort_data)
    void * abort_data;
    void (*barrier)(void *);   // waits for all nth tasks: barrier(barrier_data)
    void * barrier_data;
} ggml_ext_cpu_task;

// Runs `fn` nth times at once on the back end's threads and waits; nth is n_tasks, or the threads of the back
// end if those are fewer or n_tasks <= 0. GGML_STATUS_ABORTED when the abort callback said so before or
// meanwhile. Inside a step and outside of graphs.
typedef enum ggml_status (*ggml_ext_cpu_parallel_v1_t)(
    ggml_backend_t backend, int n_tasks,
    void (*fn)(const ggml_ext_cpu_task * task, void * data), void * data);

// context: the physical number of the CUDA device, and the current stream (a cudaStream_t).
// device:  that number alone, before there is a back end.
// blas:    the cuBLAS handle, set to the current stream, with scalars in host memory.
typedef struct ggml_ext_cuda_context {
    int    device;
    void * stream;
} ggml_ext_cuda_context;
typedef bool (*ggml_ext_cuda_context_v1_t)(ggml_backend_t backend, ggml_ext_cuda_context * context);
typedef bool (*ggml_ext_cuda_device_v1_t) (ggml_backend_dev_t device, int * physical);
typedef bool (*ggml_ext_cuda_blas_v1_t)   (ggml_backend_t backend, void ** handle);

// The same for CUDA, HIP and MUSA alike, with the runtime that the handles belong to.
enum ggml_ext_gpu_runtime {
    GGML_EXT_GPU_CUDA = 1,
    GGML_EXT_GPU_HIP  = 2,
    GGML_EXT_GPU_MUSA = 3,
};

typedef struct ggml_ext_gpu_device {
    uint32_t                  struct_size;         // set by the caller
    enum ggml_ext_gpu_runtime runtime;
    int                       device;              // physical number
    size_t                    smem_per_block_optin; // bytes of shared memory that a block can ask for
    int                       warp_size;           // 32 or 64
    bool                      i8_blas;             // the BLAS library multiplies I8 into I32 here
} ggml_ext_gpu_device;

typedef struct ggml_ext_gpu_context {
    enum ggml_ext_gpu_runtime runtime;
    int                       device;
    void                    * stream;
} ggml_ext_gpu_context;

typedef bool (*ggml_ext_gpu_device_v1_t) (ggml_backend_dev_t device, ggml_ext_gpu_device * info);
typedef bool (*ggml_ext_gpu_context_v1_t)(ggml_backend_t backend, ggml_ext_gpu_context * context);
typedef bool (*ggml_ext_gpu_blas_v1_t)   (ggml_backend_t backend, void ** handle);

// For those who write back ends: which results of `graph` the back end will never write, because it fuses
// their users, so that they need no memory. Fills at most `max` entries of `out` and returns their number.
typedef int (*ggml_ext_skip_alloc_v1_t)(ggml_backend_t backend, const struct ggml_cgraph * graph,
                                        struct ggml_tensor ** out, int max);

#ifdef __cplusplus
}
#endif
