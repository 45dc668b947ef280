#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bloomery files whose header names another dialect than the one whose filter they hold: their checksums are
right and their shape is sound, and still no part of the named dialect may trust it. Nothing ends the program or reads
past the filter; what is not of that dialect is not written as one of its filters."""

import os
import struct
import sys

from dialect import HERE, Driver, Refused, main, property_test

sys.path.insert(0, os.path.join(HERE, "..", "reference"))
from hashes import xxh3_64  # noqa: E402

SPAN = 65536

# Small arrays with many probes: code that takes them for larger ones leaves them.
SAMPLES = [
    ("guava", {"bits": 64, "probes": 255}),
    ("guava", {"bits": 8192, "probes": 255}),
    ("bits-and-blooms", {"bits": 77, "probes": 200}),
    ("dcso", {"bits": 100, "probes": 1000}),
    ("clickhouse", {"bytes": 9, "probes": 1000}),
    ("clickhouse-index", {"keys": 9, "bytes": 77, "probes": 15}),
    ("parquet", {"bits": 256}),
    ("redisbloom", {"keys": 10, "rate": 0.01}),
    ("rocksdb", {"bits": 512, "probes": 3}),
    ("leveldb", {"bits": 64, "probes": 3}),
    ("libbloom", {"keys": 1000, "rate": 0.01}),
    ("orc", {"bits": 64, "probes": 1024}),
    ("spark", {"bits": 64, "probes": 1024}),
    ("cassandra", {"bits": 64, "probes": 1024}),
    ("simple-hash", {"bits": 8}),
]


def forged(data, dialect):
    """The file with another dialect in its header, and all checksums right."""
    data = bytearray(data)
    offset, payload = struct.unpack_from("<QQ", data, 24)
    end = offset + payload
    data[60:64] = struct.pack("<I", dialect)
    data[120:128] = bytes(8)
    seal = xxh3_64(bytes(data[:offset]))
    data[120:128] = struct.pack("<Q", seal)
    sums = b"".join(struct.pack("<Q", xxh3_64(bytes(data[at:min(at + SPAN, end)]), seal))
                    for at in range(offset, end, SPAN))
    return bytes(data[:end]) + sums + struct.pack("<Q", xxh3_64(sums, seal))


@property_test
def the_dialect_of_a_file_is_not_believed(check):
    """Every sample under every other number."""
    refused = 0
    with Driver() as driver:
        path = driver.path("forged")
        for name, parameters in SAMPLES:
            driver.create(name, **parameters)
            driver.add(b"a")
            driver.ask_line("save", path)
            with open(path, "rb") as file:
                good = file.read()
            for dialect in range(1, 19):
                with open(path, "wb") as file:
                    file.write(forged(good, dialect))
                driver.ask_line("open", path)
                driver.remarks()
                driver.info(scan=True)
                check.equal(driver.ask(b"a"), 1, f"{name} as {dialect} has its key")
                try:
                    driver.written()
                except Refused as error:
                    check.true("MISMATCH" in str(error), f"{name} as {dialect}: {error}")
                    refused += 1
    check.true(refused > 200, f"only {refused} were refused")


if __name__ == "__main__":
    main()
