/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef AGENT_NOTIFY_H
#define AGENT_NOTIFY_H 1

/* Tells systemd, or whoever has set NOTIFY_SOCKET, how things are:
 * sd_notify(3), without its library. */

/* 'state' is lines such as "READY=1".  Without NOTIFY_SOCKET nothing is
 * done. */
void notify(const char *state);

#endif /* agent/notify.h */
