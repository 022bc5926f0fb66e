/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_WATCH_H
#define PUSH_WATCH_H 1

/* What differs, or may differ, between the wanted and the live flows and
 * meters of a "struct push": so that not all need to be compared. */

#include <stdbool.h>

#include "openvswitch/list.h"

struct flow_entry;
struct push;

struct watch {
    struct push *push;
    struct ovs_list wanted;     /* "struct flow_entry"s, by their 'changed'. */
    struct ovs_list live;       /* The same; no wanted flow has their key. */
    bool meters, limits;        /* Do meters, or limits, differ? */
    bool news;                  /* Since watch_compare(). */

    /* What has been sent since watch_ask(), so that the answer is without it.
     */
    long long int own_flows;    /* Added, less those deleted. */
    bool own_meters;            /* Were meters added or deleted? */
};

void watch_init(struct watch *, struct push *);

/* Takes into the live flows what the switch has told.  Returns false if it has
 * not told all, or not to be understood. */
bool watch_hear(struct watch *);

/* Asks for what no switch tells of itself: meters, and how many flows there
 * are. */
void watch_ask(struct watch *);

/* Takes the live meters as the switch has answered, and stores how many flows
 * it has more than are live: always the same number, of those that OpenFlow
 * does not show.  When a switch empties itself, as it does when its fail mode
 * changes, its flow monitor is silent.  If meters were added since the
 * question, the live ones stay.  Returns 0, a positive errno or OFPERR_*; see
 * session_answer(). */
int watch_answer(struct watch *, long long int deadline, long long int *more);

/* Reads the live limits (push/limits.h), if there are to be any.  Returns
 * NULL, or a reason. */
const char *watch_limits(struct watch *);

/* Makes 'flow', whose ownership it takes, a wanted one; or no flow of its
 * key. */
void watch_want(struct watch *, struct flow_entry *flow);
void watch_unwant(struct watch *, const struct flow_entry *flow);

/* Is there anything to compare, and has any of it come since the last time? */
bool watch_is_due(const struct watch *);
bool watch_has_news(const struct watch *);

/* Compares, into 'push->changes' and 'push->diff'. */
void watch_compare(struct watch *);

/* Nothing differs any more. */
void watch_forget(struct watch *);

#endif /* push/watch.h */
