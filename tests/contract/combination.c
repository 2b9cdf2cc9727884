// SPDX-License-Identifier: MIT
// Takes operators.def apart: text to lists of types, sets to their members.
#include "contract/combination.h"

#include "contract/make/makers.h"

struct type_row {
    bool has_blocks, is_decoded, is_encoded;
    enum ggml_type dot;
    double error;
};

static const struct type_row type_rows[GGML_TYPE_COUNT] = {
#define TN_TYPE(id, blocks, decoded, encoded, dot, error)                                                    \
    [GGML_TYPE_##id] = { blocks, decoded, encoded, GGML_TYPE_##dot, error },
#include "contract/types.def"
#undef TN_TYPE
};

static const enum ggml_type type_ids[] = {
#define TN_TYPE(id, blocks, decoded, encoded, dot, error) GGML_TYPE_##id,
#include "contract/types.def"
#undef TN_TYPE
};
enum { N_TYPES = sizeof(type_ids) / sizeof(type_ids[0]) };

static const struct operator operators[] = {
#define TN_NODE(id, maker, layouts, types) { GGML_OP_##id, -1, make_##maker, layouts, types },
#define TN_UNARY(id, types)                { GGML_OP_UNARY, GGML_UNARY_OP_##id, make_unary, "r", types },
#define TN_GLU(id, types)                  { GGML_OP_GLU, GGML_GLU_OP_##id, make_glu, "pp", types },
#include "contract/operators.def"
#undef TN_NODE
#undef TN_UNARY
#undef TN_GLU
};

const struct operator* combination_operators(int * n) {
    *n = (int) (sizeof(operators) / sizeof(operators[0]));
    return operators;
}

double combination_encoding_error(enum ggml_type type) {
    return type_rows[type].error;
}

static bool is_in_set(enum ggml_type type, const char * set) {
    const struct type_row * row = &type_rows[type];
    if (strcmp(set, "any") == 0) return true;
    if (strcmp(set, "blocks") == 0) return row->has_blocks;
    if (strcmp(set, "decoded") == 0) return row->is_decoded;
    if (strcmp(set, "encoded") == 0) return row->is_encoded;
    if (strcmp(set, "encoded_blocks") == 0) return row->is_encoded && row->has_blocks;
    if (strcmp(set, "dotted") == 0) return row->dot != GGML_TYPE_COUNT;
    return strcmp(set, ggml_type_name(type)) == 0;
}

// Marks in a list of alternatives, instead of types.
enum { SAME = GGML_TYPE_COUNT + 1, DOT = GGML_TYPE_COUNT + 2 };

struct alternatives {
    int at[N_TYPES + 2];
    int n;
};

// "f32|blocks" into its types.
static struct alternatives parse_alternatives(const char * text, size_t length) {
    struct alternatives a = { .n = 0 };
    char word[32];
    for (size_t at = 0, n; at < length; at += n + 1) {
        n = strcspn(text + at, "|");
        if (n > length - at) n = length - at;
        snprintf(word, sizeof(word), "%.*s", (int) n, text + at);
        const int before = a.n;
        if (strcmp(word, "=") == 0) a.at[a.n++] = SAME;
        if (strcmp(word, "dot") == 0) a.at[a.n++] = DOT;
        for (int i = 0; i < N_TYPES; i++) {
            if (is_in_set(type_ids[i], word)) a.at[a.n++] = (int) type_ids[i];
        }
        if (a.n == before) fail_msg("operators.def: '%s' is no type and no set", word);
    }
    return a;
}

static enum ggml_type resolved(int type, const struct combination * c) {
    if (type == SAME) return c->types[0];
    return type == DOT ? type_rows[c->types[0]].dot : (enum ggml_type) type;
}

static void add(struct combinations * all, const struct combination * c) {
    if ((all->n & (all->n - 1)) == 0)
        all->at = realloc(all->at, (size_t) (all->n ? 2 * all->n : 1) * sizeof(*c));
    assert_non_null(all->at);
    all->at[all->n++] = *c;
}

// All choices of source i and those behind it.
static void choose(struct combinations * all, struct combination * c, const struct alternatives * sources,
                   const struct alternatives * result, int i) {
    const struct alternatives * a = i < c->n_src ? &sources[i] : result;
    for (int k = 0; k < a->n; k++) {
        const enum ggml_type type = resolved(a->at[k], c);
        if (i < c->n_src) {
            c->types[i] = type;
            choose(all, c, sources, result, i + 1);
        } else {
            c->result = type;
            add(all, c);
        }
    }
}

// One "a,b->c".
static void parse_group(struct combinations * all, const struct operator* op, const char * text,
                        size_t length) {
    struct combination c = { .owner = op };
    struct alternatives sources[GGML_MAX_SRC], result;
    const char * arrow = strstr(text, "->");
    assert_true(arrow && arrow < text + length);
    for (const char * at = text; at < arrow;) {
        size_t n = strcspn(at, ",-");
        sources[c.n_src++] = parse_alternatives(at, n);
        at += n + (at[n] == ',');
    }
    result = parse_alternatives(arrow + 2, (size_t) (text + length - arrow - 2));
    choose(all, &c, sources, &result, 0);
}

struct combinations combinations_new(void) {
    struct combinations all = { NULL, 0 };
    int n;
    const struct operator* op = combination_operators(&n);
    for (; n > 0; n--, op++) {
        for (const char * at = op->types; *at;) {
            const size_t length = strcspn(at, ";");
            parse_group(&all, op, at, length);
            at += length;
            at += strspn(at, "; ");
        }
    }
    return all;
}

void combinations_free(struct combinations * all) {
    free(all->at);
}

const char * combination_text(const struct combination * c) {
    static char text[256];
    const char * name = c->owner->op == GGML_OP_UNARY
                            ? ggml_unary_op_name((enum ggml_unary_op) c->owner->which)
                        : c->owner->op == GGML_OP_GLU ? ggml_glu_op_name((enum ggml_glu_op) c->owner->which)
                                                      : ggml_op_name(c->owner->op);
    int at = snprintf(text, sizeof(text), "%s ", name);
    for (int i = 0; i < c->n_src; i++)
        at += snprintf(text + at, sizeof(text) - (size_t) at, "%s%s", i ? "," : "",
                       ggml_type_name(c->types[i]));
    snprintf(text + at, sizeof(text) - (size_t) at, "->%s", ggml_type_name(c->result));
    return text;
}

int combination_wants(const struct combination * c) {
    int wants = 0;
    for (int i = 0; i < c->n_src; i++) {
        switch (c->owner->layouts[i]) {
        case 'a':
        case 'r': wants |= WANTS_STRIDED | WANTS_PERMUTED; break;
        case 'p': wants |= WANTS_STRIDED; break;
        default: break;
        }
    }
    return wants;
}
