# SPDX-License-Identifier: Apache-2.0
"""Guava's filters: vectors made by guava-31.1-jre, the description again in Python, and, where there are a JVM
and Guava's jar, Guava itself."""

import atexit
import base64
import math
import os
import random
import shutil
import subprocess

import java_reference as java
from dialect import HERE, Driver, Skip, hostile, main, property_test, sha256, unbase64, vectors

VARIANTS = {"MURMUR128_MITZ_32": "mitz32", "MURMUR128_MITZ_64": "mitz64"}
NUMBERS = {"longFunnel": 8, "integerFunnel": 4}
JAR = "/usr/share/java/guava.jar"
PROBES_MOST, WORDS_MOST = 255, (1 << 31) - 1


def key_of(funnel, key):
    """The bytes that a funnel makes of what a vector says."""
    if funnel in NUMBERS:
        return key.to_bytes(NUMBERS[funnel], "little", signed=True)
    key = bytes.fromhex(key)
    if funnel == "unencodedCharsFunnel":  # big-endian units there, little-endian ones for Guava
        return b"".join(key[at:at + 2][::-1] for at in range(0, len(key), 2))
    return key


def filters():
    """What Guava made, each with its keys as the funnel made them."""
    for one in vectors("guava.json")["filters"]:
        one["keys"] = [key_of(one["funnel"], key) for key in one["inserted"]]
        one["others"] = [key_of(one["funnel"], key) for key in one["absent"]]
        yield one


def create(driver, one):
    """The same filter, empty."""
    driver.create("guava", variant=VARIANTS[one["strategy"]], keys=one["expected_insertions"], rate=one["fpp"])


def positions(variant, key, probes, bits):
    """By the description."""
    h1, h2 = java.murmur3(key)
    return java.flipped_32(h1, probes, bits) if variant == "mitz32" else java.masked_64(h1, h2, probes, bits)


@property_test
def positions_are_those_of_guava(check):
    with Driver() as driver:
        for one in filters():
            create(driver, one)
            variant, probes = VARIANTS[one["strategy"]], one["numHashFunctions"]
            for key in one["keys"]:
                check.equal(driver.positions(key), positions(variant, key, probes, one["bitSize"]), one["name"])
            for key, bits in zip(one["keys"], one.get("key_bits_sorted_unique", [])):
                check.equal(sorted(set(driver.positions(key))), bits, f"{one['name']} {key.hex()}")


@property_test
def streams_and_answers_are_those_of_guava(check):
    with Driver() as driver:
        for one in filters():
            create(driver, one)
            check.equal(driver.info()["bits"], str(one["bitSize"]), one["name"])
            check.equal(driver.info()["probes"], str(one["numHashFunctions"]), one["name"])
            check.equal("".join(str(driver.add(key)) for key in one["keys"]), one["put_returned"], one["name"])
            check.equal(driver.ask_all(one["others"]), one["absent_answers"], one["name"])
            stream = driver.written()
            check.equal((len(stream), sha256(stream)), (one["writeTo_len"], one["writeTo_sha256"]), one["name"])
            if "writeTo_b64" in one:
                check.equal(stream, unbase64(one["writeTo_b64"]), one["name"])
            driver.load("guava", stream)
            check.equal(driver.written(), stream, "read and written again")
            driver.through_our_file()
            check.equal(driver.written(), stream, "through a Bloomery file")
            check.equal(driver.info()["variant"], VARIANTS[one["strategy"]], "variant")
            check.equal(driver.ask_all(one["others"]), one["absent_answers"], "after reading")
            check.equal(driver.ask_all(one["keys"]), "1" * len(one["keys"]), "a key is lost")


@property_test
def facts_are_those_of_guava(check):
    with Driver() as driver:
        for one in filters():
            create(driver, one)
            driver.add_all(one["keys"])
            info = driver.info(scan=True)
            fill = int(info["set"]) / one["bitSize"]
            check.true(math.isclose(fill ** one["numHashFunctions"], one["expectedFpp"], rel_tol=1e-9), one["name"])
            # ours knows of steps that lead back and of keys that lie on others
            check.true(one["expectedFpp"] <= float(info["live"]) <= 1.2 * one["expectedFpp"], f"{one['name']} {info}")
            # Guava's count takes ln(1 - 1/m) for -1/m.
            count = one["approximateElementCount"]
            check.true(abs(float(info["estimate"]) - count) <= 0.51 + count / one["bitSize"], f"{one['name']} {info}")


@property_test
def a_large_filter_is_that_of_guava(check):
    one = vectors("guava_large.json")
    first, count = one["base"], one["N"]
    with Driver() as driver:
        create(driver, one)
        check.equal(driver.info()["bits"], str(one["bitSize"]), "bits")
        for at in range(first, first + count, 50000):
            driver.add_all([str(key).encode() for key in range(at, min(at + 50000, first + count))])
        stream = driver.written()
        check.equal((len(stream), sha256(stream)), (one["writeTo_len"], one["writeTo_sha256"]), "stream")
        check.equal(driver.info(scan=True)["set"], str(one["bitCount"]), "set bits")
        asked = range(first + count, first + count + 20000)
        answers = driver.ask_all([str(key).encode() for key in asked])
        check.equal([key for key, answer in zip(asked, answers) if answer == "1"], one["false_positives"], "answers")


@property_test
def sizing_is_that_of_guava(check):
    with Driver() as driver:
        for row in vectors("guava.json")["sizing"]:
            bits, probes = java.java_size(max(1, row["n"]), row["p"])
            check.equal((bits, java.words_of(bits)), (row["bits"], row["words"]), str(row))
            # create() refuses what the formulas give here.
            if row["k"] is None or row["k"] > PROBES_MOST or row["words"] > WORDS_MOST:
                check.refused(lambda row=row: driver.create("guava", keys=row["n"], rate=row["p"]), ["BAD_ARGUMENT"],
                              str(row))
                continue
            check.equal(probes, row["k"], str(row))
            if row["bitSize"] < 1 << 31:
                driver.create("guava", keys=row["n"], rate=row["p"])
                info = driver.info()
                check.equal((info["bits"], info["probes"]), (str(row["bitSize"]), str(row["k"])), str(row))


@property_test
def any_numbers_and_keys_give_the_bits_that_the_description_gives(check):
    rng = random.Random(2)
    with Driver() as driver:
        for number in range(40):
            variant = ["mitz64", "mitz32"][number % 2]
            bits, probes = java.random_bits(rng), rng.choice([1, 2, 7, 30, 64, 65, 255, rng.randint(1, 255)])
            keys = java.random_keys(rng, 10)
            driver.create("guava", variant=variant, bits=bits - rng.randint(0, 63), probes=probes)
            check.equal(driver.info()["bits"], str(bits), "bits are rounded up to words")
            wanted = [positions(variant, key, probes, bits) for key in keys]
            for key, at in zip(keys, wanted):
                check.equal(driver.positions(key), at, f"{variant} {bits} {probes} {key.hex()}")
            driver.add_all(keys)
            stream = driver.written()
            check.equal(stream[:6], bytes([variant == "mitz64", probes]) + (bits // 64).to_bytes(4, "big"), "header")
            check.equal(java.bits_of(stream[6:], True), sorted({p for at in wanted for p in at}), "bits")
            driver.load("guava", stream)
            check.equal(driver.written(), stream, "read and written again")


@property_test
def numbers_that_guava_refuses_are_refused(check):
    with Driver() as driver:
        for given in [{"keys": 10}, {"rate": 0.5, "bits": 64}, {"probes": 3}, {"keys": 10, "rate": 1.0},
                      {"keys": 10, "rate": -0.1}, {"keys": 10, "rate": float("nan")}, {"keys": 1, "rate": 0.7},
                      {"keys": 1 << 63, "rate": 0.999999}, {"bits": (1 << 37) + 1, "probes": 1}, {"bits": 64,
                      "probes": 256}, {"keys": 10, "rate": 0.1, "variant": "mitz"}, {"keys": 10, "rate": 0.1, "seed": 1}]:
            check.refused(lambda given=given: driver.create("guava", **given), ["BAD_ARGUMENT"], str(given))
        driver.create("guava", rate=0.03)
        check.equal(driver.info()["bits"], "64", "no keys are one key")


@property_test
def damaged_streams_are_refused(check):
    one = next(filters())
    with Driver() as driver:
        create(driver, one)
        driver.add_all(one["keys"])
        stream = driver.written()
        for cut in range(len(stream)):
            check.refused(lambda cut=cut: driver.load("guava", stream[:cut]), ["TRUNCATED"], f"cut at {cut}")
        check.refused(lambda: driver.load("guava", stream + b"\0"), ["TRUNCATED"], "a byte more")
        check.refused(lambda: driver.load("guava", b"\2" + stream[1:]), ["NOT_A_FILTER"], "strategy 2")
        check.refused(lambda: driver.load("guava", stream[:1] + b"\0" + stream[2:]), ["CORRUPT"], "zero probes")
        check.refused(lambda: driver.load("guava", stream[:2] + bytes(4) + stream[6:]), ["CORRUPT"], "zero words")
        check.refused(lambda: driver.load("guava", stream[:2] + b"\xff" * 4), ["CORRUPT"], "negative words")
        check.refused(lambda: driver.load("guava", stream[:2] + b"\x7f\xff\xff\xff"), ["TRUNCATED"], "16 GiB")
        check.equal(driver.sniff(stream), "none", "the stream has no magic")
    check.true(hostile(check, "guava", stream, header=6) > 100, "hardly anything was refused")


@property_test
def bits_past_2_to_the_31_are_named(check):
    with Driver() as driver:
        driver.create("guava", variant="mitz32", keys=500_000_000, rate=0.001)
        said = " ".join(driver.remarks())
        check.true("rate at this size" in said and "not the 1 in 1000" in said, said)
        driver.create("guava", variant="mitz64", keys=500_000_000, rate=0.01)
        check.equal(driver.remarks(), [], "mitz64 has its rate")
        driver.create("guava", variant="mitz32", bits=(1 << 31) + 64, probes=3)
        check.true("only the first 2147483648" in driver.remarks()[0], "no remark about the reach")
        for key in (b"", b"a", b"abc"):
            check.true(max(driver.positions(key)) < 1 << 31, "a position past 2^31")


class Guava:
    """Guava itself, on a string (GuavaFilters.java)."""

    def __init__(self):
        if shutil.which("java") is None or shutil.which("javac") is None or not os.path.exists(JAR):
            raise Skip("no JVM, or no Guava")
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["java", "-XX:TieredStopAtLevel=1", "-cp", JAR, os.path.join(HERE, "GuavaFilters.java")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)

    def ask(self, *words):
        """One command, one line of words."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()


def named(prefix, count):
    """The keys of GuavaFilters.java."""
    return [f"{prefix}-\u00fc\u4e2d{i}".encode() for i in range(count)]


@property_test
def guava_itself_agrees(check):
    guava, rng = Guava(), random.Random(3)
    with Driver() as driver:
        for number in range(60):
            variant = ["MURMUR128_MITZ_64", "MURMUR128_MITZ_32"][number % 2]
            keys, rate = rng.choice([0, 1, 2, 50, 3000, 20000]), rng.choice([0.5, 0.1, 0.01, 1e-5, 1e-20, 1e-60])
            count = keys + keys // 3
            stream, put, answers = guava.ask("filter", variant, keys, rate, f"k{number}", count)
            driver.create("guava", variant=VARIANTS[variant], keys=keys, rate=rate)
            check.equal("=" + driver.add_all(named(f"k{number}", count)), put, f"{variant} {keys} {rate}")
            check.equal("=" + driver.ask_all(named(f"other{number}", 500)), answers, f"{variant} {keys} {rate}")
            check.equal(driver.written(), base64.b64decode(stream), f"{variant} {keys} {rate}")
            driver.add_all(named("more", 20))
            read = guava.ask("read", base64.b64encode(driver.written()).decode(), f"other{number}", 500)
            check.equal(read, ["=" + driver.ask_all(named(f"other{number}", 500))], "Guava reads what was written here")


@property_test
def guava_itself_has_these_sizes(check):
    guava, rng = Guava(), random.Random(4)
    with Driver() as driver:
        for number in range(1500):
            keys, rate = int(10 ** rng.uniform(0, 9)), 10 ** rng.uniform(-18, -0.01)
            bits, probes = map(int, guava.ask("size", keys, repr(rate)))
            check.equal(java.java_size(keys, rate), (bits, probes), f"{keys} {rate}")
            if number % 10 == 0 and 0 < bits < 1 << 28:
                driver.create("guava", keys=keys, rate=rate)
                info = driver.info()
                check.equal((info["bits"], info["probes"]), (str(java.words_of(bits) * 64), str(probes)), f"{keys} {rate}")


main()
