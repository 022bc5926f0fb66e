/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident-edits.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "svec.h"
#include "util.h"

static const char *
format(const struct plan_record *record, struct arena *arena, size_t *len)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *text;

    plan_record_format(record, &ds);
    text = arena_strdup(arena, ds_cstr(&ds));
    *len = ds.length;
    ds_destroy(&ds);
    return text;
}

static struct plan_record
make_record(const struct resident *resident, struct plan *plan,
            struct arena *arena)
{
    resident_plan(resident, plan, arena);
    return (struct plan_record) {
        .bridge = "br0", .generation = 1, .time = "now", .plan = plan,
    };
}

/* The items of a list, sorted. */
static void
list_items(const struct json *list, struct svec *items)
{
    for (size_t i = 0; i < list->array.n; i++) {
        svec_add_nocopy(items, json_to_string(list->array.elems[i], 0));
    }
    svec_sort(items);
}

/* Of cookies, those that no flow has are left over. */
static bool
is_subset(const struct svec *a, const struct svec *of)
{
    for (size_t i = 0; i < a->n; i++) {
        if (!svec_contains(of, a->names[i])) {
            return false;
        }
    }
    return true;
}

static bool
same_lists(const char *name, const struct json *is, const struct json *wanted)
{
    struct svec a = SVEC_EMPTY_INITIALIZER, b = SVEC_EMPTY_INITIALIZER;
    bool same;

    list_items(is, &a);
    list_items(wanted, &b);
    same = (!strcmp(name, "cookies") ? is_subset(&b, &a)
            : svec_equal(&a, &b));
    svec_destroy(&a);
    svec_destroy(&b);
    return same;
}

/* NULL, or the name of a list that differs. */
static const char *
compare(const char *is_text, const char *wanted_text, struct arena *arena)
{
    struct json *is = json_from_string(strchr(is_text, '\n') + 1);
    struct json *wanted = json_from_string(strchr(wanted_text, '\n') + 1);
    const struct shash_node *node;
    const char *reason = NULL;

    SHASH_FOR_EACH (node, wanted->object) {
        const struct json *list = shash_find_data(is->object, node->name);

        if (strcmp(node->name, "record")
            && !(list && same_lists(node->name, list, node->data))) {
            reason = arena_printf(arena, "the edited record has other %s",
                                  node->name);
        }
    }
    json_destroy(is);
    json_destroy(wanted);
    return reason;
}

static void
begin(struct edited *e, const struct resident *resident)
{
    struct plan_record record;
    struct plan plan;

    arena_destroy(e->arena);
    e->arena = arena_create();
    memset(&e->edits, 0, sizeof e->edits);
    record = make_record(resident, &plan, e->arena);
    e->text = format(&record, e->arena, &e->len);
}

/* Adds what 'diff' says, if it says anything; false if no edit does. */
static bool
add_edit(struct edited *e, const struct resident_diff *diff)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    bool ok = resident_diff_format(diff, "then", true, true, &ds);

    if (ds.length) {
        *vec_push(e->arena, &e->edits) = arena_printf(e->arena, "[%s]",
                                                      ds_cstr(&ds));
    }
    ds_destroy(&ds);
    return ok;
}

static const char *
give_edits(const struct plan_record *record OVS_UNUSED, void *e_,
           plan_names *edits)
{
    const struct edited *e = e_;

    *edits = e->edits;
    return NULL;
}

const char *
edited_follow(struct edited *e, const struct resident *resident,
              const struct resident_diff *diff)
{
    struct plan_record is, wanted;
    const char *reason;
    struct plan plan;
    size_t len;

    if (!e->arena || !add_edit(e, diff)) {
        e->n_unsaid += e->arena != NULL;
        begin(e, resident);
        return NULL;
    }
    e->n_said++;
    reason = plan_record_parse_edited(e->text, e->len, give_edits, e,
                                      e->arena, &is);
    if (reason) {
        return reason;
    } else if (is.generation != (e->edits.n ? 2 : 1)
               || strcmp(is.time, e->edits.n ? "then" : "now")
               || is.partial != (e->edits.n > 0)) {
        return "the edited record has another head";
    }
    wanted = make_record(resident, &plan, e->arena);
    reason = compare(format(&is, e->arena, &len),
                     format(&wanted, e->arena, &len), e->arena);
    if (!reason && e->edits.n == 10) {
        begin(e, resident);
    }
    return reason;
}

void
edited_destroy(struct edited *e)
{
    arena_destroy(e->arena);
}
