/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "util.h"

enum {
    MAX_WORD = 63,
    MIN_PREFIX = 3,             /* Of a word that was not ended. */
};

static bool
same(char a, char b)
{
    return tolower((unsigned char) a) == tolower((unsigned char) b);
}

/* Damerau-Levenshtein distance, optimal string alignment (each letter is
 * touched once): insertions, deletions, substitutions and swaps of two
 * neighbours count 1, and case does not. */
static size_t
edit_distance(const char *a, const char *b)
{
    size_t n_a = strlen(a), n_b = strlen(b);
    size_t d[MAX_WORD + 1][MAX_WORD + 1];

    if (n_a > MAX_WORD || n_b > MAX_WORD) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i <= n_a; i++) {
        d[i][0] = i;
    }
    for (size_t j = 0; j <= n_b; j++) {
        d[0][j] = j;
    }
    for (size_t i = 1; i <= n_a; i++) {
        for (size_t j = 1; j <= n_b; j++) {
            size_t change = d[i - 1][j - 1] + !same(a[i - 1], b[j - 1]);

            d[i][j] = MIN(MIN(d[i - 1][j], d[i][j - 1]) + 1, change);
            if (i > 1 && j > 1
                && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
                d[i][j] = MIN(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[n_a][n_b];
}

struct nearest
nearest_init(const char *word)
{
    /* A third of the letters may be wrong, and always one. */
    return (struct nearest) { word, NULL, MAX(1, strlen(word) / 3) };
}

void
nearest_try(struct nearest *nearest, const char *candidate)
{
    size_t len = strlen(nearest->word), n = strlen(candidate);
    /* It is no less than this, which is quicker to see. */
    size_t distance = len < n ? n - len : len - n;

    if (distance <= nearest->distance) {
        distance = edit_distance(nearest->word, candidate);
    }
    if (len >= MIN_PREFIX && !strncasecmp(nearest->word, candidate, len)) {
        distance = MIN(distance, 1);
    }

    if (distance < nearest->distance
        || (distance == nearest->distance && !nearest->best)) {
        nearest->best = candidate;
        nearest->distance = distance;
    }
}
