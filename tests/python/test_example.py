# SPDX-License-Identifier: Apache-2.0
"""examples/frames.py: what it prints, and that what it drops has no partner."""

import importlib.util
import os
import subprocess
import sys

from optional import need
from runner import case, main

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "frames.py")


@case
def frames_loses_no_partner(c):
    need("numpy")
    pandas = need("pandas")
    done = subprocess.run([sys.executable, PROGRAM], cwd=c.directory, capture_output=True, text=True, check=False)
    c.expect(done.returncode == 0, done.stderr)
    c.expect(done.stdout == "200000 orders, 618 of them can have a partner, 414 have one\n"
             "the same as without the filter: True\n1000 names, 900 are written to\n", done.stdout)
    spec = importlib.util.spec_from_file_location("frames", PROGRAM)
    frames = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(frames)
    for count in (1, 100, 5000):
        large = pandas.DataFrame({"key": range(20_000)})
        small = pandas.DataFrame({"key": range(0, 20_000, 20_000 // count)})
        left = set(frames.semi_join(large, small, "key")["key"])
        wrong = left - set(small["key"])
        c.expect(left >= set(small["key"]), f"{count}: partners are lost")
        c.expect(len(wrong) < 60, f"{count}: {len(wrong)} rows without a partner of 20,000, at a rate of 0.001")


if __name__ == "__main__":
    main()
