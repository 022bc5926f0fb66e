/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/ovn/emit.h"

#include <inttypes.h>
#include <string.h>

#include "sema/ident.h"
#include "sema/northbound.h"
#include "util.h"

enum { MAX_NAME = 63 };         /* The schema's. */

static int
rule_priority(const struct ir_rule *rule)
{
    switch (rule->kind) {
    case RULE_GUARDRAIL: return PRIORITY_DENY;
    case RULE_DENY: return PRIORITY_DENY;
    case RULE_ALLOW: return PRIORITY_ALLOW + 2 * rule->depth;
    case RULE_PEERING: return PRIORITY_ALLOW + 2 * rule->depth;
    case RULE_DEFAULT: return PRIORITY_DEFAULT;
    }
    OVS_NOT_REACHED();
}

static struct plan_row *
add_acl(struct emitter *e, const char *id, const char *name,
        enum ovn_direction direction, int priority, const char *match,
        const char *action)
{
    struct plan_row *row = plan_add_row(e->plan, "ACL", id);

    plan_row_string(e->plan, row, "name", name);
    plan_row_string(e->plan, row, "direction", ovn_direction_name(direction));
    plan_row_integer(e->plan, row, "priority", priority);
    plan_row_string(e->plan, row, "match", match);
    plan_row_string(e->plan, row, "action", action);
    return row;
}

/* Part of what a rule says. */
struct part {
    const char *name;
    const char *service;        /* As a match. */
    const char *action;
    int priority;
    bool deny;
};

void
ovn_name_rule(struct emitter *e, struct plan_row *row,
              const struct ir_rule *rule)
{
    plan_row_map(e->plan, row, "external_ids", NB_RULE_KEY, rule->name);
    plan_row_map(e->plan, row, "external_ids", NB_COOKIE_KEY,
                 FORMAT(e, "%#"PRIx64, COOKIE_MARK | rule->id));
}

static void
add_rule_acl(struct emitter *e, const struct ir_rule *rule,
             const struct part *part, enum ovn_direction direction,
             const struct ovn_product *product)
{
    const char *cookie = FORMAT(e, "%#"PRIx64, COOKIE_MARK | rule->id);
    struct plan_row *row = add_acl(
        e, FORMAT(e, "%s %s %s %s", rule->name, part->name,
                  ovn_direction_name(direction), product->near->name),
        strlen(rule->name) <= MAX_NAME ? rule->name : cookie, direction,
        part->priority, ovn_match(e, product, direction, part->service),
        part->action);

    ovn_name_rule(e, row, rule);
    plan_row_ref(e->plan, product->near->row, "acls", row);
    if (part->deny) {
        ovn_log(e, row, "notice");
    }
}

static void
add_part(struct emitter *e, const struct ir_rule *rule,
         const struct part *part, const struct ovn_side *from,
         const struct ovn_side *to)
{
    ovn_products products = ovn_pair(e, from, to);

    for (size_t i = 0; i < products.n; i++) {
        add_rule_acl(e, rule, part, OVN_FROM, &products.v[i]);
    }
    products = ovn_pair(e, to, from);
    for (size_t i = 0; i < products.n; i++) {
        add_rule_acl(e, rule, part, OVN_TO, &products.v[i]);
    }
}

/* What is stateless stands above what is tracked, which would match it too. */
static void
add_rule(struct emitter *e, const struct ir_rule *rule)
{
    bool deny = rule_kind_denies(rule->kind);
    struct ovn_side from = ovn_from(e, rule), to = ovn_to(e, rule);
    struct part tracked = {
        .name = "tracked",
        .service = ovn_match_tracked(e, rule->service, false),
        .action = deny ? "drop" : "allow-related",
        .priority = rule_priority(rule),
        .deny = deny,
    };
    struct part stateless = {
        .name = "stateless",
        .service = ovn_match_stateless(e, rule->service),
        .action = deny ? "drop" : "allow-stateless",
        .priority = rule_priority(rule) + 1,
        .deny = deny,
    };
    struct part back = stateless;

    back.name = "back";
    if (tracked.service) {
        add_part(e, rule, &tracked, &from, &to);
    }
    if (stateless.service) {
        add_part(e, rule, &stateless, &from, &to);
        add_part(e, rule, &back, &to, &from);
    }
}

struct plan_row *
ovn_add_group_acl(struct emitter *e, const char *id, const char *name,
                  struct ovn_group *group, enum ovn_direction direction,
                  int priority, const char *match, const char *action)
{
    const char *port = direction == OVN_FROM ? "inport" : "outport";
    struct plan_row *row = add_acl(
        e, id, name, direction, priority,
        FORMAT(e, "%s == @%s%s%s", port, group->name, match[0] ? " && " : "",
               match), action);

    plan_row_ref(e->plan, ovn_port_group(e, group), "acls", row);
    return row;
}

static void
add_common(struct emitter *e, const char *name, enum ovn_direction direction,
           int priority, const char *match, const char *action)
{
    struct ovn_group all = { .name = "bulkhead", .row = e->everybody };

    ovn_add_group_acl(e, FORMAT(e, "%s %s %d", name,
                                ovn_direction_name(direction), priority),
                      name, &all, direction, priority, match, action);
}

/* One for each tenant: the log of an ACL has a meter of its own, so what one
 * tenant does hides nothing of another. */
static void
add_drops(struct emitter *e, const char *name, enum ovn_direction direction,
          int priority, const char *match)
{
    const char *severity = (priority == PRIORITY_FORBIDDEN ? "warning"
                            : "info");

    for (size_t i = 0; i < e->tenants.n; i++) {
        struct ovn_group *group = e->tenants.v[i].all;

        const char *id = FORMAT(e, "%s %s %d %s", name,
                                ovn_direction_name(direction), priority,
                                group->name);

        ovn_log(e, ovn_add_group_acl(e, id, name, group, direction, priority,
                                     match, "drop"), severity);
    }
}

/* What no rule speaks of.  At PRIORITY_UNTRACKED stands what never decides,
 * since a drop is above it: it keeps such packets away from connection
 * tracking, by which OVN lets answers and errors pass before any ACL. */
static void
add_bases(struct emitter *e)
{
    static const enum ovn_direction directions[] = { OVN_FROM, OVN_TO };
    static const char forbidden[]
        = "(icmp4.type == {5, 9, 10} || icmp6.type == 137"
          " || ip.proto == 0"
          " || (ip4 && (ip.proto == 2 || udp.src == 67 || udp.dst == 68))"
          " || (ip6 && (udp.src == 547 || udp.dst == 546)))";

    add_drops(e, "forbidden-reply", OVN_FROM, PRIORITY_FORBIDDEN, forbidden);
    add_common(e, "untracked-forbidden", OVN_FROM, PRIORITY_UNTRACKED,
               forbidden, "allow-stateless");
    add_common(e, "neighbor", OVN_FROM, PRIORITY_NEIGHBOR, "arp.op == 1",
               "allow");
    /* OVN answers ARP itself, and what it cannot answer nobody else does. */
    add_common(e, "neighbor", OVN_TO, PRIORITY_NEIGHBOR, "arp.op == 2",
               "allow");
    for (size_t i = 0; i < ARRAY_SIZE(directions); i++) {
        const char *untracked = FORMAT(e, "udp.dst == %s", e->symmetric);

        if (e->symmetric) {
            add_drops(e, "fragment", directions[i], PRIORITY_FORBIDDEN,
                      FORMAT(e, "ip.is_frag && %s", untracked));
            add_drops(e, "default", directions[i], PRIORITY_UNTRACKED_DROP,
                      untracked);
            add_common(e, "untracked", directions[i], PRIORITY_UNTRACKED,
                       untracked, "allow-stateless");
        }
        add_drops(e, "default", directions[i], PRIORITY_DROP, "");
        add_common(e, "default", directions[i], PRIORITY_CLOSED, "", "drop");
    }
}

void
emit_acls(struct emitter *e)
{
    add_bases(e);
    for (size_t i = 0; i < e->prog->rules.n; i++) {
        add_rule(e, e->prog->rules.v[i]);
    }
}
