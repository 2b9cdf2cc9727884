// SPDX-License-Identifier: MIT
// Writing pictures.
#ifndef TENON_PNG_FILE_H
#define TENON_PNG_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct picture {
    int width, height;
    uint8_t * rgb; // rows from the top, three bytes a pixel; owned by whoever made it
};

// Each pixel becomes scale x scale pixels. false: it cannot be written, errno says why.
bool png_write(FILE * file, const struct picture * p, int scale);

#endif
