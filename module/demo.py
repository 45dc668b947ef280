#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The module in a server, step by step: reserve, add, ask, dump, restart, ask again.

    make demo-server
    module/demo.py BUILD

Starts a server of its own on 127.0.0.1, at a port that nobody has, in a folder that is gone afterwards.
The server is redis-check-rdb of Debian's redis-tools, which is one when it is called redis-server.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "module"))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from live import Client, die_with_parent, free_port

SECONDS = 20


def start(build, folder, port):
    """A server with the module; it saves what it has when it is shut down."""
    name = os.path.join(folder, "redis-server")
    if not os.path.lexists(name):
        os.symlink(shutil.which("redis-check-rdb"), name)
    module = os.path.abspath(os.path.join(build, "module", "bloomery.so"))
    with open(os.path.join(folder, "log"), "ab") as log:
        process = subprocess.Popen([name, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder,
                                    "--save", "3600 1", "--loadmodule", module],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            client = Client(port)
            if client.ask("PING") == "PONG":
                return process, client
        except OSError:
            time.sleep(0.05)
    with open(os.path.join(folder, "log"), encoding="utf-8", errors="replace") as log:
        sys.exit("the server did not start:\n" + log.read())


def tell(client, *words, keep=60):
    """A command and its reply, as one would type and read them."""
    reply = client.ask(*words)
    text = " ".join(str(word) for word in words)
    print(f"> {text if len(text) <= keep else text[:keep] + ' ...'}")
    print(f"  {reply}")
    return reply


def dump(client, key, path):
    """The chunks of BF.SCANDUMP, one behind the other: a file of dialect redisbloom."""
    with open(path, "wb") as file:
        iterator, data = client.ask("BF.SCANDUMP", key, 0)
        while iterator != 0:
            file.write(data)
            iterator, data = client.ask("BF.SCANDUMP", key, iterator)


def add_many(client, key, first, count):
    """Numbers as items, a thousand at a time; returns how many were new."""
    return sum(sum(client.ask("BF.MADD", key, *range(at, at + 1000))) for at in range(first, first + count, 1000))


def show(build, folder):
    """The steps."""
    port = free_port()
    process, client = start(build, folder, port)
    tell(client, "BF.RESERVE", "seen", "0.001", 100_000)
    tell(client, "BF.ADD", "seen", "https://example.org/")
    tell(client, "BF.ADD", "seen", "https://example.org/")
    tell(client, "BF.MEXISTS", "seen", "https://example.org/", "https://example.org/other")
    print("\n100,000 numbers, by BF.MADD, a thousand at a time")
    print(f"  {add_many(client, 'seen', 0, 100_000):,} were new")
    tell(client, "BF.INFO", "seen")
    print("\nShut down, and started again")
    client.send("SHUTDOWN", "SAVE")
    process.wait(SECONDS)
    process, client = start(build, folder, port)
    tell(client, "BF.EXISTS", "seen", "https://example.org/")
    found = sum(sum(client.ask("BF.MEXISTS", "seen", *range(at, at + 1000))) for at in range(0, 100_000, 1000))
    false = sum(sum(client.ask("BF.MEXISTS", "seen", *range(at, at + 1000)))
                for at in range(1_000_000, 1_100_000, 1000))
    print(f"  {found:,} of the 100,000 numbers are there; of 100,000 others {false} seem to be")
    print("\nThe same filter, dumped by BF.SCANDUMP, read by the command")
    dump(client, "seen", os.path.join(folder, "seen.bf"))
    client.send("SHUTDOWN", "NOSAVE")
    process.wait(SECONDS)
    command = [os.path.join(os.path.abspath(build), "tool", "bloomery"), "inspect", "--dialect", "redisbloom", "seen.bf"]
    print("$ bloomery " + " ".join(command[1:]), flush=True)
    return subprocess.run(command, cwd=folder, check=False).returncode


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if shutil.which("redis-check-rdb") is None:
        sys.exit("redis-check-rdb is missing: apt-get install --no-install-recommends redis-tools")
    folder = tempfile.mkdtemp(prefix="bloomery-demo-")
    try:
        return show(sys.argv[1], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
