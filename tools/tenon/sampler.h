// SPDX-License-Identifier: MIT
// Noise, the steps of the rectified flow, and pixels.
#ifndef TENON_SAMPLER_H
#define TENON_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "dit.h"

struct sampling {
    int steps;
    float guidance;
    void (*on_step)(void * data, int done); // may be NULL
    void * data;
};

// n normal numbers that depend on the seed alone, on every machine.
void noise_fill(float * x, int n, uint64_t seed);

// x: noise on entry, the picture [3, image, image] in about [-1, 1] at the end. false: said on stderr.
bool sample(struct dit * m, float * x, const struct sampling * s);

// [3, size, size] to bytes, rows from the top, three bytes a pixel.
void to_pixels(const float * x, int size, uint8_t * rgb);

#endif
