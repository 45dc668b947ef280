# SPDX-License-Identifier: Apache-2.0
"""Rules for keys through build, add and query; a file that confirms; canaries; hints.

The rule is written here a second time, in plain Python, and both are compared on random records; where
Python's own csv module follows the same rule, with that too.
"""

import base64
import csv
import gzip
import hashlib
import json
import os
import random
import re
import subprocess
import zlib

from runner import case, has, main

SURE = "-p 1e-12 "  # no false positive in a lifetime of tests
NO_FIELD = "bloomery: {}: warning: {} record{} had no field {} and {} skipped\n"


def no_field(command, count, field):
    return NO_FIELD.format(command, count, *(("", field, "was") if count == 1 else ("s", field, "were")))


def split_csv(record, delimiter):
    """The fields of a record as docs/format.md has them."""
    fields, at = [], 0
    while True:
        field = b""
        if record[at:at + 1] == b'"':
            at += 1
            while at < len(record):
                if record[at:at + 2] == b'""':
                    field, at = field + b'"', at + 2
                elif record[at:at + 1] == b'"':
                    at += 1
                    break
                else:
                    field, at = field + record[at:at + 1], at + 1
        end = record.find(delimiter, at)
        fields.append(field + (record[at:] if end < 0 else record[at:end]))
        if end < 0:
            return fields
        at = end + 1


def key_of(record, rule):
    """The key of a record, or None. `rule`: the options as a dictionary."""
    if ("crlf" in rule or "csv" in rule) and record.endswith(b"\r"):
        record = record[:-1]
    if "comment" in rule and record.startswith(rule["comment"]):
        return None
    if "field" in rule:
        fields = (split_csv if "csv" in rule else bytes.split)(record, rule["delimiter"])
        number = rule["field"]
        if abs(number) > len(fields):
            return None
        record = fields[number - 1 if number > 0 else number]
    if "trim" in rule:
        record = record.strip(b" \t")
    if "hex" in rule:
        if re.fullmatch(rb"([0-9a-fA-F]{2})*", record) is None:
            return None
        record = bytes.fromhex(record.decode())
    record = record.lower() if "lower" in rule else record.upper() if "upper" in rule else record
    return None if "skip-empty" in rule and not record else record


def options_of(rule):
    """The command's options for it."""
    options = []
    for name, value in rule.items():
        options.append("--" + name)
        if name in ("comment", "delimiter"):
            options.append(value.decode())
        elif name == "field":
            options.append(str(value))
    return options


def random_rule(generator):
    rule = {name: True for name in ("crlf", "trim", "skip-empty") if generator.random() < 0.4}
    if generator.random() < 0.4:
        rule["comment"] = generator.choice([b"#", b"a", b" "])
    if generator.random() < 0.7:
        rule["field"] = generator.choice([1, 2, 3, -1, -2, -4])
        rule["delimiter"] = generator.choice([b",", b";", b"a", b" "])
        if generator.random() < 0.6:
            rule["csv"] = True
    changing = generator.choice(["", "lower", "upper", "hex"])
    if changing:
        rule[changing] = True
    return rule


# ---- Every option, through build, add and query ------------------------------------------------------

def round_trip(c, options, built, asked, printed, warnings=(0, 0)):
    """`printed` of the lines `asked`; build and query warn of these numbers of records without the field."""
    field = re.search(r"-F (-?\d+)", options)
    field = field and field.group(1)
    notes = [no_field(command, count, field) if count else ""
             for command, count in zip(("build", "query"), warnings)]
    c.run(f"build -q -n 100 {SURE} -o f.bloom {options}", stdin=built, stderr=notes[0])
    for given in ("", options):
        c.run(f"query {given} f.bloom", stdin=asked, stdout=printed, stderr=notes[1],
              code=0 if printed else 1)
    # The same by adding to an empty one.
    c.run(f"build -q -n 100 {SURE} -o g.bloom {options}", stdin="")
    c.run("add -q g.bloom", stdin=built, stderr=notes[0].replace("build:", "add:"))
    c.run("query g.bloom", stdin=asked, stdout=printed, stderr=notes[1], code=0 if printed else 1)


@case
def field_by_a_delimiter_is_the_key(c):
    round_trip(c, "-F 2", "a\tb\n", "x\tb\tz\na\tx\nb\n", "x\tb\tz\n", (0, 1))
    round_trip(c, "-F -1 -d ';'", "a;b\n", "b\nb;\nx;b\n", "b\nx;b\n")
    for tab in ("tab", "'\\t'", "'\t'"):
        round_trip(c, f"-F 2 -d {tab}", "a\tb\n", "\tb\n\tc\n", "\tb\n")
    round_trip(c, "--field 1 --delimiter ,", "b,\n", "b,x\n", "b,x\n")
    round_trip(c, "-F 3", "a\tb\na\nb\nx\ty\tz\n", "a\n", "", (3, 1))


@case
def quoted_field_is_the_key(c):
    round_trip(c, "--csv -F 2", '1,"a, ""b"""\n', 'x,"a, ""b""",\nx,a\nx\n', 'x,"a, ""b""",\n', (0, 1))
    round_trip(c, "--csv -F 1 -d ';'", '"a;b";1\n', '"a;b"\na;b\n', '"a;b"\n')


@case
def letters_blanks_and_line_ends_of_keys_change(c):
    round_trip(c, "--lower", "Ab\n", "aB\nab \n", "aB\n")
    round_trip(c, "--upper", "Ab\n", "aB\nab \n", "aB\n")
    round_trip(c, "--trim", "\ta b \n", "a b\n  a b\t\nab\n", "a b\n  a b\t\n")
    round_trip(c, "--crlf", "a\r\n", "a\r\na\na\r\r\n", "a\r\na\n")
    round_trip(c, "--hex", "0aff\n", "0AFF\n0aFf\n0a\n", "0AFF\n0aFf\n")


@case
def lines_without_a_key_are_on_neither_side(c):
    for options, line in (("--skip-empty", "\n"), ("--comment '#'", "#a\n"), ("-F 2", "a\n"),
                          ("--trim --skip-empty", " \t\n"), ("--crlf --skip-empty", "\r\n")):
        notes = [no_field(command, 1, 2) if "-F" in options else "" for command in ("build", "query")]
        c.run(f"build -n 10 {SURE} -o f.bloom {options}", stdin=line + "x\ty\n",
              stderr=has(notes[0], "wrote f.bloom: 1 key, ", "; 1 record has no key\n"))
        for inverted in ("", "-v"):
            c.run(f"query {inverted} f.bloom", stdin=line, code=1, stderr=notes[1])
            text, _ = c.run(f"query -c --json {inverted} f.bloom", stdin=line * 3, stdout=None, code=1,
                            stderr=None)
            report = json.loads(text)
            c.expect((report["records"], report["passed_over"], report["count"]) == (0, 3, 0), f"{report}")
        text, _ = c.run("add --json f.bloom", stdin=line + "z\tz\n", stdout=None, stderr=None)
        report = json.loads(text)
        c.expect((report["records"], report["passed_over"]) == (1, 1), f"{report}")


@case
def keys_not_records_are_counted_to_plan_a_build(c):
    c.file("keys", "#\n" * 500 + "".join(f"a\tb{i}\n" for i in range(100)) + "a\n" * 300)
    for threads in (1, 4):
        c.run(f"build -q -j {threads} -F 2 --comment '#' -o f.bloom keys", stderr=no_field("build", 300, 2),
              environment={"BLOOMERY_BLOCK_BYTES": "16"})
        text, _ = c.run("inspect --json f.bloom", stdout=None)
        report = json.loads(text)
        c.expect((report["planned_keys"], report["adds"]) == (100, 100), f"{report}")


@case
def rule_is_kept_and_shown(c):
    c.run("build -q -n 9 --csv -F -2 -d ';' --trim --crlf --skip-empty --lower --comment '#' -o f.bloom",
          stdin="")
    c.run("inspect f.bloom", stdout=has(
        "keys made by     field -2, delimited by ';', trim, lower, crlf, skip-empty, csv, comments begin "
        "with '#'\n"))
    text, _ = c.run("inspect --json f.bloom", stdout=None)
    report = json.loads(text)
    c.expect(report["rule"] == ["trim", "lower", "crlf", "skip-empty", "csv"] and
             (report["rule_field"], report["rule_delimiter"], report["rule_comment"]) == (-2, 59, 35),
             f"{report}")
    c.run("build -q -n 9 -F 1 -o f.bloom", stdin="")
    c.run("inspect f.bloom", stdout=has("field 1, delimited by tab\n"))


# Of the lines "1,a\r\n2,b\r\n", by --csv -F 2 when that did not imply --crlf yet.
OF_RETURNS = (
    "eNrrdPLx9/fl5WJiYGRoYGBgSABiRgYYwcDgwIAdMMMYTIwM5ICplaVNx8JblzACLQLbwQQR54BazQVVx3VlQ3iea7cdE5p+"
    "dHeB3C8AFddBGEcMEAERLMjGCkDoBrApDrDAYAFJMCiAg4kBKuBQ9PxRu5La8Z9WWokTzzVKbQQAZawWqA==")


@case
def csv_leaves_a_filter_its_carriage_returns(c):
    c.file("f.bloom", zlib.decompress(base64.b64decode(OF_RETURNS)))
    c.file("lines", "1,a\r\n2,b\r\n")
    c.run("query -q --csv -F 2 f.bloom lines", stderr=None)
    c.run("add --csv -F 2 f.bloom lines", stderr=has("none changed a bit"))
    c.run("query -q --csv -F 2 --crlf f.bloom lines", code=1, stderr=None)


@case
def key_on_the_command_line_is_not_a_record(c):
    c.run(f"build -q -n 9 {SURE} --csv -F 2 --trim --lower --crlf --comment '#' --skip-empty -o f.bloom",
          stdin='x,"a,b"\nx,#c\n')
    c.run(["query", "f.bloom", "-k", " A,B\t", "-k", "#C", "-k", "x,#c", "-k", ""], stdout=" A,B\t\n#C\n")
    c.run(f"build -q -n 9 {SURE} --hex -o f.bloom", stdin="0a0b\n")
    c.run("query f.bloom -k 0A0B -k 0a0b00", stdout="0A0B\n")
    c.run("query f.bloom -k 0A0B -k zz -k z", stdout="0A0B\n", code=2,
          stderr="bloomery: query: 'zz' is not pairs of hexadecimal digits (nor is 1 more); such records "
          "were not looked up\n")


@case
def carriage_returns_are_warned_of_where_they_stay(c):
    warning = ("bloomery: {}: warning: standard input: its first line ends in a carriage return, which "
               "becomes part of the key\n")
    c.run("build -q -n 9 --crlf -o crlf.bloom", stdin="a\r\n")
    c.run("build -q -n 9 --trim -o trim.bloom", stdin="a\r\n", stderr=warning.format("build"))
    c.run("query crlf.bloom", stdin="a\r\n", stdout="a\r\n")
    c.run("add -q crlf.bloom", stdin="a\r\n")
    c.run("add -q trim.bloom", stdin="a\r\n", stderr=warning.format("add"))
    c.run("query -f crlf.bloom -f trim.bloom", stdin="a\r\n", stdout="a\r\n",
          stderr=warning.format("query"))


# ---- Options that do not fit --------------------------------------------------------------------------

@case
def options_that_exclude_each_other_are_refused(c):
    for command in ("build -n 9 -o f.bloom", "add f.bloom", "query f.bloom"):
        name = command.split(maxsplit=1)[0]
        for options, why in (
                ("--lower --upper", "--lower, --upper, --hex, --int64 and --int32 exclude each other"),
                ("--hex --upper", "--lower, --upper, --hex, --int64 and --int32 exclude each other"),
                ("--hex --lower", "--lower, --upper, --hex, --int64 and --int32 exclude each other"),
                ("-d ,", "-d is for fields; -F N says which of them is the key"),
                ("--csv", "--csv is for fields; -F N says which of them is the key"),
                ("--csv -F 1 -d '\"'", "-d '\"': with --csv the double quote can't delimit fields"),
                ("-F 1 -d ''", "-d '': it takes one byte, such as ';', or tab"),
                ("-F 1 -d ab", "-d 'ab': it takes one byte, such as ';', or tab"),
                ("-F 1 -d \u00a7", "-d '\u00a7': it takes one byte, such as ';', or tab"),
                ("--comment //", "--comment '//': it takes one byte, such as ';', or tab")):
            c.run(f"{command} {options}", code=2, stderr=f"bloomery: {name}: {why}\n"
                  f"try 'bloomery {name} --help'\n")
        for wrong in ("x", "", "-", "1,", "1,,2", "1,0", "id", "--1", "1.5", "2147483648", "-2147483648"):
            c.run([*command.split(), "-F", wrong], code=2, stderr=has(f"bloomery: {name}: -F"))


@case
def options_must_agree_with_the_filter(c):
    kept = "field 2, delimited by ',', trim, lower, crlf, csv"
    c.run(f"build -q -n 9 {SURE} --csv -F 2 --trim --lower -o f.bloom", stdin='x,"A"\n')
    c.run(f"build -q -n 9 {SURE} -o plain.bloom", stdin="A\n")
    before = c.read("f.bloom"), c.read("plain.bloom")
    for options, what in (("--upper", "--upper"), ("--hex", "--hex"), ("-F 1 --int64", "--int64")):
        for command in ("add", "query"):
            said = (f"bloomery: {command}: f.bloom: {what}: its keys are made by another rule: {kept}. Leave "
                    "the option out: the rule is followed without it\n")
            said += "nothing was added to f.bloom\n" if command == "add" else ""
            c.run(f"{command} {options} f.bloom", stdin="x,a\n", code=2, stderr=said)
    for options in ("-F 2", "--csv -F 2", "-F 2 -d ,", "--trim", "--lower --trim"):
        c.run(f"query {options} f.bloom", stdin="x,a\n", stdout="x,a\n")
    # A filter without a rule: query says what the lines are; add refuses a rule that the filter does not keep.
    c.run("query -F 2 --upper plain.bloom", stdin="x\ta\n", stdout="x\ta\n")
    c.run("add --upper plain.bloom", stdin="b\n", code=2,
          stderr="bloomery: add: plain.bloom: --upper: its keys are whole lines; such options are given "
          "when a filter is built\nnothing was added to plain.bloom\n")
    c.expect(before == (c.read("f.bloom"), c.read("plain.bloom")), "a filter was changed")


@case
def filters_of_different_rules_are_asked_by_their_own(c):
    c.run(f"build -q -n 9 {SURE} --lower -o lower.bloom", stdin="Ab\n")
    c.run(f"build -q -n 9 {SURE} -F 2 -o field.bloom", stdin="x\tcd\n")
    c.run(f"build -q -n 9 {SURE} -o plain.bloom", stdin="ef\n")
    c.run(f"build -q -n 9 {SURE} -F 2 -o field2.bloom", stdin="x\tgh\n")
    c.run(f"build -q -n 9 {SURE} --comment '#' -F 3 -o third.bloom", stdin="x\t\tij\n")
    filters = " ".join(f"-f {name}.bloom" for name in ("lower", "field", "plain", "field2", "third"))
    lines = "AB\n1\tcd\nef\n1\tgh\t\nEF\n1\tGH\n1\t\tij\n#\t\tij\n"
    found = "AB\n1\tcd\nef\n1\tgh\t\n1\t\tij\n"
    notes = no_field("query", 3, 2) + no_field("query", 5, 3)
    c.run(f"query {filters}", stdin=lines, stdout=found, stderr=notes)
    c.run(f"query -v {filters}", stdin=lines, stdout="EF\n1\tGH\n#\t\tij\n", stderr=notes)
    c.run(f"query -c --with-filename {filters}", stdin=lines, stderr=notes,
          stdout="lower.bloom:1\nfield.bloom:1\nplain.bloom:1\nfield2.bloom:1\nthird.bloom:1\n")
    c.run(f"query --with-filename {filters}", stdin=lines, stderr=notes,
          stdout="lower.bloom:AB\nfield.bloom:1\tcd\nplain.bloom:ef\nfield2.bloom:1\tgh\t\nthird.bloom:1\t\tij\n")
    # A line is left out only where no rule finds a key in it.
    c.run("query -v -f field.bloom -f third.bloom", stdin="a\n#\t2\n", stdout="#\t2\n", stderr=None)


@case
def no_hex_is_an_error_that_shows_the_first_line(c):
    good = "".join(f"{n:08x}\n" for n in range(3000))
    c.file("good", good)
    c.file("bad", good + "q\x1b[31m" + "x" * 200 + "\n" + good + "zz\n")
    shown = "q\\x1b[31m" + "x" * 67 + "..."
    said = f"bad: line 3001: '{shown}' is not pairs of hexadecimal digits; no key can be made of it\n"
    c.run(f"build -q -n 9000 {SURE} --hex -o f.bloom good")
    before = c.read("f.bloom")
    for threads in (1, 4):
        for count in ("", "-n 9999"):
            c.run(f"build {count} -j {threads} --hex -o new.bloom good bad", code=2,
                  stderr=f"bloomery: build: {said}", environment={"BLOOMERY_BLOCK_BYTES": "64"})
            c.expect("new.bloom" not in c.names(), "a filter was written")
        c.run(f"add -j {threads} f.bloom good bad", code=2,
              stderr=f"bloomery: add: {said}nothing was added to f.bloom\n",
              environment={"BLOOMERY_BLOCK_BYTES": "64"})
        c.expect(c.read("f.bloom") == before, "the filter was changed")
        c.run(f"query -j {threads} f.bloom good bad", stdout=good * 3, code=2,
              environment={"BLOOMERY_BLOCK_BYTES": "64"},
              stderr=f"bloomery: query: bad: line 3001: '{shown}' is not pairs of hexadecimal digits (nor is 1 more); such "
              "records were not looked up\n")
    c.run("query -q f.bloom", stdin="zz\n00000001\n")
    c.run("query -q f.bloom", stdin="zz\n", code=2, stderr=has("'zz' is not pairs"))


@case
def records_of_several_rules_end_by_the_first(c):
    """Quotes that one delimiter makes are none for another; all filters get the same records."""
    c.run(f"build -q -n 9 {SURE} --csv -F 1 -o comma.bloom", stdin='"a\nb",x\n')
    c.run(f"build -q -n 9 {SURE} --csv -F 2 -d ';' -o semi.bloom", stdin='x;"y"\n')
    c.run("query -f comma.bloom -f semi.bloom", stdin='"a\nb",1\n1;"y\n', stdout='"a\nb",1\n1;"y\n',
          stderr=has("1 record ends within quotes: where records end is decided by the rule of another filter"))


# ---- A second implementation ---------------------------------------------------------------------------

def random_records(generator, count):
    letters = [b"a", b"B", b",", b";", b'"', b'""', b" ", b"\t", b"\r", b"#", b"4F", b"4", b"\xc3\x84", b"x,y"]
    return [b"".join(generator.choices(letters, k=generator.randrange(9))) for _ in range(count)]


def ends_within_quotes(record, delimiter=b","):
    """Of such a record the next line is a part, too."""
    at, fresh, within = 0, True, False
    while at < len(record):
        byte = record[at:at + 1]
        if within:
            doubled = record[at:at + 2] == b'""'
            within = byte != b'"' or doubled
            at += doubled
        else:
            within = fresh and byte == b'"'
            fresh = byte == delimiter
        at += 1
    return within


@case
def rules_agree_with_a_second_implementation(c):
    """Built from one half of the records, asked for all; in small blocks and large ones, by any number of
    threads."""
    generator = random.Random(20)
    for _ in range(60):
        rule = random_rule(generator)
        records = random_records(generator, 300)
        if "csv" in rule:
            records = [record for record in records if not ends_within_quotes(record, rule["delimiter"])]
        built = records[:100]
        if "hex" in rule:  # a key that is not hex ends a build
            whole = {name: value for name, value in rule.items() if name not in ("hex", "skip-empty")}
            built = [record for record in built
                     if key_of(record, whole) is None or key_of(record, {**whole, "hex": True}) is not None]
        keys = {key_of(record, rule) for record in built} - {None}
        if not keys and "field" in rule:
            continue  # an error where that is for want of the field: another case's
        c.file("built", b"".join(record + b"\n" for record in built))
        c.file("asked", b"".join(record + b"\n" for record in records))
        c.run(["build", "-q", "-n", "1000", "-p", "1e-12", "-o", "f.bloom", *options_of(rule), "built"],
              stderr=None)
        for inverted in (False, True):
            expected = b"".join(record + b"\n" for record in records if key_of(record, rule) is not None
                                and (key_of(record, rule) in keys) != inverted)
            bad = "hex" in rule and any(
                key_of(record, rule) is None and
                key_of(record, {n: v for n, v in rule.items() if n not in ("hex", "skip-empty")}) is not None and
                key_of(record, {n: v for n, v in rule.items() if n != "skip-empty"}) is None
                for record in records)
            block, threads = generator.choice([("16", 1), ("64", 3), ("262144", 2)])
            c.run(["query", "-j", str(threads), *(["-v"] if inverted else []), "f.bloom", "asked"],
                  stdout=expected, stderr=None, code=2 if bad else 0 if expected else 1,
                  environment={"BLOOMERY_BLOCK_BYTES": block})


@case
def quoted_fields_are_those_of_another_csv_reader(c):
    generator = random.Random(4180)
    records = []
    while len(records) < 2000:
        record = b"".join(generator.choices([b"a", b"b", b",", b'"', b'""', b" ", b'","'], k=8)).decode()
        if not ends_within_quotes(record.encode()):
            records.append(record)
    for field in (1, 2, -1):
        keys = []
        for record in records:
            fields = next(csv.reader([record]))
            if abs(field) <= len(fields):
                keys.append(fields[field - 1 if field > 0 else field])
        c.file("keys", "".join(f"{key}\n" for key in keys))
        c.run(f"build -q {SURE} -o f.bloom keys")
        c.run(f"query -c --csv -F {field} f.bloom", stdin="\n".join(records), stdout=f"{len(keys)}\n",
              stderr=None)
        # And the other way: as many different keys as the other reader has.
        c.file("records", "\n".join(records))
        c.run(f"build -q -n 9999 -p 1e-12 --csv -F {field} -o g.bloom records", stderr=None)
        for key in sorted(set(keys))[:200]:
            c.run(["query", "-q", "g.bloom", "-k", key])
        text, _ = c.run("inspect --json g.bloom", stdout=None)
        c.expect(abs(json.loads(text)["estimated_keys"] - len(set(keys))) < 0.5 + 0.02 * len(set(keys)),
                 "another number of keys")


@case
def rule_gives_the_same_with_any_j(c):
    generator = random.Random(7)
    lines = [f'{n},"Name {generator.randrange(3000)}"' if n % 7 else "#" for n in range(20000)]
    c.file("lines", "".join(line + "\n" for line in lines))
    first = None
    for threads in (1, 2, 7):
        for block in ("64", "4096", "262144"):
            small = {"BLOOMERY_BLOCK_BYTES": block}
            c.run(f"build -q -j {threads} {SURE} --csv -F 2 --upper --comment '#' -o f.bloom lines",
                  environment=small)
            c.file("some", "".join(f"x,name {n}\n" for n in range(0, 3000, 2)))
            c.run(f"build -q -j {threads} {SURE} --csv -F 2 --upper --comment '#' -o g.bloom some",
                  environment=small)
            got = (c.read("f.bloom"),
                   c.run(f"query -j {threads} g.bloom lines", stdout=None, environment=small)[0],
                   c.run(f"query -v -j {threads} g.bloom lines", stdout=None, environment=small)[0])
            first = first or got
            c.expect(got == first, f"{threads} threads, blocks of {block}")
    c.expect(len(first[1].splitlines()) + len(first[2].splitlines()) ==
             sum(line != "#" for line in lines), "lines were lost")


# ---- A file that confirms ------------------------------------------------------------------------------

@case
def only_what_a_sorted_file_has_is_confirmed(c):
    """The filter has everything; the file decides."""
    generator = random.Random(3)
    words = sorted({"".join(generator.choices("ab", k=generator.randrange(1, 12))) for _ in range(2000)})
    listed = set(words[::3])
    c.file("all", "".join(word + "\n" for word in words))
    c.run("build -q -o f.bloom all")
    lacks = has("warning: sorted: lacks 545 of 818 keys that f.bloom may have; by chance it would lack about 0.0")
    for end in ("\n", ""):
        c.file("sorted", "\n".join(sorted(listed)) + end)
        for threads in (1, 3):
            c.run(f"query -j {threads} --confirm sorted f.bloom all",
                  stdout="".join(word + "\n" for word in words if word in listed), stderr=lacks,
                  environment={"BLOOMERY_BLOCK_BYTES": "1024"})
        c.run("query -v --confirm sorted f.bloom all", stderr=lacks,
              stdout="".join(word + "\n" for word in words if word not in listed))
        c.run("query -c --with-filename --confirm sorted f.bloom all", stdout=f"f.bloom:{len(listed)}\n", stderr=lacks)
    text, _ = c.run("query -c --json --confirm sorted f.bloom all", stdout=None, stderr=lacks)
    got = json.loads(text)
    c.expect(got["confirmed_by"] == "sorted" and got["expected_false_positives"] == 0, f"{text}")
    c.expect(got["filters"][0]["rejected_by_confirm"] == 545, f"{text}")
    c.expect(0 < got["filters"][0]["expected_rejected"] < 0.1, f"{text}")
    c.file("empty", "")
    c.run("query --confirm empty f.bloom all", code=1,
          stderr=has("empty: lacks 818 of 818 keys", "Do its lines have the key elsewhere, or in another form?"))
    c.run(["query", "-k", words[0], "-k", words[1], "--confirm", "sorted", "f.bloom"], stdout=words[0] + "\n")
    c.run("query -q --confirm sorted f.bloom", stdin=words[1] + "\n", code=1)
    c.file("nul", "a\nb\0c\0")
    c.run(f"build -q -0 {SURE} -o nul.bloom nul")
    c.run("query -0 --confirm nul nul.bloom", stdin="c\0a\0a\nb\0", stdout="c\0a\nb\0")


@case
def keys_are_confirmed_as_text_after_the_rule(c):
    c.file("lines", "1, Anna\n2,BERTA\n3,zoe\n")
    c.run(f"build -q {SURE} -F 2 -d , --trim --lower -o f.bloom lines")
    c.file("sorted", "ANNA\nanna\nzoe\n")
    c.run("query --confirm sorted f.bloom", stdin="9,ANNA\n9,berta\n9,Zoe\n", stdout="9,ANNA\n9,Zoe\n")
    c.run(f"build -q -n 9 {SURE} --hex -F 1 -o h.bloom", stdin="0a0b\tx\n0c\n0d\n")
    c.file("sorted", "0a0b\n0c\n")
    c.run("query --confirm sorted h.bloom", stdin="0a0b\ty\n0A0B\n0c\n0d\n", stdout="0a0b\ty\n0A0B\n0c\n")
    # Each filter's keys by its own rule.
    c.run(f"build -q -n 9 {SURE} -o p.bloom", stdin="0d\n0c\n")
    c.file("sorted", "0c\n")
    c.run("query --with-filename -f h.bloom -f p.bloom --confirm sorted", stdin="0d\n0c\n0c\tx\n",
          stdout="h.bloom:0c\np.bloom:0c\nh.bloom:0c\tx\n")


@case
def a_list_confirms_as_it_is_published(c):
    """HASH:COUNT in capital letters with CRLF, and its other forms: the filter's rule finds the keys in its lines."""
    digests = sorted(hashlib.sha1(str(n).encode()).hexdigest().upper() for n in range(3000))
    c.file("listed", "".join(f"{digest}:{n}\r\n" for n, digest in enumerate(digests[::3])))
    c.run(f"build -q {SURE} -d : -F 1 --hex -o f.bloom listed")
    lower = "".join(digest.lower() + "\n" for digest in digests)
    found = "".join(digest.lower() + "\n" for digest in digests[::3])
    rows = list(enumerate(digests[::3]))
    for name, lines in (("count", [f"{digest}:{n}\n" for n, digest in rows]), ("crlf", [f"{digest}\r\n" for _, digest in rows]),
                        ("plain", [f"{digest}\n" for _, digest in rows]),
                        ("lower", [f"{digest.lower()}:{n}\n" for n, digest in rows]),
                        ("mixed", [f"{digest.capitalize()}:{n}\r\n" for n, digest in rows]),
                        ("some", [f"{digest}:{n}\r\n" if n % 5 else f"{digest}\n" for n, digest in rows])):
        c.file(name, "".join(lines))
        for threads in (1, 3):
            c.run(f"query -j {threads} --confirm {name} f.bloom", stdin=lower, stdout=found)
        c.run("query --crlf --confirm listed f.bloom", stdin="".join(lines), stdout="".join(lines))
    # Names and addresses have no one length: a key may begin another one.
    names = [f"{'n' * (1 + n % 7)}{n:b}" for n in range(2000)] + ["n", "n1-", "n1,", 'a "b" c']
    listed = sorted(f'"{quoted}",{n}\n' for n, quoted in enumerate(name.replace('"', '""') for name in names[::2] + names[-2:]))
    c.file("quoted", "".join(listed))
    c.file("bare", "".join(sorted(f"{name},{n}\r\n" for n, name in enumerate(names[::2] + names[-4:-2]))))
    c.run(f"build -q {SURE} --csv -F 1 -o n.bloom", stdin="".join('"' + name.replace('"', '""') + '"\n' for name in names))
    for name, keys in (("quoted", set(names[::2] + names[-2:])), ("bare", set(names[::2] + names[-4:-2]) - {"n1,"})):
        got, _ = c.run(f"query -F 0 --confirm {name} n.bloom", stdin="".join(name + "\n" for name in names), stdout=None,
                       stderr=has(f"warning: {name}: lacks"))
        c.expect(set(got.decode().splitlines()) == keys, f"{name}: {set(got.decode().splitlines()) ^ keys}")


@case
def a_list_confirms_by_another_field_if_it_is_sorted_by_it(c):
    rows = sorted((f"name {n * 7919 % 1000:03}x"[:9 - n % 3], n) for n in range(1000))
    keys = "".join(dict.fromkeys(f"0;{key}\n" for key, _ in rows))
    c.file("by_key", "".join(f"{n};{key}\n" for key, n in rows[::2]))
    c.file("by_number", "".join(sorted(f"{n:04};{key}\n" for key, n in rows)))
    c.file("keys", "".join(sorted({key + "\n" for key, _ in rows[::2]})))
    c.file("blanks", "".join(sorted(f"  {key} \r\n" for key, _ in rows[::2])))
    c.run(f"build -q {SURE} -d ';' -F 2 --trim -o f.bloom by_number")
    listed = {key for key, _ in rows[::2]}
    want = "".join(line + "\n" for line in keys.splitlines() if line[2:] in listed)
    lacks = None if want == keys else has("warning: ", ": lacks")
    for name in ("by_key", "keys", "blanks"):
        c.run(f"query --confirm {name} f.bloom", stdin=keys, stdout=want, stderr=lacks)
    c.run("query --confirm by_number f.bloom", stdin=keys, code=2, stderr=
          """bloomery: query: by_number: is not sorted by the bytes of field 2, the key; 'LC_ALL=C sort -t ";" -k 2,2' """
          "does that\n")
    c.file("letters", "Bert\nanna\nzoe\n")
    c.run("build -q -n 9 --lower -o l.bloom", stdin="anna\nBert\nZoe\n")
    c.run("query --confirm letters l.bloom", stdin="anna\n", code=2, stderr=has("letters: the keys in its lines are not in the "
          "order of their bytes. Write them alone, in one case, then sort them by 'LC_ALL=C sort'"))
    c.file("letters", "anna\nBert\nzoe\n")
    c.run("query --confirm letters l.bloom", stdin="Anna\nbert\nzo\n", stdout="Anna\nbert\n")


@case
def a_file_that_rejects_more_than_chance_does_is_warned_about(c):
    """The filter's keys are hashes, and so are the lines of the file, but of another list."""
    digests = sorted(hashlib.sha1(str(n).encode()).hexdigest() for n in range(3000))
    c.file("sorted", "".join(digest + "\n" for digest in digests[:1000]))
    c.file("other", "".join(digest + ":x\n" for digest in digests[:1000]))
    c.run("build -q -p 0.01 -o f.bloom sorted")
    asked = "".join(digest + "\n" for digest in digests)
    c.run("query -c --confirm sorted f.bloom", stdin=asked, stdout="1000\n")
    text, _ = c.run("query -c --json --confirm other f.bloom", stdin=asked, stdout=None, code=1,
                    stderr=has("warning: other: lacks 1,0", "; by chance it would lack about ",
                               "Do its lines have the key elsewhere, or in another form?"))
    of = json.loads(text)["filters"][0]
    c.expect(of["rejected_by_confirm"] > 1000 > 100 > of["expected_rejected"] > 10, f"{of}")
    c.run("query -c --confirm other f.bloom", stdin=digests[2] + "\n", stdout="0\n", code=1)


@case
def file_that_cannot_confirm_is_an_error(c):
    c.file("keys", "a\nb\nc\n")
    c.run("build -q -o f.bloom keys")
    c.file("unsorted", "b\na\nc\n")
    c.file("packed", gzip.compress(b"a\nb\n"))
    os.mkfifo(c.path("fifo"))
    os.mkdir(c.path("folder"))
    for name, why in (("unsorted", "is not sorted by the bytes of its lines; 'LC_ALL=C sort' does that"),
                      ("packed", "is compressed, or a filter; a search needs the lines themselves"),
                      ("f.bloom", "is compressed, or a filter; a search needs the lines themselves"),
                      ("fifo", "is not a regular file; a search needs one"),
                      ("folder", "is not a regular file; a search needs one"),
                      ("missing", "No such file or directory")):
        c.run(f"query --confirm {name} f.bloom keys", code=2, stderr=f"bloomery: query: {name}: {why}\n")


@case
def order_that_breaks_where_nobody_looked_is_found_by_a_search(c):
    """Two lines far from any place that is looked at when the file is opened are swapped."""
    lines = [f"{n:07}" for n in range(200_000)]
    lines[101_010], lines[101_011] = "0000005x", "0199999x"
    c.file("sorted", "".join(line + "\n" for line in lines))
    c.run("build -q -n 9 -o f.bloom", stdin="0101010\n0101011\n")
    c.run("query --confirm sorted f.bloom", stdin="0101010\n0101011\n", code=2, stderr=has("is not sorted"))


# ---- Canaries, hints -----------------------------------------------------------------------------------

@case
def canaries_that_may_be_in_are_a_finding(c):
    c.run(f"build -q -n 99 {SURE} -F 2 --lower -o f.bloom", stdin="".join(f"x\tk{n}\n" for n in range(30)))
    c.file("good", "x\tz1\nx\tz2\n")
    c.run("inspect --canary good f.bloom", stdout=has("  canaries         none of 2 was found\n"))
    c.file("one", gzip.compress(b"x\tz1\ny\tK7\x1b\ny\tK7\n"))
    c.run("inspect --canary one f.bloom", code=1, stdout=has(
        "  canaries         FOUND: 1 of 3 possibly in it\n  found            y\\x09K7\n"))
    many = "".join(f"x\tk{n}\n" for n in range(20, 40)) + "x\n"
    c.file("many", many)
    text, _ = c.run("inspect --json --canary many f.bloom", stdout=None, code=1,
                    stderr=no_field("inspect", 1, 2))
    report = json.loads(text)
    c.expect(report["canaries"] == {"queries": 20, "hits": 10, "first": [f"x\\x09k{n}" for n in range(20, 30)]}
             and report["finding"], f"{report}")
    c.run("inspect --canary - f.bloom", stdin="x\tk1\n" * 11, code=1, stdout=has("FOUND: 11 of 11", "...\n"))
    c.run("inspect --canary missing f.bloom", code=2, stderr=has("missing: No such file"))
    c.run("build -q -n 9 --hex -o h.bloom", stdin="")
    c.run("inspect --canary - h.bloom", stdin="zz\n", code=2, stderr=has("'zz' is not pairs"))


@case
def digests_in_the_wrong_case_are_hinted_at(c):
    digests = [hashlib.sha1(str(n).encode()).hexdigest() for n in range(3000)]
    small, capital = "\n".join(digests), "\n".join(digests).upper()
    c.file("small", small)
    c.file("capital", capital)
    hint = "bloomery: query: hint: no key was found, but in {} case they match f.bloom: {}\n"
    for built, asked, other, change in (("capital", small, "upper", "a-f A-F"),
                                        ("small", capital, "lower", "A-F a-f")):
        c.run(f"build -q {SURE} -o f.bloom {built}")
        for threads in (1, 3):
            c.run(f"query -j {threads} f.bloom", stdin=asked, code=1,
                  stderr=hint.format(other, f"use --{other}"))
        c.run(f"query --{other} -c f.bloom", stdin=asked, stdout="3000\n")
        c.run(["query", "f.bloom", "-k", asked.split("\n", 1)[0]], code=1,
              stderr=hint.format(other, f"use --{other}"))
        c.run(f"build -q {SURE} --trim -o f.bloom {built}")
        c.run("query f.bloom", stdin=asked, code=1,
              stderr=hint.format(other, f"change their letters first, as 'tr {change}' does"))
        # Not where something was found, where nothing would be, where the case does not matter.
        c.run("query f.bloom", stdin=asked + "\n" + digests[0] + "\n" + digests[0].upper() + "\n",
              stdout=(digests[0].upper() if built == "capital" else digests[0]) + "\n")
        c.run("query -q f.bloom", stdin=asked, code=1)
        c.run("query f.bloom", stdin="0" * 40 + "\n" + asked[:31] + "\n" + "g" * 40 + "\n", code=1)
        c.run(f"build -q {SURE} --{other} -o f.bloom small")
        c.run("query f.bloom", stdin="ab" * 20 + "\n", code=1)


@case
def hints_are_not_false_positives(c):
    """At a rate of a half, chance alone finds some in the other case."""
    c.run("build -q -n 1000 -p 0.4 -o f.bloom", stdin="".join(f"{n}\n" for n in range(1000)))
    digests = [hashlib.md5(str(n).encode()).hexdigest() for n in range(40)]
    absent = subprocess.run([*c.arguments(["query", "-v", "f.bloom"])], input="\n".join(digests), text=True,
                            cwd=c.directory, capture_output=True, check=True).stdout
    c.run("query f.bloom", stdin=absent, code=1)


@case
def hits_at_the_rate_are_hinted_at_if_another_form_is_found(c):
    """Keys that another program hashed otherwise are found at the filter's rate, which looks like an answer."""
    numbers = "".join(f"{n}\n" for n in range(5000))
    words = "".join(f"Key {n}\n" for n in range(5000))
    for built, asked, option in (("--int64", numbers, "--int64"), ("--int32", numbers, "--int32"),
                                 ("--utf16", words, "--utf16"), ("--lower", words, "--lower"),
                                 ("--upper", words, "--upper"),
                                 ("--trim", words.replace("Key", " Key"), "--trim"),
                                 ("--hex", "".join(f"{n:08x}\n" for n in range(5000)), "--hex"),
                                 ("", words.replace("\n", "\r\n"), "--crlf")):
        stored = asked.replace("\r", "")
        c.run(f"build -q --force --dialect guava -n 5000 -p 0.02 {built} -o g.bf", stdin=stored, stderr=None)
        for threads in (1, 3):
            stdout, stderr = c.run(f"query -c -j {threads} --dialect guava g.bf", stdin=asked, code=None, stdout=None, stderr=None)
            c.expect(b"hint: " in stderr and f"use {option}".encode() in stderr, f"{option}: {stdout}, {stderr}")
            if int(stdout) > 0:
                c.expect(f"hint: {int(stdout):,} of 5,000 keys were found, which may all be false positives of g.bf (1 in "
                         .encode() in stderr, f"{option}: {stderr}")
        _, stderr = c.run(f"query -c {option} --dialect guava g.bf", stdin=asked, stdout="5000\n")
        # None where nothing is to be printed but the exit code, and none where the answer is good.
        _, stderr = c.run("query -q --dialect guava g.bf", stdin=asked, code=None, stderr=None)
        c.expect(b"hint" not in stderr, f"{stderr}")
    c.run("build -q --force --dialect guava -n 5000 -p 0.02 -o g.bf", stdin=words.replace("\n", "\r\n"), stderr=None)
    c.run("query -c --dialect guava g.bf", stdin=words, code=None, stdout=None,
          stderr=has("hint: ", "with a carriage return at their end", "rebuild it with --crlf"))


@case
def answers_that_are_plausible_have_no_hint(c):
    """Keys that were never added, some that were, and keys of which another form was added as well."""
    words = "".join(f"key {n}\n" for n in range(5000))
    c.run("build -q -n 9000 -p 0.02 -o f.bloom", stdin=words)
    absent = "".join(f"Other {n}\n" for n in range(20000))
    for asked in (absent, words + absent, absent + words, words.upper() + words, words.upper() + words[:5000]):
        c.run("query f.bloom", stdin=asked, stdout=None)
    c.run("query -c f.bloom", stdin=words.upper(), stdout=None,
          stderr=has("false positives", "in lower case they match it: use --lower"))
    c.run("build -q -n 9000 -p 0.02 --trim -o f.bloom", stdin=words)
    c.run("query -c f.bloom", stdin=words.upper(), stdout=None, stderr=has("tr A-F a-f"))


@case
def digits_are_confirmed_in_either_case(c):
    digests = [hashlib.sha1(str(n).encode()).hexdigest() for n in range(300)]
    long = "ab" * 400
    for change in (str.upper, str.lower):
        c.file("sorted", "".join(sorted(change(digest) + "\n" for digest in digests[:200] + [long])))
        c.run(f"build -q {SURE} --hex -o f.bloom", stdin="\n".join(digests + [long]), stderr=None)
        for asked in (str.upper, str.lower):
            listed = "".join(asked(digest) + "\n" for digest in digests[:200] + [long])
            others = "".join(asked(digest) + "\n" for digest in digests[200:])
            lacks = has("sorted: lacks 100 of 301 keys")
            c.run("query --confirm sorted f.bloom", stdin=listed + others, stdout=listed, stderr=lacks)
            c.run("query -v --confirm sorted f.bloom", stdin=listed + others, stdout=others, stderr=lacks)
    # Without --hex another case is another key.
    c.run(f"build -q {SURE} -o p.bloom", stdin="ab\nAB\n", stderr=None)
    c.file("sorted", "AB\n")
    c.run("query --confirm sorted p.bloom", stdin="ab\nAB\n", stdout="AB\n")


@case
def hints_are_given_however_it_is_asked(c):
    digests = "".join(hashlib.sha1(str(n).encode()).hexdigest() + "\n" for n in range(3000))
    c.run(f"build -q {SURE} -o f.bloom", stdin=digests.upper(), stderr=None)
    hint = "bloomery: {}: hint: no key was found, but in upper case they match f.bloom: {}\n"
    asked = hint.format("query", "use --upper")
    c.run("query -c f.bloom", stdin=digests, stdout="0\n", code=1, stderr=asked)
    c.run("query -v f.bloom", stdin=digests, stdout=digests, stderr=asked)
    c.run("query -v -c f.bloom", stdin=digests, stdout="3000\n", stderr=asked)
    c.run("query -v -c f.bloom", stdin=digests + digests[:41].upper(), stdout="3000\n")
    c.run("query -q f.bloom", stdin=digests, code=1)
    c.file("digests", digests)
    c.run("inspect --canary digests f.bloom", stdout=has("none of 3,000 was found"),
          stderr=hint.format("inspect", "change their letters first, as 'tr a-f A-F' does"))
    c.file("others", "".join(hashlib.sha1(f"x{n}".encode()).hexdigest() + "\n" for n in range(3000)))
    c.run("inspect --canary others f.bloom", stdout=has("none of 3,000 was found"))
    c.run(f"build -q {SURE} --upper -o f.bloom", stdin="a\n", stderr=None)
    c.run("inspect --canary digests f.bloom", stdout=has("none of 3,000 was found"))


@case
def a_field_that_no_record_has_is_an_error(c):
    def wrong(command, count, field, delimiter):
        return (no_field(command, count, field) +
                f"bloomery: {command}: no record has a field {field}, so no key was made; fields are delimited "
                f"{delimiter} (-d)\n")

    c.file("keys", "a\nb\nc\n")
    c.run("build -F 9 -o f.bloom keys", code=2, stderr=wrong("build", 3, 9, "by tabs"))
    c.run("build -F -2 -d , -n 9 -o f.bloom", stdin="a\nb\n", code=2, stderr=wrong("build", 2, -2, "by ','"))
    c.expect(c.names() == ["keys"], f"written: {c.names()}")
    c.run(f"build -q {SURE} --kind counting -n 9 -F 2 --comment '#' -o f.bloom", stdin="x\ta\nx\n",
          stderr=no_field("build", 1, 2))
    before = c.read("f.bloom")
    c.run("add f.bloom keys", code=2, stderr=wrong("add", 3, 2, "by tabs") + "nothing was added to f.bloom\n")
    c.run("remove f.bloom keys", code=2,
          stderr=wrong("remove", 3, 2, "by tabs") + "nothing was removed from f.bloom\n")
    c.run("inspect --canary keys f.bloom", code=2, stderr=wrong("inspect", 3, 2, "by tabs"))
    # An empty list is a list, and so is one of comments.
    for lines in ("", "# nothing yet\n"):
        c.run("add -q f.bloom", stdin=lines)
        c.run("build -q -n 9 -F 2 --comment '#' -o g.bloom", stdin=lines)
    c.expect(c.read("f.bloom") == before, "the filter was changed")


@case
def the_line_end_of_csv_may_have_a_return(c):
    """RFC 4180 has CR LF. A field that is the last of its line is the same key with either, quoted or by its name."""
    c.file("unix.csv", 'k,v\n1,x\n2,"y"\n')
    c.file("win.csv", 'k,v\r\n3,x\r\n4,"y"\r\n5,z\r\n')
    for options in ("-F 2", "-F -1", "-F v --header", "-F 2 --header", "-F v,v --header"):
        stdout, stderr = c.run(f"dedupe --csv {options} unix.csv win.csv", stdout=None, stderr=None)
        c.expect(stdout == b'k,v\n1,x\n2,"y"\n5,z\r\n' and b"carriage return" not in stderr, f"{options}: {stdout}, {stderr}")
        c.run(f"build -q {SURE} --csv {options} -o f.bloom win.csv")
        c.run(f"query -c --csv {options} f.bloom unix.csv", stdout=f"{3 - ('header' in options)}\n")
    c.run("inspect f.bloom", stdout=has(", crlf, "))
    # Without --csv it belongs to the key, and whatever names the field there is a warning.
    warned = has("warning: win.txt: its first line ends in a carriage return, which becomes part of the key")
    c.file("win.txt", "k\tv\r\n3\tx\r\n")
    for options in ("-F 2", "-F v --header", "-F 1,2", "-F 2,1", "-F v,k --header"):
        c.run(f"dedupe -q {options} win.txt", stdout=has("3\tx\r\n"), stderr=warned)
        c.run(f"dedupe -q --crlf {options} win.txt", stdout=has("3\tx\r\n"))
    for options in ("-F 1", "-F k --header"):
        c.run(f"dedupe -q {options} win.txt", stdout=has("3\tx\r\n"))


@case
def lines_of_hashes_and_numbers_are_warned_about(c):
    """HASH:COUNT is how lists of hashes are published, and no query has the count."""
    digests = [hashlib.sha1(str(n).encode()).hexdigest().upper() for n in range(50)]
    for between, named in ((":", "HEX:NUMBER"), ("\t", "HEX, tab, NUMBER"), (",", "HEX,NUMBER")):
        c.file("listed", "".join(f"{digest}{between}{n}\r\n" for n, digest in enumerate(digests)))
        option = "" if between == "\t" else f'-d "{between}" '
        c.run(f"build -q {SURE} --crlf -o f.bloom listed",
              stderr=f"bloomery: build: warning: listed: its lines look like {named}, and the number is part of the key. "
              f"'{option}-F 1 --hex' makes keys of the hashes alone\n")
        c.run(f"build -q {SURE} {option} -F 1 --hex -o f.bloom listed")
        c.run("query -c -F 0 f.bloom", stdin="".join(digest.lower() + "\n" for digest in digests), stdout="50\n")
        c.run("dedupe -qc --crlf listed", stdout="50\n")
    for lines in ("\n".join(digests), f"{digests[0]}:1\n{digests[1]}:x\n", "ab:1\n", f"{digests[0]}:\n", f"{digests[0]}a:1\n",
                  f"{digests[0]}:1\n\n"):
        c.run(f"build -q {SURE} -o f.bloom", stdin=lines)


@case
def a_column_too_many_in_the_queries_is_hinted_at(c):
    digests = [hashlib.sha1(str(n).encode()).hexdigest() for n in range(500)]
    c.run(f"build -q {SURE} -o f.bloom", stdin="\n".join(digests))
    c.run(f"build -q {SURE} --hex -o h.bloom", stdin="\n".join(digests))
    for between, option in ((":", "-d : -F 1"), (",", "-d , -F 1"), (";", "-d ';' -F 1"), ("\t", "-F 1")):
        asked = "".join(f"{digest}{between}{n}\n" for n, digest in enumerate(digests))
        c.run("query -c f.bloom", stdin=asked, stdout="0\n", code=1, stderr=has("hint: no key was found, but as the text before "
              "the ", f"they match f.bloom: use {option}"))
        c.run(f"query -c {option} f.bloom", stdin=asked, stdout="500\n")


@case
def a_sorted_file_with_a_mark_is_warned_about(c):
    c.file("windows", "a\r\nb\r\n")
    c.run("build -q --crlf -n 10 -o f.bloom windows")
    c.run("query -c --confirm windows f.bloom windows", stdout="2\n")
    c.file("marked", b"\xef\xbb\xbfa\n")
    c.run("query -c --confirm marked f.bloom", stdin="a\n", stdout="0\n", code=1,
          stderr=has("warning: marked: begins with a UTF-8 byte order mark"))
    c.run("build -q -n 10 -o g.bloom", stdin="a\nb\n")
    c.file("plain", "a\nb\n")
    c.run("query -c --confirm plain g.bloom", stdin="b\n", stdout="1\n")


main()
