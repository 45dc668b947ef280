# SPDX-License-Identifier: Apache-2.0
"""Many keys: each form of an array or a sequence has the keys that its items have alone."""

import array
import random

import bloomery
from bloomery import Filter
from optional import need, raises
from runner import case, main


def same(c, keys, name):
    """Adding many is adding each; so are the answers."""
    one, many = Filter(5000, 1e-6), Filter(5000, 1e-6)
    items = list(keys)
    expected = [one.add(key) for key in items]
    c.expect(many.test_and_add_many(keys).tolist() == expected, f"{name}: answers of adding")
    c.expect(one == many and one.adds == many.adds, f"{name}: other keys")
    c.expect(many.count_many(keys) == len(items), f"{name}: a key is lost")
    hashes = many.hash_many(keys)
    c.expect(hashes == b"".join(many.hash_many([key]) for key in items), f"{name}: hashes")
    built = Filter.build(keys, 1e-6, count=5000, threads=2)
    c.expect(built == one, f"{name}: built otherwise")
    answers = Filter(10).contains_many(keys)
    c.expect(len(answers) == len(items) and answers.sum() == 0, f"{name}: an empty filter says yes")


@case
def sequences_and_iterators_have_the_keys_of_their_items(c):
    for count in (0, 1, 63, 64, 65, 255, 256, 1023, 1024, 1025, 3000):
        keys = [f"key {i}" for i in range(count)]
        same(c, keys, f"list of {count}")
        same(c, tuple(keys), f"tuple of {count}")
    same(c, dict.fromkeys(keys), "dict")
    same(c, [b"a", "b", 3, bytearray(b"d"), memoryview(b"e"), "", b"", 2**63, "\u20ac" * 400] * 300, "mixture")
    f = Filter(5000)
    c.expect(f.add_many(f"{i}" for i in range(3000)) > 2900, "generator")
    c.expect(f.add_many(set(map(str, range(3000)))) == 0, "set")


@case
def integers_of_any_width_order_and_stride_are_one_key(c):
    np = need("numpy")
    for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">i4", ">i8", ">u8"):
        for count in (0, 1, 65, 300, 1100):
            numbers = (np.arange(count) * 37 % 120).astype(kind)
            same(c, numbers, f"{count} of {kind}")
        wide = np.arange(1100).astype(kind)
        for part in (wide[::-1], wide[5:900:3], wide[::-7]):
            same(c, part, f"a part of {kind}")
    for kind in "bBhHiIlLqQ":
        same(c, array.array(kind, [0, 1, 100]), f"array.array {kind}")
    same(c, memoryview(b"abc"), "memoryview")
    same(c, np.array([-1, -2**63, 2**63 - 1]), "extremes")
    same(c, np.array([2**64 - 1, 0], "u8"), "extremes without sign")
    same(c, np.broadcast_to(np.int64(5), 700), "stride 0")


@case
def strings_of_numpy_are_their_items(c):
    np = need("numpy")
    texts = ["", "a", "bäc", "\u20ac", "\U0001f600!", "a\0b"] * 200
    same(c, np.array(texts), "U")
    same(c, np.array(texts).astype(">U6"), "swapped U")
    same(c, np.array(texts)[::-2], "a part of U")
    same(c, np.array([text.encode() for text in texts]), "S")
    same(c, np.array(texts, dtype=object), "objects")
    rows = np.frombuffer(random.Random(3).randbytes(20 * 600), "u1").reshape(600, 20)
    f, g = Filter(1000, 1e-6), Filter(1000, 1e-6)
    f.add_many(rows)
    for row in rows:
        g.add(row.tobytes())
    c.expect(f == g, "rows of bytes are other keys")
    c.expect(f.count_many(rows.view("V20").ravel()) == 600, "V")
    with raises(c, ValueError, "surrogate"):
        f.add_many(np.array(["\ud800"]))


@case
def series_of_pandas_are_columns(c):
    pd = need("pandas")
    for series in (pd.Series(range(1000)), pd.Series([f"x{i}" for i in range(1000)]), pd.Index(["a", "b"]),
                   pd.Series(["a", "b", "a"], dtype="category"), pd.Series(range(10))[::2]):
        same(c, series, f"{series.dtype}")
    for bad in (pd.Series([1.5]), pd.Series([True]), pd.Series(["a", 1.5])):
        with raises(c, TypeError):
            Filter(10).add_many(bad)


@case
def a_missing_value_is_not_a_key_and_answers_false(c):
    np, pd = need("numpy"), need("pandas")
    nan = float("nan")
    columns = {"list": ["a", None, "b", nan, 5], "tuple": ("a", None, np.nan, "b"), "object": pd.Series(["a", None, "b", np.nan, pd.NA]),
               "str": pd.Series(["a", pd.NA, "b"], dtype="string"), "Int64": pd.Series([1, None, 2**53 + 1], dtype="Int64"),
               "UInt64": pd.Series([1, None, 2**64 - 1], dtype="UInt64"), "NumPy's": np.array(["a", None, "b"], object),
               "category": pd.Series(["a", None, "b", "a"], dtype="category"), "none": [None, nan] * 700, "NaT": [pd.NaT, "a"],
               "category of ints": pd.Series(pd.Categorical([3, None, 5], categories=[3, 5])),
               "float32": pd.Series(["a", float(np.float32("nan"))]), "long": ["a", None, pd.NA] * 1000}
    for name, keys in columns.items():
        items = [None if item is None or item is pd.NA or item is pd.NaT or item != item else item
                 for item in (keys.astype(object) if hasattr(keys, "astype") else keys)]
        real = [item for item in items if item is not None]
        one, many = Filter(5000, 1e-9), Filter(5000, 1e-9)
        expected = [item is not None and one.add(item) for item in items]
        c.expect(many.test_and_add_many(keys).tolist() == expected, f"{name}: new")
        c.expect(many == one and many.adds == len(real), f"{name}: {many.adds} adds, not {len(real)}")
        c.expect(many.contains_many(keys).tolist() == [item is not None for item in items], f"{name}: answers")
        c.expect(many.count_many(keys) == len(real) and "nan" not in many and "<NA>" not in many, f"{name}: count")
        c.expect(Filter.build(keys, 1e-9, count=5000) == one, f"{name}: built")
        hashes = many.hash_many(keys)
        c.expect([hashes[16 * i:16 * i + 16] == bytes(16) for i in range(len(items))] == [item is None for item in items], name)
    for alone in (None, nan, pd.NA):
        with raises(c, TypeError):
            Filter(10).add(alone)


@case
def a_table_is_refused_not_taken_for_its_names(c):
    pd = need("pandas")
    df = pd.DataFrame({"k": ["a", "b"], "n": [1, 2]})
    f = Filter(100)
    for call in (f.add_many, f.contains_many, f.count_many, f.test_and_add_many, f.hash_many, f.update, Filter.build,
                 lambda keys: Filter.build(keys, kind="static"), bloomery.Builder(0.01).add_many,
                 bloomery.Sieve().push_many, bloomery.Sieve().mark_seen_many):
        for table in (df, df[["k"]]):
            with raises(c, TypeError, "several columns", "one of them"):
                call(table)
    c.expect(f.adds == 0 and f.add_many(df.k) == 2 and f.add_many(df.columns) == 2, "a column and the names")


@case
def what_has_no_keys_is_refused(c):
    np = need("numpy")
    f = Filter(100)
    for keys, part in (("text", "one key"), (b"text", "one key"), (bytearray(b"text"), "one key"), (5, "iterable"),
                       (None, "iterable"), (np.zeros(3), "format 'd'"), (np.zeros(3, bool), "format '?'"),
                       (np.zeros(3, complex), "Zd"), (np.zeros((2, 2), "i4"), "ravel"), (np.int64(1), ""),
                       (np.array(5), "single"), (np.zeros(2, [("a", "i4"), ("b", "i4")]), "format"),
                       (np.array(["2020-01-01"], "M8[D]"), "datetime64"), ([1, 2.5], "key 1: float"),
                       (np.array(["a", 1.5], object), "key 1"), ([["a"]], "key 0")):
        for call in (f.contains_many, Filter(100).add_many, f.hash_many, lambda keys: Filter.build(keys, count=10)):
            with raises(c, TypeError, part):
                call(keys)
    with raises(c, OverflowError, "key 2"):
        f.add_many([1, 2, 2**70])
    c.expect(f.adds == 2, "keys before the bad one are added")


@case
def an_iterator_that_raises_leaves_what_came_before(c):
    def keys(count):
        for i in range(count):
            yield f"{i}"
        raise LookupError("midway")
    for count in (0, 1, 1024, 1500):
        f = Filter(5000, 1e-6)
        with raises(c, LookupError, "midway"):
            f.add_many(keys(count))
        c.expect(f.count_many(map(str, range(count))) == count and f.adds == count, f"{count}: {f.adds} adds")

    def closes(f):
        yield "a"
        f.close()
        yield "b"
    f = Filter(10)
    with raises(c, ValueError, "closed"):
        f.add_many(closes(f))


@case
def answers_are_arrays_of_bools(c):
    np = need("numpy")
    f = Filter(5000, 1e-6)
    keys = [str(i) for i in range(3000)]
    f.add_many(keys[::3])
    answers = f.contains_many(keys)
    expected = [key in f for key in keys]
    c.expect(answers.tolist() == expected and list(answers) == expected, "list")
    c.expect(answers[0] is True and answers[-1] is expected[-1], "items")
    taken = np.asarray(answers)
    c.expect(taken.dtype == bool and taken.tolist() == expected, "array")
    c.expect(np.asarray(answers).ctypes.data == taken.ctypes.data, "it was copied")
    c.expect(memoryview(answers).readonly and memoryview(answers).format == "?", "buffer")
    with raises(c, IndexError):
        answers[3000]  # pylint: disable=pointless-statement
    out = np.zeros(6000, bool)[::2]
    c.expect(f.contains_many(keys, out=out) is out and out.tolist() == expected, "out")
    for bad in (np.zeros(2999, bool), np.zeros(3000, "i4"), np.zeros((3000, 1), bool)):
        with raises(c, ValueError, "3000"):
            f.contains_many(keys, out=bad)
    with raises(c, (BufferError, ValueError)):
        f.contains_many(keys, out=b"x" * 3000)
    with raises(c, TypeError):
        bloomery.BoolColumn()


@case
def the_number_of_keys_is_taken_or_required(c):
    c.expect(Filter.build(["a", "b"]).keys == 2, "len")
    c.expect(Filter.build([]).keys == 1, "none")
    with raises(c, TypeError, "count"):
        Filter.build(iter(["a"]))
    c.expect("a" in Filter.build(iter(["a"]), count=10), "count")
    for kind in ("scalable", "static", "classic", "counting"):
        f = Filter.build((str(i) for i in range(2000)), 1e-3, kind=kind, count=2000)
        c.expect(f.kind == kind and f.count_many(map(str, range(2000))) == 2000, kind)
    f = Filter.build((str(i) for i in range(2000)), 1e-3, kind="static")
    c.expect(f.adds == 2000 and f.nbytes < 3300, f"{f.info()}")
    builder = bloomery.Builder(1e-3)
    builder.add("0")
    builder.add_many(str(i) for i in range(1999, 0, -1))
    c.expect(builder.finish().to_bytes() == f.to_bytes(), "another order makes other bytes")
    for call in (builder.finish, lambda: builder.add("x"), lambda: builder.add_many(["x"])):
        with raises(c, ValueError, "finished"):
            call()
    with raises(c, (bloomery.Unsupported, bloomery.ReadOnly)):
        f.add("x")


main()
