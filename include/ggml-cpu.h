// SPDX-License-Identifier: MIT
//
// The CPU back end: computing on the processor, thread pools, access to single elements, kernels by type.
//
// Programs that use several devices reach all this through ggml-backend.h; the functions here are for those
// that compute on the processor only. Results are the same bits whatever the number of threads.
//
// Errors: as in ggml-backend.h: a refused call does nothing, returns a status, NULL, false or 0, and leaves
// its reason in ggml_ext_last_error().
// Threads: one graph, one back end and one pool are used by one thread at a time.
#pragma once

#include "ggml.h"
#include "ggml-backend.h"

// clang-format off: declarations are aligned by hand

#ifdef __cplusplus
extern "C" {
#endif

// -----------------------------------------------------------------------------------------------------------
// The back end
// -----------------------------------------------------------------------------------------------------------

// A new back end with 4 threads, no pool and no abort callback; the caller frees it with ggml_backend_free().
// Its buffers are host memory, and its graphs are computed before the call returns.
GGML_BACKEND_API ggml_backend_t ggml_backend_cpu_init(void);
GGML_BACKEND_API bool           ggml_backend_is_cpu  (ggml_backend_t backend);

// The registry entry "CPU", with its one device.
GGML_BACKEND_API ggml_backend_reg_t ggml_backend_cpu_reg(void);

// Settings, each from the next graph or plan on. A back end of another kind is refused.
//
// n_threads:      from 1 to GGML_MAX_N_THREADS, the calling thread included.
// threadpool:     borrowed, and must outlive its use; an earlier one is paused. NULL: a pool for each graph.
// abort_callback: asked by one thread after each node; true ends the graph with GGML_STATUS_ABORTED, and what
//                 was computed until then is valid. NULL removes it.
// use_ref:        scalar kernels only, activations not rounded, no fusion or other short cuts, for the graphs of
//                 this back end alone; to compare against.
GGML_BACKEND_API void ggml_backend_cpu_set_n_threads     (ggml_backend_t backend_cpu, int n_threads);
GGML_BACKEND_API void ggml_backend_cpu_set_threadpool    (ggml_backend_t backend_cpu,
                                                          ggml_threadpool_t threadpool);
GGML_BACKEND_API void ggml_backend_cpu_set_abort_callback(ggml_backend_t backend_cpu,
                                                          ggml_abort_callback abort_callback,
                                                          void * abort_callback_data);
GGML_BACKEND_API void ggml_backend_cpu_set_use_ref       (ggml_backend_t backend_cpu, bool use_ref);

// Prepares the back end's tables. Optional: every call that needs them does so; from any thread.
GGML_BACKEND_API void ggml_cpu_init(void);

// -----------------------------------------------------------------------------------------------------------
// Thread pools
// -----------------------------------------------------------------------------------------------------------
//
// Parameters (struct ggml_threadpool_params) are filled by
// ggml_threadpool_params_default() or _init() of ggml.h:
//
// n_threads:  the calling thread included.
// prio:       scheduling priority; a failure to set it is only logged.
// poll:       0 to 100: how long an idle thread spins before it sleeps; 0 sleeps at once.
// cpumask:    processors to run on; all false leaves the choice to the system.
// strict_cpu: bind each thread to one processor of the mask in turn, instead of all to the whole mask.
// paused:     start asleep.

// A new pool; NULL for bad parameters or when threads cannot be started. Free it when no graph runs on it;
// NULL is fine. A pool serves one graph at a time and may be shared by back ends that are used in turn.
GGML_BACKEND_API struct ggml_threadpool * ggml_threadpool_new (struct ggml_threadpool_params * params);
GGML_BACKEND_API void                     ggml_threadpool_free(struct ggml_threadpool * threadpool);

GGML_BACKEND_API int ggml_threadpool_get_n_threads(struct ggml_threadpool * threadpool);

// pause: the threads sleep without spinning until resume, or until the next graph, which resumes by itself.
GGML_BACKEND_API void ggml_threadpool_pause (struct ggml_threadpool * threadpool);
GGML_BACKEND_API void ggml_threadpool_resume(struct ggml_threadpool * threadpool);

// -----------------------------------------------------------------------------------------------------------
// Computing a graph without a back end
// -----------------------------------------------------------------------------------------------------------
//
// For graphs whose tensors have host memory (contexts made without no_alloc, or host buffers).

struct ggml_cplan {
    size_t                   work_size;  // bytes that work_data must have; may be 0
    uint8_t                * work_data;  // scratch memory, set and kept by the caller
    int                      n_threads;
    struct ggml_threadpool * threadpool; // NULL: a pool for this graph only
    ggml_abort_callback      abort_callback;
    void                   * abort_callback_data;
    bool                     use_ref;
};

// What computing `cgraph` needs. n_threads <= 0 means the pool's threads, or 4 without a pool; the plan may
// use fewer. Set work_data, and the callback or use_ref if wanted; the nodes must not change until the graph
// is computed. n_threads is 0 in the plan of a graph that cannot be computed.
GGML_BACKEND_API struct ggml_cplan ggml_graph_plan(const struct ggml_cgraph * cgraph, int n_threads,
                                                   struct ggml_threadpool * threadpool);

// Computes all nodes; the calling thread takes part. GGML_STATUS_FAILED for a plan that does not fit or a
// node that cannot be computed, GGML_STATUS_ABORTED when the callback said so.
GGML_BACKEND_API enum ggml_status ggml_graph_compute(struct ggml_cgraph * cgraph, struct ggml_cplan * cplan);

// Plans and computes, with scratch memory from `ctx`, where it stays.
// GGML_STATUS_ALLOC_FAILED if `ctx` is full.
GGML_BACKEND_API enum ggml_status ggml_graph_compute_with_ctx(struct ggml_context * ctx,
                                                              struct ggml_cgraph * cgraph, int n_threads);

// -----------------------------------------------------------------------------------------------------------
// Single elements of tensors in host memory
// -----------------------------------------------------------------------------------------------------------
//
// For types I8, I16, I32, F16, BF16 and F32; others, tensors without data and indices out of range are
// refused (a read gives 0). Values convert as in C: to an integer they are truncated towards zero.

// New tensors of one element, in a context made without no_alloc.
GGML_BACKEND_API struct ggml_tensor * ggml_new_i32(struct ggml_context * ctx, int32_t value);
GGML_BACKEND_API struct ggml_tensor * ggml_new_f32(struct ggml_context * ctx, float value);

// Set all elements; the result is `tensor`.
GGML_BACKEND_API struct ggml_tensor * ggml_set_i32(struct ggml_tensor * tensor, int32_t value);
GGML_BACKEND_API struct ggml_tensor * ggml_set_f32(struct ggml_tensor * tensor, float value);

// Element i, counted with the first dimension fastest; strides are respected.
GGML_BACKEND_API int32_t ggml_get_i32_1d(const struct ggml_tensor * tensor, int i);
GGML_BACKEND_API void    ggml_set_i32_1d(const struct ggml_tensor * tensor, int i, int32_t value);
GGML_BACKEND_API float   ggml_get_f32_1d(const struct ggml_tensor * tensor, int i);
GGML_BACKEND_API void    ggml_set_f32_1d(const struct ggml_tensor * tensor, int i, float value);

// The element at four indices.
GGML_BACKEND_API int32_t ggml_get_i32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3);
GGML_BACKEND_API void    ggml_set_i32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3,
                                         int32_t value);
GGML_BACKEND_API float   ggml_get_f32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3);
GGML_BACKEND_API void    ggml_set_f32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3,
                                         float value);

// -----------------------------------------------------------------------------------------------------------
// Kernels by type
// -----------------------------------------------------------------------------------------------------------

// The dot product of rows of n elements: x of the type whose traits these are, y of its vec_dot_type; n is a
// multiple of both blocks. With nrc = 1, *s is the sum of x[i] * y[i], and the strides bs, bx and by are not
// looked at. With nrc = 2, where nrows allows it: s[c * bs + r] is the product of row r of x and row c of y;
// rows are bx and by bytes apart, and bs counts floats.
typedef void (*ggml_vec_dot_t)(int n, float * GGML_RESTRICT s, size_t bs,
                               const void * GGML_RESTRICT x, size_t bx,
                               const void * GGML_RESTRICT y, size_t by, int nrc);

struct ggml_type_traits_cpu {
    ggml_from_float_t from_float;   // encodes n floats, a multiple of the block; NULL if there is no encoder
    ggml_vec_dot_t    vec_dot;      // NULL: rows of this type cannot be multiplied as they are
    enum ggml_type    vec_dot_type;
    int64_t           nrows;        // most rows that one vec_dot() takes: 1 or 2
};

// Never NULL; for a type without kernels, or no type at all, the members are NULL and 0. Lent for ever.
GGML_BACKEND_API const struct ggml_type_traits_cpu * ggml_get_type_traits_cpu(enum ggml_type type);

// Convert n values, source first: to nearest with ties to even, to an integer
// towards zero. The arrays do not overlap.
GGML_BACKEND_API void ggml_cpu_fp32_to_fp32(const float * x, float * y, int64_t n);
GGML_BACKEND_API void ggml_cpu_fp32_to_i32 (const float * x, int32_t * y, int64_t n);
GGML_BACKEND_API void ggml_cpu_fp32_to_fp16(const float * x, ggml_fp16_t * y, int64_t n);
GGML_BACKEND_API void ggml_cpu_fp16_to_fp32(const ggml_fp16_t * x, float * y, int64_t n);
GGML_BACKEND_API void ggml_cpu_fp32_to_bf16(const float * x, ggml_bf16_t * y, int64_t n);
GGML_BACKEND_API void ggml_cpu_bf16_to_fp32(const ggml_bf16_t * x, float * y, int64_t n);

// -----------------------------------------------------------------------------------------------------------
// The processor
// -----------------------------------------------------------------------------------------------------------

// 1 when this library has kernels for the feature and uses them on this processor,
// otherwise 0. get_sve_cnt and
// get_rvv_vlen: length of a vector register in bytes, 0 if there is none.

// x86
GGML_BACKEND_API int ggml_cpu_has_sse3       (void);
GGML_BACKEND_API int ggml_cpu_has_ssse3      (void);
GGML_BACKEND_API int ggml_cpu_has_avx        (void);
GGML_BACKEND_API int ggml_cpu_has_avx_vnni   (void);
GGML_BACKEND_API int ggml_cpu_has_avx2       (void);
GGML_BACKEND_API int ggml_cpu_has_bmi2       (void);
GGML_BACKEND_API int ggml_cpu_has_f16c       (void);
GGML_BACKEND_API int ggml_cpu_has_fma        (void);
GGML_BACKEND_API int ggml_cpu_has_avx512     (void);
GGML_BACKEND_API int ggml_cpu_has_avx512_vbmi(void);
GGML_BACKEND_API int ggml_cpu_has_avx512_vnni(void);
GGML_BACKEND_API int ggml_cpu_has_avx512_bf16(void);
GGML_BACKEND_API int ggml_cpu_has_amx_int8   (void);

// Arm
GGML_BACKEND_API int ggml_cpu_has_neon       (void);
GGML_BACKEND_API int ggml_cpu_has_arm_fma    (void);
GGML_BACKEND_API int ggml_cpu_has_fp16_va    (void);
GGML_BACKEND_API int ggml_cpu_has_dotprod    (void);
GGML_BACKEND_API int ggml_cpu_has_matmul_int8(void);
GGML_BACKEND_API int ggml_cpu_has_sve        (void);
GGML_BACKEND_API int ggml_cpu_get_sve_cnt    (void);
GGML_BACKEND_API int ggml_cpu_has_sme        (void);
GGML_BACKEND_API int ggml_cpu_has_sme2       (void);

// RISC-V, POWER, z/Architecture, WebAssembly
GGML_BACKEND_API int ggml_cpu_has_riscv_v    (void);
GGML_BACKEND_API int ggml_cpu_get_rvv_vlen   (void);
GGML_BACKEND_API int ggml_cpu_has_vsx        (void);
GGML_BACKEND_API int ggml_cpu_has_vxe        (void);
GGML_BACKEND_API int ggml_cpu_has_wasm_simd  (void);

// A library of matrix products that ggml may be built with.
GGML_BACKEND_API int ggml_cpu_has_llamafile  (void);

// Machines whose memory is divided among nodes (NUMA)
enum ggml_numa_strategy {
    GGML_NUMA_STRATEGY_DISABLED   = 0, // threads are not bound
    GGML_NUMA_STRATEGY_DISTRIBUTE = 1, // thread i runs on node i modulo their number
    GGML_NUMA_STRATEGY_ISOLATE    = 2, // all threads run on the node of the thread that called init
    GGML_NUMA_STRATEGY_NUMACTL    = 3, // on the processors that the process was allowed at init
    GGML_NUMA_STRATEGY_MIRROR     = 4, // threads are not bound
    GGML_NUMA_STRATEGY_COUNT
};

// Chooses the strategy, once per process and before any graph; a second call only warns.
GGML_BACKEND_API void ggml_numa_init(enum ggml_numa_strategy numa);

// Whether ggml_numa_init() found more than one node; false before it.
GGML_BACKEND_API bool ggml_is_numa(void);

#ifdef __cplusplus
}
#endif
