// SPDX-License-Identifier: MIT
// Lines on stderr around the progress bar of a training.
#ifndef TN_TRAIN_PROGRESS_INT_H
#define TN_TRAIN_PROGRESS_INT_H

#include <stdint.h>

void tn_progress_epoch(int64_t epoch, int64_t n_epochs);
void tn_progress_total(int64_t us);

#endif
