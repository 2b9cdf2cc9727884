// SPDX-License-Identifier: MIT
// backend/null.c: everything is accepted, nothing is computed, and no memory is taken.
#include "harness.h"

#include "backend/null.h"
#include "base/mem.h"
#include "ggml-alloc.h"
#include "ggml/src/ggml-impl.h"

static void devices_differ(void ** state) {
    (void) state;
    ggml_backend_dev_t first = tn_null_device(0), last = tn_null_device(TN_NULL_DEVICES - 1);
    assert_null(tn_null_device(-1));
    assert_null(tn_null_device(TN_NULL_DEVICES));
    assert_ptr_equal(first, tn_null_device(0));
    assert_string_equal(ggml_backend_dev_name(first), "Null0");
    assert_string_equal(ggml_backend_dev_name(last), "Null15");
    assert_true(ggml_backend_dev_supports_buft(first, ggml_backend_dev_buffer_type(first)));
    assert_false(ggml_backend_dev_supports_buft(first, ggml_backend_dev_buffer_type(last)));
    assert_false(ggml_backend_dev_supports_buft(first, ggml_backend_cpu_buffer_type()));
    assert_false(ggml_backend_buft_is_host(ggml_backend_dev_buffer_type(first)));
    assert_ptr_equal(ggml_backend_buft_get_device(ggml_backend_dev_buffer_type(last)), last);
    struct ggml_backend_dev_props props;
    ggml_backend_dev_get_props(last, &props);
    assert_true(props.caps.async && props.caps.events && !props.caps.host_buffer);
    assert_int_equal(props.type, GGML_BACKEND_DEVICE_TYPE_GPU);
    assert_string_equal(props.description, ggml_backend_dev_description(last));
    assert_true(props.memory_total == 0);
}

static void a_terabyte_is_planned_and_computed(void ** state) {
    (void) state;
    ggml_backend_t backend = ggml_backend_dev_init(tn_null_device(3), NULL);
    struct ggml_context * ctx = ggml_init(
        (struct ggml_init_params){ 8 * ggml_tensor_overhead() + ggml_graph_overhead(), NULL, true });
    struct ggml_tensor * x = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, (int64_t) 1 << 38);
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    struct ggml_tensor * out = ggml_concat(ctx, x, ggml_neg(ctx, x), 0);
    ggml_build_forward_expand(graph, out);
    assert_true(ggml_backend_supports_op(backend, out));
    ggml_gallocr_t galloc = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
    assert_true(ggml_gallocr_alloc_graph(galloc, graph));
    assert_true(ggml_gallocr_get_buffer_size(galloc, 0) >= (size_t) 4 << 40);
    float values[2] = { 1, 2 };
    ggml_backend_tensor_set(x, values, (size_t) 1 << 39, sizeof(values));
    ggml_backend_tensor_memset(x, 1, 0, 8);
    ggml_backend_buffer_clear(x->buffer, 1);
    assert_int_equal(ggml_backend_graph_compute(backend, graph), GGML_STATUS_SUCCESS);
    ggml_backend_tensor_copy_async(backend, backend, x, graph->nodes[0]);
    ggml_backend_tensor_get(out, values, (size_t) 1 << 40, sizeof(values));
    assert_true(values[0] == 0 && values[1] == 0);
    ggml_gallocr_free(galloc);
    ggml_free(ctx);
    ggml_backend_free(backend);
}

static void its_events_are_objects(void ** state) {
    (void) state;
    ggml_backend_t backend = ggml_backend_dev_init(tn_null_device(1), NULL);
    assert_string_equal(ggml_backend_name(backend), "Null1");
    ggml_backend_event_t event = ggml_backend_event_new(tn_null_device(1));
    assert_non_null(event);
    ggml_backend_event_record(event, backend);
    ggml_backend_event_wait(backend, event);
    ggml_backend_event_synchronize(event);
    ggml_backend_event_free(event);
    tn_mem_fail_nth(1);
    assert_null(ggml_backend_event_new(tn_null_device(1)));
    tn_mem_fail_nth(1);
    assert_null(ggml_backend_dev_init(tn_null_device(1), NULL));
    tn_mem_fail_nth(0);
    ggml_backend_free(backend);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_differ),
        cmocka_unit_test(a_terabyte_is_planned_and_computed),
        cmocka_unit_test(its_events_are_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
