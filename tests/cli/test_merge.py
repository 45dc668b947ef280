# SPDX-License-Identifier: Apache-2.0
"""merge: parts become the whole, to the byte; merge says what does not fit, and writes nothing then."""

import json
import os
import resource
import signal
import time

from runner import case, has, keyed, main


def numbers(first, count):
    """Some keys."""
    return "".join(f"{i}\n" for i in range(first, first + count))


def parts(c, options="", names=("a", "b", "c"), keys=2000):
    """Parts of one plan, of 2000 keys each, and the whole."""
    for number, name in enumerate(names):
        c.run(f"build -q -n {keys * len(names)} -p 1% {options} -o {name}.bloom",
              stdin=numbers(number * keys, keys))
    c.run(f"build -q -n {keys * len(names)} -p 1% {options} -o whole.bloom",
          stdin=numbers(0, keys * len(names)))


@case
def merged_parts_are_the_whole(c):
    for options in ("", "--kind classic", "--blocks 3", "--seed 5 --trim --note same"):
        parts(c, options)
        c.run("merge -o merged.bloom a.bloom b.bloom c.bloom",
              stderr=has("wrote merged.bloom: union of 3 filters, about ", " keys, ", ", 1 in "))
        c.expect(c.read("merged.bloom") == c.read("whole.bloom"), f"{options}: the files differ")
        c.run("merge -q -o - a.bloom b.bloom c.bloom", stdout=c.read("whole.bloom"))
        c.run("merge -q -o one.bloom whole.bloom")
        c.expect(c.read("one.bloom") == c.read("whole.bloom"), "one filter alone is not the same")


@case
def output_may_be_an_input(c):
    parts(c)
    os.chmod(c.path("b.bloom"), 0o640)
    os.symlink("b.bloom", c.path("link"))
    c.run("merge -q -o link a.bloom b.bloom c.bloom")
    c.expect(c.read("b.bloom") == c.read("whole.bloom"), "the files differ")
    c.expect(os.path.islink(c.path("link")), "the link was replaced")
    c.expect(os.stat(c.path("b.bloom")).st_mode & 0o777 == 0o640, "the mode was lost")


@case
def scalable_filters_are_put_one_behind_the_other(c):
    c.run("build -q -n 100 -p 1% --kind scalable -o a.bloom", stdin=numbers(0, 3000), stderr=None)
    c.run("build -q -n 100 -p 1% --kind scalable -o b.bloom", stdin=numbers(3000, 500), stderr=None)
    c.run("merge --json -o m.bloom a.bloom b.bloom", stdout=None, stderr=None)
    c.run("query -c m.bloom", stdin=numbers(0, 3500), stdout="3500\n")
    layers = [json.loads(c.run(f"inspect --json {name}.bloom", stdout=None)[0])["layers"]
             for name in "abm"]
    c.expect(layers[0] + layers[1] == layers[2], f"{layers}")
    c.run("merge -q -o a.bloom a.bloom b.bloom", stderr=None)
    c.expect(c.read("a.bloom") == c.read("m.bloom"), "the files differ")
    c.run("merge --intersect -o i.bloom a.bloom b.bloom", code=2, stderr=has("scalable"))


@case
def seventy_shards_of_one_plan_are_one_layer(c):
    for shard in range(70):
        c.run(f"dedupe -q -n 10000 -p 1e-6 --state {shard}.bloom", stdin=numbers(100 * shard, 50), stdout=None)
    c.run("merge -o all.bloom " + " ".join(f"{shard}.bloom" for shard in range(70)),
          stderr=has("wrote all.bloom: union of 70 filters, about 3,"))
    facts = json.loads(c.run("inspect --json all.bloom", stdout=None)[0])
    c.expect((facts["layers"], facts["planned_rate"]) == (1, 1e-6), f"{facts}")
    for shard in (0, 33, 69):
        c.run("query -c all.bloom", stdin=numbers(100 * shard, 100), stdout="50\n")


@case
def shards_that_are_too_full_are_refused_with_what_to_do(c):
    for shard in range(65):
        c.run(f"build -q --kind scalable -n 100 -p 1% -o {shard}.bloom", stdin=numbers(100 * shard, 90))
    c.run("merge -o all.bloom " + " ".join(f"{shard}.bloom" for shard in range(65)), code=2,
          stderr=has("the union would have 65 layers, and a filter has 64 at most", "dedupe --against, query -f"))


@case
def larger_filters_are_folded(c):
    c.run("build -q -n 4000 -p 1e-6 --folds 4 -o a.bloom", stdin=numbers(0, 2000))
    c.run("build -q -n 4000 -p 1e-6 --folds 4 -o large.bloom", stdin=numbers(2000, 2000))
    c.run("build -q -n 4000 -p 1e-6 --folds 4 -o whole.bloom", stdin=numbers(0, 4000))
    c.run("fold -q --times 2 -o small.bloom a.bloom")
    c.run("fold -q --times 2 -o whole.bloom whole.bloom")
    c.run("merge -o m.bloom small.bloom large.bloom",
          stderr=has("large.bloom is folded: ", "wrote m.bloom"))
    c.expect(c.read("m.bloom") == c.read("whole.bloom"), "the files differ")
    text, _ = c.run("merge -q --json -o n.bloom large.bloom small.bloom", stdout=None)
    report = json.loads(text)
    c.expect(report["folded"] == 1 and report["filters"] == 2, f"{report}")
    c.expect(c.read("n.bloom") == c.read("whole.bloom"), "the other way round it is another")
    c.run("merge -q -o - large.bloom small.bloom", stdout=c.read("n.bloom"))


@case
def intersection_keeps_common_keys(c):
    c.run("build -q -n 4000 -p 1% -o a.bloom", stdin=numbers(0, 3000))
    c.run("build -q -n 4000 -p 1% -o b.bloom", stdin=numbers(1000, 3000))
    c.run("merge --intersect -o i.bloom a.bloom b.bloom",
          stderr=has("wrote i.bloom: intersection of 2 filters, bits as of about "))
    c.run("query -c i.bloom", stdin=numbers(1000, 2000), stdout="2000\n")
    found, _ = c.run("query -c i.bloom", stdin=numbers(5000, 10_000), stdout=None, stderr=None)
    c.expect(int(found) < 60, f"{found}")


@case
def misfits_are_named(c):
    parts(c)
    c.run("build -q -n 6000 -p 1% --kind classic -o k.bloom", stdin="")
    c.run("build -q -n 6000 -p 1% --seed 9 -o s.bloom", stdin="")
    before = c.names()
    c.run("merge -o m.bloom a.bloom k.bloom", code=2,
          stderr="bloomery: merge: a.bloom and k.bloom are not compatible: the kinds differ: "
                 "blocked, and classic\n")
    c.expect(c.names() == before, f"{c.names()}")
    c.run("build -q -n 5500 -p 1% -o n.bloom", stdin="")
    c.run("merge --check-only a.bloom n.bloom", code=1, stdout=has(
        " and n.bloom are not compatible: the sizes differ: ", " bits, and ",
        "gives the smaller one: plan all parts for the same keys and rate\n"))
    os.remove(c.path("n.bloom"))
    c.run("merge --check-only a.bloom b.bloom c.bloom", stdout="3 filters are compatible\n")
    c.run("merge --check-only a.bloom k.bloom b.bloom s.bloom", code=1,
          stdout="a.bloom and k.bloom are not compatible: the kinds differ: blocked, and classic\n"
                 "a.bloom and s.bloom are not compatible: the seeds differ: 0, and 9\n")
    c.run("merge -q --check-only a.bloom k.bloom", code=1)
    text, _ = c.run("merge --json --check-only a.bloom s.bloom", code=1, stdout=None)
    report = json.loads(text)
    c.expect(not report["fits"] and [f["fits"] for f in report["filters"]] == [True, False] and
             report["filters"][1]["reason"] == "the seeds differ: 0, and 9", f"{report}")
    c.expect(c.names() == before, f"{c.names()}")


@case
def usage_is_printed(c):
    c.run("merge a.bloom", code=2, stderr=has("no output: give -o FILE", "try 'bloomery merge"))
    c.run("merge -o m.bloom", code=2, stderr=has("no filters: ", "try 'bloomery merge"))
    c.run("merge -o m.bloom missing", code=2,
          stderr="bloomery: merge: missing: No such file or directory\n")
    c.run("merge --json -o - a.bloom", code=2, stderr=has("standard output"))
    c.run("merge --check-only -o m.bloom a.bloom", code=2, stderr=has("--check-only writes nothing"))
    c.expect(not c.names(), f"{c.names()}")
    c.file("text", "no filter\n")
    parts(c)
    c.run("merge -o text a.bloom b.bloom", code=2, stderr=has("--force overwrites it"))
    c.expect(c.read("text") == b"no filter\n", "it was overwritten")
    c.run("merge -q --force -o text a.bloom b.bloom c.bloom")
    c.expect(c.read("text") == c.read("whole.bloom"), "the files differ")


@case
def damage_is_reported_with_its_file(c):
    parts(c, keys=60_000)
    damaged = bytearray(c.read("b.bloom"))
    damaged[100_000] ^= 1
    c.file("b.bloom", damaged)
    for output in ("m.bloom", "-"):
        c.run(f"merge -o {output} a.bloom b.bloom c.bloom", code=2,
              stderr=has("bloomery: merge: b.bloom: ", "damaged"))
    c.expect("m.bloom" not in c.names(), "it was written")


@keyed
def keyed_parts(c):
    """Parts that don't carry their key, and the key."""
    c.run("build -q -n 200 -p 1% --secret-file key -o a.bloom", stdin=numbers(0, 50))
    c.run("build -q -n 200 -p 1% --secret-file key -o b.bloom", stdin=numbers(50, 50))


@case
@keyed
def keyed_filters_merge_without_their_key(c):
    keyed_parts(c)
    c.run("merge -q -o m.bloom a.bloom b.bloom")
    c.run("merge -q -o n.bloom --secret-file key a.bloom b.bloom")
    c.expect(c.read("m.bloom") == c.read("n.bloom"), "the key made a difference")
    c.run("query --secret-file key -c m.bloom", stdin=numbers(0, 100), stdout="100\n")
    c.file("other", "00" * 16)
    c.run("merge -o m.bloom --secret-file other a.bloom b.bloom", code=2, stderr=has("is not the one"))
    c.run("build -q -n 200 -p 1% --keyed -o x.bloom", stdin="")
    c.run("merge -o m.bloom a.bloom x.bloom", code=2, stderr=has("the secrets differ"))


@case
def overfull_unions_are_warned_about(c):
    c.run("build -q -n 2000 -p 1% -o a.bloom", stdin=numbers(0, 2000))
    c.run("build -q -n 2000 -p 1% -o b.bloom", stdin=numbers(2000, 2000))
    c.run("merge -q -o m.bloom a.bloom b.bloom",
          stderr=has("warning: m.bloom: holds about ", "was planned for 2,000"))


@case
def failed_write_leaves_the_old_file_and_no_litter(c):
    parts(c)
    before = c.read("a.bloom")
    names = c.names()

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    c.run("merge -o a.bloom a.bloom b.bloom", code=2, stderr=has("File too large"),
          preexec_fn=small_files)
    c.expect(c.read("a.bloom") == before and c.names() == names, f"{c.names()}")


@case
def killed_merge_leaves_the_old_file_or_the_new_one(c):
    """Killed right after it began, when it has the lock, and later and later, among them some while it writes."""
    c.run("build -q -n 20M -p 1% -o a.bloom", stdin=numbers(0, 1000))
    c.run("build -q -n 20M -p 1% -o b.bloom", stdin=numbers(1000, 1000))
    old = c.read("a.bloom")
    c.run("merge -q -o new a.bloom b.bloom")
    new = c.read("new")
    killed = 0
    for attempt in range(12):
        c.file("a.bloom", old)
        process = c.start("merge -q -o a.bloom a.bloom b.bloom")
        if attempt > 0:
            c.wait_until(lambda: process.poll() is not None or c.is_locked("a.bloom"), "it has the lock")  # pylint: disable=cell-var-from-loop
        time.sleep(max(0, attempt - 1) * 0.002)  # any moment will do
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        now = c.read("a.bloom")
        c.expect(now in (old, new), f"neither the old file nor the new one, but {len(now)} bytes")
    c.expect(killed > 0, "no merge was killed")
    c.run("merge -q -o a.bloom a.bloom b.bloom")  # a killed merge's lock is gone with it


@case
def merge_waits_for_an_adder(c):
    parts(c)
    adder = c.start("add -q a.bloom")
    adder.stdin.write(b"a key\n")
    adder.stdin.flush()
    c.wait_for_lock("a.bloom")
    merger = c.start("merge -q -o a.bloom a.bloom b.bloom")
    c.wait_until_it_waits(merger, "the merge waits for the adder")
    for process in (adder, merger):
        _, stderr = process.communicate(timeout=60)
        c.expect(process.returncode == 0 and stderr == b"", f"{process.returncode}: {stderr}")
    c.run("query -c a.bloom", stdin="a key\n" + numbers(0, 4000), stdout="4001\n")


@case
def files_of_another_system_are_merged_as_they_are(c):
    """What `join` of DCSO's bloom does, in one step; the same bits as of a filter of all keys."""
    some, others = "".join(f"{i}\n" for i in range(600)), "".join(f"{i}\n" for i in range(400, 1000))
    for dialect, exact in (("guava", True), ("spark", True), ("orc", True), ("cassandra", True), ("dcso", False)):
        for name, keys in (("a.bf", some), ("b.bf", others), ("all.bf", some + others)):
            c.run(f"build -q --force --dialect {dialect} -n 1000 -p 0.01 -o {name}", stdin=keys, stderr=None)
        c.run(f"merge -q --force --dialect {dialect} -o m.bf a.bf b.bf")
        c.run(f"compare -q --dialect {dialect} m.bf all.bf")
        c.expect(not exact or c.read("m.bf") == c.read("all.bf"), f"{dialect}: other bytes than of all keys")
        c.run(f"query -c --dialect {dialect} m.bf", stdin=some + others, stdout="1200\n")
        c.run(f"merge -q --force --ours --dialect {dialect} -o m.bloom a.bf b.bf")
        c.run("query -c m.bloom", stdin=some + others, stdout="1200\n")
        c.run(f"compare -q --dialect {dialect} m.bloom all.bf")
        c.run(f"merge -q --force --intersect --dialect {dialect} -o i.bf a.bf all.bf")
        c.run(f"compare -q --dialect {dialect} i.bf a.bf")
        c.run(f"merge --check-only --dialect {dialect} a.bf b.bf m.bloom", stdout="3 filters are compatible\n")
        c.run(f"merge -q --dialect {dialect} -o - a.bf b.bf", stdout=c.read("m.bf"))
    c.run("merge --dialect dcso -o b.bf a.bf b.bf", code=2, stderr=has("--force overwrites it"))
    c.run("compare --dialect guava a.bf b.bf", code=2, stderr=has("this looks like a filter of dcso"))
    c.run("merge --ours -o x.bloom m.bloom", code=2, stderr=has("--ours goes with --dialect"))


@case
def a_merged_file_loses_nothing_that_the_parts_have(c):
    """An index of ClickHouse's has many filters, of which one was merged."""
    block = c.run("build -q --dialect clickhouse-index -n 8 -p 0.01 -o -", stdin="a\n", stdout=None, stderr=None)[0]
    c.file("two.idx", block * 3000)
    reading = "--dialect clickhouse-index,rate=0.01,index=1"
    c.run(f"merge {reading} -o m.idx two.idx two.idx", code=2,
          stderr=has("has more than one filter", "--ours makes a Bloomery file"))
    c.expect("m.idx" not in c.names(), "it was written")
    c.run(f"merge -q {reading} --ours -o m.bloom two.idx two.idx", stderr=None)


main()
