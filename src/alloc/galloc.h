// SPDX-License-Identifier: MIT
// What the scheduler needs of the graph allocator besides its public calls.
#ifndef TN_ALLOC_GALLOC_H
#define TN_ALLOC_GALLOC_H

#include <stdbool.h>

#include "ggml-alloc.h"

struct tn_galloc_request {
    struct ggml_cgraph * graph;
    const int * node_ids; // by position in the graph; NULL: id 0 everywhere
    const int * leaf_ids;
    void (*before_change)(
        void * context); // places are about to change: nothing may run in the buffers any more
    void * context;
};

// Allocates a graph with these buffer ids, planned anew where the present plan does not suit it. false with a
// text, which is not logged: then no tensor of the graph has got memory.
bool tn_galloc_alloc(ggml_gallocr_t galloc, const struct tn_galloc_request * request);

// Is this one of its buffers?
bool tn_galloc_owns(ggml_gallocr_t galloc, ggml_backend_buffer_t buffer);

#endif
