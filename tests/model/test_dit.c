// SPDX-License-Identifier: MIT
// The model that ships against references computed elsewhere in F32 from the same F16 weights
// (docs/model.md).
#include "harness.h"

#include <math.h>

#include "dit.h"
#include "prompt.h"
#include "safetensors.h"
#include "sampler.h"

enum { N_PROMPTS = 16, SIZE = 3 * 32 * 32, BUCKETS = 4096 };

static const char * const prompts[N_PROMPTS] = {
    "smiling cat", "grinning face", "red heart",  "rocket", "pizza",         "dog face", "rainbow", "ghost",
    "rose",        "octopus",       "strawberry", "car",    "sun with face", "snowman",  "robot",   "",
};

static struct safetensors reference;

static void * read_reference(const char * name, size_t bytes) {
    for (int i = 0; i < reference.n; i++) {
        if (strcmp(reference.tensors[i].name, name) != 0) continue;
        assert_int_equal(reference.tensors[i].size, bytes);
        void * data = malloc(bytes);
        assert_true(safetensors_read(&reference, &reference.tensors[i], data));
        return data;
    }
    fail_msg("the references have no '%s'", name);
    return NULL;
}

static int open_reference(void ** state) {
    (void) state;
    return safetensors_open(&reference, TENON_SOURCE_DIR "/tests/model/reference.safetensors") ? 0 : -1;
}

static int close_reference(void ** state) {
    (void) state;
    safetensors_close(&reference);
    return 0;
}

static struct dit load(int n_threads) {
    struct dit m;
    assert_true(dit_load(&m, TENON_SOURCE_DIR "/models/emoji-dit.gguf", n_threads));
    return m;
}

static void set_prompt(struct dit * m, const char * text) {
    struct bag bag;
    assert_true(bag_from_text(&bag, text, m->buckets));
    assert_true(dit_set_prompt(m, &bag));
    bag_free(&bag);
}

// Relative L2 distance of n numbers from the reference.
static double distance(const float * is, const float * should, int n) {
    double difference = 0, norm = 0;
    for (int i = 0; i < n; i++) {
        difference += ((double) is[i] - should[i]) * ((double) is[i] - should[i]);
        norm += (double) should[i] * should[i];
    }
    return sqrt(difference / norm);
}

static void bags_are_those_of_the_references(void ** state) {
    (void) state;
    float * bags = read_reference("bags", sizeof(float) * N_PROMPTS * BUCKETS);
    for (int p = 0; p < N_PROMPTS; p++) {
        struct bag bag;
        float total = 0, found = 0;
        const float * want = bags + p * BUCKETS;
        assert_true(bag_from_text(&bag, prompts[p], BUCKETS));
        for (int i = 0; i < BUCKETS; i++)
            total += want[i];
        for (int i = 0; i < bag.n; i++) {
            assert_float_equal(bag.weights[i], want[bag.ids[i]] / total, 1e-6f);
            found += want[bag.ids[i]];
        }
        assert_true(found == total);
        bag_free(&bag);
    }
    free(bags);
}

static void texts_give_the_condition(void ** state) {
    (void) state;
    struct dit m = load(1);
    float * c_text = read_reference("c_text", sizeof(float) * N_PROMPTS * 256);
    for (int p = 0; p < N_PROMPTS; p++) {
        set_prompt(&m, prompts[p]);
        assert_true(distance(m.condition, c_text + p * 256, 256) < 1e-5);
        assert_true(distance(m.condition + 256, c_text + 15 * 256, 256) < 1e-5);
    }
    free(c_text);
    dit_free(&m);
}

static void one_velocity_is_within_1e_5(void ** state) {
    (void) state;
    struct dit m = load(2);
    float * noise = read_reference("noise", sizeof(float) * N_PROMPTS * SIZE);
    float * velocity = read_reference("velocity", sizeof(float) * N_PROMPTS * SIZE);
    float * empty = read_reference("empty_velocity", sizeof(float) * N_PROMPTS * SIZE);
    float * t = read_reference("t", sizeof(float) * N_PROMPTS);
    float with[SIZE], without[SIZE];
    double worst = 0;
    for (int p = 0; p < N_PROMPTS; p++) {
        set_prompt(&m, prompts[p]);
        assert_true(dit_velocity(&m, noise + p * SIZE, t[p], with, without));
        worst = fmax(worst, distance(with, velocity + p * SIZE, SIZE));
        worst = fmax(worst, distance(without, empty + p * SIZE, SIZE));
    }
    printf("worst velocity: %.3g\n", worst);
    assert_true(worst < 1e-5);
    free(noise);
    free(velocity);
    free(empty);
    free(t);
    dit_free(&m);
}

static int count_near(const float * x, const uint8_t * want) {
    uint8_t rgb[SIZE];
    int near = 0;
    to_pixels(x, 32, rgb);
    for (int i = 0; i < 32 * 32; i++) {
        bool ok = true;
        for (int c = 0; c < 3; c++)
            ok = ok && abs(rgb[3 * i + c] - want[3 * i + c]) <= 2;
        near += ok;
    }
    return near;
}

static void pictures_of_20_steps_are_those_of_the_references(void ** state) {
    (void) state;
    struct dit m = load(2);
    float * noise = read_reference("noise", sizeof(float) * N_PROMPTS * SIZE);
    float * picture = read_reference("picture", sizeof(float) * N_PROMPTS * SIZE);
    uint8_t * picture8 = read_reference("picture8", N_PROMPTS * SIZE);
    const struct sampling s = { .steps = 20, .guidance = 3 };
    const int n = (int) test_rounds(10 * N_PROMPTS) < N_PROMPTS ? 2 : N_PROMPTS; // sanitized runs take two
    double worst = 0;
    int near = 0;
    for (int p = 0; p < n; p++) {
        float * x = noise + p * SIZE;
        set_prompt(&m, prompts[p]);
        assert_true(sample(&m, x, &s));
        worst = fmax(worst, distance(x, picture + p * SIZE, SIZE));
        near += count_near(x, picture8 + p * SIZE);
    }
    printf("%d pictures, worst: %.3g, pixels within 2: %.4f\n", n, worst, near / (1024.0 * n));
    assert_true(worst < 1e-2);
    assert_true(near >= 0.995 * 1024 * n);
    free(noise);
    free(picture);
    free(picture8);
    dit_free(&m);
}

static void threads_change_no_bit(void ** state) {
    (void) state;
    float first[SIZE];
    const struct sampling s = { .steps = 2, .guidance = 3 };
    for (int threads = 1; threads <= 5; threads++) {
        float x[SIZE];
        struct dit m = load(threads);
        set_prompt(&m, "ghost");
        noise_fill(x, SIZE, 42);
        assert_true(sample(&m, x, &s));
        if (threads == 1) memcpy(first, x, sizeof(first));
        assert_memory_equal(first, x, sizeof(first));
        dit_free(&m);
    }
}

static void noise_is_normal_and_of_its_seed(void ** state) {
    (void) state;
    static float a[100001], b[100001];
    double sum = 0, squares = 0;
    noise_fill(a, 100001, 1);
    noise_fill(b, 100001, 1);
    assert_memory_equal(a, b, sizeof(a));
    noise_fill(b, 100001, 2);
    assert_memory_not_equal(a, b, sizeof(a));
    for (int i = 0; i < 100001; i++) {
        sum += a[i];
        squares += (double) a[i] * a[i];
    }
    assert_true(fabs(sum / 100001) < 0.02 && fabs(squares / 100001 - 1) < 0.02);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bags_are_those_of_the_references),
        cmocka_unit_test(texts_give_the_condition),
        cmocka_unit_test(one_velocity_is_within_1e_5),
        cmocka_unit_test(pictures_of_20_steps_are_those_of_the_references),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(noise_is_normal_and_of_its_seed),
    };
    return cmocka_run_group_tests(tests, open_reference, close_reference);
}
