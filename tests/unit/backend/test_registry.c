// SPDX-License-Identifier: MIT
// backend/registry.c: the built-in families (rows of backends.def), and what is registered later.
#include "unit/fake_device.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "base/thread.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"

// The first question of all, so the processor is not listed yet: it is asked for again at the next one.
static void without_memory_the_processor_comes_later(void ** state) {
    (void) state;
    int failures = 0;
    for (int64_t nth = 1; nth < 20; nth++) {
        tn_mem_fail_nth(nth);
        const size_t n = ggml_backend_reg_count(), n_dev = ggml_backend_dev_count();
        const bool struck = tn_mem_fail_nth(0);
        failures += struck;
        if (!struck) {
            assert_int_equal(n, 1);
            assert_int_equal(n_dev, 1);
            break;
        }
        assert_true(n <= 1 && n_dev <= 1);
    }
    assert_true(failures > 0);
}

static void the_processor_is_built_in(void ** state) {
    (void) state;
    ggml_backend_reg_t reg = ggml_backend_reg_by_name("cpu");
    assert_ptr_equal(reg, ggml_backend_cpu_reg());
    assert_string_equal(ggml_backend_reg_name(reg), "CPU");
    ggml_backend_dev_t device = ggml_backend_dev_by_name("Cpu");
    assert_non_null(device);
    assert_ptr_equal(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), device);
    assert_ptr_equal(ggml_backend_dev_backend_reg(device), reg);
    assert_int_equal(ggml_backend_reg_count(), 1);
    assert_int_equal(ggml_backend_dev_count(), 1);
    assert_ptr_equal(ggml_backend_reg_get(0), reg);
    assert_ptr_equal(ggml_backend_dev_get(0), device);
}

static void what_is_not_there_is_null(void ** state) {
    (void) state;
    assert_null(ggml_backend_reg_get(1000));
    assert_null(ggml_backend_dev_get(1000));
    assert_null(ggml_backend_reg_by_name("nonesuch"));
    assert_null(ggml_backend_reg_by_name(NULL));
    assert_null(ggml_backend_dev_by_name("nonesuch"));
    assert_null(ggml_backend_dev_by_name(NULL));
    assert_null(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_META));
    assert_null(ggml_backend_init_by_name("nonesuch", NULL));
    assert_contains(ggml_ext_last_error(), "no device called 'nonesuch'");
    assert_null(ggml_backend_init_by_name(NULL, NULL));
    assert_null(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_META, NULL));
    assert_contains(ggml_ext_last_error(), "no device of type 4");
}

static void back_ends_start(void ** state) {
    (void) state;
    ggml_backend_t backends[] = {
        ggml_backend_init_by_name("CPU", NULL),
        ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL),
        ggml_backend_init_best(),
    };
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(ggml_backend_get_device(backends[i]), ggml_backend_dev_by_name("CPU"));
        ggml_backend_free(backends[i]);
    }
}

static void bad_families_are_refused(void ** state) {
    (void) state;
    struct fake f;
    fake_init(&f);
    const size_t n = ggml_backend_reg_count();
    ggml_backend_register(NULL);
    assert_contains(ggml_ext_last_error(), "NULL");
    f.reg.api_version = 1;
    ggml_backend_register(&f.reg);
    assert_contains(ggml_ext_last_error(), "version 1 of the interface, here it is 2");
    f.reg.api_version = GGML_BACKEND_API_VERSION;
    f.reg.iface.get_device = NULL;
    ggml_backend_register(&f.reg);
    assert_contains(ggml_ext_last_error(), "lacks a function");
    ggml_backend_device_register(NULL);
    assert_contains(ggml_ext_last_error(), "device is NULL");
    assert_int_equal(ggml_backend_reg_count(), n);
}

static void a_family_is_entered_once(void ** state) {
    (void) state;
    static struct fake f;
    fake_init(&f);
    const size_t n = ggml_backend_reg_count(), n_dev = ggml_backend_dev_count();
    ggml_backend_register(&f.reg);
    ggml_backend_register(&f.reg);
    ggml_backend_device_register(&f.device);
    assert_int_equal(ggml_backend_reg_count(), n + 1);
    assert_int_equal(ggml_backend_dev_count(), n_dev + 1);
    assert_ptr_equal(ggml_backend_reg_by_name("FAKES"), &f.reg);
    assert_ptr_equal(ggml_backend_dev_by_name("fake0"), &f.device);
    assert_ptr_equal(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_ACCEL), &f.device);
    ggml_backend_t best = ggml_backend_init_best(); // a helper is not the best
    assert_int_equal(ggml_backend_dev_type(ggml_backend_get_device(best)), GGML_BACKEND_DEVICE_TYPE_CPU);
    ggml_backend_free(best);
}

static enum ggml_backend_dev_type gpu(ggml_backend_dev_t dev) {
    (void) dev;
    return GGML_BACKEND_DEVICE_TYPE_GPU;
}

static enum ggml_backend_dev_type igpu(ggml_backend_dev_t dev) {
    (void) dev;
    return GGML_BACKEND_DEVICE_TYPE_IGPU;
}

static void a_gpu_is_the_best(void ** state) {
    (void) state;
    static struct fake integrated, discrete;
    fake_init(&integrated);
    fake_init(&discrete);
    integrated.device.iface.get_type = igpu;
    discrete.device.iface.get_type = gpu;
    ggml_backend_device_register(&integrated.device);
    ggml_backend_t best = ggml_backend_init_best();
    assert_ptr_equal(ggml_backend_get_device(best), &integrated.device);
    ggml_backend_free(best);
    ggml_backend_device_register(&discrete.device);
    best = ggml_backend_init_best();
    assert_ptr_equal(ggml_backend_get_device(best), &discrete.device);
    ggml_backend_free(best);
}

static void a_device_with_a_hole_in_its_table_is_passed_over(void ** state) {
    (void) state;
    static struct fake f;
    fake_init(&f);
    f.device.iface.supports_op = NULL;
    const size_t n_dev = ggml_backend_dev_count();
    ggml_backend_register(&f.reg);
    assert_contains(ggml_ext_last_error(), "lacks a function");
    assert_int_equal(ggml_backend_dev_count(), n_dev);
}

enum { MANY = 40 };
static struct fake many[MANY];

static void * enter_many(void * arg) {
    (void) arg;
    for (int i = 0; i < MANY; i++) {
        ggml_backend_register(&many[i].reg);
        assert_non_null(ggml_backend_dev_get(0));
        assert_non_null(ggml_backend_reg_by_name("cpu"));
    }
    return NULL;
}

static void threads_enter_the_same_families(void ** state) {
    (void) state;
    for (int i = 0; i < MANY; i++)
        fake_init(&many[i]);
    const size_t n = ggml_backend_reg_count(), n_dev = ggml_backend_dev_count();
    struct tn_thread threads[4];
    for (int i = 0; i < 4; i++)
        assert_true(tn_thread_start(&threads[i], enter_many, NULL));
    for (int i = 0; i < 4; i++)
        tn_thread_join(&threads[i]);
    assert_int_equal(ggml_backend_reg_count(), n + MANY);
    assert_int_equal(ggml_backend_dev_count(), n_dev + MANY);
}

static void no_memory_leaves_the_lists_as_they_are(void ** state) {
    (void) state;
    static struct fake more[200];
    size_t refused = 0;
    for (int i = 0; i < 200; i++) {
        fake_init(&more[i]);
        const size_t n = ggml_backend_reg_count();
        tn_mem_fail_nth(1);
        ggml_backend_register(&more[i].reg);
        if (tn_mem_fail_nth(0)) {
            refused++;
            assert_contains(ggml_ext_last_error(), "no memory to list");
        } else {
            assert_int_equal(ggml_backend_reg_count(), n + 1);
        }
    }
    assert_true(refused > 0);
}

// ---- families of several devices ------------------------------------------------------------------------

enum { DEVICES = 5 };

struct family {
    struct fake fakes[DEVICES];
    struct ggml_backend_reg reg;
    enum ggml_backend_dev_type types[DEVICES];
    int n;
};

static enum ggml_backend_dev_type type_in_family(ggml_backend_dev_t dev) {
    const struct fake * f = dev->context;
    const struct family * family = dev->reg->context;
    return family->types[f - family->fakes];
}

static size_t count_of_family(ggml_backend_reg_t reg) {
    return (size_t) ((struct family *) reg->context)->n;
}

static ggml_backend_dev_t device_of_family(ggml_backend_reg_t reg, size_t i) {
    return &((struct family *) reg->context)->fakes[i].device;
}

static const char * name_of_family(ggml_backend_reg_t reg) {
    (void) reg;
    return "Family";
}

static void family_init(struct family * f, int n, const enum ggml_backend_dev_type * types) {
    *f = (struct family){ .n = n };
    f->reg = (struct ggml_backend_reg){
        .api_version = GGML_BACKEND_API_VERSION,
        .iface = { name_of_family, count_of_family, device_of_family, NULL },
        .context = f,
    };
    for (int i = 0; i < n; i++) {
        fake_init(&f->fakes[i]);
        f->fakes[i].device.iface.get_type = type_in_family;
        f->fakes[i].device.reg = &f->reg;
        f->types[i] = types[i];
    }
}

static void devices_stand_in_the_order_of_their_families(void ** state) {
    (void) state;
    static struct family first, second;
    const enum ggml_backend_dev_type one[] = { GGML_BACKEND_DEVICE_TYPE_META, GGML_BACKEND_DEVICE_TYPE_GPU,
                                               GGML_BACKEND_DEVICE_TYPE_META };
    const enum ggml_backend_dev_type other[] = { GGML_BACKEND_DEVICE_TYPE_META,
                                                 GGML_BACKEND_DEVICE_TYPE_CPU };
    family_init(&first, 3, one);
    family_init(&second, 2, other);
    const size_t n = ggml_backend_dev_count();
    ggml_backend_register(&first.reg);
    ggml_backend_register(&second.reg);
    assert_int_equal(ggml_backend_dev_count(), n + 5);
    for (size_t i = 0; i < 5; i++) {
        struct family * f = i < 3 ? &first : &second;
        assert_ptr_equal(ggml_backend_dev_get(n + i), &f->fakes[i < 3 ? i : i - 3].device);
    }
    // of equals the first
    assert_ptr_equal(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_META), &first.fakes[0].device);
    assert_ptr_equal(ggml_backend_reg_by_name("FAMILY"), &first.reg);
    assert_ptr_not_equal(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), &second.fakes[1].device);
    // what stays keeps its order
    ggml_backend_unload(&first.reg);
    assert_int_equal(ggml_backend_dev_count(), n + 2);
    assert_ptr_equal(ggml_backend_dev_get(n), &second.fakes[0].device);
    assert_ptr_equal(ggml_backend_reg_by_name("family"), &second.reg);
    ggml_backend_register(&first.reg); // and comes last when it comes again
    assert_ptr_equal(ggml_backend_dev_get(n + 2), &first.fakes[0].device);
    ggml_backend_unload(&first.reg);
    ggml_backend_unload(&second.reg);
    assert_int_equal(ggml_backend_dev_count(), n);
}

// Device by device, with lists that are full, so that each has to grow.
static void a_family_comes_with_all_its_devices_or_not_at_all(void ** state) {
    (void) state;
    static struct family families[100];
    const enum ggml_backend_dev_type types[DEVICES] = { GGML_BACKEND_DEVICE_TYPE_META };
    int refused = 0;
    for (int i = 0; i < 100; i++) {
        family_init(&families[i], DEVICES, types);
        const size_t n = ggml_backend_reg_count(), n_dev = ggml_backend_dev_count();
        tn_mem_fail_nth(1 + i % 2);
        ggml_backend_register(&families[i].reg);
        if (tn_mem_fail_nth(0)) {
            refused++;
            assert_contains(ggml_ext_last_error(), "no memory to list");
            assert_int_equal(ggml_backend_reg_count(), n);
            assert_int_equal(ggml_backend_dev_count(), n_dev);
            ggml_backend_register(&families[i].reg);
        }
        assert_int_equal(ggml_backend_reg_count(), n + 1);
        assert_int_equal(ggml_backend_dev_count(), n_dev + DEVICES);
    }
    assert_true(refused > 0);
    for (int i = 0; i < 100; i++)
        ggml_backend_unload(&families[i].reg);
}

static _Atomic bool entered;

static void * look_around(void * arg) {
    (void) arg;
    for (bool last = false; !last;) {
        last = atomic_load(&entered);
        const size_t n = ggml_backend_dev_count();
        for (size_t i = 0; i < n; i++) { // lists only grow here
            ggml_backend_dev_t device = ggml_backend_dev_get(i);
            assert_non_null(device);
            assert_non_null(ggml_backend_dev_name(device));
        }
        assert_non_null(ggml_backend_dev_by_name("CPU"));
    }
    return NULL;
}

static void lists_are_read_while_they_grow(void ** state) {
    (void) state;
    static struct family families[30];
    const enum ggml_backend_dev_type types[DEVICES] = { GGML_BACKEND_DEVICE_TYPE_META };
    struct tn_thread readers[3];
    for (int i = 0; i < 3; i++)
        assert_true(tn_thread_start(&readers[i], look_around, NULL));
    for (int i = 0; i < 30; i++) {
        family_init(&families[i], DEVICES, types);
        ggml_backend_register(&families[i].reg);
    }
    atomic_store(&entered, true);
    for (int i = 0; i < 3; i++)
        tn_thread_join(&readers[i]);
    for (int i = 0; i < 30; i++)
        ggml_backend_unload(&families[i].reg);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_the_processor_comes_later), // first
        cmocka_unit_test(the_processor_is_built_in),
        cmocka_unit_test(what_is_not_there_is_null),
        cmocka_unit_test(back_ends_start),
        cmocka_unit_test(bad_families_are_refused),
        cmocka_unit_test(a_family_is_entered_once),
        cmocka_unit_test(a_gpu_is_the_best),
        cmocka_unit_test(a_device_with_a_hole_in_its_table_is_passed_over),
        cmocka_unit_test(threads_enter_the_same_families),
        cmocka_unit_test(no_memory_leaves_the_lists_as_they_are),
        cmocka_unit_test(devices_stand_in_the_order_of_their_families),
        cmocka_unit_test(a_family_comes_with_all_its_devices_or_not_at_all),
        cmocka_unit_test(lists_are_read_while_they_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
