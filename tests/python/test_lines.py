# SPDX-License-Identifier: Apache-2.0
"""Lines of files: the keys that the command makes of them."""

import bz2
import gzip
import lzma
import warnings

import bloomery
from bloomery import Filter
from optional import raises
from runner import case, has, main

WORDS = [f"word {i}" for i in range(3000)]


@case
def lines_are_keys_without_their_ends_as_the_commands(c):
    texts = {"plain": "a\nbc\n\nd", "end": "a\nb\n", "empty": "", "one": "\n", "mark": "\ufeffa\nb", "long": "x" * (3 << 20) + "\ny\n" + "z" * 70,
             "many": "\n".join(WORDS), "nul": "a\0b\nc\n", "latin": "caf\u00e9\n"}
    for name, text in texts.items():
        c.file(name, text)
        c.run(["build", "-q", "-n", "4000", "-p", "0.01", "-o", f"{name}.bloom", name], stderr=has())
        built = Filter.open(c.path(f"{name}.bloom"), copy=True)
        f = built.copy()
        f.clear()
        lines = text.removeprefix("\ufeff").split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        c.expect(f.add_lines(c.path(name)) <= len(lines) and f == built, f"{name}: other keys than the command's")
        c.expect(f.contains_lines(c.path(name)) == [True] * len(lines), f"{name}: answers")
        g = Filter.build_lines(c.path(name), 1e-6)
        c.expect(g.count_many(lines) == len(lines) and g.keys == max(len(lines), 1), f"{name}: built")
    f = Filter(4000)
    c.expect(f.add_lines(c.path("many")) > 2900 and "word 7" in f and "word 7\n" not in f, "many")
    with open(c.path("many"), encoding="utf-8") as file:
        c.expect(f.count_many(file) < 200, "an open file's lines have their ends")


@case
def compressed_files_are_unpacked_and_others_refused(c):
    data = "\n".join(WORDS).encode()
    expected = Filter.build(WORDS, 1e-6)
    for name, packed in (("gz", gzip.compress(data)), ("bz2", bz2.compress(data)), ("xz", lzma.compress(data)),
                         ("members", gzip.compress(data[:5000]) + gzip.compress(data[5000:])), ("twice", gzip.compress(bz2.compress(data)))):
        c.file(name, packed)
        c.expect(Filter.build_lines(c.path(name), 1e-6) == expected, f"{name}: other keys")
    c.file("cut", gzip.compress(data)[:-20])
    with raises(c, (EOFError, OSError)):
        Filter(4000).add_lines(c.path("cut"))
    for start, part in ((b"\x28\xb5\x2f\xfd", "zstd"), (b"PK\3\4", "zip"), ("a\n".encode("utf-16"), "UTF-16")):
        c.file("other", start + b"rest of it")
        with raises(c, ValueError, part, "other", "bloomery add"):
            Filter(10).add_lines(c.path("other"))
    with raises(c, FileNotFoundError):
        Filter(10).add_lines(c.path("none"))
    with raises(c, TypeError):
        Filter(10).add_lines(c.path("gz"), True)


@case
def carriage_returns_are_cut_if_asked_or_warned_of(c):
    c.file("crlf", "a\r\nb\r\nc\r\n")
    for f in (Filter.build_lines(c.path("crlf"), 1e-6, crlf=True), Filter(10, 1e-6)):
        f.add_lines(c.path("crlf"), crlf=True)
        c.expect(f.count_many(["a", "b", "c"]) == 3 and "a\r" not in f, "crlf=True")
        c.expect(f.contains_lines(c.path("crlf"), crlf=True).all(), "answers")
    f = Filter(10, 1e-6)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        f.add_lines(c.path("crlf"))
    c.expect("a\r" in f and len(said) == 1 and "crlf=True" in str(said[0].message), f"{said}")


@case
def the_rule_of_a_file_is_applied_whole(c):
    c.file("names", "1;Ann \n#2;Bo\n3; CY\n\n4\n")
    c.run("build -q -n 100 -p 1e-6 -d ; -F 2 --comment # --trim --lower -o f.bloom names", stderr=has())
    f = Filter.open(c.path("f.bloom"), copy=True)
    built = f.copy()
    c.expect(f.contains_lines(c.path("names")) == [True, False, True, False, False], f"{f.contains_lines(c.path('names')).tolist()}")
    f.clear()
    c.expect(f.add_lines(c.path("names")) == 2 and f == built and f.adds == 2 and "ann" in f, "other keys than the command's")
    c.run("build -q --hex -n 10 -o h.bloom", stdin="00ff\n")
    h = Filter.open(c.path("h.bloom"), copy=True)
    c.file("bad", "00ff\n0g\n0aff\n")
    with raises(c, ValueError, "key 1"):
        h.add_lines(c.path("bad"))
    c.file("quoted", 'a,"b\nc",d\n')
    c.run("build -q --csv -F 2 -n 10 -o q.bloom", stdin="a,b\n")
    with raises(c, ValueError, "quoted"):
        Filter.open(c.path("q.bloom")).contains_lines(c.path("quoted"))


@case
def a_full_filter_ends_at_a_line(c):
    c.file("words", "\n".join(WORDS))
    f = Filter(100, 0.01)
    with raises(c, bloomery.Full) as found:
        f.add_lines(c.path("words"))
    c.expect(f.count_many(WORDS[:found.error.added]) == found.error.added == f.adds, f"{found.error.added}")
    c.expect(Filter.build_lines(c.path("words"), 0.01, count=100, full="ignore").count_many(WORDS) == 3000, "options")


main()
