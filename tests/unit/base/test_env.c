// SPDX-License-Identifier: MIT
// base/env.c: values and flags, read at each call.
#include "harness.h"

#include "base/env.h"

static void values_and_flags(void ** state) {
    (void) state;
    unsetenv("TENON_STRICT");
    assert_null(tn_env_get(TN_ENV_TENON_STRICT));
    assert_false(tn_env_flag(TN_ENV_TENON_STRICT));
    static const struct {
        const char * value;
        bool on;
    } cases[] = { { "", false }, { "0", false }, { "1", true }, { "00", true }, { "no", true } };
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        setenv("TENON_STRICT", cases[i].value, 1);
        assert_string_equal(tn_env_get(TN_ENV_TENON_STRICT), cases[i].value);
        assert_int_equal(tn_env_flag(TN_ENV_TENON_STRICT), cases[i].on);
    }
    setenv("GGML_NO_BACKTRACE", "yes", 1);
    assert_string_equal(tn_env_get(TN_ENV_GGML_NO_BACKTRACE), "yes");
    setenv("TENON_ISA", "scalar", 1);
    assert_string_equal(tn_env_get(TN_ENV_TENON_ISA), "scalar");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(values_and_flags) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
