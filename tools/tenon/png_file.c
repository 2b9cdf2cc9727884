// SPDX-License-Identifier: MIT
// PNG by libpng, with rows enlarged on the fly.
#include "png_file.h"

#include <png.h>
#include <stdlib.h>

static void fill_row(uint8_t * row, const uint8_t * rgb, int width, int scale) {
    for (int x = 0; x < width; x++) {
        for (int i = 0; i < scale; i++, row += 3) {
            row[0] = rgb[3 * x];
            row[1] = rgb[3 * x + 1];
            row[2] = rgb[3 * x + 2];
        }
    }
}

// libpng reports failures by a long jump to here; the objects live in the caller.
static bool write_with(png_structp png, png_infop info, FILE * file, const struct picture * p, int scale,
                       uint8_t * row) {
    if (setjmp(png_jmpbuf(png))) return false;
    png_init_io(png, file);
    png_set_IHDR(png, info, (png_uint_32) (p->width * scale), (png_uint_32) (p->height * scale), 8,
                 PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int y = 0; y < p->height; y++) {
        fill_row(row, p->rgb + (size_t) 3 * (size_t) (y * p->width), p->width, scale);
        for (int i = 0; i < scale; i++)
            png_write_row(png, row);
    }
    png_write_end(png, info);
    return true;
}

static void be_quiet(png_structp png, png_const_charp text) {
    (void) png, (void) text;
}

static void jump(png_structp png, png_const_charp text) {
    (void) text;
    png_longjmp(png, 1);
}

bool png_write(FILE * file, const struct picture * p, int scale) {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, jump, be_quiet);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    uint8_t * row = malloc((size_t) 3 * (size_t) p->width * (size_t) scale);
    const bool ok = info && row && write_with(png, info, file, p, scale, row);
    free(row);
    png_destroy_write_struct(&png, &info);
    return ok;
}
