// SPDX-License-Identifier: MIT
// ggml_validate_row_data: do these bytes decode to finite numbers?
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "quant/type.h"

static bool halves_are_finite(const struct tn_type * t, const char * y, int64_t n_blocks, int64_t * bad) {
    for (int64_t i = 0; i < n_blocks; i++) {
        for (int k = 0; k < t->n_halves; k++) {
            uint16_t h;
            memcpy(&h, y + i * t->type_size + t->half_offset + k * (int) sizeof(h), sizeof(h));
            if ((h & 0x7c00u) != 0x7c00u) continue;
            *bad = i;
            return false;
        }
    }
    return true;
}

static bool validate(enum ggml_type type, const void * data, size_t n_bytes) {
    const struct tn_type * t = tn_type_get(type);
    if (!t) return tn_refuse("there is no tensor type %d", (int) type);
    const char * name = ggml_type_name(type);
    if (n_bytes % (size_t) t->type_size != 0) {
        return tn_refuse("%s: %zu bytes are no whole number of blocks of %d", name, n_bytes, t->type_size);
    }
    if (n_bytes == 0) return true;
    if (!data) return tn_refuse("%s: no data", name);
    const int64_t n_blocks = (int64_t) (n_bytes / (size_t) t->type_size);
    int64_t bad = 0;
    if (halves_are_finite(t, data, n_blocks, &bad) && (!t->validate || t->validate(data, n_blocks, &bad)))
        return true;
    return tn_refuse("%s: NaN or infinity in block %" PRId64, name, bad);
}

bool ggml_validate_row_data(enum ggml_type type, const void * data, size_t nbytes) {
    if (validate(type, data, nbytes)) return true;
    tn_error_prefix("ggml_validate_row_data");
    TN_LOG_ERROR("%s\n", tn_error_text());
    return false;
}
