// SPDX-License-Identifier: MIT
// Data sets: two tensors in host memory and an order of shards, the runs of neighbours that stay together.
#include <inttypes.h>

#include "backend/iface.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "core/context.h"
#include "core/shape.h"
#include "train/opt_int.h"

static bool check_sizes(int64_t ne_datapoint, int64_t ne_label, int64_t ndata, int64_t ndata_shard) {
    if (ne_datapoint < 1) return tn_refuse("a datapoint has %" PRId64 " elements", ne_datapoint);
    if (ne_label < 0) return tn_refuse("a label has %" PRId64 " elements", ne_label);
    if (ndata < 1) return tn_refuse("%" PRId64 " datapoints", ndata);
    return ndata_shard >= 1 || tn_refuse("a shard of %" PRId64 " datapoints", ndata_shard);
}

static struct ggml_tensor * new_rows(struct ggml_opt_dataset * ds, const char * name, enum ggml_type type,
                                     int64_t ne) {
    struct ggml_tensor * t = ggml_new_tensor_2d(ds->ctx, type, ne, ds->n_data);
    return tn_tensor_is_poisoned(t) ? NULL : ggml_set_name(t, name);
}

static bool allocate(struct ggml_opt_dataset * ds) {
    ds->buffer = ggml_backend_alloc_ctx_tensors_from_buft(ds->ctx, ggml_backend_cpu_buffer_type());
    if (!ds->buffer) return false;
    ds->n_shards = ds->n_data / ds->shard;
    if (ds->n_shards > 0) { // so a shard is no larger than the tensors
        ds->data_size = ds->data->nb[1] * (size_t) ds->shard;
        ds->labels_size = ds->labels ? ds->labels->nb[1] * (size_t) ds->shard : 0;
    }
    ds->order = tn_mem_calloc((size_t) ds->n_shards, sizeof(*ds->order), TN_MEM_OBJECT);
    for (int64_t i = 0; ds->order && i < ds->n_shards; i++)
        ds->order[i] = i;
    return ds->order;
}

ggml_opt_dataset_t ggml_opt_dataset_init(enum ggml_type type_data, enum ggml_type type_label,
                                         int64_t ne_datapoint, int64_t ne_label, int64_t ndata,
                                         int64_t ndata_shard) {
    struct ggml_opt_dataset * ds = NULL;
    if (!check_sizes(ne_datapoint, ne_label, ndata, ndata_shard)) goto fail;
    ds = tn_mem_calloc(1, sizeof(*ds), TN_MEM_OBJECT);
    if (!ds) goto fail;
    ds->n_data = ndata;
    ds->shard = ndata_shard;
    ds->ctx = ggml_init((struct ggml_init_params){ 2 * ggml_tensor_overhead(), NULL, true });
    if (!ds->ctx) goto fail;
    ds->data = new_rows(ds, "data", type_data, ne_datapoint);
    if (ne_label > 0) ds->labels = new_rows(ds, "labels", type_label, ne_label);
    if (ds->data && (ds->labels || ne_label == 0) && allocate(ds)) return ds;
fail:
    tn_iface_refuse(__func__, "%s", tn_error_text());
    ggml_opt_dataset_free(ds);
    return NULL;
}

void ggml_opt_dataset_free(ggml_opt_dataset_t dataset) {
    if (!dataset) return;
    tn_mem_free(dataset->order);
    ggml_backend_buffer_free(dataset->buffer);
    ggml_free(dataset->ctx);
    tn_mem_free(dataset);
}

int64_t ggml_opt_dataset_ndata(ggml_opt_dataset_t dataset) {
    return dataset ? dataset->n_data : 0;
}

struct ggml_tensor * ggml_opt_dataset_data(ggml_opt_dataset_t dataset) {
    return dataset ? dataset->data : NULL;
}

struct ggml_tensor * ggml_opt_dataset_labels(ggml_opt_dataset_t dataset) {
    return dataset ? dataset->labels : NULL;
}

// ---- order ----------------------------------------------------------------------------------------------

bool tn_dataset_shuffle(struct ggml_opt_dataset * ds, struct tn_shuffle * shuffle, int64_t n_data) {
    if (n_data > ds->n_data)
        return tn_refuse("%" PRId64 " of %" PRId64 " datapoints cannot be shuffled", n_data, ds->n_data);
    if (n_data >= 0 && n_data % ds->shard != 0)
        return tn_refuse("%" PRId64 " datapoints are no multiple of a shard of %" PRId64, n_data, ds->shard);
    tn_shuffle_items(shuffle, ds->order, n_data < 0 ? ds->n_shards : n_data / ds->shard);
    return true;
}

void ggml_opt_dataset_shuffle(ggml_opt_context_t opt_ctx, ggml_opt_dataset_t dataset, int64_t idata) {
    if (!opt_ctx || !dataset) {
        tn_iface_refuse(__func__, "the %s is NULL", opt_ctx ? "data set" : "context");
    } else if (!tn_dataset_shuffle(dataset, &opt_ctx->shuffle, idata)) {
        tn_iface_refuse(__func__, "%s", tn_error_text());
    }
}

// ---- batches --------------------------------------------------------------------------------------------

// Positions first .. first + n - 1 of the order.
struct batch {
    int64_t first;
    int64_t n;
};

static bool find_batch(const struct ggml_opt_dataset * ds, size_t bytes, bool labels, int64_t ibatch,
                       struct batch * b) {
    int64_t end;
    if (labels != (ds->labels != NULL))
        return tn_refuse(labels ? "the data set has no labels" : "no room for labels is given");
    if (ds->n_shards == 0)
        return tn_refuse("%" PRId64 " datapoints fill no shard of %" PRId64, ds->n_data, ds->shard);
    if (bytes == 0 || bytes % ds->data_size != 0)
        return tn_refuse("a batch of %zu bytes holds no whole number of shards of %zu bytes", bytes,
                         ds->data_size);
    b->n = (int64_t) (bytes / ds->data_size);
    if (ibatch < 0 || !tn_i64_mul(ibatch, b->n, &b->first) || !tn_i64_add(b->first, b->n, &end) ||
        end > ds->n_shards)
        return tn_refuse("batch %" PRId64 " of %" PRId64 " shards: the data set has %" PRId64, ibatch, b->n,
                         ds->n_shards);
    return true;
}

static bool check_target(const struct ggml_tensor * to, const struct ggml_tensor * from) {
    char text[TN_SHAPE_TENSOR_TEXT];
    tn_shape_tensor_text(text, to);
    if (tn_tensor_is_poisoned(to)) return tn_refuse("%s", tn_context_poison_text(to));
    if (to->type != from->type) return tn_refuse("%s must be %s", text, ggml_type_name(from->type));
    if (!ggml_is_contiguous(to)) return tn_refuse("%s must be contiguous", text);
    return (tn_iface_buffer_of(to) && to->data) || tn_refuse("%s has no memory", text);
}

static const char * shard_of(const struct ggml_opt_dataset * ds, const struct ggml_tensor * rows,
                             int64_t at) {
    return (const char *) rows->data + (size_t) ds->order[at] * (size_t) ds->shard * rows->nb[1];
}

static void fill(const struct ggml_opt_dataset * ds, const struct ggml_tensor * from, size_t size,
                 const struct batch * b, struct ggml_tensor * to) {
    for (int64_t i = 0; i < b->n; i++)
        ggml_backend_tensor_set(to, shard_of(ds, from, b->first + i), (size_t) i * size, size);
}

bool tn_dataset_get_batch(const struct ggml_opt_dataset * ds, struct ggml_tensor * data,
                          struct ggml_tensor * labels, int64_t ibatch) {
    struct batch b;
    if (!data) return tn_refuse("the batch is NULL");
    if (!check_target(data, ds->data) || !find_batch(ds, ggml_nbytes(data), labels, ibatch, &b)) return false;
    if (labels) {
        if (!check_target(labels, ds->labels)) return false;
        if (ggml_nbytes(labels) != (size_t) b.n * ds->labels_size)
            return tn_refuse("%zu bytes of labels for %" PRId64 " shards of %zu bytes", ggml_nbytes(labels),
                             b.n, ds->labels_size);
        fill(ds, ds->labels, ds->labels_size, &b, labels);
    }
    fill(ds, ds->data, ds->data_size, &b, data);
    return true;
}

void ggml_opt_dataset_get_batch(ggml_opt_dataset_t dataset, struct ggml_tensor * data_batch,
                                struct ggml_tensor * labels_batch, int64_t ibatch) {
    if (!dataset) {
        tn_iface_refuse(__func__, "the data set is NULL");
    } else if (!tn_dataset_get_batch(dataset, data_batch, labels_batch, ibatch)) {
        tn_iface_refuse(__func__, "%s", tn_error_text());
    }
}

static void fill_host(const struct ggml_opt_dataset * ds, const struct ggml_tensor * from, size_t size,
                      const struct batch * b, char * to) {
    for (int64_t i = 0; i < b->n; i++)
        memcpy(to + (size_t) i * size, shard_of(ds, from, b->first + i), size);
}

void ggml_opt_dataset_get_batch_host(ggml_opt_dataset_t dataset, void * data_batch, size_t nb_data_batch,
                                     void * labels_batch, int64_t ibatch) {
    struct batch b;
    if (!dataset || !data_batch) {
        tn_iface_refuse(__func__, "the %s is NULL", dataset ? "batch" : "data set");
        return;
    }
    if (!find_batch(dataset, nb_data_batch, labels_batch, ibatch, &b)) {
        tn_iface_refuse(__func__, "%s", tn_error_text());
        return;
    }
    fill_host(dataset, dataset->data, dataset->data_size, &b, data_batch);
    if (labels_batch) fill_host(dataset, dataset->labels, dataset->labels_size, &b, labels_batch);
}
