# SPDX-License-Identifier: Apache-2.0
"""The targets: what is wanted, where, what was measured, and whether that is enough."""

import math
import statistics

from results import command_sums, memory_engine_rows, ratio, seen_sets, size, thread_times

MILLION = 10**6
SIZES = (MILLION, 20 * MILLION, 100 * MILLION, 1000 * MILLION)


def beside(rows, what, case, value):
    """One line that stands beside a target, with nothing wanted of it."""
    if value is not None:
        rows.append((what, case, f"{value:.3g}", "-", "for comparison"))


def target(rows, what, case, value, wanted, least=True, unit="", digits=3):
    """One line of the table of targets."""
    if value is None:
        rows.append((what, case, "not measured", f"{wanted:g}{unit}", "-"))
        return
    reached = value >= wanted if least else value <= wanted
    rows.append((what, case, f"{value:.{digits}g}{unit}", f"{'≥' if least else '≤'} {wanted:g}{unit}",
                 "reached" if reached else "not reached"))


class Times:
    """Times of rows of integers, by name and phase."""

    def __init__(self, results):
        self.results = results

    def ns(self, keys, rate, name, phase):
        """Nanoseconds, or None."""
        row = self.results.find(("integers", keys, rate), name)
        return row.time(phase) if row else None

    def faster(self, keys, rate, phase, ours, other):
        """How many times as fast ours is as the other."""
        return ratio(self.ns(keys, rate, other, phase), self.ns(keys, rate, ours, phase))


BATCHES = (("query", "absent_batch"), ("add", "add_batch"))


def stand_in_targets(results, rows):
    """Beside the split-block stand-in with the same hash, which reads bare integers, as a column
    does: so the column is judged, and the batch by descriptors stands beside it."""
    times = Times(results)
    for rate, power, sizes in ((1e-2, "1e-2", SIZES), (1e-3, "1e-3", SIZES)):
        for operation, phase in BATCHES:
            for keys in sizes:
                what = (f"{operation} batch, L = 1 at {power}, column, "
                        "of the split-block stand-in's speed")
                target(rows, what, size(keys),
                       times.faster(keys, rate, phase, "column", "split-block"), 0.85)
                beside(rows, "the same, by descriptors", size(keys),
                       times.faster(keys, rate, phase, "blocked-1", "split-block"))
    for keys in SIZES[:3]:
        target(rows, "query batch, L = 2 at 1e-4, column, of the split-block stand-in's speed",
               size(keys), times.faster(keys, 1e-4, "absent_batch", "column-2", "split-block"), 1)
        beside(rows, "the same, by descriptors", size(keys),
               times.faster(keys, 1e-4, "absent_batch", "blocked-2", "split-block"))
    for rate, power, name, least in ((1e-2, "1e-2", "blocked-1", 4), (1e-3, "1e-3", "blocked-1", 7),
                                     (1e-4, "1e-4", "blocked-2", 25)):
        ours, peer = (results.find(("integers", 20 * MILLION, rate), each)
                      for each in (name, "split-block"))
        target(rows, f"memory below the stand-in's at {power}, {name}, whole per cents", "20 M",
               round(100 * (1 - ours.bits / peer.bits)) if ours and peer else None, least,
               unit=" %")


def limit_targets(results, rows):
    """Beside what the memory allows. The limit reads bare integers too."""
    times = Times(results)
    for (operation, phase), least in zip(BATCHES, (0.90, 0.80)):
        for keys in SIZES[1:]:
            limit = results.limit(("integers", keys, 1e-2), phase, "line")
            target(rows, f"{operation} batch, L = 1, column, of the line limit with the same hash",
                   size(keys), ratio(limit, times.ns(keys, 1e-2, "column", phase)), least)
            beside(rows, "the same, by descriptors", size(keys),
                   ratio(limit, times.ns(keys, 1e-2, "blocked-1", phase)))
            beside(rows, "the column of memory alone (no hash: line-bare)", size(keys),
                   times.faster(keys, 1e-2, phase, "column", "line-bare"))


def level_targets(results, rows):
    """The kernels of lesser processors beside AVX-512."""
    for operation, phase in BATCHES:
        for keys in SIZES[:2]:
            for name, form in (("blocked-1", "by descriptors"), ("column", "column")):
                best, avx2, scalar = (results.level_time(keys, level, name, phase)
                                      for level in ("avx512", "avx2", "scalar"))
                target(rows, f"{operation} batch, {form}, AVX2, of AVX-512's speed", size(keys),
                       ratio(best, avx2), 0.80)
                target(rows, f"{operation} batch, {form}, scalar, times AVX-512's time", size(keys),
                       ratio(scalar, best), 2.2, False)


def form_targets(results, rows):
    """The interfaces beside each other: single keys, inlined, columns, concurrent adds."""
    times = Times(results)
    keys = 20 * MILLION
    target(rows, "add of single keys, times may_contain's time", size(keys),
           ratio(times.ns(keys, 1e-2, "blocked-1", "add_one"),
                 times.ns(keys, 1e-2, "blocked-1", "absent_one")), 1.30, False)
    for keys in SIZES[:3]:
        value = times.faster(keys, 1e-2, "absent_one", "inline", "split-block")
        what = "query of single keys, inlined, of the stand-in's speed one by one"
        if keys == 20 * MILLION:
            target(rows, what, size(keys), value, 0.75)
        else:
            beside(rows, what, size(keys), value)
        beside(rows, "the same, by bloomery_may_contain", size(keys),
               times.faster(keys, 1e-2, "absent_one", "blocked-1", "split-block"))
    for operation, phase in BATCHES:
        target(rows, f"{operation}, columns of 8-byte keys, times as fast as descriptors", "1 M",
               times.faster(MILLION, 1e-2, phase, "column", "blocked-1"), 1.15)
        beside(rows, "the same, keys that are hashed already", "1 M",
               times.faster(MILLION, 1e-2, phase, "hashes", "blocked-1"))
    for operation, phase in BATCHES:
        for keys in SIZES[:2]:
            target(rows, f"{operation} batch, concurrent_adds, times the plain filter's time"
                   + (", from empty" if operation == "add" else ""), size(keys),
                   times.faster(keys, 1e-2, phase, "blocked-1", "concurrent"), 1.5, False)
    for kind, most in (("ids", 4.5), ("urls", 9.0)):
        row = results.find((kind, 20 * MILLION, 1e-2), "blocked-1")
        target(rows, f"query batch, {kind}, 1e-2", "20 M",
               row.time("absent_batch") if row else None, most, False, " ns")


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
    target(rows, "dedupe --exact of the same, against awk", "20 M",
           times("awk", "bloomery --exact"), 15, unit="x")


def program_targets(results, rows):
    """Threads and whole commands."""
    times, keys = thread_times(results)
    for operation in ("build", "query"):
        both = times.get(operation, {})
        target(rows, f"2 threads, {operation}", size(keys) if keys else "100 M",
               ratio(both.get(1), both.get(2)), 1.6, unit="x")
    both = times.get("separate", {})
    beside(rows, "the same, a filter for each thread", size(keys), ratio(both.get(1), both.get(2)))
    ours = command_sums(results, "bloomery", 20 * MILLION, 10 * MILLION)
    alone = command_sums(results, "bloomery -j 1", 20 * MILLION, 10 * MILLION)
    guava = command_sums(results, "guava", 20 * MILLION, 10 * MILLION)
    target(rows, "build 20 M IDs and query 10 M, processor time, -j 1", "20 M",
           alone[1] if alone else None, 0.25, False, " s")
    beside(rows, "the same, all cores", "20 M", ours[1] if ours else None)
    for i, name in enumerate(("wall-clock time", "processor time")):
        target(rows, f"the same against Guava's program, {name}", "20 M",
               ratio(guava[i], ours[i]) if ours and guava else None, 40, unit="x")
    dedupe_targets(results, rows)


def plan_targets(results, rows):
    """Rates and memory are those of the plan."""
    ours = [row for row in results.rows if row.role == "ours"]
    target(rows, "rows of ours whose measured rate is not the planned one", "all",
           sum(not row.rate_holds() for row in ours) if ours else None, 0, False)
    # Rows that query another row's filter have no memory of their own.
    worst = max(ours, key=lambda row: row.memory / row.bytes, default=None)
    target(rows, "memory of the process for a filter, over the plan, worst row",
           size(worst.keys) if worst else "", worst.memory / worst.bytes if worst else None, 1.02,
           False)


def targets(results):
    """What issue 11 requires of the core, and what stayed of issue 3: what, where, measured,
    wanted, verdict."""
    rows = []
    for part in (stand_in_targets, limit_targets, level_targets, form_targets, program_targets,
                 plan_targets):
        part(results, rows)
    return rows


def static_targets(results):
    """What issue 17 requires: what, where, measured, wanted, verdict."""
    rows = []

    def ns(keys, name, phase="absent_batch", level="", rate=1e-2):
        row = results.static_row(keys, rate, name, level)
        return row.time(phase) if row else None

    for rate, power, most in ((1e-2, "1e-2", 1.02), (1e-3, "1e-3", 1.008), (2**-8, "2^-8", 1.008)):
        for keys in SIZES[:3]:
            row = results.static_row(keys, rate, "static")
            target(rows, f"size, of log2(1/p) n, at {power}", size(keys),
                   row.bits / math.log2(1 / rate) if row else None, most, False, digits=5)
    for keys in SIZES[1:3]:
        target(rows, "query batch, times a random line's time with the hash", size(keys),
               ratio(ns(keys, "static"), ns(keys, "static-line")), 2.2, False)
        beside(rows, "the same, column", size(keys),
               ratio(ns(keys, "static-column"), ns(keys, "static-line")))
    bare = ns(MILLION, "static-line-bare")
    target(rows, "query batch, where a random line without a hash takes 1.1 ns", "1 M",
           ratio(ns(MILLION, "static"), bare / 1.1) if bare else None, 8, False, " ns")
    for keys in SIZES[:3]:
        best = ns(keys, "static", level="avx512-vpopcntdq") or ns(keys, "static", level="avx512")
        for level, most in (("avx2", 1.5), ("scalar", 3)):
            target(rows, f"query batch, {level}, times AVX-512's time", size(keys),
                   ratio(ns(keys, "static", level=level), best), most, False)
    for keys in SIZES[:3]:
        row = results.static_row(keys, 1e-2, "static")
        built = statistics.median(row.built) if row else None
        if keys == SIZES[2]:
            target(rows, "build, one thread", size(keys), built, 160, False, " ns")
        else:
            beside(rows, "build, one thread, ns", size(keys), built)
    ours = [row for row in results.static if row.role == "ours"]
    target(rows, "rows of ours whose measured rate is not the planned one", "all",
           sum(not row.rate_holds() for row in ours) if ours else None, 0, False)
    return ["target", "keys", "measured", "wanted", ""], rows


def sieve_targets(results):
    """What issue 6 requires: what, where, measured, wanted, verdict."""
    rows = []
    wanted = 10**8
    runs = seen_sets(results).get((wanted, wanted), {}).get("sieve", [])

    def worst(key):
        return max((key(row) for row in runs), default=None)

    target(rows, "peak memory of the whole process", size(wanted),
           worst(lambda row: row["peak"] / 1e6), 18, False, " MB")
    target(rows, "URLs of about 50 bytes in that memory", size(wanted),
           ratio(wanted / 1e6, worst(lambda row: row["seconds"])), 1, unit=" M/s")
    target(rows, "wrong answers, and what came out when all were pushed again", size(wanted),
           worst(lambda row: row["again"] + abs(row["found"] - wanted)), 0, False)
    target(rows, "disk of the seen-set, bytes a key", size(wanted),
           worst(lambda row: row["seen_bytes"] / wanted), 8.5, False)
    kills = [row for row in results.step("sieve") if row["what"] == "recovery"]
    target(rows, "opening after kill -9", size(kills[0]["urls"]) if kills else size(wanted),
           max((row["seconds"] for row in kills), default=None), 5, False, " s")
    for row in memory_engine_rows(results):
        if row["name"].startswith("sieve") and row["threads"] == 2 and row["does"] != "pop and ack":
            target(rows, f"memory engine, 12-digit IDs, 2 threads, all {row['does']}",
                   size(row["keys"]), 1e3 / statistics.median(row["ns"]), 10, unit=" M/s")
    return ["target", "keys", "measured", "wanted", ""], rows


