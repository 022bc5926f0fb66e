/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/plan.h"

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "sset.h"
#include "util.h"

/* The end of the member of a match that begins at 's': a comma that is not
 * within quotes, or the end of the match. */
static const char *
member_end(const char *s)
{
    bool quoted = false;

    while (*s && (quoted || *s != ',')) {
        quoted ^= *s == '"';
        s++;
    }
    return s;
}

/* A word stands for a field, or for two. */
static void
put_word_mask(struct ds *mask, const char *word, size_t len)
{
    static const char *const words[] = {
        "tcp", "udp", "icmp", "tcp6", "udp6", "icmp6",
    };
    bool has_protocol = false;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        has_protocol |= (strlen(words[i]) == len
                         && !strncmp(words[i], word, len));
    }
    ds_put_cstr(mask, has_protocol ? "dl_type,nw_proto" : "dl_type");
}

/* "+trk-inv" and "+trk+inv" have the same mask. */
static void
put_flags_mask(struct ds *mask, const char *flags, const char *end)
{
    for (; flags < end; flags++) {
        ds_put_char(mask, *flags == '-' ? '+' : *flags);
    }
}

static void
put_member_mask(struct ds *mask, const char *s, const char *end)
{
    static const char icmp_type[] = "icmp_type";
    const char *equals = memchr(s, '=', end - s);
    const char *slash = memchr(s, '/', end - s);

    if (!equals) {
        put_word_mask(mask, s, end - s);
        return;
    }
    if (equals - s == strlen(icmp_type)
        && !strncmp(s, icmp_type, strlen(icmp_type))) {
        ds_put_cstr(mask, "tp_src");    /* Where struct flow keeps it. */
    } else {
        ds_put_buffer(mask, s, equals - s);
    }
    if (slash) {
        ds_put_buffer(mask, slash, end - slash);
    } else if (equals[1] == '+' || equals[1] == '-') {
        put_flags_mask(mask, equals, end);
    }
}

static void
put_mask(struct ds *mask, const struct plan_flow *flow)
{
    const char *s = flow->match;

    ds_put_format(mask, "%u:", flow->table);
    while (*s) {
        const char *end = member_end(s);

        ds_put_char(mask, ',');
        put_member_mask(mask, s, end);
        s = end + (*end == ',');
    }
}

struct plan_counts
plan_count(const struct plan *plan)
{
    struct plan_counts counts = { .flows = plan->flows.n,
                                  .meters = plan->meters.n };
    struct sset masks = SSET_INITIALIZER(&masks);
    struct ds mask = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < plan->flows.n; i++) {
        ds_clear(&mask);
        put_mask(&mask, &plan->flows.v[i]);
        sset_add(&masks, ds_cstr(&mask));
        counts.conjunctions += !strncmp(plan->flows.v[i].match, "conj_id=",
                                        strlen("conj_id="));
    }
    for (size_t i = 0; i < plan->meters.n; i++) {
        counts.borrowers += plan->meters.v[i].parent != 0;
    }
    counts.masks = sset_count(&masks);
    ds_destroy(&mask);
    sset_destroy(&masks);
    return counts;
}
