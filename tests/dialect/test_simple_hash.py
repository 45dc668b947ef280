# SPDX-License-Identifier: Apache-2.0
"""A crawler's filter of seven polynomials: vectors made by the Java class that was posted."""

import itertools
import math
import random
import re

from dialect import Driver, hostile, main, needs_time, property_test, sha256, vectors
from lineage_reference import SEEDS, image, seeded, simple, some_keys, units
from storage_rates import spread

BITS = 1 << 25
NAME = "simple-hash"


def utf8(digits):
    """A key of UTF-16 units as our keys are: a surrogate alone is three bytes."""
    return bytes.fromhex(digits).decode("utf-16-be", "surrogatepass").encode("utf-8", "surrogatepass")


@property_test
def positions_bits_and_answers_are_those_of_the_class(check):
    data = vectors("simplehash.json")
    keys, others = [[utf8(key) for key in data[name]] for name in ("inserted_utf16be_hex", "absent_utf16be_hex")]
    variant = "seven" if data["seeds"] == SEEDS else "six"
    check.equal(data["seeds"][-6:], SEEDS[1:], "seeds")
    with Driver() as driver:
        driver.create(NAME, variant=variant, bits=data["bits"])
        for key, positions in zip(keys, data["key_positions_in_seed_order"]):
            check.equal(driver.positions(key), positions, key.hex())
        driver.add_all(keys)
        check.equal(driver.ask_all(keys), "1" * len(keys), "a key is lost")
        check.equal(driver.ask_all(others), data["absent_answers"], "answers")
        check.equal(driver.info(scan=True)["set"], str(data["cardinality"]), "bits set")
        whole = driver.written()
        check.equal(sha256(whole), data["full_4MiB_le_sha256"], "image")
        check.equal(whole, image(data["bits"], data["set_bits"]), "bits")
        driver.through_our_file()
        check.equal((driver.written() == whole, driver.info()["variant"]), (True, variant), "through a Bloomery file")
        driver.load(NAME, whole, variant=variant, bits=data["bits"])
        check.equal(driver.ask_all(others), data["absent_answers"], "loaded")
        check.equal(driver.written() == whole, True, "read and written again")


@property_test
@needs_time
def millions_of_addresses_make_the_image_of_the_class(check):
    large = vectors("simplehash.json")["large_run"]
    base, count = large["base"], large["N"]
    wrong = set(large["false_positive_numbers"])
    with Driver() as driver:
        driver.create(NAME)
        for at in range(base, base + count, 50000):
            driver.add_all([b"http://example.com/item/%d" % i for i in range(at, min(at + 50000, base + count))])
        check.equal(driver.info(scan=True)["set"], str(large["cardinality"]), "bits set")
        check.equal(sha256(driver.written()), large["full_4MiB_le_sha256"], "image")
        for at in range(0, 400000, 50000):
            answers = driver.ask_all([b"http://example.net/page/%d" % i for i in range(at, at + 50000)])
            check.equal(answers, "".join("01"[i in wrong] for i in range(at, at + 50000)), f"false positives from {at}")


@property_test
def random_keys_are_as_the_description_has_them(check):
    rng = seeded(7)
    with Driver() as driver:
        for variant, bits in (("seven", None), ("six", None), ("seven", 1), ("six", 8), ("seven", 1 << 30), ("six", 1 << 10)):
            driver.create(NAME, variant=variant, bits=bits)
            seeds = SEEDS if variant == "seven" else SEEDS[1:]
            keys = ["".join(chr(rng.choice([rng.randrange(0x80), rng.randrange(0x800), rng.randrange(0xFFFF), rng.randrange(0x110000)]))
                            for _ in range(length)).encode("utf-8", "surrogatepass") for length in range(60)]
            for key in keys + some_keys(rng, 40):
                check.equal(driver.positions(key), simple(key, bits or BITS, seeds), f"{bits} {key.hex()[:100]}")


@property_test
def bytes_that_are_not_utf_8_are_a_replacement_for_each_piece(check):
    pieces = [b"\x80", b"\xc1", b"\xc2", b"\xe0\x80", b"\xe0\xa0", b"\xed\xa0", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x80", b"\xf0\x90\x80",
              b"\xf4\x90\x80\x80", b"\xf5", b"\xff", b"a", b"\xc3\xa9", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80", b"\xf4\x8f\xbf\xbf"]
    check.equal(units(b"\xe0\x80\xc2"), [0xFFFD] * 3, "three pieces")
    check.equal(units(b"\xe2\x82a\xed\xa0\x80"), [0xFFFD, 0x61, 0xD800], "cut short, and a surrogate")
    with Driver() as driver:
        driver.create(NAME)
        for chosen in [*itertools.product(pieces, repeat=2), *seeded(9).sample(list(itertools.product(pieces, repeat=3)), 500)]:
            key = b"".join(chosen)
            check.equal(driver.positions(key), simple(key), key.hex())


@property_test
def remarks_tell_the_rate_that_is_measured(check):
    rng = random.Random(11)
    printable = bytes(range(32, 127))
    with Driver() as driver:
        for variant in ("seven", "six"):
            driver.create(NAME, variant=variant)
            told = driver.remarks()
            check.equal(len(told), 3, "remarks")
            check.true(f"1 in {2 ** (7 if variant == 'seven' else 6)}" in told[0], told[0])
            for text in told[1:]:
                numbers = re.search(r"the (\d+) keys of (\d) .* bits (\d+) to (\d+): with (\d+) of them in, about 1 in (\d+) ", text)
                everything, length, low, high, count, one_in = (int(number) for number in numbers.groups())
                check.equal(everything, 95 ** length, "keys")
                asked = hits = 0
                for _ in range(40 if length == 2 else 12):
                    keys = {bytes(rng.choices(printable, k=length)) for _ in range(2 * count)}
                    keys = rng.sample(sorted(keys), count)
                    driver.create(NAME, variant=variant)
                    driver.add_all(keys)
                    others = {bytes(rng.choices(printable, k=length)) for _ in range(60000 if length > 2 else 4000)} - set(keys)
                    hits += driver.ask_all(sorted(others)).count("1")
                    asked += len(others)
                    if asked == len(others):
                        edges = driver.positions(b" " * length) + driver.positions(b"~" * length)
                        check.equal((min(edges), max(edges)), (low, high), text)
                measured = hits / asked
                # Keys are averaged over a thousand, their bits taken as independent: a fifth at most.
                check.true(abs(measured - 1 / one_in) < 0.2 / one_in + 3 * spread(measured, asked), f"{variant} {length}: {measured}, told 1 in {one_in}")
        driver.create(NAME, bits=1 << 12)
        check.equal(len(driver.remarks()), 1, "remarks where sums wrap")


@property_test
def other_sizes_and_damaged_bytes_are_refused(check):
    with Driver() as driver:
        for given in ({"bits": 1 << 31}, {"bits": 1000}, {"probes": 6}, {"variant": "six", "probes": 7}, {"variant": "eight"}, {"keys": 10}):
            check.refused(lambda given=given: driver.create(NAME, **given), ["BAD_ARGUMENT"], str(given))
        for length in (0, BITS // 8 - 1, BITS // 8 + 1):
            check.refused(lambda length=length: driver.load(NAME, bytes(length)), ["TRUNCATED"], f"{length} bytes")
        check.refused(lambda: driver.load(NAME, b"\4", bits=2), ["CORRUPT"], "a bit past m")
        driver.create("guava", bits=BITS, probes=7)
        check.refused(lambda: driver.written(NAME), ["MISMATCH"], "a filter of Guava's")
    check.true(math.isfinite(hostile(check, NAME, bytes(range(64)), header=1, bits=512)), "")


main()
