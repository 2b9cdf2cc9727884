// SPDX-License-Identifier: MIT
// The contract of supports_op on one node: true means that it computes and agrees with the oracle, and
// touches nothing but its result; false comes with a reason.
#ifndef TN_TESTS_CONTRACT_CHECK_H
#define TN_TESTS_CONTRACT_CHECK_H

#include "contract/draw.h"
#include "ggml-backend.h"

enum outcome {
    OUTCOME_BROKEN,      // the contract does not hold; what is wrong is in `text`
    OUTCOME_REFUSED,     // by the builder, with a reason
    OUTCOME_UNSUPPORTED, // supports_op said false, with a reason
    OUTCOME_COMPUTED,
};

struct check {
    ggml_backend_t backend; // borrowed
    char text[512];
};

enum outcome check_node(struct check * c, struct draw * d, struct ggml_tensor * node);

#endif
