# SPDX-License-Identifier: Apache-2.0
"""fold: a smaller filter of the same keys, and what can't be made smaller."""

import json

from runner import case, has, main


def numbers(first, count):
    """Some keys."""
    return "".join(f"{i}\n" for i in range(first, first + count))


def set_up(c, options=""):
    """A filter of 20,000 keys that can be halved five times."""
    c.run(f"build -q -n 20000 -p 1e-6 --folds 5 {options} -o f.bloom", stdin=numbers(0, 20_000))


def facts(c, name):
    """What inspect says."""
    return json.loads(c.run(f"inspect --json {name}", stdout=None)[0])


@case
def folded_filter_has_all_keys_and_the_rate_it_says(c):
    for options in ("", "--kind classic", "--blocks 2"):
        set_up(c, options)
        for times in (1, 2, 3):
            text, _ = c.run(f"fold --json --times {times} -o half.bloom f.bloom", stdout=None)
            report = json.loads(text)
            whole = facts(c, "f.bloom")
            c.expect(report["times"] == times and report["bytes"] == whole["bytes"] >> times and
                     report["planned_keys"] == 20_000, f"{report}")
            c.run("query -c half.bloom", stdin=numbers(0, 20_000), stdout="20000\n")
            live, planned = report["live_rate"], report["planned_rate"]
            c.expect(0.7 < live / planned < 1.4 and planned > whole["planned_rate"], f"{report}")
            c.run("inspect --verify half.bloom", stdout=has("all right"))


@case
def once_is_the_default_and_step_by_step_is_the_same(c):
    set_up(c)
    c.run("fold -o once.bloom f.bloom", stderr=has("wrote once.bloom: halved 1 time, ", "rate now 1 in ",
                                                   "with the planned 20,000 keys 1 in "))
    c.run("fold -q --times 2 -o twice.bloom f.bloom")
    c.run("fold -q -o once.bloom once.bloom")
    c.expect(c.read("once.bloom") == c.read("twice.bloom"), "the files differ")
    c.run("fold -q --times 2 -o - f.bloom", stdout=c.read("twice.bloom"))
    c.run("fold -q --times 2 -o f.bloom f.bloom")
    c.expect(c.read("f.bloom") == c.read("twice.bloom"), "over itself it is another")


@case
def memory_says_how_often(c):
    set_up(c)
    size = facts(c, "f.bloom")["bytes"]
    for wanted, times in ((size, 0), (size - 1, 1), (size // 2, 1), (size // 2 - 1, 2), (size // 32, 5)):
        text, _ = c.run(f"fold --json --memory {wanted} -o out.bloom f.bloom", stdout=None,
                        stderr=None)
        c.expect(json.loads(text)["times"] == times, f"{wanted}: {text}")
    c.run("fold -q --memory 1TiB -o out.bloom f.bloom")
    c.expect(c.read("out.bloom") == c.read("f.bloom"), "halved 0 times it is another")


@case
def what_cannot_be_halved_is_refused(c):
    c.run("build -q -n 20000 -p 1% --folds 3 -o f.bloom", stdin=numbers(0, 20_000))
    lines = facts(c, "f.bloom")["bits"] // 512
    most = 0
    while lines % 2 == 0:
        lines //= 2
        most += 1
    c.run(f"fold --times {most + 1} -o out.bloom f.bloom", code=2,
          stderr=has("bloomery: fold: f.bloom: ", f"can be halved {most} times, not {most + 1}"))
    c.run("fold --memory 64 -o out.bloom f.bloom", code=2,
          stderr=has("bloomery: fold: f.bloom: ", f"can be halved {most} times, to ",
                     "and --memory is 64 bytes"))
    c.run("fold --times 31 -o out.bloom f.bloom", code=2, stderr=has("--times", "1 to 30"))
    c.run("fold --times 1 --memory 1K -o out.bloom f.bloom", code=2, stderr=has("exclude"))
    c.run("fold -o out.bloom", code=2, stderr=has("no filter: "))
    c.run("fold f.bloom", code=2, stderr=has("-o FILE"))
    c.run("fold -o out.bloom f.bloom f.bloom", code=2, stderr=has("one filter"))
    c.run("fold -o out.bloom missing", code=2, stderr=has("missing: No such file"))
    c.expect(c.names() == ["f.bloom"], f"{c.names()}")


@case
def damage_is_not_folded(c):
    c.run("build -q -n 200000 -p 1% --folds 3 -o f.bloom", stdin=numbers(0, 1000))
    damaged = bytearray(c.read("f.bloom"))
    damaged[len(damaged) // 2] ^= 1
    c.file("f.bloom", damaged)
    for options in ("--times 1", "--memory 1GiB"):
        c.run(f"fold {options} -o out.bloom f.bloom", code=2, stderr=has("f.bloom: ", "damaged"))
    c.expect(c.names() == ["f.bloom"], f"{c.names()}")


main()
