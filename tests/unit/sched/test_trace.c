// SPDX-License-Identifier: MIT
// What ggml_ext_explain() tells of a graph: who runs each node and why, who refused it, what was copied.
#include "unit/sched/stage.h"

static const char * no_scale_reason(int i) {
    return i == 0 ? "Fake0 has no scales today" : "Fake1 neither";
}

static struct stage stage;

static bool refuses_scale(ggml_backend_dev_t dev, const struct ggml_tensor * op) {
    if (op->op != GGML_OP_SCALE) return true;
    ggml_ext_refuse("%s", no_scale_reason(dev == &stage.devices[1]->device));
    return false;
}

// x * 2 by the processor alone, + w where w is, and + y where the caller says.
struct story {
    struct ggml_context *owner, *ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor *w, *x, *y, *twice, *first, *out;
    ggml_backend_buffer_t memory;
};

static struct story story_begin(void) {
    stage = stage_begin(2, false, NULL);
    struct story t = { .owner = stage_context(), .ctx = stage_context() };
    for (int i = 0; i < 2; i++)
        stage.devices[i]->device.iface.supports_op = refuses_scale;
    t.w = stage_row(t.owner, "w \"quoted\"\n\xff");
    t.memory = stage_own(&stage, 1, t.w, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    t.x = stage_input(t.ctx, "x");
    t.y = stage_input(t.ctx, "y");
    t.twice = ggml_set_name(ggml_scale(t.ctx, t.x, 2), "twice");
    t.first = ggml_set_name(ggml_add(t.ctx, t.twice, t.w), "first");
    t.out = ggml_set_name(ggml_add(t.ctx, t.first, t.y), "out");
    t.graph = stage_graph(t.ctx);
    ggml_build_forward_expand(t.graph, t.out);
    stage_place(&stage, t.out, 0);
    return t;
}

static void story_end(struct story * t) {
    ggml_backend_buffer_free(t->memory);
    ggml_free(t->ctx);
    ggml_free(t->owner);
    stage_end(&stage);
}

static char text[20000];

static void explain(enum ggml_ext_format format) {
    const size_t n = ggml_ext_explain(stage.sched, format, text, sizeof(text));
    assert_int_equal(n, strlen(text));
}

static void nothing_is_told_of_no_graph(void ** state) {
    (void) state;
    stage = stage_begin(1, false, NULL);
    explain(GGML_EXT_TEXT);
    assert_string_equal(text, "0 nodes in 0 splits, 0 inputs of 0 bytes\n");
    explain(GGML_EXT_JSON);
    assert_string_equal(text, "{\"splits\":[],\"nodes\":[]}\n");
    assert_int_equal(ggml_ext_explain(NULL, GGML_EXT_TEXT, text, sizeof(text)), 0);
    assert_contains(ggml_ext_last_error(), "the scheduler is NULL");
    assert_int_equal(ggml_ext_explain(stage.sched, (enum ggml_ext_format) 2, text, sizeof(text)), 0);
    assert_contains(ggml_ext_last_error(), "there is no such format");
    stage_end(&stage);
}

static void text_tells_all(void ** state) {
    (void) state;
    struct story t = story_begin();
    stage_alloc(&stage, t.graph);
    explain(GGML_EXT_TEXT);
    assert_string_equal(text, "3 nodes in 3 splits, 3 inputs of 768 bytes\n"
                              "split 0 on CPU: 1 node, 0 inputs\n"
                              "    node 0 'twice' SCALE: on CPU, most of its sources can be read there\n"
                              "        refused by Fake1: Fake1 neither\n"
                              "        refused by Fake0: Fake0 has no scales today\n"
                              "split 1 on Fake1: 1 node, 1 input\n"
                              "    input 'twice' of 256 bytes from CPU\n"
                              "    node 1 'first' ADD: on Fake1, its weights are there\n"
                              "split 2 on Fake0: 1 node, 2 inputs\n"
                              "    input 'first' of 256 bytes from Fake1\n"
                              "    input 'y' of 256 bytes from CPU\n"
                              "    node 2 'out' ADD: on Fake0, the caller placed it\n");
    stage_fill(t.w, 1, 0);
    stage_fill(t.x, 1, 1);
    stage_fill(t.y, 1, 1);
    stage_compute(&stage, t.graph);
    explain(GGML_EXT_TEXT);
    assert_contains(text, "    input 'twice' of 256 bytes from CPU: queued, 256 bytes copied\n");
    assert_contains(text, "    input 'first' of 256 bytes from Fake1: queued, 256 bytes copied\n");
    assert_contains(text, "    input 'y' of 256 bytes from CPU: blocking, 256 bytes copied\n");
    story_end(&t);
}

static void json_tells_the_same(void ** state) {
    (void) state;
    struct story t = story_begin();
    t.twice->name[0] = '"';
    t.first->name[0] = '\n';
    t.out->name[0] = (char) 0xff;
    stage_alloc(&stage, t.graph);
    explain(GGML_EXT_JSON);
    assert_string_equal(
        text,
        "{\"splits\":["
        "{\"split\":0,\"first\":0,\"count\":1,\"device\":\"CPU\",\"inputs\":[]},"
        "{\"split\":1,\"first\":1,\"count\":1,\"device\":\"Fake1\",\"inputs\":["
        "{\"bytes\":256,\"copied\":0,\"tensor\":\"\\\"wice\",\"from\":\"CPU\",\"method\":\"not yet\"}]},"
        "{\"split\":2,\"first\":2,\"count\":1,\"device\":\"Fake0\",\"inputs\":["
        "{\"bytes\":256,\"copied\":0,\"tensor\":\"\\u000airst\",\"from\":\"Fake1\",\"method\":\"not yet\"},"
        "{\"bytes\":256,\"copied\":0,\"tensor\":\"y\",\"from\":\"CPU\",\"method\":\"not yet\"}]}],"
        "\"nodes\":["
        "{\"node\":0,\"split\":0,\"computes\":true,\"name\":\"\\\"wice\",\"op\":\"SCALE\",\"device\":\"CPU\","
        "\"reason\":\"most of its sources can be read there\",\"refused\":["
        "{\"backend\":1,\"device\":\"Fake1\",\"why\":\"Fake1 neither\"},"
        "{\"backend\":0,\"device\":\"Fake0\",\"why\":\"Fake0 has no scales today\"}]},"
        "{\"node\":1,\"split\":1,\"computes\":true,\"name\":\"\\u000airst\",\"op\":\"ADD\","
        "\"device\":\"Fake1\",\"reason\":\"its weights are there\",\"refused\":[]},"
        "{\"node\":2,\"split\":2,\"computes\":true,\"name\":\"\\ufffdut\",\"op\":\"ADD\",\"device\":"
        "\"Fake0\","
        "\"reason\":\"the caller placed it\",\"refused\":[]}]}\n");
    story_end(&t);
}

// The story outlives the graph, and a buffer that is too small gets what fits, closed.
static void short_buffers_and_freed_graphs(void ** state) {
    (void) state;
    struct story t = story_begin();
    stage_alloc(&stage, t.graph);
    explain(GGML_EXT_TEXT);
    static char whole[sizeof(text)];
    strcpy(whole, text);
    story_end(&t);
    t = story_begin();
    stage_alloc(&stage, t.graph);
    ggml_free(t.ctx);
    t.ctx = NULL;
    explain(GGML_EXT_TEXT);
    assert_string_equal(text, whole);
    const size_t n = strlen(whole);
    assert_int_equal(ggml_ext_explain(stage.sched, GGML_EXT_TEXT, NULL, 0), n);
    assert_int_equal(ggml_ext_explain(stage.sched, GGML_EXT_TEXT, NULL, 100), n);
    for (size_t size = 1; size <= n + 1; size += size < 100 ? 1 : n / 7) {
        memset(text, '#', sizeof(text));
        assert_int_equal(ggml_ext_explain(stage.sched, GGML_EXT_TEXT, text, size), n);
        const size_t length = size <= n ? size - 1 : n;
        assert_int_equal(strlen(text), length);
        assert_memory_equal(text, whole, length);
        assert_int_equal(text[size], '#');
    }
    story_end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_told_of_no_graph),
        cmocka_unit_test(text_tells_all),
        cmocka_unit_test(json_tells_the_same),
        cmocka_unit_test(short_buffers_and_freed_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
