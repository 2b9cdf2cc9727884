// SPDX-License-Identifier: MIT
// Running the splits of an allocated graph: copies, then nodes, everything queued as far as possible.
#include "base/error.h"
#include "base/str.h"
#include "sched/sched_int.h"

static enum ggml_status refuse(struct ggml_backend_sched * s, int32_t first, int32_t end, int backend,
                               enum ggml_status status) {
    char reason[TN_ERROR_MAX];
    tn_str_copy(reason, sizeof(reason), tn_error_text()[0] ? tn_error_text() : ggml_status_to_string(status));
    tn_error_set("back end %s did not compute '%s' to '%s': %s", tn_sched_name(s, backend),
                 s->order.items[first]->name, s->order.items[end - 1]->name, reason);
    return status;
}

static enum ggml_status compute(struct ggml_backend_sched * s, const struct tn_sched_split * split,
                                int32_t first, int32_t end) {
    if (first == end) return GGML_STATUS_SUCCESS;
    struct ggml_cgraph graph = tn_split_graph_of(s, first, end);
    if (first == split->first && end == split->end) graph.uid = split->uid;
    tn_error_clear();
    const enum ggml_status status =
        ggml_backend_graph_compute_async(s->queues[split->backend].backend, &graph);
    tn_queue_push(s, split->backend, &split->touch); // a part of it may be under way in any case
    return status == GGML_STATUS_SUCCESS ? status : refuse(s, first, end, split->backend, status);
}

// Pieces that end with a node which the callback wants to see. *stop: it has seen enough.
static enum ggml_status compute_watched(struct ggml_backend_sched * s, const struct tn_sched_split * split,
                                        bool * stop) {
    int32_t first = split->first;
    for (int32_t i = split->first; i < split->end; i++) {
        struct ggml_tensor * t = s->order.items[i];
        if (!s->callback(t, true, s->callback_data)) continue;
        TN_TRY(compute(s, split, first, i + 1));
        tn_queue_finish(s, split->backend);
        first = i + 1;
        *stop = !s->callback(t, false, s->callback_data);
        if (*stop) return GGML_STATUS_SUCCESS;
    }
    return compute(s, split, first, split->end);
}

static enum ggml_status fill_inputs(struct ggml_backend_sched * s, const struct tn_sched_split * split) {
    bool queued = false;
    for (int32_t c = split->first_copy; c < split->end_copy; c++) {
        TN_TRY(tn_copies_fill(s, split, &s->copies.items[c]));
        queued |= s->copies.items[c].method == TN_COPY_QUEUED;
    }
    // The sources may be written over as soon as they are copied, long before the split has run.
    if (queued && s->n_copies > 1) tn_queue_mark(s, split->backend, 0);
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status run(struct ggml_backend_sched * s, const struct tn_sched_split * split, bool * stop) {
    TN_TRY(fill_inputs(s, split));
    tn_queue_order(s, split->backend, &split->touch);
    TN_TRY(s->callback ? compute_watched(s, split, stop) : compute(s, split, split->first, split->end));
    if (s->n_copies > 1) tn_queue_mark(s, split->backend, 1 + s->cur);
    return GGML_STATUS_SUCCESS;
}

enum ggml_status tn_run_splits(struct ggml_backend_sched * s) {
    bool stop = false;
    tn_queue_expect_callers(s);
    s->experts.ids = -1;
    for (size_t i = 0; !stop && i < s->splits.count; i++)
        TN_TRY(run(s, &s->splits.items[i], &stop));
    return GGML_STATUS_SUCCESS;
}
