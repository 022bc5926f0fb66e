/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "asap2.h"

#include <string.h>

#include "backend/asap2/asap2.h"
#include "base/diag.h"
#include "ir/ir.h"

const char *
asap2_init(struct asap2 *a, struct compiled *c)
{
    struct diags diags;
    const char *reason = NULL;

    memset(a, 0, sizeof *a);
    a->prog = ir_build(c->policy, c->prog->node, c->arena);
    diags_init(&diags, c->arena);
    if (backend_compile(&asap2_backend, a->prog, c->arena, &diags,
                        &a->plan)) {
        a->tables = tables_create(a->prog, &a->plan, &reason);
    }
    return a->plan.conflict ? a->plan.conflict : reason;
}

void
asap2_destroy(struct asap2 *a)
{
    tables_destroy(a->tables);
}

static bool
zones_differ(const struct zones *a, const struct zones *b)
{
    return (a->n != b->n || memcmp(a->v, b->v, a->n * sizeof *a->v)
            || memcmp(a->marks, b->marks, a->n * sizeof *a->marks));
}

/* ICMP errors in fragments pass once they are whole, and nobody says what type
 * of ICMP a fragment is of. */
static bool
is_asked(const struct question *q)
{
    uint8_t protocol = q->packet.nw_proto;

    return (!q->packet.nw_frag
            || ((protocol == IPPROTO_TCP || protocol == IPPROTO_UDP)
                && q->connection != CONNECTION_RELATED
                && q->beyond != CONNECTION_RELATED));
}

const char *
asap2_compare(const struct asap2 *a, const struct compiled *c,
              const struct question *q, const struct outcome *o,
              struct arena *arena)
{
    struct outcome got;

    if (!a->tables || !is_asked(q)) {
        return NULL;
    }
    tables_run(a->tables, q, &got);
    if (got.broken || got.n_out != o->n_out
        || cookies_differ(c, got.rule, o->rule)
        || got.n_dropped != o->n_dropped
        || (!o->n_out && cookies_differ(c, got.cookie, o->cookie))
        || zones_differ(&got.tracked, &o->tracked)
        || zones_differ(&got.committed, &o->committed)) {
        return arena_printf(arena, "the target asap2 has %s",
                            outcome_text(&got, arena));
    }
    for (size_t i = 0; i < o->n_out; i++) {
        const char *difference = packets_differ(&o->out[i].packet,
                                                &got.out[i].packet, true);

        if (got.out[i].port != o->out[i].port || difference) {
            return arena_printf(arena, "the target asap2: %s", difference
                                ? difference : "it goes to another port");
        }
    }
    return NULL;
}
