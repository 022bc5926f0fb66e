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

#ifndef METER_BUCKET_H
#define METER_BUCKET_H 1

/* Token bucket of a meter band
 * ============================
 *
 * This is the token bucket of a band of an OpenFlow meter (OpenFlow 1.3,
 * section 5.7), which is the committed bucket "Tc" of RFC 2697, section 3: it
 * starts full, gains tokens at a constant rate up to its size, and a packet
 * conforms if the bucket holds at least as many tokens as the packet costs.
 * A packet that does not conform takes nothing.
 *
 * All arithmetic is exact, in integers, for a clock in nanoseconds:
 *
 *     unit of rate and size         one token       tokens gained in 1 ns
 *     ----------------------------  --------------  ---------------------
 *     kbps and kbit                 1e-6 bit        rate
 *     packets/s and packets         1e-9 packet     rate
 *
 * So a bucket that is much smaller than what its rate delivers in a
 * millisecond works as well as a large one, and no traffic pattern gains or
 * loses a token by rounding.  The largest size is below 2**62 tokens, and a
 * bucket that was idle for any length of time does not overflow.
 *
 * The functions read no clock: 'now_ns' is any nonnegative monotonic time,
 * e.g. time_nsec().  Threads that share a bucket may have read it at different
 * times: a time earlier than one that the bucket has seen adds no tokens, and
 * does not make the bucket add them a second time later on.
 *
 * Thread-safety
 * =============
 *
 * None.  Whoever shares a bucket serializes the calls, e.g. by the meter's
 * mutex.  A bucket owns no memory: it needs no destructor and may be copied.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef  __cplusplus
extern "C" {
#endif

enum meter_bucket_unit {
    METER_BUCKET_KBPS,          /* Counts bits: rate in kbps, size in kbit. */
    METER_BUCKET_PKTPS,         /* Counts packets: rate in packets/s. */
};

struct meter_bucket {
    uint64_t tokens;            /* Available now, 0...'max'. */
    uint64_t max;               /* Size, in tokens. */
    uint64_t used_ns;           /* Latest time seen. */
    uint64_t fill_ns;           /* An idle time above this fills any bucket. */
    uint64_t packet_cost;       /* Tokens per packet. */
    uint64_t byte_cost;         /* Tokens per byte. */
    uint32_t rate;              /* Tokens gained per ns. */
};

/* Makes '*b' a full bucket of the given 'rate' and 'size'.  Any values are
 * valid: with a 'rate' of 0 the bucket never gains a token after its first
 * filling, and with a 'size' of 0 only packets that cost nothing conform. */
void meter_bucket_init(struct meter_bucket *b, enum meter_bucket_unit,
                       uint32_t rate, uint32_t size, uint64_t now_ns);

/* Adds the tokens that '*b' gained until 'now_ns'. */
void meter_bucket_refill(struct meter_bucket *b, uint64_t now_ns);

/* If '*b' holds enough tokens for 'packets' packets of 'bytes' bytes in all,
 * takes them and returns true.  Otherwise changes nothing and returns false.
 * Holding exactly enough tokens suffices. */
bool meter_bucket_take(struct meter_bucket *b,
                       uint32_t packets, uint32_t bytes);

#ifdef  __cplusplus
}
#endif

#endif /* meter-bucket.h */
