// SPDX-License-Identifier: MIT
// Several copies of the library in one process: they compute at the same time and share no state, and one
// that is unloaded leaves nothing behind.
//
//     copies OPEN...
//
// Each OPEN brings one copy, in this order: `own`, what this program is linked with; HOW:plugin:PATH, what a
// plug-in is linked with; HOW:library:PATH, the library itself. HOW is local, global, deep or new, as dlopen
// and dlmopen have it.
#include "../../harness.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "copy.h"

#ifdef COPY_NAME
const struct copy * COPY_NAME(void);
#endif

enum { MAX_COPIES = 8, ROUNDS = 100 };

struct loaded {
    const char * how;
    void * handle; // NULL: own
    struct copy api;
    int logged; // by its callback
};

static struct loaded copies[MAX_COPIES];
static int n_copies;

// ---- loading --------------------------------------------------------------------------------------------

static void * open_as(const char * how, const char * path) {
    const int now = RTLD_NOW;
    void * handle = NULL;
    if (strncmp(how, "local:", 6) == 0) handle = dlopen(path, now | RTLD_LOCAL);
    if (strncmp(how, "global:", 7) == 0) handle = dlopen(path, now | RTLD_GLOBAL);
    if (strncmp(how, "deep:", 5) == 0) handle = dlopen(path, now | RTLD_LOCAL | RTLD_DEEPBIND);
    if (strncmp(how, "new:", 4) == 0) handle = dlmopen(LM_ID_NEWLM, path, now);
    if (!handle) fail_msg("%s: %s", how, dlerror());
    return handle;
}

// Object pointers and function pointers are the same here (POSIX).
static void take(void * handle, const char * name, void * function) {
    void * symbol = dlsym(handle, name);
    if (!symbol) fail_msg("%s", dlerror());
    memcpy(function, &symbol, sizeof(symbol));
}

static void load(struct loaded * c) {
    memset(&c->api, 0, sizeof(c->api));
    c->handle = NULL;
    if (strcmp(c->how, "own") == 0) {
#ifdef COPY_NAME
        c->api = *COPY_NAME();
        return;
#else
        fail_msg("this program has no copy of its own");
#endif
    }
    const char * kind = strchr(c->how, ':');
    assert_non_null(kind);
    const char * path = strchr(kind + 1, ':');
    assert_non_null(path);
    c->handle = open_as(c->how, path + 1);
    if (strncmp(kind, ":plugin:", 8) == 0) {
        copy_of_plugin * get;
        take(c->handle, "copy_plugin", &get);
        c->api = *get();
        return;
    }
#define F(name) take(c->handle, #name, &c->api.name);
    COPY_FUNCTIONS(F)
#undef F
}

static int load_all(void ** state) {
    (void) state;
    for (int i = 0; i < n_copies; i++)
        load(&copies[i]);
    return 0;
}

// The file that a function lies in.
static const char * file_of(const void * function_at) {
    void * function;
    memcpy(&function, function_at, sizeof(function));
    Dl_info info = { 0 };
    assert_int_not_equal(dladdr(function, &info), 0);
    return info.dli_fname;
}

// ---- one copy alone -------------------------------------------------------------------------------------

enum { N = 64 };

static struct ggml_cgraph * build(const struct copy * c, struct ggml_context * ctx, struct ggml_tensor ** a,
                                  struct ggml_tensor ** y) {
    *a = c->ggml_new_tensor_2d(ctx, GGML_TYPE_F32, N, N);
    *y = c->ggml_soft_max(ctx, c->ggml_add(ctx, c->ggml_mul_mat(ctx, *a, *a), *a));
    struct ggml_cgraph * g = c->ggml_new_graph(ctx);
    c->ggml_build_forward_expand(g, *y);
    return g;
}

static void fill(float values[N * N], int seed) {
    for (int i = 0; i < N * N; i++)
        values[i] = (float) ((i * 7 + seed * 13) % 31 - 15) / 64.0f;
}

// Computes with a pool and a buffer. Returns whether all calls succeeded; no assertions, for threads.
static bool compute(const struct copy * c, int seed, float out[N * N]) {
    struct ggml_context * ctx =
        c->ggml_init((struct ggml_init_params){ .mem_size = 1 << 20, .no_alloc = true });
    ggml_backend_t backend = c->ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    struct ggml_threadpool_params params = c->ggml_threadpool_params_default(3);
    struct ggml_threadpool * pool = c->ggml_threadpool_new(&params);
    if (!ctx || !backend || !pool || !c->ggml_backend_is_cpu(backend)) return false;
    struct ggml_tensor *a, *y;
    struct ggml_cgraph * g = build(c, ctx, &a, &y);
    ggml_backend_buffer_t buffer = c->ggml_backend_alloc_ctx_tensors(ctx, backend);
    fill(out, seed);
    c->ggml_backend_tensor_set(a, out, 0, c->ggml_nbytes(a));
    c->ggml_backend_cpu_set_threadpool(backend, pool);
    const bool done = c->ggml_backend_graph_compute(backend, g) == GGML_STATUS_SUCCESS;
    c->ggml_backend_tensor_get(y, out, 0, c->ggml_nbytes(y));
    c->ggml_backend_buffer_free(buffer);
    c->ggml_backend_free(backend);
    c->ggml_threadpool_free(pool);
    c->ggml_free(ctx);
    return done;
}

// A model file written by one copy and read by another.
static bool exchange(const struct copy * from, const struct copy * to, uint32_t value) {
    char path[TEST_PATH];
    const int fd = mkstemp(test_path(path, "copies"));
    if (fd < 0) return false;
    close(fd);
    struct ggml_context * ctx = from->ggml_init((struct ggml_init_params){ .mem_size = 1 << 16 });
    struct ggml_tensor * t = from->ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 4);
    memset(t->data, 0, from->ggml_nbytes(t));
    from->ggml_set_name(t, "weight");
    struct gguf_context * out = from->gguf_init_empty();
    from->gguf_set_val_u32(out, "copies.value", value);
    from->gguf_add_tensor(out, t);
    bool ok = from->gguf_write_to_file(out, path, false);
    from->gguf_free(out);
    from->ggml_free(ctx);
    struct gguf_context * in = to->gguf_init_from_file(path, (struct gguf_init_params){ .no_alloc = true });
    ok = ok && in && to->gguf_get_n_tensors(in) == 1 &&
         to->gguf_get_val_u32(in, to->gguf_find_key(in, "copies.value")) == value;
    to->gguf_free(in);
    unlink(path);
    return ok;
}

// ---- state that must not mix ----------------------------------------------------------------------------

static void every_function_is_the_copys_own(void ** state) {
    (void) state;
    for (int i = 0; i < n_copies; i++) {
        for (int j = 0; j < i; j++) {
            // Copies in one file may not share a function, copies of several files no file.
#define F(name)                                                                                              \
    assert_ptr_not_equal((void *) copies[i].api.name, (void *) copies[j].api.name);                          \
    if (strncmp(copies[i].how, "new:", 4) != 0 && strncmp(copies[j].how, "new:", 4) != 0)                    \
        assert_string_not_equal(file_of(&copies[i].api.name), file_of(&copies[j].api.name));
            COPY_FUNCTIONS(F)
#undef F
        }
    }
}

static void devices_and_buffer_types_are_its_own(void ** state) {
    (void) state;
    for (int i = 0; i < n_copies; i++) {
        const struct copy * c = &copies[i].api;
        ggml_backend_t backend = c->ggml_backend_cpu_init();
        assert_non_null(backend);
        assert_ptr_equal(c->ggml_backend_get_device(backend),
                         c->ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
        assert_ptr_equal(c->ggml_backend_get_default_buffer_type(backend), c->ggml_backend_cpu_buffer_type());
        for (int j = 0; j < i; j++) {
            const struct copy * other = &copies[j].api;
            assert_ptr_not_equal(c->ggml_backend_get_device(backend),
                                 other->ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
            assert_ptr_not_equal(c->ggml_backend_cpu_buffer_type(), other->ggml_backend_cpu_buffer_type());
        }
        c->ggml_backend_free(backend);
    }
}

static void count_log(enum ggml_log_level level, const char * text, void * data) {
    (void) level, (void) text;
    ++*(int *) data;
}

// The CPU library logs and leaves a reason through the core's: both of this copy, and of no other.
static void logs_and_reasons_stay_apart(void ** state) {
    (void) state;
    for (int i = 0; i < n_copies; i++) {
        copies[i].logged = 0;
        copies[i].api.ggml_log_set(count_log, &copies[i].logged);
        (void) copies[i].api.ggml_threadpool_new(NULL); // leaves another reason
    }
    for (int i = 0; i < n_copies; i++) {
        const struct copy * c = &copies[i].api;
        ggml_backend_t backend = c->ggml_backend_cpu_init();
        c->ggml_backend_cpu_set_n_threads(backend, -1000 - i); // refused, and logged
        char expected[32];
        snprintf(expected, sizeof(expected), "%d threads", -1000 - i);
        assert_contains(c->ggml_ext_last_error(), expected);
        c->ggml_backend_free(backend);
        for (int j = 0; j < n_copies; j++) {
            assert_int_equal(copies[j].logged, j <= i);
            if (j > i) assert_contains(copies[j].api.ggml_ext_last_error(), "ggml_threadpool_new");
        }
    }
    for (int i = 0; i < n_copies; i++)
        copies[i].api.ggml_log_set(NULL, NULL);
}

static const char * nobody_name(ggml_backend_reg_t reg) {
    (void) reg;
    return "nobody";
}

static size_t nobody_count(ggml_backend_reg_t reg) {
    (void) reg;
    return 0;
}

static ggml_backend_dev_t nobody_device(ggml_backend_reg_t reg, size_t index) {
    (void) reg, (void) index;
    return NULL;
}

static struct ggml_backend_reg nobody = {
    .api_version = GGML_BACKEND_API_VERSION,
    .iface = { .get_name = nobody_name, .get_device_count = nobody_count, .get_device = nobody_device },
};

static void registries_stay_apart(void ** state) {
    (void) state;
    size_t counts[MAX_COPIES];
    for (int i = 0; i < n_copies; i++) {
        counts[i] = copies[i].api.ggml_backend_reg_count();
        assert_true(counts[i] >= 1);
    }
    for (int i = 0; i < n_copies; i++) {
        copies[i].api.ggml_backend_register(&nobody);
        for (int j = 0; j < n_copies; j++)
            assert_int_equal(copies[j].api.ggml_backend_reg_count(), counts[j] + (j <= i));
    }
}

static void model_files_are_exchanged(void ** state) {
    (void) state;
    for (int i = 0; i < n_copies; i++) {
        for (int j = 0; j < n_copies; j++)
            assert_true(exchange(&copies[i].api, &copies[j].api, (uint32_t) (100 * i + j)));
    }
}

// ---- at the same time -----------------------------------------------------------------------------------

struct job {
    const struct copy * copy;
    int seed;
    int wrong;
    float expected[N * N];
};

static void * compute_again_and_again(void * arg) {
    struct job * job = arg;
    float out[N * N];
    for (int i = 0; i < ROUNDS; i++)
        job->wrong += !compute(job->copy, job->seed, out) || memcmp(out, job->expected, sizeof(out)) != 0;
    return NULL;
}

static void all_compute_at_the_same_time(void ** state) {
    (void) state;
    static struct job jobs[2 * MAX_COPIES];
    pthread_t threads[2 * MAX_COPIES];
    for (int i = 0; i < 2 * n_copies; i++) { // the first copy says what is right
        jobs[i] = (struct job){ .copy = &copies[i / 2].api, .seed = i };
        assert_true(compute(&copies[0].api, i, jobs[i].expected));
    }
    for (int i = 0; i < 2 * n_copies; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compute_again_and_again, &jobs[i]), 0);
    for (int i = 0; i < 2 * n_copies; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(jobs[i].wrong, 0);
    }
}

// A graph of one copy whose custom function computes a graph of the next.
struct chain {
    int at;
    bool right;
};

static void compute_next(struct ggml_tensor * dst, const struct ggml_tensor * a, int ith, int nth,
                         void * data) {
    struct chain * chain = data;
    float expected[N * N], out[N * N];
    (void) dst, (void) a, (void) ith, (void) nth;
    chain->right = compute(&copies[chain->at].api, 5, out) && compute(&copies[0].api, 5, expected) &&
                   memcmp(out, expected, sizeof(out)) == 0;
}

static void one_computes_inside_another(void ** state) {
    (void) state;
    for (int i = 0; i < n_copies; i++) {
        const struct copy * c = &copies[i].api;
        struct ggml_context * ctx = c->ggml_init((struct ggml_init_params){ .mem_size = 1 << 20 });
        struct ggml_tensor * a = c->ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 2);
        struct chain chain = { .at = (i + 1) % n_copies };
        struct ggml_cgraph * g = c->ggml_new_graph(ctx);
        c->ggml_build_forward_expand(g, c->ggml_map_custom1(ctx, a, compute_next, 1, &chain));
        assert_int_equal(c->ggml_graph_compute_with_ctx(ctx, g, 2), GGML_STATUS_SUCCESS);
        assert_true(chain.right);
        c->ggml_free(ctx);
    }
}

// ---- unloading ------------------------------------------------------------------------------------------

static int count_threads(void) {
    DIR * dir = opendir("/proc/self/task");
    assert_non_null(dir);
    int n = 0;
    for (struct dirent * e; (e = readdir(dir)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static bool is_mapped(const char * path) {
    char line[4096];
    FILE * maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    bool found = false;
    while (!found && fgets(line, sizeof(line), maps))
        found = strstr(line, path) != NULL;
    fclose(maps);
    return found;
}

// Uses a copy, and ends when that copy is gone: what it kept for this thread must not be looked at any more.
struct visitor {
    struct loaded * loaded;
    pthread_barrier_t used, unloaded;
};

static void * visit(void * arg) {
    struct visitor * v = arg;
    const struct copy * c = &v->loaded->api;
    float out[N * N];
    (void) compute(c, 1, out);
    (void) c->ggml_threadpool_new(NULL); // leaves a reason in this thread
    static float values[256], weights[256];
    static char block[1024];
    (void) c->ggml_quantize_chunk(GGML_TYPE_IQ2_XXS, values, block, 0, 1, 256, weights); // builds tables
    pthread_barrier_wait(&v->used);
    pthread_barrier_wait(&v->unloaded);
    return NULL;
}

static void unload_under_a_thread(struct loaded * c) {
    char file[4096];
    snprintf(file, sizeof(file), "%s", file_of(&c->api.ggml_init));
    const bool shared = n_copies > 1 && strncmp(c->how, "new:", 4) == 0; // another one is of the same file
    struct visitor v = { .loaded = c };
    pthread_t thread;
    pthread_barrier_init(&v.used, NULL, 2);
    pthread_barrier_init(&v.unloaded, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, visit, &v), 0);
    pthread_barrier_wait(&v.used);
    assert_true(is_mapped(file));
    assert_int_equal(dlclose(c->handle), 0);
    if (!shared) assert_false(is_mapped(file));
    pthread_barrier_wait(&v.unloaded);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&v.used);
    pthread_barrier_destroy(&v.unloaded);
}

static void an_unloaded_copy_leaves_nothing_behind(void ** state) {
    (void) state;
    float before[N * N], after[N * N];
    const int threads = count_threads();
    int rounds = 5;
    for (int i = 0; i < n_copies; i++) { // glibc has room for the thread-locals of a few C libraries only
        if (strncmp(copies[i].how, "new:", 4) == 0) rounds = 1;
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = n_copies - 1; i >= 0; i--) {
            if (!copies[i].handle) continue;
            assert_true(compute(&copies[i].api, 3, before));
            unload_under_a_thread(&copies[i]);
            for (int t = 0; t < 5000 && count_threads() != threads; t++) // the system takes a moment
                nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
            assert_int_equal(count_threads(), threads);
            for (int j = 0; j < i; j++) { // the others go on
                assert_true(compute(&copies[j].api, 3, after));
                assert_memory_equal(before, after, sizeof(after));
            }
        }
        load_all(NULL); // back again, with a registry as it was in the beginning
        for (int i = 0; i < n_copies; i++) {
            if (copies[i].handle) assert_int_equal(copies[i].api.ggml_backend_reg_count(), 1);
        }
    }
}

int main(int argc, char ** argv) {
    n_copies = argc - 1;
    if (n_copies < 1 || n_copies > MAX_COPIES) return 2;
    for (int i = 0; i < n_copies; i++)
        copies[i].how = argv[1 + i];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_the_copys_own),
        cmocka_unit_test(devices_and_buffer_types_are_its_own),
        cmocka_unit_test(logs_and_reasons_stay_apart),
        cmocka_unit_test(registries_stay_apart),
        cmocka_unit_test(model_files_are_exchanged),
        cmocka_unit_test(all_compute_at_the_same_time),
        cmocka_unit_test(one_computes_inside_another),
        cmocka_unit_test(an_unloaded_copy_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, load_all, NULL);
}
