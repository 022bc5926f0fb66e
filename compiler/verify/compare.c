/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "packets.h"
#include "sema/ident.h"
#include "sema/interface.h"
#include "util.h"

enum { MAX_LISTED = 8 };

/* The effects on one packet, or one copy of it, by kind. */
struct passage {
    uint64_t tracks[MAX_LISTED], commits[MAX_LISTED], meters[MAX_LISTED];
    size_t n_tracks, n_commits, n_meters;
    const struct asked *asked;  /* See EFFECT_ASKED; or NULL. */
    size_t n_rules;             /* After that: one decides. */
    uint64_t rule, end;         /* Cookies. */
    bool ended, broken;
    const struct out *out;
    size_t n_out;
};

void
comparison_init(struct comparison *c, const struct verify_task *task,
                const struct intent_node *node, struct arena *arena)
{
    *c = (struct comparison) {
        .task = task, .arena = arena, .node = node,
        .tunnel = table_set_port(task->tables, INTERFACE_TUNNEL),
    };
    hmap_init(&c->usages);
    memo_init(&c->numbers);
    memo_init(&c->meters);
}

void
comparison_destroy(struct comparison *c)
{
    hmap_destroy(&c->usages);
    memo_destroy(&c->numbers);
    memo_destroy(&c->meters);
}

static void
add(struct passage *p, uint64_t v[], size_t *n, uint64_t value)
{
    if (*n < MAX_LISTED) {
        v[(*n)++] = value;
    } else {
        p->broken = true;
    }
}

/* Reads effects up to one that it does not know, or a copy's end. */
static size_t
read_passage(const struct comparison *c, const struct effect *e, size_t n,
             struct passage *p)
{
    size_t i;

    memset(p, 0, sizeof *p);
    for (i = 0; i < n; i++) {
        switch (e[i].kind) {
        case EFFECT_RULE:
            p->rule = e[i].arg;
            p->broken |= p->asked && p->n_rules++;
            break;
        case EFFECT_METER:
            add(p, p->meters, &p->n_meters, e[i].arg);
            p->broken |= p->n_out > 0;
            break;
        case EFFECT_TRACK: add(p, p->tracks, &p->n_tracks, e[i].arg); break;
        case EFFECT_COMMIT:
            add(p, p->commits, &p->n_commits, e[i].arg);
            break;
        case EFFECT_OUT:
            p->out = effects_out(c->effects, e[i].arg);
            p->n_out++;
            break;
        case EFFECT_END:
            p->end = e[i].arg;
            p->ended = true;
            break;
        case EFFECT_ASKED:
            p->broken |= p->asked != NULL;
            p->asked = effects_asked(c->effects, e[i].arg);
            break;
        case EFFECT_TTL: case EFFECT_MISS: case EFFECT_TAIL:
        case EFFECT_AMBIGUOUS:
            p->broken = true;
            break;
        case EFFECT_OPEN: case EFFECT_CLOSE:
            return i;
        }
    }
    return i;
}

ofp_port_t
compare_port(const struct comparison *c, const char *interface)
{
    return ofputil_port_map_get_number(c->task->tables->ports, interface);
}

const char *
compare_rule(const struct comparison *c, uint64_t cookie, uint32_t rules,
             uint32_t reason)
{
    size_t n;
    const struct policy_rule *const *v = expect_rules(c->judge, rules, &n);

    for (size_t i = 0; i < n; i++) {
        if ((COOKIE_MARK | v[i]->id) == cookie) {
            return NULL;
        }
    }
    return (!n && cookie == (reason ? COOKIE_MARK | reason : 0) ? NULL
            : arena_printf(c->arena, "cookie %#"PRIx64" says that another "
                           "rule or reason decides", cookie));
}

static const char *
compare_zones(struct comparison *c, const struct passage *p,
              const struct expect *e)
{
    size_t n = 0, n_commits = 0;

    for (; n < 2 && e->zones[n]; n++) {
        struct usage zone = { .kind = USE_ZONE, .tenant = e->zones[n] };

        if (n >= p->n_tracks) {
            return arena_printf(c->arena, "it is not tracked in the zone of "
                                "%s", e->zones[n]->name);
        }
        zone.value = p->tracks[n];
        if (!usage_is_usual(c, zone)) {
            return arena_printf(c->arena, "it is tracked in zone %"PRIu64", "
                                "not in that of %s", zone.value,
                                e->zones[n]->name);
        }
        if (e->commit[n]) {
            struct usage mark = {
                .kind = USE_MARK, .zone = p->tracks[n],
            };
            uint64_t commit = (n_commits < p->n_commits
                               ? p->commits[n_commits++] : UINT64_MAX);

            mark.value = commit >> 16;
            if ((commit & UINT16_MAX) != p->tracks[n] || commit == UINT64_MAX
                || !usage_is_usual(c, mark)) {
                return arena_printf(c->arena, "its connection is not noted "
                                    "in the zone of %s as its own",
                                    e->zones[n]->name);
            }
        }
    }
    return (n < p->n_tracks ? "it is tracked in one more zone"
            : n_commits < p->n_commits
            ? "its connection is noted once more" : NULL);
}

/* Of what one gets: the packet, or a copy. */
static const char *
compare_delivery(struct comparison *c, const struct passage *p,
                 const struct expect *e, const struct expect_copy *copy,
                 enum verify_kind *kind)
{
    const struct out *expected = compare_delivered(c, e, copy);
    const char *wrong = compare_out(c, p->out, expected);

    if (wrong) {
        *kind = (p->out->port == expected->port ? VERIFY_MEANING
                 : compare_wrong_port(c, e, p->out->port));
        return wrong;
    }
    *kind = VERIFY_METER;
    wrong = compare_meters(c, p->meters, p->n_meters, e, copy);
    if (!wrong) {
        *kind = VERIFY_MEANING;
        wrong = compare_rule(c, p->rule, copy->rules, 0);
    }
    return wrong;
}

/* What is dropped may have been tracked, but in no other zone than that which
 * is to decide: there it would change what is known of connections. */
static const char *
compare_zones_of_denied(struct comparison *c, const struct passage *p,
                        const struct expect *e)
{
    for (size_t i = 0; i < p->n_tracks; i++) {
        struct usage zone = { .kind = USE_ZONE, .value = p->tracks[i] };

        zone.tenant = i < ARRAY_SIZE(e->zones) ? e->zones[i] : NULL;
        if (!zone.tenant || !usage_is_usual(c, zone)) {
            return arena_printf(c->arena, "it is dropped, but tracked in zone "
                                "%"PRIu64, zone.value);
        }
    }
    return NULL;
}

static const char *
compare_denied(struct comparison *c, const struct passage *p,
               uint32_t rules, uint32_t reason, const struct expect *e,
               enum verify_kind *kind)
{
    *kind = VERIFY_MEANING;
    if (p->n_out) {
        *kind = (reason == REASON_SPOOF ? VERIFY_SPOOF
                 : reason == REASON_UNKNOWN_PEER ? VERIFY_TUNNEL
                 : compare_wrong_port(c, e, p->out->port));
        return arena_printf(c->arena, "it goes to port %s",
                            compare_port_name(c, p->out->port));
    } else if (p->n_commits) {
        return "its connection is noted";
    } else if (p->n_meters) {
        *kind = VERIFY_METER;
        return "it is dropped, but passes a meter";
    } else if (compare_zones_of_denied(c, p, e)) {
        return compare_zones_of_denied(c, p, e);
    } else if (p->broken || !p->ended) {
        return "it ends at no flow that says why";
    }
    return e->any_reason ? NULL : compare_rule(c, p->end, rules, reason);
}

static const char *
compare_copies(struct comparison *c, const struct effect *e, size_t n,
               const struct expect *expect, enum verify_kind *kind)
{
    size_t n_copies, i = 0;
    const struct expect_copy *copies = expect_copies(c->judge,
                                                     expect->copies,
                                                     &n_copies);

    *kind = VERIFY_MEANING;
    for (size_t k = 0; k < n_copies; k++) {
        const struct expect_copy *copy = &copies[k];
        const char *wrong;
        struct passage p;

        if (i >= n || e[i].kind != EFFECT_OPEN) {
            *kind = copy->allow ? VERIFY_BLACK_HOLE : VERIFY_MEANING;
            return arena_printf(c->arena, "there is no copy for %s",
                                copy->to->name);
        }
        i += 1 + read_passage(c, e + i + 1, n - i - 1, &p);
        if (copy->allow && (p.n_out != 1 || p.broken)) {
            *kind = VERIFY_BLACK_HOLE;
            return arena_printf(c->arena, "the copy for %s does not arrive",
                                copy->to->name);
        }
        wrong = (copy->allow ? compare_delivery(c, &p, expect, copy, kind)
                 : compare_denied(c, &p, copy->rules, copy->reason, expect,
                                  kind));
        if (wrong) {
            return arena_printf(c->arena, "of the copy for %s: %s",
                                copy->to->name, wrong);
        } else if (p.n_tracks + p.n_commits) {
            return "a copy is tracked";
        } else if (i < n && e[i].kind == EFFECT_CLOSE) {
            i++;
        }
    }
    return i < n ? "there are more copies" : NULL;
}

static const char *
compare_allowed(struct comparison *c, const struct passage *p,
                const struct expect *e, enum verify_kind *kind)
{
    struct expect_copy only = {
        .to = e->to, .kept = e->kept, .rules = e->rules, .dscp = e->dscp,
        .queue = e->queue,
    };
    const char *wrong;

    *kind = VERIFY_BLACK_HOLE;
    if (!p->n_out) {
        return "it does not arrive";
    } else if (p->n_out > 1 || p->broken) {
        *kind = VERIFY_LEAK;
        return "it leaves twice";
    } else if (e->answered) {
        struct out expected = compare_answer(c, e);

        *kind = VERIFY_MEANING;
        wrong = compare_out(c, p->out, &expected);
        return (wrong ? wrong : p->n_meters || p->n_tracks || p->n_commits
                ? "it is metered or tracked" : NULL);
    }
    wrong = compare_delivery(c, p, e, &only, kind);
    if (!wrong) {
        *kind = VERIFY_MEANING;
        wrong = compare_zones(c, p, e);
    }
    return wrong;
}

/* Takes the meter that counts packets off the effects. */
static const char *
compare_counter(struct comparison *c, const struct effect **e, size_t *n,
                const struct expect *expect)
{
    struct usage usage = { .kind = USE_COUNTER, .tenant = expect->counted };

    if (!expect->counted) {
        return NULL;
    } else if (!*n || (*e)->kind != EFFECT_METER) {
        return "no meter counts it";
    }
    usage.value = (*e)->arg;
    ++*e;
    --*n;
    return (!compare_is_named(c, &usage) || !usage_is_usual(c, usage)
            ? "the meter that counts it is another tenant's"
            : !compare_has_meter(c, usage.value)
            ? "the meter that counts it is not there" : NULL);
}

/* Are tables asked to decide where rules are, and about the same? */
static const char *
compare_asked(struct comparison *c, const struct passage *p,
              const struct expect *e)
{
    unsigned int question = (e->asked - 1) / 2;
    bool back = question == JUDGE_BACKWARD;
    struct usage opener = { .kind = USE_NUMBER }, opened = opener;
    struct usage view = { .kind = USE_VIEW, .zone = e->asked };

    if (!e->asked != !p->asked) {
        return "tables decide of something else than rules";
    } else if (!e->asked) {
        return NULL;
    }
    opener.endpoint = back ? e->to : e->from;
    opened.endpoint = back ? e->from : e->to;
    opener.value = p->asked->opener;
    opened.value = p->asked->opened;
    view.value = p->asked->view;
    return (opener.endpoint && opened.endpoint && usage_is_usual(c, opener)
            && usage_is_usual(c, opened) && usage_is_usual(c, view)
            ? NULL : "tables decide of others than rules");
}

const char *
compare_effects(struct comparison *c, dd_t effects,
                const struct expect *expect, enum verify_kind *kind)
{
    size_t n;
    const struct effect *e = effects_get(c->effects, effects, &n);
    const char *wrong;
    struct passage p;

    if (n && e[n - 1].kind == EFFECT_AMBIGUOUS) {
        *kind = VERIFY_LEAK;
        return "flows of one priority would do different things";
    }
    *kind = VERIFY_METER;
    wrong = compare_counter(c, &e, &n, expect);
    if (wrong) {
        return wrong;
    } else if (expect->unknown) {
        return "it is not known what is meant";
    } else if (expect->many && expect->copies) {
        return compare_copies(c, e, n, expect, kind);
    } else if (read_passage(c, e, n, &p) < n) {
        *kind = VERIFY_LEAK;
        return "it is copied";
    }
    *kind = VERIFY_MEANING;
    wrong = compare_asked(c, &p, expect);
    return (wrong ? wrong
            : expect->allow ? compare_allowed(c, &p, expect, kind)
            : compare_denied(c, &p, expect->rules, expect->reason, expect,
                             kind));
}

/* The effect that says who decides: of what is allowed the last of a rule, of
 * what is not the end, unless more is to come.  Returns 'n' if there is none,
 * or if there are copies. */
static size_t
find_decision(const struct effect e[], size_t n, bool allow)
{
    size_t found = n;

    for (size_t i = 0; i < n; i++) {
        switch (e[i].kind) {
        case EFFECT_RULE: found = allow ? i : found; break;
        case EFFECT_END: found = allow ? n : i; break;
        case EFFECT_METER: case EFFECT_TRACK: case EFFECT_COMMIT:
        case EFFECT_ASKED:
            break;
        case EFFECT_TAIL: case EFFECT_OUT:
            if (!allow) {
                return n;
            }
            break;
        default: return n;
        }
    }
    return found;
}

/* What a tail says still counts: if it names another rule, that one is not
 * settled, and not what is meant then. */
void
compare_settle(struct comparison *c, dd_t *effects, dd_t *expect)
{
    const struct expect *e = expect_get(c->judge, *expect);
    dd_t settled = expect_settled(c->judge, *expect);
    size_t n, at;
    const struct effect *list = effects_get(c->effects, *effects, &n);
    struct effect *copy;

    at = find_decision(list, n, e->allow);
    if (at == n || settled == DD_NONE
        || compare_rule(c, list[at].arg, e->rules, e->reason)) {
        return;
    }
    copy = xmemdup(list, n * sizeof *copy);
    copy[at].arg = 0;
    *effects = effects_list(c->effects, copy, n);
    *expect = settled;
    free(copy);
}
