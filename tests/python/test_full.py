# SPDX-License-Identifier: Apache-2.0
"""A filter that is full: up to which key it takes, what is raised then, and what is in it."""

import array
import copy
import pickle
import threading

import bloomery
from bloomery import Filter, Full
from optional import need, raises
from runner import case, main


def limit_of(f):
    """The rate at which the command `add` refuses."""
    facts = f.info()
    return max(facts.wanted_rate, 2 * facts.planned_rate)


def filled(f, keys):
    """What adding that many keys of a range raises; None if all go in."""
    try:
        f.add_many(range(keys))
    except Full as error:
        return error
    return None


class Named(Filter):
    """With attributes of its own."""


SHAPES = [(1, 0.01), (2, 1e-4), (10, 0.01), (100, 0.01), (1000, 1e-3), (20_000, 0.01)]


@case
def keys_fit_up_to_the_limit_of_the_command(c):
    for kind in ("blocked", "classic", "counting"):
        for keys, rate in SHAPES:
            name = f"{keys} at {rate}, {kind}"
            f = Filter(keys, rate, kind=kind)
            error = filled(f, 50 * keys + 1000)
            c.expect(error is not None, f"{name}: nothing was raised")
            facts = f.info(scan=True)
            c.expect(error.added >= keys and f.count_many(range(error.added)) == error.added, f"{name}: keys are lost")
            c.expect(f.adds == error.added and error.offset == error.added, f"{name}: {f.adds} adds, not {error.added}")
            c.expect(facts.live_rate <= limit_of(f) or error.added <= keys, f"{name}: {facts.live_rate}")
            if keys >= 1000:
                c.expect(facts.live_rate > 0.97 * limit_of(f), f"{name}: too early, at {facts.live_rate}")
            more = Filter(keys, rate, kind=kind, full="ignore")
            more.add_many(range(error.added + max(3, error.added // 100)))
            c.expect(more.info(scan=True).live_rate > limit_of(more), f"{name}: a hundredth more would have been allowed")


@case
def small_filters_have_the_room_of_their_block(c):
    f = Filter(2, 1e-4)
    c.expect(filled(f, 20) is None, "the third key was refused")
    f = Filter(10, 0.01)
    c.expect(filled(f, 40) is None and f.info(scan=True).live_rate < 0.01, "there is room for 40 at the rate asked for")


@case
def one_key_many_keys_and_arrays_stop_at_the_same_key(c):
    for kind in ("blocked", "counting"):
        for keys in (100, 3000):
            one, expected = Filter(keys, 0.01, kind=kind), 0
            with raises(c, Full, "full='ignore'", f"{keys}") as single:
                for i in range(10 * keys):
                    one.add(i)
                    expected += 1
            c.expect((single.error.added, single.error.new) == (0, 0), f"{vars(single.error)}")
            forms = {"list": list(range(10 * keys)), "iterator": iter(range(10 * keys)), "array": array.array("q", range(10 * keys)),
                     "narrow array": array.array("i", range(10 * keys)), "pieces": None}
            for name, form in forms.items():
                for concurrent in (False, True):
                    f = Filter(keys, 0.01, kind=kind, concurrent=concurrent)
                    form = iter(range(10 * keys)) if name == "iterator" else form
                    done = 0
                    with raises(c, Full, "full") as many:
                        if form is not None:
                            f.add_many(form)
                        for start in range(0, 10 * keys, 37):
                            f.add_many(list(range(start, start + 37)))
                            done += 37
                    c.expect(many.error.added + done == expected and f == one and f.adds == one.adds,
                             f"{name}: {many.error.added} added, not {expected}")
                    c.expect(form is None or expected * 0.98 < many.error.new <= expected, f"{name}: {many.error.new} new")
                    with raises(c, Full):
                        f.test_and_add_many(array.array("q", [1, 2, 10**12]))
                    with raises(c, Full):
                        f.update([10**12])
                    c.expect(f.adds == one.adds + 2, f"{f.adds} adds: the two keys that were there")


@case
def a_full_filter_takes_the_keys_that_it_has(c):
    for kind in ("blocked", "counting"):
        f = Filter(1000, 0.01, kind=kind)
        there = filled(f, 5000).added
        before = f.to_bytes() if kind == "blocked" else None
        c.expect(f.add(5) is False and f.add_many(range(there)) == 0, "a key that is there is refused")
        c.expect(f.add_many(array.array("q", range(there))) == 0, "an array of keys that are there is refused")
        c.expect(before is None or Filter.from_bytes(before) == f, "bits changed")
        with raises(c, Full) as found:
            f.add_many([1, 2, "absent", 3])
        c.expect(found.error.added == 2 and "absent" not in f, f"{found.error.added}")
        with raises(c, Full) as found:
            f.add_many(array.array("q", [1] * 3000 + [-5, 1]))
        c.expect(found.error.added == 3000 and -5 not in f, f"{found.error.added}")
        with raises(c, Full):
            f.add("absent")


@case
def nulls_before_the_refused_key_are_counted(c):
    np = need("numpy")
    pd = need("pandas")
    f = Filter(100, 0.01)
    there = filled(f, 1000).added
    for keys in ([1, None, 2, -7], pd.Series([1, None, 2, -7], dtype="Int64"), np.array([1, None, 2, -7], object)):
        with raises(c, Full) as found:
            f.add_many(keys)
        c.expect(found.error.added == 3 and found.error.new == 0 and -7 not in f, f"{vars(found.error)}")
    c.expect(f.count_many(range(there)) == there, "keys are lost")


@case
def room_comes_back_with_removals_and_clearing(c):
    f = Filter(1000, 0.01, kind="counting")
    there = filled(f, 5000).added
    f.remove_many(range(200))
    c.expect(f.add(10**9), "a key is refused though there is room")
    c.expect(filled(f, 150) is None, "removed keys don't go in again")
    with raises(c, Full):
        f.add_many(range(10**6, 10**6 + 1000))
    f.remove(500)
    f.remove(501)
    f.clear()
    c.expect(filled(f, 1000) is None and there > 1000, "a cleared filter is full")
    g = Filter(1000, 0.01)
    g.add_many(range(900))
    h = Filter(1000, 0.01)
    h.add_many(range(1000, 1900))
    g |= h
    with raises(c, Full):
        g.add(10**9)
    g &= h
    c.expect(g.add(10**9), "an intersection is full")


@case
def files_and_copies_are_full_as_well(c):
    f = Filter(1000, 0.01)
    filled(f, 900)
    f.save(c.path("f.bloom"))
    made = {"open": Filter.open(c.path("f.bloom"), copy=True), "bytes": Filter.from_bytes(f.to_bytes()), "copy": f.copy(),
            "pickle": pickle.loads(pickle.dumps(f)), "deepcopy": copy.deepcopy(f)}
    c.expect(filled(f, 5000).added > 1000, "the first")
    for name, again in made.items():
        c.expect(again.full == "raise", name)
        c.expect(filled(again, 5000) is not None and again == f, f"{name}: another limit")
    f.save(c.path("full.bloom"))
    for again in (Filter.open(c.path("full.bloom"), copy=True), Filter.from_bytes(f.to_bytes())):
        with raises(c, Full):
            again.add("one more")
    for again in (Filter.open(c.path("full.bloom"), copy=True, full="ignore"), Filter.from_bytes(f.to_bytes(), full="ignore")):
        c.expect(again.add("one more") and again.full == "ignore", "ignore")
    with raises(c, bloomery.ReadOnly):
        Filter.open(c.path("full.bloom")).add("x")
    with raises(c, ValueError, "can't grow"):
        Filter.open(c.path("full.bloom"), copy=True, full="grow")
    with raises(c, Full, "planned for 10 keys"):
        Filter.build((str(i) for i in range(5000)), 0.01, count=10)
    with raises(c, Full):
        Filter.build(array.array("q", range(5000)), 0.01, count=100)
    c.expect(Filter.build(array.array("q", range(5000)), 0.01, count=100, full="ignore").count_many(range(5000)) == 5000, "")


@case
def what_a_full_filter_does_is_chosen(c):
    f = Filter(100, 0.01, full="ignore")
    c.expect(filled(f, 300) is None and f.full == "ignore" and f.info(scan=True).live_rate > 0.1, "ignore")
    for again in (f.copy(), copy.deepcopy(f), *(pickle.loads(pickle.dumps(f, level)) for level in range(6))):
        c.expect(again.full == "ignore" and again.add_many(range(1000, 1010)) <= 10 and again == again.copy(), "a copy forgot it")
    f.full = "raise"
    with raises(c, Full):
        f.add_many(range(2000, 3000))
    f.full = "ignore"
    c.expect(filled(f, 2000) is None, "an attribute")
    g = Filter(100, 0.01, full="grow")
    c.expect(g.kind == "scalable" and g.full == "grow" and filled(g, 20_000) is None, "grow")
    c.expect(g.info(scan=True).live_rate < 0.01 and Filter(10, kind="scalable").full == "grow", "the rate of one that grew")
    c.expect(Filter.build(iter(map(str, range(3000))), full="grow").count_many(map(str, range(3000))) == 3000, "build")
    g.full = "grow"
    for call in (lambda: Filter(10, full="stop"), lambda: setattr(f, "full", "x"), lambda: setattr(f, "full", "grow"),
                 lambda: Filter(10, kind="classic", full="grow"), lambda: Filter.build(["a"], full="x")):
        with raises(c, ValueError, "grow"):
            call()
    with raises(c, TypeError):
        f.full = 5
    n = Named(10, full="ignore")
    n.name = "x"
    for again in (n.copy(), copy.deepcopy(n), *(pickle.loads(pickle.dumps(n, level)) for level in range(6))):
        c.expect(type(again) is Named and again.name == "x" and again.full == "ignore", "a subclass")


@case
def a_limit_of_memory_says_how_many_keys_were_added(c):
    for keys in (list(range(100_000)), array.array("q", range(100_000)), iter(range(100_000))):
        f = Filter(1000, 0.01, kind="scalable", memory=20_000)
        with raises(c, Full) as found:
            f.add_many(keys)
        c.expect(found.error.added == f.adds > 3000, f"{found.error.added}, {f.adds}")
        c.expect(f.count_many(range(found.error.added)) == found.error.added, "keys are lost")
        c.expect(0.98 * f.adds < found.error.new <= f.adds, f"{found.error.new} new ones of {f.adds}")
    with raises(c, Full) as found:
        f.add("one more than that")
    c.expect((found.error.added, found.error.new) == (0, 0), f"{found.error.added}, {found.error.new}")
    with raises(c, Full) as found:
        Filter.build(array.array("q", range(100_000)), 0.01, kind="scalable", count=1000, memory=20_000)
    c.expect(0.98 * f.adds < found.error.new <= found.error.added == f.adds, f"{found.error.new}, {found.error.added}")


@case
def threads_fill_a_filter_no_further(c):
    f = Filter(20_000, 0.01, concurrent=True)
    added = [0] * 4

    def work(number):
        for start in range(number, 200, 4):
            try:
                f.add_many(array.array("q", range(start * 500, start * 500 + 500)))
                added[number] += 500
            except Full as error:
                added[number] += error.added
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    facts = f.info(scan=True)
    # The last key may fall where most bits are, and raise the rate by more than a key does on average.
    c.expect(0.97 * limit_of(f) < facts.live_rate <= 1.002 * limit_of(f), f"{facts.live_rate}")
    c.expect(sum(added) == f.adds, f"{sum(added)} were said, {f.adds} are")


main()
