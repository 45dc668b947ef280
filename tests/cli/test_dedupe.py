# SPDX-License-Identifier: Apache-2.0
"""dedupe: the first occurrence of every line, in order, and never a line lost without a word.

BLOOMERY_BLOCK_BYTES makes blocks so small that every input has many, where the build has that switch.
Rates are so low, where the output has to be exact, that a wrong drop would be a wonder.
"""

import gzip
import json
import os
import random
import resource
import signal

from runner import EMULATOR, Skip, case, has, keyed, main, nul_note

BLOCKS = ("16", "100", "5000", "")
THREADS = (1, 2, 3, 8)
ENGINES = ("-p 1e-12", "-p 1e-12 -n 100", "-p 1e-12 --on-full=stop -n 9000", "--exact",
           "--exact=128 -n 5000")


def small(block):
    """The environment with blocks of `block` bytes; empty: as large as they are."""
    return {"BLOOMERY_BLOCK_BYTES": block}


def numbers(first, count):
    """Some lines."""
    return "".join(f"{i}\n" for i in range(first, first + count))


def repeated(count, seed):
    """Records of many lengths, most of which come more than once."""
    generator = random.Random(seed)
    made = []
    for i in range(count):
        choice = generator.random()
        if made and choice < 0.4:
            made.append(generator.choice(made))
        elif choice < 0.41:
            made.append(b"L" * generator.choice((4999, 5000, 12_000)) + b"%d" % i)
        else:
            made.append(b"%d-" % i + b"r" * generator.choice((0, 1, 12, 12, 13, 60, 64)))
    return made + [b""] + made[:5] + [b""]


def first_ones(lines, seen=()):
    """The model: awk '!s[$0]++'. Returns the kept and the dropped lines."""
    seen = set(seen)
    kept, dropped = [], []
    for line in lines:
        (dropped if line in seen else kept).append(line)
        seen.add(line)
    return kept, dropped


def text_of(lines, end=b"\n"):
    """Lines as a file."""
    return b"".join(line + end for line in lines)


# ---- The lines ---------------------------------------------------------------------------------------

@case
def first_occurrences_are_kept_in_order(c):
    lines = repeated(2000, 1)
    kept, dropped = first_ones(lines)
    c.file("one", b"\n".join(lines[:700]))  # without a last newline
    c.file("none", b"")
    c.file("packed", gzip.compress(text_of(lines[700:1500])))
    stdin = text_of(lines[1500:])
    for engine in ENGINES:
        for block in BLOCKS:
            for threads in THREADS:
                more = {"environment": small(block), "stdin": stdin}
                line = f"dedupe -q {engine} -j {threads} one none packed -"
                c.run(line, stdout=text_of(kept), **more)
                if block == "16":
                    continue
                c.run(f"{line} -v", stdout=text_of(dropped), **more)
                c.run(f"{line} -c", stdout=f"{len(kept)}\n", **more)
                c.run(f"{line} -vc", stdout=f"{len(dropped)}\n", **more)


@case
def small_inputs(c):
    for engine in ("", "--exact"):
        c.run(f"dedupe -q {engine}", stdin="")
        c.run(f"dedupe -q {engine}", stdin="a", stdout="a\n")
        c.run(f"dedupe -q {engine}", stdin="a\na", stdout="a\n")
        c.run(f"dedupe -q {engine}", stdin="\n\n", stdout="\n")
        c.run(f"dedupe -q {engine} -0", stdin="a\nb\0a\0a\nb\0", stdout="a\nb\0a\0")
        c.run(f"dedupe -q {engine}", stdin=b"\xff\n\x80\n\xff\nna\0t\nna\n", stdout=b"\xff\n\x80\nna\0t\nna\n",
              stderr=nul_note("dedupe", "standard input"))


@case
def long_lines_are_whole(c):
    long = b"x" * 10_000_000
    text = text_of([long, b"a", long, long + b"y", b"a"])
    for engine in ("", "--exact"):
        c.run(f"dedupe -q {engine}", stdin=text, stdout=text_of([long, b"a", long + b"y"]))


@case
def exact_tables_grow_from_nothing(c):
    """Past many doublings of the table, which starts at a mebibyte."""
    generator = random.Random(5)
    lines = [b"%d" % generator.randrange(400_000) for _ in range(700_000)]
    kept, _ = first_ones(lines)
    for engine in ("--exact", "--exact=128", "--exact -n 1", "--exact -n 1000000"):
        c.run(f"dedupe -q {engine}", stdin=text_of(lines), stdout=text_of(kept))


@case
def chain_grows_as_lines_come(c):
    lines = [b"%d" % (i * i % 60_000) for i in range(120_000)]
    kept, _ = first_ones(lines)
    c.run("dedupe -q -n 50 -p 1e-12", stdin=text_of(lines), stdout=text_of(kept))
    report = report_of(c, "-n 50 -p 1e-12", stdin=text_of(lines))
    c.expect(report["layers"] > 5 and report["kept"] == len(kept), f"{report}")


@case
def lines_come_out_while_the_input_stays_open(c):
    for threads in (1, 2, 4):
        process = c.start(f"dedupe -q -j {threads}")
        process.stdin.write(b"a\nb\na\n")
        process.stdin.flush()
        c.expect(process.stdout.read(4) == b"a\nb\n", "the lines did not come")
        process.stdin.write(b"b\nc\n")
        process.stdin.close()
        c.expect(process.stdout.read() == b"c\n" and process.wait() == 0, "the rest did not come")


# ---- Against, append ---------------------------------------------------------------------------------

@case
def lines_of_lists_and_filters_are_dropped(c):
    lines = repeated(1500, 2)
    listed, filtered, other = lines[100:600], lines[700:900], [b"x", lines[950]]
    c.file("list", text_of(listed))
    c.file("filtered", text_of(filtered))
    c.run("build -q -p 1e-12 -o f.bloom filtered")
    c.run("build -q -n 10 -p 1e-12 -o g.bloom", stdin=text_of(other))
    kept, dropped = first_ones(lines, listed + filtered + other)
    for engine in ENGINES:
        for block in BLOCKS:
            for threads in THREADS:
                line = (f"dedupe -q {engine} -j {threads} --against list --against f.bloom "
                        f"--against g.bloom")
                c.run(line, stdin=text_of(lines), stdout=text_of(kept), environment=small(block))
                c.run(f"{line} -v", stdin=text_of(lines), stdout=text_of(dropped),
                      environment=small(block))
    c.run("dedupe -q --against missing", stdin="a\n", code=2, stderr=has("missing: No such file"))
    c.run("dedupe --against -", stdin="a\n", code=2, stderr=has("standard input can be read only once"))
    c.run("dedupe -q --against - list", stdin=text_of(listed))


@case
def against_a_filter_only_asks_it(c):
    c.run("build -q -n 100 -p 1e-9 -o f.bloom", stdin="a\nb\n")
    before = c.read("f.bloom")
    os.chmod(c.path("f.bloom"), 0o444)
    c.run("dedupe --against f.bloom", stdin="a\nc\nb\nc\n", stdout="c\n",
          stderr=has("read 4 lines, kept 1, dropped 3"))
    c.expect(c.read("f.bloom") == before, "the filter was changed")


@case
def kept_lines_are_appended_and_printed(c):
    lines = repeated(1500, 3)
    had = lines[50:400]
    kept, dropped = first_ones(lines, had)
    for block in BLOCKS:
        for threads in THREADS:
            c.file("had", b"\n".join(had))  # its last line is not ended
            line = f"dedupe -q -p 1e-12 -j {threads} --append had"
            c.run(line, stdin=text_of(lines), stdout=text_of(kept), environment=small(block))
            c.expect(c.read("had") == text_of(had + kept), "had is wrong")
            c.run(line, stdin=text_of(lines), environment=small(block))
            c.expect(c.read("had") == text_of(had + kept), "lines were appended again")
            c.file("had", text_of(had))
            c.run(f"{line} -v", stdin=text_of(lines), stdout=text_of(dropped),
                  environment=small(block))
            c.expect(c.read("had") == text_of(had + kept), "had is wrong with -v")
            c.file("had", text_of(had))
            c.run(f"{line} -c", stdin=text_of(lines), stdout=f"{len(kept)}\n",
                  environment=small(block))
            c.expect(c.read("had") == text_of(had + kept), "had is wrong with -c")


@case
def append_makes_its_file_and_leaves_others(c):
    c.run("dedupe -q --append new", stdin="a\na\nb", stdout="a\nb\n")
    c.expect(c.read("new") == b"a\nb\n", "new is wrong")
    c.run("dedupe -q --append empty", stdin="")
    c.expect(c.names() == ["new"], f"{c.names()}")
    c.run("dedupe --append new new", code=2, stderr=has("new: is the file to append to"))
    c.expect(c.read("new") == b"a\nb\n", "new was changed")
    c.file("packed", gzip.compress(b"a\n"))
    c.run("dedupe --append packed", stdin="a\n", code=2, stderr=has("packed: is compressed"))
    os.mkdir(c.path("folder"))
    c.run("dedupe --append folder", stdin="a\n", code=2, stderr=has("folder: "))
    c.run("build -q -n 9 -o f.bloom", stdin="a\n")
    c.run("dedupe --append f.bloom", stdin="a\n", code=2, stderr=has("f.bloom: is a filter"))
    c.run("dedupe --append same --state same", stdin="a\n", code=2, stderr=has("the same file, same"))


@case
def failed_append_leaves_whole_lines(c):
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    had = numbers(0, 500)
    for threads in (1, 4):
        c.file("had", had)
        c.run(f"dedupe --append had -j {threads} --state s.bloom", stdin=numbers(0, 5000), code=2,
              stdout=None, stderr=has("had: appending: File too large"), preexec_fn=small_files)
        after = c.read("had")
        c.expect(after.endswith(b"\n") and len(after) > 4080 and
                 numbers(0, 5000).encode().startswith(after), f"{after[-20:]}")
        c.expect(c.names() == ["had"], f"{c.names()}")


@case
def two_that_append_lose_nothing_and_repeat_nothing(c):
    first = c.start("dedupe -q --append had")
    c.wait_for_lock("had")
    second = c.start("dedupe -q --append had")
    for process in (second, first):
        process.stdin.write(numbers(0, 3000).encode())
        process.stdin.close()
        process.stdin = None
        if process is second:
            c.wait_until_it_waits(second, "the second waits for the lock")
    outputs = [process.communicate(timeout=60)[0] for process in (first, second)]
    c.expect(outputs == [numbers(0, 3000).encode(), b""], "both printed the same lines")
    c.expect(c.read("had") == numbers(0, 3000).encode(), "had is wrong")


@case
def output_into_an_input_is_refused(c):
    c.file("f", "a\nb\n")
    with open(c.path("f"), "ab") as file:
        c.run("dedupe f", code=2, stderr=has("f: is also the output"), stdout_file=file)
    c.expect(c.read("f") == b"a\nb\n", "the input was changed")


# ---- State -------------------------------------------------------------------------------------------

@case
def two_runs_with_a_state_are_as_one(c):
    lines = repeated(4000, 4)
    kept, _ = first_ones(lines)
    for more in ("-p 1e-12", "-n 200 -p 1e-12", "-n 9000 -p 1e-12 --on-full=stop",
                 "-p 1e-12 --memory 1MiB"):
        for threads in (1, 4):
            out, first = b"", True
            for part in (lines[:1500], lines[1500:1600], lines[1600:]):
                options = more if first else ""
                first = False
                printed, _ = c.run(f"dedupe -q --state s.bloom -j {threads} {options}",
                                   stdin=text_of(part), stdout=None)
                out += printed
            c.expect(out == text_of(kept), f"{more}: the output differs")
            c.run("query -c s.bloom", stdin=text_of(lines), stdout=f"{len(lines)}\n")
            c.run("inspect s.bloom", stdout=has("keys"))
            os.unlink(c.path("s.bloom"))


@case
def state_keeps_its_shape(c):
    c.run("dedupe -q --state s.bloom -n 1000 -p 1e-9", stdin="a\n", stdout="a\n")
    warning = "warning: s.bloom: already exists, planned for 1,000 keys and a rate of "
    for option in ("-n 2000", "-p 2e-9", "-n 1000 -p 2e-9"):
        c.run(f"dedupe --state s.bloom {option}", stdin="a\n", stderr=has(warning))
    c.run("dedupe --state s.bloom --on-full=stop", stdin="b\n", code=2, stderr=has("which grows"))
    c.run("dedupe -q --state s.bloom --memory 1MiB", stdin="a\nb\n", stdout="b\n")
    c.run("build -q -n 1000 -p 1e-9 -o f.bloom", stdin="a\nb\n")
    c.run("dedupe -q --state f.bloom", stdin="b\nc\n", stdout="c\n")
    c.run("query f.bloom", stdin="a\nb\nc\nd\n", stdout="a\nb\nc\n")
    c.run("dedupe --state f.bloom --on-full=grow", stdin="b\n", code=2, stderr=has("can't grow"))
    c.run("dedupe --state f.bloom --memory 1MiB", stdin="b\n", stderr=has("for a new state"))
    for name in ("s.bloom", "f.bloom"):
        c.run(f"dedupe --state {name} --memory 1KiB", stdin="b\n", code=2,
              stderr=has(f"{name}: already has ", ", and --memory is 1.00 KiB"))
    c.run("dedupe --state f.bloom --exact", stdin="b\n", code=2, stderr=has("--exact does not have one"))
    c.file("text", "no filter, and long enough to have been one\n" * 100)
    c.run("dedupe --state text", stdin="b\n", code=2, stderr=has("text: "))
    c.run("dedupe --state -", stdin="b\n", code=2, stderr=has("--state needs a file"))


@case
def a_repeated_command_says_nothing_of_its_state(c):
    for options in ("-n 1000 -p 1e-4", "-n 1000", "-p 1e-3", "-n 1000 -p 1e-4 --on-full=stop",
                    "--memory 100KiB", "--memory 100KiB -p 1e-3", "--memory 100KiB -n 1000",
                    "--memory 100KiB -n 1000 -p 1e-4", "--memory 8MiB --on-full=grow"):
        for line in ("a\n", "b\n", "c\n"):
            _, said = c.run(f"dedupe --state s.bloom {options}", stdin=line, stdout=line,
                            stderr=None)
            c.expect(said.count(b"\n") == 1 and b"read 1 line, kept 1" in said, f"{said}")
        os.unlink(c.path("s.bloom"))


@case
def chain_with_a_limit_stops_or_passes(c):
    c.run("dedupe -q --state s.bloom -n 1000", stdin="a\n", stdout="a\n")
    many = numbers(0, 3000)
    c.run("dedupe -q --state s.bloom --memory 8KiB --on-full=pass", stdin=many, stdout=many,
          stderr=has("no longer remembered"))
    c.run("dedupe -q --state s.bloom --memory 8KiB", stdin=numbers(5000, 100), code=2, stdout=None,
          stderr=has("no memory to grow; a larger --memory holds more, --on-full=pass"))
    c.run("dedupe -q --state s.bloom --memory 1MiB", stdin=numbers(5000, 100), stdout=numbers(5000, 100))


@case
def advice_can_be_followed(c):
    many = numbers(0, 5000)
    for options, advice in (
            ("-n 100 --on-full=stop", b"a larger -n holds more, --on-full=grow goes on with more "
                                      b"memory, --on-full=pass without remembering"),
            ("--memory 1KiB", b"a larger --memory holds more, --on-full=pass goes on"),
            ("--memory 1KiB --on-full=grow", b"a larger --memory holds more"),
            ("-n 100 --on-full=stop --state s.bloom", b"a new --state with more room holds more, "
                                                      b"--on-full=pass goes on")):
        _, said = c.run(f"dedupe -q {options}", stdin=many, code=2, stdout=None, stderr=None)
        c.expect(advice in said, f"{options}: {said}")
        c.expect((b"--on-full=grow" in said) == ("-n 100 --on-full=stop" == options), f"{said}")
    c.run("dedupe -q --state s.bloom --on-full=pass", stdin=many, stdout=None,
          stderr=has("no longer remembered"))


@case
@keyed
def a_run_that_fails_leaves_no_new_secret(c):
    run = "dedupe -q --keyed --secret-file new --state seen"
    c.run(run + " -F 3", stdin="a\n", stdout="a\n", code=2, stderr=has("has a field 3"))
    c.expect("new" not in c.names() and "seen" not in c.names(), f"left: {c.names()}")
    c.run(run, stdin="a\n", stdout="a\n")
    c.run(run, stdin="a\nb\n", stdout="b\n")


@case
@keyed
def keyed_filters_get_their_key(c):
    c.run("build -q -n 1000 -p 1e-9 --secret-file key -o keyed.bloom", stdin="a\n")
    c.run("dedupe -q --against keyed.bloom", stdin="a\n", code=2, stderr=has("--secret-file"))
    c.run("dedupe -q --against keyed.bloom --secret-file key", stdin="a\nb\n", stdout="b\n")
    c.run("dedupe -q --state keyed.bloom", stdin="b\n", code=2, stderr=has("--secret-file"))
    c.run("dedupe -q --state keyed.bloom --secret-file key", stdin="a\nb\n", stdout="b\n")
    c.run("dedupe -q --state keyed.bloom --secret-file key", stdin="b\nc\n", stdout="c\n")
    c.run("dedupe --secret-file key", stdin="b\n", code=2, stderr=has("--secret-file is for the filters"))
    c.run("dedupe --secret-file key --state new", stdin="b\n", code=2, stderr=has("without a secret"))
    c.expect(c.names() == ["key", "keyed.bloom"], f"{c.names()}")


@case
def state_that_was_not_delivered_is_not_kept(c):
    c.run("dedupe -q --state s.bloom -n 100000", stdin="old\n", stdout="old\n")
    before = c.read("s.bloom")
    c.file("many", numbers(0, 50_000))
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full here")
    for threads in (1, 4):
        # A reader that goes away.
        process = c.start(f"dedupe -q --state s.bloom -j {threads} many")
        process.stdout.read(10)
        process.stdout.close()
        process.wait(timeout=60)
        c.expect(process.returncode == -signal.SIGPIPE, f"exit code {process.returncode}")
        c.expect(process.stderr.read() == b"", "it said something")
        c.expect(c.read("s.bloom") == before, "the state was changed by a broken pipe")
        # A full disk.
        with open("/dev/full", "wb") as full:
            c.run(f"dedupe -q --state s.bloom -j {threads} many", code=2, stdout_file=full,
                  stderr=has("writing to stdout: No space left", "s.bloom was not changed"))
            c.run(f"dedupe -qc --state s.bloom -j {threads} many", code=2, stdout_file=full,
                  stderr=has("writing to stdout: No space left"))
        c.expect(c.read("s.bloom") == before, "the state was changed by a full disk")
        # An input that fails.
        c.run(f"dedupe -q --state s.bloom -j {threads} many missing many", code=2,
              stdout=numbers(0, 50_000), stderr=has("missing: No such file", "s.bloom was not changed"))
        c.expect(c.read("s.bloom") == before, "the state was changed by a missing input")
    c.expect(c.names() == ["many", "s.bloom"], f"{c.names()}")


@case
def killed_dedupe_leaves_the_old_state(c):
    c.run("dedupe -q --state s.bloom", stdin="old\n", stdout="old\n")
    before = c.read("s.bloom")
    process = started(c, "dedupe --state s.bloom", b"new\n", b"new\n")
    process.kill()
    process.communicate()
    c.expect(process.returncode == -signal.SIGKILL, f"exit code {process.returncode}")
    c.expect(c.read("s.bloom") == before and c.names() == ["s.bloom"], f"{c.names()}")


def started(c, line, text, printed):
    """A command that got some input, printed some output, and waits for more."""
    process = c.start(line)
    process.stdin.write(text)
    process.stdin.flush()
    c.expect(process.stdout.read(len(printed)) == printed, "no line came")
    return process


@case
def signal_ends_the_input_and_the_state_is_written(c):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for threads in (1, 2, 4):
            for there in (False, True):
                line = f"dedupe --state s.bloom -j {threads}"
                text = b"old\nnew\nold\n" if there else b"old\nold\n"
                process = started(c, line, text + b"broken off", b"new\n" if there else b"old\n")
                process.send_signal(number)
                code = process.wait(timeout=60)  # its input stays open
                c.expect(code == -number, f"exit code {code}")
                said = process.stderr.read()
                c.expect(number.name.encode() + b" ended the input" in said and
                         (b"read 3 lines, kept 1, dropped 2" if there else
                          b"read 2 lines, kept 1, dropped 1") in said, f"{said}")
                c.expect(process.stdout.read() == b"", "there was more output")
                process.communicate()
            c.run("query s.bloom", stdin="old\nnew\nbroken off\n", stdout="old\nnew\n")
            os.unlink(c.path("s.bloom"))


@case
def signal_in_a_flood_keeps_what_was_printed(c):
    """Everything printed is in the state, and everything in the state was printed."""
    c.file("many", numbers(0, 3_000_000))
    for threads in (1, 4):
        process = c.start(f"dedupe --state s.bloom -n 3000000 -p 1e-9 -j {threads} many")
        out = process.stdout.read(1_000_000)
        process.send_signal(signal.SIGTERM)
        out += process.stdout.read()
        code = process.wait(timeout=60)
        kept = out.count(b"\n")
        c.expect(code == -signal.SIGTERM and out == numbers(0, kept).encode(), f"{code}, {kept}")
        c.expect(kept < 3_000_000, "all of it was read")
        c.run("query -c s.bloom many", stdout=f"{kept}\n")
        process.communicate()
        os.unlink(c.path("s.bloom"))


@case
def a_signal_at_the_end_of_an_input_leaves_out_half_a_line(c):
    """The writer got the signal too: its last line may be cut off. Whatever read the signal comes before."""
    library = os.environ.get("BLOOMERY_FAULTY_IO")
    if EMULATOR or library is None:
        raise Skip("no library to be loaded before the command")
    c.file("lines", "a\nb\nhalf")
    ended = 0
    for at in range(1, 12):
        wish = {"LD_PRELOAD": library, "FAULTY_IO_ROOT": os.path.realpath(c.directory), "FAULTY_IO_MODE": "signal",
                "FAULTY_IO_CALLS": "read", "FAULTY_IO_AT": str(at)}
        out, said = c.run("dedupe -j 1 -n 10 --state s.bloom lines", stdout=None, stderr=None, code=None, environment=wish)
        if b"SIGINT ended the input" in said:
            ended += 1
            c.expect(out in (b"", b"a\nb\n"), f"read {at}: {out}")
            c.run("query s.bloom", stdin="a\nb\nhalf\n", stdout=out, code=0 if out else 1)
        if os.path.exists(c.path("s.bloom")):
            os.unlink(c.path("s.bloom"))
    c.expect(ended >= 2, f"{ended} of the signals ended the input")


@case
def second_signal_does_not_wait(c):
    c.run("dedupe -q --state s.bloom", stdin="old\n", stdout="old\n")
    before = c.read("s.bloom")
    c.file("many", numbers(0, 300_000))
    process = c.start("dedupe --state s.bloom many")  # nobody reads its output
    process.stdout.read(10)
    process.send_signal(signal.SIGTERM)
    c.wait_until_it_waits(process, "it waits for its reader")
    process.send_signal(signal.SIGTERM)
    c.expect(process.wait(timeout=60) == -signal.SIGTERM, f"exit code {process.returncode}")
    process.communicate()
    c.expect(c.read("s.bloom") == before and c.names() == ["many", "s.bloom"], f"{c.names()}")


@case
def first_run_that_is_killed_leaves_no_empty_state(c):
    c.file("many", numbers(0, 300_000))
    process = c.start("dedupe --state s.bloom many")
    process.stdout.read(10)
    process.stdout.close()
    c.expect(process.wait(timeout=60) == -signal.SIGPIPE, f"exit code {process.returncode}")
    c.expect(c.names() == ["many"], f"{c.names()}")
    for number in (signal.SIGINT, signal.SIGTERM):  # while it learns, when the signal has no input to end
        process = c.start("dedupe --state s.bloom --against - many")
        c.wait_for_lock("s.bloom")
        process.send_signal(number)
        c.expect(process.wait(timeout=60) == -number, f"exit code {process.returncode}")
        process.communicate()
        c.expect(c.names() == ["many"], f"{c.names()}")


@case
def two_with_one_state_wait_for_each_other(c):
    for there in (False, True):
        first = c.start("dedupe -q --state s.bloom")
        c.wait_for_lock("s.bloom")
        second = c.start("dedupe -q --state s.bloom")
        offset = 5000 * there
        for process in (second, first):
            process.stdin.write(numbers(offset, 3000).encode())
            process.stdin.close()
            process.stdin = None
            if process is second:
                c.wait_until_it_waits(second, "the second waits for the lock")
        outputs = [process.communicate(timeout=60)[0] for process in (first, second)]
        c.expect(outputs == [numbers(offset, 3000).encode(), b""], "both printed the same lines")


@case
def failed_first_run_leaves_no_state(c):
    c.run("dedupe -q --state s.bloom missing", code=2, stderr=has("missing"))
    c.run("dedupe --state folder/s.bloom", stdin="a\n", code=2, stderr=has("folder does not exist"))
    c.expect(c.names() == [], f"{c.names()}")
    c.file("s.bloom", "")  # what a killed first run leaves
    c.run("dedupe -q --state s.bloom", stdin="a\na\n", stdout="a\n")
    c.run("dedupe -q --state s.bloom", stdin="a\nb\n", stdout="b\n")


# ---- Full --------------------------------------------------------------------------------------------

FULL = "-n 1000 -p 1e-3"  # room for a thousand; ten thousand come


def report_of(c, line, **more):
    """The report of a run with -c --json."""
    text, _ = c.run(f"dedupe -c --json {line}", stdout=None, stderr=None, **more)
    return json.loads(text)


@case
def overfull_filter_stops_and_says_where(c):
    """A filter made for 1 in 1,000 and fed ten times its keys would drop nearly everything."""
    lines = numbers(0, 20_000)
    c.file("lines", lines)
    outputs = set()
    for block in BLOCKS:
        for threads in THREADS:
            out, said = c.run(f"dedupe {FULL} --on-full=stop -j {threads} lines lines missing", code=2,
                              stdout=None, environment=small(block),
                              stderr=has("warning: the filter now holds the 1,000 keys",
                                         "dedupe: stopped after ", "the filter is full, with about 1,",
                                         " instead of 1 in 1,000"))
            outputs.add((out, said))
    c.expect(len(outputs) == 1, f"{len(outputs)} different endings")
    out, said = outputs.pop()
    kept = out.count(b"\n")
    c.expect(1000 < kept < 1300, f"{kept} lines kept")
    c.expect(lines.encode().startswith(out[:2000]) and b"missing" not in said, f"{said}")
    stopped = int(said.split(b"stopped after ")[1].split(b" ")[0].replace(b",", b""))
    c.expect(kept <= stopped <= kept + 10, f"{stopped} lines read, {kept} kept")


@case
def stopped_state_holds_what_was_delivered(c):
    lines = numbers(0, 50_000)
    c.file("lines", lines)
    for threads in (1, 4):
        out, _ = c.run(f"dedupe -q {FULL} --on-full=stop --state s.bloom -j {threads} lines", code=2,
                       stdout=None, stderr=has("stopped after"))
        c.run("query -c s.bloom", stdin=out, stdout=f"{out.count(10)}\n")
        # Nothing that came later is in it: a later run would never print it.
        rest, _ = c.run("query -c s.bloom", stdin=lines[len(out) + 200:], stdout=None, stderr=None)
        c.expect(int(rest) < 250, f"{rest} of the lines not read are in the state")
        c.run("dedupe -q --state s.bloom lines", code=2, stderr=has("stopped after 0 lines"))
        os.unlink(c.path("s.bloom"))


@case
def overfull_filter_grows(c):
    lines = numbers(0, 50_000)
    report = report_of(c, FULL, stdin=lines)
    c.expect(report["kept"] > 49_900 and report["layers"] > 3 and not report["stopped"], f"{report}")
    c.expect(report["expected_rate"] < 1e-3, f"{report}")


@case
def overfull_filter_passes_and_says_so(c):
    lines = numbers(0, 20_000)
    c.file("lines", lines)
    outputs = set()
    for block in BLOCKS:
        for threads in THREADS:
            outputs.add(c.run(f"dedupe {FULL} --on-full=pass -j {threads} lines lines", stdout=None,
                              environment=small(block),
                              stderr=has("warning: the filter is full", "no longer remembered",
                                         "not remembered)")))
    c.expect(len(outputs) == 1, f"{len(outputs)} different outputs")
    out, _ = outputs.pop()
    kept = out.count(b"\n")
    c.expect(38_300 < kept < 39_100, f"{kept} lines")  # the second time, only the remembered are dropped
    report = report_of(c, f"{FULL} --on-full=pass lines lines")
    c.expect(report["not_remembered"] + 1300 > report["kept"] == kept, f"{report}")


@case
def memory_limits_what_is_remembered(c):
    lines = numbers(0, 200_000)
    c.file("lines", lines)
    report = report_of(c, "--memory 100KiB", stdin=numbers(0, 20_000))
    c.expect(report["kept"] == 20_000 and report["bytes"] <= 102_400, f"{report}")
    c.run("dedupe -qc --memory 100KiB", stdin=lines, code=2, stdout=None,
          stderr=has("stopped after", "the filter is full"))
    c.run("dedupe -qc --memory 100KiB --on-full=grow lines", code=2, stdout=None,
          stderr=has("stopped after", "no memory to grow"))
    c.run("dedupe -q --memory 100KiB --exact lines", code=2, stdout=None,
          stderr=has("stopped after", "the fingerprints of ", "--memory"))
    report = report_of(c, "--memory 100KiB --exact --on-full=pass lines lines")
    c.expect(report["bytes"] <= 102_400 and report["not_remembered"] > 300_000 and
             report["kept"] + report["dropped"] == 400_000, f"{report}")
    c.run("dedupe -n 1M -p 1e-6 --memory 100KiB", stdin="a\n", code=2,
          stderr=has("1,000,000 lines need ", "--memory is 100 KiB"))
    c.run("dedupe -n 1M -p 1e-6 --memory 100KiB --on-full=grow", stdin="a\n", code=2,
          stderr=has("1,000,000 lines need "))
    c.run("dedupe --exact -n 1M --memory 100KiB", stdin="a\n", code=2, stderr=has("lines need "))
    c.run("dedupe -q --exact --memory 1KiB", stdin="a\n", code=2, stderr=has("memory"))


@case
def huge_numbers_are_refused_before_anything_is_taken(c):
    for more in ("", "--on-full=stop", "--exact", "--exact=128"):
        c.run(f"dedupe -n 200T {more}", stdin="a\n", code=2, stderr=has("dedupe: "))
    c.expect(c.names() == [], f"{c.names()}")


# ---- The plan ----------------------------------------------------------------------------------------

@case
def copies_of_a_file_are_not_taken_for_repeats(c):
    """The places of a sample do not hold the same lines of each copy, which would make all lines repeated ones."""
    c.file("a", "".join(f"{i}\n" for i in range(1_000_000)))
    for inputs in ("a a", "a a a a"):
        got = json.loads(c.run(f"dedupe -c --json {inputs}", stdout=None, stderr=None)[0])
        planned_from = "sample" if inputs == "a a" else "inputs"  # four copies are counted
        c.expect(got["planned_from"] == planned_from and got["planned_keys"] >= 1_000_000, f"{inputs}: {got}")
        c.expect(got["kept"] == 1_000_000, f"{got}")


@case
def a_full_filter_to_compare_with_is_named(c):
    """It drops every line, and the report does not call that expected."""
    c.run("build -q --kind classic -n 10 -p 0.5 -o n.bloom", stdin="1\n", stderr=None)
    c.run("add -q --force n.bloom", stdin="".join(f"{i}\n" for i in range(10_000)), stderr=None)
    _, said = c.run("dedupe -c --against n.bloom", stdin="".join(f"{i}\n" for i in range(20_000, 20_010)),
                    stdout="0\n", stderr=None)
    c.expect(b"warning: n.bloom: is full: all bits are set" in said and b"expected wrong drops: about 10 lines" in said, f"{said}")


@case
def few_distinct_lines_take_little_memory(c):
    """However many they are: the plan is for distinct keys, as the options make them."""
    users = [f"user{i * 7919 % 1000}" for i in range(600_000)]
    c.file("plain", "".join(f"{user} logged in\n" for user in users))
    c.file("tabs", "".join(f"{user}\t{i}\n" for i, user in enumerate(users)))
    c.file("json", "".join(f'{{"n":{i},"who":{{"name":"{user}"}}}}\n' for i, user in enumerate(users)))
    c.file("csv", "n,name\n" + "".join(f'{i},"{user}"\n' for i, user in enumerate(users)))
    for line in ("plain", "-F 1 tabs", "-F -2 tabs", "--jsonl who.name json",
                 "--csv --header -F name csv", "plain plain", "--against plain plain"):
        report = report_of(c, line)
        c.expect(report["bytes"] < 300_000 and report["layers"] == 1 and
                 report["planned_from"] == "sample", f"{line}: {report}")
        c.expect(report["kept"] == (0 if "against" in line else 1000), f"{line}: {report}")
    with open(c.path("plain"), "rb") as file:
        process = c.start("dedupe -c --json", stdin=file)
        report = json.loads(process.communicate(timeout=60)[0])
    c.expect(report["bytes"] < 300_000 and report["planned_from"] == "sample", f"{report}")
    c.run("dedupe -c plain", stdout="1000\n", stderr=has(" distinct lines by a sample; expected"))
    report = report_of(c, "tabs")  # all of these differ
    c.expect(report["planned_keys"] > 600_000 and report["layers"] == 1, f"{report}")


@case
def repeats_that_lie_together_do_not_make_the_plan_small(c):
    """A sorted file: each place of the sample has nothing but repeats, and they are its own."""
    c.file("sorted", "".join(f"{i:09d}\n" * 3 for i in range(300_000)))
    report = report_of(c, "sorted")
    c.expect(report["kept"] == 300_000 and report["layers"] == 1 and
             300_000 < report["planned_keys"] < 400_000, f"{report}")


@case
def repeats_far_apart_are_counted(c):
    """The sample meets few of them twice: neither all lines nor a guess are planned for."""
    distinct = 240_000
    # Every line comes five times, each time in another order.
    lines = [f"{(i * step + i // distinct) % distinct:08x}\n" for step, begin in ((7919, 0), (104729, 1), (1299709, 2), (15485863, 3), (32452843, 4))
             for i in range(begin * distinct, (begin + 1) * distinct)]
    c.file("lines", "".join(lines))
    kept = len(set(lines))
    for line in ("lines", "-j 1 lines", "-j 3 lines"):
        report = report_of(c, line)
        c.expect(report["planned_from"] == "inputs" and report["layers"] == 1 and report["kept"] == kept and
                 kept <= report["planned_keys"] < 1.1 * kept, f"{line}: {report}")
    with open(c.path("lines"), "rb") as file:
        process = c.start("dedupe -c --json", stdin=file)
        report = json.loads(process.communicate(timeout=60)[0])
    c.expect(report["planned_from"] == "inputs" and report["kept"] == kept, f"{report}")
    # A record that ends the input is reported once, by the reading that prints.
    c.file("long", "".join(lines) + "x" * 5000 + "\n")
    said = c.run("dedupe -c --max-line 4000 long", code=2, stdout=None, stderr=None)[1]
    c.expect(said.count(b"is longer than") == 1, said)


@case
def a_filter_that_may_not_grow_is_planned_for_all_lines(c):
    c.file("plain", "".join(f"user{i * 7919 % 1000} logged in\n" for i in range(600_000)))
    report = report_of(c, "--on-full=stop plain")
    c.expect(report["planned_keys"] > 600_000, f"{report}")


@case
def a_low_estimate_grows_and_keeps_its_rate(c):
    """Distinct lines in one stretch of a large file, which no place of the sample meets."""
    stretch = "".join(f"{i:06d}\n" for i in range(130_000))
    distinct = 130_000 + 1
    for before in range(6, 22):
        rest = 32 * before // 8 * 100_000
        c.file("lines", "the same line\n" * (rest // 4) + stretch + "the same line\n" * ((12_800_000 - rest) // 4))
        report = report_of(c, "-p 0.01 lines")
        if report["planned_keys"] < 100_000:
            break
    c.expect(report["planned_keys"] < 100_000 and report["layers"] > 1, f"{report}")
    wrong = distinct - report["kept"]
    c.expect(report["expected_rate"] <= 0.01 and
             abs(wrong - report["expected_wrong_drops"]) < 6 * report["expected_wrong_drops"] ** 0.5,
             f"{distinct} distinct lines, {report}")


@case
def a_new_state_begins_small(c):
    c.run("dedupe -q -p 1e-12 --state s.bloom", stdin="a\nb\na\nc\n", stdout="a\nb\nc\n")
    c.expect(len(c.read("s.bloom")) < 600_000, f"{len(c.read('s.bloom'))} bytes")
    many = numbers(0, 200_000)
    c.run("dedupe -q --state s.bloom", stdin=many, stdout=many)


# ---- The report --------------------------------------------------------------------------------------

@case
def expected_wrong_drops_are_what_is_dropped(c):
    """With p the rate, the drops are a sum of many rare chances: their variance is at most their mean.
    Six deviations are passed by one run in 500 million; the lines are fixed, so a pass stays one."""
    for line, count in (("-n 20000 -p 0.01 --on-full=stop", 20_000),
                        ("-n 1000 -p 0.01", 60_000),
                        ("-n 1000 -p 0.01", 400_000),
                        ("-n 500 -p 0.1", 100_000),
                        ("-n 20000 -p 0.05 --on-full=pass", 60_000),
                        ("-n 3000 -p 0.2 --on-full=stop", 3_000)):
        dropped = expected = 0.0
        for part in range(5):
            report = report_of(c, line, stdin=numbers(part * 1_000_000, count))
            dropped += report["dropped"]
            expected += report["expected_wrong_drops"]
        c.expect(expected > 20 and abs(dropped - expected) < 6 * expected ** 0.5,
                 f"{line}: {dropped} dropped, {expected} expected")


@case
def expected_rate_is_that_of_the_state(c):
    report = report_of(c, "--state s.bloom -n 1000 -p 0.01", stdin=numbers(0, 100_000))
    text, _ = c.run("inspect --json s.bloom", stdout=None)
    live = json.loads(text)["live_rate"]
    c.expect(abs(report["expected_rate"] / live - 1) < 0.02, f"{report}, {live}")


@case
def expected_wrong_drops_go_on_with_a_state(c):
    dropped = expected = 0.0
    for start in range(0, 100_000, 5_000):
        report = report_of(c, "--state s.bloom" + (" -n 10000 -p 0.02" if start == 0 else ""),
                           stdin=numbers(start, 5_000))
        dropped += report["dropped"]
        expected += report["expected_wrong_drops"]
    c.expect(expected > 100 and abs(dropped - expected) < 6 * expected ** 0.5,
             f"{dropped} dropped, {expected} expected")


@case
def expected_wrong_drops_count_those_of_other_filters(c):
    c.run("build -q -n 1000 -p 0.01 -o f.bloom", stdin=numbers(0, 1000))
    report = report_of(c, "--against f.bloom", stdin=numbers(10_000, 100_000))
    c.expect(abs(report["dropped"] - report["expected_wrong_drops"]) < 6 * 1000 ** 0.5 and
             report["dropped"] > 500, f"{report}")


@case
def report_says_what_was_done(c):
    c.run("dedupe", stdin="a\n", stdout="a\n", stderr=has("dedupe: read 1 line, kept 1"))
    c.run("dedupe --exact", stdin="a\nb\n", stdout="a\nb\n",
          stderr=has("; expected wrong drops: fewer than 0.01 lines"))
    c.run("dedupe", stdin="a\nb\na\n", stdout="a\nb\n",
          stderr=has("dedupe: read 3 lines, kept 2, dropped 1; memory ", "; expected wrong drops: "
                     "fewer than 0.01 lines\n"))
    c.run("dedupe -q", stdin="a\nb\na\n", stdout="a\nb\n")
    _, said = c.run("dedupe --json --exact", stdin="a\nb\na\n", stdout="a\nb\n", stderr=None)
    report = json.loads(said)
    c.expect((report["schema"], report["command"], report["lines"], report["kept"],
              report["dropped"], report["without_key"], report["fingerprint_bits"],
              report["stopped"]) == (1, "dedupe", 3, 2, 1, 0, 64, False), f"{report}")
    text, _ = c.run("dedupe --json -c", stdin="a\nb\na\n", stdout=None)
    c.expect(json.loads(text)["kept"] == 2, f"{text}")


# ---- Keys --------------------------------------------------------------------------------------------

@case
def lines_are_compared_by_their_key_and_printed_whole(c):
    text = "1,a,x\n2,B,y\n3,b,z\n4,a,w\nnone\nnone\n5, A,v\n"
    c.run("dedupe -q -F 2 -d ,", stdin=text, stdout="1,a,x\n2,B,y\n3,b,z\nnone\nnone\n5, A,v\n",
          stderr=has("2 "))
    for engine in ("-p 1e-12", "--exact"):
        for block in BLOCKS:
            for threads in THREADS:
                c.run(f"dedupe {engine} -F 2 -d , --lower --trim -j {threads}", stdin=text,
                      stdout="1,a,x\n2,B,y\nnone\nnone\n", environment=small(block),
                      stderr=has("kept 4 (2 without a key), dropped 3"))
    c.run("dedupe -q --comment '#' --skip-empty", stdin="#\n#\n\na\n\na\n", stdout="#\n#\na\n")
    c.run("dedupe -q --crlf", stdin="a\r\na\nb\n", stdout="a\r\nb\n")
    c.run("dedupe -q", stdin=b"\xef\xbb\xbfa\na\n", stdout=None)
    c.run("dedupe --hex", stdin="0A\n0a\nzz\n", stdout="0A\nzz\n", code=2, stderr=has("zz"))


@case
def lines_without_the_field_are_kept_and_said_to_be(c):
    text = "1,a\nnone\n2,a\nnone\n3,b\n"
    c.run("dedupe -q -F 2 -d ,", stdin=text, stdout="1,a\nnone\nnone\n3,b\n",
          stderr="bloomery: dedupe: warning: 2 records have no field 2 and are printed unchecked\n")
    c.run("dedupe -q -F 2,1 -d ,", stdin="1,a\nnone\n", stdout="1,a\nnone\n",
          stderr="bloomery: dedupe: warning: 1 record has no fields 2,1 and is printed unchecked\n")
    c.run("dedupe -q --jsonl a", stdin='{"a":1}\n{"b":1}\nx\n{"a":1}\n', stdout='{"a":1}\n{"b":1}\nx\n',
          stderr=has("1 line has no string and no number at 'a' and is printed unchecked",
                     "1 line is not JSON and is printed unchecked: 3"))


@case
def a_field_that_no_line_has_is_an_error(c):
    text = "a\nb\na\n"
    wrong = "no record has a field 2, so no key was made; fields are delimited by tabs (-d)\n"
    c.run("dedupe -F 2", stdin=text, stdout=text, code=2, stderr=has(wrong))
    c.run("dedupe -F 2 -o out", stdin=text, code=2, stderr=has(wrong, "out was not written"))
    c.run("dedupe -F 2 --state s.bloom", stdin=text, stdout=text, code=2, stderr=has(wrong))
    c.expect(c.names() == [], f"{c.names()}")
    c.run("dedupe -F 2 --jsonl x", stdin=text, stdout=None, code=2, stderr=None)
    c.run("dedupe --jsonl x", stdin='{"y":1}\n', stdout='{"y":1}\n', code=2,
          stderr=has("no record has a string or a number at 'x'"))
    c.run("dedupe -q -F 2", stdin="")
    c.run("dedupe -q -F 2 --comment '#'", stdin="#\n#\n", stdout="#\n#\n")


@case
def blank_lines_go_with_skip_empty(c):
    text = "\n\na\n\n \t\n\r\na\n"
    for threads in THREADS:
        for block in BLOCKS:
            more = {"stdin": text, "environment": small(block)}
            c.run(f"dedupe -q --skip-empty -j {threads}", stdout="a\n \t\n\r\n", **more)
            c.run(f"dedupe -q --skip-empty --crlf -j {threads}", stdout="a\n \t\n", **more)
            c.run(f"dedupe -q --skip-empty --trim --crlf -j {threads}", stdout="a\n", **more)
            c.run(f"dedupe -qv --skip-empty -j {threads}", stdout="\n\n\na\n", **more)
    c.run("dedupe --skip-empty", stdin=text, stdout=None, stderr=has("read 7 lines, kept 3, dropped 4;"))
    # What has an empty field is a record all the same.
    c.run("dedupe -q --skip-empty -F 2 -d ,", stdin="1,\n2,\n\n3,a\n4,a\n", stdout="1,\n2,\n3,a\n", stderr=None)


@case
def state_and_other_filters_make_keys_by_their_own_rules(c):
    c.run("dedupe -q --state s.bloom --lower", stdin="A\n", stdout="A\n")
    c.run("dedupe -q --state s.bloom", stdin="a\nB\nb\n", stdout="B\n")
    c.run("dedupe -q --state s.bloom --upper", stdin="a\n", code=2, stderr=has("s.bloom"))
    c.run("build -q -n 10 -p 1e-12 -F 2 -d , -o f.bloom", stdin="1,seen\n")
    for threads in (1, 4):
        c.run(f"dedupe -q --against f.bloom -j {threads}", stdin="7,seen\n8,new\n8,new\nplain\n",
              stdout="8,new\nplain\n")
        c.run(f"dedupe -q --against f.bloom --lower -j {threads}", stdin="7,seen\n8,NEW\n8,new\n",
              stdout="8,NEW\n")


# ---- Wrong usage -------------------------------------------------------------------------------------

@case
def wrong_usage_is_reported(c):
    for line, parts in (("-n 0", ("-n",)), ("-n many", ("-n",)), ("-p 2", ("-p",)),
                        ("--memory x", ("--memory",)), ("--on-full=wait", ("--on-full is stop",)),
                        ("--exact=32", ("--exact is 64 or 128",)), ("--exact -p 0.1", ("--exact",)),
                        ("-j 999", ("-j",)), ("--agains x --appendd y", ("did you mean",)),
                        ("--state", ("needs a value",)),
                        ("--on-full=stop", ("-n N or --memory",)),
                        ("--on-full=pass", ("-n N or --memory",)),
                        ("--memory 1KiB -n 1M", ())):
        c.run(f"dedupe {line}", stdin="a\n", code=2, stderr=has("bloomery: dedupe: ", *parts))
    c.run("dedupe --help", stdout=has("--on-full", "plus 5 %", "--comment"))
    c.run("help dedupe", stdout=has("bloomery dedupe"))


@case
def a_filter_without_a_magic_is_not_a_list(c):
    c.file("keys", "a\nb\n")
    c.run("build -q --dialect guava -n 10 -p 0.01 -o seen.bf keys")
    c.run("dedupe --against seen.bf keys", stderr=has("seen.bf", "convert --from"), code=2)
    c.file("list", b"a\0b\0")
    c.run("dedupe -0 --against list", stdin=b"a\0c\0", stdout=b"c\0", stderr=has("kept"))


# Two lines that share all 64 bits of XXH3-64, by construction.
COLLIDING = [bytes.fromhex(text) for text in
             ("b93942ea7b738267cfe3f32b71e4e13e", "288e1aa0591633923a5296093bbc56af")]


@case
def fingerprints_of_128_bits_are_of_128_bits(c):
    lines = text_of(COLLIDING)
    c.file("lines", lines)
    c.expect(c.run("dedupe -q --exact=128 lines", stdout=None)[0] == lines, "a line was dropped")


# ---- Secrets -----------------------------------------------------------------------------------------

@case
@keyed
def lines_made_to_collide_are_kept_apart_by_a_secret(c):
    c.file("lines", text_of(COLLIDING))
    c.file("json", b"".join(b'{"text": "' + b"".join(b"\\u%04x" % byte if byte < 32 else bytes([byte])
                                                    for byte in line) + b'"}\n' for line in COLLIDING))
    for line in ("lines", "-n 100 lines", "--memory 1MiB lines", "--state s.bloom lines",
                 "--jsonl text json", "--jsonl text --unit document json",
                 "--jsonl text --unit paragraph json", "--exact lines", "--exact=128 lines",
                 "--exact --jsonl text --unit document json"):
        text = c.read(line.split()[-1])
        if "--exact" not in line:  # of which other lines share the hash
            c.run(f"dedupe -q {line}", stdout=text.splitlines(keepends=True)[0])
        if os.path.exists(c.path("s.bloom")):
            os.unlink(c.path("s.bloom"))
        c.run(f"dedupe -q --keyed {line}", stdout=text)
    c.run("dedupe -q --keyed --append had lines", stdout=text_of(COLLIDING))
    c.run("dedupe -q --keyed --append had lines")


@case
@keyed
def a_keyed_state_keeps_its_secret(c):
    for name in ("s.bloom", "t.bloom"):
        c.run(f"dedupe -q --keyed --state {name} -n 1000 -p 1e-9", stdin="a\n", stdout="a\n")
        c.expect(os.stat(c.path(name)).st_mode & 0o777 == 0o600, "others can read the secret")
    c.expect(c.read("s.bloom") != c.read("t.bloom"), "two runs drew one secret")
    for more in ("", "--keyed", "--keyed -n 1000 -p 1e-9"):
        _, said = c.run(f"dedupe --state s.bloom {more}", stdin="a\n", stderr=None)
        c.expect(said.count(b"\n") == 1, f"{said}")
    c.run("dedupe -q --against s.bloom", stdin="a\nb\n", stdout="b\n")
    c.run("dedupe -q --state u.bloom", stdin="a\n", stdout="a\n")
    before = c.read("u.bloom")
    c.run("dedupe --keyed --state u.bloom", stdin="b\n", code=2, stderr=has("u.bloom: is not keyed"))
    c.expect(c.read("u.bloom") == before, "the state was changed")


@case
@keyed
def a_state_can_keep_its_secret_in_a_file(c):
    c.run("dedupe -q --state s.bloom --secret-file secret", stdin="a\n", code=2, stderr=has("--keyed"))
    c.expect(c.names() == [], f"{c.names()}")
    c.run("dedupe -q --keyed --state s.bloom --secret-file secret", stdin="a\n", stdout="a\n")
    c.expect(os.stat(c.path("secret")).st_mode & 0o777 == 0o600, "others can read the secret")
    secret = c.read("secret")
    c.run("dedupe -q --state s.bloom", stdin="b\n", code=2, stderr=has("does not carry its secret"))
    c.run("dedupe -q --state s.bloom --secret-file secret", stdin="a\nb\n", stdout="b\n")
    c.run("dedupe -q --keyed --state t.bloom --secret-file secret", stdin="a\n", stdout="a\n")
    c.expect(c.read("secret") == secret, "the secret was replaced")
    c.run("dedupe -q --keyed --state x --secret-file x", stdin="a\n", code=2, stderr=has("the same file, x"))


@case
def a_blank_header_is_a_header(c):
    c.file("h.txt", "\na\nb\na\n")
    got = json.loads(c.run("dedupe --header --skip-empty --json h.txt", stdout="\na\nb\n", stderr=None)[1])
    c.expect((got["lines"], got["kept"], got["dropped"], got["without_key"]) == (3, 2, 1, 0), f"{got}")
    c.file("h.csv", "\nx\nx\n")
    c.run("dedupe -q --csv --header -F 1 --skip-empty h.csv h.csv", stdout="\nx\n")


@case
def an_input_behind_a_document_that_ends_the_run_has_no_message(c):
    c.file("clash.jsonl", '{"text":"a","bloomery":1}\n' * 3)
    for _ in range(5):
        _, said = c.run("dedupe -n 1000 -j 4 --unit document --jsonl text --annotate clash.jsonl missing.jsonl", code=2,
                        stdout=None, stderr=None)
        c.expect(b"missing.jsonl" not in said, f"{said}")


main()
