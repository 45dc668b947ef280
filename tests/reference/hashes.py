#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The two public hashes of the file format in plain Python: XXH3 (64 and 128 bits, with a seed) and
SipHash-2-4 with 128 bits of output.

Slow, and written from the published descriptions of the algorithms, not from any library, so that
format_reader.py shares nothing with what it judges. A 128-bit result is a pair (lo, hi).

    python3 tests/reference/hashes.py       compares with xxhsum (Debian: xxhash) and known answers
"""

import re
import shutil
import struct
import subprocess
import sys
import tempfile

M32 = (1 << 32) - 1
M64 = (1 << 64) - 1

# ---- XXH3 ----------------------------------------------------------------------------------------
#
# Four ranges of lengths have an algorithm each: up to 16 bytes (with three sub-ranges and the empty
# input), up to 128, up to 240, and beyond. All read little-endian words of the input and of a secret of
# 192 bytes. For the first three the seed is added where the secret is read; for the last it goes into
# the secret beforehand.

P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MIX_1, MIX_2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
assert len(SECRET) == 192


def u32(data, at):
    return int.from_bytes(data[at:at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def swapped(value, size):
    return int.from_bytes(value.to_bytes(size, "little"), "big")


def rotated(value, count, width=64):
    return ((value << count) | (value >> (width - count))) & ((1 << width) - 1)


def folded(a, b):
    """The two halves of a 128-bit product, combined by exclusive or."""
    product = a * b
    return (product & M64) ^ (product >> 64)


def shaken(x):
    """The final mix of XXH3."""
    x ^= x >> 37
    x = x * MIX_1 & M64
    return x ^ x >> 32


def shaken_as_xxh64(x):
    """The final mix of the older XXH64, which XXH3 uses for the shortest inputs."""
    x &= M64
    x ^= x >> 33
    x = x * P64_2 & M64
    x ^= x >> 29
    x = x * P64_3 & M64
    return x ^ x >> 32


def secret_pair(at):
    return u64(SECRET, at) ^ u64(SECRET, at + 8)


def tiny_word(data):
    """1 to 3 bytes and their number as 32 bits."""
    return data[-1] | len(data) << 8 | data[0] << 16 | data[len(data) // 2] << 24


def short_64(data, seed):
    size = len(data)
    if size == 0:
        return shaken_as_xxh64(seed ^ secret_pair(56))
    if size <= 3:
        return shaken_as_xxh64((u32(SECRET, 0) ^ u32(SECRET, 4)) + seed & M64 ^ tiny_word(data))
    if size <= 8:
        seed ^= swapped(seed & M32, 4) << 32
        x = (secret_pair(8) - seed & M64) ^ (u32(data, size - 4) | u32(data, 0) << 32)
        x ^= rotated(x, 49) ^ rotated(x, 24)
        x = x * MIX_2 & M64
        x ^= (x >> 35) + size
        x = x * MIX_2 & M64
        return x ^ x >> 28
    low = (secret_pair(24) + seed & M64) ^ u64(data, 0)
    high = (secret_pair(40) - seed & M64) ^ u64(data, size - 8)
    return shaken(size + swapped(low, 8) + high + folded(low, high) & M64)


def middle_128(data, seed):
    """4 to 8 bytes."""
    size = len(data)
    seed ^= swapped(seed & M32, 4) << 32
    x = (secret_pair(16) + seed & M64) ^ (u32(data, 0) | u32(data, size - 4) << 32)
    product = x * (P64_1 + 4 * size & M64)
    low, high = product & M64, product >> 64
    high = high + 2 * low & M64
    low ^= high >> 3
    low ^= low >> 35
    low = low * MIX_2 & M64
    return low ^ low >> 28, shaken(high)


def long_short_128(data, seed):
    """9 to 16 bytes."""
    size = len(data)
    first, last = u64(data, 0), u64(data, size - 8)
    a = (secret_pair(32) - seed & M64) ^ first ^ last
    b = (secret_pair(48) + seed & M64) ^ last
    product = a * P64_1
    low = product + (size - 1 << 54) & M64
    high = (product >> 64) + (b & ~M32) + (b & M32) * P32_2 & M64
    low ^= swapped(high, 8)
    whole = (low | high << 64) * P64_2
    return shaken(whole & M64), shaken(whole >> 64 & M64)


def short_128(data, seed):
    size = len(data)
    if size == 0:
        return shaken_as_xxh64(seed ^ secret_pair(64)), shaken_as_xxh64(seed ^ secret_pair(80))
    if size <= 3:
        word = tiny_word(data)
        other = rotated(swapped(word, 4), 13, 32)
        return (shaken_as_xxh64((u32(SECRET, 0) ^ u32(SECRET, 4)) + seed & M64 ^ word),
                shaken_as_xxh64((u32(SECRET, 8) ^ u32(SECRET, 12)) - seed & M64 ^ other))
    return middle_128(data, seed) if size <= 8 else long_short_128(data, seed)


def mixed(data, at, secret_at, seed):
    """16 bytes of input under 16 bytes of secret."""
    return folded(u64(data, at) ^ (u64(SECRET, secret_at) + seed & M64),
                  u64(data, at + 8) ^ (u64(SECRET, secret_at + 8) - seed & M64))


def pieces_64(size):
    """Where 17 to 240 bytes are read, as (input offset, secret offset); None: mix what there is."""
    if size <= 128:
        for i in range((size - 1) // 32 + 1):
            yield 16 * i, 32 * i
            yield size - 16 - 16 * i, 32 * i + 16
        return
    for i in range(8):
        yield 16 * i, 16 * i
    yield None
    for i in range(8, size // 16):
        yield 16 * i, 16 * (i - 8) + 3
    yield size - 16, 119


def medium_64(data, seed):
    total = len(data) * P64_1 & M64
    for piece in pieces_64(len(data)):
        total = shaken(total) if piece is None else total + mixed(data, *piece, seed) & M64
    return shaken(total)


def pieces_128(size, seed):
    """The same for 128 bits: (offset, offset, secret offset, seed) of two pieces of 16 bytes."""
    if size <= 128:
        for i in reversed(range((size - 1) // 32 + 1)):
            yield 16 * i, size - 16 - 16 * i, 32 * i, seed
        return
    for i in range(4):
        yield 32 * i, 32 * i + 16, 32 * i, seed
    yield None
    for i in range(4, size // 32):
        yield 32 * i, 32 * i + 16, 32 * (i - 4) + 3, seed
    yield size - 16, size - 32, 103, -seed & M64


def medium_128(data, seed):
    a, b = len(data) * P64_1 & M64, 0
    for piece in pieces_128(len(data), seed):
        if piece is None:
            a, b = shaken(a), shaken(b)
            continue
        one, other, secret_at, its_seed = piece
        a = a + mixed(data, one, secret_at, its_seed) & M64
        b = b + mixed(data, other, secret_at + 16, its_seed) & M64
        a ^= u64(data, other) + u64(data, other + 8) & M64
        b ^= u64(data, one) + u64(data, one + 8) & M64
    high = a * P64_1 + b * P64_4 + (len(data) - seed) * P64_2
    return shaken(a + b & M64), -shaken(high & M64) & M64


def seeded_secret(seed):
    words = struct.unpack("<24Q", SECRET)
    signs = (1, -1)
    return struct.pack("<24Q", *(w + signs[i & 1] * seed & M64 for i, w in enumerate(words)))


def accumulate(sums, stripe, secret):
    """64 bytes of input into the eight sums, which are reduced modulo 2^64 later."""
    for i in range(8):
        word = stripe[i]
        key = word ^ secret[i]
        sums[i ^ 1] += word
        sums[i] += (key & M32) * (key >> 32)


def long_sums(data, secret):
    """The state after more than 240 bytes: blocks of 16 stripes, the secret moving 8 bytes a stripe."""
    sums = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    windows = [struct.unpack_from("<8Q", secret, 8 * i) for i in range(17)]
    stripes = (len(data) - 1) // 64
    for n in range(stripes):
        accumulate(sums, struct.unpack_from("<8Q", data, 64 * n), windows[n % 16])
        if n % 16 == 15:
            for i in range(8):
                x = sums[i] & M64
                sums[i] = (x ^ x >> 47 ^ windows[16][i]) * P32_1 & M64
    accumulate(sums, struct.unpack_from("<8Q", data, len(data) - 64),
               struct.unpack_from("<8Q", secret, 192 - 71))
    return [x & M64 for x in sums]


def merged(sums, secret, at, start):
    for i in range(0, 8, 2):
        start += folded(sums[i] ^ u64(secret, at + 8 * i), sums[i + 1] ^ u64(secret, at + 8 * i + 8))
    return shaken(start & M64)


def long_128(data, seed):
    secret = seeded_secret(seed)
    sums = long_sums(data, secret)
    return (merged(sums, secret, 11, len(data) * P64_1),
            merged(sums, secret, 192 - 75, ~(len(data) * P64_2)))


def xxh3_64(data, seed=0):
    """XXH3 with 64 bits of output."""
    if len(data) <= 16:
        return short_64(data, seed)
    return medium_64(data, seed) if len(data) <= 240 else long_128(data, seed)[0]


def xxh3_128(data, seed=0):
    """XXH3 with 128 bits of output, (lo, hi)."""
    if len(data) <= 16:
        return short_128(data, seed)
    return medium_128(data, seed) if len(data) <= 240 else long_128(data, seed)


# ---- SipHash -------------------------------------------------------------------------------------

def sip_rounds(v, count):
    a, b, c, d = v
    for _ in range(count):
        a = a + b & M64
        b = rotated(b, 13) ^ a
        a = rotated(a, 32)
        c = c + d & M64
        d = rotated(d, 16) ^ c
        a = a + d & M64
        d = rotated(d, 21) ^ a
        c = c + b & M64
        b = rotated(b, 17) ^ c
        c = rotated(c, 32)
    return [a, b, c, d]


def siphash_128(data, key):
    """SipHash-2-4 with 128 bits of output under a key of 16 bytes, (lo, hi)."""
    k0, k1 = u64(key, 0), u64(key, 8)
    # "somepseudorandomlygeneratedbytes"; the second word is marked for the longer output.
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE,
         k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for at in range(0, len(padded), 8):
        word = u64(padded, at)
        v[3] ^= word
        v = sip_rounds(v, 2)
        v[0] ^= word
    v[2] ^= 0xEE
    v = sip_rounds(v, 4)
    low = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    v = sip_rounds(v, 4)
    return low, v[0] ^ v[1] ^ v[2] ^ v[3]


# ---- Proof ---------------------------------------------------------------------------------------

LENGTHS = [*range(0, 300), 511, 512, 513, 1023, 1024, 1025, 1087, 1088, 1089, 2048, 2049, 5000, 65536]


def sample(size):
    """Bytes without a pattern that a wrong offset could fit."""
    state, out = 1, bytearray()
    for _ in range(size):
        state = state * 0x5851F42D4C957F2D + 0x14057B7EF767814F & M64
        out.append(state >> 56)
    return bytes(out)


def xxhsum(option, paths):
    """What xxhsum says of files, as numbers in their order. It writes "SUM  FILE", in some versions
    "XXH3_SUM  FILE" or "XXH3 (FILE) = SUM"."""
    done = subprocess.run(["xxhsum", option, *paths], stdout=subprocess.PIPE, check=True, text=True)
    sums = re.findall(r"^(?:XXH3_)?([0-9a-f]{16,32})  |= ([0-9a-f]{16,32})$", done.stdout, re.M)
    assert len(sums) == len(paths)
    return [int(one or other, 16) for one, other in sums]


def differences():
    """Complaints: where xxhsum, or the known answers of SipHash, say something else."""
    found = []
    # SipHash's authors give the outputs for the key 00 01 .. 0f and the inputs of 0, 1, 2 .. bytes
    # 00 01 02 ..; these are the first, the one of the paper's example and the last.
    for size, answer in ((0, "a3817f04ba25a8e66df67214c7550293"),
                         (15, "5493e99933b0a8117e08ec0f97cfc3d9"),
                         (63, "5150d1772f50834a503e069a973fbd7c")):
        if struct.pack("<2Q", *siphash_128(bytes(range(size)), bytes(range(16)))).hex() != answer:
            found.append(f"SipHash of {size} bytes")
    if shutil.which("xxhsum") is None:
        return found + ["no xxhsum here (Debian: xxhash)"]
    whole = sample(max(LENGTHS))
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{size}" for size in LENGTHS]
        for path, size in zip(paths, LENGTHS):
            with open(path, "wb") as file:
                file.write(whole[:size])
        for bits, answers in ((64, xxhsum("-H3", paths)), (128, xxhsum("-H2", paths))):
            for size, answer in zip(LENGTHS, answers):
                lo, hi = xxh3_128(whole[:size]) if bits == 128 else (xxh3_64(whole[:size]), 0)
                if lo | hi << 64 != answer:
                    found.append(f"XXH3-{bits} of {size} bytes")
    return found


if __name__ == "__main__":
    WRONG = differences()
    for complaint in WRONG:
        print("hashes: " + complaint)
    print(f"{2 * len(LENGTHS) + 3 - len(WRONG)} answers agree, {len(WRONG)} differ")
    sys.exit(1 if WRONG else 0)
