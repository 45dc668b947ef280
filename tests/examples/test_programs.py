# SPDX-License-Identifier: Apache-2.0
"""The small programs of examples/: what they print, and what they say of wrong input."""

import os
import re
import subprocess

from runner import EMULATOR, Skip, case, main

PROGRAMS = os.environ["BLOOMERY_EXAMPLES"]
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")


def run(c, name, *arguments, stdin="", code=0):
    """stdout and stderr of an example."""
    program = os.path.join(PROGRAMS, "example-" + name)
    if not os.path.exists(program):
        raise Skip(f"{name} is not built here")
    done = subprocess.run([*EMULATOR, program, *arguments], cwd=c.directory, input=stdin, capture_output=True, text=True,
                          timeout=100, check=False)
    c.expect(done.returncode == code, f"{name}: {done.returncode}, {done.stderr}")
    return done.stdout, done.stderr


@case
def first_tells_new_keys_from_old_ones_and_saves(c):
    said, _ = run(c, "first", "keys.bloom", "apple", "pear", "apple")
    c.expect(said == "apple: new\npear: new\napple: seen before\nnever added: definitely not there\n", said)
    c.run("query keys.bloom", stdin="apple\nplum\n", stdout="apple\n")
    run(c, "first", code=2)
    _, why = run(c, "first", "no/such/folder", "a", code=2)
    c.expect("No such file" in why, why)


@case
def seen_keeps_its_words_from_run_to_run(c):
    said, _ = run(c, "seen", "words.bloom", "apple", "pear", "apple")
    c.expect(said == "apple: new\npear: new\napple: seen before\n", said)
    said, _ = run(c, "seen", "words.bloom", "pear", "plum")
    c.expect(said == "pear: seen before\nplum: new\n", said)
    c.run("query words.bloom", stdin="apple\nplum\nfig\n", stdout="apple\nplum\n")
    c.file("text.bloom", "not a filter\n")
    _, why = run(c, "seen", "text.bloom", "apple", code=2)
    c.expect("not a Bloomery filter" in why and c.read("text.bloom") == b"not a filter\n", why)
    run(c, "seen", code=2)


@case
def mapped_prints_what_the_command_prints(c):
    keys = "".join(f"key {i}\n" for i in range(1500))
    c.run("build -q -n 1500 -p 1e-6 -o f.bloom", stdin=keys)
    said, facts = run(c, "mapped", "f.bloom", stdin=keys + "absent\n" + keys[:20])
    c.expect(said == keys + keys[:20].rsplit("\n", 1)[0] + "\n", "other lines")
    c.expect("mapped: yes" in facts, facts)
    _, why = run(c, "mapped", "missing", code=2)
    c.expect("missing: No such file" in why, why)


@case
def threads_find_all_keys(c):
    for threads in ("1", "4"):
        said, _ = run(c, "threads", threads)
        c.expect("each thread found 1000000 of them" in said and "nearly all were new" in said, said)
    run(c, "threads", "0", code=2)


@case
def guava_files_go_there_and_back(c):
    said, _ = run(c, "guava", "f.guava", "a", "b")
    c.expect(said == "a: new\nb: new\n", said)
    said, _ = run(c, "guava", "f.guava", "b", "c")
    c.expect(said == "b: seen\nc: new\n", said)
    c.run("query --dialect guava f.guava", stdin="a\nc\nx\n", stdout="a\nc\n", stderr=None)
    c.file("bad", "no filter")
    run(c, "guava", "bad", "a", code=2)


@case
def visitors_are_counted(c):
    log = "".join(f"10.0.{i % 50}.{i % 251} - - GET /{i}\n" for i in range(20000))
    different = len({line.split()[0] for line in log.splitlines()})
    said, _ = run(c, "visitors", stdin=log)
    lines, visitors, estimate = re.match(r"(\d+) lines, (\d+) visitors \(about (\d+) ", said).groups()
    c.expect(int(lines) == 20000 and abs(int(visitors) - different) <= 15, f"{said}, {different}")
    c.expect(abs(int(estimate) - different) < 0.02 * different, f"{said}, {different}")


@case
def spelling_prints_words_that_are_not_in_the_list(c):
    c.file("words", "the\nquick\nfox\njumps\ndon't\nüber\n")
    said, _ = run(c, "spelling", "words", stdin="The quikc fox don't jump. ÜBER über THE", code=1)
    c.expect(said.splitlines()[:2] == ["quikc", "jump"], said)
    said, _ = run(c, "spelling", "words", stdin="the fox jumps")
    c.expect(said == "", said)
    run(c, "spelling", "missing", code=2)


@case
def titles_come_once_however_they_are_written(c):
    said, _ = run(c, "titles", stdin="The Raven\nthe raven!\nUlysses\n THE-RAVEN\nEmma\n")
    c.expect(said == "The Raven\nUlysses\nEmma\n", said)
    _, why = run(c, "titles", stdin="".join(f"title {i}\n" for i in range(400_000)), code=2)
    c.expect("full" in why, why)


@case
def the_slow_store_is_spared(c):
    said, _ = run(c, "slow_store")
    plain, guarded = re.findall(r"(\d+) names found, (\d+) lookups", said)
    c.expect(plain[0] == guarded[0] == "20000" and plain[1] == "60000", said)
    # All that are stored, and one in a hundred of the 40,000 others.
    c.expect(20000 <= int(guarded[1]) <= 20000 + 400 + 5 * 20, said)


@case
def every_example_stands_on_the_page_with_what_it_introduces(c):
    with open(os.path.join(SOURCES, "README.md"), encoding="utf-8") as file:
        page = file.read()
    names = [name for name in os.listdir(SOURCES) if name.endswith(".c")]
    c.expect(len(names) >= 9, f"{names}")
    for name in names:
        c.expect(f"| `{name}` |" in page, f"{name} is not on the page")
        with open(os.path.join(SOURCES, name), encoding="utf-8") as file:
            c.expect("Introduces: " in file.read(), f"{name} does not say what it introduces")


main()
