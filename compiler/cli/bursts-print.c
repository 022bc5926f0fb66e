/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/bursts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/watch.h"
#include "openvswitch/json.h"
#include "telemetry/json.h"
#include "telemetry/names.h"

static bool json_begun;         /* An element of the list was printed. */

/* The culprits or victims: "a 60%, b 10%". */
static void
print_roles(const struct tenant_names *names, const struct burst *b,
            bool culprits, int width)
{
    const struct tq_event *e = &b->event;
    int n = 0;

    for (unsigned int i = 0; i < b->n_shares; i++) {
        const struct tq_share *share = &e->shares[i];
        char buffer[32];

        if (tq_is_culprit(e, share) == culprits) {
            n += printf("%s%s %.0f%%", n ? ", " : "",
                        tenant_names_text(names, share->tag, buffer),
                        e->peak_depth ? 100.0 * share->bytes / e->peak_depth
                        : 0);
        }
    }
    if (!culprits && e->other_bytes) {
        n += printf("%sothers %.0f%%", n ? ", " : "",
                    100.0 * e->other_bytes / e->peak_depth);
    }
    if (!n) {
        n = printf("-");
    }
    printf("%*s", n < width ? width - n : 0, "");
}

static void
print_row(const struct tenant_names *names, const struct burst *b)
{
    char time[64], length[WATCH_TEXT], depth[WATCH_TEXT], bytes[WATCH_TEXT];

    time_to_text(b->start_ns, time);
    printf("%.26sZ  %-15s %8s %9s %9s  ", time, b->port,
           watch_ns(b->event.length_ns, length),
           watch_bytes(b->event.peak_depth, depth),
           watch_bytes(b->event.bytes, bytes));
    print_roles(names, b, true, 30);
    fputs("  ", stdout);
    print_roles(names, b, false, 0);
    putchar('\n');
}

/* A field as RFC 4180 has it.  Names hold no comma and no quote (see
 * docs/intents.md), but those of interfaces may, and all that a recording
 * says. */
static void
print_field(const char *s, bool quoted)
{
    if (!quoted && !strpbrk(s, ",\"")) {
        fputs(s, stdout);
        return;
    }
    putchar('"');
    for (; *s; s++) {
        if (*s == '"') {
            putchar('"');
        }
        putchar(*s);
    }
    putchar('"');
}

/* A line for each tenant. */
static void
print_csv(const struct tenant_names *names, const struct burst *b)
{
    const struct tq_event *e = &b->event;
    char time[64];

    time_to_text(b->start_ns, time);
    for (unsigned int i = 0; i < b->n_shares; i++) {
        const struct tq_share *share = &e->shares[i];
        const char *tenant = tenant_names_find(names, share->tag);

        printf("%s,", time);
        print_field(b->port, true);
        printf(",%"PRIu64",%"PRIu64",%"PRIu64",", e->length_ns, e->peak_depth,
               e->bytes);
        print_field(tenant ? tenant : "", false);
        printf(",%"PRIu64",%"PRIu64",%s\n", share->tag, share->bytes,
               tq_is_culprit(e, share) ? "culprit" : "victim");
    }
}

static void
print_json(const struct tenant_names *names, const struct burst *b)
{
    struct json *json = burst_to_json(b, names);
    char *s = json_to_string(json, JSSF_SORT);

    printf("%s%s", json_begun ? ",\n" : "", s);
    json_begun = true;
    free(s);
    json_destroy(json);
}

void
bursts_begin(const struct cli_options *options)
{
    if (options->format == FORMAT_JSON) {
        putchar('[');
    } else if (options->no_headings) {
        return;
    } else if (options->format == FORMAT_CSV) {
        puts("time,port,length_ns,max_depth,bytes,tenant,tag,tenant_bytes,"
             "role");
    } else {
        printf("%-27s  %-15s %8s %9s %9s  %-30s  %s\n", "TIME", "PORT",
               "LENGTH", "DEPTH", "BYTES", "CULPRITS", "VICTIMS");
    }
}

void
bursts_print(const struct cli_options *options,
             const struct tenant_names *names, const struct burst *b)
{
    switch (options->format) {
    case FORMAT_TABLE: print_row(names, b); break;
    case FORMAT_CSV: print_csv(names, b); break;
    case FORMAT_JSON: print_json(names, b); break;
    }
}

void
bursts_end(const struct cli_options *options)
{
    if (options->format == FORMAT_JSON) {
        puts("]");
    }
}

void
bursts_print_missed(const struct missed *missed)
{
    fprintf(stderr, "bulkhead: port %s: %"PRIu64" bursts are not listed: the "
            "switch keeps the last %d of a port; 'bulkhead bursts --record' "
            "keeps all\n", missed->port, missed->n, TQ_EVENTS);
}
