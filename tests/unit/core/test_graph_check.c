// SPDX-License-Identifier: MIT
// core/graph_check.c: a sound graph passes, every kind of damage is found and named.
#include "harness.h"

#include "base/error.h"
#include "base/mem.h"
#include "core/graph.h"

struct fixture {
    struct ggml_context * ctx;
    struct ggml_cgraph * g;
    struct ggml_tensor *a, *sum, *view, *y;
};

static struct fixture fixture(void) {
    struct fixture f;
    f.ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 16, .no_alloc = true });
    f.g = ggml_new_graph_custom(f.ctx, 16, false);
    f.a = ggml_new_tensor_2d(f.ctx, GGML_TYPE_F32, 4, 3);
    f.sum = ggml_add(f.ctx, f.a, f.a);
    f.view = ggml_mul_inplace(f.ctx, f.sum, f.a);
    f.y = ggml_sub(f.ctx, f.view, f.a);
    ggml_build_forward_expand(f.g, f.y);
    return f;
}

static void refused(struct fixture * f, const char * node, const char * reason) {
    assert_false(tn_graph_check(f->g));
    assert_contains(tn_error_text(), node);
    assert_contains(tn_error_text(), reason);
    ggml_free(f->ctx);
}

static void a_sound_graph_passes(void ** state) {
    (void) state;
    struct fixture f = fixture();
    assert_true(tn_graph_check(f.g));
    ggml_free(f.ctx);
}

static void a_missing_source(void ** state) {
    (void) state;
    struct fixture f = fixture();
    f.y->src[1] = NULL;
    refused(&f, "node 2, SUB", "source 1 is missing");
}

static void another_shape_than_the_rule_gives(void ** state) {
    (void) state;
    struct fixture f = fixture();
    f.sum->ne[1] = 2;
    f.sum->src[1] = ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 3);
    refused(&f, "node 0, ADD 'node_0' f32 [4, 2, 1, 1]", "repeat");
}

static void a_view_beyond_its_base(void ** state) {
    (void) state;
    struct fixture f = fixture();
    f.view->view_offs = 16;
    refused(&f, "node 1, MUL", "the view ends beyond its base: 48 bytes at offset 16 of 48");
}

static void a_view_of_a_view(void ** state) {
    (void) state;
    struct fixture f = fixture();
    f.sum->view_src = f.a;
    refused(&f, "node 1, MUL", "a view of a view");
}

static void strides_that_overflow(void ** state) {
    (void) state;
    struct fixture f = fixture();
    f.y->nb[1] = SIZE_MAX / 2;
    refused(&f, "node 2, SUB", "2^63 bytes or more");
}

static void the_wrong_order(void ** state) {
    (void) state;
    struct fixture f = fixture();
    f.g->nodes[0] = f.view;
    f.g->nodes[1] = f.sum;
    refused(&f, "node 0, MUL", "source 0 is computed later, as node 1");
}

static void the_same_node_twice(void ** state) {
    (void) state;
    struct fixture f = fixture();
    ggml_graph_add_node(f.g, f.sum);
    refused(&f, "nodes 0 and 3", "the same tensor");
}

static void an_unknown_operator(void ** state) {
    (void) state;
    struct fixture f = fixture();
    f.y->op = (enum ggml_op) 9999;
    refused(&f, "node 2", "operator 9999 is unknown");
}

static void a_refused_source(void ** state) {
    (void) state;
    struct fixture f = fixture();
    f.y->src[0] = ggml_add(f.ctx, f.a, ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 3));
    refused(&f, "node 2, SUB", "source 0 was refused: ggml_add");
}

static void no_memory(void ** state) {
    (void) state;
    struct fixture f = fixture();
    tn_mem_fail_nth(1);
    assert_false(tn_graph_check(f.g));
    assert_int_equal(tn_mem_fail_nth(2), 1);
    assert_false(tn_graph_check(f.g));
    assert_int_equal(tn_mem_fail_nth(0), 1);
    assert_contains(tn_error_text(), "out of memory");
    ggml_free(f.ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_graph_passes),
        cmocka_unit_test(a_missing_source),
        cmocka_unit_test(another_shape_than_the_rule_gives),
        cmocka_unit_test(a_view_beyond_its_base),
        cmocka_unit_test(a_view_of_a_view),
        cmocka_unit_test(strides_that_overflow),
        cmocka_unit_test(the_wrong_order),
        cmocka_unit_test(the_same_node_twice),
        cmocka_unit_test(an_unknown_operator),
        cmocka_unit_test(a_refused_source),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
