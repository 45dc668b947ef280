# SPDX-License-Identifier: Apache-2.0
"""The frame of the command: help, version, mistyped words, numbers."""

import gzip
import io
import json
import os
import re
import shutil
import socket
import subprocess
import zipfile

from runner import EMULATOR, Skip, TOOL, case, has, main


def listed(c, line):
    """The names that a list of commands gives: two blanks, the name, two blanks or more."""
    text = c.run(line, stdout=None)[0].decode()
    return re.findall(r"^  ([a-z]+) {2,}\S", text.partition("Commands:\n")[2] or text, re.M)


def commands(c):
    tops = listed(c, "--help")
    c.expect(len(tops) >= 16, f"the list of commands: {tops}")
    parts = [f"sieve {part}" for part in listed(c, "sieve --help")]
    c.expect(len(parts) >= 10, f"the list of the sieve's commands: {parts}")
    return tops + parts


def options_of(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", text)) - {"--help", "--version"}


def described_in(help_text):
    """The options that a help describes, not those that it mentions."""
    lines = (line for line in help_text.splitlines() if re.match(r" {2,6}(-\w, )?--[a-z]", line))
    return {name for line in lines for name in re.findall(r"(?:^ +|, )(--[a-z][a-z0-9-]+)", line)}


def manual(name="bloomery"):
    """A page of the manual, without what quotes and joins words in its source. Those with options are beside the
    command."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "man", name + ".1")
    if not os.path.exists(path):
        path = os.path.join(os.path.dirname(TOOL), "..", "man", name + ".1")
    if not os.path.exists(path):
        raise Skip("this build has no pages of the commands")
    with open(path, encoding="utf-8") as file:
        return re.sub(r"\\f[BIPR]", "", file.read()).replace("\\-", "-")


def page_of(command):
    """Parts of the sieve share a page."""
    return manual("bloomery-" + command.split()[0])


# The least that is an explorer: its place for a file.
PAGE = '<script type="application/octet-stream" id="given-file" data-name=""></script>'


@case
def help_is_on_stdout_and_no_error(c):
    whole, _ = c.run("--help", stdout=has("bloomery build", "Commands:"))
    for line in ("", "help", "-h", "help help", "help --help", "help -h"):
        c.run(line, stdout=whole)
    c.expect(all(len(line) <= 80 for line in whole.decode().splitlines()), "a line of over 80")


@case
def every_command_has_help_of_80_columns(c):
    for command in commands(c):
        text, _ = c.run(f"{command} --help", stdout=has(f"bloomery {command}"))
        c.run(f"help {command}", stdout=text)
        c.run(f"{command} -h", stdout=text)
        c.expect(all(len(line) <= 80 for line in text.decode().splitlines()),
                 f"the help of {command} has a line of more than 80 columns")


@case
def every_command_refuses_a_wrong_option_with_a_hint(c):
    for command in commands(c):
        if command != "sieve":  # which has commands, not options
            c.run(f"{command} --frobnicate", code=2,
                  stderr=has("unknown option '--frobnicate'", f"try 'bloomery {command} --help'"))


@case
def manual_and_help_name_the_same_options(c):
    main = manual()
    of_rules = options_of(main.partition(".SH RULES FOR KEYS")[2].partition("\n.SH")[0])
    of_all = options_of(main.partition(".SH DESCRIPTION")[2].partition("\n.SH")[0])
    helps, pages = {}, {}
    for command in commands(c):
        text = c.run(f"{command} --help", stdout=None)[0].decode()
        options = described_in(text)
        c.expect(len(options) >= (command.split()[0] not in ("dialects", "sieve")) * 2,
                 f"{command}: no options found in its help")
        page = page_of(command)
        known = options_of(page) | of_all
        if "RULES FOR KEYS" in page:
            known |= of_rules
        missing = sorted(options - known)
        c.expect(not missing, f"{command}: its page lacks {missing}")
        helps.setdefault(command.split()[0], set()).update(options_of(text))
        pages[command.split()[0]] = options_of(page)
    everything = set().union(*helps.values())
    # Of other programs, and an example of a shortened one.
    unknown = options_of(main) - everything - {"--rat"}
    c.expect(not unknown, f"no help has {sorted(unknown)}, which bloomery.1 names")
    for command, options in pages.items():
        unknown = options - everything - {"--pipe"}
        c.expect(not unknown, f"no help has {sorted(unknown)}, which the page of {command} names")


@case
def help_shows_every_option_that_is_taken(c):
    if EMULATOR:
        raise Skip("what is preloaded is for the emulator, not for the program")
    preloaded = {"LD_PRELOAD": os.environ["BLOOMERY_OPTIONS_TABLE"]}
    of_build = described_in(c.run("build --help", stdout=None)[0].decode())
    for command in commands(c):
        if command == "sieve":  # which has commands, not options
            continue
        text = c.run(f"{command} --help", stdout=None)[0].decode()
        table = c.run(f"{command} x", stdout=None, environment=preloaded)[0].decode().split("\n")
        taken = [row.split(" ") for row in table if row]
        c.expect(len(taken) > 2, f"{command}: its options were not printed: {table}")
        values = {name: value for name, value, _ in taken}
        described = "\n".join(re.findall(r"^ {2,6}(?:-\w, )?--[a-z].*$", text, re.M))
        shown = described_in(text)
        c.expect(shown <= set(values), f"{command} does not take {sorted(shown - set(values))}")
        missing = {name for name in values if name.startswith("--")} - shown - {"--help"}
        if "'bloomery help build'" in text:  # where the options for keys are described
            missing -= of_build
        c.expect(not missing, f"{command} takes {sorted(missing)}, which its help does not show")
        for name, value, letter in taken:
            if f"-{letter}" in values and name in shown:
                c.expect(f"-{letter}, {name}" in text, f"{command}: {name} is not shown with -{letter}")
            if name in shown:  # a value is written behind the name, by a word in capitals or in brackets
                has_value = re.search(rf"(?<![\w-]){name}(\[=|=| \[?)(?!ASCII)[A-Z][A-Z/]*(?![a-z])"
                                      rf"|{name} lineage", described) is not None
                c.expect(has_value == (value != "0"), f"{command} {name}: its value, {value}")


@case
def every_command_has_a_page_of_its_own(c):
    main = manual()
    for command in commands(c):
        name = command.split()[0]
        page = page_of(command)
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"):
            c.expect(f"\n.SH {section}\n" in page, f"{name}: no section {section}")
        c.expect(f"bloomery-{name} (1)" in main, f"bloomery.1 does not name the page of {name}")
    for section in ("ENVIRONMENT", "FILES", "SEE ALSO", "EXIT STATUS"):
        c.expect(f".SH {section}\n" in main, f"bloomery.1 has no section {section}")


@case
def options_have_one_name(c):
    c.run("build -q -n 10 -o f.bloom", stdin="a\n")
    for line in ("build -n 10 --lines 2 -o g.bloom", "plan -n 10 --lines 2", "build --key-file k -o g.bloom",
                 "query --key-file k f.bloom", "inspect --key-file k f.bloom", "dedupe --key-file k",
                 "merge --key-file k -o g.bloom f.bloom", "add --key-file k f.bloom", "remove --key-file k f.bloom"):
        option = "--lines" if "--lines" in line else "--key-file"
        c.run(line, stdin="a\n", code=2, stderr=has(f"unknown option '{option}'"))
    c.expect(c.names() == ["f.bloom"], f"{c.names()}")


@case
def json_has_each_field_once(c):
    def has_not(report, *names):
        for name in names:
            c.expect(name not in report, f"{name} is in {report}")

    c.run("build -q --kind counting -n 10 -o f.bloom", stdin="a\n")
    report = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])
    has_not(report, "links", "lines", "key_fingerprint", "key_in_file", "stuck_cells", "counter_most")
    c.expect((report["layers"], report["counter_max"], report["saturated_cells"], report["secret_in_file"],
              report["secret_fingerprint"]) == (1, 15, 0, False, None) and 1 <= report["blocks_per_key"] <= 4, f"{report}")
    has_not(json.loads(c.run("remove --json f.bloom", stdin="a\n", stdout=None)[0]), "stuck_cells")
    c.file("canaries", "a\n")
    has_not(json.loads(c.run("inspect --json --canary canaries f.bloom", stdout=None)[0])["canaries"], "asked")
    has_not(json.loads(c.run("dedupe --json -c", stdin="a\n", stdout=None)[0]), "links")
    report = json.loads(c.run("plan --json --kind scalable -n 1000 --grow-to 1M", stdout=None)[0])
    has_not(report, "links")
    has_not(report["plans"][0], "lines", "absent_lines", "present_lines")
    has_not(report["layers"][0], "lines")
    c.run("build -q --kind scalable -n 10 -o g.bloom", stdin="a\n")
    has_not(json.loads(c.run("inspect --json g.bloom", stdout=None)[0])["chain"][0], "lines")
    has_not(json.loads(c.run("merge --json -o h.bloom g.bloom", stdout=None)[0]), "links")
    has_not(json.loads(c.run("plan --json -n 1000 --bits-per-key 10", stdout=None)[0])["plans"][0], "lines")


@case
def help_of_an_unknown_command_is_an_error(c):
    c.run("help qury", code=2, stderr="bloomery: unknown command 'qury'; did you mean 'query'?\n"
          "try 'bloomery --help'\n")


@case
def help_to_a_full_disk_is_an_error(c):
    with open("/dev/full", "wb") as full:
        c.run("--help", stdout_file=full, code=2,
              stderr="bloomery: writing to stdout: No space left on device\n")
        c.run("build --help", stdout_file=full, code=2,
              stderr="bloomery: build: writing to stdout: No space left on device\n")


@case
def version_names_itself_and_its_libraries(c):
    c.run("--version", stdout=has("bloomery 0.", "file format: 2", "libarchive", "zlib"))


@case
def unknown_command_suggests_the_nearest(c):
    c.run("biuld", code=2, stderr="bloomery: unknown command 'biuld'; did you mean 'build'?\n"
          "try 'bloomery --help'\n")
    c.run("qu", code=2, stderr=has("did you mean 'query'?"))
    c.run("shw", code=2, stderr=has("unknown command 'shw'"))
    c.run("xyzzy", code=2, stderr="bloomery: unknown command 'xyzzy'\ntry 'bloomery --help'\n")
    c.run("--frobnicate", code=2, stderr=has("unknown option '--frobnicate'"))


@case
def names_of_other_programs_lead_to_the_command(c):
    known = commands(c) + ["--version"]
    for name, here in (("insert", "add"), ("check", "query"), ("show", "inspect"), ("join", "merge"),
                       ("create", "build"), ("contains", "query"), ("info", "inspect"),
                       ("union", "merge"), ("uniq", "dedupe"), ("new", "build"),
                       ("version", "--version"), ("delete", "remove"), ("size", "inspect"),
                       ("distinct", "dedupe"), ("grep", "query"), ("reserve", "build"),
                       ("open", "explore"), ("view", "explore")):
        c.expect(here in known and name not in known, f"{name} is {here}")
        said = (f"bloomery: unknown command '{name}'; its name here is '{here}'\n"
                "try 'bloomery --help'\n")
        c.run(f"{name} x", code=2, stderr=said)
        c.run(f"help {name}", code=2, stderr=said)


@case
def names_of_other_programs_lead_to_a_command_with_its_option(c):
    for name, here in (("intersect", "merge --intersect"), ("comm", "dedupe --against"), ("count", "query -c"),
                       ("verify", "inspect --verify")):
        c.run(f"{name} x", code=2, stderr=f"bloomery: unknown command '{name}'; its name here is '{here}'\n"
              "try 'bloomery --help'\n")
        command, option = here.split()
        c.run(f"{command} --help", stdout=has(option))
    c.run("sign x", code=2, stderr=has("unknown command 'sign'; sign the file as others, with minisign or gpg"))


@case
def options_of_other_programs_lead_to_the_option(c):
    """Those of sort, uniq, awk, grep and sed that people type first, where the command has the like."""
    for line, given, here in (("dedupe -i", "-i", "--lower"), ("dedupe --ignore-case", "--ignore-case", "--lower"),
                              ("dedupe -k 4", "-k", "-F"), ("dedupe -f 4", "-f", "-F"), ("dedupe -z", "-z", "-0"),
                              ("dedupe -t ,", "-t", "-d"), ("dedupe --in-place x", "--in-place", "-o FILE FILE"),
                              ("dedupe -H", "-H", "--header"), ("build -k 2", "-k", "-F"), ("build --fpr=1%", "--fpr", "-p"),
                              ("build --capacity 9", "--capacity", "-n"), ("query --invert-match f", "--invert-match", "--invert"),
                              ("query -i f", "-i", "--lower"), ("query -z f", "-z", "-0"), ("query -e x f", "-e", "-k"),
                              ("inspect --sha256 f", "--sha256", "--verify")):
        command = line.split()[0]
        c.run(line, code=2, stderr=f"bloomery: {command}: unknown option '{given}'; its name here is '{here}'\n"
              f"try 'bloomery {command} --help'\n")
    c.run("dedupe -u", code=2, stderr=has("unknown option '-u'; each line is printed once without it"))
    c.run("query -x f", code=2, stderr=has("unknown option '-x'; whole lines are compared without it"))
    # A command without the like has no such name for it.
    c.run("merge -i", code=2, stderr="bloomery: merge: unknown option '-i'\ntry 'bloomery merge --help'\n")
    c.run("query --wrong f", code=2, stderr=has("unknown option '--wrong'"))


@case
def a_comma_is_named_as_the_fault(c):
    for line in ("build -p 1,5% -o f", "build -p 0,01 -o f", "build --memory 1,5GB -o f", "build -n 1,5k -o f",
                 "plan -n 10 -p 1,5%"):
        value = next(word for word in line.split() if "," in word)
        c.run(line, code=2, stderr=has(f" {value}: a point, not a comma, begins a fraction, as in 1.5"))


@case
def names_of_other_queues_lead_to_the_part_of_sieve(c):
    parts = re.findall(r"^  ([a-z]+)  ", c.run("sieve --help", stdout=None)[0].decode(), re.M)
    for name, here in (("add", "push"), ("insert", "push"), ("enqueue", "push"), ("get", "pop"), ("next", "pop"),
                       ("done", "ack"), ("check", "contains"), ("query", "contains"), ("info", "status"),
                       ("show", "status"), ("list", "export"), ("repair", "recover"), ("commit", "flush")):
        c.expect(here in parts and name not in parts, f"{name} is {here}: {parts}")
        said = (f"bloomery: sieve: unknown command '{name}'; its name here is '{here}'\n"
                "try 'bloomery sieve --help'\n")
        c.run(f"sieve {name} x", code=2, stderr=said)
        c.run(f"help sieve {name}", code=2, stderr=said)
    for part in parts:
        c.run(f"help sieve {part}", stdout=has(f"bloomery sieve {part}"))
    c.run("help sieve note", code=2, stderr=has("unknown command 'note'"))
    c.run("help sieve frobnicate", code=2, stderr=has("unknown command 'frobnicate'"))


@case
def manual_and_help_say_bloom_filter(c):
    for line in ("--help", "plan --help", "build --help", "query --help", "dedupe --help"):
        c.run(line, stdout=has("Bloom filter"))
    text = re.sub(r"\s+", " ", manual())
    for section in ("NAME", "DESCRIPTION"):
        part = text.partition(f".SH {section} ")[2].partition(".SH")[0]
        c.expect("Bloom filter" in part, f"{section} lacks the word: {part[:100]}")


@case
def unknown_option_suggests_the_nearest(c):
    c.run("build --memry 1M", code=2,
          stderr="bloomery: build: unknown option '--memry'; did you mean '--memory'?\n"
          "try 'bloomery build --help'\n")
    c.run("query --memry=1M", code=2, stderr=has("unknown option '--memry'"))
    c.run("query -Z", code=2, stderr="bloomery: query: unknown option '-Z'\n"
          "try 'bloomery query --help'\n")
    c.run("query -cZ", code=2, stderr=has("unknown option '-Z'"))


@case
def missing_and_superfluous_values_are_named(c):
    c.run("build -n", code=2, stderr=has("-n needs a value"))
    c.run("build --memory", code=2, stderr=has("--memory needs a value"))
    c.run("query --count=3", code=2, stderr=has("--count takes no value"))


@case
def missing_operand_is_named(c):
    c.run("query", code=2, stderr=has("no filter: ", "try 'bloomery query --help'"))
    c.run("add", code=2, stderr=has("no filter: ", "try 'bloomery add --help'"))
    c.run("build", code=2, stderr=has("-o FILE", "try 'bloomery build --help'"))


@case
def bad_numbers_are_refused_with_the_range(c):
    keys = "must be a whole number from 1 to 281,474,976,710,656"
    rate = "a rate is from 1e-15 to below 1"
    for value in ("-5", "0", "1.5", "1e-3", "1e30", "99999999999999999999", "1__0"):
        c.run(["build", "-n", value, "-o", "f"], code=2, stderr=has(f"-n {value}: {keys}"))
    for value in ("12q", "20Mx", "0x10", "5m", "1e", "2.5B"):
        c.run(["build", "-n", value, "-o", "f"], code=2, stderr=has(
            f"-n '{value}': what follows the number must be k, M, G or T\n"))
    for value in ("", " 5", "many", "_1", "M", "e5"):
        c.run(["build", "-n", value, "-o", "f"], code=2, stderr=has(f"-n '{value}' is not a number"))
    for value in ("0", "2", "1", "-0.1", "1e-16", "1/0", "2/1", "200%", "0.1x", "1/3/4"):
        c.run(["build", "-p", value, "-o", "f"], code=2, stderr=has(f"-p {value}: {rate}"))
    for value in ("", "nan", "inf", "rare", "%", "/2"):
        c.run(["build", "-p", value, "-o", "f"], code=2, stderr=has(f"-p '{value}' is not a rate"))
    for value in ("0", "-1", "1XB", "99999999999T", "1.5.5", "1MiBs", "200TiB"):
        c.run(["build", "--memory", value, "-o", "f"], code=2,
              stderr=has(f"--memory {value}: must be a size from 1 byte to 128 TiB"))
    for option, low, high in (("blocks", 1, 4), ("folds", 0, 30)):
        c.run(f"build --{option} {high + 1} -o f", code=2, stderr=has(f"from {low} to {high}"))
    c.expect(not c.names(), "a refused build left a file")


@case
def long_options_may_be_shortened(c):
    c.file("keys", "a\n")
    c.run("build --out f.bloom --rat 0.1 --quie keys")
    c.run("query --inv f.bloom keys", code=1)
    c.run("query --coun f.bloom keys", code=2, stderr=has("unknown option '--coun'"))
    c.run("build --ke 5 -o g.bloom keys", code=2, stderr=has("unknown option '--ke'"))


@case
def unknown_kind_suggests_the_nearest(c):
    c.run("build --kind clasic -o f", code=2, stderr=has("unknown kind 'clasic'",
                                                         "did you mean 'classic'?"))
    c.run("build --kind blokced -o f", code=2, stderr=has("did you mean 'blocked'?"))
    c.run("build --kind zebra -o f", code=2, stderr=has("the kinds are blocked, classic, counting, scalable, static and cuckoo"))


@case
def options_may_follow_operands_and_two_dashes_end_them(c):
    c.file("keys", "a\n")
    c.run("build keys -q -o f.bloom")
    c.run("query f.bloom -c keys", stdout="1\n")
    c.file("-c", "a\n")
    c.run("query f.bloom -- -c", stdout="a\n")


@case
def nothing_takes_the_place_of_a_closed_stream(c):
    c.run("build -q -n 10 -o f.bloom", stdin="a\nb\n")
    c.file("in", "a\nb\n")

    def code_of(line, closed):
        # "$@" and not "$0": the command may be several words, an emulator's and its own.
        shell = ["sh", "-c", f'"$@" {closed}', "sh", *c.arguments(line)]
        return c.spawn(shell, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait()

    for closed in (">&-", "2>&-", "<&-", ">&- 2>&- <&-"):
        # What goes to stdout is lost where that is closed: an error, and neither the file that is
        # added to nor the input may get it.
        code = 2 if closed.startswith(">&-") else 0
        c.file("had", "x\n")
        got = code_of("dedupe --append had in", closed)
        c.expect(got == code, f"dedupe {closed}: exit code {got}")
        c.expect(c.read("had") == (b"x\n" if code else b"x\na\nb\n"), f"{closed}: {c.read('had')}")
        # Nor a message, which is printed while the file is open.
        c.file("had", "x\n")
        got = code_of("dedupe -n 10 --append had in missing", closed)
        c.expect(got == 2, f"dedupe of what is missing {closed}: exit code {got}")
        c.expect(c.read("had") == (b"x\n" if code else b"x\na\nb\n"), f"{closed}: {c.read('had')}")
        got = code_of("query f.bloom in", closed)
        c.expect(got == code, f"query {closed}: exit code {got}")
        c.expect(c.read("in") == b"a\nb\n", f"{closed}: {c.read('in')}")


@case
def a_closed_standard_input_is_an_error_and_replaces_nothing(c):
    """It is not an empty input: a filter of nothing would take the place of the one that is there."""
    c.run("build -q -n 10 --kind counting -p 1e-9 -o f.bloom", stdin="a\nb\n")
    c.run("build -q -n 10 -p 1e-9 -o g.bloom", stdin="a\nb\n")
    c.run("sieve push -q sieve", stdin="a\nb\n")
    c.file("state", c.read("g.bloom"))
    c.file("had", "x\n")
    c.file("page.html", PAGE)
    for line in ("build --force -n 10 -o g.bloom", "build --force -o g.bloom -", "build --force -o g.bloom /dev/stdin",
                 "add f.bloom", "remove f.bloom", "query f.bloom", "query -v f.bloom -", "query --counts f.bloom",
                 "dedupe", "dedupe --exact -", "dedupe -o had --force", "dedupe --append had", "dedupe --state g.bloom -",
                 "dedupe --against - had", "dedupe --jsonl text -", "convert --from guava -o g.bloom --force -",
                 "sieve push sieve", "sieve contains sieve", "sieve ack sieve", "sieve import sieve -",
                 "explore --page page.html -o out.html -"):
        process = c.start(line, stdin=None, preexec_fn=lambda: os.close(0))
        out, said = process.communicate(timeout=60)
        c.expect(process.returncode == 2 and out == b"" and said != b"", f"{line}: {process.returncode} {out} {said}")
    c.expect(c.read("g.bloom") == c.read("state") and c.read("had") == b"x\n", "a file was replaced")
    c.run("query -c f.bloom", stdin="a\nb\n", stdout="2\n")


@case
def names_are_printed_without_control_characters(c):
    """Of files, of archives' members, and within sentences of the library; UTF-8 stays readable."""
    name, shown = "Größe 日本\x1b]0;title\x07\x9b\u202fx\n\u0085.bloom", "Größe 日本?]0;title???\u202fx???.bloom"
    c.file("keys", "a\n")
    c.file("good.bloom", "x")
    c.run("build -q -n 10 -p 1e-9 -o good.bloom --force keys")
    c.run("build -q -n 99999 -p 1e-3 -o other.bloom keys")
    c.file(name, c.read("good.bloom"))
    c.file("odd\x1b[2J", "no filter\n")
    c.file("odd\x1b.bloom", c.read("good.bloom")[:-3])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("Größe\x1b]0;pwn\x07\x1b[31mX", gzip.compress(b"x"))
    c.file("odd.zip", buffer.getvalue())
    os.mkfifo(c.path("fifo\x1b"))
    for line, text in (
            (["inspect", name], shown), (["plot", name], "0;title"), (["build", "-o", name, "keys"], shown),
            (["compare", name, "good.bloom"], shown), (["compare", name, "other.bloom"], shown),
            (["merge", "--check", name, "other.bloom"], shown), (["add", name, "keys"], shown),
            (["query", "good.bloom", "odd.zip"], "Größe?]0;pwn??[31mX"), (["inspect", "odd\x1b[2J"], "odd?[2J"),
            (["query", "odd\x1b.bloom", "keys"], "odd?.bloom"), (["inspect", "odd\x1b.bloom"], "odd?.bloom"),
            (["query", "missing\x1b.bloom", "keys"], "missing?.bloom"), (["query", "good.bloom", "no\x1b[0m"], "no?[0m"),
            (["query", "fifo\x1b", "keys"], "fifo?"), (["merge", "-o", "fifo\x1b", name, name], "fifo?"),
            (["sieve", "status", "no\x1bsieve"], "no?sieve"), (["dedupe", "--state", "odd\x1b[2J", "keys"], "odd?[2J"),
            (["no\x1bcommand"], "no?command"), (["build", "--no\x1boption"], "no?option")):
        out, said = c.run(line, stdout=None, stderr=None, code=None)
        whole = (out + said).decode()
        c.expect(text in whole, f"{line}: {whole[:300]!r} lacks {text!r}")
        c.expect(not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", whole), f"{line}: {whole[:300]!r}")
        c.expect(whole.count(text) < 3, f"{line}: the name is there too often: {whole[:300]!r}")


def make_fifo(path):
    """One that nobody writes to."""
    os.mkfifo(path)


def make_socket(path):
    """One that nobody listens to. A socket's name is short, whatever the folder's is."""
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    os.close(folder)


def refused_at_once(c, line):
    """Neither waits for a writer nor takes it for an empty file."""
    process = c.start(line, stdin=subprocess.DEVNULL)
    try:
        said = process.communicate(timeout=20)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        c.expect(False, f"{line}: it waits")
    c.expect(process.returncode == 2 and said.startswith(b"bloomery: "), f"{line}: {process.returncode} {said}")


@case
def no_command_waits_for_a_fifo_or_socket_in_place_of_its_own_file(c):
    c.file("keys", "a\nb\n")
    c.file("page.html", PAGE)
    c.run("build -q -n 10 -p 1e-9 -o f.bloom keys")
    for make, odd in ((make_fifo, "fifo"), (make_socket, "socket")):
        make(c.path(odd))
        for line in (f"query {odd} keys", f"query f.bloom --confirm {odd} keys", f"inspect {odd}", f"plot {odd}",
                     f"add {odd} keys", f"remove {odd} keys", f"merge -o g.bloom f.bloom {odd}", f"fold -o g.bloom {odd}",
                     f"merge -o {odd} f.bloom f.bloom", f"build -o {odd} keys", f"build --force -o {odd} keys",
                     f"compare f.bloom {odd}", f"convert --to dcso -o g.bloom {odd}", f"dedupe --state {odd} keys",
                     f"convert --from guava -o g.bloom {odd}", f"dedupe --append {odd} keys", f"dedupe --force -o {odd} keys",
                     f"query --secret-file {odd} f.bloom keys", f"dedupe --from-dir {odd} keys",
                     f"explore --page page.html {odd}", f"explore --page {odd} f.bloom"):
            refused_at_once(c, line)
        for name in (".bloomery-dedupe", ".bloomery-dedupe.filter"):
            os.makedirs(c.path("out"))
            make(c.path(f"out/{name}"))
            refused_at_once(c, "dedupe --jsonl text --output-dir out keys")
            shutil.rmtree(c.path("out"))


@case
def no_command_waits_for_a_fifo_or_socket_in_a_sieve(c):
    """In place of each of its files, one after the other."""
    for engine in ("disk", "memory"):
        for make in (make_fifo, make_socket):
            c.run(f"sieve push -q --engine {engine} whole", stdin="1\n2\n")
            c.run("sieve pop whole", stdout=None, stderr=None)
            for name in os.listdir(c.path("whole")):
                for line in ("status", "verify", "contains", "pop", "push", "export", "ack", "recover"):
                    shutil.copytree(c.path("whole"), c.path("sieve"))
                    os.unlink(c.path(f"sieve/{name}"))
                    make(c.path(f"sieve/{name}"))
                    process = c.start(f"sieve {line} sieve")
                    process.communicate(input=b"1\n", timeout=20)
                    c.expect(name != "MANIFEST" or process.returncode == 2, f"{line} of {name}: {process.returncode}")
                    shutil.rmtree(c.path("sieve"))
            shutil.rmtree(c.path("whole"))


main()
