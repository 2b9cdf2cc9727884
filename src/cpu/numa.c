// SPDX-License-Identifier: MIT
// ggml_numa_init: nodes as Linux tells them, and the masks that follow from the strategy.
#include "cpu/numa.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/thread.h"

static bool read_line(const char * path, char * line, size_t size) {
    FILE * file = fopen(path, "r");
    if (!file) return false;
    const bool ok = fgets(line, (int) size, file) != NULL;
    fclose(file);
    return ok;
}

// "0-3,8,10-11": these processors belong to the node. Returns how many.
static int take_list(struct tn_numa * out, const char * list, int8_t node) {
    int n = 0;
    while (*list >= '0' && *list <= '9') {
        char * end;
        long first = strtol(list, &end, 10), last = first;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        for (long i = first; i <= last && i < GGML_MAX_N_THREADS; i++, n++)
            out->node_of[i] = node;
        list = *end == ',' ? end + 1 : end;
    }
    return n;
}

void tn_numa_scan(struct tn_numa * out, const char * folder) {
    memset(out, 0, sizeof(*out));
    memset(out->node_of, -1, sizeof(out->node_of));
    for (int i = 0; i < TN_NUMA_NODES; i++) { // numbers may have gaps
        char path[512], list[4096];
        snprintf(path, sizeof(path), "%s/node%d/cpulist", folder, i);
        if (!read_line(path, list, sizeof(list))) continue;
        if (take_list(out, list, (int8_t) out->n_nodes) > 0) out->n_nodes++; // else: memory alone
    }
}

bool tn_numa_mask_of(const struct tn_numa * numa, int thread, bool mask[GGML_MAX_N_THREADS]) {
    if (numa->n_nodes < 2) return false;
    int node = 0;
    switch (numa->strategy) {
    case GGML_NUMA_STRATEGY_DISTRIBUTE: node = thread % numa->n_nodes; break;
    case GGML_NUMA_STRATEGY_ISOLATE: node = numa->home; break;
    case GGML_NUMA_STRATEGY_NUMACTL: memcpy(mask, numa->allowed, sizeof(numa->allowed)); return true;
    default: return false;
    }
    for (int i = 0; i < GGML_MAX_N_THREADS; i++)
        mask[i] = numa->node_of[i] == node;
    return true;
}

// Written once, before it is published.
static struct tn_numa process;
static _Atomic bool chosen;
static struct tn_mutex mutex = TN_MUTEX_INIT;

bool tn_numa_mask(int thread, bool mask[GGML_MAX_N_THREADS]) {
    return atomic_load(&chosen) && tn_numa_mask_of(&process, thread, mask);
}

static void warn_of_balancing(void) {
    char line[16];
    if (!read_line("/proc/sys/kernel/numa_balancing", line, sizeof(line)) || line[0] == '0') return;
    TN_LOG_WARN(
        "ggml_numa_init: /proc/sys/kernel/numa_balancing is on: the system moves memory between nodes on "
        "its own, which costs time\n");
}

static void choose(enum ggml_numa_strategy strategy) {
    tn_numa_scan(&process, "/sys/devices/system/node");
    process.strategy = strategy;
    const int cpu = tn_thread_cpu();
    process.home =
        cpu >= 0 && cpu < GGML_MAX_N_THREADS && process.node_of[cpu] >= 0 ? process.node_of[cpu] : 0;
    if (!tn_thread_get_affinity(process.allowed, GGML_MAX_N_THREADS)) TN_LOG_WARN("%s\n", tn_error_text());
    if (process.n_nodes > 1) warn_of_balancing();
    atomic_store(&chosen, true);
}

void ggml_numa_init(enum ggml_numa_strategy strategy) {
    if ((unsigned) strategy >= GGML_NUMA_STRATEGY_COUNT) {
        tn_error_set("ggml_numa_init: there is no strategy %d", (int) strategy);
        TN_LOG_ERROR("%s\n", tn_error_text());
        return;
    }
    tn_mutex_lock(&mutex);
    if (atomic_load(&chosen)) {
        TN_LOG_WARN("ggml_numa_init: the strategy was chosen before and stays\n");
    } else {
        choose(strategy);
    }
    tn_mutex_unlock(&mutex);
}

bool ggml_is_numa(void) {
    return atomic_load(&chosen) && process.n_nodes > 1;
}
