// SPDX-License-Identifier: MIT
// How many threads of this library are at work in the process, against the processors that they may use. A
// pool asks before it wakes another thread or lets one look for work: where each processor has a thread
// already, a further one only takes time from those.
//
// All functions are thread-safe. What they say may be out of date when it is read: it decides about time,
// never about results.
#ifndef TN_CPU_CROWD_H
#define TN_CPU_CROWD_H

#include <stdbool.h>

#include "ggml.h"

// The processors of a new pool count as usable from now on: those of its mask, else those of the calling
// thread. Returns how many there are, at least 1.
int tn_crowd_admit(const struct ggml_threadpool_params * params);

// A thread that computes a graph, or waits for work without sleeping.
void tn_crowd_enter(void);
void tn_crowd_leave(void);

// Processors that no thread is at work on; below 0: so many threads have none.
int tn_crowd_room(void);

// For tests: pools made from now on find n processors, whatever the machine has. 0: the truth again.
void tn_crowd_pretend(int n);

#endif
