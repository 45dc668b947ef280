# SPDX-License-Identifier: Apache-2.0
"""The words of a text by Unicode's rules (UAX 29), for corpus_model.py.

    words_of("Don't panic: 3.14 at 10:30, 中文".encode()) ==
        [b"Don't", b"panic", b"3.14", b"at", b"10", b"30", "中".encode(), "文".encode()]

A word is a segment between two boundaries that has a letter or a number. What kind of character a
code point is (its Word_Break) is made of Python's table of general categories, which is right for
Latin, Greek, Cyrillic, Hebrew, Arabic, kana, Han, digits, marks, punctuation and emoji; the lists
of exceptions for other scripts are not copied. self_test() compares with libunistring.
"""

import ctypes
import ctypes.util
import functools
import random
import re
import unicodedata

ASCII_WORD = re.compile(rb"\w+(?:(?:(?<=[A-Za-z])[.':](?=[A-Za-z])|(?<=[0-9])[.',;](?=[0-9]))\w+)*")
MID_LETTER = set(":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a")
MID_NUM = set(",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b")
MID_NUM_LETTER = set(".\u2018\u2019\u2024\ufe52\uff07\uff0e")
SPACES = set(" \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a\u205f\u3000")
KATAKANA = set("\u3031\u3032\u3033\u3034\u3035\u309b\u309c\u30a0\u30fc\uff70")
ONE_EACH = ("CJK", "HIRAGANA", "THAI", "LAO", "KHMER", "MYANMAR", "TAI", "IDEOGRAPHIC", "HENTAIGANA")
PICTURES = ((0x1f300, 0x1f3fa), (0x1f400, 0x1f64f), (0x1f680, 0x1f6ff), (0x1f900, 0x1f9ff),
            (0x2600, 0x2605), (0x2764, 0x2764), (0xa9, 0xa9), (0xae, 0xae), (0x2122, 0x2122))
SINGLE = {"\r": "CR", "\n": "LF", "\u200d": "ZWJ", "\u200b": "Other", "'": "Single_Quote",
          '"': "Double_Quote", "\u202f": "ExtendNumLet"}
SETS = ((set("\v\f\x85\u2028\u2029"), "Newline"), (MID_LETTER, "MidLetter"), (MID_NUM, "MidNum"),
        (MID_NUM_LETTER, "MidNumLet"), (SPACES, "WSegSpace"), (KATAKANA, "Katakana"),
        (set("\u200c\uff9e\uff9f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"), "Extend"))


def letter_kind(character, category):
    """Of a letter: in which script the rules join it to others."""
    name = unicodedata.name(character, "")
    if name.startswith(("KATAKANA", "HALFWIDTH KATAKANA")):
        return "Katakana"
    if name.startswith(ONE_EACH) and category != "Nl":
        return "Other"
    return "Hebrew_Letter" if name.startswith("HEBREW LETTER") else "ALetter"


@functools.lru_cache(maxsize=None)
def kind_of(character):
    """The Word_Break of a code point."""
    if character in SINGLE:
        return SINGLE[character]
    for characters, kind in SETS:
        if character in characters:
            return kind
    if "\U0001f1e6" <= character <= "\U0001f1ff":
        return "Regional"
    category = unicodedata.category(character)
    if category[0] == "M":
        return "Extend"
    if category[0] == "L" or category == "Nl":
        return letter_kind(character, category)
    return {"Nd": "Numeric", "Pc": "ExtendNumLet", "Cf": "Format"}.get(category, "Other")


def is_picture(character):
    """Whether a joiner before it makes one emoji of two."""
    return any(first <= ord(character) <= last for first, last in PICTURES)


LETTERS = ("ALetter", "Hebrew_Letter")
QUOTED = ("MidNumLet", "Single_Quote")
BREAKS = ("CR", "LF", "Newline")
PASSED = ("Extend", "Format", "ZWJ")
JOINED = (*LETTERS, "Numeric", "Katakana", "ExtendNumLet")


def neighbour(kinds, at, step):
    """The place of the next kind that rule WB4 does not pass over; None: there is none."""
    at += step
    while 0 <= at < len(kinds) and kinds[at] in PASSED:
        at += step
    return at if 0 <= at < len(kinds) else None


def joins(kinds, left, right):
    """WB5 to WB16: no boundary between the kinds at these places, with marks between them at most."""
    one, two = kinds[left], kinds[right]
    before, after = neighbour(kinds, left, -1), neighbour(kinds, right, 1)
    before = kinds[before] if before is not None else None
    after = kinds[after] if after is not None else None
    if one in (*LETTERS, "Numeric") and two in (*LETTERS, "Numeric"):
        return True  # WB5, 8, 9, 10
    if one in LETTERS and two in ("MidLetter", *QUOTED) and after in LETTERS:
        return True  # WB6
    if one in ("MidLetter", *QUOTED) and two in LETTERS and before in LETTERS:
        return True  # WB7
    if one == "Hebrew_Letter" and (two == "Single_Quote" or
                                   two == "Double_Quote" and after == "Hebrew_Letter"):
        return True  # WB7a, b
    if (one, two, before) == ("Double_Quote", "Hebrew_Letter", "Hebrew_Letter"):
        return True  # WB7c
    if one in ("MidNum", *QUOTED) and two == before == "Numeric":
        return True  # WB11
    if one == after == "Numeric" and two in ("MidNum", *QUOTED):
        return True  # WB12
    if one == two == "Katakana" or one in JOINED and two == "ExtendNumLet":
        return True  # WB13, 13a
    return one == "ExtendNumLet" and two in JOINED  # WB13b


def is_boundary(text, kinds, at):
    """Whether there is a boundary before the code point at this place, which is not the first."""
    one, two = kinds[at - 1], kinds[at]
    if one == "CR" and two == "LF":
        return False  # WB3
    if one in BREAKS or two in BREAKS:
        return True  # WB3a, b
    if one == "ZWJ" and is_picture(text[at]) or one == two == "WSegSpace":
        return False  # WB3c, d
    if two in PASSED:
        return False  # WB4
    left = at - 1 if one not in PASSED else neighbour(kinds, at - 1, -1)
    if left is None or kinds[left] in BREAKS:
        return True
    if kinds[left] == two == "Regional":  # WB15, 16: flags are pairs
        count, place = 0, left
        while place is not None and kinds[place] == "Regional":
            count, place = count + 1, neighbour(kinds, place, -1)
        return count % 2 == 0
    return not joins(kinds, left, at)


def segments_of(text):
    """All segments of a str."""
    kinds = [kind_of(character) for character in text]
    begin = 0
    for at in range(1, len(text)):
        if is_boundary(text, kinds, at):
            yield text[begin:at]
            begin = at
    if text:
        yield text[begin:]


def has_letter(segment):
    """Whether a segment is a word."""
    return any(unicodedata.category(character)[0] in "LN" for character in segment)


def words_of(content):
    """The words of some UTF-8. Bytes that are none stand for themselves, outside of all words."""
    if content.isascii():
        return [word for word in ASCII_WORD.findall(content) if word.strip(b"_")]
    text = content.decode("utf-8", "surrogateescape")
    return [segment.encode("utf-8", "surrogateescape")
            for segment in segments_of(text) if has_letter(segment)]


# ---- Beside libunistring -----------------------------------------------------------------------------

ALPHABET = ("aZ09 _.:,;'\"-\t\r\n\v!()@" "äßéñØ" "αΩςЖяЁ" "中文字漢" "ひらがな" "カタカナー" "אבש" "ابع٣"
            "\u00b7\u2019\u2018\u0301\u0308\u00ad\u200b\u200d\u202f\u3000\u2003、。" "０９Ａ" "한국"
            "ก" "😀👍🏽🇩🇪🇫❤\ufe0f" "½²Ⅷª©€\u2028")


class Unistring:  # pylint: disable=too-few-public-methods
    """The library, by ctypes; OSError if this machine has none."""

    def __init__(self):
        name = ctypes.util.find_library("unistring")
        if name is None:
            raise OSError("no libunistring")
        self.breaks = ctypes.CDLL(name).u8_wordbreaks
        self.breaks.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
        self.breaks.restype = None

    def segments_of(self, text):
        """All segments of a str."""
        data = text.encode()
        places = ctypes.create_string_buffer(len(data) + 1)
        self.breaks(data, len(data), places)
        cuts = [0] + [i for i in range(1, len(data)) if places.raw[i]] + [len(data)]
        return [data[one:two].decode() for one, two in zip(cuts, cuts[1:]) if two > one]


def differing_texts(rounds, alphabet=ALPHABET, seed=1):
    """Texts that libunistring takes apart in another way: there should be none."""
    library, generator, differing = Unistring(), random.Random(seed), []
    for _ in range(rounds):
        text = "".join(generator.choices(alphabet, k=generator.randrange(1, 12)))
        if list(segments_of(text)) != library.segments_of(text):
            differing.append(text)
    for text in (t for t in ("".join(generator.choices("aZ09 _.:,;'-", k=12))
                             for _ in range(rounds))):
        general = [s.encode() for s in segments_of(text) if has_letter(s)]
        if words_of(text.encode()) != general:
            differing.append(text)
    return differing


def self_test():
    """0 if all agree."""
    try:
        differing = differing_texts(20_000)
    except OSError as missing:
        print(f"skipped: {missing}")
        return 77
    for text in differing[:20]:
        print(ascii(text), list(segments_of(text)), Unistring().segments_of(text))
    print(f"{len(differing)} texts differ")
    return 1 if differing else 0
