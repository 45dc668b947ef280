# SPDX-License-Identifier: Apache-2.0
"""dedupe --unit over files: outputs in a directory, shards, and input and disks that fail."""

import gzip
import json
import os
import re
import resource
import shutil
import signal
import subprocess

from runner import Skip, case, has, keyed, main

from corpus_runs import (FILES, UNITS, corpus, dedupe_line, expect_files, files, kill_at, model, model_files,
                         quiet, report_of, text_of)


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
@keyed
def a_keyed_run_goes_on_with_its_secret(c):
    """With a filter saved after each input, and with none."""
    parts = files(c, 60, FILES[:3], odd=False)
    names = [f"in/{name}" for name in parts]
    os.makedirs(c.path("gone"))
    for checkpoint in ("0", "600"):
        out = f"out-{checkpoint}"
        line = quiet("paragraph", f"--keyed --checkpoint {checkpoint} --output-dir {out}")
        c.run(f"{line} {names[0]} in/missing", code=2, stderr=has("in/missing"))
        saved = f"{out}/.bloomery-dedupe.filter"
        c.expect(os.path.exists(c.path(saved)) == (checkpoint == "0"), f"{os.listdir(c.path(out))}")
        if checkpoint == "0":
            c.expect(os.stat(c.path(saved)).st_mode & 0o777 == 0o600, "others can read the secret")
        c.run(f"{line.replace('--keyed ', '')} {' '.join(names)}", code=2, stderr=has("other options"))
        c.run(f"{line} {' '.join(names)}")
        expect_files(c, out, model_files(parts, "paragraph"), f"{checkpoint}: ")


@case
def inputs_of_one_name_keep_their_folders(c):
    lines = [b'{"text":"%d"}' % (i % 70) for i in range(100)]
    for i, folder in enumerate(("data/en", "data/fr/old", "data/fr/new")):
        os.makedirs(c.path(folder))
        c.file(f"{folder}/000.jsonl", text_of(lines[30 * i:30 * i + 40]))
    c.file("data/en/001.jsonl.gz", gzip.compress(text_of(lines)))
    names = ["en/000.jsonl", "fr/old/000.jsonl", "fr/new/000.jsonl", "en/001.jsonl.gz"]
    expected = [lines[:40], lines[40:70], [], []]
    inputs = " ".join("data/" + name for name in names)
    line = "dedupe -q -p 1e-12 --jsonl text --unit document --output-dir"
    c.run(f"{line} out {inputs}")
    c.run(f"{line} out {inputs}")  # goes on
    c.run(f"{line} far {' '.join(c.path('data') + '//./' + name for name in names)}")
    for shard in (1, 2):
        c.run(f"{line} shard{shard} --shard {shard}/2 {inputs}")
    for folder in ("out", "far"):
        made = [os.path.relpath(os.path.join(place, name), c.path(folder))
                for place, _, files_of in os.walk(c.path(folder)) for name in files_of if name[0] != "."]
        c.expect(sorted(made) == sorted(names), f"{folder}: {made}")
        for name, kept in zip(names, expected):
            data = c.read(f"{folder}/{name}")
            c.expect((gzip.decompress(data) if name.endswith("gz") else data) == text_of(kept), f"{folder}/{name}")
    c.expect(c.read("shard1/fr/old/000.jsonl") == text_of(lines[40:70]) and
             os.path.exists(c.path("shard2/fr/new/000.jsonl")), "shards have other places")
    c.run(f"{line} no data/en/000.jsonl ./data/en/000.jsonl", code=2, stderr=has("would have the same output, no/000.jsonl"))
    c.run(f"{line} no data/en/000.jsonl data/fr/../fr/old/000.jsonl", code=2, stderr=has("'..' can't be kept"))


@case
def a_killed_run_goes_on_to_the_same_bytes(c):
    """Killed once for each number of outputs that are there, with a filter saved after each input and
    with none."""
    parts = files(c, 300, odd=False)
    names = " ".join(f"in/{name}" for name in FILES)
    for unit in ("paragraph", "ngram"):
        for checkpoint in ("0", "600"):
            out = f"out-{unit}-{checkpoint}"
            line = quiet(unit, f"-n 200000 -j 2 --checkpoint {checkpoint} --output-dir {out} {names}")
            for outputs in range(len(FILES)):
                kill_at(c, line, out, outputs)
            c.run(line)
            expect_files(c, out, model_files(parts, unit), f"{unit} {checkpoint}: ")


@case
def a_run_that_a_signal_ends_says_that_it_can_go_on(c):
    parts = files(c, 3000, FILES[:2], odd=False)
    names = " ".join(f"in/{name}" for name in parts)
    os.mkfifo(c.path("in/waits"))
    for number in (signal.SIGINT, signal.SIGTERM):
        out = f"out-{number}"
        process = c.start(f"dedupe --jsonl text --unit paragraph -n 200000 -j 2 --output-dir {out} {names} in/waits")

        def done():
            return [name for name in (os.listdir(c.path(out)) if os.path.isdir(c.path(out)) else [])  # pylint: disable=cell-var-from-loop
                    if not name.startswith(".")]
        c.wait_until(lambda: len(done()) == len(parts), "it waits for the third input", process)  # pylint: disable=cell-var-from-loop
        process.send_signal(number)
        said = process.communicate()[1]
        c.expect(process.returncode == -number and said == b"bloomery: dedupe: ended by a signal; the same command goes "
                 b"on after the last input that is done\n", f"{process.returncode}: {said}")
        expect_files(c, out, model_files(parts, "paragraph"))


@case
def a_power_cut_at_any_call_loses_nothing(c):
    """The next run finds what a disk has after that, and makes the same bytes of it, and of the list of what is
    removed."""
    library = os.environ.get("BLOOMERY_FAULTY_IO")
    if not library or os.environ.get("BLOOMERY_EMULATOR"):
        raise Skip("no library of faults")
    parts = files(c, 12, FILES[:2])
    names = " ".join(f"in/{name}" for name in parts)
    expected = model_files(parts, "paragraph")
    c.run(quiet("paragraph", f"-n 2000 --removed removed {names}"), stdout=None, stderr=None)
    for checkpoint, step in (("0", 1), ("600", 5)):
        line = quiet("paragraph", f"-n 2000 -j 1 --checkpoint {checkpoint} --output-dir root/out --removed root/removed "
                                  f"{names}")
        at, cut = 0, True
        while cut:
            at += step
            for name in ("root", "shadow"):
                shutil.rmtree(c.path(name), ignore_errors=True)
                os.mkdir(c.path(name))
            environment = {**os.environ, "LD_PRELOAD": library, "FAULTY_IO_ROOT": c.path("root"),
                           "FAULTY_IO_SHADOW": c.path("shadow"), "FAULTY_IO_MODE": "crash",
                           "FAULTY_IO_AT": str(at), "FAULTY_IO_SEED": str(at),
                           "FAULTY_IO_CALLS": "open,write,sync,truncate,link,unlink,rename,mkdir"}
            done = subprocess.run(c.arguments(line), cwd=c.directory, capture_output=True, timeout=60,
                                  env=environment, check=False)
            cut = done.returncode == 137
            c.expect(cut or done.returncode == 0, f"call {at}: {done.returncode}, {done.stderr!r}")
            c.run(line, stderr=None)
            expect_files(c, "root/out", expected, f"call {at}, checkpoint {checkpoint}: ")
            c.expect(c.read("root/removed") == c.read("removed"), f"call {at}: another list of what is removed")
        c.expect(at > 20, f"only {at} calls")


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
    said = c.run(dedupe_line("paragraph", f"--output-dir out {names}"), stderr=None)[1]
    c.expect(b"read" in said and b"memory" not in said, f"memory of no filter: {said}")
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
    c.run(quiet("paragraph", "--output-dir out in/a.jsonl ./in/a.jsonl"), code=2,
          stderr=has("in/a.jsonl and ./in/a.jsonl would have the same output"))
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


@case
def a_shard_without_inputs_reads_nothing(c):
    files(c, 20, FILES[:1])
    line = ["dedupe", "--unit", "document", "--jsonl", "text", "--shard"]
    c.run([*line, "2/3", f"in/{FILES[0]}"], stdout=b"", stderr=has("shard 2/3 has none of the inputs"))
    c.run([*line, "1/2"], code=2, stdin=b'{"text":"a"}\n', stderr=has("name them"))


@case
def a_full_filter_leaves_what_is_done(c):
    files(c)
    names = " ".join(f"in/{name}" for name in FILES)
    line = f"dedupe --unit ngram --jsonl text -n 400 -p 0.01 --on-full stop --output-dir out {names}"
    c.run(line, code=2, stderr=has("the filter is full", f" of {len(FILES)} inputs are done\n"))
    c.expect(not os.path.exists(c.path(f"out/{FILES[-1]}")), "an output of a run that stopped")


# ---- Bad input ---------------------------------------------------------------------------------------

@case
def lines_without_a_text_are_kept_and_counted(c):
    lines = [b'{"text": "a"}', b"no JSON", b'{"other": 1}', b'{"text": 5}', b"no JSON", b'{"text": "a"}']
    c.file("in", text_of(lines))
    for unit in UNITS:
        _, said = c.run(f"{dedupe_line(unit)} in", stdout=text_of(lines[:-1]), stderr=None)
        c.expect(re.search(rb"in: 2 lines are not JSON.*: 2, 5", said), f"{said}")
        report = report_of(c, f"{dedupe_line(unit)} in")
        c.expect(report["without_text"] == 4 and report["documents_dropped"] == 1, f"{report}")


@case
def broken_lines_are_named_ten_at_most(c):
    text = "{\n" * 1000 + '{"text": "a"}\n'
    _, said = c.run(dedupe_line("document"), stdin=text, stdout=text, stderr=None)
    c.expect(b"990 more" in said and len(said) < 600, f"{said}")


@case
def bytes_that_are_not_text_are_taken_as_they_are(c):
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


# ---- Mistakes ----------------------------------------------------------------------------------------

@case
def a_member_that_no_document_has_is_an_error_before_anything_is_written(c):
    lines = corpus(200, 3, odd=False)
    c.file("a.jsonl", text_of(lines))
    for unit in UNITS:
        for line in (f"dedupe --unit {unit} --jsonl txet --output-dir out a.jsonl",
                     f"dedupe --unit {unit} --jsonl txet a.jsonl", f"dedupe --unit {unit} --jsonl txet --dry-run a.jsonl"):
            c.run(line, code=2, stderr=has("a.jsonl: no document has a string at 'txet'"))
        c.expect("out" not in c.names(), "something was written")
        # Without a sample it shows at the end.
        c.run(f"dedupe -n 1000 --unit {unit} --jsonl txet --state s.bloom a.jsonl", code=2, stdout=None,
              stderr=has("no document has a string at 'txet'"))
        c.expect("s.bloom" not in c.names(), "a state was kept")
        c.file("other.jsonl", '{"question": "x"}\n')
        c.run(f"dedupe --unit {unit} --jsonl text --no-add --against other.jsonl a.jsonl", code=2,
              stderr=has("other.jsonl: no document has a string at 'text', so there is nothing to compare with"))
    c.file("b.jsonl", text_of(lines) + b'{"t": 1}\n[]\n')
    _, said = c.run(dedupe_line("document", "b.jsonl"), stdout=None, stderr=None)
    c.expect(b", 2 without a text, " in said, f"{said}")


@case
def a_member_that_is_there_is_not_added_again(c):
    for name, line in (("bloomery", '{"text": "a", "bloomery": 1}'), ("x.y", '{"x.y": null, "text": "a"}')):
        c.file("a.jsonl", '{"text": "a"}\n' * 3 + line + "\n")
        for unit in UNITS:
            c.run(dedupe_line(unit, f"--annotate={name} --output-dir out a.jsonl"), code=2,
                  stderr=has(f"documents already have a member '{name}'; --annotate=NAME chooses another name"))
            c.expect("a.jsonl" not in os.listdir(c.path("out")), "it was written")
            c.run(quiet(unit, "--annotate=other a.jsonl"), stdout=has('"other":'), stderr=None)
    c.file("a.jsonl", '{"text": "a", "x": {"y": 1}}\n')  # a dot in the name is not a step
    c.run(quiet("document", "--annotate=x.y a.jsonl"), stdout=None)


@case
def a_run_that_did_nothing_binds_no_options(c):
    c.file("a.jsonl", text_of(corpus(200, 4, odd=False)))
    c.run(dedupe_line("document", "--memory 100 --output-dir out a.jsonl"), code=2, stderr=has("--memory is 100 bytes"))
    c.run(quiet("document", "--memory 1M --output-dir out a.jsonl"))
    c.run(quiet("document", "--memory 2M --output-dir out a.jsonl"), code=2, stderr=has("of a run with other options"))


@case
def a_run_that_is_killed_again_and_again_comes_to_its_end(c):
    """What was read again is saved at once, though no time for a checkpoint has passed."""
    parts = files(c, 60, odd=False)
    names = " ".join(f"in/{name}" for name in FILES)
    c.run(quiet("paragraph", f"-n 20000 --output-dir out in/{FILES[0]}"), stderr=None)
    os.rename(c.path("out/.bloomery-dedupe"), c.path("journal"))
    ended = b"\n".join(line for line in c.read("journal").split(b"\n") if line != b"end")
    c.file("out/.bloomery-dedupe", ended)
    c.file("out/.bloomery-dedupe.filter", "")
    c.run(quiet("paragraph", f"-n 20000 --output-dir out {names} in/missing"), code=2, stderr=None)
    c.expect(b"checkpoint 1\n" in c.read("out/.bloomery-dedupe"), "what was read again was not saved")
    c.run(quiet("paragraph", f"-n 20000 --output-dir out {names}"), stderr=None)
    expect_files(c, "out", model_files(parts, "paragraph"))


@case
def inputs_of_a_dry_run_are_looked_for(c):
    c.file("a.jsonl", text_of(corpus(20, 4, odd=False)))
    os.mkdir(c.path("folder"))
    c.run(dedupe_line("document", "--dry-run a.jsonl missing"), code=2, stderr=has("missing: No such file or directory"))
    c.run(dedupe_line("document", "--dry-run folder"), code=2, stderr=has("folder: is a directory"))


@case
def broken_lines_are_named_by_their_own_input(c):
    c.file("a.jsonl", '{"text":"x"}\nno\n')
    c.file("b.jsonl", '{"text":"x"}\n{"text":"y"}\nno\nno\n')
    for to in ("", "--output-dir out"):
        c.run(quiet("document", f"{to} a.jsonl b.jsonl"), stdout=None, stderr=has(": 2, b.jsonl:3, b.jsonl:4\n"))


@case
def a_shard_without_inputs_leaves_a_directory_and_a_state(c):
    c.file("a.jsonl", text_of(corpus(20, 4, odd=False)))
    c.run(dedupe_line("document", "--shard 1/3 --state s.bloom --output-dir out a.jsonl"), stderr=has("has none of the inputs"))
    c.expect(os.listdir(c.path("out")) == [], "outputs")
    c.run("inspect --json s.bloom", stdout=has('"adds": 0'))


@case
def filters_that_take_no_keys_or_do_not_name_them(c):
    c.file("a.jsonl", text_of(corpus(50, 4, odd=False)))
    c.file("keys", "a\nb\n")
    c.run("build -q --kind static -o s.bloom keys")
    for line in (dedupe_line("document", "--state s.bloom a.jsonl"), "dedupe --state s.bloom keys"):
        c.run(line, code=2, stderr=has("is a static filter, to which nothing can be added; give it to --against"))
    c.run(dedupe_line("ngram", "--no-add --against s.bloom a.jsonl"), stdout=None,
          stderr=has("s.bloom: does not say what its keys are; they are assumed to be runs of 13 words"))
    c.run(quiet("ngram", "--no-add --against s.bloom a.jsonl"), stdout=None)


# ---- Full disks --------------------------------------------------------------------------------------

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


main()
