// SPDX-License-Identifier: MIT
// Where bytes come from: a FILE, memory, or a callback. All readers share one parser that sees a window.
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/file.h"
#include "gguf/gguf_int.h"
#include "gguf/limits.h"

// Returns how many bytes there were.
static size_t read_file_at(struct tn_gguf_source * s, uint64_t pos, void * out, size_t n) {
    if (pos != s->file_pos && !tn_file_seek(s->file, (int64_t) pos)) return 0;
    const size_t got = fread(out, 1, n, s->file);
    s->file_pos = pos + got;
    return got;
}

// No more than TN_GGUF_WINDOW bytes, through the window.
static bool read_file_window(struct tn_gguf_source * s, uint64_t pos, void * out, size_t n) {
    if (pos < s->window_pos || pos - s->window_pos > s->window_size ||
        s->window_size - (pos - s->window_pos) < n) {
        s->window_size = read_file_at(s, pos, s->window, tn_min_size(TN_GGUF_WINDOW, s->end - pos));
        s->window_pos = pos;
        if (s->window_size < n) return false;
    }
    memcpy(out, s->window + (pos - s->window_pos), n);
    return true;
}

static bool read_file(struct tn_gguf_source * s, uint64_t pos, void * out, size_t n) {
    return n > TN_GGUF_WINDOW ? read_file_at(s, pos, out, n) == n : read_file_window(s, pos, out, n);
}

static bool read_memory(struct tn_gguf_source * s, uint64_t pos, void * out, size_t n) {
    memcpy(out, s->memory + pos, n);
    return true;
}

static bool read_callback(struct tn_gguf_source * s, uint64_t pos, void * out, size_t n) {
    while (n > 0) {
        const size_t part = s->max_chunk ? tn_min_size(n, s->max_chunk) : n;
        if (s->callback(s->userdata, out, pos, part) != part) return false;
        out = (char *) out + part;
        pos += part;
        n -= part;
    }
    return true;
}

bool tn_source_from_file(struct tn_gguf_source * s, FILE * file, char * window) {
    const int64_t here = tn_file_tell(file), size = tn_file_size(file);
    if (here < 0 || size < here) return tn_refuse("the file cannot be positioned");
    *s = (struct tn_gguf_source){ .read = read_file, .file = file, .window = window };
    s->start = s->pos = s->file_pos = (uint64_t) here;
    s->end = (uint64_t) size;
    return true;
}

struct tn_gguf_source tn_source_from_memory(const void * data, size_t size) {
    return (struct tn_gguf_source){ .read = read_memory, .memory = data, .end = size };
}

uint64_t tn_source_left(const struct tn_gguf_source * s) {
    return s->end - s->pos;
}

bool tn_source_read(struct tn_gguf_source * s, void * out, size_t n, const char * what) {
    if (n == 0) return true;
    if (n > tn_source_left(s)) {
        return tn_refuse("byte %" PRIu64 ": %s of %zu bytes ends beyond the data, %" PRIu64 " are left",
                         s->pos, what, n, tn_source_left(s));
    }
    if (!s->read(s, s->pos, out, n))
        return tn_refuse("byte %" PRIu64 ": cannot read %s of %zu bytes", s->pos, what, n);
    s->pos += n;
    return true;
}

struct gguf_context * gguf_init_from_callback(gguf_reader_callback_t callback, void * userdata,
                                              size_t max_chunk_read, uint64_t max_expected_size,
                                              struct gguf_init_params params) {
    if (!callback) {
        tn_error_set("gguf_init_from_callback: the callback is NULL");
        return NULL;
    }
    struct tn_gguf_source s = { .read = read_callback, .callback = callback, .userdata = userdata };
    s.max_chunk = max_chunk_read;
    s.end = max_expected_size;
    return tn_reader_run(&s, params);
}
