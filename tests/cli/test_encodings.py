# SPDX-License-Identifier: Apache-2.0
"""Text in UTF-16, as some systems' shells write it, is read as the UTF-8 that it means."""

import gzip
import io
import zipfile

from runner import case, has, main, nul_note

LINES = ["plain", "", "caf\u00e9", "\u4e2d\u6587", "\U0001f600 and \U0010ffff", "\ufeff", "\x01\x7f\x80\u07ff\u0800\uffff"]
TEXT = "".join(line + "\n" for line in LINES)
MARKED = {"LE": b"\xff\xfe" + TEXT.encode("utf-16-le"), "BE": b"\xfe\xff" + TEXT.encode("utf-16-be")}


@case
def marked_utf16_is_read_as_utf8(c):
    c.file("plain", TEXT)
    c.run("build -q -p 1e-12 -o plain.bloom plain")
    for name, content in MARKED.items():
        for pack in (bytes, gzip.compress):
            c.file("wide", pack(content))
            c.run("build -q -p 1e-12 -o wide.bloom wide")
            c.expect(c.read("wide.bloom") == c.read("plain.bloom"), f"{name} and UTF-8 differ")
            c.run("query plain.bloom wide", stdout=TEXT)
            c.run("query plain.bloom", stdin=pack(content), stdout=TEXT)
            c.run("dedupe -q wide", stdout=TEXT)
            c.run("dedupe -q", stdin=pack(content), stdout=TEXT)
    c.run("query --keep-bom plain.bloom wide", stdout=TEXT.split("\n", 1)[1])


@case
def utf16_is_cut_anywhere(c):
    """In the smallest chunks, and byte by byte from a pipe, in the middle of characters."""
    c.file("plain", TEXT * 50)
    c.run("build -q -p 1e-12 -o plain.bloom plain")
    for name in MARKED:
        content = MARKED[name] + MARKED[name][2:] * 49
        c.file("wide", content)
        for size in (16, 17, 18, 19, 64):
            for threads in (1, 3):
                c.run(f"query -j {threads} plain.bloom wide", stdout=TEXT * 50,
                      environment={"BLOOMERY_BLOCK_BYTES": str(size)})
        process = c.start("query plain.bloom")
        for byte in MARKED[name]:
            process.stdin.write(bytes([byte]))
            process.stdin.flush()
            c.wait_until_read(process)
        stdout, stderr = process.communicate()
        c.expect(stdout.decode() == TEXT and stderr == b"", f"{stdout} {stderr}")


@case
def marks_alone_are_empty_inputs(c):
    for mark in (b"\xff\xfe", b"\xfe\xff"):
        c.run("dedupe -q", stdin=mark, stdout="")
        c.run("dedupe -q", stdin=mark + mark, stdout="\ufeff\n")
    c.run("dedupe -q", stdin=b"\xfe", stdout=b"\xfe\n")
    c.run("dedupe -q", stdin=b"\xff", stdout=b"\xff\n")


@case
def half_a_character_is_an_error(c):
    """No replacement: it would make one key of two."""
    c.file("good", "a\nb\n")
    c.run("build -q -n 9 -p 1e-12 -o f.bloom good")
    before = c.read("f.bloom")
    for mark, order in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        for wrong in ("\ud800\n", "\ud800\ud800", "\udc00\n", "\udbff\ue000", "\ud800"):
            c.file("wide", mark + ("a\n" + wrong).encode(order, "surrogatepass"))
            sentence = "half a character of UTF-16 at byte 6; --text takes its bytes as they are"
            c.run("query f.bloom wide good", stdout="a\na\nb\n", code=2, stderr=f"bloomery: query: wide: {sentence}\n")
            c.run("add f.bloom wide", code=2, stderr=has(sentence, "nothing was added"))
            c.run("dedupe -q wide", code=2, stdout="a\n", stderr=has(sentence))
        c.file("wide", mark + "a\nb".encode(order) + b"\0")
        c.run("query f.bloom wide", stdout="a\n", code=2,
              stderr=has("wide: ends within a character of UTF-16; --text takes its bytes as they are\n"))
    c.expect(c.read("f.bloom") == before, "the filter was changed")


@case
def utf16_without_a_mark_is_warned_of(c):
    for order in ("LE", "BE"):
        c.file("wide", "some words\nand more\n".encode(f"utf-16-{order}"))
        warning = (f"wide: seems to be UTF-16{order} without a byte order mark, and is read as it is; "
                   f"'iconv -f UTF-16{order} -t UTF-8' converts it to lines\n")
        c.run("build -q -o f.bloom wide", stderr=f"bloomery: build: warning: {warning}")
        c.run("query -c f.bloom wide", stdout=None, stderr=f"bloomery: query: warning: {warning}")
        c.run("dedupe -q wide", stdout=c.read("wide") + (b"\n" if order == "LE" else b""),
              stderr=has(warning))
        c.run("query --text -c f.bloom wide", stdout=None)
    for content in (b"a\0b\n\0\na\n" * 9, b"\0" * 90 + b"\n", b"words\n" * 900, b"a\0\n\0"):
        c.run("query -c f.bloom", stdin=content, stdout=None, code=None, stderr=nul_note("query", "standard input", content))
    c.run("query -0 -c f.bloom", stdin=b"a\0b\0" * 99, stdout="0\n", code=1)


@case
def nul_bytes_are_noted_once(c):
    """A binary file, or one whose lines end with NUL, is read as it is; one note says what may be wrong."""
    c.file("one", b"a\0b\0c\0\n")
    c.file("two", b"d\0e\0\n")
    c.file("text", b"a\nb\n")
    c.run("dedupe -q text one two", stdout=b"a\nb\na\0b\0c\0\nd\0e\0\n", stderr=nul_note("dedupe", "one"))
    c.run("build -q -n 9 -o f.bloom one two", stderr=nul_note("build", "one"))
    c.run("query -c f.bloom one", stdout="1\n", stderr=nul_note("query", "one"))
    c.run("sieve push -q --engine memory s one", stderr=nul_note("sieve push", "one"))
    for option in ("-0", "--text"):
        c.run(f"dedupe -q {option} one", stdout=b"a\0b\0c\0\n\0" if option == "-0" else b"a\0b\0c\0\n")
    c.run("dedupe -q text", stdout="a\nb\n")


@case
def utf16_is_not_appended_to_nor_read_from_archives(c):
    c.file("wide", MARKED["LE"])
    c.run("dedupe -q --append wide", stdin="a\n", code=2, stderr=has("is in UTF-16, and lines are appended in UTF-8"))
    c.expect(c.read("wide") == MARKED["LE"], "the file was changed")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("list.txt", MARKED["LE"])
    c.run("dedupe -q", stdin=buffer.getvalue(), code=2,
          stderr=has("has a member, list.txt, that is in UTF-16 and not a list of keys; unpack it first"))


main()
