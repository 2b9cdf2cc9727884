// SPDX-License-Identifier: MIT
// Turns the calls of a program into calls of the public interface.
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cases.h"

// Programs use the two setters of precision that have successors.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

struct ggml_tensor * vec_lookup(struct vec_env * e, const char * ref) {
    if (strcmp(ref, "null") == 0) return NULL;
    const bool grad = strncmp(ref, "grad:", 5) == 0;
    const char * r = grad ? ref + 5 : ref;
    const int k = r[0] ? atoi(r + 1) : -1;
    struct ggml_tensor * t = NULL;
    if (r[0] == 's' && k >= 0 && k < e->n_src) t = e->src[k];
    if (r[0] == 'r' && k >= 0 && k < e->n_res) t = e->res[k];
    if (t && grad) t = ggml_graph_get_grad(e->graph, t);
    if (!t) e->bad = true;
    return t;
}

static enum ggml_unary_op unary_by_name(const char * name) {
    int i = 0;
    while (i < GGML_UNARY_OP_COUNT && strcasecmp(ggml_unary_op_name((enum ggml_unary_op) i), name) != 0)
        i++;
    return (enum ggml_unary_op) i;
}

static enum ggml_glu_op glu_by_name(const char * name) {
    int i = 0;
    while (i < GGML_GLU_OP_COUNT && strcasecmp(ggml_glu_op_name((enum ggml_glu_op) i), name) != 0)
        i++;
    return (enum ggml_glu_op) i;
}

static struct ggml_tensor * accepted(struct vec_env * e, struct ggml_tensor * t, bool ok) {
    if (!ok) e->refused = true;
    return t;
}

#define X     (e->ctx)
#define T(k)  vec_lookup(e, c->arg[k].str)
#define I(k)  ((int) c->arg[k].num)
#define L(k)  ((int64_t) c->arg[k].num)
#define Z(k)  ((size_t) c->arg[k].num)
#define F(k)  ((float) c->arg[k].num)
#define B(k)  (c->arg[k].num != 0)
#define S(k)  (c->arg[k].str)
#define TY(k) vec_type_by_name(S(k))

typedef struct ggml_tensor * (*builder)(struct vec_env * e, const struct vec_call * c);

#define CALL(name, ...)                                                                                      \
    static struct ggml_tensor * call_##name(struct vec_env * e, const struct vec_call * c) {                 \
        return (__VA_ARGS__);                                                                                \
    }
#include "builders.def"

static const struct {
    const char * name;
    builder build;
} builders[] = {
#define CALL(name, ...) { #name, call_##name },
#include "builders.def"
};

struct ggml_tensor * vec_build_call(struct vec_env * e, const struct vec_call * c) {
    for (size_t i = 0; i < sizeof(builders) / sizeof(builders[0]); i++) {
        if (strcmp(builders[i].name, c->arg[0].str) == 0) return builders[i].build(e, c);
    }
    e->bad = true;
    return NULL;
}

// A view takes strides in ascending order; a permutation then puts the dimensions where they belong.
struct ggml_tensor * vec_build_src(struct ggml_context * ctx, struct ggml_tensor * base,
                                   const struct vec_src * s) {
    if (s->offset == 0 && memcmp(s->ne, base->ne, sizeof(s->ne)) == 0 &&
        memcmp(s->nb, base->nb, sizeof(s->nb)) == 0) {
        return base;
    }
    int p[4] = { 0, 1, 2, 3 };
    bool sorted = true;
    for (int i = 1; i < 4; i++) {
        for (int j = i; j > 0 && s->nb[p[j]] < s->nb[p[j - 1]]; j--) {
            const int t = p[j];
            p[j] = p[j - 1];
            p[j - 1] = t;
            sorted = false;
        }
    }
    struct ggml_tensor * v = ggml_view_4d(ctx, base, s->ne[p[0]], s->ne[p[1]], s->ne[p[2]], s->ne[p[3]],
                                          s->nb[p[1]], s->nb[p[2]], s->nb[p[3]], s->offset);
    return sorted ? v : ggml_permute(ctx, v, p[0], p[1], p[2], p[3]);
}
