/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/decode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

/* What is written here ends in arguments of DPDK and in a script: only what
 * has the one form that is meant is taken. */

enum {
    MAX_CPU = 1023,             /* Linux: CPU_SETSIZE. */
    MAX_NUMA = 31,              /* DPDK: RTE_MAX_NUMA_NODES. */
    MAX_QUEUES = 256,
    MAX_VF = 1023,
    MIB = 1024 * 1024,
    MAX_MIB = 16 * MIB,         /* 16 TiB, of one NUMA node. */
    MAX_VDEV = 40,              /* DPDK: below RTE_DEV_NAME_MAX_LEN. */
};

struct number
decode_count(struct decoder *d, const struct value *v, const char *key,
             int min, int max)
{
    return (struct number) {
        decode_integer(d, v, key, min, max), value_member(v, key),
    };
}

/* The member 'key' of 'v', a list of CPUs. */
static void
decode_cpus(struct decoder *d, const struct value *v, const char *key,
            number_vec *cpus)
{
    const struct value *list = value_member(v, key);

    if (!decode_list(d, list, "a list of CPUs")) {
        return;
    } else if (!list->n) {
        decode_error(d, list, "there is no CPU in it",
                     "write numbers of CPUs, as in [2, 3]");
    }
    for (size_t i = 0; i < list->n; i++) {
        const struct value *e = &list->elems[i];
        size_t n_errors = d->diags->n_errors;
        uint16_t cpu = decode_number(d, e, 0, MAX_CPU);

        for (size_t j = 0; j < cpus->n; j++) {
            if (d->diags->n_errors == n_errors && cpus->v[j].n == cpu) {
                decode_error(d, e, arena_printf(d->arena, "CPU %"PRIu16
                                                " stands twice", cpu),
                             "remove one of the two");
            }
        }
        if (d->diags->n_errors == n_errors) {
            *vec_push(d->arena, cpus) = (struct number) { cpu, e };
        }
    }
}

/* The number of a NUMA node, as it is written: digits, no 0 in front. */
static bool
is_numa(const char *s)
{
    size_t n = strspn(s, "0123456789");

    return n && n <= 2 && !s[n] && (n == 1 || s[0] != '0')
           && atoi(s) <= MAX_NUMA;
}

static void
decode_memory(struct decoder *d, const struct value *v,
              struct intent_dpdk *dpdk)
{
    if (!decode_map(d, v, "a map of NUMA nodes")) {
        return;
    }
    for (size_t i = 0; i < v->n; i++) {
        const struct value *e = &v->elems[i];
        struct quantity size = decode_bytes(d, v, e->key);

        if (!is_numa(e->key)) {
            struct diag *diag = value_key_error(d->diags, e, "this is not the "
                                                "number of a NUMA node");
            diag_remedy(d->diags, diag, "write \"0\" to \"%d\", as `lscpu` "
                        "numbers them", MAX_NUMA);
        } else if (size.n % MIB || size.n / MIB > MAX_MIB) {
            decode_error(d, e, "this is not a whole number of MiB, up to "
                         "16384GiB", "write it like \"2GiB\" or \"512MiB\"");
        } else if (size.at) {
            *vec_push(d->arena, &dpdk->memory) = (struct intent_memory) {
                atoi(e->key), size,
            };
        }
    }
}

/* Is it a path from the root that goes down only, of plain words? */
static bool
is_folder(const char *s)
{
    while (*s == '/') {
        size_t n = strspn(++s, "abcdefghijklmnopqrstuvwxyz"
                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

        if (!n || *s == '.' || *s == '-') {
            return false;
        }
        s += n;
        if (!*s) {
            return true;
        }
    }
    return false;
}

void
decode_dpdk(struct decoder *d, const struct value *v,
            struct intent_dpdk *dpdk)
{
    static const struct member members[] = {
        { "lcores", false }, { "pmd_cpus", true }, { "memory", false },
        { "vhost_sockets", false }, { NULL, false },
    };

    if (!v || !decode_object(d, v, "\"dpdk\"", members)) {
        return;
    }
    dpdk->at = v;
    decode_cpus(d, v, "lcores", &dpdk->lcores);
    decode_cpus(d, v, "pmd_cpus", &dpdk->pmd_cpus);
    decode_memory(d, value_member(v, "memory"), dpdk);
    dpdk->vhost_sockets = decode_text(d, v, "vhost_sockets");
    if (dpdk->vhost_sockets.s && !is_folder(dpdk->vhost_sockets.s)) {
        decode_error(d, dpdk->vhost_sockets.at,
                     "this is not the path of a folder for sockets",
                     "write one like \"/var/lib/vhost_sockets\": names of "
                     "letters, digits, '.', '_' and '-', none of which begins "
                     "with '.' or '-'");
    }
}

/* Are there from 'min' to 'max' hexadecimal digits, in small letters? */
static size_t
hex_digits(const char *s, size_t min, size_t max)
{
    size_t n = strspn(s, "0123456789abcdef");

    return n >= min && n <= max ? n : 0;
}

/* DOMAIN:BUS:DEVICE.FUNCTION, in the one spelling that the kernel has. */
static bool
is_pci(const char *s)
{
    size_t n = hex_digits(s, 4, 8);

    if (!n || (n > 4 && s[0] == '0') || s[n] != ':') {
        return false;
    }
    s += n + 1;
    return (hex_digits(s, 2, 2) && s[2] == ':' && hex_digits(s + 3, 2, 2)
            && s[3] <= '1' && s[5] == '.' && s[6] >= '0' && s[6] <= '7'
            && !s[7]);
}

static bool
is_vdev(const char *s)
{
    static const char prefix[] = INTENT_VDEV"net_";
    size_t n;

    if (strncmp(s, prefix, strlen(prefix))) {
        return false;
    }
    s += strlen(prefix);
    n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return n && n <= MAX_VDEV && !s[n];
}

void
decode_device(struct decoder *d, const struct value *v,
              struct intent_uplink *uplink)
{
    static const char *const needing[] = { "queues", "pmd_cpus" };

    uplink->device = decode_text(d, v, "device");
    if (uplink->device.s && !is_pci(uplink->device.s)
        && !is_vdev(uplink->device.s)) {
        decode_error(d, uplink->device.at, "this is not a device of DPDK",
                     "write the PCI address as `lspci -D` prints it, like "
                     "\"0000:08:00.0\", or, to try without a NIC, "
                     "\"vdev:net_null0\"");
    }
    uplink->queues = decode_count(d, v, "queues", 1, MAX_QUEUES);
    decode_cpus(d, v, "pmd_cpus", &uplink->pmd_cpus);
    for (size_t i = 0; i < ARRAY_SIZE(needing); i++) {
        const struct value *m = value_member(v, needing[i]);

        if (m && !value_member(v, "device")) {
            struct diag *diag = value_key_error(d->diags, m, "'%s' is of an "
                                                "uplink with a \"device\"",
                                                needing[i]);
            diag_remedy(d->diags, diag, "say the \"device\" that DPDK drives, "
                        "or take this away");
        }
    }
}

void
decode_port(struct decoder *d, const struct value *v,
            struct intent_endpoint *endpoint)
{
    struct text port = decode_text(d, v, "port");

    if (port.s && strcmp(port.s, INTENT_SYSTEM)
        && strcmp(port.s, INTENT_REPRESENTOR)
        && strcmp(port.s, INTENT_VHOST)
        && strcmp(port.s, INTENT_LEGACY)) {
        decode_error(d, port.at, "there is no such kind of port",
                     "write \""INTENT_SYSTEM"\", \""INTENT_REPRESENTOR"\", "
                     "\""INTENT_VHOST"\" or \""INTENT_LEGACY"\"");
    }
    endpoint->port = port;
    endpoint->vf = decode_count(d, v, "vf", 0, MAX_VF);
}
