/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "telemetry/json.h"
#include "telemetry/names.h"
#include "util.h"

/* A line with all ports and counters that a switch has room for is a
 * twentieth of it. */
enum { MAX_LINE = 128 * 1024 * 1024 };

struct replay {
    char *path;
    FILE *stream;
    char *line;
    size_t allocated;
    unsigned int line_number;
    bool cut;
};

/* Reads a line with its newline; '*len' is 0 at the end. */
static const char *
read_line(struct replay *r, size_t *len)
{
    int c;

    *len = 0;
    r->line_number++;
    while ((c = getc_unlocked(r->stream)) != EOF) {
        while (*len + 2 > r->allocated) {
            r->line = x2nrealloc(r->line, &r->allocated, 1);
        }
        r->line[(*len)++] = c;
        r->line[*len] = '\0';
        if (c == '\n') {
            return memchr(r->line, '\0', *len) ? "holds a null byte" : NULL;
        } else if (*len > MAX_LINE) {
            return "is too long";
        }
    }
    if (ferror(r->stream)) {
        return ovs_strerror(errno);
    }
    r->cut = *len > 0;
    *len = 0;
    return NULL;
}

static const char *
open_stream(struct replay *r)
{
    int fd = open(r->path, O_RDONLY | O_CLOEXEC);
    struct stat s;

    if (fd < 0) {
        return ovs_strerror(errno);
    }
    r->stream = fdopen(fd, "r");
    return (!r->stream || fstat(fd, &s) ? ovs_strerror(errno)
            : S_ISDIR(s.st_mode) ? ovs_strerror(EISDIR) : NULL);
}

/* Only the number is another in another version. */
static const char *
check_first_line(struct replay *r)
{
    size_t len;
    const char *reason = read_line(r, &len);
    struct json *json = NULL;
    const struct json *version;

    if (!reason && len) {
        json = json_from_string(r->line);
    }
    version = (json && json->type == JSON_OBJECT
               ? shash_find_data(json->object, "bulkhead_recording") : NULL);
    if (reason || !version || version->type != JSON_INTEGER) {
        reason = "is no recording of bulkhead's; --record makes one";
    } else if (version->integer != 1) {
        reason = "is a recording of another version of bulkhead; read it with "
                 "the one that made it";
    }
    json_destroy(json);
    return reason;
}

const char *
replay_open(const char *path, struct arena *arena, struct replay **rp)
{
    struct replay *r = xzalloc(sizeof *r);
    const char *reason;

    r->path = xstrdup(path);
    reason = open_stream(r);
    if (reason) {
        reason = arena_printf(arena, "%s: %s", path, reason);
    } else {
        reason = check_first_line(r);
        reason = reason ? arena_printf(arena, "%s %s", path, reason) : NULL;
    }
    if (reason) {
        replay_close(r);
        r = NULL;
    }
    *rp = r;
    return reason;
}

static bool
parse_item(const struct json *json, struct arena *arena,
           struct tenant_names *names, struct replay_item *item)
{
    const struct shash_node *node;

    if (json->type != JSON_OBJECT || shash_count(json->object) != 1) {
        return false;
    }
    node = shash_first(json->object);
    if (!strcmp(node->name, "burst")) {
        item->kind = REPLAY_BURST;
        return burst_from_json(node->data, arena, names, &item->burst);
    } else if (!strcmp(node->name, "missed")) {
        item->kind = REPLAY_MISSED;
        return missed_from_json(node->data, arena, &item->missed);
    } else if (!strcmp(node->name, "sample")) {
        item->kind = REPLAY_SAMPLE;
        return sample_from_json(node->data, arena, names, &item->sample);
    }
    return false;
}

const char *
replay_next(struct replay *r, struct arena *arena, struct tenant_names *names,
            struct replay_item *item)
{
    struct json *json;
    const char *reason;
    size_t len;

    memset(item, 0, sizeof *item);
    reason = read_line(r, &len);
    if (reason) {
        return arena_printf(arena, "%s:%u: %s", r->path, r->line_number,
                            reason);
    } else if (!len) {
        item->kind = REPLAY_END;
        return NULL;
    }
    json = json_from_string(r->line);
    if (!parse_item(json, arena, names, item)) {
        item->kind = REPLAY_END;
        reason = arena_printf(arena, "%s:%u: this line is damaged; without it "
                              "what follows can be read", r->path,
                              r->line_number);
    }
    json_destroy(json);
    return reason;
}

uint64_t
replay_find_end(const char *path)
{
    struct tenant_names *names = tenant_names_create();
    struct replay_item item;
    struct arena *arena = arena_create();
    uint64_t end = 0;
    struct replay *r;
    bool more = !replay_open(path, arena, &r);

    while (more) {
        struct arena *line = arena_create();

        more = (!replay_next(r, line, names, &item)
                && item.kind != REPLAY_END);
        end = MAX(end, MAX(item.burst.start_ns, item.sample.time_ns));
        arena_destroy(line);
    }
    replay_close(r);
    tenant_names_destroy(names);
    arena_destroy(arena);
    return end;
}

bool
replay_was_cut(const struct replay *r)
{
    return r->cut;
}

void
replay_close(struct replay *r)
{
    if (r) {
        if (r->stream) {
            fclose(r->stream);
        }
        free(r->line);
        free(r->path);
        free(r);
    }
}
