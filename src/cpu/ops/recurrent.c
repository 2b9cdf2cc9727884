// SPDX-License-Identifier: MIT
// The walk of recurrences: an item is one head of one sequence, its tokens in order. The new state is brought
// forward in its place in the result.
#include "cpu/ops/recurrent_int.h"

#include <string.h>

#include "cpu/require.h"

enum { COST = 2 }; // of an element of the state

struct walk {
    int64_t n, heads, tokens; // tokens of one sequence
    int n_in;
    const float * in[TN_RECURRENT_INPUTS];
    int64_t in_step[TN_RECURRENT_INPUTS]; // from token to token; 0: the same for all
    const float * old;
    float * states;
    float * y;
    tn_recurrent_fn step;
    float scale;
};

static void run_head(const struct walk * w, int64_t sequence, int64_t head) {
    const int64_t area = w->n * w->n, at = (sequence * w->heads + head) * area;
    struct tn_recurrent_step s = { .n = w->n, .state = w->states + at, .scale = w->scale };
    memcpy(s.state, w->old + at, (size_t) area * sizeof(float));
    for (int64_t t = sequence * w->tokens; t < (sequence + 1) * w->tokens; t++) {
        for (int i = 0; i < w->n_in; i++)
            s.in[i] = w->in[i] + t * w->in_step[i] + head * w->n;
        s.y = w->y + (t * w->heads + head) * w->n;
        w->step(&s);
    }
}

static void run_part(const void * arg, const struct tn_cpu_part * part) {
    const struct walk * w = arg;
    for (int64_t i = part->begin; i < part->end; i++)
        run_head(w, i / w->heads, i % w->heads);
}

enum ggml_status tn_recurrent_run(struct tn_cpu_run * run, struct ggml_tensor * node, int state,
                                  tn_recurrent_fn step, float scale) {
    const struct ggml_tensor * x = node->src[0];
    const int64_t sequences = node->src[state]->ne[1];
    struct walk w = {
        .n = x->ne[0],
        .heads = x->ne[1],
        .tokens = x->ne[2] / sequences,
        .n_in = state,
        .old = node->src[state]->data,
        .states = (float *) node->data + x->ne[0] * x->ne[1] * x->ne[2],
        .y = node->data,
        .step = step,
        .scale = scale,
    };
    for (int i = 0; i < state; i++) {
        w.in[i] = node->src[i]->data;
        w.in_step[i] = node->src[i]->ne[2] > 1 ? w.heads * w.n : 0;
    }
    const int64_t cost = COST * w.n * w.n * (w.tokens + 1);
    tn_cpu_run_parts(run, w.heads * sequences, cost, (struct tn_cpu_work){ run_part, &w });
    return GGML_STATUS_SUCCESS;
}

bool tn_recurrent_supports(const struct ggml_tensor * node, int state) {
    return tn_require_type(node, 0, state, GGML_TYPE_F32) && tn_require_f32_result(node);
}
