# SPDX-License-Identifier: Apache-2.0
"""experiment: no number is lost, rates are as predicted, memory is counted; and it notices otherwise."""

import json
import os

from runner import Skip, case, has, main

TRY = "try 'bloomery experiment --help'\n"
EXACT = ("strings", "sorted", "integers", "md5")
SMALL = "--keys 20k --queries 200k"


def report(c, line=SMALL, code=0, **more):
    """The JSON of an experiment and its structures by name."""
    out = json.loads(c.run(f"experiment --json {line}", stdout=None, code=code, **more)[0])
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
            c.expect(row["verdict"] in ("as predicted", "as these bits"), row["verdict"])
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
    need = {"strings": 20_000 * 13 + 30_000 * 8, "sorted": 20_000 * 12, "integers": 30_000 * 8,
            "md5": 30_000 * 16, "bitmap": 20_000 * 100 // 8}
    for name, least in need.items():
        if name in rows:
            c.expect(least <= rows[name]["bytes"] <= least + 200, f"{name}: {rows[name]['bytes']}")
    c.expect(rows["sorted"]["most_bytes"] >= rows["sorted"]["bytes"] + 2 * 8 * 20_000,
             "sorting took no memory")
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
    c.run(f"experiment {SMALL}", stdout=has(
        "20,000 identification numbers were added to each structure; then 200,000 random numbers",
        "set of strings ", "sorted list ", "set of 64-bit integers ", "one-hash bitmap ",
        "Bloomery, blocked ", "Bloomery, classic ", "191,701,168 bits", "268,435,456 bits", "0.0018",
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
        c.run(f"experiment {SMALL} --structures {name}", code=1, stderr=has(
            f"bloomery: experiment: FALSE NEGATIVE: Bloomery, {name} says that ",
            ", which was added, is not in it\n"), **lies)


@case
def rate_that_is_not_as_predicted_is_a_finding(c):
    lies = liar("invent")
    c.run(f"experiment {SMALL} --structures blocked", code=1, stdout=has(": NOT AS PREDICTED.\n"),
          **lies)
    out, rows = report(c, SMALL + " --structures blocked", code=1, **lies)
    c.expect(out["finding"] and rows["blocked"]["verdict"] == "off", "no finding in JSON")


@case
def wrong_usage_gets_a_hint(c):
    for line, sentence in (
            ("--structures blocekd", "unknown structure 'blocekd'; did you mean 'blocked'?"),
            ("--structures blocked,", "unknown structure ''"), ("--keys 0", "--keys 0: "),
            ("--keys 1e12", "--keys 1e12: "), ("--queries 0", "--queries 0: "), ("-p 0", "-p 0: "),
            ("-p 1", "-p 1: "), ("20M", "'20M': experiment takes no operands")):
        c.run(f"experiment {line}", stderr=has(f"bloomery: experiment: {sentence}", TRY), code=2)
    c.run("experiment --help", stdout=has("bloomery experiment [--keys N] [--queries M]"))


@case
def full_disk_is_an_error(c):
    for extra in ("", " --json"):
        with open("/dev/full", "wb") as full:
            c.run("experiment --keys 100 --queries 100" + extra, stdout_file=full,
                  stderr=has(os.strerror(28)), code=2)


main()
