// SPDX-License-Identifier: MIT
// core/graph_print.c: what the log gets, and the Graphviz file.
#include "harness.h"

#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "core/graph.h"

static char text[65536];

static void collect(enum ggml_log_level level, const char * line, void * user_data) {
    (void) user_data;
    assert_int_equal(level, GGML_LOG_LEVEL_INFO);
    strncat(text, line, sizeof(text) - strlen(text) - 1);
}

struct fixture {
    struct ggml_context * ctx;
    struct ggml_cgraph * g;
    struct ggml_tensor *a, *w, *y, *grad;
};

static struct fixture fixture(void) {
    struct fixture f;
    f.ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 16, .no_alloc = true });
    f.g = ggml_new_graph_custom(f.ctx, 16, true);
    f.a = ggml_set_name(ggml_new_tensor_2d(f.ctx, GGML_TYPE_F32, 4, 3), "in {x}");
    f.w = ggml_set_name(ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 4), "w");
    ggml_set_param(f.w);
    f.y = ggml_set_name(ggml_mul(f.ctx, f.a, f.w), "y");
    f.grad = ggml_set_name(ggml_sub(f.ctx, f.a, f.w), "grad of y");
    ggml_build_forward_expand(f.g, f.y);
    ggml_build_forward_expand(f.g, f.grad);
    f.g->grads[tn_graph_find(f.g, f.y)] = f.grad;
    return f;
}

static void lines_for_nodes_and_leafs(void ** state) {
    (void) state;
    struct fixture f = fixture();
    text[0] = '\0';
    ggml_log_set(collect, NULL);
    ggml_graph_print(f.g);
    ggml_graph_print(NULL);
    ggml_log_set(NULL, NULL);
    assert_contains(text, "3 nodes, 1 leafs\n");
    assert_contains(text, "node     0: NONE             x f32    [4, 1, 1, 1] 'w'\n");
    assert_contains(text, "node     1: MUL              g f32    [4, 3, 1, 1] 'y'\n");
    assert_contains(text, "node     2: SUB                f32    [4, 3, 1, 1] 'grad of y'\n");
    assert_contains(text, "leaf     0: NONE               f32    [4, 3, 1, 1] 'in {x}'\n");
    tn_graph_set_invalid(f.g);
    ggml_log_set(collect, NULL);
    ggml_graph_print(f.g);
    ggml_log_set(NULL, NULL);
    assert_contains(text, ", invalid\n");
    ggml_free(f.ctx);
}

static const char * dot(const struct ggml_cgraph * g, const struct ggml_cgraph * colors) {
    char path[TEST_PATH];
    const int fd = mkstemp(test_path(path, "dot"));
    assert_true(fd >= 0);
    close(fd);
    ggml_graph_dump_dot(g, colors, path);
    FILE * file = fopen(path, "r");
    const size_t n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    fclose(file);
    remove(path);
    return text;
}

static int count(const char * part) {
    int n = 0;
    for (const char * at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static void boxes_and_edges(void ** state) {
    (void) state;
    struct fixture f = fixture();
    char part[256];
    dot(f.g, NULL);
    assert_contains(text, "digraph G {\n");
    assert_int_equal(count("shape=record"), 3); // the gradient lies in the box of y
    assert_contains(text, "fillcolor=yellow; shape=record; label=\"{w (f32)|[4, 1, 1, 1]|<x>none}\"]");
    assert_contains(text, "fillcolor=green; shape=record; label=\"{y (f32)|[4, 3, 1, 1]|<x>x*y|<g>x-y}\"]");
    assert_contains(text, "fillcolor=pink; shape=record; label=\"{in\\ \\{x\\} (f32)");
    snprintf(part, sizeof(part), "\"%p\":x -> \"%p\":x [label=\"src 1\"]", (void *) f.w, (void *) f.y);
    assert_contains(text, part);
    snprintf(part, sizeof(part), "\"%p\":x -> \"%p\":g [label=\"src 0\"]", (void *) f.a, (void *) f.y);
    assert_contains(text, part);
    assert_int_equal(count("->"), 4);
    ggml_free(f.ctx);
}

static void colors_of_another_graph(void ** state) {
    (void) state;
    struct fixture f = fixture();
    struct ggml_cgraph * other = ggml_new_graph_custom(f.ctx, 16, false);
    dot(f.g, other);
    assert_contains(text, "fillcolor=lightblue; shape=record; label=\"{y");
    assert_int_equal(count("fillcolor=green"), 0);
    ggml_build_forward_expand(other, f.y);
    dot(f.g, other);
    assert_int_equal(count("fillcolor=green"), 1);
    ggml_free(f.ctx);
}

static void what_cannot_be_written_is_refused(void ** state) {
    (void) state;
    struct fixture f = fixture();
    ggml_graph_dump_dot(f.g, NULL, "/no/such/folder/x.dot");
    assert_contains(tn_error_text(), "ggml_graph_dump_dot: /no/such/folder/x.dot: No such file");
    ggml_graph_dump_dot(f.g, NULL, "/dev/full");
    assert_contains(tn_error_text(), "/dev/full: cannot be written");
    ggml_graph_dump_dot(NULL, NULL, "x");
    assert_contains(tn_error_text(), "NULL");
    tn_error_clear();
    ggml_graph_dump_dot(f.g, NULL, NULL);
    assert_contains(tn_error_text(), "NULL");
    tn_mem_fail_nth(1);
    ggml_graph_dump_dot(f.g, NULL, "/no/such/folder/x.dot");
    assert_contains(tn_error_text(), "out of memory");
    tn_mem_fail_nth(0);
    ggml_free(f.ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_for_nodes_and_leafs),
        cmocka_unit_test(boxes_and_edges),
        cmocka_unit_test(colors_of_another_graph),
        cmocka_unit_test(what_cannot_be_written_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
