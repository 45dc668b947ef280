# SPDX-License-Identifier: Apache-2.0
"""CityHash 1.0.2 once more, from its description: a reference for src/hash/city.c that shares nothing with it."""

MASK = (1 << 64) - 1
K0, K1, K2, K3 = 0xc3a5c85c97cb3127, 0xb492b66fbe98f273, 0x9ae16a3b2f90404f, 0xc949d7c7509e6557


def word(data, at, size=8):
    """A little-endian word."""
    return int.from_bytes(data[at:at + size], "little")


def rotate(value, bits):
    """To the right."""
    value &= MASK
    return (value >> bits | value << (64 - bits)) & MASK


def fold(value):
    """Its high bits XORed into the low ones."""
    value &= MASK
    return value ^ value >> 47


def mix(low, high):
    """Two words become one."""
    factor = 0x9ddfea08eb382d69
    one = fold(((low ^ high) & MASK) * factor)
    two = fold((high ^ one) * factor)
    return two * factor & MASK


def weak(data, at, one, two):
    """32 bytes and two words become two words."""
    w, x, y, z = (word(data, at + 8 * i) for i in range(4))
    one += w
    two = rotate(two + one + z, 21)
    start = one
    one += x + y
    two += rotate(one, 44)
    return (one + z) & MASK, (two + start) & MASK


def step(data, at, state):
    """Takes 64 bytes."""
    x, y, z, (v1, v2), (w1, w2) = state
    x = rotate(x + y + v1 + word(data, at + 16), 37) * K1
    y = rotate(y + v2 + word(data, at + 48), 42) * K1
    x = (x ^ w2) & MASK
    y = (y ^ v1) & MASK
    z = rotate(z ^ w1, 33)
    v = weak(data, at, v2 * K1, x + w1)
    w = weak(data, at + 32, z + w2, y)
    return z, y, x, v, w


def short(data):
    """Up to 16 bytes."""
    size = len(data)
    if size > 8:
        one, two = word(data, 0), word(data, size - 8)
        return mix(one, rotate(two + size, size)) ^ two
    if size >= 4:
        return mix(size + (word(data, 0, 4) << 3), word(data, size - 4, 4))
    if size == 0:
        return K2
    y = (data[0] + (data[size // 2] << 8)) & 0xffffffff
    z = (size + (data[-1] << 2)) & 0xffffffff
    return fold(y * K2 ^ z * K3) * K2 & MASK


def middle(data):
    """33 to 64 bytes."""
    size = len(data)
    z = word(data, 24)
    a = word(data, 0) + (size + word(data, size - 16)) * K0
    b, c = rotate(a + z, 52), rotate(a, 37)
    a += word(data, 8)
    c += rotate(a, 7)
    a += word(data, 16)
    v1, v2 = a + z, b + rotate(a, 31) + c
    a, z = word(data, 16) + word(data, size - 32), word(data, size - 8)
    b, c = rotate(a + z, 52), rotate(a, 37)
    a += word(data, size - 24)
    c += rotate(a, 7)
    a += word(data, size - 16)
    w1, w2 = a + z, b + rotate(a, 31) + c
    return fold(fold((v1 + w2) * K2 + (w1 + v2) * K0) * K0 + v2) * K2 & MASK


def city64(data):
    """CityHash64."""
    size = len(data)
    if size <= 16:
        return short(data)
    if size <= 32:
        a, b = word(data, 0) * K1, word(data, 8)
        c, d = word(data, size - 8) * K2, word(data, size - 16) * K0
        return mix((rotate(a - b, 43) + rotate(c, 30) + d) & MASK, (a + rotate(b ^ K3, 20) - c + size) & MASK)
    if size <= 64:
        return middle(data)
    x, y, z = word(data, 0), word(data, size - 16) ^ K1, word(data, size - 56) ^ K0
    v, w = weak(data, size - 64, size, y), weak(data, size - 32, size * K1, K0)
    z = (z + fold(v[1]) * K1) & MASK
    x, y = rotate(z + x, 39) * K1 & MASK, rotate(y, 33) * K1 & MASK
    state = x, y, z, v, w
    for at in range(0, (size - 1) & ~63, 64):
        state = step(data, at, state)
    x, y, z, v, w = state
    return mix((mix(v[0], w[0]) + fold(y) * K1 + z) & MASK, (mix(v[1], w[1]) + x) & MASK)


def seeded(data, seed):
    """CityHash64WithSeed."""
    return mix((city64(data) - K2) & MASK, seed)


def murmur(data, a, b):
    """CityHash128 of fewer than 128 bytes after two words."""
    size = len(data)
    if size <= 16:
        a = fold(a * K1) * K1 & MASK
        c = (b * K1 + short(data)) & MASK
        d = fold(a + (word(data, 0) if size >= 8 else c))
    else:
        c = mix((word(data, size - 8) + K1) & MASK, a)
        d = mix((b + size) & MASK, (c + word(data, size - 16)) & MASK)
        a = (a + d) & MASK
        for at in range(0, size - 16, 16):
            a = (a ^ fold(word(data, at) * K1) * K1) * K1 & MASK
            b ^= a
            c = (c ^ fold(word(data, at + 8) * K1) * K1) * K1 & MASK
            d ^= c
    a, b = mix(a, c), mix(d, b)
    return a ^ b, mix(b, a)


def city128(data):
    """CityHash128: low and high."""
    size = len(data)
    if size < 8:
        return murmur(data, K0, K1)
    if size < 16:
        return murmur(b"", word(data, 0) ^ size * K0 & MASK, word(data, size - 8) ^ K1)
    x, y = word(data, 0) ^ K3, word(data, 8)
    data, size = data[16:], size - 16
    if size < 128:
        return murmur(data, x, y)
    z = size * K1
    v1 = rotate(y ^ K1, 49) * K1 + word(data, 0)
    v = v1 & MASK, (rotate(v1, 42) * K1 + word(data, 8)) & MASK
    w = (rotate(y + z, 35) * K1 + x) & MASK, rotate(x + word(data, 88), 53) * K1 & MASK
    state = x, y, z & MASK, v, w
    whole = size // 128 * 128
    for at in range(0, whole, 64):
        state = step(data, at, state)
    x, y, z, (v1, v2), (w1, w2) = state
    y += rotate(w1, 37) * K0 + z
    x += rotate(v1 + z, 49) * K0
    done = 0
    while done < size - whole:
        done += 32
        y = rotate(y - x, 42) * K0 + v2
        w1 += word(data, size - done + 16)
        x = rotate(x, 49) * K0 + w1
        w1 += v1
        v1, v2 = weak(data, size - done, v1, v2)
    x, y = mix(x & MASK, v1), mix(y & MASK, w1 & MASK)
    return (mix((x + v2) & MASK, w2) + y) & MASK, mix((x + w2) & MASK, (y + v2) & MASK)
