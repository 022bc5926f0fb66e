/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/queue-file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "telemetry/fault.h"
#include "telemetry/queue-private.h"
#include "util.h"

#define PREFIX "tenant-queues."
enum { MAX_SIZE = 64 * 1024 * 1024 };   /* A dozen times the real one. */

#define HOW_TO_SWITCH_ON \
    "the patched ovs-vswitchd writes it while 'ovs-vsctl set Open_vSwitch . " \
    "other_config:tenant-queue-telemetry=true' holds; if it does, somebody " \
    "removed the file, and false and then true again makes a new one"

#define HOW_TO_MAKE_ANEW \
    "; ovs-vswitchd makes a new one when telemetry is switched off and on"

static bool
is_queue_file(const char *name)
{
    size_t len = strlen(name);

    return (!strncmp(name, PREFIX, strlen(PREFIX)) && len > strlen(PREFIX)
            && (len < 4 || strcmp(name + len - 4, ".tmp")));
}

const char *
queue_file_find(const char *rundir, const char *datapath,
                struct arena *arena, const char **path)
{
    folder_vec entries = VEC_INIT;
    const char *reason, *found = NULL;

    if (datapath) {
        *path = arena_printf(arena, "%s/"PREFIX"%s", rundir, datapath);
        return NULL;
    }
    reason = folder_read(arena, rundir, &entries);
    if (reason) {
        return arena_printf(arena, "%s: %s", rundir, reason);
    }
    for (size_t i = 0; i < entries.n; i++) {
        const char *name = entries.v[i].name;

        if (!entries.v[i].is_folder && is_queue_file(name)) {
            if (found) {
                return arena_printf(
                    arena, "%s has telemetry of several datapaths; choose "
                    "one: --datapath=%s or --datapath=%s", rundir,
                    found + strlen(PREFIX), name + strlen(PREFIX));
            }
            found = name;
        }
    }
    if (!found) {
        return arena_printf(arena, "there is no "PREFIX"DATAPATH in %s: "
                            HOW_TO_SWITCH_ON, rundir);
    }
    *path = arena_printf(arena, "%s/%s", rundir, found);
    return NULL;
}

/* Do 'n' records of 'size' bytes from 'offset' on lie in the file, and have
 * they room for all that this version has? */
static bool
fits(uint64_t offset, uint64_t size, uint64_t n, size_t needed,
     const struct tq_header *h)
{
    return (offset >= h->header_size && size >= needed
            && !(offset % sizeof(uint64_t)) && !(size % sizeof(uint64_t))
            && offset <= h->file_size
            && n <= (h->file_size - offset) / size);
}

/* Takes the header of the mapping, of 'size' bytes.  Returns NULL, or what is
 * wrong with it. */
static const char *
take_header(struct queue_file *f, struct arena *arena)
{
    struct tq_header *h = &f->header;

    if (f->size < sizeof *h) {
        return "is too short to be telemetry of tenants' queues"
               HOW_TO_MAKE_ANEW;
    }
    memcpy(h, f->map, sizeof *h);
    if (memcmp(h->magic, TQ_MAGIC, sizeof h->magic)) {
        return "is no telemetry of tenants' queues"HOW_TO_MAKE_ANEW;
    } else if (h->version != TQ_VERSION) {
        return arena_printf(
            arena, "is of version %"PRIu32", and this is a reader of version "
            "%d: bulkhead and ovs-vswitchd must be of one release",
            h->version, TQ_VERSION);
    } else if (h->file_size > f->size) {
        return "is truncated"HOW_TO_MAKE_ANEW;
    } else if (h->header_size < sizeof *h || h->header_size > f->size
               || !fits(h->port_offset, h->port_size, h->n_ports,
                        sizeof(struct tq_port), h)
               || !fits(h->queue_offset, h->queue_size, h->n_queues,
                        TQ_QUEUE_LEAST, h)) {
        return "contradicts itself: its header is damaged"HOW_TO_MAKE_ANEW;
    }
    return NULL;
}

static const char *
map_file(struct queue_file *f, struct arena *arena)
{
    const char *reason;
    struct stat s;

    if (fstat(f->fd, &s)) {
        return ovs_strerror(errno);
    } else if (!S_ISREG(s.st_mode)) {
        return "is no regular file"HOW_TO_MAKE_ANEW;
    } else if (s.st_size > MAX_SIZE) {
        return "is too large to be telemetry of tenants' queues"
               HOW_TO_MAKE_ANEW;
    } else if (!s.st_size) {
        return "is empty"HOW_TO_MAKE_ANEW;
    }
    f->device = s.st_dev;
    f->inode = s.st_ino;
    f->size = s.st_size;
    f->map = mmap(NULL, f->size, PROT_READ, MAP_SHARED, f->fd, 0);
    if (f->map == MAP_FAILED) {
        f->map = NULL;
        return ovs_strerror(errno);
    }
    fault_guard(f->map, f->size);
    reason = take_header(f, arena);
    return fault_happened() ? QUEUE_FILE_CUT : reason;
}

const char *
queue_file_open(const char *path, struct arena *arena, struct queue_file **fp)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct queue_file *f;
    const char *reason;

    *fp = NULL;
    if (fd < 0) {
        return (errno == ENOENT
                ? arena_printf(arena, "%s is not there: "HOW_TO_SWITCH_ON,
                               path)
                : arena_printf(arena, "%s: %s%s", path, ovs_strerror(errno),
                               errno != EACCES ? ""
                               : "; it is for the user and the group of "
                                 "ovs-vswitchd"));
    }
    f = xzalloc(sizeof *f);
    f->fd = fd;
    reason = map_file(f, arena);
    if (reason) {
        queue_file_close(f);
        return arena_printf(arena, "%s %s", path, reason);
    }
    f->path = xstrdup(path);
    f->ports = xcalloc(f->header.n_ports, sizeof *f->ports);
    f->queues = xcalloc(f->header.n_queues, sizeof *f->queues);
    *fp = f;
    return NULL;
}

void
queue_file_close(struct queue_file *f)
{
    if (f) {
        if (f->map) {
            fault_unguard();
            munmap(CONST_CAST(uint8_t *, f->map), f->size);
        }
        close(f->fd);
        free(f->path);
        free(f->ports);
        free(f->queues);
        free(f);
    }
}

bool
queue_file_is_current(const struct queue_file *f)
{
    const struct tq_header *h = (const void *) f->map;
    struct stat s;

    return (!stat(f->path, &s) && s.st_dev == f->device
            && s.st_ino == f->inode && !tq_get(&h->closed)
            && !fault_happened());
}

bool
queue_file_has_writer(const struct queue_file *f)
{
    struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

    return !fcntl(f->fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}
