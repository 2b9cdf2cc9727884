// SPDX-License-Identifier: MIT
// For operators whose elements follow from each other: an oracle that fills the whole result at once.
#ifndef TN_TESTS_CPU_WHOLE_H
#define TN_TESTS_CPU_WHOLE_H

#include "cpu_check.h"

// out: one double an element in order, which starts as what the result's memory holds now. What the operator
// does not write stays so.
typedef void (*cpu_whole_fn)(const struct ggml_tensor * node, double * out);

static cpu_whole_fn cpu_whole_fill;

static inline double cpu_whole_value(const struct ggml_tensor * node, const int64_t * i) {
    static int check;
    static double values[1 << 16];
    if (check != oracle_checks) {
        check = oracle_checks;
        assert_true(ggml_nelements(node) <= 1 << 16);
        for (int64_t k = 0, at[4] = { 0 }; k < ggml_nelements(node); k++, cpu_next(node, at))
            values[k] = cpu_get(node, at[0], at[1], at[2], at[3]);
        cpu_whole_fill(node, values);
    }
    return values[i[0] + node->ne[0] * (i[1] + node->ne[1] * (i[2] + node->ne[2] * i[3]))];
}

static inline void cpu_check_whole(struct cpu_test * t, struct ggml_tensor * node, cpu_whole_fn fill,
                                   double rel, double abs) {
    cpu_whole_fill = fill;
    cpu_check(t, node, (struct cpu_oracle){ cpu_whole_value, rel, abs });
}

#endif
