// SPDX-License-Identifier: MIT
// Devices that do not exist, to see how a graph would be spread over some.
#ifndef TENON_PRETEND_H
#define TENON_PRETEND_H

#include "ggml-backend.h"

enum { PRETEND_MAX = 8 };

// The i-th device. It has memory of its own, which costs none, and accepts every operator but those in the
// list `without` (their names with commas between, NULL: none); it computes nothing. Lives for ever.
ggml_backend_dev_t pretend_device(int i, const char * without);

// Is every name in such a list that of an operator? Blanks around names do not count. EXIT_OK, or a status
// after a complaint.
int pretend_check_list(const char * without);

#endif
