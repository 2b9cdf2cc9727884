// SPDX-License-Identifier: MIT
// Test vectors: what a stored case is, and the steps of replaying it through the public interface.
//
// A file of vectors is a GGUF file with numbered cases: sources, a program of builder calls as JSON text, and
// the outputs that are expected (README.md beside this header has the format). read.c reads cases, program.c
// parses programs, build.c makes graphs of them, run.c computes, convert.c does the cases that need no graph,
// compare.c judges, check_vectors.c counts.
#ifndef TN_TESTS_VECTORS_H
#define TN_TESTS_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ggml-backend.h"
#include "ggml.h"

enum {
    VEC_VERSION = 1,
    VEC_MAX_SRC = 64,
    VEC_MAX_OUT = 32,
    VEC_MAX_CALL = 256,
    VEC_MAX_ARG = 24,
    VEC_N_PARAMS = GGML_MAX_OP_PARAMS / sizeof(int32_t),
};

// How an output is compared with the stored one.
enum vec_cmp {
    VEC_CMP_NMSE, // sum((a-b)^2)/sum(a^2) within the case's bound; infinities agree
    VEC_CMP_BITS, // every byte equal
    VEC_CMP_SET,  // rows of i32 equal up to order
};

struct vec_src {
    char tensor[64]; // name of the stored tensor; empty: the source has no elements
    enum ggml_type type;
    int64_t base_ne[4]; // shape of the stored tensor, which is contiguous
    const void * data;  // its bytes
    int64_t ne[4];      // what the builder is given: a view of it
    size_t nb[4];
    size_t offset;
};

struct vec_out {
    char ref[32]; // "rN", "sN" (the whole stored tensor) or "grad:sN"
    enum ggml_type type;
    int64_t ne[4];
    size_t nb[4]; // strides of the result tensor
    void * data;  // elements in logical order, densely packed
    size_t size;
};

struct vec_case {
    const char * op;
    const char * name;
    const char * args; // the program
    const int32_t * params;
    float nmse;
    enum vec_cmp cmp;
    int n_src;
    struct vec_src src[VEC_MAX_SRC];
    int n_out;
    struct vec_out out[VEC_MAX_OUT];
};

struct vec_arg {
    double num; // if it is a number
    char str[64];
};

struct vec_call {
    int n; // arg[0] is the builder's name
    struct vec_arg arg[VEC_MAX_ARG];
};

struct vec_prog {
    int n;
    struct vec_call call[VEC_MAX_CALL];
};

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
    char msg[256];                   // why it is not right
};

// ---- read.c: ends the program when the file is not what it should be

struct vec_file;
struct vec_file * vec_open(const char * path);
int vec_count(const struct vec_file * f);
void vec_read(const struct vec_file * f, int i, struct vec_case * c); // borrows from f
void vec_close(struct vec_file * f);

// ---- program.c

bool vec_parse(const char * json, struct vec_prog * prog);
bool vec_is_backward(const struct vec_prog * prog);
// The program calls a type conversion: no graph, no back end.
bool vec_is_conversion(const struct vec_prog * prog);
enum ggml_type vec_type_by_name(const char * name); // GGML_TYPE_COUNT if unknown

// ---- build.c

struct vec_env {
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    int n_src, n_res;
    struct ggml_tensor * src[VEC_MAX_SRC];  // as the builders see it
    struct ggml_tensor * base[VEC_MAX_SRC]; // the stored tensor underneath
    struct ggml_tensor * res[VEC_MAX_CALL];
    bool bad;     // a reference to something that is not there
    bool refused; // a setter that tells returned false
};

struct ggml_tensor * vec_lookup(struct vec_env * e, const char * ref);
// One call of the public interface. NULL: the builder refuses, or is not known (e->bad).
struct ggml_tensor * vec_build_call(struct vec_env * e, const struct vec_call * c);
// Source s as a view of its stored tensor.
struct ggml_tensor * vec_build_src(struct ggml_context * ctx, struct ggml_tensor * base,
                                   const struct vec_src * s);

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
