// SPDX-License-Identifier: MIT
// Meta devices, their memory, and what goes into it and comes out of it.
#include "unit/backend/meta_stage.h"

#include "base/env.h"

static const int counts[] = { 2, 3, 5 };

// ---- the device -------------------------------------------------------------------------------------------

static void test_device_is_made_of_its_devices(void ** state) {
    (void) state;
    struct meta_stage s = meta_begin(3, meta_mixed);
    assert_string_equal(ggml_backend_dev_name(s.meta), "Meta(Fake0,Fake1,Fake2)");
    assert_string_equal(ggml_backend_name(s.backend), "Meta(Fake0,Fake1,Fake2)");
    assert_int_equal(ggml_backend_dev_type(s.meta), GGML_BACKEND_DEVICE_TYPE_META);
    assert_null(ggml_backend_dev_backend_reg(s.meta));
    struct ggml_backend_dev_props props, one;
    ggml_backend_dev_get_props(s.meta, &props);
    assert_null(props.device_id);
    assert_false(props.caps.events || props.caps.host_buffer || props.caps.buffer_from_host_ptr);
    size_t total = 0;
    for (int i = 0; i < 3; i++) {
        ggml_backend_dev_get_props(s.devices[i], &one);
        total += one.memory_total;
    }
    assert_int_equal(props.memory_total, total);
    assert_true(ggml_backend_is_meta(s.backend));
    assert_false(ggml_backend_is_meta(s.cpu));
    assert_int_equal(ggml_backend_meta_n_backends(s.backend), 3);
    for (size_t i = 0; i < 3; i++)
        assert_ptr_equal(ggml_backend_get_device(ggml_backend_meta_simple_backend(s.backend, i)),
                         s.devices[i]);
    assert_null(ggml_backend_meta_simple_backend(s.backend, 3));
    assert_null(ggml_backend_meta_simple_backend(s.cpu, 0));
    assert_int_equal(ggml_backend_meta_n_backends(s.cpu), 0);
    assert_ptr_equal(ggml_backend_meta_device(s.devices, 3, meta_split, meta_rules), s.meta);
    assert_ptr_not_equal(ggml_backend_meta_device(s.devices, 2, meta_split, meta_rules), s.meta);
    meta_end(&s);
}

static void test_buffer_type_is_the_strictest(void ** state) {
    (void) state;
    struct meta_stage s = meta_begin(3, meta_mixed);
    ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(s.meta);
    assert_true(ggml_backend_buft_is_meta(type));
    assert_false(ggml_backend_buft_is_meta(ggml_backend_dev_buffer_type(s.devices[0])));
    assert_int_equal(ggml_backend_buft_get_alignment(type), 128);
    assert_false(ggml_backend_buft_is_host(type));
    s.fakes[1]->options.max_size = 5000;
    assert_int_equal(ggml_backend_buft_get_max_size(type), 5000);
    assert_true(ggml_backend_supports_buft(s.backend, type));
    assert_false(ggml_backend_supports_buft(s.backend, ggml_backend_dev_buffer_type(s.devices[0])));
    assert_false(ggml_backend_supports_buft(s.cpu, type));
    ggml_backend_dev_t other = ggml_backend_meta_device(s.devices, 3, meta_split, NULL);
    assert_true(ggml_backend_dev_supports_buft(other, type)); // equal devices, another callback
    ggml_backend_dev_t fewer = ggml_backend_meta_device(s.devices, 2, meta_split, meta_rules);
    assert_false(ggml_backend_dev_supports_buft(fewer, type));
    meta_end(&s);
}

static void test_bad_lists_are_refused(void ** state) {
    (void) state;
    struct meta_stage s = meta_begin(2, meta_default);
    ggml_backend_dev_t many[17];
    for (int i = 0; i < 17; i++)
        many[i] = s.devices[0];
    ggml_backend_dev_t null_inside[2] = { s.devices[0], NULL };
    assert_null(ggml_backend_meta_device(NULL, 1, meta_split, NULL));
    assert_null(ggml_backend_meta_device(many, 0, meta_split, NULL));
    assert_null(ggml_backend_meta_device(many, 17, meta_split, NULL));
    assert_null(ggml_backend_meta_device(null_inside, 2, meta_split, NULL));
    assert_contains(ggml_ext_last_error(), "device 1 is NULL");
    assert_null(ggml_backend_meta_device(&s.meta, 1, meta_split, NULL));
    assert_null(ggml_backend_meta_device(s.devices, 2, NULL, NULL));
    assert_non_null(ggml_backend_meta_device(many, 16, meta_split, NULL));
    meta_end(&s);
}

static void test_axis_names(void ** state) {
    (void) state;
    assert_string_equal(ggml_backend_meta_split_axis_name(GGML_BACKEND_SPLIT_AXIS_0), "0");
    assert_string_equal(ggml_backend_meta_split_axis_name(GGML_BACKEND_SPLIT_AXIS_3), "3");
    assert_string_equal(ggml_backend_meta_split_axis_name(GGML_BACKEND_SPLIT_AXIS_MIRRORED), "MIRRORED");
    assert_string_equal(ggml_backend_meta_split_axis_name(GGML_BACKEND_SPLIT_AXIS_PARTIAL), "PARTIAL");
    assert_string_equal(ggml_backend_meta_split_axis_name(GGML_BACKEND_SPLIT_AXIS_NONE), "NONE");
    assert_string_equal(ggml_backend_meta_split_axis_name(GGML_BACKEND_SPLIT_AXIS_UNKNOWN), "UNKNOWN");
    assert_string_equal(ggml_backend_meta_split_axis_name((enum ggml_backend_meta_split_axis) 7), "UNKNOWN");
}

// ---- contents ---------------------------------------------------------------------------------------------

// A random split of one axis: segments that repeat, parts that may be empty.
static void random_rule(struct test_rng * rng, const char * name, int n, int64_t * ne, int64_t block) {
    const int axis = (int) test_rng_below(rng, 4), segments = 1 + (int) test_rng_below(rng, 4);
    struct ggml_backend_meta_split_state * rule = meta_rule(name, axis);
    *rule = (struct ggml_backend_meta_split_state){ .axis = (enum ggml_backend_meta_split_axis) axis };
    int64_t total = 0;
    for (int s = 0; s < segments; s++) {
        int64_t lengths[FAKE_DEVICES];
        const int64_t units = 1 + test_rng_below(rng, 4), nr = 1 + test_rng_below(rng, 3);
        meta_shares(lengths, n, units, axis == 0 ? block : 1, rng);
        meta_segment(rule, n, lengths, (uint32_t) nr);
        total += units * nr * (axis == 0 ? block : 1);
    }
    for (int d = 0; d < 4; d++)
        ne[d] = d == axis ? total : (1 + test_rng_below(rng, 4)) * (d == 0 ? block : 1);
}

// Which device has position `at` of the axis, and at which place of its own: run by run.
static int owner_of(const struct ggml_backend_meta_split_state * r, int n, int64_t at, int64_t * place) {
    int64_t have[FAKE_DEVICES] = { 0 };
    for (uint32_t s = 0; s < r->n_segments; s++) {
        for (uint32_t k = 0; k < r->nr[s]; k++) {
            for (int j = 0; j < n; j++) {
                const int64_t ne = r->ne[(int) s * n + j];
                *place = have[j] + at;
                if (at < ne) return j;
                at -= ne;
                have[j] += ne;
            }
        }
    }
    fail_msg("nobody has it");
    return -1;
}

// Every block of the whole is where the rule says, by looking behind the devices.
static void check_slices(struct meta_stage * s, const struct ggml_tensor * t, const char * whole) {
    const struct ggml_backend_meta_split_state * rule = meta_rule(t->name, 0);
    const struct tn_slices * slices = tn_slices_find(s->meta->context, t);
    const int axis = (int) rule->axis;
    const int64_t block = ggml_blck_size(t->type), n0 = t->ne[0] / block;
    for (int64_t k = 0; k < n0 * t->ne[1] * t->ne[2] * t->ne[3]; k++) {
        int64_t i[4] = { k % n0, k / n0 % t->ne[1], k / n0 / t->ne[1] % t->ne[2],
                         k / n0 / t->ne[1] / t->ne[2] };
        size_t from = 0, at = 0;
        for (int d = 0; d < 4; d++)
            from += (size_t) i[d] * t->nb[d];
        int64_t place = 0;
        const int j = owner_of(rule, s->n, i[axis] * (axis == 0 ? block : 1), &place);
        i[axis] = place / (axis == 0 ? block : 1);
        for (int d = 0; d < 4; d++)
            at += (size_t) i[d] * slices->of[j]->nb[d];
        assert_memory_equal((char *) fake_bytes(slices->of[j]) + at, whole + from, ggml_type_size(t->type));
    }
}

static void random_bytes(struct test_rng * rng, char * bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char) test_rng_u64(rng);
}

// Ranges that begin and end anywhere, written, filled and read, beside a plain copy.
static void exchange_ranges(struct test_rng * rng, struct meta_stage * s, struct ggml_tensor * t,
                            char * whole) {
    const size_t size = ggml_nbytes(t);
    char * piece = malloc(size);
    for (int k = 0; k < 8; k++) {
        const size_t offset = (size_t) test_rng_below(rng, (int64_t) size);
        const size_t n = 1 + (size_t) test_rng_below(rng, (int64_t) (size - offset));
        random_bytes(rng, piece, n);
        switch (k % 4) {
        case 0:
            ggml_backend_tensor_set(t, piece, offset, n);
            memcpy(whole + offset, piece, n);
            break;
        case 1:
            ggml_backend_tensor_memset(t, (uint8_t) k, offset, n);
            memset(whole + offset, k, n);
            break;
        case 2:
            ggml_backend_tensor_set_async(s->backend, t, piece, offset, n);
            ggml_backend_synchronize(s->backend);
            memcpy(whole + offset, piece, n);
            break;
        default:
            ggml_backend_tensor_get_async(s->backend, t, piece, offset, n);
            ggml_backend_synchronize(s->backend);
            assert_memory_equal(piece, whole + offset, n);
        }
        ggml_backend_tensor_get(t, piece, offset, n);
        assert_memory_equal(piece, whole + offset, n);
    }
    free(piece);
}

static void contents_of_one(struct test_rng * rng, struct meta_stage * s) {
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_Q4_0, GGML_TYPE_F16, GGML_TYPE_I8 };
    const enum ggml_type type = types[test_rng_below(rng, 4)];
    int64_t ne[4];
    random_rule(rng, "w", s->n, ne, ggml_blck_size(type));
    struct ggml_context * ctx = meta_context();
    struct ggml_tensor * t = ggml_set_name(ggml_new_tensor(ctx, type, 4, ne), "w");
    ggml_backend_buffer_t buffer = test_rng_below(rng, 2)
                                       ? ggml_backend_alloc_ctx_tensors(ctx, s->backend)
                                       : ggml_backend_alloc_buffer(s->backend, ggml_nbytes(t) + 64);
    if (!buffer) fail_msg("%s", ggml_ext_last_error());
    if (!t->data)
        assert_int_equal(ggml_backend_tensor_alloc(buffer, t, ggml_backend_buffer_get_base(buffer)),
                         GGML_STATUS_SUCCESS);
    const size_t size = ggml_nbytes(t);
    char *whole = malloc(size), *back = malloc(size);
    random_bytes(rng, whole, size);
    ggml_backend_tensor_set(t, whole, 0, size);
    check_slices(s, t, whole);
    ggml_backend_tensor_get(t, back, 0, size);
    assert_memory_equal(back, whole, size);
    exchange_ranges(rng, s, t, whole);
    check_slices(s, t, whole);
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
    free(whole);
    free(back);
}

static void test_bytes_go_where_the_split_says(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (size_t c = 0; c < 3; c++) {
        struct meta_stage s = meta_begin(counts[c], c == 1 ? meta_mixed : meta_default);
        for (int64_t i = 0; i < test_rounds(300); i++)
            contents_of_one(&rng, &s);
        meta_end(&s);
    }
}

static void test_mirrored_is_everywhere(void ** state) {
    (void) state;
    struct meta_stage s = meta_begin(3, meta_default);
    struct ggml_context * ctx = meta_context();
    struct ggml_tensor * t = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 5, 3), "m");
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, s.backend);
    float values[15], back[15];
    for (int i = 0; i < 15; i++)
        values[i] = (float) i;
    ggml_backend_tensor_set(t, values, 0, sizeof(values));
    const struct tn_slices * slices = tn_slices_find(s.meta->context, t);
    for (int j = 0; j < 3; j++)
        assert_memory_equal(fake_bytes(slices->of[j]), values, sizeof(values));
    ggml_backend_tensor_get(t, back, 0, sizeof(back));
    assert_memory_equal(back, values, sizeof(back));
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
    meta_end(&s);
}

static void test_partial_is_a_sum(void ** state) {
    (void) state;
    struct meta_stage s = meta_begin(3, meta_default);
    meta_segment(meta_rule("p", GGML_BACKEND_SPLIT_AXIS_PARTIAL), 3, (int64_t[]){ 0, 1, 1 }, 1);
    struct ggml_context * ctx = meta_context();
    struct ggml_tensor * t = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), "p");
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, s.backend);
    const float values[4] = { 0.1f, -2, 3, 1e30f };
    float back[4];
    ggml_backend_tensor_set(t, values, 0, sizeof(values));
    ggml_backend_tensor_get(t, back, 0, sizeof(back));
    assert_memory_equal(back, values, sizeof(back));
    const struct tn_slices * slices = tn_slices_find(s.meta->context, t);
    for (int i = 0; i < 4; i++) {
        float sum = 0;
        assert_true(((float *) fake_bytes(slices->of[0]))[i] == 0); // does not contribute
        for (int j = 0; j < 3; j++)
            sum += ((float *) fake_bytes(slices->of[j]))[i];
        assert_true(sum == values[i]);
    }
    ggml_backend_tensor_memset(t, 1, 0, 4); // no sum
    assert_contains(ggml_ext_last_error(), "zeros only");
    ggml_backend_tensor_memset(t, 0, 0, 8);
    ggml_backend_tensor_get(t, back, 0, sizeof(back));
    assert_true(back[0] == 0 && back[1] == 0 && back[2] == 3);
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
    meta_end(&s);
}

// ---- memory -----------------------------------------------------------------------------------------------

static void test_weights_are_divided(void ** state) {
    (void) state;
    struct meta_stage s = meta_begin(2, meta_default);
    meta_segment(meta_rule("a", 1), 2, (int64_t[]){ 48, 16 }, 1);
    meta_segment(meta_rule("b", 0), 2, (int64_t[]){ 0, 64 }, 1);
    struct ggml_context * ctx = meta_context();
    struct ggml_tensor * a = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 16, 64), "a");
    struct ggml_tensor * b = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 64, 4), "b");
    struct ggml_tensor * view = ggml_view_2d(ctx, a, 16, 64, a->nb[1], 0);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, s.backend);
    assert_true(ggml_backend_buffer_is_meta(buffer));
    assert_int_equal(s.fakes[0]->counts.bytes, 16 * 48 * 4);
    assert_int_equal(s.fakes[1]->counts.bytes, 16 * 16 * 4 + 64 * 4 * 4);
    assert_int_equal(ggml_backend_buffer_get_size(buffer), 16 * 48 * 4);
    assert_ptr_equal(view->buffer, buffer);
    ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    const struct tn_slices * slices = tn_slices_find(s.meta->context, b);
    assert_int_equal(slices->of[0]->ne[0], 0);
    assert_int_equal(slices->of[1]->buffer->usage, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    ggml_backend_buffer_clear(buffer, 0);
    ggml_backend_buffer_free(buffer);
    assert_int_equal(s.fakes[0]->counts.bytes + s.fakes[1]->counts.bytes, 0);
    ggml_free(ctx);
    meta_end(&s);
}

static void test_impossible_splits_are_refused(void ** state) {
    (void) state;
    struct meta_stage s = meta_begin(2, meta_default);
    const struct {
        int axis;
        int64_t ne[2];
        const char * text;
    } bad[] = {
        { 1, { 3, 4 }, "cannot be divided" },         { 1, { 9, -1 }, "cannot be divided" },
        { 0, { 16, 48 }, "blocks have 32" },          { 12, { 4, 4 }, "split on axis 12" },
        { 11, { 1, 1 }, "cannot be partial" },        { 98, { 4, 4 }, "split on axis 98" },
        { 1, { INT64_MAX, 1 }, "cannot be divided" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        n_meta_rules = 0;
        meta_segment(meta_rule("q", bad[i].axis), 2, bad[i].ne, 1);
        struct ggml_context * ctx = meta_context();
        struct ggml_tensor * t = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_Q4_0, 64, 8), "q");
        assert_null(ggml_backend_alloc_ctx_tensors(ctx, s.backend));
        assert_contains(ggml_ext_last_error(), bad[i].text);
        assert_null(t->data);
        assert_null(t->buffer);
        ggml_free(ctx);
    }
    meta_end(&s);
}

static void test_failing_devices_leave_nothing(void ** state) {
    (void) state;
    for (int fails = 0; fails < 3; fails++) {
        struct meta_stage s = meta_begin(3, meta_default);
        struct ggml_context * ctx = meta_context();
        struct ggml_tensor * t = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 64), "t");
        s.fakes[fails]->orders.alloc = 1;
        assert_null(ggml_backend_alloc_buffer(s.backend, 1000));
        s.fakes[fails]->orders.alloc = 1;
        assert_null(ggml_backend_alloc_ctx_tensors(ctx, s.backend));
        s.fakes[fails]->orders.init_tensor = 1;
        assert_null(ggml_backend_alloc_ctx_tensors(ctx, s.backend));
        assert_null(t->data);
        for (int i = 0; i < 3; i++)
            assert_int_equal(s.fakes[i]->counts.bytes, 0);
        s.fakes[fails]->orders.start = 1;
        assert_null(ggml_backend_dev_init(s.meta, NULL));
        ggml_free(ctx);
        meta_end(&s);
    }
}

static char logged[4096];

static void catch_log(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) user_data;
    strncat(logged, text, sizeof(logged) - strlen(logged) - 1);
}

static void test_the_log_tells_splits(void ** state) {
    (void) state;
    assert_null(tn_env_get(TN_ENV_GGML_META_DEBUG));
    for (int on = 0; on < 2; on++) {
        logged[0] = '\0';
        setenv("GGML_META_DEBUG", on ? "1" : "0", 1);
        struct meta_stage s = meta_begin(2, meta_default);
        meta_segment(meta_rule("w", 1), 2, (int64_t[]){ 3, 5 }, 1);
        struct ggml_context * ctx = meta_context();
        struct ggml_tensor * t = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 8), "w");
        ggml_backend_buffer_t buffer = ggml_backend_alloc_buffer(s.backend, 1024);
        ggml_log_set(catch_log, NULL);
        ggml_backend_tensor_alloc(buffer, t, ggml_backend_buffer_get_base(buffer));
        ggml_log_set(NULL, NULL);
        assert_string_equal(logged, on ? "meta: NONE 'w': axis 1: 3 5\n" : "");
        ggml_backend_buffer_free(buffer);
        ggml_free(ctx);
        meta_end(&s);
    }
    unsetenv("GGML_META_DEBUG");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_is_made_of_its_devices),
        cmocka_unit_test(test_buffer_type_is_the_strictest),
        cmocka_unit_test(test_bad_lists_are_refused),
        cmocka_unit_test(test_axis_names),
        cmocka_unit_test(test_bytes_go_where_the_split_says),
        cmocka_unit_test(test_mirrored_is_everywhere),
        cmocka_unit_test(test_partial_is_a_sum),
        cmocka_unit_test(test_weights_are_divided),
        cmocka_unit_test(test_impossible_splits_are_refused),
        cmocka_unit_test(test_failing_devices_leave_nothing),
        cmocka_unit_test(test_the_log_tells_splits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
