// SPDX-License-Identifier: MIT
// The combinations of types that the CPU must take: operators.def taken apart.
#ifndef TN_TESTS_CONTRACT_COMBINATION_H
#define TN_TESTS_CONTRACT_COMBINATION_H

#include "contract/draw.h"

// Draws sizes and parameters and builds the node; its sources have data.
typedef struct ggml_tensor * (*maker_fn)(struct draw * d);

struct operator{
    enum ggml_op op;
    int which; // of UNARY and GLU, else -1
    maker_fn make;
    const char *layouts, *types;
};

struct combination {
    const struct operator* owner;
    int n_src;
    enum ggml_type types[GGML_MAX_SRC];
    enum ggml_type result;
    // Nodes of it: answered true and computed, of these with a source that is not contiguous, with one whose
    // dimensions lie in another order and without elements in a source or the result; answered false; refused
    // by the builder.
    int n_true, n_strided, n_permuted, n_empty, n_false, n_refused;
};

// How often a source of it must be seen strided and permuted, as a part of the true ones.
enum { WANTS_STRIDED = 1, WANTS_PERMUTED = 2 };
int combination_wants(const struct combination * c);

// "ADD q4_0,f32->f16"
const char * combination_text(const struct combination * c);

struct combinations {
    struct combination * at; // owned
    int n;
};

// All of them, in the order of the table.
struct combinations combinations_new(void);
void combinations_free(struct combinations * all);

// What encoding into this type may change, relative to the largest value of a block.
double combination_encoding_error(enum ggml_type type);

// Rows of operators.def.
const struct operator* combination_operators(int * n);

#endif
