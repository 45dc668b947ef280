# SPDX-License-Identifier: Apache-2.0
"""Static filters by the command: built once, queried, and refused what they can't do."""

import json
import os
import resource
import shutil
import signal
import subprocess
import time

from runner import EMULATOR, Skip, case, files_of, has, main


def keys(c, count=20000):
    c.file("keys", "".join(f"key {i}\n" for i in range(count)))


@case
def static_filter_is_built_and_finds_its_keys(c):
    keys(c)
    c.run("build --kind static -p 0.001 -o s.bloom keys",
          stderr=has("wrote s.bloom: 20,000 keys, ", ", 1 in 1,000\n"))
    c.run("query -c -f s.bloom keys", stdout="20000\n")
    info = json.loads(c.run("inspect --json s.bloom", stdout=None)[0])
    c.expect(info["kind"] == "static" and info["live_rate"] <= 0.001, f"{info}")
    c.expect(info["bytes"] * 8 < 20000 * 10.4, f"{info['bytes']} bytes")
    c.run("inspect --verify s.bloom", stdout=has("static: 9 or 10 columns, in 2 layers"))
    report = json.loads(c.run("build --kind static -p 0.001 --json -o s.bloom keys", stdout=None)[0])
    c.expect(report["new_bits"] is None and report["records"] == 20_000, "its bits are not set key by key")


@case
def order_repeats_and_memory_do_not_change_the_file(c):
    keys(c)
    c.run("build --kind static -p 0.001 -q -o one.bloom keys")
    lines = c.read("keys").splitlines(keepends=True)
    c.file("again", (b"".join(reversed(lines)) + b"".join(lines)).decode())
    c.run("build --kind static -p 0.001 --memory 16MiB --temp . -j 3 -o two.bloom again",
          stderr=has("40,000 records, about 20,000 distinct keys"))
    c.expect(c.read("one.bloom") == c.read("two.bloom"), "another file")
    c.run("build --kind static -p 0.001 -q -o - again", stdout=c.read("one.bloom"))
    c.expect(sorted(os.listdir(c.path("."))) == ["again", "keys", "one.bloom", "two.bloom"],
             f"{os.listdir(c.path('.'))}")


@case
def empty_input_makes_a_filter_without_keys(c):
    c.file("none", "")
    c.file("some", "a\n")
    c.run("build --kind static -q -o s.bloom none")
    c.run("query -c -f s.bloom some", code=1, stdout="0\n")


@case
def static_filter_says_what_to_do_instead(c):
    keys(c, 100)
    c.run("build --kind static -q -o s.bloom keys")
    c.run("build -q -o b.bloom keys")
    before = c.read("s.bloom")
    c.run("add s.bloom keys", code=2, stderr=has("build it again from all of them"))
    c.run("remove s.bloom keys", code=2, stderr=None)
    c.run("merge -o m.bloom s.bloom s.bloom", code=2, stderr=has("build one from all keys"))
    c.run("fold -o m.bloom s.bloom", code=2, stderr=has("build one from all keys"))
    c.run("compare s.bloom s.bloom", code=2, stderr=has("can't be compared"))
    c.run("convert --kind static -o m.bloom b.bloom", code=2, stderr=has("does not contain its keys"))
    c.run("convert --kind blocked -o m.bloom s.bloom", code=2, stderr=has("does not contain its keys"))
    c.run("build --kind static --folds 1 -o m.bloom keys", code=2, stderr=has("no folds"))
    c.run("query --positions s.bloom keys", code=2, stderr=has("have no bits of their own"))
    c.run("build --temp . -o m.bloom keys", code=2, stderr=has("--temp is for --kind static"))
    c.expect(c.read("s.bloom") == before and not os.path.exists(c.path("m.bloom")), "something changed")


@case
def new_keys_go_into_a_small_filter_beside_it(c):
    keys(c)
    c.file("more", "new 1\nnew 2\n")
    c.file("asked", "key 7\nnew 2\nneither\n")
    c.run("build --kind static -p 1e-6 -q -o list.bloom keys")
    c.run("build --kind scalable -p 1e-6 -q -o delta.bloom more")
    c.run("query -f list.bloom -f delta.bloom asked", stdout="key 7\nnew 2\n")


@case
def failed_build_leaves_the_old_file_and_no_litter(c):
    keys(c, 100)
    c.file("old.bloom", "")
    c.run("build -q --force -o old.bloom keys")
    before = c.read("old.bloom")
    c.run("build --kind static --temp nowhere -o old.bloom keys", code=2, stderr=has("nowhere"))
    c.run("build --kind static --memory 1MiB -o old.bloom keys", code=2, stderr=has("at least 16MiB"))
    c.expect(c.read("old.bloom") == before, "the old file is another")
    c.expect(sorted(os.listdir(c.path("."))) == ["keys", "old.bloom"], f"{os.listdir(c.path('.'))}")


# ---- Faults ------------------------------------------------------------------------------------------

SPILLS = 1_600_000  # keys that do not fit in 16 MiB


def spilling_build(c, keys_count=SPILLS):
    """An old filter, and the command that replaces it by a large one."""
    os.makedirs(c.path("root/temp"), exist_ok=True)
    c.file("root/keys", "".join(f"{i}\n" for i in range(keys_count)))
    c.run("build --kind static -q --force -o root/old.bloom -", stdin="a\nb\n")
    return "build --kind static -q --force -j 1 --memory 16MiB --temp root/temp -o root/old.bloom root/keys", c.read("root/old.bloom")


def expect_untouched(c, before, when):
    """The old filter is there, whole, and nothing beside it."""
    c.expect(c.read("root/old.bloom") == before, f"{when}: the old file is another")
    c.expect(sorted(os.listdir(c.path("root"))) == ["keys", "old.bloom", "temp"], f"{when}: {os.listdir(c.path('root'))}")
    c.expect(os.listdir(c.path("root/temp")) == [], f"{when}: {os.listdir(c.path('root/temp'))}")


@case
def a_killed_build_leaves_the_old_file_and_no_litter(c):
    if EMULATOR:
        raise Skip("its time there is another")
    line, before = spilling_build(c)
    c.run(line.replace("root/old.bloom", "root/other.bloom"))
    after = c.read("root/other.bloom")
    os.remove(c.path("root/other.bloom"))
    killed = 0
    for pause in (0, 0, 0, 0.05, 0.1, 0.2, 0.4, 0.8):
        process = c.start(line)
        # What it spills has no name. From then on any moment will do.
        c.wait_until(lambda: files_of(process, c.path("root/temp")), "it spills", process)  # pylint: disable=cell-var-from-loop
        time.sleep(pause)
        process.kill()
        process.wait()
        if c.read("root/old.bloom") == after:
            c.file("root/old.bloom", before)  # it had come to its end
            continue
        killed += 1
        expect_untouched(c, before, "killed")
    c.expect(killed >= 2, f"only {killed} were killed in time")


@case
def a_build_without_room_leaves_the_old_file_and_no_litter(c):
    line, before = spilling_build(c)
    for most in (100_000, 5_000_000, 17_000_000):
        def small_files(most=most):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        c.run(line, code=2, stderr=has("File too large"), preexec_fn=small_files)
        expect_untouched(c, before, f"files of {most} bytes")
    c.run(line.replace("root/temp", "root/keys"), code=2, stderr=has("root/keys", "Not a directory"))
    c.run(line.replace("--temp root/temp", "--temp root/none"), code=2, stderr=has("root/none", "No such file"))
    c.run(line.replace("-o root/old.bloom", "-o root/none/new.bloom"), code=2, stderr=has("does not exist"))
    expect_untouched(c, before, "wrong directories")


@case
def a_fault_at_any_call_leaves_the_old_file_or_the_new_one(c):
    library = os.environ.get("BLOOMERY_FAULTY_IO")
    if not library or EMULATOR:
        raise Skip("no library of faults")
    line, before = spilling_build(c)
    c.run(line.replace("root/old.bloom", "other.bloom"))
    after = c.read("other.bloom")
    at, failed, finished = 1, 0, False
    while not finished and at < 10_000_000:
        environment = {**os.environ, "LD_PRELOAD": library, "FAULTY_IO_ROOT": c.path("root"), "FAULTY_IO_MODE": "fail",
                       "FAULTY_IO_AT": str(at), "FAULTY_IO_ERRNO": "28", "FAULTY_IO_CALLS": "open,write,sync,truncate,link,rename,read"}
        done = subprocess.run(c.arguments(line), cwd=c.directory, capture_output=True, timeout=100, env=environment, check=False)
        finished = done.returncode == 0
        if not finished:
            failed += 1
            c.expect(done.returncode == 2 and b"No space left" in done.stderr, f"call {at}: {done.returncode}, {done.stderr!r}")
        c.expect(c.read("root/old.bloom") == (after if finished else before) or c.read("root/old.bloom") == after,
                 f"call {at}: neither the old file nor the new one")
        c.file("root/old.bloom", before)
        expect_untouched(c, before, f"call {at}")
        at += max(1, at // 3)
    shutil.rmtree(c.path("root"))
    c.expect(failed >= 5 and finished, f"{failed} of the calls failed, the last was {at}")


main()
