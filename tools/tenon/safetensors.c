// SPDX-License-Identifier: MIT
// Reading safetensors files; everything in them is checked against the file's size.
#include "safetensors.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tenon.h"

enum { MAX_HEADER = 100 << 20, MAX_JSON = 64 << 20 };

static const struct {
    const char * name;
    enum ggml_type type;
} dtypes[] = {
    { "F64", GGML_TYPE_F64 }, { "F32", GGML_TYPE_F32 }, { "F16", GGML_TYPE_F16 }, { "BF16", GGML_TYPE_BF16 },
    { "I64", GGML_TYPE_I64 }, { "I32", GGML_TYPE_I32 }, { "I16", GGML_TYPE_I16 }, { "I8", GGML_TYPE_I8 },
};

static bool type_from_name(const char * name, enum ggml_type * type) {
    for (size_t i = 0; name && i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        if (strcmp(dtypes[i].name, name) != 0) continue;
        *type = dtypes[i].type;
        return true;
    }
    return false;
}

// A whole number as JSON has them: doubles.
static bool whole(const cJSON * item, double highest, uint64_t * out) {
    if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > highest) return false;
    if (item->valuedouble != floor(item->valuedouble)) return false;
    *out = (uint64_t) item->valuedouble;
    return true;
}

static const char * read_shape(struct safetensor * t, const cJSON * shape) {
    t->n_dims = cJSON_IsArray(shape) ? cJSON_GetArraySize(shape) : -1;
    if (t->n_dims < 0 || t->n_dims > GGML_MAX_DIMS) return "its shape is no array of up to 4 sizes";
    for (int i = 0; i < GGML_MAX_DIMS; i++)
        t->ne[i] = 1;
    for (int i = 0; i < t->n_dims; i++) {
        uint64_t size;
        if (!whole(cJSON_GetArrayItem(shape, i), 0x1p40, &size)) return "its shape has a size that is none";
        t->ne[t->n_dims - 1 - i] = (int64_t) size;
    }
    return NULL;
}

// Number of bytes that the shape needs; false when it overflows.
static bool bytes_of(const struct safetensor * t, uint64_t * out) {
    uint64_t n = ggml_type_size(t->type);
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (__builtin_mul_overflow(n, (uint64_t) t->ne[i], &n)) return false;
    }
    *out = n;
    return true;
}

// NULL, or what is wrong. begin and end of the data count from `base`.
static const char * read_entry(struct safetensor * t, const cJSON * item, uint64_t base, uint64_t file_size) {
    uint64_t begin, end, wanted;
    const cJSON * offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
    if (cJSON_GetArraySize(offsets) != 2 || !cJSON_IsArray(offsets)) return "it has no data_offsets";
    if (!type_from_name(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "dtype")), &t->type)) {
        return "its dtype is not one of F64 F32 F16 BF16 I64 I32 I16 I8";
    }
    const char * wrong = read_shape(t, cJSON_GetObjectItemCaseSensitive(item, "shape"));
    if (wrong) return wrong;
    if (!whole(cJSON_GetArrayItem(offsets, 0), 0x1p52, &begin) ||
        !whole(cJSON_GetArrayItem(offsets, 1), 0x1p52, &end)) {
        return "it has no data_offsets";
    }
    if (begin > end || end > file_size - base) return "its data end beyond the file: truncated?";
    if (!bytes_of(t, &wanted) || wanted != end - begin) return "its data_offsets do not fit its shape";
    t->offset = base + begin;
    t->size = wanted;
    return NULL;
}

static int by_offset(const void * a, const void * b) {
    const struct safetensor *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool read_entries(struct safetensors * s, const cJSON * header, uint64_t base, uint64_t size,
                         const char * path) {
    const cJSON * item;
    s->tensors = calloc((size_t) cJSON_GetArraySize(header) + 1, sizeof(*s->tensors));
    if (!s->tensors) return complain("out of memory"), false;
    cJSON_ArrayForEach(item, header) {
        if (strcmp(item->string, "__metadata__") == 0) continue;
        struct safetensor * t = &s->tensors[s->n];
        const char * wrong = read_entry(t, item, base, size);
        if (wrong) return complain("%s: tensor '%.100s': %s", path, item->string, wrong), false;
        t->name = strdup(item->string);
        if (!t->name) return complain("out of memory"), false;
        s->n++;
    }
    qsort(s->tensors, (size_t) s->n, sizeof(*s->tensors), by_offset);
    return true;
}

static bool read_header(struct safetensors * s, const char * path) {
    uint64_t n;
    if (fseeko(s->file, 0, SEEK_END) != 0) return complain("%s: %s", path, strerror(errno)), false;
    const off_t size = ftello(s->file);
    rewind(s->file);
    if (size < 8 || fread(&n, sizeof(n), 1, s->file) != 1 || n > MAX_HEADER || n > (uint64_t) size - 8) {
        return complain("%s: no safetensors file: its header is longer than the file", path), false;
    }
    char * text = malloc(n + 1);
    const bool read = text && fread(text, 1, n, s->file) == n;
    cJSON * header = read ? cJSON_ParseWithLength(text, n) : NULL;
    free(text);
    const bool ok = cJSON_IsObject(header)
                        ? read_entries(s, header, 8 + n, (uint64_t) size, path)
                        : (complain("%s: no safetensors file: its header is no JSON", path), false);
    cJSON_Delete(header);
    return ok;
}

// A pipe could make the program wait for ever, and a folder gives a poor reason.
static FILE * open_regular(const char * path) {
    struct stat st;
    if (stat(path, &st) != 0) return complain("%s: %s", path, strerror(errno)), NULL;
    if (!S_ISREG(st.st_mode)) return complain("%s: is no regular file", path), NULL;
    FILE * file = fopen(path, "rb");
    if (!file) complain("%s: %s", path, strerror(errno));
    return file;
}

bool safetensors_open(struct safetensors * s, const char * path) {
    *s = (struct safetensors){ .file = open_regular(path) };
    if (s->file && read_header(s, path)) return true;
    safetensors_close(s);
    return false;
}

void safetensors_close(struct safetensors * s) {
    for (int i = 0; i < s->n; i++)
        free(s->tensors[i].name);
    free(s->tensors);
    if (s->file) fclose(s->file);
    *s = (struct safetensors){ 0 };
}

bool safetensors_read(const struct safetensors * s, const struct safetensor * t, void * data) {
    return fseeko(s->file, (off_t) t->offset, SEEK_SET) == 0 && fread(data, 1, t->size, s->file) == t->size;
}

cJSON * json_from_file(const char * path) {
    FILE * file = open_regular(path);
    if (!file) return NULL;
    char * text = malloc(MAX_JSON + 1);
    const size_t n = text ? fread(text, 1, MAX_JSON + 1, file) : 0;
    const bool read = text && !ferror(file) && n <= MAX_JSON;
    cJSON * json = read ? cJSON_ParseWithLength(text, n) : NULL;
    free(text);
    fclose(file);
    if (!json) complain("%s: no JSON%s", path, n > MAX_JSON ? ": larger than 64 MB" : "");
    return json;
}
