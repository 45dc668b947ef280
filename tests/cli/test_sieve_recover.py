# SPDX-License-Identifier: Apache-2.0
"""sieve recover, and what only looks: a damaged sieve is named and works again, and looking changes nothing."""

import hashlib
import json
import os
import struct

from runner import EMULATOR, Skip, case, has, main

DISK = "--engine disk --partitions 2"


def state(c, sieve):
    """Every file below, with its bytes and when it was changed."""
    found = {}
    for folder, _, names in os.walk(c.path(sieve)):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[path] = (hashlib.sha256(file.read()).hexdigest(), os.stat(path).st_mtime_ns)
    return found


def flip(c, name, *offsets):
    data = bytearray(c.read(name))
    for offset in offsets:
        data[offset] ^= 1
    c.file(name, bytes(data))


def copies(c, sieve):
    """Where the copies of MANIFEST begin, those of the last commit first (docs/sieve.md)."""
    data = c.read(f"{sieve}/MANIFEST")
    size, = struct.unpack_from("<Q", data, 16)
    generations = [struct.unpack_from("<Q", data, at + 32)[0] for at in range(0, len(data), size)]
    c.expect(len(generations) == 4, f"{generations}")
    return sorted((at * size for at in range(4)), key=lambda at: -generations[at // size])


def lines(first, end):
    return "".join(f"http://example.org/page/{i}\n" for i in range(first, end))


@case
def one_damaged_copy_undoes_nothing(c):
    for number, engine in enumerate(("--engine memory", DISK)):
        s = f"s{number}"
        c.run(f"sieve push -q {engine} {s}", stdin=lines(0, 10))
        c.run(f"sieve push -q {s}", stdin=lines(10, 5000))
        first = copies(c, s)[0]
        flip(c, f"{s}/MANIFEST", first + 200)
        before = state(c, s)
        c.run(f"sieve verify {s}", code=1, stdout=has(f"{s}/MANIFEST is damaged at {first}: one of the two copies"), stderr=f"{s}: damaged: 1 frame\n")
        c.expect(json.loads(c.run(f"sieve status --json {s}", stdout=None)[0])["pushed"] == 5000, "the newest state")
        c.expect(state(c, s) == before, "looking changes nothing")
        c.run(f"sieve pop -n 9999 --done {s}", stdout=lines(0, 5000) if number == 0 else None, stderr=has("was not whole"))
        c.run(f"sieve verify {s}", stderr=f"{s}: no damage found\n")


@case
def recovery_counts_a_damaged_copy(c):
    c.run(f"sieve push -q {DISK} s", stdin=lines(0, 10))
    first = copies(c, "s")[0]
    flip(c, "s/MANIFEST", first + 200)
    c.run("sieve recover s", stdout=has(f"s/MANIFEST is damaged at {first}: one of the two copies"), stderr=has("s: nothing is lost\n"))
    c.run("sieve recover s", stderr="s: no damage found\n")


@case
def a_damaged_commit_is_named_and_recovered(c):
    for number, engine in enumerate(("--engine memory", DISK)):
        s = f"s{number}"
        c.run(f"sieve push -q {engine} {s}", stdin=lines(0, 10))
        c.run(f"sieve push -q {s}", stdin=lines(10, 5000))
        newest = copies(c, s)[:2]
        flip(c, f"{s}/MANIFEST", newest[0] + 200, newest[1] + 9)
        before = state(c, s)
        refusal = has(f"{s}/MANIFEST is damaged", f"'bloomery sieve recover {s}' goes back to a commit after 10 pushes")
        for command in ("status", "pop", "push", "flush", "export", "contains"):
            c.run(f"sieve {command} {s}", stdin="x\n", code=2, stderr=refusal)
        c.run(f"sieve verify {s}", code=1, stderr=refusal)
        c.expect(state(c, s) == before, "nothing is changed")
        report, _ = c.run(f"sieve recover {s}", code=1, stdout=None, stderr=has("one commit older", f"set aside in {s}/set-aside.1"))
        c.expect(b"MANIFEST" in report, f"{report!r}")
        c.run(f"sieve verify {s}", stderr=f"{s}: no damage found\n")
        c.run(f"sieve recover {s}", stderr=f"{s}: no damage found\n")
        out, _ = c.run(f"sieve pop -n 99 --done {s}", stdout=None)
        c.expect(sorted(out.decode().splitlines(True)) == sorted(lines(0, 10).splitlines(True)), f"{out!r}")
        c.run(f"sieve push -q {s}", stdin=lines(10, 5000))
        out, _ = c.run(f"sieve pop -n 9999 --done {s}", stdout=None)
        c.expect(sorted(out.decode().splitlines()) == sorted(lines(10, 5000).splitlines()), "they come again")
        c.expect(os.path.exists(c.path(f"{s}/set-aside.1/MANIFEST")), "it is still there")


@case
def a_damaged_block_costs_its_items(c):
    c.run(f"sieve push -q {DISK} s", stdin=lines(0, 20000))
    c.run("sieve flush -q s")
    flip(c, "s/queue-000000000001", 64 + 30, 400000)
    c.run("sieve pop s", code=2, stderr=has("s/queue-000000000001 is damaged at 64"))
    found = json.loads(c.run("sieve recover --json s", code=1, stdout=None)[0])
    c.expect(found["damaged"] == 2 and 0 < found["lost_queued"] < 6000 and found["lost_seen"] == 0, f"{found}")
    c.expect(len(os.listdir(c.path(f"s/{found['set_aside']}"))) == 2, "both blocks are set aside")
    out, _ = c.run("sieve pop -n 1e9 --done s", stdout=None)
    came = out.decode().splitlines()
    c.expect(len(came) == len(set(came)) == 20000 - found["lost_queued"], f"{len(came)} came")
    c.run("sieve verify s", stderr="s: no damage found\n")


@case
def recovery_of_another_directory_is_refused(c):
    os.mkdir(c.path("folder"))
    c.run("sieve recover folder", code=2, stderr=has("folder is not a sieve"))
    c.run("sieve recover nosuch", code=2, stderr=has("sieve recover: nosuch: there is no such sieve"))
    c.run("sieve recover", code=2, stderr=has("no sieve: "))
    c.run(f"sieve push -q {DISK} s", stdin=lines(0, 10))
    c.file("s/MANIFEST", bytes(len(c.read("s/MANIFEST"))))
    c.run("sieve recover s", code=2, stderr=has("s/MANIFEST is not that of a sieve"))
    c.expect(sorted(c.names()) == ["folder", "s"], f"{c.names()}")


@case
def looking_changes_nothing(c):
    if EMULATOR or "BLOOMERY_FAULTY_IO" not in os.environ:
        raise Skip("no library of faults")
    for number, engine in enumerate(("--engine memory", DISK)):
        s = f"s{number}"
        c.run(f"sieve push -q {engine} {s}", stdin=lines(0, 100))
        c.run(f"sieve flush -q {s}")
        c.run(f"sieve pop -n 10 {s}", stdout=None)
        c.run(f"sieve push -q {s}", stdin=lines(100, 120))
        # What a crash leaves: bytes that no commit counts.
        with open(c.path(f"{s}/queue-000000000001"), "ab") as file:
            file.write(b"more")
        c.file(f"{s}/seen-000.99", b"more")
        before = state(c, s)
        read_only = {
            "LD_PRELOAD": os.environ["BLOOMERY_FAULTY_IO"], "FAULTY_IO_ROOT": os.path.realpath(c.path(s)), "FAULTY_IO_MODE": "fail",
            "FAULTY_IO_CALLS": "open,write,sync,link,rename,unlink,mkdir,truncate", "FAULTY_IO_AT": "1", "FAULTY_IO_TIMES": "1000000", "FAULTY_IO_ERRNO": "30"}
        line = "http://example.org/page/5"
        c.run(f"sieve status {s}", stdout=has("pushed"), environment=read_only)
        c.run(f"sieve verify {s}", stderr=f"{s}: no damage found\n", environment=read_only)
        c.run(f"sieve contains {s}", stdin=line + "\n", stdout=line + "\n", environment=read_only)
        c.run(f"sieve export {s}", stdout=None, stderr=None, environment=read_only)
        c.run(f"sieve pop {s}", code=2, stderr=has("Read-only file system"), environment=read_only)
        c.expect(state(c, s) == before, "not a byte, not a time")


if __name__ == "__main__":
    main()
