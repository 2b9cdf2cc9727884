// SPDX-License-Identifier: MIT
// Monotonic time.
#ifndef TN_BASE_CLOCK_H
#define TN_BASE_CLOCK_H

#include <stdint.h>

#include "base/compiler.h"

TN_API int64_t tn_clock_us(void);

#endif
