// SPDX-License-Identifier: MIT
// Folders on POSIX systems.
#include "base/dir.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"

bool tn_dir_list(const char * path, void (*see)(void * context, const char * name), void * context) {
    DIR * dir = opendir(path);
    if (!dir) return tn_refuse("%s: %s", path, strerror(errno));
    const struct dirent * entry;
    while ((entry = readdir(dir)) != NULL)
        see(context, entry->d_name);
    closedir(dir);
    return true;
}

bool tn_dir_has(const char * path, const char * name) {
    char full[TN_DIR_PATH];
    struct tn_str s = tn_str_on(full, sizeof(full));
    tn_str_add(&s, "%s/%s", path, name);
    return !s.cut && access(full, F_OK) == 0;
}

// Where the system has no /proc the folder is unknown.
bool tn_dir_of_program(char path[TN_DIR_PATH]) {
    const ssize_t n = readlink("/proc/self/exe", path, TN_DIR_PATH);
    if (n <= 0 || n >= TN_DIR_PATH) return false;
    path[n] = '\0';
    char * last = strrchr(path, '/');
    if (!last) return false;
    last[last == path] = '\0'; // the root keeps its slash
    return true;
}

bool tn_dir_of_work(char path[TN_DIR_PATH]) {
    return getcwd(path, TN_DIR_PATH) != NULL && path[0] == '/';
}
