/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/ending.h"

#include <errno.h>
#include <signal.h>

#include "fatal-signal.h"
#include "latch.h"
#include "openvswitch/vlog.h"
#include "signals.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(ending);

static volatile sig_atomic_t asked;     /* The first that came, or 0. */
static struct latch latch;

static void
take(int number)
{
    int error = errno;

    if (asked) {
        fatal_signal_handler(number);
    } else {
        asked = number;
        latch_set(&latch);
    }
    errno = error;
}

void
ending_init(void)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
    struct sigaction action = { .sa_handler = take, .sa_flags = SA_RESTART };
    struct sigaction old;

    fatal_signal_init();
    latch_init(&latch);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN) {
            sigaction(signals[i], &action, NULL);
        }
    }
}

bool
ending_is_asked(void)
{
    char name[SIGNAL_NAME_BUFSIZE];

    latch_poll(&latch);         /* A process just forked may have set it. */
    if (asked) {
        VLOG_INFO("ends for signal %d (%s)", (int) asked,
                  signal_name(asked, name, sizeof name));
    }
    return asked;
}

void
ending_wait(void)
{
    latch_wait(&latch);
}
