# SPDX-License-Identifier: Apache-2.0
"""What a newcomer reads first is true: README's first screen, docs/what-is-a-bloom-filter.md,
docs/coming-from.md and the figures."""

import json
import os
import re
import shlex
import subprocess
import sys

import documents
from runner import EMULATOR, SECONDS, TOOL, case, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCREEN = 66  # lines, of which two are the addresses of pictures


def page(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def shell(c, line, codes=(0,)):
    """Runs a line with `bloomery` in the path; returns stdout and stderr as one text."""
    if not os.path.exists(c.path("bin")):
        os.mkdir(c.path("bin"))
        c.file("bin/bloomery", "#!/bin/sh\nexec " + shlex.join([*EMULATOR, TOOL]) + ' "$@"\n')
        os.chmod(c.path("bin/bloomery"), 0o755)
    done = subprocess.run(["sh", "-e", "-c", line], cwd=c.directory, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=SECONDS, check=False,
                          env={**os.environ, "LC_ALL": "C", "PATH": c.path("bin") + ":" + os.environ["PATH"]})
    c.expect(done.returncode in codes, f"{line}: {done.returncode}: {done.stdout!r}")
    return done.stdout


@case
def commands_of_readmes_first_screen_print_what_it_shows(c):
    screen = page("README.md").partition("\n## ")[0]
    pieces = re.findall(r"^```console\n(.*?)^```$", screen, re.M | re.S)
    steps = re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", "".join(pieces), re.M)
    c.expect(len(steps) >= 5, f"{len(steps)} commands")
    for line, shown in steps:
        said = shell(c, line).decode()
        c.expect(said == shown, f"{line}: prints {said!r}, not {shown!r}")


@case
def readmes_first_screen_has_what_a_newcomer_looks_for(c):
    screen = "\n".join(page("README.md").splitlines()[:SCREEN])
    for part in ("Bloom filter", "](docs/figures/bits.svg)", "make demo", "$ bloomery build", "$ bloomery query",
                 "bloomery dedupe", "bloomery plan", "awk", "](docs/benchmarks.md)"):
        c.expect(part in screen, f"the first {SCREEN} lines lack {part}")


@case
def commands_of_the_explanation_print_what_it_says(c):
    text = page("docs/what-is-a-bloom-filter.md")
    pieces = re.findall(r"^```sh\n(.*?)^```$(?:\n\nThis prints `(\w+)`\.)?", text, re.M | re.S)
    c.expect(len(pieces) == 4 and sum(1 for _, printed in pieces if printed) == 3, f"{pieces}")
    for piece, printed in pieces:
        said = shell(c, piece).decode()
        c.expect(not printed or said == printed + "\n", f"{piece}: prints {said!r}")


@case
def explanations_rates_are_those_of_the_command(c):
    def classic(line):
        report = json.loads(c.run(f"plan --json --kind classic {line}", stdout=None)[0])
        return report["plans"][0]

    ten = classic("--bits-per-key 10")
    c.expect(0.005 < ten["rate"] < 0.015 and ten["probes"] == 7, f"ten bits per key: {ten}")
    three = classic("--bits-per-key 10 --probes 3")
    c.expect(1.8 < three["rate"] / ten["rate"] < 2.3, "three probes have not twice the rate")
    lower = classic("--bits-per-key 14.8")
    c.expect(9 < ten["rate"] / lower["rate"] < 11, "4.8 bits do not divide the rate by ten")


# In the column "there", by their first word: programs of this machine, whose output is compared, and others.
COMPARED = ("sort", "awk", "comm", "grep")
PRODUCTS = ("bloom", "poppy", "anew", "redis-cli")


def files_of_those_who_come(c):
    """What the tables of docs/coming-from.md name."""
    c.file("other.txt", "".join(f"other {i}\n" for i in range(9000)))
    c.file("rows.csv", "1,key 7\n2,key 7\n3,none\n")
    c.file("log.txt", "key 7\nnew\nkey 7\nnew\nnew\n\x1b[31mnew\x1b[0m\n")
    c.file("sorted.txt", "key 7\n")
    c.file("seen.txt", "key 7\n")
    c.file("asked.txt", "key 7\nan absent key\n")
    c.file("few.txt", "one more\n")
    c.file("keys.txt", "".join(f"key {i}\n" for i in sorted(range(2000), key=str)))
    c.file("more.txt", "another\nand another\n")
    c.file("docs.jsonl", '{"text":"a"}\n{"text":"b"}\n{"text":"a"}\n')
    c.file("tests.jsonl", '{"text":"b"}\n')
    shell(c, "bloomery build -q --dialect dcso -p 0.001 -n 9000 -o u.bloom other.txt")
    shell(c, "bloomery build -q --dialect guava -n 9k -p 0.01 -o h.bf more.txt")
    shell(c, "bloomery convert -q --from guava -o h.bloom h.bf")


def output_of(c, line):
    """The standard output of a line. What it says besides is shown if it fails."""
    return shell(c, f"{{ {line}; }} 2>said || {{ cat said; exit 2; }}").decode()


@case
def commands_here_do_what_was_done_there(c):
    files_of_those_who_come(c)
    ran, compared = {}, 0
    for cells in documents.rows("docs/coming-from.md"):
        there, here = ([span for span in re.findall(r"`([^`]*)`", cell) if documents.is_command(span)] for cell in cells)
        here = [line for line in here if "bloomery " in line]
        for line in here:
            c.expect(line not in ran or line == "bloomery dedupe log.txt", f"{line} stands there twice")
            ran[line] = output_of(c, line)
        for line in there:
            program = line.split()[0]
            c.expect(program in COMPARED + PRODUCTS, f"{line}: {program} is neither compared nor known as a product")
            if program in COMPARED and here:
                wanted, said = output_of(c, line), output_of(c, here[0])
                c.expect(sorted(said.splitlines()) == sorted(wanted.splitlines()) and wanted,
                         f"{line} prints {wanted!r}, {here[0]} {said!r}")
                compared += 1
    c.expect(len(ran) >= 44 and compared == 8, f"{len(ran)} commands, {compared} compared")
    for line, printed in (("query --dialect dcso t.bloom asked.txt", "key 7\n"),
                          ("query --dialect dcso -d , -F 2 t.bloom rows.csv", "1,key 7\n2,key 7\n"),
                          ("query new.bloom asked.txt", "key 7\n"),
                          ("query --dialect guava g.bf asked.txt", "key 7\n"),
                          ('query -k "key 7" seen.bloom', "key 7\n"),
                          ("query --confirm sorted.txt keys.bloom log.txt", "key 7\nkey 7\n"),
                          ("query -v --jsonl text tests.bloom docs.jsonl", '{"text":"a"}\n' * 2)):
        c.expect(ran["bloomery " + line] == printed, f"{line}: {ran['bloomery ' + line]!r}")
    for line, printed in (("bloomery dedupe --jsonl text --unit document docs.jsonl", '{"text":"a"}\n{"text":"b"}\n'),
                          ("bloomery dedupe --jsonl text --unit paragraph docs.jsonl", '{"text":"a"}\n{"text":"b"}\n'),
                          ("sed 's/\\x1b\\[[0-9;]*m//g' log.txt | bloomery dedupe", "key 7\nnew\n")):
        c.expect(ran[line] == printed, f"{line}: {ran[line]!r}")
    c.expect(shell(c, "bloomery query -c all.bloom keys.txt more.txt") == b"2002\n", "the merged filter lost keys")
    c.expect(b"query" in shell(c, "bloomery check t.bloom", codes=(2,)), "bloomery check does not answer with query")


@case
def rates_of_the_figure_are_the_librarys(c):
    figure = json.loads(subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "draw-figures"), "--rates"],
                                       capture_output=True, check=True, timeout=SECONDS).stdout)
    shapes = {"blocked": "--blocks 1 --probes 8", "classic": "--probes 7"}
    for kind, shape in shapes.items():
        size = figure[f"{kind}_bits"]
        report = json.loads(c.run(f"plan --json -n {figure['planned']} -p 0.01 --kind {kind}", stdout=None)[0])
        c.expect(report["plans"][0]["bits"] == size, f"{kind} is planned with other bits than {size}")
        for point in figure["points"][::8]:
            line = f"plan --json -n {point['keys']} --memory {size // 8} --kind {kind} {shape}"
            rate = json.loads(c.run(line, stdout=None)[0])["plans"][0]["rate"]
            c.expect(abs(point[kind] / rate - 1) < 0.01, f"{kind}, {point}: the library says {rate}")
    twice, = (point["blocked"] for point in figure["points"] if point["keys"] == 2 * figure["planned"])
    c.expect(f"here to {100 * twice:.0f} % at twice" in page("docs/what-is-a-bloom-filter.md"),
             f"the page has another rate than {twice} at twice the planned number")


main()
