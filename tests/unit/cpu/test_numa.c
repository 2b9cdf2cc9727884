// SPDX-License-Identifier: MIT
// cpu/numa.c: nodes from a folder made up for the test, masks by strategy, the process-wide choice.
#include "harness.h"

#include <sys/stat.h>
#include <unistd.h>

#include "cpu/numa.h"
#include "ggml-ext.h"

// A folder with nodes 0, 2 and 3, of which 2 has memory alone.
static const struct {
    const char * node;
    const char * list;
} nodes[] = { { "node0", "0-2,8\n" }, { "node2", "\n" }, { "node3", "3,5-6,100000\n" } };

static void write_nodes(const char * folder, bool write) {
    for (int i = 0; i < 3; i++) {
        char path[TEST_PATH + 16], file[TEST_PATH + 32];
        snprintf(path, sizeof(path), "%s/%s", folder, nodes[i].node);
        snprintf(file, sizeof(file), "%s/cpulist", path);
        if (!write) {
            unlink(file);
            rmdir(path);
            continue;
        }
        assert_int_equal(mkdir(path, 0700), 0);
        FILE * f = fopen(file, "w");
        assert_non_null(f);
        fputs(nodes[i].list, f);
        fclose(f);
    }
}

static void check_mask(const struct tn_numa * numa, int thread, const char * expected) {
    bool mask[GGML_MAX_N_THREADS];
    assert_true(tn_numa_mask_of(numa, thread, mask));
    for (int i = 0; i < GGML_MAX_N_THREADS; i++)
        assert_int_equal(mask[i], i < 10 && expected[i] == '1');
}

static void masks_by_strategy(void ** state) {
    (void) state;
    char folder[TEST_PATH];
    assert_non_null(mkdtemp(test_path(folder, "numa")));
    write_nodes(folder, true);
    struct tn_numa numa;
    tn_numa_scan(&numa, folder);
    write_nodes(folder, false);
    rmdir(folder);
    assert_int_equal(numa.n_nodes, 2);
    bool mask[GGML_MAX_N_THREADS];
    assert_false(tn_numa_mask_of(&numa, 0, mask)); // DISABLED
    numa.strategy = GGML_NUMA_STRATEGY_MIRROR;
    assert_false(tn_numa_mask_of(&numa, 0, mask));
    numa.strategy = GGML_NUMA_STRATEGY_DISTRIBUTE;
    check_mask(&numa, 0, "1110000010");
    check_mask(&numa, 1, "0001011000");
    check_mask(&numa, 4, "1110000010");
    numa.strategy = GGML_NUMA_STRATEGY_ISOLATE;
    numa.home = 1;
    check_mask(&numa, 0, "0001011000");
    numa.strategy = GGML_NUMA_STRATEGY_NUMACTL;
    numa.allowed[1] = numa.allowed[5] = true;
    check_mask(&numa, 3, "0100010000");
}

static void a_machine_with_one_node_binds_nothing(void ** state) {
    (void) state;
    struct tn_numa numa;
    tn_numa_scan(&numa, "/nowhere/at/all");
    assert_int_equal(numa.n_nodes, 0);
    numa.strategy = GGML_NUMA_STRATEGY_DISTRIBUTE;
    bool mask[GGML_MAX_N_THREADS];
    assert_false(tn_numa_mask_of(&numa, 0, mask));
}

static char logged[512];

static void keep_log(enum ggml_log_level level, const char * text, void * data) {
    (void) level;
    (void) data;
    snprintf(logged, sizeof(logged), "%s", text);
}

static void the_process_chooses_once(void ** state) {
    (void) state;
    ggml_log_set(keep_log, NULL);
    assert_false(ggml_is_numa());
    ggml_numa_init((enum ggml_numa_strategy) 9);
    assert_contains(ggml_ext_last_error(), "strategy 9");
    bool mask[GGML_MAX_N_THREADS];
    assert_false(tn_numa_mask(0, mask));
    ggml_numa_init(GGML_NUMA_STRATEGY_DISTRIBUTE);
    struct tn_numa here;
    tn_numa_scan(&here, "/sys/devices/system/node");
    assert_int_equal(ggml_is_numa(), here.n_nodes > 1);
    assert_int_equal(tn_numa_mask(0, mask), here.n_nodes > 1);
    logged[0] = '\0';
    ggml_numa_init(GGML_NUMA_STRATEGY_DISABLED);
    assert_contains(logged, "chosen before");
    assert_int_equal(tn_numa_mask(0, mask), here.n_nodes > 1);
    ggml_log_set(NULL, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_by_strategy),
        cmocka_unit_test(a_machine_with_one_node_binds_nothing),
        cmocka_unit_test(the_process_chooses_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
