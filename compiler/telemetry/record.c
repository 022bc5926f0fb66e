/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openvswitch/json.h"
#include "socket-util.h"
#include "telemetry/json.h"
#include "util.h"

#define FIRST_LINE "{\"bulkhead_recording\":1}\n"

struct recorder {
    char *path;
    int fd;
    off_t size;                 /* Of all that is whole. */
};

/* Appends a text, or nothing of it. */
static const char *
append(struct recorder *r, struct arena *arena, const char *text, size_t len)
{
    size_t written;
    int error = write_fully(r->fd, text, len, &written);

    if (!error) {
        r->size += len;
        return NULL;
    }
    ignore(ftruncate(r->fd, r->size));
    return arena_printf(arena, "%s: %s%s", r->path, ovs_strerror(error),
                        !r->size ? ""
                        : "; what was recorded until then is there");
}

/* Appends '{ "KIND": JSON }', and destroys it. */
static const char *
append_json(struct recorder *r, struct arena *arena, const char *kind,
            struct json *json)
{
    struct json *line = json_object_create();
    const char *reason;
    char *text;
    size_t len;

    json_object_put(line, kind, json);
    text = json_to_string(line, JSSF_SORT);
    json_destroy(line);
    len = strlen(text);
    text[len] = '\n';           /* In place of the null byte. */
    reason = append(r, arena, text, len + 1);
    free(text);
    return reason;
}

const char *
recorder_open(const char *path, struct arena *arena, struct recorder **rp)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC,
                  0640);
    struct recorder *r;
    const char *reason;

    *rp = NULL;
    if (fd < 0) {
        return arena_printf(arena, "%s: %s%s", path, ovs_strerror(errno),
                            errno == EEXIST ? "; choose another name" : "");
    }
    r = xzalloc(sizeof *r);
    r->path = xstrdup(path);
    r->fd = fd;
    reason = append(r, arena, FIRST_LINE, strlen(FIRST_LINE));
    if (reason) {
        unlink(path);
        recorder_close(r);
        return reason;
    }
    *rp = r;
    return NULL;
}

const char *
recorder_put_bursts(struct recorder *r, struct arena *arena,
                    const struct sample *s, const struct tenant_names *names)
{
    const char *reason = NULL;

    for (size_t i = 0; !reason && i < s->bursts.n; i++) {
        reason = append_json(r, arena, "burst",
                             burst_to_json(&s->bursts.v[i], names));
    }
    for (size_t i = 0; !reason && i < s->missed.n; i++) {
        reason = append_json(r, arena, "missed",
                             missed_to_json(&s->missed.v[i]));
    }
    return reason;
}

const char *
recorder_put_sample(struct recorder *r, struct arena *arena,
                    const struct sample *s, const struct tenant_names *names)
{
    const char *reason = append_json(r, arena, "sample",
                                     sample_to_json(s, names));

    /* Some file systems find out only now that there is no room. */
    if (!reason && fdatasync(r->fd) && errno != EINVAL) {
        reason = arena_printf(arena, "%s: %s", r->path, ovs_strerror(errno));
    }
    return reason;
}

void
recorder_close(struct recorder *r)
{
    if (r) {
        close(r->fd);
        free(r->path);
        free(r);
    }
}
