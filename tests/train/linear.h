// SPDX-License-Identifier: MIT
// The smallest model: outputs = W x + b, with its loss, gradients and steps in plain loops and double.
#ifndef TN_TESTS_LINEAR_H
#define TN_TESTS_LINEAR_H

#include "train/learn.h"

enum { LINEAR_IN = 3, LINEAR_OUT = 4, LINEAR_MAX = 64 };

struct linear {
    struct learner l;
    int64_t batch;
    struct ggml_tensor *w, *b, *inputs, *outputs;
};

static inline struct linear linear_new(int64_t batch, uint64_t seed) {
    struct linear m = { .l = learner_new(1, seed), .batch = batch };
    m.w = learner_param(&m.l, "w", LINEAR_IN, LINEAR_OUT, 1, 1);
    m.b = learner_param(&m.l, "b", LINEAR_OUT, 1, 1, 1);
    m.inputs = ggml_new_tensor_2d(m.l.ctx, GGML_TYPE_F32, LINEAR_IN, batch);
    m.outputs = ggml_add(m.l.ctx_compute, ggml_mul_mat(m.l.ctx_compute, m.w, m.inputs), m.b);
    learner_start(&m.l);
    return m;
}

static inline void linear_free(struct linear * m) {
    learner_free(&m->l);
}

static inline ggml_opt_context_t linear_opt(struct linear * m, enum ggml_opt_loss_type loss, int32_t period) {
    struct ggml_opt_params p = learner_params(&m->l, m->inputs, m->outputs, loss);
    p.opt_period = period;
    return learner_opt(&p);
}

// Random datapoints; labels are probabilities.
struct linear_data {
    int64_t n;
    float x[LINEAR_MAX][LINEAR_IN];
    float labels[LINEAR_MAX][LINEAR_OUT];
};

static inline struct linear_data linear_data_new(struct test_rng * rng, int64_t n) {
    struct linear_data d = { .n = n };
    for (int64_t i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int k = 0; k < LINEAR_IN; k++)
            d.x[i][k] = test_rng_float(rng, -1.0f, 1.0f);
        for (int k = 0; k < LINEAR_OUT; k++)
            sum += d.labels[i][k] = test_rng_float(rng, 0.1f, 1.0f);
        for (int k = 0; k < LINEAR_OUT; k++)
            d.labels[i][k] /= sum;
    }
    return d;
}

// Datapoints first .. first + batch - 1 as inputs and labels.
static inline void linear_set(struct linear * m, ggml_opt_context_t opt, const struct linear_data * d,
                              int64_t first) {
    const size_t n = (size_t) m->batch;
    ggml_backend_tensor_set(ggml_opt_inputs(opt), d->x[first], 0, n * sizeof(d->x[0]));
    if (ggml_opt_labels(opt))
        ggml_backend_tensor_set(ggml_opt_labels(opt), d->labels[first], 0, n * sizeof(d->labels[0]));
}

static inline void linear_batch(struct linear * m, ggml_opt_context_t opt, const struct linear_data * d,
                                int64_t first, ggml_opt_result_t result) {
    tn_error_clear();
    ggml_opt_alloc(opt, true);
    linear_set(m, opt, d, first);
    ggml_opt_eval(opt, result);
    assert_string_equal(ggml_ext_last_error(), "");
}

// ---- the same in double ---------------------------------------------------------------------------------

struct linear_oracle {
    double w[LINEAR_OUT][LINEAR_IN], b[LINEAR_OUT];
    double dw[LINEAR_OUT][LINEAR_IN], db[LINEAR_OUT]; // gradients, added up
    double loss;
    int64_t n_correct;
    int64_t pred[LINEAR_MAX];
};

static inline void oracle_load(struct linear_oracle * o, const struct linear * m) {
    for (int i = 0; i < LINEAR_OUT; i++) {
        o->b[i] = (double) learner_f32(m->b, i);
        for (int k = 0; k < LINEAR_IN; k++)
            o->w[i][k] = (double) learner_f32(m->w, i * LINEAR_IN + k);
    }
}

static inline int64_t oracle_argmax(const double * v) {
    int64_t best = 0;
    for (int64_t i = 1; i < LINEAR_OUT; i++) {
        if (v[i] > v[best]) best = i;
    }
    return best;
}

// d(loss)/d(outputs) of one datapoint into g; returns its part of the loss before the division by `count`.
static inline double oracle_point(enum ggml_opt_loss_type type, const double * y, const double * label,
                                  double * g) {
    double sum = 0.0, parts = 0.0;
    for (int i = 0; i < LINEAR_OUT; i++)
        parts += exp(y[i]);
    for (int i = 0; i < LINEAR_OUT; i++) {
        const double error = y[i] - label[i];
        switch (type) {
        case GGML_OPT_LOSS_TYPE_CROSS_ENTROPY:
            sum -= label[i] * (y[i] - log(parts));
            g[i] = exp(y[i]) / parts - label[i];
            break;
        case GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR:
            sum += error * error;
            g[i] = 2.0 * error;
            break;
        default: sum += y[i]; g[i] = 1.0;
        }
    }
    return sum;
}

static inline double oracle_count(enum ggml_opt_loss_type type, int64_t batch) {
    switch (type) {
    case GGML_OPT_LOSS_TYPE_SUM: return 1.0;
    case GGML_OPT_LOSS_TYPE_CROSS_ENTROPY: return (double) batch;
    default: return (double) (batch * LINEAR_OUT);
    }
}

// Adds the gradients of datapoints first .. first + n - 1; `loss` is theirs.
static inline void oracle_batch(struct linear_oracle * o, enum ggml_opt_loss_type type,
                                const struct linear_data * d, int64_t first, int64_t n) {
    const double count = oracle_count(type, n);
    o->loss = 0.0;
    o->n_correct = 0;
    for (int64_t p = first; p < first + n; p++) {
        double y[LINEAR_OUT], g[LINEAR_OUT], label[LINEAR_OUT];
        for (int i = 0; i < LINEAR_OUT; i++) {
            y[i] = o->b[i];
            label[i] = (double) d->labels[p][i];
            for (int k = 0; k < LINEAR_IN; k++)
                y[i] += o->w[i][k] * (double) d->x[p][k];
        }
        o->loss += oracle_point(type, y, label, g) / count;
        o->pred[p - first] = oracle_argmax(y);
        o->n_correct += oracle_argmax(y) == oracle_argmax(label);
        for (int i = 0; i < LINEAR_OUT; i++) {
            o->db[i] += g[i] / count;
            for (int k = 0; k < LINEAR_IN; k++)
                o->dw[i][k] += g[i] / count * (double) d->x[p][k];
        }
    }
}

static inline void oracle_clear(struct linear_oracle * o) {
    memset(o->dw, 0, sizeof(o->dw));
    memset(o->db, 0, sizeof(o->db));
}

static inline void linear_close(double a, double b, double scale) {
    if (!(fabs(a - b) <= 2e-5 * (scale + fabs(b)))) fail_msg("%.9g is not %.9g", a, b);
}

// Values of two tensors of the model's shapes against w and b times `factor`.
static inline void linear_compare(const struct ggml_tensor * w, const struct ggml_tensor * b,
                                  const double ow[LINEAR_OUT][LINEAR_IN], const double * ob, double factor) {
    for (int i = 0; i < LINEAR_OUT; i++) {
        linear_close((double) learner_f32(b, i), ob[i] * factor, 1.0);
        for (int k = 0; k < LINEAR_IN; k++)
            linear_close((double) learner_f32(w, i * LINEAR_IN + k), ow[i][k] * factor, 1.0);
    }
}

#endif
