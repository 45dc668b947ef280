# SPDX-License-Identifier: Apache-2.0
"""--csv reads records as RFC 4180 has them: a line end within quotes belongs to its field, wherever the
input is cut, and in every command."""

import csv
import io
import random

from runner import case, has, main

SURE = "-p 1e-12"


def records_of(text, delimiter=b",", comment=None):
    """A second implementation: the records of a text, byte by byte. None: a quote is never closed."""
    records, start, at, fresh = [], 0, 0, True
    while at < len(text):
        if comment is not None and at == start and text[at:at + 1] == comment:
            end = text.find(b"\n", at)
            at = len(text) - 1 if end < 0 else end
        elif fresh and text[at:at + 1] == b'"':
            at += 1
            while text[at:at + 1] != b'"' or text[at:at + 2] == b'""':
                if at >= len(text):
                    return None
                at += 2 if text[at:at + 2] == b'""' else 1
            at += 1
            fresh = False
            continue
        fresh = text[at:at + 1] in (delimiter, b"\n")
        if text[at:at + 1] == b"\n":
            records.append(text[start:at + 1])
            start = at + 1
        at += 1
    if start < len(text):
        records.append(text[start:] + b"\n")
    return records


def odd_text(generator, count):
    letters = [b"a", b"b", b",", b'"', b'""', b"\n", b"\r\n", b'"\n', b',"', b'",', b"#", b'x"y', b'"q\nr",s\n', b"\n#"]
    return b"".join(generator.choices(letters, k=count))


def first_field(record):
    """Of a record without its last line end: what is in its quotes, and what follows them."""
    key, at = b"", 0
    record = record.removesuffix(b"\r")
    if record.startswith(b'"'):
        at = 1
        while record[at:at + 1] != b'"' or record[at:at + 2] == b'""':
            key += record[at:at + 1]
            at += 2 if record[at:at + 2] == b'""' else 1
        at += 1
    return key + record[at:].split(b",")[0]


def distinct(records, comment=None):
    """What dedupe keeps: those with a new key in their first field, and comments."""
    seen, kept = set(), []
    for record in records:
        key = None if comment is not None and record.startswith(comment) else first_field(record[:-1])
        if key is None or key not in seen:
            seen.add(key)
            kept.append(record)
    return kept


@case
def line_ends_within_quotes_belong_to_the_record(c):
    text = 'id,txt\n1,"a\nb"\n2,"a\nb"\n3,"a\nc"\n'
    c.run("dedupe -q --csv -F 2", stdin=text, stdout='id,txt\n1,"a\nb"\n3,"a\nc"\n')
    c.file("rows.csv", text)
    c.run(f"build -n 99 {SURE} -o f.bloom --csv -F 2 rows.csv", stderr=has("wrote f.bloom: "))
    c.run("inspect --json f.bloom", stdout=has('"adds": 4,'))
    c.run("query f.bloom", stdin='9,"a\nb"\n9,a\nx,"a\nc"\n', stdout='9,"a\nb"\nx,"a\nc"\n')
    c.run("add -q f.bloom", stdin='9,"new\n\nfield"\n')
    c.run("query -c f.bloom", stdin='7,"new\n\nfield"\n', stdout="1\n")
    c.run("query -v f.bloom rows.csv", code=1)
    c.run(f"build -q {SURE} --kind counting -o g.bloom --csv -F 2 rows.csv")
    c.run("remove g.bloom", stdin='7,"a\nb"\n7,"a\nb"\n', stderr=has("removed 2 keys"))
    c.run("query -c g.bloom rows.csv", stdout="2\n")


@case
def a_sieve_takes_whole_records(c):
    text = '1,"a\nb"\n2,"a\nb"\n3,"a\nc"\n'
    c.run("sieve push --csv -F 2 s", stdin=text, stderr=None)
    c.run("sieve contains --flush --csv -F 2 s", stdin='9,"a\nb"\n9,a\n', stdout='9,"a\nb"\n', stderr=None)


@case
def records_are_the_same_however_input_is_cut(c):
    """Odd text, in the smallest chunks and by several threads, against a second implementation."""
    generator = random.Random(4180)
    for turn in range(40):
        comment = b"#" if turn % 4 == 0 else None
        text = odd_text(generator, generator.randrange(1, 200))
        records = records_of(text, comment=comment)
        option = "--comment '#'" if comment else ""
        c.file("rows", text)
        for size, threads in ((16, 1), (generator.randrange(16, 64), 3), (1 << 18, 1)):
            line = f"dedupe -q --exact -j {threads} --csv -F 1 {option} rows"
            environment = {"BLOOMERY_BLOCK_BYTES": str(size)}
            if records is None:
                c.run(line, code=2, stdout=None, environment=environment,
                      stderr=has("has a quote that is never closed"))
            else:
                c.run(line, stdout=b"".join(distinct(records, comment)), environment=environment, stderr=None)


@case
def well_formed_files_are_those_of_another_csv_writer(c):
    generator = random.Random(7)
    letters = ["a", "b", ",", '"', "\n", "\r\n", " ", "#", "\u00e4", ";"]
    rows = [["".join(generator.choices(letters, k=generator.randrange(6))) for _ in range(3)] for _ in range(3000)]
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    records, seen = records_of(buffer.getvalue().encode()), set()
    c.expect(len(records) == len(rows), "the second implementation is wrong")
    expected = b"".join(record for row, record in zip(rows, records) if not (row[1] in seen or seen.add(row[1])))
    for size in (64, 4096, 1 << 18):
        for threads in (1, 4):
            c.run(f"dedupe -q --exact --csv -F 2 -j {threads}", stdin=buffer.getvalue(), stdout=expected,
                  environment={"BLOOMERY_BLOCK_BYTES": str(size)})


@case
def a_quote_that_never_closes_is_an_error_by_its_line(c):
    good = "".join(f'{i},"x\n{i}"\n' for i in range(1000))  # two lines each
    c.file("good", good)
    c.run(f"build -q {SURE} -o f.bloom --csv -F 2 good")
    before = c.read("f.bloom")
    bad = good + 'a,"b"\nsome,more\nc,"d\n' + "no,end\n" * 2000
    c.file("bad", bad)
    sentence = "bad: line 2003 has a quote that is never closed"
    for size in (64, 1 << 18):
        for threads in (1, 3):
            environment = {"BLOOMERY_BLOCK_BYTES": str(size)}
            c.run(f"dedupe -q -j {threads} --csv -F 2 bad", code=2, stdout=good + 'a,"b"\nsome,more\n',
                  stderr=has(sentence), environment=environment)
            c.run(f"query -j {threads} f.bloom bad good", code=2, stdout=good * 2,
                  stderr=f"bloomery: query: {sentence}\n", environment=environment)
            c.run(f"add -j {threads} f.bloom bad", code=2, stderr=has(sentence, "nothing was added"),
                  environment=environment)
            c.run(f"build -q -o g.bloom -j {threads} --csv -F 2 bad", code=2, stderr=has(sentence),
                  environment=environment)
    c.expect(c.read("f.bloom") == before, "the filter was changed")
    c.run("sieve push --csv -F 2 s bad", code=2, stderr=has(sentence))


@case
def an_open_quote_takes_no_more_memory_than_the_longest_line(c):
    c.file("bad", 'a,"b"\nc,"d\n' + "no,end\n" * 200_000)
    c.run("dedupe -q --csv -F 2 --max-line 100k bad", code=2, stdout='a,"b"\n',
          stderr=has("bad: line 2 has a quote that is not closed within 100 KiB; --max-line SIZE allows longer records"))
    c.file("long", 'a,"b"\nc,"' + "line\n" * 10_000 + '"\nd,e\n')
    c.run("dedupe -q --csv -F 2 --max-line 100k long", stdout=c.read("long"))
    for size in (64, 1 << 18):
        c.run("dedupe -q --csv -F 2 --max-line 40k long", code=2, stdout='a,"b"\n', stderr=has("long: line 2 "),
              environment={"BLOOMERY_BLOCK_BYTES": str(size)})


@case
def messages_name_the_line_of_the_input(c):
    """Not the number of the record, where records have several lines."""
    c.file("rows", '"\n\n",41\n' * 70 + "1,zz\n")
    for size in (64, 1 << 18):
        c.run("build -q -n 9 --csv -F 2 --hex -o f.bloom rows", code=2, stderr=has("rows: line 211: "),
              environment={"BLOOMERY_BLOCK_BYTES": str(size)})


@case
def marks_comments_and_headers_go_with_quotes(c):
    c.run("dedupe -q --csv -F 1", stdin='\ufeff"a\nb",1\n"a\nb",2\n', stdout='"a\nb",1\n')
    c.run("dedupe -q --keep-bom --csv -F 2", stdin='\ufeff"a,1\nb",2\n', stdout='\ufeff"a,1\nb",2\n')
    c.run("dedupe -q --keep-bom --csv -F 2", stdin='\ufeff"a,1\nb,1\n', stdout='\ufeff"a,1\n')
    c.run("dedupe -q --csv -F 1 --comment '#'", stdin='#a,"\n#b,"\nx,"\ny"\n#\nx,"\ny"\n', stdout='#a,"\n#b,"\nx,"\ny"\n#\n')
    c.run("dedupe -q --csv --header -F 'two\nlines'", stdin='one,"two\nlines"\n1,x\n2,x\n3,y\n',
          stdout='one,"two\nlines"\n1,x\n3,y\n')
    c.run("dedupe -q --csv -F 1,2", stdin='1,"a\nb",x\n1,"a\nb",y\n', stdout='1,"a\nb",x\n')
    c.run("dedupe -q --csv -F 1 -d ';'", stdin='"a;\nb";1\n"a;\nb";2\n', stdout='"a;\nb";1\n')
    c.run("dedupe -q -0 --csv -F 1", stdin='"a\0b",1\0"a\0b",2\0', stdout='"a\0b",1\0')


@case
def without_csv_quotes_are_letters(c):
    c.run("dedupe -q -F 1 -d ,", stdin='"a,1\n"a,2\n"b\n', stdout='"a,1\n"b\n')
    c.run("dedupe -q", stdin='"a\n"a\nb"\n', stdout='"a\nb"\n')


main()
