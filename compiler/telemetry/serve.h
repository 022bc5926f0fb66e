/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TELEMETRY_SERVE_H
#define TELEMETRY_SERVE_H 1

/* Metrics over HTTP, by libmicrohttpd, in the thread that runs it.
 *
 * It answers GET and HEAD of /metrics, with a page that is made then, to so
 * many clients at a time; those that are silent are dropped.  There is no TLS
 * and no password, so it listens on the loopback address unless it is told
 * another. */

#include "base/arena.h"
#include "telemetry/metrics.h"

struct metrics_server;

/* Appends the page. */
typedef void metrics_page(void *aux, enum metrics_form, struct ds *);

/* Is it "[ADDRESS:]PORT", an IPv6 address in brackets? */
bool metrics_listen_is_valid(const char *);

/* 'listen' is such a text, or NULL for the default.  Returns NULL, or a reason
 * in the arena. */
#define METRICS_PORT "9478"
const char *metrics_server_open(const char *listen, metrics_page *, void *aux,
                                struct arena *, struct metrics_server **);
void metrics_server_close(struct metrics_server *);     /* Accepts NULL. */

/* Where it is: "http://127.0.0.1:9478/metrics". */
const char *metrics_server_url(const struct metrics_server *);

/* Answers for 'ms', or until the next request was answered. */
void metrics_server_run(struct metrics_server *, unsigned int ms);

#endif /* telemetry/serve.h */
