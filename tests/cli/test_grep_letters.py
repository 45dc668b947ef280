# SPDX-License-Identifier: Apache-2.0
"""The letters that query shares with grep: -n, -H, -l and -m mean what they mean there.

Where grep is there, it is the model: it looks for the lines of a file (-Fxf), query for those of a
filter of them.
"""

import itertools
import os
import shutil
import subprocess

from runner import Skip, case, has, main

KEYS = "a\nb\nc\n"


def set_up(c):
    """A filter of a, b and c, its keys as a file, and inputs."""
    c.file("keys", KEYS)
    c.run("build -q -n 10 -p 1e-12 -o f.bloom keys")
    c.file("one", "x\na\ny\nb\na\n")
    c.file("none", "x\ny\n")
    c.file("empty", "")
    c.file("two", "c\nx\nc")  # without a last newline


@case
def letters_mean_what_they_mean_to_grep(c):
    if shutil.which("grep") is None:
        raise Skip("no grep here")
    set_up(c)
    c.file("long", "".join(f"{'abc'[i % 3]}\n" if i % 7 == 0 else f"{i}\n" for i in range(30_000)))
    letters = [list(chosen) for size in range(4) for chosen in itertools.combinations(
        ("-n", "-H", "-v", "-m 1", "-m 2", "-m 4500"), size) if sum("-m" in x for x in chosen) < 2]
    letters += [["-l"], ["-l", "-v"]]
    for chosen in letters:
        for inputs in ("one none empty two", "none empty", "long one -", "- two long"):
            options = " ".join(chosen)
            # Of several inputs grep names each, unless -h says not to.
            line = [*([] if "-H" in chosen else ["-h"]), *options.split(), *inputs.split()]
            model = subprocess.run(["grep", "-Fxf", "keys", *line], cwd=c.directory, input=b"x\nb\nx\nc\n",
                                   env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, check=False)
            c.run(f"query {options} f.bloom {inputs}", stdin="x\nb\nx\nc\n", stdout=model.stdout,
                  code=model.returncode)


@case
def output_is_the_same_with_any_j_and_any_block(c):
    set_up(c)
    c.file("long", "".join(f"{'abc'[i % 3]}\n" if i % 7 == 0 else f"{i}\n" for i in range(3000)))
    for options in ("-n", "-H", "-nH", "-m 3", "-n -m 300", "-l", "-lv"):
        printed = set()
        for block, threads in itertools.product(("16", "100", ""), (1, 2, 8)):
            printed.add(c.run(f"query {options} -j {threads} f.bloom one long two", stdout=None,
                              environment={"BLOOMERY_BLOCK_BYTES": block})[0])
        c.expect(len(printed) == 1, f"{options}: {len(printed)} outputs")


@case
def places_stand_before_counts_and_filters(c):
    set_up(c)
    c.run("build -q -n 10 -p 1e-12 -o g.bloom", stdin="a\n")
    c.run("query -nH --with-filename -f f.bloom -f g.bloom one two",
          stdout="one:2:f.bloom:a\none:2:g.bloom:a\none:4:f.bloom:b\none:5:f.bloom:a\none:5:g.bloom:a\n"
                 "two:1:f.bloom:c\ntwo:3:f.bloom:c\n")
    c.run("build -q -n 10 --kind counting -p 1e-9 -o c.bloom", stdin="a\na\nb\n")
    c.run("query -n --counts c.bloom one", stdout="2:2\ta\n4:1\tb\n5:2\ta\n")
    c.run("query -nH -0 f.bloom", stdin="x\0a\0", stdout="(standard input):2:a\0")
    c.run("query --line-number --with-input --max-count=1 f.bloom one", stdout="one:2:a\n")
    c.run("query --list-inputs -0 f.bloom - one", stdin="a\0", stdout="(standard input)\0")


@case
def lines_without_a_key_are_numbered_too(c):
    c.run("build -q -n 10 -p 1e-12 -F 2 -o f.bloom", stdin="0\ta\n")
    c.run("query -n f.bloom", stdin="x\n1\ta\ny\n2\ta\n", stdout="2:1\ta\n4:2\ta\n", stderr=None)


@case
def a_record_of_several_lines_has_the_number_of_its_first(c):
    c.run("build -q -n 10 -p 1e-12 --csv --header -F id -o f.bloom", stdin="id,text\n7,x\n")
    records = 'id,text\n1,"a\nb"\n7,"c\nd"\n7,e\n'
    expected = '1:id,text\n4:7,"c\nd"\n6:7,e\n'
    for block in ("16", "100", ""):
        c.run("query -n --csv --header -F id f.bloom", stdin=records, stdout=expected,
              environment={"BLOOMERY_BLOCK_BYTES": block})
    c.run("query -l --csv --header -F id f.bloom", stdin=records, stdout="(standard input)\n")


@case
def the_last_input_is_left_when_enough_was_found(c):
    set_up(c)
    for options, expected in (("-m 2", b"b\na\nb\n"), ("-l", b"first\n(standard input)\n"), ("-nm1", b"2:b\n1:a\n")):
        c.file("first", "x\nb\n")
        process = c.start(f"query {options} f.bloom first -")
        process.stdin.write(b"a\nb\nc\n")
        process.stdin.flush()
        out = process.stdout.read()
        c.expect(process.wait(timeout=60) == 0 and out == expected, f"{options}: {out}")


@case
def counts_are_those_of_each_input(c):
    """As of grep -H -c: every input that could be read, in order, also one without a line."""
    lines = [f"{n}\n" for n in range(100000)]
    c.run("build -q -n 100000 -p 1e-9 -o f.bloom", stdin="".join(lines))
    c.file("big", "".join(lines) + "other\n" * 7)
    c.file("some", "5\n6\nother\n")
    c.file("none", "other\n")
    c.file("empty", "")
    for threads in (1, 4):
        c.run(f"query -j {threads} -H -c f.bloom big some none empty some",
              stdout="big:100000\nsome:2\nnone:0\nempty:0\nsome:2\n")
        c.run(f"query -j {threads} -v -H -c f.bloom big some none empty",
              stdout="big:7\nsome:1\nnone:1\nempty:0\n")
    c.run("query -H -c f.bloom", stdin="5\n", stdout="(standard input):1\n")
    c.run("query -H -c f.bloom none", stdout="none:0\n", code=1)
    c.run("query -H -c f.bloom missing some", stdout="some:2\n", code=2, stderr=has("missing: No such file"))
    c.run("query -c f.bloom big some", stdout="100002\n")


@case
def letters_that_do_not_fit_are_refused(c):
    set_up(c)
    for options in ("-n -c", "-H -c -n", "-H -c -k a", "-H -c -q", "-H -c --json", "-H -c -m 1", "-H -c --with-filename", "-l -c", "-m 1 -c", "-n -q", "-l -q", "-n -k a", "-m 1 -k a",
                    "-n --positions", "-l --positions", "-l -n", "-l -H", "-l --with-filename", "-l --counts",
                    "-m 1 --counts", "-m 0", "-m x"):
        c.run(f"query {options} f.bloom one", code=2, stderr=has("try 'bloomery query --help'"))


main()
