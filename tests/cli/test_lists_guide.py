# SPDX-License-Identifier: Apache-2.0
"""docs/lists.md: every command in it does what it says, and its sizes are those of `plan`."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess

from runner import EMULATOR, TOOL, case, has, main

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "lists.md")
ME = "lists@example.org"


def text_of_guide():
    with open(GUIDE, encoding="utf-8") as file:
        return file.read()


def sha1(text):
    return hashlib.sha1(text.encode()).hexdigest()


def make_lists(c):
    listed = sorted(sha1(f"password {n}").upper() for n in range(5000)) + [sha1("hunter2").upper()]
    fresh = sorted(sha1(f"new password {n}").upper() for n in range(300))
    c.file("pwned.txt", "".join(f"{digest}:{n}\r\n" for n, digest in enumerate(sorted(listed))))
    c.file("pwned-new.txt", "".join(f"{digest}:{n}\r\n" for n, digest in enumerate(sorted(listed + fresh))))
    c.file("NSRLFile.txt", '"SHA-1","MD5","CRC32","FileName","FileSize"\r\n' + "".join(
        f'"{sha1(f"file {n}").upper()}","{n:032X}","{n:08X}","file, {n}.dll",{n}\r\n' for n in range(2000)))
    asked = [sha1(f"password {n}") for n in range(4500, 5500)] + [sha1("new password 7")]
    c.file("candidates.txt", "".join(digest + "\n" for digest in asked))
    os.mkdir(c.path("files"))
    c.file("files/known.dll", "file 7")
    c.file("files/mine.txt", "nobody else has this")
    return asked


def make_keys(c, environment):
    """Keys to sign with, where there are the programs: without a password."""
    os.mkdir(c.path("gnupg"), 0o700)
    for program, line in (("gpg", f"gpg --batch --passphrase '' --quick-generate-key {ME} default default never"),
                          ("minisign", "minisign -G -W -p minisign.pub")):
        if shutil.which(program):
            subprocess.run(shlex.split(line), cwd=c.directory, env=environment, capture_output=True, check=True,
                           timeout=100)


@case
def commands_of_the_guide_work(c):
    os.mkdir(c.path("bin"))
    c.file("bin/bloomery", "#!/bin/sh\nexec " + shlex.join([*EMULATOR, TOOL]) + ' "$@"\n')
    os.chmod(c.path("bin/bloomery"), 0o755)
    asked = make_lists(c)
    environment = {**os.environ, "PATH": c.path("bin") + ":" + os.environ["PATH"], "HOME": c.directory,
                   "GNUPGHOME": c.path("gnupg"), "MINISIGN_CONFIG_DIR": c.path("gnupg")}
    make_keys(c, environment)
    pieces = re.findall(r"^```sh(?: needs (\w+))?\n(.*?)^```$", text_of_guide(), re.M | re.S)
    c.expect(len(pieces) == 11, f"{len(pieces)} pieces")
    said, ran, leaked = "", 0, []
    try:
        for needed, piece in pieces:
            if needed and not shutil.which(needed):
                continue
            done = subprocess.run(["sh", "-e", "-c", piece], cwd=c.directory, capture_output=True, text=True,
                                  timeout=100, check=False, env=environment)
            c.expect(done.returncode == 0 and "warning" not in done.stderr.replace("gpg: WARNING", ""),
                     f"{piece}: {done.returncode}: {done.stderr}")
            said += done.stdout
            ran += 1
            leaked.append(c.read("leaked.txt").decode().split() if "leaked.txt" in piece else None)
    finally:
        if shutil.which("gpgconf"):
            subprocess.run(["gpgconf", "--kill", "all"], env=environment, check=False, capture_output=True, timeout=100)
    c.expect(ran >= 9, f"{ran} pieces ran")
    first, both, dcso = [found for found in leaked if found is not None]
    c.expect(first == dcso == asked[:500], f"found {len(first)} and {len(dcso)}, not 500")
    c.expect(both == asked[:500] + asked[-1:], f"found {len(both)} in the base and the delta")
    c.expect("leaked\n" in said and "500\n" in said, said)
    unknown = c.read("unknown.txt").decode()
    c.expect(re.fullmatch(r"[0-9a-f]{40}  files/mine.txt\n", unknown), unknown)
    result = json.loads(c.read("result.json"))
    c.expect(result["count"] == 500 and 0 < result["expected_false_positives"] < 0.01, f"{result}")
    c.expect(len(c.read("delta.txt").splitlines()) == 300, "the delta is not what is new")


@case
def sizes_of_the_table_are_those_of_plan(c):
    rows = re.findall(r"^\| (1e-\d) \| ([0-9.]+ GiB) \| ([0-9.]+ GiB) \|$", text_of_guide(), re.M)
    c.expect(len(rows) == 3, f"{rows}")
    for rate, *sizes in rows:
        for kind, size in zip(("blocked", "static"), sizes):
            output, _ = c.run(f"plan -n 1e9 -p {rate} --kind {kind} --json", stdout=has("{"))
            plan = next(plan for plan in json.loads(output)["plans"] if plan["recommended"])
            c.expect(f"{plan['bytes'] / 2**30:.2f} GiB" == size, f"{kind} at {rate}: {size}, {plan}")


main()
