/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_TEXT_TEXT_H
#define BACKEND_TEXT_TEXT_H 1

/* Target "text": what the node enforces, as an operator reads it: who may
 * reach whom, in which class, and how fast.  No switch takes it. */

#include "backend/backend.h"

extern const struct backend text_backend;

#endif /* backend/text/text.h */
