// SPDX-License-Identifier: MIT
// Functions that versions compute by series of their own, against long double: numbers of every exponent, of
// both signs, and what is no number.
#include "harness.h"

#include <math.h>

#include "base/bits.h"
#include "base/half.h"
#include "cpu/isa.h"
#include "cpu/kernels/families.h"

typedef TN_TYPE_OF(*tn_map1_exp) map;

static const struct version {
    const char * name;
    enum tn_isa isa;
    map * run;
} versions[] = {
#define TN_ROW(isa, function) { #function, TN_ISA_##isa, tn_##function##_##isa },
#define TN_SCALAR(function)   TN_ROW(scalar, function)
#include "cpu/kernels/map1/map1.def"
#undef TN_SCALAR
#undef TN_ROW
};

static long double softplus(long double x) {
    return log1pl(expl(x));
}

static long double elu(long double x) {
    return x > 0 ? x : expm1l(x);
}

// The argument of erfc is rounded to f32; see kernels/functions.h.
static long double gelu_erf(long double x) {
    return 0.5L * x * erfcl((long double) (-0.70710678118654752f * (float) x));
}

// Between lo and hi within `units` in the last place, of subnormals 2^-149 times the factor behind it.
static const struct series {
    const char * name;
    long double (*exact)(long double x);
    float lo, hi;
    double units, of_subnormals;
} series[] = {
    { "map1_exp", expl, -105.0f, 88.7f, 2.0, 2.0 },
    { "map1_expm1", expm1l, -200.0f, 88.7f, 2.0, 1.0 },
    { "map1_elu", elu, -200.0f, 1e30f, 2.0, 1.0 },
    { "map1_tanh", tanhl, -1e30f, 1e30f, 3.5, 1.0 },
    { "map1_log", logl, 1e-45f, 3e38f, 1.5, 1.0 },
    { "map1_softplus", softplus, -105.0f, 20.0f, 3.0, 2.0 },
    { "map1_gelu_erf", gelu_erf, -15.0f, 1e30f, 7.0, 15.0 },
};

// Every STEP-th number; fewer where a long double is computed by an emulated processor without one.
enum { STEP = TENON_EMULATED ? 31981 : 1021, LANES = 16 };

static double error_of(float got, long double want, const struct series * s) {
    int e;
    frexpl(want, &e);
    const long double unit = e > -125 ? ldexpl(1.0L, e - 24) : ldexpl((long double) s->of_subnormals, -149);
    return (double) (fabsl((long double) got - want) / unit);
}

static double worst_of(const struct series * s, map * run, float * at) {
    double worst = 0.0;
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += STEP * LANES / 2) {
        float x[LANES], y[LANES];
        for (uint32_t k = 0; k < LANES; k++) {
            const float v = tn_f32_from_bits((bits + STEP * (k / 2)) | (k % 2 ? 0x80000000u : 0));
            x[k] = v >= s->lo && v <= s->hi ? v : 1.0f; // NaN as well
        }
        run(LANES, y, x, NULL);
        for (int k = 0; k < LANES; k++) {
            const double error = error_of(y[k], s->exact((long double) x[k]), s);
            if (error <= worst) continue;
            worst = error;
            *at = x[k];
        }
    }
    return worst;
}

static void errors_stay_below_what_is_stated(void ** state) {
    int checked = 0;
    (void) state;
    for (size_t i = 0; i < TN_COUNT(versions) * TN_COUNT(series); i++) {
        const struct version * v = &versions[i / TN_COUNT(series)];
        const struct series * s = &series[i % TN_COUNT(series)];
        if (strcmp(v->name, s->name) != 0 || !(tn_isa_machine() >> v->isa & 1)) continue;
        float at = 0.0f;
        const double worst = worst_of(s, v->run, &at);
        printf("%s, %s: %.2f units at %.9g\n", s->name, tn_isa_name(v->isa), worst, (double) at);
        if (!(worst < s->units))
            fail_msg("%s, %s: %g units at %.9g", s->name, tn_isa_name(v->isa), worst, (double) at);
        checked++;
    }
    assert_true(checked >= (int) TN_COUNT(series));
}

// What each gives for -infinity, infinity, -0, NaN and -1.
static const struct limits {
    const char * name;
    float lower, upper, zero, minus_one;
} limits[] = {
    { "map1_exp", 0.0f, INFINITY, 1.0f, 0.36787944f },
    { "map1_expm1", -1.0f, INFINITY, -0.0f, -0.63212056f },
    { "map1_elu", -1.0f, INFINITY, -0.0f, -0.63212056f },
    { "map1_tanh", -1.0f, 1.0f, -0.0f, -0.76159416f },
    { "map1_log", NAN, INFINITY, -INFINITY, NAN },
    { "map1_softplus", 0.0f, INFINITY, 0.69314718f, 0.31326169f },
};

static void is_near(const struct version * v, float got, float want) {
    const bool same = isnan(want) ? isnan(got) : got == want && signbit(got) == signbit(want);
    if (!same && !(fabsf(got - want) <= 2e-7f))
        fail_msg("%s, %s: %g, not %g", v->name, tn_isa_name(v->isa), (double) got, (double) want);
}

static void limits_are_exact(void ** state) {
    static const float x[] = { -INFINITY, INFINITY, -0.0f, -1.0f, NAN };
    (void) state;
    for (size_t i = 0; i < TN_COUNT(versions) * TN_COUNT(limits); i++) {
        const struct version * v = &versions[i / TN_COUNT(limits)];
        const struct limits * l = &limits[i % TN_COUNT(limits)];
        if (strcmp(v->name, l->name) != 0 || !(tn_isa_machine() >> v->isa & 1)) continue;
        const float want[] = { l->lower, l->upper, l->zero, l->minus_one, NAN };
        float y[TN_COUNT(x)];
        v->run(TN_COUNT(x), y, x, NULL);
        for (size_t k = 0; k < TN_COUNT(x); k++)
            is_near(v, y[k], want[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_stay_below_what_is_stated),
        cmocka_unit_test(limits_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
