# SPDX-License-Identifier: Apache-2.0
"""docs/corpora.md: every command in it does what it says."""

import json
import os
import random
import re
import shlex
import shutil
import subprocess

from runner import EMULATOR, TOOL, case, main

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "corpora.md")


def pieces():
    """The shell commands of the page; those that need what is not there left out."""
    with open(GUIDE, encoding="utf-8") as file:
        text = file.read()
    return [body for needed, body in re.findall(r"^```sh(?: needs (\w+))?\n(.*?)^```$", text, re.M | re.S)
            if not needed or shutil.which(needed)]


def documents(seed, count):
    """Some of their paragraphs are those of all files."""
    choose = random.Random(seed)
    common = [f"boilerplate number {i} that many pages have at their end" for i in range(20)]
    for number in range(count):
        lines = [" ".join(f"w{choose.randrange(500)}" for _ in range(choose.randint(2, 30))) for _ in range(3)]
        lines.insert(choose.randrange(4), choose.choice(common))
        yield json.dumps({"id": number, "text": "\n".join(lines)}) + "\n"


def all_of(c, directory):
    return b"".join(c.read(f"{directory}/{name}") for name in sorted(os.listdir(c.path(directory)))
                    if not name.startswith("."))


@case
def commands_of_the_guide_work_and_shards_give_what_one_run_gives(c):
    os.mkdir(c.path("bin"))
    os.mkdir(c.path("in"))
    c.file("bin/bloomery", "#!/bin/sh\nexec " + shlex.join([*EMULATOR, TOOL]) + ' "$@"\n')
    os.chmod(c.path("bin/bloomery"), 0o755)
    for name in "abcd":
        c.file(f"in/{name}.jsonl", "".join(documents(name, 150)))
    c.file("bench.jsonl", "".join(documents("bench", 30)) + "".join(list(documents("a", 150))[7:9]))
    found = pieces()
    c.expect(len(found) >= 6, f"{len(found)} pieces")
    c.expect("CI" not in os.environ or any("parallel" in piece for piece in found), "no GNU parallel")
    for piece in found:
        done = subprocess.run(["sh", "-e", "-c", piece], cwd=c.directory, capture_output=True, text=True,
                              timeout=100, check=False,
                              env={**os.environ, "PATH": c.path("bin") + ":" + os.environ["PATH"]})
        c.expect(done.returncode == 0, f"{piece}: {done.returncode}: {done.stderr}")
    whole = all_of(c, "out")
    c.expect(0 < len(whole) < len(all_of(c, "in")), "nothing was removed")
    c.expect(all_of(c, "one") + all_of(c, "two.clean") == whole, "two passes differ from one run")
    c.expect(all_of(c, "whole") == whole, "shards by key differ from one run")
    c.expect(0 < len(all_of(c, "clean")) < len(all_of(c, "in")), "decontamination")
    if os.path.isdir(c.path("part1")):
        c.expect(all_of(c, "part1") == all_of(c, "one") and all_of(c, "part2") == all_of(c, "two"), "parallel")


main()
