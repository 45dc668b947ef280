# SPDX-License-Identifier: Apache-2.0
"""docs/kinds.md: every command in it does what it says, and its sizes are those of `plan`.

(scripts/check-docs looks at what it names.)"""

import json
import os
import re
import shlex
import subprocess

from runner import EMULATOR, TOOL, case, has, main

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "kinds.md")


@case
def commands_of_the_guide_work(c):
    os.mkdir(c.path("bin"))
    c.file("bin/bloomery", "#!/bin/sh\nexec " + shlex.join([*EMULATOR, TOOL]) + ' "$@"\n')
    os.chmod(c.path("bin/bloomery"), 0o755)
    ids = "".join(f"id {i}\n" for i in range(50_000))
    c.file("ids.txt", ids)
    c.file("left.txt", "id 7\nid 8\n")
    c.file("more.txt", "another\n")
    c.file("candidates.txt", "id 7\nid 9\n")
    with open(GUIDE, encoding="utf-8") as file:
        pieces = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.M | re.S)
    c.expect(len(pieces) == 6, f"{len(pieces)} pieces")
    said = ""
    for piece in pieces:
        done = subprocess.run(["sh", "-e", "-c", piece], cwd=c.directory, capture_output=True, text=True,
                              timeout=100, check=False,
                              env={**os.environ, "PATH": c.path("bin") + ":" + os.environ["PATH"]})
        c.expect(done.returncode == 0, f"{piece}: {done.returncode}: {done.stderr}")
        said += done.stdout
    c.expect("1\tid 9\n" in said, said)
    c.expect(c.read("members-small.bloom") != b"" and c.read("unique.txt") == ids.encode(), "files differ")
    # A key was removed before, so the two are of one size and need not be equal.
    c.expect(len(c.read("members-small.bloom")) == len(c.read("ids.bloom")), "sizes differ")


@case
def sizes_of_the_table_are_those_of_plan(c):
    kinds = ("blocked", "classic", "static", "counting", "scalable")
    rows = {"1e-2": "bits per key at 1 in 100", "1e-4": "at 1 in 10,000", "1e-6": "at 1 in a million"}
    with open(GUIDE, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for rate, title in rows.items():
        line = next(line for line in lines if line.startswith("|") and title in line.split("|")[1])
        for kind, cell in zip(kinds, line.split("|")[2:]):
            stated = re.match(r" ([0-9.]+) ", cell).group(1)
            output, _ = c.run(f"plan -n 20M -p {rate} --kind {kind} --json", stdout=has("{"))
            plan = next(plan for plan in json.loads(output)["plans"] if plan["recommended"])
            c.expect(stated == f"{plan['bits_per_key']:.2f}", f"{kind} at {rate}: {stated}, {plan}")


main()
