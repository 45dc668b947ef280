# SPDX-License-Identifier: Apache-2.0
"""docs/sieve.md: every command in it does what it says."""

import json
import os
import re
import shlex
import subprocess

from runner import EMULATOR, TOOL, case, main

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "sieve.md")


@case
def commands_of_the_guide_work(c):
    os.mkdir(c.path("bin"))
    c.file("bin/bloomery", "#!/bin/sh\nexec " + shlex.join([*EMULATOR, TOOL]) + ' "$@"\n')
    os.chmod(c.path("bin/bloomery"), 0o755)
    with open(GUIDE, encoding="utf-8") as file:
        pieces = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.M | re.S)
    c.expect(len(pieces) == 9, f"{len(pieces)} pieces")
    said = []
    for piece in pieces:
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", piece], cwd=c.directory, capture_output=True,
                              text=True, timeout=100, check=False,
                              env={**os.environ, "PATH": c.path("bin") + ":" + os.environ["PATH"]})
        c.expect(done.returncode == 0, f"{piece}: {done.returncode}: {done.stderr}")
        said.append(done.stdout)
    c.expect(said[1] == "http://example.org/\nhttp://example.org/a\n", said[1])
    c.expect(re.search(r"  done +3  acknowledged\n", said[2]) is not None, said[2])
    c.expect(c.read("seen.txt").splitlines() == [
        b"HTTP://Example.org", b"http://example.org/a", b"http://example.org/b", b"http://example.org/a#top",
        b"http://example.org/old"], c.read("seen.txt"))
    c.expect(len(json.loads(c.read("leased.json"))["items"]) == 5, "leases")
    c.expect((len(c.read("gone.txt").splitlines()), len(c.read("more.txt").splitlines())) == (5, 4), "dead keys")
    c.expect(sorted(c.read("different.txt").splitlines()) == sorted(c.read("seeds.txt").splitlines()), "another set")


if __name__ == "__main__":
    main()
