// SPDX-License-Identifier: MIT
// Recurrences over tokens with a matrix of state for each head, shared by rwkv.c and linear_attn.c.
#ifndef TN_CPU_OPS_RECURRENT_INT_H
#define TN_CPU_OPS_RECURRENT_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/run.h"
#include "ggml.h"

enum { TN_RECURRENT_INPUTS = 6 };

// One token of one head: n numbers of each input, the state [n][n] to bring forward, and n outputs.
struct tn_recurrent_step {
    int64_t n;
    const float * in[TN_RECURRENT_INPUTS]; // of src0, src1, ... up to the state's source
    float * state;
    float * y;
    float scale;
};

typedef void (*tn_recurrent_fn)(const struct tn_recurrent_step * step);

// Of a node whose result is outputs [S*H, T] and then new states, and whose source `state` holds the old
// ones. Calls step for every token and head. Heads of different sequences are computed independently.
enum ggml_status tn_recurrent_run(struct tn_cpu_run * run, struct ggml_tensor * node, int state,
                                  tn_recurrent_fn step, float scale);

// All sources up to the state, and the result, are f32.
bool tn_recurrent_supports(const struct ggml_tensor * node, int state);

#endif
