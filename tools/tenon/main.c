// SPDX-License-Identifier: MIT
// The program `tenon`: finds the subcommand.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "ggml.h"
#include "tenon.h"

static const struct {
    const char * name;
    int (*run)(int argc, char ** argv);
    const char * what;
} commands[] = {
    { "draw", tenon_draw, "draw a picture from a text" },
    { "import", tenon_import, "turn safetensors and their card into a GGUF file" },
    { "trace", tenon_trace, "tell which device runs what of a model, and why" },
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(void) {
    puts("usage: tenon COMMAND [OPTION...]\n");
    for (int i = 0; i < N_COMMANDS; i++)
        printf("  %-8s %s\n", commands[i].name, commands[i].what);
    puts("\n`tenon COMMAND --help` tells more; `tenon --version` the version.");
}

// The library's errors repeat what the program says in its one line; nothing else says its warnings.
static void take_message(enum ggml_log_level level, const char * text, void * user_data) {
    (void) user_data;
    if (level == GGML_LOG_LEVEL_WARN) complain("%.*s", (int) strcspn(text, "\n"), text);
}

// A closed standard stream would give its number to the next file that is opened, and take messages.
static bool have_streams(void) {
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        if (open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd) return false;
    }
    return true;
}

// A reader that is gone and a file that may not grow are errors of the call that meets them; others end
// the program, but not without what it has begun to write being taken away.
static void catch_signals(void) {
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct sigaction old;
        sigaction(ends[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) signal(ends[i], output_die);
    }
}

static int run(int argc, char ** argv) {
    if (argc < 2) return usage("a command is missing");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_help(), EXIT_OK;
    if (strcmp(argv[1], "--version") == 0) return printf("tenon %s\n", ggml_version()), EXIT_OK;
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
    }
    return usage("there is no command '%.100s'", argv[1]);
}

int main(int argc, char ** argv) {
    if (!have_streams()) return EXIT_FAILED;
    ggml_log_set(take_message, NULL);
    catch_signals();
    const int status = run(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    const int lost = complain("standard output: %s", strerror(errno));
    return status == EXIT_OK ? lost : status;
}
