# SPDX-License-Identifier: Apache-2.0
"""Cuckoo filters: keys are removed and counted as in a Counter, the bytes are those of the model of RedisBloom's
filters, files are read back, and what such a filter cannot do is refused with a sentence.
"""

import collections
import copy
import os
import pickle
import random
import sys

import bloomery
from bloomery import Filter, Full
from optional import need, raises
from runner import case, main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))

from cuckoo_model import Cuckoo  # noqa: E402  pylint: disable=wrong-import-position,import-error

DIALECT = "redisbloom-cuckoo"


def filled(keys=1000, rate=0.02, **options):
    """A filter of the numbers below `keys`."""
    f = Filter(keys, rate, kind="cuckoo", **options)
    f.add_many(range(keys))
    return f


@case
def keys_are_counted_and_removed_as_in_a_counter(c):
    rnd, exact = random.Random(36), collections.Counter()
    f = Filter(3000, 0.02, kind="cuckoo")
    for _ in range(6000):
        key = f"key {rnd.randrange(400)}"
        if rnd.random() < 0.6:
            c.expect(f.add(key) or exact[key] > 0 or f.count(key) > 1, f"{key} was there before it was added")
            exact[key] += 1
        elif exact[key] > 0:
            c.expect(f.remove(key), f"{key} is not there")
            exact[key] -= 1
    there = [key for key, times in exact.items() if times > 0]
    c.expect(len(there) > 100 and all(key in f and f.count(key) >= exact[key] for key in there), "a key is lost")
    c.expect(f.adds == sum(exact.values()) == f.info(scan=True).bits_set == f.estimate(), f"{f.adds} adds")
    for key in there:
        for _ in range(exact[key]):
            f.discard(key)
    c.expect(not f and f.adds == 0 and f.count_many(there) == 0 and f.remove("key 1") is False, "all were removed")


@case
def many_keys_do_what_single_ones_do(c):
    keys = [f"key {i % 700}" for i in range(1000)]
    one, many = (Filter(1000, 0.02, kind="cuckoo") for _ in range(2))
    new = [one.add(key) for key in keys]
    c.expect(many.test_and_add_many(keys).tolist() == new and many == one, "test_and_add_many")
    asked = [f"key {i}" for i in range(2000)]
    c.expect(many.contains_many(asked).tolist() == [key in one for key in asked], "contains_many")
    c.expect(many.count_many(asked) == sum(key in one for key in asked), "count_many")
    removed = sum(one.remove(key) for key in asked[:900])
    c.expect(many.remove_many(asked[:900]) == removed >= 700 and many == one, "remove_many")
    built = Filter.build(keys, 0.02, kind="cuckoo")
    c.expect(built.kind == "cuckoo" and built.adds == 1000 and built.count_many(keys) == 1000, "build")
    c.expect(Filter.build(iter(keys), 0.02, kind="cuckoo", count=1000, threads=4) == built, "built of an iterator")


@case
def columns_are_the_keys_of_lists(c):
    numpy = need("numpy")
    f, g = filled(), Filter(1000, 0.02, kind="cuckoo")
    column = numpy.arange(1000)
    c.expect(g.add_many(column) <= 1000 and f == g, "add_many")
    c.expect(bool(numpy.asarray(g.contains_many(column)).all()) and g.remove_many(column[::-1]) == 1000 and g.adds == 0, "remove_many")


@case
def bytes_are_those_of_the_model(c):
    rnd = random.Random(8)
    for keys, slots, iterations, growth in ((16, 2, 20, 1), (64, 4, 10, 4), (7, 1, 50, 2), (100, 3, 5, 3), (300, 8, 500, 2)):
        name = f"{keys} keys, {slots} slots, {iterations} iterations, growth {growth}"
        f = Filter.create_dialect(DIALECT, keys=keys, slots=slots, iterations=iterations, growth=growth)
        f.full = "ignore"
        model = Cuckoo(keys, slots, iterations, growth)
        for _ in range(800):
            key = b"%d" % rnd.randrange(150)
            c.expect((key in f) == (model.count(key) > 0) and f.count(key) == model.count(key), f"{name}: {key}")
            if rnd.random() < 0.6 and len(model.filters) < 20:
                f.add(key)
                model.insert(key)
            else:
                c.expect(f.remove(key) == bool(model.delete(key)), f"{name}: removed {key}")
        data = model.header() + model.slots()
        c.expect(f.to_dialect() == data == Filter.from_dialect(DIALECT, data).to_dialect(), f"{name}: other bytes")


@case
def files_of_both_forms_are_read_back(c):
    f = filled(note="members", integers=32)
    f.remove(7)
    f.save(c.path("f.bloom"))
    for g in (Filter.open(c.path("f.bloom")), Filter.open(c.path("f.bloom"), copy=True, verify=True), Filter.from_bytes(f.to_bytes()),
              f.copy(), copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        c.expect(g == f and g.kind == "cuckoo" and g.dialect == DIALECT and g.adds == 999 and g.note == "members", f"{g}")
        c.expect(g.count_many(range(7)) == 7 and 8 in g and g.rule == "int32" and g.keys == 1000, f"{g}: its keys")
    mapped = Filter.open(c.path("f.bloom"))
    for change in (mapped.add, mapped.remove):
        with raises(c, bloomery.ReadOnly, "copy=True"):
            change(5)
    f.save_dialect(c.path("f.cuckoo"))
    data = c.read("f.cuckoo")
    g = Filter.from_dialect(DIALECT, data)
    c.expect(data == f.to_dialect() == g.to_dialect(DIALECT) and g.adds == 999 and g.keys is None, f"{g}")
    c.expect(g.remove((8).to_bytes(4, "little")) and g.add("x"), "it can be changed")
    bloomery.convert(c.path("f.cuckoo"), c.path("g.bloom"), read_as=DIALECT)
    bloomery.convert(c.path("g.bloom"), c.path("g.cuckoo"), to=DIALECT)
    c.expect(c.read("g.cuckoo") == data, "convert")
    for cut in (0, 37, 38, len(data) - 1):
        with raises(c, bloomery.Corrupt, "cut short"):
            Filter.from_dialect(DIALECT, data[:cut])
    with raises(c, bloomery.Corrupt, "something follows"):
        Filter.from_dialect(DIALECT, data + b"x")


@case
def the_command_and_the_package_read_each_others_files(c):
    c.file("keys", "".join(f"key {i}\n" for i in range(1000)))
    c.run("build -q --kind cuckoo -n 1000 -p 2% -o f.bloom keys")
    f = Filter(1000, 0.02, kind="cuckoo")
    f.add_many(f"key {i}" for i in range(1000))
    c.expect(c.read("f.bloom") == f.to_bytes(), "other bytes than the command's")
    f.remove("key 3")
    f.save(c.path("g.bloom"))
    c.run("query -c g.bloom", stdin="key 1\nkey 2\n", stdout="2\n")


@case
def a_full_filter_says_so(c):
    f = Filter(1000, 0.02, kind="cuckoo")
    limit = 2 * f.rate
    with raises(c, Full, "planned for 1000 keys", "twice the planned rate", "full='ignore'") as full:
        f.add_many(range(100_000))
    added = full.error.added
    c.expect(1000 <= added == f.adds and f.count_many(range(added)) == added and f.full == "raise", f"{added} were added")
    c.expect(0.97 * limit < f.info(scan=True).live_rate <= limit, f"{f.info(scan=True).live_rate}, not {limit}")
    c.expect("grow" not in str(full.error), str(full.error))
    with raises(c, Full):
        f.add("new")
    c.expect(f.add(5) is False and f.count(5) == 2, "a key that is there is refused")
    f.remove_many(range(300))
    c.expect(f.add("new"), "a removed key leaves no room")
    f.full = "ignore"
    f.add_many(range(200_000, 210_000))
    c.expect(f.info(scan=True).live_rate > limit and f.count_many(range(200_000, 210_000)) == 10_000, "ignore")


@case
def slots_and_memory_have_their_limits(c):
    f = Filter.create_dialect(DIALECT, keys=64, slots=2, variant="nonscaling")
    f.full = "ignore"
    f.add_many(["a"] * 4)  # its two buckets
    before = f.to_bytes()
    with raises(c, Full, "full"):
        f.add("a")
    c.expect(f.to_bytes() == before and f.count("a") == 4 and f.remove_many(["a"] * 6) == 4, "copies of a key")
    f = Filter(1000, 0.02, kind="cuckoo", memory=2048)
    with raises(c, Full, "pass the limit of 2048") as full:
        f.add_many(["a"] * 9)
    c.expect(full.error.added == 8 == f.adds and f.nbytes == 2048, f"{f}")
    with raises(c, ValueError, "more than the memory of 1000"):
        Filter(1000, 0.02, kind="cuckoo", memory=1000)
    g = Filter(rate=0.02, kind="cuckoo", memory=100_000)
    c.expect(g.nbytes <= 100_000 and g.rate <= 0.02 and g.keys > 40_000, f"{g}")
    g = Filter(1000, None, kind="cuckoo", memory=100_000)
    c.expect(g.nbytes <= 100_000 and g.rate < 0.001, f"{g}")
    with raises(c, ValueError, "at least 64 bytes"):
        Filter(rate=0.02, kind="cuckoo", memory=10)


@case
def what_it_cannot_do_is_refused_with_a_sentence(c):
    f, g, larger = filled(), filled(), filled(5000)
    for call, what in ((lambda: f.merge(g), "merged"), (lambda: f | g, "merged"), (lambda: f.merge(larger), "merged"), (lambda: f.update(g), "merged"),
                       (lambda: f.union(g), "merged"), (lambda: f.intersect(g), "intersected"), (lambda: f & larger, "intersected"),
                       (f.fold, "folded"), (lambda: f <= g, "compared"), (lambda: f.similarity(larger), "compared"),
                       (f.drop_counters, "no counters to drop")):
        with raises(c, bloomery.Unsupported, "cuckoo filter", what):
            call()
    c.expect(f == g == filled(), "a refusal changed it")
    c.expect("new" in f.union(["new"]), "keys can be added to a copy")
    with raises(c, bloomery.Mismatch, "the kinds differ"):
        Filter(1000).merge(f)
    with raises(c, bloomery.Unsupported, "kind='cuckoo'"):
        Filter(1000).remove("a")
    for options, parts in (({"rate": 0.001}, ["1 in 200"]), ({"secret": True}, ["its own hash"]), ({"secret": b"s" * 16}, ["its own hash"]),
                           ({"seed": 5}, ["no seed"]), ({"full": "grow"}, ["not cuckoo"]), ({"keys": 2 ** 40}, ["2^32 slots"])):
        with raises(c, ValueError, *parts):
            Filter(**{"keys": 1000, "rate": 0.02, "kind": "cuckoo", **options})
    with raises(c, bloomery.Unsupported, "cuckoo", "several threads"):
        Filter(1000, 0.02, kind="cuckoo", concurrent=True)
    with raises(c, ValueError, "cuckoo"):
        Filter(1000, 0.02, kind="cukoo")
    for given in ({"slots": 256}, {"iterations": 65536}, {"growth": 32769}):
        with raises(c, ValueError, "a cuckoo filter has 1 to 255 slots"):
            Filter.create_dialect(DIALECT, keys=100, **given)


@case
def facts_are_those_of_its_tables(c):
    f = filled()
    facts, plan = f.info(scan=True), bloomery.plan(1000, 0.02, kind="cuckoo")
    c.expect((facts.kind, facts.layers, facts.probes, facts.cell_bits, facts.hash) == ("cuckoo", 1, 4, 8, "murmur64a"), f"{facts}")
    c.expect(facts.bits == facts.bytes == plan.bytes == f.nbytes == 2048 and facts.bits_set == facts.adds == 1000, f"{facts}")
    c.expect(facts.can_remove and facts.can_add and not facts.can_merge and facts.growth == 1, f"{facts}")
    c.expect(plan.kind == "cuckoo" and plan.hash is None and plan.rate == f.rate == facts.planned_rate <= 0.02, f"{plan}")
    absent = f.count_many(range(10_000, 110_000)) / 100_000
    c.expect(abs(absent - facts.live_rate) < 0.003 and abs(facts.live_rate / f.rate - 1) < 0.1, f"{absent}, {facts.live_rate}")
    c.expect(repr(f) == f"<bloomery.Filter cuckoo {DIALECT} keys=1000 rate=0.015202 bytes=2048 adds=1000>", repr(f))
    c.expect("48.8% of the slots are taken" in f._repr_html_() and "cells are set" not in f._repr_html_(), f._repr_html_())
    small = Filter.create_dialect(DIALECT, keys=16)
    small.full = "ignore"
    small.add_many(range(100))
    c.expect(small.info().layers > 3 and small.count_many(range(100)) == 100, "it grows")
    small.clear()
    c.expect(small.info().layers == 1 and not small and small.add("x"), "clear")


main()
