// SPDX-License-Identifier: MIT
// Reading the metadata of a model file: 1,000 tensors, a vocabulary of 150,000 strings with scores and types.
// The file is written to a temporary place first. Exit status 1 if the budget is missed.
#include <string.h>
#include <unistd.h>

#include "ggml.h"
#include "gguf.h"
#include "measure.h"

enum {
    N_TENSORS = 1000,
    N_STRINGS = 150000,
    N_RUNS = 21,
};

static const double BUDGET_MS = 30;

static void fail(const char * what) {
    fprintf(stderr, "bench gguf: %s\n", what);
    exit(2);
}

// Strings of 2 to 12 bytes, as the pieces of words in a vocabulary.
static void add_vocabulary(struct gguf_context * gguf) {
    char * texts = calloc(N_STRINGS, 16);
    const char ** strings = calloc(N_STRINGS, sizeof(*strings));
    float * scores = calloc(N_STRINGS, sizeof(*scores));
    int32_t * types = calloc(N_STRINGS, sizeof(*types));
    if (!texts || !strings || !scores || !types) fail("no memory");
    for (int i = 0; i < N_STRINGS; i++) {
        char * text = texts + (size_t) i * 16;
        snprintf(text, 16, "%0*d", 2 + i % 11, i);
        strings[i] = text;
        scores[i] = (float) -i;
        types[i] = 1;
    }
    gguf_set_arr_str(gguf, "tokenizer.ggml.tokens", strings, N_STRINGS);
    gguf_set_arr_data(gguf, "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores, N_STRINGS);
    gguf_set_arr_data(gguf, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types, N_STRINGS);
    free(types);
    free(scores);
    free(strings);
    free(texts);
}

static void add_tensors(struct gguf_context * gguf, struct ggml_context * ctx) {
    static const char * const parts[] = { "attn_q", "attn_k",   "attn_v",   "attn_output", "attn_norm",
                                          "ffn_up", "ffn_gate", "ffn_down", "ffn_norm",    "rope" };
    for (int i = 0; i < N_TENSORS; i++) {
        struct ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 32, 2);
        ggml_format_name(t, "blk.%d.%s.weight", i / 10, parts[i % 10]);
        memset(t->data, 0, ggml_nbytes(t));
        gguf_add_tensor(gguf, t);
    }
}

static void write_model(const char * path) {
    struct gguf_context * gguf = gguf_init_empty();
    const size_t size = N_TENSORS * (ggml_tensor_overhead() + 32 * 2 * sizeof(float));
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = size });
    if (!gguf || !ctx) fail("no memory");
    gguf_set_val_str(gguf, "general.architecture", "bench");
    add_vocabulary(gguf);
    add_tensors(gguf, ctx);
    if (!gguf_write_to_file(gguf, path, false)) fail("cannot write the temporary file");
    ggml_free(ctx);
    gguf_free(gguf);
}

static void read_model(void * path) {
    struct ggml_context * ctx = NULL;
    struct gguf_context * gguf =
        gguf_init_from_file(path, (struct gguf_init_params){ .no_alloc = true, .ctx = &ctx });
    if (!gguf || gguf_get_n_tensors(gguf) != N_TENSORS || gguf_get_n_kv(gguf) != 4)
        fail("cannot read the file");
    ggml_free(ctx);
    gguf_free(gguf);
}

int main(void) {
    const char * dir = getenv("TMPDIR");
    char path[4096];
    snprintf(path, sizeof(path), "%s/tenon-bench-XXXXXX", dir ? dir : "/tmp");
    const int fd = mkstemp(path);
    if (fd < 0) fail("cannot make a temporary file");
    close(fd);
    write_model(path);
    const struct bench_times t = bench_run(read_model, path, N_RUNS);
    unlink(path);
    printf("{\"bench\": \"gguf_metadata\", \"tensors\": %d, \"strings\": %d, ", N_TENSORS, N_STRINGS);
    return bench_print_times(t, BUDGET_MS) ? 0 : 1;
}
