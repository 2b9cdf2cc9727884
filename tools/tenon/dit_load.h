// SPDX-License-Identifier: MIT
// Weights and sizes from a model file.
#ifndef TENON_DIT_LOAD_H
#define TENON_DIT_LOAD_H

#include "dit.h"

// Fills sizes, weights, ctx and buffer of a model whose back end is there. false: said on stderr.
bool dit_load_weights(struct dit * m, const char * path);

#endif
