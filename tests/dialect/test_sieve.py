# SPDX-License-Identifier: Apache-2.0
"""The filter of the crawler queue Sieve: vectors made by its text, compiled."""

import math
import struct

from dialect import Driver, hostile, main, property_test, sha256, statistics, vectors
from lineage_reference import image, seeded, sieve, sieve_size, some_keys
from storage_rates import check_rate


def filters():
    """What Sieve made, with the keys."""
    data = vectors("sieve.json")
    for one in data["filters"]:
        one["keys"] = [bytes.fromhex(key) for key in data["inserted_hex"]]
        one["others"] = [bytes.fromhex(key) for key in data["absent_hex"]]
        yield one


@property_test
def sizes_and_positions_are_those_of_sieve(check):
    with Driver() as driver:
        for one in filters():
            driver.create("sieve-murmur3", keys=one["n"], rate=one["p"])
            info = driver.info()
            check.equal((info["bits"], info["probes"]), (str(one["size"]), str(one["d"])), f"{one['n']} {one['p']}")
            for key, positions in zip(one["keys"], one["key_positions_in_order"]):
                check.equal(driver.positions(key), positions, f"{one['size']} {key.hex()}")


@property_test
def words_and_answers_are_those_of_sieve(check):
    with Driver() as driver:
        for one in filters():
            driver.create("sieve-murmur3", bits=one["size"], probes=one["d"])
            driver.add_all(one["keys"])
            check.equal(driver.ask_all(one["keys"]), "1" * len(one["keys"]), "a key is lost")
            check.equal(driver.ask_all(one["others"]), one["absent_answers"], "answers")
            info = driver.info(scan=True)
            check.equal(info["set"], str(one["set_bits"]), "bits set")
            data = driver.written()
            check.equal(len(data), 16 * one["u128_words"], "length")
            if "bits_le_hex" in one:
                check.equal(data.hex(), one["bits_le_hex"], "words")
            if one["set_bits"] < one["size"]:  # ours corrects for the chance that bits coincide
                check.true(abs(float(info["estimate"]) - one["estimated_size"]) <= 1 + 2 * one["estimated_size"] / one["size"],
                           f"{info['estimate']} keys, not {one['estimated_size']}")
            driver.load("sieve-murmur3", data, bits=one["size"], probes=one["d"])
            check.equal(driver.written(), data, "read and written again")
            driver.through_our_file()
            check.equal(driver.written(), data, "through a Bloomery file")
            driver.load("sieve-murmur3", data, keys=one["n"], rate=one["p"])
            check.equal(driver.ask_all(one["others"]), one["absent_answers"], "loaded by keys and rate")


@property_test
def sizing_is_that_of_sieve(check):
    with Driver() as driver:
        for row in vectors("sieve.json")["sizing"]:
            if row["size"] == 0 or row["d"] == 0:
                check.refused(lambda row=row: driver.create("sieve-murmur3", keys=row["n"], rate=row["p"]), ["BAD_ARGUMENT"], str(row))
            elif row["size"] < 1 << 33:
                driver.create("sieve-murmur3", keys=row["n"], rate=row["p"])
                check.equal((driver.info()["bits"], driver.info()["probes"]), (str(row["size"]), str(row["d"])), str(row))
                check.equal(len(driver.written()) if row["size"] < 1 << 20 else 16 * row["u128_words"], 16 * row["u128_words"], str(row))
        for keys, rate in ((0, 0.1), (10, 0.0), (10, 1.0), (10, 1.5), (10, -0.5), (10, math.nan), (1 << 50, 1e-9)):
            check.refused(lambda keys=keys, rate=rate: driver.create("sieve-murmur3", keys=keys, rate=rate), ["BAD_ARGUMENT"], f"{keys} {rate}")
        for given in ({"bits": 100}, {"probes": 3}, {}, {"bits": 100, "probes": 1025}, {"bits": 1 << 51, "probes": 3}):
            check.refused(lambda given=given: driver.create("sieve-murmur3", **given), ["BAD_ARGUMENT"], str(given))


@property_test
def a_million_numbers_make_the_words_of_sieve(check):
    large = vectors("sieve.json")["large"]
    keys = [struct.pack(">I", i) for i in range(large["n"])]
    others = [struct.pack(">I", large["n"] + i) for i in range(20000)]
    wanted = "".join("1" if n in large["false_positives"] else "0" for n in range(large["n"], large["n"] + 20000))
    with Driver() as driver:
        driver.create("sieve-murmur3", keys=large["n"], rate=large["p"])
        for at in range(0, len(keys), 20000):
            driver.add_all(keys[at:at + 20000])
        info = driver.info(scan=True)
        check.equal((info["bits"], info["probes"], info["set"]), (str(large["size"]), str(large["d"]), str(large["set_bits"])), "size")
        check.equal(sha256(driver.written()), large["bits_le_sha256"], "words")
        check.equal(driver.ask_all(others), wanted, "false positives")
        check.equal(round(float(info["estimate"])), large["estimated_size"], "estimate")


@property_test
def random_sizes_are_as_the_description_has_them(check):
    rng = seeded(3)
    with Driver() as driver:
        for bits, probes in [(1, 1), (2, 3), (7, 100), (127, 7), (128, 7), (129, 1024), (1 << 20, 65),
                             *((rng.randint(1, 1 << rng.randint(1, 24)), rng.randint(1, 40)) for _ in range(10))]:
            keys, positions = some_keys(rng), []
            driver.create("sieve-murmur3", bits=bits, probes=probes)
            for key in keys:
                positions.append(sieve(key, bits, probes))
                check.equal(driver.positions(key), positions[-1], f"{bits} {probes} {key.hex()[:80]}")
            driver.add_all(keys)
            info = driver.info(scan=True)
            check.true(0 <= float(info["expected"]) <= 1 and 0 <= float(info["live"]) <= 1, f"{bits} {probes}: {info}")
            wanted = image(bits, sum(positions, []))
            check.equal(driver.written(), wanted + bytes(-len(wanted) % 16), f"{bits} {probes}")
        for _ in range(100):
            keys, rate = rng.randint(1, 1 << rng.randint(1, 20)), rng.choice([10.0 ** -rng.uniform(0.1, 12), rng.random()])
            bits, probes = sieve_size(keys, rate)
            if bits > 0 and probes > 0:
                driver.create("sieve-murmur3", keys=keys, rate=rate)
                check.equal((driver.info()["bits"], driver.info()["probes"]), (str(bits), str(probes)), f"{keys} {rate}")


@property_test
@statistics
def measured_rates_are_as_announced(check):
    for keys, rate in ((40, 0.05), (300, 0.01), (2000, 0.1)):
        check_rate(check, "sieve-murmur3", keys, keys=keys, rate=rate)


@property_test
def damaged_words_are_refused(check):
    with Driver() as driver:
        driver.create("sieve-murmur3", bits=1610, probes=7)
        driver.add_all([b"one", b"two"])
        data = driver.written()
        check.refused(lambda: driver.load("sieve-murmur3", data[:-1] + b"\x80", bits=1610, probes=7), ["CORRUPT"], "a bit past m")
        check.refused(lambda: driver.load("sieve-murmur3", data), ["BAD_ARGUMENT"], "no parameters")
        check.refused(lambda: driver.load("sieve-murmur3", data, bits=1610), ["BAD_ARGUMENT"], "no probes")
        check.refused(lambda: driver.load("sieve-murmur3", data, bits=1 << 50, probes=7), ["TRUNCATED"], "2^47 bytes")
        check.refused(lambda: driver.load("sieve-murmur3", data, bits=1610, probes=7, seed=1), ["BAD_ARGUMENT"], "a seed")
        check.refused(lambda: driver.load("sieve-murmur3", b"", bits=1610, probes=7), ["TRUNCATED"], "no bytes")
        check.true(hostile(check, "sieve-murmur3", data, header=1, bits=1610, probes=7) >= 80, "hardly anything was refused")
        driver.create("guava", bits=640, probes=3)
        check.refused(lambda: driver.written("sieve-murmur3"), ["MISMATCH"], "a filter of Guava's")


@property_test
def the_32_bit_counter_is_reported(check):
    with Driver() as driver:
        driver.create("sieve-murmur3", bits=5 << 30, probes=7)
        check.true(any("32 bits" in text for text in driver.remarks()), "no remark")
        driver.create("sieve-murmur3", bits=1 << 30, probes=7)
        check.equal(driver.remarks(), [], "1 Gbit")
        driver.create("sieve-murmur3", bits=100, probes=3, keys=100, rate=0.01)
        check.true(any("not the 1 in 100" in text for text in driver.remarks()), "no remark of the rate")


main()
