// SPDX-License-Identifier: MIT
// quant/type.c and types.def: every row against a table of facts, ids that are retired or out of range, row
// sizes.
#include "harness.h"

#include "ggml-ext.h"
#include "quant/type.h"

struct fact {
    enum ggml_type type;
    const char * name;
    int len, size;
    bool is_quantized, to_float, from_float_ref, chunk, needs_weights;
};

static const struct fact facts[] = {
#define FACT(...) { __VA_ARGS__ },
#include "unit/quant/type_facts.def"
#undef FACT
};

static const enum ggml_type rows[] = {
#define TN_TYPE(id, name, module) GGML_TYPE_##id,
#include "quant/types.def"
#undef TN_TYPE
};

static const int strange_ids[] = { 4,    5,  31,        32,       33, 36, 37, 38, GGML_TYPE_COUNT,
                                   1000, -1, INT32_MAX, INT32_MIN };

static void every_fact_holds(void ** state) {
    (void) state;
    for (size_t i = 0; i < TN_COUNT(facts); i++) {
        const struct fact * f = &facts[i];
        const struct ggml_type_traits * traits = ggml_get_type_traits(f->type);
        assert_string_equal(ggml_type_name(f->type), f->name);
        assert_int_equal(ggml_blck_size(f->type), f->len);
        assert_int_equal(ggml_type_size(f->type), f->size);
        assert_int_equal(ggml_is_quantized(f->type), f->is_quantized);
        assert_int_equal(ggml_quantize_requires_imatrix(f->type), f->needs_weights);
        assert_string_equal(traits->type_name, f->name);
        assert_int_equal(traits->blck_size, f->len);
        assert_int_equal(traits->blck_size_interleave, 0);
        assert_int_equal(traits->type_size, f->size);
        assert_int_equal(traits->is_quantized, f->is_quantized);
        if ((traits->to_float != NULL) != f->to_float) fail_msg("%s: to_float", f->name);
        if ((traits->from_float_ref != NULL) != f->from_float_ref) fail_msg("%s: from_float_ref", f->name);
    }
}

static void chunks_are_made_of_the_types_that_have_them(void ** state) {
    (void) state;
    float x[256], w[256];
    uint8_t y[2048];
    for (int i = 0; i < 256; i++) {
        x[i] = (float) (i % 5) - 2;
        w[i] = 1;
    }
    for (size_t i = 0; i < TN_COUNT(facts); i++) {
        const struct fact * f = &facts[i];
        const size_t want = f->chunk ? (size_t) (256 / f->len * f->size) : 0;
        if (ggml_quantize_chunk(f->type, x, y, 0, 1, 256, w) != want)
            fail_msg("%s: %s", f->name, ggml_ext_last_error());
        if (!f->chunk) assert_contains(ggml_ext_last_error(), f->name);
    }
}

static void every_row_has_its_fact(void ** state) {
    (void) state;
    assert_int_equal(TN_COUNT(rows), TN_COUNT(facts));
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        bool found = false;
        for (size_t k = 0; k < TN_COUNT(facts); k++) {
            found |= facts[k].type == rows[i];
        }
        if (!found) fail_msg("no fact about %s", ggml_type_name(rows[i]));
    }
}

static void strange_ids_are_harmless(void ** state) {
    (void) state;
    for (size_t i = 0; i < TN_COUNT(strange_ids); i++) {
        const enum ggml_type type = (enum ggml_type) strange_ids[i];
        assert_non_null(ggml_type_name(type));
        assert_true(ggml_type_name(type)[0] != '\0');
        assert_int_equal(ggml_blck_size(type), 0);
        assert_int_equal(ggml_type_size(type), 0);
        assert_int_equal(ggml_row_size(type, 32), 0);
        assert_contains(ggml_ext_last_error(), "no tensor type");
        assert_false(ggml_is_quantized(type));
        assert_false(ggml_quantize_requires_imatrix(type));
        assert_false(ggml_validate_row_data(type, "", 0));
        assert_null(tn_type_get(type));
        ggml_quantize_init(type);
        const struct ggml_type_traits * traits = ggml_get_type_traits(type);
        assert_non_null(traits->type_name);
        assert_int_equal(traits->blck_size, 0);
        assert_int_equal(traits->type_size, 0);
        assert_null(traits->to_float);
        assert_null(traits->from_float_ref);
    }
}

static void row_sizes(void ** state) {
    (void) state;
    assert_int_equal(ggml_row_size(GGML_TYPE_F32, 3), 12);
    assert_int_equal(ggml_row_size(GGML_TYPE_Q4_0, 64), 36);
    assert_int_equal(ggml_row_size(GGML_TYPE_Q6_K, 512), 420);
    assert_int_equal(ggml_row_size(GGML_TYPE_Q6_K, 0), 0);
    assert_true(ggml_row_size(GGML_TYPE_I8, INT64_MAX) == INT64_MAX);
    assert_true(ggml_row_size(GGML_TYPE_Q4_0, 1ll << 40) == (1ull << 35) * 18);
    size_t size = 77;
    assert_false(tn_type_row_size(GGML_TYPE_F64, INT64_MAX, &size));
    assert_contains(ggml_ext_last_error(), "too many");
    assert_false(tn_type_row_size(GGML_TYPE_Q4_0, 33, &size));
    assert_contains(ggml_ext_last_error(), "q4_0");
    assert_false(tn_type_row_size(GGML_TYPE_Q4_0, -32, &size));
    assert_int_equal(size, 77);
    assert_int_equal(ggml_row_size(GGML_TYPE_Q4_0, 33), 0);
}

static double sizef_of(enum ggml_type type) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return ggml_type_sizef(type);
#pragma GCC diagnostic pop
}

static void bytes_per_element(void ** state) {
    (void) state;
    assert_true(sizef_of(GGML_TYPE_F16) == 2.0);
    assert_true(sizef_of(GGML_TYPE_Q4_0) == 18.0 / 32.0);
    assert_true(sizef_of((enum ggml_type) 4) == 0.0);
}

static void types_of_files(void ** state) {
    (void) state;
    static const struct {
        enum ggml_ftype ftype;
        enum ggml_type type;
    } cases[] = {
        { GGML_FTYPE_ALL_F32, GGML_TYPE_F32 },
        { GGML_FTYPE_MOSTLY_F16, GGML_TYPE_F16 },
        { GGML_FTYPE_MOSTLY_Q4_0, GGML_TYPE_Q4_0 },
        { GGML_FTYPE_MOSTLY_Q4_1, GGML_TYPE_Q4_1 },
        { GGML_FTYPE_MOSTLY_Q5_0, GGML_TYPE_Q5_0 },
        { GGML_FTYPE_MOSTLY_Q5_1, GGML_TYPE_Q5_1 },
        { GGML_FTYPE_MOSTLY_Q8_0, GGML_TYPE_Q8_0 },
        { GGML_FTYPE_MOSTLY_Q2_K, GGML_TYPE_Q2_K },
        { GGML_FTYPE_MOSTLY_Q3_K, GGML_TYPE_Q3_K },
        { GGML_FTYPE_MOSTLY_Q4_K, GGML_TYPE_Q4_K },
        { GGML_FTYPE_MOSTLY_Q5_K, GGML_TYPE_Q5_K },
        { GGML_FTYPE_MOSTLY_Q6_K, GGML_TYPE_Q6_K },
        { GGML_FTYPE_MOSTLY_IQ2_XXS, GGML_TYPE_IQ2_XXS },
        { GGML_FTYPE_MOSTLY_IQ2_XS, GGML_TYPE_IQ2_XS },
        { GGML_FTYPE_MOSTLY_IQ2_S, GGML_TYPE_IQ2_S },
        { GGML_FTYPE_MOSTLY_IQ3_XXS, GGML_TYPE_IQ3_XXS },
        { GGML_FTYPE_MOSTLY_IQ3_S, GGML_TYPE_IQ3_S },
        { GGML_FTYPE_MOSTLY_IQ1_S, GGML_TYPE_IQ1_S },
        { GGML_FTYPE_MOSTLY_IQ1_M, GGML_TYPE_IQ1_M },
        { GGML_FTYPE_MOSTLY_IQ4_NL, GGML_TYPE_IQ4_NL },
        { GGML_FTYPE_MOSTLY_IQ4_XS, GGML_TYPE_IQ4_XS },
        { GGML_FTYPE_MOSTLY_BF16, GGML_TYPE_BF16 },
        { GGML_FTYPE_MOSTLY_MXFP4, GGML_TYPE_MXFP4 },
        { GGML_FTYPE_MOSTLY_NVFP4, GGML_TYPE_NVFP4 },
        { GGML_FTYPE_MOSTLY_Q1_0, GGML_TYPE_Q1_0 },
        { GGML_FTYPE_MOSTLY_Q2_0, GGML_TYPE_Q2_0 },
    };
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        assert_int_equal(ggml_ftype_to_ggml_type(cases[i].ftype), cases[i].type);
    }
    const int none[] = { GGML_FTYPE_UNKNOWN, GGML_FTYPE_MOSTLY_Q4_1_SOME_F16, 5, 6, 29, 1000, INT32_MIN };
    for (size_t i = 0; i < TN_COUNT(none); i++) {
        assert_int_equal(ggml_ftype_to_ggml_type((enum ggml_ftype) none[i]), GGML_TYPE_COUNT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fact_holds),
        cmocka_unit_test(chunks_are_made_of_the_types_that_have_them),
        cmocka_unit_test(every_row_has_its_fact),
        cmocka_unit_test(strange_ids_are_harmless),
        cmocka_unit_test(row_sizes),
        cmocka_unit_test(bytes_per_element),
        cmocka_unit_test(types_of_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
