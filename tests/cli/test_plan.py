# SPDX-License-Identifier: Apache-2.0
"""plan: the numbers of the table, what is refused and what is offered instead."""

import json
import math
import os
import shlex

from runner import case, has, main

TRY = "try 'bloomery plan --help'\n"


def plans(c, line):
    """The JSON of a plan, by kind and lines."""
    report = json.loads(c.run(f"plan --json {line}", stdout=None)[0])
    c.expect(report["schema"] == 1 and report["command"] == "plan", "no report of plan")
    return {(row["kind"], row["blocks_per_key"]): row for row in report["plans"]}


def chosen(c, line):
    """The recommended plan."""
    rows = [row for row in plans(c, line).values() if row["recommended"]]
    c.expect(len(rows) == 1, f"'{line}': {len(rows)} rows are recommended")
    return rows[0]


@case
def table_is_exact(c):
    c.run("plan -n 20M -p 0.01", stdout="""\
20,000,000 keys at a rate of 0.01 (1 in 100)

                                                                          cache lines for a key
  kind     blocks  probes     memory  bits/key       rate            odds minimum   absent  present
* blocked       1       8   24.1 MiB     10.10       0.01        1 in 100   1.52x     1.00     1.00
  blocked       2       3   23.2 MiB      9.71       0.01        1 in 100   1.46x     1.10     2.00
  blocked       3       2   23.0 MiB      9.66       0.01        1 in 100   1.45x     1.26     3.00
  blocked       4       2   23.2 MiB      9.71       0.01        1 in 100   1.46x     1.45     4.00
  classic       -       7   22.9 MiB      9.59       0.01        1 in 100   1.44x     2.05     7.00
  static        -       7   16.1 MiB      6.75       0.01        1 in 100   1.02x     2.62     2.62

* recommended: bloomery build -n 20000000 -p 0.01 -o FILE [INPUT...]
""")


@case
def bits_per_key_are_those_of_the_design(c):
    """The table of the design, computed by others: classic, then L = 1 to 4 with k, L = 1 as
    planned."""
    table = {
        "1e-2": (9.59, (10.10, 8), (9.71, 3), (9.66, 2), (9.71, 2)),
        "1e-3": (14.38, (15.72, 8), (14.66, 5), (14.57, 3), (14.62, 3)),
        "1e-4": (19.17, (23.61, 8), (19.87, 6), (19.54, 4), (19.43, 3)),
        "1e-6": (28.76, (51.87, 8), (31.45, 8), (29.80, 6), (29.32, 5)),
        "1e-9": (43.13, (186.98, 8), (57.54, 8), (47.19, 8), (45.14, 7)),
    }
    for rate, (classic, *blocked) in table.items():
        rows = plans(c, f"-n 100M -p {rate}")
        got = rows["classic", 0]["bits_per_key"]
        c.expect(abs(got - classic) < 0.03, f"classic at {rate}: {got} bits, not {classic}")
        for lines, (bits, probes) in enumerate(blocked, 1):
            row = rows["blocked", lines]
            c.expect(abs(row["bits_per_key"] - bits) < 0.03 and row["probes"] == probes,
                     f"blocked with {lines} at {rate}: {row['bits_per_key']}, k {row['probes']}")


@case
def any_two_give_the_third(c):
    given = chosen(c, "-n 1M -p 1e-3")
    c.expect(given["rate"] <= 1e-3, "a rate above the one asked for")
    by_memory = chosen(c, f"-n 1M --memory {given['bytes']}")
    c.expect(by_memory["rate"] <= given["rate"] * 1.000001, "the same memory, a worse rate")
    by_rate = chosen(c, f"-p 1e-3 --memory {given['bytes']}")
    c.expect(1_000_000 <= by_rate["keys"] < 1_010_000, f"{by_rate['keys']} keys")
    text = c.run("plan -p 1e-3 --memory 2MiB", stdout=None)[0]
    c.expect(text.startswith(b"As many keys as fit in 2.00 MiB at a rate of 0.001 (1 in 1,000)\n"),
             "the title of a plan for keys")


@case
def keys_alone_mean_one_in_ten_thousand(c):
    c.expect(plans(c, "-n 5000") == plans(c, "-n 5k -p 1/10000"), "another default")


@case
def numbers_belong_together(c):
    for row in plans(c, "-n 123456 -p 0.002").values():
        # The bits of a static filter are its rows, of which each has several columns.
        c.expect(row["bits"] == 8 * row["bytes"] or row["kind"] == "static", "bits and bytes")
        c.expect(abs(row["bits_per_key"] * 123456 - 8 * row["bytes"]) < 1e-3, "bits per key")
        c.expect(abs(row["one_in"] * row["rate"] - 1) < 1e-12, "odds and rate")
        c.expect(row["rate"] <= 0.002 and row["fits"], "the rate asked for")
        c.expect(1 <= row["absent_cache_lines"] <= row["present_cache_lines"] + 1e-9, "lines read")
        c.expect(row["limit_ratio"] > (1 if row["kind"] == "static" else 1.44), "below what a Bloom filter can do")


@case
def line_to_copy_builds_what_was_planned(c):
    c.file("keys", "".join(f"{i}\n" for i in range(1000)))
    wishes = ["-n 1000 -p 0.01", "-n 1000 -p 1e-6", "-n 1000 --memory 3KiB", "-p 0.02 --memory 2KiB",
              "-n 1000 --folds 3 -p 0.1", "-n 1000 --blocks 3", "-n 1000 --kind classic"]
    for wish in wishes:
        for row in plans(c, wish).values():
            line = row["build"].replace("FILE", "f.bloom").replace("[INPUT...]", "keys")
            words = shlex.split(line)
            c.expect(words[:2] == ["bloomery", "build"], f"'{line}' is not a line of build")
            c.run(words[1:] + ["-q"], stderr=None)
            info = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])
            # A static filter is for the keys that come, 1000 here, and its own rate is the promise
            # or less.
            if row["kind"] == "static":
                c.expect(info["kind"] == "static" and info["probes"] == row["probes"] and
                         0.5 * row["rate"] < info["planned_rate"] <= row["rate"], f"'{line}': {info}")
                continue
            for name in ("kind", "blocks_per_key", "probes", "bits", "bytes"):
                c.expect(info[name] == row[name],
                         f"'{line}' makes {name} {info[name]}, planned {row[name]}")
            c.expect(info["planned_keys"] == row["keys"], f"'{line}': {info['planned_keys']} keys")
            c.expect(info["planned_rate"] == row["rate"], f"'{line}': {info['planned_rate']}")


@case
def all_three_that_fit_are_a_plan(c):
    c.run("plan -n 1M -p 0.01 --memory 2MiB",
          stdout=has("1,000,000 keys at a rate of 0.01 (1 in 100), within 2.00 MiB\n",
                     "* recommended: bloomery build -n 1000000 -p 0.01 -o FILE"))


@case
def all_three_that_do_not_fit_say_what_would(c):
    out, err = c.run("plan -n 1M -p 0.01 --memory 1MiB", stderr=None, code=2)
    c.expect(out == b"", "a table of what does not fit")
    c.expect(err.startswith(b"bloomery: plan: 1,000,000 keys at a rate of 1 in 100 need 1.20 MiB "
                            b"and --memory is 1.00 MiB: what fits is a rate of 1 in "),
             f"stderr is {err!r}")
    # What it says does fit.
    keys = err.split(b", or ")[1].split(b" keys")[0].replace(b",", b"").decode()
    c.run(f"plan -n {keys} -p 0.01 --memory 1MiB", stdout=has("* recommended"))
    c.run(f"plan -n {int(keys) + 1} -p 0.01 --memory 1MiB", stderr=None, code=2)


@case
def rows_that_do_not_fit_are_left_out_and_named(c):
    rows = plans(c, "-n 1M -p 1e-4")
    memory = rows["blocked", 2]["bytes"]
    c.expect(rows["blocked", 2]["recommended"] and rows["blocked", 1]["bytes"] > memory, "the setting")
    c.run(f"plan -n 1M -p 1e-4 --memory {memory}",
          stdout=has("Left out: blocked with 1 block, which needs ", "\n* blocked       2 "))
    left = plans(c, f"-n 1M -p 1e-4 --memory {memory}")
    c.expect([row["fits"] for row in left.values()] == [False, True, True, True, True, True],
             "what fits")


@case
def kind_that_would_fit_is_named(c):
    memory = plans(c, "-n 1M -p 1e-4")["classic", 0]["bytes"]
    c.run(f"plan -n 1M -p 1e-4 --memory {memory}", stderr=has(", or classic, in "), code=2)


@case
def billion_keys_in_ten_bytes_say_the_rate_and_the_need(c):
    c.run("plan -n 1e9 --memory 10", code=2, stderr=(
        "bloomery: plan: 1000000000 keys do not fit in 10 bytes: the best rate would be over 99.99 "
        "%; for 1 in 100 they need 1.18 GiB\n"))
    c.run("plan -n 1e9 -p 0.01 --memory 10", code=2,
          stderr=has("1,000,000,000 keys at a rate of 1 in 100 need 1.18 GiB and --memory is 10 "
                     "bytes, where no useful rate fits\n"))


@case
def bad_numbers_get_a_sentence(c):
    for line, sentence in (
            ("-n 100 -p 0", "-p 0: "), ("-n 100 -p 2", "-p 2: "), ("-n -5", "-n "),
            ("-n 0", "-n 0: must be a whole number from 1 to 281,474,976,710,656\n"),
            ("-n 1e30", "-n "),
            ("-n 10 --blocks 5", "--blocks 5: "), ("-n 10 --blocks 0", "--blocks 0: "),
            ("-n 10 --folds 31", "--folds 31: "), ("-n 10 --memory 0", "--memory 0"),
            ("-n 10 --memory 1PiB", "--memory 1PiB"), ("-n ten", "-n "), ("-n 10 -p much", "-p "),
            ("-p 0.01", "no size: "), ("--memory 1GB", "no size: "), ("", "no size: ")):
        c.run(f"plan {line}", stderr=has(f"bloomery: plan: {sentence}", TRY), code=2)


@case
def unknown_kind_suggests_the_nearest(c):
    c.run("plan -n 10 --kind blokced", code=2, stderr=(
        "bloomery: plan: unknown kind 'blokced'; did you mean 'blocked'?\n" + TRY))
    c.run("plan -n 10 --kind quotient", code=2, stderr=has("unknown kind 'quotient'"))


@case
def a_cuckoo_filter_is_planned_for_what_8_bits_can_do(c):
    row = json.loads(c.run("plan -n 60k -p 1.5% --kind cuckoo --json", stdout=None)[0])["plans"][0]
    c.expect((row["kind"], row["probes"], row["cell_bits"], row["bits"]) == ("cuckoo", 4, 8, 131072), f"{row}")
    c.expect(0.014 < row["rate"] <= 0.015 and row["bytes"] == 131072, f"{row}")
    c.run("plan -n 60k --kind cuckoo", stdout=has("at a rate of 0.02", "--kind cuckoo -o FILE"))
    c.run("plan -n 60k -p 1e-4 --kind cuckoo", code=2, stderr=has("plan one of kind counting, or a rate of 1 in 200"))
    for options in ("--probes 3 -p 2%", "--folds 2", "--url", "--blocks 2", "--counter-bits 4"):
        c.run(f"plan -n 60k --kind cuckoo {options}", code=2, stderr=has("cuckoo"))


@case
def a_cuckoo_filter_is_built_changed_and_converted(c):
    c.file("keys", "".join(f"{i}\n" for i in range(1000)))
    c.file("half", "".join(f"{i}\n" for i in range(500)))
    c.run("build --kind cuckoo -o f.bloom keys", code=2, stderr=has("give their number with -n"))
    c.run("build -q --kind cuckoo -n 1000 -o f.bloom keys", stderr=None)
    c.run("query -c f.bloom keys", stdout="1000\n")
    c.run("add -q f.bloom half", stderr=None)
    c.run("remove -q f.bloom keys", stderr=None)
    c.run("query -c f.bloom half", stdout="500\n")
    c.run("query --counts f.bloom half", stdout=has("1\t0\n1\t1\n"))
    info = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])
    c.expect((info["kind"], info["dialect"], info["adds"], info["removed"], info["tables"], info["slots"],
              info["iterations"], info["growth"]) == ("cuckoo", "redisbloom-cuckoo", 500, 1000, 1, 4, 500, 1), f"{info}")
    c.run("inspect f.bloom", stdout=has("in one of 2 buckets of 4 slots", "slots taken      500 of"))
    c.run("convert -q --to redisbloom-cuckoo -o f.cf f.bloom", stderr=None)
    c.run("convert -q --from redisbloom-cuckoo -o g.bloom f.cf", stderr=None)
    c.run("convert -q --to redisbloom-cuckoo -o g.cf g.bloom", stderr=None)
    c.expect(c.read("f.cf") == c.read("g.cf") and len(c.read("f.cf")) == 38 + info["bytes"], "other bytes")
    for line, said in (("merge -o m.bloom f.bloom f.bloom", "cuckoo filters can't be merged"),
                       ("fold -o m.bloom f.bloom", "cuckoo filters can't be folded"),
                       ("compare f.bloom f.bloom", "can't be compared"), ("plot f.bloom", "has no curve"),
                       ("convert --kind counting -o m.bloom f.bloom", "does not contain its keys"),
                       ("build --kind cuckoo -n 9 --keyed -o m.bloom keys", "cuckoo filter has its own hash"),
                       ("dedupe --state f.bloom keys", "is a filter of another system")):
        c.run(line, code=2, stdout=None, stderr=has(said))


@case
def lines_are_for_blocked_filters(c):
    c.run("plan -n 10 --kind classic --blocks 2", code=2, stderr=has("--blocks is for blocked", TRY))
    c.expect(list(plans(c, "-n 10 --blocks 2")) == [("blocked", 2)], "other rows than asked for")
    c.expect(list(plans(c, "-n 10 --kind classic")) == [("classic", 0)], "other kinds than asked for")
    c.expect(len(plans(c, "-n 10 --kind blocked")) == 4, "not every number of lines")


@case
def folds_make_sizes_that_halve(c):
    for row in plans(c, "-n 10000 -p 0.01 --folds 6").values():
        c.expect(row["bytes"] % (64 << 6) == 0, f"{row['bytes']} bytes can't be halved six times")
        c.expect(row["build"].split(" -o ")[0].endswith("--folds 6"), row["build"])


@case
def what_if_rates_are_those_of_the_formula(c):
    """In the limit of many keys a classic filter's rate is (1 - e^(-k n/m))^k."""
    for bits, probes in ((10, 3), (10, 7), (4, 12), (9.6, 6), (20, 14)):
        row = plans(c, f"--bits-per-key {bits} --probes {probes} --kind classic")["classic", 0]
        limit = (1 - math.exp(-probes / bits)) ** probes
        c.expect(abs(row["rate"] / limit - 1) < 1e-4, f"{bits} bits, {probes} probes: {row['rate']}, not {limit}")
        c.expect(row["keys"] == 1_000_000 and row["probes"] == probes, f"other numbers: {row}")
        c.expect(abs(row["bits_per_key"] - bits) < 1e-4 and row["bits"] == 8 * row["bytes"], f"{row}")


@case
def what_if_table_is_exact(c):
    c.run("plan --bits-per-key 10 --probes 3", stdout="""\
What if 1,000,000 keys had 10 bits each and 3 probes?

  kind     blocks  probes     memory  bits/key       rate            odds   best   its rate
  blocked       1       3   1.19 MiB     10.00     0.0185         1 in 54      6    0.00973
  blocked       2       3   1.19 MiB     10.00    0.00883        1 in 113      3    0.00883
  blocked       3       3   1.19 MiB     10.00    0.00943        1 in 106      2    0.00861
  blocked       4       3   1.19 MiB     10.00     0.0139       1 in 72.1      2     0.0086
  classic       -       3   1.19 MiB     10.00     0.0174       1 in 57.4      7    0.00819

best: the number of probes with the lowest rate at this size.
""")


@case
def what_if_of_a_plan_is_that_plan(c):
    """The rate of a plan's own size and probes is the plan's, of every kind."""
    for kind in ("blocked", "classic", "counting"):
        for (_, blocks), plan in plans(c, f"-n 70000 -p 0.003 --kind {kind}").items():
            line = f"-n 70000 --memory {plan['bytes']} --probes {plan['probes']} --kind {kind}"
            row = plans(c, line + (f" --blocks {blocks}" if blocks else ""))[kind, blocks]
            c.expect(row["bytes"] == plan["bytes"] and row["rate"] == plan["rate"], f"{row}, {plan}")
            c.expect(row["best_rate"] <= row["rate"], f"no best: {row}")


@case
def what_if_without_probes_shows_the_best(c):
    for row in plans(c, "--bits-per-key 12 -n 5000").values():
        c.expect(row["probes"] == row["best_probes"] and row["rate"] == row["best_rate"], f"{row}")
        others = plans(c, f"--bits-per-key 12 -n 5000 --probes {row['probes'] + 1}")
        other = others.get((row["kind"], row["blocks_per_key"]))
        c.expect(other is None or other["rate"] >= row["rate"], f"{row}, {other}")


@case
def what_if_memory_gives_the_keys(c):
    row = plans(c, "--bits-per-key 8 --memory 1MiB --blocks 1")["blocked", 1]
    c.expect(row["keys"] == 1 << 20 and row["bytes"] == 1 << 20, f"{row}")


@case
def probes_with_a_rate_give_the_memory(c):
    rows = plans(c, "-n 1M -p 0.01 --probes 3")
    for row in rows.values():
        c.expect(row["probes"] == 3 and row["rate"] <= 0.01 and not row["recommended"], f"{row}")
        c.expect("build" not in row, "a line for 'build', which chooses other probes")
    c.expect(len(rows) == 5, f"{len(rows)} rows")
    c.expect(list(plans(c, "-n 1M -p 0.01 --probes 9")) == [("classic", 0)], "nine probes of a block")
    # A worse number of probes takes more memory.
    c.expect(rows["classic", 0]["bytes"] > plans(c, "-n 1M -p 0.01")["classic", 0]["bytes"], "no more")


@case
def what_if_refuses_what_does_not_go_together(c):
    for line, said in (
            ("--bits-per-key 10 -p 0.01", "--bits-per-key decides the rate: leave out -p"),
            ("--bits-per-key 10 -n 5 --memory 1M", "--bits-per-key takes -n or --memory, not both"),
            ("--probes 3 -n 5 -p 0.1 --memory 1M", "two of -n, -p and --memory, not all three"),
            ("--probes 3 -n 5 --folds 1", "do not go with --folds"),
            ("--probes 3 --kind scalable", "filters of one layer"),
            ("--bits-per-key 3 --grow-to 1M", "filters of one layer"),
            ("--probes 9 --kind blocked -n 5", "a key has at most 8 probes in a block"),
            ("--probes 9 --blocks 2 -n 5", "--blocks is for blocked filters"),
            ("--probes 65 -n 5", "--probes 65: must be a whole number from 1 to 64"),
            ("--probes 3", "no size: "), ("--probes 3 --table", "only --json goes with it"),
            ("--probes 3 --sieve -n 5", "not those of filters"),
            ("--bits-per-key 0", "must be a number from 0.1 to 10,000"),
            ("--bits-per-key 1e4", "must be a number"), ("--bits-per-key -1", "must be a number"),
            ("--bits-per-key ''", "must be a number"), ("--bits-per-key 1..2", "must be a number")):
        c.run(f"plan {line}", code=2, stderr=has(said, TRY))
    c.run("plan --bits-per-key 60 -n 200T", code=2, stderr=has("at most 128 TiB"))
    c.run("plan --probes 1 -n 1M -p 1e-15 --blocks 1", code=2, stderr=has("no filter"))


@case
def extreme_what_ifs_end_in_an_answer(c):
    for line in ("--bits-per-key 0.1 -n 1", "--bits-per-key 10000 -n 1", "--probes 64 --bits-per-key 10000",
                 "-n 281474976710656 --bits-per-key 0.1", "-n 281474976710656 --memory 64 --probes 8",
                 "--bits-per-key 0.1 --memory 1 --probes 64", "-n 1 --memory 128TiB --probes 8"):
        for row in plans(c, line).values():
            c.expect(0 < row["rate"] <= 1 and row["bytes"] > 0, f"{line}: {row}")


@case
def operands_are_refused(c):
    """A number that lacks its option is given one in the message."""
    for operands, meant in (("20M 1%", "-n 20M -p 1%"), ("1e-6 512MiB", "-p 1e-6 --memory 512MiB"), ("20", "-n 20")):
        c.run(f"plan {operands}", stderr=f"bloomery: plan: '{operands.split()[0]}': plan takes no operands; did you mean '{meant}'?\n"
              + TRY, code=2)
    c.run("plan -n 10 x 20", stderr="bloomery: plan: 'x': plan takes no operands\n" + TRY, code=2)


@case
def extreme_wishes_end_in_an_answer(c):
    for line in ("-n 1 -p 0.999", "-n 1", "-n 2 --memory 64", "-n 3 -p 1e-15",
                 "-n 281474976710656 -p 0.5", "-p 0.5 --memory 64", "-n 1 --memory 1TiB"):
        chosen(c, line)
    c.run("plan -n 281474976710656 -p 1e-15", stderr=has("no filter"), code=2)
    c.run("plan -n 100 --memory 1", stderr=has("100 keys do not fit in 1 bytes"), code=2)


@case
def help_is_on_stdout(c):
    c.run("plan --help", stdout=has("bloomery plan -n N [-p RATE]", "--memory SIZE", "--json"))


@case
def locale_changes_nothing(c):
    plain = c.run("plan -n 12345 -p 0.01", stdout=None)[0]
    for locale in ("C", "de_DE.UTF-8", "tr_TR.UTF-8"):
        c.run("plan -n 12345 -p 0.01", stdout=plain, environment={"LC_ALL": locale, "LANG": locale})


@case
def full_disk_is_an_error(c):
    for extra in ("", " --json"):
        with open("/dev/full", "wb") as full:
            c.run("plan -n 10" + extra, stdout_file=full, stderr=has(os.strerror(28)), code=2)


@case
def a_rate_far_below_the_wanted_one_is_called_so(c):
    """The smallest filter has room for many keys more, and its rate with one key cannot be compared."""
    text, _ = c.run("plan -n 1", stdout=None)
    c.expect(b"far below" in text and b"281,000,000,000,000" not in text and b"1 in 10,000" in text, f"{text}")
    text, _ = c.run("plan -n 1000", stdout=None)
    c.expect(b"far below" not in text, f"{text}")


@case
def a_scalable_filter_is_compared_with_the_least_for_its_rate(c):
    for keys, rate in ((20000000, 0.01), (1000, 0.1), (1000000, 1e-6)):
        row = plans(c, f"-n {keys} -p {rate} --kind scalable")["scalable", 0]
        least = row["bits_per_key"] / -math.log2(rate)
        c.expect(abs(row["limit_ratio"] - least) < 1e-9, f"{keys} at {rate}: {row['limit_ratio']}, not {least}")
    c.run("plan -n 20M -p 0.01 --kind scalable", stdout=has(" 2.00x "))


@case
def plans_of_other_systems_are_what_build_makes(c):
    """Bits, probes and the rate of a plan are those of the filter that was made, in as many systems as there are."""
    c.file("keys", "".join(f"{i}\n" for i in range(1000)))
    rows = json.loads(c.run("plan --dialect all -n 1000 -p 0.01 --json", stdout=None)[0])["plans"]
    c.expect(len(rows) >= 16, f"{len(rows)} systems")
    for row in rows:
        name = row["dialect"]
        if row["bytes"] > 1 << 20 or name == "redisbloom-cuckoo": # not made for so few keys; gets a second table
            continue
        size = ",bits_per_key=10" if name in ("leveldb", "rocksdb") else ",rate=0.01"
        c.run(f"build -q --ours --dialect {name},keys=1000{size} -o f.bloom keys", stderr=None)
        info = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])
        c.expect((info["bits"], info["probes"]) == (row["bits"], row["probes"]), f"{name}: {row}, made {info}")
        c.expect(info["dialect"] == name and row["keys"] == 1000 and row["wanted_rate"] == 0.01, f"{row}")
        c.expect(0.7 < info["predicted_rate"] / row["rate"] < 1.4, f"{name}: {row['rate']}, {info['predicted_rate']}")


@case
def a_plan_of_a_system_takes_its_own_numbers(c):
    row = json.loads(c.run("plan --dialect leveldb,bits_per_key=10 -n 20 --json", stdout=None)[0])["plans"][0]
    c.expect((row["bits"], row["probes"], row["wanted_rate"]) == (200, 6, None), f"{row}")
    row = json.loads(c.run("plan --dialect guava,variant=mitz32,bits=640,probes=3 --json", stdout=None)[0])["plans"][0]
    c.expect((row["bits"], row["probes"], row["rate"], row["variant"]) == (640, 3, 0, "mitz32"), f"{row}")
    c.run("plan --dialect leveldb -n 1M -p 1e-6", stdout=has("1 in 4,280", "234 times the wanted rate"))
    c.run("plan --dialect cassandra -n 1M -p 1e-6", code=2, stderr=has("Cassandra's rates are"))
    for line, said in (("all -n 10", "--dialect all takes -n and -p"), ("guava -n 10 --memory 1MiB", "--dialect takes -n, -p and"),
                       ("guava -n 10 -p 0.1 --kind classic", "--dialect takes -n, -p and"), ("none -n 1", "unknown dialect")):
        c.run(f"plan --dialect {line}", code=2, stderr=has(said))


main()
