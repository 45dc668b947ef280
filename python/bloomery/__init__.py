# SPDX-License-Identifier: Apache-2.0
"""Bloom filters whose false-positive rate is the one you asked for.

    from bloomery import Filter

    seen = Filter(1_000_000, 0.001)
    seen.add("https://example.org/")
    "https://example.org/" in seen        # True
    "https://example.org/other" in seen   # False, but for one in a thousand
    seen.save("seen.bloom")

A key is a str (its UTF-8), bytes-like (its bytes) or an int (8 bytes, two's complement, least
significant first). Any other object is a TypeError that says what to do. docs/python.md is the guide.
"""

import _collections_abc as _abc  # which every interpreter has loaded
import os as _os

from bloomery._columns import duplicated, unique
from bloomery._dedupe import Deduper
from bloomery._native import (  # noqa: F401
    NEW,
    PENDING,
    SEEN,
    BoolColumn,
    Builder,
    Busy,
    Changed,
    Comparison,
    Corrupt,
    Dialect,
    Error,
    Filter,
    Full,
    Info,
    Item,
    Mismatch,
    Near,
    NotAFilter,
    Plan,
    ReadOnly,
    SecretNeeded,
    Sieve,
    SieveInfo,
    Unsupported,
    __version__,
    dialects,
    plan,
    recognise,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as _Any

    _Path = str | bytes | _os.PathLike[str] | _os.PathLike[bytes]

__all__ = [
    "NEW", "PENDING", "SEEN", "BloomFilter", "BoolColumn", "Builder", "Busy", "Changed", "Comparison", "Corrupt",
    "Deduper", "Dialect", "Error", "Filter", "Full", "Info", "Item", "Mismatch", "Near", "NotAFilter", "Plan", "ReadOnly",
    "SecretNeeded", "Sieve", "SieveInfo", "Unsupported", "__version__", "convert", "dialects",
    "duplicated", "plan", "recognise", "unique",
]

Deduper.__module__ = "bloomery"
BloomFilter = Filter  # the name that most packages have

_abc.Sequence.register(BoolColumn)


def convert(source: "_Path", target: "_Path", *, to: str | None = None, read_as: str | None = None, **parameters: "_Any") -> None:
    """Reads a filter's file and writes it as a Bloomery file, or as one of the dialect `to`.

    `read_as` names the dialect of `source`. Without it the file is Bloomery's, or one that is recognised.
    `parameters` say what its bytes do not (see Dialect.load_needs). The keys stay as they were
    hashed, so a filter can only be written in a dialect that has its hash and its shape: else
    Mismatch.
    """
    name = read_as
    if name is None:
        with open(source, "rb") as file:
            name = recognise(file.read(64))
    if name is None:
        filter_ = Filter.open(source)
    else:
        with open(source, "rb") as file:
            filter_ = Filter.from_dialect(name, file.read(), **parameters)
    with filter_:
        if to is None:
            filter_.save(_os.fspath(target))
        else:
            filter_.save_dialect(_os.fspath(target), to)
