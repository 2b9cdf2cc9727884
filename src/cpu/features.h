// SPDX-License-Identifier: MIT
// What of the processor is used.
#ifndef TN_CPU_FEATURES_H
#define TN_CPU_FEATURES_H

#include "ggml-backend.h"

// Names with values, those in use only, ended by a NULL name. Lent for ever.
struct ggml_backend_feature * tn_features_list(void);

#endif
