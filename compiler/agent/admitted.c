/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/admitted.h"

#include <stdlib.h>
#include <string.h>

#include "agent/compiled.h"
#include "push/keep.h"
#include "push/ovsdb.h"
#include "util.h"

void
admitted_init(struct admitted *a, const char *bridge)
{
    *a = (struct admitted) { .bridge = bridge };
    smap_init(&a->as);
    sset_init(&a->claimed);
}

void
admitted_destroy(struct admitted *a)
{
    smap_destroy(&a->as);
    sset_destroy(&a->claimed);
}

/* 'interface_' may go with what is deleted. */
static void
drop(struct admitted *a, const char *interface_)
{
    char *interface = xstrdup(interface_);

    sset_find_and_delete(&a->claimed, interface);
    smap_remove(&a->as, interface);
    free(interface);
}

/* What is compiled, of the tenants that have changed since 'a' was whole. */
struct news {
    struct smap as;
    struct sset claimed;
    struct sset changed;
    bool all;                   /* It is all. */
};

static void
news_init(struct news *news, const struct admitted *a,
          const struct compiled *compiled)
{
    smap_init(&news->as);
    sset_init(&news->claimed);
    sset_init(&news->changed);
    news->all = !compiled_bound(compiled, a->whole ? a->bound_seqno : 0,
                                &news->as, &news->claimed, &news->changed);
}

static void
news_destroy(struct news *news)
{
    smap_destroy(&news->as);
    sset_destroy(&news->claimed);
    sset_destroy(&news->changed);
}

/* Would the news say it, if an interface were bound to 'name' still? */
static bool
news_are_of(const struct news *news, const char *name)
{
    const char *tenant;

    if (news->all) {
        return true;
    }
    SSET_FOR_EACH (tenant, &news->changed) {
        size_t n = strlen(tenant);

        if (!strncmp(name, tenant, n) && name[n] == '/') {
            return true;
        }
    }
    return false;
}

static void
take(struct admitted *a, const struct news *news)
{
    struct smap_node *node, *next;
    const char *interface;

    SMAP_FOR_EACH_SAFE (node, next, &a->as) {
        if (news_are_of(news, node->value)) {
            drop(a, node->key);
        }
    }
    SMAP_FOR_EACH (node, &news->as) {
        smap_replace(&a->as, node->key, node->value);
    }
    SSET_FOR_EACH (interface, &news->claimed) {
        sset_add(&a->claimed, interface);
    }
}

/* Moves those that are not there to 'gone', of all or of 'some'. */
static void
find_lost(struct admitted *a, const struct smap *some,
          const struct bridge_info *info, struct sset *gone)
{
    struct smap_node *node, *next;

    SMAP_FOR_EACH_SAFE (node, next, some) {
        if (!push_interface_is_fit(info, a->bridge, node->key)) {
            sset_add(gone, node->key);
            drop(a, node->key);
        }
    }
}

/* And those that do not say any more what they are. */
static void
find_silent(struct admitted *a, const struct bridge_info *info,
            struct sset *gone)
{
    struct smap said = SMAP_INITIALIZER(&said);
    const char *interface, *next;

    for (size_t i = 0; i < info->attachments.n; i++) {
        smap_replace(&said, info->attachments.v[i].interface,
                     info->attachments.v[i].endpoint);
    }
    SSET_FOR_EACH_SAFE (interface, next, &a->claimed) {
        const char *as = smap_get(&a->as, interface);

        if (as && strcmp(smap_get_def(&said, interface, ""), as)) {
            sset_add(gone, interface);
            drop(a, interface);
        }
    }
    smap_destroy(&said);
}

void
admitted_note(struct admitted *a, const struct compiled *compiled,
              const struct bridge_info *info, unsigned int bridge_seqno,
              struct sset *gone)
{
    unsigned int bound_seqno = compiled_bound_seqno(compiled);
    struct news news;

    if (a->whole && a->bound_seqno == bound_seqno
        && a->bridge_seqno == bridge_seqno) {
        return;
    }
    news_init(&news, a, compiled);
    take(a, &news);
    find_lost(a, a->ports_seqno == info->ports_seqno && !news.all ? &news.as
              : &a->as, info, gone);
    find_silent(a, info, gone);
    a->whole = sset_is_empty(gone);
    a->bound_seqno = bound_seqno;
    a->bridge_seqno = bridge_seqno;
    a->ports_seqno = info->ports_seqno;
    news_destroy(&news);
}

void
admitted_withdraw(struct admitted *a, const struct compiled *compiled,
                  const struct bridge_info *info, struct sset *gone)
{
    struct smap_node *node, *next;
    struct news news;
    size_t n_changed;

    news_init(&news, a, compiled);
    SMAP_FOR_EACH_SAFE (node, next, &a->as) {
        if (news_are_of(&news, node->value)
            && !nullable_string_is_equal(smap_get(&news.as, node->key),
                                         node->value)) {
            sset_add(gone, node->key);
            drop(a, node->key);
        }
    }
    n_changed = sset_count(gone);
    if (a->ports_seqno != info->ports_seqno) {
        find_lost(a, &a->as, info, gone);
        a->ports_seqno = info->ports_seqno;
    }
    find_silent(a, info, gone);
    /* Those that have changed are taken anew when they are put. */
    a->whole = a->whole && sset_count(gone) == n_changed;
    news_destroy(&news);
}

void
admitted_drop(struct admitted *a, const char *interface)
{
    drop(a, interface);
    a->whole = false;
}
