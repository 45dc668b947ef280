# SPDX-License-Identifier: Apache-2.0
"""Several filters: unions, intersections, comparisons."""

import bloomery
from bloomery import Filter
from optional import raises
from runner import case, main


def of(keys, *arguments, **options):
    """A filter of keys, for 5,000 of them unless told."""
    f = Filter(*(arguments or (5000, 0.001)), **options)
    f.add_many(keys)
    return f


LEFT, RIGHT = [f"{i}" for i in range(2000)], [f"{i}" for i in range(1500, 4000)]


@case
def unions_have_the_keys_of_both_bit_for_bit(c):
    for kind in ("blocked", "classic", "counting"):
        a, b = of(LEFT, kind=kind), of(RIGHT, kind=kind)
        whole = of(LEFT + RIGHT, kind=kind)
        c.expect((a | b) == whole and a != whole, f"{kind}: |")
        c.expect(a <= whole and whole >= b and not whole <= a, f"{kind}: <=")
        d = a.copy()
        d |= b
        e = a.copy()
        e.merge(b)
        g = a.copy()
        g.update(b, ["new"], [])
        c.expect(d == whole == e and "new" in g and g >= whole, f"{kind}: in place")
        both = a & b
        c.expect(all(key in both for key in RIGHT[:500]) and both <= a and both <= b, f"{kind}: &")
        d = a.copy()
        d &= b
        c.expect(d == both, f"{kind}: &=")
    a = of(LEFT)
    a |= a  # itself
    c.expect(a == of(LEFT) or a.adds == 2 * len(LEFT), "with itself")


@case
def names_of_sets_make_new_filters(c):
    a, b, whole = of(LEFT), of(RIGHT), of(LEFT + RIGHT)
    before = a.to_bytes()
    c.expect(a.union(b) == whole == a.union(RIGHT) and "new" in a.union(b, ["new"]), "union")
    c.expect(a.intersection(b) == a & b and a.intersection(b, b) == a & b and a.union() == a == a.intersection(), "intersection")
    c.expect(a.issubset(whole) and whole.issuperset(b) and not whole.issubset(a), "subsets")
    c.expect(a < whole and whole > b and not a < a and not a > a and a <= a, "orders")  # pylint: disable=comparison-with-itself
    c.expect(a.to_bytes() == before, "a filter was changed")
    for call in (lambda: a.intersection(LEFT), lambda: a.issubset(LEFT), lambda: a < LEFT):
        with raises(c, TypeError):
            call()
    with raises(c, bloomery.Mismatch):
        a.union(Filter(10))


@case
def what_does_not_go_together_is_refused_by_name(c):
    a = of(LEFT)
    for other in (Filter(5000, 0.01), Filter(5000, 0.001, seed=5), Filter(5000, 0.001, kind="classic"),
                  Filter(5000, 0.001, integers=32)):
        for call in (lambda: a | other, lambda: a & other, lambda: a.merge(other), lambda: a <= other,
                     lambda: a.similarity(other)):
            with raises(c, bloomery.Mismatch):
                call()
        c.expect(a != other and not a == other, "equal")
    for call in (lambda: a | {"x"}, lambda: {"x"} | a, lambda: a & 5, lambda: a < 5, lambda: a.merge({"x"}),
                 lambda: a <= "x", lambda: a.similarity(None)):
        with raises(c, TypeError):
            call()
    c.expect(a != "x" and a == of(LEFT), "the left one has changed")


@case
def filters_that_are_not_compared_are_equal_if_their_files_are(c):
    for kind in ("static", "scalable"):
        a, b = (Filter.build(LEFT, 0.001, kind=kind, count=2000) for _ in range(2))
        other = Filter.build(RIGHT, 0.001, kind=kind, count=2000)
        c.expect(a == b and a != other and not a == Filter(10), kind)
        with raises(c, bloomery.Unsupported):
            a <= b  # pylint: disable=pointless-statement


@case
def similarity_is_near_the_truth(c):
    a, b = of(LEFT), of(RIGHT)
    found = a.similarity(b)
    c.expect(abs(found.keys - 2000) < 60 and abs(found.other_keys - 2500) < 60, f"{found}")
    c.expect(abs(found.common_keys - 500) <= 6 * found.deviation, f"{found}")
    c.expect(a.similarity(a).equal and a.similarity(a).within, "itself")
    c.expect(abs(a.estimate() - 2000) < 60, f"{a.estimate()}")


@case
def folded_filters_and_dropped_counters_have_all_keys(c):
    a = Filter(4096, 0.001)
    while a.bits % 2048:
        a = Filter(a.keys + 64, 0.001)
    a.add_many(LEFT)
    half = a.fold()
    c.expect(half.nbytes * 2 == a.nbytes and half.count_many(LEFT) == len(LEFT), f"{half}")
    with raises(c, ValueError):
        a.fold(31)
    with raises(c, ValueError):
        a.fold(-1)
    counting = of(LEFT, kind="counting")
    c.expect(counting.drop_counters() == of(LEFT), "dropped counters")
    with raises(c, bloomery.Unsupported):
        a.drop_counters()
    a.clear()
    c.expect(not a and a.count_many(LEFT) == 0, "clear")


main()
