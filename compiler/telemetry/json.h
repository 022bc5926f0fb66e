/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TELEMETRY_JSON_H
#define TELEMETRY_JSON_H 1

/* Samples and bursts as JSON, as docs/json.md says: for scripts, and in
 * recordings.  What is read back is bounded: a recording may come from
 * anywhere. */

#include "telemetry/sample.h"

struct json;
struct tenant_names;

struct json *burst_to_json(const struct burst *, const struct tenant_names *);
struct json *missed_to_json(const struct missed *);

/* All but the bursts. */
struct json *sample_to_json(const struct sample *,
                            const struct tenant_names *);

/* Each returns false if that is no such thing; else all is in the arena, but
 * the names of tenants, which are added to the names. */
bool burst_from_json(const struct json *, struct arena *,
                     struct tenant_names *, struct burst *);
bool missed_from_json(const struct json *, struct arena *, struct missed *);
bool sample_from_json(const struct json *, struct arena *,
                      struct tenant_names *, struct sample *);

/* "2026-11-22T03:45:01.123456789Z". */
char *time_to_text(uint64_t ns, char buffer[64]);
bool time_from_text(const char *, uint64_t *ns);

#endif /* telemetry/json.h */
