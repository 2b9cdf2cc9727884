// SPDX-License-Identifier: MIT
// The digits of tests/train/digits as data sets: pixels 0 to 1, labels one-hot. The files are IDX, packed by
// gzip: two zero bytes, element type 8, number of dimensions, sizes as 32-bit big-endian numbers, bytes.
#ifndef TN_TESTS_DIGITS_H
#define TN_TESTS_DIGITS_H

#include "harness.h"

#include <zlib.h>

#include "ggml-opt.h"

enum { DIGITS_SIDE = 28, DIGITS_PIXELS = DIGITS_SIDE * DIGITS_SIDE, DIGITS_CLASSES = 10 };

static inline int64_t digits_u32(gzFile f) {
    unsigned char b[4];
    assert_int_equal(gzread(f, b, 4), 4);
    return (int64_t) b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

// The bytes of a file, n items of `size` each; the caller frees them.
static inline unsigned char * digits_read(const char * name, int n_dims, int64_t size, int64_t * n) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/tests/train/digits/%s.gz", TENON_SOURCE_DIR, name);
    gzFile f = gzopen(path, "rb");
    if (!f) fail_msg("cannot read %s", path);
    assert_int_equal(digits_u32(f), 0x800 + n_dims);
    *n = digits_u32(f);
    int64_t product = 1;
    for (int i = 1; i < n_dims; i++)
        product *= digits_u32(f);
    assert_int_equal(product, size);
    unsigned char * bytes = malloc((size_t) (*n * size));
    assert_int_equal(gzread(f, bytes, (unsigned) (*n * size)), *n * size);
    assert_int_equal(gzclose(f), Z_OK);
    return bytes;
}

// kind: "train" or "test"; the first n_max of them.
static inline ggml_opt_dataset_t digits_load(const char * kind, int64_t n_max) {
    char images_name[64], labels_name[64];
    int64_t n, n_labels;
    snprintf(images_name, sizeof(images_name), "%s-images-idx3-ubyte", kind);
    snprintf(labels_name, sizeof(labels_name), "%s-labels-idx1-ubyte", kind);
    unsigned char * images = digits_read(images_name, 3, DIGITS_PIXELS, &n);
    unsigned char * labels = digits_read(labels_name, 1, 1, &n_labels);
    assert_int_equal(n, n_labels);
    if (n > n_max) n = n_max;
    ggml_opt_dataset_t ds =
        ggml_opt_dataset_init(GGML_TYPE_F32, GGML_TYPE_F32, DIGITS_PIXELS, DIGITS_CLASSES, n, 1);
    assert_non_null(ds);
    float * to = ggml_get_data_f32(ggml_opt_dataset_data(ds));
    float * classes = ggml_get_data_f32(ggml_opt_dataset_labels(ds));
    for (int64_t i = 0; i < n * DIGITS_PIXELS; i++)
        to[i] = (float) images[i] / 255.0f;
    for (int64_t i = 0; i < n * DIGITS_CLASSES; i++)
        classes[i] = i % DIGITS_CLASSES == labels[i / DIGITS_CLASSES] ? 1.0f : 0.0f;
    free(labels);
    free(images);
    return ds;
}

#endif
