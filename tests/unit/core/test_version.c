// SPDX-License-Identifier: MIT
// core/version.c: what this build is, and equal identifiers.
#include "harness.h"

#include "ggml.h"

static void version_and_revision(void ** state) {
    (void) state;
    assert_memory_equal(ggml_version(), "0.25.", 5);
    assert_true(strlen(ggml_commit()) > 0);
    assert_null(strchr(ggml_commit(), '\n'));
}

static void identifiers(void ** state) {
    (void) state;
    ggml_guid a = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }, b;
    memcpy(b, a, sizeof(b));
    assert_true(ggml_guid_matches(&a, &b));
    assert_true(ggml_guid_matches(&a, &a));
    for (size_t i = 0; i < sizeof(b); i++) {
        b[i] ^= 1;
        assert_false(ggml_guid_matches(&a, &b));
        b[i] ^= 1;
    }
    assert_false(ggml_guid_matches(NULL, &b));
    assert_false(ggml_guid_matches(&a, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_and_revision),
        cmocka_unit_test(identifiers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
