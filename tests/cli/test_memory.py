# SPDX-License-Identifier: Apache-2.0
"""Limits of memory: of a container, which the kernel keeps by ending who passes them, and of addresses (ulimit -v).

A container is one of three: a control group that a case makes, where it may; files of the kernel that say the same, below
a folder that BLOOMERY_LIMITS_ROOT names, in all builds but release ones.

Build: tests/cli and tool/bloomery. Suite: quick and cli.
"""

import os
import re
import resource
import subprocess

from runner import EMULATOR, SECONDS, Skip, case, has, main

MIB = 1 << 20


def numbers(first, count):
    """Lines of numbers."""
    return b"".join(b"%d\n" % number for number in range(first, first + count))


def container(c, limit, used=0):
    """The environment in which a container of this limit seems to be."""
    if "BLOOMERY_TEST_NO_SWITCH" in os.environ:
        raise Skip("a release build has no switch for the limits of memory")
    files = {
        "proc/self/cgroup": "0::/pod\n",
        "proc/self/mountinfo": "29 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "sys/fs/cgroup/pod/memory.max": f"{limit}\n",
        "sys/fs/cgroup/pod/memory.current": f"{used}\n",
    }
    for name, text in files.items():
        os.makedirs(c.path(os.path.dirname(f"root/{name}")), exist_ok=True)
        c.file(f"root/{name}", text)
    return {"BLOOMERY_LIMITS_ROOT": c.path("root")}


class Group:
    """A control group with a limit, of which a case's command is a member."""

    def __init__(self, c, limit):
        second = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
        self.folder = f"/sys/fs/cgroup/{'' if second else 'memory/'}bloomery-{os.path.basename(c.directory)}"
        try:
            if second:
                with open("/sys/fs/cgroup/cgroup.subtree_control", "w", encoding="ascii") as file:
                    file.write("+memory")
            os.mkdir(self.folder)
            names = ("memory.max", "memory.swap.max") if second else ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
            for name in names:
                if name == names[0] or os.path.exists(f"{self.folder}/{name}"):
                    with open(f"{self.folder}/{name}", "w", encoding="ascii") as file:
                        file.write("0" if "swap" in name else str(limit))
        except OSError as why:
            self.remove()
            raise Skip(f"no control group can be made here: {why}") from why

    def enter(self):
        """In the child, before it becomes the command."""
        with open(f"{self.folder}/cgroup.procs", "w", encoding="ascii") as file:
            file.write("0")

    def remove(self):
        """When nothing runs in it."""
        if os.path.isdir(self.folder):
            os.rmdir(self.folder)


def addresses(most):
    """Options of a command that may have that many bytes of addresses."""
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))}


def run_within(c, most, line):
    """Exit code, output and messages of a command that may have that many bytes of addresses."""
    process = c.start(line, stdin=subprocess.DEVNULL, **addresses(most))
    out, said = process.communicate(timeout=SECONDS)
    return process.returncode, out, said


def needs_addresses(c):
    """Sanitizers and emulators take terabytes of them."""
    if EMULATOR or run_within(c, 64 * MIB, "--version")[0] != 0:
        raise Skip("this build needs more addresses than a limit leaves it")


@case
def what_a_container_cannot_give_is_refused_with_its_limit(c):
    environment = container(c, 64 * MIB, 10 * MIB)
    c.file("lines", numbers(0, 1000))
    said = has("the container's memory limit of 64 MiB leaves 50 MiB")
    for line in ("build -q -n 50M -p 0.01 -o new.bloom lines", "build -q -n 50M --kind counting -o new.bloom lines",
                 "dedupe -q -n 30M lines", "dedupe -q --exact -n 10M lines"):
        c.run(line, code=2, stderr=said, environment=environment)
        c.expect("new.bloom" not in c.names(), f"{line}: {c.names()}")
    c.run("build -q -n 1000 -o small.bloom lines")
    c.run("query -c small.bloom lines", stdout="1000\n", environment=environment)


@case
def filters_that_are_opened_are_held_to_the_container_too(c):
    c.file("lines", numbers(0, 1000))
    c.run("build -q -n 30M -p 0.01 --kind scalable -o one.bloom lines")
    before = c.read("one.bloom")
    environment = container(c, 64 * MIB, 40 * MIB)
    said = has("the container's memory limit of 64 MiB leaves 20 MiB")
    c.run("add -q one.bloom lines", code=2, stderr=said, environment=environment)
    c.run("dedupe -q --state one.bloom lines", code=2, stderr=said, environment=environment)
    c.expect(c.read("one.bloom") == before, "a file was touched")
    # A map is the kernel's to take back.
    c.run("query -c one.bloom lines", stdout="1000\n", environment=environment)


@case
def a_foreign_filter_may_take_half_of_the_container(c):
    environment = container(c, 64 * MIB, 10 * MIB)
    with open(c.path("large"), "wb") as file:
        file.truncate(30 * MIB)
    c.run("query --dialect guava large", code=2, stderr=has(
        "larger than 25.0 MiB, half of the memory that it could have: the container's memory limit of 64 MiB leaves 50 MiB"),
        environment=environment)
    with open(c.path("large"), "wb") as file:
        file.truncate(20 * MIB)
    _, said = c.run("query --dialect guava large", code=2, stderr=None, environment=environment)
    c.expect(b"half of the memory" not in said, f"{said!r}")


@case
def fingerprints_stop_where_the_container_ends(c):
    environment = container(c, 5 * MIB, MIB)
    c.file("lines", numbers(0, 400_000))
    c.run("dedupe -q --exact lines", code=2, stdout=None, environment=environment,
          stderr=has("stopped after", "no more is allowed: the container's memory limit of 5 MiB leaves 3.69 MiB"))
    c.run("dedupe -q --exact lines", stdout=numbers(0, 400_000))


@case
def a_first_layer_is_planned_for_most_of_what_the_container_leaves(c):
    environment = container(c, 24 * MIB)
    c.file("lines", b"the same\n" * 4_000_000)  # at 30 bits a line 17 MiB
    _, said = c.run("dedupe -c lines", stdout="1\n", stderr=None, environment=environment)
    size, unit = re.search(rb"memory ([0-9.]+) (KiB|MiB)", said).groups()
    c.expect(unit == b"KiB" or float(size) < 11.3, f"{said!r}")
    # Of 7.5 MiB these take 4.3; behind a layer that is planned for fewer, no other fits.
    c.file("lines", numbers(0, 1_000_000))
    c.run("dedupe -q -c -p 1e-6 lines", stdout=None, environment=container(c, 8 * MIB))


@case
def in_a_control_group_commands_end_with_a_sentence(c):
    group = Group(c, 64 * MIB)
    try:
        c.file("lines", numbers(0, 2_000_000))
        for line, code in (("build -q -n 80M -p 0.01 -o new.bloom lines", 2), ("dedupe -q -n 40M lines", 2),
                           ("build -q -p 1e-6 -o built.bloom lines", 0), ("dedupe -q lines", 0), ("dedupe -q --exact lines", 0)):
            said = has("the container's memory limit of 64 MiB leaves") if code else ""
            c.run(line, code=code, stdout=numbers(0, 2_000_000) if line.startswith("dedupe") and code == 0 else None,
                  stderr=said, preexec_fn=group.enter)
        c.run("query -c built.bloom lines", stdout="2000000\n", preexec_fn=group.enter)
    finally:
        group.remove()


@case
def lines_that_repeat_fit_a_limit_of_addresses(c):
    needs_addresses(c)
    c.file("lines", b"x\n" * 12_000_000)
    c.run("dedupe -q lines", stdout="x\n", **addresses(40 * MIB))


@case
def under_any_limit_of_addresses_a_command_answers_or_says_why(c):
    needs_addresses(c)
    lines = c.file("lines", numbers(0, 300_000))
    c.run("build -q -o sound.bloom lines")
    sound = c.read("sound.bloom")
    commands = {"build -q -o new.bloom lines": b"", "build -q -n 300000 -o new.bloom lines": b"",
                "build -q --kind static -o new.bloom lines": b"", "dedupe -q lines": lines, "dedupe -q --exact lines": lines,
                "query -c sound.bloom lines": b"300000\n", "add -q changed.bloom lines": b"",
                "merge -q -o new.bloom sound.bloom sound.bloom": b""}
    answered = set()
    for most in (8, 9, 10, 11, 12, 14, 16, 18, 20, 24, 28, 32, 40, 50, 64, 77, 79, 90, 120, 150, 200):
        if run_within(c, most * MIB, "--version")[0] != 0:
            continue  # the system's loader has no room for the program
        for line, answer in commands.items():
            c.file("changed.bloom", sound)
            code, out, said = run_within(c, most * MIB, line)
            if code == 0:
                answered.add(line)
                c.expect(out == answer, f"{most} MiB, {line}: {len(out)} bytes")
            else:
                c.expect(code == 2 and said.startswith(b"bloomery: ") and b"memory" in said, f"{most} MiB, {line}: {code}, {said!r}")
                c.expect(line not in answered, f"{line}: {most} MiB are too few, and fewer were enough: {said!r}")
                c.expect(c.read("changed.bloom") == sound, f"{most} MiB, {line}: the file was touched")
    c.expect(len(answered) == len(commands), f"never answered: {set(commands) - answered}")


main()
