#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer of dedupe --unit that is written first by most: Python, with a set of 8-byte hashes.

    corpus_set.py paragraph|ngram < in.jsonl > out.jsonl

Its hash is Python's own of bytes, the fastest at hand: 64 bits, SipHash. Words are split at white space,
n-grams have 13 of them, and the threshold is 0.8.
"""

import json
import sys

NGRAM = 13


def paragraph_is_seen(line, seen):
    """Whether the paragraph was there before."""
    key = hash(line.encode())
    if key in seen:
        return True
    seen.add(key)
    return False


def ngrams_are_seen(line, seen):
    """Returns whether enough of its n-grams were there before to cut it."""
    words = line.split()
    if not words:
        return False
    count = max(len(words) - NGRAM, 0) + 1
    keys = [hash(" ".join(words[i:i + NGRAM]).encode()) for i in range(count)]
    known = sum(key in seen for key in keys)
    seen.update(keys)
    return known >= 0.8 * count


def main():
    """From standard input to standard output."""
    is_seen = ngrams_are_seen if sys.argv[1] == "ngram" else paragraph_is_seen
    seen, write = set(), sys.stdout.buffer.write
    for line in sys.stdin.buffer:
        document = json.loads(line)
        paragraphs = document["text"].split("\n")
        kept = [paragraph for paragraph in paragraphs if not is_seen(paragraph, seen)]
        if len(kept) == len(paragraphs):
            write(line)
        elif kept:
            document["text"] = "\n".join(kept)
            write(json.dumps(document, ensure_ascii=False).encode() + b"\n")


main()
