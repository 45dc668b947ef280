# SPDX-License-Identifier: Apache-2.0
"""Counting filters from outside: built, counted, removed from, made blocked ones of."""

import fcntl
import json
import os

from runner import case, has, keyed, main


def numbers(first, count):
    """Some keys."""
    return "".join(f"{i}\n" for i in range(first, first + count))


def inspect(c, name="f.bloom"):
    """The JSON of inspect."""
    return json.loads(c.run(["inspect", "--json", name], stdout=None)[0])


def build(c, lines, options=""):
    """A counting filter, so exact that no key is taken for another."""
    c.run(f"build -q -p 1e-9 --kind counting -o f.bloom {options} -n 5000", stdin=lines)


@case
def removed_lines_are_gone_and_others_stay(c):
    build(c, numbers(0, 1000))
    c.file("left", numbers(100, 50))
    c.run("remove f.bloom left", stderr="f.bloom: removed 50 keys\n")
    c.run("query f.bloom", stdin=numbers(0, 1200), stdout=numbers(0, 100) + numbers(150, 850))
    c.run("remove f.bloom left", stderr="f.bloom: removed 0 keys; 50 definitely were not in it\n")
    c.run("remove f.bloom -", stdin="7\nnever\n", stderr="f.bloom: removed 1 key; 1 definitely was not in it\n")
    c.run("remove -q f.bloom", stdin="8\n")
    c.run("query -c f.bloom", stdin=numbers(0, 1200), stdout="948\n")


@case
def adding_and_removing_leaves_the_file_as_it_was(c):
    build(c, numbers(0, 500))
    before = c.read("f.bloom")
    c.run("add -q f.bloom", stdin=numbers(300, 700))
    c.run("remove -q f.bloom", stdin=numbers(300, 700))
    after = c.read("f.bloom")
    # Adds go on counting; everything else is as before, except the checksums over them.
    offset = int.from_bytes(before[24:32], "little")
    size = int.from_bytes(before[32:40], "little")
    c.expect(before[offset:offset + size] == after[offset:offset + size], "other counters")
    c.expect(inspect(c)["adds"] == 1200, "adds count additions, and no removals")


@case
def nothing_to_remove_leaves_the_file_alone(c):
    build(c, "a\n")
    before = os.stat(c.path("f.bloom"))
    c.run("remove f.bloom", stdin="b\n", stderr="f.bloom: removed 0 keys; 1 definitely was not in it\n")
    c.run("remove f.bloom", stdin="", stderr="f.bloom: removed 0 keys\n")
    after = os.stat(c.path("f.bloom"))
    c.expect((before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns), "written anew")


@case
def strict_tells_of_absent_lines(c):
    build(c, "a\nb\nc\n")
    c.run("remove -q --strict f.bloom", stdin="a\n")
    c.run("remove -q --strict f.bloom", stdin="x\nb\n", code=1)
    c.run("query f.bloom", stdin="a\nb\nc\n", stdout="c\n")


@case
def json_says_what_was_removed(c):
    build(c, "a\nb\nb\n")
    before = inspect(c)
    report = json.loads(c.run("remove --json f.bloom", stdin="a\nb\nx\n", stdout=None)[0])
    after = inspect(c)
    c.expect((report["schema"], report["command"], report["file"]) == (1, "remove", "f.bloom"), f"{report}")
    c.expect((report["records"], report["removed"], report["absent"]) == (3, 2, 1), f"{report}")
    c.expect(report["cleared"] == before["bits_set"] - after["bits_set"] > 0, f"{report}")
    for name in ("bytes", "file_bytes", "estimated_keys", "live_rate", "predicted_rate", "saturated_cells"):
        c.expect(report[name] == after[name], f"{name}: {report[name]}, {after[name]}")


@case
def counts_are_printed_before_the_lines(c):
    build(c, "one\n" + 2 * "two\n" + 14 * "many\n" + 15 * "most\n")
    c.run("query --counts f.bloom", stdin="most\nnone\none\ntwo\nmany\n",
          stdout="15+\tmost\n1\tone\n2\ttwo\n14\tmany\n")
    c.run("query --counts -k two -k none f.bloom", stdout="2\ttwo\n")
    c.run("query --counts f.bloom", stdin="none\n", code=1)
    c.run("query --counts -0 f.bloom", stdin="two\0one", stdout="2\ttwo\0001\tone\0")
    build(c, 15 * "most\n" + 300 * "full\n", "--counter-bits 8")
    c.run("query --counts f.bloom", stdin="most\nfull\n", stdout="15\tmost\n255+\tfull\n")


@case
def counts_follow_the_rule_for_keys(c):
    build(c, "x,ANNA\ny,Bert\nz,anna\n# no key\n", "-F 2 -d , --lower --comment '#'")
    c.run("query --counts f.bloom", stdin="# no key\nq,Anna\nq,bert\nq,otto\nq\n", stderr=None,
          stdout="2\tq,Anna\n1\tq,bert\n")
    c.run("remove f.bloom", stdin="# no key\n1,ANNA\n2,otto\n",
          stderr="f.bloom: removed 1 key; 1 definitely was not in it\n")
    c.run("query --counts f.bloom", stdin="q,Anna\n", stdout="1\tq,Anna\n")
    c.run("remove --upper f.bloom", stdin="1,ANNA\n", stderr=None, code=2)


@case
def counts_are_the_same_with_any_number_of_threads(c):
    lines = "".join(f"{i % 777}\n" for i in range(60_000))
    c.file("lines", lines)
    c.run("build -q -p 1e-6 --counter-bits 8 -n 1000 -o f.bloom lines")
    once = c.run("query --counts -j 1 f.bloom lines", stdout=None)[0]
    for threads in (2, 5):
        c.run(f"query --counts -j {threads} f.bloom lines", stdout=once)
        c.run(f"build -q -p 1e-6 --counter-bits 8 -n 1000 -j {threads} -o g.bloom lines")
        c.expect(c.read("f.bloom") == c.read("g.bloom"), f"{threads} threads build another filter")


@case
def stuck_counters_are_reported(c):
    build(c, 20 * "a\n")
    stuck = inspect(c)["saturated_cells"]
    c.expect(stuck == inspect(c)["bits_set"] > 0 and inspect(c)["counter_max"] == 15, f"{inspect(c)}")
    c.run("inspect f.bloom", stdout=has(f"counters used    {stuck} of ", f"saturated        {stuck}, at 15\n"))
    c.run("remove f.bloom", stdin=20 * "a\n", stderr=has(
        "f.bloom: removed 20 keys\n", f"warning: f.bloom: {stuck} counters saturated at 15"))
    c.run("query f.bloom", stdin="a\n", stdout="a\n")


@case
def other_kinds_are_refused(c):
    for kind in ("blocked", "classic", "scalable"):
        c.run(f"build -q -n 10 --kind {kind} -o f.bloom", stdin="a\n")
        before = c.read("f.bloom")
        c.run("remove f.bloom", stdin="a\n", code=2, stderr=has(
            f"bloomery: remove: f.bloom: a {kind} filter does not record how many keys",
            "nothing was removed from f.bloom\n"))
        c.run("query --counts f.bloom", stdin="a\n", code=2,
              stderr=f"bloomery: query: f.bloom: a {kind} filter has no counters; --counts is for "
                     "counting and cuckoo ones\n")
        c.expect(c.read("f.bloom") == before, "another file")


@case
def a_failing_input_removes_nothing(c):
    build(c, "a\nb\n")
    before = c.read("f.bloom")
    c.file("some", "a\n")
    c.run("remove f.bloom some missing", code=2, stderr=has("missing: ", "nothing was removed from f.bloom\n"))
    c.expect(c.read("f.bloom") == before and c.names() == ["f.bloom", "some"], "something was written")


@case
def two_removers_lose_nothing(c):
    build(c, numbers(0, 200))
    with open(c.path("f.bloom"), "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        waiting = [c.start("remove -q f.bloom") for _ in range(2)]
        for process, first in zip(waiting, (0, 100)):
            process.stdin.write(numbers(first, 50).encode())
            process.stdin.close()
        for process in waiting:
            c.wait_until_it_waits(process, "it waits for the lock")
    for process in waiting:
        c.expect(process.wait(timeout=30) == 0, "a remover failed")
    c.run("query -c f.bloom", stdin=numbers(0, 200), stdout="100\n")


@keyed
def _key_file(c):
    c.run("build -q -n 100 -p 1e-9 --kind counting --secret-file key -o f.bloom", stdin="a\n")
    c.run("remove f.bloom", stdin="a\n", stderr=None, code=2)
    c.run("remove --secret-file key f.bloom", stdin="a\n", stderr="f.bloom: removed 1 key\n")
    c.run("convert -q -o g.bloom --kind blocked f.bloom")
    c.expect(inspect(c, "g.bloom")["secret_fingerprint"] == inspect(c)["secret_fingerprint"], "another key")


@case
def key_files_are_for_removing_too(c):
    _key_file(c)


@case
def without_counters_it_is_the_blocked_filter(c):
    c.file("keys", numbers(0, 3000) + numbers(0, 1000))
    for options in ("", "--seed 5 --note hello --blocks 2", "-F 1 -d x --trim --counter-bits 8"):
        c.run(f"build -q -n 4000 -p 0.01 --kind counting {options} -o f.bloom keys")
        c.run(f"build -q -n 4000 -p 0.01 {options.replace('--counter-bits 8', '')} -o b.bloom keys")
        c.run("convert -o g.bloom --kind blocked f.bloom", stderr=has("wrote g.bloom: blocked, ", "(counting, "))
        c.expect(c.read("g.bloom") == c.read("b.bloom"), f"'{options}': another file")
        c.run("convert -q -o f.bloom --kind blocked f.bloom")
        c.expect(c.read("f.bloom") == c.read("b.bloom"), f"'{options}': another file in place")


@case
def convert_reports_and_refuses(c):
    build(c, numbers(0, 100))
    report = json.loads(c.run("convert --json -o g.bloom --kind blocked f.bloom", stdout=None)[0])
    c.expect((report["command"], report["file"], report["kind"], report["from"], report["from_kind"])
             == ("convert", "g.bloom", "blocked", "f.bloom", "counting"), f"{report}")
    c.expect(report["bytes"] * 4 == inspect(c)["bytes"], f"{report}")
    for line, sentence in (
            ("-o h --kind counting g.bloom", "does not record how many keys share a bit"),
            ("-o h --kind blocked g.bloom", "is already a blocked filter"),
            ("-o h --kind classic f.bloom", "a classic filter can't be made from a counting one"),
            ("-o h f.bloom", "give --kind blocked, or --from or --to"), ("--kind blocked f.bloom", "no output: give -o FILE"),
            ("-o h --kind blocked", "name one filter"), ("-o h --kind blocked missing", "missing: "),
            ("-o h --kind bloked f.bloom", "did you mean 'blocked'?")):
        c.run(f"convert {line}", stderr=has(sentence), code=2)
    c.file("text", "not a filter")
    c.run("convert -o text --kind blocked f.bloom", stderr=has("text"), code=2)
    c.expect(c.read("text") == b"not a filter" and "h" not in c.names(), "something was written")
    to_stdout = c.run("convert -q -o - --kind blocked f.bloom", stdout=None)[0]
    c.expect(to_stdout == c.read("g.bloom"), "another filter on standard output")


@case
def convert_finds_damage_first(c):
    build(c, numbers(0, 100))
    content = bytearray(c.read("f.bloom"))
    content[len(content) // 2] ^= 1
    c.file("f.bloom", bytes(content))
    c.run("convert -o g.bloom --kind blocked f.bloom", stderr=has("f.bloom: damaged"), code=2)
    c.expect(c.names() == ["f.bloom"], "a filter was made of a damaged one")


@case
def plans_of_counting_filters_come_true(c):
    c.file("keys", numbers(0, 1000))
    for wish in ("-n 1000 --kind counting", "-n 1000 -p 0.01 --counter-bits 8", "-n 1000 --kind counting --blocks 3",
                 "-n 1000 --memory 9KiB --kind counting", "-p 0.02 --memory 9KiB --counter-bits 8"):
        rows = json.loads(c.run(f"plan --json {wish}", stdout=None)[0])["plans"]
        c.expect({row["kind"] for row in rows} == {"counting"}, f"'{wish}': {rows}")
        for row in rows:
            c.run(row["build"].replace("bloomery ", "").replace("FILE [INPUT...]", "f.bloom keys") + " -q",
                  stderr=None)
            info = inspect(c)
            for name in ("kind", "blocks_per_key", "probes", "bits", "bytes", "cell_bits"):
                c.expect(info[name] == row[name], f"'{wish}': {name} {info[name]}, planned {row[name]}")
            c.expect(row["bytes"] * 8 == row["bits"] * row["cell_bits"], f"'{wish}': {row}")


@case
def wrong_wishes_get_a_sentence(c):
    for line, sentence in (
            ("plan -n 10 --counter-bits 5", "--counter-bits 5: must be 4 or 8\n"),
            ("build -o f --counter-bits 16", "--counter-bits 16: must be 4 or 8\n"),
            ("plan -n 10 --kind blocked --counter-bits 4", "--counter-bits is for counting filters; a blocked"),
            ("build -o f --kind classic --counter-bits 4", "--counter-bits is for counting filters; a classic"),
            ("build -o f --kind counting -n 1000 --memory 100", "1000 keys do not fit in 100 bytes"),
            ("remove", "no filter: "), ("remove --json", "no filter: "),
            ("query --counts -v f", "--counts prints a number before each line"),
            ("query --counts -c f", "--counts prints a number before each line")):
        c.run(line, stderr=has(sentence), code=2)
    c.run("build -q -n 10 --kind counting -o f.bloom", stdin="a\n")
    c.run("query --counts -f f.bloom -f f.bloom", stderr=has("--counts is for one filter, not 2\n"), code=2)
    c.run("remove --help", stdout=has("bloomery remove FILTER [INPUT...]", "--strict"))
    c.run("convert --help", stdout=has("bloomery convert -o OUT --kind KIND FILTER"))


@case
def removing_lines_twice_is_warned_about(c):
    """Of the absent lines some are taken for others, at the rate of the moment; their number follows."""
    c.run("build -q -p 0.02 --kind counting -n 2000 -o f.bloom", stdin=numbers(0, 4000), stderr=None)
    c.run("remove f.bloom", stdin=numbers(0, 1000), stderr="f.bloom: removed 1,000 keys\n")
    c.file("copy.bloom", c.read("f.bloom"))
    c.run("query -c copy.bloom", stdin=numbers(1000, 3000), stdout="3000\n")
    report = json.loads(c.run("remove --json f.bloom", stdin=numbers(0, 1000), stdout=None, stderr=has(
        "warning: f.bloom: ", " lines were definitely absent; of the ", " were probably never added either"))[0])
    c.expect(report["removed"] + report["absent"] == 1000 and report["removed"] > 20, f"{report}")
    expected = report["expected_wrong_removals"]
    c.expect(report["removed"] / 2 < expected <= report["removed"], f"{report}")
    denied = 3000 - int(c.run("query -c f.bloom", stdin=numbers(1000, 3000), stdout=None, stderr=None)[0])
    c.expect(denied > 0, "no key was lost, so this case shows nothing")
    # Of ten lines less than one is expected, so remove says nothing.
    c.run("build -q -p 1e-3 --kind counting -n 2000 -o g.bloom", stdin=numbers(0, 2000))
    c.run("remove g.bloom", stdin=numbers(0, 100) + numbers(5000, 10), stderr=has("g.bloom: removed 1"))
    c.run("remove -q g.bloom", stdin=numbers(6000, 10))


main()
