/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/follow.h"

#include <stdlib.h>

#include "telemetry/queue-file.h"
#include "util.h"

struct follower {
    const char *rundir, *datapath;
    struct queue_file *file;            /* NULL if none is open. */
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
        reason = queue_file_read(f->file, arena, &f->cursors, s);
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

bool
follower_has_writer(const struct follower *f)
{
    return f->file && queue_file_has_writer(f->file);
}
