/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_EXPECT_H
#define VERIFY_EXPECT_H 1

/* The reference meaning (sema/meaning.h) as a decision diagram: what is to
 * become of each packet that comes by a port.  It is made from the policy
 * alone, question by question as meaning.c asks them; tests hold it against
 * meaning_judge() packet by packet. */

#include "sema/meaning.h"
#include "verify/field.h"
#include "verify/memo.h"
#include "verify/pool.h"

/* A copy of a packet for many. */
struct expect_copy {
    const struct policy_endpoint *to;
    const struct policy_class *kept;    /* As in struct meaning. */
    uint32_t rules;             /* See expect_rules(); 0: none decides. */
    uint8_t allow, dscp;
    uint16_t queue;
    uint32_t reason;            /* Of a denial without rule. */
    uint32_t pad;               /* 0. */
};

/* What is to become of a packet.  Bytes that are not set are 0. */
struct expect {
    const struct policy_tenant *counted;
    const struct policy_endpoint *from, *to;
    const struct policy_attachment *external;   /* It is for an external. */
    const struct intent_node *node;     /* It leaves by tunnel. */
    const struct policy_tenant *payer, *charged;        /* As there. */
    const struct policy_class *kept;    /* As in struct meaning. */
    const struct intent_uplink *uplink;
    const struct policy_tenant *zones[2];       /* In which it is tracked; if
                                                 * it is dropped, may be; */
    struct in6_addr target;     /* What an answer is about. */
    uint32_t rules;             /* Those that decide; 0: none. */
    uint32_t copies;            /* See expect_copies(). */
    uint32_t reason;
    struct eth_addr answer;
    uint16_t queue;
    uint16_t rank;              /* Of the rules: the least decides. */
    uint8_t commit[2];          /* ... and noted? */
    uint8_t allow, answered, router, routed, many, dscp;
    uint8_t any_reason;         /* Whatever is named for dropping it. */
    uint8_t conditional;        /* While it is made: if the second zone
                                 * agrees. */
    uint8_t open;               /* See expect_based(). */
    uint8_t unknown;            /* Nothing is taken for what is meant. */
    uint16_t asked;             /* 1 more than twice the judge_question that
                                 * rules are asked, and 1 more for IPv6. */
    uint8_t pad[4];
};

/* What rules are asked about packets between two, by who opened their
 * connection, if that is known. */
enum judge_question {
    JUDGE_FORWARD,              /* Of a connection, from its opener; */
    JUDGE_BACKWARD,             /* to it. */
    JUDGE_STATELESS,            /* Of the first match of symmetric services;
                                 * those of others follow. */
    JUDGE_MAX_QUESTIONS = 64,
};

/* What rules may say: that 'rule' decides, NULL for none, and if it allows, by
 * 'class'. */
struct judge_outcome {
    const struct policy_rule *rule;
    const struct policy_class *class;
};

VEC_TYPEDEF(rule_vec, const struct policy_rule *);

/* The sets of endpoints on both sides of a rule, by number: what is the same
 * set has one. */
struct rule_sides {
    uint32_t from, to;
};
VEC_TYPEDEF(sides_vec, struct rule_sides);
VEC_TYPEDEF(set_vec, uint32_t);

/* What of a policy is known once for all judges of a node. */
struct judge_facts {
    const struct policy *policy;
    const char *node;
    struct arena *arena;
    rule_vec *of_tenants;       /* The rules that speak of endpoints of a
                                 * tenant, or of those that it has with
                                 * externals. */
    sides_vec *sides;           /* Theirs. */
    set_vec *sets;              /* By index of endpoint: those it is in, in
                                 * order. */
    uint8_t *marks;             /* By set: scratch; 0. */
    uint32_t *alike;            /* By index of endpoint: the same number, the
                                 * same rules. */
    uint32_t *sending;          /* The same: so are packets they send. */
    struct senders {
        const struct policy_endpoint *v[2];
    } *senders;                 /* The first, and one more, of a number; both
                                 * NULL until they are asked for. */
    endpoint_vec **reached;     /* By tenant; see judge_reached(). */
};

struct judge {
    struct judge_facts *facts;
    const struct policy *policy;
    const char *node;
    struct space *space;
    struct arena *arena;
    struct pool expects, rules, copies, bases;
    struct dd_op stronger, agree, add_copy;
    const uint32_t *marks;      /* Of connections of tenant i of the policy. */
    struct memo verdicts, connections, between, passed, answers, sets;
    struct memo shapes;         /* Of packets for each of many. */
    struct memo addresses;      /* Of endpoints: packets from or to them. */
    struct memo sent;           /* By who is alike: what they send. */
    struct memo settled;        /* See expect_settled(). */
    dd_t within;                /* Of these packets only something is asked;
                                 * what is said of others is of no use. */
    bool by_port;               /* No diagram is to be bound. */
    bool unbound;               /* It is to be bound as a whole. */
    bool any_opener;            /* As exec_any_opener(): whatever packets say
                                 * of theirs. */
    const struct judge_outcome *outcomes;       /* As exec_cut(): rules say of
                                                 * a packet outcomes[F_VERDICT]
                                                 * of so many; or NULL. */
    size_t n_outcomes;
};

/* In the arena, and not owned by who is given them. */
struct judge_facts *judge_facts_create(const struct policy *,
                                       const char *node, struct arena *);

/* 'marks' is read when the expectations are made. */
void judge_init(struct judge *, struct judge_facts *, struct space *,
                const uint32_t marks[], struct arena *);
void judge_destroy(struct judge *);

/* What is to become of packets of an endpoint, of an external, of the tunnel
 * port, and of a port that is nobody's. */
dd_t expect_from_endpoint(struct judge *, const struct policy_endpoint *);
dd_t expect_from_external(struct judge *, const struct policy_attachment *);
dd_t expect_from_tunnel(struct judge *);
dd_t expect_from_nobody(struct judge *);

/* Diagrams of them are bound (dd.h), unless 'by_port': this has the leaves.
 * Those that are 'open' say only what rules say, and where connections are
 * noted; all else does the base of that number. */
dd_t expect_based(struct judge *, uint32_t number, dd_t leaf);

/* Of an open leaf that denies less is said; a base that says just that. */
bool expect_denies(const struct judge *, dd_t leaf);
uint32_t expect_denial_base(struct judge *, uint32_t number);

/* Of an open leaf: the same, but who decides is not said, which must let who
 * sends pay.  Of others DD_NONE. */
dd_t expect_settled(struct judge *, dd_t leaf);

const struct expect *expect_get(const struct judge *, dd_t leaf);

/* With any opener, what rules say of packets between these two, as open
 * leaves; of which packets that can be asked; and how many questions there
 * are.  (expect-cut.c) */
dd_t expect_verdict(struct judge *, enum judge_question,
                    const struct policy_endpoint *opener,
                    const struct policy_endpoint *opened);
dd_t expect_is_asked(struct judge *, enum judge_question);

/* Packets of which it is asked, of that service as far as they tell. */
dd_t expect_is_of(struct judge *, enum judge_question,
                  const struct service_match *);
size_t expect_n_questions(const struct judge *);

/* What symmetric services match of which it is asked; else NULL. */
const struct service_match *expect_match(const struct judge *,
                                         enum judge_question);

/* The class of what 'rule' allows. */
const struct policy_class *expect_class(const struct policy_rule *,
                                        enum judge_question);

/* The rules that may be named for deciding: all of one rank that speak. */
const struct policy_rule *const *expect_rules(const struct judge *,
                                              uint32_t rules, size_t *n);
const struct expect_copy *expect_copies(const struct judge *,
                                        uint32_t copies, size_t *n);

#endif /* verify/expect.h */
