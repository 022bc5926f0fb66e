/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Random intents and random packets, and judges that must agree about them:
 * the reference meaning (sema/meaning.h), the compiled flows in Open vSwitch's
 * classifier (tables.h), and "ofproto/trace" on a live switch (live.h).  A
 * failure prints the smallest intent that still shows it. */

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "openvswitch/vlog.h"
#include "other.h"
#include "outcome.h"
#include "questions.h"
#include "sample.h"
#include "relay.h"
#include "sema/ident.h"
#include "sema/meaning.h"
#include "tables.h"
#include "tally.h"
#include "util.h"
#include "world.h"

struct options {
    uint64_t seed;
    size_t packets, traces;     /* To ask about. */
    const char *db, *unixctl, *bridge;  /* Of the live switch. */
    size_t worlds;              /* Not 0: only print a sample of so many. */
    bool floor;                 /* What never occurs is a failure. */
};

enum { PACKETS_AN_INTENT = 200, TRACES_AN_INTENT = 50 };

/* The tables of all targets that are a bridge. */
struct judges {
    struct tables *tables;
    struct other others[N_OTHERS];
};

static void
judges_destroy(struct judges *judges)
{
    tables_destroy(judges->tables);
    others_destroy(judges->others);
}

/* Compiles 'w' and loads it into a judge: the tables if 'live' is NULL, else
 * the switch.  Returns NULL, or what is wrong (in the arena of 'c'). */
static const char *
load(const struct world *w, struct live *live, struct compiled *c,
     struct judges *judges)
{
    const char *reason;

    memset(judges, 0, sizeof *judges);
    world_compile(w, c);
    if (!c->policy) {
        return "the intent contradicts itself";
    }
    compiled_lower(c, WORLD_NODE);
    reason = world_check(w, c);
    if (reason || live) {
        return reason ? reason : live_load(live, &c->plan);
    }
    judges->tables = tables_create(c->prog, &c->plan, &reason);
    reason = reason ? reason : others_init(judges->others, c);
    return reason ? reason : compiled_reprint(c);
}

/* Asks one question, and the other node about what goes there.  Returns NULL
 * if the judges agree. */
static const char *
differ(struct compiled *c, const struct judges *judges, struct live *live,
       struct relay *relay, const struct question *q, struct outcome *o)
{
    const char *difference;

    if (live) {
        live_run(live, c, q, o);
    } else {
        tables_run(judges->tables, q, o);
    }
    difference = outcome_compare(c, q, o, c->arena);
    if (!difference && !live) {
        difference = others_compare(judges->others, c, q, o, c->arena);
    }
    return difference || live ? difference : relay_compare(relay, c, q, o);
}

/* Does the same question still make a difference in 'w'? */
static bool
still_differs(const struct world *w, struct live *live,
              const struct question *q)
{
    struct compiled c;
    struct judges judges;
    struct outcome o;
    struct relay relay;

    relay_init(&relay, w);
    bool differs = (!load(w, live, &c, &judges)
                    && (q->tunnel || q->external[0]
                        || compiled_endpoint(&c, q->from))
                    && differ(&c, &judges, live, &relay, q, &o));

    relay_destroy(&relay);
    judges_destroy(&judges);
    compiled_destroy(&c);
    return differs;
}

/* Makes the question as plain as it can be and still make a difference. */
static void
shrink_question(struct world *w, struct live *live, struct question *q)
{
    struct question plainer;

    for (size_t i = 0; question_simplify(q, i, &plainer); i++) {
        if (memcmp(&plainer, q, sizeof plainer)
            && still_differs(w, live, &plainer)) {
            *q = plainer;
        }
    }
}

/* Leaves out what 'w' does not need to make a difference. */
static void
shrink_world(struct world *w, struct live *live, const struct question *q)
{
    bool again = true;

    while (again) {
        again = false;
        for (int i = 0; i < world_n_parts(w); i++) {
            bool *part = world_part(w, i);

            if (!*part) {
                *part = true;
                if (still_differs(w, live, q)) {
                    again = true;
                } else {
                    *part = false;
                }
            }
        }
    }
}

static void
report(struct world *w, struct live *live, struct question *q)
{
    struct compiled c;
    struct judges judges;
    struct outcome o;
    const char *difference;
    struct relay relay;

    shrink_world(w, live, q);
    shrink_question(w, live, q);
    relay_init(&relay, w);
    difference = load(w, live, &c, &judges);
    printf("not ok - seed %"PRIu64", %s\nintent:\n%s", w->seed,
           live ? "ofproto/trace" : "tables", c.text);
    if (!difference) {
        difference = differ(&c, &judges, live, &relay, q, &o);
        printf("from:    %s%s, connection %s, in the receiver's zone %s\n"
               "packet:  %s\nmeaning: %s\nswitch:  %s\n", q->from,
               q->tunnel ? " by tunnel" : q->external,
               connection_name(q->connection), connection_name(q->beyond),
               question_text(q, c.arena), meaning_text(&c, q, c.arena),
               outcome_text(&o, c.arena));
    }
    printf("so:      %s\n", difference ? difference : "this time they agree");
    relay_destroy(&relay);
    judges_destroy(&judges);
    compiled_destroy(&c);
}

/* Judges up to 'n' packets in the world of 'seed'.  Returns false after
 * reporting a difference. */
static bool
try_world(uint64_t seed, size_t n, struct live *live, struct tally *tally)
{
    struct world w;
    struct compiled c;
    struct judges judges;
    struct rng rng = { ~seed };
    struct relay relay;
    const char *reason;
    struct question q;
    bool ok = true;

    world_init(&w, seed);
    relay_init(&relay, &w);
    reason = load(&w, live, &c, &judges);
    if (reason) {
        printf("not ok - seed %"PRIu64", %s\nintent:\n%s", seed, reason,
               c.text);
        ok = false;
    }
    for (size_t i = 0; i < n && ok; i++) {
        struct outcome o;

        question_init(&q, c.policy, &rng);
        if (live) {
            question_restrict(&q);
            q.full = false;     /* A trace takes every commit for done. */
        }
        ok = !differ(&c, &judges, live, &relay, &q, &o);
        if (!ok) {
            report(&w, live, &q);
        }
        tally_count(tally, &c, &q);
    }
    tally->intents++;
    tally->flows += c.plan.flows.n;
    relay_destroy(&relay);
    judges_destroy(&judges);
    compiled_destroy(&c);
    return ok;
}

/* Judges 'n' packets in as many worlds as that takes. */
static bool
try_all(const struct options *options, size_t n, size_t n_each,
        struct live *live)
{
    struct tally tally;
    const char *judge = live ? "ofproto/trace" : "tables";

    printf("# seed %"PRIu64", %s\n", options->seed, judge);
    tally_init(&tally, live);
    for (uint64_t seed = options->seed; tally.packets < n; seed++) {
        if (!try_world(seed, MIN(n_each, n - tally.packets), live, &tally)) {
            return false;
        }
    }
    tally_print(&tally, judge);
    return !options->floor || tally_is_complete(&tally, judge);
}

static void
parse_options(int argc, char *argv[], struct options *options)
{
    static const struct option long_options[] = {
        { "seed", required_argument, NULL, 's' },
        { "packets", required_argument, NULL, 'p' },
        { "traces", required_argument, NULL, 't' },
        { "db", required_argument, NULL, 'd' },
        { "unixctl", required_argument, NULL, 'u' },
        { "bridge", required_argument, NULL, 'b' },
        { "floor", no_argument, NULL, 'f' },
        { "sample", required_argument, NULL, 'S' },
        { NULL, 0, NULL, 0 },
    };

    for (;;) {
        switch (getopt_long(argc, argv, "", long_options, NULL)) {
        case -1: return;
        case 's': options->seed = strtoull(optarg, NULL, 10); break;
        case 'p': options->packets = strtoul(optarg, NULL, 10); break;
        case 't': options->traces = strtoul(optarg, NULL, 10); break;
        case 'd': options->db = optarg; break;
        case 'u': options->unixctl = optarg; break;
        case 'b': options->bridge = optarg; break;
        case 'f': options->floor = true; break;
        case 'S': options->worlds = strtoul(optarg, NULL, 10); break;
        default:
            fputs("usage: differential [--seed=N] [--floor] [--sample=N] "
                  "[--packets=N]\n    [--traces=N --db=DB --unixctl=SOCKET "
                  "--bridge=BRIDGE]\n", stderr);
            exit(2);
        }
    }
}

int
main(int argc, char *argv[])
{
    struct options options = { .seed = 1, .bridge = "br0" };
    bool ok = true;

    ovs_set_program_name(argv[0], PACKAGE_VERSION);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    setvbuf(stdout, NULL, _IOLBF, 0);
    parse_options(argc, argv, &options);
    if (options.worlds) {
        sample_print(options.seed, options.worlds, options.packets);
        return 0;
    }
    if (options.packets) {
        ok = try_all(&options, options.packets, PACKETS_AN_INTENT, NULL);
    }
    if (options.traces) {
        const char *reason;
        struct live *live = live_open(options.db, options.unixctl,
                                      options.bridge, &reason);

        if (!live) {
            printf("not ok - %s\n", reason);
            return 1;
        }
        ok = try_all(&options, options.traces, TRACES_AN_INTENT, live) && ok;
        live_close(live);
    }
    return ok ? 0 : 1;
}
