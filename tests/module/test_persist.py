# SPDX-License-Identifier: Apache-2.0
"""Keys outlive their server: RDB, AOF of both forms, DUMP and RESTORE, COPY, a power cut.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import os
import threading

from live import SANITIZER, Server
from runner import case, main

AOF = ["--appendonly", "yes", "--appendfsync", "always"]


def fill(server):
    """Keys of every sort; returns their names."""
    server.ask("BF.RESERVE", "fixed", "0.001", 500, "NONSCALING")
    server.ask("BF.MADD", "fixed", *range(400))
    server.ask("BF.RESERVE", "grown", "0.01", 10, "EXPANSION", 3)
    server.ask("BF.MADD", "grown", *range(2000))
    server.ask("BF.RESERVE", "even", "0.05", 20, "EXPANSION", 1)
    server.ask("BF.MADD", "even", *range(800))
    # More links than a Bloomery file keeps.
    server.ask("BF.RESERVE", "long", "0.2", 3, "EXPANSION", 1)
    server.ask("BF.MADD", "long", *range(700))
    server.ask("BF.ADD", "small", "x")
    server.ask("BF.RESERVE", "empty", "0.3", 7)
    # More than one chunk of 16 MiB.
    server.ask("BF.RESERVE", "large", "0.0001", 10_000_000, "NONSCALING")
    server.ask("BF.MADD", "large", *range(5000))
    server.ask("CF.RESERVE", "cuckoo", 50, "EXPANSION", 2)
    server.ask("CF.INSERT", "cuckoo", "ITEMS", *range(500))
    server.ask("CF.RESERVE", "cuckoo empty", 50)
    return ["fixed", "grown", "even", "long", "small", "empty", "large", "cuckoo", "cuckoo empty"]


def expect_same(c, server, names, before):
    """The digests of keys are those of before, and the keys work."""
    c.expect(server.digest(*names) == before, "another digest after the restart")
    c.expect(server.ask("BF.MEXISTS", "grown", *range(2000)) == [1] * 2000, "items are missing")
    c.expect(server.ask("BF.ADD", "grown", "one more") == 1, "nothing can be added")
    c.expect(server.ask("CF.MEXISTS", "cuckoo", *range(500)) == [1] * 500 and server.ask("CF.ADD", "cuckoo empty", "y") == 1,
             "cuckoo filters")


@case
def keys_outlive_a_restart_by_rdb(c):
    server = Server(c)
    names = fill(server)
    before = server.digest(*names)
    server.stop(save=True)
    expect_same(c, server.start(), names, before)


def peak(server):
    """The most memory that the server's process had so far."""
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))


@case
def loading_takes_the_memory_of_the_keys_and_little_more(c):
    # No pages are joined while it loads: that would take pages too.
    server = Server(c, options=["--rdbcompression", "no"], arguments=["huge-pages", "no"])
    empty = peak(server)
    server.ask("BF.RESERVE", "one", "0.001", 60_000_000, "NONSCALING")
    server.ask("BF.MADD", "one", *range(1000))
    size = server.ask("BF.INFO", "one", "SIZE")[0]
    before = server.digest("one")
    server.stop(save=True)
    server.start()
    c.expect(server.digest("one") == before, "another digest after the restart")
    # A sanitizer's shadow is an eighth of a block, also of one that is only asked for its addresses.
    most = 1.45 if SANITIZER else 1.2
    c.expect(peak(server) < empty + most * size, f"{peak(server) - empty} bytes for {size}")


@case
def keys_outlive_a_restart_by_the_aof_as_it_grew(c):
    server = Server(c, options=AOF)
    names = fill(server)
    before = server.digest(*names)
    server.stop()
    expect_same(c, server.start(), names, before)


def rewritten(c, preamble):
    """A restart from an AOF that was rewritten, and has more behind."""
    server = Server(c, options=[*AOF, "--aof-use-rdb-preamble", preamble])
    names = fill(server)
    server.ask("BGREWRITEAOF")
    server.wait_for(lambda: server.info("persistence")["aof_rewrite_in_progress"] == "0" and
                    server.info("persistence")["aof_last_bgrewrite_status"] == "ok", "rewritten")
    server.ask("BF.MADD", "grown", "a", "b")
    before = server.digest(*names)
    server.stop()
    expect_same(c, server.start(), names, before)


@case
def keys_outlive_a_rewritten_aof_with_preamble(c):
    rewritten(c, "yes")


@case
def keys_outlive_a_rewritten_aof_of_commands(c):
    rewritten(c, "no")


@case
def debug_reload_dump_and_copy_keep_every_bit(c):
    server = Server(c)
    names = fill(server)
    before = server.digest(*names)
    c.expect(server.ask("DEBUG", "RELOAD") == "OK", "no reload")
    c.expect(server.digest(*names) == before, "another digest after the reload")
    for name, digest in zip(names, before):
        server.ask("RESTORE", "r", 0, server.ask("DUMP", name), "REPLACE")
        server.ask("COPY", name, "c", "REPLACE")
        c.expect(server.digest("r", "c") == [digest, digest], f"{name}: another digest")
        server.ask("RENAME", name, "renamed")
        server.ask("RENAME", "renamed", name)
        c.expect(server.digest(name) == [digest], f"{name}: another digest")
    server.ask("BF.ADD", "c", "only in the copy")
    c.expect(server.digest(*names) == before, "a copy is not the original")
    server.ask("COPY", "grown", "c", "REPLACE")
    c.expect(server.ask("BF.ADD", "c", "only in the copy") == 1 and server.ask("BF.EXISTS", "grown", "only in the copy")
             == 0, "a copy of several links grows by itself")


@case
def all_memory_comes_back(c):
    server = Server(c)
    for command in ("DEL", "UNLINK"):
        server.ask(command, *fill(server))
        for name in ("bf_keys", "bf_memory_bytes"):  # one after the other, in the background
            server.wait_for(lambda name=name: server.info("bf")[name] == "0", f"{command}: {name} is 0")
    fill(server)
    server.ask("FLUSHALL", "ASYNC")
    server.wait_for(lambda: server.info("bf")["bf_memory_bytes"] == "0", "values released in the background")


@case
def nothing_acknowledged_is_lost_by_a_power_cut(c):
    server = Server(c, options=AOF)
    server.ask("BF.RESERVE", "k", "0.000001", 100)
    server.ask("BF.INSERT", "source", "CAPACITY", 5, "ITEMS", "x")
    header, bits = (server.ask("BF.SCANDUMP", "source", at)[1] for at in (0, 1))
    before = server.digest("source")
    server.ask("CF.RESERVE", "c", 1000, "EXPANSION", 2)
    client = server.connect()
    acknowledged = []

    def add():
        """Every command that writes, into a filter that grows and into new ones."""
        try:
            for number in range(1_000_000):
                client.ask("BF.MADD", "k", *(f"{number}-{i}" for i in range(3)))
                client.ask("BF.ADD", "k", f"{number}-3")
                client.ask("BF.INSERT", "k", "NOCREATE", "ITEMS", f"{number}-4", f"{number}-0")
                client.ask("BF.INSERT", f"new-{number}", "CAPACITY", 9, "ERROR", "0.001", "ITEMS", number)
                client.ask("CF.ADD", "c", f"{number}-0")
                client.ask("CF.INSERT", "c", "ITEMS", f"{number}-1", f"{number}-2", f"{number}-3")
                client.ask("CF.DEL", "c", f"{number}-2")
                client.ask("BF.LOADCHUNK", f"loaded-{number}", 1, header)
                client.ask("BF.LOADCHUNK", f"loaded-{number}", 1 + len(bits), bits)
                acknowledged.append(number)
        except (OSError, EOFError):
            pass

    writer = threading.Thread(target=add)
    writer.start()
    server.wait_for(lambda: len(acknowledged) > 300, "some are added")
    server.kill()
    writer.join()
    server.start()
    for number in acknowledged:
        c.expect(server.ask("BF.MEXISTS", "k", *(f"{number}-{i}" for i in range(5))) == [1] * 5, f"{number} is lost")
        c.expect(server.ask("CF.MEXISTS", "c", *(f"{number}-{i}" for i in (0, 1, 3))) == [1] * 3, f"{number} is lost")
        c.expect(server.ask("BF.EXISTS", f"new-{number}", number) == 1, f"the key of {number} is lost")
        c.expect(server.digest(f"loaded-{number}") == before, f"the loaded key of {number} is lost")


@case
def a_file_cut_anywhere_is_a_failed_load(c):
    server = Server(c)
    server.ask("BF.RESERVE", "k", "0.01", 10)
    server.ask("BF.MADD", "k", *range(100))
    server.stop(save=True)
    path = os.path.join(server.folder, "dump.rdb")
    with open(path, "rb") as file:
        whole = file.read()
    for end in range(len(whole) - 1, 90, -37):
        with open(path, "wb") as file:
            file.write(whole[:end])
        c.expect(server.refuses_to_start(), f"starts from {end} of {len(whole)} bytes")
        c.expect("crashed by signal" not in server.log() and "ASSERTION" not in server.log(), f"crashes at {end} bytes")


main()
