// SPDX-License-Identifier: MIT
// Files and memory mapping on POSIX systems.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "ggml.h"

FILE * tn_file_open(const char * path, const char * mode) {
    FILE * file = fopen(path, mode);
    if (!file) tn_error_set("%s: %s", path, strerror(errno));
    return file;
}

int64_t tn_file_tell(FILE * file) {
    return ftello(file);
}

bool tn_file_seek(FILE * file, int64_t offset) {
    return fseeko(file, offset, SEEK_SET) == 0;
}

int64_t tn_file_size(FILE * file) {
    const off_t here = ftello(file);
    if (here < 0 || fseeko(file, 0, SEEK_END) != 0) return -1;
    const off_t end = ftello(file);
    if (fseeko(file, here, SEEK_SET) != 0) return -1;
    return end;
}

static bool map_descriptor(struct tn_file_map * map, int fd, const char * path) {
    struct stat st;
    if (fstat(fd, &st) != 0) return tn_refuse("%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return tn_refuse("%s: not a regular file", path);
    *map = (struct tn_file_map) { .data = NULL, .size = (size_t) st.st_size };
    if (map->size == 0) return true;
    void * data = mmap(NULL, map->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return tn_refuse("%s: cannot map: %s", path, strerror(errno));
    map->data = data;
    return true;
}

bool tn_file_map(struct tn_file_map * map, const char * path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return tn_refuse("%s: %s", path, strerror(errno));
    const bool ok = map_descriptor(map, fd, path);
    close(fd); // the mapping keeps the file
    return ok;
}

void tn_file_unmap(struct tn_file_map * map) {
    if (map->data) munmap(map->data, map->size);
    *map = (struct tn_file_map) { 0 };
}

FILE * ggml_fopen(const char * fname, const char * mode) {
    if (fname && mode) return fopen(fname, mode);
    errno = EINVAL;
    return NULL;
}
