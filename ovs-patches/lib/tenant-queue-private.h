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

#ifndef TENANT_QUEUE_PRIVATE_H
#define TENANT_QUEUE_PRIVATE_H 1

/* What the files tenant-queue*.c share. */

#include "gcra.h"
#include "openvswitch/hmap.h"
#include "openvswitch/shash.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "sset.h"
#include "tenant-queue.h"
#include "tenant-queue-shm.h"
#include "util.h"

/* The file. */
struct tenant_file {
    char *path;                 /* NULL once the file was removed. */
    int fd;                     /* Has the lock. */
    struct tq_header *header;   /* At the start of the mapping. */
    struct tq_port *ports;
    struct tq_queue *queues;
};

/* Returns 0, or a positive errno value after logging it. */
int tenant_file_create(struct tenant_file *, const char *path);
void tenant_file_remove(struct tenant_file *);
void tenant_file_unmap(struct tenant_file *);

/* The queue of a port. */

/* A run is some packets of one tag, sent one after the other.  It is one word,
 * so that it is there at once: its tag in the high 32 bits, then its bytes,
 * and TENANT_LAP_BITS that tenant-queue-log.c has for itself.  Packets with
 * more bytes than there is room for count as ones with so many. */
enum { TENANT_LAP_BITS = 10 };
#define TENANT_RUN_BYTES ((UINT32_C(1) << (32 - TENANT_LAP_BITS)) - 1)

static inline uint64_t
tenant_run(uint32_t tag, uint32_t bytes)
{
    return ((uint64_t) tag << 32
            | (uint64_t) MIN(bytes, TENANT_RUN_BYTES) << TENANT_LAP_BITS);
}

static inline uint32_t
tenant_run_bytes(uint64_t run)
{
    return run >> TENANT_LAP_BITS & TENANT_RUN_BYTES;
}

/* What a queue held: the members of a 'struct tq_event' that say so. */
struct tenant_shares {
    uint64_t end;               /* Just after this number of the log. */
    uint64_t depth;             /* In bytes. */
    struct tq_event event;
};

struct tenant_burst_queue {
    struct gcra gcra;

    /* One cache line that is mostly read. */
    struct tq_port *shm;
    atomic_uint32_t rate;       /* In kbps, 0 if there is no queue. */
    atomic_uint64_t threshold;  /* In tokens. */
    atomic_uint64_t recent;     /* Watermark since it was reset, in bytes. */

    /* The open burst, whose start is in '*shm'. */
    atomic_uint64_t peak;       /* In bytes: see burst_number_raise(). */
    atomic_uint64_t peak_ns;    /* When it was that deep. */
    atomic_uint64_t peak_end;   /* The end of the log then. */
    atomic_uint64_t burst_gap_ns; /* The same. */

    /* Kept from before they were overwritten in the log. */
    struct ovs_mutex mutex;
    struct tenant_shares kept OVS_GUARDED;

    atomic_uint64_t n_runs;     /* That were ever in the log. */
    atomic_uint64_t log[TENANT_LOG]; /* See tenant-queue-log.c. */
};

void tenant_burst_queue_init(struct tenant_burst_queue *,
                             struct tq_port *shm, uint64_t now_ns);
void tenant_burst_queue_uninit(struct tenant_burst_queue *);

/* Puts 'q' under another rate, in kbps, and threshold, in bytes.  Callers
 * exclude each other. */
void tenant_burst_queue_reconfigure(struct tenant_burst_queue *q,
                                    uint32_t rate, uint32_t threshold,
                                    uint64_t now_ns);

/* Adds 'n' runs of 'n_packets' packets and 'bytes' bytes in all. */
void tenant_burst_queue_add(struct tenant_burst_queue *q,
                            const uint64_t runs[], uint32_t n,
                            uint32_t n_packets, uint32_t bytes,
                            uint64_t since_ns, uint64_t now_ns);

/* Closes the burst that is open, if the queue is empty at 'now_ns'. */
void tenant_burst_queue_observe(struct tenant_burst_queue *q,
                                uint64_t now_ns);

/* In bytes. */
uint64_t tenant_burst_queue_depth(const struct tenant_burst_queue *,
                                  uint64_t now_ns);

/* tenant-queue-log.c: Sets the shares of '*event' to what the last 'depth'
 * bytes before number 'end' of the log of 'q' were. */
void tenant_log_add(struct tenant_burst_queue *q, const uint64_t runs[],
                    uint32_t n, uint64_t *end);
void tenant_log_tally(const struct tenant_burst_queue *q, uint64_t end,
                      uint64_t depth, struct tq_event *event);

/* tenant-queue-writer.c: Counts 'n' packets that meters drop, each for an
 * 'enum dp_meter_reason', and that would have been sent to the port with the
 * priority that they have. */
void tenant_writer_metered(struct tenant_writer *,
                           struct dp_packet *const packets[],
                           const uint8_t reasons[], size_t n);

/* Ports. */

/* A record of the file. */
struct tenant_record {
    struct hmap_node node;      /* In struct tenant_port's 'records'. */
    uint32_t tag, queue;
    uint32_t index;
    bool in_use;                /* By a writer. */
    struct tq_counts seen;      /* What tenant-queue-show.c read last. */
};

struct tenant_port {
    struct tenant_burst_queue queue; /* Not of 'no_port'. */
    struct tenant_queues *tqs;
    char *name;
    uint64_t index;             /* Of its record in the file, TQ_NO_PORT if it
                                 * has none. */
    uint64_t generation;
    uint32_t n_refs;            /* Of 'tqs' and writers. */
    struct hmap records;        /* Contains 'struct tenant_record's. */
};

struct tenant_queues {
    struct ovs_refcount ref_cnt;
    struct ovs_mutex mutex;     /* Guards what follows, and 'tenant_port's but
                                 * for their queues. */
    struct tenant_file file;
    struct shash ports;         /* Contains 'struct tenant_port's. */
    struct sset left_out;       /* Ports and records without room. */
    struct tenant_port *no_port; /* Of what meters drop before it is known
                                  * where it goes. */
    atomic_uint64_t n_generations; /* Ports that were added, ever. */
    uint32_t *free_queues;      /* Indexes of free records, a stack. */
    uint32_t n_free_queues;
    atomic_uint64_t n_freed;    /* Records that were freed, ever. */
};

void tenant_queues_ref(struct tenant_queues *);
void tenant_queues_unref(struct tenant_queues *);

/* The following need the mutex of 'struct tenant_queues'. */

/* Drops a reference to 'port'; the last one frees it and its records. */
void tenant_port_unref(struct tenant_port *port);

/* Returns a record of 'port' for 'tag' and 'queue' that no writer uses, and
 * makes it one of the thread on core 'core'; NULL if the file is full. */
struct tenant_record *tenant_port_take_record(struct tenant_port *port,
                                              uint32_t tag, uint32_t queue,
                                              uint32_t core);

/* Leaves 'r', with what it counts, to the next writer that needs it. */
void tenant_port_leave_record(struct tenant_port *port,
                              struct tenant_record *r);

#endif /* tenant-queue-private.h */
