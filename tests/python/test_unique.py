# SPDX-License-Identifier: Apache-2.0
"""bloomery.unique and bloomery.duplicated against a set and pandas; and python -m bloomery."""

import itertools
import os
import random
import subprocess
import sys

import bloomery
from optional import need, raises
from runner import case, main


def first_occurrences(items):
    """The model: exact."""
    seen = set()
    return [item for item in items if not (item in seen or seen.add(item))]


def some(number, different):
    """Keys with repetitions, the same each time."""
    source = random.Random(7)
    return [f"key {source.randrange(different)}" for _ in range(number)]


@case
def unique_yields_first_occurrences_in_order(c):
    keys = some(200_000, 100_000)  # more than the filter begins with
    c.expect(list(bloomery.unique(keys, 1e-9)) == first_occurrences(keys), "another list than a set's")
    c.expect(list(bloomery.unique(iter(keys), 1e-9, count=100_000)) == first_occurrences(keys), "count")
    pairs = list(enumerate(keys[:5000]))
    c.expect([number for number, _ in bloomery.unique(pairs, 1e-9, key=lambda pair: pair[1])] ==
             [keys.index(key) for key in first_occurrences(keys[:5000])], "key=")
    c.expect(list(bloomery.unique([])) == [] and list(bloomery.unique([1, "1", b"1", 1])) == [1, "1"], "small ones")


@case
def unique_yields_as_items_come_and_keeps_what_it_saw(c):
    endless = bloomery.unique(i % 3 for i in itertools.count())
    c.expect([next(endless) for _ in range(3)] == [0, 1, 2], "it waits for more")
    seen = bloomery.Filter(1000, 1e-6)
    seen.add("old")
    c.expect(list(bloomery.unique(["old", "new"], filter=seen)) == ["new"] and "new" in seen, "filter=")
    with raises(c, TypeError, "bloomery.Filter, not set"):
        bloomery.unique([], filter=set())
    with raises(c, TypeError, "not iterable"):
        bloomery.unique(5)
    with raises(c, TypeError, "join its parts"):
        list(bloomery.unique([("a", "b")]))
    with raises(c, bloomery.Full):
        list(bloomery.unique(range(100_000), count=100))
    with raises(c, ValueError, "rate"):
        bloomery.unique([], 0)


@case
def duplicated_marks_what_occurred_before(c):
    keys = some(50_000, 20_000)
    seen = set()
    expected = [key in seen or bool(seen.add(key)) for key in keys]
    for column in (keys, tuple(keys), iter(keys)):
        c.expect(bloomery.duplicated(column, 1e-9).tolist() == expected, f"{type(column)}")
    c.expect(bloomery.duplicated(["a", None, "a", None, float("nan")]).tolist() == [False, False, True, False, False], "missing")
    c.expect(bloomery.duplicated([]).tolist() == [], "none")
    pieces = bloomery.Filter(20_000, 1e-9)
    both = [bloomery.duplicated(part, filter=pieces).tolist() for part in (keys[:30_000], keys[30_000:])]
    c.expect(both[0] + both[1] == expected, "in pieces")


@case
def duplicated_agrees_with_pandas_and_numpy(c):
    need("numpy")
    need("pandas")
    import numpy  # pylint: disable=import-outside-toplevel
    import pandas  # pylint: disable=import-outside-toplevel
    table = pandas.DataFrame({"url": some(20_000, 5000)})
    for column in (table.url, table.url.astype("category"), table.url.astype("string")):
        c.expect((numpy.asarray(bloomery.duplicated(column, 1e-9)) == column.duplicated().to_numpy()).all(), f"{column.dtype}")
    kept = table[numpy.asarray(~bloomery.duplicated(table.url, 1e-9))]
    c.expect(kept.equals(table.drop_duplicates()), "rows")
    numbers = numpy.array([5, 6, 5, 5], dtype="i4")
    c.expect(bloomery.duplicated(numbers).tolist() == [False, False, True, True], "integers")
    with raises(c, TypeError, "column"):
        bloomery.duplicated(table)


@case
def the_package_runs_as_a_program(c):
    bloomery.Filter.build(["a"], 0.01).save(c.path("a.bloom"))
    c.file("bad", "nothing")

    def run(*arguments, path=""):
        return subprocess.run([sys.executable, "-m", "bloomery", *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": path})
    c.expect(all(len(line) <= 80 for line in run("--help").stdout.splitlines()) and run().stdout == run("--help").stdout, "help")
    c.expect(bloomery.__version__ in run("--version").stdout, "version")
    done = run("show", c.path("a.bloom"), c.path("bad"), c.path("none"))
    c.expect(done.returncode == 2 and "keys=1" in done.stdout and done.stderr.count("bloomery: ") == 2, f"{done}")
    done = run("plan", "-n", "5")
    c.expect(done.returncode == 2 and "not installed" in done.stderr, f"{done}")
    with open(c.path("bloomery"), "w", encoding="ascii") as file:
        file.write('#!/bin/sh\necho "command $*"\nexit 1\n')
    os.chmod(c.path("bloomery"), 0o755)
    done = run("plan", "-n", "5", path=c.directory)
    c.expect((done.returncode, done.stdout) == (1, "command plan -n 5\n"), f"{done}")


main()
