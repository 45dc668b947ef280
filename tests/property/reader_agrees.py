#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A reader that was written from docs/format.md agrees with the library about every file.

tests/reference/format_reader.py is that reader. Here the library makes filters of every kind (by way
of reader_twin.c), and both say what is in them and answer the same keys; then files are changed in
every byte before the payload, sealed again, and both have to accept or refuse them, for the same
reason. The page's worked example is compared with what the command writes.

    reader_agrees.py [PART OF A NAME]...        BLOOMERY_TWIN, BLOOMERY_TOOL: the programs
"""

import json
import os
import re
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "tests", "reference")]

import format_reader as reader  # pylint: disable=wrong-import-position
from hashes import xxh3_64  # pylint: disable=wrong-import-position
from runner import case, main  # pylint: disable=wrong-import-position

TWIN = os.path.abspath(os.environ.get("BLOOMERY_TWIN", "build/tests/property/reader_twin"))
KEY = bytes(range(1, 17)).hex()
STATUSES = {
    "BLOOMERY_NOT_A_FILTER": reader.NO_FILTER, "BLOOMERY_TRUNCATED": reader.CUT_SHORT,
    "BLOOMERY_WRONG_VERSION": reader.LATER, "BLOOMERY_CORRUPT": reader.DAMAGED,
    "BLOOMERY_UNSUPPORTED": reader.UNSUPPORTED, "BLOOMERY_KEY_NEEDED": reader.KEY_NEEDED,
    "BLOOMERY_OK": None,
}

# XXH3 changes its algorithm at 17, 129 and 241 bytes and its block at 1025; SipHash takes words of 8.
LENGTHS = [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 128, 129, 240, 241, 1024, 1025, 5000]


def pattern(size, number):
    """`size` bytes, of which all values occur, others for each number."""
    return bytes((i * i + 31 * i * number + number) >> 1 & 255 for i in range(size))


def present_keys():
    return [pattern(size, 1) for size in LENGTHS] + [b"key-%d" % i for i in range(150)]


def absent_keys():
    return [pattern(size, 2) for size in LENGTHS if size > 0] + [b"other-%d" % i for i in range(150)]


def packed(*parts):
    """Each part behind its length, as the twin reads them."""
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def run_twin(arguments, stdin):
    """What the twin prints."""
    done = subprocess.run([TWIN, *arguments], input=stdin, stdout=subprocess.PIPE, timeout=60,
                          check=True)
    return done.stdout


def make(c, keys, kind=reader.BLOCKED, bits=512 * 16, probes=5, lines=1, planned=100, rate=0.01,
         seed=0, key="", note="", rule=(0, 0, 0)):
    """A filter made by the library; its file's bytes."""
    numbers = [kind, bits, probes, lines, planned, rate, seed, key, note, *rule]
    run_twin(["make", c.path("f.bloom"), *map(str, numbers)], packed(*keys))
    return c.read("f.bloom")


def library_says(files, keys=(), key=""):
    """What the library finds in files: for each the object that the twin prints."""
    asked = struct.pack("<I", len(keys)) + packed(*keys)
    lines = run_twin(["read", key], b"".join(packed(file) + asked for file in files)).splitlines()
    assert len(lines) == len(files)
    return [json.loads(line) for line in lines]


def reader_says(file, keys=(), key=""):
    """The same, by the reader."""
    try:
        filter_ = reader.parse(file, bytes.fromhex(key) if key else None)
    except reader.Refused as refused:
        return {"opened": refused.answer, "answers": ""}
    said = {"opened": None, "verified": None, "info": reader.info(filter_)}
    note = filter_.body(reader.NOTE)
    said["info"]["note"] = note.partition(b"\0")[0].hex() if note else None
    try:
        reader.verify(filter_)
    except reader.Refused as refused:
        said["verified"] = refused.answer
    said["answers"] = "".join(str(int(reader.may_contain(filter_, one))) for one in keys)
    return said


def compare(c, what, theirs, ours):
    """Fails the case where the library's object and the reader's differ."""
    for name in ("opened", "verified"):
        if name in theirs:
            theirs[name] = STATUSES[theirs[name]]
    for name in sorted(set(theirs) | set(ours)):
        one, other = theirs.get(name), ours.get(name)
        if name == "info" and one is not None and other is not None:
            compare(c, what, one, other)
        else:
            c.expect(one == other, f"{what}: {name}: the library says {one}, the reader {other}")
