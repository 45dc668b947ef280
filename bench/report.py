#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes text, pages and chart of what run.py measured (results.json). Nothing here is typed by hand.

    bench/report.py [results.json] [--docs FOLDER]

From top to bottom: the rows of results.json, and how to find one; cells; what is wanted (Target); the tables (TABLES),
each a declaration of its title, its rows and its columns; excerpts; the chart; pages. The other programs of this
folder that print tables use the same functions.

In the pages of results/, which have every row, and in kinds.md the tables stand between pairs of markers,
`<!-- bench:NAME -->` and `<!-- bench:end -->`; what is written around them is kept. benchmarks.md, goals.md and README.md have
excerpts of the pages of results/, in markers of their own, and the chart is drawn of a table there too. Without
results.json only these are written anew.

Only rows of equal rate are compared: those whose measured rate is within 5 % and three standard errors of the
requested one; the others are marked "(off)".
"""

import argparse
import json
import math
import re
from operator import itemgetter
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import NamedTuple
from xml.sax.saxutils import escape

BATCHES = (("query", "absent_batch"), ("add", "add_batch"))
TYPES = ("integers", "ids", "urls")
STEPS = ("filters", "levels", "guava", "threads", "open", "commands", "floors", "instructions", "kinds", "static",
         "sieve", "server")
MILLION = 10**6
SIZES = (MILLION, 20 * MILLION, 100 * MILLION, 1000 * MILLION)

# ---- Rows

def ratio(over, under):
    """over / under, where both are known."""
    return over / under if over and under else None


CUCKOO_RATE = 2e-2  # of the kinds beside cuckoo filters, which do not have lower ones


class Row:
    """A filter or a limit in a case."""

    def __init__(self, raw):
        self.__dict__.update(raw)
        self.case = (raw["type"], raw["keys"], raw["rate"])
        self.bits = raw["bytes"] * 8 / raw["keys"]
        self.measured = raw["found"] / raw["asked"] if raw["asked"] else None

    def time(self, phase):
        """The median of the parts in ns, or None."""
        return median(self.ns[phase]) if self.ns.get(phase) else None

    def best(self, operation):
        """The faster of one and batch."""
        return min(filter(None, (self.time(operation + "_one"), self.time(operation + "_batch"))), default=None)

    def rate_holds(self):
        """Whether the row may be compared."""
        if self.role == "limit" or not self.asked:
            return self.role == "limit"
        allowed, error = 0.05 + 3 / math.sqrt(self.rate * self.asked), self.measured / self.rate - 1
        return (error if getattr(self, "below", False) else abs(error)) <= allowed


class Results:
    """All rows, and how to find one."""

    def __init__(self, raw):
        self.raw = raw
        self.rows = [Row(row) for step in ("filters", "guava") for row in self.step(step)]
        self.levels = [Row(row) for row in self.step("levels")]
        self.kinds = [Row(row) for row in self.step("kinds") if "role" in row]
        self.static = [Row(row) for row in self.step("static")]

    def step(self, step, /, **wanted):
        """The raw rows of a step that have some values."""
        return [row for row in self.raw.get(step, {}).get("rows", [])
                if all(row.get(key) == value for key, value in wanted.items())]

    def cases(self):
        """(type, keys, rate), in order."""
        return sorted({row.case for row in self.rows}, key=lambda case: (TYPES.index(case[0]), case[1], -case[2]))

    def find(self, case, name, rows=None, **wanted):
        """A row or None."""
        return next((row for row in (self.rows if rows is None else rows) if row.case == case and row.name == name and
                     all(getattr(row, key) == value for key, value in wanted.items())), None)

    def time(self, phase, *place, **wanted):
        """The time of a row, or None."""
        row = self.find(*place, **wanted)
        return row.time(phase) if row else None

    def peer(self, case, operation):
        """The fastest peer with the case's rate, in its fastest form."""
        return min((row for row in self.rows if row.case == case and row.role == "peer" and row.rate_holds() and
                    row.best(operation)), key=lambda row: row.best(operation), default=None)

    def limit(self, case, phase, name):
        """The least time of the limits of a name that begins so (but not the bare one), or None."""
        names = (name, "line-whole") if name == "line" else (name,)
        times = (row.time(phase) for row in self.rows if row.case == case and row.role == "limit" and row.name in names)
        return min((value for value in times if value), default=None)

    def threads(self):
        """{operation: {threads: ns}} and the number of keys."""
        times, keys = {}, 0
        for row in self.step("threads"):
            times.setdefault(row["operation"], {})[row["threads"]] = median(row["ns"])
            keys = row["keys"]
        return times, keys

    def seen_sets(self):
        """{(urls, pushes): {name: rows}}, the sieve first."""
        cases = {}
        for row in self.step("sieve", what="urls"):
            cases.setdefault((row["urls"], row["pushes"]), {}).setdefault(row["name"], []).append(row)
        return {case: dict(sorted(rows.items(), key=lambda item: list(SEEN_SETS).index(item[0])))
                for case, rows in sorted(cases.items())}

    def servers(self):
        """{server: rows}, in order."""
        found = {}
        for row in self.step("server"):
            if "server" in row:
                found.setdefault(row["server"], []).append(row)
        return found

    def in_process(self):
        """{(bytes, pages): {name: ns}} of the module's filters without a server."""
        found = {}
        for row in self.step("server", what="in process"):
            found.setdefault((row["bytes"], row["pages"]), {})[row["name"]] = median(row["ns"])
        return found


def server_value(rows, key, what, **wanted):
    """A value of a row of a server, or None."""
    return next((key(row) for row in rows if row["what"] == what and
                 all(row[name] == value for name, value in wanted.items())), None)


def server_ns(rows, name, filter_bytes, items=100):
    """Nanoseconds of the server for an item, or None."""
    return server_value(rows, lambda row: median(row["server_ns"]), "command", name=name, bytes=filter_bytes, items=items)


# ---- Cells

def size(value):
    """20000000 -> 20 M."""
    for unit, name in ((10**9, " G"), (10**6, " M"), (10**3, " K")):
        if value >= unit and value % (unit // 10) == 0:
            return f"{value / unit:g}{name}"
    return str(value or "-")


def power(rate):
    """0.01 -> 1e-2."""
    return re.sub(r"e-0", "e-", f"{rate:.0e}")


def number(value, digits=2):
    """1.234 -> 1.23."""
    return "-" if value is None else f"{value:.{digits}f}"


def megabytes(value, digits=0):
    """Bytes, if there are any."""
    return f"{value / 1e6:.{digits}f} MB" if value else "-"


def filter_size(value):
    """The bytes of a server's filter."""
    if value == 0:
        return "-"
    return f"{value >> 30} GiB" if value % (1 << 30) == 0 else f"{value / 1e6:g} MB"


def as_text(head, body):
    """Columns, padded."""
    widths = [max(len(str(row[i])) for row in [head, *body]) for i in range(len(head))]
    return "\n".join("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in [head, *body])


def as_markdown(head, body):
    """A table of a page."""
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *body])


# ---- What is wanted

class Target(NamedTuple):
    """A row of a table of targets: what, where, how much it is, and what is wanted."""
    what: str
    case: str
    value: float | None
    wanted: float | None = None  # None: stands beside a target, with nothing wanted of it
    most: bool = False  # whether `wanted` is the most, not the least
    unit: str = ""
    digits: int = 3

    def cells(self):
        """What, where, measured, wanted, verdict."""
        if self.value is None:
            return self.what, self.case, "not measured", f"{self.wanted:g}{self.unit}", "-"
        if self.wanted is None:
            return self.what, self.case, f"{self.value:.3g}", "-", "for comparison"
        reached = self.value <= self.wanted if self.most else self.value >= self.wanted
        return (self.what, self.case, f"{self.value:.{self.digits}g}{self.unit}",
                f"{'≤' if self.most else '≥'} {self.wanted:g}{self.unit}", "reached" if reached else "not reached")


def of_sizes(sizes, *rows):
    """The targets of several numbers of keys: (what, a function from the number to the value, wanted...)."""
    return [Target(what, size(keys), value(keys), *wanted) for keys in sizes for what, value, *wanted in rows]


def layout_targets(results):
    """What issue 11 requires of the core, and what stayed of issue 3: beside the split-block stand-in with the same
    hash, and beside what the memory allows. Both read bare integers, as a column does: so the column is judged, and
    the batch by descriptors stands beside it."""
    def ns(keys, rate, phase, name):
        return results.time(phase, ("integers", keys, rate), name)

    def faster(rate, phase, ours, other):
        return lambda keys: ratio(ns(keys, rate, phase, other), ns(keys, rate, phase, ours))

    def of_limit(phase, name):
        return lambda keys: ratio(results.limit(("integers", keys, 1e-2), phase, "line"), ns(keys, 1e-2, phase, name))

    def of_level(phase, name, *levels):  # None where the processor has no such kernel
        return lambda keys: ratio(*(results.time(phase, ("integers", keys, 1e-2), name, results.levels, kernel=level)
                                    for level in levels))

    def less_memory(keys, rate, *names):
        ours, peer = (results.find(("integers", keys, rate), name) for name in names)
        return round(100 * (1 - ours.bits / peer.bits)) if ours and peer else None

    rows, same = [], "the same, by descriptors"
    for rate in ("1e-2", "1e-3"):
        for operation, phase in BATCHES:
            rows += of_sizes(SIZES, (f"{operation} batch, L = 1 at {rate}, column: speed relative to split-block",
                                     faster(float(rate), phase, "column", "split-block"), 0.85),
                             (same, faster(float(rate), phase, "blocked-1", "split-block")))
    rows += of_sizes(SIZES[:3], ("query batch, L = 2 at 1e-4, column: speed relative to split-block",
                                 faster(1e-4, "absent_batch", "column-2", "split-block"), 1),
                     (same, faster(1e-4, "absent_batch", "blocked-2", "split-block")))
    for rate, name, least in (("1e-2", "blocked-1", 4), ("1e-3", "blocked-1", 7), ("1e-4", "blocked-2", 25)):
        rows += [Target(f"memory saved against split-block at {rate}, {name}, whole per cent", "20 M",
                        less_memory(20 * MILLION, float(rate), name, "split-block"), least, False, " %")]
    for (operation, phase), least in zip(BATCHES, (0.90, 0.80)):
        rows += of_sizes(SIZES[1:], (f"{operation} batch, L = 1, column: speed relative to a random line with the same hash",
                                     of_limit(phase, "column"), least), (same, of_limit(phase, "blocked-1")),
                         ("the column relative to memory alone (no hash: line-bare)", faster(1e-2, phase, "column", "line-bare")))
    # The kernels of lesser processors beside AVX-512.
    for operation, phase in BATCHES:
        rows += of_sizes(SIZES[:2], *(row for name, form in (("blocked-1", "by descriptors"), ("column", "column")) for row in (
            (f"{operation} batch, {form}, AVX2: speed relative to AVX-512", of_level(phase, name, "avx512", "avx2"), 0.80),
            (f"{operation} batch, {form}, scalar: time relative to AVX-512", of_level(phase, name, "scalar", "avx512"), 2.2, True))))
    # The interfaces beside each other: single keys, inlined, columns, concurrent adds.
    rows += of_sizes(SIZES[1:2], ("add of single keys: time relative to may_contain", lambda keys: ratio(
        ns(keys, 1e-2, "add_one", "blocked-1"), ns(keys, 1e-2, "absent_one", "blocked-1")), 1.30, True))
    for keys, least in zip(SIZES[:3], (None, 0.75, None)):
        rows += of_sizes([keys], ("query of single keys, inlined: speed relative to split-block one by one",
                                  faster(1e-2, "absent_one", "inline", "split-block"), least),
                         ("the same, by bloomery_may_contain", faster(1e-2, "absent_one", "blocked-1", "split-block")))
    for operation, phase in BATCHES:
        rows += of_sizes(SIZES[:1], (f"{operation}, columns of 8-byte keys: speed relative to descriptors",
                                     faster(1e-2, phase, "column", "blocked-1"), 1.15),
                         ("the same, keys that are hashed already", faster(1e-2, phase, "hashes", "blocked-1")))
    for (operation, phase), from_empty in zip(BATCHES, ("", ", from empty")):
        rows += of_sizes(SIZES[:2], (f"{operation} batch, concurrent_adds: time relative to the plain filter{from_empty}",
                                     faster(1e-2, phase, "blocked-1", "concurrent"), 1.5, True))
    return [*rows, *(Target(f"query batch, {kind}, 1e-2", "20 M", results.time(
        "absent_batch", (kind, 20 * MILLION, 1e-2), "blocked-1"), most, True, " ns")
                     for kind, most in (("ids", 4.5), ("urls", 9.0)))]


def rates_missed(rows):
    """How many of our rows have another rate than the planned one."""
    ours = [row for row in rows if row.role == "ours"]
    return Target("our rows whose measured rate is not the planned one", "all",
                  sum(not row.rate_holds() for row in ours) if ours else None, 0, True)


def program_targets(results):
    """Threads and whole commands; and that rates and memory are those of the plan."""
    both, keys = results.threads()
    threads = {name: ratio(ns.get(1), ns.get(2)) for name, ns in both.items()}

    def seconds(name, key):  # of a program that builds with 20 M keys and looks 10 M up
        cases = ((20 * MILLION, 0), (0, 10 * MILLION), (20 * MILLION, 10 * MILLION))
        rows = [row for row in results.step("commands", name=name)
                if row["what"] != "dedupe" and (row["lines"], row["asked"]) in cases]
        return sum(median(row[key]) for row in rows) if rows else None

    def dedupe(*names, key=lambda row: median(row["wall"])):
        rows = [row for name in names for row in results.step("commands", what="dedupe", name=name, lines=20 * MILLION)[:1]]
        return ratio(*map(key, rows)) if len(rows) == 2 else None

    guava = [ratio(seconds("guava", key), seconds("bloomery", key)) for key in ("wall", "cpu")]
    # Rows that query another row's filter have no memory of their own.
    worst = max((row for row in results.rows if row.role == "ours"), key=lambda row: row.memory / row.bytes, default=None)
    return (
        Target("2 threads, build", size(keys or 100 * MILLION), threads.get("build"), 1.6, False, "x"),
        Target("2 threads, query", size(keys or 100 * MILLION), threads.get("query"), 1.6, False, "x"),
        Target("the same, a filter for each thread", size(keys), threads.get("separate")),
        Target("build 20 M IDs and query 10 M, processor time, -j 1", "20 M", seconds("bloomery -j 1", "cpu"), .25, True, " s"),
        Target("the same, all cores", "20 M", seconds("bloomery", "cpu")),
        Target("the same against Guava's program, wall-clock time", "20 M", guava[0], 40, False, "x"),
        Target("the same against Guava's program, processor time", "20 M", guava[1], 40, False, "x"),
        Target("dedupe of 12 M distinct lines of 20 M, against sort -u", "20 M", dedupe("sort -u", "bloomery"), 20, False, "x"),
        Target("the same, against awk", "20 M", dedupe("awk", "bloomery"), 50, False, "x"),
        Target("the same, memory relative to awk", "20 M", dedupe("bloomery", "awk", key=itemgetter("memory")), 0.1, True),
        Target("dedupe --exact of the same, against awk", "20 M", dedupe("awk", "bloomery --exact"), 15, False, "x"),
        rates_missed(results.rows),
        Target("process memory for a filter relative to the plan, worst row", size(worst.keys) if worst else "",
               worst.memory / worst.bytes if worst else None, 1.02, True))


def static_targets(results):
    """What issue 17 requires."""
    def query(keys, name="static", level=""):
        return results.time("absent_batch", ("integers", keys, 1e-2), name, results.static, level=level)

    def of_row(rate, key):
        row_of = lambda keys: results.find(("integers", keys, rate), "static", results.static, level="")
        return lambda keys: key(row_of(keys)) if row_of(keys) else None

    def of_best(level):
        best = lambda keys: query(keys, level="avx512-vpopcntdq") or query(keys, level="avx512")
        return lambda keys: ratio(query(keys, level=level), best(keys))

    build = of_row(1e-2, lambda row: median(row.built))
    return (
        *(row for rate, name, most in ((1e-2, "1e-2", 1.02), (1e-3, "1e-3", 1.008), (2**-8, "2^-8", 1.008))
          for row in of_sizes(SIZES[:3], (f"size relative to log2(1/p) n, at {name}", of_row(
              rate, lambda row: row.bits / math.log2(1 / row.rate)), most, True, "", 5))),
        *of_sizes(SIZES[1:3], ("query batch: time relative to a random line with the hash",
                               lambda keys: ratio(query(keys), query(keys, "static-line")), 2.2, True),
                  ("the same, column", lambda keys: ratio(query(keys, "static-column"), query(keys, "static-line")))),
        *of_sizes(SIZES[:1], ("query batch, scaled to 1.1 ns for a random line without a hash", lambda keys: ratio(
            query(keys), (query(keys, "static-line-bare") or 0) / 1.1), 8, True, " ns")),
        *of_sizes(SIZES[:3], *((f"query batch, {level}: time relative to AVX-512", of_best(level), most, True)
                               for level, most in (("avx2", 1.5), ("scalar", 3)))),
        *of_sizes(SIZES[:2], ("build, one thread, ns", build)),
        *of_sizes(SIZES[2:3], ("build, one thread", build, 160, True, " ns")), rates_missed(results.static))


def sieve_targets(results):
    """What issue 6 requires, of the worst run of 100 M URLs."""
    urls = 100 * MILLION
    runs, case = results.seen_sets().get((urls, urls), {}).get("sieve", []), size(urls)
    kills = results.step("sieve", what="recovery")

    worst = lambda key: max(map(key, runs), default=None)
    return (
        Target("peak memory of the whole process", case, worst(lambda row: row["peak"] / 1e6), 18, True, " MB"),
        Target("URLs of about 50 bytes in that memory", case, ratio(urls / 1e6, worst(itemgetter("seconds"))), 1, False, " M/s"),
        Target("wrong answers, and URLs that came out when all were pushed again", case,
               worst(lambda row: row["again"] + abs(row["found"] - urls)), 0, True),
        Target("disk of the seen-set, bytes per key", case, worst(lambda row: row["seen_bytes"] / urls), 8.5, True),
        Target("opening after kill -9", size(kills[0]["urls"]) if kills else case,
               max((row["seconds"] for row in kills), default=None), 5, True, " s"),
        *(Target(f"memory engine, 12-digit IDs, 2 threads, all {row['does']}", size(row["keys"]),
                 1e3 / median(row["ns"]), 10, False, " M/s") for row in results.step("sieve", what="memory", threads=2)
          if row["name"].startswith("sieve") and row["does"] != "pop and ack"))


def server_targets(results):
    """What issue 18 requires: commands beside the least that a command can cost, what is done to whole filters, and
    the filters without a server."""
    rows = [row for server, found in results.servers().items() for row in of_server(server, found)]
    for (filter_bytes, pages), ns in results.in_process().items():
        case, ten = f"{filter_size(filter_bytes)}, pages of {pages}", ns["ten lines changed"]
        rows += [Target("adding new keys: time relative to looking up absent ones", case, ns["new"] / ns["absent"], 1.5, True),
                 Target("the same for memory: ten changed lines relative to two read lines", case, ten / ns["two lines read"]),
                 Target("adding new keys: time relative to ten changed lines", case, ns["new"] / ten)]
    return rows


def of_server(server, rows):
    """The targets in one server."""
    large = 1 << 30
    small = min((row["bytes"] for row in rows if row["what"] == "command" and row["bytes"]), default=36 * MILLION)
    of_small, of_large = (f"{filter_size(value)}, {server}" for value in (small, large))

    def of_command(over, under):
        return ratio(server_ns(rows, *over), server_ns(rows, *under))

    def slowest(what, key):
        return server_value(rows, lambda row: max(row[key]) * 1e3, what, bytes=large)

    absent, new = "MEXISTS, absent", "MADD, new"
    return (
        Target("MEXISTS, absent: speed relative to the floor of 100 items", of_large, of_command(("floor", 0), (absent, large)), 0.7),
        Target("MEXISTS, absent: speed relative to the floor of 100 items", of_small, of_command(("floor", 0), (absent, small)), 0.75),
        Target("MADD, new: speed relative to the floor of 100 items", of_small, of_command(("floor", 0), (new, small)), 0.55),
        Target("MADD, new: speed relative to MEXISTS, absent", of_large, of_command((absent, large), (new, large)), 0.75),
        Target("MADD, new: speed relative to MEXISTS, absent", of_small, of_command((absent, small), (new, small)), 0.55),
        *(Target(f"{name}, one by one: speed relative to the floor of one item", of_small,
                 of_command(("floor", 0, 1), (name, small, 1)), 0.6) for name in ("EXISTS, absent", "ADD, new")),
        Target("RESERVE on the main thread", of_large, slowest("reserve", "seconds"), 5, True, " ms"),
        Target("CLEAR on the main thread", of_large, slowest("clear", "seconds"), 5, True, " ms"),
        Target("ROTATE on the main thread, generations of 64 MiB", server, server_value(
            rows, lambda row: max(row["seconds"]) * 1e3, "rotate"), 5, True, " ms"),
        Target("first filling: speed relative to the steady state", of_large, server_value(
            rows, lambda row: ratio(median(row["steady_ns"]), median(row["first_ns"])), "filling", bytes=large), 0.5),
        Target("its slowest command, as the server saw it", of_large, slowest("filling", "slowest"), 50, True, " ms"),
        Target("the same, as its client saw it behind 63 others, ms", of_large, slowest("filling", "worst")),
        Target("the same with all pages present, ms", of_large, slowest("filling", "steady_worst")),
        # In whole bytes: the buffers of the connection change by some KB while this is measured.
        Target("bytes of a default key above an empty string", server, server_value(
            rows, lambda row: round(row["filter"] - row["string"]), "default key"), 400, True, "", 4),
        Target("peak memory of loading it, above that of an empty server", of_large, server_value(
            rows, lambda row: row["stored"] / large, "stored", name="load", bytes=large), 2, True, " GiB", 5))


def instructions_of(results, kind, name, operation, level):
    """Instructions per key, or None."""
    return next((row["instructions"] / row["keys"] for row in results.step(
        "instructions", type=kind, name=name, operation=operation, level=level)), None)


def instruction_targets(results):
    """What issue 34 requires with AVX2: of integers, L = 1, k = 8, unless it says something else."""
    def count(name, operation, kind="integers"):
        return instructions_of(results, kind, name, operation, "avx2")

    wanted = (("query by column", "column", "query_batch", 33), ("query by descriptors", "blocked-1", "query_batch", 46),
              ("add by column", "column", "add_batch", 30), ("add by descriptors", "blocked-1", "add_batch", 43),
              ("may_contain", "blocked-1", "query_one", 65), ("the same, inlined", "inline", "query_one", 45),
              ("add", "blocked-1", "add_one", 75), ("the same, inlined", "inline", "add_one", 42),
              ("hash_key, prefetch_hash and may_contain_hash", "pair", "query_batch", 90))
    return (*(Target(what, "integers", count(name, operation), most, True) for what, name, operation, most in wanted),
            Target("query of 12 bytes by column", "ids", count("column", "query_batch", "ids"), 38, True),
            *(Target(f"{what} by offsets, times descriptors'", "urls", ratio(
                count("column", operation, "urls"), count("blocked-1", operation, "urls")), 1, True)
              for what, operation in (("query", "query_batch"), ("add", "add_batch"))),
            Target("add, scalable of one layer, times a blocked filter's of the same L and k", "integers", ratio(
                count("scalable", "add_batch"), count("blocked-1", "add_batch")), 1.3, True))


def floor_row(results, job, name, level):
    """A program of the step `floors`, or None."""
    return next(iter(results.step("floors", what=job, name=name, level=level)), None)


def of_floor(results, job, name, level, under=None, key=lambda row: median(row["wall"])):
    """A command's time over that of its bare loop, or of another command."""
    rows = floor_row(results, job, name, level), floor_row(results, job, *(under or ("floor", "avx2")))
    return ratio(*map(key, rows)) if all(rows) else None


def floor_targets(results):
    """What issue 34 requires with AVX2, one thread."""
    def memory(job, name):
        row = floor_row(results, job, name, "avx2")
        return row["memory"] / 1e6 if row else None

    where = size(max((row["lines"] for row in results.step("floors")), default=20 * MILLION))
    return (Target("build -n, times the bare loop's time", where, of_floor(results, "build", "build -n", "avx2"), 1.15, True),
            Target("build without -n, times the time with it", where, of_floor(
                results, "build", "build", "avx2", ("build -n", "avx2")), 1.2, True),
            Target("its peak memory", where, memory("build", "build"), 40, True, " MB"),
            Target("query, times the bare loop's time", where, of_floor(results, "query", "query -c", "avx2"), 1.2, True),
            Target("dedupe, times the bare loop's time", where, of_floor(results, "dedupe", "dedupe", "avx2"), 1.3, True),
            Target("dedupe, times the time of dedupe --exact", where, of_floor(
                results, "dedupe", "dedupe", "avx2", ("dedupe --exact", "avx2")), 1, True),
            Target("peak memory of dedupe", where, memory("dedupe", "dedupe"), 50, True, " MB"))


# ---- Rows of tables

def compared(results):
    """Our fastest layout beside the best peer of the same rate and beside the limit."""
    for case in results.cases():
        for operation in ("add", "absent", "present"):
            ours = min((row for row in results.rows if row.case == case and row.role == "ours" and
                        row.name.startswith(("blocked", "column")) and row.rate_holds() and row.best(operation)),
                       key=lambda row: row.best(operation), default=None)
            if ours:
                peer = results.peer(case, operation)
                limit = results.limit(case, operation + "_batch", "line" if ours.lines == 1 else "two-lines")
                yield SimpleNamespace(type=case[0], keys=case[1], rate=case[2], operation=operation, ours=ours,
                                      ns=ours.best(operation), peer=peer, limit=limit,
                                      peer_ns=peer.best(operation) if peer else None)


def kinds_in_short(results):
    """The largest case of each rate, as a plan would make it, if all kinds were measured."""
    most = max((row.keys for row in results.kinds), default=0)
    for rate, blocked in ((1e-2, "blocked-1"), (1e-4, "blocked-2")):
        rows = [results.find(("integers", most, rate), name, results.kinds)
                for name in (blocked, "classic", "counting-4", "scalable", "scalable-grown")]
        for what, phase in (("add", "add_batch"), ("query, absent key", "absent_batch"),
                            ("query, present key", "present_batch")):
            if None not in rows:
                yield size(most), power(rate), what, *(number(row.time(phase)) for row in rows)


def whole_filters(results):
    """What is done to whole filters, and removing."""
    rows = [row for row in results.step("kinds") if "seconds" in row]
    speeds = [row["bytes"] / 1e9 / median(row["seconds"]) for row in rows]
    for row, speed in zip(rows, speeds):
        yield row["what"], megabytes(row["bytes"]), f"{speed:.2f} GB/s", number(ratio(speed, speeds[0]))
    for row in results.step("kinds"):
        if "ns" in row and "role" not in row:
            yield f"remove, {row['name']}", f"{size(row['keys'])} keys", f"{number(median(row['ns']))} ns per key", "-"


def kernels(results):
    """Each kernel: its time, that of the limit in the same processes, and that of the best kernel."""
    for row in results.levels:
        if row.role != "limit" and row.kernel == row.level:
            cells = []
            for phase in ("absent_batch", "add_batch"):
                limit = next(each.time(phase) for each in results.levels
                             if each.role == "limit" and (each.case, each.level) == (row.case, row.level))
                best = results.time(phase, row.case, row.name, results.levels, kernel="avx512")
                cells += [number(value) for value in (
                    row.time(phase), ratio(limit, row.time(phase)), ratio(best, row.time(phase)))]
            yield size(row.keys), row.name, row.kernel, *cells


def static_rows(results, levels):
    """The static filters beside their peers, or of each kernel, beside a random line and the best kernel there."""
    for row in results.static:
        if not row.level if not levels else row.role != "limit" and row.level and row.kernel.startswith(row.level):
            row.of_line, row.of_best = (number(ratio(row.time("absent_batch"), results.time(
                "absent_batch", row.case, name, results.static, level=level))) for name, level in (
                    ("static-line", row.level), (row.name, "avx512")))
            yield row


def instruction_rows(results):
    """Each operation, and what it takes at every level."""
    rows = {}
    for row in results.step("instructions"):
        rows.setdefault((row["type"], row["name"], row["operation"]), row)
    for (kind, name, operation), row in rows.items():
        found = [instructions_of(results, kind, name, operation, level) for level in ("scalar", "avx2", "avx512")]
        yield (kind, name, str(row["lines"]), str(row["probes"] or "-"), operation.replace("_", ", "),
               *(number(value, 1) for value in found))


def floor_rows(results):
    """The bare loops, and the commands beside theirs."""
    for row in results.step("floors"):
        yield {**row, "of": of_floor(results, row["what"], row["name"], row["level"]), "job": row["what"],
               "program": "bare loop" if row["name"] in ("floor", "read", "split", "hash") else row["name"]}


def seen_set_rows(results):
    """Everything that tells new URLs from seen ones: the run with the highest peak, and the median of the times."""
    for (urls, pushes), named in results.seen_sets().items():
        for rows in named.values():
            yield {**max(rows, key=itemgetter("peak")), "urls": urls, "pushes": pushes,
                   "seconds": median(row["seconds"] for row in rows)}


def server_rows(results):
    """The commands of each server: the medians, and the floor of as many items."""
    for rows in results.servers().values():
        for row in rows:
            if row["what"] == "command":
                yield {**row, "ns": median(row["server_ns"]), "wall": median(row["wall_ns"]),
                       "floor": server_ns(rows, "floor", 0, row["items"])}


# ---- Tables

class Table(NamedTuple):
    """A table: its title in report.txt, a function from the results to its rows, and its columns: a heading, and a
    function from a row to a cell."""
    title: str
    rows: object
    columns: tuple


def of_cells(*heads):
    """The columns of rows that are cells already."""
    return tuple((head, itemgetter(at)) for at, head in enumerate(heads))


def target_table(title, targets, where="keys"):
    """A table of targets. What only stands beside one is left out where it was not measured."""
    return Table(title, lambda results: [row.cells() for row in targets(results) if (row.value, row.wanted) != (None, None)],
                 of_cells("target", where, "measured", "wanted", ""))


def times(*heads):
    """Columns of times: a heading is the operation, behind which " 1" means one by one."""
    return tuple((head, lambda row, phase=head.removesuffix(" 1") + ("_one" if head.endswith(" 1") else "_batch"):
                  number(row.time(phase))) for head in heads)


def item(key, show="{}"):
    """A cell: a value of a row, by a format or a function."""
    return lambda row: show.format(row[key]) if isinstance(show, str) else show(row[key])


def median_of(key, digits):
    """A cell: the median of the values of a row."""
    return lambda row: number(median(row[key]), digits)


SEEN_SETS = {"sieve": "sieve, disk engine", "set": "hash set of strings", "lmdb": "LMDB", "sqlite": "SQLite",
             "sort -u": "sort -u"}
ANSWERS = {"sieve": "in batches", "sort -u": "at the end"}
# Columns that several tables have.
TYPE, KEYS = ("type", lambda row: row.type), ("keys", lambda row: size(row.keys))
RATE, BITS = ("rate", lambda row: power(row.rate)), ("bits/key", lambda row: f"{row.bits:.2f}")
# A filter's name with its kernel; a limit has none.
FILTER = ("filter", lambda row: row.name + (f" ({row.kernel})" if row.role != "limit" else "") +
          (" for comparison" if row.role == "comparison" else ""))
LINES, PROBES = ("L", lambda row: str(row.lines or "-")), ("k", lambda row: str(row.probes or "-"))
MEASURED = ("measured", lambda row: ("-" if row.measured is None else f"{row.measured:.2e}") +
            ("" if row.rate_holds() else " (off)"))
OF_PLAN = ("memory/plan", lambda row: f"{row.memory / row.bytes:.3f}" if row.memory else "-")
NAME, KERNEL = ("filter", lambda row: row.name), ("kernel", lambda row: row.kernel)
SERVER, IN_SERVER = ("server", item("server")), ("filter", item("bytes", filter_size))
MEMORY = ("peak memory", item("memory", megabytes))
COMMANDS = (("program", item("name")), ("does", item("what")),
            ("lines", item("lines", size)), ("queries", item("asked", size)),
            ("wall s", median_of("wall", 3)), ("processor s", median_of("cpu", 3)), MEMORY)

# In the order of report.txt.
TABLES = {
    "targets": target_table("Targets", lambda results: (*layout_targets(results), *program_targets(results))),
    "compare": Table("Our fastest filter, the best peer of equal rate, the limit", compared, (
        TYPE, KEYS, RATE, ("operation", lambda row: row.operation), ("our filter", lambda row: row.ours.name),
        ("bits/key", lambda row: f"{row.ours.bits:.2f}"), ("ns", lambda row: number(row.ns)),
        ("best peer", lambda row: row.peer.name if row.peer else "-"),
        ("bits/key", lambda row: f"{row.peer.bits:.2f}" if row.peer else "-"), ("ns", lambda row: number(row.peer_ns)),
        ("our ns / peer ns", lambda row: number(ratio(row.ns, row.peer_ns))), ("limit ns", lambda row: number(row.limit)),
        ("limit ns / our ns", lambda row: number(ratio(row.limit, row.ns))))),
    **{kind: Table(f"Filters, {kind}: ns per key", lambda results, kind=kind: [
        row for case in results.cases() if case[0] == kind for row in results.rows if row.case == case], (
            KEYS, RATE, FILTER, ("layout", lambda row: row.layout), LINES, PROBES, BITS, MEASURED, OF_PLAN,
            *times("add 1", "add", "absent 1", "absent", "present 1", "present"))) for kind in TYPES},
    "cuckoo": Table("Cuckoo filters beside other kinds", lambda results: [row for row in results.kinds if row.rate == CUCKOO_RATE], (
        TYPE, KEYS, FILTER, ("tables", lambda row: str(row.links)), ("bits/key", lambda row: f"{row.held * 8 / row.keys:.2f}"), MEASURED,
        *times("add", "absent", "present"))),
    "kinds": Table("Kinds", lambda results: [row for row in results.kinds if row.rate != CUCKOO_RATE], (
        TYPE, KEYS, RATE, FILTER, ("layers", lambda row: str(row.links)), LINES, ("k", lambda row: str(row.probes)),
        ("bits/key planned", BITS[1]), ("bits/key held", lambda row: f"{row.held * 8 / row.keys:.2f}"), OF_PLAN, MEASURED,
        *times("add", "absent", "present"))),
    "speed": Table("Kinds in short: ns per key", kinds_in_short, of_cells(
        "keys", "rate", "operation", "blocked", "classic", "counting, 4 bits", "scalable, one layer",
        "scalable, five layers")),
    "exact": Table("Exact or not: dedupe", lambda results: [row for row in results.step("kinds") if "wall" in row], (
        ("command", item("name")), ("lines", item("lines", size)), ("processor s", median_of("cpu", 2)), MEMORY,
        ("bits per line", lambda row: f"{row['memory'] * 8 / row['lines']:.0f}"))),
    "several": Table("Whole filters", whole_filters, of_cells("operation", "reads", "speed", "of reading the files")),
    "static_targets": target_table("Static filters: targets", static_targets),
    "static": Table("Static filters, integers: ns per key", lambda results: static_rows(results, False), (
        KEYS, ("rate", lambda row: f"1 in {round(1 / row.rate):,}"), FILTER, BITS,
        ("size / log2(1/p)", lambda row: "-" if row.role == "limit" else f"{row.bits / math.log2(1 / row.rate):.4f}"),
        MEASURED, ("build", lambda row: number(median(row.built) or None, 1)), *times("absent 1", "absent", "present"),
        ("absent, relative to a line", lambda row: row.of_line))),
    "static_levels": Table("Static filters, 1 in 100: each kernel", lambda results: static_rows(results, True), (
        KEYS, NAME, KERNEL, *times("absent", "present"), ("relative to a line", lambda row: row.of_line),
        ("time relative to AVX-512", lambda row: row.of_best))),
    "levels": Table("Kernels of lesser processors", kernels, of_cells(
        "keys", "filter", "kernel", "query ns", "limit ns / our ns", "speed relative to AVX-512", "add ns", "limit ns / our ns",
        "speed relative to AVX-512")),
    "threads": Table("Threads", lambda results: [
        (operation, size(results.threads()[1]), str(threads), number(ns), number(ratio(both.get(1), ns)))
        for operation, both in results.threads()[0].items() for threads, ns in sorted(both.items())], of_cells(
            "operation", "keys", "threads", "ns per key", "times faster")),
    "open": Table("Opening", lambda results: results.step("open"), (
        ("filter", item("bytes", lambda value: f"{value >> 20} MiB")), ("microseconds", item("microseconds", "{:.1f}")))),
    "commands": Table("Commands", lambda results: [row for step in ("commands", "kinds") for row in results.step(step)
                                                   if "wall" in row], COMMANDS),
    "floor_targets": target_table("Floors: targets", floor_targets, "lines"),
    "floors": Table("Commands beside bare loops, one thread", floor_rows, (
        ("job", item("job")), ("program", item("program")), ("level", item("level")),
        ("wall s", median_of("wall", 3)), ("of its floor", lambda row: number(row["of"])),
        ("processor s", median_of("cpu", 3)), MEMORY)),
    "instruction_targets": target_table("Instructions per key: targets", instruction_targets, "keys are"),
    "instructions": Table("Instructions per key", instruction_rows, of_cells(
        "keys are", "filter", "L", "k", "operation", "plain C", "AVX2", "AVX-512")),
    "sieve_targets": target_table("The sieve: targets", sieve_targets),
    "seen_sets": Table("Seen-sets, a process for each", seen_set_rows, (
        ("seen-set", item("name", SEEN_SETS.get)), ("distinct", item("urls", size)), ("pushes", item("pushes", size)),
        ("M pushes/s", lambda row: number(row["pushes"] / row["seconds"] / 1e6)),
        ("peak memory", lambda row: megabytes(row["peak"], 1)),
        ("without files", lambda row: megabytes(row["anonymous"], 1)), ("disk", item("disk", megabytes)),
        ("written", item("disk_written", megabytes)), ("answers", lambda row: ANSWERS.get(row["name"], "at once")),
        ("survives a kill", lambda row: "yes" if row["kept"] else "no"))),
    "sieve": Table("The sieve's disk engine", lambda results: [
        row for named in results.seen_sets().values() for row in named.get("sieve", [])], (
            ("distinct", item("urls", size)), ("pushes", item("pushes", size)), ("memory", item("memory", "{:,}")),
            ("peak", item("peak", "{:,}")), ("seconds", item("seconds", "{:.1f}")),
            ("seen-set bytes/key", lambda row: number(row["seen_bytes"] / row["urls"], 3)),
            ("disk at most", item("disk_most", megabytes)), ("read", item("read", megabytes)),
            ("written", item("written", megabytes)),
            ("of the formula", lambda row: number(ratio(row["read"] + row["written"], row["planned"]), 3)),
            ("partitions", item("partitions")), ("decisions", item("decisions")), ("cache hits", item("cache_hits")),
            ("pushed again, came out", lambda row: str(row["again"]) if row["again_seconds"] else "-"))),
    "recovery": Table("Opening after kill -9", lambda results: results.step("sieve", what="recovery"), (
        ("pushes that were kept", item("pushes", "{:,}")), ("distinct", item("distinct", "{:,}")),
        ("seconds to open", item("seconds", "{:.4f}")))),
    "memory_engine": Table("The sieve's memory engine", lambda results: results.step("sieve", what="memory"), (
        ("structure", item("name")), ("keys are", item("does")), ("threads", item("threads")), ("keys", item("keys", size)),
        ("ns per key", median_of("ns", 2)), ("M/s", lambda row: number(1e3 / median(row["ns"]))),
        ("bytes/key", lambda row: number(row["bytes"] / row["keys"])))),
    "server_targets": target_table("The server: targets", server_targets, "filter, server"),
    "server": Table("The server: commands", server_rows, (
        SERVER, ("command", item("name")), IN_SERVER, ("items", item("items")),
        ("server ns per item", item("ns", "{:.0f}")), ("relative to the floor", lambda row: f"{row['floor'] / row['ns']:.2f}"),
        ("wall-clock ns per item", item("wall", "{:.0f}")),
        ("server busy", lambda row: f"{100 * row['ns'] / row['wall']:.0f} %"),
        ("clients busy", lambda row: f"{100 * median(row['clients']):.0f} %"),
        ("worst ms", lambda row: f"{1e3 * max(row['worst']):.1f}"))),
    "dialect": Table("The server: its filters without it, ns per key", lambda results: [
        [filter_size(filter_bytes), pages, *(f"{value:.1f}" for value in ns.values())]
        for (filter_bytes, pages), ns in results.in_process().items()], of_cells(
            "filter", "pages of", "absent", "new", "present", "two lines read", "ten lines changed", "ten lines read")),
    "stored": Table("The server: filters stored and loaded", lambda results: [
        row for rows in results.servers().values() for row in rows if row["what"] == "stored"], (
            SERVER, ("does", item("name")), IN_SERVER,
            ("rdbcompression", lambda row: "-" if row["name"] == "load" else row["compression"]),
            ("seconds", item("seconds", "{:.2f}")),
            ("takes", lambda row: megabytes(row["stored"]) + (" in memory" if row["name"] == "load" else "")))),
    # Of a run of its own, or of the step `commands`.
    "jobs": Table("What README.md shows", lambda results: results.step("jobs") or [
        row for row in results.step("commands") if 20 * MILLION in (row["lines"], 2 * row["asked"]) and
        (row["name"], row["what"]) in {key for job in JOBS for keys in job[1:3] for key in keys}], COMMANDS),
}


def cells_of(columns, rows):
    """The headings and the rows of cells of columns."""
    return [head for head, _ in columns], [[cell(row) for _, cell in columns] for row in rows]


def table(name, results):
    """The headings and the rows of cells of a table."""
    return cells_of(TABLES[name].columns, TABLES[name].rows(results))


def conditions(results, steps=STEPS):
    """Machine, build, dates and commands, as lines."""
    machine = results.raw.get("machine", {})
    lines = [f"- {machine.get('processors')} processors, {machine.get('model_name')} (family "
             f"{machine.get('cpu_family')}, model {machine.get('model')}), "
             f"{machine.get('memory', 0) / 2**30:.0f} GiB; {machine.get('system')}",
             f"- {machine.get('compiler')}; " + ", ".join(
                 f"{name} {value}" for name, value in results.raw.get("build", {}).items() if value)]
    if "filters" in steps:
        lines += [f"- transparent huge pages: {machine.get('huge_pages')}; peers in C run with "
                  "GLIBC_TUNABLES=glibc.malloc.hugetlb=1, the JVM with -XX:+UseTransparentHugePages",
                  "- pages are touched before the clock starts; keys are made, 16,384 at a time, while it stands"]
    lines += [f"- {machine['java']}"] if "java" in machine else []
    for step in steps:
        if step in results.raw:
            run = results.raw[step]
            lines.append(f"- {step}: {run['date']}, {run['seconds']} s" + ("" if run["full"] else ", the short run"))
            lines += [f"  `{line.replace(' --json bench-results/rows.json', '')}`\\"
                      for line in dict.fromkeys(run["commands"])]
            lines[-1] = lines[-1].rstrip("\\")
    return lines


# ---- Excerpts

BLOCK = re.compile(r"(<!-- bench:(?!end)(\w+) -->)(.*?)<!-- bench:end -->", re.S)
# Name: the table that it is taken of, its columns by their place there, which rows, and other headings.
EXCERPTS = {
    "short": ("compare", (0, 1, 2, 3, 6, 5, 9, 8, 10), lambda row: row[1] != "1 G" and row[2] == "1e-2" and
              row[3] != "present", ("keys are", "keys", "rate", "operation", "our ns", "bits/key", "split-block ns",
                                    "bits/key", "ratio")),
    "short_static": ("static", (1, 2, 3, 4, 6, 8, 9), lambda row: row[0] == "20 M" and row[1] != "1 in 1,000" and
                     re.match(r"(blocked-1|static|fuse\d+) ", row[2])),
    "short_commands": ("commands", range(7), lambda row: "-j 1" not in row[0] and row[1] != "distinct"),
    "short_floors": ("floors", (0, 1, 3, 4, 6), lambda row: row[0] in ("build", "query", "dedupe") and row[2] == "avx2"),
    "short_instructions": ("instructions", (0, 1, 4, 5, 6, 7), lambda row: (row[0], row[1]) in {
        ("integers", "blocked-1"), ("integers", "column"), ("integers", "inline"), ("ids", "column")}),
    "short_seen_sets": ("seen_sets", (0, 1, 2, 3, 4, 6, 8, 9), lambda row: row[1] != "2 M"),
    "short_server": ("server", (1, 2, 3, 4, 5), lambda row: row[0].startswith("Redis")),
}
# The tables of targets, and how their part of `missed` is called.
TARGETS = {"targets": "filters", "instruction_targets": "instructions", "floor_targets": "commands",
           "static_targets": "static filters", "sieve_targets": "the sieve", "server_targets": "the server"}
# README.md's rows: whose they are, which programs do the two jobs, whether they keep the order and are exact.
ERRS = "no: 1 in 1,000,000 lines dropped wrongly, 1 in 100 lookups wrong"
JOBS = (("`sort -u`; `sort`, `comm`", (("sort -u", "dedupe"),), (("sort", "both"),), "no", "yes"),
        ("awk", (("awk", "dedupe"),), (("awk", "both"),), "yes", "yes"),
        ("Guava", (("guava", "dedupe"),), (("guava", "both"),), "yes", ERRS),
        ("Bloomery", (("bloomery", "dedupe"),), (("bloomery", "build"), ("bloomery", "query")), "yes", ERRS))


def tables_in(page):
    """{name: rows of cells} of what stands between the markers of a page, headings left out."""
    return {name: [[cell.strip() for cell in line.strip("| ").split(" | ")]
                   for line in body.splitlines() if line.startswith("|")][2:] for _, name, body in BLOCK.findall(page)}


def missed(of, rows):
    """The targets of a table that were not reached. One that says "the same" is named in full."""
    found, named = [], ""
    for what, where, value, wanted, verdict in rows:
        if what.startswith("the same"):
            what = named + what.removeprefix("the same")
        else:
            named = re.split("[,:]", what)[0]
        if verdict == "not reached":
            found.append([of, what, where, value, wanted])
    return found


def jobs(rows):
    """README.md's table. A program of which a job was not measured, at this size, is left out."""
    known = {(row[0], row[1]): row for row in rows if row[2] == "20 M" or row[3] == "10 M"}
    body = []
    for name, *both, order, exact in JOBS:
        measured_jobs = [[known[key] for key in job if key in known] for job in both]
        if all(len(found) == len(job) for found, job in zip(measured_jobs, both)):
            body.append([name, *(f"{sum(float(row[4]) for row in found):.3g} s, "
                                 f"{max(int(row[6].split()[0]) for row in found):,} MB" for found in measured_jobs),
                         order, exact])
    return ["program", "20 M lines, 12 M distinct: seconds, peak memory",
            "20 M keys, 10 M lookups: seconds, peak memory", "order kept", "exact"], body


def excerpts(pages):
    """{name: Markdown} of what benchmarks.md and README.md show of the pages of results/."""
    there = {name: rows for page in pages for name, rows in tables_in(page).items()}
    parts = {name: (list(*heads) or [TABLES[source].columns[at][0] for at in columns],
                    [[row[at] for at in columns] for row in there[source] if wanted(row)])
             for name, (source, columns, wanted, *heads) in EXCERPTS.items()}
    parts["missed"] = (["of", "goal", "where", "measured", "wanted"],
                       [row for name, of in TARGETS.items() for row in missed(of, there[name])])
    parts["readme"] = jobs(there["jobs"])
    return {name: "\n" + as_markdown(*part) + "\n" for name, part in parts.items()}


# ---- The chart
#
# ns per key of each filter, integer keys at 1 in 100, from the cells of the table of integers: a panel for each
# size, one axis, which is logarithmic:
#
#     1 M    blocked-1  ■■■■ 1.5   ■■■■■ 1.9
#
# Beside them stands the fastest of the loops that only read or change random cache lines, as what memory allows. It is
# drawn where it is faster than every filter measured there, in any form. Elsewhere it is not a limit: the chart says so.

BARS = {None: ("fastest loop over cache lines", "#9aa3ad"),  # the limit
        "blocked-1": ("Bloomery, blocked, L = 1", "#b5482a"),
        "column": ("the same, keys in a column", "#8a2f17"),
        "blocked-2": ("Bloomery, blocked, L = 2", "#d98b5f"),
        "classic": ("Bloomery, classic", "#e8c39e"),
        "split-block": ("split-block stand-in", "#33658a"),
        "libbloom": ("libbloom", "#86bbd8"),
        "guava": ("Guava (JVM)", "#c5dbe8")}
LOOPS = ("line", "line-bare", "line-whole", "two-lines")
LABELS, PLOT, GAP, BAR, TOP, MOST = 190, 290, 70, 16, 56, 1000


def charted(body):
    """{size: {operation: {name: ns}}}: the faster of single calls and batches, and the limit as None."""
    sizes = {}
    for row in body:
        if row[1] == "1e-2" and not row[7].endswith("(off)") and not row[2].endswith("for comparison"):
            for operation, places in (("query", (11, 12)), ("add", (9, 10))):
                times = sizes.setdefault(row[0], {"query": {}, "add": {}})[operation]
                times.update({row[2].split(" ")[0]: min(found) for found in [
                    [float(row[at]) for at in places if row[at] != "-"]] if found})
    for times in (times for both in sizes.values() for times in both.values()):
        filters, loops = ([ns for name, ns in times.items() if (name in LOOPS) == wanted] for wanted in (False, True))
        if loops and min(loops) < min(filters, default=math.inf):
            times[None] = min(loops)
    return {keys: both for keys, both in sizes.items() if "blocked-1" in {**both["query"], **both["add"]}}


def draw(body):
    """The whole picture as SVG."""
    out, y, left = [], TOP, {"query": LABELS, "add": LABELS + PLOT + GAP}

    def text(x, y, words, more=""):
        out.append(f'<text x="{x:.1f}" y="{y}"{more}>{escape(words)}</text>')

    def place(operation, ns):
        return left[operation] + PLOT * math.log(min(max(ns, 1.02), MOST)) / math.log(MOST)

    for keys, both in charted(body).items():
        text(12, y + 12, f"{keys} keys", ' font-weight="bold"')
        for name, (label, colour) in BARS.items():
            if name and not any(name in times for times in both.values()):
                continue
            y += BAR
            text(LABELS - 8, y + 12, label, ' text-anchor="end"')
            for operation, times in both.items():
                x = left[operation]
                if name in times:
                    end = place(operation, times[name])
                    out.append(f'<rect x="{x}" y="{y + 2}" width="{end - x:.1f}" height="{BAR - 4}" fill="{colour}"/>')
                    text(end + 5, y + 12, f"{times[name]:.1f}")
                elif name is None:
                    text(x + 5, y + 12, "a filter is faster", ' fill="#666"')
        y += BAR + 14
    bars, out = out, []
    for operation, title in (("query", "lookup of an absent key, ns"), ("add", "add, ns")):
        text(left[operation], 40, title, ' font-weight="bold"')
        for tick in (1, 10, 100, MOST):
            at = left[operation] + PLOT * math.log(tick) / math.log(MOST)
            out.append(f'<line x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{y}" stroke="#ddd"/>')
            text(at, y + 14, str(tick), ' text-anchor="middle"')
    width, height = left["add"] + PLOT + 60, y + 24
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        '<text x="12" y="18" font-size="13" font-weight="bold">Integer keys at 1 in 100: the faster of single calls '
        'and batches, logarithmic</text>', *out, *bars, "</svg>"]) + "\n"


# ---- Output

def fill(page, parts):
    """The page with the text between its markers replaced, where there is a new one: what was not measured keeps
    what it had (None). An unknown marker is an error."""
    def replace(match):
        part = parts[match.group(2)]
        return match.group(0) if part is None else f"{match.group(1)}\n{part}\n<!-- bench:end -->"
    return BLOCK.sub(replace, page)


def says_something(cells):
    """Whether something of it was measured; what is wanted stands in a table of targets in any case."""
    return any(len(row) != 5 or row[4] != "-" for row in cells[1])


def fill_pages(docs, parts):
    """The pages of results/ and kinds.md with new tables; and what shows excerpts of what they have now: benchmarks.md,
    goals.md, the chart, and README.md beside `docs`. Without `parts` only these are written."""
    paths, utf = sorted(Path(docs, "results").glob("*.md")), "utf-8"
    for path in [*paths, Path(docs, "kinds.md")] if parts else []:
        path.write_text(fill(path.read_text(utf), parts), utf)
    pages = [path.read_text(utf) for path in paths]
    for path in (Path(docs, "benchmarks.md"), Path(docs, "goals.md"), Path(docs, "..", "README.md")):
        path.write_text(fill(path.read_text(utf), excerpts(pages)), utf)
    Path(docs, "benchmarks.svg").write_text(draw(tables_in("".join(pages))["integers"]), utf)


def write(raw, folder, docs):
    """report.txt and benchmarks.svg into `folder`; the pages and their chart into `docs`, if any."""
    results = Results(raw)
    named = {name: table(name, results) for name in TABLES}
    text = "\n".join(conditions(results, (*STEPS, "jobs"))) + "\n"
    # The verdicts come last, where the eye ends.
    for name in [*list(named)[1:], "targets"]:
        if named[name][1]:
            text += f"\n{TABLES[name].title}\n\n{as_text(*named[name])}\n"
    print(text)
    Path(folder, "report.txt").write_text(text, "utf-8")
    if "filters" in raw:  # what it draws
        Path(folder, "benchmarks.svg").write_text(draw(named["integers"][1]), "utf-8")
    if docs:
        parts = {name: as_markdown(*cells) if says_something(cells) else None for name, cells in named.items()}
        # Without the filters most of what the page has was measured elsewhere.
        parts["conditions"] = "\n".join(conditions(results)) if "filters" in raw else None
        parts["jobs_conditions"] = "\n".join(conditions(results, ["jobs"])) if "jobs" in raw else \
            "Rows of the run in [conditions.md](conditions.md)." if "commands" in raw else None
        fill_pages(docs, {name: part and f"\n{part}\n" for name, part in parts.items()})


def main():
    parser = argparse.ArgumentParser(description="make tables and a chart of results.json")
    parser.add_argument("results", nargs="?")
    parser.add_argument("--docs", metavar="FOLDER")
    options = parser.parse_args()
    if options.results:
        write(json.loads(Path(options.results).read_text("utf-8")), Path(options.results).absolute().parent, options.docs)
    elif options.docs:
        fill_pages(options.docs, None)
    else:
        parser.error("neither results nor pages")


if __name__ == "__main__":
    main()
