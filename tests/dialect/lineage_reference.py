# SPDX-License-Identifier: Apache-2.0
"""The filters that Bloomery descends from, and pybloom, once more: positions from their description alone, short and
slow, as the other side of what the tests compare."""

import hashlib
import math
import os
import random
import re
import sys

from java_reference import murmur3

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
from hashes import xxh3_128  # pylint: disable=wrong-import-position,wrong-import-order,import-error

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def image(bits, positions, msb_first=False):
    """The bytes of an array of bits."""
    data = bytearray((bits + 7) // 8)
    for position in positions:
        data[position >> 3] |= 0x80 >> (position & 7) if msb_first else 1 << (position & 7)
    return bytes(data)


def sieve(key, bits, probes):
    """h1 + i h2 in 64 bits, modulo the bits."""
    h1, h2 = murmur3(key)
    return [(h1 + i * h2 & M64) % bits for i in range(probes)]


def sieve_size(keys, rate):
    """Bits and probes."""
    ln2 = math.log(2)
    return math.trunc(-keys * math.log(rate) / (ln2 * ln2)), math.ceil(-math.log(rate) / ln2)


def sha384(key):
    """28 bits of each of the twelve words."""
    digest = hashlib.sha384(key).digest()
    return [int.from_bytes(digest[i:i + 4], "big") & 0x0FFFFFFF for i in range(0, 48, 4)]


def units(key):
    """The UTF-16 units of a text in UTF-8, of which a surrogate alone is three bytes. Of bytes that are none, what Python
    has is what Unicode recommends, except for two bytes of a surrogate without the third: one piece, as in Java."""
    wide = b""
    for at, piece in enumerate(re.split(b"(\xed[\xa0-\xbf][\x80-\xbf]?)", key)):
        if at % 2 == 0:
            text = piece.decode("utf-8", "replace")
        else:
            text = piece.decode("utf-8", "surrogatepass") if len(piece) == 3 else "\ufffd"
        wide += text.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(wide[i:i + 2], "big") for i in range(0, len(wide), 2)]


SEEDS = [5, 7, 11, 13, 31, 37, 61]


def simple(key, bits=1 << 25, seeds=tuple(SEEDS)):
    """The polynomials' low bits."""
    positions = []
    for seed in seeds:
        value = 0
        for unit in units(key):
            value = seed * value + unit & M32
        positions.append(value & bits - 1)
    return positions


def md5_chain(form, key, bits, probes):
    """Remainders of digests, as whole numbers of any size."""
    algorithm, order = {"b": ("sha512", "big"), "f": ("sha1", "little"), "g": ("sha1", "little")}.get(form, ("md5", "big"))
    message = hashlib.new(algorithm, key)

    def number():
        return int.from_bytes(message.digest(), order)

    divisor = 1 << bits.bit_length() if form in "fg" else bits
    least = {"b": 0, "e": 1024 * bits}.get(form, divisor)
    value = 0 if form in "ag" else number()
    positions = []
    while len(positions) < probes:
        if value < least:
            message.update({"a": b".", "c": b".", "d": b"x", "e": b"x", "f": b"X", "g": b"X"}[form])
            value = number()
        value, position = divmod(value, divisor)
        if position < bits:
            positions.append(position)
    return positions


def md5_chain_size(keys, rate):
    """Bits and probes."""
    return math.ceil(-keys * math.log2(rate) / math.log(2)), math.ceil(-math.log2(rate))


def pybloom(version, key, bits, probes):
    """A number for each slice, off salted digests."""
    size = bits // probes
    width = 2 if size < 1 << 15 else 4 if size < 1 << 31 else 8
    need = 8 * probes * width
    name = "sha512" if need > 384 else "sha384" if need > 256 else "sha256" if need > 160 else "sha1" if need > 128 else "md5"

    def digest(data):
        if name == "md5" and version == 4:
            low, high = xxh3_128(data)
            return high.to_bytes(8, "big") + low.to_bytes(8, "big")
        return hashlib.new(name, data).digest()

    numbers, salt = [], 0
    while len(numbers) < probes:
        data = digest(digest(salt.to_bytes(4, "little")) + key)
        numbers += [int.from_bytes(data[i:i + width], "little") for i in range(0, len(data) // width * width, width)]
        salt += 1
    return [i * size + numbers[i] % size for i in range(probes)]


def pybloom_size(keys, rate):
    """Slices, and the bits of one."""
    slices = math.ceil(math.log(1 / rate, 2))
    return slices, math.ceil(keys * abs(math.log(rate)) / (slices * math.log(2) ** 2))


def some_keys(rng, most=100):
    """Keys of every length, of all bytes."""
    return [rng.randbytes(length) for length in range(most + 1)] + [b"\x80" * 9, b"\xff" * 17, b"\0" * 33, rng.randbytes(4000)]


def seeded(number):
    """Draws that are the same every time."""
    return random.Random(number)
