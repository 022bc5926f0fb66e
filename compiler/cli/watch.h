/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_WATCH_H
#define CLI_WATCH_H 1

/* What the commands that watch telemetry share. */

#include "cli/cli.h"
#include "sset.h"
#include "telemetry/sample.h"

struct follower;
struct tenant_names;

/* The names of tenants: of the intent, if one was given, else of what the node
 * keeps of applied plans, which may change meanwhile. */
struct watch_names {
    const struct cli_options *options;
    struct tenant_names *names;
    struct sset ports;          /* Of the intent. */
    uint64_t loaded_ns;         /* A clock_ns of samples. */
};

/* Returns EXIT_*, after printing what is wrong. */
int watch_names_init(struct watch_names *, const struct cli_options *);

/* For a recording, which has the names. */
void watch_names_init_empty(struct watch_names *, const struct cli_options *);
void watch_names_destroy(struct watch_names *);

/* Looks again if the sample has a tenant without a name. */
void watch_names_refresh(struct watch_names *, const struct sample *);

/* Does '--port' or '--tenant' leave it out? */
bool watch_selects_port(const struct cli_options *, const char *port);
bool watch_selects_tenant(const struct cli_options *,
                          const struct tenant_names *, uint64_t tag);
bool watch_selects_burst(const struct cli_options *,
                         const struct tenant_names *, const struct burst *);

/* Warns of a '--port' or '--tenant' that nothing in the sample can be of. */
void watch_warn_unknown(const struct cli_options *,
                        const struct tenant_names *, const struct sample *);

/* Why a sample of the switch says nothing new: NULL, or ovs-vswitchd died. */
const char *watch_orphaned(const struct sample *, struct arena *);

/* All that is doubtful about a sample, a line each. */
VEC_TYPEDEF(watch_lines, const char *);
void watch_doubts(const struct watch_names *, const struct sample *,
                  struct arena *, watch_lines *);

/* The follower of the switch's telemetry. */
struct follower *watch_follower(const struct cli_options *);

/* Lets SIGINT and SIGTERM end the command in order, and says if one came. */
void watch_catch_signals(void);
bool watch_is_stopped(void);

/* Waits; a signal ends it. */
void watch_sleep_ms(unsigned int ms);

/* Checks that the intent and --node come together, and that neither does with
 * --replay.  Returns EXIT_*. */
int watch_check(const struct cli_options *, const char *command);

/* "1.5KiB", "6.0us", "2.5Gbps". */
enum { WATCH_TEXT = 32 };
const char *watch_bytes(double, char buffer[WATCH_TEXT]);
const char *watch_ns(uint64_t, char buffer[WATCH_TEXT]);
const char *watch_bits(double per_second, char buffer[WATCH_TEXT]);

#endif /* cli/watch.h */
