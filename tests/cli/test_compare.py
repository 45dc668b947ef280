# SPDX-License-Identifier: Apache-2.0
"""compare: what two filters have in common, with the exit codes of cmp."""

import json

from runner import case, has, main


def numbers(first, count):
    """Some keys."""
    return "".join(f"{i}\n" for i in range(first, first + count))


def set_up(c, options=""):
    """Keys 0 to 6000 and 4000 to 12000."""
    c.run(f"build -q -n 12000 -p 1% {options} -o a.bloom", stdin=numbers(0, 6000))
    c.run(f"build -q -n 12000 -p 1% {options} -o b.bloom", stdin=numbers(4000, 8000))


@case
def common_keys_are_found_within_their_interval(c):
    for options in ("", "--kind classic", "--blocks 2"):
        set_up(c, options)
        c.run("compare a.bloom b.bloom", code=1,
              stdout=has("a.bloom and b.bloom\n", "keys in both     about ", "95 % interval",
                         "Jaccard index    0.1", "equal            no\n"))
        report = json.loads(c.run("compare --json a.bloom b.bloom", code=1, stdout=None)[0])
        low, high = report["common_keys_interval"]
        c.expect(low - 100 < 2000 < high + 100 and 0 < high - low < 400, f"{report}")
        low, high = report["jaccard_interval"]
        c.expect(low < report["jaccard"] < high and abs(report["jaccard"] - 1 / 6) < 0.01,
                 f"{report}")
        c.expect(abs(report["keys"][0] / 6000 - 1) < 0.03 and report["fit"] and
                 abs(report["union_keys"] / 12000 - 1) < 0.03 and
                 report["within"] == [False, False] and not report["equal"], f"{report}")


@case
def equal_filters_exit_with_0(c):
    set_up(c)
    c.run("merge -q -o c.bloom a.bloom")
    c.run("compare a.bloom c.bloom", stdout=has("equal            bit for bit\n"))
    c.run("compare -q a.bloom c.bloom")
    c.run("compare -q a.bloom b.bloom", code=1)
    c.run("compare a.bloom a.bloom", stdout=has("equal            bit for bit\n"))


@case
def parts_are_reported(c):
    set_up(c)
    c.run("merge -q -o u.bloom a.bloom b.bloom")
    c.run("compare a.bloom u.bloom", code=1,
          stdout=has("all keys of      a.bloom seem to be in u.bloom\n"))
    c.run("compare u.bloom b.bloom", code=1,
          stdout=has("all keys of      b.bloom seem to be in u.bloom\n"))
    report = json.loads(c.run("compare --json u.bloom b.bloom", code=1, stdout=None)[0])
    c.expect(report["within"] == [False, True], f"{report}")


@case
def other_sizes_are_folded(c):
    set_up(c, "--folds 2")
    c.run("fold -q -o half.bloom a.bloom")
    c.run("compare a.bloom half.bloom", stdout=has("bit for bit"),
          stderr=has("a.bloom is folded first: "))
    c.run("compare -q half.bloom a.bloom")


@case
def misfits_exit_with_1_and_errors_with_2(c):
    set_up(c)
    c.run("build -q -n 12000 -p 1% --seed 3 -o s.bloom", stdin="")
    c.run("compare a.bloom s.bloom", code=1,
          stdout="a.bloom and s.bloom are not compatible: the seeds differ: 0, and 3\n")
    report = json.loads(c.run("compare --json a.bloom s.bloom", code=1, stdout=None)[0])
    c.expect(not report["fit"] and report["reason"] == "the seeds differ: 0, and 3", f"{report}")
    c.run("compare a.bloom missing", code=2, stderr=has("missing: No such file"))
    c.run("compare a.bloom", code=2, stderr=has("two filters", "try 'bloomery compare"))
    c.run("compare a.bloom b.bloom s.bloom", code=2, stderr=has("two filters"))


@case
def full_filters_have_no_estimate(c):
    c.run("build -q -n 1 -p 0.5 -o f.bloom", stdin="")
    c.run("add -q --force f.bloom", stdin=numbers(0, 20_000), stderr=None)
    c.run("compare f.bloom f.bloom", stdout=has("unknown: all bits are set", "unknown"))
    report = json.loads(c.run("compare --json f.bloom f.bloom", stdout=None)[0])
    c.expect(report["common_keys"] is None and report["jaccard"] is None and report["equal"],
             f"{report}")


main()
