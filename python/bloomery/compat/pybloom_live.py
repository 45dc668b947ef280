# SPDX-License-Identifier: Apache-2.0
"""The interface of pybloom_live: `from bloomery.compat.pybloom_live import BloomFilter, ScalableBloomFilter`.

Hashes, sizes and files are those of pybloom_live 4, bit for bit (`version=3` for older ones): what one wrote the other
reads. A key is a str (its UTF-8), bytes, or str(key) of anything else, as there: 1 and "1" are one key.

Its faults come along: a ScalableBloomFilter ends at nine times its error rate (docs/dialects.md). bloomery.Filter has
none of them and is faster.

Kept different: `add(key, skip_check=True)` looks whether the key is there all the same. So `count` is right, where
pybloom_live would count the key again.
"""

import struct

from bloomery._native import Filter

_DIALECT = "pybloom-live"
_PART = struct.Struct("<dQQQQ")  # of a file: rate, slices, bits of a slice, capacity, count; the bits follow
_CHAIN = struct.Struct("<idQdl")  # scale, ratio, capacity and rate of the first part, number of parts
_PIECE = 1 << 24


def _key(key):
    return key if isinstance(key, (str, bytes)) else str(key)


class _Base:
    """What both classes have."""

    SMALL_SET_GROWTH = 2
    LARGE_SET_GROWTH = 4
    __hash__ = None

    def __contains__(self, key):
        return _key(key) in self._filter

    def __len__(self):
        return self._filter.adds

    @property
    def count(self):
        """Calls of add that were new."""
        return self._filter.adds

    def tofile(self, f):
        """Writes it to a file open for writing bytes."""
        f.write(self._filter.to_dialect())

    @classmethod
    def _of(cls, filter_, version):
        made = cls.__new__(cls)
        filter_.full = "ignore" if filter_.kind != "scalable" else "grow"  # as there: IndexError, not Full
        made._filter, made._version = filter_, version
        return made

    @classmethod
    def _from(cls, data, version):
        made = cls._of(Filter.from_dialect(_DIALECT, data, variant=str(version)), version)
        if (made._filter.kind == "scalable") != (cls._kind == "scalable"):
            raise ValueError(f"the file has a {'Scalable' * (made._filter.kind == 'scalable')}BloomFilter")
        return made

    def __getstate__(self):
        return {"filter": self._filter.to_bytes(), "version": self._version}

    def __setstate__(self, state):
        made = self._of(Filter.from_bytes(state["filter"]), state["version"])
        self.__dict__.update(made.__dict__)


def _exactly(f, count):
    """`count` bytes of a file, read in pieces: a damaged header does not decide how much memory is taken."""
    pieces = []
    while count > 0:
        pieces.append(f.read(min(count, _PIECE)))
        if not pieces[-1]:
            raise ValueError(f"the file ends {count} bytes too early")
        count -= len(pieces[-1])
    return b"".join(pieces)


def _part_bytes(head):
    """How many bytes of bits follow the header of a part."""
    _, slices, bits, _, _ = _PART.unpack(head)
    return (slices * bits + 7) // 8


def _is_chain(head):
    """Whether a file begins as that of a scalable filter."""
    scale, ratio, _, rate, _ = _CHAIN.unpack_from(head)
    return 1 <= scale <= 1 << 20 and 0.001 < ratio <= 1 and 1e-300 < rate < 1


def _parts(data):
    """The parts of a scalable filter's file, each as a file of its own."""
    number = _CHAIN.unpack_from(data)[-1]
    at = _CHAIN.size + 8 * number
    for size in struct.unpack_from(f"<{number}Q", data, _CHAIN.size):
        yield data[at:at + size]
        at += size


class BloomFilter(_Base):
    """A filter for `capacity` keys; IndexError if more are added."""

    _kind = "plain"

    def __init__(self, capacity, error_rate=0.001, *, version=4):
        if not 0 < error_rate < 1:
            raise ValueError("Error_Rate must be between 0 and 1.")
        if not capacity > 0:
            raise ValueError("Capacity must be > 0")
        made = self._of(Filter.create_dialect(_DIALECT, variant=str(version), keys=int(capacity), rate=error_rate),
                        version)
        self.__dict__.update(made.__dict__)

    @property
    def capacity(self):
        """The keys that it is for."""
        return self._filter.keys

    @property
    def error_rate(self):
        """The rate that was asked for."""
        return self._filter.rate

    @property
    def num_slices(self):
        """Slices, each of which a key sets a bit of."""
        return self._filter.info().probes

    @property
    def num_bits(self):
        """Bits of all slices."""
        return self._filter.bits

    @property
    def bits_per_slice(self):
        """Bits of a slice."""
        return self.num_bits // self.num_slices

    @property
    def bitarray(self):
        """A copy of the bits, as an object of the package bitarray, which has to be there."""
        import bitarray  # pylint: disable=import-outside-toplevel
        bits = bitarray.bitarray(endian="little")
        bits.frombytes(self._filter.to_dialect()[_PART.size:])
        return bits[:self.num_bits]

    def add(self, key, skip_check=False):  # pylint: disable=unused-argument
        """Adds a key. True: it was there already."""
        filter_ = self._filter
        if filter_.adds > filter_.keys:
            raise IndexError("BloomFilter is at capacity")
        return not filter_.add(key if isinstance(key, (str, bytes)) else str(key))

    def copy(self):
        """An independent copy."""
        return self._of(self._filter.copy(), self._version)

    def _joined(self, other, name):
        if not isinstance(other, BloomFilter):
            raise ValueError(f"{name} takes another BloomFilter")
        if (self.capacity, self.error_rate) != (other.capacity, other.error_rate):
            raise ValueError(f"{name} takes filters of one capacity and error rate")
        made = self.copy()
        getattr(made._filter, name)(other._filter)
        return made

    def union(self, other):
        """A new filter with the keys of both."""
        return self._joined(other, "merge")

    def intersection(self, other):
        """A new filter with the keys that are in both."""
        return self._joined(other, "intersect")

    def __or__(self, other):
        return self.union(other)

    def __and__(self, other):
        return self.intersection(other)

    @classmethod
    def fromfile(cls, f, n=-1, *, version=4):
        """Reads one, of `n` bytes if that is given. What follows in the file stays there."""
        if 0 < n < _PART.size:
            raise ValueError(f"a filter has {_PART.size} bytes or more, not {n}")
        head = _exactly(f, _PART.size)
        if _is_chain(head):
            raise ValueError("the file has a ScalableBloomFilter")
        return cls._from(head + _exactly(f, n - _PART.size if n > 0 else _part_bytes(head)), version)

    def __repr__(self):
        return f"<BloomFilter capacity={self.capacity} error_rate={self.error_rate} count={self.count}>"


class ScalableBloomFilter(_Base):
    """A filter that grows: each next part is for `mode` times the keys of the one before."""

    _kind = "scalable"

    def __init__(self, initial_capacity=100, error_rate=0.001, mode=_Base.LARGE_SET_GROWTH, *, version=4):
        if not error_rate or error_rate < 0:
            raise ValueError("Error_Rate must be a decimal less than 0.")
        made = self._of(Filter.create_dialect(_DIALECT, variant=str(version), keys=int(initial_capacity),
                                              rate=error_rate, growth=mode), version)
        self.__dict__.update(made.__dict__)

    @property
    def capacity(self):
        """The keys that its parts are for, so far; 0 before the first."""
        return self._filter.keys if self.count > 0 else 0

    @property
    def initial_capacity(self):
        """The keys of the first part."""
        return self._shape()[0]

    @property
    def scale(self):
        """How many times the keys each next part is for."""
        return int(self._filter.info().growth)

    @property
    def error_rate(self):
        """The rate that was asked for; see the module about the one that it has."""
        return self._shape()[1]

    @property
    def ratio(self):
        """How many times the rate each next part is for."""
        return _CHAIN.unpack_from(self._filter.to_dialect())[1]

    @property
    def filters(self):
        """Its parts as BloomFilters: copies, so what is added to them is not added here."""
        if self.count == 0:
            return []
        return [BloomFilter._from(part, self._version) for part in _parts(self._filter.to_dialect())]

    def _shape(self):
        """Initial capacity and error rate, as the file keeps them."""
        _, _, capacity, rate, _ = _CHAIN.unpack_from(self._filter.to_dialect())
        return capacity, rate

    def add(self, key):
        """Adds a key. True: it was there already."""
        return not self._filter.add(key if isinstance(key, (str, bytes)) else str(key))

    def union(self, other):
        """A new filter with the keys of both, which have one mode, initial capacity and error rate: parts of one size
        are joined bit by bit, so it has no more of them. Their counts are estimated."""
        if not isinstance(other, ScalableBloomFilter):
            raise ValueError("union takes another ScalableBloomFilter")
        mine, theirs = self._filter.to_dialect(), other._filter.to_dialect()
        if mine[:_CHAIN.size - 4] != theirs[:_CHAIN.size - 4] or self._version != other._version:
            raise ValueError("union takes filters of one mode, initial capacity and error rate")
        longer, shorter = sorted((list(_parts(mine)), list(_parts(theirs))), key=len, reverse=True)
        for i, part in enumerate(shorter):
            longer[i] = self._join(longer[i], part)
        sizes = struct.pack(f"<l{len(longer)}Q", len(longer), *map(len, longer))
        return self._from(mine[:_CHAIN.size - 4] + sizes + b"".join(longer), self._version)

    def _join(self, one, other):
        """One part with the bits of two."""
        rate, slices, bits, capacity, count = _PART.unpack_from(one)
        other_count = _PART.unpack_from(other)[4]
        joined = (int.from_bytes(one[_PART.size:], "little") | int.from_bytes(other[_PART.size:], "little")).to_bytes(
            len(one) - _PART.size, "little")
        found = Filter.from_dialect(_DIALECT, _PART.pack(rate, slices, bits, capacity, count) + joined,
                                    variant=str(self._version)).estimate()
        count = round(min(max(found, count, other_count), count + other_count))
        return _PART.pack(rate, slices, bits, capacity, count) + joined

    def __or__(self, other):
        return self.union(other)

    @classmethod
    def fromfile(cls, f, *, version=4):
        """Reads one. What follows in the file stays there."""
        head = _exactly(f, _CHAIN.size)
        number = _CHAIN.unpack(head)[-1]
        if not _is_chain(head) or not 0 <= number <= 1 << 16:
            raise ValueError("the file is not that of a ScalableBloomFilter; of a BloomFilter perhaps")
        sizes = _exactly(f, 8 * number)
        parts = [_exactly(f, size) for size in struct.unpack(f"<{number}Q", sizes)]
        return cls._from(b"".join([head, sizes, *parts]), version)

    def __repr__(self):
        return f"<ScalableBloomFilter capacity={self.capacity} error_rate={self.error_rate} count={self.count}>"
