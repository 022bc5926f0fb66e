/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* The meaning cut in two, where rules are asked: what is meant whatever they
 * say, and what they say. */

#include <string.h>

#include "packets.h"
#include "util.h"
#include "verify/expect-private.h"

const struct policy_class *
expect_class(const struct policy_rule *rule, enum judge_question question)
{
    return (question == JUDGE_BACKWARD ? rule->reply_class : rule->class);
}

/* How packets are seen of which the question is asked. */
static struct seen
seen_as(enum judge_question question)
{
    bool stateless = question >= JUDGE_STATELESS;

    return (struct seen) {
        .track = (stateless ? TRACK_NONE
                  : question == JUDGE_FORWARD ? TRACK_FORWARD : TRACK_REPLY),
        .stateless = stateless,
        .proto = stateless ? F_NW_PROTO : F_OPEN_PROTO,
        .port = stateless ? F_TP_DST : F_OPEN_DST,
        .asked = 1 + 2 * question,
    };
}

/* In which zone the packets are tracked, or NULL. */
static const struct policy_tenant *
zone_of(const struct seen *seen, const struct end *sender)
{
    return seen->stateless ? NULL : sender->endpoint->tenant;
}

const struct service_match *
expect_match(const struct judge *j, enum judge_question question)
{
    size_t number = question - JUDGE_STATELESS;

    for (size_t i = 0; question >= JUDGE_STATELESS
         && i < j->policy->services.n; i++) {
        const struct policy_service *service = j->policy->services.v[i];

        if (service->symmetric && number < service->matches.n) {
            return &service->matches.v[number];
        }
        number -= service->symmetric ? service->matches.n : 0;
    }
    return NULL;
}

size_t
expect_n_questions(const struct judge *j)
{
    size_t n = 0;

    while (expect_match(j, JUDGE_STATELESS + n)) {
        n++;
    }
    return JUDGE_STATELESS + n;
}

dd_t
expect_is_of(struct judge *j, enum judge_question question,
             const struct service_match *m)
{
    const struct seen seen = seen_as(question);
    dd_t set = space_is(j->space, seen.proto, m->protocol);

    return (!m->ports.last ? set
            : dd_and(j->space->dd, set, space_range(
                j->space, seen.port, m->ports.first, m->ports.last)));
}

/* What two matches hold is asked of the first. */
dd_t
expect_is_asked(struct judge *j, enum judge_question question)
{
    struct dd *dd = j->space->dd;
    dd_t set;

    if (question < JUDGE_STATELESS) {
        return DD_ALL;
    }
    set = expect_is_of(j, question, expect_match(j, question));
    for (size_t i = JUDGE_STATELESS; i < question; i++) {
        set = dd_and(dd, set, dd_not(dd, expect_is_of(
            j, i, expect_match(j, i))));
    }
    return set;
}

dd_t
expect_verdict(struct judge *j, enum judge_question question,
               const struct policy_endpoint *opener,
               const struct policy_endpoint *opened)
{
    bool back = question == JUDGE_BACKWARD;
    struct end sender = { .endpoint = back ? opened : opener };
    struct end receiver = { .endpoint = back ? opener : opened };
    struct seen seen = seen_as(question);

    return find_verdict(j, &seen, zone_of(&seen, &sender), &sender,
                        &receiver);
}

/* Each of the outcomes, of packets that are seen so. */
static dd_t
find_outcomes(struct judge *j, const struct seen *seen,
              const struct policy_tenant *zone, const struct end *sender)
{
    struct space *space = j->space;
    dd_t result = DD_NONE;

    for (size_t i = 0; i < j->n_outcomes; i++) {
        const struct judge_outcome *o = &j->outcomes[i];
        u128 last = (i + 1 < j->n_outcomes ? i
                     : field_ones(fields[F_VERDICT].width));

        result = dd_over(space->dd, result, dd_cut(
            space->dd, space_range(space, F_VERDICT, i, last),
            verdict_of_class(j, o->rule, o->class, seen, zone, sender,
                             false)));
    }
    return result;
}

/* The same of packets of which the question is asked. */
static dd_t
find_answers(struct judge *j, enum judge_question question,
             const struct seen *seen, const struct policy_tenant *zone,
             const struct end *sender)
{
    struct seen as = *seen;
    dd_t of_family[2];

    for (int ip6 = 0; ip6 <= 1; ip6++) {
        as.asked = 1 + 2 * question + ip6;
        of_family[ip6] = find_outcomes(j, &as, zone, sender);
    }
    return dd_choose(j->space->dd, is_family(j, true), of_family[1],
                     of_family[0]);
}

/* What asks rules otherwise than expect_verdict() does is not known. */
dd_t
find_any_verdict(struct judge *j, const struct seen *seen,
                 const struct policy_tenant *zone, const struct end *sender,
                 const struct end *receiver)
{
    size_t first = (seen->stateless ? JUDGE_STATELESS
                    : seen_is_backward(seen) ? JUDGE_BACKWARD
                    : JUDGE_FORWARD);
    size_t end = seen->stateless ? expect_n_questions(j) : first + 1;
    const struct seen as = seen_as(first);
    struct dd *dd = j->space->dd;
    struct expect expect;
    dd_t result;

    memset(&expect, 0, sizeof expect);
    expect.unknown = true;
    result = expect_leaf(j, &expect);
    if (!sender->endpoint || !receiver->endpoint || seen->passed
        || seen->proto != as.proto || seen->port != as.port
        || zone != zone_of(seen, sender) || end > JUDGE_MAX_QUESTIONS) {
        return result;
    } else if (sender->endpoint == receiver->endpoint) {
        return verdict_by(j, NULL, seen, zone, sender, false);
    }
    for (size_t i = first; i < end; i++) {
        result = dd_choose(dd, expect_is_asked(j, i),
                           find_answers(j, i, seen, zone, sender), result);
    }
    return result;
}
