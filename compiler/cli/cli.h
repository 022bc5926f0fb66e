/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_CLI_H
#define CLI_CLI_H 1

/* The command line: arguments, help, output.  Only cli/ prints. */

#include <stdbool.h>

/* Exit statuses. */
enum {
    EXIT_DONE = 0,
    EXIT_WRONG = 1,             /* The intent is wrong, or its plan could
                                 * not be written. */
    EXIT_USAGE = 2,
    EXIT_UNREACHABLE = 3,       /* Switch or database not reached, or it
                                 * refused; nothing changed. */
    EXIT_DIFFERENT = 4,         /* status: the switch differs. */
};

/* What the options said; NULL or 0 where they did not. */
struct cli_options {
    const char *intent;         /* File name. */
    const char *node, *bridge, *db, *output;
    int timeout;                /* Seconds. */
    bool verbose;
};

/* Options of a command, for its table entry. */
enum {
    OPTION_NODE = 1 << 0,       /* Required. */
    OPTION_BRIDGE = 1 << 1,     /* Required. */
    OPTION_OUTPUT = 1 << 2,     /* Not required. */
    OPTION_SWITCH = 1 << 3,     /* --db, --timeout; not required. */
    OPTION_VERBOSE = 1 << 4,    /* Not required. */
};

struct cli_command {
    const char *name;
    unsigned int options;       /* OPTION_*. */
    int (*run)(const struct cli_options *);     /* Returns EXIT_*. */
    const char *usage, *help;
};

extern const struct cli_command cli_commands[];     /* Ends with a null. */

#endif /* cli/cli.h */
