/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_TEXT_VFS_H
#define BACKEND_TEXT_VFS_H 1

struct ds;
struct ir_prog;

/* Appends the section of VFs in legacy mode, which no rule is kept for, if the
 * node has any. */
void text_put_vfs(struct ds *, const struct ir_prog *);

#endif /* backend/text/vfs.h */
