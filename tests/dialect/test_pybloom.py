# SPDX-License-Identifier: Apache-2.0
"""pybloom_live's filters and chains: vectors made by versions 3 and 4."""

import math
import struct

from dialect import Driver, hostile, main, needs_digests, property_test, sha256, unbase64, vectors
from lineage_reference import image, pybloom, pybloom_size, seeded, some_keys
from storage_rates import check_rate, spread

NAME = "pybloom-live"


def repr_of(key):
    """What version 3 hashes of bytes under Python 3."""
    return repr(key).encode()


def filters(chains):
    """What pybloom_live made, with the keys that it hashed."""
    for one in vectors("pybloom_live.json")["filters"]:
        if (one["kind"] == "ScalableBloomFilter") == chains:
            as_text = one["lib_version"] == 3 and one["key_type"] == "bytes"
            one["keys"], one["others"] = ([repr_of(bytes.fromhex(key)) if as_text else bytes.fromhex(key) for key in one.get(name, [])]
                                          for name in ("inserted_hex", "absent_hex"))
            yield one


def create(driver, one):
    """The same, empty."""
    driver.create(NAME, variant=str(one["lib_version"]), keys=one["capacity"], rate=one["error_rate"], growth=one.get("mode"))


def check_bytes(check, driver, one, data):
    """Against the file that pybloom_live wrote."""
    check.equal((len(data), sha256(data)), (one["tofile_len"], one["tofile_sha256"]), one["name"])
    if "tofile_b64" in one:
        check.equal(data, unbase64(one["tofile_b64"]), one["name"])
    driver.load(NAME, data, variant=str(one["lib_version"]))
    check.equal(driver.written(), data, "read and written again")
    check.equal(driver.ask_all(one["others"]), one["absent_answers"], "loaded")
    driver.through_our_file()
    check.equal((driver.written(), driver.info()["variant"]), (data, str(one["lib_version"])), "through a Bloomery file")
    check.equal(driver.ask_all(one["others"]), one["absent_answers"], "through a Bloomery file")


@property_test
@needs_digests
def positions_are_those_of_pybloom_live(check):
    with Driver() as driver:
        for one in filters(chains=False):
            create(driver, one)
            info = driver.info()
            check.equal((info["bits"], info["probes"]), (str(one["num_bits"]), str(one["num_slices"])), one["name"])
            for key, positions in zip(one["keys"], one["key_positions_in_slice_order"]):
                check.equal(driver.positions(key), positions, f"{one['name']} {key.hex()}")


@property_test
@needs_digests
def files_and_answers_are_those_of_pybloom_live(check):
    with Driver() as driver:
        for one in filters(chains=False):
            if "tofile_sha256" not in one:
                continue
            create(driver, one)
            # add() answers whether the key seemed to be in already.
            check.equal("".join(str(1 - driver.add(key)) for key in one["keys"]), one["add_returned"], one["name"])
            check.equal(driver.ask_all(one["keys"]), "1" * len(one["keys"]), "a key is lost")
            check.equal(driver.ask_all(one["others"]), one["absent_answers"], one["name"])
            check.equal(driver.info()["adds"], str(one["count"]), "keys counted")
            check_bytes(check, driver, one, driver.written())
            create(driver, one)
            driver.add_all(one["keys"])
            check.equal(sha256(driver.written()), one["tofile_sha256"], "by one batch")


@property_test
@needs_digests
def chains_are_those_of_pybloom_live(check):
    with Driver() as driver:
        for one in filters(chains=True):
            create(driver, one)
            check.equal("".join(str(1 - driver.add(key)) for key in one["keys"]), one["add_returned"], one["name"])
            check.equal(driver.ask_all(one["others"]), one["absent_answers"], one["name"])
            check.equal(driver.info()["links"], str(len(one["filters"])), "filters")
            for number, wanted in enumerate(one["filters"]):
                link = driver.link(number)
                check.equal((int(link["keys"]), float(link["rate"]), int(link["probes"]), int(link["bits"]), int(link["adds"])),
                            (wanted["capacity"], wanted["error_rate"], wanted["num_slices"], wanted["num_slices"] * wanted["bits_per_slice"], wanted["count"]), one["name"])
            data = driver.written()
            check_bytes(check, driver, one, data)
            # What is read goes on as what was made would have: another filter after this one.
            more = [b"more %d" % i for i in range(600)]
            driver.load(NAME, data, variant=str(one["lib_version"]))
            driver.add_all(more)
            loaded = driver.written()
            create(driver, one)
            driver.add_all(one["keys"])
            driver.add_all(more)
            check.equal(sha256(driver.written()), sha256(loaded), "keys added after reading")
            check.true(int(driver.info()["links"]) > len(one["filters"]), "it did not grow")


@property_test
@needs_digests
def an_empty_chain_has_no_filter(check):
    with Driver() as driver:
        driver.create(NAME, keys=20, rate=0.05, growth=4)
        empty = struct.pack("<idQdi", 4, 0.9, 20, 0.05, 0)
        check.equal(driver.written(), empty, "no filter")
        driver.through_our_file()
        check.equal(driver.written(), empty, "no filter")
        driver.load(NAME, empty)
        check.equal((driver.ask(b"key"), driver.written()), (0, empty), "no filter")
        check.equal((driver.add(b"key"), driver.ask(b"key"), driver.info()["links"]), (1, 1, "1"), "the first key")
        slices, size = pybloom_size(20, 0.05 * 0.9)
        first = struct.pack("<dQQQQ", 0.05 * 0.9, slices, size, 20, 1) + image(slices * size, pybloom(4, b"key", slices * size, slices))
        wanted = struct.pack("<idQdiQ", 4, 0.9, 20, 0.05, 1, len(first)) + first
        check.equal(driver.written(), wanted, "one filter")
        empty_first = struct.pack("<dQQQQ", 0.05 * 0.9, slices, size, 20, 0) + bytes((slices * size + 7) // 8)
        one = struct.pack("<idQdiQ", 4, 0.9, 20, 0.05, 1, len(empty_first)) + empty_first
        driver.load(NAME, one)
        check.equal(driver.written(), one, "one filter without keys")


@property_test
@needs_digests
def pybloom_2_begins_with_a_tenth_of_the_rate(check):
    with Driver() as driver:
        driver.create(NAME, variant="2", keys=100, rate=0.01, growth=2)
        check.equal(float(driver.link(0)["rate"]), 0.01 * (1 - 0.9), "rate")
        driver.add_all([b"%d" % i for i in range(400)])
        check.equal(driver.info()["variant"], "2", "variant")
        check.equal(float(driver.link(1)["rate"]), 0.01 * (1 - 0.9) * 0.9, "rate")
        check.equal(driver.link(1)["keys"], "200", "keys")
        data = driver.written()
        driver.load(NAME, data, variant="2")
        check.equal((driver.written(), driver.info()["variant"]), (data, "2"), "read and written again")
        driver.create(NAME, variant="2", keys=100, rate=0.01)
        positions = driver.positions(b"key")
        driver.create(NAME, variant="3", keys=100, rate=0.01)
        check.equal(driver.positions(b"key"), positions, "2 and 3 hash alike")


@property_test
@needs_digests
def sizing_is_that_of_pybloom_live(check):
    rng = seeded(41)
    with Driver() as driver:
        rows = [(row["n"], row["p"], row["num_slices"], row["bits_per_slice"]) for row in vectors("pybloom_live.json")["sizing"]]
        for _ in range(200):
            keys, rate = rng.randint(1, 1 << rng.randint(1, 20)), rng.choice([10.0 ** -rng.uniform(0.1, 12), rng.random(), 0.5 ** rng.randint(1, 60)])
            rows.append((keys, rate, *pybloom_size(keys, rate)))
        for keys, rate, slices, size in rows:
            if slices * size < 1 << 33:
                driver.create(NAME, keys=keys, rate=rate)
                check.equal((driver.info()["bits"], driver.info()["probes"]), (str(slices * size), str(slices)), f"{keys} {rate}")
        for given in ({}, {"keys": 10}, {"rate": 0.1}, {"keys": 10, "rate": 1.0}, {"keys": 10, "rate": -1.0}, {"keys": 10, "rate": math.nan},
                      {"keys": 1 << 49, "rate": 0.1}, {"keys": 10, "rate": 0.1, "growth": 1 << 31}, {"keys": 10, "rate": 0.1, "variant": "5"},
                      {"keys": 1, "rate": 5e-324}, {"keys": 10, "rate": 0.1, "bits": 64}):
            check.refused(lambda given=given: driver.create(NAME, **given), ["BAD_ARGUMENT"], str(given))


@property_test
@needs_digests
def random_sizes_are_as_the_description_has_them(check):
    rng = seeded(43)
    # All digests, and all three widths of numbers.
    sizes = [(1, 0.6), (1, 0.5), (3, 0.4), (1, 1e-300), (100, 0.01), (1000, 1e-3), (20000, 1e-6), (200000, 1e-9), (50000, 0.3),
             (40000, 1e-19), (1490000000, 0.5), (30, 0.5 ** 20), (500, 0.5 ** 130)]
    with Driver() as driver:
        for version in (3, 4):
            for keys, rate in sizes:
                slices, size = pybloom_size(keys, rate)
                driver.create(NAME, variant=str(version), keys=keys, rate=rate)
                added = some_keys(rng, 100 if slices < 100 else 20)
                for key in added:
                    check.equal(driver.positions(key), pybloom(version, key, slices * size, slices), f"{version} {slices} {size} {key.hex()[:80]}")
                if slices * size < 1 << 20:
                    count = "".join(str(driver.add(key)) for key in added).count("1")
                    wanted = image(slices * size, sum((pybloom(version, key, slices * size, slices) for key in added), []))
                    check.equal(driver.written(), struct.pack("<dQQQQ", rate, slices, size, keys, count) + wanted, f"{version} {slices} {size}")


@property_test
@needs_digests
def measured_rates_are_as_announced(check):
    for version, keys, rate in ((4, 20, 0.2), (4, 150, 0.05), (3, 300, 0.01), (4, 2000, 0.02)):
        check_rate(check, NAME, keys, variant=str(version), keys=keys, rate=rate, exact=0.01)


@property_test
@needs_digests
def chains_end_at_nine_times_the_rate(check):
    rng = seeded(47)
    hits = told = 0.0
    with Driver() as driver:
        for _ in range(10):
            driver.create(NAME, keys=40, rate=0.02, growth=2)
            check.true("18.0 %" in driver.remarks()[0] and "1 in 50" in driver.remarks()[0], driver.remarks())
            driver.add_all([rng.randbytes(9) for _ in range(40 * 255)])
            told += float(driver.info(scan=True)["live"]) / 10
            hits += driver.ask_all([rng.randbytes(10) for _ in range(10000)]).count("1")
        check.true(abs(hits / 1e5 - told) < spread(told, 100000), f"{hits / 1e5} is measured, {told} is expected")
        check.true(told > 0.08, f"{told} after eight filters")
        driver.create(NAME, variant="2", keys=100, rate=0.02, growth=2)
        check.true(not any("add up" in text for text in driver.remarks()), driver.remarks())


@property_test
@needs_digests
def what_the_bytes_do_not_show_gets_a_remark(check):
    with Driver() as driver:
        driver.create(NAME, keys=100, rate=0.05)
        check.true("MD5" in driver.remarks()[0], driver.remarks())
        driver.create(NAME, keys=100, rate=0.001)
        check.equal(driver.remarks(), [], "160 bits")
        driver.create(NAME, variant="2", keys=100, rate=0.001)
        check.true("102" in driver.remarks()[0], driver.remarks())


def chain_of(*filters_, growth=4, ratio=0.9, keys=20, rate=0.05, count=None):
    """The bytes of a chain."""
    sizes = b"".join(struct.pack("<Q", len(one)) for one in filters_)
    return struct.pack("<idQdi", growth, ratio, keys, rate, len(filters_) if count is None else count) + sizes + b"".join(filters_)


@property_test
@needs_digests
def damaged_files_are_refused(check):
    one = struct.pack("<dQQQQ", 0.05, 5, 150, 120, 7) + bytes(94)
    with Driver() as driver:
        driver.load(NAME, one)
        check.equal((driver.info()["adds"], driver.info()["keys"], driver.info()["bits"]), ("7", "120", "750"), "facts")
        for name, data, statuses in [
                ("nothing", b"", ["TRUNCATED"]),
                ("zero k", struct.pack("<dQQQQ", 0.05, 0, 150, 120, 7) + bytes(94), ["CORRUPT"]),
                ("zero m", struct.pack("<dQQQQ", 0.05, 5, 0, 120, 7) + bytes(94), ["CORRUPT"]),
                ("zero n", struct.pack("<dQQQQ", 0.05, 5, 150, 0, 7) + bytes(94), ["CORRUPT"]),
                ("2^64 bits", struct.pack("<dQQQQ", 0.05, 1 << 8, 1 << 56, 120, 7) + bytes(94), ["CORRUPT"]),
                ("2^49 bits", struct.pack("<dQQQQ", 0.05, 1 << 8, 1 << 41, 120, 7) + bytes(94), ["TRUNCATED"]),
                ("1025 slices", struct.pack("<dQQQQ", 0.05, 1025, 150, 120, 7) + bytes(94), ["CORRUPT"]),
                ("rate 1", struct.pack("<dQQQQ", 1.0, 5, 150, 120, 7) + bytes(94), ["NOT_A_FILTER"]),
                ("no rate", struct.pack("<dQQQQ", math.nan, 5, 150, 120, 7) + bytes(94), ["NOT_A_FILTER"]),
                ("something behind", one + b"\0", ["TRUNCATED"]),
                ("a bit past m", one[:-1] + b"\x80", ["CORRUPT"]),
                ("zero filters, something behind", chain_of() + b"x", ["TRUNCATED"]),
                ("more filters than bytes", chain_of(one, count=60), ["TRUNCATED"]),
                ("65537 filters", chain_of(one, count=65537), ["UNSUPPORTED"]),
                ("-1 filters", chain_of(one, count=-1), ["CORRUPT"]),
                ("a length too long", chain_of(one)[:32] + struct.pack("<Q", 135) + one, ["TRUNCATED"]),
                ("2^64 - 1 bytes", chain_of(one)[:32] + struct.pack("<Q", (1 << 64) - 1) + one, ["TRUNCATED"]),
                ("zero growth", chain_of(one, growth=0), ["NOT_A_FILTER"]),
                ("negative growth", chain_of(one, growth=-2), ["NOT_A_FILTER"]),
                ("zero n of a chain", chain_of(one, keys=0), ["NOT_A_FILTER"]),
                ("rate 2 of a chain", chain_of(one, rate=2.0), ["NOT_A_FILTER"])]:
            check.refused(lambda data=data: driver.load(NAME, data), statuses, name)
        driver.load(NAME, chain_of(*[one] * 100, growth=1, ratio=0.5, keys=120))
        check.equal(driver.info()["links"], "100", "100 filters")
        driver.load(NAME, chain_of(one, ratio=0.5))
        check.equal(driver.info()["kind"], "scalable", "a ratio of which half is zeros")
    check.true(hostile(check, NAME, one, header=40) > 100, "hardly anything was refused")
    check.true(hostile(check, NAME, chain_of(one, one), header=88) > 150, "hardly anything was refused")


main()
