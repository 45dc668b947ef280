# SPDX-License-Identifier: Apache-2.0
"""build without -n: the filter is the one that -n makes. Inputs are read once, larger files twice.

BLOOMERY_HASH_BYTES is the memory for the hashes that wait until the number of keys is known, where
the build has that switch; a release build has not, and then they stay in memory in all cases of the
first part. tests/unit/hash_store.c looks at what goes to the file, tests/unit/second_reading.c at files
that change between two readings.
"""

import gzip
import json
import os
import resource
import signal
import stat
import subprocess

from runner import EMULATOR, Difference, Skip, case, files_of, has, keyed, main, own_size

COUNT = 30_000
KEYS = "".join(f"key-{i}\n" for i in range(COUNT))
# All fits; most of it goes to the file; all but some hundred bytes does.
MEMORY = ("", "100000", "1")


# Files of any size are read twice, which only a build with that switch does.
TWICE = {"BLOOMERY_TWICE_BYTES": "0"}


def little(memory, **more):
    """The environment with so much memory for hashes; empty: as much as there is."""
    return {"BLOOMERY_HASH_BYTES": memory, "BLOOMERY_BLOCK_BYTES": "5000", **more}


def needs_switch():
    """For cases in which hashes have to go to a file."""
    if "BLOOMERY_TEST_NO_SWITCH" in os.environ:
        raise Skip("a release build has no switch for the memory of hashes")


def feed(c, name, content):
    """A process that writes this into a pipe with a name, once."""
    c.file("fed", content)
    os.mkfifo(c.path(name))
    return c.spawn(["sh", "-c", f"cat fed > {name}"])


# ---- The same filter -----------------------------------------------------------------------------

def is_that_of_n(c, options, keys, inputs, stdin=""):
    """Whatever the memory and the number of threads, the bytes are those of a build with -n."""
    c.run(f"build -q {options} -n {keys} -o n.bloom {inputs}", stdin=stdin)
    for memory in MEMORY:
        for threads in (1, 4):
            c.run(f"build -q {options} -j {threads} -o f.bloom {inputs}", stdin=stdin,
                  environment=little(memory))
            c.expect(c.read("f.bloom") == c.read("n.bloom"),
                     f"{options} -j {threads} with {memory} bytes: not what -n {keys} makes")
    c.run(f"build -q {options} -j 2 -o f.bloom {inputs}", stdin=stdin, environment=TWICE)
    c.expect(c.read("f.bloom") == c.read("n.bloom"), f"{options}: read twice, not what -n {keys} makes")


@case
def every_shape_is_that_of_n(c):
    c.file("keys", KEYS)
    for options in ("", "-p 0.3", "-p 1e-6", "--blocks 3", "--folds 9", "--seed 7", "--kind classic",
                    "--kind counting", "--counter-bits 8", "--note hello"):
        is_that_of_n(c, options, COUNT, "keys")


@case
def hashes_of_128_bits_are_those_of_n(c):
    """The plan takes them at 1e-13, not at 1e-8; a rate that the memory decides may need them."""
    c.file("keys", KEYS)
    # 30,000 keys share 64 bits at a rate of 1.6e-15: more than 1 % of 1e-13.
    for rate, bits in (("1e-8", 64), ("1e-10", 64), ("1e-13", 128), ("1e-15", 128)):
        is_that_of_n(c, f"-p {rate}", COUNT, "keys")
        facts = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])
        c.expect(facts["hash"] == f"xxh3-{bits}", f"{rate}: {facts['hash']}")
    for memory in ("20KB", "100KB", "119KB", "120KB", "121KB", "300KB", "10MB"):
        is_that_of_n(c, f"--memory {memory}", COUNT, "keys")


@case
def repeated_keys_count_once(c):
    few = "".join(f"{i}\n" for i in range(10_000))  # counted exactly
    is_that_of_n(c, "", 10_000, "-", stdin=3 * few)
    c.run("build -o f.bloom", stdin=3 * KEYS,
          stderr=has("wrote f.bloom: 90,000 records, about ", " distinct keys, "))


@case
def many_repeated_keys_get_the_rate_and_hardly_more(c):
    """Past the size of the sample the number is an estimate, and the plan is on the safe side of it."""
    keys = 300_000
    lines = "".join(f"{i}\n" for i in range(keys))
    sizes = set()
    for threads in (1, 3):
        c.run(f"build -q -p 0.001 -j {threads} -o f.bloom", stdin=4 * lines)
        sizes.add(c.read("f.bloom"))
    c.expect(len(sizes) == 1, "the filter depends on the threads")
    report = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])
    c.expect(keys <= report["planned_keys"] < 1.09 * keys, f"{report}")
    c.expect(report["live_rate"] < 0.00101, f"{report}")
    # Few repeats: the records are the better bound.
    c.run("build -q -o f.bloom", stdin=lines + lines[:5000])
    report = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])
    c.expect(keys <= report["planned_keys"] <= keys + lines[:5000].count("\n"), f"{report}")


@case
def files_and_pipes_make_the_same_filter_however_lines_repeat(c):
    """Of a file whose lines hardly repeat, lines are counted and not hashed before they are added."""
    keys = 200_000
    lines = [f"{i * 7919:011d}\n" for i in range(keys)]
    wide = [f"{i:0100d}\n" for i in range(keys)]
    # A small sample of a large file does not meet both of the blocks. The filter's bits tell.
    blocks = wide[:60_000] + wide[21_000:31_000] + wide[60_000:]
    for name, content in (("none", lines),
                          ("far apart, few", lines + lines[:keys // 400]),
                          ("far apart, some", lines + lines[::20]),
                          ("beside each other", [line for line in lines for _ in range(2)]),
                          ("in two blocks", blocks)):
        content = "".join(content)
        c.file("keys", content)
        c.run("build -q -p 0.01 -j 2 -o pipe.bloom", stdin=content)
        for threads in (1, 3):
            c.run(f"build -q -p 0.01 -j {threads} -o f.bloom keys", environment=TWICE)
            c.expect(c.read("f.bloom") == c.read("pipe.bloom"),
                     f"repeated lines: {name}: -j {threads}: the file's filter is not the pipe's")


@case
def records_without_a_key_do_not(c):
    lines = "".join(f"# {i}\n{i}\tkey-{i}\nnone\n" for i in range(COUNT))
    warning = has(f"{COUNT:,}".replace(",", ","), "field 2")
    c.file("keys", lines)
    c.run(f"build -q -n {COUNT} --comment '#' -F 2 -o n.bloom keys", stderr=warning)
    for memory in MEMORY:
        c.run("build -q --comment '#' -F 2 -o f.bloom keys", stderr=warning,
              environment=little(memory))
        c.expect(c.read("f.bloom") == c.read("n.bloom"), "not what -n makes")
    c.run("build --comment '#' -F 2 -o f.bloom keys",
          stderr=has("wrote f.bloom: 30,000 keys, ", "; 60,000 records have no key\n"))


@case
@keyed
def keyed_filters_are_those_of_n(c):
    c.file("keys", KEYS)
    c.run("build -q -n 1 --secret-file k -o f.bloom", stdin="a\n")
    is_that_of_n(c, "--secret-file k", COUNT, "keys")
    c.run("query -c --secret-file k f.bloom keys", stdout=f"{COUNT}\n")
    os.unlink(c.path("f.bloom"))  # which would keep its mode
    seen = set()
    for memory in MEMORY:
        c.run("build -q --keyed -o f.bloom keys", environment=little(memory))
        c.run("query -c f.bloom keys", stdout=f"{COUNT}\n")
        c.run("query -c f.bloom", stdin="absent\n", stdout="0\n", code=1)
        mode = stat.S_IMODE(os.stat(c.path("f.bloom")).st_mode)
        c.expect(mode == 0o600, "others can read the key")
        seen.add(c.read("f.bloom"))
        os.unlink(c.path("f.bloom"))
    c.expect(len(seen) == len(MEMORY), "random keys are the same")


@case
def an_empty_input_makes_an_empty_filter(c):
    for options in ("", "-p 1e-14", "--memory 1KB", "--kind classic"):
        is_that_of_n(c, options, 1, "-")
        c.run(f"build {options} -o f.bloom", stderr=has("wrote f.bloom: 0 keys, "))
        facts = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])
        c.expect(facts["bits_set"] == 0, options)


@case
def packed_input_is_that_of_n(c):
    with open(c.path("packed"), "wb") as file:
        file.write(gzip.compress(KEYS.encode()))
    is_that_of_n(c, "", COUNT, "packed")
    is_that_of_n(c, "-p 1e-13", 2 * COUNT, "packed -", stdin=KEYS.replace("\n", "x\n"))


# ---- Once ----------------------------------------------------------------------------------------

@case
def input_is_read_once(c):
    """From a pipe that gives what it has a single time, beside files."""
    c.file("keys", KEYS)
    c.run(f"build -q -n {COUNT + 2} -o n.bloom - keys", stdin="a\nb\n")
    for memory in MEMORY:
        writer = feed(c, "fifo", "a\nb\n")
        c.run("build -q -o f.bloom fifo keys", environment=little(memory))
        c.expect(writer.wait() == 0, "the writer failed")
        c.expect(c.read("f.bloom") == c.read("n.bloom"), "a pipe differs")
        os.unlink(c.path("fifo"))


@case
def files_are_read_twice(c):
    """Nothing waits for the filter then: no directory for hashes is needed, whatever their number."""
    needs_switch()
    c.file("keys", KEYS)
    c.file("more", "".join(f"more-{i}\n" for i in range(COUNT)))
    c.file("packed", gzip.compress(KEYS.encode()))
    nowhere = {**TWICE, **little("1", TMPDIR="/nonexistent")}
    c.run(f"build -q -n {2 * COUNT} -o n.bloom keys more")
    for line in ("build -q -j 1 -o f.bloom keys more", "build -q -j 4 -o f.bloom keys more",
                 "build -q -j 1 -o f.bloom - more <keys", "build -q -j 4 -o f.bloom - more <keys"):
        options, _, stdin = line.partition(" <")
        if stdin:
            with open(c.path(stdin), "rb") as file:
                process = c.start(options, stdin=file, env={**os.environ, **nowhere})
                c.expect(process.wait(timeout=60) == 0, line)
        else:
            c.run(options, environment=nowhere)
        c.expect(c.read("f.bloom") == c.read("n.bloom"), line)
    # A pipe and what is packed are read once, and so are the files beside them.
    c.run("build -q -o f.bloom keys packed", environment=nowhere, code=2, stderr=has("/nonexistent: No such file"))
    c.run("build -q -o f.bloom keys -", stdin=KEYS, environment=nowhere, code=2, stderr=has("/nonexistent: No such file"))
    # The records are reported once.
    c.file("fields", "a\n" + "x\ty\n" * COUNT)
    said = c.run("build -o f.bloom -F 2 fields", environment=nowhere, stderr=None)[1]
    c.expect(said.count(b"field 2") == 1 and said.count(b"wrote") == 1, said)


@case
def a_file_that_grows_during_the_run_is_counted_as_it_was_read(c):
    """What is planned for and what is added are the same keys."""
    process = c.start("build -o f.bloom")
    for i in range(50):
        process.stdin.write(b"%d\n" % i)
        process.stdin.flush()
        c.wait_until_read(process)
    _, stderr = process.communicate(timeout=60)
    c.expect(process.returncode == 0 and stderr.startswith(b"wrote f.bloom: 50 keys, "),
             f"{stderr}")
    facts = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])
    c.expect((facts["planned_keys"], facts["adds"]) == (50, 50), f"{facts}")


@case
def what_does_not_fit_is_reported_when_it_has_been_read(c):
    c.file("keys", KEYS)
    for inputs, stdin in (("keys", ""), ("", KEYS)):
        c.run(f"build -p 1e-4 --memory 10KB -o f.bloom {inputs}", stdin=stdin, code=2,
              stderr=has("30,000 keys at a rate of 1 in 10,000 need ", "; a rate of 1 in "))
        c.run(f"build --memory 100 -o f.bloom {inputs}", stdin=stdin, code=2,
              stderr=has("30000 keys do not fit in 100 bytes"))
    c.expect(c.names() == ["keys"], "a refused build left a file")


# ---- What can go wrong ---------------------------------------------------------------------------

@case
def a_missing_temporary_directory_is_reported(c):
    needs_switch()
    c.file("keys", KEYS)
    for threads in (1, 4):
        c.run(f"build -j {threads} -o f.bloom keys", code=2,
              environment=little("1", TMPDIR="/nonexistent"),
              stderr="bloomery: build: hashes that do not fit in memory, in a file in "
              "/nonexistent: No such file or directory; set TMPDIR to another directory, or give "
              "-n, which needs no such file\n")
    c.expect(c.names() == ["keys"], "a failed build left a file")
    c.run("build -q -o f.bloom keys", environment={"TMPDIR": "/nonexistent"})  # they fit
    c.run("build -q -n 30k -o g.bloom keys", environment=little("1", TMPDIR="/nonexistent"))
    c.expect(c.read("f.bloom") == c.read("g.bloom"), "they differ")


@case
def a_directory_that_fails_ends_a_build_though_its_input_stays_open(c):
    """Of 20 keys one thread gets all, and fails; the others wait for more."""
    needs_switch()
    for threads, keys in ((1, KEYS), (4, KEYS), (1, KEYS[:120]), (4, KEYS[:120])):
        process = c.start(f"build -j {threads} -o f.bloom",
                          env={**os.environ, **little("1", TMPDIR="/nonexistent")})
        try:
            process.stdin.write(keys.encode())
            process.stdin.flush()
        except BrokenPipeError:  # it has ended before it read all
            pass
        try:
            code = process.wait(timeout=30)
        except subprocess.TimeoutExpired as late:
            raise Difference(f"-j {threads} waits for input") from late
        c.expect(code == 2, f"exit code {code}")
        c.expect(b"/nonexistent: No such file" in process.stderr.read(), "it says something else")


@case
def a_full_disk_is_reported_and_leaves_the_old_file(c):
    needs_switch()
    c.file("keys", KEYS)
    os.mkdir(c.path("tmp"))
    c.run("build -q -n 1 -o f.bloom", stdin="old\n")
    old = c.read("f.bloom")

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    for threads in (1, 4):
        c.run(f"build -j {threads} -o f.bloom keys", code=2, preexec_fn=small_files,
              environment=little("1", TMPDIR=c.path("tmp")),
              stderr=has("in a file in ", "/tmp: File too large; set TMPDIR to another directory"))
    c.expect(c.read("f.bloom") == old and c.names() == ["f.bloom", "keys", "tmp"] and
             not os.listdir(c.path("tmp")), f"{c.names()}")


@case
def an_interrupted_build_leaves_nothing(c):
    """Killed while hashes are in the file, which has no name from the beginning."""
    needs_switch()
    if EMULATOR:
        raise Skip("an emulator has files of its own")
    os.mkdir(c.path("tmp"))
    c.run("build -q -n 1 -o f.bloom", stdin="old\n")
    old = c.read("f.bloom")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        process = c.start("build -o f.bloom",
                          env={**os.environ, **little("1", TMPDIR=c.path("tmp"))})
        process.stdin.write(KEYS.encode())
        process.stdin.flush()
        c.wait_until(lambda: files_of(process, c.path("tmp")), "hashes go to a file", process)  # pylint: disable=cell-var-from-loop
        c.expect(not os.listdir(c.path("tmp")), "the file has a name")
        process.send_signal(number)
        process.communicate(timeout=60)
        c.expect(process.returncode == -number, f"exit code {process.returncode}")
        c.expect(c.read("f.bloom") == old and c.names() == ["f.bloom", "tmp"], f"{c.names()}")
        c.expect(not os.listdir(c.path("tmp")), "litter")


@case
def a_failing_input_builds_nothing(c):
    c.file("keys", KEYS)
    c.file("damaged", gzip.compress(KEYS.encode())[:-5])
    c.file("odd", KEYS + "not hex\n")
    for memory in MEMORY:
        for line, expected in (("keys missing", "missing: No such file or directory\n"),
                               ("keys damaged", "damaged: the compressed data is cut short\n"),
                               ("--hex odd", "no key can be made of it\n"),
                               ("-F 3 keys", "field 3")):
            c.run(f"build -o f.bloom {line}", code=2, stderr=has(expected),
                  environment=little(memory))
    c.expect("f.bloom" not in c.names(), "a failed build left its file")


@case
def more_addresses_are_never_too_few(c):
    """Under a limit of addresses, what is left of them is not all taken for hashes or for stacks."""
    own_size()
    c.file("keys", "".join(f"{i}\n" for i in range(100_000)))
    for threads in (1, 2, 4):
        worked = 0
        for limit in list(range(12_000, 100_000, 997)) + [150_000, 300_000, 700_000, 1_500_000]:
            process = c.start(f"build -q -j {threads} -o f.bloom keys", stdin=subprocess.DEVNULL,
                              preexec_fn=lambda most=limit << 10: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
            said = process.communicate(timeout=60)[1]
            worked = worked or (limit if process.returncode == 0 else 0)
            c.expect(process.returncode == 0 or worked == 0,
                     f"-j {threads}: {worked} KiB of addresses are enough, and {limit} too few: {said}")
        c.expect(0 < worked < 60_000, f"{worked} KiB are needed")


main()
