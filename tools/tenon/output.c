// SPDX-License-Identifier: MIT
// Files that appear under their name only when they are complete.
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenon.h"

// The one unfinished file, for output_die: a signal may come at any time.
static char unfinished[PATH_MAX + 16];
static volatile sig_atomic_t has_unfinished;

void output_die(int signal_number) {
    if (has_unfinished) unlink(unfinished);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

bool is_same_file(const char * output, const char * input) {
    struct stat a, b;
    return stat(output, &a) == 0 && stat(input, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void remember(const char * path) {
    has_unfinished = 0;
    snprintf(unfinished, sizeof(unfinished), "%s", path);
    has_unfinished = path[0] != '\0';
}

static bool fail(const struct output * out) {
    complain("%s: %s", out->path, strerror(errno));
    return false;
}

// The path with links followed, also to a file that does not exist yet, so that a link stays one.
static bool resolve(struct output * out, const char * path) {
    char target[PATH_MAX];
    snprintf(out->path, sizeof(out->path), "%s", path);
    for (int hops = 0; hops < 40; hops++) {
        const ssize_t n = readlink(out->path, target, sizeof(target) - 1);
        if (n < 0) return true; // no link
        target[n] = '\0';
        const char * slash = strrchr(out->path, '/');
        const int folder = slash && target[0] != '/' ? (int) (slash - out->path + 1) : 0;
        char joined[2 * PATH_MAX];
        if (snprintf(joined, sizeof(joined), "%.*s%s", folder, out->path, target) >= (int) sizeof(out->path))
            break;
        strcpy(out->path, joined);
    }
    complain("%s: too many links, or too long", path);
    return false;
}

// A short name in the same folder: the picture's own may leave no room for more.
static bool open_temporary(struct output * out, mode_t mode) {
    const char * slash = strrchr(out->path, '/');
    const int folder = slash ? (int) (slash - out->path + 1) : 0;
    snprintf(out->temporary, sizeof(out->temporary), "%.*s.tenon-XXXXXX", folder, out->path);
    const int fd = mkstemp(out->temporary);
    if (fd < 0) {
        out->temporary[0] = '\0';
        return fail(out);
    }
    remember(out->temporary);
    out->file = fchmod(fd, mode) == 0 ? fdopen(fd, "wb") : NULL;
    if (out->file) return true;
    fail(out);
    close(fd);
    output_discard(out);
    return false;
}

bool output_open(struct output * out, const char * path) {
    struct stat st;
    *out = (struct output){ .file = NULL };
    if (path[0] == '\0' || strlen(path) >= sizeof(out->path)) {
        complain("the output's path is %s", path[0] ? "too long" : "empty");
        return false;
    }
    if (!resolve(out, path)) return false;
    const bool exists = stat(out->path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) {
        complain("%s: is a folder", path);
        return false;
    }
    if (exists && !S_ISREG(st.st_mode)) { // a device or a pipe has no name to be exchanged
        out->file = fopen(out->path, "wb");
        return out->file ? true : fail(out);
    }
    if (exists && access(out->path, W_OK) != 0) return fail(out);
    const mode_t mask = umask(0);
    umask(mask);
    return open_temporary(out, exists ? st.st_mode & 0777 : 0666 & ~mask);
}

bool output_commit(struct output * out) {
    // A full disk may show only when the last bytes leave the buffer.
    const bool flushed = fflush(out->file) == 0 && !ferror(out->file);
    const int reason = errno;
    const bool closed = fclose(out->file) == 0;
    out->file = NULL;
    if (!flushed) errno = reason;
    if (flushed && closed && (!out->temporary[0] || rename(out->temporary, out->path) == 0)) {
        remember("");
        return true;
    }
    fail(out);
    output_discard(out);
    return false;
}

void output_discard(struct output * out) {
    if (out->file) fclose(out->file);
    if (out->temporary[0]) unlink(out->temporary);
    remember("");
    out->file = NULL;
    out->temporary[0] = '\0';
}
