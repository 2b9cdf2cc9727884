// SPDX-License-Identifier: MIT
//
// Owning smart pointers for C++ programs. Each releases its object with the matching *_free function.
#pragma once

#ifndef __cplusplus
#    error "ggml-cpp.h is a C++ header"
#endif

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"
#include "gguf.h"

#include <memory>

struct ggml_context_deleter {
    void operator()(ggml_context * ctx) { ggml_free(ctx); }
};

struct gguf_context_deleter {
    void operator()(gguf_context * ctx) { gguf_free(ctx); }
};

struct ggml_gallocr_deleter {
    void operator()(ggml_gallocr_t galloc) { ggml_gallocr_free(galloc); }
};

struct ggml_backend_deleter {
    void operator()(ggml_backend_t backend) { ggml_backend_free(backend); }
};

struct ggml_backend_buffer_deleter {
    void operator()(ggml_backend_buffer_t buffer) { ggml_backend_buffer_free(buffer); }
};

struct ggml_backend_event_deleter {
    void operator()(ggml_backend_event_t event) { ggml_backend_event_free(event); }
};

struct ggml_backend_sched_deleter {
    void operator()(ggml_backend_sched_t sched) { ggml_backend_sched_free(sched); }
};

using ggml_context_ptr        = std::unique_ptr<ggml_context, ggml_context_deleter>;
using gguf_context_ptr        = std::unique_ptr<gguf_context, gguf_context_deleter>;
using ggml_gallocr_ptr        = std::unique_ptr<ggml_gallocr, ggml_gallocr_deleter>;
using ggml_backend_ptr        = std::unique_ptr<ggml_backend, ggml_backend_deleter>;
using ggml_backend_buffer_ptr = std::unique_ptr<ggml_backend_buffer, ggml_backend_buffer_deleter>;
using ggml_backend_event_ptr  = std::unique_ptr<ggml_backend_event, ggml_backend_event_deleter>;
using ggml_backend_sched_ptr  = std::unique_ptr<ggml_backend_sched, ggml_backend_sched_deleter>;
