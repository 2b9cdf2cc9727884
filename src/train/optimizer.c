// SPDX-License-Identifier: MIT
// The optimisers: what a step of each needs.
#include <float.h>
#include <math.h>

#include "backend/iface.h"
#include "base/compiler.h"
#include "base/error.h"
#include "train/opt_int.h"

// NaN is in no range.
static bool check(const char * what, float value, float least, float most) {
    return (value >= least && value <= most) ||
           tn_refuse("%s is %g: it must be %g to %g", what, (double) value, (double) least, (double) most);
}

static bool check_rate(const char * what, float value) {
    return (value > 0.0f && value <= FLT_MAX) ||
           tn_refuse("%s is %g: it must be above 0", what, (double) value);
}

// With 1 the mean of the gradients would never leave 0, and its correction divide by 0.
static bool check_decay(const char * what, float value) {
    return (value >= 0.0f && value < 1.0f) ||
           tn_refuse("%s is %g: it must be at least 0 and below 1", what, (double) value);
}

// ---- AdamW: moments start at 0, which the last two parameters make up for

static float correction(float beta, int64_t iter) {
    return (float) (1.0 / (1.0 - pow((double) beta, (double) iter)));
}

static bool adamw_write(const struct ggml_opt_optimizer_params * from, int64_t iter, float * params) {
    const float alpha = from->adamw.alpha, beta1 = from->adamw.beta1, beta2 = from->adamw.beta2;
    if (!check_rate("adamw.alpha", alpha) || !check_decay("adamw.beta1", beta1) ||
        !check_decay("adamw.beta2", beta2) || !check("adamw.eps", from->adamw.eps, 0.0f, FLT_MAX) ||
        !check("adamw.wd", from->adamw.wd, 0.0f, 1.0f))
        return false;
    params[0] = alpha;
    params[1] = beta1;
    params[2] = beta2;
    params[3] = from->adamw.eps;
    params[4] = from->adamw.wd;
    params[5] = correction(beta1, iter);
    params[6] = correction(beta2, iter);
    return true;
}

static struct ggml_tensor * adamw_step(struct ggml_context * ctx, const struct tn_optimizer_step * s) {
    return ggml_opt_step_adamw(ctx, s->param, s->grad, s->moments[0], s->moments[1], s->params);
}

// ---- SGD

static bool sgd_write(const struct ggml_opt_optimizer_params * from, int64_t iter, float * params) {
    (void) iter;
    if (!check_rate("sgd.alpha", from->sgd.alpha) || !check("sgd.wd", from->sgd.wd, 0.0f, 1.0f)) return false;
    params[0] = from->sgd.alpha;
    params[1] = from->sgd.wd;
    return true;
}

static struct ggml_tensor * sgd_step(struct ggml_context * ctx, const struct tn_optimizer_step * s) {
    return ggml_opt_step_sgd(ctx, s->param, s->grad, s->params);
}

static const struct tn_optimizer optimizers[GGML_OPT_OPTIMIZER_TYPE_COUNT] = {
    [GGML_OPT_OPTIMIZER_TYPE_ADAMW] = { "adamw", 2, 7, adamw_write, adamw_step },
    [GGML_OPT_OPTIMIZER_TYPE_SGD] = { "sgd", 0, 2, sgd_write, sgd_step },
};

const struct tn_optimizer * tn_optimizer_get(enum ggml_opt_optimizer_type type) {
    return (unsigned) type < TN_COUNT(optimizers) ? &optimizers[type] : NULL;
}

const char * ggml_opt_optimizer_name(enum ggml_opt_optimizer_type optimizer) {
    const struct tn_optimizer * o = tn_optimizer_get(optimizer);
    return o ? o->name : "undefined";
}

struct ggml_opt_optimizer_params ggml_opt_get_default_optimizer_params(void * userdata) {
    (void) userdata;
    return (struct ggml_opt_optimizer_params){
        .adamw = { .alpha = 0.001f, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f },
        .sgd = { .alpha = 0.001f },
    };
}

struct ggml_opt_optimizer_params ggml_opt_get_constant_optimizer_params(void * userdata) {
    if (userdata) return *(const struct ggml_opt_optimizer_params *) userdata;
    tn_iface_refuse(__func__, "the parameters are NULL");
    return (struct ggml_opt_optimizer_params){ 0 }; // which every optimiser refuses
}
