# SPDX-License-Identifier: Apache-2.0
"""build: what size it takes, what it refuses, what it leaves behind."""

import fcntl
import json
import os
import resource
import signal
import stat
import subprocess
import time

from runner import Skip, case, everything_from, has, keyed, main, open_terminal

KEYS = "".join(f"key-{i}\n" for i in range(10_000))


def set_up(c):
    """10,000 keys in a file."""
    c.file("keys", KEYS)


@case
def keys_are_counted_from_files(c):
    set_up(c)
    c.run("build -p 0.01 -o f.bloom keys", stderr=has("wrote f.bloom: 10,000 keys, ", ", 1 in 10"))
    c.run("build -p 0.01 -n 10k -q -o g.bloom", stdin=KEYS)
    c.expect(c.read("f.bloom") == c.read("g.bloom"), "counted and given n differ")


@case
def several_files_are_counted_together(c):
    set_up(c)
    c.file("more", "a\nb")
    c.run("build -p 0.01 -o f.bloom keys more keys",
          stderr=has("wrote f.bloom: 20,002 records, about ", " distinct keys"))
    c.run("query -c f.bloom", stdin=KEYS + "a\nb\n", stdout="10002\n")


@case
def success_line_is_exact_and_quiet_leaves_it_out(c):
    c.run("build -n 1 -p 1e-4 --kind classic -o f.bloom", stdin="a\n",
          stderr=has("wrote f.bloom: 1 key, ", " bytes, 1 in "))
    c.run("build -q -n 1 -o f.bloom", stdin="a\n")


@case
def same_input_makes_the_same_bytes(c):
    set_up(c)
    c.run("build -q -o f.bloom keys")
    c.run("build -q -o g.bloom keys")
    c.run("build -q -n 10000 -p 0.01% -o h.bloom -", stdin=KEYS)
    c.expect(c.read("f.bloom") == c.read("g.bloom") == c.read("h.bloom"), "the files differ")
    c.run("build -q --seed 7 -o s.bloom keys")
    c.expect(c.read("f.bloom") != c.read("s.bloom"), "the seed changes nothing")
    c.run("query -c s.bloom keys", stdout="10000\n")


@case
def every_way_to_write_a_number_means_the_same(c):
    set_up(c)
    c.run("build -q -n 10000 -p 0.001 -o f.bloom keys")
    for keys in ("10k", "10_000", "1e4", "0.01M", "10.0k"):
        for rate in ("1e-3", "0.1%", "1/1000", "1/1k"):
            c.run(f"build -q -n {keys} -p {rate} -o g.bloom keys")
            c.expect(c.read("f.bloom") == c.read("g.bloom"), f"-n {keys} -p {rate} differs")


@case
def a_pipe_makes_the_filter_that_a_file_makes(c):
    set_up(c)
    os.mkfifo(c.path("fifo"))
    for options in ("", "-p 0.1 --blocks 2", "--kind classic", "--kind counting", "--folds 2",
                    "--memory 1MiB", "-p 1e-3 --memory 1MiB"):
        c.run(f"build -q {options} -o f.bloom keys")
        c.run(f"build -q {options} -o g.bloom", stdin=KEYS)
        c.expect(c.read("f.bloom") == c.read("g.bloom"), f"{options}: standard input differs")
        writer = c.spawn(["sh", "-c", "cat keys > fifo"])
        c.run(f"build -q {options} -o g.bloom fifo")
        writer.wait()
        c.expect(c.read("f.bloom") == c.read("g.bloom"), f"{options}: a named pipe differs")


@case
def memory_alone_bounds_the_filter(c):
    set_up(c)
    c.run("build --memory 8KiB -o f.bloom keys", stderr=has("wrote f.bloom: 10,000 keys, "))
    c.expect(os.path.getsize(c.path("f.bloom")) < 8192 + 1024, "larger than --memory")
    c.run("build --memory 1MiB -o g.bloom", stdin=KEYS, stderr=has("wrote g.bloom: 10,000 keys, 1"))
    c.run("query -c g.bloom keys", stdout="10000\n")
    size = os.path.getsize(c.path("g.bloom"))
    c.expect((1 << 20) * 0.9 < size < (1 << 20) * 1.01, f"1 MiB became {size}")


@case
def what_does_not_fit_the_memory_is_refused_with_what_would(c):
    set_up(c)
    c.run("build -n 20M -p 1e-4 --memory 10MiB -o f.bloom keys", code=2,
          stderr=has("20,000,000 keys at a rate of 1 in 10,000 need ", " MiB and --memory is 10.0 MiB",
                     "; a rate of 1 in ", " would fit\n"))
    c.run("build -n 1e9 -p 1e-4 --memory 18MB -o f.bloom keys", code=2,
          stderr=has("GiB and --memory is 17.2 MiB, where no useful rate fits"))
    c.run("build -n 1e9 --memory 10 -o f.bloom keys", code=2,
          stderr=has("1000000000 keys do not fit in 10 bytes", "they need"))
    c.expect(c.names() == ["keys"], "a refused build left a file")


@case
def rate_and_memory_that_fit_take_no_more_than_the_rate_needs(c):
    set_up(c)
    c.run("build -q -p 0.01 -o f.bloom keys")
    c.run("build -q -p 0.01 --memory 1GB -o g.bloom keys")
    c.expect(c.read("f.bloom") == c.read("g.bloom"), "a limit that is kept changes the filter")


@case
def more_keys_than_planned_are_warned_about(c):
    c.run("build -n 5000 -p 0.01 -o f.bloom", stdin=KEYS,
          stderr=has("wrote f.bloom: 10,000 records, about ", " distinct keys, ",
                     "; build it with a larger -n, or with --kind scalable\n",
                     "warning: f.bloom: holds about ", " keys and was planned for 5,000: its rate is "
                     "now 1 in ", ", not 1 in 10"))
    c.run("query -c f.bloom", stdin=KEYS, stdout="10000\n")


@case
def overfull_filter_is_detected_by_its_bits(c):
    """What was new while it was added is few: soon most keys looked as if they were there."""
    text = "".join(f"{i}\n" for i in range(300_000))
    _, err = c.run("build -n 100 -o f.bloom", stdin=text, stderr=has(
        "wrote f.bloom: 300,000 records, ", ", every bit is set: any key is now reported as possibly in it\n",
        "warning: f.bloom: is full: all bits are set, so any key is reported as possibly in it. It was planned for "
        "100 keys at a rate of 1 in "))
    c.expect(b"different" not in err, f"a number of keys is made up: {err}")
    info = json.loads(c.run("build --json -n 100 -o f.bloom", stdin=text, stdout=None,
                            stderr=has("is full"))[0])
    c.expect(info["live_rate"] == 1 and info["estimated_keys"] is None, f"JSON differs: {info}")
    c.run("build -n 5000 -o g.bloom", stdin=KEYS[:len(KEYS) // 5] * 5,
          stderr=has(" distinct keys, ", ", 1 in "))
    _, err = c.run("build -q -n 5000 -o g.bloom", stdin="".join(f"{i % 4000}\n" for i in range(9000)))
    c.expect(not err, f"repeated keys are warned about: {err}")


@case
def kinds_lines_and_folds_are_built(c):
    set_up(c)
    seen = set()
    for options in ("", "--kind blocked", "--blocks 1", "--blocks 2", "--blocks 3", "--folds 9",
                    "--kind classic"):
        c.run(f"build -q {options} -o f.bloom keys")
        c.run("query -c f.bloom keys", stdout="10000\n")
        seen.add(c.read("f.bloom"))
    c.expect(len(seen) == 5, f"{len(seen)} different filters, not 5 (the first two are one of the others)")
    c.run("build --kind classic --blocks 2 -o f.bloom keys", code=2, stderr=has("--blocks"))


# ---- Outputs -----------------------------------------------------------------------------------------

@case
def output_to_stdout_is_the_file(c):
    set_up(c)
    c.run("build -q -o f.bloom keys")
    c.run("build -q -o - keys", stdout=c.read("f.bloom"))
    c.run("build -o - keys", stdout=c.read("f.bloom"), stderr=has("wrote stdout: 10,000 keys"))


@case
def filter_is_never_written_to_a_terminal(c):
    set_up(c)
    leader, follower = open_terminal()
    try:
        c.run("build -o - keys", stdout_file=follower, code=2,
              stderr=has("stdout is a terminal"))
    finally:
        os.close(leader)
        os.close(follower)


@case
def filter_to_a_full_disk_is_an_error(c):
    set_up(c)
    with open("/dev/full", "wb") as full:
        c.run("build -o - keys", stdout_file=full, code=2,
              stderr="bloomery: build: writing to stdout: No space left on device\n")


@case
def file_that_is_not_a_filter_is_not_overwritten(c):
    set_up(c)
    for content in ("some precious text\n" * 100, "short"):
        c.file("f.bloom", content)
        c.run("build -o f.bloom keys", code=2,
              stderr="bloomery: build: f.bloom: exists and is not a whole filter; "
              "--force overwrites it\n")
        c.expect(c.read("f.bloom") == content.encode(), "the file was changed")
    c.run("build -q --force -o f.bloom keys")
    c.run("query -c f.bloom keys", stdout="10000\n")


def wait_for_secret(c):
    """Returns when a command has made the file of its secret, whole."""
    c.wait_until(lambda: "k" in c.names() and len(c.read("k")) > 32, "the secret is there")


@case
@keyed
def file_made_during_the_build_is_not_overwritten(c):
    """What stands at the output is looked at when the build begins, and again before it saves."""
    for options, saved in (("", False), ("--force", True)):
        process = c.start(f"build -q {options} -n 10 --secret-file k -o f.bloom")
        wait_for_secret(c)  # made after the first look
        c.file("f.bloom", "precious\n")
        _, stderr = process.communicate(b"a\n", timeout=60)
        if saved:
            c.expect(process.returncode == 0, f"{process.returncode}: {stderr}")
            c.run("query --secret-file k f.bloom", stdin="a\n", stdout="a\n")
        else:
            c.expect(process.returncode == 2 and b"--force overwrites it" in stderr, f"{stderr}")
            c.expect(c.read("f.bloom") == b"precious\n", "the file was overwritten")
        for name in c.names():
            os.unlink(c.path(name))


@case
def filters_and_empty_files_are_replaced(c):
    set_up(c)
    c.file("f.bloom", "")
    c.run("build -q -n 1 -o f.bloom", stdin="other\n")
    first = c.read("f.bloom")
    c.run("build -q -o f.bloom keys")
    c.expect(c.read("f.bloom") != first, "the filter was not replaced")
    c.expect(c.names() == ["f.bloom", "keys"], f"litter: {c.names()}")


@case
def existing_mode_and_symbolic_link_are_kept(c):
    set_up(c)
    c.run("build -q -n 1 -o real.bloom", stdin="x\n")
    os.chmod(c.path("real.bloom"), 0o640)
    os.symlink("real.bloom", c.path("link.bloom"))
    c.run("build -q -o link.bloom keys")
    c.expect(os.path.islink(c.path("link.bloom")), "the link was replaced")
    c.run("query -c real.bloom keys", stdout="10000\n")
    c.expect(stat.S_IMODE(os.stat(c.path("real.bloom")).st_mode) == 0o640, "the mode was lost")


@case
def outputs_that_are_not_files_are_refused(c):
    set_up(c)
    os.mkdir(c.path("folder"))
    c.run("build -o folder keys", code=2, stderr=has("folder: is a directory"))
    c.run("build --force -o folder keys", code=2, stderr=has("folder: is a directory"))
    c.run("build -o /dev/null keys", code=2, stderr=has("/dev/null: is not a regular file"))
    c.run("build -o nowhere/f.bloom keys", code=2, stderr=has("nowhere"))


@case
def failed_write_leaves_the_old_file_and_no_litter(c):
    set_up(c)
    c.run("build -q -n 1 -o f.bloom", stdin="old\n")
    old = c.read("f.bloom")

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    for line in ("build -o f.bloom keys", "build -o new.bloom keys"):
        c.run(line, code=2, stderr=has("File too large"), preexec_fn=small_files)
    c.expect(c.read("f.bloom") == old, "the old file was changed")
    c.expect(c.names() == ["f.bloom", "keys"], f"litter: {c.names()}")


@case
def killed_build_leaves_the_old_file(c):
    c.run("build -q -n 1 -o f.bloom", stdin="old\n")
    old = c.read("f.bloom")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        process = c.start("build -n 10k -o f.bloom")
        process.stdin.write(KEYS.encode())
        process.stdin.flush()
        c.wait_until_it_waits(process, "it waits for more keys")
        process.send_signal(number)
        process.wait()
        process.communicate()
        c.expect(process.returncode == -number, f"exit code {process.returncode}")
        c.expect(c.read("f.bloom") == old, "the old file was changed")
        c.expect(c.names() == ["f.bloom"], f"litter: {c.names()}")


@case
def json_says_what_was_written(c):
    set_up(c)
    text, _ = c.run("build --json -p 0.01 -o f.bloom keys keys", stdout=None)
    report = json.loads(text)
    inspected, _ = c.run("inspect --json f.bloom", stdout=None)
    inspected = json.loads(inspected)
    c.expect((report["schema"], report["command"], report["file"], report["records"])
             == (1, "build", "f.bloom", 20_000), f"{report}")
    c.expect(9_900 < report["estimated_new_keys"] < 10_100, f"{report}")
    c.expect(report["estimated_new_keys"] == report["estimated_keys"], f"{report}")
    c.expect(report["new_bits"] == inspected["bits_set"] and report["planned_keys"] == 10_000,
             f"{report}")
    c.expect(report["file_bytes"] == os.path.getsize(c.path("f.bloom")), f"{report}")
    c.expect(0 < report["predicted_rate"] <= 1.02 * report["planned_rate"] <= 1.02 * 0.01, f"{report}")
    for name in ("bytes", "planned_keys", "planned_rate", "estimated_keys", "predicted_rate"):
        c.expect(report[name] == inspected[name], f"{name}: {report[name]}, {inspected[name]}")
    c.run("build --json -o - keys", code=2, stderr=has("--json and '-o -'"))
    with open("/dev/full", "wb") as full:
        c.run("build --json -o f.bloom keys", stdout_file=full, code=2, stderr=has("No space left"))


# ---- Inputs ------------------------------------------------------------------------------------------

@case
def output_directory_is_looked_at_before_anything_is_read(c):
    set_up(c)
    process = c.start("build -n 10 -o nowhere/f.bloom")  # its input stays open
    c.expect(process.wait(30) == 2, "not refused")
    expected = b"bloomery: build: nowhere/f.bloom: directory nowhere does not exist\n"
    found = process.stderr.read()
    c.expect(found == expected, f"it says {found}")
    os.mkdir(c.path("locked"))
    os.symlink("locked/f.bloom", c.path("link"))
    c.run("build -q -o locked/f.bloom keys")
    os.chmod(c.path("locked"), 0o555)
    if os.access(c.path("locked"), os.W_OK):
        raise Skip("root may write everywhere")
    c.run("build -n 10 -o locked/f.bloom", code=2,
          stderr="bloomery: build: locked/f.bloom: directory locked is not writable\n")
    c.run("build -n 10 -o link", code=2, stderr=has("bloomery: build: link: directory ",
                                                    "/locked is not writable\n"))


@case
def missing_input_or_directory_builds_nothing(c):
    set_up(c)
    os.mkdir(c.path("folder"))
    for options in ("", "-n 10k"):
        c.run(f"build {options} -o f.bloom missing keys", code=2,
              stderr="bloomery: build: missing: No such file or directory\n")
        c.run(f"build {options} -o f.bloom keys folder", code=2,
              stderr="bloomery: build: folder: is a directory, not a file of keys\n")
    c.expect("f.bloom" not in c.names(), "a failed build left its file")


def shown_by_builds(c, pause, terminals):
    """What builds show whose input comes in four parts with pauses before each: one on a terminal of each type,
    or with a pipe where the type is None. All run at once."""
    builds = []
    for number, terminal in enumerate(terminals):
        leader, follower = open_terminal()
        process = c.start(f"build -n 10k -o f{number}.bloom", stderr=follower if terminal else subprocess.PIPE,
                          env={**os.environ, "TERM": terminal or "xterm"})
        os.close(follower)
        builds.append((process, leader, terminal))
    for _ in range(4):
        time.sleep(pause)  # no shorter: a line is drawn as time passes
        for process, _, _ in builds:
            process.stdin.write(b"a\nb\n" * 1000)
            process.stdin.flush()
    shown = []
    for process, leader, terminal in builds:
        process.stdin.close()
        c.expect(process.wait() == 0, f"exit code {process.returncode}")
        shown.append(everything_from(leader) if terminal else process.stderr.read())
        os.close(leader)
    return shown


@case
def progress_is_on_a_terminal_only_and_after_half_a_second(c):
    for pause in (0.25, 1, 3):  # a program that takes long to begin finds all of its input there
        shown, dumb, piped = shown_by_builds(c, pause, ("xterm", "dumb", None))
        if b"\rbuilding: " in shown:
            break
    c.expect(b"\rbuilding: " in shown, f"no progress on a terminal: {shown}")
    c.expect(b"\r\x1b[Kwrote f0.bloom: 8,000 records" in shown, f"the line was not wiped: {shown}")
    c.expect(dumb.startswith(b"wrote f1.bloom"), f"progress on a dumb terminal: {dumb}")
    c.expect(piped.startswith(b"wrote f2.bloom"), f"progress in a pipe: {piped}")
    shown, = shown_by_builds(c, 0, ("xterm",))
    c.expect(shown.startswith(b"wrote f0.bloom"), f"progress of a short job: {shown}")


def shown_while_reading(c, options):
    """What a build shows on a terminal whose reading takes 0.9 s: a lease on the input makes its
    opening wait. Then the reading goes on and so does the build."""
    leader, follower = open_terminal()
    ignored = signal.signal(signal.SIGIO, signal.SIG_IGN)  # somebody wants to open the file: we know
    file = os.open(c.path("keys"), os.O_RDWR)
    try:
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError as why:
            raise Skip("this file system has no leases") from why
        process = c.start(f"build {options} -o f.bloom keys", stderr=follower,
                          env={**os.environ, "TERM": "xterm"})
        time.sleep(0.9)  # no shorter: a line is drawn after half a second
        c.expect(process.poll() is None, "the build did not wait for the lease")
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        c.expect(process.wait(timeout=60) == 0, f"exit code {process.returncode}")
        os.close(follower)
        return everything_from(leader)
    finally:
        os.close(file)
        os.close(leader)
        signal.signal(signal.SIGIO, ignored)


@case
def reading_shows_progress_unless_quiet(c):
    set_up(c)
    shown = shown_while_reading(c, "")
    c.expect(b"\rreading: " in shown, f"no progress while reading: {shown}")
    shown = shown_while_reading(c, "-q")
    c.expect(shown == b"", f"-q was not quiet: {shown}")


# ---- Secret keys -------------------------------------------------------------------------------------

@case
@keyed
def keyed_filters_differ_each_time_and_carry_their_key(c):
    set_up(c)
    c.run("build -q --keyed -o f.bloom keys")
    c.run("build -q --keyed -o g.bloom keys")
    c.expect(c.read("f.bloom") != c.read("g.bloom"), "two random keys made the same filter")
    c.run("query -c f.bloom keys", stdout="10000\n")
    c.run("query -c f.bloom", stdin="absent\n", stdout="0\n", code=1)
    c.run("add -q f.bloom", stdin="absent\n")
    c.run("query f.bloom", stdin="absent\n", stdout="absent\n")


@case
@keyed
def key_file_is_made_secret_and_used_again(c):
    set_up(c)
    c.run("build -q --secret-file k -o f.bloom keys")
    key = c.read("k")
    c.expect(len(key) == 33 and bytes.fromhex(key.decode()) and key.endswith(b"\n"), f"{key}")
    c.expect(stat.S_IMODE(os.stat(c.path("k")).st_mode) == 0o600, "others can read the key")
    c.expect(bytes.fromhex(key.decode()) not in c.read("f.bloom"), "the key is in the filter")
    c.run("build -q --keyed --secret-file k -o g.bloom keys")
    c.expect(c.read("k") == key, "the key file was changed")
    c.expect(c.read("f.bloom") == c.read("g.bloom"), "the same key made another filter")
    c.run("query -c --secret-file k f.bloom keys", stdout="10000\n")
    c.run("query -c --secret-file k f.bloom", stdin="absent\n", stdout="0\n", code=1)


@case
@keyed
def key_file_and_filter_are_two_files(c):
    """The filter would replace the key that it needs."""
    os.mkdir(c.path("folder"))
    os.symlink("folder", c.path("other"))
    same = has("-o and --secret-file name the same file")
    whole = c.path("s.bloom")
    for key, output in (("s.bloom", "s.bloom"), ("./s.bloom", "s.bloom"), (whole, "s.bloom"),
                        ("folder/s.bloom", "other/s.bloom"), ("folder/../s.bloom", "s.bloom")):
        for force in ("", "--force"):
            c.run(f"build -n 2 {force} --secret-file {key} -o {output}", stdin="a\n", code=2, stderr=same)
            c.expect(c.names() == ["folder", "other"] and not os.listdir(c.path("folder")), f"{key}")
    c.run("build -q -n 2 --secret-file folder/s -o s", stdin="a\n")  # the same name elsewhere
    key = c.read("folder/s")
    os.link(c.path("folder/s"), c.path("hard"))
    c.run("build -n 2 --force --secret-file folder/s -o hard", stdin="a\n", code=2, stderr=same)
    os.symlink("new", c.path("nowhere"))  # leads to the key file as soon as that is there
    c.run("build -n 2 --force --secret-file new -o nowhere", stdin="a\n", code=2, stderr=same)
    c.expect("new" not in c.names() and c.read("folder/s") == key, "a key was overwritten")
    c.run("build -n 2 -q --secret-file - -o -", stdin="a\n", stdout=None)  # one is stdout, one a file


@case
def key_file_that_can_not_be_written_says_why(c):
    def tiny_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

    c.run("build -n 2 --secret-file k -o f.bloom", stdin="a\n", code=2, preexec_fn=tiny_files,
          stderr="bloomery: build: k: making the secret file: File too large\n")
    c.expect(not c.names(), f"litter: {c.names()}")


@case
@keyed
def a_failed_build_leaves_no_new_secret_file(c):
    c.file("keys", "a\nb\n")
    for options in ("", "-n 10", "--kind static", "--kind scalable"):
        c.run(f"build -q {options} --secret-file k -o f.bloom missing", code=2, stderr=has("missing"))
        c.expect(c.names() == ["keys"], f"'{options}': {c.names()}")
        c.run(f"build -q {options} --secret-file k -o f.bloom keys")
        secret = c.read("k")
        c.run(f"build -q {options} --secret-file k -o g.bloom missing", code=2, stderr=has("missing"))
        c.expect(c.read("k") == secret and "g.bloom" not in c.names(), "a secret that was there is gone")
        c.run("query -c --secret-file k f.bloom keys", stdout="2\n")
        os.remove(c.path("k"))
        os.remove(c.path("f.bloom"))


@case
@keyed
def a_secret_that_another_build_has_read_stays(c):
    c.file("keys", "a\nb\n")
    process = c.start("build -q --secret-file k -n 10 -o f.bloom - missing")
    wait_for_secret(c)
    c.run("build -q --secret-file k -o g.bloom keys")
    process.communicate(b"x\n", timeout=60)
    c.expect(process.returncode == 2, f"{process.returncode}")
    c.expect(sorted(c.names()) == ["g.bloom", "k", "keys"], f"{c.names()}")
    c.run("query -c --secret-file k g.bloom keys", stdout="2\n")


def memory_of(process):
    """The writable memory of a process: (name of the area, bytes)."""
    areas = []
    try:
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps, \
                open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
            for line in maps:
                words = line.split()
                begin, end = (int(word, 16) for word in words[0].split("-"))
                if "w" in words[1] and "r" in words[1] and end - begin < 1 << 28:
                    memory.seek(begin)
                    try:
                        areas.append((words[-1], memory.read(end - begin)))
                    except OSError:
                        pass
    except PermissionError as why:
        raise Skip("the memory of another process can't be read here") from why
    return areas


@case
@keyed
def secret_key_is_wiped_where_the_command_held_it(c):
    """Only the filter needs it after it is made; it has its copy on the heap. Symbols are bound before:
    a linker that binds them at their first call saves the registers on the stack, with what is there."""
    bound = {**os.environ, "LD_BIND_NOW": "1"}
    for made_now, size in ((True, "-n 10"), (False, "-n 10"), (False, "")):
        process = c.start(f"build -q {size} --secret-file k -o f.bloom", env=bound)
        # It reads when the filter has been made, or what hashes for it. No record is whole yet:
        # hashing one would bring the key back for a moment.
        process.stdin.write(b"a")
        process.stdin.flush()
        c.wait_until_read(process)
        digits = c.read("k").strip()
        areas = memory_of(process)
        process.communicate(timeout=60)
        c.expect(process.returncode == 0 and len(digits) == 32, f"{process.returncode}")
        key = bytes.fromhex(digits.decode())
        c.expect(any(key in area for _, area in areas), "the key is not even in the filter")
        c.expect(not any(digits in area for _, area in areas), f"the digits are left, {made_now}")
        c.expect(not any(key in area for name, area in areas if name == "[stack]"),
                 f"the key is left on the stack, {made_now}")


@case
@keyed
def keyed_filter_needs_its_own_key(c):
    set_up(c)
    c.run("build -q --secret-file k -o f.bloom keys")
    c.run("build -q --secret-file other -o g.bloom keys")
    c.run("query f.bloom keys", code=2, stderr=has("f.bloom", "--secret-file FILE gives the secret"))
    c.run("add f.bloom keys", code=2, stderr=has("f.bloom", "--secret-file FILE gives the secret"))
    c.run("query --secret-file other f.bloom keys", code=2, stderr=has("bloomery: query: f.bloom: "))
    before = c.read("f.bloom")
    c.run("add --secret-file other f.bloom keys", code=2, stderr=has("bloomery: add: f.bloom: "))
    c.expect(c.read("f.bloom") == before, "a refused add changed the filter")
    c.run("add -q --secret-file k f.bloom", stdin="more\n")
    c.run("query --secret-file k f.bloom", stdin="more\n", stdout="more\n")


@case
@keyed
def bad_key_files_are_refused(c):
    set_up(c)
    digits = "00112233445566778899aabbccddeeff"
    for content in ("", digits[:-1], digits + "0", digits[:-1] + "g", digits + "\n" + digits,
                    bytes(16), "\x00" + digits):
        c.file("k", content)
        c.run("build --secret-file k -o f.bloom keys", code=2, stderr=has("k: not a secret file"))
    for content in (digits, digits.upper(), f" \n{digits}\r\n"):
        c.file("k", content)
        c.run("build -q --secret-file k -o f.bloom keys")
        c.run("query -c --secret-file k f.bloom keys", stdout="10000\n")
    os.mkdir(c.path("folder"))
    c.run("build --secret-file folder -o g.bloom keys", code=2, stderr=has("folder"))
    c.run("query --secret-file none f.bloom keys", code=2, stderr=has("none: No such file"))
    c.run("build --keyed --seed 3 -o g.bloom keys", code=2, stderr=has("--seed and --keyed"))


@case
def unreadable_input_is_named(c):
    set_up(c)
    if os.geteuid() == 0:
        raise Skip("root can read everything")
    os.chmod(c.path("keys"), 0)
    c.run("build -o f.bloom keys", code=2, stderr=has("keys: Permission denied"))


@case
def note_that_is_too_long_is_refused(c):
    set_up(c)
    c.run(["build", "--note", "x" * 4001, "-o", "f.bloom", "keys"], code=2, stderr=has("4000"))
    c.run(["build", "-q", "--note", "n\u00f6te", "-o", "f.bloom", "keys"])
    c.expect("n\u00f6te".encode() in c.read("f.bloom"), "the note is not in the file")


@case
def keyed_filter_without_libsodium_is_refused(c):
    if "BLOOMERY_TEST_NO_SODIUM" not in os.environ:
        raise Skip("this build has keyed filters")
    c.run("build -n 10 --keyed -o f.bloom", stdin="a\n", code=2, stderr=has("made without libsodium"))
    c.expect(c.names() == [], f"it left {c.names()}")


main()
