// SPDX-License-Identifier: MIT
// Every environment variable that the library reads is a row of env.def; nobody else calls getenv.
#ifndef TN_BASE_ENV_H
#define TN_BASE_ENV_H

#include <stdbool.h>

#include "base/compiler.h"

enum tn_env {
#define TN_ROW(name, meaning) TN_ENV_##name,
#include "base/env.def"
#undef TN_ROW
    TN_ENV_COUNT
};

// NULL when unset. Read at each call: what a program sets before its first use counts.
TN_API const char * tn_env_get(enum tn_env which);
// Set, not empty and not "0".
TN_API bool tn_env_flag(enum tn_env which);

#endif
