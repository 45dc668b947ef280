# SPDX-License-Identifier: Apache-2.0
"""The filter of the 20-million-ID experiment: vectors made by its Java class."""

import struct

from dialect import Driver, hostile, main, needs_digests, needs_time, property_test, sha256, vectors
from lineage_reference import image, seeded, sha384, some_keys

BITS = 1 << 28
NAME = "sha384-slices"
JAVA = bytes.fromhex("aced0005737200106a6176612e7574696c2e4269745365746efd887e3934ab210300015b0004626974737400025b4a7870"
                     "7572000"
                     "25b4a782004b512b1759302000078"
                     "70")


def java(words):
    """A java.util.BitSet of these words as Java serialises it."""
    return JAVA + struct.pack(f">I{len(words)}Q", len(words), *words) + b"x"


def words_of(data):
    """The words of an image without zeros at its end."""
    data += bytes(-len(data) % 8)
    return struct.unpack(f"<{len(data) // 8}Q", data)


@property_test
@needs_digests
def positions_bits_and_answers_are_those_of_the_class(check):
    data = vectors("nyquest.json")
    keys = [bytes.fromhex(key) for key in data["inserted_utf8_hex_as_hashed"]]
    # Java makes "?" of a surrogate without its other half before it hashes.
    others = [bytes.fromhex(key).decode("utf-16-be", "surrogatepass").encode("utf-8", "replace") for key in data["absent_utf16be_hex"]]
    with Driver() as driver:
        driver.create(NAME)
        info = driver.info()
        check.equal((info["bits"], info["probes"]), (str(data["bits"]), str(data["k"])), "size")
        for key, positions in zip(keys, data["key_positions_in_slice_order"]):
            check.equal(driver.positions(key), positions, key.hex())
        driver.add_all(keys)
        check.equal(driver.ask_all(keys), data["inserted_answers"], "a key is lost")
        check.equal(driver.ask_all(others), data["absent_answers"], "answers")
        check.equal(driver.info(scan=True)["set"], str(data["cardinality"]), "bits set")
        whole = driver.written()
        check.equal((len(whole), sha256(whole)), (BITS // 8, data["full_32MiB_le_sha256"]), "image")
        if data["full_32MiB_le_sha256"] == "68f66f1c059350e51d60cb9a3d7d74a1a932d7ed6457a66a170052bcd4be320a":
            check.equal(whole, vectors("nyquest.full32MiB.le"), "image, every byte")
        check.equal(whole, image(BITS, data["set_bits"]), "bits")
        driver.through_our_file()
        check.equal(driver.written(), whole, "through a Bloomery file")
        trimmed = whole.rstrip(b"\0")
        check.equal((len(trimmed), sha256(trimmed)), (data["toByteArray_length"], data["toByteArray_sha256"]), "toByteArray")


@property_test
@needs_digests
def all_forms_are_read_and_written_again(check):
    data = vectors("nyquest.json")
    trimmed = image(BITS, data["set_bits"]).rstrip(b"\0")
    keys = [bytes.fromhex(key) for key in data["inserted_utf8_hex_as_hashed"]]
    words = words_of(trimmed)
    full = words + (0,) * (BITS // 64 - len(words))
    with Driver() as driver:
        for variant, bytes_ in (("trimmed", trimmed), ("java", java(full)), ("java", java(words))):
            driver.load(NAME, bytes_, variant=variant)
            check.equal(driver.info()["variant"], variant, "variant")
            check.equal(driver.ask_all(keys), "1" * len(keys), "a key is lost")
            check.true(driver.written() == bytes_, f"{variant} is not written as it was read")
            driver.through_our_file()
            check.true(driver.written() == bytes_, f"{variant} is not written as it was read, through a Bloomery file")
        driver.load(NAME, b"", variant="trimmed")
        check.equal((driver.ask(b""), driver.written()), (0, b""), "an empty set")
        driver.load(NAME, java([]), variant="java")
        check.equal((driver.ask(b""), driver.written()), (0, java([])), "an empty set of Java's")
        driver.add(b"key")
        grown = image(BITS, sha384(b"key")).rstrip(b"\0")
        check.true(driver.written() == java(words_of(grown)), "a set of Java's that grew")
        driver.create(NAME, variant="trimmed")
        check.equal(driver.written(), b"", "an empty set")
        driver.create(NAME, variant="java")
        check.equal(sha256(driver.written()), sha256(java([0] * (BITS // 64))), "an empty set of Java's")


@property_test
@needs_digests
def random_keys_are_as_the_description_has_them(check):
    with Driver() as driver:
        driver.create(NAME)
        for key in some_keys(seeded(5), 300):
            check.equal(driver.positions(key), sha384(key), key.hex()[:80])


@property_test
@needs_digests
@needs_time
def twenty_million_numbers_make_the_image_of_the_class(check):
    large = vectors("nyquest.json")["large_run"]
    base, count = large["base"], large["N"]
    wrong = {int(key) for key in large["false_positives"]}
    with Driver() as driver:
        driver.create(NAME, keys=count, rate=0.01)
        for at in range(base, base + count, 60000):
            driver.add_all([b"%d" % key for key in range(at, min(at + 60000, base + count))])
        check.equal(driver.info(scan=True)["set"], str(large["cardinality"]), "bits set")
        check.equal(sha256(driver.written()), large["full_32MiB_le_sha256"], "image")
        asked = range(base + count, base + count + 20000)
        check.equal(driver.ask_all([b"%d" % key for key in asked]), "".join("01"[key in wrong] for key in asked), "false positives")


@property_test
@needs_digests
def faults_are_reported_with_numbers(check):
    with Driver() as driver:
        driver.create(NAME)
        check.true("387270502" in driver.remarks()[0], "the size that the helper takes for enough")
        driver.create(NAME, keys=65536, rate=0.5)
        check.true("94549" in driver.remarks()[0] and "65536" in driver.remarks()[0], "a power of two")
        driver.create(NAME, keys=20000000, rate=0.01)
        check.true("has 10" in driver.remarks()[0] and "1 in 551" in driver.remarks()[0], "the experiment")
        driver.create(NAME, keys=1000, rate=0.01)
        check.equal(driver.remarks(), [], "few keys")
        driver.create(NAME, keys=100000000, rate=0.01)
        check.true("not the 1 in 100" in driver.remarks()[0], "too many keys")


@property_test
@needs_digests
def other_sizes_and_damaged_bytes_are_refused(check):
    with Driver() as driver:
        for given in ({"bits": 1 << 27}, {"probes": 10}, {"rate": 1.0}, {"rate": -1.0}, {"variant": "gzip"}, {"seed": 1}):
            check.refused(lambda given=given: driver.create(NAME, **given), ["BAD_ARGUMENT"], str(given))
        for length in (0, 1, BITS // 8 - 1, BITS // 8 + 1):
            check.refused(lambda length=length: driver.load(NAME, bytes(length)), ["TRUNCATED"], f"{length} bytes")
        check.refused(lambda: driver.load(NAME, bytes(BITS // 8 + 1), variant="trimmed"), ["TRUNCATED"], "too long")
        check.refused(lambda: driver.load(NAME, b"\1\0", variant="trimmed"), ["CORRUPT"], "a zero at the end")
        check.refused(lambda: driver.load(NAME, JAVA + b"\0\x40\0\1" + bytes(9), variant="java"), ["CORRUPT"], "too many words")
        check.refused(lambda: driver.load(NAME, JAVA + b"\0\x40\0\0" + bytes(9), variant="java"), ["TRUNCATED"], "32 MiB")
        check.refused(lambda: driver.load(NAME, JAVA + b"\xff\xff\xff\xff" + bytes(9), variant="java"), ["CORRUPT"], "-1 words")
        check.refused(lambda: driver.load(NAME, java([1])[:-1] + b"y", variant="java"), ["CORRUPT"], "no end")
        check.refused(lambda: driver.load(NAME, b"ELF" + java([1]), variant="java"), ["NOT_A_FILTER"], "no object")
        driver.create("guava", bits=BITS, probes=12)
        check.refused(lambda: driver.written(NAME), ["MISMATCH"], "a filter of Guava's")
    check.true(hostile(check, NAME, java([1, 1 << 63]), header=len(JAVA) + 4, variant="java") > 500, "hardly anything was refused")
    hostile(check, NAME, b"\1\2\3", header=1, variant="trimmed")


main()
