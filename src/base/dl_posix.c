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

static bool within(uint64_t offset, uint64_t size, uint64_t file_size) {
    return size <= file_size && offset <= file_size - size;
}

// Does the file hold all the bytes that segments are to be filled with?
static bool has_segments(FILE * file, const ElfW(Ehdr) * head, uint64_t size) {
    for (unsigned i = 0; i < head->e_phnum; i++) {
        ElfW(Phdr) segment;
        if (!read_at(file, head->e_phoff + i * sizeof(segment), &segment, sizeof(segment))) return false;
        if (!within(segment.p_offset, segment.p_filesz, size)) return false;
    }
    return true;
}

// The table of sections is of no use to the loader, but linkers write it last: where room for a file was
// made before its bytes came, and they did not all come, it is empty.
static bool has_end(FILE * file, const ElfW(Ehdr) * head, uint64_t size) {
    if (head->e_shoff == 0 || head->e_shnum == 0 || head->e_shstrndx >= head->e_shnum) return true;
    ElfW(Shdr) names;
    return within(head->e_shoff, head->e_shnum * sizeof(names), size) &&
           read_at(file, head->e_shoff + head->e_shstrndx * sizeof(names), &names, sizeof(names)) &&
           names.sh_type == SHT_STRTAB;
}

static bool check_image(FILE * file, const char * path, uint64_t size) {
    ElfW(Ehdr) head;
    if (!read_at(file, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return tn_refuse("%s: not a library", path);
    const bool ours = head.e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
    if (!ours || head.e_phentsize != sizeof(ElfW(Phdr))) return true; // the loader says what is wrong
    if (has_segments(file, &head, size) && has_end(file, &head, size)) return true;
    return tn_refuse("%s: the file is not complete, with its %llu bytes", path, (unsigned long long) size);
}
#else
static bool check_image(FILE * file, const char * path, uint64_t size) {
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
    const bool ok = check_image(file, path, (uint64_t) st.st_size);
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
