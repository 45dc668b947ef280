# SPDX-License-Identifier: Apache-2.0
"""BF.CLEAR, BF.MERGE, and what BF.INFO says beyond the reference's fields.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import math

from live import PRELOAD, Server, free_port
from runner import Skip, case, main

WRONG = "WRONGTYPE Operation against a key holding the wrong kind of value"


def pair(c):
    """A master and its replica."""
    master, replica = Server(c, "master"), Server(c, "replica")
    replica.ask("REPLICAOF", "127.0.0.1", master.port)
    replica.wait_for(lambda: replica.info("replication")["master_link_status"] == "up", "the replica is there")
    return master, replica


def reals(server, key, *selectors):
    """Values of BF.INFO as numbers."""
    return [float(server.ask("BF.INFO", key, selector)[0]) for selector in selectors]


@case
def a_cleared_filter_is_the_one_that_was_reserved(c):
    master, replica = pair(c)
    for name, words in (("grown", ["EXPANSION", 3]), ("fixed", ["NONSCALING"]), ("default", [])):
        for key in (name, "twin " + name):
            master.ask("BF.RESERVE", key, "0.02", 50, *words)
        master.ask("BF.MADD", name, *range(300))
        master.ask("PEXPIRE", name, 100_000)
        c.expect(master.ask("BF.CLEAR", name) == "OK", name)
        for iterator in (0, 1):
            c.expect(master.ask("BF.SCANDUMP", name, iterator) == master.ask("BF.SCANDUMP", "twin " + name, iterator), f"{name} is another filter")
        c.expect(master.ask("BF.CARD", name) == 0 and master.ask("BF.EXISTS", name, 1) == 0, "empty")
        c.expect(0 < master.ask("PTTL", name) <= 100_000, "its time to live stays")
        master.ask("BF.ADD", name, "x")
    master.ask("WAIT", 1, 10_000)
    c.expect(master.ask("DEBUG", "DIGEST") == replica.ask("DEBUG", "DIGEST"), "replicated")
    master.ask("SET", "s", "x")
    c.expect(master.ask("BF.CLEAR", "s") == WRONG and master.ask("BF.CLEAR", "missing") == "ERR not found", "errors")


@case
def a_large_filter_is_cleared_aside(c):
    server = Server(c)
    server.ask("BF.RESERVE", "k", "0.001", 30_000_000)
    size = int(server.info("bf")["bf_memory_bytes"])
    for round_number in range(3):
        server.ask("BF.MADD", "k", *range(1000))
        c.expect(server.ask("BF.CLEAR", "k") == "OK" and server.ask("BF.EXISTS", "k", 5) == 0, f"round {round_number}")
    server.wait_for(lambda: int(server.info("bf")["bf_memory_bytes"]) == size, "the old ones are released")
    server.ask("UNLINK", "k")
    server.wait_for(lambda: server.info("bf")["bf_memory_bytes"] == "0", "all is released")


@case
def clear_and_rotate_ask_the_kernel_for_no_addresses(c):
    """It gives none while it makes huge pages; the addresses of the next filter are there since the first was made."""
    server = Server(c)
    if PRELOAD or not server.info("memory")["mem_allocator"].startswith("jemalloc"):
        raise Skip("another allocator keeps no addresses")

    def addresses():
        with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmSize:"))
    for key, change, words in (("w", "BF.ROTATE", ["GENERATIONS", 2]), ("k", "BF.CLEAR", ["NONSCALING"])):
        server.ask("BF.RESERVE", key, "0.001", 10_000_000, *words)
        server.ask("BF.ADD", key, "x")
        before = addresses()
        c.expect(server.ask(change, key) == "OK", change)
        more = addresses() - before
        c.expect(more < 16_000_000, f"{change} of {server.ask('BF.INFO', key, 'SIZE')} bytes took {more} bytes of addresses")


@case
def a_merged_filter_has_the_items_of_all(c):
    master, replica = pair(c)
    for name, first in (("a", 0), ("b", 500), ("c", 1000)):
        master.ask("BF.RESERVE", name, "0.001", 2000)
        master.ask("BF.MADD", name, *range(first, first + 600))
    sources = master.digest("b", "c")
    c.expect(master.ask("BF.MERGE", "a", "b", "c") == "OK", "into one that is there")
    c.expect(master.ask("BF.MEXISTS", "a", *range(1600)) == [1] * 1600, "all items")
    c.expect(abs(master.ask("BF.CARD", "a") - 1600) < 40, f"{master.ask('BF.CARD', 'a')} of 1600, 200 of them twice")
    c.expect(master.digest("b", "c") == sources, "sources stay")
    c.expect(master.ask("BF.MERGE", "new", "b", "c", "b") == "OK", "into a new one")
    c.expect(master.ask("BF.MEXISTS", "new", *range(500, 1600)) == [1] * 1100, "all items")
    before = master.digest("a")
    c.expect(master.ask("BF.MERGE", "a", "a") == "OK" and master.digest("a") == before, "itself")
    # Not more absent items than the merged bits explain.
    found = sum(master.ask("BF.MEXISTS", "a", *(f"out {number}" for number in range(20_000))))
    c.expect(found < 20_000 * 0.001 + 6 * math.sqrt(20), f"{found} of 20,000")
    master.ask("WAIT", 1, 10_000)
    c.expect(master.ask("DEBUG", "DIGEST") == replica.ask("DEBUG", "DIGEST"), "replicated")
    c.expect(master.ask("BF.MADD", "a", *range(2000, 2500))[-1] in (0, 1), "and it takes more")
    master.stop(save=True)
    master.start()
    c.expect(master.digest("b", "c") == sources and master.ask("BF.EXISTS", "a", 1599) == 1, "saved and loaded")


@case
def filters_that_cannot_be_merged_say_why(c):
    server = Server(c, options=["--appendonly", "yes", "--appendfsync", "always"])
    server.ask("BF.RESERVE", "a", "0.01", 100)
    server.ask("BF.RESERVE", "larger", "0.01", 200)
    server.ask("BF.RESERVE", "finer", "0.0001", 55)
    server.ask("BF.RESERVE", "grown", "0.01", 100)
    server.ask("BF.MADD", "grown", *range(200))
    server.ask("BF.RESERVE", "equal", "0.01", 100)
    server.ask("BF.ADD", "equal", "x")
    server.ask("SET", "s", "x")
    before = server.digest("a")
    for words, sentence in (
            (["larger"], "ERR larger can't be merged: layer 1 has 1152 bits in one filter and 2240 in the other"),
            (["finer"], "layer 1 has 8 probes in one filter and 15"), (["grown"], "one filter has 1 layers, the other 2"),
            (["equal", "larger"], "larger can't be merged"), (["missing"], "ERR not found"), (["equal", "missing"], "ERR not found"),
            (["s"], WRONG)):
        reply = server.ask("BF.MERGE", "a", *words)
        c.expect(sentence in str(reply), f"{words}: {reply}")
        c.expect(server.digest("a") == before, f"{words} changed it")
    c.expect(server.ask("BF.MERGE", "s", "a") == WRONG and server.ask("BF.MERGE", "none", "missing") == "ERR not found", "the target")
    c.expect(server.ask("EXISTS", "none") == 0 and str(server.ask("BF.MERGE", "a")).startswith("ERR wrong number"), "nothing is made")
    c.expect(not any(words[0] == b"BF.MERGE" for words in server.aof_commands()), "none is replicated")
    c.expect(server.ask("CONFIG", "SET", "bf.merge-limit", 500) == "OK", "a limit")
    c.expect("merge-limit allows 500 in one command" in server.ask("BF.MERGE", "a", "equal"), "beyond it")
    server.ask("CONFIG", "SET", "bf.merge-limit", "1mb")
    c.expect(server.ask("BF.MERGE", "a", "equal") == "OK" and server.ask("BF.EXISTS", "a", "x") == 1, "within it")
    cluster = Server(c, "cluster", options=["--cluster-enabled", "yes", "--cluster-port", str(free_port())])
    cluster.ask("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    cluster.wait_for(lambda: "cluster_state:ok" in cluster.ask("CLUSTER", "INFO").decode(), "the cluster is ready")
    cluster.ask("BF.ADD", "{a}2", "x")
    c.expect(cluster.ask("BF.MERGE", "{a}1", "{a}2") == "OK", "one slot")
    c.expect(str(cluster.ask("BF.MERGE", "{a}1", "{b}1")).startswith("CROSSSLOT"), "two slots")


@case
def info_tells_rates_fill_and_items(c):
    server = Server(c)
    server.ask("BF.RESERVE", "k", "0.01", 1000)
    server.ask("BF.RESERVE", "fixed", "0.003", 1000, "NONSCALING")
    c.expect(reals(server, "k", "ERROR", "ERRORNOW", "FILL", "ESTIMATE") == [0.01, 0, 0, 0], "empty")
    c.expect(reals(server, "fixed", "ERROR") == [0.003], "planned")
    for first in (0, 500, 1500, 6000):
        server.ask("BF.MADD", "k", *range(first + 2000))
        items = server.ask("BF.CARD", "k")
        now, fill, estimate = reals(server, "k", "ERRORNOW", "FILL", "ESTIMATE")
        found = sum(server.ask("BF.MEXISTS", "k", *(f"out {number}" for number in range(20_000))))
        c.expect(abs(found - now * 20_000) < 6 * math.sqrt(now * 20_000) + 5, f"{found} of 20,000, told {now}")
        c.expect(abs(estimate - items) < 0.05 * items and 0 < fill < 0.55, f"{estimate} of {items}, {fill}")
        bits, chunk = 0, server.ask("BF.SCANDUMP", "k", 1)
        size = 0
        while chunk[0] != 0:
            bits += sum(byte.bit_count() for byte in chunk[1])
            size += 8 * len(chunk[1])
            chunk = server.ask("BF.SCANDUMP", "k", chunk[0])
        c.expect(abs(fill - bits / size) < 1e-12, f"{fill}, not {bits / size}")
    before = reals(server, "k", "ERROR", "ERRORNOW", "FILL", "ESTIMATE")
    server.ask("RESTORE", "again", 0, server.ask("DUMP", "k"))
    c.expect(reals(server, "again", "ERROR", "ERRORNOW", "FILL", "ESTIMATE") == before, "loaded")
    c.expect(server.ask("BF.INFO", "k", "GENERATIONS") == [None] and server.ask("BF.INFO", "k", "EVERY") == [None], "a plain filter")
    third = server.connect(3)
    c.expect(third.raw("BF.INFO", "k", "errornow").startswith(b"%1\r\n+Error rate now\r\n,"), "RESP3")
    c.expect(server.ask("BF.INFO", "k", "TIGHTENING") == "Invalid information value" and len(server.ask("BF.INFO", "k")) == 10, "the rest")


main()
