#!/usr/bin/env python3
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""A switch that takes one OpenFlow 1.4 connection and then behaves badly.

usage: liar.py HOW SOCKET; HOW is one of
  lie      answers every multipart request with a description
  stock    knows no experimenter's multipart request, as without our patches
  silence  greets and says no more
  chatter  greets and asks for echoes for ever
"""
import socket
import struct
import sys

HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY = 0, 1, 2, 3
GET_CONFIG_REQUEST, GET_CONFIG_REPLY = 7, 8
MULTIPART_REQUEST, MULTIPART_REPLY = 18, 19
DESC_SIZE = 1056
BAD_REQUEST, BAD_EXPERIMENTER = 1, 3


def message(kind, xid, body=b""):
    return struct.pack("!BBHI", 5, kind, 8 + len(body), xid) + body


def description(xid):
    return message(MULTIPART_REPLY, xid,
                   struct.pack("!HH4x", 0, 0) + bytes(DESC_SIZE))


def bad_experimenter(xid):
    return message(ERROR, xid, struct.pack("!HH", BAD_REQUEST,
                                           BAD_EXPERIMENTER))


def answer_multiparts(client, answer):
    buffer = b""
    while data := client.recv(65536):
        buffer += data
        while len(buffer) >= 8:
            _, kind, length, xid = struct.unpack("!BBHI", buffer[:8])
            if len(buffer) < length:
                break
            body, buffer = buffer[8:length], buffer[length:]
            if kind == ECHO_REQUEST:
                client.sendall(message(ECHO_REPLY, xid, body))
            elif kind == GET_CONFIG_REQUEST:
                client.sendall(message(GET_CONFIG_REPLY, xid, bytes(4)))
            elif kind == MULTIPART_REQUEST:
                client.sendall(answer(xid))


def lie(client):
    answer_multiparts(client, description)


def stock(client):
    answer_multiparts(client, bad_experimenter)


def silence(client):
    while client.recv(65536):
        pass


def chatter(client):
    # So many at once that the reader always finds the next one.
    requests = message(ECHO_REQUEST, 7) * 8192
    while True:
        client.sendall(requests)
        try:
            client.recv(65536, socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass


def main():
    behave = {"lie": lie, "stock": stock, "silence": silence,
              "chatter": chatter}[sys.argv[1]]
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[2])
    listener.listen()
    print("ready", flush=True)
    client, _ = listener.accept()
    client.sendall(message(HELLO, 1))
    try:
        behave(client)
    except (BrokenPipeError, ConnectionResetError):
        pass


main()
