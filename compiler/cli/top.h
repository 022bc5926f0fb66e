/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_TOP_H
#define CLI_TOP_H 1

/* bulkhead top: what is shared by top.c, which takes samples, top-text.c,
 * which makes lines of them, and top-screen.c, which shows them. */

#include "base/vec.h"
#include "cli/watch.h"
#include "telemetry/tally.h"
#include "telemetry/view.h"

enum { TOP_FILTER = 64 };
enum { TOP_TICK_MS = 100 };     /* Bursts are looked for so often. */

struct replay;

struct top {
    const struct cli_options *options;
    struct watch_names names;
    struct follower *follower;  /* Of a switch, or NULL... */
    struct replay *replay;      /* ...and this. */
    bool ended;                 /* The recording is over. */

    struct arena *arenas[2];    /* Of the sample before, and now. */
    struct sample samples[2];
    struct tally tally;
    char *last_burst;           /* In words; NULL: none yet. */
    char *trouble;              /* Why there is no new sample, or NULL. */

    enum view_order order;
    bool reverse, ports;        /* Ports in place of tenants. */
    char filter[TOP_FILTER];    /* Part of the name of a tenant or port. */
};

/* Takes the next sample. */
void top_step(struct top *);

/* Looks for bursts only, so that none goes unseen until the next step. */
void top_look(struct top *);

/* The lines of the summary, and those of a table, the first of which is its
 * heading, for a terminal of that width, or 0; in the arena. */
void top_summary(const struct top *, struct arena *, watch_lines *);
void top_tenants(const struct top *, struct arena *, size_t width,
                 watch_lines *);
void top_ports(const struct top *, struct arena *, size_t width,
               watch_lines *);

/* Shows it on the terminal until it is left or a signal comes.  Returns false
 * if the terminal cannot do that. */
bool top_screen(struct top *, unsigned int interval_ms);

#endif /* cli/top.h */
