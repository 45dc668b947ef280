# SPDX-License-Identifier: Apache-2.0
"""RedisBloom's cuckoo filter in plain Python, from its description in docs/dialects.md. The model of
CF.* and of the library's kind, of which it shares no code.

    filter = Cuckoo(1000, bucket_size=2, iterations=20, growth=1)
    filter.insert(b"x")         # 1; -1 if it is full and does not grow
    filter.count(b"x")          # 1
    filter.delete(b"x")         # 1; 0 if it is not there
    filter.compact()
    filter.header() + filter.slots()
"""

import struct

M64 = (1 << 64) - 1
MULTIPLIER = 0xC6A4A7935BD1E995
MIX = 0x5BD1E995
KEPT_DELETES = 0.1  # of the items; with more, a delete compacts


def murmur64a(data, seed):
    """MurmurHash64A."""
    value = seed ^ (len(data) * MULTIPLIER & M64)
    whole = len(data) & ~7
    for at in range(0, whole, 8):
        word = int.from_bytes(data[at:at + 8], "little") * MULTIPLIER & M64
        word ^= word >> 47
        value = (value ^ (word * MULTIPLIER & M64)) * MULTIPLIER & M64
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * MULTIPLIER & M64
    value ^= value >> 47
    value = value * MULTIPLIER & M64
    return value ^ value >> 47


def power_of_two(number):
    """The next power of two; 0 stays."""
    return 1 << (number - 1).bit_length() if number > 1 else number


def other_hash(mark, value):
    """The hash of the other bucket of a mark."""
    return (value ^ mark * MIX) & M64


class Cuckoo:
    """A chain of sub-filters, the oldest first. A slot has a mark of 8 bits, 0 if it is empty."""

    def __init__(self, capacity, bucket_size=2, iterations=20, growth=1):
        self.bucket_size, self.iterations, self.growth = bucket_size, iterations, power_of_two(growth)
        self.buckets = power_of_two(capacity // bucket_size) or 1
        self.filters = [bytearray(self.buckets * bucket_size)]
        self.items = self.deletes = 0

    def grow(self):
        """Another sub-filter."""
        self.filters.append(bytearray(self.buckets * self.bucket_size * self.growth ** len(self.filters)))

    def begin(self, slots, value):
        """Where the bucket of a hash begins."""
        return value % (len(slots) // self.bucket_size) * self.bucket_size

    def find(self, slots, mark, value):
        """The first slot of a bucket with this mark, or -1."""
        begin = self.begin(slots, value)
        return slots.find(mark, begin, begin + self.bucket_size)

    @staticmethod
    def hashes(item):
        """Mark, and the hashes of both buckets."""
        value = murmur64a(item, 0)
        mark = value % 255 + 1
        return mark, value, other_hash(mark, value)

    def place(self, slots, mark, hashes):
        """Puts a mark into an empty slot, if there is one."""
        for value in hashes:
            at = self.find(slots, 0, value)
            if at >= 0:
                slots[at] = mark
                return True
        return False

    def kick(self, mark, value):
        """Puts a mark into the newest sub-filter, whose marks move; all is as before if that fails."""
        slots, log = self.filters[-1], []
        begin, victim = self.begin(slots, value), 0
        for _ in range(self.iterations):
            log.append(begin + victim)
            slots[log[-1]], mark = mark, slots[log[-1]]
            begin = self.begin(slots, other_hash(mark, begin // self.bucket_size))
            at = slots.find(0, begin, begin + self.bucket_size)
            if at >= 0:
                slots[at] = mark
                return True
            victim = (victim + 1) % self.bucket_size
        for at in reversed(log):
            slots[at], mark = mark, slots[at]
        return False

    def insert(self, item):
        """1, or -1 if there is no room."""
        mark, one, other = self.hashes(item)
        while not any(self.place(slots, mark, (one, other)) for slots in reversed(self.filters)) and \
                not self.kick(mark, one):
            if self.growth == 0:
                return -1
            self.grow()
        self.items += 1
        return 1

    def count(self, item):
        """How many slots have the item's mark."""
        mark, one, other = self.hashes(item)
        found = 0
        for slots in self.filters:
            for value in (one, other):
                begin = self.begin(slots, value)
                found += slots.count(mark, begin, begin + self.bucket_size)
        return found

    def delete(self, item):
        """1 if it was there."""
        mark, one, other = self.hashes(item)
        for slots in reversed(self.filters):
            for value in (one, other):
                at = self.find(slots, mark, value)
                if at < 0:
                    continue
                slots[at] = 0
                self.items -= 1
                self.deletes += 1
                if len(self.filters) > 1 and self.deletes > self.items * KEPT_DELETES:
                    self.compact(False)
                return 1
        return 0

    def compact(self, all_filters=True):
        """Moves marks to older sub-filters, from the newest on; without `all_filters` up to the first
        that does not become empty."""
        for which in range(len(self.filters) - 1, 0, -1):
            slots, is_empty = self.filters[which], True
            for at, mark in enumerate(slots):
                bucket = at // self.bucket_size
                if mark == 0:
                    continue
                if any(self.place(older, mark, (bucket, other_hash(mark, bucket))) for older in self.filters[:which]):
                    slots[at] = 0
                else:
                    is_empty = False
            if is_empty and which == len(self.filters) - 1:
                self.filters.pop()
            elif not is_empty and not all_filters:
                break
        self.deletes = 0

    def header(self):
        """As CF.SCANDUMP gives it."""
        return struct.pack("<QQQQHHH", self.items, self.buckets, self.deletes, len(self.filters), self.bucket_size,
                           self.iterations, self.growth)

    def slots(self):
        """All sub-filters in a row."""
        return b"".join(bytes(slots) for slots in self.filters)
