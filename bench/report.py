# SPDX-License-Identifier: Apache-2.0
"""Makes text, page and chart of what run.py measured (results.json). Nothing here is typed by hand.

    bench/report.py results.json [--docs FOLDER]

Only rows of equal rate are compared: those whose measured rate is within 5 % and three standard errors
of the one that was asked for; the others are marked and stand aside.

In benchmarks.md and kinds.md the tables stand between pairs of markers, `<!-- bench:NAME -->` and `<!-- bench:end -->`;
what is written around them is kept.
"""

import argparse
import json
import math
import os
import re
import statistics
import sys

import chart

PHASES = ("add_one", "add_batch", "absent_one", "absent_batch", "present_one", "present_batch")
TYPES = ("integers", "ids", "urls")


def size(number):
    """20000000 -> 20 M."""
    for unit, name in ((10**9, " G"), (10**6, " M"), (10**3, " K")):
        if number >= unit and number % (unit // 10) == 0:
            return f"{number / unit:g}{name}"
    return str(number)


def power(rate):
    """0.01 -> 1e-2."""
    return re.sub(r"e-0", "e-", f"{rate:.0e}")


class Row:
    """A filter or a limit in a case."""

    def __init__(self, raw):
        self.__dict__.update(raw)
        self.case = (raw["type"], raw["keys"], raw["rate"])
        self.bits = raw["bytes"] * 8 / raw["keys"]
        self.measured = raw["found"] / raw["asked"] if raw["asked"] else None

    def time(self, phase):
        """The median of the parts in ns, or None."""
        parts = self.ns.get(phase)
        return statistics.median(parts) if parts else None

    def best(self, operation):
        """The faster of one and batch."""
        times = [t for t in (self.time(operation + "_one"), self.time(operation + "_batch")) if t]
        return min(times) if times else None

    def rate_holds(self):
        """Whether the row may be compared."""
        if self.role == "limit":
            return True
        if not self.asked:
            return False
        allowed = 0.05 + 3 / math.sqrt(self.rate * self.asked)
        if getattr(self, "below", False):
            return self.measured / self.rate - 1 <= allowed
        return abs(self.measured / self.rate - 1) <= allowed


class Results:
    """All rows, and how to find one."""

    def __init__(self, raw):
        self.raw = raw
        self.rows = [Row(row) for step in ("filters", "guava") for row in self.step(step)]
        self.levels = [Row(row) for row in self.step("levels")]
        self.kinds = [Row(row) for row in self.step("kinds") if "role" in row]

    def step(self, name):
        """The raw rows of a step."""
        return self.raw.get(name, {}).get("rows", [])

    def cases(self):
        """(type, keys, rate), in order."""
        return sorted({row.case for row in self.rows},
                      key=lambda case: (TYPES.index(case[0]), case[1], -case[2]))

    def find(self, case, name, rows=None, kernel=None):
        """A row or None."""
        for row in self.rows if rows is None else rows:
            if row.case == case and row.name == name and kernel in (None, row.kernel):
                return row
        return None

    def peer(self, case, operation):
        """The fastest peer with the case's rate, in its fastest form."""
        peers = [row for row in self.rows if row.case == case and row.role == "peer" and
                 row.rate_holds() and row.best(operation)]
        return min(peers, key=lambda row: row.best(operation)) if peers else None

    def limit(self, case, phase, name):
        """The least time of the limits of a name that begins so (but not the bare one), or None."""
        times = [row.time(phase) for row in self.rows if row.case == case and row.role == "limit" and
                 row.name in ((name, "line-whole") if name == "line" else (name,))]
        times = [value for value in times if value]
        return min(times) if times else None


# ---- Targets

def beside(rows, what, case, value):
    """One line that stands beside a target, with nothing wanted of it."""
    if value is not None:
        rows.append((what, case, f"{value:.3g}", "-", "for comparison"))


def target(rows, what, case, value, wanted, least=True, unit=""):
    """One line of the table of targets."""
    if value is None:
        rows.append((what, case, "not measured", f"{wanted:g}{unit}", "-"))
        return
    reached = value >= wanted if least else value <= wanted
    rows.append((what, case, f"{value:.3g}{unit}", f"{'≥' if least else '≤'} {wanted:g}{unit}",
                 "reached" if reached else "not reached"))


def ratio(over, under):
    """over / under, where both are known."""
    return over / under if over and under else None


HINTS = {"absent_batch": {10**6: 1.5, 2 * 10**7: 2.6, 10**8: 3.1, 10**9: 4.0},
         "add_batch": {10**6: 1.8, 2 * 10**7: 2.9, 10**8: 3.5, 10**9: 4.4}}


def speed_targets(results, rows):
    """What issue 3 asks of one thread."""
    sizes = [2 * 10**7, 10**8, 10**9]

    def time(case, name, phase):
        row = results.find(case, name)
        return row.time(phase) if row else None

    for keys in sizes:
        case = ("integers", keys, 1e-2)
        target(rows, "query batch, L = 1, of the line limit with the same hash", size(keys),
               ratio(results.limit(case, "absent_batch", "line"),
                     time(case, "blocked-1", "absent_batch")), 0.90)
        beside(rows, "the same, of memory alone (no hash: line-bare)", size(keys),
               ratio(time(case, "line-bare", "absent_batch"),
                     time(case, "blocked-1", "absent_batch")))
    for keys in sizes:
        case = ("integers", keys, 1e-4)
        target(rows, "query batch, L = 2 at 1e-4, of the limit of two lines", size(keys),
               ratio(results.limit(case, "absent_batch", "two-lines"),
                     time(case, "blocked-2", "absent_batch")), 0.90)
    for keys in sizes[:2]:
        ours = results.find(("integers", keys, 1e-2), "blocked-1", results.levels, "avx2")
        at = results.levels.index(ours) if ours else None
        limits = [row for row in results.levels[at:at + 2] if row.name == "line"] if ours else []
        target(rows, "the same, AVX2 alone, L = 1", size(keys), ratio(
            limits[0].time("absent_batch"), ours.time("absent_batch")) if limits else None, 0.85)
    for keys, least in zip(sizes, (0.65, 0.75, 0.75)):
        case = ("integers", keys, 1e-2)
        target(rows, "add batch, L = 1, of the read-modify-write limit with the same hash",
               size(keys), ratio(results.limit(case, "add_batch", "line"),
                                 time(case, "blocked-1", "add_batch")), least)
        beside(rows, "the same, of memory alone (no hash: line-bare)", size(keys),
               ratio(time(case, "line-bare", "add_batch"), time(case, "blocked-1", "add_batch")))
    for phase, hints in HINTS.items():
        for keys, hint in hints.items():
            target(rows, f"{phase.replace('absent_batch', 'query').replace('add_batch', 'add')} "
                   "batch, integers at 1e-2 (hint)", size(keys),
                   time(("integers", keys, 1e-2), "blocked-1", phase), hint, False, " ns")
    for keys in [10**6, *sizes[:2]]:
        case = ("integers", keys, 1e-2)
        target(rows, "query of single keys, of the split-block stand-in's speed", size(keys),
               ratio(time(case, "split-block", "absent_one"),
                     time(case, "blocked-1", "absent_one")), 0.90)
    for kind, most in (("ids", 4.5), ("urls", 9.0)):
        target(rows, f"query batch, {kind}, 1e-2", "20 M",
               time((kind, 2 * 10**7, 1e-2), "blocked-1", "absent_batch"), most, False, " ns")


def thread_times(results):
    """{operation: {threads: ns}} and the number of keys."""
    times, keys = {}, 0
    for row in results.step("threads"):
        times.setdefault(row["operation"], {})[row["threads"]] = statistics.median(row["ns"])
        keys = row["keys"]
    return times, keys


def command_sums(results, name, lines, asked):
    """(wall, cpu) of a program that builds and asks, medians, or None."""
    wanted = [row for row in results.step("commands") if row["name"] == name and
              row["what"] != "dedupe" and
              (row["lines"], row["asked"]) in ((lines, 0), (0, asked), (lines, asked))]
    if not wanted:
        return None
    return [sum(statistics.median(row[key]) for row in wanted) for key in ("wall", "cpu")]


def dedupe_targets(results, rows):
    """What the first occurrences of 20 million lines, 12 million different ones, are to cost."""
    def find(name):
        return next((row for row in results.step("commands") if row["what"] == "dedupe" and
                     row["name"] == name and row["lines"] == 2 * 10**7), None)

    def times(slow, fast):
        slow, fast = find(slow), find(fast)
        return statistics.median(slow["wall"]) / statistics.median(fast["wall"]) \
            if slow and fast else None

    ours, awk = find("bloomery"), find("awk")
    target(rows, "dedupe of 12 M different lines of 20 M, against sort -u", "20 M",
           times("sort -u", "bloomery"), 20, unit="x")
    target(rows, "the same, against awk", "20 M", times("awk", "bloomery"), 50, unit="x")
    target(rows, "the same, its memory of awk's", "20 M",
           ratio(ours["memory"], awk["memory"]) if ours and awk else None, 0.1, False)
    target(rows, "dedupe --exact of the same, against awk", "20 M", times("awk", "bloomery --exact"),
           15, unit="x")


def targets(results):
    """Every target of issue 3: what, where, measured, wanted, verdict."""
    rows = []
    speed_targets(results, rows)
    times, keys = thread_times(results)
    for operation, least in (("query", 1.8), ("build", 1.7)):
        both = times.get(operation, {})
        target(rows, f"2 threads, {operation}", size(keys) if keys else "100 M",
               ratio(both.get(1), both.get(2)), least, unit="x")
    ours = command_sums(results, "bloomery", 2 * 10**7, 10**7)
    alone = command_sums(results, "bloomery -j 1", 2 * 10**7, 10**7)
    guava = command_sums(results, "guava", 2 * 10**7, 10**7)
    target(rows, "build 20 M IDs and query 10 M, processor time, -j 1", "20 M",
           alone[1] if alone else None, 0.30, False, " s")
    target(rows, "the same, all cores", "20 M", ours[1] if ours else None, 0.30, False, " s")
    for i, name in enumerate(("wall-clock time", "processor time")):
        target(rows, f"the same against Guava's program, {name}", "20 M",
               ratio(guava[i], ours[i]) if ours and guava else None, 40, unit="x")
    dedupe_targets(results, rows)
    growth = [row for row in results.rows if row.role == "ours" and row.name != "pair"]
    worst = max(growth, key=lambda row: row.memory / row.bytes, default=None)
    target(rows, "memory of the process for a filter, over the plan, worst row",
           size(worst.keys) if worst else "", worst.memory / worst.bytes if worst else None, 1.02,
           False)
    return rows


# ---- Tables

def number(value, digits=2):
    """For a cell."""
    return "-" if value is None else f"{value:.{digits}f}"


def filter_table(results, kind):
    """Everything measured about one type of key."""
    head = ["keys", "rate", "filter", "layout", "L", "k", "bits/key", "measured", "memory/plan",
            "add 1", "add", "absent 1", "absent", "present 1", "present"]
    body = []
    for case in results.cases():
        for row in results.rows:
            if row.case != case or row.type != kind:
                continue
            measured = "-" if row.measured is None else f"{row.measured:.2e}"
            limit = row.role == "limit"
            body.append([
                size(row.keys), power(row.rate), row.name + (f" ({row.kernel})" if not limit else ""),
                row.layout, str(row.lines) if row.lines else "-", str(row.probes or "-"),
                f"{row.bits:.2f}", measured + ("" if row.rate_holds() else " (off)"),
                f"{row.memory / row.bytes:.3f}" if row.memory else "-",
                *(number(row.time(phase)) for phase in PHASES)])
    return head, body


def compare_table(results):
    """Ours beside the best peer of the same rate and beside the limit."""
    head = ["type", "keys", "rate", "operation", "ours", "bits/key", "ns", "best peer", "bits/key",
            "ns", "ours/peer", "limit ns", "limit/ours"]
    body = []
    for case in results.cases():
        for operation in ("add", "absent", "present"):
            names = [row for row in results.rows if row.case == case and row.role == "ours" and
                     row.name.startswith("blocked") and row.rate_holds() and row.best(operation)]
            if not names:
                continue
            ours = min(names, key=lambda row: row.best(operation))
            peer = results.peer(case, operation)
            limit = results.limit(case, operation + "_batch",
                                  "line" if ours.lines == 1 else "two-lines")
            best = ours.best(operation)
            body.append([case[0], size(case[1]), power(case[2]), operation, ours.name,
                         f"{ours.bits:.2f}", number(best), peer.name if peer else "-",
                         f"{peer.bits:.2f}" if peer else "-",
                         number(peer.best(operation)) if peer else "-",
                         number(ratio(best, peer.best(operation))) if peer else "-",
                         number(limit), number(ratio(limit, best))])
    return head, body


def kind_table(results):
    """The kinds: memory as planned and with all keys in it, rate, times."""
    head = ["type", "keys", "rate", "filter", "links", "L", "k", "bits/key planned", "bits/key held",
            "memory/plan", "measured", "add", "absent", "present"]
    body = []
    for row in results.kinds:
        body.append([
            row.type, size(row.keys), power(row.rate), f"{row.name} ({row.kernel})", str(row.links),
            str(row.lines) if row.lines else "-", str(row.probes), f"{row.bits:.2f}",
            f"{row.held * 8 / row.keys:.2f}",
            f"{row.memory / row.bytes:.3f}" if row.memory else "-",
            f"{row.measured:.2e}" + ("" if row.rate_holds() else " (off)"),
            *(number(row.time(phase)) for phase in ("add_batch", "absent_batch", "present_batch"))])
    return head, body


def speed_table(results):
    """The same in short, for docs/kinds.md: the largest case of each rate, as a plan would make it."""
    head = ["keys", "rate", "operation", "blocked", "classic", "counting, 4 bits", "scalable, one link",
            "scalable, five links"]
    body = []
    most = max((row.keys for row in results.kinds), default=0)
    for rate, blocked in ((1e-2, "blocked-1"), (1e-4, "blocked-2")):
        names = [blocked, "classic", "counting-4", "scalable", "scalable-grown"]
        rows = [results.find(("integers", most, rate), name, results.kinds) for name in names]
        if None in rows:
            continue
        for what, phase in (("add", "add_batch"), ("ask, absent key", "absent_batch"),
                            ("ask, present key", "present_batch")):
            body.append([size(most), power(rate), what, *(number(row.time(phase)) for row in rows)])
    return head, body


def exact_table(results):
    """Filter and exact tables in `dedupe`, for docs/kinds.md."""
    head = ["command", "lines", "processor s", "peak memory", "bits per line"]
    body = [[row["name"], size(row["lines"]), number(statistics.median(row["cpu"])),
             f"{row['memory'] / 1e6:.0f} MB", f"{row['memory'] * 8 / row['lines']:.0f}"]
            for row in results.step("kinds") if "wall" in row]
    return head, body


def several_table(results):
    """What is done to whole filters, and removing."""
    body = []
    rows = [row for row in results.step("kinds") if "seconds" in row]
    speeds = [row["bytes"] / 1e9 / statistics.median(row["seconds"]) for row in rows]
    for row, speed in zip(rows, speeds):
        body.append([row["what"], f"{row['bytes'] / 1e6:.0f} MB", f"{speed:.2f} GB/s",
                     number(ratio(speed, speeds[0]))])
    for row in results.step("kinds"):
        if "ns" in row and "role" not in row:
            body.append([f"remove, {row['name']}", f"{size(row['keys'])} keys",
                         f"{number(statistics.median(row['ns']))} ns per key", "-"])
    return ["operation", "reads", "speed", "of reading the files"], body


def level_table(results):
    """Lesser kernels and the limit of the same process."""
    head = ["keys", "kernel", "query ns", "limit", "ratio", "add ns", "limit", "ratio"]
    body = []
    for i, row in enumerate(results.levels):
        if row.role != "ours":
            continue
        limit = next(line for line in results.levels[i:] if line.role == "limit")
        cells = []
        for phase in ("absent_batch", "add_batch"):
            mine, least = row.time(phase), limit.time(phase)
            cells += [number(mine), number(least), number(ratio(least, mine))]
        body.append([size(row.keys), row.kernel, *cells])
    return head, body


def thread_table(results):
    """One thread and several."""
    times, keys = thread_times(results)
    body = []
    for operation, both in times.items():
        for count, value in sorted(both.items()):
            body.append([operation, size(keys), str(count), number(value),
                         number(ratio(both.get(1), value))])
    return ["operation", "keys", "threads", "ns per key", "times faster"], body


def command_table(results):
    """Whole programs."""
    body = []
    for row in [*results.step("commands"), *results.step("kinds")]:
        if "wall" not in row:
            continue
        body.append([row["name"], row["what"], size(row["lines"]) if row["lines"] else "-",
                     size(row["asked"]) if row["asked"] else "-",
                     number(statistics.median(row["wall"]), 3),
                     number(statistics.median(row["cpu"]), 3), f"{row['memory'] / 1e6:.0f} MB"])
    return ["program", "does", "lines", "questions", "wall s", "processor s", "peak memory"], body


def open_table(results):
    """Microseconds to open."""
    return ["filter", "microseconds"], [[f"{row['bytes'] >> 20} MiB", number(row["microseconds"], 1)]
                                        for row in results.step("open")]


# ---- The sieve

SEEN_SETS = {"sieve": "sieve, disk engine", "set": "hash set of strings", "lmdb": "LMDB", "sqlite": "SQLite",
             "sort -u": "sort -u"}
ANSWERS = {"sieve": "in batches", "sort -u": "at the end"}


def seen_sets(results):
    """{(urls, pushes): {name: rows}}, the sieve first."""
    cases = {}
    for row in results.step("sieve"):
        if row["what"] == "urls":
            cases.setdefault((row["urls"], row["pushes"]), {}).setdefault(row["name"], []).append(row)
    return {case: dict(sorted(rows.items(), key=lambda item: list(SEEN_SETS).index(item[0])))
            for case, rows in sorted(cases.items())}


def seen_set_table(results):
    """Everything that tells new URLs from seen ones."""
    head = ["seen-set", "distinct", "pushes", "M pushes/s", "peak memory", "without files", "disk", "written",
            "answers", "survives a kill"]
    body = []
    for (urls, pushes), named in seen_sets(results).items():
        for name, rows in named.items():
            seconds = statistics.median(row["seconds"] for row in rows)
            worst = max(rows, key=lambda row: row["peak"])
            body.append([SEEN_SETS[name], size(urls), size(pushes), number(pushes / seconds / 1e6),
                         f"{worst['peak'] / 1e6:.1f} MB",
                         f"{worst['anonymous'] / 1e6:.1f} MB" if worst["anonymous"] else "-",
                         f"{worst['disk'] / 1e6:.0f} MB" if worst["disk"] else "-",
                         f"{worst['disk_written'] / 1e6:.0f} MB" if worst["disk_written"] else "-",
                         ANSWERS.get(name, "at once"), "yes" if worst["kept"] else "no"])
    return head, body


def sieve_table(results):
    """The disk engine's runs in full, beside the formula."""
    head = ["distinct", "pushes", "memory", "peak", "seconds", "seen-set bytes/key", "disk at most", "read", "written",
            "of the formula", "partitions", "decisions", "cache hits", "pushed again, came out"]
    body = []
    for (urls, pushes), named in seen_sets(results).items():
        for row in named.get("sieve", []):
            body.append([size(urls), size(pushes), f"{row['memory']:,}", f"{row['peak']:,}", number(row["seconds"], 1),
                         number(row["seen_bytes"] / urls, 3), f"{row['disk_most'] / 1e6:.0f} MB",
                         f"{row['read'] / 1e6:.0f} MB", f"{row['written'] / 1e6:.0f} MB",
                         number(ratio(row["read"] + row["written"], row["planned"]), 3), str(row["partitions"]),
                         str(row["decisions"]), str(row["cache_hits"]),
                         str(row["again"]) if row["again_seconds"] else "-"])
    return head, body


def memory_engine_rows(results):
    """The rows of the memory engine and its peers."""
    return [row for row in results.step("sieve") if row["what"] == "memory"]


def memory_engine_table(results):
    """The memory engine beside what it is made of."""
    head = ["structure", "keys are", "threads", "keys", "ns per key", "M/s", "bytes/key"]
    body = [[row["name"], row["does"], str(row["threads"]), size(row["keys"]),
             number(statistics.median(row["ns"])), number(1e3 / statistics.median(row["ns"])),
             number(row["bytes"] / row["keys"])] for row in memory_engine_rows(results)]
    return head, body


def sieve_targets(results):
    """What issue 6 asks for: what, where, measured, wanted, verdict."""
    rows = []
    wanted = 10**8
    runs = seen_sets(results).get((wanted, wanted), {}).get("sieve", [])

    def worst(key):
        return max((key(row) for row in runs), default=None)

    target(rows, "peak memory of the whole process", size(wanted), worst(lambda row: row["peak"] / 1e6), 18, False, " MB")
    target(rows, "URLs of about 50 bytes in that memory", size(wanted),
           ratio(wanted / 1e6, worst(lambda row: row["seconds"])), 1, unit=" M/s")
    target(rows, "wrong answers, and what came out when all were pushed again", size(wanted),
           worst(lambda row: row["again"] + abs(row["found"] - wanted)), 0, False)
    target(rows, "disk of the seen-set, bytes a key", size(wanted), worst(lambda row: row["seen_bytes"] / wanted), 8.5,
           False)
    kills = [row for row in results.step("sieve") if row["what"] == "recovery"]
    target(rows, "opening after kill -9", size(kills[0]["urls"]) if kills else size(wanted),
           max((row["seconds"] for row in kills), default=None), 5, False, " s")
    for row in memory_engine_rows(results):
        if row["name"].startswith("sieve") and row["threads"] == 2 and row["does"] != "pop and ack":
            target(rows, f"memory engine, 12-digit IDs, 2 threads, all {row['does']}", size(row["keys"]),
                   1e3 / statistics.median(row["ns"]), 10, unit=" M/s")
    return ["target", "keys", "measured", "wanted", ""], rows


def recovery_table(results):
    """Opening what a killed process left."""
    return ["pushes that were kept", "distinct", "seconds to open"], [
        [f"{row['pushes']:,}", f"{row['distinct']:,}", number(row["seconds"], 4)]
        for row in results.step("sieve") if row["what"] == "recovery"]


def tables(results):
    """{name: (title, (head, body))} in the order of the page."""
    named = {"targets": ("Targets", (["target", "keys", "measured", "wanted", ""], targets(results))),
             "compare": ("Ours, the best peer of equal rate, the limit", compare_table(results))}
    for kind in TYPES:
        named[kind] = (f"Filters, {kind}: ns per key", filter_table(results, kind))
    named["kinds"] = ("Kinds", kind_table(results))
    named["speed"] = ("Kinds in short: ns per key", speed_table(results))
    named["exact"] = ("Exact or not: dedupe", exact_table(results))
    named["several"] = ("Whole filters", several_table(results))
    named["levels"] = ("Kernels of lesser processors", level_table(results))
    named["threads"] = ("Threads", thread_table(results))
    named["open"] = ("Opening", open_table(results))
    named["commands"] = ("Commands", command_table(results))
    named["sieve_targets"] = ("The sieve: targets", sieve_targets(results))
    named["seen_sets"] = ("Seen-sets, a process for each", seen_set_table(results))
    named["sieve"] = ("The sieve's disk engine", sieve_table(results))
    named["recovery"] = ("Opening after kill -9", recovery_table(results))
    named["memory_engine"] = ("The sieve's memory engine", memory_engine_table(results))
    return named


def conditions(results):
    """Machine, build, dates and commands, as lines."""
    machine = results.raw.get("machine", {})
    lines = [f"- {machine.get('processors')} processors, {machine.get('model_name')} (family "
             f"{machine.get('cpu_family')}, model {machine.get('model')}), "
             f"{machine.get('memory', 0) / 2**30:.0f} GiB; {machine.get('system')}",
             f"- {machine.get('compiler')}; " + ", ".join(
                 f"{name} {value}" for name, value in results.raw.get("build", {}).items() if value),
             f"- transparent huge pages: {machine.get('huge_pages')}; peers in C run with "
             "GLIBC_TUNABLES=glibc.malloc.hugetlb=1, the JVM with -XX:+UseTransparentHugePages",
             "- pages are touched before the clock starts; keys are made, "
             "16,384 at a time, while it stands"]
    if "java" in machine:
        lines.append(f"- {machine['java']}")
    for step in ("filters", "levels", "guava", "threads", "open", "commands", "kinds", "sieve"):
        if step in results.raw:
            run = results.raw[step]
            lines.append(f"- {step}: {run['date']}, {run['seconds']} s"
                         + ("" if run["full"] else ", the short run"))
            lines += [f"  `{line.replace(' --json bench-results/rows.json', '')}`\\"
                      for line in run["commands"]]
            lines[-1] = lines[-1].rstrip("\\")
    return lines


def as_text(head, body):
    """Columns, padded."""
    widths = [max(len(str(row[i])) for row in [head, *body]) for i in range(len(head))]
    return "\n".join("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in [head, *body])


def as_markdown(head, body):
    """A table of the page."""
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *body]]
    return "\n".join(lines)


# ---- Output

def fill(page, parts):
    """The page with the text between its markers replaced; an unknown marker is an error."""
    def replace(match):
        return f"{match.group(1)}\n{parts[match.group(2)]}\n<!-- bench:end -->"
    return re.sub(r"(<!-- bench:(?!end)(\w+) -->).*?<!-- bench:end -->", replace, page, flags=re.S)


def write(raw, folder, docs):
    """report.txt and filters.svg into `folder`; the page and its chart into `docs`, if any."""
    results = Results(raw)
    named = tables(results)
    text = "\n".join(conditions(results)) + "\n"
    # The verdicts come last, where the eye ends.
    for name in [*list(named)[1:], "targets"]:
        title, table = named[name]
        if table[1]:
            text += f"\n{title}\n\n{as_text(*table)}\n"
    print(text)
    with open(os.path.join(folder, "report.txt"), "w", encoding="utf-8") as file:
        file.write(text)
    for place in (folder, docs):
        if place:
            with open(os.path.join(place, "benchmarks.svg"), "w", encoding="utf-8") as file:
                file.write(chart.draw(results))
    if docs:
        parts = {name: "\n" + as_markdown(*table) + "\n" for name, (_, table) in named.items()}
        parts["conditions"] = "\n" + "\n".join(conditions(results)) + "\n"
        for name in ("benchmarks.md", "kinds.md"):
            path = os.path.join(docs, name)
            with open(path, encoding="utf-8") as file:
                page = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(fill(page, parts))


def main():
    parser = argparse.ArgumentParser(description="make tables and a chart of results.json")
    parser.add_argument("results")
    parser.add_argument("--docs", metavar="FOLDER")
    options = parser.parse_args()
    with open(options.results, encoding="utf-8") as file:
        raw = json.load(file)
    write(raw, os.path.dirname(os.path.abspath(options.results)), options.docs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
