// SPDX-License-Identifier: MIT
// Reading a model file: description first, memory on the back end, then the data, tensor by tensor.
#include "dit_load.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ggml-ext.h"
#include "gguf.h"
#include "tenon.h"

struct loader {
    struct dit * m;
    const char * path;
    struct gguf_context * file;
    bool ok; // the first complaint has been made when false
};

static void refuse(struct loader * l, const char * fmt, ...) __attribute__((format(printf, 2, 3)));

static void refuse(struct loader * l, const char * fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (l->ok) complain("%s: %s", l->path, text);
    l->ok = false;
}

static int64_t find_key(struct loader * l, const char * name, enum gguf_type type) {
    char key[128];
    snprintf(key, sizeof(key), "emoji-dit.%s", name);
    const int64_t id = gguf_find_key(l->file, key);
    if (id < 0) refuse(l, "the key '%s' is missing", key);
    if (id >= 0 && gguf_get_kv_type(l->file, id) != type) {
        refuse(l, "the key '%s' is %s, not %s", key, gguf_type_name(gguf_get_kv_type(l->file, id)),
               gguf_type_name(type));
    }
    return l->ok ? id : -1;
}

static int size_of(struct loader * l, const char * name, int64_t lowest, int64_t highest) {
    const int64_t id = find_key(l, name, GGUF_TYPE_UINT32);
    const int64_t value = id >= 0 ? gguf_get_val_u32(l->file, id) : 0;
    if (l->ok && (value < lowest || value > highest)) {
        refuse(l, "'%s' is %lld, must be %lld to %lld", name, (long long) value, (long long) lowest,
               (long long) highest);
    }
    return (int) value;
}

static float number_of(struct loader * l, const char * name, float lowest, float highest) {
    const int64_t id = find_key(l, name, GGUF_TYPE_FLOAT32);
    const float value = id >= 0 ? gguf_get_val_f32(l->file, id) : 0;
    if (l->ok && !(value >= lowest && value <= highest)) {
        refuse(l, "'%s' is %g, must be %g to %g", name, (double) value, (double) lowest, (double) highest);
    }
    return value;
}

static void read_sizes(struct loader * l) {
    struct dit * m = l->m;
    const int64_t id = gguf_find_key(l->file, "general.architecture");
    const bool text = id >= 0 && gguf_get_kv_type(l->file, id) == GGUF_TYPE_STRING;
    const char * architecture = text ? gguf_get_val_str(l->file, id) : "";
    if (strcmp(architecture, "emoji-dit") != 0) {
        refuse(l, "the architecture is '%.60s', only 'emoji-dit' can be drawn with", architecture);
        return;
    }
    m->image = size_of(l, "image", 1, 1024);
    m->patch = size_of(l, "patch", 1, 64);
    m->dim = size_of(l, "dim", 2, 16384);
    m->heads = size_of(l, "heads", 1, 1024);
    m->depth = size_of(l, "depth", 1, DIT_MAX_DEPTH);
    m->hidden = size_of(l, "hidden", 1, 65536);
    m->buckets = size_of(l, "buckets", 1, PROMPT_MAX_BUCKETS);
    m->default_steps = size_of(l, "steps", 1, 1000);
    m->rope_theta = number_of(l, "rope_theta", 1.0f, 1e9f);
    m->eps = number_of(l, "eps", 0.0f, 1.0f);
    m->default_guidance = number_of(l, "guidance", 0.0f, 100.0f);
    if (l->ok && (m->image % m->patch || m->dim % m->heads || m->dim / m->heads % 4)) {
        refuse(l, "sizes do not divide: image %d, patch %d, dim %d, heads %d", m->image, m->patch, m->dim,
               m->heads);
    }
}

// The tensor of this name, which must have these sizes.
static struct ggml_tensor * tensor(struct loader * l, const char * name, int64_t ne0, int64_t ne1) {
    struct ggml_tensor * t = ggml_get_tensor(l->m->ctx, name);
    if (!t) {
        refuse(l, "the tensor '%s' is missing", name);
    } else if (t->ne[0] != ne0 || t->ne[1] != ne1 || t->ne[2] != 1 || t->ne[3] != 1) {
        refuse(l, "the tensor '%s' is [%lld, %lld, %lld, %lld], must be [%lld, %lld]", name,
               (long long) t->ne[0], (long long) t->ne[1], (long long) t->ne[2], (long long) t->ne[3],
               (long long) ne0, (long long) ne1);
    }
    return t;
}

// Norms, biases and tables take part in element-wise operations, which want f32.
static struct ggml_tensor * vectors(struct loader * l, const char * name, int64_t ne0, int64_t ne1) {
    struct ggml_tensor * t = tensor(l, name, ne0, ne1);
    if (t && t->type != GGML_TYPE_F32)
        refuse(l, "the tensor '%s' is %s, must be f32", name, ggml_type_name(t->type));
    return t;
}

static struct dit_linear linear(struct loader * l, const char * name, int64_t in, int64_t out, bool bias) {
    char text[128];
    struct dit_linear r = { 0 };
    snprintf(text, sizeof(text), "%s.weight", name);
    r.weight = tensor(l, text, in, out);
    snprintf(text, sizeof(text), "%s.bias", name);
    if (bias) r.bias = vectors(l, text, out, 1);
    return r;
}

static void find_block(struct loader * l, int i) {
    const struct dit * m = l->m;
    struct dit_block * b = &l->m->blocks[i];
    char name[64];
    const int dim = m->dim, head = m->dim / m->heads;
    const struct {
        const char * name;
        struct ggml_tensor ** to;
        int64_t ne0, ne1;
    } small[] = {
        { "norm1", &b->norm1, dim, 1 },    { "norm2", &b->norm2, dim, 1 }, { "q_norm", &b->q_norm, head, 1 },
        { "k_norm", &b->k_norm, head, 1 }, { "table", &b->table, dim, 6 },
    };
    const struct {
        const char * name;
        struct dit_linear * to;
        int64_t in, out;
    } linears[] = {
        { "q", &b->q, dim, dim },
        { "k", &b->k, dim, dim },
        { "v", &b->v, dim, dim },
        { "o", &b->o, dim, dim },
        { "gate", &b->gate, dim, m->hidden },
        { "up", &b->up, dim, m->hidden },
        { "down", &b->down, m->hidden, dim },
    };
    for (size_t j = 0; j < sizeof(small) / sizeof(small[0]); j++) {
        snprintf(name, sizeof(name), "blocks.%d.%s", i, small[j].name);
        *small[j].to = vectors(l, name, small[j].ne0, small[j].ne1);
    }
    for (size_t j = 0; j < sizeof(linears) / sizeof(linears[0]); j++) {
        snprintf(name, sizeof(name), "blocks.%d.%s", i, linears[j].name);
        *linears[j].to = linear(l, name, linears[j].in, linears[j].out, false);
    }
}

static void find_tensors(struct loader * l) {
    struct dit * m = l->m;
    const int token = 3 * m->patch * m->patch;
    m->patch_in = linear(l, "patch_in", token, m->dim, true);
    m->patch_out = linear(l, "patch_out", m->dim, token, true);
    m->time1 = linear(l, "time1", m->dim, m->dim, true);
    m->time2 = linear(l, "time2", m->dim, m->dim, true);
    m->text1 = linear(l, "text1", m->dim, m->dim, true);
    m->text2 = linear(l, "text2", m->dim, m->dim, true);
    m->mod = linear(l, "mod", m->dim, 6 * (int64_t) m->dim, true);
    m->final_mod = linear(l, "final_mod", m->dim, 2 * (int64_t) m->dim, true);
    m->text_emb = tensor(l, "text_emb.weight", m->dim, m->buckets);
    m->null_text = vectors(l, "null_text", m->dim, 1);
    m->final_norm = vectors(l, "final_norm", m->dim, 1);
    for (int i = 0; l->ok && i < m->depth; i++)
        find_block(l, i);
}

static void read_tensor(struct loader * l, FILE * in, struct ggml_tensor * t, char * block, size_t size) {
    const int64_t id = gguf_find_tensor(l->file, ggml_get_name(t));
    const size_t n = ggml_nbytes(t), at = gguf_get_data_offset(l->file) + gguf_get_tensor_offset(l->file, id);
    if (fseeko(in, (off_t) at, SEEK_SET) != 0) refuse(l, "cannot be positioned: %s", strerror(errno));
    for (size_t done = 0; l->ok && done < n; done += size) {
        const size_t part = n - done < size ? n - done : size;
        if (fread(block, 1, part, in) != part) {
            refuse(l, "the data of tensor '%s' end early: the file is truncated", ggml_get_name(t));
            return;
        }
        ggml_backend_tensor_set(t, block, done, part);
    }
}

static void read_data(struct loader * l) {
    enum { STEP = 1 << 20 };
    FILE * in = fopen(l->path, "rb");
    char * block = malloc(STEP);
    if (!in || !block) refuse(l, "%s", strerror(errno));
    for (struct ggml_tensor * t = ggml_get_first_tensor(l->m->ctx); l->ok && t;
         t = ggml_get_next_tensor(l->m->ctx, t)) {
        read_tensor(l, in, t, block, STEP);
    }
    free(block);
    if (in) fclose(in);
}

// A pipe could make the program wait for ever, and a folder gives a poor reason.
static bool is_file(struct loader * l) {
    struct stat st;
    if (stat(l->path, &st) != 0) {
        refuse(l, "%s", strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        refuse(l, "is no regular file");
    }
    return l->ok;
}

static const char * without_prefix(const char * text, const char * prefix) {
    const size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 && strncmp(text + n, ": ", 2) == 0 ? text + n + 2 : text;
}

bool dit_load_weights(struct dit * m, const char * path) {
    struct loader l = { .m = m, .path = path, .ok = true };
    const struct gguf_init_params params = { .no_alloc = true, .ctx = &m->ctx };
    if (is_file(&l)) l.file = gguf_init_from_file(path, params);
    if (l.ok && !l.file) refuse(&l, "%s", without_prefix(ggml_ext_last_error(), path));
    if (l.ok) read_sizes(&l);
    if (l.ok) find_tensors(&l);
    if (l.ok) m->buffer = ggml_backend_alloc_ctx_tensors(m->ctx, m->backend);
    if (l.ok && !m->buffer) refuse(&l, "no memory for the weights: %s", ggml_ext_last_error());
    if (l.ok) read_data(&l);
    gguf_free(l.file);
    return l.ok;
}
