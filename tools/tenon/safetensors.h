// SPDX-License-Identifier: MIT
// Reading files of the safetensors format: a JSON description, then the data.
#ifndef TENON_SAFETENSORS_H
#define TENON_SAFETENSORS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ggml.h"

struct safetensor {
    char * name;
    enum ggml_type type;
    int n_dims;
    int64_t ne[GGML_MAX_DIMS]; // fastest first: the reverse of the file's shape
    uint64_t offset, size;     // in the file
};

struct safetensors {
    FILE * file;
    int n;
    struct safetensor * tensors; // in the order of their data
};

// false: said on stderr.
bool safetensors_open(struct safetensors * s, const char * path);
void safetensors_close(struct safetensors * s);
bool safetensors_read(const struct safetensors * s, const struct safetensor * t, void * data);

// A whole file as JSON; NULL: said on stderr. Free with cJSON_Delete.
struct cJSON * json_from_file(const char * path);

#endif
