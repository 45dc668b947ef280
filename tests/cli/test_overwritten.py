# SPDX-License-Identifier: Apache-2.0
"""A filter that another program writes to while it is mapped: no answer of neither filter, no signal without
a word. A filter that is replaced by rename stays the one that was opened."""

import os
import shutil

from runner import case, main

CHANGED = b"was changed while it was in use, so answers since then may be wrong; write a new file and rename it"


def numbers(first, count):
    return "".join(f"{i}\n" for i in range(first, first + count))


def set_up(c):
    """live.bloom has 0 to 999; other.bloom, as large, has others."""
    c.run("build -q --force -n 100000 -p 1e-9 -o live.bloom", stdin=numbers(0, 1000))
    c.run("build -q --force -n 100000 -p 1e-9 -o other.bloom", stdin=numbers(5000, 1000))


def start(c, line, name="live.bloom"):
    """The command, once it has mapped the file."""
    process = c.start(line)
    path = os.path.realpath(c.path(name))

    def mapped():
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
            return path in maps.read()
    c.wait_until(mapped, f"'{line}' maps {name}", process)
    return process


def finish(c, process, stdin=""):
    """Gives it the rest of its input; (exit code, stdout, stderr)."""
    stdout, stderr = process.communicate(stdin.encode(), timeout=60)
    return process.returncode, stdout, stderr


def overwrite(c, name="live.bloom"):
    """In place, with the same size: as cp does."""
    with open(c.path("other.bloom"), "rb") as new, open(c.path(name), "r+b") as old:
        shutil.copyfileobj(new, old)


@case
def a_filter_overwritten_in_place_ends_a_query(c):
    for options in ("", "-c", "-v", "-q", "-c --json", "-j 3"):
        set_up(c)
        process = start(c, f"query {options} live.bloom")
        overwrite(c)
        code, stdout, stderr = finish(c, process, numbers(0, 10) + numbers(5000, 10))
        c.expect(code == 2 and stdout == b"", f"'{options}': exit code {code}, {stdout}")
        c.expect(b"live.bloom: " + CHANGED in stderr, f"'{options}': {stderr}")


@case
def answers_up_to_the_change_stay_and_none_follows(c):
    set_up(c)
    process = start(c, "query live.bloom")
    process.stdin.write(b"5\n")
    process.stdin.flush()
    c.expect(process.stdout.readline() == b"5\n", "the first answer")
    overwrite(c)
    code, stdout, stderr = finish(c, process, "6\n5001\n")
    c.expect((code, stdout) == (2, b"") and CHANGED in stderr, f"exit code {code}, {stdout}, {stderr}")


@case
def no_output_file_is_made_of_such_answers(c):
    set_up(c)
    c.file("out", "before\n")
    process = start(c, "query -o out live.bloom")
    overwrite(c)
    code, _, stderr = finish(c, process, numbers(0, 10))
    c.expect(code == 2 and CHANGED in stderr, f"exit code {code}, {stderr}")
    c.expect(c.read("out") == b"before\n" and sorted(c.names()) == ["live.bloom", "other.bloom", "out"], f"{c.names()}")


@case
def a_filter_cut_short_ends_a_query_with_its_name(c):
    set_up(c)
    process = start(c, "query live.bloom")
    os.truncate(c.path("live.bloom"), 1000)
    code, stdout, stderr = finish(c, process, numbers(0, 10))
    c.expect(code == 2 and stdout == b"" and b"live.bloom: " + CHANGED in stderr, f"exit code {code}, {stderr}")
    # Under another name it is not looked at; its pages are gone all the same.
    set_up(c)
    process = start(c, "query live.bloom")
    os.rename(c.path("live.bloom"), c.path("moved.bloom"))
    os.truncate(c.path("moved.bloom"), 0)
    code, stdout, stderr = finish(c, process, numbers(0, 10))
    c.expect(code == 2 and stdout == b"", f"exit code {code}, {stdout}")
    c.expect(stderr == b"bloomery: query: live.bloom: was cut short while it was in use, or can't be read any more; "
             b"write a new file and rename it over the old one (mv)\n", f"{stderr}")


@case
def a_filter_replaced_by_rename_stays_the_one_that_was_opened(c):
    set_up(c)
    process = start(c, "query live.bloom")
    os.rename(c.path("other.bloom"), c.path("live.bloom"))
    code, stdout, stderr = finish(c, process, numbers(998, 4) + "5001\n")
    c.expect((code, stdout, stderr) == (0, b"998\n999\n", b""), f"exit code {code}, {stdout}, {stderr}")
    c.run("query live.bloom", stdin="998\n5001\n", stdout="5001\n")


@case
def other_maps_are_watched_too(c):
    set_up(c)
    process = start(c, "dedupe -q --against live.bloom")
    overwrite(c)
    code, stdout, stderr = finish(c, process, numbers(0, 10))
    c.expect(code == 2 and stdout == b"" and CHANGED in stderr, f"dedupe: exit code {code}, {stdout}, {stderr}")
    set_up(c)
    os.mkfifo(c.path("canary"))
    process = start(c, "inspect --canary canary live.bloom")
    overwrite(c)
    with open(c.path("canary"), "wb") as canary:
        canary.write(b"5001\n")
    code, stdout, stderr = finish(c, process)
    c.expect(code == 2 and stdout == b"" and CHANGED in stderr, f"inspect: exit code {code}, {stdout}, {stderr}")
    set_up(c)
    c.file("sorted", "".join(sorted(numbers(0, 1000).splitlines(True))))
    process = start(c, "query --confirm sorted live.bloom", "sorted")
    c.file("sorted", "x" * 100)
    code, stdout, stderr = finish(c, process, numbers(0, 10))
    c.expect(code == 2 and stdout == b"" and (b"sorted: " + CHANGED in stderr or b"sorted: was cut short" in stderr),
             f"--confirm: exit code {code}, {stdout}, {stderr}")


@case
def nothing_is_appended_or_remembered_by_such_answers(c):
    """With -c nothing is printed before. All of the lines are in the filter that was named."""
    c.file("lines", numbers(0, 1000) * 3000)
    for keep in ("append", "state"):
        set_up(c)
        process = start(c, f"dedupe -q -c -j 1 --against live.bloom --{keep} {keep} lines")
        overwrite(c)
        process.communicate(timeout=60)
        if keep == "append":
            c.expect(c.read("append") == b"", "lines that the filter had were appended")
        else:
            c.expect(process.returncode == 0 or "state" not in c.names(), "they are in the state")


@case
def a_filter_of_a_command_that_writes_it_is_not_a_change(c):
    c.run("build -q -n 100000 -p 1e-3 -o live.bloom", stdin=numbers(0, 1000))
    c.run("fold -q --times 1 -o live.bloom live.bloom")
    c.run("add -q live.bloom", stdin=numbers(1000, 10))
    c.run("query -c live.bloom", stdin=numbers(0, 1010), stdout="1010\n")


main()
