// SPDX-License-Identifier: MIT
// The emoji diffusion transformer: a text-conditioned velocity field over 32 x 32 pictures (docs/model.md).
#ifndef TENON_DIT_H
#define TENON_DIT_H

#include <stdbool.h>
#include <stdint.h>

#include "ggml.h"
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "prompt.h"

struct dit_linear {
    struct ggml_tensor * weight; // [in, out]
    struct ggml_tensor * bias;   // [out] or NULL
};

struct dit_block {
    struct ggml_tensor *norm1, *norm2, *q_norm, *k_norm;
    struct ggml_tensor * table; // [dim, 6]: shift, scale, gate of attention, then of the feed-forward part
    struct dit_linear q, k, v, o, gate, up, down;
};

enum { DIT_MAX_DEPTH = 64 };

struct dit {
    // sizes, from the file's keys
    int image, patch, dim, heads, depth, hidden, buckets;
    float rope_theta, eps;
    int default_steps;
    float default_guidance;
    // weights
    struct dit_linear patch_in, patch_out, time1, time2, text1, text2, mod, final_mod;
    struct ggml_tensor *text_emb, *null_text, *final_norm;
    struct dit_block blocks[DIT_MAX_DEPTH];
    // what owns them
    ggml_backend_t backend;
    struct ggml_context * ctx;
    ggml_backend_buffer_t buffer;
    // the condition of the text: [dim, 2], with the prompt and without
    float * condition;
    // the graph of one step, for two velocities at once
    struct ggml_context * step_ctx;
    struct ggml_cgraph * step_graph;
    ggml_gallocr_t step_memory;
    struct ggml_tensor *in_tokens, *in_time, *in_condition, *in_rows, *in_columns, *out_velocity;
};

// Opens a model file. false: said on stderr; dit_free is fine then too.
bool dit_load(struct dit * m, const char * path, int n_threads);

// The same, for those who plan the graph of a step themselves: it gets no memory, and nothing can be drawn.
bool dit_load_unplanned(struct dit * m, const char * path, int n_threads);

void dit_free(struct dit * m);

// Numbers in a picture: 3 * image * image.
int dit_size(const struct dit * m);

// The prompt of the next calls.
bool dit_set_prompt(struct dit * m, const struct bag * bag);

// x: [3, image, image] at time t in [0, 1]. Velocities with the prompt and with the empty one, same shape.
bool dit_velocity(struct dit * m, const float * x, float t, float * with_prompt, float * without);

#endif
