#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A reader of filter files that follows docs/format.md alone: the proof that the page is complete.

    format_reader.py FILE info                  what the file says, as a JSON object
    format_reader.py FILE verify                compares every checksum
    format_reader.py FILE query < keys          prints the keys that may be in, a line each
    format_reader.py FILE counts < keys         the same, each behind how often it is in, and a tab
        --hex                                   the lines are keys in hexadecimal digits
    --key HEX                                   the key of a keyed filter that does not carry it

It imports nothing of the library's sources, and its hashes are its own (hashes.py). The author of
its first version had seen only the page. What changed with version 2 was written to the page as
well, but by someone who knew the library. Where the library and this file disagree about any file,
one of the three - page, library, reader - is wrong; tests/property/reader_agrees.py looks for that.
The steps of parse() are those under "What a reader checks", by their numbers.

Exit codes: 0 yes, 1 no key may be in, 2 refused or damaged (stderr says why).
"""

import json
import math
import struct
import sys
from dataclasses import dataclass, field

from hashes import M64, siphash_128, xxh3_128, xxh3_64

MAGIC = b"\x89BLOOM\r\n"
HEADER_BYTES = 128
PREFIX_BYTES_MOST = 16384
SPAN_BYTES = 65536
NOTE_BYTES_MOST = 4000
RULE_FLAGS_KNOWN = 4095
RULE_CASES, RULE_FORMS, RULE_CSV = 2 | 4 | 8 | 128 | 256, 8 | 128 | 256 | 512, 64
RULE_ELSEWHERE = 2048
FINGERPRINTED = b"bloomery key fingerprint 1"
BLOCKED, CLASSIC, COUNTING, SCALABLE, STATIC, CUCKOO_KIND = 1, 2, 3, 4, 5, 6
OF_LINES = (BLOCKED, COUNTING, SCALABLE)
CELL_BITS = {BLOCKED: (1,), CLASSIC: (1,), COUNTING: (4, 8), SCALABLE: (1,), STATIC: (1,)}
XXH3_128, SIPHASH, XXH3_64 = HASHES = 1, 2, 3
VERSION = 2
LINES_MOST, LINE_PROBES_MOST, CLASSIC_PROBES_MOST = 4, 8, 64
LINK, RULE, SECRET, DIALECT, NOTE, RIBBON, WANTED, CUCKOO = KNOWN = 1, 2, 3, 4, 5, 7, 8, 9
DIALECT_BYTES = range(16, 16 + 6144 + 1)
REQUIRED = 1
LINK_BODY, RULE_BODY = struct.Struct("<QIIQdQQQQ"), struct.Struct("<IIiI")
RIBBON_BODY = struct.Struct("<QQIIII")
BODY_BYTES = {LINK: LINK_BODY.size, RULE: RULE_BODY.size, SECRET: 16, RIBBON: RIBBON_BODY.size,
              WANTED: 8, CUCKOO: 16}
CUTS = (0, 16, 32, 128)
BITS_MOST = 1 << 50

# Why a file is refused: the page's words.
NO_FILTER, CUT_SHORT, OTHER_VERSION = "no filter", "cut short", "other version"
DAMAGED, UNSUPPORTED, KEY_NEEDED = "damaged", "unsupported", "key needed"


class Refused(Exception):
    """Why this file cannot be read; `answer` is one of the six."""

    def __init__(self, answer, text):
        super().__init__(f"{answer}: {text}")
        self.answer = answer


def need(holds, answer, text):
    if not holds:
        raise Refused(answer, text)


HEADER = struct.Struct("<8sHHIIIQQQQHHIHBBBBBBII40sQ")
assert HEADER.size == HEADER_BYTES


@dataclass
class Header:  # pylint: disable=too-many-instance-attributes
    """The header's fields in the order of the page."""
    magic: bytes
    version: int
    kind: int
    header_bytes: int
    record_bytes: int
    links: int
    payload_offset: int
    payload_bytes: int
    seed: int
    key_fingerprint: int
    hash: int
    zero_a: int
    dialect: int
    block_bits: int
    cell_bits: int
    bit_order: int
    block_scheme: int
    probe_scheme: int
    repeat_scheme: int
    count_scheme: int
    required: int
    ignorable: int
    zero_c: bytes
    checksum: int


@dataclass
class Link:  # pylint: disable=too-many-instance-attributes
    """One array of bits."""
    bits: int
    probes: int
    lines: int
    planned_keys: int
    planned_rate: float
    adds: int
    begin: int
    bytes: int
    zero: int


def up(number, unit):
    """The least multiple of the unit that is not less."""
    return -(-number // unit) * unit


@dataclass
class Ribbon:
    """A layer of a static filter, by the page's letters."""
    T: int  # pylint: disable=invalid-name
    b0: int
    q: int
    r: int
    width: int
    bucket: int

    @property
    def blocks_of_section(self):
        return self.T // 64 + 1

    @property
    def blocks(self):
        return self.blocks_of_section << self.q

    @property
    def buckets_of_section(self):
        return -(-self.T // 128)

    def word(self, g, b):
        """The number of the first word of block b in plane g."""
        before = min(8, max(0, self.r - 8 * g))
        after = min(8, max(0, self.r + 1 - 8 * g))
        return before * b + (after - before) * max(0, b - self.b0)

    def plane(self, g):
        """Where plane g begins."""
        return sum(up(8 * self.word(i, self.blocks), 64) for i in range(g))

    @property
    def thresholds(self):
        """Where they begin: behind all planes, of which there are at most seven."""
        return self.plane(7)

    @property
    def bytes(self):
        return self.thresholds + up(-(-(self.buckets_of_section << self.q) // 4), 64) + 64


@dataclass
class Filter:
    """A file that was accepted."""
    data: bytes
    header: Header
    records: list  # (type, body) of those known
    links: list = field(default_factory=list)
    ribbons: list = field(default_factory=list)
    key: bytes = None

    def body(self, kind):
        """The body of the only record of a type, or None."""
        return next((body for its_kind, body in self.records if its_kind == kind), None)


# ---- What a reader checks, in this order -----------------------------------------------------------

def check_start(data):
    """1 and 2: magic, version, header size."""
    need(data[:8] == MAGIC[:len(data)], NO_FILTER, "it does not begin as one")
    need(len(data) >= 8, CUT_SHORT, "the file ends in the magic")
    need(len(data) >= HEADER_BYTES, CUT_SHORT, "the file ends in the header")
    header = Header(*HEADER.unpack_from(data))
    need(header.version != 0, DAMAGED, "format version 0")
    need(header.version != 1, OTHER_VERSION, "format version 1: to be made again from its keys")
    need(header.version == VERSION, OTHER_VERSION, f"format version {header.version}")
    need(header.header_bytes == HEADER_BYTES, DAMAGED, "header bytes")
    return header


def check_zeros(header):
    """3: what version 2 does not know must not be there."""
    need(header.zero_a == 0 and not any(header.zero_c) and header.required == 0,
         OTHER_VERSION, "a field is set that is zero in version 2")


def check_sizes(header, file_bytes):
    """4: the parts follow one another and fill the file."""
    need(header.record_bytes % 8 == 0, DAMAGED, "record bytes")
    need(header.payload_offset % 64 == 0 and header.payload_offset <= PREFIX_BYTES_MOST
         and header.payload_offset >= HEADER_BYTES + header.record_bytes, DAMAGED, "payload offset")
    need(header.payload_bytes % 64 == 0 and header.payload_bytes != 0, DAMAGED, "payload bytes")
    spans = -(-header.payload_bytes // SPAN_BYTES)
    size = header.payload_offset + header.payload_bytes + 8 * (spans + 1)
    need(file_bytes == size, CUT_SHORT, f"the file has {file_bytes} bytes and should have {size}")


def check_header_checksum(data, header):
    """5."""
    prefix = bytearray(data[:header.payload_offset])
    prefix[120:128] = bytes(8)
    need(xxh3_64(bytes(prefix)) == header.checksum, DAMAGED, "the header's checksum is wrong")


def check_record(kind, body, at):
    """The body of a known record, as far as it can be judged alone."""
    where = f"record of type {kind} at {at}"
    need(len(body) == BODY_BYTES.get(kind, len(body)), DAMAGED, f"{where} has {len(body)} bytes")
    need(kind != NOTE or len(body) <= NOTE_BYTES_MOST, DAMAGED, f"{where} is too long")
    if kind == DIALECT:
        need(len(body) in DIALECT_BYTES, DAMAGED, f"{where} has {len(body)} bytes")
        need(body[12:16] == bytes(4), OTHER_VERSION, f"{where}: a zero field is not")
    if kind == CUCKOO:
        need(body[12:16] == bytes(4), DAMAGED, f"{where}: a zero field is not")
    if kind == WANTED:
        need(0 <= struct.unpack("<d", body)[0] <= 1, DAMAGED, f"{where}: a rate")
    if kind == LINK:
        need(Link(*LINK_BODY.unpack(body)).zero == 0, OTHER_VERSION,
             f"{where}: a zero field is not")
    if kind == RIBBON:
        ribbon = Ribbon(*RIBBON_BODY.unpack(body))
        need((ribbon.width, ribbon.bucket) == (64, 128), OTHER_VERSION, f"{where}: width or bucket")
        need(ribbon.T <= 131072 and ribbon.q <= 40 and ribbon.r <= 50, DAMAGED, f"{where}: T, q or r")
    if kind == RULE:
        flags, delimiter, field_number, comment = RULE_BODY.unpack(body)
        need(flags & ~RULE_FLAGS_KNOWN == 0 and delimiter <= 255 and comment <= 255, OTHER_VERSION,
             f"{where}: unknown rules")
        need((flags & RULE_CASES).bit_count() <= 1, OTHER_VERSION,
             f"{where}: two of lower, upper, hex, int64, int32")
        need((flags & RULE_FORMS).bit_count() <= 1, OTHER_VERSION,
             f"{where}: two of hex, int64, int32, utf16")
        need(field_number != 0 or (delimiter == 0 and not flags & RULE_CSV), OTHER_VERSION,
             f"{where}: a delimiter or CSV without a field")
        need(field_number == 0 or not flags & RULE_ELSEWHERE, OTHER_VERSION,
             f"{where}: a field, and a key that lies elsewhere")


def check_ribbon_place(kind, header, before):
    """A ribbon is behind its layer's record, in a static filter."""
    if kind == RIBBON:
        need(header.kind == STATIC and before[-1:] == [LINK], DAMAGED, "a ribbon of no layer")
    if kind == LINK and header.kind == STATIC:
        need(before[-1:] != [LINK], DAMAGED, "a layer without a ribbon")


def read_records(data, header):
    """6: the known records as (type, body)."""
    records = []
    at, end = HEADER_BYTES, HEADER_BYTES + header.record_bytes
    while at < end:
        kind, flags, size = struct.unpack_from("<HHI", data, at)
        need(size <= end - at - 8, DAMAGED, f"the record at {at} is longer than the records")
        if kind in KNOWN:
            need(kind in (LINK, RIBBON) or all(kind != other for other, _ in records), DAMAGED,
                 f"record at {at}: a second one of type {kind}")
            check_ribbon_place(kind, header, [one for one, _ in records if one in (LINK, RIBBON)])
            check_record(kind, data[at + 8:at + 8 + size], at)
            need(kind != CUCKOO or header.kind == CUCKOO_KIND, DAMAGED,
                 f"record at {at}: of a cuckoo filter, and this is not one")
            records.append((kind, data[at + 8:at + 8 + size]))
        else:
            need(not flags & REQUIRED, OTHER_VERSION, f"record at {at}: unknown type {kind}")
        at += 8 + (size + 7) // 8 * 8
    need(sum(kind == LINK for kind, _ in records) == header.links, DAMAGED, "number of links")
    if header.kind == STATIC:
        need(sum(kind == RIBBON for kind, _ in records) == header.links, DAMAGED, "number of ribbons")
    return records


def check_known(header, records):
    """7: what decides where a key's bits are."""
    need(header.dialect != 0 or all(kind != DIALECT for kind, _ in records), DAMAGED,
         "a dialect's parameters without a dialect")
    ruled = header.block_scheme != 0 or header.probe_scheme != 0
    need(ruled == (header.dialect != 0), DAMAGED, "schemes without a dialect, or the reverse")
    need(ruled or header.count_scheme == 0, DAMAGED, "a count scheme without a dialect")
    need(header.kind in CELL_BITS, UNSUPPORTED, f"kind {header.kind}")
    need(header.hash in HASHES, UNSUPPORTED, f"hash {header.hash}")
    need(header.dialect == 0, UNSUPPORTED, f"dialect {header.dialect}")
    need(header.cell_bits in CELL_BITS[header.kind], UNSUPPORTED, f"cell bits {header.cell_bits}")
    rules = (header.block_bits, header.bit_order, header.block_scheme, header.probe_scheme,
             header.repeat_scheme)
    need(rules == (512 if header.kind in OF_LINES else 0, 0, 0, 0, 0), UNSUPPORTED,
         f"block bits, bit order, rules {rules}")


def check_carried_key(filter_):
    """8: hash, fingerprint and a key in the file belong together."""
    header, carried = filter_.header, filter_.body(SECRET)
    keyed = header.hash == SIPHASH
    need((header.key_fingerprint != 0) == keyed, DAMAGED, "a fingerprint and no key, or the reverse")
    need(not keyed or header.seed == 0, DAMAGED, "a seed beside a key")
    need(carried is None or keyed, DAMAGED, "a key without a keyed hash")
    need(carried is None or fingerprint(carried) == header.key_fingerprint, DAMAGED,
         "the key in the file has another fingerprint")
    filter_.key = carried


def check_links(filter_):
    """9: each link is what it can be, where it must be."""
    header, begin = filter_.header, 0
    need(1 <= header.links <= (64 if header.kind in (SCALABLE, STATIC) else 1), UNSUPPORTED,
         f"{header.links} links")
    need(header.kind != STATIC or header.hash != XXH3_64, DAMAGED, "a static filter with 64 bits")
    filter_.ribbons = [Ribbon(*RIBBON_BODY.unpack(body)) for kind, body in filter_.records
                       if kind == RIBBON]
    for kind, body in filter_.records:
        if kind == LINK:
            link = Link(*LINK_BODY.unpack(body))
            if header.kind == STATIC:
                check_ribbon(link, filter_.ribbons[len(filter_.links)], begin)
            else:
                check_link(header, link, begin)
            filter_.links.append(link)
            begin += link.bytes
    need(begin == header.payload_bytes, DAMAGED, "the links do not fill the payload")


def check_ribbon(link, ribbon, begin):
    """A layer of a static filter."""
    need(ribbon.T >= 64 and ribbon.T % 64 == 0 and ribbon.b0 <= ribbon.blocks, DAMAGED, "T or b0")
    need(link.bits == 64 * ribbon.blocks and link.probes == ribbon.r + 1 and link.lines == 0, DAMAGED,
         "m, k or L of a ribbon")
    need(0 <= link.planned_rate <= 1, DAMAGED, "planned rate")
    need(link.begin == begin and link.bytes == ribbon.bytes, DAMAGED, "place in the payload")


def check_link(header, link, begin):
    blocked = header.kind in OF_LINES
    need(1 <= link.bits * header.cell_bits <= BITS_MOST and (not blocked or link.bits % 512 == 0), DAMAGED,
         "m")
    need(1 <= link.lines <= LINES_MOST if blocked else link.lines == 0, DAMAGED, "L")
    need(1 <= link.probes <= (LINE_PROBES_MOST if blocked else CLASSIC_PROBES_MOST), DAMAGED, "k")
    # False for NaN, too.
    need(0 <= link.planned_rate <= 1, DAMAGED, "planned rate")
    need(header.kind != SCALABLE or link.planned_keys > 0 < link.planned_rate, DAMAGED, "no plan")
    need(link.begin == begin and link.bytes == -(-link.bits * header.cell_bits // 512) * 64, DAMAGED,
         "place in the payload")


def check_given_key(filter_, key):
    """10: a key from elsewhere is the one that was used."""
    if key is not None and filter_.header.hash == SIPHASH:
        need(fingerprint(key) == filter_.header.key_fingerprint, KEY_NEEDED, "this is another key")
        filter_.key = key


def parse(data, key=None):
    """The filter in these bytes, or Refused."""
    header = check_start(data)
    check_zeros(header)
    check_sizes(header, len(data))
    check_header_checksum(data, header)
    filter_ = Filter(data, header, read_records(data, header))
    check_known(header, filter_.records)
    check_carried_key(filter_)
    check_links(filter_)
    check_given_key(filter_, key)
    return filter_


def array_of(filter_, link):
    """A link's bytes as one number: bit p of the array is bit p of the number."""
    begin = filter_.header.payload_offset + link.begin
    return int.from_bytes(filter_.data[begin:begin + link.bytes], "little")


def layer_bytes(filter_, link):
    begin = filter_.header.payload_offset + link.begin
    return filter_.data[begin:begin + link.bytes]


def check_ribbon_zeros(data, ribbon):
    """Behind each plane, behind the last threshold, and to the end."""
    for g in range(7):
        end = ribbon.plane(g) + 8 * ribbon.word(g, ribbon.blocks)
        need(not any(data[end:ribbon.plane(g + 1)]), DAMAGED, f"behind plane {g} not all is zero")
    buckets = ribbon.buckets_of_section << ribbon.q
    need(int.from_bytes(data[ribbon.thresholds:], "little") >> 2 * buckets == 0, DAMAGED,
         "behind the thresholds not all is zero")


# ---- Checksums -------------------------------------------------------------------------------------

def verify(filter_):
    """Compares the payload's checksums, and looks for bits past m. Raises Refused."""
    header, data = filter_.header, filter_.data
    end = header.payload_offset + header.payload_bytes
    spans = range(header.payload_offset, end, SPAN_BYTES)
    for i, at in enumerate(spans):
        found = xxh3_64(data[at:min(at + SPAN_BYTES, end)], header.checksum)
        need(found == struct.unpack_from("<Q", data, end + 8 * i)[0], DAMAGED, f"checksum of span {i}")
    sums = data[end:end + 8 * len(spans)]
    need(xxh3_64(sums, header.checksum) == struct.unpack_from("<Q", data, end + len(sums))[0],
         DAMAGED, "checksum of the checksums")
    for link, ribbon in zip(filter_.links, filter_.ribbons):
        check_ribbon_zeros(layer_bytes(filter_, link), ribbon)
    for link in filter_.links if header.kind != STATIC else ():
        need(array_of(filter_, link) >> link.bits * header.cell_bits == 0, DAMAGED, "bits past m are set")


# ---- From a key to its bits ------------------------------------------------------------------------

C1, C2, G = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x9E3779B97F4A7C15
LINE_BITS, WORDS, WORD_BITS = 512, 8, 64


def fastrange(h, n):
    return h * n >> 64


def fold(a, b):
    return a * b & M64 ^ a * b >> 64


def mix64(x):
    x &= M64
    x = (x ^ x >> 30) * C1 & M64
    x = (x ^ x >> 27) * C2 & M64
    return x ^ x >> 31


def fingerprint(key):
    return siphash_128(FINGERPRINTED, key)[0] or 1


def hash_key(filter_, key):
    """(lo, hi) of a key."""
    if filter_.header.hash == XXH3_64:
        return 0, xxh3_64(key, filter_.header.seed)
    if filter_.header.hash == XXH3_128:
        return xxh3_128(key, filter_.header.seed)
    need(filter_.key is not None, KEY_NEEDED, "the filter's key is not in the file")
    return siphash_128(key, filter_.key)


def classic_step(lo, hi):
    return mix64(hi ^ lo) | 1


def classic_positions(link, lo, hi):
    step = classic_step(lo, hi)
    return [fastrange(mix64(hi + i * step), link.bits) for i in range(link.probes)]


@dataclass
class Line:
    """One of a key's lines, by the page's letters."""
    x: int
    n: int
    w: int
    r: int
    bits: list  # of the link


def lines_of(link, lo, hi):
    """What a key has in each of its lines."""
    lines = []
    for j in range(link.lines):
        x = hi if j == 0 else fold(hi ^ j * G & M64, C2)
        line = Line(x, fastrange(x, link.bits // LINE_BITS), fold(x ^ lo, C1), 0, [])
        line.r = line.w >> 48 & 7
        for i in range(link.probes):
            c = (line.r + i) % WORDS
            line.bits.append(LINE_BITS * line.n + WORD_BITS * c + (line.w >> 6 * c & 63))
        lines.append(line)
    return lines


def blocked_positions(link, lo, hi):
    return [bit for line in lines_of(link, lo, hi) for bit in line.bits]


def positions_of(filter_, link, key):
    """The bits of a key in a link."""
    derive = blocked_positions if filter_.header.kind in OF_LINES else classic_positions
    return derive(link, *hash_key(filter_, key))


def equation(ribbon, i, lo, hi):
    """(block, row in it, bucket, offset in it, c, f) of a key in layer i."""
    turned = (lo << 32 | lo >> 32) & M64
    x = hi if i == 0 else mix64((hi ^ turned) + i * G)
    c = (lo if i == 0 else mix64(lo + 2 * i * G)) | 1
    section, s = x >> 64 - ribbon.q, fastrange(x << ribbon.q & M64, ribbon.T)
    return (section * ribbon.blocks_of_section + s // 64, s % 64,
            section * ribbon.buckets_of_section + s // 128, s % 128, c, mix64(lo + (2 * i + 1) * G))


def ribbon_answer(data, ribbon, i, lo, hi):
    """True, False, or None where the key is bumped."""
    b, t, u, o, c, f = equation(ribbon, i, lo, hi)
    if o < CUTS[data[ribbon.thresholds + u // 4] >> 2 * (u % 4) & 3]:
        return None
    for j in range(ribbon.r + (b >= ribbon.b0)):
        begin = ribbon.plane(j // 8)
        words = [begin + 8 * (ribbon.word(j // 8, b + k) + j % 8) for k in (0, 1)]
        rows = sum(int.from_bytes(data[at:at + 8], "little") << 64 * k for k, at in enumerate(words))
        if (rows >> t & c).bit_count() % 2 != f >> j & 1:
            return False
    return True


def static_may_contain(filter_, key):
    lo, hi = hash_key(filter_, key)
    if filter_.links[0].planned_keys == 0:
        return False
    for i, (link, ribbon) in enumerate(zip(filter_.links, filter_.ribbons)):
        answer = ribbon_answer(layer_bytes(filter_, link), ribbon, i, lo, hi)
        if answer is not None:
            return answer
    return True


def may_contain(filter_, key):
    """False: the key was surely never added."""
    if filter_.header.kind == STATIC:
        return static_may_contain(filter_, key)
    return any(all(cell_of(filter_, link, p) for p in positions_of(filter_, link, key))
               for link in filter_.links)


def cell_of(filter_, link, position):
    """A bit, or a counter."""
    width = filter_.header.cell_bits
    at = filter_.header.payload_offset + link.begin + (position * width >> 3)
    return filter_.data[at] >> (position * width & 7) & (1 << width) - 1


def count(filter_, key):
    """How often the key is in it; without counters, 1 if it may be."""
    if filter_.header.kind != COUNTING:
        return int(may_contain(filter_, key))
    link, most = filter_.links[0], (1 << filter_.header.cell_bits) - 1
    named = positions_of(filter_, link, key)  # those of one line differ
    counters = {p: cell_of(filter_, link, p) for p in named}
    return min([most] + [counter // named.count(p) for p, counter in counters.items() if counter < most])


# ---- The command -----------------------------------------------------------------------------------

def info(filter_):
    """What the file says, by the names of the library's bloomery_info; numbers as they are."""
    header, link, rule = filter_.header, filter_.links[-1], filter_.body(RULE)
    note = filter_.body(NOTE)
    return {
        "kind": header.kind, "format_version": header.version, "links": len(filter_.links),
        "lines": link.lines, "probes": link.probes, "bits": sum(one.bits for one in filter_.links),
        "bytes": header.payload_bytes, "file_bytes": len(filter_.data),
        # A later layer of a static filter has keys that the one before has bumped.
        "planned_keys": sum(one.planned_keys for one in
                            filter_.links[:1 if header.kind == STATIC else None]),
        # The first link of a chain is planned for a quarter of the chain's rate.
        "planned_rate": (4 * filter_.links[0].planned_rate if header.kind == SCALABLE else
                         filter_.links[0].planned_rate),
        "wanted_rate": wanted_rate(filter_),
        "adds": sum(one.adds for one in filter_.links), "hash": header.hash, "seed": header.seed,
        "key_fingerprint": header.key_fingerprint, "key_in_file": filter_.body(SECRET) is not None,
        "rule": list(RULE_BODY.unpack(rule)) if rule is not None else [0, 0, 0, 0],
        "note": note.decode(errors="replace") if note else None,
        "dialect": header.dialect,
        "bits_set": sum(cells_set(filter_, one) for one in filter_.links),
    }


def wanted_rate(filter_):
    """The rate that the plan was asked for if it is over twice the planned one, else that."""
    header, link, wanted = filter_.header, filter_.links[0], filter_.body(WANTED)
    if header.kind == SCALABLE:
        return 4 * link.planned_rate
    wanted = struct.unpack("<d", wanted)[0] if wanted is not None and header.kind != STATIC else 0
    return wanted if wanted > 2 * link.planned_rate > 0 else link.planned_rate


def cells_set(filter_, link):
    """How many bits are set, or counters not 0."""
    width, array = filter_.header.cell_bits, array_of(filter_, link)
    if filter_.header.kind == STATIC:
        return 0  # no cells
    if width == 1:
        return (array & (1 << link.bits) - 1).bit_count()
    return sum(cell_of(filter_, link, p) > 0 for p in range(link.bits))


def query(filter_, hexadecimal, counts):
    """Prints the lines that may be in; the exit code."""
    found = False
    need(hexadecimal or info(filter_)["rule"] == [0, 0, 0, 0], UNSUPPORTED,
         "keys are made from lines by a rule; --hex takes keys as they are")
    for line in sys.stdin.buffer:
        line = line.removesuffix(b"\n")
        key = bytes.fromhex(line.decode()) if hexadecimal else line
        if may_contain(filter_, key):
            sys.stdout.buffer.write(b"%d\t" % count(filter_, key) if counts else b"")
            sys.stdout.buffer.write(line + b"\n")
            found = True
    return 0 if found else 1


def main(arguments):
    key = None
    if "--key" in arguments:
        at = arguments.index("--key")
        key = bytes.fromhex(arguments[at + 1])
        del arguments[at:at + 2]
    hexadecimal = "--hex" in arguments
    words = [word for word in arguments if word != "--hex"]
    if len(words) != 2 or words[1] not in ("info", "verify", "query", "counts"):
        sys.exit(__doc__)
    try:
        with open(words[0], "rb") as file:
            filter_ = parse(file.read(), key)
        if words[1] in ("query", "counts"):
            return query(filter_, hexadecimal, words[1] == "counts")
        if words[1] == "info":
            print(json.dumps(info(filter_), indent=2))
        else:
            verify(filter_)
        return 0
    except Refused as refused:
        print(f"format_reader: {words[0]}: {refused}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
