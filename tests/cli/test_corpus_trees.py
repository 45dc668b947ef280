# SPDX-License-Identifier: Apache-2.0
"""dedupe --unit over corpora as they are kept: lists of inputs, trees of shards, compressed files as they came, texts
deep in documents, and the list of what was removed."""

import gzip
import json
import os
import resource
import shutil
import signal
import subprocess

from runner import Skip, case, has, main

from corpus_runs import FILES, UNITS, corpus, dedupe_line, expect_files, files, kill_at, model_files, quiet, report_of, text_of

LINES = {**{unit: f"--unit {unit}" for unit in UNITS}, "near": "--unit document --near 0.8"}


def line_of(unit, more=""):
    """The command of any unit, without its inputs."""
    return f"dedupe -q {LINES[unit]} --jsonl text {'-p 1e-9' if unit == 'near' else '-p 1e-12'} {more}"


def tree(c, count=100):
    """The files of one corpus in three folders, two of them with one name."""
    names = ("in/en/000.jsonl", "in/en/001.jsonl", "in/fr/old/000.jsonl", "in/de.jsonl")
    lines, parts = corpus(count * len(names), 7, odd=False), {}
    for i, name in enumerate(names):
        os.makedirs(os.path.dirname(c.path(name)), exist_ok=True)
        parts[name] = lines[i * count:(i + 1) * count]
        c.file(name, text_of(parts[name]))
    return parts


def expect_tree(c, folder, expected):
    """The folder has these files, by their paths, and no others but hidden ones."""
    made = [os.path.relpath(os.path.join(place, name), c.path(folder))
            for place, _, names in os.walk(c.path(folder)) for name in names if name[0] != "."]
    c.expect(sorted(made) == sorted(expected), f"{folder} has {sorted(made)}")
    for name, lines in expected.items():
        c.expect(c.read(f"{folder}/{name}") == text_of(lines), f"{folder}/{name} differs")


# ---- Lists of inputs ---------------------------------------------------------------------------------

@case
def inputs_of_lists_are_those_of_the_line(c):
    parts = files(c, 60, odd=False)
    names = [f"in/{name}" for name in parts]
    c.file("lines", "\n".join(["", names[1], names[2]]) + "\n\n")
    c.file("rest", "\n".join(names[3:]))
    c.file("nul", "".join(name + "\0" for name in names[1:]))
    for unit in LINES:
        expected, _ = c.run(f"{line_of(unit)} {' '.join(names)}", stdout=None)
        c.run(f"{line_of(unit, '-j 3')} {names[0]} --files-from lines --files-from rest", stdout=expected)
        c.run(f"{line_of(unit)} --files-from nul {names[0]}", stdout=expected)
        c.run(f"{line_of(unit)} --files-from -", stdin="\n".join(names), stdout=expected)
    c.run("dedupe -q --files-from - lines", stdin="rest", stdout=has(names[1], names[4]))


@case
def paths_of_lists_may_have_any_byte_but_nul(c):
    name = "a\nb \xff'.jsonl".encode("latin-1")
    with open(os.path.join(c.directory.encode(), name), "wb") as file:
        file.write(b'{"text":"x"}\n')
    c.file("list", name + b"\0")
    c.run("dedupe -q --unit document --jsonl text --files-from list", stdout='{"text":"x"}\n')
    c.run("dedupe -q --unit document --jsonl text --output-dir out --files-from list", code=2,
          stderr=has("has a line end in its path"))


@case
def lists_that_name_no_inputs_are_refused(c):
    c.file("a.jsonl", '{"text":"x"}\n')
    c.file("list", "a.jsonl\nlist\n")
    c.file("empty", "\n\n")
    c.file("packed", gzip.compress(b"a.jsonl\n"))
    c.file("long", "a.jsonl\n" + "x" * 5000 + "\n")
    os.mkdir(c.path("folder"))
    c.file("tree", "a.jsonl\nfolder\n")
    line = "dedupe --unit document --jsonl text --output-dir out --files-from"
    for name, said in (("missing", "missing: No such file"), ("folder", "folder: Is a directory"),
                       ("list", "list: line 2 names the list itself"), ("empty", "empty: names no inputs"),
                       ("packed", "packed: is compressed with gzip, not a list of paths"),
                       ("long", "long: line 2 is longer than a path can be"),
                       ("a.jsonl", "a.jsonl: line 1 is JSON, not a path"),
                       ("tree", "folder: is a directory; name the files in it, or list them: find folder -type f")):
        c.run(f"{line} {name}", code=2, stderr=has(said))
    c.run(f"{line} -", code=2, stdin="", stderr=has("standard input: names no inputs"))
    c.run(f"{line} -", code=2, stdin="a.jsonl\n-\n", stderr=has("line 2 names standard input, which has the list"))
    c.run(f"{line} - -", code=2, stdin="a.jsonl\n", stderr=has("standard input can be read only once"))
    c.expect("out" not in c.names(), "something was written")
    c.run("dedupe -T list", code=2, stderr=has("its name here is '--files-from'"))


@case
def a_list_may_name_files_that_are_missing(c):
    parts = files(c, 60, FILES[:2], odd=False)
    c.file("list", "in/a.jsonl\nin/missing\nin/b.jsonl\n")
    c.run(quiet("paragraph", "--output-dir out --files-from list"), code=2, stderr=has("in/missing: No such file", "2 of 3 inputs"))
    expect_files(c, "out", model_files(parts, "paragraph"))


@case
def lists_may_be_long(c):
    """A hundred thousand names, one of them of a file with text."""
    c.file("a.jsonl", '{"text":"x"}\n')
    c.file("list", "a.jsonl\n" * 100_000)
    c.run("dedupe -q -n 10 -j 1 --unit document --jsonl text --shard 1/3000 --files-from list", stdout='{"text":"x"}\n')


# ---- Trees -------------------------------------------------------------------------------------------

@case
def folders_below_a_base_are_kept(c):
    parts = tree(c)
    expected = {name.removeprefix("in/"): lines for name, lines in model_files(parts, "paragraph").items()}
    names = " ".join(parts)
    c.run(quiet("paragraph", f"--output-dir out --base in {names}"))
    expect_tree(c, "out", expected)
    c.run(quiet("paragraph", f"--output-dir far --base {c.path('in')}/./ " + " ".join(c.path(name) for name in parts)))
    expect_tree(c, "far", expected)
    c.run(quiet("paragraph", f"--output-dir here --base . {names}"))
    expect_tree(c, "here", {f"in/{name}": lines for name, lines in expected.items()})
    # The names do not depend on what is added later.
    first, *others = parts
    c.run(quiet("paragraph", f"--output-dir grown --base in {first}"))
    c.run(quiet("paragraph", f"--output-dir grown --base in {first} {' '.join(others)}"))
    expect_tree(c, "grown", expected)


@case
def a_base_that_inputs_are_not_below_is_refused(c):
    tree(c, 5)
    line = quiet("paragraph", "--output-dir out --base")
    for more, said in (("in/en in/en/000.jsonl in/de.jsonl", "in/de.jsonl: is not below --base in/en"),
                       ("/in in/de.jsonl", "in/de.jsonl: is not below --base /in"),
                       ("in/e in/en/000.jsonl", "is not below --base in/e"),
                       ("in in/fr/../de.jsonl", "'..' can't be kept"), ("in in", "in: is a directory"),
                       ("in/de.jsonl in/de.jsonl", "needs inputs with names")):
        c.run(f"{line} {more}", code=2, stderr=has(said))
    c.run(quiet("paragraph", "--base in in/de.jsonl"), code=2, stderr=has("--base goes with --output-dir"))


@case
def a_killed_run_over_a_tree_loses_nothing(c):
    """Outputs, the list of what is removed and the state are those of a run that nobody killed."""
    parts = tree(c, 250)
    c.file("list", "\n".join(parts))
    for unit in LINES:
        def line(to, unit=unit):
            return line_of(unit, f"-n 200000 -j 2 --output-dir {to} --base in --removed {to}.removed --state {to}.bloom "
                                 "--files-from list")
        c.run(line(f"whole-{unit}"))
        out = f"out-{unit}"
        for outputs in (0, 1, 2):
            kill_at(c, line(out), out, outputs)
        c.run(line(out))
        expect_tree(c, out, {name.removeprefix("in/"): c.read(f"whole-{unit}/{name.removeprefix('in/')}").splitlines()
                             for name in parts})
        c.expect(c.read(f"{out}.removed") == c.read(f"whole-{unit}.removed"), f"{unit}: another list of what is removed")
        adds = [json.loads(c.run(f"inspect --json {name}-{unit}.bloom", stdout=None)[0])["adds"] for name in ("whole", "out")]
        c.expect(adds[0] == adds[1] > 0, f"{unit}: {adds}")
        # Killed between the journal's end and the removal of the filter that was saved.
        shutil.copy(c.path(f"{out}.bloom"), c.path(f"{out}/.bloomery-dedupe.filter"))
        c.run(line(out))
        c.expect(not os.path.exists(c.path(f"{out}/.bloomery-dedupe.filter")), "a filter that nobody needs stays")


@case
def shards_of_a_tree_are_the_whole_tree(c):
    parts = tree(c)
    expected = {name.removeprefix("in/"): lines for name, lines in model_files(parts, "paragraph").items()}
    c.file("list", "\n".join(parts))
    for shard in (1, 2):
        c.run(quiet("paragraph", f"-n 50000 --shard {shard}/2 --state {shard}.bloom --output-dir {shard} --base in "
                                 f"--removed removed{shard} --files-from list"))
    names = [name for name in expected if os.path.exists(c.path(f"2/{name}"))]
    c.file("second", "\n".join(f"2/{name}" for name in names))
    c.run(quiet("paragraph", "--against 1.bloom --no-add --output-dir 2.clean --base 2 --files-from second"))
    for name, lines in expected.items():
        folder = "2.clean" if name in names else "1"
        c.expect(c.read(f"{folder}/{name}") == text_of(lines), f"{name} differs")
    c.run("merge -q -o all.bloom 1.bloom 2.bloom")
    left, _ = c.run(quiet("paragraph", "--against all.bloom --no-add --files-from list"), stdout=None)
    c.expect(not any(json.loads(line)["text"].strip() for line in left.splitlines()), "a text is in no shard's filter")


# ---- Compressed files --------------------------------------------------------------------------------

def zstd(*arguments, data=None):
    if shutil.which("zstd") is None:
        raise Skip("no zstd")
    return subprocess.run(["zstd", "-q", *arguments], check=True, input=data, stdout=subprocess.PIPE).stdout


def window_of(data):
    """The logarithm of the window that a frame of zstd needs; of one segment, its size."""
    c0, c1 = data[4], data[5]
    return "one segment" if c0 & 0x20 else 10 + (c1 >> 3)


@case
def windows_of_zstd_stay_as_they_were(c):
    lines = corpus(40, 3, odd=False)
    os.mkdir(c.path("in"))
    for log in (21, 23, 27, 28):
        c.file(f"in/{log}.zst", zstd(f"--long={log}", "-c", data=text_of(lines)))  # from a pipe: of no known size
        c.expect(window_of(c.read(f"in/{log}.zst")) == log, "zstd makes other windows")
    skipped = b"\x5e\x2a\x4d\x18\x04\x00\x00\x00skip"
    c.file("in/skipped.zst", skipped + skipped + c.read("in/27.zst"))
    c.run(quiet("document", "--no-add --against in/empty --output-dir out in/21.zst"), code=2, stderr=has("in/empty"))
    shutil.rmtree(c.path("out"), ignore_errors=True)
    for name, log in (("21", 21), ("23", 23), ("27", 27), ("28", 28), ("skipped", 27)):
        c.run(quiet("document", f"--output-dir out{name} in/{name}.zst"))
        made = c.read(f"out{name}/{name}.zst")
        c.expect(window_of(made) == log, f"{name}: {window_of(made)}")
        c.expect(zstd("-dc", "--long=31", data=made).startswith(lines[0]), f"{name} differs")
        c.expect(made[4] & 4, "the frame has no checksum")


@case
def levels_are_kept_where_a_file_says_them_and_can_be_chosen(c):
    text = text_of(corpus(400, 3, odd=False))
    for level in (1, 6, 9):
        c.file(f"{level}.gz", gzip.compress(text, level))
        c.run(quiet("document", f"--output-dir out{level} {level}.gz"))
        c.expect(c.read(f"out{level}/{level}.gz")[8] == {1: 4, 6: 0, 9: 2}[level], "another level")
    c.file("a.zst", zstd("-c", data=text))
    sizes = []
    for level in (1, 3, 19):
        c.run(quiet("document", f"--output-dir zst{level} --level {level} a.zst"))
        sizes.append(len(c.read(f"zst{level}/a.zst")))
    c.run(quiet("document", "--output-dir zst a.zst"))
    c.expect(sizes[0] > sizes[1] > sizes[2] and len(c.read("zst/a.zst")) == sizes[1], f"{sizes}")
    for end in ("gz", "bz2", "xz", "lz4"):
        c.run(quiet("document", f"-o b.{end} --level 9 a.zst"))
        c.run(quiet("document", f"-o b.{end} --level 1 b.{end}"))
        c.run(f"dedupe -q b.{end}", stdout=has('"text"'))
        c.run(quiet("document", f"-o b.{end} --level 10 a.zst"), code=2, stderr=has("whose levels are 1 to 9, not 10"))
    c.run(quiet("document", "--output-dir no --level 22 6.gz"), code=2, stderr=has("whose levels are 1 to 9, not 22"))
    c.run(quiet("document", "--level 3 a.zst"), code=2, stderr=has("--level is for -o FILE and --output-dir"))


# ---- Texts deep in documents -------------------------------------------------------------------------

@case
def json_pointers_lead_where_paths_do(c):
    lines = ['{"meta":{"a.b":{"text":"one"}}}', '{"meta":{"a.b":{"text":"one"}},"n":2}', '{"meta":{"a.b":{"text":null}}}',
             '{"meta":{"a.b":{"text":7}}}', '{"meta":{"a.b":["text"]}}', '{"meta":"text"}', "[]"]
    kept = "\n".join(lines[:1] + lines[2:]) + "\n"
    for unit in UNITS:
        for path in ("/meta/a.b/text", r"'meta.a\.b.text'"):
            c.run(f"dedupe -q --unit {unit} --jsonl {path}", stdin="\n".join(lines), stdout=kept)
    c.run("dedupe -q --unit document --jsonl /x~1y~0z/0", stdin='{"x/y~z":["a"]}\n{"x/y~z":["a"],"n":2}\n',
          stdout='{"x/y~z":["a"]}\n')
    c.run("dedupe -q --jsonl /id", stdin='{"id":1}\n{"id":1,"n":2}\n', stdout='{"id":1}\n')
    c.file("dots.jsonl", '{"a.b":"x"}\n')
    c.run("dedupe -q --unit document --jsonl a.b dots.jsonl", code=2, stderr=has(r"at 'a.b' (a dot within a name is written \.)"))
    for path in ("/", "/a//b", "/a~2", "/a~", "//"):
        c.run(f"dedupe --unit document --jsonl {path}", code=2, stderr=has("is not a path to a member"))
    for name in ("/x", "a/b~c.d"):
        c.file("a.jsonl", '{"text":"a"}\n{"text":"a","%s":1}\n' % name)
        c.run(f"dedupe -q --unit document --jsonl text --annotate={name} a.jsonl", code=2, stdout=None,
              stderr=has(f"already have a member '{name}'"))


def two_texts(lines):
    """Documents with what they have as one text in two, by every third line of it; the second is deeper, and comes
    first in some."""
    made = []
    for number, line in enumerate(lines):
        paragraphs = json.loads(line)["text"].split("\n")
        title, body = "\n".join(paragraphs[::3]), "\n".join(one for i, one in enumerate(paragraphs) if i % 3)
        parts = [("title", title), ("meta", {"body": body})]
        made.append(json.dumps(dict(parts[::-1] if number % 4 == 0 else parts), ensure_ascii=number % 2 == 0).encode())
    return made


@case
def paragraphs_of_several_texts_are_judged_together(c):
    """Each text alone, one behind the other in the order of the line, has the same paragraphs removed; a document goes
    if all of them do."""
    for unit in ("paragraph", "ngram"):
        documents = [line for line in two_texts(corpus(400, 5, odd=False))]
        single, places = [], []
        for number, line in enumerate(documents):
            for name, text in json.loads(line).items():
                single.append(json.dumps({"text": text if name == "title" else text["body"]}).encode())
                places.append((number, name))
        options = "--threshold 1 " if unit == "ngram" else ""  # a share of all n-grams would drop other documents
        marked, _ = c.run(quiet(unit, options + "--annotate"), stdin=text_of(single), stdout=None)
        expected = {}
        for (number, name), line in zip(places, marked.splitlines()):
            for span in json.loads(line).get("bloomery", {"spans": []})["spans"]:
                expected.setdefault(number, []).append([*span, "title" if name == "title" else "/meta/body"])
        c.file("in", text_of(documents))
        line = f"dedupe -q --unit {unit} -p 1e-12 {options}--jsonl /meta/body --jsonl title in"
        for threads in (1, 4):
            marked, _ = c.run(f"{line} --annotate -j {threads} --removed removed", stdout=None,
                              environment={"BLOOMERY_BLOCK_BYTES": "3000"})
            got = [json.loads(one) for one in marked.splitlines()]
            c.expect({i: one["bloomery"]["spans"] for i, one in enumerate(got) if "bloomery" in one} == expected, unit)
        listed = [json.loads(one) for one in c.read("removed").splitlines()]
        dropped = [i for i, one in enumerate(got) if "bloomery" in one and one["bloomery"]["drop"]]
        c.expect([one["line"] - 1 for one in listed if one["drop"]] == dropped and len(dropped) > 10, f"{unit}: {dropped}")
        c.expect([one["span"] for one in listed if not one["drop"]] ==
                 [span for i, spans in sorted(expected.items()) if i not in dropped for span in spans], unit)
        kept, _ = c.run(line, stdout=None)
        cut = iter(kept.splitlines())
        for number, document in enumerate(documents):
            if number in dropped:
                continue
            there, now = json.loads(document), json.loads(next(cut))
            for name in ("title", "/meta/body"):
                before, after = ((one["title"] if name == "title" else one["meta"]["body"]) for one in (there, now))
                for begin, end, _, path in reversed(expected.get(number, [])):
                    before = before[:begin] + before[end:] if path == name else before
                c.expect(before == after, f"{unit}: document {number} has another {name}: {before!r}, {after!r}, {expected.get(number)} {there}")
        taken, _ = c.run(f"{line} -v", stdout=None)
        c.expect(len(kept) > 1000 and len(taken.splitlines()) == len(expected), f"{unit}: {len(expected)}")


@case
def whole_documents_of_several_texts_are_equal_if_all_texts_are(c):
    lines = ['{"a":"x","b":"y"}', '{"b":"y","n":2,"a":"x"}', '{"a":"x"}', '{"b":"x"}', '{"a":"xy"}', '{"b":"y","a":"x\\u001f"}',
             '{"a":"\\u0078","b":"y"}', '{"a":7}']
    kept = "\n".join([lines[0], *lines[2:6], lines[7]]) + "\n"
    c.run("dedupe -q --unit document --jsonl a --jsonl /b", stdin="\n".join(lines), stdout=kept)
    c.run("dedupe -q --unit document --jsonl a --jsonl /b --annotate", stdin="\n".join(lines[:2]),
          stdout=lines[0] + '\n' + lines[1][:-1] + ',"bloomery":{"spans":[[0,3,1]],"drop":true}}\n')
    c.run("dedupe -q --unit paragraph --jsonl a --jsonl /a", stdin="\n".join(lines[:1]), stdout=lines[0] + "\n")
    words = [f"w{i}" for i in range(200)]
    near = [json.dumps({"a": " ".join(words[:100]), "b": " ".join(words[100 + i:])}) for i in (0, 1)]
    near.append(json.dumps({"a": " ".join(words[:100]), "b": " ".join(reversed(words))}))
    c.run("dedupe -q --unit document --near 0.8 --jsonl a --jsonl b", stdin="\n".join(near),
          stdout=near[0] + "\n" + near[2] + "\n")
    c.run("dedupe --unit document " + "--jsonl a " * 9, code=2, stdin="", stderr=has("--jsonl is given more than 8 times"))
    c.run("dedupe --jsonl a --jsonl b", code=2, stdin="", stderr=has("a line has one key"))
    c.run("build -o f.bloom --jsonl a --jsonl b", code=2, stdin="", stderr=has("--jsonl is given twice"))
    c.run("dedupe --unit document --jsonl c --jsonl d", code=2, stdin=lines[0], stdout=None, stderr=has("no document has a string at 'c, d'"))


# ---- What was removed --------------------------------------------------------------------------------

@case
def removed_spans_are_those_of_annotations(c):
    parts = files(c, 150, odd=False)
    for name, lines in parts.items():
        parts[name] = [json.dumps({"id": f"{name} {i}", **json.loads(line)}).encode() for i, line in enumerate(lines)]
        c.file(f"in/{name}", text_of(parts[name]))
    names = " ".join(f"in/{name}" for name in parts)
    for unit in LINES:
        marked, _ = c.run(f"{line_of(unit, '--annotate')} {names}", stdout=None)
        expected, marked = [], iter(marked.splitlines())
        for name, lines in parts.items():
            for number, (line, mark) in enumerate(zip(lines, marked), 1):
                there, mark = json.loads(line), json.loads(mark).get("bloomery")
                if mark is None:
                    continue
                spans = [[0, len(there["text"])]] if mark["drop"] else [span[:2] for span in mark["spans"]]
                expected += [[f"in/{name}", number, there["id"], span, mark["drop"]] for span in spans]
        c.expect(len(expected) > 50, "nothing is removed")
        for threads, more in ((1, ""), (4, "-v"), (3, f"--output-dir out-{unit}"), (2, "--annotate"), (1, "-o /dev/null")):
            c.run(f"{line_of(unit, more)} -j {threads} --removed removed-{threads}{unit} {names}", stdout=None,
                  environment={"BLOOMERY_BLOCK_BYTES": "3000"})
            got = [json.loads(line) for line in c.read(f"removed-{threads}{unit}").splitlines()]
            c.expect([[one["file"], one["line"], one["id"], one["span"][:2], one["drop"]] for one in got] == expected,
                     f"{unit}, {threads} threads: differs")
            c.expect(all(0 < one["span"][2] <= 1 and "against" not in one for one in got), f"{unit}: {got[0]}")


@case
def ids_are_what_a_path_leads_to(c):
    c.file("a \".jsonl", '{"text":"x"}\n{"text":"x","id":"\\u00e9\\""}\n{"text":"x","id":1.50,"m":{"url":"u"}}\n'
                         '{"text":"x","id":null}\n{"text":"x"}\n{"text":"x","id":[1]}\n')
    for more, ids in (("", ["é\"", 1.5, None, None, None]), ("--id m.url", [None, "u", None, None, None]),
                      ("--id /m/url", [None, "u", None, None, None])):
        c.run(["dedupe", "-q", "--unit", "document", "--jsonl", "text", "--removed", "removed", *more.split(), "a \".jsonl"],
              stdout=None)
        got = [json.loads(line) for line in c.read("removed").splitlines()]
        c.expect([one["id"] for one in got] == ids and got[0]["file"] == "a \".jsonl", f"{got}")
        c.expect([one["line"] for one in got] == [2, 3, 4, 5, 6], f"{got}")
    c.run(quiet("document", "--id x -"), code=2, stdin="", stderr=has("--id names documents in the file of --removed"))
    c.run(quiet("document", "--removed r --id a..b -"), code=2, stdin="", stderr=has("is not a path to a member"))


@case
def what_was_repeated_is_named_where_it_is_known(c):
    """A filter of --against, or its only list; not what is in the inputs themselves."""
    c.file("one", '{"text":"a b c"}\n')
    c.file("two", '{"text":"d e f"}\n')
    c.file("in", "".join('{"text":"%s"}\n' % text for text in ("d e f", "new", "a b c", "new", "a b c\\nd e f\\nother")))
    for unit in UNITS:
        for name in ("one", "two"):
            c.run(quiet(unit, f"--state {unit}-{name} {name}"), stdout=None)
        filters = [f"{unit}-two", f"{unit}-one"]
        for more, expected in ((f"--against {unit}-one --against {unit}-two", [filters[0], filters[1], None]),
                               (f"--no-add --against {unit}-two --against {unit}-one", filters),
                               ("--no-add --against one", ["one"]), ("--no-add --against one --against two", [None, None])):
            c.run(quiet(unit, f"{more} --removed removed in"), stdout=None)
            got = [json.loads(line) for line in c.read("removed").splitlines()]
            c.expect([one.get("against") for one in got if one["line"] < 5] == expected, f"{unit} {more}: {got}")
            if unit == "paragraph" and "two" in more:
                c.expect([one.get("against") for one in got if one["line"] == 5] ==
                         ([None, None] if "against two" in more else filters[::-1]), f"{more}: {got}")


@case
def the_list_of_what_is_removed_is_no_other_file(c):
    files(c, 30, FILES[:2], odd=False)
    c.file("listed", '{"text":"x"}\n')
    c.file("list", "in/a.jsonl\n")
    before = {name: c.read(name) for name in ("in/a.jsonl", "listed", "list")}
    for more in ("in/a.jsonl in/b.jsonl", "-o in/a.jsonl in/b.jsonl"):
        c.run(quiet("paragraph", f"--removed in/a.jsonl {more}"), code=2, stderr=has("name the same file, in/a.jsonl"))
    for more, name in (("--state s.bloom", "s.bloom"), ("--against listed", "listed"), ("-o x", "x"), ("--files-from list", "list")):
        c.run(quiet("paragraph", f"--removed ./{name} {more} in/b.jsonl"), code=2, stderr=has(f"name the same file, {name}"))
    c.run(quiet("paragraph", "--removed out/b.jsonl --output-dir out in/a.jsonl in/b.jsonl"), code=2,
          stderr=has("out/b.jsonl: is the output of in/b.jsonl"))
    for name in (".bloomery-dedupe", ".bloomery-dedupe.filter"):
        c.run(quiet("paragraph", f"--removed new/{name} --output-dir new in/a.jsonl"), code=2,
              stderr=has(f"new/{name}: is a file of --output-dir itself"))
    c.run(quiet("paragraph", "--removed r.gz --output-dir out2 in/a.jsonl"), code=2, stderr=has("is not compressed"))
    c.run(quiet("paragraph", "--removed - in/a.jsonl"), code=2, stderr=has("needs a file"))
    c.file("others", "not ours\n")
    c.run(quiet("paragraph", "--removed others --output-dir out3 in/a.jsonl"), code=2,
          stderr=has("others: already exists, and is not from this run"))
    c.expect(c.read("others") == b"not ours\n" and before == {name: c.read(name) for name in before}, "a file was changed")
    c.run(quiet("paragraph", "--removed r.gz in/a.jsonl in/b.jsonl"), stdout=None)
    c.expect(b'"span"' in gzip.decompress(c.read("r.gz")), "not compressed")
    c.run("dedupe --removed r list", code=2, stderr=has("--removed goes with --unit"))


@case
def no_output_takes_the_place_of_a_state_or_a_secret(c):
    files(c, 30, FILES[:2], odd=False)
    for more in ("--state {}", "--state s.bloom --keyed --secret-file {}"):
        for name, said in (("a.jsonl", "is the output of in/a.jsonl, and another option names it too"),
                           (".bloomery-dedupe", "is a file of --output-dir itself"), (".bloomery-dedupe.filter", "is a file of --output-dir itself")):
            c.run(quiet("paragraph", f"{more.format(f'./out/{name}')} --output-dir out in/a.jsonl in/b.jsonl"), code=2,
                  stderr=has(f"out/{name}: {said}"))
            c.expect(os.listdir(c.path("out")) == [".bloomery-dedupe"] and "s.bloom" not in c.names(), f"{more}: {os.listdir(c.path('out'))}")
    c.run(quiet("paragraph", "--state out/s.bloom --output-dir out in/a.jsonl in/b.jsonl"))
    c.expect({"a.jsonl", "b.jsonl", "s.bloom"} <= set(os.listdir(c.path("out"))), f"{os.listdir(c.path('out'))}")


@case
def a_disk_that_is_full_of_what_is_removed_loses_nothing(c):
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    c.file("a.jsonl", '{"text":"x"}\n{"text":"x"}\n')
    c.file("b.jsonl", '{"text":"x"}\n' * 3000)
    line = "dedupe -q -n 1000 --unit document --jsonl text --output-dir out --removed removed a.jsonl b.jsonl"
    c.run(line, code=2, stderr=has("removed: File too large"), preexec_fn=small_files)
    c.run(line)
    c.expect(c.read("removed").count(b"\n") == 3001 and c.read("removed").endswith(b"}\n"), "lines are lost")
    c.file("out.jsonl", "old\n")
    state = "dedupe -q -n 1000 --unit document --jsonl text --state s.bloom -o out.jsonl --removed r b.jsonl"
    c.run(state, code=2, stderr=has("r: File too large", "r was not written", "out.jsonl was not written"), preexec_fn=small_files)
    c.expect(c.read("out.jsonl") == b"old\n" and not {"r", "s.bloom"} & set(c.names()), f"{c.names()}")
    # What waits in a buffer fails at the end, when the output is printed already.
    c.file("few.jsonl", '{"text":"x"}\n' * 300)
    c.run("dedupe -q -n 1000 --unit document --jsonl text --state s.bloom --removed r few.jsonl", code=2, stdout=None,
          stderr=has("r: File too large", "r was not written"),
          preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000))))
    c.expect(not {"r", "s.bloom"} & set(c.names()), f"{c.names()}")
    with open(c.path("removed"), "r+b") as file:
        file.truncate(10)
    c.run(line, code=2, stderr=has("removed: has lost lines since"))


# ---- Counts, and nothing -----------------------------------------------------------------------------

@case
def reports_have_the_counts_of_each_input(c):
    parts = files(c, 60, odd=False)
    names = [f"in/{name}" for name in parts]
    for unit in LINES:
        line = line_of(unit, "-n 100000 -j 3").replace("-q ", "")
        whole = report_of(c, f"{line} {' '.join(names)}", environment={"BLOOMERY_BLOCK_BYTES": "3000"})
        _, said = c.run(f"{line} --json --output-dir out-{unit} {' '.join(names)}", stderr=None)
        c.expect(json.loads(said)["inputs"] == whole["inputs"], f"{unit}: a directory has other counts")
        c.expect([one.pop("path") for one in whole["inputs"]] == names, f"{unit}: other inputs")
        for name in whole["inputs"][0]:
            c.expect(sum(one[name] for one in whole["inputs"]) == whole[name], f"{unit}: {name}")
        c.expect([one["documents"] for one in whole["inputs"]] == [len(lines) for lines in parts.values()], f"{unit}")
        c.expect(all(one["input_bytes"] > 0 for one in whole["inputs"]), f"{unit}")
    c.run(dedupe_line("document", "--json"), stdin='{"text":"a"}\n', stdout=None, stderr=has('"path": "-"'))


@case
def output_may_go_nowhere(c):
    c.file("a.jsonl", '{"text":"a"}\n{"text":"a"}\n')
    c.file("keys", "a\nb\na\n")
    c.run("dedupe --unit document --jsonl text --state s.bloom -o /dev/null a.jsonl", stderr=has("1 dropped"))
    c.run("dedupe -q --unit document --jsonl text --state s.bloom a.jsonl")
    os.symlink("/dev/null", c.path("null"))
    c.run("dedupe -q -o null keys")
    c.run("build -q -o f.bloom keys")
    c.run("query -o /dev/null f.bloom keys")
    c.expect(os.path.islink(c.path("null")), "the link was replaced")
    c.run(dedupe_line("document", "-o /dev/null --output-dir out a.jsonl"), code=2, stderr=has("give one"))
    c.run("dedupe -q -o /dev/full keys", code=2, stderr=has("is not a regular file"))
    c.run("dedupe -q -o /dev/null missing", code=2, stderr="bloomery: dedupe: missing: No such file or directory\n")


main()
