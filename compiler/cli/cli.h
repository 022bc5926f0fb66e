/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_CLI_H
#define CLI_CLI_H 1

/* The command line: arguments, help, output.  Only cli/ prints. */

#include <stdbool.h>
#include <stdint.h>

#include "push/push.h"

/* Exit statuses. */
enum {
    EXIT_DONE = 0,
    EXIT_WRONG = 1,             /* The intent is wrong, or its plan could
                                 * not be written, or is not what it gives;
                                 * fmt: a file has another layout, or could
                                 * not be written. */
    EXIT_USAGE = 2,             /* Or a name or cookie that is not in the
                                 * intent. */
    EXIT_UNREACHABLE = 3,       /* Switch or database not reached, or it
                                 * refused, or bridge or node is not what
                                 * the command needs; nothing changed, or the
                                 * message names a doubt. */
    EXIT_DIFFERENT = 4,         /* status: the bridge differs, or is not
                                 * fit; plan: apply would change it;
                                 * offload: a rule is not wholly in
                                 * hardware. */
};

enum cli_format {
    FORMAT_TABLE,
    FORMAT_JSON,
    FORMAT_CSV,
};

/* A stage of the compiler to print, in place of writing files. */
enum cli_dump {
    DUMP_NONE,
    DUMP_INTENT,
    DUMP_IR,
    DUMP_LOWERED,
    DUMP_PLAN,
};

/* What the options said; NULL or 0 where they did not. */
struct cli_options {
    const char *const *intent;  /* Names of its files and folders; see */
    size_t n_intent;            /* INTENT_OPTIONAL. */
    const char *argument;       /* What comes after them. */
    const char *node, *bridge, *db, *output, *from, *state, *opener, *flows;
    const char *interface, *mac, *addresses;
    const char *private_key, *certificate, *ca_cert;    /* Files, for TLS. */
    int timeout;                /* Seconds. */
    uint64_t to;                /* A generation. */
    int confirm;                /* Seconds. */
    bool verify, no_verify;
    int verify_time;            /* Seconds. */
    const char *datapath, *tenant, *port, *record, *replay, *listen;
    int since, interval;        /* Seconds. */
    bool once;
    bool verbose, no_headings, help, exit_code, dry_run, partial;
    bool write, check;
    const char *tenant_per;     /* "cluster" or "namespace". */
    enum cli_format format;
    const char *target_name;    /* As given; NULL: it was not. */
    const struct backend *target;       /* The one of that name. */
    const struct profile *profile;
    enum cli_dump dump;
};

/* Options of a command, for its table entry. */
enum {
    OPTION_NODE = 1 << 0,
    OPTION_BRIDGE = 1 << 1,
    OPTION_OUTPUT = 1 << 2,     /* Not required. */
    OPTION_SWITCH = 1 << 3,     /* --db, --timeout; not required. */
    OPTION_VERBOSE = 1 << 8,    /* Not required. */
    OPTION_FROM = 1 << 4,       /* Required. */
    OPTION_STATE = 1 << 5,      /* --state, --opener; not required. */
    OPTION_FORMAT = 1 << 6,     /* Not required. */
    NODE_REQUIRED = 1 << 7,
    INTENT_OPTIONAL = 1 << 9,
    INTENT_NONE = 1 << 13,      /* Takes none. */
    OPTION_CSV = 1 << 10,       /* --format=csv, --no-headings. */
    OPTION_TARGET = 1 << 11,    /* Not required. */
    OPTION_DUMP = 1 << 12,      /* Not required. */
    BRIDGE_REQUIRED = 1 << 14,
    OPTION_EXIT_CODE = 1 << 15, /* Not required. */
    OPTION_DRY_RUN = 1 << 16,   /* Not required. */
    OPTION_TO = 1 << 17,        /* Not required. */
    OPTION_WRITE = 1 << 18,     /* --write, --check; not required. */
    OPTION_PARTIAL = 1 << 19,   /* Not required. */
    OPTION_CONFIRM = 1 << 20,   /* And --verify, --no-verify; not required.
                                 */
    OPTION_INTERFACE = 1 << 21, /* And --mac, --addresses, which are not
                                 * required. */
    OPTION_PROFILE = 1 << 22,   /* Not required with OPTION_SWITCH. */
    OPTION_FLOWS = 1 << 23,     /* Not required. */
    OPTION_TELEMETRY = 1 << 24, /* --datapath; not required. */
    OPTION_PORT = 1 << 25,      /* Not required. */
    OPTION_RECORD = 1 << 26,    /* --since, --record; not required. */
    OPTION_REPLAY = 1 << 27,    /* --replay, --interval; not required. */
    OPTION_ONCE = 1 << 28,      /* Not required. */
    OPTION_LISTEN = 1 << 29,    /* Not required. */
    OPTION_IMPORT = 1 << 30,    /* --tenant-per; not required. */
    OPTION_TENANT = 1U << 31,   /* Not required. */
};

struct cli_command {
    const char *name;
    unsigned int options;       /* OPTION_*. */
    int (*run)(const struct cli_options *);     /* Returns EXIT_*. */
    const char *usage, *help;
    const char *argument;       /* What stands after the intent, or NULL. */
};

extern const struct cli_command cli_commands[];     /* Ends with a null. */

/* The target of that name; NULL if the command takes none such. */
const struct backend *cli_find_target(const struct cli_command *,
                                      const char *name);

/* The names of those that it takes, as in "asap2 or kernel".  The caller must
 * free them. */
char *cli_target_names(const struct cli_command *);

struct backend;
struct diags;
struct intent;
struct ir_prog;
struct json;
struct policy;

/* Reads and resolves the intent.  Returns NULL after printing what is
 * wrong.  Exits with EXIT_USAGE if it has no node that --node names. */
const struct policy *cli_load_policy(const struct cli_options *,
                                     struct arena *);

/* The same for who asks about it: of what is right nothing is printed. */
const struct policy *cli_consult_policy(const struct cli_options *,
                                        struct arena *);

/* The intent as the subject of a sentence. */
const char *cli_intent_title(const struct cli_options *);

/* As cli_load_policy(), for the node. */
struct ir_prog *cli_load_prog(const struct cli_options *, struct arena *);

/* Compiles the intent for the node; prints what is wrong. */
bool cli_load_plan(const struct cli_options *, struct arena *, struct plan *);

struct push_target cli_target(const struct cli_options *, struct arena *);

/* Where the node keeps what was applied; NULL: nowhere. */
const char *cli_state_folder(void);

/* Sets TLS up if one of the remotes of OVSDB takes it.  Exits with EXIT_USAGE
 * if it lacks an option, or a file of one cannot be read. */
void cli_use_tls(const struct cli_options *, const char *remotes);

void cli_print_error(const char *reason);

/* Keeps other files from taking the numbers of standard ones that are
 * closed; these still cannot be read or written. */
void cli_reserve_standard(void);

/* Flushes standard output.  Returns 0, or the errno value of the first time
 * that something did not arrive there. */
int cli_flush(void);

/* All commands and options. */
void cli_print_help(void);

/* Says which endpoints the plan leaves out. */
void cli_print_left_out(const struct plan *);

/* Makes the plan of a policy for the node; prints what is wrong. */
bool cli_compile(const struct cli_options *, const struct policy *,
                 struct arena *, struct plan *);

/* The same for a program, which is then as the target lowers it. */
bool cli_compile_prog(struct ir_prog *, const struct backend *,
                      struct arena *, struct plan *);

/* Loads the intent, or a plan that was saved, as an order for the bridge, and
 * the policy that it is of, unless 'policy' is NULL.  Returns EXIT_*, after
 * printing what is wrong. */
int cli_load_intent(const struct cli_options *, struct arena *,
                    struct plan_record *, const struct policy **policy);
int cli_load_order(const struct cli_options *, struct arena *,
                   struct plan_record *, const struct policy **policy);

/* Proves the flows of the order, unless --no-verify says not to, and notes in
 * it what is proved, as far as it is not known from what the node keeps.
 * Returns EXIT_*, after printing what is wrong. */
int cli_verify_order(const struct cli_options *, const struct policy *,
                     struct plan_record *, struct arena *);

/* Has this been done, or would it be? */
enum cli_mood {
    CLI_DONE,
    CLI_WOULD,
};

void cli_print_diff(const char *node, const char *bridge,
                    const struct push_diff *, enum cli_mood);
void cli_print_warnings(const char *bridge, const struct push_diff *);
void cli_print_generation(const struct push_diff *);

/* Print the generation that is kept as the last, or add it to an object.
 * 'intent' is the hash of one that it is compared with, or NULL. */
void cli_print_kept(const struct plan_record *kept,
                    const generation_vec *generations, const char *intent);
void cli_put_kept(struct json *, uint64_t generation,
                  const struct plan_record *kept,
                  const generation_vec *generations);
struct json *cli_diff_json(const char *node, const char *bridge,
                           const struct push_diff *);

/* Prints what apply would do with the order, which is of the policy; that may
 * be NULL, if nothing is asked of offload. */
int cli_plan(const struct cli_options *, const struct policy *,
             struct plan_record *, struct arena *);

/* The end of such a command: writes the order to --output for apply, and says
 * by the exit status whether that 'differs' from what is held. */
int cli_end_plan(const struct cli_options *, struct plan_record *,
                 bool differs, struct arena *);

/* Prints what the meters of the plan's target do not keep. */
void cli_print_differences(const struct plan *);

/* The same commands for OVN's northbound database, which the target is for. */
bool cli_is_fabric(const struct cli_options *);
int cli_nb_plan(const struct cli_options *, struct plan_record *,
                struct arena *);
int cli_nb_apply(const struct cli_options *, const struct plan_record *,
                 struct arena *);
int cli_nb_status(const struct cli_options *);
int cli_nb_rollback(const struct cli_options *);
int cli_nb_clear(const struct cli_options *);

/* If standard input is a terminal, waits for Enter, which confirms
 * 'generation', or until that is decided otherwise.  Returns EXIT_*. */
int cli_await(const struct push_target *, uint64_t generation);

/* Is the bridge held, as by a bulkheadd, which waits for interfaces that are
 * not there?  Whoever applies a plan holds it for that long, too. */
bool cli_is_kept(const struct cli_options *, struct arena *);

/* Leaves out the endpoints of the node whose interfaces the bridge lacks, and
 * says so.  Returns EXIT_*. */
int cli_leave_out(const struct cli_options *, const struct policy *,
                  struct arena *);

/* Begins to read what cli_resolve() needs, while the intent is read. */
void cli_attach_expect(const struct cli_options *, struct arena *);

/* The policy of the intent, with what interfaces of the bridge say of
 * endpoints; with --partial, without what of that makes it wrong, which is
 * said.  NULL after adding an error to the diags if it is wrong. */
const struct policy *cli_resolve(const struct cli_options *,
                                 const struct intent *, struct arena *,
                                 struct diags *);

/* What is unchecked where the parts of an intent are wrong. */
#define CLI_UNCHECKED "names and conflicts"

/* Of the bulkheadd that keeps the bridge, if one does: lets it keep what it
 * has applied, prints how it is, returns that as JSON, says whether all is as
 * intended, as it is if there is none, or whether it answers; or asks, and
 * returns the answer, in the arena, or NULL after storing what refuses it or
 * printing what is wrong. */
void cli_agent_save(const struct cli_options *, struct arena *);
void cli_agent_print(const struct cli_options *, struct arena *);
struct json *cli_agent_json(const struct cli_options *, struct arena *);
bool cli_agent_is_well(const struct cli_options *, struct arena *);
bool cli_agent_answers(const struct cli_options *, struct arena *);
const char *cli_agent_ask(const char *socket, const char *command,
                          const char *const argv[], size_t n,
                          long long int deadline, struct arena *,
                          const char **refusal);

int cmd_plan(const struct cli_options *);
int cmd_confirm(const struct cli_options *);
int cmd_rollback(const struct cli_options *);
int cmd_attach(const struct cli_options *);
int cmd_detach(const struct cli_options *);
int cmd_apply(const struct cli_options *);
int cmd_clear(const struct cli_options *);
int cmd_status(const struct cli_options *);
int cmd_compile(const struct cli_options *);
int cmd_trace(const struct cli_options *);
int cmd_explain(const struct cli_options *);
int cmd_fmt(const struct cli_options *);
int cmd_import(const struct cli_options *);
int cmd_drops(const struct cli_options *);
int cmd_offload(const struct cli_options *);
int cmd_verify(const struct cli_options *);
int cmd_bursts(const struct cli_options *);
int cmd_top(const struct cli_options *);
int cmd_metrics(const struct cli_options *);

#endif /* cli/cli.h */
