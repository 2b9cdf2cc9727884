// SPDX-License-Identifier: MIT
// Graphs as text for people: lines by the log, and Graphviz.
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "core/graph.h"
#include "core/shape.h"

static const char * mark_of(const struct ggml_cgraph * g, const struct ggml_tensor * t) {
    if (t->flags & GGML_TENSOR_FLAG_PARAM) return "x";
    return ggml_graph_get_grad(g, t) ? "g" : " ";
}

static void print_line(const char * what, int i, const struct ggml_tensor * t, const char * mark) {
    char shape[TN_SHAPE_TEXT];
    TN_LOG_INFO("%s %5d: %-16s %s %-6s %s '%s'\n", what, i, ggml_op_desc(t), mark, ggml_type_name(t->type),
                tn_shape_text(shape, t->ne), t->name);
}

void ggml_graph_print(const struct ggml_cgraph * g) {
    if (!g) return;
    TN_LOG_INFO("graph %p: %d nodes, %d leafs%s\n", (const void *) g, g->n_nodes, g->n_leafs,
                g->order == TN_GRAPH_INVALID ? ", invalid" : "");
    for (int i = 0; i < g->n_nodes; i++) {
        print_line("node", i, g->nodes[i], mark_of(g, g->nodes[i]));
    }
    for (int i = 0; i < g->n_leafs; i++) {
        print_line("leaf", i, g->leafs[i], mark_of(g, g->leafs[i]));
    }
}

struct dot {
    const struct ggml_cgraph * g;       // what is drawn
    const struct ggml_cgraph * forward; // what colours; NULL: all
    struct tn_ptrset owner;             // gradient -> the node in whose box it is drawn
    FILE * file;
};

// Text inside a record label.
static void put_text(FILE * file, const char * text) {
    for (; *text; text++) {
        if (strchr("{}|<>\"\\ ", *text)) fputc('\\', file);
        fputc(*text, file);
    }
}

static bool note_owners(struct dot * d) {
    for (int i = 0; i < d->g->n_nodes; i++) {
        struct ggml_tensor * grad = ggml_graph_get_grad(d->g, d->g->nodes[i]);
        if (!grad || grad == d->g->nodes[i]) continue;
        int64_t * at = tn_ptrset_put(&d->owner, grad, NULL);
        if (!at) return false;
        *at = i + 1;
    }
    return true;
}

// The tensor in whose box t is drawn.
static const struct ggml_tensor * box_of(const struct dot * d, const struct ggml_tensor * t) {
    const int64_t * at = tn_ptrset_find(&d->owner, t);
    return at ? d->g->nodes[*at - 1] : t;
}

static const char * color_of(const struct dot * d, const struct ggml_tensor * t,
                             const struct ggml_tensor * grad) {
    if (t->flags & GGML_TENSOR_FLAG_PARAM) return "yellow";
    if (!grad) return "white";
    return !d->forward || tn_graph_find(d->forward, t) != TN_GRAPH_ABSENT ? "green" : "lightblue";
}

static void put_box(const struct dot * d, const struct ggml_tensor * t, const char * color,
                    const struct ggml_tensor * grad) {
    char shape[TN_SHAPE_TEXT];
    fprintf(d->file, "  \"%p\" [style=filled; fillcolor=%s; shape=record; label=\"{", (const void *) t,
            color);
    put_text(d->file, t->name);
    fprintf(d->file, " (%s)|%s|<x>", ggml_type_name(t->type), tn_shape_text(shape, t->ne));
    put_text(d->file, ggml_op_symbol(t->op));
    if (grad) {
        fputs("|<g>", d->file);
        put_text(d->file, ggml_op_symbol(grad->op));
    }
    fputs("}\"]\n", d->file);
}

static const char * port_of(const struct dot * d, const struct ggml_tensor * t) {
    return box_of(d, t) == t ? "x" : "g";
}

static void put_edges(const struct dot * d, const struct ggml_tensor * t) {
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        const struct ggml_tensor * s = t->src[i];
        if (!s) continue;
        fprintf(d->file, "  \"%p\":%s -> \"%p\":%s [label=\"src %d\"]\n", (const void *) box_of(d, s),
                port_of(d, s), (const void *) box_of(d, t), port_of(d, t), i);
    }
}

static void put_graph(const struct dot * d) {
    const struct ggml_cgraph * g = d->g;
    fputs("digraph G {\n  newrank=true;\n  rankdir=TB;\n", d->file);
    for (int i = 0; i < g->n_nodes; i++) {
        const struct ggml_tensor * t = g->nodes[i];
        const struct ggml_tensor * grad = ggml_graph_get_grad(g, t);
        if (box_of(d, t) == t) put_box(d, t, color_of(d, t, grad), grad);
    }
    for (int i = 0; i < g->n_leafs; i++) {
        if (box_of(d, g->leafs[i]) == g->leafs[i]) put_box(d, g->leafs[i], "pink", NULL);
    }
    for (int i = 0; i < g->n_nodes; i++) {
        put_edges(d, g->nodes[i]);
    }
    fputs("}\n", d->file);
}

static bool dump(struct dot * d, const char * filename) {
    if (!note_owners(d)) return false;
    d->file = tn_file_open(filename, "w");
    if (!d->file) return false;
    put_graph(d);
    const bool written = !ferror(d->file);
    if (fclose(d->file) == 0 && written) return true;
    return tn_refuse("%s: cannot be written", filename);
}

void ggml_graph_dump_dot(const struct ggml_cgraph * gb, const struct ggml_cgraph * cgraph,
                         const char * filename) {
    struct dot d = { .g = gb, .forward = cgraph };
    const bool given = gb && filename;
    if (!given) tn_error_set("the graph or the file name is NULL");
    if (!given || !dump(&d, filename)) {
        tn_error_prefix("%s", __func__);
        TN_LOG_ERROR("%s\n", tn_error_text());
    }
    tn_ptrset_free(&d.owner);
}
