/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TELEMETRY_METRICS_H
#define TELEMETRY_METRICS_H 1

/* Telemetry as Prometheus takes it: docs/telemetry.md lists the metrics. */

#include <stdbool.h>

#include "telemetry/sample.h"

struct ds;
struct tally;
struct tenant_names;

enum metrics_form {
    METRICS_TEXT,               /* Prometheus's text format 0.0.4. */
    METRICS_OPENMETRICS,        /* OpenMetrics 1.0.0. */
};

/* Appends all metrics.  'sample' is NULL if there is no telemetry now. */
void metrics_format(enum metrics_form, const struct sample *sample,
                    const struct tally *, const struct tenant_names *,
                    struct ds *);

#endif /* telemetry/metrics.h */
