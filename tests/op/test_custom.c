// SPDX-License-Identifier: MIT
// core/ops/custom.c: MAP_CUSTOM1, MAP_CUSTOM2, MAP_CUSTOM3, CUSTOM and what they carry.
#include "op/op_check.h"

#include "core/ops/custom.h"

// Nothing here is computed.
static void never(void) {}

static const ggml_custom1_op_t one = (ggml_custom1_op_t) never;
static const ggml_custom2_op_t two = (ggml_custom2_op_t) never;
static const ggml_custom3_op_t three = (ggml_custom3_op_t) never;
static const ggml_custom_op_t any = (ggml_custom_op_t) never;

// The words that the interface prescribes: function at byte 0, n_tasks at 8, userdata at 16.
static void fill_words(struct op_node * node, const void * fun, int32_t n_tasks, void * userdata) {
    memcpy(&node->params[0], fun, sizeof(void (*)(void)));
    node->params[2] = n_tasks;
    memcpy(&node->params[4], &userdata, sizeof(userdata));
}

static void maps(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_Q4_0, 64, 3), "a");
    struct ggml_tensor * b = op_f32_tensor(ctx, 2, 1, 1, 1);
    struct ggml_tensor * c = op_f32_tensor(ctx, 5, 1, 1, 1);
    int data = 0;
    struct op_node nodes[] = {
        OP_NODE(ggml_map_custom1(ctx, a, one, 4, &data), GGML_OP_MAP_CUSTOM1, GGML_TYPE_Q4_0,
                .ne = { 64, 3, 1, 1 }, .src = { a }),
        OP_NODE(ggml_map_custom2(ctx, a, b, two, 4, &data), GGML_OP_MAP_CUSTOM2, GGML_TYPE_Q4_0,
                .ne = { 64, 3, 1, 1 }, .src = { a, b }),
        OP_NODE(ggml_map_custom3(ctx, a, b, c, three, 4, &data), GGML_OP_MAP_CUSTOM3, GGML_TYPE_Q4_0,
                .ne = { 64, 3, 1, 1 }, .src = { a, b, c }),
        OP_NODE(ggml_map_custom1_inplace(ctx, a, one, 4, &data), GGML_OP_MAP_CUSTOM1, GGML_TYPE_Q4_0,
                .ne = { 64, 3, 1, 1 }, .src = { a }, .base = a, .name = "a (view)"),
        OP_NODE(ggml_map_custom2_inplace(ctx, a, b, two, 4, &data), GGML_OP_MAP_CUSTOM2, GGML_TYPE_Q4_0,
                .ne = { 64, 3, 1, 1 }, .src = { a, b }, .base = a, .name = "a (view)"),
        OP_NODE(ggml_map_custom3_inplace(ctx, a, b, c, three, 4, &data), GGML_OP_MAP_CUSTOM3, GGML_TYPE_Q4_0,
                .ne = { 64, 3, 1, 1 }, .src = { a, b, c }, .base = a, .name = "a (view)"),
    };
    const void * functions[] = { &one, &two, &three };
    for (int i = 0; i < 6; i++)
        fill_words(&nodes[i], functions[i % 3], 4, &data);
    OP_CHECK_NODES(nodes);
    const struct tn_custom carried = tn_custom_get(nodes[4].t);
    assert_ptr_equal(carried.fun.map2, two);
    assert_int_equal(carried.n_tasks, 4);
    assert_ptr_equal(carried.userdata, &data);
}

static void maps_refused(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 2, 1, 1, 1);
    OP_CHECK_REFUSED(ggml_map_custom1(ctx, a, one, 0, NULL),
                     "n_tasks must be above 0 or GGML_N_TASKS_MAX, it is 0");
    OP_CHECK_REFUSED(ggml_map_custom1_inplace(ctx, a, one, -2, NULL), "it is -2");
    OP_CHECK_REFUSED(ggml_map_custom1(ctx, a, NULL, 1, NULL), "fun must be a function");
    OP_CHECK_REFUSED(ggml_map_custom2(ctx, a, NULL, two, 1, NULL), "source 1 is NULL");
    OP_CHECK_REFUSED(ggml_map_custom2_inplace(ctx, NULL, a, two, 1, NULL), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_map_custom3(ctx, a, a, NULL, three, 1, NULL), "source 2 is NULL");
    OP_CHECK_REFUSED(ggml_map_custom3_inplace(ctx, a, a, a, three, 0, NULL), "n_tasks");
    assert_int_equal(tn_custom_get(ggml_map_custom1(ctx, a, one, GGML_N_TASKS_MAX, NULL)).n_tasks,
                     GGML_N_TASKS_MAX);
}

static void customs(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(op_f32_tensor(ctx, 2, 3, 1, 1), "a");
    struct ggml_tensor * b = op_f32_tensor(ctx, 5, 1, 1, 1);
    struct ggml_tensor * args[] = { a, NULL, b, a, a, a, a, a, a };
    const int32_t all = GGML_N_TASKS_MAX;
    struct op_node nodes[] = {
        OP_NODE(ggml_custom_4d(ctx, GGML_TYPE_I32, 4, 3, 2, 1, args, 3, any, all, NULL), GGML_OP_CUSTOM,
                GGML_TYPE_I32, .ne = { 4, 3, 2, 1 }, .src = { a, NULL, b }),
        OP_NODE(ggml_custom_4d(ctx, GGML_TYPE_F16, 4, 1, 1, 1, NULL, 0, any, all, NULL), GGML_OP_CUSTOM,
                GGML_TYPE_F16, .ne = { 4, 1, 1, 1 }),
        OP_NODE(ggml_custom_4d(ctx, GGML_TYPE_F16, 4, 1, 1, 1, args, 9, any, all, NULL), GGML_OP_CUSTOM,
                GGML_TYPE_F16, .ne = { 4, 1, 1, 1 }, .src = { a, NULL, b, a, a, a, a, a, a }),
        OP_NODE(ggml_custom_inplace(ctx, a, args, 8, any, all, NULL), GGML_OP_CUSTOM, GGML_TYPE_F32,
                .ne = { 2, 3, 1, 1 }, .src = { a, a, NULL, b, a, a, a, a, a }, .base = a, .name = "a (view)"),
    };
    for (int i = 0; i < 4; i++)
        fill_words(&nodes[i], &any, all, NULL);
    OP_CHECK_NODES(nodes);
}

static void customs_refused(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 2, 3, 1, 1);
    struct ggml_tensor * args[10] = { a, a, a, a, a, a, a, a, a, a };
    struct ggml_tensor * bad[] = { ggml_add(ctx, NULL, NULL) };
    const enum ggml_type f32 = GGML_TYPE_F32;
    OP_CHECK_REFUSED(ggml_custom_4d(ctx, f32, 1, 1, 1, 1, args, 10, any, 1, NULL),
                     "between 0 and 9, with args, it is 10");
    OP_CHECK_REFUSED(ggml_custom_4d(ctx, f32, 1, 1, 1, 1, args, -1, any, 1, NULL), "n_args must be between");
    OP_CHECK_REFUSED(ggml_custom_4d(ctx, f32, 1, 1, 1, 1, NULL, 1, any, 1, NULL), "n_args must be between");
    OP_CHECK_REFUSED(ggml_custom_4d(ctx, f32, 1, 1, 1, 1, bad, 1, any, 1, NULL),
                     "source 0 was refused before");
    OP_CHECK_REFUSED(ggml_custom_4d(ctx, f32, 1, -1, 1, 1, args, 1, any, 1, NULL), "negative");
    OP_CHECK_REFUSED(ggml_custom_4d(ctx, f32, 1, 1, 1, 1, args, 1, NULL, 1, NULL), "fun must be a function");
    OP_CHECK_REFUSED(ggml_custom_4d(ctx, f32, 1, 1, 1, 1, args, 1, any, 0, NULL), "n_tasks must be above 0");
    OP_CHECK_REFUSED(ggml_custom_4d(ctx, (enum ggml_type) - 1, 1, 1, 1, 1, args, 1, any, 1, NULL), "type");
    OP_CHECK_REFUSED(ggml_custom_inplace(ctx, a, args, 9, any, 1, NULL),
                     "between 0 and 8, with args, it is 9");
    OP_CHECK_REFUSED(ggml_custom_inplace(ctx, NULL, args, 1, any, 1, NULL), "source 0 is NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(maps),
        OP_CHECK_TEST(maps_refused),
        OP_CHECK_TEST(customs),
        OP_CHECK_TEST(customs_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
