# SPDX-License-Identifier: Apache-2.0
"""Where a break is done: in a function, by its name, whatever file it is in and however it is laid out.

    Place("bloomery_fold()")        the function of this name, which only one file defines
    Place("merge.c:fold()")         the one of that file, where others have one of this name
    Place("shape.h")                a whole file, by its name: for tables, macros and declarations
    Place("rbloom.py")              one of Python, always whole

A piece of it is found by its tokens: neither blanks nor line ends nor comments count. So moving a
file, renaming it, or running the formatter breaks no break; changing what the piece does, does. A
piece of Python is found as it stands.
"""

import os
import re

FOLDERS = ["include", "src", "sieve", "tool", "lineage", "module", "python", "fuzz", "tests"]
TOKEN = re.compile(r"""/\*.*?\*/|//[^\n]*|\\\n|\s+|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\w+|.""", re.S)
NAME = re.compile(r"(\w+)\((?:[^()]|\([^()]*\))*\)\s*$")


class Lost(Exception):
    """A place or a piece that is not in the sources, or is there more than once."""


def tokens(text):
    """(token, start, end) each, without what does not count."""
    return [(match.group(), match.start(), match.end()) for match in TOKEN.finditer(text)
            if not match.group().startswith(("/*", "//", "\\\n")) and not match.group().isspace()]


def functions(text):
    """(name, start, end) of the functions that a file defines: a body stands in braces in the first
    column, as the formatter lays it out."""
    found = []
    for match in re.finditer(r"^\{$(.*?)^\}", text, re.S | re.M):
        head = text[:match.start()].rstrip()
        begin = max(head.rfind("\n\n"), head.rfind(";\n"), head.rfind("*/\n"), head.rfind("}\n"), 0)
        name = NAME.search(head[begin:])
        if name:
            found.append((name.group(1), begin, match.end()))
    return found


class Sources:
    """The C files of a tree, by name and by what they define."""

    def __init__(self, root):
        self.root = root
        self.files = {}
        self.defined = {}
        for folder in FOLDERS:
            for path, _, names in os.walk(os.path.join(root, folder)):
                for name in names:
                    if name.endswith((".py", ".c", ".h") if folder == "python" else (".c", ".h", ".cc")):
                        self.files.setdefault(name, []).append(
                            os.path.relpath(os.path.join(path, name), root))
        for paths in self.files.values():
            for path in paths:
                if "/none/" in path or path.endswith(".py"):  # second forms: breaks are of the first
                    continue
                for name, _, _ in functions(self.read(path)):
                    self.defined.setdefault(name, []).append(path)

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def file_of(self, place):
        """The path of the file of a place. Where two files have one name, its folder says which:
        "sieve/open.c", or the function does."""
        name, _, function = place.rpartition(":")
        if not function.endswith("()"):
            name = place
        if name:
            found = [path for path in self.files.get(os.path.basename(name), [])
                     if path == name or path.endswith("/" + name)]
            if len(found) > 1:
                found = [path for path in found if path in self.defined.get(function[:-2], [])] or found
        else:
            found = sorted(set(self.defined.get(function[:-2], [])))
        if len(found) != 1:
            raise Lost(f"{place} is in {len(found)} files, not in one: {', '.join(found)}")
        return found[0]

    def span(self, place, text):
        """The part of a file's text that is meant."""
        function = place.rpartition(":")[2]
        if not function.endswith("()"):
            return 0, len(text)
        spans = [(start, end) for name, start, end in functions(text) if name == function[:-2]]
        if len(spans) != 1:
            raise Lost(f"{place} is defined {len(spans)} times, not once")
        return spans[0]

    def broken(self, place, edits):
        """(path, text as it is, text with these pieces of the place replaced)."""
        path = self.file_of(place)
        right = wrong = self.read(path)
        for old, new in edits:
            if path.endswith(".py"):
                if wrong.count(old) != 1:
                    raise Lost(f"its piece is in {place} {wrong.count(old)} times, not once: {old!r}")
                wrong = wrong.replace(old, new)
                continue
            start, end = self.span(place, wrong)
            there = tokens(wrong[start:end])
            wanted = [token for token, _, _ in tokens(old)]
            at = [i for i in range(len(there) - len(wanted) + 1)
                  if [token for token, _, _ in there[i:i + len(wanted)]] == wanted]
            if len(at) != 1:
                raise Lost(f"its piece is in {place} {len(at)} times, not once: {old!r}")
            first, last = there[at[0]], there[at[0] + len(wanted) - 1]
            wrong = wrong[:start + first[1]] + new + wrong[start + last[2]:]
        return path, right, wrong
