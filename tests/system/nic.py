#!/usr/bin/env python3
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Stands in for devlink(8), dcb(8) and ip-link(8) where there is no NIC:
nic.py devlink ARGUMENT..., nic.py dcb ARGUMENT..., nic.py ip ARGUMENT....

It takes what the manual pages of iproute2 6.1 write, keeps the rates as the
kernel does, in $NIC_STATE, and appends each call to $NIC_STATE.log.  What
matches the regular expression $NIC_REFUSES fails.
"""
import copy
import json
import os
import re
import sys

STATE = os.environ["NIC_STATE"]
OBJECT = r"(\S+/\S+/\S+)"
MBIT = "[mM]bit"
RATE = (rf"(?: tx_share (\d+){MBIT}| tx_share (0))?"
        rf"(?: tx_max (\d+){MBIT}| tx_max (0))?")
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


DCB = {"dcbx": "host cee ieee", "ets": "willing on\ntc-tsa 0:strict 1:ets\n"
       "tc-bw 0:40 1:60\nprio-tc 0:0 1:1", "pfc": "prio-pfc 0:off 1:on",
       "app": "dscp-prio 0:0 8:1 ", "manual": False,
       "buffer": [["0", "1"] + ["0"] * 6, [131072, 130944] + [0] * 6]}


def app_table(kept):
    return dict(pair.split(":") for pair in kept["app"].split()[1:])


def app_set(kept, verb, pairs):
    """'dcb app VERB dev PORT dscp-prio PAIRS', and what dcb(8) ends with."""
    table = app_table(kept)
    if verb == "add" and any(table.get(dscp) for dscp in pairs):
        refuse("File exists")
    table = {} if verb == "flush" else {**table, **pairs}
    kept["app"] = "dscp-prio " * bool(table) + "".join(
        f"{dscp}:{table[dscp]} " for dscp in sorted(table, key=int))


def dcb_refuses(text):
    """dcb_cmd_app_replace() of iproute2 says it, and ends with 0."""
    if " ".join(text.split()[:2]) == "app replace":
        print("Attribute: Operation not supported\n"
              "Could not add new APP entries", file=sys.stderr)
        sys.exit(0)
    refuse("Operation not supported")


def dcbx_set(modes):
    """As mlx5e_dcbnl_setdcbx() takes it; none is the firmware's."""
    if "host" not in modes.split():
        refuse("Operation not supported")


def dcb(state, text):
    """Keeps of each port what was set last, as it is shown, from $DCB."""
    number = r"(?:all|\d)"
    lists = {
        "dcbx set": r"(( host| ieee| cee)+)",
        "ets set": rf"( willing (on|off)( prio-tc( {number}:\d)+)?"
                   rf" tc-tsa( {number}:(strict|ets))+"
                   rf" tc-bw( {number}:\d+)+( prio-tc( {number}:\d)+)?)",
        "pfc set": rf"( prio-pfc( {number}:(on|off))+)",
        "app replace": r"( dscp-prio( \d+:\d)+)",
        "app add": r"( dscp-prio( \d+:\d)+)",
        "app flush": r"( dscp-prio)",
    }
    match = re.fullmatch(r"-j buffer show dev (\S+)", text)
    if match:
        buffer_show(state["dcb"].get(match[1], DCB))
        return
    match = re.fullmatch(rf"buffer set dev (\S+) prio-buffer((?: {number}:\d)+)"
                         rf" buffer-size((?: {number}:\d+)+)", text)
    if match:
        buffer_set(state["dcb"].setdefault(match[1], copy.deepcopy(DCB)),
                   match[2], match[3])
        save(state)
        return
    text = text.removeprefix("-N ")
    shown = re.fullmatch(r"(\w+) show dev (\S+)( [-a-z]+)*", text)
    if shown:
        print(state["dcb"].get(shown[2], DCB)[shown[1]])
        return
    for verb, rest in lists.items():
        if re.fullmatch(rf"{verb} dev \S+", text) and verb != "app flush":
            print(f"Usage: dcb {verb} dev STRING", file=sys.stderr)
            return
        match = re.fullmatch(rf"{verb} dev (\S+){rest}", text)
        if match:
            kept = state["dcb"].setdefault(match[1], copy.deepcopy(DCB))
            if verb == "dcbx set":
                dcbx_set(match[2])
            if verb.startswith("app "):
                app_set(kept, verb.split()[1], dict(
                    pair.split(":") for pair in match[2].split()[1:]))
            else:
                kept[verb.split()[0]] = match[2].strip()
                if kept.get("manual"):
                    hold_paused(kept)
            save(state)
            return
    sys.exit(f"dcb: unknown: {text}")


# All that buffers may have, and what mlx5 wants of one that is lossless.
BUFFERS, PAUSED = 262016, 40000


def by_number(text, values):
    """'values' with those of a list of dcb(8), as "all:0 3:1"."""
    values = list(values)
    for number, value in (pair.split(":") for pair in text.split()):
        for i in range(8) if number == "all" else [int(number)]:
            values[i] = value
    return values


def paused(kept):
    """The buffers of priorities that have pause frames."""
    on = by_number(kept["pfc"].split(None, 1)[1], ["off"] * 8)
    return {kept["buffer"][0][i] for i in range(8) if on[i] == "on"}


def hold_paused(kept):
    """As update_xoff_threshold() of mlx5: what it would refuse."""
    if any(kept["buffer"][1][int(b)] < PAUSED for b in paused(kept)):
        refuse("Cannot allocate memory")


def buffer_show(kept):
    print(json.dumps({"prio_buffer": list(map(int, kept["buffer"][0])),
                      "buffer_size": kept["buffer"][1],
                      "total_size": BUFFERS}, separators=(",", ":")))


def buffer_set(kept, buffers, sizes):
    """As mlx5e_port_manual_buffer_config() has it: first the priorities, with
    the sizes from before.  Sizes are of cells of 128 bytes."""
    before, kept["buffer"] = kept["buffer"], [
        by_number(buffers, kept["buffer"][0]), kept["buffer"][1]]
    if paused(kept) != paused({**kept, "buffer": before}):
        hold_paused(kept)
    kept["buffer"][1] = [int(size) // 128 * 128
                         for size in by_number(sizes, kept["buffer"][1])]
    hold_paused(kept)
    if sum(kept["buffer"][1]) > BUFFERS:
        refuse("Invalid argument")
    kept["manual"] = True


def vf_text(number, vf):
    """As iproute2 6.1 prints it; what a driver lacks is not there."""
    text = f"    vf {number}     link/ether {vf['mac']} brd ff:ff:ff:ff:ff:ff"
    text += f", vlan {vf['vlan']}" if vf.get("vlan") else ""
    text += f", qos {vf['qos']}" if vf.get("qos") else ""
    text += f", vlan protocol {vf['proto']}" if vf.get("proto") else ""
    for key in "max_tx_rate", "min_tx_rate":
        text += f", {key} {vf[key]}Mbps" if vf.get(key) else ""
    for key, word in (("spoofchk", "spoof checking"), ("state", "link-state"),
                      ("trust", "trust")):
        text += f", {word} {vf[key]}" if key in vf else ""
    return text


def link_show(state, name):
    if name not in state["ports"] and name not in state["bonds"]:
        refuse("Cannot find device")
    kind = " bond mode 802.3ad miimon 0" if name in state["bonds"] else ""
    print(f"2: {name}: <BROADCAST,UP> mtu 1500\\    link/ether "
          "02:00:00:00:ff:01 brd ff:ff:ff:ff:ff:ff promiscuity 0\\   "
          f"{kind} addrgenmode eui64")


def ip(state, text):
    match = re.fullmatch(r"-d -o link show dev (\S+)", text)
    if match:
        link_show(state, match[1])
        return
    match = re.fullmatch(r"-o link show master (\S+)", text)
    if match:
        for number, name in enumerate(state["bonds"][match[1]]):
            print(f"{number}: {name}: <BROADCAST,SLAVE,UP> mtu 1500 qdisc mq "
                  f"master {match[1]} state UP\\    link/ether 02:00:00:00:ff:01"
                  " brd ff:ff:ff:ff:ff:ff")
        return
    match = re.fullmatch(r"-d link show dev (\S+)", text)
    if match:
        if match[1] in state["bonds"]:
            link_show(state, match[1])
            return
        if match[1] not in state["vfs"]:
            refuse("Cannot find device")
        print(f"2: {match[1]}: <BROADCAST,UP> mtu 1500\n    link/ether "
              "02:00:00:00:ff:01 brd ff:ff:ff:ff:ff:ff")
        for number, vf in enumerate(state["vfs"][match[1]]):
            print(vf_text(number, vf))
        return
    match = re.fullmatch(
        r"link set dev (\S+) vf (\d+)( mac [0-9a-f:]{17}| "
        r"vlan \d+ qos \d( proto 802.1ad)?| "
        r"(spoofchk|trust) (on|off)| state (auto|enable|disable)| "
        r"max_tx_rate \d+ min_tx_rate \d+)", text)
    if not match:
        sys.exit(f"ip: unknown: {text}")
    words = match[3].split()
    vf = state["vfs"][match[1]][int(match[2])]
    for key, value in zip(words[::2], words[1::2]):
        if key in ("trust", "state", "spoofchk") and key not in vf:
            refuse("Operation not supported")
        vf[key] = "" if value == "0" else value
    if "vlan" in words and "proto" not in words:
        vf["proto"] = ""
    save(state)


def main():
    text = " ".join(sys.argv[2:])
    with open(STATE + ".log", "a") as f:
        f.write(f"{sys.argv[1]} {text}\n")
    refuses = os.environ.get("NIC_REFUSES")
    refused = refuses and re.search(refuses, text)
    if refused and sys.argv[1] == "dcb":
        dcb_refuses(text)
    elif refused:
        refuse("Operation not supported")
    if sys.argv[1] == "dcb":
        dcb(load(), text)
    elif sys.argv[1] == "ip":
        ip(load(), text)
    else:
        devlink(load(), text)


main()
