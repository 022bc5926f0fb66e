/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/watch.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/nearest.h"
#include "dirs.h"
#include "telemetry/follow.h"
#include "telemetry/names.h"
#include "util.h"

enum { MAX_LISTED = 8 };        /* Ports. */
#define RELOAD_NS UINT64_C(10000000000)

static volatile sig_atomic_t stopped;

static void
stop(int signal_number)
{
    (void) signal_number;
    stopped = true;
}

void
watch_catch_signals(void)
{
    struct sigaction action = { .sa_handler = stop };

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool
watch_is_stopped(void)
{
    return stopped;
}

void
watch_sleep_ms(unsigned int ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

    if (!stopped) {
        nanosleep(&t, NULL);
    }
}

int
watch_check(const struct cli_options *options, const char *command)
{
    if (!options->n_intent != !options->node) {
        fprintf(stderr, "bulkhead: '%s' takes an intent and --node=NODE "
                "together, or none of both\n", command);
        return EXIT_USAGE;
    } else if (options->replay && (options->n_intent || options->datapath)) {
        fputs("bulkhead: a recording says itself whose it is; leave out the "
              "intent and --datapath\n", stderr);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

struct follower *
watch_follower(const struct cli_options *options)
{
    return follower_create(ovs_rundir(), options->datapath);
}

/* Names. */

/* Adds what the node keeps, and warns of what cannot be read. */
static void
add_state(struct tenant_names *names, struct arena *arena)
{
    const char *reason = tenant_names_add_state(names, cli_state_folder(),
                                                arena);

    if (reason) {
        fprintf(stderr, "bulkhead: warning: tenants may have no names but "
                "their tags: %s; INTENT --node=NODE has the names, too\n",
                reason);
    }
}

/* Adds those of an intent, and its ports. */
static void
add_plan(struct watch_names *w, const struct plan *plan)
{
    tenant_names_add_plan(w->names, plan);
    for (size_t i = 0; i < plan->ports.n; i++) {
        sset_add(&w->ports, plan->ports.v[i].interface);
    }
}

void
watch_names_init_empty(struct watch_names *w,
                       const struct cli_options *options)
{
    *w = (struct watch_names) { .options = options,
                                .names = tenant_names_create() };
    sset_init(&w->ports);
}

int
watch_names_init(struct watch_names *w, const struct cli_options *options)
{
    struct arena *arena = arena_create();
    int status = EXIT_DONE;
    struct plan plan;

    watch_names_init_empty(w, options);
    if (!options->n_intent) {
        add_state(w->names, arena);
    } else if (cli_load_plan(options, arena, &plan)) {
        add_plan(w, &plan);
    } else {
        status = EXIT_WRONG;
    }
    arena_destroy(arena);
    return status;
}

void
watch_names_destroy(struct watch_names *w)
{
    tenant_names_destroy(w->names);
    sset_destroy(&w->ports);
}

static bool
has_unnamed(const struct watch_names *w, const struct sample *s)
{
    for (size_t i = 0; i < s->totals.n; i++) {
        if (s->totals.v[i].tag
            && !tenant_names_find(w->names, s->totals.v[i].tag)) {
            return true;
        }
    }
    return false;
}

void
watch_names_refresh(struct watch_names *w, const struct sample *s)
{
    if (!w->options->n_intent && s->clock_ns - w->loaded_ns >= RELOAD_NS
        && has_unnamed(w, s)) {
        struct arena *arena = arena_create();

        tenant_names_add_state(w->names, cli_state_folder(), arena);
        w->loaded_ns = s->clock_ns;
        arena_destroy(arena);
    }
}

/* Selection. */

bool
watch_selects_port(const struct cli_options *options, const char *port)
{
    return !options->port || !strcmp(options->port, port);
}

bool
watch_selects_tenant(const struct cli_options *options,
                     const struct tenant_names *names, uint64_t tag)
{
    char buffer[32];

    return (!options->tenant
            || !strcmp(options->tenant,
                       tenant_names_text(names, tag, buffer)));
}

bool
watch_selects_burst(const struct cli_options *options,
                    const struct tenant_names *names, const struct burst *b)
{
    if (!watch_selects_port(options, b->port)) {
        return false;
    }
    for (unsigned int i = 0; options->tenant && i < b->n_shares; i++) {
        if (watch_selects_tenant(options, names, b->event.shares[i].tag)) {
            return true;
        }
    }
    return !options->tenant;
}

/* Ports by whether, and how likely, it is their rate that is to be set. */
enum port_kind {
    PORT_OF_INTENT,
    PORT_OTHER,
    PORT_OF_BRIDGE,             /* A bridge's local port. */
    N_PORTS_TO_SET,
    PORT_OF_DATAPATH = N_PORTS_TO_SET   /* No row of Interface is its. */
};

/* Is it the port of all tunnels of a type, such as genev_sys_6081? */
static bool
is_tunnels(const char *port)
{
    const char *end = strstr(port, "_sys");

    return end && (!end[4] || (end[4] == '_'
                               && !end[5 + strspn(end + 5, "0123456789")]));
}

/* Has ovs-vswitchd a bridge of that name? */
static bool
is_bridge(const char *port, struct arena *arena)
{
    return !access(arena_printf(arena, "%s/%s.mgmt", ovs_rundir(), port),
                   F_OK);
}

static enum port_kind
port_kind(const struct watch_names *w, const char *port, struct arena *arena)
{
    if (sset_contains(&w->ports, port)) {
        return PORT_OF_INTENT;
    } else if (is_tunnels(port) || !strcmp(port, "ovs-netdev")
               || !strcmp(port, "ovs-dummy") || !strcmp(port, "ovs-system")) {
        return PORT_OF_DATAPATH;
    }
    return (!w->options->replay && is_bridge(port, arena) ? PORT_OF_BRIDGE
            : PORT_OTHER);
}

/* Adds the ports of a kind that '--port' leaves. */
static void
add_ports(const struct watch_names *w, const struct sample *s,
          enum port_kind kind, struct arena *arena, watch_lines *ports)
{
    for (size_t i = 0; i < s->ports.n; i++) {
        const char *name = s->ports.v[i].name;

        if (watch_selects_port(w->options, name)
            && port_kind(w, name, arena) == kind) {
            *vec_push(arena, ports) = name;
        }
    }
}

/* The first of them, in words. */
static const char *
list_ports(const watch_lines *ports, struct arena *arena)
{
    const char *list = "";

    for (size_t i = 0; i < MIN(ports->n, MAX_LISTED); i++) {
        list = arena_printf(arena, "%s%s%s", list, i ? ", " : "",
                            ports->v[i]);
    }
    return (ports->n <= MAX_LISTED ? list
            : arena_printf(arena, "%s and %"PRIuSIZE" more", list,
                           ports->n - MAX_LISTED));
}

static void
warn_unknown(const char *what, const struct nearest *nearest)
{
    fprintf(stderr, "bulkhead: warning: %s '%s'%s%s%s\n", what, nearest->word,
            nearest->best ? "; did you mean '" : "",
            nearest->best ? nearest->best : "", nearest->best ? "'?" : "");
}

/* Names all ports if none is near. */
static void
warn_no_port(const struct nearest *nearest, const struct sample *s)
{
    struct arena *arena = arena_create();
    const char *what = "the switch counts for no port";
    watch_lines ports = VEC_INIT;

    for (size_t i = 0; i < s->ports.n; i++) {
        *vec_push(arena, &ports) = s->ports.v[i].name;
    }
    if (!nearest->best && ports.n) {
        what = arena_printf(arena, "the switch counts for %s, and no port",
                            list_ports(&ports, arena));
    }
    warn_unknown(what, nearest);
    arena_destroy(arena);
}

static bool
has_port(const struct sample *s, struct nearest *nearest)
{
    for (size_t i = 0; i < s->ports.n; i++) {
        if (!strcmp(s->ports.v[i].name, nearest->word)) {
            return true;
        }
        nearest_try(nearest, s->ports.v[i].name);
    }
    return false;
}

static bool
has_tag(const struct cli_options *options, const struct tenant_names *names,
        const struct sample *s)
{
    for (size_t i = 0; i < s->totals.n; i++) {
        if (watch_selects_tenant(options, names, s->totals.v[i].tag)) {
            return true;
        }
    }
    return false;
}

void
watch_warn_unknown(const struct cli_options *options,
                   const struct tenant_names *names, const struct sample *s)
{
    if (options->port) {
        struct nearest nearest = nearest_init(options->port);

        if (!has_port(s, &nearest)) {
            warn_no_port(&nearest, s);
        }
    }
    if (options->tenant) {
        struct nearest nearest = nearest_init(options->tenant);

        if (!tenant_names_try(names, &nearest)
            && !has_tag(options, names, s)) {
            warn_unknown("no tenant is known as", &nearest);
        }
    }
}

/* Doubts. */

const char *
watch_orphaned(const struct sample *s, struct arena *arena)
{
    return (s->orphaned
            ? arena_printf(arena, "ovs-vswitchd, process %"PRIu64", is not "
                           "there any more; this is what it has left", s->pid)
            : NULL);
}

/* Has none of the ports that '--port' leaves a queue? */
static bool
is_blind(const struct cli_options *options, const struct sample *s)
{
    bool blind = false;

    for (size_t i = 0; i < s->ports.n; i++) {
        if (watch_selects_port(options, s->ports.v[i].name)) {
            if (s->ports.v[i].rate) {
                return false;
            }
            blind = true;
        }
    }
    return blind;
}

/* What helps then. */
static const char *
explain_blind(const struct watch_names *w, const struct sample *s,
              struct arena *arena)
{
    watch_lines ports = VEC_INIT;

    for (enum port_kind kind = 0; kind < N_PORTS_TO_SET; kind++) {
        add_ports(w, s, kind, arena, &ports);
    }
    if (ports.n) {
        return arena_printf(arena, "no burst can be seen, since the rate is "
                            "unknown: set other_config:tenant-queue-rate of "
                            "Interface %s", list_ports(&ports, arena));
    }
    add_ports(w, s, PORT_OF_DATAPATH, arena, &ports);
    return arena_printf(arena, "no burst can be seen: %s is the datapath's "
                        "own, which has no rate",
                        list_ports(&ports, arena));
}

void
watch_doubts(const struct watch_names *w, const struct sample *s,
             struct arena *arena, watch_lines *lines)
{
    if (is_blind(w->options, s)) {
        *vec_push(arena, lines) = explain_blind(w, s, arena);
    }
    if (s->orphaned) {
        *vec_push(arena, lines) = watch_orphaned(s, arena);
    }
    if (s->n_left_out) {
        *vec_push(arena, lines) = arena_printf(
            arena, "%"PRIu64" ports and counters find no room in the "
            "switch's telemetry", s->n_left_out);
    }
    if (s->n_unread) {
        *vec_push(arena, lines) = arena_printf(
            arena, "%"PRIu64" records are being written all the time, or "
            "damaged; they are as they were read last, or left out",
            s->n_unread);
    }
}

/* Numbers. */

static const char *
scale(double value, double base, const char *const units[], size_t n,
      char buffer[WATCH_TEXT])
{
    size_t i = 0;

    while (i + 1 < n && value >= base) {
        value /= base;
        i++;
    }
    snprintf(buffer, WATCH_TEXT, "%.*f%s", i && value < 100 ? 1 : 0, value,
             units[i]);
    return buffer;
}

const char *
watch_bytes(double bytes, char buffer[WATCH_TEXT])
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };

    return scale(bytes, 1024, units, ARRAY_SIZE(units), buffer);
}

const char *
watch_ns(uint64_t ns, char buffer[WATCH_TEXT])
{
    static const char *const units[] = { "ns", "us", "ms", "s" };

    return scale(ns, 1000, units, ARRAY_SIZE(units), buffer);
}

const char *
watch_bits(double per_second, char buffer[WATCH_TEXT])
{
    static const char *const units[] = { "bps", "kbps", "Mbps", "Gbps",
                                         "Tbps" };

    return scale(per_second, 1000, units, ARRAY_SIZE(units), buffer);
}
