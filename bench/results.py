# SPDX-License-Identifier: Apache-2.0
"""What run.py measured (results.json), as rows that can be found and compared.

Only rows of equal rate are compared: those whose measured rate is within 5 % and three standard
errors of the requested one; the others are marked and stand aside.
"""

import math
import re
import statistics

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


def ratio(over, under):
    """over / under, where both are known."""
    return over / under if over and under else None


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
        self.static = [Row(row) for row in self.step("static")]

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

    def static_row(self, keys, rate, name, level=""):
        """A row of the static step or None; without a level the run beside the peers."""
        for row in self.static:
            if row.case == ("integers", keys, rate) and (row.name, row.level) == (name, level):
                return row
        return None

    def level_time(self, keys, level, name, phase):
        """The time of a kernel, integers at 1e-2; None where the processor has no such kernel."""
        row = self.find(("integers", keys, 1e-2), name, self.levels, level)
        return row.time(phase) if row else None

    def peer(self, case, operation):
        """The fastest peer with the case's rate, in its fastest form."""
        peers = [row for row in self.rows if row.case == case and row.role == "peer" and
                 row.rate_holds() and row.best(operation)]
        return min(peers, key=lambda row: row.best(operation)) if peers else None

    def limit(self, case, phase, name):
        """The least time of the limits of a name that begins so (but not the bare one), or None."""
        times = [row.time(phase) for row in self.rows
                 if row.case == case and row.role == "limit" and
                 row.name in ((name, "line-whole") if name == "line" else (name,))]
        times = [value for value in times if value]
        return min(times) if times else None


def thread_times(results):
    """{operation: {threads: ns}} and the number of keys."""
    times, keys = {}, 0
    for row in results.step("threads"):
        times.setdefault(row["operation"], {})[row["threads"]] = statistics.median(row["ns"])
        keys = row["keys"]
    return times, keys


def command_sums(results, name, lines, asked):
    """(wall, cpu) of a program that builds and queries, medians, or None."""
    wanted = [row for row in results.step("commands") if row["name"] == name and
              row["what"] != "dedupe" and
              (row["lines"], row["asked"]) in ((lines, 0), (0, asked), (lines, asked))]
    if not wanted:
        return None
    return [sum(statistics.median(row[key]) for row in wanted) for key in ("wall", "cpu")]


SEEN_SETS = {"sieve": "sieve, disk engine", "set": "hash set of strings", "lmdb": "LMDB",
             "sqlite": "SQLite", "sort -u": "sort -u"}


def seen_sets(results):
    """{(urls, pushes): {name: rows}}, the sieve first."""
    cases = {}
    for row in results.step("sieve"):
        if row["what"] == "urls":
            named = cases.setdefault((row["urls"], row["pushes"]), {})
            named.setdefault(row["name"], []).append(row)
    return {case: dict(sorted(rows.items(), key=lambda item: list(SEEN_SETS).index(item[0])))
            for case, rows in sorted(cases.items())}


def memory_engine_rows(results):
    """The rows of the memory engine and its peers."""
    return [row for row in results.step("sieve") if row["what"] == "memory"]
