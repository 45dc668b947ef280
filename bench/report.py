# SPDX-License-Identifier: Apache-2.0
"""Makes text, pages and chart of what run.py measured (results.json). Nothing here is typed by hand.

    bench/report.py [results.json] [--docs FOLDER]

Rows are of results.py, verdicts of targets.py.

In the pages of results/, which have every row, and in kinds.md the tables stand between pairs of markers,
`<!-- bench:NAME -->` and `<!-- bench:end -->`; what is written around them is kept. benchmarks.md has excerpts of the
pages of results/, in markers of its own. Without results.json only these are written anew.
"""

import argparse
import glob
import json
import math
import os
import re
import statistics
import sys

import chart
from results import (PHASES, SEEN_SETS, TYPES, Results, memory_engine_rows, power, ratio, seen_sets,
                     size, thread_times)
from server_tables import process_table, server_table, server_targets, stored_table
from targets import sieve_targets, static_targets, targets


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
                size(row.keys), power(row.rate),
                row.name + (f" ({row.kernel})" if not limit else "") +
                (" for comparison" if row.role == "comparison" else ""),
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
                     row.name.startswith(("blocked", "column")) and row.rate_holds() and
                     row.best(operation)]
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
    head = ["keys", "rate", "operation", "blocked", "classic", "counting, 4 bits", "scalable, one layer",
            "scalable, five layers"]
    body = []
    most = max((row.keys for row in results.kinds), default=0)
    for rate, blocked in ((1e-2, "blocked-1"), (1e-4, "blocked-2")):
        names = [blocked, "classic", "counting-4", "scalable", "scalable-grown"]
        rows = [results.find(("integers", most, rate), name, results.kinds) for name in names]
        if None in rows:
            continue
        for what, phase in (("add", "add_batch"), ("query, absent key", "absent_batch"),
                            ("query, present key", "present_batch")):
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
    """Each kernel, the limit of the same processes, and the best kernel."""
    head = ["keys", "filter", "kernel", "query ns", "limit/ours", "of AVX-512's speed", "add ns",
            "limit/ours", "of AVX-512's speed"]
    body = []
    limits = {(row.case, row.level): row for row in results.levels if row.role == "limit"}
    for row in results.levels:
        if row.role == "limit" or row.kernel != row.level:
            continue
        cells = []
        for phase in ("absent_batch", "add_batch"):
            mine = row.time(phase)
            cells += [number(mine), number(ratio(limits[row.case, row.level].time(phase), mine)),
                      number(ratio(results.level_time(row.keys, "avx512", row.name, phase), mine))]
        body.append([size(row.keys), row.name, row.kernel, *cells])
    return head, body


def static_table(results):
    """Filters that are built once, beside what their memory allows."""
    head = ["keys", "rate", "filter", "bits/key", "of log2(1/p)", "measured", "build", "absent 1", "absent",
            "present", "absent, times a line's time"]
    body = []
    for row in results.static:
        if row.level:
            continue
        line = results.static_row(row.keys, row.rate, "static-line")
        limit = row.role == "limit"
        body.append([
            size(row.keys), f"1 in {round(1 / row.rate):,}",
            row.name + ("" if limit else f" ({row.kernel})"), f"{row.bits:.2f}",
            "-" if limit else f"{row.bits / math.log2(1 / row.rate):.4f}",
            "-" if row.measured is None else f"{row.measured:.2e}" + ("" if row.rate_holds() else " (off)"),
            number(statistics.median(row.built) or None, 1),
            *(number(row.time(phase)) for phase in ("absent_one", "absent_batch", "present_batch")),
            number(ratio(row.time("absent_batch"), line.time("absent_batch") if line else None))])
    return head, body


def static_level_table(results):
    """Each kernel of static filters, beside the limit of the same processes."""
    head = ["keys", "filter", "kernel", "absent", "present", "times a line's time", "times AVX-512's time"]
    body = []
    for row in results.static:
        if not row.level or row.role == "limit" or not row.kernel.startswith(row.level):
            continue
        limit, best = (results.static_row(row.keys, row.rate, name, level)
                       for name, level in (("static-line", row.level), (row.name, "avx512")))
        mine = row.time("absent_batch")
        body.append([size(row.keys), row.name, row.kernel, number(mine), number(row.time("present_batch")),
                     number(ratio(mine, limit.time("absent_batch"))),
                     number(ratio(mine, best.time("absent_batch") if best else None))])
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
    return ["program", "does", "lines", "queries", "wall s", "processor s", "peak memory"], body


def open_table(results):
    """Microseconds to open."""
    return ["filter", "microseconds"], [[f"{row['bytes'] >> 20} MiB", number(row["microseconds"], 1)]
                                        for row in results.step("open")]


# ---- The sieve

ANSWERS = {"sieve": "in batches", "sort -u": "at the end"}


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


def memory_engine_table(results):
    """The memory engine beside what it is made of."""
    head = ["structure", "keys are", "threads", "keys", "ns per key", "M/s", "bytes/key"]
    body = [[row["name"], row["does"], str(row["threads"]), size(row["keys"]),
             number(statistics.median(row["ns"])), number(1e3 / statistics.median(row["ns"])),
             number(row["bytes"] / row["keys"])] for row in memory_engine_rows(results)]
    return head, body


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
    named["static_targets"] = ("Static filters: targets", static_targets(results))
    named["static"] = ("Static filters, integers: ns per key", static_table(results))
    named["static_levels"] = ("Static filters, 1 in 100: each kernel", static_level_table(results))
    named["levels"] = ("Kernels of lesser processors", level_table(results))
    named["threads"] = ("Threads", thread_table(results))
    named["open"] = ("Opening", open_table(results))
    named["commands"] = ("Commands", command_table(results))
    named["sieve_targets"] = ("The sieve: targets", sieve_targets(results))
    named["seen_sets"] = ("Seen-sets, a process for each", seen_set_table(results))
    named["sieve"] = ("The sieve's disk engine", sieve_table(results))
    named["recovery"] = ("Opening after kill -9", recovery_table(results))
    named["memory_engine"] = ("The sieve's memory engine", memory_engine_table(results))
    named["server_targets"] = ("The server: targets", server_targets(results))
    named["server"] = ("The server: commands", server_table(results))
    named["dialect"] = ("The server: its filters without it, ns per key", process_table(results))
    named["stored"] = ("The server: filters stored and loaded", stored_table(results))
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
    for step in ("filters", "levels", "guava", "threads", "open", "commands", "kinds", "static", "sieve",
                 "server"):
        if step in results.raw:
            run = results.raw[step]
            lines.append(f"- {step}: {run['date']}, {run['seconds']} s"
                         + ("" if run["full"] else ", the short run"))
            lines += [f"  `{line.replace(' --json bench-results/rows.json', '')}`\\"
                      for line in dict.fromkeys(run["commands"])]
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


# ---- Excerpts

BLOCK = re.compile(r"(<!-- bench:(?!end)(\w+) -->)(.*?)<!-- bench:end -->", re.S)
# Name: the table that it is taken of, its columns by their place there and what they are called here, and which rows.
EXCERPTS = {
    "short": ("compare", ((0, "keys are"), (1, "keys"), (2, "rate"), (3, "operation"), (6, "ours ns"), (5, "bits/key"),
                          (9, "split-block ns"), (8, "bits/key"), (10, "ours/its")),
              lambda row: row[1] != "1 G" and row[2] == "1e-2" and row[3] != "present"),
    "short_static": ("static", ((1, "rate"), (2, "filter"), (3, "bits/key"), (4, "of log2(1/p)"), (6, "build"),
                                (8, "absent"), (9, "present")),
                     lambda row: row[0] == "20 M" and row[1] != "1 in 1,000" and re.match(r"(blocked-1|static|fuse\d+) ", row[2])),
    "short_commands": ("commands", tuple(enumerate(("program", "does", "lines", "queries", "wall s", "processor s",
                                                    "peak memory"))),
                       lambda row: "-j 1" not in row[0] and row[1] != "distinct"),
    "short_seen_sets": ("seen_sets", ((0, "seen-set"), (1, "distinct"), (2, "pushes"), (3, "M pushes/s"),
                                      (4, "peak memory"), (6, "disk"), (8, "answers"), (9, "survives a kill")),
                        lambda row: row[1] != "2 M"),
    "short_server": ("server", ((1, "command"), (2, "filter"), (3, "items"), (4, "server ns an item"),
                                (5, "of the floor")),
                     lambda row: row[0].startswith("Redis")),
}
# The tables of targets, and how their part of `missed` is called.
TARGETS = {"targets": "filters", "static_targets": "static filters", "sieve_targets": "the sieve",
           "server_targets": "the server"}


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
            named = what.partition(",")[0]
        if verdict == "not reached":
            found.append([of, what, where, value, wanted])
    return found


def excerpts(pages):
    """{name: Markdown} of what benchmarks.md shows of the pages of results/."""
    there = {name: rows for page in pages for name, rows in tables_in(page).items()}
    parts = {}
    for name, (table, columns, wanted) in EXCERPTS.items():
        body = [[row[place] for place, _ in columns] for row in there[table] if wanted(row)]
        parts[name] = "\n" + as_markdown([title for _, title in columns], body) + "\n"
    body = [row for table, of in TARGETS.items() for row in missed(of, there[table])]
    parts["missed"] = "\n" + as_markdown(["of", "goal", "where", "measured", "wanted"], body) + "\n"
    return parts


# ---- Output

def fill(page, parts):
    """The page with the text between its markers replaced, where there is a new one: what was not measured keeps
    what it had (None). An unknown marker is an error."""
    def replace(match):
        part = parts[match.group(2)]
        return match.group(0) if part is None else f"{match.group(1)}\n{part}\n<!-- bench:end -->"
    return BLOCK.sub(replace, page)


def says_something(table):
    """Whether something of it was measured; what is wanted stands in a table of targets in any case."""
    _, body = table
    return any(len(row) != 5 or row[4] != "-" for row in body)


def fill_file(path, parts):
    """Fills a page where it lies."""
    with open(path, encoding="utf-8") as file:
        page = fill(file.read(), parts)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


def fill_pages(docs, parts):
    """The pages of results/ and kinds.md with new tables, and benchmarks.md with excerpts of what they have now.
    Without `parts` only the excerpts are written."""
    paths = sorted(glob.glob(os.path.join(docs, "results", "*.md")))
    for path in [*paths, os.path.join(docs, "kinds.md")]:
        if parts:
            fill_file(path, parts)
    pages = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            pages.append(file.read())
    fill_file(os.path.join(docs, "benchmarks.md"), excerpts(pages))


def write(raw, folder, docs):
    """report.txt and filters.svg into `folder`; the pages and their chart into `docs`, if any."""
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
        if place and "filters" in raw:  # what it draws
            with open(os.path.join(place, "benchmarks.svg"), "w", encoding="utf-8") as file:
                file.write(chart.draw(results))
    if docs:
        parts = {name: "\n" + as_markdown(*table) + "\n" if says_something(table) else None
                 for name, (_, table) in named.items()}
        if "filters" in raw:  # else most of what the page has was measured elsewhere
            parts["conditions"] = "\n" + "\n".join(conditions(results)) + "\n"
        else:
            parts["conditions"] = None
        fill_pages(docs, parts)


def main():
    parser = argparse.ArgumentParser(description="make tables and a chart of results.json")
    parser.add_argument("results", nargs="?")
    parser.add_argument("--docs", metavar="FOLDER")
    options = parser.parse_args()
    if options.results is None:
        if options.docs is None:
            parser.error("neither results nor pages")
        fill_pages(options.docs, None)
        return 0
    with open(options.results, encoding="utf-8") as file:
        raw = json.load(file)
    write(raw, os.path.dirname(os.path.abspath(options.results)), options.docs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
