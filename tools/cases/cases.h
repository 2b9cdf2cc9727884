// SPDX-License-Identifier: MIT
// Stored cases: sources, a program of builder calls as JSON text, expected outputs (tests/vectors/README.md
// has the format). read.c reads them, program.c parses programs, build.c makes calls and graph.c graphs of
// them, through the public interface. Files may come from anywhere: what is wrong is told, with a text.
#ifndef TENON_CASES_H
#define TENON_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ggml.h"

enum {
    VEC_VERSION = 1,
    VEC_MAX_SRC = 64,
    VEC_MAX_OUT = 32,
    VEC_MAX_CALL = 256,
    VEC_MAX_ARG = 24,
    VEC_N_PARAMS = GGML_MAX_OP_PARAMS / sizeof(int32_t),
    VEC_MSG = 256, // room for a text
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
    int32_t params[VEC_N_PARAMS];
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

// ---- read.c

struct vec_file;
// NULL with a text in `msg`.
struct vec_file * vec_open(const char * path, char msg[VEC_MSG]);
int vec_count(const struct vec_file * f);
// Borrows from f. false with a text in `msg`: there is no such case, or it is broken.
bool vec_read(const struct vec_file * f, int i, struct vec_case * c, char msg[VEC_MSG]);
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
    struct ggml_context * ctx_base; // stored tensors: a context of their own, allocated first
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

// ---- graph.c

// Contexts without data, and the graph. false with a text in `msg`; vec_free is wanted then too.
bool vec_build(const struct vec_case * c, const struct vec_prog * prog, struct vec_env * e,
               char msg[VEC_MSG]);
void vec_free(struct vec_env * e);
// Output i, NULL: there is no such tensor.
struct ggml_tensor * vec_output(struct vec_env * e, const struct vec_case * c, int i);

#endif
