# SPDX-License-Identifier: Apache-2.0
"""RocksDB's full filters: vectors made by librocksdb 7.8.3, and the scheme written down a second time."""

import random
import struct

from dialect import Driver, Refused, hostile, main, property_test, statistics, vectors
from storage_rates import check_rate
from storage_reference import (fast_filter, fast_positions, keys_of_all_lengths, legacy_filter, legacy_positions,
                               leveldb_hash, xxph3)

REFUSALS = ["CORRUPT", "TRUNCATED", "WRONG_VERSION", "UNSUPPORTED"]


def keys(name):
    """Those of the vectors."""
    return [bytes.fromhex(key) for key in vectors("rocksdb.json")[name]]


def variant(one):
    """By the format of the table."""
    return "fast" if one["format_version"] >= 5 else "legacy"


@property_test
def hashes_are_those_of_rocksdb(check):
    with Driver() as driver:
        for row in vectors("hashes.json")["rows"]:
            data = bytes.fromhex(row["hex"])
            wanted = int(row["rocksdb_xxph3_64"], 16), int(row["rocksdb_hash_seed_bc9f1d34"], 16)
            check.equal((xxph3(data), leveldb_hash(data, signed=True)), wanted, row["hex"])
            # Both halves of the one, by its line and its bit; of the other what is seen of it in a line.
            for lines in (1, 3, 65535, 1 << 20):
                driver.create("rocksdb", bits=512 * lines, probes=1)
                line, bit = (wanted[0] & 0xffffffff) * lines >> 32, wanted[0] >> 55
                check.equal(driver.positions(data), [512 * line + bit], f"{row['hex']} in {lines} lines")
                driver.create("rocksdb", variant="legacy", bits=512 * lines, probes=1)
                check.equal(driver.positions(data), [512 * (wanted[1] % lines) + wanted[1] % 512], row["hex"])


@property_test
def filters_and_answers_are_those_of_rocksdb(check):
    absent = keys("absent_hex")
    with Driver() as driver:
        for one in vectors("rocksdb.json")["filters"]:
            name = f"{one['n']} keys of {one['bits_per_key']} bits, format {one['format_version']}"
            driver.create("rocksdb", variant=variant(one), keys=one["n"], bits_per_key=float(one["bits_per_key"]))
            driver.add_all(keys("inserted_hex")[:one["n"]])
            written = driver.written()
            check.equal((len(written), written.hex()), (one["filter_len"], one["filter_hex"]), name)
            check.equal(driver.ask_all(absent), one["absent_answers"], name)
            check.equal(driver.ask_all(keys("inserted_hex")[:len(one["inserted_answers"])]), one["inserted_answers"], name)
            driver.load("rocksdb", written)
            check.equal(driver.written(), written, "read and written again")
            driver.through_our_file()
            check.equal(driver.written(), written, "through a Bloomery file")
            check.equal(driver.ask_all(absent), one["absent_answers"], "after reading")
            check.equal(driver.info()["variant"], variant(one), "variant")


@property_test
def filters_of_one_key_are_those_of_rocksdb(check):
    with Driver() as driver:
        for one in vectors("rocksdb.json")["filters"]:
            for key, wanted in zip(keys("inserted_hex"), one["single_key_filters_hex"]):
                driver.create("rocksdb", variant=variant(one), keys=1, bits_per_key=float(one["bits_per_key"]))
                check.equal(driver.add(key), 1, "new")
                check.equal(driver.written().hex(), wanted, key.hex())


@property_test
def positions_are_those_of_the_description(check):
    rng = random.Random(1)
    with Driver() as driver:
        for lines, probes in [(1, 1), (1, 30), (2, 6), (3, 24)] + [(rng.randrange(1, 9999), rng.randint(1, 30))
                                                                  for _ in range(8)]:
            for kind, positions in [("fast", fast_positions), ("legacy", legacy_positions)]:
                driver.create("rocksdb", variant=kind, bits=512 * lines, probes=probes)
                for key in keys_of_all_lengths(rng, 100 if probes > 1 else 300):
                    check.equal(driver.positions(key), positions(key, lines, probes), f"{kind} {lines} {probes} {key.hex()}")


@property_test
def lines_of_other_machines_are_read(check):
    rng = random.Random(3)
    some = keys_of_all_lengths(rng)
    with Driver() as driver:
        for line_bits in (1024, 2048):
            lines, probes = 17, 5
            data = bytearray(lines * line_bits // 8)
            for key in some:
                for position in legacy_positions(key, lines, probes, line_bits):
                    data[position // 8] |= 1 << position % 8
            data = bytes(data) + bytes([probes]) + struct.pack("<I", lines)
            driver.load("rocksdb", data)
            check.equal(driver.written(), data, "read and written again")
            check.equal(driver.ask_all(some), "1" * len(some), "keys")
            for key in some:
                check.equal(driver.positions(key), legacy_positions(key, lines, probes, line_bits), key.hex())
            driver.through_our_file()
            check.equal(driver.written(), data, "through a Bloomery file")
            info = driver.info(scan=True)
            check.true(abs(float(info["estimate"]) - len(some)) < 12, f"{info['estimate']} keys of {len(some)}")


@property_test
def sizing_is_that_of_the_description(check):
    rng = random.Random(2)
    with Driver() as driver:
        steps = [0.5, 0.7, 0.9999, 1.0, 2.08, 2.0801, 2.0804, 2.0805, 5.1009, 9.4995, 9.9, 15.5, 22.001, 25.5012, 50.0,
                 50.0004, 50.0006, 99.9994, 99.9996, 100.0, 1e9]
        for bits_per_key in steps + [rng.uniform(1, 60) for _ in range(50)]:
            count = rng.choice([0, 1, 2, 7, 52, 103, rng.randrange(3000)])
            some = [rng.randbytes(rng.randrange(40)) for _ in range(count)]
            for kind, reference in [("fast", fast_filter), ("legacy", legacy_filter)]:
                driver.create("rocksdb", variant=kind, keys=count, bits_per_key=bits_per_key)
                driver.add_all(some)
                check.equal(driver.written().hex(), reference(some, bits_per_key).hex(), f"{kind} {count} {bits_per_key}")
                check.true("0" not in driver.ask_all(some), "a key is lost")
        for given in [{}, {"keys": 5}, {"bits_per_key": 0.4999}, {"bits": 512}, {"probes": 3}, {"bits": 512, "probes": 31},
                      {"bits": 500, "probes": 3}, {"bits_per_key": float("nan")}, {"keys": 2**63, "bits_per_key": 100},
                      {"bits": 512, "probes": 2, "bits_per_key": 10}, {"bits_per_key": -3, "keys": 4},
                      {"bits": 2**36, "probes": 2}, {"rate": 0.1, "keys": 10}, {"variant": "slow", "bits_per_key": 10},
                      {"keys": 2**29, "bits_per_key": 10, "variant": "legacy"}, {"keys": 2**32 - 1, "bits_per_key": 20}]:
            check.refused(lambda given=given: driver.create("rocksdb", **given), ["BAD_ARGUMENT"], str(given))


@property_test
def filters_without_keys_are_trailers(check):
    with Driver() as driver:
        for kind, wanted in [("fast", "ff00060000"), ("legacy", "0600000000")]:
            driver.create("rocksdb", variant=kind, bits_per_key=10)
            for through in [lambda: None, lambda: driver.load("rocksdb", bytes.fromhex(wanted)), driver.through_our_file]:
                through()
                check.equal(driver.written().hex(), wanted, kind)
                check.equal(driver.ask_all(keys("absent_hex")), "0" * len(keys("absent_hex")), "no keys")
                check.equal(driver.info(scan=True)["live"], "0", "rate")
            check.equal((driver.add(b"one"), driver.ask(b"one")), (1, 1), "a key more")
            check.equal(len(driver.written()), 69, "it has a line then")
            driver.load("rocksdb", driver.written())
            check.equal((driver.ask(b"one"), driver.info()["probes"]), (1, "6"), "and is read again")


@property_test
def no_probes_are_any_key(check):
    with Driver() as driver:
        for data in [bytes(6), b"abcdefgh\0wxyz", bytes(1000) + b"\0\1\2\3\4"]:
            driver.load("rocksdb", data)
            check.equal(driver.ask_all([b"", b"a", b"any key"]), "111", "any key")
            check.equal((driver.add(b"a"), driver.info(scan=True)["live"]), (0, "1"), "nothing is new")
            check.equal(driver.written(), data, "written as read")
            driver.through_our_file()
            check.equal((driver.written(), driver.ask(b"b"), driver.remarks()), (data, 1, []), "through our file")


@property_test
def damaged_filters_are_refused(check):
    fast, legacy = fast_filter(keys("inserted_hex"), 10), legacy_filter(keys("inserted_hex"), 10)
    with Driver() as driver:
        def refused(data, statuses, what):
            found = check.refused(lambda: driver.load("rocksdb", data), statuses, what)
            return found.text
        refused(b"", ["TRUNCATED"], "no bytes")
        refused(bytes(5), ["CORRUPT"], "nothing but zeros")
        refused(fast[:-5] + b"\xff\0\0\0\0", ["CORRUPT"], "zero probes")
        refused(fast[:-5] + b"\0\0\0\0\0" + bytes(2000), ["CORRUPT"], "zero probes and many bits")
        refused(fast[:-3] + b"\x1f\0\0", ["WRONG_VERSION"], "31 probes")
        refused(fast[:-3] + b"\x26\0\0", ["WRONG_VERSION"], "lines of 128 bytes")
        refused(fast[:-4] + b"\x01\x06\0\0", ["WRONG_VERSION"], "another way")
        refused(fast[:-1] + b"\x01", ["WRONG_VERSION"], "a seed")
        refused(b"x" + fast, ["TRUNCATED"], "a byte before it")
        refused(legacy[:-4] + bytes(4), ["TRUNCATED"], "no lines")
        refused(legacy[:-4] + b"\xff\xff\xff\xff", ["TRUNCATED"], "lines beyond the file")
        refused(legacy[-5:], ["TRUNCATED"], "no bits")
        refused(bytes(3 * 192) + b"\x06" + struct.pack("<I", 3), ["TRUNCATED"], "lines of 192 bytes")
        refused(bytes(512) + b"\x06" + struct.pack("<I", 1), ["TRUNCATED"], "lines of 512 bytes")
        refused(bytes(64) + b"\x06" + struct.pack("<I", 2), ["TRUNCATED"], "lines of 32 bytes")
        check.true("Ribbon" in refused(bytes(300) + b"\xfe\1\0\0\0", ["UNSUPPORTED"], "Ribbon"), "it is named")
        refused(bytes(64) + b"\x80\0\0\0\0", ["WRONG_VERSION"], "an unknown mark")
        for good in (fast, legacy):
            for cut in range(len(good)):
                try:
                    driver.load("rocksdb", good[:cut])
                    check.true(driver.add(b"k") in (0, 1) and driver.ask(b"k") == 1, "a key is lost")
                except Refused as why:
                    check.true(why.status.replace("BLOOMERY_", "") in REFUSALS, str(why))
            for bit in range(8 * 5):
                flipped = bytearray(good)
                flipped[len(good) - 5 + bit // 8] ^= 1 << bit % 8
                try:
                    driver.load("rocksdb", bytes(flipped))
                    check.true(driver.written() == flipped, "read is written")
                except Refused as why:
                    check.true(why.status.replace("BLOOMERY_", "") in REFUSALS, str(why))
    for good in (fast, legacy):
        check.true(hostile(check, "rocksdb", good, header=8) > 20, "hardly anything was refused")


@property_test
@statistics
def rates_are_those_that_are_measured(check):
    for count, bits_per_key in [(40, 10), (1000, 10), (1000, 4), (3000, 14)]:
        check_rate(check, "rocksdb", count, keys=count, bits_per_key=bits_per_key)
    for count, bits_per_key in [(10, 10), (40, 10), (1000, 10), (1000, 4), (3000, 14), (60000, 10)]:
        check_rate(check, "rocksdb", count, keys=count, bits_per_key=bits_per_key, variant="legacy")


@property_test
def faults_are_reported(check):
    with Driver() as driver:
        for loaded in (False, True):
            driver.create("rocksdb", variant="legacy", keys=10000, bits_per_key=10)
            if loaded:
                driver.load("rocksdb", driver.written())
            said = driver.remarks()
            check.true(len(said) == 1 and " keys" in said[0] and ("which its probes tell" in said[0]) == loaded, str(said))
        driver.create("rocksdb", keys=10000, bits_per_key=10)
        check.equal(driver.remarks(), [], "the fast one keeps what it promises")


main()
