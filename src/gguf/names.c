// SPDX-License-Identifier: MIT
// Index from names to ids: open addressing, linear probing, at most half full.
#include <string.h>

#include "gguf/gguf_int.h"

static size_t hash(const char * name) {
    uint64_t h = 1469598103934665603ull;
    for (; *name; name++)
        h = (h ^ (unsigned char) *name) * 1099511628211ull;
    return (size_t) (h ^ h >> 32);
}

// The slot that holds the name, or the free one where it belongs.
static size_t slot_of(const struct tn_gguf_names * names, const struct gguf_context * ctx,
                      tn_gguf_name_of name_of, const char * name) {
    size_t i = hash(name) & (names->n_slots - 1);
    while (names->slots[i] && strcmp(name_of(ctx, names->slots[i] - 1), name) != 0)
        i = (i + 1) & (names->n_slots - 1);
    return i;
}

int64_t tn_names_find(const struct tn_gguf_names * names, const struct gguf_context * ctx,
                      tn_gguf_name_of name_of, const char * name) {
    return names->n_slots ? names->slots[slot_of(names, ctx, name_of, name)] - 1 : -1;
}

static void fill(struct tn_gguf_names * names, const struct gguf_context * ctx, tn_gguf_name_of name_of,
                 int64_t n) {
    for (int64_t id = 0; id < n; id++)
        names->slots[slot_of(names, ctx, name_of, name_of(ctx, id))] = id + 1;
    names->count = (size_t) n;
}

bool tn_names_add(struct tn_gguf_names * names, const struct gguf_context * ctx, tn_gguf_name_of name_of,
                  int64_t id) {
    if (names->count * 2 >= names->n_slots) {
        struct tn_gguf_names bigger = { .n_slots = names->n_slots ? names->n_slots * 2 : 16 };
        bigger.slots = tn_mem_calloc(bigger.n_slots, sizeof(bigger.slots[0]), TN_MEM_GGUF);
        if (!bigger.slots) return false;
        fill(&bigger, ctx, name_of, id);
        tn_mem_free(names->slots);
        *names = bigger;
    }
    names->slots[slot_of(names, ctx, name_of, name_of(ctx, id))] = id + 1;
    names->count++;
    return true;
}

void tn_names_rebuild(struct tn_gguf_names * names, const struct gguf_context * ctx, tn_gguf_name_of name_of,
                      int64_t n) {
    if (names->n_slots == 0) return;
    memset(names->slots, 0, names->n_slots * sizeof(names->slots[0]));
    fill(names, ctx, name_of, n);
}

void tn_names_free(struct tn_gguf_names * names) {
    tn_mem_free(names->slots);
    *names = (struct tn_gguf_names){ 0 };
}
