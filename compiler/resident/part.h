/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef RESIDENT_PART_H
#define RESIDENT_PART_H 1

/* What resident.c, which changes tenants, part.c, which compiles them,
 * divide.c, which says who is one part, change.c, which replaces parts by
 * parts, and known.c share. */

#include "openvswitch/list.h"
#include "openvswitch/shash.h"
#include "resident/facts.h"
#include "resident/resident.h"

struct arena;
struct change;
struct diags;

/* A peering. */
struct peering {
    const struct intent_rule *intent;
    size_t mark;                /* The last slice that it was in. */
};

VEC_TYPEDEF(peering_vec, struct peering *);

struct tenant {
    const struct intent_tenant *intent;
    struct arena *arena;        /* Holds 'intent'; NULL: not ours. */
    struct part *part;          /* NULL: none yet. */
    struct part *next;          /* In a division: its root's. */
    struct tenant *joined;      /* To this one, in a division; or itself. */
    size_t mark;                /* The last division that it was in. */
    const struct value *unknown;    /* See known.c; or NULL. */
};

struct tenant_list {
    struct tenant **v;
    size_t n, allocated;
};

/* What parts take together of a target's room; see struct backend_caps. */
struct usage {
    size_t ports, zones, meters, rule_flows, conjunctions;
};

/* Of what has room for so much in all: how much parts take. */
struct total {
    uint64_t sum, room;
    uint64_t change;            /* In a change that is weighed; wraps. */
};

/* What one part takes of it. */
struct part_share {
    struct total *total;
    uint64_t amount;
};

struct part {
    struct ovs_list node;       /* In a list of a resident or a change. */
    bool all;                   /* Of all tenants, as the whole. */
    bool leaving;               /* In the change at hand. */
    struct tenant_list tenants;
    struct fact_vec held;
    struct plan notes;          /* No flows and meters, which are in 'held'. */
    struct usage usage;
    struct part_share *shares;
    size_t n_shares;
    struct diags *diags;        /* Of its compilation, in the change's. */
};

/* A compilation of some tenants, or of all. */
struct compilation {
    struct arena *arena;        /* Owned; holds all of it. */
    const struct policy *policy;
    struct claims *claims;
    struct plan plan;
};

struct resident {
    const struct intent *intent;    /* Its tenants are those at first. */
    const char *node;
    const struct backend *backend;
    struct arena *arena;        /* For what never changes. */
    struct shash tenants;       /* Contains "struct tenant *"s. */
    struct shash peerings_of;   /* By tenant: "peering_vec *"s. */
    struct ovs_list parts;      /* Contains "struct part"s. */
    struct part *base;          /* The part of no tenant, which holds what all
                                 * nodes do; or NULL. */
    struct facts facts;
    struct usage used;          /* By all parts. */
    struct shash totals;        /* Contains "struct total *"s; by "WHAT KEY".
                                 */
    struct arena *diff_arena;   /* Of the last diff. */
    struct compilation last;    /* That of the last change, if it was one, of
                                 * one tenant; its arena is NULL: it was not,
                                 * or the policy was taken. */
    bool united;                /* There is one part, of all tenants. */
    size_t mark;                /* Counts divisions and slices. */
    size_t n_unknown;           /* Tenants with unknown members. */
    const char *frame;          /* Why what is not a tenant's makes all one
                                 * part; or NULL. */
    const char *refused;        /* Why that was found only by trying. */
    struct resident_stats stats;
};

/* Compiles 'tenants' (NULL: all that there are).  Returns false if it is
 * refused, after adding at least one error to 'diags'. */
bool compile_tenants(struct resident *, const struct tenant_list *tenants,
                     struct diags *, struct compilation *);
void compilation_destroy(struct compilation *);

void tenant_list_add(struct tenant_list *, struct tenant *);
void part_destroy(struct part *);

/* Compiles 'part', and has it hold what is in its plan.  Returns false if it
 * is refused; part->diags says why.  Otherwise stores in '*clash' NULL, or
 * what it clashes with: it then holds nothing.  'likely' is as facts_hold()
 * has it.  The caller must destroy 'compilation', whatever comes of it. */
bool part_compile(struct resident *, struct part *, struct arena *diags,
                  const struct fact_vec *likely,
                  struct compilation *compilation, struct fact **clash);

bool part_holds(const struct part *, const struct fact *);

/* Does 'usage', or a table, come near a limit of the target? */
bool is_near_limit(const struct resident *, const struct usage *);
/* Notes what 'part' takes, in the place of what it took. */
void part_share(struct resident *, struct part *, const struct claims *);

/* Would something be above its room?  Then the whole decides. */
bool is_above_room(struct change *);

/* Adds up what parts take, when they come (or go). */
void shares_settle(const struct part *, bool comes);

void usage_add(struct usage *, const struct usage *);
void usage_subtract(struct usage *, const struct usage *);

/* A change, until it is made or taken back. */
struct change {
    struct resident *r;
    struct arena *arena;        /* For diagnostics. */
    struct ovs_list leaving;    /* Parts that it replaces, ... */
    struct ovs_list todo;       /* ... those that it must compile, ... */
    struct ovs_list made;       /* ... and those that it has. */
    struct compilation only;    /* That of 'made', if it is one part, of one
                                 * tenant; its arena is NULL: it is not. */
};

void change_init(struct change *, struct resident *, struct arena *diags);
void part_leave(struct change *, struct part *);    /* Accepts NULL. */

/* A new part in 'todo'. */
struct part *change_add_part(struct change *);

/* The beginning of a change: each says which parts leave, and adds to 'todo'
 * those that take their place.  That of 't', unless it is 'removed', and of
 * all that it was and is joined with... */
void change_divide(struct change *, struct tenant *t, bool removed);

/* ...the parts of all tenants... */
void change_divide_all(struct change *);

/* ...or one of all tenants. */
void change_unite(struct change *);

/* Compiles what is to be done.  Returns false if some part is refused. */
bool change_compile(struct change *);

/* What all parts will take. */
struct usage change_usage(const struct change *);

void change_take_back(struct change *);

/* Replaces what leaves by what is made; 'diff', in the arena, is the
 * difference unless it is NULL.  Warnings go to 'diags'. */
void change_make(struct change *, struct diags *, struct resident_diff *diff,
                 struct arena *);

/* A member that is not known to be of one tenant alone, or of what no tenant
 * has; or NULL. */
const struct value *unknown_in_tenant(const struct intent_tenant *);
const struct value *unknown_in_frame(const struct intent *);

#endif /* resident/part.h */
