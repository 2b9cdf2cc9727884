// SPDX-License-Identifier: MIT
// The meta device when memory runs out, in any call: a text, nothing that stays, and no harm to others.
#include "oom/sweep.h"
#include "unit/backend/meta_model.h"

static const struct model_shape shape = { 32, 4, 2, 64, 2, true, true, GGML_TYPE_F32, 3 };

static struct meta_stage stage;
static struct model model;
static ggml_gallocr_t alloc;

// What the devices themselves cannot do for want of memory, they call a fault of their world.
static bool spared(void) {
    if (fake_world_faults(stage.world) == 0) return true;
    assert_contains(fake_world_fault(stage.world), "could not compute");
    fake_world_forget(stage.world);
    return tn_refuse("out of memory on a device");
}

// One for all: a meta device is for ever, and every world would have its own.
static int begin(void ** state) {
    (void) state;
    stage = meta_begin(3, meta_default);
    model_rules(&shape, 3);
    return 0;
}

static int end(void ** state) {
    (void) state;
    meta_end(&stage);
    return 0;
}

// ---- a back end -------------------------------------------------------------------------------------------

static bool start_backend(void) {
    ggml_backend_t backend = ggml_backend_dev_init(stage.meta, NULL);
    ggml_backend_free(backend);
    return backend;
}

static void test_starting(void ** state) {
    (void) state;
    assert_true(sweep_with(&(struct sweep){ .run = start_backend }) > 3);
}

// ---- memory -----------------------------------------------------------------------------------------------

static bool allocate(void) {
    struct ggml_context * ctx = meta_context();
    if (!ctx) return false;
    struct ggml_tensor * w = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 32, 64), "up.0");
    struct ggml_tensor * view = ggml_view_1d(ctx, w, 32, 0);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, stage.backend);
    const bool done = buffer;
    if (!done) assert_true(!w->data && !w->buffer && !view->buffer);
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
    return done;
}

static void test_packing(void ** state) {
    (void) state;
    assert_true(sweep_with(&(struct sweep){ .run = allocate }) > 8);
}

// ---- a model ----------------------------------------------------------------------------------------------

static void make_model(void) {
    model = model_build(shape, ggml_backend_get_default_buffer_type(stage.backend));
    assert_non_null(model.buffer);
    model_fill(&model);
    alloc = NULL;
}

static bool run_model(void) {
    if (!alloc) alloc = ggml_gallocr_new(ggml_backend_get_default_buffer_type(stage.backend));
    if (!alloc || !ggml_gallocr_alloc_graph(alloc, model.graph)) return false;
    model_set_inputs(&model);
    const bool done = ggml_backend_graph_compute(stage.backend, model.graph) == GGML_STATUS_SUCCESS;
    return spared() && done;
}

// The same back end computes it afterwards.
static void run_again(void) {
    ggml_backend_synchronize(stage.backend);
    spared();
    tn_error_clear();
    if (!run_model()) fail_msg("%s", tn_error_text());
    ggml_gallocr_free(alloc);
    model_free(&model);
}

static void test_computing(void ** state) {
    (void) state;
    assert_true(sweep_with(&(struct sweep){ make_model, run_model, run_again }) > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starting),
        cmocka_unit_test(test_packing),
        cmocka_unit_test(test_computing),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
