# SPDX-License-Identifier: Apache-2.0
"""Keys that other systems hash as numbers or as UTF-16: --int64, --int32 and --utf16.

What the file must be is computed here, in Python: Guava's scheme, whose funnels are the reason for these
rules."""

import json
import random
import struct

from runner import case, has, main

M64 = (1 << 64) - 1
WORDS = 40  # of 64 bits
PROBES = 5


def rotated(value, bits):
    return (value << bits | value >> (64 - bits)) & M64


def mixed(value):
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ value >> 33) * factor & M64
    return value ^ value >> 33


def murmur3(key):
    """x64 128 with seed 0: (h1, h2)."""
    c1, c2, h1, h2 = 0x87C37B91114253D5, 0x4CF5AD432745937F, 0, 0

    def first(k):
        return rotated(k * c1 & M64, 31) * c2 & M64

    def second(k):
        return rotated(k * c2 & M64, 33) * c1 & M64

    whole = len(key) // 16 * 16
    for at in range(0, whole, 16):
        k1, k2 = struct.unpack_from("<QQ", key, at)
        h1 = ((rotated(h1 ^ first(k1), 27) + h2) * 5 + 0x52DCE729) & M64
        h2 = ((rotated(h2 ^ second(k2), 31) + h1) * 5 + 0x38495AB5) & M64
    k1, k2 = struct.unpack("<QQ", key[whole:].ljust(16, b"\0"))
    h1, h2 = h1 ^ first(k1) ^ len(key), h2 ^ second(k2) ^ len(key)
    h1 = (h1 + h2) & M64
    h2 = (h1 + h2) & M64
    h1, h2 = mixed(h1), mixed(h2)
    h1 = (h1 + h2) & M64
    return h1, (h1 + h2) & M64


def guava(keys):
    """The stream of a filter of these keys (strategy 1)."""
    words = [0] * WORDS
    for key in keys:
        h1, h2 = murmur3(key)
        for i in range(PROBES):
            position = (h1 + i * h2 & M64 >> 1) % (64 * WORDS)
            words[position // 64] |= 1 << position % 64
    return struct.pack(">BBI", 1, PROBES, WORDS) + struct.pack(f">{WORDS}Q", *words)


BUILD = f"build -q --dialect guava,m={64 * WORDS},k={PROBES} --force -o f.bf "


def utf16(text):
    return text.encode("utf-16-le", "surrogatepass")


@case
def numbers_are_hashed_as_other_systems_do(c):
    rng = random.Random(5)
    for width, option in ((8, "--int64"), (4, "--int32")):
        limit = 1 << (8 * width - 1)
        numbers = [0, 1, -1, limit - 1, -limit] + [rng.randrange(-limit, limit) for _ in range(50)]
        lines = "".join(f"{'+' if number % 3 == 0 and number > 0 else ''}{number}\n" for number in numbers)
        stream = guava(number.to_bytes(width, "little", signed=True) for number in numbers)
        c.run(BUILD + option, stdin=lines)
        c.expect(c.read("f.bf") == stream, f"{option}: another filter")
        c.run(f"query -c --dialect guava {option} f.bf", stdin=lines, stdout=f"{len(numbers)}\n")
        c.run(f"convert -q --from guava {option} -o f.bloom f.bf --force")
        c.run("query -c f.bloom", stdin=lines, stdout=f"{len(numbers)}\n")
        c.run(f"query -k {limit - 1} -k {-limit} f.bloom", stdout=f"{limit - 1}\n{-limit}\n")
        c.expect(json.loads(c.run("inspect --json f.bloom", stdout=None)[0])["rule"] == [option[2:]], "the rule")


@case
def texts_are_hashed_as_utf16(c):
    texts = ["", "a", "äöü", "€uro", "日本語", "😀 smile", "\ud800", "x\udc00", "MiXeD"]
    lines = b"".join(text.encode("utf-8", "surrogatepass") + b"\n" for text in texts)
    c.run(BUILD + "--utf16", stdin=lines)
    c.expect(c.read("f.bf") == guava(map(utf16, texts)), "another filter")
    c.run("query --dialect guava --utf16 f.bf", stdin=lines, stdout=lines)
    c.run(BUILD + "--utf16 --upper", stdin=lines)
    lifted = ("".join(letter.upper() if letter.isascii() else letter for letter in text) for text in texts)
    c.expect(c.read("f.bf") == guava(map(utf16, lifted)), "another filter in capital letters")


@case
def text_that_is_not_a_number_is_refused_with_its_line(c):
    good = "".join(f"{number}\n" for number in range(5000))
    c.file("good", good)
    for option, bad in (("--int64", "18446744073709551616"), ("--int32", "4294967296"), ("--int64", "12 "),
                        ("--int32", ""), ("--int64", "0x1f"), ("--int32", "1.0")):
        c.file("bad", good + bad + "\n" + good + "x\n")
        bits = 63 if option == "--int64" else 31
        said = f"bad: line 5001: '{bad}' is not a whole number from -2^{bits} to 2^{bits + 1}-1"
        for threads in (1, 4):
            for count in ("", "-n 99k"):
                c.run(f"build {count} -j {threads} {option} -o new.bloom good bad", code=2,
                      stderr=f"bloomery: build: {said}; no key can be made of it\n",
                      environment={"BLOOMERY_BLOCK_BYTES": "256"})
        c.run(f"build -q {option} -o f.bloom good")
        before = c.read("f.bloom")
        c.run("add f.bloom bad", code=2, stderr=has(said, "nothing was added"))
        c.expect(c.read("f.bloom") == before and "new.bloom" not in c.names(), "something was written")
        c.run("query -c f.bloom good bad", code=2, stdout="15000\n",
              stderr=f"bloomery: query: {said} (nor is 1 more); such records were not looked up\n")
        c.run("add f.bloom", stdin=f"7\n\n{bad}\n" if bad else "7\n\n", code=2,
              stderr=has("standard input: line 2: '' is not a whole number"))


@case
def text_that_is_not_utf8_is_refused_with_its_line(c):
    c.run("build -q -n 9 --utf16 -o f.bloom", stdin="ä\n")
    c.run("add f.bloom", stdin=b"ok\n\xe4\n", code=2,
          stderr=has("standard input: line 2: '\\xe4' is not UTF-8; no key can be made of it"))
    c.run("query f.bloom", stdin=b"\xff\n\xc3\xa4\n", stdout="ä\n", code=2, stderr=has("line 1: '\\xff' is not UTF-8"))
    c.run("dedupe --utf16", stdin=b"a\n\xff\na\n", stdout=b"a\n\xff\n", code=2, stderr=has("line 2: '\\xff' is not UTF-8"))


@case
def lines_are_counted_in_each_input(c):
    c.file("one", "1\n2\n")
    c.file("two", "\ufeff3\n4\nx\n")
    c.run("build --int64 -o f.bloom one two", code=2, stderr=has("two: line 3: 'x'"))
    c.run("build -0 -n 5 --int64 -o f.bloom one", code=2, stderr=has("one: line 1: '1\\x0a2\\x0a'"))
    c.file("csv", '"1,x",17\n"2",y\n')
    c.run("build --csv -F 2 --int64 -o f.bloom csv", code=2, stderr=has("csv: line 2: '\"2\",y'"))


@case
def empty_records_are_not_numbers_and_may_be_skipped(c):
    c.run("build -q -n 9 --int64 --skip-empty -o f.bloom", stdin="1\n\n2\n")
    c.run("query f.bloom", stdin="\n2\n", stdout="2\n")
    c.run("build -q -n 9 --int64 -o g.bloom", stdin="1\n\n2\n", code=2, stderr=has("line 2: ''"))


@case
def forms_that_exclude_each_other_are_refused(c):
    for options in ("--int64 --int32", "--int64 --hex", "--lower --int32"):
        c.run(f"build -n 9 -o f.bloom {options}", code=2, stderr=has("exclude each other"))
    for options in ("--utf16 --hex", "--utf16 --int64"):
        c.run(f"build -n 9 -o f.bloom {options}", code=2, stderr=has("--utf16 is for texts"))
    c.run("build -q -n 9 --int64 -o f.bloom", stdin="1\n")
    c.run("query --int32 f.bloom", stdin="1\n", code=2, stderr=has("--int32: its keys are made by another rule: int64"))
    c.expect(c.names() == ["f.bloom"], "a refused build left a file")


@case
def filters_of_other_forms_do_not_merge(c):
    for name, option in (("a", "--int64"), ("b", "--int32"), ("c", "--utf16"), ("d", "")):
        c.run(f"build -q -n 9 {option} -o {name}.bloom", stdin="1\n")
    c.run("merge -o m.bloom a.bloom b.bloom", code=2, stderr=has("the key rules differ: numbers made 8 bytes"))
    c.run("merge -o m.bloom c.bloom d.bloom", code=2, stderr=has("text made UTF-16, and not made UTF-16"))


@case
def numbers_are_confirmed_by_their_text(c):
    c.run("build -q -n 9 --int64 -o f.bloom", stdin="1\n20\n")
    c.file("sorted", "1\n3\n")
    c.run("query --confirm sorted f.bloom", stdin="1\n20\n3\n", stdout="1\n")


main()
