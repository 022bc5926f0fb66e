/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "sema/northbound.h"
#include "util.h"

/* What ACLs of one direction allow and deny, without their priorities: in an
 * intent deny beats allow.  A drop that an allow above it meets cannot be a
 * deny rule: it takes away what it covers of what is below it. */

static void
read_action(struct ovn *m, struct ovn_acl *acl)
{
    const char *action = ovn_string(m, acl->row, "action");
    value_vec log = ovn_atoms(m, acl->row, "log");
    const char *after = ovn_key(m, acl->row, "options", "apply-after-lb");

    if (!strcmp(action, "allow-related")) {
        acl->action = OVN_ALLOW;
    } else if (!strcmp(action, "allow")
               || !strcmp(action, "allow-stateless")) {
        acl->action = OVN_STATELESS;
    } else if (strcmp(action, "drop") && strcmp(action, "reject")) {
        ovn_error(m, acl->row, "say what it means as a rule, and remove it "
                  "from a copy of the dump", "the action '%s' is not known",
                  action);
    }
    if (ovn_number(m, acl->row, "tier", NULL, 0)
        || (after && !strcmp(after, "true"))) {
        ovn_error(m, acl->row, "say what it means as a rule, and remove it "
                  "from a copy of the dump",
                  "several ACLs decide, one after the other, which an intent "
                  "cannot say");
    }
    if (log.n == 1 && log.v[0]->type == VALUE_BOOLEAN
        && log.v[0]->boolean && !ovn_is_ours(m, acl->row)) {
        ovn_warn(m, acl->row, "'bulkhead drops' counts what is denied",
                 "that it logs is not kept");
    }
}

static struct ovn_acl *
get_acl(struct ovn *m, struct shash *acls, const struct ovn_row *row)
{
    const char *uuid = ovn_uuid(m, row);
    struct ovn_acl *acl = shash_find_data(acls, uuid);
    const char *name = ovn_string(m, row, "name");

    if (acl) {
        return acl;
    }
    acl = arena_zalloc(m->arena, sizeof *acl);
    shash_add(acls, uuid, acl);
    *vec_push(m->arena, &m->acls) = acl;
    acl->row = row;
    acl->rule = (ovn_is_ours(m, row)
                 ? ovn_key(m, row, "external_ids", NB_RULE_KEY) : NULL);
    acl->name = ovn_clean_name(m, name[0] ? name
                               : arena_printf(m->arena, "acl-%.8s", uuid));
    acl->to_lport = !strcmp(ovn_string(m, row, "direction"), "to-lport");
    acl->priority = ovn_number(m, row, "priority", NULL, 0);
    acl->at = ovn_empty(m);
    read_action(m, acl);
    return acl;
}

static void
add_switch(struct ovn *m, struct ovn_acl *acl, const struct ovn_switch *s)
{
    for (size_t i = acl->switches.n; i-- > 0; ) {
        if (acl->switches.v[i] == s) {
            return;
        }
    }
    *vec_push(m->arena, &acl->switches) = s;
    ovn_add(m, acl->at, s->own);
    m->work += acl->switches.n;
}

/* A group's ACLs are for all switches that have one of its ports. */
static void
collect(struct ovn *m, struct shash *acls)
{
    const struct ovn_table *groups = ovn_table(m, "Port_Group");

    for (size_t i = 0; i < m->switches.n; i++) {
        struct ovn_switch *s = m->switches.v[i];
        ovn_row_vec rows = ovn_refs(m, s->row, "acls", "ACL");

        for (size_t j = 0; j < rows.n; j++) {
            add_switch(m, get_acl(m, acls, rows.v[j]), s);
        }
    }
    for (size_t i = 0; i < groups->rows.n; i++) {
        const struct ovn_row *group = &groups->rows.v[i];
        ovn_row_vec rows = ovn_refs(m, group, "acls", "ACL");
        ovn_row_vec ports = ovn_refs(m, group, "ports",
                                     "Logical_Switch_Port");
        const struct ovn_switch *last = NULL;

        for (size_t k = 0; rows.n && k < ports.n; k++) {
            struct ovn_switch *s = shash_find_data(
                &m->at, ovn_string(m, ports.v[k], "name"));

            for (size_t j = 0; s && s != last && j < rows.n; j++) {
                if (!ovn_is_of_dhcp(m, rows.v[j], s)) {
                    add_switch(m, get_acl(m, acls, rows.v[j]), s);
                }
            }
            last = s;
        }
    }
}

bool
ovn_is_exact(struct ovn *m, const struct ovn_box *box)
{
    struct ovn_service tcp = ovn_ports(m, IPPROTO_TCP, 0, UINT16_MAX);
    struct ovn_service udp = ovn_ports(m, IPPROTO_UDP, 0, UINT16_MAX);

    return (!box->vague && !box->established && !box->forward && !box->reply
            && !box->fragment
            && (box->src.any
                || (!box->dst.any
                    && (!box->dst.tcp.n
                        || ovn_service_has(m, &box->src, &tcp))
                    && (!box->dst.udp.n
                        || ovn_service_has(m, &box->src, &udp)))));
}

/* Does no intent let it pass anyway? */
static bool
is_forbidden(struct ovn *m, const struct ovn_box *box)
{
    struct ovn_service both = ovn_both_ways(m, &box->dst);
    struct ovn_service server4 = ovn_ports(m, IPPROTO_UDP, 67, 67);
    struct ovn_service server6 = ovn_ports(m, IPPROTO_UDP, 547, 547);
    struct ovn_service client4 = ovn_ports(m, IPPROTO_UDP, 68, 68);
    struct ovn_service client6 = ovn_ports(m, IPPROTO_UDP, 546, 546);

    return (box->forbidden
            || (box->fragment && !box->dst.any
                && ovn_service_has(m, &both, &box->dst))
            || (box->from && ovn_has(m, m->ip4, box->from)
                && (ovn_service_has(m, &server4, &box->src)
                    || ovn_service_has(m, &client4, &box->dst)))
            || (box->from && ovn_has(m, m->ip6, box->from)
                && (ovn_service_has(m, &server6, &box->src)
                    || ovn_service_has(m, &client6, &box->dst))));
}

/* Adds what a drop says of what comes to a switch from its router, or goes
 * there: that is dropped, whatever is above it. */
static void
add_routed(struct ovn *m, struct ovn_acl *acl, const struct ovn_box *box,
           const unsigned long *own)
{
    struct ovn_box routed = *box;

    routed.from = (acl->to_lport ? ovn_and(m, box->from, own)
                   : ovn_without(m, box->from, own));
    routed.to = (acl->to_lport ? ovn_without(m, box->to, own)
                 : ovn_and(m, box->to, own));
    routed.deny = true;
    routed.at_router = ovn_and(m, own, NULL);
    if (!ovn_is_empty(m, routed.from) && !ovn_is_empty(m, routed.to)) {
        *vec_push(m->arena, &acl->boxes) = routed;
    }
}

static void
add_near(struct ovn *m, struct ovn_acl *acl, struct ovn_box box)
{
    if (!ovn_is_empty(m, box.from) && !ovn_is_empty(m, box.to)) {
        *vec_push(m->arena, &acl->boxes) = box;
    }
}

/* Adds what an alternative says at the ACL's own switches. */
static void
add_box(struct ovn *m, struct ovn_acl *acl, const struct ovn_box *box)
{
    const char *id = ovn_key(m, acl->row, "external_ids", NB_ID_KEY);
    bool local = box->local || (m->default_drop && acl->action != OVN_DROP);
    struct ovn_box near = *box;

    near.from = ovn_and(m, box->from, acl->to_lport ? NULL : acl->at);
    near.to = ovn_and(m, box->to, acl->to_lport ? acl->at : NULL);
    near.stateless = acl->action == OVN_STATELESS;
    near.back = acl->rule && id && strstr(id, " back ");
    if (!box->at_router && !local) {
        add_near(m, acl, near);
    }
    for (size_t i = 0; local && i < acl->switches.n; i++) {
        struct ovn_box here = near;

        here.from = ovn_and(m, near.from, acl->switches.v[i]->own);
        here.to = ovn_and(m, near.to, acl->switches.v[i]->own);
        add_near(m, acl, here);
    }
    for (size_t i = 0; acl->action == OVN_DROP && i < acl->switches.n
         && (box->at_router || !box->at_port); i++) {
        const unsigned long *own = acl->switches.v[i]->own;

        if (!box->at_router || ovn_meet(m, box->at_router, own)) {
            add_routed(m, acl, box, own);
        }
    }
}

/* What it says where OVN takes it: an allow that is void does nothing, and a
 * drop is kept.  True if that is more than OVN denies. */
static bool
parse_match(struct ovn *m, struct ovn_acl *acl, const char *text,
            ovn_boxes *boxes)
{
    bool drop = acl->action == OVN_DROP, everywhere;
    struct ovn_match match;

    if (!ovn_parse_match(m, text, acl->to_lport, &match)
        || (match.is_void && !drop)) {
        match.boxes.n = 0;
        ovn_add_box(m, &match.boxes)->vague = true;
    }
    everywhere = ovn_has(m, match.at, acl->at);
    if (!drop && !everywhere && !match.is_void) {
        ovn_warn(m, acl->row, "see what shall pass there", "left out where "
                 "OVN does not take '%s': at switches without a port of a "
                 "group in it", text);
    }
    if (!drop) {
        acl->at = ovn_and(m, acl->at, match.at);
    }
    *boxes = match.boxes;
    return drop && (match.is_void || !everywhere);
}

static void
read_match(struct ovn *m, struct ovn_acl *acl)
{
    const char *match = ovn_string(m, acl->row, "match");
    ovn_boxes boxes;
    bool more = parse_match(m, acl, match, &boxes), told = false;

    for (size_t i = 0; i < boxes.n; i++) {
        struct ovn_box *box = &boxes.v[i];
        bool exact = ovn_is_exact(m, box);

        if (is_forbidden(m, box)) {
            continue;
        }
        if ((more || !exact) && !told) {
            told = true;
            ovn_warn(m, acl->row, acl->action == OVN_DROP
                     ? "see what the rule denies" : "it does not pass",
                     acl->action == OVN_DROP
                     ? "an intent cannot say all of '%s': more is denied"
                     : "left out: an intent cannot say '%s'", match);
        }
        if (exact || acl->action == OVN_DROP) {
            add_box(m, acl, box);
        }
    }
}

static int
compare_acls(const void *a_, const void *b_)
{
    const struct ovn_acl *a = *(struct ovn_acl *const *) a_;
    const struct ovn_acl *b = *(struct ovn_acl *const *) b_;
    int drop = (a->action != OVN_DROP) - (b->action != OVN_DROP);

    return (a->priority != b->priority ? (a->priority > b->priority ? -1 : 1)
            : drop ? drop : strcmp(a->name, b->name));
}

static bool
boxes_meet(struct ovn *m, const struct ovn_box *a, const struct ovn_box *b)
{
    struct ovn_service common;

    if (!ovn_meet(m, a->from, b->from) || !ovn_meet(m, a->to, b->to)) {
        return false;
    }
    common = ovn_common(m, &a->dst, &b->dst);
    return !ovn_service_is_empty(&common);
}

/* Does an allow above the ACL, in its direction, meet the box? */
static bool
is_overruled(struct ovn *m, const struct ovn_acl *drop,
             const struct ovn_box *box)
{
    for (size_t i = 0; m->acls.v[i]->priority > drop->priority; i++) {
        struct ovn_acl *acl = m->acls.v[i];

        for (size_t j = 0; acl->to_lport == drop->to_lport
             && acl->action != OVN_DROP && j < acl->boxes.n; j++) {
            if (boxes_meet(m, &acl->boxes.v[j], box)) {
                return true;
            }
        }
    }
    return false;
}

/* Takes 'box' off an allow that is below it.  False if it meets it, and a
 * deny rule has to say so. */
static bool
take_off(struct ovn *m, struct ovn_acl *acl, struct ovn_box *allow,
         const struct ovn_box *box, bool overruled)
{
    if (!boxes_meet(m, allow, box)) {
        return true;
    }
    if (ovn_service_has(m, &box->dst, &allow->dst)
        && ovn_has(m, box->from, allow->from)) {
        allow->to = ovn_without(m, allow->to, box->to);
    } else if (ovn_service_has(m, &box->dst, &allow->dst)
               && ovn_has(m, box->to, allow->to)) {
        allow->from = ovn_without(m, allow->from, box->from);
    } else if (overruled) {
        ovn_warn(m, acl->row, "see what passes of it",
                 "left out: an ACL above drops some of it, and one above that "
                 "allows some of that");
        allow->from = allow->to = ovn_empty(m);
    } else {
        return false;
    }
    return true;
}

/* Without an ACL all passes, but where a box is of all. */
static void
close_ports(struct ovn *m, const struct ovn_acl *acl,
            const struct ovn_box *box)
{
    ovn_set *open = &m->open[acl->to_lport];
    const unsigned long *near = acl->to_lport ? box->to : box->from;
    const unsigned long *far = acl->to_lport ? box->from : box->to;
    const unsigned long *families[] = { m->ip4, m->ip6 };

    for (int i = 0; i < 2; i++) {
        if (box->dst.any && ovn_has(m, far, families[i])) {
            *open = ovn_without(m, *open, ovn_and(m, near, families[i]));
        }
    }
}

/* The same where a box is of some, which a deny rule cannot say.  True if the
 * box leaves nothing of what passes without an ACL. */
static bool
leave_open(struct ovn *m, const struct ovn_acl *acl,
           const struct ovn_box *box, bool overruled)
{
    ovn_set *open = &m->open[acl->to_lport];
    const unsigned long *near = acl->to_lport ? box->to : box->from;

    if (ovn_meet(m, *open, near) && overruled) {
        ovn_warn(m, acl->row, "write a rule for what shall pass",
                 "what no ACL speaks of does not pass at its ports: an ACL "
                 "above it allows some of what it drops");
        *open = ovn_without(m, *open, near);
    }
    return !ovn_meet(m, *open, near);
}

static void
apply_drop(struct ovn *m, size_t index, struct ovn_box *box)
{
    struct ovn_acl *drop = m->acls.v[index];
    bool overruled = is_overruled(m, drop, box);

    if (drop->rule && !overruled) {
        box->deny = true;       /* A deny rule of ours. */
        return;
    }
    box->deny = !leave_open(m, drop, box, overruled);
    for (size_t i = index + 1; i < m->acls.n; i++) {
        struct ovn_acl *acl = m->acls.v[i];

        for (size_t j = 0; acl->to_lport == drop->to_lport
             && acl->action != OVN_DROP && j < acl->boxes.n; j++) {
            box->deny |= !take_off(m, acl, &acl->boxes.v[j], box, overruled);
        }
    }
}

/* Where something is tracked, a plain "allow" is tracked too. */
static void
find_tracked(struct ovn *m)
{
    ovn_set tracked = ovn_empty(m);

    for (size_t i = 0; i < m->acls.n; i++) {
        if (m->acls.v[i]->action == OVN_ALLOW) {
            ovn_add(m, tracked, m->acls.v[i]->at);
        }
    }
    for (size_t i = 0; i < m->acls.n; i++) {
        struct ovn_acl *acl = m->acls.v[i];

        if (!strcmp(ovn_string(m, acl->row, "action"), "allow")
            && ovn_has(m, tracked, acl->at)) {
            acl->action = OVN_ALLOW;
        }
    }
}

static void
apply_drops(struct ovn *m)
{
    for (size_t i = 0; i < m->acls.n && !ovn_is_too_much(m); i++) {
        struct ovn_acl *acl = m->acls.v[i];

        for (size_t j = 0; acl->action == OVN_DROP && j < acl->boxes.n;
             j++) {
            if (!acl->boxes.v[j].at_router) {
                apply_drop(m, i, &acl->boxes.v[j]);
            }
        }
    }
}

/* With default_acl_drop, a switch that has an ACL is closed, and so are its
 * ports to routers (northd's build_acls()). */
static void
read_default(struct ovn *m)
{
    const struct ovn_table *global = ovn_table(m, "NB_Global");
    const struct ovn_row *row = global->rows.n ? &global->rows.v[0] : NULL;
    const char *drop = (row ? ovn_key(m, row, "options", "default_acl_drop")
                        : NULL);
    ovn_set open = ovn_and(m, NULL, NULL);

    m->default_drop = drop && !strcasecmp(drop, "true");
    for (size_t i = 0; m->default_drop && i < m->acls.n; i++) {
        open = ovn_without(m, open, m->acls.v[i]->at);
    }
    if (m->default_drop && m->acls.n) {
        ovn_warn(m, row, "see what shall pass",
                 "default_acl_drop: at switches "
                 "with ACLs nothing passes by their routers; OVN 23.03 drops "
                 "also what ACLs allow, and the intent does not");
    }
    for (int i = 0; i < 2; i++) {
        m->open[i] = ovn_and(m, open, NULL);
    }
}

void
ovn_read_acls(struct ovn *m)
{
    struct shash acls = SHASH_INITIALIZER(&acls);

    collect(m, &acls);
    shash_destroy(&acls);
    find_tracked(m);
    read_default(m);
    for (size_t i = 0; i < m->acls.n; i++) {
        read_match(m, m->acls.v[i]);
    }
    if (m->acls.n) {
        qsort(m->acls.v, m->acls.n, sizeof *m->acls.v, compare_acls);
    }
    for (size_t i = 0; i < m->acls.n; i++) {
        struct ovn_acl *acl = m->acls.v[i];

        for (size_t j = 0; acl->action == OVN_DROP && j < acl->boxes.n;
             j++) {
            if (!acl->boxes.v[j].at_router) {
                close_ports(m, acl, &acl->boxes.v[j]);
            }
        }
    }
    apply_drops(m);
    ovn_join_families(m);
}
