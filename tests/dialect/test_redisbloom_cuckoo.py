# SPDX-License-Identifier: Apache-2.0
"""RedisBloom's cuckoo filters: what its level 8.10 replied to CF commands and dumped, what its level 2.4.23 saved, and
random commands beside the model in tests/reference, which also numbers tables that no recorded filter has.
"""

import os
import random
import struct
import sys

from dialect import Driver, Refused, hostile, main, property_test, times, vectors

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))

from cuckoo_model import Cuckoo  # noqa: E402  pylint: disable=wrong-import-position,import-error

NAME = "redisbloom-cuckoo"
HEADER = struct.Struct("<QQQQHHH")


def bytes_of(chunks):
    """What the chunks of a dump are in a row."""
    return b"".join(bytes.fromhex(chunk["data_hex"]) for chunk in chunks)


def do(driver, verb, key):
    """A step, with the number that RedisBloom replies."""
    try:
        if verb == "add":
            driver.add(key)
            return 1
        return {"addnx": driver.add_absent, "remove": driver.remove, "count": driver.count, "ask": driver.ask}[verb](key)
    except Refused as why:
        if not why.status.endswith("FULL"):
            raise
        return -1


def facts(data):
    """The fields of CF.INFO, by a dump."""
    items, buckets, deletes, filters, slots, iterations, growth = HEADER.unpack(data[:38])
    return {"Size": 40 + 16 * filters + len(data) - 38, "Number of buckets": buckets, "Number of filters": filters,
            "Number of items inserted": items, "Number of items deleted": deletes, "Bucket size": slots, "Expansion rate": growth,
            "Max iterations": iterations}


@property_test
def filters_and_answers_are_those_of_redisbloom(check):
    for one in vectors("redisbloom_cuckoo.json")["filters"]:
        with Driver() as driver:
            driver.create(NAME, **one["create"])
            for number, (verb, *rest) in enumerate(one["steps"]):
                name = f"{one['name']}, step {number}, {verb}"
                if verb == "compact":
                    driver.compact()
                elif verb == "info":
                    check.equal(facts(driver.written()), rest[0], name)
                    driver.through_our_file()
                else:
                    check.equal(do(driver, verb, bytes.fromhex(rest[0])), rest[1], name)
            if one["chunks"]:
                check.equal(driver.written().hex(), bytes_of(one["chunks"]).hex(), one["name"])


@property_test
def what_redisbloom_saved_is_read_and_written_again(check):
    given = vectors("redisbloom_cuckoo.json")
    with Driver() as driver:
        for one in given["saved"] + [row for row in given["filters"] if row["chunks"]]:
            data = bytes_of(one["chunks"])
            ends, at = [], 1
            for chunk in one["chunks"][1:]:
                at += len(chunk["data_hex"]) // 2
                ends.append(at)
            check.equal([chunk["iter"] for chunk in one["chunks"]], [1, *ends], f"{one['name']}: iterators")
            driver.load(NAME, data)
            check.equal(driver.written().hex(), data.hex(), one["name"])
            driver.through_our_file()
            check.equal(driver.written().hex(), data.hex(), f"{one['name']}, through a Bloomery file")
            if "debug" in one:
                said = {name: int(number) for name, number in (word.split(":") for word in one["debug"].split())}
                known = facts(data)
                check.equal([known[name] for name in ("Bucket size", "Number of buckets", "Number of items inserted", "Number of items deleted",
                                                      "Number of filters", "Max iterations", "Expansion rate")], list(said.values()), one["name"])
            tables, size = int(driver.info()["links"]), facts(data)
            for number in range(tables):
                slots = size["Number of buckets"] * size["Bucket size"] * size["Expansion rate"] ** number
                check.equal(driver.link(number)["bits"], str(slots), f"{one['name']}, table {number}")


@property_test
def random_commands_give_the_bytes_of_the_model(check):
    rng = random.Random(36)
    with Driver() as driver:
        for _ in range(times(12, 400)):
            keys, slots, iterations, growth = rng.choice([1, 7, 16, 64, 100, 1000]), rng.choice([1, 2, 3, 4, 8, 255]), rng.choice([1, 20, 500]), \
                rng.choice([0, 1, 2, 3])
            name = f"{keys} keys, {slots} slots, {iterations} iterations, growth {growth}"
            given = {"variant": "nonscaling"} if growth == 0 else {"growth": growth}
            driver.create(NAME, keys=keys, slots=slots, iterations=iterations, **given)
            model = Cuckoo(keys, slots, iterations, growth)
            for step in range(300):
                key, way = b"%d" % rng.randrange(120), rng.random()
                if way < 0.55 and len(model.filters) < 12:
                    check.equal(do(driver, "add", key), model.insert(key), f"{name}, step {step}")
                elif way < 0.95:
                    check.equal(do(driver, "count", key), model.count(key), f"{name}, step {step}")
                    check.equal(do(driver, "remove", key), model.delete(key), f"{name}, step {step}")
                elif way < 0.97:
                    driver.compact()
                    model.compact()
                else:
                    driver.load(NAME, driver.written())
            check.equal(driver.written().hex(), (model.header() + model.slots()).hex(), name)


@property_test
def rates_are_those_of_full_tables(check):
    """1.6 % a table of two slots a bucket, which docs/kinds.md says."""
    with Driver() as driver:
        driver.create(NAME, keys=4096)
        added = 0
        for number in range(100_000):
            if int(driver.info()["links"]) > 1:
                break
            driver.add(b"key %d" % number)
            added += 1
        found = driver.ask_all([b"absent %d" % number for number in range(20_000)]).count("1") / 20_000
        load = added / 4096
        expected = 1 - (1 - 2 / (255 * 2048)) ** added
        check.true(0.3 < load <= 1.001 and abs(found - expected) < 5 * (expected / 20_000) ** 0.5, f"{found}, not {expected}, at {load}")
        check.true(any("tables, whose rates add up" in text for text in driver.remarks()), f"{driver.remarks()}")


@property_test
def hostile_dumps_are_refused_or_safe(check):
    with Driver() as driver:
        driver.create(NAME, keys=16, growth=2)
        driver.add_all([b"%d" % number for number in range(60)])
        good = driver.written()
    check.true(hostile(check, NAME, good, header=38) > 100, "little was refused")


main()
