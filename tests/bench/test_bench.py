#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmark measures what it says, and its report compares only like with like.

No time is asserted. The program runs on some thousand keys (skipped where it was not built); the report is
given rows made up here.
"""

import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from runner import checks, main
import xml.dom.minidom

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import report  # noqa: E402
from report import Row  # noqa: E402

BENCH = os.environ.get("BLOOMERY_BENCH")
SIEVE = os.environ.get("BLOOMERY_SIEVE_BENCH")
SIEVE_PEERS = os.environ.get("BLOOMERY_SIEVE_PEERS")
FLOOR = os.environ.get("BLOOMERY_FLOOR")
TOOL = os.environ.get("BLOOMERY_TOOL")
DERIVATION = os.environ.get("BLOOMERY_DERIVATION")
ALL = {"add_one", "add_batch", "absent_one", "absent_batch", "present_one", "present_batch"}
ONE = {"add_one", "absent_one", "present_one"}
BATCH = ALL - ONE
WANTED = {"blocked-1": ALL, "blocked-2": ALL, "blocked-3": ALL, "classic": ALL, "concurrent": ALL,
          "pair": {"absent_batch", "present_batch"}, "column": BATCH, "column-2": BATCH,
          "hashes": BATCH, "inline": ONE, "line": ALL, "line-bare": BATCH,
          "line-whole": {"add_batch"}, "two-lines": BATCH}
# Where the library, where AVX2 is there.
SOMETIMES = {"libbloom": ONE, "split-block": ALL, "split-block-1mul": ALL}
INTEGERS_ONLY = {"line-bare", "split-block-1mul"}


def complaints(rows, keys, parts):
    """What is wrong with the rows of one case."""
    found = []
    names = {row["name"]: row for row in rows}
    for name, phases in WANTED.items():
        if name in INTEGERS_ONLY and rows[0]["type"] != "integers":
            continue
        if name not in names:
            found.append(f"no {name}")
        elif set(names[name]["ns"]) != phases:
            found.append(f"{name} has the phases {sorted(names[name]['ns'])}")
    for name, row in names.items():
        if name in INTEGERS_ONLY and row["type"] != "integers":
            found.append(f"{name} of {row['type']}")
        if name not in WANTED and set(row["ns"]) != SOMETIMES.get(name):
            found.append(f"{name} has the phases {sorted(row['ns'])}")
        for phase, times in row["ns"].items():
            if len(times) != parts or min(times) <= 0:
                found.append(f"{name} {phase}: {times}")
        if row["keys"] != keys or row["bytes"] * 8 < 7 * keys or row["bytes"] * 8 > 40 * keys:
            found.append(f"{name}: {row['keys']} keys in {row['bytes']} bytes")
        if row["role"] == "limit":
            continue
        # Six standard errors: fails by accident once in 10^8.
        expected = row["planned"] * row["asked"]
        if row["asked"] == 0 or abs(row["found"] - expected) > 6 * math.sqrt(expected) + 0.03 * expected:
            found.append(f"{name}: {row['found']} of {row['asked']}, planned {row['planned']}")
    return found


def bench(what, *arguments):
    """The rows that the program writes."""
    with tempfile.TemporaryDirectory(prefix="bloomery-bench-") as folder:
        path = os.path.join(folder, "rows.json")
        subprocess.run([BENCH, what, *arguments, "--json", path], check=True, timeout=120, cwd=folder,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            return json.load(file)[what]


def made_up(name="blocked-1", role="ours", found=1000, ns=2.0, **changes):
    """A row as the program writes it: 100,000 asked, so that 1000 found are the rate."""
    row = {"type": "integers", "keys": 20_000_000, "rate": 0.01, "name": name, "role": role,
           "layout": "lines", "kernel": "scalar", "lines": 1, "probes": 6, "bytes": 24_800_000,
           "memory": 24_800_000, "planned": 0.01, "asked": 0 if role == "limit" else 100_000,
           "found": found, "ns": {"absent_batch": [9.0, ns, 0.1], "add_batch": [ns, ns, ns]}}
    row.update(changes)
    return row


def results_of(*rows):
    """As run.py keeps them."""
    step = {"rows": list(rows), "date": "2026-01-01", "seconds": 1, "full": True, "commands": ["x"]}
    return {"filters": step}


def rows_are_complete_and_rates_hold():
    for kind in ("integers", "ids", "urls"):
        rows = bench("filters", "--types", kind, "--sizes", "20K", "--rates", "1e-2", "--asks", "20K",
                     "--parts", "3")
        found = complaints(rows, 20_000, 3)
        assert not found, found


def forms_of_one_filter_answer_alike():
    for kind in ("integers", "ids", "urls"):
        rows = bench("filters", "--types", kind, "--sizes", "20K", "--rates", "1e-2",
                     "--asks", "40K", "--parts", "2",
                     "--only", "blocked-1,column,hashes,concurrent,pair")
        names = [row["name"] for row in rows]
        assert names == ["blocked-1", "concurrent", "pair", "column", "hashes"], rows
        facts = {(row["asked"], row["found"], row["probes"], row["bytes"]) for row in rows}
        assert len(facts) == 1, rows


def more_take_part_on_request():
    rows = bench("filters", "--types", "ids", "--sizes", "20K", "--rates", "1e-2", "--asks", "20K",
                 "--parts", "2", "--only", "blocked-2", "--also", "blocked-4")
    named = [(row["name"], row["lines"]) for row in rows]
    assert named == [("blocked-2", 2), ("blocked-4", 4)], rows


def derivation_is_as_good_as_ideal_positions():
    result = subprocess.run([DERIVATION, "40000"], check=False, timeout=120, capture_output=True,
                            text=True)
    assert result.returncode == 0, result.stdout
    cells = [line for line in result.stdout.splitlines() if line.count("(") == 5]
    assert len(cells) == 16, result.stdout


def kinds_take_part_where_they_are_named():
    names = ["blocked-fresh", "counting-4", "counting-8", "scalable", "scalable-grown"]
    rows = bench("filters", "--types", "ids", "--sizes", "20K", "--rates", "1e-2", "--asks", "20K",
                 "--parts", "3", "--batch-only", "1", "--only", ",".join(names))
    assert [row["name"] for row in rows] == names, rows
    for row in map(Row, rows):
        assert row.rate_holds(), row.__dict__
        assert set(row.ns) == {"add_batch", "absent_batch", "present_batch"}
        # Keys that happen to be false positives are not added: a chain may end with fewer bits, never more.
        assert 20_000 < row.held <= row.bytes if row.below else row.held == row.bytes
        assert row.links == (5 if row.name == "scalable-grown" else 1), row.links


def cuckoo_filters_stand_beside_other_kinds():
    names = ["blocked-1", "cuckoo", "cuckoo-server"]
    rows = bench("filters", "--types", "integers", "--sizes", "20K", "--rates", "2e-2", "--asks", "20K", "--parts", "3", "--batch-only", "1",
                 "--only", ",".join(names))
    assert [row["name"] for row in rows] == names, rows
    for row in map(Row, rows):
        assert row.rate_holds() and row.held >= 20_000 * 8 / 8.5, row.__dict__
        assert set(row.ns) == {"add_batch", "absent_batch", "present_batch"}
        assert row.links == 1 or row.name == "cuckoo-server", row.links
        if row.name != "blocked-1":
            assert abs(row.measured / row.planned - 1) < 0.25, f"{row.measured}, not {row.planned}"


def whole_filters_and_removing_are_measured():
    whats = [row["what"] for row in bench("several", "--sizes", "20K", "--parts", "2")]
    assert whats[0] == "read both files" and len(whats) == 7, whats
    rows = bench("remove", "--sizes", "20K", "--parts", "2")
    assert [(row["name"], len(row["ns"])) for row in rows] == [("counting-4", 2)], rows


def filters_of_another_system_stand_beside_their_memory():
    rows = bench("dialect", "--sizes", "2M", "--parts", "2")
    names = ["absent", "new", "present", "two lines read", "ten lines changed", "ten lines read"]
    assert [(row["pages"], row["name"]) for row in rows] == [
        (pages, name) for pages in ("2 MiB", "4 KiB") for name in names], rows
    assert all(len(row["ns"]) == 2 and min(row["ns"]) > 0 and row["bytes"] == 2_000_000 for row in rows), rows


def a_faulty_row_is_found():
    rows = bench("filters", "--types", "integers", "--sizes", "20K", "--rates", "1e-2", "--asks", "20K",
                 "--parts", "3")
    for fault in (lambda row: row["ns"].pop("add_batch"), lambda row: row.update(found=0),
                  lambda row: row["ns"]["absent_one"].pop(), lambda row: row.update(name="another")):
        broken = json.loads(json.dumps(rows))
        fault(broken[0])
        assert complaints(broken, 20_000, 3), "nothing found"


def threads_find_what_one_finds():
    rows = bench("threads", "--sizes", "50K", "--threads", "3", "--parts", "2")
    assert [(row["operation"], row["threads"], len(row["ns"])) for row in rows] == [
        (operation, threads, 2)
        for operation in ("build", "separate", "query") for threads in (1, 3)], rows


def sieve(program, folder, *arguments, code=0):
    """What a program of the sieve's wrote, working in a folder."""
    path = os.path.join(folder, "row.json")
    result = subprocess.run([program, *arguments, "--json", path], check=False, timeout=120, cwd=folder,
                            stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert result.returncode == code, (arguments, result.returncode, result.stdout + result.stderr)
    if code != 0:
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def sieve_lets_each_url_out_once():
    for more in ([], ["--drain", "--again"], ["--repeats", "3", "--drain", "--check"],
                 ["--bits", "48", "--partitions", "1", "--ordered"]):
        with tempfile.TemporaryDirectory(prefix="bloomery-bench-") as folder:
            row = sieve(SIEVE, folder, "--urls", "100K", "--memory", "12MB", "--directory", "d", *more)
        assert row["found"] == 100_000 and row["exact"] and row["again"] == 0, row
        assert row["peak"] <= 12_000_000, row
        assert row["pushes"] == (400_000 if "--repeats" in more else 100_000)
        assert 48 < row["url_bytes"] / row["pushes"] < 52
        # Three times for fingerprint and URL at least, or the counters count nothing.
        assert row["read"] + row["written"] > 100_000 * 100 and row["planned"] > 100_000 * 100, row


def sieve_that_was_killed_opens():
    with tempfile.TemporaryDirectory(prefix="bloomery-bench-") as folder:
        sieve(SIEVE, folder, "--urls", "50K", "--directory", "d", "--sync", "always", "--die-after", "20K", code=-9)
        row = sieve(SIEVE, folder, "open", "--directory", "d")
    assert 20_000 <= row["pushes"] < 50_000 and row["seconds"] > 0, row


def memory_engine_is_measured():
    with tempfile.TemporaryDirectory(prefix="bloomery-bench-") as folder:
        rows = sieve(SIEVE, folder, "memory", "--keys", "20K", "--threads", "2", "--parts", "2")
    ours = [(row["threads"], row["what"]) for row in rows if row["name"].startswith("sieve")]
    assert ours == [(threads, what) for threads in (1, 2) for what in ("new", "seen", "pop and ack")], ours
    for row in rows:
        assert len(row["ns"]) == 2 and min(row["ns"]) > 0 and row["bytes"] > 20_000, row
        assert row["found"] == (0 if row["what"] == "seen" else 20_000), row


def other_seen_sets_are_exact():
    names = subprocess.run([SIEVE_PEERS, "list"], check=True, capture_output=True, text=True).stdout.split()
    assert names[0] == "set", names
    for name in names:
        with tempfile.TemporaryDirectory(prefix="bloomery-bench-") as folder:
            row = sieve(SIEVE_PEERS, folder, name, "--urls", "5K", "--repeats", "2", "--memory", "8MB",
                        "--directory", "d")
        assert row["found"] == 5000 and row["exact"] and row["pushes"] == 15_000, row
    lines = subprocess.run([SIEVE_PEERS, "keys", "--urls", "5K", "--repeats", "2"], check=True,
                           capture_output=True).stdout.splitlines()
    assert len(lines) == 15_000 and len(set(lines)) == 5000


def instructions_are_the_same_each_time():
    if platform.machine() != "x86_64":
        return
    first, again = (bench("instructions", "--types", "integers", "--only", "column") for _ in range(2))
    assert [row["operation"] for row in first] == ["query_batch", "add_batch"] and first == again, (first, again)
    assert all(5 < row["instructions"] / row["keys"] < 1000 and row["probes"] == 8 for row in first), first


def floors_do_the_job_of_the_commands():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        if "avx2" not in file.read().split():
            return
    with tempfile.TemporaryDirectory(prefix="bloomery-bench-") as folder:
        def run(*words):
            result = subprocess.run(words, check=False, cwd=folder, capture_output=True, timeout=60)
            assert result.returncode in (0, 1), result.stderr
            return result
        # Of some lengths, and longer than a piece, so that lines go over the ends of pieces.
        lines = [b"%d" % (7 ** (i % 9) * i // 3) for i in range(60_000)]
        with open(os.path.join(folder, "lines"), "wb") as file:
            file.write(b"\n".join(lines) + b"\n")
        assert run(FLOOR, "split", "lines").stderr == b"60000 0\n"
        for rate in ("0.01", "1e-4", "1e-6"):
            run(FLOOR, "build", "lines", "60000", rate, "floor.bloom")
            run(TOOL, "build", "-q", "-n", "60000", "-p", rate, "-o", "made.bloom", "lines")
            # Only the number of adds differs: the loop does not count them.
            with open(os.path.join(folder, "floor.bloom"), "rb") as one, open(os.path.join(folder, "made.bloom"), "rb") as other:
                one, other = one.read(), other.read()
            assert len(one) == len(other) and sum(a != b for a, b in zip(one, other)) < 64, rate
            with open(os.path.join(folder, "asked"), "wb") as file:
                file.write(b"".join(b"%d\n" % i for i in range(50_000)))
            found = run(TOOL, "query", "-c", "made.bloom", "asked").stdout.strip()
            assert run(FLOOR, "query", "asked", "made.bloom").stderr == b"50000 " + found + b"\n", rate
        assert run(FLOOR, "dedupe", "lines", "60000", "1e-6").stdout == run(TOOL, "dedupe", "-q", "lines").stdout


def figure_is_the_median_of_parts():
    assert Row(made_up()).time("absent_batch") == 2.0


def rows_of_other_rates_are_not_compared():
    rows = [made_up(), made_up("split-block", "peer", ns=3.0), made_up("libbloom", "peer", 1300, 1.0)]
    results = report.Results(results_of(*rows))
    assert results.peer(results.cases()[0], "absent").name == "split-block"
    assert "(off)" in report.as_text(*report.table("integers", results))
    rows[2]["found"] = 1000
    assert report.Results(results_of(*rows)).peer(results.cases()[0], "absent").name == "libbloom"


def verdicts_of(*rows):
    """{target: (measured, wanted, verdict)} at 20 M."""
    return {row[0]: tuple(row[2:]) for row in report.table("targets", report.Results(results_of(*rows)))[1]
            if row[1] == "20 M"}


def targets_are_ratios_to_the_limit():
    query = "query batch, L = 1, column: speed relative to a random line with the same hash"
    add = "add batch, L = 1, column: speed relative to a random line with the same hash"
    verdicts = verdicts_of(made_up("column"), made_up(ns=4.0), made_up("line", "limit", ns=1.9))
    assert verdicts[query] == ("0.95", "≥ 0.9", "reached"), verdicts
    verdicts = verdicts_of(made_up("column"), made_up("line", "limit", ns=1.5))
    assert verdicts[add][2] == "not reached" and verdicts[query][2] == "not reached", verdicts


def stand_in_is_beaten_by_speed_and_by_memory():
    query = "query batch, L = 1 at 1e-2, column: speed relative to split-block"
    memory = "memory saved against split-block at 1e-2, blocked-1, whole per cent"
    peer = made_up("split-block", "peer", ns=1.8, bytes=26_000_000)
    verdicts = verdicts_of(made_up(ns=9.0), made_up("column"), peer)
    assert verdicts[query] == ("0.9", "≥ 0.85", "reached"), verdicts
    assert verdicts[memory] == ("5 %", "≥ 4 %", "reached"), verdicts
    verdicts = verdicts_of(made_up(bytes=26_000_000), made_up("column", ns=2.2), peer)
    assert verdicts[query][2] == verdicts[memory][2] == "not reached", verdicts


def comparisons_are_not_peers():
    rows = [made_up(), made_up("split-block", "peer", ns=3.0),
            made_up("split-block-1mul", "comparison", ns=1.0)]
    results = report.Results(results_of(*rows))
    assert results.peer(results.cases()[0], "absent").name == "split-block"
    assert "for comparison" in report.as_text(*report.table("integers", results))


def rows_that_miss_their_rate_are_counted():
    what = "our rows whose measured rate is not the planned one"
    for found, verdict in ((1000, "reached"), (1300, "not reached")):
        results = report.Results(results_of(made_up(), made_up("column", found=found)))
        assert next(row[4] for row in report.table("targets", results)[1] if row[0] == what) == verdict


def kernels_are_judged_by_the_best_one():
    def verdicts(scalar, avx2):
        rows = [made_up(name, "limit" if name == "line" else "ours", ns=ns, level=level,
                        kernel="limit" if name == "line" else level)
                for level, ns in (("scalar", scalar), ("avx2", avx2), ("avx512", 2.0))
                for name in ("blocked-1", "column", "line")]
        results = report.Results({"levels": results_of(*rows)["filters"]})
        assert len(report.table("levels", results)[1]) == 6
        return {row[0]: row[4] for row in report.table("targets", results)[1] if row[1] == "20 M"}
    good, bad = verdicts(4.0, 2.4), verdicts(4.5, 2.6)
    for what in ("query batch, by descriptors, AVX2: speed relative to AVX-512",
                 "add batch, column, scalar: time relative to AVX-512"):
        assert good[what] == "reached" and bad[what] == "not reached", (good, bad)


def page_keeps_its_prose():
    page = "before\n<!-- bench:open -->\nold\n<!-- bench:end -->\nafter\n"
    assert report.fill(page, {"open": "new"}) == (
        "before\n<!-- bench:open -->\nnew\n<!-- bench:end -->\nafter\n")
    assert report.fill(page, {"open": None}) == page


DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def pages_of(*names):
    """The texts of pages of docs."""
    texts = []
    for name in names:
        with open(os.path.join(DOCS, name), encoding="utf-8") as file:
            texts.append(file.read())
    return texts


def results_pages():
    return pages_of(*(os.path.join("results", name) for name in sorted(os.listdir(os.path.join(DOCS, "results")))))


def every_table_has_its_place():
    text = "".join(results_pages() + pages_of("kinds.md"))
    places = re.findall(r"<!-- bench:(?!end)(\w+) -->", text)
    assert sorted(places) == sorted([*report.TABLES, "conditions", "jobs_conditions"]), places


def excerpts_are_those_of_the_pages():
    page, goals, readme = pages_of("benchmarks.md", "goals.md", "../README.md")
    parts = report.excerpts(results_pages())
    shown = [name for text in (page, goals, readme) for name in report.tables_in(text)]
    assert sorted(parts) == sorted(shown), list(parts)
    for text in (page, goals, readme):
        assert report.fill(text, parts) == text, "bench/report.py --docs docs writes them anew"
    assert page.count("\n") <= 300


def the_readme_shows_what_was_measured():
    rows = [["bloomery", "build", "20 M", "-", "0.175", "1", "193 MB"], ["bloomery", "query", "-", "10 M", "0.059", "1", "44 MB"],
            ["bloomery", "dedupe", "20 M", "-", "1.516", "1", "118 MB"], ["awk", "both", "20 M", "10 M", "98.337", "1", "1830 MB"]]
    cells = report.jobs(rows)[1]
    assert [row[:3] for row in cells] == [["Bloomery", "1.52 s, 118 MB", "0.234 s, 193 MB"]], cells
    # A program stands there once both of its jobs were measured, at that size.
    for more, names in ((["awk", "dedupe", "2 M", "-", "4", "1", "9 MB"], ["Bloomery"]),
                        (["awk", "dedupe", "20 M", "-", "49.389", "1", "1096 MB"], ["awk", "Bloomery"])):
        cells = report.jobs([*rows, more])[1]
        assert [row[0] for row in cells] == names and not any("-" in row for row in cells), cells
    # All programs that bench/run.py measures have their rows.
    found = [[name, what, "20 M", "10 M", "1", "1", "1 MB"] for job in report.JOBS for keys in job[1:3] for name, what in keys]
    assert len(report.jobs(found)[1]) == len(report.JOBS) == 4


def jobs_are_of_a_run_of_their_own_or_of_the_commands():
    def row(name, what, lines, asked):
        return {"name": name, "what": what, "lines": lines, "asked": asked, "wall": [1.0], "cpu": [1.0], "memory": 10**6}
    commands = results_of(row("awk", "both", 20_000_000, 10_000_000), row("awk", "both", 2_000_000, 1_000_000),
                          row("grep -Fxf", "both", 20_000_000, 10_000_000))["filters"]
    own = results_of(row("sort", "both", 200_000, 100_000))["filters"]
    assert [cells[:3] for cells in report.table("jobs", report.Results({"commands": commands}))[1]] == [["awk", "both", "20 M"]]
    both = report.Results({"commands": commands, "jobs": own})
    assert [cells[:3] for cells in report.table("jobs", both)[1]] == [["sort", "both", "200 K"]]


def goals_that_were_not_reached_are_named_in_full():
    rows = [["build of 20 M, all cores", "20 M", "1 s", "≤ 2 s", "reached"],
            ["the same, memory", "20 M", "2 MB", "≤ 1 MB", "not reached"],
            ["the same, on one", "20 M", "2", "-", "for comparison"],
            ["open", "20 M", "not measured", "1 s", "-"]]
    assert report.missed("commands", rows) == [["commands", "build of 20 M, memory", "20 M", "2 MB", "≤ 1 MB"]]


def pages_are_filled_where_they_lie():
    with tempfile.TemporaryDirectory() as folder:
        docs = os.path.join(folder, "docs")
        shutil.copytree(DOCS, docs)
        shutil.copy(os.path.join(DOCS, "..", "README.md"), folder)
        report.fill_pages(docs, None)
        for folder, _, names in os.walk(DOCS):
            for name in names:
                here = os.path.join(folder, name)
                with open(here, "rb") as one, open(os.path.join(docs, os.path.relpath(here, DOCS)), "rb") as other:
                    assert one.read() == other.read(), here
        parts = {name: None for name in [*report.TABLES, "conditions", "jobs_conditions"]}
        parts["server_targets"] = "\n" + report.as_markdown(
            ["target", "", "", "", ""], [["asking", "1 GiB", "0.1", "≥ 0.7", "not reached"]]) + "\n"
        report.fill_pages(docs, parts)
        with open(os.path.join(docs, "goals.md"), encoding="utf-8") as file:
            page = file.read()
        assert "| the server | asking | 1 GiB | 0.1 | ≥ 0.7 |" in page and "MADD, new, of MEXISTS" not in page


def chart_of(*rows):
    """The chart of made up rows, as a document."""
    return xml.dom.minidom.parseString(report.draw(report.table("integers", report.Results(results_of(*rows)))[1])).documentElement.toxml()


def chart_is_well_formed():
    text = chart_of(made_up(), made_up("line", "limit"))
    assert "20 M keys" in text and "2.0" in text


def chart_has_a_limit_where_no_filter_is_faster():
    slower = made_up("line", "limit", ns=1.5)
    least = made_up("line-bare", "limit", ns=1.25)
    assert "1.2<" in chart_of(made_up(), slower, least) and "a filter is faster" not in chart_of(made_up(), slower, least)
    # Whatever form is faster, drawn or not; but a row whose rate is another is not compared.
    text = chart_of(made_up(), slower, least, made_up("hashes", ns=1.0))
    assert text.count("a filter is faster") == 2 and "1.2<" not in text, text
    assert "1.2<" in chart_of(made_up(), slower, least, made_up("hashes", ns=1.0, found=1300))


def a_chain_may_stay_below_its_rate():
    assert not Row(made_up(found=600)).rate_holds()
    assert Row(made_up(found=600, below=True)).rate_holds()
    assert not Row(made_up(found=1300, below=True)).rate_holds()


def sieve_row(**changes):
    """A run of the disk engine, as run.py keeps it."""
    row = {"what": "urls", "name": "sieve", "urls": 10**8, "pushes": 10**8, "memory": 18_000_000, "peak": 17_900_000,
           "anonymous": 16_000_000, "seconds": 80.0, "found": 10**8, "again": 0, "again_seconds": 90.0, "exact": True,
           "kept": True, "disk": 10**9, "disk_most": 2 * 10**9, "seen_bytes": 802_000_000, "disk_read": 1,
           "disk_written": 1, "read": 10**10, "written": 10**10, "planned": 2e10, "partitions": 16, "decisions": 100,
           "cache_hits": 0}
    row.update(changes)
    return row


def targets_of_the_sieve_are_of_its_worst_run():
    def verdicts(*rows):
        step = {"rows": list(rows), "date": "2026-01-01", "seconds": 1, "full": True, "commands": ["x"]}
        _, lines = report.table("sieve_targets", report.Results({"sieve": step}))
        return {line[0].split(" ")[0]: line[4] for line in lines}
    kill = {"what": "recovery", "name": "open", "urls": 10**8, "pushes": 1, "distinct": 1, "seconds": 0.1}
    assert set(verdicts(sieve_row(), kill).values()) == {"reached"}
    for name, change in (("peak", {"peak": 18_000_001}), ("URLs", {"seconds": 101.0}), ("wrong", {"found": 10**8 - 1}),
                         ("wrong", {"again": 1}), ("disk", {"seen_bytes": 851_000_000})):
        assert verdicts(sieve_row(), sieve_row(**change), kill)[name] == "not reached", change
    assert verdicts(sieve_row(), {**kill, "seconds": 6.0})["opening"] == "not reached"
    assert verdicts()["peak"] == "-"


def the_sieve_stands_first_among_seen_sets():
    rows = [sieve_row(name="sqlite", seconds=1000.0), sieve_row(seconds=100.0), sieve_row(seconds=80.0, peak=10**7),
            sieve_row(seconds=90.0)]
    step = {"rows": rows, "date": "2026-01-01", "seconds": 1, "full": True, "commands": ["x"]}
    _, lines = report.table("seen_sets", report.Results({"sieve": step}))
    assert [line[0] for line in lines] == ["sieve, disk engine", "SQLite"]
    # The median of the rates, the worst of the peaks.
    assert lines[0][3:5] == ["1.11", "17.9 MB"], lines[0]


def floors_row(job, name, wall, level="avx2", memory=30_000_000):
    """A row of the step `floors`, as run.py keeps it."""
    return {"what": job, "name": name, "level": level, "wall": [9.0, wall, 0.1], "cpu": [wall], "memory": memory,
            "lines": 20_000_000, "asked": 0, "command": "x"}


def commands_stand_beside_the_loop_of_their_own_job():
    def both(build, memory):
        rows = [floors_row("build", "floor", 1.0), floors_row("query", "floor", 5.0), floors_row("build", "build -n", 1.1),
                floors_row("build", "build", build, memory=memory), floors_row("build", "build", 0.5, "avx512")]
        step = {"floors": {"rows": rows, "date": "2026-01-01", "seconds": 1, "full": True, "commands": ["x"]}}
        results = report.Results(step)
        return report.table("floors", results)[1], {row[0]: row[4] for row in report.table("floor_targets", results)[1]}
    cells, good = both(1.3, 40_000_000)
    assert [row[4] for row in cells] == ["1.00", "1.00", "1.10", "1.30", "0.50"], cells
    assert [row[1] for row in cells] == ["bare loop", "bare loop", "build -n", "build", "build"], cells
    _, bad = both(1.4, 40_600_000)
    for what in ("build without -n, times the time with it", "its peak memory"):
        assert good[what] == "reached" and bad[what] == "not reached", (good, bad)
    assert good["dedupe, times the bare loop's time"] == "-"


def instructions_are_judged_with_avx2():
    def verdicts(count):
        rows = [{"type": "integers", "name": "column", "operation": "query_batch", "level": level, "rate": 0.01, "lines": 1,
                 "probes": 8, "keys": 100, "kernel": level, "instructions": instructions}
                for level, instructions in (("scalar", 9999), ("avx2", count), ("avx512", 9999))]
        results = report.Results({"instructions": {"rows": rows, "date": "", "seconds": 1, "full": True, "commands": ["x"]}})
        assert len(report.table("instructions", results)[1]) == 1
        return {row[0]: row[4] for row in report.table("instruction_targets", results)[1]}
    assert verdicts(3300)["query by column"] == "reached" and verdicts(3301)["query by column"] == "not reached"


WITH_PROGRAM = (rows_are_complete_and_rates_hold, a_faulty_row_is_found, threads_find_what_one_finds,
                kinds_take_part_where_they_are_named, cuckoo_filters_stand_beside_other_kinds, whole_filters_and_removing_are_measured,
                filters_of_another_system_stand_beside_their_memory,
                sieve_lets_each_url_out_once, sieve_that_was_killed_opens, memory_engine_is_measured,
                other_seen_sets_are_exact, forms_of_one_filter_answer_alike,
                more_take_part_on_request, derivation_is_as_good_as_ideal_positions,
                instructions_are_the_same_each_time, floors_do_the_job_of_the_commands)
TESTS = (figure_is_the_median_of_parts, a_chain_may_stay_below_its_rate, rows_of_other_rates_are_not_compared,
         targets_are_ratios_to_the_limit, stand_in_is_beaten_by_speed_and_by_memory,
         comparisons_are_not_peers, rows_that_miss_their_rate_are_counted,
         kernels_are_judged_by_the_best_one, page_keeps_its_prose, chart_is_well_formed,
         chart_has_a_limit_where_no_filter_is_faster, the_readme_shows_what_was_measured,
         jobs_are_of_a_run_of_their_own_or_of_the_commands,
         every_table_has_its_place, excerpts_are_those_of_the_pages, goals_that_were_not_reached_are_named_in_full,
         pages_are_filled_where_they_lie,
         targets_of_the_sieve_are_of_its_worst_run, the_sieve_stands_first_among_seen_sets,
         commands_stand_beside_the_loop_of_their_own_job, instructions_are_judged_with_avx2)


checks(*TESTS, arguments=lambda c: ())
checks(*WITH_PROGRAM, arguments=lambda c: (), skipped=None if BENCH else "built without -Dbenchmarks=true")
if __name__ == "__main__":
    main(command=False)
