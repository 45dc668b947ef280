# SPDX-License-Identifier: Apache-2.0
"""bloomery.Deduper against 'bloomery dedupe --unit' over the same documents: what is left, states, reports; and
what only a library meets: other objects, threads, exceptions, memory."""

import copy
import gc
import itertools
import json
import os
import pickle
import resource
import sys
import threading
import time
import warnings
import weakref

import bloomery
import corpora
from bloomery import Deduper, Filter
from optional import raises
from runner import case, main

INSTRUMENTED = "libasan" in os.environ.get("LD_PRELOAD", "")
# Rates so low that a wrong removal would be a wonder.
RATE = 1e-12
WAYS = (
    ("document", "--unit document", {}),
    ("document", "--unit document --trim --lower", {"trim": True, "lower": True}),
    ("paragraph", "--unit paragraph", {}),
    ("paragraph", "--unit paragraph --min-words 4 --upper", {"min_words": 4, "upper": True}),
    ("ngram", "--unit ngram", {}),
    ("ngram", "--unit ngram --ngram 3 --threshold 0.5", {"ngram": 3, "threshold": 0.5}),
    ("ngram", "--unit ngram --ngram 1 --threshold 1 --min-words 2", {"ngram": 1, "threshold": 1, "min_words": 2}),
    ("near", "--unit document --near 0.8", {}),
    ("near", "--unit document --near 0.5 --ngram 2 --permutations 64 --add-all",
     {"threshold": 0.5, "ngram": 2, "permutations": 64, "add_all": True}),
    ("near", "--unit document --near 0.7 --bands 20 --rows 3 --min-words 5",
     {"threshold": 0.7, "bands": 20, "rows": 3, "min_words": 5}),
)
if INSTRUMENTED:  # which takes some times as long
    WAYS = WAYS[::3]


def is_object(line):
    """Whether Python reads a document in it."""
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def corpus(count, seed):
    """Documents as lines of JSON, with everything odd that a str or a dict can have."""
    return [line for line in corpora.documents(count, seed) if is_object(line)]


def written(c, name, lines):
    """A file of lines."""
    with open(c.path(name), "wb") as file:
        file.write(b"".join(line + b"\n" for line in lines))
    return name


def loaded(c, name):
    """The documents of a file of lines."""
    with open(c.path(name), "rb") as file:
        return [json.loads(line) for line in file]


def by_command(c, options, inputs, more="", out="out.jsonl"):
    """What the command leaves, and its report."""
    said = c.run(f"dedupe --jsonl text -n 40000 {options} -o {out} --json {more} {inputs}", stderr=None)[1]
    return loaded(c, out), json.loads(said[said.index(b"{"):])


def near_rate(unit):
    """The least rate of a document's bands is higher than that of a key."""
    return 1e-9 if unit == "near" else RATE


@case
def documents_are_cleaned_as_by_the_command(c):
    lines = corpus(350, 11)
    inputs = written(c, "in.jsonl", lines)
    for unit, line, options in WAYS:
        rate = near_rate(unit)
        expected, report = by_command(c, f"{line} -p {rate}", inputs, f"--state {unit}.bloom")
        seen = Deduper(unit, keys=40_000, rate=rate, **options)
        left = list(seen.clean(map(json.loads, lines)))
        c.expect(left == expected, f"{line}: {next(((a, b) for a, b in itertools.zip_longest(left, expected) if a != b), '')}")
        c.expect(60 < len(expected) < len(lines), f"{line} removes nothing, or all")
        own = seen.report()
        c.expect(own.pop("input_bytes") < report.pop("input_bytes") and own.pop("removed_bytes") <= report.pop("removed_bytes"), line)
        wrong, other = own.pop("expected_wrong_removals"), report.pop("expected_wrong_removals")
        c.expect(abs(wrong - other) <= 1e-9 * other, f"{line}: {wrong}, not {other}")
        c.expect((report.pop("command"), report.pop("schema")) == ("dedupe", 1), "what heads the command's report")
        c.expect(len(report.pop("inputs")) == 1, "files, which only the command has")
        c.expect(own == report, f"{line}: {own}, not {report}")
        seen.save(c.path("own.bloom"))
        c.expect(c.read("own.bloom") == c.read(f"{unit}.bloom"), f"{line}: another state")
        os.remove(c.path(f"{unit}.bloom"))


@case
def texts_are_cleaned_as_documents_are(c):
    lines = corpus(250, 12)
    texts = [text for text in (json.loads(line).get("text") for line in lines) if isinstance(text, str)]
    for unit, line, options in WAYS:
        rate = near_rate(unit)
        of_texts = list(Deduper(unit, keys=40_000, rate=rate, **options).clean(texts))
        of_documents = list(Deduper(unit, keys=40_000, rate=rate, **options).clean({"text": text} for text in texts))
        c.expect([{"text": text} for text in of_texts] == of_documents, line)
        one_by_one = list(Deduper(unit, keys=40_000, rate=rate, **options).clean(iter(texts), batch=1))
        c.expect(one_by_one == of_texts, f"{line}, one by one")


@case
def annotations_and_spans_are_the_commands(c):
    lines = corpus(250, 13)
    inputs = written(c, "in.jsonl", lines)
    for unit, line, options in WAYS:
        rate = near_rate(unit)
        expected, _ = by_command(c, f"{line} -p {rate} --annotate=dup", inputs)
        seen = Deduper(unit, keys=40_000, rate=rate, annotate="dup", **options)
        marked = list(seen.clean(map(json.loads, lines)))
        c.expect(marked == expected, f"{line}: {next(((a, b) for a, b in zip(marked, expected) if a != b), '')}")
        c.expect(any("dup" in document for document in expected), f"{line} marks nothing")


@case
def spans_are_what_clean_takes_out(c):
    lines = corpus(240, 14)
    texts = [text for text in (json.loads(line).get("text") for line in lines) if isinstance(text, str)]
    for unit, _, options in WAYS:
        seen = Deduper(unit, keys=40_000, rate=near_rate(unit), **options)
        seen.learn(texts[:150])
        before = seen.report()
        for text in texts[150:]:
            spans = seen.spans(text)
            c.expect(spans == seen.spans({"text": text}), f"{unit}: a mapping")
            c.expect(all(0 <= start < end <= len(text) or start == end == len(text) == 0 for start, end, _ in spans), f"{unit}: {spans}")
            twin = pickle.loads(pickle.dumps(seen))
            left = list(twin.clean([text]))
            if unit in ("document", "near"):
                c.expect((left == []) == bool(spans), f"{unit}: {text!r}")
            if unit == "paragraph" and spans and left and "\n" not in text[:spans[0][0]].strip("\n"):
                c.expect(left[0] != text, f"{text!r}")
            if not spans and unit != "ngram" and len(set(text.split("\n"))) == len(text.split("\n")):
                c.expect(left == [text], f"{unit}: {text!r} became {left}")
        c.expect(seen.report() == before, f"{unit}: looking counts")


@case
def states_go_from_one_to_the_other(c):
    first, second = corpus(200, 15), corpus(200, 16)
    one, two = written(c, "one.jsonl", first), written(c, "two.jsonl", second)
    for unit, line, options in WAYS:
        if os.path.exists(c.path("s.bloom")):
            os.remove(c.path("s.bloom"))
        rate = near_rate(unit)
        by_command(c, f"{line} -p {rate}", one, "--state s.bloom")
        judging = {name: value for name, value in options.items() if name in ("min_words", "threshold", "add_all")}
        if unit == "near":
            judging.pop("threshold", None)
        seen = Deduper.open(c.path("s.bloom"), **judging)
        left = list(seen.clean(map(json.loads, second)))
        seen.save(c.path("own.bloom"))
        expected, _ = by_command(c, f"{line} -p {rate}", two, "--state s.bloom")
        c.expect(left == expected, f"{line}: the command's state")
        c.expect(c.read("s.bloom") == c.read("own.bloom"), f"{line}: another state")
        fresh = Deduper(unit, keys=40_000, rate=rate, **options)
        whole = list(fresh.clean(map(json.loads, first)))
        fresh.save(c.path("t.bloom"))
        expected, _ = by_command(c, f"{line} -p {rate}", two, "--state t.bloom")
        c.expect(left == expected and len(whole) > 50, f"{line}: our state")


@case
def what_others_have_is_seen(c):
    first, second = corpus(150, 17), corpus(150, 18)
    one, two = written(c, "one.jsonl", first), written(c, "two.jsonl", second)
    for unit, line, options in WAYS:
        rate = near_rate(unit)
        if os.path.exists(c.path("s.bloom")):
            os.remove(c.path("s.bloom"))
        by_command(c, f"{line} -p {rate}", one, "--state s.bloom")
        documents = [json.loads(each) for each in second]
        for against in (c.path("s.bloom"), [Filter.open(c.path("s.bloom"))]):
            expected, _ = by_command(c, f"{line} -p {rate} --against s.bloom", two)
            seen = Deduper(unit, keys=40_000, rate=rate, against=against, **options)
            c.expect(list(seen.clean(documents)) == expected, f"{line} --against")
        if "--add-all" in line:
            continue
        expected, report = by_command(c, f"{line} -p {rate} --no-add --against s.bloom", two)
        seen = Deduper(unit, keys=40_000, rate=rate, against=c.path("s.bloom"), no_add=True, **options)
        c.expect(list(seen.clean(documents)) == expected and seen.report()["keys_seen"] == report["keys_seen"], f"{line} --no-add")
        expected, _ = by_command(c, f"{line} -p {rate} --no-add --against one.jsonl", two)
        seen = Deduper(unit, keys=40_000, rate=rate, no_add=True, **options)
        c.expect(seen.learn(map(json.loads, first)) == len(first), "how many were learned")
        c.expect(list(seen.clean(documents)) == expected, f"{line} --no-add, learned")
        expected, _ = by_command(c, f"{line} -p {rate} --against one.jsonl", two)
        seen = Deduper(unit, keys=40_000, rate=rate, **options)
        seen.learn(map(json.loads, first))
        c.expect(list(seen.clean(documents)) == expected, f"{line}, learned")


@case
def what_was_learned_stays_learned(c):
    """Test sets are kept out of training data by a copy, a pickle, a file and fingerprints, too; and what is compared
    with them is not remembered."""
    held_out = [f"sentence {i} of a test set that has thirteen words and no more" for i in range(20)]
    others = [f"another text {i} that is in no test set and has many words" for i in range(20)]
    for unit, options in (("document", {}), ("paragraph", {"lower": True}), ("ngram", {}), ("near", {})):
        held = Deduper(unit, keys=10_000, rate=near_rate(unit), no_add=True, **options)
        held.learn(held_out)
        held.save(c.path("held.bloom"))
        dedupers = [held, copy.copy(held), copy.deepcopy(held), pickle.loads(pickle.dumps(held)),
                    Deduper.open(c.path("held.bloom"), no_add=True), Deduper(unit, exact=64, no_add=True, **options)]
        dedupers[-1].learn(held_out[:10])
        dedupers[-1].learn(held_out[10:])
        for number, seen in enumerate(dedupers):
            texts = list(seen.clean(held_out + others + others))
            c.expect(texts == others + others, f"{unit}, {number}: {len(texts)} texts are left")
            c.expect(seen.spans(held_out[0]) and not seen.spans(others[0]), f"{unit}, {number}: spans")


@case
def rules_that_contradict_a_filter_are_refused(c):
    whole, lower = Deduper("document", keys=100), Deduper("document", keys=100, lower=True)
    for seen, name in ((whole, "whole.bloom"), (lower, "lower.bloom")):
        list(seen.clean(["A b"]))
        seen.save(c.path(name))
    for arguments, other in (({"lower": True}, whole), ({}, lower), ({"upper": True}, lower), ({"trim": True, "lower": True}, lower)):
        with raises(c, ValueError, "another rule"):
            Deduper("document", keys=100, against=other.filter, **arguments)
    for arguments, name in (({"lower": True}, "whole.bloom"), ({"upper": True}, "lower.bloom"), ({"trim": True}, "lower.bloom")):
        with raises(c, ValueError, "another rule"):
            Deduper.open(c.path(name), **arguments)
    for arguments in ({}, {"lower": True}):
        c.expect(list(Deduper.open(c.path("lower.bloom"), **arguments).clean(["a B", "c"])) == ["c"], f"{arguments}")
    plain = Filter(100)  # that says nothing is taken
    plain.add("a b")
    c.expect(list(Deduper("document", keys=100, lower=True, against=plain).clean(["A B", "c"])) == ["c"], "a plain filter")


@case
def fingerprints_and_secrets_decide_the_same(c):
    lines = corpus(200, 19)
    inputs = written(c, "in.jsonl", lines)
    for unit, line, options in WAYS[::2]:
        expected, _ = by_command(c, f"{line} --exact", inputs)
        seen = Deduper(unit, exact=64, **options)
        c.expect(list(seen.clean(map(json.loads, lines))) == expected, f"{line} --exact")
        with raises(c, bloomery.Unsupported, "saved"):
            seen.save(c.path("x"))
        if os.environ.get("BLOOMERY_TEST_NO_SODIUM") or unit == "near":
            continue
        for secret in (True, b"0123456789abcdef"):
            seen = Deduper(unit, keys=40_000, rate=RATE, secret=secret, **options)
            c.expect(list(seen.clean(map(json.loads, lines))) == expected, f"{line} --keyed")
            twin = pickle.loads(pickle.dumps(seen))
            c.expect(all(not left or "text" not in left[0] or unit != "document" for left in [list(twin.clean(map(json.loads, lines[:1])))]), line)


@case
def a_full_filter_stops_passes_or_grows(c):
    texts = [f"text {i}" for i in range(30_000)]
    stopping = Deduper("document", keys=1000, rate=1e-3, on_full="stop")
    kept, error = [], None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for text in stopping.clean(texts):
                kept.append(text)
        except bloomery.Full as why:
            error = why
        c.expect(len(caught) == 1 and "planned for" in str(caught[0].message), f"{[str(each.message) for each in caught]}")
    c.expect(error is not None and "on_full='grow'" in str(error) and 1000 < len(kept) < 1300, f"{len(kept)}: {error}")
    c.expect(stopping.report()["stopped"] and stopping.report()["documents"] >= len(kept), f"{stopping.report()}")
    with raises(c, bloomery.Full, "stopped after"):
        list(stopping.clean(["one more"]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        passing = Deduper("document", keys=1000, rate=1e-3, on_full="pass")
        left = list(passing.clean(texts))
        c.expect(len(left) > 29_800 and any("nothing more" in str(each.message) for each in caught), f"{len(left)}")
    c.expect(len(list(Deduper("document", keys=1000, rate=1e-6).clean(texts))) == len(texts), "it does not grow")
    c.file("in.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in texts))
    printed, _ = c.run("dedupe --unit document --jsonl text -n 1000 -p 1e-3 --on-full=stop -q in.jsonl", code=2, stdout=None, stderr=None)
    c.expect([json.loads(line)["text"] for line in printed.splitlines()] == kept, "the command stops elsewhere")
    limited = Deduper("document", memory=4096)
    with raises(c, bloomery.Full), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        list(limited.clean(texts))
    c.expect(limited.report()["bytes"] <= 4096 + 512, f"{limited.report()}")


@case
def hostile_texts_are_judged(c):
    odd = ["", " ", "\n", "\n\n \n", "one", "\ud800", "\udc00\ud800 x", "a\ud800b\n" * 3, "\0", "\0\n\0", "nul\0 here", "\r\n",
           "x\ry\r\nz\r", "\\n", "a\\nb\\nc", '"quoted"', "😀" * 50, "中文\n中文", "tail\n  ", "\u2028a\u2029a", "e\u0301 e\u0301 e\u0301",
           "\x85a\x85a", "a" * 100_000, "a " * 50_000, "\n" * 50_000]
    for unit, line, options in WAYS:
        seen = Deduper(unit, keys=400_000, rate=near_rate(unit), **options)
        texts = [json.loads(json.dumps(text)) for text in odd] * 2
        expected, _ = by_command(c, f"{line} -p {near_rate(unit)}", written(c, "in.jsonl", [json.dumps({"text": t}).encode() for t in texts]))
        c.expect([{"text": text} for text in seen.clean(texts)] == expected, line)
        for text in texts:
            c.expect(all(0 <= start <= end <= len(text) for start, end, _ in seen.spans(text)), f"{unit}: {text[:20]!r}")


@case
def a_document_of_ten_megabytes_is_judged(c):
    part = 10 if INSTRUMENTED else 1
    big = " ".join(f"word{i}" for i in range(1_100_000 // part))
    lines = "\n".join(f"line {i}" for i in range(700_000 // part))
    for unit, text in (("document", big), ("paragraph", lines), ("ngram", lines), ("near", big)):
        seen = Deduper(unit, keys=1_000_000, rate=1e-9)
        begin = time.monotonic()
        left = list(seen.clean([text, text, "short"]))
        c.expect([len(each) for each in left] == [len(text), 5], f"{unit}: {[len(each) for each in left]}")
        c.expect(time.monotonic() - begin < 30, f"{unit} takes {time.monotonic() - begin:.1f} s")


@case
def what_is_no_document_is_refused(c):
    seen = Deduper("paragraph", keys=100)
    for documents, part in (([b"bytes"], "decode"), ([5], "not int"), ([None], "NoneType"), ([["a"]], "not list")):
        with raises(c, TypeError, "document 0", part):
            list(seen.clean(documents))
    for bad in (5, "one text"):
        for method in (seen.clean, seen.learn):
            with raises(c, TypeError):
                method(bad)
    with raises(c, ValueError, "batch"):
        seen.clean([], batch=0)
    for document in ({}, {"text": 5}, {"text": None}, {"Text": "a"}):
        c.expect(list(seen.clean([document, document])) == [document, document], f"{document}")
    c.expect(seen.report()["without_text"] == 8, f"{seen.report()}")
    with raises(c, TypeError, "spans(text)"):
        list(Deduper("paragraph", annotate="x").clean(["a"]))
    with raises(c, ValueError, "another name"):
        list(Deduper("paragraph", annotate="x").clean([{"text": "a", "x": 1}]))
    other = Deduper("paragraph", keys=100, field="body")
    c.expect(list(other.clean([{"body": "a\nb"}, {"body": "a\nc", "text": "a"}])) == [{"body": "a\nb"}, {"body": "c", "text": "a"}], "field")


@case
def options_that_cannot_be_are_refused(c):
    for arguments, kind, part in (
            ({"unit": "sentence"}, ValueError, "unknown unit"), ({"unit": 5}, TypeError, "unit"), ({"keys": 0}, ValueError, "keys"),
            ({"keys": "5"}, TypeError, "keys"), ({"rate": 0}, ValueError, "rate"), ({"rate": 0.6}, ValueError, "0.5"),
            ({"rate": float("nan")}, ValueError, "rate"), ({"unit": "ngram", "threshold": 0}, ValueError, "threshold"),
            ({"unit": "ngram", "threshold": 1.1}, ValueError, "threshold"), ({"threshold": 0.5}, ValueError, "ngram and near"),
            ({"unit": "near", "threshold": 1}, ValueError, "threshold"), ({"unit": "ngram", "ngram": 0}, ValueError, "ngram"),
            ({"unit": "ngram", "ngram": 1001}, ValueError, "ngram"), ({"unit": "near", "ngram": 65}, ValueError, "ngram"),
            ({"unit": "near", "bands": 5}, ValueError, "together"), ({"unit": "near", "bands": 100, "rows": 100}, ValueError, ""),
            ({"bands": 5}, ValueError, "near"), ({"exact": 32}, ValueError, "64 or 128"), ({"exact": 64, "rate": 0.1}, ValueError, "rate"),
            ({"on_full": "x"}, ValueError, "on_full"), ({"on_full": "stop"}, ValueError, "keys or memory"), ({"lower": True, "upper": True}, ValueError, "one"),
            ({"keys": 10**9, "memory": 1000}, ValueError, "do not fit"), ({"min_words": -1}, ValueError, "min_words"), ({"against": 5}, TypeError, ""),
            ({"against": [5]}, TypeError, ""), ({"field": None}, TypeError, "field"), ({"annotate": 5}, TypeError, "annotate"),
            ({"secret": b"short"}, ValueError, "16"), ({"unit": "near", "add_all": True, "no_add": True}, ValueError, "one"),
            ({"keys": 2**60, "unit": "near"}, ValueError, "")):
        with raises(c, kind, part):
            Deduper(**arguments)
    with raises(c, OSError):
        Deduper("paragraph", against=c.path("none"))
    Filter(100).save(c.path("plain.bloom"))
    Filter(100, kind="counting").save(c.path("counting.bloom"))
    Deduper("paragraph", keys=100).save(c.path("p.bloom"))
    with raises(c, ValueError, "unit="):
        Deduper.open(c.path("plain.bloom"))
    c.expect(list(Deduper.open(c.path("plain.bloom"), unit="paragraph").clean(["a\na\n"])) == ["a\n"], "a plain filter")
    with raises(c, bloomery.Unsupported, "counting"):
        Deduper.open(c.path("counting.bloom"), unit="paragraph")
    with raises(c, ValueError, "paragraphs", "runs of 13 words"):
        Deduper.open(c.path("p.bloom"), unit="ngram")
    with raises(c, ValueError, "against", "paragraphs"):
        Deduper("document", against=c.path("p.bloom"))
    with raises(c, TypeError, "keys"):
        Deduper.open(c.path("p.bloom"), keys=5)
    with raises(c, TypeError):
        Deduper.open(c.path("p.bloom"), no_such=5)
    with raises(c, OSError):
        Deduper.open(c.path("none"))
    c.file("bad", "no filter, but some text that is long enough to be looked at")
    with raises(c, bloomery.NotAFilter):
        Deduper.open(c.path("bad"))


@case
def an_iterator_that_fails_does_so_after_the_documents_before(c):
    def failing():
        yield from ("a", "b", "a")
        raise KeyError("of the source")
    got = []
    with raises(c, KeyError, "of the source"):
        for text in Deduper("document").clean(failing()):
            got.append(text)
    c.expect(got == ["a", "b"], f"{got}")
    got = []
    with raises(c, TypeError, "document 2"):
        for text in Deduper("document").clean(["a", "b", 5, "c"]):
            got.append(text)
    c.expect(got == ["a", "b"], f"{got}")


@case
def a_slow_source_is_not_waited_for(c):
    came = []

    def slow():
        for i in itertools.count():
            came.append(i)
            time.sleep(0.06)
            yield f"text {i}"
    cleaned = Deduper("document").clean(slow())
    for i in range(3):
        c.expect(next(cleaned) == f"text {i}" and len(came) == i + 1, f"{came}")
    seen, taken = Deduper("document"), []
    source = iter([f"text {i}" for i in range(1000)])
    for text in seen.clean(source, batch=5):
        taken.append(text)
        if len(taken) == 7:
            break
    c.expect(seen.report()["documents"] == 10 and next(source) == "text 10", f"{seen.report()}")


@case
def subclasses_copies_and_pickles_go_on(c):
    class Named(Deduper):
        """One with an argument of its own."""
        def __init__(self, *arguments, name="", **options):
            super().__init__(*arguments, **options)
            self.name = name
    globals()["Named"] = Named
    Named.__qualname__ = "Named"
    texts = [f"line {i}\nline {i + 1}\nline {i + 2}" for i in range(50)]
    for unit, _, options in WAYS:
        seen = Named(unit, keys=5000, rate=near_rate(unit), name="a name", **options)
        list(seen.clean(texts[:25]))
        for twin in (pickle.loads(pickle.dumps(seen)), copy.copy(seen), copy.deepcopy(seen)):
            c.expect(isinstance(twin, Named) and twin.name == "a name" and twin.filter == seen.filter, f"{unit}: {twin!r}")
            c.expect(list(twin.clean(texts[20:])) == list(pickle.loads(pickle.dumps(seen)).clean(texts[20:])), unit)
            c.expect(twin.filter != seen.filter or unit == "near" or "min_words" in options, f"{unit}: they share a filter")
        seen.save(c.path("named.bloom"))
        c.expect(type(Named.open(c.path("named.bloom"))) is Named, "open")
    with raises(c, bloomery.Unsupported):
        pickle.dumps(Deduper("document", exact=64))
    c.expect("paragraph" in repr(Deduper("paragraph")) and "'near'" in repr(Deduper("near")), "repr")


@case
def parts_are_merged(c):
    texts = [f"text {i % 700}" for i in range(1000)]
    parts = [Deduper("document", keys=1000, rate=RATE) for _ in range(2)]
    for part, half in zip(parts, (texts[:500], texts[500:])):
        list(part.clean(half))
    both = parts[0].filter
    both |= parts[1].filter
    both.save(c.path("both.bloom"))
    c.expect(list(Deduper.open(c.path("both.bloom")).clean(texts + ["new"])) == ["new"], "something is new")


@case
def threads_share_one(c):
    texts = [f"text {i % 5000}" for i in range(20_000)]
    other = Filter(1000)
    seen = Deduper("document", keys=10_000, rate=1e-9, against=other)
    left, failures, ticks, running = [], [], [0], [True]

    def job(part):
        try:
            left.extend(seen.clean(part, batch=100))
            seen.report()
            seen.spans("text 5")
            other.add(f"key {len(left)}")
        except BaseException as why:  # pylint: disable=broad-exception-caught
            failures.append(why)

    def tick():
        while running[0]:
            ticks[0] += 1
            time.sleep(0.001)
    threads = [threading.Thread(target=job, args=(texts[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    c.expect(not failures and sorted(left) == sorted(f"text {i}" for i in range(5000)), f"{failures}, {len(left)}")
    big = Deduper("near", keys=1000)
    ticking = threading.Thread(target=tick)
    ticking.start()
    begin = time.monotonic()
    list(big.clean([" ".join(f"w{i}" for i in range(1_000_000 // (4 if INSTRUMENTED else 1)))] * 3))
    spent = time.monotonic() - begin
    running[0] = False
    ticking.join()
    c.expect(ticks[0] > 20 * spent, f"{ticks[0]} ticks in {spent:.2f} s: the interpreter's lock is kept")


@case
def memory_stays_what_it_was(c):
    if INSTRUMENTED:
        return  # freed memory is kept for a while
    texts = [f"paragraph {i}\n" * 3 + "é" * (i % 7) for i in range(3000)]

    def use():
        seen = Deduper("ngram", keys=20_000)
        list(seen.clean(texts))
        for text in texts[:300]:
            seen.spans(text)
        list(Deduper("paragraph", keys=1000, annotate="a").clean({"text": text} for text in texts))
        try:
            list(seen.clean(["a", 5]))
        except TypeError:
            pass
        try:
            Deduper("near", bands=5)
        except ValueError:
            pass
    for _ in range(3):
        use()
    gc.collect()
    before, blocks = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, sys.getallocatedblocks()
    for _ in range(20):
        use()
    gc.collect()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    c.expect(after - before < 4096 and sys.getallocatedblocks() - blocks < 1000,
             f"{after - before} KiB and {sys.getallocatedblocks() - blocks} blocks more")


@case
def a_circle_of_a_deduper_and_its_filter_is_collected(c):
    class Held(Filter):
        """A filter with an attribute."""
    other = Held(100)
    other.seen = Deduper("document", keys=100, against=other)
    gone = weakref.ref(other)
    del other
    gc.collect()
    c.expect(gone() is None, "it is kept")


@case
def help_reads_well(c):
    for name, value in vars(Deduper).items():
        if name.startswith("_") or not (callable(value) or isinstance(value, (classmethod, property))):
            continue
        text = getattr(Deduper, name).__doc__
        c.expect(text and len(text) > 60 and text[0].isupper(), f"{name}: {text!r}")
    c.expect("    " in Deduper.__doc__ and all(len(line) <= 120 for line in Deduper.__doc__.splitlines()), "the class")


main()
