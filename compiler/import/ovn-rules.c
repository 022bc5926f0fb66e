/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <stdlib.h>
#include <string.h>

#include "sset.h"
#include "util.h"

/* Both directions together.  Rows of one rule of ours belong together; others
 * allow what one of each direction does, and where no ACL speaks, "open". */

#define OPEN "open"

/* What ACLs of one rule of ours allow by direction, or all others'. */
struct group {
    const char *rule;           /* NULL: others'. */
    VEC(const struct ovn_acl *) from, to;
};

struct rules {
    struct ovn *m;
    struct shash groups, origins;
};

static struct ovn_origin *
get_origin(struct rules *r, const char *rule, const char *name,
           const struct ovn_row *row, bool deny)
{
    const char *key = arena_printf(r->m->arena, "%s %s",
                                   deny ? "deny" : "allow",
                                   rule ? rule : name);
    struct ovn_origin *origin = shash_find_data(&r->origins, key);

    if (!origin) {
        origin = arena_zalloc(r->m->arena, sizeof *origin);
        *origin = (struct ovn_origin) { .rule = rule, .name = name,
                                        .row = row, .deny = deny };
        shash_add(&r->origins, key, origin);
    }
    return origin;
}

/* What one ACL of each direction allows, or one and none. */
static void
meet(struct rules *r, const struct ovn_acl *from, const struct ovn_acl *to)
{
    const struct ovn_row *row = from->row ? from->row : to->row;
    const char *rule = from->rule ? from->rule : to->rule;
    const char *name = (!from->row ? to->name : !to->row ? from->name
                        : arena_printf(r->m->arena, "%s.%s", from->name,
                                       to->name));

    for (size_t i = 0; i < from->boxes.n; i++) {
        for (size_t j = 0; j < to->boxes.n; j++) {
            const struct ovn_box *a = &from->boxes.v[i], *b = &to->boxes.v[j];
            struct ovn_box box = { .src = ovn_any };

            if (!ovn_meet(r->m, a->from, b->from)
                || !ovn_meet(r->m, a->to, b->to)) {
                continue;
            }
            box.dst = ovn_common(r->m, &a->dst, &b->dst);
            if (!ovn_service_is_empty(&box.dst)) {
                struct ovn_origin *o = get_origin(r, rule, name, row, false);

                box.from = ovn_and(r->m, a->from, b->from);
                box.to = ovn_and(r->m, a->to, b->to);
                box.stateless = a->stateless || b->stateless;
                box.back = a->back || b->back;
                *vec_push(r->m->arena, &o->boxes) = box;
            }
        }
    }
}

static void
meet_groups(struct rules *r, const struct group *from, const struct group *to)
{
    for (size_t i = 0; i < from->from.n; i++) {
        for (size_t j = 0; j < to->to.n && !ovn_is_too_much(r->m); j++) {
            meet(r, from->from.v[i], to->to.v[j]);
        }
    }
}

static void
add_to_group(struct rules *r, const struct ovn_acl *acl)
{
    const char *key = acl->rule ? acl->rule : "";
    struct group *group = shash_find_data(&r->groups, key);

    if (!group) {
        group = arena_zalloc(r->m->arena, sizeof *group);
        group->rule = acl->rule;
        shash_add(&r->groups, key, group);
    }
    if (acl->to_lport) {
        *vec_push(r->m->arena, &group->to) = acl;
    } else {
        *vec_push(r->m->arena, &group->from) = acl;
    }
}

static void
add_denied(struct rules *r, const struct ovn_acl *acl)
{
    for (size_t i = 0; i < acl->boxes.n; i++) {
        if (acl->boxes.v[i].deny) {
            struct ovn_origin *o = get_origin(r, acl->rule, acl->name,
                                              acl->row, true);

            *vec_push(r->m->arena, &o->boxes) = acl->boxes.v[i];
        }
    }
}

/* Without an ACL all passes. */
static void
add_open(struct rules *r)
{
    for (int i = 0; i < 2; i++) {
        struct ovn_acl *acl = arena_zalloc(r->m->arena, sizeof *acl);
        struct ovn_box *box = ovn_add_box(r->m, &acl->boxes);

        acl->name = OPEN;
        acl->to_lport = i;
        box->from = ovn_and(r->m, i ? NULL : r->m->open[0], NULL);
        box->to = ovn_and(r->m, i ? r->m->open[1] : NULL, NULL);
        if (!ovn_is_empty(r->m, r->m->open[i])) {
            add_to_group(r, acl);
        }
    }
}

static void
find_origins(struct rules *r)
{
    struct group *others;
    struct shash_node *node;

    for (size_t i = 0; i < r->m->acls.n; i++) {
        const struct ovn_acl *acl = r->m->acls.v[i];

        if (acl->action == OVN_DROP) {
            add_denied(r, acl);
        } else {
            add_to_group(r, acl);
        }
    }
    add_open(r);
    others = shash_find_data(&r->groups, "");
    SHASH_FOR_EACH (node, &r->groups) {
        struct group *group = node->data;

        meet_groups(r, group, group);
        if (others && group != others) {
            meet_groups(r, group, others);
            meet_groups(r, others, group);
        }
    }
}

/* May all endpoints of the tenant reach each other by what 'o' stands for, and
 * does that stand for its "default"? */
static bool
is_default(struct ovn *m, const struct ovn_origin *o,
           const struct ovn_tenant *tenant)
{
    if (o->rule) {
        return !strcmp(o->rule, arena_printf(m->arena, "%s/(default)",
                                             tenant->name));
    }
    return (!strcmp(o->name, OPEN) && ovn_has(m, m->open[0], tenant->own)
            && ovn_has(m, m->open[1], tenant->own));
}

static void
take_defaults(struct ovn *m, const struct ovn_origin *o, ovn_rows *rows)
{
    for (size_t i = 0; i < m->tenants.n; i++) {
        const struct ovn_tenant *tenant = m->tenants.v[i];

        if (is_default(m, o, tenant)
            && ovn_rows_has_tenant(m, rows, tenant)) {
            sset_add(m->defaults, tenant->name);
            ovn_rows_cut_tenant(m, rows, tenant);
        }
    }
}

/* What is left out of what 'o' allows. */
static void
tell_remedy(struct ovn *m, const struct ovn_origin *o, const char *cause,
            const char *remedy)
{
    if (o->row) {
        ovn_warn(m, o->row, remedy, "left out: %s", cause);
    } else {
        struct diag *d = diag_warning(m->diags, (struct span) { NULL, 0, 0 },
                                      NULL, "where no ACL speaks, left out: "
                                      "%s", cause);

        diag_remedy(m->diags, d, "%s", remedy);
    }
}

static void
tell(struct ovn *m, const struct ovn_origin *o, const char *cause)
{
    tell_remedy(m, o, cause, "write a rule for it, if it shall pass");
}

/* The same of endpoints that are selected with all their addresses; of an ACL
 * once, whatever ACLs of the other direction it meets. */
static void
tell_gap(struct ovn *m, const struct ovn_origin *o, const char *gap)
{
    if (sset_add(m->gaps, o->row ? ovn_uuid(m, o->row) : OPEN)) {
        tell_remedy(m, o, arena_printf(
            m->arena, "%s, and a rule is of all addresses of its endpoints",
            gap), "write ACLs that allow the same of all, or give the other "
            "addresses to ports of their own");
    }
}

static void
emit(struct ovn *m, const struct ovn_origin *o,
     const struct ovn_service *service, const ovn_rows *rows, bool once)
{
    ovn_pairs pairs = VEC_INIT;

    if (!o->deny || !ovn_rows_product(m, rows, &pairs)) {
        pairs = ovn_rows_pairs(m, rows, once);
    }
    if (pairs.n) {
        ovn_emit(m, o, service, &pairs);
    }
}

/* Of the boxes, those that are said the way a rule has them. */
static ovn_boxes
forwards(struct ovn *m, const ovn_boxes *boxes)
{
    ovn_boxes out = VEC_INIT;

    for (size_t i = 0; i < boxes->n; i++) {
        if (!boxes->v[i].back) {
            *vec_push(m->arena, &out) = boxes->v[i];
        }
    }
    return out;
}

/* Of services without direction, each by itself; 'covered' has said them. */
static void
write_both_ways(struct ovn *m, const struct ovn_origin *o,
                const ovn_rows *covered)
{
    struct ovn_service all = ovn_both_ways(m, &ovn_any);
    ovn_boxes boxes = forwards(m, &o->boxes);

    for (size_t i = 0; i < all.udp.n; i++) {
        struct ovn_service one = { .any = false };
        ovn_rows rows, forward;

        *vec_push(m->arena, &one.udp) = all.udp.v[i];
        ovn_rows_init(m, &rows);
        ovn_rows_init(m, &forward);
        ovn_rows_add(m, &rows, &o->boxes, &one, true, o->deny);
        ovn_rows_add(m, &forward, &boxes, &one, true, o->deny);
        if (!o->deny) {
            ovn_rows_close(m, &rows);
        }
        ovn_rows_cut(m, &rows, covered, true);
        ovn_rows_keep(m, &forward, &rows);
        emit(m, o, &one, &forward, true);
        ovn_rows_cut(m, &rows, &forward, true);
        emit(m, o, &one, &rows, true);
        ovn_rows_destroy(m, &forward);
        ovn_rows_destroy(m, &rows);
    }
}

/* Finds who may send each other all that has no direction. */
static void
find_both(struct ovn *m, const struct ovn_origin *o, ovn_rows *both)
{
    struct ovn_service all = ovn_both_ways(m, &ovn_any);

    ovn_rows_init(m, both);
    ovn_rows_add(m, both, &o->boxes, &all, true, o->deny);
    if (!o->deny) {
        ovn_rows_close(m, both);
    }
}

/* Writes what passes by everything, where what has no direction does so both
 * ways, and adds it to 'covered'.  A peering names a service. */
static void
write_any(struct ovn *m, const struct ovn_origin *o, const ovn_rows *both,
          ovn_rows *covered)
{
    ovn_rows any;

    ovn_rows_init(m, &any);
    ovn_rows_add(m, &any, &o->boxes, &ovn_any, false, o->deny);
    if (!o->deny) {
        ovn_rows_cut_between(m, &any);
    }
    if (o->deny || ovn_rows_has(m, both, &any)) {
        ovn_rows_join(m, covered, &any);
        take_defaults(m, o, &any);
        emit(m, o, &ovn_any, &any, false);
    }
    ovn_rows_destroy(m, &any);
}

/* Is the service of an earlier box? */
static bool
is_earlier(struct ovn *m, const struct ovn_origin *o, size_t i,
           const struct ovn_service *service)
{
    for (size_t j = 0; j < i; j++) {
        struct ovn_service s = ovn_one_way(m, &o->boxes.v[j].dst);

        if (o->boxes.v[j].stateless == o->boxes.v[i].stateless
            && ovn_service_has(m, &s, service)
            && ovn_service_has(m, service, &s)) {
            return true;
        }
    }
    return false;
}

/* Is there a pair in one that is not in the other, either way? */
static bool
is_more(struct ovn *m, const ovn_rows *rows, const ovn_rows *both)
{
    ovn_rows rest;
    bool more;

    ovn_rows_init(m, &rest);
    ovn_rows_join(m, &rest, rows);
    ovn_rows_cut(m, &rest, both, true);
    more = ovn_rows_pairs(m, &rest, false).n > 0;
    ovn_rows_destroy(m, &rest);
    return more;
}

static bool
is_between_tenants(struct ovn *m, const ovn_rows *rows)
{
    ovn_rows within;
    bool between;

    ovn_rows_init(m, &within);
    ovn_rows_join(m, &within, rows);
    ovn_rows_cut_between(m, &within);
    between = !ovn_rows_has(m, &within, rows);
    ovn_rows_destroy(m, &within);
    return between;
}

static void
write_one_way(struct ovn *m, const struct ovn_origin *o, const ovn_rows *both,
              const ovn_rows *covered)
{
    const char *gap = NULL;
    bool told = false;

    for (size_t i = 0; i < o->boxes.n; i++) {
        const struct ovn_box *box = &o->boxes.v[i];
        struct ovn_service service = ovn_one_way(m, &box->dst);
        const char *left;
        ovn_rows rows;

        if (ovn_service_is_empty(&service)
            || is_earlier(m, o, i, &service)) {
            continue;
        }
        if (box->stateless) {
            if (!told) {
                tell(m, o, "what is not tracked and has a direction");
            }
            told = true;
            continue;
        }
        ovn_rows_init(m, &rows);
        left = ovn_rows_add(m, &rows, &o->boxes, &service, false, o->deny);
        gap = gap ? gap : left;
        ovn_rows_cut(m, &rows, covered, false);
        if (box->dst.any && !o->deny && is_more(m, &rows, both)) {
            tell(m, o, "UDP ports 1000, 4791 and 4793, which have no "
                 "direction, and what is not TCP, UDP or ICMP");
        } else if (box->dst.any && !o->deny && is_between_tenants(m, &rows)) {
            tell(m, o,
                 "what is not TCP, UDP, ICMP or ESP, between tenants");
        }
        emit(m, o, &service, &rows, false);
        ovn_rows_destroy(m, &rows);
    }
    if (gap) {
        tell_gap(m, o, gap);
    }
}

/* What one rule of ours says. */
static void
write_own(struct ovn *m, struct ovn_origin *o)
{
    ovn_rows both, covered;

    find_both(m, o, &both);
    ovn_rows_init(m, &covered);
    write_any(m, o, &both, &covered);
    write_one_way(m, o, &both, &covered);
    write_both_ways(m, o, &covered);
    ovn_rows_destroy(m, &covered);
    ovn_rows_destroy(m, &both);
}

/* What has no direction may pass one way by one ACL of others, and the other
 * way by another. */
static void
write_others(struct ovn *m, const struct shash_node **nodes, size_t n)
{
    struct ovn_origin all = { .name = "both-ways" };
    ovn_rows both, covered;

    for (size_t i = 0; i < n; i++) {
        const struct ovn_origin *o = nodes[i]->data;

        for (size_t j = 0; !o->rule && !o->deny && j < o->boxes.n; j++) {
            *vec_push(m->arena, &all.boxes) = o->boxes.v[j];
        }
    }
    find_both(m, &all, &both);
    ovn_rows_init(m, &covered);
    for (int any = 1; any >= 0; any--) {
        for (size_t i = 0; i < n && !ovn_is_too_much(m); i++) {
            const struct ovn_origin *o = nodes[i]->data;

            if (!o->rule && !o->deny && any) {
                write_any(m, o, &both, &covered);
            } else if (!o->rule && !o->deny) {
                write_one_way(m, o, &both, &covered);
            }
        }
    }
    write_both_ways(m, &all, &covered);
    ovn_rows_destroy(m, &covered);
    ovn_rows_destroy(m, &both);
}

void
ovn_write_rules(struct ovn *m)
{
    struct rules r = {
        .m = m,
        .groups = SHASH_INITIALIZER(&r.groups),
        .origins = SHASH_INITIALIZER(&r.origins),
    };
    const struct shash_node **nodes;

    find_origins(&r);
    nodes = shash_sort(&r.origins);
    for (size_t i = 0; i < shash_count(&r.origins)
         && !ovn_is_too_much(m); i++) {
        struct ovn_origin *o = nodes[i]->data;

        ovn_join(m, &o->boxes);
        if (o->rule || o->deny) {
            write_own(m, o);
        }
    }
    write_others(m, nodes, shash_count(&r.origins));
    free(nodes);
    shash_destroy(&r.origins);
    shash_destroy(&r.groups);
    if (ovn_is_too_much(m)) {
        struct diag *d = diag_error(m->diags, (struct span) { NULL, 0, 0 },
                                    NULL, "too many ACLs meet each other");

        diag_remedy(m->diags, d, "import parts of the database apart that "
                    "have nothing to do with each other");
    }
}
