#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dedupe --unit beside its peers, over one corpus: megabytes a second, peak memory, ratios.

    bench/corpora.py BUILD [--bytes 2G] [--python-bytes 200M] [--rounds 3] [-j 2] [--units paragraph,ngram]

The corpus is made by corpus-text, and lies in the page cache. In each round all programs run, one after the
other; the best round counts. The peer with one hash for each probe (corpus_peer.c) gets the keys that
--dry-run estimates and our rate. Python's set would not fit for all of the corpus, so it reads the
beginning. Outputs go to /dev/null. Memory is the process's highest, as the kernel counts it; that planned
is what --json reports of the filter. Results go to BUILD/bench-results/corpora.json.
"""

import argparse
import json
import os
import subprocess
import sys
import time

from report import as_markdown, cells_of, item

HERE = os.path.dirname(os.path.abspath(__file__))
RATES = {"paragraph": 1e-6, "ngram": 1e-4}
SUFFIXES = {"k": 1000, "M": 1000 ** 2, "G": 1000 ** 3}
OURS, PEER, PYTHON = "bloomery dedupe", "one hash a probe (C)", "set of hashes (Python)"


def size(text):
    """2G, 200M or a number."""
    return int(float(text.rstrip("kMG")) * SUFFIXES.get(text[-1], 1))


def make_corpus(build, folder, count):
    """Returns the path of a corpus of `count` bytes; one that exists is used again."""
    path = os.path.join(folder, f"corpus-{count}.jsonl")
    if not os.path.exists(path):
        with open(path + ".part", "wb") as out:
            subprocess.run([os.path.join(build, "bench", "corpus-text"), str(count)], stdout=out,
                           check=True)
        os.rename(path + ".part", path)
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 24):
            pass
    return path


def measure(arguments, stdin=None):
    """(seconds, bytes of memory at most, standard error) of a program."""
    with open(stdin or os.devnull, "rb") as source, open(os.devnull, "wb") as sink:
        start = time.monotonic()
        process = subprocess.Popen(arguments, stdin=source, stdout=sink, stderr=subprocess.PIPE)
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{arguments}: exit code {process.returncode}: {said.decode()}")
    return seconds, usage.ru_maxrss * 1024, said.decode()


def keys_of(tool, unit, path):
    """How many different keys --dry-run expects."""
    done = subprocess.run([tool, "dedupe", "--unit", unit, "--jsonl", "text", "--dry-run", "--json", path],
                          stdout=subprocess.PIPE, check=True)
    return round(json.loads(done.stdout)["distinct_keys"])


def compare(build, unit, options, paths):
    """Rows of one unit."""
    tool = os.path.join(build, "tool", "bloomery")
    whole, part = paths
    keys, rate = keys_of(tool, unit, whole), RATES[unit]
    runs = {
        OURS: ([tool, "dedupe", "--unit", unit, "--jsonl", "text", "--json", "--progress", "never",
                "-p", str(rate), "-j", str(options.threads), whole], None, whole),
        PEER: ([os.path.join(build, "bench", "corpus-peer"), unit, whole, str(keys), str(rate),
                str(options.threads)], None, whole),
        PYTHON: ([sys.executable, os.path.join(HERE, "corpus_set.py"), unit], part, part),
    }
    rows = {}
    for _ in range(options.rounds):
        for name, (arguments, stdin, path) in runs.items():
            seconds, memory, said = measure(arguments, stdin)
            row = {"unit": unit, "name": name, "keys": keys, "rate": rate, "memory": memory,
                   "threads": 1 if name == PYTHON else options.threads, "seconds": seconds,
                   "input_bytes": os.path.getsize(path)}
            row["mb_s"] = row["input_bytes"] / seconds / 1e6
            if name == OURS:
                report = json.loads(said[said.index("{"):])
                row.update(planned=report["bytes"], removed_bytes=report["removed_bytes"])
            if name not in rows or row["mb_s"] > rows[name]["mb_s"]:
                rows[name] = row
    return list(rows.values())


def our_speed(row):
    """How many times as fast our program is."""
    return "" if row["name"] == OURS else f"{row['ours'] / row['mb_s']:.1f} times as fast"


COLUMNS = (("unit", item("unit")), ("program", item("name")), ("threads", item("threads")),
           ("MB", lambda row: f"{row['input_bytes'] / 1e6:.0f}"), ("MB/s", item("mb_s", "{:.1f}")),
           ("peak memory", lambda row: f"{row['memory'] / 2 ** 20:.0f} MiB"), ("our speed", our_speed))


def show(rows):
    """The table."""
    ours = {row["unit"]: row["mb_s"] for row in rows if row["name"] == OURS}
    print(as_markdown(*cells_of(COLUMNS, [{**row, "ours": ours[row["unit"]]} for row in rows])) + "\n")
    for row in rows:
        if "planned" in row:
            print(f"{row['unit']}: the filter has {row['planned'] / 2 ** 20:.1f} MiB; the process is "
                  f"{(row['memory'] - row['planned']) / 2 ** 20:.1f} MiB larger")


def main():
    """Makes, measures, shows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--bytes", type=size, default=2 * 10 ** 9)
    parser.add_argument("--python-bytes", type=size, default=200 * 10 ** 6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-j", "--threads", type=int, default=2)
    parser.add_argument("--units", default="paragraph,ngram")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    folder = os.path.join(build, "bench-results", "data")
    os.makedirs(folder, exist_ok=True)
    paths = [make_corpus(build, folder, count)
             for count in (options.bytes, min(options.python_bytes, options.bytes))]
    rows = []
    for unit in options.units.split(","):
        rows += compare(build, unit, options, paths)
    show(rows)
    with open(os.path.join(build, "bench-results", "corpora.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
