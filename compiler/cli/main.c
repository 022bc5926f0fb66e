/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/asap2/asap2.h"
#include "backend/backend.h"
#include "base/heap.h"
#include "base/nearest.h"
#include "cli/offload.h"
#include "fatal-signal.h"
#include "openvswitch/vlog.h"
#include "stream-ssl.h"
#include "stream.h"
#include "util.h"

enum { MAX_TIME = 86400 };      /* Seconds. */

/* Options without a letter to spare. */
enum {
    OPT_PRIVATE_KEY = UCHAR_MAX + 1,
    OPT_CERTIFICATE,
    OPT_CA_CERT,
    SSL_OPTION_ENUMS,
};

/* The options of all commands; 'of' says which commands take one. */
static const struct {
    struct option option;
    unsigned int of;            /* OPTION_*, or 0 for every command. */
} option_table[] = {
    { { "node", required_argument, NULL, 'n' }, OPTION_NODE },
    { { "bridge", required_argument, NULL, 'b' }, OPTION_BRIDGE },
    { { "output", required_argument, NULL, 'o' }, OPTION_OUTPUT },
    { { "db", required_argument, NULL, 'd' }, OPTION_SWITCH },
    { { "timeout", required_argument, NULL, 't' }, OPTION_SWITCH },
    { { "private-key", required_argument, NULL, OPT_PRIVATE_KEY },
      OPTION_SWITCH },
    { { "certificate", required_argument, NULL, OPT_CERTIFICATE },
      OPTION_SWITCH },
    { { "ca-cert", required_argument, NULL, OPT_CA_CERT }, OPTION_SWITCH },
    { { "ssl-protocols", required_argument, NULL, OPT_SSL_PROTOCOLS },
      OPTION_SWITCH },
    { { "ssl-ciphers", required_argument, NULL, OPT_SSL_CIPHERS },
      OPTION_SWITCH },
    { { "target", required_argument, NULL, 'T' }, OPTION_TARGET },
    { { "dump", required_argument, NULL, 'D' }, OPTION_DUMP },
    { { "verbose", no_argument, NULL, 'v' }, OPTION_VERBOSE },
    { { "from", required_argument, NULL, 'e' }, OPTION_FROM },
    { { "state", required_argument, NULL, 's' }, OPTION_STATE },
    { { "opener", required_argument, NULL, 'p' }, OPTION_STATE },
    { { "format", required_argument, NULL, 'f' }, OPTION_FORMAT },
    { { "no-headings", no_argument, NULL, 'H' }, OPTION_CSV },
    { { "exit-code", no_argument, NULL, 'x' }, OPTION_EXIT_CODE },
    { { "dry-run", no_argument, NULL, 'y' }, OPTION_DRY_RUN },
    { { "to", required_argument, NULL, 'g' }, OPTION_TO },
    { { "write", no_argument, NULL, 'w' }, OPTION_WRITE },
    { { "check", no_argument, NULL, 'c' }, OPTION_WRITE },
    { { "interface", required_argument, NULL, 'i' }, OPTION_INTERFACE },
    { { "mac", required_argument, NULL, 'm' }, OPTION_INTERFACE },
    { { "addresses", required_argument, NULL, 'a' }, OPTION_INTERFACE },
    { { "partial", no_argument, NULL, 'P' }, OPTION_PARTIAL },
    { { "confirm", required_argument, NULL, 'C' }, OPTION_CONFIRM },
    { { "verify", optional_argument, NULL, 'u' }, OPTION_CONFIRM },
    { { "no-verify", no_argument, NULL, 'U' }, OPTION_CONFIRM },
    { { "profile", required_argument, NULL, 'F' }, OPTION_PROFILE },
    { { "flows", required_argument, NULL, 'L' }, OPTION_FLOWS },
    { { "live", required_argument, NULL, 'M' }, OPTION_FLOWS },
    { { "datapath", required_argument, NULL, 'q' }, OPTION_TELEMETRY },
    { { "since", required_argument, NULL, 'S' }, OPTION_RECORD },
    { { "record", required_argument, NULL, 'r' }, OPTION_RECORD },
    { { "tenant", required_argument, NULL, 'A' }, OPTION_TENANT },
    { { "port", required_argument, NULL, 'J' }, OPTION_PORT },
    { { "replay", required_argument, NULL, 'R' }, OPTION_REPLAY },
    { { "interval", required_argument, NULL, 'I' }, OPTION_REPLAY },
    { { "listen", required_argument, NULL, 'l' }, OPTION_LISTEN },
    { { "once", no_argument, NULL, '1' }, OPTION_ONCE },
    { { "tenant-per", required_argument, NULL, 'k' }, OPTION_IMPORT },
    { { "help", no_argument, NULL, 'h' }, 0 },
    { { "version", no_argument, NULL, 'V' }, 0 },
};

/* One command, and the options that it takes. */
static void
print_command_help(const struct cli_command *command)
{
    printf("usage: bulkhead %s %s\n      %s\nOptions:", command->name,
           command->usage, command->help);
    for (size_t i = 0; i < ARRAY_SIZE(option_table); i++) {
        if (!option_table[i].of || option_table[i].of & command->options) {
            printf(" --%s", option_table[i].option.name);
        }
    }
    puts("\n'bulkhead --help' explains them");
}

static void OVS_PRINTF_FORMAT(1, 2) OVS_NO_RETURN
usage_error(const char *format, ...)
{
    va_list args;

    fputs("bulkhead: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("; 'bulkhead --help' shows the usage\n", stderr);
    exit(EXIT_USAGE);
}

static const struct cli_command *
find_command(const char *name)
{
    struct nearest nearest = nearest_init(name);

    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (!strcmp(c->name, name)) {
            return c;
        }
        nearest_try(&nearest, c->name);
    }
    if (nearest.best) {
        usage_error("there is no command '%s': did you mean '%s'?", name,
                    nearest.best);
    }
    usage_error("there is no command '%s'", name);
}

static int
parse_timeout(const char *s)
{
    int seconds;

    if (!str_to_int(s, 10, &seconds) || seconds < 1 || seconds > 86400) {
        usage_error("--timeout takes seconds, from 1 to 86400, not '%s'", s);
    }
    return seconds;
}

/* "60s", "5m", "1h" or "1d", in seconds. */
static int
parse_time(const char *option, const char *s)
{
    static const char units[] = "smhd";
    static const int seconds[] = { 1, 60, 3600, 86400 };
    size_t digits = strspn(s, "0123456789");
    const char *unit = s[digits] ? strchr(units, s[digits]) : NULL;
    int n = digits && digits < 6 ? atoi(s) : 0;

    if (!n || !unit || s[digits + 1]
        || n > MAX_TIME / seconds[unit - units]) {
        usage_error("%s takes a time from 1s to 1d, as in 60s or 5m, "
                    "not '%s'", option, s);
    }
    return n * seconds[unit - units];
}

static uint64_t
parse_generation(const char *s)
{
    long long int generation;

    if (!str_to_llong(s, 10, &generation) || generation < 1) {
        usage_error("--to takes the number of a generation, not '%s'", s);
    }
    return generation;
}

static enum cli_format
parse_format(const char *s)
{
    static const char *const names[] = {
        [FORMAT_TABLE] = "table", [FORMAT_JSON] = "json",
        [FORMAT_CSV] = "csv",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!strcmp(s, names[i])) {
            return i;
        }
    }
    usage_error("--format takes table, json or csv, not '%s'", s);
}

static const struct profile *
parse_profile(const char *s)
{
    const struct profile *profile = profile_find(s, asap2_backend.name);

    if (!profile) {
        usage_error("--profile takes connectx-5, connectx-6-dx, connectx-7, "
                    "bluefield-3, kernel-tc or kernel-tc-ext, not '%s'", s);
    }
    return profile;
}

static const char *
parse_tenant_per(const char *s)
{
    if (strcmp(s, "cluster") && strcmp(s, "namespace")) {
        usage_error("--tenant-per takes cluster or namespace, not '%s'", s);
    }
    return s;
}

static enum cli_dump
parse_dump(const char *s)
{
    static const char *const stages[] = {
        [DUMP_INTENT] = "intent", [DUMP_IR] = "ir",
        [DUMP_LOWERED] = "lowered", [DUMP_PLAN] = "plan",
    };

    for (size_t i = DUMP_INTENT; i < ARRAY_SIZE(stages); i++) {
        if (!strcmp(s, stages[i])) {
            return i;
        }
    }
    usage_error("--dump takes intent, ir, lowered or plan, not '%s'", s);
}

/* Takes an option of TLS; returns false if it is none. */
static bool
parse_tls(int c, struct cli_options *options)
{
    switch (c) {
    case OPT_PRIVATE_KEY: options->private_key = optarg; break;
    case OPT_CERTIFICATE: options->certificate = optarg; break;
    case OPT_CA_CERT: options->ca_cert = optarg; break;
    case OPT_SSL_PROTOCOLS: stream_ssl_set_protocols(optarg); break;
    case OPT_SSL_CIPHERS: stream_ssl_set_ciphers(optarg); break;
    default: return false;
    }
    return true;
}

/* Returns the options that were given, as OPTION_*. */
static unsigned int
parse_options(int argc, char *argv[], struct cli_options *options)
{
    struct option long_options[ARRAY_SIZE(option_table) + 1] = { { 0 } };
    unsigned int given = 0;

    for (size_t i = 0; i < ARRAY_SIZE(option_table); i++) {
        long_options[i] = option_table[i].option;
    }
    for (;;) {
        int c = getopt_long(argc, argv, "f:o:t:vwhV", long_options, NULL);

        if (c == -1) {
            return given;
        }
        switch (c) {
        case 'n': options->node = optarg; break;
        case 'b': case 'M': options->bridge = optarg; break;
        case 'o': options->output = optarg; break;
        case 'd': options->db = optarg; break;
        case 't': options->timeout = parse_timeout(optarg); break;
        case 'T': options->target_name = optarg; break;
        case 'D': options->dump = parse_dump(optarg); break;
        case 'v': options->verbose = true; break;
        case 'e': options->from = optarg; break;
        case 's': options->state = optarg; break;
        case 'p': options->opener = optarg; break;
        case 'f': options->format = parse_format(optarg); break;
        case 'H': options->no_headings = true; break;
        case 'x': options->exit_code = true; break;
        case 'y': options->dry_run = true; break;
        case 'g': options->to = parse_generation(optarg); break;
        case 'w': options->write = true; break;
        case 'c': options->check = true; break;
        case 'i': options->interface = optarg; break;
        case 'm': options->mac = optarg; break;
        case 'a': options->addresses = optarg; break;
        case 'P': options->partial = true; break;
        case 'F': options->profile = parse_profile(optarg); break;
        case 'L': options->flows = optarg; break;
        case 'C': options->confirm = parse_time("--confirm", optarg); break;
        case 'u':
            options->verify = true;
            options->verify_time = (optarg ? parse_time("--verify", optarg)
                                    : 0);
            break;
        case 'U': options->no_verify = true; break;
        case 'q': options->datapath = optarg; break;
        case 'S': options->since = parse_time("--since", optarg); break;
        case 'r': options->record = optarg; break;
        case 'A': options->tenant = optarg; break;
        case 'J': options->port = optarg; break;
        case 'R': options->replay = optarg; break;
        case 'I': options->interval = parse_time("--interval", optarg); break;
        case 'l': options->listen = optarg; break;
        case '1': options->once = true; break;
        case 'k': options->tenant_per = parse_tenant_per(optarg); break;
        case 'h': options->help = true; break;
        case 'V': puts(PACKAGE_STRING); exit(EXIT_DONE);
        default:
            if (parse_tls(c, options)) {
                break;
            }                           /* Else getopt_long() has said why. */
            fputs("bulkhead: 'bulkhead --help' shows the usage\n", stderr);
            exit(EXIT_USAGE);
        }
        for (size_t i = 0; i < ARRAY_SIZE(option_table); i++) {
            if (option_table[i].option.val == c) {
                given |= option_table[i].of;
            }
        }
    }
}

static const struct backend *
parse_target(const struct cli_command *command, const char *name)
{
    const struct backend *target = cli_find_target(command, name);

    if (!target) {
        usage_error("'%s' takes --target=%s, not '%s'", command->name,
                    cli_target_names(command), name);
    }
    return target;
}

/* What goes with --target? */
static void
check_target(const struct cli_command *command,
             const struct cli_options *options)
{
    const struct backend *target = options->target;

    if (options->verify && options->no_verify) {
        usage_error("--verify and --no-verify exclude each other");
    } else if (cli_is_fabric(options)
               && (options->node || options->bridge || options->partial
                   || options->confirm || options->verify
                   || options->no_verify)) {
        usage_error("--target=%s is for all nodes together, and takes no %s",
                    target->name, options->node ? "--node"
                    : options->bridge ? "--bridge"
                    : options->partial ? "--partial"
                    : options->confirm ? "--confirm"
                    : options->verify ? "--verify" : "--no-verify");
    } else if (options->profile && target
               && !(command->options & OPTION_SWITCH)
               && !offload_profile(options->profile, target)) {
        usage_error("--profile=%s says nothing of --target=%s",
                    options->profile->name, target->name);
    }
}

static void
check_options(const struct cli_command *command, unsigned int given,
              struct cli_options *options)
{
    if (given & ~command->options) {
        for (size_t i = 0; i < ARRAY_SIZE(option_table); i++) {
            if (option_table[i].of & given & ~command->options) {
                usage_error("'%s' takes no --%s", command->name,
                            option_table[i].option.name);
            }
        }
    }
    if (options->target_name) {
        options->target = parse_target(command, options->target_name);
    }
    check_target(command, options);
    if (command->options & NODE_REQUIRED && !options->node
        && !cli_is_fabric(options)) {
        usage_error("'%s' needs --node=NODE", command->name);
    }
    if (command->options & BRIDGE_REQUIRED && !options->bridge
        && !cli_is_fabric(options)) {
        usage_error("'%s' needs --bridge=BRIDGE", command->name);
    }
    if (command->options & OPTION_INTERFACE && !options->interface) {
        usage_error("'%s' needs --interface=INTERFACE", command->name);
    }
    if (command->options & OPTION_FROM && !options->from) {
        usage_error("'%s' needs --from=TENANT/ENDPOINT", command->name);
    }
    if (command->options & OPTION_PROFILE && !options->profile
        && !(command->options & OPTION_SWITCH)) {
        usage_error("'%s' needs --profile=PROFILE", command->name);
    }
    if (options->flows && options->bridge) {
        usage_error("--flows and --bridge exclude each other");
    }
    if (options->write && options->check) {
        usage_error("--write and --check exclude each other");
    }
    if (options->format == FORMAT_CSV && !(command->options & OPTION_CSV)) {
        usage_error("'%s' has no csv; --format takes table or json",
                    command->name);
    }
    if (options->dump && options->format == FORMAT_JSON) {
        usage_error("--dump prints a stage in a form of its own; leave out "
                    "--format");
    }
    if (options->bridge && (!options->bridge[0] || options->bridge[0] == '.'
                            || strchr(options->bridge, '/'))) {
        usage_error("'%s' is not the name of a bridge", options->bridge);
    }
    if (options->output && !options->output[0]) {
        usage_error("--output needs the name of a folder or file");
    }
    if (options->db && stream_verify_name(options->db)) {
        usage_error("--db takes unix:FILE, tcp:IP:PORT or ssl:IP:PORT, not "
                    "'%s'", options->db);
    } else if (options->db) {
        cli_use_tls(options, options->db);
    }
}

/* Takes what is left of the command line. */
static void
parse_arguments(int argc, char *argv[], const struct cli_command *command,
                struct cli_options *options)
{
    size_t n = argc - optind;
    const char *argument = command->argument;
    bool optional = command->options & INTENT_OPTIONAL;

    if (command->options & INTENT_NONE && n != (argument != NULL)) {
        usage_error(argument ? "'%s' needs %s and nothing else"
                    : "'%s' takes no intent", command->name, argument);
    } else if (command->options & INTENT_NONE) {
        options->argument = argument ? argv[optind] : NULL;
    } else if (!n && !optional) {
        usage_error("'%s' needs an intent", command->name);
    } else if (!n && argument) {
        usage_error("'%s' needs %s", command->name, argument);
    } else if (n == 1 && argument && !optional) {
        usage_error("'%s' needs %s after the intent", command->name, argument);
    } else {
        options->argument = argument ? argv[argc - 1] : NULL;
        options->intent = (const char *const *) &argv[optind];
        options->n_intent = n - (argument != NULL);
    }
}

/* The exit status if that of a command is 'status': has its output arrived? */
static int
finish(int status)
{
    int error = cli_flush();

    if (error) {
        fprintf(stderr, "bulkhead: standard output: %s\n",
                ovs_strerror(error));
        return status ? status : EXIT_WRONG;
    }
    return status;
}

int
main(int argc, char *argv[])
{
    struct cli_options options = { .intent = NULL };
    const struct cli_command *command;
    unsigned int given;

    heap_expect_much();
    cli_reserve_standard();
    ovs_set_program_name(argv[0], PACKAGE_VERSION);
    fatal_ignore_sigpipe();
    signal(SIGXFSZ, SIG_IGN);           /* write() says so. */
    /* The library comes from a prefix of its own, and would look there. */
    setenv("OVS_RUNDIR", SYSTEM_RUNDIR, 0);
    /* Our own messages say what went wrong, once. */
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);

    given = parse_options(argc, argv, &options);
    if (optind >= argc && !options.help) {
        usage_error("a command is missing");
    } else if (optind >= argc) {
        cli_print_help();
        return finish(EXIT_DONE);
    }
    command = find_command(argv[optind++]);
    if (options.help) {
        print_command_help(command);
        return finish(EXIT_DONE);
    }
    parse_arguments(argc, argv, command, &options);
    check_options(command, given, &options);
    return finish(command->run(&options));
}
