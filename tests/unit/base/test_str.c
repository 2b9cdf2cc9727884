// SPDX-License-Identifier: MIT
// base/str.c: never beyond the buffer, always terminated.
#include "harness.h"

#include "base/str.h"

static void building(void ** state) {
    (void) state;
    char buffer[16];
    memset(buffer, '#', sizeof(buffer));
    struct tn_str s = tn_str_on(buffer, 10);
    assert_string_equal(buffer, "");
    tn_str_add(&s, "ab%d", 12);
    assert_string_equal(buffer, "ab12");
    assert_int_equal(s.len, 4);
    tn_str_add(&s, "%s", "cdefg");
    assert_string_equal(buffer, "ab12cdefg");
    assert_false(s.cut); // exactly full
    tn_str_add(&s, "%s", "");
    assert_false(s.cut);
    tn_str_add(&s, "h");
    assert_true(s.cut);
    assert_string_equal(buffer, "ab12cdefg");
    assert_int_equal(s.len, 9);
    for (int i = 10; i < 16; i++)
        assert_int_equal(buffer[i], '#');
}

static void the_smallest_buffer(void ** state) {
    (void) state;
    char buffer[2] = { 'x', 'y' };
    struct tn_str s = tn_str_on(buffer, 1);
    tn_str_add(&s, "abc");
    assert_true(s.cut);
    assert_int_equal(buffer[0], '\0');
    assert_int_equal(buffer[1], 'y');
}

static void copying(void ** state) {
    (void) state;
    char buffer[8];
    memset(buffer, '#', sizeof(buffer));
    assert_true(tn_str_copy(buffer, 4, "abc"));
    assert_string_equal(buffer, "abc");
    assert_false(tn_str_copy(buffer, 4, "wxyz"));
    assert_string_equal(buffer, "wxy");
    assert_int_equal(buffer[4], '#');
    strcpy(buffer, "1234567");
    assert_true(tn_str_copy(buffer, 8, buffer + 2)); // may overlap
    assert_string_equal(buffer, "34567");
}

static void case_does_not_count(void ** state) {
    (void) state;
    assert_true(tn_str_same_nocase("CUDA0", "cuda0"));
    assert_true(tn_str_same_nocase("", ""));
    assert_false(tn_str_same_nocase("cpu", "cpu0"));
    assert_false(tn_str_same_nocase("cpu0", "cpu"));
    assert_false(tn_str_same_nocase("a[", "a{")); // 32 apart, no letters
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(building),
        cmocka_unit_test(the_smallest_buffer),
        cmocka_unit_test(copying),
        cmocka_unit_test(case_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
