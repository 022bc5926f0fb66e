/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_COMPARE_H
#define VERIFY_COMPARE_H 1

/* Are effects what was expected? */

#include "verify/memo.h"
#include "verify/verify.h"

/* What the tables use for whom: the value of most packets counts. */
enum use_kind {
    USE_ZONE,                 /* Of a tenant. */
    USE_MARK,                 /* Of a zone. */
    USE_NUMBER,               /* Of an endpoint, as a side: see exec_cut(). */
    USE_VIEW,                 /* Of a question, instead of a zone: that of
                               * other fields. */
    USE_COUNTER,              /* The meter of a tenant's packets. */
    USE_SEND, USE_RECEIVE,    /* The meter of a tenant by an uplink, or of an
                               * endpoint. */
    USE_DSCP_IN,              /* That of a tenant's packets of a class that
                               * keep their DSCP. */
    USE_TAG,                  /* The meter that lets all pass, for the
                               * tenant's tag. */
};

struct usage {
    struct hmap_node node;      /* In 'usages', of the first for the same. */
    struct usage *next;         /* Another value for the same. */
    enum use_kind kind;
    const void *tenant, *endpoint, *uplink, *class;
    bool limit;                 /* Of two meters the one that keeps the
                                 * tenant's limit. */
    uint64_t zone;              /* Of USE_MARK. */
    uint64_t value;
    size_t n;                   /* So many times. */
};

struct comparison {
    const struct verify_task *task;
    struct arena *arena;
    struct effects *effects;
    struct terms *terms;
    struct judge *judge;
    const struct intent_node *node;
    struct hmap usages;         /* Contains "struct usage"s. */
    struct memo numbers;        /* Of meters, by what they are for. */
    struct memo meters;         /* By id: are they there? */
    struct memo outs;           /* Packets as they are to arrive, leaves of
                                 * their numbers; as long as 'effects'. */
    bool disputed;              /* Two values are used for the same. */
    ofp_port_t tunnel;
    bool voting;                /* Usages are being counted. */
};

void comparison_init(struct comparison *, const struct verify_task *,
                     const struct intent_node *, struct arena *);
void comparison_destroy(struct comparison *);

/* Counts it once; or usage->n times. */
void usage_vote(struct comparison *, const struct usage *);
void usage_count(struct comparison *, const struct usage *);

/* Is it what most use?  Or, while voting, from now on. */
bool usage_is_usual(struct comparison *, struct usage);

/* The value that most use for the same; false if there is none. */
bool usage_winner(const struct comparison *, const struct usage *,
                  uint64_t *value);

/* The first two that use the same value where they must not, or NULL. */
const char *usages_shared(const struct comparison *);

/* Is the usage one that others must not have? */
static inline bool
usage_is_exclusive(const struct usage *u)
{
    return u->kind != USE_NUMBER && u->kind != USE_VIEW;
}

/* Returns NULL if the effects are those that were expected, else how not, and
 * of what kind that is.  While 'voting' only usages are counted. */
const char *compare_effects(struct comparison *, dd_t effects,
                            const struct expect *, enum verify_kind *);

/* Returns NULL if the cookie is of one of the rules, or if there are none of
 * the reason; else so. */
const char *compare_rule(const struct comparison *, uint64_t cookie,
                         uint32_t rules, uint32_t reason);

/* Takes off both, before they are bound, who decides, if it is who is meant:
 * so what differs in that only need be compared once. */
void compare_settle(struct comparison *, dd_t *effects, dd_t *expect);

/* Returns NULL if a packet, or a copy of it, passes the meters that are meant,
 * else how not. */
const char *compare_meters(struct comparison *, const uint64_t meters[],
                           size_t n_meters, const struct expect *,
                           const struct expect_copy *);
bool compare_has_meter(struct comparison *, uint64_t id);

/* Is the value the id of such a meter?  If another has the number of its name,
 * which is the lower bits of an id, it has the next that is free, of so
 * many. */
enum { COMPARE_MAX_ALIKE = 16, COMPARE_NUMBER_BITS = 28 };
bool compare_is_named(struct comparison *, const struct usage *);

/* The ids of meters of which it may depend on the meter 'id' whether they are
 * named so ('step' is 1), or the other way round (-1): 'id' first, then both
 * of each number.  Returns how many they are. */
enum { COMPARE_MAX_NEAR = 1 + 2 * (COMPARE_MAX_ALIKE + 1) };
size_t compare_near(uint32_t id, int step, uint32_t near[COMPARE_MAX_NEAR]);

/* The packet that is to arrive, which stands once, and the answer that the
 * node is to give. */
const struct out *compare_delivered(struct comparison *, const struct expect *,
                                    const struct expect_copy *);
struct out compare_answer(struct comparison *, const struct expect *);

/* Returns NULL if a packet leaves as expected, else how not. */
const char *compare_out(struct comparison *, const struct out *got,
                        const struct out *expected);

/* Are the effects on a packet of these values those that were 'walked', which
 * are DD_NONE if there was no end to it?  Of flows that disagree a walk takes
 * one. */
bool compare_is_same(const struct comparison *, dd_t effects, dd_t walked,
                     const u128 values[]);

/* In words. */
const char *compare_effects_text(const struct comparison *, dd_t effects);
const char *compare_expect_text(const struct comparison *,
                                const struct expect *);

/* What it is that a packet goes to a port that it should not. */
enum verify_kind compare_wrong_port(const struct comparison *,
                                    const struct expect *, uint32_t port);
const char *compare_port_name(const struct comparison *, uint32_t port);

/* The port of an interface; OFPP_NONE if no flow names it. */
ofp_port_t compare_port(const struct comparison *, const char *interface);

#endif /* verify/compare.h */
