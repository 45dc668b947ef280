# SPDX-License-Identifier: Apache-2.0
"""Pipes whose writers take their time: an answer comes as soon as no more input waits."""

import bz2
import lzma
import os
import select
import struct
import time
import zlib

from runner import Skip, case, main

# The line's way through the command takes a millisecond. The bound is for a machine that is busy;
# BLOOMERY_TEST_LATENCY sets the one that was promised, 0.05, for a quiet one.
SECONDS = float(os.environ.get("BLOOMERY_TEST_LATENCY", "20"))
THREADS = (1, 2, 4)


def set_up(c):
    """A filter of keys 0 to 9, which has no others at its rate, and the sorted file of them."""
    keys = "".join(f"{i}\n" for i in range(10))
    c.run("build -q -n 1000 -p 1e-12 -o f.bloom", stdin=keys)
    c.file("sorted", keys)


class Talk:
    """A command at the other end of two pipes."""

    def __init__(self, c, line, **options):
        self.case, self.line = c, line
        self.process = c.start(line, **options)

    def say(self, text):
        """Writes to it, and leaves the pipe open."""
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def hear(self, expected):
        """Waits until as many bytes have come as are expected, and compares them."""
        came, until = b"", time.monotonic() + SECONDS
        while len(came) < len(expected):
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                break
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                break
            came += more
        self.case.expect(came == expected, f"{self.line}: {came[:80]!r} ({len(came)} bytes) came, not "
                                           f"{expected[:80]!r} ({len(expected)} bytes)")

    def hear_nothing(self):
        """Shows that nothing comes: it waits for more."""
        self.case.wait_until_read(self.process)
        self.case.wait_until_it_waits(self.process)
        silent = not select.select([self.process.stdout], [], [], 0)[0]
        self.case.expect(silent, f"{self.line}: something came")

    def end(self, expected=b"", code=0):
        """Closes its input; compares what else comes, and the exit code."""
        out, err = self.process.communicate(timeout=60)
        self.case.expect((out, err, self.process.returncode) == (expected, b"", code),
                         f"{self.line}: {out[:80]!r} {err} {self.process.returncode}")


# What is asked, what is answered to the line 1 and to the line x.
QUERIES = (
    ("query f.bloom", b"1\n", b""),
    ("query -v f.bloom", b"", b"x\n"),
    ("query --with-filename f.bloom", b"f.bloom:1\n", b""),
    ("query --confirm sorted f.bloom", b"1\n", b""),
    ("query -v --confirm sorted f.bloom", b"", b"x\n"),
    ("query --trim f.bloom", b"1\n", b""),
)


@case
def answers_come_before_the_pipe_ends(c):
    set_up(c)
    for threads in THREADS:
        for line, hit, miss in QUERIES:
            talk = Talk(c, f"{line} -j {threads}")
            for _ in range(3):
                talk.say(b"1\n")
                talk.hear(hit)
                talk.say(b"x\n")
                talk.hear(miss)
            talk.end()


@case
def positions_come_before_the_pipe_ends(c):
    set_up(c)
    one, _ = c.run("query --positions -k 1 f.bloom", stdout=None)
    other, _ = c.run("query --positions -k x f.bloom", stdout=None)
    talk = Talk(c, "query --positions f.bloom")
    for _ in range(3):
        talk.say(b"1\n")
        talk.hear(one)
        talk.say(b"x\n")
        talk.hear(other)
    talk.end()


@case
def counts_come_before_the_pipe_ends(c):
    c.run("build -q -n 1000 --kind counting -p 1e-9 -o c.bloom", stdin="a\na\n")
    talk = Talk(c, "query --counts c.bloom")
    for _ in range(3):
        talk.say(b"x\na\n")
        talk.hear(b"2\ta\n")
    talk.end()


@case
def answers_of_dedupe_and_contains_come_before_the_pipe_ends(c):
    c.run("sieve push -q sieve", stdin="1\n")
    talk = Talk(c, "sieve contains --flush sieve")
    for _ in range(3):
        talk.say(b"x\n1\n")
        talk.hear(b"1\n")
    talk.end()
    for threads in THREADS:
        talk = Talk(c, f"dedupe -q -j {threads}")
        for i in range(3):
            talk.say(b"1\n%d\n" % (i + 1))
            talk.hear(b"%d\n" % (i + 1))
        talk.end()


@case
def a_file_before_the_pipe_is_answered_before_the_pipe_ends(c):
    set_up(c)
    c.file("file", "x\n3\n")
    for threads in THREADS:
        talk = Talk(c, f"query -j {threads} f.bloom file -")
        talk.hear(b"3\n")
        talk.say(b"4\n")
        talk.hear(b"4\n")
        talk.end()


@case
def a_flood_and_then_a_pause(c):
    """All of the flood is answered in the pause, whole pipes and chunks of it as well as the rest."""
    set_up(c)
    flood = b"1\nx\n" * 100_000
    for threads in THREADS:
        talk = Talk(c, f"query -j {threads} f.bloom")
        # The answers fit in no pipe, so a second process writes.
        writer = os.fork()
        if writer == 0:
            try:
                talk.say(flood)
            finally:
                os._exit(0)
        talk.hear(b"1\n" * 100_000)
        os.waitpid(writer, 0)
        talk.say(b"2\n")
        talk.hear(b"2\n")
        talk.end()


@case
def a_line_in_two_halves_waits_for_its_end(c):
    c.run("build -q -n 100 -p 1e-12 -o f.bloom", stdin="ab\na\nb\n")
    for threads in THREADS:
        for line in (f"query -j {threads} f.bloom", f"dedupe -q -j {threads}"):
            talk = Talk(c, line)
            talk.say(b"ab\na")
            talk.hear(b"ab\n")
            talk.hear_nothing()
            talk.say(b"\nb")
            talk.hear(b"a\n")
            talk.end(b"b\n")


@case
def a_packed_pipe_is_answered_as_it_is_flushed(c):
    set_up(c)
    for threads in THREADS:
        packer = zlib.compressobj(wbits=31)
        talk = Talk(c, f"query -j {threads} f.bloom")
        for _ in range(3):
            talk.say(packer.compress(b"1\nx\n") + packer.flush(zlib.Z_SYNC_FLUSH))
            talk.hear(b"1\n")
        talk.say(packer.flush())
        talk.end()


def zstd_block(text, last=False):
    """A block of a frame, not compressed."""
    return struct.pack("<I", last | len(text) << 3)[:3] + text


def lz4_block(text):
    """A block of a frame, not compressed."""
    return struct.pack("<I", 1 << 31 | len(text)) + text


def answered_at_once(c, begin, pack):
    """Whether a line is answered when what `pack` makes of it has come, for several of them."""
    for threads in (1, 4):
        talk = Talk(c, f"query -j {threads} f.bloom")
        talk.say(begin)
        for _ in range(3):
            talk.say(pack(b"1\nx\n"))
            talk.hear(b"1\n")
        talk.process.kill()
        talk.process.wait()


def decoders():
    """Skips the case where a format's own library was not found."""
    if "BLOOMERY_TEST_NO_PACKERS" in os.environ:
        raise Skip("this build lacks " + os.environ["BLOOMERY_TEST_NO_PACKERS"])


@case
def a_pipe_packed_with_zstd_xz_or_bzip2_is_answered_as_it_is_flushed(c):
    """A writer that flushes ends a block of zstd, or the stream of the others."""
    decoders()
    set_up(c)
    answered_at_once(c, b"\x28\xb5\x2f\xfd\0\x48", zstd_block)  # a frame's header: a window of 512 KiB
    answered_at_once(c, b"", lambda text: b"\x28\xb5\x2f\xfd\0\x48" + zstd_block(text, True))
    answered_at_once(c, b"", lzma.compress)
    answered_at_once(c, b"", bz2.compress)


@case
def what_one_flush_unpacks_to_is_answered_whole(c):
    """It is more than a chunk, and no input comes while the unpacker has output left."""
    decoders()
    set_up(c)
    for pack in (lambda text: b"\x28\xb5\x2f\xfd\0\x48" + zstd_block(text), bz2.compress, lzma.compress, zlib.compress):
        for environment, lines in (({}, 200_000), ({"BLOOMERY_BLOCK_BYTES": "64"}, 3000)):
            if pack not in (bz2.compress, lzma.compress, zlib.compress):
                lines = min(lines, 20_000)  # of a block of zstd
            talk = Talk(c, "query f.bloom", env={**os.environ, **environment})
            talk.say(pack(b"1\nx\n" * lines))
            talk.hear(b"1\n" * lines)
            talk.process.kill()
            talk.process.wait()


@case
def a_pipe_packed_with_lz4_is_answered_as_it_is_flushed(c):
    decoders()
    set_up(c)
    answered_at_once(c, b"\x04\x22\x4d\x18\x60\x40\x82", lz4_block)


@case
def a_member_of_an_archive_in_a_pipe_is_answered_before_its_end(c):
    """Of a tar file, plain and packed, the first line of a member of many."""
    set_up(c)
    header = bytearray(512)
    header[:6], header[100:107], header[124:135] = b"member", b"0000644", b"00000100000"
    header[148:156], header[156:157], header[257:265] = b" " * 8, b"0", b"ustar\00000"
    header[148:154] = b"%06o" % sum(header)
    text = b"1\n" + b"x\n" * 300
    for packer in (None, zlib.compressobj(wbits=31)):
        talk = Talk(c, "query f.bloom")
        content = bytes(header) + text
        talk.say(content if packer is None else packer.compress(content) + packer.flush(zlib.Z_SYNC_FLUSH))
        talk.hear(b"1\n")
        talk.process.kill()
        talk.process.wait()


@case
def quiet_ends_at_the_first_hit(c):
    set_up(c)
    for threads in THREADS:
        for options in ("-q", "-qc", "-q --confirm sorted", "-q --trim"):
            talk = Talk(c, f"query {options} -j {threads} f.bloom")
            talk.say(b"x\n")
            c.wait_until_it_waits(talk.process, "it waits for more after a miss")
            talk.say(b"1\nx")
            c.expect(talk.process.wait(timeout=60) == 0, f"exit code {talk.process.returncode}")


main()
