// SPDX-License-Identifier: MIT
// ggml_cpu_has_*: one function a row of features.def, and the list of those that are in use.
#include "cpu/features.h"

#include <stdio.h>

#include "base/thread.h"
#include "ggml-cpu.h"

#define TN_ROW(function, name, value)                                                                        \
    int ggml_cpu_##function(void) {                                                                          \
        return value;                                                                                        \
    }
#include "cpu/features.def"
#undef TN_ROW

static const struct {
    const char * name;
    int (*value)(void);
} rows[] = {
#define TN_ROW(function, name, value) { name, ggml_cpu_##function },
#include "cpu/features.def"
#undef TN_ROW
};

enum { N_ROWS = sizeof(rows) / sizeof(rows[0]), DIGITS = 12 };

static struct ggml_backend_feature list[N_ROWS + 1];
static char values[N_ROWS][DIGITS];
static struct tn_once once = TN_ONCE_INIT;

static void fill(void) {
    int n = 0;
    for (int i = 0; i < N_ROWS; i++) {
        const int value = rows[i].value();
        if (value == 0) continue;
        snprintf(values[n], sizeof(values[n]), "%d", value);
        list[n] = (struct ggml_backend_feature){ rows[i].name, values[n] };
        n++;
    }
}

struct ggml_backend_feature * tn_features_list(void) {
    tn_once(&once, fill);
    return list;
}
