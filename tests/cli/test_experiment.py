# SPDX-License-Identifier: Apache-2.0
"""bloomery-experiment: no number is lost, rates are as predicted, memory is counted; and it notices otherwise."""

import hashlib
import json
import os
import zlib

from runner import Skip, case, has, main

EXPERIMENT = os.path.abspath(os.environ.get("BLOOMERY_EXPERIMENT", "build/lineage/bloomery-experiment"))
TRY = "try 'bloomery-experiment --help'\n"
EXACT = ("strings", "sorted", "integers", "md5")
SMALL = "--keys 20k --queries 200k"
SMALL_ONE = "within what so small a structure varies by"  # a verdict


def experiment(c, line, **more):
    """As c.run, of the program."""
    return c.run(line, program=EXPERIMENT, **more)


def report(c, line=SMALL, code=0, **more):
    """The JSON of an experiment and its structures by name."""
    out = json.loads(experiment(c, f"--json {line}", stdout=None, code=code, **more)[0])
    return out, {row["name"]: row for row in out["structures"]}


def liar(how):
    """Options of c.run for a library whose answers are wrong."""
    if "BLOOMERY_LIAR_LIBRARY" not in os.environ:
        raise Skip("no library that lies")
    return {"environment": {"LD_PRELOAD": os.environ["BLOOMERY_LIAR_LIBRARY"], "BLOOMERY_LIAR": how}}


@case
def exact_sets_have_no_false_positive(c):
    out, rows = report(c)
    c.expect(out["schema"] == 1 and out["keys"] == 20_000 and out["queries"] == 200_000, "the frame")
    for name in EXACT:
        if name in rows or name != "md5":  # which needs libcrypto
            c.expect(rows[name]["verdict"] == "exact", f"{name} is not exact")
            c.expect(rows[name]["false_positives"] == 0, f"{name} has false positives")


@case
def filters_have_the_rate_predicted(c):
    for rate in (0.3, 0.01, 1e-4):
        out, rows = report(c, f"{SMALL} -p {rate}")
        c.expect(not out["finding"] and out["rate"] == rate, "a finding")
        for name in ("blocked", "classic"):
            row = rows[name]
            c.expect(rate / 2 < row["predicted_rate"] <= rate, f"{name}: {row['predicted_rate']}")
            c.expect(0.7 < row["live_rate"] / row["predicted_rate"] < 1.3, f"{name}: live rate")
            absent = out["queries"] - out["member_queries"]
            c.expect(row["rate_absent"] == row["false_positives"] / absent, "the rate over absent")
            c.expect(row["rate_all"] == row["false_positives"] / out["queries"], "the rate over all")
            c.expect(row["verdict"] in ("as predicted", SMALL_ONE), row["verdict"])
            if row["verdict"] == "as predicted":
                c.expect(row["least_expected"] <= row["false_positives"] <= row["most_expected"],
                         "outside its bounds")


@case
def bitmap_has_one_in_a_hundred(c):
    bitmap = report(c)[1]["bitmap"]
    c.expect(abs(bitmap["predicted_rate"] - 0.00995) < 1e-5, f"{bitmap['predicted_rate']}")
    c.expect(0.0085 < bitmap["rate_absent"] < 0.0115, f"{bitmap['rate_absent']}")


@case
def memory_is_counted(c):
    rows = report(c)[1]
    # What each must hold at least, and at most that and a little for itself.
    need = {"strings": 30_000 * 16, "sorted": 20_000 * 8, "integers": 30_000 * 8,
            "md5": 30_000 * 16, "bitmap": 20_000 * 100 // 8}
    for name, least in need.items():
        if name in rows:
            c.expect(least <= rows[name]["bytes"] <= least + 200, f"{name}: {rows[name]['bytes']}")
    for name in ("blocked", "classic"):
        line = f"plan --json -n 20k -p 0.01 --kind {name}"
        plan = [row for row in json.loads(c.run(line, stdout=None)[0])["plans"] if row["recommended"]]
        c.expect(plan[0]["bytes"] <= rows[name]["bytes"] <= plan[0]["bytes"] + 4096,
                 f"{name}: {rows[name]['bytes']} bytes, planned {plan[0]['bytes']}")
        c.expect(rows[name]["bits_per_key"] == 8 * rows[name]["bytes"] / 20_000, "bits per key")


@case
def counts_are_the_same_every_time(c):
    first = {name: row["false_positives"] for name, row in report(c)[1].items()}
    again = {name: row["false_positives"] for name, row in report(c)[1].items()}
    other = {name: row["false_positives"] for name, row in report(c, SMALL + " --seed 5")[1].items()}
    c.expect(first == again, "another count with the same seed")
    c.expect(first != other, "the same counts with another seed")


@case
def text_tells_what_was_shown(c):
    experiment(c, f"{SMALL}", stdout=has(
        "20,000 identification numbers were added to each structure; then 200,000 random numbers",
        "set of strings ", "sorted list ", "set of 64-bit integers ", "one-hash bitmap ",
        "Bloomery, blocked ", "Bloomery, classic ", "Guava's filter, here ",
        "In short: no structure lost any of the 20,000 numbers added to it. Asked for a rate of 0.01,"
        "\nthe blocked filter predicted 0.0"))


@case
def structures_can_be_chosen(c):
    rows = report(c, SMALL + " --structures classic,integers,classic")[1]
    c.expect(list(rows) == ["integers", "classic"], f"{list(rows)}")
    rows = report(c, SMALL + " --structures blocked")[1]
    c.expect(list(rows) == ["blocked"], f"{list(rows)}")


@case
def small_experiments_work(c):
    for keys in (1, 2, 63, 64, 65, 4095, 4096, 4097):
        out, rows = report(c, f"--keys {keys} --queries {keys}")
        c.expect(not out["finding"] and len(rows) >= 6, f"{keys} keys")


@case
def members_among_the_queries_are_no_false_positives(c):
    """One in 5,000 of twelve digits is a number of this many people: some are asked."""
    out, rows = report(c, "--keys 5M --queries 2M --structures sorted,integers,blocked")
    c.expect(out["member_queries"] > 0, "no member was asked")
    for row in rows.values():
        c.expect(row["false_positives"] <= row["rate_all"] * 2_000_000 + 1e-6, row["name"])
        c.expect(row["name"] == "blocked" or row["false_positives"] == 0, row["name"])


@case
def lost_number_ends_it(c):
    lies = liar("forget")
    for name in ("blocked", "classic"):
        experiment(c, f"{SMALL} --structures {name}", code=1, stderr=has(
            f"bloomery-experiment: FALSE NEGATIVE: Bloomery, {name} says that ",
            ", which was added, is not in it\n"), **lies)


@case
def rate_that_is_not_as_predicted_is_a_finding(c):
    lies = liar("invent")
    experiment(c, f"{SMALL} --structures blocked", code=1, stdout=has(": NOT AS PREDICTED.\n"),
          **lies)
    out, rows = report(c, SMALL + " --structures blocked", code=1, **lies)
    c.expect(out["finding"] and rows["blocked"]["verdict"] == "NOT AS PREDICTED", "no finding in JSON")


# ---- The filters of the original ---------------------------------------------------------------------

SLICED_BITS, SLICES = 1 << 28, 12


def ids(c, count):
    """The numbers that the experiment adds."""
    return c.run(f"generate ids --count {count}", stdout=None)[0].split()


def sliced(key):
    """The twelve places of a key, by their definition."""
    digest = hashlib.sha384(key).digest()
    return [int.from_bytes(digest[4 * i:4 * i + 4], "big") % SLICED_BITS for i in range(SLICES)]


def sha384_here(c):
    """These cases need a libcrypto for the filter here."""
    if "md5" not in report(c, "--keys 10 --queries 10")[1]:
        raise Skip("no libcrypto")


@case
def sha384_filter_has_the_bits_of_its_definition(c):
    sha384_here(c)
    row = report(c, "--keys 3000 --queries 3000 --structures sha384-slices")[1]["sha384-slices"]
    image = bytearray(SLICED_BITS // 8)
    for key in ids(c, 3000):
        for place in sliced(key):
            image[place >> 3] |= 1 << (place & 7)
    c.expect((row["bits"], row["probes"]) == (SLICED_BITS, SLICES), f"{row['bits']}, {row['probes']}")
    c.expect((row["written_bytes"], row["written_crc32"]) == (len(image), zlib.crc32(image)), "other bytes")


@case
def guava_filter_has_the_size_of_guavas(c):
    for keys, rate, bits, probes in ((1, 0.01, 64, 6), (20_000, 0.01, 191744, 7), (1000, 1e-4, 19200, 13)):
        row = report(c, f"--keys {keys} --queries 1000 -p {rate} --structures guava")[1]["guava"]
        c.expect((row["bits"], row["probes"]) == (bits, probes), f"{row['bits']}, {row['probes']}")
        c.expect(row["written_bytes"] == 6 + bits // 8, f"{row['written_bytes']}")


@case
def guava_filter_has_the_bytes_of_the_dialect(c):
    row = report(c, "--keys 20k --queries 1000 --structures guava")[1]["guava"]
    c.file("ids.txt", b"\n".join(ids(c, 20_000)) + b"\n")
    c.run(f"build -q --dialect guava -n 20k -p 0.01 -o guava.bf ids.txt")
    with open(c.path("guava.bf"), "rb") as file:
        data = file.read()
    c.expect((row["written_bytes"], row["written_crc32"]) == (len(data), zlib.crc32(data)), "other bytes")


@case
def filters_of_the_original_have_the_rate_predicted(c):
    for rate in (0.3, 0.01, 1e-4):
        out, rows = report(c, f"{SMALL} -p {rate} --structures guava")
        c.expect(not out["finding"], "a finding")
        c.expect(0.8 < rows["guava"]["predicted_rate"] / rate < 1.2, f"{rows['guava']['predicted_rate']}")
        c.expect(rows["guava"]["false_positives"] > 0, "no false positive")


@case
def small_filters_whose_bits_lie_in_steps_are_no_finding(c):
    """Among them some whose only keys have steps that return at once."""
    verdicts = set()
    for keys, rate, seed in ((1, 1e-6, 4), (2, 1e-9, 5), (3, 1e-4, 2), (10, 1e-6, 0), (100, 0.01, 5), (1000, 1e-6, 0)):
        row = report(c, f"--keys {keys} --queries 1M -p {rate} --seed {seed} --structures guava")[1]["guava"]
        verdicts.add(row["verdict"])
    c.expect(SMALL_ONE in verdicts, f"{verdicts}")


@case
def figures_of_the_original_are_beside_what_was_measured(c):
    experiment(c, f"{SMALL} --structures guava,blocked", stdout=has(
        "there              here\n", "191,701,168           191,744\n", "268,435,456                 -\n",
        "10; 12                 -\n", "0.0018                 -\n", "5 / 11          0.0"))


@case
def slow_filter_of_the_original_is_made_on_request(c):
    c.expect("sha384-slices" not in report(c, "--keys 100 --queries 100")[1], "unrequested")
    sha384_here(c)
    experiment(c, "--keys 100 --queries 100 --structures sha384-slices", stdout=has(
        "SHA-384 filter, here ", "268,435,456       268,435,456\n", "10; 12       1860653; 12\n"))


@case
def wrong_usage_gets_a_hint(c):
    for line, sentence in (
            ("--structures blocekd", "unknown structure 'blocekd'; did you mean 'blocked'?"),
            ("--structures blocked,", "unknown structure ''"), ("--keys 0", "--keys 0: "),
            ("--keys 1e12", "--keys 1e12: "), ("--queries 0", "--queries 0: "), ("-p 0", "-p 0: "),
            ("-p 1", "-p 1: "), ("20M", "'20M': the program takes no operands")):
        experiment(c, f"{line}", stderr=has(f"bloomery-experiment: {sentence}", TRY), code=2)
    experiment(c, "--help", stdout=has("bloomery-experiment [--keys N] [--queries M]"))


@case
def full_disk_is_an_error(c):
    for extra in ("", " --json"):
        with open("/dev/full", "wb") as full:
            experiment(c, "--keys 100 --queries 100" + extra, stdout_file=full,
                  stderr=has(os.strerror(28)), code=2)


main()
