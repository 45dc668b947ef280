# SPDX-License-Identifier: Apache-2.0
"""The commands that the documents tell people to type, and the options that they name."""

import os
import re
import shlex
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import option_tables  # pylint: disable=wrong-import-position
# They tell what was done when, not what to type.
RECORDS = ("NEWS.md", os.path.join("docs", "decisions.md"))
# A line of an indented block is a command if it begins with one of these programs, or with a path below these
# folders.
PROGRAMS = ("anew awk base64 bloom bloomery c++ cat cc cmake cmp comm cut dpkg-buildpackage echo env find for gcc "
            "git gpg grep gzip head libraries ls make man meson minisign ninja npm parallel pip poppy printf "
            "python3 qemu-aarch64-static redis-cli sed seq sha256sum sort split sudo tail uniq valgrind xargs zcat").split()
FOLDERS = ("./", ".ci/", "scripts/", "bench/", "build/", "build-", "tests/", "module/")


class Piece:
    """What a document tells people to type at one place: a block, a line, or a span in backquotes."""

    def __init__(self, at, page, where, text, shown=None):
        self.at, self.page, self.where, self.text, self.shown = at, page, where, text, shown

    def __repr__(self):
        return f"{self.page}: {self.text}"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def pages():
    """The paths of all Markdown but the records."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not name.startswith((".", "build", "node_modules", "shared", "subprojects"))]
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(".md")]
    return sorted(set(found) - set(RECORDS))


def is_command(line):
    """Whether a line of an indented block is something to type."""
    words = re.sub(r"^(\w+=\S* +)+", "", line).split()
    if not words:
        return False
    assignment = re.match(r"(export )?\w+=\$", line)
    return words[0] in PROGRAMS and len(words) > 1 or words[0].startswith(FOLDERS) or assignment is not None


def is_path(text):
    """Whether a span names a file or a folder of the sources."""
    return text.startswith(FOLDERS) and " " not in text


def without_comment(line):
    return re.split(r" +# ", line)[0].rstrip()


FENCE = re.compile(r"^```(\w*).*?\n(.*?)^```$", re.M | re.S)
INDENTED = re.compile(r"(?:\A|(?<=\n\n))((?:    .*\n|\n(?=    ))+)")


def blank(pattern, text):
    """The text with spaces for what matches: places stay where they are."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def fenced(page, text):
    """Blocks of `sh`, each as a whole, and the commands of `console` with what they print."""
    for match in FENCE.finditer(text):
        if match.group(1) in ("sh", "bash", "shell"):
            yield Piece(match.start(), page, "block", match.group(2))
        elif match.group(1) == "console":
            for line in re.finditer(r"^\$ (.*)\n((?:[^$].*\n)*)", match.group(2), re.M):
                yield Piece(match.start() + line.start(), page, "console", line.group(1), line.group(2))


def indented(page, text):
    """Commands of indented blocks, one a line, with the lines that a backslash joins to them."""
    for block in INDENTED.finditer(text):
        lines = re.sub(r"\\\n *", "", re.sub(r"^    ", "", block.group(1), flags=re.M)).splitlines()
        for number, line in enumerate(lines):
            line = without_comment(line.strip().removeprefix("$ "))
            if is_command(line):
                yield Piece(block.start() + number, page, "line", line)


def spans(page, text):
    """What stands in backquotes outside of blocks; a bar of a table's cell without its backslash."""
    text = blank(INDENTED, blank(FENCE, text))
    return [Piece(match.start(), page, "span", re.sub(r"\s+", " ", match.group(1)).replace("\\|", "|"))
            for match in re.finditer(r"`([^`]+)`", text)]


def is_template(text):
    """Whether words stand for something else (FILE, DIR, "..."), or it is a name alone: `bloomery add`, `sort -u`."""
    return re.search(r"(?<![\w./-])[A-Z]{3,}(?![\w./=])|\.\.\.|\*$|^bloomery [a-z]+$|^(?!bloomery)[\w+-]+( -\S+)+$",
                     text) is not None


def commands(page):
    """All pieces of a page that are to be typed, in their order."""
    text = read(page)
    found = [*fenced(page, text), *indented(page, blank(FENCE, text)),
             *(span for span in spans(page, text) if is_command(span.text) and not is_template(span.text) and
               not is_path(span.text))]
    return sorted(found, key=lambda piece: piece.at)


def rows(page):
    """The rows of a page's tables: lists of cells, a bar in a cell without its backslash."""
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
            for line in read(page).splitlines() if line.startswith("|")]


# ---- Options ---------------------------------------------------------------------------------------------


def options_of_the_command(tool):
    """{command: {option: whether a value follows it}}, those of the sieve as "sieve push"; letters too. From the
    tables of options, which are printed when the command is built."""
    known = {}
    for command in option_tables.read(os.path.join(os.path.dirname(tool), "options.json"))[0]:
        options = known[command["name"]] = {"--help": False}
        for option in option_tables.listed(command):
            value = bool(option["argument"]) and not option_tables.optional(option)
            options["--" + option["name"]] = value
            if option["letter"]:
                options["-" + option["letter"]] = value
    return known


def simple_commands(text):
    """The words of each simple command of a piece of shell, without redirections."""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            tokens = list(lexer)
        except ValueError:  # a quote that ends in another line
            tokens = line.split()
        words = []
        for at, token in enumerate([*tokens, ";"]):
            if set(token) <= set("();|&"):
                if words:
                    yield words
                words = []
            elif not set(token) <= set("<>") and not (at > 0 and set(tokens[at - 1]) <= set("<>")):
                words.append(token)


def calls(text, known):
    """(command, words behind it) for each call of a command: "bloomery build ..." anywhere, "build -q" alone."""
    for words in simple_commands(text):
        for at, word in enumerate(words):
            if word == "bloomery" or at == 0 and word in known:
                named = words[at + 1:] if word == "bloomery" else words
                name = " ".join(named[:2 if named[:1] == ["sieve"] else 1])
                if name in known:
                    yield name, named[len(name.split()):]


def unknown_options(name, words, known):
    """The options of a call that the command's help does not have."""
    options, wrong, words = known[name], [], list(words)
    while words:
        word = words.pop(0)
        if word in ("--", ":::", "{}", "+"):
            break
        if word.startswith("--"):
            option, equals, _ = word.partition("=")
            if option not in options:
                wrong.append(option)
            elif options[option] and not equals:
                words = words[1:]
        elif re.match(r"-[A-Za-z0-9]", word):
            for at, letter in enumerate(word[1:], 2):
                if "-" + letter not in options:
                    wrong.append("-" + letter)
                elif options["-" + letter]:
                    words = words if word[at:] else words[1:]
                    break
    return wrong
