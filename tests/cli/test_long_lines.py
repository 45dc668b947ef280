# SPDX-License-Identifier: Apache-2.0
"""--max-line: a line that is longer is an error that names its number; memory stays bounded, and nothing is changed.

BLOOMERY_BLOCK_BYTES makes blocks so small that every input has many, where the build has that switch.
"""

import gzip
import os
import zlib

from runner import EMULATOR, TOOL, Skip, case, has, main, nul_note

MOST = 100
GOOD = [f"line {i}" for i in range(2000)]


def text_with(long_line, at, ending="\n"):
    """GOOD lines, one of which is another; as bytes."""
    lines = GOOD[:at] + [long_line] + GOOD[at:]
    return ("\n".join(lines) + ending).encode()


def blocks():
    """Environments and threads under which all is the same."""
    for block in ("64", "4096", ""):
        for threads in (1, 4):
            yield {"BLOOMERY_BLOCK_BYTES": block}, f"-j {threads} --max-line {MOST}"


def set_up(c):
    c.file("good", "\n".join(GOOD) + "\n")
    c.run("build -q -p 1e-9 --kind counting -n 9000 -o f.bloom good")


@case
def a_longer_line_is_named_by_its_number(c):
    set_up(c)
    before = c.read("f.bloom")
    for number, (at, ending) in enumerate(((0, "\n"), (1, "\n"), (1000, "\n"), (2000, "\n"), (2000, ""))):
        c.file("input", text_with("x" * (MOST + 1), at, ending))
        said = f"input: line {at + 1} is longer than 100 bytes; --max-line SIZE allows longer ones\n"
        for environment, options in blocks():
            if number not in (0, 2) and "-j 1" in options:
                continue
            more = {"code": 2, "environment": environment}
            c.run(f"build -q {options} -o new.bloom good input", stderr="bloomery: build: " + said, **more)
            c.run(f"build -q {options} -n 9000 -o f.bloom input", stderr="bloomery: build: " + said, **more)
            c.run(f"build -q {options} --dialect guava -n 9000 -p 0.1 -o new.bloom input", stderr="bloomery: build: " + said, **more)
            c.run(f"add {options} f.bloom input", stderr="bloomery: add: " + said + "nothing was added to f.bloom\n", **more)
            c.run(f"remove --max-line {MOST} f.bloom input", stderr="bloomery: remove: " + said + "nothing was removed from f.bloom\n", **more)
            c.run(f"query {options} f.bloom input", stdout="".join(line + "\n" for line in GOOD[:at]), stderr=has("bloomery: query: " + said), **more)
            c.run(f"query {options} -c f.bloom input good", stdout=f"{at + 2000}\n", stderr="bloomery: query: " + said, **more)
            c.run(f"dedupe {options} input", stdout="".join(line + "\n" for line in GOOD[:at]), stderr="bloomery: dedupe: " + said, **more)
    c.expect(c.read("f.bloom") == before and c.names() == ["f.bloom", "good", "input"], f"changed or made: {c.names()}")


@case
def a_line_of_just_that_length_is_taken(c):
    for ending in ("\n", ""):
        text = text_with("y" * MOST, 1200, ending)
        c.file("input", text)
        for environment, options in blocks():
            c.run(f"build -q -p 1e-9 {options} -o f.bloom input", environment=environment)
            c.run(f"query -c {options} f.bloom input", stdout="2001\n", environment=environment)
            c.run(f"dedupe -q {options} input", stdout=text.rstrip(b"\n") + b"\n", environment=environment)


@case
def lines_that_end_with_nul_have_the_same_limit(c):
    c.file("input", b"a\nb\0" + b"c" * 9 + b"\0")
    c.run("build -q -0 --max-line 9 -o f.bloom input")
    c.run("build -q -0 --max-line 8 -o g.bloom input", code=2, stderr=has("input: line 2 is longer than 8 bytes"))
    c.expect(c.names() == ["f.bloom", "input"], f"{c.names()}")


@case
def what_dedupe_keeps_is_as_with_any_error_of_an_input(c):
    c.file("input", text_with("x" * (MOST + 1), 10))
    c.run("dedupe -q --state s.bloom", stdin="line 1\n", stdout="line 1\n")
    before = c.read("s.bloom")
    c.run(f"dedupe --max-line {MOST} --state s.bloom input", code=2, stdout="line 0\n" + "".join(line + "\n" for line in GOOD[2:10]),
          stderr=has("input: line 11 is longer than 100 bytes", "s.bloom was not changed"))
    c.run(f"dedupe --max-line {MOST} --against input", stdin="a\n", code=2, stderr=has("input: line 11 is longer than 100 bytes"))
    c.expect(c.read("s.bloom") == before, "the state changed")


@case
def the_error_of_one_input_keeps_none_from_being_asked(c):
    set_up(c)
    c.file("long", b"line 7\n" + b"x" * 5000)
    c.file("more", "line 8\nno\n")
    for threads in (1, 4):
        c.run(f"query -j {threads} --max-line {MOST} f.bloom long more long", code=2, stdout="line 7\nline 8\nline 7\n",
              stderr="bloomery: query: long: line 2 is longer than 100 bytes; --max-line SIZE allows longer ones\n" * 2)


@case
def a_size_is_wanted_and_in_the_help(c):
    for command in ("build -o f.bloom", "add f.bloom", "query f.bloom", "dedupe", "remove f.bloom"):
        c.run(f"{command} --max-line 0", code=2, stderr=has("--max-line 0"))
        c.run(f"{command} --max-line long", code=2, stderr=has("--max-line 'long' is not a size"))
        c.run(f"{command.split()[0]} --help", stdout=has("--max-line SIZE", "64MiB"))


def packed_zeros(c, name, mebibytes):
    """A small gzip file that is one line of many bytes when it is unpacked."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    with open(c.path(name), "wb") as file:
        file.write(packer.compress(b"first\n"))
        for _ in range(mebibytes):
            file.write(packer.compress(bytes(1 << 20)))
        file.write(packer.flush())


def peak(c, line, code):
    """Runs the command; the most memory that it had, and what it said."""
    process = c.start(line)
    process.stdin.close()
    said = process.stderr.read()
    process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    c.expect(process.returncode == code, f"'{line}' ended with {process.returncode}, not {code}: {said!r}")
    return usage.ru_maxrss * 1024, said


@case
def a_line_without_end_takes_no_more_memory_than_the_longest_one(c):
    with open(TOOL, "rb") as file:
        if EMULATOR or b"__asan_init" in file.read() or b"__tsan_init" in open(TOOL, "rb").read():
            raise Skip("in an emulator or with sanitizers a process has another size")
    c.run("build -q -n 1000 --kind counting -o f.bloom", stdin="a\n")
    packed_zeros(c, "input.gz", 400)
    for line in ("build -o g.bloom", "build -n 1000 -o g.bloom", "add f.bloom", "query f.bloom", "dedupe", "remove f.bloom"):
        most, said = peak(c, f"{line} input.gz", 2)
        c.expect(b"input.gz: line 2 is longer than 64.0 MiB" in said, f"{line}: {said!r}")
        c.expect(most < 110 << 20, f"{line}: {most} bytes")
        most, said = peak(c, f"{line} --max-line 1MiB input.gz", 2)
        c.expect(b"input.gz: line 2 is longer than 1.00 MiB" in said, f"{line}: {said!r}")
        c.expect(most < 40 << 20, f"{line}: {most} bytes")
    c.run("dedupe -q --max-line 401MiB -c input.gz", stdout="2\n", stderr=nul_note("dedupe", "input.gz"))
    c.expect(c.names() == ["f.bloom", "input.gz"], f"{c.names()}")


@case
def long_lines_of_a_compressed_file_are_taken_up_to_the_limit(c):
    c.file("input.gz", gzip.compress(b"a\n" + b"x" * 3_000_000 + b"\nb\n" + b"y" * 2_000_000))
    for threads in (1, 3):
        c.run(f"dedupe -q -c -j {threads} input.gz", stdout="4\n")
        c.run(f"dedupe -q -c -j {threads} --max-line 3000000 input.gz", stdout="4\n")
        c.run(f"dedupe -q -c -j {threads} --max-line 2999999 input.gz", code=2, stderr=has("input.gz: line 2 is longer than 2.86 MiB"))


main()
