# SPDX-License-Identifier: Apache-2.0
"""Guava's filters: vectors made by guava-31.1-jre."""

from dialect import Driver, hostile, main, property_test, sha256, unbase64, vectors

VARIANTS = {"MURMUR128_MITZ_32": "mitz32", "MURMUR128_MITZ_64": "mitz64"}


def filters():
    """What Guava made, each with its keys as the funnel made them."""
    for one in vectors("guava.json")["filters"]:
        one["keys"] = [bytes.fromhex(key) for key in one["inserted"]]
        one["others"] = [bytes.fromhex(key) for key in one["absent"]]
        yield one


def create(driver, one):
    """The same filter, empty."""
    driver.create("guava", variant=VARIANTS[one["strategy"]], keys=one["expected_insertions"], rate=one["fpp"])


@property_test
def positions_are_those_of_guava(check):
    with Driver() as driver:
        for one in filters():
            create(driver, one)
            for key, bits in zip(one["keys"], one["key_bits_sorted_unique"]):
                check.equal(sorted(set(driver.positions(key))), bits, f"{one['name']} {key.hex()}")


@property_test
def streams_and_answers_are_those_of_guava(check):
    with Driver() as driver:
        for one in filters():
            create(driver, one)
            check.equal(driver.info()["bits"], str(one["bitSize"]), one["name"])
            check.equal("".join(str(driver.add(key)) for key in one["keys"]), one["put_returned"], one["name"])
            check.equal(driver.ask_all(one["others"]), one["absent_answers"], one["name"])
            stream = driver.written()
            check.equal((len(stream), sha256(stream)), (one["writeTo_len"], one["writeTo_sha256"]), one["name"])
            if "writeTo_b64" in one:
                check.equal(stream, unbase64(one["writeTo_b64"]), one["name"])
            driver.load("guava", stream)
            check.equal(driver.written(), stream, "read and written again")
            driver.through_our_file()
            check.equal(driver.written(), stream, "through a file of ours")
            check.equal(driver.info()["variant"], VARIANTS[one["strategy"]], "variant")
            check.equal(driver.ask_all(one["others"]), one["absent_answers"], "after reading")


@property_test
def sizing_is_that_of_guava(check):
    with Driver() as driver:
        for row in vectors("guava.json")["sizing"]:
            if row["k"] is None:
                check.refused(lambda row=row: driver.create("guava", keys=row["n"], rate=row["p"]), ["BAD_ARGUMENT"],
                              str(row))
            elif row["bitSize"] < 1 << 31:
                driver.create("guava", keys=row["n"], rate=row["p"])
                info = driver.info()
                check.equal((info["bits"], info["probes"]), (str(row["bitSize"]), str(row["k"])), str(row))


@property_test
def damaged_streams_are_refused(check):
    one = next(filters())
    with Driver() as driver:
        create(driver, one)
        driver.add_all(one["keys"])
        stream = driver.written()
        check.refused(lambda: driver.load("guava", stream[:1] + b"\0" + stream[2:]), ["CORRUPT"], "zero probes")
        check.refused(lambda: driver.load("guava", stream[:2] + bytes(4) + stream[6:]), ["CORRUPT"], "zero words")
        check.refused(lambda: driver.load("guava", stream[:2] + b"\x7f\xff\xff\xff"), ["TRUNCATED"], "16 GiB")
    check.true(hostile(check, "guava", stream, header=6) > 100, "hardly anything was refused")


main()
