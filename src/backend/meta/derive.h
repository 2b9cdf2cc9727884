// SPDX-License-Identifier: MIT
// How a result is divided, from how its sources are: a row an operator (derive.def), a rule for those that
// behave alike. A rule says yes only where every device, computing its slice from its slices, gets what a
// single device would get there.
#ifndef TN_BACKEND_META_DERIVE_H
#define TN_BACKEND_META_DERIVE_H

#include "backend/meta/partition.h"

struct tn_derive {
    const struct ggml_tensor * node;
    int n;                                         // devices
    const struct tn_partition * src[GGML_MAX_SRC]; // NULL where the node has none
    struct tn_partition out;
};

// With sources that are split or mirrored. false with a text that says what does not fit.
bool tn_derive_node(struct tn_derive * d);

// With sums over devices among the sources: does the result become one, as a sum of what the devices
// compute of their addends? If not, the sources have to be reduced before.
bool tn_derive_keeps_partial(const struct tn_derive * d);

// Of a view of `base` from a byte offset on.
bool tn_derive_view(const struct ggml_tensor * view, const struct ggml_tensor * base,
                    const struct tn_partition * partition, size_t offset, int n, struct tn_partition * out);

// Before sources are computed, those that are not known being NULL: false where no rule can fit.
bool tn_derive_may(struct tn_derive * d);

#endif
