# SPDX-License-Identifier: Apache-2.0
"""Cassandra's Filter.db: vectors made by a transcription of its source, and the description again in Python."""

import random

import java_reference as java
from dialect import Driver, hostile, main, property_test, times, vectors

VARIANTS = ["new", "old"]


def variant_of(one):
    """"new (...)" or "old (...)"."""
    return one["name"].split()[0]


def create(driver, one):
    """The same filter, empty."""
    driver.create("cassandra", variant=variant_of(one), keys=one["n"], rate=one["fp"])


def keys_of(one, data, name):
    """The keys of a filter, or of all filters of the file."""
    return [bytes.fromhex(key) for key in one.get(name, data[name])]


def sized(keys, buckets):
    """Bits."""
    return java.words_of(keys * buckets + 20) * 64


@property_test
def positions_are_those_of_cassandra(check):
    data = vectors("cassandra.json")
    with Driver() as driver:
        for one in data["filters"]:
            create(driver, one)
            info = driver.info()
            check.equal((info["bits"], info["probes"]), (str(one["capacity_bits"]), str(one["hashCount"])), one["name"])
            check.equal(sized(one["n"], one["bucketsPerElement"]), one["capacity_bits"], "bits for a key")
            for key, wanted in zip(keys_of(one, data, "inserted_hex"), one["key_positions_in_order"]):
                check.equal(driver.positions(key), wanted, f"{one['name']} {key.hex()}")


@property_test
def files_and_answers_are_those_of_cassandra(check):
    data = vectors("cassandra.json")
    with Driver() as driver:
        for one in data["filters"]:
            keys, others = keys_of(one, data, "inserted_hex"), keys_of(one, data, "absent_hex")
            create(driver, one)
            driver.add_all(keys)
            check.equal(driver.ask_all(others), one["absent_answers"], one["name"])
            written = driver.written()
            check.equal(written.hex(), one["filter_db_hex"], one["name"])
            driver.load("cassandra", written, variant=variant_of(one))
            check.equal(driver.written(), written, "read and written again")
            check.equal(driver.ask_all(others), one["absent_answers"], "after reading")
            driver.through_our_file()
            check.equal((driver.written(), driver.info()["variant"]), (written, variant_of(one)), "through a Bloomery file")
            check.equal(driver.ask_all(keys), "1" * len(keys), "a key is lost")


@property_test
def the_hash_is_that_of_cassandra(check):
    sizes = [64 * 3, 64 * 1009, 64 * 65537]
    with Driver() as driver:
        for variant in VARIANTS:
            for bits in sizes:
                driver.create("cassandra", variant=variant, bits=bits, probes=2)
                for row in vectors("hashes.json")["rows"]:
                    h1, h2 = (int(half, 16) for half in row["cassandra_murmur3_x64_128_signext_seed0"])
                    base, step = (h1, h2) if variant == "old" else (h2, h1)
                    wanted = [abs(java.signed(base, 64)) % bits, abs(java.signed(base + step, 64)) % bits]
                    check.equal(driver.positions(bytes.fromhex(row["hex"])), wanted, f"{variant} {bits} {row['hex']}")


@property_test
def sizing_is_that_of_cassandra(check):
    with Driver() as driver:
        for row in vectors("cassandra.json")["spec"]:
            if "error" in row or row["fp"] >= 1:
                check.refused(lambda row=row: driver.create("cassandra", keys=1000, rate=row["fp"]), ["BAD_ARGUMENT"],
                              str(row))
                continue
            for keys in (0, 1, 50, 1000, 123457):
                driver.create("cassandra", keys=keys, rate=row["fp"])
                info = driver.info()
                check.equal((info["bits"], info["probes"]),
                            (str(sized(keys, row["bucketsPerElement"])), str(row["hashCount"])), str(row))


@property_test
def any_numbers_and_keys_give_the_bits_that_the_description_gives(check):
    rng = random.Random(7)
    with Driver() as driver:
        for number in range(times(20, 40)):
            variant = VARIANTS[number % 2]
            bits, probes = java.random_bits(rng), rng.choice([1, 2, 7, 64, 65, 300, 1024, rng.randint(1, 40)])
            keys = java.random_keys(rng, 10)
            driver.create("cassandra", variant=variant, bits=bits, probes=probes)
            wanted = [java.cassandra_positions(variant, key, probes, bits) for key in keys]
            for key, at in zip(keys, wanted):
                check.equal(driver.positions(key), at, f"{variant} {bits} {probes} {key.hex()}")
            head = probes.to_bytes(4, "big") + (bits // 64).to_bytes(4, "big")
            check.equal(driver.written(), head + bytes(bits // 8), "an empty filter")
            driver.add_all(keys)
            written = driver.written()
            check.equal(java.bits_of(written[8:], variant == "old"), sorted({p for at in wanted for p in at}), "bits")
            driver.load("cassandra", written, variant=variant)
            check.equal((driver.written(), driver.info()["variant"]), (written, variant), "read and written again")


@property_test
def damaged_files_are_refused(check):
    with Driver() as driver:
        for variant in VARIANTS:
            driver.create("cassandra", variant=variant, keys=50, rate=0.01)
            driver.add_all([b"one", b"two"])
            good = driver.written()
            for cut in range(len(good)):
                check.refused(lambda cut=cut: driver.load("cassandra", good[:cut]), ["TRUNCATED"], f"cut at {cut}")
            for what, bad, statuses in [
                    ("a byte more", good + b"\0", ["TRUNCATED"]),
                    ("zero probes", bytes(4) + good[4:], ["NOT_A_FILTER"]),
                    ("negative probes", b"\xff" * 4 + good[4:], ["NOT_A_FILTER"]),
                    ("zero words", good[:4] + bytes(4), ["CORRUPT"]),
                    ("negative words", good[:4] + b"\x80\0\0\0" + good[8:], ["CORRUPT"]),
                    ("16 GiB", good[:4] + b"\x7f\xff\xff\xff" + good[8:], ["TRUNCATED"])]:
                check.refused(lambda bad=bad: driver.load("cassandra", bad), statuses, f"{variant}: {what}")
            check.refused(lambda g=good: driver.load("cassandra", g, variant="older"), ["BAD_ARGUMENT"], "no variant")
            check.true(hostile(check, "cassandra", good, header=8, variant=variant) > 100, "hardly anything was refused")


@property_test
def faults_are_named(check):
    with Driver() as driver:
        driver.create("cassandra", keys=1000, rate=0.5)
        info, said = driver.info(), " ".join(driver.remarks())
        check.equal((info["bits"], info["probes"]), ("1024", "2"), "one bit for a key and two probes")
        check.true("rate at this size is 73." in said and "not the 50" in said, said)
        driver.create("cassandra", keys=1000, rate=0.3)
        check.equal(driver.remarks(), [], "an ordinary rate")
        why = check.refused(lambda: driver.create("cassandra", keys=10, rate=1.0), ["BAD_ARGUMENT"], "a rate of 1")
        check.true("takes every key for present" in why.text, why.text)
        for rate in (0.0, -1.0, 1.5, float("nan"), 6.7e-5, 1e-300):
            check.refused(lambda rate=rate: driver.create("cassandra", keys=10, rate=rate), ["BAD_ARGUMENT"], str(rate))
        for given in [{"bits": 64}, {"probes": 1}, {"bits": (1 << 37) + 1, "probes": 1}, {"bits": 64, "probes": 1025},
                      {"keys": (1 << 64) - 1, "rate": 0.01}, {"keys": 1 << 36, "rate": 0.01}]:
            check.refused(lambda given=given: driver.create("cassandra", **given), ["BAD_ARGUMENT"], str(given))


main()
