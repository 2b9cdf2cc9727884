// SPDX-License-Identifier: MIT
// train/shuffle.c: the orders that std::shuffle of libstdc++ makes with a new std::mt19937, one set after the
// other; numbers from GCC 12 and Clang 14.
#include "harness.h"

#include "train/shuffle_int.h"

static const struct order {
    int64_t n;
    uint64_t hash; // FNV-1a over items
    int64_t first[5];
} orders[] = {
    { 1, 0x44bd2bd473ccf799, { 0 } },
    { 2, 0x9a691200c548b748, { 0, 1 } },
    { 5, 0x526b8f6fc61e57f5, { 2, 0, 1, 4, 3 } },
    { 10, 0xc6cd215894d143c2, { 2, 8, 0, 7, 4 } },
    { 1000, 0x8e0e1ac82c8fac1b, { 491, 761, 472, 278, 538 } },
    { 65535, 0xe7137c6f327d01d0, { 13253, 15962, 55003, 54907, 6909 } },
    { 65536, 0x537772a2a3f6e4c5, { 62959, 32350, 28863, 32285, 7016 } },
    { 70000, 0x1ec46cc4ee4e1a8d, { 8895, 69273, 13957, 35493, 66057 } },
};

static int64_t items[70000];

static uint64_t hash(int64_t n) {
    uint64_t h = 1469598103934665603u;
    for (int64_t i = 0; i < n; i++)
        h = (h ^ (uint64_t) items[i]) * 1099511628211u;
    return h;
}

static void count_up(int64_t n) {
    for (int64_t i = 0; i < n; i++)
        items[i] = i;
}

static void same_as_the_standard_library(void ** state) {
    (void) state;
    struct tn_shuffle s;
    tn_shuffle_init(&s);
    for (size_t k = 0; k < sizeof(orders) / sizeof(orders[0]); k++) {
        const struct order * o = &orders[k];
        count_up(o->n);
        tn_shuffle_items(&s, items, o->n);
        for (int64_t i = 0; i < o->n && i < 5; i++)
            assert_int_equal(items[i], o->first[i]);
        assert_true(hash(o->n) == o->hash);
    }
}

static void nothing_to_shuffle(void ** state) {
    (void) state;
    struct tn_shuffle s, same;
    tn_shuffle_init(&s);
    tn_shuffle_init(&same);
    tn_shuffle_items(&s, NULL, 0);
    count_up(1);
    tn_shuffle_items(&s, items, 1);
    assert_memory_equal(&s, &same, sizeof(s)); // and nothing is drawn
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_the_standard_library),
        cmocka_unit_test(nothing_to_shuffle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
