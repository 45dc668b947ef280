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
    def _read(cls, f, n, version):
        data = f.read(n) if n > 0 else f.read()
        if n > 0 and len(data) != n:
            raise ValueError(f"the file ends after {len(data)} bytes, and {n} were wanted")
        made = cls.__new__(cls)
        made._filter = Filter.from_dialect(_DIALECT, data, variant=str(version))
        made._version = version
        return made

    def __getstate__(self):
        return {"filter": self._filter.to_bytes(), "version": self._version}

    def __setstate__(self, state):
        self._filter = Filter.from_bytes(state["filter"])
        self._version = state["version"]


class BloomFilter(_Base):
    """A filter for `capacity` keys; IndexError if more are added."""

    def __init__(self, capacity, error_rate=0.001, *, version=4):
        if not 0 < error_rate < 1:
            raise ValueError("Error_Rate must be between 0 and 1.")
        if not capacity > 0:
            raise ValueError("Capacity must be > 0")
        self._version = version
        self._filter = Filter.create_dialect(_DIALECT, variant=str(version), keys=int(capacity), rate=error_rate)

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

    def add(self, key, skip_check=False):  # pylint: disable=unused-argument
        """Adds a key. True: it was there already."""
        if self.count > self.capacity:
            raise IndexError("BloomFilter is at capacity")
        return not self._filter.add(_key(key))

    def copy(self):
        """An independent copy."""
        made = type(self).__new__(type(self))
        made._filter, made._version = self._filter.copy(), self._version
        return made

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
        """Reads one; of `n` bytes, or to the end."""
        made = cls._read(f, n, version)
        if made._filter.kind == "scalable":
            raise ValueError("the file has a ScalableBloomFilter")
        return made

    def __repr__(self):
        return f"<BloomFilter capacity={self.capacity} error_rate={self.error_rate} count={self.count}>"


class ScalableBloomFilter(_Base):
    """A filter that grows: each next part is for `mode` times the keys of the one before."""

    def __init__(self, initial_capacity=100, error_rate=0.001, mode=_Base.LARGE_SET_GROWTH, *, version=4):
        if not error_rate or error_rate < 0:
            raise ValueError("Error_Rate must be a decimal less than 0.")
        self._version = version
        self._filter = Filter.create_dialect(_DIALECT, variant=str(version), keys=int(initial_capacity),
                                             rate=error_rate, growth=mode)

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

    def _shape(self):
        """Initial capacity and error rate, as the file keeps them."""
        _, _, capacity, rate = struct.unpack_from("<idQd", self._filter.to_dialect())
        return capacity, rate

    def add(self, key):
        """Adds a key. True: it was there already."""
        return not self._filter.add(_key(key))

    @classmethod
    def fromfile(cls, f, *, version=4):
        """Reads one."""
        made = cls._read(f, -1, version)
        if made._filter.kind != "scalable":
            raise ValueError("the file has a BloomFilter")
        return made

    def __repr__(self):
        return f"<ScalableBloomFilter capacity={self.capacity} error_rate={self.error_rate} count={self.count}>"
