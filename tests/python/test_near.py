# SPDX-License-Identifier: Apache-2.0
"""bloomery.Near: the bands of the model and of dedupe --near, and what a filter of them finds."""

import json
import os
import random
import sys
import threading

from bloomery import Filter, Near
from optional import raises
from runner import case, main

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path += [os.path.join(TESTS, "reference"), os.path.join(TESTS, "dialect")]
import near_model  # noqa: E402  pylint: disable=wrong-import-position


def text_of(source, count):
    """Some words."""
    return [f"word{source.randrange(400)}" for _ in range(count)]


def documents(count):
    """Documents of which every other one has a word changed of the one before."""
    source, made = random.Random(5), []
    for i in range(count):
        if i % 2:
            made.append(made[-1][:])
            made[-1][source.randrange(len(made[-1]))] = "changed"
        else:
            made.append(text_of(source, source.choice((1, 3, 60, 200))))
    return made


@case
def bands_are_those_of_the_model(c):
    for threshold, options, model in ((0.8, {}, near_model.Near(0.8)),
                                      (0.6, {"permutations": 64, "shingle": 3}, near_model.Near(0.6, 64, 3)),
                                      (0.5, {"bands": 9, "rows": 4}, near_model.Near(0.5, bands=9, rows=4))):
        near = Near(1000, threshold, **options)
        c.expect((near.bands, near.rows) == (model.bands, model.rows), f"{threshold}: {near.bands} bands of {near.rows}")
        for words in documents(12):
            expected = model.bands_of(" ".join(words).encode())
            found = [(int.from_bytes(key[:4], "little"), tuple(int.from_bytes(key[at:at + 4], "little")
                                                               for at in range(4, len(key), 4))) for key in near.bands_of(words)]
            c.expect(found == expected, f"{threshold}: {words[:5]}")
        c.expect(near.bands_of([]) == [] and len(near.signature(["a"])) == 4 * near.values, "no words")


@case
def a_filter_of_bands_drops_what_dedupe_drops(c):
    texts = documents(300)
    near = Near(1000, 0.7, rate=1e-9)
    seen, kept = Filter(near.keys, near.key_rate), []
    for i, words in enumerate(texts):
        keys = near.bands_of(words)
        if seen.count_many(keys) == 0:
            seen.add_many(keys)
            kept.append(i)
    c.expect(150 <= len(kept) < 250, f"{len(kept)} were kept")
    c.file("in.jsonl", "".join(json.dumps({"i": i, "text": " ".join(words)}) + "\n" for i, words in enumerate(texts)))
    c.run("dedupe --unit document --jsonl text --near 0.7 -p 1e-9 -q -o out.jsonl in.jsonl")
    with open(c.path("out.jsonl"), encoding="ascii") as file:
        c.expect([json.loads(line)["i"] for line in file] == kept, "the command keeps others")


@case
def threads_and_iterators_make_the_same_bands(c):
    near = Near(1000)
    words = [f"word{i}" for i in range(30_000)]
    expected, results = near.bands_of(words), []
    threads = [threading.Thread(target=lambda: results.append(near.bands_of(iter(words)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    c.expect(results == [expected] * 4, "other bands")


@case
def a_plan_says_its_curve_and_refuses_what_cannot_be(c):
    near = Near(1e6, 0.8)
    c.expect(near.documents == 1_000_000 and near.keys == near.documents * near.bands and near.nbytes > 10**7, f"{near.keys}")
    c.expect(near.chance(0.95) > 0.99 and near.chance(0.4) < 0.01 and abs(near.chance(0) - 1e-5) < 1e-6, f"{near.chance(0)}")
    c.expect(near.similarity(0) == 0 and near.similarity(near.bands) == 1 and 0.5 < near.similarity(1) < near.similarity(5) < 1,
             f"{near.similarity(1)}")
    for arguments, options, part in (((0,), {}, "documents"), ((5, 0), {}, "threshold"), ((5, float("nan")), {}, "threshold"),
                                     ((5,), {"bands": 3}, "together"), ((5,), {"bands": 100, "rows": 100}, ""),
                                     ((5,), {"permutations": 5000}, ""), ((5,), {"shingle": 65}, ""), ((5,), {"rate": 2}, "")):
        with raises(c, ValueError, part):
            Near(*arguments, **options)
    for words, part in (("a text", "list of keys"), (5, "iterable"), ([1.5], "key 0")):
        for method in (near.bands_of, near.signature):
            with raises(c, TypeError, part):
                method(words)


main()
