# SPDX-License-Identifier: Apache-2.0
"""Parquet's split block filters: vectors made by parquet-java and by ClickHouse, files of parquet-testing, and the
scheme written down a second time."""

import datetime
import math
import random
import struct

from dialect import Driver, hostile, main, property_test, statistics, vectors
from storage_rates import check_rate
from storage_reference import (SALTS, keys_of_all_lengths, parquet_filter, parquet_header, parquet_positions, xxh64)


def plain(value, kind):
    """A value as Parquet encodes it: its bytes, or a number, little-endian."""
    if kind == "int64":
        return struct.pack("<q", int(value))
    if kind == "int32":
        return struct.pack("<i", int(value))
    data = bytes.fromhex(value)
    return data[::-1] if kind in ("double", "float") else data


@property_test
def hashes_are_xxh64(check):
    with Driver() as driver:
        for row in vectors("hashes.json")["rows"]:
            data, wanted = bytes.fromhex(row["hex"]), int(row["xxh64"]["0"], 16)
            check.equal(xxh64(data), wanted, row["hex"])
            driver.create("parquet", bits=1 << 24)
            base = ((wanted >> 32) << 16 >> 32) * 256
            check.equal(driver.positions(data), [base + 32 * i + (((wanted * salt) & 0xffffffff) >> 27)
                                                 for i, salt in enumerate(SALTS)], row["hex"])


@property_test
def filters_and_answers_are_those_of_parquet_java(check):
    with Driver() as driver:
        for one in vectors("parquet_sbbf.json")["filters"]:
            driver.create("parquet", bytes=one["requested_bytes"])
            keys = [plain(value, one["type"]) for value in one["inserted"]]
            for key, wanted in zip(keys, one["hashes"]):
                check.equal(f"{xxh64(key):016x}", wanted, f"hash in {one['name']}")
            driver.add_all(keys)
            written = driver.written()
            head = parquet_header(one["bitset_bytes"])
            check.equal((len(written) - len(head), written.hex()), (one["bitset_bytes"], head.hex() + one["bitset_hex"]),
                        one["name"])
            absent = [plain(value, one["type"]) for value in one["absent"]]
            check.equal(driver.ask_all(absent), one["absent_answers"], one["name"])
            check.equal(driver.ask_all(keys), "1" * len(keys), "keys")
            driver.load("parquet", written)
            check.equal((driver.written(), driver.info()["variant"]), (written, "header"), "read and written again")
            driver.load("parquet", written[len(head):], variant="raw")
            for through in (lambda: None, driver.through_our_file):
                through()
                check.equal((driver.written(), driver.info()["variant"]), (written[len(head):], "raw"), "without a header")
                check.equal(driver.ask_all(absent), one["absent_answers"], "after reading")
            check.equal((driver.sniff(written), driver.sniff(written[len(head):])), ("parquet", "none"), "magic")


def clickhouse_keys(column):
    """The column's values, encoded."""
    kind = column["clickhouse_type"]
    if column.get("values_hex"):
        return [bytes.fromhex(value) for value in column["values_hex"]]
    first = datetime.date(1970, 1, 1)
    encode = {
        "Int64": lambda text: struct.pack("<q", int(text)),
        "Int32": lambda text: struct.pack("<i", int(text)),
        "UInt32": lambda text: struct.pack("<I", int(text)),
        "Float64": lambda text: struct.pack("<d", float(text)),
        "Float32": lambda text: struct.pack("<f", float(text)),
        "Date32": lambda text: struct.pack("<i", (datetime.date.fromisoformat(text.split("'")[1]) - first).days),
        "FixedString(5)": lambda text: text.strip("'").encode(),
    }[kind]
    return [encode(text) for text in column["values"]]


@property_test
def filters_are_those_of_clickhouse(check):
    with Driver() as driver:
        for column in vectors("parquet_clickhouse.json")["columns"]:
            keys = clickhouse_keys(column)
            for bloom in column["bloom"]:
                wanted = bloom["header_hex"] + bloom["bitset_hex"]
                driver.create("parquet", keys=len(set(keys)), bits_per_key=float(column["bits_per_value"]))
                driver.add_all(keys)
                check.equal(driver.written().hex(), wanted, column["name"])
                driver.load("parquet", bytes.fromhex(wanted))
                check.equal(driver.ask_all(keys), "1" * len(keys), column["name"])
                check.equal(driver.written().hex(), wanted, "read and written again")


@property_test
def files_of_parquet_testing_are_read(check):
    whole = vectors("parquet_bloom_filter.xxhash.bin")
    keys = [b"hello", b"parquet", b"bloom", b"filter"]
    with Driver() as driver:
        check.equal(driver.sniff(whole), "parquet", "magic")
        driver.load("parquet", whole)
        check.equal((driver.ask_all(keys), driver.written()), ("1111", whole), "four words")
        check.equal(driver.info(scan=True)["set"], "32", "bits")
        driver.create("parquet", bits=int(driver.info()["bits"]))
        driver.add_all(keys)
        check.equal(driver.written(), whole, "built again")
        table = vectors("parquet_data_index_bloom_encoding_stats.parquet")
        check.true("whole Parquet file" in check.refused(lambda: driver.load("parquet", table), ["NOT_A_FILTER"], "a file").text,
                   "it is named")
        at = table.index(bytes.fromhex("1580101c1c0000"))
        driver.load("parquet", table[at:at + 16 + 1024])
        check.equal(driver.written(), table[at:at + 16 + 1024], "a column's")
        check.equal(driver.ask(b"Hello"), 1, "a value of the column")


@property_test
def positions_are_those_of_the_description(check):
    rng = random.Random(1)
    with Driver() as driver:
        for blocks in (1, 2, 3, 1 << 16, 999, rng.randrange(1, 1 << 18)):
            driver.create("parquet", bits=256 * blocks)
            keys = keys_of_all_lengths(rng)
            for key in keys:
                check.equal(driver.positions(key), parquet_positions(key, blocks), f"{blocks} {key.hex()}")
            driver.add_all(keys)
            if blocks < 1000:
                check.equal(driver.written(), parquet_header(32 * blocks) + parquet_filter(keys, blocks), f"{blocks} blocks")


def java_bits(count, rate):
    """parquet-java's, with its mask."""
    bits = math.trunc(-8 * count / math.log(1 - rate ** (1 / 8)))
    return max(256, (min(bits, 1 << 30) + 255) & ~256)


@property_test
def sizing_is_that_of_parquet_java(check):
    rng = random.Random(2)
    rows = [(row["n"], row["p"], row["optimalNumOfBits"], row["bitset_bytes_of_filter_built_with_bits_div_8"])
            for row in vectors("parquet_sbbf.json")["sizing"]]
    for _ in range(50):
        count, rate = rng.randrange(1, 1 << rng.randrange(1, 24)), rng.uniform(1e-6, 0.9)
        bits = java_bits(count, rate)
        rows.append((count, rate, bits, max(32, 1 << (bits // 8 - 1).bit_length())))
    rows.append((50, 0.03, 641, 128))
    with Driver() as driver:
        for count, rate, bits, size in rows:
            driver.create("parquet", keys=count, rate=rate)
            check.equal((java_bits(count, rate), driver.info()["bits"]), (bits, str(size * 8)), f"{count} {rate}")
            said = [text for text in driver.remarks() if "clears bit 8" in text]
            check.equal(len(said), int(bits % 256 != 0), f"{count} {rate}: {said}")
            check.true(not said or f"{bits} bits" in said[0], str(said))
        for wanted, got in [(1, 32), (33, 64), (300, 512), (1 << 20, 1 << 20), (1 << 30, 1 << 27)]:
            driver.create("parquet", bytes=wanted)
            check.equal(driver.info()["bits"], str(got * 8), f"{wanted} bytes")
        for given in [{}, {"keys": 5}, {"keys": 5, "rate": 1.0}, {"keys": 5, "rate": float("nan")}, {"bits": 100},
                      {"bits": 1 << 36}, {"bits": 256, "bytes": 32}, {"bytes": 32, "rate": 0.1}, {"rate": -1.0, "keys": 2},
                      {"keys": 1 << 60, "bits_per_key": 64}, {"bits": 256, "variant": "bare"}, {"probes": 8, "bits": 256},
                      {"bits": 256, "bits_per_key": 8}, {"bits_per_key": float("nan"), "keys": 5}]:
            check.refused(lambda given=given: driver.create("parquet", **given), ["BAD_ARGUMENT"], str(given))


@property_test
def damaged_filters_are_refused(check):
    bits = parquet_filter([b"a", b"b"], 8)
    head = parquet_header(len(bits))
    with Driver() as driver:
        def refused(data, statuses, what, **given):
            check.refused(lambda: driver.load("parquet", data, **given), statuses, what)
        refused(b"", ["TRUNCATED"], "no bytes")
        refused(parquet_header(0), ["CORRUPT"], "no blocks")
        refused(parquet_header(2**31 - 32) + bits, ["TRUNCATED"], "2 GiB")
        refused(parquet_header(2**32) + bits, ["CORRUPT"], "4 GiB")
        refused(parquet_header(len(bits) + 8) + bits + bytes(8), ["CORRUPT"], "a part of a block")
        refused(b"\x15\x81\x04" + head[3:] + bits, ["CORRUPT"], "a negative number")
        refused(b"\x15\xff\xff\xff\xff\xff" + head[3:] + bits, ["CORRUPT"], "a number without an end")
        refused(head + bits + b"x", ["TRUNCATED"], "a byte more")
        refused(head[:4] + b"\x2c" + head[5:] + bits, ["UNSUPPORTED"], "another algorithm")
        refused(bits, ["NOT_A_FILTER", "CORRUPT"], "no header")
        for size in (0, 1, 31, 33, 48):
            refused(bytes(size), ["TRUNCATED"], f"{size} bytes", variant="raw")
        refused(head + bits, ["TRUNCATED"], "a header where none is to be", variant="raw")
        for cut in range(len(head) + len(bits)):
            refused((head + bits)[:cut], ["TRUNCATED"], f"cut after {cut}")
        for bit in range(8 * len(head)):
            flipped = bytearray(head + bits)
            flipped[bit // 8] ^= 1 << bit % 8
            refused(bytes(flipped), ["NOT_A_FILTER", "CORRUPT", "TRUNCATED", "UNSUPPORTED"], f"bit {bit}")
            check.equal(driver.sniff(bytes(flipped)) in ("none", "parquet"), True, "sniffed")
    check.true(hostile(check, "parquet", head + bits, header=len(head)) > 200, "hardly anything was refused")
    hostile(check, "parquet", bits, header=32, variant="raw")


@property_test
@statistics
def rates_are_those_that_are_measured(check):
    for blocks, count in [(1, 10), (1, 24), (2, 40), (32, 1000), (256, 6000), (7, 500)]:
        check_rate(check, "parquet", count, bits=256 * blocks)


@property_test
def faults_are_reported(check):
    """Where rounding adds no room the rate is higher than asked for."""
    with Driver() as driver:
        driver.create("parquet", keys=10000, rate=0.001)
        check.true(all("rate" not in text for text in driver.remarks()), "twice the bits are enough")
        count = int((1 << 20) * -math.log(1 - 0.001 ** 0.125) / 8) - 60
        driver.create("parquet", keys=count, rate=0.001)
        said = driver.remarks()
        check.equal(driver.info()["bits"], str(1 << 20), "not rounded up")
        check.true(said and f"{count} keys" in said[0] and "not the 1 in 1000" in said[0], str(said))
        driver.create("parquet", keys=1 << 31, rate=0.01)
        check.true("not the 1 in 100" in driver.remarks()[0], "more keys than 128 MiB have room for")


main()
