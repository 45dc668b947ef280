# SPDX-License-Identifier: Apache-2.0
"""Near-duplicates by MinHash signatures and bands, exactly: a set of bands, no filter. The model of
dedupe --near and of bloomery/near.h, of which it shares no code.

    near = Near(0.8)                       # near.bands, near.rows
    near.bands_of(b"some words of a text") == {(0, (17, 4, ...)), (1, (99, ...)), ...}
    dedupe(lines, near).lines
"""

import functools
import math
from dataclasses import dataclass

import corpus_model
import corpus_words
import hashes

M64 = (1 << 64) - 1
MULTIPLIER = 0x9e3779b97f4a7c15
MISS_WEIGHT = 0.7


@functools.lru_cache(maxsize=1 << 20)
def xxh3(data):
    return hashes.xxh3_64(data)


def curve(similarity, bands, rows):
    """The chance that one of the bands is the same in two documents."""
    return 1 - (1 - similarity ** rows) ** bands


@functools.lru_cache(maxsize=None)
def choose(threshold, values, steps=500):
    """(bands, rows) with the least weighted error."""
    points = [(i + 0.5) / steps for i in range(steps)]
    best = (math.inf, 0, 0)
    for rows in range(1, values + 1):
        powers = [point ** rows for point in points]
        for bands in range(1, values // rows + 1):
            error = 0.0
            for point, power in zip(points, powers):
                missed = (1 - power) ** bands
                error += MISS_WEIGHT * missed if point >= threshold else (1 - MISS_WEIGHT) * (1 - missed)
            if error < best[0] * (1 - 1e-9):
                best = (error, bands, rows)
    return best[1:]


def mixed(z):
    """A bijection of 64-bit numbers."""
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & M64
    z = (z ^ z >> 27) * 0x94d049bb133111eb & M64
    return z ^ z >> 31


def shingle_of(words):
    """The hash of some words, given as hashes."""
    total = 0
    for word in words:
        total = (total * MULTIPLIER + word) & M64
    return mixed(total)


def number_of(place, step):
    """A random number of an empty place."""
    return mixed(((place + 1) << 32 | step) * MULTIPLIER & M64)


@functools.lru_cache(maxsize=1 << 12)
def order_of(place, values):
    """All places in the order in which an empty place looks at them: 32 draws, then the others by their ranks."""
    drawn = [(number_of(place, step) >> shift & 0xffff) * values >> 16 for step in range(8) for shift in range(0, 64, 16)]
    ranked = sorted(range(values), key=lambda other: number_of(place, 8 + other))
    return list(dict.fromkeys(drawn + ranked))


class Near:
    """How documents are compared."""

    def __init__(self, threshold, values=128, words=5, bands=None, rows=None, secret=None):
        self.values, self.words = values, words
        self.hash = xxh3 if secret is None else lambda word: hashes.siphash_128(word, secret)[1]
        self.bands, self.rows = (bands, rows) if bands is not None else choose(threshold, values)

    def shingles_of(self, text):
        """The set of the hashes of a text's shingles."""
        words = [self.hash(word) for word in corpus_words.words_of(text)]
        length = min(self.words, len(words))
        return {shingle_of(words[i:i + length]) for i in range(len(words) - length + 1)} if words else set()

    def signature_of(self, text):
        """The values; None for a text without words."""
        least = {}
        for shingle in self.shingles_of(text):
            place = (shingle >> 32) * self.values >> 32
            least[place] = min(shingle, least.get(place, M64))
        if not least:
            return None
        def filled(place):
            if place in least or len(least) == 1:
                return least.get(place, min(least.values()))
            return next(least[other] for other in order_of(place, self.values) if other in least)
        return [filled(place) & 0xffffffff for place in range(self.values)]

    def bands_of(self, text):
        """The bands of a text: (number, values)."""
        signature = self.signature_of(text)
        if signature is None:
            return []
        return [(band, tuple(signature[band * self.rows:(band + 1) * self.rows])) for band in range(self.bands)]

    def similarity_of(self, bands):
        """What a number of bands speak for."""
        return math.pow(bands / self.bands, 1 / self.rows)


def jaccard(one, other):
    """The similarity of two sets."""
    return len(one & other) / len(one | other) if one or other else 1.0


@dataclass
class Judged:
    """A document: its line, whether it stays, and how many of its bands were seen."""
    line: bytes
    dropped: bool
    seen: int
    bands: int


def judge(lines, near, path="text", against=(), add=True, add_all=False, lower=False, min_words=0):
    """Judges documents in their order. `against`: bands that are known before, a set that is changed."""
    known = against if isinstance(against, set) else set(against)
    for line in lines:
        place = corpus_model.find_text(line, corpus_model.steps_of(path))
        bands = []
        if place is not None:
            text = corpus_model.unescape(line[slice(*place)])
            text = text.lower() if lower else text
            if len(corpus_words.words_of(text)) >= min_words:
                bands = near.bands_of(text)
        seen = sum(band in known for band in bands)
        if add and (seen == 0 or add_all):
            known.update(bands)
        yield Judged(line, seen > 0, seen, len(bands))


def dedupe(lines, near, **more):
    """The lines that stay."""
    return [one.line for one in judge(lines, near, **more) if not one.dropped]
