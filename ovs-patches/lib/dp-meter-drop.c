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
dp_meter_report(const struct dp_meter_drops *told,
                enum dp_meter_reason reason,
                const struct dp_packet_batch *batch, uint32_t map)
{
    struct dp_packet *packets[NETDEV_MAX_BURST];
    size_t n = 0;

    if (OVS_LIKELY(!told) || !map) {
        return;
    }
    for (; map; map = zero_rightmost_1bit(map)) {
        packets[n++] = batch->packets[raw_ctz(map)];
    }
    told->cb(told, reason, packets, n);
}

void
dp_meter_drop(struct dp_packet_batch *batch, size_t n, uint32_t map)
{
    size_t n_left = raw_ctz(map);

    /* Mostly, these are the last ones. */
    if (map + rightmost_1bit(map) != UINT64_C(1) << n) {
        struct dp_packet *dropped[NETDEV_MAX_BURST];
        size_t n_dropped = 0;

        /* No branch: which packets are dropped is hard to predict. */
        for (size_t i = n_left; i < n; i++) {
            struct dp_packet *packet = batch->packets[i];

            dropped[n_dropped] = packet;
            batch->packets[n_left] = packet;
            n_dropped += map >> i & 1;
            n_left += !(map >> i & 1);
        }
        memcpy(&batch->packets[n_left], dropped, n_dropped * sizeof *dropped);
    }
    dp_packet_delete_many(&batch->packets[n_left], n - n_left);
    batch->count = n_left;
}
