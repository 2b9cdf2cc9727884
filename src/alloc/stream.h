// SPDX-License-Identifier: MIT
// Intervals to offsets as time goes, in chunks: the half of place.c that never has to give up.
#ifndef TN_ALLOC_STREAM_H
#define TN_ALLOC_STREAM_H

#include "alloc/place.h"

// As tn_place_intervals.
bool tn_stream_intervals(const struct tn_place_interval * intervals, size_t n, struct tn_place_pool * pools,
                         int n_pools, struct tn_place_spot * spots);

#endif
