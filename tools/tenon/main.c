// SPDX-License-Identifier: MIT
// The program `tenon`: finds the subcommand.
#include <string.h>

#include "ggml.h"
#include "tenon.h"

static const struct {
    const char * name;
    int (*run)(int argc, char ** argv);
    const char * what;
} commands[] = {
    { "draw", tenon_draw, "draw a picture from a text" },
    { "import", tenon_import, "turn safetensors and their card into a GGUF file" },
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(void) {
    puts("usage: tenon COMMAND [OPTION...]\n");
    for (int i = 0; i < N_COMMANDS; i++)
        printf("  %-8s %s\n", commands[i].name, commands[i].what);
    puts("\n`tenon COMMAND --help` tells more; `tenon --version` the version.");
}

// The library's messages repeat what the program says in its one line.
static void keep_quiet(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) text, (void) user_data;
}

int main(int argc, char ** argv) {
    ggml_log_set(keep_quiet, NULL);
    if (argc < 2) return usage("a command is missing");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help();
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tenon %s\n", ggml_version());
        return EXIT_OK;
    }
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
    }
    return usage("there is no command '%.100s'", argv[1]);
}
