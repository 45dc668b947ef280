# SPDX-License-Identifier: Apache-2.0
"""DCSO's filters: vectors made by DCSO/bloom v0.2.4."""

import random
import struct

from dialect import Driver, hostile, main, property_test, sha256, statistics, unbase64, vectors
from storage_rates import spread
from steps_reference import bitmap, dcso_positions, dcso_size


def keys_of(texts):
    """Bytes."""
    return [bytes.fromhex(text) for text in texts]


def made_by_hand(bits, probes, keys, wanted=0, rate=0.0, data=b"", added=None):
    """The whole file, from the description."""
    head = struct.pack("<QQdQQQ", 1, wanted, rate, probes, bits, len(keys) if added is None else added)
    return head + bitmap(bits, [at for key in keys for at in dcso_positions(key, bits, probes)], 64) + data


@property_test
def files_and_answers_are_those_of_dcso(check):
    given = vectors("dcso.json")
    inserted, absent = keys_of(given["inserted_hex"]), keys_of(given["absent_hex"])
    with Driver() as driver:
        for one in given["filters"]:
            name = f"n {one['n']}, p {one['p']}"
            driver.create("dcso", keys=one["n"], rate=one["p"])
            info = driver.info()
            check.equal((info["bits"], info["probes"]), (str(one["m"]), str(one["k"])), name)
            for key, positions in zip(inserted, one["key_positions_in_order"]):
                check.equal(driver.positions(key), positions, f"{name}: {key.hex()}")
            check.equal(sum(driver.add(key) for key in inserted), one["N_members"], name)
            file = unbase64(one["file_b64"])
            data = bytes.fromhex(one["data_hex"])
            check.equal(sha256(file), one["file_sha256"], name)
            check.equal(driver.written() + data, file, name)
            for way in ("made", "read", "through a Bloomery file"):
                check.equal(driver.ask_all(absent), one["absent_answers"], f"{name}, {way}")
                check.true("0" not in driver.ask_all(inserted), f"{name}, {way}: a key is lost")
                check.equal(driver.info()["adds"], str(one["N_members"]), f"{name}, {way}")
                if way == "made":
                    driver.load("dcso", file)
                else:
                    check.equal(driver.written(), file, f"{name}, {way}")
                    driver.through_our_file()


@property_test
def the_sample_is_read_and_written(check):
    sample = vectors("dcso_sample.bloom")
    with Driver() as driver:
        driver.load("dcso", sample)
        check.equal(driver.written(), sample, "the same bytes")
        check.refused(lambda: driver.load("dcso", b"\x1f\x8b\x08\0" + sample), ["NOT_A_FILTER"], "gzip")


@property_test
def sizing_is_that_of_dcso(check):
    with Driver() as driver:
        for row in vectors("dcso.json")["sizing"]:
            check.equal(dcso_size(row["n"], row["p"]), (row["m"], row["k"]), str(row))
            if row["m"] == 0:
                check.refused(lambda row=row: driver.create("dcso", keys=row["n"], rate=row["p"]), ["BAD_ARGUMENT"], str(row))
                continue
            driver.create("dcso", keys=row["n"], rate=row["p"])
            info = driver.info()
            check.equal((info["bits"], info["probes"]), (str(row["m"]), str(row["k"])), str(row))
            check.equal(len(driver.written()), 48 + 8 * row["M"], str(row))


@property_test
def filters_are_those_of_the_description(check):
    rng = random.Random(10)
    with Driver() as driver:
        for number in range(60):
            bits = rng.choice([1, 2, 3, 63, 64, 65, 1024, rng.randint(1, 300), rng.randint(300, 100_000)])
            probes = rng.choice([1, 2, 64, 65, 200, 1024, rng.randint(1, 30)])
            keys = [rng.randbytes(rng.randint(0, 100)) for _ in range(rng.randint(0, 40))]
            name = f"{bits} bits, {probes} probes"
            if number % 2 == 0:
                driver.create("dcso", bits=bits, probes=probes)
            else:
                driver.load("dcso", made_by_hand(bits, probes, [], 77, 0.125, b"xyz"))
            count = sum(driver.add(key) for key in keys)
            for key in keys[:5]:
                check.equal(driver.positions(key), dcso_positions(key, bits, probes), name)
            wanted = made_by_hand(bits, probes, keys, *((0, 0.0, b"") if number % 2 == 0 else (77, 0.125, b"xyz")), count)
            check.equal(driver.written(), wanted, name)


@property_test
def keys_of_all_lengths_are_hashed_by_fnv1(check):
    rng = random.Random(3)
    with Driver() as driver:
        driver.create("dcso", bits=(1 << 27) - 39, probes=11)
        for length in [*range(101), 1000]:
            for key in (rng.randbytes(length), b"\xff" * length, bytes(length), b"\x80" * length):
                check.equal(driver.positions(key), dcso_positions(key, (1 << 27) - 39, 11), key.hex())


@property_test
def attached_data_of_any_length_stays(check):
    rng = random.Random(4)
    with Driver() as driver:
        for length in (0, 1, 7, 8, 4096, 6144, 6145, 300_000):
            file = made_by_hand(1000, 5, [b"a", b"b"], 2, 0.01, rng.randbytes(length))
            driver.load("dcso", file)
            check.equal(driver.written(), file, f"{length} bytes")
            if length <= 6144:
                driver.through_our_file()
                check.equal(driver.written(), file, f"{length} bytes through a Bloomery file")
            else:
                check.refused(driver.through_our_file, ["UNSUPPORTED", "BAD_ARGUMENT"], f"{length} bytes do not fit our file")


@property_test
def damaged_files_are_refused(check):
    good = made_by_hand(1000, 5, [b"a", b"b", b"c"], 3, 0.01)
    with Driver() as driver:
        for what, at, form, value, statuses in (
                ("version 0", 0, "<Q", 0, ["WRONG_VERSION"]), ("version 2", 0, "<Q", 2, ["WRONG_VERSION"]), ("flags", 1, "<B", 1, ["UNSUPPORTED"]),
                ("zero probes", 24, "<Q", 0, ["CORRUPT"]), ("1025 probes", 24, "<Q", 1025, ["CORRUPT"]), ("2^32 + 5 probes", 24, "<Q", (1 << 32) + 5, ["CORRUPT"]),
                ("zero bits", 32, "<Q", 0, ["CORRUPT"]), ("2^64 - 1 bits", 32, "<Q", (1 << 64) - 1, ["TRUNCATED"]),
                ("2^45 bits", 32, "<Q", 1 << 45, ["TRUNCATED"]), ("a rate of 2", 16, "<d", 2.0, ["CORRUPT"]), ("no rate", 16, "<d", float("nan"), ["CORRUPT"]),
                ("a bit past the end", len(good) - 1, "<B", 128, ["CORRUPT"])):
            bad = good[:at] + struct.pack(form, value) + good[at + struct.calcsize(form):]
            check.refused(lambda bad=bad: driver.load("dcso", bad), statuses, what)
        for given in ({}, {"keys": 10}, {"rate": 0.1}, {"keys": 10, "rate": 1}, {"keys": 10, "rate": -1}, {"bits": 5}, {"probes": 5},
                      {"bits": (1 << 50) + 1, "probes": 1}, {"bits": 10, "probes": 1025}, {"keys": 1, "rate": 0.9}):
            check.refused(lambda given=given: driver.create("dcso", **given), ["BAD_ARGUMENT"], str(given))
    check.true(hostile(check, "dcso", good, header=48) > 100, "hardly anything was refused")


@property_test
@statistics
def rates_at_powers_of_two_are_those_of_the_chain(check):
    """Measured over hashes that are spread well, r being the odd part of the size."""
    rng = random.Random(21)
    for bits, probes, keys, exact in ((65536, 7, 6000, 0.02), (98304, 7, 10000, 0.02), (81920, 7, 8500, 0.02), (102400, 7, 10680, 0.02),
                                      (9585, 7, 1000, 0.03), (9586, 7, 1000, 0.03), (16384, 20, 570, 0.02), (1024, 4, 200, 0.04)):
        asked, hits, live, expected, filters = 60000, 0, 0.0, 0.0, 6
        with Driver() as driver:
            for _ in range(filters):
                driver.create("dcso", bits=bits, probes=probes, keys=keys, rate=0.001)
                driver.add_all([rng.randbytes(16) for _ in range(keys)])
                info = driver.info(scan=True)
                live += float(info["live"]) / filters
                expected += float(info["expected"]) / filters
                hits += driver.ask_all([rng.randbytes(17) for _ in range(asked)]).count("1")
        measured = hits / asked / filters
        name = f"{bits} bits, {probes} probes, {keys} keys: {measured} measured, {expected} expected, {live} live"
        check.true(abs(measured - expected) < spread(measured, asked * filters) + exact * expected + 0.02 * expected, name)
        check.true(abs(measured - live) < spread(measured, asked * filters) + exact * live + 0.02 * live, name)


@property_test
def sizes_at_powers_of_two_are_reported(check):
    with Driver() as driver:
        driver.create("dcso", bits=65536, probes=7, keys=6000, rate=0.006)
        remarks = driver.remarks()
        check.equal(remarks, ["with the 6000 keys it was made for, this dialect's rate at this size is 19.6 %, not the 1 in 167 it was asked for"], "7 probes")
        driver.create("dcso", bits=65537, probes=7, keys=6000, rate=0.006)
        check.equal(driver.remarks(), [], "a bit more")

@property_test
def without_a_rate_the_half_full_one_is_reported(check):
    with Driver() as driver:
        driver.create("dcso", bits=1 << 20, probes=10, keys=70000)
        check.true(any("usual formula" in text for text in driver.remarks()), "no remark about a power of two")
        driver.create("dcso", bits=(1 << 20) + 1, probes=10, keys=70000)
        check.equal(driver.remarks(), [], "an odd number of bits")


main()
