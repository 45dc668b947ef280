# SPDX-License-Identifier: Apache-2.0
"""dedupe --unit: texts that are not as one thinks of them, and runs that go on in odd circumstances."""

import gzip
import json
import os
import random
import resource
import signal

from runner import case, has, main

from corpus_runs import dedupe_line, quiet, text_of


def documents(texts):
    """Lines of JSON with these texts."""
    return [json.dumps({"text": text}).encode() for text in texts]


def different(count, paragraphs, mark=""):
    """Texts whose paragraphs all differ, by number."""
    return ["\n".join(f"{mark} {i} {j} words that are enough for one" for j in range(paragraphs)) for i in range(count)]


# ---- Texts -------------------------------------------------------------------------------------------

@case
def paragraphs_without_words_take_no_room(c):
    for name, text, rule in (("quotes", "\n".join(['"-"'] * 8000), ""), ("dashes", "\n".join(["-" * 16] * 8000), "--lower")):
        lines = documents([text] * 10 + ["one two three four"])
        c.file(f"{name}.jsonl", text_of(lines))
        out, _ = c.run(f"{quiet('ngram', f'-j 1 -n 1000 {rule}')} {name}.jsonl", stdout=None)
        c.expect(out == text_of(lines), f"{name}: texts without words are not what is compared")


def seconds_of(c, line):
    """The processor time that a run takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    c.run(line, stdout=None)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@case
def runs_of_words_take_linear_time(c):
    """Of one paragraph. Eight times the words took sixty times as long; each hash is of 64 bits."""
    generator = random.Random(9)
    words = [f"w{generator.getrandbits(40):x}" for _ in range(160_000)]
    times = []
    for count in (20_000, 160_000):
        c.file("in.jsonl", text_of(documents([" ".join(words[:count])])))
        times.append(min(seconds_of(c, "dedupe -q -j 1 -n 200000 --unit ngram --jsonl text in.jsonl")
                         for _ in range(2)))
    c.expect(times[1] <= 20 * times[0], f"{times} seconds")


@case
def keys_that_every_input_has_are_planned_for_once(c):
    """Each packed input is sampled at its beginning, and all have the same paragraphs."""
    texts = ["\n".join(f"paragraph {i * 7 % 50} has {i * 11 % 200} words " + 30 * "or more " for i in range(j, j + 5))
             for j in range(4000)]
    names = [f"{i}.jsonl.gz" for i in range(8)]
    for name in names:
        c.file(name, gzip.compress(text_of(documents(texts)), 1))
    for unit in ("document", "paragraph", "ngram"):
        text, _ = c.run(f"dedupe --json --dry-run --jsonl text --unit {unit} {' '.join(names)}", stdout=None)
        plan = json.loads(text)
        c.run(f"dedupe -q -p 1e-12 --state {unit}.bloom --jsonl text --unit {unit} {' '.join(names)}", stdout=None)
        text, _ = c.run(f"inspect --json {unit}.bloom", stdout=None)
        keys = json.loads(text)["estimated_keys"]
        c.expect(0.9 * keys < plan["distinct_keys"] < 2 * keys, f"{unit}: {keys} keys, {plan}")


@case
def texts_with_escapes_are_compared_as_what_they_say(c):
    """Whatever waits for its batch beside them."""
    texts = different(6, 3000, 'a "word"')
    lines = documents(texts)
    c.file("in.jsonl", text_of(lines + lines))
    for threads in (1, 3):
        for rule in ("", "--lower"):
            out, _ = c.run(f"{quiet('paragraph', f'-n 50000 -j {threads} {rule}')} in.jsonl", stdout=None)
            c.expect(out == text_of(lines), f"-j {threads} {rule}: {len(out)} of {len(text_of(lines))} bytes")


@case
def long_documents_are_in_the_sample(c):
    texts = different(6, 12000)
    c.file("in.jsonl", text_of(documents(texts)))
    c.expect(min(map(len, texts)) > 300_000, "the documents are not long")
    for name in ("in.jsonl", "in.jsonl.gz"):
        if name.endswith("gz"):
            c.file(name, gzip.compress(c.read("in.jsonl")))
        plan = json.loads(c.run(f"dedupe --unit paragraph --jsonl text --dry-run --json {name}", stdout=None)[0])
        c.expect(abs(plan["distinct_keys"] - 72000) < 8000 and 4 < plan["documents"] < 8, f"{name}: {plan}")
    c.run("dedupe --unit paragraph --jsonl text --memory 1MiB -o out in.jsonl", stderr=None)


@case
def all_lines_of_inputs_that_are_read_whole_are_in_the_sample(c):
    texts = different(3000, 20)
    c.file("in.jsonl", text_of(documents(texts)))
    plan = json.loads(c.run("dedupe --unit paragraph --jsonl text --dry-run --json in.jsonl", stdout=None)[0])
    c.expect(os.path.getsize(c.path("in.jsonl")) > 5 * 262144, "the input has too few places")
    c.expect(abs(plan["documents"] - 3000) < 1 and plan["distinct_keys"] == 60000, f"{plan}")


@case
def texts_that_come_late_are_not_taken_for_a_wrong_path(c):
    lines = [b'{"text": null}'] * 20000 + documents(different(2000, 1))
    c.file("in.jsonl.gz", gzip.compress(text_of(lines)))
    c.run(f"{dedupe_line('paragraph')} -o out in.jsonl.gz", code=2, stderr=has("documents that were sampled", "give the number of keys with -n"))
    c.run(f"{quiet('paragraph', '-n 3000')} -o out in.jsonl.gz")
    c.expect(c.read("out") == text_of(lines), "lines are missing")


@case
def lists_may_have_the_member_that_annotate_adds(c):
    lines = documents(["one paragraph\nanother one", "another one"])
    c.file("in.jsonl", text_of(lines))
    c.file("list.jsonl", b'{"text": "another one", "bloomery": 1}\n')
    c.run(f"{quiet('paragraph', '-n 1000 --annotate --against list.jsonl --output-dir out')} in.jsonl")
    made = [json.loads(line)["bloomery"]["drop"] for line in c.read("out/in.jsonl").splitlines()]
    c.expect(made == [False, True], f"{made}")


# ---- Runs that go on ---------------------------------------------------------------------------------

@case
def a_run_without_adding_goes_on_without_adding(c):
    lines = documents(different(50, 2))
    c.file("a.jsonl", text_of(lines))
    c.file("b.jsonl", text_of(lines))
    c.file("bench.jsonl", text_of(documents(["nothing of that"])))
    line = quiet("paragraph", "-n 1000 --no-add --against bench.jsonl --output-dir out")
    c.run(f"{line} a.jsonl")
    c.run(f"{line} a.jsonl b.jsonl")
    c.expect(c.read("out/b.jsonl") == text_of(lines), "the second input was compared with the first")


@case
def a_state_that_is_gone_is_learned_again(c):
    lines = documents(different(50, 2))
    c.file("a.jsonl", text_of(lines))
    c.file("b.jsonl", text_of(lines))
    line = quiet("paragraph", "-n 1000 --state s.bloom --output-dir out")
    c.run(f"{line} a.jsonl")
    os.unlink(c.path("s.bloom"))
    c.run(f"{line} a.jsonl b.jsonl")
    c.expect(c.read("out/b.jsonl") == b"", "the first input's texts were forgotten")
    c.run(f"{quiet('paragraph', '--state s.bloom')} b.jsonl", stdout=b"")


@case
def a_name_in_the_journal_is_not_yet_a_finished_input(c):
    os.mkdir(c.path("in"))
    whole = gzip.compress(text_of(documents(different(50, 2))))
    c.file("in/done t.jsonl.gz", whole[:len(whole) // 2])
    c.run(f"{quiet('paragraph', '-n 1000 --output-dir out')} 'in/done t.jsonl.gz'", code=2, stderr=None)
    c.file("in/done t.jsonl.gz", whole)
    c.run(f"{quiet('document', '-n 1000 --output-dir out')} 'in/done t.jsonl.gz'")
    c.expect(gzip.decompress(c.read("out/done t.jsonl.gz")) == gzip.decompress(whole), "the output differs")
    c.run(f"{quiet('paragraph', '-n 1000 --output-dir out')} 'in/done t.jsonl.gz'", code=2, stderr=has("other options"))


@case
def a_signal_ends_the_input_and_the_state_has_what_came_before(c):
    lines = documents(different(40, 2))
    process = c.start(f"{quiet('paragraph', '-n 1000 --state s.bloom')}")
    process.stdin.write(text_of(lines))
    process.stdin.flush()
    c.wait_for_file("s.bloom", process)
    c.wait_until_read(process)
    c.wait_until_it_waits(process, "it waits for more")
    process.send_signal(signal.SIGTERM)
    out = process.communicate()[0]
    c.expect(process.returncode == -signal.SIGTERM, f"{process.returncode}")
    c.expect(text_of(lines).startswith(out) and out.endswith(b"\n"), "what was delivered is not the first lines")
    again, _ = c.run(f"{quiet('paragraph', '--state s.bloom')}", stdin=text_of(lines), stdout=None)
    c.expect(out + again == text_of(lines), "the state has not what was delivered")


if __name__ == "__main__":
    main()
