# SPDX-License-Identifier: Apache-2.0
"""dedupe --unit beside an exact model (tests/reference/corpus_model.py), over corpora with everything in
them that real ones have (corpora.py)."""

import json
import os
import random

from runner import Skip, case, has, main

import corpora
from corpus_runs import RATE, UNITS, corpus, dedupe_line, model, quiet, report_of, text_of

import corpus_words

CHUNKS = ("100", "5000", "")
REPORTED = ("documents", "documents_dropped", "documents_changed", "without_text", "removed_bytes")


# ---- The same as the model ---------------------------------------------------------------------------

@case
def words_of_the_model_are_unicodes(_):
    try:
        differing = corpus_words.differing_texts(3000, seed=4)
    except OSError as missing:
        raise Skip(str(missing)) from missing
    if differing:
        raise AssertionError(f"{len(differing)} texts differ: {ascii(differing[:3])}")


@case
def texts_of_the_model_are_those_of_json(c):
    for line in corpus(800, 2):
        place = model.find_text(line, [b"text"])
        try:
            value = json.loads(line.decode(), parse_constant=model.refuse)
        except ValueError:
            value = None
        text = value.get("text") if isinstance(value, dict) else None
        found = None if place is None else model.unescape(line[slice(*place)])
        expected = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else None
        c.expect(found == expected, f"{line}: {found}")


@case
def repeated_documents_are_dropped(c):
    same_as_model(c, "document", invalid=True)


@case
def repeated_paragraphs_are_cut_out(c):
    same_as_model(c, "paragraph", invalid=True)


@case
def paragraphs_of_repeated_ngrams_are_cut_out(c):
    same_as_model(c, "ngram")


def same_as_model(c, unit, **more):
    """Any chunks, any threads: the model's lines and counts."""
    lines = corpus(**more)
    expected = model.dedupe(lines, unit=unit)
    c.expect(expected.documents_dropped > 50, "the corpus has no repeats")
    c.file("in", text_of(lines))
    for chunk in CHUNKS:
        for threads in (1, 2, 8):
            c.run(f"{quiet(unit)} -j {threads} in", stdout=text_of(expected.lines), stderr=None,
                  environment={"BLOOMERY_BLOCK_BYTES": chunk})
    report = report_of(c, f"{dedupe_line(unit)} in")
    c.expect(c.read("reported") == text_of(expected.lines), "-o differs")
    names = REPORTED + (() if unit == "document" else ("paragraphs", "paragraphs_removed"))
    names += ("keys", "keys_seen") if unit == "ngram" else ()
    for name in names:
        c.expect(report[name] == getattr(expected, name), f"{name}: {report[name]}")
    c.expect(report["input_bytes"] == len(text_of(lines)), f"{report}")


@case
def any_number_of_threads_makes_the_same_output(c):
    lines = corpus(1500, 3, odd=False)
    c.file("in", text_of(lines))
    for unit in UNITS:
        expected = text_of(model.dedupe(lines, unit=unit).lines)
        for threads in range(1, 9):
            c.run(f"{quiet(unit)} -j {threads} in", stdout=expected,
                  environment={"BLOOMERY_BLOCK_BYTES": "3000"})


@case
def a_high_rate_makes_the_same_output_with_any_threads(c):
    """Wrong removals are the same ones, too: they hang on the order of keys alone."""
    c.file("in", text_of(corpus(1200, 4, odd=False)))
    for unit in UNITS:
        line = f"dedupe -q --unit {unit} --jsonl text -n 300 -p 0.1 in"
        first, _ = c.run(f"{line} -j 1", stdout=None)
        for threads in (2, 3, 8):
            c.run(f"{line} -j {threads}", stdout=first, environment={"BLOOMERY_BLOCK_BYTES": "2000"})


@case
def lengths_of_ngrams_and_thresholds(c):
    lines = corpus(500, 5, odd=False)
    for ngram, threshold in ((1, 0.8), (2, 0.5), (5, 1), (13, 0.3), (50, 0.000001), (7, 0.666667)):
        expected = model.dedupe(lines, unit="ngram", ngram=ngram, threshold=threshold)
        c.run(quiet("ngram", f"--ngram {ngram} --threshold {threshold}"), stdin=text_of(lines),
              stdout=text_of(expected.lines))


@case
def words_of_any_length_and_place_are_those_of_the_model(c):
    """Eight characters are looked at in one step: words end and begin at any place of one."""
    generator = random.Random(12)
    pieces = ["a", "Z", "b", "9", "0", "_", "__", "________", "word", "longerword", "x" * 17, "@", "[", "`", "{", "/", ":",
              ".", "'", ",", " ", " ", "\x7f"]
    lines = [json.dumps({"text": "".join(generator.choices(pieces, k=generator.randint(1, 12)))}).encode()
             for _ in range(3000)]
    expected = model.dedupe(lines, unit="ngram", ngram=1, threshold=1)
    c.expect(500 < expected.documents_dropped < 2500, f"{expected.documents_dropped} are dropped")
    c.run(quiet("ngram", "--ngram 1 --threshold 1"), stdin=text_of(lines), stdout=text_of(expected.lines))


@case
def a_share_that_is_the_threshold_is_enough(c):
    """Of five n-grams four were seen: 0.8 cuts, a millionth more does not."""
    lines = [b'{"text": "a b c d"}', b'{"text": "e a b c d\\nnew words"}']
    cut = [lines[0], b'{"text": "new words"}']
    for threshold, expected in (("0.8", cut), ("0.800001", lines)):
        c.run(quiet("ngram", f"--ngram 1 --threshold {threshold}"), stdin=text_of(lines),
              stdout=text_of(expected))


@case
def what_is_removed_can_be_printed(c):
    """What stays and what goes are all of it, and the counts are the same."""
    lines = [b'{"text": "a\\n\\nb\\nc"}', b'{"id": 7, "text": "a\\nd\\n \\nb", "x": []}', b'{"text": "d"}']
    c.run(quiet("paragraph", "-v"), stdin=text_of(lines), stdout=text_of(
        [b'{"id": 7, "text": "a\\n\\n \\nb", "x": []}', lines[2]]))
    lines = [json.dumps({"n": i, "text": json.loads(line)["text"]}).encode()
             for i, line in enumerate(corpus(600, 8, odd=False))]
    c.file("in", text_of(lines))
    for unit in UNITS:
        reports, texts = [], []
        for more in ("", "-v"):
            report = report_of(c, f"{dedupe_line(unit, more)} -j 2 in", environment={"BLOOMERY_BLOCK_BYTES": "3000"})
            reports.append({name: report[name] for name in REPORTED})
            texts.append({one["n"]: one["text"] for one in map(json.loads, c.read("reported").splitlines())})
        c.expect(reports[0] == reports[1] and len(texts[1]) > 50, f"{unit}: {reports}")
        for i, line in enumerate(lines):
            whole = len(json.loads(line)["text"])
            c.expect(whole == sum(len(one.get(i, "")) for one in texts), f"{unit}: document {i}")
    c.run(quiet("paragraph", "-v --annotate"), code=2, stderr=has("give one"))


@case
def short_paragraphs_are_kept_and_not_added(c):
    long, short = "these are the five words", "four words, - only: here"
    texts = [f"{short}\n{long}", f"{long}\n{short}\n{short}", short, long, f"{short} too", f"{short} too"]
    lines = [json.dumps({"text": text}).encode() for text in texts]
    kept = [lines[0], json.dumps({"text": f"{short}\n{short}"}).encode(), lines[2], lines[4]]
    c.run(quiet("paragraph", "--min-words 5"), stdin=text_of(lines), stdout=text_of(kept))
    # All runs of the second text were seen.
    c.run(quiet("ngram", "--min-words 5"), stdin=text_of(lines), stdout=text_of(kept[:1] + kept[2:]))
    c.run(quiet("document", "--min-words 5"), stdin=text_of(lines + lines), stdout=text_of(lines[:5] + [lines[2]]))
    c.file("short", text_of([lines[2], json.dumps({"text": "one two three four five six"}).encode()]))
    c.run(quiet("paragraph", "--min-words 5 --against short"), stdin=text_of(lines[2:3]), stdout=text_of(lines[2:3]))
    c.run("dedupe --min-words 5", code=2, stderr=has("--min-words goes with --unit"))


@case
def ngrams_of_a_paragraph_do_not_count_against_itself(c):
    lines = [b'{"text": "yes yes yes yes yes yes yes yes yes"}', b'{"text": "yes yes yes no"}']
    c.run(quiet("ngram", "--ngram 2 --threshold 0.6"), stdin=text_of(lines), stdout=text_of(lines[:1]))


@case
def a_document_of_seen_ngrams_is_dropped_though_no_paragraph_is(c):
    """Three of the four lines' ten words were seen, and those of the short line: 27 of 31."""
    words = [f"w{i}" for i in range(40)]
    long, other = " ".join(words[:30]), " ".join(words[:27])
    lines = [json.dumps({"text": long}).encode(),
             json.dumps({"text": f"{other}\nnew1 new2 new3 new4"}).encode()]
    expected = model.dedupe(lines, unit="ngram", ngram=1)
    c.expect(expected.documents_dropped == 1 and len(expected.lines) == 1, f"{expected}")
    c.run(quiet("ngram", "--ngram 1"), stdin=text_of(lines), stdout=text_of(expected.lines))


@case
def paths_lead_into_objects_and_arrays(c):
    lines = corpus(400, 6, nested=True)
    for unit in UNITS:
        expected = model.dedupe(lines, path="meta.text.0", unit=unit)
        c.run(f"dedupe -q --unit {unit} --jsonl meta.text.0 {RATE}", stdin=text_of(lines),
              stdout=text_of(expected.lines), stderr=None)
        c.run(f"dedupe -q --unit {unit} --jsonl meta.missing {RATE}", stdin=text_of(lines),
              stdout=text_of(lines), stderr=has("no document has a string at 'meta.missing'"), code=2)


@case
def bytes_that_stay_are_as_they_were_written(c):
    lines = [b'{"text": "Same"}',
             b' { "n" : 1.50e+3 ,\t"text":"S\\u0061me\\r\\n\\n\\u00e9\\/ \\u0041\\nS\\u0061me" , "z":[ ] } \r']
    c.run(quiet("paragraph"), stdin=text_of(lines), stdout=text_of(
        [lines[0], b' { "n" : 1.50e+3 ,\t"text":"\\u00e9\\/ \\u0041" , "z":[ ] } \r']))


# ---- Annotations -------------------------------------------------------------------------------------

@case
def annotated_lines_are_whole_and_say_what_repeats(c):
    lines = corpus(500, 8)
    for unit in UNITS:
        for more, name in (("--annotate", "bloomery"), ("--annotate=seen", "seen")):
            expected = model.dedupe(lines, unit=unit, annotate=name)
            c.run(quiet(unit, more), stdin=text_of(lines), stdout=text_of(expected.lines), stderr=None)


@case
def spans_cut_by_hand_are_what_is_cut(c):
    """A reader of the annotations, in Python's code points, comes to the same texts."""
    lines = corpus(500, 9, odd=False)
    out, _ = c.run(quiet("paragraph", "--annotate"), stdin=text_of(lines), stdout=None)
    texts = []
    for line in model.lines_of(out):
        document = json.loads(line)
        text, mark = document["text"], document.get("bloomery", {"spans": [], "drop": False})
        for begin, end, share in reversed(mark["spans"]):
            c.expect(share == 1, f"{mark}")
            text = text[:begin] + text[end:]
        if not mark["drop"]:
            texts.append(text)
    cut, _ = c.run(quiet("paragraph"), stdin=text_of(lines), stdout=None)
    c.expect(texts == [json.loads(line)["text"] for line in model.lines_of(cut)], "texts differ")


# ---- What was seen before ----------------------------------------------------------------------------

@case
def documents_of_lists_count_as_seen(c):
    lines, listed = corpus(400, 10), corpus(400, 11)[:200] + corpus(400, 10)[300:350]
    c.file("listed", text_of(listed))
    for unit in UNITS:
        known = model.keys_of(listed, unit=unit)
        for more, add in (("", True), ("--no-add", False)):
            expected = model.dedupe(lines, unit=unit, against=known, add=add)
            for threads in (1, 4):
                c.run(quiet(unit, f"--against listed -j {threads} {more}"), stdin=text_of(lines),
                      stdout=text_of(expected.lines), stderr=None,
                      environment={"BLOOMERY_BLOCK_BYTES": "3000"})


@case
def keys_of_filters_count_as_seen(c):
    lines, earlier = corpus(400, 12), corpus(400, 12)[200:260]
    for unit in UNITS:
        c.run(quiet(unit, f"-n 20000 --state {unit}.bloom"), stdin=text_of(earlier), stdout=None,
              stderr=None)
        before = c.read(f"{unit}.bloom")
        known = model.keys_of(earlier, unit=unit)
        for more, add in (("", True), ("--no-add", False)):
            expected = model.dedupe(lines, unit=unit, against=known, add=add)
            c.run(quiet(unit, f"--against {unit}.bloom {more}"), stdin=text_of(lines),
                  stdout=text_of(expected.lines), stderr=None)
        c.expect(c.read(f"{unit}.bloom") == before, "the filter was changed")


@case
def filters_of_plain_lines_are_filters_of_paragraphs(c):
    lines = corpus(300, 13, odd=False)
    known = {key for key in model.keys_of(lines[:40]) if b"\n" not in key and b"\r" not in key}
    c.file("list", text_of(sorted(known)))
    c.run(f"build -q {RATE} -o f.bloom list", stderr=None)
    expected = model.dedupe(lines, against=known, add=False)
    c.run(quiet("paragraph", "--against f.bloom --no-add"), stdin=text_of(lines),
          stdout=text_of(expected.lines))


@case
def a_filter_of_other_units_is_refused(c):
    c.run(quiet("ngram", "--state s.bloom"), stdin=text_of(corpus(9)), stdout=None, stderr=None)
    for more in ("--against s.bloom", "--state s.bloom"):
        for other in (quiet("paragraph", more), quiet("ngram", f"--ngram 5 {more}")):
            c.run(other, stdin='{"text": "a"}\n', code=2, stderr=has("s.bloom"))


@case
def a_state_goes_on_where_it_ended(c):
    lines = corpus(600, 14)
    for unit in UNITS:
        expected = model.dedupe(lines, unit=unit).lines
        parts = [c.run(quiet(unit, f"-n 30000 --state {unit}.bloom"), stdin=text_of(part), stdout=None,
                       stderr=None)[0] for part in (lines[:250], lines[250:260], lines[260:])]
        c.expect(b"".join(parts) == text_of(expected), f"{unit}: the parts differ")


@case
def no_add_needs_something_to_compare_with(c):
    c.run(dedupe_line("paragraph", "--no-add"), stdin="", code=2, stderr=has("--no-add", "--against"))
    c.run(dedupe_line("paragraph", "--no-add --against x --state s"), stdin="", code=2,
          stderr=has("--no-add"))


# ---- Plans -------------------------------------------------------------------------------------------

@case
def a_dry_run_prints_memory_for_each_rate_and_reads_little(c):
    block = text_of(corpus(4000, 16, odd=False))
    with open(c.path("in.jsonl"), "wb") as file:
        for _ in range(100_000_000 // len(block)):
            file.write(block)
    size = os.path.getsize(c.path("in.jsonl"))
    for unit in UNITS:
        line = f"dedupe --unit {unit} --jsonl text --dry-run --output-dir out in.jsonl"
        c.run(line, stdout=has("\n0.01 ", "\n0.001 ", "\n0.0001 ", "\n1e-05 ", "\n1e-06 ", "memory",
                               "wrong removals", "time"))
        plan = json.loads(c.run(f"{line} --json", stdout=None)[0])
        rows = plan["plans"]
        c.expect([row["rate"] for row in rows] == [1e-2, 1e-3, 1e-4, 1e-5, 1e-6], f"{rows}")
        for one, two in zip(rows, rows[1:]):
            c.expect(one["bytes"] < two["bytes"], f"{rows}")
            c.expect(one["expected_wrong_removals"] > two["expected_wrong_removals"], f"{rows}")
        c.expect(plan["sampled_bytes"] < size / 4, f"{plan}")
        c.expect(abs(plan["input_bytes"] - size) < size / 100, f"{plan}")
        keys = len(block.splitlines()) * (size // len(block))
        c.expect(abs(plan["documents"] - keys) < keys / 5, f"{plan}")
    c.expect(c.names() == ["in.jsonl"], f"{c.names()}")


@case
def a_dry_run_estimates_keys(c):
    lines = corpus(3000, 17, odd=False)
    c.file("in", text_of(lines))
    for unit in UNITS:
        expected = model.dedupe(lines, unit=unit)
        different = len(model.keys_of(lines, unit=unit))
        plan = json.loads(c.run(f"dedupe --unit {unit} --jsonl text --dry-run --json in", stdout=None)[0])
        c.expect(abs(plan["keys"] - expected.keys) <= expected.keys / 100, f"{plan}")
        c.expect(abs(plan["distinct_keys"] - different) <= different / 10, f"{different}: {plan}")
        counted = ("input_bytes", "documents", "paragraphs", "keys", "distinct_keys")
        c.expect(all(isinstance(plan[name], int) for name in counted), f"a count with a point: {plan}")


# ---- Options -----------------------------------------------------------------------------------------

@case
def options_that_do_not_fit_are_refused(c):
    for line, said in (
            ("--unit paragraph", "--jsonl"),
            ("--unit sentence --jsonl text", "--unit"),
            ("--unit document --jsonl text --ngram 5", "--ngram"),
            ("--unit paragraph --jsonl text --threshold 0.5", "--threshold"),
            ("--unit ngram --jsonl text --threshold 0", "--threshold"),
            ("--unit ngram --jsonl text --threshold 1.1", "--threshold"),
            ("--unit ngram --jsonl text --ngram 0", "--ngram"),
            ("--output-dir out", "--unit"),
            ("--annotate", "--unit"),
            ("--unit paragraph --jsonl text -v --annotate", "-v"),
            ("--unit paragraph --jsonl text -c", "-c is for lines"),
            ("--unit paragraph --jsonl text -o x --output-dir y z", "--output-dir"),
            ("--unit paragraph --jsonl text --shard-by key", "--shard")):
        c.run(f"dedupe {line}", stdin="", code=2, stderr=has(said))
    c.expect(c.names() == [], f"{c.names()}")


main()
