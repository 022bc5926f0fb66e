/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "openvswitch/dynamic-string.h"
#include "util.h"

double
now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

struct tenant_size tenant_size = { N_ENDPOINTS, N_RULES };

char *
generate(char **command, int n_tenants, const char *more)
{
    struct ds line = DS_EMPTY_INITIALIZER;
    struct ds text = DS_EMPTY_INITIALIZER;

    for (; *command; command++) {
        ds_put_format(&line, "'%s' ", *command);
    }
    ds_put_format(&line, "%d %d %d %s", n_tenants, tenant_size.endpoints,
                  tenant_size.rules, more);
    FILE *pipe = popen(ds_cstr(&line), "r");
    while (pipe && !feof(pipe)) {
        char buffer[65536];
        size_t n = fread(buffer, 1, sizeof buffer, pipe);

        ds_put_buffer(&text, buffer, n);
    }
    if (!pipe || pclose(pipe)) {
        fprintf(stderr, "%s failed\n", ds_cstr(&line));
        exit(EXIT_FAILURE);
    }
    ds_destroy(&line);
    return ds_steal_cstr(&text);
}

int
each_in_a_process(const int *sizes, int n, void (*line)(int size))
{
    int status = EXIT_SUCCESS;

    fflush(stdout);
    for (int i = 0; i < n; i++) {
        int wstatus;
        pid_t pid = fork();

        if (!pid) {
            line(sizes[i]);
            fflush(stdout);
            _exit(EXIT_SUCCESS);
        }
        if (pid < 0 || waitpid(pid, &wstatus, 0) != pid || wstatus) {
            status = EXIT_FAILURE;
        }
    }
    return status;
}
