// SPDX-License-Identifier: MIT
// Asks, computes and compares one node.
#include "contract/check.h"

#include <stdarg.h>

#include "contract/combination.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "op/oracle/oracle.h"

static bool broken(struct check * c, const char * fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(c->text, sizeof(c->text), fmt, args);
    va_end(args);
    return false;
}

// --- what is expected, from the sources as they are before

// All sources as contiguous doubles: an oracle that reads these is quick and sees no result written in place.
struct expectation {
    struct ggml_tensor node;
    struct ggml_tensor src[GGML_MAX_SRC];
    double * values; // one an element; NULL where the oracle judges
    double * errors;
};

static void shadow(struct ggml_tensor * to, const struct ggml_tensor * from) {
    *to = *from;
    to->type = GGML_TYPE_F64;
    to->nb[0] = sizeof(double);
    for (int i = 1; i < GGML_MAX_DIMS; i++)
        to->nb[i] = to->nb[i - 1] * (size_t) from->ne[i - 1];
    to->data = malloc((size_t) ggml_nelements(from) * sizeof(double) + 1);
    int64_t i[4] = { 0 };
    for (int64_t k = 0; k < ggml_nelements(from); k++, cpu_next(from, i))
        ((double *) to->data)[k] = cpu_get(from, i[0], i[1], i[2], i[3]);
}

static bool is_view(const struct ggml_tensor * node) {
    return node->op >= GGML_OP_RESHAPE && node->op <= GGML_OP_TRANSPOSE;
}

static void compute_expected(struct expectation * e, const struct oracle * o, int64_t n) {
    int64_t i[4] = { 0 };
    if (!o->value && !o->fill) return;
    e->values = malloc((size_t) (n + 1) * sizeof(double));
    e->errors = calloc((size_t) (n + 1), sizeof(double));
    for (int64_t k = 0; k < n; k++, cpu_next(&e->node, i)) {
        oracle_terms = (struct oracle_sum){ 0 };
        e->values[k] = o->value ? o->value(&e->node, i) : cpu_get(&e->node, i[0], i[1], i[2], i[3]);
        e->errors[k] = oracle_error();
    }
    if (o->fill && n > 0) o->fill(&e->node, e->values);
}

static void expect(struct expectation * e, const struct oracle * o, const struct ggml_tensor * node) {
    memset(e, 0, sizeof(*e));
    e->node = *node;
    for (int s = 0; s < GGML_MAX_SRC && !is_view(node); s++) {
        if (!node->src[s]) continue;
        if (node->src[s] == node) continue; // a cast names itself
        shadow(&e->src[s], node->src[s]);
        e->node.src[s] = &e->src[s];
    }
    oracle_checks++;
    oracle_original = node;
    compute_expected(e, o, ggml_nelements(node));
    oracle_original = NULL;
}

static void forget(struct expectation * e) {
    for (int s = 0; s < GGML_MAX_SRC; s++)
        free(e->src[s].data);
    free(e->values);
    free(e->errors);
}

// --- what came out

// Relative error that rounding to the type may cause.
static double rounding(enum ggml_type type) {
    return type == GGML_TYPE_F16 ? 0x1p-11 : type == GGML_TYPE_BF16 ? 0x1p-8 : 0x1p-24;
}

// The largest value that is expected in the block of this element.
static double largest_in_block(const struct expectation * e, int64_t k) {
    const int64_t block = ggml_blck_size(e->node.type), first = k - k % block;
    double largest = 0.0;
    for (int64_t j = 0; j < block; j++)
        largest = fmax(largest, fabs(e->values[first + j]));
    return largest;
}

static bool is_integer(enum ggml_type type) {
    return type >= GGML_TYPE_I8 && type <= GGML_TYPE_I64;
}

// Integers are cut off after computing in f32.
static bool agrees(const struct expectation * e, const struct oracle * o, int64_t k, double v) {
    const enum ggml_type type = e->node.type;
    const double x = e->values[k];
    if (isnan(x)) return isnan(v);
    if (is_integer(type)) return v == x || v == trunc((double) (float) x);
    if (isinf(x) || (type == GGML_TYPE_F16 && fabs(x) >= 65520.0))
        return v == (x > 0.0 ? INFINITY : -INFINITY);
    if (ggml_blck_size(type) > 1) {
        const double largest = largest_in_block(e, k);
        return fabs(v - x) <= combination_encoding_error(type) * largest + 1e-6;
    }
    const double tiny = type == GGML_TYPE_F16 ? 0x1p-24 : 0x1p-149;
    return fabs(v - x) <= (o->rel + 1.01 * rounding(type)) * fabs(x) + o->abs + e->errors[k] + tiny;
}

// Blocks seen along another dimension than their own have no elements to look at.
static bool turns_blocks(const struct ggml_tensor * node) {
    if (ggml_blck_size(node->type) == 1) return false;
    return node->op == GGML_OP_TRANSPOSE || (node->op == GGML_OP_PERMUTE && node->op_params[0] != 0);
}

static bool compare(struct check * c, const struct expectation * e, const struct oracle * o,
                    const struct ggml_tensor * node) {
    if (o->accepts) {
        struct ggml_tensor judged = e->node;
        judged.data = node->data;
        return o->accepts(&judged) || broken(c, "these are not the right indices");
    }
    int64_t i[4] = { 0 };
    if (turns_blocks(node)) return true;
    for (int64_t k = 0; k < ggml_nelements(node); k++, cpu_next(node, i)) {
        const double v = cpu_get(node, i[0], i[1], i[2], i[3]);
        if (agrees(e, o, k, v)) continue;
        return broken(c, "element [%d, %d, %d, %d] is %.9g, not %.9g", (int) i[0], (int) i[1], (int) i[2],
                      (int) i[3], v, e->values[k]);
    }
    return true;
}

// --- that nothing else was written

// Sources that the operator writes besides its result, up to two.
static const struct ggml_tensor * also_written(const struct ggml_tensor * node, int which) {
    return node->op == GGML_OP_OPT_STEP_ADAMW ? node->src[2 + which] : NULL;
}

// Puts back what the tensor's elements were, if they lie in this block.
static void restore(const struct block * b, char * now, const char * before, const struct ggml_tensor * t) {
    const char * data = t->data;
    if (data < b->data || data >= b->data + b->size) return;
    const int64_t block = ggml_blck_size(t->type);
    int64_t i[4] = { 0 };
    for (int64_t k = 0; k < ggml_nelements(t); k += block) {
        const size_t at = (size_t) (cpu_at(t, i[0] / block, i[1], i[2], i[3]) - b->data);
        memcpy(now + at, before + at, ggml_type_size(t->type));
        i[0] += block - 1;
        cpu_next(t, i);
    }
}

static bool is_untouched(struct check * c, const struct draw * d, char ** before,
                         const struct ggml_tensor * node) {
    if (!draw_guards_intact(d)) return broken(c, "wrote beside a tensor");
    bool same = true;
    for (int k = 0; same && k < d->n_blocks; k++) {
        const struct block * b = &d->blocks[k];
        char * now = malloc(b->size + 1);
        memcpy(now, b->data, b->size);
        restore(b, now, before[k], node);
        for (int i = 0; i < 2; i++) {
            if (also_written(node, i)) restore(b, now, before[k], also_written(node, i));
        }
        same = memcmp(now, before[k], b->size) == 0;
        free(now);
    }
    return same || broken(c, "wrote into memory that is not the result's");
}

static bool moments_agree(struct check * c, const struct expectation * e, const struct ggml_tensor * node) {
    static const oracle_value_fn moments[] = { oracle_adamw_m, oracle_adamw_v };
    for (int m = 0; also_written(node, m) && m < 2; m++) {
        const struct ggml_tensor * x = also_written(node, m);
        int64_t i[4] = { 0 };
        for (int64_t k = 0; k < ggml_nelements(x); k++, cpu_next(x, i)) {
            const double v = cpu_get(x, i[0], i[1], i[2], i[3]), expected = moments[m](&e->node, i);
            const double rel = 1e-6 + 1.01 * rounding(x->type);
            if (fabs(v - expected) > rel * fabs(expected) + 1e-7)
                return broken(c, "moment %d is %.9g, not %.9g", m, v, expected);
        }
    }
    return true;
}

// --- one node

static enum ggml_status compute(struct check * c, struct draw * d, struct ggml_tensor * node) {
    struct ggml_context * ctx =
        ggml_init((struct ggml_init_params){ .mem_size = ggml_graph_overhead_custom(32, false) });
    struct ggml_cgraph * g = ggml_new_graph_custom(ctx, 32, false);
    ggml_build_forward_expand(g, node);
    ggml_backend_cpu_set_n_threads(c->backend, 1 + (int) draw_below(d, 5));
    const enum ggml_status status = ggml_backend_graph_compute(c->backend, g);
    ggml_free(ctx);
    return status;
}

static bool computes(struct check * c, struct draw * d, struct ggml_tensor * node, const struct oracle * o) {
    char * before[MAX_BLOCKS];
    struct expectation e;
    draw_allocate(d);
    expect(&e, o, node);
    for (int k = 0; k < d->n_blocks; k++) {
        before[k] = malloc(d->blocks[k].size + 1);
        memcpy(before[k], d->blocks[k].data, d->blocks[k].size);
    }
    const bool holds = (compute(c, d, node) == GGML_STATUS_SUCCESS ||
                        broken(c, "supported, but compute failed: %s", ggml_ext_last_error())) &&
                       compare(c, &e, o, node) && moments_agree(c, &e, node) &&
                       is_untouched(c, d, before, node);
    for (int k = 0; k < d->n_blocks; k++)
        free(before[k]);
    forget(&e);
    return holds;
}

enum outcome check_node(struct check * c, struct draw * d, struct ggml_tensor * node) {
    if (!ggml_ext_tensor_valid(node)) {
        if (ggml_ext_last_error()[0]) return OUTCOME_REFUSED;
        broken(c, "refused by the builder without a reason");
        return OUTCOME_BROKEN;
    }
    ggml_set_name(node, "drawn");
    const bool supported = ggml_backend_supports_op(c->backend, node);
    if (supported != ggml_backend_dev_supports_op(ggml_backend_get_device(c->backend), node)) {
        broken(c, "back end and device disagree about support");
        return OUTCOME_BROKEN;
    }
    if (!supported) {
        const char * why = ggml_ext_last_error();
        if (strstr(why, ggml_op_desc(node)) && strstr(why, "'drawn'")) return OUTCOME_UNSUPPORTED;
        broken(c, "not supported, but the reason '%s' does not name the operator and the tensor", why);
        return OUTCOME_BROKEN;
    }
    const struct oracle * o = oracle_of(node->op);
    if (!o) broken(c, "supported, but there is no oracle");
    return o && computes(c, d, node, o) ? OUTCOME_COMPUTED : OUTCOME_BROKEN;
}
