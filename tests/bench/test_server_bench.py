#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the module in servers: its rows are whole, and its verdicts are of what was measured.

No time is asserted. The part with a server has filters of some hundred KB, and is skipped without a server or
where the clients were not built (-Dbenchmarks=true).
"""

import os
import shutil
import subprocess
import sys
import tempfile

from runner import checks, main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
# pylint: disable=wrong-import-position
import report
import server

PROGRAMS = {"load": os.environ.get("BLOOMERY_SERVER_LOAD"), "floor": os.environ.get("BLOOMERY_SERVER_FLOOR"),
            "module": os.environ.get("BLOOMERY_MODULE")}
REDIS = shutil.which("redis-check-rdb")
SIZES = [200_000, 1 << 20]
ROUNDS = 2


def rows_of_a_server_are_whole():
    with tempfile.TemporaryDirectory(prefix="bloomery-bench-") as folder:
        link = os.path.join(folder, "redis-server")
        os.symlink(REDIS, link)
        rows = server.measure(PROGRAMS, link, {"sizes": SIZES, "rounds": ROUNDS, "commands": 16, "keys": 100,
                                               "folder": folder})
        assert sorted(os.listdir(folder)) == ["redis-server"], os.listdir(folder)
    commands = [row for row in rows if row["what"] == "command"]
    assert len(commands) == 1 + 3 * len(SIZES) + 6, [row["name"] for row in commands]
    for row in commands:
        for name in ("server_ns", "wall_ns", "clients", "worst"):
            assert len(row[name]) == ROUNDS and min(row[name]) > 0, row
    assert [row["what"] for row in rows if row not in commands] == ["default key", "reserve", "filling", "clear", "rotate"] + \
        ["stored"] * 5, rows
    stored = [row for row in rows if row["what"] == "stored"]
    assert all(row["stored"] >= SIZES[-1] and row["seconds"] > 0 for row in stored), stored
    # All of it finds its place in the tables.
    results = report.Results({"server": {"rows": rows}})
    assert len(report.table("server", results)[1]) == len(commands)
    assert len(report.table("stored", results)[1]) == len(stored)
    assert len(report.table("server_targets", results)[1]) == 14


def an_error_in_a_reply_ends_the_clients():
    """Its row would tell of a command that did nothing."""
    with tempfile.TemporaryDirectory(prefix="bloomery-bench-") as folder:
        bench = None
        try:
            link = os.path.join(folder, "redis-server")
            os.symlink(REDIS, link)
            bench = server.Bench({**PROGRAMS, "server": link}, folder, {})
            words = [PROGRAMS["load"], str(bench.server.port), "--commands", "10"]
            good = subprocess.run([*words, "BF.MADD", "k", "@3"], check=False, capture_output=True, timeout=60)
            full = subprocess.run([*words, "BF.INSERT", "n", "CAPACITY", "5", "NONSCALING", "ITEMS", "@100"],
                                  check=False, capture_output=True, timeout=60)
        finally:
            if bench is not None:
                bench.context.end()
    assert good.returncode == 0 and b'"items": 36' in good.stdout, good
    assert full.returncode == 1 and b"full" in full.stderr, full


def made_up(name, size, ns, items=100):
    """A row of a command."""
    return {"what": "command", "server": "S 1", "name": name, "bytes": size, "items": items,
            "server_ns": [ns, ns, 9 * ns], "wall_ns": [ns] * 3, "clients": [0.1] * 3, "worst": [0.001] * 3}


def verdicts_of(*rows):
    """{(target, filter): verdict}."""
    _, body = report.table("server_targets", report.Results({"server": {"rows": list(rows)}}))
    return {(row[0], row[1].split(",")[0]): row[4] for row in body}


def commands_are_judged_by_the_floor_of_their_server():
    small, large = server.SMALL, server.LARGE
    def verdicts(asked, added):
        return verdicts_of(made_up("floor", 0, 100), made_up("MEXISTS, absent", large, asked),
                           made_up("MADD, new", large, added), made_up("MEXISTS, absent", small, asked),
                           made_up("MADD, new", small, added), made_up("floor", 0, 1000, 1),
                           made_up("ADD, new", small, 10 * asked, 1))
    good, bad = verdicts(140, 180), verdicts(150, 300)
    for what in (("MEXISTS, absent: speed relative to the floor of 100 items", "1 GiB"), ("MADD, new: speed relative to MEXISTS, absent", "1 GiB"),
                 ("MADD, new: speed relative to MEXISTS, absent", "36 MB")):
        assert (good[what], bad[what]) == ("reached", "not reached"), (what, good, bad)
    assert good["ADD, new, one by one: speed relative to the floor of one item", "36 MB"] == "reached"
    assert good["RESERVE on the main thread", "1 GiB"] == "-"


def the_worst_of_whole_filters_counts():
    rows = [{"what": "reserve", "server": "S 1", "bytes": server.LARGE, "seconds": [0.001, 0.004]},
            {"what": "filling", "server": "S 1", "bytes": server.LARGE, "items": 1, "first_ns": [300, 900, 300],
             "steady_ns": [200, 200, 200], "slowest": [0.01, 0.049], "worst": [1], "steady_worst": [0.01]}]
    good = verdicts_of(*rows)
    names = ["RESERVE on the main thread", "first filling: speed relative to the steady state",
             "its slowest command, as the server saw it"]
    assert [good[name, "1 GiB"] for name in names] == ["reached"] * 3, good
    rows[0]["seconds"][1] = 0.006
    rows[1]["slowest"][0] = 0.051
    bad = verdicts_of(*rows)
    assert [bad[name, "1 GiB"] for name in names] == ["not reached", "reached", "not reached"], bad


def what_was_not_measured_stays_on_the_page():
    for name in ("targets", "sieve_targets", "server_targets"):
        assert not report.says_something(report.table(name, report.Results({}))), name
    assert report.says_something(report.table("server_targets", report.Results({"server": {"rows": [
        {"what": "reserve", "server": "S 1", "bytes": server.LARGE, "seconds": [1]}]}})))


WITH_SERVER = (rows_of_a_server_are_whole, an_error_in_a_reply_ends_the_clients)
TESTS = (commands_are_judged_by_the_floor_of_their_server, the_worst_of_whole_filters_counts,
         what_was_not_measured_stays_on_the_page)


checks(*TESTS, arguments=lambda c: ())
checks(*WITH_SERVER, arguments=lambda c: (), skipped="no server here, or built without -Dbenchmarks=true"
       if REDIS is None or None in PROGRAMS.values() else None)
if __name__ == "__main__":
    main(command=False)
