// SPDX-License-Identifier: MIT
// Objects of families that came from a library.
#include "backend/use.h"

#include <stdatomic.h>

#include "base/array.h"
#include "base/str.h"
#include "base/thread.h"

struct object {
    const void * address;
    ggml_backend_reg_t reg;
    enum tn_use kind;
};

static struct {
    struct tn_mutex mutex;
    _Atomic size_t n_watched; // read without the mutex: most processes watch nothing
    TN_ARRAY(ggml_backend_reg_t) watched;
    TN_ARRAY(struct object) objects;
} uses = { .mutex = TN_MUTEX_INIT };

static TN_AT_UNLOAD void forget_all(void) {
    tn_mutex_lock(&uses.mutex);
    uses.n_watched = 0;
    TN_ARRAY_FREE(&uses.watched);
    TN_ARRAY_FREE(&uses.objects);
    tn_mutex_unlock(&uses.mutex);
}

// The place of a family among the watched ones, or their number. With the mutex held.
static size_t place_of(ggml_backend_reg_t reg) {
    size_t i = 0;
    while (i < uses.watched.count && uses.watched.items[i] != reg)
        i++;
    return i;
}

bool tn_use_watch(ggml_backend_reg_t reg) {
    tn_mutex_lock(&uses.mutex);
    const bool known = place_of(reg) < uses.watched.count;
    const bool ok = known || TN_ARRAY_RESERVE(&uses.watched, 1, TN_MEM_OBJECT);
    if (ok && !known) uses.watched.items[uses.watched.count++] = reg;
    uses.n_watched = uses.watched.count;
    tn_mutex_unlock(&uses.mutex);
    return ok;
}

void tn_use_forget(ggml_backend_reg_t reg) {
    tn_mutex_lock(&uses.mutex);
    const size_t i = place_of(reg);
    if (i < uses.watched.count) uses.watched.items[i] = uses.watched.items[--uses.watched.count];
    uses.n_watched = uses.watched.count;
    for (size_t k = uses.objects.count; k-- > 0;) {
        if (uses.objects.items[k].reg == reg)
            uses.objects.items[k] = uses.objects.items[--uses.objects.count];
    }
    tn_mutex_unlock(&uses.mutex);
}

bool tn_use_begin(ggml_backend_reg_t reg, enum tn_use kind, const void * object) {
    if (uses.n_watched == 0) return true;
    tn_mutex_lock(&uses.mutex);
    const bool watched = place_of(reg) < uses.watched.count;
    const bool ok = !watched || TN_ARRAY_RESERVE(&uses.objects, 1, TN_MEM_OBJECT);
    if (ok && watched) uses.objects.items[uses.objects.count++] = (struct object){ object, reg, kind };
    tn_mutex_unlock(&uses.mutex);
    return ok;
}

void tn_use_end(const void * object) {
    if (uses.n_watched == 0) return;
    tn_mutex_lock(&uses.mutex);
    for (size_t i = uses.objects.count; i-- > 0;) { // what is young dies first
        if (uses.objects.items[i].address != object) continue;
        uses.objects.items[i] = uses.objects.items[--uses.objects.count];
        break;
    }
    tn_mutex_unlock(&uses.mutex);
}

bool tn_use_tell(ggml_backend_reg_t reg, char * text, size_t size) {
    static const char * const words[] = {
#define TN_ROW(name, word) word,
#include "backend/uses.def"
#undef TN_ROW
    };
    size_t counts[TN_USE_COUNT] = { 0 };
    tn_mutex_lock(&uses.mutex);
    for (size_t i = 0; i < uses.objects.count; i++) {
        if (uses.objects.items[i].reg == reg) counts[uses.objects.items[i].kind]++;
    }
    tn_mutex_unlock(&uses.mutex);
    struct tn_str s = tn_str_on(text, size);
    for (int i = 0; i < TN_USE_COUNT; i++) {
        if (counts[i] == 0) continue;
        tn_str_add(&s, "%s%zu %s%s", s.len > 0 ? ", " : "", counts[i], words[i], counts[i] > 1 ? "s" : "");
    }
    return s.len > 0;
}
