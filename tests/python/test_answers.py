# SPDX-License-Identifier: Apache-2.0
"""BoolColumn: what NumPy, pandas and Python do with answers, beside what they do with an array or a list."""

import collections.abc
import copy
import pickle

import bloomery
from bloomery import Filter
from optional import need, raises
from runner import Skip, case, main


def column(bits):
    """A BoolColumn of these bools."""
    f = Filter(len(bits) + 1, 1e-9)
    f.add_many([str(i) for i, bit in enumerate(bits) if bit])
    return f.contains_many([str(i) for i in range(len(bits))])


LENGTHS = (0, 1, 7, 63, 64, 65, 127, 128, 129, 200)


def bits_of(count):
    """As many bools, of no simple period."""
    return [i * i % 7 in (1, 2) for i in range(count)]


@case
def a_column_of_pandas_gets_an_answer_a_row(c):
    pd = need("pandas")
    if int(pd.__version__.split(".", maxsplit=1)[0]) > 1:
        raise Skip("pandas 2 and later take NumPy's arrays as masks")
    f = Filter(100, 0.001)
    f.add_many(["a", "c"])
    df = pd.DataFrame({"x": ["a", "b", "c", "d"]}, index=[5, 3, 9, 1])
    expected = [True, False, True, False]
    answers = f.contains_many(df.x)
    df["seen"] = answers
    c.expect(df.seen.dtype == bool and df.seen.tolist() == expected, f"{df}")
    c.expect(df[df.seen].x.tolist() == ["a", "c"] and df.seen.sum() == 2, f"{df}")
    df.loc[5, "seen"] = False
    c.expect(df.seen.tolist() == [False, False, True, False] and answers.tolist() == expected, "the column can't change")
    made = df.assign(seen=answers, unseen=lambda frame: ~f.contains_many(frame.x))
    c.expect(made.seen.tolist() == expected and made.unseen.tolist() == [not bit for bit in expected], f"{made}")
    df.loc[:, "again"] = answers
    df.insert(0, "first", answers)
    c.expect(df.again.tolist() == df["first"].tolist() == expected, f"{df}")
    for series in (pd.Series(answers), pd.Series(answers, index=df.index), pd.Series(answers, dtype="boolean")):
        c.expect(len(series) == 4 and series.tolist() == expected, f"{series}")
    c.expect(pd.DataFrame({"seen": answers}).seen.tolist() == expected, "a frame of them")
    c.expect(df.to_csv(columns=["again"], index=False).split() == ["again", "True", "False", "True", "False"], "CSV")
    new = f.test_and_add_many(df.x)
    df["new"] = new
    c.expect(df.new.tolist() == [False, True, False, True] and df.new.dtype == bool, f"{df}")


@case
def a_mask_of_pandas_chooses_rows(c):
    pd = need("pandas")
    if int(pd.__version__.split(".", maxsplit=1)[0]) > 1:
        raise Skip("pandas 2 and later take NumPy's arrays as masks")
    f = Filter(100, 0.001)
    f.add_many(["a", "c"])
    df = pd.DataFrame({"x": ["a", "b", "c", "d"], "n": range(4)}, index=list("wxyz"))
    answers = f.contains_many(df.x)
    c.expect(pd.api.types.is_list_like(answers), "it is not like a list")
    for chosen in (df[answers], df.loc[answers], df.iloc[answers], df.loc[answers, :], df[answers & answers]):
        c.expect(chosen.x.tolist() == ["a", "c"], f"{chosen}")
    c.expect(df[~answers].x.tolist() == ["b", "d"] and df.loc[~answers, "n"].tolist() == [1, 3], "inverted")
    c.expect(df.x[answers].tolist() == ["a", "c"] and df.index[answers].tolist() == ["w", "y"], "a series, an index")
    c.expect(df.x.where(answers, "-").tolist() == ["a", "-", "c", "-"], "where")
    c.expect(df.n.mask(answers, 9).tolist() == [9, 1, 9, 3], "mask")
    later = df.n > 1
    for both in (later & answers, answers & later, later.to_numpy() & answers, answers & later.to_numpy()):
        c.expect(list(both) == [False, False, True, False], f"{both!r}")
    for either in (later | answers, answers | later, answers ^ ~later):
        c.expect(len(either) == 4, f"{either!r}")
    df.loc[answers, "n"] = -1
    c.expect(df.n.tolist() == [-1, 1, -1, 3], "assigned where they are true")
    c.expect((df.n.lt(0) == answers).all() and df.n.lt(0).eq(answers).all(), "compared with a series")
    with raises(c, (IndexError, ValueError)):
        df[answers[:3]]  # pylint: disable=expression-not-assigned


@case
def numpy_takes_answers_as_an_array(c):
    np = need("numpy")
    for count in LENGTHS:
        bits = bits_of(count)
        answers, array = column(bits), np.array(bits, dtype=bool)
        c.expect(np.array_equal(np.asarray(answers), array) and np.asarray(answers).dtype == bool, f"{count}")
        c.expect(answers.shape == array.shape and answers.ndim == 1 and answers.size == count, f"{count}: shape")
        c.expect(answers.dtype.kind == "b" and answers.dtype.type is np.bool_, f"{count}: dtype")
        for name in ("sum", "any", "all"):
            c.expect(getattr(np, name)(answers) == getattr(array, name)(), f"{count}: {name}")
            c.expect(getattr(answers, name)() == getattr(array, name)(), f"{count}: own {name}")
            c.expect(np.array_equal(getattr(np, name)(answers, keepdims=True), getattr(array, name)(keepdims=True)), name)
        c.expect(count == 0 or np.mean(answers) == answers.mean() == array.mean(), f"{count}: mean")
        c.expect(np.array_equal(np.arange(count)[answers], np.arange(count)[array]), f"{count}: mask")
        c.expect(np.array_equal(np.where(answers, 1, 2), np.where(array, 1, 2)), f"{count}: where")
        c.expect(np.array_equal(np.logical_not(answers), ~array) and np.count_nonzero(answers) == sum(bits), f"{count}")
    answers = column(bits_of(100))
    c.expect(answers.__array__().ctypes.data == np.asarray(answers).ctypes.data, "__array__ copies")
    c.expect(answers.__array__("u1").dtype == np.uint8 and answers.__array__(dtype=float).sum() == answers.sum(), "dtype")
    with raises(c, ValueError, "copy"):
        answers.__array__("u1", copy=False)
    c.expect(answers.__array__(bool, copy=False).ctypes.data == np.asarray(answers).ctypes.data, "copy=False copies")
    made = answers.__array__(copy=True)
    made[0] = not made[0]
    c.expect(made.flags.writeable and made[0] != answers[0] and answers[0] is bits_of(1)[0], "a copy is the answers")
    c.expect(np.array(answers, dtype="i8").tolist() == [int(bit) for bit in answers], "of another type")
    c.expect(np.array_equal(np.asarray(answers) == answers, np.ones(100, bool)), "compared")
    c.expect(np.array_equal(np.concatenate([answers, answers]), bits_of(100) * 2), "joined")


@case
def answers_are_a_sequence_of_python(c):
    c.expect(issubclass(bloomery.BoolColumn, collections.abc.Sequence), "it is not a Sequence")
    for count in LENGTHS:
        bits = bits_of(count)
        answers = column(bits)
        c.expect(list(answers) == bits and list(iter(answers)) == bits and tuple(reversed(answers)) == tuple(bits[::-1]), "")
        c.expect((True in answers, False in answers) == (True in bits, False in bits), f"{count}: in")
        c.expect((answers.count(True), answers.count(0), answers.count("x")) == (sum(bits), count - sum(bits), 0), "count")
        for start, stop, step in ((None, None, None), (1, -1, 1), (3, None, 5), (None, None, -1), (None, 2, -3), (9, 2, 1),
                                  (-70, None, 2), (64, 128, 1), (10**30, None, 1)):
            part = answers[start:stop:step]
            c.expect(type(part) is bloomery.BoolColumn and part.tolist() == bits[start:stop:step], f"{count}: {start}:{stop}:{step}")
        c.expect(answers == bits and bits == answers and answers == tuple(bits) and answers == column(bits), f"{count}: equal")
        c.expect(not answers != bits and answers != [*bits, True] and answers != "x" and answers != 5, f"{count}: unequal")
        c.expect(count == 0 or answers != [not bits[0], *bits[1:]], f"{count}: one differs")
        for made in (pickle.loads(pickle.dumps(answers, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)):
            c.expect(made == answers and type(made) is type(answers) and made.sum() == answers.sum(), f"{count}: pickle")
        c.expect(copy.copy(answers) == answers and copy.deepcopy([answers])[0] == answers, f"{count}: copy")
        other = column([i % 3 == 0 for i in range(count)])
        c.expect((~answers).tolist() == [not bit for bit in bits] and (~answers).sum() == count - sum(bits), "~")
        c.expect((answers & other).tolist() == [a and b for a, b in zip(answers, other)], "&")
        c.expect((answers | other).tolist() == [a or b for a, b in zip(answers, other)], "|")
        c.expect((answers ^ other).tolist() == [a != b for a, b in zip(answers, other)], "^")
    answers = column(bits_of(100))
    c.expect(answers[-1] is answers[99] and answers.index(True) == bits_of(100).index(True), "from the end")
    c.expect(answers.index(False, 1, -1) == bits_of(100).index(False, 1, 99), "index from a place on")
    match answers[:2]:
        case [first, second]:
            c.expect((first, second) == (answers[0], answers[1]), "match")
        case _:
            c.expect(False, "match takes it for something else")
    for index in (100, -101, 10**30):
        with raises(c, IndexError):
            answers[index]  # pylint: disable=pointless-statement
    for index in ("x", 1.0, [0]):
        with raises(c, TypeError, "ints and slices"):
            answers[index]  # pylint: disable=pointless-statement
    with raises(c, ValueError):
        column([True]).index(False)
    with raises(c, ValueError, "100", "99"):
        answers & answers[:99]  # pylint: disable=pointless-statement
    for wrong in ([True], 5):
        with raises(c, TypeError):
            answers | wrong  # pylint: disable=pointless-statement
    with raises(c, TypeError):
        hash(answers)
    with raises(c, ValueError, "damaged"):
        bloomery._native._answers(b"", 1)


@case
def hashes_do_not_have_a_value_for_each_row(c):
    pd = need("pandas")
    df = pd.DataFrame({"x": list("abcd")})
    with raises(c, ValueError, "64"):
        df["hash"] = Filter(10).hash_many(df.x)


main()
