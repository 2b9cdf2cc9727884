// SPDX-License-Identifier: MIT
// Judges the outputs of a case.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vectors.h"

// An encoding that was found by a search is right if its squared error against the source, weighted with the
// importance weights if there are any, is not above that of the stored encoding. A single row has some room:
// a search may win in one and lose in another.
static const double ROW_ROOM = 1.15;
// Differences of rounding, in units of the squared source.
static const double NOISE = 1e-7;

// How far two good encodings of one row may lie apart (NMSE), for results of operators; 0: the encoder is
// prescribed.
static double search_spread(enum ggml_type type) {
    switch (type) {
    case GGML_TYPE_Q6_K: return 0.001;
    case GGML_TYPE_Q5_K: return 0.004;
    case GGML_TYPE_Q4_K:
    case GGML_TYPE_IQ4_NL:
    case GGML_TYPE_IQ4_XS: return 0.015;
    case GGML_TYPE_Q3_K:
    case GGML_TYPE_IQ3_S:
    case GGML_TYPE_IQ3_XXS: return 0.06;
    case GGML_TYPE_Q2_K:
    case GGML_TYPE_IQ2_S:
    case GGML_TYPE_IQ2_XS:
    case GGML_TYPE_IQ2_XXS: return 0.2;
    case GGML_TYPE_IQ1_S:
    case GGML_TYPE_IQ1_M: return 0.5;
    default: return 0;
    }
}

bool vec_is_search(const struct vec_case * c, enum ggml_type type) {
    const bool quantize = strcmp(c->op, "QUANTIZE") == 0;
    if (search_spread(type) > 0) return quantize || strcmp(c->op, "FROM_FLOAT_REF") == 0;
    const bool weighted =
        type == GGML_TYPE_Q4_0 || type == GGML_TYPE_Q4_1 || type == GGML_TYPE_Q5_0 || type == GGML_TYPE_Q5_1;
    return quantize && weighted && c->n_src > 1;
}

// sum(w*(x-y)^2); w may be NULL.
static double weighted_error(const float * x, const float * y, const float * w, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = y ? (double) x[i] - (double) y[i] : (double) x[i];
        sum += (w ? (double) w[i] : 1.0) * d * d;
    }
    return sum;
}

static bool compare_encodings(const struct vec_case * c, const struct vec_out * want,
                              const struct vec_out * got, struct vec_result * r) {
    const int64_t n0 = want->ne[0], rows = want->ne[1] * want->ne[2] * want->ne[3];
    const float *x = c->src[0].data, *w = c->n_src > 1 ? c->src[1].data : NULL;
    float * stored = vec_to_f32(want->type, want->data, n0 * rows);
    float * ours = vec_to_f32(got->type, got->data, n0 * rows);
    double all = 0;
    bool ok = true;
    for (int64_t i = 0; i < rows * n0; i += n0) {
        const double a = weighted_error(x + i, stored + i, w, n0), b = weighted_error(x + i, ours + i, w, n0);
        const double size = weighted_error(x + i, NULL, w, n0);
        if (ok && !(b <= ROW_ROOM * a + NOISE * size)) {
            snprintf(r->msg, sizeof(r->msg),
                     "row %lld: squared error %.6g, the stored encoding has %.6g (ratio %.4f)",
                     (long long) (i / n0), b, a, b / a);
            ok = false;
        }
        r->stored += a;
        r->ours += b;
        all += size;
    }
    free(stored);
    free(ours);
    r->err = all > 0 ? r->ours / all : 0;
    if (ok && !(r->ours <= r->stored + NOISE * all)) {
        snprintf(r->msg, sizeof(r->msg), "squared error %.6g, the stored encoding has %.6g (ratio %.4f)",
                 r->ours, r->stored, r->ours / r->stored);
        ok = false;
    }
    return ok;
}

static bool compare_bits(const struct vec_out * want, const struct vec_out * got, struct vec_result * r) {
    const uint8_t *a = want->data, *b = got->data;
    size_t n_diff = 0, first = 0;
    for (size_t i = want->size; i-- > 0;) {
        if (a[i] != b[i]) {
            n_diff++;
            first = i;
        }
    }
    if (n_diff) {
        snprintf(r->msg, sizeof(r->msg), "%s: %zu of %zu bytes differ, first at %zu (%02x, should be %02x)",
                 want->ref, n_diff, want->size, first, b[first], a[first]);
        r->err = 1;
    }
    return n_diff == 0;
}

static int by_value(const void * a, const void * b) {
    const int32_t x = *(const int32_t *) a, y = *(const int32_t *) b;
    return (x > y) - (x < y);
}

static bool compare_sets(const struct vec_out * want, const struct vec_out * got, struct vec_result * r) {
    const size_t n = (size_t) want->ne[0], row = n * sizeof(int32_t);
    int32_t * expected = malloc(row);
    bool ok = true;
    for (size_t at = 0; at < want->size && ok; at += row) {
        memcpy(expected, (const char *) want->data + at, row);
        qsort(expected, n, sizeof(int32_t), by_value);
        qsort((char *) got->data + at, n, sizeof(int32_t), by_value);
        ok = memcmp(expected, (const char *) got->data + at, row) == 0;
    }
    free(expected);
    if (!ok) snprintf(r->msg, sizeof(r->msg), "%s: sets of indices differ", want->ref);
    r->err = ok ? r->err : 1;
    return ok;
}

// NMSE of two rows, infinities apart; -1 with a text where they disagree on what is finite.
static double nmse(const float * a, const float * b, int64_t n, const char * ref, struct vec_result * r) {
    double num = 0, den = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(a[i]) && isfinite(b[i])) {
            num += ((double) a[i] - (double) b[i]) * ((double) a[i] - (double) b[i]);
            den += (double) a[i] * (double) a[i];
        } else if (isnan(a[i]) ? !isnan(b[i]) : a[i] != b[i]) {
            snprintf(r->msg, sizeof(r->msg), "%s: element %lld is %g, should be %g", ref, (long long) i,
                     (double) b[i], (double) a[i]);
            return -1;
        }
    }
    return num == 0 ? 0 : num / den;
}

static bool compare_nmse(const struct vec_case * c, const struct vec_out * want, const struct vec_out * got,
                         struct vec_result * r) {
    const int64_t n = want->ne[0] * want->ne[1] * want->ne[2] * want->ne[3];
    float * a = vec_to_f32(want->type, want->data, n);
    float * b = vec_to_f32(got->type, got->data, n);
    const double err = nmse(a, b, n, want->ref, r), bound = fmax((double) c->nmse, search_spread(want->type));
    free(a);
    free(b);
    r->err = err < 0 ? 1 : fmax(r->err, err);
    if (err < 0) return false;
    if (!(err <= bound)) snprintf(r->msg, sizeof(r->msg), "%s: NMSE %.3g > %.3g", want->ref, err, bound);
    return err <= bound;
}

// How gradients are laid out is not prescribed.
static bool compare_shape(const struct vec_out * want, const struct vec_out * got, struct vec_result * r) {
    const long long ne[8] = { got->ne[0],  got->ne[1],  got->ne[2],  got->ne[3],
                              want->ne[0], want->ne[1], want->ne[2], want->ne[3] };
    if (got->type != want->type || memcmp(got->ne, want->ne, sizeof(got->ne)) != 0) {
        snprintf(r->msg, sizeof(r->msg),
                 "%s: is %s [%lld,%lld,%lld,%lld], should be %s [%lld,%lld,%lld,%lld]", want->ref,
                 ggml_type_name(got->type), ne[0], ne[1], ne[2], ne[3], ggml_type_name(want->type), ne[4],
                 ne[5], ne[6], ne[7]);
        return false;
    }
    if (strncmp(want->ref, "grad:", 5) != 0 && memcmp(got->nb, want->nb, sizeof(got->nb)) != 0) {
        snprintf(r->msg, sizeof(r->msg), "%s: strides are [%zu,%zu,%zu,%zu], should be [%zu,%zu,%zu,%zu]",
                 want->ref, got->nb[0], got->nb[1], got->nb[2], got->nb[3], want->nb[0], want->nb[1],
                 want->nb[2], want->nb[3]);
        return false;
    }
    return true;
}

static bool compare(const struct vec_case * c, const struct vec_out * want, const struct vec_out * got,
                    struct vec_result * r) {
    if (!compare_shape(want, got, r)) return false;
    if (want->size == 0) return true;
    if (vec_is_search(c, want->type)) return compare_encodings(c, want, got, r);
    if (c->cmp == VEC_CMP_BITS) return compare_bits(want, got, r);
    if (c->cmp == VEC_CMP_SET) return compare_sets(want, got, r);
    return compare_nmse(c, want, got, r);
}

void vec_compare(const struct vec_case * c, struct vec_result * r) {
    r->pass = true;
    for (int i = 0; i < c->n_out && r->pass; i++)
        r->pass = compare(c, &c->out[i], &r->got[i], r);
}
