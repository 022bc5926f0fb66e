/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef AGENT_COMPILED_PRIVATE_H
#define AGENT_COMPILED_PRIVATE_H 1

/* Between compiled.c, which reads files and tells what there is, and
 * compile.c, which binds and compiles it. */

#include "agent/bind.h"
#include "agent/compiled.h"
#include "intent/files.h"
#include "openvswitch/shash.h"
#include "push/attached.h"

struct diags;
struct source;

/* A tenant, as its file has it. */
struct tenant {
    const struct intent_tenant *intent; /* In the arena of all files, or: */
    struct arena *arena;        /* Of its own file, if that was read by
                                 * itself. */
    const struct source *source;        /* That; or NULL. */
    char *path;                 /* Of its own file, or NULL. */
    struct bound bound;
    unsigned int bound_seqno;   /* Of the compiled, when that changed last. */
    bool stale;                 /* Does an interface say something else? */
    bool waits;                 /* May what is left out be right now... */
    bool doubts;                /* ...if it is tried alone? */
};

/* All that was read at once. */
struct compiled {
    const char *const *names;
    size_t n_names;
    struct site site;
    struct attached attached;   /* Of 'site'. */
    struct arena *arena;        /* Of what follows. */
    intent_files files;
    const struct intent *intent;        /* As the files have it. */
    struct shash tenants;       /* Contains "struct tenant"s. */
    struct bound externals;
    unsigned int bound_seqno;   /* Grows when any of that has changed. */
    unsigned int all_seqno;     /* When all had. */
    struct resident *resident;
    char *errors;
    unsigned int ports_seqno;   /* Of the interfaces that all are bound to. */
    bool stuck;                 /* Are they about what the bridge has? */
    bool waits;                 /* Does any tenant that says so? */
};

void clear_tenants(struct shash *);

/* Notes what is wrong; nothing, if 'diags' has no errors. */
void compiled_set_errors(struct compiled *, struct diags *);

/* Copies to 'arena' the files as they are compiled, in the order in which they
 * were read, and parses them. */
const struct intent *parse_kept(const struct compiled *, struct arena *,
                                struct diags *, intent_files *);

/* Compiles 'intent', of 'files', in the place of what there is.  'arena',
 * which holds both, is the compiled's then.  Returns false, with 'arena' still
 * the caller's, if that cannot be. */
bool compile_all(struct compiled *, const struct intent *,
                 const intent_files *, struct arena *, struct diags *);

/* Compiles what the bridge has of 'intent' in the place of 't'.  Returns false
 * if that cannot be.  Stores in 'blamed' whether something was left out that
 * may stand against what others had before. */
bool compile_tenant(struct compiled *, struct tenant *t,
                    const struct intent_tenant *intent,
                    struct resident_diff *, bool *blamed);

/* 't' has changed: others that wait for that are tried again. */
void try_waiting(struct compiled *, const struct tenant *t);

#endif /* agent/compiled-private.h */
