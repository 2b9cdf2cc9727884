// SPDX-License-Identifier: MIT
// base/file_posix.c: opening, positions beyond 4 GiB, mapping, and what cannot be.
#include "harness.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "ggml.h"

static char path[TEST_PATH];

static int set_up(void ** state) {
    (void) state;
    const int fd = mkstemp(test_path(path, "file"));
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void ** state) {
    (void) state;
    return remove(path);
}

static void positions(void ** state) {
    (void) state;
    FILE * file = tn_file_open(path, "w+b");
    assert_non_null(file);
    assert_int_equal(tn_file_size(file), 0);
    assert_int_equal(fwrite("hello", 1, 5, file), 5);
    assert_int_equal(tn_file_tell(file), 5);
    assert_true(tn_file_seek(file, 2));
    assert_int_equal(tn_file_size(file), 5);
    assert_int_equal(tn_file_tell(file), 2); // kept
    assert_int_equal(fgetc(file), 'l');
    assert_false(tn_file_seek(file, -1));
    const int64_t far = (INT64_C(5) << 30) + 3; // a hole
    assert_true(tn_file_seek(file, far));
    assert_int_equal(fputc('x', file), 'x');
    assert_int_equal(tn_file_size(file), far + 1);
    fclose(file);
}

static void what_cannot_tell(void ** state) {
    (void) state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    FILE * file = fdopen(ends[0], "rb");
    assert_int_equal(tn_file_tell(file), -1);
    assert_int_equal(tn_file_size(file), -1);
    assert_false(tn_file_seek(file, 0));
    fclose(file);
    close(ends[1]);
}

static void mapping(void ** state) {
    (void) state;
    struct tn_file_map map;
    assert_true(tn_file_map(&map, path));
    assert_null(map.data); // empty
    assert_int_equal(map.size, 0);
    tn_file_unmap(&map);
    FILE * file = tn_file_open(path, "wb");
    for (int i = 0; i < 10000; i++)
        fputc(i % 251, file);
    fclose(file);
    assert_true(tn_file_map(&map, path));
    assert_int_equal(map.size, 10000);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(((const uint8_t *) map.data)[i], i % 251);
    tn_file_unmap(&map);
    assert_null(map.data);
    tn_file_unmap(&map);
}

static void refusals_name_the_path(void ** state) {
    (void) state;
    struct tn_file_map map;
    assert_null(tn_file_open("/no/such/file", "rb"));
    assert_string_equal(tn_error_text(), "/no/such/file: No such file or directory");
    assert_false(tn_file_map(&map, "/no/such/file"));
    assert_string_equal(tn_error_text(), "/no/such/file: No such file or directory");
    assert_false(tn_file_map(&map, "/"));
    assert_string_equal(tn_error_text(), "/: not a regular file");
}

static void the_public_fopen(void ** state) {
    (void) state;
    FILE * file = ggml_fopen(path, "rb");
    assert_non_null(file);
    fclose(file);
    errno = 0;
    assert_null(ggml_fopen("/no/such/file", "rb"));
    assert_int_equal(errno, ENOENT);
    assert_null(ggml_fopen(NULL, "rb"));
    assert_int_equal(errno, EINVAL);
    assert_null(ggml_fopen(path, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(positions, set_up, tear_down),
        cmocka_unit_test(what_cannot_tell),
        cmocka_unit_test_setup_teardown(mapping, set_up, tear_down),
        cmocka_unit_test(refusals_name_the_path),
        cmocka_unit_test_setup_teardown(the_public_fopen, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
