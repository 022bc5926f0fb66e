/* Copyright (c) 2026 The Bulkhead authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A main() for fuzz targets that are not linked with libFuzzer: runs the
 * target once on each of the files named as arguments, as libFuzzer does.
 * Exits with status 1 if one of them cannot be read; the target aborts the
 * program if it finds something. */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the content of the file 'name', to be freed, and its '*size', or
 * NULL with errno set. */
static uint8_t *
read_file(const char *name, size_t *size)
{
    FILE *stream = fopen(name, "rb");
    size_t allocated = 0;
    uint8_t *data = NULL;
    size_t n;

    if (!stream) {
        return NULL;
    }
    *size = 0;
    do {
        uint8_t *larger;

        allocated += 65536;
        larger = realloc(data, allocated);
        if (!larger) {
            break;
        }
        data = larger;
        n = fread(data + *size, 1, allocated - *size, stream);
        *size += n;
    } while (*size == allocated);

    if (*size == allocated || ferror(stream)) {
        int error = errno;

        free(data);
        data = NULL;
        errno = error;
    }
    fclose(stream);
    return data;
}

int
main(int argc, char *argv[])
{
    if (LLVMFuzzerInitialize) {
        LLVMFuzzerInitialize(&argc, &argv);
    }

    for (int i = 1; i < argc; i++) {
        size_t size;
        uint8_t *data = read_file(argv[i], &size);
        uint8_t *exact;

        if (!data) {
            fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
            return 1;
        }

        /* For AddressSanitizer to see what is read beyond the end. */
        exact = malloc(size ? size : 1);
        if (!exact) {
            fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
            return 1;
        }
        memcpy(exact, data, size);
        free(data);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    printf("%d files\n", argc - 1);
    return 0;
}
