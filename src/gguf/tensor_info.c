// SPDX-License-Identifier: MIT
// Names, shapes, types and offsets of the tensors in a file.
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/shape.h"
#include "gguf/gguf_int.h"

const char * tn_tensor_info_name(const struct gguf_context * ctx, int64_t id) {
    return ctx->tensors.items[id].name;
}

bool tn_tensor_info_measure(struct tn_gguf_tensor * t) {
    size_t nb[GGML_MAX_DIMS];
    return tn_shape_strides(t->type, t->ne, nb, &t->size);
}

// Offset behind a tensor, padded.
static bool step(const struct gguf_context * ctx, uint64_t offset, size_t size, uint64_t * next) {
    size_t padded;
    return tn_size_align(size, ctx->alignment, &padded) && tn_size_add(offset, padded, (size_t *) next) &&
           *next <= INT64_MAX;
}

bool tn_tensor_info_add(struct gguf_context * ctx, const struct tn_gguf_tensor * t) {
    uint64_t next;
    if (tn_names_find(&ctx->tensor_names, ctx, tn_tensor_info_name, t->name) >= 0) {
        return tn_refuse("the name is there twice");
    }
    if (!step(ctx, ctx->data_size, t->size, &next)) {
        return tn_refuse("the sum of all sizes overflows");
    }
    if (!TN_ARRAY_RESERVE(&ctx->tensors, 1, TN_MEM_GGUF)) return false;
    struct tn_gguf_tensor * entry = &ctx->tensors.items[ctx->tensors.count];
    *entry = *t;
    entry->offset = ctx->data_size;
    if (!tn_names_add(&ctx->tensor_names, ctx, tn_tensor_info_name, (int64_t) ctx->tensors.count))
        return false;
    ctx->tensors.count++;
    ctx->data_size = next;
    return true;
}

bool tn_tensor_info_layout(struct gguf_context * ctx) {
    uint64_t end = 0;
    for (size_t i = 0; i < ctx->tensors.count; i++) {
        const struct tn_gguf_tensor * t = &ctx->tensors.items[i];
        if (!step(ctx, end, t->size, &end))
            return tn_refuse("tensor '%s': the sum of all sizes overflows", t->name);
    }
    end = 0;
    for (size_t i = 0; i < ctx->tensors.count; i++) {
        struct tn_gguf_tensor * t = &ctx->tensors.items[i];
        t->offset = end;
        step(ctx, end, t->size, &end);
    }
    ctx->data_size = end;
    return true;
}
