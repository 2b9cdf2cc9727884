// SPDX-License-Identifier: MIT
// Environment variables by row.
#include "base/env.h"

#include <stdlib.h>
#include <string.h>

static const char * const names[TN_ENV_COUNT] = {
#define TN_ROW(name, meaning) [TN_ENV_##name] = #name,
#include "base/env.def"
#undef TN_ROW
};

const char * tn_env_get(enum tn_env which) {
    return getenv(names[which]);
}

bool tn_env_flag(enum tn_env which) {
    const char * value = tn_env_get(which);
    return value && value[0] != '\0' && strcmp(value, "0") != 0;
}
