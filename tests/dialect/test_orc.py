# SPDX-License-Identifier: Apache-2.0
"""ORC's filters: vectors made by the classes of its Java library, and the description again in Python."""

import random
import zlib

import java_reference as java
from dialect import Driver, hostile, main, property_test, times, vectors

VARIANTS = ["bytes", "long", "bytes-fixed64", "long-fixed64"]


def varint(value):
    """As protobuf writes it."""
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def message(probes, bits, fixed=False):
    """The message around bits."""
    if fixed:
        return b"\x08" + varint(probes) + b"".join(b"\x11" + bits[at:at + 8] for at in range(0, len(bits), 8))
    return b"\x08" + varint(probes) + b"\x1a" + varint(len(bits)) + bits


def key_of(key):
    """Numbers are 8 bytes; NULL has none."""
    if key is None:
        return None
    return key.to_bytes(8, "little", signed=True) if isinstance(key, int) else bytes.fromhex(key)


def hash_of(variant, key):
    """By the description."""
    if key is None:
        return java.ORC_NULL
    if not variant.startswith("long"):
        return java.orc_bytes(key)
    return java.orc_long(int.from_bytes(key[:8], "little", signed=True))


def filters():
    """The vectors, with keys as bytes."""
    for one in vectors("orc.json")["filters"]:
        one["keys"] = [key_of(key) for key in one["inserted"]]
        one["others"] = [key_of(key) for key in one["absent"]]
        one["variant"] = "long" if one["key_type"].startswith("long") else "bytes"
        yield one


def create(driver, one, variant=None):
    """The same filter, empty."""
    driver.create("orc", variant=variant or one["variant"], keys=one["expectedEntries"], rate=one["fpp"])


def add(driver, keys):
    """Keys, NULL among them."""
    for key in keys:
        if key is None:
            driver.add_hash(java.ORC_NULL)
        else:
            driver.add(key)


@property_test
def positions_are_those_of_orc(check):
    with Driver() as driver:
        for one in filters():
            create(driver, one)
            info = driver.info()
            check.equal((info["bits"], info["probes"]), (str(one["bitSize"]), str(one["numHashFunctions"])), one["name"])
            for key, bits in zip(one["keys"], one["key_bits_sorted_unique"]):
                if key is None:
                    create(driver, one)
                    driver.add_hash(java.ORC_NULL)
                    check.equal(java.bits_of(driver.written()[-one["bitSize"] // 8:], False), bits, "NULL")
                else:
                    check.equal(sorted(set(driver.positions(key))), bits, f"{one['name']} {key.hex()}")


@property_test
def messages_and_answers_are_those_of_orc(check):
    with Driver() as driver:
        for one in filters():
            for fixed in (False, True):
                variant = one["variant"] + ("-fixed64" if fixed else "")
                create(driver, one, variant)
                add(driver, one["keys"])
                check.equal(driver.ask_all(one["others"]), one["absent_answers"], one["name"])
                written = driver.written()
                bits = bytes.fromhex(one["utf8bitset_hex"])
                check.equal(written, message(one["numHashFunctions"], bits, fixed), one["name"])
                driver.load("orc", written, variant=one["variant"])
                check.equal((driver.written(), driver.info()["variant"]), (written, variant), "read and written again")
                driver.through_our_file()
                check.equal((driver.written(), driver.info()["variant"]), (written, variant), "through a Bloomery file")
                check.equal(driver.ask_all(one["others"]), one["absent_answers"], "after reading")
                check.equal("0" in driver.ask_all([key for key in one["keys"] if key is not None]), False, "lost keys")


@property_test
def the_hash_is_that_of_orc(check):
    with Driver() as driver:
        for bits in [64 * 3, 64 * 1009, 64 * 65537]:
            driver.create("orc", bits=bits, probes=3)
            for row in vectors("orc.json")["hash"]:
                wanted = java.flipped_32(int(row["murmur3_hash64_seed104729"], 16), 3, bits)
                check.equal(driver.positions(bytes.fromhex(row["hex"])), wanted, f"{bits} {row['hex']}")


@property_test
def sizing_is_that_of_orc(check):
    rng = random.Random(8)
    rows = list(vectors("orc.json")["sizing"])
    for _ in range(300):
        keys, rate = int(10 ** rng.uniform(0, 6)), 10 ** rng.uniform(-9, -0.05)
        bits, probes = java.orc_size(keys, rate)
        rows.append({"n": keys, "p": rate, "bits": bits, "k": probes})
    # Where nothing had to be added, 64 bits are.
    whole = [keys for keys in range(1, 3000) if java.java_size(keys, 0.05)[0] % 64 == 0]
    check.true(len(whole) > 10, "no size is whole words")
    for keys in whole:
        bits, probes = java.orc_size(keys, 0.05)
        check.equal(bits, java.java_size(keys, 0.05)[0] + 64, "the description")
        rows.append({"n": keys, "p": 0.05, "bits": bits, "k": probes})
    with Driver() as driver:
        for row in rows:
            if not 0 < row["bits"] < 1 << 31:  # what becomes of an int that overflows
                check.refused(lambda row=row: driver.create("orc", keys=row["n"], rate=row["p"]), ["BAD_ARGUMENT"],
                              str(row))
                continue
            driver.create("orc", keys=row["n"], rate=row["p"])
            info = driver.info()
            check.equal((info["bits"], info["probes"]), (str(row["bits"]), str(row["k"])), str(row))
        driver.create("orc", rate=0.1)
        check.equal(driver.info()["bits"], "64", "no keys are one key")


@property_test
def any_numbers_and_keys_give_the_bits_that_the_description_gives(check):
    rng = random.Random(9)
    with Driver() as driver:
        for number in range(times(20, 40)):
            variant = VARIANTS[number % 4]
            bits, probes = java.random_bits(rng), rng.choice([1, 2, 7, 64, 127, 128, 1024, rng.randint(1, 40)])
            keys = java.random_keys(rng, 30)
            driver.create("orc", variant=variant, bits=bits, probes=probes)
            wanted = [java.flipped_32(hash_of(variant, key), probes, bits) for key in keys]
            for key, at in zip(keys, wanted):
                check.equal(driver.positions(key), at, f"{variant} {bits} {probes} {key.hex()}")
            fixed = variant.endswith("fixed64")
            check.equal(driver.written(), message(probes, bytes(bits // 8), fixed), "an empty filter")
            driver.add_all(keys)
            array = bytearray(bits // 8)
            for p in (p for at in wanted for p in at):
                array[p // 8] |= 1 << p % 8
            written = driver.written()
            check.equal(written, message(probes, bytes(array), fixed), "bits")
            driver.load("orc", written, variant=variant)
            check.equal((driver.written(), driver.info()["variant"]), (written, variant), "read and written again")


def fields(data):
    """The fields of a protobuf message, without those of fixed width that are not asked for."""
    at, found = 0, []

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        value = number() if tag & 7 in (0, 2) else 8
        if tag & 7:
            value, at = data[at:at + value], at + value
        found.append((tag >> 3, value))
    return found


def inflated(data):
    """Chunks of an ORC file whose compression is zlib: 3 bytes of length and of whether it is stored."""
    out, at = b"", 0
    while at < len(data):
        head = int.from_bytes(data[at:at + 3], "little")
        chunk, at = data[at + 3:at + 3 + (head >> 1)], at + 3 + (head >> 1)
        out += chunk if head & 1 else zlib.decompress(chunk, -15)
    return out


def filters_of_file(data):
    """Each message BloomFilter of the first stripe of an ORC file, by column."""
    script = dict(fields(data[-1 - data[-1]:-1]))
    footer = data[:-1 - data[-1]][-script[1]:]
    stripe = dict(fields(next(value for name, value in fields(inflated(footer)) if name == 3)))
    end = stripe[1] + stripe[2] + stripe[3]
    at, found = stripe[1], {}
    for name, stream in fields(inflated(data[end:end + stripe[4]])):
        stream = dict(fields(stream)) if name == 1 else {3: 0}
        if stream.get(1) == 8:
            found[stream[2]] = fields(inflated(data[at:at + stream[3]]))[0][1]
        at += stream.get(3, 0)
    return found


@property_test
def a_file_that_orc_wrote_is_read(check):
    # Written by ORC for C++ 1.6.0: five rows (id, name), of which the statistics of the file tell two ids.
    columns = filters_of_file(vectors("orc_bad_bloom_filter_1.6.0.orc"))
    with Driver() as driver:
        driver.load("orc", columns[2])
        check.equal(driver.written(), columns[2], "read and written again")
        names = [b"Alice", b"Bob", b"a", b"b", b"Mike"]
        check.equal(driver.ask_all(names), "11111", "names")
        info = driver.info(scan=True)
        driver.create("orc", bits=int(info["bits"]), probes=int(info["probes"]))
        driver.add_all(names)
        check.equal(driver.written(), columns[2], "made again")
        # and that release's hash of numbers was wrong
        driver.load("orc", columns[1], variant="long")
        check.equal(driver.written(), columns[1], "read and written again")
        ids = [number.to_bytes(8, "little") for number in (0, 36000000000)]
        check.true("0" in driver.ask_all(ids), "the fault that the remark names is not there")
        check.true("1.6.11" in driver.remarks()[0], "it is not named")


@property_test
def numbers_that_orc_refuses_are_refused(check):
    with Driver() as driver:
        for given in [{}, {"keys": 10}, {"keys": 10, "rate": 1.0}, {"keys": 10, "rate": float("nan")}, {"bits": 64},
                      {"probes": 3}, {"bits": (1 << 37) + 1, "probes": 1}, {"bits": 64, "probes": 1025},
                      {"keys": 1 << 40, "rate": 0.1}, {"keys": 1 << 63, "rate": 0.9999999},
                      {"keys": 10, "rate": 0.1, "variant": "text"}, {"keys": 10, "rate": 0.1, "seed": 1}]:
            check.refused(lambda given=given: driver.create("orc", **given), ["BAD_ARGUMENT"], str(given))


@property_test
def damaged_messages_are_refused(check):
    with Driver() as driver:
        for variant in ("bytes", "long-fixed64"):
            fixed = variant != "bytes"
            driver.create("orc", variant=variant, bits=64 * 150, probes=300)
            driver.add_all([b"one", b"two"])
            good, bits = driver.written(), 150 * 8
            allowed = set(range(3 + 9, 3 + 9 * 150, 9)) if fixed else set()  # fewer words are a filter as well
            for cut in range(len(good)):
                if cut not in allowed:
                    check.refused(lambda cut=cut: driver.load("orc", good[:cut]), ["TRUNCATED"], f"cut at {cut}")
            zeros = bytes(bits)
            for what, bad, statuses in [
                    ("a byte more", good + b"\0", ["CORRUPT"]),
                    ("a field more", good + b"\x08\x01", ["CORRUPT"]),
                    ("another field first", b"\x0a" + good, ["NOT_A_FILTER"]),
                    ("zero probes", message(0, zeros, fixed), ["CORRUPT"]),
                    ("too many probes", message(1025, zeros, fixed), ["UNSUPPORTED"]),
                    ("negative probes", message((1 << 32) - 1, zeros, fixed), ["CORRUPT"]),
                    ("probes in 6 bytes", b"\x08" + b"\x81" * 5 + b"\1" + good[3:], ["TRUNCATED"]),
                    ("probes longer than need be", b"\x08\x85\0" + good[3:], ["TRUNCATED"]),
                    ("no bits", message(3, b"", False), ["CORRUPT"]),
                    ("no field of bits", b"\x08\x03", ["TRUNCATED"]),
                    ("half a word", message(3, bytes(12), False), ["CORRUPT"]),
                    ("a length of 2^63", b"\x08\x03\x1a" + varint(1 << 63) + zeros, ["TRUNCATED"]),
                    ("a length of 2^64", b"\x08\x03\x1a" + b"\xff" * 9 + b"\2" + zeros, ["TRUNCATED"]),
                    ("unknown field", b"\x08\x03\x22\x08" + bytes(8), ["CORRUPT"]),
                    ("a wrong tag", b"\x08\x03\x11" + bytes(8) + b"\x12" + bytes(8), ["CORRUPT"])]:
                check.refused(lambda bad=bad: driver.load("orc", bad), statuses, f"{variant}: {what}")
            check.true(hostile(check, "orc", good, header=12) > 100, "hardly anything was refused")
        driver.create("orc", keys=50, rate=0.01)
        good = driver.written()
        check.refused(lambda: driver.load("orc", good, variant="bytes-fixed64"), ["BAD_ARGUMENT"], "not the old form")


@property_test
def faults_are_named(check):
    with Driver() as driver:
        driver.create("orc", keys=1, rate=0.5)
        said = " ".join(driver.remarks())
        check.true("64 bits and 44 probes" in said and "where 1 bits and 1 probes" in said, said)
        keys = next(keys for keys in range(500, 3000) if java.java_size(keys, 0.05)[0] % 64 == 0)
        driver.create("orc", keys=keys, rate=0.05)
        check.true("and here 64" in driver.remarks()[0], "64 bits too many are not told")
        driver.create("orc", variant="long", bits=(1 << 31) + 64, probes=3)
        said = " ".join(driver.remarks())
        check.true("only the first 2147483648" in said and "1.6.11" in said, said)
        for variant, word in [("bytes-fixed64", "character set"), ("long", "1.6.11"), ("long-fixed64", "1.6.11")]:
            driver.create("orc", variant=variant, keys=1000, rate=0.03)
            check.equal([text for text in driver.remarks() if word in text], [], "made here")
            driver.load("orc", driver.written(), variant=variant)
            check.true(word in driver.remarks()[0], f"{variant} {driver.remarks()}")


main()
