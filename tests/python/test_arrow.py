# SPDX-License-Identifier: Apache-2.0
"""Arrow's arrays and streams, by a producer of the tests' own (arrow.py): not run beside pyarrow, which Debian lacks."""

import struct
import sys

from arrow import Producer, StreamProducer, bools_of
from bloomery import Filter
from optional import raises
from runner import case, main

TEXTS = ["", "a", "b\xe4", "twelve bytes", "more than twelve", "\u20ac" * 30, "x"]


def values_of(form, count, nulls):
    """Values of a form, and the keys that they are."""
    if form in ("u", "U", "vu", "z", "Z", "vz"):
        values = [(TEXTS[i % 7] + (str(i) if i % 3 else "")).encode() for i in range(count)]
    elif form.startswith("w:"):
        values = [struct.pack(">Q", i).rjust(int(form[2:]), b"w") for i in range(count)]
    else:
        signed = form.islower()
        values = [(i * 7) % 100 - (50 if signed else 0) for i in range(count)]
    if nulls:
        values = [None if i % 5 == 2 else value for i, value in enumerate(values)]
    return values


@case
def every_form_has_the_keys_of_its_values(c):
    for form in ("u", "z", "U", "Z", "vu", "vz", "w:8", "w:20", "c", "C", "s", "S", "i", "I", "l", "L"):
        for count, first in ((0, 0), (1, 0), (64, 1), (300, 63), (300, 64), (1500, 1000), (2600, 5)):
            for nulls in (False, True):
                values = values_of(form, count, nulls)
                producer = Producer(form, values, min(first, count))
                keys = values[min(first, count):]
                name = f"{form}, {count} from {first}, nulls {nulls}"
                many, each = Filter(4000, 1e-6), Filter(4000, 1e-6)
                expected = [value is not None and each.add(value) for value in keys]
                answers = many.test_and_add_many(producer)
                c.expect(many == each, f"{name}: other keys")
                c.expect(answers.tolist() == expected, f"{name}: other answers")
                c.expect(producer.released == {"schema": 0, "array": 1}, f"{name}: {producer.released}")
                c.expect(many.count_many(producer) == sum(value is not None for value in keys), f"{name}: lost")
                c.expect(Filter.build(producer, 1e-6, count=4000, threads=2) == each, f"{name}: built")
                hashes = b"".join(bytes(16) if value is None else many.hash_many([value]) for value in keys[:100])
                c.expect(many.hash_many(producer)[:1600] == hashes, f"{name}: hashes")


@case
def nothing_but_nulls_has_no_key(c):
    f = Filter(100)
    c.expect(f.add_many(Producer("n", [None] * 700)) == 0 and not f, "null")
    c.expect(f.contains_many(Producer("n", [None] * 700)).sum() == 0, "answers")
    c.expect(f.add_many(Producer("l", [1, None, 3], null_count=-1)) == 2, "an unknown number of nulls")


@case
def streams_come_part_by_part(c):
    parts = [Producer("u", values_of("u", count, True), first) for count, first in ((0, 0), (700, 3), (1, 0), (300, 100))]
    stream = StreamProducer("u", parts)
    f = Filter(4000, 1e-6)
    f.add_many(stream)
    c.expect(stream.released == 1 and all(part.released["array"] == 1 for part in parts), "released")
    c.expect(len(f.contains_many(stream)) == 0 + 697 + 1 + 200, "answers")
    with raises(c, OSError, "the disk is gone"):
        f.add_many(StreamProducer("u", parts, "the disk is gone"))


@case
def what_has_no_keys_is_refused_and_released(c):
    f = Filter(100)
    for form in ("e", "f", "g", "b", "tdD", "tsu:", "+l", "+s", "d:10,2", "w:x", "w:", "", "uu", "vx", "+r"):
        producer = Producer("u", [b"a"], format_=form or " ")
        with raises(c, TypeError, "Arrow" if form != "+s" else "columns"):
            f.add_many(producer)
        c.expect(producer.released["array"] == 1, f"{form}: {producer.released}")
    with raises(c, TypeError, "dictionary"):
        f.add_many(Producer("i", [1], dictionary=True))

    class Lies:
        """Exports no capsules."""
        def __arrow_c_array__(self, requested_schema=None):
            return 5

    class Raises:
        """Raises its own exception."""
        def __arrow_c_stream__(self, requested_schema=None):
            raise LookupError("its own")
    with raises(c, TypeError):
        f.add_many(Lies())
    with raises(c, LookupError, "its own"):
        f.add_many(Raises())
    c.expect(not f, "something was added")


@case
def damaged_arrays_are_refused(c):
    offsets = lambda *ends: struct.pack(f"={len(ends)}i", *ends)  # noqa: E731
    for name, form, buffers, count in (
            ("falling", "u", [offsets(0, 5, 3, 6), b"abcdef"], 3),
            ("past the end", "u", [offsets(0, 100, 3), b"abcdef"], 2),
            ("negative", "u", [offsets(-5, 3, 3), b"abc"], 2),
            ("negative end", "u", [offsets(0, 3, -1), b"abc"], 2),
            ("view of no buffer", "vu", [struct.pack("=i4sii", 20, b"abcd", 7, 0), b"a" * 20, struct.pack("=q", 20)], 1),
            ("view past the end", "vu", [struct.pack("=i4sii", 20, b"abcd", 0, 5), b"a" * 20, struct.pack("=q", 20)], 1),
            ("negative view", "vu", [struct.pack("=i12s", -1, b""), b"", struct.pack("=q", 0)], 1),
            ("no buffers", "u", [], 2)):
        f = Filter(100)
        for call in (f.add_many, f.contains_many):
            producer = Producer(form, [b"a"] * count, buffers=buffers)
            with raises(c, ValueError):
                call(producer)
            c.expect(producer.released["array"] == 1, f"{name}: {producer.released}")
        c.expect(f.adds == 0, f"{name}: something was added")
    used = Producer("u", [b"a"]).__arrow_c_array__()

    class Again:
        """Hands out the same capsules each time."""
        def __arrow_c_array__(self, requested_schema=None):
            return used
    Filter(10).add_many(Again())
    with raises(c, ValueError, "released"):
        Filter(10).add_many(Again())


@case
def answers_are_arrows_booleans_without_a_copy(c):
    f = Filter(5000, 1e-6)
    f.add_many(range(0, 3000, 3))
    for count in (0, 1, 63, 64, 65, 2999):
        answers = f.contains_many(range(count))
        before = sys.getrefcount(answers)
        found, released = bools_of(answers)
        c.expect(found == answers.tolist() and released, f"{count} answers")
        c.expect(sys.getrefcount(answers) == before, f"{count}: a reference is kept")


main()
