/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/exceed.h"

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "util.h"

static const char *const words[] = {
    [EXCEED_DROP] = "drop", [EXCEED_ECN] = "ecn", [EXCEED_PASS] = "pass",
};

bool
exceed_parse(const char *s, uint8_t *exceed)
{
    int dscp;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (!strcmp(s, words[i])) {
            *exceed = i;
            return true;
        }
    }
    /* One spelling of each: no sign, no zero in front. */
    if (strncmp(s, "dscp:", 5) || s[5] < '0' || s[5] > '9'
        || (s[5] == '0' && s[6]) || strlen(s) > strlen("dscp:63")
        || !str_to_int(s + 5, 10, &dscp) || dscp > 63) {
        return false;
    }
    *exceed = EXCEED_DSCP + dscp;
    return true;
}

void
exceed_format(uint8_t exceed, struct ds *ds)
{
    if (exceed >= EXCEED_DSCP) {
        ds_put_format(ds, "dscp:%d", exceed - EXCEED_DSCP);
    } else {
        ds_put_cstr(ds, exceed < ARRAY_SIZE(words) ? words[exceed] : "?");
    }
}
