#!/usr/bin/env python3
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""A switch that lies: takes one OpenFlow 1.4 connection on the socket named by
its argument and answers every multipart request with a description."""
import socket
import struct
import sys

HELLO, ECHO_REQUEST, ECHO_REPLY = 0, 2, 3
MULTIPART_REQUEST, MULTIPART_REPLY = 18, 19
DESC_SIZE = 1056


def message(kind, xid, body=b""):
    return struct.pack("!BBHI", 5, kind, 8 + len(body), xid) + body


def main():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen()
    print("ready", flush=True)
    client, _ = listener.accept()
    client.sendall(message(HELLO, 1))
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
            elif kind == MULTIPART_REQUEST:
                client.sendall(message(MULTIPART_REPLY, xid,
                                       struct.pack("!HH4x", 0, 0)
                                       + bytes(DESC_SIZE)))


main()
