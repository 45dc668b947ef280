# SPDX-License-Identifier: Apache-2.0
"""Guava, Spark, ORC and Cassandra again, from their descriptions and not from the library: hashes, positions, sizes.

Whole numbers of Python, reduced where the originals wrap. Slow, and short enough to be read beside
docs/dialects.md."""

import math

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def signed(value, bits):
    """The low bits as a number in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def rotl(value, count, bits=64):
    """A rotation to the left."""
    value &= (1 << bits) - 1
    return (value << count | value >> (bits - count)) & ((1 << bits) - 1)


def fmix64(x):
    """Murmur3's finaliser."""
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & M64
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & M64
    return x ^ x >> 33


C1, C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def word(data, sign_extended=False):
    """Up to 8 bytes as a little-endian number."""
    value = 0
    for i, byte in enumerate(data):
        value ^= (signed(byte, 8) if sign_extended else byte) << 8 * i & M64
    return value & M64


def murmur3(data, seed=0, sign_extended=False):
    """MurmurHash3 x64 128 (h1, h2); Cassandra's where the last bytes are signed."""
    h1 = h2 = seed & M64
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        h1 ^= rotl(word(data[at:at + 8]) * C1, 31) * C2 & M64
        h1 = ((rotl(h1, 27) + h2) * 5 + 0x52DCE729) & M64
        h2 ^= rotl(word(data[at + 8:at + 16]) * C2, 33) * C1 & M64
        h2 = ((rotl(h2, 31) + h1) * 5 + 0x38495AB5) & M64
    tail = data[whole:]
    if len(tail) > 8:
        h2 ^= rotl(word(tail[8:], sign_extended) * C2, 33) * C1 & M64
    if tail:
        h1 ^= rotl(word(tail[:8], sign_extended) * C1, 31) * C2 & M64
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = (h1 + h2) & M64
    h2 = (h2 + h1) & M64
    h1, h2 = fmix64(h1), fmix64(h2)
    h1 = (h1 + h2) & M64
    return h1, (h2 + h1) & M64


def spark_hash(data, seed):
    """Spark's murmur3 x86 32: each byte of the tail is a whole step, signed."""
    h = seed & M32
    whole = len(data) // 4 * 4
    words = [int.from_bytes(data[at:at + 4], "little") for at in range(0, whole, 4)]
    for value in words + [signed(byte, 8) for byte in data[whole:]]:
        h ^= rotl(value * 0xCC9E2D51, 15, 32) * 0x1B873593 & M32
        h = (rotl(h, 13, 32) * 5 + 0xE6546B64) & M32
    h ^= len(data) & M32
    h = (h ^ h >> 16) * 0x85EBCA6B & M32
    h = (h ^ h >> 13) * 0xC2B2AE35 & M32
    return signed(h ^ h >> 16, 32)


def orc_bytes(data):
    """ORC's hash of bytes."""
    h = 104729
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        h ^= rotl(word(data[at:at + 8]) * C1, 31) * C2 & M64
        h = (rotl(h, 27) * 5 + 0x52DCE729) & M64
    if data[whole:]:
        h ^= rotl(word(data[whole:]) * C1, 31) * C2 & M64
    return fmix64(h ^ len(data))


def orc_long(number):
    """ORC's hash of a whole number."""
    k = signed(number, 64)
    k = signed(~k + (k << 21), 64)
    k ^= k >> 24
    k = signed(k + (k << 3) + (k << 8), 64)
    k ^= k >> 14
    k = signed(k + (k << 2) + (k << 4), 64)
    k ^= k >> 28
    return signed(k + (k << 31), 64) & M64


ORC_NULL = 2862933555777941757


def flipped(value):
    """A negative number turned over."""
    return ~value if value < 0 else value


def flipped_32(h, probes, bits):
    """Guava's MITZ_32, Spark's V1 and ORC."""
    a, b = signed(h, 32), signed(h >> 32, 32)
    return [flipped(signed(a + i * b, 32)) % bits for i in range(1, probes + 1)]


def masked_64(h1, h2, probes, bits):
    """Guava's MITZ_64."""
    return [((h1 + i * h2) & (1 << 63) - 1) % bits for i in range(probes)]


def spark_positions(variant, data, seed, probes, bits):
    """All three of Spark's."""
    h1 = spark_hash(data, seed)
    h2 = spark_hash(data, h1)
    if variant == "v1":
        return flipped_32((h2 & M32) << 32 | h1 & M32, probes, bits)
    found, c = [], h1 * 0x7FFFFFFF
    for _ in range(probes):
        c = signed(c + h2, 64)
        if variant == "v2-early":
            c = flipped(c)
        found.append(flipped(c) % bits)
    return found


def cassandra_positions(variant, data, probes, bits):
    """Both of Cassandra's."""
    h1, h2 = murmur3(data, 0, True)
    base, step = (h1, h2) if variant == "old" else (h2, h1)
    return [abs(signed(base + i * step, 64)) % bits for i in range(probes)]


def java_size(keys, rate):
    """Guava's, Spark's and ORC's n and p to bits (not rounded up) and probes."""
    bits = int(-keys * math.log(rate) / (math.log(2) * math.log(2)))
    return bits, java_probes(bits, keys)


def java_probes(bits, keys):
    """Probes from bits."""
    return max(1, math.floor(bits / keys * math.log(2) + 0.5))


def orc_size(keys, rate):
    """ORC's bits and probes."""
    bits, _ = java_size(max(1, keys), rate)
    bits += 64 - bits % 64
    return bits, java_probes(bits, max(1, keys))


def words_of(bits):
    """Whole words."""
    return (bits + 63) // 64


def bits_of(data, big_endian_words):
    """The set bits of a written array."""
    if big_endian_words:
        data = b"".join(data[at:at + 8][::-1] for at in range(0, len(data), 8))
    return [8 * at + i for at, byte in enumerate(data) if byte for i in range(8) if byte >> i & 1]


def random_keys(rng, count):
    """Keys of all lengths from 0 to 100, some longer, any bytes."""
    keys = [rng.randbytes(length) for length in range(101)]
    keys += [bytes(range(128, 256)), b"\x80", b"\xff" * 15, b"\0" * 31, rng.randbytes(1000), rng.randbytes(4099)]
    keys += [rng.randbytes(rng.randint(0, 40)) for _ in range(count)]
    return keys


def random_bits(rng):
    """Sizes in words: tiny, any, and with many factors."""
    return 64 * rng.choice([1, 2, 3, rng.randint(1, 40), rng.randint(1, 4000), 1 << rng.randint(0, 16)])
