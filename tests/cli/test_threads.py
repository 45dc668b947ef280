# SPDX-License-Identifier: Apache-2.0
"""-j: whatever the number of threads, the same bytes come out, in the same order.

BLOOMERY_BLOCK_BYTES makes blocks so small that every input has many, where the build has that switch;
a release build has not, and then one of the sizes is what it always is. Run under ThreadSanitizer
too, which sees races that happen to do no harm.
"""

import gzip
import json
import os
import random
import resource
import subprocess

from runner import EMULATOR, Skip, case, has, main

BLOCKS = ("16", "100", "5000", "")
THREADS = (1, 2, 3, 8)


def small(block):
    """The environment with blocks of `block` bytes; empty: as large as they are."""
    return {"BLOOMERY_BLOCK_BYTES": block}


def records(count, seed):
    """Records of many lengths: none, a few bytes, some that need several blocks."""
    generator = random.Random(seed)
    lengths = (0, 1, 5, 12, 12, 12, 13, 60, 64, 200)
    made = []
    for i in range(count):
        if i % 499 == 7:
            made.append(b"L" * generator.choice((4999, 5000, 12_000)) + b"%d" % i)
        else:
            made.append(b"%d-" % i + b"r" * generator.choice(lengths))
    return made


def set_up(c):
    """Inputs of several sorts, and two filters: a of every third record, b of every fifth."""
    lines = records(3000, 1)
    parts = [lines[:1200], lines[1200:1201], lines[1201:2500], lines[2500:]]
    c.file("one", b"\n".join(parts[0]))  # without a last newline
    c.file("two", b"\n".join(parts[1]) + b"\n")
    c.file("none", b"")
    c.file("packed", gzip.compress(b"\n".join(parts[2]) + b"\n"))
    c.file("a-keys", b"".join(line + b"\n" for line in lines[::3]))
    c.file("b-keys", b"".join(line + b"\n" for line in lines[::5]))
    c.run("build -q -j 1 -p 1e-12 -o a.bloom a-keys")
    c.run("build -q -j 1 -p 1e-12 -o b.bloom b-keys")
    stdin = b"".join(line + b"\n" for line in parts[3])
    return lines, stdin, "one two none packed -"


# ---- The same with any number -----------------------------------------------------------------------

@case
def query_output_is_the_same_with_any_j(c):
    lines, stdin, inputs = set_up(c)
    inside = b"".join(line + b"\n" for line in lines[::3])
    outside = b"".join(line + b"\n" for i, line in enumerate(lines) if i % 3)
    either = b"".join(line + b"\n" for i, line in enumerate(lines) if i % 3 == 0 or i % 5 == 0)
    named = b"".join((b"a.bloom:" + line + b"\n" if i % 3 == 0 else b"") +
                     (b"b.bloom:" + line + b"\n" if i % 5 == 0 else b"")
                     for i, line in enumerate(lines))
    for block in BLOCKS:
        for threads in THREADS:
            for line, expected in (("a.bloom", inside), ("-v a.bloom", outside),
                                   ("-f a.bloom -f b.bloom", either),
                                   ("--with-filename -f a.bloom -f b.bloom", named),
                                   ("-c a.bloom", b"1000\n"),
                                   ("-c --with-filename -f a.bloom -f b.bloom",
                                    b"a.bloom:1000\nb.bloom:600\n")):
                c.run(f"query -j {threads} {line} {inputs}", stdin=stdin, stdout=expected,
                      environment=small(block))


@case
def query_report_is_the_same_with_any_j(c):
    _, stdin, inputs = set_up(c)
    for block in BLOCKS:
        results = set()
        for threads in THREADS:
            text, _ = c.run(f"query -j {threads} -vc --json -f a.bloom -f b.bloom {inputs}",
                            stdin=stdin, stdout=None, environment=small(block))
            results.add(text)
        c.expect(len(results) == 1 and json.loads(text)["records"] == 3000, f"{results}")


@case
def build_file_is_the_same_with_any_j(c):
    _, stdin, inputs = set_up(c)
    shapes = ("", "--blocks 2", "--blocks 3", "--kind classic", "--memory 3KB", "-p 1e-9")
    for shape in shapes:
        for block in BLOCKS:
            results = set()
            for threads in THREADS:
                c.run(f"build -q -j {threads} -n 3000 {shape} -o f.bloom {inputs}", stdin=stdin,
                      environment=small(block),
                      stderr=None)
                results.add(c.read("f.bloom"))
            c.expect(len(results) == 1, f"{shape}, {block}: {len(results)} different filters")


@case
def counted_build_is_the_same_with_any_j(c):
    lines, _, _ = set_up(c)
    c.file("rest", b"\n".join(lines[2500:]))
    results = set()
    for block in BLOCKS:
        for threads in THREADS:
            _, said = c.run(f"build -j {threads} -o f.bloom one two none packed rest a-keys",
                            environment=small(block), stderr=has("4,000 records, about "))
            results.add((said, c.read("f.bloom")))
    c.expect(len(results) == 1, f"{len(results)} different filters or reports")


@case
def add_is_the_same_with_any_j(c):
    _, stdin, inputs = set_up(c)
    before = c.read("a.bloom")
    results = set()
    for block in BLOCKS:
        for threads in THREADS:
            c.file("a.bloom", before)
            _, said = c.run(f"add --force -j {threads} a.bloom {inputs}", stdin=stdin, environment=small(block),
                            stderr=None)
            results.add((said, c.read("a.bloom")))
    c.expect(len(results) == 1, f"{len(results)} different filters or reports: "
             f"{[said for said, _ in results]}")


@case
def threads_are_as_many_as_cores_unless_told(c):
    set_up(c)
    c.run("query -c a.bloom a-keys", stdout="1000\n")
    for number in ("0", "1", "2", "64", "256"):
        c.run(f"query -c -j {number} a.bloom a-keys", stdout="1000\n")
        c.run(f"query -c --threads {number} a.bloom", stdin=c.read("a-keys"), stdout="1000\n")
        c.run(f"build -q -j {number} -p 1e-12 -o c.bloom a-keys")
        c.expect(c.read("c.bloom") == c.read("a.bloom"), f"-j {number}")
        c.run(f"add -q -j {number} c.bloom a-keys")
    for line in ("query a.bloom", "build -o d.bloom", "add a.bloom"):
        for number in ("-1", "257", "1.5", "many", "", "1e9"):
            c.run([*line.split(), "-j", number, "a-keys"], code=2, stderr=has("-j "))
    c.expect("d.bloom" not in c.names(), "a refused build left a file")


# ---- Messages ---------------------------------------------------------------------------------------

@case
def messages_come_in_the_order_of_the_inputs(c):
    set_up(c)
    c.file("marked", b"\xef\xbb\xbfx\r\n" + b"y\n" * 500)
    c.file("returned", b"x\r\n" * 500)
    c.file("damaged", gzip.compress(b"z\n" * 100_000)[:-5])
    inputs = "marked missing one returned damaged two"
    expected = (b"bloomery: query: warning: marked: its first line ends in a carriage return, which "
                b"becomes part of the key\n"
                b"bloomery: query: missing: No such file or directory\n"
                b"bloomery: query: warning: returned: its first line ends in a carriage return, "
                b"which becomes part of the key\n"
                b"bloomery: query: damaged: the compressed data is cut short\n")
    for block in BLOCKS:
        for threads in THREADS:
            c.run(f"query -c -j {threads} a.bloom {inputs}", stdout="401\n", stderr=expected, code=2,
                  environment=small(block))


@case
def failed_input_ends_a_build_with_any_j(c):
    set_up(c)
    for block in BLOCKS:
        for threads in THREADS:
            c.run(f"build -n 5000 -j {threads} -o f.bloom one missing two", code=2,
                  stderr="bloomery: build: missing: No such file or directory\n",
                  environment=small(block))
    c.expect("f.bloom" not in c.names(), "a failed build left its file")


@case
def quiet_query_says_nothing_of_what_comes_after_the_hit(c):
    """Threads read ahead; what they find there is not to be told, or the output would be chance."""
    set_up(c)
    c.file("hit", b"none\n" * 40 + c.read("a-keys").split(b"\n")[1] + b"\n" + b"none\n" * 5)
    c.file("dull", b"none\n" * 10)
    for block in ("16", "100", ""):
        for _ in range(10):
            c.run("query -q -j 8 a.bloom hit missing", environment=small(block))
            c.run("query -q -j 8 a.bloom dull missing hit", environment=small(block),
                  stderr="bloomery: query: missing: No such file or directory\n")
            c.run("query -q -j 8 a.bloom dull missing", environment=small(block), code=2,
                  stderr="bloomery: query: missing: No such file or directory\n")


# ---- Waiting and stopping ---------------------------------------------------------------------------

@case
def quiet_query_ends_at_a_hit_though_its_input_stays_open(c):
    set_up(c)
    hit = c.read("a-keys").split(b"\n")[1] + b"\n"
    for threads in (1, 2, 8):
        for tail in (b"", b"none\n" * 100, b"cut"):
            process = c.start(f"query -q -j {threads} a.bloom")
            process.stdin.write(b"none\n" * 10 + hit + tail)
            process.stdin.flush()
            process.wait(timeout=30)
            c.expect(process.returncode == 0, f"exit code {process.returncode}")


@case
def full_disk_ends_a_query_though_its_input_stays_open(c):
    set_up(c)
    hit = c.read("a-keys").split(b"\n")[1] + b"\n"
    with open("/dev/full", "wb") as full:
        process = c.start("query -j 4 a.bloom", stdout=full)
        try:
            process.stdin.write(hit * (200_000 // len(hit) + 10))
            process.stdin.flush()
        except BrokenPipeError:  # it has ended before it was told all
            pass
        process.wait(timeout=60)
    c.expect(process.returncode == 2 and b"No space left" in process.stderr.read(),
             f"exit code {process.returncode}")


def threads_of(c, wanted):
    """How many threads a query has while its input is open and they wait for it."""
    process = c.start(f"query -c -j {wanted} a.bloom")
    process.stdin.write(b"x\n")
    process.stdin.flush()
    c.wait_until_read(process)
    c.wait_until_it_waits(process, "all threads wait for more input")
    seen = len(os.listdir(f"/proc/{process.pid}/task"))
    process.communicate(b"", timeout=60)
    return seen


@case
def threads_are_made(c):
    if EMULATOR:
        raise Skip("an emulator starts a thread of its own")
    set_up(c)
    one, two, five = (threads_of(c, wanted) for wanted in (1, 2, 5))
    # A sanitizer adds one of its own where threads are made at all.
    c.expect(one < two and five - two == 3, f"{one}, {two} and {five} threads for -j 1, 2 and 5")


@case
def an_input_that_does_not_wait_is_waited_for(c):
    """A descriptor that others have set to O_NONBLOCK says "not yet" where it has nothing."""
    set_up(c)
    for threads in (1, 3):
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        process = c.start(f"query -c -j {threads} a.bloom", stdin=reader)
        os.close(reader)
        c.wait_until_it_waits(process, "it waits for input")
        os.write(writer, b"".join(line + b"\n" for line in records(3000, 1)[:30:3]))
        os.close(writer)
        stdout, stderr = process.communicate(timeout=60)
        c.expect((stdout, process.returncode) == (b"10\n", 0), f"{stdout} {stderr}")


@case
def packed_input_behind_a_long_record_is_read(c):
    """The long record leaves its thread with a long block, into which the packed one is read."""
    long = b"x" * 5_000_000
    c.file("long", long + b"\n")
    noise = random.Random(3).randbytes(2_000_000).replace(b"\n", b" ").replace(b"\0", b" ")
    c.file("packed", gzip.compress(noise + b"\n"))
    c.run("build -q -n 2 -p 1e-12 -o f.bloom long packed")
    for threads in (1, 4):
        c.run(f"query -c -j {threads} f.bloom long packed long packed", stdout="4\n")


@case
def threads_that_the_system_refuses_are_not_missed(c):
    """A limit on processes counts threads; for root there is none."""
    if EMULATOR:
        raise Skip("an emulator starts a thread of its own")
    set_up(c)
    options = {"cwd": c.directory, "capture_output": True, "timeout": 60, "check": False,
               "env": {**os.environ, **small("100"), "ASAN_OPTIONS": "detect_leaks=0"},  # needs a thread
               "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))}
    if os.geteuid() == 0:
        os.chmod(c.directory, 0o777)
        options["user"] = options["group"] = 65534
    for line, expected in (("query -c -j 8 a.bloom a-keys", b"1000\n"),
                           ("build -q -j 8 -p 1e-12 -o c.bloom a-keys", b"")):
        try:
            done = subprocess.run(c.arguments(line), **options)
        except PermissionError as why:
            raise Skip("the command cannot be run by nobody") from why
        if done.returncode == 127:
            raise Skip("the command's library cannot be read by nobody")
        c.expect((done.stdout, done.stderr, done.returncode) == (expected, b"", 0), f"{done}")
    c.expect(c.read("c.bloom") == c.read("a.bloom"), "the filters differ")


main()
