// SPDX-License-Identifier: MIT
// base/thread_posix.c: threads, mutual exclusion, conditions, once, affinity.
#include "harness.h"

#include <sched.h>

#include "base/error.h"
#include "base/thread.h"

struct shared {
    struct tn_mutex mutex;
    struct tn_cond changed;
    long counter;
    int turn;
};

static struct tn_once once = TN_ONCE_INIT;
static int once_runs;

static void run_once(void) {
    once_runs++;
}

static void * add(void * arg) {
    struct shared * s = arg;
    tn_once(&once, run_once);
    for (int i = 0; i < 20000; i++) {
        tn_mutex_lock(&s->mutex);
        s->counter++;
        tn_mutex_unlock(&s->mutex);
        if (i % 5000 == 0) tn_thread_yield();
    }
    return NULL;
}

static void a_mutex_excludes(void ** state) {
    (void) state;
    struct shared s = { 0 };
    struct tn_thread threads[4];
    assert_true(tn_mutex_init(&s.mutex));
    for (int i = 0; i < 4; i++)
        assert_true(tn_thread_start(&threads[i], add, &s));
    for (int i = 0; i < 4; i++)
        tn_thread_join(&threads[i]);
    assert_int_equal(s.counter, 80000);
    assert_int_equal(once_runs, 1);
    tn_mutex_free(&s.mutex);
}

static void * answer(void * arg) {
    struct shared * s = arg;
    for (int i = 0; i < 1000; i++) {
        tn_mutex_lock(&s->mutex);
        while (s->turn != 1)
            tn_cond_wait(&s->changed, &s->mutex);
        s->turn = 0;
        s->counter++;
        tn_cond_wake_one(&s->changed);
        tn_mutex_unlock(&s->mutex);
    }
    return NULL;
}

static void conditions_hand_over(void ** state) {
    (void) state;
    struct shared s = { .mutex = TN_MUTEX_INIT, .changed = TN_COND_INIT };
    struct tn_thread thread;
    assert_true(tn_thread_start(&thread, answer, &s));
    for (int i = 0; i < 1000; i++) {
        tn_mutex_lock(&s.mutex);
        while (s.turn != 0)
            tn_cond_wait(&s.changed, &s.mutex);
        assert_int_equal(s.counter, i);
        s.turn = 1;
        tn_cond_wake_all(&s.changed);
        tn_mutex_unlock(&s.mutex);
    }
    tn_thread_join(&thread);
    assert_int_equal(s.counter, 1000);
    tn_cond_free(&s.changed);
    assert_true(tn_cond_init(&s.changed));
    tn_cond_free(&s.changed);
    tn_thread_relax();
}

static void affinity(void ** state) {
    (void) state;
    cpu_set_t before, after;
    bool mask[CPU_SETSIZE] = { false };
    assert_true(tn_thread_cpu_count() >= 1);
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    assert_true(tn_thread_set_affinity(mask, CPU_SETSIZE)); // none: nothing changes
    sched_getaffinity(0, sizeof(after), &after);
    assert_true(CPU_EQUAL(&before, &after));
    int first = 0;
    while (!CPU_ISSET(first, &before))
        first++;
    mask[first] = true;
    assert_true(tn_thread_set_affinity(mask, first + 1));
    sched_getaffinity(0, sizeof(after), &after);
    assert_int_equal(CPU_COUNT(&after), 1);
    assert_true(CPU_ISSET(first, &after));
    bool read[CPU_SETSIZE];
    assert_true(tn_thread_get_affinity(read, CPU_SETSIZE));
    assert_memory_equal(read, mask, sizeof(read));
    assert_int_equal(tn_thread_cpu(), first);
    sched_setaffinity(0, sizeof(before), &before);
    mask[first] = false;
    mask[CPU_SETSIZE - 1] = true;
    assert_false(tn_thread_set_affinity(mask, CPU_SETSIZE)); // no such processor
}

static void priorities(void ** state) {
    (void) state;
    static const enum ggml_sched_priority all[] = { GGML_SCHED_PRIO_LOW, GGML_SCHED_PRIO_MEDIUM,
                                                    GGML_SCHED_PRIO_HIGH, GGML_SCHED_PRIO_REALTIME };
    struct tn_schedule before, wanted, now;
    assert_true(tn_thread_get_schedule(&before));
    assert_false(tn_thread_schedule_of(GGML_SCHED_PRIO_NORMAL, &wanted));
    for (int i = 0; i < 4; i++) {
        assert_true(tn_thread_schedule_of(all[i], &wanted));
        if (!tn_thread_set_schedule(&wanted)) { // those above normal are not for everyone
            assert_true(i > 0);
            assert_contains(tn_error_text(), "priority");
            continue;
        }
        assert_true(tn_thread_get_schedule(&now));
        assert_int_equal(now.policy, wanted.policy);
        assert_int_equal(now.priority, wanted.priority);
        assert_true(tn_thread_set_schedule(&before));
    }
    assert_true(tn_thread_get_schedule(&now));
    assert_int_equal(now.policy, before.policy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mutex_excludes),
        cmocka_unit_test(conditions_hand_over),
        cmocka_unit_test(affinity),
        cmocka_unit_test(priorities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
