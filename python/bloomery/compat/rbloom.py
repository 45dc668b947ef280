# SPDX-License-Identifier: Apache-2.0
"""The interface of rbloom: `from bloomery.compat.rbloom import Bloom`.

As there, a key is any hashable object by its hash: 1, 1.0 and True are one key, and a filter with Python's own hash
lives as long as its process: save and pickle refuse it, copies within the process work. With a `hash_func` of your own
it can be saved and pickled. That makes an int of 128 bits of an object, with a sign or without: n and n - 2**128 are
one key. Files are Bloomery's, not rbloom's.

Kept different: an int is hashed as every other object is, so its bits are spread; and the rate is the one asked for at any size.
"""

import copy
import os

from bloomery._native import Filter

# Each process draws what these depend on, or takes addresses.
_OF_ONE_PROCESS = (hash, str.__hash__, bytes.__hash__, object.__hash__)
_NOT_KEPT = ("Python's hash differs from process to process, so another process would find none of the keys: give a "
             "hash_func of your own")


class Bloom:
    """A set of hashable objects that sometimes says yes wrongly, and never no."""

    __hash__ = None

    def __init__(self, expected_items, false_positive_rate, hash_func=hash):
        if not 0 < false_positive_rate < 1:
            raise ValueError("false_positive_rate must be above 0 and below 1")
        if expected_items <= 0:
            raise ValueError("expected_items must be at least 1")
        if not callable(hash_func):
            raise TypeError("hash_func must be callable")
        self._filter = Filter(expected_items, false_positive_rate, full="ignore")
        self._hash = hash_func

    @classmethod
    def _of(cls, filter_, hash_func):
        made = cls.__new__(cls)
        made._filter, made._hash = filter_, hash_func
        return made

    # ---- Keys

    def _key(self, item):
        number = self._hash(item)
        if not isinstance(number, int):
            raise TypeError("hash_func must return an int")
        if not -2**127 <= number < 2**128:
            raise OverflowError("hash_func must return an int of 128 bits: -2**127 to 2**128 - 1")
        return (number % 2**128).to_bytes(16, "little")

    def add(self, item):
        """Adds an object."""
        self._filter.add(self._key(item))

    def __contains__(self, item):
        return self._key(item) in self._filter

    def __bool__(self):
        return bool(self._filter)

    def __repr__(self):
        return f"<Bloom size_in_bits={self.size_in_bits} approx_items={self.approx_items:.1f}>"

    @property
    def hash_func(self):
        """The function that makes an int of an object."""
        return self._hash

    @property
    def size_in_bits(self):
        """Bits of the filter."""
        return self._filter.bits

    @property
    def approx_items(self):
        """How many different objects were added, estimated."""
        return self._filter.estimate()

    def copy(self):
        """An independent copy."""
        made = self._of(self._filter.copy(), self._hash)
        made.__dict__.update({name: value for name, value in vars(self).items() if name not in ("_filter", "_hash")})
        return made

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        made = self._of(self._filter.copy(), self._hash)
        memo[id(self)] = made
        made.__dict__.update({name: copy.deepcopy(value, memo) for name, value in vars(self).items()
                              if name not in ("_filter", "_hash")})
        return made

    def __getstate__(self):
        if self._hash in _OF_ONE_PROCESS:
            raise TypeError(f"cannot pickle this Bloom: {_NOT_KEPT}")
        return self.__dict__

    def clear(self):
        """Removes everything."""
        self._filter.clear()

    # ---- Sets

    def _check(self, other):
        if self._hash is not other._hash:
            raise ValueError("the filters have different hash functions")
        if self._filter.bits != other._filter.bits or self._filter.rate != other._filter.rate:
            raise ValueError("the filters have different sizes")

    def _as_filter(self, other):
        """A Bloom as it is; of an iterable one of its objects."""
        if isinstance(other, Bloom):
            self._check(other)
            return other
        made = self._of(self._filter.copy(), self._hash)
        made.clear()
        made._filter.add_many(map(made._key, other))
        return made

    def update(self, *others):
        """Adds the objects of filters and of iterables."""
        for other in others:
            if isinstance(other, Bloom):
                self._check(other)
                self._filter.merge(other._filter)
            else:
                self._filter.add_many(map(self._key, other))

    def intersection_update(self, *others):
        """Keeps what is in all of them."""
        for other in others:
            self._filter.intersect(self._as_filter(other)._filter)

    def union(self, *others):
        """A new filter of all."""
        made = self.copy()
        made.update(*others)
        return made

    def intersection(self, *others):
        """A new filter of what is in all of them."""
        made = self.copy()
        made.intersection_update(*others)
        return made

    def __or__(self, other):
        return self.union(other) if isinstance(other, Bloom) else NotImplemented

    def __and__(self, other):
        return self.intersection(other) if isinstance(other, Bloom) else NotImplemented

    def __ior__(self, other):
        if not isinstance(other, Bloom):
            return NotImplemented
        self.update(other)
        return self

    def __iand__(self, other):
        if not isinstance(other, Bloom):
            return NotImplemented
        self.intersection_update(other)
        return self

    def __eq__(self, other):
        if not isinstance(other, Bloom):
            return NotImplemented
        self._check(other)
        return self._filter == other._filter

    def issubset(self, other):
        """Whether each bit is set in the other one."""
        return self._filter <= self._as_filter(other)._filter

    def issuperset(self, other):
        """Whether each of the other's bits is set here."""
        return self._filter >= self._as_filter(other)._filter

    def __le__(self, other):
        return self.issubset(other) if isinstance(other, Bloom) else NotImplemented

    def __ge__(self, other):
        return self.issuperset(other) if isinstance(other, Bloom) else NotImplemented

    def __lt__(self, other):
        return self.issubset(other) and not self == other if isinstance(other, Bloom) else NotImplemented

    def __gt__(self, other):
        return self.issuperset(other) and not self == other if isinstance(other, Bloom) else NotImplemented

    # ---- Files

    @staticmethod
    def _may_be_kept(hash_func):
        if hash_func in _OF_ONE_PROCESS:
            raise ValueError(_NOT_KEPT)

    def save(self, path):
        """Writes a file."""
        self._may_be_kept(self._hash)
        self._filter.save(os.fspath(path))

    def save_bytes(self):
        """The bytes of such a file."""
        self._may_be_kept(self._hash)
        return self._filter.to_bytes()

    @classmethod
    def load(cls, path, hash_func):
        """Of a file; the hash function must be the one that it was made with."""
        cls._may_be_kept(hash_func)
        return cls._of(Filter.open(os.fspath(path), copy=True, full="ignore"), hash_func)

    @classmethod
    def load_bytes(cls, data, hash_func):
        """Of such bytes."""
        cls._may_be_kept(hash_func)
        return cls._of(Filter.from_bytes(data, full="ignore"), hash_func)
