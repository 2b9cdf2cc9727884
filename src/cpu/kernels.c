// SPDX-License-Identifier: MIT
// Selection of kernels by the rows of all families.
#include "cpu/kernels.h"

#include <stdatomic.h>

#include "base/env.h"
#include "base/log.h"
#include "base/thread.h"
#include "cpu/kernels/families.h"

#define TN_ROW(isa, function)
#define TN_SCALAR(function)                                                                                  \
    TN_TYPE_OF(*tn_##function) * _Atomic tn_##function##_chosen = tn_##function##_scalar;
#include "cpu/kernels/families.def"
#undef TN_SCALAR
#undef TN_ROW

TN_THREAD_FLAG bool tn_kernels_are_plain;

static struct tn_once once = TN_ONCE_INIT;
static struct tn_mutex filling = TN_MUTEX_INIT;
static _Atomic uint64_t used;
static _Atomic uint64_t limit = UINT64_MAX;

struct choice {
#define TN_ROW(isa, function)
#define TN_SCALAR(function) TN_TYPE_OF(*tn_##function) * function;
#include "cpu/kernels/families.def"
#undef TN_SCALAR
#undef TN_ROW
};

// The first row of a function whose level is in the set; its scalar row comes last.
static void fill(uint64_t levels) {
    struct choice c = { 0 };
    uint64_t chosen = 0;
#define TN_ROW(isa, function)                                                                                \
    if (!c.function && (levels >> TN_ISA_##isa & 1)) {                                                       \
        c.function = tn_##function##_##isa;                                                                  \
        chosen |= UINT64_C(1) << TN_ISA_##isa;                                                               \
    }
#define TN_SCALAR(function)                                                                                  \
    TN_ROW(scalar, function)                                                                                 \
    tn_##function##_chosen = c.function;
#include "cpu/kernels/families.def"
#undef TN_SCALAR
#undef TN_ROW
    used = chosen;
}

static uint64_t allowed(void) {
    const char * name = tn_env_get(TN_ENV_TENON_ISA);
    if (!name || name[0] == '\0') return UINT64_MAX;
    const enum tn_isa highest = tn_isa_find(name);
    if (highest != TN_ISA_COUNT) return tn_isa_up_to(highest);
    TN_LOG_WARN("TENON_ISA: there is no level '%s' on this architecture\n", name);
    return UINT64_MAX;
}

// Of these levels those that the machine runs, below the limit; scalar always.
static uint64_t within_limit(uint64_t levels) {
    return tn_isa_machine() & limit & (levels | UINT64_C(1) << TN_ISA_scalar);
}

static void first_fill(void) {
    fill(within_limit(allowed()));
}

void tn_kernels_limit(enum tn_isa highest) {
    limit = tn_isa_up_to(highest);
}

void tn_kernels_init(void) {
    tn_once(&once, first_fill);
}

void tn_kernels_select(uint64_t levels) {
    tn_kernels_init();
    tn_mutex_lock(&filling);
    fill(within_limit(levels));
    tn_mutex_unlock(&filling);
}

uint64_t tn_kernels_used(void) {
    tn_kernels_init();
    return used;
}

bool tn_kernels_plain(bool plain) {
    const bool before = tn_kernels_are_plain;
    tn_kernels_are_plain = plain;
    return before;
}
