/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef INTENT_FILES_H
#define INTENT_FILES_H 1

/* The files of an intent, and what each of them may define.
 *
 * In the folder of an intent, and in those called "tenants" and "bindings" in
 * it, files called "*.json" are read, in the order of their names; hidden
 * files and those that are called otherwise are left alone.  The authority of
 * a file follows from the folder that it is in, whoever names it. */

#include <stdbool.h>

#include "base/diag.h"
#include "base/source.h"
#include "base/vec.h"

enum file_role {
    FILE_OPERATOR,              /* May define everything. */
    FILE_TENANT,                /* In tenants/: the tenant of its name. */
    FILE_BINDINGS,              /* In bindings/: bindings only. */
};

struct intent_file {
    const struct source *source;
    enum file_role role;
    const char *tenant;         /* The tenant whose file this is, or NULL. */
};

VEC_TYPEDEF(intent_files, struct intent_file);

/* Reads the files, and those in the folders, that are called 'names'.  Returns
 * false after adding an error to 'diags' for each that cannot be read.  The
 * files hold at most SOURCE_MAX_SIZE bytes in all. */
bool intent_read(const char *const names[], size_t n, struct arena *,
                 struct diags *, intent_files *);

#endif /* intent/files.h */
