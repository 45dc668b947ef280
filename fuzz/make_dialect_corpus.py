#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the first inputs of the fuzz targets of other systems' loaders (fuzz/dialect.c).

    BLOOMERY_DIALECT_DRIVER=BUILD/tests/dialect/driver fuzz/make_dialect_corpus.py [DIALECT...]

For each dialect some small filters, empty and with keys, of each variant, in fuzz/corpus/dialect-NAME. A row
says what to create, and what to load it with.
"""

import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "dialect"))

from dialect import Driver, Refused  # pylint: disable=wrong-import-position,import-error

KEYS = [b"", b"a", b"bloom", b"850101312345", b"http://example.org/?q=1"]

PLAN = {"keys": 20, "rate": 0.01}

# Dialect: rows of (create, load): what to make, and what to read it with.
ROWS = {
    "bits-and-blooms": [(PLAN, {})],
    "cassandra": [(PLAN, {}), ({**PLAN, "variant": "old"}, {"variant": "old"})],
    "clickhouse": [({"bytes": 40, "probes": 3}, {"probes": 3})],
    "clickhouse-index": [({"keys": 20, "rate": 0.025}, {"probes": 4})],
    "dcso": [(PLAN, {})],
    "guava": [(PLAN, {}), ({**PLAN, "variant": "mitz32"}, {})],
    "leveldb": [({"keys": 20, "bits_per_key": 10.0}, {})],
    "libbloom": [({"keys": 1000, "rate": 0.01}, {}),
                 ({"keys": 1000, "rate": 0.1, "variant": "1.6"}, {"keys": 1000, "rate": 0.1, "variant": "1.6"})],
    "md5-chain": [({"bits": 100, "probes": 3}, {"bits": 100, "probes": 3})],
    "orc": [(PLAN, {})],
    "parquet": [({"bytes": 64}, {})],
    "pybloom-live": [(PLAN, {}), ({**PLAN, "growth": 2}, {})],
    "redisbloom": [({"keys": 4, "rate": 0.01, "growth": 2}, {}), ({"keys": 20, "rate": 0.01}, {})],
    "redisbloom-cuckoo": [({"keys": 4, "growth": 2}, {}), ({"keys": 16, "slots": 4, "iterations": 500}, {}),
                          ({"keys": 6, "slots": 3, "variant": "nonscaling"}, {})],
    "rocksdb": [({"keys": 20, "bits_per_key": 10.0}, {}), ({"keys": 20, "bits_per_key": 10.0, "variant": "legacy"}, {})],
    "sieve-murmur3": [({"bits": 200, "probes": 3}, {"bits": 200, "probes": 3})],
    "simple-hash": [({"bits": 512}, {"bits": 512})],
    "sha384-slices": [({"variant": "trimmed"}, {"variant": "trimmed"})],
    "spark": [(PLAN, {}), ({**PLAN, "variant": "v1"}, {})],
}

# What takes parameters has the 24 bytes of fuzz/dialect.c in front.
WITHOUT = {"bits-and-blooms", "dcso", "guava", "rocksdb", "redisbloom", "redisbloom-cuckoo"}


def prefix(load, variants):
    """The 24 bytes."""
    number = load.get("bytes") or load.get("keys") or 0
    fraction = load.get("rate") or load.get("bits_per_key") or 0.0
    variant = variants.index(load["variant"]) if "variant" in load else 0
    return struct.pack("<BBHIIId", variant, load.get("columns", 0), load.get("probes", 0), load.get("index", 0),
                       load.get("bits", 0), number, fraction)


def facts(driver):
    """Dialect: its variants."""
    found = {}
    driver.process.stdin.write("list\n")
    driver.process.stdin.flush()
    while (line := driver.line()) != "end":
        words = dict(word.split("=", 1) for word in line.split("\t") if "=" in word)
        found[words["name"]] = words["variants"].split(", ")
    return found


def make(driver, name, create, keys):
    """The bytes of a filter with these keys; None where it can't be made here."""
    driver.create(name, **create)
    for key in keys:
        try:
            driver.add(key)
        except Refused:
            pass
    return driver.written()


def main():
    """Writes the inputs."""
    with Driver() as driver:
        known = facts(driver)
        for name in sys.argv[1:] or ROWS:
            folder = os.path.join(HERE, "corpus", "dialect-" + name)
            os.makedirs(folder, exist_ok=True)
            for number, (create, load) in enumerate(ROWS[name]):
                for keys in ([], KEYS):
                    data = make(driver, name, create, keys)
                    if len(data) > 65536:
                        data = b"\x01\x00\x80"  # a filter of a size of its own, cut after its last bit
                    if name not in WITHOUT:
                        data = prefix(load, known[name]) + data
                    with open(os.path.join(folder, f"{number}-{'some' if keys else 'empty'}.input"), "wb") as file:
                        file.write(data)


main()
