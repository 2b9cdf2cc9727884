// SPDX-License-Identifier: MIT
// This back end as a library that is loaded: compiled for each such library anew, with GGML_BACKEND_DL
// and, if it is one of several for different processors, with TN_MODULE_LEVEL: the level of isa.def that
// it uses at most.
#include <string.h>

#include "base/error.h"
#include "core/context.h"
#include "cpu/isa.h"
#include "cpu/kernels.h"
#include "ggml-backend-impl.h"
#include "ggml-cpu.h"

#ifdef TN_MODULE_LEVEL
#define TN_PASTE(a, b)    a##b
#define TN_LEVEL_OF(name) TN_PASTE(TN_ISA_, name)
enum { LEVEL = TN_LEVEL_OF(TN_MODULE_LEVEL) };

// The higher the level the better, where it runs; scalar runs everywhere.
static int module_score(void) {
    return tn_isa_machine() >> LEVEL & 1 ? 1 + LEVEL : 0;
}

GGML_BACKEND_DL_SCORE_IMPL(module_score)
#else
enum { LEVEL = TN_ISA_COUNT - 1 };
#endif

// The libraries of one release call each other by private names, which others need not have, and a build
// decides how long the names of tensors are.
static bool belongs_here(void) {
    if (strcmp(ggml_version(), TN_VERSION) != 0)
        return tn_refuse("it belongs to release %s, and this is %s", TN_VERSION, ggml_version());
    const size_t ours = sizeof(struct ggml_object) + sizeof(struct ggml_tensor),
                 theirs = ggml_tensor_overhead();
    return ours == theirs || tn_refuse("it was built for names of %d bytes, and here they have %zu",
                                       GGML_MAX_NAME, GGML_MAX_NAME + theirs - ours);
}

static ggml_backend_reg_t module_reg(void) {
    if (!belongs_here()) return NULL;
    tn_kernels_limit((enum tn_isa) LEVEL);
    return ggml_backend_cpu_reg();
}

GGML_BACKEND_DL_IMPL(module_reg)
