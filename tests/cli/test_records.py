# SPDX-License-Identifier: Apache-2.0
"""Where keys lie in records: several fields, headers, members of JSON lines; and that a filter may be queried
with input that is laid out otherwise than what it was built from.
"""

import csv
import io
import json
import os
import random

from runner import case, has, main

SURE = "-p 1e-12 "  # no false positive in a lifetime of tests


# ---- What a filter keeps, and what an input may have otherwise ------------------------------------------

@case
def layout_may_differ_from_the_kept_rule(c):
    c.run(f"build -q -n 9 {SURE} --csv -F 2 --trim --lower --comment '#' -o f.bloom", stdin='x,"A"\n#,b\n')
    for options, line in (("", 'y," a "'), ("-F 1", "a,y"), ("-F -1", "z,y,a"), ("-F 2 -d tab", "y\tA"),
                          ("-F 2 -d :", "y:A"), ("-F 0", "A"), ("-F 0 --crlf", " A\r"),
                          ("--jsonl id", '{"n": 1, "id": " A "}')):
        c.run(f"query {options} f.bloom", stdin=line + "\n", stdout=line + "\n")
    c.run("query -F 0 f.bloom", stdin="#a\na\n", stdout="a\n")
    c.run("add -q -F 0 --comment '' f.bloom", stdin="#c\n")
    c.run("query -F 0 --comment '' f.bloom", stdin="#C\n#a\n", stdout="#C\n")
    c.run("query -F name --csv --header f.bloom", stdin="id,name\n1,A\n2,b\n", stdout="id,name\n1,A\n")


@case
def filters_laid_out_otherwise_can_be_merged(c):
    c.run(f"build -q -n 9 {SURE} --hex -F 1 -d : -o one.bloom", stdin="0a:7\n0b:8\n")
    c.run(f"build -q -n 9 {SURE} --hex --crlf --skip-empty -o other.bloom", stdin="0c\r\n")
    c.run("merge -q -o all.bloom one.bloom other.bloom")
    c.run("query all.bloom", stdin="0a:\n0b:\n0c:x\n0d:\n", stdout="0a:\n0b:\n0c:x\n")
    c.run("query -F 0 all.bloom", stdin="0a\n0b\n0c\n0d\n", stdout="0a\n0b\n0c\n")
    c.run(f"build -q -n 9 {SURE} -F 1 -d : -o text.bloom", stdin="0a:7\n")
    c.run("merge -q -o bad.bloom one.bloom text.bloom", code=2, stderr=has("the key rules differ: hexadecimal"))


@case
def lines_of_a_filter_without_a_rule_are_laid_out_as_one_likes(c):
    c.run(f"build -q -n 9 {SURE} -o plain.bloom", stdin="a\n")
    c.run("add -q -F 2 plain.bloom", stdin="x\tb\n")
    c.run("add -q --jsonl k plain.bloom", stdin='{"k":"c"}\n')
    c.run("query plain.bloom", stdin="a\nb\nc\nx\tb\n", stdout="a\nb\nc\n")
    c.run("query -F 2 plain.bloom", stdin="x\tb\n", stdout="x\tb\n")


@case
def against_filters_follow_the_layout_of_the_input(c):
    c.run(f"build -q -n 9 {SURE} --lower -F 1 -d : -o old.bloom", stdin="A:1\n")
    text = '{"id":"a"}\n{"id":"b"}\n{"id":"b"}\n'
    c.run("dedupe -q --jsonl id --against old.bloom", stdin=text, stdout='{"id":"b"}\n')
    c.run("dedupe -q --against old.bloom", stdin="a:7\nb:7\n", stdout="b:7\n")
    c.run("dedupe -q -F 2 -d ' ' --against old.bloom", stdin="7 a\n7 b\n", stdout="7 b\n")


@case
def returns_are_warned_of_where_they_are_in_the_key(c):
    returned = has("its first line ends in a carriage return, which becomes part of the key")
    for options, text, warned in (("-F 1 -d :", "A:1\r\n", ""), ("-F 2 -d :", "A:1\r\n", returned),
                                  ("--csv -F 1", '"A",1\r\n', ""), ("", "A\r\n", returned),
                                  ("--jsonl a", '{"a":1}\r\n', ""), ("-F -1 -d :", "A:1\r\n", returned)):
        c.run(f"build -q -n 10 {options} -o f.bloom", stdin=text, stderr=warned)


# ---- Several fields -------------------------------------------------------------------------------------

@case
def several_fields_are_one_key(c):
    text = "1\ta\tx\n1\ta\ty\n1\tb\tx\n2\ta\tx\n1\n"
    c.run("dedupe -q -F 1,2", stdin=text, stdout="1\ta\tx\n1\tb\tx\n2\ta\tx\n1\n",
          stderr=has("1 record has no fields 1,2 and is printed unchecked"))
    c.run("dedupe -q -F 3,1 -d ,", stdin="1,a,x\n1,b,x\n2,b,x\n", stdout="1,a,x\n2,b,x\n")
    # The key of fields 3 and 1 is "x,1", whatever the order in the record.
    c.run(f"build -q -n 9 {SURE} -F 3,1 -d , -o f.bloom", stdin="1,a,x\n")
    c.run("query f.bloom -k x,1 -k 1,x", stdout="x,1\n")
    c.run("query -F 1,2 -d , f.bloom", stdin="x,1\n1,x\n", stdout="x,1\n")


@case
def csv_fields_do_not_run_together(c):
    c.run("dedupe -q --csv -F 1,2", stdin='"a,b",c\na,"b,c"\n"a,b","c"\n', stdout='"a,b",c\na,"b,c"\n')


@case
def fields_equal_those_of_another_reader_of_csv(c):
    random.seed(5)
    rows = [[random.choice(["a", "b,", 'q"q', "", "x y"]) for _ in range(4)] for _ in range(3000)]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    lines = out.getvalue().splitlines(keepends=True)
    seen, kept = set(), []
    for row, line in zip(rows, lines):
        if (row[3], row[0]) not in seen:
            seen.add((row[3], row[0]))
            kept.append(line)
    for threads in (1, 3):
        c.run(f"dedupe -q -p 1e-9 -j {threads} --csv -F -1,1", stdin="".join(lines), stdout="".join(kept))


# ---- Headers --------------------------------------------------------------------------------------------

@case
def headers_name_fields_and_stay_in_the_output(c):
    c.file("a.csv", 'id,"full name",mail\n1,Ada,a@x\n2,Bob,b@x\n3,Ada,a@x\n')
    c.file("b.csv", "mail,id,full name\nc@x,9,Cy\na@x,8,Ada\n")
    c.run("dedupe --csv --header -F 'full name,mail' a.csv b.csv",
          stdout='id,"full name",mail\n1,Ada,a@x\n2,Bob,b@x\nc@x,9,Cy\n',
          stderr=has("read 5 lines, kept 3, dropped 2;"))
    c.run("dedupe -qc --csv --header -F mail a.csv b.csv", stdout="3\n")
    c.run(f"build -q {SURE} --csv --header -F mail -o mail.bloom a.csv")
    c.run("query --csv --header -F mail mail.bloom b.csv", stdout="mail,id,full name\na@x,8,Ada\n")
    c.run("query -c --csv --header -F mail mail.bloom b.csv", stdout="1\n")
    c.run("query -v --csv --header -F mail mail.bloom b.csv", stdout="mail,id,full name\nc@x,9,Cy\n")
    c.run("query --csv --header -F 3 mail.bloom a.csv", stdout=has("id,"))
    c.run("query mail.bloom -k mail -k a@x", stdout="a@x\n")
    c.run("dedupe --csv --header -F nick a.csv", code=2,
          stderr=has("a.csv: its first record, the header, names no field 'nick'"))
    c.run("dedupe -F mail a.csv", code=2, stderr=has("-F mail: fields are numbers; with --header"))


@case
def a_layout_that_no_file_keeps_is_given_again(c):
    """Without it, lines would be taken for keys: none is found, and add puts in whole lines and the header."""
    rows = "id,name,city\n" + "".join(f"{n},Name{n} Last,Town{n % 7}\n" for n in range(500))
    c.file("big.csv", rows)
    c.file("names", "name1 last\nname500 last\n")
    c.run(f"build -q {SURE} --kind counting --csv --header -F name --trim --lower -o n.bloom big.csv")
    c.run("inspect n.bloom", stdout=has("a place that is not kept (-F, --jsonl), trim, lower, crlf, header"))
    before = c.read("n.bloom")
    for command in ("query -c n.bloom big.csv", "query -c -k 'Name1 Last' n.bloom big.csv", "add n.bloom big.csv",
                    "remove n.bloom big.csv", "dedupe --against n.bloom big.csv", "query -c --header n.bloom big.csv"):
        c.run(command, code=2, stderr=has("does not store which. Give the same -F or --jsonl again"))
    c.expect(c.read("n.bloom") == before, "a refused command changed the filter")
    c.run("query -c --csv --header -F name n.bloom big.csv", stdout="500\n")
    c.run("query -F 0 n.bloom names", stdout="name1 last\n")
    c.run(["query", "-k", "Name1 Last", "n.bloom"], stdout="Name1 Last\n")
    c.run("add -q --csv --header -F name n.bloom", stdin="name\nName500 Last\n")
    c.run("query -F 0 n.bloom", stdin="name\nname500 last\n", stdout="name500 last\n")
    c.run("inspect --canary names n.bloom", code=None, stdout=has("2 of 2"))
    # A field by its number is kept, and only the header is not.
    c.run(f"build -q {SURE} --csv --header -F 2 -o 2.bloom big.csv")
    c.run("add 2.bloom big.csv", code=2, stderr=has("was built with --header. Give it again", "give -F 2"))
    c.run("query -c --header 2.bloom big.csv", stdout="500\n")
    c.run("query -c -F 2 2.bloom", stdin=rows.partition("\n")[2], stdout="500\n")
    c.run("dedupe -q --against 2.bloom --header big.csv", stdout="id,name,city\n")
    # Several fields and JSON do not differ from it, nor does the state of a dedupe.
    c.run(f"build -q {SURE} --csv -F 1,2 -o s.bloom big.csv")
    c.run("query -c s.bloom big.csv", code=2, stderr=has("Give the same -F or --jsonl again"))
    c.run("query -c --csv -F 1,2 s.bloom big.csv", stdout="501\n")
    c.run("dedupe -q --jsonl id --state j.bloom", stdin='{"id": 1}\n', stdout='{"id": 1}\n')
    c.run("dedupe -q --state j.bloom", stdin='{"id": 1}\n', code=2, stderr=has("Give the same -F or --jsonl again"))
    c.run("dedupe -q --jsonl id --state j.bloom", stdin='{"id": 1}\n')


@case
def a_header_with_returns_and_a_mark_names_its_fields(c):
    c.file("w.csv", b"\xef\xbb\xbfid;mail\r\n1;a\r\n2;a\r\n")
    c.run("dedupe -q --csv -d ';' --crlf --header -F mail w.csv", stdout="\ufeffid;mail\r\n1;a\r\n"[1:])
    c.run("dedupe -q --csv -d ';' --crlf --header -F id w.csv", stdout="id;mail\r\n1;a\r\n2;a\r\n")


@case
def headers_are_found_whatever_the_blocks(c):
    lines = ["".join((f"{n % 1000}", ",", f"v{n}", "\n")) for n in range(20000)]
    c.file("l.csv", "k,v\n" + "".join(lines))
    kept = "k,v\n" + "".join(lines[:1000])
    for environment in ({}, {"BLOOMERY_BLOCK_BYTES": "64"}):
        c.run("dedupe -q -p 1e-9 --csv --header -F k l.csv", stdout=kept, environment=environment)


# ---- JSON lines -----------------------------------------------------------------------------------------

JSONL = ('{"url":"http:\\/\\/a","meta":{"id":7}}\n{"url":"http://a"}\nnonsense\n{"url":3}\n'
         '{"meta":{"id":7.0},"url":"b"}\n{"url":null}\n')


@case
def members_of_json_lines_are_keys(c):
    c.file("a.jsonl", JSONL)
    lines = JSONL.splitlines(keepends=True)
    broken = "warning: a.jsonl: 1 line is not JSON and has no key: 3\n"
    c.run("dedupe --jsonl url a.jsonl", stdout="".join(lines[:1] + lines[2:]),
          stderr=has("warning: a.jsonl: 1 line is not JSON and is printed unchecked: 3\n"
                     "bloomery: dedupe: warning: 1 line has no string and no number at 'url' and is "
                     "printed unchecked\n" + "dedupe: read 6 lines, kept 5 (2 without a key), dropped 1;"))
    c.run(f"build {SURE} --jsonl url -o u.bloom a.jsonl",
          stderr=has(broken, "4 records, about 3 distinct keys", "2 records have no key"))
    c.run("query -F 0 u.bloom", stdin="http://a\n3\nb\nnull\n", stdout="http://a\n3\nb\n")
    # Numbers are as they are written.
    c.run(f"build -q {SURE} --jsonl meta.id -o m.bloom a.jsonl", stderr=has(broken))
    c.run("query -F 0 m.bloom", stdin="7\n7.0\n", stdout="7\n7.0\n")
    c.run("query -c --jsonl meta.id m.bloom a.jsonl", stdout="2\n", stderr=has(broken))


@case
def a_header_is_not_a_record_without_a_key(c):
    c.file("a.csv", "id,name\n1,a\n2,b\n3\n")
    _, said = c.run("build --csv --header -F id -n 9 -o f.bloom a.csv a.csv", stderr=None)
    c.expect(b"no key" not in said, f"{said}")
    c.run("build --csv --header -F name -n 9 -o f.bloom a.csv", stderr=has("; 1 record has no key"))


@case
def json_that_is_nested_too_deep_is_called_that(c):
    """512 levels are read. Deeper JSON may be sound, and is not called anything else."""
    def nested(levels):
        return '{"u":1,"x":' + "[" * (levels - 1) + "]" * (levels - 1) + "}\n"
    c.file("sound.jsonl", nested(512))
    c.run("dedupe -qc --jsonl u sound.jsonl", stdout="1\n")
    c.file("deep.jsonl", nested(512) + nested(513) + nested(100_000))
    for line, fate in (("dedupe -qc --jsonl u deep.jsonl", "are printed unchecked"),
                       (f"build -q {SURE} --jsonl u -o u.bloom deep.jsonl", "have no key")):
        _, said = c.run(line, stdout=None, stderr=None)
        c.expect(f"deep.jsonl: 2 lines are nested deeper than 512 levels and {fate}: 2, 3\n".encode() in said, f"{said}")
    c.file("one.jsonl", '{"u":1}\n' + nested(513))
    c.run("dedupe -qc --jsonl u one.jsonl", stdout="2\n",
          stderr=has("1 line is nested deeper than 512 levels and is printed unchecked: 2\n"))
    c.file("both.jsonl", '{"u":1}\n' + nested(513) + "{\n")
    c.run("dedupe -qc --jsonl u both.jsonl", stdout="3\n",
          stderr=has("2 lines are not JSON, or nested deeper than 512 levels and are printed unchecked: 2, 3\n"))
    c.file("texts.jsonl", '{"text":"a"}\n' + nested(600))
    c.run("dedupe --jsonl text --unit document texts.jsonl", stdout=None,
          stderr=has("1 line is nested deeper than 512 levels"))


@case
def broken_lines_are_named_ten_of_them(c):
    c.file("a.jsonl", "".join("{\n" if n % 3 == 0 else f'{{"k":{n}}}\n' for n in range(60)))
    c.file("b.jsonl", '{"k":1}\n{"k":\n')
    c.run("dedupe -qc --jsonl k a.jsonl b.jsonl", stdout="61\n", stderr=has(
        "a.jsonl: 21 lines are not JSON and are printed unchecked: 1, 4, 7, 10, 13, 16, 19, 22, 25, 28 and 11 more\n"))
    c.run("dedupe -qc --jsonl k b.jsonl a.jsonl", stdout=None,
          stderr=has("b.jsonl: 21 lines are not JSON and are printed unchecked: 2, a.jsonl:1, a.jsonl:4"))
    c.run("build -n 9 --jsonl k -o f.bloom", stdin="{\n", code=2,
          stderr=has("no record has a string or a number at 'k', so no key was made"))
    c.expect(not os.path.exists("f.bloom"), "a filter without keys was written")


@case
def strings_are_their_utf8(c):
    random.seed(3)
    texts = ["".join(random.choice(["a", "\u00e9", "\U0001f600", '"', "\\", "\n", "\t", "\x00", "\u2028"])
                     for _ in range(random.randrange(6))) for _ in range(2000)]
    kept, seen = [], set()
    lines = []
    for text in texts:
        line = json.dumps({"n": {"t": text}, "x": [1, {}]}, ensure_ascii=random.random() < .5) + "\n"
        lines.append(line)
        if text not in seen:
            kept.append(line)
        seen.add(text)
    c.run("dedupe -q -p 1e-9 --jsonl n.t", stdin="".join(lines), stdout="".join(kept))
    c.run(f"build -q -n 9999 {SURE} --jsonl n.t --upper -o f.bloom", stdin="".join(lines))
    c.run("query -c --jsonl n.t f.bloom", stdin="".join(lines), stdout=f"{len(lines)}\n")


@case
def sieve_takes_members_and_fields(c):
    c.run("sieve push -q --jsonl url s", stdin='{"url":"a"}\n{"url":"b"}\n{\n{"url":"a"}\n',
          stderr=has("1 line is not JSON and has no key: 3"))
    text, _ = c.run("sieve pop -n 9 --done s", stdout=None, stderr=None)
    c.expect(sorted(text.split()) == [b"a", b"b"], f"{text}")
    c.run("sieve contains --jsonl url s", stdin='{"url":"b"}\n{"url":"c"}\n', stdout='{"url":"b"}\n')
    c.run("sieve push -q --ordered --csv --header -F url --payload 1 t", stdin="depth,url\n3,x\n4,y\n")
    c.run("sieve pop --payload -n 9 --done t", stdout="x\t3\ny\t4\n", stderr=None)


@case
def options_that_do_not_go_together_are_refused(c):
    for options, why in (("-F 1 -F 2", "-F is given twice"), ("--jsonl a -F 1", "which have no fields for -F"),
                         ("--jsonl a --csv", "which have no fields for --csv"),
                         ("--jsonl a --header", "which have no fields for --header"),
                         ("--jsonl a --jsonl b", "--jsonl is given twice"), ("--jsonl a..b", "is not a path"),
                         ("-F " + ",".join("1" * 17), "at most 16 fields")):
        c.run(f"dedupe {options}", code=2, stderr=has(why))
    c.run("dedupe --header -F 1 --append seen.txt", code=2, stderr=has("--append would add the header"))
    c.run("build -q -n 9 -o f.bloom", stdin="a\n")
    c.run("inspect --jsonl a f.bloom", code=2, stderr=has("--jsonl says how an input is laid out"))


@case
def ranges_of_fields_are_named(c):
    c.run("dedupe -F 2-3", code=2, stderr=has("-F 2-3: ranges are not supported; name each field, as in -F 2,3"))
    c.run("dedupe -F 2-", code=2, stderr=has("-F 2-: ranges are not supported"))
    c.run("dedupe -q --header -F 2-3", stdin="a\t2-3\n1\tx\n2\tx\n", stdout="a\t2-3\n1\tx\n")


main()
