// SPDX-License-Identifier: MIT
// What the CPU back end knows of an operator: one descriptor an operator, at the end of its file in ops/,
// named by its row in ops.def. What the operator means (types and shapes that go together) is core/op.h's
// matter.
#ifndef TN_CPU_OP_H
#define TN_CPU_OP_H

#include <stdbool.h>
#include <stddef.h>

#include "cpu/run.h"
#include "ggml.h"

// Scratch memory for one node, uninitialised and aligned to 64. SIZE_MAX: more than there can be.
struct tn_cpu_scratch {
    size_t shared;
    size_t per_thread;
};

struct tn_cpu_op {
    // Will `run` give the right result for these types, shapes and strides? A promise, made from descriptions
    // alone; data may be absent. The operator's rule of core holds already. false: with a text (tn_refuse).
    bool (*supports)(const struct ggml_tensor * node);

    // NULL: none.
    struct tn_cpu_scratch (*scratch)(const struct ggml_tensor * node);

    // Computes the node. All sources have data in host memory, the result is not empty, `supports` has said
    // yes. Fails only on bad data (an index out of range), with a text, before anything is written.
    enum ggml_status (*run)(struct tn_cpu_run * run, struct ggml_tensor * node);
};

// NULL: not in this back end.
const struct tn_cpu_op * tn_cpu_op_get(enum ggml_op op);

// The whole question that ggml_backend_supports_op asks. false: with a text that names the operator.
bool tn_cpu_op_supports(const struct ggml_tensor * node);

#endif
