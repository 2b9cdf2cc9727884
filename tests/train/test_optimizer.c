// SPDX-License-Identifier: MIT
// train/optimizer.c: defaults, ranges, and the values that a step is given.
#include "harness.h"

#include <math.h>

#include "base/error.h"
#include "ggml-ext.h"
#include "train/opt_int.h"

static const struct tn_optimizer * adamw(void) {
    return tn_optimizer_get(GGML_OPT_OPTIMIZER_TYPE_ADAMW);
}

static const struct tn_optimizer * sgd(void) {
    return tn_optimizer_get(GGML_OPT_OPTIMIZER_TYPE_SGD);
}

static void names(void ** state) {
    (void) state;
    assert_string_equal(ggml_opt_optimizer_name(GGML_OPT_OPTIMIZER_TYPE_ADAMW), "adamw");
    assert_string_equal(ggml_opt_optimizer_name(GGML_OPT_OPTIMIZER_TYPE_SGD), "sgd");
    assert_string_equal(ggml_opt_optimizer_name(GGML_OPT_OPTIMIZER_TYPE_COUNT), "undefined");
    assert_string_equal(ggml_opt_optimizer_name((enum ggml_opt_optimizer_type) 99), "undefined");
}

static void defaults(void ** state) {
    (void) state;
    const struct ggml_opt_optimizer_params p = ggml_opt_get_default_optimizer_params(NULL);
    assert_true(p.adamw.alpha == 1e-3f && p.adamw.beta1 == 0.9f && p.adamw.beta2 == 0.999f);
    assert_true(p.adamw.eps == 1e-8f && p.adamw.wd == 0.0f);
    assert_true(p.sgd.alpha == 1e-3f && p.sgd.wd == 0.0f);
    struct ggml_opt_optimizer_params own = p;
    own.sgd.wd = 0.25f;
    const struct ggml_opt_optimizer_params same = ggml_opt_get_constant_optimizer_params(&own);
    assert_memory_equal(&same, &own, sizeof(own));
    tn_error_clear();
    const struct ggml_opt_optimizer_params none = ggml_opt_get_constant_optimizer_params(NULL);
    assert_contains(ggml_ext_last_error(), "the parameters are NULL");
    float values[TN_OPTIMIZER_PARAMS];
    assert_false(adamw()->write(&none, 1, values));
    assert_false(sgd()->write(&none, 1, values));
}

static void values_of_a_step(void ** state) {
    (void) state;
    struct ggml_opt_optimizer_params p = ggml_opt_get_default_optimizer_params(NULL);
    float v[TN_OPTIMIZER_PARAMS];
    p.adamw.wd = 0.5f;
    assert_true(adamw()->write(&p, 1, v));
    assert_true(v[0] == 1e-3f && v[1] == 0.9f && v[2] == 0.999f && v[3] == 1e-8f && v[4] == 0.5f);
    assert_float_equal(v[5], 10.0f, 1e-4f);
    assert_float_equal(v[6], 1000.0f, 0.1f);
    assert_true(adamw()->write(&p, 3, v));
    assert_float_equal(v[5], 1.0 / (1.0 - 0.9 * 0.9 * 0.9), 1e-5);
    assert_true(adamw()->write(&p, INT64_MAX, v));
    assert_true(v[5] == 1.0f && v[6] == 1.0f);
    p.sgd.alpha = 2.0f;
    p.sgd.wd = 0.125f;
    assert_true(sgd()->write(&p, 1, v));
    assert_true(v[0] == 2.0f && v[1] == 0.125f);
}

static void out_of_range(void ** state) {
    (void) state;
    static const struct {
        int optimizer;
        size_t at;
        float value;
        const char * name;
    } cases[] = {
#define AT(field) offsetof(struct ggml_opt_optimizer_params, field)
        { 0, AT(adamw.alpha), 0.0f, "adamw.alpha" },
        { 0, AT(adamw.alpha), -1.0f, "adamw.alpha" },
        { 0, AT(adamw.alpha), NAN, "adamw.alpha" },
        { 0, AT(adamw.alpha), INFINITY, "adamw.alpha" },
        { 0, AT(adamw.beta1), -0.1f, "adamw.beta1" },
        { 0, AT(adamw.beta1), 1.0f, "adamw.beta1" },
        { 0, AT(adamw.beta2), 1.5f, "adamw.beta2" },
        { 0, AT(adamw.beta2), NAN, "adamw.beta2" },
        { 0, AT(adamw.eps), -1e-9f, "adamw.eps" },
        { 0, AT(adamw.wd), 1.01f, "adamw.wd" },
        { 0, AT(adamw.wd), -0.1f, "adamw.wd" },
        { 1, AT(sgd.alpha), 0.0f, "sgd.alpha" },
        { 1, AT(sgd.alpha), NAN, "sgd.alpha" },
        { 1, AT(sgd.wd), 2.0f, "sgd.wd" },
        { 1, AT(sgd.wd), NAN, "sgd.wd" },
    };
    float values[TN_OPTIMIZER_PARAMS];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ggml_opt_optimizer_params p = ggml_opt_get_default_optimizer_params(NULL);
        memcpy((char *) &p + cases[i].at, &cases[i].value, sizeof(float));
        const struct tn_optimizer * own = cases[i].optimizer ? sgd() : adamw();
        const struct tn_optimizer * other = cases[i].optimizer ? adamw() : sgd();
        assert_false(own->write(&p, 1, values));
        assert_contains(tn_error_text(), cases[i].name);
        assert_true(other->write(&p, 1, values)); // which does not look at it
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(defaults),
        cmocka_unit_test(values_of_a_step),
        cmocka_unit_test(out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
