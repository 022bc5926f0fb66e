/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "mutate.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

enum change {
    LEAVE_OUT,                  /* The flow. */
    DROP,                       /* Instead of its actions. */
    PRIORITY,                   /* Of another flow of its table. */
    NO_MATCH,                   /* Without what begins with the text. */
    NO_ACTION,
    OTHER_MATCH,                /* That of another flow. */
    OTHER_ACTION,
    OTHER_TABLE,                /* It goes to. */
    BIT,                        /* One bit of a match changes. */
    COOKIE,                     /* Of another flow. */
    SWAP,                       /* Two actions, in all flows. */
};

static const struct mutation {
    const char *name;
    enum change change;
    const char *text;           /* In the match or the actions; what is before
                                 * and behind a '*' in what begins and ends
                                 * so. */
} mutations[] = {
    { "flow left out", LEAVE_OUT, NULL },
    { "drop", DROP, NULL },
    { "priority", PRIORITY, NULL },
    { "goto", OTHER_TABLE, "goto_table:" },
    { "cookie", COOKIE, NULL },
    { "bit", BIT, "=0x" },
    { "any MAC", NO_MATCH, "dl_src=" },
    { "any IPv4 source", NO_MATCH, "nw_src=" },
    { "any IPv6 source", NO_MATCH, "ipv6_src=" },
    { "ARP field forgotten", NO_MATCH, "arp_sha=" },
    { "ND field forgotten", NO_MATCH, "nd_sll=" },
    { "any destination MAC", NO_MATCH, "dl_dst=" },
    { "any destination", NO_MATCH, "nw_dst=" },
    { "any tenant", NO_MATCH, "reg13=" },
    { "any group", NO_MATCH, "reg12=" },
    { "any service", NO_MATCH, "reg8=" },
    { "any state", NO_MATCH, "ct_state=" },
    { "other tenant", OTHER_MATCH, "reg11=" },
    { "other mark", OTHER_MATCH, "ct_mark=" },
    { "other endpoint", OTHER_MATCH, "reg1=" },
    { "other VNI", OTHER_MATCH, "tun_id=" },
    { "other outer source", OTHER_MATCH, "tun_src=" },
    { "other zone", OTHER_ACTION, "*->reg6" },
    { "other receiver's zone", OTHER_ACTION, "*->reg9" },
    { "other network", OTHER_ACTION, "*->reg2" },
    { "other sender's tenant", OTHER_ACTION, "*->reg0" },
    { "other VNI set", OTHER_ACTION, "*->tun_id" },
    { "other class", OTHER_ACTION, "*->reg5" },
    { "other DSCP", OTHER_ACTION, "*->ip_dscp" },
    { "other meter", OTHER_ACTION, "meter:" },
    { "meters swapped", SWAP, "meter:" },
    { "other port", OTHER_ACTION, "output:" },
    { "other conjunction", OTHER_ACTION, "conjunction(" },
    { "no meter", NO_ACTION, "meter:" },
    { "no TTL", NO_ACTION, "dec_ttl" },
    { "no MAC", NO_ACTION, "*->eth_src" },
    { "no commit", NO_ACTION, "ct(commit" },
    { "stale tenant", NO_ACTION, "*->reg13" },
    { "stale group", NO_ACTION, "*->reg14" },
    { "stale zone", NO_ACTION, "*->reg9" },
    { "stale direction", NO_ACTION, "*->reg7" },
};

const size_t n_mutations = ARRAY_SIZE(mutations);

const char *
mutation_name(size_t kind)
{
    return mutations[kind].name;
}

static size_t
item_length(const char *s)
{
    int depth = 0;
    size_t n;

    for (n = 0; s[n] && (depth || s[n] != ','); n++) {
        depth += (s[n] == '(') - (s[n] == ')');
    }
    return n;
}

static bool
is_meant(const char *item, size_t n, const char *text)
{
    size_t len = strlen(text);

    return (text[0] == '*'
            ? n >= len - 1 && !strncmp(item + n - (len - 1), text + 1,
                                       len - 1)
            : !strncmp(item, text, len));
}

const char *
mutation_find(const char *list, const char *text, size_t *n)
{
    for (const char *p = list; *p; p += *n + (p[*n] == ',')) {
        *n = item_length(p);
        if (is_meant(p, *n, text)) {
            return p;
        }
    }
    return NULL;
}

const char *
mutation_replace(struct arena *arena, const char *list, const char *old,
                 size_t n, const char *new, size_t n_new)
{
    const char *rest = old + n;
    size_t before = old - list;

    if (!n_new && *rest == ',') {
        rest++;
    } else if (!n_new && before) {
        before--;
    }
    return arena_printf(arena, "%.*s%.*s%s", (int) before, list, (int) n_new,
                        new, rest);
}

static bool
is_of_match(enum change change)
{
    return change == NO_MATCH || change == OTHER_MATCH || change == BIT;
}

/* A flow after a random one which 'm' can change; -1 if there is none. */
static int
find_flow(const struct plan *plan, const struct mutation *m, struct rng *rng)
{
    size_t start = rng_below(rng, plan->flows.n), n;

    for (size_t i = 0; i < plan->flows.n; i++) {
        size_t at = (start + i) % plan->flows.n;
        const struct plan_flow *flow = &plan->flows.v[at];
        const char *list = is_of_match(m->change) ? flow->match
                           : flow->actions;

        if (!m->text || (m->change == BIT ? strstr(list, m->text) != NULL
                         : mutation_find(list, m->text, &n) != NULL)) {
            return at;
        }
    }
    return -1;
}

/* The item of another flow, of the same table if there is one, that differs
 * from 'item'. */
static const char *
find_other(const struct plan *plan, const struct mutation *m,
           const struct plan_flow *flow, const char *item, size_t n,
           struct rng *rng, size_t *n_other)
{
    size_t start = rng_below(rng, plan->flows.n);

    for (size_t i = 0; i < plan->flows.n; i++) {
        const struct plan_flow *other
            = &plan->flows.v[(start + i) % plan->flows.n];
        const char *found = mutation_find(
            is_of_match(m->change) ? other->match : other->actions, m->text,
            n_other);

        if (found && other->table == flow->table
            && (*n_other != n || strncmp(found, item, n))) {
            return found;
        }
    }
    return NULL;
}

static bool
change_item(struct plan *plan, const struct mutation *m,
            struct plan_flow *flow, struct rng *rng)
{
    const char **list = is_of_match(m->change) ? &flow->match
                        : &flow->actions;
    size_t n, n_new = 0;
    const char *item = mutation_find(*list, m->text, &n), *new = "";

    if (m->change == OTHER_MATCH || m->change == OTHER_ACTION) {
        new = find_other(plan, m, flow, item, n, rng, &n_new);
        if (!new) {
            return false;
        }
    }
    *list = mutation_replace(plan->arena, *list, item, n, new, n_new);
    if (!**list && list == &flow->actions) {
        *list = "drop";
    }
    return true;
}

/* Each flow with an item of 'flow' gets that of another, and the other way
 * round: so no flow shares what it has with one that should not. */
static bool
swap_items(struct plan *plan, const struct mutation *m,
           const struct plan_flow *flow, struct rng *rng)
{
    size_t n, n_other;
    const char *item = mutation_find(flow->actions, m->text, &n);
    const char *other = find_other(plan, m, flow, item, n, rng, &n_other);

    for (size_t i = 0; i < plan->flows.n && other; i++) {
        const char **actions = &plan->flows.v[i].actions;
        size_t n_old;
        const char *old = mutation_find(*actions, m->text, &n_old);

        if (old && n_old == n && !strncmp(old, item, n)) {
            *actions = mutation_replace(plan->arena, *actions, old, n_old,
                                        other, n_other);
        } else if (old && n_old == n_other && !strncmp(old, other, n_other)) {
            *actions = mutation_replace(plan->arena, *actions, old, n_old,
                                        item, n);
        }
    }
    return other != NULL;
}

/* The last digit of a number in the match. */
static void
change_bit(struct plan *plan, const struct mutation *m,
           struct plan_flow *flow, struct rng *rng)
{
    char *match = arena_strdup(plan->arena, flow->match);
    char *number = strstr(match, m->text) + strlen(m->text);
    size_t at = strspn(number, "0123456789abcdef") - 1;
    int digit = strtoul((char[]) { number[at], 0 }, NULL, 16);

    number[at] = "0123456789abcdef"[digit ^ (1 << rng_below(rng, 4))];
    flow->match = match;
}

static bool
change_flow(struct plan *plan, const struct mutation *m,
            struct plan_flow *flow, struct rng *rng)
{
    const struct plan_flow *other
        = &plan->flows.v[rng_below(rng, plan->flows.n)];

    switch (m->change) {
    case LEAVE_OUT:
        *flow = plan->flows.v[--plan->flows.n];
        return true;
    case DROP:
        flow->actions = "drop";
        return true;
    case PRIORITY:
        flow->priority = other->priority;
        return true;
    case COOKIE:
        flow->cookie = other->cookie;
        return true;
    case SWAP:
        return swap_items(plan, m, flow, rng);
    case OTHER_TABLE:
        flow->actions = mutation_replace(
            plan->arena, flow->actions, strstr(flow->actions, m->text),
            strlen(strstr(flow->actions, m->text)), "goto_table:20", 13);
        return flow->table < 20;
    case BIT:
        change_bit(plan, m, flow, rng);
        return true;
    case NO_MATCH: case NO_ACTION: case OTHER_MATCH: case OTHER_ACTION:
        return change_item(plan, m, flow, rng);
    }
    OVS_NOT_REACHED();
}

int
mutate(struct plan *plan, size_t kind, struct rng *rng)
{
    const struct mutation *m = &mutations[kind];
    int at = find_flow(plan, m, rng);

    return at >= 0 && change_flow(plan, m, &plan->flows.v[at], rng) ? at : -1;
}
