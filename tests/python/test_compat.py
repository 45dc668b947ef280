# SPDX-License-Identifier: Apache-2.0
"""The classes with other packages' interfaces: pybloom_live's files bit for bit, and what rbloom documents."""

import base64
import copy
import gzip
import hashlib
import io
import json
import multiprocessing
import os
import pickle

import bloomery
from bloomery.compat import pybloom_live
from bloomery.compat.rbloom import Bloom
from optional import raises
from runner import Skip, case, main

VECTORS = os.path.join(os.environ["BLOOMERY_VECTORS"], "dialect", "pybloom_live.json.gz")


def digests_or_skip():
    """pybloom_live hashes with digests, which a build without libcrypto lacks."""
    try:
        pybloom_live.BloomFilter(10).add("x")
    except bloomery.Unsupported as why:
        raise Skip("this build has no digests") from why


@case
def files_of_pybloom_live_are_made_and_read_bit_for_bit(c):
    digests_or_skip()
    with gzip.open(VECTORS) as file:
        vectors = json.load(file)["filters"]
    made = 0
    for vector in vectors:
        version = vector["lib_version"]
        if "tofile_sha256" not in vector or (version == 3 and vector["key_type"] == "bytes"):
            continue  # version 3 hashes the text of bytes
        name = vector["name"]
        scalable = vector["kind"] == "ScalableBloomFilter"
        if scalable:
            f = pybloom_live.ScalableBloomFilter(vector["capacity"], vector["error_rate"], vector["mode"], version=version)
        else:
            f = pybloom_live.BloomFilter(vector["capacity"], vector["error_rate"], version=version)
            c.expect((f.num_slices, f.bits_per_slice, f.num_bits) ==
                     (vector["num_slices"], vector["bits_per_slice"], vector["num_bits"]), f"{name}: shape")
        to_key = bytes.fromhex if vector["key_type"] == "bytes" else lambda text: bytes.fromhex(text).decode()
        keys = [to_key(text) for text in vector["inserted_hex"]]
        returned = "".join("01"[f.add(key)] for key in keys)
        absent = "".join("01"[to_key(text) in f] for text in vector["absent_hex"])
        c.expect(returned == vector["add_returned"] and absent == vector["absent_answers"], f"{name}: answers")
        c.expect(f.count == len(f) == vector["count"], f"{name}: count {f.count}")
        out = io.BytesIO()
        f.tofile(out)
        c.expect(hashlib.sha256(out.getvalue()).hexdigest() == vector["tofile_sha256"], f"{name}: another file")
        again = type(f).fromfile(io.BytesIO(base64.b64decode(vector["tofile_b64"])), version=version)
        c.expect(all(key in again for key in keys) and again.count == f.count, f"{name}: read")
        c.expect(pickle.loads(pickle.dumps(f)).count == f.count, f"{name}: pickle")
        made += 1
    c.expect(made >= 6, f"only {made} were made")


@case
def pybloom_live_is_full_joins_and_refuses_as_there(c):
    digests_or_skip()
    f = pybloom_live.BloomFilter(capacity=100, error_rate=0.001)
    c.expect(f.add("a") is False and f.add("a") is True and 5 not in f and f.add(5) is False and "5" in f, "add")
    with raises(c, IndexError, "at capacity"):
        for i in range(1000):
            f.add(f"key {i}")
    g = pybloom_live.BloomFilter(100, 0.001)
    g.add("g")
    c.expect("g" in (f | g) and "a" in f.union(g) and "a" not in (f & g) and "g" in f.copy() | g, "sets")
    for other in (pybloom_live.BloomFilter(50), "x"):
        with raises(c, ValueError, "takes"):
            f.union(other)
    for arguments in ((0,), (10, 0), (10, 1)):
        with raises(c, ValueError):
            pybloom_live.BloomFilter(*arguments)
    s = pybloom_live.ScalableBloomFilter(10, 0.01, mode=pybloom_live.ScalableBloomFilter.SMALL_SET_GROWTH)
    c.expect((s.capacity, len(s), s.scale, s.initial_capacity, s.error_rate) == (0, 0, 2, 10, 0.01), repr(s))
    for i in range(1000):
        s.add(i)
    c.expect(s.capacity >= 900 and all(i in s for i in range(1000)) and len(s) > 850, repr(s))
    out = io.BytesIO()
    s.tofile(out)
    with raises(c, ValueError, "Scalable"):
        pybloom_live.BloomFilter.fromfile(io.BytesIO(out.getvalue()))
    with raises(c, (ValueError, bloomery.Error)):
        pybloom_live.BloomFilter.fromfile(io.BytesIO(out.getvalue()[:20]))


@case
def several_filters_of_pybloom_live_share_a_stream(c):
    digests_or_skip()
    stream = io.BytesIO()
    made = []
    for i in range(3):
        for kind in (pybloom_live.BloomFilter, pybloom_live.ScalableBloomFilter):
            f = kind(20 + i, 0.01)
            for key in range(15 + 30 * i if kind is pybloom_live.ScalableBloomFilter else 10):
                f.add(f"{i} {key}")
            f.tofile(stream)
            made.append(f)
    stream.write(b"the rest")
    stream.seek(0)
    for f in made:
        again = type(f).fromfile(stream)
        out, first = io.BytesIO(), io.BytesIO()
        again.tofile(out)
        f.tofile(first)
        c.expect(out.getvalue() == first.getvalue() and again.count == f.count, "another filter came out")
    c.expect(stream.read() == b"the rest", "what follows was read too")
    for f in made[:2]:
        out = io.BytesIO()
        f.tofile(out)
        for kind in (pybloom_live.BloomFilter, pybloom_live.ScalableBloomFilter):
            for end in range(0, len(out.getvalue()), 7):
                with raises(c, (ValueError, bloomery.Error)):
                    kind.fromfile(io.BytesIO(out.getvalue()[:end]))
        with raises(c, ValueError):
            (pybloom_live.BloomFilter if f is made[1] else pybloom_live.ScalableBloomFilter).fromfile(io.BytesIO(out.getvalue()))
    data = first_bytes(made[0])
    c.expect(pybloom_live.BloomFilter.fromfile(io.BytesIO(data + b"more"), len(data)).count == 10, "n")


def first_bytes(f):
    """What tofile writes."""
    out = io.BytesIO()
    f.tofile(out)
    return out.getvalue()


@case
def scalable_filters_of_pybloom_live_have_parts_and_join(c):
    digests_or_skip()
    f, g = (pybloom_live.ScalableBloomFilter(50, 0.01, mode=2) for _ in range(2))
    c.expect(f.filters == [] and f.ratio == 0.9, f"{f.ratio}")
    for i in range(600):
        f.add(i)
    for i in range(500, 650):
        g.add(i)
    parts = f.filters
    c.expect([part.capacity for part in parts] == [50, 100, 200, 400] and sum(part.count for part in parts) == f.count, f"{parts}")
    c.expect(all(any(i in part for part in parts) for i in range(600)), "a key is in no part")
    for both in (f | g, g.union(f)):
        c.expect(len(both.filters) == 4 and all(i in both for i in range(650)), f"{both}")
        c.expect(max(f.count, g.count) <= both.count <= f.count + g.count, f"{both.count} of {f.count} and {g.count}")
        c.expect(both.add("another") is False and "another" in both and "another" not in f, "it can't be added to")
        c.expect(type(both).fromfile(io.BytesIO(first_bytes(both))).count == both.count, "its file")
    c.expect((f | pybloom_live.ScalableBloomFilter(50, 0.01, mode=2)).count == f.count, "with an empty one")
    for other in (pybloom_live.ScalableBloomFilter(50, 0.01, mode=4), pybloom_live.ScalableBloomFilter(51, 0.01, mode=2),
                  pybloom_live.ScalableBloomFilter(50, 0.02, mode=2), "x"):
        with raises(c, ValueError, "union takes"):
            f.union(other)


@case
def users_of_pybloomfiltermmap_and_bloom_filter2_find_the_same_properties(c):
    keys, others = [f"in {i}" for i in range(5000)], [f"out {i}" for i in range(20_000)]
    f = bloomery.Filter(10_000, 0.01)
    c.expect(all(f.add(key) for key in keys[:10]) and not f.add(keys[0]) and f.add_many(keys) >= 4900, "add says what is new")
    c.expect(f.count_many(keys) == len(keys), "an added key is missing")
    c.expect(f.count_many(others) < 0.01 * len(others), "more false positives than at the capacity")
    c.expect(abs(f.estimate() - 5000) < 150, f"{f.estimate()} keys")
    g = bloomery.Filter(10_000, 0.01)
    g.add_many(others[:3000])
    both, common = f.copy(), f.copy()
    both |= g
    common &= g
    c.expect(both.count_many(keys + others[:3000]) == 8000 and both == f.union(g) and f <= both and common <= f, "sets")
    c.expect(abs(f.similarity(g).common_keys) < 200, f"{f.similarity(g).common_keys} keys in common")
    for other in (bloomery.Filter(20_000, 0.01), bloomery.Filter(10_000, 0.01, seed=1), bloomery.Filter(10_000, 0.01, kind="classic")):
        with raises(c, bloomery.Mismatch):
            f.union(other)
    f.save(c.path("f.bloom"))
    again = bloomery.Filter.from_bytes(base64.b64decode(base64.b64encode(f.to_bytes())))
    with bloomery.Filter.open(c.path("f.bloom")) as opened:
        c.expect(opened == f == again and opened.info(scan=True).bits_set == f.info(scan=True).bits_set, "files")
    with open(c.path("f.bloom"), "r+b") as file:
        file.truncate(1000)
    with raises(c, bloomery.Corrupt):
        bloomery.Filter.open(c.path("f.bloom"))
    with raises(c, FileNotFoundError):
        bloomery.Filter.open(c.path("none"))
    f.clear()
    c.expect(not f and f.count_many(keys) == 0, "clear")
    for wrong in ((0, 0.1), (10, 0), (10, 1), (10, -1)):
        with raises(c, ValueError):
            bloomery.Filter(*wrong)


def digest(item):
    """A hash that is the same in all processes."""
    return int.from_bytes(hashlib.sha256(pickle.dumps(item)).digest()[:16], "big", signed=True)


@case
def rbloom_holds_hashable_objects_and_joins(c):
    b = Bloom(200, 0.01)
    c.expect(not b, "it is not empty")
    b.add("hello")
    b.update([1, 2.5, (3, "x")], range(10, 20))
    c.expect("hello" in b and 1.0 in b and True in b and (3, "x") in b and 15 in b and "world" not in b, "objects")
    c.expect(bool(b) and abs(b.approx_items - 14) < 2 and b.size_in_bits > 1500, repr(b))
    with raises(c, TypeError, "unhashable"):
        b.add([])
    other = Bloom(200, 0.01)
    other.update(["hello", "there"])
    c.expect("there" in (b | other) and "hello" in (b & other) and 15 not in b & other, "sets")
    both = b.union(other, ["more"])
    c.expect("more" in both and b < both and b <= both and both > b and both >= b and b != both, "order")
    c.expect(both.issuperset(b) and b.issubset(both) and other.issubset(both) and b == b.copy(), "subsets")
    copy = b.copy()
    copy &= other
    c.expect("hello" in copy and copy.intersection(["hello"]) <= copy, "in place")
    copy.clear()
    c.expect(not copy, "clear")
    for wrong in (Bloom(300, 0.01), Bloom(200, 0.02), Bloom(200, 0.01, digest)):
        for call in (lambda: b | wrong, lambda: b == wrong, lambda: b.update(wrong), lambda: b <= wrong):
            with raises(c, ValueError, "different"):
                call()
    for arguments in ((0, 0.01), (10, 0), (10, 1.0), (-5, 0.1)):
        with raises(c, ValueError):
            Bloom(*arguments)
    with raises(c, TypeError):
        Bloom(10, 0.1, 5)
    with raises(c, TypeError):
        b | {"x"}  # pylint: disable=expression-not-assigned
    with raises(c, TypeError):
        hash(b)


@case
def rbloom_is_kept_only_with_a_hash_of_its_own(c):
    b = Bloom(200, 0.01, digest)
    b.update(range(100))
    b.save(c.path("b.bloom"))
    for again in (Bloom.load(c.path("b.bloom"), digest), Bloom.load_bytes(b.save_bytes(), digest)):
        c.expect(again == b and all(i in again for i in range(100)), "loaded")
        again.add("more")
    for call in (lambda: Bloom(10, 0.1).save(c.path("x")), Bloom(10, 0.1).save_bytes, lambda: Bloom.load(c.path("b.bloom"), hash),
                 lambda: Bloom.load_bytes(b"", hash)):
        with raises(c, ValueError, "hash_func"):
            call()
    for wrong in (1 << 200, 1 << 128, -(1 << 127) - 1):
        with raises(c, OverflowError, "128 bits"):
            Bloom(10, 0.1, lambda item, number=wrong: number).add("x")


@case
def a_hash_of_128_bits_is_taken_with_a_sign_or_without(c):
    b = Bloom(1000, 0.0001, lambda item: item)
    numbers = (0, 1, 2**127 - 1, 2**127, 2**128 - 1, -1, -2**127)
    b.update(numbers[:5])
    c.expect(all(number in b for number in numbers), "-1 and 2**128 - 1 are one key")
    c.expect(2**128 - 2 not in b and 2**127 + 1 not in b, "others are not in it")


class Tagged(Bloom):
    """A subclass with something of its own."""


def found(b):
    """How many of the keys of the next case a filter has; also in another process."""
    return sum(f"user {i}" in b for i in range(1000))


@case
def a_pickle_for_another_process_has_its_keys_or_is_refused(c):
    own = Bloom(1000, 0.01)
    own.update(f"user {i}" for i in range(1000))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with raises(c, TypeError, "process to process", "hash_func"):
            pickle.dumps(own, protocol)
    for inherited in (str.__hash__, object.__hash__):
        with raises(c, TypeError, "hash_func"):
            pickle.dumps(Bloom(10, 0.1, inherited))
    kept = Bloom(1000, 0.01, digest)
    kept.update(f"user {i}" for i in range(1000))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(kept, protocol))
        c.expect(again == kept and again.hash_func is digest and found(again) == 1000, f"protocol {protocol}")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        c.expect(pool.apply(found, (kept,)) == 1000, "keys are lost in a process that was spawned")
        with raises(c, TypeError, "hash_func"):
            pool.apply(found, (own,))


@case
def copies_within_the_process_have_all_keys(c):
    own = Tagged(1000, 0.01)
    own.update(f"user {i}" for i in range(1000))
    own.tag = ["x"]
    for made in (copy.copy(own), copy.deepcopy(own), own.copy(), copy.deepcopy([own])[0]):
        c.expect(type(made) is Tagged and found(made) == 1000 and made == own, "a copy lost keys")
        made.add("another")
        c.expect("another" in made and "another" not in own, "a copy is the same filter")
    c.expect(copy.copy(own).tag is own.tag and copy.deepcopy(own).tag == ["x"], "what the subclass has")
    c.expect(copy.deepcopy(own).tag is not own.tag, "deepcopy shares it")


if __name__ == "__main__":  # not in a process that was spawned
    main()
