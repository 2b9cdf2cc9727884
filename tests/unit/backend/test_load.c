// SPDX-License-Identifier: MIT
// backend/load.c: libraries that are right, libraries that are wrong in every known way, which of several
// is taken, and that nothing is closed that is in use. The libraries are those of tests/module.
#include "harness.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "base/mem.h"
#include "base/thread.h"
#include "ggml-backend-impl.h"
#include "ggml-ext.h"

#define MODULES TENON_BINARY_DIR "/tests/module/"

static char folder[TEST_PATH]; // of one test

static int make_folder(void ** state) {
    (void) state;
    assert_non_null(mkdtemp(test_path(folder, "load")));
    return 0;
}

static int remove_folder(void ** state) {
    (void) state;
    char command[TEST_PATH + 16];
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    return system(command);
}

static const char * in_folder(const char * name) {
    static char path[2 * TEST_PATH];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

// The first `size` bytes of a module, as a file of that name in the folder; -1: all of them. Returns its
// path.
static const char * put(const char * module, long size, const char * name) {
    char from[TEST_PATH];
    snprintf(from, sizeof(from), MODULES "module-%s.so", module);
    FILE * in = fopen(from, "rb");
    FILE * out = fopen(in_folder(name), "wb");
    assert_true(in && out);
    for (int c; size != 0 && (c = fgetc(in)) != EOF; size--)
        fputc(c, out);
    fclose(in);
    fclose(out);
    return in_folder(name);
}

static void refused(const char * path, const char * reason) {
    const size_t n = ggml_backend_reg_count(), n_dev = ggml_backend_dev_count();
    assert_null(ggml_backend_load(path));
    assert_contains(ggml_ext_last_error(), reason);
    assert_contains(ggml_ext_last_error(), path);
    assert_int_equal(ggml_backend_reg_count(), n);
    assert_int_equal(ggml_backend_dev_count(), n_dev);
}

// ---- one library ----------------------------------------------------------------------------------------

static void a_library_comes_and_goes(void ** state) {
    (void) state;
    const size_t n = ggml_backend_reg_count(), n_dev = ggml_backend_dev_count();
    for (int round = 0; round < 3; round++) {
        ggml_backend_reg_t reg = ggml_backend_load(put("plain", -1, "a.so"));
        assert_non_null(reg);
        assert_string_equal(ggml_backend_reg_name(reg), "Module");
        assert_int_equal(ggml_backend_reg_count(), n + 1);
        assert_ptr_equal(ggml_backend_dev_by_name("module0"), ggml_backend_dev_get(n_dev));
        assert_ptr_equal(ggml_backend_load(in_folder("a.so")), reg); // a second time changes nothing
        assert_int_equal(ggml_backend_dev_count(), n_dev + 1);
        ggml_backend_unload(reg);
        assert_int_equal(ggml_backend_reg_count(), n);
        assert_int_equal(ggml_backend_dev_count(), n_dev);
        assert_null(ggml_backend_reg_by_name("Module"));
    }
}

static void wrong_libraries_are_refused_by_name_and_reason(void ** state) {
    (void) state;
    static const struct {
        const char *module, *reason;
    } cases[] = {
        { "older", "built for version 1 of the interface, which is older than 2" },
        { "newer", "built for version 3 of the interface, which is newer than 2" },
        { "null", "its ggml_backend_init gives no family" },
        { "no-entry", "it has no function ggml_backend_init" },
        { "score-0", "rates itself as unusable" },
        { "hole", "table lacks a function" },
        { "no-name", "the family has no name" },
    };
    for (size_t i = 0; i < TN_COUNT(cases); i++)
        refused(put(cases[i].module, -1, cases[i].module), cases[i].reason);
}

// Its family is right, so it is entered, without the device.
static void a_device_that_is_not_there_is_passed_over(void ** state) {
    (void) state;
    const size_t n_dev = ggml_backend_dev_count();
    ggml_backend_reg_t reg = ggml_backend_load(put("null-device", -1, "a.so"));
    assert_non_null(reg);
    assert_int_equal(ggml_backend_dev_count(), n_dev);
    ggml_backend_unload(reg);
}

// A file may end anywhere: before its first byte, within a table, one byte before its data end. Or it has
// its size and the rest never came. `whole` is at least as long as any module.
static void incomplete_files_are_refused(void ** state) {
    (void) state;
    struct stat st;
    static char whole[1 << 20];
    FILE * in = fopen(put("plain", -1, "whole.so"), "rb");
    assert_int_equal(stat(in_folder("whole.so"), &st), 0);
    const size_t bytes = (size_t) st.st_size;
    assert_true(bytes < sizeof(whole) && fread(whole, 1, bytes, in) == bytes);
    fclose(in);
    for (size_t size = 0; size < bytes; size += size < 80 || size + 97 >= bytes ? 1 : 97) {
        refused(put("plain", (long) size, "part.so"), size < 64 ? "not a library" : "is not complete");
        unlink(in_folder("part.so"));
    }
    for (size_t size = 0; size + 64 < bytes; size += size < 80 ? 1 : 97) {
        static const char zeros[1 << 20];
        FILE * out = fopen(in_folder("part.so"), "wb");
        assert_true(fwrite(whole, 1, size, out) == size &&
                    fwrite(zeros, 1, bytes - size, out) == bytes - size);
        fclose(out);
        assert_null(ggml_backend_load(in_folder("part.so")));
        assert_contains(ggml_ext_last_error(), "part.so: ");
        unlink(in_folder("part.so"));
    }
}

static void what_is_no_library_is_refused(void ** state) {
    (void) state;
    refused(in_folder("nonesuch.so"), "No such file");
    refused(folder, "not a regular file");
    assert_int_equal(mkfifo(in_folder("pipe.so"), 0600), 0);
    refused(in_folder("pipe.so"), "not a regular file");
    FILE * text = fopen(in_folder("text.so"), "w");
    for (int i = 0; i < 1000; i++)
        fprintf(text, "this is not a library\n");
    fclose(text);
    refused(in_folder("text.so"), "not a library");
    refused("libtenon-nonesuch.so", "libtenon-nonesuch.so");
    assert_null(ggml_backend_load(NULL));
    assert_contains(ggml_ext_last_error(), "there is no path");
    assert_null(ggml_backend_load(""));
}

// One segment claims more bytes, or a later place, than the file has; numbers that wrap around are no way in.
static void heads_that_lie_are_refused(void ** state) {
    (void) state;
    static const struct {
        long at;
        uint64_t value;
    } lies[] = {
        { 32, UINT64_C(1) << 40 },      // where the table of segments is
        { 32, UINT64_MAX - 8 },         //
        { 64 + 8, UINT64_C(1) << 40 },  // where the first segment is
        { 64 + 8, UINT64_MAX - 100 },   //
        { 64 + 32, UINT64_C(1) << 40 }, // its bytes
        { 64 + 32, UINT64_MAX },        //
    };
    for (size_t i = 0; sizeof(void *) == 8 && i < TN_COUNT(lies); i++) {
        put("plain", -1, "lie.so");
        FILE * file = fopen(in_folder("lie.so"), "rb+");
        fseek(file, lies[i].at, SEEK_SET);
        fwrite(&lies[i].value, 1, 8, file);
        fclose(file);
        refused(in_folder("lie.so"), "is not complete");
        unlink(in_folder("lie.so"));
    }
}

// ---- what is in use stays -------------------------------------------------------------------------------

static void nothing_is_closed_that_is_in_use(void ** state) {
    (void) state;
    ggml_backend_reg_t reg = ggml_backend_load(put("plain", -1, "a.so"));
    ggml_backend_dev_t device = ggml_backend_dev_by_name("Module0");
    ggml_backend_t backends[2] = { ggml_backend_dev_init(device, NULL), ggml_backend_dev_init(device, NULL) };
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(device), 0);
    ggml_backend_event_t event = ggml_backend_event_new(device);
    assert_true(backends[0] && backends[1] && buffer && event);
    ggml_backend_unload(reg);
    assert_contains(ggml_ext_last_error(), "Module is in use: 2 back ends, 1 buffer, 1 event");
    ggml_backend_free(backends[0]);
    ggml_backend_buffer_free(buffer);
    ggml_backend_unload(reg);
    assert_contains(ggml_ext_last_error(), "Module is in use: 1 back end, 1 event");
    assert_ptr_equal(ggml_backend_reg_by_name("module"), reg);
    ggml_backend_event_free(event);
    assert_string_equal(ggml_backend_name(backends[1]), "Module");
    ggml_backend_free(backends[1]);
    ggml_backend_unload(reg);
    assert_null(ggml_backend_reg_by_name("module"));
}

static void what_is_not_there_cannot_be_unloaded(void ** state) {
    (void) state;
    static struct ggml_backend_reg unknown;
    ggml_backend_unload(NULL);
    assert_contains(ggml_ext_last_error(), "there is no such family");
    ggml_backend_unload(&unknown);
    assert_contains(ggml_ext_last_error(), "there is no such family");
}

// Of a family without a library the entries go; the processor comes back when it is registered again.
static void a_family_of_the_program_leaves_the_lists(void ** state) {
    (void) state;
    ggml_backend_reg_t cpu = ggml_backend_reg_by_name("CPU");
    const size_t n = ggml_backend_reg_count(), n_dev = ggml_backend_dev_count();
    ggml_backend_t backend = ggml_backend_init_best();
    ggml_backend_unload(cpu);
    assert_int_equal(ggml_backend_reg_count(), n - 1);
    assert_int_equal(ggml_backend_dev_count(), n_dev - 1);
    assert_null(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    assert_null(ggml_backend_init_best());
    assert_string_equal(ggml_backend_name(backend), "CPU");
    ggml_backend_free(backend);
    ggml_backend_register(cpu);
    assert_int_equal(ggml_backend_dev_count(), n_dev);
}

// ---- of several the best --------------------------------------------------------------------------------

static size_t n_modules(void) {
    size_t n = 0;
    for (size_t i = 0; i < ggml_backend_reg_count(); i++)
        n += strcmp(ggml_backend_reg_name(ggml_backend_reg_get(i)), "Module") == 0;
    return n;
}

// Loads what is in the folder. Returns the score of the only family that came, 0 if it has none, -1: none
// came.
static int score_of_loaded(void) {
    ggml_backend_load_all_from_path(folder);
    assert_in_range(n_modules(), 0, 1);
    ggml_backend_reg_t reg = ggml_backend_reg_by_name("Module");
    if (!reg) return -1;
    void * symbol = ggml_backend_reg_get_proc_address(reg, "score");
    ggml_backend_score_t score = NULL;
    memcpy(&score, &symbol, sizeof(score));
    const int points = score ? score() : 0;
    ggml_backend_unload(reg);
    return points;
}

static void the_best_variant_is_loaded(void ** state) {
    (void) state;
    assert_int_equal(score_of_loaded(), -1);
    put("plain", -1, "libggml-cuda.so");
    assert_int_equal(score_of_loaded(), 0);
    put("score-0", -1, "libggml-cuda-none.so");
    put("plain", -1, "libggml-cuda-unrated.so");
    put("plain", 3000, "libggml-cuda-broken.so");
    assert_int_equal(score_of_loaded(), 0);
    put("score-3", -1, "libggml-cuda-m.so");
    assert_int_equal(score_of_loaded(), 3);
    put("score-7", -1, "libggml-cuda-z.so");
    assert_int_equal(score_of_loaded(), 7);
    put("score-3", -1, "libggml-cuda-a.so");
    assert_int_equal(score_of_loaded(), 7);
}

static void other_names_are_not_looked_at(void ** state) {
    (void) state;
    put("plain", -1, "libggml-unknown.so");
    put("score-7", -1, "libggml-unknown-a.so");
    put("plain", -1, "ggml-cuda.so");
    put("score-7", -1, "libggml-cudax-a.so");
    put("score-7", -1, "libggml-cuda-a.so.1");
    put("score-7", -1, "xlibggml-cuda-a.so");
    assert_int_equal(score_of_loaded(), -1);
}

static void a_broken_choice_falls_back_to_the_plain_one(void ** state) {
    (void) state;
    put("older", -1, "libggml-vulkan.so");
    assert_int_equal(score_of_loaded(), -1);
    put("score-3", -1, "libggml-vulkan-a.so");
    assert_int_equal(score_of_loaded(), 3);
}

static void each_family_comes_in_its_order(void ** state) {
    (void) state;
    const size_t n = ggml_backend_reg_count();
    static const char * const files[] = { "libggml-cpu.so", "libggml-blas.so", "libggml-vulkan-x.so" };
    static const char * const modules[] = { "score-3", "plain", "score-7" };
    for (int i = 0; i < 3; i++)
        put(modules[i], -1, files[i]);
    ggml_backend_load_all_from_path(folder);
    assert_int_equal(ggml_backend_reg_count(), n + 3);
    ggml_backend_reg_t regs[3];
    static const int order[] = { 0, 7, 3 }; // the scores of blas, vulkan, cpu
    for (int i = 0; i < 3; i++) {
        regs[i] = ggml_backend_reg_get(n + (size_t) i);
        void * symbol = ggml_backend_reg_get_proc_address(regs[i], "score");
        ggml_backend_score_t score = NULL;
        memcpy(&score, &symbol, sizeof(score));
        assert_int_equal(score ? score() : 0, order[i]);
    }
    ggml_backend_load_all_from_path(folder); // changes nothing
    assert_int_equal(ggml_backend_reg_count(), n + 3);
    for (int i = 0; i < 3; i++)
        ggml_backend_unload(regs[i]);
    assert_int_equal(ggml_backend_reg_count(), n);
}

static void a_folder_that_cannot_be_read_is_passed_over(void ** state) {
    (void) state;
    const size_t n = ggml_backend_reg_count();
    ggml_backend_load_all_from_path(in_folder("nonesuch"));
    char longer[3 * 4096];
    memset(longer, 'a', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    ggml_backend_load_all_from_path(longer);
    assert_int_equal(ggml_backend_reg_count(), n);
}

// Beside the program there is none; the working folder comes after it, and may be gone.
static void the_working_folder_is_searched(void ** state) {
    (void) state;
    char before[4096];
    assert_non_null(getcwd(before, sizeof(before)));
    put("plain", -1, "libggml-metal.so");
    assert_int_equal(chdir(folder), 0);
    ggml_backend_load_all();
    assert_int_equal(n_modules(), 1);
    ggml_backend_unload(ggml_backend_reg_by_name("Module"));
    assert_int_equal(mkdir("gone", 0700), 0);
    assert_int_equal(chdir("gone"), 0);
    assert_int_equal(rmdir(in_folder("gone")), 0);
    ggml_backend_load_all();
    assert_int_equal(n_modules(), 0);
    assert_int_equal(chdir(before), 0);
}

static void the_environment_names_one_more(void ** state) {
    (void) state;
    assert_null(tn_env_get(TN_ENV_GGML_BACKEND_PATH));
    setenv("GGML_BACKEND_PATH", put("score-3", -1, "any-name"), 1);
    ggml_backend_load_all_from_path("/nonesuch");
    assert_int_equal(n_modules(), 1);
    ggml_backend_unload(ggml_backend_reg_by_name("Module"));
    setenv("GGML_BACKEND_PATH", "/nonesuch/libggml-x.so", 1);
    ggml_backend_load_all_from_path("/nonesuch");
    assert_contains(ggml_ext_last_error(), "/nonesuch/libggml-x.so: No such file");
    setenv("GGML_BACKEND_PATH", "", 1);
    ggml_backend_load_all_from_path("/nonesuch");
    unsetenv("GGML_BACKEND_PATH");
    assert_int_equal(n_modules(), 0);
}

// ---- without memory, and many at once -------------------------------------------------------------------

static void without_memory_nothing_is_half_loaded(void ** state) {
    (void) state;
    const size_t n = ggml_backend_reg_count();
    put("plain", -1, "a.so");
    int failures = 0;
    for (int64_t nth = 1; nth < 100; nth++) {
        tn_mem_fail_nth(nth);
        ggml_backend_reg_t reg = ggml_backend_load(in_folder("a.so"));
        ggml_backend_t backend = reg ? ggml_backend_init_by_name("Module0", NULL) : NULL;
        const bool struck = tn_mem_fail_nth(0);
        failures += struck;
        ggml_backend_free(backend);
        if (reg) ggml_backend_unload(reg);
        assert_int_equal(ggml_backend_reg_count(), n);
        if (!struck) return;
    }
    fail_msg("%d allocations", failures);
}

// What a search finds depends on what memory allows; what it leaves behind can be loaded and unloaded all
// the same.
static void without_memory_a_search_finds_less(void ** state) {
    (void) state;
    const size_t n = ggml_backend_reg_count();
    put("plain", -1, "libggml-cuda.so");
    put("score-7", -1, "libggml-vulkan-a.so");
    for (int64_t nth = 1; nth < 100; nth++) {
        tn_mem_fail_nth(nth);
        ggml_backend_load_all_from_path(folder);
        const bool struck = tn_mem_fail_nth(0);
        if (!struck) assert_int_equal(n_modules(), 2);
        assert_in_range(n_modules(), 0, 2);
        while (ggml_backend_reg_by_name("Module"))
            ggml_backend_unload(ggml_backend_reg_by_name("Module"));
        assert_int_equal(ggml_backend_reg_count(), n);
        if (!struck) return;
    }
    fail_msg("too many allocations");
}

static void * load_and_ask(void * arg) {
    for (int i = 0; i < 20; i++) {
        ggml_backend_reg_t reg = ggml_backend_load(arg);
        assert_non_null(reg);
        for (size_t k = 0; k < ggml_backend_dev_count(); k++)
            assert_non_null(ggml_backend_dev_name(ggml_backend_dev_get(k)));
        assert_non_null(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    }
    return NULL;
}

static void threads_load_the_same_libraries(void ** state) {
    (void) state;
    char paths[3][2 * TEST_PATH];
    const size_t n = ggml_backend_reg_count();
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%d.so", i);
        strcpy(paths[i], put("plain", -1, name));
    }
    struct tn_thread threads[6];
    for (int i = 0; i < 6; i++)
        assert_true(tn_thread_start(&threads[i], load_and_ask, paths[i % 3]));
    for (int i = 0; i < 6; i++)
        tn_thread_join(&threads[i]);
    assert_int_equal(ggml_backend_reg_count(), n + 3);
    while (ggml_backend_reg_by_name("Module"))
        ggml_backend_unload(ggml_backend_reg_by_name("Module"));
    assert_int_equal(ggml_backend_reg_count(), n);
}

static void asks_for_more(enum ggml_log_level level, const char * text, void * data) {
    (void) level;
    if (strstr(text, "is in use")) (*(int *) data)++;
    if (strstr(text, "passed over")) ggml_backend_load("/nonesuch.so");
}

// A library, or who hears of it, cannot load another one meanwhile: that is refused, it does not hang.
static void loading_while_loading_is_refused(void ** state) {
    (void) state;
    int n = 0;
    put("older", -1, "libggml-cuda.so");
    ggml_log_set(asks_for_more, &n);
    ggml_backend_load_all_from_path(folder);
    ggml_log_set(NULL, NULL);
    assert_contains(ggml_ext_last_error(), "cannot ask for this");
    assert_int_equal(n, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void) {
    unsetenv("GGML_BACKEND_PATH");
    const struct CMUnitTest tests[] = {
        TEST(a_library_comes_and_goes),
        TEST(wrong_libraries_are_refused_by_name_and_reason),
        TEST(a_device_that_is_not_there_is_passed_over),
        TEST(incomplete_files_are_refused),
        TEST(what_is_no_library_is_refused),
        TEST(heads_that_lie_are_refused),
        TEST(nothing_is_closed_that_is_in_use),
        TEST(what_is_not_there_cannot_be_unloaded),
        TEST(a_family_of_the_program_leaves_the_lists),
        TEST(the_best_variant_is_loaded),
        TEST(other_names_are_not_looked_at),
        TEST(a_broken_choice_falls_back_to_the_plain_one),
        TEST(each_family_comes_in_its_order),
        TEST(a_folder_that_cannot_be_read_is_passed_over),
        TEST(the_working_folder_is_searched),
        TEST(the_environment_names_one_more),
        TEST(without_memory_nothing_is_half_loaded),
        TEST(without_memory_a_search_finds_less),
        TEST(threads_load_the_same_libraries),
        TEST(loading_while_loading_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
