// SPDX-License-Identifier: MIT
// core/autodiff.c: which gradients arise, how they are made and named, accumulators, refusals, the reset.
#include "harness.h"

#include "base/error.h"
#include "base/mem.h"
#include "core/graph.h"
#include "ggml-backend.h"
#include "ggml-ext.h"

// loss = w*x + b, all of one element; w is a parameter.
struct fixture {
    struct ggml_context * ctx;
    struct ggml_cgraph * g;
    struct ggml_tensor *w, *x, *b, *product, *loss;
};

static struct ggml_tensor * number(struct ggml_context * ctx, const char * name) {
    return ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1), name);
}

static struct fixture fixture(void) {
    struct fixture f = { .ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 18 }) };
    f.g = ggml_new_graph_custom(f.ctx, 64, true);
    f.w = number(f.ctx, "w");
    f.x = number(f.ctx, "x");
    f.b = number(f.ctx, "b");
    ggml_set_param(f.w);
    f.product = ggml_set_name(ggml_mul(f.ctx, f.w, f.x), "product");
    f.loss = ggml_set_name(ggml_add(f.ctx, f.product, f.b), "loss");
    ggml_set_loss(f.loss);
    return f;
}

static void expand(struct fixture * f, struct ggml_tensor ** accs) {
    ggml_build_forward_expand(f->g, f->loss);
    ggml_build_backward_expand(f->ctx, f->g, accs);
}

static void gradients_of_what_depends_on_a_parameter(void ** state) {
    (void) state;
    struct fixture f = fixture();
    expand(&f, NULL);
    assert_true(ggml_ext_graph_valid(f.g));
    assert_true(tn_graph_check(f.g));
    struct ggml_tensor * acc = ggml_graph_get_grad_acc(f.g, f.loss);
    assert_non_null(acc);
    assert_int_equal(acc->op, GGML_OP_NONE);
    assert_int_equal(acc->type, GGML_TYPE_F32);
    assert_string_equal(acc->name, "grad for loss");
    assert_ptr_equal(ggml_graph_get_grad(f.g, f.loss), acc);
    assert_ptr_equal(ggml_graph_get_grad(f.g, f.product), acc); // d(product + b)/d(product) = 1
    struct ggml_tensor * grad = ggml_graph_get_grad(f.g, f.w);
    assert_int_equal(grad->op, GGML_OP_MUL);
    assert_ptr_equal(grad->src[0], acc);
    assert_ptr_equal(grad->src[1], f.x);
    assert_string_equal(grad->name, "grad for w");
    assert_ptr_equal(ggml_graph_get_tensor(f.g, "grad for w"), grad);
    assert_true(grad->flags & GGML_TENSOR_FLAG_COMPUTE);
    assert_null(ggml_graph_get_grad(f.g, f.x));
    assert_null(ggml_graph_get_grad(f.g, f.b));
    assert_null(ggml_graph_get_grad_acc(f.g, f.w));
    assert_int_equal(ggml_graph_n_nodes(f.g), 4);
    ggml_free(f.ctx);
}

static void several_uses_are_added_up(void ** state) {
    (void) state;
    struct fixture f = fixture();
    f.product = ggml_mul(f.ctx, f.product, f.w); // w*x*w
    f.loss->src[0] = f.product;
    expand(&f, NULL);
    assert_true(tn_graph_check(f.g));
    struct ggml_tensor * grad = ggml_graph_get_grad(f.g, f.w);
    assert_int_equal(grad->op, GGML_OP_ADD);
    assert_null(grad->view_src);
    assert_int_equal(grad->src[0]->op, GGML_OP_MUL);
    assert_int_equal(grad->src[1]->op, GGML_OP_MUL);
    assert_string_equal(grad->name, "grad for w");
    ggml_free(f.ctx);
}

static void accumulators_are_added_into(void ** state) {
    (void) state;
    struct fixture f = fixture();
    struct ggml_tensor * acc = number(f.ctx, "mine");
    struct ggml_tensor * accs[] = { acc, NULL, NULL }; // of w, product, loss
    expand(&f, accs);
    assert_true(tn_graph_check(f.g));
    struct ggml_tensor * grad = ggml_graph_get_grad(f.g, f.w);
    assert_int_equal(grad->op, GGML_OP_ADD);
    assert_ptr_equal(grad->view_src, acc);
    assert_ptr_equal(grad->src[0], acc);
    assert_string_equal(grad->name, "grad for w");
    assert_string_equal(acc->name, "mine");
    assert_ptr_equal(ggml_graph_get_grad_acc(f.g, f.w), acc);
    ggml_free(f.ctx);
}

static void differences_subtract(void ** state) {
    (void) state;
    struct fixture f = fixture();
    struct ggml_tensor * acc = number(f.ctx, "mine");
    struct ggml_tensor * accs[] = { acc, NULL, NULL };
    f.product = ggml_sub(f.ctx, f.x, f.w);
    f.loss->src[0] = f.product;
    ggml_build_forward_expand(f.g, f.w);
    expand(&f, accs);
    struct ggml_tensor * grad = ggml_graph_get_grad(f.g, f.w);
    assert_int_equal(grad->op, GGML_OP_SUB);
    assert_ptr_equal(grad->view_src, acc);
    ggml_build_backward_expand(f.ctx, f.g, NULL); // again, without: everything is forgotten first
    grad = ggml_graph_get_grad(f.g, f.w);
    assert_string_equal(ggml_op_desc(grad), "NEG");
    assert_null(ggml_graph_get_grad_acc(f.g, f.w));
    ggml_free(f.ctx);
}

static void two_losses(void ** state) {
    (void) state;
    struct fixture f = fixture();
    struct ggml_tensor * other = ggml_mul(f.ctx, f.w, f.b);
    ggml_set_loss(other);
    ggml_build_forward_expand(f.g, other);
    expand(&f, NULL);
    assert_true(tn_graph_check(f.g));
    assert_non_null(ggml_graph_get_grad_acc(f.g, other));
    assert_non_null(ggml_graph_get_grad_acc(f.g, f.loss));
    assert_int_equal(ggml_graph_get_grad(f.g, f.w)->op, GGML_OP_ADD);
    ggml_free(f.ctx);
}

static void broadcast_gradients_are_summed(void ** state) {
    (void) state;
    struct fixture f = fixture();
    struct ggml_tensor * x = ggml_new_tensor_2d(f.ctx, GGML_TYPE_F32, 4, 3);
    struct ggml_tensor * y = ggml_mul(f.ctx, x, f.w); // w is repeated to [4, 3]
    ggml_build_forward_expand(f.g, y);
    expand(&f, NULL);
    assert_null(ggml_graph_get_grad(f.g, y)); // the loss does not depend on it
    // Let it: y as a loss of twelve elements is nothing that ggml_set_loss allows, but shows the rule.
    ggml_graph_clear(f.g);
    y->flags |= GGML_TENSOR_FLAG_LOSS;
    ggml_build_forward_expand(f.g, y);
    ggml_build_backward_expand(f.ctx, f.g, NULL);
    assert_int_equal(ggml_graph_get_grad(f.g, f.w)->op, GGML_OP_REPEAT_BACK);
    assert_true(ggml_are_same_shape(ggml_graph_get_grad(f.g, f.w), f.w));
    ggml_free(f.ctx);
}

static void integers_are_passed_over(void ** state) {
    (void) state;
    struct fixture f = fixture();
    struct ggml_tensor * i = ggml_new_tensor_1d(f.ctx, GGML_TYPE_I32, 1);
    ggml_set_param(i);
    struct ggml_tensor * sum = ggml_add(f.ctx, i, i);
    ggml_build_forward_expand(f.g, sum);
    expand(&f, NULL);
    assert_true(ggml_ext_graph_valid(f.g));
    assert_null(ggml_graph_get_grad(f.g, i));
    assert_null(ggml_graph_get_grad(f.g, sum));
    ggml_free(f.ctx);
}

static void refused(struct fixture * f, const char * text) {
    expand(f, NULL);
    assert_false(ggml_ext_graph_valid(f->g));
    assert_contains(ggml_ext_last_error(), "ggml_build_backward_expand: ");
    assert_contains(ggml_ext_last_error(), text);
    ggml_free(f->ctx);
}

static void what_has_no_gradient_is_refused(void ** state) {
    (void) state;
    struct fixture f = fixture();
    f.product->op = GGML_OP_CLAMP;
    refused(&f, "CLAMP 'product' f32 [1, 1, 1, 1]: the operator has no gradient");
    f = fixture();
    f.loss->src[0] = ggml_mul_inplace(f.ctx, f.product, f.x);
    refused(&f, "in-place operators have no gradient");
    f = fixture();
    f.w->type = GGML_TYPE_BF16;
    refused(&f, "MUL 'product' f32 [1, 1, 1, 1]: source 0 is bf16: only f32 and f16");
}

static void graphs_that_cannot_have_gradients(void ** state) {
    (void) state;
    struct fixture f = fixture();
    f.g = ggml_new_graph_custom(f.ctx, 16, false);
    refused(&f, "without room for gradients");
    f = fixture();
    f.w->flags = 0;
    refused(&f, "no parameter");
    f = fixture();
    f.loss->flags = 0;
    refused(&f, "no loss");
    f = fixture();
    f.g = ggml_new_graph_custom(f.ctx, 3, true); // no room for a fourth node
    refused(&f, "the graph was refused");
    f = fixture();
    ggml_build_forward_expand(f.g, f.loss);
    ggml_build_backward_expand(NULL, f.g, NULL);
    assert_false(ggml_ext_graph_valid(f.g));
    assert_contains(ggml_ext_last_error(), "the context is NULL");
    ggml_build_backward_expand(f.ctx, NULL, NULL);
    assert_contains(ggml_ext_last_error(), "the graph is NULL");
    ggml_free(f.ctx);
}

static void accumulators_that_do_not_fit(void ** state) {
    (void) state;
    struct fixture f = fixture();
    struct ggml_tensor * accs[] = { ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 2), NULL, NULL };
    expand(&f, accs);
    assert_false(ggml_ext_graph_valid(f.g));
    assert_contains(ggml_ext_last_error(), "a gradient of sizes [2, 1, 1, 1] for 'w'");
    ggml_free(f.ctx);
    f = fixture();
    struct ggml_tensor * half[] = { NULL, NULL, ggml_new_tensor_1d(f.ctx, GGML_TYPE_F16, 1) };
    expand(&f, half);
    assert_false(ggml_ext_graph_valid(f.g));
    assert_contains(ggml_ext_last_error(), "the accumulator of a loss must be f32, not f16");
    ggml_free(f.ctx);
}

static void a_full_context_and_no_memory(void ** state) {
    (void) state;
    struct fixture f = fixture();
    struct ggml_context * full = ggml_init((struct ggml_init_params){ .no_alloc = true });
    ggml_build_forward_expand(f.g, f.loss);
    ggml_build_backward_expand(full, f.g, NULL);
    assert_false(ggml_ext_graph_valid(f.g));
    assert_contains(ggml_ext_last_error(), "the context is full");
    ggml_free(full);
    ggml_graph_clear(f.g);
    ggml_build_forward_expand(f.g, f.loss);
    tn_mem_fail_nth(1);
    ggml_build_backward_expand(f.ctx, f.g, NULL);
    assert_int_equal(tn_mem_fail_nth(0), 1);
    assert_false(ggml_ext_graph_valid(f.g));
    assert_contains(ggml_ext_last_error(), "out of memory");
    ggml_free(f.ctx);
}

static void the_reset_sets_losses_to_1_and_the_rest_to_0(void ** state) {
    (void) state;
    struct fixture f = fixture();
    struct ggml_tensor * accs[] = { number(f.ctx, "mine"), NULL, NULL };
    expand(&f, accs);
    float * mine = ggml_get_data_f32(accs[0]);
    float * loss = ggml_get_data_f32(ggml_graph_get_grad_acc(f.g, f.loss));
    *mine = 5.0f;
    *loss = 7.0f;
    ggml_graph_reset(f.g);
    assert_true(*mine == 0.0f);
    assert_true(*loss == 1.0f);
    struct ggml_cgraph * plain = ggml_new_graph_custom(f.ctx, 4, false);
    ggml_graph_reset(plain);
    assert_contains(ggml_ext_last_error(), "ggml_graph_reset: the graph was made without room for gradients");
    ggml_graph_reset(NULL);
    assert_contains(ggml_ext_last_error(), "ggml_graph_reset: the graph is NULL");
    ggml_free(f.ctx);
}

static void the_reset_forgets_the_moments(void ** state) {
    (void) state;
    struct fixture f = fixture();
    expand(&f, NULL);
    struct ggml_tensor * m = number(f.ctx, "m");
    struct ggml_tensor * v = number(f.ctx, "v");
    struct ggml_tensor * params = ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 7);
    *ggml_get_data_f32(m) = *ggml_get_data_f32(v) = *ggml_get_data_f32(f.w) = 3.0f;
    ggml_get_data_f32(params)[6] = 4.0f;
    struct ggml_tensor * grad = ggml_graph_get_grad(f.g, f.w);
    ggml_build_forward_expand(f.g, ggml_opt_step_adamw(f.ctx, f.w, grad, m, v, params));
    assert_true(tn_graph_check(f.g));
    ggml_graph_reset(f.g);
    assert_true(*ggml_get_data_f32(m) == 0.0f && *ggml_get_data_f32(v) == 0.0f);
    assert_true(*ggml_get_data_f32(f.w) == 3.0f && ggml_get_data_f32(params)[6] == 4.0f);
    ggml_free(f.ctx);
}

// Also where the data belong to a buffer.
static void the_reset_goes_through_buffers(void ** state) {
    (void) state;
    struct fixture f = fixture();
    struct ggml_tensor * accs[] = { number(f.ctx, "mine"), NULL, number(f.ctx, "of the loss") };
    _Alignas(64) float memory[64];
    for (int i = 0; i < 64; i++)
        memory[i] = 9.0f;
    ggml_backend_buffer_t buffer = ggml_backend_cpu_buffer_from_ptr(memory, sizeof(memory));
    accs[0]->buffer = accs[2]->buffer = buffer;
    accs[0]->data = &memory[16];
    accs[2]->data = &memory[32];
    expand(&f, accs);
    ggml_graph_reset(f.g);
    assert_true(memory[16] == 0.0f);
    assert_true(memory[32] == 1.0f);
    assert_true(memory[17] == 9.0f && memory[33] == 9.0f);
    ggml_backend_buffer_free(buffer);
    ggml_free(f.ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_what_depends_on_a_parameter),
        cmocka_unit_test(several_uses_are_added_up),
        cmocka_unit_test(accumulators_are_added_into),
        cmocka_unit_test(differences_subtract),
        cmocka_unit_test(two_losses),
        cmocka_unit_test(broadcast_gradients_are_summed),
        cmocka_unit_test(integers_are_passed_over),
        cmocka_unit_test(what_has_no_gradient_is_refused),
        cmocka_unit_test(graphs_that_cannot_have_gradients),
        cmocka_unit_test(accumulators_that_do_not_fit),
        cmocka_unit_test(a_full_context_and_no_memory),
        cmocka_unit_test(the_reset_sets_losses_to_1_and_the_rest_to_0),
        cmocka_unit_test(the_reset_forgets_the_moments),
        cmocka_unit_test(the_reset_goes_through_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
