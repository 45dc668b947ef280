# SPDX-License-Identifier: Apache-2.0
"""ClickHouse's skip index bloom_filter: vectors of a real engine."""

import math
import random
import re

from clickhouse_reference import (base_hash, block, blocks, filter_of, index_positions, little, practice, rows_bytes,
                                  value_bytes)
from dialect import Driver, hostile, main, property_test, statistics, times, unbase64, vectors

REFUSED = ["TRUNCATED", "CORRUPT", "BAD_ARGUMENT", "UNSUPPORTED"]


def granule(columns, bits, probes):
    """The bytes of a granule: a list of base hashes for each column."""
    rows = max(len(set(hashes)) for hashes in columns)
    size = (bits * rows + 7) // 8
    return rows_bytes(rows) + b"".join(
        filter_of([index_positions(value, size, probes) for value in set(hashes)], size) for hashes in columns)


def of_one_column():
    """Vectors with a column of strings or numbers: name, p, keys, absent keys, numbers or not, the vector."""
    for one in vectors("clickhouse_index.json")["indexes"]:
        if "inserted_hex" in one:
            yield (one["name"], one["p"], [bytes.fromhex(key) for key in one["inserted_hex"]],
                   [bytes.fromhex(key) for key in one["absent_hex"]], False, one)
        elif "inserted_literals" in one:
            keys = [value_bytes(value, one["column_type"]) for value in one["inserted_literals"]]
            absent = [value_bytes(value, one["column_type"])[0] for value in one["absent_literals"]]
            yield one["name"], one["p"], [key for key, _ in keys], absent, keys[0][1], one


def distinct(keys, numbers):
    """Keys without those that are one to the index."""
    return list({base_hash(key, numbers): key for key in keys}.values())


@property_test
def indexes_are_those_of_the_engine(check):
    with Driver() as driver:
        for name, rate, keys, absent, numbers, one in of_one_column():
            payload, file = bytes.fromhex(one["payload_hex"]), unbase64(one["idx_file_b64"])
            variant = "numbers" if numbers else "strings"
            rows = len(distinct(keys, numbers))
            check.equal(rows, one["total_rows_varuint"], name)
            driver.create("clickhouse-index", keys=rows, rate=rate, variant=variant)
            check.equal(int(driver.info()["bits"]), 8 * one["filter_bytes"], name)
            driver.add_all(keys)
            check.equal(driver.written(), payload, name)
            probes = practice(rate, True)[1]
            for given, parameters in ((payload, {"rate": rate}), (file, {"rate": rate}), (payload, {"probes": probes}),
                                      (file, {"probes": probes})):
                driver.load("clickhouse-index", given, variant=variant, **parameters)
                check.equal(driver.written(), given, f"{name} read and written")
                check.equal(driver.ask_all(absent), one["absent_answers"], name)
                driver.through_our_file()
                check.equal(driver.written(), given, f"{name} through a Bloomery file")
                check.equal(driver.ask_all(absent), one["absent_answers"], name)
                check.equal(driver.ask_all(keys), "1" * len(keys), name)
                info = driver.info()
                check.equal((info["keys"], info["variant"]), (str(rows), variant), "facts")


def named(name):
    """One vector."""
    return next(one for one in vectors("clickhouse_index.json")["indexes"] if one["name"].startswith(name))


@property_test
def arrays_are_their_elements(check):
    one = named("bf_arr")
    keys = [value_bytes(value, "String")[0] for row in one["inserted_rows"] for value in row]
    with Driver() as driver:
        driver.create("clickhouse-index", keys=len(set(keys)), rate=one["p"])
        driver.add_all(keys)
        check.equal(driver.written().hex(), one["payload_hex"], "payload")
        driver.load("clickhouse-index", unbase64(one["idx_file_b64"]), rate=one["p"])
        queries = [value_bytes(value, "String")[0] for value in one["has_queries"]]
        check.equal(driver.ask_all(queries), one["has_answers"], "answers")


@property_test
def columns_lie_side_by_side(check):
    one = named("bf_two")
    count = int(re.search(r"in 0\.\.(\d+)", one["rows"]).group(1)) + 1
    keys = ([b"c%d" % (i % 5 + one["a_base"]) for i in range(count)],
            [little(i * 11 + one["b_base"], 8) for i in range(count)])
    payload, file = bytes.fromhex(one["payload_hex"]), unbase64(one["idx_file_b64"])
    bits, probes = practice(one["p"], True)
    hashes = [[base_hash(key, column == 1) for key in keys[column]] for column in (0, 1)]
    check.equal(granule(hashes, bits, probes), payload, "the reference")
    with Driver() as driver:
        for column, variant in ((0, "strings"), (1, "numbers")):
            for given in (payload, file):
                for numbers in ({"rate": one["p"]}, {"probes": probes}, {"probes": probes, "bits_per_key": bits}):
                    driver.load("clickhouse-index", given, columns=2, index=column, variant=variant, **numbers)
                    check.equal(driver.ask_all(keys[column]), "1" * count, variant)
                    for key in keys[column]:
                        check.equal(driver.positions(key),
                                    index_positions(base_hash(key, column == 1), int(driver.info()["bits"]) // 8, probes),
                                    variant)
                    check.equal(driver.written(), given, variant)
                    driver.through_our_file()
                    check.equal(driver.written(), given, variant)
        check.refused(lambda: driver.load("clickhouse-index", payload, rate=one["p"]), REFUSED, "one column")
        check.refused(lambda: driver.load("clickhouse-index", payload, rate=one["p"], columns=2, index=2), REFUSED, "3rd")
        check.refused(lambda: driver.load("clickhouse-index", payload, rate=one["p"], columns=3), REFUSED, "3 columns")


@property_test
def granules_are_counted(check):
    one = named("bf_multi")
    count = int(re.search(r"in 0\.\.(\d+)", one["rows"]).group(1)) + 1
    rows = one["index_granularity"] * one["GRANULARITY"]
    values = [i // 3 + one["s_base"] for i in range(count)]
    payload, file = bytes.fromhex(one["payload_hex"]), unbase64(one["idx_file_b64"])
    granules = [values[at:at + rows] for at in range(0, count, rows)]
    with Driver() as driver:
        for number, part in enumerate(granules):
            for given in (payload, file):
                driver.load("clickhouse-index", given, variant="numbers", rate=one["p"], index=number)
                check.equal(int(driver.info()["keys"]), len(set(part)), number)
                check.equal(driver.ask_all([little(value, 8) for value in part]), "1" * len(part), number)
                check.equal(driver.written(), given, number)
                driver.through_our_file()
                check.equal(driver.written(), given, number)
        for given in (payload, file):
            check.refused(lambda given=given: driver.load("clickhouse-index", given, rate=one["p"], index=len(granules)),
                          ["BAD_ARGUMENT"], "past the last")
            check.refused(lambda given=given: driver.load("clickhouse-index", given, probes=3), REFUSED, "no bits")


@property_test
def what_the_engine_was_seen_to_choose_is_chosen(check):
    with Driver() as driver:
        for row in vectors("clickhouse_index.json")["calculationBestPractices_observed"]:
            driver.create("clickhouse-index", keys=8, rate=row["p"])
            info = driver.info()
            check.equal(([int(info["bits"]) // 8], [int(info["probes"])]), (row["bits_per_row"], row["hash_functions"]),
                        row)
            driver.create("clickhouse-index", keys=8, rate=row["p"], variant="numbers-double")
            info = driver.info()
            check.equal((int(info["bits"]) // 8, int(info["probes"])), practice(row["p"], False), row)
            check.equal(info["variant"], "numbers", "variant")


@property_test
def positions_are_those_of_the_formula(check):
    rng = random.Random(9)
    with Driver() as driver:
        for probes in range(1, 16):
            size = rng.choice([1, 2, 7, 100, 999983])
            for variant in ("strings", "numbers"):
                driver.create("clickhouse-index", bytes=size, probes=probes, keys=5, variant=variant)
                for length in [*range(101), 1000]:
                    key = rng.randbytes(length)
                    check.equal(driver.positions(key),
                                index_positions(base_hash(key, variant == "numbers"), size, probes),
                                (variant, size, probes, key.hex()))


@property_test
def positions_are_those_of_the_compiled_class(check):
    with Driver() as driver:
        for row in vectors("clickhouse_core.json")["addHashWithSeed"]:
            driver.create("clickhouse-index", bytes=row["size_bytes"], probes=15, keys=1)
            key = bytes.fromhex(row["key_hex"])
            check.equal(base_hash(key, False), int(row["cityhash64"]), row["key_hex"])
            check.equal(driver.positions(key), row["positions_seed0_14"], row["key_hex"])


@property_test
def granules_of_any_size_come_back(check):
    rng = random.Random(10)
    with Driver() as driver:
        for rows in (1, 2, 127, 128, 129, 16383, 16384, 70000):
            bits, probes = rng.choice([(2, 2), (8, 4), (19, 13), (3, 2)])
            driver.create("clickhouse-index", keys=rows, bits_per_key=bits, probes=probes)
            driver.add_all([rng.randbytes(8) for _ in range(min(rows, 50))])
            given = driver.written()
            check.equal(len(given), len(rows_bytes(rows)) + (bits * rows + 7) // 8, rows)
            check.true(given.startswith(rows_bytes(rows)), rows)
            for whole in (given, blocks(given, [rng.randint(1, 1000) for _ in range(20)])):
                driver.load("clickhouse-index", whole, bits_per_key=bits, probes=probes)
                check.equal(driver.info()["keys"], str(rows), "rows")
                check.equal(driver.written(), whole, rows)
                driver.through_our_file()
                check.equal(driver.written(), whole, rows)


@property_test
def the_hash_of_nothing_is_that_of_an_empty_number(check):
    with Driver() as driver:
        driver.create("clickhouse-index", bytes=10, probes=3, keys=4, variant="numbers")
        check.equal(driver.positions(b""), index_positions(0, 10, 3), "0")
        check.equal(driver.positions(b""), driver.positions(bytes(8)), "0")
        check.equal(driver.positions(little(-1, 1)), driver.positions(little(255, 8)), "-1 in a byte is 255")
        check.true(driver.positions(little(-1, 1)) != driver.positions(little(-1, 8)), "and no other -1")
        check.equal(driver.positions(bytes(24) + b"12345678"), driver.positions(bytes(32)), "the highest word is lost")
        plus, minus = driver.positions(bytes(8)), driver.positions(bytes(7) + b"\x80")
        check.true(plus != minus, "0.0 and -0.0 differ")


@property_test
@statistics
def rates_are_the_classic_ones(check):
    """4.5 standard deviations of a million questions."""
    rng = random.Random(11)
    with Driver() as driver:
        for rate, variant in ((0.025, "strings"), (0.1, "numbers"), (0.001, "strings")):
            driver.create("clickhouse-index", keys=2000, rate=rate, variant=variant)
            driver.add_all([rng.randbytes(8) for _ in range(2000)])
            live = float(driver.info(scan=True)["live"])
            found = sum(driver.ask_all([rng.randbytes(7) for _ in range(10000)]).count("1") for _ in range(20))
            check.true(abs(found - 200000 * live) < 4.5 * math.sqrt(200000 * live), (rate, found / 200000, live))


@property_test
def remarks_name_the_faults(check):
    with Driver() as driver:
        driver.create("clickhouse-index", keys=1000, rate=0.025)
        check.equal(driver.remarks(), [], "nothing is wrong with strings at 2.5 %")
        driver.create("clickhouse-index", keys=1000, rate=0.025, variant="numbers")
        found = driver.remarks()
        check.true(len(found) == 2 and "-0.0" in found[0] and "256 bits" in found[1], found)
        driver.create("clickhouse-index", keys=1000, rate=0.23, variant="numbers")
        check.true("19 bits per key and 13 probes, where 4 and 1 would do" in driver.remarks()[2], driver.remarks())
        driver.create("clickhouse-index", keys=100000, rate=1e-5)
        check.true("1 in 9" in driver.remarks()[0], driver.remarks())


@property_test
def damage_is_refused(check):
    rng = random.Random(12)
    keys = [b"key %d" % i for i in range(200)]
    one = granule([[base_hash(key, False) for key in keys]], 8, 4)
    two = granule([[base_hash(key, False) for key in keys[:70]]], 8, 4)
    payload = one + two
    file = blocks(payload, [100, 120])
    with Driver() as driver:
        for good in (payload, file):
            driver.load("clickhouse-index", good, rate=0.025, index=1)
            check.equal(driver.ask_all(keys[:70]), "1" * 70, "it is good")
            for cut in range(len(good)):
                if good[:cut] != one:
                    check.refused(lambda cut=cut, good=good: driver.load("clickhouse-index", good[:cut], rate=0.025),
                                  REFUSED, f"cut at {cut}")
            check.refused(lambda good=good: driver.load("clickhouse-index", good + b"x", rate=0.025), REFUSED, "longer")
        for bit in range(0, len(file) * 8, times(3, 1)):  # 3 and 8 have no divisor in common
            flipped = bytearray(file)
            flipped[bit // 8] ^= 1 << bit % 8
            check.refused(lambda flipped=flipped: driver.load("clickhouse-index", bytes(flipped), rate=0.025), REFUSED,
                          f"bit {bit} flipped")
        for rows, what in ((b"\0", "no rows"), (b"\x80\0", "a long zero"), (b"\x85\0", "a long five"),
                           (b"\xff" * 8 + b"\x7f", "2^63 rows"), (b"\xff" * 9 + b"\x01", "2^64 rows"), (b"\xff" * 40, "-"),
                           (b"\x85", "no end"), (b"\x05", "no bits")):
            for more in (b"", bytes(5), rng.randbytes(30)):
                for given in ({"rate": 0.025}, {"probes": 3}):
                    if rows not in (b"\x85", b"\x05", b"\x80\0", b"\x85\0") or not more:
                        check.refused(lambda data=rows + more, given=given: driver.load("clickhouse-index", data, **given),
                                      REFUSED, what)
        driver.load("clickhouse-index", b"\x05" + bytes(5), rate=0.025)
        check.refused(lambda: driver.load("clickhouse-index", b"\x85\0" + bytes(5), rate=0.025), ["CORRUPT"], "a long 5")
        for given in ({}, {"probes": 16, "bits_per_key": 8}, {"probes": 0}, {"rate": 2.0}, {"rate": 0.025, "probes": 4},
                      {"probes": 4, "bits_per_key": 8.5}, {"probes": 4, "bits_per_key": -1.0}, {"rate": float("nan")},
                      {"rate": 0.025, "columns": 4294967295}, {"rate": 0.025, "index": 2**64 - 1},
                      {"rate": 0.025, "columns": 65536}, {"rate": 0.025, "variant": "text"},
                      {"probes": 4, "bits_per_key": 9.0}, {"rate": 0.025, "seed": 1}, {"rate": 0.025, "bytes": 200}):
            check.refused(lambda given=given: driver.load("clickhouse-index", payload, **given), REFUSED, str(given))
        for method in (0x82, 0x90):
            check.refused(lambda method=method: driver.load("clickhouse-index", block(payload, method), rate=0.025),
                          ["UNSUPPORTED"], f"method {method:x}")
        for given in ({"keys": 5}, {"rate": 0.1}, {"keys": 5, "rate": 1.5}, {"keys": 5, "probes": 3},
                      {"keys": 5, "bytes": 3}, {"bytes": 3, "probes": 3}, {"keys": 5, "bytes": 3, "probes": 16},
                      {"keys": 5, "rate": 0.1, "bytes": 3}, {"keys": 2**60, "rate": 0.01},
                      {"keys": 2**48, "rate": 0.01}, {"keys": 2**64 - 1, "bits_per_key": 1024.0, "probes": 2},
                      {"keys": 5, "bytes": 2**63, "probes": 2}, {"keys": 5, "rate": 0.1, "columns": 2}):
            check.refused(lambda given=given: driver.create("clickhouse-index", **given),
                          ["BAD_ARGUMENT", "OUT_OF_MEMORY"], str(given))
    hostile(check, "clickhouse-index", payload, rate=0.025)
    hostile(check, "clickhouse-index", one, probes=4)
    check.true(hostile(check, "clickhouse-index", file, header=len(file), rate=0.025) > 1000, "hardly anything")


main()
