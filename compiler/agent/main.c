/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/ending.h"
#include "agent/fold.h"
#include "agent/notify.h"
#include "base/heap.h"
#include "command-line.h"
#include "daemon.h"
#include "dirs.h"
#include "fatal-signal.h"
#include "lockfile.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/list.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "push/ovsdb.h"
#include "stream-ssl.h"
#include "stream.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(bulkheadd);

/* Seconds. */
enum { DEFAULT_TIMEOUT = 10, DEFAULT_VERIFY_TIMEOUT = 300 };

enum {
    OPT_NODE = UCHAR_MAX + 1,
    OPT_BRIDGE,
    OPT_DB,
    OPT_UNIXCTL,
    OPT_TIMEOUT,
    OPT_VERIFY,
    OPT_NO_VERIFY,
    OPT_VERIFY_TIMEOUT,
    OPT_BOOTSTRAP_CA_CERT,
    VLOG_OPTION_ENUMS,
    DAEMON_OPTION_ENUMS,
    SSL_OPTION_ENUMS,
};

static const struct option long_options[] = {
    { "node", required_argument, NULL, OPT_NODE },
    { "bridge", required_argument, NULL, OPT_BRIDGE },
    { "db", required_argument, NULL, OPT_DB },
    { "timeout", required_argument, NULL, OPT_TIMEOUT },
    { "verify", no_argument, NULL, OPT_VERIFY },
    { "no-verify", no_argument, NULL, OPT_NO_VERIFY },
    { "verify-timeout", required_argument, NULL, OPT_VERIFY_TIMEOUT },
    { "unixctl", required_argument, NULL, OPT_UNIXCTL },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    VLOG_LONG_OPTIONS,
    DAEMON_LONG_OPTIONS,
    STREAM_SSL_LONG_OPTIONS,
    { "bootstrap-ca-cert", required_argument, NULL, OPT_BOOTSTRAP_CA_CERT },
    { NULL, 0, NULL, 0 },
};

/* Exit statuses, as those of bulkhead. */
enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_REFUSED = 3 };

static void OVS_NO_RETURN
usage(void)
{
    printf("bulkheadd: keeps a bridge equal to its intent\n"
           "usage: bulkheadd INTENT... --node=NODE --bridge=BRIDGE "
           "[OPTIONS]\n\n"
           "  INTENT                files of the intent, or folders of them; "
           "all are watched\n"
           "  --node=NODE           the node of the intent that this is\n"
           "  --bridge=BRIDGE       the bridge that holds its policy\n"
           "  --db=DATABASE         OVSDB (default: unix:%s/db.sock)\n"
           "  --timeout=SECS        for one step with the switch (default: "
           "%d)\n"
           "  --verify              push only what is proved (the default)\n"
           "  --no-verify           push what is not proved, too\n"
           "  --verify-timeout=SECS  for a proof (default: %d)\n"
           "  --unixctl=SOCKET      override default control socket name\n"
           "  -h, --help            display this help message\n"
           "  -V, --version         display version information\n",
           ovs_rundir(), DEFAULT_TIMEOUT, DEFAULT_VERIFY_TIMEOUT);
    stream_usage("DATABASE", true, false, true);
    daemon_usage();
    vlog_usage();
    exit(EXIT_SUCCESS);
}

static void OVS_PRINTF_FORMAT(1, 2) OVS_NO_RETURN
usage_error(const char *format, ...)
{
    va_list args;

    fputs("bulkheadd: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("; 'bulkheadd --help' shows the usage\n", stderr);
    exit(EXIT_USAGE);
}

static int
parse_timeout(const char *option, const char *s)
{
    int seconds;

    if (!str_to_int(s, 10, &seconds) || seconds < 1 || seconds > 86400) {
        usage_error("%s takes seconds, from 1 to 86400, not '%s'", option, s);
    }
    return 1000 * seconds;
}

static void
parse_options(int argc, char *argv[], struct agent_options *options,
              const char **unixctl)
{
    struct push_target *target = &options->target;
    char *short_options
        = ovs_cmdl_long_options_to_short_options(long_options);

    for (;;) {
        int c = getopt_long(argc, argv, short_options, long_options, NULL);

        if (c == -1) {
            break;
        }
        switch (c) {
        case OPT_NODE: options->node = optarg; break;
        case OPT_BRIDGE: target->bridge = optarg; break;
        case OPT_DB: target->db = optarg; break;
        case OPT_TIMEOUT:
            target->timeout_ms = parse_timeout("--timeout", optarg);
            break;
        case OPT_VERIFY: options->verify = true; break;
        case OPT_NO_VERIFY: options->verify = false; break;
        case OPT_VERIFY_TIMEOUT:
            options->verify_ms = parse_timeout("--verify-timeout", optarg);
            break;
        case OPT_UNIXCTL: *unixctl = optarg; break;
        case 'h': usage();
        case 'V': puts(PACKAGE_STRING); exit(EXIT_SUCCESS);
        VLOG_OPTION_HANDLERS
        DAEMON_OPTION_HANDLERS
        STREAM_SSL_OPTION_HANDLERS
        case OPT_BOOTSTRAP_CA_CERT:
            stream_ssl_set_ca_cert_file(optarg, true);
            break;
        default:                /* getopt_long() has said why. */
            fputs("bulkheadd: 'bulkheadd --help' shows the usage\n", stderr);
            exit(EXIT_USAGE);
        }
    }
    free(short_options);
}

static void
check_options(const struct agent_options *options)
{
    const struct push_target *target = &options->target;

    if (!options->node) {
        usage_error("--node=NODE is missing");
    } else if (!target->bridge) {
        usage_error("--bridge=BRIDGE is missing");
    } else if (!target->bridge[0] || target->bridge[0] == '.'
               || strchr(target->bridge, '/')) {
        usage_error("'%s' is not the name of a bridge", target->bridge);
    } else if (stream_verify_name(target->db)) {
        usage_error("--db takes unix:FILE, tcp:IP:PORT or ssl:IP:PORT, not "
                    "'%s'", target->db);
    }
}

/* Names are those of before daemonize_start() changes the folder. */
static void
take_names(int argc, char *argv[], struct agent_options *options)
{
    const char **names = xcalloc(MAX(1, argc - optind), sizeof *names);
    size_t n = 0;

    if (optind >= argc) {
        usage_error("an intent is missing");
    }
    while (optind < argc) {
        if (!argv[optind][0]) {
            usage_error("'' is not the name of a file");
        }
        names[n++] = abs_file_name(NULL, argv[optind++]);
    }
    options->names = names;
    options->n_names = n;
}

/* Commands of ovs-appctl. */

static bool exiting;

static void
unixctl_exit(struct unixctl_conn *conn, int argc OVS_UNUSED,
             const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    exiting = true;
    unixctl_command_reply(conn, NULL);
}

static void
unixctl_status(struct unixctl_conn *conn, int argc, const char *argv[],
               void *agent)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    if (argc > 1 && strcmp(argv[1], "json")) {
        unixctl_command_reply_error(conn, "status takes json, or nothing");
        return;
    } else if (argc > 1) {
        struct json *json = agent_status_json(agent);

        json_to_ds(json, JSSF_SORT, &ds);
        json_destroy(json);
    } else {
        agent_status(agent, &ds);
    }
    unixctl_command_reply(conn, ds_cstr(&ds));
    ds_destroy(&ds);
}

static void
unixctl_reload(struct unixctl_conn *conn, int argc OVS_UNUSED,
               const char *argv[] OVS_UNUSED, void *agent)
{
    agent_reload(agent);
    unixctl_command_reply(conn, NULL);
}

static void
reply(struct unixctl_conn *conn, const char *reason)
{
    if (reason) {
        unixctl_command_reply_error(conn, reason);
    } else {
        unixctl_command_reply(conn, NULL);
    }
}

/* Who asked to save, and waits for that. */
struct waiter {
    struct ovs_list node;
    struct unixctl_conn *conn;
    long long int deadline;
};

static struct ovs_list waiters = OVS_LIST_INITIALIZER(&waiters);

static void
unixctl_save(struct unixctl_conn *conn, int argc, const char *argv[],
             void *agent)
{
    struct waiter *w;
    int seconds = 0;

    if (argc > 1 && (!str_to_int(argv[1], 10, &seconds) || seconds < 1)) {
        reply(conn, "save takes seconds, or nothing");
        return;
    }
    w = xmalloc(sizeof *w);
    w->conn = conn;
    w->deadline = argc > 1 ? time_msec() + 1000LL * seconds : LLONG_MAX;
    ovs_list_push_back(&waiters, &w->node);
    agent_save(agent);
}

/* Answers who waits, and waits for the rest. */
static void
answer(const struct agent *agent)
{
    const char *reason;
    bool ended = agent_has_saved(agent, &reason);
    struct waiter *w;

    LIST_FOR_EACH_SAFE (w, node, &waiters) {
        if (ended || time_msec() >= w->deadline) {
            reply(w->conn, ended ? reason : "what is applied is still being "
                  "kept");
            ovs_list_remove(&w->node);
            free(w);
        } else {
            poll_timer_wait_until(w->deadline);
        }
    }
}

static void
unixctl_attached(struct unixctl_conn *conn, int argc, const char *argv[],
                 void *agent)
{
    struct bridge_attachment said = {
        argc > 2 ? argv[2] : NULL, argv[1],
        argc > 3 && argv[3][0] ? argv[3] : NULL,
        argc > 4 && argv[4][0] ? argv[4] : NULL,
    };
    const char *reason, *attached;

    if (!strchr(said.endpoint, '/')) {
        unixctl_command_reply_error(conn, "attached takes TENANT/ENDPOINT");
        return;
    }
    attached = agent_attached(agent, &said, &reason);
    if (reason) {
        unixctl_command_reply_error(conn, reason);
    } else {
        unixctl_command_reply(conn, attached);
    }
}

/* Tells systemd what has become of it, if that is news. */
static void
tell(const struct agent *agent, const char **told)
{
    const char *summary = agent_summary(agent);

    if (agent_is_ready(agent) && (!*told || strcmp(*told, summary))) {
        char *state = xasprintf("%sSTATUS=%s", *told ? "" : "READY=1\n",
                                summary);

        notify(state);
        free(state);
        *told = summary;
    }
}

static void
loop(struct agent *agent, struct unixctl_server *unixctl)
{
    const char *told = NULL;
    bool complete = false;

    while (!exiting && !ending_is_asked()) {
        agent_run(agent);
        unixctl_server_run(unixctl);
        answer(agent);
        tell(agent, &told);
        if (!complete) {
            /* What there is to wait for may take long to come. */
            daemonize_complete();
            complete = true;
        }
        if (exiting) {
            poll_immediate_wake();
        }
        agent_wait(agent);
        unixctl_server_wait(unixctl);
        ending_wait();
        poll_block();
    }
}

/* Says why on the terminal, once, and in other logs. */
static void OVS_NO_RETURN
refuse_start(int status, const char *reason)
{
    vlog_set_levels(&this_module, VLF_CONSOLE, VLL_OFF);
    VLOG_ERR("%s", reason);
    fprintf(stderr, "bulkheadd: %s\n", reason);
    exit(status);
}

/* Whoever detaches it has nobody who looks at status: what is wrong from the
 * beginning is said now.  What may come later is waited for. */
static void
check_start(const struct agent_options *options)
{
    struct arena *arena = arena_create();
    const char *reason;
    char *errors = agent_try(options);

    if (errors) {
        reason = arena_printf(arena, "the intent is wrong:\n%s", errors);
        refuse_start(EXIT_WRONG, arena_strndup(arena, reason,
                                               strlen(reason) - 1));
    }
    reason = push_lacks_bridge(&options->target, arena);
    if (reason) {
        refuse_start(EXIT_REFUSED, reason);
    }
    arena_destroy(arena);
}

/* The same once, and not each time that a monitor begins it again: what is
 * wrong then ends nothing.  In a process of its own, for the library has to
 * wait for signals in the one that it detaches alone. */
static void
try_start(const struct agent_options *options)
{
    int status = EXIT_FAILURE << 8;
    pid_t pid = fork();

    if (!pid) {
        check_start(options);
        exit(EXIT_SUCCESS);
    } else if (pid > 0) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
            continue;
        }
    } else {
        fprintf(stderr, "bulkheadd: fork: %s\n", ovs_strerror(errno));
    }
    if (status) {
        exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
    }
}

/* Two that keep one bridge would undo each other's work. */
static void
hold_bridge(const struct agent_options *options)
{
    struct arena *arena = arena_create();
    struct lockfile *lock = NULL;       /* Until the process ends. */
    const char *reason = push_hold(&options->target, options->node, arena,
                                   &lock);

    if (reason) {
        refuse_start(EXIT_REFUSED, reason);
    }
    arena_destroy(arena);
}

int
main(int argc, char *argv[])
{
    struct agent_options options = {
        .verify = true,
        .verify_ms = 1000 * DEFAULT_VERIFY_TIMEOUT,
    };
    const char *unixctl_path = NULL, *folder;
    struct unixctl_server *unixctl;
    struct agent *agent;
    int error;

    if (fold_is_asked(argc, argv)) {
        return fold_run(argv);
    }
    heap_expect_much();
    ovs_set_program_name("bulkheadd", PACKAGE_VERSION);
    setenv("OVS_RUNDIR", SYSTEM_RUNDIR, 0);
    setenv("OVS_LOGDIR", SYSTEM_LOGDIR, 0);
    fatal_ignore_sigpipe();
    signal(SIGXFSZ, SIG_IGN);           /* write() says so. */
    folder = getenv("BULKHEAD_STATEDIR");
    options.target = (struct push_target) {
        .db = xasprintf("unix:%s/db.sock", ovs_rundir()),
        .state = !folder ? STATEDIR : folder[0] ? folder : NULL,
        .timeout_ms = 1000 * DEFAULT_TIMEOUT,
    };
    parse_options(argc, argv, &options, &unixctl_path);
    check_options(&options);
    take_names(argc, argv, &options);

    if (get_detach()) {
        try_start(&options);
    }
    daemonize_start(false);
    hold_bridge(&options);
    error = unixctl_server_create(unixctl_path, &unixctl);
    if (error) {
        exit(EXIT_REFUSED);             /* It has said why. */
    }
    agent = agent_create(&options);
    unixctl_command_register("exit", "", 0, 0, unixctl_exit, NULL);
    unixctl_command_register("status", "[json]", 0, 1, unixctl_status, agent);
    unixctl_command_register("reload", "", 0, 0, unixctl_reload, agent);
    unixctl_command_register("save", "[SECS]", 0, 1, unixctl_save, agent);
    unixctl_command_register("attached", "TENANT/ENDPOINT [INTERFACE [MAC "
                             "[ADDRESSES]]]", 1, 4, unixctl_attached, agent);
    ending_init();
    loop(agent, unixctl);
    notify("STOPPING=1");
    agent_destroy(agent);
    unixctl_server_destroy(unixctl);
    return EXIT_SUCCESS;
}
