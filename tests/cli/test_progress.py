# SPDX-License-Identifier: Apache-2.0
"""The progress line: what it says, and that --progress and the auto of it keep it off a pager."""

import os
import pty
import re
import select
import subprocess
import time

from runner import case, has, main


def everything_from(terminal):
    """What has been written to a terminal; its writers have ended."""
    shown = b""
    while select.select([terminal], [], [], 0.3)[0]:
        shown += os.read(terminal, 65536)
    return shown


def shown_by(c, line, stdout, stderr_is_terminal=True):
    """What a command whose input comes in parts, for 0.9 s, writes to stderr."""
    leader, follower = pty.openpty()
    target = {"pipe": subprocess.PIPE, "file": subprocess.DEVNULL, "terminal": follower}[stdout]
    process = c.start(line, stdout=target, stderr=follower if stderr_is_terminal else subprocess.PIPE,
                      env={**os.environ, "TERM": "xterm"})
    for _ in range(3):
        time.sleep(0.3)
        process.stdin.write(b"a\nb\n" * 1000)
        process.stdin.flush()
    process.stdin.close()
    process.wait(timeout=60)
    shown = everything_from(leader) if stderr_is_terminal else process.stderr.read()
    os.close(leader)
    os.close(follower)
    return shown


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
    for line, part, drawn in COMMANDS:
        for stdout, expected in zip(("file", "terminal", "pipe"), drawn):
            shown = shown_by(c, line, stdout)
            c.expect((part in shown) == expected, f"{line}, {stdout}: {shown[-200:]}")


@case
def always_and_never_decide(c):
    c.run("build -q -n 100k -o f.bloom", stdin="a\nb\n")
    for line, part, _ in COMMANDS:
        shown = shown_by(c, f"{line} --progress never", "file")
        c.expect(part not in shown, f"{line}, never: {shown[-200:]}")
        shown = shown_by(c, f"{line} --progress=always", "pipe", stderr_is_terminal=False)
        c.expect(part in shown, f"{line}, always: {shown[-200:]}")
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
        time.sleep(0.1)
    _, shown = process.communicate(timeout=60)
    lines = shown.split(b"\r")
    whole = [re.fullmatch(rb"generating: ([0-9,]+) keys, ([0-9]+) %, ([0-9,]+) a second, "
                          rb"([0-9]+ min )?([0-9]+) s left\x1b\[K", line) for line in lines]
    c.expect(sum(match is not None for match in whole) > 3, f"{lines[:5]}")
    first, last = [match for match in whole if match][0], [match for match in whole if match][-1]
    c.expect(int(first[2]) < int(last[2]) <= 100, f"{first[2]} {last[2]}")
    c.expect(5 < int(first[3].replace(b",", b"")) < 10_000_000, f"{first[3]}")


main()
