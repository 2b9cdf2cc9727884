// SPDX-License-Identifier: MIT
// Every family of kernels: what families.def has rows of.
#ifndef TN_CPU_KERNELS_FAMILIES_H
#define TN_CPU_KERNELS_FAMILIES_H

#include "cpu/kernels/convert/convert.h"
#include "cpu/kernels/dot_float/dot_float.h"
#include "cpu/kernels/dot_fp4/dot_fp4.h"
#include "cpu/kernels/dot_iq/dot_iq.h"
#include "cpu/kernels/dot_k/dot_k.h"
#include "cpu/kernels/dot_legacy/dot_legacy.h"
#include "cpu/kernels/gemm_float/gemm_float.h"
#include "cpu/kernels/map1/map1.h"
#include "cpu/kernels/map2/map2.h"
#include "cpu/kernels/norm/norm.h"
#include "cpu/kernels/reduce/reduce.h"
#include "cpu/kernels/rope/rope.h"
#include "cpu/kernels/softmax/softmax.h"
#include "cpu/kernels/rows.h"

#endif
