// SPDX-License-Identifier: MIT
// Test vectors: replaying stored cases (tools/cases) through the public interface.
//
// run.c computes, convert.c does the cases that need no graph, compare.c judges, check_vectors.c counts.
#ifndef TN_TESTS_VECTORS_H
#define TN_TESTS_VECTORS_H

#include "cases.h"
#include "ggml-backend.h"

enum vec_alloc {
    VEC_ALLOC_CTX,   // every tensor has memory of its own; programs with a backward pass always use this
    VEC_ALLOC_GRAPH, // ggml_gallocr: intermediate results share memory
};

enum vec_status {
    VEC_OK,          // outputs computed
    VEC_UNSUPPORTED, // the back end says that it does not do this
    VEC_ERROR,       // something failed
};

struct vec_result {
    enum vec_status status;
    bool pass;                       // all outputs are right
    double err;                      // the largest error of an output: NMSE, or 0 or 1
    double ours, stored;             // of encoders that search: weighted squared errors of the two encodings
    struct vec_out got[VEC_MAX_OUT]; // the caller frees data
    int32_t params[VEC_N_PARAMS];    // op_params of the first output's node
    char msg[VEC_MSG];               // why it is not right
};

// ---- convert.c, run.c: fill r->status, r->got and, unless all went well, r->msg

void vec_convert(const struct vec_case * c, const struct vec_prog * prog, struct vec_result * r);
void vec_run(const struct vec_case * c, const struct vec_prog * prog, ggml_backend_t backend,
             enum vec_alloc alloc, struct vec_result * r);
float * vec_to_f32(enum ggml_type type, const void * data, int64_t n); // the caller frees it

// ---- compare.c: fills r->pass, r->err, r->ours and r->stored, and r->msg

// An encoder of this type searches, so that another encoding is as right as the stored one if it is as good.
bool vec_is_search(const struct vec_case * c, enum ggml_type type);
void vec_compare(const struct vec_case * c, struct vec_result * r);

#endif
