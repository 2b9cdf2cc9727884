// SPDX-License-Identifier: MIT
// alloc/lifetime.c: the intervals of small graphs, rule by rule, and which graphs may share a plan.
#include "unit/fake_device.h"

#include "alloc/lifetime.h"
#include "base/error.h"
#include "ggml/src/ggml-impl.h"

enum { FOREVER = TN_PLACE_FOREVER };

struct fixture {
    struct fake fake;
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct tn_lifetime life;
    struct tn_ptrset skipped;
};

static int setup(void ** state) {
    static struct fixture f;
    f = (struct fixture){ 0 };
    fake_init(&f.fake);
    f.ctx = ggml_init(
        (struct ggml_init_params){ 200 * ggml_tensor_overhead() + ggml_graph_overhead(), NULL, true });
    f.graph = ggml_new_graph(f.ctx);
    *state = &f;
    return 0;
}

static int teardown(void ** state) {
    struct fixture * f = *state;
    tn_lifetime_fini(&f->life);
    tn_ptrset_free(&f->skipped);
    ggml_free(f->ctx);
    return 0;
}

static struct ggml_tensor * leaf(struct fixture * f) {
    return ggml_new_tensor_2d(f->ctx, GGML_TYPE_F32, 8, 8);
}

// Valid until the next call.
static struct tn_lifetime_request request_as(struct fixture * f, const int * node_ids, int n_ids) {
    static const int pools[] = { 0, 1 };
    static ggml_backend_buffer_type_t types[2];
    types[0] = &f->fake.type;
    types[1] = ggml_backend_cpu_buffer_type();
    return (struct tn_lifetime_request){
        .graph = f->graph,
        .node_ids = node_ids,
        .ids = { n_ids, pools, types },
        .skipped = &f->skipped,
    };
}

static bool describe_as(struct fixture * f, struct tn_lifetime * life, const int * node_ids, int n_ids) {
    const struct tn_lifetime_request request = request_as(f, node_ids, n_ids);
    return tn_lifetime_describe(life, &request);
}

static void check_no_marks(const struct ggml_cgraph * graph) {
    for (int i = 0; i < graph->n_leafs; i++)
        assert_null(graph->leafs[i]->buffer);
    for (int i = 0; i < graph->n_nodes; i++)
        assert_null(graph->nodes[i]->buffer);
}

// Does the present graph follow the plan? Nothing of it is changed by the question.
static bool follows_as(struct fixture * f, const struct tn_lifetime * plan, const int * node_ids, int n_ids) {
    struct tn_lifetime life = { 0 };
    const struct tn_lifetime_request request = request_as(f, node_ids, n_ids);
    const bool follows = tn_lifetime_follow(&life, plan, &request);
    check_no_marks(f->graph);
    for (size_t i = 0; follows && i < life.items.count; i++) {
        assert_non_null(life.tensors.items[i]);
        const bool places = !life.tensors.items[i]->data && !life.tensors.items[i]->view_src;
        assert_int_equal(life.items.items[i].pool >= 0, places);
        assert_int_equal(life.items.items[i].base, plan->items.items[i].base);
    }
    tn_lifetime_fini(&life);
    return follows;
}

static void plan(struct fixture * f, struct ggml_tensor * result) {
    ggml_build_forward_expand(f->graph, result);
    assert_true(describe_as(f, &f->life, NULL, 1));
    assert_true(tn_lifetime_plan(&f->life));
}

static const struct tn_place_interval * interval_of(struct fixture * f, const struct ggml_tensor * t) {
    for (size_t i = 0; i < f->life.tensors.count; i++) {
        if (f->life.tensors.items[i] != t) continue;
        const int32_t at = f->life.interval_of.items[i];
        return at >= 0 ? &f->life.intervals.items[at] : NULL;
    }
    fail_msg("%s is not described", t->name);
    return NULL;
}

static void check_interval(struct fixture * f, const struct ggml_tensor * t, int32_t begin, int32_t end,
                           const struct ggml_tensor * over) {
    const struct tn_place_interval * v = interval_of(f, t);
    assert_non_null(v);
    assert_int_equal(v->begin, begin);
    assert_int_equal(v->end, end);
    assert_int_equal(v->over, over ? interval_of(f, over) - f->life.intervals.items : -1);
}

// mul_mat takes no place, so it stands for any ordinary operator.
static struct ggml_tensor * product(struct fixture * f, struct ggml_tensor * a, struct ggml_tensor * b) {
    return ggml_mul_mat(f->ctx, a, b);
}

static void a_chain(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = leaf(f);
    struct ggml_tensor * a = product(f, x, x);
    struct ggml_tensor * b = product(f, a, a);
    struct ggml_tensor * c = product(f, b, x);
    plan(f, c);
    check_interval(f, x, 0, 3, NULL);
    check_interval(f, a, 1, 2, NULL);
    check_interval(f, b, 2, 3, NULL);
    check_interval(f, c, 3, FOREVER, NULL);
    assert_int_equal(interval_of(f, a)->size, 256);
}

static void in_place_at_the_last_use(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = leaf(f);
    struct ggml_tensor * a = ggml_sqr(f->ctx, x);    // x is needed later
    struct ggml_tensor * b = ggml_add(f->ctx, a, x); // a ends here, so does x: the first wins
    struct ggml_tensor * c = ggml_mul(f->ctx, b, b); // b is read through two slots
    plan(f, c);
    check_interval(f, a, 1, 2, NULL);
    check_interval(f, b, 2, 3, a);
    check_interval(f, x, 0, 2, NULL);
    check_interval(f, c, 3, FOREVER, NULL);
}

static void in_place_over_the_second_operand(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = leaf(f);
    struct ggml_tensor * a = product(f, x, x);
    ggml_set_output(x);
    struct ggml_tensor * b = ggml_sub(f->ctx, x, a);
    plan(f, b);
    check_interval(f, b, 2, FOREVER, a);
}

// The rows of an indexed sum are read in any order: only its first source may be written over.
static void not_over_any_source(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = ggml_new_tensor_3d(f->ctx, GGML_TYPE_F32, 4, 2, 1);
    ggml_set_output(x);
    struct ggml_tensor * rows = ggml_new_tensor_2d(f->ctx, GGML_TYPE_F32, 4, 2);
    struct ggml_tensor * ids = ggml_new_tensor_2d(f->ctx, GGML_TYPE_I32, 2, 1);
    struct ggml_tensor * sum = ggml_add_id(f->ctx, x, rows, ids);
    plan(f, sum);
    check_interval(f, sum, 1, FOREVER, NULL);
    check_interval(f, rows, 0, 1, NULL);
}

static void other_layouts_take_no_place(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = leaf(f);
    struct ggml_tensor * a = product(f, x, x);
    struct ggml_tensor * b = ggml_scale(f->ctx, ggml_reshape_1d(f->ctx, a, 64), 2.0f); // of one size: may
    struct ggml_tensor * c = ggml_add(f->ctx, ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 128),
                                      ggml_view_1d(f->ctx, b, 1, 0)); // the sum is larger than b
    plan(f, c);
    check_interval(f, b, 3, 5, a);
    check_interval(f, c, 5, FOREVER, c->src[0]);
}

static void a_view_in_the_middle_takes_no_place(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = leaf(f);
    struct ggml_tensor * a = product(f, x, x);
    struct ggml_tensor * b = ggml_sqr(f->ctx, ggml_view_1d(f->ctx, a, 32, 64));
    plan(f, b);
    check_interval(f, b, 3, FOREVER, NULL);
    check_interval(f, a, 1, 3, NULL);
}

static void outputs_and_unused_results_stay(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = leaf(f);
    struct ggml_tensor * a = product(f, x, x);
    struct ggml_tensor * unused = product(f, a, a);
    struct ggml_tensor * b = ggml_sqr(f->ctx, a);
    ggml_set_output(a);
    ggml_build_forward_expand(f->graph, unused);
    plan(f, b);
    check_interval(f, a, 1, FOREVER, NULL);
    check_interval(f, unused, 2, FOREVER, NULL);
    check_interval(f, b, 3, FOREVER, NULL);
}

static void a_view_keeps_its_base(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = leaf(f);
    struct ggml_tensor * a = product(f, x, x);                 // 1
    struct ggml_tensor * v = ggml_view_1d(f->ctx, a, 32, 0);   // 4
    struct ggml_tensor * w = ggml_reshape_2d(f->ctx, v, 8, 4); // 5: of the same base
    struct ggml_tensor * b = product(f, a, a);                 // 2
    struct ggml_tensor * c = product(f, b, b);                 // 3
    ggml_build_forward_expand(f->graph, c);
    struct ggml_tensor * d = product(f, w, w); // 6
    plan(f, d);
    check_interval(f, a, 1, 6, NULL);
    assert_null(interval_of(f, v));
    assert_null(interval_of(f, w));
}

static void an_unused_view_keeps_its_base_for_ever(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * a = product(f, leaf(f), leaf(f));
    plan(f, ggml_reshape_1d(f->ctx, a, 64));
    check_interval(f, a, 1, FOREVER, NULL);
}

static void an_output_view_keeps_its_base_for_ever(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * a = product(f, leaf(f), leaf(f));
    struct ggml_tensor * v = ggml_reshape_1d(f->ctx, a, 64);
    v->flags |= GGML_TENSOR_FLAG_OUTPUT; // ggml_set_output() marks the base as well
    plan(f, ggml_sqr(f->ctx, v));
    check_interval(f, a, 1, FOREVER, NULL);
}

// The scheduler's nodes without an operator order others; they are no uses of what they are views of.
static void views_without_operator_hold_nothing(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = leaf(f);
    struct ggml_tensor * a = product(f, x, x);
    struct ggml_tensor * b = product(f, a, a);
    ggml_build_forward_expand(f->graph, b);
    struct ggml_tensor * order = ggml_view_tensor(f->ctx, a);
    order->src[0] = b;
    f->graph->nodes[f->graph->n_nodes++] = order;
    assert_true(describe_as(f, &f->life, NULL, 1) && tn_lifetime_plan(&f->life));
    check_interval(f, a, 1, 2, NULL);
    check_interval(f, b, 2, 3, NULL);
}

static void inputs_begin_early(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = leaf(f);
    struct ggml_tensor * a = product(f, x, x);
    struct ggml_tensor * b = product(f, a, a);
    a->flags |= GGML_TENSOR_FLAG_INPUT;
    plan(f, ggml_sqr(f->ctx, b));
    check_interval(f, a, 0, 2, NULL);
}

static void external_tensors_are_left_alone(void ** state) {
    struct fixture * f = *state;
    static float weights[64];
    struct ggml_tensor * x = leaf(f);
    x->data = weights;
    struct ggml_tensor * v = ggml_reshape_1d(f->ctx, x, 64);
    struct ggml_tensor * a = ggml_sqr(f->ctx, v);
    plan(f, a);
    assert_null(interval_of(f, x));
    assert_null(interval_of(f, v));
    check_interval(f, a, 2, FOREVER, NULL);
}

static void the_base_of_a_leaf_view_is_placed(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * base = leaf(f);
    struct ggml_tensor * v = ggml_view_tensor(f->ctx, base);
    struct ggml_tensor * a = product(f, leaf(f), leaf(f));
    plan(f, product(f, a, v));
    check_interval(f, base, 0, 2, NULL);
}

static void empty_tensors_need_nothing(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = ggml_new_tensor_2d(f->ctx, GGML_TYPE_F32, 8, 0);
    struct ggml_tensor * a = ggml_sqr(f->ctx, x);
    plan(f, a);
    assert_int_equal(f->life.intervals.count, 0);
    assert_null(interval_of(f, a));
}

static void a_node_in_the_list_twice_stays(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = leaf(f);
    struct ggml_tensor * a = product(f, x, x);
    struct ggml_tensor * b = product(f, a, a);
    ggml_build_forward_expand(f->graph, b);
    f->graph->nodes[f->graph->n_nodes++] = a;
    assert_true(describe_as(f, &f->life, NULL, 1) && tn_lifetime_plan(&f->life));
    check_interval(f, a, 1, FOREVER, NULL);
}

static void a_source_before_its_node_stays(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = leaf(f);
    struct ggml_tensor * a = product(f, x, x);
    struct ggml_tensor * b = product(f, a, a);
    ggml_build_forward_expand(f->graph, b);
    f->graph->nodes[0] = b;
    f->graph->nodes[1] = a;
    assert_true(describe_as(f, &f->life, NULL, 1) && tn_lifetime_plan(&f->life));
    check_interval(f, a, 1, FOREVER, NULL);
}

// A cast names itself as its second source.
static void a_node_that_names_itself(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * a = product(f, leaf(f), leaf(f));
    struct ggml_tensor * b = product(f, a, a);
    b->src[2] = b;
    plan(f, b);
    check_interval(f, b, 2, FOREVER, NULL);
}

static void sources_of_skipped_nodes_last_until_the_end_of_the_step(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * x = leaf(f);
    struct ggml_tensor * y = leaf(f);
    struct ggml_tensor * a = product(f, x, x);
    struct ggml_tensor * b = ggml_sqr(f->ctx, a); // skipped: reads a inside d
    struct ggml_tensor * c = product(f, x, y);
    struct ggml_tensor * d = ggml_add(f->ctx, b, c); // may not lie on c either
    tn_ptrset_put(&f->skipped, b, NULL);
    plan(f, d);
    check_interval(f, a, 1, 4, NULL);
    assert_null(interval_of(f, b));
    check_interval(f, d, 4, FOREVER, NULL);
    check_interval(f, c, 3, 4, NULL);
}

static void ids_choose_the_pool(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * a = ggml_sqr(f->ctx, product(f, leaf(f), leaf(f)));
    ggml_build_forward_expand(f->graph, a);
    int ids[] = { 0, 1 };
    assert_true(describe_as(f, &f->life, ids, 2) && tn_lifetime_plan(&f->life));
    assert_int_equal(interval_of(f, a->src[0])->pool, 0);
    assert_int_equal(interval_of(f, a)->pool, 1);
    check_interval(f, a, 2, FOREVER, NULL); // not over a place of another pool
    ids[1] = 2;
    assert_false(describe_as(f, &f->life, ids, 2));
    assert_contains(tn_error_text(), "the buffer id 2: there are 2");
    ids[1] = -1;
    assert_false(describe_as(f, &f->life, ids, 2));
}

static void sizes_are_aligned_and_checked(void ** state) {
    struct fixture * f = *state;
    f->fake.scratch = 1;
    struct ggml_tensor * a = product(f, leaf(f), leaf(f));
    plan(f, a);
    assert_int_equal(interval_of(f, a)->size, 320);
    struct ggml_tensor * huge = ggml_new_tensor_1d(f->ctx, GGML_TYPE_I8, INT64_MAX);
    ggml_set_name(huge, "huge");
    f->fake.alignment = (size_t) 1 << 63;
    ggml_build_forward_expand(f->graph, huge);
    assert_true(describe_as(f, &f->life, NULL, 1));
    huge->type = GGML_TYPE_F32; // no builder would make it
    huge->nb[0] = 4;
    assert_false(describe_as(f, &f->life, NULL, 1));
    assert_contains(tn_error_text(), "'huge'");
}

static void refused_graphs_are_refused(void ** state) {
    struct fixture * f = *state;
    f->graph = NULL;
    assert_false(describe_as(f, &f->life, NULL, 1));
    assert_contains(tn_error_text(), "NULL");
    f->graph = ggml_new_graph_custom(f->ctx, 8, false);
    struct ggml_tensor * a = product(f, leaf(f), ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 3));
    ggml_build_forward_expand(f->graph, a);
    assert_false(describe_as(f, &f->life, NULL, 1));
    assert_contains(tn_error_text(), "ggml_mul_mat");
}

// ---- which graphs share a plan ---------------------------------------------------------------------------

struct variant {
    int64_t n;
    bool other_edge, output, input, external, smaller_view, skip;
};

static void make_variant(struct fixture * f, struct tn_lifetime * life, struct variant v) {
    static char memory[1024];
    ggml_graph_clear(f->graph);
    tn_ptrset_clear(&f->skipped);
    struct ggml_tensor * x = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, v.n);
    struct ggml_tensor * y = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, v.n);
    if (v.external) y->data = memory;
    struct ggml_tensor * a = ggml_add(f->ctx, x, y);
    if (v.output) a->flags |= GGML_TENSOR_FLAG_OUTPUT;
    if (v.input) a->flags |= GGML_TENSOR_FLAG_INPUT;
    if (v.skip) tn_ptrset_put(&f->skipped, a, NULL);
    struct ggml_tensor * b = ggml_mul(f->ctx, v.smaller_view ? ggml_view_1d(f->ctx, a, v.n, 0) : a, y);
    ggml_build_forward_expand(f->graph, ggml_add(f->ctx, b, v.other_edge ? x : a));
    assert_true(describe_as(f, life, NULL, 1));
}

static void equal_descriptions_share_a_plan(void ** state) {
    struct fixture * f = *state;
    struct tn_lifetime a = { 0 }, b = { 0 };
    const struct variant base = { .n = 64 };
    make_variant(f, &a, base);
    make_variant(f, &b, base);
    assert_true(tn_lifetime_covers(&a, &b));
    assert_true(follows_as(f, &a, NULL, 1));
    const struct {
        struct variant v;
        bool fits, fits_back;
    } cases[] = {
        { { .n = 65 }, false, true },
        { { .n = 64, .external = true }, true, false },
        { { .n = 64, .other_edge = true }, false, false },
        { { .n = 64, .output = true }, false, false },
        { { .n = 64, .input = true }, false, false },
        { { .n = 64, .smaller_view = true }, false, false },
        { { .n = 64, .skip = true }, false, false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make_variant(f, &b, cases[i].v);
        assert_int_equal(tn_lifetime_covers(&a, &b), cases[i].fits);
        assert_int_equal(follows_as(f, &a, NULL, 1), cases[i].fits);
        assert_int_equal(tn_lifetime_covers(&b, &a), cases[i].fits_back);
    }
    tn_lifetime_fini(&a);
    tn_lifetime_fini(&b);
}

// The sizes are the same, the layouts are not: what was planned in place may not be.
static void other_chances_in_place_are_another_graph(void ** state) {
    struct fixture * f = *state;
    struct tn_lifetime a = { 0 }, b = { 0 };
    for (int k = 0; k < 2; k++) {
        ggml_graph_clear(f->graph);
        struct ggml_tensor * x = leaf(f);
        struct ggml_tensor * s = product(f, x, x);
        struct ggml_tensor * r = ggml_scale(f->ctx, s, 2.0f);
        if (k == 1) r->ne[0] = 16, r->ne[1] = 4, r->nb[1] = 64;
        ggml_build_forward_expand(f->graph, r);
        assert_true(describe_as(f, k ? &b : &a, NULL, 1));
        assert_true(follows_as(f, k ? &b : &a, NULL, 1));
    }
    assert_false(follows_as(f, &a, NULL, 1));
    assert_false(tn_lifetime_covers(&a, &b));
    assert_false(tn_lifetime_covers(&b, &a));
    tn_lifetime_fini(&a);
    tn_lifetime_fini(&b);
}

// Two tensors of the plan, with a place each, may not be one in the other graph; nor one of it two.
static void one_tensor_does_not_follow_two(void ** state) {
    struct fixture * f = *state;
    struct tn_lifetime two = { 0 }, one = { 0 };
    struct ggml_tensor *x = leaf(f), *y = leaf(f), *z = product(f, x, y);
    ggml_build_forward_expand(f->graph, z);
    assert_true(describe_as(f, &two, NULL, 1));
    assert_true(follows_as(f, &two, NULL, 1));
    z->src[1] = f->graph->leafs[1] = x;
    assert_true(describe_as(f, &one, NULL, 1));
    assert_false(follows_as(f, &two, NULL, 1));
    z->src[1] = f->graph->leafs[1] = y;
    assert_false(follows_as(f, &one, NULL, 1));
    tn_lifetime_fini(&one);
    tn_lifetime_fini(&two);
}

static void other_sources_do_not_follow(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor *x = leaf(f), *y = leaf(f), *z = product(f, x, y);
    ggml_build_forward_expand(f->graph, z);
    assert_true(describe_as(f, &f->life, NULL, 1));
    z->src[2] = x; // one more
    assert_false(follows_as(f, &f->life, NULL, 1));
    z->src[2] = z->src[1] = NULL; // one less
    assert_false(follows_as(f, &f->life, NULL, 1));
    z->src[0] = y, z->src[1] = x;
    assert_false(follows_as(f, &f->life, NULL, 1));
    z->src[0] = x, z->src[1] = y;
    assert_true(follows_as(f, &f->life, NULL, 1));
    f->graph = ggml_new_graph_custom(f->ctx, 8, false);
    ggml_build_forward_expand(f->graph, x);
    assert_false(follows_as(f, &f->life, NULL, 1));
}

static void other_bases_do_not_follow(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor *a = product(f, leaf(f), leaf(f)), *b = product(f, a, a);
    struct ggml_tensor * v = ggml_view_1d(f->ctx, a, 8, 0);
    ggml_build_forward_expand(f->graph, ggml_sqr(f->ctx, b));
    ggml_build_forward_expand(f->graph, ggml_sqr(f->ctx, v));
    assert_true(describe_as(f, &f->life, NULL, 1));
    assert_true(follows_as(f, &f->life, NULL, 1));
    v->view_src = b;
    assert_false(follows_as(f, &f->life, NULL, 1));
    v->view_src = a;
    v->view_offs = 4; // takes no place from there
    assert_false(follows_as(f, &f->life, NULL, 1));
}

static void other_ids_do_not_follow(void ** state) {
    struct fixture * f = *state;
    ggml_build_forward_expand(f->graph, ggml_sqr(f->ctx, product(f, leaf(f), leaf(f))));
    int ids[] = { 0, 1 };
    assert_true(describe_as(f, &f->life, ids, 2));
    assert_true(follows_as(f, &f->life, ids, 2));
    ids[0] = 1;
    assert_false(follows_as(f, &f->life, ids, 2));
    ids[0] = 2;
    assert_false(follows_as(f, &f->life, ids, 2));
    assert_false(follows_as(f, &f->life, NULL, 1));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_chain),
        TEST(in_place_at_the_last_use),
        TEST(in_place_over_the_second_operand),
        TEST(not_over_any_source),
        TEST(other_layouts_take_no_place),
        TEST(a_view_in_the_middle_takes_no_place),
        TEST(outputs_and_unused_results_stay),
        TEST(a_view_keeps_its_base),
        TEST(an_unused_view_keeps_its_base_for_ever),
        TEST(an_output_view_keeps_its_base_for_ever),
        TEST(views_without_operator_hold_nothing),
        TEST(inputs_begin_early),
        TEST(external_tensors_are_left_alone),
        TEST(the_base_of_a_leaf_view_is_placed),
        TEST(empty_tensors_need_nothing),
        TEST(a_node_in_the_list_twice_stays),
        TEST(a_source_before_its_node_stays),
        TEST(a_node_that_names_itself),
        TEST(sources_of_skipped_nodes_last_until_the_end_of_the_step),
        TEST(ids_choose_the_pool),
        TEST(sizes_are_aligned_and_checked),
        TEST(refused_graphs_are_refused),
        TEST(equal_descriptions_share_a_plan),
        TEST(other_chances_in_place_are_another_graph),
        TEST(one_tensor_does_not_follow_two),
        TEST(other_sources_do_not_follow),
        TEST(other_bases_do_not_follow),
        TEST(other_ids_do_not_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
