#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer of dedupe --near that is written first by most: MinHash in Python with numpy, and an index of bands.

    near_peer.py [BANDS ROWS] < in.jsonl > out.jsonl
    near_peer.py --index DOCUMENTS [BANDS ROWS]    memory of the index alone, of that many documents

128 permutations a * h + b mod 2^61 - 1 of 32-bit hashes, all of a document's shingles at once; five words a
shingle, split by a regular expression. The index is a dict for each band: from the bytes of its values to the
list of documents that have them.
"""

import json
import re
import resource
import sys
import zlib

import numpy

VALUES, WORDS, PRIME = 128, 5, (1 << 61) - 1
WORD = re.compile(r"\w+")


class Signatures:  # pylint: disable=too-few-public-methods
    """The permutations, drawn once."""

    def __init__(self, seed=1):
        generator = numpy.random.RandomState(seed)  # pylint: disable=no-member
        self.factors = generator.randint(1, PRIME, VALUES, dtype=numpy.uint64)
        self.terms = generator.randint(0, PRIME, VALUES, dtype=numpy.uint64)

    def of(self, text):
        """The values of a text; None without words."""
        words = WORD.findall(text)
        if not words:
            return None
        count = max(len(words) - WORDS, 0) + 1
        shingles = {" ".join(words[i:i + WORDS]) for i in range(count)}
        hashes = numpy.array([zlib.crc32(shingle.encode()) for shingle in shingles], dtype=numpy.uint64)
        permuted = (hashes[:, None] * self.factors[None, :] + self.terms[None, :]) % PRIME & 0xffffffff
        return permuted.min(axis=0).astype(numpy.uint32)


class Index:
    """A dict a band."""

    def __init__(self, bands, rows):
        self.rows, self.tables = rows, [{} for _ in range(bands)]

    def bands_of(self, signature):
        return [signature[i * self.rows:(i + 1) * self.rows].tobytes() for i in range(len(self.tables))]

    def has(self, bands):
        """Whether a document with one of these bands is there."""
        return any(band in table for band, table in zip(bands, self.tables))

    def add(self, bands, number):
        for band, table in zip(bands, self.tables):
            table.setdefault(band, []).append(number)


def fill(count, bands, rows):
    """An index of `count` documents that resemble none."""
    index, generator = Index(bands, rows), numpy.random.RandomState(2)  # pylint: disable=no-member
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(count):
        signature = generator.randint(0, 1 << 32, VALUES, dtype=numpy.uint64).astype(numpy.uint32)
        index.add(index.bands_of(signature), number)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"documents": count, "bytes": used * 1024, "bytes_a_document": used * 1024 / count}))


def main():
    """From standard input to standard output."""
    arguments = sys.argv[1:]
    wanted = 0
    if arguments[:1] == ["--index"]:
        wanted, arguments = int(arguments[1]), arguments[2:]
    bands, rows = map(int, arguments or (11, 11))
    if wanted:
        fill(wanted, bands, rows)
        return
    signatures, index, write = Signatures(), Index(bands, rows), sys.stdout.buffer.write
    for number, line in enumerate(sys.stdin.buffer):
        signature = signatures.of(json.loads(line)["text"])
        found = signature is not None and index.bands_of(signature)
        if found and index.has(found):
            continue
        if found:
            index.add(found, number)
        write(line)


main()
