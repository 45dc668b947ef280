# SPDX-License-Identifier: Apache-2.0
"""Filters of bits-and-blooms: vectors made by bits-and-blooms/bloom v3.7.1."""

import json
import random
import struct

from dialect import Driver, hostile, main, property_test, sha256, statistics, unbase64, vectors
from steps_reference import bitmap, bits_and_blooms_locations, bits_and_blooms_positions, bits_and_blooms_size
from storage_rates import check_rate

LITTLE = {"variant": "little-endian"}


def keys_of(texts):
    """Bytes."""
    return [bytes.fromhex(text) for text in texts]


def made_by(one):
    """The arguments for the library where the Go program called New or NewWithEstimates."""
    if one["estimate_n"]:
        return {"keys": one["estimate_n"], "rate": one["estimate_p"]}
    return {"bits": one["new_m"], "probes": one["new_k"] or 1}


def bytes_of(bits, probes, positions, length=None, order=">"):
    """All of them, from the description."""
    length = bits if length is None else length
    words = struct.unpack(f"<{(length + 63) // 64}Q", bitmap(length, positions, 64))
    return struct.pack(">QQ", bits, probes) + struct.pack(f"{order}Q{len(words)}Q", length, *words)


@property_test
def bytes_and_answers_are_those_of_bits_and_blooms(check):
    given = vectors("bits_and_blooms.json")
    inserted, absent = keys_of(given["inserted_hex"]), keys_of(given["absent_hex"])
    with Driver() as driver:
        for one in given["filters"]:
            what = f"m {one['m']}, k {one['k']}"
            data = unbase64(one["writeTo_b64"])
            check.equal(sha256(data), one["writeTo_sha256"], what)
            for order in ({}, LITTLE):
                driver.create("bits-and-blooms", **made_by(one), **order)
                info = driver.info()
                check.equal((info["bits"], info["probes"]), (str(one["m"]), str(one["k"])), what)
                for key, positions in zip(inserted, one["key_positions_in_order"]):
                    check.equal(driver.positions(key), positions, f"{what}: {key.hex()}")
                driver.add_all(inserted)
                for way in ("made", "read", "through a Bloomery file"):
                    written = driver.written()
                    check.equal(sha256(written), one["writeTo_with_bitset_LittleEndian_sha256" if order else "writeTo_sha256"], f"{what}, {way}")
                    check.equal(driver.ask_all(absent), one["absent_answers"], f"{what}, {way}")
                    check.equal(driver.info()["variant"], order.get("variant", "big-endian"), f"{what}, {way}")
                    if way == "made":
                        driver.load("bits-and-blooms", written, **order)
                    else:
                        driver.through_our_file()
            # the form in JSON is the same bitset
            said = json.loads(one["json"])
            check.equal((said["m"], said["k"]), (one["m"], one["k"]), what)
            check.equal(unbase64(said["b"].replace("-", "+").replace("_", "/")), data[16:], what)


@property_test
def locations_are_those_of_bits_and_blooms(check):
    given = vectors("bits_and_blooms.json")
    with Driver() as driver:
        for bits in (1 << 30, (1 << 30) - 35, 1000003):
            driver.create("bits-and-blooms", bits=bits, probes=8)
            for row in given["locations"]:
                key = bytes.fromhex(row["hex"])
                locations = [int(word) for word in row["locations_k8_unreduced"].strip("[]").split()]
                check.equal(bits_and_blooms_locations(key, 8), locations, row["hex"])
                check.equal(driver.positions(key), [location % bits for location in locations], f"{row['hex']} in {bits}")


@property_test
def sizing_is_that_of_bits_and_blooms(check):
    with Driver() as driver:
        for row in vectors("bits_and_blooms.json")["sizing"]:
            check.equal(bits_and_blooms_size(row["n"], row["p"]), (row["m"], row["k"]), str(row))
            driver.create("bits-and-blooms", keys=row["n"], rate=row["p"])
            info = driver.info()
            check.equal((info["bits"], info["probes"]), (str(row["m"]), str(row["k"])), str(row))


@property_test
def filters_are_those_of_the_description(check):
    rng = random.Random(31)
    with Driver() as driver:
        for _ in range(60):
            bits = rng.choice([1, 2, 63, 64, 65, 128, rng.randint(1, 300), rng.randint(300, 100_000)])
            probes = rng.choice([1, 2, 3, 4, 5, 64, 65, 1024, rng.randint(1, 30)])
            order = rng.choice([{}, LITTLE])
            keys = [rng.randbytes(rng.randint(0, 100)) for _ in range(rng.randint(0, 40))]
            what = f"{bits} bits, {probes} probes, {order}"
            driver.create("bits-and-blooms", bits=bits, probes=probes, **order)
            driver.add_all(keys)
            places = [bits_and_blooms_positions(key, bits, probes) for key in keys]
            for key, positions in list(zip(keys, places))[:5]:
                check.equal(driver.positions(key), positions, f"{what}: {key.hex()}")
            wanted = bytes_of(bits, probes, [at for positions in places for at in positions], order="<" if order else ">")
            check.equal(driver.written(), wanted, what)
            driver.load("bits-and-blooms", wanted, **order)
            check.equal(driver.written(), wanted, what)


@property_test
def keys_of_all_lengths_are_hashed_twice(check):
    rng = random.Random(3)
    with Driver() as driver:
        driver.create("bits-and-blooms", bits=(1 << 27) - 39, probes=13)
        for length in [*range(101), 10_000, 65_535]:
            for key in (rng.randbytes(length), b"\xff" * length, bytes(length), b"\x80" * length):
                check.equal(driver.positions(key), bits_and_blooms_positions(key, (1 << 27) - 39, 13), key.hex()[:300])


@property_test
def bitsets_that_begin_empty_grow(check):
    """New(0, 3)."""
    with Driver() as driver:
        for order in ({}, LITTLE):
            driver.create("bits-and-blooms", probes=3, **order)
            empty = bytes_of(1, 3, [], 0)
            check.equal(driver.written(), empty, "no words yet")
            check.equal(driver.ask(b"a"), 0, "nothing is in it")
            driver.load("bits-and-blooms", empty, **order)
            driver.through_our_file()
            check.equal(driver.written(), empty, "read and written")
            check.equal(driver.add(b"a"), 1, "a key")
            check.equal(driver.written(), bytes_of(1, 3, [0], 1, order="<" if order else ">"), "one word")
        long = bytes_of(1000, 3, [1, 2, 3], 1024)  # as FromWithM makes it
        driver.load("bits-and-blooms", long)
        check.equal(driver.written(), long, "a bitset of whole words")
        short = bytes_of(1000, 3, [1, 2, 3], 70)
        driver.load("bits-and-blooms", short)
        check.equal(driver.written(), short, "a bitset that is too short")
        key = b"key"
        driver.add(key)
        length = max(70, max(driver.positions(key)) + 1)
        check.equal(driver.written(), bytes_of(1000, 3, [1, 2, 3, *driver.positions(key)], length), "and grows")


@property_test
def damaged_bytes_are_refused(check):
    good = bytes_of(1000, 5, [1, 7, 500, 999])
    with Driver() as driver:
        for what, at, form, value, statuses in (
                ("zero bits", 0, ">Q", 0, ["CORRUPT"]), ("2^64 - 1 bits", 0, ">Q", (1 << 64) - 1, ["CORRUPT"]), ("fewer bits", 0, ">Q", 999, ["CORRUPT"]),
                ("zero probes", 8, ">Q", 0, ["CORRUPT"]), ("1025 probes", 8, ">Q", 1025, ["CORRUPT"]), ("2^32 + 5 probes", 8, ">Q", (1 << 32) + 5, ["CORRUPT"]),
                ("a longer bitset", 16, ">Q", 1025, ["CORRUPT"]), ("a much longer one", 16, ">Q", (1 << 64) - 1, ["CORRUPT"]), ("a shorter one", 16, ">Q", 900, ["TRUNCATED"]),
                ("a bit past the end", 24 + 15 * 8, ">Q", 1 << 63, ["CORRUPT"])):
            bad = good[:at] + struct.pack(form, value) + good[at + struct.calcsize(form):]
            check.refused(lambda bad=bad: driver.load("bits-and-blooms", bad), [*statuses, "BAD_ARGUMENT"] if "past" in what else statuses, what)
        huge = struct.pack(">QQQ", 1 << 45, 5, 1 << 45)
        check.refused(lambda: driver.load("bits-and-blooms", huge), ["TRUNCATED"], "4 TiB of bits")
        for bits in (65 + 1024 * 64, 0x10ff0000, 1 << 45, 1 << 50):
            check.refused(lambda bits=bits: driver.load("bits-and-blooms", struct.pack(">QQQ", bits, 5, 0)), ["CORRUPT"], "24 bytes are not a reason to allocate")
        driver.load("bits-and-blooms", struct.pack(">QQQ", 1024 * 64, 5, 0))
        why = check.refused(lambda: driver.load("bits-and-blooms", good, **LITTLE), ["BAD_ARGUMENT"], "the other byte order")
        check.true("byte order" in why.text, why.text)
        why = check.refused(lambda: driver.load("bits-and-blooms", bytes_of(1000, 5, [1], order="<")), ["BAD_ARGUMENT"], "the other byte order")
        check.true("byte order" in why.text, why.text)
        for given in ({}, {"keys": 10}, {"rate": 0.1}, {"keys": 10, "rate": 1}, {"keys": 10, "rate": -1}, {"bits": (1 << 50) + 1, "probes": 1}, {"bits": 10, "probes": 1025},
                      {"variant": "middle-endian", "bits": 10, "probes": 1}):
            check.refused(lambda given=given: driver.create("bits-and-blooms", **given), ["BAD_ARGUMENT"], str(given))
    check.true(hostile(check, "bits-and-blooms", good, header=24) > 100, "hardly anything was refused")


@property_test
@statistics
def rates_are_classic(check):
    for count, rate in ((100, 0.01), (150, 0.05), (1000, 0.001)):
        check_rate(check, "bits-and-blooms", count, exact=0.1, keys=count, rate=rate)


@property_test
def bits_past_the_bitset_are_refused(check):
    with Driver() as driver:
        header = (64).to_bytes(8, "big") + (3).to_bytes(8, "big") + (10).to_bytes(8, "big")
        driver.load("bits-and-blooms", header + (1 << 9).to_bytes(8, "big"))
        check.equal(driver.written(), header + (1 << 9).to_bytes(8, "big"), "the last bit")
        check.refused(lambda: driver.load("bits-and-blooms", header + (1 << 20).to_bytes(8, "big")), ["CORRUPT"],
                      "a bit past the bitset")


main()
