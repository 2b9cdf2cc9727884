// SPDX-License-Identifier: MIT
// What the subcommands of `tenon` share.
#ifndef TENON_H
#define TENON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// Exit statuses.
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

int tenon_draw(int argc, char ** argv);
int tenon_import(int argc, char ** argv);
int tenon_trace(int argc, char ** argv);

// One line "tenon: ..." on stderr. complain returns EXIT_FAILED, usage EXIT_USAGE with a hint at --help.
int complain(const char * fmt, ...) __attribute__((format(printf, 1, 2)));
int usage(const char * fmt, ...) __attribute__((format(printf, 1, 2)));

// Reads a whole number; false if the text is something else or does not fit in 64 bits.
bool parse_int(const char * text, int64_t * out);
bool parse_float(const char * text, double * out);

double seconds_now(void);

// One option's whole number: EXIT_OK, or a status after a complaint.
int take_int(const char * what, const char * text, int64_t lowest, int64_t highest, int64_t * out);
int out_of_range(const char * what, const char * given, const char * range);

// The model that ships: in the folder from which the program is called, where it is installed, where it was
// built. The path is in `path`, or lives for ever.
const char * find_model(char * path, size_t size);

// Is there "--help" or "-h" among the options?
bool wants_help(int argc, char ** argv);
// What getopt_long did not understand, for messages.
const char * bad_option(char ** argv);

bool is_utf8(const char * text);

// ---- output.c: a file that appears under its name only when it is complete

struct output {
    char path[4096];
    char temporary[4096 + 16]; // beside it; "" while writing straight to a device such as /dev/stdout
    FILE * file;
};

// Would the output replace this input? One and the same file has many names.
bool is_same_file(const char * output, const char * input);

// Each says what went wrong itself. A regular file is made under a temporary name beside `path`.
bool output_open(struct output * out, const char * path);
bool output_commit(struct output * out);
void output_discard(struct output * out);
// For signals: takes an unfinished file away and ends the process as the signal does.
void output_die(int signal_number);

// ---- progress.c

struct progress {
    const char * what;
    int total;
    bool terminal;
    double start;
};

struct progress progress_start(const char * what, int total);
void progress_step(const struct progress * p, int done);
// Ends the line of the bar, also after a failure in the middle.
void progress_end(const struct progress * p);

#endif
