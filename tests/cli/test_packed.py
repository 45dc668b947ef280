# SPDX-License-Identifier: Apache-2.0
"""Inputs are what they seem: compressed ones are decompressed, archives give their members, and a file
that is not a list of keys is refused, with its type named. None of them is read as lines without --text.
"""

import bz2
import ctypes
import gzip
import io
import lzma
import os
import pickle
import resource
import sqlite3
import struct
import sys
import tarfile
import zlib

from runner import Skip, case, has, main, nul_note, own_size

MEMBERS = [b"%012d\n" % (i * i * 977) for i in range(10_000)]
TEXT = b"".join(MEMBERS)
NAMES = {"gzip": "gzip", "bzip2": "bzip2", "lz4": "lz4", "compress": "compress (.Z)", "lzip": "lzip",
         "lzma": "lzma", "xz": "xz", "zstd": "zstd"}


def packer():
    """libarchive, which writes what Python's library does not."""
    try:
        library = ctypes.CDLL("libarchive.so.13")
    except OSError:
        raise Skip("no libarchive for this Python")
    for name in ("archive_write_new", "archive_entry_new"):
        getattr(library, name).restype = ctypes.c_void_p
    library.archive_write_data.restype = ctypes.c_ssize_t
    return library


def pack(members, form="raw", compression="none"):
    """The members as one packed stream, or as an archive, or both."""
    library = packer()
    room = 2 * sum(map(len, members)) + (1 << 20)
    buffer, used = ctypes.create_string_buffer(room), ctypes.c_size_t()
    archive = ctypes.c_void_p(library.archive_write_new())
    good = [getattr(library, f"archive_write_set_format_{form}")(archive),
            getattr(library, f"archive_write_add_filter_{compression}")(archive),
            library.archive_write_open_memory(archive, buffer, ctypes.c_size_t(room),
                                              ctypes.byref(used))]
    for number, member in enumerate(members):
        entry = ctypes.c_void_p(library.archive_entry_new())
        library.archive_entry_set_pathname(entry, b"folder/member-%d" % number)
        library.archive_entry_set_size(entry, ctypes.c_int64(len(member)))
        library.archive_entry_set_filetype(entry, 0o100000)
        library.archive_entry_set_perm(entry, 0o644)
        good.append(library.archive_write_header(archive, entry))
        good.append(library.archive_write_data(archive, member, ctypes.c_size_t(len(member)))
                    - len(member))
        library.archive_entry_free(entry)
    good.append(library.archive_write_close(archive))
    library.archive_write_free(archive)
    if any(good):
        raise Skip(f"this libarchive does not write {form} with {compression}")
    return buffer.raw[:used.value]


def rar(*members):
    """A rar archive of version 4; its members are stored, not compressed."""
    def block(kind, flags, rest, data=b""):
        head = struct.pack("<BHH", kind, flags, 7 + len(rest)) + rest
        return struct.pack("<H", zlib.crc32(head) & 0xffff) + head + data
    parts = [b"Rar!\x1a\7\0", block(0x73, 0, bytes(6))]
    for number, member in enumerate(members):
        name = b"member-%d" % number
        fields = struct.pack("<IIBIIBBHI", len(member), len(member), 3, zlib.crc32(member), 0x5000_0000,
                             20, 0x30, len(name), 0o100644)
        parts.append(block(0x74, 0x8000, fields + name, member))
    return b"".join(parts) + block(0x7b, 0x4000, b"")


def database(c):
    with sqlite3.connect(c.path("made.db")) as connection:
        connection.execute("create table keys (key text)")
        connection.executemany("insert into keys values (?)", (("a",), ("b",)))
    connection.close()
    return c.read("made.db")


def all_commands_read(c, packed, text=TEXT, piped=True):
    """build, query and dedupe take a packed input for the text that is in it."""
    count = text.count(b"\n")
    c.file("plain", text)
    c.file("packed", packed)
    c.run("build -q -p 1e-12 -o plain.bloom plain")
    c.run("build -q -p 1e-12 -o packed.bloom packed")
    c.expect(c.read("packed.bloom") == c.read("plain.bloom"), "packed and plain input differ")
    c.run("query plain.bloom packed", stdout=text)
    c.run("dedupe -q packed", stdout=text)
    if piped:
        c.run(f"build -q -n {count} -p 1e-12 -o piped.bloom", stdin=packed)
        c.expect(c.read("piped.bloom") == c.read("plain.bloom"), "piped and plain input differ")
        c.run("query plain.bloom", stdin=packed, stdout=text)
        c.run("dedupe -q", stdin=packed, stdout=text)


def all_commands_refuse(c, content, sentence, pipe=True):
    c.file("odd", content)
    c.file("good", "a\n")
    c.run("build -q -n 9 -p 1e-12 -o f.bloom good")
    before = c.read("f.bloom")
    for name, given in (("odd", b""), ("standard input", content))[:2 if pipe else 1]:
        path = "odd" if name == "odd" else "-"
        c.run(f"build -q -n 9 -o g.bloom {path}", stdin=given, code=2,
              stderr=f"bloomery: build: {name}: {sentence}\n")
        c.run(f"query f.bloom {path} good", stdin=given, code=2, stdout="a\n",
              stderr=f"bloomery: query: {name}: {sentence}\n")
        c.run(f"dedupe -q {path}", stdin=given, code=2, stdout="",
              stderr=has(f"bloomery: dedupe: {name}: {sentence}\n"))
        c.run(f"add -q f.bloom {path}", stdin=given, code=2, stderr=has(f"add: {name}: {sentence}\n"))
    c.expect(c.read("f.bloom") == before, "a refused input changed the filter")
    c.expect("g.bloom" not in c.names(), "a refused build left a file")


@case
def streams_of_all_packers_are_unpacked(c):
    for packed in (gzip.compress(TEXT), bz2.compress(TEXT), bz2.compress(TEXT, 1), lzma.compress(TEXT),
                   lzma.compress(TEXT, lzma.FORMAT_ALONE)):
        all_commands_read(c, packed)
    for name in ("lz4", "compress", "lzip", "zstd"):
        all_commands_read(c, pack([TEXT], "raw", name))


@case
def several_streams_are_one_input(c):
    half = len(TEXT) // 2 + 5  # in the middle of a line
    all_commands_read(c, bz2.compress(TEXT[:half]) + bz2.compress(TEXT[half:]))
    for name in ("lz4", "lzip"):
        all_commands_read(c, pack([TEXT[:half]], "raw", name) + pack([TEXT[half:]], "raw", name))


@case
def members_of_all_archives_come_one_after_the_other(c):
    parts = [TEXT[:1300], b"", TEXT[1300:2599], TEXT[2600:]]  # the third lacks its newline
    for name in ("gnutar", "ustar", "pax", "v7tar", "cpio", "cpio_newc", "zip"):
        all_commands_read(c, pack(parts, name))
    all_commands_read(c, rar(*parts))
    all_commands_read(c, pack(parts, "7zip"), piped=False)
    c.run("query plain.bloom", stdin=c.read("packed"), code=2,
          stderr="bloomery: query: standard input: is a 7z archive; it can be unpacked from a file "
          "only, not from a pipe\n")


@case
def folders_and_links_of_a_tar_file_have_no_keys(c):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, kind, content in (("d", tarfile.DIRTYPE, b""), ("d/a", tarfile.REGTYPE, b"1\n2"),
                                    ("d/b", tarfile.SYMTYPE, b""), ("x" * 300, tarfile.REGTYPE, b"3\n")):
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind, len(content), "a"
            archive.addfile(member, io.BytesIO(content))
    all_commands_read(c, buffer.getvalue(), b"1\n2\n3\n")


@case
def archives_within_packed_streams_are_read(c):
    for form in ("gnutar", "cpio_newc"):
        archive = pack([TEXT[:1300], TEXT[1300:]], form)
        all_commands_read(c, gzip.compress(archive))
        all_commands_read(c, lzma.compress(archive))
        all_commands_read(c, bz2.compress(archive))
    damaged = bytearray(gzip.compress(archive))
    damaged[-7] ^= 1
    c.run("query -c plain.bloom", stdin=bytes(damaged), code=2, stdout=None, stderr=has("compressed data"))


def zstd_frame(text, window_log=20):
    """A frame of one block that is not compressed, in a window of 2^window_log bytes."""
    return b"\x28\xb5\x2f\xfd\0" + bytes([(window_log - 10) << 3]) + \
        struct.pack("<I", 1 | len(text) << 3)[:3] + text


def skipped(content):
    """A frame that readers of zstd and lz4 skip."""
    return b"\x5e\x2a\x4d\x18" + struct.pack("<I", len(content)) + content


def limited(bytes_max):
    """For a command in so much address space."""
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_max, bytes_max))}


def decoders():
    """Skips the case where a format's own library was not found."""
    if "BLOOMERY_TEST_NO_PACKERS" in os.environ:
        raise Skip("this build lacks " + os.environ["BLOOMERY_TEST_NO_PACKERS"])


@case
def zstd_windows_up_to_two_gibibytes_are_read_where_memory_allows(c):
    decoders()
    text = TEXT[:1300]
    untouched = {"MALLOC_PERTURB_": "0"}  # a window is allocated, and not written to but for the text
    with open("/proc/meminfo", encoding="ascii") as facts:
        left = next(int(line.split()[1]) for line in facts if line.startswith("MemAvailable"))
    most = 31 if left > 5 << 20 and sys.maxsize > 1 << 32 else 27
    for window in (28, 30, 31):
        c.file("long", zstd_frame(text, window))
        if window <= most:
            c.run("dedupe -q long", stdout=text, environment=untouched)
            c.run("dedupe -q", stdin=c.read("long") + zstd_frame(b"more\n"), stdout=text + b"more\n",
                  environment=untouched)
    # Where memory does not allow it, that is the reason.
    own_size()
    c.file("longest", zstd_frame(text, 31))
    _, said = c.run("dedupe -q longest", code=2, stderr=has("longest: ", "memory", "zstd -dc --long=31 FILE | "),
                    **limited(1 << 30))
    c.expect(b"damaged" not in said, f"sound data is called damaged: {said}")
    c.file("beyond", zstd_frame(text, 32))
    _, said = c.run("dedupe -q beyond", code=2, stderr=has("beyond: needs a zstd window of more than"))
    c.expect(b"damaged" not in said, f"sound data is called damaged: {said}")


@case
def frames_to_be_skipped_are_skipped(c):
    """pzstd begins with one; which of two formats it is says what follows it, be that far behind."""
    lz4 = pack([TEXT], "raw", "lz4")
    frame = b"".join(zstd_frame(TEXT[at:at + 100_000]) for at in range(0, len(TEXT), 100_000))
    for front in (skipped(b"1234"), skipped(b""), skipped(b"a") + skipped(b"b" * 700), skipped(bytes(3 << 20))):
        for content in (lz4, frame, frame + skipped(b"behind")):
            c.run("dedupe -q", stdin=front + content, stdout=TEXT)
    all_commands_read(c, skipped(b"1234") + frame)
    all_commands_read(c, skipped(b"1234") + lz4)
    c.run("dedupe -q", stdin=skipped(b"alone"))
    c.run("dedupe -q", stdin=skipped(bytes(3 << 20))[:-1], code=2, stderr=has("the compressed data is cut short"))
    for front in (skipped(b"1234"), skipped(bytes(3 << 20))):
        c.run("dedupe -q", stdin=front + b"text\n", code=2, stderr=has("neither zstd nor lz4 follows"))


@case
def zlib_streams_are_unpacked(c):
    for level in (0, 1, 6, 9):
        all_commands_read(c, zlib.compress(TEXT, level))
        c.run("dedupe -q", stdin=zlib.compress(b"a\n", level), stdout="a\n")
    c.run("dedupe -q", stdin=zlib.compress(b""))
    for cut in (9, 100, 1000):
        c.run("dedupe -q", stdin=zlib.compress(TEXT)[:cut], stdout=None, code=2, stderr=has("cut short"))


@case
def what_follows_a_stream_is_an_error_unless_it_is_zeros(c):
    decoders()
    text = b"a\nb\n"
    for packed in (gzip.compress(text), bz2.compress(text), lzma.compress(text), zstd_frame(text),
                   pack([text], "raw", "lz4"), zlib.compress(text)):
        c.run("dedupe -q", stdin=packed + bytes(512), stdout=text)
        c.run("dedupe -q", stdin=packed + b"\0more", code=2, stdout=None,
              stderr=has("follows the compressed data"))
    c.run("dedupe -q", stdin=pack([text], "raw", "lzip") + b"lzip allows it", stdout=text)


@case
def a_stream_that_ends_anywhere_is_cut_short(c):
    """Nothing of a stream is taken for all of it, wherever it ends, also in a checksum."""
    decoders()
    text = b"".join(b"%d\n" % (i * i) for i in range(12))
    for packed, least in ((gzip.compress(text), 3), (bz2.compress(text), 10), (lzma.compress(text), 6),
                          (lzma.compress(text, lzma.FORMAT_ALONE), 13), (zstd_frame(text), 4),
                          (pack([text], "raw", "lz4"), 4), (pack([text], "raw", "lzip"), 5), (zlib.compress(text), 8)):
        near = [*range(least, 24), *range(24, len(packed) - 16, 5), *range(len(packed) - 16, len(packed))]
        for end in sorted({end for end in near if least <= end < len(packed)}):
            out, _ = c.run("dedupe -q", stdin=packed[:end], stdout=None, code=2, stderr=has("compressed data"))
            c.expect(text.startswith(out), f"{out!r} came of {packed[:end]!r}")


def zip_with(flag=0, method=0):
    """A zip file of one member, with bits set in its headers and another method."""
    import zipfile
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("secret.txt", "a line\n" * 5)
    content = bytearray(buffer.getvalue())
    for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        place = content.index(mark) + at
        content[place] |= flag
        content[place + 2] |= method
    return bytes(content)


@case
def encrypted_damaged_and_too_large_are_three_words(c):
    """Nothing is called damaged that another program, a password or more memory reads."""
    own_size()
    c.file("sound.zip", zip_with())
    c.run("dedupe -q sound.zip", stdout="a line\n")
    encrypted = bytearray(rar(b"a\n"))
    encrypted[encrypted.index(b"\x74\0\x80") + 1] |= 4
    at = encrypted.index(b"\x74\4\x80") - 2
    size = struct.unpack_from("<H", encrypted, at + 5)[0]
    encrypted[at:at + 2] = struct.pack("<H", zlib.crc32(encrypted[at + 2:at + size]) & 0xffff)
    large = bytearray(lzma.compress(TEXT))  # its header says that it needs a dictionary of 2 GiB
    size = (large[12] + 1) * 4
    c.expect(large[14:16] == b"\x21\1", "the header is another one")
    large[16] = 38
    large[8 + size:12 + size] = struct.pack("<I", zlib.crc32(large[12:8 + size]))
    damaged = bytearray(bz2.compress(TEXT))
    damaged[len(damaged) // 2] ^= 1
    for name, content, word in (("e.zip", zip_with(flag=1), "encrypted"), ("e.rar", bytes(encrypted), "encrypted"),
                                ("m.zip", zip_with(method=97), "can't unpack it"),
                                ("large.xz", bytes(large), "memory"), ("d.bz2", bytes(damaged), "damaged")):
        c.file(name, content)
        _, said = c.run(f"dedupe -q {name}", code=2, stdout=None, stderr=has(f"{name}: ", word), **limited(1 << 30))
        c.expect((b"damaged" in said) == (word == "damaged"), f"{name} is called damaged: {said}")


@case
def damaged_streams_are_errors(c):
    c.run("build -q -n 1 -o f.bloom", stdin="x\n")
    packs = [bz2.compress(TEXT)] + [pack([TEXT], "raw", name) for name in ("lz4", "lzip")]
    for packed in packs:
        flipped = bytearray(packed)
        flipped[len(packed) // 2] ^= 0x10
        for damaged in (packed[:20], packed[:len(packed) // 2], packed[:-1], bytes(flipped)):
            c.file("damaged", damaged)
            for line in ("query -c f.bloom", "query -c f.bloom damaged"):
                c.run(line, stdin=damaged, stdout=None, stderr=has("compressed data"), code=2)
            c.run("add f.bloom damaged", code=2, stderr=has("damaged: ", "nothing was added"))
    archive = pack([TEXT], "gnutar")
    c.run("query -c f.bloom", stdin=archive[:5000], stdout=None, stderr=has("compressed data"), code=2)


@case
def a_file_compressed_twice_is_named(c):
    for inner, name in ((gzip.compress(TEXT), "compressed with gzip"), (bz2.compress(TEXT), "compressed with bzip2"),
                        (database(c), "a SQLite database")):
        all_commands_refuse(c, gzip.compress(inner), f"what is packed in it is {name}, not a list of "
                            "keys; unpack it first")
        all_commands_refuse(c, pack([inner, b"b\n"], "gnutar"), f"has a member, folder/member-0, that is {name} "
                            "and not a list of keys; unpack it first")


def orc_file():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vectors", "dialect",
                        "orc_bad_bloom_filter_1.6.0.orc")
    with open(path, "rb") as file:
        return file.read()


@case
def a_file_that_is_not_a_list_is_refused_by_name(c):
    seeming = [("a SQLite database", database(c)), ("a Parquet file", b"PAR1\x15\x04\x15\x10" + bytes(90)),
               ("an ORC file", orc_file()), ("an ORC file", b"ORC\n\6\x08\1\x10\1" + bytes(90)),
               ("a WARC archive of web pages", b"WARC/1.0\r\nWARC-Type: warcinfo\r\n\r\n"),
               ("a WARC archive of web pages", b"WARC/1.1\r\n"),
               ("an ISO image of a disc", bytes(32768) + b"\1CD001\1\0" + bytes(2000)),
               ("an Arrow file", b"ARROW1\0\0" + bytes(90)), ("an Avro file", b"Obj\1\4" + bytes(90)),
               ("an HDF5 file", b"\x89HDF\r\n\x1a\n" + bytes(90)), ("a NumPy array", b"\x93NUMPY\1\0v\0{"),
               ("a serialized Java object", b"\xac\xed\0\5sr\0\x11java"), ("a PDF document", b"%PDF-1.4\n"),
               ("an ELF program", b"\x7fELF\2\1\1" + bytes(90)), ("an image", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
               ("an ar archive", b"!<arch>\ndebian-binary   "), ("an RPM package", b"\xed\xab\xee\xdb\3\0"),
               ("a cab archive", b"MSCF" + bytes(40)), ("a xar archive", b"xar!\0\x1c\0\1" + bytes(40)),
               ("a Feather file of version 1", b"FEA1\0\0\0\0" + bytes(90) + b"FEA1"),
               ("a dump of a Redis server (RDB)", b"REDIS0010\xfa\x09redis-ver\x067.0.15"),
               ("a dump of a Redis server (RDB)", b"VALKEY080\xfa\x0avalkey-ver"),
               *(("a pickled Python object", pickle.dumps(value, protocol)) for protocol in (2, 3, 4, 5)
                 for value in ({"a": 1}, ["a", "b"], {1, 2}, ("a", 1), "text", b"bytes", None, 5)),
               ("compressed with lrzip", b"LRZI\0\6" + bytes(40)), ("UTF-32 text", "\ufeffa\n".encode("utf-32"))]
    for name, content in seeming:
        all_commands_refuse(c, content, f"seems to be {name}, not a list of keys; --text takes its bytes "
                            "as they are")
    # Its mark is at 32 KiB, which is waited for only where NULs come before: in a pipe it may come too late.
    started = b"\x33\xed\x90" * 10922 + bytes(2) + b"\1CD001\1\0" + bytes(2000)
    all_commands_refuse(c, started, "seems to be an ISO image of a disc, not a list of keys; --text takes its "
                        "bytes as they are", pipe=False)
    c.file("keys", "a\n")
    c.run("build -q -p 1e-12 -o other.bloom keys")
    all_commands_refuse(c, c.read("other.bloom"), "is a filter, not a list of keys")


@case
def a_compressed_bloomery_filter_is_named(c):
    """Whatever takes a filter says which program unpacks it, and changes nothing."""
    c.file("keys", "a\n")
    c.run("build -q -p 1e-12 -o f.bloom keys")
    packs = [(gzip.compress(c.read("f.bloom")), "gzip", "gunzip"),
             (bz2.compress(c.read("f.bloom")), "bzip2", "bunzip2"),
             (lzma.compress(c.read("f.bloom")), "xz", "unxz"),
             (pack([c.read("f.bloom")], "raw", "lz4"), "lz4", "unlz4")]
    for packed, name, program in packs:
        c.file("packed", packed)
        sentence = (f"packed: is a filter that is compressed with {name}: '{program}' makes a usable "
                    "file of it\n")
        for line in ("query packed keys", "add packed keys", "inspect packed", "remove packed keys",
                     "merge -o g.bloom packed f.bloom", "convert --to dcso -o g.bloom packed",
                     "compare packed f.bloom", "fold -o g.bloom packed", "dedupe --state packed keys",
                     "dedupe --against packed keys"):
            c.run(line, code=2, stderr=has(sentence))
        c.expect(c.read("packed") == packed and "g.bloom" not in c.names(), "a file was changed")


@case
def lists_to_compare_with_may_be_packed_or_wide(c):
    for content in (gzip.compress(b"a\n", mtime=0), bz2.compress(b"a\n"), "a\n".encode("utf-16"),
                    pack([b"a\n"], "gnutar")):
        c.file("list", content)
        c.run("dedupe -q --against list", stdin="a\nb\n", stdout="b\n")


@case
def office_documents_are_not_lists(c):
    import zipfile
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>\n")
        archive.writestr("xl/sheet1.xml", "<a/>\n")
    all_commands_refuse(c, buffer.getvalue(), "seems to be an Office document, not a list of keys; "
                        "export it as text")


@case
def packers_that_libarchive_lacks_are_named(c):
    """lzop's own library is not in all of them; where it is, these few bytes are damaged."""
    packed = b"\x89LZO\0\r\n\x1a\n\x10\x40\x20\xa0\x09\x40\1\5\3\0\0\1" + bytes(40)
    c.file("keys", "a\n")
    c.run("build -q -p 1e-12 -o f.bloom keys")
    c.run("query f.bloom", stdin=packed, code=2, stderr=has("compressed"))


@case
def text_takes_the_bytes_as_they_are(c):
    for content in (gzip.compress(b"a\n"), database(c), pack([b"a\n"], "gnutar"), "\ufeffa\n".encode(),
                    "\ufeffa\n".encode("utf-16")):
        lines = content if content.endswith(b"\n") else content + b"\n"
        c.file("odd", content)
        c.run("build -q -n 99 -p 1e-12 --text -o f.bloom odd")
        c.run("query --text f.bloom odd", stdout=lines)
        c.run("query --text f.bloom", stdin=content, stdout=lines)
        c.run("query f.bloom -", stdin=content, stdout=None, code=None, stderr=None)
        c.run("dedupe -q --exact --text odd", stdout=None)
        c.run("add -q --text f.bloom odd")
    c.run("dedupe -q --text", stdin=gzip.compress(b"a\n", mtime=0)[:3] + b"\nb\n", stdout=b"\x1f\x8b\x08\nb\n")


@case
def lines_that_begin_like_headers_are_lines(c):
    """Numbers that a cpio archive begins with, words, brackets, and names as long as tar's."""
    for content in (b"070701\n", b"07070100000000000000\n070707\n", b"LZIP\n", b"PAR1\n", b"Obj\n", b"]\n]]\n",
                    b"ORC\n", b"ORC\nORC\n", b"ORCHID\n", b"ORC\tb\n", b"ORC is a file format of Apache's\n", b"ORC",
                    b"WARC/1.0\n", b"WARC/1.0", b"WARC\n", b"WARC/1.0 \n", b"WARC/10\n",
                    b"a\n" * 16384 + b"\nCD001\n" + b"a\n" * 9,
                    b"MSCF\n", b"xar!\n", b"Rar!\n", b"ARROW1\n", b"!<arch>", b"%PDF", b"SQLite format 3\n",
                    b"P*M\n", b"x" * 100 + b"\n" + b"y" * 500 + b"\n", b"x" * 600 + b"\n", b"0" * 600 + b"\n",
                    b"070701" + b"0" * 104 + b"\n", b"\x1f\x9d\0\n", b"\x1f\x9d\xff\n", b"x^2\n", b"x^\xe9t\xe9\n",
                    b"FEA1\n", b"FEA1", b"REDIS\n", b"REDIS", b"REDIS0010\n", b"REDIS00101\n", b"REDIS0010", b"VALKEY\n",
                    b"\x80\n", b"\x80", b"\x80uro\n",
                    b"x\xda\n", b"x\xdaj\xe0\xe9\n", b"x\n", b"x", b"x^"):
        c.file("keys", content)
        c.run("build -q -n 9 -p 1e-12 -o f.bloom keys", stderr=nul_note("build", "keys", content))
        lines = content if content.endswith(b"\n") else content + b"\n"
        c.run("query f.bloom", stdin=content, stdout=lines, stderr=nul_note("query", "standard input", content))
    c.run("build -q -0 -n 9 -p 1e-12 -o f.bloom", stdin=b"a\0b\0" + bytes(600))
    c.run("query -0 f.bloom", stdin=b"a\0\0\0b\0", stdout=b"a\0\0\0b\0")


@case
def a_typed_line_is_answered_though_it_could_begin_a_header(c):
    """Nothing more is waited for when a line is whole, be it one that a packed file could begin with."""
    for line, null in ((b"070701\n", ""), (b"name\n", ""), (b"name\0", "-0"), (b"\x1f\x8b\n", ""),
                       (b"x^2\n", ""), (b"x\xda\n", ""), (b"REDIS\n", ""), (b"\x80\n", "")):
        c.file("keys", line)
        c.run(f"build -q {null} -n 9 -p 1e-12 -o f.bloom keys")
        process = c.start(f"query -q {null} f.bloom")
        process.stdin.write(line)
        process.stdin.flush()
        process.wait(timeout=20)
        c.expect(process.returncode == 0, "the line was not answered")
        process.communicate()


def seconds_of(c, line):
    """The processor time that a run takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    c.run(line, stdout="1\n")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@case
def many_short_streams_of_xz_take_no_longer_than_those_of_gzip(c):
    """What each of them may take of memory was looked up anew, which took fifty times as long."""
    c.file("many.gz", gzip.compress(b"key\n") * 20_000)
    c.file("many.xz", lzma.compress(b"key\n") * 20_000)
    usual, xz = (seconds_of(c, f"dedupe -q -c many.{end}") for end in ("gz", "xz"))
    c.expect(xz < 6 * usual + 0.5, f"xz: {xz:.2f} s, gzip: {usual:.2f} s")


main()
