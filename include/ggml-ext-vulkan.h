// SPDX-License-Identifier: MIT
//
// What the Vulkan back end does for kernels of an application (ggml-ext.h): run a compute shader on tensors,
// copy, and tell limits. Not part of ggml. No Vulkan header is needed.
//
// The functions come in a table, found by name:
//
//     void * p = ggml_backend_reg_get_proc_address(reg, "ggml_ext_vulkan_v1");
//     const ggml_ext_vulkan_v1 * vk = p ? ((ggml_ext_vulkan_v1_t) p)() : NULL;
//
// dispatch and copy are called in a kernel's execute function and record work into the back end's own command
// buffer: they return before it is done, in order with what is recorded before and after, with the barriers
// that this needs. All arguments are checked first; a refusal records nothing, is a status or false, and
// leaves its reason in ggml_ext_last_error(). A kernel gives such a status on.
// Threads: as the back end that is passed.
#pragma once

#include "ggml.h"
#include "ggml-backend.h"

// clang-format off: declarations are aligned by hand

#ifdef __cplusplus
extern "C" {
#endif

// Version of the table.
#define GGML_EXT_VULKAN_VERSION 1

// A range of bytes in a tensor or in a buffer (the workspace): exactly one of the two is not NULL. It must
// lie inside, on the back end's own device.
typedef struct ggml_ext_vk_binding {
    const struct ggml_tensor * tensor;
    ggml_backend_buffer_t      buffer;
    size_t                     offset;
    size_t                     size;   // 0: up to the end
} ggml_ext_vk_binding;

// Where a binding lies. Bindings overlap exactly if their storage_id is equal and begin .. end - 1 do.
typedef struct ggml_ext_vk_range {
    uint64_t storage_id;
    uint64_t begin;         // bytes from the start of the storage
    uint64_t end;
    uint32_t shader_offset; // bytes that a shader has to add, see dispatch
} ggml_ext_vk_range;

typedef struct ggml_ext_vk_device_info {
    uint32_t struct_size;               // set by the caller
    uint32_t max_workgroup_count[3];
    uint32_t max_workgroup_size[3];
    uint32_t max_workgroup_invocations;
    uint32_t max_push_constants;        // bytes
    size_t   max_storage_range;         // bytes of one binding
    size_t   storage_align;             // to which offsets of bindings are rounded down
    size_t   shared_memory;             // bytes for one workgroup
    uint32_t subgroup_size;
    uint32_t subgroup_min;              // sizes that may be required; both as subgroup_size if none may
    uint32_t subgroup_max;
    bool     subgroup_arithmetic;
    bool     subgroup_size_control;
    bool     fp16;                      // arithmetic and storage
    bool     int8;
    bool     int_dot;                   // integer dot products
    bool     coopmat_i8;                // cooperative matrices I8 * I8 + I32, of the shape m, n, k
    uint32_t coopmat_m;
    uint32_t coopmat_n;
    uint32_t coopmat_k;
} ggml_ext_vk_device_info;

// One launch of a compute shader with entry point "main". Everything is copied before the call returns.
typedef struct ggml_ext_vk_dispatch {
    uint32_t                    struct_size;            // set by the caller
    const uint32_t            * spirv;
    size_t                      spirv_size;             // bytes, a multiple of 4
    const ggml_ext_vk_binding * bindings;               // storage buffers 0 .. n_bindings - 1 of set 0
    uint32_t                    n_bindings;
    const void                * push;                   // push constants
    uint32_t                    push_size;              // bytes, a multiple of 4
    const uint32_t            * spec;                   // specialisation constants 0 .. n_spec - 1
    uint32_t                    n_spec;
    uint32_t                    groups[3];              // workgroups, not threads
    uint32_t                    required_subgroup_size; // 0: any
} ggml_ext_vk_dispatch;

typedef struct ggml_ext_vulkan_v1 {
    uint32_t struct_size; // of the table in this library: test it before a member that was added later
    uint32_t version;     // GGML_EXT_VULKAN_VERSION

    // Limits and abilities of a device.
    bool (*device_info)(ggml_backend_dev_t device, ggml_ext_vk_device_info * info);

    // Resolves a binding, for instance to see whether two of them overlap.
    bool (*buffer_info)(ggml_backend_t backend, const ggml_ext_vk_binding * binding,
                        ggml_ext_vk_range * range);

    // Records a shader. Descriptors start at the binding's offset rounded down to storage_align; what
    // remains is the range's shader_offset, which the shader has to be told (push constants) and adds,
    // divided by the size of its elements. Shaders with equal code, constants and subgroup size are built
    // once for a device. Every binding may be written.
    enum ggml_status (*dispatch)(ggml_backend_t backend, const ggml_ext_vk_dispatch * dispatch);

    // Records a copy between ranges of the same size, which do not overlap and are aligned to 4.
    enum ggml_status (*copy)(ggml_backend_t backend, const ggml_ext_vk_binding * src,
                             const ggml_ext_vk_binding * dst);
} ggml_ext_vulkan_v1;

// What "ggml_ext_vulkan_v1" names: a function that lends the table for ever.
typedef const ggml_ext_vulkan_v1 * (*ggml_ext_vulkan_v1_t)(void);

#ifdef __cplusplus
}
#endif
