# SPDX-License-Identifier: Apache-2.0
"""What the suites of rbloom, pybloom-live, bloom-filter2 and pybloomfiltermmap3 look at, as properties of these classes: bits that
add up, rates at the capacity, files that stay what they are, and errors."""

import io
import math
import os
import pickle
import random
import stat

import bloomery
from bloomery import Filter
from bloomery.compat import pybloom_live
from bloomery.compat.rbloom import Bloom
from optional import raises
from runner import Skip, case, main

KINDS = ("blocked", "classic", "counting")


def bits_of(f):
    """How many cells are set."""
    return f.info(scan=True).bits_set


def filled(keys, kind="blocked", count=5000, rate=0.01):
    """A filter of keys."""
    f = Filter(count, rate, kind=kind)
    f.add_many(keys)
    return f


def live(count=100, rate=0.01):
    """A filter of pybloom_live, if this build has its hashes."""
    try:
        return pybloom_live.BloomFilter(count, rate)
    except bloomery.Unsupported as why:
        raise Skip("this build has no libcrypto") from why


@case
def bits_of_two_sets_add_up(c):
    source = random.Random(3)
    for kind in KINDS:
        for common in (0, 500, 2000):
            left = [f"l {i}" for i in range(2000 - common)] + [f"c {i}" for i in range(common)]
            right = [f"r {i}" for i in range(source.randrange(2000))] + [f"c {i}" for i in range(common)]
            a, b = filled(left, kind), filled(right, kind)
            both, shared = a | b, a & b
            c.expect(bits_of(both) + bits_of(shared) == bits_of(a) + bits_of(b), f"{kind}, {common} in common")
            c.expect(shared <= a <= both and shared <= b <= both, f"{kind}: order")
            c.expect((a == b) == (bits_of(both) == bits_of(shared)) and a | b == b | a and a & b == b & a, f"{kind}: either side")
            c.expect(a | a == a | Filter(5000, 0.01, kind=kind) or kind == "counting", f"{kind}: with itself and nothing")
            c.expect(bits_of(a & Filter(5000, 0.01, kind=kind)) == 0, f"{kind}: with nothing")
            c.expect(both.count_many(left + right) == len(left + right) and shared.count_many(left[2000 - common:]) == common, kind)


@case
def a_key_sets_its_bits_and_no_others(c):
    for kind in KINDS:
        f = Filter(1000, 0.001, kind=kind)
        most = f.info().probes * max(f.info().blocks_per_key, 1)
        seen = 0
        for i in range(200):
            f.add(f"key {i}")
            now = bits_of(f)
            c.expect(seen <= now <= seen + most, f"{kind}: {now - seen} bits of a key, not up to {most}")
            f.add(f"key {i}")
            c.expect(bits_of(f) == now, f"{kind}: a key that comes again sets bits")
            seen = now
        c.expect(seen > 100 * most, f"{kind}: {seen} bits of 200 keys")
        f.clear()
        c.expect(bits_of(f) == 0 and not f and f.adds == 0, f"{kind}: clear")


@case
def fill_and_rate_are_those_of_the_formula(c):
    count, probes = 20_000, None
    f = filled([f"in {i}" for i in range(count)], "classic", count, 0.01)
    bits, probes = f.bits, f.info().probes
    share = 1 - math.exp(-probes * count / bits)
    deviation = math.sqrt(bits * share * (1 - share))
    c.expect(abs(bits_of(f) - bits * share) < 6 * deviation, f"{bits_of(f)} bits, not about {bits * share:.0f}")
    for kind in KINDS:
        f = filled([f"in {i}" for i in range(count)], kind, count, 0.01)
        found = f.count_many([f"out {i}" for i in range(100_000)])
        c.expect(found < 100_000 * 0.01 + 6 * math.sqrt(1000), f"{kind}: {found} of 100,000")
        c.expect(abs(f.estimate() - count) < 0.03 * count, f"{kind}: about {f.estimate():.0f} keys")


@case
def files_stay_what_they_are(c):
    path = c.path("f.bloom")
    for kind in KINDS:
        f = filled(range(3000), kind)
        f.save(path)
        os.chmod(path, 0o640)
        before = Filter.open(path)
        g = f.copy()
        g.add_many(range(3000, 3500))
        g.save(path)
        c.expect(stat.S_IMODE(os.stat(path).st_mode) == 0o640, "the mode of the file is another one")
        c.expect(before == f and Filter.open(path) == g != f, "an open filter changes with its name")
        c.expect([name for name in os.listdir(c.directory) if name != "f.bloom"] == [], f"left behind: {os.listdir(c.directory)}")
        with open(path, "rb") as file:
            data = file.read()
        c.expect(data == g.to_bytes() == bytes(g) == Filter.from_bytes(data).to_bytes(), "bytes")
        for end in (0, 1, 63, 64, len(data) // 2, len(data) - 1):
            with raises(c, (bloomery.NotAFilter, bloomery.Corrupt)):
                Filter.from_bytes(data[:end])
        for at in range(0, len(data), max(len(data) // 40, 1)):
            with raises(c, bloomery.Error):
                broken = bytearray(data)
                broken[at] ^= 0x10
                Filter.from_bytes(bytes(broken)).verify()
    c.file("text", "a list of words, not a filter, and long enough to be read as one\n" * 9)
    for wrong, kind in (("text", bloomery.NotAFilter), ("none", FileNotFoundError), (".", IsADirectoryError)):
        with raises(c, kind):
            Filter.open(c.path(wrong))
    for wrong in (None, 5, 1.5, [path]):
        for call in (lambda wrong=wrong: Filter.open(wrong), lambda wrong=wrong: Filter(10).save(wrong)):
            with raises(c, TypeError):
                call()


@case
def pybloom_lives_numbers_fit_together(c):
    for count, rate in ((1, 0.5), (100, 0.01), (5000, 0.0001)):
        f = live(count, rate)
        c.expect((f.capacity, f.error_rate, f.count, len(f)) == (count, rate, 0, 0), f"{f!r}")
        c.expect(f.num_bits == f.num_slices * f.bits_per_slice and f.num_slices == math.ceil(-math.log2(rate)), f"{f.num_bits} bits")
        keys = [f"key {i}" for i in range(count)]
        new = sum(not f.add(key) for key in keys)
        c.expect(new == f.count == len(f) and all(key in f for key in keys) and all(f.add(key) for key in keys), f"{new} new keys")
        twin = f.copy()
        c.expect(twin.count == f.count and pickle.loads(pickle.dumps(f)).count == f.count, "copies")
        outside = sum(f"out {i}" in f for i in range(20_000))
        c.expect(outside <= 20_000 * rate + 6 * math.sqrt(20_000 * rate * (1 - rate)), f"{outside} of 20,000 at {rate}")
    a, b = live(1000), live(1000)
    for i in range(400):
        a.add(i)
        b.add(i + 200)
    both, shared = a | b, a & b
    c.expect(all(i in both for i in range(600)) and all(i in shared for i in range(200, 400)), "sets")
    c.expect(sum(i in shared for i in [*range(200), *range(400, 600)]) < 40, "an intersection has what one of them lacks")
    c.expect(a.count <= 400 and all(i not in a for i in range(1000, 1010)), "a set was changed")
    out = io.BytesIO()
    a.tofile(out)
    out.seek(0)
    again = type(a).fromfile(out)
    c.expect((again.num_bits, again.count, again.error_rate) == (a.num_bits, a.count, a.error_rate) and all(i in again for i in range(400)), "file")


@case
def rblooms_files_and_sets_are_those_of_its_objects(c):
    def own(item):
        return hash_of(repr(item))
    a, b = Bloom(1000, 0.01, own), Bloom(1000, 0.01, own)
    a.update(range(500), [("a", 1)])
    b.update(range(300, 800))
    c.expect(all(i in a | b for i in range(800)) and all(i in a & b for i in range(300, 500)) and ("a", 1) in a, "objects")
    for call, expected in ((lambda: a.union(b, range(900, 950)), range(950)), (lambda: a.intersection(b), range(300, 500))):
        c.expect(all(i in call() for i in expected if i < 800 or i >= 900), "names")
    c.expect((a & b) <= a <= (a | b) and not a <= b and (a | b).issuperset(b) and (a & b).issubset(b), "order")
    c.expect(abs(a.approx_items - 501) < 40 and a.size_in_bits == b.size_in_bits > 5000, f"{a!r}")
    a.save(c.path("a.bloom"))
    data = a.save_bytes()
    c.expect(Bloom.load(c.path("a.bloom"), own) == a == Bloom.load_bytes(data, own), "files")
    strange = Bloom.load(c.path("a.bloom"), lambda item: hash_of(f"other {item}"))
    c.expect(sum(i in strange for i in range(500)) < 50, "another hash finds the objects")
    for end in (0, 10, len(data) - 1):
        with raises(c, bloomery.Error):
            Bloom.load_bytes(data[:end], own)
    with raises(c, FileNotFoundError):
        Bloom.load(c.path("none"), own)
    for wrong in (lambda: Bloom(10), lambda: Bloom(10, "x"), lambda: Bloom(10, 0.1, lambda item: "x").add(1)):
        with raises(c, TypeError):
            wrong()


def hash_of(text):
    """A hash that is the same in all processes."""
    return int.from_bytes(random.Random(text).randbytes(16), "big") - 2**127


@case
def names_and_limits_of_others_are_explained(c):
    for others, part in (({"capacity": 5, "error_rate": 0.1}, "keys="), ({"max_elements": 5}, "keys="), ({"expected_items": 5}, "keys="),
                         ({"keys": 5, "error_rate": 0.1}, "rate="), ({"keys": 5, "false_positive_rate": 0.1}, "rate=")):
        with raises(c, TypeError, part):
            Filter(**others)
    f = Filter(100, 0.01)
    for wrong in (1.5, None, True, ("a", "b"), ["a"], {"a": 1}, {"a"}, object()):
        for call in (lambda wrong=wrong: f.add(wrong), lambda wrong=wrong: wrong in f):
            with raises(c, TypeError, "not a key"):
                call()
    with raises(c, bloomery.Full, "grow"):
        f.add_many(range(1000))
    with raises(c, TypeError, "adds"):
        len(f)
    with raises(c, TypeError, "keys"):
        list(f)
    with raises(c, bloomery.Unsupported, "counting"):
        f.remove("a")
    c.expect(f != 5 and not f == "x" and repr(f).startswith("<bloomery.Filter"), "other objects")


@case
def a_filter_has_the_brackets_of_generic_types(c):
    def count(f: Filter[str]) -> dict[str, Filter[bytes]]:
        return {"it": f}
    f = Filter(10)
    c.expect(count(f) == {"it": f} and Filter[str].__origin__ is Filter and Filter[str].__args__ == (str,), f"{Filter[str]}")
    c.expect(isinstance(Filter[int](10, 0.1), Filter) and repr(Filter[str]) == "bloomery.Filter[str]", "it can be called")
    class Named(Filter):
        """A subclass."""
    c.expect(Named[str].__origin__ is Named, "subclasses")


main()
