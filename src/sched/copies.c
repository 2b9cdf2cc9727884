// SPDX-License-Identifier: MIT
// Copies of tensors for back ends that cannot read the originals: making and filling them.
#include <string.h>

#include "backend/transfer.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "sched/sched_int.h"

// ---- tensors of the scheduler ----------------------------------------------------------------------------

enum { BLOCK = 64 };

struct ggml_tensor * tn_copies_tensor(struct ggml_backend_sched * s) {
    struct tn_sched_pool * pool = &s->pool;
    if (pool->used == pool->blocks.count * BLOCK) {
        if (!TN_ARRAY_RESERVE(&pool->blocks, 1, TN_MEM_GRAPH)) return NULL;
        struct ggml_tensor * block = tn_mem_alloc(BLOCK * sizeof(*block), TN_MEM_GRAPH);
        if (!block) return NULL;
        pool->blocks.items[pool->blocks.count++] = block;
    }
    struct ggml_tensor * t = &pool->blocks.items[pool->used / BLOCK][pool->used % BLOCK];
    pool->used++;
    memset(t, 0, sizeof(*t));
    return t;
}

void tn_copies_free(struct tn_sched_pool * pool) {
    for (size_t i = 0; i < pool->blocks.count; i++)
        tn_mem_free(pool->blocks.items[i]);
    TN_ARRAY_FREE(&pool->blocks);
}

// ---- copies ----------------------------------------------------------------------------------------------

static bool is_weight(struct ggml_backend_sched * s, int32_t id) {
    return tn_sched_at(s, tn_sched_at(s, id)->root)->is_weight;
}

struct ggml_tensor * tn_copies_like(struct ggml_backend_sched * s, const struct ggml_tensor * t, int backend,
                                    int i) {
    struct ggml_tensor * copy = tn_copies_tensor(s);
    if (!copy) return NULL;
    copy->type = t->type;
    memcpy(copy->ne, t->ne, sizeof(copy->ne));
    memcpy(copy->nb, t->nb, sizeof(copy->nb));
    struct tn_str name = tn_str_on(copy->name, sizeof(copy->name));
    tn_str_add(&name, "%s#%s#%d", ggml_backend_name(s->queues[backend].backend), t->name, i);
    return copy;
}

// The link that leads to the newest copy for this back end, or to the end (-1).
static int32_t * link_of(struct ggml_backend_sched * s, int32_t source, int backend) {
    int32_t * link = &tn_sched_at(s, source)->copies;
    while (*link >= 0 && s->copies.items[*link].backend != backend)
        link = &s->copies.items[*link].next;
    return link;
}

static int32_t version_of(struct ggml_backend_sched * s, int32_t source) {
    return tn_sched_at(s, tn_sched_at(s, source)->root)->version;
}

int32_t tn_copies_find(struct ggml_backend_sched * s, int32_t source, int backend) {
    const int32_t copy = *link_of(s, source, backend);
    return copy >= 0 && s->copies.items[copy].version == version_of(s, source) ? copy : -1;
}

// Weights do not change from graph to graph: one instance serves all.
static bool make(struct ggml_backend_sched * s, int32_t source, int backend, struct tn_sched_copy * copy) {
    const struct ggml_tensor * t = tn_sched_at(s, source)->tensor;
    *copy = (struct tn_sched_copy){
        .source = source,
        .version = version_of(s, source),
        .next = -1,
        .backend = backend,
        .instanced = s->n_copies > 1 && !is_weight(s, source),
    };
    for (int i = 0; i < (copy->instanced ? s->n_copies : 1); i++) {
        copy->tensors[i] = tn_copies_like(s, t, backend, i);
        if (!copy->tensors[i]) return false;
    }
    return true;
}

int32_t tn_copies_get(struct ggml_backend_sched * s, int32_t source, int backend) {
    const int32_t found = tn_copies_find(s, source, backend);
    if (found >= 0) return found;
    if (!TN_ARRAY_RESERVE(&s->copies, 1, TN_MEM_GRAPH)) return -1;
    const int32_t id = (int32_t) s->copies.count;
    if (!make(s, source, backend, &s->copies.items[id])) return -1;
    s->copies.count++;
    int32_t * link = link_of(s, source, backend);
    if (*link >= 0) s->copies.items[id].next = s->copies.items[*link].next; // in place of the outdated one
    *link = id;
    return id;
}

// ---- filling ---------------------------------------------------------------------------------------------

// One copy that is to be filled.
struct filling {
    struct tn_sched_copy * copy;
    const struct ggml_tensor * src;
    struct ggml_tensor * dst;
    int from; // back end of the source
    struct tn_touch touch;
};

// The caller may change it as soon as the call has returned.
static bool is_callers_input(struct ggml_backend_sched * s, int32_t source) {
    const struct tn_sched_tensor * t = tn_sched_at(s, source);
    const struct ggml_tensor * root = tn_sched_at(s, t->root)->tensor;
    return root->op == GGML_OP_NONE && ((t->tensor->flags | root->flags) & GGML_TENSOR_FLAG_INPUT);
}

// The back end whose work the source is, or that could at least use it.
static int home_of(struct ggml_backend_sched * s, int32_t source) {
    const int b = tn_sched_at(s, tn_sched_at(s, source)->root)->backend;
    if (tn_sched_reaches(s, b, source)) return b;
    const uint16_t readers = s->types.items[tn_sched_type_of(s, source)].readers;
    return readers ? TN_CTZ64(readers) : b;
}

// Data in no buffer is the program's own.
static bool copy(const struct ggml_tensor * src, struct ggml_tensor * dst) {
    if (tn_iface_buffer_of(src)) return tn_transfer_copy("ggml_backend_tensor_copy", src, dst);
    ggml_backend_tensor_set(dst, src->data, 0, ggml_nbytes(src));
    return true;
}

static enum ggml_status fill_blocking(struct ggml_backend_sched * s, const struct filling * f) {
    tn_queue_settle(s, &f->touch);
    f->copy->method = TN_COPY_BLOCKING;
    f->copy->moved = ggml_nbytes(f->src);
    if (copy(f->src, f->dst)) return GGML_STATUS_SUCCESS;
    tn_error_prefix("'%s' from %s to %s", f->src->name, tn_sched_name(s, f->from),
                    tn_sched_name(s, f->copy->backend));
    return GGML_STATUS_FAILED;
}

static bool fill_queued(struct ggml_backend_sched * s, const struct filling * f) {
    struct tn_queue *from = &s->queues[f->from], *to = &s->queues[f->copy->backend];
    if (!to->backend->iface.cpy_tensor_async || !tn_iface_buffer_of(f->src)) return false;
    tn_queue_order(s, f->from, &f->touch);
    if (!to->backend->iface.cpy_tensor_async(from->backend, to->backend, f->src, f->dst)) return false;
    tn_queue_push(s, f->copy->backend, &f->touch);
    to->after[f->from] = from->now;
    f->copy->method = TN_COPY_QUEUED;
    f->copy->moved = ggml_nbytes(f->src);
    return true;
}

// ---- experts ---------------------------------------------------------------------------------------------
//
// Of the weights of many experts only those are copied that the indices name. Kernels may read a little
// beyond the end of an expert, in whole blocks; what lies there has to be numbers.

enum { EXPERT_MARGIN = 512 };

// The node of the split that reads the copy as experts, -1: it has other readers, or the indices may not be
// there before the split begins.
static int32_t reader_of_experts(struct ggml_backend_sched * s, const struct tn_sched_split * split,
                                 const struct filling * f) {
    const struct ggml_tensor * t = f->src;
    const bool whole = t->ne[3] == 1 && t->nb[2] * (size_t) t->ne[2] == ggml_nbytes(t);
    if (f->copy->n_uses != 1 || !whole || !is_weight(s, f->copy->source) ||
        !ggml_backend_buffer_is_host(tn_iface_buffer_of(t))) {
        return -1;
    }
    int32_t i = split->first;
    while (i < split->end && !tn_sched_is_work(s->order.items[i]))
        i++;
    const struct ggml_tensor * node = i < split->end ? s->order.items[i] : NULL;
    return node && node->op == GGML_OP_MUL_MAT_ID && node->src[0] == f->dst ? i : -1;
}

// The indices themselves, not a copy, which may not have been filled yet. -1: none.
static int32_t find_indices(struct ggml_backend_sched * s, const struct tn_sched_split * split,
                            const struct ggml_tensor * node) {
    for (int32_t i = split->first; i < split->end; i++) {
        const struct tn_sched_node * n = &s->nodes.items[i];
        if (tn_sched_at(s, n->id)->tensor != node) continue;
        for (int32_t e = n->first_edge; e < n[1].first_edge; e++) {
            if (s->edges.items[e].slot == 2) return s->edges.items[e].id;
        }
    }
    return -1;
}

static void note_experts(struct tn_sched_experts * experts, const struct ggml_tensor * ids, const char * data,
                         int64_t n_experts) {
    for (int64_t i = 0; i < ggml_nelements(ids); i++) {
        const int64_t i0 = i % ids->ne[0], rest = i / ids->ne[0];
        const int64_t i1 = rest % ids->ne[1], i2 = rest / ids->ne[1] % ids->ne[2];
        const int64_t i3 = rest / ids->ne[1] / ids->ne[2];
        int32_t expert;
        memcpy(&expert,
               data + (size_t) i0 * ids->nb[0] + (size_t) i1 * ids->nb[1] + (size_t) i2 * ids->nb[2] +
                   (size_t) i3 * ids->nb[3],
               sizeof(expert));
        if (expert >= 0 && expert < n_experts) tn_bitset_set(experts->used.items, (size_t) expert);
    }
}

static void read(const struct ggml_tensor * t, char * data) {
    if (tn_iface_buffer_of(t)) {
        ggml_backend_tensor_get(t, data, 0, ggml_nbytes(t));
    } else {
        memcpy(data, t->data, ggml_nbytes(t));
    }
}

// Reads the indices once all that writes them has run.
static bool read_experts(struct ggml_backend_sched * s, int32_t id, int64_t n_experts) {
    const struct ggml_tensor * ids = tn_sched_at(s, id)->tensor;
    struct tn_sched_experts * experts = &s->experts;
    const size_t words = TN_BITSET_WORDS(n_experts), bytes = ggml_nbytes(ids);
    experts->used.count = 0;
    if (!TN_ARRAY_RESERVE(&experts->used, words, TN_MEM_GRAPH)) return false;
    experts->used.count = words;
    memset(experts->used.items, 0, words * sizeof(uint32_t));
    struct tn_touch touch = { 0 };
    tn_split_touch_source(s, id, touch.reads);
    tn_queue_settle(s, &touch);
    char * data = tn_mem_alloc(bytes, TN_MEM_WORK);
    if (!data) return false;
    read(ids, data);
    note_experts(experts, ids, data, n_experts);
    tn_mem_free(data);
    // What is written over later is not the same indices next time.
    experts->ids = tn_sched_at(s, tn_sched_at(s, id)->root)->version == 0 ? id : -1;
    return true;
}

static bool is_used(const struct ggml_backend_sched * s, int64_t expert) {
    return tn_bitset_get(s->experts.used.items, (size_t) expert);
}

static void copy_experts(struct ggml_backend_sched * s, const struct filling * f) {
    const int64_t n = f->src->ne[2];
    const size_t size = f->src->nb[2], total = ggml_nbytes(f->src);
    for (int64_t first = 0, end; first < n; first = end + 1) {
        end = first;
        while (end < n && is_used(s, end))
            end++;
        if (end == first) continue;
        const size_t at = (size_t) first * size;
        const size_t bytes = tn_min_size((size_t) (end - first) * size + EXPERT_MARGIN, total - at);
        ggml_backend_tensor_set_async(s->queues[f->copy->backend].backend, f->dst,
                                      (const char *) f->src->data + at, at, bytes);
        f->copy->moved += bytes;
    }
}

static bool fill_experts(struct ggml_backend_sched * s, const struct tn_sched_split * split,
                         const struct filling * f) {
    const int32_t i = reader_of_experts(s, split, f);
    const int32_t ids = i >= 0 ? find_indices(s, split, s->order.items[i]) : -1;
    if (ids < 0 || tn_sched_at(s, ids)->tensor->type != GGML_TYPE_I32) return false;
    const bool known = s->experts.ids == ids && s->experts.used.count == TN_BITSET_WORDS(f->src->ne[2]);
    if (!known && !read_experts(s, ids, f->src->ne[2])) return false;
    if (s->queues[f->copy->backend].backend->iface.set_tensor_async) {
        tn_queue_order(s, f->copy->backend, &f->touch);
    } else {
        tn_queue_settle(s, &f->touch);
    }
    f->copy->method = TN_COPY_EXPERTS;
    f->copy->moved = 0;
    copy_experts(s, f);
    tn_queue_push(s, f->copy->backend, &f->touch);
    return true;
}

enum ggml_status tn_copies_fill(struct ggml_backend_sched * s, const struct tn_sched_split * split,
                                struct tn_sched_copy * copy) {
    struct filling f = {
        .copy = copy,
        .src = tn_sched_at(s, copy->source)->tensor,
        .dst = copy->tensors[copy->instanced ? s->cur : 0],
        .from = home_of(s, copy->source),
    };
    tn_split_touch_source(s, copy->source, f.touch.reads);
    tn_split_touch_copy(s, copy, f.touch.writes);
    if (ggml_nbytes(f.src) == 0) return GGML_STATUS_SUCCESS;
    if (!is_callers_input(s, copy->source) && (fill_experts(s, split, &f) || fill_queued(s, &f))) {
        return GGML_STATUS_SUCCESS;
    }
    return fill_blocking(s, &f);
}
