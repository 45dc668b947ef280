# SPDX-License-Identifier: Apache-2.0
"""How the check-* scripts of this folder show that they can fail.

A check that has never been seen red proves nothing. So each of them is also run, by its --self-test,
on small trees made for the purpose: one that is right, and one for each thing that it should find.
"""

import os
import tempfile


def tree(files):
    """Writes {path: text} into a new folder and returns it, an object for `with`."""
    folder = tempfile.TemporaryDirectory(prefix="bloomery-selftest-")
    for path, text in files.items():
        full = os.path.join(folder.name, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
    return folder


def run(check, cases):
    """Runs `check` (folder -> complaints) over cases (name, files, a part of the complaint or None).

    With None the tree is right and must draw no complaint. Returns an exit status.
    """
    failed = 0
    for name, files, expected in cases:
        with tree(files) as folder:
            complaints = check(folder)
        if expected is None:
            good = not complaints
        else:
            good = len(complaints) == 1 and expected in complaints[0]
        print(f"{'ok' if good else 'FAILED'} {name}" + ("" if good else f": {complaints}"))
        failed += not good
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


def report(what, complaints):
    """Prints the complaints of a check over the real tree. Returns an exit status."""
    for complaint in complaints:
        print(f"{what}: {complaint}")
    print("0 passed, 1 failed" if complaints else "1 passed, 0 failed")
    return 1 if complaints else 0
