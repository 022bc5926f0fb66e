/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/upcalls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "intent/units.h"
#include "openvswitch/dynamic-string.h"
#include "push/control.h"
#include "push/run.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

/* What follows the name of a group, as the switch says it. */
#define SCAN_GROUP ",rate=%"SCNu32",burst=%"SCNu32",admitted=%*[0-9]" \
                   ",dropped=%"SCNu64",ports=%n"

/* The datapath of the bridge, and of all others of its type. */
static const char *
datapath(const struct push *push)
{
    return arena_printf(push->arena, "ovs-%s", push->info.datapath_type);
}

/* The names of the bridge's groups, up to the number. */
static const char *
prefix(const struct push *push)
{
    return arena_printf(push->arena, "bulkhead/%s/", push->target->bridge);
}

void
upcalls_init(struct upcalls *upcalls)
{
    *upcalls = (struct upcalls) { .arena = NULL };
    shash_init(&upcalls->live);
}

static void
clear(struct upcalls *upcalls)
{
    shash_clear(&upcalls->live);
    arena_destroy(upcalls->arena);
    upcalls->arena = NULL;
}

void
upcalls_destroy(struct upcalls *upcalls)
{
    clear(upcalls);
    shash_destroy(&upcalls->live);
}

/* Makes 'limit', or none, the live one of the group. */
static void
put_live(struct upcalls *upcalls, const char *group,
         const struct upcall_limit *limit)
{
    struct upcall_limit *copy;

    shash_find_and_delete(&upcalls->live, group);
    if (!limit) {
        return;
    }
    if (!upcalls->arena) {
        upcalls->arena = arena_create();
    }
    copy = arena_zalloc(upcalls->arena, sizeof *copy);
    *copy = *limit;
    copy->ports = arena_strdup(upcalls->arena, limit->ports);
    shash_add(&upcalls->live, group, copy);
}

bool
upcalls_are_of(const struct switch_state *state)
{
    const struct flow_entry *flow;

    HMAP_FOR_EACH (flow, limit, &state->limits) {
        if (flow_is_ours(flow)) {
            return true;
        }
    }
    return false;
}

/* Takes a line of what the switch says, if it is about a group of ours. */
static void
take_line(struct push *push, const char *line, size_t length)
{
    const char *text = arena_strndup(push->arena, line, length);
    const char *ours = arena_printf(push->arena, "group=%s", prefix(push));
    const char *end = text + strcspn(text, ",");
    struct upcall_limit limit;
    int n;

    if (!strncmp(text, ours, strlen(ours))
        && ovs_scan(end, SCAN_GROUP, &limit.rate, &limit.burst,
                    &limit.dropped, &n)) {
        limit.ports = end + n;
        text += strlen("group=");
        put_live(&push->limits.upcalls,
                 arena_strndup(push->arena, text, end - text), &limit);
    }
}

const char *
upcalls_read(struct push *push)
{
    const char *const arguments[] = { datapath(push) };
    bool wanted = upcalls_are_of(&push->wanted);
    const char *answer, *reason;

    clear(&push->limits.upcalls);
    reason = control_ask("dpif-netdev/upcall-limit-show", arguments,
                         ARRAY_SIZE(arguments), push->deadline, push->arena,
                         &answer);
    if (reason && strstr(reason, "not a valid command")) {
        return (wanted ? arena_printf(
                    push->arena, "bridge %s is on an Open vSwitch that cannot "
                    "limit the upcalls of a tenant; run the ovs-vswitchd with "
                    "Bulkhead's patches there, or take \"upcalls\" off "
                    "\"limits\"", push->target->bridge) : NULL);
    } else if (reason) {
        return (wanted || upcalls_are_of(&push->live)
                ? arena_printf(push->arena, "bridge %s: %s",
                               push->target->bridge, reason) : NULL);
    }
    while (*answer) {
        size_t length = strcspn(answer, "\n");

        take_line(push, answer, length);
        answer += length + (answer[length] == '\n');
    }
    return NULL;
}

/* The limit of the flow's tenant, by the wanted flows that have one. */
static const struct upcall_limit *
wanted_limit(struct push *push, const struct flow_entry *of)
{
    struct upcall_limit *limit = arena_zalloc(push->arena, sizeof *limit);
    struct sset ports = SSET_INITIALIZER(&ports);
    struct ds list = DS_EMPTY_INITIALIZER;
    const struct flow_entry *flow;
    const char **sorted;

    limit->rate = of->upcall_rate;
    limit->burst = of->upcall_burst;
    HMAP_FOR_EACH_WITH_HASH (flow, limit, of->limit.hash,
                             &push->wanted.limits) {
        if (flow->limited == of->limited && flow->port) {
            sset_add(&ports, flow->port);
        }
    }
    sorted = sset_sort(&ports);
    for (size_t i = 0; i < sset_count(&ports); i++) {
        ds_put_format(&list, "%s%s", i ? " " : "", sorted[i]);
    }
    limit->ports = arena_strdup(push->arena, ds_cstr(&list));
    free(sorted);
    ds_destroy(&list);
    sset_destroy(&ports);
    return limit;
}

static bool
same_limit(const struct upcall_limit *a, const struct upcall_limit *b)
{
    return (a && b ? (a->rate == b->rate && a->burst == b->burst
                      && !strcmp(a->ports, b->ports)) : a == b);
}

static void
add_change(struct push *push, const char *group, uint32_t tenant,
           const struct upcall_limit *is)
{
    struct upcalls *upcalls = &push->limits.upcalls;
    const struct upcall_limit *was = shash_find_data(&upcalls->live, group);

    if (!same_limit(was, is)) {
        *vec_push(push->arena, &upcalls->changes) = (struct upcall_change) {
            .group = group, .tenant = tenant, .was = was, .is = is,
        };
        push->diff->limits_set += is != NULL;
        push->diff->limits_deleted += !is;
    }
}

static int
compare_groups(const void *a_, const void *b_)
{
    const struct upcall_change *a = a_, *b = b_;

    return strcmp(a->group, b->group);
}

void
upcalls_forget(struct push *push)
{
    memset(&push->limits.upcalls.changes, 0,
           sizeof push->limits.upcalls.changes);
}

void
upcalls_compare(struct push *push)
{
    struct upcalls *upcalls = &push->limits.upcalls;
    struct sset wanted = SSET_INITIALIZER(&wanted);
    const struct flow_entry *flow;
    struct shash_node *node;

    HMAP_FOR_EACH (flow, limit, &push->wanted.limits) {
        const char *group = arena_printf(push->arena, "%s%#"PRIx32,
                                         prefix(push), flow->limited);

        if (sset_add(&wanted, group)) {
            add_change(push, group, flow->limited, wanted_limit(push, flow));
        }
    }
    SHASH_FOR_EACH (node, &upcalls->live) {
        if (!sset_contains(&wanted, node->name)) {
            add_change(push, arena_strdup(push->arena, node->name),
                       upcalls_tenant(node->name), NULL);
        }
    }
    sset_destroy(&wanted);
    if (upcalls->changes.n) {
        qsort(upcalls->changes.v, upcalls->changes.n,
              sizeof *upcalls->changes.v, compare_groups);
    }
}

const char *
upcalls_text(struct arena *arena, const struct upcall_change *change,
             const struct upcall_limit *limit)
{
    return arena_printf(arena, "%s %"PRIu32" %"PRIu32" %s", change->group,
                        limit->rate, limit->burst, limit->ports);
}

/* Gives one group its limit. */
static const char *
set_group(struct push *push, const struct upcall_change *change,
          const struct upcall_limit *limit, long long int deadline)
{
    const char *answer, *token;
    VEC(const char *) arguments = VEC_INIT;
    char *rest = arena_strdup(push->arena, upcalls_text(push->arena, change,
                                                        limit));

    *vec_push(push->arena, &arguments) = datapath(push);
    while ((token = strsep(&rest, " ")) != NULL) {
        if (token[0]) {
            *vec_push(push->arena, &arguments) = token;
        }
    }
    return control_ask("dpif-netdev/upcall-limit-set", arguments.v,
                       arguments.n, deadline, push->arena, &answer);
}

static const char *
delete_group(struct push *push, const struct upcall_change *change,
             long long int deadline)
{
    const char *const arguments[] = { datapath(push), change->group };
    const char *answer;

    return control_ask("dpif-netdev/upcall-limit-del", arguments,
                       ARRAY_SIZE(arguments), deadline, push->arena, &answer);
}

const char *
upcalls_set(struct push *push)
{
    const struct upcalls *upcalls = &push->limits.upcalls;

    for (size_t i = 0; i < upcalls->changes.n; i++) {
        const struct upcall_change *c = &upcalls->changes.v[i];
        const char *reason = (c->is ? set_group(push, c, c->is, push->deadline)
                              : NULL);

        if (reason) {
            return reason;
        }
    }
    return NULL;
}

void
upcalls_undo(struct push *push, long long int deadline)
{
    const struct upcalls *upcalls = &push->limits.upcalls;

    for (size_t i = 0; i < upcalls->changes.n; i++) {
        const struct upcall_change *c = &upcalls->changes.v[i];

        if (c->is && c->was) {
            set_group(push, c, c->was, deadline);
        } else if (c->is) {
            delete_group(push, c, deadline);
        }
    }
}

void
upcalls_settle(struct push *push)
{
    struct upcalls *upcalls = &push->limits.upcalls;

    for (size_t i = 0; i < upcalls->changes.n; i++) {
        const struct upcall_change *c = &upcalls->changes.v[i];
        const char *reason = (c->is ? NULL
                              : delete_group(push, c, push->deadline));

        if (reason) {
            *vec_push(push->arena, &push->diff->warnings) = arena_printf(
                push->arena, "a limit of upcalls stays that nobody wants, %s: "
                "%s", c->group, reason);
        } else {
            put_live(upcalls, c->group, c->is);
        }
    }
    upcalls_forget(push);
}

uint32_t
upcalls_tenant(const char *group)
{
    return strtoul(strrchr(group, '/') + 1, NULL, 16);
}

const char *
upcalls_name(const struct plan *plan, const struct upcall_change *change)
{
    for (size_t i = 0; i < plan->tenants.n; i++) {
        if (plan->tenants.v[i].number == change->tenant) {
            return plan->tenants.v[i].name;
        }
    }
    return NULL;
}

const char *
upcalls_title(const struct push *push, const struct plan *old,
              const struct upcall_change *change)
{
    const char *name = upcalls_name(push->plan, change);

    name = name || !old ? name : upcalls_name(old, change);
    return (name ? arena_printf(push->arena, "%s (upcalls)", name)
            : change->group);
}

const char *
upcalls_words(struct arena *arena, const struct upcall_limit *limit)
{
    struct ds words = DS_EMPTY_INITIALIZER;
    size_t n_ports;
    const char *s;

    if (!limit) {
        return NULL;
    }
    n_ports = limit->ports[0] ? 1 : 0;
    for (s = limit->ports; *s; s++) {
        n_ports += *s == ' ';
    }
    format_packet_rate(limit->rate, &words);
    ds_put_cstr(&words, ", burst ");
    format_packets(limit->burst, &words);
    ds_put_format(&words, ", %"PRIuSIZE" interface%s", n_ports,
                  n_ports == 1 ? "" : "s");
    s = arena_strdup(arena, ds_cstr(&words));
    ds_destroy(&words);
    return s;
}
