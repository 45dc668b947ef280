# SPDX-License-Identifier: Apache-2.0
"""sieve: each key comes out once, what was not delivered is not done, and a crash loses no more than it may."""

import json
import os
import random
import resource
import signal
import subprocess
import time

from runner import case, has, main
from sieves import DISK, holding, pop_all, push, status, wait_for_commit

# Ways to make one, small ones too: partitions are decided often then.
ENGINES = ("--engine memory", DISK, "--engine disk --partitions 16 --ordered", "--engine disk --fingerprint-bits 48 --partitions 1")


def links(count, different, seed=1):
    """`count` links to `different` pages, in any order."""
    chance = random.Random(seed)
    return [f"http://example.org/{chance.randrange(different)}" for _ in range(count)]


def first_of_each(lines):
    """The first occurrences, in order."""
    return list(dict.fromkeys(lines))


# ---- Once, and in order --------------------------------------------------------------------------------


@case
def each_key_comes_out_once_in_the_order_of_first_pushes(c):
    lines = links(20000, 3000)
    for number, engine in enumerate(ENGINES):
        sieve = f"s{number}"
        for begin in range(0, len(lines), 7000):
            push(c, f"{engine} {sieve}", "\n".join(lines[begin:begin + 7000]) + "\n")
        c.expect(pop_all(c, sieve) == first_of_each(lines), f"{engine}: other keys, or in another order")
        c.run(f"sieve pop {sieve}", code=1)
        push(c, sieve, "\n".join(lines))
        c.run(f"sieve pop --done {sieve}", code=1)


@case
def partitions_keep_the_order_within_each(c):
    lines = links(5000, 4000)
    push(c, "--partitions 16 s", "\n".join(lines))
    popped = pop_all(c, "s")
    c.expect(sorted(popped) == sorted(set(lines)), "the set of keys is another")
    c.expect(popped != first_of_each(lines), "16 partitions and one order: is that so?")


@case
def new_ones_are_printed_once(c):
    lines = links(3000, 1000)
    for number, engine in enumerate(ENGINES):
        sieve, told = f"s{number}", []
        push(c, f"{engine} {sieve}", "\n".join(lines[:500]))  # of these the disk engine has not decided all
        known = set(lines[:500])
        for begin in range(500, 3000, 1000):
            out, _ = c.run(f"sieve push -q --print {sieve}", stdin="\n".join(lines[begin:begin + 1000]), stdout=None)
            told += out.decode().splitlines()
        c.expect(told == [line for line in first_of_each(lines) if line not in known], f"{engine}: other lines are new")
        c.expect(pop_all(c, sieve) == first_of_each(lines), f"{engine}: what is printed stays in the queue")


@case
def memory_engine_tells_new_ones_at_once(c):
    process = c.start("sieve push --print --engine memory s")
    for line in (b"one\n", b"two\n"):
        process.stdin.write(line)
        process.stdin.flush()
        c.expect(process.stdout.readline() == line, "a new line has to be printed before the next is read")
    process.stdin.close()
    c.expect(process.wait() == 0, "exit code")


@case
def lineage_warns_once_and_goes_on(c):
    _, told = c.run("sieve push --preset lineage -n 1000 s", stdin="".join(f"http://a/{i}\n" for i in range(3000)), stderr=None)
    c.expect(told.decode().count("past its capacity of 1,000 keys") + told.decode().count("past its capacity of 1000 keys") == 1, told)
    facts = status(c, "s")
    c.expect(facts["capacity"] == 1000 and facts["over_capacity"] and 2000 < facts["new"] < 3000, facts)
    _, told = c.run("sieve push s", stdin="http://a/x\n", stderr=None)
    c.expect(b"past its capacity" not in told, "warned again")


@case
def forced_keys_come_out_again(c):
    for number, engine in enumerate(ENGINES[:3]):
        sieve = f"s{number}"
        push(c, f"{engine} {sieve}", "a\nb\n")
        c.expect(pop_all(c, sieve) == ["a", "b"], "first")
        push(c, f"--requeue {sieve}", "b\n")
        push(c, sieve, "a\nb\nc\n")
        c.expect(pop_all(c, sieve) == ["b", "c"], f"{engine}: forced")
        c.expect(status(c, sieve)["forced"] == 1, "counted")


@case
def marked_keys_are_seen_and_not_queued(c):
    for number, engine in enumerate(ENGINES[:3]):
        sieve = f"s{number}"
        c.run(f"sieve mark {engine} {sieve}", stdin="a\nb\n", stderr="mark: marked 2 lines\n")
        push(c, sieve, "b\nc\na\n")
        c.expect(pop_all(c, sieve) == ["c"], f"{engine}: what was marked came out")


# ---- Leases ------------------------------------------------------------------------------------------------


@case
def popped_keys_come_again_unless_acknowledged(c):
    push(c, f"{DISK} s", "a\nb\nc\n")
    c.run("sieve pop -n 2 s", stdout="1\ta\n2\tb\n")
    c.run("sieve pop -n 9 s", stdout="3\tc\n")
    c.run("sieve pop s", code=1)
    c.run("sieve ack s 2", stderr="ack: 1 key done; 0 not leased\n")
    c.run("sieve ack s 2 77", code=1, stderr="ack: 0 keys done; 2 not leased\n")
    c.run("sieve ack -q --return s 1", stderr="")
    c.run("sieve pop -n 9 s", stdout="1\ta\n")
    report = status(c, "s")
    c.expect((report["queued"], report["leased"], report["done"]) == (0, 2, 1), f"{report}")


@case
def leases_end_with_their_time(c):
    push(c, f"{DISK} s", "a\nb\n")
    c.run("sieve pop --lease 0.2 s", stdout="1\ta\n")
    time.sleep(0.3)  # not shorter: so the lease has ended
    out, _ = c.run("sieve pop -n 2 --json s", stdout=None)
    items = json.loads(out)["items"]
    c.expect(items == [{"number": 1, "key": "a", "again": True, "deliveries": 2},
                       {"number": 2, "key": "b", "again": False, "deliveries": 1}], f"{items}")


@case
def lines_of_pop_are_taken_by_ack(c):
    push(c, f"{DISK} s", "\n".join(f"key\t{i}" for i in range(1000)))
    out, _ = c.run("sieve pop -n 600 s", stdout=None)
    c.run("sieve ack --json s", stdin=out, stdout=has('"ended": 600', '"not_leased": 0'))
    c.run("sieve ack s", stdin="601\nkey 7\n", code=2, stderr=has("'key 7' does not begin with a number", "nothing was changed"))
    c.run("sieve ack s 601 x", code=2, stderr=has("'x' is not a number"))
    # In a pipe both are started at once: ack opens the sieve when pop is done with it.
    popping = c.start("sieve pop -n 400 s", stdin=subprocess.DEVNULL)
    acking = c.start("sieve ack s", stdin=popping.stdout)
    _, said = acking.communicate(timeout=60)
    c.expect(acking.returncode == 0 and said == b"ack: 400 keys done; 0 not leased\n", f"{said!r}")
    report = status(c, "s")
    c.expect((report["queued"], report["leased"], report["done"]) == (0, 0, 1000), f"{report}")


@case
def a_crawl_is_a_loop_of_pop_and_push(c):
    push(c, f"{DISK} s", "1\n")
    visited = []
    while True:
        popping = c.start("sieve pop -n 10 --done s", stdin=subprocess.DEVNULL)
        finding = c.spawn(["awk", "{ print > \"/dev/stderr\"; if ($1 < 200) { print 2 * $1; print 2 * $1 + 1; print 1 } }"], stdin=popping.stdout,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pushing = c.start("sieve push -q s", stdin=finding.stdout)
        pushing.communicate(timeout=60)
        c.expect(pushing.returncode == 0, "push")
        visited += finding.communicate(timeout=60)[1].split()
        if popping.wait(timeout=60) == 1:
            break
    c.expect(sorted(visited, key=int) == [str(i).encode() for i in range(1, 400)], "each page once")


@case
def no_more_than_the_leases_are_popped(c):
    push(c, f"{DISK} --leases 3 s", "a\nb\nc\nd\n")
    c.run("sieve pop -n 9 s", stdout="1\ta\n2\tb\n3\tc\n", stderr=has("all leases are in use"))
    c.run("sieve pop -n 9 s", code=2, stderr=has("bloomery: sieve pop: "))
    c.run("sieve ack -q s 1 2 3")
    c.run("sieve pop -n 9 --done s", stdout="d\n")


# ---- What was not delivered ---------------------------------------------------------------------------------


@case
def what_could_not_be_written_is_not_acknowledged(c):
    lines = [f"key {i}" for i in range(30000)]
    push(c, f"{DISK} s", "\n".join(lines))
    with open("/dev/full", "wb") as full:
        for more in ("--done", "", "--json"):
            c.run(f"sieve pop -n 9 {more} s", stdout_file=full, code=2, stderr=has("writing to stdout: No space left on device"))
    report = status(c, "s")
    c.expect((report["queued"] + report["leased"], report["done"]) == (30000, 0), f"{report}")
    c.run("sieve pop --done s", stdout="key 0\n")
    # A reader that goes away after its first line: what it can't have read comes again.
    process = c.start("sieve pop -n 1e9 --done s", stdin=subprocess.DEVNULL)
    c.expect(process.stdout.readline() == b"key 1\n", "the next one")
    process.stdout.close()
    c.expect(process.wait(timeout=60) == -signal.SIGPIPE and process.stderr.read() == b"", "it ends quietly")
    left = pop_all(c, "s")
    c.expect(len(left) > 10000 and left == lines[-len(left):], f"{len(left)} left, from {left[:1]} on")


@case
def pushes_stay_though_they_can_not_be_printed(c):
    with open("/dev/full", "wb") as full:
        for number, engine in enumerate(ENGINES[:2]):
            c.run(f"sieve push -q --print {engine} s{number}", stdin="a\nb\n", stdout_file=full, code=2,
                  stderr=has("writing to stdout: No space left on device"))
            c.expect(pop_all(c, f"s{number}") == ["a", "b"], "they are in the queue")


def small_files(most):
    """For the command's process: no file of it becomes longer, as on a disk that is full."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    return limit


@case
def a_failed_write_is_reported_once(c):
    text = "\n".join(f"key {i} {'x' * 90}" for i in range(40000))
    for number, engine in enumerate(ENGINES):
        sieve = f"s{number}"
        push(c, f"{engine} {sieve}", "first\nsecond")
        for line, stdin in ((f"sieve push {sieve}", text), (f"sieve push -q {sieve}", "third"), (f"sieve push --print {sieve}", text),
                            (f"sieve mark -q {sieve}", "fourth"), (f"sieve flush {sieve}", ""), (f"sieve ack {sieve} 1", "")):
            said = c.run(line, stdin=stdin, stdout=None, stderr=None, code=None, preexec_fn=small_files(2000))[1].decode()
            times = said.count("File too large")
            c.expect(times == 1 or (times == 0 and stdin != text), f"{line}: {said}")
        c.run(f"sieve verify {sieve}", stdout=None, stderr=None)


@case
def pushes_that_are_lost_are_not_reported_as_pushed(c):
    lines = [f"key {i} {'x' * 90}" for i in range(40000)]
    for number, engine in enumerate(ENGINES):
        sieve = f"s{number}"
        push(c, f"{engine} {sieve}", "first")
        for sync in ("", "--sync always"):
            for most in (2000, 100_000, 200_000):
                before = status(c, sieve)["durable"]
                said = c.run(f"sieve push {sync} {sieve}", stdin="\n".join(lines), stderr=None, code=2, preexec_fn=small_files(most))[1].decode()
                durable = status(c, sieve)["durable"] - before
                words = f"of which only the first {durable:,} " if durable > 0 else "but none of them is durable: push the input again"
                c.expect(words in said and said.count("push: pushed ") == 1 and "decided" not in said, f"{engine} {sync} {most}: {durable} are durable: {said}")
                report = json.loads(c.run(f"sieve push {sync} --json {sieve}", stdin="\n".join(lines), stdout=None, stderr=None, code=2,
                                          preexec_fn=small_files(most))[0])
                now = status(c, sieve)["durable"] - before - durable
                c.expect(report["durable"] == now < report["pushed"] and not report["complete"], f"{report}, {now}")
        # As it says: nothing is lost that was durable, and the same input again makes up for the rest.
        report = json.loads(c.run(f"sieve push --json {sieve}", stdin="\n".join(lines), stdout=None)[0])
        c.expect(report["durable"] == report["pushed"] == 40000 and report["complete"], f"{report}")
        c.expect(sorted(pop_all(c, sieve)) == sorted(["first"] + lines), "each once")


# ---- Crashes and signals ----------------------------------------------------------------------------------


@case
def killed_in_the_middle_nothing_comes_twice_or_never(c):
    lines = links(200000, 60000)
    c.file("links", "\n".join(lines))
    chance = random.Random(3)
    for number, engine in enumerate(("--engine memory", DISK)):
        popped = []
        for _ in range(4):
            process = c.start(f"sieve push --sync 0.02 {engine} s{number} links", stdin=subprocess.DEVNULL)
            time.sleep(chance.random() * 0.3)  # any moment will do
            process.kill()
            process.wait()
            if os.path.exists(c.path(f"s{number}/MANIFEST")):
                process = c.start(f"sieve pop -n 1000 --done s{number}", stdin=subprocess.DEVNULL)
                popped += process.communicate(timeout=60)[0].decode().splitlines()
                c.expect(process.returncode in (0, 1), "what a kill leaves can be opened")
        push(c, f"{engine} s{number} links", "")
        popped += pop_all(c, f"s{number}")
        c.expect(popped == first_of_each(lines), f"{engine}: {len(popped)} keys came out, {len(set(popped))} different ones")


@case
def signal_ends_the_input_and_keeps_what_came_before(c):
    for number, engine in enumerate(ENGINES[:2]):
        process = holding(c, f"sieve push {engine} s{number}", b"a\nb\nc")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        c.expect(process.returncode == -signal.SIGINT, f"it ends by the signal, not with {process.returncode}")
        c.expect(b"SIGINT ended the input; " in said and b"pushed 2 lines" in said, f"{said!r}")
        c.expect(pop_all(c, f"s{number}") == ["a", "b"], "the half line is not a key")


@case
def a_silent_input_is_committed_too(c):
    process = holding(c, f"sieve push {DISK} --sync 0.1 s", b"a\nb\n")
    wait_for_commit(c, "s", 2)
    process.kill()
    process.wait()
    c.expect(pop_all(c, "s") == ["a", "b"], "a commit comes when no input does")


@case
def a_second_process_is_refused(c):
    process = holding(c, f"sieve push {DISK} s", b"a\n")
    for line in ("push", "pop", "ack", "flush", "verify", "recover"):
        c.run(f"sieve {line} --wait 0 s", code=2, stderr=has(f"bloomery: sieve {line}: s: another process is using it"))
    waiting = c.start("sieve pop --done s", stdin=subprocess.DEVNULL)
    process.communicate()
    c.expect(waiting.communicate(timeout=60)[0] == b"a\n", "it waits until the first is done")


main()
