// SPDX-License-Identifier: MIT
// map_custom1 map_custom2 map_custom3 custom: operators that the caller computes.
#include "core/ops/custom.h"

#include <string.h>

#include "base/error.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

struct tn_custom tn_custom_get(const struct ggml_tensor * node) {
    struct tn_custom c;
    memcpy(&c, node->op_params, sizeof(c));
    return c;
}

static bool check(const struct ggml_tensor * node) {
    const struct tn_custom c = tn_custom_get(node);
    if (!c.fun.any) return tn_refuse("fun must be a function, it is NULL");
    if (c.n_tasks > 0 || c.n_tasks == GGML_N_TASKS_MAX) return true;
    return tn_refuse("n_tasks must be above 0 or GGML_N_TASKS_MAX, it is %d", c.n_tasks);
}

static bool map_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    return check(node);
}

// Type and sizes are the caller's.
static bool custom_rule(struct ggml_tensor * node) {
    return check(node);
}

// Words are copied one by one: what lies between the fields stays 0.
static struct ggml_tensor * finish(struct tn_build * b, struct tn_custom c) {
    char * words = (char *) b->node.op_params;
    memcpy(words, &c.fun, sizeof(c.fun));
    memcpy(words + offsetof(struct tn_custom, n_tasks), &c.n_tasks, sizeof(c.n_tasks));
    memcpy(words + offsetof(struct tn_custom, userdata), &c.userdata, sizeof(c.userdata));
    return tn_build_finish(b);
}

struct ggml_tensor * ggml_map_custom1(struct ggml_context * ctx, struct ggml_tensor * a,
                                      ggml_custom1_op_t fun, int n_tasks, void * userdata) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_MAP_CUSTOM1, 1, a);
    return finish(&n, (struct tn_custom){ { .map1 = fun }, n_tasks, userdata });
}

struct ggml_tensor * ggml_map_custom1_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                              ggml_custom1_op_t fun, int n_tasks, void * userdata) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_MAP_CUSTOM1, 1, a);
    tn_build_in_place(&n, a);
    return finish(&n, (struct tn_custom){ { .map1 = fun }, n_tasks, userdata });
}

struct ggml_tensor * ggml_map_custom2(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * b, ggml_custom2_op_t fun, int n_tasks,
                                      void * userdata) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_MAP_CUSTOM2, 2, a, b);
    return finish(&n, (struct tn_custom){ { .map2 = fun }, n_tasks, userdata });
}

struct ggml_tensor * ggml_map_custom2_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                              struct ggml_tensor * b, ggml_custom2_op_t fun, int n_tasks,
                                              void * userdata) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_MAP_CUSTOM2, 2, a, b);
    tn_build_in_place(&n, a);
    return finish(&n, (struct tn_custom){ { .map2 = fun }, n_tasks, userdata });
}

struct ggml_tensor * ggml_map_custom3(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * b, struct ggml_tensor * c, ggml_custom3_op_t fun,
                                      int n_tasks, void * userdata) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_MAP_CUSTOM3, 3, a, b, c);
    return finish(&n, (struct tn_custom){ { .map3 = fun }, n_tasks, userdata });
}

struct ggml_tensor * ggml_map_custom3_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                              struct ggml_tensor * b, struct ggml_tensor * c,
                                              ggml_custom3_op_t fun, int n_tasks, void * userdata) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_MAP_CUSTOM3, 3, a, b, c);
    tn_build_in_place(&n, a);
    return finish(&n, (struct tn_custom){ { .map3 = fun }, n_tasks, userdata });
}

// The sources from number `first` on. An entry that is NULL is a source that is not given.
static void set_args(struct tn_build * b, int first, struct ggml_tensor ** args, int n_args) {
    const int room = GGML_MAX_SRC - 1 - first;
    if (n_args < 0 || n_args > room || (n_args > 0 && !args)) {
        tn_build_refuse(b, "n_args must be between 0 and %d, with args, it is %d", room, n_args);
        return;
    }
    for (int i = 0; i < n_args; i++)
        tn_build_optional(b, first + i, args[i]);
}

struct ggml_tensor * ggml_custom_4d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0, int64_t ne1,
                                    int64_t ne2, int64_t ne3, struct ggml_tensor ** args, int n_args,
                                    ggml_custom_op_t fun, int n_tasks, void * userdata) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_CUSTOM, 0);
    set_args(&b, 0, args, n_args);
    b.node.type = type;
    tn_shape_set(b.node.ne, ne0, ne1, ne2, ne3);
    return finish(&b, (struct tn_custom){ { .any = fun }, n_tasks, userdata });
}

struct ggml_tensor * ggml_custom_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                         struct ggml_tensor ** args, int n_args, ggml_custom_op_t fun,
                                         int n_tasks, void * userdata) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_CUSTOM, 1, a);
    set_args(&b, 1, args, n_args);
    tn_build_in_place(&b, a);
    return finish(&b, (struct tn_custom){ { .any = fun }, n_tasks, userdata });
}

const struct tn_op tn_op_map_custom1 = { .rule = map_rule, .n_src = 1 };
const struct tn_op tn_op_map_custom2 = { .rule = map_rule, .n_src = 2 };
const struct tn_op tn_op_map_custom3 = { .rule = map_rule, .n_src = 3 };
const struct tn_op tn_op_custom = { .rule = custom_rule };
