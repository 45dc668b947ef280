# SPDX-License-Identifier: Apache-2.0
"""query: grep's contract, with filters that are whole, damaged, empty, keyed or made by a rule."""

import array
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import termios
import time

from runner import EMULATOR, Skip, case, has, keyed, main, open_terminal

IN = "".join(f"in-{i}\n" for i in range(100))
OUT = "".join(f"out-{i}\n" for i in range(100))


def set_up(c):
    """Filters a (with a1, both) and b (with b1, both) at a rate where nothing is there by chance."""
    c.run("build -q -n 10 -p 1e-12 -o a.bloom", stdin="a1\nboth\n")
    c.run("build -q -n 10 -p 1e-12 -o b.bloom", stdin="b1\nboth\n")


@case
def lines_that_may_be_in_are_printed_in_order(c):
    c.run("build -q -n 100 -p 1e-12 -o f.bloom", stdin=IN)
    mixed = "".join(a + b for a, b in zip(IN.splitlines(True), OUT.splitlines(True)))
    c.run("query f.bloom", stdin=mixed, stdout=IN)
    c.run("query -v f.bloom", stdin=mixed, stdout=OUT)
    c.run("query f.bloom", stdin=IN + IN, stdout=IN + IN)


@case
def exit_code_tells_some_from_none(c):
    set_up(c)
    for stdin, plain, inverted in (("a1\n", 0, 1), ("x\n", 1, 0), ("a1\nx\n", 0, 0), ("", 1, 1)):
        hits = "a1\n" if "a1" in stdin else ""
        misses = "x\n" if "x" in stdin else ""
        c.run("query a.bloom", stdin=stdin, stdout=hits, code=plain)
        c.run("query -v a.bloom", stdin=stdin, stdout=misses, code=inverted)
        c.run("query -c a.bloom", stdin=stdin, stdout=f"{hits.count('a1')}\n", code=plain)
        c.run("query -vc a.bloom", stdin=stdin, stdout=f"{misses.count('x')}\n", code=inverted)
        c.run("query -q a.bloom", stdin=stdin, code=plain)
        c.run("query -qv a.bloom", stdin=stdin, code=inverted)
        c.run("query -qc a.bloom", stdin=stdin, code=plain)
        c.run("query -qvc a.bloom", stdin=stdin, code=inverted)


@case
def missing_input_is_an_error_and_others_are_still_read(c):
    set_up(c)
    c.file("good", "a1\nx\n")
    wrong = "bloomery: query: missing: No such file or directory\n"
    for line, stdout in (("query a.bloom", "a1\n"), ("query -v a.bloom", "x\n"),
                         ("query -c a.bloom", "1\n"), ("query -vc a.bloom", "1\n")):
        c.run(f"{line} missing good", stdout=stdout, stderr=wrong, code=2)
        c.run(f"{line} good missing", stdout=stdout, stderr=wrong, code=2)
    c.run("query a.bloom missing.txt", stderr=wrong.replace("missing", "missing.txt"), code=2)


@case
def key_in_place_of_an_input_leads_to_the_option(c):
    set_up(c)
    said = ("bloomery: query: missing: No such file or directory\n"
            "an INPUT is a file of keys; one key is queried with -k missing\n")
    c.run("query a.bloom missing", stderr=said, code=2)
    c.run("query -c a.bloom missing", stdout="0\n", stderr=said, code=2)
    c.run("query -k a1 a.bloom missing", stdout="a1\n", code=2,
          stderr="bloomery: query: missing: No such file or directory\n")


@case
def error_wins_except_with_quiet_and_a_hit(c):
    set_up(c)
    c.file("good", "a1\nx\n")
    c.file("none", "x\n")
    wrong = "bloomery: query: missing: No such file or directory\n"
    c.run("query -q a.bloom missing good", stderr=wrong, code=0)
    c.run("query -q a.bloom good missing", code=0)
    c.run("query -q a.bloom missing none", stderr=wrong, code=2)
    c.run("query -q a.bloom none missing", stderr=wrong, code=2)
    c.run("query -qv a.bloom missing none", stderr=wrong, code=0)
    c.run("query -qc a.bloom missing good", stderr=wrong, code=0)


@case
def directory_as_input_is_an_error(c):
    set_up(c)
    os.mkdir(c.path("folder"))
    c.file("good", "a1\n")
    c.run("query a.bloom folder good", stdout="a1\n", code=2,
          stderr="bloomery: query: folder: is a directory, not a file of keys\n")


@case
def a_key_in_any_of_several_filters_is_found(c):
    set_up(c)
    keys = "a1\nb1\nboth\nnone\n"
    c.run("query -f a.bloom -f b.bloom", stdin=keys, stdout="a1\nb1\nboth\n")
    c.run("query -v -f a.bloom -f b.bloom", stdin=keys, stdout="none\n")
    c.run("query -c -f a.bloom -f b.bloom", stdin=keys, stdout="3\n")
    c.run("query -vc -f a.bloom -f b.bloom", stdin=keys, stdout="1\n")
    c.run("query -q -f a.bloom -f b.bloom", stdin="b1\n", code=0)
    c.run("query -q -f a.bloom -f b.bloom", stdin="none\n", code=1)
    c.run("query -qv -f a.bloom -f b.bloom", stdin="a1\nb1\n", code=1)
    c.run("query -f a.bloom -f b.bloom", stdin="none\n", code=1)
    c.file("keys", keys)
    c.run("query --filter=a.bloom keys", stdout="a1\nboth\n")


@case
@keyed
def filters_with_other_hashes_are_asked_together(c):
    set_up(c)
    c.run("build -q -n 10 -p 1e-12 --seed 5 --kind classic -o s.bloom", stdin="s1\n")
    c.run("build -q -n 10 -p 1e-12 --keyed -o k.bloom", stdin="k1\n")
    c.run("query -f a.bloom -f s.bloom -f k.bloom", stdin="s1\nk1\na1\nx\n", stdout="s1\nk1\na1\n")


@case
def filenames_say_which_filter_has_the_line(c):
    set_up(c)
    keys = "a1\nb1\nboth\nnone\n"
    c.run("query --with-filename -f a.bloom -f b.bloom", stdin=keys,
          stdout="a.bloom:a1\nb.bloom:b1\na.bloom:both\nb.bloom:both\n")
    c.run("query --with-filename a.bloom", stdin=keys, stdout="a.bloom:a1\na.bloom:both\n")
    c.run("query --with-filename -c -f a.bloom -f b.bloom", stdin=keys + "b1\n",
          stdout="a.bloom:2\nb.bloom:3\n")
    c.run("query --with-filename -f a.bloom -f b.bloom", stdin="none\n", code=1)
    c.run("query -0 --with-filename a.bloom", stdin="both\0", stdout="a.bloom:both\0")
    c.run("query -v --with-filename a.bloom", stdin=keys, code=2, stderr=has("--with-filename"))


@case
def json_counts_lines_and_filters(c):
    set_up(c)

    def report(line, stdin, code=0, stderr=""):
        text, _ = c.run(line, stdin=stdin, stdout=None, code=code, stderr=stderr)
        return json.loads(text)

    keys = "a1\nb1\nboth\nnone\nb1\n"
    expected = {"schema": 1, "command": "query", "inverted": False, "records": 5, "passed_over": 0, "count": 4,
                "all_read": True}
    for options, differs in (("-c", {}), ("-vc", {"inverted": True, "count": 1})):
        got = report(f"query {options} --json -f a.bloom -f b.bloom", keys)
        filters = got.pop("filters")
        c.expect(0 < got.pop("expected_false_positives") < 1e-9, f"{got}")
        c.expect(got == {**expected, **differs}, f"{got}")
        c.expect([(of["file"], of["maybe_added"]) for of in filters] == [("a.bloom", 2), ("b.bloom", 3)], f"{filters}")
    got = report("query -c --json a.bloom", "x\n", 1)
    c.expect((got["count"], got["records"]) == (0, 1), f"{got}")
    got = report("query -c --json a.bloom - missing", "a1\n", 2, has("missing: No such file"))
    c.expect((got["count"], got["all_read"]) == (1, False), f"{got}")
    for options in ("--json", "--json -v", "-qc --json"):
        c.run(f"query {options} a.bloom", stdin="a1\n", code=2, stderr=has("--json is for"))


@case
def a_count_says_how_many_false_positives_to_expect(c):
    """(Q - H) p / (1 - p) of H lines found of Q; of several filters, one minus the product of 1 - p is p."""
    c.run("build -q -n 2000 -p 0.05 -o a.bloom", stdin="".join(f"{n}\n" for n in range(2000)))
    c.run("build -q -n 2000 -p 0.02 -o b.bloom", stdin="".join(f"{n}\n" for n in range(2000, 4000)))
    asked = "".join(f"{n}\n" for n in range(22_000))
    rates = []
    for name in "ab":
        got = json.loads(c.run(f"query -c --json {name}.bloom", stdin=asked, stdout=None, stderr=None)[0])
        of = got["filters"][0]
        rates.append(of["rate"])
        expected = (22_000 - got["count"]) * of["rate"] / (1 - of["rate"])
        c.expect(abs(got["expected_false_positives"] / expected - 1) < 1e-9, f"{got}")
        c.expect(of["expected_false_positives"] == got["expected_false_positives"], f"{got}")
        found = got["count"] - 2000
        c.expect(abs(found - expected) < 6 * expected**0.5, f"{found} false positives, {expected} expected")
    rate = 1 - (1 - rates[0]) * (1 - rates[1])
    for options in ("", "-v"):
        got = json.loads(c.run(f"query -c {options} --json -f a.bloom -f b.bloom", stdin=asked, stdout=None,
                               stderr=None)[0])
        others = got["count"] if options else 22_000 - got["count"]
        c.expect(abs(got["expected_false_positives"] / (others * rate / (1 - rate)) - 1) < 1e-9, f"{got}")
    # A note, and none where less than one is expected.
    c.run("query -c a.bloom", stdin=asked, stdout=has("\n"), stderr=has("of these are expected to be false positives (1 in "))
    c.run("query -c a.bloom", stdin="1\n2\n", stdout="2\n")


@case
def no_more_false_positives_are_expected_than_lines_were_found(c):
    c.run("build -q --kind classic -n 100 -p 0.5 -o n.bloom", stdin="1\n", stderr=None)
    lines = "".join(f"{i}\n" for i in range(1_000_000, 1_010_000))
    for more, full in ((700, False), (20_000, True)):
        c.run("add -q --force n.bloom", stdin="".join(f"{i}\n" for i in range(more)), stderr=None)
        got = json.loads(c.run("query -c --json n.bloom", stdin=lines, stdout=None, stderr=None)[0])
        c.expect(0 < got["expected_false_positives"] <= got["count"], f"{got}")
        c.expect(not full or got["expected_false_positives"] == got["count"] == 10_000, f"{got}")


@case
def none_where_chance_finds_some_is_remarked(c):
    """A filter that was planned for a million keys and has one, and lines that are one, many times."""
    many = "".join(f"{n}\n" for n in range(10_000))
    c.run("build -q -n 1000000 -p 1% -o one.bloom", stdin="all the keys in one line\n")
    c.run("query -c one.bloom", stdin=many, stdout="0\n", code=1,
          stderr=has("note: one.bloom: none of 10,000 lines was found, where chance alone finds about ",
                     "It holds about 1 of the 1,000,000 keys"))
    c.run("query -c one.bloom", stdin=many[:2000], stdout="0\n", code=1)
    c.run("build -q -p 1% -o full.bloom", stdin=many)
    absent, _ = c.run("query -v full.bloom", stdin=many.replace("\n", "x\n"), stdout=None)
    c.run("query -v -c full.bloom", stdin=absent, stdout=None,
          stderr=has("They are few distinct lines, or were chosen by a filter"))


@case
def missing_filter_is_an_error_before_anything_is_read(c):
    set_up(c)
    for options in ("", "-q", "-v", "-c", "-qv"):
        c.run(f"query {options} -f a.bloom -f missing.bloom", stdin="a1\n", code=2,
              stderr="bloomery: query: missing.bloom: No such file or directory\n")
        c.run(f"query {options} missing.bloom", stdin="a1\n", code=2,
              stderr="bloomery: query: missing.bloom: No such file or directory\n")


@case
def keys_on_the_command_line_need_no_input(c):
    set_up(c)
    c.run("query -k a1 a.bloom", stdin="both\n", stdout="a1\n")
    c.run("query -k x -k a1 -k both a.bloom", stdin="", stdout="a1\nboth\n")
    c.run("query -k x a.bloom", code=1)
    c.run("query -v -k x a.bloom", stdout="x\n")
    c.run("query -c -k x -k a1 a.bloom", stdout="1\n")
    c.run("query -q -k a1 a.bloom")
    c.run("query -0 -k a1 a.bloom", stdout="a1\0")
    c.run("query --with-filename -k both -f a.bloom -f b.bloom", stdout="a.bloom:both\nb.bloom:both\n")
    c.file("more", "both\nx\n")
    c.run("query -k a1 a.bloom more", stdout="a1\nboth\n")
    c.run("query -k a1 a.bloom -", stdin="both\n", stdout="a1\nboth\n")
    c.run(["query", "-k", "", "a.bloom"], code=1)
    many = [word for i in range(200) for word in ("-k", f"x{i}", "-k", "a1")]
    c.run(["query", "-c", "a.bloom", *many], stdout="200\n")


@case
def input_may_be_several_files_and_stdin(c):
    set_up(c)
    c.file("one", "a1")  # without a newline: still a line of its own
    c.file("two", "both\nx")
    c.run("query a.bloom one two - one", stdin="a1\nx", stdout="a1\nboth\na1\na1\n")


@case
def every_size_of_batch_answers_the_same(c):
    c.run("build -q -n 5000 -p 1e-12 -o f.bloom", stdin="".join(f"{i}\n" for i in range(0, 9000, 2)))
    for count in (1, 2, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 8191, 8192, 8193):
        asked = [f"{i}\n" for i in range(count)]
        c.run("query f.bloom", stdin="".join(asked), stdout="".join(asked[::2]))
        c.run("query -v f.bloom", stdin="".join(asked), stdout="".join(asked[1::2]),
              code=0 if count > 1 else 1)


@case
def runs_of_hits_of_every_length_are_printed(c):
    c.run("build -q -n 5000 -p 1e-12 -o f.bloom", stdin="".join(f"in-{i}\n" for i in range(5000)))
    asked, expected, number = [], [], 0
    for length in list(range(70)) + [200, 1000, 3000]:
        run = [f"in-{(number + i) % 5000}\n" for i in range(length)]
        number += length
        asked += run + ["out\n"] * (length % 5 + 1)
        expected += run
    c.run("query f.bloom", stdin="".join(asked), stdout="".join(expected))


# ---- Filters -----------------------------------------------------------------------------------------

@case
def empty_filter_has_no_line(c):
    c.run("build -q -n 100 -o f.bloom", stdin="")
    note = "bloomery: query: note: f.bloom: is empty, so no line can match\n"
    c.run("query f.bloom", stdin=IN + "\n", code=1, stderr=note)
    c.run("query -v f.bloom", stdin=IN + "\n", stdout=IN + "\n")
    c.run("query -c f.bloom", stdin=IN, stdout="0\n", code=1, stderr=note)
    c.run("query -q f.bloom", stdin=IN, code=1)
    c.run("query f.bloom", stdin="", code=1)


@case
def full_filter_has_every_line(c):
    """And a warning says so, but not of a filter that has all lines for another reason."""
    warning = "bloomery: query: warning: f.bloom: is full: all bits are set, so every line is reported as possibly in it\n"
    many = "".join(f"{n}\n" for n in range(20_000))
    for kind in ("blocked", "classic", "counting"):
        c.run(f"build -q --kind {kind} -n 100 -o f.bloom", stdin=many, stderr=has("is full: all bits are set"))
        c.run("query f.bloom", stdin=f"{IN}\nx\n", stdout=f"{IN}\nx\n", stderr=None if kind == "counting" else warning)
        c.run("query -v f.bloom", stdin=f"{IN}\nx\n", code=1, stderr=None if kind == "counting" else warning)
        c.run("query -q f.bloom", stdin=IN)
    c.run("build -q -n 20000 -o g.bloom", stdin=many)
    c.run("query -c g.bloom", stdin=many, stdout="20000\n")


@case
def operands_in_the_wrong_order_are_hinted_at(c):
    c.run("build -q --kind counting -n 100 -o f.bloom", stdin=IN)
    c.file("keys", IN + "\n")
    for command in ("query", "add", "remove"):
        hint = f"f.bloom is a filter, and the filter comes first: 'bloomery {command} f.bloom keys'\n"
        c.run(f"{command} keys f.bloom", code=2, stderr=has("keys: not a Bloomery filter", hint))
        _, err = c.run(f"{command} missing f.bloom", code=2, stderr=None)
        c.expect(b"comes first" not in err, f"{command}: {err}")
        _, err = c.run(f"{command} keys keys", code=2, stderr=None)
        c.expect(b"comes first" not in err, f"{command}: {err}")


@case
def truncated_filter_is_refused(c):
    c.run("build -q -n 1000 -o f.bloom", stdin=IN)
    whole = c.read("f.bloom")
    for length in (0, 1, 7, 8, 63, 64, 100, len(whole) // 2, len(whole) - 8, len(whole) - 1):
        c.file("cut.bloom", whole[:length])
        for line in ("query cut.bloom", "query -q cut.bloom", "query -v cut.bloom"):
            c.run(line, stdin=IN, code=2, stderr=has("bloomery: query: cut.bloom: "))
    c.file("long.bloom", whole + b"\0")
    c.run("query long.bloom", stdin=IN, code=2, stderr=has("bloomery: query: long.bloom: "))


@case
def later_version_is_refused_by_name(c):
    c.run("build -q -n 1000 -o f.bloom", stdin=IN)
    later = bytearray(c.read("f.bloom"))
    later[VERSION_AT] += 1
    c.file("later.bloom", later)
    c.run("query later.bloom", stdin=IN, code=2,
          stderr=has("bloomery: query: later.bloom: ", "version 2"))
    c.run("add later.bloom", stdin=IN, code=2, stderr=has("later.bloom: ", "version 2"))
    c.expect(c.read("later.bloom") == bytes(later), "a refused filter was changed")


# Where docs/format.md puts the low byte of the version.
VERSION_AT = 8


@case
def damaged_header_is_refused(c):
    c.run("build -q -n 1000 -o f.bloom", stdin=IN)
    whole = c.read("f.bloom")
    for at in range(0, 64, 3):
        damaged = bytearray(whole)
        damaged[at] ^= 0x40
        c.file("damaged.bloom", damaged)
        c.run("query damaged.bloom", stdin=IN, code=2, stderr=has("bloomery: query: damaged.bloom: "))


@case
def a_file_that_is_not_a_filter_is_refused(c):
    c.file("text", "some text\n" * 100)
    c.file("empty", "")
    os.mkdir(c.path("folder"))
    os.mkfifo(c.path("fifo"))
    for name in ("text", "empty", "folder", "fifo"):
        for command in ("query", "add"):
            c.run(f"{command} {name}", stdin="a\n", code=2, stderr=has(f"bloomery: {command}: {name}: "))
    c.run("query folder", stdin="a\n", code=2, stderr=has("is a directory"))


# ---- Output ------------------------------------------------------------------------------------------

@case
def full_disk_is_an_error(c):
    set_up(c)
    wrong = "bloomery: query: writing to stdout: No space left on device\n"
    with open("/dev/full", "wb") as full:
        c.run("query a.bloom", stdin="a1\n", stdout_file=full, stderr=wrong, code=2)
        c.run("query a.bloom", stdin="a1\n" * 100_000, stdout_file=full, stderr=wrong, code=2)
        c.run("query -c a.bloom", stdin="a1\n", stdout_file=full, stderr=wrong, code=2)
        c.run("query a.bloom", stdin="x\n", stdout_file=full, code=1)
        c.run("query -q a.bloom", stdin="a1\n", stdout_file=full, code=0)


@case
def full_disk_ends_an_endless_query(c):
    set_up(c)
    with open("/dev/full", "wb") as full:
        endless = c.spawn(["yes", "a1"], stdout=subprocess.PIPE)
        process = c.start("query a.bloom", stdin=endless.stdout, stdout=full)
        endless.stdout.close()
        _, stderr = process.communicate(timeout=60)
    c.expect(process.returncode == 2 and b"No space left" in stderr, f"{process.returncode} {stderr}")


@case
def broken_pipe_ends_quietly(c):
    set_up(c)
    c.file("many", "a1\n" * 1_000_000)
    for ignored in (False, True):
        def ignore(number=signal.SIG_IGN if ignored else signal.SIG_DFL):
            signal.signal(signal.SIGPIPE, number)
        process = c.start("query a.bloom many", preexec_fn=ignore)
        process.stdout.read(10)
        process.stdout.close()
        stderr = process.stderr.read()
        process.wait(timeout=60)
        c.expect(process.returncode == -signal.SIGPIPE and stderr == b"",
                 f"exit code {process.returncode}, stderr {stderr}")


@case
def quiet_stops_at_the_first_hit(c):
    set_up(c)
    process = c.start("query -q a.bloom")  # stdin stays open: only a hit can end it
    process.stdin.write(b"x\n" * 10 + b"a1\n")
    process.stdin.flush()
    process.wait(timeout=60)
    c.expect(process.returncode == 0, f"exit code {process.returncode}")


@case
def terminal_is_answered_line_by_line(c):
    set_up(c)
    leader, follower = open_terminal()
    process = c.start("query a.bloom", stdin=follower, stdout=follower)
    c.wait_until_it_waits(process, "it waits for a line")
    os.write(leader, b"a1\n")
    shown, until = b"", time.monotonic() + 20
    while shown.count(b"a1") < 2 and time.monotonic() < until:  # the echo, and the answer
        shown += os.read(leader, 4096)
    os.write(leader, b"\x04")
    stderr = process.stderr.read()
    process.wait(timeout=20)
    os.close(leader)
    os.close(follower)
    c.expect(shown.count(b"a1") == 2, f"no answer before the end of input: {shown}")
    c.expect(stderr == b"bloomery: reading keys from the terminal, one per line; end with Ctrl-D\n",
             f"{stderr}")
    c.expect(process.returncode == 0, f"exit code {process.returncode}")


@case
def output_is_the_same_in_every_locale(c):
    """The locales are made for the test where the system can; a name that is not there is C anyway."""
    folder = c.path("locales")
    os.mkdir(folder)
    if shutil.which("localedef"):
        # Only what could matter: Turkish letters, and a comma in numbers.
        c.file("both", 'LC_CTYPE\ncopy "tr_TR"\nEND LC_CTYPE\nLC_NUMERIC\ncopy "de_DE"\nEND LC_NUMERIC\n')
        subprocess.run(["localedef", "-c", "-i", c.path("both"), "-f", "UTF-8", f"{folder}/tr_DE.UTF-8"],
                       stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    keys = "Istanbul\nistanbul\n\u0130stanbul\n1.5\n1,5\nStra\u00dfe\n" + b"\xff\n".decode("latin-1")
    results = set()
    for locale in ("C", "C.UTF-8", "tr_DE.UTF-8"):
        environment = {"LC_ALL": locale, "LANG": locale, "LANGUAGE": locale, "LOCPATH": folder}
        _, wrote = c.run("build -n 1_000 -p 0.0125 -o f.bloom", stdin=keys, stderr=None,
                         environment=environment)
        found, _ = c.run("query f.bloom", stdin=keys, stdout=keys, environment=environment)
        _, refused = c.run("build -p 0,5 -o g.bloom", code=2, stderr=None, environment=environment)
        _, missing = c.run("query missing", code=2, stderr=None, environment=environment)
        results.add((wrote, found, refused, missing, c.read("f.bloom")))
    c.expect(len(results) == 1, f"{len(results)} different results")


@case
def verify_finds_damage_before_anything_is_asked(c):
    keys = "".join(f"{i}\n" for i in range(1000))
    c.run("build -q -n 1000 -o f.bloom", stdin=keys)
    c.run("build -q -n 1000 -o g.bloom", stdin=keys)
    c.run("query --verify -c -f f.bloom -f g.bloom", stdin=keys, stdout="1000\n")
    content = bytearray(c.read("g.bloom"))
    middle = len(content) // 2
    content[middle:middle + 256] = bytes(256)
    c.file("g.bloom", bytes(content))
    both = "-f f.bloom -f g.bloom"
    for line in ("g.bloom", both, f"-q {both} -k 1", "-c --json g.bloom"):
        c.run(f"query --verify {line}", stdin=keys, code=2,
              stderr=has("bloomery: query: g.bloom", "damaged"))
    found, _ = c.run("query -c g.bloom", stdin=keys, stdout=None)
    c.expect(int(found) < 1000, "the damage hides no key, so this case shows nothing")


@case
def filters_are_files_and_no_pipes(c):
    set_up(c)
    sentence = ": is not a regular file, which a filter must be to be mapped: write it to a file first\n"
    whole = c.read("a.bloom")
    for line in ("query", "query -v -k a1 -f", "inspect", "inspect --verify", "add", "remove", "merge -o x", "compare a.bloom"):
        for name in ("-", "/dev/stdin"):
            command = line.split()[0]
            c.run(f"{line} {name}", stdin=whole, code=2, stderr=f"bloomery: {command}: {name}{sentence}")
    with open(c.path("a.bloom"), "rb") as file:
        process = c.start("query -k a1 /dev/stdin", stdin=file)
        out, _ = process.communicate(timeout=60)
    c.expect(process.returncode == 0 and out == b"a1\n", f"{process.returncode}")


@case
def a_filter_is_opened_once(c):
    """One open, so what is answered from is what was looked at. A map is looked at once more, to be watched; by
    its name only whether it was changed since (test_overwritten.py)."""
    if os.environ.get("BLOOMERY_EMULATOR") or "BLOOMERY_COUNTED_CALLS" not in os.environ:
        raise Skip("the library that counts was not built")
    set_up(c)
    c.run("build -q -n 10 --dialect spark -o spark.bloom", stdin="a1\n", stderr=None)
    c.run("build -q -n 10 --dialect guava -o guava.bloom", stdin="a1\n", stderr=None)
    for line, path in (("query -k a1 a.bloom", "a.bloom"), ("query --verify -k a1 a.bloom", "a.bloom"),
                       ("query -k a1 --dialect spark spark.bloom", "spark.bloom"),
                       ("inspect a.bloom", "a.bloom"), ("inspect --json --verify a.bloom", "a.bloom"),
                       ("inspect --dialect guava guava.bloom", "guava.bloom")):
        c.run(line, stdout=None, stderr=None, environment={
            "LD_PRELOAD": os.environ["BLOOMERY_COUNTED_CALLS"], "COUNTED_PATH": path,
            "COUNTED_REPORT": c.path("counts")})
        counts = c.read("counts").decode()
        c.expect(re.fullmatch(r"opens 1 stats [1-9]\d* fstats 2", counts), f"{line}: {counts}")


@case
def what_was_looked_at_is_used(c):
    """Another file takes the name right before a second opening: there is none, so nothing of it is met."""
    if os.environ.get("BLOOMERY_EMULATOR") or "BLOOMERY_COUNTED_CALLS" not in os.environ:
        raise Skip("the library that counts was not built")
    for line, stdin, opens, keys in (
            ("add -q a.bloom", "a3\n", 1, "a1\na2\na3\n"), ("remove -q a.bloom", "a2\n", 1, "a1\n"),
            ("add -q --dialect guava a.bloom", "a3\n", 1, "a1\na2\na3\n"),
            ("dedupe -q --against a.bloom", "a1\na2\nother\n", 1, "a1\na2\n"),
            ("merge -q -o a.bloom b.bloom b.bloom", "", 3, "b1\n"),
            ("build -q -n 10 -o a.bloom", "b1\n", 2, "b1\n")):
        kind = "-n 10 --dialect guava" if "guava" in line else "-n 10 --kind counting"
        c.run(f"build -q --force {kind} -o a.bloom", stdin="a1\na2\n", stderr=None)
        c.run(f"build -q --force {kind} -o other.bloom", stdin="other\n", stderr=None)
        c.run("build -q --force -n 10 --kind counting -o b.bloom", stdin="b1\n")
        environment = {"LD_PRELOAD": os.environ["BLOOMERY_COUNTED_CALLS"], "COUNTED_PATH": "a.bloom",
                       "COUNTED_REPORT": c.path("counts")}
        if opens == 1:
            environment["COUNTED_OTHER"] = c.path("other.bloom")
        out = "other\n" if line.startswith("dedupe") else ""
        c.run(line, stdin=stdin, stdout=out, stderr=None, environment=environment)
        counts = c.read("counts").decode()
        c.expect(counts.split()[:2] == ["opens", str(opens)], f"{line}: {counts}")
        c.run("query " + ("--dialect guava " if "guava" in line else "") + "a.bloom", stdin="a1\na2\na3\nother\nb1\n",
              stdout=keys, stderr=None)


@case
def keys_in_place_of_inputs_are_hinted_at(c):
    set_up(c)
    hint = b"an INPUT is a file of keys; one key is queried with -k "
    for line, key in (("query a.bloom b d", b"b"), ("query a.bloom x", b"x"), ("query missing b", b"b"),
                      ("query a.bloom keys -", None), ("query missing -", None), ("query a.bloom k/y", None)):
        c.file("keys", "a1\n")
        _, stderr = c.run(line, stdin="", code=None, stdout=None, stderr=None)
        c.expect((hint + key + b"\n" in stderr) if key else hint not in stderr, f"{line}: {stderr}")


def maps_of(c, line, path):
    """Whether a query that prints more than a pipe holds has this file mapped."""
    with c.start(line) as process:
        waiting = array.array("i", [0])

        def is_full():
            fcntl.ioctl(process.stdout, termios.FIONREAD, waiting)
            return waiting[0] >= 65536
        c.wait_until(is_full, "the pipe is full", process)
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
            found = any(text.rstrip().endswith(c.path(path)) for text in file)
        process.kill()
    return found


@case
def a_filter_is_read_into_memory_where_the_inputs_are_much_larger(c):
    if EMULATOR:
        raise Skip("an emulator has maps of its own")
    c.run("build -q -n 3500000 -p 0.01 -o f.bloom", stdin="a\n")
    bytes_of = os.path.getsize(c.path("f.bloom"))
    c.expect(bytes_of > 4 << 20, f"{bytes_of}")
    c.file("few", "a\n" * (bytes_of // 2))
    c.file("many", "a\n" * (2 * bytes_of))
    for inputs, mapped in (("few", True), ("many", False), ("few few few few", False)):
        c.expect(maps_of(c, f"query f.bloom {inputs}", "f.bloom") == mapped, f"{inputs}: mapped is not {mapped}")
    # One that is damaged is queried as it is, with few lines or with many.
    with open(c.path("f.bloom"), "r+b") as file:
        file.seek(bytes_of // 2)
        file.write(b"\xff")
    c.run("query --verify f.bloom few", code=2, stderr=has("f.bloom: "))
    c.expect(maps_of(c, "query f.bloom many", "f.bloom"), "a damaged filter is not mapped")
    c.run("query -c f.bloom many", stdout=f"{2 * bytes_of}\n", stderr=None)


main()
