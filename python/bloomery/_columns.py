# SPDX-License-Identifier: Apache-2.0
"""Streams and columns without their repetitions: bloomery.unique and bloomery.duplicated."""

from _collections_abc import Callable, Iterable, Iterator  # which every interpreter has loaded

from bloomery._native import BoolColumn, Filter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    _Item = TypeVar("_Item")

_FIRST = 1 << 16  # keys that a filter of an unknown number begins with


def _filter_for(filter_: Filter | None, rate: float, count: int | None) -> Filter:
    if filter_ is None:
        return Filter(max(count, 1), rate) if count is not None else Filter(_FIRST, rate, full="grow")
    if not isinstance(filter_, Filter):
        raise TypeError(f"filter must be a bloomery.Filter, not {type(filter_).__name__}")
    return filter_


def unique(iterable: "Iterable[_Item]", rate: float = 1e-6, *, key: "Callable[[_Item], Any] | None" = None, count: int | None = None,
           filter: Filter | None = None) -> "Iterator[_Item]":  # pylint: disable=redefined-builtin
    """Yields the items that were not there before, in their order, as they come.

    An item, or `key(item)`, is a key as those of Filter.add: a str, bytes or an int. A new item is taken for a
    repeated one, and left out, with a probability of at most `rate`; a repeated one is never yielded. The filter
    grows as needed, or is planned for `count` different items, and then raises Full when there are far more.
    `filter` is one of your own: what it has was seen, and it has afterwards what was yielded.

        for url in bloomery.unique(map(str.strip, open("urls.txt"))):
            ...
    """
    add: Callable[["Any"], bool] = _filter_for(filter, rate, count).add
    items = iter(iterable)
    return (item for item in items if add(item if key is None else key(item)))


def duplicated(column: "Any", rate: float = 1e-6, *, filter: Filter | None = None) -> BoolColumn:  # pylint: disable=redefined-builtin
    """Which values of a column occurred before in it: a BoolColumn, as pandas' duplicated() with keep="first".

    `column` is a list, an iterator, a Series, or an array of NumPy or Arrow, as Filter.add_many takes them. A value
    is marked wrongly with a probability of at most `rate`; a repeated one is always marked. Missing values (None,
    NaN, a null) are not marked. `filter` is one of your own: for a column in several pieces, and for what was seen
    earlier.

        table = table[numpy.asarray(~bloomery.duplicated(table.url))]
    """
    if not hasattr(column, "__len__"):
        column = list(column)
    seen = _filter_for(filter, rate, len(column))
    new = seen.test_and_add_many(column)
    seen_now: BoolColumn = seen.contains_many(column)
    return ~new & seen_now
