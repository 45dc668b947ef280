# SPDX-License-Identifier: Apache-2.0
"""sieve status: in the words of those who push and pop, beside a process that has the sieve open; names and help of sieve."""

import json
import os
import re
import shlex
import subprocess
import time

from runner import EMULATOR, TOOL, case, has, main
from sieves import DISK, PUSHES, holding, status, wait_for_commit

# ---- Beside another process --------------------------------------------------------------------------------


@case
def status_answers_beside_a_running_push(c):
    for number, engine in enumerate((DISK, "--engine memory", "--ordered")):
        sieve = f"s{number}"
        process = holding(c, f"sieve push --sync 0.05 {engine} {sieve}", b"a\nb\na\n")
        report = wait_for_commit(c, sieve, 3)
        c.expect(process.poll() is None and report["pushed"] == 3 and report["seen"] == 1, f"{report}")
        c.expect(report["new"] + report["pending"] == 2 and report["durable"] == 3, f"{report}")
        out, _ = c.run(f"sieve status {sieve}", stdout=None)
        c.expect(re.search(r"\nin use by .+; this is its last commit\n", out.decode()) and b"pushed                               3" in out, out)
        if not EMULATOR and os.path.exists("/proc/locks"):
            c.expect(report["held_by"]["pid"] == process.pid, f"{report}")
            c.expect("sieve push --sync 0.05" in report["held_by"]["command"], f"{report}")
            c.expect(f"in use by process {process.pid} (".encode() in out, out)
            c.run(f"sieve pop --wait 0 {sieve}", code=2, stderr=has(f"another process is using it: process {process.pid} ("))
        process.communicate(b"c\n")
        c.expect(process.returncode == 0 and status(c, sieve)["pushed"] == 4 and status(c, sieve)["held_by"] is None, "it was kept from its work")
        c.expect(b"in use" not in c.run(f"sieve status {sieve}", stdout=None)[0], "nobody has it")


@case
def status_never_fails_while_commits_go_on(c):
    process = holding(c, f"sieve push -q --sync 0.001 {DISK} s", b"a\n")
    pushed = 0  # the first commit may not have come yet
    for number in range(40):
        process.stdin.write("".join(f"{number} {i}\n" for i in range(50)).encode())
        process.stdin.flush()
        report = status(c, "s")
        c.expect(pushed <= report["pushed"] <= 1 + 50 * (number + 1), f"{pushed} before: {report}")
        pushed = report["pushed"]
    process.communicate()
    c.expect(process.returncode == 0 and status(c, "s")["pushed"] == 2001, "all of it")


@case
def status_of_a_large_filter_in_use_reads_the_commit_alone(c):
    process = holding(c, "sieve push --sync 0.05 --engine memory --on-full=stop -n 2M -p 1e-6 m", b"a\n")
    report = wait_for_commit(c, "m", 1)
    c.expect(report["distinct"] is None and report["live_rate"] is None and report["memory"] == 0, f"{report}")
    c.expect(report["planned_keys"] == report["capacity"] == 2000000, f"{report}")
    c.run("sieve status m", stdout=has("unknown while the sieve is in use", "planned for                  2,000,000\n"))
    process.communicate()


# ---- Words -------------------------------------------------------------------------------------------------


@case
def status_adds_up_in_users_words(c):
    for number, engine in enumerate((DISK, "--engine memory")):
        s = f"s{number}"
        c.run(f"sieve push {engine} {s}", stdin="a\nb\na\nc\n", stderr=None)
        c.run(f"sieve mark -q {s}", stdin="d\n")
        status(c, s)
        c.run(f"sieve push -q --requeue {s}", stdin="b\n")
        c.run(f"sieve flush -q {s}")
        c.run(f"sieve pop -n 2 {s}", stdout="1\ta\n2\tb\n")
        c.run(f"sieve ack -q {s} 1")
        report = status(c, s)
        c.expect([report[name] for name in PUSHES] == [3, 1, 0, 1, 1], f"{report}")
        c.expect((report["queued"], report["leased"], report["done"]) == (2, 1, 1), f"{report}")
        files = sum(os.path.getsize(c.path(f"{s}/{name}")) for name in os.listdir(c.path(s)))
        c.expect(report["disk_bytes"] == files and report["planned_keys"] == 1000000, f"{report} {files}")
        out = c.run(f"sieve status {s}", stdout=None)[0].decode()
        for name, count in (("pushed", 6), ("new", 3), ("seen", 1), ("pending", 0), ("forced", 1), ("marked", 1), ("durable", 6),
                            ("queued", 2), ("leased", 1), ("done", 1)):
            c.expect(re.search(rf"\n  {name} +{count}(  .+)?\n", out), f"{name} {count}: {out}")
        c.expect("undecided" not in out and "merged" not in out, out)


@case
def reports_of_push_add_up(c):
    c.run(f"sieve push {DISK} s", stdin="a\nb\na\n", stderr="push: pushed 3 lines: 0 new, 1 seen, 2 to be decided at the next pop; 0 queued in all\n")
    c.run("sieve push --print s", stdin="b\nc\n", stdout="c\n",
          stderr="push: pushed 2 lines; with 2 pending before: 3 new, 1 seen; 3 queued in all\n")
    c.run("sieve push --requeue s", stdin="a\n", stderr="push: 1 line will be delivered again\n")


# ---- Options, messages, help -------------------------------------------------------------------------------


@case
def times_have_units(c):
    c.run(f"sieve push -q --sync 1s --wait 0 {DISK} s", stdin="a\nb\nc\n")
    c.run("sieve pop --lease 200ms --wait 0.5m s", stdout="1\ta\n")
    c.run("sieve pop --lease 1h --wait 0s s", stdout="2\tb\n")
    time.sleep(0.3)  # not shorter: so the lease has ended
    c.run("sieve pop -n 3 --lease 2d s", stdout="1\ta\n3\tc\n")
    for time_, words in (("0", "--lease 0: must be a number of seconds over 0"), ("1w", "500ms, 30s, 5m, 1h, 2d"), ("h", "--lease h"), ("0x1s", "--lease 0x1s")):
        c.run(f"sieve pop --lease {time_} s", code=2, stderr=has(words))


@case
def each_thing_has_one_name(c):
    c.run("sieve push -q --engine memory --on-full=stop -n 10 --memory 20MB s", stdin="a\n")
    c.expect(status(c, "s")["capacity"] == 10, "it stops")
    c.run("sieve push -q --requeue s", stdin="a\n")
    c.expect(status(c, "s")["forced"] == 1, "it is queued again")
    c.run("sieve export --memory 20MB s", stdout="a\na\n")
    for line in ("push --full=stop s", "push --force s", "push --process-memory 20MB s", "export --process-memory 20MB s"):
        c.run(f"sieve {line}", stdin="b\n", code=2, stderr=has("unknown option"))
    c.run("sieve note s", stdin="b\n", code=2, stderr=has("unknown command 'note'"))
    c.expect(status(c, "s")["pushed"] == 2, "nothing was pushed")


@case
def inputs_that_fail_leave_no_sieve(c):
    for line in ("import", "push", "mark"):
        c.run(f"sieve {line} new nofile", code=2, stderr=f"bloomery: sieve {line}: nofile: No such file or directory\n")
        c.expect(not c.names(), f"made: {c.names()}")
    c.file("empty", "")
    c.run("sieve push -q new empty nofile", code=2, stderr=has("nofile: "))
    c.expect(c.names() == ["empty"], f"made: {c.names()}")
    c.run("sieve push -q new empty")
    c.file("one", "a\n")
    c.run("sieve push -q other one nofile", code=2, stderr=has("nofile: "))
    c.expect(status(c, "other")["pushed"] == 1 and status(c, "new")["pushed"] == 0, "what came is there")


@case
def a_lost_manifest_is_named(c):
    c.run(f"sieve push -q {DISK} s", stdin="a\n")
    os.remove(c.path("s/MANIFEST"))
    for line in ("status", "push", "pop", "verify", "recover"):
        c.run(f"sieve {line} s", stdin="b\n", code=2, stderr=has(f"bloomery: sieve {line}: s/MANIFEST is missing"))
    c.run("sieve pop nodir", code=2, stderr="bloomery: sieve pop: nodir: there is no such sieve\n")
    os.mkdir(c.path("dir"))
    c.file("dir/other", "x")
    c.run("sieve push dir", stdin="b\n", code=2, stderr=has("dir is not a sieve and not empty"))


@case
def the_order_of_popping_is_shown(c):
    for line in ("push", "pop"):
        out = c.run(f"sieve {line} --help", stdout=None)[0].decode()
        c.expect("--ordered" in out and "first out" in out, out)
    lines = [f"{i}\tdepth{i}" for i in range(300)]
    c.run("sieve push -q --ordered fifo", stdin="\n".join(lines))
    c.run("sieve pop -n 300 --done fifo", stdout="\n".join(lines) + "\n")


@case
def examples_of_help_follow_each_other(c):
    os.mkdir(c.path("bin"))
    for name, text in (("bloomery", "exec " + shlex.join([*EMULATOR, TOOL]) + ' "$@"'), ("visit", "cat"), ("urls-of", 'cat "$1"')):
        c.file(f"bin/{name}", f"#!/bin/sh\n{text}\n")
        os.chmod(c.path(f"bin/{name}"), 0o755)
    for name in ("seeds.txt", "visited.txt", "page.html", "urls.txt"):
        c.file(name, "".join(f"http://example.org/{name}/{i}\n" for i in range(200)))
    os.makedirs(c.path("crawls/job"))
    c.file("crawls/job/requests.seen", "0123456789" * 4 + "\n")
    with open(c.path("urls.gz"), "wb") as file:
        subprocess.run(["gzip", "-c", c.path("urls.txt")], stdout=file, check=True)
    for part in ("", "push ", "pop ", "ack ", "mark ", "import "):
        text = c.run(f"sieve {part}--help", stdout=None)[0].decode()
        examples = [line.strip() for line in text.splitlines() if re.match(r"  (bloomery|urls-of|visit) .*crawl|  bloomery sieve push ", line)]
        c.expect(examples, text)
        for example in examples:
            done = subprocess.run(["bash", "-o", "pipefail", "-c", example], cwd=c.directory, capture_output=True, text=True, timeout=100, check=False,
                                  env={**os.environ, "PATH": c.path("bin") + ":" + os.environ["PATH"]})
            c.expect(done.returncode in ((0, 1) if " ack " in example else (0,)), f"{example}: {done.returncode}: {done.stderr}")


@case
def help_of_sieve_fits_a_terminal(c):
    for part in ("", "push", "pop", "ack", "mark", "contains", "flush", "status", "import", "export", "verify", "recover"):
        out = c.run(f"sieve {part} --help", stdout=None)[0].decode()
        c.expect(all(len(line) <= 80 for line in out.splitlines()), [line for line in out.splitlines() if len(line) > 80])


main()
