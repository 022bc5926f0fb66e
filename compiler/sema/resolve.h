/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_RESOLVE_H
#define SEMA_RESOLVE_H 1

/* The rooms behind policy_resolve() that look names up. */

#include <string.h>

#include "base/nearest.h"
#include "openvswitch/shash.h"
#include "sema/policy.h"

/* Tenants that a selector is about. */
struct scope {
    struct policy_tenant *const *v;
    size_t n;
    bool unknown;               /* It names one that is not there. */
    bool routed;                /* Only endpoints that a gateway reaches. */
};

struct resolver {
    struct arena *arena;
    struct diags *diags;
    struct policy *policy;
    struct shash nodes;         /* Contains "struct intent_node"s. */
    unsigned long *taken;       /* Bitmap by index of the endpoints that
                                 * expand_selector() has selected so far. */
    const struct scope *every;  /* What "*" is; NULL: all tenants. */
};

/* Adds the error that 'owner' has no 'what' 'text'. */
void dangling(struct resolver *, struct text, const char *owner,
              const char *what, const char *nearest);

/* "tenant 'NAME'", or "the intent" for NULL. */
const char *owner_title(struct resolver *, const struct policy_tenant *);

/* Finds the element of 'VEC', whose elements have a 'name', that 'TEXT'
 * names; adds an error if there is none.  NULL if 'TEXT' is absent. */
#define RESOLVE(R, VEC, TEXT, WHAT)                                     \
    ({                                                                  \
        typeof((VEC)->v[0]) found__ = NULL;                             \
                                                                        \
        for (size_t i__ = 0; (TEXT).s && !found__ && i__ < (VEC)->n;    \
             i__++) {                                                   \
            found__ = (strcmp((VEC)->v[i__]->name, (TEXT).s) ? NULL     \
                       : (VEC)->v[i__]);                                \
        }                                                               \
        if ((TEXT).s && !found__) {                                     \
            struct nearest nearest__ = nearest_init((TEXT).s);          \
                                                                        \
            for (size_t i__ = 0; i__ < (VEC)->n                         \
                 && !diags_are_full((R)->diags, DIAG_ERROR); i__++) {   \
                nearest_try(&nearest__, (VEC)->v[i__]->name);           \
            }                                                           \
            dangling(R, (TEXT), "the intent", WHAT, nearest__.best);    \
        }                                                               \
        found__;                                                        \
    })

/* Adds the endpoints that 'alternatives' select to 'out', which is empty,
 * sorted by index, what they select of externals to 'ranges', and whose the
 * endpoints are to 'tenants'.  'own' is the tenant whose selector it is; NULL
 * for the operator's, which all name one. */
void expand_selector(struct resolver *, const selector_vec *alternatives,
                     const struct policy_tenant *own, endpoint_vec *out,
                     range_vec *ranges, tenant_vec *tenants);

/* Warns of labels' values that no endpoint in the scope has, of a selector
 * that selects others. */
void doubt_labels(struct resolver *, const struct intent_selector *,
                  struct scope);

/* What could be meant instead of such a value; NULL if nothing looks like one
 * of them. */
const char *suggest_label(struct resolver *, const struct intent_selector *,
                          struct scope);

/* Both sides of a peering, each of which may be every tenant but those of the
 * other that consents with those, or every one if it is imposed.  Externals
 * must list it, too. */
void expand_peering(struct resolver *, const struct intent_rule *,
                    struct policy_rule *);

/* The class of that name; NULL for best-effort, or after adding an error. */
const struct policy_class *resolve_class(struct resolver *, struct text name);

/* Finds the classes among which the tenant shares its bandwidth out. */
void resolve_parts(struct resolver *, struct policy_tenant *);

/* Adds an error if a rule of 'own' speaks of other tenants where it may not:
 * what it allows is within the tenant, what it denies has the tenant on one
 * side. */
void check_authority(struct resolver *, const struct intent_rule *,
                     const struct policy_tenant *own);

#endif /* sema/resolve.h */
