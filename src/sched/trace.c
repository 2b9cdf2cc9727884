// SPDX-License-Identifier: MIT
// Who was chosen, who refused and why, what was copied where: the story of the last graph, as text and as
// JSON. Everything that is needed of the graph is noted while it is split: it may be gone when somebody asks.
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "ggml-ext.h"
#include "sched/sched_int.h"

struct told_node {
    char name[GGML_MAX_NAME];
    const char * op;  // static
    int32_t refusals; // -1: none
    int16_t backend;
    uint8_t cause;
    bool is_work;
};

struct told_copy {
    char name[GGML_MAX_NAME]; // of the source
    size_t size;
    int16_t from;
};

struct refusal {
    int32_t id;   // of the tensor
    int32_t next; // of the same tensor, -1: none
    int16_t backend;
    size_t text; // where in the texts
};

struct tn_sched_story {
    TN_ARRAY(struct told_node) nodes;
    TN_ARRAY(struct told_copy) copies;
    TN_ARRAY(struct refusal) refusals;
    TN_ARRAY(char) texts;
    TN_ARRAY(int32_t) heads; // first refusal of a tensor
};

static const char * const causes[TN_CAUSES] = {
    [TN_CAUSE_NONE] = "nothing decided",
    [TN_CAUSE_CALLER] = "the caller placed it",
    [TN_CAUSE_MEMORY] = "its memory is there",
    [TN_CAUSE_INPUT] = "the host sets it",
    [TN_CAUSE_WEIGHTS] = "its weights are there",
    [TN_CAUSE_OFFLOAD] = "its weights are in host memory, and the device wants it",
    [TN_CAUSE_NEIGHBOUR] = "a neighbour runs there",
    [TN_CAUSE_UPGRADE] = "the same memory, and the higher priority",
    [TN_CAUSE_SOURCES] = "most of its sources can be read there",
    [TN_CAUSE_WRITES] = "it shares memory that is there",
    [TN_CAUSE_USER] = "its first user runs there",
    [TN_CAUSE_REST] = "nobody uses it",
};

static const char * const methods[] = {
    [TN_COPY_NOT_YET] = "not yet",
    [TN_COPY_QUEUED] = "queued",
    [TN_COPY_BLOCKING] = "blocking",
    [TN_COPY_EXPERTS] = "experts",
};

struct tn_sched_story * tn_trace_new(void) {
    return tn_mem_calloc(1, sizeof(struct tn_sched_story), TN_MEM_OBJECT);
}

void tn_trace_free(struct tn_sched_story * story) {
    if (!story) return;
    TN_ARRAY_FREE(&story->heads);
    TN_ARRAY_FREE(&story->texts);
    TN_ARRAY_FREE(&story->refusals);
    TN_ARRAY_FREE(&story->copies);
    TN_ARRAY_FREE(&story->nodes);
    tn_mem_free(story);
}

// ---- noting ----------------------------------------------------------------------------------------------

void tn_trace_begin(struct ggml_backend_sched * s) {
    s->story->nodes.count = s->story->copies.count = 0;
    s->story->refusals.count = s->story->texts.count = s->story->heads.count = 0;
}

// A text that is the same as the last one is not kept twice: many nodes are refused alike.
static bool note_text(struct tn_sched_story * story, const char * why, size_t * at) {
    const size_t n = strlen(why) + 1;
    if (story->refusals.count > 0) {
        *at = story->refusals.items[story->refusals.count - 1].text;
        if (strcmp(story->texts.items + *at, why) == 0) return true;
    }
    if (!TN_ARRAY_RESERVE(&story->texts, n, TN_MEM_GRAPH)) return false;
    *at = story->texts.count;
    memcpy(story->texts.items + *at, why, n);
    story->texts.count += n;
    return true;
}

void tn_trace_refusal(struct ggml_backend_sched * s, int32_t id, int backend, const char * why) {
    struct tn_sched_story * story = s->story;
    size_t at;
    if (!TN_ARRAY_RESERVE(&story->refusals, 1, TN_MEM_GRAPH) || !note_text(story, why, &at)) return;
    story->refusals.items[story->refusals.count++] =
        (struct refusal){ .id = id, .next = -1, .backend = (int16_t) backend, .text = at };
}

static bool link_refusals(struct ggml_backend_sched * s) {
    struct tn_sched_story * story = s->story;
    const size_t n = s->tensors.count;
    if (!TN_ARRAY_RESERVE(&story->heads, n, TN_MEM_GRAPH)) return false;
    story->heads.count = n;
    for (size_t i = 0; i < n; i++)
        story->heads.items[i] = -1;
    for (size_t i = story->refusals.count; i-- > 0;) {
        struct refusal * r = &story->refusals.items[i];
        r->next = story->heads.items[r->id];
        story->heads.items[r->id] = (int32_t) i;
    }
    return true;
}

static void note_node(struct ggml_backend_sched * s, int32_t id) {
    const struct tn_sched_tensor * t = tn_sched_at(s, id);
    const struct ggml_tensor * node = t->tensor;
    struct told_node * told = &s->story->nodes.items[s->story->nodes.count++];
    *told = (struct told_node){
        .op = ggml_op_desc(node),
        .refusals = s->story->heads.items[id],
        .backend = t->backend,
        .cause = t->cause,
        .is_work = t->is_work,
    };
    memcpy(told->name, node->name, sizeof(told->name));
}

static void note_copy(struct ggml_backend_sched * s, const struct tn_sched_copy * copy) {
    const struct tn_sched_tensor * t = tn_sched_at(s, copy->source);
    struct told_copy * told = &s->story->copies.items[s->story->copies.count++];
    told->size = ggml_nbytes(t->tensor);
    told->from = tn_sched_at(s, t->root)->backend;
    memcpy(told->name, t->tensor->name, sizeof(told->name));
}

bool tn_trace_record(struct ggml_backend_sched * s) {
    struct tn_sched_story * story = s->story;
    if (!link_refusals(s) || !TN_ARRAY_RESERVE(&story->nodes, s->order.count, TN_MEM_GRAPH) ||
        !TN_ARRAY_RESERVE(&story->copies, s->copies.count, TN_MEM_GRAPH)) {
        return false;
    }
    for (size_t i = 0; i < s->order.count; i++)
        note_node(s, s->order_ids.items[i]);
    for (size_t i = 0; i < s->copies.count; i++)
        note_copy(s, &s->copies.items[i]);
    return true;
}

// ---- telling ---------------------------------------------------------------------------------------------

// Text for a buffer that may be too small, or nowhere.
struct out {
    char * text;
    size_t size, len;
};

static void add(struct out * o, const char * fmt, ...) TN_PRINTF(2, 3);

static void add(struct out * o, const char * fmt, ...) {
    const bool room = o->len < o->size;
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(room ? o->text + o->len : NULL, room ? o->size - o->len : 0, fmt, args);
    va_end(args);
    if (n > 0) o->len += (size_t) n;
}

static size_t bytes_of_all(const struct tn_sched_story * story) {
    size_t sum = 0;
    for (size_t i = 0; i < story->copies.count; i++)
        sum += story->copies.items[i].size;
    return sum;
}

static void tell_input(struct out * o, struct ggml_backend_sched * s, int32_t c) {
    const struct told_copy * told = &s->story->copies.items[c];
    const struct tn_sched_copy * copy = &s->copies.items[c];
    add(o, "    input '%s' of %zu bytes from %s", told->name, told->size, tn_sched_name(s, told->from));
    if (copy->method == TN_COPY_NOT_YET) {
        add(o, "\n");
    } else {
        add(o, ": %s, %zu bytes copied\n", methods[copy->method], copy->moved);
    }
}

static void tell_node(struct out * o, struct ggml_backend_sched * s, int32_t i) {
    const struct told_node * told = &s->story->nodes.items[i];
    add(o, "    node %d '%s' %s: on %s, %s\n", i, told->name, told->op, tn_sched_name(s, told->backend),
        causes[told->cause]);
    for (int32_t r = told->refusals; r >= 0; r = s->story->refusals.items[r].next) {
        const struct refusal * refusal = &s->story->refusals.items[r];
        const char * why = s->story->texts.items + refusal->text;
        add(o, "        refused by %s: %s\n", tn_sched_name(s, refusal->backend),
            *why ? why : "no reason given");
    }
}

// "1 node", "2 nodes"
static void add_count(struct out * o, size_t n, const char * what, const char * behind) {
    add(o, "%zu %s%s%s", n, what, n == 1 ? "" : "s", behind);
}

static void tell(struct out * o, struct ggml_backend_sched * s, bool nodes) {
    add_count(o, s->story->nodes.count, "node", " in ");
    add_count(o, s->splits.count, "split", ", ");
    add_count(o, s->story->copies.count, "input", " of ");
    add_count(o, bytes_of_all(s->story), "byte", "\n");
    for (size_t k = 0; k < s->splits.count; k++) {
        const struct tn_sched_split * split = &s->splits.items[k];
        add(o, "split %zu on %s: ", k, tn_sched_name(s, split->backend));
        add_count(o, (size_t) (split->end - split->first), "node", ", ");
        add_count(o, (size_t) (split->end_copy - split->first_copy), "input", "\n");
        for (int32_t c = split->first_copy; c < split->end_copy; c++)
            tell_input(o, s, c);
        for (int32_t i = split->first; nodes && i < split->end; i++)
            tell_node(o, s, i);
    }
}

// ---- JSON ------------------------------------------------------------------------------------------------

// Bytes of the character at `text` in UTF-8, 0: it is none.
static int utf8_length(const unsigned char * text) {
    const int n = text[0] < 0x80   ? 1
                  : text[0] < 0xc2 ? 0
                  : text[0] < 0xe0 ? 2
                  : text[0] < 0xf0 ? 3
                  : text[0] < 0xf5 ? 4
                                   : 0;
    for (int i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
    }
    const bool beyond = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
                        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f);
    return beyond ? 0 : n;
}

static void add_quoted(struct out * o, const char * text) {
    const unsigned char * at = (const unsigned char *) text;
    add(o, "\"");
    while (*at) {
        const int n = utf8_length(at);
        if (n == 0) {
            add(o, "\\ufffd");
        } else if (*at < 0x20) {
            add(o, "\\u%04x", *at);
        } else {
            add(o, "%s%.*s", *at == '"' || *at == '\\' ? "\\" : "", n, (const char *) at);
        }
        at += n > 0 ? n : 1;
    }
    add(o, "\"");
}

static void add_field(struct out * o, const char * key, const char * text) {
    add(o, ",\"%s\":", key);
    add_quoted(o, text);
}

static void json_splits(struct out * o, struct ggml_backend_sched * s) {
    for (size_t k = 0; k < s->splits.count; k++) {
        const struct tn_sched_split * split = &s->splits.items[k];
        add(o, "%s{\"split\":%zu,\"first\":%d,\"count\":%d", k > 0 ? "," : "", k, split->first,
            split->end - split->first);
        add_field(o, "device", tn_sched_name(s, split->backend));
        add(o, ",\"inputs\":[");
        for (int32_t c = split->first_copy; c < split->end_copy; c++) {
            const struct told_copy * told = &s->story->copies.items[c];
            add(o, "%s{\"bytes\":%zu,\"copied\":%zu", c > split->first_copy ? "," : "", told->size,
                s->copies.items[c].moved);
            add_field(o, "tensor", told->name);
            add_field(o, "from", tn_sched_name(s, told->from));
            add_field(o, "method", methods[s->copies.items[c].method]);
            add(o, "}");
        }
        add(o, "]}");
    }
}

static void json_node(struct out * o, struct ggml_backend_sched * s, size_t split, int32_t i) {
    const struct told_node * told = &s->story->nodes.items[i];
    add(o, "%s{\"node\":%d,\"split\":%zu,\"computes\":%s", i > 0 ? "," : "", i, split,
        told->is_work ? "true" : "false");
    add_field(o, "name", told->name);
    add_field(o, "op", told->op);
    add_field(o, "device", tn_sched_name(s, told->backend));
    add_field(o, "reason", causes[told->cause]);
    add(o, ",\"refused\":[");
    for (int32_t r = told->refusals; r >= 0; r = s->story->refusals.items[r].next) {
        const struct refusal * refusal = &s->story->refusals.items[r];
        add(o, "%s{\"backend\":%d", r != told->refusals ? "," : "", refusal->backend);
        add_field(o, "device", tn_sched_name(s, refusal->backend));
        add_field(o, "why", s->story->texts.items + refusal->text);
        add(o, "}");
    }
    add(o, "]}");
}

static void json(struct out * o, struct ggml_backend_sched * s) {
    add(o, "{\"splits\":[");
    json_splits(o, s);
    add(o, "],\"nodes\":[");
    for (size_t k = 0; k < s->splits.count; k++) {
        for (int32_t i = s->splits.items[k].first; i < s->splits.items[k].end; i++)
            json_node(o, s, k, i);
    }
    add(o, "]}\n");
}

size_t ggml_ext_explain(ggml_backend_sched_t sched, enum ggml_ext_format format, char * buf, size_t size) {
    struct out o = { buf, buf ? size : 0, 0 };
    if (o.size > 0) buf[0] = '\0';
    if (!sched || (format != GGML_EXT_TEXT && format != GGML_EXT_JSON)) {
        tn_iface_refuse(__func__, sched ? "there is no such format" : "the scheduler is NULL");
        return 0;
    }
    if (format == GGML_EXT_JSON) {
        json(&o, sched);
    } else {
        tell(&o, sched, true);
    }
    return o.len;
}

void tn_trace_log(struct ggml_backend_sched * s) {
    struct out o = { NULL, 0, 0 };
    tell(&o, s, s->debug > 1);
    char * text = tn_mem_alloc(o.len + 1, TN_MEM_WORK);
    if (!text) return;
    o = (struct out){ text, o.len + 1, 0 };
    tell(&o, s, s->debug > 1);
    for (char * line = text; *line;) {
        char * end = strchr(line, '\n');
        *end = '\0';
        TN_LOG_DEBUG("%s\n", line);
        line = end + 1;
    }
    tn_mem_free(text);
}
