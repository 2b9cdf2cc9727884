// SPDX-License-Identifier: MIT
// Back ends in shared libraries: one by its path, or of each family the best that the search folders hold.
//
// A file is held against what a module must be, in the order in which it can do harm: its bytes are there
// (base/dl.h), it rates itself usable, it has an entry function, which answers, with a table of this
// version that has no holes. Once its entry function has run, a library that is refused after all stays
// open: threads of it may run.
#include <string.h>

#include "backend/iface.h"
#include "backend/registry.h"
#include "backend/use.h"
#include "base/array.h"
#include "base/dir.h"
#include "base/dl.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/str.h"
#include "base/thread.h"

struct module {
    ggml_backend_reg_t reg;
    void * library;
};

static struct {
    struct tn_mutex mutex; // for as long as a library is loaded or unloaded
    TN_ARRAY(struct module) modules;
} loader = { .mutex = TN_MUTEX_INIT };

static _Thread_local bool this_thread_loads;

// The libraries stay open: back ends of theirs may be freed later than this library's own end.
static TN_AT_UNLOAD void forget_all(void) {
    tn_mutex_lock(&loader.mutex);
    TN_ARRAY_FREE(&loader.modules);
    tn_mutex_unlock(&loader.mutex);
}

static bool begin(const char * function) {
    if (this_thread_loads)
        return tn_iface_refuse(function, "a library that is being loaded or unloaded cannot ask for this");
    tn_mutex_lock(&loader.mutex);
    this_thread_loads = true;
    return true;
}

static void end(void) {
    this_thread_loads = false;
    tn_mutex_unlock(&loader.mutex);
}

// ---- one library ----------------------------------------------------------------------------------------

// The place of a family among the modules, or their number.
static size_t place_of(ggml_backend_reg_t reg) {
    size_t i = 0;
    while (i < loader.modules.count && loader.modules.items[i].reg != reg)
        i++;
    return i;
}

// What the library's entry function answers, if that can be a family. NULL with a text.
static ggml_backend_reg_t ask_for_reg(ggml_backend_init_t init) {
    tn_error_clear();
    ggml_backend_reg_t reg = init();
    if (!reg) {
        const char * reason = tn_error_text();
        if (reason[0] == '\0') tn_error_set("its ggml_backend_init gives no family");
        return NULL;
    }
    if (reg->api_version == GGML_BACKEND_API_VERSION) return reg;
    tn_error_set("it was built for version %d of the interface, which is %s than %d here", reg->api_version,
                 reg->api_version < GGML_BACKEND_API_VERSION ? "older" : "newer", GGML_BACKEND_API_VERSION);
    return NULL;
}

static bool keep(ggml_backend_reg_t reg, void * library) {
    if (place_of(reg) < loader.modules.count) {
        tn_dl_close(library); // it was opened a second time
        return true;
    }
    if (!TN_ARRAY_RESERVE(&loader.modules, 1, TN_MEM_OBJECT) || !tn_use_watch(reg)) return false;
    if (!tn_registry_add(reg)) {
        tn_use_forget(reg);
        return false;
    }
    loader.modules.items[loader.modules.count++] = (struct module){ reg, library };
    return true;
}

enum outcome { LOADED, NOT_FOR_HERE, BROKEN };

// *reg is set if it is LOADED; otherwise there is a text.
static enum outcome open_module(const char * path, ggml_backend_reg_t * reg) {
    ggml_backend_score_t score;
    ggml_backend_init_t init;
    void * library = tn_dl_open(path);
    if (!library) return BROKEN;
    const bool rates = tn_dl_find(library, "ggml_backend_score", &score);
    const bool starts = tn_dl_find(library, "ggml_backend_init", &init);
    if (!starts || (rates && score() == 0)) {
        tn_dl_close(library);
        tn_error_set(starts ? "%s: it rates itself as unusable on this machine"
                            : "%s: it is no back end: it has no function ggml_backend_init",
                     path);
        return NOT_FOR_HERE;
    }
    *reg = ask_for_reg(init);
    if (*reg && keep(*reg, library)) return LOADED;
    tn_error_prefix("%s", path);
    return BROKEN;
}

ggml_backend_reg_t ggml_backend_load(const char * path) {
    if (!path || path[0] == '\0') {
        tn_iface_refuse(__func__, "there is no path");
        return NULL;
    }
    if (!begin(__func__)) return NULL;
    char reason[TN_ERROR_MAX];
    ggml_backend_reg_t reg = NULL;
    const bool ok = open_module(path, &reg) == LOADED;
    tn_str_copy(reason, sizeof(reason), ok ? "" : tn_error_text());
    end();
    if (ok) return reg;
    tn_iface_refuse(__func__, "%s", reason);
    return NULL;
}

// The library that goes with the family, which is known nowhere afterwards; NULL if it came from none.
static bool take_out(ggml_backend_reg_t reg, void ** library) {
    char text[256];
    const char * function = "ggml_backend_unload";
    if (tn_use_tell(reg, text, sizeof(text)))
        return tn_iface_refuse(function, "%s is in use: %s", ggml_backend_reg_name(reg), text);
    if (!tn_registry_remove(reg)) return tn_iface_refuse(function, "there is no such family");
    const size_t i = place_of(reg);
    *library = NULL;
    if (i == loader.modules.count) return true;
    *library = loader.modules.items[i].library;
    tn_use_forget(reg);
    loader.modules.items[i] = loader.modules.items[--loader.modules.count];
    return true;
}

void ggml_backend_unload(ggml_backend_reg_t reg) {
    if (!begin(__func__)) return;
    void * library;
    if (take_out(reg, &library)) tn_dl_close(library);
    end();
}

// ---- of each family the best ----------------------------------------------------------------------------

// In the order in which they are tried.
static const char * const families[] = { "blas",   "zendnn",  "cann", "cuda",     "hip",
                                         "metal",  "rpc",     "sycl", "vulkan",   "virtgpu",
                                         "opencl", "hexagon", "musa", "openvino", "cpu" };
enum { N_FAMILIES = TN_COUNT(families), MAX_FOLDERS = 3 };

struct choice {
    int score; // 0: none yet
    char name[256];
    int folder;
};

struct search {
    char folders[MAX_FOLDERS][TN_DIR_PATH];
    int n_folders, i_folder;
    struct choice best[N_FAMILIES];
};

// Broken files are worth a line in the log. Others are not: every program looks on every start.
static void log_passed_over(enum outcome outcome) {
    if (outcome == BROKEN) TN_LOG_WARN("ggml_backend_load_all: passed over: %s\n", tn_error_text());
}

static bool join(char path[TN_DIR_PATH], const char * folder, const char * name) {
    struct tn_str s = tn_str_on(path, TN_DIR_PATH);
    tn_str_add(&s, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
    return !s.cut;
}

static bool plain_name(char name[64], const char * family) {
    struct tn_str s = tn_str_on(name, 64);
    tn_str_add(&s, "%sggml-%s%s", TN_DL_PREFIX, family, TN_DL_SUFFIX);
    return !s.cut;
}

// The family of which "libggml-<family>-<anything>.so" is a variant, or N_FAMILIES.
static int family_of_variant(const char * name) {
    const size_t len = strlen(name), suffix = strlen(TN_DL_SUFFIX);
    if (len <= suffix || strcmp(name + len - suffix, TN_DL_SUFFIX) != 0) return N_FAMILIES;
    for (int i = 0; i < N_FAMILIES; i++) {
        char head[64];
        struct tn_str s = tn_str_on(head, sizeof(head));
        tn_str_add(&s, "%sggml-%s-", TN_DL_PREFIX, families[i]);
        if (strncmp(name, head, s.len) == 0) return i;
    }
    return N_FAMILIES;
}

static int score_of(const char * path) {
    ggml_backend_score_t score;
    void * library = tn_dl_open(path);
    if (!library) {
        log_passed_over(BROKEN);
        return 0;
    }
    const int points = tn_dl_find(library, "ggml_backend_score", &score) ? score() : 0;
    tn_dl_close(library);
    return points;
}

// Of equals the one in the earlier folder, then the one whose name comes first: folders are listed in no
// order.
static void see_file(void * context, const char * name) {
    struct search * s = context;
    const int family = family_of_variant(name);
    char path[TN_DIR_PATH];
    if (family == N_FAMILIES || !join(path, s->folders[s->i_folder], name)) return;
    struct choice * best = &s->best[family];
    const int score = score_of(path);
    const bool earlier = best->folder == s->i_folder && strcmp(name, best->name) < 0;
    if (score < best->score || score <= 0 || (score == best->score && !earlier)) return;
    if (!tn_str_copy(best->name, sizeof(best->name), name)) return;
    best->score = score;
    best->folder = s->i_folder;
}

static bool try_file(const char * folder, const char * name) {
    char path[TN_DIR_PATH];
    ggml_backend_reg_t reg;
    if (!join(path, folder, name)) return false;
    const enum outcome outcome = open_module(path, &reg);
    if (outcome != LOADED) log_passed_over(outcome);
    return outcome == LOADED;
}

static void load_family(const struct search * s, int family) {
    const struct choice * best = &s->best[family];
    if (best->score > 0 && try_file(s->folders[best->folder], best->name)) return;
    char name[64];
    if (!plain_name(name, families[family])) return;
    for (int i = 0; i < s->n_folders; i++) {
        if (tn_dir_has(s->folders[i], name) && try_file(s->folders[i], name)) return;
    }
}

static void add_folder(struct search * s, bool known) {
    for (int i = 0; known && i < s->n_folders; i++)
        known = strcmp(s->folders[i], s->folders[s->n_folders]) != 0;
    if (known) s->n_folders++;
}

static void find_folders(struct search * s, const char * only) {
    if (only) {
        add_folder(s, tn_str_copy(s->folders[0], TN_DIR_PATH, only[0] ? only : "."));
        return;
    }
#ifdef GGML_BACKEND_DIR
    add_folder(s, tn_str_copy(s->folders[s->n_folders], TN_DIR_PATH, GGML_BACKEND_DIR));
#endif
    add_folder(s, tn_dir_of_program(s->folders[s->n_folders]));
    add_folder(s, tn_dir_of_work(s->folders[s->n_folders]));
}

static void load_found(struct search * s) {
    for (s->i_folder = 0; s->i_folder < s->n_folders; s->i_folder++)
        tn_dir_list(s->folders[s->i_folder], see_file, s);
    for (int i = 0; i < N_FAMILIES; i++)
        load_family(s, i);
}

void ggml_backend_load_all_from_path(const char * dir_path) {
    struct search * s = tn_mem_calloc(1, sizeof(*s), TN_MEM_WORK);
    if (!s) {
        tn_iface_refuse(__func__, "no memory to search for libraries");
        return;
    }
    if (begin(__func__)) {
        find_folders(s, dir_path);
        load_found(s);
        end();
        const char * path = tn_env_get(TN_ENV_GGML_BACKEND_PATH);
        if (path && path[0] != '\0') ggml_backend_load(path);
    }
    tn_mem_free(s);
}

void ggml_backend_load_all(void) {
    ggml_backend_load_all_from_path(NULL);
}
