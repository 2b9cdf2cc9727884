// SPDX-License-Identifier: MIT
// What every operator must compute, in plain loops and double, from its description alone. One oracle an
// operator: a row of oracle.def and a function in the file of its family; the tests of operators and the
// random nodes of tests/contract share them.
#ifndef TN_TESTS_ORACLE_H
#define TN_TESTS_ORACLE_H

#include "harness.h"

#include <math.h>

#include "ggml.h"
#include "op/element.h"

// Element i of the node, from its sources as they are now.
typedef double (*oracle_value_fn)(const struct ggml_tensor * node, const int64_t * i);
// All elements, one double each in order. `out` starts as what the result's memory holds: what the operator
// does not write stays so.
typedef void (*oracle_fill_fn)(const struct ggml_tensor * node, double * out);
// For results of which several are right: is what the node holds one of them?
typedef bool (*oracle_accepts_fn)(const struct ggml_tensor * node);

// One of the three, and the error that computing in f32 may cause: rel * |expected| + abs for operands up to
// about 2, besides the rounding of the result's type and that of summing (oracle_error).
struct oracle {
    oracle_value_fn value;
    oracle_fill_fn fill;
    oracle_accepts_fn accepts;
    double rel, abs;
};

// NULL: there is none.
const struct oracle * oracle_of(enum ggml_op op);

// Raised before each node: an oracle may keep what it computed for a row of the same node.
extern int oracle_checks;

// What was added up for an element: an oracle passes each term of a long sum through oracle_term.
struct oracle_sum {
    double magnitude; // sum of |term|
    int64_t n;
    double rounding; // what rounding operands, as the node allows it, may change
};
extern struct oracle_sum oracle_terms;

static inline double oracle_term(double v) {
    oracle_terms.magnitude += fabs(v);
    oracle_terms.n++;
    return v;
}

// The error of adding these terms up in f32: each addition rounds a partial sum, which is at most the sum of
// magnitudes, and the roundings add up like a random walk.
static inline double oracle_error(void) {
    return 0x1p-24 * (4.0 + 2.0 * sqrt((double) oracle_terms.n)) * oracle_terms.magnitude +
           oracle_terms.rounding;
}

// The node whose sources an oracle gets as doubles, for what depends on their types. NULL: the node itself.
extern const struct ggml_tensor * oracle_original;

static inline double oracle_param(const struct ggml_tensor * node, int word) {
    float f;
    memcpy(&f, &node->op_params[word], sizeof(f));
    return (double) f;
}

// Of the bias that ALiBi gives head h.
static inline double oracle_slope(double max_bias, int64_t n_heads, int64_t h) {
    if (max_bias == 0.0) return 1.0;
    const double n = exp2(floor(log2((double) n_heads)));
    if ((double) h < n) return pow(2.0, -max_bias * (double) (h + 1) / n);
    return pow(2.0, -max_bias / 2.0 * (2.0 * ((double) h - n) + 1.0) / n);
}

static inline double oracle_sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

// A window over up to three dimensions.
struct oracle_window {
    int s[3], p[3], d[3]; // strides, paddings, dilations
};

// From n words each of strides, paddings and dilations, the first `dims` of which count; those of missing
// dimensions are 1, 0, 1.
static inline struct oracle_window oracle_window_of(const struct ggml_tensor * node, int n, int dims) {
    struct oracle_window w;
    for (int i = 0; i < 3; i++) {
        w.s[i] = i < dims ? node->op_params[i] : 1;
        w.p[i] = i < dims ? node->op_params[n + i] : 0;
        w.d[i] = i < dims ? node->op_params[2 * n + i] : 1;
    }
    return w;
}

// The place of element i of row `at` of x in the order of `descending` or not: NaN comes last in both, 0 and
// -0 are equal, of equal ones the first comes first.
int64_t oracle_rank(const struct ggml_tensor * x, const int64_t * at, int64_t i, bool descending);

#define TN_VALUE(id, function, rel, abs) double function(const struct ggml_tensor *, const int64_t *);
#define TN_FILL(id, function, rel, abs)  void function(const struct ggml_tensor *, double *);
#define TN_ACCEPTS(id, function)         bool function(const struct ggml_tensor *);
#include "op/oracle/oracle.def"
#undef TN_VALUE
#undef TN_FILL
#undef TN_ACCEPTS

// A row of src0 times a row of src1, by their indices 1 to 3.
double oracle_dot(const struct ggml_tensor * node, const int64_t * row, const int64_t * column);

// The moments after a step of AdamW, which it writes as well.
double oracle_adamw_m(const struct ggml_tensor * node, const int64_t * i);
double oracle_adamw_v(const struct ggml_tensor * node, const int64_t * i);

#endif
