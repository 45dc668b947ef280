# SPDX-License-Identifier: Apache-2.0
"""Lines of files, as the command reads them: what the methods of Filter that end in _lines take.

A line ends with LF, which is not part of it, and the last one may lack it. A UTF-8 byte order mark at the start is
dropped. Files of gzip, bzip2 and xz are unpacked, known by their first bytes.
"""

import bz2
import gzip
import lzma
import os
import warnings

BLOCK = 1 << 20
LONGEST = 64 << 20  # as the command's --max-line

_PACKED = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\0", lzma.open))
_OTHER = ((b"\x28\xb5\x2f\xfd", "is compressed with zstd, which this Python lacks: unpack it, or use 'bloomery add'"),
          (b"PK\3\4", "is a zip archive: unpack it, or use 'bloomery add'"),
          (b"\xff\xfe", "is UTF-16: make UTF-8 of it, or use 'bloomery add'"),
          (b"\xfe\xff", "is UTF-16: make UTF-8 of it, or use 'bloomery add'"))


def _open(path):
    """The file with its lines, and its first bytes, which were read already."""
    file = open(path, "rb")
    for _ in range(8):  # compressed twice, and more often than that by nobody
        start = file.read(8)
        opener = next((opener for magic, opener in _PACKED if start.startswith(magic)), None)
        if opener is None:
            break
        file.seek(0)
        file = opener(file)
    else:
        raise ValueError(f"{os.fsdecode(path)}: is compressed too many times")
    for magic, what in _OTHER:
        if start.startswith(magic):
            file.close()
            raise ValueError(f"{os.fsdecode(path)}: {what}")
    return file, start.removeprefix(b"\xef\xbb\xbf")


def read(path, crlf=True):
    """Yields each line as bytes. Without `crlf` a carriage return at the end stays, and the first one is warned of."""
    file, rest = _open(path)
    first = not crlf
    with file:
        while True:
            block = file.read(BLOCK)
            lines = (rest + block).split(b"\n")
            rest = lines.pop()
            if first and (lines or not block):
                first = False
                if (lines or [rest])[0].endswith(b"\r"):
                    warnings.warn(f"{os.fsdecode(path)}: lines end in CRLF, and the carriage return is part of the "
                                  "keys; crlf=True removes it", stacklevel=2)
            yield from lines
            if not block:
                break
            if len(rest) > LONGEST:
                raise ValueError(f"{os.fsdecode(path)}: a line is longer than {LONGEST >> 20} MiB")
        if rest:
            yield rest


def build(kind, path, rate=0.01, *, crlf=False, count=None, **options):
    """Filter.build_lines: planned for all lines, which are counted in a pass before."""
    if count is None:
        count = sum(1 for _ in read(path)) or 1
    lines = read(path, crlf)
    if crlf:
        lines = (line.removesuffix(b"\r") for line in lines)
    return kind.build(lines, rate, count=count, **options)
