/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(notify);

void
notify(const char *state)
{
    struct sockaddr_un sun = { .sun_family = AF_UNIX };
    const char *name = getenv("NOTIFY_SOCKET");
    size_t len = name ? strlen(name) : 0;
    socklen_t size;
    int fd;

    if (!len || len >= sizeof sun.sun_path || !strchr("/@", name[0])) {
        return;
    }
    memcpy(sun.sun_path, name, len);
    if (name[0] == '@') {
        sun.sun_path[0] = '\0';         /* An abstract name. */
    }
    size = offsetof(struct sockaddr_un, sun_path) + len;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL,
                         (const struct sockaddr *) &sun, size) < 0) {
        VLOG_WARN_ONCE("cannot notify %s: %s", name, ovs_strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
}
