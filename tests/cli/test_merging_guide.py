# SPDX-License-Identifier: Apache-2.0
"""docs/merging.md: every command in it does what it says."""

import os
import re
import shlex
import shutil
import subprocess

from runner import EMULATOR, TOOL, case, main

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "merging.md")


def blocks():
    """The shell commands of the page, piece by piece; those that need what is not there left out."""
    with open(GUIDE, encoding="utf-8") as file:
        text = file.read()
    return [body for needed, body in re.findall(r"^```sh(?: needs (\w+))?\n(.*?)^```$", text, re.M | re.S)
            if not needed or shutil.which(needed)]


@case
def commands_of_the_guide_work(c):
    os.mkdir(c.path("bin"))
    c.file("bin/bloomery", "#!/bin/sh\nexec " + shlex.join([*EMULATOR, TOOL]) + ' "$@"\n')
    os.chmod(c.path("bin/bloomery"), 0o755)
    c.file("keys.txt", "".join(f"key {i}\n" for i in range(200_000)))
    said = ""
    pieces = blocks()
    c.expect(len(pieces) >= 7, f"{len(pieces)} pieces")
    c.expect("CI" not in os.environ or any("parallel" in piece for piece in pieces), "no GNU parallel")
    for piece in pieces:
        done = subprocess.run(["sh", "-e", "-c", piece], cwd=c.directory, capture_output=True, text=True,
                              timeout=100, check=False,
                              env={**os.environ, "PATH": c.path("bin") + ":" + os.environ["PATH"]})
        c.expect(done.returncode == 0, f"{piece}: {done.returncode}: {done.stderr}")
        said += done.stdout
    keys = sum(c.read(f"part-{day}").count(b"\n") for day in ("aa", "ab", "ac", "ad"))
    c.expect(str(keys) in said, f"no {keys} in {said}")
    c.expect(c.read("reduced.bloom") == c.read("whole.bloom") == c.read("all.bloom"), "they differ")


main()
