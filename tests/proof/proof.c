/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "proof.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct proof_options
proof_start(int argc, char *argv[])
{
    static const struct option options[] = {
        { "seed", required_argument, NULL, 's' },
        { "long", no_argument, NULL, 'l' },
        { NULL, 0, NULL, 0 },
    };
    struct proof_options o = { .seed = 1 };
    bool given = false;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == 's') {
            o.seed = strtoull(optarg, NULL, 10);
            given = true;
        } else if (c == 'l') {
            o.longer = true;
        } else {
            fprintf(stderr, "usage: %s [--seed N] [--long]\n", argv[0]);
            exit(2);
        }
    }
    if (o.longer && !given) {
        o.seed = time(NULL);
    }
    printf("# %s --seed %"PRIu64"%s\n", argv[0], o.seed,
           o.longer ? " --long" : "");
    fflush(stdout);
    return o;
}

static char file_dir[200];
static char file[sizeof file_dir + sizeof "/file"];

static void
remove_file(void)
{
    unlink(file);
    rmdir(file_dir);
}

const char *
proof_file(void)
{
    if (!file[0]) {
        const char *tmp = getenv("TMPDIR");

        snprintf(file_dir, sizeof file_dir, "%s/proof.XXXXXX",
                 tmp ? tmp : "/tmp");
        if (!mkdtemp(file_dir)) {
            perror(file_dir);
            exit(2);
        }
        snprintf(file, sizeof file, "%s/file", file_dir);
        atexit(remove_file);
    }
    return file;
}

static void
say(const char *verdict, const char *format, va_list args)
{
    fputs(verdict, stdout);
    vprintf(format, args);
    putchar('\n');
    fflush(stdout);
}

void
proof_ok(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say("ok - ", format, args);
    va_end(args);
}

void
proof_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say("not ok - ", format, args);
    va_end(args);
    exit(1);
}

void
proof_equal(const char *what, uint64_t is, uint64_t should)
{
    if (is != should) {
        proof_fail("%s: %"PRIu64" instead of %"PRIu64, what, is, should);
    }
}

void
proof_random_init(struct proof_random *r, uint64_t seed)
{
    r->state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    if (!r->state) {
        r->state = 1;
    }
    for (int i = 0; i < 8; i++) {
        proof_random(r);
    }
}

uint64_t
proof_random(struct proof_random *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * UINT64_C(0x2545f4914f6cdd1d);
}

uint64_t
proof_below(struct proof_random *r, uint64_t n)
{
    return (uint64_t) ((unsigned __int128) proof_random(r) * n >> 64);
}

double
proof_unit(struct proof_random *r)
{
    return ((proof_random(r) >> 11) + 1) * 0x1p-53;
}

uint64_t
proof_clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}
