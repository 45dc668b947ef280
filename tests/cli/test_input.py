# SPDX-License-Identifier: Apache-2.0
"""Records become keys: any bytes, any length, packed or not.

Every case builds a filter from one form of the input and asks it in another, at a rate that makes a
false positive a thing of one run in millions, so the output is exact.
"""

import gzip
import io
import lzma
import os
import random
import shutil
import subprocess
import zipfile

from runner import Skip, case, has, main, nul_note

ABSENT = b"absent-1\nabsent-2\n\x00\xff\n"


def answers_exactly(c, content, records, delimiter=b"\n"):
    """Builds from `content`, asks for its records and some others: only its own come back."""
    null = "-0" if delimiter == b"\0" else ""
    c.file("input", content)
    said = b"" if null else content
    c.run(f"build -q {null} -p 1e-12 -o f.bloom input", stderr=nul_note("build", "input", said))
    expected = b"".join(record + delimiter for record in records)
    absent = ABSENT if delimiter == b"\n" else b"absent\n\0\xff\0"
    note = nul_note("query", "input", said)
    c.run(f"query {null} f.bloom", stdin=content, stdout=expected, stderr=nul_note("query", "standard input", said))
    c.run(f"query {null} f.bloom input", stdout=expected, stderr=note)
    c.run(f"query {null} f.bloom", stdin=absent + expected, stdout=expected,
          stderr="" if null else nul_note("query", "standard input"))
    c.run(f"query {null} -c f.bloom input", stdout=f"{len(records)}\n", stderr=note)
    c.run(f"query {null} -v f.bloom input", code=1, stderr=note)


@case
def last_line_without_newline_is_a_key(c):
    answers_exactly(c, b"one\ntwo", [b"one", b"two"])


@case
def single_line_without_newline_is_a_key(c):
    answers_exactly(c, b"x", [b"x"])


@case
def empty_line_is_the_empty_key(c):
    answers_exactly(c, b"one\n\ntwo\n", [b"one", b"", b"two"])
    answers_exactly(c, b"\n", [b""])


@case
def empty_line_is_absent_where_none_was_added(c):
    c.file("keys", "one\ntwo\n")
    c.run("build -q -p 1e-12 -o f.bloom keys")
    c.run("query f.bloom", stdin="\n", code=1)


@case
def empty_input_has_no_key(c):
    c.file("keys", "")
    c.run("build -o f.bloom keys", stderr=has("wrote f.bloom: 0 keys"))
    c.run("query -c f.bloom", stdin="", stdout="0\n", code=1)


@case
def carriage_return_is_part_of_the_key(c):
    warning = ("warning: {}: its first line ends in a carriage return, which becomes part of the "
               "key\n")
    c.file("input", "one\r\ntwo\r\n")
    c.file("plain", "three\nfour\r\n")
    c.run("build -q -p 1e-12 -o f.bloom input plain",
          stderr="bloomery: build: " + warning.format("input"))
    c.run("query f.bloom - plain", stdin="one\none\r\n", stdout="one\r\nthree\nfour\r\n")
    c.run("query f.bloom input -", stdin="\r\n", stdout="one\r\ntwo\r\n",
          stderr="bloomery: query: " + warning.format("input") +
          "bloomery: query: " + warning.format("standard input"))
    c.run("query -0 f.bloom", stdin="one\r\0", stdout="one\r\0")


@case
def byte_order_mark_is_dropped(c):
    for pack in (bytes, gzip.compress):
        c.file("marked", pack("\ufeffone\ntwo\n\ufeffthree\n".encode()))
        c.run("build -q -p 1e-12 -o f.bloom marked")
        c.run("query f.bloom", stdin="one\ntwo\n\ufeffthree\n", stdout="one\ntwo\n\ufeffthree\n")
        # The first mark that standard input has goes, too.
        c.run("query f.bloom", stdin="\ufeff\ufeffone\nthree\n", code=1)
        c.run("query f.bloom marked - marked", stdin="\ufefftwo", stdout="one\ntwo\n\ufeffthree\ntwo\n"
              "one\ntwo\n\ufeffthree\n")
    for mark, keys in (("\ufeff", 0), ("\ufeff\n", 1), ("\ufeff" * 2, 1), ("\xef\xbb", 1)):
        c.file("mark", mark)
        c.run("build -q -n 9 -o f.bloom mark")
        c.run("inspect --json f.bloom", stdout=has(f'"adds": {keys},'))


@case
def byte_order_mark_is_kept_where_asked(c):
    c.file("marked", "\ufeffone\ntwo\n")
    c.run("build -q -n 9 -p 1e-12 --keep-bom -o f.bloom marked")
    c.run("query f.bloom marked", stdout="two\n")
    c.run("query --keep-bom f.bloom marked", stdout="\ufeffone\ntwo\n")
    c.run("add -q --keep-bom f.bloom", stdin="\ufeffthree\n")
    c.run("query --keep-bom f.bloom", stdin="\ufeffthree\nthree\n", stdout="\ufeffthree\n")


@case
def mark_is_found_however_input_is_cut(c):
    """Read byte by byte, and in the smallest blocks."""
    c.run("build -q -n 9 -p 1e-12 -o f.bloom", stdin="one\n")
    for text in ("\ufeffone", "\ufeffone\n"):
        process = c.start("query f.bloom")
        for byte in text.encode():
            process.stdin.write(bytes([byte]))
            process.stdin.flush()
            c.wait_until_read(process)
        stdout, _ = process.communicate()
        c.expect(stdout == b"one\n", f"{stdout}")


@case
def nul_is_a_byte_like_any_other(c):
    answers_exactly(c, b"a\0b\n\0\na\n", [b"a\0b", b"\0", b"a"])
    c.run("query f.bloom", stdin=b"a\0c\na\0\n", code=1, stderr=nul_note("query", "standard input"))


@case
def nul_ends_records_where_asked(c):
    answers_exactly(c, b"one\ntwo\0\0three", [b"one\ntwo", b"", b"three"], b"\0")


@case
def every_byte_value_is_a_key(c):
    records = [bytes([value]) for value in range(256) if value != 10]
    answers_exactly(c, b"\n".join(records), records)


@case
def invalid_utf8_is_a_key(c):
    answers_exactly(c, b"\xff\n\xff\xfe\n\xc3\n\xed\xa0\x80\ncaf\xc3\xa9\ncaf\xe9\n",
                    [b"\xff", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"caf\xc3\xa9", b"caf\xe9"])


@case
def lines_of_70000_and_10000000_bytes_are_keys(c):
    long, longer = b"x" * 70_000, b"y" * 10_000_000
    answers_exactly(c, long + b"\n1\n" + longer + b"\n2", [long, b"1", longer, b"2"])
    c.run("query f.bloom", stdin=longer[:-1] + b"\n" + long + b"x\n", code=1)


@case
def lines_that_end_at_the_edges_of_the_buffer_are_keys(c):
    for edge in (64, 4096, 1 << 20, 1 << 21):
        for off in (-1, 0, 1):
            first = b"e" * (edge + off)
            answers_exactly(c, first + b"\nshort\n" + first + b"f", [first, b"short", first + b"f"])


@case
def many_short_and_empty_lines_keep_their_order(c):
    generator = random.Random(1)
    records = [b"r" * generator.choice((0, 1, 2, 12, 70)) + b"%d" % i if i % 7 else b""
               for i in range(30_000)]
    answers_exactly(c, b"\n".join(records) + b"\n", records)


# ---- Packed input ------------------------------------------------------------------------------------

RECORDS = [b"%012d" % (i * i * 977) for i in range(50_000)]
TEXT = b"\n".join(RECORDS)  # without the last newline
EXPECTED = TEXT + b"\n"


def pack_zstd(data):
    """Packs with the program: Python 3.11 can't."""
    if shutil.which("zstd") is None:
        raise Skip("no zstd here")
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE,
                          check=True).stdout


def pack_zip(*members, method=zipfile.ZIP_DEFLATED):
    """A zip file of these contents."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("folder/", b"")
        for number, member in enumerate(members):
            archive.writestr(f"folder/m\u00e9mb\u00e9r-{number}", member)
    return buffer.getvalue()


def packed_equals_plain(c, packed, records=None):
    """A packed input has the keys of the plain one, named or piped, built from or asked with."""
    expected = EXPECTED if records is None else records
    count = expected.count(b"\n")
    c.file("packed", packed)
    c.file("plain", expected)
    c.run("build -q -p 1e-12 -o packed.bloom packed")
    c.run("build -q -p 1e-12 -o plain.bloom plain")
    c.expect(c.read("packed.bloom") == c.read("plain.bloom"), "packed and plain input differ")
    c.run("query plain.bloom packed", stdout=expected)
    c.run("query plain.bloom", stdin=packed, stdout=expected)
    c.run(f"build -q -n {count} -p 1e-12 -o piped.bloom", stdin=packed)
    c.expect(c.read("piped.bloom") == c.read("plain.bloom"), "piped and plain input differ")


@case
def gzip_is_recognised_by_content(c):
    packed_equals_plain(c, gzip.compress(TEXT))


@case
def several_gzip_members_are_one_input(c):
    half = len(TEXT) // 2 + 5  # in the middle of a line
    packed_equals_plain(c, gzip.compress(TEXT[:half]) + gzip.compress(TEXT[half:]))


@case
def zeros_behind_gzip_are_padding(c):
    packed_equals_plain(c, gzip.compress(TEXT) + bytes(1000))


@case
def zstd_is_recognised_by_content(c):
    packed_equals_plain(c, pack_zstd(TEXT))


@case
def several_zstd_frames_are_one_input(c):
    half = len(TEXT) // 2 + 5
    packed_equals_plain(c, pack_zstd(TEXT[:half]) + pack_zstd(TEXT[half:]))


@case
def xz_is_recognised_by_content(c):
    packed_equals_plain(c, lzma.compress(TEXT))


@case
def zip_is_recognised_by_content(c):
    packed_equals_plain(c, pack_zip(TEXT))
    packed_equals_plain(c, pack_zip(TEXT, method=zipfile.ZIP_STORED))


@case
def each_zip_member_ends_its_last_line(c):
    packed_equals_plain(c, pack_zip(b"1\n2", b"3\n", b"", b"4"), b"1\n2\n3\n4\n")


@case
def packed_input_that_is_empty_has_no_key(c):
    """Also cut anywhere: what unpacks to nothing because it is cut short is an error, not empty."""
    empty_zip = b"PK\5\6" + bytes(18)
    packs = [(gzip.compress(b""), 10), (lzma.compress(b""), 6), (empty_zip, 0), (pack_zip(b""), 0)]
    if shutil.which("zstd") is not None:
        packs.append((pack_zstd(b""), 4))
    c.run("build -q -n 1 -p 1e-12 -o f.bloom", stdin="x\n")
    for packed, least in packs:
        c.file("packed", packed)
        c.run("build -o g.bloom packed", stderr=has("wrote g.bloom: 0 keys, "))
        c.run("build -n 5 -o g.bloom", stdin=packed, stderr=has("wrote g.bloom: 0 keys, "))
        c.run("query -c f.bloom packed", stdout="0\n", code=1)
        c.run("add f.bloom packed", stderr="f.bloom: added 0 keys\n")
        for cut in range(least, len(packed)) if least else ():
            c.run("query -c f.bloom", stdin=packed[:cut], stdout=None,
                  stderr=has("compressed data"), code=2)
    for twice in (lzma.compress(b"") * 2, gzip.compress(b"") * 2):
        c.run("query -c f.bloom", stdin=twice, stdout="0\n", code=1)
    c.run("query f.bloom", stdin=lzma.compress(b"") + lzma.compress(b"x\n"), stdout="x\n")


@case
def packed_input_with_nul_ended_records(c):
    c.file("packed", pack_zip(b"1\n2\x003", b"4\0"))
    c.run("build -q -0 -p 1e-12 -o f.bloom packed")
    c.run("query -0 f.bloom packed", stdout=b"1\n2\x003\x004\0")


@case
def only_packed_input_needs_libarchive(c):
    """A file in the libraries' places that is none: plain and gzip input do not notice, others say why."""
    os.mkdir(c.path("broken"))
    c.file("broken/libarchive.so.13", "no library")
    c.file("broken/liblzma.so.5", "no library")
    path = ":".join(filter(None, (c.path("broken"), os.environ.get("LD_LIBRARY_PATH"))))
    broken = {"LD_LIBRARY_PATH": path}
    c.file("plain", "a\n")
    c.file("packed", gzip.compress(b"a\n"))
    c.run("build -q -p 1e-12 -o f.bloom plain", environment=broken)
    c.run("query f.bloom packed plain", stdout="a\na\n", environment=broken)
    c.run("query f.bloom - plain", stdin=lzma.compress(b"a\n"), stdout="a\n", code=2,
          environment=broken,
          stderr=has("bloomery: query: standard input: can't be unpacked: ", "libarchive"))
    c.run("--version", stdout=has("no libarchive, zlib"), environment=broken)


@case
def beginnings_of_magic_numbers_are_lines(c):
    for content in (b"\x1f", b"\x1f\x8b", b"\x28\xb5\x2f", b"\xfd7zXZ", b"PK", b"PK\3", b"BZh",
                    b"BZh91AY&S", b"BZh01AY&SY", b"\x89BLOOM"):
        c.file("keys", content)
        c.run("build -q -p 1e-12 -o f.bloom keys")
        c.run("query f.bloom", stdin=content, stdout=content + b"\n")


def every_damage_is_an_error(c, packed, flips, last_cut=-1):
    """Cut anywhere, or with a byte changed where `flips` says: exit code 2, never silence."""
    c.run("build -q -n 1 -o f.bloom", stdin="x\n")
    for cut in (20, len(packed) // 3, len(packed) // 2, len(packed) + last_cut):
        for line in ("query -c f.bloom", "query -c f.bloom cut"):
            c.file("cut", packed[:cut])
            c.run(line, stdin=packed[:cut], stdout=None, stderr=has("compressed data"), code=2)
    for at in flips:
        damaged = bytearray(packed)
        damaged[at] ^= 0x10
        c.file("damaged", damaged)
        for line in ("query -c f.bloom", "query -c f.bloom damaged"):
            c.run(line, stdin=bytes(damaged), stdout=None, stderr=has("compressed data"), code=2)
        c.run("build -o g.bloom damaged", stderr=has("bloomery: build: damaged: "), code=2)
        c.run("build -n 9 -o g.bloom damaged", stderr=has("bloomery: build: damaged: "), code=2)
        c.run("add f.bloom damaged", stderr=has("bloomery: add: damaged: ", "nothing was added"),
              code=2)
    c.expect("g.bloom" not in c.names(), "a failed build left its file")


@case
def damaged_gzip_is_an_error(c):
    packed = gzip.compress(TEXT)
    # In the data, in the checksum and in the length at the end.
    every_damage_is_an_error(c, packed, (2000, len(packed) // 2, len(packed) - 7, len(packed) - 3))


@case
def gzip_followed_by_something_else_is_an_error(c):
    c.run("build -q -n 1 -o f.bloom", stdin="x\n")
    c.run("query -c f.bloom", stdin=gzip.compress(TEXT) + b"what is this", stdout=None,
          stderr=has("follows the compressed data"), code=2)


@case
def damaged_zstd_is_an_error(c):
    packed = pack_zstd(TEXT)
    every_damage_is_an_error(c, packed, (2000, len(packed) // 2, len(packed) - 2))


@case
def damaged_xz_is_an_error(c):
    packed = lzma.compress(TEXT)
    every_damage_is_an_error(c, packed, (2000, len(packed) // 2))


@case
def damaged_zip_is_an_error(c):
    # The directory at the end repeats what stands before each member: cut there, nothing is lost.
    packed = pack_zip(TEXT[:1000], TEXT)
    directory = packed.index(b"PK\1\2")
    every_damage_is_an_error(c, packed, (200, len(packed) // 2), directory - len(packed))
    # Each member is checked by itself: the last one too, the ones before it being whole.
    last = bytearray(packed)
    last[packed.index(b"PK\3\4", 200) + 14] ^= 1  # its checksum
    c.run("query -c f.bloom", stdin=bytes(last), stdout=None, stderr=has("compressed data"), code=2)
    for end in (packed.index(b"PK\3\4", 200), directory - 1):  # between two members; a byte too few
        c.run("query -c f.bloom", stdin=packed[:end], stdout=None, stderr=has("compressed data"),
              code=2)


main()
