// SPDX-License-Identifier: MIT
// Trains a network of two layers on handwritten digits and counts how many others it reads right.
//
//     example-train_digits [FOLDER]      with the four IDX files, packed by gzip or not; needs zlib
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "ggml-alloc.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml-opt.h"

// The folder of Tenon's sources, for a call without an argument.
#ifndef TENON_SOURCE_DIR
#    define TENON_SOURCE_DIR "."
#endif

enum { PIXELS = 28 * 28, CLASSES = 10, HIDDEN = 128, BATCH = 50, EPOCHS = 6 };

static void fail(const char * what) {
    fprintf(stderr, "%s: %s\n", what, ggml_ext_last_error());
    exit(1);
}

// `size` bytes behind the head of an IDX file.
static unsigned char * read_idx(const char * folder, const char * name, unsigned head, unsigned size) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s.gz", folder, name);
    gzFile file = gzopen(path, "rb");
    unsigned char * bytes = malloc(head + size);
    if (!file || !bytes) ggml_ext_refuse("%s", strerror(errno));
    else if (gzread(file, bytes, head + size) == (int) (head + size)) return gzclose(file), bytes;
    else ggml_ext_refuse("there are not %u bytes in it, or it is broken", head + size);
    fail(path);
    return NULL;
}

// Pixels from 0 to 1, labels as probabilities of the ten classes.
static ggml_opt_dataset_t load(const char * folder, const char * images, const char * labels, unsigned n) {
    ggml_opt_dataset_t ds = ggml_opt_dataset_init(GGML_TYPE_F32, GGML_TYPE_F32, PIXELS, CLASSES, n, 1);
    if (!ds) fail("data set");
    unsigned char * pixels = read_idx(folder, images, 16, n * PIXELS);
    unsigned char * digits = read_idx(folder, labels, 8, n);
    float * data = ggml_get_data_f32(ggml_opt_dataset_data(ds));
    float * probabilities = ggml_get_data_f32(ggml_opt_dataset_labels(ds));
    for (unsigned i = 0; i < n * PIXELS; i++) data[i] = (float) pixels[16 + i] / 255.0f;
    for (unsigned i = 0; i < n * CLASSES; i++)
        probabilities[i] = digits[8 + i / CLASSES] == i % CLASSES ? 1.0f : 0.0f;
    free(digits);
    free(pixels);
    return ds;
}

static struct ggml_tensor * parameter(struct ggml_context * ctx, int64_t n_in, int64_t n_out) {
    struct ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, n_in, n_out);
    ggml_set_param(t);
    return t;
}

static void fill(struct ggml_tensor * t) {
    const float bound = t->ne[1] > 1 ? sqrtf(6.0f / (float) t->ne[0]) : 0.0f; // biases start at 0
    for (int64_t i = 0; i < ggml_nelements(t); i++)
        ggml_get_data_f32(t)[i] = bound * (2.0f * (float) rand() / (float) RAND_MAX - 1.0f);
}

int main(int argc, char ** argv) {
    const char * folder = argc > 1 ? argv[1] : TENON_SOURCE_DIR "/tests/train/digits";
    ggml_opt_dataset_t train = load(folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", 9000);
    ggml_opt_dataset_t test = load(folder, "test-images-idx3-ubyte", "test-labels-idx1-ubyte", 1000);
    ggml_backend_t cpu = ggml_backend_cpu_init();
    ggml_backend_sched_t sched = ggml_backend_sched_new(&cpu, NULL, 1, GGML_DEFAULT_GRAPH_SIZE, false, true);

    // Parameters and inputs have memory of their own; the rest of the graph gets it from the scheduler.
    const struct ggml_init_params size = { .mem_size = 1 << 20, .no_alloc = true };
    struct ggml_context * ctx = ggml_init(size), * compute = ggml_init(size);
    struct ggml_tensor * inputs = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, PIXELS, BATCH);
    struct ggml_tensor * params[] = { parameter(ctx, PIXELS, HIDDEN), parameter(ctx, HIDDEN, 1),
                                      parameter(ctx, HIDDEN, CLASSES), parameter(ctx, CLASSES, 1) };
    ggml_backend_buffer_t memory = ggml_backend_alloc_ctx_tensors(ctx, cpu);
    if (!memory) fail("parameters");
    for (int i = 0; i < 4; i++) fill(params[i]);
    struct ggml_tensor * x = ggml_add(compute, ggml_mul_mat(compute, params[0], inputs), params[1]);
    x = ggml_relu(compute, x);
    struct ggml_tensor * outputs = ggml_add(compute, ggml_mul_mat(compute, params[2], x), params[3]);

    // A tenth of the digits is kept from training and shows how far it is.
    ggml_opt_fit(sched, compute, inputs, outputs, train, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY,
        GGML_OPT_OPTIMIZER_TYPE_ADAMW, ggml_opt_get_default_optimizer_params, EPOCHS, BATCH, 0.1f, false);

    struct ggml_opt_params p = ggml_opt_default_params(sched, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY);
    p.ctx_compute = compute;
    p.inputs = inputs;
    p.outputs = outputs;
    p.build_type = GGML_OPT_BUILD_TYPE_FORWARD;
    ggml_opt_context_t opt = ggml_opt_init(p);
    ggml_opt_result_t result = ggml_opt_result_init();
    double accuracy = 0.0, unc = 0.0;
    if (!opt || !result) fail("evaluation");
    ggml_opt_epoch(opt, test, NULL, result, 0, NULL, NULL);
    ggml_opt_result_accuracy(result, &accuracy, &unc);
    printf("%.1f +- %.1f %% of the test digits are read right\n", 100.0 * accuracy, 100.0 * unc);

    ggml_opt_result_free(result);
    ggml_opt_free(opt);
    ggml_backend_buffer_free(memory);
    ggml_free(compute);
    ggml_free(ctx);
    ggml_backend_sched_free(sched);
    ggml_backend_free(cpu);
    ggml_opt_dataset_free(test);
    ggml_opt_dataset_free(train);
    return accuracy > 0.9 ? 0 : 1;
}
