# SPDX-License-Identifier: Apache-2.0
"""docs/kinds.md: every command in it does what it says. (scripts/check-docs looks at what it names.)"""

import os
import re
import shlex
import subprocess

from runner import EMULATOR, TOOL, case, main

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
    c.expect(len(pieces) == 5, f"{len(pieces)} pieces")
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


main()
