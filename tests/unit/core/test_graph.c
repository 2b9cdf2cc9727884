// SPDX-License-Identifier: MIT
// core/graph.c: room, hash, use counts, copies, views, what full contexts hand out.
#include "harness.h"

#include "base/error.h"
#include "core/graph.h"
#include "ggml-ext.h"

static struct ggml_context * context(size_t n_tensors, size_t extra) {
    return ggml_init((struct ggml_init_params){ .mem_size = n_tensors * ggml_tensor_overhead() + extra,
                                                .no_alloc = true });
}

static void the_overhead_is_exactly_what_a_graph_takes(void ** state) {
    (void) state;
    for (size_t size = 0; size < 3000; size = size * 2 + 1) {
        for (int grads = 0; grads < 2; grads++) {
            const size_t room = ggml_graph_overhead_custom(size, grads);
            struct ggml_context * ctx = context(0, 2 * room);
            struct ggml_cgraph * g = ggml_new_graph_custom(ctx, size, grads);
            assert_true(ggml_ext_graph_valid(g));
            assert_int_equal(ggml_graph_size(g), size);
            assert_int_equal(ggml_used_mem(ctx), room);
            assert_true(ggml_ext_graph_valid(ggml_new_graph_custom(ctx, size, grads)));
            ggml_free(ctx);
        }
    }
    assert_int_equal(ggml_graph_overhead(), ggml_graph_overhead_custom(GGML_DEFAULT_GRAPH_SIZE, false));
    assert_true(ggml_graph_overhead_custom(SIZE_MAX, true) == SIZE_MAX);
}

static void a_full_context_hands_out_a_graph_that_takes_nothing(void ** state) {
    (void) state;
    struct ggml_context * ctx = context(1, 0);
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    assert_non_null(g);
    assert_false(ggml_ext_graph_valid(g));
    assert_contains(ggml_ext_context_error(ctx), "ggml_new_graph: the context is full");
    ggml_build_forward_expand(g, t);
    ggml_graph_add_node(g, t);
    ggml_graph_clear(g);
    assert_false(ggml_ext_graph_valid(g));
    assert_int_equal(ggml_graph_n_nodes(g), 0);
    assert_false(ggml_ext_tensor_valid(ggml_graph_node(g, -1)));
    assert_non_null(ggml_graph_node(g, -1));
    assert_false(tn_graph_usable(g));
    assert_contains(tn_error_text(), "the context is full");
    assert_ptr_equal(ggml_graph_dup(ctx, g, false), g);
    ggml_free(ctx);
}

static void a_graph_that_cannot_be_made_says_so_after_other_refusals(void ** state) {
    (void) state;
    struct ggml_context * ctx = context(2, 0);
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct ggml_tensor * u = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3);
    assert_false(ggml_ext_tensor_valid(ggml_add(ctx, t, u)));
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    assert_contains(ggml_ext_context_error(ctx), "ggml_add: ");
    assert_false(tn_graph_usable(g));
    assert_contains(tn_error_text(), "refused: ggml_new_graph: the context is full");
    ggml_build_forward_expand(g, t);
    assert_contains(tn_error_text(), "ggml_build_forward_expand: the graph was refused: ggml_new_graph: the");
    // After a reset nothing is left of it.
    ggml_reset(ctx);
    g = ggml_new_graph_custom(ctx, (size_t) INT32_MAX + 1, false);
    assert_false(tn_graph_usable(g));
    assert_contains(tn_error_text(), "is too large");
    ggml_free(ctx);
}

static void bad_arguments_are_refused(void ** state) {
    (void) state;
    struct ggml_cgraph * g = ggml_new_graph(NULL);
    assert_non_null(g);
    assert_false(ggml_ext_graph_valid(g));
    assert_contains(ggml_ext_last_error(), "ggml_new_graph: the context is NULL");
    struct ggml_context * ctx = context(0, 4096);
    assert_false(ggml_ext_graph_valid(ggml_new_graph_custom(ctx, (size_t) INT32_MAX + 1, false)));
    assert_contains(ggml_ext_context_error(ctx), "too large");
    assert_false(ggml_ext_graph_valid(ggml_graph_dup(ctx, NULL, false)));
    ggml_free(ctx);
    assert_int_equal(ggml_graph_size(NULL), 0);
    assert_int_equal(ggml_graph_n_nodes(NULL), 0);
    assert_null(ggml_graph_nodes(NULL));
    assert_null(ggml_graph_node(NULL, 0));
    assert_null(ggml_graph_get_tensor(NULL, "x"));
    assert_null(ggml_graph_get_grad(NULL, NULL));
    assert_null(ggml_graph_get_grad_acc(NULL, NULL));
    assert_false(tn_graph_usable(NULL));
    assert_false(ggml_ext_graph_valid(NULL));
    ggml_graph_clear(NULL);
    ggml_graph_cpy(NULL, NULL);
    ggml_build_forward_expand(NULL, NULL);
    ggml_graph_add_node(NULL, NULL);
}

static void the_hash_finds_what_was_put_in_up_to_its_room(void ** state) {
    (void) state;
    enum { N = 1000 };
    struct ggml_context * ctx = context(3 * N + 100, ggml_graph_overhead_custom(N, true));
    struct ggml_cgraph * g = ggml_new_graph_custom(ctx, N, true);
    struct ggml_tensor * first = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    bool is_new;
    assert_true(tn_graph_find(g, first) == TN_GRAPH_ABSENT);
    const size_t slot = tn_graph_insert(g, first, &is_new);
    assert_true(is_new);
    assert_int_equal(tn_graph_insert(g, first, &is_new), slot);
    assert_false(is_new);
    size_t n = 1;
    for (;; n++) {
        struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
        if (tn_graph_insert(g, t, &is_new) == TN_GRAPH_ABSENT) break;
        assert_true(is_new);
    }
    assert_true(n >= 2 * N);
    struct ggml_tensor * absent = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    assert_true(tn_graph_find(g, absent) == TN_GRAPH_ABSENT);
    size_t found = 0;
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        found += tn_graph_find(g, t) != TN_GRAPH_ABSENT;
    }
    assert_int_equal(found, n);
    ggml_graph_clear(g);
    assert_true(tn_graph_find(g, first) == TN_GRAPH_ABSENT);
    ggml_free(ctx);
}

// y = (a + b) * (a + b)
struct square {
    struct ggml_context * ctx;
    struct ggml_tensor *a, *b, *sum, *y;
    struct ggml_cgraph * g;
};

static struct square square(bool grads) {
    struct square s = { .ctx = context(16, 3 * ggml_graph_overhead_custom(64, true)) };
    s.a = ggml_new_tensor_2d(s.ctx, GGML_TYPE_F32, 3, 2);
    s.b = ggml_new_tensor_2d(s.ctx, GGML_TYPE_F32, 3, 1);
    s.sum = ggml_add(s.ctx, s.a, s.b);
    s.y = ggml_mul(s.ctx, s.sum, s.sum);
    s.g = ggml_new_graph_custom(s.ctx, 64, grads);
    ggml_build_forward_expand(s.g, s.y);
    return s;
}

static void use_counts_count_each_source(void ** state) {
    (void) state;
    struct square s = square(false);
    assert_int_equal(tn_graph_use_count(s.g, s.a), 1);
    assert_int_equal(tn_graph_use_count(s.g, s.sum), 2);
    assert_int_equal(tn_graph_use_count(s.g, s.y), 0);
    assert_int_equal(tn_graph_use_count(s.g, ggml_new_tensor_1d(s.ctx, GGML_TYPE_F32, 1)), 0);
    ggml_free(s.ctx);
}

static void nodes_by_index_and_name(void ** state) {
    (void) state;
    struct square s = square(false);
    assert_ptr_equal(ggml_graph_node(s.g, 0), s.sum);
    assert_ptr_equal(ggml_graph_node(s.g, -1), s.y);
    assert_ptr_equal(ggml_graph_node(s.g, -2), s.sum);
    assert_null(ggml_graph_node(s.g, 2));
    assert_null(ggml_graph_node(s.g, -3));
    assert_ptr_equal(ggml_graph_nodes(s.g)[1], s.y);
    assert_ptr_equal(ggml_graph_get_tensor(s.g, "node_1"), s.y);
    assert_ptr_equal(ggml_graph_get_tensor(s.g, "leaf_1"), s.b);
    assert_null(ggml_graph_get_tensor(s.g, "no such"));
    assert_null(ggml_graph_get_tensor(s.g, NULL));
    ggml_set_name(s.y, "leaf_0");
    assert_ptr_equal(ggml_graph_get_tensor(s.g, "leaf_0"), s.a);
    ggml_free(s.ctx);
}

static void a_copy_has_nodes_counts_and_gradients(void ** state) {
    (void) state;
    struct square s = square(true);
    s.g->grads[tn_graph_find(s.g, s.y)] = s.a;
    s.g->grad_accs[tn_graph_find(s.g, s.y)] = s.b;
    s.g->uid = 7;
    struct ggml_cgraph * copy = ggml_graph_dup(s.ctx, s.g, false);
    assert_true(ggml_ext_graph_valid(copy));
    assert_int_equal(ggml_graph_n_nodes(copy), 2);
    assert_int_equal(copy->n_leafs, 2);
    assert_ptr_equal(ggml_graph_node(copy, 1), s.y);
    assert_int_equal(tn_graph_use_count(copy, s.sum), 2);
    assert_ptr_equal(ggml_graph_get_grad(copy, s.y), s.a);
    assert_ptr_equal(ggml_graph_get_grad_acc(copy, s.y), s.b);
    assert_null(ggml_graph_get_grad(copy, s.sum));
    assert_int_equal(copy->uid, 0);
    struct ggml_tensor * more = ggml_add(s.ctx, s.y, s.b);
    ggml_build_forward_expand(copy, more);
    assert_int_equal(ggml_graph_n_nodes(copy), 3);
    assert_int_equal(ggml_graph_n_nodes(s.g), 2);
    ggml_free(s.ctx);
}

static void a_copy_without_room_is_refused(void ** state) {
    (void) state;
    struct square s = square(true);
    struct ggml_cgraph * small = ggml_new_graph_custom(s.ctx, 1, true);
    ggml_graph_cpy(s.g, small);
    assert_false(ggml_ext_graph_valid(small));
    assert_contains(ggml_ext_last_error(), "no room for all nodes");
    s.g->grads[tn_graph_find(s.g, s.y)] = s.a;
    struct ggml_cgraph * plain = ggml_new_graph_custom(s.ctx, 64, false);
    ggml_graph_cpy(s.g, plain);
    assert_false(ggml_ext_graph_valid(plain));
    assert_contains(ggml_ext_last_error(), "no room for gradients");
    assert_int_equal(ggml_graph_n_nodes(plain), 0);
    s.g->grads[tn_graph_find(s.g, s.y)] = NULL;
    ggml_graph_cpy(s.g, plain);
    assert_true(ggml_ext_graph_valid(plain));
    ggml_free(s.ctx);
}

static void a_view_shows_a_range(void ** state) {
    (void) state;
    struct square s = square(true);
    struct ggml_cgraph view = tn_graph_view(s.g, 1, 2);
    assert_int_equal(ggml_graph_n_nodes(&view), 1);
    assert_int_equal(ggml_graph_size(&view), 0);
    assert_ptr_equal(ggml_graph_node(&view, 0), s.y);
    assert_int_equal(tn_graph_use_count(&view, s.sum), 2);
    assert_null(ggml_graph_get_grad(&view, s.y));
    struct ggml_tensor * more = ggml_add(s.ctx, s.y, s.b);
    ggml_build_forward_expand(&view, more);
    assert_false(ggml_ext_graph_valid(&view));
    assert_true(tn_graph_find(s.g, more) == TN_GRAPH_ABSENT);
    assert_true(ggml_ext_graph_valid(s.g));
    view.order = s.g->order;
    struct ggml_cgraph * copy = ggml_graph_dup(s.ctx, &view, false);
    assert_true(ggml_ext_graph_valid(copy));
    assert_int_equal(ggml_graph_n_nodes(copy), 1);
    assert_int_equal(tn_graph_use_count(copy, s.sum), 2);
    ggml_free(s.ctx);
}

// As one client builds the graph of a part of the nodes.
static void a_graph_initialised_by_position_works(void ** state) {
    (void) state;
    struct square s = square(false);
    struct ggml_cgraph part = {
        0, 1, 0, s.g->nodes + 1, NULL, NULL, NULL, s.g->use_counts, s.g->visited_hash_set, s.g->order, 0
    };
    assert_true(tn_graph_usable(&part));
    assert_ptr_equal(ggml_graph_node(&part, -1), s.y);
    assert_int_equal(tn_graph_use_count(&part, s.sum), 2);
    assert_null(ggml_graph_get_tensor(&part, "leaf_0"));
    assert_ptr_equal(ggml_graph_get_tensor(&part, "node_1"), s.y);
    tn_graph_set_invalid(s.g);
    struct ggml_cgraph invalid = {
        0, 1, 0, s.g->nodes + 1, NULL, NULL, NULL, s.g->use_counts, s.g->visited_hash_set, s.g->order, 0
    };
    assert_false(tn_graph_usable(&invalid));
    ggml_free(s.ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_overhead_is_exactly_what_a_graph_takes),
        cmocka_unit_test(a_full_context_hands_out_a_graph_that_takes_nothing),
        cmocka_unit_test(a_graph_that_cannot_be_made_says_so_after_other_refusals),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(the_hash_finds_what_was_put_in_up_to_its_room),
        cmocka_unit_test(use_counts_count_each_source),
        cmocka_unit_test(nodes_by_index_and_name),
        cmocka_unit_test(a_copy_has_nodes_counts_and_gradients),
        cmocka_unit_test(a_copy_without_room_is_refused),
        cmocka_unit_test(a_view_shows_a_range),
        cmocka_unit_test(a_graph_initialised_by_position_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
