// SPDX-License-Identifier: MIT
// Instruction-set levels: names, what the machine runs, what is used under a limit.
#include "harness.h"

#include "base/arch.h"
#include "base/env.h"
#include "cpu/isa.h"
#include "cpu/kernels.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"

static bool is_ours(enum tn_isa isa) {
    return tn_isa_find(tn_isa_name(isa)) != TN_ISA_COUNT;
}

static void levels_have_names(void ** state) {
    (void) state;
    assert_int_equal(tn_isa_find("scalar"), TN_ISA_scalar);
    assert_int_equal(tn_isa_find("avx3"), TN_ISA_COUNT);
    assert_int_equal(tn_isa_find(""), TN_ISA_COUNT);
    assert_int_equal(tn_isa_find("x86_avx512_vnni"), TN_ARCH_X86 ? TN_ISA_x86_avx512_vnni : TN_ISA_COUNT);
    assert_int_equal(tn_isa_find("avx2"), TN_ARCH_X86 ? TN_ISA_x86_avx2 : TN_ISA_COUNT);
    assert_int_equal(tn_isa_find("neon"), TN_ARCH_ARM ? TN_ISA_arm_neon : TN_ISA_COUNT);
    for (int i = 0; i < TN_ISA_COUNT; i++) {
        if (is_ours((enum tn_isa) i)) assert_int_equal(tn_isa_find(tn_isa_name((enum tn_isa) i)), i);
    }
}

static void a_machine_runs_scalar_and_its_own(void ** state) {
    (void) state;
    const uint64_t set = tn_isa_machine();
    assert_true(set & tn_isa_up_to(TN_ISA_scalar));
    for (int i = 0; i < TN_ISA_COUNT; i++) {
        if (!(set >> i & 1)) continue;
        assert_true(is_ours((enum tn_isa) i));
        assert_true((tn_isa_features((enum tn_isa) i) & ~tn_detect_features()) == 0);
        printf("%s\n", tn_isa_name((enum tn_isa) i));
    }
    if (TN_ARCH_ARM) assert_true(set >> TN_ISA_arm_neon & 1);
}

// So every kernel of the architecture is tested there.
static void an_emulated_machine_runs_every_level(void ** state) {
    (void) state;
    for (int i = 0; TENON_EMULATED && i < TN_ISA_COUNT; i++) {
        if (is_ours((enum tn_isa) i) && !(tn_isa_machine() >> i & 1))
            fail_msg("the emulated processor lacks %s", tn_isa_name((enum tn_isa) i));
    }
}

static void what_is_used_stays_below_the_limit(void ** state) {
    (void) state;
    for (int i = 0; i < TN_ISA_COUNT; i++) {
        const uint64_t limit = tn_isa_up_to((enum tn_isa) i);
        tn_kernels_select(limit);
        assert_true((tn_kernels_used() & ~(limit & tn_isa_machine())) == 0);
        if (i == TN_ISA_scalar) assert_int_equal(tn_kernels_used(), 1 << TN_ISA_scalar);
        if (tn_isa_machine() >> i & 1) assert_true(tn_kernels_used() >> i & 1); // no row without a kernel
    }
    tn_kernels_select(0);
    assert_int_equal(tn_kernels_used(), 1 << TN_ISA_scalar);
    assert_false(ggml_cpu_has_avx2() || ggml_cpu_has_avx512() || ggml_cpu_has_neon());
    tn_kernels_select(UINT64_MAX);
    const bool uses_avx512 = tn_kernels_used() >> TN_ISA_x86_avx512 & 1;
    assert_int_equal(ggml_cpu_has_avx512(), uses_avx512);
    assert_true(!uses_avx512 || (ggml_cpu_has_avx2() && ggml_cpu_has_fma() && ggml_cpu_has_f16c()));
    assert_int_equal(ggml_cpu_has_sve(), 0);
    assert_int_equal(ggml_cpu_get_sve_cnt(), 0);
    assert_int_equal(ggml_cpu_get_rvv_vlen(), 0);
}

static void features_are_listed(void ** state) {
    (void) state;
    ggml_backend_get_features_t get = (ggml_backend_get_features_t) ggml_backend_reg_get_proc_address(
        ggml_backend_cpu_reg(), "ggml_backend_get_features");
    assert_non_null(get);
    bool has_avx2 = false;
    for (const struct ggml_backend_feature * f = get(ggml_backend_cpu_reg()); f->name; f++) {
        assert_string_equal(f->value, "1");
        has_avx2 = has_avx2 || strcmp(f->name, "AVX2") == 0;
    }
    assert_int_equal(has_avx2, ggml_cpu_has_avx2());
}

// The first selection reads TENON_ISA.
static int allow_no_more_than_scalar(void ** state) {
    (void) state;
    return setenv("TENON_ISA", "scalar", 1);
}

static void the_variable_limits_the_first_selection(void ** state) {
    (void) state;
    assert_string_equal(tn_env_get(TN_ENV_TENON_ISA), "scalar");
    assert_int_equal(tn_kernels_used(), 1 << TN_ISA_scalar);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_variable_limits_the_first_selection, allow_no_more_than_scalar),
        cmocka_unit_test(levels_have_names),
        cmocka_unit_test(a_machine_runs_scalar_and_its_own),
        cmocka_unit_test(an_emulated_machine_runs_every_level),
        cmocka_unit_test(what_is_used_stays_below_the_limit),
        cmocka_unit_test(features_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
