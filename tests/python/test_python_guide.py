# SPDX-License-Identifier: Apache-2.0
"""docs/python.md: each program in it runs, and prints what stands beside it."""

import os
import re
import subprocess
import sys

from optional import need
from runner import case, main

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "python.md")


@case
def programs_of_the_guide_print_what_they_say(c):
    need("numpy")
    need("pandas")
    with open(GUIDE, encoding="utf-8") as file:
        programs = re.findall(r"^```python\n(.*?)^```$", file.read(), re.M | re.S)
    c.expect(len(programs) == 9, f"{len(programs)} programs")
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
    c.expect(said >= 19, f"only {said} lines say what they print")


main()
