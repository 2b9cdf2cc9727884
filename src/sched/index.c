// SPDX-License-Identifier: MIT
// From tensors to ids. Slots hold ids only; the tensors are in their records, which are wanted next anyway.
// So the table stays small: nothing is asked more often.
#include <string.h>

#include "base/ptrset.h"
#include "sched/sched_int.h"

// The slot of a tensor, or the free one where it belongs. A slot holds the id plus one, 0: free.
static size_t slot_of(const struct ggml_backend_sched * s, const struct ggml_tensor * t) {
    const size_t mask = s->index.n_slots - 1;
    size_t i = tn_ptrset_hash(t) & mask;
    while (s->index.slots[i] && s->tensors.items[s->index.slots[i] - 1].tensor != t)
        i = (i + 1) & mask;
    return i;
}

// At most half of the slots are taken.
static bool grow(struct ggml_backend_sched * s) {
    const size_t n = s->index.n_slots ? 2 * s->index.n_slots : 64;
    int32_t * slots = tn_mem_calloc(n, sizeof(*slots), TN_MEM_GRAPH);
    if (!slots) return false;
    tn_mem_free(s->index.slots);
    s->index.slots = slots;
    s->index.n_slots = n;
    for (size_t id = 0; id < s->tensors.count; id++)
        slots[slot_of(s, s->tensors.items[id].tensor)] = (int32_t) id + 1;
    return true;
}

int32_t tn_index_find(const struct ggml_backend_sched * s, const struct ggml_tensor * t) {
    return s->index.n_slots > 0 ? s->index.slots[slot_of(s, t)] - 1 : -1;
}

int32_t * tn_index_put(struct ggml_backend_sched * s, const struct ggml_tensor * t) {
    if (2 * (s->tensors.count + 1) > s->index.n_slots && !grow(s)) return NULL;
    return &s->index.slots[slot_of(s, t)];
}

void tn_index_clear(struct ggml_backend_sched * s) {
    if (s->index.n_slots > 0) memset(s->index.slots, 0, s->index.n_slots * sizeof(s->index.slots[0]));
}

void tn_index_free(struct ggml_backend_sched * s) {
    tn_mem_free(s->index.slots);
    s->index = (struct tn_sched_index){ NULL, 0 };
}
