// SPDX-License-Identifier: MIT
// Slices: which tensors stand for one in a meta buffer.
#include <string.h>

#include "backend/meta/derive.h"
#include "backend/meta/meta_int.h"
#include "backend/meta/window.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "core/op.h"
#include "core/shape.h"

// ---- known tensors ----------------------------------------------------------------------------------------

static void free_one(struct tn_slices * s) {
    if (!s) return;
    tn_mem_free(s->partition);
    tn_mem_free(s);
}

void tn_slices_clear(struct tn_meta_buffer * b) {
    for (size_t i = 0; i < b->list.count; i++)
        free_one(b->list.items[i]);
    b->list.count = 0;
    tn_ptrset_clear(&b->index);
}

enum { MANY_VIEWS = 16384 };

void tn_slices_forget_views(struct tn_meta_buffer * b) {
    if (!b->packed || b->list.count - b->n_packed < MANY_VIEWS) return;
    while (b->list.count > b->n_packed)
        free_one(b->list.items[--b->list.count]);
    tn_ptrset_clear(&b->index);
    for (size_t i = 0; i < b->n_packed; i++) {
        int64_t * place = tn_ptrset_put(&b->index, b->list.items[i]->tensor, NULL);
        if (place) *place = (int64_t) i + 1; // there is room, it was larger before
    }
}

static struct tn_slices * lookup(const struct tn_meta_buffer * b, const struct ggml_tensor * t) {
    const int64_t * place = tn_ptrset_find(&b->index, t);
    return place && *place > 0 ? b->list.items[*place - 1] : NULL;
}

struct tn_slices * tn_slices_enter(struct tn_meta_buffer * b, struct ggml_tensor * t) {
    const size_t n = (size_t) b->meta->n;
    struct tn_slices * s = tn_mem_calloc(1, sizeof(*s) + n * sizeof(s->own[0]), TN_MEM_OBJECT);
    if (!s) return NULL;
    s->tensor = t;
    for (size_t j = 0; j < n; j++)
        s->of[j] = &s->own[j];
    int64_t * place = TN_ARRAY_RESERVE(&b->list, 1, TN_MEM_OBJECT) ? tn_ptrset_put(&b->index, t, NULL) : NULL;
    if (!place) {
        free_one(s);
        return NULL;
    }
    if (*place == 0) {
        b->list.items[b->list.count++] = s;
        *place = (int64_t) b->list.count;
    } else {
        free_one(b->list.items[*place - 1]);
        b->list.items[*place - 1] = s;
    }
    return s;
}

// ---- geometry ---------------------------------------------------------------------------------------------

bool tn_slices_shape(const struct tn_partition * p, const struct ggml_tensor * t, int n, int j,
                     struct ggml_tensor * part) {
    size_t bytes;
    tn_shape_copy(part->ne, t->ne);
    memcpy(part->nb, t->nb, sizeof(part->nb));
    if (!tn_partition_is_split(p)) return true;
    char text[TN_SHAPE_TENSOR_TEXT];
    if (!ggml_is_contiguous(t)) {
        return tn_refuse("%s has gaps, it cannot be split", tn_shape_tensor_text(text, t));
    }
    part->ne[p->axis] = tn_partition_length(p, n, j);
    if (part->ne[p->axis] == 0) return true; // strides that are not 0 look better to those who check them
    return tn_shape_strides(t->type, part->ne, part->nb, &bytes);
}

// Does `node` begin in `t`, with the bytes of the same owner?
static bool shares(const struct ggml_tensor * node, const struct ggml_tensor * t, size_t * offset) {
    const struct ggml_tensor * base = t->view_src ? t->view_src : t;
    const size_t begin = t->view_src ? t->view_offs : 0;
    if (base != node->view_src || node->view_offs < begin) return false;
    *offset = node->view_offs - begin;
    return true;
}

const struct ggml_tensor * tn_slices_base(const struct ggml_tensor * node, size_t * offset) {
    if (!node->view_src) return NULL;
    for (int i = 0; i < GGML_MAX_SRC; i++) { // the very same piece of memory: results in place
        const struct ggml_tensor * t = node->src[i];
        if (t && shares(node, t, offset) && *offset == 0 && tn_shape_same(t, node) &&
            tn_shape_same_strides(t, node)) {
            return t;
        }
    }
    if (node->src[0] && shares(node, node->src[0], offset)) return node->src[0];
    return shares(node, node->view_src, offset) ? node->view_src : NULL;
}

// A view's part is where its source's part is.
static void shape_view(const struct tn_window * w, const struct tn_slices * source, struct tn_slices * s,
                       int n, int j) {
    struct ggml_tensor *part = s->of[j], *from = source->of[j];
    const struct ggml_tensor * t = s->tensor;
    size_t offset;
    tn_slices_base(t, &offset);
    part->view_offs = offset;
    if (w) {
        tn_window_place(w, t, from, n, j, part);
    } else {
        tn_shape_copy(part->ne, t->ne);
        memcpy(part->nb, t->nb, sizeof(part->nb));
    }
    part->view_offs += from->view_src ? from->view_offs : 0;
    part->view_src = from->view_src ? from->view_src : from;
}

// ---- memory -----------------------------------------------------------------------------------------------

static void describe(const struct ggml_tensor * t, struct ggml_tensor * part) {
    *part = (struct ggml_tensor){ .type = t->type, .op = t->op, .flags = t->flags };
    memcpy(part->op_params, t->op_params, sizeof(part->op_params));
    memcpy(part->name, t->name, sizeof(part->name));
}

// The offset in the buffer is the same on all devices.
static bool place(const struct tn_meta_buffer * b, struct tn_slices * s, int j) {
    struct ggml_tensor * part = s->of[j];
    if (part->view_src) return ggml_backend_view_init(part) == GGML_STATUS_SUCCESS;
    char * const base = ggml_backend_buffer_get_base(b->parts[j]);
    char * const meta_base = ggml_backend_buffer_get_base(s->tensor->buffer);
    const size_t offset = (size_t) ((char *) s->tensor->data - meta_base);
    return ggml_backend_tensor_alloc(b->parts[j], part, base + offset) == GGML_STATUS_SUCCESS;
}

static bool make_views(struct tn_meta_buffer * b, struct tn_slices * s) {
    size_t offset;
    const struct ggml_tensor * base = tn_slices_base(s->tensor, &offset);
    const struct tn_slices * source = base ? tn_slices_find(b->meta, base) : NULL;
    if (!source || !source->made) return tn_refuse("'%s' is a view of what is nowhere", s->tensor->name);
    struct tn_window w;
    const bool split = tn_partition_is_split(source->partition) && !ggml_is_empty(s->tensor);
    if (split && !tn_window_find(s->tensor, base, source->partition, offset, b->meta->n, &w)) return false;
    if (split && (w.partition.axis != s->partition->axis ||
                  !tn_partition_same(&w.partition, s->partition, b->meta->n))) {
        return tn_refuse("'%s' is split otherwise than '%s', where it lies", s->tensor->name, base->name);
    }
    for (int j = 0; j < b->meta->n; j++)
        shape_view(split ? &w : NULL, source, s, b->meta->n, j);
    return true;
}

static bool make(struct tn_meta_buffer * b, struct tn_slices * s) {
    const int n = b->meta->n;
    bool good = true;
    for (int j = 0; j < n; j++)
        describe(s->tensor, s->of[j]);
    if (s->tensor->view_src) good = make_views(b, s);
    for (int j = 0; good && j < n; j++) {
        good = (s->tensor->view_src || tn_slices_shape(s->partition, s->tensor, n, j, s->of[j])) &&
               place(b, s, j);
        if (!good) tn_error_prefix("device %s", ggml_backend_dev_name(b->meta->devices[j]));
    }
    return s->made = good;
}

static bool log_wanted(void) {
    const char * level = tn_env_get(TN_ENV_GGML_META_DEBUG);
    return level && *level > '0';
}

bool tn_slices_divide(struct tn_meta_buffer * b, struct tn_slices * s, const struct tn_partition * p) {
    const int n = b->meta->n;
    if (!tn_partition_check(p, s->tensor, n)) return false;
    const bool split = tn_partition_is_split(p);
    const bool same = s->made && split == tn_partition_is_split(s->partition) &&
                      (!split || (s->partition->axis == p->axis && tn_partition_same(s->partition, p, n)));
    struct tn_partition * copy = tn_mem_alloc(tn_partition_bytes(p, n), TN_MEM_OBJECT);
    if (!copy) return false;
    tn_partition_copy(copy, p, n);
    tn_mem_free(s->partition);
    s->partition = copy;
    char text[TN_PARTITION_TEXT];
    if (log_wanted())
        TN_LOG_INFO("meta: %s '%s': %s\n", ggml_op_desc(s->tensor), s->tensor->name,
                    tn_partition_text(text, p, n));
    return same || make(b, s);
}

// ---- a tensor appears -------------------------------------------------------------------------------------

bool tn_slices_ask(const struct tn_meta_device * meta, const struct ggml_tensor * t,
                   struct tn_partition * p) {
    const struct ggml_backend_meta_split_state state = meta->get_split(t, meta->get_split_data);
    return tn_partition_read(p, &state, t, meta->n);
}

// What can be said before anything is computed: true, with *known false if that is nothing.
static bool first_state(struct tn_meta_buffer * b, ggml_backend_buffer_t buffer, struct tn_slices * s,
                        struct tn_partition * p, bool * known) {
    const struct ggml_tensor * t = s->tensor;
    *known = true;
    if (!t->view_src && buffer->usage != GGML_BACKEND_BUFFER_USAGE_COMPUTE) {
        s->declared = true;
        return tn_slices_ask(b->meta, t, p);
    }
    if (!t->view_src && t->op == GGML_OP_NONE) {
        tn_partition_whole(p, GGML_BACKEND_SPLIT_AXIS_MIRRORED, b->meta->n);
        return true;
    }
    size_t offset;
    const struct ggml_tensor * base = tn_op_is_view(t->op) ? tn_slices_base(t, &offset) : NULL;
    const struct tn_slices * source = base ? tn_slices_find(b->meta, base) : NULL;
    *known = source && source->made;
    return !*known || tn_derive_view(t, base, source->partition, offset, b->meta->n, p);
}

// false with a text; true also where nothing is known yet.
static bool say(struct tn_meta_buffer * b, ggml_backend_buffer_t buffer, struct tn_slices * s) {
    struct tn_partition p;
    bool known;
    return first_state(b, buffer, s, &p, &known) && (!known || tn_slices_divide(b, s, &p));
}

struct tn_slices * tn_slices_find(const struct tn_meta_device * meta, const struct ggml_tensor * t) {
    ggml_backend_buffer_t buffer = tn_iface_buffer_of(t);
    struct tn_meta_buffer * b = tn_meta_buffer_of(buffer);
    if (!b || !tn_meta_device_shares(meta, buffer->buft)) {
        tn_error_set("'%s' is in %s memory, which device %s does not have", t->name,
                     ggml_backend_buffer_name(buffer), meta->name);
        return NULL;
    }
    struct tn_slices * s = lookup(b, t);
    // A view of a tensor with memory is made with memory, and may never have been shown to the buffer. Others
    // may have been shown before it was reset.
    if (!s && (t->view_src || !b->packed) && tn_slices_add(b, buffer, (struct ggml_tensor *) t))
        s = lookup(b, t);
    // A view is known as soon as its base is, and may be no node of the graph in which that became known.
    if (s && !s->made && t->view_src && !say(b, buffer, s)) return NULL;
    if (!s) tn_error_set("'%s' was not placed in its buffer", t->name);
    return s;
}

bool tn_slices_add(struct tn_meta_buffer * b, ggml_backend_buffer_t buffer, struct ggml_tensor * t) {
    if (b->packed && !t->view_src) {
        return tn_refuse("'%s' cannot be added to a buffer that was made for other tensors", t->name);
    }
    struct tn_slices * s = tn_slices_enter(b, t);
    return s && say(b, buffer, s);
}
