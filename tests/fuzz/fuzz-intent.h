/* Copyright (c) 2026 The Bulkhead authors.
 * SPDX-License-Identifier: Apache-2.0 */

#ifndef FUZZ_INTENT_H
#define FUZZ_INTENT_H 1

/* The input of fuzz-intent and of fuzz-import is one file, the operator's, or
 * the files of a folder as pack-folder joins them: before each stands this
 * byte, which is in no JSON, and a line with its name in the folder, as
 * "tenants/red.json". */
enum { FILE_SEPARATOR = 0x1e };

#endif /* fuzz-intent.h */
