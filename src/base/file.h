// SPDX-License-Identifier: MIT
// Files with 64-bit positions, and memory mapping.
#ifndef TN_BASE_FILE_H
#define TN_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tn_file_map {
    void * data;
    size_t size;
};

// fopen with a UTF-8 name; NULL with a text that has path and reason.
FILE * tn_file_open(const char * path, const char * mode);

// -1 when the file cannot tell (a pipe).
int64_t tn_file_tell(FILE * file);
bool tn_file_seek(FILE * file, int64_t offset);
// Bytes from the start to the end; the position is kept. -1: unseekable.
int64_t tn_file_size(FILE * file);

// Maps a whole file read-only, private. An empty file gives size 0 and data NULL.
bool tn_file_map(struct tn_file_map * map, const char * path);
void tn_file_unmap(struct tn_file_map * map);

#endif
