#!/usr/bin/env python3
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Stands between a client, which may have several connections, and an OVSDB
server, and interferes with the first transaction on the database.

usage: nb_proxy.py LISTEN SERVER refused|lost|unanswered|silent|late COMMAND...

refused: the first connection ends at once.
lost: the connection ends before the server has got the transaction.
unanswered: it ends once the server has answered.
silent: the transaction goes nowhere, and the connection stays.
late: COMMAND runs first; what comes after the first one goes by untouched.
LISTEN and SERVER are paths of sockets.
"""

import os
import selectors
import socket
import subprocess
import sys
import threading


def is_transaction(data):
    return b'"method":"transact"' in data and b'"_Server"' not in data


class Interference:
    def __init__(self, how, command):
        self.how, self.command = how, command

    def note(self, data):
        """Returns how to interfere with what the client sends, or None."""
        if not is_transaction(data):
            return None
        if self.how == "late":
            command, self.command = self.command, None
            if command:
                subprocess.run(command, check=True,
                               stdout=subprocess.DEVNULL)
            return None
        return self.how


def finish(client, server):
    """Sends all that is still to come, and waits for an answer."""
    client.settimeout(0.5)
    try:
        while data := client.recv(65536):
            server.sendall(data)
    except TimeoutError:
        pass
    server.recv(1)


def serve(client, path, interference):
    """Until one of the two has enough, whether it reads to the end or not."""
    try:
        pass_on(client, path, interference)
    except (BrokenPipeError, ConnectionResetError):
        pass


def pass_on(client, path, interference):
    with client, socket.socket(socket.AF_UNIX) as server, \
            selectors.DefaultSelector() as selector:
        server.connect(path)
        selector.register(client, selectors.EVENT_READ)
        selector.register(server, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                data = key.fileobj.recv(65536)
                if not data:
                    return
                if key.fileobj is server:
                    client.sendall(data)
                    continue
                how = interference.note(data)
                if how == "lost":
                    return
                if how != "silent":
                    server.sendall(data)
                if how == "unanswered":
                    finish(client, server)
                    return


def main():
    listen, path, how, *command = sys.argv[1:]
    interference = Interference(how, command)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(listen + ".new")
        listener.listen()
        os.rename(listen + ".new", listen)
        if how == "refused":
            listener.accept()[0].close()
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, daemon=True,
                             args=(client, path, interference)).start()


if __name__ == "__main__":
    main()
