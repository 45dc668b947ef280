# SPDX-License-Identifier: Apache-2.0
"""-o FILE of query and dedupe: written whole or not at all, the file that is read included."""

import gzip
import os
import signal
import stat

from runner import Skip, case, has, main

FAULTY = os.environ.get("BLOOMERY_FAULTY_IO", "")


def set_up(c):
    """A filter of a and b, and a file of lines."""
    c.run("build -q -n 10 -p 1e-12 -o f.bloom", stdin="a\nb\n")
    c.file("lines", "a\nx\na\nb\n")


# The command, and what it makes of the lines.
COMMANDS = (("query f.bloom", "a\na\nb\n"), ("query -v f.bloom", "x\n"), ("dedupe -q", "a\nx\nb\n"),
            ("dedupe -q -v", "a\n"), ("dedupe -q --exact -j 1", "a\nx\nb\n"),
            ("query --positions -j 2 f.bloom", None))


@case
def the_file_has_what_would_be_printed(c):
    set_up(c)
    for line, expected in COMMANDS:
        printed, _ = c.run(f"{line} lines", stdout=None)
        c.expect(expected is None or printed == expected.encode(), f"{line}: {printed}")
        for option in ("-o out", "--output=out", "-o new"):
            c.run(f"{line} {option} lines")
            name = "new" if "new" in option else "out"
            c.expect(c.read(name) == printed, f"{line} {option}: {c.read(name)}")
        os.unlink(c.path("new"))
        c.run(f"{line} -o - lines", stdout=printed)
    c.expect(c.names() == ["f.bloom", "lines", "out"], f"{c.names()}")


@case
def the_output_may_be_the_input(c):
    set_up(c)
    many = "".join(f"{i % 70_000}\n" for i in range(200_000))
    for line, expected in COMMANDS[:4]:
        c.file("lines", "a\nx\na\nb\n")
        c.run(f"{line} -o lines lines")
        c.expect(c.read("lines") == expected.encode(), f"{line}: {c.read('lines')}")
    c.file("many", many)
    c.run("dedupe -q -p 1e-12 -o many many")
    first = "".join(f"{i}\n" for i in range(70_000))
    c.expect(c.read("many") == first.encode(), "the lines are others")
    os.symlink("lines", c.path("link"))
    c.run("dedupe -q -o link lines lines")
    c.expect(os.path.islink(c.path("link")) and c.read("lines") == b"a\n", "the link is replaced")


@case
def an_empty_output_is_a_file_too(c):
    set_up(c)
    c.file("out", "old")
    c.run("query -o out f.bloom", stdin="x\n", code=1)
    c.expect(c.read("out") == b"", "the old lines are there")
    c.run("dedupe -q -o none", stdin="")
    c.expect(c.read("none") == b"", "no file")


MAGICS = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd", "xz": b"\xfd7zXZ", "bz2": b"BZh", "lz4": b"\x04\x22\x4d\x18",
          "lz": b"LZIP", "lzma": b"\x5d\0\0"}


@case
def the_name_decides_how_lines_are_compressed(c):
    set_up(c)
    for line, expected in COMMANDS[:4]:
        c.run(f"{line} -o out.gz lines")
        c.expect(gzip.decompress(c.read("out.gz")) == expected.encode(), f"{line}: {c.read('out.gz')}")
    many = "".join(f"{i * 7919 % 99991} and more\n" for i in range(90_000))
    c.file("many", many)
    for name, magic in MAGICS.items():
        c.run(f"dedupe -q -p 1e-12 -o out.{name} many")
        c.expect(c.read(f"out.{name}").startswith(magic) and len(c.read(f"out.{name}")) < len(many), name)
        c.run(f"dedupe -q -p 1e-12 -o out.{name} out.{name} lines")
        c.run(f"dedupe -q -p 1e-12 out.{name}", stdout=many + "a\nx\nb\n")
    c.file("json", '{"text":"a"}\n{"text":"a"}\n')
    c.run("dedupe -q --unit document --jsonl text -o json.gz json")
    c.expect(gzip.decompress(c.read("json.gz")) == b'{"text":"a"}\n', "a corpus is not compressed")
    c.run("dedupe -q -o out.Z many", code=2, stderr=has("out.Z: its name says that it is compressed with compress"))
    c.expect(not os.path.exists(c.path("out.Z")), "a file was made")
    c.run("dedupe -q -o out.gz missing", code=2, stderr=has("missing: ", "out.gz was not written"))
    c.expect(c.read("out.gz").startswith(MAGICS["gz"]), "the file is another")
    c.run("dedupe -q -o empty.gz", stdin="")
    c.expect(gzip.decompress(c.read("empty.gz")) == b"", "an empty file is not one")


@case
def a_failure_leaves_the_file_as_it_was(c):
    set_up(c)
    c.file("digits", "zz\n")
    for line, said in (
            ("query -o lines f.bloom lines missing", "missing: No such file or directory\n"),
            ("query -o lines --max-line 1 f.bloom lines f.bloom", "f.bloom: is a filter"),
            ("dedupe -o lines lines missing", "missing: No such file or directory\n"),
            ("dedupe -o lines --on-full=stop -n 10 -p 1e-3 lines -", "stopped after "),
            ("dedupe -o lines --state s.bloom lines missing", "missing: No such file or directory\n"),
            ("query -o lines --hex f.bloom digits", "digits")):
        c.run(line, stderr=has(said, "lines was not written\n"), code=2,
              stdin="".join(f"{i}\n" for i in range(1000)))
        c.expect(c.read("lines") == b"a\nx\na\nb\n", f"{line}: {c.read('lines')}")
    c.run("query -o absent f.bloom missing", stderr=has("absent was not written\n"), code=2)
    c.expect(c.names() == ["digits", "f.bloom", "lines"], f"{c.names()}")


@case
def a_full_filter_that_stops_keeps_state_and_file(c):
    """What the state has seen and no file has would be lost."""
    c.file("many", "".join(f"{i}\n" for i in range(20_000)))
    c.run("dedupe -q --state s.bloom -n 100 -p 1e-3 --on-full=stop", stdin="a\n", stdout="a\n")
    before = c.read("s.bloom")
    _, said = c.run("dedupe --state s.bloom --on-full=stop -o many many", code=2, stderr=None)
    c.expect(b"stopped after" in said and b"many was not written" in said and
             b"s.bloom was not changed" in said, f"{said}")
    c.expect(c.read("s.bloom") == before and len(c.read("many").split()) == 20_000, "one was written")


@case
def a_signal_leaves_the_file_as_it_was(c):
    set_up(c)
    for line in ("dedupe -q -o lines lines -", "dedupe -q --state s.bloom -o lines lines -",
                 "query -o lines f.bloom lines -"):
        for plain in ("", "1"):
            if plain and not FAULTY:
                continue
            environment = {**os.environ, "LD_PRELOAD": FAULTY, "FAULTY_IO_ROOT": c.directory,
                           "FAULTY_IO_MODE": "count", "FAULTY_IO_PLAIN": plain} if plain else None
            process = c.start(line, env=environment)
            process.stdin.write(b"b\n")
            process.stdin.flush()
            c.wait_until_it_waits(process, "it waits for more")
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
            c.expect(process.returncode == -signal.SIGINT, f"{line}: {process.returncode}")
            c.expect(c.read("lines") == b"a\nx\na\nb\n", f"{line}: {c.read('lines')}")
            c.expect(c.names() == ["f.bloom", "lines"], f"{line}: {c.names()}")


@case
def a_full_disk_leaves_the_file_as_it_was(c):
    if not FAULTY or os.environ.get("BLOOMERY_EMULATOR"):
        raise Skip("the library that fails was not built")
    set_up(c)
    for call in ("write", "sync", "link", "rename"):
        for line in ("dedupe -j 1 -q -o lines lines", "query -j 1 -o lines f.bloom lines"):
            c.run(line, code=2, stderr=has("No space left on device"),
                  environment={"LD_PRELOAD": FAULTY, "FAULTY_IO_ROOT": c.directory,
                               "FAULTY_IO_MODE": "fail", "FAULTY_IO_AT": "1",
                               "FAULTY_IO_ERRNO": "28", "FAULTY_IO_CALLS": call})
            c.expect(c.read("lines") == b"a\nx\na\nb\n", f"{call}: {c.read('lines')}")
            c.expect(c.names() == ["f.bloom", "lines"], f"{call}: {c.names()}")


@case
def rights_stay_and_new_files_have_the_usual_ones(c):
    set_up(c)
    os.chmod(c.path("lines"), 0o640)
    c.run("dedupe -q -o lines lines")
    c.run("dedupe -q -o new lines", preexec_fn=lambda: os.umask(0o027))
    rights = [stat.S_IMODE(os.stat(c.path(name)).st_mode) for name in ("lines", "new")]
    c.expect(rights == [0o640, 0o640], f"{rights}")


@case
def what_can_not_be_written_is_refused_before_anything_is_read(c):
    set_up(c)
    os.mkdir(c.path("folder"))
    os.symlink("nowhere", c.path("dangling"))
    for line, said in (("query -o folder f.bloom", "folder: is a directory"),
                       ("query -o no/where f.bloom", "directory no does not exist"),
                       ("query -o /dev/full f.bloom", "is not a regular file"),
                       ("query -o f.bloom f.bloom", "f.bloom: is a filter"),
                       ("query -o dangling f.bloom", "dangling: is a symbolic link"),
                       ("query -o lines --confirm lines f.bloom", "same file"),
                       ("query -c -o out f.bloom", "-o FILE is for lines"),
                       ("query -q -o out f.bloom", "-o FILE is for lines"),
                       ("dedupe -o f.bloom", "f.bloom: is a filter"),
                       ("dedupe -c -o out", "-o FILE is for lines"),
                       ("dedupe --state s -o s", "same file"),
                       ("dedupe --append lines -o ./lines", "same file")):
        process = c.start(line)  # nothing comes
        c.expect(process.wait(timeout=60) == 2 and said.encode() in process.stderr.read(), line)
    c.expect(c.names() == ["dangling", "f.bloom", "folder", "lines"], f"{c.names()}")


main()
