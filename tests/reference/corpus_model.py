#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Deduplicates documents of JSON lines exactly: sets of keys, no filter. The model of dedupe --unit.

    corpus_model.py --unit document|paragraph|ngram --jsonl text < in > out
        --ngram 13 --threshold 0.8      for --unit ngram
        --against FILE                  its documents count as seen; may be repeated
        --no-add                        only those do
        --annotate[=NAME]               keeps all texts, and adds what would be cut
    corpus_model.py --self-test         its words beside those of libunistring

It shares no code with the command, and reads a line as the command does not: Python's json says what is
JSON, and what the text is; a scanner of its own finds the text's bytes in the line.

    lines = [b'{"text": "A\\nB"}', b'{"text": "B\\nC"}']
    dedupe(lines).lines == [b'{"text": "A\\nB"}', b'{"text": "C"}']
"""

import argparse
import bisect
import json
import re
import sys
from dataclasses import dataclass, field

import corpus_words

MILLION = 1_000_000
STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
SPACE = re.compile(rb"[ \t\r\n]*")
SCALAR = re.compile(rb"[^,\]} \t\r\n]+")
ESCAPE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
                    rb"|\\u[0-9a-fA-F]{4}|\\.")
SHORT = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"f": b"\f", b"b": b"\b"}
BLANK = b" \t\r\v\f\n"


# ---- A line of JSON ----------------------------------------------------------------------------------

def refuse(name):
    """Refuses NaN and Infinity, which Python takes and JSON does not have."""
    raise ValueError(name)


def value_of(line):
    """The line's value; its strings have a character for each byte. ValueError: it is not JSON."""
    return json.loads(line.decode("latin-1"), parse_constant=refuse, parse_int=str, parse_float=str)


def skip_space(line, at):
    """Behind white space."""
    return SPACE.match(line, at).end()


def members(line, at):
    """The members of the object, or the items of the array, that begins at `at`: (name, begin, end),
    and last (None, None, end of the whole)."""
    named, number = line[at:at + 1] == b"{", 0
    at = skip_space(line, at + 1)
    while line[at:at + 1] not in (b"}", b"]"):
        name = b"%d" % number
        number += 1
        if named:
            quoted = STRING.match(line, at)
            name = unescape(quoted[1])
            at = skip_space(line, skip_space(line, quoted.end()) + 1)  # behind the colon
        end = end_of(line, at)
        yield name, at, end
        at = skip_space(line, end)
        if line[at:at + 1] == b",":
            at = skip_space(line, at + 1)
    yield None, None, at + 1


def end_of(line, at):
    """Behind the value that begins at `at`."""
    if line[at:at + 1] == b'"':
        return STRING.match(line, at).end()
    if line[at:at + 1] not in (b"{", b"["):
        return SCALAR.match(line, at).end()
    for _, _, end in members(line, at):
        pass
    return end


def steps_of(path):
    """`meta.id`: its names. `\\.` is a dot in a name."""
    return [re.sub(r"\\(.)", r"\1", step).encode()
            for step in re.findall(r"(?:[^.\\]|\\.)+", path)]


def find_text(line, steps):
    """(begin, end) of the inside of the string that the path leads to, or None."""
    try:
        value_of(line)
    except (ValueError, RecursionError):
        return None
    at = skip_space(line, 0)
    for step in steps:
        if line[at:at + 1] not in (b"{", b"["):
            return None
        found = None
        for name, begin, _ in members(line, at):
            if name == step:
                found = begin  # of members of one name the last one counts
        if found is None:
            return None
        at = found
    quoted = STRING.match(line, at)
    return quoted.span(1) if quoted else None


def unescape(raw):
    """What the inside of a JSON string stands for. Half a surrogate pair becomes three bytes."""
    def plain(match):
        escape = match[0]
        if escape[1:2] != b"u":
            return SHORT.get(escape[1:], escape[1:])
        units = [int(digits, 16) for digits in escape.split(b"\\u")[1:]]
        if len(units) == 2:
            return chr(0x10000 + ((units[0] & 0x3ff) << 10) + (units[1] & 0x3ff)).encode()
        return chr(units[0]).encode("utf-8", "surrogatepass")
    return ESCAPE.sub(plain, raw) if b"\\" in raw else raw


def code_points(text):
    """How many code points these bytes of UTF-8 are."""
    return sum(byte & 0xc0 != 0x80 for byte in text)


# ---- Paragraphs --------------------------------------------------------------------------------------

@dataclass
class Paragraph:
    """A piece of a text: where it lies in the raw text, and what it is compared by."""
    begin: int
    end: int
    content_end: int  # raw, as begin and end are
    content: bytes    # plain
    keys: list = field(default_factory=list)
    seen: int = 0
    cut: bool = False


def raw_lines(raw):
    """(begin, end) of each line of the raw text; a line's end is behind its line feed."""
    begin = 0
    for escape in ESCAPE.finditer(raw):
        if unescape(escape[0]) == b"\n":
            yield begin, escape.end()
            begin = escape.end()
    if begin < len(raw):
        yield begin, len(raw)


def raw_content_end(raw, begin, end):
    """Where a line's content ends: before its line feed, and before a carriage return before that."""
    escapes = list(ESCAPE.finditer(raw, begin, end))
    if not escapes or unescape(escapes[-1][0]) != b"\n":
        return end
    content_end = escapes.pop().start()
    if escapes and escapes[-1].end() == content_end and unescape(escapes[-1][0]) == b"\r":
        return escapes[-1].start()
    return content_end


def paragraphs_of(raw):
    """The paragraphs of a raw text, which they partition. None at all if it is blank."""
    found = []
    for begin, end in raw_lines(raw):
        if unescape(raw[begin:end]).strip(BLANK) == b"":
            if found:
                found[-1].end = end
            continue
        content_end = raw_content_end(raw, begin, end)
        found.append(Paragraph(begin if found else 0, end, content_end,
                               unescape(raw[begin:content_end])))
    return found


# ---- Keys --------------------------------------------------------------------------------------------

def ngrams_of(content, length):
    """All runs of `length` words, with repeats; fewer words are one run."""
    words = corpus_words.words_of(content)
    if not words:
        return []
    count = max(len(words) - length, 0) + 1
    return [b" ".join(words[i:i + length]) for i in range(count)]


def pieces_of(raw, unit, ngram):
    """What is judged of a text, with the keys."""
    if unit == "document":
        text = unescape(raw)
        return [Paragraph(0, len(raw), len(raw), text, [text])]
    found = paragraphs_of(raw)
    for piece in found:
        piece.keys = ngrams_of(piece.content, ngram) if unit == "ngram" else [piece.content]
    return found


def keys_of(lines, path="text", unit="paragraph", ngram=13):
    """The set of all keys of documents."""
    keys = set()
    for line in lines:
        place = find_text(line, steps_of(path))
        if place is not None:
            for piece in pieces_of(line[slice(*place)], unit, ngram):
                keys.update(piece.keys)
    return keys


# ---- Documents ---------------------------------------------------------------------------------------

@dataclass
class Deduplicated:
    """What came out, and the counts, under the names of the command's report in JSON."""
    lines: list = field(default_factory=list)
    documents: int = 0
    documents_dropped: int = 0
    documents_changed: int = 0
    without_text: int = 0
    paragraphs: int = 0
    paragraphs_removed: int = 0  # those of dropped documents among them
    keys: int = 0
    keys_seen: int = 0
    removed_bytes: int = 0


def too_much(seen, count, threshold):
    """Whether a share is at the threshold, which is in millionths."""
    return count > 0 and seen * MILLION >= threshold * count


def judge(pieces, known, add, threshold):
    """Decides which pieces are cut. Returns whether the document is dropped."""
    for piece in pieces:
        piece.seen = sum(key in known for key in piece.keys)
        piece.cut = too_much(piece.seen, len(piece.keys), threshold)
        if add:
            known.update(piece.keys)
    seen, count = sum(piece.seen for piece in pieces), sum(len(piece.keys) for piece in pieces)
    return bool(pieces) and (all(piece.cut for piece in pieces) or
                             too_much(seen, count, threshold))


def spans_of(raw, pieces):
    """(begin, end, piece) in the raw text of what is cut."""
    spans = [[piece.begin, piece.end, piece] for piece in pieces if piece.cut]
    kept = [piece for piece in pieces if not piece.cut]
    if kept and pieces[-1].cut and not unescape(raw).endswith(b"\n"):
        last = bisect.bisect_left([span[0] for span in spans], kept[-1].end)
        spans[last][0] = kept[-1].content_end
    return spans


def without(raw, spans):
    """The raw text without what is cut."""
    parts, at = [], 0
    for begin, end, _ in spans:
        parts.append(raw[at:begin])
        at = end
    return b"".join(parts) + raw[at:]


def annotated(line, raw, spans, dropped, name):
    """The line with one member more."""
    brace = line.rstrip(b" \t\r")
    if not brace.endswith(b"}"):
        return line
    shown = []
    for begin, end, piece in spans:
        share = 1000 * piece.seen // len(piece.keys)
        shown.append("[%d,%d,%s]" % (
            code_points(unescape(raw[:begin])), code_points(unescape(raw[:end])),
            "1" if share == 1000 else f"0.{share:03}"))
    member = f',"{name}":{{"spans":[{",".join(shown)}],"drop":{"true" if dropped else "false"}}}'
    return brace[:-1] + member.encode() + line[len(brace) - 1:]


def dedupe(lines, path="text", unit="paragraph", ngram=13, threshold=0.8, against=frozenset(),
           add=True, annotate=None):
    """Deduplicates lines, which have no line ends. `against`: keys that are known before (keys_of)."""
    known, steps, result = set(against), steps_of(path), Deduplicated()
    limit = round(threshold * MILLION) if unit == "ngram" else MILLION
    for line in lines:
        result.documents += 1
        place = find_text(line, steps)
        if place is None:
            result.without_text += 1
            result.lines.append(line)
            continue
        raw = line[slice(*place)]
        pieces = pieces_of(raw, unit, ngram)
        dropped = judge(pieces, known, add, limit)
        spans = spans_of(raw, pieces)
        result.paragraphs += len(pieces)
        result.paragraphs_removed += len(pieces) if dropped else len(spans)
        result.keys += sum(len(piece.keys) for piece in pieces)
        result.keys_seen += sum(piece.seen for piece in pieces)
        result.documents_dropped += dropped
        result.documents_changed += not dropped and bool(spans)
        if annotate is not None and (spans or dropped):
            result.lines.append(annotated(line, raw, spans, dropped, annotate))
        elif annotate is not None or not (spans or dropped):
            result.lines.append(line)
        elif dropped:
            result.removed_bytes += len(line) + 1
        else:
            left = line[:place[0]] + without(raw, spans) + line[place[1]:]
            result.removed_bytes += len(line) - len(left)
            result.lines.append(left)
    return result


# ---- The program -------------------------------------------------------------------------------------

def lines_of(data):
    """A file's lines without their line ends."""
    lines = data.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def main():
    """Standard input to standard output; the counts to standard error, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--unit", choices=("document", "paragraph", "ngram"), default="paragraph")
    parser.add_argument("--jsonl", default="text", metavar="PATH")
    parser.add_argument("--ngram", type=int, default=13)
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--against", action="append", default=[], metavar="FILE")
    parser.add_argument("--no-add", action="store_true")
    parser.add_argument("--annotate", nargs="?", const="bloomery", metavar="NAME")
    options = parser.parse_args()
    if options.self_test:
        sys.exit(corpus_words.self_test())
    known = set()
    for name in options.against:
        with open(name, "rb") as file:
            known |= keys_of(lines_of(file.read()), options.jsonl, options.unit, options.ngram)
    result = dedupe(lines_of(sys.stdin.buffer.read()), options.jsonl, options.unit, options.ngram,
                    options.threshold, known, not options.no_add, options.annotate)
    sys.stdout.buffer.write(b"".join(line + b"\n" for line in result.lines))
    print(json.dumps({name: value for name, value in vars(result).items() if name != "lines"}),
          file=sys.stderr)


if __name__ == "__main__":
    main()
