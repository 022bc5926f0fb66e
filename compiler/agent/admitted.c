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
    shash_init(&a->of);
    sset_init(&a->claimed);
}

static void
destroy_names(struct sset *names)
{
    sset_destroy(names);
    free(names);
}

void
admitted_destroy(struct admitted *a)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &a->of) {
        destroy_names(node->data);
    }
    smap_destroy(&a->as);
    shash_destroy(&a->of);
    sset_destroy(&a->claimed);
}

/* The tenant of "TENANT/ENDPOINT".  The caller must free it. */
static char *
tenant_of(const char *endpoint)
{
    return xmemdup0(endpoint, strcspn(endpoint, "/"));
}

static void
add(struct admitted *a, const char *interface, const char *endpoint)
{
    char *tenant = tenant_of(endpoint);
    struct sset *names = shash_find_data(&a->of, tenant);

    if (!names) {
        names = xmalloc(sizeof *names);
        sset_init(names);
        shash_add(&a->of, tenant, names);
    }
    sset_add(names, interface);
    smap_add(&a->as, interface, endpoint);
    free(tenant);
}

/* 'interface_' may go with what is deleted. */
static void
drop(struct admitted *a, const char *interface_)
{
    const char *endpoint = smap_get(&a->as, interface_);

    if (endpoint) {
        char *interface = xstrdup(interface_), *tenant = tenant_of(endpoint);
        struct sset *names = shash_find_data(&a->of, tenant);

        sset_find_and_delete(names, interface);
        if (sset_is_empty(names)) {
            destroy_names(shash_find_and_delete(&a->of, tenant));
        }
        smap_remove(&a->as, interface);
        sset_find_and_delete(&a->claimed, interface);
        free(tenant);
        free(interface);
    }
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

/* Adds the interfaces that the news would say something of, if they were bound
 * to the same still. */
static void
find_told(const struct admitted *a, const struct news *news,
          struct sset *interfaces)
{
    const char *tenant, *interface;
    struct smap_node *node;

    if (news->all) {
        SMAP_FOR_EACH (node, &a->as) {
            sset_add(interfaces, node->key);
        }
        return;
    }
    SSET_FOR_EACH (tenant, &news->changed) {
        const struct sset *names = shash_find_data(&a->of, tenant);

        if (names) {
            SSET_FOR_EACH (interface, names) {
                sset_add(interfaces, interface);
            }
        }
    }
}

static void
take(struct admitted *a, const struct news *news)
{
    struct sset told = SSET_INITIALIZER(&told);
    const char *interface;
    struct smap_node *node;

    find_told(a, news, &told);
    SSET_FOR_EACH (interface, &told) {
        drop(a, interface);
    }
    SMAP_FOR_EACH (node, &news->as) {
        drop(a, node->key);
        add(a, node->key, node->value);
    }
    SSET_FOR_EACH (interface, &news->claimed) {
        sset_add(&a->claimed, interface);
    }
    sset_destroy(&told);
}

/* Moves an interface to 'gone'. */
static void
lose(struct admitted *a, const char *interface, struct sset *gone)
{
    sset_add(gone, interface);
    drop(a, interface);
}

/* Moves those that are not there to 'gone', of all or of 'some'. */
static void
find_lost(struct admitted *a, const struct smap *some,
          const struct bridge_info *info, struct sset *gone)
{
    struct smap_node *node, *next;

    SMAP_FOR_EACH_SAFE (node, next, some) {
        if (!push_interface_is_fit(info, a->bridge, node->key)) {
            lose(a, node->key, gone);
        }
    }
}

/* And those that do not say any more what they are. */
static void
find_silent(struct admitted *a, const struct bridge_info *info,
            struct sset *gone)
{
    const char *interface, *next;

    SSET_FOR_EACH_SAFE (interface, next, &a->claimed) {
        const char *as = smap_get(&a->as, interface);

        if (as && strcmp(smap_get_def(&info->endpoints, interface, ""), as)) {
            lose(a, interface, gone);
        }
    }
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
    struct sset told = SSET_INITIALIZER(&told);
    const char *interface;
    struct news news;
    size_t n_changed;

    news_init(&news, a, compiled);
    find_told(a, &news, &told);
    SSET_FOR_EACH (interface, &told) {
        if (!nullable_string_is_equal(smap_get(&news.as, interface),
                                      smap_get(&a->as, interface))) {
            lose(a, interface, gone);
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
    sset_destroy(&told);
}

void
admitted_drop(struct admitted *a, const char *interface)
{
    drop(a, interface);
    a->whole = false;
}
