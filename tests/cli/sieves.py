# SPDX-License-Identifier: Apache-2.0
"""What cases of the sieve share: pushing, popping and looking, and a command that holds a sieve."""

import json

from runner import EMULATOR, TOOL, Skip

DISK = "--engine disk --partitions 1"  # a small one
PUSHES = ("new", "seen", "pending", "forced", "marked")  # what becomes of them


def push(c, line, text, **more):
    """Pushes lines; nothing is printed."""
    c.run(f"sieve push -q {line}", stdin=text, **more)


def pop_all(c, sieve):
    """Everything that is in it, done at once."""
    out, _ = c.run(f"sieve pop -n 1e9 --done {sieve}", stdout=None, code=0)
    return out.decode().splitlines()


def status(c, line):
    """The status as an object, which adds up."""
    report = json.loads(c.run(f"sieve status --json {line}", stdout=None)[0])
    c.expect(report["schema"] == 1 and report["command"] == "sieve status", f"{report}")
    c.expect(report["pushed"] == sum(report[name] for name in PUSHES), f"pushes do not add up: {report}")
    c.expect(report["new"] + report["forced"] == report["queued"] + report["leased"] + report["done"] + report["dead"],
             f"the queue does not add up: {report}")
    return report


def holding(c, line, text):
    """A command that has the sieve, which is the last word of its line, and waits for more of its input."""
    process = c.start(line)
    process.stdin.write(text)
    process.stdin.flush()
    c.wait_for_file(f"{line.split()[-1]}/MANIFEST", process)
    return process


def wait_for_commit(c, sieve, pushed):
    """Returns the status when a commit has that many pushes."""
    last = {}

    def there():
        last.update(status(c, sieve))
        return last["pushed"] >= pushed
    c.wait_until(there, f"a commit has {pushed} pushes")
    return last


def memory_as_users_see_it():
    """Skips the case where the command has more memory than a user's: with sanitizers, in an emulator."""
    with open(TOOL, "rb") as file:
        image = file.read()
    if EMULATOR or b"__asan_init" in image or b"__tsan_init" in image or b"__ubsan" in image:
        raise Skip("in an emulator or with sanitizers a process has another size")
