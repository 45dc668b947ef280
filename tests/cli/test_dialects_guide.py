# SPDX-License-Identifier: Apache-2.0
"""docs/dialects.md: every command in it does what it says, and its table is the command's list."""

import json
import os
import re
import shlex
import subprocess

from runner import EMULATOR, SECONDS, TOOL, Skip, case, main

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "dialects.md")


def guide():
    with open(GUIDE, encoding="utf-8") as file:
        return file.read()


def dialects(c):
    return json.loads(c.run("dialects --json", stdout=None)[0])["dialects"]


@case
def commands_of_the_guide_work(c):
    os.mkdir(c.path("bin"))
    c.file("bin/bloomery", "#!/bin/sh\nexec " + shlex.join([*EMULATOR, TOOL]) + ' "$@"\n')
    os.chmod(c.path("bin/bloomery"), 0o755)
    c.file("keys.txt", "".join(f"key {i}\n" for i in range(2000)))
    c.file("more.txt", "another\nand another\n")
    c.file("asked.txt", "key 7\nkey 1999\nan absent key\n")
    c.file("ids.txt", "".join(f"{i * 7919 - 5000}\n" for i in range(1000)))
    pieces = re.findall(r"^```sh\n(.*?)^```$", guide(), re.M | re.S)
    c.expect(len(pieces) >= len(dialects(c)), f"{len(pieces)} pieces")
    for piece in pieces:
        done = subprocess.run(["sh", "-e", "-c", piece], cwd=c.directory, capture_output=True, text=True, timeout=SECONDS,
                              check=False, env={**os.environ, "PATH": c.path("bin") + ":" + os.environ["PATH"]})
        if "libcrypto" in done.stderr:
            raise Skip("this build has no digests")
        c.expect(done.returncode == 0, f"{piece}: {done.returncode}: {done.stderr}")
        # What a piece says that it prints: "# 3" behind a query that counts.
        wanted = re.findall(r" # (\d+)$", piece, re.M)
        c.expect(re.findall(r"^(\d+)$", done.stdout, re.M) == wanted, f"{piece}: {done.stdout}")


@case
def the_table_is_the_list_of_the_command(c):
    rows = {}
    for line in guide().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        name = re.match(r"\[`([a-z0-9-]+)`\]\(#([a-z0-9-]+)\)$", cells[0])
        if line.startswith("| [`") and name:
            c.expect(name.group(1) == name.group(2), f"{name.group(0)} leads elsewhere")
            rows[name.group(1)] = cells
    listed = {dialect["name"]: dialect for dialect in dialects(c)}
    c.expect(list(rows) == list(listed) or set(rows) == set(listed), f"{set(rows) ^ set(listed)} differ")
    for name, dialect in listed.items():
        can = ", ".join(word for word, fact in (("read", "reads"), ("write", "writes"), ("make", "creates")) if dialect[fact])
        c.expect(rows[name][2] == can, f"{name}: {rows[name][2]}, not {can}")
        c.expect(rows[name][3] in (("yes",) if dialect["magic"] else ("no", "told")), f"{name}: recognised is {rows[name][3]}")
        c.expect(f"\n## {name}\n" in guide(), f"no section of {name}")
        section = guide().split(f"\n## {name}\n")[1].split("\n## ")[0]
        for variant in dialect["variants"]:
            c.expect(f"`{variant}`" in section, f"{name}: variant {variant} is not told of")
        c.expect("```sh" in section, f"{name} has no example")


main()
