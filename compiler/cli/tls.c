/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream-ssl.h"
#include "util.h"

/* TLS to a database.  The library says in its log what it lacks, and then only
 * that the protocol is not available. */

static bool
takes_tls(const char *remotes)
{
    return !strncmp(remotes, "ssl:", 4) || strstr(remotes, ",ssl:");
}

/* Exits if the option is not given, or its file cannot be read. */
static void
check_file(const char *remotes, const char *option, const char *file)
{
    if (!file) {
        fprintf(stderr, "bulkhead: %s takes TLS: --private-key=FILE, "
                "--certificate=FILE and --ca-cert=FILE; %s is missing\n",
                remotes, option);
    } else if (access(file, R_OK)) {
        fprintf(stderr, "bulkhead: %s=%s: %s; it is for TLS to %s\n", option,
                file, ovs_strerror(errno), remotes);
    } else {
        return;
    }
    exit(EXIT_USAGE);
}

void
cli_use_tls(const struct cli_options *options, const char *remotes)
{
    if (takes_tls(remotes)) {
        check_file(remotes, "--private-key", options->private_key);
        check_file(remotes, "--certificate", options->certificate);
        if (!options->ca_cert || strcmp(options->ca_cert, "none")) {
            check_file(remotes, "--ca-cert", options->ca_cert);
        }
        stream_ssl_set_private_key_file(options->private_key);
        stream_ssl_set_certificate_file(options->certificate);
        stream_ssl_set_ca_cert_file(options->ca_cert, false);
    }
}
