# SPDX-License-Identifier: Apache-2.0
"""add: everything or nothing, and never at the cost of another adder."""

import json
import os
import resource
import signal
import stat

from runner import Skip, case, has, main


def numbers(first, count):
    """Some keys."""
    return "".join(f"{i}\n" for i in range(first, first + count))


def set_up(c, keys=10_000):
    """An empty filter for `keys` keys."""
    c.run(f"build -q -n {keys} -p 1e-9 -o f.bloom", stdin="")


@case
def added_keys_are_found_and_counted(c):
    set_up(c)
    c.run("add f.bloom", stdin="a\nb\nc\n", stderr="f.bloom: added 3 keys, about 3 of them new\n")
    c.run("add f.bloom", stdin="b\nd\nd", stderr="f.bloom: added 3 keys, about 1 of them new\n")
    c.run("add f.bloom", stdin="b\nd\nd", stderr="f.bloom: added 3 keys, none changed a bit\n")
    c.run("add f.bloom", stdin="e\n", stderr="f.bloom: added 1 key, a new one\n")
    c.run("add f.bloom", stdin="e\n", stderr="f.bloom: added 1 key, which changed no bit\n")
    c.run("add f.bloom", stdin="", stderr="f.bloom: added 0 keys\n")
    c.run("add -q f.bloom", stdin="e\n")
    c.run("query f.bloom", stdin="a\nb\nc\nd\ne\nf\n", stdout="a\nb\nc\nd\ne\n")


@case
def json_says_what_was_added(c):
    set_up(c)
    c.run("add -q f.bloom", stdin="a\n")
    text, _ = c.run("add --json f.bloom", stdin="a\nb\nc\n", stdout=None)
    report = json.loads(text)
    inspected, _ = c.run("inspect --json f.bloom", stdout=None)
    inspected = json.loads(inspected)
    c.expect((report["schema"], report["command"], report["file"], report["records"],
              round(report["estimated_new_keys"])) == (1, "add", "f.bloom", 3, 2), f"{report}")
    c.expect(0 < report["new_bits"] <= 2 * 64, f"{report}")
    c.expect(report["planned_keys"] == 10_000 and 2 < report["estimated_keys"] < 4, f"{report}")
    for name in ("bytes", "file_bytes", "planned_keys", "planned_rate", "estimated_keys",
                 "predicted_rate"):
        c.expect(report[name] == inspected[name], f"{name}: {report[name]}, {inspected[name]}")
    c.run("add --json f.bloom missing", code=2, stderr=has("missing", "nothing was added"))


@case
def added_in_parts_equals_built_at_once(c):
    c.file("one", numbers(0, 3000))
    c.file("two", numbers(3000, 3000))
    c.file("three", numbers(6000, 4000))
    for options in ("", "--kind classic", "--blocks 3"):
        c.run(f"build -q -n 10000 {options} -o whole.bloom one two three")
        c.run(f"build -q -n 10000 {options} -o parts.bloom one")
        c.run("add -q parts.bloom two three")
        c.expect(c.read("whole.bloom") == c.read("parts.bloom"), f"{options}: the files differ")


@case
def nul_ended_records_are_added(c):
    set_up(c)
    c.run("add -q -0 f.bloom", stdin="a\nb\0c\0")
    c.run("query -0 f.bloom", stdin="a\nb\0c\0a\0", stdout="a\nb\0c\0")


@case
def failed_input_adds_nothing(c):
    set_up(c)
    c.file("good", "a\n")
    os.mkdir(c.path("folder"))
    before = c.read("f.bloom")
    c.run("add f.bloom good missing", code=2,
          stderr="bloomery: add: missing: No such file or directory\nnothing was added to f.bloom\n")
    c.run("add f.bloom good folder", code=2, stderr=has("folder: is a directory"))
    c.expect(c.read("f.bloom") == before, "the filter was changed")


@case
def missing_filter_is_an_error(c):
    c.run("add missing.bloom", stdin="a\n", code=2,
          stderr="bloomery: add: missing.bloom: No such file or directory\n")
    c.expect(not c.names(), f"litter: {c.names()}")


@case
def filter_past_its_plan_is_warned_about(c):
    c.run("build -q -n 1000 -p 0.01 -o f.bloom", stdin=numbers(0, 500))
    c.run("add f.bloom", stdin=numbers(500, 500), stderr=has("f.bloom: added 500 keys, "))
    _, stderr = c.run("add -q f.bloom", stdin="")
    c.expect(stderr == b"", f"{stderr}")
    c.run("add -q --force f.bloom", stdin=numbers(1000, 1000),
          stderr=has("warning: f.bloom: holds about ", " keys and was planned for 1,000: its rate is "
                     "now 1 in ", ", not 1 in 10"))
    c.run("query -c f.bloom", stdin=numbers(0, 2000), stdout="2000\n")


@case
def what_ruins_the_rate_is_refused_before_it_is_written(c):
    c.run("build -q -n 1000 -p 0.01 -o f.bloom", stdin=numbers(0, 900))
    before = c.read("f.bloom")
    refused = has("f.bloom: adding them would raise the rate to 1 in ", " keys; the limit is 1 in 5", " (twice the planned rate); "
                  "build a larger one", "nothing was added to f.bloom\n")
    c.run("add f.bloom", stdin=numbers(1000, 2000), code=2, stderr=refused)
    c.run("add f.bloom", stdin=numbers(1000, 200_000), code=2,
          stderr=has("f.bloom: adding them would set every bit; the limit is a rate of 1 in 5"))
    c.run("add --max-rate 0.011 f.bloom", stdin=numbers(1000, 500), code=2, stderr=has("; the limit is 1 in 90.9 (--max-rate)"))
    c.expect(c.read("f.bloom") == before, "the filter was changed")
    # The planned number of keys, and some more, do not ruin it; nor do keys that change nothing.
    c.run("add -q f.bloom", stdin=numbers(900, 250), stderr=has("warning"))
    c.run("add -q --max-rate 0.9 f.bloom", stdin=numbers(2000, 3000), stderr=has("warning"))
    c.run("add -q f.bloom", stdin=numbers(2000, 3000), stderr=has("warning"))
    c.run("add -q --force f.bloom", stdin=numbers(10_000, 50_000), stderr=has("warning"))
    c.run("build -q --kind scalable -n 1000 -p 0.01 -o g.bloom", stdin=numbers(0, 900))
    c.run("add -q g.bloom", stdin=numbers(1000, 50_000))


@case
def a_small_filter_takes_keys_up_to_the_requested_rate(c):
    for kind in ("blocked", "classic", "counting"):
        c.run(f"build --kind {kind} -p 0.01 -o f.bloom", stdin="apple\nbanana\n",
              stderr=has("f.bloom: 2 keys, ", "; it has room for ", " keys at 1 in 100\n"))
        c.run("add f.bloom", stdin="cherry\n", stderr="f.bloom: added 1 key, a new one\n")
        facts = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])
        c.expect(facts["planned_rate"] < 0.005 and facts["wanted_rate"] == 0.01, f"{kind}: {facts}")
        c.expect(not facts["over_full"], f"{kind}: {facts}")
        before = c.read("f.bloom")
        c.run("add f.bloom", stdin=numbers(0, 90), code=2,
              stderr=has("; the limit is 1 in 100 (the rate it was built for)", "nothing was added"))
        c.expect(c.read("f.bloom") == before, f"{kind}: the filter was changed")
        # The rate asked for outlives an add that was saved, one key at a time, up to the limit.
        rate = 0.0
        for i in range(60):
            _, said = c.run("add --json f.bloom", stdin=f"{i}\n", stdout=None, stderr=None, code=None)
            if b"nothing was added" in said:
                break
            c.expect(said == b"", f"{kind}, key {i}: {said}")
            rate = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])["live_rate"]
        c.expect(i > 1 and 0.004 < rate <= 0.01, f"{kind}: refused at {rate} with {i} keys more")


@case
def the_requested_rate_is_kept_by_copies_and_merges(c):
    c.run("build -q -p 0.001 -n 4 -o a.bloom", stdin=numbers(0, 4))
    c.run("build -q -p 0.001 -n 4 -o b.bloom", stdin=numbers(4, 4))
    c.run("merge -q -o c.bloom a.bloom b.bloom")
    c.run("build -q -p 0.001 --folds 6 -n 100 -o d.bloom", stdin=numbers(0, 100))
    c.run("fold -q --times 1 -o e.bloom d.bloom")
    for name in "acde":
        facts = json.loads(c.run(f"inspect --json {name}.bloom", stdout=None)[0])
        c.expect(facts["wanted_rate"] == 0.001 > 2 * facts["planned_rate"], f"{name}: {facts}")
    c.run("add -q c.bloom", stdin=numbers(8, 4))
    # A filter that is as good as was asked says nothing of it: its file is as it was.
    c.run("build -q -p 0.001 -n 10000 -o f.bloom", stdin=numbers(0, 4))
    facts = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])
    c.expect(facts["wanted_rate"] == facts["planned_rate"], f"{facts}")


@case
def damaged_payload_is_not_written_back(c):
    c.run("build -q -n 10000 -o f.bloom", stdin=numbers(0, 10_000))
    damaged = bytearray(c.read("f.bloom"))
    damaged[len(damaged) // 2] ^= 1
    c.file("f.bloom", damaged)
    c.run("add f.bloom", stdin="a\n", code=2, stderr=has("bloomery: add: f.bloom: "))
    c.expect(c.read("f.bloom") == bytes(damaged), "the damaged filter was changed")


@case
def mode_and_symbolic_link_are_kept(c):
    set_up(c)
    os.chmod(c.path("f.bloom"), 0o640)
    os.symlink("f.bloom", c.path("link"))
    c.run("add -q link", stdin="a\n")
    c.expect(os.path.islink(c.path("link")), "the link was replaced")
    c.expect(stat.S_IMODE(os.stat(c.path("f.bloom")).st_mode) == 0o640, "the mode was lost")
    c.run("query f.bloom", stdin="a\n", stdout="a\n")


@case
def failed_write_leaves_the_old_file_and_no_litter(c):
    set_up(c)
    before = c.read("f.bloom")

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    c.run("add f.bloom", stdin="a\n", code=2, stderr=has("File too large"), preexec_fn=small_files)
    c.expect(c.read("f.bloom") == before and c.names() == ["f.bloom"], f"{c.names()}")


@case
def killed_add_leaves_the_old_file(c):
    set_up(c)
    before = c.read("f.bloom")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        process = c.start("add f.bloom")
        process.stdin.write(numbers(0, 9000).encode())
        process.stdin.flush()
        c.wait_for_lock("f.bloom")
        process.send_signal(number)
        process.communicate()
        c.expect(process.returncode == -number, f"exit code {process.returncode}")
        c.expect(c.read("f.bloom") == before and c.names() == ["f.bloom"], f"{c.names()}")
    c.run("add -q f.bloom", stdin="a\n")  # a killed adder's lock is gone with it


# ---- Two at once -------------------------------------------------------------------------------------

@case
def two_adders_lose_nothing(c):
    set_up(c)
    first = c.start("add f.bloom")  # holds the lock until its input ends
    c.wait_for_lock("f.bloom")
    second = c.start("add f.bloom")
    second.stdin.write(numbers(5000, 5000).encode())
    second.stdin.close()
    c.wait_until_it_waits(second, "the second adder waits for the first")
    first.stdin.write(numbers(0, 5000).encode())
    first.stdin.close()
    for process in (first, second):
        process.stdin = None
        _, stderr = process.communicate(timeout=60)
        c.expect(process.returncode == 0, f"exit code {process.returncode}: {stderr}")
        c.expect(b"added 5,000 keys" in stderr, f"{stderr}")
    c.run("query -c f.bloom", stdin=numbers(0, 10_000), stdout="10000\n")


def finish(c, process, text=""):
    """Gives an adder its keys and its end, and looks at how it ended."""
    if process.stdin is not None:
        process.stdin.write(text.encode())
        process.stdin.close()
        process.stdin = None
    _, stderr = process.communicate(timeout=60)
    c.expect(process.returncode == 0 and stderr == b"", f"{process.returncode}: {stderr}")


@case
def adder_that_waited_for_a_replaced_file_locks_the_new_one(c):
    """The second waits for the first, which replaces the file; the third must wait for the second,
    though it never saw the file that the second waited for."""
    set_up(c)
    first = c.start("add -q f.bloom")
    c.wait_for_lock("f.bloom")
    second = c.start("add -q f.bloom")
    c.wait_until_it_waits(second, "the second adder waits for the first")
    finish(c, first, numbers(0, 1000))
    c.wait_for_lock("f.bloom")
    third = c.start("add -q f.bloom")
    third.stdin.write(numbers(2000, 1000).encode())
    third.stdin.close()
    third.stdin = None
    c.wait_until_it_waits(third, "the third adder waits for the second")
    finish(c, second, numbers(1000, 1000))
    finish(c, third)
    c.run("query -c f.bloom", stdin=numbers(0, 3000), stdout="3000\n")


@case
def eight_adders_lose_nothing(c):
    set_up(c, 16_000)
    processes = []
    for number in range(8):
        c.file(f"keys-{number}", numbers(2000 * number, 2000))
    for _ in range(3):
        processes = [c.start(f"add -q f.bloom keys-{number}") for number in range(8)]
        for process in processes:
            _, stderr = process.communicate(timeout=60)
            c.expect(process.returncode == 0 and stderr == b"", f"{process.returncode}: {stderr}")
    c.run("query -c f.bloom", stdin=numbers(0, 16_000), stdout="16000\n")
    c.expect(len(c.names()) == 9, f"litter: {c.names()}")


@case
def build_over_a_filter_waits_for_its_adder(c):
    set_up(c)
    adder = c.start("add -q f.bloom")
    c.wait_for_lock("f.bloom")
    builder = c.start("build -q -n 10 -p 1e-9 -o f.bloom")
    builder.stdin.write(b"built\n")
    builder.stdin.close()
    c.wait_until_it_waits(builder, "the build waits for the adder")
    adder.stdin.write(b"added\n")
    adder.stdin.close()
    for process in (adder, builder):
        process.stdin = None
        process.communicate(timeout=60)
        c.expect(process.returncode == 0, f"exit code {process.returncode}")
    c.run("query f.bloom", stdin="added\nbuilt\n", stdout="built\n")


@case
def readers_need_no_lock(c):
    set_up(c)
    c.run("add -q f.bloom", stdin="old\n")
    adder = c.start("add -q f.bloom")
    c.wait_for_lock("f.bloom")
    c.run("query f.bloom", stdin="old\nnew\n", stdout="old\n")
    adder.communicate(b"new\n", timeout=60)
    c.run("query f.bloom", stdin="old\nnew\n", stdout="old\nnew\n")


@case
def a_directory_that_takes_no_files_is_reported_before_input_is_read(c):
    os.mkdir(c.path("locked"))
    c.run("build -q -n 10 --kind counting -o locked/f.bloom", stdin="a\n")
    os.chmod(c.path("locked"), 0o555)
    if os.access(c.path("locked"), os.W_OK):
        raise Skip("root may write everywhere")
    for command in ("add", "remove"):
        process = c.start(f"{command} locked/f.bloom")  # its input stays open
        c.expect(process.wait(30) == 2, "not refused")
        expected = f"bloomery: {command}: locked/f.bloom: directory locked is not writable\n".encode()
        found = process.stderr.read()
        c.expect(found == expected, f"it says {found}")


main()
