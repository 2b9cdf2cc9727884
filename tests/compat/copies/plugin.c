// SPDX-License-Identifier: MIT
// The table of whatever this file is linked with. COPY_NAME: what to call the function.
#include "copy.h"

__attribute__((visibility("default"))) const struct copy * COPY_NAME(void);

const struct copy * COPY_NAME(void) {
    static const struct copy copy = {
#define F(name) .name = name,
        COPY_FUNCTIONS(F)
#undef F
    };
    return &copy;
}
