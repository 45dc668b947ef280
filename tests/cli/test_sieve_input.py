# SPDX-License-Identifier: Apache-2.0
"""sieve: what goes in and what is asked for, and what is refused."""

import hashlib
import json
import os
import shutil
import struct
import subprocess

from runner import case, has, main
from sieves import DISK, memory_as_users_see_it, status

KEY_MOST = 1 << 20


# ---- Keys ------------------------------------------------------------------------------------------------


@case
def any_bytes_are_a_key(c):
    keys = [b"", b"\xff\xfe", b"caf\xc3\xa9", b"a\tb", b" ", b"x\r", b"y" * 70000, b"z" * 1000000, b"w" * KEY_MOST]
    for number, engine in enumerate(("--engine memory", DISK, "--ordered")):
        sieve = f"s{number}"
        c.run(f"sieve push -q {engine} {sieve}", stdin=b"\n".join(keys + keys) + b"\n")
        c.run(f"sieve pop -n 99 --done {sieve}", stdout=b"\n".join(keys) + b"\n")
        nulls = [b"a\nb", b"", b"\n"]
        c.run(f"sieve push -q -0 {sieve}", stdin=b"\0".join(nulls) + b"\0")
        out, _ = c.run(f"sieve pop -n 99 -0 {sieve}", stdout=None)
        c.expect([part.partition(b"\t")[2] for part in out.split(b"\0")[:-1]] == [b"a\nb", b"\n"], f"{out!r}")


@case
def json_has_keys_of_any_bytes(c):
    c.run(f"sieve push -q -0 {DISK} s", stdin=b"caf\xc3\xa9 \"\n\0\xff\x00")
    items = json.loads(c.run("sieve pop -n 9 --json s", stdout=None)[0])["items"]
    c.expect(items == [{"number": 1, "key": "caf\u00e9 \"\n", "again": False, "deliveries": 1},
                        {"number": 2, "key_hex": "ff", "again": False, "deliveries": 1}], f"{items}")
    c.expect(json.loads(c.run("sieve pop -n 9 --json s", stdout=None, code=1)[0])["items"] == [], "none")


@case
def lines_that_are_too_long_are_passed_over(c):
    long = b"x" * (KEY_MOST + 1)
    huge = b"y" * 5000000
    for number, text in enumerate((b"a\n" + long + b"\nb\n" + huge + b"\nc\n", huge + b"\na\nb\nc\n" + long, long + b"\na\n" + long + b"\nb\nc")):
        line = (2, 1, 1)[number]
        c.run(f"sieve push {DISK} s{number}", stdin=text, code=2,
              stderr=has(f"standard input: line {line} is longer than 1 MiB", "2 such lines were not pushed", "pushed 3 lines"))
        c.run(f"sieve pop -n 9 --done s{number}", stdout="a\nb\nc\n")
    c.run(f"sieve push --json {DISK} s", stdin=long, code=2, stdout=has('"too_long": 1', '"complete": false', '"lines": 1'), stderr=None)


@case
def keys_that_are_too_long_are_passed_over(c):
    """As UTF-16 it has twice the bytes, and is then longer than a line may be."""
    c.run(f"sieve push --utf16 {DISK} s", stdin=b"a\n" + b"x" * 600000 + b"\nb\n", code=2,
          stderr=has("standard input: line 2 is longer than 1 MiB", "1 such line was not pushed", "pushed 2 lines"))


@case
def rules_make_keys_of_lines(c):
    c.run(f"sieve push -q {DISK} --csv -F 2 --payload 1 --lower s", stdin='7,"A,b"\n8,"a,B"\n9\n10,c\n',
          stderr=has("1 record had no field 2 and was skipped"))
    c.run("sieve export --payload s --flush", stdout="a,b\t7\nc\t10\n")
    c.run("sieve pop -n 9 --payload s", stdout="1\ta,b\t7\n2\tc\t10\n")
    c.run("sieve push --hex -q s", stdin="616263\nxyz\n64\n", code=2, stderr=has("line 2: 'xyz' is not", "it was not pushed"))
    items = json.loads(c.run("sieve pop -n 9 --json s", stdout=None)[0])["items"]
    c.expect([item["key"] for item in items] == ["abc", "d"], f"{items}")
    c.run("sieve push -F 3 s", stdin="a\nb\n", code=2, stderr=has("no record has a field 3"))
    c.run("sieve push --payload 1 s", code=2, stderr=has("--payload", "it goes with -F"))
    c.run("sieve push -F 1 --payload 0 s", code=2, stderr=has("--payload 0: must be the number of a field"))


@case
def urls_are_one_key_in_one_form(c):
    c.run(f"sieve push -q {DISK} --canon url s", stdin="HTTP://Example.ORG:80\nhttp://example.org/#top\nhttp://example.org/?b=1&a=2\n")
    c.run("sieve pop -n 9 --done s", stdout="http://example.org/\nhttp://example.org/?b=1&a=2\n")
    c.run("sieve contains s", stdin="http://EXAMPLE.org\nhttp://example.org/no\n", stdout="http://EXAMPLE.org\n")
    c.expect(status(c, "s")["canon"] == "url", "status says so")


@case
def ack_refuses_lines_that_pop_never_prints(c):
    c.run(f"sieve push -q {DISK} s", stdin="a\n")
    c.run("sieve pop s", stdout="1\ta\n")
    c.run("sieve ack s", stdin=b"1\n" + b"2" * 5000000 + b"\n", code=2,
          stderr="bloomery: sieve ack: standard input: line 2 is longer than any that 'sieve pop' prints; nothing was changed\n")
    c.expect(status(c, "s")["leased"] == 1, "it is not done")
    c.run("sieve ack -q s", stdin="1\n")


# ---- Asking ----------------------------------------------------------------------------------------------


@case
def contains_is_grep(c):
    for number, engine in enumerate(("--engine memory", DISK)):
        sieve = f"s{number}"
        c.run(f"sieve push -q {engine} {sieve}", stdin="a\nb\nc\n")
        c.run(f"sieve flush -q {sieve}")
        c.run(f"sieve contains {sieve}", stdin="c\nx\na", stdout="c\na\n")
        c.run(f"sieve contains -v {sieve}", stdin="c\nx\na", stdout="x\n")
        c.run(f"sieve contains -c {sieve}", stdin="c\nx\na", stdout="2\n")
        c.run(f"sieve contains -vc {sieve}", stdin="c\nx\na", stdout="1\n")
        c.run(f"sieve contains -q {sieve}", stdin="x\na\n")
        c.run(f"sieve contains {sieve}", stdin="x\ny\n", code=1)
        c.run(f"sieve contains -q {sieve}", stdin="x\n", code=1)
        c.run(f"sieve contains -c {sieve}", stdin="x\n", stdout="0\n", code=1)
        c.run(f"sieve contains -k a -k x {sieve}", stdout="a\n")
        c.file("asked", "b\n")
        c.run(f"sieve contains {sieve} asked nosuch", stdout="b\n", code=2, stderr=has("nosuch: No such file"))
        c.run(f"sieve contains -c --json {sieve}", stdin="c\nx\na", stdout=has('"seen": 2', '"not_seen": 1', '"not_known": 0'))
        c.run(f"sieve pop -n 9 --done {sieve}", stdout="a\nb\nc\n")
        c.run(f"sieve contains -c {sieve}", stdin="a\nb\nc\n", stdout="3\n")
        c.run(f"sieve contains --json {sieve}", code=2, stderr=has("--json is for the counts of -c"))


@case
def contains_does_not_pass_over_long_lines(c):
    c.run(f"sieve push -q {DISK} s", stdin="a\n")
    c.run("sieve flush -q s")
    text = b"a " + b"x" * 2200000 + b"\nb\n" + b"y" * 5000000 + b"\n"
    said = "bloomery: sieve contains: standard input: line 1 is longer than 2 MiB, the most for a line; 2 such lines were not looked up\n"
    c.run("sieve contains -v s", stdin=text, stdout="b\n", stderr=said, code=2)
    c.file("long", text)  # of a file more comes at a time than of a pipe
    c.run("sieve contains -v s long", stdout="b\n", stderr=said.replace("standard input", "long"), code=2)
    c.run("sieve contains -F 1 -d ' ' s", stdin=text, code=2, stderr=said)
    c.run("sieve contains -vc --json s", stdin=text, code=2, stderr=said, stdout=has('"asked": 1', '"not_seen": 1', '"too_long": 2'))
    c.run("sieve contains -qv s", stdin=b"b\n" + text)


@case
def a_message_names_the_sieve_once(c):
    c.file("file", "x")
    c.run("sieve status nosuch", code=2, stderr="bloomery: sieve status: nosuch: there is no such sieve\n")
    c.run("sieve status file", code=2, stderr="bloomery: sieve status: opening the directory file: Not a directory\n")
    # No word of the sentence is taken for the name.
    c.run("sieve push -q sieve", stdin="a\n")
    c.run("sieve push --keys 5 sieve", stdin="a\n", code=2, stderr=has("sieve push: sieve was made with a number of keys of 1000000, not 5"))
    c.run("sieve push --leases 5 --engine memory --dialect nosuch --on-full=stop of", stdin="a\n", code=2,
          stderr="bloomery: sieve push: of: no filters of 'nosuch' can be made\n")


@case
def status_shows_no_numbers_of_its_own_command(c):
    c.run(f"sieve push -q --memory 18MB {DISK} s", stdin="a\n")
    out, _ = c.run("sieve status s", stdout=None)
    c.expect(b"memory" not in out and b"64.0 MiB" not in out, f"{out!r}")
    c.run("sieve push -q --engine memory m", stdin="a\n")
    c.run("sieve status m", stdout=has("planned for                  1,000,000  it grows\n"))


@case
def contains_does_not_answer_what_is_pending(c):
    c.run(f"sieve push -q {DISK} s", stdin="a\nb\n")
    c.run("sieve contains s", stdin="z\n", code=2, stderr="bloomery: sieve contains: 1 line may be pending and can't be "
          "answered; --flush decides them first\n")
    c.run("sieve contains -vc s", stdin="z\ny\n", code=2, stdout="0\n", stderr=has("2 lines may be"))
    c.run("sieve contains -v --flush s", stdin="z\na\n", stdout="z\n")
    c.expect(status(c, "s")["pending"] == 0, "it was decided")


@case
def status_counts_everything(c):
    c.run(f"sieve push -q {DISK} s", stdin="a\nb\na\nc\n")
    c.run("sieve mark -q s", stdin="d\n")
    c.run("sieve flush s", stderr=has("flush: decided", "3 queued"))
    c.run("sieve pop -q s", code=2, stderr=has("unknown option '-q'"))
    c.run("sieve pop s", stdout="1\ta\n")
    c.run("sieve ack -q s 1")
    c.run("sieve pop s", stdout="2\tb\n")
    report = status(c, "s")
    wanted = {"engine": "disk", "partitions": 1, "fingerprint_bits": 64, "ordered": False, "canon": "none", "pushed": 5, "durable": 5, "new": 3,
              "seen": 1, "pending": 0, "forced": 0, "marked": 1, "queued": 1, "leased": 1, "done": 1, "distinct": 4, "over_capacity": False}
    wrong = {name: report[name] for name, value in wanted.items() if report[name] != value}
    c.expect(not wrong, f"{wrong}")
    c.expect(report["expected_wrong_drops"] < 1e-15 and report["seen_bytes"] > 0 and report["memory"] > 0, f"{report}")
    c.run("sieve status s", stdout=has("s: disk engine, fingerprints of 64 bits, 1 partition\n", "pushed", "wrong drops", "a flush now"))
    c.run("sieve push -q --engine memory -n 1000 -p 1e-3 m", stdin="a\nb\n")
    report = status(c, "m")
    c.expect(report["engine"] == "memory" and report["new"] == 2 and report["live_rate"] < 1e-3 and report["partitions"] is None, f"{report}")
    c.run("sieve status m", stdout=has("m: memory engine\n", "planned for                      1,000  it grows\n", "rate now"))


# ---- In and out ------------------------------------------------------------------------------------------------


@case
def requests_seen_is_imported(c):
    prints = [f"{i:040x}" for i in range(50)]
    c.file("requests.seen", "\r\n".join(prints) + "\r\n" + "0" * 17)
    c.file("plain", f"{prints[0][:39]}\nb\n")
    c.run(f"sieve import {DISK} s requests.seen plain", stderr="bloomery: sieve import: warning: 1 line of requests.seen is not a fingerprint and was "
          "skipped\nimport: marked 52 lines\n")
    c.run("sieve push -q s", stdin="\n".join(prints) + "\nb\nnew\n")
    c.run("sieve pop -n 99 --done s", stdout="new\n")
    c.run("sieve import s", code=2, stderr=has("no files: "))


@case
def export_is_what_is_in_it(c):
    c.run(f"sieve push -q {DISK} s", stdin="a\nb\nc\n")
    c.run("sieve export s", stdout=None, stderr=has("the output lacks 3 pushes, pending until --flush or a pop decides them"))
    c.run("sieve export --flush s", stdout="a\nb\nc\n")
    c.run("sieve pop s", stdout="1\ta\n")
    c.run("sieve export -0 s", stdout=b"b\0c\0")
    out, _ = c.run("sieve export --seen s", stdout=None)
    seen = out.decode().splitlines()
    c.expect(len(seen) == 3 and seen == sorted(seen) and all(len(line) == 16 and int(line, 16) >= 0 for line in seen), f"{seen}")
    c.run("sieve push -q --engine memory m", stdin="a\n")
    c.run("sieve export --seen m", code=2, stderr=has("bloomery: sieve export: m: "))


@case
def damage_is_found_and_told(c):
    text = "\n".join(f"key {i}" for i in range(20000))
    c.run(f"sieve push -q {DISK} s", stdin=text)
    c.run("sieve flush -q s")
    c.run("sieve verify s", stderr="s: no damage found\n")
    names = [os.path.join(folder, name) for folder, _, files in os.walk(c.path("s")) for name in files]
    large = [name for name in names if os.path.getsize(name) > 50000 and not name.endswith("MANIFEST")]
    c.expect(len(large) >= 2, f"what was seen, and the queue: {names}")
    for name in large:
        shutil.copytree(c.path("s"), c.path("broken"))
        with open(name.replace(c.path("s"), c.path("broken")), "r+b") as file:
            file.seek(20000)
            byte = file.read(1)[0]
            file.seek(20000)
            file.write(bytes([byte ^ 1]))
        c.run("sieve verify broken", code=1, stdout=has("\n"), stderr="broken: damaged: 1 frame\n")
        report = json.loads(c.run("sieve verify --json broken", code=1, stdout=None)[0])
        c.expect(report["damaged"] == 1 and len(report["reports"]) == 1, f"{report}")
        shutil.rmtree(c.path("broken"))
    with open("/dev/full", "wb") as full:
        c.run("sieve verify --json s", stdout_file=full, code=2, stderr=has("No space left"))


@case
def a_damaged_block_of_the_queue_can_be_skipped(c):
    lines = [f"a key that is not so short {i}" for i in range(10000)]
    c.run(f"sieve push -q {DISK} s", stdin="\n".join(lines))
    c.run("sieve flush -q s")
    report, _ = c.run("sieve verify s", stdout=None, stderr=None)
    c.expect(report == b"", "sound")
    segments = [os.path.join(folder, name) for folder, _, files in os.walk(c.path("s")) for name in files if "queue" in os.path.join(folder, name)]
    c.expect(len(segments) == 1, f"{segments}")
    with open(segments[0], "r+b") as file:
        file.seek(1000)
        file.write(b"?!?!")
    c.run("sieve pop -n 3 --done s", code=2, stderr=has("bloomery: sieve pop: s/queue", "damaged", "entries"))
    out, said = c.run("sieve pop -n 1e9 --done --skip-damaged s", stdout=None, stderr=has("a damaged frame of the queue was skipped, with "))
    left = out.decode().splitlines()
    lost = int(said.decode().split("skipped, with ")[1].split()[0].replace(",", ""))
    c.expect(lost > 0 and left == lines[lost:], f"{lost} lost, {len(left)} left")


# ---- What is refused -------------------------------------------------------------------------------------------


@case
def a_directory_that_is_not_a_sieve_is_refused(c):
    os.mkdir(c.path("folder"))
    c.file("folder/diary", "dear diary\n")
    c.file("file", "a\n")
    c.run("sieve push folder", stdin="a\n", code=2, stderr=has("bloomery: sieve push: folder is not a sieve and not empty"))
    c.expect(os.listdir(c.path("folder")) == ["diary"], "nothing was made in it")
    c.run("sieve push file", stdin="a\n", code=2, stderr="bloomery: sieve push: opening the directory file: Not a directory\n")
    for command in ("pop", "ack", "contains", "flush", "status", "export", "verify"):
        c.run(f"sieve {command} nosuch", code=2, stderr=f"bloomery: sieve {command}: nosuch: there is no such sieve\n")
        c.run(f"sieve {command}", code=2, stderr=has("no sieve: ", f"try 'bloomery sieve {command} --help'"))
    c.expect(c.names() == ["file", "folder"], f"made: {c.names()}")


@case
def a_later_version_is_refused(c):
    c.run(f"sieve push -q {DISK} s", stdin="a\n")
    manifest = bytearray(c.read("s/MANIFEST"))
    version, = struct.unpack_from("<I", manifest, 8)
    copy, = struct.unpack_from("<Q", manifest, 16)
    for begin in range(0, len(manifest), copy):  # docs/sieve.md
        if manifest[begin:begin + 8] == b"BLMSIEVE":
            struct.pack_into("<I", manifest, begin + 8, version + 1)
    c.file("s/MANIFEST", bytes(manifest))
    c.run("sieve status s", code=2, stderr=has(f"bloomery: sieve status: s is of version {version + 1}, "))


@case
def what_is_kept_can_not_be_changed(c):
    c.run(f"sieve push -q {DISK} --canon url --leases 7 s", stdin="a\n")
    for option, word in (("--canon url-query", "canon"), ("--canon none", "canon"), ("--engine memory", "engine"), ("--fingerprint-bits 48", "fingerprint"),
                         ("--partitions 4", "partitions"), ("--ordered", "order")):
        c.run(f"sieve push {option} s", stdin="b\n", code=2, stderr=has("bloomery: sieve push: s was made with", word))
    c.run(f"sieve push -q {DISK} --canon url --leases 7 --memory 30MB --sync always s", stdin="b\n")
    c.run("sieve pop -n 3 --done s", stdout="a\nb\n")


def memory_of(process):
    """The most that it had in memory."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmHWM:")).split()[1]) * 1024


@case
def the_memory_that_is_given_is_that_of_the_process(c):
    memory_as_users_see_it()
    c.run("generate urls -n 400k", stdout_file=open(c.path("urls"), "wb"))  # pylint: disable=consider-using-with
    for number, (engine, memory) in enumerate((("--partitions 16", 18000000), ("--partitions 1 --ordered", 9000000), ("--engine memory -n 1M", 18000000))):
        # What it prints is not read: so it waits when all was decided, and its memory can be looked at.
        process = c.start(f"sieve push --print {engine} --memory {memory} s{number} urls", stdin=subprocess.DEVNULL)
        process.stdout.read(1)
        used = memory_of(process)
        c.expect(used <= memory, f"{engine}: {used} bytes of {memory}")
        c.expect(used > memory / 2 or "memory" in engine, f"{engine}: {used} bytes: what is there should be used")
        process.stdout.close()
        process.wait()


@case
def the_least_memory_is_named(c):
    memory_as_users_see_it()
    for number, engine in enumerate((DISK, "-n 1e9", "-n 1e10")):
        said = c.run(f"sieve push {engine} --memory 2MB s{number}", stdin="a\n", code=2, stderr=has("--memory 2,000,000 bytes is too little"))[1].decode()
        least = said.split("the minimum that works is ")[1].split()[0].replace(",", "")
        c.run(f"sieve push -q {engine} --memory {least} s{number}", stdin="a\nb\n")
        c.run(f"sieve pop --memory 1MB s{number}", code=2, stderr=has("the minimum that works is "))
        c.run(f"sieve pop --memory {least} -n 9 --done s{number}", stdout=None)


@case
def a_full_memory_engine_says_so(c):
    lines = "\n".join(str(i) for i in range(5000))
    said = c.run("sieve push --engine memory --on-full stop -n 1000 -p 1e-3 stop", stdin=lines, code=2, stderr=None)[1].decode()
    c.expect("bloomery: sieve push: stop: " in said and "push: pushed" in said, said)
    kept = status(c, "stop")
    c.expect(900 <= kept["new"] <= 1100 and kept["queued"] == kept["new"], f"{kept}")
    said = c.run("sieve push --engine memory --on-full warn -n 1000 -p 1e-3 warn", stdin=lines, stderr=None)[1].decode()
    report = status(c, "warn")
    c.expect(said.count("warning") == 1 and report["over_capacity"] and (report["distinct"] is None or report["distinct"] > 1000), f"{said} {report}")
    said = c.run("sieve push --engine memory -n 1000 -p 1e-3 grow", stdin=lines, stderr=None)[1].decode()
    report = status(c, "grow")
    c.expect("warning" not in said and report["new"] > 4980 and report["live_rate"] <= 1e-3, f"{said} {report}")


@case
def wrong_options_are_refused_before_anything_is_made(c):
    for options, words in (("--engine disc", "--engine is memory or disk, not 'disc'; did you mean 'disk'?"), ("--on-full fill", "--on-full is grow, stop or warn"),
                           ("--canon urls", "--canon is none, url or url-query, not 'urls'; did you mean 'url'?"), ("--fingerprint-bits 32", "must be 64 or 48"),
                           ("--partitions 3", "must be a power of two"), ("--partitions 2048", "--partitions 2048"), ("--sync soon", "--sync is always, never"),
                           ("--sync 0", "--sync 0: must be a number of seconds over 0"), ("--wait -5", "--wait -5: must be 0, a number of seconds"),
                           ("--wait 5x", "--wait 5x: must be 0"), ("--sync 0h", "--sync 0h"), ("--wait 1e9d", "--wait 1e9d"), ("--sync 1x", "--sync 1x"), ("--memory 0", "--memory 0"), ("--leases 0", "--leases 0"),
                           ("--engine disk -p 0.1", "-p, --on-full and --dialect are for --engine memory"), ("--wait -1", "--wait -1"),
                           ("--engine memory --ordered", "are for --engine disk"), ("--prnt", "did you mean '--print'?")):
        c.run(f"sieve push {options} s", stdin="a\n", code=2, stderr=has("bloomery: sieve push: ", words, "try 'bloomery sieve push --help'"))
    c.run("sieve pop --done --lease 5 s", code=2, stderr=has("so --lease does not go with it"))
    c.run("sieve pop -n 0 s", code=2, stderr=has("-n 0"))
    c.run("sieve pop s t", code=2, stderr=has("'t': only one directory is allowed"))
    c.run("sieve psuh s", code=2, stderr="bloomery: sieve: unknown command 'psuh'; did you mean 'push'?\ntry 'bloomery sieve --help'\n")
    c.expect(not c.names(), f"made: {c.names()}")


@case
def an_input_that_fails_is_an_error(c):
    c.file("b", "b\n")
    c.run(f"sieve push {DISK} s nosuch b", code=2, stderr=has("nosuch: No such file or directory"))
    c.run("sieve push -q s b", stdin="")
    c.run("sieve pop -n 9 --done s", stdout="b\n")


# ---- plan ------------------------------------------------------------------------------------------------------


@case
def plan_says_what_a_sieve_takes(c):
    plan = json.loads(c.run("plan --sieve -n 1e9 --memory 18MB --json", stdout=None)[0])
    c.expect(plan["process_memory"] == 18000000 and plan["memory"] + 4300000 == 18000000 and plan["partitions"] == 64, f"{plan}")
    c.expect(8 <= plan["seen_disk"] / plan["keys"] <= 8.5 and 0.02 < plan["wrong_drops"] < 0.03, f"{plan}")
    c.expect(2.3e9 < plan["limit_bytes"] * 0.99 < plan["filter_bytes"] < 4.5e9 and plan["budget_rate"] > 0.9, f"{plan}")
    c.expect(abs(plan["seconds"] * plan["disk_speed"] / (plan["seen_traffic"] + plan["pending_traffic"] + plan["queue_traffic"]) - 1) < 1e-9, f"{plan}")
    c.run("plan --sieve -n 1e9 --memory 18MB", stdout=has("a process of 18,000,000 bytes", "disk time", "wrong drops", "without a disk"))
    more = json.loads(c.run("plan --sieve -n 1e9 --memory 18MB --pushes 1e10 --cache-hit 0.8 --key-bytes 80 --disk-speed 1GB --fingerprint-bits 48 "
                            "--partitions 128 -p 1e-4 --json", stdout=None)[0])
    c.expect(more["pushes"] == 10**10 and more["disk_speed"] == 1e9 and more["partitions"] == 128 and more["wrong_drops"] > 1000, f"{more}")


@case
def plan_of_a_sieve_refuses_what_does_not_fit(c):
    said = c.run("plan --sieve -n 1e9 --memory 3MB", code=2, stderr=has("--memory 3,000,000 bytes is too little"))[1].decode()
    least = said.split("the minimum that works is ")[1].split()[0].replace(",", "")
    c.run(f"plan --sieve -n 1e9 --memory {least}", stdout=has("a batch"))
    c.run("plan --sieve", code=2, stderr=has("--sieve needs -n"))
    c.run("plan --sieve -n 5 --kind classic", code=2, stderr=has("--sieve takes -n, -p, --memory and its own options"))
    c.run("plan -n 5 --pushes 7", code=2, stderr=has("are for --sieve"))
    for option in ("--cache-hit 1.5", "--key-bytes 0", "--disk-speed 0", "--fingerprint-bits 50", "--partitions 4096"):
        c.run(f"plan --sieve -n 5 {option}", code=2, stderr=has(option.split()[0]))
    c.run("plan --sieve -n 1000 --pushes 5", code=2, stderr=has("bloomery: plan: "))


# ---- Scrapy's binary files -------------------------------------------------------------------------------


def fingerprints(first, count):
    """As Scrapy has them: SHA-1 of something."""
    return [hashlib.sha1(str(i).encode()).digest() for i in range(first, first + count)]


@case
def scrapys_binary_fingerprints_are_imported(c):
    os.mkdir(c.path("job"))
    whole = fingerprints(0, 700)
    c.file("job/requests.seen", b"".join(whole))
    c.file("copy.bin", b"".join(fingerprints(700, 3)))
    c.file("list.txt", "plain\n")
    c.run(f"sieve import {DISK} s job/requests.seen list.txt copy.bin", stderr="import: marked 704 lines\n")
    asked = "".join(digest.hex() + "\n" for digest in fingerprints(0, 704)) + "plain\n"
    out, _ = c.run("sieve contains --flush s", stdin=asked, stdout=None)
    c.expect(out.decode() == "".join(digest.hex() + "\n" for digest in fingerprints(0, 703)) + "plain\n", "each of them and no other")
    # As a crash leaves it: with a piece of one at its end. One alone is recognised as well.
    for count in (1, 5):
        c.file("job/requests.seen", b"".join(fingerprints(1000, count)) + b"\x07piece")
        c.run(f"sieve import t{count} job/requests.seen",
              stderr=has("1 piece of requests.seen is not a fingerprint and was skipped", f"import: marked {count} line"))


@case
def bytes_that_are_not_lines_are_not_imported(c):
    """What is binary and can't be read as fingerprints is refused, rather than marked as keys that nobody asks for."""
    data = b"\0\1\2" + b"".join(fingerprints(0, 9))
    c.file("strange.bin", data)
    c.run("sieve import -q s strange.bin", code=2, stderr=has("strange.bin: is not a list of lines", "NUL"))
    c.run("sieve import -q s -", stdin=data, code=2, stderr=has("is not a list of lines"))
    late = b"\x80\n" + data  # the first line has none
    c.run("sieve import -q s -", stdin=late, code=2, stderr=has("is not a list of lines"))
    c.run("sieve import -0 t strange.bin", stderr=has("import: marked"))
    # Text is text, whatever its length.
    for number, text in enumerate(("x" * 19 + "\n", "caf\u00e9 \u00fc" * 2 + "abc\n", "\t\r\n" * 20)):
        c.file("list.txt", text)
        c.expect(len(text.encode()) % 20 == 0, f"{len(text.encode())}")
        c.run(f"sieve import u{number} list.txt", stderr=has(f"import: marked {(1, 1, 20)[number]} line"))


@case
def urls_without_a_form_are_hinted_at_once(c):
    urls = "HTTP://Example.org/\nhttp://example.org/\nplain\n"
    hint = "note: the lines are URLs, and the sieve does not normalise them"
    c.run("sieve push s", stdin=urls, stderr=has(hint, "--canon url"))
    out = c.run("sieve push s", stdin=urls, stderr=None)[1]
    c.expect(hint.encode() not in out, "it is made already")
    for number, (options, text) in enumerate((("--canon url", urls), ("--canon none", urls), ("-q", urls), ("", "a\nb\nhttp://c/\n"))):
        out = c.run(f"sieve push {options} t{number}", stdin=text, stderr=None)[1]
        c.expect(hint.encode() not in out, f"{options}: {out}")


main()
