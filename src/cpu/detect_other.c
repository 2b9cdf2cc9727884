// SPDX-License-Identifier: MIT
// An architecture without levels of its own: scalar kernels serve it.
#include "cpu/isa.h"

uint64_t tn_detect_features(void) {
    return 0;
}
