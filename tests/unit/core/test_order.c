// SPDX-License-Identifier: MIT
// core/order.c: order of nodes and leafs, flags, capacity, refusals, deep chains.
#include "harness.h"

#include "base/error.h"
#include "core/graph.h"
#include "ggml-ext.h"

struct fixture {
    struct ggml_context * ctx;
    struct ggml_cgraph * g;
    struct ggml_tensor *a, *b, *c;
};

static struct fixture fixture(size_t graph_size) {
    struct fixture f;
    f.ctx = ggml_init((struct ggml_init_params){ .mem_size = 64 * ggml_tensor_overhead() +
                                                             ggml_graph_overhead_custom(graph_size, false),
                                                 .no_alloc = true });
    f.g = ggml_new_graph_custom(f.ctx, graph_size, false);
    f.a = ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 4);
    f.b = ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 4);
    f.c = ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 4);
    return f;
}

static void sources_come_first_in_their_order(void ** state) {
    (void) state;
    struct fixture f = fixture(32);
    struct ggml_tensor * left = ggml_mul(f.ctx, f.b, f.a);
    struct ggml_tensor * right = ggml_add(f.ctx, f.c, left);
    struct ggml_tensor * y = ggml_sub(f.ctx, left, right);
    ggml_set_name(right, "mine");
    ggml_build_forward_expand(f.g, y);
    assert_int_equal(ggml_graph_n_nodes(f.g), 3);
    assert_ptr_equal(ggml_graph_node(f.g, 0), left);
    assert_ptr_equal(ggml_graph_node(f.g, 1), right);
    assert_ptr_equal(ggml_graph_node(f.g, 2), y);
    assert_ptr_equal(f.g->leafs[0], f.b);
    assert_ptr_equal(f.g->leafs[1], f.a);
    assert_ptr_equal(f.g->leafs[2], f.c);
    assert_string_equal(f.b->name, "leaf_0");
    assert_string_equal(f.c->name, "leaf_2");
    assert_string_equal(left->name, "node_0");
    assert_string_equal(right->name, "mine");
    assert_string_equal(y->name, "node_2");
    ggml_build_forward_expand(f.g, left);
    assert_int_equal(ggml_graph_n_nodes(f.g), 3);
    assert_int_equal(tn_graph_use_count(f.g, left), 2);
    ggml_free(f.ctx);
}

static void right_to_left(void ** state) {
    (void) state;
    struct fixture f = fixture(32);
    struct ggml_tensor * left = ggml_mul(f.ctx, f.a, f.a);
    struct ggml_tensor * right = ggml_mul(f.ctx, f.b, f.b);
    f.g->order = GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT;
    ggml_build_forward_expand(f.g, ggml_add(f.ctx, left, right));
    assert_ptr_equal(ggml_graph_node(f.g, 0), right);
    assert_ptr_equal(ggml_graph_node(f.g, 1), left);
    ggml_graph_clear(f.g);
    assert_int_equal(f.g->order, GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT);
    ggml_free(f.ctx);
}

static void a_parameter_is_a_node(void ** state) {
    (void) state;
    struct fixture f = fixture(32);
    ggml_set_param(f.a);
    ggml_build_forward_expand(f.g, ggml_add(f.ctx, f.a, f.b));
    assert_int_equal(ggml_graph_n_nodes(f.g), 2);
    assert_ptr_equal(ggml_graph_node(f.g, 0), f.a);
    assert_int_equal(f.g->n_leafs, 1);
    ggml_free(f.ctx);
}

static bool wanted(const struct ggml_tensor * t) {
    return (t->flags & GGML_TENSOR_FLAG_COMPUTE) != 0;
}

static void expanding_flags_what_was_only_ordered(void ** state) {
    (void) state;
    struct fixture f = fixture(32);
    struct ggml_tensor * x = ggml_mul(f.ctx, f.a, f.b);
    struct ggml_tensor * y = ggml_mul(f.ctx, x, f.b);
    struct ggml_tensor * z = ggml_mul(f.ctx, y, f.b);
    struct ggml_tensor * other = ggml_mul(f.ctx, f.c, f.c);
    ggml_build_forward_order(f.g, z);
    ggml_build_forward_order(f.g, other);
    assert_int_equal(ggml_graph_n_nodes(f.g), 4);
    assert_false(wanted(x) || wanted(y) || wanted(z));
    struct ggml_tensor * user = ggml_add(f.ctx, f.a, y);
    ggml_build_forward_expand(f.g, user);
    assert_true(wanted(user) && wanted(y) && wanted(x));
    assert_false(wanted(z) || wanted(other) || wanted(f.a));
    ggml_build_forward_expand(f.g, z);
    assert_true(wanted(z));
    ggml_free(f.ctx);
}

static void select_wants_one_of_several(void ** state) {
    (void) state;
    struct fixture f = fixture(32);
    struct ggml_tensor * shared = ggml_mul(f.ctx, f.a, f.a);
    struct ggml_tensor * t[2] = { ggml_add(f.ctx, shared, f.b), ggml_add(f.ctx, shared, f.c) };
    assert_ptr_equal(ggml_build_forward_select(f.g, t, 2, 1), t[1]);
    assert_int_equal(ggml_graph_n_nodes(f.g), 3);
    assert_ptr_equal(ggml_graph_node(f.g, 1), t[0]);
    assert_true(wanted(shared) && wanted(t[1]));
    assert_false(wanted(t[0]));
    assert_false(ggml_ext_tensor_valid(ggml_build_forward_select(f.g, t, 2, 2)));
    assert_false(ggml_ext_graph_valid(f.g));
    assert_contains(ggml_ext_last_error(), "index 2 of 2");
    ggml_free(f.ctx);
}

static void add_node_only_appends(void ** state) {
    (void) state;
    struct fixture f = fixture(1);
    struct ggml_tensor * x = ggml_mul(f.ctx, f.a, f.b);
    ggml_graph_add_node(f.g, x);
    assert_int_equal(ggml_graph_n_nodes(f.g), 1);
    assert_int_equal(f.g->n_leafs, 0);
    assert_false(wanted(x));
    assert_true(tn_graph_find(f.g, x) == TN_GRAPH_ABSENT);
    ggml_graph_add_node(f.g, x);
    assert_int_equal(ggml_graph_n_nodes(f.g), 1);
    assert_false(ggml_ext_graph_valid(f.g));
    assert_contains(ggml_ext_last_error(), "ggml_graph_add_node: the graph is full");
    ggml_free(f.ctx);
}

static void a_graph_fits_exactly(void ** state) {
    (void) state;
    struct fixture f = fixture(3);
    struct ggml_tensor * x = ggml_mul(f.ctx, f.a, f.b);
    struct ggml_tensor * y = ggml_mul(f.ctx, x, f.c);
    struct ggml_tensor * z = ggml_mul(f.ctx, y, x);
    ggml_build_forward_expand(f.g, z);
    assert_true(ggml_ext_graph_valid(f.g));
    assert_int_equal(ggml_graph_n_nodes(f.g), 3);
    assert_int_equal(f.g->n_leafs, 3);
    ggml_build_forward_expand(f.g, y); // nothing new: still fits
    assert_true(ggml_ext_graph_valid(f.g));
    ggml_build_forward_expand(f.g, ggml_add(f.ctx, z, z));
    assert_false(ggml_ext_graph_valid(f.g));
    assert_contains(ggml_ext_last_error(),
                    "ggml_build_forward_expand: the graph is full: it has room for 3 nodes");
    assert_int_equal(ggml_graph_n_nodes(f.g), 3);
    assert_false(tn_graph_usable(f.g));
    assert_contains(tn_error_text(), "room for 3 nodes");
    ggml_graph_clear(f.g);
    assert_true(ggml_ext_graph_valid(f.g));
    ggml_free(f.ctx);
}

static void too_many_leafs_are_refused(void ** state) {
    (void) state;
    struct fixture f = fixture(2);
    ggml_build_forward_expand(f.g, ggml_add(f.ctx, ggml_add(f.ctx, f.a, f.b), f.c));
    assert_false(ggml_ext_graph_valid(f.g));
    assert_contains(ggml_ext_last_error(), "room for 2 leafs");
    assert_int_equal(f.g->n_leafs, 2);
    ggml_free(f.ctx);
}

static void a_poisoned_tensor_makes_the_graph_invalid(void ** state) {
    (void) state;
    struct fixture f = fixture(8);
    struct ggml_tensor * longer = ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 5);
    struct ggml_tensor * bad = ggml_add(f.ctx, f.a, longer);
    ggml_build_forward_expand(f.g, ggml_mul(f.ctx, bad, f.b));
    assert_false(ggml_ext_graph_valid(f.g));
    assert_false(tn_graph_usable(f.g));
    assert_contains(tn_error_text(), "ggml_add");
    assert_contains(tn_error_text(), "repeat");
    assert_ptr_equal(tn_graph_poisoned(f.g), bad);
    ggml_build_forward_expand(f.g, f.a);
    assert_int_equal(f.g->n_leafs, 1);
    ggml_graph_clear(f.g);
    ggml_graph_add_node(f.g, bad);
    assert_false(ggml_ext_graph_valid(f.g));
    ggml_graph_clear(f.g);
    ggml_build_forward_expand(f.g, NULL);
    assert_false(ggml_ext_graph_valid(f.g));
    assert_contains(ggml_ext_last_error(), "the tensor is NULL");
    ggml_free(f.ctx);
}

// Also: the stack in the node array may reach down to the last node but no further.
static void a_chain_of_100000_nodes(void ** state) {
    (void) state;
    enum { N = 100000 };
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){
        .mem_size = (N + 1) * ggml_tensor_overhead() + 2 * ggml_graph_overhead_custom(N, false),
        .no_alloc = true });
    struct ggml_tensor * leaf = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    struct ggml_tensor * t = leaf;
    for (int i = 0; i < N; i++)
        t = ggml_add(ctx, t, leaf);
    struct ggml_cgraph * g = ggml_new_graph_custom(ctx, N, false);
    ggml_build_forward_expand(g, t);
    assert_true(ggml_ext_graph_valid(g));
    assert_int_equal(ggml_graph_n_nodes(g), N);
    assert_ptr_equal(ggml_graph_node(g, -1), t);
    assert_ptr_equal(ggml_graph_node(g, 0)->src[0], leaf);
    assert_int_equal(tn_graph_use_count(g, leaf), N + 1);
    struct ggml_cgraph * short_one = ggml_new_graph_custom(ctx, N - 1, false);
    ggml_build_forward_expand(short_one, t);
    assert_false(ggml_ext_graph_valid(short_one));
    ggml_free(ctx);
}

// Sources form a cycle only when made by hand: the walk ends.
static void a_cycle_ends(void ** state) {
    (void) state;
    struct fixture f = fixture(8);
    struct ggml_tensor * x = ggml_add(f.ctx, f.a, f.b);
    struct ggml_tensor * y = ggml_add(f.ctx, x, f.b);
    x->src[0] = y;
    ggml_build_forward_expand(f.g, y);
    assert_int_equal(ggml_graph_n_nodes(f.g), 2);
    ggml_free(f.ctx);
}

// The same in the plainest way: recursion, and a search through all that was visited.
enum { N_RANDOM = 60 };

struct naive {
    struct ggml_tensor *visited[N_RANDOM], *nodes[N_RANDOM], *leafs[N_RANDOM], *wanted[N_RANDOM];
    int n_visited, n_nodes, n_leafs, n_wanted;
};

static bool put(struct ggml_tensor ** list, int * n, struct ggml_tensor * t) {
    for (int i = 0; i < *n; i++) {
        if (list[i] == t) return false;
    }
    list[(*n)++] = t;
    return true;
}

static void naive_visit(struct naive * v, struct ggml_tensor * t) {
    if (!put(v->visited, &v->n_visited, t)) return;
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (t->src[i]) naive_visit(v, t->src[i]);
    }
    if (t->op == GGML_OP_NONE) {
        v->leafs[v->n_leafs++] = t;
    } else {
        v->nodes[v->n_nodes++] = t;
    }
}

static void naive_want(struct naive * v, struct ggml_tensor * t) {
    if (t->op == GGML_OP_NONE || !put(v->wanted, &v->n_wanted, t)) return;
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (t->src[i]) naive_want(v, t->src[i]);
    }
}

static void compare(const struct naive * v, const struct fixture * f) {
    assert_int_equal(ggml_graph_n_nodes(f->g), v->n_nodes);
    assert_int_equal(f->g->n_leafs, v->n_leafs);
    for (int i = 0; i < v->n_leafs; i++) {
        assert_ptr_equal(f->g->leafs[i], v->leafs[i]);
    }
    int n_wanted = 0, n_uses[N_RANDOM] = { 0 };
    for (int i = 0; i < v->n_nodes; i++) {
        assert_ptr_equal(ggml_graph_node(f->g, i), v->nodes[i]);
        n_wanted += wanted(v->nodes[i]);
        for (int k = 0; k < i; k++) {
            n_uses[k] += (v->nodes[i]->src[0] == v->nodes[k]) + (v->nodes[i]->src[1] == v->nodes[k]);
        }
    }
    for (int i = 0; i < v->n_nodes; i++) {
        assert_int_equal(tn_graph_use_count(f->g, v->nodes[i]), n_uses[i]);
    }
    for (int i = 0; i < v->n_wanted; i++) {
        assert_true(wanted(v->wanted[i]));
    }
    assert_int_equal(n_wanted, v->n_wanted);
}

static void random_graphs_against_recursion(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (int64_t round = 0; round < test_rounds(5000); round++) {
        struct fixture f = fixture(N_RANDOM);
        struct naive v = { 0 };
        struct ggml_tensor * all[N_RANDOM - 3] = { f.a, f.b, f.c };
        for (int i = 3; i < N_RANDOM - 3; i++) {
            all[i] = ggml_add(f.ctx, all[test_rng_below(&rng, i)], all[test_rng_below(&rng, i)]);
        }
        for (int k = 0; k < 8; k++) {
            struct ggml_tensor * t = all[test_rng_below(&rng, N_RANDOM - 3)];
            naive_visit(&v, t);
            if (test_rng_below(&rng, 2)) {
                naive_want(&v, t);
                ggml_build_forward_expand(f.g, t);
            } else {
                ggml_build_forward_order(f.g, t);
            }
        }
        compare(&v, &f);
        assert_true(tn_graph_check(f.g));
        ggml_free(f.ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_come_first_in_their_order),
        cmocka_unit_test(right_to_left),
        cmocka_unit_test(a_parameter_is_a_node),
        cmocka_unit_test(expanding_flags_what_was_only_ordered),
        cmocka_unit_test(select_wants_one_of_several),
        cmocka_unit_test(add_node_only_appends),
        cmocka_unit_test(a_graph_fits_exactly),
        cmocka_unit_test(too_many_leafs_are_refused),
        cmocka_unit_test(a_poisoned_tensor_makes_the_graph_invalid),
        cmocka_unit_test(a_chain_of_100000_nodes),
        cmocka_unit_test(a_cycle_ends),
        cmocka_unit_test(random_graphs_against_recursion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
