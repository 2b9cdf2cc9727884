// SPDX-License-Identifier: MIT
// Nodes that may be wrong: other types than the table names, and fields changed by hand.
#ifndef TN_TESTS_CONTRACT_WILD_H
#define TN_TESTS_CONTRACT_WILD_H

#include "contract/draw.h"

// Other types for some sources or the result.
void wild_types(struct draw * d, int n_src);
// One field of a finished node or of a source becomes another.
void wild_change(struct draw * d, struct ggml_tensor * node);

#endif
