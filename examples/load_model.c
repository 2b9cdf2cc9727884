// SPDX-License-Identifier: MIT
// Maps a model file into memory and computes with its weights where they lie: nothing is copied.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml.h"
#include "gguf.h"

// The folder of Tenon's sources, for a call without an argument.
#ifndef TENON_SOURCE_DIR
#    define TENON_SOURCE_DIR "."
#endif

struct model {
    void * map;
    size_t size;
    struct gguf_context * file;
    struct ggml_context * ctx; // one tensor for each in the file
    ggml_backend_buffer_t buffer;
};

static bool map_file(struct model * m, const char * path) {
    struct stat st;
    const int fd = open(path, O_RDONLY);
    bool ok = fd >= 0 && fstat(fd, &st) == 0;
    if (ok) {
        m->size = (size_t) st.st_size;
        m->map = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, fd, 0);
        ok = m->map != MAP_FAILED;
    }
    if (!ok) ggml_ext_refuse("cannot be mapped: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return ok;
}

// The back end wraps the mapped bytes as a buffer; each tensor is placed at its offset in it.
static bool place_tensors(struct model * m, ggml_backend_dev_t device) {
    const size_t start = gguf_get_data_offset(m->file);
    m->buffer = ggml_backend_dev_buffer_from_host_ptr(device, m->map, m->size, m->size);
    if (!m->buffer) return false;
    for (struct ggml_tensor * t = ggml_get_first_tensor(m->ctx); t; t = ggml_get_next_tensor(m->ctx, t)) {
        const size_t offset = start + gguf_get_tensor_offset(m->file, gguf_find_tensor(m->file, t->name));
        if (offset > m->size || ggml_nbytes(t) > m->size - offset) {
            ggml_ext_refuse("the data of '%s' end beyond the file: truncated?", t->name);
            return false;
        }
        if (ggml_backend_tensor_alloc(m->buffer, t, (char *) m->map + offset) != GGML_STATUS_SUCCESS)
            return false;
    }
    return true;
}

// The sum of the first matrix's first row, found by a graph.
static bool compute(const struct model * m, ggml_backend_t backend) {
    struct ggml_tensor * w = ggml_get_first_tensor(m->ctx);
    while (w && ggml_n_dims(w) < 2)
        w = ggml_get_next_tensor(m->ctx, w);
    if (!w) {
        ggml_ext_refuse("there is no matrix in it");
        return false;
    }
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 20, .no_alloc = true });
    struct ggml_tensor * x = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, w->ne[0]);
    struct ggml_tensor * y = ggml_mul_mat(ctx, w, x);
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, y);
    ggml_gallocr_t memory = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
    bool ok = ggml_gallocr_alloc_graph(memory, graph);
    const float one = 1.0f;
    for (int64_t i = 0; ok && i < w->ne[0]; i++)
        ggml_backend_tensor_set(x, &one, (size_t) i * sizeof(one), sizeof(one));
    ok = ok && ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS;
    if (ok) {
        float first;
        ggml_backend_tensor_get(y, &first, 0, sizeof(first));
        printf("%s: %s [%lld, %lld], the sum of its first row is %g\n", ggml_type_name(w->type), w->name,
               (long long) w->ne[0], (long long) w->ne[1], (double) first);
    }
    ggml_gallocr_free(memory);
    ggml_free(ctx);
    return ok;
}

int main(int argc, char ** argv) {
    const char * path = argc > 1 ? argv[1] : TENON_SOURCE_DIR "/models/emoji-dit.gguf";
    struct model m = { 0 };
    ggml_backend_t backend = ggml_backend_cpu_init();
    bool ok = backend && map_file(&m, path);
    if (ok) {
        const struct gguf_init_params params = { .no_alloc = true, .ctx = &m.ctx };
        m.file = gguf_init_from_buffer(m.map, m.size, params);
        ok = m.file && place_tensors(&m, ggml_backend_get_device(backend)) && compute(&m, backend);
    }
    if (!ok) fprintf(stderr, "%s: %s\n", path, ggml_ext_last_error());
    ggml_backend_buffer_free(m.buffer);
    ggml_free(m.ctx);
    gguf_free(m.file);
    ggml_backend_free(backend);
    if (m.map && m.map != MAP_FAILED) munmap(m.map, m.size);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
