// SPDX-License-Identifier: MIT
// Scratch memory: how much a graph needs, and where a node finds its own.
#ifndef TN_CPU_PLAN_H
#define TN_CPU_PLAN_H

#include <stdbool.h>

#include "cpu/run.h"

// Sets the scratch members of run for the node. false with a text: the plan was not made for this node.
bool tn_plan_place(struct tn_cpu_run * run, const struct ggml_tensor * node, const struct ggml_cplan * plan);

#endif
