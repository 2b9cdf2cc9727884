// SPDX-License-Identifier: MIT
// Dynamic libraries on POSIX systems.
#include "base/dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"

#ifdef __ELF__
#include <link.h>

static bool read_at(FILE * file, uint64_t offset, void * to, size_t size) {
    return offset <= INT64_MAX && tn_file_seek(file, (int64_t) offset) && fread(to, 1, size, file) == size;
}

// Does the file hold all the bytes that a segment is to be filled with?
static bool holds(const ElfW(Phdr) * segment, uint64_t size) {
    return segment->p_filesz <= size && segment->p_offset <= size - segment->p_filesz;
}

static bool check_segments(FILE * file, const char * path, uint64_t size) {
    ElfW(Ehdr) head;
    if (!read_at(file, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return tn_refuse("%s: not a library", path);
    const bool ours = head.e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
    if (!ours || head.e_phentsize != sizeof(ElfW(Phdr))) return true; // the loader says what is wrong
    for (unsigned i = 0; i < head.e_phnum; i++) {
        ElfW(Phdr) segment;
        if (!read_at(file, head.e_phoff + i * sizeof(segment), &segment, sizeof(segment)) ||
            !holds(&segment, size)) {
            return tn_refuse("%s: the file ends too early, at %llu bytes", path, (unsigned long long) size);
        }
    }
    return true;
}
#else
static bool check_segments(FILE * file, const char * path, uint64_t size) {
    (void) file;
    return size > 0 || tn_refuse("%s: not a library", path);
}
#endif

static bool check_file(const char * path) {
    struct stat st;
    if (stat(path, &st) != 0) return tn_refuse("%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return tn_refuse("%s: not a regular file", path);
    FILE * file = tn_file_open(path, "rb");
    if (!file) return false;
    const bool ok = check_segments(file, path, (uint64_t) st.st_size);
    fclose(file);
    return ok;
}

void * tn_dl_open(const char * path) {
    if (strchr(path, '/') && !check_file(path)) return NULL;
    void * library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
    const char * reason = dlerror(); // says path and reason, as a rule
    const bool named = reason && strstr(reason, path);
    tn_error_set("%s%s%s", named ? "" : path, named ? "" : ": ", reason ? reason : "cannot be opened");
    return NULL;
}

void tn_dl_close(void * library) {
    if (library) dlclose(library);
}

// Addresses of functions and of objects are the same here.
bool tn_dl_find(void * library, const char * name, void * function_at) {
    void * symbol = dlsym(library, name);
    memcpy(function_at, &symbol, sizeof(symbol));
    return symbol != NULL;
}
