# SPDX-License-Identifier: Apache-2.0
"""dedupe --near beside an exact model (tests/reference/near_model.py): the same bands, the same decisions."""

import json
import os
import random
import re

from runner import case, has, keyed, main

import corpora
from corpus_runs import expect_files, kill_at, report_of, text_of

import near_model
from near_model import Near

FILES = ("a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl")


def documents(count, seed, odd=True):
    """Documents of which a third are like an earlier one, some more and some less."""
    generator = random.Random(seed)
    drawn = corpora.vocabulary(generator, 600)
    lines, texts = [], []
    for number in range(count):
        if odd and generator.random() < 0.06:
            lines.append(generator.choice(corpora.ODD_LINES))
            continue
        if texts and generator.random() < 0.4:
            words = generator.choice(texts).split(" ")
            for _ in range(generator.choice((0, 0, 1, 1, 2, 4, 8))):
                words[generator.randrange(len(words))] = generator.choice(drawn[0])
            text = " ".join(words)
        else:
            text = corpora.sentence(generator, drawn, 1, generator.choice((4, 30, 60, 120)))
        texts.append(text)
        lines.append(f'{{"id": {number}, "text": {corpora.escaped(generator, text)}}}'.encode())
    return lines


def near_line(more="", threshold=0.8, quiet=True):
    """The command without its inputs. Its rate is so low that a wrong drop would be a wonder."""
    return f"dedupe --unit document --jsonl text --near {threshold} -p 1e-10 {'-q ' if quiet else ''}{more}"


def near_files(c, count=45, folder="in", seed=3):
    """Some files of one corpus: their lines by name."""
    lines = documents(count * len(FILES), seed, odd=False)
    os.makedirs(c.path(folder), exist_ok=True)
    parts = {name: lines[i * count:(i + 1) * count] for i, name in enumerate(FILES)}
    for name, some in parts.items():
        c.file(f"{folder}/{name}", text_of(some))
    return parts


def model_files(parts, near, **more):
    """What comes out of each of the files, judged in their order."""
    known = set(more.pop("against", ()))
    return {name: near_model.dedupe(lines, near, against=known, **more) for name, lines in parts.items()}


# ---- The same as the model ---------------------------------------------------------------------------

@case
def near_duplicates_are_those_of_the_model(c):
    """Any chunks, any threads."""
    lines = documents(400, 1)
    near = Near(0.8)
    expected = near_model.dedupe(lines, near)
    c.expect(40 < len(lines) - len(expected) < 250, f"{len(expected)} of {len(lines)} stay")
    c.file("in", text_of(lines))
    for chunk, threads in (("100", 1), ("5000", 2), ("2000", 3), ("2000", 4), ("500", 5), ("3000", 6), ("700", 7),
                           ("", 8)):
        c.run(f"{near_line()} -j {threads} in", stdout=text_of(expected), stderr=None,
              environment={"BLOOMERY_BLOCK_BYTES": chunk})
    report = report_of(c, f"{near_line(quiet=False)} in")
    judged = list(near_model.judge(lines, near))
    for name, value in (("documents", len(lines)), ("documents_dropped", len(lines) - len(expected)),
                        ("keys", sum(one.bands for one in judged)), ("keys_seen", sum(one.seen for one in judged)),
                        ("near", 0.8), ("bands", near.bands), ("rows", near.rows), ("permutations", 128),
                        ("shingle_words", 5)):
        c.expect(report[name] == value, f"{name}: {report[name]}, not {value}")


@case
def options_choose_other_signatures(c):
    lines = documents(250, 2)
    c.file("in", text_of(lines))
    for options, near, more in (
            ("--near 0.6", Near(0.6), {}),
            ("--near 0.9 --permutations 64", Near(0.9, 64), {}),
            ("--near 0.8 --ngram 1", Near(0.8, words=1), {}),
            ("--near 0.8 --ngram 3 --permutations 200 --bands 40 --rows 5", Near(0.8, 200, 3, 40, 5), {}),
            ("--near 0.8 --permutations 1 --bands 1 --rows 1", Near(0.8, 1, 5, 1, 1), {}),
            ("--near 0.8 --permutations 1024 --bands 1024 --rows 1", Near(0.8, 1024, 5, 1024, 1), {}),
            ("--near 0.7 --add-all", Near(0.7), {"add_all": True}),
            ("--near 0.8 --min-words 12", Near(0.8), {"min_words": 12})):
        expected = near_model.dedupe(lines, near, **more)
        c.run(f"dedupe -q --unit document --jsonl text -p 1e-8 {options} in", stdout=text_of(expected), stderr=None)


@case
def letters_are_made_lower_case_first(c):
    lines = [json.dumps({"text": "One two three four five six seven eight"}).encode(),
             json.dumps({"text": "ONE two three four five six seven EIGHT"}).encode()]
    c.run(near_line(), stdin=text_of(lines), stdout=text_of(lines))
    c.run(near_line("--lower"), stdin=text_of(lines), stdout=text_of(lines[:1]))


@case
def annotations_say_how_many_bands_were_seen(c):
    lines = documents(300, 4, odd=False)
    near = Near(0.7)
    c.file("in", text_of(lines))
    out, _ = c.run(f"{near_line('--annotate=near', 0.7)} in", stdout=None)
    several = 0
    for line, one in zip(out.splitlines(), near_model.judge(lines, near), strict=True):
        found = json.loads(line).pop("near", None)
        if not one.dropped:
            c.expect(line == one.line and found is None, f"{line} stays")
            continue
        several += 1 < one.seen < one.bands
        c.expect(found == {"bands": one.seen, "of": near.bands, "drop": True, "similarity": found["similarity"]} and
                 abs(found["similarity"] - near.similarity_of(one.seen)) < 1e-3, f"{line}: {one.seen} bands")
        c.expect(line.startswith(one.line[:-1]), f"{line} has other bytes")
    c.expect(several > 4, "no document has some of its bands")


@case
def dropped_documents_are_printed_the_other_way_round(c):
    lines = documents(200, 5)
    c.file("in", text_of(lines))
    c.run(f"{near_line('-v')} in", stderr=None,
          stdout=text_of(one.line for one in near_model.judge(lines, Near(0.8)) if one.dropped))


@case
def exact_fingerprints_make_the_same_decisions(c):
    lines = documents(200, 6)
    c.file("in", text_of(lines))
    c.run("dedupe -q --unit document --jsonl text --near 0.8 --exact in", stderr=None,
          stdout=text_of(near_model.dedupe(lines, Near(0.8))))


# ---- Files, filters and shards -----------------------------------------------------------------------

@case
def a_state_goes_on_with_the_next_files(c):
    parts = near_files(c)
    for name, expected in model_files(parts, Near(0.8)).items():
        c.run(f"{near_line('--state s.bloom')} in/{name}", stdout=text_of(expected))


@case
def a_corpus_is_cleaned_of_what_is_like_a_benchmark(c):
    """Each document of the benchmark is compared with, also one that is like another one of them."""
    parts = near_files(c)
    near, bench = Near(0.6), parts["a.jsonl"]
    known = set()
    judged = list(near_model.judge(bench, near, against=known, add_all=True))
    c.expect(any(one.dropped for one in judged), "no document of the benchmark is like another one")
    c.run(f"{near_line('-n 1000 --state s.bloom --add-all', 0.6)} in/a.jsonl", stdout=None)
    for source in ("in/a.jsonl", "s.bloom"):
        c.run(near_line(f"--against {source} --no-add in/b.jsonl", 0.6),
              stdout=text_of(near_model.dedupe(parts["b.jsonl"], near, against=set(known), add=False)))
        c.run(near_line(f"--against {source} in/b.jsonl", 0.6),
              stdout=text_of(near_model.dedupe(parts["b.jsonl"], near, against=set(known))))


@case
def a_chain_of_similar_documents_ends_at_its_first_link(c):
    """The second text is like the first, the third like the second alone. Bands of one value find any similarity."""
    lines = [json.dumps({"text": " ".join(f"w{i}" for i in range(start, start + 60))}).encode() for start in (0, 30, 70)]
    line = near_line("--bands 128 --rows 1").replace("1e-10", "1e-8")
    c.file("one", text_of(lines[:1]))
    c.file("two", text_of(lines[:2]))
    c.run(line, stdin=text_of(lines), stdout=text_of([lines[0], lines[2]]))
    c.run(f"{line} --add-all", stdin=text_of(lines), stdout=text_of(lines[:1]))
    # All documents of a list count, also those that are like another one of it.
    c.run(f"{line} --against two", stdin=text_of(lines[2:]), stdout="")
    c.run(f"{line} --against two --no-add", stdin=text_of(lines[2:]), stdout="")
    # What another filter has is dropped, and adds nothing.
    c.run(f"{line} --state s.bloom one", stdout=text_of(lines[:1]))
    c.run(f"{line} --against s.bloom", stdin=text_of(lines[1:]), stdout=text_of(lines[2:]))
    c.run(f"{line} --against s.bloom --add-all", stdin=text_of(lines[1:]), stdout="")


@case
def filters_of_other_signatures_are_refused_by_their_note(c):
    parts = near_files(c, 20)
    c.run(f"{near_line('--state s.bloom')} in/a.jsonl", stdout=None)
    c.run(f"{near_line('--state p.bloom').replace('--near 0.8', '')} in/a.jsonl", stdout=None)
    for other in ("--near 0.7", "--near 0.81", "--near 0.8 --ngram 4", "--near 0.8 --permutations 64",
                  "--near 0.8 --bands 10 --rows 12"):
        for where in ("--against s.bloom --no-add", "--state s.bloom"):
            c.run(f"dedupe -q --unit document --jsonl text {other} {where} in/b.jsonl", code=2, stderr=has(
                "s.bloom: has other keys (near texts, similarity 0.8, 11 bands of 11 of 128 values, runs of 5 words)"))
    c.run(f"{near_line('--against p.bloom')} in/b.jsonl", code=2, stderr=has("has other keys (whole texts)"))
    c.run("dedupe -q --unit document --jsonl text --against s.bloom in/b.jsonl", code=2,
          stderr=has("than these options make (whole texts)"))
    c.run(f"{near_line('--ngram 4 --state q.bloom')} in/b.jsonl", stdout=None)
    said = has("s.bloom and q.bloom are not compatible: their keys are near texts, similarity 0.8, 11 bands of 11 of 128 "
               "values, runs of 5 words, and near texts")
    c.run("merge -q -o m.bloom s.bloom q.bloom", code=2, stderr=said)
    c.run("merge --check-only s.bloom q.bloom", code=1, stdout=said)
    c.run(f"{near_line('--state r.bloom')} in/b.jsonl", stdout=None)
    c.run("merge -q -o m.bloom s.bloom r.bloom")
    c.expect(len(parts) == len(FILES), "files are missing")


@case
@keyed
def signatures_of_other_secrets_are_refused(c):
    near_files(c, 20)
    c.run(f"{near_line('--keyed --state one.bloom')} in/a.jsonl", stdout=None)
    c.run(f"{near_line('--state open.bloom')} in/a.jsonl", stdout=None)
    c.run(f"{near_line('--keyed --against one.bloom')} in/b.jsonl", code=2, stderr=has("signatures are made with a secret"))
    c.run(f"{near_line('--against one.bloom')} in/b.jsonl", code=2, stderr=has("those of this run with none"))
    c.run(f"{near_line('--keyed --against open.bloom')} in/b.jsonl", code=2, stderr=has("are made with no secret"))


@case
@keyed
def keyed_bands_are_those_of_their_secret_alone(c):
    """The secret hashes the words, too."""
    parts = near_files(c, 120)
    secret = bytes(range(16))
    c.file("secret", secret.hex() + "\n")
    expected = model_files(parts, Near(0.8, secret=secret))
    c.expect(expected != model_files(parts, Near(0.8)), "the secret makes no difference")
    for name, lines in expected.items():
        c.run(f"{near_line('--keyed --secret-file secret --state s.bloom')} in/{name}", stdout=text_of(lines))
        c.run(f"{near_line('--keyed --secret-file secret --state t.bloom --against s.bloom')} in/{name}", stdout="")


@case
def outputs_lie_beside_each_other_and_a_killed_run_goes_on(c):
    parts = near_files(c, 100)
    names = " ".join(f"in/{name}" for name in FILES)
    expected = model_files(parts, Near(0.8))
    for checkpoint in ("0", "600"):
        line = near_line(f"-n 100000 -j 2 --checkpoint {checkpoint} --output-dir out-{checkpoint} {names}")
        for outputs in range(len(FILES)):
            kill_at(c, line, f"out-{checkpoint}", outputs)
        c.run(line)
        expect_files(c, f"out-{checkpoint}", expected, f"checkpoint {checkpoint}: ")


@case
def inputs_that_were_done_are_read_again_for_the_same_bands(c):
    """The filter of an interrupted run is lost: what was dropped then adds nothing now."""
    parts = near_files(c)
    first, names = " ".join(f"in/{name}" for name in FILES[:2]), " ".join(f"in/{name}" for name in FILES)
    for more in ("", "--add-all"):
        out = f"out{more}"
        c.run(near_line(f"{more} -n 2000 --output-dir {out} {first}"))
        journal = c.read(f"{out}/.bloomery-dedupe").split(b"\n")
        c.file(f"{out}/.bloomery-dedupe", b"\n".join(line for line in journal if line != b"end"))
        c.run(near_line(f"{more} -n 2000 --output-dir {out} {names}"))
        expect_files(c, out, model_files(parts, Near(0.8), add_all=more != ""))


@case
def a_directory_of_other_bands_is_refused(c):
    near_files(c, 20)
    c.run(near_line("--output-dir out in/a.jsonl"))
    for other in ("--near 0.7", "--near 0.8 --ngram 4", "--near 0.8 --bands 8 --rows 16", "--near 0.8 --add-all", ""):
        c.run(f"dedupe -q --unit document --jsonl text {other} -p 1e-10 --output-dir out in/b.jsonl", code=2,
              stderr=has("is of a run with other options"))


@case
def shards_that_add_all_are_one_run(c):
    """With --add-all it makes no difference which documents stay, so two passes drop what one does; merged filters
    of earlier shards are as good as each. Without it a shard compares with documents that go later."""
    parts = near_files(c)
    near = Near(0.7)
    names = " ".join(f"in/{name}" for name in FILES)
    for more, whole in (("--add-all", model_files(parts, near, add_all=True)), ("", model_files(parts, near))):
        after = {}
        for number in (1, 2, 3, 4):
            c.run(near_line(f"{more} -n 1000 --shard {number}/4 --state {number}.bloom --output-dir out{more}{number} {names}", 0.7))
            name = FILES[number - 1]
            if number == 1:
                after[name] = c.read(f"out{more}1/{name}")
                continue
            filters = " ".join(f"{n}.bloom" for n in range(1, number))
            c.run(f"merge -q -o before.bloom {filters}")
            merged, _ = c.run(near_line(f"--no-add --against before.bloom out{more}{number}/{name}", 0.7), stdout=None)
            against = " ".join(f"--against {n}.bloom" for n in range(1, number))
            c.run(near_line(f"--no-add {against} out{more}{number}/{name}", 0.7), stdout=merged)
            after[name] = merged
            os.remove(c.path("before.bloom"))
        for name, lines in whole.items():
            kept = after[name].splitlines()
            c.expect(kept == lines if more else len(set(kept) ^ set(lines)) <= 3, f"{name}{more} differs")
        for number in (1, 2, 3, 4):
            os.remove(c.path(f"{number}.bloom"))


# ---- Bad input ---------------------------------------------------------------------------------------

@case
def documents_of_few_words_are_one_shingle(c):
    """Those of none are kept each time."""
    texts = ["", "", "...", "...", "one", "One", "one", "one two three four", "one two three four.", "one two three",
             "one two three four five", "one two three four five"]
    lines = [json.dumps({"n": i, "text": text}).encode() for i, text in enumerate(texts)]
    c.run(near_line(), stdin=text_of(lines), stdout=text_of(lines[i] for i in (0, 1, 2, 3, 4, 5, 7, 9, 10)))


@case
def a_document_of_a_million_words_is_read(c):
    """Of one word a million times, and of as many different ones."""
    many = [" ".join(f"w{i}" for i in range(start, 10 ** 6 + start)) for start in (0, 1000, 10 ** 6)]
    lines = [json.dumps({"text": text}).encode() for text in ("word " * 10 ** 6, *many, "word " * 9, "word " * 4)]
    c.run(near_line(), stdin=text_of(lines), stdout=text_of(lines[i] for i in (0, 1, 3, 5)))


@case
def numbers_that_make_no_sense_are_refused(c):
    for threshold in ("0", "1", "nan", "inf", "-1", "1.5", "x", "0.8x"):
        c.run(["dedupe", "--unit", "document", "--jsonl", "text", f"--near={threshold}"], code=2,
              stderr=has("--near is a similarity above 0 and below 1"))
    for more, said in (("--bands 20 --rows 20", "20 bands of 20 values are 400, and a signature has 128"),
                       ("--bands 20", "give both or neither"), ("--rows 20", "give both or neither"),
                       ("--permutations 0", "--permutations"), ("--permutations 1025", "--permutations"),
                       ("--ngram 65", "runs of up to 64 words"), ("--threshold 0.8", "the threshold of --near"),
                       ("--add-all --no-add --against x", "give one"),
                       ("--shard 1/2 --shard-by key", "can't judge near-duplicates"),
                       ("-n 100000000000000", "more keys than a filter can have"),
                       ("--bands 128 --rows 1", "-p is too low for 128 bands")):
        c.run(near_line(f"{more} x"), code=2, stderr=has(said))
    for more in ("--permutations 64", "--bands 4 --rows 4", "--add-all"):
        c.run(f"dedupe --unit document --jsonl text {more} x", code=2, stderr=has("go with --near"))
    for unit in ("paragraph", "ngram"):
        c.run(f"dedupe --unit {unit} --jsonl text --near 0.8 x", code=2, stderr=has("it goes with --unit document"))
    c.run("dedupe --near 0.8 x", code=2, stderr=has("--near goes with --unit"))


# ---- Plans -------------------------------------------------------------------------------------------

@case
def messages_count_documents_as_the_options_do(c):
    """A rate that a message advises is one that fits."""
    line = "dedupe -q --unit document --jsonl text --near 0.8 -n 100000"
    for more in ("--memory 1MiB", "--memory 2MiB", "--memory 5MiB", "--memory 2MiB --on-full=grow",
                 "--memory 6MiB --on-full=grow"):
        _, said = c.run(f"{line} {more} -p 1e-9", stdin="", code=2, stderr=has("100,000 documents need "))
        advised = re.search(r"; a rate of (\S+) would fit \(-p\)", said.decode())[1]
        c.run(f"{line} {more} -p {advised}", stdin=json.dumps({"text": "a b"}), stdout=None)
        c.run(f"{line} {more} -p {float(advised) / 1.2}", stdin="", code=2, stderr=has(" documents need "))
    for more in ("", "--on-full=grow"):
        _, said = c.run(f"{line} --memory 300KiB {more}", stdin="", code=2, stderr=has("100,000 documents need "))
        c.expect(b"would fit" not in said, f"{said} advises what is useless")
    c.run(f"{line} -p 1e-3 --state s.bloom", stdin=json.dumps({"text": "a b"}), stdout=None)
    c.run(f"{line} -p 1e-4 --state s.bloom", stdin=json.dumps({"text": "a b"}),
          stderr=has("planned for 100,000 documents and a rate of 1 in 1,0"))


@case
def a_dry_run_shows_the_curve_and_the_memory_of_the_run(c):
    c.file("in", text_of(documents(400, 7, odd=False)))
    for more in ("", "-n 50000", "-n 50000 --on-full=stop"):
        line = f"dedupe --unit document --jsonl text --near 0.8 {more} --json in"
        out, _ = c.run(f"{line} --dry-run", stdout=None)
        plan = json.loads(out)
        for row in plan["curve"]:
            c.expect(abs(row["dropped"] - near_model.curve(row["similarity"], 11, 11)) < 2e-5, f"{row}")
        c.expect([row["similarity"] for row in plan["curve"]] == [hundredths / 100 for hundredths in range(50, 101, 5)],
                 f"{plan['curve']}")
        for row in plan["plans"]:
            report = report_of(c, line.replace("--json ", f"-p {row['rate']} "))
            c.expect(report["bytes"] == row["bytes"], f"{more}: {report['bytes']} bytes, planned {row['bytes']}")


@case
def a_full_filter_stops_before_a_document_or_lets_pass(c):
    """It ends with a whole document, the same one for any threads."""
    lines = documents(900, 8, odd=False)
    c.file("in", text_of(lines))
    line = f"dedupe --unit document --jsonl text --near 0.8 -p 0.01 -n 300 -q in"
    kept, _ = c.run(f"{line} --on-full=stop -j 1", stdout=None, code=2, stderr=None)
    expected = near_model.dedupe(lines, Near(0.8))
    c.expect(250 < len(kept.splitlines()) < 600, f"{len(kept.splitlines())} documents were kept")
    c.expect(len(set(expected[:200]) - set(kept.splitlines())) < 10, "kept documents are missing")
    for threads in (2, 5):
        c.run(f"{line} --on-full=stop -j {threads}", stdout=kept, code=2, stderr=None,
              environment={"BLOOMERY_BLOCK_BYTES": "2000"})
    passed, _ = c.run(f"{line} --on-full=pass -j 1", stdout=None, stderr=None)
    c.expect(passed.startswith(kept) and len(passed) > len(kept), "nothing was let pass")
    c.run(f"{line} --on-full=pass -j 4", stdout=passed, stderr=None, environment={"BLOOMERY_BLOCK_BYTES": "2000"})


@case
def wrong_drops_are_as_many_as_the_report_expects(c):
    """Documents that resemble none, at a high rate: those that go are the filter's doing."""
    generator = random.Random(9)
    lines = [json.dumps({"text": " ".join(str(generator.getrandbits(64)) for _ in range(8))}).encode() for _ in range(6000)]
    c.file("in", text_of(lines))
    report = report_of(c, "dedupe --unit document --jsonl text --near 0.8 -p 0.2 -n 6000 --on-full=stop in")
    dropped, expected = report["documents_dropped"], report["expected_wrong_removals"]
    c.expect(abs(dropped - expected) < 6 * expected ** 0.5 + 0.1 * expected, f"{dropped} dropped, {expected} expected")
    c.expect(100 < dropped < 1200, f"{dropped} dropped")


if __name__ == "__main__":
    main()
