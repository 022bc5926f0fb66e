/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define MAX_LOCATIONS 80
#define MAX_STORES 64           /* To one location, in one execution. */
#define MAX_CHOICES 512
#define STACK_SIZE (128 * 1024)

/* Of each location, the oldest store that may still be read. */
struct view {
    uint8_t store[MAX_LOCATIONS];
};

struct store {
    uint64_t value;
    struct view released;       /* What one who acquires it learns. */
};

static struct location {
    struct store stores[MAX_STORES];
    unsigned int n;
} locations[MAX_LOCATIONS];
static unsigned int n_locations;

static struct thread {
    ucontext_t context;
    char *stack;
    struct view now;
    struct view acquired;       /* 'now', after an acquire fence. */
    struct view released;       /* 'now' at the last release fence. */
    bool stored;                /* Since the others' last turn. */
    bool done;
} threads[MODEL_MAX_THREADS];

static unsigned int n_old;       /* Loads of old values that are left. */
static struct thread *running;  /* NULL while no thread runs. */
static ucontext_t scheduler;
static const struct model_program *program;
static void *program_aux;

/* The choices of this execution: those of the last one, up to the last choice
 * that had a next alternative, and that. */
static struct {
    uint16_t n, taken;
} choices[MAX_CHOICES];
static unsigned int n_choices, choice;

static void
die(const char *what)
{
    fprintf(stderr, "model: too many %s\n", what);
    abort();
}

static unsigned int
choose(unsigned int n)
{
    if (n == 1) {
        return 0;
    }
    if (choice == n_choices) {
        if (n_choices == MAX_CHOICES) {
            die("choices");
        }
        choices[n_choices].n = n;
        choices[n_choices].taken = 0;
        n_choices++;
    }
    return choices[choice++].taken;
}

/* Moves on to the next execution; false if this was the last. */
static bool
next_execution(void)
{
    while (n_choices) {
        if (++choices[n_choices - 1].taken < choices[n_choices - 1].n) {
            return true;
        }
        n_choices--;
    }
    return false;
}

static void
join(struct view *a, const struct view *b)
{
    for (unsigned int i = 1; i < n_locations; i++) {
        if (a->store[i] < b->store[i]) {
            a->store[i] = b->store[i];
        }
    }
}

static struct location *
locate(struct model_atomic *object)
{
    if (!object->location) {
        if (n_locations == MAX_LOCATIONS) {
            die("locations");
        }
        object->location = n_locations++;
        locations[object->location].n = 1;
        memset(&locations[object->location].stores[0], 0,
               sizeof locations[object->location].stores[0]);
    }
    return &locations[object->location];
}

/* The oldest store to 'l' that 'running' may read now. */
static unsigned int
oldest(unsigned int l)
{
    return n_old ? running->now.store[l] : locations[l].n - 1;
}

/* 'running' reads store 'i' of location 'l'. */
static uint64_t
read_store(unsigned int l, unsigned int i, enum model_order order)
{
    const struct store *store = &locations[l].stores[i];

    n_old -= i < locations[l].n - 1;
    running->now.store[l] = i;
    join(&running->acquired, &running->now);
    join(&running->acquired, &store->released);
    if (order == MODEL_ACQUIRE || order == MODEL_ACQ_REL) {
        join(&running->now, &store->released);
    }
    return store->value;
}

/* 'running' appends a store to location 'l'. */
static void
append_store(unsigned int l, uint64_t value, enum model_order order,
             const struct view *sequence)
{
    struct location *location = &locations[l];
    struct store *store = &location->stores[location->n];

    if (location->n == MAX_STORES) {
        die("stores");
    }
    running->now.store[l] = location->n++;
    join(&running->acquired, &running->now);
    store->value = value;
    store->released = (order == MODEL_RELEASE || order == MODEL_ACQ_REL
                       ? running->now : running->released);
    store->released.store[l] = running->now.store[l];
    if (sequence) {
        join(&store->released, sequence);
    }
}

/* Lets any thread run next. */
static void
take_turns(void)
{
    struct thread *self = running;

    self->stored = false;
    swapcontext(&self->context, &scheduler);
}

uint64_t
model_load(struct model_atomic *object, enum model_order order)
{
    struct location *location = locate(object);
    unsigned int l = object->location;

    if (!running) {
        return location->stores[location->n - 1].value;
    }
    unsigned int first = oldest(l);
    return read_store(l, first + choose(location->n - first), order);
}

void
model_store(struct model_atomic *object, uint64_t value,
            enum model_order order)
{
    struct location *location = locate(object);

    if (running) {
        append_store(object->location, value, order, NULL);
        running->stored = true;
    } else {
        location->stores[location->n - 1].value = value;
    }
}

/* It succeeds only on the last store, and fails on any that differs. */
bool
model_cas(struct model_atomic *object, uint64_t *expected, uint64_t value,
          enum model_order success, enum model_order failure)
{
    struct location *location = locate(object);
    unsigned int l = object->location;
    unsigned int outcomes[MAX_STORES];
    struct store *last;
    unsigned int n = 0;

    if (running && running->stored) {
        take_turns();
    }
    last = &location->stores[location->n - 1];
    if (!running) {
        if (last->value != *expected) {
            *expected = last->value;
            return false;
        }
        last->value = value;
        return true;
    }
    for (unsigned int i = oldest(l); i < location->n; i++) {
        if (i == location->n - 1 || location->stores[i].value != *expected) {
            outcomes[n++] = i;
        }
    }

    unsigned int i = outcomes[choose(n)];
    if (location->stores[i].value != *expected) {
        *expected = read_store(l, i, failure);
        return false;
    }
    read_store(l, i, success);
    append_store(l, value, success, &last->released);
    take_turns();
    return true;
}

void
model_fence(enum model_order order)
{
    if (!running) {
        return;
    }
    if (order == MODEL_ACQUIRE || order == MODEL_ACQ_REL) {
        running->now = running->acquired;
    }
    if (order == MODEL_RELEASE || order == MODEL_ACQ_REL) {
        running->released = running->now;
    }
}

static void
thread_main(unsigned int i)
{
    program->thread(program_aux, i);
    threads[i].done = true;
}

static void
thread_start(unsigned int i)
{
    struct thread *t = &threads[i];

    memset(&t->now, 0, sizeof t->now);
    t->acquired = t->now;
    t->released = t->now;
    t->stored = false;
    t->done = false;
    if (!t->stack) {
        t->stack = malloc(STACK_SIZE);
    }
    getcontext(&t->context);
    t->context.uc_stack.ss_sp = t->stack;
    t->context.uc_stack.ss_size = STACK_SIZE;
    t->context.uc_link = &scheduler;
    makecontext(&t->context, (void (*)(void)) thread_main, 1, i);
}

static void
run_once(void)
{
    n_locations = 1;            /* 0 is none. */
    choice = 0;
    n_old = program->max_old;
    program->setup(program_aux);
    for (unsigned int i = 0; i < program->n_threads; i++) {
        thread_start(i);
    }
    for (;;) {
        unsigned int alive[MODEL_MAX_THREADS];
        unsigned int n = 0;

        for (unsigned int i = 0; i < program->n_threads; i++) {
            if (!threads[i].done) {
                alive[n++] = i;
            }
        }
        if (!n) {
            break;
        }
        running = &threads[alive[choose(n)]];
        swapcontext(&scheduler, &running->context);
        running = NULL;
    }
    program->check(program_aux);
}

uint64_t
model_run(const struct model_program *program_, void *aux)
{
    uint64_t n = 0;

    program = program_;
    program_aux = aux;
    n_choices = 0;
    do {
        run_once();
        n++;
    } while (next_execution());
    for (unsigned int i = 0; i < MODEL_MAX_THREADS; i++) {
        free(threads[i].stack);
        threads[i].stack = NULL;
    }
    return n;
}
