# SPDX-License-Identifier: Apache-2.0
"""libbloom's filters: vectors made by libbloom 1.6 and 2.0."""

import math
import random
import struct
from fractions import Fraction

from dialect import Driver, Refused, Skip, hostile, main, property_test, statistics, vectors
from steps_reference import bitmap, bits_per_key, libbloom_positions, libbloom_size, murmur2
from storage_rates import check_rate, spread

RELEASES = {"1.6": "libbloom16.json", "2.0": "libbloom20.json"}


def keys_of(texts):
    """Bytes."""
    return [bytes.fromhex(text) for text in texts]


def extra_keys(text):
    """Of a sentence like "ASCII fill-0 .. fill-2999 (3000 keys) added after the listed ones"."""
    return [b"fill-%d" % number for number in range(int(text.split("(")[1].split()[0]))]


def file_of(keys, rate, bits, probes, data, pointer=0, stale=b"", minor=0):
    """What bloom_save of 2.0 writes, from the description."""
    return (b"libbloom2" + struct.pack("<HIxxxxQQB7xdBBB5xdQ", 64, keys, bits, (bits + 7) // 8, probes, rate, 1, 2, minor, bits_per_key(rate), pointer)
            + data + stale)


@property_test
def bitmaps_and_answers_are_those_of_libbloom(check):
    with Driver() as driver:
        for release, name in RELEASES.items():
            given = vectors(name)
            inserted, absent = keys_of(given["inserted_hex"]), keys_of(given["absent_hex"])
            for one in given["filters"]:
                what = f"{release}: {one['entries']}, {one['error']}"
                driver.create("libbloom", variant=release, keys=one["entries"], rate=one["error"])
                info = driver.info()
                check.equal((info["bits"], info["probes"], info["variant"]), (str(one["bits"]), str(one["hashes"]), release), what)
                for key, positions in zip(inserted, one["key_bits_sorted_unique"]):
                    check.equal(sorted(set(driver.positions(key))), positions, f"{what}: {key.hex()}")
                # libbloom says 1 where a key was there before
                check.equal("".join(str(1 - driver.add(key)) for key in inserted), one["add_returned"], what)
                driver.add_all(extra_keys(one["extra_keys"]))
                data = bytes.fromhex(one["bf_hex"])
                wanted = data if release == "1.6" else file_of(one["entries"], one["error"], one["bits"], one["hashes"], data)
                for way in ("made", "read", "through a Bloomery file"):
                    check.equal(driver.written().hex(), wanted.hex(), f"{what}, {way}")
                    check.equal(driver.ask_all(absent), one["absent_answers"], f"{what}, {way}")
                    check.true("0" not in driver.ask_all(inserted), f"{what}, {way}: a key is lost")
                    if way == "made":
                        driver.load("libbloom", wanted, **({"variant": "1.6", "keys": one["entries"], "rate": one["error"]} if release == "1.6" else {}))
                    else:
                        driver.through_our_file()


@property_test
def sizing_is_that_of_libbloom(check):
    with Driver() as driver:
        for release, name in RELEASES.items():
            for row in vectors(name)["sizing"]:
                what = f"{release}: {row}"
                if row["rc"] != 0:
                    check.refused(lambda row=row, release=release: driver.create("libbloom", variant=release, keys=row["n"], rate=row["p"]), ["BAD_ARGUMENT"], what)
                    continue
                check.equal(libbloom_size(release, row["n"], row["p"]), (row["bits"], row["hashes"]), what)
                driver.create("libbloom", variant=release, keys=row["n"], rate=row["p"])
                info = driver.info()
                check.equal((info["bits"], info["probes"]), (str(row["bits"]), str(row["hashes"])), what)


@property_test
def saved_files_are_read_and_written(check):
    given = vectors("libbloom20.json")
    absent = keys_of(given["absent_hex"])
    with Driver() as driver:
        for number in (0, 3):
            one = given["filters"][number]
            file = vectors(f"libbloom20_save_{number}.bin")
            check.equal(driver.sniff(file), "libbloom", "magic")
            for stale in (b"", b"what a longer file left", bytes(range(256)) * 4):
                driver.load("libbloom", file + stale)
                for _ in range(2):
                    check.equal(driver.written(), file + stale, f"file {number}")
                    check.equal(driver.ask_all(absent), one["absent_answers"], f"file {number}")
                    check.equal([text for text in driver.remarks() if "longer file" in text] != [], stale != b"", "a remark")
                    driver.through_our_file()
            info = driver.info()
            check.equal((info["keys"], float(info["rate"])), (str(one["entries"]), one["error"]), "what the struct says")
            driver.add(b"one more")
            changed = driver.written()
            check.equal(changed[:75], file[:75], "the struct stays")
            check.equal(len(changed), len(file + stale), "and the length")


@property_test
def filters_are_those_of_the_description(check):
    rng = random.Random(20)
    with Driver() as driver:
        for number in range(60):
            release = rng.choice(["1.6", "2.0"])
            count = rng.choice([1000, 1001, rng.randint(1000, 5000), rng.randint(1000, 100_000)])
            rate = rng.choice([0.5, 0.25, 0.125, 0.999, 0.01, 1e-6, 1e-20, 1e-60, 10 ** rng.uniform(-12, -0.01)])
            what = f"{release}: {count}, {rate}"
            bits, probes = libbloom_size(release, count, rate)
            driver.create("libbloom", variant=release, keys=count, rate=rate)
            check.equal((driver.info()["bits"], driver.info()["probes"]), (str(bits), str(probes)), what)
            keys = [rng.randbytes(rng.randint(0, 100)) for _ in range(rng.randint(0, 60))]
            driver.add_all(keys)
            places = [libbloom_positions(release, key, bits, probes) for key in keys]
            for key, positions in list(zip(keys, places))[:10]:
                check.equal(driver.positions(key), positions, f"{what}: {key.hex()}")
            data = bitmap(bits, [at for positions in places for at in positions])
            wanted = data if release == "1.6" else file_of(count, rate, bits, probes, data)
            check.equal(driver.written(), wanted, what)
            if number % 2 == 0 and release == "2.0":
                wanted = file_of(count, rate, bits, probes, data, rng.getrandbits(64), rng.randbytes(rng.randint(0, 4000)), minor=rng.randint(0, 9))
                driver.load("libbloom", wanted)
                check.equal(driver.written(), wanted, what)


@property_test
def sizes_past_32_bits_are_those_of_the_description(check):
    """Products of 64 bits of mantissa where 53 would do something else, and positions where sums pass 2^32."""
    rng = random.Random(6)
    with Driver() as driver:
        for count in (447_000_000, 1_000_000_000, (1 << 32) - 1):
            rate = rng.uniform(0.009, 0.011)
            bits, probes = libbloom_size("2.0", count, rate)
            if bits > 1 << 36:
                continue
            create_large(driver, keys=count, rate=rate)
            check.equal((driver.info()["bits"], driver.info()["probes"]), (str(bits), str(probes)), str(count))
            for length in range(40):
                key = rng.randbytes(length)
                check.equal(driver.positions(key), libbloom_positions("2.0", key, bits, probes), key.hex())


def rounded_products(rate, count):
    """Numbers of keys whose product with the bits per key is a whole number less so little that 64 bits of mantissa
    round it up."""
    exact = Fraction(bits_per_key(rate))
    unit = exact.denominator
    inverse, found = pow(exact.numerator, -1, unit), []
    for missing in range(1, unit >> 29):
        keys = -missing * inverse % unit
        if 1 << 31 < keys < 1 << 32 and keys * exact > 1 << 35:
            found.append(keys)
            if len(found) == count:
                break
    return found


@property_test
def products_are_rounded_to_64_bits(check):
    with Driver() as driver:
        for rate in (1e-5, 0.0007, 1e-6):
            for keys in rounded_products(rate, 1):
                bits, probes = libbloom_size("2.0", keys, rate)
                check.equal(bits, math.floor(Fraction(bits_per_key(rate)) * keys) + 1, f"{keys}, {rate}: rounded up")
                create_large(driver, keys=keys, rate=rate)
                check.equal((driver.info()["bits"], driver.info()["probes"]), (str(bits), str(probes)), f"{keys}, {rate}")


@property_test
def hashes_are_murmurhash2(check):
    rng = random.Random(7)
    keys = [key for length in range(101) for key in (rng.randbytes(length), b"\xff" * length, bytes(length), b"\x80" * length)] + [rng.randbytes(100_000)]
    for row in vectors("hashes.json")["rows"]:
        keys.append(bytes.fromhex(row["hex"]))
        for seed, value in row["murmurhash2"].items():
            check.equal(f"{murmur2(keys[-1], int(seed)):08x}", value, f"{row['hex']}, seed {seed}")
    with Driver() as driver:
        for release in RELEASES:
            driver.create("libbloom", variant=release, keys=1_000_003, rate=1e-5)
            bits, probes = libbloom_size(release, 1_000_003, 1e-5)
            for key in keys:
                check.equal(driver.positions(key), libbloom_positions(release, key, bits, probes), key.hex()[:300])


@property_test
def the_two_releases_do_not_pass_for_each_other(check):
    with Driver() as driver:
        driver.create("libbloom", variant="2.0", keys=1000, rate=0.01)
        driver.add(b"a")
        file = driver.written()
        check.refused(lambda: driver.load("libbloom", file[75:]), ["NOT_A_FILTER"], "a bitmap for a file")
        check.refused(lambda: driver.load("libbloom", file, variant="1.6", keys=1000, rate=0.01), ["TRUNCATED"], "a file for a bitmap")
        check.refused(lambda: driver.load("libbloom", file, keys=1000, rate=0.01), ["BAD_ARGUMENT"], "keys of a file that says them")
        check.refused(lambda: driver.load("libbloom", file[75:], variant="1.6"), ["BAD_ARGUMENT"], "a bitmap of unknown size")
        driver.load("libbloom", file)
        check.refused(lambda: driver.written("guava"), ["MISMATCH"], "as another dialect")


@property_test
def damaged_files_are_refused(check):
    good = vectors("libbloom20_save_0.bin")
    with Driver() as driver:
        for what, at, form, value, statuses in (
                ("another struct", 9, "<H", 48, ["UNSUPPORTED"]), ("zero bits", 19, "<Q", 0, ["CORRUPT"]), ("2^63 bits", 19, "<Q", 1 << 63, ["CORRUPT"]),
                ("zero bytes", 27, "<Q", 0, ["CORRUPT"]), ("a byte more", 27, "<Q", 600, ["CORRUPT"]), ("zero probes", 35, "<B", 0, ["CORRUPT"]),
                ("error 0", 43, "<d", 0.0, ["CORRUPT"]), ("error 1", 43, "<d", 1.0, ["CORRUPT"]), ("no error", 43, "<d", float("nan"), ["CORRUPT"]),
                ("libbloom 3", 52, "<B", 3, ["WRONG_VERSION"]), ("magic", 8, "<B", 0x33, ["NOT_A_FILTER"])):
            bad = good[:at] + struct.pack(form, value) + good[at + struct.calcsize(form):]
            check.refused(lambda bad=bad: driver.load("libbloom", bad), statuses, what)
        huge = good[:19] + struct.pack("<QQ", 1 << 49, 1 << 46) + good[35:]
        check.refused(lambda: driver.load("libbloom", huge), ["TRUNCATED"], "64 TiB of bits")
        check.refused(lambda: driver.load("libbloom", good + bytes(5000)), ["TRUNCATED"], "a very long end")
        for cut in range(9):
            check.refused(lambda cut=cut: driver.load("libbloom", good[:cut]), ["TRUNCATED"], f"{cut} bytes")
        for given in ({}, {"keys": 999, "rate": 0.1}, {"keys": 1000}, {"keys": 1000, "rate": 1}, {"keys": 1000, "rate": -0.5}, {"keys": 1 << 32, "rate": 0.1},
                      {"keys": 1 << 31, "rate": 0.1, "variant": "1.6"}, {"keys": 500_000_000, "rate": 1e-6, "variant": "1.6"}, {"keys": 1000, "rate": 0.1, "variant": "3.0"},
                      {"keys": 1000, "rate": 0.1, "bits": 64}):
            check.refused(lambda given=given: driver.create("libbloom", **given), ["BAD_ARGUMENT"], str(given))
        data = bytes(599)
        raw = {"variant": "1.6", "keys": 1000, "rate": 0.1}
        driver.load("libbloom", data, **raw)
        for what, bad in (("a byte less", data[:-1]), ("a byte more", data + b"\0"), ("nothing", b"")):
            check.refused(lambda bad=bad: driver.load("libbloom", bad, **raw), ["TRUNCATED"], what)
        odd = {"variant": "1.6", "keys": 1000, "rate": 0.3}  # 2505 bits, 7 of the last byte are none
        check.refused(lambda: driver.load("libbloom", bytes(313) + b"\x02", **odd), ["CORRUPT"], "a bit past the end")
    check.true(hostile(check, "libbloom", good, header=75) > 100, "hardly anything was refused")


@property_test
@statistics
def small_filters_have_the_rate_of_their_steps(check):
    for release in RELEASES:
        check_rate(check, "libbloom", 1000, filters=4, variant=release, keys=1000, rate=0.1)
        check_rate(check, "libbloom", 500, filters=4, variant=release, keys=1000, rate=0.01)


def create_large(driver, **given):
    """A filter of gigabytes that are never touched."""
    try:
        driver.create("libbloom", **given)
    except Refused as why:
        raise Skip(f"no room for {given}: {why}") from None


@property_test
@statistics
def large_filters_have_the_rate_of_uneven_positions(check):
    """A filter 2^14 times as small has the same shares of cells and hits: pairs of numbers below 2^18 are drawn where
    there are pairs of 32 bits, and the library is asked about the large one."""
    rng = random.Random(8)
    unit = 1 << 18
    with Driver() as driver:
        for release, count, rate in (("2.0", 300_000_000, 0.01), ("2.0", 447_000_000, 0.01), ("2.0", 1_000_000_000, 0.01), ("2.0", 2_000_000_000, 0.01),
                                     ("2.0", 4_000_000_000, 0.001), ("1.6", 200_000_000, 0.01), ("1.6", 300_000_000, 0.05)):
            bits, probes = libbloom_size(release, count, rate)
            create_large(driver, variant=release, keys=count, rate=rate)
            small = round(bits * unit / (1 << 32))
            cells, asked, hits, wrap = bytearray(small), 150_000, 0, unit if release == "1.6" else 1 << 64
            for _ in range(round(count * unit / (1 << 32))):
                a, b = rng.randrange(unit), rng.randrange(unit)
                for i in range(probes):
                    cells[(a + i * b) % wrap % small] = 1
            for _ in range(asked):
                a, b = rng.randrange(unit), rng.randrange(unit)
                hits += all(cells[(a + i * b) % wrap % small] for i in range(probes))
            expected = said_rate(driver, rate)
            measured = hits / asked
            what = f"{release}: {count} keys, {bits} bits: measured {measured}, expected {expected}"
            check.true(abs(measured - expected) < spread(measured, asked) + 0.06 * expected, what)


def said_rate(driver, rate):
    """What a remark says, or what was asked for where there is none."""
    for text in driver.remarks():
        if "this size is" in text:
            words = text.split("this size is ")[1].split(",")[0]
            return float(words.split()[0]) / 100 if "%" in words else 1 / float(words.split("in ")[1])
    return rate


@property_test
def filters_past_2_to_the_32_are_reported(check):
    with Driver() as driver:
        driver.create("libbloom", keys=100_000_000, rate=0.01)
        check.equal(driver.remarks(), [], "nothing to say")
        create_large(driver, keys=2_000_000_000, rate=0.01)
        check.true(said_rate(driver, 0.01) > 0.02, str(driver.remarks()))


@property_test
def probes_that_a_byte_does_not_hold_are_reported(check):
    with Driver() as driver:
        driver.create("libbloom", keys=1000, rate=1e-90)
        check.equal(driver.info()["probes"], str(math.ceil(0.693147180559945 * bits_per_key(1e-90)) & 255), "what is left")
        check.true(any("byte" in text for text in driver.remarks()), str(driver.remarks()))
        check.true(len(driver.remarks()) == 2, "and the rate")


main()
