#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The module in servers: what its commands cost beside the least that a command can cost there.

    bench/server.py BUILD [--full] [--json FILE]        (bench/run.py calls it as its step `server`)

BUILD has the module (-Dmodule=enabled), bench/server-load (the clients) and bench/floor.so (a module that reads as
many arguments and answers as many integers). Servers are Debian's Redis, and Valkey where scripts/valkey finds it,
one after the other, each on 127.0.0.1 at a free port with a folder of its own. They end with this program.

The server is on one processor and the clients on another, where there are two. 16 clients send 4 commands of 100
items together, or 32 of one item. A time is that of the server's main thread, by the system's own account (INFO cpu):
a server with work enough never waits, so on a quiet machine this is the time that passes, and on a busy one it is
what the server took of it. Both are in the rows. Cases take turns, round by round.

Filters are NONSCALING at 1 in 1000. Those that are asked were loaded with random bits: half of them are set, as in a
filter that has the items it was made for.
"""

import argparse
import contextlib
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "tests", "module"), os.path.join(HERE, "..", "tests", "cli")]

# pylint: disable=wrong-import-position
import live
import runner

MIB = 1 << 20
RATE = "0.001"
BITS_AN_ITEM = 14.3776  # at that rate: log2(1000) / ln 2
SMALL, LARGE = 36 * 10**6, 1 << 30
ROTATED, GENERATIONS = 64 << 20, 3  # bytes of a generation, about
ITEMS = 100
CHUNK = 16 * MIB
HEADER_BYTES, HEADER_LAYER = 73, 20  # of a dump of one link; where its bytes stand
ROUND = 1 << 32  # numbers of items: those of a round begin at a multiple of it
NEVER = 1 << 60  # and those that nobody adds here
KEYS = 100_000  # of SET and GET


class Case:  # pylint: disable=too-few-public-methods
    """What one row measures: words of a command, items in it, and how many such commands."""

    def __init__(self, name, words, size=0, new=False, first=None):
        self.name, self.words, self.size = name, words, size
        self.new, self.first = new, first
        self.items = ITEMS if f"@{ITEMS}" in words else 1
        self.round = {"what": "command", "name": name, "bytes": size, "items": self.items, "server_ns": [],
                      "wall_ns": [], "clients": [], "worst": []}


class Bench:
    """One server and what is measured in it."""

    def __init__(self, programs, folder, options):
        self.load, self.options = programs["load"], options
        self.context = runner.Context(folder)
        live.SERVER, live.MODULE = programs["server"], programs["module"]
        self.server = live.Server(self.context, before=[programs["floor"]], options=["--appendonly", "no"])
        facts = self.server.info("server")
        self.name = "Valkey " + facts["valkey_version"] if "valkey_version" in facts else \
            "Redis " + facts["redis_version"]
        self.processors = sorted(os.sched_getaffinity(0))
        self.empty = self.peak()
        self.rows = []

    def row(self, what, **more):
        """One more."""
        self.rows.append({"what": what, "server": self.name, **more})
        print(self.rows[-1], file=sys.stderr, flush=True)

    def pin(self, pinned=True):
        """All threads of the server to the first processor, or to all."""
        places = set(self.processors[:1] if pinned else self.processors)
        process = self.server.process.pid
        for thread in os.listdir(f"/proc/{process}/task"):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), places)

    def peak(self):
        """The most memory that the process had so far."""
        with open(f"/proc/{self.server.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))

    def main_thread(self):
        """Its processor time so far, in seconds."""
        facts = self.server.info("cpu")
        return float(facts["used_cpu_sys_main_thread"]) + float(facts["used_cpu_user_main_thread"])

    def run(self, words, commands, first, pipeline=4, distinct=0):
        """The row of the clients, with the server's time in it."""
        path = os.path.join(self.context.directory, "row.json")
        last = {self.processors[-1]}
        before = self.main_thread()
        subprocess.run([self.load, str(self.server.port), "--commands", str(commands), "--first", str(first),
                        "--pipeline", str(pipeline), "--distinct", str(distinct), "--json", path, *words],
                       check=True, timeout=300, preexec_fn=lambda: os.sched_setaffinity(0, last))
        with open(path, encoding="utf-8") as file:
            row = json.load(file)
        row["server"] = self.main_thread() - before
        return row

    def stat(self, command):
        """The microseconds that the server says its last call of a command took."""
        text = self.server.info("commandstats")[f"cmdstat_{command}"]
        return int(dict(part.split("=") for part in text.split(","))["usec"])

    # ---- Filters

    @staticmethod
    def capacity(size):
        """The items of a filter of `size` bytes."""
        return int(size * 8 / BITS_AN_ITEM)

    def reserve(self, key, size):
        """A filter of that size; its pages may still be on their way."""
        assert self.server.ask("BF.RESERVE", key, RATE, self.capacity(size), "NONSCALING") == "OK"

    def half_full(self, key, size):
        """A filter of random bits. It has to take further items, so it says that it has none."""
        self.server.ask("UNLINK", key)
        self.reserve(key, size)
        header = self.server.ask("BF.SCANDUMP", key, 0)[1]
        self.server.ask("UNLINK", key)
        assert len(header) == HEADER_BYTES
        left, at = struct.unpack_from("<Q", header, HEADER_LAYER)[0], 1
        assert self.server.ask("BF.LOADCHUNK", key, 1, header) == "OK"
        while left > 0:
            data = os.urandom(min(left, CHUNK))
            left, at = left - len(data), at + len(data)
            assert self.server.ask("BF.LOADCHUNK", key, at, data) == "OK"

    def populated(self):
        """Waits for the thread that takes pages."""
        self.server.wait_for(lambda: self.server.info("bf")["bf_populating"] == "0", "all pages are taken")

    def unlink(self, key):
        """The only filter, and waits until its memory is given back: that is another thread's work."""
        self.server.ask("UNLINK", key)
        self.server.wait_for(lambda: self.server.info("bf")["bf_memory_bytes"] == "0", "its memory is back")

    # ---- What is measured

    def cases(self):
        """Groups that take turns; within a group what is asked was added before."""
        groups = [[Case("floor", ["FLOOR.MANY", "k", "@100"])]]
        for size in self.options["sizes"]:
            key = f"f{size}"
            groups.append([Case("MEXISTS, absent", ["BF.MEXISTS", key, "@100"], size, first=NEVER),
                           Case("MADD, new", ["BF.MADD", key, "@100"], size, new=True),
                           Case("MEXISTS, present", ["BF.MEXISTS", key, "@100"], size)])
        size = self.options["sizes"][0]
        key = f"f{size}"
        groups.append([Case("floor", ["FLOOR.ONE", "k", "@1"]),
                       Case("EXISTS, absent", ["BF.EXISTS", key, "@1"], size, first=NEVER),
                       Case("ADD, new", ["BF.ADD", key, "@1"], size, new=True),
                       Case("EXISTS, present", ["BF.EXISTS", key, "@1"], size),
                       Case("SET", ["SET", "@1", "x"]), Case("GET", ["GET", "@1"])])
        return groups

    def commands(self):
        """All commands, in rounds."""
        groups = self.cases()
        small = self.options["sizes"][0]
        for size in self.options["sizes"]:
            self.half_full(f"f{size}", size)
        self.populated()
        self.pin()
        for turn in range(self.options["rounds"]):
            if turn > 0:  # items of the rounds before would fill it
                self.half_full(f"f{small}", small)
                self.populated()
            for number, group in enumerate(groups[::-1] if turn % 2 else groups):
                first = (turn * len(groups) + number + 1) * ROUND
                for case in group:
                    self.measure(case, first)
        for group in groups:
            for case in group:
                self.row(**case.round)

    def measure(self, case, first):
        """One case of one round."""
        one = case.items == 1
        row = self.run(case.words, self.options["commands"] * (8 if one else 1),
                       first if case.first is None else case.first + first, 32 if one else 4,
                       KEYS if case.name in ("SET", "GET") else 0)
        expected = {"absent": 0.001, "present": 1, "new": 0.999}.get(case.name.split(" ")[-1])
        # With four standard errors: of few items two may be false positives by chance.
        allowed = 0.01 + 4 * math.sqrt(0.001 / row["items"])
        if expected is not None and abs(row["ones"] / row["items"] - expected) > allowed:
            sys.exit(f"server.py: {case.name}: {row['ones']} of {row['items']} are in the filter")
        found = case.round
        found["server_ns"].append(row["server"] * 1e9 / row["items"])
        found["wall_ns"].append(row["seconds"] * 1e9 / row["items"])
        found["clients"].append(row["cpu"] / row["seconds"])
        found["worst"].append(row["worst"])

    def reserving(self):
        """The largest filter, on the main thread."""
        self.pin(False)
        size, times = self.options["sizes"][-1], []
        for _ in range(self.options["rounds"]):
            self.server.ask("CONFIG", "RESETSTAT")
            self.reserve("new", size)
            times.append(self.stat("bf.reserve") / 1e6)
            self.populated()
            self.unlink("new")
        self.row("reserve", bytes=size, seconds=times)

    def filling(self):
        """The first items of a filter whose pages are not there yet, and as many later ones."""
        size, commands = self.options["sizes"][-1], self.options["commands"]
        row = {"bytes": size, "first_ns": [], "steady_ns": [], "slowest": [], "worst": [], "steady_worst": [],
               "items": commands * ITEMS}
        self.server.ask("CONFIG", "SET", "slowlog-max-len", commands)
        self.server.ask("CONFIG", "SET", "slowlog-log-slower-than", 1000)
        for turn in range(self.options["rounds"]):
            self.reserve("new", size)
            words, item = ["BF.MADD", "new", f"@{ITEMS}"], turn * ROUND
            self.server.ask("SLOWLOG", "RESET")
            first = self.run(words, commands, item)
            slow = [entry[2] for entry in self.server.ask("SLOWLOG", "GET", -1)]
            row["slowest"].append(max(slow, default=1000) / 1e6)
            self.populated()
            steady = self.run(words, commands, item + commands * ITEMS)
            self.unlink("new")
            for name, one in (("first_ns", first), ("steady_ns", steady)):
                row[name].append(one["seconds"] * 1e9 / one["items"])
            row["worst"].append(first["worst"])
            row["steady_worst"].append(steady["worst"])
        self.server.ask("CONFIG", "SET", "slowlog-log-slower-than", -1)
        self.row("filling", **row)

    def replacing(self):
        """BF.CLEAR of the largest filter and BF.ROTATE of a window, while their pages are on their way."""
        for name, size, words in (("clear", self.options["sizes"][-1], ["NONSCALING"]),
                                  ("rotate", min(ROTATED, self.options["sizes"][-1]), ["GENERATIONS", GENERATIONS])):
            times = []
            for turn in range(self.options["rounds"]):
                assert self.server.ask("BF.RESERVE", "new", RATE, self.capacity(size), *words) == "OK"
                self.run(["BF.MADD", "new", f"@{ITEMS}"], self.options["commands"] // 10, turn * ROUND)
                self.server.ask("CONFIG", "RESETSTAT")
                assert self.server.ask(f"BF.{name}", "new") == "OK"
                times.append(self.stat(f"bf.{name}") / 1e6)
                self.unlink("new")
            self.row(name, bytes=size, seconds=times)

    def default_keys(self):
        """The bytes of a key that BF.ADD makes, less those of an empty string."""
        taken, keys = [], self.options["keys"]
        for words in (("SET", ""), ("BF.ADD", "x")):
            self.server.ask("FLUSHALL", "SYNC")  # Valkey empties itself in the background
            for i in range(1000):  # what a command and its connection take once is not a key's
                self.server.ask(words[0], f"first:{i:08}", words[1])
            before = int(self.server.info("memory")["used_memory"])
            for i in range(keys):
                self.server.ask(words[0], f"key:{i:08}", words[1])
            taken.append((int(self.server.info("memory")["used_memory"]) - before) / keys)
        self.server.ask("FLUSHALL")
        self.row("default key", string=taken[0], filter=taken[1])

    def drain(self, *words):
        """Sends a command whose reply is one long string, and reads it away; its bytes."""
        client, room = self.server.client, bytearray(MIB)
        client.send(*words)
        size = int(client.take_line()[1:])
        left = size + 2 - len(client.kept)
        client.kept = b""
        while left > 0:
            left -= client.socket.recv_into(room, min(left, len(room)))
        return size

    def persistence(self):
        """SAVE and DUMP of a filter that is half full, with and without compression, and loading."""
        size = self.options["sizes"][-1]
        self.server.ask("FLUSHALL")
        self.half_full("f", size)
        for compression in ("yes", "no"):
            self.server.ask("CONFIG", "SET", "rdbcompression", compression)
            for name in ("SAVE", "DUMP"):
                self.server.ask("CONFIG", "RESETSTAT")
                if name == "SAVE":
                    assert self.server.ask("SAVE") == "OK"
                    stored = os.path.getsize(os.path.join(self.server.folder, "dump.rdb"))
                else:
                    stored = self.drain("DUMP", "f")
                self.row("stored", name=name, bytes=size, compression=compression, stored=stored,
                         seconds=self.stat(name.lower()) / 1e6)
        self.server.stop()
        begin = time.monotonic()
        self.server.start()
        seconds = time.monotonic() - begin
        assert self.server.ask("EXISTS", "f") == 1
        self.row("stored", name="load", bytes=size, compression="no", stored=self.peak() - self.empty,
                 seconds=seconds)

    def all(self):
        """Every row."""
        self.default_keys()
        self.commands()
        self.server.ask("FLUSHALL", "SYNC")
        self.reserving()
        self.filling()
        self.replacing()
        self.persistence()
        return self.rows


def servers(folder):
    """(name, program) of each that is here; none is installed."""
    found = []
    redis = shutil.which("redis-check-rdb")
    if redis is not None:
        link = os.path.join(folder, "redis-server")
        if not os.path.lexists(link):
            os.symlink(redis, link)
        found.append(link)
    valkey = os.path.join(folder, "valkey")
    if subprocess.run([os.path.join(HERE, "..", "scripts", "valkey"), valkey], check=False).returncode == 0:
        found.append(os.path.join(valkey, "usr", "bin", "valkey-server"))
    return found


def measure(programs, server, options):
    """The rows of one server, in a folder that is gone after."""
    live.SECONDS = 120
    with tempfile.TemporaryDirectory(prefix="bloomery-bench-", dir=options.get("folder")) as folder:
        bench = None
        try:
            bench = Bench({**programs, "server": server}, folder, options)
            return bench.all()
        finally:
            if bench is not None:
                bench.context.end()


def programs_of(build):
    """What a build directory has; None where the module is not built."""
    programs = {"load": os.path.join(build, "bench", "server-load"), "floor": os.path.join(build, "bench", "floor.so"),
                "module": os.path.join(build, "module", "bloomery.so")}
    return programs if all(map(os.path.exists, programs.values())) else None


def options_of(full):
    """How much is done."""
    return {"sizes": [SMALL, LARGE], "rounds": 5 if full else 3, "commands": 10_000 if full else 5_000, "keys": 100_000}


def main():
    parser = argparse.ArgumentParser(description="measure the module in Redis and Valkey")
    parser.add_argument("build")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    programs, rows = programs_of(build), []
    if programs is None:
        sys.exit("server.py: no module there: meson configure BUILD -Dmodule=enabled")
    folder = os.path.join(build, "bench-results")
    os.makedirs(folder, exist_ok=True)
    for server in servers(folder):
        rows += measure(programs, server, {**options_of(arguments.full), "folder": folder})
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
