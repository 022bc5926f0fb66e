/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/text.h"

#include <string.h>

#include "base/diag.h"

bool
import_is_json(const struct source *source, struct diags *diags,
               const char *remedy)
{
    size_t start = strspn(source->text, " \t\r\n");
    const char *text = source->text + start;
    struct span span = { source, start, start + strcspn(text, " \t\r\n") };
    const char *cause;

    if (text[0] == '{') {
        return true;
    } else if (start == source->len) {
        cause = "the file is empty";
    } else if (!strncmp(text, "OVSDB ", 6)) {
        cause = "this is the file of a database, and not what is in it";
    } else {
        cause = "this is not JSON, but another format";
    }
    diag_remedy(diags, diag_error(diags, span, NULL, "%s", cause), "%s",
                remedy);
    return false;
}
