// SPDX-License-Identifier: MIT
// Which version of each kernel is in use. Callers of kernels need only a family's header: the functions there
// are pointers that this module fills, scalar versions before the first time.
//
// The pointers are atomic, and every version that is ever put into one runs on this machine: a change while
// another thread computes makes that one's result a mixture of two right ones, no more. Within a process that
// changes nothing after tn_kernels_init() results are the same each time.
#ifndef TN_CPU_KERNELS_H
#define TN_CPU_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/isa.h"

// From now on no version above this level, whatever else is said. To be called before everything else.
void tn_kernels_limit(enum tn_isa highest);
// The best versions that the machine runs and TENON_ISA allows. Once; later calls do nothing.
void tn_kernels_init(void);
// The best versions among these levels as far as the machine runs them; scalar is always one. For tests.
void tn_kernels_select(uint64_t levels);
// Whether this thread takes the scalar versions instead, whatever is selected. Returns what was set before.
bool tn_kernels_plain(bool plain);
// The levels of which at least one version is in use.
uint64_t tn_kernels_used(void);

#endif
