// SPDX-License-Identifier: MIT
//
// Model files in the GGUF format, version 3: typed metadata and tensors in one file.
//
//   "GGUF", version u32, number of tensors i64, number of key-values i64
//   key-values   key, type i32, value
//   tensors      name, n_dims u32, ne i64 each, type i32, offset u64
//   data         each tensor's bytes at its offset from here, padded to the alignment
//
// Everything is little-endian and unpadded up to the data, which begins at a multiple of the alignment (key
// general.alignment, else 32) from the magic on. A string is its length u64 and its bytes; an array is its
// element type i32, its length u64 and its elements; a bool is one byte. Arrays of arrays do not exist.
//
// A context describes one file. It is used by one thread at a time for changes, by any number for reading.
// Pointers that are returned belong to it and live until their entry changes or the context is freed.
// Refusals are as in ggml.h: logged, with the text kept for ggml_ext_last_error (ggml-ext.h).
#pragma once

#include "ggml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// clang-format off  (declarations are aligned by hand)

#define GGUF_MAGIC                 "GGUF"
#define GGUF_VERSION               3                   // written; 2 has the same layout and is read
#define GGUF_KEY_GENERAL_ALIGNMENT "general.alignment" // u32, a power of two
#define GGUF_DEFAULT_ALIGNMENT     32                  // bytes

#ifdef __cplusplus
extern "C" {
#endif

struct gguf_context;

enum gguf_type {
    GGUF_TYPE_UINT8   = 0,
    GGUF_TYPE_INT8    = 1,
    GGUF_TYPE_UINT16  = 2,
    GGUF_TYPE_INT16   = 3,
    GGUF_TYPE_UINT32  = 4,
    GGUF_TYPE_INT32   = 5,
    GGUF_TYPE_FLOAT32 = 6,
    GGUF_TYPE_BOOL    = 7,
    GGUF_TYPE_STRING  = 8,
    GGUF_TYPE_ARRAY   = 9,
    GGUF_TYPE_UINT64  = 10,
    GGUF_TYPE_INT64   = 11,
    GGUF_TYPE_FLOAT64 = 12,
    GGUF_TYPE_COUNT   = 13,
};

// =========================================================================================================
// Reading
// =========================================================================================================

struct gguf_init_params {
    bool                   no_alloc; // true: tensors without data
    struct ggml_context ** ctx;      // NULL: descriptions only. Else *ctx becomes a context with a tensor for
                                     //   each entry, which the caller frees by ggml_free in its own time
};

// Copies up to len bytes at the absolute position offset to output and returns how many; fewer than len
// mean that the data ends there. Positions mostly ascend, and many requests are for a few bytes.
typedef size_t (*gguf_reader_callback_t)(void * userdata, void * output, uint64_t offset, size_t len);

// Read a file, or NULL. What is malformed, truncated or foreign is refused with a text that names key or
// tensor, byte position and rule; no input makes them read beyond its end or allocate much more than it is
// long. On failure *params.ctx is NULL if it had been made, else untouched. With params.ctx and not
// no_alloc the tensors' data is read too, into a tensor called "GGUF tensor data binary blob", in which the
// others lie.
//   from_file      the path is UTF-8 on every system
//   from_file_ptr  from the current position to the end; the file stays open, its position somewhere behind
//                  what was read
//   from_buffer    data is copied, and may go afterwards
//   from_callback  requests are of max_chunk_read bytes at most (0: no limit); max_expected_size is an upper
//                  bound of the size, by which absurd lengths are recognised (UINT64_MAX: unknown)
GGML_API struct gguf_context * gguf_init_from_file    (const char * fname, struct gguf_init_params params);
GGML_API struct gguf_context * gguf_init_from_file_ptr(FILE * file, struct gguf_init_params params);
GGML_API struct gguf_context * gguf_init_from_buffer(const void * data, size_t size,
        struct gguf_init_params params);
GGML_API struct gguf_context * gguf_init_from_callback(gguf_reader_callback_t callback, void * userdata,
        size_t max_chunk_read, uint64_t max_expected_size, struct gguf_init_params params);

// An empty context of version 3 and alignment 32, to be filled and written. NULL if memory is not to be
// had.
GGML_API struct gguf_context * gguf_init_empty(void);

// NULL is fine. Contexts that params.ctx received are not touched.
GGML_API void gguf_free(struct gguf_context * ctx);

// Static text such as "u8", "str", "arr"; NULL if there is no such type.
GGML_API const char * gguf_type_name(enum gguf_type type);

// data_offset: where the tensors' data begins, counted from the start of the file, buffer or callback range
// (not from the position of a FILE at which reading began).
GGML_API uint32_t gguf_get_version    (const struct gguf_context * ctx);
GGML_API size_t   gguf_get_alignment  (const struct gguf_context * ctx);
GGML_API size_t   gguf_get_data_offset(const struct gguf_context * ctx);

// =========================================================================================================
// Key-values
// =========================================================================================================
// Ids run from 0 to gguf_get_n_kv - 1 in the order of the file, and change when keys are set or removed. An
// id out of range, or an accessor for another type than the entry has, is refused: with 0, false, NULL or
// GGUF_TYPE_COUNT.

GGML_API int64_t gguf_get_n_kv(const struct gguf_context * ctx);

// The id of a key, compared byte by byte; -1 if it is not there. And the key of an id.
GGML_API int64_t      gguf_find_key(const struct gguf_context * ctx, const char * key);
GGML_API const char * gguf_get_key (const struct gguf_context * ctx, int64_t key_id);

// kv_type: ARRAY for an array, whose elements are of arr_type.
GGML_API enum gguf_type gguf_get_kv_type (const struct gguf_context * ctx, int64_t key_id);
GGML_API enum gguf_type gguf_get_arr_type(const struct gguf_context * ctx, int64_t key_id);

// The value of an entry of exactly this type: nothing is converted.
GGML_API uint8_t      gguf_get_val_u8  (const struct gguf_context * ctx, int64_t key_id);
GGML_API int8_t       gguf_get_val_i8  (const struct gguf_context * ctx, int64_t key_id);
GGML_API uint16_t     gguf_get_val_u16 (const struct gguf_context * ctx, int64_t key_id);
GGML_API int16_t      gguf_get_val_i16 (const struct gguf_context * ctx, int64_t key_id);
GGML_API uint32_t     gguf_get_val_u32 (const struct gguf_context * ctx, int64_t key_id);
GGML_API int32_t      gguf_get_val_i32 (const struct gguf_context * ctx, int64_t key_id);
GGML_API float        gguf_get_val_f32 (const struct gguf_context * ctx, int64_t key_id);
GGML_API uint64_t     gguf_get_val_u64 (const struct gguf_context * ctx, int64_t key_id);
GGML_API int64_t      gguf_get_val_i64 (const struct gguf_context * ctx, int64_t key_id);
GGML_API double       gguf_get_val_f64 (const struct gguf_context * ctx, int64_t key_id);
GGML_API bool         gguf_get_val_bool(const struct gguf_context * ctx, int64_t key_id);
GGML_API const char * gguf_get_val_str (const struct gguf_context * ctx, int64_t key_id);

// The value in memory, of its own size; not for strings and arrays.
GGML_API const void * gguf_get_val_data(const struct gguf_context * ctx, int64_t key_id);

// n: number of elements, 1 for scalars. data: the elements one behind the other, a bool in one byte; not
// for strings. str: the i-th string.
GGML_API size_t       gguf_get_arr_n   (const struct gguf_context * ctx, int64_t key_id);
GGML_API const void * gguf_get_arr_data(const struct gguf_context * ctx, int64_t key_id);
GGML_API const char * gguf_get_arr_str (const struct gguf_context * ctx, int64_t key_id, size_t i);

// =========================================================================================================
// Tensors
// =========================================================================================================
// Ids run from 0 to gguf_get_n_tensors - 1 in the order of the file.

GGML_API int64_t gguf_get_n_tensors(const struct gguf_context * ctx);

// The id of a tensor, -1 if it is not there.
GGML_API int64_t gguf_find_tensor(const struct gguf_context * ctx, const char * name);

// offset: from the beginning of the data. ne: four sizes. size: bytes without padding. An id out of range
// is refused: with 0, NULL or GGML_TYPE_COUNT.
GGML_API size_t          gguf_get_tensor_offset(const struct gguf_context * ctx, int64_t tensor_id);
GGML_API const char *    gguf_get_tensor_name  (const struct gguf_context * ctx, int64_t tensor_id);
GGML_API const int64_t * gguf_get_tensor_ne    (const struct gguf_context * ctx, int64_t tensor_id);
GGML_API enum ggml_type  gguf_get_tensor_type  (const struct gguf_context * ctx, int64_t tensor_id);
GGML_API size_t          gguf_get_tensor_size  (const struct gguf_context * ctx, int64_t tensor_id);

// =========================================================================================================
// Changing
// =========================================================================================================
// What is passed in is copied, a tensor's data excepted. A change that is refused leaves the context as it
// was.

// Removes a key and returns the id it had, -1 if it is not there.
GGML_API int64_t gguf_remove_key(struct gguf_context * ctx, const char * key);

// Set a key; one that exists is removed first, so the key is the last one afterwards. general.alignment has
// to be a power of two in a u32; the offsets of the tensors follow it.
GGML_API void gguf_set_val_u8  (struct gguf_context * ctx, const char * key, uint8_t val);
GGML_API void gguf_set_val_i8  (struct gguf_context * ctx, const char * key, int8_t val);
GGML_API void gguf_set_val_u16 (struct gguf_context * ctx, const char * key, uint16_t val);
GGML_API void gguf_set_val_i16 (struct gguf_context * ctx, const char * key, int16_t val);
GGML_API void gguf_set_val_u32 (struct gguf_context * ctx, const char * key, uint32_t val);
GGML_API void gguf_set_val_i32 (struct gguf_context * ctx, const char * key, int32_t val);
GGML_API void gguf_set_val_f32 (struct gguf_context * ctx, const char * key, float val);
GGML_API void gguf_set_val_u64 (struct gguf_context * ctx, const char * key, uint64_t val);
GGML_API void gguf_set_val_i64 (struct gguf_context * ctx, const char * key, int64_t val);
GGML_API void gguf_set_val_f64 (struct gguf_context * ctx, const char * key, double val);
GGML_API void gguf_set_val_bool(struct gguf_context * ctx, const char * key, bool val);
GGML_API void gguf_set_val_str (struct gguf_context * ctx, const char * key, const char * val);

// The same with n elements; type is neither STRING nor ARRAY, a bool is one byte.
GGML_API void gguf_set_arr_data(struct gguf_context * ctx, const char * key, enum gguf_type type,
        const void * data, size_t n);
GGML_API void gguf_set_arr_str(struct gguf_context * ctx, const char * key, const char ** data, size_t n);

// Sets all keys of src, which is another context.
GGML_API void gguf_set_kv(struct gguf_context * ctx, const struct gguf_context * src);

// Appends a contiguous tensor: name, type, sizes, and where its data is. The data is read when the file is
// written, through the tensor's buffer if it has one. A name that is there already is refused.
GGML_API void gguf_add_tensor(struct gguf_context * ctx, const struct ggml_tensor * tensor);

// Another type, or another place of the data, for a tensor that has been added; later offsets follow. The
// sizes stay, so ne0 has to be whole blocks of the new type; the data is taken as it is, of the new type.
GGML_API void gguf_set_tensor_type(struct gguf_context * ctx, const char * name, enum ggml_type type);
GGML_API void gguf_set_tensor_data(struct gguf_context * ctx, const char * name, const void * data);

// =========================================================================================================
// Writing
// =========================================================================================================

// False on failure (no permission, full disk, a tensor without data), with the reason. only_meta: up to
// where the data begins, padding included. to_file_ptr writes at the current position, from which padding
// is counted, and leaves the file open behind the last byte.
GGML_API bool gguf_write_to_file    (const struct gguf_context * ctx, const char * fname, bool only_meta);
GGML_API bool gguf_write_to_file_ptr(const struct gguf_context * ctx, FILE * file, bool only_meta);

// The bytes that only_meta would write, for programs that stream the data themselves: write as many zeros,
// then the data, each tensor padded to the alignment, and come back with these. data has room for
// gguf_get_meta_size bytes.
GGML_API size_t gguf_get_meta_size(const struct gguf_context * ctx);
GGML_API void   gguf_get_meta_data(const struct gguf_context * ctx, void * data);

#ifdef __cplusplus
}
#endif
