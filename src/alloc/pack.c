// SPDX-License-Identifier: MIT
// Two orders in which spans are placed one by one, each into the smallest gap that holds it among those that
// were placed before and share a time with it (Pisarchyk and Lee, "Efficient Memory Management for Deep
// Neural Net Inference", 2020): by size, and time by time from the widest down. The better one wins.
//
// Who shares a time with a span is found by moments, the times at which anything begins:
//
//     moment      0       1         2      3
//     span a      [----------------------------]
//     span b      [---------]
//     span c              [------------]
//     span d                        [----]           its elders, which began earlier and live at its moment:
//     span e                               [---]     a and c. Those that begin while it lives follow it in
//                                                    the list of all, up to its end.
//
// So the lists of elders are all that is kept, and their length is what the work is measured by.
#include "alloc/pack.h"

#include "base/bits.h"
#include "base/mem.h"

// Steps that may be taken: enough for graphs of models whatever their length, and for small ones of any kind.
enum { STEPS = 1 << 21, STEPS_A_SPAN = 64 };

enum { FEW = 16 };   // items that are sorted by insertion
enum { SEEN = 256 }; // a power of two

static const size_t NOWHERE = SIZE_MAX;

struct moment {
    size_t breadth; // bytes that are needed then
    int32_t first_span;
    int32_t first_elder; // up to that of the next moment
};

// What is sorted: by key, which takes a value along.
struct pair {
    size_t key, value;
};

struct packing {
    struct tn_pack_span * spans;
    int32_t n;
    size_t steps; // left

    struct moment * moments; // and one to end the last one's lists
    int32_t * elders;
    int32_t n_moments, n_elders;
    int32_t * moment_of;
    int32_t * live;

    size_t * offsets; // of the present order, NOWHERE: not placed yet
    struct pair * order;
    struct pair * near;
    struct pair * room; // for sorting
    int32_t seen[SEEN]; // where such a pair was put into `near` last, perhaps for another span
};

// ---- sorting ---------------------------------------------------------------------------------------------

static void sort_few(struct pair * items, int32_t n) {
    for (int32_t i = 1; i < n; i++) {
        const struct pair item = items[i];
        int32_t at = i;
        for (; at > 0 && items[at - 1].key > item.key; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

static void merge(const struct pair * from, int32_t middle, int32_t n, struct pair * to) {
    const struct pair *left = from, *right = from + middle, *const end = from + n;
    while (left < from + middle && right < end) {
        const bool take_left = left->key <= right->key;
        *to++ = take_left ? *left : *right;
        left += take_left;
        right += !take_left;
    }
    while (left < from + middle)
        *to++ = *left++;
    while (right < end)
        *to++ = *right++;
}

// By ascending keys; equal ones keep their order.
static void sort(struct pair * items, int32_t n, struct pair * room) {
    struct pair *from = items, *to = room;
    for (int32_t i = 0; i < n; i += FEW)
        sort_few(items + i, (int32_t) tn_min_i64(FEW, n - i));
    for (int32_t width = FEW; width < n; width *= 2) {
        for (int32_t i = 0; i < n; i += 2 * width) {
            const int32_t rest = (int32_t) tn_min_i64(2 * (int64_t) width, n - i);
            merge(from + i, (int32_t) tn_min_i64(width, rest), rest, to + i);
        }
        struct pair * const sorted = to;
        to = from;
        from = sorted;
    }
    for (int32_t i = 0; i < n && from != items; i++)
        items[i] = from[i];
}

// ---- moments ---------------------------------------------------------------------------------------------

static bool spend(struct packing * p, size_t steps) {
    const bool enough = p->steps >= steps;
    p->steps = enough ? p->steps - steps : 0;
    return enough;
}

// How many moments there are, and how many elders in all. SIZE_MAX: no memory.
static size_t count_elders(const struct packing * p, size_t * n_moments) {
    const int32_t last = p->n > 0 ? p->spans[p->n - 1].begin : 0;
    int32_t * ends =
        tn_mem_calloc((size_t) last + 1, sizeof(*ends), TN_MEM_GRAPH); // spans that end at a time
    size_t elders = 0, live = 0;
    int32_t time = 0;
    if (!ends) return SIZE_MAX;
    *n_moments = 0;
    for (int32_t i = 0; i < p->n; i++) {
        const struct tn_pack_span * span = &p->spans[i];
        const bool is_new = i == 0 || p->spans[i - 1].begin != span->begin;
        while (time < span->begin)
            live -= (size_t) ends[time++];
        if (is_new) elders += live;
        *n_moments += is_new;
        if (span->end <= last) ends[span->end]++;
        live++;
    }
    tn_mem_free(ends);
    return elders;
}

// The last moment's live spans without those that have ended: the elders of the next one.
static int32_t forget_ended(struct packing * p, int32_t * live, int32_t n, int32_t time) {
    int32_t left = 0;
    for (int32_t i = 0; i < n; i++) {
        if (p->spans[live[i]].end >= time) live[left++] = live[i];
    }
    return left;
}

static struct moment * add_moment(struct packing * p, const int32_t * live, int32_t n, int32_t first_span) {
    struct moment * m = &p->moments[p->n_moments++];
    *m = (struct moment){ .first_span = first_span, .first_elder = p->n_elders };
    for (int32_t i = 0; i < n; i++) {
        m->breadth += p->spans[live[i]].size;
        p->elders[p->n_elders++] = live[i];
    }
    return m;
}

static void fill_moments(struct packing * p) {
    int32_t * live = p->live;
    int32_t n_live = 0;
    for (int32_t i = 0; i < p->n;) {
        const int32_t time = p->spans[i].begin;
        n_live = forget_ended(p, live, n_live, time);
        struct moment * m = add_moment(p, live, n_live, i);
        for (; i < p->n && p->spans[i].begin == time; i++) {
            p->moment_of[i] = p->n_moments - 1;
            m->breadth += p->spans[i].size;
            live[n_live++] = i;
        }
    }
    add_moment(p, NULL, 0, p->n);
    p->n_moments--; // the last one is none
}

// false: no memory. What costs too much leaves no steps.
static bool find_moments(struct packing * p) {
    size_t n_moments;
    const size_t n_elders = count_elders(p, &n_moments);
    if (n_elders == SIZE_MAX) return false;
    if (!spend(p, n_elders)) return true;
    p->moments = tn_mem_alloc((n_moments + 1) * sizeof(*p->moments), TN_MEM_GRAPH);
    p->elders = tn_mem_alloc(n_elders * sizeof(*p->elders), TN_MEM_GRAPH);
    if (!p->moments || !p->elders) return false;
    fill_moments(p);
    return true;
}

static size_t largest_breadth(const struct packing * p) {
    size_t most = 0;
    for (int32_t i = 0; i < p->n_moments; i++) {
        if (p->moments[i].breadth > most) most = p->moments[i].breadth;
    }
    return most;
}

// ---- one span --------------------------------------------------------------------------------------------

// Layers that repeat lie in the same places, so most of what a long span shares a time with is there already.
static int32_t add_near(struct packing * p, int32_t n, int32_t span) {
    const size_t offset = p->offsets[span];
    if (offset == NOWHERE) return n;
    const struct pair pair = { offset, offset + p->spans[span].size };
    const size_t slot =
        (size_t) (((uint64_t) pair.key + 3 * (uint64_t) pair.value) * 0x9e3779b97f4a7c15u >> 32);
    int32_t * seen = &p->seen[slot % SEEN];
    if (*seen < n && p->near[*seen].key == pair.key && p->near[*seen].value == pair.value) return n;
    *seen = n;
    p->near[n] = pair;
    return n + 1;
}

// Begin and end of those placed that share a time with it. -1: too much work.
static int32_t find_near(struct packing * p, int32_t span) {
    const struct moment * m = &p->moments[p->moment_of[span]];
    int32_t n = 0, i = m->first_span;
    for (int32_t e = m->first_elder; e < m[1].first_elder; e++)
        n = add_near(p, n, p->elders[e]);
    for (; i < p->n && p->spans[i].begin <= p->spans[span].end; i++)
        n = add_near(p, n, i);
    const int32_t looked_at = i - m->first_span + m[1].first_elder - m->first_elder;
    return spend(p, (size_t) looked_at) ? n : -1;
}

// Where it fits with the least to spare; behind all, if there is no gap for it.
static size_t find_gap(const struct pair * near, int32_t n, size_t size) {
    size_t end = 0, best = NOWHERE, least = SIZE_MAX;
    for (int32_t i = 0; i < n; i++) {
        const size_t next = near[i].key;
        if (next > end && next - end >= size && next - end < least) {
            least = next - end;
            best = end;
        }
        if (near[i].value > end) end = near[i].value;
    }
    return best != NOWHERE ? best : end;
}

static bool place(struct packing * p, int32_t span, size_t * peak) {
    const int32_t n = find_near(p, span);
    size_t end;
    if (n < 0) return false;
    sort(p->near, n, p->room);
    const size_t offset = find_gap(p->near, n, p->spans[span].size);
    if (!tn_size_add(offset, p->spans[span].size, &end)) return false;
    p->offsets[span] = offset;
    if (end > *peak) *peak = end;
    return true;
}

// ---- the orders ------------------------------------------------------------------------------------------

// Each fills `order` with spans. false: too much work.
typedef bool order_fn(struct packing * p);

static struct pair largest_first(const struct packing * p, int32_t span) {
    return (struct pair){ ~p->spans[span].size, (size_t) span };
}

static bool by_size(struct packing * p) {
    for (int32_t i = 0; i < p->n; i++)
        p->order[i] = largest_first(p, i);
    sort(p->order, p->n, p->room);
    return true;
}

static int32_t append(struct packing * p, int32_t n, int32_t span) {
    if (p->offsets[span] != NOWHERE) return n;
    p->offsets[span] = 0; // until all are in the order
    p->order[n] = largest_first(p, span);
    return n + 1;
}

// What is needed at the moment and stands not in the order yet, by size.
static int32_t append_moment(struct packing * p, const struct moment * m, int32_t n) {
    const int32_t first = n;
    for (int32_t e = m->first_elder; e < m[1].first_elder; e++)
        n = append(p, n, p->elders[e]);
    for (int32_t i = m->first_span; i < m[1].first_span; i++)
        n = append(p, n, i);
    sort(p->order + first, n - first, p->room);
    return n;
}

static bool by_breadth(struct packing * p) {
    int32_t n = 0;
    if (!spend(p, (size_t) p->n_elders)) return false;
    for (int32_t i = 0; i < p->n_moments; i++)
        p->near[i] = (struct pair){ ~p->moments[i].breadth, (size_t) i };
    sort(p->near, p->n_moments, p->room);
    for (int32_t i = 0; i < p->n_moments; i++)
        n = append_moment(p, &p->moments[p->near[i].value], n);
    return true;
}

static void try_order(struct packing * p, order_fn * fill, size_t * peak) {
    size_t reached = 0;
    for (int32_t i = 0; i < p->n; i++)
        p->offsets[i] = NOWHERE;
    if (!fill(p)) return;
    for (int32_t i = 0; i < p->n; i++)
        p->offsets[i] = NOWHERE;
    for (int32_t i = 0; i < p->n; i++) {
        if (!place(p, (int32_t) p->order[i].value, &reached) || reached >= *peak) return;
    }
    for (int32_t i = 0; i < p->n; i++)
        p->spans[i].offset = p->offsets[i];
    *peak = reached;
}

static bool setup(struct packing * p) {
    const size_t n = (size_t) p->n;
    p->offsets = tn_mem_alloc(n * sizeof(*p->offsets), TN_MEM_GRAPH);
    p->order = tn_mem_alloc(3 * n * sizeof(*p->order), TN_MEM_GRAPH);
    p->moment_of = tn_mem_alloc(2 * n * sizeof(*p->moment_of), TN_MEM_GRAPH);
    if (!p->offsets || !p->order || !p->moment_of) return false;
    p->near = p->order + n;
    p->room = p->near + n;
    p->live = p->moment_of + n;
    return true;
}

static void cleanup(struct packing * p) {
    tn_mem_free(p->elders);
    tn_mem_free(p->moments);
    tn_mem_free(p->moment_of);
    tn_mem_free(p->order);
    tn_mem_free(p->offsets);
}

bool tn_pack_spans(struct tn_pack_span * spans, size_t n, struct tn_pack_result * result) {
    const size_t steps = STEPS + STEPS_A_SPAN * n;
    struct packing p = { .spans = spans, .n = (int32_t) n, .steps = steps < INT32_MAX ? steps : INT32_MAX };
    const bool ready = setup(&p) && find_moments(&p);
    *result = (struct tn_pack_result){ .peak = SIZE_MAX, .bound = ready ? largest_breadth(&p) : 0 };
    if (ready && p.steps > 0) try_order(&p, by_size, &result->peak);
    if (ready && p.steps > 0 && result->peak > result->bound) try_order(&p, by_breadth, &result->peak);
    cleanup(&p);
    return ready;
}
