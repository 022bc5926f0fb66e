# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Asks an HTTP server, or a Prometheus, for the tests.

usage: metrics.py get URL [ACCEPT]           prints status, type and body
       metrics.py post URL                   prints the status
       metrics.py value PROMETHEUS QUERY     prints the values, a line each
       metrics.py rules PROMETHEUS           prints how many are healthy
       metrics.py dashboard PROMETHEUS FILE  runs all queries of a dashboard
       metrics.py openmetrics                checks the form of standard input
"""

import http.client
import json
import re
import sys
import urllib.parse

# What Grafana puts in place of its variables.
VARIABLES = {"$__rate_interval": "1m", "$instance": ".*", "$port": ".*",
             "$tenant": ".*"}


def request(method, url, headers=None):
    """(status, type, body)."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    path = parts.path + ("?" + parts.query if parts.query else "")
    connection.request(method, path, headers=headers or {})
    response = connection.getresponse()
    return (response.status, response.getheader("Content-Type"),
            response.read().decode())


def query(prometheus, text):
    """The result of an instant query."""
    status, _, body = request("GET", prometheus + "/api/v1/query?" +
                              urllib.parse.urlencode({"query": text}))
    answer = json.loads(body)
    if status != 200 or answer["status"] != "success":
        sys.exit(f"{text}: {body}")
    return answer["data"]["result"]


def rules(prometheus):
    """Those that were evaluated without an error."""
    _, _, body = request("GET", prometheus + "/api/v1/rules")
    print(sum(rule["health"] == "ok"
              for group in json.loads(body)["data"]["groups"]
              for rule in group["rules"]))


def dashboard(prometheus, path):
    """Each query is right, and of metrics that are there."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    expressions = [target["expr"] for panel in json.loads(text)["panels"]
                   for target in panel["targets"]]
    for expression in expressions:
        for name, value in VARIABLES.items():
            expression = expression.replace(name, value)
        query(prometheus, expression)
    for metric in set(re.findall(r"bulkhead_\w+", text)):
        if not query(prometheus, f"count({metric})"):
            sys.exit(f"{path}: there is no metric {metric}")
    print(len(expressions))


def openmetrics(lines):
    """What OpenMetrics asks beyond the older text format."""
    families = {}
    if lines[-1] != "# EOF":
        sys.exit("no # EOF at the end")
    for line in lines[:-1]:
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            if name in families:
                sys.exit(f"{name} comes twice")
            families[name] = kind
            last = name
        elif not line.startswith("# HELP "):
            name = re.match(r"\w+", line)[0]
            suffix = {"counter": "_total", "gauge": "",
                      "histogram": "_bucket"}[families[last]]
            if name != last + suffix:
                sys.exit(f"{name} is not of {last}")
    print(len(families))


def main(verb, *arguments):
    """Does what the usage says."""
    if verb == "get":
        headers = {"Accept": arguments[1]} if len(arguments) > 1 else {}
        print(*request("GET", arguments[0], headers), sep="\n", end="")
    elif verb == "post":
        print(request("POST", arguments[0])[0])
    elif verb == "value":
        for row in query(*arguments):
            print(row["value"][1])
    elif verb == "rules":
        rules(*arguments)
    elif verb == "dashboard":
        dashboard(*arguments)
    elif verb == "openmetrics":
        openmetrics(sys.stdin.read().splitlines())


main(*sys.argv[1:])
