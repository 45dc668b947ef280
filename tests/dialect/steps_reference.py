# SPDX-License-Identifier: Apache-2.0
"""RedisBloom, libbloom, DCSO and bits-and-blooms again, from their descriptions and not from the library.

Whole numbers of Python, reduced where the originals wrap. Slow, and short enough to be read beside
docs/dialects.md."""

import math
import struct
from fractions import Fraction

from java_reference import murmur3

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
LN2_SQUARED, LN2 = 0.480453013918201, 0.693147180559945


def murmur64a(data, seed):
    """MurmurHash64A."""
    m = 0xC6A4A7935BD1E995
    h = seed ^ (len(data) * m & M64)
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        k = int.from_bytes(data[at:at + 8], "little") * m & M64
        h = (h ^ ((k ^ k >> 47) * m & M64)) * m & M64
    if data[whole:]:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & M64
    h = (h ^ h >> 47) * m & M64
    return h ^ h >> 47


def murmur2(data, seed):
    """MurmurHash2 with 32 bits."""
    m = 0x5BD1E995
    h = seed ^ len(data) & M32
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at:at + 4], "little") * m & M32
        h = h * m & M32 ^ ((k ^ k >> 24) * m & M32)
    if data[whole:]:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & M32
    h = (h ^ h >> 13) * m & M32
    return h ^ h >> 15


def bits_per_key(rate):
    """RedisBloom's and libbloom's."""
    return -(math.log(rate) / LN2_SQUARED)


def bitmap(bits, positions, unit=8):
    """The bits at these positions, in whole units of `unit` bits."""
    data = bytearray((bits + unit - 1) // unit * unit // 8)
    for position in positions:
        data[position // 8] |= 1 << position % 8
    return bytes(data)


# ---- RedisBloom ----

class RedisLink:
    """A link of a chain."""

    def __init__(self, keys, rate):
        self.keys, self.rate, self.size, self.per_key = keys, rate, 0, bits_per_key(rate)
        self.bits = -(-(int(keys * self.per_key) or 1) // 64) * 64
        self.probes = math.ceil(LN2 * self.per_key)
        self.data = bytearray(self.bits // 8)

    def positions(self, key):
        """In order."""
        a = murmur64a(key, 0xC6A4A7935BD1E995)
        b = murmur64a(key, a)
        return [(a + i * b & M64) % self.bits for i in range(self.probes)]

    def has(self, key):
        """Whether all of them are set."""
        return all(self.data[at // 8] >> at % 8 & 1 for at in self.positions(key))


class RedisChain:
    """A filter as BF.RESERVE makes it."""

    def __init__(self, keys=100, rate=0.01, growth=2, nonscaling=False):
        self.growth, self.nonscaling = growth, nonscaling
        self.links = [RedisLink(keys, min(rate, 0.25) * (1 if nonscaling else 0.5))]

    def ask(self, key):
        """1 maybe."""
        return int(any(link.has(key) for link in self.links))

    def add(self, key):
        """1, 0, or F where it is full."""
        if self.ask(key):
            return "0"
        newest = self.links[-1]
        if newest.size >= newest.keys:
            if self.nonscaling:
                return "F"
            self.links.append(RedisLink(newest.keys * self.growth, newest.rate * 0.5))
            newest = self.links[-1]
        for at in newest.positions(key):
            newest.data[at // 8] |= 1 << at % 8
        newest.size += 1
        return "1"

    def header(self):
        """The first chunk."""
        head = struct.pack("<QIII", sum(link.size for link in self.links), len(self.links), 13 if self.nonscaling else 5, self.growth)
        return head + b"".join(struct.pack("<QQQddIQB", link.bits // 8, link.bits, link.size, link.rate, link.per_key, link.probes, link.keys, 0) for link in self.links)

    def chunks(self, most=1 << 24):
        """As BF.SCANDUMP hands them out."""
        found, iterator = [(1, self.header())], 1
        for link in self.links:
            for at in range(0, len(link.data), most):
                part = bytes(link.data[at:at + most])
                iterator += len(part)
                found.append((iterator, part))
        return found

    def whole(self):
        """All of them."""
        return b"".join(data for _, data in self.chunks())


# ---- libbloom ----

def libbloom_size(release, keys, rate):
    """Bits and probes."""
    per_key = bits_per_key(rate)
    probes = math.ceil(LN2 * per_key)
    if release == "1.6":
        return int(keys * per_key), probes
    exact = Fraction(per_key) * keys
    scale = Fraction(2) ** (64 - max(0, (exact.numerator // exact.denominator).bit_length()))
    if exact < 1:
        return 0, probes & 255
    return int(Fraction(round(exact * scale)) / scale), probes & 255


def libbloom_positions(release, key, bits, probes):
    """In order."""
    a = murmur2(key, 0x9747B28C)
    b = murmur2(key, a)
    return [(a + i * b & (M32 if release == "1.6" else M64)) % bits for i in range(probes)]


# ---- DCSO ----

def dcso_size(keys, rate):
    """Bits and probes."""
    bits = abs(math.ceil(keys * math.log(rate) / (math.log(2) * math.log(2))))
    return bits, math.ceil(math.log(2) * bits / keys)


def dcso_positions(key, bits, probes):
    """In order."""
    h = 0xCBF29CE484222325
    for byte in key:
        h = h * 0x100000001B3 & M64 ^ byte
    prime, factor, found = 18446744073709551557, 18446744073709550147, []
    h %= prime
    for _ in range(probes):
        h = (h * factor & M64) % prime
        found.append(h % bits)
    return found


# ---- bits-and-blooms ----

def bits_and_blooms_size(keys, rate):
    """Bits and probes."""
    bits = math.ceil(-1 * keys * math.log(rate) / (math.log(2) * math.log(2)))
    return max(1, bits), max(1, math.ceil(math.log(2) * bits / keys))


def bits_and_blooms_locations(key, probes):
    """Before they are reduced."""
    h = [*murmur3(key), *murmur3(key + b"\x01")]
    return [h[i % 2] + i * h[2 + (i + i % 2) % 4 // 2] & M64 for i in range(probes)]


def bits_and_blooms_positions(key, bits, probes):
    """In order."""
    return [location % bits for location in bits_and_blooms_locations(key, probes)]
