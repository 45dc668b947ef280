# SPDX-License-Identifier: Apache-2.0
"""sieve pop: a printed number stays that of its key whatever happens then, and pop says what is delivered again."""

import json
import os
import resource
import shutil
import subprocess

from runner import Skip, case, has, main
from sieves import status

ENGINES = ("--engine disk --partitions 1", "--engine memory", "--engine disk --partitions 4 --ordered")
# Where the disk is full: files can't become longer, nor be written to at all. Pipes can.
FULL_DISK = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)), "restore_signals": False}


def push(c, line, lines):
    """Pushes lines and decides them, quietly."""
    c.run(f"sieve push -q {line}", stdin="".join(line + "\n" for line in lines))
    c.run(f"sieve flush -q {line.split()[-1]}")


def whole_lines(text):
    """What reached stdout, but for a last line that was cut off."""
    return text.split(b"\n")[:-1]


def expect_leased(c, sieve, lines):
    """Each of these lines of pop has a number that is leased, and that of its key."""
    numbers = b"".join(line.split(b"\t")[0] + b"\n" for line in lines)
    # After a power cut it may say that one of the copies of MANIFEST was torn.
    c.run(f"sieve ack -q --return {sieve}", stdin=numbers, stderr=None)
    if lines:
        c.run(f"sieve pop -n {len(lines)} {sieve}", stdout=b"".join(line + b"\n" for line in lines))


# ---- Kills -----------------------------------------------------------------------------------------------


@case
def printed_numbers_outlive_a_kill(c):
    """It is killed while it waits for its reader: what was read before, and what is in the pipe, was printed."""
    for number, engine in enumerate(ENGINES):
        sieve = f"s{number}"
        push(c, f"{engine} --leases 60000 {sieve}", [f"http://example.org/a/longer/path/{i}" for i in range(40000)])
        came = set()
        for first in (1, 500, 5000, 70000, 150000):
            process = c.start(f"sieve pop -n 100000 {sieve}", stdin=subprocess.DEVNULL, bufsize=0)
            text = b""
            while len(text) < first:
                piece = process.stdout.read(first - len(text))
                c.expect(piece, "it ended before it was killed")
                text += piece
            process.kill()
            text += process.stdout.read()
            process.wait()
            lines = whole_lines(text)
            c.expect(lines and not came.intersection(lines), f"{engine}: {len(lines)} lines, some of them again")
            expect_leased(c, sieve, lines)
            c.run(f"sieve ack -q {sieve}", stdin=b"\n".join(lines))
            came.update(lines)
        report = status(c, sieve)
        c.expect(report["done"] == len(came) and report["queued"] + report["leased"] == 40000 - len(came), f"{report}")


def library_of_faults():
    """What stands between a command and the disk."""
    library = os.environ.get("BLOOMERY_FAULTY_IO")
    if not library or os.environ.get("BLOOMERY_EMULATOR"):
        raise Skip("no library of faults")
    return library


def after_power_cut(c, line, at):
    """Runs the command on a copy of the sieve, and cuts the power before call `at`: (was it cut, what it printed)."""
    library = library_of_faults()
    for name in ("root", "shadow"):
        shutil.rmtree(c.path(name), ignore_errors=True)
        os.mkdir(c.path(name))
    shutil.copytree(c.path("s"), c.path("root/s"))
    environment = {**os.environ, "LD_PRELOAD": library, "FAULTY_IO_ROOT": c.path("root"), "FAULTY_IO_SHADOW": c.path("shadow"),
                   "FAULTY_IO_MODE": "crash", "FAULTY_IO_AT": str(at), "FAULTY_IO_SEED": str(at),
                   "FAULTY_IO_CALLS": "open,write,sync,truncate,unlink,rename"}
    done = subprocess.run(c.arguments(line), cwd=c.directory, capture_output=True, env=environment, timeout=60, check=False)
    c.expect(done.returncode in (0, 137), f"call {at}: {done.returncode}, {done.stderr!r}")
    return done.returncode == 137, done.stdout


@case
def printed_numbers_outlive_power_cuts(c):
    for engine in ENGINES:
        shutil.rmtree(c.path("s"), ignore_errors=True)
        # Of keys so long some 60 come at a time: something is printed before the next ones are leased.
        push(c, f"{engine} s", [f"a{i}" for i in range(20)])
        c.run("sieve push -q s", stdin="".join(f"b{i:01000d}\n" for i in range(170)))
        printed = at = 0
        cut = True
        while cut:
            at += 1
            cut, text = after_power_cut(c, "sieve pop -n 130 root/s", at)
            expect_leased(c, "root/s", whole_lines(text))
            printed += cut and len(whole_lines(text)) > 0
        c.expect(printed > 0, f"{engine}: {at} calls, {printed} of them after something was printed")


@case
def what_is_printed_as_done_may_come_again_and_is_never_lost(c):
    push(c, f"{ENGINES[0]} s", [f"a{i}" for i in range(20)])
    c.run("sieve push -q s", stdin="".join(f"b{i}\n" for i in range(300)))
    expected = sorted([f"a{i}".encode() for i in range(20)] + [f"b{i}".encode() for i in range(300)])
    at, cut = 0, True
    while cut:
        at += 1
        cut, text = after_power_cut(c, "sieve pop -n 200 --done root/s", at)
        printed = whole_lines(text)
        c.expect(cut or len(printed) == 200, "all of them")
        rest = whole_lines(c.run("sieve pop -n 1000 --done root/s", stdout=None)[0])
        c.expect(sorted(set(printed + rest)) == expected and len(set(rest)) == len(rest), f"call {at}")
        c.expect(cut or len(rest) == 120, f"{len(rest)} came again after it ended well")


# ---- A full disk -----------------------------------------------------------------------------------------


@case
def lines_that_will_come_again_are_counted(c):
    push(c, f"{ENGINES[0]} s", ["a", "b", "c"])
    c.run("sieve pop -n 2 --done s", stdout="a\nb\n", code=2, **FULL_DISK,
          stderr=has("MANIFEST", "s: 2 lines will be redelivered: printed, but not saved as done\n"))
    c.run("sieve pop --done --json s", stdout=has('"key": "a"'), code=2, stderr=has("s: 1 line will be redelivered"), **FULL_DISK)
    c.run("sieve pop -n 9 --done s", stdout="a\nb\nc\n")


@case
def lines_that_were_written_whole_are_done(c):
    """A file on a full disk takes a part of what is printed: what it took does not come again, the rest does."""
    lines = [f"{i:0300d}" for i in range(400)]
    for number, more in enumerate(("--done", "")):
        sieve = f"s{number}"
        push(c, f"{ENGINES[0]} --leases 300 {sieve}", lines)  # its MANIFEST is shorter than the limit
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (70000, 70000)), "restore_signals": False}
        with open(c.path("written"), "wb") as file:
            c.run(f"sieve pop -n 300 {more} {sieve}", stdout_file=file, code=2, stderr=has("writing to stdout: File too large"), **limit)
        written = whole_lines(c.read("written"))
        c.expect(len(c.read("written")) == 70000 and len(written) > 200, f"{len(written)} lines")
        report = status(c, sieve)
        held = report["done"] if more else report["done"] + len(written)
        c.expect(held == len(written) and report["queued"] + report["leased"] + report["done"] == 400, f"{report}")
        if not more:
            c.run(f"sieve ack -q {sieve}", stdin=b"\n".join(written))
        rest = whole_lines(c.run(f"sieve pop -n 1000 --done {sieve}", stdout=None)[0])
        c.expect([line.split(b"\t")[-1] for line in written] + rest == [line.encode() for line in lines], f"{len(written)} + {len(rest)}")


@case
def nothing_is_printed_whose_lease_is_not_saved(c):
    push(c, f"{ENGINES[0]} s", ["a", "b", "c"])
    c.run("sieve pop -n 2 s", code=2, stderr=has("MANIFEST", "2 keys not printed, since their leases could not be saved"), **FULL_DISK)
    report = status(c, "s")
    c.expect((report["queued"], report["leased"]) == (3, 0), f"{report}")
    c.run("sieve pop -n 9 s", stdout="1\ta\n2\tb\n3\tc\n")


@case
def what_was_printed_before_the_disk_was_full_can_be_worked_at(c):
    """The keys are leased and whole: no error takes them from the worker, whose acknowledgements make room."""
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (70000, 70000)), "restore_signals": False}
    push(c, f"{ENGINES[0]} --leases 300 s", [f"a{i:0300d}" for i in range(200)])
    c.run("sieve push -q s", stdin="".join(f"b{i:0300d}\n" for i in range(100)))
    out, _ = c.run("sieve pop -n 250 s", stdout=None, stderr=has("s: no more keys for now: ", "File too large"), **limit)
    c.expect(len(whole_lines(out)) == 200, f"{len(whole_lines(out))} lines")
    c.run("sieve ack -q s", stdin=out)
    out, _ = c.run("sieve pop -n 250 s", stdout=None, **limit)
    c.expect([line.split(b"\t")[1][:1] for line in whole_lines(out)] == [b"b"] * 100, f"{len(whole_lines(out))} lines")


# ---- Leases of others ------------------------------------------------------------------------------------


@case
def leases_of_dead_workers_are_listed_and_ended(c):
    push(c, f"{ENGINES[0]} --leases 3 s", ["a", "b", "c", "d"])
    c.run("sieve pop -n 2 s", stdout="1\ta\n2\tb\n")
    c.run("sieve pop --lease 2h s", stdout="3\tc\n")
    c.run("sieve pop s", code=2, stderr=has("3 items are leased, which is the most", "export --leased s", "ack --return --all s", "--leases N"))
    c.run("sieve export --leased s", stdout="1\ta\n2\tb\n3\tc\n")
    items = json.loads(c.run("sieve export --leased --json s", stdout=None)[0])["items"]
    c.expect([(item["number"], item["key"], item["deliveries"]) for item in items] == [(1, "a", 1), (2, "b", 1), (3, "c", 1)], f"{items}")
    c.expect(0 < items[0]["seconds_left"] <= 3600 < items[2]["seconds_left"] <= 7200, f"{items}")
    c.run("sieve ack --return --all s", stderr="ack: 3 keys returned\n")
    items = json.loads(c.run("sieve export --leased --json s", stdout=None)[0])["items"]
    c.expect([item["seconds_left"] for item in items] == [0, 0, 0], f"{items}")
    c.run("sieve pop -n 4 s", stdout="1\ta\n2\tb\n3\tc\n", stderr=has("all leases are in use"))
    c.run("sieve pop --leases 9 s", stdout="4\td\n")
    c.expect(status(c, "s")["leases_max"] == 9, "it is kept")
    c.run("sieve pop --leases 3 s", code=2, stderr=has("4 leased items"))
    # What export prints is what ack reads.
    leased, _ = c.run("sieve export --leased s", stdout=None)
    c.run("sieve ack s", stdin=leased, stderr="ack: 4 keys done; 0 not leased\n")
    c.run("sieve export --leased s", stdout="")
    c.run("sieve ack --return --all --json s", stdout=has('"returned": true', '"ended": 0'))


@case
def deliveries_are_counted_and_limited(c):
    push(c, f"{ENGINES[0]} s", ["a", "b"])
    for i in range(3):
        items = json.loads(c.run("sieve pop -n 2 --max-deliveries 3 --json s", stdout=None)[0])["items"]
        c.expect([(item["key"], item["deliveries"], item["again"]) for item in items] == [("a", i + 1, i > 0), ("b", i + 1, i > 0)], f"{items}")
        c.run("sieve ack -q --return --all s")
    c.run("sieve pop -n 2 --max-deliveries=3 s", code=1)
    c.run("sieve export --dead s", stdout="a\nb\n")
    c.run("sieve export --leased s", stdout="")
    items = json.loads(c.run("sieve export --dead --json s", stdout=None)[0])["items"]
    c.expect(items == [{"number": 1, "key": "a"}, {"number": 2, "key": "b"}], f"{items}")
    report = status(c, "s")
    c.expect((report["dead"], report["leased"], report["done"], report["queued"]) == (2, 0, 0, 0), f"{report}")
    c.run("sieve ack --dead --return s", stderr="ack: 2 dead keys queued again\n")
    c.run("sieve pop -n 2 s", stdout="3\ta\n4\tb\n")
    c.run("sieve ack -q --return s 4")
    c.run("sieve pop --max-deliveries 1 s", code=1)
    c.run("sieve ack --dead s", stderr="ack: 1 dead key forgotten\n")
    c.run("sieve export --dead s", stdout="")
    c.run("sieve push -q s", stdin="b\n")
    c.run("sieve pop --queued s", code=1)


@case
def keys_that_reached_nobody_were_not_delivered(c):
    """A reader that goes away too early would lose keys that it has never seen."""
    push(c, f"{ENGINES[0]} s", ["x" * 200000, "y"])
    for _ in range(4):
        with open("/dev/full", "wb") as full:
            c.run("sieve pop -n 2 --max-deliveries 2 s", stdout_file=full, code=2, stderr=has("writing to stdout"))
    items = json.loads(c.run("sieve pop -n 2 --max-deliveries 2 --json s", stdout=None)[0])["items"]
    c.expect([item["deliveries"] for item in items] == [1, 1], "neither was counted")


@case
def leases_are_renewed(c):
    push(c, f"{ENGINES[0]} s", ["a", "b"])
    c.run("sieve pop -n 2 --lease 100 s", stdout="1\ta\n2\tb\n")
    c.run("sieve ack --extend --lease 5h s 2 7", code=1, stderr="ack: 1 key leased for longer; 1 not leased\n")
    items = json.loads(c.run("sieve export --leased --json s", stdout=None)[0])["items"]
    c.expect(items[0]["seconds_left"] <= 100 and 17000 < items[1]["seconds_left"] <= 18000, f"{items}")
    for wrong, word in (("--extend --return s 1", "--extend keeps leases"), ("--all s", "--all goes with --return"), ("--lease 5 s 1", "--lease goes with"),
                        ("--return --all s 1", "--all takes no numbers"), ("--dead s 1", "--dead takes no numbers"), ("--dead --all --return s", "--dead is about"),
                        ("--fail s 1", "its name here is '--return'")):
        c.run(f"sieve ack {wrong}", code=2, stderr=has(word))
    c.run("sieve nack s 1", code=2, stderr=has("its name here is 'ack --return'"))
    c.run("sieve export --leased --dead s", code=2, stderr=has("exclude each other"))
    c.run("sieve export --json s", code=2, stderr=has("--json goes with"))


# ---- What is queued --------------------------------------------------------------------------------------


@case
def only_what_is_queued_comes(c):
    push(c, f"{ENGINES[0]} s", ["a", "b"])
    c.run("sieve push -q s", stdin="c\n")
    c.run("sieve pop -n 9 --queued s", stdout="1\ta\n2\tb\n")
    c.run("sieve pop -n 9 --queued --done s", code=1)
    report = status(c, "s")
    c.expect((report["pending"], report["queued"], report["leased"]) == (1, 0, 2), f"{report}")
    c.run("sieve pop -n 9 s", stdout="3\tc\n")


@case
def lines_are_gathered_and_each_is_printed(c):
    keys = [f"{i:060d}" for i in range(9000)]
    push(c, f"{ENGINES[0]} --leases 10000 s", keys)
    out, _ = c.run("sieve pop -n 8999 s", stdout=None)
    c.expect(whole_lines(out) == [f"{i + 1}\t{key}".encode() for i, key in enumerate(keys[:8999])], "each line once, in order")
    c.run("sieve pop -n 1000 s", stdout=f"9000\t{keys[8999]}\n")
    # Longer than what is gathered, and than the buffer of stdout.
    long = ["x" * 300000, "y", "z" * 1000000]
    push(c, f"{ENGINES[0]} --leases 10000 t", long)
    c.run("sieve pop -n 1000 t", stdout="".join(f"{i + 1}\t{key}\n" for i, key in enumerate(long)))


@case
def many_lines_take_few_commits(c):
    """The tenth sync would fail: 9,000 lines are printed with fewer."""
    push(c, f"{ENGINES[0]} --leases 10000 s", [f"{i:060d}" for i in range(9000)])
    environment = {"LD_PRELOAD": library_of_faults(), "FAULTY_IO_ROOT": c.directory, "FAULTY_IO_MODE": "fail",
                   "FAULTY_IO_CALLS": "sync", "FAULTY_IO_AT": "10"}
    c.run("sieve pop -n 9000 s", stdout=has("9000\t"), environment=environment)
    environment["FAULTY_IO_AT"] = "1"
    c.run("sieve ack -q --return s 1 2", environment=environment, code=2, stderr=has("syncing"))


main()
