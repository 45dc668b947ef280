#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A reader that follows docs/format.md agrees with the library about every file.

tests/reference/format_reader.py is that reader. Here the library makes filters of every kind (by way
of reader_twin.c), and both say what is in them and answer the same keys; then files are changed in
every byte before the payload, sealed again, and both have to accept or refuse them, for the same
reason. The page's worked example is compared with what the command writes.

    reader_agrees.py [PART OF A NAME]...        BLOOMERY_TWIN, BLOOMERY_TOOL: the programs
"""

import json
import os
import re
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "tests", "reference")]

# pylint: disable=wrong-import-position
import format_reader as reader
import hashes
from runner import EMULATOR, Difference, Skip, case, main

# Without libsodium the library reads no keyed filters.
KEYED = "BLOOMERY_TEST_NO_SODIUM" not in os.environ
TWIN = os.path.abspath(os.environ.get("BLOOMERY_TWIN", "build/tests/property/reader_twin"))
KEY = bytes(range(1, 17)).hex()
STATUSES = {
    "BLOOMERY_NOT_A_FILTER": reader.NO_FILTER, "BLOOMERY_TRUNCATED": reader.CUT_SHORT,
    "BLOOMERY_WRONG_VERSION": reader.OTHER_VERSION, "BLOOMERY_CORRUPT": reader.DAMAGED,
    "BLOOMERY_UNSUPPORTED": reader.UNSUPPORTED, "BLOOMERY_SECRET_NEEDED": reader.KEY_NEEDED,
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
    done = subprocess.run([*EMULATOR, TWIN, *arguments], input=stdin, stdout=subprocess.PIPE, timeout=60,
                          check=True)
    return done.stdout


def make(c, keys, kind=reader.BLOCKED, bits=512 * 16, probes=5, lines=1, planned=100, rate=0.01,
         seed=0, key="", note="", rule=(0, 0, 0, 0), cell=0, hash_=0):
    """A filter made by the library; its file's bytes."""
    numbers = [kind, bits, probes, lines, planned, rate, seed, key, note, *rule, cell, hash_]
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
        return {"opened": refused.answer, "answers": []}
    said = {"opened": None, "verified": None, "info": reader.info(filter_)}
    note = filter_.body(reader.NOTE)
    said["info"]["note"] = note.partition(b"\0")[0].hex() if note else None
    try:
        reader.verify(filter_)
    except reader.Refused as refused:
        said["verified"] = refused.answer
    said["answers"] = [answer for one in keys
                       for answer in (int(reader.may_contain(filter_, one)), reader.count(filter_, one))]
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


# ---- The same keys, the same facts -----------------------------------------------------------------

# Small ones, so that absent keys are answered both ways. m need not be even in classic filters; the
# largest ones have payloads of one whole span, of a line more, and of two and a rest.
SHAPES = [
    {"lines": 1, "probes": 1, "bits": 512},
    {"lines": 1, "probes": 5, "bits": 512 * 3},
    {"lines": 1, "probes": 8, "bits": 512 * 2},
    {"lines": 1, "probes": 7, "bits": 512 * 2, "hash_": reader.XXH3_128, "seed": 2},
    {"lines": 2, "probes": 4, "bits": 512 * 2, "seed": 1},
    {"lines": 2, "probes": 3, "bits": 512, "key": KEY, "note": "h\u00e4rd"},
    {"lines": 2, "probes": 8, "bits": 512 * 2, "hash_": reader.XXH3_128},
    {"lines": 3, "probes": 3, "bits": 512 * 3, "key": "-" + KEY},
    {"lines": 3, "probes": 6, "bits": 512 * 2, "seed": 2**64 - 1, "rule": (33, 44, -1, 35)},
    {"lines": 4, "probes": 1, "bits": 512 * 2},
    {"lines": 4, "probes": 2, "bits": 512 * 2, "seed": 2**63},
    {"lines": 4, "probes": 3, "bits": 512 * 2, "hash_": reader.XXH3_128},
    {"lines": 4, "probes": 8, "bits": 512 * 3},
    {"lines": 4, "probes": 5, "bits": 512 * 3, "key": KEY},
    {"lines": 1, "probes": 1, "bits": 2**19, "planned": 0, "rate": 0},
    {"lines": 3, "probes": 1, "bits": 2**19 + 512},
    {"kind": reader.CLASSIC, "lines": 0, "probes": 1, "bits": 1},
    {"kind": reader.CLASSIC, "lines": 0, "probes": 2, "bits": 511, "seed": 2**63 + 5},
    {"kind": reader.CLASSIC, "lines": 0, "probes": 5, "bits": 1001, "key": KEY},
    {"kind": reader.CLASSIC, "lines": 0, "probes": 4, "bits": 997, "note": "n" * 4000},
    {"kind": reader.CLASSIC, "lines": 0, "probes": 4, "bits": 999, "hash_": reader.XXH3_128},
    {"kind": reader.CLASSIC, "lines": 0, "probes": 64, "bits": 3000, "seed": 7, "planned": 2**48},
    {"kind": reader.CLASSIC, "lines": 0, "probes": 3, "bits": 2**20 + 777, "key": "-" + KEY},
    {"kind": reader.COUNTING, "lines": 1, "probes": 5, "bits": 512 * 3},
    {"kind": reader.COUNTING, "lines": 3, "probes": 7, "bits": 512, "cell": 4, "seed": 9},
    {"kind": reader.COUNTING, "lines": 2, "probes": 7, "bits": 512 * 3, "cell": 8, "key": KEY},
    {"kind": reader.COUNTING, "lines": 4, "probes": 8, "bits": 512, "cell": 8},
    {"kind": reader.COUNTING, "lines": 4, "probes": 2, "bits": 512 * 2, "hash_": reader.XXH3_128},
    {"kind": reader.COUNTING, "lines": 1, "probes": 8, "bits": 512 * 2, "cell": 8, "note": "n"},
    {"kind": reader.SCALABLE, "lines": 1, "probes": 6, "bits": 512 * 3, "planned": 20, "rate": 0.01},
    {"kind": reader.SCALABLE, "lines": 2, "probes": 4, "bits": 512 * 5, "planned": 3, "rate": 0.25},
    {"kind": reader.SCALABLE, "lines": 4, "probes": 2, "bits": 512 * 5, "planned": 30, "rate": 0.1,
     "hash_": reader.XXH3_128},
    {"kind": reader.SCALABLE, "lines": 3, "probes": 3, "bits": 2**19 + 512, "key": KEY},
]


# Rates with one and two numbers of columns, and of one, two and three planes.
STATIC_RATES = [0.75, 0.5, 0.3, 0.1, 0.02, 1 / 256, 1e-3, 1e-4, 1 / 65536, 1e-6]


@case
def reader_and_library_agree_about_static_filters(c):
    some = present_keys()
    many = some + [b"key %d" % i for i in range(12000)]
    more = {"seed": 7, "note": "n"}
    shapes = [(keys, {"rate": rate, **(more if len(keys) < 100 else {})})
              for rate in STATIC_RATES for keys in ([], some[:1], some[:40], some)]
    shapes += [(many, {"rate": 0.004}), (many[:7000], {"rate": 0.3})]
    if KEYED:
        shapes += [(some, {"rate": 0.01, "key": KEY}), (some, {"rate": 0.1, "key": "-" + KEY})]
    found = 0
    for keys, shape in shapes:
        file = make(c, keys, kind=reader.STATIC, lines=0, **shape)
        key = shape.get("key", "").removeprefix("-")
        asked = keys[-600:] + absent_keys()
        theirs, ours = library_says([file], asked, key)[0], reader_says(file, asked, key)
        what = f"{len(keys)} keys, {shape}"
        compare(c, what, theirs, ours)
        c.expect(ours["opened"] is None and ours["verified"] is None, f"{what}: {ours['opened']}")
        c.expect(0 not in ours["answers"][:2 * len(keys[-600:])], f"{what}: a key is denied")
        c.expect(ours["info"]["adds"] == len(keys), f"{what}: {ours['info']['adds']} keys")
        found += sum(ours["answers"][2 * len(keys[-600:])::2])
    # All of the bits in the planes' words count.
    c.expect(found > 500, f"{found} absent keys are found")


@case
def every_changed_byte_of_a_static_prefix_gets_the_same_answer(c):
    file = make(c, present_keys()[:40], kind=reader.STATIC, lines=0, rate=0.02)
    end = 128 + struct.unpack_from("<I", file, 16)[0]
    items = [(f"static: byte {at} is {value}, sealed",
              sealed(file[:at] + bytes([value]) + file[at + 1:]))
             for at in range(end)
             for value in {0, 1, 2, 3, 255, file[at] ^ 1, file[at] ^ 128} - {file[at]}]
    answers = judge(c, items)
    for answer in (reader.NO_FILTER, reader.CUT_SHORT, reader.OTHER_VERSION, reader.DAMAGED,
                   reader.UNSUPPORTED):
        c.expect(answers.get(answer, 0) > 0, f"never {answer}: {answers}")


@case
def reader_and_library_agree_about_every_shape(c):
    present, absent = present_keys(), absent_keys()
    verdicts = []
    shapes = [shape for shape in SHAPES if KEYED or "key" not in shape]
    for shape in shapes:
        file = make(c, present, **shape)
        key = shape.get("key", "").removeprefix("-")
        theirs = library_says([file], present + absent, key)[0]
        ours = reader_says(file, present + absent, key)
        compare(c, str(shape), theirs, ours)
        c.expect(ours["opened"] is None and ours["verified"] is None, f"{shape}: {ours}")
        c.expect(0 not in ours["answers"][:2 * len(present)], f"{shape}: a key is denied")
        c.expect(ours["info"]["adds"] == len(present), "adds are counted")
        verdicts.append(ours["answers"][2 * len(present)::2])
    # Were all answers the same, the positions might be anything.
    shares = [verdict.count(1) / len(verdict) for verdict in verdicts]
    c.expect(sum(0.02 < share < 0.9 for share in shares) >= 15, f"shares: {shares}")


@case
def empty_filter_denies_every_key(c):
    file = make(c, [])
    theirs, ours = library_says([file], absent_keys())[0], reader_says(file, absent_keys())
    compare(c, "no keys", theirs, ours)
    c.expect(not any(ours["answers"]), "a key is in the empty filter")


@case
def disagreement_is_seen(c):
    file = make(c, present_keys())
    other = bytearray(file)
    other[struct.unpack_from("<Q", file, 24)[0] + 100] ^= 255
    for what, bent in (("payload", bytes(other)), ("another filter", make(c, [b"a"])),
                       ("size", file[:-1]), ("magic", b"?" + file[1:])):
        try:
            compare(c, what, library_says([file], present_keys())[0],
                    reader_says(bent, present_keys()))
        except Difference:
            continue
        c.expect(False, f"{what}: not seen")


# ---- Files that are not as they should be ----------------------------------------------------------

def sealed(file):
    """The file with its header's checksum made right, where its sizes allow that."""
    file = bytearray(file)
    offset = struct.unpack_from("<Q", file, 24)[0]
    if 128 <= offset <= len(file):
        file[120:128] = bytes(8)
        struct.pack_into("<Q", file, 120, hashes.xxh3_64(bytes(file[:offset])))
    return bytes(file)


def forged(file, records, gap=0):
    """The file with other records, each (type, flags, claimed size or None, body), and all checksums
    right; `gap` bytes more before the payload."""
    offset, size = struct.unpack_from("<QQ", file, 24)
    payload = file[offset:offset + size]
    parts = b"".join(struct.pack("<HHI", kind, flags, len(body) if claimed is None else claimed)
                     + body + bytes(-len(body) % 8) for kind, flags, claimed, body in records)
    head = bytearray(file[:128])
    offset = (128 + len(parts) + 63) // 64 * 64 + gap
    struct.pack_into("<I", head, 16, len(parts))
    struct.pack_into("<Q", head, 24, offset)
    head = sealed((bytes(head) + parts).ljust(offset, b"\0"))
    seed = struct.unpack_from("<Q", head, 120)[0]
    sums = b"".join(struct.pack("<Q", hashes.xxh3_64(payload[at:at + 65536], seed))
                    for at in range(0, size, 65536))
    return head + payload + sums + struct.pack("<Q", hashes.xxh3_64(sums, seed))


def records_of(file):
    """The records of a file that is well, as `forged` takes them."""
    records, at = [], 128
    end = at + struct.unpack_from("<I", file, 16)[0]
    while at < end:
        kind, flags, size = struct.unpack_from("<HHI", file, at)
        records.append((kind, flags, None, file[at + 8:at + 8 + size]))
        at += 8 + (size + 7) // 8 * 8
    return records


def judge(c, items, key=""):
    """Both judge files, given as (what, bytes). Returns how often which answer was given."""
    answers = {}
    for (what, file), theirs in zip(items, library_says([file for _, file in items], key=key)):
        ours = reader_says(file, key=key)
        if theirs.get("info"):
            # Bloomery writes no gaps and no unknown records, so that its own copy may be shorter.
            theirs["info"]["file_bytes"] = len(file)
        compare(c, what, theirs, ours)
        answer = ours["opened"] or (ours["verified"] and "verify: damaged")
        answers[answer] = answers.get(answer, 0) + 1
    return answers


def small_files(c):
    """A file of each sort, with everything that a header can hold."""
    keys = present_keys()[:40]
    files = {
        "blocked": make(c, keys, lines=2, probes=6, bits=512 * 2, seed=3, note="hello"),
        "classic": make(c, keys, kind=reader.CLASSIC, lines=0, probes=7, bits=1001, rule=(1, 59, -1, 0)),
        "counting": make(c, keys, kind=reader.COUNTING, lines=2, probes=3, bits=512 * 2),
    }
    if KEYED:
        files["keyed"] = make(c, keys, bits=512, key=KEY, note="hello", rule=(1, 59, -1, 0))
        files["outside"] = make(c, keys, bits=512, key="-" + KEY)
    return files


@case
def every_changed_byte_gets_the_same_answer(c):
    for name, file in small_files(c).items():
        items = []
        offset = struct.unpack_from("<Q", file, 24)[0]
        for at in range(offset):
            for value in {0, 1, 2, 3, 255, file[at] ^ 1, file[at] ^ 128} - {file[at]}:
                changed = file[:at] + bytes([value]) + file[at + 1:]
                items.append((f"{name}: byte {at} is {value}, sealed", sealed(changed)))
        items += [(f"{name}: byte {at} is another", file[:at] + bytes([file[at] ^ 16]) + file[at + 1:])
                  for at in range(len(file))]
        answers = judge(c, items)
        for answer in (reader.NO_FILTER, reader.CUT_SHORT, reader.OTHER_VERSION, reader.DAMAGED,
                       reader.UNSUPPORTED, "verify: damaged"):
            c.expect(answers.get(answer, 0) > 0, f"{name}: never {answer}: {answers}")


@case
def every_other_length_is_cut_short(c):
    for name, file in small_files(c).items():
        items = [(f"{name}: the first {size} bytes", file[:size]) for size in range(len(file))]
        items += [(f"{name}: {more} bytes more", file + bytes(more)) for more in (1, 8, 64, 65544)]
        answers = judge(c, items)
        c.expect(answers == {reader.CUT_SHORT: len(items)}, f"{name}: {answers}")


ODD_RECORDS = [
    ("unknown", (99, 0, None, b"abc"), None),
    ("unknown, with flags", (99, 0xFFFE, None, b""), None),
    ("unknown and required", (99, 1, None, b"abc"), reader.OTHER_VERSION),
    ("of type 0", (0, 0, None, b""), None),
    ("of short dialect parameters", (4, 1, None, bytes(8)), reader.DAMAGED),
    ("of dialect parameters and no dialect", (4, 1, None, bytes(24)), reader.DAMAGED),
    ("of later dialect parameters", (4, 1, None, bytes(12) + b"1234"), reader.OTHER_VERSION),
    ("of dialect parameters, not required", (4, 0, None, bytes(16)), reader.DAMAGED),
    ("of a source", (6, 0, None, b"x"), None),
    ("that claims a byte more", (99, 0, 9, bytes(8)), reader.DAMAGED),
    ("that claims 4 GiB", (99, 0, 2**32 - 1, bytes(8)), reader.DAMAGED),
    ("with a second layer", (1, 1, None, bytes(64)), reader.DAMAGED),
    ("with a short layer", (1, 1, None, bytes(56)), reader.DAMAGED),
    ("with a rule", (2, 1, None, struct.pack("<IIiI", 2, 255, -2**31, 255)), None),
    ("with a rule, not required", (2, 0, None, struct.pack("<IIiI", 1, 0, 0, 0)), None),
    ("with an unknown rule", (2, 1, None, struct.pack("<IIiI", 4096, 0, 0, 0)),
     reader.OTHER_VERSION),
    ("with two cases", (2, 1, None, struct.pack("<IIiI", 6, 0, 0, 0)), reader.OTHER_VERSION),
    ("with a case of hex", (2, 1, None, struct.pack("<IIiI", 10, 0, 0, 0)), reader.OTHER_VERSION),
    ("with a long comment", (2, 1, None, struct.pack("<IIiI", 0, 0, 0, 256)), reader.OTHER_VERSION),
    ("with a delimiter and no field", (2, 1, None, struct.pack("<IIiI", 0, 44, 0, 0)),
     reader.OTHER_VERSION),
    ("with CSV and no field", (2, 1, None, struct.pack("<IIiI", 64, 0, 0, 0)),
     reader.OTHER_VERSION),
    ("with a delimiter that is not a byte", (2, 1, None, struct.pack("<IIiI", 0, 256, 1, 0)),
     reader.OTHER_VERSION),
    ("with a short rule", (2, 1, None, bytes(8)), reader.DAMAGED),
    ("with a key", (3, 1, None, bytes(range(1, 17))), reader.DAMAGED),
    ("with a short key", (3, 1, None, bytes(15)), reader.DAMAGED),
    ("with a note", (5, 0, None, b"zz"), None),
    ("with a required note", (5, 1, None, b"zz"), None),
    ("with an empty note", (5, 0, None, b""), None),
    ("with a note that is not UTF-8", (5, 0, None, b"\xff\xfe"), None),
    ("with a NUL in the note", (5, 0, None, b"a\0b"), None),
    ("with the longest note", (5, 0, None, bytes(4000)), None),
    ("with a longer note", (5, 0, None, bytes(4001)), reader.DAMAGED),
]


@case
def odd_records_get_the_same_answer(c):
    file = small_files(c)["blocked"]
    records = records_of(file)
    c.expect(forged(file, records) == file, "forging changes nothing by itself")
    records = [record for record in records if record[0] == reader.LINK]
    c.expect(judge(c, [("no layer", forged(file, []))]) == {reader.DAMAGED: 1}, "no layer")
    for what, record, answer in ODD_RECORDS:
        items = [(f"behind: a record {what}", forged(file, records + [record])),
                 (f"in front: a record {what}", forged(file, [record] + records))]
        got = judge(c, items)
        c.expect(got == {answer: 2}, f"a record {what}: {got}")
        if record[2] is not None:
            continue  # what it claims is there now
        known_once = answer is None and record[0] in reader.KNOWN
        got = judge(c, [(f"twice: {what}", forged(file, records + [record, record]))])
        c.expect(got == {reader.DAMAGED if known_once else answer: 1}, f"twice: {what}: {got}")


def with_link(file, at, layout, *values):
    """The file with numbers at an offset of its layer replaced."""
    records = records_of(file)
    body = bytearray(records[0][3])
    struct.pack_into(layout, body, at, *values)
    return forged(file, [(*records[0][:3], bytes(body)), *records[1:]])


@case
def limits_of_links_get_the_same_answer(c):
    files = small_files(c)
    shapes = [("blocked", [(8, 1), (1, 2), (8, 3), (8, 4), (1, 4)],
               [(9, 1), (64, 1), (0, 1), (9, 4), (1, 5), (1, 0), (2**31, 2), (2**32 - 1, 3),
                (1, 2**32 - 1)]),
              ("classic", [(1, 0), (64, 0)], [(0, 0), (65, 0), (1, 1)])]
    for name, good, bad in shapes:
        for pairs, answers in ((good, {None}), (bad, {reader.DAMAGED})):
            items = [(f"{name}: k and L {pair}", with_link(files[name], 8, "<II", *pair)) for pair in pairs]
            got = judge(c, items)
            c.expect(set(got) == answers, f"{name}: {pairs}: {got}")
    rates = [(0.0, None), (-0.0, None), (5e-324, None), (1.0, None), (1.0000000000000002, reader.DAMAGED),
             (-5e-324, reader.DAMAGED), (float("inf"), reader.DAMAGED), (float("nan"), reader.DAMAGED)]
    for rate, answer in rates:
        got = judge(c, [(f"rate {rate}", with_link(files["classic"], 24, "<d", rate))])
        c.expect(got == {answer: 1}, f"rate {rate}: {got}")
    # Its payload is two units long, which is 513 to 1024 bits; it was made with 1001.
    sizes = [(0, reader.DAMAGED), (1, reader.DAMAGED), (512, reader.DAMAGED), (513, "verify: damaged"),
             (1024, None), (1025, reader.DAMAGED), (2**50, reader.DAMAGED), (2**64 - 1, reader.DAMAGED)]
    for bits, answer in sizes:
        got = judge(c, [(f"m = {bits}", with_link(files["classic"], 0, "<Q", bits))])
        c.expect(got == {answer: 1}, f"m = {bits}: {got}")


@case
def payload_may_begin_later(c):
    for name, file in small_files(c).items():
        room = 16384 - struct.unpack_from("<Q", file, 24)[0]
        for gap, answer in ((64, None), (room, None), (room + 64, reader.DAMAGED), (8, reader.DAMAGED)):
            got = judge(c, [(f"{name}: {gap} bytes", forged(file, records_of(file), gap))])
            c.expect(got == {answer: 1}, f"{name}, {gap} bytes: {got}")


@case
def another_key_is_not_the_key(c):
    if not KEYED:
        raise Skip("the library was built without libsodium")
    files = small_files(c)
    for name, key, answer in (("outside", "", None), ("outside", KEY, None), ("keyed", KEY, None),
                              ("outside", "00" * 16, reader.KEY_NEEDED),
                              ("keyed", "00" * 16, reader.KEY_NEEDED), ("blocked", KEY, None)):
        got = judge(c, [(name, files[name])], key)
        c.expect(got == {answer: 1}, f"{name} with the key {key}: {got}")


# ---- The page and the commands ---------------------------------------------------------------------

def example():
    """The last section of the page."""
    with open(os.path.join(ROOT, "docs", "format.md"), encoding="utf-8") as page:
        return page.read().partition("\n## A worked example\n")[2]


@case
def worked_example_is_what_the_command_writes(c):
    text = example()
    command = re.search(r"printf 'bloom\\n' \| bloomery (build .*) -o one.bloom\n", text).group(1)
    c.run(f"{command} -q -o one.bloom", stdin="bloom\n")
    file = c.read("one.bloom")
    dump = re.findall(r"^([0-9a-f]{8})((?: +[0-9a-f]{2}){16})$", text, re.M)
    c.expect([int(at, 16) for at, _ in dump] == list(range(0, len(file), 16)), "the dump is whole")
    c.expect(bytes.fromhex("".join(line for _, line in dump)) == file, "the dump is the file")
    rows = re.findall(r"^\| (\d+) \| (?:`([0-9a-f ]+)`|(\d+) times `00`|(\d+) bytes) \|", text, re.M)
    end = 0
    for at, some, zeros, size in rows:
        c.expect(int(at) == end, f"the table of fields has a gap before {at}")
        part = bytes.fromhex(some) if some else bytes(int(zeros)) if zeros else file[end:end + int(size)]
        c.expect(file[end:end + len(part)] == part, f"the table of fields at {at}")
        end += len(part)
    c.expect(end == len(file), f"the table of fields ends at {end}")


def table_of_blocks(link, lo, hi):
    """What a key has in its blocks, as the page shows it: in one row, or in two if that is too long."""
    for j, block in enumerate(reader.lines_of(link, lo, hi)):
        within = ", ".join(str(bit % 512) for bit in block.bits)
        numbers = f"| {j} | 0x{block.x:016x} | {block.n} | 0x{block.w:016x} | {block.r} |"
        bits = f"{within} | {str(block.bits)[1:-1]} |"
        yield from ([f"{numbers} {bits}"] if len(block.bits) < 5 else [numbers, f"| {j} | {bits}"])


def link_of(bits, probes, lines):
    return reader.Link(bits, probes, lines, 0, 0, 0, 0, 0, 0)


@case
def blocks_of_the_worked_example_are_right(c):
    text = example()
    hi, wide, cone = hashes.xxh3_64(b"bloom"), hashes.xxh3_128(b"bloom"), hashes.xxh3_64(b"cone")
    c.expect(f"prints {hi:016x}:" in text, "XXH3-64")
    c.expect(f"prints {wide[1]:016x}{wide[0]:016x}," in text, "XXH3-128")
    c.expect(f"`cone` has `hi` = 0x{cone:016x}" in text, "the counted key")
    rows = [*table_of_blocks(link_of(1024, 2, 2), 0, hi),
            *table_of_blocks(link_of(51200, 3, 4), 0, hi),
            *table_of_blocks(link_of(51200, 5, 2), *wide),
            *table_of_blocks(link_of(512, 3, 2), 0, cone)]
    for j, line in enumerate(reader.lines_of(link_of(1024, 2, 2), 0, hi)):
        for bit in line.bits:
            word = bit % 512 // 64
            rows.append(f"| {j}, {line.n} | {word} | (w >> {6 * word}) & 63 = {bit % 64} | {bit} | "
                        f"{bit // 8}, {256 + bit // 8} | {bit % 8}: `{1 << bit % 8:02x}` |")
    named = [line.bits for line in reader.lines_of(link_of(512, 3, 2), 0, cone)]
    for counter in sorted({*named[0], *named[1]}):
        which = [str(j) for j in range(2) if counter in named[j]]
        rows.append(f"| {counter} | {', '.join(which)} | {len(which)} | {counter // 2}: "
                    f"`{len(which) << 4 * (counter % 2):02x}` | {counter}: `{len(which):02x}` |")
    for row in rows:
        c.expect(row + "\n" in text, row)
    c.expect(len(rows) == 2 + 4 + 4 + 2 + 4 + 5, f"{len(rows)} rows")


@case
def the_counted_key_of_the_worked_example_is_in_the_file(c):
    for cell in (4, 8):
        file = make(c, [b"cone"], kind=reader.COUNTING, bits=512, probes=3, lines=2, cell=cell)
        column = 4 if cell == 4 else 5
        rows = [line.split("|") for line in example().splitlines()
                if re.match(r"\| \d+ \| (0|1|0, 1) \|", line)]
        cells = [row[column].split(": ") for row in rows]
        want = {int(at): int(value.strip(" `"), 16) for at, value in cells}
        begin, size = struct.unpack_from("<QQ", file, 24)
        found = {at: value for at, value in enumerate(file[begin:begin + size]) if value != 0}
        c.expect(len(want) == 5 and found == want, f"{cell} bits: {found}, not {want}")


@case
def other_numbers_of_the_worked_example_are_right(c):
    text = example()
    hi, wide = hashes.xxh3_64(b"bloom"), hashes.xxh3_128(b"bloom")
    step, words = reader.classic_step(0, hi), " ".join(text.split())
    c.expect(f"s = mix64(hi) | 1 = 0x{step:016x}" in words, "the step")
    for i, position in enumerate(reader.classic_positions(link_of(512, 3, 0), 0, hi)):
        x = hi + i * step & reader.M64
        row = (f"| {i} | 0x{x:016x} | 0x{reader.mix64(x):016x} | {position} | {position // 8} | "
               f"{position % 8}: `{1 << position % 8:02x}` |\n")
        c.expect(row in text, row)
    first, second, third = reader.classic_positions(link_of(512, 3, 0), *wide)
    c.expect(f"s = mix64(hi ^ lo) | 1 = 0x{reader.classic_step(*wide):016x}, and the positions "
             f"{first}, {second} and {third}." in words, "128 bits in a classic filter")
    secret = bytes(range(16))
    c.expect(f"fingerprint is 0x{reader.fingerprint(secret):016x}" in words, "fingerprint")
    rows = re.findall(r"^\| (.+) \| (XXH3-64|XXH3-128|SipHash-2-4-128)(?:, seed (\d))?"
                      r" \| (0|0x\w+) \| (0x\w+) \|$", text, re.M)
    c.expect(len(rows) == 11, f"{len(rows)} hashes")
    keys = {"empty": b"", "`bloom`": b"bloom", "1000 times `x`": b"x" * 1000}
    for name, hash_, seed, *pair in rows:
        key, want = keys[name], None
        if hash_ == "XXH3-64":
            want = (0, hashes.xxh3_64(key, int(seed)))
        else:
            want = hashes.xxh3_128(key, int(seed)) if seed else hashes.siphash_128(key, secret)
        c.expect(tuple(int(number, 16) for number in pair) == want, f"{name}, {hash_}, seed {seed}")


def run_reader(c, *arguments, stdin=b"", code=0):
    """The reader's command; its output."""
    script = os.path.join(ROOT, "tests", "reference", "format_reader.py")
    done = subprocess.run([sys.executable, script, *arguments], cwd=c.directory, input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    c.expect(done.returncode == code, f"{arguments}: {done.returncode}, not {code}")
    return done.stdout


@case
def the_two_commands_agree(c):
    lines = b"".join(b"in-%d\n" % i for i in range(200)) + b"\n"
    asked = b"".join(b"out-%d\n" % i for i in range(300)) + lines
    for options in ("", "--kind classic", "--blocks 3 --seed 12345", "--blocks 1", "--kind scalable",
                    "--kind counting --blocks 2", "--note 'a note'", "--folds 2",
                    *(["--keyed"] if KEYED else [])):
        c.run(f"build -q -n 201 -p 0.1 {options} -o f.bloom", stdin=lines)
        answers, _ = c.run("query f.bloom", stdin=asked, stdout=None)
        c.expect(len(lines) < len(answers) < len(asked), "some absent keys are found, not all")
        c.expect(run_reader(c, "f.bloom", "query", stdin=asked) == answers, f"{options}: answers")
        ours = json.loads(run_reader(c, "f.bloom", "info"))
        theirs = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])
        said = {"links": "layers", "lines": "blocks_per_key", "key_in_file": "secret_in_file"}
        for name in ("format_version", "links", "lines", "probes", "bits", "bytes", "file_bytes", "note",
                     "adds", "planned_keys", "planned_rate", "wanted_rate", "key_in_file", "bits_set"):
            found = theirs[said.get(name, name)]
            c.expect(ours[name] == found, f"{options}: {name}: {ours[name]}, {found}")
        run_reader(c, "f.bloom", "verify")
        c.run("inspect --verify f.bloom", stdout=None)
        damaged = bytearray(c.read("f.bloom"))
        damaged[-20] ^= 1
        c.file("f.bloom", bytes(damaged))
        run_reader(c, "f.bloom", "verify", code=2)
        c.run("inspect --verify f.bloom", stdout=None, stderr=None, code=1)


@case
def golden_files_are_read(c):
    folder = os.path.join(ROOT, "tests", "vectors")
    keys = [b"%d" % number for number in range(1500)]
    files = sorted(name for name in os.listdir(folder) if name.startswith("golden-v"))
    refused = 0
    for name in files:
        key = b"a golden secret!".hex() if "key" in name else ""
        if key and not KEYED:
            continue
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        ours = reader_says(data, keys, key)
        if "cuckoo" in name:  # cuckoo filters have a dialect, and the reader reads none
            c.expect(ours["opened"] == reader.UNSUPPORTED, f"{name}: {ours['opened']}")
            continue
        compare(c, name, library_says([data], keys, key)[0], ours)
        refused += ours["opened"] is not None
        want = reader.OTHER_VERSION if "-v1-" in name else None
        c.expect(ours["opened"] == want, f"{name}: {ours['opened']}")
    c.expect(refused == 1 and len(files) > 20, f"{refused} of {len(files)} are refused")


@case
def hashes_are_the_published_ones(c):
    if shutil.which("xxhsum") is None:
        raise Skip("no xxhsum here (Debian: xxhash)")
    c.expect(not hashes.differences(), hashes.differences())


if __name__ == "__main__":
    main()
