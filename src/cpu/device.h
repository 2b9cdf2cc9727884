// SPDX-License-Identifier: MIT
// The one device of this back end.
#ifndef TN_CPU_DEVICE_H
#define TN_CPU_DEVICE_H

#include "ggml-backend-impl.h"

// Static, never freed.
ggml_backend_dev_t tn_device_get(void);

#endif
