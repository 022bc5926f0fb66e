/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <microhttpd.h>

#include "openvswitch/dynamic-string.h"
#include "socket-util.h"
#include "util.h"

enum { MAX_CLIENTS = 32, MAX_OF_ADDRESS = 8 };
enum { SILENCE_S = 10 };        /* Of a client that is dropped. */

struct metrics_server {
    struct MHD_Daemon *daemon;
    char *url;
    metrics_page *page;
    void *aux;
};

static enum MHD_Result
answer(struct MHD_Connection *connection, unsigned int status,
       const char *type, struct ds *body)
{
    size_t length = body->length;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        length, ds_steal_cstr(body), MHD_RESPMEM_MUST_FREE);
    enum MHD_Result result;

    if (!response) {
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    }
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* The weight that a range of types, as "text/plain;version=1;q=0.5", has in
 * "Accept". */
static double
weight_of(const char *range, size_t len)
{
    const char *end = range + len;

    for (const char *c = memchr(range, ';', len); c;
         c = memchr(c, ';', end - c)) {
        c++;
        c += strspn(c, " \t");
        if (!strncasecmp(c, "q=", 2)) {
            return strtod(c + 2, NULL);
        }
    }
    return 1;
}

/* Does it take OpenMetrics, and the older form no sooner? */
static bool
takes_openmetrics(const char *accept)
{
    static const char *const types[] = { "application/openmetrics-text",
                                         "text/plain" };
    double weights[] = { 0, 0 };
    size_t len;

    for (const char *c = accept; *c; c += len + (c[len] == ',')) {
        c += strspn(c, " \t");
        len = strcspn(c, ",");
        for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
            if (strcspn(c, ",; \t") == strlen(types[i])
                && !strncasecmp(c, types[i], strlen(types[i]))) {
                weights[i] = MAX(weights[i], weight_of(c, len));
            }
        }
    }
    return weights[0] > 0 && weights[0] >= weights[1];
}

static enum MHD_Result
answer_metrics(struct metrics_server *s, struct MHD_Connection *connection)
{
    const char *accept = MHD_lookup_connection_value(
        connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    struct ds body = DS_EMPTY_INITIALIZER;

    if (accept && takes_openmetrics(accept)) {
        s->page(s->aux, METRICS_OPENMETRICS, &body);
        return answer(connection, MHD_HTTP_OK, "application/openmetrics-text; "
                      "version=1.0.0; charset=utf-8", &body);
    }
    s->page(s->aux, METRICS_TEXT, &body);
    return answer(connection, MHD_HTTP_OK,
                  "text/plain; version=0.0.4; charset=utf-8", &body);
}

static enum MHD_Result
handle(void *s_, struct MHD_Connection *connection, const char *url,
       const char *method, const char *version, const char *upload_data,
       size_t *upload_data_size, void **request)
{
    struct ds body = DS_EMPTY_INITIALIZER;

    (void) version;
    (void) upload_data;
    (void) upload_data_size;
    (void) request;
    if (strcmp(method, MHD_HTTP_METHOD_GET)
        && strcmp(method, MHD_HTTP_METHOD_HEAD)) {
        ds_put_cstr(&body, "only GET and HEAD\n");
        return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain",
                      &body);
    } else if (strcmp(url, "/metrics")) {
        ds_put_cstr(&body, "metrics are at /metrics\n");
        return answer(connection, MHD_HTTP_NOT_FOUND, "text/plain", &body);
    }
    return answer_metrics(s_, connection);
}

/* "[ADDRESS:]PORT" as the library has it, to be freed; NULL if it is none. */
static char *
make_target(const char *where)
{
    const char *colon = strrchr(where, ':');
    const char *port = colon ? colon + 1 : where;
    struct sockaddr_storage at;
    char *target;
    int number;

    if (!str_to_int(port, 10, &number) || number < 0 || number > 65535
        || colon == where) {
        return NULL;
    }
    target = (colon ? xasprintf("%s:%.*s", port, (int) (colon - where), where)
              : xasprintf("%s:127.0.0.1", port));
    if (!inet_parse_passive(target, -1, &at, false, NULL)) {
        free(target);
        return NULL;
    }
    return target;
}

bool
metrics_listen_is_valid(const char *where)
{
    char *target = make_target(where);
    bool valid = target;

    free(target);
    return valid;
}

/* Opens the socket that "[ADDRESS:]PORT" names.  Returns it, or a negative
 * errno value, and stores in '*at' where it is. */
static int
open_socket(const char *where, struct sockaddr_storage *at)
{
    char *target = make_target(where);
    int fd = (target ? inet_open_passive(SOCK_STREAM, target, -1, at, 0, false)
              : -EINVAL);

    free(target);
    return fd;
}

static char *
make_url(const struct sockaddr_storage *at)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&ds, "http://");
    ss_format_address(at, &ds);
    ds_put_format(&ds, ":%d/metrics", ss_get_port(at));
    return ds_steal_cstr(&ds);
}

const char *
metrics_server_open(const char *listen, metrics_page *page, void *aux,
                    struct arena *arena, struct metrics_server **sp)
{
    const char *where = listen ? listen : METRICS_PORT;
    struct sockaddr_storage at;
    int fd = open_socket(where, &at);
    struct metrics_server *s;

    *sp = NULL;
    if (fd < 0) {
        return arena_printf(arena, "cannot listen on %s%s: %s%s", where,
                            strchr(where, ':') ? "" : " of 127.0.0.1",
                            ovs_strerror(-fd), fd == -EADDRINUSE
                            ? "; --listen=PORT chooses another port"
                            : fd == -EADDRNOTAVAIL
                            ? "; it must be an address of this machine" : "");
    }
    s = xzalloc(sizeof *s);
    s->page = page;
    s->aux = aux;
    s->url = make_url(&at);
    s->daemon = MHD_start_daemon(
        MHD_NO_FLAG, 0, NULL, NULL, handle, s,
        MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned int) MAX_CLIENTS,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned int) MAX_OF_ADDRESS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int) SILENCE_S,
        MHD_OPTION_END);
    if (!s->daemon) {
        close(fd);
        metrics_server_close(s);
        return "libmicrohttpd cannot start";
    }
    *sp = s;
    return NULL;
}

void
metrics_server_close(struct metrics_server *s)
{
    if (s) {
        if (s->daemon) {
            MHD_stop_daemon(s->daemon);
        }
        free(s->url);
        free(s);
    }
}

const char *
metrics_server_url(const struct metrics_server *s)
{
    return s->url;
}

void
metrics_server_run(struct metrics_server *s, unsigned int ms)
{
    MHD_run_wait(s->daemon, ms);
}
