// SPDX-License-Identifier: MIT
// Buffer types, buffers, their usage, several buffers as one, and the placing of single tensors.
#include "backend/iface.h"
#include "backend/use.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "core/op.h"
#include "core/shape.h"

// ---- buffer types ---------------------------------------------------------------------------------------

const char * ggml_backend_buft_name(ggml_backend_buffer_type_t buft) {
    return buft ? buft->iface.get_name(buft) : "NULL";
}

// What buft_alloc_buffer hands out for size 0, without asking the back end.
static ggml_backend_buffer_t empty_buffer(ggml_backend_buffer_type_t buft) {
    const struct ggml_backend_buffer_i nothing = { 0 };
    return ggml_backend_buffer_init(buft, nothing, NULL, 0);
}

// The buffer, or NULL with the back end's own reason, if it gives one, as this thread's text.
static ggml_backend_buffer_t ask_for_buffer(ggml_backend_buffer_type_t buft, size_t size) {
    char before[TN_ERROR_MAX];
    tn_str_copy(before, sizeof(before), tn_error_text());
    tn_error_clear();
    ggml_backend_buffer_t buffer = buft->iface.alloc_buffer(buft, size);
    if (buffer) tn_error_set("%s", before); // nothing has failed
    return buffer;
}

ggml_backend_buffer_t ggml_backend_buft_alloc_buffer(ggml_backend_buffer_type_t buft, size_t size) {
    if (!buft) {
        tn_iface_refuse(__func__, "the buffer type is NULL");
        return NULL;
    }
    if (size == 0) return empty_buffer(buft);
    const char * name = ggml_backend_buft_name(buft);
    ggml_backend_buffer_t buffer = ask_for_buffer(buft, size);
    if (!buffer) {
        const char * reason = tn_error_text();
        tn_iface_refuse(__func__, "%zu bytes of %s memory cannot be had%s%s", size, name, *reason ? ": " : "",
                        reason);
        return NULL;
    }
    if (buffer->size >= size) return buffer;
    tn_iface_refuse(__func__, "the back end of %s memory gave %zu of %zu bytes", name, buffer->size, size);
    ggml_backend_buffer_free(buffer);
    return NULL;
}

size_t ggml_backend_buft_get_alignment(ggml_backend_buffer_type_t buft) {
    const size_t alignment = buft ? buft->iface.get_alignment(buft) : 1;
    if (tn_is_pow2(alignment)) return alignment;
    tn_iface_refuse(__func__, "the back end of %s memory states an alignment of %zu: not a power of two",
                    ggml_backend_buft_name(buft), alignment);
    return 4096;
}

size_t ggml_backend_buft_get_max_size(ggml_backend_buffer_type_t buft) {
    return buft && buft->iface.get_max_size ? buft->iface.get_max_size(buft) : SIZE_MAX;
}

bool ggml_op_alloc_size_may_expand(enum ggml_op op) {
    static const enum ggml_op with_scratch[] = { GGML_OP_FLASH_ATTN_EXT, GGML_OP_MUL_MAT, GGML_OP_MUL_MAT_ID,
                                                 GGML_OP_CUMSUM,         GGML_OP_ARGSORT, GGML_OP_TOP_K };
    for (size_t i = 0; i < TN_COUNT(with_scratch); i++) {
        if (op == with_scratch[i]) return true;
    }
    return false;
}

static bool may_take_more_than_its_bytes(const struct ggml_tensor * t) {
    return ggml_is_quantized(t->type) || tn_op_is_view(t->op) || ggml_op_alloc_size_may_expand(t->op);
}

size_t ggml_backend_buft_get_alloc_size(ggml_backend_buffer_type_t buft, const struct ggml_tensor * tensor) {
    if (!tn_iface_check_tensor(__func__, tensor)) return SIZE_MAX;
    const size_t bytes = ggml_nbytes(tensor);
    if (bytes == SIZE_MAX) {
        tn_iface_refuse(__func__, "the bytes of '%s' cannot be counted", tensor->name);
        return SIZE_MAX;
    }
    if (!buft || !buft->iface.get_alloc_size) return bytes;
    const size_t size = buft->iface.get_alloc_size(buft, tensor);
    if (size == bytes || (size > bytes && may_take_more_than_its_bytes(tensor))) return size;
    char text[TN_SHAPE_TENSOR_TEXT];
    tn_iface_refuse(__func__, "the back end of %s memory states %zu bytes for %s of %s, which has %zu",
                    ggml_backend_buft_name(buft), size, tn_shape_tensor_text(text, tensor),
                    ggml_op_name(tensor->op), bytes);
    return SIZE_MAX; // so that no allocation succeeds with it
}

bool ggml_backend_buft_is_host(ggml_backend_buffer_type_t buft) {
    return buft && buft->iface.is_host && buft->iface.is_host(buft);
}

ggml_backend_dev_t ggml_backend_buft_get_device(ggml_backend_buffer_type_t buft) {
    return buft ? buft->device : NULL;
}

// ---- buffers --------------------------------------------------------------------------------------------

// All that exist, in a ring: a tensor may name one that is gone.
struct listed {
    struct ggml_backend_buffer buffer;
    struct listed * next;
    struct listed * prev;
};

static struct tn_mutex list_mutex = TN_MUTEX_INIT;
static struct listed list = { .next = &list, .prev = &list };

static void enlist(struct listed * l) {
    tn_mutex_lock(&list_mutex);
    l->prev = &list;
    l->next = list.next;
    l->next->prev = l;
    list.next = l;
    tn_mutex_unlock(&list_mutex);
}

static void delist(struct listed * l) {
    tn_mutex_lock(&list_mutex);
    l->next->prev = l->prev;
    l->prev->next = l->next;
    tn_mutex_unlock(&list_mutex);
}

bool tn_buffer_is_live(ggml_backend_buffer_t buffer) {
    tn_mutex_lock(&list_mutex);
    const struct listed * l = list.next;
    while (l != &list && &l->buffer != buffer)
        l = l->next;
    tn_mutex_unlock(&list_mutex);
    return l != &list;
}

ggml_backend_buffer_t ggml_backend_buffer_init(ggml_backend_buffer_type_t buft,
                                               struct ggml_backend_buffer_i iface, void * context,
                                               size_t size) {
    if (!buft) {
        tn_iface_refuse(__func__, "the buffer type is NULL");
        return NULL;
    }
    struct listed * l = tn_mem_alloc(sizeof(*l), TN_MEM_OBJECT);
    if (!l) return NULL;
    if (buft->device && !tn_use_begin(buft->device->reg, TN_USE_BUFFER, l)) {
        tn_mem_free(l);
        return NULL;
    }
    l->buffer = (struct ggml_backend_buffer){
        .iface = iface,
        .buft = buft,
        .context = context,
        .size = size,
        .usage = GGML_BACKEND_BUFFER_USAGE_ANY,
    };
    enlist(l);
    return &l->buffer;
}

void ggml_backend_buffer_free(ggml_backend_buffer_t buffer) {
    if (!buffer) return;
    delist((struct listed *) buffer);
    if (buffer->iface.free_buffer) buffer->iface.free_buffer(buffer);
    tn_use_end(buffer);
    tn_mem_free(buffer);
}

const char * ggml_backend_buffer_name(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_name(ggml_backend_buffer_get_type(buffer));
}

void * ggml_backend_buffer_get_base(ggml_backend_buffer_t buffer) {
    return buffer && buffer->size > 0 && buffer->iface.get_base ? buffer->iface.get_base(buffer) : NULL;
}

size_t ggml_backend_buffer_get_size(ggml_backend_buffer_t buffer) {
    return buffer ? buffer->size : 0;
}

ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t buffer) {
    return buffer ? buffer->buft : NULL;
}

size_t ggml_backend_buffer_get_alignment(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_get_alignment(ggml_backend_buffer_get_type(buffer));
}

size_t ggml_backend_buffer_get_max_size(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_get_max_size(ggml_backend_buffer_get_type(buffer));
}

size_t ggml_backend_buffer_get_alloc_size(ggml_backend_buffer_t buffer, const struct ggml_tensor * tensor) {
    return ggml_backend_buft_get_alloc_size(ggml_backend_buffer_get_type(buffer), tensor);
}

bool ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_is_host(ggml_backend_buffer_get_type(buffer));
}

void ggml_backend_buffer_set_usage(ggml_backend_buffer_t buffer, enum ggml_backend_buffer_usage usage) {
    if (!buffer) {
        tn_iface_refuse(__func__, "the buffer is NULL");
        return;
    }
    buffer->usage = usage;
    if (ggml_backend_buffer_is_multi_buffer(buffer)) ggml_backend_multi_buffer_set_usage(buffer, usage);
    if (ggml_backend_buffer_is_meta(buffer)) ggml_backend_meta_buffer_set_usage(buffer, usage);
}

enum ggml_backend_buffer_usage ggml_backend_buffer_get_usage(ggml_backend_buffer_t buffer) {
    return buffer ? buffer->usage : GGML_BACKEND_BUFFER_USAGE_ANY;
}

void ggml_backend_buffer_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    if (!buffer) {
        tn_iface_refuse(__func__, "the buffer is NULL");
    } else if (buffer->size > 0 && !buffer->iface.clear) {
        tn_iface_refuse(__func__, "%s memory cannot be cleared", ggml_backend_buffer_name(buffer));
    } else if (buffer->size > 0) {
        buffer->iface.clear(buffer, value);
    }
}

void ggml_backend_buffer_reset(ggml_backend_buffer_t buffer) {
    if (buffer && buffer->iface.reset) buffer->iface.reset(buffer);
}

// ---- several buffers as one -----------------------------------------------------------------------------

struct multi_buffer {
    size_t n_parts;
    ggml_backend_buffer_t parts[];
};

static void multi_free(ggml_backend_buffer_t buffer) {
    struct multi_buffer * multi = buffer->context;
    for (size_t i = 0; i < multi->n_parts; i++)
        ggml_backend_buffer_free(multi->parts[i]);
    tn_mem_free(multi);
}

static void multi_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    struct multi_buffer * multi = buffer->context;
    for (size_t i = 0; i < multi->n_parts; i++)
        ggml_backend_buffer_clear(multi->parts[i], value);
}

static void multi_reset(ggml_backend_buffer_t buffer) {
    struct multi_buffer * multi = buffer->context;
    for (size_t i = 0; i < multi->n_parts; i++)
        ggml_backend_buffer_reset(multi->parts[i]);
}

// There is no base and no access to tensors: they lie in the parts.
static const struct ggml_backend_buffer_i multi_iface = {
    .free_buffer = multi_free,
    .clear = multi_clear,
    .reset = multi_reset,
};

static bool sum_of_parts(ggml_backend_buffer_t * buffers, size_t n_buffers, size_t * size) {
    *size = 0;
    for (size_t i = 0; i < n_buffers; i++) {
        if (!buffers[i]) return tn_refuse("part %zu is NULL", i);
        if (!tn_size_add(*size, buffers[i]->size, size)) return tn_refuse("the sum of the sizes overflows");
    }
    return true;
}

ggml_backend_buffer_t ggml_backend_multi_buffer_alloc_buffer(ggml_backend_buffer_t * buffers,
                                                             size_t n_buffers) {
    size_t size;
    if (!buffers || n_buffers == 0) {
        tn_iface_refuse(__func__, "there are no parts");
        return NULL;
    }
    if (!sum_of_parts(buffers, n_buffers, &size)) {
        tn_iface_refuse(__func__, "%s", tn_error_text());
        return NULL;
    }
    struct multi_buffer * multi = tn_mem_calloc(n_buffers + 1, sizeof(buffers[0]), TN_MEM_OBJECT);
    if (!multi) return NULL;
    multi->n_parts = n_buffers;
    memcpy(multi->parts, buffers, n_buffers * sizeof(buffers[0]));
    ggml_backend_buffer_t buffer = ggml_backend_buffer_init(buffers[0]->buft, multi_iface, multi, size);
    if (!buffer) tn_mem_free(multi);
    return buffer;
}

bool ggml_backend_buffer_is_multi_buffer(ggml_backend_buffer_t buffer) {
    return buffer && buffer->iface.free_buffer == multi_free;
}

void ggml_backend_multi_buffer_set_usage(ggml_backend_buffer_t buffer, enum ggml_backend_buffer_usage usage) {
    if (!ggml_backend_buffer_is_multi_buffer(buffer)) {
        tn_iface_refuse(__func__, "the buffer does not consist of several");
        return;
    }
    struct multi_buffer * multi = buffer->context;
    for (size_t i = 0; i < multi->n_parts; i++)
        ggml_backend_buffer_set_usage(multi->parts[i], usage);
}

// ---- tensors in buffers ---------------------------------------------------------------------------------

enum ggml_status ggml_backend_buffer_init_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor) {
    if (!tn_iface_check_tensor(__func__, tensor)) return GGML_STATUS_FAILED;
    if (!buffer) {
        tn_iface_refuse(__func__, "the buffer for '%s' is NULL", tensor->name);
        return GGML_STATUS_FAILED;
    }
    return buffer->iface.init_tensor ? buffer->iface.init_tensor(buffer, tensor) : GGML_STATUS_SUCCESS;
}

static bool fits_there(ggml_backend_buffer_t buffer, const struct ggml_tensor * t, const void * addr) {
    const size_t size = ggml_backend_buffer_get_alloc_size(buffer, t);
    const uintptr_t base = (uintptr_t) ggml_backend_buffer_get_base(buffer);
    const uintptr_t at = (uintptr_t) addr;
    if (size <= buffer->size && at >= base && at - base <= buffer->size - size) return true;
    char text[TN_SHAPE_TENSOR_TEXT];
    return tn_refuse("%s of %zu bytes does not fit at %p into the %zu bytes of %s memory at %p",
                     tn_shape_tensor_text(text, t), size, addr, buffer->size,
                     ggml_backend_buffer_name(buffer), (void *) base);
}

static bool can_be_placed(ggml_backend_buffer_t buffer, const struct ggml_tensor * t, const void * addr) {
    if (!buffer) return tn_refuse("the buffer for '%s' is NULL", t->name);
    if (t->buffer || t->data) return tn_refuse("'%s' has memory already", t->name);
    if (ggml_backend_buffer_is_multi_buffer(buffer)) {
        return tn_refuse("'%s' cannot lie in a buffer that stands for several, only in one of them", t->name);
    }
    if (t->view_src) return tn_refuse("'%s' is a view: it lies where '%s' does", t->name, t->view_src->name);
    return fits_there(buffer, t, addr);
}

enum ggml_status tn_buffer_settle(ggml_backend_buffer_t buffer, struct ggml_tensor * t, void * data) {
    void * const before = t->data;
    t->buffer = buffer;
    t->data = data;
    const enum ggml_status status = ggml_backend_buffer_init_tensor(buffer, t);
    if (status == GGML_STATUS_SUCCESS) return status;
    t->buffer = NULL;
    t->data = before;
    const bool has_reason = ggml_backend_buffer_is_meta(buffer); // others need not give one
    tn_iface_refuse("init_tensor", "%s memory does not take '%s': %s", ggml_backend_buffer_name(buffer),
                    t->name, has_reason ? tn_error_text() : ggml_status_to_string(status));
    return status;
}

enum ggml_status ggml_backend_tensor_alloc(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor,
                                           void * addr) {
    if (!tn_iface_check_tensor(__func__, tensor)) return GGML_STATUS_FAILED;
    if (!can_be_placed(buffer, tensor, addr)) {
        tn_iface_refuse(__func__, "%s", tn_error_text());
        return GGML_STATUS_FAILED;
    }
    return tn_buffer_settle(buffer, tensor, addr);
}

static bool view_can_be_placed(const struct ggml_tensor * t) {
    const struct ggml_tensor * base = t->view_src;
    if (t->buffer) return tn_refuse("'%s' has a buffer already", t->name);
    if (!base) return tn_refuse("'%s' is no view", t->name);
    if (!base->buffer) return tn_refuse("'%s', of which '%s' is a view, has no buffer", base->name, t->name);
    if (!base->data && ggml_nbytes(base) > 0) {
        return tn_refuse("'%s', of which '%s' is a view, has no memory", base->name, t->name);
    }
    return true;
}

enum ggml_status ggml_backend_view_init(struct ggml_tensor * tensor) {
    if (!tn_iface_check_tensor(__func__, tensor)) return GGML_STATUS_FAILED;
    if (!view_can_be_placed(tensor)) {
        tn_iface_refuse(__func__, "%s", tn_error_text());
        return GGML_STATUS_FAILED;
    }
    const struct ggml_tensor * base = tensor->view_src;
    void * const at = base->data ? (char *) base->data + tensor->view_offs : NULL;
    return tn_buffer_settle(base->buffer, tensor, at);
}
