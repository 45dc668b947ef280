# SPDX-License-Identifier: Apache-2.0
"""ClickHouse's filters once more, from their description: positions, sizing, blocks, the bytes of values."""

import ipaddress
import re
import struct
import uuid
from datetime import date
from fractions import Fraction

from city import MASK, city128, city64, mix, seeded

SALTS = [
    13635471485423070496, 10336109063487487899, 17779957404565211594, 8988612159822229247, 4954614162757618085,
    12980113590177089081, 9263883436177860930, 3656772712723269762, 10362091744962961274, 7582936617938287249,
    15033938188484401405, 18286745649494826751, 6852245486148412312, 8886056245089344681, 10151472371158292780,
]

# Rates by bits per key; the first is of one probe.
TABLE = {
    2: "0.393 0.400",
    3: "0.283 0.237 0.253",
    4: "0.221 0.155 0.147 0.160",
    5: "0.181 0.109 0.092 0.092 0.101",
    6: "0.154 0.0804 0.0609 0.0561 0.0578 0.0638",
    7: "0.133 0.0618 0.0423 0.0359 0.0347 0.0364",
    8: "0.118 0.0489 0.0306 0.024 0.0217 0.0216 0.0229",
    9: "0.105 0.0397 0.0228 0.0166 0.0141 0.0133 0.0135 0.0145",
    10: "0.0952 0.0329 0.0174 0.0118 0.00943 0.00844 0.00819 0.00846",
    11: "0.0869 0.0276 0.0136 0.00864 0.0065 0.00552 0.00513 0.00509",
    12: "0.08 0.0236 0.0108 0.00646 0.00459 0.00371 0.00329 0.00314",
    13: "0.074 0.0203 0.00875 0.00492 0.00332 0.00255 0.00217 0.00199 0.00194",
    14: "0.0689 0.0177 0.00718 0.00381 0.00244 0.00179 0.00146 0.00129 0.00121 0.0012",
    15: "0.0645 0.0156 0.00596 0.003 0.00183 0.00128 0.001 0.000852 0.000775 0.000744",
    16: "0.0606 0.0138 0.005 0.00239 0.00139 0.000935 0.000702 0.000574 0.000505 0.00047 0.000459",
    17: "0.0571 0.0123 0.00423 0.00193 0.00107 0.000692 0.000499 0.000394 0.000335 0.000302 0.000287 0.000284",
    18: "0.054 0.0111 0.00362 0.00158 0.000839 0.000519 0.00036 0.000275 0.000226 0.000198 0.000183 0.000176",
    19: "0.0513 0.00998 0.00312 0.0013 0.000663 0.000394 0.000264 0.000194 0.000155 0.000132 0.000118 0.000111 0.000109",
}
BEST = {2: 1, 3: 2, 4: 3, 5: 3, 6: 4, 7: 5, 8: 6, 9: 6, 10: 7, 11: 8, 12: 8, 13: 9, 14: 10, 15: 10, 16: 11, 17: 12,
        18: 12, 19: 13}


def practice(rate, exact):
    """Bits per key and probes for a rate: with the table's decimals, or with the doubles next to them."""
    if rate >= 0.283:
        return 2, 2
    kind = Fraction if exact else float
    for bits, best in BEST.items():
        row = [kind(1), *map(kind, TABLE[bits].split())]
        if row[best] <= kind(rate):
            for probes in range(best, 0, -1):
                if row[probes] > kind(rate):
                    return bits, probes + 1
    return 19, 13


def core_positions(key, size, probes, seed):
    """Of the core filter, in order."""
    one, two = seeded(key, seed), seeded(key, (845897321 * seed + 217728422) & MASK)
    return [((one + i * two + i * i) & MASK) % (8 * size) for i in range(probes)]


def fmix64(value):
    """murmur3's finaliser."""
    value = (value ^ value >> 33) * 0xff51afd7ed558ccd & MASK
    value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53 & MASK
    return value ^ value >> 33


def base_hash(key, numbers):
    """A value's hash in the index."""
    if not numbers:
        return city64(key)
    value = 0
    for at in range(0, len(key), 8):
        if at != 24:
            value ^= int.from_bytes(key[at:at + 8], "little")
    return fmix64(value)


def index_positions(base, size, probes):
    """In a filter of the index."""
    return [mix(base, SALTS[i]) % (8 * size) for i in range(probes)]


def filter_of(positions_of_keys, size):
    """The bytes of a filter."""
    bits = bytearray(size)
    for positions in positions_of_keys:
        for position in positions:
            bits[position >> 3] |= 1 << (position & 7)
    return bytes(bits)


def rows_bytes(rows):
    """A number of rows as the index has it."""
    out = bytearray()
    while rows >= 128:
        out.append(rows & 127 | 128)
        rows >>= 7
    return bytes(out) + bytes([rows])


def block(payload, method=2):
    """A block of a file, not compressed."""
    rest = struct.pack("<BII", method, len(payload) + 9, len(payload)) + payload
    return struct.pack("<QQ", *city128(rest)) + rest


def blocks(payload, sizes):
    """Blocks of these sizes, the last one as long as need be."""
    out, at = b"", 0
    for size in sizes:
        if at < len(payload):
            out += block(payload[at:at + size])
            at += size
    return out + (block(payload[at:]) if at < len(payload) else b"")


WIDTHS = {"UInt8": 1, "Int8": 1, "UInt16": 2, "Int16": 2, "UInt32": 4, "Int32": 4, "UInt64": 8, "Int64": 8,
          "UInt128": 16, "Int128": 16, "UInt256": 32, "Int256": 32}


def little(value, width):
    """A number's own bytes."""
    return (value % (1 << 8 * width)).to_bytes(width, "little")


def value_bytes(literal, column):
    """The key of an SQL literal in a column of this type, and whether it is a number."""
    kind = re.sub(r"^(LowCardinality|Nullable)\((.*)\)$", r"\2", column)
    text = re.sub(r"^\w+\((.*)\)$", r"\1", literal) if "(" in literal else literal
    text = text.split(",")[0].strip().strip("'")
    if kind == "String" or kind.startswith("FixedString"):
        key = b"" if literal == "NULL" else text.encode()
        width = int(re.sub(r"\D", "", kind) or 0)
        return key + bytes(max(0, width - len(key))), False
    if kind in WIDTHS:
        return little(int(text), WIDTHS[kind]), True
    if kind.startswith("Float"):
        number = float(text)
        if kind == "Float32":
            number = struct.unpack("<f", struct.pack("<f", number))[0]
        return struct.pack("<d", number), True
    if kind == "Date":
        return little((date.fromisoformat(text) - date(1970, 1, 1)).days, 2), True
    if kind.startswith("DateTime"):
        return little(int(text), 4), True
    if kind == "UUID":
        return uuid.UUID(text).bytes[::-1], True
    if kind == "IPv4":
        return ipaddress.IPv4Address(text).packed[::-1], True
    if kind == "IPv6":
        return packed_v6(text), True
    raise ValueError(column)


def packed_v6(text):
    """The 16 bytes of an address, where '::' may stand for no zeros at all and more than once."""
    groups = text.replace("::", ":*:").strip(":").split(":")
    known = [group for group in groups if group not in ("*", "")]
    out = []
    for group in groups:
        out += ["0"] * (8 - len(known)) if group == "*" else [group] if group else []
        if group == "*":
            known += ["0"] * (8 - len(known))
    return b"".join(int(group, 16).to_bytes(2, "big") for group in out)
