# SPDX-License-Identifier: Apache-2.0
"""docs/python.md: each program in it runs, and prints what stands beside it."""

import os
import re
import subprocess
import sys

import bloomery
from optional import need
from runner import case, main

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "python.md")


@case
def programs_of_the_guide_print_what_they_say(c):
    need("numpy")
    need("pandas")
    with open(GUIDE, encoding="utf-8") as file:
        programs = re.findall(r"^```python\n(.*?)^```$", file.read(), re.M | re.S)
    c.expect(len(programs) == 13, f"{len(programs)} programs")
    said = 0
    for program in programs:
        done = subprocess.run([sys.executable, "-X", "dev", "-c", program], cwd=c.directory, capture_output=True, text=True,
                              check=False)
        c.expect(done.returncode == 0 and done.stderr == "", f"{program}: {done.stderr}")
        lines = done.stdout.splitlines()
        for line in program.splitlines():
            if "print(" not in line:
                continue
            shown = lines.pop(0)
            if "#" in line:
                expected = line.split("#")[1].strip()
                c.expect(expected.startswith(shown), f"{line}: {shown}")
                said += 1
    c.expect(said >= 25, f"only {said} lines say what they print")


@case
def the_table_of_other_packages_names_what_is_there(c):
    with open(GUIDE, encoding="utf-8") as file:
        table = file.read().split("## Coming from another package\n")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ") and "---" not in line][1:]
    c.expect(len(rows) >= 20 and all(len(row) == 2 for row in rows), f"{rows}")
    f = bloomery.Filter.create_dialect("pybloom-live", keys=10, rate=0.1, variant="3")
    scope = {"bloomery": bloomery, "Filter": bloomery.Filter, "f": f}
    seen = 0
    for _, here in rows:
        for program in re.findall(r"`([^`]*)`", here):
            for owner, name in re.findall(r"\b(f|Filter|bloomery)\.(\w+)(?! import)", program):
                c.expect(hasattr(scope[owner], name) or program.startswith("from ") or name == "bloom", f"{owner}.{name}")
                seen += 1
            if program.startswith(("from ", "Filter(")):
                exec(program, {**scope, "n": 100, "p": 0.01})  # pylint: disable=exec-used
    c.expect(seen > 20, f"only {seen} names")


main()
