# SPDX-License-Identifier: Apache-2.0
"""The example filter of Python's bitarray in its seven forms: vectors made by those releases."""

import hashlib
import itertools
import math
import os
import random
import struct

from dialect import Driver, Refused, Skip, hostile, main, needs_digests, property_test, vectors
from lineage_reference import image, md5_chain, md5_chain_size, seeded, some_keys
from storage_rates import check_rate

NAME = "md5-chain"
FORMS = {"f8ff967a": "a", "v050": "b", "v101": "c", "v110": "d", "v273": "e", "v310": "f", "head": "g"}


def keys_of(one, name):
    """The bytes that were hashed: of a number, its digits."""
    return [b"%d" % key if isinstance(key, int) else bytes.fromhex(key) for key in one[name]]


def filters(*without):
    """What the releases made."""
    for one in vectors("pybitarray.json")["filters"]:
        if one["name"] not in without:
            yield FORMS.get(one["variant"], "a"), one


def given_for(form, one):
    """What the release was told."""
    params = one["params"]
    given = {"keys": params["n"], "rate": params["p"]} if "n" in params else {"bits": params["m"], "probes": params["k"]}
    return {"variant": form, **given}


@property_test
@needs_digests
def positions_bytes_and_answers_are_those_of_bitarray(check):
    with Driver() as driver:
        for form, one in filters("exhaust", "counting"):
            what = f"{form} {one['name']}"
            keys, others, given = keys_of(one, "inserted"), keys_of(one, "absent"), given_for(form, one)
            driver.create(NAME, **given)
            info = driver.info()
            check.equal((info["bits"], info["probes"], info["variant"]), (str(one["m"]), str(one["k"]), form), what)
            for key, positions in zip(keys, one["key_positions_in_order"]):
                check.equal(driver.positions(key), positions, f"{what} {key.hex()}")
            driver.add_all(keys)
            check.equal(driver.ask_all(keys), "1" * len(keys), "a key is lost")
            check.equal(driver.ask_all(others), one["absent_answers"], what)
            data = driver.written()
            check.equal(data.hex(), one["array_tobytes_hex"], what)
            check.equal(data, image(one["m"], one["set_bits"], msb_first=True), "bits")
            driver.load(NAME, data, **given)
            check.equal(driver.written(), data, "read and written again")
            check.equal(driver.ask_all(others), one["absent_answers"], "loaded")
            driver.through_our_file()
            check.equal((driver.written(), driver.info()["variant"]), (data, form), "through a Bloomery file")


@property_test
@needs_digests
def positions_in_arrays_that_use_digests_up_are_those_of_bitarray(check):
    """2^40 bits need 128 GiB, which few machines have: tests/unit/digests.c asks the hash itself."""
    for form, one in filters():
        if one["name"] == "exhaust":
            for key, positions in zip(keys_of(one, "inserted"), one["key_positions_in_order"]):
                check.equal(md5_chain(form, key, one["m"], one["k"]), positions, f"{form} {key.hex()}")
            if one["m"] < 1 << 34:
                with Driver() as driver:
                    driver.create(NAME, variant=form, bits=one["m"], probes=one["k"])
                    for key, positions in zip(keys_of(one, "inserted"), one["key_positions_in_order"]):
                        check.equal(driver.positions(key), positions, f"{form} {key.hex()}")


def counters_of(driver, count, cell_bits):
    """The counters, read from a Bloomery file."""
    driver.ask_line("save", driver.path("counters"))
    with open(driver.path("counters"), "rb") as file:
        data = file.read()
    begin = struct.unpack_from("<Q", data, 24)[0]  # docs/format.md: the header's payload offset
    assert begin % 64 == 0 and begin > 0
    return [data[begin + (i * cell_bits >> 3)] >> (i * cell_bits & 7) & (1 << cell_bits) - 1 for i in range(count)]


@property_test
@needs_digests
def counters_are_those_of_each_position(check):
    with Driver() as driver:
        for form, one in filters():
            if one["name"] != "counting":
                continue
            keys, removed = keys_of(one, "inserted"), keys_of(one, "removed")
            for cell_bits in (4, 8):
                driver.create(NAME, variant=form, bits=one["m"], probes=one["k"], cell_bits=cell_bits)
                driver.add_all(keys)
                for key in removed:
                    check.equal(driver.remove(key), 1, key.hex())
                check.equal(counters_of(driver, one["m"], cell_bits), one["counters_after"], f"{cell_bits} bits")
                check.equal(driver.ask_all(keys_of(one, "absent")), one["absent_answers"], "answers")
                driver.through_our_file()
                check.equal(counters_of(driver, one["m"], cell_bits), one["counters_after"], "through a Bloomery file")
                check.refused(driver.written, ["MISMATCH"], "their format has no counters")


@property_test
@needs_digests
def counters_follow_a_model(check):
    rng = seeded(23)
    with Driver() as driver:
        for bits, probes, cell_bits in ((5, 4, 4), (40, 7, 4), (40, 7, 8), (3, 60, 4), (2, 600, 8), (1000, 5, 4)):
            most = (1 << cell_bits) - 1
            cells = [0] * bits
            keys = [b"key %d" % i for i in range(30)]
            driver.create(NAME, bits=bits, probes=probes, cell_bits=cell_bits)
            for step in range(300):
                key = rng.choice(keys)
                positions = md5_chain("e", key, bits, probes)
                times = {position: min(most, positions.count(position)) for position in positions}
                what = f"{bits} {probes} {cell_bits} step {step}"
                count = min([most] + [cells[p] // positions.count(p) for p in times if cells[p] < most])
                check.equal(driver.count(key), count, what)
                check.equal(driver.ask(key), int(all(cells[p] for p in times)), what)
                if rng.random() < 0.5:
                    check.equal(driver.add(key), int(any(cells[p] == 0 for p in times)), what)
                    for position in positions:
                        cells[position] = min(most, cells[position] + 1)
                else:
                    there = all(cells[p] >= n for p, n in times.items())
                    check.equal(driver.remove(key), int(there), what)
                    if there:
                        for p, n in times.items():
                            cells[p] -= n if cells[p] < most else 0
            check.equal(counters_of(driver, bits, cell_bits), cells, f"{bits} {probes} {cell_bits}")
            info = driver.info(scan=True)
            check.equal(info["set"], str(sum(1 for cell in cells if cell)), "counters in use")


def key_with(positions, bits, form="a"):
    """The first number whose positions are these, in any order."""
    for number in itertools.count():
        if set(md5_chain(form, b"%d" % number, bits, len(positions))) == set(positions):
            return b"%d" % number
    raise AssertionError


@property_test
@needs_digests
def the_worked_example_of_bits(check):
    """m = 16, k = 3: a = {2, 6, 13}, b = {4, 10, 11}, c = {6, 11, 12}. The letters are not hashed by any of the forms so:
    they stand for keys, and the first numbers that have these positions take their places."""
    a, b, c = (key_with(positions, 16) for positions in ((2, 6, 13), (4, 10, 11), (6, 11, 12)))
    with Driver() as driver:
        driver.create(NAME, variant="a", bits=16, probes=3)
        for key, positions in ((a, [2, 6, 13]), (b, [4, 10, 11]), (c, [6, 11, 12])):
            check.equal(sorted(driver.positions(key)), positions, "positions")
        check.equal((driver.add(a), driver.add(b)), (1, 1), "new")
        check.equal((driver.ask(a), driver.ask(b), driver.ask(c)), (1, 1, 0), "present, present, absent: bit 12")
        check.equal(driver.ask(key_with((2, 4, 11), 16)), 1, "a false positive")
        check.equal(driver.add(c), 1, "new")
        check.equal(driver.written(), image(16, (2, 4, 6, 10, 11, 12, 13), msb_first=True), "bits")
        check.equal([driver.ask(key) for key in (a, key_with((4, 6, 12), 16), key_with((0, 6, 11), 16))], [1, 1, 0], "present, false positive, absent")


@property_test
@needs_digests
def the_worked_example_of_counters(check):
    """a = [0,1,1,0,0], and with b = [0,0,1,0,1] it is [0,1,2,0,1] (as bits: [0,1,1,0,1]); without a: [0,0,1,0,1]."""
    a, b = key_with((1, 2), 5), key_with((2, 4), 5)
    with Driver() as driver:
        for cell_bits in (4, 8):
            driver.create(NAME, variant="a", bits=5, probes=2, cell_bits=cell_bits)
            driver.add(a)
            check.equal(counters_of(driver, 5, cell_bits), [0, 1, 1, 0, 0], "a")
            driver.add(b)
            check.equal(counters_of(driver, 5, cell_bits), [0, 1, 2, 0, 1], "a and b")
            check.equal(driver.remove(a), 1, "removed")
            check.equal(counters_of(driver, 5, cell_bits), [0, 0, 1, 0, 1], "b")
            check.equal((driver.ask(a), driver.ask(b), driver.remove(a)), (0, 1, 0), "answers")
            check.equal(counters_of(driver, 5, cell_bits), [0, 0, 1, 0, 1], "a key that is not in changes nothing")
        driver.create(NAME, variant="a", bits=5, probes=2)
        driver.add_all([a, b])
        check.equal(driver.written(), image(5, (1, 2, 4), msb_first=True), "as bits")


@property_test
@needs_digests
def sizing_is_that_of_bitarray(check):
    with Driver() as driver:
        for row in vectors("pybitarray.json")["sizing_1_2_0_and_later"]:
            for form in "efg":
                if row["m"] < 1 << 33:
                    driver.create(NAME, variant=form, keys=row["n"], rate=row["p"])
                    check.equal((driver.info()["bits"], driver.info()["probes"]), (str(row["m"]), str(row["k"])), str(row))
        rng = seeded(29)
        for _ in range(200):
            keys, rate = rng.randint(1, 1 << rng.randint(1, 20)), rng.choice([10.0 ** -rng.uniform(0.1, 12), rng.random(), 0.5 ** rng.randint(1, 60)])
            bits, probes = md5_chain_size(keys, rate)
            driver.create(NAME, keys=keys, rate=rate)
            check.equal((driver.info()["bits"], driver.info()["probes"]), (str(bits), str(probes)), f"{keys} {rate}")
        for form in "abcd":
            check.refused(lambda form=form: driver.create(NAME, variant=form, keys=10, rate=0.1), ["BAD_ARGUMENT"], "no sizing")
        for given in ({}, {"keys": 10}, {"keys": 10, "rate": 1.0}, {"keys": 10, "rate": -1.0}, {"keys": 10, "rate": math.nan}, {"bits": 8}, {"probes": 8},
                      {"bits": 8, "probes": 1025}, {"bits": (1 << 50) + 1, "probes": 1}, {"keys": 1 << 60, "rate": 0.1}, {"bits": 8, "probes": 2, "variant": "h"}):
            check.refused(lambda given=given: driver.create(NAME, **given), ["BAD_ARGUMENT"], str(given))
        check.refused(lambda: driver.create(NAME, bits=8, probes=2, cell_bits=3), ["UNSUPPORTED", "BAD_ARGUMENT"], "counters of 3 bits")


@property_test
@needs_digests
def random_sizes_are_as_the_description_has_them(check):
    rng = seeded(31)
    sizes = [(1, 1), (1, 40), (2, 300), (3, 5), (255, 100), (256, 70), (257, 70), (1 << 20, 60), ((1 << 30) - 35, 40), (1 << 27, 1024)]
    sizes += [(rng.randint(1, 1 << rng.randint(1, 27)), rng.randint(1, 90)) for _ in range(6)]
    with Driver() as driver:
        for form in "abcdefg":
            for bits, probes in sizes:
                driver.create(NAME, variant=form, bits=bits, probes=probes)
                for key in some_keys(rng) if probes < 100 else some_keys(rng, 10):
                    check.equal(driver.positions(key), md5_chain(form, key, bits, probes), f"{form} {bits} {probes} {key.hex()[:80]}")
            driver.create(NAME, variant=form, bits=1001, probes=5)
            keys = some_keys(rng, 50)
            driver.add_all(keys)
            check.equal(driver.written(), image(1001, sum((md5_chain(form, key, 1001, 5) for key in keys), []), msb_first=True), form)


@property_test
@needs_digests
def measured_rates_are_as_announced(check):
    for form in "abcdefg":
        check_rate(check, NAME, 300, variant=form, bits=2900, probes=7)
    check_rate(check, NAME, 100, variant="e", bits=800, probes=4, cell_bits=4)


@property_test
@needs_digests
def faults_are_reported_with_numbers(check):
    with Driver() as driver:
        driver.create(NAME, variant="b", bits=1000, probes=60)
        check.true("52 positions" in driver.remarks()[0] and "other 8 of its 60" in driver.remarks()[0], driver.remarks())
        check.equal([driver.positions(key)[52:] for key in (b"a", b"b")], [[0] * 8] * 2, "used up")
        check.true(driver.positions(b"a")[51] > 0 or driver.positions(b"b")[51] > 0, "not used up")
        driver.create(NAME, variant="b", bits=1000, probes=51)
        check.equal(driver.remarks(), [], "enough")
        driver.create(NAME, variant="c", bits=1 << 20, probes=6)
        check.true("1 in 256" in driver.remarks()[0], driver.remarks())
        stopped = sum(int.from_bytes(hashlib.md5(b"%d" % i).digest(), "big") < 1 << 120 for i in range(100000))
        check.true(abs(stopped / 100000 - 1 / 256) < 0.001, "keys of which a second digest is asked")
        driver.create(NAME, variant="g", bits=1 << 12, probes=6)
        check.true("half of all" in driver.remarks()[0], driver.remarks())
        for form in "adefg":
            driver.create(NAME, variant=form, bits=1000, probes=7)
            check.equal(driver.remarks(), [], form)
        driver.create(NAME, bits=1000, probes=7, keys=1000, rate=0.01)
        check.true("not the 1 in 100" in driver.remarks()[0], driver.remarks())


@property_test
@needs_digests
def damaged_bytes_are_refused(check):
    with Driver() as driver:
        driver.create(NAME, bits=700, probes=5)
        driver.add_all([b"one", b"two"])
        data = driver.written()
        check.refused(lambda: driver.load(NAME, data[:-1] + b"\1", bits=700, probes=5), ["CORRUPT"], "a bit past m")
        check.refused(lambda: driver.load(NAME, data), ["BAD_ARGUMENT"], "no parameters")
        check.refused(lambda: driver.load(NAME, data, bits=700), ["BAD_ARGUMENT"], "no probes")
        check.refused(lambda: driver.load(NAME, data, bits=1 << 50, probes=5), ["TRUNCATED"], "2^47 bytes")
        check.refused(lambda: driver.load(NAME, data, bits=700, probes=5, cell_bits=4), ["BAD_ARGUMENT"], "counters have no bytes")
        check.refused(lambda: driver.load(NAME, b"", bits=1, probes=5), ["TRUNCATED"], "no bytes")
        driver.create("guava", bits=640, probes=3)
        check.refused(lambda: driver.written(NAME), ["MISMATCH"], "a filter of Guava's")
    check.true(hostile(check, NAME, data, header=1, bits=700, probes=5) >= 80, "hardly anything was refused")


@property_test
def without_digests_filters_open_for_inspection_only(check):
    folder = os.environ.get("BLOOMERY_NO_DIGESTS")
    if not folder and not os.environ.get("BLOOMERY_TEST_NO_LIBCRYPTO"):
        raise Skip("needs a libcrypto without functions (tests/dialect/meson.build)")
    data = image(700, random.Random(1).sample(range(700), 300), msb_first=True)
    with Driver(LD_LIBRARY_PATH=folder or "") as driver:
        refused = check.refused(lambda: driver.create(NAME, bits=700, probes=5), ["UNSUPPORTED"], "created")
        check.true("libcrypto" in refused.text, refused.text)
        check.refused(lambda: driver.load(NAME, data, bits=700, probes=5), ["UNSUPPORTED"], "loaded")
        driver.peek(NAME, data, bits=700, probes=5)
        check.equal((driver.info(scan=True)["set"], driver.written()), ("300", data), "facts and bytes")
        check.equal((driver.ask(b"key"), driver.positions(b"key")), (1, []), "maybe")
        check.equal(driver.info()["hash"], "md5-chain-e", "the hash is named")
        try:
            driver.add(b"key")
            check.true(False, "added")
        except Refused as why:
            check.equal(why.status, "BLOOMERY_UNSUPPORTED", "why not")
        driver.ask_line("save", driver.path("ours"))
        check.refused(lambda: driver.ask_line("open", driver.path("ours")), ["UNSUPPORTED"], "opened")
        driver.create("simple-hash", bits=64)
        check.equal((driver.add(b"key"), driver.ask(b"key")), (1, 1), "a filter that needs no digest")


main()
