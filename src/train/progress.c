// SPDX-License-Identifier: MIT
// Shows people how far a training has come: one line on stderr that is written over until its part is done.
#include "train/progress_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "backend/iface.h"
#include "base/str.h"
#include "ggml-opt.h"

enum { CELLS = 8, LINE = 256 };

static void add_bar(struct tn_str * s, int64_t done, int64_t all) {
    const int full = all > 0 ? (int) ((double) CELLS * (double) done / (double) all) : 0;
    tn_str_add(s, "[");
    for (int i = 0; i < CELLS; i++)
        tn_str_add(s, i < full ? "=" : i == full ? ">" : " ");
    tn_str_add(s, "]");
}

static void add_time(struct tn_str * s, int64_t us) {
    const int64_t seconds = us / 1000000;
    tn_str_add(s, "%02" PRId64 ":%02d:%02d", seconds / 3600, (int) (seconds / 60 % 60), (int) (seconds % 60));
}

static int digits(int64_t n) {
    int count = 1;
    for (; n >= 10; n /= 10)
        count++;
    return count;
}

// Of fixed width, so that a line covers the one before.
static void add_outcome(struct tn_str * s, ggml_opt_result_t result, int64_t ibatch, int64_t ibatch_max) {
    int64_t n = 0;
    double loss, loss_unc, accuracy, accuracy_unc;
    ggml_opt_result_ndata(result, &n);
    ggml_opt_result_loss(result, &loss, &loss_unc);
    ggml_opt_result_accuracy(result, &accuracy, &accuracy_unc);
    const int64_t all = n / ibatch * ibatch_max;
    tn_str_add(s, " %*" PRId64 "/%" PRId64, digits(all), n, all);
    tn_str_add(s, "  loss %8.5f +- %7.5f", loss, loss_unc);
    if (!isnan(accuracy))
        tn_str_add(s, "  accuracy %6.2f +- %5.2f %%", 100.0 * accuracy, 100.0 * accuracy_unc);
}

void ggml_opt_epoch_callback_progress_bar(bool train, ggml_opt_context_t opt_ctx, ggml_opt_dataset_t dataset,
                                          ggml_opt_result_t result, int64_t ibatch, int64_t ibatch_max,
                                          int64_t t_start_us) {
    (void) opt_ctx;
    (void) dataset;
    if (ibatch < 1 || ibatch_max < ibatch) {
        tn_iface_refuse(__func__, "batch %" PRId64 " of %" PRId64, ibatch, ibatch_max);
        return;
    }
    char text[LINE];
    struct tn_str s = tn_str_on(text, sizeof(text));
    const int64_t us = ggml_time_us() - t_start_us;
    tn_str_add(&s, train ? "train: " : "val:   ");
    add_bar(&s, ibatch, ibatch_max);
    if (result) add_outcome(&s, result, ibatch, ibatch_max);
    tn_str_add(&s, "  ");
    add_time(&s, us);
    tn_str_add(&s, ", left ");
    add_time(&s, (int64_t) ((double) us / (double) ibatch * (double) (ibatch_max - ibatch)));
    fprintf(stderr, "%s%c", text, ibatch == ibatch_max ? '\n' : '\r');
    fflush(stderr);
}

void tn_progress_epoch(int64_t epoch, int64_t n_epochs) {
    fprintf(stderr, "epoch %" PRId64 " of %" PRId64 "\n", epoch, n_epochs);
}

void tn_progress_total(int64_t us) {
    char text[LINE];
    struct tn_str s = tn_str_on(text, sizeof(text));
    add_time(&s, us);
    fprintf(stderr, "trained in %s\n", text);
}
