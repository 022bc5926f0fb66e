/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/top.h"

#include <stdlib.h>
#include <string.h>

/* Before <curses.h>, whose macros are words that others use. */
#include "util.h"
#include "timeval.h"

#define NCURSES_NOMACROS 1
#include <curses.h>

enum { CTRL_L = 12, KEY_ESCAPE = 27 };

/* What the keys change but the top itself. */
struct screen {
    struct top *top;
    size_t first;               /* Line of the table below its heading. */
    bool paused, typing, left;  /* Typing the filter; leaving. */
};

static void
draw_line(int y, const char *line, int attributes)
{
    attrset(attributes);
    mvaddnstr(y, 0, line, COLS);
    clrtoeol();
    attrset(A_NORMAL);
}

/* Goes on in the next line where there is a blank. */
static int
draw_wrapped(int y, const char *text, struct arena *arena)
{
    while (strlen(text) > (size_t) COLS && y < LINES - 2) {
        int n = COLS;

        while (n && text[n] != ' ') {
            n--;
        }
        n = n ? n : COLS;
        draw_line(y++, arena_printf(arena, "%.*s", n, text), A_NORMAL);
        text += n + strspn(text + n, " ");
    }
    draw_line(y++, text, A_NORMAL);
    return y;
}

static void
draw_keys(const struct screen *s)
{
    struct arena *arena = arena_create();
    const char *line;

    if (s->typing) {
        line = arena_printf(arena, "show only what has in its name: %s_",
                            s->top->filter);
    } else {
        line = arena_printf(
            arena, "q quit  s sort: %s  r reverse  / filter: %s  p %s  "
            "space %s", view_order_names[s->top->order],
            s->top->filter[0] ? s->top->filter : "none",
            s->top->ports ? "tenants" : "ports",
            s->paused ? "go on" : "pause");
    }
    draw_line(LINES - 1, line, A_REVERSE);
    arena_destroy(arena);
}

static void
draw(struct screen *s)
{
    struct arena *arena = arena_create();
    watch_lines summary = VEC_INIT, table = VEC_INIT;
    int y = 0;

    top_summary(s->top, arena, &summary);
    if (s->top->ports) {
        top_ports(s->top, arena, COLS, &table);
    } else {
        top_tenants(s->top, arena, COLS, &table);
    }
    s->first = MIN(s->first, table.n - 1);
    erase();
    for (size_t i = 0; i < summary.n && y < LINES - 1; i++) {
        y = draw_wrapped(y, summary.v[i], arena);
    }
    if (y < LINES - 1) {
        draw_line(y++, table.v[0], A_BOLD);
    }
    for (size_t i = 1 + s->first; i < table.n && y < LINES - 1; i++) {
        draw_line(y++, table.v[i], A_NORMAL);
    }
    draw_keys(s);
    refresh();
    arena_destroy(arena);
}

static void
type_filter(struct screen *s, int key)
{
    char *filter = s->top->filter;
    size_t n = strlen(filter);

    if (key == '\n' || key == KEY_ENTER) {
        s->typing = false;
    } else if (key == KEY_ESCAPE) {
        filter[0] = '\0';
        s->typing = false;
    } else if (key == KEY_BACKSPACE || key == '\b' || key == 127) {
        filter[n ? n - 1 : 0] = '\0';
    } else if (key > ' ' && key <= '~' && n + 1 < TOP_FILTER) {
        filter[n] = key;
        filter[n + 1] = '\0';
    }
}

static void
press(struct screen *s, int key)
{
    struct top *top = s->top;

    if (s->typing) {
        type_filter(s, key);
        return;
    }
    switch (key) {
    case 'q': s->left = true; break;
    case 's': top->order = (top->order + 1) % VIEW_N_ORDERS; break;
    case 'r': top->reverse = !top->reverse; break;
    case '/': top->filter[0] = '\0'; s->typing = true; break;
    case 'p': top->ports = !top->ports; s->first = 0; break;
    case ' ': s->paused = !s->paused; break;
    case CTRL_L: clearok(stdscr, true); break;
    case KEY_UP: s->first -= s->first > 0; break;
    case KEY_DOWN: s->first++; break;
    case KEY_PPAGE: s->first -= MIN(s->first, LINES / 2); break;
    case KEY_NPAGE: s->first += LINES / 2; break;
    default: break;
    }
}

static void
loop(struct screen *s, unsigned int interval_ms)
{
    long long int now = time_wall_msec();
    long long int next = now + interval_ms, tick = now + TOP_TICK_MS;

    while (!s->left && !watch_is_stopped()) {
        int key;

        draw(s);
        key = getch();
        if (key != ERR) {
            press(s, key);
        }
        now = time_wall_msec();
        if (now >= next) {
            if (!s->paused && !s->top->ended) {
                top_step(s->top);
            }
            next = now + interval_ms;
            tick = now + TOP_TICK_MS;
        } else if (now >= tick) {
            if (!s->paused) {
                top_look(s->top);
            }
            tick = now + TOP_TICK_MS;
        }
    }
}

bool
top_screen(struct top *top, unsigned int interval_ms)
{
    struct screen s = { .top = top };
    SCREEN *terminal = newterm(NULL, stdout, stdin);

    if (!terminal) {
        return false;
    }
    watch_catch_signals();
    cbreak();
    noecho();
    keypad(stdscr, true);
    curs_set(0);
    set_escdelay(25);
    timeout(TOP_TICK_MS);
    loop(&s, interval_ms);
    endwin();
    delscreen(terminal);
    return true;
}
