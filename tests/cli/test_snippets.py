# SPDX-License-Identifier: Apache-2.0
"""Commands in README.md, docs/counting.md and docs/format.md, which no other test runs, do what they say."""

import os
import re
import shlex
import subprocess

from runner import EMULATOR, SECONDS, TOOL, case, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# README works with 20 million lines, and a test with a hundredth of them.
SMALLER = {"20M": "200k", "21M": "210k", "10M": "100k", "1M": "10k"}


def page(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def shell(c, line):
    """Runs a line with `bloomery` in the path; returns stdout."""
    if not os.path.exists(c.path("bin")):
        os.mkdir(c.path("bin"))
        c.file("bin/bloomery", "#!/bin/sh\nexec " + shlex.join([*EMULATOR, TOOL]) + ' "$@"\n')
        os.chmod(c.path("bin/bloomery"), 0o755)
    done = subprocess.run(["sh", "-e", "-c", line], cwd=c.directory, capture_output=True, timeout=SECONDS, check=False,
                          env={**os.environ, "PATH": c.path("bin") + ":" + os.environ["PATH"]})
    c.expect(done.returncode == 0, f"{line}: {done.returncode}: {done.stderr!r}")
    return done.stdout.decode()


def commands(c, text, count):
    """The commands of a list of lines that begin with a dollar, without their comments."""
    found = [re.split(r" {2,}# ", line)[0].strip() for line in re.findall(r"^    \$ (.*)$", text, re.M)]
    c.expect(len(found) == count, f"{len(found)} commands")
    return found


@case
def commands_of_readmes_minute_do_what_they_say(c):
    text = page("README.md").partition("## In a minute\n")[2].partition("\n## ")[0]
    said = {}
    for line in commands(c, text, 12):
        for number, smaller in SMALLER.items():
            line = re.sub(rf"\b{number}\b", smaller, line)
        said[line] = shell(c, line + " || test $? -eq 1" if "&&" in line else line)  # 1: it is not in it
    others = c.read("others.txt").decode().splitlines()
    possibly, absent = (said[next(line for line in said if line.startswith(start))].splitlines()
                        for start in ("bloomery query ids.bloom", "bloomery query -v"))
    c.expect(len(others) == 10_000 and sorted(possibly + absent) == sorted(others), "lines are lost")
    # 8,000 of a million, README says, before the filter is full: 80 here, five deviations above and below.
    c.expect(80 - 45 < len(possibly) < 80 + 45, f"{len(possibly)} of 10,000 are possibly in it")
    one = said['bloomery query -k "$(head -n 1 ids.txt)" ids.bloom']
    c.expect(one == c.read("ids.txt").decode().partition("\n")[0] + "\n", "the one key")
    kept = c.read("distinct.txt").decode().splitlines()
    ids = c.read("ids.txt").decode().splitlines() + c.read("more.txt").decode().splitlines()
    c.expect(len(set(kept)) == len(kept) and set(kept) <= set(ids), "dedupe keeps other lines")
    c.expect(len(set(ids)) - len(kept) <= 60, f"{len(set(ids)) - len(kept)} lines are lost at a rate of 1e-4")


@case
def commands_of_the_counting_page_do_what_they_say(c):
    c.file("members.txt", "".join(f"member {i}\n" for i in range(1000)) + "member 7\n")
    c.file("left.txt", "member 5\nmember 7\n")
    c.file("who.txt", "member 5\nmember 7\nmember 8\n")
    said = [shell(c, line) for line in commands(c, page("docs/counting.md"), 4)]
    c.expect(said[2] == "1\tmember 7\n1\tmember 8\n", said[2])
    parts = [len(c.read(name)) for name in ("members.bloom", "small.bloom")]
    c.expect(3.9 < parts[0] / parts[1] < 8.1, f"the small one is {parts[1]} of {parts[0]} bytes")


@case
def worked_example_of_the_format_is_the_commands_file(c):
    text = page("docs/format.md").partition("## A worked example\n")[2]
    line, = re.findall(r"^    (printf .* one\.bloom)$", text, re.M)
    shown = re.search(r"^```\n(.*?)^```$", text, re.M | re.S).group(1)
    shell(c, line)
    stated = bytes.fromhex("".join(row.split("  ", 1)[1].replace(" ", "") for row in shown.splitlines()))
    c.expect(c.read("one.bloom") == stated, "the file is another one")
    c.expect(shell(c, "od -v -A x -t x1 one.bloom").splitlines()[0].split()[1:] == shown.split("\n")[0].split()[1:],
             "od shows other bytes")


main()
