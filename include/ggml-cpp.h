// SPDX-License-Identifier: MIT
//
// Owning pointers for C++ programs: a std::unique_ptr for each kind of object, with a deleter that calls
// the matching *_free function. Header only. Members are destroyed in reverse order: declare a back end
// before its buffers, events and scheduler.
#pragma once

#ifndef __cplusplus
#    error "ggml-cpp.h is for C++; a C program includes the headers below"
#endif

#include "ggml.h"
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "gguf.h"

#include <memory>

struct ggml_context_deleter {
    void operator()(ggml_context * ctx) const { ggml_free(ctx); }
};

struct gguf_context_deleter {
    void operator()(gguf_context * ctx) const { gguf_free(ctx); }
};

struct ggml_gallocr_deleter {
    void operator()(ggml_gallocr * galloc) const { ggml_gallocr_free(galloc); }
};

struct ggml_backend_deleter {
    void operator()(ggml_backend * backend) const { ggml_backend_free(backend); }
};

struct ggml_backend_buffer_deleter {
    void operator()(ggml_backend_buffer * buffer) const { ggml_backend_buffer_free(buffer); }
};

struct ggml_backend_event_deleter {
    void operator()(ggml_backend_event * event) const { ggml_backend_event_free(event); }
};

struct ggml_backend_sched_deleter {
    void operator()(ggml_backend_sched * sched) const { ggml_backend_sched_free(sched); }
};

using ggml_context_ptr        = std::unique_ptr<ggml_context, ggml_context_deleter>;
using gguf_context_ptr        = std::unique_ptr<gguf_context, gguf_context_deleter>;
using ggml_gallocr_ptr        = std::unique_ptr<ggml_gallocr, ggml_gallocr_deleter>;
using ggml_backend_ptr        = std::unique_ptr<ggml_backend, ggml_backend_deleter>;
using ggml_backend_buffer_ptr = std::unique_ptr<ggml_backend_buffer, ggml_backend_buffer_deleter>;
using ggml_backend_event_ptr  = std::unique_ptr<ggml_backend_event, ggml_backend_event_deleter>;
using ggml_backend_sched_ptr  = std::unique_ptr<ggml_backend_sched, ggml_backend_sched_deleter>;
