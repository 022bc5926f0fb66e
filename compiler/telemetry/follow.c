/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/follow.h"

#include <stdlib.h>
#include <time.h>

#include "telemetry/queue-file.h"
#include "util.h"

enum { MAX_NAPS = 20 };         /* Of 1 ms. */

struct follower {
    const char *rundir, *datapath;
    struct queue_file *file;            /* NULL if none is open. */
    uint64_t n_files;                   /* That were opened. */
    struct queue_cursors cursors;       /* In 'file'. */
};

struct follower *
follower_create(const char *rundir, const char *datapath)
{
    struct follower *f = xzalloc(sizeof *f);

    f->rundir = rundir;
    f->datapath = datapath;
    return f;
}

static void
forget_file(struct follower *f)
{
    queue_file_close(f->file);
    f->file = NULL;
    f->cursors.n = 0;
}

void
follower_destroy(struct follower *f)
{
    if (f) {
        forget_file(f);
        free(f->cursors.v);
        free(f);
    }
}

static const char *
open_file(struct follower *f, struct arena *arena)
{
    const char *path = NULL;
    const char *reason = queue_file_find(f->rundir, f->datapath, arena,
                                         &path);

    return reason ? reason : queue_file_open(path, arena, &f->file);
}

/* A thread of the switch that was kept from running while it wrote a record
 * soon goes on.  Only of a file that was never read before, nothing is known
 * of that record meanwhile. */
static const char *
read_first(struct follower *f, struct arena *arena, struct sample *s)
{
    static const struct timespec nap = { .tv_nsec = 1000000 };
    const char *reason;
    int naps = 0;

    for (;;) {
        reason = queue_file_read(f->file, arena, &f->cursors, s);
        if (reason || !s->n_unknown || ++naps > MAX_NAPS) {
            return reason;
        }
        f->cursors.n = 0;
        nanosleep(&nap, NULL);
    }
}

/* What was written last is read before the file is given up. */
const char *
follower_sample(struct follower *f, struct arena *arena, struct sample *s)
{
    for (;;) {
        bool fresh = !f->file;
        const char *reason = fresh ? open_file(f, arena) : NULL;
        bool current;

        if (reason) {
            return reason;
        }
        current = queue_file_is_current(f->file);
        reason = (fresh ? read_first(f, arena, s)
                  : queue_file_read(f->file, arena, &f->cursors, s));
        f->n_files += fresh;
        s->file = f->n_files;
        if (!reason && fresh && s->closed) {
            reason = "telemetry of tenants' queues was switched off";
        }
        if (reason || !current) {
            forget_file(f);
        }
        if (reason || current || fresh || s->bursts.n || s->missed.n) {
            return reason;
        }
    }
}
