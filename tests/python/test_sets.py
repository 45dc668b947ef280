# SPDX-License-Identifier: Apache-2.0
"""Several filters: unions, intersections, comparisons."""

import io
from xml.etree import ElementTree

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


@case
def what_sets_can_do_and_filters_cannot_says_what_to_write(c):
    f, g = bloomery.Filter(100, kind="counting"), bloomery.Filter(100, kind="counting")
    f.add("a")
    for refused in (lambda: f - g, lambda: f ^ g, lambda: f.difference(g, "b"), lambda: f.symmetric_difference(g)):
        with raises(c, TypeError, "keys share bits", "if key not in other", "remove_many"):
            refused()
    for mixed in (lambda: f - {"a"}, lambda: {"a"} ^ f):
        with raises(c, TypeError, "unsupported operand"):
            mixed()
    with raises(c, TypeError, "similarity(other).common_keys"):
        f.isdisjoint(g)
    with raises(c, TypeError, "adds is", "estimate()"):
        len(f)
    for listed in (lambda: list(f), lambda: set(f), lambda: bloomery.Filter.build(f, count=5)):
        with raises(c, TypeError, "does not keep its keys", "contains_many"):
            listed()
    c.expect(bool(f) and not g and "a" in f and f.similarity(g).common_keys == 0, "what they name works")
    c.expect(f.discard("a") is None and "a" not in f, "discard")
    with raises(c, bloomery.Unsupported, "kind='counting'"):
        bloomery.Filter(10).discard("a")


@case
def names_of_other_packages_work_or_are_named(c):
    c.expect(bloomery.BloomFilter is bloomery.Filter, "BloomFilter")
    c.expect(bloomery.Filter(1e6, 0.01).keys == 1_000_000, "1e6")
    c.expect(bloomery.Filter.from_keys(["a", "b"], 0.001) == bloomery.Filter.build(["a", "b"], 0.001), "from_keys")
    with raises(c, TypeError, "'capacity' is called keys="):
        bloomery.Filter(capacity=10)
    with raises(c, TypeError, "'error_rate' is called rate="):
        bloomery.Filter(10, error_rate=0.1)
    with raises(c, TypeError, "Filter.build(keys)"):
        bloomery.Filter(["a", "b"])
    for call in (bloomery.Filter(10).save, bloomery.Filter.open):
        with raises(c, TypeError, "file.write(filter.to_bytes())", "from_bytes(file.read())"):
            call(io.BytesIO())
    with raises(c, TypeError, "os.PathLike"):
        bloomery.Filter.open(5.5)


@case
def a_notebook_shows_facts_and_a_bar(c):
    f = bloomery.Filter.build(range(1000), 0.01, note="<b>&")
    shown = f._repr_html_()
    for part in ("blocked", "1,000", "1 in 10", "&lt;b&gt;&amp;", "<svg", f"{f.info(scan=True).fill:.1%} of the cells"):
        c.expect(part in shown, f"{part}: {shown}")
    ElementTree.fromstring(f"<div>{shown}</div>")  # every element is closed
    for other in (bloomery.Filter(10), bloomery.Filter(10, full="grow"), bloomery.Filter(10, kind="counting"),
                  bloomery.Filter.build(range(9), kind="static"), bloomery.Filter.create_dialect("guava", keys=10, rate=0.1)):
        c.expect(other.kind in other._repr_html_(), other.kind)
    f.close()
    c.expect(f._repr_html_() == "<b>bloomery.Filter</b>, closed", f._repr_html_())


main()
