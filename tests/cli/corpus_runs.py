# SPDX-License-Identifier: Apache-2.0
"""What the tests of dedupe --unit share: the command's line, corpora, and what the model makes of them.

Rates are so low that a wrong removal would be a wonder. BLOOMERY_BLOCK_BYTES makes chunks so small that
every input has many, where the build has that switch.
"""

import json
import os
import sys
import time

import corpora

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "reference"))
import corpus_model as model  # noqa: E402  pylint: disable=wrong-import-position

RATE = "-p 1e-12"
UNITS = ("document", "paragraph", "ngram")
FILES = ("a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl", "e.jsonl")


def text_of(lines):
    """Lines as a file."""
    return b"".join(line + b"\n" for line in lines)


def dedupe_line(unit, more=""):
    """The command without its inputs."""
    return f"dedupe --unit {unit} --jsonl text {RATE} {more}"


def quiet(unit, more=""):
    """The same without a report; lines that are not JSON are still reported."""
    return dedupe_line(unit, "-q " + more)


def corpus(count=600, seed=1, **more):
    """Documents; those of n-grams are UTF-8 all."""
    return corpora.documents(count, seed, **more)


def files(c, count=150, names=FILES, folder="in", odd=True):
    """Some files of one corpus in a folder. Returns all of their lines, by name."""
    lines = corpus(count * len(names), 7, odd=odd)
    os.makedirs(c.path(folder), exist_ok=True)
    parts = {}
    for i, name in enumerate(names):
        parts[name] = lines[i * count:(i + 1) * count]
        c.file(f"{folder}/{name}", text_of(parts[name]))
    return parts


def model_files(parts, unit, **more):
    """What comes out of each of the files, judged in their order."""
    known, made = set(more.pop("against", ())), {}
    for name, lines in parts.items():
        made[name] = model.dedupe(lines, unit=unit, against=known, **more).lines
        if more.get("add", True):
            known |= model.keys_of(lines, unit=unit, ngram=more.get("ngram", 13))
    return made


def expect_files(c, folder, expected, what=""):
    """Each file of the folder has these lines, and no other file is there but hidden ones."""
    names = sorted(name for name in os.listdir(c.path(folder)) if not name.startswith("."))
    c.expect(names == sorted(expected), f"{what}{folder} has {names}")
    for name, lines in expected.items():
        c.expect(c.read(f"{folder}/{name}") == text_of(lines), f"{what}{folder}/{name} differs")


def kill_at(c, line, folder, outputs):
    """Starts the command and kills it once `outputs` outputs are there, unless it is faster."""
    process = c.start(line)
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        if os.path.isdir(c.path(folder)):
            if sum(not name.startswith(".") for name in os.listdir(c.path(folder))) >= outputs:
                break
    process.kill()
    process.wait()


def report_of(c, line, **more):
    """The report as JSON, from a run that writes the file `reported`."""
    _, said = c.run(f"{line} --json -o reported", stdout=None, stderr=None, **more)
    return json.loads(said[said.index(b"{"):])
