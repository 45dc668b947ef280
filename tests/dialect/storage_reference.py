# SPDX-License-Identifier: Apache-2.0
"""The hashes and filters of LevelDB, RocksDB and Parquet once more, short and slow, written from their description
alone: the other side of what the tests compare."""

import math
import struct

M32 = (1 << 32) - 1
M64 = (1 << 64) - 1


def u64(data, at=0):
    """A little-endian word."""
    return struct.unpack_from("<Q", data, at)[0]


def u32(data, at=0):
    """A little-endian word."""
    return struct.unpack_from("<I", data, at)[0]


def rotr32(value, bits):
    """To the right."""
    return (value >> bits | value << (32 - bits)) & M32


def rotl64(value, bits):
    """To the left."""
    value &= M64
    return (value << bits | value >> (64 - bits)) & M64


def leveldb_hash(key, signed=False):
    """32 bits; RocksDB's takes the last bytes for signed numbers."""
    m = 0xc6a4a793
    h = 0xbc9f1d34 ^ (len(key) * m & M32)
    whole = len(key) // 4 * 4
    for at in range(0, whole, 4):
        h = (h + u32(key, at)) * m & M32
        h ^= h >> 16
    rest = key[whole:]
    if rest:
        for i, byte in enumerate(rest):
            h += (byte - 256 if signed and byte >= 128 else byte) << 8 * i
        h = h * m & M32
        h ^= h >> 24
    return h


# ---- XXH64 -------------------------------------------------------------------------------------

PRIMES = [0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5]


def xxh64(data, seed=0):
    """XXH64 by its specification."""
    p1, p2, p3, p4, p5 = PRIMES

    def rounded(lane, word):
        return rotl64(lane + word * p2, 31) * p1 & M64

    at = 0
    if len(data) >= 32:
        lanes = [seed + p1 + p2 & M64, seed + p2 & M64, seed, seed - p1 & M64]
        while at + 32 <= len(data):
            lanes = [rounded(lane, u64(data, at + 8 * i)) for i, lane in enumerate(lanes)]
            at += 32
        h = sum(rotl64(lane, turn) for lane, turn in zip(lanes, (1, 7, 12, 18))) & M64
        for lane in lanes:
            h = ((h ^ rounded(0, lane)) * p1 + p4) & M64
    else:
        h = seed + p5 & M64
    h = h + len(data) & M64
    while at + 8 <= len(data):
        h = (rotl64(h ^ rounded(0, u64(data, at)), 27) * p1 + p4) & M64
        at += 8
    if at + 4 <= len(data):
        h = (rotl64(h ^ u32(data, at) * p1, 23) * p2 + p3) & M64
        at += 4
    for byte in data[at:]:
        h = rotl64(h ^ byte * p5, 11) * p1 & M64
    h = (h ^ h >> 33) * p2 & M64
    h = (h ^ h >> 29) * p3 & M64
    return h ^ h >> 32


# ---- XXPH3 -------------------------------------------------------------------------------------

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def fold(a, b):
    """Both halves of a product."""
    product = a * b
    return (product ^ product >> 64) & M64


def avalanche(h):
    """The end of XXPH3."""
    h = (h ^ h >> 37) * PRIMES[2] & M64
    return h ^ h >> 32


def xxph3(data):
    """The preview of XXH3, with RocksDB's value for the empty key."""
    n = len(data)
    p32 = [0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D]

    def mixed(at, secret):
        return fold(u64(data, at) ^ u64(SECRET, secret), u64(data, at + 8) ^ u64(SECRET, secret + 8))

    if n == 0:
        return fold(u64(SECRET), PRIMES[1])
    if n < 4:
        word = data[0] + (data[n >> 1] << 8) + (data[-1] << 16) + (n << 24)
        return avalanche((word ^ u32(SECRET)) * PRIMES[0] & M64)
    if n <= 8:
        word = u32(data) + (u32(data, n - 4) << 32) ^ u64(SECRET)
        word = n + (word ^ word >> 51) * p32[0] & M64
        return avalanche((word ^ word >> 47) * PRIMES[1] & M64)
    if n <= 16:
        low, high = u64(data) ^ u64(SECRET), u64(data, n - 8) ^ u64(SECRET, 8)
        return avalanche(n + low + high + fold(low, high) & M64)
    total = n * PRIMES[0]
    if n <= 128:
        for i in range((n - 1) // 32 + 1):
            total += mixed(16 * i, 32 * i) + mixed(n - 16 * (i + 1), 32 * i + 16)
        return avalanche(total & M64)
    if n <= 240:
        total = avalanche(total + sum(mixed(16 * i, 16 * i) for i in range(8)) & M64)
        total += sum(mixed(16 * i, 16 * (i - 8) + 3) for i in range(8, n // 16))
        return avalanche(total + mixed(n - 16, 119) & M64)
    sums = [p32[2], PRIMES[0], PRIMES[1], PRIMES[2], PRIMES[3], p32[1], PRIMES[4], p32[0]]

    def stripe(at, secret):
        for i in range(8):
            word = u64(data, at + 8 * i)
            key = word ^ u64(SECRET, secret + 8 * i)
            sums[i] = sums[i] + word + (key & M32) * (key >> 32) & M64

    for block in range(0, n // 1024 * 1024, 1024):
        for i in range(16):
            stripe(block + 64 * i, 8 * i)
        for i in range(8):
            sums[i] = (sums[i] ^ sums[i] >> 47 ^ u64(SECRET, 128 + 8 * i)) * p32[0] & M64
    last = n // 1024 * 1024
    for i in range((n - last) // 64):
        stripe(last + 64 * i, 8 * i)
    if n % 64:
        stripe(n - 64, 121)
    total += sum(fold(sums[2 * i] ^ u64(SECRET, 11 + 16 * i), sums[2 * i + 1] ^ u64(SECRET, 19 + 16 * i))
                 for i in range(4))
    return avalanche(total & M64)


# ---- Filters -----------------------------------------------------------------------------------

def bitmap(size, positions):
    """Bytes in which these bits are set."""
    out = bytearray(size)
    for position in positions:
        out[position >> 3] |= 1 << (position & 7)
    return bytes(out)


def leveldb_positions(key, bits, probes):
    """In order."""
    h = leveldb_hash(key)
    return [(h + i * rotr32(h, 17) & M32) % bits for i in range(probes)]


def leveldb_filter(keys, bits_per_key):
    """Bits and k."""
    probes = max(1, min(30, int(bits_per_key * 0.69)))
    size = (max(64, len(keys) * bits_per_key) + 7) // 8
    return bitmap(size, [p for key in keys for p in leveldb_positions(key, size * 8, probes)]) + bytes([probes])


def legacy_positions(key, lines, probes, line_bits=512):
    """RocksDB's before format 5."""
    h = leveldb_hash(key, signed=True)
    return [h % lines * line_bits + (h + i * rotr32(h, 17)) % line_bits for i in range(probes)]


def millibits_of(bits_per_key):
    """Thousandths, as RocksDB counts them."""
    return int(max(1.0, min(100.0, bits_per_key)) * 1000.0 + 0.500001)


def legacy_filter(keys, bits_per_key):
    """Lines and a trailer."""
    whole = (millibits_of(bits_per_key) + 500) // 1000
    probes = max(1, min(30, int(whole * 0.69)))
    lines = (len(keys) * whole + 511) // 512
    lines += lines > 0 and lines % 2 == 0
    set_bits = [p for key in keys for p in legacy_positions(key, lines, probes)]
    return bitmap(lines * 64, set_bits) + bytes([probes]) + struct.pack("<I", lines)


def fast_positions(key, lines, probes):
    """RocksDB's since format 5."""
    h = xxph3(key)
    x = h >> 32
    base = ((h & M32) * lines >> 32) * 512
    found = []
    for _ in range(probes):
        found.append(base + (x >> 23))
        x = x * 0x9e3779b9 & M32
    return found


def fast_probes(millibits):
    """By its table."""
    for i, most in enumerate([2080, 3580, 5100, 6640, 8300, 10070, 11720, 14001, 16050, 18300, 22001, 25501]):
        if millibits <= most:
            return i + 1
    return 24 if millibits > 50000 else (millibits - 1) // 2000 - 1


def fast_filter(keys, bits_per_key):
    """Lines and a trailer."""
    millibits = millibits_of(bits_per_key)
    probes = fast_probes(millibits)
    lines = (math.ceil(len(keys) * millibits / 8000) + 63) // 64
    set_bits = [p for key in keys for p in fast_positions(key, lines, probes)]
    return bitmap(lines * 64, set_bits) + bytes([0xff, 0, probes, 0, 0])


SALTS = [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31]


def parquet_positions(key, blocks):
    """In the order of the words."""
    x = xxh64(key)
    base = ((x >> 32) * blocks >> 32) * 256
    return [base + 32 * i + (((x & M32) * salt & M32) >> 27) for i, salt in enumerate(SALTS)]


def parquet_filter(keys, blocks):
    """The blocks alone."""
    return bitmap(blocks * 32, [p for key in keys for p in parquet_positions(key, blocks)])


def parquet_header(size):
    """Thrift's compact form."""
    number, out = size * 2, b"\x15"
    while number >= 128:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number]) + bytes.fromhex("1c1c00001c1c00001c1c000000")


def keys_of_all_lengths(rng, most=100):
    """One of each length, and some with bytes past 0x7f only."""
    keys = [rng.randbytes(length) for length in range(most + 1)]
    keys += [bytes(rng.randrange(128, 256) for _ in range(length)) for length in range(1, 24)]
    return keys + [rng.randbytes(length) for length in (127, 128, 129, 240, 241, 255, 256, 257, 511, 1023, 1024, 1025,
                                                       2048, 5000)]
