// SPDX-License-Identifier: MIT
// Makers of random nodes, one or more operators each; named by the rows of operators.def.
#ifndef TN_TESTS_CONTRACT_MAKERS_H
#define TN_TESTS_CONTRACT_MAKERS_H

#include "contract/draw.h"

#define TN_NODE(id, maker, layouts, types) struct ggml_tensor * make_##maker(struct draw * d);
#define TN_UNARY(id, types)
#define TN_GLU(id, types)
#include "contract/operators.def"
#undef TN_NODE
#undef TN_UNARY
#undef TN_GLU
struct ggml_tensor * make_unary(struct draw * d);
struct ggml_tensor * make_glu(struct draw * d);

#endif
