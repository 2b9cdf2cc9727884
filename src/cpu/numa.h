// SPDX-License-Identifier: MIT
// Machines whose memory is divided among nodes: which processors belong together, and where threads run.
#ifndef TN_CPU_NUMA_H
#define TN_CPU_NUMA_H

#include <stdbool.h>
#include <stdint.h>

#include "ggml-cpu.h"

enum { TN_NUMA_NODES = 64 };

struct tn_numa {
    enum ggml_numa_strategy strategy;
    int n_nodes;                        // nodes that have processors
    int8_t node_of[GGML_MAX_N_THREADS]; // by processor, -1: none
    bool allowed[GGML_MAX_N_THREADS];   // NUMACTL: processors that the process may use
    int home;                           // ISOLATE: the node of the thread that chose the strategy
};

// What a folder like /sys/devices/system/node says: node0/cpulist, node1/cpulist, ...
void tn_numa_scan(struct tn_numa * out, const char * folder);

// Where thread i of a pool runs. false: anywhere.
bool tn_numa_mask_of(const struct tn_numa * numa, int thread, bool mask[GGML_MAX_N_THREADS]);

// The same by the strategy of the process.
bool tn_numa_mask(int thread, bool mask[GGML_MAX_N_THREADS]);

#endif
