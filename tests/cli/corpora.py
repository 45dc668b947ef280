#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Corpora for tests: documents as JSON lines, with everything in them that a real one has.

    lines = corpora.documents(500, seed=1)
    tests/cli/corpora.py COUNT SEED > corpus.jsonl

Words are as frequent as Zipf's law says. Paragraphs repeat whole (boilerplate), or with some words
changed. Strings are escaped in every way that JSON allows, so a reader that compares them as they are
written fails. Some lines have no text, or are not JSON at all. The same arguments make the same bytes.
"""

import itertools
import json
import random
import sys

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "st")]
ODD_WORDS = ("don't", "3.14", "1,000", "e-mail", "naïve", "Übergröße", "Жизнь", "λόγος", "中文", "ひらがな",
             "カタカナ", "U.S.A", "a_b", "10:30", "—", "…", "(so)", "“quoted”", 'a"b', "back\\slash", "a/b",
             "tab\there", "é", "😀", "x\u200dy", "№5", "½", "nul\0here", "del\x7f")
BLANKS = ("", "", "", " ", "\t", " \t\v\f", "\r")
ODD_LINES = (
    b"", b" ", b"no JSON", b'{"text": "cut off', b'{"text": "a"} b', b"{'text': 'a'}", b'{"text": NaN}',
    b'{"text": "a\tb"}', b'{"text": "bad \\x escape"}', b"[]", b"[1, 2]", b'"text"', b"17", b"null", b"{}",
    b'{"other": "text"}', b'{"text": 5}', b'{"text": null}', b'{"text": ["a"]}', b'{"text": {"text": "a"}}',
    b'{"Text": "A"}', b'{"text": ""}', b'{"text": ""}', b'{"text": " \\n\\t\\n"}', b'{"text": "\\n"}',
    b'{"text": "one", "text": "two"}', b'{"text": "two", "text": 2}', b' { "text" : "two" } \r',
    b'{"te\\u0078t": "escaped name"}', b'{"text": "escaped name"}', b'{"text": "lone \\ud800 half"}',
    b'{"text": "lone \\ud800 half", "id": 1}', b'{"text": "\\udc00\\ud800"}', b'{"text":"\\ud83d\\ude00"}',
    '{"text":"😀"}'.encode(), b'{"a": {"text": "inner"}, "text": "outer"}', b'{"text": "\\/", "b": []}',
    b'{"text": "/", "b": [1, {"c": "}"}]}', b'{"text": "x\\r\\ny\\rz\\r"}', b'{"text": "y\\rz\\r\\nx\\n \\n"}',
    b'{"text": "nul \\u0000"}', b'{"text": "tail\\n  "}', b'{"text": "head\\ntail\\n  "}',
    b'{"text": "\\n \\n\\u000ahead\\n\\nnew tail"}',
)
# Of these only the bytes are compared: a line that is not text has no words.
INVALID = (b'{"text": "\xff\xfe"}', b'{"text": "\xff\xfe", "id": 2}', b'{"text": "a\\n\xc3\\nb \xe4\xb8"}',
           b'{"text": "\xc3", "name": "\x80"}')


def vocabulary(generator, count=2000):
    """Words and the weights to draw them by, summed up."""
    words = ["".join(generator.choices(SYLLABLES, k=generator.choice((1, 1, 2, 2, 3))))
             for _ in range(count)] + list(ODD_WORDS)
    generator.shuffle(words)
    return words, list(itertools.accumulate(1 / (rank + 2) for rank in range(len(words))))


def sentence(generator, drawn, least, most):
    """Some words with punctuation."""
    words, weights = drawn
    chosen = generator.choices(words, cum_weights=weights, k=generator.randint(least, most))
    return (" ".join(chosen) + generator.choice((".", ".", "!", "", ", and", " \t"))).lstrip()


def changed(generator, drawn, paragraph):
    """A near-duplicate: one word in three to thirty is another."""
    words, weights = drawn
    every = generator.choice((3, 8, 15, 30))
    return " ".join(generator.choices(words, cum_weights=weights)[0] if generator.randrange(every) == 0
                    else word for word in paragraph.split(" "))


def text_of(generator, drawn, pool):
    """A text of some paragraphs, old and new."""
    parts = [generator.choice(("", "", "", "\n", " \n\n"))]
    for _ in range(generator.choice((0, 1, 1, 2, 3, 5, 9))):
        choice = generator.random()
        if choice < 0.25:
            paragraph = generator.choice(pool[:20])
        elif choice < 0.45:
            paragraph = changed(generator, drawn, generator.choice(pool))
        elif choice < 0.5:
            paragraph = generator.choice(("...", "—", "- - -", "_", ".\t."))  # without a word
        else:
            paragraph = sentence(generator, drawn, 1, generator.choice((3, 14, 40)))
            pool.append(paragraph)
        parts += [paragraph, generator.choice(("\n", "\n", "\r\n", "\n\n", "\n \n\t\n"))]
        if generator.random() < 0.1:
            parts.append(generator.choice(BLANKS) + "\n")
    if parts[1:] and generator.random() < 0.6:
        parts[-1] = generator.choice(("", "", "\n", " ", "\n  "))
    return "".join(parts)


def escaped(generator, text):
    """The text as a JSON string, written as some program might."""
    way = generator.randrange(4)
    if way < 2:
        return json.dumps(text, ensure_ascii=way == 0)
    quoted = json.dumps(text, ensure_ascii=False).replace("/", "\\/")
    if way == 2:
        return quoted.replace("\\n", generator.choice(("\\u000a", "\\u000A")))
    return "".join(f"\\u{ord(c):04X}" if c.isalnum() and ord(c) < 0x10000 and generator.random() < 0.05
                   and (i == 0 or "\\" not in quoted[max(i - 5, 0):i]) else c for i, c in enumerate(quoted))


def documents(count, seed, odd=True, invalid=False, nested=False):
    """The lines of a corpus, without line ends. `odd`: some have no text; `invalid`: some are not UTF-8;
    `nested`: the path is meta.text.0 and not text."""
    generator = random.Random(seed)
    drawn = vocabulary(generator)
    pool = [sentence(generator, drawn, 1, 40) for _ in range(30)]
    strange = (ODD_LINES if odd else ()) + (INVALID if invalid else ())
    lines, texts = [], []
    for number in range(count):
        if strange and generator.random() < 0.15:
            lines.append(generator.choice(strange))
            continue
        text = text_of(generator, drawn, pool)
        if texts and generator.random() < 0.1:
            text = generator.choice(texts)
        texts.append(text)
        string = escaped(generator, text)
        if nested:
            lines.append(f'{{"meta":{{"text":[{string},"b"]}},"id":{number}}}'.encode())
        else:
            lines.append(generator.choice((
                f'{{"text": {string}}}', f'{{"id": {number}, "text": {string}}}',
                f'{{"text":{string},"id":{number},"tags":["a",{{}}]}}')).encode())
    return lines


def main():
    """Writes a corpus to standard output."""
    lines = documents(int(sys.argv[1]), int(sys.argv[2]))
    sys.stdout.buffer.write(b"".join(line + b"\n" for line in lines))


if __name__ == "__main__":
    main()
