// SPDX-License-Identifier: MIT
// cpu/features.c: each function and the list of the registry say the same.
#include "harness.h"

#include "base/arch.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"

static const struct {
    const char * name;
    int (*value)(void);
} rows[] = {
    { "SSE3", ggml_cpu_has_sse3 },
    { "SSSE3", ggml_cpu_has_ssse3 },
    { "AVX", ggml_cpu_has_avx },
    { "AVX_VNNI", ggml_cpu_has_avx_vnni },
    { "AVX2", ggml_cpu_has_avx2 },
    { "F16C", ggml_cpu_has_f16c },
    { "FMA", ggml_cpu_has_fma },
    { "BMI2", ggml_cpu_has_bmi2 },
    { "AVX512", ggml_cpu_has_avx512 },
    { "AVX512_VBMI", ggml_cpu_has_avx512_vbmi },
    { "AVX512_VNNI", ggml_cpu_has_avx512_vnni },
    { "AVX512_BF16", ggml_cpu_has_avx512_bf16 },
    { "AMX_INT8", ggml_cpu_has_amx_int8 },
    { "NEON", ggml_cpu_has_neon },
    { "ARM_FMA", ggml_cpu_has_arm_fma },
    { "FP16_VA", ggml_cpu_has_fp16_va },
    { "MATMUL_INT8", ggml_cpu_has_matmul_int8 },
    { "SVE", ggml_cpu_has_sve },
    { "DOTPROD", ggml_cpu_has_dotprod },
    { "SVE_CNT", ggml_cpu_get_sve_cnt },
    { "SME", ggml_cpu_has_sme },
    { "SME2", ggml_cpu_has_sme2 },
    { "RISCV_V", ggml_cpu_has_riscv_v },
    { "RVV_VLEN", ggml_cpu_get_rvv_vlen },
    { "VSX", ggml_cpu_has_vsx },
    { "VXE", ggml_cpu_has_vxe },
    { "WASM_SIMD", ggml_cpu_has_wasm_simd },
    { "LLAMAFILE", ggml_cpu_has_llamafile },
};

enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

static const char * listed(const char * name) {
    ggml_backend_reg_t reg = ggml_backend_cpu_reg();
    ggml_backend_get_features_t get =
        (ggml_backend_get_features_t) ggml_backend_reg_get_proc_address(reg, "ggml_backend_get_features");
    assert_non_null(get);
    for (const struct ggml_backend_feature * f = get(reg); f->name; f++) {
        if (strcmp(f->name, name) == 0) return f->value;
    }
    return NULL;
}

static void functions_and_list_agree(void ** state) {
    (void) state;
    for (int i = 0; i < N_ROWS; i++) {
        char value[16];
        snprintf(value, sizeof(value), "%d", rows[i].value());
        if (rows[i].value() == 0) {
            assert_null(listed(rows[i].name));
        } else {
            assert_string_equal(listed(rows[i].name), value);
        }
    }
}

static void only_one_architecture_answers(void ** state) {
    (void) state;
    const bool x86 = ggml_cpu_has_sse3() || ggml_cpu_has_avx2() || ggml_cpu_has_avx512();
    const bool arm = ggml_cpu_has_neon() || ggml_cpu_has_dotprod() || ggml_cpu_has_sve();
    assert_false(x86 && arm);
    if (!ggml_cpu_has_sve()) assert_int_equal(ggml_cpu_get_sve_cnt(), 0);
    if (!ggml_cpu_has_riscv_v()) assert_int_equal(ggml_cpu_get_rvv_vlen(), 0);
}

#if TN_ARCH_X86
static bool is_in_words(const char * words, const char * word) {
    const size_t length = strlen(word);
    for (const char * at = words; (at = strstr(at, word)) != NULL; at += length) {
        if (at[-1] == ' ' && (at[length] == ' ' || at[length] == '\n')) return true;
    }
    return false;
}

// What is claimed stands in the system's list as well.
static void the_processor_has_what_is_claimed(void ** state) {
    (void) state;
    static const struct {
        const char * flag;
        int (*value)(void);
    } flags[] = {
        { "pni", ggml_cpu_has_sse3 },
        { "ssse3", ggml_cpu_has_ssse3 },
        { "avx", ggml_cpu_has_avx },
        { "avx_vnni", ggml_cpu_has_avx_vnni },
        { "avx2", ggml_cpu_has_avx2 },
        { "f16c", ggml_cpu_has_f16c },
        { "fma", ggml_cpu_has_fma },
        { "bmi2", ggml_cpu_has_bmi2 },
        { "avx512f", ggml_cpu_has_avx512 },
        { "avx512vbmi", ggml_cpu_has_avx512_vbmi },
        { "avx512_vnni", ggml_cpu_has_avx512_vnni },
        { "avx512_bf16", ggml_cpu_has_avx512_bf16 },
        { "amx_int8", ggml_cpu_has_amx_int8 },
    };
    static char line[65536];
    FILE * info = fopen("/proc/cpuinfo", "r");
    assert_non_null(info);
    while (fgets(line, sizeof(line), info) && strncmp(line, "flags", 5) != 0) {}
    fclose(info);
    assert_int_equal(strncmp(line, "flags", 5), 0);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (flags[i].value() && !is_in_words(line, flags[i].flag)) fail_msg("there is no %s", flags[i].flag);
    }
    ggml_cpu_init();
    assert_int_equal(ggml_cpu_has_avx2(), is_in_words(line, "avx2") && is_in_words(line, "fma"));
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_and_list_agree),
        cmocka_unit_test(only_one_architecture_answers),
#if TN_ARCH_X86
        cmocka_unit_test(the_processor_has_what_is_claimed),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
