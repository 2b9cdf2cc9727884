// SPDX-License-Identifier: MIT
// Folders.
#ifndef TN_BASE_DIR_H
#define TN_BASE_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

enum { TN_DIR_PATH = 4096 }; // longer paths are not handled, with their terminator

// Calls see() for the name of every entry, in no order. false with a text: the folder cannot be read.
TN_API bool tn_dir_list(const char * path, void (*see)(void * context, const char * name), void * context);

// Is there an entry of that name? The text of this thread's last failure is kept.
TN_API bool tn_dir_has(const char * path, const char * name);

// The folder of the running program, the folder in which it works. false: unknown, gone, or too long.
TN_API bool tn_dir_of_program(char path[TN_DIR_PATH]);
TN_API bool tn_dir_of_work(char path[TN_DIR_PATH]);

#endif
