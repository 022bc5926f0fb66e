/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/earlier.h"

#include <string.h>
#include <unistd.h>

#include "base/source.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "plan/record.h"

static const char *
read_text(struct arena *arena, const char *path, const struct source **text)
{
    const char *reason = source_read(arena, path, text);

    return (reason ? arena_printf(arena, "cannot read %s: %s", path, reason)
            : NULL);
}

/* A member of a JSON object, of this type; or NULL. */
static const struct json *
member(const struct json *object, const char *name, enum json_type type)
{
    const struct json *found = (object->type == JSON_OBJECT
                                ? shash_find_data(json_object(object), name)
                                : NULL);

    return found && found->type == type ? found : NULL;
}

static void
note_files(struct earlier *earlier, struct arena *arena,
           const struct json *list)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, json_object(list)) {
        const struct json *hash = node->data;

        if (hash->type == JSON_STRING) {
            *vec_push(arena, &earlier->files) = (struct earlier_file) {
                arena_strdup(arena, node->name),
                arena_strdup(arena, json_string(hash)),
            };
        }
    }
}

const char *
earlier_read(struct earlier *earlier, struct arena *arena, const char *path)
{
    static const char ours[] = PACKAGE_NAME" ";
    const struct json *generator, *list;
    const struct source *text;
    const char *reason;
    struct json *json;

    if (access(path, F_OK)) {
        return NULL;
    }
    reason = read_text(arena, path, &text);
    if (reason) {
        return reason;
    }
    json = json_from_string(text->text);
    generator = member(json, "generator", JSON_STRING);
    list = member(json, "files", JSON_OBJECT);
    if (!generator
        || strncmp(json_string(generator), ours, strlen(ours))) {
        reason = arena_printf(arena, "%s is there and not Bulkhead's; compile "
                              "to another folder", path);
    } else if (list) {
        note_files(earlier, arena, list);
    }
    json_destroy(json);
    return reason;
}

const char *
earlier_find(const struct earlier *earlier, struct arena *arena,
             const char *path, const char *name, bool *found)
{
    const struct source *text;
    const char *reason, *hash;
    bool listed = false;

    *found = false;
    for (size_t i = 0; i < earlier->files.n; i++) {
        listed |= !strcmp(earlier->files.v[i].name, name);
    }
    if (!listed || access(path, F_OK)) {
        return NULL;
    }
    reason = read_text(arena, path, &text);
    if (reason) {
        return reason;
    }
    hash = plan_hash(arena, text->text, text->len);
    for (size_t i = 0; i < earlier->files.n; i++) {
        *found |= (!strcmp(earlier->files.v[i].name, name)
                   && !strcmp(earlier->files.v[i].hash, hash));
    }
    return (*found ? NULL
            : arena_printf(arena, "%s is of an earlier plan and has been "
                           "changed since; remove it, or compile to another "
                           "folder", path));
}
