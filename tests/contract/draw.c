// SPDX-License-Identifier: MIT
// Random sizes, layouts and values.
#include "contract/draw.h"

enum { GUARD = 64, BANK = 24, PATTERN = 0x5a, FENCE = 0xa7 };

// AddressSanitizer watches the ends itself, also over reads.
static size_t guard(void) {
    const char * slow = getenv("TENON_SLOW");
    return slow && slow[0] == '1' ? 0 : GUARD;
}

void draw_free(struct draw * d) {
    for (int i = 0; i < d->n_blocks; i++)
        free(d->blocks[i].start);
    d->n_blocks = 0;
}

static char * add_block(struct draw * d, size_t size) {
    const size_t g = guard();
    assert_true(d->n_blocks < MAX_BLOCKS);
    struct block * b = &d->blocks[d->n_blocks++];
    *b = (struct block){ .start = malloc(size + 2 * g + (size + g == 0)), .size = size };
    assert_non_null(b->start);
    b->data = b->start + g;
    memset(b->start, FENCE, size + 2 * g);
    memset(b->data, PATTERN, size);
    return b->data;
}

bool draw_guards_intact(const struct draw * d) {
    const size_t g = guard();
    for (int k = 0; k < d->n_blocks; k++) {
        for (size_t i = 0; i < g; i++) {
            const struct block * b = &d->blocks[k];
            if ((unsigned char) b->start[i] != FENCE || (unsigned char) b->data[b->size + i] != FENCE)
                return false;
        }
    }
    return true;
}

void draw_allocate(struct draw * d) {
    for (struct ggml_tensor * x = ggml_get_first_tensor(d->ctx); x; x = ggml_get_next_tensor(d->ctx, x)) {
        if (x->data) continue;
        if (x->view_src) {
            x->data = (char *) x->view_src->data + x->view_offs;
        } else {
            x->data = add_block(d, ggml_nbytes(x));
        }
    }
}

// --- numbers

int64_t draw_below(struct draw * d, int64_t n) {
    return test_rng_below(&d->rng, n);
}

float draw_float(struct draw * d, float lo, float hi) {
    return test_rng_float(&d->rng, lo, hi);
}

bool draw_chance(struct draw * d, int64_t n) {
    return draw_below(d, n) == 0;
}

int64_t draw_size(struct draw * d, int64_t max) {
    if (d->may_be_empty && draw_chance(d, 4)) {
        d->may_be_empty = false;
        return 0;
    }
    return draw_chance(d, 4) ? 1 : 1 + draw_below(d, max);
}

int64_t draw_divisor(struct draw * d, int64_t n) {
    if (n == 0 || draw_chance(d, 3)) return n;
    for (int tries = 0; tries < 4; tries++) {
        const int64_t candidate = 1 + draw_below(d, n);
        if (n % candidate == 0) return candidate;
    }
    return 1;
}

int64_t draw_row(struct draw * d, int n, bool result) {
    int64_t block = result ? ggml_blck_size(d->result) : 1;
    for (int i = 0; i < n; i++) {
        if (ggml_blck_size(d->types[i]) > block) block = ggml_blck_size(d->types[i]);
    }
    if (block > 1) return block * (1 + draw_below(d, block < 256 ? 512 / block : 2));
    if (draw_chance(d, 16)) return 1 + draw_below(d, 1100);
    return draw_size(d, draw_chance(d, 4) ? 130 : 40);
}

void draw_shape(struct draw * d, int n, bool result, int64_t * ne) {
    ne[0] = draw_row(d, n, result);
    const int64_t most = ne[0] > 200 ? 3 : 6;
    ne[1] = draw_size(d, most);
    ne[2] = draw_size(d, 4); // 4 has a divisor that is neither 1 nor all of it
    ne[3] = draw_size(d, ne[0] > 200 ? 2 : 4);
}

// --- values

// Blocks of a type, made once from a fixed seed: some encoders are slow.
static const char * bank_of(enum ggml_type type) {
    static char * banks[GGML_TYPE_COUNT];
    if (banks[type]) return banks[type];
    struct test_rng rng = { 1 };
    const int64_t block = ggml_blck_size(type);
    char * bank = banks[type] = malloc(BANK * ggml_type_size(type));
    float values[256], weights[256];
    for (int64_t k = 0; k < BANK; k++) {
        const float scale = k == 0 ? 0.0f : test_rng_float(&rng, 0.2f, 2.0f);
        for (int64_t i = 0; i < block; i++) {
            values[i] = scale * test_rng_float(&rng, -1.0f, 1.0f);
            weights[i] = 1.0f;
        }
        char * to = bank + (size_t) k * ggml_type_size(type);
        if (tn_type_get(type)->no_chunk)
            tn_type_get(type)->encode_ref(values, to, block);
        else
            assert_true(ggml_quantize_chunk(type, values, to, 0, 1, block, weights) > 0);
    }
    return bank;
}

// Every block of a block of memory that holds tensors of this type.
static void fill_blocks(struct draw * d, enum ggml_type type, char * data, size_t size) {
    const char * bank = bank_of(type);
    const size_t unit = ggml_type_size(type);
    for (size_t at = 0; at + unit <= size; at += unit)
        memcpy(data + at, bank + (size_t) draw_below(d, BANK) * unit, unit);
}

static void fill(struct draw * d, struct ggml_tensor * x, float lo, float hi) {
    int64_t i[4] = { 0 };
    for (int64_t k = 0; k < ggml_nelements(x); k++, cpu_next(x, i))
        cpu_put(x, i, (double) draw_float(d, lo, hi));
}

// --- layouts

// dims 1 .. 3, or 0 .. 3, in another order: axes[i] is where dimension i of the memory goes.
static void shuffle(struct draw * d, int first, int * axes) {
    for (int i = 0; i < 4; i++)
        axes[i] = i;
    for (int i = 3; i > first; i--) {
        const int j = first + (int) draw_below(d, i - first + 1), t = axes[i];
        axes[i] = axes[j];
        axes[j] = t;
    }
}

static struct ggml_tensor * permuted(struct draw * d, enum ggml_type type, const int64_t * ne, int first) {
    int axes[4];
    int64_t in_memory[4];
    shuffle(d, first, axes);
    for (int i = 0; i < 4; i++)
        in_memory[i] = ne[axes[i]];
    struct ggml_tensor * base = ggml_new_tensor(d->ctx, type, 4, in_memory);
    base->data = add_block(d, ggml_nbytes(base));
    return ggml_permute(d->ctx, base, axes[0], axes[1], axes[2], axes[3]);
}

// A view into a tensor that has `more` in each dimension, somewhere in its middle.
static struct ggml_tensor * part_of(struct draw * d, enum ggml_type type, const int64_t * ne,
                                    const int64_t * more) {
    int64_t whole[4];
    size_t offset = 0;
    for (int i = 0; i < 4; i++)
        whole[i] = ne[i] + more[i];
    struct ggml_tensor * base = ggml_new_tensor(d->ctx, type, 4, whole);
    base->data = add_block(d, ggml_nbytes(base));
    for (int i = 0; i < 4; i++) {
        const int64_t step = i == 0 ? ggml_blck_size(type) : 1;
        offset += (size_t) draw_below(d, more[i] / step + 1) * base->nb[i];
    }
    if (ggml_nelements(base) == 0) offset = 0;
    return ggml_view_4d(d->ctx, base, ne[0], ne[1], ne[2], ne[3], base->nb[1], base->nb[2], base->nb[3],
                        offset);
}

// By hand: strides such as no builder gives a leaf.
static struct ggml_tensor * sparse(struct draw * d, enum ggml_type type, const int64_t * ne) {
    struct ggml_tensor * x = ggml_new_tensor(d->ctx, type, 4, ne);
    size_t stride = ggml_type_size(type) * (size_t) (2 + draw_below(d, 3));
    for (int i = 0; i < 4; i++) {
        x->nb[i] = stride;
        stride *= (size_t) (ne[i] + draw_below(d, 2));
    }
    x->data = add_block(d, ggml_nbytes(x));
    return x;
}

static struct ggml_tensor * shared(struct draw * d, enum ggml_type type, const int64_t * ne) {
    struct ggml_tensor * x = ggml_new_tensor(d->ctx, type, 4, ne);
    const int64_t dim = 1 + draw_below(d, 3);
    x->nb[dim] = 0;
    for (int64_t i = dim + 1; i < 4; i++)
        x->nb[i] = i == dim + 1
                       ? x->nb[dim - 1] * (size_t) (dim == 1 ? ne[0] / ggml_blck_size(type) : ne[dim - 1])
                       : x->nb[i - 1] * (size_t) ne[i - 1];
    x->data = add_block(d, ggml_nbytes(x));
    d->is_shared = true;
    return x;
}

static struct ggml_tensor * laid_out(struct draw * d, enum ggml_type type, const int64_t * ne,
                                     enum layout layout) {
    const int64_t block = ggml_blck_size(type);
    switch (layout) {
    case LAYOUT_SPACED: return part_of(d, type, ne, (int64_t[]){ block * (1 + draw_below(d, 2)), 0, 0, 0 });
    case LAYOUT_PADDED:
        return part_of(d, type, ne,
                       (int64_t[]){ block * draw_below(d, 3), draw_below(d, 3), draw_below(d, 2), 1 });
    case LAYOUT_SHARED: return shared(d, type, ne);
    case LAYOUT_PERMUTED: return permuted(d, type, ne, 1);
    case LAYOUT_TURNED: return permuted(d, type, ne, block > 1 ? 1 : 0);
    case LAYOUT_SPARSE: return sparse(d, type, ne);
    default: break;
    }
    struct ggml_tensor * x = ggml_new_tensor(d->ctx, type, 4, ne);
    x->data = add_block(d, ggml_nbytes(x));
    return x;
}

// How many of the layouts, from the first on, a letter of operators.def stands for.
static int64_t layouts_of(char letter) {
    switch (letter) {
    case 'a': return LAYOUT_COUNT;
    case 'r': return LAYOUT_TURNED;
    case 'p': return LAYOUT_PADDED;
    default: return 1;
    }
}

// Types with blocks have no gaps inside rows.
static enum layout draw_layout(struct draw * d, char letter, enum ggml_type type) {
    if (d->wild && draw_chance(d, 4)) return (enum layout) draw_below(d, LAYOUT_COUNT);
    int64_t n = layouts_of(letter);
    if (ggml_blck_size(type) > 1 && n > LAYOUT_TURNED) n = LAYOUT_TURNED;
    return (enum layout) draw_below(d, n);
}

static struct ggml_tensor * source(struct draw * d, enum ggml_type type, const int64_t * ne,
                                   enum layout layout, const float * range) {
    struct ggml_tensor * x = laid_out(d, type, ne, layout);
    if (!x->data && x->view_src) x->data = (char *) x->view_src->data + x->view_offs;
    if (!x->data) return x;
    if (ggml_blck_size(type) > 1) {
        const struct block * b = &d->blocks[d->n_blocks - 1];
        fill_blocks(d, type, b->data, b->size);
    } else {
        fill(d, x, range[0], range[1]);
    }
    return x;
}

struct ggml_tensor * draw_ranged(struct draw * d, int i, const int64_t * ne, float lo, float hi) {
    const enum ggml_type type = d->types[i];
    return source(d, type, ne, draw_layout(d, d->layouts[i], type), (const float[]){ lo, hi });
}

struct ggml_tensor * draw_source(struct draw * d, int i, const int64_t * ne) {
    return draw_ranged(d, i, ne, -2.0f, 2.0f);
}

struct ggml_tensor * draw_indices(struct draw * d, int i, const int64_t * ne, int64_t below) {
    struct ggml_tensor * x = draw_ranged(d, i, ne, 0.0f, 0.0f);
    int64_t at[4] = { 0 };
    if (!x->data || ggml_blck_size(x->type) > 1) return x;
    for (int64_t k = 0; k < ggml_nelements(x); k++, cpu_next(x, at))
        cpu_put(x, at, (double) (below > 0 ? draw_below(d, below) : 0));
    return x;
}

struct ggml_tensor * draw_target(struct draw * d, int i, const int64_t * ne) {
    const enum ggml_type type = d->types[i];
    enum layout layout = draw_layout(d, d->layouts[i], type);
    if (layout == LAYOUT_SHARED) layout = LAYOUT_PADDED;
    return source(d, type, ne, layout, (const float[]){ -2.0f, 2.0f });
}

struct ggml_tensor * draw_destination(struct draw * d, enum ggml_type type, const int64_t * ne) {
    enum layout layout = draw_layout(d, 'a', type);
    if (layout == LAYOUT_SHARED) layout = LAYOUT_PADDED;
    return source(d, type, ne, layout, (const float[]){ -2.0f, 2.0f });
}

// --- nodes

bool draw_in_place(struct draw * d) {
    return !d->is_shared && draw_chance(d, 3);
}

struct ggml_tensor * draw_retyped(struct draw * d, struct ggml_tensor * node) {
    if (node->type == d->result || node->view_src || node->op == GGML_OP_NONE) return node;
    node->type = d->result;
    node->nb[0] = ggml_type_size(node->type);
    node->nb[1] = node->nb[0] * (size_t) (node->ne[0] / ggml_blck_size(node->type));
    for (int i = 2; i < GGML_MAX_DIMS; i++)
        node->nb[i] = node->nb[i - 1] * (size_t) node->ne[i - 1];
    return node;
}
