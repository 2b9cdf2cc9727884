// SPDX-License-Identifier: MIT
//
// The RPC back end: devices of another machine, through a server that runs there.
//
// The protocol has no encryption and no authentication: use it in networks that you trust. Client and server
// must speak the same major version. An endpoint is a text "host:port".
//
// A server that cannot be reached, or a broken connection, is a refusal (NULL, 0 or a status) with
// its reason in ggml_ext_last_error().
#pragma once

#include "ggml.h"
#include "ggml-backend.h"

// clang-format off: declarations are aligned by hand

#define RPC_PROTO_MAJOR_VERSION 7
#define RPC_PROTO_MINOR_VERSION 0
#define RPC_PROTO_PATCH_VERSION 0

#define GGML_RPC_MAX_SERVERS 16

// Operators cross the wire as numbers: another list of operators needs another version of the protocol.
#ifdef __cplusplus
static_assert(GGML_OP_COUNT == 101, "the list of operators changed: raise the version of the protocol");
#endif

#ifdef __cplusplus
extern "C" {
#endif

// A new back end on device number `device` of a server; the caller frees it. NULL if there is none.
GGML_BACKEND_API ggml_backend_t ggml_backend_rpc_init(const char * endpoint, uint32_t device);
GGML_BACKEND_API bool           ggml_backend_is_rpc  (ggml_backend_t backend);

// The memory of that device, and its free and total bytes at this moment (0 and 0 if it cannot be asked).
GGML_BACKEND_API ggml_backend_buffer_type_t ggml_backend_rpc_buffer_type(const char * endpoint,
                                                                         uint32_t device);
GGML_BACKEND_API void ggml_backend_rpc_get_device_memory(const char * endpoint, uint32_t device,
                                                         size_t * free, size_t * total);

// The registry entry "RPC", which lists no devices of its own. add_server: an entry with the
// devices of a server, to be given to ggml_backend_register(); the same endpoint gives the same
// entry. NULL if it cannot be reached.
GGML_BACKEND_API ggml_backend_reg_t ggml_backend_rpc_reg       (void);
GGML_BACKEND_API ggml_backend_reg_t ggml_backend_rpc_add_server(const char * endpoint);

// Serves `n_devices` devices to clients at `endpoint`, and returns only when that fails. `cache_dir`, if not
// NULL, is a folder in which large tensors are kept by their hash, so that they need not be sent again.
// `n_threads` is for devices of type CPU. Everything that a client sends is checked before it is used.
GGML_BACKEND_API void ggml_backend_rpc_start_server(const char * endpoint, const char * cache_dir,
                                                    size_t n_threads, size_t n_devices,
                                                    ggml_backend_dev_t * devices);

#ifdef __cplusplus
}
#endif
