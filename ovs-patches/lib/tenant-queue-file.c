/*
 * Copyright (c) 2026 Bulkhead developers.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

#include <config.h>
#include "tenant-queue-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fatal-signal.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tenant_queue_file);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);

BUILD_ASSERT_DECL(sizeof(struct tq_queue) == 3 * CACHE_LINE_SIZE);
BUILD_ASSERT_DECL(TQ_QUEUE_LEAST == 2 * CACHE_LINE_SIZE);
BUILD_ASSERT_DECL(sizeof(struct tq_port) % CACHE_LINE_SIZE == 0);
BUILD_ASSERT_DECL(sizeof TQ_MAGIC == 8);

#define PORT_OFFSET ROUND_UP(sizeof(struct tq_header), CACHE_LINE_SIZE)
#define QUEUE_OFFSET (PORT_OFFSET + TQ_PORTS * sizeof(struct tq_port))
#define FILE_SIZE (QUEUE_OFFSET + TQ_QUEUES * sizeof(struct tq_queue))

static void
fill_header(struct tenant_file *file)
{
    struct tq_header *h = file->header;

    memcpy(h->magic, TQ_MAGIC, sizeof h->magic);
    h->version = TQ_VERSION;
    h->header_size = sizeof *h;
    h->port_offset = PORT_OFFSET;
    h->port_size = sizeof(struct tq_port);
    h->n_ports = TQ_PORTS;
    h->queue_offset = QUEUE_OFFSET;
    h->queue_size = sizeof(struct tq_queue);
    h->n_queues = TQ_QUEUES;
    h->file_size = FILE_SIZE;
    h->pid = getpid();
}

/* Locks 'fd' until it is closed, in all processes, which is how readers know
 * that it has a writer. */
static int
lock_file(int fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    return fcntl(fd, F_OFD_SETLK, &lock) ? errno : 0;
}

/* Creates 'tmp' with room for FILE_SIZE bytes, locks it and maps it.  The room
 * is allocated now: where there is none later, a write would be a SIGBUS. */
static int
map_new_file(struct tenant_file *file, const char *tmp)
{
    int fd, error;
    void *map;

    if (unlink(tmp) && errno != ENOENT) {
        return errno;
    }
    fd = open(tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0) {
        return errno;
    }
    error = lock_file(fd);
    if (!error) {
        error = posix_fallocate(fd, 0, FILE_SIZE);
    }
    if (!error) {
        map = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                   0);
        error = map == MAP_FAILED ? errno : 0;
    }
    if (error) {
        close(fd);
        unlink(tmp);
        return error;
    }
    file->fd = fd;
    file->header = map;
    return 0;
}

int
tenant_file_create(struct tenant_file *file, const char *path)
{
    char *tmp = xasprintf("%s.tmp", path);
    int error;

    memset(file, 0, sizeof *file);
    error = map_new_file(file, tmp);
    if (!error) {
        char *base = (char *) file->header;

        fill_header(file);
        file->ports = ALIGNED_CAST(struct tq_port *,
                                   base + PORT_OFFSET);
        file->queues = ALIGNED_CAST(struct tq_queue *,
                                    base + QUEUE_OFFSET);
        if (rename(tmp, path)) {
            error = errno;
            unlink(tmp);
            tenant_file_unmap(file);
        } else {
            file->path = xstrdup(path);
            fatal_signal_add_file_to_unlink(path);
        }
    }
    if (error) {
        VLOG_ERR_RL(&rl, "%s: cannot create it (%s); there is no telemetry "
                    "of tenants' queues", path, ovs_strerror(error));
    }
    free(tmp);
    return error;
}

void
tenant_file_remove(struct tenant_file *file)
{
    if (file->path) {
        tq_set(&file->header->closed, 1);
        fatal_signal_unlink_file_now(file->path);
        free(file->path);
        file->path = NULL;
    }
}

void
tenant_file_unmap(struct tenant_file *file)
{
    munmap(file->header, FILE_SIZE);
    close(file->fd);
}
