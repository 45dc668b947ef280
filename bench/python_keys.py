#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package beside a set, a filter in plain Python, and the library's own call: nanoseconds a key.

    PYTHONPATH=BUILD/python bench/python_keys.py BUILD [--keys 200000] [--rounds 7]

All rows in one process, on the same keys, the best of the rounds; the loop is in every row. Texts are made anew
for each round of the rows "not hashed before", as keys that come from a file are: Python keeps the hash of a text
that was hashed once. The filter in plain Python is written as tutorials write it: SHA-256 of the key, seven
positions by double hashing, a bytearray.
"""

import argparse
import ctypes
import hashlib
import math
import os
import time

import numpy

from bloomery import Filter
from report import as_markdown, number

RATE = 0.01


class PlainFilter:
    """As many tutorials have it."""

    def __init__(self, keys, rate):
        self.bits = math.ceil(-keys * math.log(rate) / math.log(2) ** 2)
        self.probes = max(1, round(self.bits / keys * math.log(2)))
        self.bytes = bytearray((self.bits + 7) // 8)

    def positions(self, key):
        """The bits of a key."""
        digest = hashlib.sha256(key.encode()).digest()
        one, two = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little") | 1
        return [(one + i * two) % self.bits for i in range(self.probes)]

    def add(self, key):
        """Sets them."""
        for place in self.positions(key):
            self.bytes[place >> 3] |= 1 << (place & 7)

    def __contains__(self, key):
        return all(self.bytes[place >> 3] >> (place & 7) & 1 for place in self.positions(key))


class Keys(ctypes.Structure):
    """bloomery_keys"""
    _fields_ = [("struct_bytes", ctypes.c_size_t), ("form", ctypes.c_int), ("threads", ctypes.c_uint32),
                ("count", ctypes.c_size_t), ("first", ctypes.c_size_t), ("data", ctypes.c_void_p),
                ("bytes", ctypes.c_size_t), ("width", ctypes.c_size_t), ("stride", ctypes.c_size_t),
                ("offsets", ctypes.c_void_p), ("valid", ctypes.c_void_p), ("nulls", ctypes.c_int64)]


FIXED = 2


def library_call(build, path, array):
    """A function that queries the array by the library itself."""
    library = ctypes.CDLL(os.path.join(build, "src", "libbloomery.so"))
    handle = ctypes.c_void_p()
    error = ctypes.create_string_buffer(256)
    if library.bloomery_map(os.fsencode(path), None, ctypes.byref(handle), error) != 0:
        raise OSError(error.raw[16:].split(b"\0")[0].decode())
    answers = (ctypes.c_uint64 * (len(array) // 64 + 1))()
    keys = Keys(form=FIXED, count=len(array), data=array.ctypes.data, width=8)
    return lambda: library.bloomery_may_contain_keys(handle, ctypes.byref(keys), answers, None, error)


def ask_each(container, keys):
    """`in`, key by key."""
    for key in keys:
        key in container  # pylint: disable=pointless-statement


def best(rounds, count, prepare, run):
    """Nanoseconds a key, of the best round."""
    times = []
    for _ in range(rounds):
        keys = prepare()
        start = time.perf_counter()
        run(keys)
        times.append(time.perf_counter() - start)
    return min(times) / count * 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    count, rounds = options.keys, options.rounds
    texts = [f"https://ex.org/{i:08d}" for i in range(count)]
    encoded = [text.encode() for text in texts]
    numbers = numpy.arange(5 * count)

    ours, built_in, plain = Filter.build(texts, RATE), set(texts), PlainFilter(count, RATE)
    for text in texts:
        plain.add(text)
    of_numbers = Filter.build(numbers, RATE)
    path = os.path.join(options.build, "bench-python.bloom")
    of_numbers.save(path)
    mapped = Filter.open(path)
    call = library_call(options.build, path, numbers)

    def anew():
        return [each.decode() for each in encoded]

    def kept():
        return texts
    rows = [("key in Filter, not hashed before", best(rounds, count, anew, lambda keys: ask_each(ours, keys))),
            ("key in set, not hashed before", best(rounds, count, anew, lambda keys: ask_each(built_in, keys))),
            ("key in Filter", best(rounds, count, kept, lambda keys: ask_each(ours, keys))),
            ("key in set, hashed before", best(rounds, count, kept, lambda keys: ask_each(built_in, keys))),
            ("key in a filter in plain Python", best(2, count, kept, lambda keys: ask_each(plain, keys))),
            ("count_many, list of str", best(rounds, count, kept, ours.count_many)),
            ("contains_many, array of int64", best(rounds, len(numbers), lambda: numbers, mapped.contains_many)),
            ("the library's own call", best(rounds, len(numbers), lambda: None, lambda _: call())),
            ("add_many, array of int64", best(rounds, len(numbers), lambda: Filter(len(numbers), RATE),
                                              lambda f: f.add_many(numbers)))]
    print(as_markdown(["row", "ns a key"], [[name, number(value, 1)] for name, value in rows]))
    print(f"\nFilter: {ours.nbytes} bytes for {count} texts.")


if __name__ == "__main__":
    main()
