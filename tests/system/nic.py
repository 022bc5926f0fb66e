#!/usr/bin/env python3
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Stands in for devlink(8) and dcb(8) where there is no NIC: nic.py devlink
ARGUMENT..., nic.py dcb ARGUMENT....

It takes what the manual pages of iproute2 6.1 write, keeps the rates as the
kernel does, in $NIC_STATE, and appends each call to $NIC_STATE.log.  What
matches the regular expression $NIC_REFUSES fails.
"""
import json
import os
import re
import sys

STATE = os.environ["NIC_STATE"]
OBJECT = r"(\S+/\S+/\S+)"
RATE = r"(?: tx_share (\d+)mbit| tx_share (0))?(?: tx_max (\d+)mbit| tx_max (0))?"
PARENT = r"(?: parent (\S+)| (noparent))?"


def load():
    with open(STATE) as f:
        return json.load(f)


def save(state):
    with open(STATE, "w") as f:
        json.dump(state, f)


def refuse(answer):
    sys.exit(f"kernel answers: {answer}")


def port_show(state, name):
    if name not in state["ports"]:
        refuse("No such device")
    print(f"{state['ports'][name]}: type eth netdev {name} flavour pcivf "
          "controller 0 pfnum 0 vfnum 0 splittable false\n"
          "  function:\n    hw_addr 02:00:00:00:00:01")


def eswitch_show(state, device):
    print(f"{device}: mode {state['mode']} inline-mode none encap-mode basic")


def rate_show(state, name):
    if name and name not in state["rates"]:
        refuse("No such device")
    for what, rate in sorted(state["rates"].items()):
        if name in (None, what):
            kind = "leaf" if what.rsplit("/", 1)[1].isdigit() else "node"
            text = "".join(f" {key} {rate[key]}{unit}" for key, unit in
                           (("tx_share", "Mbit"), ("tx_max", "Mbit"),
                            ("parent", "")) if rate.get(key))
            print(f"{what}: type {kind}{text}")


def rate_add(state, name):
    if name in state["rates"]:
        refuse("File exists")
    if name.rsplit("/", 1)[1].isdigit():
        refuse("Invalid argument")
    state["rates"][name] = {}


def rate_set(state, name, share, no_share, most, no_most, parent, none):
    if name not in state["rates"]:
        refuse("No such device")
    rate = state["rates"][name]
    if share or no_share:
        rate["tx_share"] = int(share or 0)
    if most or no_most:
        rate["tx_max"] = int(most or 0)
    if parent:
        if f"{name.rsplit('/', 1)[0]}/{parent}" not in state["rates"]:
            refuse("No such device")
        rate["parent"] = parent
    elif none:
        rate.pop("parent", None)


def rate_del(state, name):
    device, group = name.rsplit("/", 1)
    if any(what.startswith(device + "/") and rate.get("parent") == group
           for what, rate in state["rates"].items()):
        refuse("Device or resource busy")
    del state["rates"][name]


def devlink(state, text):
    rate = "port function rate"
    for pattern, call in (
            (r"port show (\S+)", port_show),
            (rf"dev eswitch show (\S+/\S+)", eswitch_show),
            (rf"{rate} show(?: {OBJECT})?", rate_show),
            (rf"{rate} add {OBJECT}", rate_add),
            (rf"{rate} set {OBJECT}{RATE}{PARENT}", rate_set),
            (rf"{rate} del {OBJECT}", rate_del)):
        match = re.fullmatch(pattern, text)
        if match:
            call(state, *match.groups())
            save(state)
            return
    sys.exit(f"devlink: unknown: {text}")


def dcb(text):
    number = r"(?:all|\d)"
    lists = {
        "dcbx set": r" host ieee",
        "ets set": rf" willing off prio-tc( {number}:\d)+"
                   rf" tc-tsa( {number}:(strict|ets))+"
                   rf" tc-bw( {number}:\d+)+",
        "pfc set": rf" prio-pfc( {number}:(on|off))+",
        "app replace": r" dscp-prio( \d+:\d)+",
    }
    for verb, rest in lists.items():
        if re.fullmatch(rf"{verb} dev \S+{rest}", text):
            return
    sys.exit(f"dcb: unknown: {text}")


def main():
    text = " ".join(sys.argv[2:])
    with open(STATE + ".log", "a") as f:
        f.write(f"{sys.argv[1]} {text}\n")
    refuses = os.environ.get("NIC_REFUSES")
    if refuses and re.search(refuses, text):
        refuse("Operation not supported")
    if sys.argv[1] == "dcb":
        dcb(text)
    else:
        devlink(load(), text)


main()
