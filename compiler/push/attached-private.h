/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_ATTACHED_PRIVATE_H
#define PUSH_ATTACHED_PRIVATE_H 1

/* Between attached.c, which has what interfaces say, attached-blame.c, which
 * leaves out what cannot be, and attached-write.c, which lets them say it. */

#include "push/attached.h"

/* What one interface says. */
struct attachment {
    char *interface;
    char *mac, *addresses;      /* Or NULL. */
    char *name;                 /* Of the text, in messages. */
    char *text;                 /* As a file of an intent would. */
    char *refused;              /* Why it is left out, or NULL... */
    const char *lacks;          /* ...or what nobody says of it, or NULL. */
    bool doubted;               /* Is it left out with all that are new, for an
                                 * error that speaks of none... */
    bool tried;                 /* ...and has it been tried alone? */
    bool by_id;                 /* Does an iface-id say so? */
    bool twice;                 /* For several interfaces say the same. */
    bool used;                  /* Is there such an endpoint? */
    bool settled;               /* Was it compiled? */
    bool here;                  /* Does the database still say so? */
};

/* The command that lets no iface-id of 'interface' say so any more. */
const char *attached_remove_id(const char *interface, struct arena *);

#endif /* push/attached-private.h */
