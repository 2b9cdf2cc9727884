// SPDX-License-Identifier: MIT
// Files that appear under their name only when they are complete.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenon.h"

static bool fail(const struct output * out) {
    complain("%s: %s", out->path, strerror(errno));
    return false;
}

bool output_open(struct output * out, const char * path) {
    struct stat st;
    *out = (struct output){ .file = NULL };
    if (path[0] == '\0' || strlen(path) >= sizeof(out->path)) {
        complain("the output's path is %s", path[0] ? "too long" : "empty");
        return false;
    }
    strcpy(out->path, path);
    const bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) {
        complain("%s: is a folder", path);
        return false;
    }
    if (exists && !S_ISREG(st.st_mode)) { // a device or a pipe has no name to be exchanged
        out->file = fopen(path, "wb");
        return out->file ? true : fail(out);
    }
    if (exists && access(path, W_OK) != 0) return fail(out);
    snprintf(out->temporary, sizeof(out->temporary), "%s.XXXXXX", path);
    const int fd = mkstemp(out->temporary);
    if (fd < 0) {
        out->temporary[0] = '\0';
        return fail(out);
    }
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, exists ? st.st_mode & 0777 : 0666 & ~mask);
    out->file = fdopen(fd, "wb");
    if (out->file) return true;
    close(fd);
    fail(out);
    output_discard(out);
    return false;
}

bool output_commit(struct output * out) {
    // A full disk may show only when the last bytes leave the buffer.
    const bool flushed = fflush(out->file) == 0 && !ferror(out->file);
    const bool closed = fclose(out->file) == 0;
    out->file = NULL;
    if (flushed && closed && (!out->temporary[0] || rename(out->temporary, out->path) == 0)) return true;
    fail(out);
    output_discard(out);
    return false;
}

void output_discard(struct output * out) {
    if (out->file) fclose(out->file);
    if (out->temporary[0]) unlink(out->temporary);
    out->file = NULL;
    out->temporary[0] = '\0';
}
