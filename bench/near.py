#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dedupe --near measured: found against the plan's curve, speed and memory beside a peer, and real text.

    bench/near.py curve BUILD [--pairs 2000]      documents with known Jaccard similarity
    bench/near.py speed BUILD [--bytes 200M] [--python-bytes 4M] [--rounds 3]
    bench/near.py text BUILD [--files N]          copyright files, manuals and changelogs of Debian packages

The peer is near_peer.py: MinHash with numpy, and a dict for each band. Speeds are bytes of the input over CPU
time of one thread. Results are printed as tables, and go to BUILD/bench-results/near-*.json.
"""

import argparse
import gzip
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter

from corpora import make_corpus, size
from report import as_markdown

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = 5
SIMILARITIES = (0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


def run(arguments, stdin=None, kept=True):
    """(CPU seconds, standard output, standard error) of a program; the output only if it is `kept`."""
    with open(stdin or os.devnull, "rb") as source, open(os.devnull, "wb") as sink:
        process = subprocess.Popen(arguments, stdin=source, stdout=subprocess.PIPE if kept else sink,
                                   stderr=subprocess.PIPE)
        out = process.stdout.read() if kept else b""
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{arguments}: exit code {process.returncode}: {said.decode()}")
    return usage.ru_utime + usage.ru_stime, out, said.decode()


def tool_of(build, *more):
    """The command with the options that all of these share."""
    return [os.path.join(build, "tool", "bloomery"), "dedupe", "--unit", "document", "--jsonl", "text",
            "--progress", "never", "-j", "1", *more]


def shingles_of(text):
    """The set of a text's shingles."""
    words = re.findall(r"\w+", text)
    return {tuple(words[i:i + WORDS]) for i in range(max(len(words) - WORDS, 0) + 1)} if words else set()


def jaccard(one, other):
    return len(one & other) / len(one | other)


def save(build, name, result):
    """Keeps what was measured."""
    folder = os.path.join(build, "bench-results")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"near-{name}.json"), "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)


# ---- The curve -----------------------------------------------------------------------------------------


def pair(generator, similarity):
    """Two texts: some words in a row of the second are others."""
    words = [f"{generator.getrandbits(40):x}" for _ in range(generator.randint(250, 400))]
    shingles = len(words) - WORDS + 1
    changed = max(round(shingles * (1 - similarity) / (1 + similarity)) - WORDS + 1, 1)
    start = generator.randint(WORDS, len(words) - changed - WORDS)
    other = words[:start] + [f"{generator.getrandbits(40):x}" for _ in range(changed)] + words[start + changed:]
    return " ".join(words), " ".join(other)


def curve(build, options):
    """How many of the second texts are dropped, at each similarity."""
    generator = random.Random(1)
    path = os.path.join(build, "bench-results", "near-pairs.jsonl")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pairs = [(similarity, pair(generator, similarity)) for similarity in SIMILARITIES for _ in range(options.pairs)]
    exact = {}
    with open(path, "w", encoding="utf-8") as file:
        for number, (wanted, texts) in enumerate(pairs):
            exact.setdefault(wanted, []).append(jaccard(*map(shingles_of, texts)))
            for part, text in enumerate(texts):
                file.write(json.dumps({"pair": number, "part": part, "text": text}) + "\n")
    line = tool_of(build, "-q", "-v", "--near", str(options.near))
    dropped = Counter()
    for found in map(json.loads, run([*line, path])[1].splitlines()):
        if found["part"] == 0:
            sys.exit("a text that resembles none was dropped")
        dropped[pairs[found["pair"]][0]] += 1
    plan = json.loads(run([*tool_of(build, "--near", str(options.near)), "--dry-run", "--json", path])[1])
    bands, rows = plan["bands"], plan["rows"]
    rows_of_table = []
    for wanted in SIMILARITIES:
        known = exact[wanted]
        expected = sum(1 - (1 - similarity ** rows) ** bands for similarity in known) / len(known)
        found = dropped[wanted] / len(known)
        rows_of_table.append({"similarity": sum(known) / len(known), "pairs": len(known), "curve": expected,
                              "dropped": found, "deviation": (expected * (1 - expected) / len(known)) ** 0.5})
    print(as_markdown(["Jaccard similarity", "pairs", "curve", "dropped"], [
        [f"{row['similarity']:.3f}", str(row["pairs"]), f"{100 * row['curve']:.2f} %", f"{100 * row['dropped']:.2f} %"]
        for row in rows_of_table]))
    save(build, "curve", rows_of_table)


# ---- Speed and memory ----------------------------------------------------------------------------------


def speed(build, options):
    """Beside the peer, on the same kind of text; memory of the filter and of the index."""
    folder = os.path.join(build, "bench-results", "data")
    os.makedirs(folder, exist_ok=True)
    whole, part = (make_corpus(build, folder, count) for count in (options.bytes, options.python_bytes))
    line = tool_of(build, "--json", "--near", str(options.near))
    best = {}
    for _ in range(options.rounds):
        for name, arguments, stdin, path in (("bloomery dedupe --near", [*line, whole], None, whole),
                                             ("MinHash with numpy", [sys.executable, os.path.join(HERE, "near_peer.py")],
                                              part, part)):
            seconds, _, _ = run(arguments, stdin, kept=False)
            row = {"name": name, "mb_s": os.path.getsize(path) / seconds / 1e6,
                   "bytes": os.path.getsize(path)}
            if name not in best or row["mb_s"] > best[name]["mb_s"]:
                best[name] = row
    index = json.loads(run([sys.executable, os.path.join(HERE, "near_peer.py"), "--index", "100000"])[1])
    plan = json.loads(run([*tool_of(build, "--near", str(options.near)), "-n", "1000000", "--on-full=stop", "--dry-run",
                           "--json", part])[1])
    ours = next(row["bytes"] for row in plan["plans"] if abs(row["rate"] - 1e-5) < 1e-9) / 1e6
    first, second = best.values()
    print(as_markdown(["program", "MB", "MB/s a core"], [
        [row["name"], f"{row['bytes'] / 1e6:.0f}", f"{row['mb_s']:.2f}"] for row in best.values()]))
    print(f"\n{first['mb_s'] / second['mb_s']:.0f} times as fast. A document takes {ours:.1f} bytes of a filter with a rate of "
          f"1e-5, and {index['bytes_a_document']:.0f} bytes of the index: {index['bytes_a_document'] / ours:.0f} times as much.")
    save(build, "speed", {"rows": list(best.values()), "index": index, "filter_bytes_a_document": ours})


# ---- Real text -----------------------------------------------------------------------------------------


def texts_of_packages(most):
    """(path, text) of what packages bring."""
    found = []
    for folder in ("/usr/share/doc", "/usr/share/man/man1", "/usr/share/man/man3", "/usr/share/man/man8", "/usr/share/perl"):
        for at, folders, names in os.walk(folder):
            folders.sort()
            found += [os.path.join(at, name) for name in sorted(names) if not name.endswith((".png", ".svg", ".html", ".js"))]
    for path in found[:most]:
        try:
            with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
                yield path, file.read(200000).decode()
        except (OSError, EOFError, UnicodeDecodeError):
            continue


def text(build, options):
    """What is dropped, and what each document resembles in truth: by an inverted index of all shingles."""
    path = os.path.join(build, "bench-results", "near-text.jsonl")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    sets = []
    with open(path, "w", encoding="utf-8") as file:
        for name, content in texts_of_packages(options.files):
            sets.append(shingles_of(content))
            file.write(json.dumps({"number": len(sets) - 1, "path": name, "text": content}) + "\n")
    start = time.monotonic()
    near = run([*tool_of(build, "--json", "--near", str(options.near)), path])
    exact = run([*tool_of(build, "--json"), path])
    kept = {json.loads(line)["number"] for line in near[1].splitlines()}
    postings, found = {}, {"dropped": Counter(), "kept": Counter()}
    for number, shingles in enumerate(sets):
        shared = Counter(other for shingle in shingles for other in postings.get(shingle, ()))
        best = max((count / (len(shingles) + len(sets[other]) - count) for other, count in shared.items()), default=0)
        if shingles:
            found["kept" if number in kept else "dropped"][min(int(best * 20 + 1e-9), 20)] += 1
        if number in kept:
            for shingle in shingles:
                postings.setdefault(shingle, []).append(number)
    report, whole = (json.loads(said[said.index("{"):]) for said in (near[2], exact[2]))
    print(f"{len(sets)} documents, {report['input_bytes'] / 1e6:.0f} MB: --near drops {report['documents_dropped']}, "
          f"exact comparison {whole['documents_dropped']} ({time.monotonic() - start:.0f} s with the true similarities)\n")
    print(as_markdown(["similarity to the nearest earlier kept document", "documents", "dropped"], [
        [f"{step / 20:.2f} to {step / 20 + 0.05:.2f}" if step < 20 else "1", str(found["kept"][step] + found["dropped"][step]),
         f"{found['dropped'][step]}"] for step in range(21) if found["kept"][step] + found["dropped"][step] > 0]))
    save(build, "text", {"documents": len(sets), "near": report, "exact": whole, "found": found})


def main():
    """Measures and shows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("curve", "speed", "text"))
    parser.add_argument("build")
    parser.add_argument("--near", type=float, default=0.8)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--bytes", type=size, default=200 * 10 ** 6)
    parser.add_argument("--python-bytes", type=size, default=4 * 10 ** 6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=20000)
    options = parser.parse_args()
    {"curve": curve, "speed": speed, "text": text}[options.what](os.path.abspath(options.build), options)


if __name__ == "__main__":
    main()
