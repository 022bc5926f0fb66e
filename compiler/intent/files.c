/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/files.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/folder.h"
#include "base/nearest.h"
#include "util.h"

struct reader {
    struct arena *arena;
    struct diags *diags;
    intent_files *files;
    size_t size;                /* Of all files read so far. */
};

static const char *const folders[] = {
    [FILE_OPERATOR] = NULL, [FILE_TENANT] = "tenants",
    [FILE_BINDINGS] = "bindings",
};

/* Files have no text yet whose place could be shown. */
static struct diag *
file_error(struct reader *r, const char *path, const char *reason)
{
    return diag_error(r->diags, (struct span) { NULL, 0, 0 }, NULL,
                      "cannot read %s: %s", path, reason);
}

static bool
has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);

    return n > m && !strcmp(name + n - m, suffix);
}

/* The role of a folder called 'name', without the way to it. */
static enum file_role
role_of_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        if (folders[i] && !strcmp(folders[i], name)) {
            return i;
        }
    }
    return FILE_OPERATOR;
}

/* The role of the files in folder 'path', whatever way leads there: its own
 * name says it, or the name that a link or "." stands for. */
static enum file_role
role_of_folder(const char *path)
{
    char *name = base_name(path);
    char *real = realpath(path, NULL);
    char *real_name = base_name(real ? real : path);
    enum file_role role = role_of_name(name);

    if (role == FILE_OPERATOR) {
        role = role_of_name(real_name);
    }
    free(name);
    free(real);
    free(real_name);
    return role;
}

/* The same of a file, and of what it is a link to. */
static enum file_role
role_of_file(const char *path)
{
    char *real = realpath(path, NULL);
    char *dir = dir_name(path);
    char *real_dir = dir_name(real ? real : path);
    enum file_role role = role_of_folder(dir);

    if (role == FILE_OPERATOR) {
        role = role_of_folder(real_dir);
    }
    free(real);
    free(dir);
    free(real_dir);
    return role;
}

/* 'role' is that of the folder in which the file was found. */
static void
read_file(struct reader *r, const char *path, enum file_role role)
{
    struct intent_file file = {
        .role = role == FILE_OPERATOR ? role_of_file(path) : role,
    };
    const char *reason;

    if (r->size > SOURCE_MAX_SIZE) {
        return;
    }
    reason = source_read(r->arena, path, &file.source);
    if (reason) {
        diag_remedy(r->diags, file_error(r, path, reason),
                    "name a file or folder that is there and readable");
        return;
    }
    r->size += file.source->len;
    if (r->size > SOURCE_MAX_SIZE) {
        reason = arena_printf(r->arena, "the intent is larger than %d MiB",
                              SOURCE_MAX_SIZE / 1024 / 1024);
        diag_remedy(r->diags, file_error(r, path, reason),
                    "split it into intents of fewer tenants");
        return;
    }
    if (file.role == FILE_TENANT) {
        char *name = base_name(path);

        if (has_suffix(name, ".json")) {
            name[strlen(name) - strlen(".json")] = '\0';
        }
        file.tenant = arena_strdup(r->arena, name);
        free(name);
    }
    *vec_push(r->arena, r->files) = file;
}

/* Nothing is left out for a slip of the pen. */
static void
refuse_folder(struct reader *r, const char *path, const char *name,
              enum file_role role)
{
    struct diag *d = file_error(r, path,
                                "no folder of this name belongs here");
    struct nearest nearest = nearest_init(name);

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        if (folders[i] && role == FILE_OPERATOR) {
            nearest_try(&nearest, folders[i]);
        }
    }
    if (nearest.best) {
        diag_remedy(r->diags, d, "did you mean '%s'?", nearest.best);
    } else {
        diag_remedy(r->diags, d, "move it away; an intent is files, and the "
                    "folders 'tenants' and 'bindings' of files");
    }
}

static void
read_folder(struct reader *r, const char *path, enum file_role role)
{
    const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
    folder_vec entries = VEC_INIT;
    const char *reason = folder_read(r->arena, path, &entries);

    if (reason) {
        diag_remedy(r->diags, file_error(r, path, reason),
                    "make it readable");
        return;
    }
    for (size_t i = 0; i < entries.n; i++) {
        const char *name = entries.v[i].name;
        const char *entry = arena_printf(r->arena, "%s%s%s", path, slash,
                                         name);
        enum file_role inner = role_of_name(name);

        if (!entries.v[i].is_folder) {
            if (has_suffix(name, ".json")) {
                read_file(r, entry, role);
            } else if (strlen(name) > 5
                       && !strcasecmp(name + strlen(name) - 5, ".json")) {
                diag_remedy(r->diags,
                            file_error(r, entry, "files of an intent are "
                                       "called *.json, in lower case"),
                            "rename it, or move it away");
            }
        } else if (role == FILE_OPERATOR && inner != FILE_OPERATOR) {
            read_folder(r, entry, inner);
        } else {
            refuse_folder(r, entry, name, role);
        }
    }
}

/* Reads what the user has named. */
static void
read_named(struct reader *r, const char *path)
{
    size_t n_files = r->files->n, n_errors = r->diags->n_errors;

    if (is_folder(path)) {
        read_folder(r, path, role_of_folder(path));
        if (r->files->n == n_files && r->diags->n_errors == n_errors) {
            diag_remedy(r->diags,
                        file_error(r, path, "no file of an intent is in it"),
                        "name a folder that has files called *.json");
        }
    } else {
        read_file(r, path, FILE_OPERATOR);
    }
}

static int
compare_files(const void *a_, const void *b_)
{
    const struct intent_file *a = a_;
    const struct intent_file *b = b_;

    return strcmp(a->source->name, b->source->name);
}

/* The order in which files are named is of no importance. */
static void
sort_files(struct reader *r)
{
    intent_files *files = r->files;

    if (files->n) {
        qsort(files->v, files->n, sizeof *files->v, compare_files);
    }
    for (size_t i = 1; i < files->n; i++) {
        if (!compare_files(&files->v[i - 1], &files->v[i])) {
            diag_remedy(r->diags, file_error(r, files->v[i].source->name,
                                             "it is read already"),
                        "name it once");
        }
    }
}

bool
intent_read(const char *const names[], size_t n, struct arena *arena,
            struct diags *diags, intent_files *files)
{
    struct reader r = { arena, diags, files, 0 };
    size_t n_errors = diags->n_errors;

    for (size_t i = 0; i < n; i++) {
        read_named(&r, names[i]);
    }
    sort_files(&r);
    return diags->n_errors == n_errors;
}
