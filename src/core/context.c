// SPDX-License-Identifier: MIT
// Contexts: the pool, its objects, and what refusals hand out.
#include "core/context.h"

#include <stdatomic.h>
#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/graph.h"
#include "core/tensor.h"

static void init_poison(struct tn_poison * p) {
    *p = (struct tn_poison){ .tensor = { .type = GGML_TYPE_F32, .flags = TN_TENSOR_POISONED } };
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        p->tensor.ne[i] = 1;
        p->tensor.nb[i] = sizeof(float);
    }
}

static struct ggml_context * refuse_init(void) {
    tn_error_prefix("ggml_init");
    TN_LOG_ERROR("%s\n", tn_error_text());
    return NULL;
}

// A pool of at least one unit, its size rounded up.
static char * own_pool(size_t wanted, size_t * size) {
    if (tn_size_align(tn_max_size(wanted, 1), GGML_MEM_ALIGN, size))
        return tn_mem_alloc(*size, TN_MEM_CONTEXT);
    tn_error_set("mem_size %zu is too large", wanted);
    return NULL;
}

struct ggml_context * ggml_init(struct ggml_init_params params) {
    struct ggml_context * ctx = tn_mem_calloc(1, sizeof(*ctx), TN_MEM_CONTEXT);
    if (!ctx) return refuse_init();
    ctx->no_alloc = params.no_alloc;
    ctx->mem_owned = !params.mem_buffer;
    ctx->mem_size = params.mem_size;
    ctx->mem_buffer = params.mem_buffer ? params.mem_buffer : own_pool(params.mem_size, &ctx->mem_size);
    if (!ctx->mem_buffer) {
        tn_mem_free(ctx);
        return refuse_init();
    }
    ggml_reset(ctx);
    return ctx;
}

void ggml_reset(struct ggml_context * ctx) {
    if (!ctx) return;
    ctx->first = NULL;
    ctx->last = NULL;
    init_poison(&ctx->poison);
    init_poison(&ctx->graph_poison);
    ctx->poison_leaf = &ctx->graph_poison.tensor;
    ctx->poison_graph =
        (struct ggml_cgraph){ .n_leafs = 1, .leafs = &ctx->poison_leaf, .order = TN_GRAPH_INVALID };
}

void ggml_free(struct ggml_context * ctx) {
    if (!ctx) return;
    if (ctx->mem_owned) tn_mem_free(ctx->mem_buffer);
    tn_mem_free(ctx);
}

size_t ggml_used_mem(const struct ggml_context * ctx) {
    return ctx && ctx->last ? ctx->last->offset + ctx->last->size : 0;
}

bool ggml_get_no_alloc(struct ggml_context * ctx) {
    return ctx && ctx->no_alloc;
}

void ggml_set_no_alloc(struct ggml_context * ctx, bool no_alloc) {
    if (ctx) ctx->no_alloc = no_alloc;
}

void * ggml_get_mem_buffer(const struct ggml_context * ctx) {
    return ctx ? ctx->mem_buffer : NULL;
}

size_t ggml_get_mem_size(const struct ggml_context * ctx) {
    return ctx ? ctx->mem_size : 0;
}

void * tn_context_add(struct ggml_context * ctx, enum tn_object_kind kind, size_t size) {
    // Offsets count from an aligned address, also where the caller's buffer is not aligned itself.
    const size_t skew = (size_t) (-(uintptr_t) ctx->mem_buffer) & (GGML_MEM_ALIGN - 1);
    const size_t used = ctx->last ? ctx->last->offset + ctx->last->size : skew;
    size_t padded, payload, end;
    if (!tn_size_align(size, GGML_MEM_ALIGN, &padded) ||
        !tn_size_add(used, sizeof(struct ggml_object), &payload) || !tn_size_add(payload, padded, &end) ||
        end > ctx->mem_size) {
        tn_error_set("the context is full: %zu bytes wanted, %zu of %zu used", size, used, ctx->mem_size);
        return NULL;
    }
    struct ggml_object * object = (struct ggml_object *) (ctx->mem_buffer + used);
    *object = (struct ggml_object){ .offset = payload, .size = padded, .kind = kind };
    if (ctx->last) {
        ctx->last->next = object;
    } else {
        ctx->first = object;
    }
    ctx->last = object;
    return ctx->mem_buffer + payload;
}

void * ggml_new_buffer(struct ggml_context * ctx, size_t nbytes) {
    if (!ctx) {
        tn_error_set("ggml_new_buffer: the context is NULL");
        return NULL;
    }
    void * buffer = tn_context_add(ctx, TN_OBJECT_BUFFER, nbytes);
    if (!buffer) {
        tn_error_prefix("ggml_new_buffer");
        TN_LOG_ERROR("%s\n", tn_error_text());
    }
    return buffer;
}

static struct ggml_tensor * tensor_from(const struct ggml_context * ctx, struct ggml_object * object) {
    while (object && object->kind != TN_OBJECT_TENSOR)
        object = object->next;
    return object ? (struct ggml_tensor *) (ctx->mem_buffer + object->offset) : NULL;
}

struct ggml_tensor * ggml_get_first_tensor(const struct ggml_context * ctx) {
    return ctx ? tensor_from(ctx, ctx->first) : NULL;
}

// The poisoned tensor of a context, which is in no pool?
static bool is_stand_in(const struct ggml_tensor * t) {
    return (t->flags & (TN_TENSOR_POISONED | TN_TENSOR_SPOILED)) == TN_TENSOR_POISONED;
}

struct ggml_tensor * ggml_get_next_tensor(const struct ggml_context * ctx, struct ggml_tensor * tensor) {
    if (!ctx || !tensor || is_stand_in(tensor)) return NULL;
    const struct ggml_object * object = (const struct ggml_object *) tensor - 1;
    return tensor_from(ctx, object->next);
}

struct ggml_tensor * ggml_get_tensor(struct ggml_context * ctx, const char * name) {
    if (!name) return NULL;
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        if (strcmp(t->name, name) == 0) return t;
    }
    return NULL;
}

size_t ggml_get_max_tensor_size(const struct ggml_context * ctx) {
    size_t max = 0;
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        max = tn_max_size(max, ggml_nbytes(t));
    }
    return max;
}

void ggml_print_object(const struct ggml_object * object) {
    if (!object) return;
    TN_LOG_INFO(" - object: kind %d, offset %zu, size %zu, next %p\n", (int) object->kind, object->offset,
                object->size, (void *) object->next);
}

void ggml_print_objects(const struct ggml_context * ctx) {
    if (!ctx) return;
    TN_LOG_INFO("objects of context %p:\n", (const void *) ctx);
    for (const struct ggml_object * object = ctx->first; object; object = object->next)
        ggml_print_object(object);
}

static _Atomic int strict_mode = -1; // -1: not decided yet, then TENON_STRICT decides

void tn_context_set_strict(bool on) {
    atomic_store(&strict_mode, on);
}

static bool is_strict(void) {
    int mode = atomic_load(&strict_mode);
    if (mode < 0) {
        const int wanted = tn_env_flag(TN_ENV_TENON_STRICT);
        if (!atomic_compare_exchange_strong(&strict_mode, &mode, wanted)) return mode > 0;
        mode = wanted;
    }
    return mode > 0;
}

struct ggml_tensor * tn_context_poison_again(struct ggml_context * ctx) {
    static _Thread_local struct tn_poison without_context;
    struct tn_poison * p = ctx ? &ctx->poison : &without_context;
    if (!ctx) init_poison(p);
    if (!p->text[0]) tn_str_copy(p->text, sizeof(p->text), tn_error_text());
    return &p->tensor;
}

struct ggml_tensor * tn_context_poison(struct ggml_context * ctx) {
    if (is_strict()) TN_ABORT("%s", tn_error_text());
    TN_LOG_ERROR("%s\n", tn_error_text());
    return tn_context_poison_again(ctx);
}

struct ggml_cgraph * tn_context_poison_graph(struct ggml_context * ctx) {
    static _Thread_local struct ggml_cgraph without_context;
    static _Thread_local struct ggml_tensor * leaf;
    leaf = tn_context_poison(ctx);
    without_context = (struct ggml_cgraph){ .n_leafs = 1, .leafs = &leaf, .order = TN_GRAPH_INVALID };
    if (!ctx) return &without_context;
    struct tn_poison * p = &ctx->graph_poison;
    if (!p->text[0]) tn_str_copy(p->text, sizeof(p->text), tn_error_text());
    return &ctx->poison_graph;
}

bool tn_tensor_is_poisoned(const struct ggml_tensor * t) {
    return (t->flags & TN_TENSOR_POISONED) != 0;
}

struct ggml_tensor * tn_context_spoil(struct ggml_tensor * t) {
    if (!t) return tn_context_poison(NULL);
    if (is_strict()) TN_ABORT("%s", tn_error_text());
    TN_LOG_ERROR("%s\n", tn_error_text());
    t->flags |= TN_TENSOR_POISONED | TN_TENSOR_SPOILED;
    return t;
}

const char * tn_context_poison_text(const struct ggml_tensor * poisoned) {
    if (!is_stand_in(poisoned)) return "it was made, and then a setting that does not fit it was refused";
    return ((const struct tn_poison *) poisoned)->text;
}
