// SPDX-License-Identifier: MIT
// The table of tensor types, made of the rows of types.def, and the questions about sizes and names.
#include "quant/type.h"

#include <inttypes.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/thread.h"

static const struct tn_type * const types[GGML_TYPE_COUNT] = {
#define TN_TYPE(id, name, module) [GGML_TYPE_##id] = &tn_type_##module,
#include "quant/types.def"
#undef TN_TYPE
};

static const char * const names[GGML_TYPE_COUNT] = {
#define TN_TYPE(id, name, module) [GGML_TYPE_##id] = name,
#include "quant/types.def"
#undef TN_TYPE
};

static bool in_range(enum ggml_type type) {
    return (unsigned) type < GGML_TYPE_COUNT;
}

const struct tn_type * tn_type_get(enum ggml_type type) {
    return in_range(type) ? types[type] : NULL;
}

bool tn_type_row_size(enum ggml_type type, int64_t ne, size_t * out) {
    const struct tn_type * t = tn_type_get(type);
    if (!t) return tn_refuse("row size: there is no tensor type %d", (int) type);
    if (ne < 0 || ne % t->block_size != 0) {
        return tn_refuse("row size: %" PRId64 " elements are no whole number of blocks of %s, which hold %d",
                         ne, ggml_type_name(type), t->block_size);
    }
    if (!tn_size_mul((size_t) (ne / t->block_size), (size_t) t->type_size, out)) {
        return tn_refuse("row size: %" PRId64 " elements of %s are too many", ne, ggml_type_name(type));
    }
    return true;
}

const char * ggml_type_name(enum ggml_type type) {
    if (!in_range(type)) return "none";
    return names[type] ? names[type] : "removed";
}

int64_t ggml_blck_size(enum ggml_type type) {
    const struct tn_type * t = tn_type_get(type);
    return t ? t->block_size : 0;
}

size_t ggml_type_size(enum ggml_type type) {
    const struct tn_type * t = tn_type_get(type);
    return t ? (size_t) t->type_size : 0;
}

double ggml_type_sizef(enum ggml_type type) {
    const struct tn_type * t = tn_type_get(type);
    return t ? (double) t->type_size / t->block_size : 0.0;
}

size_t ggml_row_size(enum ggml_type type, int64_t ne) {
    size_t size = 0;
    return tn_type_row_size(type, ne, &size) ? size : 0;
}

bool ggml_is_quantized(enum ggml_type type) {
    const struct tn_type * t = tn_type_get(type);
    return t && t->is_quantized;
}

// The public table is filled on first use: descriptors live in other files, their members are no constants
// here.
static struct ggml_type_traits traits[GGML_TYPE_COUNT + 1];
static struct tn_once traits_once = TN_ONCE_INIT;

static void fill_traits(void) {
    for (int i = 0; i <= GGML_TYPE_COUNT; i++) {
        const struct tn_type * t = tn_type_get((enum ggml_type) i);
        struct ggml_type_traits * out = &traits[i];
        out->type_name = ggml_type_name((enum ggml_type) i);
        if (!t) continue;
        out->blck_size = t->block_size;
        out->type_size = (size_t) t->type_size;
        out->is_quantized = t->is_quantized;
        out->to_float = t->hidden_decode ? NULL : t->decode;
        out->from_float_ref = t->hidden_encode ? NULL : t->encode_ref;
    }
}

// What is out of range gets an entry of its own: zeros and a name.
const struct ggml_type_traits * ggml_get_type_traits(enum ggml_type type) {
    tn_once(&traits_once, fill_traits);
    return &traits[in_range(type) ? type : GGML_TYPE_COUNT];
}

// What a file of this kind consists of mostly, plus 1 so that a gap reads as 0.
// clang-format off
#define FTYPE(id) [GGML_FTYPE_MOSTLY_##id] = GGML_TYPE_##id + 1
static const uint8_t ftypes[] = {
    [GGML_FTYPE_ALL_F32] = GGML_TYPE_F32 + 1,
    FTYPE(F16),     FTYPE(BF16),    FTYPE(Q8_0),    FTYPE(Q4_0),    FTYPE(Q4_1),    FTYPE(Q5_0),
    FTYPE(Q5_1),    FTYPE(Q2_K),    FTYPE(Q3_K),    FTYPE(Q4_K),    FTYPE(Q5_K),    FTYPE(Q6_K),
    FTYPE(IQ1_S),   FTYPE(IQ1_M),   FTYPE(IQ2_XXS), FTYPE(IQ2_XS),  FTYPE(IQ2_S),   FTYPE(IQ3_XXS),
    FTYPE(IQ3_S),   FTYPE(IQ4_NL),  FTYPE(IQ4_XS),  FTYPE(MXFP4),   FTYPE(NVFP4),   FTYPE(Q1_0),
    FTYPE(Q2_0),
};
#undef FTYPE
// clang-format on

enum ggml_type ggml_ftype_to_ggml_type(enum ggml_ftype ftype) {
    if ((size_t) ftype < TN_COUNT(ftypes) && ftypes[ftype] != 0) return (enum ggml_type)(ftypes[ftype] - 1);
    tn_error_set("ggml_ftype_to_ggml_type: no single type stands behind file type %d", (int) ftype);
    return GGML_TYPE_COUNT;
}
