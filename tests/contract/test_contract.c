// SPDX-License-Identifier: MIT
// supports_op is a contract: random nodes of every operator and every combination of types that the CPU must
// take (operators.def), and nodes that are wrong in some way.
//
// A run follows from TENON_SEED; each node from its own number, which a failure prints: TENON_NODE=<number>
// runs it alone. The lowest bits of a number say which combination it is of and whether it is wild.
#include "contract/check.h"
#include "contract/combination.h"
#include "contract/wild.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"

enum { WILD_BIT = 15, SEED_BIT = 16, MOST_FAILURES = 25 };

struct run {
    struct ggml_context * ctx;
    struct check check;
    struct combinations all;
    struct test_rng rng;
    uint64_t in_flight; // number of the node that is being checked, 0 for none
    int64_t n_nodes, n_true, n_false, n_refused, n_broken;
};

static void quiet(enum ggml_log_level level, const char * text, void * data) {
    (void) level;
    (void) text;
    (void) data;
}

static int setup(void ** state) {
    static struct run run;
    ggml_log_set(quiet, NULL);
    run.ctx = ggml_init((struct ggml_init_params){ .mem_size = 256 << 10, .no_alloc = true });
    run.check.backend = ggml_backend_cpu_init();
    run.all = combinations_new();
    run.rng.state = test_seed();
    *state = &run;
    return run.ctx && run.check.backend && run.all.n < 1 << WILD_BIT ? 0 : -1;
}

// A node that has brought its test down.
static void tell_crash(struct run * run) {
    if (run->in_flight) printf("TENON_NODE=%llu crashed\n", (unsigned long long) run->in_flight);
    run->n_broken += run->in_flight != 0;
    run->in_flight = 0;
}

static int teardown(void ** state) {
    struct run * run = *state;
    tell_crash(run);
    combinations_free(&run->all);
    ggml_backend_free(run->check.backend);
    ggml_free(run->ctx);
    ggml_log_set(NULL, NULL);
    return 0;
}

static void describe(const struct ggml_tensor * node) {
    for (int s = -1; s < GGML_MAX_SRC; s++) {
        const struct ggml_tensor * x = s < 0 ? node : node->src[s];
        if (!x) continue;
        printf("    %s%d %s [%d, %d, %d, %d] strides [%d, %d, %d, %d]\n", s < 0 ? "result " : "src", s,
               ggml_type_name(x->type), (int) x->ne[0], (int) x->ne[1], (int) x->ne[2], (int) x->ne[3],
               (int) x->nb[0], (int) x->nb[1], (int) x->nb[2], (int) x->nb[3]);
    }
    printf("    parameters");
    for (int i = 0; i < 16; i++)
        printf(" %d", node->op_params[i]);
    printf("\n");
}

static bool is_strided(const struct ggml_tensor * x) {
    return ggml_nelements(x) > 0 && !ggml_is_contiguous(x);
}

static bool is_permuted(const struct ggml_tensor * x) {
    size_t last = 0;
    for (int i = 0; ggml_nelements(x) > 0 && i < 4; i++) {
        if (x->ne[i] == 1) continue;
        if (x->nb[i] < last) return true;
        last = x->nb[i];
    }
    return false;
}

static void count(struct run * run, struct combination * c, const struct ggml_tensor * node,
                  enum outcome outcome) {
    bool strided = false, permuted = false, empty = outcome == OUTCOME_COMPUTED && ggml_is_empty(node);
    for (int i = 0; outcome == OUTCOME_COMPUTED && i < GGML_MAX_SRC; i++) {
        strided |= node->src[i] && is_strided(node->src[i]);
        permuted |= node->src[i] && is_permuted(node->src[i]);
        empty |= node->src[i] && ggml_is_empty(node->src[i]);
    }
    c->n_true += outcome == OUTCOME_COMPUTED;
    c->n_strided += strided;
    c->n_permuted += permuted;
    c->n_empty += empty;
    c->n_false += outcome == OUTCOME_UNSUPPORTED;
    c->n_refused += outcome == OUTCOME_REFUSED;
    run->n_nodes += outcome != OUTCOME_REFUSED;
    run->n_true += outcome == OUTCOME_COMPUTED;
    run->n_false += outcome == OUTCOME_UNSUPPORTED;
    run->n_refused += outcome == OUTCOME_REFUSED;
}

// Draws the node of this number, checks it and counts it.
static enum outcome try_node(struct run * run, uint64_t number) {
    const int index = (int) (number & ((1u << WILD_BIT) - 1));
    struct combination * c = &run->all.at[index % run->all.n];
    run->in_flight = number;
    struct draw d = { .ctx = run->ctx, .rng = { number }, .op = c->owner->op, .which = c->owner->which };
    d.layouts = c->owner->layouts;
    d.result = c->result;
    d.wild = number >> WILD_BIT & 1;
    d.may_be_empty = draw_chance(&d, 8);
    memcpy(d.types, c->types, sizeof(d.types));
    if (d.wild) wild_types(&d, c->n_src);
    struct ggml_tensor * node = c->owner->make(&d);
    if (d.wild && ggml_ext_tensor_valid(node)) wild_change(&d, node);
    const enum outcome outcome = check_node(&run->check, &d, node);
    if (outcome == OUTCOME_BROKEN) {
        printf("TENON_NODE=%llu %s%s: %s\n", (unsigned long long) number, d.wild ? "wild " : "",
               combination_text(c), run->check.text);
        if (ggml_ext_tensor_valid(node)) describe(node);
        run->n_broken++;
    }
    if (!d.wild)
        count(run, c, node, outcome);
    else
        count(run, &(struct combination){ 0 }, node, outcome);
    draw_free(&d);
    ggml_reset(run->ctx);
    run->in_flight = 0;
    return outcome;
}

static uint64_t number_of(struct run * run, int index, bool wild) {
    return test_rng_u64(&run->rng) >> SEED_BIT << SEED_BIT | (uint64_t) wild << WILD_BIT | (uint64_t) index;
}

static bool is_satisfied(const struct combination * c, int64_t wanted) {
    const int wants = combination_wants(c);
    const int64_t part = wanted >= 20 ? 4 : 1;
    return c->n_true >= wanted && (!(wants & WANTS_STRIDED) || c->n_strided >= part) &&
           (!(wants & WANTS_PERMUTED) || c->n_permuted >= part);
}

static void print_counts(const struct run * run) {
    for (int i = 0; i < run->all.n; i++) {
        const struct combination * c = &run->all.at[i];
        printf("%-60s %3d true, %3d strided, %3d permuted, %3d empty, %3d false, %3d refused\n",
               combination_text(c), c->n_true, c->n_strided, c->n_permuted, c->n_empty, c->n_false,
               c->n_refused);
    }
}

// Sanitizers are slow: they see every 13th combination, others in each run.
static int step(void) {
    const char * slow = getenv("TENON_SLOW");
    const char * full = getenv("TENON_FULL");
    return slow && slow[0] == '1' && !(full && full[0] == '1') ? 13 : 1;
}

static void every_combination_is_computed(void ** state) {
    struct run * run = *state;
    const int64_t wanted = test_rounds(20);
    int n_missing = 0;
    for (int i = (int) test_rng_below(&run->rng, step()); i < run->all.n; i += step()) {
        struct combination * c = &run->all.at[i];
        for (int tries = 0; tries < 200 && !is_satisfied(c, wanted) && run->n_broken < MOST_FAILURES; tries++)
            try_node(run, number_of(run, i, false));
        if (run->n_broken >= MOST_FAILURES) break;
        if (is_satisfied(c, wanted)) continue;
        n_missing++;
        printf("too few of %s: %d true, %d strided, %d permuted, %d false, %d refused: %s\n",
               combination_text(c), c->n_true, c->n_strided, c->n_permuted, c->n_false, c->n_refused,
               ggml_ext_last_error());
    }
    printf("%d combinations, at least %d times each\n", run->all.n, (int) wanted);
    assert_int_equal(run->n_broken, 0);
    assert_int_equal(n_missing, 0);
}

// Combinations of the row of the table that begins at combination i.
static int n_of_row(const struct run * run, int i) {
    int n = 1;
    while (i + n < run->all.n && run->all.at[i + n].owner == run->all.at[i].owner)
        n++;
    return n;
}

// Their builders refuse what is empty.
static bool is_never_empty(enum ggml_op op) {
    return op == GGML_OP_ARANGE || op == GGML_OP_ROLL || op == GGML_OP_COL2IM_1D;
}

static void draw_row_of_table(struct run * run, int first, int n, int64_t wanted) {
    const struct combination * row = &run->all.at[first];
    int64_t n_true = 0, n_empty = 0;
    for (int i = 0; i < n; i++)
        n_true += row[i].n_true;
    for (int64_t tries = 0; n_true < wanted && tries < 4 * wanted && run->n_broken < MOST_FAILURES; tries++)
        n_true += try_node(run, number_of(run, first + (int) (tries % n), false)) == OUTCOME_COMPUTED;
    for (int i = 0; i < n; i++)
        n_empty += row[i].n_empty;
    if (run->n_broken == 0 && n_true < wanted) fail_msg("too few of %s", combination_text(row));
    if (wanted >= 400 && n_empty == 0 && !is_never_empty(row->owner->op))
        fail_msg("none of %s without elements", combination_text(row));
}

// Many an operator has one or two combinations only, but as many things to get wrong as others. Among so many
// there are some without elements.
static void every_operator_is_drawn_often(void ** state) {
    struct run * run = *state;
    tell_crash(run);
    int64_t skip = test_rng_below(&run->rng, step());
    for (int i = 0; i < run->all.n; i += n_of_row(run, i)) {
        if (skip-- > 0) continue;
        skip = step() - 1;
        draw_row_of_table(run, i, n_of_row(run, i), test_rounds(400));
    }
    assert_int_equal(run->n_broken, 0);
}

// Nodes of which something may be wrong, and then more of the right ones.
static void what_is_said_holds(void ** state) {
    struct run * run = *state;
    tell_crash(run);
    const int64_t n_wild = test_rounds(10000), n_all = test_rounds(60000);
    for (int64_t k = 0; k < n_wild && run->n_broken < MOST_FAILURES; k++)
        try_node(run, number_of(run, (int) test_rng_below(&run->rng, run->all.n), true));
    while (run->n_nodes < n_all && run->n_broken < MOST_FAILURES)
        try_node(run, number_of(run, (int) test_rng_below(&run->rng, run->all.n), false));
    if (test_rounds(20) == 20) print_counts(run);
    printf("%lld nodes: %lld true and right, %lld false with a reason; %lld more refused by builders\n",
           (long long) run->n_nodes, (long long) run->n_true, (long long) run->n_false,
           (long long) run->n_refused);
    assert_int_equal(run->n_broken, 0);
    assert_true(run->n_false > run->n_nodes / 100);
}

static void one_node(void ** state) {
    struct run * run = *state;
    const enum outcome outcome = try_node(run, strtoull(getenv("TENON_NODE"), NULL, 0));
    printf("outcome %d: %s\n", (int) outcome, outcome == OUTCOME_COMPUTED ? "right" : ggml_ext_last_error());
    assert_int_not_equal(outcome, OUTCOME_BROKEN);
}

// Every operator, function and unit has rows; attention's gradient is never built.
static void no_operator_is_missing(void ** state) {
    int n;
    bool ops[GGML_OP_COUNT] = { false }, functions[GGML_UNARY_OP_COUNT] = { false },
         units[GGML_GLU_OP_COUNT] = { false };
    const struct operator* row = combination_operators(&n);
    (void) state;
    for (; n > 0; n--, row++) {
        ops[row->op] = true;
        if (row->op == GGML_OP_UNARY) functions[row->which] = true;
        if (row->op == GGML_OP_GLU) units[row->which] = true;
    }
    ops[GGML_OP_NONE] = ops[GGML_OP_FLASH_ATTN_BACK] = true;
    for (int i = 0; i < GGML_OP_COUNT; i++)
        if (!ops[i]) fail_msg("no row of %s", ggml_op_name((enum ggml_op) i));
    for (int i = 0; i < GGML_UNARY_OP_COUNT; i++)
        if (!functions[i]) fail_msg("no row of %s", ggml_unary_op_name((enum ggml_unary_op) i));
    for (int i = 0; i < GGML_GLU_OP_COUNT; i++)
        if (!units[i]) fail_msg("no row of %s", ggml_glu_op_name((enum ggml_glu_op) i));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_operator_is_missing),
        cmocka_unit_test(every_combination_is_computed),
        cmocka_unit_test(every_operator_is_drawn_often),
        cmocka_unit_test(what_is_said_holds),
    };
    const struct CMUnitTest alone[] = { cmocka_unit_test(one_node) };
    if (getenv("TENON_NODE")) return cmocka_run_group_tests(alone, setup, teardown);
    return cmocka_run_group_tests(tests, setup, teardown);
}
