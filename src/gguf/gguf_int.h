// SPDX-License-Identifier: MIT
// What the files of this folder share: values, the context, sources of bytes.
#ifndef TN_GGUF_GGUF_INT_H
#define TN_GGUF_GGUF_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "ggml.h"
#include "gguf.h"

// ---- values (value.c)

// A scalar is an array of one element. Strings lie in `data` one behind the other, each with a terminator
// that is not part of it; text i is ends[i] .. ends[i + 1] - 1.
struct tn_gguf_value {
    enum gguf_type type; // of the elements
    bool is_array;
    size_t n;
    char * data;
    size_t size;     // bytes of data
    uint64_t * ends; // strings only: n + 1 offsets
};

struct tn_gguf_kv {
    char * key;
    struct tn_gguf_value value;
};

// Bytes of an element; 0 for strings, arrays and unknown types.
size_t tn_value_type_size(enum gguf_type type);
void tn_value_free(struct tn_gguf_value * v);
// Each fills *v with copies. false: no memory, or no such type (text set).
bool tn_value_set(struct tn_gguf_value * v, enum gguf_type type, bool is_array, const void * data, size_t n);
bool tn_value_set_strings(struct tn_gguf_value * v, bool is_array, const char * const * texts, size_t n);
bool tn_value_copy(struct tn_gguf_value * to, const struct tn_gguf_value * from);
const char * tn_value_string(const struct tn_gguf_value * v, size_t i, size_t * len);

// ---- names to ids (names.c)

struct tn_gguf_names {
    int64_t * slots; // id + 1, 0: free
    size_t n_slots;  // power of two, 0: empty
    size_t count;
};

// The name of entry `id`; how the index reads the names without owning them.
typedef const char * (*tn_gguf_name_of)(const struct gguf_context * ctx, int64_t id);

int64_t tn_names_find(const struct tn_gguf_names * names, const struct gguf_context * ctx,
                      tn_gguf_name_of name_of, const char * name);
// id's name must not be in the index. false: no memory.
bool tn_names_add(struct tn_gguf_names * names, const struct gguf_context * ctx, tn_gguf_name_of name_of,
                  int64_t id);
// Forgets everything and adds ids 0 .. n-1. Needs no more memory than there is already.
void tn_names_rebuild(struct tn_gguf_names * names, const struct gguf_context * ctx, tn_gguf_name_of name_of,
                      int64_t n);
void tn_names_free(struct tn_gguf_names * names);

// ---- tensors (tensor_info.c)

struct tn_gguf_tensor {
    char * name;
    enum ggml_type type;
    int64_t ne[GGML_MAX_DIMS];
    uint64_t offset; // from the start of the data section
    size_t size;     // bytes without padding
    const void * data;
    struct ggml_backend_buffer * buffer;
    const struct ggml_tensor * source; // where the data are read through a buffer
};

// Sets `size` from type and ne. false with a text.
bool tn_tensor_info_measure(struct tn_gguf_tensor * t);
// Appends, giving the offset; takes over t->name on success. false with a text: duplicate, no memory,
// overflow.
bool tn_tensor_info_add(struct gguf_context * ctx, const struct tn_gguf_tensor * t);
// Offsets of all tensors from their sizes and the alignment. false: overflow, offsets unchanged.
bool tn_tensor_info_layout(struct gguf_context * ctx);
const char * tn_tensor_info_name(const struct gguf_context * ctx, int64_t id);

// ---- the context (gguf.c)

struct gguf_context {
    uint32_t version;
    size_t alignment;
    size_t data_offset;
    TN_ARRAY(struct tn_gguf_kv) kv;
    TN_ARRAY(struct tn_gguf_tensor) tensors;
    struct tn_gguf_names key_names;
    struct tn_gguf_names tensor_names;
    uint64_t data_size; // of the data section, padded
};

const char * tn_gguf_key_name(const struct gguf_context * ctx, int64_t id);
// Appends; takes over key and value on success only. The key must be new and not empty. false: no memory.
bool tn_gguf_append(struct gguf_context * ctx, char * key, const struct tn_gguf_value * value);
// Is this value a usable general.alignment? false with a text.
bool tn_gguf_check_alignment(const struct tn_gguf_value * value);

// ---- where bytes come from (source.c)

struct tn_gguf_source {
    // Exactly n bytes at absolute position pos. false: not available.
    bool (*read)(struct tn_gguf_source * s, uint64_t pos, void * out, size_t n);
    uint64_t start; // of the magic
    uint64_t end;   // no byte at or beyond this
    uint64_t pos;
    FILE * file;
    uint64_t file_pos; // where the FILE stands, to seek only when it must
    char * window;     // bytes window_pos .. window_pos + window_size - 1 of the file
    uint64_t window_pos;
    size_t window_size;
    const char * memory;
    gguf_reader_callback_t callback;
    void * userdata;
    size_t max_chunk;
};

// window: TN_GGUF_WINDOW bytes that s borrows.
bool tn_source_from_file(struct tn_gguf_source * s, FILE * file, char * window);
struct tn_gguf_source tn_source_from_memory(const void * data, size_t size);
uint64_t tn_source_left(const struct tn_gguf_source * s);
// Reads and advances. false with a text that names `what` and the position.
bool tn_source_read(struct tn_gguf_source * s, void * out, size_t n, const char * what);

// ---- reading (reader.c)

struct gguf_context * tn_reader_run(struct tn_gguf_source * s, struct gguf_init_params params);

#endif
