# SPDX-License-Identifier: Apache-2.0
"""plan --table: the classic table of rates, and ClickHouse's."""

import json
import math

from runner import case, has, main

TRY = "try 'bloomery plan --help'\n"


def table(c, line):
    """The JSON of a table."""
    report = json.loads(c.run(f"plan --table {line} --json", stdout=None)[0])
    c.expect(report["schema"] == 1 and report["command"] == "plan", "no report of plan")
    return report


def formula(bits, probes):
    """The rate in the limit."""
    return (1 - math.exp(-probes / bits)) ** probes


@case
def classic_table_is_the_formula(c):
    for line in ("", "classic"):
        report = table(c, line)
        c.expect(report["table"] == "classic", report["table"])
        rows = {row["bits_per_key"]: row for row in report["rows"]}
        c.expect(list(rows) == list(range(2, 33)), f"rows: {list(rows)}")
        for bits, row in rows.items():
            for probes, rate in enumerate(row["rates"], 1):
                c.expect(abs(rate - formula(bits, probes)) < 1e-12 * rate + 1e-15, f"m/n {bits}, k {probes}: {rate}")
            least = min(range(1, 25), key=lambda probes, bits=bits: formula(bits, probes))
            c.expect(row["best_whole_probes"] == least, f"m/n {bits}: {row['best_whole_probes']}")
            c.expect(abs(row["best_probes"] - bits * math.log(2)) < 1e-12, f"m/n {bits}: {row['best_probes']}")
        c.expect(f"{rows[20]['rates'][9]:.3g}" == "8.89e-05", "the entry that everybody quotes")


@case
def classic_table_is_printed(c):
    text = c.run("plan --table", stdout=None)[0].decode()
    lines = text.splitlines()
    c.expect(c.run("plan --table=classic", stdout=None)[0].decode() == text and c.run("plan --table classic", stdout=None)[0].decode() == text,
             "it has three names")
    heads = [number for number, line in enumerate(lines) if line.startswith("m/n ")]
    c.expect(len(heads) == 3, f"{len(heads)} parts")
    entries, stars = {}, {}
    for head in heads:
        probes = [int(part) for part in lines[head].split("k = ")[1:]]
        for line in lines[head + 1:head + 32]:
            bits, best, *rates = line.replace("*", "* ").split()
            c.expect(best == f"{int(bits) * math.log(2):.2f}", line)
            rates = line.replace("*", " * ").split()[2:]
            column = -1
            for word in rates:
                if word == "*":
                    stars.setdefault(int(bits), []).append(probes[column])
                else:
                    column += 1
                    entries[int(bits), probes[column]] = float(word)
    c.expect(len(entries) == 31 * 24, f"{len(entries)} entries")
    c.expect(all(rate == float(f"{formula(*place):.3g}") for place, rate in entries.items()), "an entry is another")
    c.expect(stars == {bits: [min(range(1, 25), key=lambda k, bits=bits: formula(bits, k))] for bits in range(2, 33)},
             f"stars: {stars}")
    c.expect(entries[20, 10] == 8.89e-05, "k = 10, m/n = 20")
    c.expect(not any(line != line.rstrip() or len(line) > 108 for line in lines), "blanks at an end, or a long line")


@case
def clickhouse_table_is_beside_the_formula(c):
    report = table(c, "clickhouse")
    rows = {row["bits_per_key"]: row for row in report["rows"]}
    c.expect(report["table"] == "clickhouse" and list(rows) == list(range(2, 21)), "rows")
    c.expect(sum(len(row["rates"]) for row in rows.values()) == 156, "entries")
    off = []
    for bits, row in rows.items():
        for probes, (rate, exact) in enumerate(zip(row["rates"], row["formula"]), 1):
            c.expect(abs(exact - formula(bits, probes)) < 1e-12 * exact + 1e-15, f"m/n {bits}, k {probes}: {exact}")
            if f"{rate:.3g}" != f"{exact:.3g}":
                off.append((bits, probes, rate))
    c.expect(off == [(5, 3, 0.092)], f"other than the formula: {off}")


@case
def clickhouse_choices_are_those_of_the_engine(c):
    choices = {one["asked"]: one for one in table(c, "clickhouse")["choices"]}

    def chosen(rate, how):
        return choices[rate][how]["bits_per_key"], choices[rate][how]["probes"]
    seen = {0.3: (2, 2), 0.237: (19, 13), 0.22: (4, 2), 0.155: (4, 3), 0.1: (5, 3), 0.05: (7, 3), 0.025: (8, 4),
            0.01: (10, 5), 0.005: (12, 5), 0.001: (15, 7), 1e-4: (19, 13), 1e-6: (19, 13), 0.23: (19, 13)}
    for rate, numbers in seen.items():
        c.expect(chosen(rate, "decimal") == numbers, f"{rate}: {chosen(rate, 'decimal')}")
    c.expect(chosen(0.237, "double") == (3, 2) and chosen(0.155, "double") == (4, 2), "older releases")
    c.expect(all(chosen(rate, "double") == chosen(rate, "decimal") for rate in choices if rate not in (0.237, 0.155)),
             "all others are the same")


@case
def clickhouse_table_is_printed(c):
    text = c.run("plan --table clickhouse", stdout=None)[0].decode()
    for line in ("20 table 0.00014 0.000108 8.89e-05 7.77e-05 7.12e-05 6.79e-05 6.71e-05", "0.237 19 13 0.000109 3, k = 2",
                 "formula 1.3955e-04 1.0774e-04 8.8942e-05", "0.025 8 4 0.024"):
        c.expect(any(row.split()[:len(line.split())] == line.split() for row in text.splitlines()), f"no line {line}")
    c.expect(not any(line != line.rstrip() for line in text.splitlines()), "blanks at an end")


@case
def other_tables_are_refused(c):
    c.run("plan --table nosuch", code=2, stderr="bloomery: plan: unknown table 'nosuch'; the tables are classic and clickhouse\n" + TRY)
    c.run("plan --table=nosuch --json", code=2, stderr=has("unknown table 'nosuch'"))
    c.run("plan --table classic clickhouse", code=2, stderr=has("--table takes one name"))
    c.run("plan --table=classic classic", code=2, stderr=has("--table takes one name"))
    for more in ("-n 5", "-p 0.1", "--memory 1M", "--kind classic", "--folds 1"):
        c.run(f"plan --table {more}", code=2, stderr=has("--table prints a table"))
    c.run("plan classic", code=2, stderr=has("plan takes no operands"))


main()
