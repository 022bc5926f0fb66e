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
#include "dp-meter-private.h"

#include "dp-packet.h"
#include "util.h"

/* The packets that a meter drops. */

void
dp_meter_drop(struct dp_meter_drops *drops, struct dp_packet_batch *batch,
              uint32_t map, uint32_t unlent, enum dp_meter_reason reason)
{
    size_t n_drops = drops->n, n_left = raw_ctz(map);

    /* No branch: which packets are dropped is hard to predict. */
    for (size_t i = n_left; i < dp_packet_batch_size(batch); i++) {
        struct dp_packet *packet = batch->packets[i];

        drops->packets[n_drops] = packet;
        drops->reasons[n_drops] = (unlent >> i & 1
                                   ? DP_REASON_PARENT : reason);
        batch->packets[n_left] = packet;
        n_drops += map >> i & 1;
        n_left += !(map >> i & 1);
    }
    drops->n = n_drops;
    batch->count = n_left;
}

void
dp_meter_drops_free(struct dp_meter_drops *drops)
{
    dp_packet_delete_many(drops->packets, drops->n);
    drops->n = 0;
}
