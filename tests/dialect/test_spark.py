# SPDX-License-Identifier: Apache-2.0
"""Spark's filters: vectors made by a transcription of its source (no jar of it can be had), and the description
again in Python."""

import random

import java_reference as java
from dialect import Driver, hostile, main, property_test, sha256, times, unbase64, vectors

VARIANTS = ["v1", "v2", "v2-early"]


def key_of(key):
    """Numbers are 8 bytes, everything else is in hexadecimal."""
    return key.to_bytes(8, "little", signed=True) if isinstance(key, int) else bytes.fromhex(key)


def filters():
    """The vectors, with keys as bytes."""
    for one in vectors("spark.json")["filters"]:
        one["keys"] = [key_of(key) for key in one["inserted"]]
        one["others"] = [key_of(key) for key in one["absent"]]
        one["variant"] = f"v{one['version']}"
        yield one


def create(driver, one):
    """The same filter, empty."""
    seed = {"seed": one["seed"]} if one["seed"] else {}
    driver.create("spark", variant=one["variant"], keys=one["expected_items"], rate=one["fpp"], **seed)


def header(variant, probes, seed, bits):
    """The bytes before the words."""
    numbers = [1, probes] if variant == "v1" else [2, probes, seed & java.M32]
    return b"".join(number.to_bytes(4, "big") for number in [*numbers, bits // 64])


@property_test
def positions_are_those_of_spark(check):
    with Driver() as driver:
        for one in filters():
            create(driver, one)
            info = driver.info()
            check.equal((info["bits"], info["probes"]), (str(one["bitSize"]), str(one["k"])), one["name"])
            for key, wanted in zip(one["keys"], one["key_positions_in_order"]):
                check.equal(driver.positions(key), wanted, f"{one['name']} {key.hex()}")
            for key in one["keys"] + one["others"]:
                wanted = java.spark_positions(one["variant"], key, one["seed"], one["k"], one["bitSize"])
                check.equal(driver.positions(key), wanted, f"{one['name']} {key.hex()}")


@property_test
def streams_and_answers_are_those_of_spark(check):
    with Driver() as driver:
        for one in filters():
            create(driver, one)
            driver.add_all(one["keys"])
            check.equal(driver.ask_all(one["others"]), one["absent_answers"], one["name"])
            stream = driver.written()
            if "writeTo_sha256" in one:
                check.equal(sha256(stream), one["writeTo_sha256"], one["name"])
            if "writeTo_b64" in one:
                check.equal(stream, unbase64(one["writeTo_b64"]), one["name"])
            driver.load("spark", stream)
            check.equal(driver.written(), stream, "read and written again")
            check.equal(driver.info()["variant"], one["variant"], "variant")
            driver.through_our_file()
            check.equal(driver.written(), stream, "through a Bloomery file")
            check.equal(driver.ask_all(one["others"]), one["absent_answers"], "after reading")
            check.equal(driver.ask_all(one["keys"]), "1" * len(one["keys"]), "a key is lost")


@property_test
def sizing_is_that_of_the_description(check):
    rng = random.Random(5)
    with Driver() as driver:
        for number in range(300):
            keys, rate = int(10 ** rng.uniform(0, 6)), 10 ** rng.uniform(-12, -0.05)
            bits, probes = java.java_size(keys, rate)
            if number % 3 == 0:  # bits are given, and the probes follow
                bits = rng.randint(1, 20 * keys)
                probes = java.java_probes(bits, keys)
                driver.create("spark", keys=keys, bits=bits)
            elif bits == 0:
                check.refused(lambda k=keys, r=rate: driver.create("spark", keys=k, rate=r), ["BAD_ARGUMENT"], "no bits")
                continue
            else:
                driver.create("spark", keys=keys, rate=rate)
            info = driver.info()
            check.equal((info["bits"], info["probes"]), (str(java.words_of(bits) * 64), str(probes)), f"{keys} {rate}")
            check.equal(info["variant"], "v2", "the default")


@property_test
def any_numbers_and_keys_give_the_bits_that_the_description_gives(check):
    rng = random.Random(6)
    with Driver() as driver:
        for number in range(times(24, 45)):
            variant = VARIANTS[number % 3]
            bits, probes = java.random_bits(rng), rng.choice([1, 2, 7, 64, 65, 300, 1024, rng.randint(1, 40)])
            seed = 0 if variant == "v1" else rng.choice([0, 1, -1, 42, -(1 << 31), (1 << 31) - 1, rng.getrandbits(31)])
            keys = java.random_keys(rng, 10)
            driver.create("spark", variant=variant, bits=bits, probes=probes, **({"seed": seed} if seed else {}))
            wanted = [java.spark_positions(variant, key, seed, probes, bits) for key in keys]
            for key, at in zip(keys, wanted):
                check.equal(driver.positions(key), at, f"{variant} {bits} {probes} {seed} {key.hex()}")
            empty = driver.written()
            check.equal(empty, header(variant, probes, seed, bits) + bytes(bits // 8), "an empty filter")
            driver.add_all(keys)
            stream = driver.written()
            check.equal(java.bits_of(stream[len(empty) - bits // 8:], True),
                        sorted({p for at in wanted for p in at}), "bits")
            driver.load("spark", stream, variant=variant)
            check.equal(driver.written(), stream, "read and written again")
            check.equal(driver.info()["variant"], variant, "variant")
            check.equal(driver.ask_all(keys), "1" * len(keys), "a key is lost")
            driver.through_our_file()
            check.equal((driver.written(), driver.info()["variant"]), (stream, variant), "through a Bloomery file")


@property_test
def numbers_that_spark_refuses_are_refused(check):
    with Driver() as driver:
        for given in [{}, {"keys": 10}, {"rate": 0.1}, {"keys": 10, "rate": 1.0}, {"keys": 10, "rate": 0.0},
                      {"keys": 10, "rate": float("nan")}, {"keys": 1, "rate": 0.7}, {"bits": 64}, {"probes": 3},
                      {"bits": (1 << 37) + 1, "probes": 1}, {"bits": 64, "probes": 1025},
                      {"keys": 1, "bits": 1 << 20}, {"keys": 10, "rate": 0.1, "variant": "v3"},
                      {"keys": 10, "rate": 0.1, "variant": "v1", "seed": 1}, {"keys": 10, "rate": 0.1, "seed": 1 << 32},
                      {"keys": 10, "rate": 0.1, "seed": (1 << 64) - (1 << 31) - 1}]:
            check.refused(lambda given=given: driver.create("spark", **given), ["BAD_ARGUMENT"], str(given))


@property_test
def damaged_streams_are_refused(check):
    with Driver() as driver:
        for variant in VARIANTS:
            driver.create("spark", variant=variant, keys=50, rate=0.01)
            driver.add_all([b"one", b"two"])
            good = driver.written()
            words = len(header(variant, 7, 0, 64)) - 4
            for cut in range(len(good)):
                check.refused(lambda cut=cut: driver.load("spark", good[:cut]), ["TRUNCATED"], f"cut at {cut}")
            for what, bad, statuses in [
                    ("a byte more", good + b"\0", ["TRUNCATED"]),
                    ("version 0", bytes(4) + good[4:], ["NOT_A_FILTER"]),
                    ("version 3", b"\0\0\0\3" + good[4:], ["NOT_A_FILTER"]),
                    ("zero probes", good[:4] + bytes(4) + good[8:], ["CORRUPT"]),
                    ("negative probes", good[:4] + b"\xff" * 4 + good[8:], ["CORRUPT"]),
                    ("too many probes", good[:4] + b"\0\0\4\1" + good[8:], ["UNSUPPORTED"]),
                    ("zero words", good[:words] + bytes(4), ["CORRUPT"]),
                    ("negative words", good[:words] + b"\x80\0\0\0" + good[words + 4:], ["CORRUPT"]),
                    ("16 GiB", good[:words] + b"\x7f\xff\xff\xff" + good[words + 4:], ["TRUNCATED"])]:
                check.refused(lambda bad=bad: driver.load("spark", bad), statuses, f"{variant}: {what}")
            wrong = "v2" if variant == "v1" else "v1"
            check.refused(lambda g=good, w=wrong: driver.load("spark", g, variant=w), ["BAD_ARGUMENT"], "wrong version")
            check.true(hostile(check, "spark", good, header=words + 4) > 100, "hardly anything was refused")


@property_test
def faults_are_named(check):
    with Driver() as driver:
        driver.create("spark", variant="v1", keys=400_000_000, rate=0.001)
        said = " ".join(driver.remarks())
        check.true("400000000 keys" in said and "rate at this size" in said and "not the 1 in 1000" in said, said)
        driver.create("spark", variant="v1", bits=(1 << 31) + 64, probes=3)
        check.true("only the first 2147483648" in driver.remarks()[0], "no remark about the reach")
        check.true(max(driver.positions(b"abc")) < 1 << 31, "a position past 2^31")
        driver.create("spark", keys=400_000_000, rate=0.01)
        check.equal(driver.remarks(), [], "version 2 has its rate")
        # Steps that lead back: tests/property/signed_walks.c measures it.
        driver.create("spark", keys=1500, rate=1e-6)
        said = " ".join(driver.remarks())
        check.true("with the 1500 keys" in said and "is 1 in 37" in said and "not the 1 in 1000000" in said, said)
        driver.create("spark", keys=50, rate=0.1)
        driver.load("spark", driver.written())
        check.true("v2-early" in driver.remarks()[0] and len(driver.remarks()) == 1, "no word of the early version 2")
        check.refused(lambda: driver.written("guava"), ["MISMATCH"], "another hash")


main()
