/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "base/child.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fatal-signal.h"
#include "openvswitch/vlog.h"
#include "util.h"

void
child_begin(pid_t parent, bool outlasts)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

    fatal_signal_fork();
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        signal(signals[i], outlasts ? SIG_IGN : SIG_DFL);
    }
    signal(SIGALRM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(EXIT_FAILURE);
    }
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
}

/* One by one where there is no close_range(2), or a filter of system calls
 * refuses it. */
bool
child_close_others(int fd)
{
    const int first = STDERR_FILENO + 1;
    struct dirent *entry;
    DIR *dir;

    if ((fd <= first || !close_range(first, fd - 1, 0))
        && !close_range(MAX(fd + 1, first), ~0U, 0)) {
        return true;
    }
    dir = opendir("/proc/self/fd");
    if (!dir) {
        return false;
    }
    while ((entry = readdir(dir))) {
        int other = atoi(entry->d_name);

        if (other >= first && other != fd && other != dirfd(dir)) {
            close(other);
        }
    }
    closedir(dir);
    return true;
}
