/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TELEMETRY_NAMES_H
#define TELEMETRY_NAMES_H 1

/* The tenants that the tags of packets stand for. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct nearest;
struct plan;
struct tenant_names;

struct tenant_names *tenant_names_create(void);
void tenant_names_destroy(struct tenant_names *);       /* Accepts NULL. */

/* Says that 'tag' is 'tenant', which is copied.  A tag that two tenants have
 * is nobody's: no name is better than a wrong one. */
void tenant_names_add(struct tenant_names *, uint64_t tag,
                      const char *tenant);

/* Adds the tenants of a plan. */
void tenant_names_add_plan(struct tenant_names *, const struct plan *);

/* Adds the tenants of what was applied last to each bridge, as the node keeps
 * it in 'root', which may be NULL (push/state.h).  What cannot be read, or
 * trusted, has no names.  Returns NULL, or why that is so of something, in the
 * arena. */
const char *tenant_names_add_state(struct tenant_names *, const char *root,
                                   struct arena *);

size_t tenant_names_count(const struct tenant_names *);

/* The name of the tenant; NULL if it is not known, or 'tag' is 0: no tenant's.
 * Good until the names are destroyed. */
const char *tenant_names_find(const struct tenant_names *, uint64_t tag);

/* Has a tenant the name of 'nearest'?  Tries all names for it. */
bool tenant_names_try(const struct tenant_names *, struct nearest *);

/* The same as tenant_names_find() for people: "(none)" for 0, "tag:N" for a
 * tag without a name. */
const char *tenant_names_text(const struct tenant_names *, uint64_t tag,
                              char buffer[32]);

#endif /* telemetry/names.h */
