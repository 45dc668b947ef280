# SPDX-License-Identifier: Apache-2.0
"""dedupe --unit beside an exact model (tests/reference/corpus_model.py), over corpora with everything in
them that real ones have (corpora.py).

Rates are so low that a wrong removal would be a wonder. BLOOMERY_BLOCK_BYTES makes chunks so small that
every input has many, where the build has that switch.
"""

import gzip
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

from runner import Skip, case, has, main

import corpora

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "reference"))
import corpus_model as model  # noqa: E402  pylint: disable=wrong-import-position
import corpus_words  # noqa: E402  pylint: disable=wrong-import-position

RATE = "-p 1e-12"
UNITS = ("document", "paragraph", "ngram")
CHUNKS = ("100", "5000", "")
FILES = ("a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl", "e.jsonl")
REPORTED = ("documents", "documents_dropped", "documents_changed", "without_text", "removed_bytes")


def text_of(lines):
    """Lines as a file."""
    return b"".join(line + b"\n" for line in lines)


def dedupe_line(unit, more=""):
    """The command without its inputs."""
    return f"dedupe --unit {unit} --jsonl text {RATE} {more}"


def quiet(unit, more=""):
    """The same without a report; lines that are no JSON are still told."""
    return dedupe_line(unit, "-q " + more)


def corpus(count=600, seed=1, **more):
    """Documents; those of n-grams are UTF-8 all."""
    return corpora.documents(count, seed, **more)


def files(c, count=150, names=FILES, folder="in", odd=True):
    """Some files of one corpus in a folder. Returns all of their lines, by name."""
    lines = corpus(count * len(names), 7, odd=odd)
    os.makedirs(c.path(folder), exist_ok=True)
    parts = {}
    for i, name in enumerate(names):
        parts[name] = lines[i * count:(i + 1) * count]
        c.file(f"{folder}/{name}", text_of(parts[name]))
    return parts


def model_files(parts, unit, **more):
    """What comes out of each of the files, judged in their order."""
    known, made = set(more.pop("against", ())), {}
    for name, lines in parts.items():
        made[name] = model.dedupe(lines, unit=unit, against=known, **more).lines
        if more.get("add", True):
            known |= model.keys_of(lines, unit=unit, ngram=more.get("ngram", 13))
    return made


def expect_files(c, folder, expected, what=""):
    """Each file of the folder has these lines, and no other file is there but hidden ones."""
    names = sorted(name for name in os.listdir(c.path(folder)) if not name.startswith("."))
    c.expect(names == sorted(expected), f"{what}{folder} has {names}")
    for name, lines in expected.items():
        c.expect(c.read(f"{folder}/{name}") == text_of(lines), f"{what}{folder}/{name} differs")


def report_of(c, line, **more):
    """The report as JSON, from a run that writes the file `reported`."""
    _, said = c.run(f"{line} --json -o reported", stdout=None, stderr=None, **more)
    return json.loads(said[said.index(b"{"):])


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
def a_share_that_is_the_threshold_is_enough(c):
    """Of five n-grams four were seen: 0.8 cuts, a millionth more does not."""
    lines = [b'{"text": "a b c d"}', b'{"text": "e a b c d\\nnew words"}']
    cut = [lines[0], b'{"text": "new words"}']
    for threshold, expected in (("0.8", cut), ("0.800001", lines)):
        c.run(quiet("ngram", f"--ngram 1 --threshold {threshold}"), stdin=text_of(lines),
              stdout=text_of(expected))


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
              stdout=text_of(lines), stderr=None)


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


# ---- Directories -------------------------------------------------------------------------------------

@case
def outputs_lie_beside_each_other(c):
    parts = files(c)
    for unit in UNITS:
        names = " ".join(f"in/{name}" for name in FILES)
        expected = model_files(parts, unit)
        for threads in (1, 4):
            out = f"{unit}{threads}"
            c.run(quiet(unit, f"-j {threads} --output-dir {out} {names}"), stderr=None)
            expect_files(c, out, expected)
        c.run(f"{quiet(unit)} {names}", stdout=b"".join(map(text_of, expected.values())), stderr=None)


@case
def outputs_are_packed_as_their_inputs_are(c):
    parts = files(c, 120, ("a.jsonl", "b.jsonl.gz", "c.jsonl.zst"))
    c.file("in/b.jsonl.gz", gzip.compress(text_of(parts["b.jsonl.gz"])))
    if shutil.which("zstd") is None:
        raise Skip("no zstd")
    subprocess.run(["zstd", "-q", "-f", "-o", c.path("packed"), c.path("in/c.jsonl.zst")], check=True)
    os.rename(c.path("packed"), c.path("in/c.jsonl.zst"))
    names = " ".join(f"in/{name}" for name in parts)
    c.run(quiet("paragraph", f"--output-dir out {names}"), stderr=None)
    expected = {name: text_of(lines) for name, lines in model_files(parts, "paragraph").items()}
    c.expect(c.read("out/a.jsonl") == expected["a.jsonl"], "a.jsonl differs")
    c.expect(gzip.decompress(c.read("out/b.jsonl.gz")) == expected["b.jsonl.gz"], "b.jsonl.gz differs")
    unpacked = subprocess.run(["zstd", "-dcq", c.path("out/c.jsonl.zst")], check=True,
                              stdout=subprocess.PIPE).stdout
    c.expect(unpacked == expected["c.jsonl.zst"], "c.jsonl.zst differs")


@case
def a_killed_run_goes_on_to_the_same_bytes(c):
    """Killed once for each number of outputs that are there, with a filter saved after each input and
    with none."""
    parts = files(c, 400, odd=False)
    names = " ".join(f"in/{name}" for name in FILES)
    for unit in UNITS:
        for checkpoint in ("0", "600"):
            out = f"out-{unit}-{checkpoint}"
            line = quiet(unit, f"-n 200000 -j 2 --checkpoint {checkpoint} --output-dir {out} {names}")
            for outputs in range(len(FILES)):
                kill_at(c, line, out, outputs)
            c.run(line)
            expect_files(c, out, model_files(parts, unit), f"{unit} {checkpoint}: ")


def kill_at(c, line, folder, outputs):
    """Starts the command and kills it when so many outputs are there, unless it is faster."""
    process = c.start(line)
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        if os.path.isdir(c.path(folder)):
            if sum(not name.startswith(".") for name in os.listdir(c.path(folder))) >= outputs:
                break
    process.kill()
    process.wait()


@case
def a_run_that_is_done_does_nothing_again(c):
    parts = files(c)
    names = " ".join(f"in/{name}" for name in FILES)
    line = quiet("paragraph", f"--output-dir out {names}")
    c.run(line, stderr=None)
    before = {name: os.stat(c.path(f"out/{name}")).st_mtime_ns for name in FILES}
    c.run(line, stderr=None)
    c.expect(before == {name: os.stat(c.path(f"out/{name}")).st_mtime_ns for name in FILES},
             "an output was written again")
    expect_files(c, "out", model_files(parts, "paragraph"))


@case
def a_directory_of_other_options_is_refused(c):
    files(c, 50, FILES[:1])
    c.run(quiet("paragraph", "--output-dir out in/a.jsonl"), stderr=None)
    before = c.read("out/a.jsonl")
    c.run(quiet("ngram", "--output-dir out in/a.jsonl"), code=2, stderr=has("out"))
    c.expect(c.read("out/a.jsonl") == before, "the output was changed")


@case
def outputs_take_the_place_of_no_file(c):
    parts = files(c, 50, FILES[:2])
    os.makedirs(c.path("other"))
    c.file("other/a.jsonl", '{"text": "x"}\n')
    c.run(quiet("paragraph", "--output-dir in in/a.jsonl in/b.jsonl"), code=2, stderr=has("in/a.jsonl"))
    os.symlink(c.path("in"), c.path("link"))
    c.run(quiet("paragraph", "--output-dir link in/a.jsonl"), code=2, stderr=has("in/a.jsonl"))
    c.run(quiet("paragraph", "--output-dir out in/a.jsonl other/a.jsonl"), code=2,
          stderr=has("in/a.jsonl", "other/a.jsonl"))
    os.makedirs(c.path("full"))
    c.file("full/b.jsonl", "not ours\n")
    c.run(quiet("paragraph", "--output-dir full in/a.jsonl in/b.jsonl"), code=2,
          stderr=has("full/b.jsonl"))
    c.expect(c.read("full/b.jsonl") == b"not ours\n", "a file that is not ours was changed")
    expect_files(c, "in", parts)
    c.run(quiet("paragraph", "--output-dir out"), stdin="{}", code=2, stderr=has("--output-dir"))
    c.run(quiet("paragraph", "--output-dir out2 -"), stdin="{}", code=2, stderr=has("--output-dir"))


# ---- Shards ------------------------------------------------------------------------------------------

@case
def shards_of_files_are_the_whole_run(c):
    """Each shard's keys first, then each compared with those of the shards before it."""
    parts = files(c)
    names = " ".join(f"in/{name}" for name in FILES)
    for unit in UNITS:
        expected, againsts = model_files(parts, unit), ""
        for shard in (1, 2, 3):
            c.run(quiet(unit, f"-n 50000 --shard {shard}/3 --state {unit}{shard}.bloom {names}"),
                  stdout=None, stderr=None)
        for shard in (1, 2, 3):
            c.run(quiet(unit, f"-n 50000 --shard {shard}/3 {againsts} --output-dir {unit}{shard} {names}"),
                  stderr=None)
            againsts += f" --against {unit}{shard}.bloom"
        got = {name: (shard, c.read(f"{unit}{shard}/{name}")) for shard in (1, 2, 3)
               for name in os.listdir(c.path(f"{unit}{shard}")) if not name.startswith(".")}
        c.expect({name: text for name, (_, text) in got.items()} ==
                 {name: text_of(lines) for name, lines in expected.items()}, f"{unit}: shards differ")
        order = [got[name][0] for name in FILES]
        c.expect(order == sorted(order) and set(order) == {1, 2, 3}, f"{order}")


@case
def merged_filters_of_shards_are_as_good_as_each(c):
    parts = files(c)
    names = " ".join(f"in/{name}" for name in FILES)
    for shard in (1, 2):
        c.run(quiet("paragraph", f"-n 50000 --shard {shard}/3 --state s{shard}.bloom {names}"),
              stdout=None, stderr=None)
    c.run("merge -q -o s.bloom s1.bloom s2.bloom", stdout=None, stderr=None)
    last, _ = c.run(quiet("paragraph", f"--shard 3/3 --against s.bloom {names}"), stdout=None,
                    stderr=None)
    whole = b"".join(map(text_of, model_files(parts, "paragraph").values()))
    c.expect(last and whole.endswith(last), "the last shard differs")
    c.expect(last.count(b"\n") > 50, "the last shard has no documents")


@case
def a_chain_of_shards_by_key_is_the_whole_run(c):
    lines = corpus(700, 15)
    for unit in ("document", "paragraph"):
        expected = text_of(model.dedupe(lines, unit=unit).lines)
        for shards in (1, 2, 5):
            text = text_of(lines)
            for shard in range(1, shards + 1):
                before = len(text)
                text, _ = c.run(quiet(unit, f"--shard {shard}/{shards} --shard-by key"), stdin=text,
                                stdout=None, stderr=None)
                c.expect(len(text) < before, "a shard removed nothing")
            c.expect(text == expected, f"{unit}: {shards} shards differ")
    c.run(quiet("ngram", "--shard 1/2 --shard-by key"), code=2, stderr=has("--shard-by key"))


@case
def shards_that_are_none_are_refused(c):
    for shard in ("0/2", "3/2", "1", "1/", "/2", "a/b", "1/0", "-1/2", "1/2/3"):
        c.run(["dedupe", "--unit", "document", "--jsonl", "text", "--shard", shard], code=2,
              stderr=has("--shard"))


# ---- Bad input ---------------------------------------------------------------------------------------

@case
def lines_without_a_text_are_kept_and_counted(c):
    lines = [b'{"text": "a"}', b"no JSON", b'{"other": 1}', b'{"text": 5}', b"no JSON", b'{"text": "a"}']
    c.file("in", text_of(lines))
    for unit in UNITS:
        _, said = c.run(f"{dedupe_line(unit)} in", stdout=text_of(lines[:-1]), stderr=None)
        c.expect(re.search(rb"in: 2 lines are no JSON.*: 2, 5", said), f"{said}")
        report = report_of(c, f"{dedupe_line(unit)} in")
        c.expect(report["without_text"] == 4 and report["documents_dropped"] == 1, f"{report}")


@case
def broken_lines_are_named_ten_at_most(c):
    _, said = c.run(dedupe_line("document"), stdin="{\n" * 1000, stdout="{\n" * 1000, stderr=None)
    c.expect(b"990 more" in said and len(said) < 600, f"{said}")


@case
def bytes_that_are_no_text_are_taken_as_they_are(c):
    """Not UTF-8, and NUL: nothing is lost, and equal ones are equal."""
    lines = [b'{"text": "\xff\xfe bad \x80"}', b'{"text": "nul \\u0000 here"}', b'{"text": "\xff", "n": "\0"}',
             b'{"text": "\xff\xfe bad \x80", "n": 2}', b'{"text": "nul \\u0000 here", "n": 2}']
    for unit in UNITS:
        c.run(quiet(unit), stdin=text_of(lines), stdout=text_of(lines[:3]), stderr=None)


@case
def a_missing_last_line_end_is_added(c):
    for unit in UNITS:
        c.run(quiet(unit), stdin=b'{"text": "a"}\n{"text": "b"}', stdout=b'{"text": "a"}\n{"text": "b"}\n')
        c.run(quiet(unit), stdin=b'{"text": "a"}\n{"text": "a"}', stdout=b'{"text": "a"}\n')
        c.run(quiet(unit), stdin=b"")


@case
def a_line_that_is_too_long_ends_its_input(c):
    files(c, 60, FILES[:1], odd=False)
    c.file("in/b.jsonl", b'{"text": "b"}\n{"text": "' + b"x" * 200_000 + b'"}\n')
    c.run(quiet("paragraph", "--max-line 64KiB --output-dir out in/a.jsonl in/b.jsonl"), code=2,
          stderr=has("in/b.jsonl: line 2 is longer than"))
    c.expect(os.path.exists(c.path("out/a.jsonl")) and not os.path.exists(c.path("out/b.jsonl")),
             "out has half a file")


@case
def long_texts_are_whole(c):
    long = b"word " * 400_000
    lines = [b'{"text": "' + long + b'"}', b'{"text": "a\\n' + long + b'\\nb"}', b'{"text": "b"}']
    for unit in ("document", "paragraph"):
        expected = model.dedupe(lines, unit=unit)
        c.run(quiet(unit), stdin=text_of(lines), stdout=text_of(expected.lines))
    c.run(quiet("ngram"), stdin=text_of(lines[:1] * 2), stdout=text_of(lines[:1]))


@case
def an_input_that_cannot_be_read_does_not_stop_the_others(c):
    parts = files(c, odd=False)
    line = quiet("paragraph", "--output-dir out " + " ".join(f"in/{name}" for name in FILES))
    os.rename(c.path("in/c.jsonl"), c.path("hidden"))
    c.run(line, code=2, stderr=has("in/c.jsonl", "No such file"))
    left = {name: lines for name, lines in parts.items() if name != "c.jsonl"}
    expected = model_files(left, "paragraph")
    expect_files(c, "out", expected)
    os.rename(c.path("hidden"), c.path("in/c.jsonl"))
    c.run(line)
    known = set().union(*(model.keys_of(lines) for lines in left.values()))
    expected["c.jsonl"] = model.dedupe(parts["c.jsonl"], against=known).lines
    expect_files(c, "out", expected)


@case
def a_damaged_archive_has_no_output(c):
    parts = files(c, 200, ("a.jsonl", "b.jsonl.gz"), odd=False)
    packed = gzip.compress(text_of(parts["b.jsonl.gz"]))
    c.file("in/b.jsonl.gz", packed[:len(packed) // 2])
    line = quiet("paragraph", "--output-dir out in/a.jsonl in/b.jsonl.gz")
    c.run(line, code=2, stderr=has("in/b.jsonl.gz"))
    c.expect(not os.path.exists(c.path("out/b.jsonl.gz")), "out has half a file")
    c.file("in/b.jsonl.gz", packed)
    c.run(line)
    expected = model_files(parts, "paragraph")
    c.expect(gzip.decompress(c.read("out/b.jsonl.gz")) == text_of(expected["b.jsonl.gz"]),
             "the second run differs")


@case
def a_full_disk_loses_nothing(c):
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    parts = files(c, 300, odd=False)
    c.file("in/a.jsonl", text_of(parts["a.jsonl"][:20]))
    parts["a.jsonl"] = parts["a.jsonl"][:20]
    names = " ".join(f"in/{name}" for name in FILES)
    for unit in UNITS:
        line = quiet(unit, f"--checkpoint 600 --output-dir {unit} {names}")
        c.run(line, code=2, stderr=has("File too large"), preexec_fn=small_files)
        there = [name for name in os.listdir(c.path(unit)) if not name.startswith(".")]
        c.expect(there == ["a.jsonl"], f"{there}")
        c.run(line)
        expect_files(c, unit, model_files(parts, unit))
        with open("/dev/full", "wb") as full:
            c.run(quiet(unit, names), code=2, stderr=has("No space left"), stdout_file=full)


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
        c.expect(abs(plan["different_keys"] - different) <= different / 10, f"{different}: {plan}")


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
            ("--unit paragraph --jsonl text -v", "-v"),
            ("--unit paragraph --jsonl text -o x --output-dir y z", "--output-dir"),
            ("--unit paragraph --jsonl text --shard-by key", "--shard")):
        c.run(f"dedupe {line}", stdin="", code=2, stderr=has(said))
    c.expect(c.names() == [], f"{c.names()}")


main()
