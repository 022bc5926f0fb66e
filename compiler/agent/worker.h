/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef AGENT_WORKER_H
#define AGENT_WORKER_H 1

/* A process of its own beside the daemon, so that the bridge is followed and
 * repaired meanwhile.  It has a copy of all as it was when it began, computes,
 * writes text to a pipe, and ends; it ends too when this one does.  It logs
 * nothing. */

#include <stdbool.h>
#include <sys/types.h>

#include "openvswitch/dynamic-string.h"

struct worker {
    pid_t pid;                  /* 0: none. */
    bool copies;                /* Has it a copy of all? */
    int fd;                     /* What it writes. */
    long long int deadline;     /* When it is killed; LLONG_MAX: it was. */
    struct ds said;             /* What it has written. */
};

enum worker_news {
    WORKER_RUNS,
    WORKER_LATE,                /* Its time is up, and it was killed. */
    WORKER_ENDED,
};

void worker_init(struct worker *);

/* Kills it, and does not wait: what it does to a disk may last. */
void worker_destroy(struct worker *);

/* Starts a process, while there is none, that writes what 'work' appends, and
 * has 'time_ms' for it.  Returns 0 or a positive errno. */
int worker_start(struct worker *, void (*work)(const void *aux, struct ds *),
                 const void *aux, long long int time_ms);

/* The same of this program, run anew with these arguments: it has a copy of
 * nothing, so nothing that this process writes to is copied for it, and it
 * gives way to it.  worker_begin() is the first thing that it does; it writes
 * to standard output. */
int worker_spawn(struct worker *, char *const argv[], long long int time_ms);
void worker_begin(pid_t parent);

/* Takes what it has written.  Once it has ended, stores how, as wait(2) does;
 * one that is late ends later, if it waits for a disk much later. */
enum worker_news worker_run(struct worker *, int *status);
void worker_wait(const struct worker *);

/* Was it late? */
bool worker_is_killed(const struct worker *);

/* Kills it, and waits for that. */
void worker_cancel(struct worker *);

/* The same, but does not wait for long: returns whether it has ended. */
bool worker_stop(struct worker *);

#endif /* agent/worker.h */
