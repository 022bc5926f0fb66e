/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "agent/admitted.h"
#include "agent/compiled.h"
#include "flow.h"
#include "openvswitch/ofp-port.h"
#include "push/ovsdb.h"
#include "random.h"
#include "unit.h"
#include "util.h"

/* What is taken over from the tenants that have changed is what all of them
 * would give, whatever happens in whatever order. */

enum { N_TENANTS = 4, N_INTERFACES = 6, N_STEPS = 20000, NOBODY = N_TENANTS };

/* In the place of compiled.c's. */
struct compiled {
    unsigned int seqno, all_seqno, of_tenants[N_TENANTS];
    int owners[N_INTERFACES];   /* NOBODY: it is not bound. */
    bool claimed[N_INTERFACES];
};

static char *
name_of(const struct compiled *c, int interface)
{
    return xasprintf("t%d/e%d", c->owners[interface], interface);
}

bool
compiled_bound(const struct compiled *c, unsigned int since,
               struct smap *bound, struct sset *claimed, struct sset *changed)
{
    bool some = since && since >= c->all_seqno;

    for (int i = 0; i < N_INTERFACES; i++) {
        int owner = c->owners[i];
        char *interface = xasprintf("i%d", i);

        if (owner != NOBODY && (!some || c->of_tenants[owner] > since)) {
            smap_add_nocopy(bound, xstrdup(interface), name_of(c, i));
            if (c->claimed[i]) {
                sset_add(claimed, interface);
            }
        }
        free(interface);
    }
    for (int t = 0; t < N_TENANTS && some; t++) {
        if (c->of_tenants[t] > since) {
            char *tenant = xasprintf("t%d", t);

            sset_add(changed, tenant);
            free(tenant);
        }
    }
    return some;
}

unsigned int
compiled_bound_seqno(const struct compiled *c)
{
    return c->seqno;
}

/* What the database says, and how often it has changed. */
struct world {
    struct compiled compiled;
    struct bridge_info info;
    bool there[N_INTERFACES];
    char *says[N_INTERFACES];   /* Of what endpoint it is; or NULL. */
    unsigned int seqno;
};

static void
update_info(struct world *w)
{
    ofputil_port_map_destroy(&w->info.ports);
    ofputil_port_map_init(&w->info.ports);
    for (int i = 0; i < N_INTERFACES; i++) {
        char *interface = xasprintf("i%d", i);

        if (w->there[i]) {
            ofputil_port_map_put(&w->info.ports, u16_to_ofp(i + 1),
                                 interface);
        }
        free(interface);
    }
}

static void
say(struct world *w)
{
    smap_clear(&w->info.endpoints);
    for (int i = 0; i < N_INTERFACES; i++) {
        if (w->says[i]) {
            smap_add_nocopy(&w->info.endpoints, xasprintf("i%d", i),
                            xstrdup(w->says[i]));
        }
    }
}

/* The interface says of which endpoint it is, mostly the right one. */
static void
say_one(struct world *w, int i)
{
    free(w->says[i]);
    w->says[i] = (w->compiled.owners[i] != NOBODY && random_range(20)
                  ? name_of(&w->compiled, i) : NULL);
    w->seqno++;
}

/* Binds an interface to a tenant's endpoint, as it says itself or not. */
static void
bind_one(struct world *w, int i)
{
    struct compiled *c = &w->compiled;
    int was = c->owners[i];

    c->owners[i] = random_range(N_TENANTS + 1);
    c->claimed[i] = c->owners[i] != NOBODY && random_range(2);
    c->seqno++;
    if (was != NOBODY) {
        c->of_tenants[was] = c->seqno;
    }
    if (c->owners[i] != NOBODY) {
        c->of_tenants[c->owners[i]] = c->seqno;
    }
    say_one(w, i);
}

static void
change(struct world *w)
{
    int i = random_range(N_INTERFACES);

    switch (random_range(6)) {
    case 0: case 1:
        bind_one(w, i);
        break;
    case 2:
        if (!random_range(4)) {
            bind_one(w, i);
            w->compiled.all_seqno = ++w->compiled.seqno;
        }
        break;
    case 3:
        if (!w->there[i] || !random_range(20)) {
            w->there[i] = !w->there[i];
            w->info.ports_seqno++;
            w->seqno++;
            update_info(w);
        }
        break;
    default:
        say_one(w, i);
    }
}

static void
assert_same(const struct sset *a, const struct sset *b, const char *what,
            int step)
{
    ck_assert_msg(sset_equals(a, b), "step %d: %s differ", step, what);
}

/* The same is asked of both. */
static void
ask(struct world *w, struct admitted *a, struct sset *gone, bool note)
{
    if (note) {
        admitted_note(a, &w->compiled, &w->info, w->seqno, gone);
    } else {
        admitted_withdraw(a, &w->compiled, &w->info, gone);
    }
}

/* What is found by tenant is all, and nothing else. */
static void
assert_by_tenant(const struct admitted *a, int step)
{
    const struct shash_node *of;
    size_t n = 0;

    SHASH_FOR_EACH (of, &a->of) {
        const struct sset *names = of->data;
        const char *interface;

        SSET_FOR_EACH (interface, names) {
            const char *as = smap_get(&a->as, interface);
            size_t len = strlen(of->name);

            ck_assert_msg(as && !strncmp(as, of->name, len)
                          && as[len] == '/', "step %d: %s of %s", step,
                          interface, of->name);
            n++;
        }
    }
    ck_assert_uint_eq(n, smap_count(&a->as));
}

static size_t
compare(struct world *w, struct admitted *some, struct admitted *all,
        int step)
{
    struct sset of_some = SSET_INITIALIZER(&of_some);
    struct sset of_all = SSET_INITIALIZER(&of_all);
    bool note = random_range(2);
    size_t n;

    say(w);
    all->whole = false;
    if (note) {                 /* All is taken anew. */
        admitted_destroy(all);
        admitted_init(all, some->bridge);
    }
    ask(w, some, &of_some, note);
    ask(w, all, &of_all, note);
    n = sset_count(&of_all);
    assert_by_tenant(some, step);
    assert_same(&of_some, &of_all, "those that are gone", step);
    assert_same(&some->claimed, &all->claimed, "claims", step);
    ck_assert_msg(smap_equal(&some->as, &all->as), "step %d: %s differ", step,
                  note ? "those that are put" : "those that stay");
    sset_destroy(&of_some);
    sset_destroy(&of_all);
    return n;
}

START_TEST(test_as_of_all)
{
    struct admitted some, all;
    struct world w = {
        .seqno = 1, .compiled = { .seqno = 1, .all_seqno = 1 },
    };
    size_t n_gone = 0, n_whole = 0;

    random_set_seed(1);
    ofputil_port_map_init(&w.info.ports);
    smap_init(&w.info.types);
    smap_init(&w.info.endpoints);
    for (int i = 0; i < N_INTERFACES; i++) {
        w.compiled.owners[i] = NOBODY;
        w.there[i] = true;
    }
    update_info(&w);
    admitted_init(&some, "br0");
    admitted_init(&all, "br0");
    for (int step = 0; step < N_STEPS; step++) {
        change(&w);
        if (!random_range(3)) {
            n_whole += some.whole;
            n_gone += compare(&w, &some, &all, step);
        }
    }
    /* Otherwise this has tested little. */
    ck_assert_uint_gt(n_gone, N_STEPS / 20);
    ck_assert_uint_gt(n_whole, N_STEPS / 40);
    admitted_destroy(&some);
    admitted_destroy(&all);
    for (int i = 0; i < N_INTERFACES; i++) {
        free(w.says[i]);
    }
    ofputil_port_map_destroy(&w.info.ports);
    smap_destroy(&w.info.types);
    smap_destroy(&w.info.endpoints);
}
END_TEST

Suite *
admitted_suite(void)
{
    Suite *suite = suite_create("admitted");
    TCase *tc = unit_case(suite, "admitted");

    tcase_add_test(tc, test_as_of_all);
    return suite;
}
