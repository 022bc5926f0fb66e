#!/usr/bin/env python3
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes a folder of an intent in one file: a file of each tenant, its
bindings apart.

usage: split.py INTENT FOLDER
"""
import json
import os
import sys

BINDING = ("node", "interface", "mac")


def take_bindings(name, tenant):
    """Takes them off the endpoints of a tenant and returns them."""
    bindings = {}
    for endpoint, e in tenant["endpoints"].items():
        bound = {key: e.pop(key) for key in BINDING if key in e}
        if bound:
            bindings[f"{name}/{endpoint}"] = bound
    return bindings


def tenant_file(name, tenant):
    return {"version": 1, "tenants": {name: tenant}}


def replace(path, content):
    """As editors do, in one step."""
    folder, name = os.path.split(path)
    new = f"{folder}/.{name}.new"
    with open(new, "w", encoding="ascii") as f:
        json.dump(content, f, separators=(",", ":"))
    os.rename(new, path)


def split(intent, folder):
    with open(intent, encoding="ascii") as f:
        whole = json.load(f)
    tenants = whole.pop("tenants")
    bindings = whole.pop("bindings", {})
    for inner in "tenants", "bindings":
        os.makedirs(f"{folder}/{inner}", exist_ok=True)
    for name, tenant in tenants.items():
        bindings.update(take_bindings(name, tenant))
    replace(f"{folder}/policy.json", whole)
    replace(f"{folder}/bindings/all.json",
            {"version": 1, "bindings": bindings})
    for name, tenant in tenants.items():
        replace(f"{folder}/tenants/{name}.json", tenant_file(name, tenant))


if __name__ == "__main__":
    split(sys.argv[1], sys.argv[2])
