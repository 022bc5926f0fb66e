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

#ifndef TENANT_QUEUE_H
#define TENANT_QUEUE_H 1

/* Tenants' queues: what each tenant sends to each port, and its bursts
 * ===================================================================
 *
 * A packet carries the tag of its tenant from the meter that set it to the
 * port that it leaves by.  There it is counted by (port, tag, queue), the
 * queue being the priority that it left with.  What a meter drops is counted
 * by those that it would have had: odp-ahead.h finds them in its actions.
 * Each thread has its own counters, which nobody else writes.
 *
 * The queue of a port
 * -------------------
 *
 * A port whose rate is known has a phantom queue (phantom.h, "When packets
 * came"): the bytes that would wait if packets left at that rate.  It is one
 * schedule for all threads, updated once for all packets that a thread sends
 * together.  A burst begins when it is deeper than the threshold of the port
 * and ends when it is empty.
 *
 * A burst names those whose packets were in the queue when it was deepest.
 * The queue is first in, first out, so what was in it are the last bytes that
 * were sent before, as many as it was deep.  The last TENANT_LOG groups of
 * packets of one tag are kept for this, a group being at most what was sent
 * together.  What was longer ago counts as unknown.
 *
 * The file
 * --------
 *
 * All of this is in memory that others can read: see tenant-queue-shm.h.  It
 * is removed when telemetry is switched off or ovs-vswitchd exits.  Someone
 * else who removes it takes nothing from the datapath; someone who truncates
 * it can kill ovs-vswitchd, as who may write in its run directory can anyway.
 *
 * Thread-safety
 * -------------
 *
 * A tenant_writer belongs to one thread.  tenant_writer_flush() waits for
 * nobody, except that the first packet of a key takes a mutex to find a
 * record.  If threads send to one port at the same time, then which of them
 * was first in the queue is known to within what they send together; and a
 * thread that is kept from running just after it has made the queue deepest
 * may leave this to be recorded with a lesser depth.  All other functions may
 * be called from any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dp-meter.h"
#include "netdev.h"

struct dp_packet;
struct dp_packet_batch;
struct ds;
struct nlattr;
struct odp_ahead_memo;
struct odp_ahead_memos;
struct tenant_queues;
struct tenant_writer;

#ifdef  __cplusplus
extern "C" {
#endif

enum { TENANT_LOG = 4096 };     /* Groups of packets that a port keeps. */

/* Creates the file 'path' and stores an object for its ports in '*tqsp'.
 * Returns 0, or a positive errno value after logging it, with NULL in
 * '*tqsp'. */
int tenant_queues_create(const char *path, struct tenant_queues **tqsp);

/* Removes the file and says so to who has it open.  The object itself is freed
 * when there is no writer anymore, and the current RCU grace period is
 * over. */
void tenant_queues_close(struct tenant_queues *);

/* Adds port 'name', or changes it.  'rate' is in kbps, 0 if unknown;
 * 'threshold' in bytes, 0 for what 'rate' sends in 10 us, but no less than
 * 64 KiB. */
void tenant_queues_set_port(struct tenant_queues *, const char *name,
                            uint32_t number, uint64_t rate,
                            uint32_t threshold);

/* Deletes port 'name', which goes, with its counters, when no writer has
 * it. */
void tenant_queues_del_port(struct tenant_queues *, const char *name);

/* Closes bursts that have ended at 'now_ns'. */
void tenant_queues_run(struct tenant_queues *, uint64_t now_ns);

/* Appends what was seen until 'now_ns' to '*s', as text or as JSON.  With
 * 'forget', starts the watermarks "since last reset" anew. */
void tenant_queues_show(struct tenant_queues *, uint64_t now_ns,
                        bool as_json, bool forget, struct ds *s);

/* Calls 'cb', by number, for each queue of port 'name': the packets of all
 * tags that have left by it.  Returns 0, or ENODEV if there is no such
 * port. */
int tenant_queues_dump_port(struct tenant_queues *, const char *name,
                            netdev_dump_queue_stats_cb *cb, void *aux);

/* Returns a new writer for the thread on core 'core' and port 'name'.  If
 * there is no such port, it counts nothing until there is one.  If 'name' is
 * NULL, it is for packets of which nobody knows where they would go.  Never
 * returns NULL. */
struct tenant_writer *tenant_writer_create(struct tenant_queues *,
                                           const char *name, uint32_t core);
void tenant_writer_destroy(struct tenant_writer *);

/* Returns true if 'w', which may be NULL, is a writer of 'tqs'. */
bool tenant_writer_is_of(const struct tenant_writer *w,
                         const struct tenant_queues *tqs);

/* Counts 'batch', which is about to be sent to the port.  Its packets came
 * after 'since_ns' and until 'now_ns'. */
void tenant_writer_flush(struct tenant_writer *,
                         const struct dp_packet_batch *batch,
                         uint64_t since_ns, uint64_t now_ns);

/* What meters drop
 *
 * It waits until all that was received with it has been processed, and is then
 * counted and freed together.  Until then, the actions that dropped it
 * stay. */

/* Packets that one action dropped. */
struct tenant_drop_group {
    const struct nlattr *actions;
    size_t actions_len;
    const struct nlattr *action; /* One of 'actions', or nested in one. */
    size_t first, end;          /* Numbers of packets. */
};

struct tenant_drops {
    struct dp_meter_drops drops;
    size_t n_groups;
    struct tenant_drop_group groups[DP_METER_DROPS]; /* What is counted. */
};

/* Notes that 'action' dropped the packets from number 'first' on, one at
 * least, and that they are to be counted. */
void tenant_drops_note(struct tenant_drops *, size_t first,
                       const struct nlattr *actions, size_t actions_len,
                       const struct nlattr *action);

/* Returns who counts what '*memo' says where it would have gone.  Unless it is
 * 'known', its 'aux' is NULL and may be set. */
typedef struct tenant_writer *
tenant_drops_find_writer(struct odp_ahead_memo *memo, bool known, void *aux);

/* Counts what was noted, by the port and priority that 'memos' finds. */
void tenant_drops_count(struct tenant_drops *, struct odp_ahead_memos *memos,
                        tenant_drops_find_writer *, void *aux);

/* Frees all packets, counted or not. */
void tenant_drops_free(struct tenant_drops *);

/* What a port drops
 *
 * A port that drops a packet that it was to send calls tenant_drop() for it,
 * before it is freed, in the thread that sends.  That thread says between
 * which calls it sends, and by which writer; else tenant_drop() does
 * nothing. */

void tenant_writer_begin_send(struct tenant_writer *);
void tenant_writer_end_send(void);

void tenant_drop(const struct dp_packet *);

/* The same for the packets of 'batch' from number 'first' on. */
void tenant_drop_batch(const struct dp_packet_batch *batch, size_t first);

#ifdef  __cplusplus
}
#endif

#endif /* tenant-queue.h */
