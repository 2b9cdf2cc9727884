// SPDX-License-Identifier: MIT
// Euler steps of the rectified flow with classifier-free guidance.
#include "sampler.h"

#include <math.h>
#include <stdlib.h>

#include "tenon.h"

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
static uint64_t next_random(uint64_t * state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// In (0, 1], so that its logarithm is finite.
static double next_uniform(uint64_t * state) {
    return ((double) (next_random(state) >> 11) + 1.0) * 0x1p-53;
}

void noise_fill(float * x, int n, uint64_t seed) {
    uint64_t state = seed;
    for (int i = 0; i < n; i += 2) { // Box and Muller's pairs
        const double radius = sqrt(-2.0 * log(next_uniform(&state)));
        const double angle = 6.283185307179586 * next_uniform(&state);
        x[i] = (float) (radius * cos(angle));
        if (i + 1 < n) x[i + 1] = (float) (radius * sin(angle));
    }
}

static bool is_finite(const float * x, int n) {
    for (int i = 0; i < n; i++) {
        if (!isfinite(x[i])) return false;
    }
    return true;
}

bool sample(struct dit * m, float * x, const struct sampling * s) {
    const int n = dit_size(m);
    float * velocities = malloc(2 * (size_t) n * sizeof(float));
    if (!velocities) return complain("out of memory"), false;
    float *with = velocities, *without = velocities + n;
    bool ok = true;
    for (int i = 0; ok && i < s->steps; i++) {
        ok = dit_velocity(m, x, (float) i / (float) s->steps, with, without);
        for (int j = 0; ok && j < n; j++)
            x[j] += (without[j] + s->guidance * (with[j] - without[j])) / (float) s->steps;
        if (ok && !is_finite(x, n)) {
            complain("step %d gives numbers that are not finite: the weights are broken", i + 1);
            ok = false;
        }
        if (ok && s->on_step) s->on_step(s->data, i + 1);
    }
    free(velocities);
    return ok;
}

void to_pixels(const float * x, int size, uint8_t * rgb) {
    const int plane = size * size;
    for (int i = 0; i < 3 * plane; i++) {
        const float v = (x[i % 3 * plane + i / 3] + 1.0f) * 127.5f;
        rgb[i] = (uint8_t) (v > 0.0f ? (v < 255.0f ? nearbyintf(v) : 255.0f) : 0.0f); // a NaN becomes 0
    }
}
