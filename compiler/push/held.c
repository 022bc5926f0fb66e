/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/run.h"

#include <stdlib.h>
#include <string.h>

#include "openflow/openflow-common.h"
#include "openvswitch/ofpbuf.h"
#include "plan/record.h"
#include "sha1.h"
#include "util.h"

/* A digest of everything of Bulkhead's that a switch holds: that of the sorted
 * digests of each flow and meter, as OpenFlow messages. */

struct digest {
    uint8_t bytes[SHA1_DIGEST_SIZE];
};

/* Takes ownership of 'msg', whose transaction id does not count. */
static struct digest
digest_message(struct ofpbuf *msg, bool plain)
{
    struct ofp_header *oh = msg->data;
    struct digest digest;

    oh->xid = plain ? 0 : OVS_BE32_MAX;
    sha1_bytes(msg->data, msg->size, digest.bytes);
    ofpbuf_delete(msg);
    return digest;
}

static int
compare_digests(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct digest));
}

const char *
push_held(const struct push *push)
{
    size_t max = (hmap_count(&push->live.flows)
                  + hmap_count(&push->live.meters));
    struct digest *digests = xmalloc(MAX(1, max) * sizeof *digests);
    const struct flow_entry *flow;
    const struct meter_entry *meter;
    const char *hash;
    size_t n = 0;

    HMAP_FOR_EACH (flow, node, &push->live.flows) {
        if (flow_is_ours(flow)) {
            digests[n++] = digest_message(flow_add_message(flow),
                                          flow->plain);
        }
    }
    HMAP_FOR_EACH (meter, node, &push->live.meters) {
        digests[n++] = digest_message(meter_add_message(meter->id,
                                                        &meter->limit),
                                      meter->simple);
    }
    qsort(digests, n, sizeof *digests, compare_digests);
    hash = plan_hash(push->arena, digests, n * sizeof *digests);
    free(digests);
    return hash;
}
