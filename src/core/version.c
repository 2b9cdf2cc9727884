// SPDX-License-Identifier: MIT
// What this build is, and the odds and ends of ggml.h.
#include <string.h>

#include "ggml.h"

const char * ggml_version(void) {
    return TN_VERSION;
}

const char * ggml_commit(void) {
    return TN_COMMIT;
}

bool ggml_guid_matches(ggml_guid_t a, ggml_guid_t b) {
    return a && b && memcmp(a, b, sizeof(ggml_guid)) == 0;
}
