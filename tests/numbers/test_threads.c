// SPDX-License-Identifier: MIT
// Every operator gives the same bits whatever the number of threads, at every instruction-set level: all
// memory that the node could reach is compared.
#include "numbers/every_op.h"

#include "cpu/isa.h"
#include "cpu/kernels.h"

static const int counts[] = { 1, 2, 3, 5, 7, 8 };

static void compare(const struct cpu_test * t, const struct ggml_tensor * node,
                    const struct every_memory * want, int threads, enum tn_isa isa) {
    struct every_memory got = every_save(t);
    if (memcmp(got.bytes, want->bytes, got.size) != 0)
        fail_msg("%s %s [%d, %d, %d, %d] %s, %d threads: other bits than with one", ggml_op_desc(node),
                 node->src[0] ? ggml_type_name(node->src[0]->type) : "", (int) node->ne[0], (int) node->ne[1],
                 (int) node->ne[2], (int) node->ne[3], tn_isa_name(isa), threads);
    free(got.bytes);
}

static void check_level(struct cpu_test * t, struct ggml_tensor * node, const struct every_memory * before,
                        enum tn_isa isa) {
    struct every_memory first = { NULL, 0 };
    for (int k = 0; k < EVERY_COUNT(counts); k++) {
        every_restore(t, before);
        if (cpu_compute(node, counts[k]) != GGML_STATUS_SUCCESS) fail_msg("%s", ggml_ext_last_error());
        if (k == 0) {
            first = every_save(t);
        } else {
            compare(t, node, &first, counts[k], isa);
        }
    }
    free(first.bytes);
}

static void check_node(struct cpu_test * t, struct ggml_tensor * node, void * n_checked) {
    struct every_memory before = every_save(t);
    uint64_t used = 0;
    if (!ggml_backend_supports_op(t->backend, node)) fail_msg("%s", ggml_ext_last_error());
    for (int isa = 0; isa < TN_ISA_COUNT; isa++) {
        tn_kernels_select(tn_isa_up_to((enum tn_isa) isa));
        if (tn_kernels_used() == used) continue; // a level of another machine, or one without kernels
        used = tn_kernels_used();
        check_level(t, node, &before, (enum tn_isa) isa);
    }
    tn_kernels_select(UINT64_MAX);
    free(before.bytes);
    ++*(int *) n_checked;
}

static void threads_leave_no_trace(void ** state) {
    (void) state;
    int n_checked = 0;
    every_node(check_node, &n_checked);
    printf("%d nodes of %d operators\n", n_checked, EVERY_COUNT(every_ops));
    assert_true(n_checked > EVERY_COUNT(every_ops));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(threads_leave_no_trace) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
