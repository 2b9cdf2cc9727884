// SPDX-License-Identifier: MIT
// A bar on a terminal, plain lines elsewhere.
#include <unistd.h>

#include "tenon.h"

enum { BAR = 30 };

struct progress progress_start(const char * what, int total) {
    return (struct progress){ what, total, isatty(STDERR_FILENO), seconds_now() };
}

void progress_step(const struct progress * p, int done) {
    const double spent = seconds_now() - p->start;
    const double left = done ? spent / done * (p->total - done) : 0;
    if (!p->terminal) {
        fprintf(stderr, "%s: step %d of %d, %.2f s, %.2f s left\n", p->what, done, p->total, spent, left);
        return;
    }
    char bar[BAR + 1];
    for (int i = 0; i < BAR; i++)
        bar[i] = i < done * BAR / p->total ? '#' : '.';
    bar[BAR] = '\0';
    fprintf(stderr, "\r%s [%s] %d/%d  %.1f s, %.1f s left \033[K", p->what, bar, done, p->total, spent, left);
    fflush(stderr);
}

void progress_end(const struct progress * p) {
    if (p->terminal) fputc('\n', stderr);
}
