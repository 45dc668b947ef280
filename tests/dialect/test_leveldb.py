# SPDX-License-Identifier: Apache-2.0
"""LevelDB's filters: vectors made by libleveldb 1.23, and the scheme written down a second time."""

import random
import struct

from dialect import Driver, Refused, hostile, main, property_test, statistics, vectors
from storage_reference import keys_of_all_lengths, leveldb_filter, leveldb_hash, leveldb_positions

from storage_rates import check_rate


def keys(name):
    """Those of the vectors."""
    return [bytes.fromhex(key) for key in vectors("leveldb.json")[name]]


@property_test
def hashes_are_those_of_leveldb(check):
    with Driver() as driver:
        driver.create("leveldb", bits=1 << 32, probes=1)
        for row in vectors("hashes.json")["rows"]:
            data, wanted = bytes.fromhex(row["hex"]), int(row["leveldb_hash_seed_bc9f1d34"], 16)
            check.equal((leveldb_hash(data), driver.positions(data)), (wanted, [wanted]), row["hex"])


@property_test
def filters_and_answers_are_those_of_leveldb(check):
    with Driver() as driver:
        for one in vectors("leveldb.json")["filters"]:
            name = f"{one['n']} keys of {one['bits_per_key']} bits"
            driver.create("leveldb", keys=one["n"], bits_per_key=one["bits_per_key"])
            driver.add_all(keys("inserted_hex")[:one["n"]])
            written = driver.written()
            check.equal(written.hex(), one["filter_hex"], name)
            check.equal(driver.ask_all(keys("absent_hex")), one["absent_answers"], name)
            check.equal(driver.ask_all(keys("inserted_hex")[:len(one["inserted_answers"])]), one["inserted_answers"], name)
            driver.load("leveldb", written)
            check.equal(driver.written(), written, "read and written again")
            driver.through_our_file()
            check.equal(driver.written(), written, "through a Bloomery file")
            check.equal(driver.ask_all(keys("absent_hex")), one["absent_answers"], "after reading")
            check.equal(driver.info()["variant"], "filter", "variant")


@property_test
def filters_of_one_key_are_those_of_leveldb(check):
    with Driver() as driver:
        for one in vectors("leveldb.json")["filters"]:
            for key, wanted in zip(keys("inserted_hex"), one["single_key_filters_hex"]):
                driver.create("leveldb", keys=1, bits_per_key=one["bits_per_key"])
                check.equal(driver.add(key), 1, "new")
                check.equal(driver.written().hex(), wanted, key.hex())


@property_test
def positions_are_those_of_the_description(check):
    rng = random.Random(1)
    with Driver() as driver:
        for bits, probes in [(8, 1), (64, 30), (72, 6), (65536, 7), (65544, 7), (2**33, 5), (2**32 + 8, 9),
                             (2**50, 2)] + [(8 * rng.randrange(1, 5000), rng.randint(1, 30)) for _ in range(8)]:
            try:
                driver.create("leveldb", bits=bits, probes=probes)
            except Refused as refused:
                check.true("OUT_OF_MEMORY" in refused.status and bits > 2**32, str(refused))
                continue
            for key in keys_of_all_lengths(rng):
                check.equal(driver.positions(key), leveldb_positions(key, bits, probes), f"{bits} {probes} {key.hex()}")


@property_test
def sizing_is_that_of_the_description(check):
    rng = random.Random(2)
    with Driver() as driver:
        for _ in range(60):
            count, bits_per_key = rng.choice([0, 1, 2, 7, 100, rng.randrange(3000)]), rng.randint(1, 120)
            some = [rng.randbytes(rng.randrange(40)) for _ in range(count)]
            driver.create("leveldb", keys=count, bits_per_key=bits_per_key)
            driver.add_all(some)
            check.equal(driver.written().hex(), leveldb_filter(some, bits_per_key).hex(), f"{count} {bits_per_key}")
            check.true("0" not in driver.ask_all(some), "a key is lost")
        for given in [{}, {"keys": 5}, {"bits_per_key": 0.5}, {"bits_per_key": 1.5, "keys": 9}, {"bits": 64},
                      {"probes": 3}, {"bits": 64, "probes": 31}, {"bits_per_key": float("nan")},
                      {"bits_per_key": float("inf"), "keys": 2}, {"keys": 2**63, "bits_per_key": 100},
                      {"bits": 64, "probes": 2, "bits_per_key": 10}, {"bits_per_key": -3, "keys": 4},
                      {"bits": 2**63, "probes": 2}, {"rate": 0.1, "keys": 10}]:
            check.refused(lambda given=given: driver.create("leveldb", **given), ["BAD_ARGUMENT"], str(given))


def block_of(filters):
    """A table's filter block."""
    offsets, at = [], 0
    for one in filters:
        offsets.append(at)
        at += len(one)
    return b"".join(filters) + b"".join(struct.pack("<I", offset) for offset in [*offsets, at]) + b"\x0b"


@property_test
def a_filter_block_gives_each_of_its_filters(check):
    groups = [keys("inserted_hex")[:40], [], keys("inserted_hex")[40:41], [], [], keys("inserted_hex")[41:]]
    filters = [leveldb_filter(group, 10) if group else b"" for group in groups]
    block = block_of(filters)
    with Driver() as driver:
        for index, (group, wanted) in enumerate(zip(groups, filters)):
            driver.load("leveldb", block, variant="block", index=index)
            check.equal(driver.written(), wanted, f"filter {index}")
            check.equal(driver.ask_all(group), "1" * len(group), "keys")
            driver.through_our_file()
            check.equal(driver.written(), wanted, f"filter {index} through our file")
            if not group:
                check.equal(driver.ask_all(keys("absent_hex")), "0" * len(keys("absent_hex")), "no keys")
                check.equal((driver.add(b"one"), driver.ask(b"one")), (1, 1), "a key more")
                check.equal(len(driver.written()), 9, "it is a filter then")
        check.refused(lambda: driver.load("leveldb", block, variant="block", index=6), ["BAD_ARGUMENT"], "index")
        check.refused(lambda: driver.load("leveldb", block, index=1), ["BAD_ARGUMENT"], "an index of one filter")
        check.refused(lambda: driver.load("leveldb", block, variant="bloc"), ["BAD_ARGUMENT"], "variant")
        check.refused(lambda: driver.load("leveldb", block_of([]), variant="block"), ["BAD_ARGUMENT"], "no filters")
        check.refused(lambda: driver.load("leveldb", block[:3], variant="block"), ["TRUNCATED"], "three bytes")
        wrong = bytearray(block)
        struct.pack_into("<I", wrong, len(block) - 5 - 4 * 5, 1 << 20)
        check.refused(lambda: driver.load("leveldb", bytes(wrong), variant="block", index=1), ["CORRUPT"], "an offset")
        check.refused(lambda: driver.load("leveldb", bytes(wrong), variant="block", index=0), ["CORRUPT"], "an end")
        struct.pack_into("<I", wrong, len(block) - 5, 0xffffffff)
        check.refused(lambda: driver.load("leveldb", bytes(wrong), variant="block"), ["NOT_A_FILTER"], "the array")
    hostile(check, "leveldb", block, header=len(block), variant="block", index=2)


@property_test
def unknown_encodings_are_any_key(check):
    """LevelDB says "maybe" where k is above 30."""
    with Driver() as driver:
        for data in [b"\0\0\0\x1f", bytes(500) + b"\xff", b"\x00\x80"]:
            driver.load("leveldb", data)
            check.equal(driver.ask_all([b"", b"a", b"any key"]), "111", "any key")
            check.equal(driver.info(scan=True)["live"], "1", "rate")
            check.equal(driver.add(b"a"), 0, "nothing is new")
            check.equal(driver.written(), data, "written as read")
            driver.through_our_file()
            check.equal((driver.written(), driver.ask(b"b")), (data, 1), "through our file")
        check.refused(lambda: driver.load("leveldb", bytes(5000) + b"\x1f"), ["UNSUPPORTED"], "large and unknown")


@property_test
def damaged_filters_are_refused_or_harmless(check):
    good = leveldb_filter(keys("inserted_hex"), 10)
    with Driver() as driver:
        check.refused(lambda: driver.load("leveldb", b""), ["TRUNCATED"], "no bytes")
        check.refused(lambda: driver.load("leveldb", b"\x06"), ["TRUNCATED"], "no bits")
        check.refused(lambda: driver.load("leveldb", good[:-1] + b"\0"), ["CORRUPT"], "zero probes")
    check.true(hostile(check, "leveldb", good, header=8) > 0, "nothing was refused")
    for last in range(256):
        with Driver() as driver:
            try:
                driver.load("leveldb", good[:40] + bytes([last]))
                check.true(driver.add(b"k") in (0, 1) and driver.ask(b"k") == 1, "a key is lost")
            except Refused as refused:
                check.equal((last, refused.status.endswith("CORRUPT")), (0, True), str(refused))


@property_test
@statistics
def rates_are_those_that_are_measured(check):
    for count, bits_per_key in [(10, 10), (30, 10), (100, 10), (100, 4), (1000, 10), (1000, 16), (9000, 8), (50, 20),
                                (40000, 10)]:
        check_rate(check, "leveldb", count, keys=count, bits_per_key=bits_per_key)


@property_test
def faults_are_reported(check):
    with Driver() as driver:
        driver.create("leveldb", keys=12, bits_per_key=10)
        said = driver.remarks()
        check.true(len(said) == 1 and "12 keys it was made for" in said[0] and "1 in " in said[0], str(said))
        driver.load("leveldb", leveldb_filter([b"a"] * 12, 10))
        said = driver.remarks()
        check.true(len(said) == 1 and "some 13 keys, which its probes tell" in said[0], str(said))
        driver.create("leveldb", bits=65536, probes=6, keys=6553)
        check.equal(driver.remarks(), [], "a filter of a size at which the formula holds")
        driver.create("leveldb", keys=10000000, bits_per_key=20)
        said = driver.remarks()
        check.true(len(said) == 2 and "10000000 keys" in said[0] and "turned by 17 bits" in said[1], str(said))


main()
