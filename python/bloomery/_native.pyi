# SPDX-License-Identifier: Apache-2.0
"""Types of the extension. tests/python/test_stubs.py compares them with it."""

import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol, SupportsIndex, TypeVar, final

Buffer = Any  # bytes-like: collections.abc.Buffer is of Python 3.12
Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Kind = Literal["blocked", "classic", "counting", "scalable", "static"]
Key = str | bytes | bytearray | memoryview | SupportsIndex
_Self = TypeVar("_Self", bound="Filter")

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object = ...) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object = ...) -> object: ...

# Arrays of the buffer protocol are Any: no type says "an array of integers".
Keys = Iterable[Key] | _ArrowArray | _ArrowStream | Any

__version__: str
SEEN: int
NEW: int
PENDING: int

class Error(Exception):
    status: str
    offset: int

class NotAFilter(Error): ...
class Mismatch(Error): ...
class Corrupt(Error): ...
class SecretNeeded(Error): ...
class Full(Error): ...
class ReadOnly(Error): ...
class Unsupported(Error): ...
class Busy(Error): ...

class Info(NamedTuple):
    kind: str
    dialect: str | None
    layers: int
    blocks_per_key: int
    probes: int
    cell_bits: int
    counter_max: int
    bits: int
    bytes: int
    file_bytes: int
    memory_bytes: int
    planned_keys: int | None
    planned_rate: float
    growth: float
    adds: int
    hash: str
    seed: int
    keyed: bool
    secret_in_file: bool
    secret_known: bool
    writable: bool
    mapped: bool
    kernel: str
    rule: str | None
    note: str | None
    can_add: bool
    can_remove: bool
    can_merge: bool
    can_grow: bool
    has_bits: bool
    bits_set: int
    saturated_cells: int
    fill: float
    live_rate: float
    estimated_keys: float
    expected_rate: float

class Plan(NamedTuple):
    kind: str
    keys: int
    rate: float
    bytes: int
    bits: int
    bits_per_key: float
    limit_ratio: float
    blocks_per_key: int
    probes: int
    cell_bits: int
    absent_cache_lines: float
    present_cache_lines: float
    hash: str

class Comparison(NamedTuple):
    keys: float
    other_keys: float
    union_keys: float
    common_keys: float
    jaccard: float
    deviation: float
    jaccard_deviation: float
    within: bool
    other_within: bool
    equal: bool

class Dialect(NamedTuple):
    name: str
    description: str
    variants: str | None
    parameters: str | None
    reads: bool
    writes: bool
    creates: bool
    magic: bool

class Item(NamedTuple):
    key: bytes
    payload: bytes
    number: int
    again: bool
    deliveries: int

class SieveInfo(NamedTuple):
    engine: str
    partitions: int
    ordered: bool
    canon: str
    pushed: int
    synced: int
    new_keys: int
    seen: int
    pending: int
    forced: int
    marked: int
    queued: int
    leased: int
    acked: int
    distinct: int
    capacity: int
    over_capacity: bool
    live_rate: float
    expected_drops: float
    memory_budget: int
    memory: int
    seen_bytes: int
    pending_bytes: int
    queue_bytes: int
    planned: int
    dead: int

@final
class BoolColumn:
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> bool: ...
    def sum(self) -> int: ...
    def tolist(self) -> list[bool]: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...

class Filter:
    def __new__(
        cls: type[_Self],
        keys: int | None = None,
        rate: float | None = 0.01,
        *,
        kind: Kind = "blocked",
        seed: int = 0,
        secret: Buffer | bool | None = None,
        memory: int | None = None,
        concurrent: bool = False,
        integers: Literal[64, 32] = 64,
        note: str | None = None,
    ) -> _Self: ...
    @classmethod
    def open(
        cls: type[_Self], path: Path, *, copy: bool = False, secret: Buffer | None = None, verify: bool = False
    ) -> _Self: ...
    @classmethod
    def from_bytes(cls: type[_Self], data: Buffer, *, secret: Buffer | None = None) -> _Self: ...
    @classmethod
    def view(cls: type[_Self], data: Buffer, *, secret: Buffer | None = None) -> _Self: ...
    @classmethod
    def build(
        cls: type[_Self],
        keys: Keys,
        rate: float | None = 0.01,
        *,
        kind: Kind = "blocked",
        count: int | None = None,
        threads: int = 0,
        seed: int = 0,
        secret: Buffer | bool | None = None,
        memory: int | None = None,
        concurrent: bool = False,
        integers: Literal[64, 32] = 64,
        note: str | None = None,
    ) -> _Self: ...
    @classmethod
    def from_dialect(cls: type[_Self], name: str, data: Buffer, /, **parameters: Any) -> _Self: ...
    @classmethod
    def create_dialect(cls: type[_Self], name: str, /, **parameters: Any) -> _Self: ...
    def add(self, key: Key, /) -> bool: ...
    def __contains__(self, key: Key, /) -> bool: ...
    def remove(self, key: Key, /) -> bool: ...
    def count(self, key: Key, /) -> int: ...
    def add_many(self, keys: Keys, /) -> int: ...
    def remove_many(self, keys: Keys, /) -> int: ...
    def count_many(self, keys: Keys, /) -> int: ...
    def test_and_add_many(self, keys: Keys, /) -> BoolColumn: ...
    def contains_many(self, keys: Keys, *, out: Any = None) -> Any: ...
    def hash_many(self, keys: Keys, /) -> bytes: ...
    def update(self, *others: Filter | Keys) -> None: ...
    def merge(self, other: Filter, /) -> None: ...
    def intersect(self, other: Filter, /) -> None: ...
    def similarity(self, other: Filter, /) -> Comparison: ...
    def fold(self: _Self, times: int = 1) -> _Self: ...
    def drop_counters(self: _Self) -> _Self: ...
    def copy(self: _Self) -> _Self: ...
    def __copy__(self: _Self) -> _Self: ...
    def __deepcopy__(self: _Self, memo: Any, /) -> _Self: ...
    def clear(self) -> None: ...
    def __or__(self: _Self, other: Filter) -> _Self: ...
    def __and__(self: _Self, other: Filter) -> _Self: ...
    def __ior__(self: _Self, other: Filter) -> _Self: ...
    def __iand__(self: _Self, other: Filter) -> _Self: ...
    def __le__(self, other: Filter) -> bool: ...
    def __ge__(self, other: Filter) -> bool: ...
    def __bool__(self) -> bool: ...
    def save(self, path: Path, /) -> None: ...
    def to_bytes(self) -> bytes: ...
    def save_dialect(self, path: Path, name: str | None = None, /) -> None: ...
    def to_dialect(self, name: str | None = None, /) -> bytes: ...
    def verify(self) -> None: ...
    def estimate(self) -> float: ...
    def info(self, *, scan: bool = False) -> Info: ...
    def close(self) -> None: ...
    def __enter__(self: _Self) -> _Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    @property
    def kind(self) -> str: ...
    @property
    def dialect(self) -> str | None: ...
    @property
    def keys(self) -> int | None: ...
    @property
    def rate(self) -> float: ...
    @property
    def bits(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def adds(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def note(self) -> str | None: ...
    @property
    def rule(self) -> str | None: ...
    @property
    def writable(self) -> bool: ...
    @property
    def mapped(self) -> bool: ...
    @property
    def kernel(self) -> str: ...
    @property
    def closed(self) -> bool: ...

class Builder:
    def __new__(
        cls,
        rate: float,
        *,
        keys: int | None = None,
        memory: int | None = None,
        directory: Path | None = None,
        threads: int = 0,
        secret: Buffer | bool | None = None,
        seed: int = 0,
        integers: Literal[64, 32] = 64,
        note: str | None = None,
        unchecked: bool = False,
    ) -> Builder: ...
    def add(self, key: Key, /) -> None: ...
    def add_many(self, keys: Keys, /) -> int: ...
    def finish(self) -> Filter: ...
    def save(self, path: Path, /) -> None: ...

class Sieve:
    def __new__(
        cls,
        directory: Path | None = None,
        *,
        keys: int | None = None,
        rate: float = 0,
        memory: int | None = None,
        engine: Literal["memory", "disk"] | None = None,
        full: Literal["grow", "stop", "warn"] | None = None,
        ordered: bool = False,
        lease: float = 0,
        sync: float = 0,
        canon: str | None = None,
        existing: bool = False,
        read_only: bool = False,
        leases: int = 0,
        keep_leases: bool = False,
        max_deliveries: int = 0,
    ) -> Sieve: ...
    def push(self, key: Key, payload: Buffer | None = None, *, force: bool = False) -> int: ...
    def push_many(self, keys: Iterable[Key], /) -> bytearray: ...
    def mark_seen(self, key: Key, /) -> int: ...
    def mark_seen_many(self, keys: Iterable[Key], /) -> bytearray: ...
    def look(self, key: Key, /) -> int: ...
    def pop(self, count: int = 1, *, decide: bool = True) -> list[Item]: ...
    def ack(self, items: Item | int | Iterable[Item | int], /) -> int: ...
    def give_back(self, items: Item | int | Iterable[Item | int], /) -> int: ...
    def extend(self, items: Item | int | Iterable[Item | int], lease: float = 0, /) -> int: ...
    def commit(self) -> None: ...
    def flush(self) -> None: ...
    def status(self) -> SieveInfo: ...
    def close(self) -> None: ...
    def __enter__(self) -> Sieve: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

def plan(
    keys: int | None = None, rate: float | None = None, bytes: int | None = None, *, kind: Kind = "blocked"
) -> Plan: ...
def dialects() -> tuple[Dialect, ...]: ...
def recognise(data: Buffer, /) -> str | None: ...
