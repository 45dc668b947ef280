# SPDX-License-Identifier: Apache-2.0
"""Single keys from Python: what is a key, and that other objects are refused with a remedy."""

import array
import gc
import hashlib
import ipaddress
import pathlib
import pickle
import random
import struct
import sys
import uuid

import bloomery
from bloomery import Filter
from optional import need, raises
from runner import case, main


@case
def no_false_negatives_and_the_rate_beside_a_set(c):
    chance = random.Random(7)
    added = {chance.randbytes(chance.randrange(0, 30)) for _ in range(20_000)}
    f = Filter(len(added), 0.01)
    new = sum(f.add(key) for key in added)
    c.expect(all(key in f for key in added), "a key is lost")
    c.expect(new > 0.98 * len(added), f"only {new} were new")
    absent = [chance.randbytes(31) for _ in range(50_000)]
    wrong = sum(key in f for key in absent)
    # The planned rate is at most 1 %; five standard deviations above it.
    c.expect(wrong <= 500 + 5 * 500 ** 0.5, f"{wrong} of 50,000 are false positives")
    c.expect(wrong > 0, "no false positive at all: nothing was looked up")


@case
def a_text_is_its_utf8_and_an_int_its_eight_bytes(c):
    for key, same in (("a", b"a"), ("bäc\U0001f600", "bäc\U0001f600".encode()), ("", b""), ("a\0b", b"a\0b"),
                      (7, struct.pack("<q", 7)), (-1, b"\xff" * 8), (2**64 - 1, b"\xff" * 8),
                      (-2**63, struct.pack("<q", -2**63)), (2**63, struct.pack("<Q", 2**63)),
                      (b"x", bytearray(b"x")), (b"xyz", memoryview(b"xyz")), (b"ab", array.array("B", b"ab"))):
        f = Filter(10, 1e-9)
        f.add(key)
        c.expect(same in f, f"{key!r} is not {same!r}")
        c.expect(key in f, f"{key!r} is lost")
        g = Filter(10, 1e-9)
        g.add_many([key])
        c.expect(g == f, f"{key!r} in a list is another key")
    f = Filter(10, 1e-9)
    f.add("1")
    c.expect(b"1" in f and 1 not in f, "1 and '1' are one key")


@case
def an_object_that_is_not_a_key_is_refused_with_a_remedy(c):
    f = Filter(10)

    class Odd:
        """Has an index that is none."""
        def __index__(self):
            raise KeyError("its own")

    for key, kind, part in ((1.0, TypeError, "repr"), (float("nan"), TypeError, "float"), (True, TypeError, "int(key)"),
                            (None, TypeError, "NoneType"), ((1, 2), TypeError, "join"), ([], TypeError, "_many"),
                            ({}, TypeError, "dict"), (object(), TypeError, "object"), (2**64, OverflowError, "2**64"),
                            (-2**63 - 1, OverflowError, "bytes"), ("\ud800", UnicodeEncodeError, "surrogates"),
                            (memoryview(b"abcd").cast("B", (2, 2)), TypeError, "array"),
                            (array.array("i", [1]), TypeError, "_many"), (Odd(), KeyError, "its own")):
        for call in (f.__contains__, f.add, f.count):
            with raises(c, kind, part):
                call(key)
    c.expect(not f and f.adds == 0, "something was added")


@case
def scalars_of_numpy_are_keys_or_refused(c):
    np = need("numpy")
    f = Filter(100, 1e-9)
    f.add(7)
    for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
        c.expect(np.dtype(kind).type(7) in f, f"{kind} 7 is another key")
    f.add("text")
    c.expect(np.str_("text") in f and np.bytes_(b"text") in f, "NumPy's texts are other keys")
    for key in (np.bool_(True), np.float32(1), np.float64(1), np.datetime64("2020-01-01"), np.array([1, 2]),
                np.array(["a"]), np.zeros((2, 2), "u1")):
        with raises(c, TypeError):
            key in f  # pylint: disable=pointless-statement


@case
def integers_of_32_bits_are_four_bytes(c):
    f = Filter(100, 1e-9, integers=32)
    c.expect(f.rule == "int32", f"rule {f.rule}")
    f.add(-2)
    f.add_many([2**31, 5])
    c.expect(-2 in f and 2**32 - 2 in f and -2**31 in f and "5" in f, "lost")
    for key in (2**32, -2**31 - 1):
        with raises(c, OverflowError, "2**32"):
            f.add(key)
    with raises(c, ValueError):
        f.add("five")
    np = need("numpy")
    c.expect(f.count_many(np.array([5, -2], "i4")) == 2 and f.count_many(np.array([5, -2], "i8")) == 2, "arrays")
    with raises(c, ValueError, "2**32"):
        f.add_many(np.array([2**33]))


@case
def a_rule_of_a_file_is_applied(c):
    c.file("names", "  Alice\nBOB  \n")
    c.run("build -q --lower --trim -o f.bloom names")
    f = Filter.open(c.path("f.bloom"))
    c.expect(f.rule == "trim,lower", f"rule {f.rule}")
    c.expect("alice" in f and " ALICE " in f and b"Bob" in f and "carol" not in f, "the rule is not applied")
    c.expect(f.contains_many(["ALICE", "x"]).tolist() == [True, False], "nor to many")
    with raises(c, TypeError, "rule"):
        7 in f  # pylint: disable=pointless-statement
    c.file("digests", "00ff\nAbCd\n")
    c.run("build -q --hex -o h.bloom digests")
    h = Filter.open(c.path("h.bloom"))
    c.expect("ABCD" in h and "00FF" in h, "hex")
    for call in (h.__contains__, lambda key: h.contains_many([key])):
        with raises(c, ValueError, "hex"):
            call("xyz")


@case
def keys_that_the_rule_has_made_already_are_taken_as_they_are(c):
    digests = [hashlib.sha1(f"{i}".encode()).digest() for i in range(500)]
    c.file("digests", "".join(digest.hex() + "\n" for digest in digests))
    c.run("build -q --hex -o h.bloom digests")
    by_rule = Filter.open(c.path("h.bloom"))
    with open(c.path("h.bloom"), "rb") as file:
        data = file.read()
    for raw in (Filter.open(c.path("h.bloom"), rule=False), Filter.open(c.path("h.bloom"), copy=True, rule=False),
                Filter.from_bytes(data, rule=False)):
        c.expect(all(digest in raw for digest in digests) and raw.count_many(digests) == 500, "raw digests are not found")
        c.expect(raw.count_many([digest.hex() for digest in digests]) < 5 and raw.rule == "hex" and not raw.applies_rule, "the rule is applied")
        for made in (raw.copy(), pickle.loads(pickle.dumps(raw)), raw | by_rule):
            c.expect(not made.applies_rule and made.count_many(digests) == 500, "a copy applies the rule")
        if raw.writable:
            raw.add(b"\0" * 20)
            c.expect("00" * 20 in Filter.from_bytes(raw.to_bytes()), "another key was added")
        with raises(c, TypeError, "an int is not a key"):
            7 in raw  # pylint: disable=pointless-statement
    c.expect(by_rule.applies_rule and by_rule.count_many([digest.hex() for digest in digests]) == 500, "hex")
    by_rule.applies_rule = False
    c.expect(digests[0] in by_rule and digests[0].hex() not in by_rule, "set to False")
    by_rule.applies_rule = True
    c.expect(digests[0].hex() in by_rule, "set to True")
    with raises(c, TypeError, "True or False"):
        del by_rule.applies_rule
    c.expect(pickle.loads(pickle.dumps(by_rule)).applies_rule, "a pickle")


@case
def arguments_are_checked(c):
    for arguments, kind, part in (({"keys": 0}, ValueError, "keys"), ({"keys": -1}, ValueError, "keys"),
                                  ({"keys": 2**64}, ValueError, "keys"), ({"keys": "5"}, TypeError, "keys"),
                                  ({"keys": 1.5}, TypeError, "keys"), ({}, TypeError, "two of"),
                                  ({"keys": 5, "rate": 0}, ValueError, "rate"), ({"keys": 5, "rate": 1}, ValueError, "rate"),
                                  ({"keys": 5, "rate": float("nan")}, ValueError, "rate"),
                                  ({"keys": 5, "rate": "x"}, TypeError, ""), ({"keys": 5, "kind": "x"}, ValueError, "kind"),
                                  ({"keys": 5, "kind": "static"}, ValueError, "build"),
                                  ({"keys": 5, "secret": b"short"}, ValueError, "16 bytes"),
                                  ({"keys": 5, "secret": 5}, TypeError, ""), ({"keys": 5, "seed": -1}, ValueError, "seed"),
                                  ({"keys": 5, "integers": 16}, ValueError, "integers"),
                                  ({"keys": 10**6, "memory": 1000}, ValueError, "memory"),
                                  ({"keys": 2**47, "rate": 1e-9}, (MemoryError, ValueError), "")):
        with raises(c, kind, part):
            Filter(**arguments)
    f = Filter(1000, None, memory=2048)
    c.expect(f.nbytes <= 2048 and f.rate < 0.01, f"{f}")
    c.expect(bloomery.plan(1000, 0.01).bytes == Filter(1000, 0.01).nbytes, "another plan")
    c.expect(bloomery.plan(rate=0.01, bytes=10**6).keys > 700_000, "most keys")
    with raises(c, TypeError, "two of"):
        bloomery.plan(1000)


@case
def counting_filters_count_and_remove(c):
    f = Filter(100, 1e-6, kind="counting")
    f.add_many(["a", "a", "b"])
    c.expect((f.count("a"), f.count("b"), f.count("c")) == (2, 1, 0), "counts")
    c.expect(f.remove("a") and not f.remove("c") and f.remove_many(["a", "b", "c"]) == 2, "removes")
    c.expect("a" not in f and "b" not in f, "still there")
    g = Filter(100)
    with raises(c, bloomery.Unsupported):
        g.remove("a")
    with raises(c, bloomery.Unsupported):
        g.remove_many(["a"])


@case
def references_are_given_back(c):
    f = Filter(1000)
    key, text = b"k" * 100, "t\xe4" * 50
    numbers = [2**40 + i for i in range(10)]
    def once():
        f.add(key)
        key in f  # pylint: disable=pointless-statement
        f.add_many([key, text, 2**50] + numbers)
        f.contains_many(iter([key, text])).tolist()
        f.hash_many([key])
        f.info(scan=True)
        f.copy()
        Filter.from_bytes(f.to_bytes())
        try:
            f.add_many([text, 1.0])
        except TypeError:
            pass
    rounds = 2000
    once()
    gc.collect()
    before = sys.getrefcount(key), sys.getrefcount(text), sys.getrefcount(Filter), sys.getrefcount(None)
    for _ in range(rounds):
        once()
    gc.collect()
    after = sys.getrefcount(key), sys.getrefcount(text), sys.getrefcount(Filter), sys.getrefcount(None)
    # Python itself takes and gives a few hundred of None at that time.
    c.expect(before[:3] == after[:3] and abs(after[3] - before[3]) < rounds / 2, f"{before} became {after}")


@case
def texts_say_what_to_do_instead(c):
    f = Filter(1e6, 0.01)
    c.expect(f.keys == 1_000_000 and bloomery.plan(1e6, 0.01).keys == 1_000_000, "1e6 is a number of keys")
    for call, kind, part in (
            (lambda: Filter(["a", "b"]), TypeError, "Filter.build"), (lambda: Filter("words"), TypeError, "Filter.build"),
            (lambda: Filter(capacity=10, error_rate=0.1), TypeError, "keys="), (lambda: Filter(10, error_rate=0.1), TypeError, "rate="),
            (lambda: Filter.build(["a"], capacity=10), TypeError, "count="), (lambda: bloomery.plan(n=10), TypeError, "keys="),
            (lambda: Filter(10.5), TypeError, "whole number"), (lambda: Filter(float("inf")), TypeError, "whole number"),
            (lambda: Filter(float("nan")), TypeError, "whole number"), (lambda: Filter(True), TypeError, "whole number"),
            (lambda: Filter(10, other=1), TypeError, "other"), (lambda: f.remove("a"), bloomery.Unsupported, "kind='counting'"),
            (lambda: f.remove_many(["a"]), bloomery.Unsupported, "kind='counting'"), (lambda: f.add(uuid.uuid4()), TypeError, "key.bytes"),
            (lambda: f.add(ipaddress.ip_address("::1")), TypeError, "key.packed"), (lambda: f.add(pathlib.Path("x")), TypeError, "fspath"),
            (lambda: Filter.build(["a"], kind="static").add("b"), bloomery.Error, "Filter.build")):
        with raises(c, kind, part):
            call()
    Filter(10).save(c.path("f.bloom"))
    for call in (lambda f: f.add("a"), lambda f: f.add_many(["a"])):
        with raises(c, bloomery.ReadOnly, "copy=True"):
            call(Filter.open(c.path("f.bloom")))


class Tagged(Filter):
    """With an argument of its own."""

    def __init__(self, *args, tag=None, **options):
        super().__init__(*args, **options)
        self.tag = tag


@case
def a_subclass_has_arguments_of_its_own(c):
    f = Tagged(100, 0.001, tag="x", kind="counting")
    f.add("a")
    again = pickle.loads(pickle.dumps(f))
    c.expect((f.tag, f.keys, f.kind) == ("x", 100, "counting") and again.tag == "x" and "a" in again, f"{f}")
    with raises(c, TypeError, "tag"):
        Filter(100, tag="x")


main()
