# SPDX-License-Identifier: Apache-2.0
"""The progress line: what it says, and that --progress and the auto of it keep it off a pager."""

import os
import re
import shutil
import subprocess
import time

from runner import case, everything_from, has, is_read, main, open_terminal


class Run:
    """A command that is given its input in parts, and what it writes to stderr."""

    def __init__(self, c, line, stdout, stderr_is_terminal=True):
        self.line = f"{line}, {stdout}"
        self.leader, follower = open_terminal()
        target = {"pipe": subprocess.PIPE, "file": subprocess.DEVNULL, "terminal": follower}[stdout]
        self.process = c.start(line, stdout=target, stderr=follower if stderr_is_terminal else subprocess.PIPE,
                               env={**os.environ, "TERM": "xterm"})
        self.stderr_is_terminal = stderr_is_terminal
        os.close(follower)

    def give(self):
        self.process.stdin.write(b"a\nb\n" * 500)
        self.process.stdin.flush()

    def shown(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        shown = everything_from(self.leader) if self.stderr_is_terminal else self.process.stderr.read()
        os.close(self.leader)
        return shown


def give_slowly(c, runs):
    """All of them at once get input for 0.9 s at least, from when the last one has begun to read."""
    for run in runs:
        run.give()
    c.wait_until(lambda: all(is_read(run.process.stdin) for run in runs), "all of them have read")
    for _ in range(3):
        time.sleep(0.3)  # no shorter: a line is drawn after half a second
        for run in runs:
            run.give()


def own_names(c, line, number):
    """The command with a filter and a sieve of its own, since one that changes them waits for another."""
    shutil.copy(c.path("f.bloom"), c.path(f"f{number}.bloom"))
    return re.sub(r"\b(f(?=\.bloom)|out$|sieve$|memory$)", rf"\g<1>{number}", line)


# What is drawn by --progress=auto where stdout is a file, a terminal and a pipe, perhaps to a pager.
COMMANDS = (("query -o - f.bloom", b"\rquerying: ", (True, False, False)),
            ("query -o out f.bloom", b"\rquerying: ", (True, True, True)),
            ("query -c f.bloom", b"\rquerying: ", (True, True, False)),
            ("query -q -v f.bloom", b"\rquerying: ", (False, False, False)),
            ("dedupe -q", b"\rcomparing: ", (True, False, False)),
            ("dedupe -q -c", b"\rcomparing: ", (True, True, False)),
            ("dedupe -q -o out", b"\rcomparing: ", (True, True, True)),
            ("add f.bloom", b"\radding: ", (True, True, True)),
            ("sieve push sieve", b"\rpushing: ", (True, True, True)),
            ("sieve push --print --engine memory memory", b"\rpushing: ", (True, False, False)))


@case
def auto_draws_over_no_lines_and_no_pager(c):
    c.run("build -q -n 100k -o f.bloom", stdin="a\nb\n")
    runs = []
    for line, part, drawn in COMMANDS:
        for stdout, expected in zip(("file", "terminal", "pipe"), drawn):
            runs.append((Run(c, own_names(c, line, len(runs)), stdout), part, expected))
    give_slowly(c, [run for run, _, _ in runs])
    for run, part, expected in runs:
        shown = run.shown()
        c.expect((part in shown) == expected, f"{run.line}: {shown[-200:]}")


@case
def always_and_never_decide(c):
    c.run("build -q -n 100k -o f.bloom", stdin="a\nb\n")
    runs = []
    for line, part, _ in COMMANDS:
        runs.append((Run(c, own_names(c, line, len(runs)) + " --progress never", "file"), part, False))
        runs.append((Run(c, own_names(c, line, len(runs)) + " --progress=always", "pipe", stderr_is_terminal=False),
                     part, True))
    give_slowly(c, [run for run, _, _ in runs])
    for run, part, expected in runs:
        shown = run.shown()
        c.expect((part in shown) == expected, f"{run.line}: {shown[-200:]}")
    c.run("query f.bloom --progress sometimes", code=2,
          stderr=has("--progress is auto, always or never, not 'sometimes'"))
    c.run("merge --progress always -o x f.bloom", code=2, stderr=has("unknown option"))


@case
def the_line_has_rate_and_time_left(c):
    """A slow reader makes generate take its time; it knows how much is to come."""
    process = c.start("generate integers -n 200k --progress always")
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        process.stdout.read(65536)
        time.sleep(0.1)  # no shorter: lines are drawn as time passes
    _, shown = process.communicate(timeout=60)
    lines = shown.split(b"\r")
    whole = [re.fullmatch(rb"generating: ([0-9,]+) keys, ([0-9]+) %, ([0-9,]+) a second, "
                          rb"([0-9]+ min )?([0-9]+) s left\x1b\[K", line) for line in lines]
    c.expect(sum(match is not None for match in whole) > 3, f"{lines[:5]}")
    first, last = [match for match in whole if match][0], [match for match in whole if match][-1]
    c.expect(int(first[2]) < int(last[2]) <= 100, f"{first[2]} {last[2]}")
    c.expect(5 < int(first[3].replace(b",", b"")) < 10_000_000, f"{first[3]}")


main()
