/*
 * Copyright (c) 2026 Bulkhead developers.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

#include <config.h>
#include "tenant-queue.h"

#include "dp-packet.h"
#include "odp-ahead.h"
#include "tenant-queue-private.h"

/* What meters drop of tenants. */

void
tenant_drops_note(struct tenant_drops *d, size_t first,
                  const struct nlattr *actions, size_t actions_len,
                  const struct nlattr *action)
{
    d->groups[d->n_groups++] = (struct tenant_drop_group) {
        .actions = actions,
        .actions_len = actions_len,
        .action = action,
        .first = first,
        .end = d->drops.n,
    };
}

/* Gives the packets of '*g' the priority that they would have had. */
static void
set_priority(struct tenant_drops *d, const struct tenant_drop_group *g,
             const struct odp_ahead *ahead)
{
    for (size_t i = g->first; i < g->end; i++) {
        struct pkt_metadata *md = &d->drops.packets[i]->md;

        md->skb_priority = odp_ahead_priority(ahead, md->skb_priority);
    }
}

void
tenant_drops_count(struct tenant_drops *d, struct odp_ahead_memos *memos,
                   tenant_drops_find_writer *find, void *aux)
{
    const struct odp_ahead_memo *last = NULL;
    struct tenant_writer *w = NULL;
    size_t first = 0, end = 0;  /* What 'w' is to count. */

    for (size_t i = 0; i < d->n_groups; i++) {
        const struct tenant_drop_group *g = &d->groups[i];
        struct odp_ahead_memo *memo;
        bool known = odp_ahead_recall(memos, g->actions, g->actions_len,
                                      g->action, &memo);

        if (!known || memo != last || g->first != end) {
            if (w) {
                tenant_writer_metered(w, &d->drops.packets[first],
                                      &d->drops.reasons[first], end - first);
            }
            w = find(memo, known, aux);
            first = g->first;
            last = memo;
        }
        end = g->end;
        set_priority(d, g, &memo->ahead);
    }
    if (w) {
        tenant_writer_metered(w, &d->drops.packets[first],
                              &d->drops.reasons[first], end - first);
    }
}

void
tenant_drops_free(struct tenant_drops *d)
{
    dp_meter_drops_free(&d->drops);
    d->n_groups = 0;
}
