/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_KEEP_PRIVATE_H
#define PUSH_KEEP_PRIVATE_H 1

/* Between keep.c, which follows the switch and repairs; keep-bridge.c, the
 * database; keep-session.c, which connects; keep-plan.c, which takes plans and
 * their changes; keep-out.c, which cuts off interfaces; and keep-undo.c, which
 * takes back what is refused. */

#include "openvswitch/token-bucket.h"
#include "push/keep.h"
#include "push/run.h"
#include "push/watch.h"
#include "sset.h"
#include "svec.h"

enum {
    KEEPER_CHECK_MS = 500,      /* Between two looks at the meters. */
    KEEPER_RETRY_MS = 1000,     /* After a failure, if nothing is new. */
    KEEPER_MAX_RETRY_MS = 10000,        /* After many refusals in a row. */
    KEEPER_MONITOR_MS = 1000,   /* For the beginning of a session. */
    KEEPER_LIMITS_MS = 1000,    /* For one look at limits... */
    KEEPER_LIMITS_RETRY_MS = 5000,      /* ...and after one that failed. */
    KEEPER_MAX_ATTACHED = 1000, /* Changes of attachments between two readings
                                 * of all interfaces. */
    KEEPER_REPAIR_COST = 200,   /* In tokens, of which a millisecond has one:
                                 * five repairs a second... */
    KEEPER_REPAIR_BURST = 4000, /* ...after twenty at once. */
};

struct keeper {
    struct push_target target;
    struct database *db;
    struct reconnect *fsm;
    struct session *connecting; /* That is not open yet, or NULL. */
    struct push push;           /* 'wanted' and 'live' are as of now; 'arena'
                                 * and 'diff' those of the last step. */
    struct push_diff diff;
    struct arena *arena;
    struct plan plan;           /* Its meters, ports and tunnel. */
    bool whole;                 /* Is 'wanted' all of a plan... */
    bool owed;                  /* ...but not of the last one? */
    bool accepted;              /* Has the switch taken it? */
    char *refusal;              /* Why it has not taken a later one, or NULL:
                                 * 'wanted' is what it had taken before. */
    long long int plan_at;      /* When that is to be tried again... */
    int retry_ms;               /* ...and so long after the next refusal. */
    struct arena *plan_arena;
    struct arena *info_arena;   /* Holds 'push.info'. */
    unsigned int info_seqno;    /* 0: nothing is known. */
    char *no_bridge;            /* Why there is none, as the database says, or
                                 * NULL. */
    unsigned int n_attached;    /* Changes in that arena. */
    struct ofputil_port_map ports;      /* All that wanted flows may name. */
    struct svec withdrawn;      /* Flows that would be wanted, but for their
                                 * interfaces. */

    bool live_known;            /* Has 'live' been read? */
    long long int hidden;       /* See watch_answer(); -1: not known yet. */
    bool miscounted;            /* Was it another number the last time? */
    bool asked;                 /* Does a watch_ask() wait for its answer... */
    long long int asked_until;  /* ...and how long? */
    bool wants_plan;            /* Are 'wanted' and 'live' not compared? */
    struct watch watch;         /* What is to be compared. */
    long long int next_check, next_try;
    char *blind;                /* Why limits cannot be read, or NULL... */
    long long int limits_at;    /* ...and when that is tried again. */
    char *trouble;
    struct keeper_counts counts;
    struct token_bucket repairs;        /* Against who undoes them. */
};

/* What was wanted before a change, for as long as that may be refused. */
struct keep_before {
    bool all;                   /* Is 'wanted' all of it?  Else it is what is
                                 * wanted now, ... */
    struct switch_state wanted;
    struct svec olds, news;     /* ...with these flows, without those. */
    struct sset admitted;       /* As whom the change lets in whom, ... */
    bool judged;                /* ...if it is a plan of its own. */
    bool whole_put;             /* Is it no change, but a plan, or the same? */
    struct svec withdrawn;
    struct plan plan;           /* If there is 'plan_arena'. */
    struct arena *plan_arena;
    bool whole, accepted;
};

/* To be called before anything of it changes; before 'flow', of the change,
 * is made wanted or unwanted; and at last. */
void before_init(struct keep_before *, const struct keeper *);
void before_flow(struct keep_before *, const struct keeper *,
                 const struct flow_entry *flow);

/* A flow of that text, or all of a plan, is wanted from now on. */
void before_admits(struct keep_before *, const char *text);
void before_judge(struct keep_before *, const struct plan *);
void before_destroy(struct keep_before *);

/* Brings back what was wanted, as far as 'keeper' is concerned.  Returns NULL,
 * or why it cannot be. */
const char *before_restore(struct keep_before *, struct keeper *);

/* The change has failed.  If the switch, or what it is set to, has refused it,
 * goes on with what it had taken before, less what is to be cut off at once:
 * interfaces that the change lets in no more, or as others, and those of
 * 'without', which may be NULL. */
void keeper_take_back(struct keeper *, struct keep_before *,
                      const char *reason, const struct sset *without);

/* Begins a step. */
void keeper_begin(struct keeper *);

/* Sends what was compared.  Returns NULL, or why that has failed. */
const char *keeper_send(struct keeper *);

/* The same, and returns false after keeper_fail(), and after sending the
 * deletions alone, if the switch refuses it, or is unfit. */
bool keeper_carry_out(struct keeper *);
void keeper_send_deletes(struct keeper *);

/* Reads what the switch holds, if that is not known yet.  Returns NULL, or why
 * it cannot be. */
const char *keeper_read_live(struct keeper *);

/* Takes the numbers that interfaces have now. */
void keeper_take_ports(struct keeper *);

/* Adds the interfaces of the plan that are not there, and that of tunnels.
 * (keep-out.c) */
void keeper_find_gone(const struct keeper *, const struct plan *,
                      struct sset *gone);

/* All packets of an interface are let in, or not, by this table. */
enum { KEEPER_ADMIT = 0 };

/* Makes all flows unwanted that name one of the interfaces.  (keep-out.c) */
void keeper_leave_out(struct keeper *, const struct sset *interfaces);

/* Of a bridge that takes nothing, and has taken nothing that is known: lets in
 * nobody, and sends to nobody, whom the plan does not, or as another.
 * (keep-out.c) */
void keeper_close_off(struct keeper *);

/* Something has been sent, and taken. */
void keeper_note_push(struct keeper *);

/* Notes why the bridge may not hold the plan; NULL: it does. */
void keeper_set_trouble(struct keeper *, const char *reason);

/* Notes why the switch does not take the last plan; NULL: it has. */
void keeper_set_refusal(struct keeper *, const char *reason);

/* Follows what the database says of the bridge.  (keep-bridge.c) */
void keeper_follow_database(struct keeper *);

/* Follows the session with the switch.  (keep-session.c) */
void keeper_connect(struct keeper *);
void keeper_connect_wait(struct keeper *);

/* The step has failed.  What the switch refuses may go next time; for all
 * else, and where it is not known what it holds, the session ends. */
void keeper_fail(struct keeper *, const char *reason);

void keeper_disconnect(struct keeper *, int error);

#endif /* push/keep-private.h */
