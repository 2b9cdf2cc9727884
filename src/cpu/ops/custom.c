// SPDX-License-Identifier: MIT
// map_custom1 map_custom2 map_custom3 custom: functions of the caller, called once for each of
// min(n_tasks, threads) tasks.
//
// Tasks may run at the same time or one after the other, in any order: a function that waits for another task
// waits for ever.
#include "core/ops/custom.h"

#include "base/bits.h"
#include "cpu/op.h"

struct call {
    struct tn_custom c;
    struct ggml_tensor * node;
    int n;
};

enum { COST = 1 << 30 }; // whatever it is, each task is a part

static void run_task(const struct call * s, int i) {
    struct ggml_tensor * y = s->node;
    struct ggml_tensor ** src = s->node->src;
    switch (y->op) {
    case GGML_OP_MAP_CUSTOM1: s->c.fun.map1(y, src[0], i, s->n, s->c.userdata); return;
    case GGML_OP_MAP_CUSTOM2: s->c.fun.map2(y, src[0], src[1], i, s->n, s->c.userdata); return;
    case GGML_OP_MAP_CUSTOM3: s->c.fun.map3(y, src[0], src[1], src[2], i, s->n, s->c.userdata); return;
    default: s->c.fun.any(y, i, s->n, s->c.userdata); return;
    }
}

static void run_part(const void * arg, const struct tn_cpu_part * part) {
    for (int64_t i = part->begin; i < part->end; i++)
        run_task(arg, (int) i);
}

static enum ggml_status custom_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct call s = { .c = tn_custom_get(node), .node = node, .n = run->n_threads };
    if (s.c.n_tasks != GGML_N_TASKS_MAX) s.n = (int) tn_min_i64(s.c.n_tasks, s.n);
    tn_cpu_run_parts(run, s.n, COST, (struct tn_cpu_work){ run_part, &s });
    return GGML_STATUS_SUCCESS;
}

// What the function can do is its own matter.
static bool custom_supports(const struct ggml_tensor * node) {
    (void) node;
    return true;
}

const struct tn_cpu_op tn_cpu_op_custom = { .supports = custom_supports, .run = custom_run };
const struct tn_cpu_op tn_cpu_op_map_custom1 = { .supports = custom_supports, .run = custom_run };
const struct tn_cpu_op tn_cpu_op_map_custom2 = { .supports = custom_supports, .run = custom_run };
const struct tn_cpu_op tn_cpu_op_map_custom3 = { .supports = custom_supports, .run = custom_run };
