/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/diag.h"
#include "cli/report.h"
#include "dirs.h"
#include "intent/files.h"
#include "intent/intent.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "plan/plan.h"
#include "plan/record.h"
#include "sema/check.h"
#include "sema/policy.h"
#include "util.h"

enum { DEFAULT_TIMEOUT = 10 };  /* Seconds. */

void
cli_print_error(const char *reason)
{
    for (const char *line = reason; *line; line += *line == '\n') {
        int n = strcspn(line, "\n");

        fprintf(stderr, "bulkhead: %.*s\n", n, line);
        line += n;
    }
}

void
cli_reserve_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            ignore(open("/dev/null", fd == STDIN_FILENO ? O_WRONLY
                        : O_RDONLY));
        }
    }
}

int
cli_flush(void)
{
    static int error;
    bool ok = !fflush(stdout) && !ferror(stdout);

    error = ok || error ? error : errno;
    return error;
}

const char *
cli_intent_title(const struct cli_options *options)
{
    return options->n_intent == 1 ? options->intent[0] : "the intent";
}

/* Exits if the intent has no node of the name that --node says. */
static void
check_node(const struct policy *policy, const struct cli_options *options)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        if (!strcmp(policy->intent->nodes.v[i].name.s, options->node)) {
            return;
        }
    }
    fprintf(stderr, "bulkhead: %s knows no node '%s', only:",
            cli_intent_title(options), options->node);
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        fprintf(stderr, " %s", policy->intent->nodes.v[i].name.s);
    }
    putc('\n', stderr);
    exit(EXIT_USAGE);
}

/* Returns false after adding an error for each file that is no intent but a
 * plan that was saved. */
static bool
check_files(const intent_files *files, struct diags *diags)
{
    bool ok = true;

    for (size_t i = 0; i < files->n; i++) {
        const struct source *source = files->v[i].source;

        if (plan_record_is(source->text, source->len)) {
            struct diag *d = diag_error(
                diags, (struct span) { source, 0, 0 }, NULL,
                "this is a saved plan, not an intent");

            diag_remedy(diags, d, "give it to 'bulkhead apply' alone, which "
                        "carries it out");
            ok = false;
        }
    }
    return ok;
}

static const struct policy *
load_policy(const struct cli_options *options, struct arena *arena,
            bool warns)
{
    const struct policy *policy = NULL;
    const struct intent *intent;
    intent_files files = VEC_INIT;
    struct diags diags;

    diags_init(&diags, arena);
    cli_attach_expect(options, arena);
    if (intent_read(options->intent, options->n_intent, arena, &diags,
                    &files)
        && check_files(&files, &diags)) {
        intent = intent_parse_files(files.v, files.n, arena, &diags);
        if (intent) {
            policy = cli_resolve(options, intent, arena, &diags);
        } else {
            diags.unchecked = CLI_UNCHECKED;
        }
    }
    if (!policy || warns) {
        report_diags(&diags);
    }
    if (policy && options->node) {
        check_node(policy, options);
    }
    return policy;
}

const struct policy *
cli_load_policy(const struct cli_options *options, struct arena *arena)
{
    return load_policy(options, arena, true);
}

const struct policy *
cli_consult_policy(const struct cli_options *options, struct arena *arena)
{
    return load_policy(options, arena, false);
}

struct ir_prog *
cli_load_prog(const struct cli_options *options, struct arena *arena)
{
    const struct policy *policy = cli_load_policy(options, arena);

    return policy ? ir_build(policy, options->node, arena) : NULL;
}

bool
cli_compile_prog(struct ir_prog *prog, const struct backend *backend,
                 struct arena *arena, struct plan *plan)
{
    struct diags diags;
    bool ok;

    diags_init(&diags, arena);
    ok = backend_compile(backend, prog, arena, &diags, plan);
    report_diags(&diags);
    if (plan->conflict) {
        cli_print_error(arena_printf(arena, "two flows contradict each other, "
                                     "which is a bug of Bulkhead's; nothing "
                                     "was done: %s", plan->conflict));
        return false;
    }
    return ok;
}

bool
cli_compile(const struct cli_options *options, const struct policy *policy,
            struct arena *arena, struct plan *plan)
{
    return cli_compile_prog(ir_build(policy, options->node, arena),
                            options->target ? options->target : backends[0],
                            arena, plan);
}

bool
cli_load_plan(const struct cli_options *options, struct arena *arena,
              struct plan *plan)
{
    const struct policy *policy = cli_load_policy(options, arena);

    return policy && cli_compile(options, policy, arena, plan);
}

static void
report_unbound(const plan_names *names)
{
    report_names("unbound, so they match nothing", names->v, names->n);
}

void
cli_print_left_out(const struct plan *plan)
{
    report_unbound(&plan->unbound);
    report_names("on other nodes that no tunnel reaches", plan->elsewhere.v,
                 plan->elsewhere.n);
}

static int
cmd_check(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    plan_names unbound = VEC_INIT;
    const struct policy *policy;
    struct plan plan;
    bool right;

    if (options->format == FORMAT_JSON) {
        report_as_json();
    }
    policy = cli_load_policy(options, arena);
    right = policy && (!options->node
                       || cli_compile(options, policy, arena, &plan));
    for (size_t i = 0; policy && i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            if (!tenant->endpoints.v[j]->bound
                && !legacy_uplink(tenant->endpoints.v[j])) {
                *vec_push(arena, &unbound) = tenant->endpoints.v[j]->name;
            }
        }
    }
    report_unbound(&unbound);
    report_end();
    arena_destroy(arena);
    return right ? EXIT_DONE : EXIT_WRONG;
}

const char *
cli_state_folder(void)
{
    const char *folder = getenv("BULKHEAD_STATEDIR");

    return !folder ? STATEDIR : folder[0] ? folder : NULL;
}

struct push_target
cli_target(const struct cli_options *options, struct arena *arena)
{
    return (struct push_target) {
        .db = (options->db ? options->db
               : arena_printf(arena, "unix:%s/db.sock", ovs_rundir())),
        .bridge = options->bridge,
        .state = cli_state_folder(),
        .timeout_ms = 1000 * (options->timeout ? options->timeout
                              : DEFAULT_TIMEOUT),
    };
}

const struct cli_command cli_commands[] = {
    { "check", OPTION_NODE | OPTION_FORMAT, cmd_check,
      "INTENT... [--node=NODE]",
      "say whether the intent is right, and if not, where; with a node, also\n"
      "      whether its switch can do it and has room for it" },
    { "compile", OPTION_NODE | NODE_REQUIRED | OPTION_OUTPUT | OPTION_VERBOSE
      | OPTION_TARGET | OPTION_DUMP | OPTION_FORMAT, cmd_compile,
      "INTENT... --node=NODE [--target=TARGET] [-o DIR] [-v] [--dump=STAGE]",
      "write flows.txt, meters.txt, ovs-vsctl.sh and manifest.json; for a\n"
      "      node with DPDK, also dpdk.sh, with legacy VFs, vf.sh; for the\n"
      "      target asap2, also devlink.sh and dcb.sh; for kernel, qos.sh;\n"
      "      for text, policy.txt: who may reach whom; for ovn,\n"
      "      ovn-nbctl.sh and ovn-nb.json" },
    { "plan", OPTION_NODE | NODE_REQUIRED | OPTION_BRIDGE | BRIDGE_REQUIRED
      | OPTION_SWITCH | OPTION_FORMAT | OPTION_OUTPUT | OPTION_EXIT_CODE
      | OPTION_PARTIAL | OPTION_TARGET | OPTION_PROFILE, cmd_plan,
      "INTENT... --node=NODE --bridge=BRIDGE [--partial] [-o FILE]\n"
      "           [--exit-code] [--profile=PROFILE], or\n"
      "           INTENT... --target=ovn [-o FILE] ...",
      "say what apply would change on the bridge: tenants, endpoints, rules\n"
      "      and bandwidth; with a profile, what offload it would lose; -o\n"
      "      saves it for apply" },
    { "apply", OPTION_NODE | OPTION_BRIDGE | OPTION_SWITCH | OPTION_FORMAT
      | OPTION_DRY_RUN | OPTION_PARTIAL | OPTION_CONFIRM | OPTION_TARGET
      | OPTION_PROFILE, cmd_apply,
      "INTENT... --node=NODE --bridge=BRIDGE [--partial]\n"
      "           [--verify[=TIME]|--no-verify] [--confirm=TIME]\n"
      "           [--dry-run] [--profile=PROFILE], or\n"
      "           INTENT... --target=ovn [--dry-run], or apply PLAN",
      "make the bridge, or OVN's northbound database, hold the intent, or\n"
      "      the saved plan, in one step; on a bridge of the userspace\n"
      "      datapath, if its flows are proved to do what the intent means;\n"
      "      with a profile, only if all rules would be in hardware" },
    { "confirm", OPTION_BRIDGE | BRIDGE_REQUIRED | INTENT_NONE, cmd_confirm,
      "--bridge=BRIDGE",
      "keep what apply --confirm has done, which else goes back" },
    { "rollback", OPTION_NODE | OPTION_BRIDGE | BRIDGE_REQUIRED
      | OPTION_SWITCH | OPTION_TO | OPTION_TARGET | INTENT_NONE, cmd_rollback,
      "--bridge=BRIDGE [--to=GENERATION] [--node=NODE], or --target=ovn ...",
      "make the bridge hold again what was applied before" },
    { "attach", OPTION_BRIDGE | BRIDGE_REQUIRED | OPTION_SWITCH
      | OPTION_INTERFACE | INTENT_NONE, cmd_attach,
      "TENANT/ENDPOINT --bridge=BRIDGE --interface=INTERFACE [--mac=MAC]\n"
      "           [--addresses=ADDRESS,...]",
      "let an interface say in the database whose it is, and say whether the\n"
      "      bulkheadd that keeps the bridge has taken it", "an endpoint" },
    { "detach", OPTION_BRIDGE | BRIDGE_REQUIRED | OPTION_SWITCH | INTENT_NONE,
      cmd_detach, "TENANT/ENDPOINT --bridge=BRIDGE",
      "let no interface say so any more", "an endpoint" },
    { "status", OPTION_NODE | OPTION_BRIDGE | BRIDGE_REQUIRED | OPTION_SWITCH
      | OPTION_VERBOSE | OPTION_FORMAT | OPTION_TARGET | OPTION_PROFILE
      | INTENT_OPTIONAL, cmd_status,
      "[INTENT... --node=NODE] --bridge=BRIDGE [-v]\n"
      "           [--profile=PROFILE], or [INTENT...] --target=ovn [-v]",
      "say whether the bridge holds the intent, or without one, what was\n"
      "      applied last; with -v, what differs; with a profile, what of\n"
      "      each tenant is offloaded, and what of it was predicted" },
    { "clear", OPTION_BRIDGE | BRIDGE_REQUIRED | OPTION_SWITCH | OPTION_TARGET
      | INTENT_NONE, cmd_clear,
      "--bridge=BRIDGE, or --target=ovn ...",
      "take Bulkhead's flows and meters off the bridge, or its rows out of\n"
      "      OVN's northbound database, and nothing else" },
    { "trace", OPTION_NODE | OPTION_FROM | OPTION_STATE | OPTION_FORMAT,
      cmd_trace,
      "INTENT... --from=TENANT/ENDPOINT|external:NAME|tunnel:NODE:VNI "
      "PACKET",
      "say what the intent means for a packet, and which rule decides;\n"
      "      PACKET is as in 'tcp,nw_dst=10.1.0.11,tp_dst=443', and what it\n"
      "      leaves out is filled in as the endpoint would", "a packet" },
    { "explain", OPTION_FORMAT | INTENT_OPTIONAL, cmd_explain,
      "[INTENT...] COOKIE",
      "say what a flow's cookie means: the rule of the intent and where it\n"
      "      stands, or why packets are dropped where no rule says so",
      "a cookie" },
    { "drops", OPTION_NODE | OPTION_BRIDGE | BRIDGE_REQUIRED | OPTION_SWITCH
      | OPTION_FORMAT | OPTION_CSV | OPTION_VERBOSE | INTENT_OPTIONAL,
      cmd_drops,
      "[INTENT... --node=NODE] --bridge=BRIDGE [-v]",
      "count what the bridge's flows and meters of Bulkhead's have dropped,\n"
      "      and why; with the intent, by which rule", NULL },
    { "offload", OPTION_NODE | NODE_REQUIRED | OPTION_PROFILE | OPTION_FORMAT
      | OPTION_OUTPUT | OPTION_TARGET | OPTION_EXIT_CODE, cmd_offload,
      "INTENT... --node=NODE --profile=PROFILE [--target=TARGET] [-o FILE]\n"
      "           [--exit-code]",
      "say of every rule whether a NIC of that profile would do it, and why\n"
      "      not, as the target asap2, kernel or userspace has it; filters\n"
      "      that it would hold go to the file, as 'tc -batch' takes them,\n"
      "      or dpdk-testpmd", NULL },
    { "verify", OPTION_NODE | NODE_REQUIRED | OPTION_BRIDGE | OPTION_SWITCH
      | OPTION_FLOWS | OPTION_TENANT | OPTION_FORMAT, cmd_verify,
      "INTENT... --node=NODE [--flows=FILE | --bridge=BRIDGE]\n"
      "           [--tenant=TENANT,...]",
      "prove that flows do what the intent means, for every packet, or for\n"
      "      all from and to some tenants: the flows of the file, or those\n"
      "      that the bridge holds, or of compile; or show a packet, its way\n"
      "      and its trace", NULL },
    { "bursts", OPTION_NODE | OPTION_TELEMETRY | OPTION_TENANT | OPTION_PORT
      | OPTION_RECORD | OPTION_REPLAY | OPTION_FORMAT | OPTION_CSV
      | INTENT_OPTIONAL, cmd_bursts,
      "[INTENT... --node=NODE] [--since=TIME] [--tenant=TENANT]\n"
      "           [--port=PORT] [--record=FILE|--replay=FILE]",
      "list the bursts of the switch's ports, and whose packets filled the\n"
      "      queue; --record writes all to a file as they come", NULL },
    { "top", OPTION_NODE | OPTION_TELEMETRY | OPTION_TENANT | OPTION_PORT
      | OPTION_REPLAY | OPTION_ONCE | INTENT_OPTIONAL, cmd_top,
      "[INTENT... --node=NODE] [--tenant=TENANT] [--port=PORT]\n"
      "           [--interval=TIME] [--once] [--replay=FILE]",
      "show what each tenant sends to each port now, and whose bursts there\n"
      "      are", NULL },
    { "metrics", OPTION_NODE | OPTION_TELEMETRY | OPTION_ONCE | OPTION_LISTEN
      | INTENT_OPTIONAL, cmd_metrics,
      "[INTENT... --node=NODE] [--listen=[ADDRESS:]PORT|--once]",
      "serve what tenants send and their bursts to Prometheus, over HTTP",
      NULL },
    { "fmt", OPTION_WRITE, cmd_fmt,
      "FILE... [--check|-w]",
      "print files of an intent in one layout, whatever theirs; -w writes it\n"
      "      to them, --check names those that have another", NULL },
    { "import", OPTION_IMPORT | INTENT_OPTIONAL, cmd_import,
      "k8s FILE... [--tenant-per=cluster|namespace], or ovn FILE...",
      "print the intent of the NetworkPolicy, Namespace and Pod objects that\n"
      "      'kubectl get -o json' has printed into files, or of OVN's\n"
      "      tables that 'ovsdb-client -f json dump' has", NULL },
    { NULL, 0, NULL, NULL, NULL },
};
