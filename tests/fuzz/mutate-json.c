/* Copyright (c) 2026 The Bulkhead authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Mutates JSON as a tree, for libFuzzer: most changes of single bytes are
 * mistakes of syntax, behind which nothing is reached.  Half of all mutations
 * stay libFuzzer's own.  Of several files (fuzz-intent.h) it is one. */

#include <stdint.h>
#include <string.h>

#include "fuzz-intent.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "util.h"

enum { MAX_SLOTS = 4096, MAX_STRING = 256 };

/* Where a value stands: in an array, or in an object under the name of
 * 'node'. */
struct slot {
    struct json *parent;
    size_t index;
    struct shash_node *node;    /* NULL: in an array. */
};

struct mutator {
    uint64_t state;
    struct slot slots[MAX_SLOTS];
    size_t n;
};

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned int seed);

/* A number below 'n': an LCG, whose high bits are good enough. */
static size_t
lot(struct mutator *m, size_t n)
{
    m->state = m->state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (m->state >> 33) % n;
}

static struct json **
slot_value(const struct slot *slot)
{
    return (slot->node ? (struct json **) &slot->node->data
            : &slot->parent->array.elems[slot->index]);
}

static void
collect(struct mutator *m, struct json *json)
{
    if (json->type == JSON_ARRAY) {
        for (size_t i = 0; i < json->array.n && m->n < MAX_SLOTS; i++) {
            m->slots[m->n++] = (struct slot) { json, i, NULL };
            collect(m, json->array.elems[i]);
        }
    } else if (json->type == JSON_OBJECT) {
        struct shash_node *node;

        SHASH_FOR_EACH (node, json->object) {
            if (m->n < MAX_SLOTS) {
                m->slots[m->n++] = (struct slot) { json, 0, node };
                collect(m, node->data);
            }
        }
    }
}

/* A name or a string of the tree: so references meet what they refer to. */
static const char *
any_string(struct mutator *m)
{
    for (int i = 0; i < 8; i++) {
        const struct slot *slot = &m->slots[lot(m, m->n)];
        const struct json *value = *slot_value(slot);

        if (value->type == JSON_STRING && lot(m, 2)) {
            return value->string;
        } else if (slot->node) {
            return slot->node->name;
        }
    }
    return "a";
}

/* A string of the tree, or what libFuzzer makes of it. */
static char *
new_string(struct mutator *m, const char *old)
{
    uint8_t buffer[MAX_STRING];
    size_t len = MIN(strlen(old), MAX_STRING / 2);

    if (lot(m, 2)) {
        return xstrdup(any_string(m));
    }
    memcpy(buffer, old, len);
    len = LLVMFuzzerMutate(buffer, len, sizeof buffer - 1);
    buffer[len] = '\0';
    return xstrdup((char *) buffer);
}

static struct json *
new_value(struct mutator *m, const struct json *old)
{
    static const long long int numbers[] = {
        -1, 0, 1, 2, 7, 8, 63, 64, 1279, 1280, 1350, 65535, 65536, 16777215,
        16777216, INT64_MAX,
    };

    if (old->type == JSON_STRING && lot(m, 4)) {
        return json_string_create_nocopy(new_string(m, old->string));
    } else if (old->type == JSON_INTEGER && lot(m, 4)) {
        return json_integer_create(numbers[lot(m, ARRAY_SIZE(numbers))]);
    }
    return json_deep_clone(*slot_value(&m->slots[lot(m, m->n)]));
}

static void
copy_slot(struct mutator *m, const struct slot *slot)
{
    struct json *copy = json_deep_clone(*slot_value(slot));

    if (slot->node) {
        json_object_put_nocopy(slot->parent, new_string(m, slot->node->name),
                               copy);
    } else {
        json_array_add(slot->parent, copy);
    }
}

static void
remove_slot(const struct slot *slot)
{
    json_destroy(*slot_value(slot));
    if (slot->node) {
        shash_delete(slot->parent->object, slot->node);
    } else {
        struct json_array *array = &slot->parent->array;

        array->elems[slot->index] = array->elems[--array->n];
    }
}

static void
mutate_tree(struct mutator *m, struct json *root)
{
    m->n = 0;
    collect(m, root);
    if (m->n) {
        const struct slot *slot = &m->slots[lot(m, m->n)];
        struct json **value = slot_value(slot);
        struct json *new;

        switch (lot(m, 5)) {
        case 0:
            remove_slot(slot);
            break;
        case 1:
            copy_slot(m, slot);
            break;
        default:
            new = new_value(m, *value);
            json_destroy(*value);
            *value = new;
            break;
        }
    }
}

/* Draws one of the files of the input: its text is from '*start' to '*end'. */
static void
draw_file(struct mutator *m, const uint8_t *data, size_t size, size_t *start,
          size_t *end)
{
    size_t n = 0;

    for (size_t i = 0, next; i <= size; i = next + 1) {
        const uint8_t *found = memchr(data + i, FILE_SEPARATOR, size - i);

        next = found ? found - data : size;
        if (!lot(m, ++n)) {
            *start = i;
            *end = next;
        }
    }
    if (*start) {
        const uint8_t *line = memchr(data + *start, '\n', *end - *start);

        *start = line ? line + 1 - data : *end;
    }
}

/* Puts 'text' in the place of what is from 'start' to 'end'.  Returns the new
 * size, or 0 if there is no room. */
static size_t
replace(uint8_t *data, size_t size, size_t max_size, size_t start, size_t end,
        const struct ds *text)
{
    size_t new_size = size - (end - start) + text->length;

    if (new_size > max_size) {
        return 0;
    }
    memmove(data + start + text->length, data + end, size - end);
    memcpy(data + start, text->string, text->length);
    return new_size;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                        unsigned int seed)
{
    static struct mutator m;
    struct json *json = NULL;
    size_t start, end, len = 0;

    m.state = seed;
    if (lot(&m, 2)) {
        draw_file(&m, data, size, &start, &end);
        char *text = xmemdup0((const char *) data + start, end - start);

        json = json_from_string(text);
        free(text);
    }
    if (json && (json->type == JSON_OBJECT || json->type == JSON_ARRAY)) {
        struct ds ds = DS_EMPTY_INITIALIZER;

        for (size_t n = 1 + lot(&m, 3); n > 0; n--) {
            mutate_tree(&m, json);
        }
        json_to_ds(json, JSSF_SORT, &ds);
        len = replace(data, size, max_size, start, end, &ds);
        ds_destroy(&ds);
    }
    json_destroy(json);
    return len ? len : LLVMFuzzerMutate(data, size, max_size);
}
