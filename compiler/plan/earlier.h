/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_EARLIER_H
#define PLAN_EARLIER_H 1

/* What an earlier plan has left in a folder, as its manifest says.  All return
 * NULL, or a reason in the arena. */

#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"

struct earlier_file {
    const char *name, *hash;    /* SHA-1 of what was written. */
};

struct earlier {
    VEC(struct earlier_file) files;     /* That not every plan has. */
};

/* Adds what the manifest at 'path' lists; nothing if there is none.  One that
 * Bulkhead has not written is refused. */
const char *earlier_read(struct earlier *, struct arena *, const char *path);

/* Is there at 'path' the file of this name, as it was written?  One that has
 * been changed since is refused. */
const char *earlier_find(const struct earlier *, struct arena *,
                         const char *path, const char *name, bool *found);

#endif /* plan/earlier.h */
